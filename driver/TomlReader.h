/// What readers of TOML files have in common: values of the right kind, and errors with their places.
///
/// A reader of one kind of file derives from this class, calls `parse`, then asks for the values of `root` one by one.
/// What is wrong is added to `diagnostics`, and the value is absent; the reader goes on, so that one run shows all
/// errors.
///
///   if (const toml::node *given = root.get("runs"))
///     file.runs = whole(*given, "`runs`", 1, 1000).value_or(1);
#pragma once

#include "language/Diagnostics.h"
#include "language/Source.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// toml++ 3.3 asserts, and in release builds assumes, that a text is TOML before it has looked: `[{` is enough to end
// the program. Without these assertions the same texts are ordinary errors.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace hector {

/// The text of a file; `what` is what messages call it: "benchmark".
Result<std::string> readTomlText(const std::string &path, const std::string &what);
/// "a, b or c".
std::string listWords(std::span<const std::string_view> words, const char *last = " or ");
/// "; did you mean `sweep`?", or nothing if no word is near.
std::string suggestion(std::string_view word, const std::vector<std::string_view> &words);
/// A text in quotes, as TOML writes it. The text is UTF-8.
std::string quoteToml(std::string_view text);

class TomlReader {
protected:
  /// A key and its value.
  struct Entry {
    const toml::key *key;
    const toml::node *value;
  };

  /// `path` is what messages call the text, and where paths start.
  TomlReader(std::string text, const std::string &path) : source(path, std::move(text)) {}
  ~TomlReader() = default;

  /// Fills `root`. False if the text is not TOML; an error then has the place.
  bool parse();
  /// A failure with all errors; there must be some.
  Status failure() const { return Status::located(diagnostics.render()); }

  // --- errors
  language::Place placeOf(const toml::source_region &region) const;
  language::Diagnostic &error(const toml::node &node, std::string message);
  language::Diagnostic &error(const toml::key &key, std::string message);
  /// An error of the whole file.
  language::Diagnostic &error(std::string message) { return diagnostics.error({&source, 0, 0}, std::move(message)); }
  /// "`runs` is a whole number, but this is a text".
  void expected(const toml::node &node, const std::string &what, const std::string &kind);
  /// Reports keys of a table that are not among `known`.
  void checkKeys(const toml::table &table, const std::string &owner, const std::vector<std::string_view> &known);

  // --- kinds of values; `what` is what messages call them
  std::optional<std::string> text(const toml::node &node, const std::string &what);
  std::optional<int64_t> whole(const toml::node &node, const std::string &what, int64_t min, int64_t max);
  std::optional<double> number(const toml::node &node, const std::string &what);
  std::optional<double> number(const toml::node &node, const std::string &what, double min);
  std::optional<bool> truth(const toml::node &node, const std::string &what);
  std::optional<std::string> word(const toml::node &node, const std::string &what,
                                  std::span<const std::string_view> words);
  /// The value of an attribute of a model as `--set` spells it.
  std::optional<std::string> constant(const toml::node &node, const std::string &what);
  const toml::table *tableOf(const toml::node &node, const std::string &what);
  /// The value as a list: itself, or its elements if it is a list. An empty list is an error.
  std::vector<const toml::node *> listOf(const toml::node &node, const std::string &what);
  /// The entries of a table in the order of the file.
  static std::vector<Entry> entriesOf(const toml::table &table);

  /// A path that starts at the folder of the file.
  std::string resolve(const std::string &path) const;

  language::Source source;
  language::Diagnostics diagnostics;
  toml::table root;

private:
  uint32_t offsetOf(const toml::source_position &position) const;
  bool checkCharacters();
};

}  // namespace hector
