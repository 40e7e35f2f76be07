#include "runtime/exec/PlanText.h"

#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

using namespace hector;
using namespace hector::exec;

namespace {

PlanOrigin origin() {
  PlanOrigin origin;
  origin.modelPath = "models/example.hec";
  origin.entry = "example";
  origin.numbers = "f32";
  origin.passes = "default,-compact";
  origin.attributes = {"heads=4", "act=relu"};
  origin.sizes = {"d=2"};
  return origin;
}

std::string exampleText() {
  return planText(example::plan(), origin());
}

PlanOrigin cudaOrigin() {
  PlanOrigin some = origin();
  some.backend = kCuda;
  return some;
}

std::string cudaText() {
  return planText(example::devicePlan(), cudaOrigin());
}

void expectSame(const Plan &plan, const PlanOrigin &origin) {
  const std::string text = planText(plan, origin);
  Result<ParsedPlan> parsed = parsePlanText(text);
  ASSERT_TRUE(parsed) << parsed.status().message() << "\n" << text;
  EXPECT_TRUE(parsed->plan == plan) << text << "\nis read as\n" << planText(parsed->plan, parsed->origin);
  EXPECT_TRUE(parsed->origin == origin) << text;
}

/// What is wrong with the example once a part of its text is replaced.
std::string faultOf(const std::string &part, const std::string &replacement, std::string text = exampleText()) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part << " is not in\n" << text;
  if (at == std::string::npos)
    return "";
  text.replace(at, part.size(), replacement);
  Result<ParsedPlan> parsed = parsePlanText(text);
  return parsed ? "" : parsed.status().message();
}

}  // namespace

TEST(PlanTextTest, IsReadAsItWasWritten) {
  expectSame(example::plan(), origin());
}

TEST(PlanTextTest, ReadsAllThatAPlanMayHave) {
  Plan plan = example::plan(true);
  plan.relationEnds = {Side::Destination, Side::Source};
  for (int domain = 0; domain < Domain::NumDomains; ++domain)
    plan.tables.push_back({"t", static_cast<Domain>(domain), {3, 1, 2}});
  for (int storage = 0; storage <= static_cast<int>(Storage::Index); ++storage)
    plan.tables.push_back({"t", Domain::Edge, {}, static_cast<Storage>(storage)});
  for (int order = 0; order <= static_cast<int>(Order::BySrc); ++order)
    plan.tables.push_back({"t", Domain::Edge, {}, Storage::F32, static_cast<Order>(order)});
  plan.steps[2].launch.forms = allForms();
  plan.steps[2].launch.unitCost = 0.1;
  plan.steps[2].launch.scratch = {128, 0, Domain::Node};
  PlanOrigin some = origin();
  some.gradients.emplace();
  expectSame(plan, some);
  some.gradients = {"W", "q"};
  expectSame(plan, some);
}

TEST(PlanTextTest, ReadsAllThatALaunchMayHaveOnAGpu) {
  Plan plan = example::devicePlan();
  expectSame(plan, cudaOrigin());
  auto device = [&](size_t step) -> DeviceLaunch & { return *plan.steps[step].launch.device; };
  device(0) = {.schedule = Schedule::Units, .lanes = 32, .threads = 1024, .sharedBytes = kMostSharedBytes};
  device(2) = {.schedule = Schedule::Chunks, .lanes = 8, .threads = 64, .rows = Domain::DstPair, .partBytes = 80};
  device(3) = {.schedule = Schedule::Chunks, .lanes = 1, .partBytes = 16};
  device(4) = {.schedule = Schedule::Tiles, .blocks = 32, .tileRows = 64};
  device(6) = {.schedule = Schedule::Units, .lanes = 256, .bands = kMostBands};
  plan.steps[6].launch.totals.at(0).slots = TotalSpec::Slots::Rows;
  device(4).buffers = {{"row", Domain::Edge, {3, 2}, Storage::F64, Order::BySrc}, {"a b", Domain::SrcPair, {}}};
  expectSame(plan, cudaOrigin());
}

TEST(PlanTextTest, PlansForGpusHaveAPrecision) {
  EXPECT_EQ(
      faultOf("precision highest\n", "", cudaText()),
      "the plan of `example` is damaged: its backend is `cuda`, and it has no line `precision`, which those for a "
      "GPU have");
  EXPECT_EQ(
      faultOf("ids 32\n", "ids 32\nprecision high\n"),
      "the plan of `example` is damaged: its backend is `cpu`, and it has a line `precision`, which those for a GPU "
      "have");
  EXPECT_EQ(faultOf("precision highest", "precision 3", cudaText()),
            "line 6 has `3` where highest or high is expected");
}

TEST(PlanTextTest, LaunchesAreForTheBackend) {
  EXPECT_EQ(faultOf("backend cuda", "backend cpu", cudaText()),
            "the plan of `example` is damaged: its backend is `cpu`, but its launches are for a GPU");
  EXPECT_EQ(faultOf("backend cpu", "backend cuda"),
            "the plan of `example` is damaged: its backend is `cuda`, but its launches are for a CPU");
  EXPECT_EQ(faultOf("  device units lanes=1 threads=256\n", "", cudaText()),
            "the plan of `example` is damaged: step 1 (twice) runs on another kind of device than the first step");
}

TEST(PlanTextTest, GridsAreChecked) {
  const std::string step = "the plan of `example` is damaged: step 0 (in_degree) ";
  EXPECT_EQ(faultOf("lanes=1 ", "lanes=3 ", cudaText()),
            step + "has groups of 3 lanes, which is no power of 2 up to 32");
  EXPECT_EQ(faultOf("threads=256", "threads=0", cudaText()),
            step + "has blocks of 0 threads, which is no multiple of 32 up to 1024");
  EXPECT_EQ(faultOf("threads=256", "threads=4294967552", cudaText()),
            "line 45 has `4294967552` for `threads`; expected a whole number from 0 to 2147483647");
  EXPECT_EQ(faultOf("threads=256", "threads=256 shared_bytes=9223372036854775807", cudaText()),
            step + "has blocks with 9223372036854775807 bytes of shared memory; 0 to 232448 are possible");
  EXPECT_EQ(faultOf("threads=256", "threads=256 part_bytes=65552", cudaText()),
            step + "has parts of 65552 bytes per lane; 0 to 65536 are possible");
  EXPECT_EQ(faultOf("threads=256", "threads=256 blocks=33", cudaText()),
            step + "has 33 blocks for a multiprocessor; 1 to 32 are possible");
  EXPECT_EQ(faultOf("threads=256", "threads=256 tile_rows=0", cudaText()),
            step + "has tiles of 0 rows; 1 to 1024 are possible");
  EXPECT_EQ(faultOf("threads=256", "threads=256 rows=-1", cudaText()),
            "line 45 has `-1` where one, ntype, etype, node, src_pair, dst_pair or edge is expected");
  EXPECT_EQ(faultOf("device units", "device rows", cudaText()),
            "line 45 has `rows` where units, pieces, tiles or chunks is expected");
}

TEST(PlanTextTest, BuffersAreChecked) {
  const std::string device = "  device units lanes=1 threads=256\n", buffer = "  buffer b domain=edge type=f32 ";
  EXPECT_EQ(faultOf(device, device + buffer + "row=4611686018427387904\n", cudaText()),
            "the plan of `example` is damaged: step 0 (in_degree) has a buffer `b` that has rows of more than "
            "288230376151711744 numbers");
  EXPECT_EQ(faultOf(device, buffer + "\n" + device, cudaText()),
            "line 45 belongs to a line `device`, and the launch has none yet");
}

TEST(PlanTextTest, NamesMayHoldAnything) {
  Plan plan = example::plan();
  plan.name = "a \"name\" with # and = and \\ and \n and ü";
  plan.steps[0].launch.label = "";
  PlanOrigin odd = origin();
  odd.modelPath = std::string("a\0b", 3);
  odd.attributes = {"act=a=b"};
  expectSame(plan, odd);
}

TEST(PlanTextTest, SaysWhatFollowsFromTheRest) {
  const std::string text = exampleText();
  EXPECT_NE(text.find("table 6  h         domain=node  row=2 type=f32  # steps 2 to 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  reads 6 1 4  # h w in_degree\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# forms: edges.dst, "), std::string::npos) << text;
}

TEST(PlanTextTest, CommentsAndBlanksCountForNothing) {
  EXPECT_EQ(faultOf("\nids 32\n", "\n\n   ids    32# bits\n#\n"), "");
}

TEST(PlanTextTest, WhatIsUnknownIsRefused) {
  EXPECT_EQ(faultOf("numbers f32", "numerals f32"),
            "line 4 has the keyword `numerals`, which this version of Hector does not know");
  EXPECT_EQ(faultOf("units node", "units node block=128"),
            "line 41 has the field `block`, which this version of Hector does not know");
  EXPECT_EQ(faultOf("numbers f32", "numbers f32 f64"), "line 4 has the word `f64` too many");
  EXPECT_EQ(faultOf("domain=node", "domain=nodes"),
            "line 14 has `nodes` where one, ntype, etype, node, src_pair, dst_pair or edge is expected");
  EXPECT_EQ(faultOf("forms edges.dst", "forms edges.up"), "line 43 has `edges.up`, which is no form of a graph");
}

TEST(PlanTextTest, WhatIsMissingIsRefused) {
  EXPECT_EQ(faultOf("ids 32\n", ""), "there is no line `ids`");
  EXPECT_EQ(faultOf("numbers f32", "numbers"), "line 4 lacks a type");
  EXPECT_EQ(faultOf(" type=f32", ""), "line 14 lacks the field `type`");
  EXPECT_EQ(faultOf("launch graph in_degree\n", ""), "line 39 belongs to a launch, and there is none yet");
}

TEST(PlanTextTest, RepetitionsAreRefused) {
  EXPECT_EQ(faultOf("ids 32\n", "ids 32\nids 64\n"), "line 11 is the second of its kind");
  EXPECT_EQ(faultOf("  kernel in_degree\n", "  kernel in_degree\n  kernel twice\n"),
            "line 41 is the second of its kind");
  EXPECT_EQ(faultOf("type=f32", "type=f32 type=f64"), "line 14 has the field `type` twice");
}

TEST(PlanTextTest, NumbersHaveBounds) {
  EXPECT_EQ(faultOf("reads 2", "reads -2"),
            "line 49 has `-2` for a table; expected a whole number from 0 to 2147483647");
  EXPECT_EQ(faultOf("reads 2", "reads 99999999999999999999"),
            "line 49 has `99999999999999999999` for a table; expected a whole number from 0 to 2147483647");
  EXPECT_EQ(faultOf("row=2", "row=2x"), "line 14 has `2x` for the shape of a row; expected extents such as 8x64");
  EXPECT_EQ(faultOf("row=2", "row=0"), "line 14 has `0` for the shape of a row; expected extents such as 8x64");
  EXPECT_EQ(faultOf("cost=32768", "cost=many"), "line 41 has `many` for `cost`; expected a number");
  EXPECT_EQ(faultOf("cost=32768", "cost=nan"),
            "the plan of `example` is damaged: step 0 (in_degree) has units of no cost");
  EXPECT_EQ(faultOf("table 1 ", "table 5 "), "line 15 should be that of table 1");
}

TEST(PlanTextTest, QuotesHaveAnEnd) {
  EXPECT_EQ(faultOf("plan example", "plan \"example"), "line 1 has a quote without an end");
  EXPECT_EQ(faultOf("plan example", "plan \"\\xzz\""),
            "line 1 has a `\\` in quotes with neither `\"`, `\\` nor `x` and two hexadecimal digits behind it");
  EXPECT_EQ(faultOf("plan example", "plan \"a\"b"), "line 1 has `b` where a blank is expected");
}

TEST(PlanTextTest, ThePlanIsChecked) {
  EXPECT_EQ(faultOf("reads 2", "reads 99"),
            "the plan of `example` is damaged: step 1 (twice) reads a table that does not exist");
}
