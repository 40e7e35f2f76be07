/// Pipelines on modules that no importer makes.

#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Parser/Parser.h>

namespace hector {
namespace {

/// What became of `default` on a module.
struct Outcome {
  std::vector<PlanCost> plans;
  bool succeeded = false;
  std::string error;  // the first
};

Outcome runDefault(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<flow::FlowDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  Outcome outcome;
  EXPECT_TRUE(module) << text;
  if (!module)
    return outcome;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && outcome.error.empty())
      outcome.error = diagnostic.str();
  });
  PipelineOptions options;
  options.differentiate = true;
  options.onWeighed = [&](const std::vector<PlanCost> &plans) { outcome.plans = plans; };
  PipelineResult result = runPipeline(*module, "default", options);
  EXPECT_FALSE(result.wrong.has_value()) << *result.wrong;
  outcome.succeeded = !result.hasFailed;
  return outcome;
}

const std::string kExp = "func.func @f(%x: !flow.rows<node, f32, device>) -> !flow.rows<node, f32, device> {\n"
                         "%y = flow.exp %x : <node, f32, device> -> <node, f32, device>\n"
                         "return %y : !flow.rows<node, f32, device>\n}\n";

TEST(Pipelines, PlansAreWeighedOnTheFirstFunctionWithABody) {
  Outcome alone = runDefault(kExp), after = runDefault("func.func private @declared(i32)\n" + kExp);
  EXPECT_TRUE(after.succeeded) << after.error;
  ASSERT_FALSE(after.plans.empty());
  EXPECT_EQ(after.plans.size(), alone.plans.size());
  EXPECT_EQ(after.plans[0].price, alone.plans[0].price);
}

TEST(Pipelines, ModulesWithoutABodyHaveNothingToWeigh) {
  Outcome outcome = runDefault("func.func private @declared(i32)\n");
  EXPECT_TRUE(outcome.succeeded) << outcome.error;
  EXPECT_TRUE(outcome.plans.empty());
}

TEST(Pipelines, FunctionsThatAreNotFlowAreRefused) {
  Outcome outcome = runDefault("func.func @f(%i: i32) -> i32 {\nreturn %i : i32\n}\n");
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.error,
            "'func.func' op has argument 0 of type 'i32', but functions of flow take tables, !flow.rows");
  EXPECT_TRUE(outcome.plans.empty());
}

}  // namespace
}  // namespace hector
