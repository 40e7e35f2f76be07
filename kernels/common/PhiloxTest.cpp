#include "kernels/common/philox.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace hector {
namespace {

std::vector<uint32_t> draw(PhiloxCounter counter, PhiloxKey key) {
  PhiloxCounter drawn = philox(counter, key);
  return {drawn.words, drawn.words + 4};
}

// The vectors that the authors publish with their code.
TEST(Philox, KnownAnswers) {
  constexpr uint32_t kAll = 0xffffffff;
  EXPECT_EQ(draw({{0, 0, 0, 0}}, {{0, 0}}), (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(draw({{kAll, kAll, kAll, kAll}}, {{kAll, kAll}}),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(draw({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsKnownWhenCompiling) {
  static_assert(philox({{0, 0, 0, 0}}, {{0, 0}}).words[0] == 0x6627e8d5);
}

/// The first 64 numbers of a row, as the bits of a word.
uint64_t mask(uint64_t seed, uint64_t step, uint32_t stream, uint64_t row) {
  DropoutMask dropout(seed, step, stream, 0.5);
  uint64_t bits = 0;
  for (uint64_t element = 0; element < 64; ++element)
    bits |= uint64_t{dropout.drops(row, element)} << element;
  return bits;
}

// Saved runs rely on it: a change here changes what training computes from the same seed.
TEST(DropoutMask, KnownAnswer) {
  EXPECT_EQ(mask(1, 2, 3, 4), 0x8453e70c88a1b0d4u);
}

TEST(DropoutMask, DependsOnEveryBitOfItsPlace) {
  std::set<uint64_t> masks = {mask(0, 0, 0, 0)};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t one = uint64_t{1} << bit;
    EXPECT_TRUE(masks.insert(mask(one, 0, 0, 0)).second) << "seed, bit " << bit;
    EXPECT_TRUE(masks.insert(mask(0, one, 0, 0)).second) << "step, bit " << bit;
    EXPECT_TRUE(masks.insert(mask(0, 0, 0, one)).second) << "row, bit " << bit;
  }
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_TRUE(masks.insert(mask(0, 0, uint32_t{1} << bit, 0)).second) << "stream, bit " << bit;
  }
}

TEST(DropoutMask, DropsThePartThatIsAskedFor) {
  constexpr int kRows = 1000, kElements = 100;
  for (double rate : {0.01, 0.1, 0.5, 0.9}) {
    DropoutMask dropout(7, 0, 1, rate);
    int dropped = 0;
    for (int row = 0; row < kRows; ++row)
      for (int element = 0; element < kElements; ++element)
        dropped += dropout.drops(row, element);
    // Five deviations of a binomial count.
    const double count = kRows * kElements;
    EXPECT_NEAR(dropped, rate * count, 5 * std::sqrt(rate * (1 - rate) * count)) << rate;
  }
}

TEST(DropoutMask, RatesOfNothingAndAll) {
  DropoutMask none(7, 0, 1, 0.0), all(7, 0, 1, 1.0);
  for (uint64_t element = 0; element < 10000; ++element) {
    ASSERT_FALSE(none.drops(3, element));
    ASSERT_TRUE(all.drops(3, element));
  }
}

}  // namespace
}  // namespace hector
