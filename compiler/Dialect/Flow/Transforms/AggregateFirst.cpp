/// Sums rows before it multiplies them: a sum of products becomes a product of sums, and there are fewer sums.
///
/// A sum from a fine domain F to T is cut at a middle domain M, F → M → T, from which the weights can be read:
///
///   Σ_{F→T} α · (x W)  =  Σ_{M→T} (Σ_{F→M} α · x) W
///
/// `push` builds Σ_{F→M} factors · y from the outside in. It collects factors on the way (the weights of the sum),
/// splits sums in two, and keeps a linear op outside of the sum of its input. A value that M can read is multiplied by
/// the sum of the factors. For three edges into one node, all of one type:
///
///   α₁(x₁W + b) + α₂(x₂W + b) + α₃(x₃W + b)  =  (α₁x₁ + α₂x₂ + α₃x₃) W + (α₁ + α₂ + α₃) b
///
/// Each way to cut is built, counted, and removed again unless it is the best.

#include "compiler/Analysis/LoopCost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>

namespace hector::flow {

#define GEN_PASS_DEF_AGGREGATEFIRSTPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

/// A factor of the terms of a sum, and how zeros are protected from inf and NaN on the other side.
struct Factor {
  enum Kind { Times, Over, ChainOfTerm, ChainOfFactor };  // t · f, t / f, chain(t, f), chain(f, t)
  Kind kind;
  Read read;  // from the fine domain
};
using Factors = SmallVector<Factor, 4>;

/// A way to cut a sum.
struct Cut {
  Map toMiddle = Map::Self;
  unsigned depth = 0;    // how many linear ops stay outside of the sum, one inside the other
  unsigned operand = 0;  // of a weight_grad: the operand that is summed first
  double now = 0, then = 0;
  bool isKept = false;  // another op reads a product that should disappear
};

/// Linear ops inside of each other, and ops looked at in one cut: ops that read one another twice make 2^n paths, and
/// what is further away than that is no part of this sum.
constexpr unsigned kMaxDepth = 4, kMaxVisits = 64;
/// After so many ops, a cut that takes more than twice what it could save is given up: it only gets longer. Twice,
/// since what was built for a way that was not taken counts as well.
constexpr unsigned kFewVisits = 16;

/// Whether a linear op lies beneath `value`, under ops that a sum passes through, near enough to be reached.
bool coversLinear(Value value) {
  SmallVector<Value> open = {value};
  llvm::SmallDenseSet<Operation *> seen;
  for (size_t i = 0; i < open.size() && seen.size() <= kMaxVisits; ++i) {
    Operation *op = open[i].getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (mlir::isa<LinearOp>(op))
      return true;
    auto reduce = mlir::dyn_cast<RowReduceOp>(op);
    if (mlir::isa<DivOp>(op))
      open.push_back(op->getOperand(0));
    else if (mlir::isa<SpreadOp, MulOp, ChainOp, AddOp, SubOp, NegOp, ExpandOp, ReshapeOp, SliceOp, ConcatOp>(op) ||
             (reduce && isLinear(reduce.getKind())))
      open.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Rewrites one reduction or weight_grad at a time.
class Aggregator : RowBuilder {
public:
  Aggregator(mlir::func::FuncOp function, const RowCounts &rows)
      : RowBuilder(function.getContext()), trial(function.getBody().front()), rows(rows), machine(function) {
    draft = &trial;
  }

  /// Whether the op was replaced. The op, and ops that nothing else reads, are then in `erased`.
  bool visit(Operation *op);

  llvm::DenseSet<Operation *> erased;

private:
  //===- Trying ----===//
  template <class Build> bool choose(Operation *site, ArrayRef<Cut> cuts, bool remarks, Build build);
  bool visitReduce(ReduceOp op, bool isRest = false);
  bool visitWeightGrad(WeightGradOp op);
  SmallVector<Map> mapsToMiddle(Domain from, Map via) const;
  double countDraft();
  void giveUpIfHopeless();

  //===- Building -----===//
  Value buildReduce(ReduceOp op, const Cut &cut);
  Value buildWeightGrad(WeightGradOp op, const Cut &cut);
  void start(Operation *site, Domain from, const Cut &cut, ReduceKind how);
  std::optional<Read> push(Read y, Factors factors, unsigned depth);
  Read pushOrSum(Read y, const Factors &factors, unsigned depth);
  std::optional<Read> pushProduct(Operation *op, Read a, Read b, const Factors &factors, unsigned depth);
  std::optional<Read> pushSum(Operation *op, Read a, Read b, const Factors &factors, unsigned depth);
  std::optional<Read> pushLinear(LinearOp op, Read x, Read w, ArrayRef<int64_t> shape, const Factors &factors,
                                 unsigned depth);
  std::optional<Read> pushReshape(Read z, ArrayRef<int64_t> shape, const Factors &factors, unsigned depth);
  std::optional<Read> pushRowReduce(RowReduceOp op, Read z, const Factors &factors, unsigned depth);
  std::optional<Read> pushSlice(SliceOp op, Read z, const Factors &factors, unsigned depth);
  std::optional<Read> pushConcat(ConcatOp op, ArrayRef<Read> parts, const Factors &factors, unsigned depth);
  Read sum(Read y, const Factors &factors);
  Read weigh(Read value, const Factors &factors);
  struct Parted {
    Factors factors;
    Read value;  // from the middle
  };
  std::optional<Parted> part(Read y);

  //===- Reads ----===//
  /// The operand of the op that defines `y`, as read from the fine domain.
  std::optional<Read> operandOf(Read y, DenseOp op, unsigned i) const;
  std::optional<Read> fromMiddle(Read y) const;
  Read apply(Factor::Kind kind, Read term, Read factor);
  Read applyFine(Read term, const Factors &factors);
  Read applyFromMiddle(Read term, const Factors &factors);
  SmallVector<int64_t> shapeWith(ArrayRef<int64_t> shape, const Factors &factors) const;
  /// `a`, rows of the middle, but 0 in rows that no fine row leads to: values and gradients there belong to no sum.
  Read withoutEmptyRows(Read a);

  Draft trial;
  const RowCounts &rows;
  Machine machine;
  Domain fine = Domain::Edge, middle = Domain::Edge;
  Map toMiddle = Map::Self;
  ReduceKind kind = ReduceKind::Sum;
  SmallVector<LinearOp> pushed;
  bool reachedDepth = false;
  unsigned numVisits = 0;
  double mostSaved = 0;  // by any cut: the time of all that nothing but the site needs
  double spent = 0;      // by the cut at hand, up to the op that was counted last
  Operation *lastCounted = nullptr;
  bool isHopeless = false;  // then what is built of the cut no longer matters
  llvm::StringRef obstacle;
};

//===- Reads -----------------------------------------------------------------------------------------------------===//

std::optional<Read> Aggregator::operandOf(Read y, DenseOp op, unsigned i) const {
  auto map = compose(fine, y.map, op.getMap(i));
  return map ? std::optional(throughSpreads(fine, {op->getOperand(i), *map})) : std::nullopt;
}

std::optional<Read> Aggregator::fromMiddle(Read y) const {
  auto map = factor(fine, toMiddle, y.map, rows.isUniform());
  return map ? std::optional(Read{y.table, *map}) : std::nullopt;
}

Read Aggregator::apply(Factor::Kind kind, Read term, Read factor) {
  switch (kind) {
  case Factor::Times:
    return combine<MulOp>(term, factor);
  case Factor::Over:
    return combine<DivOp>(term, factor);
  case Factor::ChainOfTerm:
    return combine<ChainOp>(term, factor);
  case Factor::ChainOfFactor:
    return combine<ChainOp>(factor, term);
  }
  return term;
}

/// Multiplies by the factors that the middle cannot read, the innermost first. Factors are narrow and terms wide, so
/// neighbours are multiplied with each other first.
Read Aggregator::applyFine(Read term, const Factors &factors) {
  SmallVector<Factor> inner;
  for (const Factor &factor : llvm::reverse(factors))
    if (!fromMiddle(factor.read))
      inner.push_back(factor);
  for (size_t i = 0; i < inner.size();) {
    bool isChain = inner[i].kind >= Factor::ChainOfTerm;
    if (isChain) {
      Factor run = inner[i++];
      for (; i < inner.size() && inner[i].kind == run.kind; ++i)
        run.read = run.kind == Factor::ChainOfTerm ? combine<ChainOp>(run.read, inner[i].read)
                                                   : combine<ChainOp>(inner[i].read, run.read);
      term = apply(run.kind, term, run.read);
      continue;
    }
    std::optional<Read> times, over;
    for (; i < inner.size() && inner[i].kind <= Factor::Over; ++i) {
      std::optional<Read> &product = inner[i].kind == Factor::Times ? times : over;
      product = product ? combine<MulOp>(*product, inner[i].read) : inner[i].read;
    }
    if (times && over)
      times = combine<DivOp>(*times, *over);
    term = times ? apply(Factor::Times, term, *times) : apply(Factor::Over, term, *over);
  }
  return term;
}

Read Aggregator::applyFromMiddle(Read term, const Factors &factors) {
  for (const Factor &factor : llvm::reverse(factors))
    if (auto there = fromMiddle(factor.read))
      term = apply(factor.kind, term, *there);
  return term;
}

SmallVector<int64_t> Aggregator::shapeWith(ArrayRef<int64_t> shape, const Factors &factors) const {
  SmallVector<int64_t> result(shape);
  for (const Factor &factor : factors) {
    size_t rank = std::max(result.size(), factor.read.shape().size());
    result = *commonShape(padded(result, rank), padded(factor.read.shape(), rank));
  }
  return result;
}

Read Aggregator::withoutEmptyRows(Read a) {
  at = middle;
  Value table = a.table;
  while (auto change = table.getDefiningOp<DenseOp>()) {
    if (!mlir::isa<ExpandOp, ReshapeOp>(change) || change.getMap(0) != Map::Self)
      break;
    table = change->getOperand(0);
  }
  auto sum = table.getDefiningOp<ReduceOp>();
  bool isPlainSum = a.map == Map::Self && sum && sum.getVia() == toMiddle && !sum.getInit();
  return isPlainSum || !mayHaveEmptyRows(fine, toMiddle) ? a
                                                         : RowBuilder::choose(isFed(fine, toMiddle), a, constant(0.0));
}

//===- Pushing a sum inwards -------------------------------------------------------------------------------------===//

/// Σ factors · y, summed here, because there is nothing to gain beneath `y`.
Read Aggregator::sum(Read y, const Factors &factors) {
  at = fine;
  Value total = reduce(kind, applyFine(y, factors), toMiddle);
  giveUpIfHopeless();
  at = middle;
  return applyFromMiddle({total}, factors);
}

/// `value`, which the middle reads, times the sum of the factors.
Read Aggregator::weigh(Read value, const Factors &factors) {
  Factors inner;
  bool guardsTerm = false, guardsFactor = false;
  for (const Factor &factor : factors) {
    if (fromMiddle(factor.read))
      continue;
    inner.push_back(factor);
    guardsTerm |= factor.kind == Factor::ChainOfTerm;
    guardsFactor |= factor.kind == Factor::ChainOfFactor;
  }
  at = fine;
  std::optional<Read> total;
  if (inner.empty() && kind == ReduceKind::Sum) {
    total = Read{reduce(kind, ones(fine), toMiddle)};
  } else if (!inner.empty()) {
    bool isOneProduct = inner.size() == 1 && inner[0].kind != Factor::Over;
    total = Read{reduce(kind, isOneProduct ? inner[0].read : applyFine(constant(1.0), inner), toMiddle)};
  }
  at = middle;
  if (total)
    value = apply(guardsFactor ? Factor::ChainOfFactor
                  : guardsTerm ? Factor::ChainOfTerm
                               : Factor::Times,
                  value, *total);
  return applyFromMiddle(value, factors);
}

Read Aggregator::pushOrSum(Read y, const Factors &factors, unsigned depth) {
  auto there = push(y, factors, depth);
  return there ? *there : isHopeless ? y : sum(y, factors);
}

/// Σ factors · y as rows of the middle, or nothing if it is only possible to sum `y` as it is.
std::optional<Read> Aggregator::push(Read y, Factors factors, unsigned depth) {
  if (!isRowShape(shapeWith(y.shape(), factors)))
    return std::nullopt;
  y = throughSpreads(fine, y);
  if (auto there = fromMiddle(y))
    return weigh(*there, factors);
  auto op = y.table.getDefiningOp<DenseOp>();
  if (!op || isHopeless || ++numVisits > kMaxVisits)
    return std::nullopt;
  SmallVector<Read> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto operand = operandOf(y, op, i);
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  using Result = std::optional<Read>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<MulOp, DivOp, ChainOp>([&](auto) { return pushProduct(op, operands[0], operands[1], factors, depth); })
      .Case<AddOp, SubOp>([&](auto) { return pushSum(op, operands[0], operands[1], factors, depth); })
      .Case<NegOp>([&](auto) -> Result {
        auto there = push(operands[0], factors, depth);
        if (!there)
          return std::nullopt;
        at = middle;
        return unary<NegOp>(*there);
      })
      // Readers repeat rows that are narrower than they expect.
      .Case<ExpandOp>([&](auto) { return push(operands[0], factors, depth); })
      .Case<ReshapeOp>([&](auto) { return pushReshape(operands[0], y.shape(), factors, depth); })
      .Case<RowReduceOp>([&](RowReduceOp reduce) { return pushRowReduce(reduce, operands[0], factors, depth); })
      .Case<SliceOp>([&](SliceOp slice) { return pushSlice(slice, operands[0], factors, depth); })
      .Case<ConcatOp>([&](ConcatOp concat) { return pushConcat(concat, operands, factors, depth); })
      .Case<LinearOp>(
          [&](LinearOp linear) { return pushLinear(linear, operands[0], operands[1], y.shape(), factors, depth); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

/// One side is a factor. The sum moves into the other side: the one with a linear op beneath, or else the wider one.
std::optional<Read> Aggregator::pushProduct(Operation *op, Read a, Read b, const Factors &factors, unsigned depth) {
  std::optional<Read> found;
  SmallVector<std::pair<Read, Factor>> choices;
  if (mlir::isa<DivOp>(op)) {
    choices = {{a, {Factor::Over, b}}};
  } else {
    bool isChain = mlir::isa<ChainOp>(op);
    choices = {{b, {isChain ? Factor::ChainOfFactor : Factor::Times, a}},
               {a, {isChain ? Factor::ChainOfTerm : Factor::Times, b}}};
    if (a.type().getRowSize() > b.type().getRowSize())
      std::swap(choices[0], choices[1]);
  }
  // Inside of a factor that guards, a quotient may be 0/0 where the guard is 0: what the middle reads of it must not
  // touch the sum there. A chain of the term leaves zeros alone.
  if (llvm::any_of(factors, [](const Factor &factor) { return factor.kind == Factor::ChainOfFactor; }))
    for (auto &[term, factor] : choices) {
      if (factor.kind == Factor::Over)
        factor.read = reciprocal(factor.read);
      if (factor.kind <= Factor::Over)
        factor.kind = Factor::ChainOfTerm;
    }
  for (auto &[term, factor] : choices) {
    if (isHopeless)
      return std::nullopt;
    size_t before = pushed.size();
    Factors more = factors;
    more.push_back(factor);
    auto there = push(term, more, depth);
    if (there && (!found || pushed.size() > before))
      found = there;
    if (pushed.size() > before)
      break;
  }
  return found;
}

std::optional<Read> Aggregator::pushSum(Operation *op, Read a, Read b, const Factors &factors, unsigned depth) {
  auto left = push(a, factors, depth), right = push(b, factors, depth);
  if (isHopeless || (!left && !right))
    return std::nullopt;
  if (!left)
    left = sum(a, factors);
  if (!right)
    right = sum(b, factors);
  at = middle;
  return mlir::isa<AddOp>(op) ? combine<AddOp>(*left, *right) : combine<SubOp>(*left, *right);
}

/// Whether a factor is the same along the last axis of what it multiplies.
bool isNarrow(const Read &factor) {
  return factor.shape().empty() || factor.shape().back() == 1;
}

/// Σ factors · (x w) = (Σ factors · x) w. If there is one factor per head, x becomes one row per head.
std::optional<Read> Aggregator::pushLinear(LinearOp op, Read x, Read w, ArrayRef<int64_t> shape, const Factors &factors,
                                           unsigned depth) {
  auto weights = fromMiddle(w);
  if (!weights) {
    obstacle = "its weights cannot be read from a domain between";
    return std::nullopt;
  }
  Factors inside, outside;
  bool isGuarded = op.getGuarded();
  bool isSmallerAfter = shape.back() <= x.shape().back();
  for (const Factor &factor : factors) {
    // If only the factor has these heads, they cannot be added to weights that have heads themselves.
    bool isNarrowHere =
        isNarrow(factor.read) && (w.shape().size() == 2 || ArrayRef<int64_t>(shapeWith(shape, {factor})) == shape);
    bool isReadable = fromMiddle(factor.read).has_value();
    if (!isNarrowHere && !isReadable) {
      obstacle = "a factor varies along the last axis of the product";
      return std::nullopt;
    }
    (isReadable && (isSmallerAfter || !isNarrowHere) ? outside : inside).push_back(factor);
    isGuarded |= factor.kind == Factor::ChainOfFactor;
  }
  if (depth == 0) {
    reachedDepth = true;
    return std::nullopt;
  }
  if (!isRowShape(shapeWith(x.shape(), inside))) {
    obstacle = "its input has no room for the heads of a factor";
    return std::nullopt;
  }
  Read total = pushOrSum(x, inside, depth - 1);
  if (isHopeless)
    return std::nullopt;
  total = toShape(total, shapeWith(x.shape(), inside));
  ArrayRef<int64_t> lead = w.shape().drop_back(2);
  if (total.shape().size() > 1 && !lead.empty() && total.shape().drop_back() != lead) {
    SmallVector<int64_t> wide(lead);
    wide.push_back(total.shape().back());
    total = toShape(total, wide);
  }
  mlir::Location here = std::exchange(location, op.getLoc());
  at = middle;
  Read product = linear(total, *weights, op.getTransposed(), isGuarded);
  pushed.push_back(op);
  product = applyFromMiddle(product, outside);
  location = here;
  return product;
}

/// The shape of `z` changes to `shape`. Factors fit the new shape and must be converted to the old one.
std::optional<Read> Aggregator::pushReshape(Read z, ArrayRef<int64_t> shape, const Factors &factors, unsigned depth) {
  // Axes of size 1 in front: factors find the axes that they repeat along by counting from the last.
  if (z.shape().size() < shape.size() && ArrayRef<int64_t>(padded(z.shape(), shape.size())) == shape)
    return push(z, factors, depth);
  Factors before;
  bool fits = true;
  at = fine;
  for (const Factor &factor : factors) {
    Read f = factor.read;
    if (f.type().getRowSize() == 1) {
      before.push_back({factor.kind, view(f, {})});
    } else if (f.shape().size() != shape.size() || ArrayRef<int64_t>(shapeWith(shape, {factor})) != shape) {
      return std::nullopt;  // repeats what is reshaped
    } else if (isNarrow(f) && shape.back() == z.shape().back()) {
      SmallVector<int64_t> full(shape.drop_back()), old(z.shape().drop_back());
      full.push_back(1);
      old.push_back(1);
      before.push_back({factor.kind, view(toShape(f, full), old)});
    } else {
      fits = false;
    }
  }
  if (fits) {
    auto there = push(z, before, depth);
    return there ? std::optional(view(toShape(*there, shapeWith(z.shape(), before)), shape)) : std::nullopt;
  }
  // Usually one product computes all heads, x · W[i, heads · d], and there is one factor per head.
  auto op = z.table.getDefiningOp<DenseOp>();
  if (!op)
    return std::nullopt;
  SmallVector<Read> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto operand = operandOf(z, op, i);
    if (!operand)
      return std::nullopt;
    operands.push_back(*operand);
  }
  if (auto product = mlir::dyn_cast<LinearOp>(op.getOperation())) {
    Read x = operands[0], w = operands[1];
    if (x.shape().size() != 1 || w.shape().size() != 2) {
      obstacle = "heads are cut out of a product that has heads already";
      return std::nullopt;
    }
    // W[i, heads · d] as W[heads, i, d]; a transposed W has its heads in front already.
    SmallVector<int64_t> cut, lead(shape.drop_back());
    int64_t inner = x.shape()[0], width = shape.back();
    if (product.getTransposed()) {
      cut = lead;
      cut.append({width, inner});
      w = view(w, cut);
    } else {
      cut.push_back(inner);
      cut.append(shape.begin(), shape.end());
      w = view(w, cut);
      SmallVector<int64_t> order, turned = lead;
      for (size_t k = 1; k <= lead.size(); ++k)
        order.push_back(static_cast<int64_t>(k));
      order.append({0, static_cast<int64_t>(lead.size()) + 1});
      turned.append({inner, width});
      Domain here = std::exchange(at, w.type().getDomain());
      w.table = make<TransposeOp>({Read{w.table}}, turned,
                                  {builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(order))})
                    .table;
      at = here;
    }
    return pushLinear(product, x, w, shape, factors, depth);
  }
  // Element-wise ops work in either shape.
  if (!mlir::isa<AddOp, SubOp, NegOp, MulOp, DivOp, ChainOp>(op))
    return std::nullopt;
  for (Read &operand : operands)
    operand = operand.type().getRowSize() == 1 ? view(operand, {}) : view(toShape(operand, z.shape()), shape);
  if (mlir::isa<AddOp, SubOp>(op))
    return pushSum(op, operands[0], operands[1], factors, depth);
  if (!mlir::isa<NegOp>(op))
    return pushProduct(op, operands[0], operands[1], factors, depth);
  auto there = push(operands[0], factors, depth);
  if (!there)
    return std::nullopt;
  at = middle;
  return unary<NegOp>(*there);
}

std::optional<Read> Aggregator::pushRowReduce(RowReduceOp op, Read z, const Factors &factors, unsigned depth) {
  if (!isLinear(op.getKind()))
    return std::nullopt;
  Factors before;
  size_t rank = z.shape().size() - 1;
  int64_t axis = op.getAxis();
  for (const Factor &factor : factors) {
    if (factor.read.type().getRowSize() == 1) {
      before.push_back({factor.kind, view(factor.read, {})});
      continue;
    }
    if (factor.read.shape().size() != rank)
      return std::nullopt;
    SmallVector<int64_t> shape(factor.read.shape());
    shape.insert(shape.begin() + axis, 1);
    before.push_back({factor.kind, view(factor.read, shape)});
  }
  auto there = push(z, before, depth);
  if (!there)
    return std::nullopt;
  Read total = toShape(*there, shapeWith(z.shape(), before));
  SmallVector<int64_t> shape(total.shape());
  shape.erase(shape.begin() + axis);
  at = middle;
  return make<RowReduceOp>({total}, shape, {axisAttr(axis), builder.getNamedAttr("kind", op.getKindAttr())});
}

/// Whether all factors are the same along an axis of rows of `rank` axes.
bool isConstantAlong(int64_t axis, size_t rank, const Factors &factors) {
  return llvm::all_of(factors, [&](const Factor &factor) {
    ArrayRef<int64_t> shape = factor.read.shape();
    return sizeOf(shape) == 1 || (shape.size() >= rank && shape[shape.size() - rank + axis] == 1);
  });
}

std::optional<Read> Aggregator::pushSlice(SliceOp op, Read z, const Factors &factors, unsigned depth) {
  size_t rank = z.shape().size();
  int64_t axis = op.getAxis();
  if (!isConstantAlong(axis, rank, factors))
    return std::nullopt;
  auto there = push(z, factors, depth);
  if (!there)
    return std::nullopt;
  Read total = toShape(*there, shapeWith(z.shape(), factors));
  axis += static_cast<int64_t>(total.shape().size() - rank);
  SmallVector<int64_t> shape(total.shape());
  shape[axis] = op.getResult().getType().getShape()[op.getAxis()];
  at = middle;
  return make<SliceOp>({total}, shape, {axisAttr(axis), builder.getNamedAttr("offset", op.getOffsetAttr())});
}

std::optional<Read> Aggregator::pushConcat(ConcatOp op, ArrayRef<Read> parts, const Factors &factors, unsigned depth) {
  size_t rank = parts.front().shape().size();
  int64_t axis = op.getAxis();
  if (!isConstantAlong(axis, rank, factors))
    return std::nullopt;
  SmallVector<std::optional<Read>> there;
  for (const Read &part : parts)
    there.push_back(push(part, factors, depth));
  if (isHopeless || llvm::none_of(there, [](const auto &part) { return part.has_value(); }))
    return std::nullopt;
  SmallVector<Read> totals;
  for (auto [part, found] : llvm::zip_equal(parts, there))
    totals.push_back(toShape(found ? *found : sum(part, factors), shapeWith(part.shape(), factors)));
  axis += static_cast<int64_t>(totals.front().shape().size() - rank);
  SmallVector<int64_t> shape(totals.front().shape());
  shape[axis] = op.getResult().getType().getShape()[op.getAxis()];
  at = middle;
  return make<ConcatOp>(totals, shape, {axisAttr(axis)});
}

//===- Building one cut ------------------------------------------------------------------------------------------===//

void Aggregator::start(Operation *site, Domain from, const Cut &cut, ReduceKind how) {
  startAt(site);
  fine = from;
  toMiddle = cut.toMiddle;
  middle = *mapTarget(fine, toMiddle);
  kind = how;
  pushed.clear();
  reachedDepth = false;
  numVisits = 0;
  spent = 0;
  lastCounted = nullptr;
  isHopeless = false;
}

/// The reduction's result by this cut, or nothing if no linear op would stay outside.
Value Aggregator::buildReduce(ReduceOp op, const Cut &cut) {
  Map rest = *factor(op.getRows().getType().getDomain(), cut.toMiddle, op.getVia(), rows.isUniform());
  // A mean through a middle domain is a sum that is divided at the end.
  bool dividesAfter = op.getKind() == ReduceKind::Mean && rest != Map::Self;
  if (dividesAfter && op.getResult().getType().getElementType().getIntOrFloatBitWidth() < 32)
    return {};  // the sum or the count may exceed the range of the type
  start(op, op.getRows().getType().getDomain(), cut, dividesAfter ? ReduceKind::Sum : op.getKind());
  auto there = push({op.getRows()}, {}, cut.depth);
  if (!there || pushed.empty())
    return {};
  Read total = withoutEmptyRows(toShape(*there, op.getResult().getType().getShape()));
  at = middle;
  if (rest == Map::Self)
    return materialise(total);
  Value result = reduce(ReduceKind::Sum, total, rest);
  if (!dividesAfter)
    return result;
  Read one = ones(fine);
  at = fine;
  Value count = reduce(ReduceKind::Sum, one, op.getVia());
  at = op.getResult().getType().getDomain();
  return binary<DivOp>({result}, binary<MaxOp>({count}, constant(1.0))).table;
}

/// `y` as factors that must be read row by row times a value that the middle reads.
std::optional<Aggregator::Parted> Aggregator::part(Read y) {
  y = throughSpreads(fine, y);
  if (auto there = fromMiddle(y))
    return Parted{{}, *there};
  auto op = y.table.getDefiningOp<DenseOp>();
  if (!op || !mlir::isa<MulOp, DivOp, ChainOp, NegOp>(op))
    return std::nullopt;
  unsigned numTerms = mlir::isa<MulOp, ChainOp>(op) ? 2 : 1;
  for (unsigned i = 0; i < numTerms; ++i) {
    auto term = operandOf(y, op, i);
    auto parted = term ? part(*term) : std::nullopt;
    if (!parted)
      continue;
    if (mlir::isa<NegOp>(op)) {
      at = middle;
      parted->value = unary<NegOp>(parted->value);
      return parted;
    }
    auto other = operandOf(y, op, 1 - i);
    if (!other || (!isNarrow(*other) && !fromMiddle(*other)))
      continue;
    Factor::Kind how = mlir::isa<DivOp>(op)   ? Factor::Over
                       : mlir::isa<MulOp>(op) ? Factor::Times
                       : i == 0               ? Factor::ChainOfTerm
                                              : Factor::ChainOfFactor;
    at = middle;
    if (auto there = fromMiddle(*other))
      parted->value = apply(how, parted->value, *there);
    else
      parted->factors.insert(parted->factors.begin(), {how, *other});
    return parted;
  }
  return std::nullopt;
}

/// Σ x ⊗ f·g = Σ_M (Σ f·x) ⊗ g where the middle reads g, and the other way round.
Value Aggregator::buildWeightGrad(WeightGradOp op, const Cut &cut) {
  start(op, op.getOver(), cut, ReduceKind::Sum);
  Map rest = *factor(fine, toMiddle, op.getVia(), rows.isUniform());
  Read operands[] = {{op.getInput(), op.getInputMap()}, {op.getGrad(), op.getGradMap()}};
  unsigned summed = cut.operand;
  auto kept = part(operands[1 - summed]);
  if (!kept)
    return {};
  // A row without gradient contributes nothing, even if the input is inf or NaN: the guard is on the gradient's side.
  // Its factors are multiplied with each other first, the innermost one first, which guards the others as it did
  // before.
  Factors factors;
  at = fine;
  std::optional<Read> product;
  for (const Factor &factor : llvm::reverse(kept->factors)) {
    bool isQuotient = factor.kind == Factor::Over;
    Read f = isQuotient ? reciprocal(factor.read) : factor.read;
    product = product ? apply(isQuotient ? Factor::Times : factor.kind, *product, f) : f;
  }
  if (product)
    factors.push_back({summed == 0 ? Factor::ChainOfFactor : Factor::ChainOfTerm, *product});
  if (!isRowShape(shapeWith(operands[summed].shape(), factors)))
    return {};
  Read total = pushOrSum(operands[summed], factors, cut.depth);
  if (isHopeless)
    return {};
  total = toShape(total, shapeWith(operands[summed].shape(), factors));
  Read other = toShape(kept->value, operands[1 - summed].shape());
  if (total.shape().size() > 1 && other.shape().size() > 1) {
    SmallVector<int64_t> shape(other.shape().drop_back());
    shape.push_back(total.shape().back());
    total = toShape(total, shape);
  }
  Read &grad = summed == 0 ? other : total;
  grad = withoutEmptyRows(grad);
  Read &input = summed == 0 ? total : other;
  // If the gradient itself is the factor, the sum now holds the zeros: the guard moves there, and the matrix is
  // transposed.
  bool isTurned = summed == 0 && llvm::any_of(kept->factors, [](const Factor &factor) {
                    return factor.kind == Factor::ChainOfFactor;
                  });
  if (isTurned)
    std::swap(input, grad);
  return share(builder.create<WeightGradOp>(location, op.getResult().getType(), input.table, grad.table, input.map,
                                            grad.map, middle, rest, op.getTransposed() != isTurned));
}

//===- Trying and choosing ---------------------------------------------------------------------------------------===//

/// The maps to all domains through which `via` leads.
SmallVector<Map> Aggregator::mapsToMiddle(Domain from, Map via) const {
  SmallVector<Map> maps;
  for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i) {
    Map map = static_cast<Map>(i);
    // A relation has node types at its ends on uniform graphs only, unless the function says so itself.
    bool asksRelation = from != Domain::Edge && (map == Map::SrcNodeType || map == Map::DstNodeType);
    if (asksRelation && map != via && !rows.isUniform())
      continue;
    if (map != Map::Self && mapTarget(from, map) && factor(from, map, via, rows.isUniform()))
      maps.push_back(map);
  }
  return maps;
}

double Aggregator::countDraft() {
  double sum = 0;
  for (Operation &op : trial.getBlock())
    sum += fusedSeconds(&op, rows, machine);
  return sum;
}

/// Looks at what was built since it last did.
void Aggregator::giveUpIfHopeless() {
  mlir::Block &built = trial.getBlock();
  auto next = lastCounted ? std::next(lastCounted->getIterator()) : built.begin();
  for (Operation &op : llvm::make_range(next, built.end())) {
    spent += fusedSeconds(&op, rows, machine);
    lastCounted = &op;
  }
  isHopeless |= numVisits >= kFewVisits && spent > 2 * mostSaved;
}

/// Builds and counts every cut. Replaces `site` with the best one if that takes less time.
template <class Build> bool Aggregator::choose(Operation *site, ArrayRef<Cut> cuts, bool remarks, Build build) {
  auto buildUsed = [&](const Cut &cut) {
    Value root = build(cut);
    trial.eraseUnread(root ? root.getDefiningOp() : nullptr);
    return root;
  };
  auto count = [&](const auto &ops) {
    double sum = 0;
    for (Operation *op : ops)
      sum += fusedSeconds(op, rows, machine);
    return sum;
  };
  mostSaved = count(unread(site));
  std::optional<Cut> best;
  obstacle = {};
  SmallVector<Cut> queue(cuts);
  for (size_t i = 0; i < queue.size(); ++i) {
    Cut cut = queue[i];
    Value root = buildUsed(cut);
    if (reachedDepth && cut.depth < kMaxDepth)  // there is a linear op further in
      queue.push_back({cut.toMiddle, cut.depth + 1, cut.operand});
    if (!root)
      continue;
    auto dead = unread(site, root.getDefiningOp());
    cut.now = count(dead);
    cut.then = countDraft();
    cut.isKept = llvm::any_of(pushed, [&](LinearOp product) { return !dead.contains(product); });
    if (!best || cut.then - cut.now < best->then - best->now)
      best = cut;
    trial.clear();
  }
  bool isWorthIt = best && best->then < best->now;
  if (!isWorthIt && !(remarks && (best || !obstacle.empty())))
    return false;
  std::string now = best ? formatTime(best->now) : "", then = best ? formatTime(best->then) : "";
  if (!isWorthIt) {
    std::string reason = !best          ? obstacle.str()
                         : best->isKept ? "another op reads the product"
                                        : now + " now, " + then + " then";
    site->emitRemark() << "not aggregated first: " << reason;
    return false;
  }
  Domain from = fine;
  Value root = buildUsed(*best);
  trial.place();
  site->emitRemark() << "aggregated first at " << stringifyDomain(*mapTarget(from, best->toMiddle)) << ": " << then
                     << " instead of " << now;
  auto dead = unread(site, root.getDefiningOp());
  site->getResult(0).replaceAllUsesWith(root);
  for (Operation *op : dead) {
    trial.forget(op);
    erased.insert(op);
    op->erase();
  }
  // The remaining sum may pass a linear op that the whole sum could not pass.
  if (auto reduce = root.getDefiningOp<ReduceOp>())
    visitReduce(reduce, /*isRest=*/true);
  return true;
}

bool Aggregator::visitReduce(ReduceOp op, bool isRest) {
  if (!isLinear(op.getKind()) || op.getResult().getType().getResidency() != Residency::Device ||
      !coversLinear(op.getRows()))
    return false;
  SmallVector<Cut> cuts;
  for (Map map : mapsToMiddle(op.getRows().getType().getDomain(), op.getVia()))
    cuts.push_back({map, 1});
  return choose(op, cuts, /*remarks=*/!isRest, [&](const Cut &cut) { return buildReduce(op, cut); });
}

bool Aggregator::visitWeightGrad(WeightGradOp op) {
  if (op.getResult().getType().getResidency() != Residency::Device)
    return false;
  SmallVector<Cut> cuts;
  for (Map map : mapsToMiddle(op.getOver(), op.getVia()))
    for (unsigned summed : {1u, 0u})
      cuts.push_back({map, 0, summed});
  return choose(op, cuts, /*remarks=*/true, [&](const Cut &cut) { return buildWeightGrad(op, cut); });
}

bool Aggregator::visit(Operation *op) {
  if (auto reduce = mlir::dyn_cast<ReduceOp>(op))
    return visitReduce(reduce);
  return visitWeightGrad(mlir::cast<WeightGradOp>(op));
}

//===- The pass --------------------------------------------------------------------------------------------------===//

/// A weight_grad reads through maps, as dense ops do, and needs no operand spread.
void readThroughSpreads(WeightGradOp op) {
  while (auto spread = op.getInput().getDefiningOp<SpreadOp>()) {
    auto map = compose(op.getOver(), op.getInputMap(), spread.getVia());
    if (!map)
      break;
    op.getInputMutable().assign(spread.getRows());
    op.setInputMap(*map);
  }
  while (auto spread = op.getGrad().getDefiningOp<SpreadOp>()) {
    auto map = compose(op.getOver(), op.getGradMap(), spread.getVia());
    if (!map)
      break;
    op.getGradMutable().assign(spread.getRows());
    op.setGradMap(*map);
  }
}

struct AggregateFirstPass : impl::AggregateFirstPassBase<AggregateFirstPass> {
  using AggregateFirstPassBase::AggregateFirstPassBase;

  void runOnFlow() override {
    mlir::Block &body = getOperation().getBody().front();
    body.walk([](WeightGradOp op) { readThroughSpreads(op); });
    // An op that nothing reads would count as a reader.
    for (Operation *op = body.getTerminator()->getPrevNode(), *next = nullptr; op; op = next) {
      next = op->getPrevNode();
      if (op->use_empty())
        op->erase();
    }
    SmallVector<Operation *> sites = sumsOfProducts(body);
    numConsidered += sites.size();
    RowCounts rows(getOperation());
    Aggregator aggregator(getOperation(), rows);
    bool isChanged = false;
    for (auto [ordinal, site] : llvm::enumerate(sites)) {
      auto isIn = [&](const auto &list) { return llvm::is_contained(list, static_cast<int64_t>(ordinal)); };
      bool isAsked = (only.empty() || isIn(only)) && !isIn(skip);
      if (isAsked && !aggregator.erased.contains(site) && aggregator.visit(site)) {
        ++numApplied;
        isChanged = true;
      }
    }
    if (isChanged)
      listRelationEnds(getOperation());
  }
};

}  // namespace

SmallVector<Operation *> sumsOfProducts(mlir::Block &body) {
  SmallVector<Operation *> sums;
  for (Operation &op : body.without_terminator()) {
    auto reduce = mlir::dyn_cast<ReduceOp>(op);
    if (mlir::isa<WeightGradOp>(op) || (reduce && isLinear(reduce.getKind()) && coversLinear(reduce.getRows())))
      sums.push_back(&op);
  }
  return sums;
}

}  // namespace hector::flow
