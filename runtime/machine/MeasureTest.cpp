#include "runtime/machine/Measure.h"

#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace hector;

// The kernels do the work that they are timed for.

TEST(MeasuredKernelsTest, AddScaled) {
  const std::vector<float> a = {1, 2, 3}, b = {10, 20, 30};
  std::vector<float> to(3);
  measured::addScaled(to.data(), a.data(), b.data(), 0.5f, 3);
  EXPECT_EQ(to, (std::vector<float>{6, 12, 18}));
}

TEST(MeasuredKernelsTest, RandomReadsReachTheWholeTable) {
  // The sum of a single read is the word that was read, and each word is its own place.
  std::vector<uint32_t> table(16), seen(16);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<uint32_t>(i);
  for (uint32_t seed = 0; seed < 1000; ++seed)
    ++seen[measured::sumAtRandom(table.data(), 16, seed, 1)];
  for (uint32_t count : seen)
    EXPECT_GT(count, 20u);
}

TEST(MeasuredKernelsTest, SumsCountEveryRead) {
  const std::vector<uint32_t> ones(100, 1);
  EXPECT_EQ(measured::sumAtRandom(ones.data(), 100, 7, 12'345), 12'345u);
}

TEST(MeasuredKernelsTest, ProductsMatchPlainLoops) {
  constexpr int64_t kRows = measured::kProductRows * 2;
  std::vector<float> rows(kRows * 64), weight(64 * 64), to(kRows * 64);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(i * 7 % 11) - 5;
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<float>(i * 5 % 13) - 6;
  measured::multiplyRows(to.data(), rows.data(), weight.data(), kRows);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < 64; ++c) {
      float sum = 0;  // whole numbers: exact in any order
      for (int64_t k = 0; k < 64; ++k)
        sum += rows[r * 64 + k] * weight[k * 64 + c];
      ASSERT_EQ(to[r * 64 + c], sum) << r << ", " << c;
    }
}

TEST(MeasuredKernelsTest, ElementsMatchTheFormula) {
  std::vector<float> from(32), to(32);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<float>(i) / 4 - 4;
  measured::computeElements(to.data(), from.data(), 32);
  for (size_t i = 0; i < from.size(); ++i) {
    const double t = 2.0 * from[i] + 1, y = std::max(t, 0.2 * t), expected = std::exp(y) * 0.5 + from[i] - y;
    EXPECT_NEAR(to[i], expected, 1e-5 * (1 + std::abs(expected))) << from[i];
  }
}

// Measuring. What it comes to depends on the machine; tests of the command look at the rest.

TEST(MeasureTest, CachesHaveSizes) {
  const CacheSizes sizes = findCacheSizes();
  EXPECT_GE(sizes.cacheBytes, 16 << 10);
  EXPECT_GE(sizes.lineBytes, 16);
  EXPECT_LE(sizes.lineBytes, sizes.cacheBytes);
}

TEST(MeasureTest, StopsWhenAsked) {
  int64_t calls = 0;
  auto machine = measureMachine([&](std::string_view, int64_t done, int64_t total) {
    EXPECT_LE(done, total);
    return ++calls < 3;
  });
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.status().message(), "stopped; nothing was measured");
  EXPECT_EQ(calls, 3);
}
