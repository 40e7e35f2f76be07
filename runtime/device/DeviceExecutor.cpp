#include "runtime/device/DeviceExecutor.h"

#include "kernels/cuda/sizes.hpp"
#include "runtime/base/BigVector.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/DevicePlanState.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hector::exec {

namespace {

constexpr std::byte kNaN{0xff};  // numbers of any type with all bits set

static_assert(static_cast<int>(cuda::NumDomains) == static_cast<int>(cpu::NumDomains));

/// What generated text says of a kernel above it, with the lines of the model: "by_dst edge, rgat.hec:5, 7, 8"; empty
/// where it says nothing.
std::string headingOf(std::string_view source, const std::string &kernel) {
  const size_t place = source.find(" " + kernel + "(");
  if (place == std::string_view::npos)
    return "";
  // Comments of a heading are not indented, and those inside of kernels are.
  size_t start = source.rfind("\n// ", place);
  if (start == std::string_view::npos)
    return "";
  while (start > 0) {
    const size_t before = source.rfind('\n', start - 1);
    if (before == std::string_view::npos || !source.substr(before).starts_with("\n// "))
      break;
    start = before;
  }
  const std::string_view line = source.substr(start + 4);
  return std::string(line.substr(0, line.find('\n')));
}

/// How many blocks start to compute `count` things, `perBlock` of them at a time. Kernels go on with further ones, so
/// that there need be no more blocks than keep a device busy.
int64_t numBlocks(int64_t count, int64_t perBlock, const DeviceInfo &device) {
  constexpr int64_t kPerMultiprocessor = 32;
  return std::min(count / perBlock + (count % perBlock != 0 ? 1 : 0),
                  std::max(device.multiprocessors, 1) * kPerMultiprocessor);
}

LaunchShape shapeOf(const Launch &launch, const GraphNumbers &numbers, const Pieces &pieces, const DeviceInfo &device) {
  const DeviceLaunch &how = *launch.device;
  LaunchShape shape = {0, how.threads, how.sharedBytes, how.bands};
  switch (how.schedule) {
  case Schedule::Units:
    shape.blocks = numBlocks(numbers.rows[launch.domain], how.threads / how.lanes, device);
    break;
  case Schedule::Pieces:
    shape.blocks = numBlocks(pieces.count, how.threads / 32, device);
    break;
  case Schedule::Tiles:
  case Schedule::Chunks:
    shape.blocks = pieces.count;
    break;
  }
  return shape;
}

/// Of the kernel that joins all totals of a launch, one after the other in its blocks.
LaunchShape shapeOfJoin(const Plan &plan, const Launch &launch, const GraphNumbers &numbers, const Pieces &pieces) {
  LaunchShape shape = {0, cuda::kJoinThreads, 0};
  for (const TotalSpec &total : launch.totals) {
    const int64_t targets = numbers.rows[total.target];
    const int64_t parts = total.slots == TotalSpec::Slots::Rows ? numbers.rows[launch.domain] : pieces.count;
    shape.blocks += cuda::blocksOfJoin(targets, plan.tables[launch.outputs[total.output]].rowSize(), parts);
    if (cuda::hasManyPieces(parts, targets))
      shape.sharedBytes = cuda::kJoinThreads * cuda::kMostJoinBytes;
  }
  return shape;
}

}  // namespace

struct DeviceExecutor::State {
  /// A kernel and its grid.
  struct Call {
    const Kernel *kernel = nullptr;
    LaunchShape shape;
    std::vector<MemoryUse> uses = {};  // at most
  };
  /// A step, ready to run: kernels one after the other, all with the same arguments. The last one is the join, if
  /// there are totals.
  struct Runnable {
    std::vector<Call> calls;
    Arguments arguments;
    cuda::Sizes sizes = {};
  };
  /// The launches of a run.
  struct Recorded {
    bool isSeen = false;  // phases ran before
    std::map<Starting, std::unique_ptr<Recording>> recordings;
    std::optional<Tuning> tuning;
  };
  using Phases = std::array<bool, kNumPhases>;

  std::shared_ptr<const DevicePlan> shared;
  const DevicePlan::State &mine;
  Session session;
  Device &device;
  DeviceExecOptions options;
  DeviceMemory arena;
  std::vector<DeviceMemory> inputs;  // as the plan lists them
  std::byte *base = nullptr;         // of the arena, or of the memory that is lent
  std::vector<void *> addresses;     // of each table
  std::vector<void *> places;        // of each output, with `isInPlace`: in the caller's memory
  /// What an input was copied from, and whether the copy was left in memory that was lent before.
  struct Copied {
    const std::byte *from = nullptr;
    bool isDue = false;
  };
  std::vector<Copied> copied;  // of each input, with `isInPlace`
  std::vector<Runnable> steps;
  // What dropout depends on. The host's copy stays as it is until the device has it.
  DeviceMemory randomMemory;
  void *random = nullptr;
  const void *lentRandom = nullptr;
  cuda::Random uploaded = {};
  bool hasRandom = false, isUploading = false;
  bool isRandomDue = true;              // with `isInPlace`: what was lent has other numbers
  std::map<Phases, Recorded> recorded;  // by which phases run; gone before what it launches
  std::vector<LaunchTime> times;
  std::vector<std::unique_ptr<Mark>> marks;  // of the run: before and after each launch
  double runMs = 0;

  explicit State(std::shared_ptr<const DevicePlan> plan)
      : shared(std::move(plan)), mine(*shared->state), session(mine.session), device(mine.device),
        options(mine.options) {}

  Status prepare();
  Status allocate();
  Status prepareStep(size_t index);
  void bindStep(size_t index);
  void noteUses(size_t index);
  void *inArena(const Block &block) const { return base + block.offset; }
  Status checkPlaces(Phase first, Phase last) const;
  DeviceTransfer::Rows rowsOf(int table) const;
  Status copyInput(size_t input);
  Status copyDueInputs(const Phases &phases);
  Status copyToPlaces();

  Result<Tensor> read(const std::string &what, int table) const;
  Status uploadRandom();
  Status runPhases(const Phases &phases);
  Status launchPhase(Phase phase);
  Starting usual() const;
  Tuning tune(const Phases &phases) const;
  Status launch(size_t step);
  Status poison(std::span<const Block> blocks);
};

// --- making one -----------------------------------------------------------------------------------------------------

Status DeviceExecutor::State::prepare() {
  addresses.resize(session.plan().tables.size());
  places.resize(session.plan().outputs.size());
  copied.resize(session.plan().inputs.size());
  if (!options.isInPlace)
    if (Status status = allocate(); !status.isOk())
      return status;
  steps.resize(session.plan().steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (Status status = prepareStep(i); !status.isOk())
      return status;
  return Status::ok();
}

Status DeviceExecutor::State::allocate() {
  Result<DeviceMemory> memory = device.allocate(session.memory().arenaBytes);
  if (!memory)
    return std::move(memory).status();
  arena = std::move(*memory);
  base = static_cast<std::byte *>(arena.data());
  for (size_t i = 0; i < addresses.size(); ++i)
    addresses[i] = inArena(session.memory().tables[i].block);
  for (const Port &port : session.plan().inputs) {
    Result<DeviceMemory> input = device.allocate(session.bytesOf(port.table));
    if (!input)
      return std::move(input).status();
    addresses[port.table] = input->data();
    inputs.push_back(std::move(*input));
  }
  memory = device.allocate(sizeof(cuda::Random));
  if (!memory)
    return std::move(memory).status();
  randomMemory = std::move(*memory);
  random = randomMemory.data();
  return Status::ok();
}

Status DeviceExecutor::State::prepareStep(size_t index) {
  const Launch &launch = session.plan().steps[index].launch;
  const MemoryPlan::Launch &needs = session.memory().launches[index];
  const Pieces &pieces = mine.pieces[index];
  Runnable &runnable = steps[index];
  auto addCall = [&](const std::string &symbol, const LaunchShape &shape) -> Status {
    Result<Kernel *> kernel = mine.program->kernel(symbol);
    if (!kernel)
      return std::move(kernel).status();
    runnable.calls.push_back({*kernel, shape});
    return device.allowShared(**kernel, shape.sharedBytes);
  };
  const LaunchShape shape = shapeOf(launch, session.numbers(), pieces, device.info());
  if (Status status = addCall(launch.kernel, shape); !status.isOk())
    return status;
  const bool isChunked = launch.device->schedule == Schedule::Chunks;
  if (isChunked) {
    // A lane looks at a unit.
    const LaunchShape finish = {numBlocks(session.numbers().rows[launch.domain], shape.threads, device.info()),
                                shape.threads, shape.sharedBytes};
    if (Status status = addCall(launch.kernel + "_cut", finish); !status.isOk())
      return status;
  }
  if (!launch.totals.empty()) {
    const LaunchShape join = shapeOfJoin(session.plan(), launch, session.numbers(), pieces);
    if (Status status = addCall(launch.totals.front().join, join); !status.isOk())
      return status;
  }

  // Places in memory come with `bindStep`.
  size_t numPlaces = launch.inputs.size() + launch.outputs.size() + needs.buffers.size();
  for (size_t i = 0; i < numPlaces; ++i)
    runnable.arguments.add<void *>(nullptr);
  for (const Form &form : launch.forms)
    runnable.arguments.add(mine.forms.at(form));
  for (size_t i = 0; i < needs.totals.size() + (isChunked ? 1 : 0); ++i)
    runnable.arguments.add<void *>(nullptr);
  cuda::Sizes &sizes = runnable.sizes;
  std::copy(session.numbers().rows.begin(), session.numbers().rows.end(), sizes.rows);
  sizes.grain = pieces.grain;
  sizes.pieces = pieces.count;
  runnable.arguments.add(sizes);
  if (!options.isInPlace) {
    bindStep(index);
    noteUses(index);
  }
  return Status::ok();
}

/// Has the kernels of a step read and write where tables and buffers lie now.
void DeviceExecutor::State::bindStep(size_t index) {
  const Launch &launch = session.plan().steps[index].launch;
  const MemoryPlan::Launch &needs = session.memory().launches[index];
  Runnable &runnable = steps[index];
  size_t parameter = 0;
  for (const std::vector<int> *tables : {&launch.inputs, &launch.outputs})
    for (int table : *tables)
      runnable.arguments.set(parameter++, addresses[table]);
  for (const Block &buffer : needs.buffers)
    runnable.arguments.set(parameter++, inArena(buffer));
  parameter += launch.forms.size();
  for (const Block &total : needs.totals)
    runnable.arguments.set(parameter++, inArena(total));
  if (launch.device->schedule == Schedule::Chunks)
    runnable.arguments.set(parameter++, inArena(needs.carry));
  runnable.sizes.random = static_cast<const cuda::Random *>(random);
  runnable.arguments.set(parameter, runnable.sizes);
}

/// Says what the calls of a step read and write, for recordings. What joins read is there before they run, and what
/// they write is not there before: later launches wait for one or the other. Nothing writes index arrays and random
/// numbers while launches run: their uses order nothing.
void DeviceExecutor::State::noteUses(size_t index) {
  const Launch &launch = session.plan().steps[index].launch;
  const MemoryPlan::Launch &needs = session.memory().launches[index];
  std::vector<MemoryUse> uses, ofJoin;
  for (int table : launch.inputs)
    uses.push_back(MemoryUse::read(addresses[table], session.bytesOf(table)));
  ofJoin = uses;
  for (size_t i = 0; i < launch.outputs.size(); ++i) {
    const int table = launch.outputs[i];
    const bool isOfTotal = std::any_of(launch.totals.begin(), launch.totals.end(),
                                       [&](const TotalSpec &total) { return static_cast<size_t>(total.output) == i; });
    (isOfTotal ? ofJoin : uses).push_back(MemoryUse::write(addresses[table], session.bytesOf(table)));
  }
  auto writes = [&](const Block &block) { uses.push_back(MemoryUse::write(inArena(block), block.bytes)); };
  for (const Block &buffer : needs.buffers)
    writes(buffer);
  for (const Block &total : needs.totals) {
    writes(total);
    ofJoin.push_back(MemoryUse::read(inArena(total), total.bytes));
  }
  if (launch.device->schedule == Schedule::Chunks)
    writes(needs.carry);
  std::vector<Call> &calls = steps[index].calls;
  for (Call &call : calls)
    call.uses = uses;
  if (!launch.totals.empty())
    calls.back().uses = std::move(ofJoin);
}

DeviceExecutor::DeviceExecutor(std::unique_ptr<State> state) : state(std::move(state)) {}
DeviceExecutor::DeviceExecutor(DeviceExecutor &&) noexcept = default;
DeviceExecutor &DeviceExecutor::operator=(DeviceExecutor &&) noexcept = default;
DeviceExecutor::~DeviceExecutor() = default;

Result<DeviceExecutor> DeviceExecutor::create(std::shared_ptr<const DevicePlan> plan) {
  auto state = std::make_unique<State>(std::move(plan));
  if (Status status = state->prepare(); !status.isOk())
    return status;
  return DeviceExecutor(std::move(state));
}

Result<DeviceExecutor> DeviceExecutor::create(std::shared_ptr<const Plan> plan, std::shared_ptr<DeviceProgram> program,
                                              Device &device, const Graph &graph, const DeviceExecOptions &options) {
  auto shared = DevicePlan::create(std::move(plan), std::move(program), device, graph, options);
  if (!shared)
    return std::move(shared).status();
  return create(std::move(*shared));
}

// --- inputs and outputs ---------------------------------------------------------------------------------------------

/// Fails for calls that need the other kind of executor.
static Status requireInPlace(const DeviceExecOptions &options, bool isWanted) {
  return options.isInPlace == isWanted
             ? Status::ok()
             : Status::invalid(isWanted ? "the executor has memory of its own; make it with `isInPlace`"
                                        : "the executor works in the caller's memory and copies nothing");
}

Status DeviceExecutor::setInput(std::string_view name, const Tensor &tensor) {
  if (Status status = requireInPlace(state->options, false); !status.isOk())
    return status;
  Session &session = state->session;
  Result<size_t> found = session.findInput(name, tensor);
  if (!found)
    return std::move(found).status();
  const int table = session.plan().inputs[*found].table;
  const TableSpec &spec = session.table(table);
  const auto bytes = static_cast<size_t>(session.bytesOf(table));
  BigVector<std::byte> converted;
  std::span<const std::byte> source(tensor.bytes, bytes);
  if (!session.isStoredAsIs(tensor, table)) {
    const std::string what = "a copy of input " + inTicks(name);
    if (Status status = requireMemory(what, static_cast<int64_t>(bytes)); !status.isOk())
      return status;
    converted = BigVector<std::byte>(bytes);
    copyIn(tensor, session.outside(table), session.rowsOf(table), spec.rowSize(), spec.storage, converted.data());
    source = converted;
  }
  Status status = state->device.upload(state->inputs[*found].data(), source);
  if (status.isOk())
    status = state->device.synchronize();
  if (!status.isOk())
    return status;
  session.noteInput(*found);
  return Status::ok();
}

Status DeviceExecutor::takeInput(std::string_view name, std::string_view output) {
  if (Status status = requireInPlace(state->options, false); !status.isOk())
    return status;
  Session &session = state->session;
  const Plan &plan = session.plan();
  Result<int> from = session.findOutput(output);
  if (!from)
    return std::move(from).status();
  Tensor given = session.describeOutput(*from);
  given.bytes = static_cast<const std::byte *>(state->addresses[*from]);
  Result<size_t> found = session.findInput(name, given);
  if (!found)
    return std::move(found).status();
  const int to = plan.inputs[*found].table;
  const TableSpec &source = session.table(*from), &target = session.table(to);
  if (source.domain != target.domain || source.order != target.order || source.storage != target.storage)
    return Status::invalid("output " + inTicks(output) + " cannot become input " + inTicks(name) +
                           ": their rows are stored in different ways");
  if (*from != to)
    if (Status status = state->device.copy(state->addresses[to], state->addresses[*from], session.bytesOf(to));
        !status.isOk())
      return status;
  session.noteInput(*found);
  return Status::ok();
}

/// Copies a table to the host, in the order that it has outside.
Result<Tensor> DeviceExecutor::State::read(const std::string &what, int table) const {
  const TableSpec &spec = session.table(table);
  Tensor tensor = session.describeOutput(table);
  const bool isConverted = session.outside(table) || dtypeOf(spec.storage) != tensor.dtype;
  const auto bytes = static_cast<int64_t>(tensor.numBytes()), stored = session.bytesOf(table);
  if (Status status = requireMemory(what, bytes + (isConverted ? stored : 0)); !status.isOk())
    return status;
  auto memory = std::make_shared<BigVector<std::byte>>(static_cast<size_t>(bytes));
  BigVector<std::byte> raw(static_cast<size_t>(isConverted ? stored : 0));
  Status status = device.download(isConverted ? raw : *memory, addresses[table]);
  if (status.isOk())
    status = device.synchronize();
  if (!status.isOk())
    return status;
  if (isConverted)
    copyOut(raw.data(), spec.storage, session.outside(table), session.rowsOf(table), spec.rowSize(), tensor.dtype,
            memory->data());
  tensor.bytes = memory->data();
  tensor.owner = std::move(memory);
  return tensor;
}

// --- in the caller's memory

static bool isAligned(const void *address, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

Status DeviceExecutor::useMemory(void *memory) {
  if (Status status = requireInPlace(state->options, true); !status.isOk())
    return status;
  if (!isAligned(memory, kDeviceAlignment) || (!memory && state->mine.workBytes > 0))
    return Status::invalid("memory that is lent has to start at a multiple of " + std::to_string(kDeviceAlignment) +
                           " bytes");
  State &s = *state;
  s.base = static_cast<std::byte *>(memory);
  for (size_t i = 0; i < s.addresses.size(); ++i)
    if (const MemoryPlan::Table &table = s.session.memory().tables[i]; table.firstWrite >= 0 && !s.mine.isOutside[i])
      s.addresses[i] = s.inArena(table.block);
  for (const auto &[table, own] : s.mine.graphTables)
    s.addresses[table] = own.data();
  const std::vector<Port> &inputs = s.session.plan().inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (s.mine.copyOffset[i] >= 0) {
      s.addresses[inputs[i].table] = s.base + s.mine.copyOffset[i];
      s.copied[i].isDue = s.copied[i].from != nullptr;
    }
  const int64_t arena = s.session.memory().arenaBytes;
  s.random = s.base + (arena + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  s.isRandomDue = true;
  s.session.beginPhase(Phase::Graph);  // nothing is computed, but for what the plan has
  if (s.mine.isGraphDone)
    s.session.endPhase(Phase::Graph);
  return Status::ok();
}

Status DeviceExecutor::checkInput(std::string_view name, const Tensor &tensor) const {
  const Session &session = state->session;
  Result<size_t> found = session.findInput(name, tensor);
  if (!found)
    return std::move(found).status();
  const DType dtype = dtypeOf(state->mine.given[*found]);
  if (tensor.dtype != dtype)
    return Status::invalid("input " + inTicks(name) + " is " + std::string(hector::name(tensor.dtype)) +
                           ", but is read as " + std::string(hector::name(dtype)) +
                           " where it is on the device; convert it");
  if (!isAligned(tensor.bytes, 16))
    return Status::invalid("input " + inTicks(name) + " does not start at a multiple of 16 bytes; copy it");
  return Status::ok();
}

Status DeviceExecutor::readInput(std::string_view name, const Tensor &tensor) {
  State &s = *state;
  if (Status status = requireInPlace(s.options, true); !status.isOk())
    return status;
  if (Status status = checkInput(name, tensor); !status.isOk())
    return status;
  Result<size_t> found = s.session.findInput(name, tensor);
  const int table = s.session.plan().inputs[*found].table;
  if (s.mine.copyOffset[*found] < 0)
    s.addresses[table] = const_cast<std::byte *>(tensor.bytes);  // no step writes an input: `checkPlan`
  else if (!s.base)
    return Status::invalid("there is no memory to work in; lend some first");
  else {
    s.copied[*found].from = tensor.bytes;
    if (Status status = s.copyInput(*found); !status.isOk())
      return status;
  }
  s.session.noteInput(*found);
  return Status::ok();
}

Status DeviceExecutor::State::copyInput(size_t input) {
  const int table = session.plan().inputs[input].table;
  copied[input].isDue = false;
  return mine.transfer->copyIn(copied[input].from, mine.given[input], addresses[table], rowsOf(table));
}

/// Copies inputs again that were not set since other memory was lent, as far as these phases read them.
Status DeviceExecutor::State::copyDueInputs(const Phases &phases) {
  const Plan &plan = session.plan();
  auto isRead = [&](int table) {
    auto isStep = [&](const Step &step) {
      const std::vector<int> &inputs = step.launch.inputs;
      return phases[static_cast<size_t>(step.phase)] && std::find(inputs.begin(), inputs.end(), table) != inputs.end();
    };
    return std::any_of(plan.steps.begin(), plan.steps.end(), isStep) ||
           std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const Port &port) { return port.table == table; });
  };
  for (size_t i = 0; i < copied.size(); ++i)
    if (copied[i].isDue && isRead(plan.inputs[i].table))
      if (Status status = copyInput(i); !status.isOk())
        return status;
  return Status::ok();
}

Status DeviceExecutor::placeOutput(std::string_view name, void *to) {
  State &s = *state;
  if (Status status = requireInPlace(s.options, true); !status.isOk())
    return status;
  Result<int> table = s.session.tableOfOutput(name);
  if (!table)
    return std::move(table).status();
  if (!isAligned(to, 16))
    return Status::invalid("the place for output " + inTicks(name) + " does not start at a multiple of 16 bytes");
  const std::vector<Port> &outputs = s.session.plan().outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name)
      s.places[i] = to;
  if (s.mine.isOutside[*table])
    s.addresses[*table] = to;
  return Status::ok();
}

DeviceTransfer::Rows DeviceExecutor::State::rowsOf(int table) const {
  const TableSpec &spec = session.table(table);
  DeviceTransfer::Rows rows = {.count = session.rowsOf(table), .size = spec.rowSize(), .storage = spec.storage};
  if (session.outside(table)) {
    rows.places = mine.forms.at(*outsideRows(spec));
    rows.hasWideIds = session.numbers().wideIds;
  }
  return rows;
}

/// Fails if an output that these phases write to the caller's memory has no place.
Status DeviceExecutor::State::checkPlaces(Phase first, Phase last) const {
  if (!base && mine.workBytes > 0)
    return Status::invalid("there is no memory to work in; lend some first");
  const std::vector<Port> &outputs = session.plan().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int table = outputs[i].table;
    if (!mine.isOutside[table] || places[i] || session.rowsOf(table) == 0)
      continue;
    const Phase phase = session.plan().steps[session.memory().tables[table].firstWrite].phase;
    if (session.isRunning(phase, first, last))
      return Status::invalid("there is no memory for output " + inTicks(outputs[i].name));
  }
  return Status::ok();
}

/// Copies outputs that are not stored as they are handed out.
Status DeviceExecutor::State::copyToPlaces() {
  const std::vector<Port> &outputs = session.plan().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    void *const place = places[i];
    const int table = outputs[i].table;
    if (!place || mine.isOutside[table] || session.rowsOf(table) == 0)
      continue;
    if (Result<int> computed = session.findOutput(outputs[i].name); !computed)
      return std::move(computed).status();
    if (Status status = mine.transfer->copyOut(addresses[table], place, rowsOf(table)); !status.isOk())
      return status;
  }
  return Status::ok();
}

// --- copies in the memory of the host

Result<Tensor> DeviceExecutor::output(std::string_view name) const {
  Result<int> table = state->session.findOutput(name);
  if (!table)
    return std::move(table).status();
  return state->read("output " + inTicks(name), *table);
}

Result<Tensor> DeviceExecutor::input(std::string_view name) const {
  Result<int> table = state->session.findSetInput(name);
  if (!table)
    return std::move(table).status();
  return state->read("input " + inTicks(name), *table);
}

int64_t DeviceExecutor::peakBytes() const {
  return state->session.memory().peakBytes();
}

const MemoryPlan &DeviceExecutor::memory() const {
  return state->session.memory();
}

// --- running --------------------------------------------------------------------------------------------------------

void DeviceExecutor::setTraining(uint64_t seed, uint64_t step) {
  state->session.randomness = {true, seed, step};
  state->lentRandom = nullptr;
  state->isRandomDue = true;
}

void DeviceExecutor::setTraining(const void *numbers) {
  state->session.randomness = {true, 0, 0};
  state->lentRandom = numbers;
  state->isRandomDue = true;
}

void DeviceExecutor::setInference() {
  state->session.randomness = {};
  state->isRandomDue = true;
}

Status DeviceExecutor::State::poison(std::span<const Block> blocks) {
  for (const Block &block : blocks)
    if (Status status = device.fill(inArena(block), kNaN, block.bytes); !status.isOk())
      return status;
  return Status::ok();
}

/// Before the launches of a run, in the order of the device's work. A recording reads what is there when it runs.
Status DeviceExecutor::State::uploadRandom() {
  const Randomness &wanted = session.randomness;
  if (!mine.hasDropout)
    return Status::ok();
  if (options.isInPlace) {
    // A backward run drops what its forward run did.
    if (!std::exchange(isRandomDue, false))
      return Status::ok();
    return mine.transfer->setRandom(random, wanted, wanted.isTraining ? lentRandom : nullptr);
  }
  if (hasRandom && Randomness{uploaded.isTraining, uploaded.seed, uploaded.step} == wanted)
    return Status::ok();
  // A run that failed did not wait for its upload.
  if (isUploading)
    if (Status status = device.synchronize(); !status.isOk())
      return status;
  uploaded = {wanted.seed, wanted.step, wanted.isTraining};
  hasRandom = false;
  if (Status status = device.upload(random, std::as_bytes(std::span(&uploaded, 1))); !status.isOk())
    return status;
  hasRandom = isUploading = true;
  return Status::ok();
}

Status DeviceExecutor::State::launch(size_t step) {
  const Runnable &runnable = steps[step];
  auto start = [&](const Call &call) {
    Status status = device.launch(*call.kernel, call.shape, runnable.arguments, call.uses);
    return status.isOk() && options.isStepwise ? device.synchronize() : status;
  };
  for (const Call &call : runnable.calls)
    if (Status status = start(call); !status.isOk()) {
      const Plan &plan = session.plan();
      const Launch &failed = plan.steps[step].launch;
      const std::string heading = headingOf(plan.source, failed.kernel);
      return Status::failed("launch " + inTicks(failed.label) + (heading.empty() ? "" : " (" + heading + ")") + " of " +
                            inTicks(plan.name) + ": " + status.message() +
                            "\n   help: `hector compile MODEL --emit cuda` writes the text of kernel " +
                            inTicks(call.kernel->name()));
    }
  return Status::ok();
}

/// Starts the launches of a phase, one by one.
Status DeviceExecutor::State::launchPhase(Phase phase) {
  auto addMark = [&]() -> Status {
    if (!options.isProfiled)
      return Status::ok();
    Result<std::unique_ptr<Mark>> mark = device.mark();
    if (!mark)
      return std::move(mark).status();
    marks.push_back(std::move(*mark));
    return Status::ok();
  };
  const Session::Steps range = session.stepsOf(phase);
  for (size_t i = range.begin; i < range.end; ++i) {
    if (interruptSignal())
      return Status::failed("interrupted");
    if (Status status = addMark(); !status.isOk())
      return status;
    if (Status status = launch(i); !status.isOk())
      return status;
    if (Status status = addMark(); !status.isOk())
      return status;
    if (options.isProfiled)
      times.push_back({session.plan().steps[i].launch.label, 0, i});
    if (options.poison)
      if (Status status = poison(session.unneededAfter(i)); !status.isOk())
        return status;
  }
  return Status::ok();
}

Starting DeviceExecutor::State::usual() const {
  return hasBranches(options, session.numbers()) ? Starting::Branched : Starting::Chained;
}

Tuning DeviceExecutor::State::tune(const Phases &phases) const {
  const Plan &plan = session.plan();
  const DeviceInfo &info = device.info();
  TextHash hash;
  hash.add(plan.source);
  hash.add(info.name + " " + std::to_string(info.multiprocessors));
  for (int64_t rows : session.numbers().rows)
    hash.add(std::to_string(rows));
  hash.add(std::to_string(session.memory().arenaBytes) + (session.numbers().wideIds ? " wide" : ""));
  constexpr std::array<const char *, kNumPhases> kNames = {"graph", "weights", "forward", "backward"};
  std::string names;
  for (Phase phase : kPhases)
    if (phases[static_cast<size_t>(phase)])
      names += (names.empty() ? "" : ", ") + std::string(kNames[static_cast<size_t>(phase)]);
  hash.add(names);
  return Tuning(hash.digest(), plan.name + " (" + names + ")", usual(), options.onTuned);
}

/// Starts the launches of all phases of a run.
Status DeviceExecutor::State::runPhases(const Phases &phases) {
  auto launchAll = [&] {
    for (Phase phase : kPhases)
      if (phases[static_cast<size_t>(phase)])
        if (Status status = launchPhase(phase); !status.isOk())
          return status;
    return Status::ok();
  };
  if (!options.isRecorded || options.isInPlace || options.isProfiled || options.isStepwise)
    return launchAll();
  if (interruptSignal())
    return Status::failed("interrupted");
  // Recording takes longer than launching: it pays for phases that run again.
  Recorded &past = recorded[phases];
  if (!std::exchange(past.isSeen, true))
    return launchAll();
  if (options.onTuned && !past.tuning)
    past.tuning.emplace(tune(phases));
  const Starting way = past.tuning ? past.tuning->way() : usual();
  std::unique_ptr<Recording> &recording = past.recordings[way];
  if (way != Starting::Plain && !recording) {
    const auto order = way == Starting::Branched ? RecordedOrder::ByMemory : RecordedOrder::AsCalled;
    Result<std::unique_ptr<Recording>> made = device.record(launchAll, order);
    if (!made)
      return std::move(made).status();
    recording = std::move(*made);
  }
  auto start = [&] { return recording ? device.replay(*recording) : launchAll(); };
  if (!past.tuning || !past.tuning->isMeasuring())
    return start();
  Result<std::unique_ptr<Mark>> begin = device.mark();
  if (!begin)
    return std::move(begin).status();
  if (Status status = start(); !status.isOk())
    return status;
  Result<std::unique_ptr<Mark>> end = device.mark();
  if (!end)
    return std::move(end).status();
  Result<double> ms = device.elapsedMs(**begin, **end);
  if (!ms)
    return std::move(ms).status();
  past.tuning->add(*ms);
  if (!past.tuning->isMeasuring())
    std::erase_if(past.recordings, [&](const auto &entry) { return entry.first != past.tuning->way(); });
  return Status::ok();
}

Status DeviceExecutor::run(Phase first, Phase last) {
  State &s = *state;
  struct OneRun {  // is what places serve, whether it ends well or not
    std::vector<void *> &places;
    ~OneRun() { std::fill(places.begin(), places.end(), nullptr); }
  } const ending = {s.places};
  if (Status status = s.session.checkRun(first, last); !status.isOk())
    return status;
  if (s.options.isInPlace) {
    if (Status status = s.checkPlaces(first, last); !status.isOk())
      return status;
    for (size_t i = 0; i < s.steps.size(); ++i)
      if (s.session.isRunning(s.session.plan().steps[i].phase, first, last))
        s.bindStep(i);
  }
  s.times.clear();
  s.marks.clear();
  if (s.options.poison)
    if (Status status = s.poison(s.session.unneededBefore(first, last)); !status.isOk())
      return status;
  std::unique_ptr<Mark> begin, end;
  auto setMark = [&](std::unique_ptr<Mark> &mark) -> Status {
    if (!s.options.isTimed)
      return Status::ok();
    Result<std::unique_ptr<Mark>> made = s.device.mark();
    if (!made)
      return std::move(made).status();
    mark = std::move(*made);
    return Status::ok();
  };
  if (Status status = setMark(begin); !status.isOk())
    return status;
  if (Status status = s.uploadRandom(); !status.isOk())
    return status;
  State::Phases phases = {};
  for (Phase phase : kPhases)
    phases[static_cast<size_t>(phase)] = s.session.isRunning(phase, first, last);
  auto forRunning = [&](auto &&note) {
    for (Phase phase : kPhases)
      if (phases[static_cast<size_t>(phase)])
        note(phase);
  };
  if (Status status = s.copyDueInputs(phases); !status.isOk())
    return status;
  forRunning([&](Phase phase) { s.session.beginPhase(phase); });
  if (Status status = s.runPhases(phases); !status.isOk())
    return status;
  if (Status status = setMark(end); !status.isOk())
    return status;
  if (Status status = s.options.isInPlace ? Status::ok() : s.device.synchronize(); !status.isOk()) {
    s.session.beginPhase(Phase::Graph);
    const char *help = "\n   help: it is not known which launch failed; HECTOR_STEPWISE=1 waits for each of them, and "
                       "names it";
    return Status::failed("running " + inTicks(s.session.plan().name) + ": " + status.message() +
                          (s.options.isStepwise ? "" : help));
  }
  s.isUploading = false;
  forRunning([&](Phase phase) { s.session.endPhase(phase); });
  if (Status status = s.copyToPlaces(); !status.isOk())
    return status;
  for (size_t i = 0; i < s.times.size(); ++i) {
    Result<double> ms = s.device.elapsedMs(*s.marks[2 * i], *s.marks[2 * i + 1]);
    if (!ms)
      return std::move(ms).status();
    s.times[i].ms = *ms;
  }
  if (!s.options.isTimed)
    return Status::ok();
  Result<double> ms = s.device.elapsedMs(*begin, *end);
  if (!ms)
    return std::move(ms).status();
  s.runMs = *ms;
  return Status::ok();
}

void DeviceExecutor::setProfiled(bool isOn) {
  state->options.isProfiled = isOn;
}

double DeviceExecutor::runMs() const {
  return state->runMs;
}

std::span<const DeviceExecutor::LaunchTime> DeviceExecutor::profile() const {
  return state->times;
}

}  // namespace hector::exec
