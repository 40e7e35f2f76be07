#include "compiler/Analysis/LoopCost.h"

#include <cmath>

namespace hector::flow {

/// How much faster than memory a cache is: the largest one, and the one next to a core.
constexpr double kCacheSpeed = 3, kNearSpeed = 12;
/// The part of the largest cache that is next to the cores.
constexpr double kNearPart = 1.0 / 128;
/// Memory and arithmetic work at the same time, but not all of the shorter is hidden behind the longer.
constexpr double kExposed = 0.25;
/// Additions that a core could do while it goes on to a row: the index, the loop, and what starts and ends there.
constexpr double kRowWork = 80;

//===- Gathers ---------------------------------------------------------------------------------------------------===//

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

/// The time of `reads` rows of a table, of which `missed` come from memory.
static TableCost randomCost(double tableBytes, double rowBytes, double once, double missed, double reads,
                            const Machine &machine) {
  double lines = std::ceil(rowBytes / machine.lineBytes) * machine.lineBytes;
  TableCost cost;
  cost.isGathered = true;
  cost.bytes = once + missed * lines;
  cost.seconds = once / machine.bandwidth + std::max(missed * lines / machine.bandwidth, missed / machine.randomReads);
  double speed = tableBytes <= kNearPart * machine.cacheBytes ? kNearSpeed : kCacheSpeed;
  double hit = std::max(reads - missed, 0.0);
  // Numbers that are next to a core cost no more than other bytes.
  double request = speed == kNearSpeed ? 0 : 1 / machine.cachedReads;
  cost.seconds += hit * std::max(rowBytes / (speed * machine.bandwidth), request);
  return cost;
}

TableCost gatherCost(RowsType type, Domain from, Map map, const RowCounts &rows, const Machine &machine) {
  double oneRow = rowBytes(type), table = tableBytes(type, rows), reads = rows.of(from);
  // No more rows can be touched than there are readers.
  if (table <= machine.cacheBytes)
    return randomCost(table, oneRow, std::min(table, reads * oneRow), 0, reads, machine);
  double room = machine.cacheBytes / std::max(oneRow, machine.lineBytes), missed = 0;
  for (const ReadBand &band : readBands(type.getDomain(), from, map, rows)) {
    double hot = std::min(room, band.rows);
    room -= hot;
    missed += hot * std::min(band.reads, 1.0) + (band.rows - hot) * band.reads;
  }
  return randomCost(table, oneRow, 0, missed, reads, machine);
}

TableCost permutedCost(RowsType type, const RowCounts &rows, const Machine &machine) {
  double oneRow = rowBytes(type), table = tableBytes(type, rows), reads = rows.of(type.getDomain());
  TableCost cost = table <= machine.cacheBytes ? randomCost(table, oneRow, table, 0, reads, machine)
                                               : randomCost(table, oneRow, 0, reads, reads, machine);
  cost.isPermuted = true;
  cost.bytes += 4 * reads;
  cost.seconds += 4 * reads / machine.bandwidth;
  return cost;
}

double operationSeconds(mlir::Operation *op, const RowCounts &rows, const Machine &machine) {
  return operations(op, rows) * effort(op, machine) / (isProduct(op) ? machine.productRate : machine.scalarRate);
}

double fusedSeconds(mlir::Operation *op, const RowCounts &rows, const Machine &machine) {
  double seconds = operationSeconds(op, rows, machine);
  if (!isProduct(op) && collectMap(op) == Map::Self)
    return seconds;
  seconds += 2 * tableBytes(mlir::cast<RowsType>(op->getResult(0).getType()), rows) / machine.bandwidth;
  Domain from = walkedDomain(op);
  if (isProduct(op))
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      auto type = mlir::cast<RowsType>(op->getOperand(i).getType());
      Map map = readMap(op, i);
      if (type.getDomain() <= Domain::EdgeType)
        continue;
      seconds += map == Map::Self ? tableBytes(type, rows) / machine.bandwidth
                                  : gatherCost(type, from, map, rows, machine).seconds;
    }
  return seconds;
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

constexpr unsigned kNumMaps = getMaxEnumValForMap() + 1;

LoopPricer::LoopPricer(const Body &body, const Machine &machine)
    : body(body), machine(machine), opMark(body.size()), readMark(body.numTables() * kNumMaps),
      readPlace(readMark.size()) {}

void LoopPricer::addReads(GroupCost &cost, llvm::ArrayRef<unsigned> ops) {
  const LoopKind kind = cost.kind;
  constexpr unsigned kNumDomains = getMaxEnumValForDomain() + 1;
  bool indexed[kNumDomains * kNumMaps] = {};
  for (unsigned number : ops) {
    const Body::Op &op = body[number];
    // Rows in order find their type from a few offsets, those of outer levels are known, and the single row needs no
    // index.
    auto note = [&](Map map) {
      bool &isKnown = indexed[static_cast<unsigned>(op.walked) * kNumMaps + static_cast<unsigned>(map)];
      if (map == Map::One || isKnown || kind.isLevel(op.walked, map) || kind.isSorted(op.walked, map))
        return;
      isKnown = true;
      cost.indexBytes += 4 * body.rows.of(op.walked);
    };
    note(op.collects);
    for (const Body::Operand &operand : op.operands) {
      note(operand.map);
      if (operand.source != Body::kNone && opMark[operand.source] == current)
        continue;
      bool isLevel = kind.isLevel(op.walked, operand.map);
      // The rows of a traversal's levels are available: in a loop by destination, `[dst]` at an edge and `self` at a
      // node are the same row.
      unsigned key = operand.table * kNumMaps + static_cast<unsigned>(isLevel ? Map::Self : operand.map);
      bool isKnown = readMark[key] == current;
      bool isGathered = !isLevel && !kind.isSorted(op.walked, operand.map) && operand.map != Map::One;
      TableCost read;
      if (isGathered) {
        if (isKnown && cost.reads[readPlace[key]].isGathered)
          continue;
        read = gatherCost(operand.type, op.walked, operand.map, body.rows, machine);
      } else {
        read.bytes = std::min(operand.tableBytes, body.rows.of(op.walked) * operand.rowBytes);
        read.seconds = read.bytes / machine.bandwidth;
      }
      read.table = operand.value;
      read.map = operand.map;
      if (!isKnown) {
        readMark[key] = current;
        readPlace[key] = static_cast<unsigned>(cost.reads.size());
        cost.reads.push_back(read);
      } else if (read.seconds > cost.reads[readPlace[key]].seconds) {
        cost.reads[readPlace[key]] = read;
      }
    }
  }
}

void GroupCost::finish(const Machine &machine) {
  seconds = machine.launch + std::max(memorySeconds, arithmeticSeconds) +
            kExposed * std::min(memorySeconds, arithmeticSeconds);
}

/// Whether a traversal has sums at more than one level, or rows that belong to the pairs of a node's edges. Edges
/// cannot be cut then wherever it suits: a sum of pairs needs whole pairs, and their rows would be computed for each
/// edge.
static bool isNested(const Body &body, llvm::ArrayRef<unsigned> ops, Domain finest) {
  auto isPair = [](Domain domain) { return domain == Domain::SrcPair || domain == Domain::DstPair; };
  std::optional<Domain> unit;
  for (unsigned number : ops) {
    const Body::Op &op = body[number];
    if (op.collects == Map::Self || op.isProduct)
      continue;
    if (op.walked != finest || (unit && *unit != op.domain))
      return true;
    unit = op.domain;
  }
  const bool hasUnitPairs = unit && isPair(*unit);
  return llvm::any_of(ops, [&](unsigned number) {
    const Body::Op &op = body[number];
    if (op.collects != Map::Self || op.walked == finest)
      return false;
    if (hasUnitPairs)
      return !isPair(op.walked);
    auto isRow = [](RowsType type) { return type.getRowSize() > 1; };
    return isPair(op.walked) && (isRow(mlir::cast<RowsType>(op.op->getResult(0).getType())) ||
                                 llvm::any_of(op.operands, [&](const Body::Operand &o) { return isRow(o.type); }));
  });
}

GroupCost LoopPricer::price(llvm::ArrayRef<unsigned> ops, LoopKind kind, llvm::function_ref<bool(unsigned)> isWritten) {
  GroupCost cost;
  cost.kind = kind;
  ++current;
  double numOperations = 0, productWork = 0, work = 0, accumulated = 0;
  bool mayCross = false;  // a value of an outer level is read inside
  bool isVisited[getMaxEnumValForDomain() + 1] = {};
  for (unsigned number : ops) {
    const Body::Op &op = body[number];
    opMark[number] = current;
    isVisited[static_cast<unsigned>(op.walked)] = true;
    cost.domain = std::max(cost.domain, op.walked);  // domains are listed from coarse to fine
    numOperations += op.products + op.scalars;
    productWork += op.productWork;
    work += op.work;
    if (op.collects != Map::Self && !op.isProduct)
      accumulated += op.rowBytes;
    for (const Body::Operand &operand : op.operands)
      mayCross |=
          operand.type.getDomain() < op.walked && operand.source != Body::kNone && opMark[operand.source] == current;
  }
  if (!machine.isGpu())
    for (auto [domain, isWalked] : llvm::enumerate(isVisited))
      work += isWalked ? kRowWork * body.rows.of(static_cast<Domain>(domain)) : 0;
  if (!ops.empty())
    cost.phase = body[ops.front()].phase;
  cost.rows = body.rows.of(cost.domain);
  addReads(cost, ops);
  double memory = 0, gathered = 0;
  for (const TableCost &read : cost.reads) {
    cost.bytes += read.bytes;
    memory += read.seconds;
    if (read.isGathered)
      gathered += rowBytes(mlir::cast<RowsType>(read.table.getType()));
  }
  for (unsigned number : ops)
    if (isWritten(number)) {
      double bytes = body[number].tableBytes;
      cost.writes.push_back({body[number].op->getResult(0), Map::Self, false, false, bytes, bytes / machine.bandwidth});
      cost.bytes += bytes;
      memory += cost.writes.back().seconds;
    }
  cost.bytes += cost.indexBytes;
  memory += cost.indexBytes / machine.bandwidth;
  cost.numSweeps = kind.isTraversal() ? 1 : 0;
  cost.isNested = kind.isTraversal() && isNested(body, ops, cost.domain);
  if (kind.isTraversal() && mayCross) {
    /// One way to walk.
    struct Walk {
      unsigned numSweeps;
      bool hasFold;
      double scratchBytes, againBytes, extraOperations, extraWork;
      double nearBytes() const { return 2 * scratchBytes + againBytes; }
    };
    auto walk = [&](bool online) {
      Sweeps sweeps(body, ops, kind.loop, cost.domain, isWritten, machine, online);
      // Later sweeps read again what earlier ones brought near.
      double again = 0;
      llvm::DenseMap<unsigned, size_t> readIn;  // the last sweep that read a table through a map
      for (auto [i, sweep] : llvm::enumerate(sweeps.list)) {
        llvm::SmallVector<unsigned, 8> computed = sweep.ops;
        for (const OnlineFold &fold : sweep.folds) {
          computed.push_back(fold.top);
          for (const OnlineSum &sum : fold.sums)
            for (const OnlineSum::Step &step : sum.steps)
              computed.push_back(step.op);
        }
        for (unsigned number : computed)
          for (const Body::Operand &operand : body[number].operands) {
            if (operand.source != Body::kNone && opMark[operand.source] == current)
              continue;
            unsigned key = operand.table * kNumMaps + static_cast<unsigned>(operand.map);
            auto [slot, isNew] = readIn.try_emplace(key, i);
            if (!isNew && slot->second < i)
              again += kind.isLevel(body[number].walked, operand.map)
                           ? std::min(operand.tableBytes, body.rows.of(body[number].walked) * operand.rowBytes)
                           : body.rows.of(body[number].walked) * operand.rowBytes;
            slot->second = i;
          }
      }
      return Walk{static_cast<unsigned>(sweeps.list.size()),
                  sweeps.hasFold,
                  sweeps.scratchBytes,
                  again,
                  sweeps.extraOperations,
                  sweeps.extraWork};
    };
    auto secondsOf = [&](const Walk &walked) {
      return walked.nearBytes() / (kNearSpeed * machine.bandwidth) + walked.extraWork / machine.scalarRate;
    };
    Walk taken = walk(/*online=*/false);
    if (taken.numSweeps > 1) {
      Walk folded = walk(/*online=*/true);
      // A GPU walks once.
      cost.isOnline = folded.hasFold &&
                      (machine.isGpu() ? folded.numSweeps < taken.numSweeps : secondsOf(folded) < secondsOf(taken));
      if (cost.isOnline)
        taken = folded;
    }
    cost.numSweeps = taken.numSweeps;
    cost.scratchBytes = taken.scratchBytes;
    numOperations += taken.extraOperations;
    work += taken.extraWork;
    memory += taken.nearBytes() / (kNearSpeed * machine.bandwidth);
  }
  // Sixteen threads share a row, with two rows on their way.
  cost.registers = static_cast<unsigned>(16 + (2 * gathered + accumulated) / (4 * 16));
  cost.operations = numOperations;
  cost.memorySeconds = memory;
  cost.arithmeticSeconds = productWork / machine.productRate + work / machine.scalarRate;
  cost.finish(machine);
  return cost;
}

GroupCost LoopPricer::price(llvm::ArrayRef<unsigned> ops, LoopKinds kinds,
                            llvm::function_ref<bool(unsigned)> isWritten) {
  std::optional<GroupCost> best;
  for (LoopKind kind : kinds.list()) {
    GroupCost cost = price(ops, kind, isWritten);
    if (!best || cost.seconds < best->seconds)
      best = std::move(cost);
  }
  return std::move(*best);
}

}  // namespace hector::flow
