#include "driver/Bench.h"

#include "driver/TestLayer.h"
#include "runtime/base/FolderTest.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/storage/Safetensors.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace hector;

namespace {

class BenchTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(path("layer.hec")) << kLayer;
  }
  BenchFile read(const std::string &more) {
    auto file = parseBenchFile("model = \"layer.hec\"\nsize = 4\n"
                               "graph = { kind = \"skewed\", nodes = 12, edges = 40, edge_types = 3 }\n"
                               "measure = { warmup = 0, runs = 3 }\n" +
                                   more,
                               path("bench.toml"));
    EXPECT_TRUE(file) << file.status().message();
    return std::move(file).take();
  }
  std::vector<BenchResult> measure(const BenchFile &file, const BenchOptions &options = {}) {
    auto graph = prepareGraph(file.graphs[0], folder.string());
    EXPECT_TRUE(graph) << graph.status().message();
    return measureRound(file, file.rounds.at(0), *graph, options);
  }
};

}  // namespace

TEST_F(BenchTest, TimesARightAnswer) {
  const std::vector<BenchResult> results = measure(read("phase = \"training\""));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].failure, "");
  EXPECT_TRUE(results[0].isRight) << results[0].worst << " is off by " << results[0].error;
  EXPECT_EQ(results[0].seconds.size(), 3u);
  EXPECT_GT(results[0].peakBytes, 0);
  EXPECT_GT(results[0].predicted.bytes, 0);
  EXPECT_TRUE(results[0].kernels.empty());
}

TEST_F(BenchTest, PlansAreToldApart) {
  const std::vector<BenchResult> results =
      measure(read("sweep = { passes = [\"none\", \"C\", \"simplify,compact-rows,simplify\"] }"));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_NE(results[0].plan, results[1].plan);
  EXPECT_EQ(results[1].plan, results[2].plan);
}

TEST_F(BenchTest, AWrongAnswerHasNoTime) {
  // No plan in bf16 is as good as this, while f32 is.
  const std::vector<BenchResult> results =
      measure(read("sweep = { dtype = [\"bf16\", \"f32\"] }\nverify = { rtol = 1e-6 }"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_FALSE(results[0].isRight);
  EXPECT_GT(results[0].error, 1e-6);
  EXPECT_TRUE(results[0].seconds.empty());
  EXPECT_TRUE(results[1].isRight);
  EXPECT_EQ(results[1].seconds.size(), 3u);
}

TEST_F(BenchTest, InfinitiesDoNotHideAWrongAnswer) {
  // `y` overflows in f32 and not in f64; all of `inf` is infinite in both.
  std::ofstream(path("overflow.hec")) << "def overflow(g, x: Node[d]):\n"
                                         "    for n in g.nodes():\n"
                                         "        n[\"z\"] = n.x - n.x\n"
                                         "        n[\"inf\"] = 1.0 / n[\"z\"]\n"
                                         "        n[\"y\"] = exp(100.0 + n[\"z\"])\n"
                                         "    return n[\"inf\"], n[\"y\"]\n";
  auto file = parseBenchFile("model = \"overflow.hec\"\nsize = 4\n"
                             "graph = { kind = \"skewed\", nodes = 12, edges = 40 }\n"
                             "measure = { warmup = 0, runs = 1 }\nsweep = { dtype = [\"f32\", \"f64\"] }\n",
                             path("bench.toml"));
  ASSERT_TRUE(file) << file.status().message();
  const std::vector<BenchResult> results = measure(*file);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_FALSE(results[0].isRight) << results[0].error;
  EXPECT_EQ(results[0].worst, "y");
  EXPECT_TRUE(results[1].isRight) << results[1].worst << " is off by " << results[1].error << results[1].failure;
}

TEST_F(BenchTest, AFailureLeavesTheOthers) {
  const std::vector<BenchResult> results = measure(read("sweep = { passes = [\"no-such-pass\", \"default\"] }"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_NE(results[0].failure.find("no-such-pass"), std::string::npos);
  EXPECT_TRUE(results[0].seconds.empty());
  EXPECT_TRUE(results[1].isRight);
}

TEST_F(BenchTest, TheInterpreterJudgesAsTheReferenceDoes) {
  for (const char *against : {"reference", "interpreter"}) {
    const std::vector<BenchResult> results =
        measure(read("dtype = \"f64\"\nphase = \"training\"\nverify = { rtol = 1e-12, against = \"" +
                     std::string(against) + "\" }"));
    EXPECT_TRUE(results.at(0).isRight) << against << ": " << results[0].failure << results[0].error;
  }
}

TEST_F(BenchTest, ProfilesTheKernelsOfAStep) {
  const std::vector<BenchResult> results =
      measure(read("phase = \"training\""), {.profile = true, .keepFolder = {}, .onTask = {}});
  const std::vector<KernelProfile> &kernels = results.at(0).kernels;
  ASSERT_FALSE(kernels.empty());
  double bytes = 0;
  for (const KernelProfile &kernel : kernels) {
    EXPECT_GT(kernel.seconds, 0) << kernel.name;
    ASSERT_TRUE(kernel.predicted) << kernel.name;
    bytes += kernel.predicted->bytes;
  }
  EXPECT_DOUBLE_EQ(bytes, results[0].predicted.bytes);
  EXPECT_EQ(kernels.back().phase, exec::Phase::Backward);
}

TEST_F(BenchTest, ConstantsAreNotPredicted) {
  // Tables for a start and of the graph alone come first, in one phase.
  std::ofstream(path("layer.hec")) << R"(def layer(g, x: Node[d]):
    top = 2.0
    for n in g.nodes():
        n["degree"] = sum(1.0 for e in n.incoming_edges())
    for n in g.nodes():
        top = max(top, sum(n.x))
    for n in g.nodes():
        n["out"] = n.x * top / (n["degree"] + 1.0)
    return n["out"]
)";
  const std::vector<BenchResult> results = measure(read(""), {.profile = true, .keepFolder = {}, .onTask = {}});
  EXPECT_EQ(results.at(0).failure, "");
  EXPECT_GT(results[0].predicted.bytes, 0);
  ASSERT_FALSE(results[0].kernels.empty());
  for (const KernelProfile &kernel : results[0].kernels)
    EXPECT_TRUE(kernel.predicted) << kernel.name;
}

TEST_F(BenchTest, KeepsInputsAndResults) {
  BenchOptions options;
  options.keepFolder = folder.string();
  const BenchFile file = read("phase = \"training\"");
  const std::vector<BenchResult> results = measure(file, options);
  EXPECT_EQ(cellName(file, results.at(0).cell), "layer-skewed-training");
  auto inputs = readSafetensors(path("layer-skewed-training.case.safetensors"));
  auto outputs = readSafetensors(path("layer-skewed-training.out.safetensors"));
  ASSERT_TRUE(inputs) << inputs.status().message();
  ASSERT_TRUE(outputs) << outputs.status().message();
  for (const char *name : {"graph.src", "x", "W", "b", "grad.out", "grad.sum"})
    EXPECT_TRUE(inputs->find(name)) << name;
  for (const char *name : {"out", "sum", "grad.x", "grad.W", "grad.b"})
    EXPECT_TRUE(outputs->find(name)) << name;
}

TEST_F(BenchTest, TimesARightAnswerOfADevice) {
  std::unique_ptr<Device> device = createEmulatedDevice();
  BenchOptions options;
  options.device = device.get();
  options.profile = true;
  const std::vector<BenchResult> results = measure(
      read("backend = \"cuda\"\nphase = \"training\"\nsweep = { precision = [\"highest\", \"high\"] }"), options);
  ASSERT_EQ(results.size(), 2u);
  for (const BenchResult &result : results) {
    EXPECT_EQ(result.failure, "");
    EXPECT_TRUE(result.isRight) << result.worst << " is off by " << result.error;
    EXPECT_EQ(result.seconds.size(), 3u);
    EXPECT_EQ(result.wallSeconds.size(), 3u);
    EXPECT_GT(result.quantile(0.5), 0);
    EXPECT_GT(result.peakBytes, 0);
    ASSERT_FALSE(result.kernels.empty());
    for (const KernelProfile &kernel : result.kernels) {
      EXPECT_GT(kernel.seconds, 0) << kernel.name;
      EXPECT_TRUE(kernel.predicted) << kernel.name;
    }
  }
  EXPECT_NE(results[0].plan, results[1].plan);
}

TEST_F(BenchTest, PreparingAndTheFirstStepHaveTimes) {
  const std::vector<BenchResult> results = measure(read("verify = { rtol = 1e-4 }"));
  EXPECT_GT(results.at(0).prepareSeconds, 0);
  EXPECT_GT(results.at(0).firstSeconds, 0);
}

TEST_F(BenchTest, QuantilesAreTimesThatWereMeasured) {
  BenchResult result;
  result.seconds = {5, 1, 4, 2, 3};
  EXPECT_EQ(result.quantile(0), 1);
  EXPECT_EQ(result.quantile(0.5), 3);
  EXPECT_EQ(result.quantile(0.95), 5);
}
