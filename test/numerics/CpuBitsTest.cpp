/// Compiled code on a graph that is large enough for its loops to be cut into many pieces: the numbers are right, and
/// the same bits each time, whatever the number of threads.

#include "runtime/exec/Pieces.h"
#include "runtime/graph/Synthetic.h"
#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

constexpr RunMode kInference = {}, kTraining = {.isTraining = true, .seed = 5, .step = 2};

/// A layer with attention, weights by type of node, edge and pair, and dropout of nodes, edges and weights.
const char *const kLayer = R"(
def layer(g, x: Node[d], w: Edge[], V: NodeType[d, d], v: NodeType[d], W: EdgeType[d, d], a: EdgeType[d], U: EdgeType[d, d], b: Shared[d]):
    for n in g.nodes():
        n["h"] = dropout(n.x * V[n.ntype] + v[n.ntype], 0.2)
    for e in g.edges():
        e["m"] = e.src["h"] * dropout(W[e.etype], 0.1)
        e["a"] = leakyrelu(dot_prod(e["m"], a[e.etype]) + dot_prod(e.dst["h"], a[e.etype])) + e.w
    edge_softmax(g, "a")
    for n in g.nodes():
        near = sum(dropout(e["a"], 0.3) * e["m"] for e in n.incoming_edges())
        far = sum(mean(e.w * e.dst.x for e in p.edges()) * U[p.etype] for p in n.outgoing_types())
        n["out"] = dropout(near + far, 0.25) + b
    return n["out"]
)";

class CpuBitsTest : public testing::TestWithParam<RunMode> {
protected:
  void SetUp() override {
    auto parsed = parseModel(kLayer);
    ASSERT_TRUE(parsed) << parsed.status().message();
    model.emplace(std::move(*parsed));
    auto file = makeSynthetic(
        {.name = "large", .nodes = 40'000, .nodeTypes = 3, .edges = 100'000, .edgeTypes = 6, .skew = 4, .seed = 1});
    ASSERT_TRUE(file) << file.status().message();
    auto made = Graph::fromTensors(*file);
    ASSERT_TRUE(made) << made.status().message();
    graph.emplace(std::move(*made));
    settings.sizes = {"d=16"};
    settings.grad = true;
    settings.passes = "default";
    auto binding = bindAll(*model, settings);
    ASSERT_TRUE(binding) << binding.status().message();
    inputs = randomInputs(*model, *binding, plainGraph(*graph, "large"), 1, 0.3);
    inputs["grad.out"] = inputs.at("x");
  }

  /// Adds the layer to the batch.
  size_t add(NumberType numbers) {
    settings.numbers = numbers;
    auto program = compileModel(*model, settings);
    EXPECT_TRUE(program) << program.status().message();
    auto number = batch.add(std::move(*program), *graph);
    EXPECT_TRUE(number) << number.status().message();
    return *number;
  }

  void compile() {
    Status status = batch.compile({"-O1"});
    ASSERT_TRUE(status.isOk()) << status.message();
  }

  exec::Executor prepare(size_t number, int threads) {
    auto executor = batch.prepare(number, *graph, batch.toTensors(number, inputs), {.threads = threads});
    EXPECT_TRUE(executor) << executor.status().message();
    if (GetParam().isTraining)
      executor->setTraining(GetParam().seed, GetParam().step);
    return std::move(*executor);
  }

  std::vector<NamedTensor> run(exec::Executor &executor, size_t number) {
    Status status = executor.runAll();
    EXPECT_TRUE(status.isOk()) << status.message();
    auto results = resultsOf(executor, batch.plan(number));
    EXPECT_TRUE(results) << results.status().message();
    return std::move(*results);
  }

  std::optional<Model> model;
  std::optional<Graph> graph;
  Settings settings;
  Tables inputs;
  CpuBatch batch;
};

TEST_P(CpuBitsTest, LoopsAreCut) {
  const exec::Plan &plan = batch.plan(add(NumberType::F32));
  auto cuts = exec::cutLaunches(plan, *graph, exec::graphNumbers(plan, *graph));
  ASSERT_TRUE(cuts) << cuts.status().message();
  int64_t longest = 0, numTotals = 0;
  for (size_t i = 0; i < cuts->size(); ++i) {
    const exec::Launch &launch = plan.steps[i].launch;
    longest = std::max(longest, (*cuts)[i].numbers.longestUnit);
    numTotals += static_cast<int64_t>(launch.totals.size());
    if (launch.domain >= cpu::Node) {
      EXPECT_GT((*cuts)[i].pieces.count, 3) << launch.label;
    }
  }
  EXPECT_GT(longest, 4000);  // edges of one node
  EXPECT_GT(numTotals, 5);
}

TEST_P(CpuBitsTest, NumbersAreThoseOfTheInterpreter) {
  const size_t wide = add(NumberType::F64), narrow = add(NumberType::F32);
  compile();
  settings.numbers = NumberType::F64;
  settings.passes = "none";
  settings.mode = GetParam();
  auto expected = runModel(*model, settings, plainGraph(*graph, "large"), inputs);
  ASSERT_TRUE(expected) << expected.status().message();
  for (auto [number, tolerance] : {std::pair(wide, 1e-9), std::pair(narrow, 1e-4)}) {
    exec::Executor executor = prepare(number, 2);
    expectClose(batch.toTables(number, run(executor, number)), *expected, tolerance);
  }
}

TEST_P(CpuBitsTest, AreTheSameInEveryRun) {
  const size_t number = add(NumberType::F32);
  compile();
  std::vector<NamedTensor> first;
  for (auto [threads, runs] : {std::pair(2, 20), std::pair(1, 2), std::pair(5, 3), std::pair(2, 1), std::pair(5, 1)}) {
    exec::Executor executor = prepare(number, threads);
    for (int turn = 0; turn < runs; ++turn) {
      std::vector<NamedTensor> results = run(executor, number);
      if (first.empty())
        first = results;
      ASSERT_EQ(results.size(), first.size());
      for (size_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(std::memcmp(results[i].tensor.bytes, first[i].tensor.bytes, first[i].tensor.numBytes()), 0)
            << results[i].name << " in run " << turn << " with " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, CpuBitsTest, testing::Values(kInference, kTraining),
                         [](const auto &info) { return info.param.isTraining ? "Training" : "Inference"; });

//===- Equal layers ----------------------------------------------------------------------------------------------===//

/// RGAT layers, each with weights of its own.
std::string rgatLayers(int layers) {
  std::string text = R"(def layer(g, before, after, W, w_s, w_t):
    for e in g.edges():
        e["s"] = e.src[before] * W[e.etype]
        t = e.dst[before] * W[e.etype]
        e["att"] = leakyrelu(dot_prod(e["s"], w_s[e.etype]) + dot_prod(t, w_t[e.etype]))
    edge_softmax(g, "att")
    for n in g.nodes():
        n[after] = sum(e["att"] * e["s"] for e in n.incoming_edges())

def rgat(g, x: Node[64])";
  std::string calls;
  for (int k = 0; k < layers; ++k) {
    const std::string i = std::to_string(k);
    text += ", W" + i + ": EdgeType[64, 64], s" + i + ": EdgeType[64], t" + i + ": EdgeType[64]";
    calls += "    layer(g, \"h" + i + "\", \"h" + std::to_string(k + 1) + "\", W" + i + ", s" + i + ", t" + i + ")\n";
  }
  return text + "):\n    for n in g.nodes():\n        n[\"h0\"] = n.x\n" + calls + "    return n[\"h" +
         std::to_string(layers) + "\"]\n";
}

/// Functions in the text of the plan for that many layers.
size_t countFunctions(int layers, bool grad) {
  auto model = parseModel(rgatLayers(layers));
  EXPECT_TRUE(model) << model.status().message();
  Settings settings;
  settings.numbers = NumberType::F32;
  settings.grad = grad;
  settings.passes = "default";
  auto program = compileModel(*model, settings);
  EXPECT_TRUE(program) << program.status().message();
  Status status = program->formGroups();
  EXPECT_TRUE(status.isOk()) << status.message();
  auto plan = makePlan(*program);
  EXPECT_TRUE(plan) << plan.status().message();
  size_t count = 0;
  const std::string start = "HECTOR_KERNEL void ";
  for (size_t at = plan->source.find(start); at != std::string::npos; at = plan->source.find(start, at + 1))
    ++count;
  return count;
}

// The first layer and the last one differ from those between: their inputs or results are the caller's.
TEST(CpuLayers, ThatAreEqualShareTheirKernels) {
  for (bool grad : {false, true}) {
    SCOPED_TRACE(grad ? "with gradients" : "without gradients");
    EXPECT_GE(countFunctions(1, grad), 3u);
    EXPECT_LE(countFunctions(16, grad), countFunctions(1, grad) + 6);
  }
}

}  // namespace
}  // namespace hector::numerics
