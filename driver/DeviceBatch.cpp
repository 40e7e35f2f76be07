#include "driver/DeviceBatch.h"

#include <algorithm>

namespace hector {

Result<size_t> DeviceBatch::add(const Program &program, const Graph &graph) {
  auto plan = makeCudaPlan(
      program, {.precision = cuda::Precision::Highest, .wideIds = exec::needsWideIds(graph), .prefix = nextPrefix()});
  if (!plan)
    return std::move(plan).status();
  return add(std::move(*plan));
}

std::vector<DeviceBatch::Failure> DeviceBatch::compile(Device &device) {
  programs.assign(size(), nullptr);
  return compileWith([&](const exec::Plan &all, size_t begin, size_t end) {
    auto loaded = loadKernels(all, device);
    if (!loaded)
      return std::move(loaded).status();
    std::fill(programs.begin() + static_cast<ptrdiff_t>(begin), programs.begin() + static_cast<ptrdiff_t>(end),
              *loaded);
    return Status::ok();
  });
}

Result<exec::DeviceExecutor> DeviceBatch::prepare(size_t number, const Graph &graph,
                                                  const std::vector<NamedTensor> &arguments, Device &device,
                                                  const exec::DeviceExecOptions &options) const {
  return prepareExecutor(shared(number), programs[number], device, graph, arguments, options);
}

}  // namespace hector
