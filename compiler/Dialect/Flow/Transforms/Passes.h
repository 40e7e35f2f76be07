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

}  // namespace hector::flow
