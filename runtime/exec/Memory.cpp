#include "runtime/exec/Memory.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/exec/Transfer.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

namespace hector::exec {

static constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();
static constexpr int64_t kAlignment = 64;  // a line of a CPU's caches

static int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kTooMany : sum;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kTooMany : product;
}

/// The rows in which the pieces of a launch, or its rows, leave their parts of a total.
static int64_t rowsOfTotal(TotalSpec::Slots slots, int64_t pieces, int64_t targets, int64_t rows) {
  switch (slots) {
  case TotalSpec::Slots::Sorted:
    return add(pieces, targets);
  case TotalSpec::Slots::Full:
    return multiply(pieces, targets);
  case TotalSpec::Slots::Rows:
    return rows;
  }
  return 0;
}

static int64_t alignUp(int64_t bytes, int64_t alignment) {
  return bytes > kTooMany - alignment ? kTooMany : (bytes + alignment - 1) / alignment * alignment;
}

// --- index arrays ---------------------------------------------------------------------------------------------------

namespace {

/// Follows how `Graph` builds its forms, and counts what they leave there.
class FormCounter {
public:
  explicit FormCounter(const GraphNumbers &graph) : graph(graph) {}

  void need(const Form &form) {
    const int64_t edges = rows(Domain::Edge), nodes = rows(Domain::Node), relations = rows(Domain::EdgeType);
    const int64_t pairs = rows(form.side == Side::Source ? Domain::SrcPair : Domain::DstPair);
    auto sided = [&](FormKind kind) { return Form{.kind = kind, .side = form.side}; };
    switch (form.kind) {
    case FormKind::Edges:
      return count(form, {nodes + 1, edges});
    case FormKind::Places:
      need(sided(FormKind::Edges));
      need(sided(FormKind::PairNode));
      return count(form, {nodes + 1, pairs, pairs, pairs + 1, pairs});
    case FormKind::PlaceEdges:
    case FormKind::PlacePair:
    case FormKind::PairPlace:
    case FormKind::PlaceType:
      return need(sided(FormKind::Places));
    case FormKind::PairNode:
      return count(form, {pairs, pairs, edges, relations + 1});
    case FormKind::PairType:
      return need(sided(FormKind::PairNode));
    case FormKind::PairFirst:
      need(sided(FormKind::PairNode));
      return count(form, {pairs});
    case FormKind::PlaceNode:
      need(sided(FormKind::Places));
      return count(form, {pairs});
    case FormKind::EdgeColumn:
      return needColumn(form);
    case FormKind::EdgeRow:
      return needRows(form);
    case FormKind::NodeType:
      return count(form, {nodes});
    case FormKind::RelationType:
      return count(form, {relations});
    case FormKind::Types:
      if (form.types == TileRows::SrcPairs || form.types == TileRows::DstPairs)
        return need(
            {.kind = FormKind::PairNode, .side = form.types == TileRows::SrcPairs ? Side::Source : Side::Destination});
      return count(form, {rows(form.types == TileRows::Nodes ? Domain::NodeType : Domain::EdgeType) + 1});
    }
  }

  int64_t bytes() const { return multiply(entries, graph.wideIds ? 8 : 4); }

private:
  int64_t rows(Domain domain) const { return graph.rows[domain]; }

  void count(const Form &form, std::initializer_list<int64_t> sizes) {
    if (counted.insert(form).second)
      for (int64_t size : sizes)
        entries = add(entries, size);
  }

  /// File where it is another order than Type.
  EdgeOrder canonical(EdgeOrder order) const {
    return graph.isSortedByType && order == EdgeOrder::File ? EdgeOrder::Type : order;
  }

  void needRows(const Form &form) {
    const EdgeOrder from = canonical(form.from), to = canonical(form.to);
    auto permutation = [](EdgeOrder from, EdgeOrder to) {
      return Form{.kind = FormKind::EdgeRow, .from = from, .to = to};
    };
    if (from == to)
      return count(permutation(EdgeOrder::File, EdgeOrder::File), {rows(Domain::Edge)});
    if (from == EdgeOrder::File && to == EdgeOrder::Type)
      return;  // the numbers of the edges
    if (from == EdgeOrder::Type && to != EdgeOrder::File)
      return need({.kind = FormKind::Edges, .side = to == EdgeOrder::Source ? Side::Source : Side::Destination});
    if (from == EdgeOrder::Type || to == EdgeOrder::Type) {
      need(permutation(to, from));
    } else {
      need(permutation(from, EdgeOrder::Type));
      need(permutation(EdgeOrder::Type, to));
    }
    count(permutation(from, to), {rows(Domain::Edge)});
  }

  void needColumn(const Form &form) {
    const EdgeOrder order = canonical(form.to);
    const bool isSource = form.column == EdgeColumn::SrcPair || form.column == EdgeColumn::SrcPairByNode;
    const Side side = isSource ? Side::Source : Side::Destination;
    const Form own = {.kind = FormKind::EdgeColumn, .column = form.column, .to = EdgeOrder::Type};
    if (order != EdgeOrder::Type) {
      need(own);
      need({.kind = FormKind::EdgeRow, .from = EdgeOrder::Type, .to = order});
      return count({.kind = FormKind::EdgeColumn, .column = form.column, .to = order}, {rows(Domain::Edge)});
    }
    switch (form.column) {
    case EdgeColumn::Source:
    case EdgeColumn::Destination:
    case EdgeColumn::Type:
      return;  // the graph's own
    case EdgeColumn::SrcPair:
    case EdgeColumn::DstPair:
      return need({.kind = FormKind::PairNode, .side = side});
    case EdgeColumn::SrcPairByNode:
    case EdgeColumn::DstPairByNode:
      need({.kind = FormKind::Places, .side = side});
      return count(own, {rows(Domain::Edge)});
    }
  }

  const GraphNumbers &graph;
  std::set<Form> counted;
  int64_t entries = 0;
};

/// Whether a form is made from pairs.
bool asksForPairs(const Form &form) {
  switch (form.kind) {
  case FormKind::Edges:
  case FormKind::EdgeRow:
  case FormKind::NodeType:
  case FormKind::RelationType:
    return false;
  case FormKind::EdgeColumn:
    return form.column >= EdgeColumn::SrcPair;
  case FormKind::Types:
    return form.types == TileRows::SrcPairs || form.types == TileRows::DstPairs;
  default:
    return true;
  }
}

/// The end whose pairs a form is made from.
Side pairSide(const Form &form) {
  if (form.kind == FormKind::EdgeColumn)
    return form.column == EdgeColumn::SrcPair || form.column == EdgeColumn::SrcPairByNode ? Side::Source
                                                                                          : Side::Destination;
  if (form.kind == FormKind::Types)
    return form.types == TileRows::SrcPairs ? Side::Source : Side::Destination;
  return form.side;
}

}  // namespace

std::vector<Form> formsOf(const Plan &plan) {
  std::set<Form> forms;
  for (const Step &step : plan.steps) {
    forms.insert(step.launch.forms.begin(), step.launch.forms.end());
    if (step.launch.balance)
      forms.insert(*step.launch.balance);
    if (std::optional<Form> offsets = scratchOffsets(step.launch))
      forms.insert(*offsets);
  }
  for (const std::vector<Port> *ports : {&plan.inputs, &plan.outputs})
    for (const Port &port : *ports)
      if (std::optional<Form> rows = outsideRows(plan.tables[port.table]))
        forms.insert(*rows);
  return {forms.begin(), forms.end()};
}

std::vector<Form> formsOfKernels(const Plan &plan) {
  std::set<Form> forms;
  for (const Step &step : plan.steps)
    forms.insert(step.launch.forms.begin(), step.launch.forms.end());
  return {forms.begin(), forms.end()};
}

int64_t arrayBytes(const Form &form, const GraphNumbers &graph) {
  auto rows = [&]() -> int64_t {
    if (std::optional<Domain> domain = offsetsOf(form))
      return graph.rows[*domain] + 1;
    switch (form.kind) {
    case FormKind::EdgeColumn:
    case FormKind::EdgeRow:
      return graph.rows[Domain::Edge];
    case FormKind::NodeType:
      return graph.rows[Domain::Node];
    case FormKind::RelationType:
      return graph.rows[Domain::EdgeType];
    default:
      return graph.rows[form.side == Side::Source ? Domain::SrcPair : Domain::DstPair];
    }
  };
  return multiply(rows(), graph.wideIds ? 8 : 4);
}

int64_t formBytes(std::span<const Form> forms, const GraphNumbers &graph) {
  FormCounter counter(graph);
  for (const Form &form : forms)
    counter.need(form);
  return counter.bytes();
}

GraphNumbers graphNumbers(const Plan &plan, const Graph &graph) {
  bool asks[2] = {};  // by side
  auto needDomain = [&](Domain domain) {
    asks[0] |= domain == Domain::SrcPair;
    asks[1] |= domain == Domain::DstPair;
  };
  for (const TableSpec &table : plan.tables)
    needDomain(table.domain);
  for (const Step &step : plan.steps) {
    needDomain(step.launch.domain);
    for (const TotalSpec &total : step.launch.totals)
      needDomain(total.target);
    if (step.launch.device) {
      needDomain(step.launch.device->rows);
      for (const TableSpec &buffer : step.launch.device->buffers)
        needDomain(buffer.domain);
    }
  }
  for (const Form &form : formsOf(plan))
    if (asksForPairs(form))
      asks[static_cast<size_t>(pairSide(form))] = true;

  GraphNumbers numbers;
  numbers.rows[Domain::One] = 1;
  numbers.rows[Domain::NodeType] = graph.numNodeTypes();
  numbers.rows[Domain::EdgeType] = graph.numRelations();
  numbers.rows[Domain::Node] = graph.numNodes();
  numbers.rows[Domain::SrcPair] = asks[0] ? graph.srcPairs().count() : 0;
  numbers.rows[Domain::DstPair] = asks[1] ? graph.dstPairs().count() : 0;
  numbers.rows[Domain::Edge] = graph.numEdges();
  numbers.wideIds = needsWideIds(graph);
  numbers.isSortedByType = graph.edgeNumbers().size() == 0;
  return numbers;
}

// --- the arena ------------------------------------------------------------------------------------------------------

int64_t placeBlocks(std::span<Block> blocks, int64_t alignment) {
  std::vector<size_t> bySize(blocks.size());
  std::iota(bySize.begin(), bySize.end(), 0);
  std::sort(bySize.begin(), bySize.end(), [&](size_t a, size_t b) {
    return blocks[a].bytes != blocks[b].bytes ? blocks[a].bytes > blocks[b].bytes : a < b;
  });
  int64_t end = 0;
  std::vector<size_t> placed;  // by rising offset
  for (size_t i : bySize) {
    Block &block = blocks[i];
    if (block.bytes == 0)
      continue;
    int64_t best = -1, bestGap = kTooMany, free = 0;  // `free`: where the blocks before a gap end
    for (size_t j : placed) {
      const Block &other = blocks[j];
      if (other.last < block.first || block.last < other.first)
        continue;
      const int64_t gap = other.offset - free;
      if (gap >= block.bytes && gap < bestGap) {
        best = free;
        bestGap = gap;
      }
      free = std::max(free, alignUp(add(other.offset, other.bytes), alignment));
    }
    block.offset = best >= 0 ? best : free;
    end = std::max(end, add(block.offset, block.bytes));
    auto after = std::upper_bound(placed.begin(), placed.end(), block.offset,
                                  [&](int64_t offset, size_t j) { return offset < blocks[j].offset; });
    placed.insert(after, i);
  }
  return end;
}

int64_t tableBytes(const TableSpec &table, const GraphNumbers &graph) {
  const int64_t rows = graph.rows[table.domain];
  return rows == 0 ? 0 : multiply(multiply(table.rowSize(), byteSize(table.storage)), rows);
}

int64_t MemoryPlan::peakBytes() const {
  return add(add(arenaBytes, graphBytes), add(indexBytes, inputBytes));
}

std::vector<MemoryPlan::Table> findLifetimes(const Plan &plan) {
  std::vector<MemoryPlan::Table> tables(plan.tables.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step &step = plan.steps[i];
    for (int table : step.launch.inputs)
      tables[table].lastUse = static_cast<int>(i);
    for (int table : step.launch.outputs) {
      tables[table].lastUse = static_cast<int>(i);
      if (tables[table].firstWrite < 0)
        tables[table].firstWrite = static_cast<int>(i);
      tables[table].isKept |= step.phase < Phase::Forward;
    }
  }
  for (const std::vector<Port> *ports : {&plan.inputs, &plan.outputs})
    for (const Port &port : *ports)
      tables[port.table].isKept = true;
  return tables;
}

bool isMoved(const TableSpec &table, const GraphNumbers &graph) {
  return outsideRows(table) && !(graph.isSortedByType && table.order == Order::ByType);
}

std::vector<bool> findOutside(const Plan &plan, const GraphNumbers &graph) {
  const std::vector<MemoryPlan::Table> lifetimes = findLifetimes(plan);
  std::vector<bool> isOutside(plan.tables.size());
  for (const Port &output : plan.outputs) {
    const TableSpec &table = plan.tables[output.table];
    const int firstWrite = lifetimes[output.table].firstWrite;
    const auto sharers = std::count_if(plan.outputs.begin(), plan.outputs.end(),
                                       [&](const Port &other) { return other.table == output.table; });
    isOutside[output.table] = firstWrite >= 0 && plan.steps[firstWrite].phase >= Phase::Forward && sharers == 1 &&
                              !isMoved(table, graph) &&
                              (table.storage == Storage::F32 || table.storage == Storage::F64);
  }
  return isOutside;
}

/// The arena. Tables with `isOutside` have no place in it.
static MemoryPlan layOut(const Plan &plan, const GraphNumbers &graph, std::span<const LaunchNumbers> launches,
                         int threads, int64_t alignment, const std::vector<bool> &isOutside = {},
                         Places places = Places::Shared) {
  MemoryPlan memory;
  memory.tables = findLifetimes(plan);
  memory.launches.resize(plan.steps.size());
  const int lastStep = static_cast<int>(plan.steps.size()) - 1;
  std::vector<Block *> all;
  for (size_t i = 0; i < plan.tables.size(); ++i) {
    MemoryPlan::Table &table = memory.tables[i];
    if (table.firstWrite < 0 || (!isOutside.empty() && isOutside[i]))
      continue;
    table.block.bytes = tableBytes(plan.tables[i], graph);
    // What earlier phases leave is there in every run. A result of the last two is written again in each.
    const bool isLeft = plan.steps[table.firstWrite].phase < Phase::Forward;
    table.block.first = isLeft ? 0 : table.firstWrite;
    table.block.last = table.isKept ? lastStep : table.lastUse;
    all.push_back(&table.block);
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Launch &launch = plan.steps[i].launch;
    const auto step = static_cast<int>(i);
    MemoryPlan::Launch &needs = memory.launches[i];
    needs.totals.reserve(launch.totals.size());
    for (const TotalSpec &total : launch.totals) {
      const int64_t targets = graph.rows[total.target], pieces = launches[i].pieces;
      needs.totals.push_back(
          {multiply(rowsOfTotal(total.slots, pieces, targets, graph.rows[launch.domain]), total.rowBytes), step, step});
      all.push_back(&needs.totals.back());
    }
    if (launch.device) {
      needs.buffers.reserve(launch.device->buffers.size());
      for (const TableSpec &buffer : launch.device->buffers) {
        needs.buffers.push_back({tableBytes(buffer, graph), step, step});
        all.push_back(&needs.buffers.back());
      }
      // Two parts for each block of chunks.
      needs.carry = {multiply(launches[i].pieces, 2 * launch.device->lanes * launch.device->partBytes), step, step};
      all.push_back(&needs.carry);
    }
    needs.scratchPerThread =
        alignUp(add(launch.scratch.bytes, multiply(launch.scratch.bytesPerRow, launches[i].longestUnit)), alignment);
    needs.scratch = {multiply(needs.scratchPerThread, std::min<int64_t>(threads, launches[i].pieces)), step, step};
    all.push_back(&needs.scratch);
  }

  std::vector<Block> blocks;
  for (const Block *block : all) {
    blocks.push_back(*block);
    if (places == Places::Own) {
      blocks.back().first = 0;
      blocks.back().last = lastStep;
    }
  }
  memory.arenaBytes = placeBlocks(blocks, alignment);
  for (size_t i = 0; i < all.size(); ++i)
    all[i]->offset = blocks[i].offset;
  return memory;
}

MemoryPlan planMemory(const Plan &plan, const GraphNumbers &graph, std::span<const LaunchNumbers> launches, int threads,
                      const InputTensors &inputs, Outputs outputs) {
  const std::vector<bool> isOutside = outputs == Outputs::Outside ? findOutside(plan, graph) : std::vector<bool>();
  MemoryPlan memory = layOut(plan, graph, launches, threads, kAlignment, isOutside);
  memory.indexBytes = formBytes(formsOf(plan), graph);
  for (const Port &port : plan.inputs) {
    const TableSpec &table = plan.tables[port.table];
    auto tensor = inputs.find(port.name);
    if (isMoved(table, graph) || (tensor != inputs.end() && !isStoredAs(table.storage, tensor->second)))
      memory.inputBytes = add(memory.inputBytes, tableBytes(table, graph));
  }
  return memory;
}

std::vector<bool> findGraphTables(const Plan &plan) {
  std::vector<bool> isOfGraph(plan.tables.size());
  for (const Step &step : plan.steps)
    if (step.phase == Phase::Graph)
      for (int table : step.launch.outputs)
        isOfGraph[table] = true;
  return isOfGraph;
}

bool isCopied(const Plan &plan, const Port &input, const GraphNumbers &graph, const InputTensors &inputs) {
  const TableSpec &table = plan.tables[input.table];
  auto tensor = inputs.find(input.name);
  return isMoved(table, graph) ||
         !isStoredAs(table.storage, tensor == inputs.end() ? dtypeOf(table.storage) : tensor->second.dtype);
}

MemoryPlan planDeviceMemory(const Plan &plan, const GraphNumbers &graph, std::span<const LaunchNumbers> launches,
                            Places places, Outputs outputs, const InputTensors &inputs) {
  const bool isInPlace = outputs == Outputs::Outside;
  std::vector<bool> isOutside;
  int64_t graphBytes = 0;
  if (isInPlace) {
    isOutside = findOutside(plan, graph);
    const std::vector<bool> isOfGraph = findGraphTables(plan);
    for (size_t i = 0; i < isOutside.size(); ++i)
      if (isOfGraph[i]) {
        isOutside[i] = true;
        graphBytes = add(graphBytes, tableBytes(plan.tables[i], graph));
      }
  }
  MemoryPlan memory = layOut(plan, graph, launches, 0, kDeviceAlignment, isOutside, places);
  memory.graphBytes = graphBytes;
  std::vector<Form> forms = formsOfKernels(plan);
  // Without a place in the host's memory, rows are permuted on the device.
  if (isInPlace)
    for (const std::vector<Port> *ports : {&plan.inputs, &plan.outputs})
      for (const Port &port : *ports)
        if (const TableSpec &table = plan.tables[port.table]; isMoved(table, graph))
          if (const Form rows = *outsideRows(table); std::find(forms.begin(), forms.end(), rows) == forms.end())
            forms.push_back(rows);
  for (const Form &form : forms)
    memory.indexBytes = add(memory.indexBytes, arrayBytes(form, graph));
  for (const Port &port : plan.inputs)
    if (!isInPlace || isCopied(plan, port, graph, inputs))
      memory.inputBytes = add(memory.inputBytes, tableBytes(plan.tables[port.table], graph));
  return memory;
}

/// "`rgat` needs 1.2 GiB: tables and scratch memory 1.0 GiB (…), index arrays 0.2 GiB".
static std::string describe(const Plan &plan, const GraphNumbers &graph, const MemoryPlan &memory) {
  auto bytes = [](int64_t count) { return (count == kTooMany ? "more than " : "") + formatBytes(count); };
  std::string text = inTicks(plan.name) + " needs " + bytes(memory.peakBytes()) + ": tables and scratch memory " +
                     bytes(memory.arenaBytes);
  int64_t most = 0;
  const TableSpec *largest = nullptr;
  for (size_t i = 0; i < plan.tables.size(); ++i)
    if (memory.tables[i].block.bytes > most) {
      most = memory.tables[i].block.bytes;
      largest = &plan.tables[i];
    }
  if (largest)
    text += " (the largest table, " + inTicks(largest->name) + ", has " + counted(graph.rows[largest->domain], "row") +
            " and takes " + bytes(most) + ")";
  text += ", index arrays " + bytes(memory.indexBytes);
  if (memory.graphBytes > 0)
    text += ", tables of the graph phase " + bytes(memory.graphBytes);
  if (memory.inputBytes > 0)
    text += ", copies of inputs " + bytes(memory.inputBytes);
  return text;
}

Status checkMemory(const Plan &plan, const GraphNumbers &graph, const MemoryPlan &memory, int64_t limit) {
  return checkMemory(plan, graph, memory, limit, availableMemory(), "of memory are available");
}

Status checkMemory(const Plan &plan, const GraphNumbers &graph, const MemoryPlan &memory, int64_t limit,
                   int64_t available, const std::string &where) {
  const int64_t peak = memory.peakBytes();
  if (limit > 0 && peak > limit)
    return Status::failed(describe(plan, graph, memory) + "; the limit is " + formatBytes(limit));
  if (peak == kTooMany || peak > available)
    return Status::failed(describe(plan, graph, memory) + "; " + formatBytes(available) + " " + where);
  return Status::ok();
}

}  // namespace hector::exec
