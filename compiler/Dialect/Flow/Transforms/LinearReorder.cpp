/// Reorders linear ops where that takes less time.
///
/// A product of a sum is a sum of products, a factor may come before or after, and a chain of products may be
/// multiplied from either end. So `linear(v, W)` and `dot(a, b)` may open up the op behind an operand:
///
///   v = x·V        linear(x, V·W)                       dot(x, linear(b, Vᵀ))
///   v = p ± q      linear(p, W) ± linear(q, W)          dot(p, b) ± dot(q, b)
///   v = s·x        s · linear(x, W)                     s · dot(x, b)
///   v = [p, q]     linear(p, W above) + linear(q, W below)
///
/// and the result may open up the next op. The pass tries all ways. It builds each one in front of the op that it would
/// replace, with every new op where it has the fewest rows. It adds up the time of the new ops and that of the ops that
/// would become unused, and erases the new ops again. The best way is built for good if it takes less time. On RGAT
/// with 50 relations and 400,000 destination pairs of 64 columns:
///
///   dot(linear(x, W), a): 2·400,000·64·64 + 2·400,000·64      dot(x, linear(a, Wᵀ)): 2·50·64·64 + 2·400,000·64
///
/// Gradients are guarded: rows of zeros have no influence. A guarded product stays guarded with the gradient on
/// its left, and a factor that is taken out of one by `chain` stays a `chain` with the gradient on its left.

#include "compiler/Analysis/LoopCost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <limits>

namespace hector::flow {

#define GEN_PASS_DEF_LINEARREORDERPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::NamedAttribute;
using mlir::Operation;
using mlir::Value;

/// How many ops are opened up in a chain, and how many ways are tried for one op.
constexpr int kDepth = 3;
constexpr int kWays = 96;
/// More heads than this are not multiplied one by one.
constexpr int64_t kHeads = 16;

/// Answers questions with yes or no. After one run, `advance` moves on to the next sequence of answers. The first
/// sequence is all no. Each later one changes the last no to yes and drops the answers after it.
class Choices {
public:
  bool ask() {
    if (asked == answers.size())
      answers.push_back(false);
    return answers[asked++];
  }
  bool anyYes() const { return llvm::is_contained(answers, true); }
  void restart() { asked = 0; }
  bool advance() {
    restart();
    while (!answers.empty() && answers.back())
      answers.pop_back();
    if (answers.empty())
      return false;
    answers.back() = true;
    return true;
  }

private:
  SmallVector<bool> answers;
  size_t asked = 0;
};

/// A matrix of a linear op: `[…, i, o]`, or `[…, o, i]` where it is transposed.
struct Matrix {
  Read read;
  bool transposed = false;

  int64_t innerAxis() const { return read.type().getRank() - (transposed ? 1 : 2); }
  int64_t outerAxis() const { return read.type().getRank() - (transposed ? 2 : 1); }
  ArrayRef<int64_t> lead() const { return read.shape().drop_back(2); }
};

/// One term of what an op adds up: ± rows, scaled by a factor, or standing from `offset` on among others.
struct Part {
  enum class Scale { None, Mul, Div, GradientFirst, GradientLast };

  Read rows;
  bool negative = false;
  Scale scale = Scale::None;
  Read factor = {};
  /// Where the rows begin along the last axis, of which they are a part.
  std::optional<int64_t> offset = std::nullopt;
};

bool isWeights(Domain domain) {
  return domain == Domain::One || domain == Domain::EdgeType || domain == Domain::NodeType;
}

/// Whether a table holds zeros, such as the padding in the gradient of a slice.
bool isZero(Value table) {
  if (auto expand = table.getDefiningOp<ExpandOp>())
    table = expand.getInput();
  auto constant = table.getDefiningOp<ConstantOp>();
  return constant && constant.getValue().isZero();
}

class Reorderer : RowBuilder {
public:
  Reorderer(mlir::func::FuncOp function, bool eager)
      : RowBuilder(function.getContext()), body(function.getBody().front()), trial(body), rows(function),
        machine(function), eager(eager) {
    draft = &trial;
  }

  /// Rewrites until nothing improves. Returns the number of rewrites.
  int64_t run();

private:
  /// The cost of a way to write an op.
  struct Count {
    double now = 0, then = 0;
    /// Whether it would take less time if nothing else read the ops that were opened up.
    bool isShared = false;
    double gain() const { return now - then; }
  };

  Operation *visit(Operation *root);
  std::optional<Read> rewrite(Operation *root);
  std::optional<Read> merge(Operation *root);
  Count count(Read result);
  void eraseUnread(Operation *kept);
  void replace(Read result);

  Read product(Read v, Matrix w, bool guarded, int depth);
  std::optional<Read> openProduct(Read v, Matrix w, bool guarded, int depth);
  Read dot(Read a, Read b, bool guarded, int depth);
  std::optional<Read> openDot(unsigned side, Read a, Read b, bool guarded, int depth);
  SmallVector<Part> open(Read v);
  Read scaled(const Part &part, Read y, bool isGuardedRight);
  template <class Contract>
  Read addUp(ArrayRef<Part> parts, bool isGuardedRight, ArrayRef<int64_t> shape, Contract contract);
  std::optional<Matrix> multiply(Matrix a, Matrix b);

  Read surface(Read v);
  std::optional<Read> through(Read v, unsigned operand);
  Place cheapestPlace(ArrayRef<Read> reads);
  Read build(llvm::StringRef name, ArrayRef<Read> reads, ArrayRef<int64_t> shape,
             ArrayRef<NamedAttribute> attributes = {});
  template <class Op> Read buildBinary(Read a, Read b) {
    return build(Op::getOperationName(), {a, b}, *commonShape(a.shape(), b.shape()));
  }
  Read buildLinear(Read x, Matrix w, bool guarded);
  Read buildDot(Read a, Read b, bool guarded);
  /// Ops that only arrange numbers, in the table's own domain.
  template <class Op> Read arrange(Read a, ArrayRef<int64_t> shape, ArrayRef<NamedAttribute> attributes = {});
  Read shapeAs(Read a, ArrayRef<int64_t> shape) { return arrange<ReshapeOp>(a, shape); }
  Read cut(Read a, int64_t axis, int64_t offset, int64_t length);
  Read permute(Read a, ArrayRef<int64_t> permutation);
  Read fit(Read a, ArrayRef<int64_t> shape);

  mlir::Block &body;
  Draft trial;
  RowCounts rows;
  Machine machine;
  bool eager;
  Operation *root = nullptr;
  Choices choices;
  /// Ops behind operands that the current way has opened up, and those of them that `eager` counts as gone.
  SmallVector<Operation *> opened, assumed;
  /// Ops that a rewrite made. There is no remark that going back does not pay off.
  llvm::DenseSet<Operation *> rewritten;
  SmallVector<std::pair<mlir::Location, std::string>> declined;
  int64_t numRewrites = 0;
};

//===- Building where there are the fewest rows ------------------------------------------------------------------===//

/// The domain with the fewest rows through which all of the reads lead.
Place Reorderer::cheapestPlace(ArrayRef<Read> reads) {
  Place best{at, Map::Self};
  for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i) {
    Map map = static_cast<Map>(i);
    auto domain = mapTarget(at, map);
    if (!domain ||
        !llvm::all_of(reads, [&](const Read &read) { return factor(at, map, read.map, rows.isUniform()).has_value(); }))
      continue;
    if (std::pair(rows.of(*domain), *domain) < std::pair(rows.of(best.domain), best.domain))
      best = {*domain, map};
  }
  return best;
}

Read Reorderer::build(llvm::StringRef name, ArrayRef<Read> reads, ArrayRef<int64_t> shape,
                      ArrayRef<NamedAttribute> attributes) {
  Place place = cheapestPlace(reads);
  SmallVector<Read> there;
  for (const Read &read : reads)
    there.push_back({read.table, *factor(at, place.map, read.map, rows.isUniform())});
  Domain here = at;
  at = place.domain;
  Read result = make(name, there, shape, attributes);
  at = here;
  return {result.table, *compose(at, place.map, result.map)};
}

template <class Op> Read Reorderer::arrange(Read a, ArrayRef<int64_t> shape, ArrayRef<NamedAttribute> attributes) {
  Domain here = at;
  at = a.type().getDomain();
  Read result = build(Op::getOperationName(), {{a.table, Map::Self}}, shape, attributes);
  at = here;
  return {result.table, *compose(at, a.map, result.map)};
}

Read Reorderer::cut(Read a, int64_t axis, int64_t offset, int64_t length) {
  SmallVector<int64_t> shape(a.shape());
  shape[axis] = length;
  return arrange<SliceOp>(a, shape,
                          {axisAttr(axis), builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset))});
}

Read Reorderer::permute(Read a, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation)
    shape.push_back(a.shape()[axis]);
  return arrange<TransposeOp>(a, shape,
                              {builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(permutation))});
}

/// `a` in a shape that contracts as `shape` does: the same, or without leading axes where it is repeated along all.
Read Reorderer::fit(Read a, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  if (!a.shape().empty() && a.shape().back() == shape.back() && a.type().getRowSize() == shape.back())
    return shapeAs(a, shape.back());
  return arrange<ExpandOp>(a, shape);
}

Read Reorderer::buildLinear(Read x, Matrix w, bool guarded) {
  SmallVector<int64_t> shape(*commonLead(x.shape().drop_back(), w.lead()));
  shape.push_back(w.read.shape()[w.read.type().getRank() - (w.transposed ? 2 : 1)]);
  return build(LinearOp::getOperationName(), {x, w.read}, shape, linearAttributes(w.transposed, guarded));
}

Read Reorderer::buildDot(Read a, Read b, bool guarded) {
  SmallVector<int64_t> shape(*commonLead(a.shape().drop_back(), b.shape().drop_back()));
  return build(DotOp::getOperationName(), {a, b}, shape, linearAttributes(/*transposed=*/false, guarded));
}

//===- Opening up operands ---------------------------------------------------------------------------------------===//

/// Operand `i` of the op behind `v`, read from here.
std::optional<Read> Reorderer::through(Read v, unsigned i) {
  auto op = mlir::cast<DenseOp>(v.table.getDefiningOp());
  auto map = compose(at, v.map, op.getMap(i));
  return map ? std::optional(Read{op->getOperand(i), *map}) : std::nullopt;
}

/// Where `v` splits the last axis of a row into heads, the same with the op that made the row on top: heads of the
/// weights instead of the product.
Read Reorderer::surface(Read v) {
  auto split = v.table.getDefiningOp<ReshapeOp>();
  if (!split || split.getInput().getType().getRank() != 1 || split.getType().getRank() < 2)
    return v;
  auto whole = through(v, 0);
  if (!whole)
    return v;
  Read u = throughSpreads(at, *whole);
  auto op = u.table.getDefiningOp<DenseOp>();
  ArrayRef<int64_t> shape = v.shape();
  if (auto linear = u.table.getDefiningOp<LinearOp>()) {
    auto x = through(u, 0), w = through(u, 1);
    if (!x || !w)
      return v;
    // [n, i] becomes [heads, d, i]; [i, n] becomes [i, heads, d] and is turned to [heads, i, d].
    SmallVector<int64_t> parts(shape);
    if (linear.getTransposed()) {
      parts.push_back(w->shape().back());
      return buildLinear(*x, {shapeAs(*w, parts), true}, linear.getGuarded());
    }
    parts.insert(parts.begin(), w->shape().front());
    SmallVector<int64_t> permutation;
    for (int64_t axis = 1; axis < static_cast<int64_t>(parts.size()); ++axis)
      permutation.push_back(axis);
    permutation.insert(permutation.end() - 1, 0);
    return buildLinear(*x, {permute(shapeAs(*w, parts), permutation), false}, linear.getGuarded());
  }
  if (!mlir::isa_and_nonnull<AddOp, SubOp, MulOp, DivOp, ChainOp, NegOp>(op.getOperation()))
    return v;
  SmallVector<Read> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto operand = through(u, i);
    if (!operand)
      return v;
    bool isOne = operand->type().getRowSize() == 1 && u.type().getRowSize() != 1;
    operands.push_back(shapeAs(*operand, isOne ? ArrayRef<int64_t>() : shape));
  }
  return build(op->getName().getStringRef(), operands, shape);
}

/// The terms that the op behind `v` adds up; none if it is not linear in its operands.
SmallVector<Part> Reorderer::open(Read v) {
  Operation *op = v.table.getDefiningOp();
  if (!op || v.shape().empty())
    return {};
  ArrayRef<int64_t> shape = v.shape();
  if (auto concat = mlir::dyn_cast<ConcatOp>(op)) {
    if (concat.getAxis() + 1 != shape.size())
      return {};
    SmallVector<Part> parts;
    int64_t offset = 0;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      auto part = through(v, i);
      if (!part)
        return {};
      if (!isZero(part->table))
        parts.push_back({.rows = *part, .offset = offset});
      offset += part->shape().back();
    }
    return parts;
  }
  if (!mlir::isa<AddOp, SubOp, MulOp, DivOp, ChainOp, NegOp>(op))
    return {};
  SmallVector<Read> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    auto operand = through(v, i);
    if (!operand)
      return {};
    operands.push_back(*operand);
  }
  if (mlir::isa<NegOp>(op))
    return {{.rows = operands[0], .negative = true}};
  if (mlir::isa<AddOp, SubOp>(op))
    return {{.rows = fit(operands[0], shape)}, {.rows = fit(operands[1], shape), .negative = mlir::isa<SubOp>(op)}};
  // A product: one side lacks the last axis and is the factor; where both do, the one with more rows.
  auto isFactor = [&](unsigned i) { return operands[i].shape().empty() || operands[i].shape().back() == 1; };
  auto rowsOf = [&](unsigned i) { return rows.of(operands[i].type().getDomain()); };
  unsigned factor = 1;
  if (!mlir::isa<DivOp>(op) && isFactor(0) && (!isFactor(1) || rowsOf(0) > rowsOf(1)))
    factor = 0;
  if (!isFactor(factor))
    return {};
  Part::Scale scale = mlir::isa<MulOp>(op)   ? Part::Scale::Mul
                      : mlir::isa<DivOp>(op) ? Part::Scale::Div
                      : factor == 0          ? Part::Scale::GradientFirst
                                             : Part::Scale::GradientLast;
  return {{.rows = fit(operands[1 - factor], shape), .scale = scale, .factor = operands[factor]}};
}

/// `y`, made from the part's rows, scaled as they were. Where the part was on the right of a guarded op, `y` is the
/// gradient's side: it is 0 where the gradient is, whatever the factor holds.
Read Reorderer::scaled(const Part &part, Read y, bool isGuardedRight) {
  switch (part.scale) {
  case Part::Scale::None:
    return y;
  case Part::Scale::Mul:
    return isGuardedRight ? buildBinary<ChainOp>(y, part.factor) : buildBinary<MulOp>(part.factor, y);
  case Part::Scale::Div:
    if (isGuardedRight)
      return buildBinary<ChainOp>(y, buildBinary<DivOp>(constant(1.0), part.factor));
    return buildBinary<DivOp>(y, part.factor);
  case Part::Scale::GradientFirst:
    return buildBinary<ChainOp>(part.factor, y);
  case Part::Scale::GradientLast:
    return buildBinary<ChainOp>(y, part.factor);
  }
  return y;
}

/// The sum of what `contract` makes of each part, in rows of `shape`.
template <class Contract>
Read Reorderer::addUp(ArrayRef<Part> parts, bool isGuardedRight, ArrayRef<int64_t> shape, Contract contract) {
  std::optional<Read> sum;
  for (Part part : parts) {
    Read y = contract(part);
    // Rows without leading axes stand for all heads.
    if (!y.shape().empty() && y.shape().size() < shape.size()) {
      SmallVector<int64_t> padded(shape.size() - y.shape().size(), 1);
      padded.append(y.shape().begin(), y.shape().end());
      y = shapeAs(y, padded);
    }
    y = scaled(part, y, isGuardedRight);
    if (!sum)
      sum = part.negative ? build(NegOp::getOperationName(), {y}, y.shape()) : y;
    else
      sum = part.negative ? buildBinary<SubOp>(*sum, y) : buildBinary<AddOp>(*sum, y);
  }
  return sum->shape() == shape ? *sum : arrange<ExpandOp>(*sum, shape);
}

/// The product of two matrices; nothing if their heads cannot be multiplied, or if it would be too large.
std::optional<Matrix> Reorderer::multiply(Matrix a, Matrix b) {
  SmallVector<int64_t> shape(a.lead().empty() ? b.lead() : a.lead());
  shape.append({a.read.shape()[a.innerAxis()], b.read.shape()[b.outerAxis()]});
  if (!isRowShape(shape))
    return std::nullopt;
  auto turned = [&](Matrix m) {
    SmallVector<int64_t> permutation;
    for (int64_t axis = 0; axis < m.read.type().getRank(); ++axis)
      permutation.push_back(axis);
    std::swap(permutation.end()[-1], permutation.end()[-2]);
    return Matrix{permute(m.read, permutation), !m.transposed};
  };
  // Rows of `a` times `b`, or columns of `b` times `a` the other way round: rows are a linear op's input, whose leading
  // axes the other side must not have. The form without a transposition comes first.
  bool byRows = b.lead().empty(), byColumns = a.lead().empty();
  if (byRows && (!a.transposed || !byColumns || !b.transposed)) {
    Matrix left = a.transposed ? turned(a) : a;
    return Matrix{buildLinear(left.read, b, /*guarded=*/false), false};
  }
  if (byColumns) {
    Matrix right = b.transposed ? b : turned(b);
    return Matrix{buildLinear(right.read, {a.read, !a.transposed}, /*guarded=*/false), true};
  }
  // Heads on both sides, one by one.
  if (a.lead() != b.lead() || a.lead().size() != 1 || a.lead()[0] > kHeads)
    return std::nullopt;
  SmallVector<Read> heads;
  for (int64_t head = 0; head < a.lead()[0]; ++head) {
    auto take = [&](Matrix m) {
      return Matrix{shapeAs(cut(m.read, 0, head, 1), m.read.shape().drop_front()), m.transposed};
    };
    Matrix one = *multiply(take(a), take(b));
    if (one.transposed)
      one = turned(one);
    shape = {1, one.read.shape()[0], one.read.shape()[1]};
    heads.push_back(shapeAs(one.read, shape));
  }
  shape[0] = a.lead()[0];
  return Matrix{build(ConcatOp::getOperationName(), heads, shape, {axisAttr(0)}), false};
}

/// `linear(v, w)`, opened up as the choices say.
Read Reorderer::product(Read v, Matrix w, bool guarded, int depth) {
  v = throughSpreads(at, v);
  if (auto result = depth < kDepth ? openProduct(v, w, guarded, depth) : std::nullopt)
    return *result;
  return buildLinear(v, w, guarded);
}

std::optional<Read> Reorderer::openProduct(Read v, Matrix w, bool guarded, int depth) {
  Read top = surface(v);
  if (auto inner = top.table.getDefiningOp<LinearOp>()) {
    auto x = through(top, 0), first = through(top, 1);
    if (!x || !first || !choices.ask())
      return std::nullopt;
    opened.push_back(v.table.getDefiningOp());
    auto weights = multiply({*first, inner.getTransposed()}, w);
    if (!weights)
      return std::nullopt;
    return product(*x, *weights, guarded || inner.getGuarded(), depth + 1);
  }
  SmallVector<Part> parts = open(top);
  if (parts.empty() || !choices.ask())
    return std::nullopt;
  opened.push_back(v.table.getDefiningOp());
  SmallVector<int64_t> shape(*commonLead(v.shape().drop_back(), w.lead()));
  shape.push_back(w.read.shape()[w.read.type().getRank() - (w.transposed ? 2 : 1)]);
  for (Part &part : parts)
    if (part.factor.table && part.factor.type().getRowSize() == 1)
      part.factor = shapeAs(part.factor, {});
  return addUp(parts, /*isGuardedRight=*/false, shape, [&](const Part &part) {
    Matrix own = w;
    if (part.offset)
      own.read = cut(w.read, w.innerAxis(), *part.offset, part.rows.shape().back());
    return product(part.rows, own, guarded, depth + 1);
  });
}

/// `dot(a, b)`, opened up as the choices say; with `guarded`, `a` is the gradient.
Read Reorderer::dot(Read a, Read b, bool guarded, int depth) {
  a = throughSpreads(at, a);
  b = throughSpreads(at, b);
  for (unsigned side : {0u, 1u})
    if (auto result = depth < kDepth ? openDot(side, a, b, guarded, depth) : std::nullopt)
      return *result;
  return buildDot(a, b, guarded);
}

std::optional<Read> Reorderer::openDot(unsigned side, Read a, Read b, bool guarded, int depth) {
  Read v = side == 0 ? a : b, other = side == 0 ? b : a;
  Read top = surface(v);
  if (auto inner = top.table.getDefiningOp<LinearOp>()) {
    auto x = through(top, 0), w = through(top, 1);
    // A gradient on each side would leave one of them unguarded.
    if (!x || !w || (guarded && side == 1 && inner.getGuarded()) || !choices.ask())
      return std::nullopt;
    SmallVector<int64_t> turned(*commonLead(other.shape().drop_back(), w->shape().drop_back(2)));
    turned.push_back(x->shape().back());
    if (!isRowShape(turned))
      return std::nullopt;
    Operation *behind = v.table.getDefiningOp();
    opened.push_back(behind);
    bool isLeft = guarded && side == 1;
    Read moved = product(other, {*w, !inner.getTransposed()}, /*guarded=*/isLeft, depth + 1);
    if (eager && isWeights(moved.type().getDomain()) && !isWeights(v.type().getDomain()))
      assumed.push_back(behind);
    // The product that was assumed to be gone may still be there, and going back to it would cost nothing.
    if (eager && isWeights(v.type().getDomain()) && !isWeights(moved.type().getDomain()))
      return std::nullopt;
    if (side == 0 || inner.getGuarded())
      return dot(*x, moved, guarded || inner.getGuarded(), depth + 1);
    return dot(moved, *x, guarded, depth + 1);
  }
  SmallVector<Part> parts = open(top);
  if (parts.empty() || !choices.ask())
    return std::nullopt;
  opened.push_back(v.table.getDefiningOp());
  SmallVector<int64_t> shape(*commonLead(a.shape().drop_back(), b.shape().drop_back()));
  for (Part &part : parts)
    if (part.factor.table && !part.factor.shape().empty()) {
      bool isOne = part.factor.type().getRowSize() == 1;
      part.factor = shapeAs(part.factor, isOne ? ArrayRef<int64_t>() : part.factor.shape().drop_back());
    }
  return addUp(parts, guarded && side == 1, shape, [&](const Part &part) {
    Read own = other;
    if (part.offset)
      own = cut(other, other.type().getRank() - 1, *part.offset, part.rows.shape().back());
    return side == 0 ? dot(part.rows, own, guarded, depth + 1) : dot(own, part.rows, guarded, depth + 1);
  });
}

/// The sum or difference of two products that share a side: one product of the sum of the other sides.
std::optional<Read> Reorderer::merge(Operation *root) {
  auto sum = mlir::cast<DenseOp>(root);
  Read a = throughSpreads(at, read(sum, 0)), b = throughSpreads(at, read(sum, 1));
  Operation *left = a.table.getDefiningOp(), *right = b.table.getDefiningOp();
  if (!left || !right || left == right || left->getName() != right->getName() || !mlir::isa<LinearOp, DotOp>(left) ||
      a.shape() != b.shape())
    return std::nullopt;
  auto a0 = through(a, 0), a1 = through(a, 1), b0 = through(b, 0), b1 = through(b, 1);
  if (!a0 || !a1 || !b0 || !b1)
    return std::nullopt;
  auto combine = [&](Read x, Read y) { return build(root->getName().getStringRef(), {x, y}, x.shape()); };
  auto isAlike = [](Read x, Read y) { return x.shape() == y.shape(); };
  if (auto linear = mlir::dyn_cast<LinearOp>(left)) {
    auto other = mlir::cast<LinearOp>(right);
    if (linear.getTransposed() != other.getTransposed() || linear.getGuarded() != other.getGuarded())
      return std::nullopt;
    auto finish = [&](Read x, Read w) {
      opened = {left, right};
      return buildLinear(x, {w, linear.getTransposed()}, linear.getGuarded());
    };
    if (*a1 == *b1 && isAlike(*a0, *b0) && choices.ask())
      return finish(combine(*a0, *b0), *a1);
    if (*a0 == *b0 && isAlike(*a1, *b1) && choices.ask())
      return finish(*a0, combine(*a1, *b1));
    return std::nullopt;
  }
  bool guarded = mlir::cast<DotOp>(left).getGuarded();
  if (guarded != mlir::cast<DotOp>(right).getGuarded())
    return std::nullopt;
  auto finish = [&](Read x, Read y) {
    opened = {left, right};
    return buildDot(x, y, guarded);
  };
  if (*a1 == *b1 && isAlike(*a0, *b0) && choices.ask())
    return finish(combine(*a0, *b0), *a1);
  if (*a0 == *b0 && isAlike(*a1, *b1) && choices.ask())
    return finish(*a0, combine(*a1, *b1));
  if (!guarded && *a0 == *b1 && isAlike(*a1, *b0) && choices.ask())
    return finish(combine(*a1, *b0), *a0);
  if (!guarded && *a1 == *b0 && isAlike(*a0, *b1) && choices.ask())
    return finish(combine(*a0, *b1), *a1);
  return std::nullopt;
}

//===- Trying and counting ---------------------------------------------------------------------------------------===//

/// Builds, in front of the root, the way to write it that the choices say.
std::optional<Read> Reorderer::rewrite(Operation *root) {
  startAt(root);
  opened.clear();
  assumed.clear();
  auto dense = mlir::cast<DenseOp>(root);
  if (auto linear = mlir::dyn_cast<LinearOp>(root))
    return product(read(dense, 0), {read(dense, 1), linear.getTransposed()}, linear.getGuarded(), 0);
  if (auto contraction = mlir::dyn_cast<DotOp>(root))
    return dot(read(dense, 0), read(dense, 1), contraction.getGuarded(), 0);
  return merge(root);
}

/// Erases new ops that nothing reads.
void Reorderer::eraseUnread(Operation *kept) {
  trial.eraseUnread(kept, [&](Operation *op) {
    llvm::erase(opened, op);
    llvm::erase(assumed, op);
  });
}

Reorderer::Count Reorderer::count(Read result) {
  Operation *kept = result.table.getDefiningOp();
  Count count;
  double again = 0;
  for (Operation &op : trial.getBlock()) {
    count.then += fusedSeconds(&op, rows, machine);
    if (Operation *same = trial.findEqualLater(&op))
      again += fusedSeconds(same, rows, machine);
  }
  auto total = [&](ArrayRef<Operation *> assumed) {
    SmallVector<Operation *> gone = {root};
    gone.append(assumed.begin(), assumed.end());
    double sum = again;
    for (Operation *op : unread(gone, kept))
      sum += fusedSeconds(op, rows, machine);
    return sum;
  };
  count.now = total(assumed);
  count.isShared = count.then < total(opened);
  return count;
}

/// Has everything that reads the root read `result` instead, and erases what then nothing reads but for the root.
void Reorderer::replace(Read result) {
  SmallVector<Operation *> fresh;
  for (Operation &op : trial.getBlock())
    fresh.push_back(&op);
  trial.place();
  builder.setInsertionPoint(root);
  rewritten.insert(fresh.begin(), fresh.end());
  // An equal op further down reads what is new instead.
  for (Operation *op : fresh)
    while (Operation *same = trial.findEqualLater(op)) {
      same->getResult(0).replaceAllUsesWith(op->getResult(0));
      rewritten.erase(same);
      same->erase();
    }
  auto context = builder.getContext();
  Value spread;
  for (mlir::OpOperand &use : llvm::make_early_inc_range(root->getResult(0).getUses())) {
    unsigned i = use.getOperandNumber();
    if (auto reader = mlir::dyn_cast<DenseOp>(use.getOwner())) {
      SmallVector<mlir::Attribute> maps(reader.getMaps().getValue());
      maps[i] = MapAttr::get(context, *compose(reader.getResultRows().getDomain(), reader.getMap(i), result.map));
      reader.setMapsAttr(builder.getArrayAttr(maps));
      use.set(result.table);
    } else if (auto grad = mlir::dyn_cast<WeightGradOp>(use.getOwner())) {
      Map own = i == 0 ? grad.getInputMap() : grad.getGradMap();
      auto map = MapAttr::get(context, *compose(grad.getOver(), own, result.map));
      i == 0 ? grad.setInputMapAttr(map) : grad.setGradMapAttr(map);
      use.set(result.table);
    } else {
      if (!spread)
        spread = materialise(result);
      use.set(spread);
    }
  }
  // The root marks the place until the end.
  SmallVector<Operation *> gone(unread(root, result.table.getDefiningOp()).takeVector());
  root->dropAllReferences();
  for (Operation *op : ArrayRef(gone).drop_front()) {
    trial.forget(op);
    rewritten.erase(op);
    op->erase();
  }
}

/// Rewrites one op if that pays off. Returns the op to continue with, towards the front.
Operation *Reorderer::visit(Operation *op) {
  root = op;
  Operation *before = root->getPrevNode();
  choices = {};
  Choices best;
  Count bestCount{.now = 0, .then = std::numeric_limits<double>::infinity()};
  for (int way = 0; way < kWays; ++way) {
    auto result = rewrite(root);
    Operation *kept = result ? result->table.getDefiningOp() : nullptr;
    eraseUnread(kept);
    // A way may lead back to the original op.
    bool isSame = kept && kept != root && isEqual(kept, root);
    if (result && choices.anyYes() && !isSame) {
      Count now = count(*result);
      if (now.gain() > bestCount.gain()) {
        best = choices;
        bestCount = now;
      }
    }
    trial.clear();
    if (!choices.advance())
      break;
  }
  // Sums of the same numbers in another order may differ in their last digit.
  bool pays = bestCount.gain() > 1e-9 * bestCount.now;
  if (!pays) {
    if (best.anyYes() && !rewritten.contains(root)) {
      std::string numbers = formatTime(bestCount.now) + " now, " + formatTime(bestCount.then) + " then";
      declined.emplace_back(root->getLoc(), bestCount.isShared
                                                ? "not reordered: another op reads this product; " + numbers
                                                : "not reordered: " + numbers);
    }
    return before;
  }
  choices = best;
  choices.restart();
  Read result = *rewrite(root);
  eraseUnread(result.table.getDefiningOp());
  replace(result);
  ++numRewrites;
  Operation *next = root->getPrevNode();
  rewritten.erase(root);
  root->erase();
  return next;
}

int64_t Reorderer::run() {
  // Each rewrite takes less time than before; with `eager`, it moves a product to the weights, once. So this
  // terminates; the bound is a safeguard.
  int64_t bound = 100 + 4 * static_cast<int64_t>(body.getOperations().size());
  for (int64_t last = -1; last != numRewrites && numRewrites < bound;) {
    last = numRewrites;
    declined.clear();
    // Readers first: an op that they no longer read is gone before it would be rewritten itself.
    for (Operation *op = body.getTerminator()->getPrevNode(); op && numRewrites < bound;)
      op = mlir::isa<LinearOp, DotOp, AddOp, SubOp>(op) ? visit(op) : op->getPrevNode();
  }
  for (auto &[location, text] : declined)
    mlir::emitRemark(location) << text;
  return numRewrites;
}

struct LinearReorderPass : impl::LinearReorderPassBase<LinearReorderPass> {
  using LinearReorderPassBase::LinearReorderPassBase;

  void runOnFlow() override {
    int64_t numRewrites = Reorderer(getOperation(), eager).run();
    if (numRewrites > 0)
      listRelationEnds(getOperation());
    numReordered += numRewrites;
  }
};

}  // namespace

}  // namespace hector::flow
