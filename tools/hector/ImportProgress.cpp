#include "ImportProgress.h"

#include <cstdio>
#include <unistd.h>

namespace hector {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point then, Clock::time_point now) {
  return std::chrono::duration<double>(now - then).count();
}

/// 3.2 M, 450 k, 12.
std::string shortNumber(double number) {
  char text[32];
  if (number >= 1e6)
    std::snprintf(text, sizeof(text), "%.1f M", number / 1e6);
  else if (number >= 1e4)
    std::snprintf(text, sizeof(text), "%.0f k", number / 1e3);
  else
    std::snprintf(text, sizeof(text), "%.0f", number);
  return text;
}

}  // namespace

ImportProgress::ImportProgress(std::string unit)
    : unit(std::move(unit)), terminal(isatty(STDERR_FILENO) == 1), start(Clock::now()), stageStart(start), last(start) {
}

double ImportProgress::seconds() const {
  return since(start, Clock::now());
}

void ImportProgress::update(std::string_view what, uint64_t done, uint64_t total, int64_t items) {
  const Clock::time_point now = Clock::now();
  if (what != stage) {
    stage = what;
    stageStart = now;
    stageItems = items;
  }
  // Short work shows nothing.
  const double pause = terminal ? 0.1 : 5;
  if (since(start, now) < 0.5 || since(last, now) < pause)
    return;
  last = now;
  const double spent = since(stageStart, now);
  const double rate = spent > 0 ? static_cast<double>(items - stageItems) / spent : 0;
  std::string line = stage + ": " + groupedDigits(items) + " " + unit;
  if (total > 0) {
    const double part = static_cast<double>(done) / static_cast<double>(total);
    char text[64];
    std::snprintf(text, sizeof(text), ", %.0f%%", part * 100);
    line += text;
    if (rate > 0)
      line += ", " + shortNumber(rate) + "/s";
    if (part > 0.01) {
      std::snprintf(text, sizeof(text), ", %.0f s left", spent / part * (1 - part));
      line += text;
    }
  }
  if (terminal)
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  shown = true;
}

void ImportProgress::clear() {
  if (shown && terminal) {
    std::fprintf(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
  shown = false;
}

std::string groupedDigits(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

}  // namespace hector
