#include "driver/Cpu.h"

#include "driver/Cuda.h"
#include "driver/TestLayer.h"
#include "runtime/device/FakeDevice.h"
#include "runtime/exec/PlanText.h"
#include "runtime/graph/Synthetic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

namespace hector {
namespace {

const char *const kRgat = R"(
def rgat(g, x: Node[64], W: EdgeType[64, 64], q: Shared[64, 1], k: Shared[64, 1]):
    for e in g.edges():
        e["s"] = e.src.x * W[e.etype]
        e["a"] = leakyrelu(e.dst.x * W[e.etype] * q + e["s"] * k)
    edge_softmax(g, "a")
    for n in g.nodes():
        n["out"] = sum(e["a"] * e["s"] for e in n.incoming_edges())
    return n["out"]
)";

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

class PlanForTest : public testing::Test {
protected:
  void SetUp() override {
    auto file = makeSynthetic({.name = "rgat", .nodes = 500, .edges = 10'000, .edgeTypes = 8, .seed = 1});
    ASSERT_TRUE(file) << file.status().message();
    auto made = Graph::fromTensors(*file);
    ASSERT_TRUE(made) << made.status().message();
    graph.emplace(std::move(*made));
  }

  Program import(NumberType numbers, bool grad) {
    auto model = parseModel(kRgat, "rgat.hec");
    EXPECT_TRUE(model) << model.status().message();
    ProgramOptions options;
    options.numbers = numbers;
    if (grad)
      options.gradients.emplace();
    auto program = Program::import(*model, language::Binding(), options);
    EXPECT_TRUE(program) << program.status().message();
    EXPECT_TRUE(program->attachGraph(*graph).isOk());
    return std::move(*program);
  }

  /// What the plan takes that is made under these limits. 0, and a message, if none is.
  int64_t bytes(const Program &program, int64_t limit, int64_t available, const Tensors &tensors = {}) {
    message.clear();
    auto planned = planFor(program, *graph, tensors,
                           {.passes = "default", .threads = 2, .memoryLimit = limit, .availableMemory = available});
    if (!planned) {
      message = planned.status().message();
      blame = planned.status().blame();
      return 0;
    }
    auto memory = exec::memoryFor(*planned->plan, *graph, 2, tensors);
    EXPECT_TRUE(memory) << memory.status().message();
    return memory->peakBytes();
  }

  /// The end of the message that refuses a plan.
  std::string advice() const { return message.substr(std::min(message.find(", but "), message.size())); }

  std::optional<Graph> graph;
  std::string message;
  Blame blame = Blame::User;
};

Tensor features(DType dtype) {
  return Tensor::fromDoubles({500, 64}, std::vector<double>(size_t{500} * 64, 1.0), dtype);
}

TEST_F(PlanForTest, CountsCopiesOfInputsThatAreConverted) {
  const Program program = import(NumberType::F32, false);
  const Tensors same = {{"x", features(DType::F32)}}, other = {{"x", features(DType::F64)}};
  const int64_t fits = bytes(program, 0, kUnlimited, same);
  ASSERT_GT(fits, 0) << message;
  EXPECT_EQ(bytes(program, 0, kUnlimited, other), fits + 500 * 64 * 4);
  // No plan takes less than the smallest and the copy.
  bytes(program, 1, kUnlimited, same);
  const std::string without = message;
  bytes(program, 1, kUnlimited, other);
  EXPECT_NE(message, without);
}

TEST_F(PlanForTest, AdaptsToTheMemoryThatIsAvailable) {
  const Program program = import(NumberType::F32, true);
  const int64_t cheapest = bytes(program, 0, kUnlimited);
  ASSERT_GT(cheapest, 0) << message;
  for (auto [limit, available] :
       {std::pair(int64_t{0}, cheapest - 1), {kUnlimited, cheapest - 1}, {cheapest - 1, kUnlimited}}) {
    const int64_t smaller = bytes(program, limit, available);
    EXPECT_GT(smaller, 0) << message;
    EXPECT_LT(smaller, cheapest);
  }
}

TEST_F(PlanForTest, TheNumberOfThreadsChangesNoPlan) {
  const Program program = import(NumberType::F32, true);
  const int64_t cheapest = bytes(program, 0, kUnlimited);
  std::set<std::string> plans;
  for (int eighths = 12; eighths >= 2; --eighths) {
    std::optional<std::string> first;
    for (int threads : {1, 2, 64}) {
      auto planned = planFor(program, *graph, {}, {.threads = threads, .memoryLimit = cheapest * eighths / 8});
      const std::string text = planned ? exec::planText(*planned->plan, {}) : planned.status().message();
      EXPECT_EQ(text, first.value_or(text)) << threads << " threads, " << eighths << " eighths";
      first = text;
    }
    plans.insert(*first);
  }
  EXPECT_GT(plans.size(), 1u);  // limits do
}

TEST_F(PlanForTest, OutputsOfTheCallerDoNotCount) {
  const Program program = import(NumberType::F32, true);
  for (exec::Outputs outputs : {exec::Outputs::InArena, exec::Outputs::Outside}) {
    auto planned = planFor(program, *graph, {}, {.memoryLimit = 1, .outputs = outputs});
    ASSERT_FALSE(planned);
    message += planned.status().message() + "\n";
  }
  const std::string first = message.substr(0, message.find('\n')), second = message.substr(message.find('\n') + 1);
  EXPECT_NE(first + "\n", second);
}

TEST_F(PlanForTest, AGpuGetsAPlanThatFits) {
  const Program program = import(NumberType::F32, true);
  FakeDevice device(132);
  auto peakOf = [&](const DevicePlanOptions &options) -> int64_t {
    auto planned = planForDevice(program, *graph, options);
    EXPECT_TRUE(planned) << planned.status().message();
    auto memory = exec::memoryFor(*planned->plan, *graph, device.info(), options.exec);
    EXPECT_TRUE(memory) << memory.status().message();
    return memory->peakBytes();
  };
  const int64_t cheapest = peakOf({.device = &device});
  EXPECT_EQ(peakOf({}), cheapest);
  EXPECT_LT(peakOf({.device = &device, .exec = {.memoryLimit = cheapest - 1}}), cheapest);
  device.free = cheapest - 1;
  EXPECT_LT(peakOf({.device = &device}), cheapest);
  // What is lent need not be free. Outputs and gradients are the caller's.
  EXPECT_EQ(peakOf({.device = &device, .exec = {.isInPlace = true}}), peakOf({.exec = {.isInPlace = true}}));
  // Nothing fits: the smallest, which executors refuse.
  device.free = 1;
  const int64_t smallest = peakOf({.device = &device});
  EXPECT_LT(smallest, cheapest);
  EXPECT_EQ(peakOf({.device = &device, .exec = {.memoryLimit = 1}}), smallest);
}

TEST_F(PlanForTest, RefusesWhatDoesNotFitAndOffersWhatWouldHelp) {
  const Program training = import(NumberType::F32, true), inference = import(NumberType::F32, false);
  EXPECT_EQ(bytes(training, 1024, kUnlimited), 0);
  EXPECT_EQ(advice(), ", but the limit is 1.0 KiB; allow more, compute with --dtype bf16, or compute without --grad");
  EXPECT_TRUE(message.starts_with("the model needs at least ")) << message;
  EXPECT_EQ(blame, Blame::User);
  bytes(inference, 1024, kUnlimited);
  EXPECT_EQ(advice(), ", but the limit is 1.0 KiB; allow more, or compute with --dtype bf16");
  // The machine does not have more either.
  bytes(inference, 1024, 2048);
  EXPECT_EQ(advice(), ", but the limit is 1.0 KiB; compute with --dtype bf16");
  bytes(inference, 0, 2048);
  EXPECT_EQ(advice(), ", but 2.0 KiB of memory are available; compute with --dtype bf16");
  EXPECT_EQ(blame, Blame::Machine);
}

TEST_F(PlanForTest, OffersNothingThatIsSoAlready) {
  for (NumberType narrow : {NumberType::BF16, NumberType::F16}) {
    bytes(import(narrow, true), 0, 2048);
    EXPECT_EQ(advice(), ", but 2.0 KiB of memory are available; compute without --grad");
    bytes(import(narrow, false), 0, 2048);
    EXPECT_EQ(advice(), ", but 2.0 KiB of memory are available");
  }
}

TEST(Cpu, GradientsThatAreMadeNeedNoCopies) {
  const Model model = layer();
  language::Binding binding;
  auto bound = bindCase(layerCase(), model.signature, binding);
  ASSERT_TRUE(bound) << bound.status().message();
  for (auto [numbers, dtype] : {std::pair(NumberType::F64, DType::F64), std::pair(NumberType::F16, DType::F16)}) {
    auto program = Program::import(model, binding, {.numbers = numbers, .gradients = std::vector<std::string>()});
    ASSERT_TRUE(program) << program.status().message();
    ASSERT_TRUE(program->runPasses("none").isOk());
    Tensors tensors = bound->tensors;
    ASSERT_TRUE(addUnitGradients(*program, bound->graph, tensors));
    EXPECT_EQ(tensors.at("grad.out").dtype, dtype);
    tensors.erase("grad.sum");  // zeros are made in its place
    auto arguments = bindArguments(*program, bound->graph, tensors);
    ASSERT_TRUE(arguments) << arguments.status().message();
    EXPECT_EQ(arguments->back().name, "grad.sum");
    EXPECT_EQ(arguments->back().tensor.dtype, dtype);
  }
}

}  // namespace
}  // namespace hector
