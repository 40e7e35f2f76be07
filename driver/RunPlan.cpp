#include "driver/RunPlan.h"

namespace hector {

Result<exec::Executor> prepareExecutor(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                       const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       const exec::ExecOptions &options) {
  auto executor = exec::Executor::create(std::move(plan), std::move(kernels), graph, options);
  if (!executor)
    return executor;
  for (const NamedTensor &argument : arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  return executor;
}

Result<std::vector<NamedTensor>> resultsOf(const exec::Executor &executor, const exec::Plan &plan) {
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan.outputs) {
    auto tensor = executor.output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(*tensor)});
  }
  return results;
}

Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                         const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const CpuOptions &options) {
  auto executor = prepareExecutor(plan, std::move(kernels), graph, arguments, options.exec);
  if (!executor)
    return std::move(executor).status();
  if (options.seed)
    executor->setTraining(*options.seed, options.step);
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return resultsOf(*executor, *plan);
}

}  // namespace hector
