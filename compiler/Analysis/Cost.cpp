#include "compiler/Analysis/Cost.h"

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

/// How often rows are read: `rows` of them `reads` times each.
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

/// The reads of ops in one loop of `kind`, the indices they take, and the bytes of both.
struct LoopReads {
  LoopKind kind;
  llvm::SmallVector<TableCost> reads;
  double indexBytes = 0;
  double bytes = 0;
};

/// Counts what the loop reads; `isInside` says which tables it computes itself.
template <class IsInside>
LoopReads countReads(llvm::ArrayRef<Operation *> ops, LoopKind kind, const RowCounts &rows, const Machine &machine,
                     IsInside isInside) {
  LoopReads loop = {kind, {}};
  // Groups are small: searching a list is quicker than hashing.
  llvm::SmallVector<std::pair<Value, Map>> keys;
  llvm::SmallVector<std::pair<Domain, Map>> maps;
  for (Operation *op : ops) {
    Domain from = walkedDomain(op);
    // Rows in order find their type from a few offsets, and the single row needs no index.
    auto note = [&](Map map) {
      if (map != Map::Self && map != Map::One && !kind.isSorted(from, map) &&
          !llvm::is_contained(maps, std::pair(from, map))) {
        maps.push_back({from, map});
        loop.indexBytes += 4 * rows.of(from);
      }
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
      bool isLevel = kind.isLevel(from, map);
      read.isGathered = !isLevel && !kind.isSorted(from, map) && map != Map::One;
      read.bytes = read.isGathered ? gatheredBytes(type, from, map, rows, machine.cacheBytes)
                                   : std::min(tableBytes(type, rows), rows.of(from) * rowBytes(type));
      // The rows of a traversal's levels are available: in a loop by destination, `[dst]` at an edge and `self` at a
      // node are the same row.
      std::pair<Value, Map> key = {table, isLevel ? Map::Self : map};
      auto *found = llvm::find(keys, key);
      size_t place = static_cast<size_t>(found - keys.begin());
      if (found == keys.end()) {
        keys.push_back(key);
        loop.reads.push_back(read);
      } else if (read.bytes > loop.reads[place].bytes) {
        loop.reads[place] = read;
      }
    }
  }
  loop.bytes = loop.indexBytes;
  for (const TableCost &read : loop.reads)
    loop.bytes += read.bytes;
  return loop;
}

/// The kind of loop that moves the fewest bytes; the first one on ties.
template <class IsInside>
LoopReads bestLoop(llvm::ArrayRef<Operation *> ops, LoopKinds kinds, const RowCounts &rows, const Machine &machine,
                   IsInside isInside) {
  std::optional<LoopReads> best;
  for (LoopKind kind : kinds.list()) {
    LoopReads loop = countReads(ops, kind, rows, machine, isInside);
    if (!best || loop.bytes < best->bytes)
      best = std::move(loop);
  }
  return std::move(*best);
}

class Estimator {
public:
  Estimator(mlir::func::FuncOp function, const Groups &groups)
      : function(function), groups(groups), rows(function), machine(function) {}

  Cost run();

private:
  GroupCost groupCost(unsigned index) const;
  void countMemory(Cost &cost);

  mlir::func::FuncOp function;
  const Groups &groups;
  RowCounts rows;
  Machine machine;
};

GroupCost Estimator::groupCost(unsigned index) const {
  const Group &group = groups.list()[index];
  LoopReads loop =
      bestLoop(group.ops, group.kinds, rows, machine, [&](Value table) { return groups.of(table) == index; });
  GroupCost cost;
  cost.phase = group.phase;
  cost.kind = loop.kind;
  cost.domain = group.domain;
  cost.rows = rows.of(group.domain);
  cost.bytes = loop.bytes;
  cost.indexBytes = loop.indexBytes;
  cost.reads.assign(loop.reads.begin(), loop.reads.end());
  for (Operation *op : group.ops) {
    cost.ops.push_back({op, rows.of(walkedDomain(op)), operations(op, rows)});
    cost.operations += cost.ops.back().operations;
    Value result = op->getResult(0);
    if (groups.escapes(result)) {
      cost.writes.push_back({result, Map::Self, false, tableBytes(rowsType(result), rows)});
      cost.bytes += cost.writes.back().bytes;
    }
  }
  return cost;
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
  for (unsigned i = 0; i < numGroups; ++i) {
    cost.groups[i].liveBytes = live += change[i];
    cost.peakBytes = std::max(cost.peakBytes, live);
  }
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

double bytesAlone(Operation *op, const RowCounts &rows, const Machine &machine) {
  auto isInside = [](Value) { return false; };
  return bestLoop(op, loopKinds(op), rows, machine, isInside).bytes + tableBytes(rowsType(op->getResult(0)), rows);
}

Cost estimate(mlir::func::FuncOp function, const Groups &groups) {
  return Estimator(function, groups).run();
}

Cost estimate(mlir::func::FuncOp function) {
  return estimate(function, Groups(function));
}

}  // namespace hector::flow
