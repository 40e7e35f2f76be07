#include "kernels/cuda/sizes.hpp"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/DevicePlanState.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace hector::exec {

bool hasBranches(const DeviceExecOptions &options, const GraphNumbers &numbers) {
  const bool isSmall = numbers.rows[Domain::Edge] <= kMostEdgesOfBranches;
  return options.branches == Branches::Always || (options.branches == Branches::OnSmallGraphs && isSmall);
}

namespace {

Pieces cut(const Launch &launch, const GraphNumbers &numbers, const DeviceInfo &device) {
  switch (launch.device->schedule) {
  case Schedule::Units:
    break;
  case Schedule::Pieces:
    return cutForWarps(launch, numbers, device.multiprocessors);
  case Schedule::Tiles:
    return cutForBlocks(launch, numbers, device.multiprocessors);
  case Schedule::Chunks:
    return cutIntoChunks(launch, numbers, device.multiprocessors);
  }
  return {};
}

/// What a plan needs on a graph and a device. Making it fails if they do not fit.
struct Fitting {
  GraphNumbers numbers;
  std::vector<Pieces> pieces;  // of each launch; none for those that are not cut
  MemoryPlan memory;

  static Result<Fitting> make(const Plan &plan, const Graph &graph, const DeviceInfo &device,
                              const DeviceExecOptions &options, int64_t freeBytes) {
    if (Status status = checkFit(plan, graph, Target::Device); !status.isOk())
      return status;
    Fitting fitting;
    fitting.numbers = graphNumbers(plan, graph);
    std::vector<LaunchNumbers> launches;
    for (const Step &step : plan.steps) {
      fitting.pieces.push_back(cut(step.launch, fitting.numbers, device));
      launches.push_back({.pieces = fitting.pieces.back().count});
    }
    const Outputs outputs = options.isInPlace ? Outputs::Outside : Outputs::InArena;
    if (options.isRecorded && !options.isInPlace && (options.onTuned || hasBranches(options, fitting.numbers))) {
      fitting.memory = planDeviceMemory(plan, fitting.numbers, launches, Places::Own);
      // Other plans may still come, and what is free need not be in one piece.
      const int64_t left = options.memoryLimit == 0 ? freeBytes : std::min(freeBytes, options.memoryLimit);
      if (fitting.memory.peakBytes() <= left / 2)
        return fitting;
    }
    fitting.memory = planDeviceMemory(plan, fitting.numbers, launches, Places::Shared, outputs, options.inputs);
    return fitting;
  }
};

/// The type of a tensor's numbers as one that tables have; nothing for other types.
std::optional<Storage> storageOf(DType dtype) {
  for (Storage storage : {Storage::F64, Storage::F32, Storage::BF16, Storage::F16, Storage::Bool, Storage::Index})
    if (dtypeOf(storage) == dtype)
      return storage;
  return std::nullopt;
}

}  // namespace

Result<MemoryPlan> memoryFor(const Plan &plan, const Graph &graph, const DeviceInfo &device,
                             const DeviceExecOptions &options, int64_t freeBytes) {
  Result<Fitting> fitting = Fitting::make(plan, graph, device, options, freeBytes);
  if (!fitting)
    return std::move(fitting).status();
  return std::move(fitting->memory);
}

DevicePlan::DevicePlan(std::unique_ptr<State> state) : state(std::move(state)) {}
DevicePlan::~DevicePlan() = default;

Result<std::shared_ptr<const DevicePlan>> DevicePlan::create(std::shared_ptr<const Plan> plan,
                                                             std::shared_ptr<DeviceProgram> program, Device &device,
                                                             const Graph &graph, const DeviceExecOptions &options) {
  // Index arrays go with the fork when the device has them, unless the graph has them already.
  const Graph forms = graph.fork();
  Result<int64_t> available = device.freeBytes();
  if (!available)
    return std::move(available).status();
  Result<Fitting> fitting = Fitting::make(*plan, forms, device.info(), options, *available);
  if (!fitting)
    return std::move(fitting).status();
  // Memory that is lent need not be free now.
  if (options.isInPlace)
    available = device.info().memoryBytes;
  if (Status status = checkMemory(*plan, fitting->numbers, fitting->memory, options.memoryLimit, *available,
                                  "of " + formatBytes(device.info().memoryBytes) + " are free on " +
                                      device.info().name + memoryHelp(device.info(), fitting->memory.peakBytes()));
      !status.isOk())
    return status;
  Result<Session> session = Session::create(std::move(plan), forms, fitting->numbers, std::move(fitting->memory));
  if (!session)
    return std::move(session).status();
  auto state = std::make_unique<State>(std::move(*session), std::move(program), device, options);
  state->pieces = std::move(fitting->pieces);
  const std::string &source = state->session.plan().source;
  state->hasDropout = source.empty() || source.find("sizes.random") != std::string::npos;
  const char *stepwise = std::getenv("HECTOR_STEPWISE");
  state->options.isStepwise |= stepwise && std::string_view(stepwise) == "1";
  if (Status status = state->uploadForms(forms); !status.isOk())
    return status;
  if (options.isInPlace)
    if (Status status = state->prepareInPlace(); !status.isOk())
      return status;
  if (Status status = device.synchronize(); !status.isOk())
    return status;
  std::shared_ptr<DevicePlan> made(new DevicePlan(std::move(state)));
  if (!made->state->graphTables.empty())
    if (Status status = made->state->runGraphPhase(made); !status.isOk())
      return status;
  return std::shared_ptr<const DevicePlan>(std::move(made));
}

/// Fills the tables that depend on the graph alone, by an executor of `plan`, which this is the state of.
Status DevicePlan::State::runGraphPhase(const std::shared_ptr<const DevicePlan> &plan) {
  Result<DeviceMemory> memory = device.allocate(workBytes);
  if (!memory)
    return std::move(memory).status();
  Result<DeviceExecutor> executor = DeviceExecutor::create(plan);
  if (!executor)
    return std::move(executor).status();
  Status status = executor->useMemory(memory->data());
  if (status.isOk())
    status = executor->run(Phase::Graph, Phase::Graph);
  if (status.isOk())
    status = device.synchronize();
  isGraphDone = status.isOk();
  return status;
}

const MemoryPlan &DevicePlan::memory() const {
  return state->session.memory();
}

int64_t DevicePlan::workBytes() const {
  return state->workBytes;
}

/// Bytes up to where the next block may start.
static int64_t aligned(int64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

Status DevicePlan::State::uploadForms(const Graph &graph) {
  const std::vector<Form> wanted = formsOf(session.plan());
  const std::string what = "index arrays for " + inTicks(session.plan().name) + " in the memory of the host";
  if (Status status = requireMemory(what, formBytes(wanted, session.numbers())); !status.isOk())
    return status;
  std::vector<Form> each = formsOfKernels(session.plan());
  // Copies of inputs and outputs need those by which their rows move.
  if (options.isInPlace)
    for (const std::vector<Port> *ports : {&session.plan().inputs, &session.plan().outputs})
      for (const Port &port : *ports)
        if (session.outside(port.table))
          each.push_back(*outsideRows(session.table(port.table)));
  // In one block: to allocate takes longer than to copy the arrays of a small graph.
  std::map<Form, const IdArray *> arrays;
  std::map<Form, int64_t> offsets;
  int64_t total = 0;
  for (const Form &form : each) {
    if (offsets.count(form) > 0)
      continue;
    Result<const IdArray *> array = resolve(graph, form);
    if (!array)
      return std::move(array).status();
    assert((*array)->numBytes() == arrayBytes(form, session.numbers()));
    arrays[form] = *array;
    offsets[form] = total;
    total += aligned((*array)->numBytes());
  }
  Result<DeviceMemory> memory = device.allocate(total);
  if (!memory)
    return std::move(memory).status();
  formMemory = std::move(*memory);
  for (const auto &[form, array] : arrays) {
    std::byte *place = static_cast<std::byte *>(formMemory.data()) + offsets[form];
    const auto bytes = array->visit([](auto ids) { return std::as_bytes(ids); });
    if (Status status = device.upload(place, bytes); !status.isOk())
      return status;
    forms[form] = place;
  }
  return Status::ok();  // the caller waits for the copies
}

/// Places what executors are lent: the arena, what dropout depends on, and copies of inputs.
Status DevicePlan::State::prepareInPlace() {
  const Plan &plan = session.plan();
  isOutside = findOutside(plan, session.numbers());
  const std::vector<bool> isOfGraph = findGraphTables(plan);
  for (size_t i = 0; i < isOfGraph.size(); ++i)
    if (isOfGraph[i]) {
      Result<DeviceMemory> memory = device.allocate(session.bytesOf(static_cast<int>(i)));
      if (!memory)
        return std::move(memory).status();
      graphTables.emplace(static_cast<int>(i), std::move(*memory));
    }
  auto take = [&](int64_t bytes) {
    const int64_t start = workBytes;
    workBytes += aligned(bytes);
    return start;
  };
  (void)take(session.memory().arenaBytes);
  (void)take(sizeof(cuda::Random));
  bool isTransferring = false;
  for (const Port &port : plan.inputs) {
    const bool isCopy = isCopied(plan, port, session.numbers(), options.inputs);
    const auto tensor = options.inputs.find(port.name);
    const std::optional<Storage> storage =
        tensor == options.inputs.end() ? session.table(port.table).storage : storageOf(tensor->second.dtype);
    if (!storage)
      return Status::invalid("input " + inTicks(port.name) + " is " + std::string(hector::name(tensor->second.dtype)) +
                             ", which is not read on a GPU; convert it to " +
                             std::string(hector::name(dtypeOf(session.table(port.table).storage))));
    given.push_back(*storage);
    copyOffset.push_back(isCopy ? take(session.bytesOf(port.table)) : -1);
    isTransferring |= isCopy;
  }
  for (const Port &port : plan.outputs)
    isTransferring |= !isOutside[port.table];
  if (!isTransferring && !hasDropout)
    return Status::ok();
  Result<std::unique_ptr<DeviceTransfer>> loaded = DeviceTransfer::load(device);
  if (!loaded)
    return std::move(loaded).status();
  transfer = std::move(*loaded);
  return Status::ok();
}

}  // namespace hector::exec
