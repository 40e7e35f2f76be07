#include "kernels/cpu/math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace hector::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// --- errors ---------------------------------------------------------------------------------------------------------

/// The distance to `exact` in units in the last place. Inf and NaN must be met exactly.
template <class T, class Exact> double ulps(T value, Exact exact) {
  const T nearest = static_cast<T>(exact);
  if (value == nearest || (std::isnan(value) && std::isnan(nearest)))
    return 0.0;
  if (!std::isfinite(value) || !std::isfinite(nearest))
    return std::numeric_limits<double>::infinity();
  const int exponent = std::max(std::ilogb(nearest), std::numeric_limits<T>::min_exponent - 1);
  const Exact unit = std::ldexp(Exact(1), exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::abs((static_cast<Exact>(value) - exact) / unit));
}

/// The largest error over every 997th float.
template <class F, class Exact> double worst(F f, Exact exact) {
  double most = 0.0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    most = std::max(most, ulps(f(x), exact(static_cast<double>(x))));
  }
  return most;
}

TEST(Math, ExpOfFloats) {
  EXPECT_LE(worst([](float x) { return exp(x); }, [](double x) { return std::exp(x); }), 1.1);
}

TEST(Math, LogOfFloats) {
  EXPECT_LE(worst([](float x) { return log(x); }, [](double x) { return std::log(x); }), 1.0);
}

TEST(Math, TanhOfFloats) {
  EXPECT_LE(worst([](float x) { return tanh(x); }, [](double x) { return std::tanh(x); }), 2.0);
}

TEST(Math, ErfOfFloats) {
  EXPECT_LE(worst([](float x) { return erf(x); }, [](double x) { return std::erf(x); }), 2.0);
}

TEST(Math, SigmoidOfFloats) {
  EXPECT_LE(worst([](float x) { return sigmoid(x); }, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }), 3.0);
}

TEST(Math, SoftplusOfFloats) {
  EXPECT_LE(worst([](float x) { return softplus(x); },
                  [](double x) { return (x < 0 ? 0.0 : x) + std::log1p(std::exp(-std::abs(x))); }),
            2.0);
}

TEST(Math, ExpOfDoubles) {
  std::mt19937_64 random(1);
  double most = 0.0;
  for (double width : {1e-6, 1.0, 50.0, 720.0, 760.0})
    for (int i = 0; i < 200000; ++i) {
      const double x = std::uniform_real_distribution<double>(-width, width)(random);
      most = std::max(most, ulps(exp(x), std::exp(static_cast<long double>(x))));
    }
  EXPECT_LE(most, 1.1);
}

TEST(Math, ExpOfSpecialDoubles) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exp(0.0), 1.0);
  EXPECT_EQ(exp(inf), inf);
  EXPECT_EQ(exp(-inf), 0.0);
  EXPECT_EQ(exp(710.0), inf);
  EXPECT_EQ(exp(1e300), inf);
  EXPECT_EQ(exp(-1e300), 0.0);
  EXPECT_TRUE(std::isnan(exp(std::numeric_limits<double>::quiet_NaN())));
}

// --- loops ----------------------------------------------------------------------------------------------------------

template <class T, class F> [[gnu::noinline]] void each(F f, const T *x, T *y, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    y[k] = f(x[k]);
}

/// Whether a number has the same bits in a vectorised loop, in what is left over at its end, and alone.
template <class T, class F> void checkLoops(F f) {
  std::mt19937_64 random(2);
  std::vector<T> x(100), alone(100), y(100);
  for (size_t k = 0; k < x.size(); ++k)
    x[k] = std::uniform_real_distribution<T>(-9, 9)(random);
  for (size_t k = 0; k < x.size(); ++k)
    each<T>(f, &x[k], &alone[k], 1);
  for (int64_t n = 1; n <= 70; ++n)
    for (int64_t first : {0, 1, 5}) {
      each<T>(f, x.data() + first, y.data(), n);
      EXPECT_EQ(std::memcmp(y.data(), alone.data() + first, n * sizeof(T)), 0) << n << " numbers from " << first;
    }
}

TEST(MathLoops, OfFloatsHaveTheSameBitsWhereverTheyStart) {
  checkLoops<float>([](float x) { return exp(x); });
  checkLoops<float>([](float x) { return log(abs(x)); });
  checkLoops<float>([](float x) { return tanh(x); });
  checkLoops<float>([](float x) { return erf(x); });
  checkLoops<float>([](float x) { return sigmoid(x); });
  checkLoops<float>([](float x) { return softplus(x); });
  checkLoops<float>([](float x) { return leakyRelu(x, 0.2f); });
}

TEST(MathLoops, OfDoublesHaveTheSameBitsWhereverTheyStart) {
  checkLoops<double>([](double x) { return exp(x); });
  checkLoops<double>([](double x) { return sigmoid(x); });
}

// --- what ops of flow mean ------------------------------------------------------------------------------------------

/// The same bits, or both NaN.
testing::AssertionResult same(float a, float b) {
  if (std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << a << " is not " << b;
}

TEST(Math, LargerKeepsNanAndTheFirstOnATie) {
  EXPECT_TRUE(same(larger(1.0f, 2.0f), 2.0f));
  EXPECT_TRUE(same(larger(2.0f, 1.0f), 2.0f));
  EXPECT_TRUE(same(larger(kNan, 1.0f), kNan));
  EXPECT_TRUE(same(larger(1.0f, kNan), kNan));
  EXPECT_TRUE(same(larger(-0.0f, 0.0f), -0.0f));
  EXPECT_TRUE(same(larger(0.0f, -0.0f), 0.0f));
}

TEST(Math, SmallerKeepsNanAndTheFirstOnATie) {
  EXPECT_TRUE(same(smaller(1.0f, 2.0f), 1.0f));
  EXPECT_TRUE(same(smaller(2.0f, 1.0f), 1.0f));
  EXPECT_TRUE(same(smaller(kNan, 1.0f), kNan));
  EXPECT_TRUE(same(smaller(1.0f, kNan), kNan));
  EXPECT_TRUE(same(smaller(-0.0f, 0.0f), -0.0f));
  EXPECT_TRUE(same(smaller(0.0f, -0.0f), 0.0f));
}

TEST(Math, MatchesTakesNanAsEqualToNan) {
  EXPECT_TRUE(matches(kNan, kNan));
  EXPECT_TRUE(matches(0.0f, -0.0f));
  EXPECT_FALSE(matches(kNan, 1.0f));
  EXPECT_FALSE(matches(1.0f, 2.0f));
}

TEST(Math, ChainIsZeroForNoGradient) {
  EXPECT_TRUE(same(chain(0.0f, kInf), 0.0f));
  EXPECT_TRUE(same(chain(-0.0f, kNan), 0.0f));
  EXPECT_TRUE(same(chain(2.0f, 3.0f), 6.0f));
  EXPECT_TRUE(same(chain(kNan, 0.0f), kNan));
}

TEST(Math, ReluKeepsNan) {
  EXPECT_TRUE(same(relu(kNan), kNan));
  EXPECT_TRUE(same(relu(-0.0f), 0.0f));
  EXPECT_TRUE(same(relu(-kInf), 0.0f));
  EXPECT_TRUE(same(relu(3.0f), 3.0f));
  EXPECT_TRUE(same(leakyRelu(kNan, 0.5f), kNan));
  EXPECT_TRUE(same(leakyRelu(-3.0f, 0.5f), -1.5f));
  EXPECT_TRUE(same(leakyRelu(3.0f, 0.5f), 3.0f));
}

TEST(Math, SignKeepsZeroAndNan) {
  EXPECT_TRUE(same(sign(-0.0f), -0.0f));
  EXPECT_TRUE(same(sign(kNan), kNan));
  EXPECT_TRUE(same(sign(-kInf), -1.0f));
  EXPECT_TRUE(same(sign(0.25f), 1.0f));
}

TEST(Math, RemaindersAreThoseOfPython) {
  EXPECT_TRUE(same(modulo(-5.0f, 3.0f), 1.0f));
  EXPECT_TRUE(same(modulo(5.0f, -3.0f), -1.0f));
  EXPECT_TRUE(same(modulo(-6.0f, 3.0f), 0.0f));
  EXPECT_TRUE(same(modulo(6.0f, -3.0f), -0.0f));
  EXPECT_TRUE(same(modulo(-5.0f, kInf), kInf));
  EXPECT_TRUE(same(modulo(1.0f, 0.0f), kNan));
  EXPECT_EQ(floorDivide(1.0, 0.1), 9.0);
  EXPECT_TRUE(same(floorDivide(-5.0f, 3.0f), -2.0f));
  EXPECT_TRUE(same(floorDivide(1.0f, 0.0f), kInf));
  EXPECT_TRUE(same(floorDivide(-1.0f, kInf), -1.0f));
  EXPECT_TRUE(same(floorDivide(0.0f, -3.0f), -0.0f));
  // A quotient that float would have rounded on the way.
  EXPECT_TRUE(same(floorDivide(16777215.0f, 0.33f), static_cast<float>(std::floor(16777215.0 / double{0.33f}))));
}

}  // namespace
}  // namespace hector::cpu
