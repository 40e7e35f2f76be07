/// Folds and canonical forms: rewrites that are simpler on every graph and for all numbers, but for the sign of zeros:
/// -0 + 0 is taken for -0. For example, exp(log(x)) is not x if x is negative, log(exp(x)) overflows, and x / x, x - x
/// and 0 * x are not constant if x is 0, inf or NaN.

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <mlir/IR/Matchers.h>
#include <mlir/IR/PatternMatch.h>

#include <cmath>

using namespace mlir;
using namespace hector::flow;

/// A number as rows of `type` hold it.
static double rounded(double value, Type type) {
  APFloat number(value);
  bool isInexact = false;
  number.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &isInexact);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isInexact);
  return number.convertToDouble();
}

/// The number that a constant operand folds to.
static std::optional<double> number(Attribute attribute) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
    return value.getValueAsDouble();
  return std::nullopt;
}

/// Operand `i`, if the op's result may be replaced by it as it is.
static OpFoldResult asIs(DenseOp op, unsigned i) {
  if (op.getMap(i) == Map::Self && op->getOperand(i).getType() == op.getResultRows())
    return op->getOperand(i);
  return {};
}

/// `compute` of the constants that an op reads, if it reads nothing else; the result is then a constant too. As when
/// running, numbers are rounded to their type as they are read, and the result once more.
template <class Compute, class... Operands>
static OpFoldResult foldNumbers(DenseOp op, Compute compute, Operands... operands) {
  RowsType type = op.getResultRows();
  if (type.getDomain() != Domain::One || type.getRank() != 0 || !(operands && ...))
    return {};
  double result = rounded(compute(rounded(*operands, type.getElementType())...), type.getElementType());
  return FloatAttr::get(Float64Type::get(op->getContext()), result);
}

/// `compute(a, b)` if both operands are constants.
template <class Compute> static OpFoldResult foldConstants(DenseOp op, ArrayRef<Attribute> operands, Compute compute) {
  return foldNumbers(op, compute, number(operands[0]), number(operands[1]));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getValueAttr();
}

OpFoldResult SpreadOp::fold(FoldAdaptor) {
  return getVia() == Map::Self ? OpFoldResult(getRows()) : OpFoldResult();
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 0.0)  // x + 0
    return asIs(op, 0);
  if (number(adaptor.getLhs()) == 0.0)
    return asIs(op, 1);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return a + b; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 0.0)  // x - 0
    return asIs(op, 0);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return a - b; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 1.0)  // x · 1
    return asIs(op, 0);
  if (number(adaptor.getLhs()) == 1.0)
    return asIs(op, 1);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return a * b; });
}

OpFoldResult ChainOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 1.0)  // g · 1
    return asIs(op, 0);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return a == 0 ? 0 : a * b; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 1.0)  // x / 1
    return asIs(op, 0);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return a / b; });
}

double hector::flow::modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0.0)
    return std::copysign(0.0, b);
  return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

double hector::flow::floorDivide(double a, double b) {
  if (b == 0.0)
    return a / b;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
    quotient -= 1.0;
  if (quotient == 0.0)
    return std::copysign(0.0, a / b);
  // The quotient is an integer but for the rounding of the division.
  double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

OpFoldResult FloorDivOp::fold(FoldAdaptor adaptor) {
  return foldConstants(cast<DenseOp>(getOperation()), adaptor.getOperands(), floorDivide);
}

OpFoldResult ModOp::fold(FoldAdaptor adaptor) {
  return foldConstants(cast<DenseOp>(getOperation()), adaptor.getOperands(), modulo);
}

OpFoldResult PowOp::fold(FoldAdaptor adaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (number(adaptor.getRhs()) == 1.0)  // x ^ 1
    return asIs(op, 0);
  return foldConstants(op, adaptor.getOperands(), [](double a, double b) { return std::pow(a, b); });
}

/// `max(x, x)` and `min(x, x)`.
static OpFoldResult foldSame(DenseOp op) {
  if (op->getOperand(0) == op->getOperand(1) && op.getMap(0) == op.getMap(1))
    return asIs(op, 0);
  return {};
}

OpFoldResult MaxOp::fold(FoldAdaptor) {
  return foldSame(cast<DenseOp>(getOperation()));
}

OpFoldResult MinOp::fold(FoldAdaptor) {
  return foldSame(cast<DenseOp>(getOperation()));
}

/// `op(op(x))` where the op undoes itself and both read row by row.
template <class Op> static OpFoldResult foldInvolution(Op op) {
  auto inner = op.getInput().template getDefiningOp<Op>();
  auto outer = cast<DenseOp>(op.getOperation());
  if (!inner || outer.getMap(0) != Map::Self)
    return {};
  auto innerDense = cast<DenseOp>(inner.getOperation());
  if (innerDense.getMap(0) != Map::Self || inner.getInput().getType() != outer.getResultRows())
    return {};
  return inner.getInput();
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  if (OpFoldResult inner = foldInvolution(*this))
    return inner;
  return foldNumbers(cast<DenseOp>(getOperation()), [](double a) { return -a; }, number(adaptor.getInput()));
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRate().isZero() ? asIs(cast<DenseOp>(getOperation()), 0) : OpFoldResult();  // nothing is dropped
}

OpFoldResult NotOp::fold(FoldAdaptor) {
  return foldInvolution(*this);
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (getThen() == getOtherwise() && op.getMap(1) == op.getMap(2))  // both choices are the same
    return asIs(op, 1);
  return {};
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  return asIs(cast<DenseOp>(getOperation()), 0);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (OpFoldResult same = asIs(op, 0))
    return same;
  // reshape(reshape(x)): skip the inner one.
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  auto map = compose(op.getResultRows().getDomain(), op.getMap(0), cast<DenseOp>(inner.getOperation()).getMap(0));
  if (!map)
    return {};
  getInputMutable().assign(inner.getInput());
  setMapsAttr(ArrayAttr::get(getContext(), {MapAttr::get(getContext(), *map)}));
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto op = cast<DenseOp>(getOperation());
  if (llvm::is_sorted(getPermutation()))
    return asIs(op, 0);
  // transpose(transpose(x)) with inverse permutations.
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner || op.getMap(0) != Map::Self || cast<DenseOp>(inner.getOperation()).getMap(0) != Map::Self)
    return {};
  for (auto [k, axis] : llvm::enumerate(getPermutation()))
    if (inner.getPermutation()[axis] != static_cast<int64_t>(k))
      return {};
  return inner.getInput();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return asIs(cast<DenseOp>(getOperation()), 0);  // equal types: the whole axis
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? asIs(cast<DenseOp>(getOperation()), 0) : OpFoldResult();
}

namespace {

/// `op(%spread)` where `%spread = flow.spread %x via m` reads `%x` through the composed map instead: a dense op never
/// needs its operand spread.
struct ReadThroughSpread : OpInterfaceRewritePattern<DenseOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(DenseOp op, PatternRewriter &rewriter) const override {
    SmallVector<Attribute> maps(op.getMaps().getValue());
    bool changed = false;
    rewriter.startOpModification(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto spread = operand.get().getDefiningOp<SpreadOp>();
      if (!spread)
        continue;
      unsigned i = operand.getOperandNumber();
      auto map = compose(op.getResultRows().getDomain(), op.getMap(i), spread.getVia());
      if (!map)
        continue;
      operand.set(spread.getRows());
      maps[i] = MapAttr::get(op->getContext(), *map);
      changed = true;
    }
    if (!changed) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    op.setMapsAttr(rewriter.getArrayAttr(maps));
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// Whether tables are all single rows made from constants alone.
static bool areConstantRows(ValueRange tables) {
  SmallVector<Value> open(tables);
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || (!isa<ConstantOp>(op) && (!isa<DenseOp>(op) || dependsOnRow(op) ||
                                         cast<DenseOp>(op).getResultRows().getDomain() != Domain::One)))
      return false;
    if (seen.insert(op).second)
      open.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// Whether an op is part of a loop or a fold, where ops of other domains have no place.
static bool isInGroup(Operation *op) {
  return op->getParentOfType<GroupOp>() || op->getParentOfType<FoldOp>();
}

/// An op that reads constants alone gives the same row everywhere: it is computed once, and read from there.
struct ComputeConstantOnce : OpInterfaceRewritePattern<DenseOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(DenseOp op, PatternRewriter &rewriter) const override {
    RowsType type = op.getResultRows();
    if (type.getDomain() == Domain::One || op->getNumOperands() == 0 || dependsOnRow(op) || isInGroup(op) ||
        !areConstantRows(op->getOperands()))
      return failure();
    auto once = cast<DenseOp>(rewriter.clone(*op));
    Attribute self = MapAttr::get(op->getContext(), Map::Self);
    rewriter.modifyOpInPlace(once, [&] {
      once.setMapsAttr(rewriter.getArrayAttr(SmallVector<Attribute>(op->getNumOperands(), self)));
      once->getResult(0).setType(type.withDomain(Domain::One));
    });
    rewriter.replaceOpWithNewOp<SpreadOp>(op, type, once->getResult(0), Map::One);
    return success();
  }
};

/// Of equal rows, the mean, the largest and the smallest are each of them. Every pair has an edge; elsewhere a row that
/// nothing leads to would be 0.
struct CollectEqualRows : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto spread = op.getRows().getDefiningOp<SpreadOp>();
    bool isToPairs = op.getVia() == Map::SrcPair || op.getVia() == Map::DstPair;
    if (!spread || spread.getVia() != Map::One || !isToPairs || op.getInit() || op.getKind() == ReduceKind::Sum)
      return failure();
    rewriter.replaceOpWithNewOp<SpreadOp>(op, op.getType(), spread.getRows(), Map::One);
    return success();
  }
};

/// A spread of a spread is one spread along the composed map.
struct ComposeSpreads : OpRewritePattern<SpreadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SpreadOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getRows().getDefiningOp<SpreadOp>();
    if (!inner)
      return failure();
    auto map = compose(op.getResult().getType().getDomain(), op.getVia(), inner.getVia());
    if (!map)
      return failure();
    rewriter.replaceOpWithNewOp<SpreadOp>(op, op.getType(), inner.getRows(), *map);
    return success();
  }
};

/// `a + (-b)` is `a - b`, and `a - (-b)` is `a + b`.
template <class Op, class Opposite> struct AbsorbNegation : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto negation = op.getRhs().template getDefiningOp<NegOp>();
    if (!negation)
      return failure();
    auto dense = cast<DenseOp>(op.getOperation());
    auto map =
        compose(dense.getResultRows().getDomain(), dense.getMap(1), cast<DenseOp>(negation.getOperation()).getMap(0));
    if (!map)
      return failure();
    auto maps = rewriter.getArrayAttr({dense.getMaps()[0], MapAttr::get(op.getContext(), *map)});
    rewriter.replaceOpWithNewOp<Opposite>(op, op.getType(), op.getLhs(), negation.getInput(), maps);
    return success();
  }
};

/// `linear(x, transpose(W))` becomes a `linear` with `transposed`, or without if it had it.
struct AbsorbTranspose : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp op, PatternRewriter &rewriter) const override {
    auto turn = op.getWeights().getDefiningOp<TransposeOp>();
    if (!turn)
      return failure();
    // Only the last two axes change places.
    ArrayRef<int64_t> permutation = turn.getPermutation();
    int64_t rank = static_cast<int64_t>(permutation.size());
    for (auto [k, axis] : llvm::enumerate(permutation.drop_back(2)))
      if (axis != static_cast<int64_t>(k))
        return failure();
    if (permutation[rank - 1] != rank - 2)
      return failure();
    auto dense = cast<DenseOp>(op.getOperation());
    auto map =
        compose(dense.getResultRows().getDomain(), dense.getMap(1), cast<DenseOp>(turn.getOperation()).getMap(0));
    if (!map)
      return failure();
    auto maps = rewriter.getArrayAttr({dense.getMaps()[0], MapAttr::get(op.getContext(), *map)});
    rewriter.replaceOpWithNewOp<LinearOp>(op, op.getType(), op.getInput(), turn.getInput(), maps,
                                          /*transposed=*/!op.getTransposed(), op.getGuarded());
    return success();
  }
};

/// A product with a matrix of one column is a dot product, which loops of any kind can hold, with numbers of a row side
/// by side. A guarded product stays: it asks for rows of zeros, where a guarded dot asks for single ones.
struct SingleColumn : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = op.getType().getShape();
    if (shape.back() != 1 || op.getGuarded() || isInGroup(op))
      return failure();
    // Leading axes stay, and of the last two only the inner one.
    auto weights = op.getWeights().getType();
    SmallVector<int64_t> column(weights.getShape().drop_back(2));
    column.push_back(op.getInput().getType().getShape().back());
    auto self = rewriter.getArrayAttr(MapAttr::get(op.getContext(), Map::Self));
    Value row = rewriter.create<ReshapeOp>(op.getLoc(), weights.withShape(column), op.getWeights(), self);
    auto dot = rewriter.create<DotOp>(op.getLoc(), op.getType().withShape(shape.drop_back()), op.getInput(), row,
                                      op.getMaps(), /*guarded=*/false);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), dot, self);
    return success();
  }
};

/// A sum along the last axis of `a · b` that nothing else reads is their dot product, guarded if the product is a
/// `chain`: no row of products is made. Both have the whole row, or one the last axis only.
struct SumOfProducts : OpRewritePattern<RowReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RowReduceOp op, PatternRewriter &rewriter) const override {
    auto sum = cast<DenseOp>(op.getOperation());
    Operation *producer = op.getInput().getDefiningOp();
    ArrayRef<int64_t> shape = op.getInput().getType().getShape();
    if (op.getKind() != ReduceKind::Sum || op.getAxis() + 1 != shape.size() || sum.getMap(0) != Map::Self ||
        !isa_and_nonnull<MulOp, ChainOp>(producer) || !producer->hasOneUse() || isInGroup(op))
      return failure();
    auto product = cast<DenseOp>(producer);
    auto isWhole = [&](unsigned i) { return product.getOperandRows(i).getShape() == shape; };
    auto isLastAxis = [&](unsigned i) {
      RowsType type = product.getOperandRows(i);
      return type.getRank() > 0 && type.getShape().back() == shape.back() && type.getRowSize() == shape.back();
    };
    if (!(isWhole(0) && (isWhole(1) || isLastAxis(1))) && !(isLastAxis(0) && isWhole(1)))
      return failure();
    SmallVector<Value> operands;
    SmallVector<Attribute> maps;
    for (unsigned i : {0u, 1u}) {
      Value operand = producer->getOperand(i);
      maps.push_back(product.getMaps()[i]);
      if (!isWhole(i)) {
        // Axes of size 1 before the last go: a contraction uses a side without leading axes for all.
        auto type = product.getOperandRows(i).withShape(shape.back());
        auto self = rewriter.getArrayAttr(MapAttr::get(op.getContext(), Map::Self));
        operand = rewriter.create<ReshapeOp>(producer->getLoc(), type, operand, self);
      }
      operands.push_back(operand);
    }
    rewriter.replaceOpWithNewOp<DotOp>(op, op.getType(), operands[0], operands[1], rewriter.getArrayAttr(maps),
                                       /*guarded=*/isa<ChainOp>(producer));
    return success();
  }
};

/// Whether rows that rows of `from` read through `map` count rows of which there is at least one: that leads there. So
/// do products of counts, as means of means have them, up to some depth.
bool isCount(Value rows, Domain from, Map map, unsigned depth = 3) {
  if (auto product = rows.getDefiningOp<MulOp>()) {
    auto dense = cast<DenseOp>(product.getOperation());
    auto isCounted = [&](unsigned i) {
      auto whole = compose(from, map, dense.getMap(i));
      return whole && isCount(dense->getOperand(i), from, *whole, depth - 1);
    };
    return depth > 0 && isCounted(0) && isCounted(1);
  }
  auto sum = rows.getDefiningOp<ReduceOp>();
  auto ones = sum && sum.getKind() == ReduceKind::Sum ? sum.getRows().getDefiningOp<SpreadOp>() : nullptr;
  auto one = ones ? ones.getRows().getDefiningOp<ConstantOp>() : nullptr;
  if (!one || one.getValue().convertToDouble() != 1.0)
    return false;
  Domain fine = sum.getRows().getType().getDomain();
  for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i)
    if (Map toFine = static_cast<Map>(i); mapTarget(from, toFine) == fine && compose(from, toFine, sum.getVia()) == map)
      return true;
  // Every pair has an edge.
  return fine == Domain::Edge && map == Map::Self && (from == Domain::SrcPair || from == Domain::DstPair);
}

/// `chain(g, 1 / n)` is `g · (1 / n)` if `n` counts rows: neither inf nor NaN waits behind a gradient of 0.
struct ChainOfShare : OpRewritePattern<ChainOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ChainOp op, PatternRewriter &rewriter) const override {
    auto share = op.getRhs().getDefiningOp<DivOp>();
    auto one = share ? share.getLhs().getDefiningOp<ConstantOp>() : nullptr;
    if (!one || one.getValue().convertToDouble() != 1.0 || isInGroup(op))
      return failure();
    if (!isCount(share.getRhs(), share.getType().getDomain(), cast<DenseOp>(share.getOperation()).getMap(1)))
      return failure();
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), op.getLhs(), op.getRhs(), op.getMaps());
    return success();
  }
};

/// `select(not c, a, b)` is `select(c, b, a)`.
struct SwapChoices : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto negation = op.getCondition().getDefiningOp<NotOp>();
    if (!negation)
      return failure();
    auto dense = cast<DenseOp>(op.getOperation());
    auto map =
        compose(dense.getResultRows().getDomain(), dense.getMap(0), cast<DenseOp>(negation.getOperation()).getMap(0));
    if (!map)
      return failure();
    auto maps = rewriter.getArrayAttr({MapAttr::get(op.getContext(), *map), dense.getMaps()[2], dense.getMaps()[1]});
    rewriter.replaceOpWithNewOp<SelectOp>(op, op.getType(), negation.getInput(), op.getOtherwise(), op.getThen(), maps);
    return success();
  }
};

}  // namespace

void FlowDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<ReadThroughSpread, ComputeConstantOnce, CollectEqualRows, ComposeSpreads, AbsorbNegation<AddOp, SubOp>,
               AbsorbNegation<SubOp, AddOp>, AbsorbTranspose, ChainOfShare, SingleColumn, SumOfProducts, SwapChoices>(
      getContext());
}
