#include "driver/Program.h"

#include "compiler/Analysis/Machine.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "driver/TestLayer.h"

#include <gtest/gtest.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

#include <set>

namespace hector {
namespace {

std::string print(const Program &program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  program.module().print(out);
  return text;
}

Result<Program> import(const std::string &text, const Settings &settings, const ProgramOptions &options) {
  auto model = parseModel(text, "model.hec");
  if (!model)
    return model.status();
  auto binding = bind(*model, settings);
  if (!binding)
    return binding.status();
  return Program::import(*model, *binding, options);
}

const Settings kSizes = {.attributes = {}, .sizes = {"d=2", "k=3"}};
const ProgramOptions kAllGradients = {.numbers = NumberType::F32, .gradients = std::vector<std::string>()};

ProgramOptions gradientsOf(std::vector<std::string> names) {
  return {.numbers = NumberType::F32, .gradients = std::move(names)};
}

TEST(Program, ASizeWithoutAValueIsReportedWithItsPlace) {
  auto program = import(kLayer, {}, {});
  ASSERT_FALSE(program);
  EXPECT_TRUE(program.status().isLocated());
  EXPECT_TRUE(program.status().message().starts_with("model.hec:1:")) << program.status().message();
}

TEST(Program, OnlyGradientsThatAreAskedForAreDerived) {
  auto program = import(kLayer, kSizes, gradientsOf({"b"}));
  ASSERT_TRUE(program) << program.status().message();
  ASSERT_TRUE(program->runPasses("none").isOk());
  EXPECT_EQ(program->function().getNumResults(), 3u);  // out, sum, grad.b
}

TEST(Program, AGradientOfNoInputIsRefused) {
  auto program = import(kLayer, kSizes, gradientsOf({"w"}));
  ASSERT_FALSE(program);
  EXPECT_EQ(program.status().message(), "model `layer` has no input `w` for --grad; did you mean `W`?");
}

TEST(Program, AMachineIsWrittenOnTheFunction) {
  auto program = import(kLayer, kSizes, {});
  ASSERT_TRUE(program) << program.status().message();
  program->attachMachine({"mine", MachineTarget::Gpu, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_NE(
      print(*program).find("#flow.machine<target = gpu, bandwidth = 1, cacheBytes = 2, lineBytes = 3, randomReads "
                           "= 4, cachedReads = 5, productRate = 6, scalarRate = 7, launch = 8>"),
      std::string::npos)
      << print(*program);
}

TEST(Program, ThePassesDefaultIsTheShippedOne) {
  auto program = import(kLayer, kSizes, {});
  ASSERT_TRUE(program) << program.status().message();
  program->attachMachine(defaultMachine());
  EXPECT_EQ(program->function()->getAttr("flow.machine"), flow::Machine().toAttr(program->module().getContext()));
}

TEST(Program, ClonesGoTheirOwnWays) {
  auto program = import(kLayer, kSizes, kAllGradients);
  ASSERT_TRUE(program) << program.status().message();
  const std::string before = print(*program);
  Program copy = program->clone();
  ASSERT_TRUE(copy.runPasses("default").isOk());
  EXPECT_EQ(print(*program), before);
  EXPECT_NE(print(copy), before);
}

TEST(Program, ACloneOutlivesItsOrigin) {
  std::optional<Program> copy;
  {
    auto program = import(kLayer, kSizes, {});
    ASSERT_TRUE(program) << program.status().message();
    copy = program->clone();
  }
  EXPECT_TRUE(copy->runPasses("default").isOk());
}

TEST(Program, RemarksComeOnceAndWithPlaces) {
  auto program = import(kLayer, kSizes, kAllGradients);
  ASSERT_TRUE(program) << program.status().message();
  PassOutput output;
  std::vector<std::tuple<unsigned, unsigned, std::string>> remarks;
  output.onRemark = [&](const Remark &remark) {
    EXPECT_EQ(remark.model, "model.hec");
    remarks.emplace_back(remark.line, remark.column, remark.text);
  };
  size_t numPlans = 0;
  output.onPlans = [&](const std::vector<PlanCost> &plans) {
    EXPECT_TRUE(remarks.empty());
    numPlans = plans.size();
  };
  testing::internal::CaptureStderr();
  ASSERT_TRUE(program->runPasses("default", output).isOk());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(numPlans, 1u);
  ASSERT_FALSE(remarks.empty());
  EXPECT_EQ(std::set(remarks.begin(), remarks.end()).size(), remarks.size());
  EXPECT_TRUE(llvm::any_of(remarks, [](const auto &remark) { return std::get<0>(remark) == 3; }));
}

TEST(Program, AnUnknownPassIsRefusedWithoutAPrefix) {
  auto program = import(kLayer, kSizes, {});
  ASSERT_TRUE(program) << program.status().message();
  Status status = program->runPasses("compact-row");
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("compact-rows"), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("error"), std::string::npos) << status.message();
}

TEST(Program, AGraphThatLacksWhatTheModelReliesOnIsRefused) {
  auto program = import("def f(g, K: NodeType[d], w: Edge[d]):\n    for e in g.edges():\n"
                        "        e[\"y\"] = e.w * K[e.etype.src_ntype]\n    return e[\"y\"]\n",
                        {.attributes = {}, .sizes = {"d=2"}}, {});
  ASSERT_TRUE(program) << program.status().message();
  // Edges of one type that start at nodes of two types.
  const std::vector<int64_t> src = {0, 1}, dst = {0, 0}, etype = {0, 0}, ntypePtr = {0, 1, 2};
  auto graph = Graph::create(src, dst, etype, ntypePtr, 1);
  ASSERT_TRUE(graph) << graph.status().message();
  Status status = program->attachGraph(*graph);
  EXPECT_FALSE(status.isOk());
  EXPECT_FALSE(program->function()->hasAttr("flow.graph"));
}

TEST(Program, AGraphThatLacksWhatThePlanReliesOnIsRefused) {
  // Weights of the nodes' types and of relations are multiplied first if a relation has one type of sources.
  const std::string text = "def f(g, x: Node[d], V: NodeType[d, d], W: EdgeType[d, d]):\n    for e in g.edges():\n"
                           "        e[\"y\"] = e.src.x * V[e.src.ntype] * W[e.etype]\n    return e[\"y\"]\n";
  constexpr int64_t kEdges = 1000;
  const std::vector<int64_t> etype(kEdges, 0), dst(kEdges, 0), ntypePtr = {0, kEdges / 2, kEdges};
  std::vector<int64_t> ofOneType, ofBoth;
  for (int64_t edge = 0; edge < kEdges; ++edge) {
    ofOneType.push_back(edge % (kEdges / 2));
    ofBoth.push_back(edge);
  }
  auto uniform = Graph::create(ofOneType, dst, etype, ntypePtr, 1);
  auto mixed = Graph::create(ofBoth, dst, etype, ntypePtr, 1);
  ASSERT_TRUE(uniform && mixed);
  for (const char *passes : {"none", "default"}) {
    auto program = import(text, {.attributes = {}, .sizes = {"d=64"}}, {});
    ASSERT_TRUE(program) << program.status().message();
    ASSERT_TRUE(program->attachGraph(*uniform).isOk());
    ASSERT_TRUE(program->runPasses(passes).isOk());
    EXPECT_TRUE(program->attachGraph(*uniform).isOk());
    Status status = program->attachGraph(*mixed);
    bool relies = std::string(passes) == "default";
    std::string reason = status.isOk() ? "" : status.message();
    EXPECT_EQ(status.isOk(), !relies) << print(*program);
    EXPECT_EQ(reason.find("relation 0 has sources of several node types") != std::string::npos, relies) << reason;
  }
}

TEST(Program, GroupsHoldAllOps) {
  auto program = import(kLayer, kSizes, kAllGradients);
  ASSERT_TRUE(program) << program.status().message();
  ASSERT_TRUE(program->runPasses("default").isOk());
  ASSERT_TRUE(program->formGroups().isOk());
  std::set<std::string> called, made;
  for (mlir::Operation &op : program->function().front().without_terminator()) {
    auto call = mlir::dyn_cast<mlir::func::CallOp>(op);
    ASSERT_TRUE(call) << op.getName().getStringRef().str();
    called.insert(call.getCallee().str());
  }
  for (auto phase : program->module().getOps<mlir::func::FuncOp>()) {
    if (phase == program->function())
      continue;
    made.insert(phase.getName().str());
    for (mlir::Operation &op : phase.front().without_terminator())
      EXPECT_TRUE(mlir::isa<flow::GroupOp>(op)) << op.getName().getStringRef().str();
  }
  EXPECT_EQ(made, (std::set<std::string>{"layer.backward", "layer.forward"}));
  EXPECT_EQ(called, made);
}

}  // namespace
}  // namespace hector
