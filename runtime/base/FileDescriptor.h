/// An open file, closed at the end of its life.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace hector {

class FileDescriptor {
public:
  FileDescriptor() = default;
  FileDescriptor(FileDescriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~FileDescriptor() { (void)close(); }

  /// Programs that are started do not inherit it. Where this fails `errno` says why.
  bool open(const std::string &path, int flags, mode_t mode = 0) {
    (void)close();
    do
      fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd >= 0;
  }
  int get() const { return fd; }
  /// Returns 0 or the error. The descriptor is gone in either case.
  int close() {
    int error = fd >= 0 && ::close(std::exchange(fd, -1)) != 0 ? errno : 0;
    return error == EINTR ? 0 : error;
  }

private:
  int fd = -1;
};

}  // namespace hector
