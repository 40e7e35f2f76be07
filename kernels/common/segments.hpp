/// The rows of each type.
#pragma once

#include "kernels/common/target.hpp"

namespace hector::common {

HECTOR_ANYWHERE inline constexpr int64_t smallest(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// The types that rows `begin` to `end` - 1 have, and their rows of each. Type t has the rows ptr[t] to ptr[t + 1] - 1.
template <class Id> class Segments {
public:
  HECTOR_ANYWHERE Segments(const Id *ptr, int64_t numTypes, int64_t begin, int64_t end)
      : last(begin), ptr(ptr), end(end) {
    // The last type that starts at `begin` or before.
    int64_t low = 0, high = numTypes;
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      (ptr[middle] <= begin ? low : high) = middle;
    }
    type = low - 1;
  }
  /// Goes to the next type that has rows.
  HECTOR_ANYWHERE bool next() {
    first = last;
    if (first >= end)
      return false;
    do
      ++type;
    while (ptr[type + 1] <= first);
    last = smallest(ptr[type + 1], end);
    return true;
  }

  int64_t type, first = 0, last;

private:
  const Id *ptr;
  int64_t end;
};

}  // namespace hector::common
