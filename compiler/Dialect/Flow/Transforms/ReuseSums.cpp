/// Computes sums from sums that exist already.
///
/// `SummedProduct.h` says when one sum is found in another. What remains of the sum, its other factors, must be
/// readable from the level of the sum that was found. There they are multiplied with it, axes are contracted, and the
/// rest of the way, from pairs to nodes for example, is summed.
///
/// Zeros. A row that no fine row leads to has the sum 0, but other factors may hold anything there, such as 1/0. Such
/// rows are set to 0, unless nothing reads them. Guards stay: a factor that protected what is now in the sum protects
/// the sum, and a factor that was protected by it is protected by the sum.

#include "compiler/Analysis/Cost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/SummedProduct.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <cmath>

namespace hector::flow {

#define GEN_PASS_DEF_REUSESUMSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using mlir::Operation;
using mlir::Value;
using Axes = SummedProduct::Axes;
constexpr int kNoLabel = SummedProduct::kNoLabel;

/// The map from an edge to a row of an edge or pair domain.
std::optional<Map> fromEdge(Domain domain) {
  switch (domain) {
  case Domain::Edge:
    return Map::Self;
  case Domain::SrcPair:
    return Map::SrcPair;
  case Domain::DstPair:
    return Map::DstPair;
  default:
    return std::nullopt;
  }
}

/// Whether `map` leads from rows of `from` to the same rows as `via` from `fine`: pairs have edges.
bool leadsToSameRows(Domain from, Map map, Domain fine, Map via) {
  auto toFrom = fromEdge(from), toFine = fromEdge(fine);
  if (!toFrom || !toFine)
    return from == fine && map == via;
  auto one = compose(Domain::Edge, *toFrom, map), other = compose(Domain::Edge, *toFine, via);
  return one && one == other;
}

class Reuser : RowBuilder {
public:
  explicit Reuser(mlir::func::FuncOp function)
      : RowBuilder(function.getContext()), trial(function.getBody().front()), rows(function), machine(function) {
    draft = &trial;
  }

  /// Replaces a sum if an earlier one, or a part of it, makes that cheaper; otherwise later ones may be computed from
  /// it. Returns how many sums were replaced.
  unsigned visit(ReduceOp op);

  llvm::DenseSet<Operation *> erased;

private:
  /// One sum found in another.
  struct Candidate {
    const SummedProduct *whole, *part;
    SummedProduct::Match match;
    Map toPart, rest;
  };
  /// A factor that remains, as read from the level of the part.
  struct Factor {
    unsigned node;
    Read read;
    bool isInverse;
  };

  SmallVector<Candidate> findCandidates(ArrayRef<SummedProduct> wholes);
  Value build(const Candidate &candidate);
  Value finish(const Candidate &candidate, Read term, double scale, bool isZeroWithoutRows);
  bool collect(const Candidate &candidate, unsigned node, SmallVectorImpl<Factor> &factors, double &scale) const;
  bool keepsGuards(const Candidate &candidate, ArrayRef<Factor> factors) const;
  Read arrange(const SummedProduct &sum, Read read, const Axes &axes, ArrayRef<int> order);
  Read contract(Read side, Read sum, size_t numLead, bool isSideFirst, bool isGuarded);
  double timeOfWalk(ReduceOp op) const;
  double timeOfDraft(ReduceOp site);
  double timeOf(const llvm::SetVector<Operation *> &ops, ReduceOp site) const;
  void replace(ReduceOp op, Value by);

  Draft trial;
  RowCounts rows;
  Machine machine;
  std::vector<std::pair<ReduceOp, std::vector<SummedProduct>>> earlier;
  llvm::StringRef obstacle;
};

//===- Building --------------------------------------------------------------------------------------------------===//

/// The factors that the part lacks, each as large as the level of the part can read it, and the numbers between them.
bool Reuser::collect(const Candidate &candidate, unsigned i, SmallVectorImpl<Factor> &factors, double &scale) const {
  const SummedProduct::Node &node = candidate.whole->getNodes()[i];
  if (!candidate.match.isFound[i] && !node.isNumber) {
    auto there = factor(candidate.whole->getFine(), candidate.toPart, node.read.map, rows.isUniform());
    if (there && !node.isOpened) {
      factors.push_back({i, {node.read.table, *there}, node.isInverse});
      return true;
    }
    if (node.parts.empty())
      return false;
  }
  scale *= node.scale;
  return llvm::all_of(node.parts, [&](unsigned part) { return collect(candidate, part, factors, scale); });
}

/// Whether all that zeros protected from inf and NaN would be protected still. Within the part, its own guards must do
/// that, or a guard that is a factor of the whole.
bool Reuser::keepsGuards(const Candidate &candidate, ArrayRef<Factor> factors) const {
  const SummedProduct &whole = *candidate.whole, &part = *candidate.part;
  ArrayRef<int> places = candidate.match.places;
  auto isGuardOfPart = [&](int by, int what) {
    return llvm::any_of(part.getGuards(), [&](const SummedProduct::Guard &guard) {
      return part.isUnder(by, guard.guard) && part.isUnder(what, guard.guarded);
    });
  };
  auto foundUnder = [&](unsigned root) {
    SmallVector<int> found;
    for (auto [i, place] : llvm::enumerate(places))
      if (place >= 0 && whole.isUnder(static_cast<unsigned>(i), root))
        found.push_back(place);
    return found;
  };
  return llvm::all_of(whole.getGuards(), [&](const SummedProduct::Guard &guard) {
    if (llvm::any_of(factors, [&](const Factor &factor) {
          return !factor.isInverse && whole.isUnder(factor.node, guard.guard);
        }))
      return true;
    SmallVector<int> guarded = foundUnder(guard.guarded);
    return llvm::all_of(foundUnder(guard.guard), [&](int by) {
      return llvm::all_of(guarded, [&](int what) { return isGuardOfPart(by, what); });
    });
  });
}

/// A row with one axis per label of `order`, of size 1 where it lacks the label; a single number has no axes.
Read Reuser::arrange(const SummedProduct &sum, Read read, const Axes &axes, ArrayRef<int> order) {
  SmallVector<int64_t> own, places, shape;
  for (int label : axes)
    if (label != kNoLabel) {
      own.push_back(sum.getExtent(label));
      places.push_back(llvm::find(order, label) - order.begin());
    }
  if (own.empty())
    return view(read, {});
  for (int label : order)
    shape.push_back(llvm::is_contained(axes, label) ? sum.getExtent(label) : 1);
  if (!llvm::is_sorted(places)) {
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(places.size())));
    llvm::sort(permutation, [&](int64_t a, int64_t b) { return places[a] < places[b]; });
    SmallVector<int64_t> turned;
    for (int64_t axis : permutation)
      turned.push_back(own[axis]);
    read = view(read, own);
    Domain here = std::exchange(at, read.type().getDomain());
    read.table = make<TransposeOp>({Read{read.table}}, turned,
                                   {builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(permutation))})
                     .table;
    at = here;
  }
  return view(read, shape);
}

/// Sums the products of two rows over all axes but the first `numLead`.
Read Reuser::contract(Read side, Read sum, size_t numLead, bool isSideFirst, bool isGuarded) {
  int64_t width = sizeOf(sum.shape().drop_front(numLead));
  auto leadOf = [&](Read a) { return SmallVector<int64_t>(a.shape().take_front(numLead)); };
  auto both = *commonShape(leadOf(side), leadOf(sum));
  bool isSideLong = sizeOf(leadOf(side)) > 1, isSumLong = sizeOf(leadOf(sum)) > 1;
  SmallVector<int64_t> lead;
  if (isSideLong || isSumLong)
    lead = both;
  auto toRows = [&](Read a, bool isLong) {
    SmallVector<int64_t> flat;
    if (isLong) {
      SmallVector<int64_t> whole = both;
      llvm::append_range(whole, a.shape().drop_front(numLead));
      a = toShape(a, whole);
      flat = both;
    }
    flat.push_back(sizeOf(a.shape()) / sizeOf(flat));
    if (flat.back() != width) {  // the same along an axis that is summed over
      SmallVector<int64_t> whole = isLong ? both : SmallVector<int64_t>(numLead, 1);
      llvm::append_range(whole, sum.shape().drop_front(numLead));
      a = toShape(a, whole);
      flat.back() = width;
    }
    return view(a, flat);
  };
  Read first = toRows(side, isSideLong), second = toRows(sum, isSumLong);
  if (!isSideFirst)
    std::swap(first, second);
  SmallVector<mlir::NamedAttribute> attributes;
  if (isGuarded)
    attributes.push_back(builder.getNamedAttr("guarded", builder.getUnitAttr()));
  return make<DotOp>({first, second}, lead, attributes);
}

/// The whole sum, computed from the part; nothing if that takes more than products of rows.
Value Reuser::build(const Candidate &candidate) {
  const SummedProduct &whole = *candidate.whole, &part = *candidate.part;
  const std::vector<bool> &isFound = candidate.match.isFound;
  ReduceOp op = whole.getOp();
  startAt(op);
  at = *mapTarget(whole.getFine(), candidate.toPart);
  SmallVector<Factor> factors;
  double scale = 1 / part.getScale();
  if (!collect(candidate, 0, factors, scale)) {
    obstacle = "another factor differs from row to row";
    return {};
  }
  // A part that was scaled far down has lost digits, or all of them, and the factor may be no number of its type.
  constexpr double kFar = 256;
  for (double factor : {part.getScale(), scale})
    if (!(std::abs(factor) <= kFar && std::abs(factor) >= 1 / kFar)) {
      obstacle = "the two are scaled too differently";
      return {};
    }
  SmallVector<int> kept, summed;
  for (int label : whole.getAxes())
    if (label != kNoLabel)
      kept.push_back(label);
  for (int label : candidate.match.axes)
    if (label != kNoLabel && whole.isSummed(label))
      summed.push_back(label);
  SmallVector<int> order = kept;
  order.append(summed);
  SmallVector<int64_t> longest;
  for (int label : order)
    longest.push_back(whole.getExtent(label));
  if (!isRowShape(longest)) {
    obstacle = "its rows would be too long";
    return {};
  }
  auto axesOf = [&](const Factor &factor) -> const Axes & { return whole.getNodes()[factor.node].axes; };
  for (const Factor &factor : factors)
    for (int label : axesOf(factor))
      if (label != kNoLabel && !llvm::is_contained(order, label)) {
        obstacle = "another factor is summed over an axis that the sum does not have";
        return {};
      }
  auto isAmong = [&](auto under, auto over) {
    return llvm::any_of(whole.getGuards(),
                        [&](const SummedProduct::Guard &guard) { return under(guard.guard) && over(guard.guarded); });
  };
  auto isIn = [&](const Factor &factor) { return [&](unsigned node) { return whole.isUnder(factor.node, node); }; };
  auto isInPart = [&](unsigned node) { return static_cast<bool>(isFound[node]); };
  auto guardsPart = [&](const Factor &factor) { return !factor.isInverse && isAmong(isIn(factor), isInPart); };
  auto isGuardedByPart = [&](const Factor &factor) { return isAmong(isInPart, isIn(factor)); };
  auto isSummedOver = [&](const Factor &factor) {
    return llvm::any_of(axesOf(factor), [&](int label) { return llvm::is_contained(summed, label); });
  };
  auto guards = [&](const Factor &factor, const Factor &other) { return isAmong(isIn(factor), isIn(other)); };
  // What is multiplied with a dot product guards it if it guarded either side.
  auto guardsTerm = [&](const Factor &factor) {
    return guardsPart(factor) || (!factor.isInverse && llvm::any_of(factors, [&](const Factor &other) {
             return isSummedOver(other) && guards(factor, other);
           }));
  };
  // A product has one side that guards the other.
  bool sideGuards = false, sideIsGuarded = false, isEitherWay = false;
  for (const Factor &factor : factors) {
    isEitherWay |= guardsTerm(factor) && isGuardedByPart(factor);
    if (isSummedOver(factor) && !factor.isInverse) {
      sideGuards |= guardsPart(factor);
      sideIsGuarded |= isGuardedByPart(factor);
    }
  }
  if (isEitherWay || (sideGuards && sideIsGuarded) || !keepsGuards(candidate, factors)) {
    obstacle = "zeros would no longer hide inf and NaN";
    return {};
  }

  Read term = arrange(whole, {part.getOp().getResult()}, candidate.match.axes, order);
  bool isZeroWithoutRows = true;
  auto applyTo = [&](Read &term, const Factor &factor, Read read, bool isGuarded, bool isGuard) {
    if (isGuarded) {
      term = combine<ChainOp>(term, factor.isInverse ? reciprocal(read) : read);
      return;
    }
    term = factor.isInverse ? combine<DivOp>(term, read)
           : isGuard        ? combine<ChainOp>(read, term)
                            : combine<MulOp>(term, read);
    isZeroWithoutRows = false;
  };
  // First what varies along the axes that are summed over: one row, of which the dot product with the sum is taken.
  std::optional<Read> side;
  for (const Factor &factor : factors) {
    if (!isSummedOver(factor))
      continue;
    Read read = arrange(whole, factor.read, axesOf(factor), order);
    if (factor.isInverse) {
      applyTo(term, factor, read, isGuardedByPart(factor), false);
      continue;
    }
    // Factors come after those that guard them.
    bool isGuarded = llvm::any_of(factors, [&](const Factor &other) { return guards(other, factor); });
    side = !side ? read : isGuarded ? combine<ChainOp>(*side, read) : combine<MulOp>(*side, read);
  }
  if (side) {
    isZeroWithoutRows &= sideIsGuarded;
    term = contract(*side, term, kept.size(), /*isSideFirst=*/!sideIsGuarded, sideGuards || sideIsGuarded);
  } else {
    for (size_t i = 0; i < summed.size(); ++i)
      term = sumAxis(term, static_cast<int64_t>(term.shape().size()) - 1);
  }
  // Then the others; what guards comes last, around all that it may have to protect from.
  for (bool isGuard : {false, true})
    for (const Factor &factor : factors)
      if (!isSummedOver(factor) && guardsTerm(factor) == isGuard) {
        bool isGuarded = !isGuard && (isGuardedByPart(factor) || llvm::any_of(factors, [&](const Factor &other) {
                                        return guards(other, factor);
                                      }));
        applyTo(term, factor, arrange(whole, factor.read, axesOf(factor), kept), isGuarded, isGuard);
      }
  return finish(candidate, term, scale, isZeroWithoutRows);
}

/// The whole sum of a product at the level of the part. `isZeroWithoutRows`: it is 0 where the part is, in any case.
Value Reuser::finish(const Candidate &candidate, Read term, double scale, bool isZeroWithoutRows) {
  const SummedProduct &whole = *candidate.whole;
  ReduceOp op = whole.getOp();
  if (scale == -1)
    term = unary<NegOp>(term);
  else if (scale != 1)
    term = binary<MulOp>(term, constant(scale));
  // The shape of the result: axes of size 1, and axes along which all rows are the same.
  SmallVector<int64_t> shape;
  if (!term.shape().empty()) {
    const int64_t *next = term.shape().begin();
    for (int label : whole.getAxes())
      shape.push_back(label == kNoLabel ? 1 : *next++);
    term = view(term, shape);
  }
  term = toShape(term, op.getResult().getType().getShape());
  bool isLast = candidate.rest == Map::Self;
  bool isReadWithoutRows = !isLast || !llvm::all_of(op->getUses(), [&](mlir::OpOperand &use) {
    Operation *user = use.getOwner();
    return mlir::isa<DenseOp, SpreadOp, WeightGradOp>(user) &&
           leadsToSameRows(walkedDomain(user), readMap(user, use.getOperandNumber()), whole.getFine(), whole.getVia());
  });
  if (!isZeroWithoutRows && isReadWithoutRows && mayHaveEmptyRows(whole.getFine(), candidate.toPart))
    term = choose(isFed(whole.getFine(), candidate.toPart), term, constant(0.0));
  return isLast ? materialise(term) : reduce(ReduceKind::Sum, term, candidate.rest);
}

//===- Choosing --------------------------------------------------------------------------------------------------===//

SmallVector<Reuser::Candidate> Reuser::findCandidates(ArrayRef<SummedProduct> wholes) {
  SmallVector<Candidate> candidates;
  for (const SummedProduct &whole : wholes) {
    ReduceOp op = whole.getOp();
    RowsType type = op.getResult().getType();
    for (const auto &[other, parts] : earlier) {
      RowsType otherType = ReduceOp(other).getResult().getType();
      if (whole.looksInto(other))  // it is what it is computed from already
        continue;
      if (otherType.getElementType() != type.getElementType() || otherType.getResidency() != type.getResidency())
        continue;
      for (const SummedProduct &part : parts) {
        if (part.getFine() != whole.getFine())
          continue;
        auto rest = factor(whole.getFine(), part.getVia(), whole.getVia(), rows.isUniform());
        // What remains to be summed are fewer rows than before.
        auto step = factor(whole.getFine(), whole.getToRows(), part.getVia(), rows.isUniform());
        if (!step || *step == Map::Self)
          continue;
        // Means have the same number of rows only if they are means of the same rows.
        bool isSum = op.getKind() == ReduceKind::Sum;
        if (!rest || ReduceOp(other).getKind() != op.getKind() || (!isSum && *rest != Map::Self))
          continue;
        if (auto match = whole.find(part))
          candidates.push_back({&whole, &part, std::move(*match), part.getVia(), *rest});
      }
    }
  }
  return candidates;
}

/// The time of ops in one loop: what they read, each table once, and their operations.
double Reuser::timeOf(const llvm::SetVector<Operation *> &ops, ReduceOp site) const {
  auto loop = traversalAlong(site.getRows().getType().getDomain(), site.getVia());
  llvm::DenseSet<std::pair<Value, Map>> seen;
  double time = 0;
  for (Operation *op : ops) {
    time += operationSeconds(op, rows, machine);
    Domain from = walkedDomain(op);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (ops.contains(operand.getDefiningOp()))
        continue;
      auto type = mlir::cast<RowsType>(operand.getType());
      Map map = readMap(op, static_cast<unsigned>(i));
      bool isStreamed = map == Map::Self || map == Map::One || (loop && isLevel(*loop, from, map));
      if (!seen.insert({operand, isStreamed ? Map::Self : map}).second)
        continue;
      time += isStreamed ? tableBytes(type, rows) / machine.bandwidth
                         : gatherCost(type, from, map, rows, machine).seconds + 4 * rows.of(from) / machine.bandwidth;
    }
  }
  return time;
}

/// The time of a walk over the fine rows that computes the sum and nothing else, from tables of other domains.
double Reuser::timeOfWalk(ReduceOp op) const {
  llvm::SetVector<Operation *> ops;
  ops.insert(op);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      Operation *source = operand.getDefiningOp();
      bool isInRow = source && (mlir::isa<SpreadOp>(source) || (mlir::isa<DenseOp>(source) && !isProduct(source)));
      if (isInRow && walkedDomain(source) == op.getRows().getType().getDomain())
        ops.insert(source);
    }
  return timeOf(ops, op);
}

/// The time of what was built, except for what depends on the graph alone.
double Reuser::timeOfDraft(ReduceOp site) {
  llvm::SetVector<Operation *> ops;
  llvm::DenseSet<Operation *> ofGraph;
  for (Operation &op : trial.getBlock()) {
    bool isOfGraph = llvm::all_of(op.getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return source && (mlir::isa<ConstantOp>(source) || ofGraph.contains(source));
    });
    if (isOfGraph)
      ofGraph.insert(&op);
    else
      ops.insert(&op);
  }
  return timeOf(ops, site);
}

void Reuser::replace(ReduceOp op, Value by) {
  trial.place();
  auto dead = unread(op.getOperation(), by.getDefiningOp());
  op.replaceAllUsesWith(by);
  for (Operation *gone : dead) {
    trial.forget(gone);
    erased.insert(gone);
  }
  llvm::erase_if(earlier, [&](const auto &entry) { return dead.contains(ReduceOp(entry.first)); });
  for (Operation *gone : dead)
    gone->erase();
}

unsigned Reuser::visit(ReduceOp op) {
  std::vector<SummedProduct> wholes;
  if (op.getResult().getType().getResidency() == Residency::Device)
    wholes = SummedProduct::of(op);
  SmallVector<Candidate> candidates = findCandidates(wholes);
  double now = candidates.empty() ? 0 : timeOfWalk(op);
  const Candidate *best = nullptr;
  double then = 0;
  obstacle = {};
  auto buildUsed = [&](const Candidate &candidate) {
    Value root = build(candidate);
    trial.eraseUnread(root ? root.getDefiningOp() : nullptr);
    return root;
  };
  for (const Candidate &candidate : candidates) {
    if (buildUsed(candidate)) {
      double time = timeOfDraft(op);
      if (!best || time < then) {
        best = &candidate;
        then = time;
      }
    }
    trial.clear();
  }
  if (!best || then >= now) {
    if (best)
      op->emitRemark() << "not computed from another sum: " << formatTime(then) << " instead of " << formatTime(now);
    else if (!obstacle.empty())
      op->emitRemark() << "not computed from another sum: " << obstacle;
    earlier.emplace_back(op, std::move(wholes));
    return 0;
  }
  ReduceOp part = best->part->getOp();
  op->emitRemark() << "computed from another sum: " << formatTime(then) << " instead of " << formatTime(now);
  mlir::emitRemark(part.getLoc()) << "another sum is computed from this one";
  Value root = buildUsed(*best);
  replace(op, root);
  auto rest = root.getDefiningOp<ReduceOp>();
  bool isNew = rest && llvm::none_of(earlier, [&](const auto &entry) { return entry.first == rest; });
  return 1 + (isNew ? visit(rest) : 0);
}

//===- The pass --------------------------------------------------------------------------------------------------===//

struct ReuseSumsPass : impl::ReuseSumsPassBase<ReuseSumsPass> {
  void runOnFlow() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) { sums.push_back(op); });
    Reuser reuser(getOperation());
    unsigned numReplaced = 0;
    for (ReduceOp op : sums)
      if (!reuser.erased.contains(op))
        numReplaced += reuser.visit(op);
    if (numReplaced > 0)
      listRelationEnds(getOperation());
    numReused += numReplaced;
  }
};

}  // namespace

}  // namespace hector::flow
