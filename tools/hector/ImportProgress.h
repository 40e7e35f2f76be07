/// How far long work is: one line that rewrites itself on a terminal, a line every few seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hector {

class ImportProgress {
public:
  /// `unit` is what is counted: "triples". Writes to standard error.
  explicit ImportProgress(std::string unit);
  ~ImportProgress() { clear(); }
  ImportProgress(const ImportProgress &) = delete;
  ImportProgress &operator=(const ImportProgress &) = delete;

  /// `done` of `total` bytes (0: unknown), `items` found so far. Cheap to call often.
  void update(std::string_view what, uint64_t done, uint64_t total, int64_t items);
  /// Takes the line off the terminal.
  void clear();
  double seconds() const;

private:
  std::string unit;
  bool terminal;
  bool shown = false;
  std::string stage;
  std::chrono::steady_clock::time_point start, stageStart, last;
  int64_t stageItems = 0;
};

/// 1234567 as "1,234,567".
std::string groupedDigits(int64_t number);

}  // namespace hector
