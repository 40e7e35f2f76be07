#include "compiler/Target/Cpp/Emitter.h"

#include "compiler/Target/Cpp/KernelWriter.h"
#include "compiler/Target/Cpp/Launches.h"

namespace hector {

Result<exec::Plan> emitCpp(mlir::ModuleOp module, const CppOptions &options) {
  Writer source;
  for (const char *header : {"choose", "dropout", "math", "products", "rows", "storage"})
    source.line(std::string("#include \"kernels/cpu/") + header + ".hpp\"");
  source.line("");
  source.line("namespace " + options.prefix + "kernels {");
  source.line("");
  source.line("namespace cpu = hector::cpu;");
  source.line(std::string("using Id = ") + (options.wideIds ? "int64_t;" : "int32_t;"));
  llvm::StringMap<KernelFacts> facts;
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    source.line("");
    KernelWriter writer(kernel, options.prefix + kernel.getSymName().str());
    writer.write(source);
    facts[kernel.getSymName()] = std::move(writer.facts);
  }
  source.line("");
  source.line("}  // namespace " + options.prefix + "kernels");
  auto plan = planOf(module, options.prefix, facts);
  if (plan) {
    plan->wideIds = options.wideIds;
    Writer head;
    head.comment("Kernels of " + plan->name + ".");
    plan->source = head.text() + source.text();
  }
  return plan;
}

}  // namespace hector
