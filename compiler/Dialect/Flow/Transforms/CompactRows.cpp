/// Computes each op in the domain where it takes the least time.
///
/// An op may be computed at every domain that distinguishes its keys. There it may take fewer operations and read its
/// operands in order, but its result becomes a table that its readers gather. Whether that pays depends on what else
/// moves: a value between two ops that move is no table. So all ops of one domain that could be computed at one coarser
/// place are decided together, by a least cut. On a graph of 1,000,000 edges and 400,000 source pairs, with
///
///   m = x[src] · W[etype]      z = m + b[etype]      y = a · z
///
/// the product and the sum move to the source pairs: 400,000 rows of both instead of 1,000,000, and one table, `z`. The
/// factor `a` differs from edge to edge, so `y` stays and gathers `z`.

#include "compiler/Analysis/Body.h"
#include "compiler/Analysis/LeastCut.h"
#include "compiler/Analysis/LoopCost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/IntEqClasses.h>
#include <llvm/ADT/MapVector.h>

#include <functional>

namespace hector::flow {

#define GEN_PASS_DEF_COMPACTROWSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

/// Whether an op computes rows within a loop of others: it needs no loop and no table of its own.
bool isRowWise(Operation *op) {
  return mlir::isa<SpreadOp>(op) || (mlir::isa<DenseOp>(op) && !isProduct(op));
}

class Compactor {
public:
  explicit Compactor(mlir::func::FuncOp function);

  /// Returns the number of ops that moved.
  int64_t run();

private:
  /// Ops at one domain that could be computed at the same place, in program order.
  struct Members {
    Domain from;
    Place place;
    SmallVector<DenseOp> ops;
    llvm::DenseMap<Operation *, unsigned> numberOf;
  };
  /// Tables that members read from elsewhere, and who reads them. Products read in loops of their own.
  using Readers = llvm::MapVector<std::pair<Value, Map>, SmallVector<unsigned>>;
  struct Sources {
    Readers ofProducts, ofOthers;
  };

  Members findMembers(Domain from, Place place, ArrayRef<DenseOp> ops) const;
  void consider(const Members &members);
  void decide(const Members &members, ArrayRef<unsigned> cluster, const Sources &sources);
  void addResult(LeastCut &cut, const Members &members, unsigned member, ArrayRef<unsigned> thingOf) const;
  void addSource(LeastCut &cut, const Members &members, Read source, ArrayRef<unsigned> readers,
                 ArrayRef<unsigned> thingOf) const;
  void move(DenseOp op, Place place);
  void reducePairs(SpreadOp spread);

  Phase phaseOf(Operation *op) const;
  bool isFused(Operation *op, Operation *reader) const;
  bool isReadBy(Value table, Domain from, Map map, llvm::function_ref<bool(Operation *)> isCounted) const;
  bool isAtHand(DenseOp op, Map map) const;
  double streamSeconds(RowsType type) const { return tableBytes(type, rows) / machine.bandwidth; }
  double readSeconds(RowsType type, Domain from, Map map) const;
  double operationSeconds(Operation *op) const { return flow::operationSeconds(op, rows, machine); }
  std::string describe(Domain domain) const {
    return (stringifyDomain(domain) + " (" + llvm::Twine(static_cast<int64_t>(rows.of(domain))) + " rows)").str();
  }

  mlir::func::FuncOp function;
  RowCounts rows;
  Machine machine;
  Keys keys;
  llvm::DenseMap<Operation *, Phase> phases;
  llvm::MapVector<Operation *, std::string> declined;  // ops that could have moved, and why they did not
  int64_t numMoved = 0;
};

Compactor::Compactor(mlir::func::FuncOp function)
    : function(function), rows(function), machine(function), keys(function) {
  Body body(function);
  for (unsigned i = 0; i < body.size(); ++i)
    phases[body[i].op] = body[i].phase;
}

//===- Times -----------------------------------------------------------------------------------------------------===//

Phase Compactor::phaseOf(Operation *op) const {
  auto found = phases.find(op);
  return found == phases.end() ? Phase::Forward : found->second;
}

/// Whether one loop can compute both, where they have the same rows: row-wise work comes before or after a product, but
/// no product waits for another, and what runs once for a graph or once for weights is a table for all others.
bool Compactor::isFused(Operation *op, Operation *reader) const {
  Phase phase = phaseOf(op);
  return !(isProduct(op) && isProduct(reader)) && (isRowWise(op) || isRowWise(reader)) &&
         (phase == phaseOf(reader) || phase > Phase::Weights);
}

/// Whether an op that is counted reads a table by this map.
bool Compactor::isReadBy(Value table, Domain from, Map map, llvm::function_ref<bool(Operation *)> isCounted) const {
  return llvm::any_of(table.getUses(), [&](mlir::OpOperand &use) {
    Operation *reader = use.getOwner();
    return reader->getNumResults() == 1 && walkedDomain(reader) == from &&
           readMap(reader, use.getOperandNumber()) == map && isCounted(reader);
  });
}

/// Whether a loop that collects what becomes of the op's rows has the rows that `map` leads to as an outer level: it
/// can compute the op there.
bool Compactor::isAtHand(DenseOp op, Map map) const {
  Domain from = op.getResultRows().getDomain();
  auto loop = traversalAlong(from, map);
  if (!loop || isProduct(op))
    return false;
  llvm::SmallSetVector<Operation *, 16> seen;
  seen.insert(op);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *reader : seen[i]->getUsers()) {
      if (reader->getNumResults() == 0 || walkedDomain(reader) != from || phaseOf(reader) != phaseOf(op))
        continue;
      if (mlir::isa<ReduceOp>(reader) && traversalAlong(from, collectMap(reader)) == loop)
        return true;
      if (isRowWise(reader))
        seen.insert(reader);
    }
  return false;
}

double Compactor::readSeconds(RowsType type, Domain from, Map map) const {
  bool isStreamed = map == Map::Self || map == Map::One;
  return isStreamed ? streamSeconds(type) : gatherCost(type, from, map, rows, machine).seconds;
}

//===- Deciding --------------------------------------------------------------------------------------------------===//

Compactor::Members Compactor::findMembers(Domain from, Place place, ArrayRef<DenseOp> ops) const {
  Members members;
  members.from = from;
  members.place = place;
  for (DenseOp op : ops) {
    if (op.getResultRows().getDomain() != from || !isHeldBy(keys.of(op->getResult(0)), from, place))
      continue;
    bool canRead = true;
    for (unsigned i = 0; i < op->getNumOperands() && canRead; ++i)
      canRead = factor(from, place.map, op.getMap(i)) ||
                (op.getMap(i) == Map::Self && members.numberOf.contains(op->getOperand(i).getDefiningOp()));
    if (!canRead)
      continue;
    members.numberOf[op] = static_cast<unsigned>(members.ops.size());
    members.ops.push_back(op);
  }
  return members;
}

/// What a member takes, and what becomes of its result.
void Compactor::addResult(LeastCut &cut, const Members &members, unsigned member, ArrayRef<unsigned> thingOf) const {
  DenseOp op = members.ops[member];
  Value result = op->getResult(0);
  Domain from = members.from;
  const Place &place = members.place;
  RowsType here = op.getResultRows(), there = here.withDomain(place.domain);
  // What runs once for a graph is read, but takes no time.
  bool isFree = phaseOf(op) == Phase::Graph;
  double stays = isFree ? 0 : operationSeconds(op);
  double moves = stays * rows.of(place.domain) / rows.of(from);
  double writesHere = isFree ? 0 : streamSeconds(here), writesThere = isFree ? 0 : streamSeconds(there);

  bool isTable = isProduct(op), isReadHere = false, isReadByOthers = false;
  SmallVector<unsigned> readers, apart;  // members, and those of them that read a table wherever they are
  llvm::SmallSetVector<std::pair<Domain, Map>, 4> far;  // reads from finer domains
  for (mlir::OpOperand &use : result.getUses()) {
    Operation *reader = use.getOwner();
    bool isReturn = reader->getNumResults() == 0;
    Map map = isReturn ? Map::Self : readMap(reader, use.getOperandNumber());
    if (map != Map::Self) {
      far.insert({walkedDomain(reader), map});
      continue;
    }
    isReadHere = true;
    bool isApart = !isReturn && !isFused(op, reader);
    isTable |= isApart;
    auto found = members.numberOf.find(reader);
    if (found == members.numberOf.end()) {
      isReadByOthers = true;
    } else {
      readers.push_back(found->second);
      if (isApart)
        apart.push_back(found->second);
    }
  }
  if (isTable || !far.empty())
    stays += writesHere;
  if (isTable && isReadHere)
    stays += streamSeconds(here);
  for (auto [finer, map] : far) {
    stays += readSeconds(here, finer, map);
    moves += readSeconds(there, finer, *compose(finer, map, place.map));
  }
  bool isWritten = isReadByOthers || !apart.empty() || !far.empty();
  double gather = readSeconds(there, from, place.map);
  if (apart.empty() && far.empty() && isAtHand(op, place.map))
    gather = writesThere = 0;
  if (isWritten)
    moves += writesThere;
  if (isReadByOthers)
    moves += gather;
  unsigned thing = thingOf[member];
  cut.charge(thing, stays, moves);
  if (!readers.empty() && !isReadByOthers) {
    // All readers move, or the table is gathered.
    unsigned allMove = cut.add(0, 0);
    cut.tie(thing, allMove, gather + (isWritten ? 0 : writesThere));
    for (unsigned reader : readers)
      cut.forbid(allMove, thingOf[reader]);
  }
  if (!apart.empty()) {
    unsigned anyMoves = cut.add(0, streamSeconds(there));
    for (unsigned reader : apart)
      cut.forbid(thingOf[reader], anyMoves);
  }
}

/// What it takes to read a table by those of the readers that stay, and by those that move.
void Compactor::addSource(LeastCut &cut, const Members &members, Read source, ArrayRef<unsigned> readers,
                          ArrayRef<unsigned> thingOf) const {
  auto [table, map] = source;
  RowsType type = source.type();
  // What runs once for a graph reads in no time.
  SmallVector<unsigned> counted;
  llvm::copy_if(readers, std::back_inserter(counted),
                [&](unsigned number) { return phaseOf(members.ops[number]) != Phase::Graph; });
  if (counted.empty())
    return;
  readers = counted;
  Operation *reader = members.ops[readers.front()];
  bool isOfProduct = isProduct(reader);
  // Rows of products are sorted by type.
  if (isOfProduct && type.getDomain() <= Domain::EdgeType)
    return;
  const Place &place = members.place;
  Map rest = *factor(members.from, place.map, map);
  // Loops that remain may read it in any case.
  auto isOther = [&](Operation *other) {
    return !isProduct(other) && !members.numberOf.contains(other) && phaseOf(other) == phaseOf(reader);
  };
  double stays = 0, moves = 0;
  if (isOfProduct || !isReadBy(table, members.from, map, isOther))
    stays = readSeconds(type, members.from, map);
  Operation *op = table.getDefiningOp();
  bool isFusedThere = op && rest == Map::Self && isFused(op, reader);
  if (!isFusedThere && (isOfProduct || !isReadBy(table, place.domain, rest, isOther)))
    moves = readSeconds(type, place.domain, rest);
  // If only these read it, it need not be written if all of them move.
  if (isFusedThere && phaseOf(op) != Phase::Graph &&
      llvm::all_of(op->getUsers(), [&](Operation *user) { return members.numberOf.contains(user); }))
    stays += streamSeconds(type);
  unsigned allMove = cut.add(stays, 0), anyMoves = cut.add(0, moves);
  for (unsigned reader : readers) {
    cut.forbid(allMove, thingOf[reader]);
    cut.forbid(thingOf[reader], anyMoves);
  }
}

/// Moves those members of a cluster for which that takes less time in all.
void Compactor::decide(const Members &members, ArrayRef<unsigned> cluster, const Sources &sources) {
  LeastCut cut;
  SmallVector<unsigned> thingOf(members.ops.size());
  for (unsigned member : cluster)
    thingOf[member] = cut.add(0, 0);
  for (unsigned member : cluster) {
    addResult(cut, members, member, thingOf);
    for (Value operand : members.ops[member]->getOperands())
      if (auto found = members.numberOf.find(operand.getDefiningOp()); found != members.numberOf.end())
        cut.forbid(thingOf[member], thingOf[found->second]);
  }
  for (const Readers &tables : {std::cref(sources.ofProducts), std::cref(sources.ofOthers)})
    for (const auto &[source, readers] : tables)
      if (llvm::is_contained(cluster, readers.front()))
        addSource(cut, members, {source.first, source.second}, readers, thingOf);
  cut.solve();
  std::string then = formatTime(cut.getCost());
  for (unsigned member : cluster) {
    DenseOp op = members.ops[member];
    if (!cut.isMoved(thingOf[member])) {
      declined.insert({op, "stays at " + describe(members.from) + ": " + then + ", and " + formatTime(cut.ifAllMove()) +
                               " at " + describe(members.place.domain)});
      continue;
    }
    op->emitRemark() << "computed at " << describe(members.place.domain) << " instead of " << describe(members.from)
                     << ": " << then << " instead of " << formatTime(cut.ifNothingMoves());
    move(op, members.place);
    declined.erase(op);
  }
}

/// Members that read one another or the same tables are decided together.
void Compactor::consider(const Members &members) {
  llvm::IntEqClasses classes(static_cast<unsigned>(members.ops.size()));
  Sources sources;
  for (unsigned number = 0; number < members.ops.size(); ++number) {
    DenseOp op = members.ops[number];
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      Value operand = op->getOperand(i);
      if (auto found = members.numberOf.find(operand.getDefiningOp()); found != members.numberOf.end()) {
        classes.join(number, found->second);
      } else if (!mlir::isa_and_nonnull<ConstantOp>(operand.getDefiningOp())) {
        Readers &tables = isProduct(op) ? sources.ofProducts : sources.ofOthers;
        SmallVector<unsigned> &readers = tables[{operand, op.getMap(i)}];
        if (!readers.empty())
          classes.join(number, readers.front());
        readers.push_back(number);
      }
    }
  }
  classes.compress();
  std::vector<SmallVector<unsigned>> clusters(classes.getNumClasses());
  for (unsigned member = 0; member < members.ops.size(); ++member)
    clusters[classes[member]].push_back(member);
  for (ArrayRef<unsigned> cluster : clusters)
    decide(members, cluster, sources);
}

int64_t Compactor::run() {
  // From fine to coarse, so that what has moved may move on; of the places the coarsest first.
  for (int from = getMaxEnumValForDomain(); from >= 0; --from) {
    auto at = static_cast<Domain>(from);
    SmallVector<DenseOp> ops;
    function.walk([&](DenseOp op) {
      if (op.getResultRows().getDomain() == at && phases.contains(op))
        ops.push_back(op);
    });
    if (ops.empty() || rows.of(at) == 0)
      continue;
    for (const Place &place : placesFrom(at))
      consider(findMembers(at, place, ops));
  }
  for (auto &[op, why] : declined)
    op->emitRemark() << why;
  SmallVector<SpreadOp> spreads;
  function.walk([&](SpreadOp op) { spreads.push_back(op); });
  for (SpreadOp spread : spreads)
    reducePairs(spread);
  return numMoved;
}

//===- Moving ----------------------------------------------------------------------------------------------------===//

/// Moves an op to `place`, which holds its key.
void Compactor::move(DenseOp op, Place place) {
  mlir::MLIRContext *context = op.getContext();
  Domain at = op.getResultRows().getDomain();
  SmallVector<mlir::Attribute> maps;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    maps.push_back(MapAttr::get(context, *factor(at, place.map, op.getMap(i))));
  Value result = op->getResult(0);
  op.setMapsAttr(mlir::ArrayAttr::get(context, maps));
  result.setType(op.getResultRows().withDomain(place.domain));
  ++numMoved;
  // Readers with maps read the coarser rows through a longer map. Others get a spread.
  Value spread;
  for (mlir::OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
    unsigned i = use.getOperandNumber();
    auto longer = [&](Domain from, Map map) { return MapAttr::get(context, *compose(from, map, place.map)); };
    if (auto reader = mlir::dyn_cast<DenseOp>(use.getOwner())) {
      SmallVector<mlir::Attribute> readerMaps(reader.getMaps().getValue());
      readerMaps[i] = longer(reader.getResultRows().getDomain(), reader.getMap(i));
      reader.setMapsAttr(mlir::ArrayAttr::get(context, readerMaps));
      continue;
    }
    if (auto reader = mlir::dyn_cast<WeightGradOp>(use.getOwner())) {
      if (i == 0)
        reader.setInputMapAttr(longer(reader.getOver(), reader.getInputMap()));
      else
        reader.setGradMapAttr(longer(reader.getOver(), reader.getGradMap()));
      continue;
    }
    if (!spread) {
      mlir::OpBuilder builder(context);
      builder.setInsertionPointAfter(op);
      auto type = mlir::cast<RowsType>(result.getType()).withDomain(at);
      spread = builder.create<SpreadOp>(op.getLoc(), type, result, place.map);
    }
    if (use.getOwner() != spread.getDefiningOp())
      use.set(spread);
  }
}

/// Whether a reduction of edges that repeat the rows of pairs may work on the pairs: the maximum of equal rows is any
/// of them, and their sum is the row times their number. Every pair has an edge, so the set of rows stays the same.
std::optional<Map> restOfReduction(ReduceOp op, Map toPair) {
  auto rest = factor(Domain::Edge, toPair, op.getVia());
  if (!rest)
    return std::nullopt;
  // Pairs of one node keep the order of their edges, which decides who receives the gradient on ties.
  bool isChoice = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
  if (isChoice && !(*rest == Map::Node || (*rest == Map::Self && !op.getInit())))
    return std::nullopt;
  if (op.getKind() == ReduceKind::Mean && *rest != Map::Self)
    return std::nullopt;
  return rest;
}

/// Reduces pairs instead of the edges that repeat their rows, where that takes less time.
void Compactor::reducePairs(SpreadOp spread) {
  if (spread.getVia() != Map::SrcPair && spread.getVia() != Map::DstPair)
    return;
  RowsType type = spread.getRows().getType();
  Domain pair = type.getDomain();
  SmallVector<std::pair<ReduceOp, Map>> reductions;
  bool isReadByOthers = false;
  for (Operation *reader : spread->getUsers()) {
    auto op = mlir::dyn_cast<ReduceOp>(reader);
    auto rest = op && op.getRows() == spread ? restOfReduction(op, spread.getVia()) : std::nullopt;
    isReadByOthers |= !rest;
    if (rest)
      reductions.emplace_back(op, *rest);
  }
  if (reductions.empty())
    return;
  auto isOther = [&](Operation *reader) { return reader != spread && isRowWise(reader); };
  isReadByOthers |= isReadBy(spread.getRows(), Domain::Edge, spread.getVia(), isOther);
  double now = isReadByOthers ? 0 : readSeconds(type, Domain::Edge, spread.getVia()), then = streamSeconds(type);
  double perRow = static_cast<double>(type.getRowSize()) / machine.scalarRate;
  bool hasSum = false;
  for (auto [op, rest] : reductions) {
    bool isSum = op.getKind() == ReduceKind::Sum;
    hasSum |= isSum;
    now += rows.of(Domain::Edge) * perRow;
    then += rows.of(pair) * ((isSum ? 1 : 0) + (rest != Map::Self ? 1 : 0)) * perRow;
  }
  // The edges of each pair are counted once for a graph, but the numbers are read.
  if (hasSum)
    then += rows.of(pair) * rowBytes(type) / static_cast<double>(type.getRowSize()) / machine.bandwidth;
  for (auto [op, rest] : reductions) {
    if (then >= now) {
      op->emitRemark() << "collects " << describe(Domain::Edge) << ": " << formatTime(now) << ", and "
                       << formatTime(then) << " from " << describe(pair);
      continue;
    }
    op->emitRemark() << "collects " << describe(pair) << " instead of " << describe(Domain::Edge) << ": "
                     << formatTime(then) << " instead of " << formatTime(now);
    ++numMoved;
    RowBuilder build(op.getContext());
    build.startAt(op);
    Read result{spread.getRows()};
    if (op.getKind() == ReduceKind::Sum) {
      build.at = Domain::Edge;
      Value count = build.reduce(ReduceKind::Sum, build.constant(1.0), spread.getVia());
      build.at = pair;
      result = build.binary<MulOp>(result, {count});
    }
    if (rest != Map::Self)
      result.table =
          build.builder.create<ReduceOp>(op.getLoc(), op.getType(), op.getKind(), result.table, op.getInit(), rest);
    op.replaceAllUsesWith(result.table);
    op.erase();
  }
  if (spread.use_empty())
    spread.erase();
}

struct CompactRowsPass : impl::CompactRowsPassBase<CompactRowsPass> {
  void runOnFlow() override { numMoved += Compactor(getOperation()).run(); }
};

}  // namespace

}  // namespace hector::flow
