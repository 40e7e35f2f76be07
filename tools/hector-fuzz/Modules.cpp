#include "Modules.h"

#include "ModuleChanges.h"
#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Pipelines/Pipelines.h"
#include "driver/Program.h"

#include <llvm/Support/MemoryBuffer.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>

#include <cstdio>

namespace hector::fuzz {

namespace {

/// Takes the diagnostics of what runs while it lives.
class Errors {
public:
  explicit Errors(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return;
          ++number;
          if (first.empty())
            first = diagnostic.str();
        }) {}

  int64_t count() const { return number; }
  const std::string &text() const { return first; }

private:
  int64_t number = 0;
  std::string first;
  mlir::ScopedDiagnosticHandler handler;
};

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, mlir::OpPrintingFlags().assumeVerified());
  return text;
}

/// Whether all functions that passes work on are such as they take.
bool isFlow(mlir::ModuleOp module) {
  Errors quiet(*module.getContext());
  return llvm::all_of(module.getOps<mlir::func::FuncOp>(), [](mlir::func::FuncOp function) {
    return function.isExternal() || mlir::succeeded(flow::checkFlowFunction(function));
  });
}

/// Whether gradients may be refused: there are some already, or inputs are asked for that may not exist.
bool mayLackGradients(mlir::ModuleOp module) {
  return llvm::any_of(module.getOps<mlir::func::FuncOp>(), [](mlir::func::FuncOp function) {
    bool found = function->hasAttr("flow.forward_results") || function->hasAttr("flow.gradients");
    function.walk([&](flow::WeightGradOp) { found = true; });
    return found;
  });
}

/// Passes that `--passes` has no name for, or gives other options.
constexpr std::string_view kOthers[] = {"differentiate", "eager linear-reorder", "some aggregate-first",
                                        "form-groups",   "print-keys",           "print-cost"};

/// Runs a pass, or a whole plan, by its name.
PipelineResult runByName(mlir::ModuleOp module, const std::string &name, Choices &choices) {
  mlir::PassManager manager(module.getContext());
  manager.enableVerifier(false);
  auto &functions = manager.nest<mlir::func::FuncOp>();
  if (name == "eager linear-reorder") {
    functions.addPass(flow::createLinearReorderPass({.eager = true}));
  } else if (name == "some aggregate-first") {
    flow::AggregateFirstPassOptions options;
    int64_t ordinal = choices.below(3);
    (choices.below(2) == 0 ? options.only : options.skip) = ordinal;
    functions.addPass(flow::createAggregateFirstPass(options));
  } else if (name == "form-groups") {
    functions.addPass(flow::createFormGroupsPass());
  } else if (name == "print-keys") {
    functions.addPass(flow::createPrintKeysPass());
  } else if (name == "print-cost") {
    manager.addPass(flow::createPrintCostPass(llvm::nulls()));
  } else if (name == "differentiate") {
    functions.addPass(flow::createDifferentiatePass());
  } else {
    return runPipeline(module, name);
  }
  return {.wrong = {}, .hasFailed = mlir::failed(manager.run(module))};
}

}  // namespace

Modules::Modules() : context(makeContext()) {
  context->allowUnregisteredDialects();
}

bool Modules::addSeeds(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return false;
  llvm::SmallVector<llvm::StringRef> parts;
  (*buffer)->getBuffer().split(parts, "// -----");
  Errors quiet(*context);  // many tests are of errors
  for (llvm::StringRef part : parts) {
    std::string text = part.str();  // the lexer looks for a zero at the end
    auto whole = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    if (!whole)
      continue;
    for (auto function : whole->getOps<mlir::func::FuncOp>()) {
      mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(function.getLoc());
      module->push_back(function.clone());
      if (mlir::succeeded(mlir::verify(*module)))
        seeds.push_back(std::move(module));
    }
  }
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> Modules::make(Choices &choices) {
  mlir::OwningOpRef<mlir::ModuleOp> module = seeds[choices.below(static_cast<uint32_t>(seeds.size()))]->clone();
  Errors quiet(*context);
  for (uint32_t changes = choices.below(40); changes > 0; --changes) {
    mlir::OwningOpRef<mlir::ModuleOp> changed = module->clone();
    changeModule(*changed, choices);
    if (mlir::failed(mlir::verify(*changed)))
      continue;
    module = std::move(changed);
    ++counts.changes;
  }
  return module;
}

/// Runs a pass on a valid module. The module is valid afterwards unless a failure is given or it is empty.
std::optional<Failure> Modules::runPass(mlir::ModuleOp module, const std::string &name, Choices &choices) {
  bool isTaken = isFlow(module);
  bool mayRefuse = name == "differentiate" && mayLackGradients(module);
  Errors errors(*context);
  PipelineResult result = runByName(module, name, choices);
  if (result.wrong)
    return Failure{"failed", *result.wrong};
  ++counts.passes;
  if (result.hasFailed) {
    ++counts.refused;
    if (errors.count() == 0)
      return Failure{"failed", "fails without an error"};
    if (isTaken && !mayRefuse)
      return Failure{"refused", "refuses functions of flow: " + errors.text()};
    module.getBody()->clear();
    return std::nullopt;
  }
  if (errors.count() > 0)
    return Failure{"failed", "reports an error but does not fail: " + errors.text()};
  if (!isTaken)
    return Failure{"failed", "accepts functions that are not flow"};
  if (mlir::failed(mlir::verify(module)))
    return Failure{"invalid", "leaves a module that is not valid: " + errors.text()};
  return std::nullopt;
}

std::optional<Failure> Modules::judge(uint64_t seed, bool show) {
  Choices choices(seed);
  ++counts.modules;
  auto module = make(choices);
  std::vector<std::string_view> names = passNames();
  names.insert(names.end(), std::begin(kOthers), std::end(kOthers));
  for (uint32_t length = 1 + choices.below(8); length > 0 && !module->getBody()->empty(); --length) {
    // Whole plans take long, `default` longest.
    std::string name(names[choices.below(static_cast<uint32_t>(names.size()))]);
    if (choices.oneIn(12)) {
      std::vector<std::string_view> plans = planNames();
      plans.emplace_back("default");
      name = plans[choices.below(static_cast<uint32_t>(plans.size()))];
    }
    std::string text = print(*module);
    if (show) {
      std::printf("// before %s\n%s\n", name.c_str(), text.c_str());
      std::fflush(stdout);
    }
    if (auto failure = runPass(*module, name, choices)) {
      failure->message = name + " " + failure->message + "\n" + text;
      return failure;
    }
  }
  return std::nullopt;
}

}  // namespace hector::fuzz
