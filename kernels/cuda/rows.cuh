/// Rows that a group of lanes shares.
///
/// A group has kWidth lanes, 1, 2, 4, up to 32, and starts at a multiple of that. Number k of a row belongs to lane
/// (k / kPack) % kWidth of the group: one after the other with a kPack of 1, four at once with 4. All lanes of a group
/// call together; the groups of a warp may be at different places.
#pragma once

#include "kernels/common/segments.hpp"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/math.cuh"

namespace hector::cuda {

using namespace common;

/// This lane's number in its group.
template <int kWidth> __device__ __forceinline__ int laneInGroup() {
  static_assert(kWidth >= 1 && kWidth <= kWarp && (kWidth & (kWidth - 1)) == 0);
  return lane() & (kWidth - 1);
}

/// Calls body(k) for this lane's numbers of a row of n, in ascending order.
template <int kWidth, int kPack = 1, class F> __device__ __forceinline__ void forEach(int n, F &&body) {
  for (int first = laneInGroup<kWidth>() * kPack; first < n; first += kWidth * kPack) {
    HECTOR_UNROLL
    for (int i = 0; i < kPack; ++i)
      if (i == 0 || first + i < n)
        body(first + i);
  }
}

template <int kWidth, class T> __device__ __forceinline__ void fill(T *row, T value, int n) {
  forEach<kWidth>(n, [&](int k) { row[k] = value; });
}

/// Combines a value of each lane. Neighbours first, then pairs, fours and so on; the lower lane is on the left. All
/// lanes have the result.
template <int kWidth, class T, class F> __device__ __forceinline__ T combine(T value, F &&join) {
  HECTOR_UNROLL
  for (int distance = 1; distance < kWidth; distance *= 2) {
    const T other = shuffleXor(value, distance, kWidth);
    const bool isRight = (lane() & distance) != 0;
    value = join(isRight ? other : value, isRight ? value : other);
  }
  return value;
}

/// Σ term(k) for k < n. A lane adds its terms in order, then lanes are combined.
template <class T, int kWidth, int kPack = 1, class F> __device__ __forceinline__ T sum(int n, F &&term) {
  T own = 0;
  forEach<kWidth, kPack>(n, [&](int k) { own += term(k); });
  return combine<kWidth>(own, [](T a, T b) { return a + b; });
}

/// The largest term(k) for k < n, and -inf without any. NaN wins.
template <class T, int kWidth, int kPack = 1, class F> __device__ __forceinline__ T maximum(int n, F &&term) {
  T own = -infinity<T>();
  forEach<kWidth, kPack>(n, [&](int k) { own = larger(own, static_cast<T>(term(k))); });
  return combine<kWidth>(own, [](T a, T b) { return larger(a, b); });
}

/// The smallest term(k) for k < n, and inf without any. NaN wins.
template <class T, int kWidth, int kPack = 1, class F> __device__ __forceinline__ T minimum(int n, F &&term) {
  T own = infinity<T>();
  forEach<kWidth, kPack>(n, [&](int k) { own = smaller(own, static_cast<T>(term(k))); });
  return combine<kWidth>(own, [](T a, T b) { return smaller(a, b); });
}

}  // namespace hector::cuda
