/// Lowers what flow computes within a row to statements of kern.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <mlir/IR/Builders.h>

namespace hector {

/// The type of numbers that kernels compute with where tables hold `element`: f64 stays, other floats become f32.
mlir::Type computeType(mlir::Type element);

/// A row of a table, in registers.
mlir::Type rowTypeOf(flow::RowsType type);

/// What an op that depends on its row asks for.
struct RowNumbers {
  llvm::function_ref<mlir::Value()> forMatches;  // the number that `flow.is_row` compares with
  llvm::function_ref<mlir::Value()> forDropout;
};

/// Computes the result of a dense op, or of a spread, from the rows of its operands.
mlir::Value lowerRow(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                     const RowNumbers &numbers);

/// What one row adds to a `flow.weight_grad` that keeps every row apart.
mlir::Value lowerOuter(mlir::OpBuilder &builder, flow::WeightGradOp op, mlir::Value input, mlir::Value grad);

}  // namespace hector
