/// The search for the cheapest plan.
///
/// Plans share their beginnings: each step runs once for all plans that have it in the same place, on one copy of the
/// module. Where two plans have come to the same function and have the same steps ahead, only one goes on. The copy of
/// the plan that is taken becomes the module.
#pragma once

#include "compiler/Analysis/Cost.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Pipelines/Plan.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/OwningOpRef.h>

#include <cstdint>
#include <memory>

namespace hector {

/// Runs steps.
class Runner {
public:
  Runner(mlir::MLIRContext *context, const PipelineOptions &options, bool verifies)
      : context(context), options(options), verifies(verifies), dumps(dumped) {}

  bool run(mlir::ModuleOp module, const Step &step);
  /// The IR that was printed since the last call.
  std::string takeDumps() { return std::exchange(dumped, {}); }

private:
  std::unique_ptr<mlir::PassManager> makeManager(const Step &step);

  mlir::MLIRContext *context;
  const PipelineOptions &options;
  bool verifies;
  std::string dumped;
  llvm::raw_string_ostream dumps;
  /// Kept, since every plan simplifies several times and canonical patterns take a while to set up.
  std::unique_ptr<mlir::PassManager> simplifier;
};

/// Tries plans on copies of a module.
class Search {
public:
  Search(mlir::ModuleOp module, const PipelineOptions &options, const flow::GroupOptions &groupOptions)
      : module(module), options(options), groupOptions(groupOptions),
        runner(module.getContext(), options, /*verifies=*/false) {}

  /// Has the module become what the best of the plans makes of it; false where all of them fail, or what the best makes
  /// does not verify. `leaveOut` gives a plan that moves one sum less, counted from 0.
  bool run(llvm::ArrayRef<Plan> plans, llvm::function_ref<Plan(const Plan &, int64_t sum)> leaveOut);

private:
  /// What a step said, or the IR that it left.
  struct Said {
    std::shared_ptr<mlir::Diagnostic> diagnostic;
    std::string dump;
  };
  /// A copy of the module that some steps have run on.
  struct Trial {
    mlir::OwningOpRef<mlir::ModuleOp> copy;
    std::vector<Said> said;
  };
  /// A plan that has run.
  struct Candidate {
    Plan plan;
    Trial trial;
    flow::Cost cost;
  };

  bool run(Trial &trial, const Step &step);
  Trial copyOf(const Trial &trial);
  void follow(Trial trial, size_t depth, std::vector<const Plan *> plans);
  void tryWithoutSums(llvm::function_ref<Plan(const Plan &, int64_t sum)> leaveOut);
  bool isNew(llvm::hash_code function, const Plan &plan, size_t depth);
  const Candidate &best() const;
  void repeat(llvm::ArrayRef<Said> all);
  void keep(Candidate &candidate);

  mlir::ModuleOp module;
  const PipelineOptions &options;
  const flow::GroupOptions &groupOptions;
  Runner runner;
  std::vector<Candidate> candidates;
  std::vector<Said> failure;  // of the last plan that failed
  /// What plans have come to, with the steps that they had ahead.
  llvm::DenseSet<size_t> seen;
  /// Copies as they are before sums are moved for the first time, with the steps that led there.
  std::vector<std::pair<std::vector<Step>, Trial>> beforeSums;
};

}  // namespace hector
