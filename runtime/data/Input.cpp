#include "runtime/data/Input.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <zlib.h>

namespace hector {

namespace {

namespace fs = std::filesystem;

uint32_t little(std::span<const std::byte> bytes, size_t at, int size) {
  uint32_t value = 0;
  for (int i = 0; i < size; ++i)
    value |= static_cast<uint32_t>(bytes[at + static_cast<size_t>(i)]) << (8 * i);
  return value;
}

bool isGzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

bool isZip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && (little(bytes, 0, 4) == 0x04034b50 || little(bytes, 0, 4) == 0x06054b50);
}

std::string withoutGz(std::string name) {
  if (name.ends_with(".gz"))
    name.resize(name.size() - 3);
  return name;
}

/// Files that say something about a folder and are no part of its data.
bool isDescription(std::string_view inner) {
  std::string_view base = inner.substr(inner.rfind('/') == std::string_view::npos ? 0 : inner.rfind('/') + 1);
  for (std::string_view word : {"README", "ORIGIN", "LICENSE", "LICENCE"})
    if (base.starts_with(word))
      return true;
  return base.starts_with(".") || base.starts_with("__MACOSX");
}

/// Reads the directory at the end of a zip archive. Every offset is checked against the archive's size.
Result<std::vector<InputFile>> openZip(const std::string &name, MappedFile file) {
  constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30, kMaxComment = 0xffff;
  auto bytes = file.bytes;
  auto damaged = [&](const std::string &what) {
    return Status::invalid(name + ": the zip archive is damaged or incomplete: " + what);
  };
  if (bytes.size() < kEndSize)
    return damaged("it has " + std::to_string(bytes.size()) + " bytes");
  size_t end = bytes.size();
  for (size_t at = bytes.size() - kEndSize + 1; at-- > 0;) {
    if (little(bytes, at, 4) == 0x06054b50) {
      end = at;
      break;
    }
    if (bytes.size() - at > kEndSize + kMaxComment)
      break;
  }
  if (end == bytes.size())
    return damaged("its directory, which stands at the end, is missing");
  const size_t numEntries = little(bytes, end + 10, 2);
  size_t at = little(bytes, end + 16, 4);
  if (numEntries == 0xffff || at == 0xffffffff)
    return Status::invalid(name + ": is a zip64 archive, which is not supported; unpack it and import the folder");
  std::vector<InputFile> files;
  for (size_t i = 0; i < numEntries; ++i) {
    if (at > end || end - at < kEntrySize || little(bytes, at, 4) != 0x02014b50)
      return damaged("entry " + std::to_string(i) + " of its directory is not where it should be");
    const uint32_t flags = little(bytes, at + 8, 2), method = little(bytes, at + 10, 2);
    const size_t packed = little(bytes, at + 20, 4), plain = little(bytes, at + 24, 4);
    const size_t nameSize = little(bytes, at + 28, 2);
    const size_t skip = nameSize + little(bytes, at + 30, 2) + little(bytes, at + 32, 2);
    const size_t local = little(bytes, at + 42, 4);
    if (end - at - kEntrySize < skip)
      return damaged("entry " + std::to_string(i) + " of its directory reaches beyond its end");
    InputFile member;
    std::string inner(reinterpret_cast<const char *>(bytes.data()) + at + kEntrySize, nameSize);
    member.crc = little(bytes, at + 16, 4);
    member.name = name + "/" + inner;
    member.plainSize = plain;
    member.inZip = true;
    at += kEntrySize + skip;
    if (inner.ends_with("/") || isDescription(inner))
      continue;
    if (flags & 1)
      return Status::invalid(member.name + ": is encrypted; unpack it and import the folder");
    if (method != 0 && method != 8)
      return Status::invalid(member.name + ": is packed by method " + std::to_string(method) +
                             "; expected stored (0) or deflate (8): unpack it and import the folder");
    if (local > bytes.size() || bytes.size() - local < kLocalSize || little(bytes, local, 4) != 0x04034b50)
      return damaged("member " + inTicks(inner) + " is not where the directory says");
    const size_t begin = local + kLocalSize + little(bytes, local + 26, 2) + little(bytes, local + 28, 2);
    if (begin > bytes.size() || bytes.size() - begin < packed)
      return damaged("member " + inTicks(inner) + " reaches beyond its end");
    if (method == 0 && packed != plain)
      return damaged("member " + inTicks(inner) + " is stored, but has two sizes");
    member.packing = method == 8 ? Packing::Deflate : Packing::Plain;
    member.bytes = bytes.subspan(begin, packed);
    // Unpacking checks the others.
    if (method == 0 && crc32_z(0, reinterpret_cast<const Bytef *>(member.bytes.data()), packed) != member.crc)
      return damaged("member " + inTicks(inner) + " has not the checksum that the directory says");
    member.owner = file.owner;
    member.inner = withoutGz(inner);
    if (method == 0 && inner.ends_with(".gz") && isGzip(member.bytes))
      member.packing = Packing::Gzip, member.inZip = false;
    files.push_back(std::move(member));
  }
  std::sort(files.begin(), files.end(), [](const auto &a, const auto &b) { return a.inner < b.inner; });
  return files;
}

Status addFile(const std::string &name, const std::string &inner, MappedFile file, bool mapped,
               std::vector<InputFile> &files) {
  if (isZip(file.bytes)) {
    Result<std::vector<InputFile>> members = openZip(name, std::move(file));
    if (!members)
      return members.status();
    files.insert(files.end(), members->begin(), members->end());
    return Status::ok();
  }
  InputFile input;
  input.name = name;
  input.mapped = mapped;
  input.inner = withoutGz(inner);
  input.packing = isGzip(file.bytes) ? Packing::Gzip : Packing::Plain;
  input.bytes = file.bytes;
  input.owner = std::move(file.owner);
  files.push_back(std::move(input));
  return Status::ok();
}

Status noData(const std::string &name, const char *what) {
  return Status::invalid(name + ": the " + what + " holds no data; expected files to import");
}

class PlainStream : public ByteStream {
public:
  explicit PlainStream(const InputFile &file) : file(file) {}
  Result<size_t> read(std::span<char> out) override {
    size_t size = std::min(out.size(), file.bytes.size() - at);
    if (size > 0)
      std::memcpy(out.data(), file.bytes.data() + at, size);
    at += size;
    return size;
  }
  uint64_t position() const override { return at; }

private:
  const InputFile &file;
  size_t at = 0;
};

/// gzip (several members, one after the other) or a zip member.
class InflateStream : public ByteStream {
public:
  explicit InflateStream(const InputFile &file) : file(file) {
    // 31: a gzip header and the largest window; -15: no header.
    ready = inflateInit2(&state, file.packing == Packing::Gzip ? 31 : -15) == Z_OK;
  }
  InflateStream(const InflateStream &) = delete;
  InflateStream &operator=(const InflateStream &) = delete;
  ~InflateStream() override {
    if (ready)
      inflateEnd(&state);
  }

  Result<size_t> read(std::span<char> out) override {
    if (!ready)
      return Status::failed(file.name + ": no memory to unpack it");
    size_t filled = 0;
    while (filled < out.size() && !finished) {
      const size_t left = file.bytes.size() - at;
      const auto in = static_cast<uInt>(std::min<size_t>(left, std::numeric_limits<uInt>::max()));
      const auto room = static_cast<uInt>(std::min<size_t>(out.size() - filled, std::numeric_limits<uInt>::max()));
      state.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(file.bytes.data() + at));
      state.avail_in = in;
      state.next_out = reinterpret_cast<Bytef *>(out.data() + filled);
      state.avail_out = room;
      int result = inflate(&state, Z_NO_FLUSH);
      at += in - state.avail_in;
      const size_t made = room - state.avail_out;
      if (file.inZip)
        crc = static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef *>(out.data() + filled), made));
      filled += made;
      total += made;
      if (result == Z_STREAM_END) {
        if (Status status = endMember(); !status.isOk())
          return status;
      } else if (result == Z_BUF_ERROR || (result == Z_OK && made == 0 && state.avail_in == 0)) {
        return Status::invalid(file.name + ": ends in the middle of its packed data, after byte " + std::to_string(at) +
                               " (" + std::to_string(total) +
                               " bytes unpacked); the file is incomplete: fetch it again");
      } else if (result != Z_OK) {
        return Status::invalid(file.name + ": byte " + std::to_string(at) + ": the packed data is damaged (" +
                               (state.msg ? state.msg : "unknown error") + "); fetch the file again");
      }
    }
    return filled;
  }
  uint64_t position() const override { return at; }

private:
  Status endMember() {
    if (file.inZip) {
      finished = true;
      if (total != file.plainSize || crc != file.crc)
        return Status::invalid(file.name + ": unpacks to " + std::to_string(total) +
                               " bytes whose checksum or size is not what the archive says (" +
                               std::to_string(file.plainSize) + " bytes); fetch the archive again");
      return Status::ok();
    }
    auto rest = file.bytes.subspan(at);
    // Some tools pad with zeros.
    if (std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; })) {
      finished = true;
      return Status::ok();
    }
    if (!isGzip(rest))
      return Status::invalid(file.name + ": byte " + std::to_string(at) +
                             ": the gzip data ends, but other bytes follow; expected the end or another gzip member");
    inflateReset(&state);
    return Status::ok();
  }

  const InputFile &file;
  z_stream state{};
  size_t at = 0;
  uint64_t total = 0;
  uint32_t crc = 0;
  bool ready = false;
  bool finished = false;
};

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::string_view InputFile::base() const {
  size_t slash = inner.rfind('/');
  return std::string_view(inner).substr(slash == std::string::npos ? 0 : slash + 1);
}

Result<std::vector<InputFile>> openInputs(const std::vector<std::string> &paths) {
  std::vector<InputFile> files;
  for (const std::string &path : paths) {
    std::error_code error;
    const size_t before = files.size();
    if (!fs::is_directory(path, error)) {
      Result<MappedFile> file = mapFile(path);
      if (!file)
        return file.status();
      if (Status status = addFile(path, fs::path(path).filename().string(), std::move(*file), true, files);
          !status.isOk())
        return status;
      if (files.size() == before)
        return noData(path, "zip archive");
      continue;
    }
    std::vector<std::string> inside;
    for (fs::recursive_directory_iterator it(path, error), last; !error && it != last; it.increment(error)) {
      std::string inner = it->path().lexically_relative(path).generic_string();
      if (isDescription(inner)) {
        if (it->is_directory(error))
          it.disable_recursion_pending();
      } else if (it->is_regular_file(error)) {
        inside.push_back(std::move(inner));
      }
    }
    if (error)
      return Status::invalid(path + ": cannot be read: " + error.message());
    std::sort(inside.begin(), inside.end());
    for (const std::string &inner : inside) {
      std::string name = (fs::path(path) / inner).generic_string();
      Result<MappedFile> file = mapFile(name);
      if (!file)
        return file.status();
      if (Status status = addFile(name, inner, std::move(*file), true, files); !status.isOk())
        return status;
    }
    if (files.size() == before)
      return noData(path, "folder");
  }
  return files;
}

Result<std::vector<InputFile>> openMemory(const std::string &name, std::string bytes) {
  auto owner = std::make_shared<std::string>(std::move(bytes));
  MappedFile file{std::as_bytes(std::span(*owner)), owner};
  std::vector<InputFile> files;
  if (Status status = addFile(name, name, std::move(file), false, files); !status.isOk())
    return status;
  if (files.empty())
    return noData(name, "zip archive");
  return files;
}

std::unique_ptr<ByteStream> openStream(const InputFile &file) {
  if (file.packing == Packing::Plain)
    return std::make_unique<PlainStream>(file);
  return std::make_unique<InflateStream>(file);
}

Result<std::string> readWhole(const InputFile &file, uint64_t limit) {
  std::unique_ptr<ByteStream> stream = openStream(file);
  std::string text;
  for (;;) {
    constexpr size_t kStep = 1 << 16, kMuch = size_t{1} << 28;
    const size_t size = text.size();
    const size_t wanted = std::max(size + kStep, size + size / 2);
    // Little that is packed may be much.
    if (wanted > kMuch)
      if (Status status = requireMemory(file.name + ": reading it", static_cast<int64_t>(wanted)); !status.isOk())
        return status;
    text.resize(wanted);
    Result<size_t> got = stream->read(std::span(text).subspan(size));
    if (!got)
      return got.status();
    const bool end = *got < text.size() - size;
    text.resize(size + *got);
    if (text.size() > limit)
      return Status::invalid(file.name + ": is larger than " + std::to_string(limit) +
                             " bytes, the most supported here");
    if (end)
      break;
  }
  if (text.starts_with(kByteOrderMark))
    text.erase(0, kByteOrderMark.size());
  return text;
}

bool isEmpty(const InputFile &file) {
  char first;
  Result<size_t> got = openStream(file)->read(std::span(&first, 1));
  return got && *got == 0;
}

bool isAscii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080u)
      return false;
  }
  for (; i < text.size(); ++i)
    if (text[i] & '\x80')
      return false;
  return true;
}

BlockReader::BlockReader(const InputFile &file, size_t blockBytes, size_t maxLine)
    : file(file), blockBytes(blockBytes), maxLine(maxLine) {
  if (file.packing != Packing::Plain)
    stream = openStream(file);
}

Status BlockReader::checkStart(std::string_view &text) {
  started = true;
  if (text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
  else if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return Status::invalid(file.name + ": is UTF-16 (it starts with a UTF-16 byte-order mark); expected UTF-8: convert "
                                       "it with `iconv -f UTF-16 -t UTF-8`");
  return Status::ok();
}

Status BlockReader::lineTooLong(uint64_t start) const {
  // Lines are counted only here: doing so on the way would cost every file time.
  int64_t line = 1;
  std::unique_ptr<ByteStream> again = openStream(file);
  std::string piece(size_t{1} << 16, '\0');
  for (uint64_t at = 0; at < start;) {
    Result<size_t> got = again->read(std::span(piece).first(std::min<uint64_t>(piece.size(), start - at)));
    if (!got || *got == 0)
      break;
    line += std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(*got), '\n');
    at += *got;
  }
  return Status::invalid(file.name + ":" + std::to_string(line) + ": the line is longer than " +
                         formatBytes(static_cast<int64_t>(maxLine)) + ", the most supported; is the file damaged?");
}

Result<Block> BlockReader::next() {
  if (ended)
    return Block();
  return stream ? nextUnpacked() : nextMapped();
}

Result<Block> BlockReader::nextMapped() {
  std::string_view all(reinterpret_cast<const char *>(file.bytes.data()), file.bytes.size());
  std::string_view rest = all.substr(used);
  if (!started)
    if (Status status = checkStart(rest); !status.isOk())
      return status;
  size_t size = rest.size();
  if (size > blockBytes) {
    size_t newline = rest.rfind('\n', blockBytes - 1);
    if (newline == std::string_view::npos) {
      newline = rest.substr(0, maxLine + 1).find('\n', blockBytes);
      if (newline == std::string_view::npos && size > maxLine)
        return lineTooLong(static_cast<uint64_t>(rest.data() - all.data()));
    }
    if (newline != std::string_view::npos)
      size = newline + 1;
  }
  used = static_cast<uint64_t>(rest.data() - all.data()) + size;
  ended = used == all.size();
  forgetRead();
  return Block{rest.substr(0, size), file.owner};
}

void BlockReader::forgetRead() {
  // Pages that were read stay in the system's cache but need not count as ours. Should one be looked at again, it comes
  // back from the file.
  constexpr uint64_t kStep = uint64_t{64} << 20;
  if (used < forgotten + 2 * kStep)
    return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto base = reinterpret_cast<uintptr_t>(file.bytes.data());
  const uintptr_t begin = (base + forgotten + page - 1) / page * page;
  const uintptr_t stop = (base + used - kStep) / page * page;
  if (file.mapped && stop > begin)
    madvise(reinterpret_cast<void *>(begin), stop - begin, MADV_DONTNEED);
  forgotten = used - kStep;
}

Result<Block> BlockReader::nextUnpacked() {
  auto buffer = std::make_shared<std::string>(std::move(carried));
  carried.clear();
  // The buffer starts with a line. While it has no newline it is all of one, and asks for no more than a line may have.
  for (size_t want = blockBytes;; want = std::min(buffer->size(), maxLine + 1 - buffer->size())) {
    const size_t size = buffer->size();
    buffer->resize(size + want);
    Result<size_t> got = stream->read(std::span(*buffer).subspan(size));
    if (!got)
      return got.status();
    buffer->resize(size + *got);
    used = stream->position();
    if (std::min(buffer->find('\n', size), buffer->size()) > maxLine)
      return lineTooLong(given);
    const size_t newline = buffer->rfind('\n');
    const size_t whole = newline == std::string::npos ? 0 : newline + 1;
    if (*got < want) {
      ended = true;
      break;
    }
    if (whole > 0) {
      carried.assign(*buffer, whole);
      buffer->resize(whole);
      break;
    }
  }
  given += buffer->size();
  std::string_view text = *buffer;
  if (!started)
    if (Status status = checkStart(text); !status.isOk())
      return status;
  return Block{text, std::move(buffer)};
}

}  // namespace hector
