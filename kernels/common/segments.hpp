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
      : last(static_cast<Id>(begin)), ptr(ptr), end(static_cast<Id>(end)) {
    // The last type that starts at `begin` or before.
    int64_t low = 0, high = numTypes;
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      (ptr[middle] <= begin ? low : high) = middle;
    }
    type = static_cast<Id>(low) - 1;
  }
  /// Goes to the next type that has rows.
  HECTOR_ANYWHERE bool next() {
    first = last;
    if (first >= end)
      return false;
    do
      ++type;
    while (ptr[type + 1] <= first);
    last = ptr[type + 1] < end ? ptr[type + 1] : end;
    return true;
  }

  Id type, first = 0, last;

private:
  const Id *ptr;
  Id end;
};

/// The end of the kRows rows from `first` on, of which those from `end` on are not there.
template <int kRows, class Id> HECTOR_ANYWHERE constexpr Id endOfTile(Id first, Id end) {
  return end - first > kRows ? first + kRows : end;
}

/// The same rows, up to kRows of one type at a time.
template <class Id, int kRows> class Tiles {
public:
  HECTOR_ANYWHERE Tiles(const Id *ptr, int64_t numTypes, int64_t begin, int64_t end)
      : last(static_cast<Id>(begin)), segments(ptr, numTypes, begin, end) {}

  /// Goes to the next rows. There are none if `first` is `last` then.
  HECTOR_ANYWHERE void next() {
    first = last;
    if (first < segments.last || segments.next())
      last = endOfTile<kRows>(first, segments.last);
  }

  Id first = 0, last;

private:
  Segments<Id> segments;
};

/// Rows `begin` to `end` - 1, likewise.
template <class Id, int kRows> class PlainTiles {
public:
  HECTOR_ANYWHERE PlainTiles(int64_t begin, int64_t end) : last(static_cast<Id>(begin)), end(static_cast<Id>(end)) {}

  HECTOR_ANYWHERE void next() {
    first = last;
    last = endOfTile<kRows>(first, end);
  }

  Id first = 0, last;

private:
  Id end;
};

}  // namespace hector::common
