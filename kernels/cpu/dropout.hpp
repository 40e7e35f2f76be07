/// Dropout of a row. `hector::DropoutMask` says what is dropped.
#pragma once

#include "kernels/common/philox.hpp"

#include <cstdint>

namespace hector::cpu {

/// y[k] = 0 where the mask drops number k of `row`, whatever inf or NaN x[k] is, else x[k] / (1 - rate). x and y may be
/// the same.
template <class T> void dropout(const DropoutMask &mask, uint64_t row, double rate, const T *x, T *y, int64_t n) {
  const T kept = static_cast<T>(1.0 - rate);
  for (int64_t k = 0; k < n; ++k)
    y[k] = mask.drops(row, static_cast<uint64_t>(k)) ? T(0) : x[k] / kept;
}

}  // namespace hector::cpu
