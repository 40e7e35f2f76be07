/// The sweeps of a traversal: which op is in which walk over the edges of a row, and what crosses from one to another.
///
///   %t = flow.reduce max %a via dst      sweep 0
///   %e = exp(%a - %t[dst])               sweep 1: %t is complete when sweep 0 ends
///   %s = flow.reduce sum %e via dst      sweep 1
///   %y = %e / %s[dst]                    sweep 2, where %e is computed again from %a and %t, or carried over
///
/// A sum of exponentials less their maximum can be collected together with the maximum: if a larger one is met, what
/// has been summed is scaled down. Then %t and %s are two accumulators of one fold, in sweep 0, and so is a sum of
/// `%y * %v`: it is divided at the end. That is one walk instead of three, and more operations in it.
#pragma once

#include "compiler/Analysis/Body.h"
#include "compiler/Analysis/Machine.h"

namespace hector::flow {

/// How a sum follows from exponentials: `reduce sum (e · w / total[via])`, `e = exp(a - top[via])`.
struct OnlineSum {
  /// One op on the way from the exponential to the sum.
  struct Step {
    unsigned op;
    unsigned operand;              // the one that is scaled
    bool isShape;                  // moves numbers within a row
    unsigned total = Body::kNone;  // divides by this sum of the same fold
  };
  unsigned sum;
  llvm::SmallVector<Step, 4> steps;
};

/// A maximum, and the sums that are collected with it.
struct OnlineFold {
  unsigned top;
  llvm::SmallVector<OnlineSum, 2> sums;
};

class Sweeps {
public:
  struct Sweep {
    llvm::SmallVector<unsigned, 8> ops;     // in program order; those of `folds` left out
    llvm::SmallVector<unsigned, 4> yields;  // what later sweeps or other groups read
    std::vector<OnlineFold> folds;
  };

  /// `ops` are in program order; `isWritten` tells which of them other groups read. With `online`, sums are folded with
  /// their maxima.
  Sweeps(const Body &body, llvm::ArrayRef<unsigned> ops, Loop loop, Domain finest,
         llvm::function_ref<bool(unsigned)> isWritten, const Machine &machine, bool online);

  std::vector<Sweep> list;
  double scratchBytes = 0;     // written between sweeps at the walked level, for all rows together
  double extraOperations = 0;  // of what is computed again, and of scaling what was summed
  double extraWork = 0;        // the same in additions' worth
  bool hasFold = false;
};

}  // namespace hector::flow
