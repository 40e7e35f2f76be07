#include "Rounding.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hector::fuzz {
namespace {

/// One table of rows of one number.
std::vector<Table> table(const std::vector<double> &values) {
  return {{static_cast<int64_t>(values.size()), {}, values}};
}

constexpr double kUlp = 0x1p-23;

TEST(Rounding, AFewRoundingsAreExplained) {
  EXPECT_FALSE(findUnexplained(table({3, -5}), table({3, -5}), table({3 + 4 * kUlp, -5 - 8 * kUlp})));
}

TEST(Rounding, ALostRowIsNot) {
  auto found = findUnexplained(table({3, -5, 1e-3}), table({3, -5, 1e-3}), table({3, -5, 0}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->table, 0u);
  EXPECT_EQ(found->text, "off by 0.001 in groups and by 0 without, in a table of numbers up to 5");
}

TEST(Rounding, AProgramThatEnlargesRoundingsIsGivenMore) {
  const auto exact = table({1}), rounded = table({1 + 1e-4});
  EXPECT_FALSE(findUnexplained(exact, rounded, table({1 - 3e-4})));
  EXPECT_TRUE(findUnexplained(exact, rounded, table({1 - 5e-4})));
}

TEST(Rounding, ErrorsOfOtherTablesAreNoExcuse) {
  std::vector<Table> exact = {table({1})[0], table({1})[0]}, rounded = {table({1.0005})[0], table({1})[0]};
  std::vector<Table> grouped = {table({1})[0], table({1.0005})[0]};
  auto found = findUnexplained(exact, rounded, grouped);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->table, 1u);
}

TEST(Rounding, WhatIsNotFiniteStaysSo) {
  const auto exact = table({1, NAN, INFINITY});
  EXPECT_FALSE(findUnexplained(exact, exact, exact));
  EXPECT_TRUE(findUnexplained(exact, exact, table({1, 0, INFINITY})));
  EXPECT_TRUE(findUnexplained(exact, exact, table({NAN, NAN, INFINITY})));
}

TEST(Rounding, AnotherBranchPartsTheWays) {
  EXPECT_FALSE(hasParted(table({1000, 1}), table({1000.0001, 1})));
  EXPECT_TRUE(hasParted(table({1000, 1}), table({1000, 3})));
  EXPECT_TRUE(hasParted(table({1e39}), table({INFINITY})));
}

}  // namespace
}  // namespace hector::fuzz
