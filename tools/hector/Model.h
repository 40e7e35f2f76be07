/// A model file read, parsed and bound.
#pragma once

#include "language/Parser.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "tools/hector/Commands.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/IR/OwningOpRef.h>

#include <memory>

namespace hector {

/// A parsed model. The syntax tree points into the source, and the signature into the tree.
struct Model {
  std::unique_ptr<language::Source> source;
  language::Module module;
  language::Signature signature;
};

/// Reads and parses a model file; the message of a failure is ready to be printed.
Result<Model> loadModel(const ModelOptions &options);

/// Compiles to flow in the given number type ("f64", "f32", "f16", "bf16").
Result<mlir::OwningOpRef<mlir::ModuleOp>> compileToFlow(mlir::MLIRContext &context, const Model &model,
                                                        const language::Binding &binding, const std::string &dtype);

/// Runs the passes that `passes` names; with `grad`, derives the gradients of all inputs as well.
Status runPasses(mlir::ModuleOp module, const std::string &passes, bool grad);

/// Loads the dialects that models use.
void loadDialects(mlir::MLIRContext &context);

/// Prints a failure and gives the exit code for it.
int report(const Status &status);

}  // namespace hector
