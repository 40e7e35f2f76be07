#include "runtime/device/DeviceExecutor.h"

#include "runtime/base/Setting.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/device/TestDevicePlans.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <stdlib.h>

using namespace hector;
using namespace hector::exec;

namespace {

/// A cache of code in which there is nothing, while it lives.
class FreshCache {
public:
  FreshCache() : setting("HECTOR_CACHE", path.c_str()) {}
  ~FreshCache() { std::filesystem::remove_all(path); }

private:
  static std::string makeFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hector-test-XXXXXX").string();
    return mkdtemp(pattern.data()) ? pattern : "";
  }
  const std::string path = makeFolder();
  Setting setting;
};

/// On a GPU, and on an emulated one.
class DeviceExecutorTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (GetParam() == std::string("Emulated")) {
      device = createEmulatedDevice();
      return;
    }
    auto gpu = createCudaDevice();
    if (!gpu)
      GTEST_SKIP() << gpu.status().message();
    device = std::move(gpu).take();
  }
  std::shared_ptr<DeviceProgram> load(bool isWide = false) {
    const std::string text = std::string("using Id = ") + (isWide ? "long;\n" : "int;\n") + kDeviceKernels;
    auto program = device->load({{"example.cu", text}, cudaHeaders(), "the example"});
    EXPECT_TRUE(program) << program.status().message();
    return std::move(program).take();
  }
  DeviceExecutor make(const TestGraph &graph, const DeviceExecOptions &options = {}) {
    return makeExecutor(*device, load(), devicePlan(), graph.make(), options);
  }

  std::unique_ptr<Device> device;
};
INSTANTIATE_TEST_SUITE_P(Devices, DeviceExecutorTest, testing::Values("Emulated", "Gpu"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(DeviceExecutorTest, MatchesPlainLoops) {
  for (bool isWide : {false, true}) {
    std::shared_ptr<DeviceProgram> program = load(isWide);
    for (bool poison : {false, true})
      for (const TestGraph &graph : unkindGraphs()) {
        SCOPED_TRACE(graph.name + (isWide ? ", wide" : "") + (poison ? ", poisoned" : ""));
        example::Values values(graph);
        DeviceExecutor executor =
            makeExecutor(*device, program, devicePlan(isWide), graph.make(isWide ? IdWidth::Wide : IdWidth::Fitting),
                         {.poison = poison});
        values.setAll(executor, graph);
        // All at once, then phase by phase.
        for (bool isSplit : {false, true}) {
          expectRuns(executor, Phase::Graph, isSplit ? Phase::Forward : Phase::Backward);
          if (isSplit)
            expectRuns(executor, Phase::Backward, Phase::Backward);
          expectNear(valuesOf(executor, "out"), values.out(graph));
          expectNear(valuesOf(executor, "by_type"), values.byType(graph));
          expectNear(valuesOf(executor, "gtype"), values.gtype(graph));
          EXPECT_EQ(valuesOf(executor, "w"), values.w);
        }
      }
  }
}

TEST_P(DeviceExecutorTest, RunsRepeatBitForBit) {
  const TestGraph graph = randomGraph("", 9, 300, 4000, 40);
  example::Values values(graph);
  std::vector<std::vector<double>> first;
  for (const DeviceExecOptions &options : {DeviceExecOptions{},
                                           {.isRecorded = true, .branches = Branches::Never},
                                           {.isRecorded = true, .branches = Branches::Always}}) {
    DeviceExecutor executor = make(graph, options);
    values.setAll(executor, graph);
    for (int run = 0; run < 8; ++run) {  // emulated branches run in another order each time
      expectRuns(executor);
      std::vector<std::vector<double>> all;
      for (const char *name : {"out", "by_type", "gx", "gtype"})
        all.push_back(valuesOf(executor, name));
      if (first.empty())
        first = all;
      EXPECT_EQ(all, first);
    }
  }
}

TEST_P(DeviceExecutorTest, TuningChangesNoBit) {
  const TestGraph graph = randomGraph("", 9, 300, 4000, 40);
  example::Values values(graph);
  std::vector<std::string> notes;
  DeviceExecOptions options = {.isRecorded = true};
  options.onTuned = [&](const std::string &note) { notes.push_back(note); };
  DeviceExecutor executor = make(graph, options);
  values.setAll(executor, graph);
  const FreshCache cache;  // nothing was measured before
  std::vector<std::vector<double>> first;
  expectRuns(executor);  // phases of the graph run once
  for (int run = 0; run < kTuningRuns + 3; ++run) {
    expectRuns(executor, Phase::Forward, Phase::Backward);
    EXPECT_EQ(notes.size(), run < kTuningRuns ? 0u : 1u) << run;
    std::vector<std::vector<double>> all;
    for (const char *name : {"out", "by_type", "gx", "gtype"})
      all.push_back(valuesOf(executor, name));
    if (first.empty())
      first = all;
    EXPECT_EQ(all, first) << run;
  }
  // Another executor starts as it was found.
  DeviceExecutor again = make(graph, options);
  values.setAll(again, graph);
  expectRuns(again);
  for (int run = 0; run < 2; ++run)
    expectRuns(again, Phase::Forward, Phase::Backward);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes.back().find("as measured before"), std::string::npos) << notes.back();
}

TEST_P(DeviceExecutorTest, DropoutHasItsSeedAndStep) {
  for (bool isRecorded : {false, true}) {
    DeviceExecutor executor =
        makeExecutor(*device, load(), oneStep("see_training"), nodes(1).make(), {.isRecorded = isRecorded});
    set(executor, "x", {1}, {4});
    for (int run = 0; run < 3; ++run) {
      expectRuns(executor);
      EXPECT_EQ(valuesOf(executor, "y")[0], -1);
    }
    executor.setTraining(7, 3);
    for (int run = 0; run < 3; ++run) {
      expectRuns(executor);
      EXPECT_EQ(valuesOf(executor, "y")[0], 703);
    }
    executor.setTraining(7, 4);
    expectRuns(executor);
    EXPECT_EQ(valuesOf(executor, "y")[0], 704);
    executor.setInference();
    expectRuns(executor);
    EXPECT_EQ(valuesOf(executor, "y")[0], -1);
  }
}

TEST_P(DeviceExecutorTest, PoisonShowsRowsThatWereNotWritten) {
  Plan plan = oneStep("holes");
  plan.tables.push_back({"z", Domain::Node, {}});
  plan.outputs[0].table = 2;
  Step step = plan.steps[0];
  step.launch.kernel = "copy";
  step.launch.inputs = {1};
  step.launch.outputs = {2};
  plan.steps.push_back(step);
  for (bool isRecorded : {false, true}) {
    DeviceExecutor executor =
        makeExecutor(*device, load(), plan, nodes(3).make(), {.poison = true, .isRecorded = isRecorded});
    set(executor, "x", {3}, {1, 2, 3});
    for (int run = 0; run < 3; ++run) {
      expectRuns(executor);
      const std::vector<double> y = valuesOf(executor, "y");
      EXPECT_EQ(y[0], 1);
      EXPECT_EQ(y[1], 2);
      EXPECT_TRUE(std::isnan(y[2]));
    }
  }
}

// --- in the caller's memory -----------------------------------------------------------------------------------------

/// Edges come in other orders outside, types of edges and rows of nodes do not.
TEST_P(DeviceExecutorTest, TensorsOfTheDeviceAreReadAndWrittenWhereTheyAre) {
  for (bool isWide : {false, true}) {
    std::shared_ptr<DeviceProgram> program = load(isWide);
    for (bool poison : {false, true})
      for (const TestGraph &graph : unkindGraphs()) {
        SCOPED_TRACE(graph.name + (isWide ? ", wide" : "") + (poison ? ", poisoned" : ""));
        example::Values values(graph);
        auto shared = share(*device, program, devicePlan(isWide), graph.make(isWide ? IdWidth::Wide : IdWidth::Fitting),
                            {.poison = poison});
        // Two executors of one plan, each with memory of its own, and other memory in each run. One is given its inputs
        // once, and copies again what lay in the memory before.
        DeviceExecutor executors[] = {executorOf(shared), executorOf(shared)};
        Caller caller(*device);
        const int64_t n = graph.numNodes(), edges = graph.numEdges(), types = graph.numRelations;
        const Tensor x = caller.make({n, 2}, values.x), w = caller.make({edges}, values.w),
                     scale = caller.make({1}, values.scale), gout = caller.make({n, 2}, values.gout);
        for (int run = 0; run < 2; ++run) {
          std::map<std::string, void *> places[2];
          for (int i : {0, 1}) {
            DeviceExecutor &executor = executors[i];
            expectOk(executor.useMemory(caller.take(shared->workBytes())));
            if (run == 0 || i == 0) {
              expectOk(executor.readInput("x", x));
              expectOk(executor.readInput("w", w));
              expectOk(executor.readInput("v", w));
              expectOk(executor.readInput("scale", scale));
            }
            for (auto [name, count] : {std::pair("out", 2 * n), std::pair("by_type", types), std::pair("w", edges)})
              expectOk(executor.placeOutput(name, places[i][name] = caller.take(count * 4)));
            expectRuns(executor, Phase::Graph, Phase::Forward);
          }
          for (int i : {1, 0}) {
            DeviceExecutor &executor = executors[i];
            expectOk(executor.readInput("grad.out", gout));
            for (auto [name, count] : {std::pair("gx", 2 * n), std::pair("gtype", types)})
              expectOk(executor.placeOutput(name, places[i][name] = caller.take(count * 4)));
            expectRuns(executor, Phase::Backward, Phase::Backward);
            expectNear(caller.read(places[i]["out"], 2 * n), values.out(graph));
            expectNear(caller.read(places[i]["by_type"], types), values.byType(graph));
            expectNear(caller.read(places[i]["gtype"], types), values.gtype(graph));
            EXPECT_EQ(caller.read(places[i]["w"], edges), values.w);
          }
        }
      }
  }
}

TEST_P(DeviceExecutorTest, TensorsOfOtherTypesAreConvertedOnTheDevice) {
  const std::vector<double> values = {0, 1, -2.5, 1000, 0.375, -8};
  for (Storage storage : {Storage::F64, Storage::F32, Storage::BF16, Storage::F16, Storage::Bool})
    for (DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64}) {
      Plan plan;
      plan.name = "through";
      plan.tables = {{"x", Domain::Node, {2}, storage}};
      plan.inputs = {{"x", 0}};
      plan.outputs = {{"y", 0}};
      Caller caller(*device);
      const Tensor x = caller.make({3, 2}, values, dtype);
      DeviceExecutor executor = executorOf(share(*device, load(), plan, nodes(3).make(), {.inputs = {{"x", x}}}));
      const DType wanted = storage == Storage::F64 ? DType::F64 : DType::F32;
      void *place = caller.take(6 * 8);
      expectOk(executor.useMemory(caller.take(4096)));
      expectOk(executor.readInput("x", x));
      expectOk(executor.placeOutput("y", place));
      expectRuns(executor, Phase::Graph, Phase::Forward);
      const bool isWhole = dtype == DType::I64;
      EXPECT_EQ(caller.read(place, 6, wanted), storage == Storage::Bool
                                                   ? (std::vector<double>{0, 1, 1, 1, isWhole ? 0.0 : 1.0, 1})
                                               : isWhole ? (std::vector<double>{0, 1, -2, 1000, 0, -8})
                                                         : values);
    }
}

TEST_P(DeviceExecutorTest, TensorsOfTypesWithoutTablesAreRefused) {
  Plan plan;
  plan.name = "through";
  plan.tables = {{"x", Domain::Node, {2}, Storage::F32}};
  plan.inputs = {{"x", 0}};
  plan.outputs = {{"y", 0}};
  Caller caller(*device);
  const DeviceExecOptions options = {.isInPlace = true,
                                     .inputs = {{"x", caller.make({3, 2}, {1, 2, 3, 4, 5, 6}, DType::I32)}}};
  auto made = DevicePlan::create(std::make_shared<Plan>(plan), load(), *device, nodes(3).make(), options);
  EXPECT_EQ(made.status().message(), "input `x` is I32, which is not read on a GPU; convert it to F32");
}

TEST_P(DeviceExecutorTest, NumbersOfDropoutMayComeFromTheDevice) {
  DeviceExecutor executor = executorOf(share(*device, load(), oneStep("see_training"), nodes(1).make()));
  Caller caller(*device);
  const Tensor x = caller.make({1}, {4}), numbers = caller.make({2}, {7, 5}, DType::I64);
  void *const place = caller.take(4);
  expectOk(executor.useMemory(caller.take(4096)));
  expectOk(executor.readInput("x", x));
  auto found = [&] {
    expectOk(executor.placeOutput("y", place));
    expectRuns(executor, Phase::Graph, Phase::Forward);
    return caller.read(place, 1)[0];
  };
  EXPECT_EQ(found(), -1);
  executor.setTraining(numbers.bytes);
  EXPECT_EQ(found(), 705);
  executor.setTraining(7, 3);
  EXPECT_EQ(found(), 703);
  executor.setInference();
  EXPECT_EQ(found(), -1);
}

TEST_P(DeviceExecutorTest, RunsAreTimedAsAWhole) {
  DeviceExecutor executor = make(kSmall, {.isRecorded = true, .isTimed = true});
  example::Values(kSmall).setAll(executor, kSmall);
  EXPECT_EQ(executor.runMs(), 0);
  for (int run = 0; run < 3; ++run) {
    expectRuns(executor);
    EXPECT_GT(executor.runMs(), 0);
  }
}

TEST_P(DeviceExecutorTest, LaunchesAreMeasuredOnceAsked) {
  DeviceExecutor executor = make(kSmall, {.isRecorded = true});
  example::Values(kSmall).setAll(executor, kSmall);
  for (int run = 0; run < 3; ++run)
    expectRuns(executor);
  EXPECT_TRUE(executor.profile().empty());
  executor.setProfiled(true);
  expectRuns(executor);
  ASSERT_FALSE(executor.profile().empty());
  for (size_t i = 1; i < executor.profile().size(); ++i)
    EXPECT_GT(executor.profile()[i].step, executor.profile()[i - 1].step);
  executor.setProfiled(false);
  expectRuns(executor);
  EXPECT_TRUE(executor.profile().empty());
}

TEST_P(DeviceExecutorTest, ProfilesNameTheLaunchesOfTheLastRun) {
  DeviceExecutor executor = make(kSmall, {.isRecorded = true, .isProfiled = true});
  example::Values(kSmall).setAll(executor, kSmall);
  EXPECT_TRUE(executor.profile().empty());
  auto labels = [&] {
    std::string text;
    for (const DeviceExecutor::LaunchTime &time : executor.profile()) {
      EXPECT_GT(time.ms, 0);
      text += time.label + " ";
    }
    return text;
  };
  expectRuns(executor);
  EXPECT_EQ(labels(), "in_degree twice scale_rows gather sum_by_type scale_rows sum_unsorted ");
  expectRuns(executor, Phase::Forward, Phase::Forward);
  EXPECT_EQ(labels(), "scale_rows gather sum_by_type ");
}

TEST_P(DeviceExecutorTest, MissingKernelsAreNamed) {
  auto executor = DeviceExecutor::create(std::make_shared<Plan>(oneStep("absent")), load(), *device, nodes(1).make());
  ASSERT_FALSE(executor);
  EXPECT_NE(executor.status().message().find("has no kernel `absent`"), std::string::npos)
      << executor.status().message();
}

}  // namespace
