/// Functions of numbers, with the meaning that the ops of flow have. T is float or double.
///
/// On the CPU, loops over them vectorise, but for sin, cos, pow, modulo and floorDivide and, for double, tanh, log, erf
/// and softplus. Polynomials are Chebyshev interpolants. Errors are in units in the last place, hold for the whole
/// range, and with and without fused multiply-adds.
///
/// What the C library has is called by the compiler's builtins: <cmath> takes longer to compile than all kernels. CUDA
/// has the same functions, whose last bit may differ; on a GPU, exp of float is CUDA's own as well, and polynomials of
/// floats are made of fused multiply-adds.
#pragma once

#include "kernels/common/choose.hpp"
#include "kernels/common/target.hpp"

#ifdef __CUDACC__
#define HECTOR_LIBM(name) ::name
#else
#define HECTOR_LIBM(name) __builtin_##name
#endif

namespace hector::common {

template <class T> HECTOR_INLINE constexpr T infinity() {
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, 0x7f800000u);
  else
    return __builtin_bit_cast(T, uint64_t{0x7ff0000000000000u});
}
template <class T> HECTOR_INLINE constexpr T nan() {
  if constexpr (sizeof(T) == 4)
    return __builtin_bit_cast(T, 0x7fc00000u);
  else
    return __builtin_bit_cast(T, uint64_t{0x7ff8000000000000u});
}

HECTOR_INLINE float abs(float x) {
  return HECTOR_LIBM(fabsf)(x);
}
HECTOR_INLINE double abs(double x) {
  return HECTOR_LIBM(fabs)(x);
}
HECTOR_INLINE float floor(float x) {
  return HECTOR_LIBM(floorf)(x);
}
HECTOR_INLINE double floor(double x) {
  return HECTOR_LIBM(floor)(x);
}
HECTOR_INLINE float sqrt(float x) {
  return HECTOR_LIBM(sqrtf)(x);
}
HECTOR_INLINE double sqrt(double x) {
  return HECTOR_LIBM(sqrt)(x);
}
HECTOR_INLINE float sin(float x) {
  return HECTOR_LIBM(sinf)(x);
}
HECTOR_INLINE double sin(double x) {
  return HECTOR_LIBM(sin)(x);
}
HECTOR_INLINE float cos(float x) {
  return HECTOR_LIBM(cosf)(x);
}
HECTOR_INLINE double cos(double x) {
  return HECTOR_LIBM(cos)(x);
}
/// The exponent of a power. Where g++ vectorises, it takes the square root instead of pow(x, 0.5), which differs for
/// -inf and -0, unless it does not know the exponent.
template <class T> HECTOR_INLINE T exponent(T b) {
#ifndef __CUDACC__
  if (__builtin_constant_p(b) && b == T(0.5))
    asm("" : "+m"(b));
#endif
  return b;
}
HECTOR_INLINE float pow(float a, float b) {
  return HECTOR_LIBM(powf)(a, exponent(b));
}
HECTOR_INLINE double pow(double a, double b) {
  return HECTOR_LIBM(pow)(a, exponent(b));
}

/// A step of a polynomial: a·b + c, rounded once on a GPU, where that takes one instruction instead of two.
HECTOR_INLINE float mulAdd(float a, float b, float c) {
#ifdef __CUDACC__
  return __fmaf_rn(a, b, c);
#else
  return a * b + c;
#endif
}

/// The larger of two; NaN wins, so that it propagates. `a` on a tie. A branch would often be mispredicted.
template <class T> HECTOR_INLINE T larger(T a, T b) {
  return choose((a != a) | (a >= b), a, b);
}
/// The smaller of two, as `larger`.
template <class T> HECTOR_INLINE T smaller(T a, T b) {
  return choose((a != a) | (a <= b), a, b);
}
/// Whether two numbers are equal, or both NaN.
template <class T> HECTOR_INLINE bool matches(T a, T b) {
  return a == b || (a != a && b != b);
}
/// How far a number is from the one that is looked for: 0 if they match, infinite if only one of them is NaN.
template <class T> HECTOR_INLINE T distance(T a, T wanted) {
  const T difference = abs(a - wanted);
  return matches(a, wanted) ? T(0) : difference != difference ? infinity<T>() : difference;
}
/// Takes `row` for the nearest one if its distance is smaller, or the same and it comes first. There is none at first:
/// `nearest` is -1, and its distance infinite.
template <class T> HECTOR_INLINE void takeNearer(int64_t &nearest, T &distance, int64_t row, T rowDistance) {
  if (rowDistance < distance || (rowDistance == distance && row < nearest)) {
    nearest = row;
    distance = rowDistance;
  }
}
/// g·f, but 0 wherever g is 0, even if f is inf or NaN.
template <class T> HECTOR_INLINE T chain(T g, T f) {
  return choose(g == T(0), T(0), g * f);
}
/// -1, 0 or 1; -0 and NaN stay as they are.
template <class T> HECTOR_INLINE T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T> HECTOR_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}
/// NaN stays NaN.
template <class T> HECTOR_INLINE T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
template <class T> HECTOR_INLINE T leakyRelu(T x, T slope) {
  return x * choose(x > T(0), T(1), slope);
}

// exp(x) = 2^n · exp(r) with the integer n nearest to x / ln 2. Adding 1.5 · 2^23 (2^52) rounds to an integer, which is
// then in the lowest bits. ln 2 has two parts, the first so short that n times it is exact. 2^n is the product of two
// powers, so that results below the normal numbers are rounded once, by the last product.

/// Within 1.1 ulp, subnormal results too; from 88.73 on inf, below -103.98 zero.
HECTOR_INLINE float exp(float x) {
#ifdef __CUDACC__
  return expf(x);  // an instruction of the machine, and a third of the time
#else
  constexpr float kRound = 0x1.8p23f;
  const float most = choose(x > 89.0f, 89.0f, x), limited = choose(x < -104.0f, -104.0f, most);  // NaN stays
  const float n = (limited * 0x1.715476p0f + kRound) - kRound;
  const float r = (limited - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  float q = 0.00139262680526f;
  q = q * r + 0.00836324666975f;
  q = q * r + 0.0416665541093f;
  q = q * r + 0.166665765832f;
  q = q * r + 0.5f;
  const float power = 1.0f + (r + r * r * q);
  const float half = (n * 0.5f + kRound) - kRound;
  const uint32_t first = __builtin_bit_cast(uint32_t, half + (kRound + 127.0f)) << 23;
  const uint32_t second = __builtin_bit_cast(uint32_t, (n - half) + (kRound + 127.0f)) << 23;
  return power * __builtin_bit_cast(float, first) * __builtin_bit_cast(float, second);
#endif
}

/// Within 1.1 ulp, subnormal results too; from 709.79 on inf, below -745.14 zero.
HECTOR_INLINE double exp(double x) {
  constexpr double kRound = 0x1.8p52;
  const double most = choose(x > 710.0, 710.0, x), limited = choose(x < -746.0, -746.0, most);
  const double n = (limited * 0x1.71547652b82fep0 + kRound) - kRound;
  const double r = (limited - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double q = 0x1.af3924be99a57p-26;
  q = q * r + 0x1.2891e963ab1f9p-22;
  q = q * r + 0x1.71de0d7a972efp-19;
  q = q * r + 0x1.a019b8b8f8697p-16;
  q = q * r + 0x1.a01a01a7d176dp-13;
  q = q * r + 0x1.6c16c178a18c1p-10;
  q = q * r + 0x1.11111111109a2p-7;
  q = q * r + 0x1.5555555553d2bp-5;
  q = q * r + 0x1.5555555555556p-3;
  q = q * r + 0.5;
  const double power = 1.0 + (r + r * r * q);
  const double half = (n * 0.5 + kRound) - kRound;
  const uint64_t first = __builtin_bit_cast(uint64_t, half + (kRound + 1023.0)) << 52;
  const uint64_t second = __builtin_bit_cast(uint64_t, (n - half) + (kRound + 1023.0)) << 52;
  return power * __builtin_bit_cast(double, first) * __builtin_bit_cast(double, second);
}

/// Within 1 ulp: x = 2^e · (1 + f) with 1 + f between √½ and √2.
HECTOR_INLINE float log(float x) {
  const bool isSubnormal = x < 0x1p-126f;
  const float normal = x * choose(isSubnormal, 0x1p23f, 1.0f);
  const uint32_t bits = __builtin_bit_cast(uint32_t, normal);
  const int32_t exponent = static_cast<int32_t>(bits - 0x3f3504f3u) >> 23;
  const float f = __builtin_bit_cast(float, bits - (static_cast<uint32_t>(exponent) << 23)) - 1.0f;
  const float e = static_cast<float>(exponent) - choose(isSubnormal, 23.0f, 0.0f);
  float q = 0.0697161147145f;
  q = q * f - 0.114797338466f;
  q = q * f + 0.116854199235f;
  q = q * f - 0.124256873315f;
  q = q * f + 0.142490576457f;
  q = q * f - 0.166678023195f;
  q = q * f + 0.200007157489f;
  q = q * f - 0.24999996958f;
  q = q * f + 0.3333333118f;
  const float square = f * f;
  const float finite = e * 0x1.62e4p-1f + (f + (square * (f * q - 0.5f) + e * 0x1.7f7d1cp-20f));
  const float atMostZero = choose(x == 0.0f, -infinity<float>(), nan<float>());
  return choose(x <= 0.0f, atMostZero, choose(x < infinity<float>(), finite, x));  // inf and NaN stay
}
HECTOR_INLINE double log(double x) {
  return HECTOR_LIBM(log)(x);
}

/// log(1 + u) for u from 0 to 1 or NaN. What 1 + u rounds off is added to first order.
HECTOR_INLINE float log1pOfPart(float u) {
  const float sum = 1.0f + u;
  return log(sum) + (u - (sum - 1.0f)) / sum;
}
HECTOR_INLINE double log1pOfPart(double u) {
  return HECTOR_LIBM(log1p)(u);
}

/// log(1 + exp(x)) without overflow, within 2 ulp.
template <class T> HECTOR_INLINE T softplus(T x) {
  return larger(x, T(0)) + log1pOfPart(exp(-abs(x)));
}

/// 1 / (1 + exp(-x)), within 3 ulp.
template <class T> HECTOR_INLINE T sigmoid(T x) {
  const T e = exp(-abs(x));
  return choose(x < T(0), e, T(1)) / (T(1) + e);
}

/// Within 2 ulp: a polynomial below 0.6, 1 - 2 / (exp(2x) + 1) above.
HECTOR_INLINE float tanh(float x) {
  const float size = abs(x), square = x * x;
  float q = -0.00626911971965f;
  q = mulAdd(q, square, 0.0211109590495f);
  q = mulAdd(q, square, -0.0538739488486f);
  q = mulAdd(q, square, 0.13332915367f);
  q = mulAdd(q, square, -0.333333303327f);
  const float small = x + x * (square * q);
  const float large = HECTOR_LIBM(copysignf)(1.0f - 2.0f / (exp(2.0f * size) + 1.0f), x);
  return choose(size < 0.6f, small, large);
}
HECTOR_INLINE double tanh(double x) {
  return HECTOR_LIBM(tanh)(x);
}

/// Within 2 ulp: a polynomial below 0.93, 1 - exp(-x·polynomial) above. From 4 on it is 1.
HECTOR_INLINE float erf(float x) {
  const float size = abs(x), square = x * x;
  float q = -0.000596731087832f;
  q = mulAdd(q, square, 0.00498890602537f);
  q = mulAdd(q, square, -0.0267639951375f);
  q = mulAdd(q, square, 0.11281754131f);
  q = mulAdd(q, square, -0.376124890446f);
  q = mulAdd(q, square, 0.128379149121f);
  const float small = x + x * q;
  const float t = choose(size > 4.0f, 4.0f, size);  // NaN stays
  float p = -1.04606568192e-6f;
  p = mulAdd(p, t, 3.43885087718e-5f);
  p = mulAdd(p, t, -0.000498825008151f);
  p = mulAdd(p, t, 0.00430378930758f);
  p = mulAdd(p, t, -0.0251395503127f);
  p = mulAdd(p, t, 0.10785565293f);
  p = mulAdd(p, t, 0.634148183824f);
  p = mulAdd(p, t, 1.12890279814f);
  const float large = HECTOR_LIBM(copysignf)(1.0f - exp(-t * p), x);
  return choose(size < 0.93f, small, large);
}
HECTOR_INLINE double erf(double x) {
  return HECTOR_LIBM(erf)(x);
}

/// The remainder a % b as Python has it: exact, with the sign of `b`.
HECTOR_ANYWHERE inline double modulo(double a, double b) {
  const double rest = HECTOR_LIBM(fmod)(a, b);
  if (rest == 0.0)
    return HECTOR_LIBM(copysign)(0.0, b);
  return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
/// The quotient a // b as Python has it, which belongs to the remainder; a / b if `b` is 0.
HECTOR_ANYWHERE inline double floorDivide(double a, double b) {
  if (b == 0.0)
    return a / b;
  const double rest = HECTOR_LIBM(fmod)(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
    quotient -= 1.0;
  if (quotient == 0.0)
    return HECTOR_LIBM(copysign)(0.0, a / b);
  // The quotient is an integer but for the rounding of the division.
  const double whole = HECTOR_LIBM(floor)(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}
HECTOR_ANYWHERE inline float modulo(float a, float b) {
  return static_cast<float>(modulo(double{a}, double{b}));
}
HECTOR_ANYWHERE inline float floorDivide(float a, float b) {
  return static_cast<float>(floorDivide(double{a}, double{b}));
}

}  // namespace hector::common

#undef HECTOR_LIBM
