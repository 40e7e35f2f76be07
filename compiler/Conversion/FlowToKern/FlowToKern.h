/// Lowers groups of flow to kernels.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <mlir/Pass/Pass.h>

#include <memory>

namespace hector {

/// How a table of this type is stored: numbers of 16 bits only where rows have several numbers and belong to nodes,
/// edges or pairs. Scores and statistics of one head, weights and their gradients are f32 then.
flow::RowsType storedType(flow::RowsType type);

/// Makes a kernel of every group that the module's first function runs, in itself or through calls, and launches of
/// groups and calls. Other functions are erased. Equal kernels are one.
mlir::LogicalResult lowerToKern(mlir::ModuleOp module);

/// The same as a pass, `lower-to-kern`.
std::unique_ptr<mlir::Pass> createLowerToKernPass();

}  // namespace hector
