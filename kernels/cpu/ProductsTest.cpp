#include "kernels/cpu/products.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace hector::cpu {
namespace {

template <class T> class Products : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Products, Types);

/// A matrix whose rows are further apart than they are long. What lies between them is NaN: whoever reads it as a
/// number has NaN in the result, whoever writes it is found.
template <class T> struct Matrix {
  int64_t rows, columns, stride;
  std::vector<T> numbers;

  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), stride(columns + 3), numbers(rows * stride, std::numeric_limits<T>::quiet_NaN()) {
  }

  T *data() { return numbers.data(); }
  const T *data() const { return numbers.data(); }
  T &at(int64_t r, int64_t c) { return numbers[r * stride + c]; }
  const T &at(int64_t r, int64_t c) const { return numbers[r * stride + c]; }

  template <class F> Matrix &fill(F f) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        at(r, c) = f(r, c);
    return *this;
  }
  Matrix transposed() const {
    return Matrix(columns, rows).fill([&](int64_t r, int64_t c) { return at(c, r); });
  }
  /// The same bits, those between the rows included.
  bool operator==(const Matrix &other) const {
    return numbers.size() == other.numbers.size() && std::memcmp(data(), other.data(), numbers.size() * sizeof(T)) == 0;
  }
};

/// Small integers, so that all products and sums are exact in any order.
template <class T> Matrix<T> integers(int64_t rows, int64_t columns, unsigned seed) {
  std::minstd_rand random(seed);
  return Matrix<T>(rows, columns).fill([&](int64_t, int64_t) { return static_cast<T>(random() % 15) - T(7); });
}

template <class T> Matrix<T> fractions(int64_t rows, int64_t columns, unsigned seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<T> number(-1, 1);
  return Matrix<T>(rows, columns).fill([&](int64_t, int64_t) { return number(random); });
}

template <class T> Matrix<T> expected(const Matrix<T> &a, const Matrix<T> &w) {
  Matrix<double> sums(a.rows, w.columns);
  sums.fill([](int64_t, int64_t) { return 0.0; });
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < w.columns; ++j)
        sums.at(r, j) += static_cast<double>(a.at(r, k)) * static_cast<double>(w.at(k, j));
  return Matrix<T>(a.rows, w.columns).fill([&](int64_t r, int64_t j) { return static_cast<T>(sums.at(r, j)); });
}

template <class T> Matrix<T> product(const Matrix<T> &a, const Matrix<T> &w) {
  Matrix<T> c(a.rows, w.columns);
  multiply(a.data(), a.stride, w.data(), w.stride, c.data(), c.stride, a.rows, a.columns, w.columns);
  return c;
}

/// The same from the transpose of `w`.
template <class T> Matrix<T> transposedProduct(const Matrix<T> &a, const Matrix<T> &wt) {
  Matrix<T> c(a.rows, wt.rows);
  multiplyTransposed(a.data(), a.stride, wt.data(), wt.stride, c.data(), c.stride, a.rows, a.columns, wt.rows);
  return c;
}

template <class T> void addTo(Matrix<T> &w, const Matrix<T> &a, const Matrix<T> &g, int64_t first, int64_t end) {
  addOuterProducts(a.data() + first * a.stride, a.stride, g.data() + first * g.stride, g.stride, w.data(), w.stride,
                   end - first, a.columns, g.columns);
}

template <class T> void check(int64_t rows, int64_t inner, int64_t outer) {
  const Matrix<T> a = integers<T>(rows, inner, 1), w = integers<T>(inner, outer, 2);
  const Matrix<T> sums = expected(a, w);
  EXPECT_EQ(product(a, w), sums) << rows << " x " << inner << " x " << outer;
  EXPECT_EQ(transposedProduct(a, w.transposed()), sums) << rows << " x " << inner << " x " << outer;

  const Matrix<T> g = integers<T>(rows, outer, 3), before = integers<T>(inner, outer, 4);
  Matrix<T> after = before, added = expected(a.transposed(), g);
  addTo(after, a, g, 0, rows);
  added.fill([&](int64_t i, int64_t j) { return before.at(i, j) + added.at(i, j); });
  EXPECT_EQ(after, added) << rows << " x " << inner << " x " << outer;
}

TYPED_TEST(Products, AreExactForIntegersOfAllSmallSizes) {
  for (int64_t inner = 1; inner <= 70; ++inner)
    for (int64_t outer = 1; outer <= 70; ++outer)
      check<TypeParam>(1 + (inner * 7 + outer) % 21, inner, outer);
}

TYPED_TEST(Products, AreExactForIntegersOfAllNumbersOfRows) {
  for (int64_t rows = 1; rows <= 70; ++rows)
    check<TypeParam>(rows, 19, 37);
}

TYPED_TEST(Products, AreExactForIntegersOfLargeSizes) {
  check<TypeParam>(64, 128, 256);
  check<TypeParam>(33, 257, 100);
  check<TypeParam>(5, 1, 1000);
  check<TypeParam>(17, 1000, 1);
  check<TypeParam>(3, 1111, 777);
}

// Number k of row i is two places after the one before it, and rows start three places apart.
TYPED_TEST(Products, ReadRowsWithAnyStrides) {
  using T = TypeParam;
  const Matrix<T> a = integers<T>(9, 20, 1), w = integers<T>(20, 37, 2);
  std::vector<T> spread(9 * 3 + 20 * 40);
  for (int64_t i = 0; i < 9; ++i)
    for (int64_t k = 0; k < 20; ++k)
      spread[i * 3 + k * 40] = a.at(i, k);
  Matrix<T> c(9, 37);
  multiplyStrided(spread.data(), 3, 40, w.data(), w.stride, c.data(), c.stride, 9, 20, 37);
  EXPECT_EQ(c, expected(a, w));
}

TYPED_TEST(Products, OfHeadsAreOneProductWithTheirMatricesSideBySide) {
  using T = TypeParam;
  const int64_t heads = 3, inner = 10, outer = 7;
  const Matrix<T> a = integers<T>(6, inner, 1);
  std::vector<T> matrices(heads * inner * outer), joined(matrices.size());
  for (size_t i = 0; i < matrices.size(); ++i)
    matrices[i] = static_cast<T>(i % 13) - T(6);
  joinHeads(matrices.data(), joined.data(), heads, inner, outer);
  Matrix<T> together(6, heads * outer), apart(6, heads * outer);
  multiply(a.data(), a.stride, joined.data(), heads * outer, together.data(), together.stride, 6, inner, heads * outer);
  for (int64_t h = 0; h < heads; ++h)
    multiply(a.data(), a.stride, matrices.data() + h * inner * outer, outer, apart.data() + h * outer, apart.stride, 6,
             inner, outer);
  EXPECT_EQ(together, apart);
}

TYPED_TEST(Products, OfNoTermsAreZero) {
  using T = TypeParam;
  T a = 1, w = 1, c[3] = {7, 7, 7}, turned[3] = {7, 7, 7};
  multiply(&a, 0, &w, 3, c, 3, 1, 0, 3);
  multiplyTransposed(&a, 0, &w, 0, turned, 3, 1, 0, 3);
  for (int j = 0; j < 3; ++j) {
    EXPECT_EQ(c[j], T(0));
    EXPECT_EQ(turned[j], T(0));
  }
}

// A tile's rows and its size are cut by a plan; the numbers must not show it.
TYPED_TEST(Products, HaveTheSameBitsWhereverTilesAreCut) {
  using T = TypeParam;
  for (auto [inner, outer] : {std::pair<int64_t, int64_t>{64, 64}, {37, 53}, {300, 5}, {3, 90}}) {
    const int64_t rows = 45;
    const Matrix<T> a = fractions<T>(rows, inner, 1), w = fractions<T>(inner, outer, 2), wt = w.transposed();
    const Matrix<T> g = fractions<T>(rows, outer, 3);
    const Matrix<T> whole = product(a, w);
    EXPECT_EQ(transposedProduct(a, wt), whole);
    Matrix<T> sums = fractions<T>(inner, outer, 4), sumsInParts = sums;
    addTo(sums, a, g, 0, rows);
    for (int64_t tile : {1, 2, 3, 4, 7, 8, 13, 16, 32}) {
      Matrix<T> parts(rows, outer), transposedParts(rows, outer), gradient = sumsInParts;
      for (int64_t r = 0; r < rows; r += tile) {
        const int64_t count = std::min(tile, rows - r);
        multiply(a.data() + r * a.stride, a.stride, w.data(), w.stride, parts.data() + r * parts.stride, parts.stride,
                 count, inner, outer);
        multiplyTransposed(a.data() + r * a.stride, a.stride, wt.data(), wt.stride,
                           transposedParts.data() + r * parts.stride, parts.stride, count, inner, outer);
        addTo(gradient, a, g, r, r + count);
      }
      EXPECT_EQ(parts, whole) << "tiles of " << tile;
      EXPECT_EQ(transposedParts, whole) << "tiles of " << tile;
      EXPECT_EQ(gradient, sums) << "tiles of " << tile;
    }
  }
}

// Big + 1 - Big is 0 in this order, because Big + 1 rounds to Big; in most other orders it is 1.
TYPED_TEST(Products, AddTermsInOrder) {
  using T = TypeParam;
  const T big = T(2) / std::numeric_limits<T>::epsilon();
  const int64_t inner = 300;
  for (const std::vector<int64_t> &places : {std::vector<int64_t>{0, 1, 2}, {1, 140, 299}, {127, 128, 129}}) {
    Matrix<T> a(1, inner), ones(inner, 1);
    a.fill([](int64_t, int64_t) { return T(0); });
    a.at(0, places[0]) = big;
    a.at(0, places[1]) = T(1);
    a.at(0, places[2]) = -big;
    ones.fill([](int64_t, int64_t) { return T(1); });
    EXPECT_EQ(product(a, ones).at(0, 0), T(0));
    EXPECT_EQ(transposedProduct(a, ones.transposed()).at(0, 0), T(0));
    Matrix<T> w(1, 1);
    w.at(0, 0) = T(0);
    addTo(w, a.transposed(), ones, 0, inner);
    EXPECT_EQ(w.at(0, 0), T(0));
  }
}

TYPED_TEST(Products, KeepInfAndNanInTheirRowAndColumn) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  Matrix<T> a = integers<T>(11, 20, 1), w = integers<T>(20, 40, 2);
  a.at(3, 5) = inf;
  w.fill([&](int64_t k, int64_t j) { return k == 5 && j == 7 ? T(0) : k == 5 ? T(2) : w.at(k, j); });
  w.at(19, 33) = std::numeric_limits<T>::quiet_NaN();
  for (const Matrix<T> &c : {product(a, w), transposedProduct(a, w.transposed())})
    for (int64_t r = 0; r < 11; ++r)
      for (int64_t j = 0; j < 40; ++j) {
        if (j == 33 || (r == 3 && j == 7))  // inf · 0 is NaN
          EXPECT_TRUE(std::isnan(c.at(r, j))) << r << ", " << j;
        else if (r == 3)
          EXPECT_EQ(c.at(r, j), inf) << j;
        else
          EXPECT_TRUE(std::isfinite(c.at(r, j))) << r << ", " << j;
      }
}

/// Numbers that end where the next page may not be touched.
template <class T> class Fenced {
public:
  explicit Fenced(int64_t count) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), needed = count * sizeof(T);
    bytes = (needed + page - 1) / page * page + page;
    base = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + bytes - page, page, PROT_NONE);
    data = reinterpret_cast<T *>(base + bytes - page - needed);
  }
  Fenced(const Fenced &) = delete;
  Fenced &operator=(const Fenced &) = delete;
  ~Fenced() { munmap(base, bytes); }

  T *data;

private:
  char *base;
  size_t bytes;
};

TYPED_TEST(Products, TouchNothingBehindTheLastNumber) {
  using T = TypeParam;
  const int64_t rows = 9, inner = 21;
  for (int64_t outer = 1; outer <= 40; ++outer) {
    Fenced<T> a(rows * inner), w(inner * outer), wt(inner * outer), c(rows * outer);
    multiply(a.data, inner, w.data, outer, c.data, outer, rows, inner, outer);
    multiplyTransposed(a.data, inner, wt.data, inner, c.data, outer, rows, inner, outer);
    addOuterProducts(a.data, inner, c.data, outer, w.data, outer, rows, inner, outer);
    EXPECT_EQ(w.data[0], T(0));
  }
}

TYPED_TEST(Products, ZeroRowsAreFound) {
  using T = TypeParam;
  for (int64_t n = 0; n <= 70; ++n) {
    std::vector<T> row(n + 1, T(0));
    row[n] = T(1);  // behind the row
    for (int64_t k = 0; k < n; k += 2)
      row[k] = -T(0);
    EXPECT_TRUE(isZero(row.data(), n));
    for (int64_t k = 0; k < n; ++k)
      for (T other : {std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::quiet_NaN()}) {
        std::vector<T> changed = row;
        changed[k] = other;
        EXPECT_FALSE(isZero(changed.data(), n)) << k << " of " << n;
      }
  }
}

}  // namespace
}  // namespace hector::cpu
