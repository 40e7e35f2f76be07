/// How generated kernels divide rows among warps and blocks, and where they leave what is to be joined.
#pragma once

#include "kernels/common/segments.hpp"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/sizes.hpp"

namespace hector::cuda {

using namespace common;

__device__ __forceinline__ int64_t warpInGrid() {
  return blockNumber() * (numThreads() / kWarp) + warp();
}
__device__ __forceinline__ int64_t warpsInGrid() {
  return numBlocks() * (numThreads() / kWarp);
}
__device__ __forceinline__ int64_t blockInGrid() {
  return blockNumber();
}
__device__ __forceinline__ int64_t blocksInGrid() {
  return numBlocks();
}
__device__ __forceinline__ int64_t threadInGrid() {
  return blockNumber() * numThreads() + threadInBlock();
}
__device__ __forceinline__ int64_t threadsInGrid() {
  return numBlocks() * numThreads();
}

/// Row `slot` of a total, whose rows take `rowBytes`.
template <class T> __device__ __forceinline__ T *totalRow(void *rows, int64_t rowBytes, int64_t slot) {
  return reinterpret_cast<T *>(static_cast<unsigned char *>(rows) + slot * rowBytes);
}

/// Calls take(part(row)) for those of the first `numRows` rows for which isOf(row) holds, in order. The numbers of
/// several rows are read together, so that none of them is waited for alone.
template <class T, class IsOf, class Part, class Take>
__device__ __forceinline__ void takeRows(int64_t numRows, IsOf &&isOf, Part &&part, Take &&take) {
  constexpr int kTogether = 16;
  HECTOR_KEEP_LOOP
  for (int64_t first = 0; first < numRows; first += kTogether) {
    bool isTaken[kTogether];
    T numbers[kTogether];
    HECTOR_UNROLL
    for (int i = 0; i < kTogether; ++i)
      isTaken[i] = first + i < numRows && isOf(first + i);
    HECTOR_UNROLL
    for (int i = 0; i < kTogether; ++i)
      numbers[i] = isTaken[i] ? part(first + i) : T(0);
    HECTOR_UNROLL
    for (int i = 0; i < kTogether; ++i)
      if (isTaken[i])
        take(numbers[i]);
  }
}

}  // namespace hector::cuda
