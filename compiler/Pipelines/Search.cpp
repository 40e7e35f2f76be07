#include "compiler/Pipelines/Search.h"

#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/ADT/Hashing.h>
#include <mlir/IR/Verifier.h>

namespace hector {

namespace {

/// The first function that has a body.
mlir::func::FuncOp functionOf(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (!function.isExternal())
      return function;
  return {};
}

/// A number that equal functions share, whatever the order of their ops.
llvm::hash_code fingerprint(mlir::func::FuncOp function) {
  llvm::DenseMap<mlir::Value, llvm::hash_code> values;
  for (mlir::BlockArgument argument : function.getArguments())
    values.try_emplace(argument, llvm::hash_combine(argument.getArgNumber(), argument.getType()));
  llvm::hash_code last(0);
  for (mlir::Operation &op : function.getBody().front()) {
    last = llvm::hash_combine(op.getName(), op.getDiscardableAttrDictionary(), op.hashProperties(),
                              llvm::hash_combine_range(op.result_type_begin(), op.result_type_end()));
    for (mlir::Value operand : op.getOperands())
      last = llvm::hash_combine(last, values.find(operand)->second);
    for (mlir::Value result : op.getResults())
      values.try_emplace(result, last);
  }
  return last;  // of the return, which is made from all that matters
}

bool isSumsFirst(const Step &step) {
  return step.pass && step.pass->name == "aggregate-first";
}

/// How many steps a plan has until it moves sums for the first time before the gradients; nothing where it never does.
std::optional<size_t> stepsBeforeSums(const Plan &plan) {
  for (size_t i = 0; i < plan.numBefore; ++i)
    if (isSumsFirst(plan.steps[i]))
      return i;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<mlir::PassManager> Runner::makeManager(const Step &step) {
  auto manager = std::make_unique<mlir::PassManager>(context);
  manager->enableVerifier(verifies);
  auto &nested = manager->nest<mlir::func::FuncOp>();
  if (step.pass) {
    step.pass->add(nested, step.mode);
  } else {
    nested.addPass(flow::createDifferentiatePass());
    nested.addPass(flow::createAddUpdatesPass());
  }
  if (options.dumps)
    manager->enableIRPrinting(/*shouldPrintBeforePass=*/{},
                              /*shouldPrintAfterPass=*/[](mlir::Pass *, mlir::Operation *) { return true; },
                              /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/true,
                              /*printAfterOnlyOnFailure=*/false, dumps);
  return manager;
}

bool Runner::run(mlir::ModuleOp module, const Step &step) {
  if (!step.pass || step.pass->name != "simplify")
    return mlir::succeeded(makeManager(step)->run(module));
  if (!simplifier)
    simplifier = makeManager(step);
  return mlir::succeeded(simplifier->run(module));
}

/// Runs a step on a trial's copy, which keeps what is said.
bool Search::run(Trial &trial, const Step &step) {
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (options.remarks || diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      trial.said.push_back({std::make_shared<mlir::Diagnostic>(std::move(diagnostic)), {}});
    return mlir::success();
  });
  bool isFine = runner.run(*trial.copy, step);
  if (std::string dump = runner.takeDumps(); !dump.empty())
    trial.said.push_back({nullptr, std::move(dump)});
  return isFine;
}

Search::Trial Search::copyOf(const Trial &trial) {
  return {mlir::OwningOpRef<mlir::ModuleOp>(trial.copy.get().clone()), trial.said};
}

/// Whether no plan has come to such a function before with the same steps ahead.
bool Search::isNew(llvm::hash_code key, const Plan &plan, size_t depth) {
  for (const Step &step : llvm::ArrayRef(plan.steps).drop_front(depth))
    key = llvm::hash_combine(key, step.pass, step.mode.eager,
                             llvm::hash_combine_range(step.mode.skipped.begin(), step.mode.skipped.end()));
  key = llvm::hash_combine(key, plan.steps.size() - depth);
  return seen.insert(key & ~size_t{0} >> 1).second;
}

/// Goes on with plans that have their first `depth` steps in common, which have run on the trial's copy.
void Search::follow(Trial trial, size_t depth, std::vector<const Plan *> plans) {
  llvm::hash_code function = fingerprint(functionOf(*trial.copy));
  llvm::erase_if(plans, [&](const Plan *plan) { return !isNew(function, *plan, depth); });
  for (const Plan *plan : plans)
    if (stepsBeforeSums(*plan) == depth) {
      llvm::ArrayRef<Step> led = llvm::ArrayRef(plan->steps).take_front(depth);
      if (llvm::none_of(beforeSums, [&](const auto &entry) { return llvm::ArrayRef(entry.first) == led; }))
        beforeSums.emplace_back(led.vec(), copyOf(trial));
    }
  while (!plans.empty()) {
    const Plan *first = plans.front();
    bool isDone = first->steps.size() == depth;
    std::vector<const Plan *> same;
    llvm::erase_if(plans, [&](const Plan *plan) {
      bool goesAlong = isDone ? plan == first : plan->steps.size() > depth && plan->steps[depth] == first->steps[depth];
      if (goesAlong)
        same.push_back(plan);
      return goesAlong;
    });
    Trial next = plans.empty() ? std::move(trial) : copyOf(trial);
    if (isDone) {
      flow::Cost cost = flow::estimate(functionOf(*next.copy), groupOptions);
      candidates.push_back({*first, std::move(next), std::move(cost)});
    } else if (run(next, first->steps[depth])) {
      follow(std::move(next), depth + 1, std::move(same));
    } else {
      failure = std::move(next.said);
    }
  }
}

const Search::Candidate &Search::best() const {
  return *llvm::min_element(candidates,
                            [](const Candidate &a, const Candidate &b) { return a.cost.price() < b.cost.price(); });
}

/// Each sum of products by itself may be better off as it was.
void Search::tryWithoutSums(llvm::function_ref<Plan(const Plan &, int64_t sum)> leaveOut) {
  constexpr int64_t kMaxTrials = 8;
  for (int64_t sum = 0; sum < kMaxTrials; ++sum) {
    const Plan &plan = best().plan;
    auto depth = stepsBeforeSums(plan);
    if (!depth)
      return;
    auto start = llvm::find_if(beforeSums, [&](const auto &entry) {
      return llvm::ArrayRef(entry.first) == llvm::ArrayRef(plan.steps).take_front(*depth);
    });
    auto numSums = static_cast<int64_t>(flow::sumsOfProducts(functionOf(*start->second.copy).getBody().front()).size());
    if (numSums < 2 || sum >= numSums)
      return;
    Plan without = leaveOut(plan, sum);
    follow(copyOf(start->second), *depth, {&without});
  }
}

void Search::repeat(llvm::ArrayRef<Said> all) {
  for (const Said &said : all) {
    if (said.diagnostic)
      module.getContext()->getDiagEngine().emit(std::move(*said.diagnostic));
    llvm::errs() << said.dump;
  }
}

/// Makes the candidate's copy the module.
void Search::keep(Candidate &candidate) {
  auto copies = candidate.trial.copy->getOps<mlir::func::FuncOp>();
  for (auto [function, copy] : llvm::zip_equal(module.getOps<mlir::func::FuncOp>(), copies)) {
    function.getBody().takeBody(copy.getBody());
    function->copyProperties(copy->getPropertiesStorage());
    function->setDiscardableAttrs(copy->getDiscardableAttrDictionary());
  }
}

bool Search::run(llvm::ArrayRef<Plan> plans, llvm::function_ref<Plan(const Plan &, int64_t sum)> leaveOut) {
  if (!functionOf(module))
    return true;
  std::vector<const Plan *> all;
  for (const Plan &plan : plans)
    all.push_back(&plan);
  follow({mlir::OwningOpRef<mlir::ModuleOp>(module.clone()), {}}, 0, std::move(all));
  if (candidates.empty()) {
    repeat(failure);
    return false;
  }
  tryWithoutSums(leaveOut);
  const Candidate *taken = &best();
  if (options.onWeighed) {
    std::vector<PlanCost> weighed;
    for (const Candidate &candidate : candidates)
      weighed.push_back({candidate.plan.name, candidate.cost.operations, candidate.cost.bytes, candidate.cost.peakBytes,
                         candidate.cost.seconds, candidate.cost.price(), &candidate == taken});
    options.onWeighed(weighed);
  }
  repeat(taken->trial.said);
  keep(candidates[taken - candidates.data()]);
  return mlir::succeeded(mlir::verify(module));
}

}  // namespace hector
