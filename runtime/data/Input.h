/// What is imported, as bytes: plain files, gzip, zip archives and folders.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/storage/File.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

enum class Packing : uint8_t { Plain, Gzip, Deflate };

/// One file, or one member of a zip archive. Keeps its mapping alive.
struct InputFile {
  std::string name;   // as messages show it: "data/ACM.zip/link.dat"
  std::string inner;  // inside the folder or archive, without `.gz`: "relations/a/edge.csv"
  Packing packing = Packing::Plain;
  std::span<const std::byte> bytes;  // packed
  std::shared_ptr<const void> owner;
  uint64_t plainSize = 0;  // zip only: what unpacking must give
  uint32_t crc = 0;        // zip only
  bool inZip = false;
  bool mapped = false;  // the bytes are a whole file's, mapped

  /// The last part of `inner`: "edge.csv".
  std::string_view base() const;
};

/// Expands folders (files below them, in order of their names) and zip archives. Hidden files are left out, and so are
/// those that describe a folder rather than belong to it (README, ORIGIN, LICENSE). A path that gives no file is an
/// error.
Result<std::vector<InputFile>> openInputs(const std::vector<std::string> &paths);
/// The same for bytes in memory, for tests: `name` decides as a file's name would.
Result<std::vector<InputFile>> openMemory(const std::string &name, std::string bytes);

/// The unpacked bytes of a file, in order. Concatenated gzip members are one stream; an incomplete or damaged one, or
/// bytes after the last member, is an error.
class ByteStream {
public:
  virtual ~ByteStream() = default;
  /// Fills `out` as far as it can; fewer bytes than asked for mean the end.
  virtual Result<size_t> read(std::span<char> out) = 0;
  /// How many packed bytes were used so far, for progress.
  virtual uint64_t position() const = 0;
};

/// `file` must outlive the stream.
std::unique_ptr<ByteStream> openStream(const InputFile &file);

/// Everything at once, for files that are small by nature. Fails beyond `limit` bytes. Drops a byte-order mark.
Result<std::string> readWhole(const InputFile &file, uint64_t limit = uint64_t{1} << 32);

/// Whether a file unpacks to nothing. False where it cannot be unpacked: reading it says why.
bool isEmpty(const InputFile &file);

/// Whether no byte has its high bit set: such text needs no check for UTF-8.
bool isAscii(std::string_view text);

/// A run of whole lines of a file.
struct Block {
  std::string_view text;
  std::shared_ptr<const void> owner;
};

/// Cuts a file into blocks that end with a newline (but perhaps the last). Skips a byte-order mark and refuses UTF-16.
/// A line of more than `maxLine` bytes is an error with the line's number, so that a few packed megabytes that unpack
/// to one line of gigabytes take no more memory than the longest line allowed and a block.
class BlockReader {
public:
  static constexpr size_t kMaxLine = size_t{256} << 20;

  BlockReader(const InputFile &file, size_t blockBytes, size_t maxLine = kMaxLine);
  /// The next block; one without text is the end.
  Result<Block> next();
  uint64_t position() const { return used; }

private:
  Result<Block> nextMapped();
  Result<Block> nextUnpacked();
  Status checkStart(std::string_view &text);
  Status lineTooLong(uint64_t start) const;
  void forgetRead();

  const InputFile &file;
  size_t blockBytes, maxLine;
  std::unique_ptr<ByteStream> stream;  // null: mapped
  std::string carried;                 // the start of a line whose end has not been read
  uint64_t used = 0;                   // packed bytes
  uint64_t given = 0;                  // unpacked bytes in the blocks so far
  uint64_t forgotten = 0;
  bool started = false;
  bool ended = false;
};

}  // namespace hector
