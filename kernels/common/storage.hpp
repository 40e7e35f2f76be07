/// How tables keep numbers: `load` and `store` between memory and the type that kernels compute in. Loops of them
/// vectorise.
#pragma once

#include "kernels/common/choose.hpp"
#include "kernels/common/target.hpp"

namespace hector::common {

/// The upper half of a float.
struct bf16 {
  uint16_t bits;
};

/// IEEE binary16: 5 bits of exponent, 10 of fraction.
struct f16 {
  uint16_t bits;
};

HECTOR_INLINE float toFloat(bf16 number) {
  return __builtin_bit_cast(float, uint32_t{number.bits} << 16);
}

HECTOR_INLINE float toFloat(f16 number) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(number.bits));
  return value;
#else
  const uint32_t sign = (number.bits & 0x8000u) << 16, rest = (number.bits & 0x7fffu) << 13;
  // The exponent is 112 too small. A product corrects it, and makes subnormal numbers normal.
  const uint32_t scaled = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, rest) * 0x1p112f);
  const uint32_t special = rest >= 0x0f800000u ? 0x7f800000u : 0u;  // inf and NaN stay what they are
  return __builtin_bit_cast(float, sign | scaled | special);
#endif
}

/// The nearest number that the type has; of two that are equally near, the even one. NaN stays NaN.
template <class Storage> HECTOR_ANYWHERE Storage fromFloat(float value);

template <> HECTOR_INLINE bf16 fromFloat<bf16>(float value) {
#ifdef __CUDA_ARCH__
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
#endif
}

template <> HECTOR_INLINE f16 fromFloat<f16>(float value) {
#ifdef __CUDA_ARCH__
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  // 112 less in the exponent; a carry out of the fraction lands in the exponent, up to infinity.
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Next to 1/2, floats are 2^-24 apart, as subnormal numbers of 16 bits are: the sum rounds.
  const float sum = __builtin_bit_cast(float, magnitude) + 0.5f;
  const uint32_t subnormal = __builtin_bit_cast(uint32_t, sum) - 0x3f000000u;
  const uint32_t quiet = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const uint32_t large = magnitude > 0x7f800000u ? quiet : 0x7c00u;
  const uint32_t finite = choose(magnitude < 0x38800000u, subnormal, normal);
  return {static_cast<uint16_t>(sign | choose(magnitude >= 0x47800000u, large, finite))};
#endif
}

/// The same from a double, with one rounding: the float in between is rounded to odd, so that it is never halfway
/// between two shorter numbers unless the double is.
template <class Storage> HECTOR_INLINE Storage fromDouble(double value) {
  const float nearest = static_cast<float>(value);
  const uint32_t bits = __builtin_bit_cast(uint32_t, nearest);
  const double error = value - static_cast<double>(nearest);  // exact; NaN if the float is inf or NaN
  const bool isAway = (error < 0.0) == (value > 0.0);         // the float is further from 0 than the double
  const bool isInexact = error != 0.0 && error == error;
  const uint32_t odd = (bits - uint32_t{isAway}) | 1u;
  return fromFloat<Storage>(__builtin_bit_cast(float, choose(isInexact, odd, bits)));
}

HECTOR_INLINE float load(const float *from) {
  return *from;
}
HECTOR_INLINE double load(const double *from) {
  return *from;
}
HECTOR_INLINE float load(const bf16 *from) {
  return toFloat(*from);
}
HECTOR_INLINE float load(const f16 *from) {
  return toFloat(*from);
}
HECTOR_INLINE bool load(const uint8_t *from) {
  return *from != 0;
}
HECTOR_INLINE int64_t load(const int64_t *from) {
  return *from;
}

HECTOR_INLINE void store(float *to, float value) {
  *to = value;
}
HECTOR_INLINE void store(float *to, double value) {
  *to = static_cast<float>(value);
}
HECTOR_INLINE void store(double *to, double value) {
  *to = value;
}
HECTOR_INLINE void store(bf16 *to, float value) {
  *to = fromFloat<bf16>(value);
}
HECTOR_INLINE void store(bf16 *to, double value) {
  *to = fromDouble<bf16>(value);
}
HECTOR_INLINE void store(f16 *to, float value) {
  *to = fromFloat<f16>(value);
}
HECTOR_INLINE void store(f16 *to, double value) {
  *to = fromDouble<f16>(value);
}
HECTOR_INLINE void store(uint8_t *to, bool value) {
  *to = value ? 1 : 0;
}
HECTOR_INLINE void store(int64_t *to, int64_t value) {
  *to = value;
}

}  // namespace hector::common
