#include "runtime/exec/Session.h"

#include "runtime/base/Text.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hector::exec {

namespace {

constexpr std::array<const char *, kNumPhases> kPhaseNames = {"graph", "weights", "forward", "backward"};

size_t at(Phase phase) {
  return static_cast<size_t>(phase);
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

}  // namespace

// --- making one -----------------------------------------------------------------------------------------------------

Status checkFit(const Plan &plan, const Graph &graph, Target target) {
  if (Status status = checkPlan(plan); !status.isOk())
    return status;
  const bool isForGpu = isForDevices(plan);
  if (!plan.steps.empty() && isForGpu != (target == Target::Device))
    return Status::invalid("the plan of " + inTicks(plan.name) + " was compiled for " +
                           (isForGpu ? "a GPU" : "the CPU") + ", but is to run on " + (isForGpu ? "the CPU" : "a GPU") +
                           "; compile it for that");
  for (Side side : plan.relationEnds)
    if (Result<const IdArray *> types = resolve(graph, {.kind = FormKind::RelationType, .side = side}); !types)
      return Status::invalid("the plan of " + inTicks(plan.name) + " is for graphs whose relations have " +
                             (side == Side::Source ? "sources" : "destinations") +
                             " of one node type each: " + types.status().message() + "; compile it for this graph");
  if (plan.wideIds != needsWideIds(graph))
    return Status::invalid("the plan of " + inTicks(plan.name) + " was compiled for ids of " +
                           (plan.wideIds ? "64" : "32") + " bits, but those of the graph have " +
                           (plan.wideIds ? "32" : "64") + "; compile it for this graph");
  return Status::ok();
}

Session::Session(std::shared_ptr<const Plan> plan, const GraphNumbers &numbers, MemoryPlan memory)
    : sharedPlan(std::move(plan)), graphNumbers(numbers), memoryPlan(std::move(memory)) {
  size_t most = sharedPlan->tables.size() + 1;  // what lies between tables, and after the last
  for (const MemoryPlan::Launch &launch : memoryPlan.launches)
    most = std::max(most, sharedPlan->tables.size() + launch.totals.size() + launch.buffers.size() + 2);
  kept.reserve(most);
  unneeded.reserve(most);
}

Result<Session> Session::create(std::shared_ptr<const Plan> plan, const Graph &graph, const GraphNumbers &numbers,
                                MemoryPlan memory) {
  Session session(std::move(plan), numbers, std::move(memory));
  if (Status status = session.findOutside(graph); !status.isOk())
    return status;
  session.noteReaders();
  return session;
}

Status Session::findOutside(const Graph &graph) {
  outsideOf.resize(sharedPlan->tables.size());
  for (const std::vector<Port> *ports : {&sharedPlan->inputs, &sharedPlan->outputs})
    for (const Port &port : *ports)
      if (std::optional<Form> form = outsideRows(table(port.table))) {
        Result<const IdArray *> rows = resolve(graph, *form);
        if (!rows)
          return std::move(rows).status();
        const bool staysInPlace = graphNumbers.isSortedByType && table(port.table).order == Order::ByType;
        if (!staysInPlace)
          outsideOf[port.table] = **rows;
      }
  return Status::ok();
}

void Session::noteReaders() {
  inputs.resize(sharedPlan->inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int mine = sharedPlan->inputs[i].table;
    for (const Step &step : sharedPlan->steps)
      inputs[i].isRead[at(step.phase)] |= std::count(step.launch.inputs.begin(), step.launch.inputs.end(), mine) > 0;
  }
}

// --- inputs and outputs ---------------------------------------------------------------------------------------------

Result<size_t> Session::findInput(std::string_view name, const Tensor &tensor) const {
  const Port *port = findPort(sharedPlan->inputs, name);
  if (!port)
    return Status::invalid(inTicks(sharedPlan->name) + " has no input " + inTicks(name) + "; its inputs are " +
                           listNames(sharedPlan->inputs));
  const TableSpec &spec = table(port->table);
  const int64_t rows = rowsOf(port->table);
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
  return static_cast<size_t>(port - sharedPlan->inputs.data());
}

bool Session::isStoredAsIs(const Tensor &tensor, int index) const {
  return !outside(index) && isStoredAs(table(index).storage, tensor.dtype);
}

void Session::noteInput(size_t input) {
  Input &mine = inputs[input];
  mine.isSet = true;
  areWeightsDue |= mine.isRead[at(Phase::Weights)];
  if (mine.isRead[at(Phase::Weights)] || mine.isRead[at(Phase::Forward)])
    hasForward = false;
}

Result<int> Session::findSetInput(std::string_view name) const {
  const Port *port = findPort(sharedPlan->inputs, name);
  if (!port || !inputs[static_cast<size_t>(port - sharedPlan->inputs.data())].isSet)
    return Status::invalid(inTicks(sharedPlan->name) + " has no input " + inTicks(name) + " that is set");
  return port->table;
}

Result<int> Session::tableOfOutput(std::string_view name) const {
  if (const Port *port = findPort(sharedPlan->outputs, name))
    return port->table;
  return Status::invalid(inTicks(sharedPlan->name) + " has no output " + inTicks(name) + "; its outputs are " +
                         listNames(sharedPlan->outputs));
}

Result<int> Session::findOutput(std::string_view name) const {
  const Plan &plan = *sharedPlan;
  Result<int> found = tableOfOutput(name);
  if (!found)
    return found;
  const int index = *found, firstWrite = memoryPlan.tables[index].firstWrite;
  if (firstWrite >= 0) {
    const Phase phase = plan.steps[firstWrite].phase;
    if (!isDone[at(phase)])
      return Status::invalid("output " + inTicks(name) + " is not computed yet; run the " + kPhaseNames[at(phase)] +
                             " phase first");
  } else {
    auto input = std::find_if(plan.inputs.begin(), plan.inputs.end(), [&](const Port &p) { return p.table == index; });
    if (!inputs[static_cast<size_t>(input - plan.inputs.begin())].isSet)
      return Status::invalid("output " + inTicks(name) + " is input " + inTicks(input->name) + ", which is not set");
  }
  return index;
}

Tensor Session::describeOutput(int index) const {
  Tensor tensor;
  tensor.dtype = table(index).storage == Storage::F64 ? DType::F64 : DType::F32;
  tensor.shape = tensorShape(table(index), rowsOf(index));
  return tensor;
}

// --- running --------------------------------------------------------------------------------------------------------

bool Session::isRunning(Phase phase, Phase first, Phase last) const {
  if (phase > last)
    return false;
  if (phase >= Phase::Forward)
    return phase >= first;
  return !isDone[at(phase)] || (phase == Phase::Weights && areWeightsDue);
}

Status Session::checkRun(Phase first, Phase last) const {
  if (first > last)
    return Status::invalid(std::string("the phases from ") + kPhaseNames[at(first)] + " to " + kPhaseNames[at(last)] +
                           " are none; they run in the order graph, weights, forward, backward");
  if (first == Phase::Backward && !hasForward)
    return Status::invalid("the backward phase needs a forward run of its own, with the inputs that are set now");
  for (size_t i = 0; i < inputs.size(); ++i)
    for (Phase phase : kPhases)
      if (!inputs[i].isSet && inputs[i].isRead[at(phase)] && isRunning(phase, first, last))
        return Status::invalid("there is no tensor for input " + inTicks(sharedPlan->inputs[i].name) + ", which the " +
                               kPhaseNames[at(phase)] + " phase reads");
  return Status::ok();
}

Session::Steps Session::stepsOf(Phase phase) const {
  const std::vector<Step> &steps = sharedPlan->steps;
  auto isBefore = [](const Step &step, Phase phase) { return step.phase < phase; };
  auto isAfter = [](Phase phase, const Step &step) { return phase < step.phase; };
  auto begin = std::lower_bound(steps.begin(), steps.end(), phase, isBefore);
  auto end = std::upper_bound(begin, steps.end(), phase, isAfter);
  return {static_cast<size_t>(begin - steps.begin()), static_cast<size_t>(end - steps.begin())};
}

void Session::beginPhase(Phase phase) {
  std::fill(isDone.begin() + static_cast<int64_t>(at(phase)), isDone.end(), false);
  hasForward = false;
}

void Session::endPhase(Phase phase) {
  isDone[at(phase)] = true;
  hasForward = phase == Phase::Forward;
  if (phase == Phase::Weights)
    areWeightsDue = false;
}

// --- poison ---------------------------------------------------------------------------------------------------------

std::span<const Block> Session::unneededBefore(Phase first, Phase last) {
  kept.clear();
  for (const MemoryPlan::Table &table : memoryPlan.tables) {
    if (table.firstWrite < 0 || table.block.bytes == 0)
      continue;
    const Phase phase = sharedPlan->steps[table.firstWrite].phase;
    // What Forward has left for Backward, which may be run alone.
    const bool isLeft = table.isKept || (hasForward && phase == Phase::Forward &&
                                         sharedPlan->steps[table.lastUse].phase == Phase::Backward);
    if (isLeft && isDone[at(phase)] && !isRunning(phase, first, last))
      kept.push_back(table.block);
  }
  std::sort(kept.begin(), kept.end(), [](const Block &a, const Block &b) { return a.offset < b.offset; });
  unneeded.clear();
  int64_t end = 0;  // of what has been seen
  auto addUpTo = [&](int64_t next) {
    if (next > end)
      unneeded.push_back({.bytes = next - end, .offset = end});
  };
  for (const Block &block : kept) {
    addUpTo(block.offset);
    end = std::max(end, block.offset + block.bytes);
  }
  addUpTo(memoryPlan.arenaBytes);
  return unneeded;
}

std::span<const Block> Session::unneededAfter(size_t step) {
  unneeded.clear();
  for (const MemoryPlan::Table &table : memoryPlan.tables)
    if (!table.isKept && table.lastUse == static_cast<int>(step))
      unneeded.push_back(table.block);
  const MemoryPlan::Launch &launch = memoryPlan.launches[step];
  unneeded.insert(unneeded.end(), launch.totals.begin(), launch.totals.end());
  unneeded.insert(unneeded.end(), launch.buffers.begin(), launch.buffers.end());
  unneeded.push_back(launch.carry);
  unneeded.push_back(launch.scratch);
  return unneeded;
}

}  // namespace hector::exec
