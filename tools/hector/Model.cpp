#include "Model.h"

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Pass/PassManager.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

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
  // Models are small; the threads MLIR would start cost more than they bring.
  context.disableMultithreading();
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

Status runPasses(mlir::ModuleOp module, const std::string &passes, bool grad) {
  mlir::PassManager manager(module.getContext());
  if (auto wrong = buildPipeline(manager, module, passes, grad))
    return Status::invalid("error: " + *wrong);
  // Remarks are for those who ask for them; errors go into the message.
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += "\n  " + diagnostic.str();
    return mlir::success();
  });
  if (mlir::failed(manager.run(module)))
    return Status::failed("error: a pass failed; run with --passes none and report the model:" + errors);
  return Status::ok();
}

}  // namespace hector
