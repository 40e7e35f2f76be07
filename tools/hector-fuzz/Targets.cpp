#include "Targets.h"

#include "Ways.h"
#include "driver/DeviceBatch.h"
#include "driver/KernelBatch.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <utility>

namespace hector::fuzz {

namespace {

/// Runs an executor of any kind once, and adds what comes of it to `runs`.
template <class Executor>
Status addRun(Executor &executor, const exec::Plan &plan, std::string how, std::vector<CompiledRun> &runs) {
  executor.setTraining(kMode.seed, kMode.step);
  if (Status status = executor.runAll(); !status.isOk())
    return status;
  auto results = resultsOf(executor, plan);
  if (!results)
    return std::move(results).status();
  runs.push_back({std::move(how), std::move(*results)});
  return Status::ok();
}

// --- the CPU --------------------------------------------------------------------------------------------------------

class CpuBatch : public CompiledBatch {
public:
  explicit CpuBatch(std::vector<std::string> flags) : flags(std::move(flags)) {}

  Result<size_t> add(const Program &program, const Graph &graph) override { return kernels.add(program, graph); }
  std::vector<PlanBatch::Failure> compile() override { return kernels.compile(flags); }
  const exec::Plan &plan(size_t number) const override { return kernels.plan(number); }
  Result<std::vector<CompiledRun>> run(size_t number, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       uint64_t seed) const override {
    std::vector<CompiledRun> runs;
    for (int threads : {1, 2 + static_cast<int>(seed % 4)}) {
      auto executor = kernels.prepare(number, graph, arguments, {.threads = threads, .poison = true});
      if (!executor)
        return std::move(executor).status();
      std::string how = "with " + std::to_string(threads) + " threads";
      if (Status status = addRun(*executor, plan(number), std::move(how), runs); !status.isOk())
        return status;
    }
    return runs;
  }

private:
  std::vector<std::string> flags;
  KernelBatch kernels;
};

class CpuTarget : public CompiledTarget {
public:
  std::string name() const override { return "cpu"; }
  std::string options() const override { return "--backend=cpu"; }
  void attachMachine(Program &program, uint64_t seed) const override {
    if (mix(seed ^ 8) & 1)
      program.attachMachine(randomMachine(mix(seed)));
  }
  bool hasQuickFlags() const override { return true; }
  std::unique_ptr<CompiledBatch> makeBatch(bool hasUsualFlags) const override {
    return std::make_unique<CpuBatch>(hasUsualFlags ? std::vector<std::string>() : std::vector<std::string>{"-O1"});
  }
};

// --- GPUs -----------------------------------------------------------------------------------------------------------

/// A device, and where threads are emulated another one, on which they take turns in another order.
struct Devices {
  std::unique_ptr<Device> first, other;
};

class CudaBatch : public CompiledBatch {
public:
  explicit CudaBatch(const Devices &devices) : devices(devices) {}

  Result<size_t> add(const Program &program, const Graph &graph) override { return kernels.add(program, graph); }
  std::vector<PlanBatch::Failure> compile() override { return kernels.compile(*devices.first); }
  const exec::Plan &plan(size_t number) const override { return kernels.plan(number); }
  Result<std::vector<CompiledRun>> run(size_t number, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                       uint64_t seed) const override {
    std::vector<CompiledRun> runs;
    const bool isRecorded = mix(seed ^ 11) & 1;
    auto runOn = [&](Device &device, const std::vector<std::string> &hows) -> Status {
      auto executor = kernels.prepare(number, graph, arguments, device, {.poison = true, .isRecorded = isRecorded});
      if (!executor)
        return std::move(executor).status();
      for (const std::string &how : hows)
        if (Status status = addRun(*executor, plan(number), how, runs); !status.isOk())
          return status;
      return Status::ok();
    };
    const std::string again = isRecorded ? "in a second run, which is recorded" : "in a second run";
    if (Status status = runOn(*devices.first, {"", again}); !status.isOk())
      return status;
    if (devices.other)
      if (Status status = runOn(*devices.other, {"where threads take turns in another order"}); !status.isOk())
        return status;
    return runs;
  }

private:
  const Devices &devices;
  DeviceBatch kernels;
};

class CudaTarget : public CompiledTarget {
public:
  CudaTarget(Devices devices, MachineDescription usual) : devices(std::move(devices)), usual(std::move(usual)) {}

  std::string name() const override { return "cuda, " + devices.first->info().name; }
  std::string options() const override {
    return std::string("--backend=cuda --device=") + (devices.other ? "emulated" : "cuda");
  }
  void attachMachine(Program &program, uint64_t seed) const override {
    MachineDescription machine = mix(seed ^ 8) & 1 ? randomMachine(mix(seed)) : usual;
    machine.target = MachineTarget::Gpu;
    program.attachMachine(machine);
  }
  bool hasQuickFlags() const override { return false; }
  std::unique_ptr<CompiledBatch> makeBatch(bool) const override { return std::make_unique<CudaBatch>(devices); }
  bool isUsable() const override { return devices.first->synchronize().isOk(); }

private:
  Devices devices;
  MachineDescription usual;
};

}  // namespace

std::unique_ptr<CompiledTarget> cpuTarget() {
  return std::make_unique<CpuTarget>();
}

Result<std::unique_ptr<CompiledTarget>> cudaTarget(const std::string &device) {
  Devices devices;
  if (device == "emulated") {
    devices = {createEmulatedDevice(1), createEmulatedDevice(2)};
  } else {
    auto gpu = createCudaDevice();
    if (!gpu)
      return std::move(gpu).status();
    devices.first = std::move(*gpu);
  }
  auto usual = findMachine("h200");
  if (!usual)
    return std::move(usual).status();
  return std::unique_ptr<CompiledTarget>(std::make_unique<CudaTarget>(std::move(devices), std::move(*usual)));
}

}  // namespace hector::fuzz
