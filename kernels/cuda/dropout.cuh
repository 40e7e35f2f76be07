/// Dropout of a row that a group of lanes shares. `hector::DropoutMask` says what is dropped: the same as on the CPU.
#pragma once

#include "kernels/common/philox.hpp"
#include "kernels/cuda/rows.cuh"

namespace hector::cuda {

/// y[k] = 0 where the mask drops number k of `row`, whatever inf or NaN x[k] is, else x[k] / (1 - rate). x and y may be
/// the same. Number k belongs to lane (k / 4) % kWidth, since four share a draw.
template <int kWidth, class T>
__device__ __forceinline__ void dropout(const DropoutMask &mask, uint64_t row, double rate, const T *x, T *y, int n) {
  const T kept = static_cast<T>(1.0 - rate);
  for (int first = 4 * laneInGroup<kWidth>(); first < n; first += 4 * kWidth) {
    const PhiloxCounter drawn = mask.draw(row, static_cast<uint64_t>(first / 4));
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i)
      if (first + i < n)
        y[first + i] = mask.drops(drawn.words[i]) ? T(0) : x[first + i] / kept;
  }
}

}  // namespace hector::cuda
