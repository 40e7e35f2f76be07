#include "runtime/device/Ordering.h"

#include <algorithm>
#include <utility>

namespace hector {

static bool overlap(const MemoryUse &a, const MemoryUse &b) {
  // By differences: the end of a range may lie behind the last address.
  return a.start < b.start ? b.start - a.start < a.bytes && b.bytes > 0 : a.start - b.start < b.bytes && a.bytes > 0;
}

/// Whether the outcome of two calls depends on which is first: one of them writes what the other reads or writes.
static bool conflict(std::span<const MemoryUse> a, std::span<const MemoryUse> b) {
  return std::any_of(a.begin(), a.end(), [&](const MemoryUse &mine) {
    return std::any_of(b.begin(), b.end(), [&](const MemoryUse &other) {
      return (mine.isWritten || other.isWritten) && overlap(mine, other);
    });
  });
}

std::vector<size_t> Ordering::add(std::span<const MemoryUse> uses) {
  Call call{{uses.begin(), uses.end()}, std::vector<bool>(calls.size())};
  std::vector<size_t> after;
  // The latest first: those that it waits for are then known.
  for (size_t i = calls.size(); i-- > 0;) {
    if (call.isBefore[i] || !conflict(calls[i].uses, uses))
      continue;
    after.push_back(i);
    call.isBefore[i] = true;
    for (size_t j = 0; j < i; ++j)
      if (calls[i].isBefore[j])
        call.isBefore[j] = true;
    call.chain = std::max(call.chain, calls[i].chain + 1);
  }
  std::reverse(after.begin(), after.end());
  longest = std::max(longest, call.chain);
  calls.push_back(std::move(call));
  return after;
}

}  // namespace hector
