/// `hector compile`: a model as one of the compiler's forms.

#include "Case.h"
#include "Model.h"
#include "Summary.h"
#include "compiler/Analysis/Cost.h"
#include "interp/Interpreter.h"
#include "runtime/storage/File.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <charconv>
#include <cstdio>

namespace hector {

/// "4096", "512K", "32M" or "1G" in bytes.
static Result<int64_t> parseBytes(const std::string &text) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  int shift = suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : suffix.empty() ? 0 : -1;
  if (error != std::errc() || shift < 0 || number < 1 || number > (int64_t{1} << 40 >> shift))
    return Status::invalid("error: --cache takes bytes, such as 32M or 512K, from 1 to 1024G; `" + text +
                           "` is none of these");
  return number << shift;
}

/// Writes a machine with the given cache on every function; other numbers are the defaults.
static void attachCache(mlir::ModuleOp module, int64_t cacheBytes) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    flow::Machine machine(function);
    machine.cacheBytes = static_cast<double>(cacheBytes);
    function->setAttr("flow.machine", machine.toAttr(module.getContext()));
  }
}

static Status compileModel(const CompileOptions &options) {
  const std::string inputs[] = {options.model.path, options.graphPath};
  if (Status status = refuseOverwriting(options.outPath, inputs); !status.isOk())
    return std::move(status).during("error");
  auto model = loadModel(options.model);
  if (!model)
    return model.status();
  language::Binding binding;
  if (auto wrong = language::bindAttributes(model->signature, options.model.settings, binding))
    return Status::invalid("error: " + *wrong);
  if (auto wrong = language::bindSizes(model->signature, options.model.sizes, binding))
    return Status::invalid("error: " + *wrong);
  mlir::MLIRContext context;
  loadDialects(context);
  const std::string dtype = options.model.dtype.empty() ? "f32" : options.model.dtype;
  auto module = compileToFlow(context, *model, binding, dtype);
  if (!module)
    return module.status();
  if (Status status = chooseGradients(module->get(), model->signature, options.gradInputs); !status.isOk())
    return status;
  if (!options.graphPath.empty()) {
    auto graph = loadGraph(options.graphPath, model->signature);
    if (!graph)
      return graph.status();
    for (auto function : module->get().getOps<mlir::func::FuncOp>())
      if (Status status = checkGraph(function, *graph); !status.isOk())
        return std::move(status).during("error: " + options.graphPath);
    attachGraph(module->get(), *graph);
  }
  if (!options.cache.empty()) {
    auto bytes = parseBytes(options.cache);
    if (!bytes)
      return bytes.status();
    attachCache(module->get(), *bytes);
  }
  std::string passes = options.passes;
  if (passes.empty())
    passes = options.emit == "flow" ? "none" : "default";
  std::vector<PlanCost> plans;
  flow::GroupOptions groups;
  PassOutput output = {options.model.path, options.remarks, options.dumpPasses, &plans, &groups};
  if (Status status = runPasses(module->get(), passes, options.grad, output); !status.isOk())
    return status;
  if (options.emit == "groups")
    if (Status status = formGroups(module->get(), groups, output); !status.isOk())
      return status;
  std::string text;
  if (options.emit == "summary") {
    auto function = *module->get().getOps<mlir::func::FuncOp>().begin();
    groups.remark = remarkPrinter(output);
    text = formatSummary(function, binding, {options.model.path, passes, dtype, plans, groups, options.perOp});
  } else {
    llvm::raw_string_ostream out(text);
    module->get().print(out);
    out << '\n';
  }
  if (options.outPath.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);  // what goes wrong is seen when the program ends
    return Status::ok();
  }
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  return replaceFile(options.outPath, std::span(&piece, 1)).during("error");
}

int compileCommand(const CompileOptions &options) {
  Status status = compileModel(options);
  return status.isOk() ? kExitFine : report(status);
}

}  // namespace hector
