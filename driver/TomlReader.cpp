#include "driver/TomlReader.h"

#include "language/Signature.h"
#include "language/Utf8.h"
#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace hector {

using language::Diagnostic;
using language::Place;

Result<std::string> readTomlText(const std::string &path, const std::string &what) {
  auto mapped = mapFile(path);
  if (!mapped)
    return std::move(mapped).status();
  constexpr size_t kMostBytes = size_t{1} << 20;
  if (mapped->bytes.size() > kMostBytes)
    return Status::invalid(what + " " + inTicks(path) + " is larger than 1 MiB");
  return std::string(reinterpret_cast<const char *>(mapped->bytes.data()), mapped->bytes.size());
}

std::string listWords(std::span<const std::string_view> words, const char *last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + std::string(words[i]);
  return text;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view> &words) {
  const std::string_view near = language::nearest(word, words);
  return near.empty() ? "" : "; did you mean `" + std::string(near) + "`?";
}

std::string quoteToml(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      quoted += "\\u00" + hexByte(byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

static std::string kindOf(const toml::node &node) {
  switch (node.type()) {
  case toml::node_type::table:
    return "a table";
  case toml::node_type::array:
    return "a list";
  case toml::node_type::string:
    return "a text";
  case toml::node_type::integer:
    return "a whole number";
  case toml::node_type::floating_point:
    return "a number";
  case toml::node_type::boolean:
    return "true or false";
  default:
    return "a date or time";
  }
}

/// Finds letters such as `ü` outside of texts and comments, where TOML has none and where the behaviour of toml++ 3.3
/// is undefined. Follows only as much of the syntax as that needs. A quote inside a word, as in `0.5"ü`, opens no text
/// for toml++, so it opens none here.
bool TomlReader::checkCharacters() {
  const std::string_view text = source.text();
  auto isLetter = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  auto failAt = [&](size_t at, const char *message) -> language::Diagnostic & {
    const auto begin = static_cast<uint32_t>(at);
    const uint32_t length = language::decodeUtf8(text, at).length;
    return diagnostics.error({&source, begin, begin + length}, inTicks(text.substr(at, length)) + message);
  };
  auto failLetter = [&](size_t at) {
    failAt(at, " cannot be here; expected such letters in texts and comments only")
        .suggest("put names with such letters in quotes");
    return false;
  };
  const size_t start = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  if (std::none_of(text.begin() + static_cast<std::ptrdiff_t>(start), text.end(), isLetter))
    return true;
  bool isWordStart = true, hasEquals = false;
  for (size_t i = start; i < text.size();) {
    const char c = text[i];
    if (isLetter(c))
      return failLetter(i);
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      const bool isAfterDot = i > start && text[i - 1] == '.';  // a key such as a."b"
      if (!isWordStart && !isAfterDot) {
        failAt(i, " cannot be here; expected texts after a blank, `=`, `,`, `[` or `{`");
        return false;
      }
      const bool isLong = text.substr(i).starts_with(std::string(3, c));
      const std::string quotes(isLong ? 3 : 1, c);
      const size_t begin = i;
      i += quotes.size();
      while (i < text.size() && !text.substr(i).starts_with(quotes) && (isLong || text[i] != '\n'))
        i += c == '"' && text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
      // A long text may end in up to two quotes of its own.
      i = std::min(i + quotes.size(), text.size());
      for (int more = 0; isLong && more < 2 && i < text.size() && text[i] == c; ++more)
        ++i;
      // Behind a number's dot toml++ reads on as far as the next blank.
      for (size_t inside = begin; isAfterDot && inside < i; ++inside)
        if (isLetter(text[inside]))
          return failLetter(inside);
      isWordStart = false;
      continue;
    }
    if (c == '=')  // one for each key
      isWordStart = !std::exchange(hasEquals, true);
    else if (c != '[' && c != '{')
      isWordStart = std::string_view(" \t\r\n,").find(c) != std::string_view::npos;
    if (c == '\n' || c == ',' || c == '{')
      hasEquals = false;
    ++i;
  }
  return true;
}

bool TomlReader::parse() {
  if (!checkCharacters())
    return false;
  toml::parse_result parsed = toml::parse(source.text(), std::string_view(source.name()));
  if (!parsed) {
    diagnostics.error(placeOf(parsed.error().source()), std::string(parsed.error().description()));
    return false;
  }
  root = std::move(parsed).table();
  return true;
}

// --- errors ---------------------------------------------------------------------------------------------------------

uint32_t TomlReader::offsetOf(const toml::source_position &position) const {
  const std::string_view line = source.lineText(position.line);
  size_t offset = 0;
  for (uint32_t column = 1; column < position.column && offset < line.size(); ++column)
    offset += language::decodeUtf8(line, offset).length;
  return line.empty() ? 0 : source.lineBegin(position.line) + static_cast<uint32_t>(offset);
}

Place TomlReader::placeOf(const toml::source_region &region) const {
  const uint32_t begin = offsetOf(region.begin);
  return {&source, begin, std::max(begin, offsetOf(region.end))};
}

Diagnostic &TomlReader::error(const toml::node &node, std::string message) {
  return diagnostics.error(placeOf(node.source()), std::move(message));
}

Diagnostic &TomlReader::error(const toml::key &key, std::string message) {
  return diagnostics.error(placeOf(key.source()), std::move(message));
}

void TomlReader::expected(const toml::node &node, const std::string &what, const std::string &kind) {
  error(node, what + " is " + kind + ", but this is " + kindOf(node));
}

void TomlReader::checkKeys(const toml::table &table, const std::string &owner,
                           const std::vector<std::string_view> &known) {
  for (const Entry &entry : entriesOf(table))
    if (const std::string_view key = entry.key->str(); std::find(known.begin(), known.end(), key) == known.end())
      error(*entry.key, owner + " has no " + inTicks(key) + suggestion(key, known))
          .suggest("its keys are " + listWords(known, " and "));
}

// --- kinds of values ------------------------------------------------------------------------------------------------

std::optional<std::string> TomlReader::text(const toml::node &node, const std::string &what) {
  if (auto value = node.value_exact<std::string>(); value && !value->empty())
    return value;
  if (node.is_string())
    error(node, what + " is empty");
  else
    expected(node, what, "a text");
  return std::nullopt;
}

std::optional<int64_t> TomlReader::whole(const toml::node &node, const std::string &what, int64_t min, int64_t max) {
  auto value = node.value_exact<int64_t>();
  if (!value)
    expected(node, what, "a whole number");
  else if (*value < min || *value > max)
    error(node,
          what + " is " + std::to_string(*value) + "; expected " + std::to_string(min) + " to " + std::to_string(max));
  else
    return value;
  return std::nullopt;
}

std::optional<double> TomlReader::number(const toml::node &node, const std::string &what) {
  if (auto value = node.value_exact<double>())
    return value;
  if (auto value = node.value_exact<int64_t>())
    return static_cast<double>(*value);
  expected(node, what, "a number");
  return std::nullopt;
}

std::optional<double> TomlReader::number(const toml::node &node, const std::string &what, double min) {
  auto value = number(node, what);
  if (!value || (*value >= min && std::isfinite(*value)))
    return value;
  char limit[32], given[32];
  std::snprintf(limit, sizeof limit, "%g", min);
  std::snprintf(given, sizeof given, "%g", *value);
  error(node, what + " is " + given + "; expected a number of at least " + limit);
  return std::nullopt;
}

std::optional<bool> TomlReader::truth(const toml::node &node, const std::string &what) {
  auto value = node.value_exact<bool>();
  if (!value)
    expected(node, what, "true or false");
  return value;
}

std::optional<std::string> TomlReader::word(const toml::node &node, const std::string &what,
                                            std::span<const std::string_view> words) {
  auto value = text(node, what);
  if (!value || std::find(words.begin(), words.end(), *value) != words.end())
    return value;
  error(node, what + " is " + inTicks(*value) + "; expected " + listWords(words) +
                  suggestion(*value, {words.begin(), words.end()}));
  return std::nullopt;
}

std::optional<std::string> TomlReader::constant(const toml::node &node, const std::string &what) {
  if (auto value = node.value_exact<bool>())
    return language::formatConstant(*value);
  if (auto value = node.value_exact<int64_t>())
    return language::formatConstant(*value);
  if (auto value = node.value_exact<double>())
    return language::formatConstant(*value);
  if (auto value = node.value_exact<std::string>())
    return value;
  expected(node, what, "a number, a text, true or false");
  return std::nullopt;
}

const toml::table *TomlReader::tableOf(const toml::node &node, const std::string &what) {
  if (!node.is_table())
    expected(node, what, "a table");
  return node.as_table();
}

std::vector<const toml::node *> TomlReader::listOf(const toml::node &node, const std::string &what) {
  const toml::array *array = node.as_array();
  if (!array)
    return {&node};
  if (array->empty())
    error(node, what + " is an empty list; give one value at least");
  std::vector<const toml::node *> values;
  for (const toml::node &value : *array)
    values.push_back(&value);
  return values;
}

std::vector<TomlReader::Entry> TomlReader::entriesOf(const toml::table &table) {
  std::vector<Entry> entries;
  for (const auto &[key, value] : table)
    entries.push_back({&key, &value});
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    const toml::source_position &x = a.key->source().begin, &y = b.key->source().begin;
    return std::pair(x.line, x.column) < std::pair(y.line, y.column);
  });
  return entries;
}

std::string TomlReader::resolve(const std::string &path) const {
  return (std::filesystem::path(source.name()).parent_path() / path).lexically_normal().string();
}

}  // namespace hector
