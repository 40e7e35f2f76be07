#include "driver/KernelBatch.h"

#include <algorithm>

namespace hector {

Result<size_t> KernelBatch::add(const Program &program, const Graph &graph) {
  auto plan = makePlan(program, {.wideIds = exec::needsWideIds(graph), .prefix = nextPrefix()});
  if (!plan)
    return std::move(plan).status();
  return add(std::move(*plan));
}

std::vector<KernelBatch::Failure> KernelBatch::compile(const std::vector<std::string> &flags) {
  kernels.assign(size(), nullptr);
  return compileWith([&](const exec::Plan &all, size_t begin, size_t end) {
    auto loaded = loadKernels(all, {}, flags);
    if (!loaded)
      return std::move(loaded).status();
    std::fill(kernels.begin() + static_cast<ptrdiff_t>(begin), kernels.begin() + static_cast<ptrdiff_t>(end), *loaded);
    return Status::ok();
  });
}

Result<exec::Executor> KernelBatch::prepare(size_t number, const Graph &graph,
                                            const std::vector<NamedTensor> &arguments,
                                            const exec::ExecOptions &options) const {
  return prepareExecutor(shared(number), kernels[number], graph, arguments, options);
}

}  // namespace hector
