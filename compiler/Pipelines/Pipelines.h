/// Named pipelines: what `--passes` means.
#pragma once

#include "compiler/Analysis/GroupOptions.h"
#include "compiler/Pipelines/PlanCost.h"

#include <mlir/IR/BuiltinOps.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// The names that `--passes` takes in a list.
std::vector<std::string_view> passNames();
/// The plans that `default` chooses from. Each may also be requested by its name.
std::vector<std::string_view> planNames();

struct PipelineOptions {
  bool differentiate = false;  // derive the gradients of all inputs
  bool remarks = false;        // whether remarks of passes are wanted; errors always are
  bool dumps = false;          // print the IR after each pass that changed it, on standard error
  double memoryWeight = 1;     // how much memory counts against time
  std::function<void(const std::vector<PlanCost> &)> onWeighed;  // told which plans were compared, before any remark
};

struct PipelineResult {
  std::optional<std::string> wrong = {};  // what is wrong with the list of passes
  bool hasFailed = false;                 // a pass failed, and has said why
  flow::GroupOptions groups = {};         // how groups are to be formed
};

/// Runs the passes of `text` on `module`:
///   none             no pass
///   default          the plan with the lowest price for this function and its `flow.graph`
///   PLAN             one of those plans, whatever its price
///   PLAN but for sum 2 and 5     the same, but leaves those sums where they are
///   default,-NAME    the same without a pass; also after a plan. Without `fuse`, every op is a loop of its own;
///   without
///                    `recompute`, no value is computed twice
///   C, R, C,R        the paper's compaction and reordering
///   NAME,NAME        the named passes in their order
/// With `differentiate`, gradients of all inputs are derived after them, and the same passes run again on the whole.
/// Functions stay where they are; their bodies and attributes change. Of the plans that `default` tries, only the
/// chosen one emits remarks.
PipelineResult runPipeline(mlir::ModuleOp module, const std::string &text, const PipelineOptions &options = {});

}  // namespace hector
