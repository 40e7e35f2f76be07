/// A model's text and places in it: what every diagnostic points at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hector::language {

/// One file (or string) of model text. Owns the text; places borrow the source, which outlives them.
class Source {
public:
  Source(std::string name, std::string text);
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;

  const std::string &name() const { return fileName; }
  std::string_view text() const { return contents; }

  /// Line and column of a byte offset, both from 1; columns count characters, not bytes.
  struct LineColumn {
    uint32_t line;
    uint32_t column;
  };
  LineColumn lineColumn(uint32_t offset) const;
  /// The text of line `line` (from 1) without its line ending.
  std::string_view lineText(uint32_t line) const;
  uint32_t lineBegin(uint32_t line) const { return lineStarts[line - 1]; }

private:
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
};

/// A range of bytes [begin, end) of one source.
struct Place {
  const Source *source = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool known() const { return source != nullptr; }
  std::string_view text() const { return source->text().substr(begin, end - begin); }
};

/// The smallest place that covers both.
Place join(Place first, Place last);

}  // namespace hector::language
