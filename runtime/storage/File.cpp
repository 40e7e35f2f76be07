#include "runtime/storage/File.h"

#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace hector {

namespace {

using Pieces = std::span<const std::span<const std::byte>>;

std::string errorText(int error) {
  return std::error_code(error, std::generic_category()).message();
}

/// A failed system call, sorted by who can act on it.
Status systemFailure(int error, std::string message) {
  switch (error) {
  case EACCES:
  case EEXIST:
  case EISDIR:
  case ELOOP:
  case ENAMETOOLONG:
  case ENOENT:
  case ENOTDIR:
  case EPERM:
  case EROFS:
    return Status::invalid(std::move(message));
  default:
    return Status::failed(std::move(message));
  }
}

/// Unmaps at the end of its life.
struct Mapping {
  void *address = nullptr;
  size_t size = 0;

  Mapping(void *address, size_t size) : address(address), size(size) {}
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() { munmap(address, size); }
};

/// Returns 0 or the error: ECANCELED where an interrupt was noted.
int writeAll(int fd, std::span<const std::byte> bytes) {
  constexpr size_t kMaxWrite = size_t{16} << 20;  // so that interrupts are noticed soon
  while (!bytes.empty()) {
    if (interruptSignal())
      return ECANCELED;
    ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

size_t totalBytes(Pieces pieces) {
  size_t sum = 0;
  for (const auto &piece : pieces)
    sum += piece.size();
  return sum;
}

/// Returns 0 or the error. Small pieces are written together.
int writePieces(int fd, Pieces pieces) {
  constexpr size_t kSmall = 1 << 16;
  std::vector<std::byte> pending;
  for (const auto &piece : pieces) {
    if (pending.size() + piece.size() > kSmall) {
      if (int error = writeAll(fd, pending))
        return error;
      pending.clear();
    }
    if (piece.size() > kSmall) {
      if (int error = writeAll(fd, piece))
        return error;
    } else {
      pending.insert(pending.end(), piece.begin(), piece.end());
    }
  }
  return writeAll(fd, pending);
}

/// A file that disappears unless it is renamed.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (exists)
      ::unlink(path.c_str());
  }

  /// Takes a name that nobody can guess. Where this fails `errno` says why.
  bool create(const std::string &folder, mode_t mode) {
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
      unsigned char random[8];
      if (getrandom(random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random)))
        continue;
      path = folder + "/.hector-";
      for (unsigned char byte : random)
        path += hexByte(byte);
      path += ".tmp";
      exists = file.open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
      if (exists || errno != EEXIST)
        break;
    }
    return exists;
  }
  int get() const { return file.get(); }
  /// Like `renameTo` returns 0 or the error.
  int close() { return file.close(); }
  int renameTo(const std::string &target) {
    if (::rename(path.c_str(), target.c_str()) != 0)
      return errno;
    exists = false;
    return 0;
  }

private:
  std::string path;
  FileDescriptor file;
  bool exists = false;
};

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status writeFailure(const std::string &path, int error, size_t numBytes) {
  if (error == ECANCELED)
    return Status::failed(path + ": not written: interrupted");
  std::string message = path + ": cannot be written: " + errorText(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    message += "; " + counted(static_cast<int64_t>(numBytes), "byte") + (numBytes == 1 ? " is needed" : " are needed");
  return systemFailure(error, std::move(message));
}

Status writeDirectly(const std::string &path, Pieces pieces) {
  FileDescriptor file;
  int error = file.open(path, O_WRONLY) ? writePieces(file.get(), pieces) : errno;
  int closeError = file.close();
  if (error == 0)
    error = closeError;
  return error ? writeFailure(path, error, totalBytes(pieces)) : Status::ok();
}

}  // namespace

Result<MappedFile> mapFile(const std::string &path) {
  struct stat info;
  // Asked by name first: opening a pipe would wait for its other end.
  if (::stat(path.c_str(), &info) != 0) {
    int error = errno;
    return systemFailure(error, path + ": cannot be read: " + errorText(error));
  }
  if (S_ISDIR(info.st_mode))
    return Status::invalid(path + ": cannot be read: it is a folder; expected a file");
  if (!S_ISREG(info.st_mode))
    return Status::invalid(path + ": cannot be read: it is not a regular file; expected a file on disk");
  FileDescriptor file;
  if (!file.open(path, O_RDONLY) || ::fstat(file.get(), &info) != 0) {
    int error = errno;
    return systemFailure(error, path + ": cannot be read: " + errorText(error));
  }
  if (info.st_size == 0)  // which cannot be mapped
    return MappedFile();
  const size_t size = static_cast<size_t>(info.st_size);
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) {
    int error = errno;
    return Status::failed(path + ": cannot be mapped into memory: " + errorText(error) + "; " + std::to_string(size) +
                          " bytes are needed");
  }
  return MappedFile{{static_cast<const std::byte *>(address), size}, std::make_shared<Mapping>(address, size)};
}

Status replaceFile(const std::string &path, Pieces pieces) {
  if (path.empty())
    return Status::invalid("cannot write to a file without a name");

  struct stat info;
  std::string target = path;
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT)
    return writeFailure(path, errno, totalBytes(pieces));
  if (exists) {
    if (S_ISDIR(info.st_mode))
      return Status::invalid(path + ": cannot be written: it is a folder; expected the name of a file");
    if (!S_ISREG(info.st_mode))
      return writeDirectly(path, pieces);
    // A folder's owner could replace a read-only file, but whoever made it read-only did so for a reason.
    if (::access(path.c_str(), W_OK) != 0)
      return writeFailure(path, errno, totalBytes(pieces));
    // Replace what a link leads to, not the link.
    if (char *resolved = ::realpath(path.c_str(), nullptr)) {
      target = resolved;
      std::free(resolved);
    }
  }

  const std::string folder = folderOf(target);
  TemporaryFile temporary;
  if (!temporary.create(folder, exists ? info.st_mode & 0777 : 0666)) {
    int error = errno;
    struct stat folderInfo;
    if (error == ENOENT && ::stat(folder.c_str(), &folderInfo) != 0)
      return Status::invalid(path + ": cannot be written: the folder " + inTicks(folder) +
                             " does not exist; create it first");
    return writeFailure(path, error, totalBytes(pieces));
  }
  int error = writePieces(temporary.get(), pieces);
  if (error == 0 && exists && ::fchmod(temporary.get(), info.st_mode & 07777) != 0)
    error = errno;
  if (error == 0 && ::fsync(temporary.get()) != 0)
    error = errno;
  if (int closeError = temporary.close(); error == 0)
    error = closeError;
  if (error == 0)
    error = interruptSignal() ? ECANCELED : temporary.renameTo(target);
  if (error != 0)
    return writeFailure(path, error, totalBytes(pieces));

  // The new name survives a power cut only once the folder is on disk as well. Some file systems cannot sync folders.
  FileDescriptor folderFile;
  if (folderFile.open(folder, O_RDONLY | O_DIRECTORY) && ::fsync(folderFile.get()) != 0 && errno != EINVAL &&
      errno != ENOTSUP)
    return Status::failed(path + ": written, but its folder cannot be synced: " + errorText(errno));
  return Status::ok();
}

Status replaceFile(const std::string &path, std::string_view text) {
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  return replaceFile(path, std::span(&piece, 1));
}

Status makeFolders(const std::string &folder) {
  std::filesystem::path made;
  for (const auto &part : std::filesystem::path(folder)) {
    made /= part;
    struct stat info;
    if (::mkdir(made.c_str(), 0700) != 0) {
      const int error = errno;
      if (::stat(made.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
        return systemFailure(error, made.string() + ": cannot be created: " + errorText(error));
    }
  }
  return Status::ok();
}

Status refuseOverwriting(const std::string &output, std::span<const std::string> inputs) {
  struct stat out, in;
  if (output.empty() || ::stat(output.c_str(), &out) != 0 || !S_ISREG(out.st_mode))
    return Status::ok();
  for (const std::string &input : inputs) {
    if (input.empty() || ::stat(input.c_str(), &in) != 0)
      continue;
    if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
      return Status::invalid(output + ": cannot be written: it is the same file as the input " + inTicks(input) +
                             "; give the output another name");
    if (!S_ISDIR(in.st_mode) || output.ends_with(".safetensors"))
      continue;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(input, error), end; !error && entry != end;
         entry.increment(error))
      if (::stat(entry->path().c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return Status::invalid(output + ": cannot be written: it is one of the files in the input " + inTicks(input) +
                               "; give the output another name");
  }
  return Status::ok();
}

}  // namespace hector
