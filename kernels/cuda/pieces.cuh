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

}  // namespace hector::cuda
