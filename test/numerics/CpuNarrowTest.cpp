/// Maxima and minima in 16 bits: a result is rounded when it is stored, and its gradient still finds the row that won.

#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

/// Extremes over edges, over pairs, within rows, over the nodes of a type and over all nodes; and a maximum that starts
/// at a number of its own.
const char *const kLayer = R"(
def extremes(g, x: Node[d], w: Edge[d], s: Shared[d]):
    for n in g.nodes():
        n["top"] = max(e.w * s for e in n.incoming_edges())
        n["bottom"] = min(e.src.x * s * 1.7 for e in n.incoming_edges())
        n["pairs"] = max(min(e.w / 3.0 for e in p.edges()) for p in n.incoming_types())
        n["start"] = n.x * 0.9
    for e in g.edges():
        e.dst["start"] = max(e.dst["start"], e.src.x / 1.1)
    for t in g.node_types():
        t["most"] = max(n.x * 0.3 for n in t.nodes())
    for n in g.nodes():
        own = max(n.x * s, axis=0, keepdims=True)
        n["out"] = n["top"] * 2.0 - n["bottom"] + n["pairs"] * 3.0 + n["start"] + own + n.ntype["most"]
    return n["out"]
)";

class CpuNarrowTest : public testing::TestWithParam<NumberType> {};

/// Numbers of which no two are closer than 16 bits can tell.
std::vector<double> spacedNumbers(size_t count, uint64_t seed) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i)
    numbers[i] = std::pow(1.03, static_cast<double>(i));
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(seed));
  return numbers;
}

TEST_P(CpuNarrowTest, GradientsFindTheRowThatWon) {
  auto model = parseModel(kLayer);
  ASSERT_TRUE(model) << model.status().message();
  const PlainGraph graph = randomGraph(2, 13, 2, 40, 9);
  Settings settings;
  settings.sizes = {"d=4"};
  settings.grad = true;
  settings.passes = "default";
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  Tables inputs = randomInputs(*model, *binding, graph, 1, 1.0);
  inputs.at("x").values = spacedNumbers(inputs.at("x").values.size(), 1);
  inputs.at("w").values = spacedNumbers(inputs.at("w").values.size(), 2);
  inputs.at("s").values = {1.31, 0.77, 2.13, 1.09};
  inputs["grad.out"] = inputs.at("x");
  std::iota(inputs["grad.out"].values.begin(), inputs["grad.out"].values.end(), 1.0);

  auto expected = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(expected) << expected.status().message();
  settings.numbers = GetParam();
  auto program = compileModel(*model, settings);
  ASSERT_TRUE(program) << program.status().message();
  CpuBatch batch;
  auto number = batch.add(std::move(*program), graph.build());
  ASSERT_TRUE(number) << number.status().message();
  Status status = batch.compile({"-O1"});
  ASSERT_TRUE(status.isOk()) << status.message();
  auto results = batch.run(*number, graph.build(), batch.toTensors(*number, inputs));
  ASSERT_TRUE(results) << results.status().message();
  const Tables actual = batch.toTables(*number, *results);
  // A row that is missed, or taken for another, is off by all of it.
  for (const auto &[name, table] : *expected)
    for (size_t i = 0; i < table.values.size(); ++i)
      EXPECT_NEAR(actual.at(name).values[i], table.values[i], 0.02 * std::abs(table.values[i]) + 1e-6)
          << name << " " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Types, CpuNarrowTest, testing::Values(NumberType::BF16, NumberType::F16, NumberType::F32), [](const auto &info) {
      return std::string(info.param == NumberType::BF16 ? "BF16" : info.param == NumberType::F16 ? "F16" : "F32");
    });

}  // namespace
}  // namespace hector::numerics
