#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Pipelines/Search.h"
#include "language/Diagnostics.h"

#include <llvm/ADT/StringExtras.h>
#include <mlir/Transforms/Passes.h>

namespace hector {

namespace {

using llvm::StringRef;

/// Every pass that `--passes` knows.
const NamedPass kPasses[] = {
    // Folds, canonical forms, and common subexpressions: later passes then have only one form to match.
    {"simplify",
     [](mlir::OpPassManager &manager, const Mode &) {
       manager.addPass(mlir::createCanonicalizerPass());
       manager.addPass(mlir::createCSEPass());
     }},
    // Matches the naive form as users write it; simplify comes first, so that equal exponentials are one op.
    {"stabilise-softmax",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createStabiliseSoftmaxPass()); }},
    // The paper's C. Before linear-reorder, so that products are counted where they would be computed, and after it, so
    // that new ops are computed where they take the least time.
    {"compact-rows",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createCompactRowsPass()); }},
    // The paper's R.
    {"linear-reorder", [](mlir::OpPassManager &manager,
                          const Mode &mode) { manager.addPass(flow::createLinearReorderPass({.eager = mode.eager})); }},
    // Before compact-rows, which would move the products that this pass removes.
    {"aggregate-first",
     [](mlir::OpPassManager &manager, const Mode &mode) {
       flow::AggregateFirstPassOptions options;
       options.skip = mode.skipped;
       manager.addPass(flow::createAggregateFirstPass(options));
     }},
    // Before differentiation, so that gradients follow from it. Before compact-rows, which places the factors of edges.
    {"flatten-sums",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createFlattenSumsPass()); }},
    // Looks for sums of the forward phase in the sums of the gradients.
    {"reuse-sums", [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createReuseSumsPass()); }},
    // Last: the others look for sums of single products.
    {"join-sums", [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createJoinSumsPass()); }},
    // When groups are formed: several ops are one loop, and values are computed again where they are read.
    {"fuse", nullptr},
    {"recompute", nullptr},
    // Undoes reads through maps, to test the other passes.
    {"spread-reads",
     [](mlir::OpPassManager &manager, const Mode &) { manager.addPass(flow::createSpreadReadsPass()); }},
};

/// Short names for lists.
const std::pair<StringRef, StringRef> kLists[] = {
    {"C", "simplify,compact-rows,simplify"},
    {"R", "simplify,linear-reorder,simplify"},
};

/// A plan as it is written down: what runs before the gradients are derived, then on the whole.
struct NamedPlan {
  StringRef name;
  std::string before;
  std::string after;
  bool eager = false;  // of the reordering before

  bool sumsFirst() const { return StringRef(before).contains("aggregate-first"); }
};

/// The plans that `default` chooses from. A product that several ops read may be computed once, at the pairs. Or
/// weights are multiplied with weights first, or rows are summed first, and no op needs the product. Which is better
/// depends on how many pairs the graph has on each side, and the best plan for results may be worse for their
/// gradients. So whole plans are compared, with their gradients. Means of pairs below sums of nodes may be one sum of
/// edges with factors; what that is worth depends on the machine. The last are C, R and both, which are
/// best if rows are so narrow that what other plans add costs more than what they save.
const std::string kStart = "simplify,stabilise-softmax,simplify";
// The sums of the forward phase are as the gradients need them before anything moves.
const std::string kReuse = "simplify,reuse-sums,simplify";
constexpr const char *kLast = ",join-sums";
const std::string kGradients =
    kReuse + ",compact-rows,simplify,linear-reorder,aggregate-first,compact-rows,simplify" + kLast;
const NamedPlan kPlans[] = {
    {"compact", kStart + ",compact-rows,simplify,linear-reorder,aggregate-first,compact-rows,simplify", kGradients},
    // As `compact` from there on, so that nothing is run twice where no sum of sums is.
    {"flat", kStart + ",flatten-sums,compact-rows,simplify,linear-reorder,aggregate-first,compact-rows,simplify",
     kGradients},
    {"weights first", kStart + ",linear-reorder,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients,
     /*eager=*/true},
    {"sums first", kStart + ",aggregate-first,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients},
    {"weights and sums first",
     kStart + ",linear-reorder,aggregate-first,compact-rows,simplify,linear-reorder,compact-rows,simplify", kGradients,
     /*eager=*/true},
    {"sums first without compaction", kStart + ",aggregate-first,linear-reorder,simplify",
     kReuse + ",linear-reorder,aggregate-first,simplify" + kLast},
    {"as written", kStart, "simplify"},
    {"compaction alone", kStart + ",compact-rows,simplify", "simplify,compact-rows,simplify"},
    {"reordering alone", kStart + ",linear-reorder,simplify", "simplify,linear-reorder,simplify"},
    {"compaction and reordering", kStart + ",compact-rows,simplify,linear-reorder,simplify",
     "simplify,compact-rows,simplify,linear-reorder,simplify"},
    {"compaction and reordering with reuse", kStart + ",compact-rows,simplify,linear-reorder,simplify",
     kReuse + ",compact-rows,simplify,linear-reorder,simplify" + kLast},
};
constexpr StringRef kButForSum = " but for sum ";

/// A pass list as a user writes it: the passes, or what is wrong with it.
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
    if (name.starts_with("-")) {
      list.wrong = "`" + name.str() + "` leaves out a pass of a plan, but `" + text.str() +
                   "` names none; write `default," + name.str() + "`";
      return list;
    }
    std::vector<std::string_view> known = planNames();
    known.insert(known.end(), {"none", "default"});
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

/// The passes that a list ends in, as in `default,-compact-rows`: those to leave out, or what is wrong.
PassList readLeftOut(StringRef head, StringRef text) {
  PassList off;
  StringRef rest = text.drop_front(head.size());
  llvm::SmallVector<StringRef> names;
  if (rest.consume_front(","))
    rest.split(names, ',');
  for (StringRef name : names) {
    if (!name.consume_front("-"))
      off.wrong = "`" + head.str() + "` stands alone in --passes or is followed by passes to leave out, such as `" +
                  head.str() + ",-" + kPasses[2].name.str() + "`, but the list is `" + text.str() + "`";
    else if (name.empty())
      off.wrong = "a name is missing in the list `" + text.str() + "` of --passes";
    else if (name == "none" || name == "default")
      off.wrong = "`" + name.str() + "` is no pass that `" + text.str() + "` could leave out";
    if (off.wrong)
      return off;
    PassList list = readList(name);
    if (list.wrong)
      return list;
    off.passes.insert(off.passes.end(), list.passes.begin(), list.passes.end());
  }
  return off;
}

/// Adds the steps of a list that is known to be right, less those that are switched off.
void addSteps(std::vector<Step> &steps, StringRef text, const Mode &mode, llvm::ArrayRef<const NamedPass *> off) {
  if (text.empty())
    return;
  for (const NamedPass *pass : readList(text).passes) {
    if (!pass->add || llvm::is_contained(off, pass))
      continue;
    // Only those that look at the mode have one, so that the others are the same step in every plan.
    Step step = {pass, {}};
    if (pass->name == "linear-reorder")
      step.mode.eager = mode.eager;
    if (pass->name == "aggregate-first")
      step.mode.skipped = mode.skipped;
    steps.push_back(std::move(step));
  }
}

Plan makePlan(StringRef name, StringRef before, StringRef after, const Mode &mode, bool differentiate,
              llvm::ArrayRef<const NamedPass *> off) {
  Plan plan{name.str(), {}, 0};
  addSteps(plan.steps, before, mode, off);
  plan.numBefore = plan.steps.size();
  if (differentiate) {
    plan.steps.push_back({});
    addSteps(plan.steps, after, Mode(), off);
  }
  return plan;
}

/// A plan that may leave out sums, counted from 0, and passes; with the name that says so.
Plan makePlan(const NamedPlan &named, const std::vector<int64_t> &skipped, bool differentiate,
              llvm::ArrayRef<const NamedPass *> off) {
  std::string name = named.name.str();
  for (auto [i, sum] : llvm::enumerate(skipped))
    name += (i == 0 ? kButForSum.str() : " and ") + std::to_string(sum + 1);
  for (const NamedPass *pass : off)
    name += ",-" + pass->name.str();
  // The last pass runs once all sums are there.
  const bool joinsSums = !differentiate && StringRef(named.after).ends_with(kLast);
  return makePlan(name, named.before + (joinsSums ? kLast : ""), named.after, Mode{named.eager, skipped}, differentiate,
                  off);
}

const NamedPlan *findPlan(StringRef name) {
  auto *found = llvm::find_if(kPlans, [&](const NamedPlan &plan) { return plan.name == name; });
  return found == std::end(kPlans) ? nullptr : found;
}

/// `1 and 3` as 0 and 2; or what is wrong with it in `wrong`.
std::vector<int64_t> readSums(const NamedPlan &plan, StringRef numbers, std::optional<std::string> &wrong) {
  std::vector<int64_t> sums;
  if (!plan.sumsFirst())
    wrong = "the plan `" + plan.name.str() + "` moves no sums, so --passes cannot leave out any";
  llvm::SmallVector<StringRef> words;
  numbers.split(words, " and ");
  for (StringRef word : words) {
    int64_t number = 0;
    if (!wrong && (word.getAsInteger(10, number) || number < 1))
      wrong = "sums are counted from 1, but --passes has `" + plan.name.str() + kButForSum.str() + numbers.str() +
              "`; write for example `" + plan.name.str() + kButForSum.str() + "1 and 3`";
    sums.push_back(number - 1);
  }
  return sums;
}

/// How groups are formed where passes are switched off.
flow::GroupOptions groupsBut(llvm::ArrayRef<const NamedPass *> off) {
  auto isOn = [&](StringRef name) {
    return llvm::none_of(off, [&](const NamedPass *pass) { return pass->name == name; });
  };
  flow::GroupOptions groups;
  groups.fuse = isOn("fuse");
  groups.rebuild = isOn("recompute");
  return groups;
}

/// Runs a plan on the module itself.
PipelineResult runPlan(mlir::ModuleOp module, const Plan &plan, const PipelineOptions &options) {
  Runner runner(module.getContext(), options, /*verifies=*/true);
  for (const Step &step : plan.steps) {
    if (!step.mode.skipped.empty())
      for (auto function : module.getOps<mlir::func::FuncOp>()) {
        if (function.isExternal())
          continue;
        size_t numSums = flow::sumsOfProducts(function.getBody().front()).size();
        int64_t last = *llvm::max_element(step.mode.skipped) + 1;
        if (last > static_cast<int64_t>(numSums))
          return {.wrong = "there is no sum " + std::to_string(last) + " for `" + plan.name +
                           "` of --passes to leave out; the model has " + std::to_string(numSums) +
                           (numSums == 1 ? " sum of products" : " sums of products")};
      }
    bool isFine = runner.run(module, step);
    llvm::errs() << runner.takeDumps();
    if (!isFine)
      return {.wrong = {}, .hasFailed = true};
  }
  return {};
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
  for (const NamedPlan &plan : kPlans)
    names.emplace_back(plan.name);
  return names;
}

PipelineResult runPipeline(mlir::ModuleOp module, const std::string &text, const PipelineOptions &options) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (!function.isExternal() && mlir::failed(flow::checkFlowFunction(function)))
      return {.wrong = {}, .hasFailed = true};
  StringRef head = StringRef(text).split(',').first;
  auto [name, numbers] = head.split(kButForSum);
  const NamedPlan *named = findPlan(name);
  if (head == "default" || named) {
    PassList off = readLeftOut(head, text);
    if (off.wrong)
      return {.wrong = off.wrong};
    flow::GroupOptions groups = groupsBut(off.passes);
    groups.memoryWeight = options.memoryWeight;
    auto withGroups = [&](PipelineResult result) {
      result.groups = groups;
      return result;
    };
    if (head == "default") {
      std::vector<Plan> plans;
      for (const NamedPlan &plan : kPlans)
        plans.push_back(makePlan(plan, {}, options.differentiate, off.passes));
      auto leaveOut = [&](const Plan &plan, int64_t sum) {
        auto [name, numbers] = StringRef(plan.name).split(',').first.split(kButForSum);
        const NamedPlan *named = findPlan(name);
        std::optional<std::string> wrong;
        std::vector<int64_t> skipped;
        if (!numbers.empty())
          skipped = readSums(*named, numbers, wrong);
        skipped.push_back(sum);
        return makePlan(*named, skipped, options.differentiate, off.passes);
      };
      return withGroups({.wrong = {}, .hasFailed = !Search(module, options, groups).run(plans, leaveOut)});
    }
    std::optional<std::string> wrong;
    std::vector<int64_t> skipped;
    if (head.size() > name.size())
      skipped = readSums(*named, numbers, wrong);
    if (wrong)
      return {.wrong = wrong};
    return withGroups(runPlan(module, makePlan(*named, skipped, options.differentiate, off.passes), options));
  }
  PassList list;
  if (text != "none")
    list = readList(text);
  if (list.wrong)
    return {.wrong = list.wrong};
  StringRef names = text == "none" ? StringRef() : StringRef(text);
  PipelineResult result = runPlan(module, makePlan(text, names, names, Mode(), options.differentiate, {}), options);
  result.groups.memoryWeight = options.memoryWeight;
  // Groups are formed in any case; values are computed again only where the list says so.
  result.groups.rebuild = llvm::any_of(list.passes, [](const NamedPass *pass) { return pass->name == "recompute"; });
  return result;
}

}  // namespace hector
