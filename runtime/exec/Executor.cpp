#include "runtime/exec/Executor.h"

#include "runtime/base/BigVector.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/exec/Pieces.h"
#include "runtime/exec/Session.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <malloc.h>
#include <optional>

namespace hector::exec {

namespace {

constexpr size_t kAlignment = 64;

/// What a plan needs on a graph. Making it fails if they do not fit.
struct Fitting {
  GraphNumbers numbers;
  std::vector<LaunchCut> cuts;
  MemoryPlan memory;

  static Result<Fitting> make(const Plan &plan, const Graph &graph, int threads, Outputs outputs,
                              const InputTensors &inputs = {}) {
    if (Status status = checkFit(plan, graph, Target::Cpu); !status.isOk())
      return status;
    Fitting fitting;
    fitting.numbers = graphNumbers(plan, graph);
    Result<std::vector<LaunchCut>> cuts = cutLaunches(plan, graph, fitting.numbers);
    if (!cuts)
      return std::move(cuts).status();
    fitting.cuts = std::move(*cuts);
    fitting.setThreads(plan, threads, outputs, inputs);
    return fitting;
  }
  /// Cuts do not depend on threads, and memory does.
  void setThreads(const Plan &plan, int threads, Outputs outputs, const InputTensors &inputs = {}) {
    std::vector<LaunchNumbers> launches;
    for (const LaunchCut &cut : cuts)
      launches.push_back(cut.numbers);
    memory = planMemory(plan, numbers, launches, threads, inputs, outputs);
  }
};

/// Memory that starts at a multiple of 64 bytes.
class AlignedBytes {
public:
  void allocate(int64_t bytes) { memory = BigVector<std::byte>(static_cast<size_t>(bytes) + kAlignment); }
  bool isAllocated() const { return !memory.empty(); }
  std::byte *data() {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (kAlignment - address % kAlignment) % kAlignment;
  }

private:
  BigVector<std::byte> memory;
};

void fillWithNaN(std::byte *begin, int64_t bytes) {
  constexpr int64_t kGrain = int64_t{1} << 20;
  parallelFor(bytes, kGrain,
              [&](int64_t from, int64_t to) { std::memset(begin + from, 0xFF, static_cast<size_t>(to - from)); });
}

}  // namespace

struct Executor::State {
  /// A step, ready to run.
  struct Runnable {
    cpu::Kernel *kernel = nullptr;
    struct Join {
      cpu::Join *run = nullptr;
      int64_t targets = 0, grain = 1;
    };
    std::vector<Join> joins;  // one per total
    Pieces pieces;
    std::byte *scratch = nullptr;
    int64_t scratchPerThread = 0;
    std::vector<void *> tables;
    std::vector<const void *> forms;
    std::vector<cpu::Total> totals;
    cpu::Frame frame;
  };
  struct Input {
    std::shared_ptr<const void> owner;
    AlignedBytes copy;
  };

  Session session;
  KernelLookup lookup;
  ExecOptions options;
  int threads;
  AlignedBytes arena;
  std::vector<IdArray> arrays;  // that steps read
  std::vector<Runnable> steps;
  std::vector<std::byte *> addresses;  // of each table; null for an output whose place is yet to be named
  std::vector<bool> isOutside;         // of each table: an output in the caller's memory
  std::vector<Input> inputs;           // as the plan lists them
  int64_t copiedBytes = 0;             // of inputs, beyond those that the memory plan counts

  State(Session session, KernelLookup lookup, const ExecOptions &options, int threads)
      : session(std::move(session)), lookup(std::move(lookup)), options(options), threads(threads) {}

  Status prepare(const Graph &graph, std::vector<LaunchCut> cuts);
  Status prepareStep(const Graph &graph, size_t index, LaunchCut &cut);

  Status copyInput(const Port &port, Input &input, const Tensor &tensor);
  void copyTable(int table, DType dtype, std::byte *to) const;
  Status checkPlaces(Phase first, Phase last) const;
  void launch(Runnable &runnable);
  void poison(std::span<const Block> blocks);
};

// --- making one -----------------------------------------------------------------------------------------------------

Result<MemoryPlan> memoryFor(const Plan &plan, const Graph &graph, int threads, const InputTensors &inputs,
                             Outputs outputs) {
  Result<Fitting> fitting = Fitting::make(plan, graph, threads > 0 ? threads : numThreads(), outputs, inputs);
  if (!fitting)
    return std::move(fitting).status();
  return std::move(fitting->memory);
}

Status Executor::State::prepare(const Graph &graph, std::vector<LaunchCut> cuts) {
  const Plan &plan = session.plan();
  const MemoryPlan &memory = session.memory();
  arena.allocate(memory.arenaBytes);
  if (options.poison)
    fillWithNaN(arena.data(), memory.arenaBytes);
  addresses.resize(plan.tables.size());
  isOutside.resize(plan.tables.size());
  if (options.outputs == Outputs::Outside)
    isOutside = findOutside(plan, session.numbers());
  for (size_t i = 0; i < addresses.size(); ++i)
    addresses[i] = isOutside[i] ? nullptr : arena.data() + memory.tables[i].block.offset;
  inputs.resize(plan.inputs.size());
  steps.resize(plan.steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (Status status = prepareStep(graph, i, cuts[i]); !status.isOk())
      return status;
  return Status::ok();
}

Status Executor::State::prepareStep(const Graph &graph, size_t index, LaunchCut &cut) {
  const Launch &launch = session.plan().steps[index].launch;
  const MemoryPlan::Launch &needs = session.memory().launches[index];
  Runnable &runnable = steps[index];
  auto find = [&](const std::string &symbol) -> Result<void *> {
    if (void *function = lookup(symbol))
      return function;
    return Status::failed("the compiled code of " + inTicks(session.plan().name) + " has no function " +
                          inTicks(symbol));
  };
  Result<void *> kernel = find(launch.kernel);
  if (!kernel)
    return std::move(kernel).status();
  runnable.kernel = reinterpret_cast<cpu::Kernel *>(*kernel);
  runnable.pieces = std::move(cut.pieces);
  for (const Form &form : launch.forms) {
    Result<const IdArray *> array = resolve(graph, form);
    if (!array)
      return std::move(array).status();
    arrays.push_back(**array);
    runnable.forms.push_back((*array)->visit([](auto ids) -> const void * { return ids.data(); }));
  }
  for (const Block &total : needs.totals)
    runnable.totals.push_back({arena.data() + total.offset});
  runnable.scratch = arena.data() + needs.scratch.offset;
  runnable.scratchPerThread = needs.scratchPerThread;
  runnable.tables.resize(launch.inputs.size() + launch.outputs.size());

  for (size_t i = 0; i < launch.totals.size(); ++i) {
    Result<void *> join = find(launch.totals[i].join);
    if (!join)
      return std::move(join).status();
    const int64_t targets = session.numbers().rows[launch.totals[i].target];
    // A join adds what is in the total, about a number for each 4 bytes.
    const double cost =
        static_cast<double>(needs.totals[i].bytes) / 4 / static_cast<double>(std::max<int64_t>(targets, 1));
    const int64_t grain = cutEvenly(targets, std::max(cost, 1.0), false).grain;
    runnable.joins.push_back({reinterpret_cast<cpu::Join *>(*join), targets, grain});
  }

  cpu::Frame &frame = runnable.frame;
  frame.tables = runnable.tables.data();
  frame.forms = runnable.forms.data();
  frame.totals = runnable.totals.data();
  frame.rows = session.numbers().rows.data();
  frame.grain = runnable.pieces.grain;
  frame.pieces = runnable.pieces.count;
  return Status::ok();
}

Executor::Executor(std::unique_ptr<State> state) : state(std::move(state)) {}
Executor::Executor(Executor &&) noexcept = default;
Executor &Executor::operator=(Executor &&) noexcept = default;
Executor::~Executor() = default;

Result<Executor> Executor::create(std::shared_ptr<const Plan> plan, KernelLookup lookup, const Graph &graph,
                                  const ExecOptions &options) {
  ThreadLimit limit(options.threads > 0 ? options.threads : numThreads());
  // What index arrays are made from goes with the fork, unless the graph has it already.
  std::optional<Graph> forms = graph.fork();
  int threads = numThreads();
  Result<Fitting> fitting = Fitting::make(*plan, *forms, threads, options.outputs);
  if (!fitting)
    return std::move(fitting).status();
  while (true) {
    const Status status = checkMemory(*plan, fitting->numbers, fitting->memory, options.memoryLimit);
    if (status.isOk())
      break;
    if (threads == 1)
      return status;
    // The scratch memory of fewer threads may fit.
    threads /= 2;
    fitting->setThreads(*plan, threads, options.outputs);
  }
  Result<Session> session = Session::create(std::move(plan), *forms, fitting->numbers, std::move(fitting->memory));
  if (!session)
    return std::move(session).status();
  auto state = std::make_unique<State>(std::move(*session), std::move(lookup), options, threads);
  if (Status status = state->prepare(*forms, std::move(fitting->cuts)); !status.isOk())
    return status;
  forms.reset();
  // The C library keeps what is freed. For a small graph that is right: there will soon be another one.
  constexpr int64_t kWorthTrimming = int64_t{4} << 20;
  if (state->session.memory().indexBytes >= kWorthTrimming)
    malloc_trim(0);
  return Executor(std::move(state));
}

// --- inputs and outputs ---------------------------------------------------------------------------------------------

Status Executor::State::copyInput(const Port &port, Input &input, const Tensor &tensor) {
  const TableSpec &spec = session.table(port.table);
  const IdArray *outside = session.outside(port.table);
  if (!input.copy.isAllocated()) {
    const int64_t bytes = session.bytesOf(port.table), more = outside ? 0 : bytes;
    const int64_t peak = session.memory().peakBytes() + copiedBytes;
    if (options.memoryLimit > 0 && more > options.memoryLimit - peak)
      return Status::failed("input " + inTicks(port.name) + " is " + std::string(hector::name(tensor.dtype)) +
                            " and needs a copy as " + std::string(hector::name(dtypeOf(spec.storage))) + " of " +
                            formatBytes(more) + " besides the " + formatBytes(peak) + " that are taken; the limit is " +
                            formatBytes(options.memoryLimit));
    if (Status status = requireMemory("a copy of input " + inTicks(port.name), bytes); !status.isOk())
      return status;
    input.copy.allocate(bytes);
    copiedBytes += more;
  }
  copyIn(tensor, outside, session.rowsOf(port.table), spec.rowSize(), spec.storage, input.copy.data());
  addresses[port.table] = input.copy.data();
  input.owner.reset();
  return Status::ok();
}

Status Executor::checkInput(std::string_view name, const Tensor &tensor) const {
  Result<size_t> found = state->session.findInput(name, tensor);
  return found ? Status::ok() : std::move(found).status();
}

Status Executor::setInput(std::string_view name, const Tensor &tensor) {
  Session &session = state->session;
  Result<size_t> found = session.findInput(name, tensor);
  if (!found)
    return std::move(found).status();
  const Port &port = session.plan().inputs[*found];
  State::Input &input = state->inputs[*found];
  ThreadLimit limit(state->threads);
  if (!session.outside(port.table) && isStoredAs(session.table(port.table).storage, tensor)) {
    input.owner = tensor.owner;
    // Kernels are given all tables as void *, but no step writes an input: `checkPlan`.
    state->addresses[port.table] = const_cast<std::byte *>(tensor.bytes);
  } else if (Status status = state->copyInput(port, input, tensor); !status.isOk()) {
    return status;
  }
  session.noteInput(*found);
  return Status::ok();
}

Result<TableView> Executor::view(std::string_view name) const {
  const Session &session = state->session;
  Result<int> table = session.findOutput(name);
  if (!table)
    return std::move(table).status();
  return TableView{state->addresses[*table], &session.table(*table), session.rowsOf(*table)};
}

void Executor::State::copyTable(int table, DType dtype, std::byte *to) const {
  ThreadLimit limit(threads);
  const TableSpec &spec = session.table(table);
  copyOut(addresses[table], spec.storage, session.outside(table), session.rowsOf(table), spec.rowSize(), dtype, to);
}

Result<Tensor> Executor::output(std::string_view name) const {
  const Session &session = state->session;
  Result<int> table = session.findOutput(name);
  if (!table)
    return std::move(table).status();
  Tensor tensor = session.describeOutput(*table);
  const auto bytes = static_cast<int64_t>(tensor.numBytes());
  if (Status status = requireMemory("output " + inTicks(name), bytes); !status.isOk())
    return status;
  auto memory = std::make_shared<BigVector<std::byte>>(static_cast<size_t>(bytes));
  state->copyTable(*table, tensor.dtype, memory->data());
  tensor.bytes = memory->data();
  tensor.owner = std::move(memory);
  return tensor;
}

Status Executor::copyOutput(std::string_view name, std::byte *to) const {
  Result<int> table = state->session.findOutput(name);
  if (!table)
    return std::move(table).status();
  state->copyTable(*table, state->session.describeOutput(*table).dtype, to);
  return Status::ok();
}

Result<bool> Executor::isOutside(std::string_view name) const {
  Result<int> table = state->session.tableOfOutput(name);
  if (!table)
    return std::move(table).status();
  return static_cast<bool>(state->isOutside[*table]);
}

Status Executor::placeOutput(std::string_view name, std::byte *to) {
  Result<int> table = state->session.tableOfOutput(name);
  if (!table)
    return std::move(table).status();
  if (!state->isOutside[*table])
    return Status::invalid("output " + inTicks(name) + " is not stored as it is handed out; copy it after the run");
  state->addresses[*table] = to;
  return Status::ok();
}

int64_t Executor::peakBytes() const {
  return state->session.memory().peakBytes() + state->copiedBytes;
}

const MemoryPlan &Executor::memory() const {
  return state->session.memory();
}

// --- running --------------------------------------------------------------------------------------------------------

void Executor::setTraining(uint64_t seed, uint64_t step) {
  state->session.randomness = {true, seed, step};
}

void Executor::setInference() {
  state->session.randomness = {};
}

void Executor::State::launch(Runnable &runnable) {
  // Each worker has scratch memory of its own, and takes the next piece when it is done with one.
  std::atomic<int64_t> next = 0;
  const Pieces &pieces = runnable.pieces;
  parallelFor(std::min<int64_t>(threads, pieces.count), 1, [&](int64_t worker, int64_t) {
    std::byte *scratch = runnable.scratch + worker * runnable.scratchPerThread;
    for (int64_t piece = next++; piece < pieces.count; piece = next++)
      runnable.kernel(runnable.frame, pieces.begin(piece), pieces.end(piece), piece, scratch);
  });
  for (const Runnable::Join &join : runnable.joins)
    parallelFor(join.targets, join.grain, [&](int64_t begin, int64_t end) { join.run(runnable.frame, begin, end); });
}

/// Fails if an output that these phases write has no place.
Status Executor::State::checkPlaces(Phase first, Phase last) const {
  for (const Port &output : session.plan().outputs) {
    if (!isOutside[output.table] || addresses[output.table] || session.rowsOf(output.table) == 0)
      continue;
    const Phase phase = session.plan().steps[session.memory().tables[output.table].firstWrite].phase;
    if (session.isRunning(phase, first, last))
      return Status::invalid("there is no memory for output " + inTicks(output.name));
  }
  return Status::ok();
}

void Executor::State::poison(std::span<const Block> blocks) {
  for (const Block &block : blocks)
    fillWithNaN(arena.data() + block.offset, block.bytes);
}

Status Executor::run(Phase first, Phase last) {
  State &s = *state;
  const Plan &plan = s.session.plan();
  if (Status status = s.session.checkRun(first, last); !status.isOk())
    return status;
  if (Status status = s.checkPlaces(first, last); !status.isOk())
    return status;

  ThreadLimit limit(s.threads);
  if (s.options.poison)
    s.poison(s.session.unneededBefore(first, last));
  for (size_t i = 0; i < s.steps.size(); ++i) {
    const Launch &launch = plan.steps[i].launch;
    State::Runnable &step = s.steps[i];
    auto place = step.tables.begin();
    for (const std::vector<int> *tables : {&launch.inputs, &launch.outputs})
      for (int table : *tables)
        *place++ = s.addresses[table];
    step.frame.isTraining = s.session.randomness.isTraining;
    step.frame.seed = s.session.randomness.seed;
    step.frame.step = s.session.randomness.step;
  }
  for (Phase phase : kPhases) {
    if (!s.session.isRunning(phase, first, last))
      continue;
    s.session.beginPhase(phase);
    const Session::Steps range = s.session.stepsOf(phase);
    for (size_t i = range.begin; i < range.end; ++i) {
      if (interruptSignal())
        return Status::failed("interrupted");
      const auto start = std::chrono::steady_clock::now();
      s.launch(s.steps[i]);
      if (s.options.onStep)
        s.options.onStep(i, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      if (s.options.poison)
        s.poison(s.session.unneededAfter(i));
    }
    s.session.endPhase(phase);
  }
  return Status::ok();
}

}  // namespace hector::exec
