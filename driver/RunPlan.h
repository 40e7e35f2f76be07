/// Runs compiled plans, on the CPU or on a device. No MLIR.
#pragma once

#include "driver/Inputs.h"
#include "runtime/device/DeviceExecutor.h"
#include "runtime/exec/Executor.h"
#include "runtime/jit/Jit.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace hector {

struct CpuOptions {
  exec::ExecOptions exec;
  std::optional<uint64_t> seed;  // of dropout; without, nothing is dropped
  uint64_t step = 0;
  JitEvents events;
};

struct DeviceOptions {
  exec::DeviceExecOptions exec;
  std::optional<uint64_t> seed;  // of dropout; without, nothing is dropped
  uint64_t step = 0;
  JitEvents events;
};

/// An executor with its inputs set. `arguments` are those that `bindTensors` gives.
Result<exec::Executor> prepareExecutor(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                       const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       const exec::ExecOptions &options = {});
Result<exec::DeviceExecutor> prepareExecutor(std::shared_ptr<const exec::Plan> plan,
                                             std::shared_ptr<DeviceProgram> program, Device &device, const Graph &graph,
                                             const std::vector<NamedTensor> &arguments,
                                             const exec::DeviceExecOptions &options = {});

/// All results of an executor's last run.
Result<std::vector<NamedTensor>> resultsOf(const exec::Executor &executor, const exec::Plan &plan);
Result<std::vector<NamedTensor>> resultsOf(const exec::DeviceExecutor &executor, const exec::Plan &plan);

/// Runs all phases of a plan once, on the tensors of its inputs (`bindTensors`). Results are in the plan's order, as
/// F64 if they are stored as such, else as F32.
Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                         const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const CpuOptions &options = {});
Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, std::shared_ptr<DeviceProgram> program,
                                         Device &device, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const DeviceOptions &options = {});

}  // namespace hector
