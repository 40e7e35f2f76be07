#include "kernels/cuda/products.cuh"

#include "kernels/cuda/Emulate.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace hector {
namespace {

using cuda::Layout;

template <class T> class CudaProducts : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaProducts, Types);

/// A matrix whose rows are further apart than they are long. What lies between them is NaN: whoever reads it as a
/// number has NaN in the result, whoever writes it is found.
template <class T> struct Matrix {
  int rows, columns, stride;
  std::vector<T> numbers;

  Matrix(int rows, int columns, int stride)
      : rows(rows), columns(columns), stride(stride), numbers(rows * stride, std::numeric_limits<T>::quiet_NaN()) {}

  T *data() { return numbers.data(); }
  const T *data() const { return numbers.data(); }
  T &at(int r, int c) { return numbers[r * stride + c]; }
  const T &at(int r, int c) const { return numbers[r * stride + c]; }

  template <class F> Matrix &fill(F f) {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        at(r, c) = f(r, c);
    return *this;
  }
  Matrix transposed() const {
    return Matrix(columns, rows, rows + stride - columns).fill([&](int r, int c) { return at(c, r); });
  }
  /// The same bits, those between the rows included.
  bool operator==(const Matrix &other) const {
    return numbers.size() == other.numbers.size() && std::memcmp(data(), other.data(), numbers.size() * sizeof(T)) == 0;
  }
};

/// Small integers, so that all products and sums are exact in any order.
template <class T> Matrix<T> integers(int rows, int columns, int stride, unsigned seed) {
  std::minstd_rand random(seed);
  return Matrix<T>(rows, columns, stride).fill([&](int, int) { return static_cast<T>(random() % 15) - T(7); });
}
template <class T> Matrix<T> fractions(int rows, int columns, int stride, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<T> number(-1, 1);
  return Matrix<T>(rows, columns, stride).fill([&](int, int) { return number(random); });
}
template <class T> Matrix<T> tile(int rows, int columns, unsigned seed, bool isExact = true) {
  const int stride = cuda::paddedColumns<T>(columns);
  return isExact ? integers<T>(rows, columns, stride, seed) : fractions<T>(rows, columns, stride, seed);
}

template <class T> Matrix<T> expected(const Matrix<T> &a, const Matrix<T> &w, int stride) {
  Matrix<double> sums(a.rows, w.columns, w.columns);
  sums.fill([](int, int) { return 0.0; });
  for (int r = 0; r < a.rows; ++r)
    for (int k = 0; k < a.columns; ++k)
      for (int j = 0; j < w.columns; ++j)
        sums.at(r, j) += static_cast<double>(a.at(r, k)) * static_cast<double>(w.at(k, j));
  return Matrix<T>(a.rows, w.columns, stride).fill([&](int r, int j) { return static_cast<T>(sums.at(r, j)); });
}

/// Copies a tile to shared memory, and waits for it. The rows that it does not have are left as they are.
template <class T> T *toShared(T *at, const Matrix<T> &tile) {
  for (size_t i = static_cast<size_t>(cuda::lane()); i < tile.numbers.size(); i += 32)
    at[i] = tile.numbers[i];
  cuda::syncWarp();
  return at;
}

/// The product as a warp computes it in shared memory.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false>
Matrix<T> product(const Matrix<T> &a, const Matrix<T> &w) {
  Matrix<T> c(a.rows, kOuter, cuda::paddedColumns<T>(kOuter));
  emulate(1, 32, static_cast<int64_t>((a.numbers.size() + c.numbers.size()) * sizeof(T)), [&] {
    const T *left = toShared(cuda::sharedMemory<T>(), a);
    T *result = cuda::sharedMemory<T>() + a.numbers.size();
    cuda::multiply<T, kInner, kOuter, layout, isAligned, isGuarded>(left, a.stride, w.data(), w.stride, result,
                                                                    c.stride, a.rows);
    for (int r = 0; r < c.rows; ++r)
      for (int j = cuda::lane(); j < c.stride; j += 32)
        c.at(r, j) = result[r * c.stride + j];
  });
  // What was not written is NaN of the same bits.
  for (T &number : c.numbers)
    if (number != number)
      number = std::numeric_limits<T>::quiet_NaN();
  return c;
}

/// `before` + Σ a[r]·g[r], by the two ways there are.
template <class T, int kInner, int kOuter, bool isGuarded = false>
Matrix<T> outerProductsInMemory(const Matrix<T> &a, const Matrix<T> &g, const Matrix<T> &before) {
  Matrix<T> w = before;
  emulate(1, 32, static_cast<int64_t>((a.numbers.size() + g.numbers.size()) * sizeof(T)), [&] {
    const T *left = toShared(cuda::sharedMemory<T>(), a);
    const T *right = toShared(cuda::sharedMemory<T>() + a.numbers.size(), g);
    cuda::addOuterProducts<T, kInner, kOuter, isGuarded>(left, a.stride, right, g.stride, w.data(), w.stride, a.rows);
  });
  return w;
}
template <class T, int kInner, int kOuter, bool isGuarded = false>
Matrix<T> outerProductsInRegisters(const Matrix<T> &a, const Matrix<T> &g, const Matrix<T> &before, int rows) {
  Matrix<T> w = before;
  emulate(1, 32, static_cast<int64_t>((a.numbers.size() + g.numbers.size()) * sizeof(T)), [&] {
    const T *left = toShared(cuda::sharedMemory<T>(), a);
    const T *right = toShared(cuda::sharedMemory<T>() + a.numbers.size(), g);
    cuda::OuterProducts<T, kInner, kOuter, isGuarded> sums;
    for (int first = 0; first < a.rows; first += rows)
      sums.add(left + first * a.stride, a.stride, right + first * g.stride, g.stride,
               a.rows - first < rows ? a.rows - first : rows);
    sums.forEach([&](int i, int j, T sum) { w.at(i, j) += sum; });
  });
  return w;
}

// --- exactness ------------------------------------------------------------------------------------------------------

template <class T, int kInner, int kOuter> void checkSizes() {
  SCOPED_TRACE(testing::Message() << kInner << " x " << kOuter);
  const int rows = 1 + (kInner * 7 + kOuter) % 16;
  const Matrix<T> a = tile<T>(rows, kInner, 1), w = integers<T>(kInner, kOuter, kOuter + 3, 2);
  const Matrix<T> sums = expected(a, w, cuda::paddedColumns<T>(kOuter));
  EXPECT_EQ((product<T, kInner, kOuter>(a, w)), sums);
  EXPECT_EQ((product<T, kInner, kOuter, Layout::Transposed>(a, w.transposed())), sums);

  const Matrix<T> g = tile<T>(rows, kOuter, 3), before = integers<T>(kInner, kOuter, kOuter + 3, 4);
  Matrix<T> added = expected(a.transposed(), g, kOuter + 3);
  added.fill([&](int i, int j) { return before.at(i, j) + added.at(i, j); });
  EXPECT_EQ((outerProductsInMemory<T, kInner, kOuter>(a, g, before)), added);
  if constexpr (kInner <= 64 && kOuter <= 64) {
    EXPECT_EQ((outerProductsInRegisters<T, kInner, kOuter>(a, g, before, 16)), added);
  }
}

TYPED_TEST(CudaProducts, AreExactForIntegersOfOddSizes) {
  using T = TypeParam;
  checkSizes<T, 1, 1>();
  checkSizes<T, 1, 64>();
  checkSizes<T, 2, 7>();
  checkSizes<T, 3, 9>();
  checkSizes<T, 4, 32>();
  checkSizes<T, 5, 15>();
  checkSizes<T, 8, 17>();
  checkSizes<T, 13, 3>();
  checkSizes<T, 16, 16>();
  checkSizes<T, 17, 33>();
  checkSizes<T, 31, 8>();
  checkSizes<T, 33, 31>();
  checkSizes<T, 48, 47>();
  checkSizes<T, 64, 1>();
  checkSizes<T, 64, 64>();
  checkSizes<T, 65, 5>();
}

TYPED_TEST(CudaProducts, AreExactForIntegersOfLargeSizes) {
  using T = TypeParam;
  checkSizes<T, 100, 130>();
  checkSizes<T, 7, 1024>();
  checkSizes<T, 1024, 5>();
}

TYPED_TEST(CudaProducts, AreExactForEveryNumberOfRows) {
  using T = TypeParam;
  const Matrix<T> w = integers<T>(24, 20, 20, 2);
  for (int rows = 1; rows <= 16; ++rows) {
    const Matrix<T> a = tile<T>(rows, 24, 1), g = tile<T>(rows, 20, 3);
    EXPECT_EQ((product<T, 24, 20>(a, w)), expected(a, w, cuda::paddedColumns<T>(20))) << rows;
    Matrix<T> zeros(24, 20, 20);
    zeros.fill([](int, int) { return T(0); });
    EXPECT_EQ((outerProductsInRegisters<T, 24, 20>(a, g, zeros, 16)), expected(a.transposed(), g, 20)) << rows;
  }
}

TYPED_TEST(CudaProducts, AreTheSameFromAlignedMatrices) {
  using T = TypeParam;
  const Matrix<T> a = tile<T>(16, 64, 1, false), w = fractions<T>(64, 64, 64, 2);
  const Matrix<T> plain = product<T, 64, 64>(a, w);
  EXPECT_EQ((product<T, 64, 64, Layout::Plain, true>(a, w)), plain);
  EXPECT_EQ((product<T, 64, 64, Layout::Transposed, true>(a, w.transposed())), plain);
}

// --- rounding -------------------------------------------------------------------------------------------------------

template <class T> double relativeError(const Matrix<T> &c, const Matrix<double> &exact) {
  double error = 0, norm = 0;
  for (int r = 0; r < exact.rows; ++r)
    for (int j = 0; j < exact.columns; ++j) {
      error += std::pow(static_cast<double>(c.at(r, j)) - exact.at(r, j), 2);
      norm += std::pow(exact.at(r, j), 2);
    }
  return std::sqrt(error / norm);
}
template <class T> Matrix<double> inDouble(const Matrix<T> &matrix) {
  return Matrix<double>(matrix.rows, matrix.columns, matrix.stride).fill([&](int r, int c) {
    return static_cast<double>(matrix.at(r, c));
  });
}

TEST(CudaProductsOfFloats, AreAsGoodAsFloats) {
  const Matrix<float> a = tile<float>(16, 128, 1, false), w = fractions<float>(128, 64, 64, 2);
  EXPECT_LT(relativeError(product<float, 128, 64>(a, w), expected(inDouble(a), inDouble(w), 64)), 4e-7);
}

TEST(CudaProductsOfFloats, SumsOverManyRowsAreAsGoodAsFloats) {
  const Matrix<float> a = tile<float>(512, 16, 1, false), g = tile<float>(512, 16, 2, false);
  Matrix<float> zeros(16, 16, 16);
  zeros.fill([](int, int) { return 0.0f; });
  EXPECT_LT(relativeError(outerProductsInRegisters<float, 16, 16>(a, g, zeros, 16),
                          expected(inDouble(a.transposed()), inDouble(g), 16)),
            6e-7);
}

// A tile's rows are cut by a plan; the numbers must not show it.
TYPED_TEST(CudaProducts, HaveTheSameBitsWhereverTilesAreCut) {
  using T = TypeParam;
  const Matrix<T> a = tile<T>(16, 37, 1, false), w = fractions<T>(37, 21, 21, 2);
  const Matrix<T> whole = product<T, 37, 21>(a, w);
  EXPECT_EQ((product<T, 37, 21, Layout::Transposed>(a, w.transposed())), whole);
  for (int first = 0; first < 16; first += 3) {
    const int rows = std::min(3, 16 - first);
    Matrix<T> part(rows, 37, a.stride);
    part.fill([&](int r, int k) { return a.at(first + r, k); });
    const Matrix<T> c = product<T, 37, 21>(part, w);
    for (int r = 0; r < rows; ++r)
      EXPECT_EQ(std::memcmp(&c.at(r, 0), &whole.at(first + r, 0), 21 * sizeof(T)), 0) << first << ", " << r;
  }
}

// --- inf, NaN and rows of zeros -------------------------------------------------------------------------------------

TYPED_TEST(CudaProducts, KeepInfAndNanInTheirRowAndColumn) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  Matrix<T> a = tile<T>(11, 20, 1), w = integers<T>(20, 40, 40, 2);
  a.at(3, 5) = inf;
  w.fill([&](int k, int j) { return k == 5 && j == 7 ? T(0) : k == 5 ? T(2) : w.at(k, j); });
  w.at(19, 33) = std::numeric_limits<T>::quiet_NaN();
  for (const Matrix<T> &c : {product<T, 20, 40>(a, w), product<T, 20, 40, Layout::Transposed>(a, w.transposed())})
    for (int r = 0; r < 11; ++r)
      for (int j = 0; j < 40; ++j) {
        if (j == 33 || (r == 3 && j == 7))  // inf · 0 is NaN
          EXPECT_TRUE(std::isnan(c.at(r, j))) << r << ", " << j;
        else if (r == 3)
          EXPECT_EQ(c.at(r, j), inf) << j;
        else
          EXPECT_TRUE(std::isfinite(c.at(r, j))) << r << ", " << j;
      }
}

TYPED_TEST(CudaProducts, OfTheLargestNumbersAreFinite) {
  using T = TypeParam;
  Matrix<T> a(1, 1, cuda::paddedColumns<T>(1)), w(1, 1, 1);
  a.at(0, 0) = std::numeric_limits<T>::max();
  w.at(0, 0) = T(1);
  EXPECT_EQ((product<T, 1, 1>(a, w).at(0, 0)), std::numeric_limits<T>::max());
}

TYPED_TEST(CudaProducts, GuardedRowsOfZerosGiveZerosWhateverTheMatrixHolds) {
  using T = TypeParam;
  Matrix<T> a = tile<T>(5, 20, 1), w = integers<T>(20, 10, 10, 2);
  for (int k = 0; k < 20; ++k)
    a.at(2, k) = k % 2 ? T(0) : -T(0);
  w.at(7, 3) = std::numeric_limits<T>::quiet_NaN();
  w.at(8, 4) = std::numeric_limits<T>::infinity();
  const Matrix<T> guarded = product<T, 20, 10, Layout::Plain, false, true>(a, w);
  const Matrix<T> unguarded = product<T, 20, 10>(a, w);
  for (int j = 0; j < 10; ++j) {
    EXPECT_EQ(guarded.at(2, j), T(0)) << j;
    EXPECT_EQ(std::isnan(unguarded.at(2, j)), j == 3 || j == 4) << j;
    EXPECT_EQ(std::isnan(guarded.at(1, j)), std::isnan(unguarded.at(1, j))) << j;
  }
  EXPECT_TRUE(std::isnan(guarded.at(1, 3)));
}

TYPED_TEST(CudaProducts, GuardedSumsLeaveOutRowsOfZeros) {
  using T = TypeParam;
  Matrix<T> a = tile<T>(9, 20, 1), g = tile<T>(9, 10, 2);
  Matrix<T> without = a;
  for (int j = 0; j < 10; ++j)
    g.at(4, j) = T(0);
  a.at(4, 6) = std::numeric_limits<T>::quiet_NaN();
  without.at(4, 6) = T(0);
  const Matrix<T> before = integers<T>(20, 10, 10, 3);
  Matrix<T> sums = expected(without.transposed(), g, 10);
  sums.fill([&](int i, int j) { return before.at(i, j) + sums.at(i, j); });
  EXPECT_EQ((outerProductsInMemory<T, 20, 10, true>(a, g, before)), sums);
  EXPECT_EQ((outerProductsInRegisters<T, 20, 10, true>(a, g, before, 16)), sums);
  EXPECT_TRUE(std::isnan(outerProductsInMemory<T, 20, 10>(a, g, before).at(6, 0)));
}

}  // namespace
}  // namespace hector
