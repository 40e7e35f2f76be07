#include "compiler/Target/Cuda/Emitter.h"

#include "compiler/Target/Cpp/Launches.h"
#include "compiler/Target/Cuda/CudaWriter.h"

namespace hector {

Result<exec::Plan> emitCuda(mlir::ModuleOp module, const CudaOptions &options) {
  Writer source;
  for (const char *header : {"dropout", "lanes", "math", "matrices", "pieces", "products", "storage", "traversal"})
    source.line(std::string("#include \"kernels/cuda/") + header + ".cuh\"");
  source.line("");
  source.line("namespace " + options.prefix + "kernels {");
  source.line("");
  source.line("namespace cuda = hector::cuda;");
  source.line(std::string("using Id = ") + (options.wideIds ? "int64_t;" : "int32_t;"));
  llvm::StringMap<KernelFacts> facts;
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    source.line("");
    CudaWriter writer(kernel, options.prefix + kernel.getSymName().str(), options.precision);
    writer.write(source);
    if (!writer.refusal.empty())
      return Status::invalid(writer.refusal);
    facts[kernel.getSymName()] = std::move(writer.facts);
    facts[kernel.getSymName()].device = std::move(writer.launch);
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
