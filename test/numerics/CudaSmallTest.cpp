/// The smallest models that CUDA kernels once computed wrongly, on the emulator or on a GPU, against the interpreter.

#include "driver/Cuda.h"
#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"
#include "test/numerics/TestDevice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hector::numerics {
namespace {

void expectInterpretersResults(const std::string &text) {
  auto model = parseModel(text);
  ASSERT_TRUE(model) << model.status().message();
  const PlainGraph graph = randomGraph(1, 5, 2, 12, 3);
  const Settings settings;
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  const Tables inputs = randomInputs(*model, *binding, graph, 1);
  auto expected = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(expected) << expected.status().message();

  auto program = Program::import(*model, *binding, {.numbers = NumberType::F64, .gradients = std::nullopt});
  ASSERT_TRUE(program) << program.status().message();
  const Graph built = graph.build();
  auto planned = planForDevice(*program, built);
  ASSERT_TRUE(planned) << planned.status().message();
  DeviceOptions options;
  options.exec.poison = true;
  auto results = runOnDevice(*planned, built, toTensors(*planned->plan, inputs), testDevice(), options);
  ASSERT_TRUE(results) << results.status().message();
  expectClose(toTables(*planned->plan, *results), *expected, 1e-12);
}

// The place in the whole, such as k + 12, is a sum of which remainders are taken.
TEST(CudaSmallTest, ReadsAPartOfATransposedMatrix) {
  expectInterpretersResults(R"(
def m(g, W: Shared[2, 3, 4]):
    one = exp(transpose(W)[1])
    return one
)");
}

// Words of generated code as names of a model, in a walk over edges and in a product.
TEST(CudaSmallTest, NamesAreFree) {
  expectInterpretersResults(R"(
def m(g, take: Node[6], i: EdgeType[6, 5], read: Edge[], isThere: Node[5]):
    for e in g.edges():
        e["enter"] = e.src.take * i[e.etype]
        e["fetch"] = exp(e.read) * e["enter"]
        e["look"] = e["fetch"] + e.dst.isThere
    for n in g.nodes():
        n["Unit"] = sum(tanh(e["look"]) for e in n.incoming_edges())
    return n["Unit"]
)");
}

// The model has the name of a table, and tables have names that kernels get.
TEST(CudaSmallTest, AModelMayHaveTheNameOfATable) {
  expectInterpretersResults(R"(
def out(g, x: Node[6], W: Shared[6, 5]):
    for n in g.nodes():
        n["out"] = n.x * W
    for n in g.nodes():
        n["out_cut"] = sum(tanh(e.src["out"]) for e in n.incoming_edges())
    return n["out"], n["out_cut"]
)");
}

// Rows of edges that are too long for shared memory, of which lanes need numbers of others.
TEST(CudaSmallTest, LongRowsOfEdgesAreReadByOtherLanes) {
  expectInterpretersResults(R"(
def m(g, x: Node[64, 40], y: Node[64, 40]):
    for e in g.edges():
        e["row"] = tanh(e.src.x + e.dst.y)
    for n in g.nodes():
        n["out"] = sum(sum(transpose(e["row"]) * transpose(e["row"]), axis=1) for e in n.incoming_edges())
    return n["out"]
)");
}

TEST(CudaSmallTest, LongRowsOfTypesAreReadByWarps) {
  expectInterpretersResults(R"(
def m(g, x: Node[1025], s: EdgeType[1025], t: NodeType[1025]):
    for e in g.edges():
        e["d"] = dot_prod(e.src.x, e.dst.x * s[e.etype])
    for n in g.nodes():
        n["y"] = n.x * t[n.ntype]
    return e["d"], n["y"]
)");
}

}  // namespace
}  // namespace hector::numerics
