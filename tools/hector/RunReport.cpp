#include "RunReport.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/storage/File.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace hector {

Status refuseOverwriting(const RunOptions &options) {
  std::vector<std::string> inputs = {options.model.path, options.inputs.graph};
  inputs.insert(inputs.end(), options.inputs.tensors.begin(), options.inputs.tensors.end());
  return refuseOverwriting(options.outPath, inputs);
}

Result<int64_t> readMemoryLimit(const RunOptions &options) {
  if (options.memoryLimit.empty())
    return 0;
  auto bytes = parseBytes(options.memoryLimit);
  if (!bytes || *bytes == 0)
    return Status::invalid("--memory-limit is " + inTicks(options.memoryLimit) + "; expected " + kByteForms +
                           ", from 1 to 1024G, such as 512M or 8G");
  return *bytes;
}

Result<std::unique_ptr<Device>> findGpu() {
  const char *isEmulated = std::getenv("HECTOR_EMULATE_CUDA");
  if (isEmulated && std::string_view(isEmulated) == "1")
    return createEmulatedDevice();
  return createCudaDevice();
}

Result<MachineDescription> chooseGpu(const std::string &machine, const std::string &backend) {
  if (machine.empty())
    return defaultGpu();
  if (backend != "cuda")
    return Status::invalid("--machine is for --backend cuda, and --backend is " + backend + "; leave it out");
  auto found = findMachine(machine, MachineTarget::Gpu);
  if (found && found->target != MachineTarget::Gpu)
    return Status::invalid("--machine " + machine +
                           " is a CPU, but the plan is for a GPU; leave it out, or use --machine h200");
  return found;
}

Status settleTf32(std::string &dtype, std::string &precision, const std::string &backend) {
  if (dtype != "tf32")
    return Status::ok();
  if (backend != "cuda")
    return Status::invalid(std::string("tf32 is a mode of GPU matrix units; the ") +
                           (backend == "interp" ? "interpreter" : "CPU") + " has f64, f32, f16 and bf16");
  if (precision == "highest")
    return Status::invalid("--dtype tf32 lets products round their factors, which --precision highest forbids; leave "
                           "out one of them");
  dtype = "f32";
  if (precision.empty())
    precision = "high";
  return Status::ok();
}

CpuOptions cpuOptions(const RunOptions &options, int64_t memoryLimit) {
  CpuOptions cpu;
  cpu.exec = {.threads = options.threads, .memoryLimit = memoryLimit, .poison = options.poison};
  if (options.train)
    cpu.seed = options.seed;
  cpu.step = options.step;
  auto print = [](const std::string &line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  cpu.events = {print, print};
  return cpu;
}

DeviceOptions deviceOptions(const RunOptions &options, int64_t memoryLimit) {
  const CpuOptions cpu = cpuOptions(options, memoryLimit);
  DeviceOptions device;
  device.exec = {.memoryLimit = memoryLimit, .poison = options.poison};
  device.seed = cpu.seed;
  device.step = cpu.step;
  device.events = cpu.events;
  return device;
}

/// "  out [77, 8] F64".
static std::string line(const std::string &name, const Tensor &tensor) {
  return "  " + name + " " + formatShape(tensor.shape) + " " + std::string(hector::name(tensor.dtype)) + "\n";
}

/// What `--init` made: inputs from the seed, and gradients of ones.
static std::string describeInitial(const RunOptions &options, const Case &loaded,
                                   const std::vector<std::string> &ones) {
  std::string text;
  if (!loaded.initialised.empty())
    text += "initialised from seed " + std::to_string(*options.inputs.initialSeed) + "\n";
  for (const std::string &name : loaded.initialised)
    text += line(name, loaded.tensors.at(name));
  if (!ones.empty())
    text += "filled with ones\n";
  for (const std::string &name : ones)
    text += line(name, loaded.tensors.at(name));
  return text;
}

Status writeResults(const RunOptions &options, const RunTitle &title, const Case &loaded,
                    const std::vector<std::string> &ones, const std::vector<NamedTensor> &results) {
  TensorFile out;
  out.metadata["model"] = title.model;
  std::string written;
  for (const auto &[name, tensor] : results) {
    written += line(name, tensor);
    out.tensors[name] = tensor;
  }
  if (Status status = writeSafetensors(options.outPath, out); !status.isOk())
    return status;
  std::printf("%s: %s, %s, %s; %s, %s\n%swrote %s\n%s", title.model.c_str(),
              counted(loaded.graph.numNodes(), "node").c_str(), counted(loaded.graph.numEdges(), "edge").c_str(),
              counted(loaded.graph.numRelations(), "edge type").c_str(), title.backend.c_str(), title.dtype.c_str(),
              describeInitial(options, loaded, ones).c_str(), options.outPath.c_str(), written.c_str());
  return Status::ok();
}

}  // namespace hector
