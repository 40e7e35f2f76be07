/// The cost of a function: operations, bytes moved between its groups and memory, peak memory, and the time that all
/// this takes on a machine. The numbers serve to compare plans.
#pragma once

#include "compiler/Analysis/Groups.h"

namespace hector::flow {

/// A table that the forward phase leaves for the backward phase.
struct KeptTable {
  mlir::Value table;
  double bytes = 0;
};

/// Groups that run once for a graph are listed, but count in `graphBytes` only.
struct Cost {
  std::vector<GroupCost> groups;  // in the order of `Groups`
  std::vector<KeptTable> kept;    // arguments excluded
  double operations = 0;
  double bytes = 0;
  double seconds = 0;
  double weightSeconds = 0;  // of what is computed once for weights that do not change
  double peakBytes = 0;      // live at once between groups; arguments and tables of the graph excluded
  double inputBytes = 0;     // all arguments
  double graphBytes = 0;     // tables that are computed once for a graph
  double bandwidth = 1;      // of the machine
  double memoryWeight = 1;

  /// The number by which plans are compared, in seconds. A byte that is kept for the gradients is counted when it is
  /// written and when it is read. It counts twice more because it occupies memory in between, which limits the size of
  /// graphs.
  /// Where memory is short, what is live at once counts as well. Without gradients, weights stay as they are for many
  /// steps, and little of what they take counts (on a CPU, where it was measured).
  double price() const {
    constexpr double kManySteps = 10;
    return seconds - (1 - 1 / kManySteps) * weightSeconds +
           2 * (memoryWeight * keptBytes() + (memoryWeight - 1) * peakBytes) / bandwidth;
  }
  double keptBytes() const;
};

Cost estimate(mlir::func::FuncOp function, const GroupOptions &options = {});
/// The same, if the groups are known already.
Cost estimate(const Groups &groups);

/// The bytes that an op would move as a group of its own.
double bytesAlone(unsigned op, LoopPricer &pricer);

}  // namespace hector::flow
