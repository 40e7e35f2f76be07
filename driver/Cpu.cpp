#include "driver/Cpu.h"

#include "compiler/Analysis/Cost.h"
#include "compiler/Conversion/FlowToKern/FlowToKern.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"

#include <mlir/IR/Verifier.h>

#include <limits>

namespace hector {

/// A copy of the program's module, lowered to kern.
static Result<mlir::OwningOpRef<mlir::ModuleOp>> lowered(const Program &program) {
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

static Result<Candidate> tryPlan(const Program &program, const Graph &graph, const std::string &passes, int threads,
                                 double memoryWeight) {
  Program copy = program.clone();
  if (Status status = copy.runPasses(passes, {}, memoryWeight); !status.isOk())
    return status;
  const double seconds = flow::estimate(copy.function(), copy.groupOptions()).seconds;
  if (Status status = copy.formGroups(); !status.isOk())
    return status;
  auto plan = makePlan(copy, {.wideIds = exec::needsWideIds(graph)});
  if (!plan)
    return std::move(plan).status();
  auto memory = exec::memoryFor(*plan, graph, threads);
  if (!memory)
    return std::move(memory).status();
  return Candidate{
      {std::move(copy), std::make_shared<const exec::Plan>(std::move(*plan))}, memory->peakBytes(), seconds};
}

Result<Planned> planFor(const Program &program, const Graph &graph, const PlanOptions &options) {
  const int threads = options.threads > 0 ? options.threads : numThreads();
  int64_t smallest = std::numeric_limits<int64_t>::max();
  constexpr double kMost = 256;
  for (double weight = 1; weight <= kMost; weight *= 4) {
    auto candidate = tryPlan(program, graph, options.passes, threads, weight);
    if (!candidate)
      return std::move(candidate).status();
    if (options.memoryLimit == 0 || candidate->peakBytes <= options.memoryLimit)
      return std::move(candidate->planned);
    smallest = std::min(smallest, candidate->peakBytes);
  }
  // The plan that is best by its estimate need not be the smallest.
  std::optional<Candidate> best;
  if (options.passes == "default")
    for (std::string_view name : planNames()) {
      auto candidate = tryPlan(program, graph, std::string(name), threads, kMost);
      if (!candidate)
        return std::move(candidate).status();
      smallest = std::min(smallest, candidate->peakBytes);
      if (candidate->peakBytes <= options.memoryLimit && (!best || candidate->seconds < best->seconds))
        best.emplace(std::move(*candidate));
    }
  if (best)
    return std::move(best->planned);
  return Status::invalid("the model needs at least " + formatBytes(smallest) + " with " + counted(threads, "thread") +
                         " on this graph, but the limit is " + formatBytes(options.memoryLimit) +
                         "; allow more, or compute with --dtype bf16 or without --grad");
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
