#include "runtime/exec/Executor.h"

#include "runtime/base/BigVector.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/exec/Pieces.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>

namespace hector::exec {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kNumPhases = static_cast<size_t>(Phase::Backward) + 1;

size_t at(Phase phase) {
  return static_cast<size_t>(phase);
}

/// What a plan needs on a graph. Making it fails if they do not fit.
struct Fitting {
  GraphNumbers numbers;
  std::vector<LaunchCut> cuts;
  MemoryPlan memory;

  static Result<Fitting> make(const Plan &plan, const Graph &graph, int threads, const InputTensors &inputs = {}) {
    if (Status status = checkPlan(plan); !status.isOk())
      return status;
    for (Side side : plan.relationEnds)
      if (Result<const IdArray *> types = resolve(graph, {.kind = FormKind::RelationType, .side = side}); !types)
        return Status::invalid("the plan of " + inTicks(plan.name) + " is for graphs whose relations have " +
                               (side == Side::Source ? "sources" : "destinations") +
                               " of one node type each: " + types.status().message() + "; compile it for this graph");
    if (plan.wideIds != needsWideIds(graph))
      return Status::invalid("the plan of " + inTicks(plan.name) + " was compiled for ids of " +
                             (plan.wideIds ? "64" : "32") + " bits, but those of the graph have " +
                             (plan.wideIds ? "32" : "64") + "; compile it for this graph");
    Fitting fitting;
    fitting.numbers = graphNumbers(plan, graph);
    Result<std::vector<LaunchCut>> cuts = cutLaunches(plan, graph, fitting.numbers);
    if (!cuts)
      return std::move(cuts).status();
    fitting.cuts = std::move(*cuts);
    std::vector<LaunchNumbers> launches;
    for (const LaunchCut &cut : fitting.cuts)
      launches.push_back(cut.numbers);
    fitting.memory = planMemory(plan, fitting.numbers, launches, threads, inputs);
    return fitting;
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

std::string rowWord(Domain domain) {
  constexpr std::array<const char *, cpu::NumDomains> kWords = {"shared row",  "node type",        "edge type", "node",
                                                                "source pair", "destination pair", "edge"};
  return kWords[domain];
}

std::vector<int64_t> tensorShape(const TableSpec &table, int64_t rows) {
  std::vector<int64_t> shape = table.shape;
  if (table.domain != Domain::One)
    shape.insert(shape.begin(), rows);
  return shape;
}

/// Without building the shape, so that setting an input allocates nothing.
bool hasShape(const Tensor &tensor, const TableSpec &table, int64_t rows) {
  const bool hasRows = table.domain != Domain::One;
  return tensor.shape.size() == table.shape.size() + (hasRows ? 1 : 0) && (!hasRows || tensor.shape[0] == rows) &&
         std::equal(table.shape.begin(), table.shape.end(), tensor.shape.begin() + (hasRows ? 1 : 0));
}

/// "`x`, `W`" for messages.
std::string listNames(const std::vector<Port> &ports) {
  std::string text;
  for (const Port &port : ports)
    text += (text.empty() ? "" : ", ") + inTicks(port.name);
  return text.empty() ? "none" : text;
}

const Port *findPort(const std::vector<Port> &ports, std::string_view name) {
  auto found = std::find_if(ports.begin(), ports.end(), [&](const Port &port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

constexpr std::array<const char *, kNumPhases> kPhaseNames = {"graph", "weights", "forward", "backward"};

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
    bool isSet = false;
    bool isMoved = false;                      // its rows have another order outside, so that it is always copied
    std::array<bool, kNumPhases> isRead = {};  // by which phases
  };

  std::shared_ptr<const Plan> plan;
  KernelLookup lookup;
  Graph graph;
  ExecOptions options;
  int threads;
  GraphNumbers numbers;
  MemoryPlan memory;
  AlignedBytes arena;
  std::vector<Runnable> steps;
  std::vector<std::byte *> addresses;    // of each table
  std::vector<const IdArray *> outside;  // of each table of a port: see `outsideRows`; null if its rows stay in place
  std::vector<Input> inputs;             // as the plan lists them
  int64_t copiedBytes = 0;               // of inputs, beyond those that the memory plan counts
  std::array<bool, kNumPhases> isDone = {};  // phases whose tables hold results
  bool areWeightsDue = false;                // an input of the Weights phase was set since it ran
  bool hasForward = false;                   // Forward has run for the next Backward
  std::vector<Block> kept;                   // ranges that poison leaves alone
  bool isTraining = false;
  uint64_t seed = 0, step = 0;

  State(std::shared_ptr<const Plan> plan, KernelLookup lookup, const Graph &graph, const ExecOptions &options,
        int threads)
      : plan(std::move(plan)), lookup(std::move(lookup)), graph(graph), options(options), threads(threads) {}

  Status prepare();
  Status prepareStep(size_t index, LaunchCut &cut);
  void prepareInputs();
  const TableSpec &table(int index) const { return plan->tables[index]; }
  int64_t rowsOf(const TableSpec &spec) const { return numbers.rows[spec.domain]; }

  Status copyInput(const Port &port, Input &input, const Tensor &tensor);
  bool isRunning(Phase phase, Phase first, Phase last) const;
  Status checkInputs(Phase first, Phase last) const;
  void launch(Runnable &runnable);
  void poisonBefore(Phase first, Phase last);
  void poisonAfter(size_t step);
};

// --- making one -----------------------------------------------------------------------------------------------------

Result<MemoryPlan> memoryFor(const Plan &plan, const Graph &graph, int threads, const InputTensors &inputs) {
  ThreadLimit limit(threads > 0 ? threads : numThreads());
  Result<Fitting> fitting = Fitting::make(plan, graph, numThreads(), inputs);
  if (!fitting)
    return std::move(fitting).status();
  return std::move(fitting->memory);
}

Status Executor::State::prepare() {
  Result<Fitting> fitting = Fitting::make(*plan, graph, threads);
  if (!fitting)
    return std::move(fitting).status();
  numbers = fitting->numbers;
  memory = std::move(fitting->memory);
  if (Status status = checkMemory(*plan, numbers, memory, options.memoryLimit); !status.isOk())
    return status;

  arena.allocate(memory.arenaBytes);
  if (options.poison)
    fillWithNaN(arena.data(), memory.arenaBytes);
  addresses.resize(plan->tables.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    addresses[i] = arena.data() + memory.tables[i].block.offset;
  kept.reserve(plan->tables.size());

  outside.resize(plan->tables.size());
  for (const std::vector<Port> *ports : {&plan->inputs, &plan->outputs})
    for (const Port &port : *ports)
      if (std::optional<Form> form = outsideRows(table(port.table))) {
        Result<const IdArray *> rows = resolve(graph, *form);
        if (!rows)
          return std::move(rows).status();
        outside[port.table] = isMoved(table(port.table), numbers) ? *rows : nullptr;
      }
  steps.resize(plan->steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    if (Status status = prepareStep(i, fitting->cuts[i]); !status.isOk())
      return status;
  prepareInputs();
  return Status::ok();
}

Status Executor::State::prepareStep(size_t index, LaunchCut &cut) {
  const Launch &launch = plan->steps[index].launch;
  const MemoryPlan::Launch &needs = memory.launches[index];
  Runnable &runnable = steps[index];
  auto find = [&](const std::string &symbol) -> Result<void *> {
    if (void *function = lookup(symbol))
      return function;
    return Status::failed("the compiled code of " + inTicks(plan->name) + " has no function " + inTicks(symbol));
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
    const int64_t targets = numbers.rows[launch.totals[i].target];
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
  frame.rows = numbers.rows.data();
  frame.grain = runnable.pieces.grain;
  frame.pieces = runnable.pieces.count;
  return Status::ok();
}

void Executor::State::prepareInputs() {
  inputs.resize(plan->inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int mine = plan->inputs[i].table;
    inputs[i].isMoved = outside[mine] != nullptr;
    for (const Step &step : plan->steps)
      inputs[i].isRead[at(step.phase)] |= std::count(step.launch.inputs.begin(), step.launch.inputs.end(), mine) > 0;
  }
}

Executor::Executor(std::unique_ptr<State> state) : state(std::move(state)) {}
Executor::Executor(Executor &&) noexcept = default;
Executor &Executor::operator=(Executor &&) noexcept = default;
Executor::~Executor() = default;

Result<Executor> Executor::create(std::shared_ptr<const Plan> plan, KernelLookup lookup, const Graph &graph,
                                  const ExecOptions &options) {
  ThreadLimit limit(options.threads > 0 ? options.threads : numThreads());
  auto state = std::make_unique<State>(std::move(plan), std::move(lookup), graph, options, numThreads());
  if (Status status = state->prepare(); !status.isOk())
    return status;
  return Executor(std::move(state));
}

// --- inputs and outputs ---------------------------------------------------------------------------------------------

Status Executor::State::copyInput(const Port &port, Input &input, const Tensor &tensor) {
  const TableSpec &spec = table(port.table);
  if (!input.copy.isAllocated()) {
    const int64_t bytes = tableBytes(spec, numbers), more = input.isMoved ? 0 : bytes;
    const int64_t peak = memory.peakBytes() + copiedBytes;
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
  copyIn(tensor, outside[port.table], rowsOf(spec), spec.rowSize(), spec.storage, input.copy.data());
  addresses[port.table] = input.copy.data();
  input.owner.reset();
  return Status::ok();
}

Status Executor::setInput(std::string_view name, const Tensor &tensor) {
  const Plan &plan = *state->plan;
  const Port *port = findPort(plan.inputs, name);
  if (!port)
    return Status::invalid(inTicks(plan.name) + " has no input " + inTicks(name) + "; its inputs are " +
                           listNames(plan.inputs));
  const TableSpec &spec = state->table(port->table);
  const int64_t rows = state->rowsOf(spec);
  if (!hasShape(tensor, spec, rows)) {
    const std::string count = spec.domain == Domain::One ? "" : " for " + counted(rows, rowWord(spec.domain));
    return Status::invalid("input " + inTicks(name) + " has shape " + formatShape(tensor.shape) + ", but needs " +
                           formatShape(tensorShape(spec, rows)) + count);
  }
  if (spec.storage == Storage::Index && !isInteger(tensor.dtype))
    return Status::invalid("input " + inTicks(name) + " is " + std::string(hector::name(tensor.dtype)) +
                           ", but holds row numbers, which are integers");
  if (!tensor.bytes && tensor.numElements() > 0)
    return Status::invalid("input " + inTicks(name) + " has shape " + formatShape(tensor.shape) + ", but no numbers");

  State::Input &input = state->inputs[static_cast<size_t>(port - plan.inputs.data())];
  ThreadLimit limit(state->threads);
  if (!input.isMoved && isStoredAs(spec.storage, tensor)) {
    input.owner = tensor.owner;
    // Kernels are given all tables as void *, but no step writes an input: `checkPlan`.
    state->addresses[port->table] = const_cast<std::byte *>(tensor.bytes);
  } else if (Status status = state->copyInput(*port, input, tensor); !status.isOk()) {
    return status;
  }
  input.isSet = true;
  state->areWeightsDue |= input.isRead[at(Phase::Weights)];
  if (input.isRead[at(Phase::Weights)] || input.isRead[at(Phase::Forward)])
    state->hasForward = false;
  return Status::ok();
}

Result<TableView> Executor::view(std::string_view name) const {
  const Plan &plan = *state->plan;
  const Port *port = findPort(plan.outputs, name);
  if (!port)
    return Status::invalid(inTicks(plan.name) + " has no output " + inTicks(name) + "; its outputs are " +
                           listNames(plan.outputs));
  const int firstWrite = state->memory.tables[port->table].firstWrite;
  if (firstWrite >= 0) {
    const Phase phase = plan.steps[firstWrite].phase;
    if (!state->isDone[at(phase)])
      return Status::invalid("output " + inTicks(name) + " is not computed yet; run the " + kPhaseNames[at(phase)] +
                             " phase first");
  } else {
    auto input =
        std::find_if(plan.inputs.begin(), plan.inputs.end(), [&](const Port &p) { return p.table == port->table; });
    if (!state->inputs[static_cast<size_t>(input - plan.inputs.begin())].isSet)
      return Status::invalid("output " + inTicks(name) + " is input " + inTicks(input->name) + ", which is not set");
  }
  const TableSpec &spec = state->table(port->table);
  return TableView{state->addresses[port->table], &spec, state->rowsOf(spec)};
}

Result<Tensor> Executor::output(std::string_view name) const {
  Result<TableView> found = view(name);
  if (!found)
    return std::move(found).status();
  const TableSpec &spec = *found->spec;
  Tensor tensor;
  tensor.dtype = spec.storage == Storage::F64 ? DType::F64 : DType::F32;
  tensor.shape = tensorShape(spec, found->rows);
  const auto bytes = static_cast<int64_t>(tensor.numBytes());
  if (Status status = requireMemory("output " + inTicks(name), bytes); !status.isOk())
    return status;
  auto memory = std::make_shared<BigVector<std::byte>>(static_cast<size_t>(bytes));
  const auto index = static_cast<size_t>(&spec - state->plan->tables.data());
  ThreadLimit limit(state->threads);
  copyOut(static_cast<const std::byte *>(found->data), spec.storage, state->outside[index], found->rows, spec.rowSize(),
          tensor.dtype, memory->data());
  tensor.bytes = memory->data();
  tensor.owner = std::move(memory);
  return tensor;
}

int64_t Executor::peakBytes() const {
  return state->memory.peakBytes() + state->copiedBytes;
}

const MemoryPlan &Executor::memory() const {
  return state->memory;
}

// --- running --------------------------------------------------------------------------------------------------------

void Executor::setTraining(uint64_t seed, uint64_t step) {
  state->isTraining = true;
  state->seed = seed;
  state->step = step;
}

void Executor::setInference() {
  state->isTraining = false;
}

/// Whether the steps of a phase take part in a run.
bool Executor::State::isRunning(Phase phase, Phase first, Phase last) const {
  if (phase > last)
    return false;
  if (phase >= Phase::Forward)
    return phase >= first;
  return !isDone[at(phase)] || (phase == Phase::Weights && areWeightsDue);
}

Status Executor::State::checkInputs(Phase first, Phase last) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t phase = 0; phase < kNumPhases; ++phase)
      if (!inputs[i].isSet && inputs[i].isRead[phase] && isRunning(static_cast<Phase>(phase), first, last))
        return Status::invalid("there is no tensor for input " + inTicks(plan->inputs[i].name) + ", which the " +
                               kPhaseNames[phase] + " phase reads");
  return Status::ok();
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

/// Fills the arena, except for what earlier runs have left for this one and for the caller.
void Executor::State::poisonBefore(Phase first, Phase last) {
  kept.clear();
  for (const MemoryPlan::Table &table : memory.tables) {
    if (table.firstWrite < 0 || table.block.bytes == 0)
      continue;
    const Phase phase = plan->steps[table.firstWrite].phase;
    // What Forward has left for Backward, which may be run alone.
    const bool isLeft =
        table.isKept || (hasForward && phase == Phase::Forward && plan->steps[table.lastUse].phase == Phase::Backward);
    if (isLeft && isDone[at(phase)] && !isRunning(phase, first, last))
      kept.push_back(table.block);
  }
  std::sort(kept.begin(), kept.end(), [](const Block &a, const Block &b) { return a.offset < b.offset; });
  int64_t filled = 0;
  for (const Block &block : kept) {
    fillWithNaN(arena.data() + filled, std::max<int64_t>(block.offset - filled, 0));
    filled = std::max(filled, block.offset + block.bytes);
  }
  fillWithNaN(arena.data() + filled, memory.arenaBytes - filled);
}

/// Fills what nothing needs after a step.
void Executor::State::poisonAfter(size_t step) {
  auto fill = [&](const Block &block) { fillWithNaN(arena.data() + block.offset, block.bytes); };
  for (const MemoryPlan::Table &table : memory.tables)
    if (!table.isKept && table.lastUse == static_cast<int>(step))
      fill(table.block);
  for (const Block &total : memory.launches[step].totals)
    fill(total);
  fill(memory.launches[step].scratch);
}

Status Executor::run(Phase first, Phase last) {
  State &s = *state;
  const Plan &plan = *s.plan;
  if (first > last)
    return Status::invalid(std::string("the phases from ") + kPhaseNames[at(first)] + " to " + kPhaseNames[at(last)] +
                           " are none; they run in the order graph, weights, forward, backward");
  if (first == Phase::Backward && !s.hasForward)
    return Status::invalid("the backward phase needs a forward run of its own, with the inputs that are set now");
  if (Status status = s.checkInputs(first, last); !status.isOk())
    return status;

  ThreadLimit limit(s.threads);
  if (s.options.poison)
    s.poisonBefore(first, last);
  for (size_t i = 0; i < s.steps.size(); ++i) {
    const Launch &launch = plan.steps[i].launch;
    State::Runnable &step = s.steps[i];
    auto place = step.tables.begin();
    for (const std::vector<int> *tables : {&launch.inputs, &launch.outputs})
      for (int table : *tables)
        *place++ = s.addresses[table];
    step.frame.isTraining = s.isTraining;
    step.frame.seed = s.seed;
    step.frame.step = s.step;
  }
  size_t i = 0;
  for (size_t p = 0; p < kNumPhases; ++p) {
    const auto phase = static_cast<Phase>(p);
    const bool runs = s.isRunning(phase, first, last);
    if (runs) {
      // What later phases have computed came from what is now replaced.
      std::fill(s.isDone.begin() + static_cast<int64_t>(p), s.isDone.end(), false);
      s.hasForward = false;
    }
    for (; i < plan.steps.size() && plan.steps[i].phase == phase; ++i) {
      if (!runs)
        continue;
      if (interruptSignal())
        return Status::failed("interrupted");
      s.launch(s.steps[i]);
      if (s.options.poison)
        s.poisonAfter(i);
    }
    if (!runs)
      continue;
    s.isDone[p] = true;
    s.hasForward = phase == Phase::Forward;
    if (phase == Phase::Weights)
      s.areWeightsDue = false;
  }
  return Status::ok();
}

}  // namespace hector::exec
