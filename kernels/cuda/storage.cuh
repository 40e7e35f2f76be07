/// How tables keep numbers, for CUDA: one by one as on the CPU, and several at once.
#pragma once

#include "kernels/common/storage.hpp"
#include "kernels/cuda/device.cuh"

namespace hector::cuda {

using namespace common;

/// Loads kCount numbers at once. The address is a multiple of their size, or of 16 bytes if that is less.
template <int kCount, class Storage>
__device__ __forceinline__ auto loadPack(const Storage *from) -> Pack<decltype(load(from)), kCount> {
  const auto stored = *reinterpret_cast<const Pack<Storage, kCount> *>(from);
  Pack<decltype(load(from)), kCount> pack;
  HECTOR_UNROLL
  for (int i = 0; i < kCount; ++i)
    pack.numbers[i] = load(&stored.numbers[i]);
  return pack;
}
/// Stores them at once, to such an address.
template <class Storage, class T, int kCount>
__device__ __forceinline__ void storePack(Storage *to, const Pack<T, kCount> &pack) {
  Pack<Storage, kCount> stored;
  HECTOR_UNROLL
  for (int i = 0; i < kCount; ++i)
    store(&stored.numbers[i], pack.numbers[i]);
  *reinterpret_cast<Pack<Storage, kCount> *>(to) = stored;
}

}  // namespace hector::cuda
