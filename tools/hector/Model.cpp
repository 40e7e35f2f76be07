#include "Model.h"

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"

#include <llvm/Support/ErrorHandling.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Pass/PassManager.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <set>

namespace hector {

int report(const Status &status) {
  const std::string &message = status.message();
  std::fputs(message.c_str(), stderr);
  if (message.empty() || message.back() != '\n')
    std::fputc('\n', stderr);
  return status.blame() == Blame::User ? kExitUser : kExitMachine;
}

/// The whole of a file, refused beyond what a model could be.
static Result<std::string> readText(const std::string &path) {
  constexpr size_t kMaxBytes = size_t{64} << 20;
  constexpr size_t kLooksLikeText = 16;  // a zero byte further on is shown in its place by the parser
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return Status::invalid("error: cannot read model `" + path + "`: " + std::strerror(errno));
  std::string text;
  char buffer[65536];
  size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, file)) > 0 && text.size() <= kMaxBytes)
    text.append(buffer, count);
  bool failed = std::ferror(file) != 0;
  int reason = errno;
  std::fclose(file);
  if (failed)
    return Status::invalid("error: cannot read model `" + path + "`: " + std::strerror(reason));
  if (text.find('\0') < kLooksLikeText)
    return Status::invalid("error: `" + path + "` is no model: it holds binary data; expected a text such as " +
                           "models/rgcn.hec");
  if (text.size() > kMaxBytes)
    return Status::invalid("error: model `" + path + "` is larger than 64 MiB");
  return text;
}

Result<Model> loadModel(const ModelOptions &options) {
  auto text = readText(options.path);
  if (!text)
    return text.status();
  Model model;
  model.source = std::make_unique<language::Source>(options.path, std::move(*text));
  language::Diagnostics diagnostics;
  model.module = language::parse(*model.source, diagnostics);
  if (!diagnostics.empty())
    return Status::invalid(diagnostics.render());
  auto signature = language::readSignature(model.module, *model.source, options.entry, diagnostics);
  if (!signature)
    return Status::invalid(diagnostics.render());
  model.signature = std::move(*signature);
  return model;
}

void loadDialects(mlir::MLIRContext &context) {
  // Where LLVM itself finds no memory it would end the program; `main` has a better message.
  static const bool isInstalled = [] {
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { throw std::bad_alloc(); });
    return true;
  }();
  (void)isInstalled;
  // Models are small; the threads MLIR would start cost more than they bring.
  context.disableMultithreading();
  // A remark that prints its op verifies and numbers the whole function first.
  context.printOpOnDiagnostic(false);
  context.loadDialect<flow::FlowDialect, mlir::func::FuncDialect>();
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> compileToFlow(mlir::MLIRContext &context, const Model &model,
                                                        const language::Binding &binding, const std::string &dtype) {
  mlir::FloatType type = dtype == "f64"    ? mlir::FloatType::getF64(&context)
                         : dtype == "f16"  ? mlir::FloatType::getF16(&context)
                         : dtype == "bf16" ? mlir::FloatType::getBF16(&context)
                                           : mlir::FloatType::getF32(&context);
  language::Diagnostics diagnostics;
  auto module = importModel(context, model.module, model.signature, binding, type, diagnostics);
  if (!diagnostics.empty())
    return Status::invalid(diagnostics.render());
  if (!module)
    return Status::failed(
        "error: `" + model.source->name() +
        "` compiled to IR that does not verify; this is a bug of Hector. Please report it with the model");
  return module;
}

//===- Graphs ----------------------------------------------------------------------------------------------------===//

/// How many of `count` rows `ids` names 0, 1, 2 to 3, 4 to 7 … times.
static mlir::DenseI64ArrayAttr readProfile(mlir::MLIRContext *context, const IdArray &ids, int64_t count) {
  BigVector<int32_t> reads(static_cast<size_t>(count), 0);  // never more than edges, which are in memory
  ids.visit([&](auto span) {
    for (auto id : span)
      if (reads[static_cast<size_t>(id)] < std::numeric_limits<int32_t>::max())
        ++reads[static_cast<size_t>(id)];
  });
  std::vector<int64_t> profile;
  for (int32_t number : reads) {
    size_t bin = static_cast<size_t>(std::bit_width(static_cast<uint32_t>(number)));
    if (bin >= profile.size())
      profile.resize(bin + 1);
    ++profile[bin];
  }
  return mlir::DenseI64ArrayAttr::get(context, profile);
}

void attachGraph(mlir::ModuleOp module, const Graph &graph) {
  mlir::MLIRContext *context = module.getContext();
  const Pairs &src = graph.srcPairs(), &dst = graph.dstPairs();
  bool uniform = graph.srcTypeOfRelation().isOk() && graph.dstTypeOfRelation().isOk();
  auto numbers = flow::GraphAttr::get(
      context, graph.numNodes(), graph.numEdges(), src.count(), dst.count(), graph.numRelations(), graph.numNodeTypes(),
      uniform, readProfile(context, graph.src(), graph.numNodes()), readProfile(context, graph.dst(), graph.numNodes()),
      readProfile(context, src.ofEdge, src.count()), readProfile(context, dst.ofEdge, dst.count()));
  for (auto function : module.getOps<mlir::func::FuncOp>())
    function->setAttr("flow.graph", numbers);
}

//===- Gradients -------------------------------------------------------------------------------------------------===//

Status chooseGradients(mlir::ModuleOp module, const language::Signature &signature, const std::string &names) {
  if (names.empty())
    return Status::ok();
  std::vector<std::string_view> inputs;
  for (const language::InputDecl &input : signature.inputs)
    inputs.push_back(input.name);
  llvm::SmallVector<llvm::StringRef> wanted;
  llvm::StringRef(names).split(wanted, ',');
  for (llvm::StringRef name : wanted) {
    if (name.empty())
      return Status::invalid("error: a name is missing in the list `" + names + "` of --grad");
    if (signature.findInput(name))
      continue;
    auto isNamed = [&](const auto &decl) { return decl.name == std::string_view(name); };
    const char *kind = llvm::any_of(signature.attributes, isNamed) ? "an attribute"
                       : llvm::any_of(signature.sizes, isNamed)    ? "a size"
                                                                   : nullptr;
    std::string_view near = language::nearest(std::string_view(name), inputs);
    std::string list;
    for (std::string_view input : inputs)
      list += (list.empty() ? "" : ", ") + std::string(input);
    std::string text = kind ? "`" + name.str() + "` of --grad is " + kind + ", which has no gradient"
                            : "model `" + signature.name + "` has no input `" + name.str() + "` for --grad";
    return Status::invalid(
        "error: " + text +
        (kind || near.empty() ? "; the model's inputs are " + list : "; did you mean `" + std::string(near) + "`?"));
  }
  mlir::Builder builder(module.getContext());
  for (auto function : module.getOps<mlir::func::FuncOp>())
    function->setAttr("flow.gradients", builder.getStrArrayAttr(wanted));
  return Status::ok();
}

//===- Passes ----------------------------------------------------------------------------------------------------===//

mlir::FileLineColLoc placeIn(const std::string &file, mlir::Location location) {
  if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
    return place.getFilename().getValue() == llvm::StringRef(file) ? place : mlir::FileLineColLoc();
  if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    auto place = placeIn(file, call.getCallee());
    return place ? place : placeIn(file, call.getCaller());
  }
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return placeIn(file, name.getChildLoc());
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (auto place = placeIn(file, part))
        return place;
  return {};
}

std::function<void(mlir::Location, const std::string &)> remarkPrinter(const PassOutput &output) {
  if (!output.remarks)
    return nullptr;
  // Passes run again on the gradients, and would repeat themselves.
  auto said = std::make_shared<std::set<std::string>>();
  return [said, model = output.model](mlir::Location location, const std::string &text) {
    auto place = placeIn(model, location);
    std::string line = model;
    if (place)
      line += ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn());
    line += ": remark: " + text + "\n";
    if (said->insert(line).second)
      std::fputs(line.c_str(), stderr);
  };
}

Status runPasses(mlir::ModuleOp module, const std::string &passes, bool grad, const PassOutput &output) {
  // Remarks are for those who ask for them; errors go into the message.
  std::string errors;
  auto remark = remarkPrinter(output);
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      errors += "\n  " + diagnostic.str();
    } else if (remark) {
      remark(diagnostic.getLocation(), diagnostic.str());
    }
    return mlir::success();
  });
  PipelineOptions options = {grad, output.remarks, output.dumps, {}};
  options.onWeighed = [&](const std::vector<PlanCost> &plans) {
    for (const PlanCost &plan : plans)
      if (output.remarks)
        std::fprintf(
            stderr,
            "%s: remark: plan %s%s: %.4g operations, %.4g bytes moved, %.4g live at once, %.4g us, price %.4g us\n",
            output.model.c_str(), plan.name.c_str(), plan.isTaken ? " (taken)" : "", plan.operations, plan.bytes,
            plan.peakBytes, plan.seconds * 1e6, plan.price * 1e6);
    if (output.plans)
      *output.plans = plans;
  };
  PipelineResult result = runPipeline(module, passes, options);
  if (result.wrong)
    return Status::invalid("error: " + *result.wrong);
  if (result.hasFailed)
    return Status::failed("error: a pass failed; run with --passes none and report the model:" + errors);
  if (output.groups)
    *output.groups = result.groups;
  return Status::ok();
}

Status formGroups(mlir::ModuleOp module, const flow::GroupOptions &options, const PassOutput &output) {
  std::string errors;
  auto remark = remarkPrinter(output);
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += "\n  " + diagnostic.str();
    else if (remark)
      remark(diagnostic.getLocation(), diagnostic.str());
    return mlir::success();
  });
  mlir::PassManager manager(module.getContext());
  manager.addNestedPass<mlir::func::FuncOp>(flow::createFormGroupsPass({options.fuse, options.rebuild}));
  if (mlir::failed(manager.run(module)))
    return Status::failed("error: groups cannot be formed; this is a bug of Hector. Please report it with the model:" +
                          errors);
  return Status::ok();
}

}  // namespace hector
