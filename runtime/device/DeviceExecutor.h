/// Runs a compiled plan on a graph, on a device.
///
/// It is used like `Executor`, and shares with it how memory is laid out, when phases run, and what is refused. Inputs
/// and index arrays are copied to the device. Everything is allocated when an executor is made; runs only launch.
///
///   Result<std::unique_ptr<DeviceProgram>> program = device.load({{"rgat.cu", plan->source}, headers, "rgat"});
///   Result<DeviceExecutor> executor = DeviceExecutor::create(plan, std::move(*program), device, graph);
///   executor->setInput("x", features);
///   executor->run(Phase::Graph, Phase::Forward);
///   Result<Tensor> out = executor->output("out");
///
/// Results are the same bits in every run on devices with the same number of multiprocessors: how launches are divided
/// depends on the plan, the graph and that number alone.
///
/// With `isInPlace` an executor serves a caller that has tensors on the device, such as PyTorch: it reads and writes
/// them where they are, works in memory that the caller lends it, and waits for nothing.
///
///   executor->useMemory(memory);                      // of `workBytes()`
///   executor->readInput("x", features);               // on the device
///   executor->placeOutput("out", out);
///   executor->run(Phase::Graph, Phase::Forward);      // `out` is filled when the stream gets there
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Tensor.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hector::exec {

enum class Branches : uint8_t { Never, OnSmallGraphs, Always };

/// The most edges of a graph that `Branches::OnSmallGraphs` takes for small. Launches on it leave parts of a GPU idle:
/// side by side, a step takes up to 1.6 times less on an H200. On larger graphs each launch fills the GPU, and several
/// evict each other's rows from its cache: 2 to 10 % slower.
inline constexpr int64_t kMostEdgesOfBranches = 1'000'000;

struct DeviceExecOptions {
  int64_t memoryLimit = 0;  // bytes of the device that the plan may take; 0: what is free
  /// Fills memory with NaN before each run and again when nobody needs it any more, so that whatever reads a number
  /// that was not written shows in the results.
  bool poison = false;
  /// Records the launches of a run when the same phases run for the second time and replays them from then on, which
  /// starts small launches faster. Seeds, steps and whether it is training may change between runs.
  bool isRecorded = false;
  /// Whether launches of a recording that do not depend on each other may run side by side.
  Branches branches = Branches::OnSmallGraphs;
  /// Where it is set, recorded runs are started in the way that is the fastest by the clock (`Tuning`), whatever
  /// `branches` says, and each table has a place of its own if that takes at most half of what is free. Results are the
  /// same bits.
  TuningNote onTuned = {};
  /// Waits for each kernel, so that a failure inside of one names its launch. Nothing is recorded then. The variable
  /// HECTOR_STEPWISE=1 does the same.
  bool isStepwise = false;
  /// Inputs, outputs and all that lies between lie in the caller's memory of the device, and runs are not waited for.
  /// Nothing is recorded then, as the caller may choose other places for each run.
  bool isInPlace = false;
  /// With `isInPlace`: tensors of the types in which inputs are handed over, by name; others have those that the plan
  /// stores.
  InputTensors inputs = {};
  /// Measures each launch. Nothing is recorded then.
  bool isProfiled = false;
  /// Measures each run as a whole: what the device takes from the first launch, or replay, to the end of the last.
  bool isTimed = false;
};

/// The device memory that an executor would take where `freeBytes` are free, without making one: for choosing between
/// plans. Fails as `DeviceExecutor::create` does, but for memory. Executors that record branches take a place of its
/// own for each table, so that few launches wait for others, unless only shared places fit.
Result<MemoryPlan> memoryFor(const Plan &plan, const Graph &graph, const DeviceInfo &device,
                             const DeviceExecOptions &options = {},
                             int64_t freeBytes = std::numeric_limits<int64_t>::max());

/// A plan that is ready to run on a graph and a device: its kernels, and the index arrays in the memory of the device;
/// with `isInPlace` also the tables of the graph phase, which has run. Executors share it. Borrows the device.
class DevicePlan {
public:
  /// Fails if the plan and the graph do not fit, or if memory does not suffice.
  static Result<std::shared_ptr<const DevicePlan>> create(std::shared_ptr<const Plan> plan,
                                                          std::shared_ptr<DeviceProgram> program, Device &device,
                                                          const Graph &graph, const DeviceExecOptions &options = {});
  ~DevicePlan();

  /// What an executor takes, index arrays included.
  const MemoryPlan &memory() const;
  /// The bytes that an executor with `isInPlace` wants to be lent.
  int64_t workBytes() const;

private:
  friend class DeviceExecutor;
  struct State;
  explicit DevicePlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Used by one thread at a time, the one that uses the device. Owns its memory, shares plan, program and graph, and
/// borrows the device.
class DeviceExecutor {
public:
  /// Fails if a kernel is missing, or if memory does not suffice.
  static Result<DeviceExecutor> create(std::shared_ptr<const DevicePlan> plan);
  /// The same for a plan of its own.
  static Result<DeviceExecutor> create(std::shared_ptr<const Plan> plan, std::shared_ptr<DeviceProgram> program,
                                       Device &device, const Graph &graph, const DeviceExecOptions &options = {});
  DeviceExecutor(DeviceExecutor &&) noexcept;
  DeviceExecutor &operator=(DeviceExecutor &&) noexcept;
  ~DeviceExecutor();

  /// Copies the rows of an input to the device, as `Executor::setInput` takes them. The tensor is not needed
  /// afterwards.
  Status setInput(std::string_view name, const Tensor &tensor);

  // --- with `isInPlace`
  /// Has tables and buffers lie in the caller's memory of the device, `DevicePlan::workBytes()` at an address that 256
  /// divides, until other memory is lent. What was there is gone, as are all results. A backward
  /// run works in the memory of its forward run.
  Status useMemory(void *memory);
  /// Has an input read from a tensor on the device, of the type in which it is to be handed over, at a multiple of 16
  /// bytes. It stays as it is until the last run that reads it has ended.
  Status readInput(std::string_view name, const Tensor &tensor);
  /// Fails if `readInput` would refuse a tensor.
  Status checkInput(std::string_view name, const Tensor &tensor) const;
  /// Has the next run write an output to the caller's memory of the device, which starts at a multiple of 16 bytes, in
  /// the order and the type of `output`. Later phases may read what an earlier one wrote there.
  Status placeOutput(std::string_view name, void *to);
  /// Has dropout take seed and step from two numbers of 64 bits in the device's memory, when a run reads them.
  void setTraining(const void *numbers);

  /// Has an output of the last run become an input, without leaving the device. Both are of the same kind: rows, their
  /// size, their order and the type of their numbers.
  Status takeInput(std::string_view name, std::string_view output);
  /// An input as it was set last, or taken. A copy.
  Result<Tensor> input(std::string_view name) const;

  /// From now on dropout drops, by this seed and step.
  void setTraining(uint64_t seed, uint64_t step);
  /// From now on dropout does nothing. That is how an executor starts.
  void setInference();

  /// Runs the phases from `first` to `last`, as `Executor::run` does, and waits for them unless `isInPlace`: a failure
  /// inside of a kernel then shows when the caller waits.
  Status run(Phase first, Phase last);
  Status runAll() { return run(Phase::Graph, Phase::Backward); }

  /// An output in the order that inputs have, as F64 if it is stored as such, else as F32. A copy.
  Result<Tensor> output(std::string_view name) const;

  /// From now on launches are measured or not, as `DeviceExecOptions::isProfiled` says.
  void setProfiled(bool isOn);
  /// A launch of the last run, with its joins.
  struct LaunchTime {
    std::string label;
    double ms = 0;
    size_t step = 0;  // of the plan
  };
  /// In the order in which they ran; empty without `isProfiled`. Valid until the next run.
  std::span<const LaunchTime> profile() const;
  /// Milliseconds of the last run; 0 without `isTimed`. Copies of inputs are no part of a run.
  double runMs() const;

  /// All that was taken from the device's memory.
  int64_t peakBytes() const;
  const MemoryPlan &memory() const;

private:
  struct State;
  explicit DeviceExecutor(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

}  // namespace hector::exec
