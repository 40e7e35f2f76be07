#include "driver/Cpu.h"

#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "driver/Lowered.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"

#include <mlir/IR/Verifier.h>

#include <algorithm>

namespace hector {

Result<mlir::OwningOpRef<mlir::ModuleOp>> lowered(const Program &program) {
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module().clone();
  if (mlir::failed(lowerToKern(*module)) || mlir::failed(mlir::verify(*module)))
    return Status::failed("the program could not be turned into kernels; this is a bug of Hector");
  return module;
}

Result<exec::Plan> makePlan(const Program &program, const CppOptions &options) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  return emitCpp(**module, options);
}

Result<std::string> kernText(const Program &program) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  return text;
}

/// Says that no plan fits, and what would change that.
static Status refuse(const Program &program, int64_t smallest, const PlanOptions &options) {
  const bool isLimited = options.memoryLimit > 0 && options.memoryLimit < options.availableMemory;
  std::vector<std::string> advice;
  if (isLimited && smallest <= options.availableMemory)
    advice.emplace_back("allow more");
  if (program.numbers() == NumberType::F64 || program.numbers() == NumberType::F32)
    advice.emplace_back("compute with --dtype bf16");
  if (program.hasGradients())
    advice.emplace_back("compute without --grad");
  const std::string exactly = smallest < 1024 ? "" : " (" + std::to_string(smallest) + " bytes)";
  std::string text = "the model needs at least " + formatBytes(smallest) + exactly + " on this graph, but " +
                     (isLimited ? "the limit is " + formatBytes(options.memoryLimit)
                                : formatBytes(options.availableMemory) + " of memory are available");
  for (size_t i = 0; i < advice.size(); ++i)
    text += (i == 0 ? "; " : i + 1 == advice.size() ? ", or " : ", ") + advice[i];
  return isLimited ? Status::invalid(text) : Status::failed(text);
}

Result<PlanBytes> planBytes(const exec::Plan &plan, const Graph &graph, const Tensors &tensors, exec::Outputs outputs) {
  auto usual = exec::memoryFor(plan, graph, kThreadsOfPlans, tensors, outputs);
  if (!usual)
    return std::move(usual).status();
  auto least = exec::memoryFor(plan, graph, 1, tensors, outputs);
  if (!least)
    return std::move(least).status();
  return PlanBytes{usual->peakBytes(), least->peakBytes()};
}

Result<Planned> planFor(const Program &program, const Graph &graph, const Tensors &tensors,
                        const PlanOptions &options) {
  ThreadLimit threads(options.threads > 0 ? options.threads : numThreads());
  const int64_t limit =
      options.memoryLimit > 0 ? std::min(options.memoryLimit, options.availableMemory) : options.availableMemory;
  const PlanMaker maker = {
      [&](const Program &grouped) { return makePlan(grouped, {.wideIds = exec::needsWideIds(graph)}); },
      [&](const exec::Plan &plan) { return planBytes(plan, graph, tensors, options.outputs); }};
  auto chosen = choosePlan(program, options.passes, limit, maker);
  if (!chosen)
    return std::move(chosen).status();
  if (chosen->bytes.least > limit)
    return refuse(program, chosen->bytes.least, options);
  return std::move(chosen->planned);
}

Result<std::vector<NamedTensor>> runOnCpu(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                          const CpuOptions &options) {
  auto arguments = bindArguments(planned.program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  auto kernels = loadKernels(*planned.plan, options.events);
  if (!kernels)
    return std::move(kernels).status();
  return runPlan(planned.plan, std::move(*kernels), graph, *arguments, options);
}

}  // namespace hector
