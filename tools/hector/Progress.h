/// Says on standard error how far long work has come: a line that changes on a terminal, a plain line now and then
/// elsewhere. Work of less than a second or two goes unmentioned.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace hector {

class ProgressLine {
public:
  /// `task` reads "making mag".
  explicit ProgressLine(std::string task);
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  /// Takes the line off the terminal.
  ~ProgressLine();

  /// May be called from any thread and as often as one likes.
  void update(int64_t done, int64_t total);
  /// Shows a line of its own, if the last one is old enough or `isLast`.
  void say(const std::string &text, bool isLast = false);
  /// Names the next task; nothing is counted until `update`.
  void begin(std::string next);

private:
  void show(const std::string &text);

  std::mutex mutex;
  std::string task;
  bool isTerminal;
  bool isShown = false;
  std::chrono::steady_clock::time_point next;
};

}  // namespace hector
