/// Runs programs as compiled code on a GPU, or where one is emulated.
#pragma once

#include "compiler/Target/Cuda/Emitter.h"
#include "driver/Cpu.h"
#include "runtime/device/DeviceExecutor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// The plan of a program, with its CUDA text. The program has had its passes, for a machine that is a GPU, and has
/// groups.
Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options = {});

/// Compiles a program, before any pass and with its graph attached, for a GPU.
Result<Planned> planForDevice(const Program &program, const Graph &graph, const std::string &passes = "default",
                              cuda::Precision precision = cuda::Precision::Highest);

/// A precision by its name: `highest`, `high` or `medium`; none for other names.
std::optional<cuda::Precision> findPrecision(const std::string &name);

/// Compiles the text of a plan for a device, or finds what was compiled before.
Result<std::shared_ptr<DeviceProgram>> loadKernels(const exec::Plan &plan, Device &device,
                                                   const JitEvents &events = {});

struct DeviceOptions {
  exec::DeviceExecOptions exec;
  std::optional<uint64_t> seed;  // of dropout; without, nothing is dropped
  uint64_t step = 0;
  JitEvents events;
};

/// An executor for compiled code, with its inputs set. `arguments` are those that `bindTensors` gives.
Result<exec::DeviceExecutor> prepareExecutor(std::shared_ptr<const exec::Plan> plan,
                                             std::shared_ptr<DeviceProgram> program, Device &device, const Graph &graph,
                                             const std::vector<NamedTensor> &arguments,
                                             const exec::DeviceExecOptions &options = {});

/// All results of an executor's last run.
Result<std::vector<NamedTensor>> resultsOf(const exec::DeviceExecutor &executor, const exec::Plan &plan);

/// An executor for a plan, with its inputs set.
Result<exec::DeviceExecutor> prepareOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options = {});

/// Runs a plan on a device: as `run`, but with compiled code.
Result<std::vector<NamedTensor>> runOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options = {});

}  // namespace hector
