/// Gradients of every op, entry by entry, against differences of the model itself.

#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hector::numerics {
namespace {

/// One form of the language and the op behind it.
struct OpCase {
  std::string name;
  std::string text;
};

void PrintTo(const OpCase &op, std::ostream *out) {
  *out << op.name;
}

/// A model that applies `expression` to the node's `x` (three numbers, all positive) and `y`.
std::string perNode(const std::string &expression) {
  return "def m(g, x: Node[3], y: Node[3], w: Shared[3, 2], s: Shared[2, 3]):\n"
         "    for n in g.nodes():\n"
         "        n[\"out\"] = " +
         expression + "\n    return n[\"out\"]\n";
}

/// A model that applies `expression` to an edge's ends and types.
std::string perEdge(const std::string &expression) {
  return "def m(g, x: Node[3], y: Edge[3], w: EdgeType[3, 2], v: NodeType[3]):\n"
         "    for e in g.edges():\n"
         "        e[\"out\"] = " +
         expression + "\n    return e[\"out\"]\n";
}

const OpCase kCases[] = {
    {"Add", perNode("n.x + n.y")},
    {"Sub", perNode("n.x - n.y")},
    {"Mul", perNode("n.x * n.y")},
    {"Div", perNode("n.x / (3.0 + n.y)")},
    {"FloorDivide", perNode("(n.x // (0.3 + abs(n.y))) * n.y")},
    {"Modulo", perNode("n.x % (0.3 + abs(n.y))")},
    {"ModuloOfNegative", perNode("n.x % (-0.3 - abs(n.y))")},
    {"Pow", perNode("(n.x + 2.0) ** n.y")},
    {"PowConstant", perNode("n.x ** 3")},
    {"Max", perNode("max(n.x, n.y)")},
    {"Min", perNode("min(n.x, n.y)")},
    {"Neg", perNode("-n.x")},
    {"Abs", perNode("abs(n.x)")},
    {"Sign", perNode("sign(n.x) * n.y")},
    {"Floor", perNode("floor(n.x) * n.y")},
    {"Exp", perNode("exp(n.x)")},
    {"Log", perNode("log(2.5 + n.x)")},
    {"Sqrt", perNode("sqrt(2.5 + n.x)")},
    {"Rsqrt", perNode("rsqrt(2.5 + n.x)")},
    {"Sin", perNode("sin(n.x)")},
    {"Cos", perNode("cos(n.x)")},
    {"Tanh", perNode("tanh(n.x)")},
    {"Sigmoid", perNode("sigmoid(n.x)")},
    {"Softplus", perNode("softplus(n.x)")},
    {"Erf", perNode("erf(n.x)")},
    {"Relu", perNode("relu(n.x)")},
    {"LeakyRelu", perNode("leakyrelu(n.x, 0.3)")},
    {"Cast", perNode("n.y * (n.x > 0.0)")},
    {"Select", perNode("where(n.x > n.y, n.x * 2.0, n.y * 3.0)")},
    {"LogicAndComparisons", perNode("where(n.x > 0.0 and not n.y <= 0.1 or n.x == n.y, n.x, n.y * n.y)")},
    {"Linear", perNode("n.x * w")},
    {"LinearHeadsOnBothSides",
     perNode("linear(outer_prod(n.x, n.y), reshape(concat(w, w * 2.0, w * 3.0, axis=0), 3, 3, 2))")},
    {"LinearHeadsOnWeights", perNode("linear(n.x, concat(reshape(w, 1, 3, 2), reshape(w, 1, 3, 2) * 2.0, axis=0))")},
    {"LinearHeadsOnRows", perNode("linear(outer_prod(n.x, n.y), w)")},
    {"LinearTransposed", perNode("linear(n.x, transpose(s))")},
    {"LinearWeightsPerRow", perNode("linear(n.x, outer_prod(n.y, n.x))")},
    {"Dot", perNode("dot_prod(n.x, n.y)")},
    {"DotHeads", perNode("dot_prod(outer_prod(n.x, n.y), n.y)")},
    {"DotSharedHeads", perNode("dot_prod(n.x, s)")},
    {"Outer", perNode("outer_prod(n.x, n.y)")},
    {"OuterHeads", perNode("outer_prod(outer_prod(n.x, n.y), n.x)")},
    {"RowSum", perNode("sum(outer_prod(n.x, n.y), axis=0)")},
    {"RowMean", perNode("mean(outer_prod(n.x, n.y), axis=1)")},
    {"RowMax", perNode("max(outer_prod(n.x, n.y), axis=0)")},
    {"RowMin", perNode("min(outer_prod(n.x, n.y), axis=1, keepdims=True)")},
    {"Expand", perNode("where(True, n.x[0], n.y) * n.y")},
    {"Reshape", perNode("reshape(outer_prod(n.x, n.y), 9)")},
    {"Transpose", perNode("transpose(outer_prod(n.x, n.y)) * reshape(s[0], 1, 3)")},
    {"Slice", perNode("n.x[1:3] * n.y[0]")},
    {"Concat", perNode("concat(n.x, n.y[1:2], n.x * n.y)")},
    {"BroadcastScalarAndAxes", perNode("reshape(n.x, 3, 1) * reshape(n.y, 1, 3) + n.x[1]")},
    {"Dropout", perNode("dropout(n.x, 0.4) * n.y")},
    {"DropoutOfAll", perNode("dropout(n.x, 1.0) + n.y")},
    {"DropoutOfSources", perEdge("dropout(exp(e.src.x), p=0.4)")},
    {"DropoutOfWeights", perEdge("e.src.x * dropout(w[e.etype], 0.4)")},
    {"DropoutOfPairs", "def m(g, x: Node[3]):\n    for n in g.nodes():\n"
                       "        n[\"out\"] = sum(dropout(mean(e.src.x for e in p.edges()), 0.4) for p in "
                       "n.incoming_types())\n    return n[\"out\"]\n"},
    {"ReadThroughSource", perEdge("exp(e.src.x)")},
    {"ReadThroughBothEnds", perEdge("e.src.x * e.dst.x + e.y")},
    {"ReadThroughTypes", perEdge("(e.src.x * v[e.dst.ntype]) * w[e.etype]")},
    {"SharedByAllRows", "def m(g, x: Node[3], a: Shared[]):\n    for n in g.nodes():\n        n[\"out\"] = n.x * a\n   "
                        " return n[\"out\"]\n"},
    {"SumToNodes", "def m(g, x: Node[3], y: Edge[3]):\n    for n in g.nodes():\n"
                   "        n[\"out\"] = sum(e.y * e.src.x for e in n.incoming_edges())\n    return n[\"out\"]\n"},
    {"MeanToSources", "def m(g, x: Node[3], y: Edge[3]):\n    for n in g.nodes():\n"
                      "        n[\"out\"] = mean(e.y * e.dst.x for e in n.outgoing_edges())\n    return n[\"out\"]\n"},
    {"MaxToNodes", "def m(g, x: Node[3], y: Edge[3]):\n    for n in g.nodes():\n"
                   "        n[\"out\"] = max(e.y + e.src.x for e in n.incoming_edges())\n    return n[\"out\"]\n"},
    {"MinWithStart", "def m(g, x: Node[3], y: Edge[3]):\n    for n in g.nodes():\n        n[\"out\"] = n.x * 0.5\n"
                     "        for e in n.incoming_edges():\n            n[\"out\"] = min(n[\"out\"], e.y)\n"
                     "    return n[\"out\"]\n"},
    {"PairsBetween", "def m(g, x: Node[3], w: EdgeType[3, 2]):\n    for n in g.nodes():\n"
                     "        for p in n.incoming_types():\n"
                     "            p[\"h\"] = mean(e.src.x for e in p.edges()) * w[p.etype]\n"
                     "        n[\"out\"] = sum(p[\"h\"] for p in n.incoming_types())\n    return n[\"out\"]\n"},
    {"TypesAndWhole",
     "def m(g, x: Node[3], y: Edge[3], a: EdgeType[3]):\n    for t in g.edge_types():\n"
     "        t[\"h\"] = sum(e.y * e.src.x for e in t.edges()) * a[t]\n"
     "    out = max(t[\"h\"] for t in g.edge_types()) + mean(n.x for n in g.nodes())\n    return out\n"},
    {"EdgeSoftmax",
     "def m(g, x: Node[3], y: Edge[3]):\n    for e in g.edges():\n"
     "        e[\"a\"] = sum(e.src.x * e.dst.x * e.y)\n    edge_softmax(g, \"a\")\n"
     "    for n in g.nodes():\n        n[\"out\"] = sum(e[\"a\"] * e.src.x for e in n.incoming_edges())\n"
     "    return n[\"out\"]\n"},
    {"ResultReturnedSpread",
     "def m(g, x: Node[3]):\n    for e in g.edges():\n        e[\"out\"] = e.src.x\n    return e[\"out\"]\n"},
};

class OpGradient : public testing::TestWithParam<OpCase> {};

/// Σ result · upstream.
double loss(const Tables &results, const Tables &upstream) {
  double sum = 0.0;
  for (const auto &[name, table] : upstream)
    for (size_t k = 0; k < table.values.size(); ++k)
      sum += table.values[k] * results.at(name.substr(5)).values[k];
  return sum;
}

TEST_P(OpGradient, MatchesDifferences) {
  auto model = parseModel(GetParam().text);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Settings forward, backward;
  backward.grad = true;
  forward.mode = backward.mode = {.isTraining = true, .seed = 3, .step = 1};
  auto binding = bindAll(*model, forward);
  ASSERT_TRUE(binding.isOk()) << binding.status().message();
  for (const PlainGraph &graph : {randomGraph(3, 6, 2, 11, 3), randomGraph(4, 3, 3, 5, 2)}) {
    Tables inputs = randomInputs(*model, *binding, graph, 17);
    auto results = runModel(*model, forward, graph, inputs);
    ASSERT_TRUE(results.isOk()) << results.status().message();
    Tables upstream, all = inputs;
    uint64_t state = 5;
    for (const auto &[name, table] : *results) {
      Table grad = table;
      for (double &value : grad.values)
        value =
            static_cast<double>((state = state * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-23 - 1.0;
      all["grad." + name] = upstream["grad." + name] = grad;
    }
    auto gradients = runModel(*model, backward, graph, all);
    ASSERT_TRUE(gradients.isOk()) << gradients.status().message();
    constexpr double kStep = 1e-6;
    for (const auto &[name, table] : inputs)
      for (size_t k = 0; k < table.values.size(); ++k) {
        Tables moved = inputs;
        moved[name].values[k] += kStep;
        double above = loss(*runModel(*model, forward, graph, moved), upstream);
        moved[name].values[k] -= 2 * kStep;
        double below = loss(*runModel(*model, forward, graph, moved), upstream);
        double slope = (above - below) / (2 * kStep);
        EXPECT_NEAR(gradients->at("grad." + name).values[k], slope, 2e-7 * (1.0 + std::abs(slope)) + 1e-8)
            << name << "[" << k << "] on " << graph.name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradient, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<OpCase> &info) { return info.param.name; });

/// Nodes 0 and 1 with an edge between them; node 2 is isolated.
PlainGraph withIsolatedNode() {
  PlainGraph graph;
  graph.name = "isolated";
  graph.src = {0};
  graph.dst = {1};
  graph.etype = {0};
  graph.ntypePtr = {0, 3};
  graph.numRelations = 1;
  return graph;
}

TEST(Gradient, RowsThatNothingReadsContributeNothing) {
  // The isolated node's row is log(0) · w = -inf or NaN, and nobody reads it.
  auto model = parseModel("def m(g, x: Node[2], w: Shared[2, 2], c: NodeType[2]):\n"
                          "    for n in g.nodes():\n"
                          "        n[\"h\"] = tanh(log(n.x) * w) / sqrt(n.x) * rsqrt(n.x) * c[n.ntype]\n"
                          "    for n in g.nodes():\n"
                          "        n[\"out\"] = sum(e.src[\"h\"] for e in n.incoming_edges())\n"
                          "    return n[\"out\"]\n");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Settings settings;
  settings.grad = true;
  PlainGraph graph = withIsolatedNode();
  Tables inputs;
  inputs["x"] = {3, {2}, {1.5, 2.0, 0.7, 3.0, 0.0, 0.0}};
  inputs["w"] = {1, {2, 2}, {0.3, -0.2, 0.5, 0.1}};
  inputs["c"] = {1, {2}, {1.0, 2.0}};
  inputs["grad.out"] = {3, {2}, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}};
  auto results = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(results.isOk()) << results.status().message();
  for (const auto &[name, table] : *results)
    for (double value : table.values)
      EXPECT_TRUE(std::isfinite(value)) << name;
  EXPECT_EQ(results->at("grad.x").values[4], 0.0);
  EXPECT_NE(results->at("grad.w").values[0], 0.0);
}

TEST(Gradient, WeightsOfTypesThatNothingReadsMayBeNaN) {
  auto model = parseModel("def m(g, x: Node[2], w: NodeType[2, 2]):\n"
                          "    for n in g.nodes():\n"
                          "        n[\"h\"] = n.x * w[n.ntype]\n"
                          "    for n in g.nodes():\n"
                          "        n[\"out\"] = sum(e.src[\"h\"] for e in n.incoming_edges())\n"
                          "    return n[\"out\"]\n");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Settings settings;
  settings.grad = true;
  PlainGraph graph = withIsolatedNode();
  graph.ntypePtr = {0, 2, 3};  // the isolated node is alone in its type
  Tables inputs;
  inputs["x"] = {3, {2}, {1.5, 2.0, 0.7, 3.0, 1.0, 1.0}};
  inputs["w"] = {2, {2, 2}, {0.3, -0.2, 0.5, 0.1, NAN, NAN, NAN, INFINITY}};
  inputs["grad.out"] = {3, {2}, {1.0, 1.0, 1.0, 1.0, 1.0, 1.0}};
  auto results = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(results.isOk()) << results.status().message();
  for (double value : results->at("grad.x").values)
    EXPECT_TRUE(std::isfinite(value));
  for (double value : results->at("grad.w").values)
    EXPECT_TRUE(std::isfinite(value));
}

TEST(Gradient, OnTiesTheFirstEdgeTakesIt) {
  auto model = parseModel("def m(g, y: Edge[]):\n    for n in g.nodes():\n"
                          "        n[\"out\"] = max(e.y for e in n.incoming_edges())\n    return n[\"out\"]\n");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  PlainGraph graph = withIsolatedNode();
  graph.src = {0, 2, 0};
  graph.dst = {1, 1, 1};
  graph.etype = {0, 0, 0};
  Settings settings;
  settings.grad = true;
  auto results =
      runModel(*model, settings, graph, {{"y", {3, {}, {1.0, 2.0, 2.0}}}, {"grad.out", {3, {}, {5.0, 7.0, 9.0}}}});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  EXPECT_EQ(results->at("grad.y").values, (std::vector<double>{0.0, 7.0, 0.0}));
}

TEST(Gradient, TheStartOfAMaximumWinsTies) {
  auto model = parseModel("def m(g, x: Node[], y: Edge[]):\n    for n in g.nodes():\n        n[\"out\"] = n.x\n"
                          "        for e in n.incoming_edges():\n            n[\"out\"] = max(n[\"out\"], e.y)\n"
                          "    return n[\"out\"]\n");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Settings settings;
  settings.grad = true;
  auto results =
      runModel(*model, settings, withIsolatedNode(),
               {{"x", {3, {}, {1.0, 2.0, 3.0}}}, {"y", {1, {}, {2.0}}}, {"grad.out", {3, {}, {5.0, 7.0, 9.0}}}});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  EXPECT_EQ(results->at("grad.x").values, (std::vector<double>{5.0, 7.0, 9.0}));
  EXPECT_EQ(results->at("grad.y").values, (std::vector<double>{0.0}));
}

}  // namespace
}  // namespace hector::numerics
