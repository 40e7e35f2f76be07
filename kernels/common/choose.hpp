/// A choice that is not a branch.
#pragma once

#include "kernels/common/target.hpp"

namespace hector::common {

#ifdef __CUDACC__

template <class T> HECTOR_INLINE T choose(bool condition, T a, T b) {
  return condition ? a : b;
}

#else

/// `a` if the condition holds, else `b`. With `?:`, g++ moves floating-point operations to the side that needs them,
/// because they might trap, and then does not vectorise the loop for most processors.
HECTOR_INLINE uint32_t choose(bool condition, uint32_t a, uint32_t b) {
  const uint32_t mask = 0u - uint32_t{condition};
  return (a & mask) | (b & ~mask);
}
HECTOR_INLINE uint64_t choose(bool condition, uint64_t a, uint64_t b) {
  const uint64_t mask = uint64_t{0} - uint64_t{condition};
  return (a & mask) | (b & ~mask);
}
HECTOR_INLINE int64_t choose(bool condition, int64_t a, int64_t b) {
  return condition ? a : b;
}
HECTOR_INLINE bool choose(bool condition, bool a, bool b) {
  return condition ? a : b;
}
HECTOR_INLINE float choose(bool condition, float a, float b) {
  return __builtin_bit_cast(float, choose(condition, __builtin_bit_cast(uint32_t, a), __builtin_bit_cast(uint32_t, b)));
}
HECTOR_INLINE double choose(bool condition, double a, double b) {
  return __builtin_bit_cast(double,
                            choose(condition, __builtin_bit_cast(uint64_t, a), __builtin_bit_cast(uint64_t, b)));
}

#endif

}  // namespace hector::common
