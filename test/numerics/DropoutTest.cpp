/// Dropout is random in one sense only: nobody chose the numbers. Each run with the same seed drops the same, whatever
/// passes make of the model.

#include "Harness.h"
#include "compiler/Pipelines/Pipelines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hector::numerics {
namespace {

constexpr RunMode kTraining = {.isTraining = true, .seed = 5, .step = 2};

/// A layer with dropout of inputs, scores, messages, weights and sums.
const char *const kLayer = "def m(g, x: Node[4], w: EdgeType[4, 4], a: EdgeType[4]):\n"
                           "    for n in g.nodes():\n"
                           "        n[\"h\"] = dropout(n.x, 0.2)\n"
                           "    for e in g.edges():\n"
                           "        e[\"m\"] = dropout(e.src[\"h\"], 0.3) * dropout(w[e.etype], 0.1)\n"
                           "        e[\"a\"] = dot_prod(e.src[\"h\"] * w[e.etype], a[e.etype]) * dropout(1.0, 0.4)\n"
                           "    edge_softmax(g, \"a\")\n"
                           "    for n in g.nodes():\n"
                           "        n[\"s\"] = sum(dropout(e[\"a\"], 0.5) * e[\"m\"] for e in n.incoming_edges())\n"
                           "        n[\"p\"] = sum(dropout(sum(e.src.x for e in p.edges()) * w[p.etype], 0.2)\n"
                           "                     for p in n.incoming_types())\n"
                           "        n[\"out\"] = dropout(n[\"s\"] + n[\"p\"], 0.25)\n"
                           "    return n[\"out\"]\n";

TEST(Dropout, EveryPassAndPlanDropsTheSame) {
  auto model = parseModel(kLayer);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Settings settings;
  settings.grad = true;
  settings.mode = kTraining;
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding.isOk()) << binding.status().message();
  std::vector<std::string> ways = {"C", "R", "C,R", "default", "spread-reads,simplify,compact-rows,recompute"};
  for (std::string_view name : passNames()) {
    ways.emplace_back(name);
    ways.push_back("default,-" + std::string(name));
  }
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  for (const PlainGraph &graph : {randomGraph(3, 9, 2, 40, 3), randomGraph(4, 30, 3, 12, 5)}) {
    Tables inputs = randomInputs(*model, *binding, graph, 17);
    inputs["grad.out"] = inputs["x"];
    settings.passes = "none";
    auto expected = runModel(*model, settings, graph, inputs);
    ASSERT_TRUE(expected.isOk()) << expected.status().message();
    for (const std::string &way : ways) {
      SCOPED_TRACE("--passes " + way + " on " + graph.name);
      settings.passes = way;
      auto results = runModel(*model, settings, graph, inputs);
      ASSERT_TRUE(results.isOk()) << results.status().message();
      expectClose(*results, *expected, 1e-9);
    }
  }
}

/// One number for each of 20,000 nodes without edges.
PlainGraph manyNodes() {
  PlainGraph graph;
  graph.name = "many nodes";
  graph.ntypePtr = {0, 20'000};
  graph.numRelations = 1;
  return graph;
}

/// `expression` of a node's `x`, and its gradients for an upstream of ones.
Tables train(const std::string &expression, double x) {
  auto model = parseModel("def m(g, x: Node[]):\n    for n in g.nodes():\n        n[\"out\"] = " + expression +
                          "\n    return n[\"out\"]\n");
  EXPECT_TRUE(model.isOk()) << model.status().message();
  Settings settings;
  settings.grad = true;
  settings.mode = kTraining;
  PlainGraph graph = manyNodes();
  std::vector<double> ones(graph.numNodes(), 1.0), values(graph.numNodes(), x);
  auto results = runModel(*model, settings, graph,
                          {{"x", {graph.numNodes(), {}, values}}, {"grad.out", {graph.numNodes(), {}, ones}}});
  EXPECT_TRUE(results.isOk()) << results.status().message();
  return results ? *results : Tables();
}

TEST(Dropout, KeepsTheMean) {
  Tables results = train("dropout(n.x, 0.3)", 3.0);
  double sum = 0.0;
  for (double value : results["out"].values)
    sum += value;
  double count = static_cast<double>(results["out"].values.size());
  // Five deviations of the mean of 3 / 0.7 with probability 0.7.
  EXPECT_NEAR(sum / count, 3.0, 5 * 3.0 * std::sqrt(0.3 / 0.7 / count));
}

TEST(Dropout, CallsDrawApart) {
  Tables results = train("dropout(n.x, 0.5) * dropout(n.x, 0.5)", 1.0);
  double kept = 0;
  for (double value : results["out"].values)
    kept += value != 0.0;
  EXPECT_NEAR(kept, 5000.0, 5 * std::sqrt(20'000 * 0.25 * 0.75));
}

TEST(Dropout, WhatIsDroppedHasNoGradient) {
  // √x has slope inf at 0: it must show where the number was kept and nowhere else.
  Tables slopes = train("dropout(sqrt(n.x), 0.5)", 0.0), mask = train("dropout(n.x, 0.5)", 1.0);
  for (size_t i = 0; i < mask["out"].values.size(); ++i)
    ASSERT_EQ(slopes["grad.x"].values[i], mask["out"].values[i] == 0.0 ? 0.0 : INFINITY) << i;
}

TEST(Dropout, GradientsDropWhatResultsDo) {
  Tables results = train("dropout(n.x, 0.5)", 1.0);
  EXPECT_EQ(results["grad.x"].values, results["out"].values);
}

}  // namespace
}  // namespace hector::numerics
