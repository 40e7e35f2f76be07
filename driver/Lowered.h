/// Programs as kernels, before they are written in a language.
#pragma once

#include "driver/Program.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace hector {

/// A copy of the program's module, lowered to kern.
Result<mlir::OwningOpRef<mlir::ModuleOp>> lowered(const Program &program);

}  // namespace hector
