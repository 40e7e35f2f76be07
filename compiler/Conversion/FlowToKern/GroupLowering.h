/// Lowers one group to one kernel.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <mlir/IR/Builders.h>

#include <string>

namespace hector {

/// A kernel that computes what `group` does, on inputs that are stored in the given orders. Looks at nothing but the
/// group. The kernel has no name yet; `names` are those of its tables, of inputs and then of results.
mlir::FailureOr<kern::KernelOp> lowerGroup(mlir::OpBuilder &builder, flow::GroupOp group,
                                           llvm::ArrayRef<flow::Order> inputOrders, llvm::ArrayRef<std::string> names);

}  // namespace hector
