/// What an executor asks of a device.
#include "kernels/cuda/sizes.hpp"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Setting.h"
#include "runtime/device/DeviceExecutor.h"
#include "runtime/device/FakeDevice.h"
#include "runtime/device/TestDevicePlans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>

using namespace hector;
using namespace hector::exec;

namespace {

/// On a device that only notes what it is asked for.
class DeviceCallsTest : public testing::Test {
protected:
  DeviceExecutor make(Plan plan, const TestGraph &graph, const DeviceExecOptions &options = {}) {
    return makeExecutor(device, device.program(), std::move(plan), graph.make(), options);
  }
  std::string failureOf(Plan plan, const TestGraph &graph, const DeviceExecOptions &options = {}) {
    auto executor = DeviceExecutor::create(std::make_shared<Plan>(std::move(plan)), device.program(), device,
                                           graph.make(), options);
    return executor ? "" : executor.status().message();
  }
  /// The example with its inputs.
  DeviceExecutor example(const TestGraph &graph, const DeviceExecOptions &options = {}) {
    DeviceExecutor executor = make(devicePlan(), graph, options);
    example::Values(graph).setAll(executor, graph);
    return executor;
  }
  std::vector<std::string> run(DeviceExecutor &executor, Phase first = Phase::Graph, Phase last = Phase::Backward) {
    device.log.clear();
    expectRuns(executor, first, last);
    return device.log;
  }

  FakeDevice device{2};
};
using Log = std::vector<std::string>;

TEST_F(DeviceCallsTest, GridsFollowUnitsPiecesAndNumbers) {
  DeviceExecutor executor = example(kSmall);
  // 32 groups in a block, 64 for the degrees; 200 edges in 4 pieces, 2 to a block; 5 · 16 numbers in a total.
  EXPECT_EQ(run(executor),
            (Log{"in_degree 1x64", "twice 1x64", "scale_rows 1x64", "gather 1x64", "sum_by_type 2x64",
                 "join_by_type 1x256", "scale_rows 1x64", "sum_unsorted 2x64", "join_unsorted 1x256", "wait"}));
}

TEST_F(DeviceCallsTest, LoopsThatShareALaunchHaveBandsOfBlocks) {
  Plan plan = devicePlan();
  plan.steps[2].launch.device->bands = 3;
  plan.steps[4].launch.device->bands = 2;
  DeviceExecutor executor = make(plan, kSmall);
  example::Values(kSmall).setAll(executor, kSmall);
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"in_degree 1x64", "twice 1x64", "scale_rows 3x1x64", "gather 1x64", "sum_by_type 2x2x64",
                 "join_by_type 1x256", "wait"}));
}

TEST_F(DeviceCallsTest, LargeGridsStopWhereTheDeviceIsBusy) {
  DeviceExecutor executor = example(randomGraph("", 1, 100'000, 1000, 5));
  const Log log = run(executor);
  EXPECT_EQ(log[0], "in_degree 64x64");
  EXPECT_EQ(log[3], "gather 64x64");
}

TEST_F(DeviceCallsTest, JoinsRunWithoutRows) {
  DeviceExecutor executor = example({"", {}, {}, {}, {0, 2, 5}, 3});
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"in_degree 1x64", "twice 1x64", "scale_rows 1x64", "gather 1x64", "join_by_type 1x256", "wait"}));
}

TEST_F(DeviceCallsTest, NothingIsLaunchedForNothing) {
  DeviceExecutor executor = example({"", {}, {}, {}, {0}, 0});
  EXPECT_EQ(run(executor), (Log{"twice 1x64", "wait"}));
}

TEST_F(DeviceCallsTest, ArgumentsAreTablesBuffersFormsTotalsAndSizes) {
  Plan plan = devicePlan();
  plan.steps[4].launch.device->buffers = {{"a", Domain::Node, {}}, {"b", Domain::Edge, {}}};
  DeviceExecutor executor = make(plan, kSmall);
  example::Values(kSmall).setAll(executor, kSmall);
  executor.setTraining(11, 12);
  run(executor);
  for (const char *kernel : {"sum_by_type", "join_by_type"}) {
    const Arguments &arguments = device.arguments.at(kernel);
    // w by type, sums by type, two buffers, where types start, the total, sizes.
    ASSERT_EQ(arguments.count(), 7u);
    const std::vector<void *> values = arguments.pointers();
    std::vector<const std::byte *> at;
    for (size_t i = 0; i < 6; ++i)
      at.push_back(*static_cast<const std::byte **>(values[i]));
    const MemoryPlan &memory = executor.memory();
    const MemoryPlan::Launch &launch = memory.launches[4];
    const std::byte *arena = at[1] - memory.tables[example::ByType].block.offset;
    EXPECT_EQ(at[2], arena + launch.buffers[0].offset);
    EXPECT_EQ(at[3], arena + launch.buffers[1].offset);
    EXPECT_EQ(at[5], arena + launch.totals[0].offset);
    const Graph graph = kSmall.make();
    EXPECT_EQ(std::memcmp(at[4],
                          graph.typeStarts(TileRows::Edges).visit([](auto ids) -> const void * { return ids.data(); }),
                          6 * 4),
              0);

    cuda::Sizes sizes;
    ASSERT_EQ(arguments.bytesOf(6), sizeof(sizes));
    std::memcpy(&sizes, values[6], sizeof(sizes));
    EXPECT_EQ(sizes.rows[Domain::One], 1);
    EXPECT_EQ(sizes.rows[Domain::EdgeType], 5);
    EXPECT_EQ(sizes.rows[Domain::Node], 30);
    EXPECT_EQ(sizes.rows[Domain::Edge], 200);
    EXPECT_EQ(sizes.grain, 64);
    EXPECT_EQ(sizes.pieces, 4);
    EXPECT_EQ(sizes.random->seed, 11u);  // memory of a fake device is the host's
    EXPECT_EQ(sizes.random->step, 12u);
    EXPECT_TRUE(sizes.random->isTraining);
  }
}

TEST_F(DeviceCallsTest, ChunksAreFinishedWhereTheyAreCut) {
  Plan plan = devicePlan();
  DeviceLaunch &how = *plan.steps[3].launch.device;
  how.schedule = Schedule::Chunks;
  how.lanes = 8;
  how.partBytes = 16;
  how.buffers = {};
  DeviceExecutor executor = make(plan, kSmall);
  example::Values(kSmall).setAll(executor, kSmall);
  const Log log = run(executor, Phase::Graph, Phase::Forward);
  // 200 edges in chunks of 8, and 8 groups in a block; a thread looks at each of 30 nodes.
  EXPECT_EQ(log[3], "gather 4x64");
  EXPECT_EQ(log[4], "gather_cut 1x64");
  for (const char *kernel : {"gather", "gather_cut"}) {
    const Arguments &arguments = device.arguments.at(kernel);
    // h, w, degrees, out, two index arrays, what is carried, sizes.
    ASSERT_EQ(arguments.count(), 8u);
    const std::vector<void *> values = arguments.pointers();
    const std::byte *out = *static_cast<const std::byte **>(values[3]);
    const std::byte *carry = *static_cast<const std::byte **>(values[6]);
    const MemoryPlan &memory = executor.memory();
    EXPECT_EQ(carry - out, memory.launches[3].carry.offset - memory.tables[example::Out].block.offset);
  }
}

TEST_F(DeviceCallsTest, ChunksWithoutRowsAreFinished) {
  Plan plan = devicePlan();
  plan.steps[3].launch.device->schedule = Schedule::Chunks;
  DeviceExecutor executor = make(plan, nodes(5));
  example::Values(nodes(5)).setAll(executor, nodes(5));
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward)[3], "gather_cut 1x64");
}

TEST_F(DeviceCallsTest, SharedMemoryIsAskedFor) {
  Plan plan = oneStep("copy");
  plan.steps[0].launch.device->sharedBytes = 100 << 10;
  device.log.clear();
  make(plan, nodes(1));
  EXPECT_EQ(device.log, (Log{"wait", "allow 102400"}));
  plan.steps[0].launch.device->sharedBytes = 220 << 10;
  EXPECT_EQ(failureOf(plan, nodes(1)), "kernel `copy` needs 225280 bytes of shared memory per block; Fake has 204800");
}

TEST_F(DeviceCallsTest, PhasesRunWhenTheyAreDue) {
  DeviceExecutor executor = example(kSmall);
  run(executor);
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward).front(), "scale_rows 1x64");
  set(executor, "scale", {1}, {3});
  EXPECT_EQ(run(executor, Phase::Forward, Phase::Forward).front(), "twice 1x64");
}

TEST_F(DeviceCallsTest, PhasesThatRepeatAreReplayed) {
  DeviceExecutor executor = example(kSmall, {.isRecorded = true});
  auto backward = [&] {
    run(executor, Phase::Graph, Phase::Forward);
    return run(executor, Phase::Backward, Phase::Backward);
  };
  EXPECT_EQ(backward(), (Log{"scale_rows 1x64", "sum_unsorted 2x64", "join_unsorted 1x256", "wait"}));
  EXPECT_EQ(backward(), (Log{"record scale_rows 1x64", "record sum_unsorted 2x64 after 0",
                             "record join_unsorted 1x256 after 1", "replay", "wait"}));
  EXPECT_EQ(backward(), (Log{"replay", "wait"}));
  // Steps of training have other numbers in the same places.
  for (uint64_t step = 0; step < 2; ++step) {
    executor.setTraining(1, step);
    EXPECT_EQ(backward(), (Log{"replay", "wait"}));
  }
}

TEST_F(DeviceCallsTest, AllPhasesOfARunAreOneRecording) {
  DeviceExecutor executor = example(kSmall, {.isRecorded = true, .branches = Branches::Never});
  run(executor);
  run(executor);
  EXPECT_EQ(run(executor),
            (Log{"record scale_rows 1x64", "record gather 1x64 after 0", "record sum_by_type 2x64 after 1",
                 "record join_by_type 1x256 after 2", "record scale_rows 1x64 after 3",
                 "record sum_unsorted 2x64 after 4", "record join_unsorted 1x256 after 5", "replay", "wait"}));
  EXPECT_EQ(run(executor), (Log{"replay", "wait"}));
}

TEST_F(DeviceCallsTest, LaunchesOfSmallGraphsBranchWhereTheyShareNoMemory) {
  // y and z are copies of x, and `last` reads both.
  Plan plan = oneStep("first");
  plan.tables.push_back({"z", Domain::Node, {}});
  plan.tables.push_back({"sum", Domain::Node, {}});
  plan.outputs = {{"y", 1}, {"z", 2}, {"sum", 3}};
  Step step = plan.steps[0];
  step.launch.kernel = "second";
  step.launch.outputs = {2};
  plan.steps.push_back(step);
  step.launch.kernel = "last";
  step.launch.inputs = {1, 2};
  step.launch.outputs = {3};
  plan.steps.push_back(step);
  auto recordingOf = [&](const TestGraph &graph, Branches branches) {
    DeviceExecutor executor = make(plan, graph, {.isRecorded = true, .branches = branches});
    set(executor, "x", {30}, numbers(30, 1));
    run(executor, Phase::Graph, Phase::Forward);  // phases of the graph and of weights run once
    run(executor, Phase::Graph, Phase::Forward);
    return run(executor, Phase::Graph, Phase::Forward);
  };
  const Log branched = {"record first 1x64", "record second 1x64", "record last 1x64 after 0 1", "replay", "wait"};
  const Log chained = {"record first 1x64", "record second 1x64 after 0", "record last 1x64 after 1", "replay", "wait"};
  EXPECT_EQ(recordingOf(kSmall, Branches::OnSmallGraphs), branched);
  EXPECT_EQ(recordingOf(kSmall, Branches::Never), chained);
  const TestGraph large = randomGraph("", 1, 30, kMostEdgesOfBranches + 1, 5);
  EXPECT_EQ(recordingOf(large, Branches::OnSmallGraphs), chained);
  EXPECT_EQ(recordingOf(large, Branches::Always), branched);
}

TEST_F(DeviceCallsTest, TablesOfRecordingsWithBranchesHavePlacesOfTheirOwn) {
  DeviceExecutor executor = example(kSmall, {.isRecorded = true});
  for (int i = 0; i < 2; ++i)
    run(executor, Phase::Graph, Phase::Forward);
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"record scale_rows 1x64", "record gather 1x64 after 0", "record sum_by_type 2x64",
                 "record join_by_type 1x256 after 2", "replay", "wait"}));
  const DeviceExecOptions recorded = {.isRecorded = true};
  Result<MemoryPlan> memory = memoryFor(devicePlan(), kSmall.make(), device.info(), recorded);
  ASSERT_TRUE(memory);
  EXPECT_EQ(executor.peakBytes(), memory->peakBytes());
  Result<MemoryPlan> shared = memoryFor(devicePlan(), kSmall.make(), device.info());
  ASSERT_TRUE(shared);
  EXPECT_LT(shared->peakBytes(), memory->peakBytes());
  // Where that takes more than half, places are shared.
  device.free = 2 * memory->peakBytes();
  EXPECT_EQ(example(kSmall, recorded).peakBytes(), memory->peakBytes());
  device.free = 2 * memory->peakBytes() - 1;
  EXPECT_EQ(example(kSmall, recorded).peakBytes(), shared->peakBytes());
  EXPECT_EQ(memoryFor(devicePlan(), kSmall.make(), device.info(), recorded, device.free)->peakBytes(),
            shared->peakBytes());
}

TEST_F(DeviceCallsTest, LaunchesThatReuseMemoryKeepTheirOrder) {
  Result<MemoryPlan> memory = memoryFor(devicePlan(), kSmall.make(), device.info());
  ASSERT_TRUE(memory);
  DeviceExecutor executor =
      example(kSmall, {.memoryLimit = memory->peakBytes(), .isRecorded = true, .branches = Branches::Always});
  for (int i = 0; i < 2; ++i)
    run(executor, Phase::Graph, Phase::Forward);
  // Sums by type read an input alone, but their total lies where the products of `gather` do.
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"record scale_rows 1x64", "record gather 1x64 after 0", "record sum_by_type 2x64 after 1",
                 "record join_by_type 1x256 after 2", "replay", "wait"}));
}

TEST_F(DeviceCallsTest, LaterLaunchesWaitForTheKernelOrForTheJoin) {
  // `first` writes y of each row and two totals; then one launch reads y, and one the second total.
  Plan plan = oneStep("first");
  plan.tables.push_back({"a", Domain::One, {3}});
  plan.tables.push_back({"b", Domain::One, {600}});
  plan.tables.push_back({"rows", Domain::Node, {}});
  plan.tables.push_back({"sums", Domain::Node, {}});
  plan.outputs = {{"a", 2}, {"rows", 4}, {"sums", 5}};
  Step step = plan.steps[0];
  Launch &first = plan.steps[0].launch;
  first.outputs = {2, 1, 3};
  first.totals = {{TotalSpec::Slots::Full, Domain::One, 64, "join", 0},
                  {TotalSpec::Slots::Full, Domain::One, 2432, "join", 2}};
  first.device = DeviceLaunch{.schedule = Schedule::Pieces, .lanes = 32, .threads = 64};
  step.launch.kernel = "of_rows";
  step.launch.inputs = {1};
  step.launch.outputs = {4};
  plan.steps.push_back(step);
  step.launch.kernel = "of_sums";
  step.launch.inputs = {3};
  step.launch.outputs = {5};
  plan.steps.push_back(step);
  DeviceExecutor executor = make(plan, kSmall, {.isRecorded = true});
  set(executor, "x", {30}, numbers(30, 1));
  for (int i = 0; i < 2; ++i)
    run(executor, Phase::Graph, Phase::Forward);
  // A block joins three numbers, three others 600.
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"record first 1x64", "record join 4x256 after 0", "record of_rows 1x64 after 0",
                 "record of_sums 1x64 after 1", "replay", "wait"}));
}

TEST_F(DeviceCallsTest, InputsAreConvertedAndOutputsComeBack) {
  const std::vector<double> values = {0, 1, -2.5, 1000};
  for (Storage storage : {Storage::F64, Storage::F32, Storage::BF16, Storage::F16, Storage::Bool, Storage::Index}) {
    Plan plan;
    plan.name = "through";
    plan.tables = {{"x", Domain::Node, {2}, storage}};
    plan.inputs = {{"x", 0}};
    plan.outputs = {{"y", 0}};
    DeviceExecutor executor = make(plan, nodes(2));
    for (DType dtype : {DType::F64, DType::F32, DType::I64}) {
      if (storage == Storage::Index && dtype != DType::I64)
        continue;
      ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 2}, values, dtype)).isOk());
      Result<Tensor> tensor = executor.output("y");
      ASSERT_TRUE(tensor);
      EXPECT_EQ(tensor->toDoubles(), storage == Storage::Bool ? (std::vector<double>{0, 1, 1, 1})
                                     : dtype == DType::I64    ? (std::vector<double>{0, 1, -2, 1000})
                                                              : values);
      EXPECT_EQ(tensor->dtype, storage == Storage::F64 ? DType::F64 : DType::F32);
    }
  }
}

/// Two inputs, of which one is handed out.
Plan twoInputs(Storage storage = Storage::F32) {
  Plan plan;
  plan.name = "both";
  plan.tables = {{"x", Domain::Node, {2}, Storage::F32}, {"y", Domain::Node, {2}, storage}};
  plan.inputs = {{"x", 0}, {"y", 1}};
  plan.outputs = {{"next", 0}};
  return plan;
}

TEST_F(DeviceCallsTest, OutputsBecomeInputsOnTheDevice) {
  DeviceExecutor executor = make(twoInputs(), nodes(2));
  const std::vector<double> values = {0, 1, -2.5, 1000};
  EXPECT_EQ(executor.input("y").status().message(), "`both` has no input `y` that is set");
  EXPECT_EQ(executor.takeInput("y", "next").message(), "output `next` is input `x`, which is not set");
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 2}, values, DType::F32)).isOk());
  device.log.clear();
  ASSERT_TRUE(executor.takeInput("y", "next").isOk());
  EXPECT_EQ(device.log, std::vector<std::string>{"copy"});
  Result<Tensor> tensor = executor.input("y");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->toDoubles(), values);
}

TEST_F(DeviceCallsTest, OutputsOfAnotherTypeCannotBecomeInputs) {
  DeviceExecutor executor = make(twoInputs(Storage::BF16), nodes(2));
  ASSERT_TRUE(executor.setInput("x", Tensor::fromDoubles({2, 2}, std::vector<double>{1, 2, 3, 4}, DType::F32)).isOk());
  EXPECT_EQ(executor.takeInput("y", "next").message(),
            "output `next` cannot become input `y`: their rows are stored in different ways");
}

TEST_F(DeviceCallsTest, RunsInTheCallersMemoryOnlyLaunch) {
  auto shared = share(device, device.program(), devicePlan(), kSmall.make());
  EXPECT_EQ(std::count(device.log.begin(), device.log.end(), "in_degree 1x64"), 1);
  device.log.clear();
  DeviceExecutor executor = executorOf(shared);
  EXPECT_EQ(device.log, Log());
  Caller caller(device);
  const example::Values values(kSmall);
  const Tensor x = caller.make({30, 2}, values.x), w = caller.make({200}, values.w),
               scale = caller.make({1}, values.scale);
  void *const memory = caller.take(shared->workBytes()), *const place = caller.take(800);
  device.log.clear();
  expectOk(executor.useMemory(memory));
  for (auto [name, tensor] : {std::pair("x", &x), std::pair("w", &w), std::pair("v", &w), std::pair("scale", &scale)})
    expectOk(executor.readInput(name, *tensor));
  for (const char *name : {"out", "by_type", "w"})
    expectOk(executor.placeOutput(name, place));
  expectRuns(executor, Phase::Graph, Phase::Forward);
  // Both orders of edges are copied before, one after; nothing waits. The graph phase has run.
  EXPECT_EQ(device.log, (Log{"hector_copy_rows 1x256", "hector_copy_rows 1x256", "hector_set_random 1x32", "twice 1x64",
                             "scale_rows 1x64", "gather 1x64", "sum_by_type 2x64", "join_by_type 1x256",
                             "hector_copy_rows 1x256"}));
}

TEST_F(DeviceCallsTest, CallersMemoryIsChecked) {
  auto shared = share(device, device.program(), devicePlan(), kSmall.make());
  DeviceExecutor executor = executorOf(shared), other = make(devicePlan(), kSmall);
  Caller caller(device);
  const Tensor x = caller.make({30, 2}, numbers(60, 1)), w = caller.make({200}, numbers(200, 1));
  EXPECT_EQ(executor.setInput("x", Tensor::fromDoubles({30, 2}, numbers(60, 1), DType::F32)).message(),
            "the executor works in the caller's memory and copies nothing");
  EXPECT_EQ(other.readInput("x", x).message(), "the executor has memory of its own; make it with `isInPlace`");
  EXPECT_EQ(executor.readInput("w", w).message(), "there is no memory to work in; lend some first");
  std::byte *const memory = static_cast<std::byte *>(caller.take(shared->workBytes() + 1));
  EXPECT_EQ(executor.useMemory(memory + 1).message(), "memory that is lent has to start at a multiple of 256 bytes");
  Tensor shifted = x;
  shifted.bytes += 4;
  EXPECT_EQ(executor.readInput("x", shifted).message(), "input `x` does not start at a multiple of 16 bytes; copy it");
  shifted.bytes = x.bytes;
  shifted.dtype = DType::F64;
  EXPECT_EQ(executor.checkInput("x", shifted).message(),
            "input `x` is F64, but is read as F32 where it is on the device; convert it");
  EXPECT_EQ(executor.placeOutput("out", memory + 4).message(),
            "the place for output `out` does not start at a multiple of 16 bytes");
}

TEST_F(DeviceCallsTest, PlacesServeOneRunThatFailsToo) {
  auto shared = share(device, device.program(), devicePlan(), kSmall.make());
  DeviceExecutor executor = executorOf(shared);
  Caller caller(device);
  ASSERT_TRUE(executor.useMemory(caller.take(shared->workBytes())).isOk());
  const example::Values values(kSmall);
  const Tensor x = caller.make({30, 2}, values.x), w = caller.make({200}, values.w),
               scale = caller.make({1}, values.scale);
  for (auto [name, tensor] : {std::pair("x", &x), std::pair("w", &w), std::pair("v", &w), std::pair("scale", &scale)})
    expectOk(executor.readInput(name, *tensor));
  void *const memory = caller.take(800);
  auto place = [&] {
    for (const char *name : {"out", "by_type", "w"})
      expectOk(executor.placeOutput(name, memory));
  };
  place();
  device.failing = "gather";
  EXPECT_FALSE(executor.run(Phase::Graph, Phase::Forward).isOk());
  device.failing.clear();
  EXPECT_EQ(executor.run(Phase::Graph, Phase::Forward).message(), "there is no memory for output `out`");
  place();
  expectOk(executor.run(Phase::Graph, Phase::Forward));
}

TEST_F(DeviceCallsTest, StepsOfPlansWithoutDropoutUploadNothing) {
  Plan plan = devicePlan();
  plan.source = "no random numbers";
  DeviceExecutor executor = make(plan, kSmall);
  example::Values(kSmall).setAll(executor, kSmall);
  executor.setTraining(1, 1);
  run(executor);
  const size_t uploads = device.uploads;
  executor.setTraining(1, 2);
  run(executor, Phase::Forward, Phase::Backward);
  EXPECT_EQ(device.uploads, uploads);
}

// --- what does not fit ----------------------------------------------------------------------------------------------

TEST_F(DeviceCallsTest, PlansForTheCpuAreRefused) {
  EXPECT_EQ(failureOf(example::plan(), kSmall),
            "the plan of `example` was compiled for the CPU, but is to run on a GPU; compile it for that");
}

TEST_F(DeviceCallsTest, WidthOfIdsMustMatch) {
  EXPECT_EQ(
      failureOf(devicePlan(true), kSmall),
      "the plan of `example` was compiled for ids of 64 bits, but those of the graph have 32; compile it for this "
      "graph");
}

TEST_F(DeviceCallsTest, MemoryThatDoesNotSufficeIsRefusedWithNumbers) {
  Result<MemoryPlan> memory = memoryFor(devicePlan(), kSmall.make(), device.info());
  ASSERT_TRUE(memory);
  const int64_t peak = memory->peakBytes();
  device.free = peak;
  EXPECT_EQ(make(devicePlan(), kSmall, {.memoryLimit = peak}).peakBytes(), peak);
  const std::string limited = failureOf(devicePlan(), kSmall, {.memoryLimit = peak - 1});
  EXPECT_TRUE(limited.starts_with("`example` needs ")) << limited;
  EXPECT_NE(limited.find("; the limit is "), std::string::npos) << limited;
  device.free = 1000;
  const std::string failure = failureOf(devicePlan(), kSmall);
  EXPECT_TRUE(failure.starts_with("`example` needs ")) << failure;
  EXPECT_TRUE(failure.ends_with("; 1000 bytes of 1.0 GiB are free on Fake\n   help: nvidia-smi lists the programs that "
                                "hold memory of the GPU; end those that are not needed, or run on the CPU "
                                "(--backend cpu)"))
      << failure;
}

TEST_F(DeviceCallsTest, HugeTablesAreRefusedBeforeTheyAreAllocated) {
  Plan plan = oneStep("copy");
  plan.tables[1].shape = {int64_t{1} << 40, 1 << 10};
  EXPECT_EQ(failureOf(plan, nodes(1)),
            "`one` needs 4.0 PiB: tables and scratch memory 4.0 PiB (the largest table, `y`, has 1 row and takes 4.0 "
            "PiB), index arrays 0 bytes, copies of inputs 4 bytes; 1.0 GiB of 1.0 GiB are free on Fake\n"
            "   help: run on the CPU (--backend cpu), or on a GPU with more memory");
}

TEST_F(DeviceCallsTest, WrongInputsAndMissingOnesAreRefused) {
  DeviceExecutor executor = make(devicePlan(), kSmall);
  EXPECT_EQ(executor.setInput("x", Tensor::fromDoubles({29, 2}, numbers(58, 1), DType::F32)).message(),
            "input `x` has shape [29, 2], but needs [30, 2] for 30 nodes");
  EXPECT_EQ(executor.runAll().message(), "there is no tensor for input `x`, which the forward phase reads");
  EXPECT_EQ(executor.output("out").status().message(), "output `out` is not computed yet; run the forward phase first");
}

TEST_F(DeviceCallsTest, FailedRunsLeaveNoOutputs) {
  DeviceExecutor executor = example(kSmall);
  run(executor);
  device.failing = "gather";
  EXPECT_EQ(executor.runAll().message(),
            "launch `gather` of `example`: no launch\n   help: `hector compile MODEL --emit "
            "cuda` writes the text of kernel `gather`");
  EXPECT_FALSE(executor.output("out"));
  device.failing = "";
  run(executor);
  EXPECT_TRUE(executor.output("out"));
  device.isFailing = true;
  EXPECT_EQ(executor.runAll().message(), "running `example`: a kernel failed\n   help: it is not known which launch "
                                         "failed; HECTOR_STEPWISE=1 waits for each of them, and names it");
  device.isFailing = false;
  EXPECT_EQ(executor.output("out").status().message(), "output `out` is not computed yet; run the forward phase first");
}

TEST_F(DeviceCallsTest, FailuresNameTheLinesOfTheModel) {
  Plan plan = oneStep("first");
  plan.source = "// Kernels of one.\n\n// flat node, one.hec:1\n__global__ void zeroth(\n\n// flat node, one.hec:3, 4\n"
                "//   y = x\nstruct first_walk {\n  // a comment\n};\n__global__ void first(const float *x)\n";
  device.failing = "first";
  DeviceExecutor executor = make(plan, kSmall);
  set(executor, "x", {30}, numbers(30, 1));
  EXPECT_TRUE(executor.run(Phase::Graph, Phase::Forward)
                  .message()
                  .starts_with("launch `first` (flat node, one.hec:3, 4) of `one`: no launch\n"));
}

TEST_F(DeviceCallsTest, StepwiseRunsNameTheLaunchThatFailed) {
  Setting stepwise("HECTOR_STEPWISE", "1");
  DeviceExecutor executor = example(kSmall, {.isRecorded = true});
  for (int i = 0; i < 3; ++i)
    run(executor, Phase::Graph, Phase::Forward);
  EXPECT_EQ(run(executor, Phase::Graph, Phase::Forward),
            (Log{"scale_rows 1x64", "wait", "gather 1x64", "wait", "sum_by_type 2x64", "wait", "join_by_type 1x256",
                 "wait", "wait"}));
  device.onLaunch = [&] { device.isFailing = device.log.back().starts_with("sum_by_type"); };
  EXPECT_TRUE(executor.run(Phase::Graph, Phase::Forward)
                  .message()
                  .starts_with("launch `sum_by_type` of `example`: a "
                               "kernel failed\n"));
  device.isFailing = false;
}

TEST(DeviceExecutorDeathTest, InterruptsStopBetweenLaunches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        noteInterrupts();
        FakeDevice device(2);
        device.onLaunch = [] { std::raise(SIGINT); };
        Plan plan = oneStep("first");
        plan.steps.push_back(plan.steps[0]);
        plan.steps[1].launch.kernel = "second";
        DeviceExecutor executor = makeExecutor(device, device.program(), plan, nodes(1).make());
        set(executor, "x", {1}, {4});
        device.log.clear();
        const std::string message = executor.run(Phase::Graph, Phase::Forward).message();
        std::fprintf(stderr, "%s after %zu: %s", message.c_str(), device.log.size(),
                     executor.output("y").status().message().c_str());
        std::_Exit(interruptExitCode());
      },
      testing::ExitedWithCode(130), "interrupted after 1: output `y` is not computed yet; run the forward phase first");
}

}  // namespace
