/// A compiled model for people: its groups, what each costs, what is kept, and what it comes to.
#pragma once

#include "compiler/Analysis/GroupOptions.h"
#include "compiler/Pipelines/PlanCost.h"
#include "language/Signature.h"

#include <string>
#include <vector>

namespace mlir::func {
class FuncOp;
}

namespace hector {

struct SummaryOptions {
  std::string model;  // the file, for line numbers
  std::string passes;
  std::string dtype;
  std::vector<PlanCost> plans;   // that were weighed, if any
  flow::GroupOptions groups;     // how they are formed
  bool perOp = false;            // each op of a group on a line of its own
  bool standsForOthers = false;  // the graph's numbers are those by which graphs like it are planned
};

/// A text of at most 100 columns, for a function of flow.
std::string formatSummary(mlir::func::FuncOp function, const language::Binding &binding, const SummaryOptions &options);

}  // namespace hector
