#include "driver/RunPlan.h"

#include <utility>

namespace hector {

// Both kinds of executors are used alike.

template <class SomeExecutor>
static Result<SomeExecutor> withInputs(Result<SomeExecutor> executor, const std::vector<NamedTensor> &arguments) {
  if (!executor)
    return executor;
  for (const NamedTensor &argument : arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  return executor;
}

template <class SomeExecutor>
static Result<std::vector<NamedTensor>> gatherResults(const SomeExecutor &executor, const exec::Plan &plan) {
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan.outputs) {
    auto tensor = executor.output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(*tensor)});
  }
  return results;
}

template <class SomeExecutor, class Options>
static Result<std::vector<NamedTensor>> runOnce(Result<SomeExecutor> executor, const exec::Plan &plan,
                                                const Options &options) {
  if (!executor)
    return std::move(executor).status();
  if (options.seed)
    executor->setTraining(*options.seed, options.step);
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return gatherResults(*executor, plan);
}

Result<exec::Executor> prepareExecutor(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                       const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       const exec::ExecOptions &options) {
  return withInputs(exec::Executor::create(std::move(plan), std::move(kernels), graph, options), arguments);
}

Result<exec::DeviceExecutor> prepareExecutor(std::shared_ptr<const exec::Plan> plan,
                                             std::shared_ptr<DeviceProgram> program, Device &device, const Graph &graph,
                                             const std::vector<NamedTensor> &arguments,
                                             const exec::DeviceExecOptions &options) {
  return withInputs(exec::DeviceExecutor::create(std::move(plan), std::move(program), device, graph, options),
                    arguments);
}

Result<std::vector<NamedTensor>> resultsOf(const exec::Executor &executor, const exec::Plan &plan) {
  return gatherResults(executor, plan);
}

Result<std::vector<NamedTensor>> resultsOf(const exec::DeviceExecutor &executor, const exec::Plan &plan) {
  return gatherResults(executor, plan);
}

Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                         const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const CpuOptions &options) {
  return runOnce(prepareExecutor(plan, std::move(kernels), graph, arguments, options.exec), *plan, options);
}

Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, std::shared_ptr<DeviceProgram> program,
                                         Device &device, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const DeviceOptions &options) {
  return runOnce(prepareExecutor(plan, std::move(program), device, graph, arguments, options.exec), *plan, options);
}

}  // namespace hector
