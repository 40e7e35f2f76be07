/// Runs compiled plans on the CPU. No MLIR.
#pragma once

#include "driver/Inputs.h"
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

/// An executor with its inputs set. `arguments` are those that `bindTensors` gives.
Result<exec::Executor> prepareExecutor(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                       const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       const exec::ExecOptions &options = {});

/// All results of an executor's last run.
Result<std::vector<NamedTensor>> resultsOf(const exec::Executor &executor, const exec::Plan &plan);

/// Runs all phases of a plan once, on the tensors of its inputs (`bindTensors`). Results are in the plan's order, as
/// F64 if they are stored as such, else as F32.
Result<std::vector<NamedTensor>> runPlan(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                                         const Graph &graph, const std::vector<NamedTensor> &arguments,
                                         const CpuOptions &options = {});

}  // namespace hector
