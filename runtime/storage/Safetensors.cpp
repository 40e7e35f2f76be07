/// Reading trusts nothing: the header is parsed event by event, each event must be one the format allows at that place,
/// and the tensors must cover the data exactly once.
#include "runtime/storage/Safetensors.h"

#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <tuple>

namespace hector {

namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as in the reference implementation
constexpr size_t kMaxRank = 64;
constexpr std::string_view kMetadataKey = "__metadata__";

std::string dtypeNames() {
  std::string names;
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i)
    names.append(i > 0 ? ", " : "").append(name(static_cast<DType>(i)));
  return names;
}

/// What the header says of one tensor.
struct Entry {
  size_t keyAt = 0;  // byte of the file; so are the others
  size_t shapeAt = 0;
  size_t offsetsAt = 0;
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::vector<uint64_t> offsets;  // begin and end, counted from the first byte after the header
  bool hasOffsets = false;
};

using Entries = std::map<std::string, Entry>;

/// Gives the parser one byte at a time and counts them where the event handler can see it.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(std::string_view text, size_t *position) : text(text), position(position) {}
  reference operator*() const { return text[*position]; }
  CountingIterator &operator++() {
    ++*position;
    return *this;
  }
  /// Only ever compared with the end.
  bool operator==(const CountingIterator &) const { return *position == text.size(); }

private:
  std::string_view text;
  size_t *position;
};

/// Receives the parser's events. Each method returns whether to go on; `failure` then says why not.
/// The parser reports no places, so they are found from how far it has read: a token starts at the first byte after the
/// previous token that is neither white space nor a separator.
class HeaderHandler {
public:
  HeaderHandler(std::string_view header, uint64_t dataBytes, const std::string &file)
      : header(header), dataBytes(dataBytes), file(file) {}

  size_t *position() { return &consumed; }
  std::optional<Status> failure;
  Entries entries;
  std::map<std::string, std::string> metadata;

  bool null() { return literal("null"); }
  bool boolean(bool value) { return literal(value ? "true" : "false"); }
  bool number_integer(int64_t) { return unexpectedNumber(); }
  bool number_float(double, const std::string &) { return unexpectedNumber(); }
  bool binary(std::vector<uint8_t> &) { return literal("binary data"); }

  bool number_unsigned(uint64_t value) {
    beginToken();
    std::string_view digits = numberText();
    if (state == State::Shape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return unexpected(digits);
      if (entry->shape->size() == kMaxRank)
        return fail(tokenAt, "tensor " + inTicks(tensorName) + " has more than " + std::to_string(kMaxRank) +
                                 " dimensions; at most " + std::to_string(kMaxRank) + " are supported");
      entry->shape->push_back(static_cast<int64_t>(value));
    } else if (state == State::Offsets) {
      if (entry->offsets.size() == 2)
        return fail(tokenAt, "the data_offsets of tensor " + inTicks(tensorName) +
                                 " hold more than 2 numbers; expected the first byte and the one after the last");
      entry->offsets.push_back(value);
    } else {
      return unexpected(digits);
    }
    tokenEnd += digits.size();
    return true;
  }

  bool string(std::string &text) {
    beginToken();
    if (state == State::MetadataValue) {
      metadata[metadataName] = text;
      state = State::Metadata;
    } else if (state == State::DTypeText) {
      entry->dtype = dtypeFromName(text);
      if (!entry->dtype)
        return fail(tokenAt, "tensor " + inTicks(tensorName) + " has dtype " + inTicks(text) + "; expected one of " +
                                 dtypeNames());
      state = State::Tensor;
    } else {
      return unexpected("text");
    }
    return endToken();
  }

  bool key(std::string &text) {
    beginToken();
    if (state == State::File) {
      if (!(text == kMetadataKey ? beginMetadata() : beginTensor(text)))
        return false;
    } else if (state == State::Metadata) {
      if (metadata.count(text))
        return fail(tokenAt, "metadata " + inTicks(text) + " is given twice; expected each name once");
      metadataName = text;
      state = State::MetadataValue;
    } else if (!beginField(text)) {
      return false;
    }
    return endToken();
  }

  bool start_object(size_t) {
    beginToken();
    if (state == State::Start) {
      state = State::File;
    } else if (state == State::MetadataStart) {
      state = State::Metadata;
    } else if (state == State::TensorStart) {
      state = State::Tensor;
    } else {
      return unexpected("an object");
    }
    return endToken();
  }

  bool end_object() {
    beginToken();
    if (state == State::Tensor && !finishTensor())
      return false;
    state = state == State::File ? State::Done : State::File;
    return endToken();
  }

  bool start_array(size_t) {
    beginToken();
    if (state == State::ShapeStart) {
      entry->shape.emplace();
      state = State::Shape;
    } else if (state == State::OffsetsStart) {
      entry->hasOffsets = true;
      state = State::Offsets;
    } else {
      return unexpected("a list");
    }
    return endToken();
  }

  bool end_array() {
    beginToken();
    if (state == State::Offsets && entry->offsets.size() != 2)
      return fail(entry->offsetsAt, "the data_offsets of tensor " + inTicks(tensorName) + " hold " +
                                        std::to_string(entry->offsets.size()) +
                                        " numbers; expected 2, the first byte and the one after the last");
    state = State::Tensor;
    return endToken();
  }

  bool parse_error(size_t read, const std::string &, const nlohmann::json::exception &error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 4: syntax error ...; last read: '...'; expected
    // ..."
    std::string text = error.what();
    if (text.find(".out_of_range.") != std::string::npos)  // 1e999: well-formed, but no number we could want
      return unexpectedNumber();
    if (size_t end = text.find("] "); end != std::string::npos)
      text.erase(0, end + 2);
    if (text.starts_with("parse error at"))
      text.erase(0, std::min(text.size(), text.find(": ") + 2));
    if (size_t from = text.find("; last read: '"); from != std::string::npos)
      text.erase(from, text.rfind('\'') + 1 - from);  // it repeats the header, bad bytes included
    return fail(kLengthBytes + (read > 0 ? read - 1 : 0), "the header is not valid JSON: " + text);
  }

private:
  /// What comes next.
  enum class State {
    Start,
    File,
    MetadataStart,
    Metadata,
    MetadataValue,
    TensorStart,
    Tensor,
    DTypeText,
    ShapeStart,
    Shape,
    OffsetsStart,
    Offsets,
    Done
  };

  bool fail(size_t at, const std::string &message) {
    failure = Status::invalid(file + ": byte " + std::to_string(at) + ": " + message);
    return false;
  }

  void beginToken() {
    constexpr std::string_view kBetween = " \t\r\n,:";
    while (tokenEnd < header.size() && kBetween.find(header[tokenEnd]) != std::string_view::npos)
      ++tokenEnd;
    tokenAt = kLengthBytes + tokenEnd;
  }
  /// For all tokens but numbers, of which the parser notices the end one byte late.
  bool endToken() {
    tokenEnd = consumed;
    return true;
  }
  std::string_view numberText() const {
    std::string_view rest = header.substr(tokenEnd);
    return rest.substr(0, std::min(rest.size(), rest.find_first_not_of("+-.0123456789Ee")));
  }

  bool literal(std::string_view text) {
    beginToken();
    return unexpected(text);
  }
  bool unexpectedNumber() {
    beginToken();
    return unexpected(numberText());
  }
  bool unexpected(std::string_view what) {
    constexpr size_t kMaxShown = 40;
    std::string shown = what.size() <= kMaxShown ? std::string(what) : std::string(what.substr(0, kMaxShown)) + "…";
    auto [place, expected] = expectation();
    return fail(tokenAt, place + ": found " + shown + "; expected " + expected);
  }
  /// Where the parser is, and what the format has there.
  std::pair<std::string, std::string> expectation() const {
    std::string tensor = "tensor " + inTicks(tensorName);
    switch (state) {
    case State::MetadataStart:
      return {inTicks(kMetadataKey), "an object of texts"};
    case State::MetadataValue:
      return {"metadata " + inTicks(metadataName), "text"};
    case State::TensorStart:
      return {tensor, "an object with dtype, shape and data_offsets"};
    case State::DTypeText:
      return {tensor + ", dtype", "one of " + dtypeNames()};
    case State::ShapeStart:
      return {tensor + ", shape", "a list of whole numbers"};
    case State::OffsetsStart:
      return {tensor + ", data_offsets", "a list of two whole numbers"};
    case State::Shape:
      return {tensor + ", shape", "whole numbers from 0 to 9223372036854775807"};
    case State::Offsets:
      return {tensor + ", data_offsets", "whole numbers from 0 to 18446744073709551615"};
    case State::Start:
    case State::File:
    case State::Metadata:
    case State::Tensor:
    case State::Done:
      break;
    }
    return {"the header", "an object"};
  }

  bool beginMetadata() {
    if (hasMetadata)
      return fail(tokenAt, inTicks(kMetadataKey) + " is given twice; expected it once");
    hasMetadata = true;
    state = State::MetadataStart;
    return true;
  }
  bool beginTensor(const std::string &name) {
    auto [it, isNew] = entries.try_emplace(name);
    if (!isNew)
      return fail(tokenAt, "tensor " + inTicks(name) + " is described twice, first at byte " +
                               std::to_string(it->second.keyAt) + "; expected each name once");
    tensorName = name;
    entry = &it->second;
    entry->keyAt = tokenAt;
    state = State::TensorStart;
    return true;
  }
  bool beginField(const std::string &field) {
    bool again = false;
    if (field == "dtype") {
      again = entry->dtype.has_value();
      state = State::DTypeText;
    } else if (field == "shape") {
      again = entry->shape.has_value();
      entry->shapeAt = tokenAt;
      state = State::ShapeStart;
    } else if (field == "data_offsets") {
      again = entry->hasOffsets;
      entry->offsetsAt = tokenAt;
      state = State::OffsetsStart;
    } else {
      return fail(tokenAt, "tensor " + inTicks(tensorName) + " has a field " + inTicks(field) +
                               "; expected dtype, shape and data_offsets only");
    }
    if (again)
      return fail(tokenAt, "tensor " + inTicks(tensorName) + " has two fields " + inTicks(field) + "; expected one");
    return true;
  }

  bool finishTensor() {
    std::string tensor = "tensor " + inTicks(tensorName);
    std::string_view missing = !entry->dtype ? "dtype" : !entry->shape ? "shape" : "data_offsets";
    if (!entry->dtype || !entry->shape || !entry->hasOffsets)
      return fail(entry->keyAt,
                  tensor + " has no " + std::string(missing) + "; expected dtype, shape and data_offsets");
    // Sizes of zero count as one, so that whoever multiplies part of a shape is safe as well.
    uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / byteSize(*entry->dtype);
    uint64_t product = 1;
    bool isEmpty = false;
    for (int64_t size : *entry->shape) {
      auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
      isEmpty |= size == 0;
      if (product > limit / factor)
        return fail(entry->shapeAt, tensor + " of type " + std::string(name(*entry->dtype)) + " has shape " +
                                        formatShape(*entry->shape) + "; expected fewer than 2^63 bytes");
      product *= factor;
    }
    uint64_t bytes = isEmpty ? 0 : product * byteSize(*entry->dtype);
    uint64_t begin = entry->offsets[0];
    uint64_t end = entry->offsets[1];
    std::string offsets = "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "]";
    if (begin > end)
      return fail(entry->offsetsAt, tensor + " has " + offsets + "; expected the first not above the second");
    if (end > dataBytes)
      return fail(entry->offsetsAt, tensor + " has " + offsets + ", but " + std::to_string(dataBytes) +
                                        " bytes follow the header; expected offsets up to " +
                                        std::to_string(dataBytes) + " (is the file cut short?)");
    if (end - begin != bytes)
      return fail(entry->offsetsAt, tensor + " has " + offsets + ", which is " + std::to_string(end - begin) +
                                        " bytes; expected " + std::to_string(bytes) + " for " +
                                        std::string(name(*entry->dtype)) + " " + formatShape(*entry->shape));
    return true;
  }

  const std::string_view header;
  const uint64_t dataBytes;
  const std::string &file;

  size_t consumed = 0;  // bytes that the parser has taken
  size_t tokenEnd = 0;  // in the header
  size_t tokenAt = 0;   // in the file

  State state = State::Start;
  bool hasMetadata = false;
  std::string metadataName;
  std::string tensorName;
  Entry *entry = nullptr;
};

/// Each byte of the data belongs to one tensor.
Status checkCover(const Entries &entries, size_t dataAt, uint64_t dataBytes, const std::string &file) {
  std::vector<const Entries::value_type *> order;
  order.reserve(entries.size());
  for (const auto &item : entries)
    order.push_back(&item);
  // Of those that start together the empty ones come first.
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return std::tie(a->second.offsets, a->first) < std::tie(b->second.offsets, b->first);
  });
  auto fail = [&](uint64_t at, const std::string &message) {
    return Status::invalid(file + ": byte " + std::to_string(dataAt + at) + ": " + message);
  };
  uint64_t covered = 0;
  const std::string *previous = nullptr;
  for (const auto *item : order) {
    uint64_t begin = item->second.offsets[0];
    if (begin < covered)
      return fail(begin, "tensor " + inTicks(item->first) + " starts at offset " + std::to_string(begin) +
                             ", but tensor " + inTicks(*previous) + " ends at " + std::to_string(covered) +
                             "; expected tensors that do not overlap");
    if (begin > covered)
      return fail(covered, "no tensor holds the bytes from offset " + std::to_string(covered) + " to " +
                               std::to_string(begin) + ", where tensor " + inTicks(item->first) +
                               " starts; expected tensors without holes between them");
    covered = item->second.offsets[1];
    previous = &item->first;
  }
  if (covered != dataBytes)
    return fail(covered, "the tensors end at offset " + std::to_string(covered) + ", but " + std::to_string(dataBytes) +
                             " bytes follow the header; expected no bytes after the last tensor");
  return Status::ok();
}

void appendJsonText(std::string &out, std::string_view text) {
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00" + hexByte(byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

Status checkUtf8(std::string_view what, std::string_view text, const std::string &path) {
  size_t good = validUtf8Prefix(text);
  if (good == text.size())
    return Status::ok();
  return Status::invalid(path + ": cannot be written: " + std::string(what) + " " + inTicks(text) + " has the byte 0x" +
                         hexByte(static_cast<unsigned char>(text[good])) + " at position " + std::to_string(good) +
                         ", which is not UTF-8; expected UTF-8 text");
}

/// The header with its length, and the tensors in the order of their bytes.
struct Layout {
  std::string head;
  std::vector<const Tensor *> order;
};

Result<Layout> layOut(const TensorFile &file, const std::string &path) {
  std::string json = "{";
  if (!file.metadata.empty()) {
    appendJsonText(json, kMetadataKey);
    json += ":{";
    for (const auto &[key, value] : file.metadata) {
      if (Status status = checkUtf8("metadata name", key, path); !status.isOk())
        return status;
      if (Status status = checkUtf8("metadata text", value, path); !status.isOk())
        return status;
      if (json.back() != '{')
        json += ',';
      appendJsonText(json, key);
      json += ':';
      appendJsonText(json, value);
    }
    json += '}';
  }

  // Wide elements first: each tensor then starts at a multiple of its element size without padding.
  std::vector<const std::pair<const std::string, Tensor> *> order;
  for (const auto &item : file.tensors) {
    if (item.first == kMetadataKey)
      return Status::invalid(path + ": cannot be written: a tensor is named " + inTicks(kMetadataKey) +
                             ", which the format reserves; expected another name");
    if (Status status = checkUtf8("tensor name", item.first, path); !status.isOk())
      return status;
    order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return std::pair(byteSize(b->second.dtype), std::string_view(a->first)) <
           std::pair(byteSize(a->second.dtype), std::string_view(b->first));
  });

  Layout layout;
  uint64_t offset = 0;
  for (const auto *item : order) {
    const Tensor &tensor = item->second;
    assert(tensor.bytes || tensor.numBytes() == 0);
    if (json.size() > 1)
      json += ',';
    appendJsonText(json, item->first);
    json += R"(:{"dtype":")" + std::string(name(tensor.dtype)) + R"(","shape":[)";
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      json.append(i > 0 ? "," : "").append(std::to_string(tensor.shape[i]));
    json += R"(],"data_offsets":[)" + std::to_string(offset) + ',';
    offset += tensor.numBytes();
    json += std::to_string(offset) + "]}";
    layout.order.push_back(&tensor);
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxHeaderBytes)
    return Status::invalid(path + ": cannot be written: names, shapes and metadata take " +
                           std::to_string(json.size()) + " bytes; expected at most " + std::to_string(kMaxHeaderBytes));

  uint64_t length = json.size();
  layout.head.assign(reinterpret_cast<const char *>(&length), sizeof(length));
  layout.head += json;
  return layout;
}

}  // namespace

const Tensor *TensorFile::find(const std::string &name) const {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

Result<TensorFile> parseSafetensors(std::span<const std::byte> bytes, const std::string &name,
                                    std::shared_ptr<const void> owner) {
  auto fail = [&](size_t at, const std::string &message) {
    return Status::invalid(name + ": byte " + std::to_string(at) + ": " + message);
  };
  if (bytes.size() < kLengthBytes)
    return fail(0, "the file has " + std::to_string(bytes.size()) +
                       " bytes; expected at least 8, the length of the header that follows");
  uint64_t headerBytes;
  std::memcpy(&headerBytes, bytes.data(), sizeof(headerBytes));
  const uint64_t left = bytes.size() - kLengthBytes;
  if (headerBytes > left)
    return fail(0, "the header's length is " + std::to_string(headerBytes) + ", but " + std::to_string(left) +
                       " bytes follow; expected a safetensors file (is it one, and complete?)");
  if (headerBytes > kMaxHeaderBytes)
    return fail(0, "the header's length is " + std::to_string(headerBytes) + "; expected at most " +
                       std::to_string(kMaxHeaderBytes));

  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + kLengthBytes, headerBytes);
  if (header.empty() || header.front() != '{')
    return fail(kLengthBytes, (header.empty() ? std::string("the header is empty")
                                              : "the header starts with " + inTicks(header.substr(0, 1))) +
                                  "; expected `{`");
  // The parser takes a zero byte for the end of its input.
  if (size_t zero = header.find('\0'); zero != std::string_view::npos)
    return fail(kLengthBytes + zero, "the header contains a zero byte; expected JSON, padded with spaces");
  const uint64_t dataBytes = left - headerBytes;
  HeaderHandler handler(header, dataBytes, name);
  CountingIterator cursor(header, handler.position());
  if (!nlohmann::json::sax_parse(cursor, cursor, &handler)) {
    assert(handler.failure);
    return *handler.failure;
  }
  const size_t dataAt = kLengthBytes + headerBytes;
  if (Status status = checkCover(handler.entries, dataAt, dataBytes, name); !status.isOk())
    return status;

  TensorFile file;
  file.metadata = std::move(handler.metadata);
  for (auto &[tensorName, entry] : handler.entries) {
    Tensor tensor;
    tensor.dtype = *entry.dtype;
    tensor.shape = std::move(*entry.shape);
    tensor.bytes = bytes.data() + dataAt + entry.offsets[0];
    tensor.owner = owner;
    file.tensors.emplace(tensorName, std::move(tensor));
  }
  return file;
}

Result<TensorFile> readSafetensors(const std::string &path) {
  Result<MappedFile> file = mapFile(path);
  if (!file)
    return file.status();
  return parseSafetensors(file->bytes, path, file->owner);
}

Status writeSafetensors(const std::string &path, const TensorFile &file, int64_t *size) {
  Result<Layout> layout = layOut(file, path);
  if (!layout)
    return layout.status();
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(layout->head))};
  for (const Tensor *tensor : layout->order)
    pieces.emplace_back(tensor->bytes, tensor->numBytes());
  if (size) {
    *size = 0;
    for (const auto &piece : pieces)
      *size += static_cast<int64_t>(piece.size());
  }
  return replaceFile(path, pieces);
}

}  // namespace hector
