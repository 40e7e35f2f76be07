#include "runtime/data/Table.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

namespace hector {

namespace {

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

/// Takes the first line off `text`, without its newline.
std::string_view takeLine(std::string_view &text) {
  size_t newline = text.find('\n');
  std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  return line;
}

const char *separatorName(char separator) {
  return separator == '\t' ? "tabs" : separator == ',' ? "commas" : "spaces";
}

Status notText(const InputFile &file, int64_t line, std::string_view text) {
  size_t good = validUtf8Prefix(text);
  size_t column = 1;
  for (char c : text.substr(0, good))
    column += (c & '\xc0') != '\x80';
  return Status::invalid(file.name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": the byte 0x" +
                         hexByte(static_cast<unsigned char>(text[good])) +
                         " is not UTF-8; expected UTF-8 (if the file is in Latin-1, convert it with `iconv -f LATIN1 "
                         "-t UTF-8`)");
}

}  // namespace

void splitRow(std::string_view line, char separator, std::vector<std::string_view> &fields,
              std::deque<std::string> *unquoted) {
  fields.clear();
  if (separator == ' ') {
    line = trim(line);
    while (!line.empty()) {
      size_t stop = line.find_first_of(" \t");
      fields.push_back(line.substr(0, stop));
      line = stop == std::string_view::npos ? "" : trim(line.substr(stop));
    }
    return;
  }
  for (;;) {
    std::string_view rest = line;
    while (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
    if (separator == ',' && unquoted && rest.starts_with('"')) {
      std::string text;
      size_t i = 1;
      for (; i < rest.size(); ++i) {
        if (rest[i] == '"') {
          if (i + 1 < rest.size() && rest[i + 1] == '"')
            ++i;
          else
            break;
        }
        text += rest[i];
      }
      unquoted->push_back(std::move(text));
      fields.push_back(unquoted->back());
      size_t comma = rest.find(',', i);
      if (comma == std::string_view::npos)
        return;
      line = rest.substr(comma + 1);
      continue;
    }
    size_t stop = line.find(separator);
    fields.push_back(trim(line.substr(0, stop)));
    if (stop == std::string_view::npos)
      return;
    line.remove_prefix(stop + 1);
  }
}

std::optional<uint64_t> parseId(std::string_view text) {
  uint64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<double> parseNumber(std::string_view text) {
  double value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool isColumnName(std::string_view field) {
  if (field.empty())
    return false;
  if (field.front() == '+')
    field.remove_prefix(1);
  // Numbers that no double can hold are numbers nevertheless.
  double value = 0;
  auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc::invalid_argument || stop != field.data() + field.size();
}

std::string headerNote(const InputFile &file, int64_t line, std::string_view text) {
  return file.name + ":" + std::to_string(line) + ": " + inTicks(trim(text)) + " was taken as a header, not as a row";
}

std::string headerNote(const InputFile &file, int64_t line, const std::vector<std::string> &fields, char separator) {
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i)
    text += (i ? std::string(1, separator) : "") + fields[i];
  return headerNote(file, line, text);
}

namespace {

constexpr size_t kLook = 1 << 16;  // bytes at the start of a file that tell its format

/// Whether the fields name the parts of an edge or a triple, each once: `source,target`, `Head,Relation,Tail_ID`.
/// Single letters count for triples only: nodes are called `s` and `t` too.
bool namesParts(const std::vector<std::string_view> &fields) {
  constexpr std::string_view kWords[3][10] = {
      {"head", "source", "src", "subject", "subj", "from", "h", "s"},
      {"relation", "rel", "predicate", "pred", "property", "edge", "type", "edge_type", "r", "p"},
      {"tail", "target", "dst", "destination", "dest", "object", "obj", "to", "t", "o"},
  };
  if (fields.size() != 2 && fields.size() != 3)
    return false;
  bool found[3] = {};
  for (std::string_view field : fields) {
    std::string word(field);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (std::string_view suffix : {"_id", "_name"})
      if (word.ends_with(suffix))
        word.resize(word.size() - suffix.size());
    if (word.empty() || (word.size() == 1 && fields.size() == 2))
      return false;
    for (size_t part = 0; part < 3; ++part)
      found[part] |= std::find(std::begin(kWords[part]), std::end(kWords[part]), word) != std::end(kWords[part]);
  }
  return found[0] && found[2] && found[1] == (fields.size() == 3);
}

}  // namespace

Result<bool> hasRows(const InputFile &file) {
  BlockReader reader(file, kLook);
  Result<Block> block = reader.next();
  if (!block)
    return block.status();
  for (std::string_view text = block->text; !text.empty();)
    if (!trim(takeLine(text)).empty())
      return true;
  return false;
}

Result<TableFormat> sniffTable(const InputFile &file) {
  constexpr size_t kRows = 200;
  BlockReader reader(file, kLook);
  Result<Block> block = reader.next();
  if (!block)
    return block.status();
  std::string_view text = block->text;
  std::vector<std::string_view> lines;
  std::vector<int64_t> lineOf;
  for (int64_t number = 1; !text.empty() && lines.size() < kRows; ++number) {
    std::string_view line = trim(takeLine(text));
    if (line.find('\0') != std::string_view::npos)
      return Status::invalid(file.name + ": line " + std::to_string(number) +
                             " has a zero byte; expected a table in text");
    if (validUtf8Prefix(line) < line.size())
      return notText(file, number, line);
    if (!line.empty()) {
      lines.push_back(line);
      lineOf.push_back(number);
    }
  }
  if (lines.empty())
    return Status::invalid(file.name + ": has no rows; expected a table in text");
  TableFormat format;
  std::string_view sample = lines.size() > 1 ? lines[1] : lines[0];
  if (sample.find('\t') != std::string_view::npos)
    format.separator = '\t';
  else if (sample.find(',') != std::string_view::npos)
    format.separator = ',';
  std::vector<std::string_view> fields;
  std::deque<std::string> unquoted;
  auto split = [&](std::string_view line) {
    unquoted.clear();
    splitRow(line, format.separator, fields, &unquoted);
  };
  // As most rows have; of equally many, the larger number: a count line is short.
  std::map<size_t, size_t> rowsOfWidth;
  for (std::string_view line : lines) {
    split(line);
    ++rowsOfWidth[fields.size()];
  }
  size_t most = 0;
  for (auto [width, rows] : rowsOfWidth)
    if (rows >= most) {
      most = rows;
      format.numColumns = width;
    }
  size_t first = 0;
  split(lines[0]);
  if (fields.size() == format.numColumns && namesParts(fields)) {
    format.header = true;
    first = 1;
  }
  if (fields.size() == 1 && format.numColumns > 1)
    if (std::optional<uint64_t> rows = parseId(lines[0]); rows && *rows <= INT64_MAX) {
      format.countLine = static_cast<int64_t>(*rows);
      first = 1;
    }
  // The rows of ids, and the first field that is none.
  size_t idRows = 0, oddRow = lines.size();
  std::string odd;
  for (size_t i = first; i < lines.size(); ++i) {
    split(lines[i]);
    auto field = std::find_if(fields.begin(), fields.end(), [](std::string_view f) { return !parseId(f); });
    if (field == fields.end()) {
      ++idRows;
    } else if (oddRow == lines.size()) {
      oddRow = i;
      odd = *field;
    }
  }
  format.allNumbers = oddRow == lines.size();
  // Where the first line alone is not of ids it is a header, or else a row that must not be lost.
  if (oddRow == 0 && lines.size() > 1 && idRows + 1 == lines.size()) {
    split(lines[0]);
    format.header = format.allNumbers = std::all_of(fields.begin(), fields.end(), isColumnName);
  }
  if (format.header)
    format.notes.push_back(headerNote(file, lineOf[0], lines[0]));
  if (!format.allNumbers && !odd.empty() && (idRows * 2 > lines.size() - first || !isColumnName(odd)))
    format.notes.push_back(file.name + ":" + std::to_string(lineOf[oddRow]) + ": " + inTicks(odd) +
                           " is not a whole number from 0, so all fields were read as names");
  if (format.countLine || format.header)
    format.skipLines = lineOf[0];
  return format;
}

Result<SmallTable> readSmallTable(const InputFile &file, char separator) {
  SmallTable table;
  BlockReader reader(file, size_t{1} << 20);
  std::vector<std::string_view> fields;
  std::deque<std::string> unquoted;
  for (int64_t line = 1;;) {
    Result<Block> block = reader.next();
    if (!block)
      return block.status();
    if (block->text.empty())
      return table;
    for (std::string_view rest = block->text; !rest.empty(); ++line) {
      std::string_view row = takeLine(rest);
      if (trim(row).empty())
        continue;
      if (validUtf8Prefix(row) < row.size())
        return notText(file, line, row);
      if (row.ends_with('\r'))
        row.remove_suffix(1);
      unquoted.clear();
      splitRow(row, separator, fields, &unquoted);
      table.rows.emplace_back(fields.begin(), fields.end());
      table.lineOf.push_back(line);
    }
  }
}

namespace {

struct ParsedRows {
  std::vector<uint32_t> ids;
  std::vector<HashedText> texts;
  std::deque<std::string> unquoted;  // fields that do not stand in the block as they are
  std::vector<std::pair<int64_t, std::string>> bad;
  int64_t numBad = 0;
  int64_t numLines = 0;
  std::shared_ptr<const void> owner;
};

enum class Cut { Done, WrongCount, WrongQuotes };

/// Cuts exactly `columns` fields without a vector. Fields with doubled quotes inside are kept in `unquoted`.
Cut cutFields(std::string_view line, char separator, std::string_view *fields, size_t columns,
              std::deque<std::string> &unquoted) {
  const char *at = line.data(), *end = at + line.size();
  for (size_t c = 0; c < columns; ++c) {
    const bool last = c + 1 == columns;
    while (at < end && isBlank(*at) && (separator != '\t' || *at != '\t'))
      ++at;
    const char *start = at;
    if (separator == ' ') {
      while (at < end && !isBlank(*at))
        ++at;
      fields[c] = {start, at};
      if (start == at)
        return Cut::WrongCount;
    } else if (separator == ',' && at < end && *at == '"') {
      bool doubled = false;
      const char *close = at + 1;
      for (;; close += 2, doubled = true) {
        close = static_cast<const char *>(std::memchr(close, '"', static_cast<size_t>(end - close)));
        if (!close)
          return Cut::WrongQuotes;
        if (close + 1 == end || close[1] != '"')
          break;
      }
      fields[c] = {at + 1, close};
      for (at = close + 1; at < end && isBlank(*at);)
        ++at;
      if (at < end && *at != ',')
        return Cut::WrongQuotes;
      if ((at < end) == last || fields[c].empty())
        return Cut::WrongCount;
      if (doubled) {
        std::string text;
        for (size_t i = 0; i < fields[c].size(); i += fields[c][i] == '"' ? 2 : 1)
          text += fields[c][i];
        fields[c] = unquoted.emplace_back(std::move(text));
      }
      at += last ? 0 : 1;
    } else {
      const char *stop = static_cast<const char *>(std::memchr(at, separator, static_cast<size_t>(end - at)));
      if ((stop != nullptr) == last)
        return Cut::WrongCount;
      fields[c] = trim({start, stop ? stop : end});
      if (fields[c].empty())
        return Cut::WrongCount;
      at = stop ? stop + 1 : end;
    }
  }
  while (at < end && isBlank(*at))
    ++at;
  return at == end ? Cut::Done : Cut::WrongCount;
}

}  // namespace

Status RowReader::read(const InputFile &file, const Watch &watch, Stats &stats) const {
  constexpr size_t kBlock = 1 << 20, kMaxShown = 3, kMaxColumns = 8;
  BlockReader reader(file, kBlock);
  int64_t linesBefore = 0;
  int64_t toSkip = skipLines;
  auto work = [&](Block block, int64_t skip) {
    ParsedRows rows;
    rows.owner = block.owner;
    std::string_view text = block.text;
    const bool ascii = isAscii(text);
    std::string_view fields[kMaxColumns];
    while (!text.empty()) {
      std::string_view line = takeLine(text);
      ++rows.numLines;
      if (skip > 0) {
        --skip;
        continue;
      }
      if (trim(line).empty())
        continue;
      std::string problem;
      Cut cut = Cut::Done;
      if (!ascii && validUtf8Prefix(line) < line.size()) {
        problem = "the byte 0x" + hexByte(static_cast<unsigned char>(line[validUtf8Prefix(line)])) +
                  " is not UTF-8; expected UTF-8";
      } else if (cut = cutFields(line, separator, fields, columns, rows.unquoted); cut != Cut::Done) {
        problem = "found " + inTicks(trim(line)) + "; expected " +
                  (cut == Cut::WrongQuotes
                       ? "a field that starts with `\"` to end with `\"` in the same line, and quotes inside it doubled"
                       : std::to_string(columns) + " fields separated by " + separatorName(separator));
      } else if (numbers) {
        const size_t before = rows.ids.size();
        for (size_t c = 0; c < columns && problem.empty(); ++c) {
          std::optional<uint64_t> id = parseId(fields[c]);
          if (!id)
            problem = "found " + inTicks(fields[c]) + "; expected a whole number, as in the rows before";
          else if (*id >= StringTable::kMaxTexts)
            problem = "found " + inTicks(fields[c]) + "; expected ids below " + std::to_string(StringTable::kMaxTexts);
          else
            rows.ids.push_back(static_cast<uint32_t>(*id));
        }
        if (!problem.empty())
          rows.ids.resize(before);
      } else {
        for (size_t c = 0; c < columns; ++c)
          rows.texts.emplace_back(fields[c]);
      }
      if (!problem.empty()) {
        ++rows.numBad;
        if (rows.bad.size() < kMaxShown)
          rows.bad.emplace_back(rows.numLines, std::move(problem));
        if (!skipBad)
          break;
      }
    }
    return rows;
  };
  auto take = [&](ParsedRows rows, uint64_t position) {
    for (auto &[line, problem] : rows.bad) {
      std::string message = file.name + ":" + std::to_string(linesBefore + line) + ": " + problem;
      if (!skipBad)
        return Status::invalid(std::move(message));
      if (stats.firstBad.size() < kMaxShown)
        stats.firstBad.push_back(std::move(message));
    }
    stats.bad += rows.numBad;
    linesBefore += rows.numLines;
    stats.rows += static_cast<int64_t>((numbers ? rows.ids.size() : rows.texts.size()) / columns);
    if (watch.progress)
      watch.progress(file.name, position, file.bytes.size(), stats.rows);
    return numbers ? takeIds(rows.ids) : takeTexts(rows.texts);
  };
  // The lines to skip are at the start: the first block is taken alone, the others in parallel.
  Result<Block> first = reader.next();
  if (!first)
    return first.status();
  if (first->text.empty())
    return Status::ok();
  if (Status status = take(work(std::move(*first), toSkip), reader.position()); !status.isOk())
    return status;
  return inOrder<ParsedRows>(reader, threads, watch, [&](Block block) { return work(std::move(block), 0); }, take);
}

}  // namespace hector
