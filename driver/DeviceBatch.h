/// Programs whose CUDA kernels are compiled together, as `KernelBatch` does for the CPU.
///
///   DeviceBatch batch;
///   Result<size_t> number = batch.add(program, graph);  // several times
///   for (const DeviceBatch::Failure &failure : batch.compile(device))
///     …
///   Result<exec::DeviceExecutor> executor = batch.prepare(*number, graph, tensors, device);
///
/// The code stays on the device as long as the batch or an executor made by it.
#pragma once

#include "driver/Cuda.h"
#include "driver/PlanBatch.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace hector {

class DeviceBatch : public PlanBatch {
public:
  using PlanBatch::add;
  /// Adds a program that has had its passes, for a machine that is a GPU, and has groups; gives its number. `graph` is
  /// only asked how wide its ids are: programs of both widths may meet.
  Result<size_t> add(const Program &program, const Graph &graph);

  /// Compiles what was added, for a device.
  std::vector<Failure> compile(Device &device);

  /// An executor for a program that was compiled, with its inputs set, on a device of the kind that it was compiled
  /// for. `arguments` are those of its function, in its order.
  Result<exec::DeviceExecutor> prepare(size_t number, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       Device &device, const exec::DeviceExecOptions &options = {}) const;

private:
  std::vector<std::shared_ptr<DeviceProgram>> programs;  // of each program; null where it was not compiled
};

}  // namespace hector
