#include "driver/Cuda.h"

#include "kernels/Headers.h"
#include "runtime/machine/Machine.h"

namespace hector {

Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options) {
  auto module = lowered(program);
  if (!module)
    return std::move(module).status();
  return emitCuda(**module, options);
}

std::optional<cuda::Precision> findPrecision(const std::string &name) {
  if (name == "highest")
    return cuda::Precision::Highest;
  if (name == "high")
    return cuda::Precision::High;
  if (name == "medium")
    return cuda::Precision::Medium;
  return std::nullopt;
}

Result<Planned> planForDevice(const Program &program, const Graph &graph, const std::string &passes,
                              cuda::Precision precision) {
  Program copy = program.clone();
  auto machine = findMachine("h200");
  if (!machine)
    return std::move(machine).status();
  copy.attachMachine(*machine);
  if (Status status = copy.runPasses(passes); !status.isOk())
    return status;
  if (Status status = copy.formGroups(); !status.isOk())
    return status;
  auto plan = makeCudaPlan(copy, {.precision = precision, .wideIds = exec::needsWideIds(graph)});
  if (!plan)
    return std::move(plan).status();
  return Planned{std::move(copy), std::make_shared<const exec::Plan>(std::move(*plan))};
}

Result<std::shared_ptr<DeviceProgram>> loadKernels(const exec::Plan &plan, Device &device, const JitEvents &events) {
  auto program = device.load({{plan.name + ".cu", plan.source}, cudaHeaders(), plan.name}, events);
  if (!program)
    return std::move(program).status();
  return std::shared_ptr<DeviceProgram>(std::move(*program));
}

Result<exec::DeviceExecutor> prepareExecutor(std::shared_ptr<const exec::Plan> plan,
                                             std::shared_ptr<DeviceProgram> program, Device &device, const Graph &graph,
                                             const std::vector<NamedTensor> &arguments,
                                             const exec::DeviceExecOptions &options) {
  auto executor = exec::DeviceExecutor::create(std::move(plan), std::move(program), device, graph, options);
  if (!executor)
    return executor;
  for (const NamedTensor &argument : arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  return executor;
}

Result<std::vector<NamedTensor>> resultsOf(const exec::DeviceExecutor &executor, const exec::Plan &plan) {
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan.outputs) {
    auto tensor = executor.output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(*tensor)});
  }
  return results;
}

Result<exec::DeviceExecutor> prepareOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options) {
  auto arguments = bindArguments(planned.program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  auto program = loadKernels(*planned.plan, device, options.events);
  if (!program)
    return std::move(program).status();
  auto executor = prepareExecutor(planned.plan, std::move(*program), device, graph, *arguments, options.exec);
  if (executor && options.seed)
    executor->setTraining(*options.seed, options.step);
  return executor;
}

Result<std::vector<NamedTensor>> runOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options) {
  auto executor = prepareOnDevice(planned, graph, tensors, device, options);
  if (!executor)
    return std::move(executor).status();
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return resultsOf(*executor, *planned.plan);
}

}  // namespace hector
