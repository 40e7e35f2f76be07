/// A compiled plan that is ready to run on a graph, wherever it runs.
///
/// Training uses plans through this interface alone. On the CPU, results and parameters lie in the host's memory. On a
/// GPU, inputs stay on the device until they are set again: a step's new parameters take the place of the old ones
/// there, and the host has them only after `fetch`.
#pragma once

#include "runtime/device/DeviceExecutor.h"
#include "runtime/exec/Executor.h"
#include "training/Table.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hector::training {

/// Used by one thread at a time.
class Runner {
public:
  virtual ~Runner() = default;

  /// As `exec::Executor::setInput`: a tensor without an owner stays until the input is set again.
  virtual Status setInput(std::string_view name, const Tensor &tensor) = 0;
  /// From now on dropout drops, by this seed and step.
  virtual void setTraining(uint64_t seed, uint64_t step) = 0;
  virtual Status run(exec::Phase first, exec::Phase last) = 0;

  /// An output in the host's memory. Valid until the next run, and until the same output is viewed again.
  virtual Result<exec::TableView> view(std::string_view name) = 0;
  /// A copy of it.
  virtual Result<Tensor> output(std::string_view name) const = 0;

  /// Has an output, of the shape of an input, become that input. `table` is the input's table on the host, which has
  /// the new numbers after `fetch`.
  virtual Status take(std::string_view input, std::string_view output, const Table &table) = 0;
  /// Brings the numbers of an input to its table on the host.
  virtual Status fetch(std::string_view input, const Table &table) = 0;

  /// Bytes that the plan takes; on a GPU with its inputs.
  virtual int64_t peakBytes() const = 0;
};

/// Makes a runner for a graph that its plan fits.
using MakeRunner = std::function<Result<std::unique_ptr<Runner>>(const Graph &graph)>;

MakeRunner runnersOnCpu(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                        const exec::ExecOptions &options);
/// The device outlives all that is made.
MakeRunner runnersOnDevice(std::shared_ptr<const exec::Plan> plan, std::shared_ptr<DeviceProgram> program,
                           Device &device, const exec::DeviceExecOptions &options);

}  // namespace hector::training
