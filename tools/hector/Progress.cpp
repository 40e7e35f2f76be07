#include "Progress.h"

#include <cstdio>
#include <unistd.h>

namespace hector {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

ProgressLine::ProgressLine(std::string task)
    : task(std::move(task)), isTerminal(::isatty(STDERR_FILENO) == 1), next(Clock::now() + (isTerminal ? 500ms : 2s)) {}

ProgressLine::~ProgressLine() {
  if (isTerminal && isShown)
    std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const std::string &text) {
  std::fputs(isTerminal ? ("\r\x1b[K" + text).c_str() : (text + "\n").c_str(), stderr);
  std::fflush(stderr);
  isShown = true;
}

void ProgressLine::update(int64_t done, int64_t total) {
  const auto now = Clock::now();
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock || now < next)
    return;
  next = now + (isTerminal ? 100ms : 5s);
  const double part = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  show(task + " … " + std::to_string(static_cast<int>(part * 100)) + " %");
}

void ProgressLine::say(const std::string &text, bool isLast) {
  const auto now = Clock::now();
  std::lock_guard lock(mutex);
  if (now < next && !(isLast && !isTerminal))
    return;
  next = now + (isTerminal ? 100ms : 5s);
  show(text);
}

void ProgressLine::begin(std::string nextTask) {
  std::lock_guard lock(mutex);
  task = std::move(nextTask);
  if (Clock::now() >= next || isShown)
    show(task + " …");
}

}  // namespace hector
