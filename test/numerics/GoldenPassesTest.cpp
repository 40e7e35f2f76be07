/// Golden cases with their gradients: every pass alone, the named lists, each plan and all passes together give the
/// same numbers, whatever graph the passes are told to choose for, and so do the groups that are formed after them.

#include "Harness.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Pipelines/Pipelines.h"

#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cmath>
#include <cstdint>

namespace hector::numerics {
namespace {

class GoldenPassesTest : public testing::TestWithParam<std::string> {};

/// Numbers that make passes choose differently: few pairs for many edges; more nodes than edges, and hardly any
/// relation; pairs on one side only.
std::vector<flow::GraphAttr> graphNumbers(mlir::MLIRContext &context, bool isUniform) {
  auto numbers = [&](int64_t nodes, int64_t edges, int64_t srcPairs, int64_t dstPairs, int64_t relations) {
    return flow::GraphAttr::get(&context, nodes, edges, srcPairs, dstPairs, relations, 3, isUniform, {}, {}, {}, {});
  };
  return {flow::GraphAttr(), numbers(1'000, 1'000'000, 5'000, 6'000, 2), numbers(90'000, 100, 90, 80, 1),
          numbers(50, 1'000, 1'000, 60, 900)};
}

TEST_P(GoldenPassesTest, GiveTheSameNumbers) {
  if (!hasGolden(GetParam()))
    GTEST_SKIP() << "there is no " << goldenPath(GetParam());
  auto golden = loadGolden(GetParam(), "test/golden/" + GetParam() + ".hec");
  ASSERT_TRUE(golden) << golden.status().message();
  const Case *bound = &golden->bound;
  auto program = Program::import(golden->model, golden->binding,
                                 {.numbers = NumberType::F64, .gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();

  std::vector<std::string> ways = {"none", "C", "R", "C,R", "default"};
  std::string all;
  for (std::string_view name : passNames()) {
    ways.emplace_back(name);
    ways.push_back("default,-" + std::string(name));
    all += (all.empty() ? "" : ",") + std::string(name);
  }
  ways.push_back(all);
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  bool isUniform = bound->graph.srcTypeOfRelation() && bound->graph.dstTypeOfRelation();
  for (const std::string &way : ways)
    for (flow::GraphAttr numbers : graphNumbers(*program->module().getContext(), isUniform)) {
      Program copy = program->clone();
      if (numbers)
        copy.function()->setAttr("flow.graph", numbers);
      SCOPED_TRACE("--passes " + way + (numbers ? ", edges = " + std::to_string(numbers.getEdges()) : ""));
      Status status = copy.runPasses(way);
      ASSERT_TRUE(status.isOk()) << status.message();
      auto check = [&](const RunMode &mode) {
        auto results = run(copy, bound->graph, bound->tensors, mode);
        ASSERT_TRUE(results) << results.status().message();
        auto [actual, expected] = golden->compared(*results);
        expectClose(actual, expected, 1e-9);
      };
      check({});
      // The same in loops, with rows cut at random places.
      SCOPED_TRACE("in groups");
      status = copy.formGroups();
      ASSERT_TRUE(status.isOk()) << status.message();
      check({.cuts = std::hash<std::string>()(way)});
      if (HasFailure())
        return;
    }
}

/// Where nothing comes back from an edge, nothing may come of its dividing by 0: one such node must not spoil the
/// gradient of its whole relation.
class ZeroGradientTest : public testing::TestWithParam<std::string> {};

TEST_P(ZeroGradientTest, StaysZero) {
  auto model = parseModel("def f(g, x: Node[i], b: Node[], V: EdgeType[i, o]):\n"
                          "    for n in g.nodes():\n"
                          "        n[\"out\"] = " +
                          GetParam() +
                          "\n"
                          "    return n[\"out\"]\n");
  ASSERT_TRUE(model) << model.status().message();
  PlainGraph graph{"a node without incoming edges", {0, 0, 0}, {1, 2, 2}, {0, 0, 0}, {0, 3}, 1};
  std::vector<std::string> ways = {"default", "C", "R", "C,R"};
  for (std::string_view name : passNames())
    ways.emplace_back(name);
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  for (const char *size : {"1", "3"})
    for (const std::string &way : ways) {
      SCOPED_TRACE("--passes " + way + ", rows of " + size);
      Settings settings;
      settings.sizes = {std::string("i=") + size, std::string("o=") + size};
      settings.grad = true;
      settings.passes = way;
      auto binding = bindAll(*model, settings);
      ASSERT_TRUE(binding) << binding.status().message();
      Tables inputs = randomInputs(*model, *binding, graph, 1);  // no gradient of `out`: it is zero
      inputs.at("b").values.assign(3, 0.0);
      auto results = runModel(*model, settings, graph, inputs);
      ASSERT_TRUE(results) << results.status().message();
      for (const char *name : {"grad.x", "grad.b", "grad.V"})
        for (double value : results->at(name).values)
          EXPECT_EQ(value, 0.0) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Quotients, ZeroGradientTest,
                         testing::Values("sum((e.dst.x * V[e.etype]) / e.src.b for e in n.incoming_edges())",
                                         "mean((e.dst.x * V[e.etype]) / e.src.b for e in n.incoming_edges())"));

/// A weighted mean divides by 0 at one node and has nothing to divide at another. The model reads neither, so its
/// gradients are those of the nodes that it reads; and a sum over no edges is 0. Both sums are parts of others.
class HiddenRowsTest : public testing::TestWithParam<std::string> {};

TEST_P(HiddenRowsTest, StayHidden) {
  auto model = parseModel("def f(g, x: Node[i], a: Edge[], b: Node[]):\n"
                          "    for n in g.nodes():\n"
                          "        t = sum(e.a for e in n.incoming_edges())\n"
                          "        for e in n.incoming_edges():\n"
                          "            e[\"p\"] = e.a / t\n"
                          "        o = " +
                          GetParam() +
                          "\n"
                          "        n[\"out\"] = where(n.b > 0, o, 0.0) * n.x\n"
                          "    return n[\"out\"]\n");
  ASSERT_TRUE(model) << model.status().message();
  PlainGraph graph{"many edges to node 1 and some to node 2", {}, {}, {}, {0, 4}, 2};
  for (int32_t i = 0; i < 60; ++i) {
    graph.src.push_back(i % 4);
    graph.dst.push_back(i < 50 ? 1 : 2);
    graph.etype.push_back(i % 2);
  }
  Settings settings;
  settings.sizes = {"i=3"};
  settings.grad = true;
  auto binding = bind(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  Tables inputs = randomInputs(*model, *binding, graph, 1);
  for (size_t i = 0; i < 60; ++i)
    inputs.at("a").values[i] = graph.dst[i] == 1 ? 1.0 + static_cast<double>(i % 7) : 0.0;
  inputs.at("b").values = {-1.0, 1.0, -1.0, -1.0};
  inputs["grad.out"] = inputs.at("x");
  auto expected = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(expected) << expected.status().message();
  for (const auto &[name, table] : *expected)
    for (double value : table.values)
      EXPECT_TRUE(std::isfinite(value)) << name;
  std::vector<std::string> ways = {"default", "simplify,reuse-sums,simplify", "simplify,stabilise-softmax,reuse-sums"};
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  for (const std::string &way : ways) {
    SCOPED_TRACE("--passes " + way);
    settings.passes = way;
    auto results = runModel(*model, settings, graph, inputs);
    ASSERT_TRUE(results) << results.status().message();
    expectClose(*results, *expected, 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Sums, HiddenRowsTest,
                         testing::Values("sum(e[\"p\"] * e.src.x for e in n.incoming_edges())",
                                         "sum(e[\"p\"] * e.a for e in n.incoming_edges()) * n.x",
                                         "sum(e.src.x / t for e in n.incoming_edges()) + "
                                         "sum(e.src.x for e in n.incoming_edges())"));

INSTANTIATE_TEST_SUITE_P(Golden, GoldenPassesTest, testing::ValuesIn(goldenNames()),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
