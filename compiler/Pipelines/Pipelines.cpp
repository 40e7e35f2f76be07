#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Analysis/Cost.h"
#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "language/Diagnostics.h"

#include <llvm/ADT/StringExtras.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Transforms/Passes.h>

namespace hector {

namespace {

using llvm::StringRef;

/// How `default` wants a pass to run; lists of names run it with what is here.
struct Mode {
  bool eager = false;            // linear-reorder: also products that other ops read
  std::vector<int64_t> skipped;  // aggregate-first: sums to leave alone
};

struct NamedPass {
  StringRef name;
  void (*add)(mlir::OpPassManager &manager, const Mode &mode);
};

/// Every pass that `--passes` knows.
const NamedPass kPasses[] = {
    // Folds, canonical forms, and equal ops once: what later passes match is then written in one way only.
    {"simplify",
     [](mlir::OpPassManager &manager, const Mode &) {
       manager.addPass(mlir::createCanonicalizerPass());
       manager.addPass(mlir::createCSEPass());
     }},
    // Matches the naive form as users write it; simplify comes first, so that equal exponentials are one op.
    {"stabilise-softmax",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createStabiliseSoftmaxPass()); }},
    // The paper's C. Before and after linear-reorder: products are weighed where they would be computed, and what the
    // reordering makes is computed where it has fewest rows.
    {"compact-rows",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createCompactRowsPass()); }},
    // The paper's R.
    {"linear-reorder", [](mlir::OpPassManager &manager,
                          const Mode &mode) { manager.addPass(flow::createLinearReorderPass({.eager = mode.eager})); }},
    // Before compact-rows, which would move the products that this pass wants gone.
    {"aggregate-first",
     [](mlir::OpPassManager &manager, const Mode &mode) {
       flow::AggregateFirstPassOptions options;
       options.skip = mode.skipped;
       manager.addPass(flow::createAggregateFirstPass(options));
     }},
    // Last: it repeats ops, which simplify would not, and looks at the groups that the others leave.
    {"recompute", [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createRecomputePass()); }},
    // Undoes reads through maps, for tests of the others.
    {"spread-reads",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createSpreadReadsPass()); }},
};

/// Short names for lists.
const std::pair<StringRef, StringRef> kLists[] = {
    {"C", "simplify,compact-rows,simplify"},
    {"R", "simplify,linear-reorder,simplify"},
};

/// A way to run passes on a function: some before its gradients are derived, some on the whole, some at the end.
struct Plan {
  std::string name;
  std::string before;
  std::string after;
  std::string end;
  Mode mode = {};  // of those before
};

/// What `default` chooses from. A product that several ops read is computed once, at the pairs that read it; or weights
/// are multiplied with weights first, or rows summed first, and no op needs it. Which is better depends on how many
/// pairs a graph has on each side, and what is best for results may be worse for their gradients: so whole plans are
/// weighed, with their gradients.
const std::string kStart = "simplify,stabilise-softmax,simplify";
const std::string kGradients = "simplify,compact-rows,simplify,linear-reorder,aggregate-first,compact-rows,simplify";
const Plan kPlans[] = {
    {"compact", kStart + ",compact-rows,simplify,linear-reorder,aggregate-first,compact-rows,simplify", kGradients,
     "recompute"},
    {"weights first", kStart + ",linear-reorder,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients,
     "recompute", Mode{.eager = true, .skipped = {}}},
    {"sums first", kStart + ",aggregate-first,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients,
     "recompute"},
    {"weights and sums first",
     kStart + ",linear-reorder,aggregate-first,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients,
     "recompute", Mode{.eager = true, .skipped = {}}},
    {"sums first without compaction", kStart + ",aggregate-first,linear-reorder,simplify",
     "simplify,linear-reorder,aggregate-first,simplify", "recompute"},
    {"as written", kStart, "simplify", "recompute"},
};

/// A pass list as a user may spell it: the passes, or what is wrong with it.
struct PassList {
  std::vector<const NamedPass *> passes;
  std::optional<std::string> wrong;
};

PassList readList(StringRef text) {
  PassList list;
  llvm::SmallVector<StringRef> names;
  text.split(names, ',');
  for (StringRef name : names) {
    if (auto *shorthand = llvm::find_if(kLists, [&](const auto &entry) { return entry.first == name; });
        shorthand != std::end(kLists)) {
      PassList inner = readList(shorthand->second);
      list.passes.insert(list.passes.end(), inner.passes.begin(), inner.passes.end());
      continue;
    }
    auto *pass = llvm::find_if(kPasses, [&](const NamedPass &pass) { return pass.name == name; });
    if (pass != std::end(kPasses)) {
      list.passes.push_back(pass);
      continue;
    }
    if (name.empty()) {
      list.wrong = "a name is missing in the list `" + text.str() + "` of --passes";
      return list;
    }
    if (name == "none" || name == "default") {
      list.wrong = "`" + name.str() + "` stands alone in --passes, but is given in the list `" + text.str() + "`";
      return list;
    }
    std::vector<std::string_view> known = {"none", "default"};
    std::string all;
    for (const NamedPass &candidate : kPasses) {
      known.push_back(std::string_view(candidate.name));
      all += ", " + candidate.name.str();
    }
    std::string_view near = language::nearest(std::string_view(name), known);
    list.wrong = "there is no pass `" + name.str() + "`; " +
                 (near.empty() ? "--passes takes none, default, C, R, or a list of:" + all.substr(1)
                               : "did you mean `" + std::string(near) + "`?");
    return list;
  }
  return list;
}

/// Adds the passes of a list that is known to be right, less those that are switched off.
void addPasses(mlir::PassManager &manager, StringRef text, const Mode &mode, llvm::ArrayRef<const NamedPass *> off) {
  if (text.empty())
    return;
  auto &nested = manager.nest<mlir::func::FuncOp>();
  for (const NamedPass *pass : readList(text).passes)
    if (!llvm::is_contained(off, pass))
      pass->add(nested, mode);
}

/// Adds the passes of a plan but for those at its end.
void addStart(mlir::PassManager &manager, const Plan &plan, bool differentiate, llvm::ArrayRef<const NamedPass *> off) {
  addPasses(manager, plan.before, plan.mode, off);
  if (!differentiate)
    return;
  manager.addNestedPass<mlir::func::FuncOp>(flow::createDifferentiatePass());
  addPasses(manager, plan.after, Mode(), off);
}

void addPlan(mlir::PassManager &manager, const Plan &plan, bool differentiate, llvm::ArrayRef<const NamedPass *> off) {
  addStart(manager, plan, differentiate, off);
  addPasses(manager, plan.end, Mode(), off);
}

/// A plan tried on a copy of the module.
struct Trial {
  Plan plan;
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  flow::Cost cost;
};

/// Weighs plans. Only the plan that is taken has its say: remarks of trials are dropped.
class Chooser {
public:
  Chooser(mlir::ModuleOp module, bool differentiate, llvm::ArrayRef<const NamedPass *> off)
      : module(module), differentiate(differentiate), off(off) {}

  Plan choose(std::vector<PlanCost> &weighed);

private:
  bool run(Trial &trial, llvm::function_ref<void(mlir::PassManager &)> add);
  void consider(const Plan &plan, std::vector<Trial> &trials);

  mlir::ModuleOp module;
  bool differentiate;
  llvm::ArrayRef<const NamedPass *> off;
};

/// Runs passes on a trial's copy and counts again.
bool Chooser::run(Trial &trial, llvm::function_ref<void(mlir::PassManager &)> add) {
  mlir::PassManager manager(module.getContext());
  manager.enableVerifier(false);
  add(manager);
  mlir::ScopedDiagnosticHandler quiet(module.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  if (mlir::failed(manager.run(*trial.copy)))
    return false;
  auto functions = trial.copy->getOps<mlir::func::FuncOp>();
  auto function = llvm::find_if(functions, [](mlir::func::FuncOp function) { return !function.isExternal(); });
  if (function == functions.end() || mlir::failed(flow::checkFlowFunction(*function)))
    return false;
  trial.cost = flow::estimate(*function);
  return true;
}

/// Tries a plan but for its end. Plans often come to the same, the later by a detour.
void Chooser::consider(const Plan &plan, std::vector<Trial> &trials) {
  Trial trial = {plan, mlir::OwningOpRef<mlir::ModuleOp>(module.clone()), {}};
  auto isSame = [&](const Trial &other) { return other.cost.price() == trial.cost.price(); };
  if (run(trial, [&](mlir::PassManager &manager) { addStart(manager, plan, differentiate, off); }) &&
      llvm::none_of(trials, isSame))
    trials.push_back(std::move(trial));
}

Plan Chooser::choose(std::vector<PlanCost> &weighed) {
  std::vector<Trial> trials;
  for (const Plan &plan : kPlans)
    consider(plan, trials);
  if (trials.empty())
    return kPlans[0];
  auto cheaper = [](const Trial &a, const Trial &b) { return a.cost.price() < b.cost.price(); };
  // Each sum of products by itself may be better off as it was.
  unsigned numSums = 0, numProducts = 0;
  module.walk([&](flow::ReduceOp op) {
    numSums += op.getKind() == flow::ReduceKind::Sum || op.getKind() == flow::ReduceKind::Mean;
  });
  module.walk([&](flow::LinearOp) { ++numProducts; });
  constexpr unsigned kMaxTrials = 8;
  unsigned numTrials = std::min({numSums, numProducts, kMaxTrials});
  for (unsigned sum = 0; numTrials > 1 && sum < numTrials; ++sum) {
    Plan without = llvm::min_element(trials, cheaper)->plan;
    if (!StringRef(without.before).contains("aggregate-first"))
      break;
    without.mode.skipped.push_back(sum);
    without.name += (without.mode.skipped.size() == 1 ? " but for sum " : " and ") + std::to_string(sum + 1);
    consider(without, trials);
  }
  // What costs half as much again before its end does not become the cheapest by it.
  constexpr double kFar = 1.5;
  double least = llvm::min_element(trials, cheaper)->cost.price();
  for (Trial &trial : trials)
    if (trial.cost.price() <= kFar * least)
      run(trial, [&](mlir::PassManager &manager) { addPasses(manager, trial.plan.end, Mode(), off); });
  auto best = llvm::min_element(trials, cheaper);
  for (const Trial &trial : trials)
    weighed.push_back({trial.plan.name, trial.cost.operations, trial.cost.bytes, trial.cost.peakBytes,
                       trial.cost.price(), &trial == &*best});
  return best->plan;
}

}  // namespace

std::vector<std::string_view> passNames() {
  std::vector<std::string_view> names;
  for (const NamedPass &pass : kPasses)
    names.emplace_back(pass.name);
  return names;
}

std::vector<std::string_view> planNames() {
  std::vector<std::string_view> names;
  for (const Plan &plan : kPlans)
    names.emplace_back(plan.name);
  return names;
}

std::optional<std::string> buildPipeline(mlir::PassManager &manager, mlir::ModuleOp module, const std::string &text,
                                         bool differentiate, std::vector<PlanCost> *weighed) {
  auto [head, tail] = StringRef(text).split(',');
  if (head == "default") {
    std::vector<const NamedPass *> off;
    llvm::SmallVector<StringRef> names;
    if (head.size() < text.size())
      tail.split(names, ',');
    for (StringRef name : names) {
      if (!name.consume_front("-"))
        return "`default` stands alone in --passes or is followed by passes to leave out, such as `default,-" +
               kPasses[2].name.str() + "`, but the list is `" + text + "`";
      if (name.empty())
        return "a name is missing in the list `" + text + "` of --passes";
      if (name == "none" || name == "default")
        return "`" + name.str() + "` is no pass that `" + text + "` could leave out";
      PassList list = readList(name);
      if (list.wrong)
        return list.wrong;
      off.insert(off.end(), list.passes.begin(), list.passes.end());
    }
    std::vector<PlanCost> costs;
    addPlan(manager, Chooser(module, differentiate, off).choose(costs), differentiate, off);
    if (weighed)
      *weighed = std::move(costs);
    return std::nullopt;
  }
  Plan plan{text, text, text, ""};
  if (auto *known = llvm::find_if(kPlans, [&](const Plan &known) { return known.name == text; });
      known != std::end(kPlans))
    plan = *known;
  else if (text == "none")
    plan.before = plan.after = "";
  else if (PassList list = readList(text); list.wrong)
    return list.wrong;
  addPlan(manager, plan, differentiate, {});
  return std::nullopt;
}

}  // namespace hector
