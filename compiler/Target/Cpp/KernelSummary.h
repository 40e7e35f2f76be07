/// Comments on a kernel, for those who read generated code.
#pragma once

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <string>
#include <vector>

namespace hector {

/// What a kernel computes, in a line for each table that it writes: `top = max(leaky_relu(add))`. What is
/// too long is left out: `...`.
std::vector<std::string> summarize(kern::KernelOp kernel, llvm::function_ref<std::string(mlir::Value)> tableName);

/// The lines of the model that a kernel comes from: "rgat.hec:5, 7". Nothing where they are not known.
std::string sourceLines(kern::KernelOp kernel);

}  // namespace hector
