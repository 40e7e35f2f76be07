#include "runtime/base/Interrupt.h"

#include <atomic>
#include <csignal>
#include <cstddef>

namespace hector {

static std::atomic<int> noted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may write it");

static void note(int signal) {
  noted = signal;
}

static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

void noteInterrupts() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&action.sa_mask);
  for (int signal : kSignals) {
    struct sigaction current = {};
    // A process that was started to ignore a signal (by nohup) keeps ignoring it.
    if (sigaction(signal, nullptr, &current) == 0 && current.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

NotedInterrupts::NotedInterrupts() {
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], nullptr, &previous[i]);
  noteInterrupts();
}

NotedInterrupts::~NotedInterrupts() {
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &previous[i], nullptr);
}

static thread_local int shields = 0;

InterruptShield::InterruptShield() {
  ++shields;
}

InterruptShield::~InterruptShield() {
  --shields;
}

bool InterruptShield::isActive() {
  return shields > 0;
}

int interruptSignal() {
  return InterruptShield::isActive() ? 0 : noted.load();
}

}  // namespace hector
