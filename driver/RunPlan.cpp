#include "driver/RunPlan.h"

namespace hector {

Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                         const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const CpuOptions &options) {
  auto executor = exec::Executor::create(plan, std::move(kernels), graph, options.exec);
  if (!executor)
    return std::move(executor).status();
  for (const NamedTensor &argument : arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  if (options.seed)
    executor->setTraining(*options.seed, options.step);
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan->outputs) {
    auto tensor = executor->output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(tensor).take()});
  }
  return results;
}

}  // namespace hector
