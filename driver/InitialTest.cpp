#include "driver/Initial.h"

#include "driver/Model.h"
#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace hector {
namespace {

/// The numbers of an input that is declared as `declaration`.
std::vector<double> initial(const std::string &declaration, std::vector<int64_t> shape, uint64_t seed = 7) {
  auto model = parseModel("def m(g, " + declaration +
                              "):\n    for n in g.nodes():\n        n[\"out\"] = 1.0\n"
                              "    return n[\"out\"]\n",
                          "m.hec");
  EXPECT_TRUE(model) << model.status().message();
  const Tensor tensor = initialTensor(model->signature.inputs[0], std::move(shape), seed);
  EXPECT_EQ(tensor.dtype, DType::F32);
  return tensor.toDoubles();
}

double mean(const std::vector<double> &values, double power) {
  double sum = 0;
  for (double value : values)
    sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

double largest(const std::vector<double> &values) {
  double most = 0;
  for (double value : values)
    most = std::max(most, std::abs(value));
  return most;
}

TEST(Initial, DependsOnSeedAndName) {
  const std::vector<double> first = initial("W: Shared[d, k]", {16, 8});
  EXPECT_EQ(first, initial("W: Shared[d, k]", {16, 8}));
  EXPECT_EQ(first, initial("W: Shared[d, k], V: Shared[d]", {16, 8}));
  EXPECT_NE(first, initial("W: Shared[d, k]", {16, 8}, 8));
  EXPECT_NE(first, initial("W: Shared[d, k]", {16, 8}, 7 + (uint64_t{1} << 32)));
  EXPECT_NE(first, initial("V: Shared[d, k]", {16, 8}));
}

TEST(Initial, DoesNotDependOnThreads) {
  std::vector<double> one, many;
  {
    ThreadLimit limit(1);
    one = initial("x: Node[d]", {50001, 7});
  }
  {
    ThreadLimit limit(5);
    many = initial("x: Node[d]", {50001, 7});
  }
  EXPECT_EQ(one, many);
}

// Scripts elsewhere may compute the same numbers: a change here changes everyone's results.
TEST(Initial, KnownNumbers) {
  std::vector<double> values = initial("W: Shared[d, k]", {3, 3}, 0);
  for (double &value : values)
    value = std::round(value * 1e4);
  EXPECT_EQ(values, (std::vector<double>{9698, 5407, 447, 7162, -6688, -5470, -1933, 9003, -6564}));
  values = initial("x: Node[d]", {1, 4}, 0);
  for (double &value : values)
    value = std::round(value * 1e4);
  EXPECT_EQ(values, (std::vector<double>{-17989, -5173, 2756, 7867}));
}

TEST(Initial, MatricesAreUniformByTheirLastTwoAxes) {
  const double bound = std::sqrt(6.0 / (16 + 8));
  for (const auto &[declaration, shape] : {std::pair("W: EdgeType[d, k]", std::vector<int64_t>{50, 16, 8}),
                                           std::pair("W: NodeType[h, d, k]", std::vector<int64_t>{5, 10, 16, 8}),
                                           std::pair("W: Shared[h, d, k]", std::vector<int64_t>{50, 16, 8})}) {
    const std::vector<double> values = initial(declaration, shape);
    EXPECT_LE(largest(values), bound);
    EXPECT_GT(largest(values), 0.99 * bound);
    EXPECT_NEAR(mean(values, 1), 0, 0.05 * bound);
    EXPECT_NEAR(mean(values, 2), bound * bound / 3, 0.02 * bound * bound);
  }
}

TEST(Initial, VectorsCountAsOneColumn) {
  const double bound = std::sqrt(6.0 / (99 + 1));
  const std::vector<double> values = initial("a: EdgeType[d]", {20, 99});
  EXPECT_LE(largest(values), bound);
  EXPECT_GT(largest(values), 0.99 * bound);
}

TEST(Initial, ParametersOfOneNumberAreOne) {
  EXPECT_EQ(initial("t: Shared[]", {}), std::vector<double>{1});
  EXPECT_EQ(initial("p: EdgeType[]", {3}), (std::vector<double>{1, 1, 1}));
}

TEST(Initial, FeaturesAreNormal) {
  const std::vector<double> values = initial("x: Node[d]", {1000, 20});
  EXPECT_NEAR(mean(values, 1), 0, 0.02);
  EXPECT_NEAR(mean(values, 2), 1, 0.03);
  EXPECT_NEAR(mean(values, 4), 3, 0.2);
}

TEST(Initial, FeaturesOfOneNumberAreBetweenZeroAndOne) {
  const std::vector<double> values = initial("w: Edge[]", {10000});
  EXPECT_GT(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LE(largest(values), 1);
  EXPECT_NEAR(mean(values, 1), 0.5, 0.01);
}

TEST(Initial, TablesMayHaveNoRows) {
  EXPECT_TRUE(initial("w: Edge[d]", {0, 4}).empty());
}

}  // namespace
}  // namespace hector
