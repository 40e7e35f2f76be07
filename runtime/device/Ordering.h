/// In which order the launches of a recording have to run: by the memory that they read and write.
///
/// The tables of a plan do not tell. Two launches that share no table may share bytes, since memory is used again when
/// its table is needed no more:
///
///   call 0  writes bytes   0 ..  63
///   call 1  reads  bytes   0 ..  63, writes 64 .. 127    after 0, which writes what it reads
///   call 2  writes bytes   0 ..  63                      after 1, which reads what it replaces
///   call 3  reads  bytes 128 .. 191                      after none
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hector {

/// Bytes of a device's memory that a call reads, or writes. What it does both with is written.
struct MemoryUse {
  uintptr_t start = 0;
  uint64_t bytes = 0;
  bool isWritten = false;

  static MemoryUse read(const void *start, int64_t bytes) {
    return {reinterpret_cast<uintptr_t>(start), static_cast<uint64_t>(bytes), false};
  }
  static MemoryUse write(const void *start, int64_t bytes) {
    return {reinterpret_cast<uintptr_t>(start), static_cast<uint64_t>(bytes), true};
  }
  /// Any memory, in any way.
  static constexpr MemoryUse anything() { return {0, std::numeric_limits<uint64_t>::max(), true}; }
};

/// Follows calls in an order in which they may run one by one.
class Ordering {
public:
  /// Adds the next call. Returns earlier calls, numbered from 0 and rising, that have to end before it starts; those
  /// that one of them waits for anyway are left out.
  std::vector<size_t> add(std::span<const MemoryUse> uses);

  /// The most calls that have to run one after the other.
  size_t longestChain() const { return longest; }

private:
  struct Call {
    std::vector<MemoryUse> uses;
    std::vector<bool> isBefore;  // for each earlier call: whether it ends before this one starts
    size_t chain = 1;            // calls of the longest chain that ends here
  };
  std::vector<Call> calls;
  size_t longest = 0;
};

}  // namespace hector
