/// Ctrl-C and similar signals, checked where work can stop cleanly.
#pragma once

#include <array>
#include <csignal>

namespace hector {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only noted; a second one ends the process as usual.
void noteInterrupts();

/// The same for a stretch of work that leaves something behind if it is cut short; afterwards signals do what they did
/// before.
class NotedInterrupts {
public:
  NotedInterrupts();
  NotedInterrupts(const NotedInterrupts &) = delete;
  NotedInterrupts &operator=(const NotedInterrupts &) = delete;
  ~NotedInterrupts();

private:
  std::array<struct sigaction, 3> previous;
};

/// The signal that was noted, 0 while there is none. Long loops and writers check it from time to time.
int interruptSignal();

/// While it lives, its thread does not see the signal that was noted: for work that is finished all the same, such as a
/// step of training and the file that keeps it. Neither do the threads that help its thread in a `parallelFor`.
class InterruptShield {
public:
  InterruptShield();
  InterruptShield(const InterruptShield &) = delete;
  InterruptShield &operator=(const InterruptShield &) = delete;
  ~InterruptShield();

  /// Whether the calling thread has one.
  static bool isActive();
};

/// What a shell expects of a process that stopped for that signal: 130 after Ctrl-C.
inline int interruptExitCode() {
  return 128 + interruptSignal();
}

}  // namespace hector
