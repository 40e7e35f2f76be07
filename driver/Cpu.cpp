#include "driver/Cpu.h"

#include "compiler/Analysis/Cost.h"
#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "compiler/Pipelines/Pipelines.h"
#include "driver/Lowered.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"

#include <mlir/IR/Verifier.h>

#include <algorithm>
#include <limits>

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

/// One way to compile a program, and what that takes.
struct Candidate {
  Planned planned;
  int64_t peakBytes = 0;
  double seconds = 0;
};

static Result<Candidate> tryPlan(const Program &program, const Graph &graph, const Tensors &tensors,
                                 const std::string &passes, int threads, double memoryWeight) {
  Program copy = program.clone();
  std::string taken = passes;
  PassOutput output;
  output.onPlans = [&](const std::vector<PlanCost> &plans) {
    for (const PlanCost &plan : plans)
      if (plan.isTaken)
        taken = plan.name;
  };
  if (Status status = copy.runPasses(passes, output, memoryWeight); !status.isOk())
    return status;
  const double seconds = flow::estimate(copy.function(), copy.groupOptions()).seconds;
  if (Status status = copy.formGroups(); !status.isOk())
    return status;
  auto plan = makePlan(copy, {.wideIds = exec::needsWideIds(graph)});
  if (!plan)
    return std::move(plan).status();
  auto memory = exec::memoryFor(*plan, graph, threads, tensors);
  if (!memory)
    return std::move(memory).status();
  return Candidate{{std::move(copy), std::make_shared<const exec::Plan>(std::move(*plan)), std::move(taken)},
                   memory->peakBytes(),
                   seconds};
}

/// Says that no plan fits, and what would change that.
static Status refuse(const Program &program, int64_t smallest, int threads, const PlanOptions &options) {
  const bool isLimited = options.memoryLimit > 0 && options.memoryLimit < options.availableMemory;
  std::vector<std::string> advice;
  if (isLimited && smallest <= options.availableMemory)
    advice.emplace_back("allow more");
  if (program.numbers() == NumberType::F64 || program.numbers() == NumberType::F32)
    advice.emplace_back("compute with --dtype bf16");
  if (program.hasGradients())
    advice.emplace_back("compute without --grad");
  std::string text = "the model needs at least " + formatBytes(smallest) + " with " + counted(threads, "thread") +
                     " on this graph, but " +
                     (isLimited ? "the limit is " + formatBytes(options.memoryLimit)
                                : formatBytes(options.availableMemory) + " of memory are available");
  for (size_t i = 0; i < advice.size(); ++i)
    text += (i == 0 ? "; " : i + 1 == advice.size() ? ", or " : ", ") + advice[i];
  return isLimited ? Status::invalid(text) : Status::failed(text);
}

Result<Planned> planFor(const Program &program, const Graph &graph, const Tensors &tensors,
                        const PlanOptions &options) {
  const int threads = options.threads > 0 ? options.threads : numThreads();
  const int64_t limit =
      options.memoryLimit > 0 ? std::min(options.memoryLimit, options.availableMemory) : options.availableMemory;
  int64_t smallest = std::numeric_limits<int64_t>::max();
  constexpr double kMost = 256;
  for (double weight = 1; weight <= kMost; weight *= 4) {
    auto candidate = tryPlan(program, graph, tensors, options.passes, threads, weight);
    if (!candidate)
      return std::move(candidate).status();
    if (candidate->peakBytes <= limit)
      return std::move(candidate->planned);
    smallest = std::min(smallest, candidate->peakBytes);
  }
  // The plan that is best by its estimate need not be the smallest.
  std::optional<Candidate> best;
  if (options.passes == "default")
    for (std::string_view name : planNames()) {
      auto candidate = tryPlan(program, graph, tensors, std::string(name), threads, kMost);
      if (!candidate)
        return std::move(candidate).status();
      smallest = std::min(smallest, candidate->peakBytes);
      if (candidate->peakBytes <= limit && (!best || candidate->seconds < best->seconds))
        best.emplace(std::move(*candidate));
    }
  if (best)
    return std::move(best->planned);
  return refuse(program, smallest, threads, options);
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
