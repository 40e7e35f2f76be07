/// Named pipelines: what `--passes` means.
#pragma once

#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/PassManager.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// The names that `--passes` takes in a list.
std::vector<std::string_view> passNames();
/// The plans that `default` chooses from. Each may also be requested by its name.
std::vector<std::string_view> planNames();

/// A plan that `default` tried for a function, with its numbers on the function's graph.
struct PlanCost {
  std::string name;
  double operations = 0;
  double bytes = 0;
  double peakBytes = 0;
  double price = 0;  // the number by which plans are compared, in bytes
  bool isTaken = false;
};

/// Adds the passes of `text` to `manager`, which is to run on `module`:
///   none             no pass
///   default          the plan with the lowest price for this function and its `flow.graph`
///   default,-NAME    the same without a pass
///   PLAN             one of those plans, whatever its price
///   C, R, C,R        the paper's compaction and reordering
///   NAME,NAME        the named passes in their order
/// With `differentiate`, gradients of all inputs are derived after them, and the same passes run again on the whole.
/// Returns what is wrong with the text, or nothing. `weighed` receives the plans that were compared.
std::optional<std::string> buildPipeline(mlir::PassManager &manager, mlir::ModuleOp module, const std::string &text,
                                         bool differentiate, std::vector<PlanCost> *weighed = nullptr);

}  // namespace hector
