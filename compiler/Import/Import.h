/// Syntax tree to flow: the meaning of the model language.
#pragma once

#include "language/Ast.h"
#include "language/Diagnostics.h"
#include "language/Signature.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/OwningOpRef.h>

namespace hector {

/// Compiles the model that `signature` names, with sizes and attributes from `binding`, into a module with one
/// function: an argument an input and a result a returned table, each carrying its name as `flow.name`. Numbers are
/// computed in `elementType`. Null, with errors recorded, where the model is wrong.
///
/// Loops become ops on whole tables, so two ways to write the same layer give the same ops; they are put in the order
/// in which the results need them, equal ones once, unused ones not at all.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const language::Module &module,
                                              const language::Signature &signature, const language::Binding &binding,
                                              mlir::FloatType elementType, language::Diagnostics &diagnostics,
                                              bool fold = true);

/// The names of a function's inputs or results.
llvm::StringRef inputName(mlir::Operation *function, unsigned index);
llvm::StringRef resultName(mlir::Operation *function, unsigned index);

}  // namespace hector
