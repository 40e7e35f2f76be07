#include "kernels/cpu/rows.hpp"

#include "kernels/cpu/math.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hector::cpu {
namespace {

template <class T> class Rows : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Rows, Types);

TYPED_TEST(Rows, SumsTakeEveryTermOnce) {
  using T = TypeParam;
  for (int64_t n = 0; n <= 100; ++n)
    EXPECT_EQ(sum<T>(n, [](int64_t r) { return static_cast<T>(r + 1); }), static_cast<T>(n * (n + 1) / 2)) << n;
}

TYPED_TEST(Rows, NumbersSideBySideAreJoined) {
  using T = TypeParam;
  T sums[kSums<T>], largest[kSums<T>];
  for (int64_t i = 0; i < kSums<T>; ++i) {
    sums[i] = static_cast<T>(i);
    largest[i] = static_cast<T>(i == 5 ? 100 : -i);
  }
  EXPECT_EQ(joinSums(sums, [](T a, T b) { return a + b; }), static_cast<T>(kSums<T> * (kSums<T> - 1) / 2));
  EXPECT_EQ(joinSums(largest, [](T a, T b) { return larger(a, b); }), T(100));
}

// The first block is copied, since the sum of blocks holds nothing before it.
TYPED_TEST(Rows, BlocksAreAddedUp) {
  using T = TypeParam;
  T sum[3] = {1, 2, 3}, blocks[3] = {nan<T>(), nan<T>(), nan<T>()};
  bool hasBlocks = false;
  moveSum(sum, blocks, 3, hasBlocks);
  EXPECT_TRUE(hasBlocks);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(sum[k], T(0));
    EXPECT_EQ(blocks[k], static_cast<T>(k + 1));
    sum[k] = T(10);
  }
  moveSum(sum, blocks, 3, hasBlocks);
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(blocks[k], static_cast<T>(k + 11));
  T number = 4, total = nan<T>();
  bool isFirst = false;
  moveSum(number, total, isFirst);
  EXPECT_EQ(total, T(4));
  EXPECT_EQ(number, T(0));
}

}  // namespace
}  // namespace hector::cpu
