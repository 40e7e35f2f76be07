/// A model file read, parsed and bound.
#pragma once

#include "compiler/Pipelines/Pipelines.h"
#include "language/Parser.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "tools/hector/Commands.h"

#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Location.h>
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

/// Writes the graph's numbers on every function, for passes to choose by. Takes memory for each edge and node.
void attachGraph(mlir::ModuleOp module, const Graph &graph);

/// Has gradients of the inputs in `names` only be derived; they are separated by commas, and none means all. Fails
/// where a name is no input of the model.
Status chooseGradients(mlir::ModuleOp module, const language::Signature &signature, const std::string &names);

/// What passes say while they run, on standard error.
struct PassOutput {
  std::string model;                       // the file whose places remarks are given in, where they have one there
  bool remarks = false;                    // each once
  bool dumps = false;                      // IR after each pass that changed it
  std::vector<PlanCost> *plans = nullptr;  // takes those that `default` weighed
  flow::GroupOptions *groups = nullptr;    // takes how groups are to be formed
};

/// Runs the passes that `passes` names; with `grad`, derives the gradients of the chosen inputs as well.
Status runPasses(mlir::ModuleOp module, const std::string &passes, bool grad, const PassOutput &output = {});

/// Turns the ops of each function into the loops that compute them.
Status formGroups(mlir::ModuleOp module, const flow::GroupOptions &options = {}, const PassOutput &output = {});

/// Prints remarks as `output` wants them, each once; does nothing where it wants none.
std::function<void(mlir::Location, const std::string &)> remarkPrinter(const PassOutput &output);

/// Where in `file` an op comes from: its own place, or that of the call that led to it. Nothing where it has none
/// there.
mlir::FileLineColLoc placeIn(const std::string &file, mlir::Location location);

/// Loads the dialects that models use.
void loadDialects(mlir::MLIRContext &context);

/// Prints a failure and gives the exit code for it.
int report(const Status &status);

}  // namespace hector
