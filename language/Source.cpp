#include "language/Source.h"

#include "language/Utf8.h"

#include <algorithm>
#include <limits>

namespace hector::language {

Source::Source(std::string name, std::string text) : fileName(std::move(name)), contents(std::move(text)) {
  // A byte-order mark is no part of the first line, so that its columns count from the first visible character.
  size_t begin = contents.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  // Places hold 32 bits. The lexer refuses files long before that; here they only must not wrap around.
  size_t size = std::min<size_t>(contents.size(), std::numeric_limits<uint32_t>::max());
  lineStarts.push_back(static_cast<uint32_t>(begin));
  for (size_t i = begin; i < size; ++i) {
    bool carriageReturnAlone = contents[i] == '\r' && (i + 1 == size || contents[i + 1] != '\n');
    if (contents[i] == '\n' || carriageReturnAlone)
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
  }
}

Source::LineColumn Source::lineColumn(uint32_t offset) const {
  auto after = std::upper_bound(lineStarts.begin() + 1, lineStarts.end(), offset);
  auto line = static_cast<uint32_t>(after - lineStarts.begin());
  std::string_view text = lineText(line);
  size_t begin = lineBegin(line);
  size_t stop = offset > begin ? std::min<size_t>(offset - begin, text.size()) : 0;
  uint32_t column = 1;
  for (size_t i = 0; i < stop; ++column)
    i += decodeUtf8(text, i).length;
  return {line, column};
}

std::string_view Source::lineText(uint32_t line) const {
  if (line == 0 || line > lineStarts.size())
    return {};
  size_t begin = lineStarts[line - 1];
  size_t end = line < lineStarts.size() ? lineStarts[line] : contents.size();
  std::string_view text = std::string_view(contents).substr(begin, end - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

Place join(Place first, Place last) {
  if (!first.known())
    return last;
  if (first.source != last.source)
    return first;
  return {first.source, std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

}  // namespace hector::language
