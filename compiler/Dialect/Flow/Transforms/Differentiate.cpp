/// Reverse-mode differentiation of flow: one rule per op, and the bookkeeping around the rules.
///
/// The gradient of a value is kept as a list of reads: each is a table and the map from the value's rows to its rows.
/// `s = reduce sum a via dst` gives `a` the read (gradient of s, dst): no edge table is made until one is needed.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>

#include <cmath>

namespace hector::flow {

#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

/// The place of gradients of a value. What computes `e["att"]` in the model gets the gradient `grad.att`.
mlir::Location gradientOf(mlir::Location location) {
  llvm::StringRef name = tableName(location);
  if (name.empty())
    return location;
  return mlir::NameLoc::get(mlir::StringAttr::get(location.getContext(), "grad." + name), location);
}

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::NamedAttribute;
using mlir::Operation;
using mlir::Value;

class Differentiator : RowBuilder {
public:
  explicit Differentiator(mlir::func::FuncOp function)
      : RowBuilder(function.getContext()), function(function), body(function.getBody().front()) {}

  mlir::LogicalResult run(ArrayRef<std::string> wanted);

private:
  mlir::LogicalResult markActive(ArrayRef<std::string> wanted);
  bool isActive(Value value) const { return active.contains(value); }
  std::optional<Read> gradient(Value value);
  void differentiate(Operation &op, Read g);
  void differentiateDense(Operation &op, Read g);
  void differentiateLinear(LinearOp op, Read g);
  void differentiateDot(DotOp op, Read g);
  void differentiateOuter(OuterOp op, Read g);
  void differentiatePow(PowOp op, Read g);
  void differentiateSlice(SliceOp op, Read g);
  void differentiateConcat(ConcatOp op, Read g);
  void differentiateReduce(ReduceOp op, Read g);
  void refuse(Operation &op);

  /// Adds `g`, rows of the op's domain, to the gradient of operand `i`: summed over repeated axes and along its map.
  void give(DenseOp op, unsigned i, Read g);

  mlir::func::FuncOp function;
  mlir::Block &body;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, SmallVector<Read>> gradients;
  bool hasRefused = false;  // an op without a rule
};

//===- Bookkeeping -----------------------------------------------------------------------------------------------===//

/// Whether an op's result changes smoothly with its operands. Those listed here need no rule: their gradient is 0. Any
/// other op has one, or is refused.
bool isDifferentiable(Operation &op) {
  return !mlir::isa<ConstantOp, SignOp, FloorOp, FloorDivOp>(op) &&
         mlir::cast<RowsType>(op.getResult(0).getType()).isFloat();
}

/// Whether `op` is the largest score of a softmax, y = exp(a - top) / Σ exp(a - top), and nothing else: y does not
/// depend on it, so it needs no gradient.
bool isSoftmaxShift(ReduceOp op) {
  if (op.getKind() != ReduceKind::Max || op.getInit())
    return false;
  Map via = op.getVia();
  auto readsThrough = [&](DenseOp reader, unsigned operand, Value table, Map map) {
    return reader->getOperand(operand) == table && reader.getMap(operand) == map;
  };
  for (Operation *user : op->getUsers()) {
    auto shift = mlir::dyn_cast<SubOp>(user);
    if (!shift || !readsThrough(mlir::cast<DenseOp>(user), 0, op.getRows(), Map::Self) ||
        !readsThrough(mlir::cast<DenseOp>(user), 1, op.getResult(), via))
      return false;
    for (Operation *power : shift->getUsers()) {
      if (!mlir::isa<ExpOp>(power) || mlir::cast<DenseOp>(power).getMap(0) != Map::Self)
        return false;
      // Every use of the exponential: the sum, and the division by it.
      for (Operation *use : power->getUsers()) {
        auto sum = mlir::dyn_cast<ReduceOp>(use);
        auto quotient = mlir::dyn_cast<DivOp>(use);
        auto isQuotient = [&](Operation *candidate, Value total) {
          return mlir::isa<DivOp>(candidate) &&
                 readsThrough(mlir::cast<DenseOp>(candidate), 0, power->getResult(0), Map::Self) &&
                 readsThrough(mlir::cast<DenseOp>(candidate), 1, total, via);
        };
        auto isSum = [&](Operation *candidate) {
          auto reduce = mlir::dyn_cast_or_null<ReduceOp>(candidate);
          return reduce && reduce.getKind() == ReduceKind::Sum && reduce.getVia() == via &&
                 reduce.getRows() == power->getResult(0);
        };
        if (sum && isSum(sum) &&
            llvm::all_of(sum->getUsers(), [&](Operation *reader) { return isQuotient(reader, sum.getResult()); }))
          continue;
        if (quotient && isSum(quotient.getRhs().getDefiningOp()) && isQuotient(quotient, quotient.getRhs()))
          continue;
        return false;
      }
    }
  }
  return true;
}

mlir::LogicalResult Differentiator::markActive(ArrayRef<std::string> wanted) {
  for (const std::string &name : wanted) {
    Value input;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto attribute = function.getArgAttrOfType<mlir::StringAttr>(i, "flow.name");
          attribute && attribute.getValue() == name)
        input = body.getArgument(i);
    if (!input)
      return function.emitError() << "has no input `" << name << "` to differentiate by";
    if (mlir::cast<RowsType>(input.getType()).isBool())
      return function.emitError() << "cannot be differentiated by input `" << name << "`, which holds i1";
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Value argument = body.getArgument(i);
    auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "flow.name");
    if (!mlir::cast<RowsType>(argument.getType()).isFloat())
      continue;
    if (wanted.empty() || (name && llvm::is_contained(wanted, name.getValue().str())))
      active.insert(argument);
  }
  for (Operation &op : body.without_terminator()) {
    bool reads = llvm::any_of(op.getOperands(), [&](Value operand) { return isActive(operand); });
    auto reduce = mlir::dyn_cast<ReduceOp>(op);
    if (reads && isDifferentiable(op) && !(reduce && isSoftmaxShift(reduce)))
      active.insert(op.getResult(0));
  }
  return mlir::success();
}

/// The sum of all gradients that a value has received so far, read from its own rows.
std::optional<Read> Differentiator::gradient(Value value) {
  auto found = gradients.find(value);
  if (found == gradients.end())
    return std::nullopt;
  at = mlir::cast<RowsType>(value.getType()).getDomain();
  Read total = found->second.front();
  for (const Read &next : ArrayRef(found->second).drop_front())
    total = binary<AddOp>(total, next);
  return total;
}

void Differentiator::give(DenseOp op, unsigned i, Read g) {
  Value operand = op->getOperand(i);
  if (!isActive(operand))
    return;
  g = unbroadcast(g, op.getOperandRows(i).getShape());
  Map map = op.getMap(i);
  if (map != Map::Self)
    g = {builder.create<ReduceOp>(location, op.getOperandRows(i), ReduceKind::Sum, materialise(g), Value(), map),
         Map::Self};
  gradients[operand].push_back(g);
}

mlir::LogicalResult Differentiator::run(ArrayRef<std::string> wanted) {
  if (auto count = function->getAttr("flow.forward_results"))
    return function.emitOpError() << "has gradients already: `flow.forward_results` = " << count;
  if (mlir::failed(markActive(wanted)))
    return mlir::failure();
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  unsigned numInputs = function.getNumArguments(), numResults = function.getNumResults();
  // Ops that these results need run before the upstream gradients exist. All other ops come after.
  function->setAttr("flow.forward_results", builder.getI64IntegerAttr(numResults));
  for (unsigned i = 0; i < numResults; ++i) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, "flow.name");
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr("flow.name", builder.getStringAttr("grad." + (name ? name.str() : std::to_string(i)))));
    Value result = end->getOperand(i);
    function.insertArgument(function.getNumArguments(), result.getType(), attributes, result.getLoc());
    if (isActive(result))
      gradients[result].push_back({body.getArgument(numInputs + i), Map::Self});
  }
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  for (Operation *op : llvm::reverse(forward)) {
    if (!isActive(op->getResult(0)))
      continue;
    location = gradientOf(op->getLoc());
    makeLike(mlir::cast<RowsType>(op->getResult(0).getType()));
    if (auto g = gradient(op->getResult(0)))
      differentiate(*op, *g);
  }
  if (hasRefused)
    return mlir::failure();
  SmallVector<Value> results(end->getOperands());
  for (unsigned i = 0; i < numInputs; ++i) {
    Value input = body.getArgument(i);
    auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "flow.name");
    if (!isActive(input) || (!wanted.empty() && !llvm::is_contained(wanted, name.getValue().str())))
      continue;
    location = input.getLoc();
    auto type = mlir::cast<RowsType>(input.getType());
    makeLike(type);
    std::optional<Read> g = gradient(input);
    results.push_back(g ? materialise(*g) : make<ExpandOp>({constant(0.0)}, type.getShape()).table);
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr("flow.name", builder.getStringAttr("grad." + (name ? name.str() : std::to_string(i)))));
    function.insertResult(function.getNumResults(), type, attributes);
  }
  end->setOperands(results);
  return mlir::success();
}

//===- Rules -----------------------------------------------------------------------------------------------------===//

/// A gradient that is silently missing would be a wrong one.
void Differentiator::refuse(Operation &op) {
  op.emitOpError("cannot be differentiated: there is no rule for its gradient");
  hasRefused = true;
}

void Differentiator::differentiate(Operation &op, Read g) {
  if (auto spread = mlir::dyn_cast<SpreadOp>(op)) {
    if (spread.getVia() == Map::Self) {
      gradients[spread.getRows()].push_back(g);
      return;
    }
    at = spread.getResult().getType().getDomain();
    Value sum = builder.create<ReduceOp>(location, spread.getRows().getType(), ReduceKind::Sum, materialise(g), Value(),
                                         spread.getVia());
    gradients[spread.getRows()].push_back({sum, Map::Self});
  } else if (auto reduce = mlir::dyn_cast<ReduceOp>(op)) {
    differentiateReduce(reduce, g);
  } else if (auto dense = mlir::dyn_cast<DenseOp>(op)) {
    at = dense.getResultRows().getDomain();
    differentiateDense(op, g);
  } else {
    refuse(op);
  }
}

void Differentiator::differentiateReduce(ReduceOp op, Read g) {
  Domain coarse = op.getResult().getType().getDomain(), fine = op.getRows().getType().getDomain();
  Map via = op.getVia();
  at = coarse;
  bool isChoice = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
  auto number = op.getResult().getType().withElementType(builder.getIndexType());
  Value winner;
  if (isChoice)
    winner = builder.create<FirstIndexOp>(location, number, op.getRows(), op.getResult(), op.getInit(), via);
  if (op.getInit() && isActive(op.getInit())) {
    Read row = make<CastOp>({Read{winner, Map::Self}}, number.getShape());
    Read wins = binaryTruth<LessOp>(row, constant(0.0));
    gradients[op.getInit()].push_back(choose(wins, g, constant(0.0)));
  }
  if (!isActive(op.getRows()))
    return;
  // From here on, rows are those that were reduced, and `g` is read from them.
  auto map = compose(fine, via, g.map);
  if (!map)
    g = {materialise(g), Map::Self};
  at = fine;
  g.map = map ? *map : via;
  if (op.getKind() == ReduceKind::Mean) {
    Read one = constant(1.0);
    Value ones = materialise(one);
    auto countType = mlir::cast<RowsType>(ones.getType()).withDomain(coarse);
    Value count = builder.create<ReduceOp>(location, countType, ReduceKind::Sum, ones, Value(), via);
    g = binary<DivOp>(g, {count, via});
  } else if (isChoice) {
    Read first = make<IsRowOp>({Read{winner, via}}, number.getShape(), {}, builder.getI1Type());
    g = choose(first, g, constant(0.0));
  }
  gradients[op.getRows()].push_back(g);
}

void Differentiator::differentiateLinear(LinearOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  Read x = read(dense, 0), w = read(dense, 1);
  int64_t lead = g.type().getRank() - 1;
  if (isActive(op.getInput())) {
    SmallVector<NamedAttribute> attributes = {builder.getNamedAttr("guarded", builder.getUnitAttr())};
    if (!op.getTransposed())
      attributes.push_back(builder.getNamedAttr("transposed", builder.getUnitAttr()));
    SmallVector<int64_t> shape(g.shape());
    shape.back() = x.shape().back();
    Read dx = make<LinearOp>({g, w}, shape, attributes);
    give(dense, 0, x.type().getRank() == 1 ? sumLead(dx, lead) : dx);
  }
  if (isActive(op.getWeights())) {
    auto dw = builder.create<WeightGradOp>(location, op.getWeights().getType(), x.table, g.table, x.map, g.map, at,
                                           w.map, op.getTransposed());
    gradients[op.getWeights()].push_back({dw, Map::Self});
  }
}

void Differentiator::differentiateDot(DotOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  int64_t lead = g.type().getRank(), inner = op.getLhs().getType().getShape().back();
  SmallVector<int64_t> column(g.shape());
  column.push_back(1);
  for (unsigned i : {0u, 1u}) {
    if (!isActive(op->getOperand(i)))
      continue;
    Read other = padLead(read(dense, 1 - i), lead, {inner});
    Read da = binary<ChainOp>(reshape(g, column), other);
    give(dense, i, dense.getOperandRows(i).getRank() == 1 ? sumLead(da, lead) : da);
  }
}

void Differentiator::differentiateOuter(OuterOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  int64_t lead = g.type().getRank() - 2;
  int64_t rows = g.shape()[lead], columns = g.shape()[lead + 1];
  for (unsigned i : {0u, 1u}) {
    if (!isActive(op->getOperand(i)))
      continue;
    // d lhs[i] = Σ_j g[i, j] · rhs[j], and the other way round.
    Read other = read(dense, 1 - i);
    SmallVector<int64_t> shape(lead, 1);
    if (other.type().getRank() > 1)
      shape.assign(other.shape().begin(), other.shape().end() - 1);
    shape.push_back(i == 0 ? 1 : rows);
    shape.push_back(i == 0 ? columns : 1);
    Read product = sumAxis(binary<ChainOp>(g, reshape(other, shape)), i == 0 ? lead + 1 : lead);
    give(dense, i, dense.getOperandRows(i).getRank() == 1 ? sumLead(product, lead) : product);
  }
}

void Differentiator::differentiatePow(PowOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  Read a = read(dense, 0), b = read(dense, 1), zero = constant(0.0);
  if (isActive(op.getLhs())) {
    // b · a^(b-1), which is 0 for b = 0 even where a is 0.
    Read slope = binary<MulOp>(b, binary<PowOp>(a, binary<SubOp>(b, constant(1.0))));
    slope = choose(binaryTruth<EqualOp>(b, zero), zero, slope);
    give(dense, 0, binary<ChainOp>(g, slope));
  }
  if (isActive(op.getRhs())) {
    // a^b · log a, which tends to 0 where a is 0.
    Read slope = binary<MulOp>({op.getResult()}, unary<LogOp>(a));
    slope = choose(binaryTruth<EqualOp>(a, zero), zero, slope);
    give(dense, 1, binary<ChainOp>(g, slope));
  }
}

void Differentiator::differentiateSlice(SliceOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  int64_t axis = op.getAxis(), offset = op.getOffset(), length = g.shape()[axis];
  // Zeros before and after the part, as wide as needed; they belong to no row in particular.
  auto zeros = [&](int64_t width) -> Read {
    SmallVector<int64_t> part(shape);
    part[axis] = width;
    Domain here = at;
    at = Domain::One;
    Read none = make<ExpandOp>({constant(0.0)}, part);
    at = here;
    return {none.table, at == Domain::One ? Map::Self : Map::One};
  };
  SmallVector<Read> parts;
  if (offset > 0)
    parts.push_back(zeros(offset));
  parts.push_back(g);
  if (offset + length < shape[axis])
    parts.push_back(zeros(shape[axis] - offset - length));
  give(dense, 0, parts.size() == 1 ? g : make<ConcatOp>(parts, shape, {axisAttr(axis)}));
}

void Differentiator::differentiateConcat(ConcatOp op, Read g) {
  auto dense = mlir::cast<DenseOp>(op.getOperation());
  int64_t axis = op.getAxis(), offset = 0;
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    ArrayRef<int64_t> shape = dense.getOperandRows(i).getShape();
    if (isActive(op.getInputs()[i]))
      give(dense, i,
           make<SliceOp>({g}, shape,
                         {axisAttr(axis), builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset))}));
    offset += shape[axis];
  }
}

void Differentiator::differentiateDense(Operation &op, Read g) {
  auto dense = mlir::cast<DenseOp>(op);
  Read y{op.getResult(0)};
  auto in = [&](unsigned i) { return read(dense, i); };
  /// Gives operand 0 the gradient times `slope`.
  auto scale = [&](Read slope) { give(dense, 0, binary<ChainOp>(g, slope)); };
  auto wants = [&](unsigned i) { return isActive(op.getOperand(i)); };
  llvm::TypeSwitch<Operation *>(&op)
      .Case<AddOp>([&](auto) {
        give(dense, 0, g);
        give(dense, 1, g);
      })
      .Case<SubOp>([&](auto) {
        give(dense, 0, g);
        if (wants(1))
          give(dense, 1, unary<NegOp>(g));
      })
      .Case<MulOp, ChainOp>([&](auto) {
        if (wants(0))
          give(dense, 0, binary<ChainOp>(g, in(1)));
        if (wants(1))
          give(dense, 1, binary<ChainOp>(g, in(0)));
      })
      .Case<DivOp>([&](auto) {
        if (wants(0))
          give(dense, 0, binary<ChainOp>(g, binary<DivOp>(constant(1.0), in(1))));
        if (wants(1))
          give(dense, 1, unary<NegOp>(binary<ChainOp>(g, binary<DivOp>(y, in(1)))));
      })
      .Case<ModOp>([&](auto) {
        // a - (a // b) · b, and the quotient is constant between its steps.
        give(dense, 0, g);
        if (wants(1))
          give(dense, 1, unary<NegOp>(binary<ChainOp>(g, binary<FloorDivOp>(in(0), in(1)))));
      })
      .Case<PowOp>([&](PowOp pow) { differentiatePow(pow, g); })
      .Case<MaxOp, MinOp>([&](auto choice) {
        // On a tie the first operand receives the gradient.
        bool isMax = mlir::isa<MaxOp>(choice.getOperation());
        Read first = isMax ? binaryTruth<LessEqualOp>(in(1), in(0)) : binaryTruth<LessEqualOp>(in(0), in(1));
        if (wants(0))
          give(dense, 0, choose(first, g, constant(0.0)));
        if (wants(1))
          give(dense, 1, choose(first, constant(0.0), g));
      })
      .Case<NegOp>([&](auto) { give(dense, 0, unary<NegOp>(g)); })
      .Case<AbsOp>([&](auto) { scale(unary<SignOp>(in(0))); })
      .Case<ExpOp>([&](auto) { scale(y); })
      .Case<LogOp>([&](auto) { scale(binary<DivOp>(constant(1.0), in(0))); })
      .Case<SqrtOp>([&](auto) { scale(binary<DivOp>(constant(0.5), y)); })
      .Case<RsqrtOp>([&](auto) { scale(binary<MulOp>(constant(-0.5), binary<MulOp>(y, binary<MulOp>(y, y)))); })
      .Case<SinOp>([&](auto) { scale(unary<CosOp>(in(0))); })
      .Case<CosOp>([&](auto) { scale(unary<NegOp>(unary<SinOp>(in(0)))); })
      .Case<TanhOp>([&](auto) { scale(binary<SubOp>(constant(1.0), binary<MulOp>(y, y))); })
      .Case<SigmoidOp>([&](auto) { scale(binary<MulOp>(y, binary<SubOp>(constant(1.0), y))); })
      .Case<SoftplusOp>([&](auto) { scale(unary<SigmoidOp>(in(0))); })
      .Case<ErfOp>([&](auto) {
        Read bell = unary<ExpOp>(unary<NegOp>(binary<MulOp>(in(0), in(0))));
        scale(binary<MulOp>(constant(2.0 / std::sqrt(M_PI)), bell));
      })
      .Case<ReluOp>([&](auto) { give(dense, 0, choose(compare(constant(0.0), in(0)), g, constant(0.0))); })
      .Case<LeakyReluOp>([&](LeakyReluOp leaky) {
        Read slope = constant(leaky.getSlope().convertToDouble());
        give(dense, 0, choose(compare(constant(0.0), in(0)), g, binary<MulOp>(g, slope)));
      })
      .Case<DropoutOp>([&](DropoutOp dropout) {
        // The same stream drops the same numbers; what was dropped is not read again.
        give(dense, 0,
             make<DropoutOp>({g}, g.shape(),
                             {builder.getNamedAttr("rate", dropout.getRateAttr()),
                              builder.getNamedAttr("stream", dropout.getStreamAttr())}));
      })
      .Case<CastOp>(
          [&](auto) { give(dense, 0, make<CastOp>({g}, g.shape(), {}, dense.getOperandRows(0).getElementType())); })
      .Case<SelectOp>([&](auto) {
        if (wants(1))
          give(dense, 1, choose(in(0), g, constant(0.0)));
        if (wants(2))
          give(dense, 2, choose(in(0), constant(0.0), g));
      })
      .Case<LinearOp>([&](LinearOp linear) { differentiateLinear(linear, g); })
      .Case<DotOp>([&](DotOp dot) { differentiateDot(dot, g); })
      .Case<OuterOp>([&](OuterOp outer) { differentiateOuter(outer, g); })
      .Case<RowReduceOp>([&](RowReduceOp reduce) {
        ArrayRef<int64_t> shape = reduce.getInput().getType().getShape();
        int64_t axis = reduce.getAxis();
        SmallVector<int64_t> kept(shape);
        kept[axis] = 1;
        Read repeated = reshape(g, kept);
        if (reduce.getKind() == ReduceKind::Mean)
          repeated = binary<MulOp>(repeated, constant(1.0 / static_cast<double>(shape[axis])));
        if (isLinear(reduce.getKind()))
          return give(dense, 0, make<ExpandOp>({repeated}, shape));
        Read first = make<RowFirstMatchOp>({in(0), y}, shape, {axisAttr(axis)}, builder.getI1Type());
        give(dense, 0, choose(first, repeated, constant(0.0)));
      })
      .Case<ExpandOp>([&](auto) { give(dense, 0, g); })
      .Case<ReshapeOp>([&](ReshapeOp change) { give(dense, 0, reshape(g, change.getInput().getType().getShape())); })
      .Case<TransposeOp>([&](TransposeOp change) {
        SmallVector<int64_t> inverse(change.getPermutation().size());
        for (auto [k, axis] : llvm::enumerate(change.getPermutation()))
          inverse[axis] = k;
        give(dense, 0,
             make<TransposeOp>({g}, change.getInput().getType().getShape(),
                               {builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(inverse))}));
      })
      .Case<SliceOp>([&](SliceOp slice) { differentiateSlice(slice, g); })
      .Case<ConcatOp>([&](ConcatOp concat) { differentiateConcat(concat, g); })
      .Default([&](Operation *) { refuse(op); });
}

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnFlow() override {
    constexpr llvm::StringLiteral kWanted = "flow.gradients";
    SmallVector<std::string> wanted(inputs.begin(), inputs.end());
    if (auto names = getOperation()->getAttrOfType<mlir::ArrayAttr>(kWanted); names && wanted.empty())
      for (auto name : names.getAsRange<mlir::StringAttr>())
        wanted.push_back(name.str());
    getOperation()->removeAttr(kWanted);
    if (mlir::failed(Differentiator(getOperation()).run(wanted)))
      signalPassFailure();
  }
};

}  // namespace

}  // namespace hector::flow
