#include "kernels/cuda/matrices.cuh"

#include "kernels/cuda/Emulate.h"
#include "kernels/cuda/lanes.cuh"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hector {
namespace {

using cuda::Guard;

template <class T> class CudaMatrices : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaMatrices, Types);

constexpr int kThreads = 256;

/// Small integers, so that all sums are exact in any order.
template <class T> std::vector<T> integers(int count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<T> numbers(count);
  for (T &number : numbers)
    number = static_cast<T>(random() % 15) - T(7);
  return numbers;
}

/// The product of `a` and `b`, stored as they are or as their transposes.
template <class T, int kRows, int kTerms, int kColumns, Guard guard = Guard::None, bool isLeftTransposed = false,
          bool isRightTransposed = false>
std::vector<T> product(const std::vector<T> &a, const std::vector<T> &b) {
  std::vector<T> c(kRows * kColumns + 1, T(99));
  emulate(1, kThreads, cuda::slabsOf(kTerms, sizeof(T)).bytes, [&] {
    constexpr int kDown = isLeftTransposed ? 1 : kTerms, kAcross = isLeftTransposed ? kRows : 1;
    constexpr int kBelow = isRightTransposed ? 1 : kColumns, kBeside = isRightTransposed ? kTerms : 1;
    // Twice: the second product finds the slabs of the first.
    for (int i = 0; i < 2; ++i)
      cuda::multiplyMatrices<T, kRows, kTerms, kColumns, guard>(cuda::matrixOf<kDown, kAcross>(a.data()),
                                                                cuda::matrixOf<kBelow, kBeside>(b.data()), c.data(),
                                                                cuda::sharedMemory<unsigned char>());
  });
  EXPECT_EQ(c.back(), T(99));
  c.pop_back();
  return c;
}
template <class T> std::vector<T> transposed(const std::vector<T> &matrix, int rows, int columns) {
  std::vector<T> other(matrix.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      other[j * rows + i] = matrix[i * columns + j];
  return other;
}

template <class T, int kRows, int kTerms, int kColumns> void checkProducts() {
  const auto a = integers<T>(kRows * kTerms, 1), b = integers<T>(kTerms * kColumns, 2);
  const auto turnedA = transposed(a, kRows, kTerms), turnedB = transposed(b, kTerms, kColumns);
  std::vector<T> sums(kRows * kColumns);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      for (int k = 0; k < kTerms; ++k)
        sums[i * kColumns + j] += a[i * kTerms + k] * b[k * kColumns + j];
  EXPECT_EQ((product<T, kRows, kTerms, kColumns>(a, b)), sums);
  EXPECT_EQ((product<T, kRows, kTerms, kColumns, Guard::None, true>(turnedA, b)), sums);
  EXPECT_EQ((product<T, kRows, kTerms, kColumns, Guard::Rows, false, true>(a, turnedB)), sums);
  EXPECT_EQ((product<T, kRows, kTerms, kColumns, Guard::Terms, true, true>(turnedA, turnedB)), sums);
}

TYPED_TEST(CudaMatrices, AreExactForIntegersOfAllSizes) {
  checkProducts<TypeParam, 1, 1, 1>();
  checkProducts<TypeParam, 2, 3, 5>();
  checkProducts<TypeParam, 7, 129, 9>();
  checkProducts<TypeParam, 64, 64, 64>();
  checkProducts<TypeParam, 65, 64, 66>();
  checkProducts<TypeParam, 130, 70, 4>();
}

TYPED_TEST(CudaMatrices, ReadNumbersAsTheyAreStored) {
  std::vector<cuda::bf16> stored(16);
  for (int i = 0; i < 16; ++i)
    cuda::store(&stored[i], static_cast<float>(i));
  std::vector<TypeParam> identity(16), c(16);
  for (int i = 0; i < 4; ++i)
    identity[5 * i] = 1;
  emulate(1, kThreads, cuda::slabsOf(4, sizeof(TypeParam)).bytes, [&] {
    cuda::multiplyMatrices<TypeParam, 4, 4, 4>(cuda::matrixOf<4, 1>(stored.data()),
                                               cuda::matrixOf<4, 1>(identity.data()), c.data(),
                                               cuda::sharedMemory<unsigned char>());
  });
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(c[i], TypeParam(i));
}

TYPED_TEST(CudaMatrices, KeepInfAndNanInTheirRowAndColumn) {
  using T = TypeParam;
  auto a = integers<T>(20 * 20, 1), b = integers<T>(20 * 20, 2);
  const auto before = product<T, 20, 20, 20>(a, b);
  a[3 * 20 + 5] = std::numeric_limits<T>::quiet_NaN();
  b[5 * 20 + 7] = std::numeric_limits<T>::infinity();
  const auto after = product<T, 20, 20, 20>(a, b);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j)
      if (i == 3 || j == 7)
        EXPECT_FALSE(std::isfinite(after[i * 20 + j])) << i << ", " << j;
      else
        EXPECT_EQ(after[i * 20 + j], before[i * 20 + j]) << i << ", " << j;
}

TYPED_TEST(CudaMatrices, GuardedRowsOfZerosGiveZerosWhateverTheyMeet) {
  using T = TypeParam;
  auto a = integers<T>(10 * 20, 1), b = integers<T>(20 * 6, 2);
  for (int k = 0; k < 20; ++k)
    a[4 * 20 + k] = 0;
  b[3] = std::numeric_limits<T>::infinity();
  b[6 + 2] = std::numeric_limits<T>::quiet_NaN();
  const auto plain = product<T, 10, 20, 6>(a, b), guarded = product<T, 10, 20, 6, Guard::Rows>(a, b);
  for (int j = 0; j < 6; ++j) {
    EXPECT_EQ(std::isfinite(plain[4 * 6 + j]), j != 2 && j != 3);
    EXPECT_EQ(guarded[4 * 6 + j], T(0));
    EXPECT_EQ(std::isfinite(guarded[5 * 6 + j]), j != 2 && j != 3);
  }
}

TYPED_TEST(CudaMatrices, GuardedTermsOfZerosAddNothingWhateverTheyMeet) {
  using T = TypeParam;
  auto a = integers<T>(10 * 20, 1), b = integers<T>(20 * 6, 2);
  for (int j = 0; j < 6; ++j)
    b[4 * 6 + j] = 0;
  const auto before = product<T, 10, 20, 6, Guard::Terms>(a, b);
  a[2 * 20 + 4] = std::numeric_limits<T>::infinity();
  a[3 * 20 + 4] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ((product<T, 10, 20, 6, Guard::Terms>(a, b)), before);
  EXPECT_FALSE(std::isfinite((product<T, 10, 20, 6>(a, b)[2 * 6])));
  a[3 * 20 + 5] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_TRUE(std::isnan((product<T, 10, 20, 6, Guard::Terms>(a, b)[3 * 6 + 1])));
}

// --- groups of all threads ------------------------------------------------------------------------------------------

TEST(CudaBlockLanes, CombineNumbersOfAllThreadsInAFixedOrder) {
  std::vector<double> sums(kThreads), most(kThreads), least(kThreads);
  emulate(1, kThreads, cuda::BlockLanes<kThreads>::kBytes, [&] {
    const cuda::BlockLanes<kThreads> lanes(cuda::sharedMemory<unsigned char>());
    const int own = lanes.lane();
    sums[own] = lanes.sum(static_cast<double>(own));
    most[own] = lanes.largest(static_cast<double>(own));
    least[own] = lanes.least(-static_cast<double>(own));
  });
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(sums[i], kThreads * (kThreads - 1) / 2);
    EXPECT_EQ(most[i], kThreads - 1);
    EXPECT_EQ(least[i], 1 - kThreads);
  }
}

TEST(CudaBlockLanes, NanWinsWhicheverLaneHasIt) {
  for (int place : {0, 31, 32, 200}) {
    emulate(1, kThreads, cuda::BlockLanes<kThreads>::kBytes, [&] {
      const cuda::BlockLanes<kThreads> lanes(cuda::sharedMemory<unsigned char>());
      EXPECT_TRUE(std::isnan(lanes.largest(lanes.lane() == place ? std::nan("") : 1.0)));
    });
  }
}

TEST(CudaBlockLanes, ShareRowsWithAllThreads) {
  constexpr int kSize = 1028;
  const std::vector<float> row = integers<float>(kSize, 3);
  std::vector<float> turned(kSize);
  emulate(1, kThreads, cuda::BlockLanes<kThreads>::kBytes + kSize * sizeof(float), [&] {
    unsigned char *memory = cuda::sharedMemory<unsigned char>();
    const cuda::BlockLanes<kThreads> lanes(memory);
    float *shared = reinterpret_cast<float *>(memory + cuda::BlockLanes<kThreads>::kBytes);
    lanes.share(shared, lanes.load<kSize>(row.data()));
    for (int i = lanes.lane(); i < kSize; i += kThreads)
      turned[i] = shared[kSize - 1 - i];
  });
  for (int i = 0; i < kSize; ++i)
    EXPECT_EQ(turned[i], row[kSize - 1 - i]);
}

}  // namespace
}  // namespace hector
