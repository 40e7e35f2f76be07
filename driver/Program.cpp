#include "driver/Program.h"

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Kern/IR/Kern.h"
#include "compiler/Import/Compose.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"
#include "interp/Interpreter.h"

#include <llvm/ADT/StringExtras.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Pass/PassManager.h>

#include <set>
#include <tuple>

namespace hector {

std::shared_ptr<mlir::MLIRContext> makeContext() {
  // Models are small; the threads MLIR would start cost more than they bring.
  auto context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  // A remark that prints its op verifies and numbers the whole function first.
  context->printOpOnDiagnostic(false);
  context->loadDialect<flow::FlowDialect, kern::KernDialect, mlir::func::FuncDialect>();
  return context;
}

struct Program::Ir {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  flow::GroupOptions groups = {};
};

Program::Program(std::shared_ptr<mlir::MLIRContext> context, std::unique_ptr<Ir> ir, std::string modelName,
                 NumberType type, bool derivesGradients)
    : context(std::move(context)), ir(std::move(ir)), modelName(std::move(modelName)), type(type),
      derivesGradients(derivesGradients) {}
Program::Program(Program &&) noexcept = default;
Program &Program::operator=(Program &&other) noexcept {
  ir.reset();  // before its context
  context = std::move(other.context);
  ir = std::move(other.ir);
  modelName = std::move(other.modelName);
  type = other.type;
  derivesGradients = other.derivesGradients;
  return *this;
}
Program::~Program() = default;

mlir::ModuleOp Program::module() const {
  return *ir->module;
}

mlir::func::FuncOp Program::function() const {
  return *module().getOps<mlir::func::FuncOp>().begin();
}

//===- Flow ------------------------------------------------------------------------------------------------------===//

/// Fails where a name is no input of the model.
static Status checkGradients(const language::Signature &signature, const std::vector<std::string> &names) {
  std::vector<std::string_view> inputs;
  for (const language::InputDecl &input : signature.inputs)
    inputs.push_back(input.name);
  for (const std::string &name : names) {
    if (name.empty())
      return Status::invalid("a name is missing in the list `" + llvm::join(names, ",") + "` of --grad");
    if (signature.findInput(name))
      continue;
    auto isNamed = [&](const auto &decl) { return decl.name == name; };
    const char *kind = llvm::any_of(signature.attributes, isNamed) ? "an attribute"
                       : llvm::any_of(signature.sizes, isNamed)    ? "a size"
                                                                   : nullptr;
    std::string_view near = language::nearest(name, inputs);
    std::string list;
    for (std::string_view input : inputs)
      list += (list.empty() ? "" : ", ") + std::string(input);
    std::string text = kind ? "`" + name + "` of --grad is " + kind + ", which has no gradient"
                            : "model `" + signature.name + "` has no input `" + name + "` for --grad";
    return Status::invalid(text + (kind || near.empty() ? "; the model's inputs are " + list
                                                        : "; did you mean `" + std::string(near) + "`?"));
  }
  return Status::ok();
}

std::optional<NumberType> numberTypeFromName(std::string_view name) {
  return name == "f64"    ? std::optional(NumberType::F64)
         : name == "f32"  ? std::optional(NumberType::F32)
         : name == "f16"  ? std::optional(NumberType::F16)
         : name == "bf16" ? std::optional(NumberType::BF16)
                          : std::nullopt;
}

static mlir::FloatType floatType(mlir::MLIRContext *context, NumberType type) {
  switch (type) {
  case NumberType::F64:
    return mlir::FloatType::getF64(context);
  case NumberType::F32:
    return mlir::FloatType::getF32(context);
  case NumberType::F16:
    return mlir::FloatType::getF16(context);
  case NumberType::BF16:
    break;
  }
  return mlir::FloatType::getBF16(context);
}

Result<Program> Program::import(const Model &model, const language::Binding &binding, const ProgramOptions &options,
                                std::shared_ptr<mlir::MLIRContext> context) {
  language::Diagnostics diagnostics;
  auto module = importModel(*context, model.module, model.signature, binding, floatType(context.get(), options.numbers),
                            diagnostics, options.fold);
  if (!diagnostics.empty())
    return Status::located(diagnostics.render());
  if (!module)
    return Status::failed(
        "`" + model.source->name() +
        "` compiled to IR that does not verify; this is a bug of Hector. Please report it with the model");
  if (options.gradients && !options.gradients->empty()) {
    if (Status status = checkGradients(model.signature, *options.gradients); !status.isOk())
      return status;
    llvm::SmallVector<llvm::StringRef> names(options.gradients->begin(), options.gradients->end());
    for (auto function : module->getOps<mlir::func::FuncOp>())
      function->setAttr("flow.gradients", mlir::Builder(context.get()).getStrArrayAttr(names));
  }
  return Program(std::move(context), std::make_unique<Ir>(Ir{std::move(module)}), model.source->name(), options.numbers,
                 options.gradients.has_value());
}

Result<Program> Program::compose(const std::string &name, std::span<const ProgramPart> parts,
                                 std::span<const PartResult> results, const std::optional<Learning> &learning) {
  std::shared_ptr<mlir::MLIRContext> context = parts.front().program->context;
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    errors += (errors.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  std::vector<Part> functions;
  for (const ProgramPart &part : parts)
    functions.push_back({part.name, part.program->function(), part.wires});
  auto module = composeParts(*context, name, functions, results);
  if (!module)
    return Status::invalid("the parts of " + name + " do not fit together: " + errors);
  Program whole(context, std::make_unique<Ir>(Ir{std::move(module)}), name, parts.front().program->type,
                learning.has_value());
  if (!learning)
    return whole;
  mlir::Builder builder(context.get());
  auto names = [&](const std::vector<std::string> &list) {
    return builder.getStrArrayAttr(llvm::SmallVector<llvm::StringRef>(list.begin(), list.end()));
  };
  whole.function()->setAttr("flow.gradients", names(learning->gradients));
  if (learning->optimiser)
    whole.function()->setAttr(
        "flow.optimiser", flow::OptimiserAttr::get(context.get(), *learning->optimiser, names(learning->parameters)));
  return whole;
}

Program Program::clone() const {
  return Program(context, std::make_unique<Ir>(Ir{module().clone(), ir->groups}), modelName, type, derivesGradients);
}

//===- Graphs ----------------------------------------------------------------------------------------------------===//

Status Program::attachGraph(const Graph &graph) {
  return attachGraph(graph, figuresOf(graph));
}

Status Program::attachGraph(const Graph &graph, const GraphFigures &figures) {
  if (Status status = checkGraph(function(), graph); !status.isOk())
    return status;
  auto reads = [&](const std::vector<int64_t> &profile) {
    return mlir::DenseI64ArrayAttr::get(context.get(), profile);
  };
  const bool isUniform = figures.hasTypedSources && figures.hasTypedDestinations;
  function()->setAttr("flow.graph",
                      flow::GraphAttr::get(context.get(), figures.nodes, figures.edges, figures.srcPairs,
                                           figures.dstPairs, figures.relations, figures.nodeTypes, isUniform,
                                           reads(figures.sourceReads), reads(figures.destinationReads),
                                           reads(figures.srcPairReads), reads(figures.dstPairReads)));
  return Status::ok();
}

void Program::attachMachine(const MachineDescription &machine) {
  const auto target = machine.target == MachineTarget::Gpu ? flow::Target::Gpu : flow::Target::Cpu;
  function()->setAttr("flow.machine",
                      flow::MachineAttr::get(context.get(), target, machine.bandwidth, machine.cacheBytes,
                                             machine.lineBytes, machine.randomReads, machine.cachedReads,
                                             machine.productRate, machine.scalarRate, machine.launch));
}

//===- Passes ----------------------------------------------------------------------------------------------------===//

mlir::FileLineColLoc placeIn(const std::string &model, mlir::Location location) {
  if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return place.getFilename().getValue() == llvm::StringRef(model) ? place : mlir::FileLineColLoc();
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    auto place = placeIn(model, call.getCallee());
    return place ? place : placeIn(model, call.getCaller());
  }
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return placeIn(model, name.getChildLoc());
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (auto place = placeIn(model, part))
        return place;
  return {};
}

/// Tells `output` of remarks on the model, each once; does nothing where nobody listens.
static std::function<void(mlir::Location, const std::string &)> remarkTo(const PassOutput &output,
                                                                         const std::string &model) {
  if (!output.onRemark)
    return nullptr;
  // Passes run again on gradients, and repeat themselves.
  auto said = std::make_shared<std::set<std::tuple<unsigned, unsigned, std::string>>>();
  return [said, model, tell = output.onRemark](mlir::Location location, const std::string &text) {
    Remark remark = {model, 0, 0, text};
    if (auto place = placeIn(model, location)) {
      remark.line = place.getLine();
      remark.column = place.getColumn();
    }
    if (said->emplace(remark.line, remark.column, remark.text).second)
      tell(remark);
  };
}

Status Program::runPasses(const std::string &passes, const PassOutput &output, double memoryWeight) {
  // Remarks are for those who ask for them; errors go into the message.
  std::string errors;
  auto remark = remarkTo(output, modelName);
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      errors += "\n  " + diagnostic.str();
    } else if (remark) {
      remark(diagnostic.getLocation(), diagnostic.str());
    }
    return mlir::success();
  });
  PipelineOptions pipeline;
  pipeline.differentiate = derivesGradients;
  pipeline.remarks = static_cast<bool>(output.onRemark);
  pipeline.dumps = output.dumps;
  pipeline.onWeighed = output.onPlans;
  pipeline.memoryWeight = memoryWeight;
  PipelineResult result = runPipeline(module(), passes, pipeline);
  if (result.wrong)
    return Status::invalid(*result.wrong);
  if (result.hasFailed)
    return Status::failed("a pass failed; run with --passes none and report the model:" + errors);
  ir->groups = result.groups;
  return Status::ok();
}

flow::GroupOptions Program::groupOptions(const PassOutput &output) const {
  flow::GroupOptions options = ir->groups;
  options.remark = remarkTo(output, modelName);
  return options;
}

Status Program::formGroups(const PassOutput &output) {
  std::string errors;
  auto remark = remarkTo(output, modelName);
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += "\n  " + diagnostic.str();
    else if (remark)
      remark(diagnostic.getLocation(), diagnostic.str());
    return mlir::success();
  });
  mlir::PassManager manager(context.get());
  const flow::GroupOptions &groups = ir->groups;
  manager.addNestedPass<mlir::func::FuncOp>(
      flow::createFormGroupsPass({groups.fuse, groups.rebuild, groups.memoryWeight}));
  manager.addPass(flow::createSplitPhasesPass());
  if (mlir::failed(manager.run(module())))
    return Status::failed("groups cannot be formed; this is a bug of Hector. Please report it with the model:" +
                          errors);
  return Status::ok();
}

}  // namespace hector
