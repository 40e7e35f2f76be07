#include "driver/Cuda.h"

#include "driver/Lowered.h"

#include <algorithm>
#include <limits>

namespace hector {

Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  return emitCuda(**module, options);
}

cuda::Precision precisionFromName(const std::string &name) {
  return name == "high" || name == "medium" ? cuda::Precision::High : cuda::Precision::Highest;
}

Result<Planned> planForDevice(const Program &program, const Graph &graph, const DevicePlanOptions &options) {
  Program copy = program.clone();
  copy.attachMachine(options.machine);
  int64_t available = std::numeric_limits<int64_t>::max();
  if (options.device && options.exec.isInPlace) {
    available = options.device->info().memoryBytes;
  } else if (options.device) {
    auto free = options.device->freeBytes();
    if (!free)
      return std::move(free).status();
    available = *free;
  }
  const int64_t limit = options.exec.memoryLimit > 0 ? std::min(options.exec.memoryLimit, available) : available;
  const PlanMaker maker = {
      [&](const Program &grouped) {
        return makeCudaPlan(grouped, {.precision = options.precision, .wideIds = exec::needsWideIds(graph)});
      },
      [&](const exec::Plan &plan) -> Result<PlanBytes> {
        if (!options.device)
          return PlanBytes();
        auto memory = exec::memoryFor(plan, graph, options.device->info(), options.exec, available);
        if (!memory)
          return std::move(memory).status();
        return PlanBytes{memory->peakBytes(), memory->peakBytes()};
      }};
  auto chosen = choosePlan(copy, options.passes, limit, maker);
  if (!chosen)
    return std::move(chosen).status();
  return std::move(chosen->planned);
}

Result<std::vector<NamedTensor>> runOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options) {
  auto arguments = bindArguments(planned.program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  auto program = loadKernels(*planned.plan, device, options.events);
  if (!program)
    return std::move(program).status();
  return runPlan(planned.plan, std::move(*program), device, graph, *arguments, options);
}

}  // namespace hector
