#include "compiler/Target/Cuda/Bands.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace hector;
using namespace hector::exec;

namespace {

/// Loops over relations, loop `i` of which reads table 0 and writes table 1 + i, that may all share a launch.
class BandsTest : public testing::Test {
protected:
  void addLoops(int count) {
    for (int i = 0; i < count; ++i) {
      Launch launch = {.kernel = "k" + std::to_string(i), .label = std::to_string(i), .domain = Domain::EdgeType};
      launch.inputs = {0};
      launch.outputs = {1 + i};
      launch.device = DeviceLaunch{.schedule = Schedule::Units, .lanes = 32};
      plan.steps.push_back({Phase::Weights, launch});
    }
    for (int i = 0; i <= count; ++i)
      plan.tables.push_back({"t" + std::to_string(i), Domain::EdgeType, {}});
  }
  /// The labels of the launches that are left.
  std::vector<std::string> share() {
    kernels = shareLaunches(plan, std::vector<bool>(plan.steps.size(), true), "p_");
    std::vector<std::string> labels;
    for (const Step &step : plan.steps)
      labels.push_back(step.launch.label);
    return labels;
  }
  Launch &launch(int i) { return plan.steps.at(i).launch; }
  DeviceLaunch &device(int i) { return *launch(i).device; }

  Plan plan;
  std::vector<BandsKernel> kernels;
};
using Labels = std::vector<std::string>;

TEST_F(BandsTest, LaunchesThatAreBesideEachOtherBecomeOne) {
  addLoops(3);
  device(1).lanes = 1;
  device(1).sharedBytes = 64;
  launch(1).totals = {{TotalSpec::Slots::Rows, Domain::EdgeType, 64, "k1_join", 0}};
  launch(2).totals = {{TotalSpec::Slots::Rows, Domain::EdgeType, 128, "k2_join", 0}};
  EXPECT_EQ(share(), Labels{"0+1+2"});
  const Launch &shared = launch(0);
  EXPECT_EQ(shared.kernel, "p_relation_loops");
  EXPECT_EQ(shared.inputs, std::vector<int>{0});
  EXPECT_EQ(shared.outputs, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(shared.totals.size(), 2u);
  EXPECT_EQ(shared.totals[0].output, 1);
  EXPECT_EQ(shared.totals[1].output, 2);
  for (const TotalSpec &total : shared.totals)
    EXPECT_EQ(total.join, "p_relation_loops_join");
  EXPECT_EQ(shared.device->bands, 3);
  EXPECT_EQ(shared.device->lanes, 32);
  EXPECT_EQ(shared.device->sharedBytes, 64);
  // The table that is read, three that are written, and two totals.
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].bands.at(0).parameters, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(kernels[0].bands.at(1).parameters, (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(kernels[0].bands.at(2).parameters, (std::vector<size_t>{0, 3, 5}));
}

TEST_F(BandsTest, OthersHaveLaunchesOfTheirOwn) {
  addLoops(4);
  kernels = shareLaunches(plan, {true, false, true, false}, "p_");
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(launch(1).label, "1+2");
}

TEST_F(BandsTest, ReadersAndWritersOfATableHaveLaunchesOfTheirOwn) {
  addLoops(3);
  launch(2).inputs = {0, 1};
  EXPECT_EQ(share(), (Labels{"0+1", "2"}));
}

TEST_F(BandsTest, PhasesDomainsAndBlocksAreTheSame) {
  addLoops(2);
  const Plan loops = plan;
  auto sharedIf = [&](auto &&change) {
    plan = loops;
    change();
    return share().size() == 1;
  };
  EXPECT_TRUE(sharedIf([] {}));
  EXPECT_FALSE(sharedIf([&] { plan.steps[1].phase = Phase::Forward; }));
  EXPECT_FALSE(sharedIf([&] { launch(1).domain = Domain::NodeType; }));
  EXPECT_FALSE(sharedIf([&] { device(1).threads = 128; }));
  EXPECT_FALSE(sharedIf([&] { device(1).schedule = Schedule::Pieces; }));
  EXPECT_FALSE(sharedIf([&] { device(0).schedule = device(1).schedule = Schedule::Chunks; }));
  // Blocks that take rows one by one, whatever tiles the units had.
  EXPECT_TRUE(sharedIf([&] { device(1).schedule = Schedule::Tiles, device(0).tileRows = 32; }));
  EXPECT_EQ(device(0).schedule, Schedule::Tiles);
  EXPECT_EQ(device(0).tileRows, 1);
  EXPECT_FALSE(sharedIf([&] { device(1).schedule = Schedule::Tiles, device(1).tileRows = 32; }));
  auto areTiles = [&](int64_t a, int64_t b) {
    device(0).schedule = device(1).schedule = Schedule::Tiles;
    device(0).tileRows = a;
    device(1).tileRows = b;
  };
  EXPECT_TRUE(sharedIf([&] { areTiles(32, 32); }));
  EXPECT_FALSE(sharedIf([&] { areTiles(32, 16); }));
}

TEST_F(BandsTest, ALaunchHasSoManyBandsAndParameters) {
  addLoops(kMostBands + 2);
  const std::vector<std::string> labels = share();
  EXPECT_EQ(labels, (Labels{"0+1+2+13", "16+17"}));
  EXPECT_EQ(kernels.at(1).symbol, "p_relation_loops_2");
  plan = {};
  addLoops(3);
  for (int i = 0; i < 3; ++i)
    launch(i).inputs = std::vector<int>(100, 0);
  EXPECT_EQ(share(), (Labels{"0+1", "2"}));
}

TEST_F(BandsTest, NamesOfTablesBecomeNamesOfParameters) {
  addLoops(3);
  plan.tables[0].name = "grad.out";
  plan.tables[1].name = "float";
  plan.tables[2].name = "k1_band";
  plan.tables[3].name = "x";
  share();
  std::map<std::string, BandFacts> facts;
  for (int i = 0; i < 3; ++i)
    facts["k" + std::to_string(i)].parameters = {{"const float *", "x"}, {"float *", "y", i != 2}};
  Writer out;
  writeBands(out, kernels.at(0), facts);
  std::string text = out.text();
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (const char *expected :
       {"const float *__restrict__ grad_out,", "float *__restrict__ float_2,", "float *__restrict__ k1_band_2,",
        "float *x, ", "k0_band(grad_out, float_2, sizes);", "k1_band(grad_out, k1_band_2, sizes);"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " in " << text;
}

}  // namespace
