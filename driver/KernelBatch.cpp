#include "driver/KernelBatch.h"

#include "runtime/base/Interrupt.h"

#include <numeric>

namespace hector {

Result<size_t> KernelBatch::add(const Program &program, const Graph &graph) {
  auto plan =
      makePlan(program, {.wideIds = exec::needsWideIds(graph), .prefix = "p" + std::to_string(items.size()) + "_"});
  if (!plan)
    return std::move(plan).status();
  return add(std::move(*plan));
}

size_t KernelBatch::add(exec::Plan plan) {
  items.push_back({std::make_shared<const exec::Plan>(std::move(plan)), nullptr});
  return items.size() - 1;
}

std::vector<KernelBatch::Failure> KernelBatch::compile(const std::vector<std::string> &flags) {
  return items.empty() ? std::vector<Failure>() : compile(0, items.size(), flags);
}

std::vector<KernelBatch::Failure> KernelBatch::compile(size_t begin, size_t end,
                                                       const std::vector<std::string> &flags) {
  exec::Plan all;
  all.name = "batch";
  for (size_t i = begin; i < end; ++i)
    all.source += items[i].plan->source;
  auto loaded = loadKernels(all, {}, flags);
  if (loaded) {
    for (size_t i = begin; i < end; ++i)
      items[i].kernels = *loaded;
    return {};
  }
  std::vector<Failure> failures;
  if (end - begin > 1 && !interruptSignal()) {
    const size_t middle = begin + (end - begin) / 2;
    failures = compile(begin, middle, flags);
    for (Failure &failure : compile(middle, end, flags))
      failures.push_back(std::move(failure));
  }
  if (failures.empty()) {
    std::vector<size_t> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), begin);
    failures.push_back({std::move(numbers), std::move(loaded).status()});
  }
  return failures;
}

Result<exec::Executor> KernelBatch::prepare(size_t number, const Graph &graph,
                                            const std::vector<NamedTensor> &arguments,
                                            const exec::ExecOptions &options) const {
  return prepareExecutor(items[number].plan, items[number].kernels, graph, arguments, options);
}

}  // namespace hector
