/// The kern dialect: kernels as loop nests over the rows of tables.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/SymbolTable.h>

#include <cstdint>

// clang-format off: generated code needs what is included above.
#include "compiler/Dialect/Kern/IR/KernEnums.h.inc"
#include "compiler/Dialect/Kern/IR/KernDialect.h.inc"
// clang-format on

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Kern/IR/KernAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/Kern/IR/KernTypes.h.inc"

namespace hector::kern {

/// How many numbers a row has, and of which type they are.
int64_t rowSize(mlir::Type row);
mlir::Type elementType(mlir::Type row);
/// A row of `size` numbers; `isScalar` rows have one, and are no vectors.
mlir::Type rowType(int64_t size, mlir::Type element, bool isScalar = false);

/// How many operands a function takes.
unsigned arity(Fn fn);

}  // namespace hector::kern

#define GET_OP_CLASSES
#include "compiler/Dialect/Kern/IR/KernOps.h.inc"
