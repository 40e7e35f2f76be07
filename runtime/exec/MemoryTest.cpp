#include "runtime/exec/Memory.h"

#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

using namespace hector;
using namespace hector::exec;

namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

bool shareBytes(const Block &a, const Block &b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}
bool shareSteps(const Block &a, const Block &b) {
  return a.first <= b.last && b.first <= a.last;
}

GraphNumbers graphOf(int64_t nodes, int64_t edges) {
  GraphNumbers numbers;
  numbers.rows = {1, 1, 1, nodes, 0, 0, edges};
  return numbers;
}

/// Step i reads table i and writes table i + 1, all of nodes; the first is an input and the last an output.
Plan chain(int steps) {
  Plan plan;
  plan.name = "chain";
  for (int i = 0; i <= steps; ++i)
    plan.tables.push_back({"t" + std::to_string(i), Domain::Node, {16}});
  plan.inputs = {{"in", 0}};
  plan.outputs = {{"out", steps}};
  for (int i = 0; i < steps; ++i)
    plan.steps.push_back({Phase::Forward, {.kernel = "k", .domain = Domain::Node, .inputs = {i}, .outputs = {i + 1}}});
  return plan;
}

MemoryPlan memoryOf(const Plan &plan, const GraphNumbers &graph) {
  return planMemory(plan, graph, std::vector<LaunchNumbers>(plan.steps.size(), {1, 1}), 1);
}

}  // namespace

TEST(MemoryPlanTest, BlocksInUseAtTheSameTimeNeverShareBytes) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 300; ++run) {
    std::vector<Block> blocks(random() % 40);
    const int steps = 1 + static_cast<int>(random() % 20);
    for (Block &block : blocks) {
      block.bytes = static_cast<int64_t>(random() % 5 == 0 ? random() % 3 : random() % 5000);
      block.first = static_cast<int>(random() % steps);
      block.last = block.first + static_cast<int>(random() % (steps - block.first));
    }
    const int64_t end = placeBlocks(blocks, 64);
    int64_t sum = 0;
    for (const Block &a : blocks) {
      sum += (a.bytes + 63) / 64 * 64;
      EXPECT_EQ(a.offset % 64, 0);
      EXPECT_LE(a.offset + a.bytes, end);
      for (const Block &b : blocks)
        EXPECT_FALSE(&a != &b && shareSteps(a, b) && shareBytes(a, b));
    }
    EXPECT_LE(end, sum);
  }
}

TEST(MemoryPlanTest, TablesWithDisjointLivesShareBytes) {
  // Tables are needed two at a time, the output from the last step on.
  MemoryPlan memory = memoryOf(chain(10), graphOf(100, 0));
  EXPECT_EQ(memory.arenaBytes, 2 * 100 * 16 * 4);
  EXPECT_TRUE(shareBytes(memory.tables[1].block, memory.tables[3].block));
}

TEST(MemoryPlanTest, OutputsOfTheFirstPhasesShareNothing) {
  // In later runs they are there from the start: their phases do not run again.
  Plan plan = chain(10);
  plan.outputs.push_back({"early", 2});
  for (int i = 0; i < 2; ++i)
    plan.steps[i].phase = Phase::Weights;
  MemoryPlan memory = memoryOf(plan, graphOf(100, 0));
  for (size_t i = 3; i < plan.tables.size(); ++i)
    EXPECT_FALSE(shareBytes(memory.tables[2].block, memory.tables[i].block)) << i;
}

TEST(MemoryPlanTest, SmallestGapThatFitsIsTaken) {
  std::vector<Block> blocks = {{1024, 0, 0}, {256, 0, 1}, {512, 0, 0}, {128, 0, 1}, {512, 1, 1}};
  placeBlocks(blocks, 64);
  EXPECT_EQ(blocks[2].offset, 1024);
  EXPECT_EQ(blocks[1].offset, 1536);
  // Below the block of 256 bytes: 1536 bytes are free at step 1.
  EXPECT_EQ(blocks[4].offset, 0);
}

TEST(MemoryPlanTest, RandomPlansKeepLiveTablesApart) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 100; ++run) {
    Plan plan;
    plan.tables.push_back({"in", Domain::Node, {1}});
    plan.inputs = {{"in", 0}};
    std::vector<std::pair<int, int>> uses = {{-1, -1}};  // first write, last use
    const int steps = 1 + static_cast<int>(random() % 15);
    for (int i = 0; i < steps; ++i) {
      Launch launch = {.kernel = "k", .domain = Domain::Node};
      for (int reads = static_cast<int>(random() % 3); reads >= 0; --reads) {
        const int table = static_cast<int>(random() % plan.tables.size());
        launch.inputs.push_back(table);
        uses[table].second = i;
      }
      for (int writes = static_cast<int>(random() % 3); writes >= 0; --writes) {
        launch.outputs.push_back(static_cast<int>(plan.tables.size()));
        plan.tables.push_back({"t", Domain::Node, {static_cast<int64_t>(1 + random() % 50)}});
        uses.emplace_back(i, i);
      }
      if (random() % 3 == 0) {
        launch.totals = {{TotalSpec::Slots::Full, Domain::Node, 64 * static_cast<int64_t>(random() % 5), "j"}};
      }
      launch.scratch.bytes = static_cast<int64_t>(random() % 1000);
      plan.steps.push_back({i < steps / 4 ? Phase::Weights : Phase::Forward, std::move(launch)});
    }
    plan.outputs = {{"out", static_cast<int>(plan.tables.size()) - 1}};
    ASSERT_TRUE(checkPlan(plan).isOk()) << checkPlan(plan).message();
    MemoryPlan memory = planMemory(plan, graphOf(9, 0), std::vector<LaunchNumbers>(plan.steps.size(), {3, 1}), 2);

    std::vector<Block> all;  // with the steps in which they are needed
    for (size_t i = 1; i < plan.tables.size(); ++i) {
      Block block = memory.tables[i].block;
      EXPECT_EQ(block.bytes, plan.tables[i].rowSize() * 4 * 9);
      const bool isLeft = plan.steps[uses[i].first].phase == Phase::Weights;
      block.first = isLeft ? 0 : uses[i].first;
      block.last = isLeft || i + 1 == plan.tables.size() ? steps - 1 : uses[i].second;
      all.push_back(block);
    }
    for (int i = 0; i < steps; ++i) {
      Block scratch = memory.launches[i].scratch;
      EXPECT_EQ(scratch.bytes, (plan.steps[i].launch.scratch.bytes + 63) / 64 * 64 * 2);
      scratch.first = scratch.last = i;
      all.push_back(scratch);
      for (Block total : memory.launches[i].totals) {
        EXPECT_EQ(total.bytes, plan.steps[i].launch.totals[0].rowBytes * 3 * 9);
        total.first = total.last = i;
        all.push_back(total);
      }
    }
    for (size_t a = 0; a < all.size(); ++a) {
      EXPECT_LE(all[a].offset + all[a].bytes, memory.arenaBytes);
      for (size_t b = a + 1; b < all.size(); ++b)
        EXPECT_FALSE(shareSteps(all[a], all[b]) && shareBytes(all[a], all[b]));
    }
  }
}

TEST(MemoryPlanTest, ScratchHasARowForEachRowOfTheLargestUnit) {
  Plan plan = chain(1);
  plan.steps[0].launch.scratch = {.bytes = 100, .bytesPerRow = 8, .domain = Domain::Edge};
  MemoryPlan memory = planMemory(plan, graphOf(5, 50), std::vector<LaunchNumbers>{{20, 30}}, 4);
  EXPECT_EQ(memory.launches[0].scratchPerThread, 384);  // 340, aligned
  EXPECT_EQ(memory.launches[0].scratch.bytes, 4 * 384);
}

TEST(MemoryPlanTest, FewPiecesNeedScratchForFewThreads) {
  Plan plan = chain(1);
  plan.steps[0].launch.scratch.bytes = 64;
  EXPECT_EQ(planMemory(plan, graphOf(5, 0), std::vector<LaunchNumbers>{{2, 1}}, 100).launches[0].scratch.bytes, 128);
}

TEST(MemoryPlanTest, SortedTotalsHaveARowPerPieceAndTarget) {
  Plan plan = chain(1);
  plan.steps[0].launch.totals = {{TotalSpec::Slots::Sorted, Domain::Node, 64},
                                 {TotalSpec::Slots::Full, Domain::Node, 64},
                                 {TotalSpec::Slots::Rows, Domain::One, 64}};
  MemoryPlan memory = planMemory(plan, graphOf(5, 0), std::vector<LaunchNumbers>{{7, 1}}, 1);
  EXPECT_EQ(memory.launches[0].totals[0].bytes, (7 + 5) * 64);
  EXPECT_EQ(memory.launches[0].totals[1].bytes, 7 * 5 * 64);
  EXPECT_EQ(memory.launches[0].totals[2].bytes, 5 * 64);  // one for each row
}

TEST(MemoryPlanTest, InputsInAnotherOrderAreCopied) {
  Plan plan = chain(1);
  plan.tables.push_back({"e", Domain::Edge, {4}, Storage::BF16, Order::ByType});
  plan.inputs.push_back({"e", 2});
  GraphNumbers graph = graphOf(5, 50);
  EXPECT_EQ(memoryOf(plan, graph).inputBytes, 50 * 4 * 2);
  graph.isSortedByType = true;
  EXPECT_EQ(memoryOf(plan, graph).inputBytes, 0);
}

TEST(MemoryPlanTest, TooLargeNumbersAreRefusedAndNeverWrapAround) {
  Plan plan = chain(2);
  plan.tables[1].shape = {int64_t{1} << 40};
  plan.tables[2].shape = {int64_t{1} << 40, int64_t{1} << 40};
  MemoryPlan memory = memoryOf(plan, graphOf(int64_t{1} << 40, 0));
  EXPECT_EQ(memory.arenaBytes, kLargest);
  EXPECT_EQ(memory.peakBytes(), kLargest);
  Status status = checkMemory(plan, graphOf(int64_t{1} << 40, 0), memory, 0);
  ASSERT_FALSE(status.isOk());
  EXPECT_TRUE(status.message().starts_with("`chain` needs more than 8.0 EiB: tables and scratch memory more than 8.0 "
                                           "EiB (the largest table, `t1`, has 1099511627776 rows and takes"))
      << status.message();
}

TEST(MemoryPlanTest, LimitsAreRefusedWithWhatTakesTheMemory) {
  Plan plan = chain(10);
  plan.steps[0].launch.forms = {form("edges.dst")};
  const GraphNumbers graph = graphOf(1 << 20, 1 << 20);
  MemoryPlan memory = memoryOf(plan, graph);
  Status status = checkMemory(plan, graph, memory, memory.peakBytes() - 1);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(),
            "`chain` needs 136.0 MiB: tables and scratch memory 128.0 MiB (the largest table, `t1`, has "
            "1048576 rows and takes 64.0 MiB), index arrays 8.0 MiB; the limit is 136.0 MiB");
  EXPECT_TRUE(checkMemory(plan, graph, memory, memory.peakBytes()).isOk());
}

TEST(MemoryPlanTest, EmptyTablesTakeNothing) {
  Plan plan = chain(2);
  plan.tables[1].shape = {int64_t{1} << 62, 8};
  EXPECT_EQ(memoryOf(plan, graphOf(0, 0)).arenaBytes, 0);
}

// --- on a GPU -------------------------------------------------------------------------------------------------------

TEST(DeviceMemoryTest, BlocksAreAlignedTo256Bytes) {
  std::vector<Block> blocks = {{100, 0, 0}, {60, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(placeBlocks(blocks, 256), 513);
  EXPECT_EQ(blocks[1].offset, 256);
}

TEST(DeviceMemoryTest, BuffersLiveWhileTheirLaunchRuns) {
  Plan plan = chain(3);
  for (Step &step : plan.steps) {
    step.launch.device.emplace();
    step.launch.device->buffers = {{"b", Domain::Edge, {64}}};
  }
  const MemoryPlan memory = planDeviceMemory(plan, graphOf(4, 50), std::vector<LaunchNumbers>(3));
  // The three share 12,800 bytes; two tables of 256 bytes are needed besides.
  EXPECT_EQ(memory.arenaBytes, 50 * 64 * 4 + 2 * 256);
  for (int step = 0; step < 3; ++step) {
    const Block &buffer = memory.launches[step].buffers[0];
    EXPECT_EQ(buffer.bytes, 50 * 64 * 4);
    for (int table : {step, step + 1})
      EXPECT_FALSE(shareBytes(buffer, memory.tables[table].block));
  }
}

TEST(DeviceMemoryTest, BlocksWithPlacesOfTheirOwnShareNoBytes) {
  Plan plan = chain(3);
  for (Step &step : plan.steps) {
    step.launch.device.emplace();
    step.launch.device->buffers = {{"b", Domain::Edge, {64}}};
  }
  const std::vector<LaunchNumbers> launches(3);
  const MemoryPlan shared = planDeviceMemory(plan, graphOf(4, 50), launches);
  const MemoryPlan own = planDeviceMemory(plan, graphOf(4, 50), launches, Places::Own);
  EXPECT_GT(own.arenaBytes, shared.arenaBytes);
  for (int step = 0; step < 3; ++step) {
    const Block &buffer = own.launches[step].buffers[0];
    EXPECT_EQ(buffer.first, step);
    EXPECT_EQ(buffer.last, step);
    for (int other = 0; other < step; ++other)
      EXPECT_FALSE(shareBytes(buffer, own.launches[other].buffers[0]));
  }
}

TEST(DeviceMemoryTest, BlocksOfChunksCarryTwoParts) {
  Plan plan = chain(1);
  DeviceLaunch &device = plan.steps[0].launch.device.emplace();
  device.schedule = Schedule::Chunks;
  device.lanes = 8;
  device.partBytes = 48;
  const MemoryPlan memory = planDeviceMemory(plan, graphOf(4, 50), std::vector<LaunchNumbers>{{5, 0}});
  EXPECT_EQ(memory.launches[0].carry.bytes, 5 * 2 * 8 * 48);
  EXPECT_FALSE(shareBytes(memory.launches[0].carry, memory.tables[1].block));
}

TEST(DeviceMemoryTest, ThreadsHaveNoScratch) {
  Plan plan = chain(1);
  plan.steps[0].launch.scratch.bytes = 1000;
  EXPECT_EQ(planDeviceMemory(plan, graphOf(0, 0), std::vector<LaunchNumbers>(1)).arenaBytes, 0);
}

TEST(DeviceMemoryTest, InputsAndArraysOfKernelsAreCopied) {
  Plan plan = chain(1);
  plan.tables.push_back({"e", Domain::Edge, {4}, Storage::BF16, Order::ByType});
  plan.inputs.push_back({"e", 2});
  plan.steps[0].launch.forms = {form("edges.dst"), form("edge_src.dst"), form("edges.dst")};
  GraphNumbers graph = graphOf(5, 50);
  const MemoryPlan memory = planDeviceMemory(plan, graph, std::vector<LaunchNumbers>(1));
  EXPECT_EQ(memory.inputBytes, 5 * 16 * 4 + 50 * 4 * 2);
  EXPECT_EQ(memory.indexBytes, (6 + 50) * 4);  // the permutation of `e` stays on the host
  graph.wideIds = true;
  EXPECT_EQ(planDeviceMemory(plan, graph, std::vector<LaunchNumbers>(1)).indexBytes, (6 + 50) * 8);
}

TEST(DeviceMemoryTest, PermutationsAreOnTheDeviceWhereTheCallersTensorsAre) {
  Plan plan = chain(1);
  plan.tables.push_back({"e", Domain::Edge, {4}, Storage::BF16, Order::ByType});
  plan.inputs.push_back({"e", 2});
  plan.outputs.push_back({"e", 2});
  const GraphNumbers graph = graphOf(5, 50);
  const std::vector<LaunchNumbers> launches(1);
  EXPECT_EQ(planDeviceMemory(plan, graph, launches).indexBytes, 0);
  EXPECT_EQ(planDeviceMemory(plan, graph, launches, Places::Shared, Outputs::Outside).indexBytes, 50 * 4);
}

TEST(DeviceMemoryTest, SizesOfArraysAreKnownBeforeTheyAreBuilt) {
  for (IdWidth width : {IdWidth::Fitting, IdWidth::Wide})
    for (const TestGraph &test : unkindGraphs()) {
      const Graph graph = test.make(width);
      Plan plan;
      plan.tables = {{"s", Domain::SrcPair, {}}, {"d", Domain::DstPair, {}}};  // so that pairs are counted
      const GraphNumbers numbers = graphNumbers(plan, graph);
      for (const Form &form : allForms()) {
        Result<const IdArray *> array = resolve(graph, form);
        if (array)
          EXPECT_EQ(arrayBytes(form, numbers), (*array)->numBytes()) << test.name << " " << formName(form);
        else
          EXPECT_EQ(form.kind, FormKind::RelationType);
      }
    }
}
