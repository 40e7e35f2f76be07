/// Kernels that copy tables between the caller's memory and a plan's, both on the device. They are a program of their
/// own.
#pragma once

#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/sizes.hpp"
#include "kernels/cuda/storage.cuh"

namespace hector::cuda {

/// Calls `copy(from, to)` for each number of the tables.
template <class F> __device__ __forceinline__ void forNumbers(const RowPlaces &rows, F &&copy) {
  for (int64_t i = threadInGrid(); i < rows.count * rows.size; i += threadsInGrid()) {
    const int64_t row = i / rows.size;
    const int64_t place = !rows.ids          ? row
                          : rows.hasWideIds ? static_cast<const int64_t *>(rows.ids)[row]
                                            : static_cast<const int32_t *>(rows.ids)[row];
    const int64_t outside = place * rows.size + i % rows.size;
    if (rows.isOut)
      copy(i, outside);
    else
      copy(outside, i);
  }
}

template <class Word>
__device__ __forceinline__ void copyWords(const void *from, void *to, const RowPlaces &rows) {
  forNumbers(rows, [&](int64_t source, int64_t target) {
    static_cast<Word *>(to)[target] = static_cast<const Word *>(from)[source];
  });
}

__device__ __forceinline__ double loadStored(const void *from, int64_t i, int32_t type) {
  switch (type) {
  case StoredF64:
    return static_cast<const double *>(from)[i];
  case StoredF32:
    return static_cast<const float *>(from)[i];
  case StoredBF16:
    return toFloat(static_cast<const bf16 *>(from)[i]);
  case StoredF16:
    return toFloat(static_cast<const f16 *>(from)[i]);
  case StoredBool:
    return static_cast<const uint8_t *>(from)[i] != 0;
  default:
    return static_cast<double>(static_cast<const int64_t *>(from)[i]);
  }
}

__device__ __forceinline__ void storeAs(void *to, int64_t i, int32_t type, double value) {
  switch (type) {
  case StoredF64:
    static_cast<double *>(to)[i] = value;
    break;
  case StoredF32:
    static_cast<float *>(to)[i] = static_cast<float>(value);
    break;
  case StoredBF16:
    static_cast<bf16 *>(to)[i] = fromFloat<bf16>(static_cast<float>(value));
    break;
  case StoredF16:
    static_cast<f16 *>(to)[i] = fromFloat<f16>(static_cast<float>(value));
    break;
  case StoredBool:
    static_cast<uint8_t *>(to)[i] = value != 0;
    break;
  default:
    static_cast<int64_t *>(to)[i] = static_cast<int64_t>(value);
  }
}

}  // namespace hector::cuda

/// `rows.size` counts words of `wordBytes`, 1 to 16.
extern "C" __global__ void hector_copy_rows(const void *from, void *to, hector::cuda::RowPlaces rows,
                                            int32_t wordBytes) {
  using namespace hector::cuda;
  switch (wordBytes) {
  case 16:
    return copyWords<Pack<uint32_t, 4>>(from, to, rows);
  case 8:
    return copyWords<uint64_t>(from, to, rows);
  case 4:
    return copyWords<uint32_t>(from, to, rows);
  case 2:
    return copyWords<uint16_t>(from, to, rows);
  default:
    return copyWords<uint8_t>(from, to, rows);
  }
}
HECTOR_CUDA_KERNEL(hector_copy_rows)

extern "C" __global__ void hector_convert_rows(const void *from, int32_t fromType, void *to, int32_t toType,
                                               hector::cuda::RowPlaces rows) {
  using namespace hector::cuda;
  forNumbers(rows, [&](int64_t source, int64_t target) {
    storeAs(to, target, toType, loadStored(from, source, fromType));
  });
}
HECTOR_CUDA_KERNEL(hector_convert_rows)

/// What dropout depends on: seed and step as they are given, or two numbers in the device's memory.
extern "C" __global__ void hector_set_random(hector::cuda::Random *to, const uint64_t *from, uint64_t seed,
                                             uint64_t step, int32_t isTraining) {
  if (hector::cuda::threadInGrid() == 0) {
    to->seed = from ? from[0] : seed;
    to->step = from ? from[1] : step;
    to->isTraining = isTraining != 0;
  }
}
HECTOR_CUDA_KERNEL(hector_set_random)
