/// Collects what is wrong with a model and prints it as its author should read it.
#pragma once

#include "language/Source.h"

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace hector::language {

/// A second place that explains an error, such as an earlier declaration.
struct Note {
  Place place;
  std::string message;
};

/// One error: a place, what is wrong with both values, and what to write instead.
struct Diagnostic {
  Place place;
  std::string message;
  std::vector<Note> notes;
  std::string help;

  Diagnostic &note(Place where, std::string text) {
    notes.push_back({where, std::move(text)});
    return *this;
  }
  Diagnostic &suggest(std::string text) {
    help = std::move(text);
    return *this;
  }
};

/// The errors of one compilation, in the order found; a second error at the same place is dropped.
class Diagnostics {
public:
  /// Records an error. The reference stays valid until the next call.
  Diagnostic &error(Place place, std::string message);
  bool empty() const { return items.empty(); }
  size_t size() const { return items.size(); }
  const std::vector<Diagnostic> &all() const { return items; }
  /// All errors sorted by place, with source lines and carets, ending in a newline.
  /// After `kMaxShown` errors the rest is counted, not printed.
  std::string render() const;

  static constexpr size_t kMaxShown = 20;

private:
  using Key = std::tuple<const Source *, uint32_t, uint32_t, std::string>;
  std::vector<Diagnostic> items;
  std::set<Key> seen;
  Diagnostic dropped;  // receives what is said about a second error at one place
};

/// The candidate that `word` most likely misspells, or an empty view when none is near
/// (edit distance with transpositions, at most a third of the longer word's length, or the same letters in other case).
std::string_view nearest(std::string_view word, const std::vector<std::string_view> &candidates);

}  // namespace hector::language
