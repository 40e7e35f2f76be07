/// Stacks that one thread of the host switches between.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#define HECTOR_FIBRE_SWITCH 1
#else
#define HECTOR_FIBRE_SWITCH 0
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define HECTOR_FIBRE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HECTOR_FIBRE_ASAN 1
#endif
#endif
#ifndef HECTOR_FIBRE_ASAN
#define HECTOR_FIBRE_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define HECTOR_FIBRE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HECTOR_FIBRE_TSAN 1
#endif
#endif
#ifndef HECTOR_FIBRE_TSAN
#define HECTOR_FIBRE_TSAN 0
#endif

namespace hector {

/// Memory for stacks, each with a page below it that may not be touched. Pages take memory once they are used.
class FibreStacks {
public:
  static constexpr size_t kBytes = 256 * 1024;  // of one stack

  FibreStacks() = default;
  FibreStacks(const FibreStacks &) = delete;
  FibreStacks &operator=(const FibreStacks &) = delete;
  ~FibreStacks();

  /// Makes room for `count` stacks. Those there were before are gone if there are too few. False without memory.
  bool reserve(int count);
  std::byte *bottom(int i) const { return base + i * stride + (stride - kBytes); }

private:
  std::byte *base = nullptr;
  size_t stride = 0;
  int count = 0;
};

/// Where a thread of the host is on one of its stacks, while it is on another. A fibre is used by one thread alone.
class Fibre {
public:
  Fibre() = default;
  Fibre(const Fibre &) = delete;
  Fibre &operator=(const Fibre &) = delete;
  ~Fibre();

  /// Prepares a stack on which `run` begins at the first switch. `run` never returns. What was on the stack before is
  /// dropped.
  void prepare(std::byte *bottom, void (*run)());
  /// Leaves `from`, which is running, for this one; returns when something switches to `from` again. With `isLast`,
  /// nothing will.
  void switchFrom(Fibre &from, bool isLast = false);
  /// The first thing that `run` calls.
  void begin();

  std::byte *stackTop() const { return stackBottom + FibreStacks::kBytes; }

private:
  std::byte *stackBottom = nullptr;  // null for the stack of the host's thread
#if HECTOR_FIBRE_SWITCH
  void *stackPointer = nullptr;
#else
  ucontext_t context = {};
#endif
#if HECTOR_FIBRE_ASAN
  void arrive(void *ownFakeStack);
  void *fakeStack = nullptr;
  Fibre *cameFrom = nullptr;
  const void *knownBottom = nullptr;  // of this stack, as the sanitizer knows it
  size_t knownBytes = 0;
#endif
#if HECTOR_FIBRE_TSAN
  void *sanitizerFibre = nullptr;
#endif
};

}  // namespace hector
