/// Every function of the prelude against its formula, written here as loops.

#include "test/numerics/Formulas.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace hector::numerics {
namespace {

constexpr double kTolerance = 1e-12;

/// Runs a model with rows `x: Node[4]` and `w: Edge[2]` on every unkind graph, and compares its
/// result "out" with `formula`'s rows.
void check(const std::string &body, language::Home home, int64_t size,
           const std::function<std::vector<Row>(const PlainGraph &, const Inputs &)> &formula) {
  auto model = parseModel("def model(g, x: Node[4], w: Edge[2]):\n" + body);
  ASSERT_TRUE(model) << model.status().message();
  for (const PlainGraph &graph : unkindGraphs()) {
    SCOPED_TRACE(graph.name);
    Tables inputs = randomInputs(*model, *bindAll(*model, {}), graph, 5, 2.0);
    std::vector<Row> expected = formula(graph, {inputs, {}});
    auto results = runModel(*model, {}, graph, inputs);
    ASSERT_TRUE(results) << results.status().message();
    Table wanted = table(graph.rows(home), size, [&](int64_t i) { return expected[i]; });
    if (size == 1)
      wanted.shape.clear();
    expectClose(*results, {{"out", wanted}}, kTolerance);
  }
}

/// A function of one row, applied to each node's.
void checkRow(const std::string &call, Row (*formula)(const Row &)) {
  check("    for n in g.nodes():\n        n[\"out\"] = " + call + "\n    return n[\"out\"]\n", language::Home::Node, 4,
        [&](const PlainGraph &graph, const Inputs &in) {
          return rows(graph.numNodes(), [&](int64_t n) { return formula(in("x", n)); });
        });
}

TEST(Prelude, EdgeSoftmaxAddsUpToOneOverIncomingEdges) {
  check("    for e in g.edges():\n        e[\"out\"] = e.w\n    edge_softmax(g, \"out\")\n    return e[\"out\"]\n",
        language::Home::Edge, 2, [](const PlainGraph &graph, const Inputs &in) {
          std::vector<Row> scores = rows(graph.numEdges(), [&](int64_t e) { return in("w", e); });
          softmaxOverIncoming(graph, scores);
          return scores;
        });
}

TEST(Prelude, RelationSoftmaxAddsUpToOneInEachRelation) {
  check("    for e in g.edges():\n        e[\"out\"] = e.w\n    relation_softmax(g, \"out\")\n    return e[\"out\"]\n",
        language::Home::Edge, 2, [](const PlainGraph &graph, const Inputs &in) {
          std::vector<Row> scores = rows(graph.numEdges(), [&](int64_t e) { return in("w", e); });
          softmaxWithinRelations(graph, scores);
          return scores;
        });
}

TEST(Prelude, InDegreeCountsIncomingEdges) {
  check("    for n in g.nodes():\n        n[\"out\"] = in_degree(n)\n    return n[\"out\"]\n", language::Home::Node, 1,
        [](const PlainGraph &graph, const Inputs &) {
          return rows(graph.numNodes(), [&](int64_t v) { return Row{static_cast<double>(graph.incoming(v).size())}; });
        });
}

TEST(Prelude, OutDegreeCountsOutgoingEdgesOfEitherEnd) {
  check("    for e in g.edges():\n        e[\"out\"] = out_degree(e.src) - out_degree(e.dst)\n    return e[\"out\"]\n",
        language::Home::Edge, 1, [](const PlainGraph &graph, const Inputs &) {
          return rows(graph.numEdges(), [&](int64_t e) {
            return Row{static_cast<double>(graph.outgoing(graph.src[e]).size()) -
                       static_cast<double>(graph.outgoing(graph.dst[e]).size())};
          });
        });
}

TEST(Prelude, SoftmaxNormalisesARow) {
  checkRow("softmax(n.x)", [](const Row &x) {
    Row y = each(x, std::exp);
    double total = 0.0;
    for (double value : y)
      total += value;
    return (1.0 / total) * y;
  });
}

TEST(Prelude, GeluIsTheExactOne) {
  checkRow("gelu(n.x)", [](const Row &x) { return each(x, gelu); });
}

TEST(Prelude, SiluIsXTimesSigmoid) {
  checkRow("silu(n.x)", [](const Row &x) { return each(x, silu); });
}

TEST(Prelude, EluIsExpBelowZero) {
  checkRow("elu(n.x)", [](const Row &x) { return each(x, elu); });
}

TEST(Prelude, EluTakesAlpha) {
  checkRow("elu(n.x, alpha=0.5)",
           [](const Row &x) { return each(x, [](double v) { return v > 0.0 ? v : 0.5 * std::expm1(v); }); });
}

TEST(Prelude, NormalizeScalesToLengthOne) {
  checkRow("normalize(n.x)", unit);
}

TEST(Prelude, NormalizeKeepsZero) {
  checkRow("normalize(0.0 * n.x)", [](const Row &x) { return zeros(static_cast<int64_t>(x.size())); });
}

TEST(Prelude, LayerNormHasMeanZeroAndVarianceOne) {
  checkRow("layer_norm(n.x)", [](const Row &x) {
    double mean = 0.0, variance = 0.0;
    for (double value : x)
      mean += value / static_cast<double>(x.size());
    for (double value : x)
      variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
    Row y = x;
    for (double &value : y)
      value = (value - mean) / std::sqrt(variance + 1e-5);
    return y;
  });
}

}  // namespace
}  // namespace hector::numerics
