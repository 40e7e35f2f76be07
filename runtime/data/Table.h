/// Text in rows and columns: separators, numbers, headers, and rows read in parallel.
#pragma once

#include "runtime/data/Pipeline.h"
#include "runtime/data/StringTable.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// How a table is written. `separator` is '\t', ',' or ' ' (any run of spaces and tabs).
struct TableFormat {
  char separator = ' ';
  size_t numColumns = 0;
  std::optional<int64_t> countLine;  // a first line that says how many rows follow
  bool header = false;               // a first line of names over numbers, or of words such as `head,relation,tail`
  bool allNumbers = true;            // in the rows that were looked at
  int64_t skipLines = 0;             // those before the first row
  std::vector<std::string> notes;    // what was decided that the user should know: a header, numbers read as names
};

/// Cuts a line. Spaces around fields go; fields of comma-separated tables may stand in double quotes.
/// Fields that stood in quotes are kept in `unquoted`, which must outlive the fields; without it quotes are kept.
void splitRow(std::string_view line, char separator, std::vector<std::string_view> &fields,
              std::deque<std::string> *unquoted = nullptr);

/// A whole number that is not negative; nothing for any other text (also for 2^64 and more).
std::optional<uint64_t> parseId(std::string_view text);
/// A number such as -1.5e3; nothing for any other text.
std::optional<double> parseNumber(std::string_view text);

/// Whether a field may be a column's name: it is not empty and not wholly a number. All fields of a header are such.
bool isColumnName(std::string_view field);
/// What is said of a first line that was taken for a header.
std::string headerNote(const InputFile &file, int64_t line, std::string_view text);
std::string headerNote(const InputFile &file, int64_t line, const std::vector<std::string> &fields, char separator);

/// Whether the start of a file holds more than empty lines.
Result<bool> hasRows(const InputFile &file);

/// Looks at the start of a file. Fails where it is empty or not text.
Result<TableFormat> sniffTable(const InputFile &file);

/// All rows of a small table; `lineOf` gives each row's line in the file. Empty lines are left out.
struct SmallTable {
  std::vector<std::vector<std::string>> rows;
  std::vector<int64_t> lineOf;
};
Result<SmallTable> readSmallTable(const InputFile &file, char separator);

/// Reads rows of exactly `columns` fields, in parallel. Fields between commas may stand in double quotes. Where
/// `numbers`, every field must be an id, and `takeIds` gets them; otherwise `takeTexts` gets the fields. Skips
/// `skipLines` lines at the start.
struct RowReader {
  size_t columns = 3;
  char separator = ' ';
  bool numbers = false;
  int64_t skipLines = 0;
  bool skipBad = false;
  int threads = 1;
  std::function<Status(std::span<const uint32_t>)> takeIds;
  std::function<Status(std::span<const HashedText>)> takeTexts;

  struct Stats {
    int64_t rows = 0;
    int64_t bad = 0;
    std::vector<std::string> firstBad;
  };
  Status read(const InputFile &file, const Watch &watch, Stats &stats) const;
};

}  // namespace hector
