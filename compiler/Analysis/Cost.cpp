#include "compiler/Analysis/Cost.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>

#include <cmath>

namespace hector::flow {

using mlir::Operation;
using mlir::Value;

Machine::Machine(mlir::func::FuncOp function) {
  if (auto machine = function->getAttrOfType<MachineAttr>("flow.machine")) {
    cacheBytes = static_cast<double>(machine.getCacheBytes());
    operationsPerByte = static_cast<double>(machine.getOperationsPerByte());
  }
}

static RowsType rowsType(Value value) {
  return mlir::cast<RowsType>(value.getType());
}

static double rowBytes(RowsType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  return static_cast<double>(type.getRowSize()) * (bits < 8 ? 1.0 : bits / 8.0);
}

double tableBytes(RowsType type, const RowCounts &rows) {
  return rows.of(type.getDomain()) * rowBytes(type);
}

/// How often rows are read: so many of them so many times each.
struct ReadBand {
  double rows;
  double reads;
};

/// The reads of a table of `domain` by all rows of `from` through `map`, most read rows first.
static llvm::SmallVector<ReadBand> readBands(Domain domain, Domain from, Map map, const RowCounts &rows) {
  GraphAttr graph = rows.getGraph();
  mlir::DenseI64ArrayAttr profile = map == Map::Src       ? graph.getSourceReads()
                                    : map == Map::Dst     ? graph.getDestinationReads()
                                    : map == Map::SrcPair ? graph.getSrcPairReads()
                                    : map == Map::DstPair ? graph.getDstPairReads()
                                                          : mlir::DenseI64ArrayAttr();
  double total = rows.of(from);
  llvm::SmallVector<ReadBand> bands;
  double counted = 0;
  for (int k = profile ? static_cast<int>(profile.size()) - 1 : 0; k > 0; --k) {
    // The middle of 2^(k-1) … 2^k - 1.
    ReadBand band = {static_cast<double>(profile[k]), (std::ldexp(1.5, k - 1) - 0.5)};
    counted += band.rows * band.reads;
    bands.push_back(band);
  }
  if (counted > 0) {
    for (ReadBand &band : bands)
      band.reads *= total / counted;
    return bands;
  }
  double tableRows = rows.of(domain);
  return {{tableRows, tableRows > 0 ? total / tableRows : 0}};
}

double gatheredBytes(RowsType type, Domain from, Map map, const RowCounts &rows, double cacheBytes) {
  double oneRow = rowBytes(type);
  // No more rows can be touched than there are readers.
  double once = std::min(tableBytes(type, rows), rows.of(from) * oneRow);
  if (tableBytes(type, rows) <= cacheBytes)
    return once;
  double room = cacheBytes / oneRow, touched = 0;
  for (const ReadBand &band : readBands(type.getDomain(), from, map, rows)) {
    double hot = std::min(room, band.rows);
    room -= hot;
    touched += hot * std::min(band.reads, 1.0) + (band.rows - hot) * band.reads;
  }
  return touched * oneRow;
}

double Cost::keptBytes() const {
  double bytes = 0;
  for (const KeptTable &table : kept)
    bytes += table.bytes;
  return bytes;
}

namespace {

class Estimator {
public:
  Estimator(mlir::func::FuncOp function, const Groups &groups)
      : function(function), groups(groups), rows(function), machine(function) {}

  Cost run();

private:
  /// Fills reads, indices and their bytes for `ops` in one loop of `kind`; `isInside` says what the loop itself
  /// computes.
  template <class IsInside>
  void countReads(GroupCost &cost, llvm::ArrayRef<Operation *> ops, LoopKind kind, IsInside isInside) const;
  GroupCost groupCost(unsigned index) const;
  OpCost opCost(Operation *op) const;
  void countMemory(Cost &cost);

  mlir::func::FuncOp function;
  const Groups &groups;
  RowCounts rows;
  Machine machine;
};

/// A read as the loop sees it. The rows of a traversal's levels are at hand: `[dst]` at an edge and `self` at a node
/// are one row in a loop by destination.
std::pair<Value, Map> readKey(Value table, Domain from, Map map, LoopKind kind) {
  return {table, kind.isLevel(from, map) ? Map::Self : map};
}

template <class IsInside>
void Estimator::countReads(GroupCost &cost, llvm::ArrayRef<Operation *> ops, LoopKind kind, IsInside isInside) const {
  llvm::MapVector<std::pair<Value, Map>, TableCost> reads;
  llvm::SetVector<std::pair<Domain, Map>> maps;
  for (Operation *op : ops) {
    Domain from = walkedDomain(op);
    // Rows in order find their type from a few offsets, and the single row needs no finding.
    auto note = [&](Map map) {
      if (map != Map::Self && map != Map::One && !kind.isSorted(from, map))
        maps.insert({from, map});
    };
    note(collectMap(op));
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      Value table = op->getOperand(i);
      Map map = readMap(op, i);
      note(map);
      if (isInside(table))
        continue;
      RowsType type = rowsType(table);
      TableCost read = {table, map};
      read.isGathered = !kind.isLevel(from, map) && !kind.isSorted(from, map) && map != Map::One;
      read.bytes = read.isGathered ? gatheredBytes(type, from, map, rows, machine.cacheBytes)
                                   : std::min(tableBytes(type, rows), rows.of(from) * rowBytes(type));
      auto [place, isNew] = reads.insert({readKey(table, from, map, kind), read});
      if (!isNew && read.bytes > place->second.bytes)
        place->second = read;
    }
  }
  cost.kind = kind;
  cost.indexBytes = 0;
  for (auto [from, map] : maps)
    cost.indexBytes += 4 * rows.of(from);
  cost.bytes = cost.indexBytes;
  cost.reads.clear();
  for (auto &[key, read] : reads) {
    cost.reads.push_back(read);
    cost.bytes += read.bytes;
  }
}

OpCost Estimator::opCost(Operation *op) const {
  OpCost cost = {op, rows.of(walkedDomain(op)), operations(op, rows)};
  auto isInside = [](Value) { return false; };
  bool isFirst = true;
  for (LoopKind kind : loopKinds(op).list()) {
    GroupCost alone;
    countReads(alone, op, kind, isInside);
    if (isFirst || alone.bytes < cost.bytes)
      cost.bytes = alone.bytes;
    isFirst = false;
  }
  cost.bytes += tableBytes(rowsType(op->getResult(0)), rows);
  return cost;
}

GroupCost Estimator::groupCost(unsigned index) const {
  const Group &group = groups.list()[index];
  GroupCost best;
  bool isFirst = true;
  for (LoopKind kind : group.kinds.list()) {
    GroupCost cost;
    countReads(cost, group.ops, kind, [&](Value table) { return groups.of(table) == index; });
    if (isFirst || cost.bytes < best.bytes)
      best = std::move(cost);
    isFirst = false;
  }
  best.phase = group.phase;
  best.domain = group.domain;
  best.rows = rows.of(group.domain);
  for (Operation *op : group.ops) {
    best.ops.push_back(opCost(op));
    best.operations += best.ops.back().operations;
    Value result = op->getResult(0);
    if (groups.escapes(result)) {
      best.writes.push_back({result, Map::Self, false, tableBytes(rowsType(result), rows)});
      best.bytes += best.writes.back().bytes;
    }
  }
  return best;
}

/// What is live between groups, and what crosses from the forward to the backward phase.
void Estimator::countMemory(Cost &cost) {
  unsigned numGroups = static_cast<unsigned>(groups.list().size());
  std::vector<double> change(numGroups + 1);  // of the bytes live, at each group
  for (unsigned i = 0; i < numGroups; ++i)
    for (const TableCost &write : cost.groups[i].writes) {
      if (cost.groups[i].phase == Phase::Graph) {
        cost.graphBytes += write.bytes;
        continue;
      }
      unsigned last = i;
      bool isKept = false;
      for (Operation *user : write.table.getUsers()) {
        auto reader = groups.of(user);  // nothing where it is returned: live to the end
        last = std::max(last, reader.value_or(numGroups - 1));
        isKept |= reader && cost.groups[i].phase == Phase::Forward && cost.groups[*reader].phase == Phase::Backward;
      }
      change[i] += write.bytes;
      change[last + 1] -= write.bytes;
      if (isKept)
        cost.kept.push_back({write.table, write.bytes});
    }
  double live = 0;
  for (double bytes : change)
    cost.peakBytes = std::max(cost.peakBytes, live += bytes);
  for (Value argument : function.getArguments())
    cost.inputBytes += tableBytes(rowsType(argument), rows);
}

Cost Estimator::run() {
  Cost cost;
  cost.operationsPerByte = machine.operationsPerByte;
  for (unsigned i = 0; i < groups.list().size(); ++i) {
    cost.groups.push_back(groupCost(i));
    if (cost.groups.back().phase == Phase::Graph)
      continue;
    cost.operations += cost.groups.back().operations;
    cost.bytes += cost.groups.back().bytes;
  }
  countMemory(cost);
  return cost;
}

}  // namespace

Cost estimate(mlir::func::FuncOp function, const Groups &groups) {
  return Estimator(function, groups).run();
}

Cost estimate(mlir::func::FuncOp function) {
  return estimate(function, Groups(function));
}

}  // namespace hector::flow
