/// Runs programs as compiled code on a GPU, or where one is emulated.
#pragma once

#include "compiler/Target/Cuda/Emitter.h"
#include "driver/Cpu.h"
#include "runtime/device/Device.h"
#include "runtime/machine/Machine.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// The plan of a program, with its CUDA text. The program has had its passes, for a machine that is a GPU, and has
/// groups.
Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options = {});

struct DevicePlanOptions {
  std::string passes = "default";
  cuda::Precision precision = cuda::Precision::Highest;
  MachineDescription machine = defaultGpu();
  Device *device = nullptr;           // where it is to run; null: memory has no say
  exec::DeviceExecOptions exec = {};  // how; with `isInPlace`, all of the device's memory may be lent
};

/// Compiles a program, before any pass and with its graph attached, for a GPU that `machine` describes, so that it fits
/// into the memory of the device (`choosePlan`). Where nothing fits, this is the smallest plan, which executors refuse
/// with its numbers.
Result<Planned> planForDevice(const Program &program, const Graph &graph, const DevicePlanOptions &options = {});

/// A precision by its name: `highest`, `high` or `medium`; the highest for others. Nothing is faster than `high` by
/// much, so `medium` is the same.
cuda::Precision precisionFromName(const std::string &name);

/// Runs a plan on a device: as `run`, but with compiled code.
Result<std::vector<NamedTensor>> runOnDevice(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                             Device &device, const DeviceOptions &options = {});

}  // namespace hector
