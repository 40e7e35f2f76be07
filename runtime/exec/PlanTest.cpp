#include "runtime/exec/Plan.h"

#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <limits>

using namespace hector;
using namespace hector::exec;

namespace {

/// What is wrong with the example once it is changed.
template <class F> std::string faultOf(F &&change) {
  Plan plan = example::plan();
  change(plan);
  Status status = checkPlan(plan);
  if (status.isOk())
    return "";
  const std::string start = "the plan of `example` is damaged: ";
  EXPECT_TRUE(status.message().starts_with(start)) << status.message();
  return status.message().substr(start.size());
}

}  // namespace

TEST(PlanTest, ExamplePasses) {
  EXPECT_EQ(faultOf([](Plan &) {}), "");
}

TEST(PlanTest, TablesThatDoNotExist) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[0].launch.outputs = {99}; }),
            "step 0 (in_degree) writes a table that does not exist");
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[1].launch.inputs = {-1}; }),
            "step 1 (twice) reads a table that does not exist");
  EXPECT_EQ(faultOf([](Plan &p) { p.inputs[0].table = 99; }), "input `x` has no table of its own");
}

TEST(PlanTest, ReadsBeforeAnyWrite) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[2].launch.inputs = {example::Out}; }),
            "step 2 (scale_rows) reads table `out`, which nothing has written");
}

TEST(PlanTest, InputsAreNotWritten) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[2].launch.outputs = {example::X}; }), "step 2 (scale_rows) writes input `x`");
}

TEST(PlanTest, WhatRunsOncePerGraphReadsNoInputs) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[0].launch.inputs = {example::X}; }),
            "step 0 (in_degree) reads input `x`, but runs once per graph");
}

TEST(PlanTest, TablesOfEarlierPhasesStay) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[2].launch.outputs.push_back(example::Twice); }),
            "step 2 (scale_rows) writes table `twice`, which an earlier phase has left for several runs");
}

TEST(PlanTest, PhasesAreInOrder) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[3].phase = Phase::Graph; }),
            "step 3 (gather) belongs to an earlier phase than the step before it");
}

TEST(PlanTest, OutputsAreComputed) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps.pop_back(); }), "nothing computes output `gtype`");
}

TEST(PlanTest, GradientsHaveTheRowsOfWhatTheyAreOf) {
  EXPECT_EQ(faultOf([](Plan &p) { p.outputs.push_back({"grad.x", example::Out}); }), "");
  EXPECT_EQ(faultOf([](Plan &p) { p.outputs.push_back({"grad.w", example::Out}); }),
            "`grad.w` has other rows than `w`");
  EXPECT_EQ(faultOf([](Plan &p) { p.tables[example::GOut].shape = {3}; }), "`grad.out` has other rows than `out`");
}

TEST(PlanTest, BalanceCountsTheUnits) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[3].launch.balance = form("place_edges.dst"); }),
            "step 3 (gather) is balanced by place_edges.dst, which has no entries for its units");
}

TEST(PlanTest, ScratchIsForRowsBelowUnits) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[3].launch.balance.reset(); }),
            "step 3 (gather) has scratch memory for rows that are not below its units");
}

TEST(PlanTest, TotalsHaveAJoin) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[4].launch.totals[0].join = ""; }),
            "step 4 (sum_by_type) has a total and no join");
}

TEST(PlanTest, TotalsFillTablesOfTheirOwn) {
  const std::string fault = "step 4 (sum_by_type) has a total without a table of its own to fill";
  for (int output : {-1, 1, std::numeric_limits<int>::max()})
    EXPECT_EQ(faultOf([&](Plan &p) { p.steps[4].launch.totals[0].output = output; }), fault) << output;
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[4].launch.totals[0].target = Domain::One; }), fault);
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[4].launch.totals.push_back(p.steps[4].launch.totals[0]); }), fault);
}

TEST(PlanTest, TotalsAreJoinedTogetherOnAGpu) {
  EXPECT_EQ(faultOf([](Plan &p) {
              p = example::devicePlan();
              p.steps[4].launch.totals.push_back(p.steps[4].launch.totals[0]);
              p.steps[4].launch.totals[1].join = "another";
            }),
            "step 4 (sum_by_type) has totals that are not joined together, as they are on a GPU");
}

TEST(PlanTest, RowsHaveSlotsOnAGpuOnly) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[4].launch.totals[0].slots = TotalSpec::Slots::Rows; }),
            "step 4 (sum_by_type) has totals with a slot for each row, which only launches on a GPU have");
  EXPECT_EQ(faultOf([](Plan &p) {
              p = example::devicePlan();
              p.steps[4].launch.totals[0].slots = TotalSpec::Slots::Rows;
              p.steps[4].launch.device->schedule = Schedule::Units;
            }),
            "");
}

/// What is wrong with the example on a GPU once its last launch is changed.
template <class F> static std::string deviceFaultOf(F &&change) {
  return faultOf([&](Plan &plan) {
    plan = example::devicePlan();
    change(*plan.steps.back().launch.device);
  });
}

TEST(PlanTest, GridsArePossible) {
  const std::string step = "step 6 (sum_unsorted) has ";
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &) {}), "");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.lanes = 24; }),
            step + "groups of 24 lanes, which is no power of 2 up to 32");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.lanes = 0; }),
            step + "groups of 0 lanes, which is no power of 2 up to 32");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.lanes = 256; }),
            step + "groups of 256 lanes, which is no power of 2 up to 32");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.schedule = Schedule::Tiles, d.lanes = 256; }), "");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.threads = 100; }),
            step + "blocks of 100 threads, which is no multiple of 32 up to 1024");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.threads = 2048; }),
            step + "blocks of 2048 threads, which is no multiple of 32 up to 1024");
  const std::string ofBands = " of blocks; 1 to 16 are possible, and 1 of chunks";
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.bands = 16; }), "");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.bands = 17; }), step + "17 bands" + ofBands);
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.bands = 0; }), step + "0 bands" + ofBands);
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.schedule = Schedule::Chunks, d.bands = 2; }),
            step + "2 bands" + ofBands);
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.sharedBytes = -1; }),
            step + "blocks with -1 bytes of shared memory; 0 to 232448 are possible");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.sharedBytes = int64_t{1} << 40; }),
            step + "blocks with 1099511627776 bytes of shared memory; 0 to 232448 are possible");
  for (Schedule schedule : {Schedule::Units, Schedule::Chunks})
    EXPECT_EQ(deviceFaultOf([=](DeviceLaunch &d) { d.schedule = schedule; }), step + "totals, but no pieces");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.schedule = static_cast<Schedule>(9); }),
            step + "a schedule that does not exist");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.schedule = Schedule::Tiles; }), "");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.tileRows = 0; }), step + "tiles of 0 rows; 1 to 1024 are possible");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.rows = static_cast<Domain>(7); }),
            "step 6 (sum_unsorted) walks rows of no domain");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.partBytes = -16; }),
            step + "parts of -16 bytes per lane; 0 to 65536 are possible");
  EXPECT_EQ(deviceFaultOf([](DeviceLaunch &d) { d.buffers = {{"b", Domain::Edge, {0}}}; }),
            step + "a buffer `b` that has rows of an extent of 0");
}

TEST(PlanTest, AllLaunchesRunOnOneDevice) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[2].launch.device.emplace(); }),
            "step 2 (scale_rows) runs on another kind of device than the first step");
}

TEST(PlanTest, PairsHaveTheOrderOfTheirOwnEnd) {
  EXPECT_EQ(faultOf([](Plan &p) { p.tables[example::H] = {"h", Domain::SrcPair, {2}, Storage::F32, Order::ByDst}; }),
            "table `h` has the pairs of one end in the order of the other");
}

TEST(PlanTest, ValuesThatNoEnumerationHas) {
  const auto none = static_cast<Domain>(99);
  EXPECT_EQ(faultOf([&](Plan &p) { p.tables[0].domain = none; }), "table `x` has no domain");
  EXPECT_EQ(faultOf([](Plan &p) { p.tables[0].storage = static_cast<Storage>(9); }),
            "table `x` has no type or no order");
  EXPECT_EQ(faultOf([&](Plan &p) { p.steps[1].launch.domain = none; }), "step 1 (twice) has no domain");
  EXPECT_EQ(faultOf([&](Plan &p) { p.steps[1].launch.scratch.domain = none; }), "step 1 (twice) has no domain");
  EXPECT_EQ(faultOf([&](Plan &p) { p.steps[4].launch.totals[0].target = none; }),
            "step 4 (sum_by_type) has a total of no domain");
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[6].phase = static_cast<Phase>(7); }),
            "step 6 (sum_unsorted) belongs to no phase");
  EXPECT_EQ(faultOf([](Plan &p) { p.relationEnds = {static_cast<Side>(2)}; }),
            "it relies on an end of relations that does not exist");
  EXPECT_EQ(faultOf([](Plan &p) {
              p.steps[0].launch.forms = {{.kind = FormKind::EdgeRow, .from = static_cast<EdgeOrder>(9)}};
            }),
            "step 0 (in_degree) reads a form that does not exist");
}

TEST(PlanTest, RowsHaveANumberOfBytes) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_EQ(faultOf([&](Plan &p) { p.tables[0].shape = {large, large}; }),
            "table `x` has rows of more than 288230376151711744 numbers");
  EXPECT_EQ(faultOf([&](Plan &p) { p.tables[0].shape = {large}; }), "");
}

TEST(PlanTest, LaunchesHaveAKernel) {
  EXPECT_EQ(faultOf([](Plan &p) { p.steps[0].launch.kernel = ""; }), "step 0 (in_degree) has no kernel");
}

TEST(PlanTest, ScratchFollowsTheUnits) {
  Launch launch = {.domain = Domain::DstPair, .scratch = {.bytesPerRow = 4, .domain = Domain::Edge}};
  EXPECT_EQ(scratchOffsets(launch), form("place_edges.dst"));
  launch.domain = Domain::Node;
  EXPECT_EQ(scratchOffsets(launch), std::nullopt);
  launch.balance = form("places.src");
  EXPECT_EQ(scratchOffsets(launch), form("edges.src"));
  launch.scratch.domain = Domain::DstPair;
  EXPECT_EQ(scratchOffsets(launch), form("places.dst"));
  launch.scratch.bytesPerRow = 0;
  EXPECT_EQ(scratchOffsets(launch), std::nullopt);
}
