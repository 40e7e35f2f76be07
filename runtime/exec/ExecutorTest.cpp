#include "runtime/exec/Executor.h"

#include "runtime/base/Interrupt.h"
#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <csignal>
#include <cstring>
#include <numeric>
#include <thread>

using namespace hector;
using namespace hector::exec;

namespace {

std::vector<double> valuesOf(const Executor &executor, const char *name) {
  Result<Tensor> tensor = executor.output(name);
  EXPECT_TRUE(tensor) << tensor.status().message();
  return tensor ? tensor->toDoubles() : std::vector<double>();
}

void expectNear(const std::vector<double> &actual, const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

/// The bits of all outputs.
std::vector<uint32_t> bitsOf(const Executor &executor) {
  std::vector<uint32_t> bits;
  for (const char *name : {"out", "by_type", "gx", "gtype"}) {
    Result<Tensor> tensor = executor.output(name);
    EXPECT_TRUE(tensor) << tensor.status().message();
    for (int64_t i = 0; i < tensor->numElements(); ++i) {
      uint32_t word = 0;
      std::memcpy(&word, tensor->bytes + i * 4, 4);
      bits.push_back(word);
    }
  }
  return bits;
}

void expectRuns(Executor &executor, Phase first = Phase::Graph, Phase last = Phase::Backward) {
  Status status = executor.run(first, last);
  EXPECT_TRUE(status.isOk()) << status.message();
}

/// A plan of one step over nodes that reads `x` and writes `y`, both of nodes.
Plan oneStep(const std::string &kernel) {
  Plan plan;
  plan.name = "one";
  plan.tables = {{"x", Domain::Node, {1}}, {"y", Domain::Node, {1}}};
  plan.inputs = {{"x", 0}};
  plan.outputs = {{"y", 1}};
  plan.steps = {
      {Phase::Forward, {.kernel = kernel, .domain = Domain::Node, .unitCost = 1 << 15, .inputs = {0}, .outputs = {1}}}};
  return plan;
}

Executor make(Plan plan, Kernels kernels, const TestGraph &graph, const ExecOptions &options = {}) {
  auto executor =
      Executor::create(std::make_shared<Plan>(std::move(plan)), lookupIn(std::move(kernels)), graph.make(), options);
  EXPECT_TRUE(executor) << executor.status().message();
  return std::move(*executor);
}

std::string failureOf(Plan plan, const TestGraph &graph, const ExecOptions &options = {}) {
  auto executor = Executor::create(std::make_shared<Plan>(std::move(plan)), example::lookup(), graph.make(), options);
  return executor ? "" : executor.status().message();
}

const TestGraph kSmall = randomGraph("", 1, 30, 200, 5);

}  // namespace

// --- results --------------------------------------------------------------------------------------------------------

class ExecutorGraphsTest : public testing::TestWithParam<std::tuple<TestGraph, IdWidth, bool>> {
protected:
  const TestGraph &graph = std::get<0>(GetParam());
  IdWidth width = std::get<1>(GetParam());
  ExecOptions options = {.threads = 3, .poison = std::get<2>(GetParam())};
  example::Values values{graph};
};
INSTANTIATE_TEST_SUITE_P(Graphs, ExecutorGraphsTest,
                         testing::Combine(testing::ValuesIn(unkindGraphs()),
                                          testing::Values(IdWidth::Fitting, IdWidth::Wide), testing::Bool()),
                         [](const auto &info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) == IdWidth::Wide ? "Wide" : "") +
                                  (std::get<2>(info.param) ? "Poisoned" : "");
                         });

TEST_P(ExecutorGraphsTest, MatchesPlainLoops) {
  Executor executor = example::makeExecutor(graph, options, width);
  values.setAll(executor, graph);
  expectRuns(executor);
  expectNear(valuesOf(executor, "out"), values.out(graph));
  expectNear(valuesOf(executor, "by_type"), values.byType(graph));
  expectNear(valuesOf(executor, "gtype"), values.gtype(graph));
}

TEST_P(ExecutorGraphsTest, PhasesOneByOneGiveTheSame) {
  Executor executor = example::makeExecutor(graph, options, width);
  values.setAll(executor, graph);
  for (int run = 0; run < 2; ++run) {
    expectRuns(executor, Phase::Forward, Phase::Forward);
    expectRuns(executor, Phase::Backward, Phase::Backward);
    expectNear(valuesOf(executor, "out"), values.out(graph));
    expectNear(valuesOf(executor, "gtype"), values.gtype(graph));
  }
}

TEST_P(ExecutorGraphsTest, OutputsThatAreInputsComeBackInTheirOrder) {
  Executor executor = example::makeExecutor(graph, options, width);
  values.setAll(executor, graph);
  EXPECT_EQ(valuesOf(executor, "w"), values.w);
}

TEST(ExecutorTest, TellsHowLongEachStepTook) {
  std::vector<size_t> steps;
  ExecOptions options;
  options.onStep = [&](size_t step, double seconds) {
    steps.push_back(step);
    EXPECT_GE(seconds, 0);
  };
  Executor executor = example::makeExecutor(kSmall, options);
  example::Values(kSmall).setAll(executor, kSmall);
  expectRuns(executor);
  std::vector<size_t> all(example::plan().steps.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(steps, all);
}

TEST(ExecutorTest, AnyNumberOfThreadsGivesTheSameBits) {
  const TestGraph graph = randomGraph("", 9, 3000, 40'000, 40);
  example::Values values(graph);
  std::vector<uint32_t> first;
  for (int threads : {1, 2, 5, 16})
    for (int run = 0; run < 3; ++run) {
      Executor executor = example::makeExecutor(graph, {.threads = threads});
      values.setAll(executor, graph);
      expectRuns(executor);
      std::vector<uint32_t> bits = bitsOf(executor);
      if (first.empty())
        first = bits;
      EXPECT_EQ(bits, first) << threads;
    }
}

TEST(ExecutorTest, OnePlanServesManyGraphs) {
  auto plan = std::make_shared<const Plan>(example::plan());
  for (const TestGraph &graph : unkindGraphs()) {
    auto executor = Executor::create(plan, example::lookup(), graph.make());
    ASSERT_TRUE(executor) << executor.status().message();
    example::Values values(graph);
    values.setAll(*executor, graph);
    expectRuns(*executor);
    expectNear(valuesOf(*executor, "out"), values.out(graph));
  }
}

// --- pieces and threads ---------------------------------------------------------------------------------------------

static void useScratch(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
  auto *mine = static_cast<volatile int64_t *>(scratch);
  for (int64_t n = begin; n < end; ++n) {
    for (int i = 0; i < 8; ++i)
      mine[i] = piece;
    std::this_thread::yield();
    bool isMine = true;
    for (int i = 0; i < 8; ++i)
      isMine &= mine[i] == piece;
    rowsOf<float>(frame, 1)[n] = isMine ? 1.0F : 0.0F;
  }
}

TEST(ExecutorTest, ThreadsHaveScratchOfTheirOwn) {
  TestGraph graph = {"", {}, {}, {}, {0, 2000}, 0};
  Plan plan = oneStep("scratch");
  plan.steps[0].launch.scratch.bytes = 64;
  Executor executor = make(plan, {{"scratch", symbol(useScratch)}}, graph, {.threads = 5});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2000, 1}, numbers(2000, 1), DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y"), std::vector<double>(2000, 1));
}

TEST(ExecutorTest, FewerThreadsRunWhereScratchDoesNotFit) {
  TestGraph graph = {"", {}, {}, {}, {0, 2000}, 0};
  Plan plan = oneStep("scratch");
  plan.steps[0].launch.scratch.bytes = 1 << 16;
  Result<MemoryPlan> memory = memoryFor(plan, graph.make(), 2);
  ASSERT_TRUE(memory);
  const int64_t limit = memory->peakBytes();
  Executor executor = make(plan, {{"scratch", symbol(useScratch)}}, graph, {.threads = 16, .memoryLimit = limit});
  EXPECT_EQ(executor.peakBytes(), limit);
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2000, 1}, numbers(2000, 1), DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y"), std::vector<double>(2000, 1));
}

// --- poison ---------------------------------------------------------------------------------------------------------

static void writeAllButTheLast(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  for (int64_t n = begin; n < end; ++n)
    if (n + 1 < frame.rows[cpu::Node])
      rowsOf<float>(frame, 1)[n] = rowsOf<float>(frame, 0)[n];
}
static void copyRows(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  std::copy(rowsOf<float>(frame, 0) + begin, rowsOf<float>(frame, 0) + end, rowsOf<float>(frame, 1) + begin);
}

TEST(ExecutorTest, PoisonShowsRowsThatWereNotWritten) {
  Plan plan = oneStep("holes");
  plan.tables.push_back({"z", Domain::Node, {1}});
  plan.outputs[0].table = 2;
  plan.steps.push_back({Phase::Forward, {.kernel = "copy", .domain = Domain::Node, .inputs = {1}, .outputs = {2}}});
  Executor executor = make(plan, {{"holes", symbol(writeAllButTheLast)}, {"copy", symbol(copyRows)}},
                           {"", {}, {}, {}, {0, 3}, 0}, {.poison = true});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({3, 1}, std::vector<double>{1, 2, 3}, DType::F32)).isOk());
  for (int run = 0; run < 2; ++run) {
    expectRuns(executor);
    std::vector<double> y = valuesOf(executor, "y");
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], 2);
    EXPECT_TRUE(std::isnan(y[2]));
  }
}

/// Leaves the last row out in training.
static void writeLess(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  frame.isTraining ? writeAllButTheLast(frame, begin, end, piece, scratch)
                   : copyRows(frame, begin, end, piece, scratch);
}

TEST(ExecutorTest, PoisonShowsOutputsThatOnlyAnEarlierRunWrote) {
  Executor executor =
      make(oneStep("less"), {{"less", symbol(writeLess)}}, {"", {}, {}, {}, {0, 2}, 0}, {.poison = true});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 1}, std::vector<double>{1, 2}, DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y"), (std::vector<double>{1, 2}));
  executor.setTraining(0, 0);
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y")[0], 1);
  EXPECT_TRUE(std::isnan(valuesOf(executor, "y")[1]));
}

/// Reads where a table was, as a kernel with a wrong pointer would.
static const float *dead = nullptr;
static void remember(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  dead = rowsOf<float>(frame, 1);
  copyRows(frame, begin, end, 0, nullptr);
}
static void readDead(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  for (int64_t n = begin; n < end; ++n)
    rowsOf<float>(frame, 1)[n] = dead[n];
}

TEST(ExecutorTest, PoisonFillsTablesAfterTheirLastReader) {
  for (bool poison : {false, true}) {
    Plan plan = oneStep("remember");
    plan.tables.push_back({"y2", Domain::Node, {1}});
    plan.tables.push_back({"z", Domain::Node, {1}});
    plan.outputs = {{"y2", 2}, {"z", 3}};
    plan.steps.push_back({Phase::Forward, {.kernel = "copy", .domain = Domain::Node, .inputs = {1}, .outputs = {2}}});
    plan.steps.push_back({Phase::Forward, {.kernel = "dead", .domain = Domain::Node, .inputs = {2}, .outputs = {3}}});
    Executor executor =
        make(plan, {{"remember", symbol(remember)}, {"copy", symbol(copyRows)}, {"dead", symbol(readDead)}},
             {"", {}, {}, {}, {0, 1}, 0}, {.poison = poison});
    ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({1, 1}, std::vector<double>{4}, DType::F32)).isOk());
    expectRuns(executor);
    EXPECT_EQ(valuesOf(executor, "y2")[0], 4);
    EXPECT_EQ(std::isnan(valuesOf(executor, "z")[0]), poison);
  }
}

// --- phases ---------------------------------------------------------------------------------------------------------

static std::atomic<int> graphRuns = 0, weightRuns = 0;
static void countGraph(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  graphRuns += piece == 0;
  example::inDegree<int32_t>(frame, begin, end, piece, scratch);
}
static void countWeights(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  ++weightRuns;
  example::twice(frame, begin, end, piece, scratch);
}

TEST(ExecutorTest, PhasesRunWhenTheyAreDue) {
  Kernels kernels = example::kernels<int32_t>();
  kernels["in_degree"] = symbol(countGraph);
  kernels["twice"] = symbol(countWeights);
  Executor executor = make(example::plan(), kernels, kSmall, {.poison = true});
  example::Values values(kSmall);
  values.setAll(executor, kSmall);
  graphRuns = weightRuns = 0;
  for (int run = 0; run < 3; ++run)
    expectRuns(executor);
  EXPECT_EQ(graphRuns, 1);
  EXPECT_EQ(weightRuns, 1);
  values.scale = {-3};
  ASSERT_TRUE(executor.setInput("scale", Tensor::fromDoubles({1}, values.scale, DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(graphRuns, 1);
  EXPECT_EQ(weightRuns, 2);
  expectNear(valuesOf(executor, "out"), values.out(kSmall));
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({30, 2}, values.x, DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(weightRuns, 2);
}

TEST(ExecutorTest, BackwardNeedsAForwardOfItsOwn) {
  Executor executor = example::makeExecutor(kSmall);
  example::Values values(kSmall);
  values.setAll(executor, kSmall);
  auto backward = [&] { return executor.run(Phase::Backward, Phase::Backward); };
  const char *refusal = "the backward phase needs a forward run of its own, with the inputs that are set now";
  EXPECT_EQ(backward().message(), refusal);
  expectRuns(executor, Phase::Graph, Phase::Forward);
  // The gradient to start from may come after the forward phase.
  ASSERT_TRUE(executor.setInput("grad.out", Tensor::fromDoubles({30, 2}, values.gout, DType::F32)).isOk());
  EXPECT_TRUE(backward().isOk());
  EXPECT_EQ(backward().message(), refusal);
  expectRuns(executor, Phase::Graph, Phase::Forward);
  values.setAll(executor, kSmall);
  EXPECT_EQ(backward().message(), refusal);
}

TEST(ExecutorTest, ForwardLeavesItsTablesAloneUntilBackward) {
  // h goes from forward to backward, through a run of phases that are not due.
  Plan plan = oneStep("copy");
  plan.tables.push_back({"z", Domain::Node, {1}});
  plan.outputs[0].table = 2;
  plan.steps.push_back({Phase::Backward, {.kernel = "copy", .domain = Domain::Node, .inputs = {1}, .outputs = {2}}});
  Executor executor = make(plan, {{"copy", symbol(copyRows)}}, {"", {}, {}, {}, {0, 2}, 0}, {.poison = true});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 1}, std::vector<double>{1, 2}, DType::F32)).isOk());
  expectRuns(executor, Phase::Graph, Phase::Forward);
  expectRuns(executor, Phase::Graph, Phase::Weights);
  expectRuns(executor, Phase::Backward, Phase::Backward);
  EXPECT_EQ(valuesOf(executor, "y"), (std::vector<double>{1, 2}));
}

TEST(ExecutorTest, OutputsAreRefusedBeforeTheirPhase) {
  Executor executor = example::makeExecutor(kSmall);
  EXPECT_EQ(executor.output("gx").status().message(), "output `gx` is not computed yet; run the backward phase first");
  EXPECT_EQ(executor.output("w").status().message(), "output `w` is input `w`, which is not set");
  example::Values(kSmall).setAll(executor, kSmall);
  expectRuns(executor);
  EXPECT_TRUE(executor.output("gx"));
  expectRuns(executor, Phase::Graph, Phase::Forward);
  EXPECT_TRUE(executor.output("out"));
  EXPECT_FALSE(executor.output("gx"));
}

TEST(ExecutorTest, PhasesInReverseAreRefused) {
  EXPECT_EQ(example::makeExecutor(kSmall).run(Phase::Forward, Phase::Graph).message(),
            "the phases from forward to graph are none; they run in the order graph, weights, forward, backward");
}

static void seeTraining(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  for (int64_t n = begin; n < end; ++n)
    rowsOf<float>(frame, 1)[n] = frame.isTraining ? static_cast<float>(100 * frame.seed + frame.step) : -1;
}

TEST(ExecutorTest, DropoutHasItsSeedAndStep) {
  Executor executor = make(oneStep("see"), {{"see", symbol(seeTraining)}}, {"", {}, {}, {}, {0, 1}, 0});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({1, 1}, std::vector<double>{4}, DType::F32)).isOk());
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y")[0], -1);
  executor.setTraining(7, 3);
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y")[0], 703);
  executor.setInference();
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y")[0], -1);
}

// --- inputs and outputs ---------------------------------------------------------------------------------------------

TEST(ExecutorTest, InputsOfOtherTypesAreConverted) {
  for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::I32}) {
    TestGraph graph = kSmall;
    example::Values values(graph);
    for (std::vector<double> *numbers : {&values.x, &values.w, &values.gout})
      for (double &number : *numbers)
        number = std::round(number);
    values.scale = {3};
    Executor executor = example::makeExecutor(graph);
    values.setAll(executor, graph, dtype);
    expectRuns(executor);
    expectNear(valuesOf(executor, "out"), values.out(graph));
  }
}

TEST(ExecutorTest, TablesOfEveryStorageComeBack) {
  const std::vector<double> values = {0, 1, -2.5, 1000};
  for (Storage storage : {Storage::F64, Storage::F32, Storage::BF16, Storage::F16, Storage::Bool, Storage::Index}) {
    Plan plan;
    plan.name = "through";
    plan.tables = {{"x", Domain::Node, {2}, storage}};
    plan.inputs = {{"x", 0}};
    plan.outputs = {{"y", 0}};
    Executor executor = make(plan, {}, {"", {}, {}, {}, {0, 2}, 0});
    const DType dtype = storage == Storage::Index ? DType::I32 : DType::F64;
    ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 2}, values, dtype)).isOk());
    expectRuns(executor);
    const std::vector<double> expected = storage == Storage::Bool    ? std::vector<double>{0, 1, 1, 1}
                                         : storage == Storage::Index ? std::vector<double>{0, 1, -2, 1000}
                                                                     : values;
    Result<Tensor> tensor = executor.output("y");
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->toDoubles(), expected);
    EXPECT_EQ(tensor->dtype, storage == Storage::F64 ? DType::F64 : DType::F32);
    EXPECT_EQ(tensor->shape, (Ids{2, 2}));
  }
}

TEST(ExecutorTest, OddBytesOfTruthValuesAreOne) {
  Plan plan;
  plan.tables = {{"x", Domain::Node, {}, Storage::Bool}};
  plan.inputs = plan.outputs = {{"x", 0}};
  Executor executor = make(plan, {}, {"", {}, {}, {}, {0, 3}, 0});
  const std::byte bytes[] = {std::byte{0}, std::byte{2}, std::byte{255}};
  ASSERT_TRUE(executor.setInput("x", {DType::Bool, {3}, bytes, nullptr}).isOk());
  EXPECT_EQ(static_cast<const uint8_t *>(executor.view("x")->data)[1], 1);
}

TEST(ExecutorTest, PairsByNodeArePermuted) {
  for (Domain domain : {Domain::SrcPair, Domain::DstPair}) {
    Plan plan;
    plan.tables = {{"x", domain, {}, Storage::F32, domain == Domain::SrcPair ? Order::BySrc : Order::ByDst}};
    plan.inputs = plan.outputs = {{"x", 0}};
    Graph graph = kSmall.make();
    Executor executor = make(plan, {}, kSmall);
    const bool isSource = domain == Domain::SrcPair;
    const PairIndex &index = isSource ? graph.srcPairsByNode() : graph.dstPairsByNode();
    const std::vector<double> values = numbers(index.pairs.size(), 4);
    ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({index.pairs.size()}, values, DType::F32)).isOk());
    EXPECT_EQ(valuesOf(executor, "x"), values);
    const auto *stored = static_cast<const float *>(executor.view("x")->data);
    for (int64_t place = 0; place < index.pairs.size(); ++place)
      EXPECT_EQ(stored[place], values[index.pairs[place]]);
  }
}

TEST(ExecutorTest, InputsThatFitAreNotCopied) {
  Executor executor = example::makeExecutor(kSmall);
  const int64_t before = executor.peakBytes();
  Tensor x = Tensor::fromDoubles({30, 2}, numbers(60, 1), DType::F32);
  std::weak_ptr<const void> owner = x.owner;
  ASSERT_TRUE(executor.setInput("x", x).isOk());
  EXPECT_EQ(executor.peakBytes(), before);
  x = Tensor();
  EXPECT_FALSE(owner.expired());  // the executor keeps it
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({30, 2}, numbers(60, 1), DType::F64)).isOk());
  EXPECT_TRUE(owner.expired());
  EXPECT_EQ(executor.peakBytes(), before + 30 * 2 * 4);
}

TEST(ExecutorTest, UnalignedInputsAreCopied) {
  Executor executor = make(oneStep("copy"), {{"copy", symbol(copyRows)}}, {"", {}, {}, {}, {0, 1}, 0});
  alignas(8) std::byte bytes[8];
  const float value = 5;
  std::memcpy(bytes + 1, &value, 4);
  ASSERT_TRUE(executor.setInput("x", {DType::F32, {1, 1}, bytes + 1, nullptr}).isOk());
  expectRuns(executor);
  EXPECT_EQ(valuesOf(executor, "y")[0], 5);
}

TEST(ExecutorTest, WrongInputsAreRefused) {
  Executor executor = example::makeExecutor(kSmall);
  auto failure = [&](const char *name, Ids shape) {
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    return executor.setInput(name, Tensor::fromDoubles(shape, numbers(size, 1), DType::F32)).message();
  };
  EXPECT_EQ(failure("y", {1}), "`example` has no input `y`; its inputs are `x`, `w`, `v`, `scale`, `grad.out`");
  EXPECT_EQ(failure("x", {29, 2}), "input `x` has shape [29, 2], but needs [30, 2] for 30 nodes");
  EXPECT_EQ(failure("x", {30, 3}), "input `x` has shape [30, 3], but needs [30, 2] for 30 nodes");
  EXPECT_EQ(failure("x", {60}), "input `x` has shape [60], but needs [30, 2] for 30 nodes");
  EXPECT_EQ(failure("w", {30}), "input `w` has shape [30], but needs [200] for 200 edges");
  EXPECT_EQ(failure("scale", {1, 1}), "input `scale` has shape [1, 1], but needs [1]");
  EXPECT_EQ(executor.setInput("scale", {DType::F32, {1}, nullptr, nullptr}).message(),
            "input `scale` has shape [1], but no numbers");
  EXPECT_EQ(executor.output("h").status().message(),
            "`example` has no output `h`; its outputs are `out`, `by_type`, `gx`, `gtype`, `w`");
}

TEST(ExecutorTest, MissingInputsAreNamed) {
  Executor executor = example::makeExecutor(kSmall);
  example::Values values(kSmall);
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({30, 2}, values.x, DType::F32)).isOk());
  ASSERT_TRUE(executor.setInput("w", Tensor::fromDoubles({200}, values.w, DType::F32)).isOk());
  ASSERT_TRUE(executor.setInput("v", Tensor::fromDoubles({200}, values.w, DType::F32)).isOk());
  EXPECT_EQ(executor.runAll().message(), "there is no tensor for input `scale`, which the weights phase reads");
  ASSERT_TRUE(executor.setInput("scale", Tensor::fromDoubles({1}, values.scale, DType::F32)).isOk());
  EXPECT_EQ(executor.runAll().message(), "there is no tensor for input `grad.out`, which the backward phase reads");
  expectRuns(executor, Phase::Graph, Phase::Forward);
}

// --- what does not fit ----------------------------------------------------------------------------------------------

TEST(ExecutorTest, WidthOfIdsMustMatch) {
  EXPECT_EQ(
      failureOf(example::plan(true), kSmall),
      "the plan of `example` was compiled for ids of 64 bits, but those of the graph have 32; compile it for this "
      "graph");
}

TEST(ExecutorTest, PlansForAGpuAreRefused) {
  Plan plan = oneStep("copy");
  plan.steps[0].launch.device.emplace();
  EXPECT_EQ(failureOf(plan, kSmall),
            "the plan of `one` was compiled for a GPU, but is to run on the CPU; compile it for that");
}

TEST(ExecutorTest, RelationsMustJoinOneTypeWherePlansRelyOnIt) {
  Plan plan = example::plan();
  plan.relationEnds = {Side::Source};
  const std::string start = "the plan of `example` is for graphs whose relations have sources of one node type each: ";
  EXPECT_TRUE(failureOf(plan, kSmall).starts_with(start + "relation 0 has sources of several node types: edge "));
  EXPECT_EQ(failureOf(plan, {"", {}, {}, {}, {0}, 2}),
            start + "the model asks for the node types that a relation joins, but the graph has no node type; "
                    "compile it for this graph");
  EXPECT_EQ(failureOf(plan, {"", {0}, {1}, {0}, {0, 1, 2}, 1}), "");
}

TEST(ExecutorTest, MissingSymbolsAreNamed) {
  Plan plan = example::plan();
  plan.steps[2].launch.kernel = "trav_out";
  EXPECT_EQ(failureOf(plan, kSmall), "the compiled code of `example` has no function `trav_out`");
  plan = example::plan();
  plan.steps[4].launch.totals[0].join = "join_out";
  EXPECT_EQ(failureOf(plan, kSmall), "the compiled code of `example` has no function `join_out`");
}

TEST(ExecutorTest, DamagedPlansAreRefused) {
  Plan plan = example::plan();
  plan.steps[2].launch.inputs = {77};
  EXPECT_TRUE(failureOf(plan, kSmall).starts_with("the plan of `example` is damaged: "));
}

TEST(ExecutorTest, MemoryLimitsAreKept) {
  Result<MemoryPlan> memory = memoryFor(example::plan(), kSmall.make(), 1);
  ASSERT_TRUE(memory);
  const int64_t peak = memory->peakBytes();
  EXPECT_EQ(example::makeExecutor(kSmall, {.threads = 2, .memoryLimit = peak}).peakBytes(), peak);
  const std::string failure = failureOf(example::plan(), kSmall, {.threads = 2, .memoryLimit = peak - 1});
  EXPECT_TRUE(failure.starts_with("`example` needs ")) << failure;
  EXPECT_NE(failure.find("; the limit is "), std::string::npos) << failure;
}

TEST(ExecutorTest, CopiesOfInputsCountForTheLimit) {
  const int64_t peak = example::makeExecutor(kSmall).peakBytes();
  Executor executor = example::makeExecutor(kSmall, {.memoryLimit = peak + 240});
  // A copy of x takes 240 bytes; grad.out has the same size.
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({30, 2}, numbers(60, 1), DType::F64)).isOk());
  Status status = executor.setInput("grad.out", Tensor::fromDoubles({30, 2}, numbers(60, 1), DType::F64));
  ASSERT_FALSE(status.isOk());
  EXPECT_TRUE(status.message().starts_with("input `grad.out` is F64 and needs a copy as F32 of 240 bytes besides the "))
      << status.message();
}

TEST(ExecutorTest, HugeTablesAreRefusedBeforeTheyAreAllocated) {
  Plan plan = oneStep("in_degree");
  plan.tables[1].shape = {int64_t{1} << 40, 1 << 10};
  const std::string failure = failureOf(plan, {"", {}, {}, {}, {0, 1}, 0});
  EXPECT_TRUE(
      failure.starts_with("`one` needs 4.0 PiB: tables and scratch memory 4.0 PiB (the largest table, `y`, has 1 "
                          "row and takes 4.0 PiB), index arrays 0 bytes; "))
      << failure;
}

/// Is interrupted in training.
static void interrupt(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch) {
  copyRows(frame, begin, end, piece, scratch);
  if (frame.isTraining)
    std::raise(SIGINT);
}

TEST(ExecutorDeathTest, InterruptsStopBetweenLaunches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        noteInterrupts();
        Plan plan = oneStep("interrupt");
        plan.steps.push_back(plan.steps[0]);
        plan.steps[1].launch.kernel = "copy";
        Executor executor = make(plan, {{"interrupt", symbol(interrupt)}, {"copy", symbol(copyRows)}},
                                 {"", {}, {}, {}, {0, 1}, 0}, {.threads = 1});
        (void)executor.setInput("x", Tensor::fromDoubles({1, 1}, std::vector<double>{4}, DType::F32));
        expectRuns(executor, Phase::Graph, Phase::Forward);
        executor.setTraining(1, 1);
        std::string all = executor.run(Phase::Graph, Phase::Forward).message();
        all += "; " + executor.output("y").status().message();
        all += "; " + executor.run(Phase::Backward, Phase::Backward).message();
        std::fputs(all.c_str(), stderr);
        std::_Exit(interruptExitCode());
      },
      testing::ExitedWithCode(130),
      "interrupted; output `y` is not computed yet; run the forward phase first; the "
      "backward phase needs a forward run of its own");
}

// --- outputs in the caller's memory
// -----------------------------------------------------------------------------------

TEST(ExecutorOutsideTest, OutputsAreWrittenToTheCallersMemory) {
  Executor inside = example::makeExecutor(kSmall);
  Executor outside = example::makeExecutor(kSmall, {.outputs = Outputs::Outside});
  example::Values values{kSmall};
  std::map<std::string, std::vector<float>> memory;
  for (Executor *executor : {&inside, &outside})
    values.setAll(*executor, kSmall);
  expectRuns(inside);
  int placed = 0;
  for (const char *name : {"out", "by_type", "gx", "gtype"}) {
    auto isOutside = outside.isOutside(name);
    ASSERT_TRUE(isOutside) << isOutside.status().message();
    memory[name].resize(static_cast<size_t>(inside.output(name)->numElements()), -1);
    if (!*isOutside)
      continue;
    ++placed;
    ASSERT_TRUE(outside.placeOutput(name, reinterpret_cast<std::byte *>(memory[name].data())).isOk());
  }
  EXPECT_GT(placed, 0);
  expectRuns(outside);
  for (const auto &[name, numbers] : memory) {
    if (!*outside.isOutside(name)) {
      ASSERT_TRUE(outside.copyOutput(name, reinterpret_cast<std::byte *>(memory[name].data())).isOk());
    }
    EXPECT_EQ(std::vector<double>(numbers.begin(), numbers.end()), valuesOf(inside, name.c_str())) << name;
  }
  EXPECT_LT(outside.peakBytes(), inside.peakBytes());
}

TEST(ExecutorOutsideTest, OutputsWithoutAPlaceAreRefused) {
  Executor executor = make(oneStep("twice"), {{"twice", reinterpret_cast<void *>(&example::twice)}}, kSmall,
                           {.outputs = Outputs::Outside});
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({30, 1}, std::vector<double>(30), DType::F32)).isOk());
  Status status = executor.run(Phase::Graph, Phase::Forward);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "there is no memory for output `y`");
}
