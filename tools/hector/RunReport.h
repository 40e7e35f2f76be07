/// What `hector run` does alike for models and plans: reads options, and writes results. No MLIR.
#pragma once

#include "Commands.h"
#include "driver/Case.h"
#include "driver/RunPlan.h"
#include "runtime/machine/Machine.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hector {

/// Refuses results in a file that is read.
Status refuseOverwriting(const RunOptions &options);

/// Bytes; 0 if there is no limit.
Result<int64_t> readMemoryLimit(const RunOptions &options);

/// How the options have compiled code run. What the compiler does is printed.
CpuOptions cpuOptions(const RunOptions &options, int64_t memoryLimit);
/// The same on a GPU.
DeviceOptions deviceOptions(const RunOptions &options, int64_t memoryLimit);

/// The GPU; or an emulated one, if HECTOR_EMULATE_CUDA says 1.
Result<std::unique_ptr<Device>> findGpu();

/// The GPU that plans are chosen for, by `--machine`. Other backends choose for machines of their own.
Result<MachineDescription> chooseGpu(const std::string &machine, const std::string &backend);

/// Has tf32 stand for f32 with products of a lower precision. Fails where the backend is no GPU, whose mode that is.
Status settleTf32(std::string &dtype, std::string &precision, const std::string &backend);

/// What was run, for the first line.
struct RunTitle {
  std::string model, backend, dtype;
};
/// Writes the results to their file, and prints what was run and written; `ones` are gradients that were filled.
Status writeResults(const RunOptions &options, const RunTitle &title, const Case &loaded,
                    const std::vector<std::string> &ones, const std::vector<NamedTensor> &results);

}  // namespace hector
