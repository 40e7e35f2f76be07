#include "capi/Runner.h"

#include "runtime/base/Text.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace hector::capi {

namespace {

std::byte *placeOf(const Tensor &tensor) {
  return const_cast<std::byte *>(tensor.bytes);  // the caller's, to be written
}

class CpuRunner final : public Runner {
public:
  CpuRunner(std::string name, exec::Executor executor) : name(std::move(name)), executor(std::move(executor)) {}

  Status place(const hector_placement &) override {
    return Status::invalid(inTicks(name) + " runs on the CPU, where passes have memory of their own; compile it with "
                                           "`device_type` 2 for a GPU");
  }
  Status checkInput(std::string_view port, const Tensor &tensor) const override {
    return executor.checkInput(port, tensor);
  }
  Status forward(std::span<const Input> inputs, const hector_randomness *randomness,
                 const std::vector<PortInfo> &outputs, const std::vector<Tensor> &places) override {
    for (const Input &input : inputs)
      if (Status status = executor.setInput(input.port, *input.tensor); !status.isOk())
        return status;
    if (randomness)
      executor.setTraining(randomness->seed, randomness->step);
    else
      executor.setInference();
    // Places of gradients are named by the backward pass.
    return runInto(outputs, places, exec::Phase::Graph, exec::Phase::Forward);
  }
  Status backward(std::span<const Input> inputs, const std::vector<PortInfo> &gradients,
                  const std::vector<Tensor> &places) override {
    for (const Input &input : inputs) {
      Tensor tensor = *input.tensor;
      if (!tensor.bytes) {
        std::vector<std::byte> &bytes = zeros[std::string(input.port)];
        bytes.resize(tensor.numBytes());
        tensor.bytes = bytes.data();
      }
      if (Status status = executor.setInput(input.port, tensor); !status.isOk())
        return status;
    }
    return runInto(gradients, places, exec::Phase::Backward, exec::Phase::Backward);
  }

private:
  Status runInto(const std::vector<PortInfo> &ports, const std::vector<Tensor> &places, exec::Phase first,
                 exec::Phase last) {
    for (size_t i = 0; i < ports.size(); ++i)
      if (auto outside = executor.isOutside(ports[i].port); outside && *outside)
        if (Status status = executor.placeOutput(ports[i].port, placeOf(places[i])); !status.isOk())
          return status;
    if (Status status = executor.run(first, last); !status.isOk())
      return status;
    for (size_t i = 0; i < ports.size(); ++i)
      if (auto outside = executor.isOutside(ports[i].port); outside && !*outside)
        if (Status status = executor.copyOutput(ports[i].port, placeOf(places[i])); !status.isOk())
          return status;
    return Status::ok();
  }

  std::string name;
  exec::Executor executor;
  std::map<std::string, std::vector<std::byte>> zeros;  // gradients of outputs that have none, as they are needed
};

class DeviceRunner final : public Runner {
public:
  DeviceRunner(OpenDevice &open, std::shared_ptr<const exec::DevicePlan> plan, exec::DeviceExecutor executor)
      : open(open), plan(std::move(plan)), executor(std::move(executor)) {}
  ~DeviceRunner() override {
    Turn turn(open);
    executor.reset();
    memory = {};
    zeros.clear();
    plan.reset();
  }

  Status place(const hector_placement &placement) override {
    if (reinterpret_cast<uintptr_t>(placement.memory) % exec::kDeviceAlignment != 0)
      return Status::invalid("`memory` does not start at a multiple of " + std::to_string(exec::kDeviceAlignment) +
                             " bytes");
    placed = placement;
    return Status::ok();
  }
  Status checkInput(std::string_view port, const Tensor &tensor) const override {
    return executor->checkInput(port, tensor);
  }
  Status forward(std::span<const Input> inputs, const hector_randomness *randomness,
                 const std::vector<PortInfo> &outputs, const std::vector<Tensor> &places) override {
    Turn turn(open, stream());
    if (Status status = useMemory(); !status.isOk())
      return status;
    for (const Input &input : inputs)
      if (Status status = executor->readInput(input.port, *input.tensor); !status.isOk())
        return status;
    if (placed && placed->random)
      executor->setTraining(placed->random);
    else if (randomness)
      executor->setTraining(randomness->seed, randomness->step);
    else
      executor->setInference();
    return runInto(outputs, places, exec::Phase::Graph, exec::Phase::Forward);
  }
  Status backward(std::span<const Input> inputs, const std::vector<PortInfo> &gradients,
                  const std::vector<Tensor> &places) override {
    Turn turn(open, stream());
    for (const Input &input : inputs) {
      Tensor tensor = *input.tensor;
      if (!tensor.bytes && tensor.numBytes() > 0) {
        auto found = zerosFor(std::string(input.port), static_cast<int64_t>(tensor.numBytes()));
        if (!found)
          return std::move(found).status();
        tensor.bytes = *found;
      }
      if (Status status = executor->readInput(input.port, tensor); !status.isOk())
        return status;
    }
    return runInto(gradients, places, exec::Phase::Backward, exec::Phase::Backward);
  }

private:
  std::optional<void *> stream() const { return placed ? std::optional(placed->stream) : std::nullopt; }

  /// Memory that is lent may have served others since. What is the run's own keeps what later passes need.
  Status useMemory() {
    if (placed && placed->memory) {
      isOwn = false;
      return executor->useMemory(placed->memory);
    }
    if (isOwn)
      return Status::ok();
    if (memory.bytes() == 0) {
      auto made = open.device->allocate(plan->workBytes());
      if (!made)
        return std::move(made).status();
      memory = std::move(*made);
    }
    isOwn = true;
    return executor->useMemory(memory.data());
  }

  Result<const std::byte *> zerosFor(const std::string &port, int64_t bytes) {
    DeviceMemory &mine = zeros[port];
    if (mine.bytes() < bytes) {
      auto made = open.device->allocate(bytes);
      if (!made)
        return std::move(made).status();
      mine = std::move(*made);
    }
    if (Status status = open.device->fill(mine.data(), std::byte{0}, bytes); !status.isOk())
      return status;
    return static_cast<const std::byte *>(mine.data());
  }

  Status runInto(const std::vector<PortInfo> &ports, const std::vector<Tensor> &places, exec::Phase first,
                 exec::Phase last) {
    for (size_t i = 0; i < ports.size(); ++i)
      if (Status status = executor->placeOutput(ports[i].port, placeOf(places[i])); !status.isOk())
        return status;
    Status status = executor->run(first, last);
    return status.isOk() && !placed ? open.device->synchronize() : status;
  }

  OpenDevice &open;
  std::shared_ptr<const exec::DevicePlan> plan;
  std::optional<exec::DeviceExecutor> executor;
  std::optional<hector_placement> placed;
  DeviceMemory memory;  // the run's own
  bool isOwn = false;   // the executor works in it
  std::map<std::string, DeviceMemory> zeros;
};

}  // namespace

Result<std::unique_ptr<Runner>> makeRunner(const Layer &layer) {
  if (layer.onDevice) {
    OpenDevice &open = *layer.compiled->open;
    Turn turn(open);
    auto executor = exec::DeviceExecutor::create(layer.onDevice);
    if (!executor)
      return std::move(executor).status();
    return std::unique_ptr<Runner>(std::make_unique<DeviceRunner>(open, layer.onDevice, std::move(*executor)));
  }
  auto executor = exec::Executor::create(layer.compiled->plan, layer.compiled->kernels, layer.graph, layer.options);
  if (!executor)
    return std::move(executor).status();
  return std::unique_ptr<Runner>(std::make_unique<CpuRunner>(layer.plan().name, std::move(*executor)));
}

}  // namespace hector::capi
