/// How far long work is: one line that rewrites itself on a terminal, a line every few seconds elsewhere.
#pragma once

#include <atomic>
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

/// Turns Ctrl-C (SIGINT) and SIGTERM into a flag while it lives; a second Ctrl-C ends the program as usual.
class StopOnInterrupt {
public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt &) = delete;
  StopOnInterrupt &operator=(const StopOnInterrupt &) = delete;
  static const std::atomic<bool> &flag();
};

/// 1234567 as "1,234,567".
std::string groupedDigits(int64_t number);

}  // namespace hector
