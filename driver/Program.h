/// A model compiled: flow, the passes that change it, and the loops that compute it.
#pragma once

#include "compiler/Import/PartResult.h"
#include "compiler/Pipelines/PlanCost.h"
#include "driver/GraphFigures.h"
#include "driver/Model.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/machine/Machine.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What programs are made of is declared here and not included: most of those who compile and run them never see it.
namespace mlir {
class FileLineColLoc;
class Location;
class MLIRContext;
class ModuleOp;
namespace func {
class FuncOp;
}
}  // namespace mlir

namespace hector {

namespace flow {
struct GroupOptions;
enum class OptimiserKind : uint32_t;
}  // namespace flow

/// The types of number that programs compute with.
enum class NumberType : uint8_t { F64, F32, F16, BF16 };
/// "f64", "f32", "f16" or "bf16".
std::optional<NumberType> numberTypeFromName(std::string_view name);

/// What a program is to compute.
struct ProgramOptions {
  NumberType numbers = NumberType::F32;
  /// The inputs whose gradients are derived too; an empty list stands for all inputs.
  std::optional<std::vector<std::string>> gradients;
  bool fold = true;  // simplify ops as they are made
};

/// What a pass did or declined, and where in the model.
struct Remark {
  std::string model;              // what the model's text is called
  unsigned line = 0, column = 0;  // 0: no place in that text
  std::string text;
};

/// Who is told what passes report.
struct PassOutput {
  std::function<void(const Remark &)> onRemark;                // each remark once
  std::function<void(const std::vector<PlanCost> &)> onPlans;  // the plans that were compared, before any remark
  bool dumps = false;  // print the IR after each pass that changed it, on standard error
};

class Program;

/// A program within a larger one (`Part`).
struct ProgramPart {
  std::string name;
  const Program *program = nullptr;
  std::map<std::string, std::string> wires;
};

/// What a program that is put together learns from its gradients.
struct Learning {
  std::vector<std::string> gradients;            // inputs whose gradients are derived
  std::optional<flow::OptimiserKind> optimiser;  // makes updates of some of them; none: of none
  std::vector<std::string> parameters;           // those that it changes
};

/// A context with the dialects of flow, for any number of programs that are used by one thread at a time.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// A model's function in flow, which each step changes. Owns its IR, and shares its context.
class Program {
public:
  Program(Program &&) noexcept;
  Program &operator=(Program &&) noexcept;
  ~Program();

  /// The model as flow, before any pass. Fails if a size has no value, or `options` asks for the gradient of something
  /// that is no input; what is wrong with the model is reported with its places.
  static Result<Program> import(const Model &model, const language::Binding &binding, const ProgramOptions &options,
                                std::shared_ptr<mlir::MLIRContext> context = makeContext());
  /// Programs as one (`composeParts`). They share a context, and no pass has run on them. Fails if their tables do not
  /// fit together.
  static Result<Program> compose(const std::string &name, std::span<const ProgramPart> parts,
                                 std::span<const PartResult> results, const std::optional<Learning> &learning = {});
  Program clone() const;

  /// Has passes choose by a graph's figures. Fails if the graph lacks what the model relies on.
  Status attachGraph(const Graph &graph);
  /// The same by figures that stand for it.
  Status attachGraph(const Graph &graph, const GraphFigures &figures);
  /// Has passes choose by a machine's figures; without it they choose by those of `defaultMachine`.
  void attachMachine(const MachineDescription &machine);
  /// Runs the passes that `passes` names (`runPipeline`) and derives the gradients that were asked for. After a failure
  /// the program is of no use.
  /// Where memory is short, a larger `memoryWeight` makes it count more against time.
  Status runPasses(const std::string &passes, const PassOutput &output = {}, double memoryWeight = 1);
  /// Turns ops into the loops that compute them, as the passes that ran want it, and phases into functions that
  /// `function()` calls.
  Status formGroups(const PassOutput &output = {});
  /// How they are formed; `output` is told why.
  flow::GroupOptions groupOptions(const PassOutput &output = {}) const;

  mlir::ModuleOp module() const;
  mlir::func::FuncOp function() const;
  NumberType numbers() const { return type; }
  bool hasGradients() const { return derivesGradients; }
  const std::shared_ptr<mlir::MLIRContext> &sharedContext() const { return context; }

private:
  struct Ir;
  Program(std::shared_ptr<mlir::MLIRContext> context, std::unique_ptr<Ir> ir, std::string modelName, NumberType type,
          bool derivesGradients);

  std::shared_ptr<mlir::MLIRContext> context;  // outlives the IR
  std::unique_ptr<Ir> ir;
  std::string modelName;
  NumberType type;
  bool derivesGradients;
};

/// Where in the text called `model` an op comes from: its own place, or that of the call that led to it. Nothing where
/// it has none there.
mlir::FileLineColLoc placeIn(const std::string &model, mlir::Location location);

}  // namespace hector
