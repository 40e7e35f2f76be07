/// Nodes with very many edges: sums over them stay precise in f32, and rows are found in both directions.

#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace hector::numerics {
namespace {

const char *const kLayer = R"(
def hub(g, x: Node[d], w: Edge[], W: EdgeType[d, d]):
    for e in g.edges():
        e["a"] = leakyrelu(dot_prod(e.src.x, e.dst.x)) + e.w
    edge_softmax(g, "a")
    for n in g.nodes():
        attended = sum(e["a"] * (e.src.x * W[e.etype]) for e in n.incoming_edges())
        average = mean(e.w * e.src.x for e in n.incoming_edges())
        n["back"] = sum(e.w * e.dst.x * e.dst.x for e in n.outgoing_edges())
        most = max(e.src.x for e in n.incoming_edges())
        n["out"] = attended + average + most
    return n["out"], n["back"]
)";

TEST(CpuLongRowsTest, SumsOfAHubArePrecise) {
  auto model = parseModel(kLayer);
  ASSERT_TRUE(model) << model.status().message();
  // Half of the edges lead to node 0, half of them come from node 1.
  PlainGraph graph = randomGraph(1, 300, 2, 0, 3);
  const int64_t numEdges = 120'001;
  for (int64_t i = 0; i < numEdges; ++i) {
    const int64_t other = 2 + i * 7919 % 298;
    graph.src.push_back(i % 2 == 0 ? other : 1);
    graph.dst.push_back(i % 2 == 0 ? 0 : other);
    graph.etype.push_back(i / 3 % 2);
  }
  Settings settings;
  settings.sizes = {"d=3"};
  settings.grad = true;
  settings.passes = "default";
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  Tables inputs = randomInputs(*model, *binding, graph, 1, 0.3);
  for (double &value : inputs.at("w").values)
    value = 1.0 + std::abs(value);  // of one sign: nothing cancels, and a running sum grows large
  inputs["grad.out"] = inputs.at("x");
  for (double &value : inputs["grad.out"].values)
    value = 1.0 + std::abs(value);
  inputs["grad.back"] = inputs.at("grad.out");
  auto expected = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(expected) << expected.status().message();

  settings.numbers = NumberType::F32;
  auto program = compileModel(*model, settings);
  ASSERT_TRUE(program) << program.status().message();
  CpuBatch batch;
  auto number = batch.add(std::move(*program), graph.build());
  ASSERT_TRUE(number) << number.status().message();
  Status status = batch.compile({"-O1"});
  ASSERT_TRUE(status.isOk()) << status.message();
  auto results = batch.run(*number, graph.build(), batch.toTensors(*number, inputs));
  ASSERT_TRUE(results) << results.status().message();
  expectClose(batch.toTables(*number, *results), *expected, 1e-5);
}

}  // namespace
}  // namespace hector::numerics
