/// `hector compile`: a model as one of the compiler's forms.

#include "Model.h"
#include "runtime/storage/File.h"

#include <llvm/Support/raw_ostream.h>

#include <cstdio>

namespace hector {

static Status compileModel(const CompileOptions &options) {
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
  auto module = compileToFlow(context, *model, binding, options.model.dtype.empty() ? "f32" : options.model.dtype);
  if (!module)
    return module.status();
  if (Status status = runPasses(module->get(), options.passes, options.grad); !status.isOk())
    return status;
  std::string text;
  llvm::raw_string_ostream out(text);
  module->get().print(out);
  out << '\n';
  if (options.outPath.empty()) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return Status::failed("error: cannot write to standard output");
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
