/// The passes on flow.
#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/Pass.h>

namespace hector::flow {

#define GEN_PASS_DECL
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

/// Prints to `out`, which outlives the pass; without it, to the standard output.
std::unique_ptr<mlir::Pass> createPrintCostPass(llvm::raw_ostream &out);

#define GEN_PASS_REGISTRATION
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

/// The sums of linear ops and the weight_grads of a function, in the order in which `flow-aggregate-first` counts them.
llvm::SmallVector<mlir::Operation *> sumsOfProducts(mlir::Block &body);

}  // namespace hector::flow
