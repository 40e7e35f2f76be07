/// Dropout of a row. `hector::DropoutMask` says what is dropped.
#pragma once

#include "kernels/common/philox.hpp"

#include <cstdint>

namespace hector::cpu {

/// y[k] = 0 where the mask drops number k of `row`, whatever inf or NaN x[k] is, else x[k] / (1 - rate). x and y may be
/// the same.
template <class T> void dropout(const DropoutMask &mask, uint64_t row, double rate, const T *x, T *y, int64_t n) {
  constexpr int64_t kBlock = 64;
  const T kept = static_cast<T>(1.0 - rate);
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    uint32_t words[kBlock];  // drawn in a loop of their own, which vectorises
    for (int64_t four = 0; four < (count + 3) / 4; ++four) {
      const PhiloxCounter drawn = mask.draw(row, static_cast<uint64_t>(first / 4 + four));
      for (int i = 0; i < 4; ++i)
        words[4 * four + i] = drawn.words[i];
    }
    for (int64_t k = 0; k < count; ++k)
      y[first + k] = mask.drops(words[k]) ? T(0) : x[first + k] / kept;
  }
}

}  // namespace hector::cpu
