#include "compiler/Analysis/Sweeps.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>

namespace hector::flow {

using mlir::Operation;

namespace {

/// The first sweeps in which a value may be read at its own level, and from a level below it.
struct Ready {
  unsigned atLevel = 0, below = 0;
};

}  // namespace

/// Finds the sweep of each op.
class SweepPlaces {
public:
  SweepPlaces(const Body &body, llvm::ArrayRef<unsigned> ops, bool online) : body(body) {
    for (unsigned op : ops)
      inside.try_emplace(op);
    for (unsigned op : ops)
      place(op, online);
  }

  bool isInside(unsigned op) const { return op != Body::kNone && inside.contains(op); }
  unsigned of(unsigned op) const { return inside.find(op)->second.atLevel; }
  unsigned count() const { return numSweeps; }

  std::vector<OnlineFold> folds;
  llvm::DenseMap<unsigned, unsigned> foldOf;  // of maxima and sums

private:
  void place(unsigned number, bool online);
  std::optional<unsigned> placeOnline(unsigned number);
  bool addStep(unsigned number, Map via, std::optional<unsigned> &fold, OnlineSum &online);
  /// The sweep in which `op` can read its operand.
  unsigned readyFor(const Body::Op &op, const Body::Operand &operand) const {
    if (!isInside(operand.source))
      return 0;
    Ready source = inside.find(operand.source)->second;
    return operand.type.getDomain() == op.walked ? source.atLevel : source.below;
  }

  const Body &body;
  llvm::DenseMap<unsigned, Ready> inside;
  unsigned numSweeps = 1;
};

void SweepPlaces::place(unsigned number, bool online) {
  const Body::Op &op = body[number];
  Ready result;
  for (const Body::Operand &operand : op.operands)
    if (isInside(operand.source)) {
      result.atLevel = std::max(result.atLevel, readyFor(op, operand));
      result.below = std::max(result.below, inside.find(operand.source)->second.below);
    }
  if (online)
    if (auto sweep = placeOnline(number))
      result = {*sweep, *sweep};
  if (op.collects != Map::Self)
    result.below = result.atLevel + 1;
  result.below = std::max(result.atLevel, result.below);
  inside[number] = result;
  numSweeps = std::max(numSweeps, result.atLevel + 1);
}

static bool isSumOf(Operation *op, ReduceKind kind) {
  auto reduce = mlir::dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKind() == kind && !reduce.getInit();
}

/// The sweep of the maximum with which a sum can be collected, if there is one.
std::optional<unsigned> SweepPlaces::placeOnline(unsigned number) {
  const Body::Op &op = body[number];
  if (!isSumOf(op.op, ReduceKind::Sum) || !isInside(op.operands.front().source))
    return std::nullopt;
  // An accumulator has the type of its rows, and sums of narrower numbers would lose all that is small.
  auto element = mlir::cast<RowsType>(op.op->getResult(0).getType()).getElementType();
  if (!element.isF32() && !element.isF64())
    return std::nullopt;
  std::optional<unsigned> fold;
  OnlineSum sum{number, {}};
  if (!addStep(op.operands.front().source, op.collects, fold, sum))
    return std::nullopt;
  std::reverse(sum.steps.begin(), sum.steps.end());
  // What scales the sum has the maximum's shape, changed as the steps say; once a factor has repeated it along an axis,
  // it can no longer be changed. A total has the maximum's shape too, so it divides before any change.
  bool isChanged = false, isRepeated = false;
  for (const OnlineSum::Step &step : sum.steps) {
    auto rows = [](mlir::Value value) { return mlir::cast<RowsType>(value.getType()).getShape(); };
    Operation *made = body[step.op].op;
    if ((step.isShape && isRepeated) || (step.total != Body::kNone && (isChanged || isRepeated)))
      return std::nullopt;
    isChanged |= step.isShape;
    isRepeated |= !step.isShape && rows(made->getOperand(step.operand)) != rows(made->getResult(0));
  }
  folds[*fold].sums.push_back(std::move(sum));
  foldOf[number] = *fold;
  return of(folds[*fold].top);
}

/// Follows a summand back to the exponential from which it is made by factors alone.
bool SweepPlaces::addStep(unsigned number, Map via, std::optional<unsigned> &fold, OnlineSum &online) {
  const Body::Op &op = body[number];
  auto self = [&](unsigned i) {
    return i < op.operands.size() && op.operands[i].map == Map::Self && isInside(op.operands[i].source);
  };
  if (mlir::isa<ExpOp>(op.op)) {
    // exp(a - (max a)[via])
    if (!self(0) || !mlir::isa<SubOp>(body[op.operands[0].source].op))
      return false;
    const Body::Op &shift = body[op.operands[0].source];
    if (shift.operands.size() != 2 || shift.operands[0].map != Map::Self || shift.operands[1].map != via ||
        !isInside(shift.operands[1].source))
      return false;
    unsigned top = shift.operands[1].source;
    if (!isSumOf(body[top].op, ReduceKind::Max) || body[top].collects != via ||
        body[top].operands[0].table != shift.operands[0].table ||
        shift.operands[0].type.getShape() != mlir::cast<RowsType>(op.op->getResult(0).getType()).getShape())
      return false;
    auto [slot, isNew] = foldOf.try_emplace(top, static_cast<unsigned>(folds.size()));
    if (isNew)
      folds.push_back({top, {}});
    fold = slot->second;
    return true;
  }
  bool isShape = mlir::isa<ExpandOp, ReshapeOp>(op.op);
  bool isQuotient = mlir::isa<DivOp>(op.op);
  if (!isShape && !isQuotient && !mlir::isa<MulOp, NegOp>(op.op))
    return false;
  // The operand that leads back; a quotient's numerator.
  for (unsigned i = 0; i < (isQuotient ? 1 : op.op->getNumOperands()); ++i) {
    auto scaled = body.find(op.op->getOperand(i));
    if (!scaled || !isInside(*scaled) || readMap(op.op, i) != Map::Self || body[*scaled].walked != op.walked)
      continue;
    size_t length = online.steps.size();
    online.steps.push_back({number, i, isShape});
    if (!addStep(*scaled, via, fold, online)) {
      online.steps.truncate(length);
      continue;
    }
    if (isShape || op.op->getNumOperands() == 1)
      return true;
    // The other factor is there when the edge is visited, or divides at the end.
    unsigned other = 1 - i;
    auto source = body.find(op.op->getOperand(other));
    if (!source || !isInside(*source))
      return true;
    Ready ready = inside.find(*source)->second;
    unsigned sweep = of(folds[*fold].top);
    Map map = readMap(op.op, other);
    if ((map == Map::Self ? ready.atLevel : ready.below) <= sweep)
      return true;
    auto sameFold = foldOf.find(*source);
    if (isQuotient && map == via && sameFold != foldOf.end() && sameFold->second == *fold &&
        *source != folds[*fold].top &&
        body[*source].op->getResult(0).getType() == body[folds[*fold].top].op->getResult(0).getType()) {
      online.steps[length].total = *source;
      return true;
    }
    online.steps.truncate(length);
    return false;
  }
  return false;
}

namespace {

/// A core spends as long on a number found by an index as on so many bytes that follow one another.
constexpr double kLeastGather = 16;
/// And as long on an exponential as on so many additions.
constexpr double kExponential = 8;

/// Decides what crosses from sweep to sweep.
class Crossings {
public:
  Crossings(Sweeps &sweeps, const Body &body, const SweepPlaces &places, const llvm::DenseSet<unsigned> &folded,
            Loop loop, Domain finest, const Machine &machine)
      : sweeps(sweeps), body(body), places(places), folded(folded), loop(loop), finest(finest),
        operationsPerByte(machine.scalarRate / machine.bandwidth), leastGather(machine.isGpu() ? 0 : kLeastGather) {}

  /// Has a value be there in a sweep: it is computed in it, or in an earlier one and carried over.
  void demand(unsigned value, unsigned sweep) {
    if (!places.isInside(value))
      return;
    const unsigned home = places.of(value);
    if (folded.contains(value)) {
      if (home < sweep)
        carry(value, home);
      return;
    }
    if (llvm::is_contained(sweeps.list[sweep].ops, value))
      return;
    const Body::Op &op = body[value];
    // What works within a row of the walked level can be computed in any sweep from its first on; the rest where it is
    // complete.
    if (op.domain != finest || !op.isCheap) {
      if (home == sweep)
        return compute(value, sweep);
      demand(value, home);
      return carry(value, home);
    }
    for (unsigned earlier = 0; earlier < sweep; ++earlier) {
      if (!llvm::is_contained(sweeps.list[earlier].ops, value))
        continue;
      if (llvm::is_contained(sweeps.list[earlier].yields, value))
        return;
      if (!isRebuilt(value))
        return carry(value, earlier);
      sweeps.extraOperations += op.scalars;
      sweeps.extraWork += op.work;
      break;
    }
    compute(value, sweep);
  }

private:
  void compute(unsigned value, unsigned sweep) {
    sweeps.list[sweep].ops.push_back(value);
    for (const Body::Operand &operand : body[value].operands)
      demand(operand.source, sweep);
  }

  void carry(unsigned value, unsigned from) {
    if (llvm::is_contained(sweeps.list[from].yields, value))
      return;
    sweeps.list[from].yields.push_back(value);
    if (body[value].domain == finest)
      sweeps.scratchBytes += body[value].tableBytes;
  }

  bool isOuterLevel(Map map) const { return map != Map::Self && isLevel(loop, finest, map); }

  bool isRebuilt(unsigned value) {
    const Body::Op &op = body[value];
    return op.domain == finest && op.isCheap && rebuildBytes(value) <= 2 * op.rowBytes;
  }

  /// The bytes that an edge reads, and its operations in bytes' worth, to compute `value` again.
  double rebuildBytes(unsigned value) {
    auto [slot, isNew] = rebuilding.try_emplace(value, 0.0);
    if (!isNew)
      return slot->second;
    const Body::Op &op = body[value];
    double rows = std::max(body.rows.of(op.walked), 1.0);
    double bytes = op.work / rows / operationsPerByte;
    for (const Body::Operand &operand : op.operands) {
      if (!places.isInside(operand.source))
        // The row of an outer level is at hand, and one number for all is a constant.
        bytes += isOuterLevel(operand.map) || operand.type.getDomain() == Domain::One ? 0.0
                 : operand.map == Map::Self                                           ? operand.rowBytes
                                            : std::max(operand.rowBytes, leastGather);
      else if (operand.type.getDomain() == finest)
        bytes += isRebuilt(operand.source) ? rebuildBytes(operand.source) : operand.rowBytes;
    }
    return rebuilding[value] = bytes;
  }

  Sweeps &sweeps;
  const Body &body;
  const SweepPlaces &places;
  const llvm::DenseSet<unsigned> &folded;  // maxima and sums of folds
  Loop loop;
  Domain finest;
  double operationsPerByte;
  double leastGather;  // bytes that finding a row by an index is worth
  llvm::DenseMap<unsigned, double> rebuilding;
};

}  // namespace

/// What a step multiplies with or divides by when an edge is visited.
static llvm::SmallVector<unsigned, 1> factorsOf(const Body &body, const OnlineSum::Step &step) {
  llvm::SmallVector<unsigned, 1> factors;
  for (auto [i, operand] : llvm::enumerate(body[step.op].op->getOperands()))
    if (auto source = body.find(operand); source && i != step.operand && *source != step.total)
      factors.push_back(*source);
  return factors;
}

Sweeps::Sweeps(const Body &body, llvm::ArrayRef<unsigned> ops, Loop loop, Domain finest,
               llvm::function_ref<bool(unsigned)> isWritten, const Machine &machine, bool online) {
  SweepPlaces places(body, ops, online);
  list.resize(places.count());
  llvm::erase_if(places.folds, [](const OnlineFold &fold) { return fold.sums.empty(); });
  llvm::DenseSet<unsigned> folded;
  for (const OnlineFold &fold : places.folds) {
    folded.insert(fold.top);
    extraOperations += 2 * body[fold.top].scalars;  // one more exponential, and its argument
    extraWork += (machine.isGpu() ? 2 : 1 + kExponential) * body[fold.top].work;
    for (const OnlineSum &sum : fold.sums) {
      folded.insert(sum.sum);
      extraOperations += body[sum.sum].scalars;  // scaling what was summed
      extraWork += body[sum.sum].work;
    }
  }
  hasFold = !places.folds.empty();
  // From what is collected and what others read, back to all that is needed. Ops on the way from a maximum to a sum
  // that is folded are computed by themselves only if something else reads them.
  Crossings crossings(*this, body, places, folded, loop, finest, machine);
  for (unsigned sweep = 0; sweep < list.size(); ++sweep) {
    for (const OnlineFold &fold : places.folds) {
      if (places.of(fold.top) != sweep)
        continue;
      crossings.demand(body[fold.top].operands[0].source, sweep);
      for (const OnlineSum &sum : fold.sums)
        for (const OnlineSum::Step &step : sum.steps)
          for (unsigned factor : factorsOf(body, step))
            crossings.demand(factor, sweep);
      list[sweep].folds.push_back(fold);
    }
    for (unsigned op : ops) {
      if (places.of(op) != sweep)
        continue;
      bool isCollected = body[op].collects != Map::Self;
      if (isCollected || isWritten(op))
        crossings.demand(op, sweep);
      if (isWritten(op) && !llvm::is_contained(list[sweep].yields, op))
        list[sweep].yields.push_back(op);
    }
  }
  llvm::erase_if(list, [](const Sweep &sweep) { return sweep.ops.empty() && sweep.folds.empty(); });
  for (Sweep &sweep : list)
    llvm::sort(sweep.ops);
}

}  // namespace hector::flow
