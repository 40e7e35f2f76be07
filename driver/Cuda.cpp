#include "driver/Cuda.h"

#include "driver/Lowered.h"

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

Result<Planned> planForDevice(const Program &program, const Graph &graph, const std::string &passes,
                              cuda::Precision precision, const MachineDescription &machine) {
  Program copy = program.clone();
  copy.attachMachine(machine);
  if (Status status = copy.runPasses(passes); !status.isOk())
    return status;
  if (Status status = copy.formGroups(); !status.isOk())
    return status;
  auto plan = makeCudaPlan(copy, {.precision = precision, .wideIds = exec::needsWideIds(graph)});
  if (!plan)
    return std::move(plan).status();
  return Planned{std::move(copy), std::make_shared<const exec::Plan>(std::move(*plan)), passes};
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
