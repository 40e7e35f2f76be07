/// Functions of numbers, with the meaning that the ops of flow have. T is float or double.
#pragma once

#include <cstdint>

namespace hector::cpu {

// The functions of the C library, without <cmath>, which takes ten times longer to compile than all of this.
inline float exp(float x) {
  return __builtin_expf(x);
}
inline double exp(double x) {
  return __builtin_exp(x);
}
inline float log(float x) {
  return __builtin_logf(x);
}
inline double log(double x) {
  return __builtin_log(x);
}
inline float sqrt(float x) {
  return __builtin_sqrtf(x);
}
inline double sqrt(double x) {
  return __builtin_sqrt(x);
}
inline float sin(float x) {
  return __builtin_sinf(x);
}
inline double sin(double x) {
  return __builtin_sin(x);
}
inline float cos(float x) {
  return __builtin_cosf(x);
}
inline double cos(double x) {
  return __builtin_cos(x);
}
inline float tanh(float x) {
  return __builtin_tanhf(x);
}
inline double tanh(double x) {
  return __builtin_tanh(x);
}
inline float erf(float x) {
  return __builtin_erff(x);
}
inline double erf(double x) {
  return __builtin_erf(x);
}
inline float log1p(float x) {
  return __builtin_log1pf(x);
}
inline double log1p(double x) {
  return __builtin_log1p(x);
}
inline float pow(float a, float b) {
  return __builtin_powf(a, b);
}
inline double pow(double a, double b) {
  return __builtin_pow(a, b);
}
inline float abs(float x) {
  return __builtin_fabsf(x);
}
inline double abs(double x) {
  return __builtin_fabs(x);
}
inline float floor(float x) {
  return __builtin_floorf(x);
}
inline double floor(double x) {
  return __builtin_floor(x);
}

/// The larger of two; NaN wins, so that it propagates. `a` on a tie.
template <class T> T larger(T a, T b) {
  return a != a || a >= b ? a : b;
}
/// The smaller of two, as `larger`.
template <class T> T smaller(T a, T b) {
  return a != a || a <= b ? a : b;
}
/// Whether two numbers are equal, or both NaN.
template <class T> bool matches(T a, T b) {
  return a == b || (a != a && b != b);
}
/// g·f, but 0 wherever g is 0, even if f is inf or NaN.
template <class T> T chain(T g, T f) {
  return g == T(0) ? T(0) : g * f;
}
/// -1, 0 or 1, or NaN; -0 stays -0.
template <class T> T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T> T rsqrt(T x) {
  return T(1) / sqrt(x);
}
template <class T> T relu(T x) {
  return x > T(0) || x != x ? x : T(0);
}
template <class T> T leakyRelu(T x, T slope) {
  return x > T(0) ? x : slope * x;
}
template <class T> T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
/// log(1 + exp(x)) without overflow.
template <class T> T softplus(T x) {
  return larger(x, T(0)) + log1p(exp(-abs(x)));
}

/// The remainder a % b as Python has it: exact, with the sign of `b`.
inline double modulo(double a, double b) {
  const double rest = __builtin_fmod(a, b);
  if (rest == 0.0)
    return __builtin_copysign(0.0, b);
  return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
/// The quotient a // b as Python has it, which belongs to the remainder; a / b if `b` is 0.
inline double floorDivide(double a, double b) {
  if (b == 0.0)
    return a / b;
  const double rest = __builtin_fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
    quotient -= 1.0;
  if (quotient == 0.0)
    return __builtin_copysign(0.0, a / b);
  // The quotient is an integer but for the rounding of the division.
  const double whole = __builtin_floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}
inline float modulo(float a, float b) {
  return static_cast<float>(modulo(double{a}, double{b}));
}
inline float floorDivide(float a, float b) {
  return static_cast<float>(floorDivide(double{a}, double{b}));
}

}  // namespace hector::cpu
