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
  const int stride = cuda::paddedColumns(columns, sizeof(T));
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

/// Planes of a tile: as exact as T.
template <class T> constexpr int kExact = sizeof(T) == sizeof(float) ? 3 : 1;

template <class T, int kSize, int kRows, int kPlanes> constexpr int64_t bytesOf() {
  if constexpr (sizeof(T) == sizeof(double))
    return int64_t{kRows} * cuda::paddedColumns(kSize, sizeof(T)) * sizeof(T);
  return cuda::shapeOfTile(kSize, kRows, kPlanes).bytes;
}

/// Puts rows into a tile in shared memory, and clears the others.
template <class Rows, class T> void fill(const Rows &tile, const Matrix<T> &from) {
  for (int i = cuda::threadInBlock(); i < from.rows * from.columns; i += cuda::numThreads()) {
    const T number[1] = {from.at(i / from.columns, i % from.columns)};
    tile.put(i / from.columns, i % from.columns, number);
  }
  tile.clearRows(from.rows);
}

/// Rows of the tiles that tests have; fewer of long rows, so that they fit in shared memory.
constexpr int tileRows(int size) {
  return size > 256 ? 16 : 64;
}

/// What `compute(tile, c)` makes of a tile, with a block of kWarps warps.
template <int kWarps, int kInner, int kPlanes, class T, class F>
Matrix<T> computeTile(const Matrix<T> &a, int columns, F compute) {
  Matrix<T> c(a.rows, columns, cuda::paddedColumns(columns, sizeof(T)));
  constexpr int64_t kBytes = bytesOf<T, kInner, tileRows(kInner), kPlanes>();
  emulate(1, 32 * kWarps, kBytes + static_cast<int64_t>(c.numbers.size() * sizeof(T)), [&] {
    unsigned char *memory = cuda::sharedMemory<unsigned char>();
    const cuda::Tile<T, kInner, tileRows(kInner), kPlanes> left(memory);
    left.clear();
    cuda::syncBlock();
    fill(left, a);
    T *result = reinterpret_cast<T *>(memory + kBytes);
    cuda::syncBlock();
    compute(left, result, c.stride);
    cuda::syncBlock();
    for (int i = cuda::threadInBlock(); i < c.rows * c.stride; i += cuda::numThreads())
      c.numbers[i] = result[i];
  });
  // What was not written is NaN of the same bits.
  for (T &number : c.numbers)
    if (number != number)
      number = std::numeric_limits<T>::quiet_NaN();
  return c;
}

/// The product as a block computes it, with the matrix in registers or in memory.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false, bool isKept = false, int kWarps = 8, int kPlanes = kExact<T>>
Matrix<T> product(const Matrix<T> &a, const Matrix<T> &w) {
  return computeTile<kWarps, kInner, kPlanes>(a, kOuter, [&](const auto &left, T *result, int stride) {
    const cuda::Weights<T, kInner, kOuter, kWarps, kPlanes, layout, isAligned, isGuarded, isKept> weights(w.data());
    weights.multiply(left, result, stride, a.rows);
  });
}
/// The product of a single row.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false>
Matrix<T> rowProduct(const Matrix<T> &a, const Matrix<T> &w) {
  return computeTile<8, kInner, kExact<T>>(a, kOuter, [&](const auto &, T *result, int) {
    cuda::multiplyRow<T, kInner, kOuter, 8, layout, isAligned, isGuarded>(a.data(), w.data(), result);
  });
}
template <class T> Matrix<T> rowOf(const Matrix<T> &a, int row) {
  return Matrix<T>(1, a.columns, a.stride).fill([&](int, int k) { return a.at(row, k); });
}

/// Calls compute(left, right, rows) with the tiles of a and g, one after the other.
template <int kWarps, int kPlanes, int kInner, int kOuter, class T, class F>
void forTiles(const Matrix<T> &a, const Matrix<T> &g, F compute) {
  constexpr int kRows = tileRows(kInner > kOuter ? kInner : kOuter);
  constexpr int64_t kLeft = bytesOf<T, kInner, kRows, kPlanes>(), kRight = bytesOf<T, kOuter, kRows, kPlanes>();
  emulate(1, 32 * kWarps, kLeft + kRight, [&] {
    unsigned char *memory = cuda::sharedMemory<unsigned char>();
    const cuda::Tile<T, kInner, kRows, kPlanes> left(memory);
    const cuda::Tile<T, kOuter, kRows, kPlanes> right(memory + kLeft);
    left.clear();
    right.clear();
    compute([&](auto &&add) {
      for (int first = 0; first < a.rows; first += kRows) {
        const int rows = std::min(kRows, a.rows - first);
        auto part = [&](const Matrix<T> &matrix) {
          return Matrix<T>(rows, matrix.columns, matrix.stride).fill([&](int r, int c) {
            return matrix.at(first + r, c);
          });
        };
        cuda::syncBlock();
        fill(left, part(a));
        fill(right, part(g));
        cuda::syncBlock();
        add(left, right, rows);
      }
    });
  });
}

/// `before` + Σ a[r]·g[r], by the two ways there are.
template <class T, int kInner, int kOuter, bool isGuarded = false, int kWarps = 8>
Matrix<T> outerProductsInMemory(const Matrix<T> &a, const Matrix<T> &g, const Matrix<T> &before) {
  Matrix<T> w = before;
  forTiles<kWarps, kExact<T>, kInner, kOuter>(a, g, [&](auto &&forEachTile) {
    forEachTile([&](const auto &left, const auto &right, int rows) {
      cuda::addOuterProducts<T, kInner, kOuter, kWarps, kExact<T>, isGuarded>(left, right, w.data(), w.stride, rows);
    });
  });
  return w;
}
template <class T, int kInner, int kOuter, bool isGuarded = false, int kWarps = 8, int kPlanes = kExact<T>>
Matrix<T> outerProductsInRegisters(const Matrix<T> &a, const Matrix<T> &g, const Matrix<T> &before) {
  Matrix<T> w = before;
  forTiles<kWarps, kPlanes, kInner, kOuter>(a, g, [&](auto &&forEachTile) {
    cuda::OuterProducts<T, kInner, kOuter, kWarps, kPlanes, isGuarded> sums;
    forEachTile([&](const auto &left, const auto &right, int rows) { sums.add(left, right, rows); });
    sums.forEach([&](int i, int j, T sum) { w.at(i, j) += sum; });
  });
  return w;
}
/// The product and the sum without matrix instructions.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain>
Matrix<T> plainProduct(const Matrix<T> &a, const Matrix<T> &w) {
  return computeTile<8, kInner, kExact<T>>(a, kOuter, [&](const auto &left, T *result, int stride) {
    cuda::multiplyPlain<T, kInner, kOuter, layout>(left, 0, w.data(), result, stride, a.rows);
  });
}
template <class T, int kInner, int kOuter>
Matrix<T> plainOuterProducts(const Matrix<T> &a, const Matrix<T> &g, const Matrix<T> &before) {
  Matrix<T> w = before;
  forTiles<8, kExact<T>, kInner, kOuter>(a, g, [&](auto &&forEachTile) {
    forEachTile([&](const auto &left, const auto &right, int rows) {
      cuda::addOuterProductsPlain<T, kInner, kOuter>(left, 0, right, 0, w.data(), w.stride, 0, rows);
    });
  });
  return w;
}

// --- exactness ------------------------------------------------------------------------------------------------------

template <class T, int kInner, int kOuter> void checkSizes() {
  SCOPED_TRACE(testing::Message() << kInner << " x " << kOuter);
  constexpr bool canKeep = cuda::divideProduct(kInner, kOuter, 8, true).numbers <= 32;
  const int rows = 1 + (kInner * 7 + kOuter * 13) % (kInner + kOuter > 256 ? 16 : 64);  // that fit in shared memory
  const Matrix<T> a = tile<T>(rows, kInner, 1), w = integers<T>(kInner, kOuter, kOuter, 2), t = w.transposed();
  const Matrix<T> sums = expected(a, w, cuda::paddedColumns(kOuter, sizeof(T)));
  EXPECT_EQ((product<T, kInner, kOuter>(a, w)), sums);
  EXPECT_EQ((product<T, kInner, kOuter, Layout::Transposed>(a, t)), sums);
  EXPECT_EQ((product<T, kInner, kOuter, Layout::Plain, false, false, canKeep>(a, w)), sums);
  EXPECT_EQ((product<T, kInner, kOuter, Layout::Transposed, false, false, canKeep>(a, t)), sums);
  EXPECT_EQ((rowProduct<T, kInner, kOuter>(rowOf(a, 0), w)), rowOf(sums, 0));
  EXPECT_EQ((rowProduct<T, kInner, kOuter, Layout::Transposed>(rowOf(a, 0), t)), rowOf(sums, 0));
  EXPECT_EQ((plainProduct<T, kInner, kOuter>(a, w)), sums);
  EXPECT_EQ((plainProduct<T, kInner, kOuter, Layout::Transposed>(a, t)), sums);

  const Matrix<T> g = tile<T>(rows, kOuter, 3), before = integers<T>(kInner, kOuter, kOuter + 3, 4);
  Matrix<T> added = expected(a.transposed(), g, kOuter + 3);
  added.fill([&](int i, int j) { return before.at(i, j) + added.at(i, j); });
  EXPECT_EQ((outerProductsInMemory<T, kInner, kOuter>(a, g, before)), added);
  EXPECT_EQ((plainOuterProducts<T, kInner, kOuter>(a, g, before)), added);
  if constexpr (kInner <= 64 && kOuter <= 64) {
    EXPECT_EQ((outerProductsInRegisters<T, kInner, kOuter>(a, g, before)), added);
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
  for (int rows = 1; rows <= 64; ++rows) {
    const Matrix<T> a = tile<T>(rows, 24, 1), g = tile<T>(rows, 20, 3);
    EXPECT_EQ((product<T, 24, 20>(a, w)), expected(a, w, cuda::paddedColumns(20, sizeof(T)))) << rows;
    Matrix<T> zeros(24, 20, 20);
    zeros.fill([](int, int) { return T(0); });
    EXPECT_EQ((outerProductsInRegisters<T, 24, 20>(a, g, zeros)), expected(a.transposed(), g, 20)) << rows;
  }
}

// Rows of the tile before it are still there.
TYPED_TEST(CudaProducts, SumsOfAShortTileAfterAFullOneAreExact) {
  using T = TypeParam;
  for (int rows : {67, 64 + 17, 128 + 1}) {
    const Matrix<T> a = tile<T>(rows, 24, 1), g = tile<T>(rows, 20, 3);
    Matrix<T> zeros(24, 20, 20);
    zeros.fill([](int, int) { return T(0); });
    EXPECT_EQ((outerProductsInRegisters<T, 24, 20>(a, g, zeros)), expected(a.transposed(), g, 20)) << rows;
  }
}

TEST(CudaTiles, KeepNumbersInParts) {
  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  const Matrix<float> a = Matrix<float>(1, 8, 8).fill([&](int, int k) {
    const float numbers[] = {inf, -inf, most, -most, 1.0f / 3, -0.0f, 12345.678f, std::nanf("")};
    return numbers[k];
  });
  auto check = [&]<int kPlanes>(std::integral_constant<int, kPlanes>, double error) {
    computeTile<1, 8, kPlanes>(a, 8, [&](const auto &tile, float *, int) {
      if (cuda::threadInBlock() != 0)
        return;
      EXPECT_EQ(tile.at(0, 0), inf);
      EXPECT_EQ(tile.at(0, 1), -inf);
      EXPECT_TRUE(std::isnan(tile.at(0, 7)));
      for (int k = kPlanes == 3 ? 2 : 4; k < 7; ++k)  // two parts round the largest number to inf
        EXPECT_LE(std::abs(double{tile.at(0, k)} - double{a.at(0, k)}), error * std::abs(double{a.at(0, k)})) << k;
    });
  };
  check(std::integral_constant<int, 3>(), 0x1p-24);
  check(std::integral_constant<int, 2>(), 0x1p-16);
}

TYPED_TEST(CudaProducts, AreExactForEveryNumberOfWarps) {
  using T = TypeParam;
  const Matrix<T> a = tile<T>(50, 24, 1), w = integers<T>(24, 40, 40, 2), g = tile<T>(50, 40, 3);
  const Matrix<T> sums = expected(a, w, cuda::paddedColumns(40, sizeof(T))), outer = expected(a.transposed(), g, 40);
  Matrix<T> zeros(24, 40, 40);
  zeros.fill([](int, int) { return T(0); });
  EXPECT_EQ((product<T, 24, 40, Layout::Plain, true, false, true, 1>(a, w)), sums);
  EXPECT_EQ((product<T, 24, 40, Layout::Plain, true, false, false, 1>(a, w)), sums);
  EXPECT_EQ((product<T, 24, 40, Layout::Plain, true, false, true, 4>(a, w)), sums);
  EXPECT_EQ((outerProductsInRegisters<T, 24, 40, false, 1>(a, g, zeros)), outer);
  EXPECT_EQ((outerProductsInRegisters<T, 24, 40, false, 4>(a, g, zeros)), outer);
  EXPECT_EQ((outerProductsInMemory<T, 24, 40, false, 1>(a, g, zeros)), outer);
}

TYPED_TEST(CudaProducts, AreTheSameFromAlignedMatrices) {
  using T = TypeParam;
  const Matrix<T> a = tile<T>(64, 64, 1, false), w = fractions<T>(64, 64, 64, 2), t = w.transposed();
  const Matrix<T> plain = product<T, 64, 64>(a, w);
  EXPECT_EQ((product<T, 64, 64, Layout::Plain, true>(a, w)), plain);
  EXPECT_EQ((product<T, 64, 64, Layout::Transposed, true>(a, t)), plain);
  EXPECT_EQ((product<T, 64, 64, Layout::Plain, true, false, true>(a, w)), plain);
  EXPECT_EQ((product<T, 64, 64, Layout::Transposed, true, false, true>(a, t)), plain);
}

TYPED_TEST(CudaProducts, OfOneRowAreExactFromAlignedMatrices) {
  using T = TypeParam;
  const Matrix<T> a = tile<T>(1, 36, 1), w = integers<T>(36, 20, 20, 2);
  const Matrix<T> sums = expected(a, w, cuda::paddedColumns(20, sizeof(T)));
  EXPECT_EQ((rowProduct<T, 36, 20, Layout::Plain, true>(a, w)), sums);
  EXPECT_EQ((rowProduct<T, 36, 20, Layout::Transposed, true>(a, w.transposed())), sums);
}

TEST(CudaProductsOfFloats, ReadMatricesAsTheyAreStored) {
  const Matrix<float> a = tile<float>(20, 24, 1), w = integers<float>(24, 12, 12, 2);
  std::vector<cuda::bf16> stored(w.numbers.size());
  for (size_t i = 0; i < stored.size(); ++i)
    cuda::store(&stored[i], w.numbers[i]);
  const Matrix<float> c = computeTile<8, 24, 3>(a, 12, [&](const auto &left, float *result, int stride) {
    const cuda::Weights<float, 24, 12, 8, 3, Layout::Plain, false, false, true, cuda::bf16> weights(stored.data());
    weights.multiply(left, result, stride, a.rows);
  });
  EXPECT_EQ(c, expected(a, w, cuda::paddedColumns(12, sizeof(float))));
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

/// The errors of a product and of a sum of outer products.
template <int kPlanes> std::pair<double, double> errorsOf() {
  const Matrix<float> a = tile<float>(64, 128, 1, false), w = fractions<float>(128, 64, 64, 2),
                      g = tile<float>(64, 48, 3, false);
  Matrix<float> zeros(128, 48, 48);
  zeros.fill([](int, int) { return 0.0f; });
  const auto kept = product<float, 128, 64, Layout::Plain, true, false, true, 8, kPlanes>(a, w);
  EXPECT_EQ((product<float, 128, 64, Layout::Plain, true, false, false, 8, kPlanes>(a, w)), kept);
  const auto sums = outerProductsInRegisters<float, 128, 48, false, 4, kPlanes>(a, g, zeros);
  return {relativeError(kept, expected(inDouble(a), inDouble(w), 64)),
          relativeError(sums, expected(inDouble(a.transposed()), inDouble(g), 48))};
}
TEST(CudaProductsOfFloats, AreAsPreciseAsAskedFor) {
  const auto [highest, highestSums] = errorsOf<cuda::planesOf(cuda::Precision::Highest)>();
  const auto [high, highSums] = errorsOf<cuda::planesOf(cuda::Precision::High)>();
  for (double error : {highest, highestSums})
    EXPECT_LT(error, 6e-7);
  for (double error : {high, highSums}) {
    EXPECT_GT(error, 1e-6);
    EXPECT_LT(error, 8e-6);
  }
}

TEST(CudaProductsOfFloats, SumsOverManyRowsAreAsGoodAsFloats) {
  const Matrix<float> a = tile<float>(512, 16, 1, false), g = tile<float>(512, 16, 2, false);
  Matrix<float> zeros(16, 16, 16);
  zeros.fill([](int, int) { return 0.0f; });
  EXPECT_LT(relativeError(outerProductsInRegisters<float, 16, 16>(a, g, zeros),
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
  Matrix<T> a(1, 1, cuda::paddedColumns(1, sizeof(T))), w(1, 1, 1);
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
  for (int j = 0; j < 10; ++j)
    EXPECT_EQ((rowProduct<T, 20, 10, Layout::Plain, false, true>(rowOf(a, 2), w).at(0, j)), T(0)) << j;
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
  EXPECT_EQ((outerProductsInRegisters<T, 20, 10, true>(a, g, before)), sums);
  EXPECT_TRUE(std::isnan(outerProductsInMemory<T, 20, 10>(a, g, before).at(6, 0)));
}

}  // namespace
}  // namespace hector
