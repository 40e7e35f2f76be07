/// Files for tests: folders that go away, gzip and zip made in memory.
#pragma once

#include "runtime/data/Input.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

namespace hector::test {

/// A folder that is removed in the end.
class Folder {
public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hector-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() { std::filesystem::remove_all(path); }

  /// Writes a file, making folders on the way, and returns its path.
  std::string write(const std::string &name, const std::string &contents) const {
    std::filesystem::path file = std::filesystem::path(path) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
    return file.string();
  }
  std::string at(const std::string &name) const { return (std::filesystem::path(path) / name).string(); }
  size_t numFiles() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path), {})); }

  std::string path;
};

inline std::string slurp(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string deflated(const std::string &text, int windowBits) {
  z_stream state{};
  if (deflateInit2(&state, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string out(deflateBound(&state, text.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef *>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  deflate(&state, Z_FINISH);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

inline std::string gzipped(const std::string &text) {
  return deflated(text, 31);
}

inline std::string littleEndian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i)
    bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

/// An archive of (name, contents), packed or stored.
inline std::string zipped(const std::vector<std::pair<std::string, std::string>> &files, bool packed = true) {
  std::string out, directory;
  for (const auto &[name, text] : files) {
    const std::string data = packed ? deflated(text, -15) : text;
    const auto crc = crc32(0, reinterpret_cast<const Bytef *>(text.data()), static_cast<uInt>(text.size()));
    const std::string common = littleEndian(20, 2) + littleEndian(0, 2) + littleEndian(packed ? 8 : 0, 2) +
                               littleEndian(0, 4) + littleEndian(crc, 4) + littleEndian(data.size(), 4) +
                               littleEndian(text.size(), 4) + littleEndian(name.size(), 2) + littleEndian(0, 2);
    directory += "PK\x01\x02" + littleEndian(20, 2) + common + littleEndian(0, 2) + littleEndian(0, 2) +
                 littleEndian(0, 2) + littleEndian(0, 4) + littleEndian(out.size(), 4) + name;
    out += "PK\x03\x04" + common + name + data;
  }
  const size_t at = out.size();
  return out + directory + "PK\x05\x06" + littleEndian(0, 4) + littleEndian(files.size(), 2) +
         littleEndian(files.size(), 2) + littleEndian(directory.size(), 4) + littleEndian(at, 4) + littleEndian(0, 2);
}

/// The one file that these bytes are.
inline InputFile memoryFile(const std::string &name, std::string bytes) {
  Result<std::vector<InputFile>> files = openMemory(name, std::move(bytes));
  EXPECT_TRUE(files) << (files ? "" : files.status().message());
  return files ? files->at(0) : InputFile();
}

template <class T> std::string errorOf(const Result<T> &result) {
  return result ? "no error" : result.status().message();
}
inline std::string errorOf(const Status &status) {
  return status.isOk() ? "no error" : status.message();
}

/// Real graphs beside the repository; empty where they are not there.
inline std::string sharedData() {
  std::string path = std::string(HECTOR_SOURCE_DIR) + "/../shared/data";
  return std::filesystem::is_directory(path) ? path : "";
}

}  // namespace hector::test
