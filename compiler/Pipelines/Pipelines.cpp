#include "compiler/Pipelines/Pipelines.h"

#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "language/Diagnostics.h"

#include <llvm/ADT/StringExtras.h>
#include <mlir/Transforms/Passes.h>

namespace hector {

namespace {

struct NamedPass {
  std::string_view name;
  void (*add)(mlir::PassManager &manager);
};

/// Every pass that `--passes` knows. `default` runs those of `kDefault`.
const NamedPass kPasses[] = {
    // Folds, canonical forms, and equal ops once: what later passes match is then written in one way only.
    {"simplify",
     [](mlir::PassManager &manager) {
       manager.addPass(mlir::createCanonicalizerPass());
       manager.addPass(mlir::createCSEPass());
     }},
    // Matches the naive form as users write it; simplify comes first, so that equal exponentials are one op.
    {"stabilise-softmax",
     [](mlir::PassManager &manager) { manager.addNestedPass<mlir::func::FuncOp>(flow::createStabiliseSoftmaxPass()); }},
    // The paper's C, without a cost model: always moves. Not part of `default` until row counts decide.
    {"compact-rows",
     [](mlir::PassManager &manager) { manager.addNestedPass<mlir::func::FuncOp>(flow::createCompactRowsPass()); }},
    // Undoes reads through maps, for tests of the others.
    {"spread-reads",
     [](mlir::PassManager &manager) { manager.addNestedPass<mlir::func::FuncOp>(flow::createSpreadReadsPass()); }},
};

constexpr std::string_view kDefault[] = {"simplify", "stabilise-softmax"};

}  // namespace

std::vector<std::string_view> passNames() {
  std::vector<std::string_view> names;
  for (const NamedPass &pass : kPasses)
    names.push_back(pass.name);
  return names;
}

/// Adds the passes of one list.
static std::optional<std::string> addPasses(mlir::PassManager &manager, const std::string &text) {
  if (text == "none")
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> names;
  if (text == "default")
    for (std::string_view name : kDefault)
      names.push_back(llvm::StringRef(name.data(), name.size()));
  else
    llvm::StringRef(text).split(names, ',');
  for (llvm::StringRef name : names) {
    auto pass = llvm::find_if(kPasses, [&](const NamedPass &pass) { return name == llvm::StringRef(pass.name); });
    if (pass != std::end(kPasses)) {
      pass->add(manager);
      continue;
    }
    if (name == "none" || name == "default")
      return "`" + name.str() + "` stands alone in --passes, but is given in the list `" + text + "`";
    std::vector<std::string_view> known = {"none", "default"};
    std::string list;
    for (const NamedPass &candidate : kPasses) {
      known.push_back(candidate.name);
      list += ", " + std::string(candidate.name);
    }
    std::string_view near = language::nearest(std::string_view(name.data(), name.size()), known);
    return "there is no pass `" + name.str() + "`; " +
           (near.empty() ? "--passes takes none, default, or a list of:" + list.substr(1)
                         : "did you mean `" + std::string(near) + "`?");
  }
  return std::nullopt;
}

std::optional<std::string> buildPipeline(mlir::PassManager &manager, const std::string &text, bool differentiate) {
  // What makes the forward pass smaller comes first: there is then less to differentiate.
  auto wrong = addPasses(manager, text);
  if (wrong || !differentiate)
    return wrong;
  manager.addNestedPass<mlir::func::FuncOp>(flow::createDifferentiatePass());
  return addPasses(manager, text);
}

}  // namespace hector
