/// What `default` chooses, for every model, rows narrow and wide, and graphs of different kinds.

#include "Harness.h"
#include "compiler/Analysis/Cost.h"
#include "compiler/Pipelines/Pipelines.h"

#include <gtest/gtest.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <filesystem>

namespace hector::numerics {
namespace {

class PlansTest : public testing::TestWithParam<std::string> {
protected:
  /// The model in flow, with every size the same and one head.
  Result<Program> import(const Model &model, const std::string &size, bool grad) {
    Settings settings;
    for (const language::SizeDecl &declared : model.signature.sizes)
      settings.sizes.push_back(declared.name + "=" + (declared.name == "heads" ? "1" : size));
    auto binding = bindAll(model, settings);
    if (!binding)
      return binding.status();
    ProgramOptions options;
    if (grad)
      options.gradients.emplace();
    return Program::import(model, *binding, options, context);
  }

  /// The numbers of a graph with few relations and many edges for each pair, and of one like aifb.
  std::vector<flow::GraphAttr> graphNumbers() {
    auto numbers = [&](int64_t nodes, int64_t edges, int64_t srcPairs, int64_t dstPairs, int64_t relations) {
      return flow::GraphAttr::get(context.get(), nodes, edges, srcPairs, dstPairs, relations, 7, /*uniform=*/0, {}, {},
                                  {}, {});
    };
    return {numbers(10'000, 1'000'000, 30'000, 40'000, 4), numbers(8'285, 58'086, 29'043, 29'043, 90)};
  }

  std::string text(const Program &program) {
    std::string text;
    llvm::raw_string_ostream out(text);
    program.module().print(out);
    return text;
  }

  std::shared_ptr<mlir::MLIRContext> context = makeContext();
};

double priceOf(const Program &program) {
  return flow::estimate(program.function(), program.groupOptions()).price();
}

TEST_P(PlansTest, DefaultIsHardlyMoreExpensiveThanAnyList) {
  auto model = loadFile("models/" + GetParam() + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  std::vector<std::string> lists = {"none", "C", "R", "C,R"};
  for (std::string_view name : planNames())
    lists.emplace_back(name);
  for (const char *size : {"4", "64"})
    for (bool grad : {false, true}) {
      auto program = import(*model, size, grad);
      ASSERT_TRUE(program) << program.status().message();
      for (flow::GraphAttr numbers : graphNumbers()) {
        program->function()->setAttr("flow.graph", numbers);
        auto compile = [&](const std::string &passes, const PassOutput &output = {}) {
          Program copy = program->clone();
          Status status = copy.runPasses(passes, output);
          EXPECT_TRUE(status.isOk()) << status.message();
          return copy;
        };
        SCOPED_TRACE("rows of " + std::string(size) + ", edges = " + std::to_string(numbers.getEdges()) +
                     (grad ? ", with gradients" : ""));
        std::vector<PlanCost> plans;
        PassOutput output;
        output.onPlans = [&](const std::vector<PlanCost> &weighed) { plans = weighed; };
        Program best = compile("default", output);
        // Ops are put in groups step by step, which may end a little above what other ops give.
        for (const std::string &list : lists)
          EXPECT_LE(priceOf(best), priceOf(compile(list)) * 1.08) << "--passes " << list;
        // What was taken can be asked for by its name.
        auto taken = std::find_if(plans.begin(), plans.end(), [](const PlanCost &plan) { return plan.isTaken; });
        ASSERT_NE(taken, plans.end());
        EXPECT_EQ(taken->price, priceOf(best));
        EXPECT_EQ(text(compile(taken->name)), text(best)) << "--passes " << taken->name;
      }
    }
}

std::vector<std::string> modelNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(HECTOR_SOURCE_DIR "/models"))
    if (entry.path().extension() == ".hec")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, PlansTest, testing::ValuesIn(modelNames()),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
