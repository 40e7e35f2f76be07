#include "compiler/Target/Cuda/Emitter.h"

#include "compiler/Target/Cpp/KernelSummary.h"
#include "compiler/Target/Cpp/Launches.h"
#include "compiler/Target/Cuda/Bands.h"
#include "compiler/Target/Cuda/CudaWriter.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <set>

namespace hector {

/// Of each launch of a module's function: whether it may share the one before it.
static std::vector<bool> besideOf(mlir::ModuleOp module) {
  std::vector<bool> isBeside;
  for (auto launch : (*module.getOps<mlir::func::FuncOp>().begin()).getOps<kern::LaunchOp>())
    isBeside.push_back(launch.getBeside());
  return isBeside;
}

Result<exec::Plan> emitCuda(mlir::ModuleOp module, const CudaOptions &options) {
  auto symbolOf = [&](kern::KernelOp kernel) { return options.prefix + kernel.getSymName().str(); };
  llvm::StringMap<KernelFacts> facts;
  std::map<std::string, BandFacts> bandFacts;
  std::map<std::string, Writer> texts;
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    const std::string symbol = symbolOf(kernel);
    CudaWriter writer(kernel, symbol, options.precision);
    writer.write(texts[symbol]);
    if (!writer.refusal.empty())
      return Status::invalid(writer.refusal);
    bandFacts[symbol] = {writer.parameters(), sourceLines(kernel)};
    facts[kernel.getSymName()] = std::move(writer.facts);
    facts[kernel.getSymName()].device = std::move(writer.launch);
  }
  auto plan = planOf(module, options.prefix, facts);
  if (!plan)
    return plan;
  plan->wideIds = options.wideIds;
  const std::vector<BandsKernel> shared = shareLaunches(*plan, besideOf(module), options.prefix);
  std::set<std::string> launched, inBands;
  for (const exec::Step &step : plan->steps)
    launched.insert(step.launch.kernel);
  for (const BandsKernel &kernel : shared)
    for (const BandsKernel::Band &band : kernel.bands)
      inBands.insert(band.kernel);

  Writer source;
  source.comment("Kernels of " + plan->name + ".");
  for (const char *header : {"dropout", "lanes", "math", "matrices", "pieces", "products", "storage", "traversal"})
    source.line(std::string("#include \"kernels/cuda/") + header + ".cuh\"");
  source.line("");
  source.line("namespace " + options.prefix + "kernels {");
  source.line("");
  source.line("namespace cuda = hector::cuda;");
  source.line(std::string("using Id = ") + (options.wideIds ? "int64_t;" : "int32_t;"));
  for (auto kernel : module.getOps<kern::KernelOp>()) {
    const std::string symbol = symbolOf(kernel);
    if (launched.contains(symbol)) {
      source.line("");
      source.append(texts[symbol]);
    }
    if (inBands.contains(symbol)) {
      source.line("");
      CudaWriter(kernel, bandSymbol(symbol), options.precision, CudaWriter::Use::Band).write(source);
    }
  }
  for (const BandsKernel &kernel : shared)
    writeBands(source, kernel, bandFacts);
  source.line("");
  source.line("}  // namespace " + options.prefix + "kernels");
  plan->source = source.text();
  return plan;
}

}  // namespace hector
