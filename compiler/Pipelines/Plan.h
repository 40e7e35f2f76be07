/// Plans: lists of passes that run on a function and, with gradients, go on on both.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <mlir/Pass/PassManager.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hector {

/// How `default` wants a pass to run; lists of names run it with what is here.
struct Mode {
  bool eager = false;            // linear-reorder: also products that other ops read
  std::vector<int64_t> skipped;  // aggregate-first: sums to leave alone

  bool operator==(const Mode &) const = default;
};

struct NamedPass {
  llvm::StringRef name;
  /// Null where it is no pass on ops, but a choice of how groups are formed of them.
  void (*add)(mlir::OpPassManager &manager, const Mode &mode);
};

/// One pass of a plan, or the differentiation.
struct Step {
  const NamedPass *pass = nullptr;  // null: differentiate
  Mode mode;

  bool operator==(const Step &) const = default;
};

/// A way to run passes. `--passes` takes its name and runs the same.
struct Plan {
  std::string name;
  std::vector<Step> steps;
  size_t numBefore = 0;  // steps before gradients are derived
};

}  // namespace hector
