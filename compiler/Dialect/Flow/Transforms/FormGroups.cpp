/// Makes each fusion group an op.

#include "compiler/Analysis/Cost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>

#include <limits>

namespace hector::flow {

#define GEN_PASS_DEF_FORMGROUPSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::SmallVector;
using mlir::IRMapping;
using mlir::Operation;
using mlir::Value;

RowsType rowsType(Value value) {
  return mlir::cast<RowsType>(value.getType());
}

//===- Folds -----------------------------------------------------------------------------------------------------===//

/// Builds the fold of a maximum with sums of exponentials. A step with score a and factors w takes (m, s) to
///
///   m' = max(m, a)    s' = s · exp(m - m') + exp(a - m') · w
///
/// from m = -inf, and two parts are joined in the same way. Sums that are divided by another sum are divided at the
/// end. A last accumulator tells whether there was any row: then the maximum is m, and 0 otherwise.
class FoldBuilder {
public:
  FoldBuilder(const Body &body, const OnlineFold &fold, mlir::OpBuilder &builder, mlir::Location location)
      : body(body), fold(fold), builder(builder), location(location),
        topType(rowsType(body[fold.top].op->getResult(0))) {}

  /// Adds the fold where the builder stands; `local` says where values live, and is told where the results do.
  void build(IRMapping &local);

private:
  /// The values of one accumulator each: the maximum, then the sums.
  using Accumulators = SmallVector<Value>;

  /// A row of `type` that holds the same number everywhere.
  Value constant(RowsType type, double number) {
    auto one = RowsType::get(builder.getContext(), Domain::One, {}, type.getElementType(), type.getResidency());
    Value value = builder.create<ConstantOp>(location, one, builder.getF64FloatAttr(number));
    return builder.create<ExpandOp>(location, type, value,
                                    builder.getArrayAttr(MapAttr::get(builder.getContext(), Map::One)));
  }
  template <class Op> Value make(RowsType type, mlir::ValueRange operands) {
    SmallVector<mlir::Attribute> maps(operands.size(), MapAttr::get(builder.getContext(), Map::Self));
    return builder.create<Op>(location, mlir::TypeRange(type), operands,
                              mlir::NamedAttribute(builder.getStringAttr("maps"), builder.getArrayAttr(maps)));
  }
  /// A clone of `op` at the level of the result, reading its own rows.
  Value cloneAt(Operation *op, mlir::ValueRange operands);
  /// What a number of the maximum's shape becomes on the way to a sum, factors left out; from step `first` on.
  Value shaped(Value value, const OnlineSum &sum, size_t first = 0);
  /// The accumulators times exp(m - top).
  Accumulators scaled(const Accumulators &accumulators, Value top);

  RowsType flagType() const {
    return RowsType::get(builder.getContext(), topType.getDomain(), topType.getShape(), builder.getI1Type(),
                         topType.getResidency());
  }
  RowsType accumulatorType(const OnlineSum &sum) const { return rowsType(body[sum.sum].op->getResult(0)); }
  Accumulators enter(mlir::Region &region, llvm::ArrayRef<mlir::Type> more, unsigned copies);

  const Body &body;
  const OnlineFold &fold;
  mlir::OpBuilder &builder;
  mlir::Location location;
  RowsType topType;
};

Value FoldBuilder::cloneAt(Operation *op, mlir::ValueRange operands) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  auto type = rowsType(op->getResult(0)).withDomain(topType.getDomain());
  copy->getResult(0).setType(type);
  SmallVector<mlir::Attribute> maps(operands.size(), MapAttr::get(builder.getContext(), Map::Self));
  copy->setAttr("maps", builder.getArrayAttr(maps));
  copy->setLoc(location);
  return copy->getResult(0);
}

Value FoldBuilder::shaped(Value value, const OnlineSum &sum, size_t first) {
  for (const OnlineSum::Step &step : llvm::drop_begin(sum.steps, first))
    if (step.isShape)
      value = cloneAt(body[step.op].op, value);
  return value;
}

FoldBuilder::Accumulators FoldBuilder::scaled(const Accumulators &accumulators, Value top) {
  // Where the maximum stays the same, also at -inf, nothing is scaled.
  Value power = make<ExpOp>(topType, make<SubOp>(topType, {accumulators[0], top}));
  Value isSame = make<EqualOp>(flagType(), {accumulators[0], top});
  Value factor = make<SelectOp>(topType, {isSame, constant(topType, 1), power});
  Accumulators result = {top};
  for (auto [i, sum] : llvm::enumerate(fold.sums))
    result.push_back(make<MulOp>(accumulatorType(sum), {accumulators[i + 1], shaped(factor, sum)}));
  return result;
}

/// Starts a region with the accumulators, `copies` times, and rows of `more`.
FoldBuilder::Accumulators FoldBuilder::enter(mlir::Region &region, llvm::ArrayRef<mlir::Type> more, unsigned copies) {
  mlir::Block *block = builder.createBlock(&region);
  for (unsigned i = 0; i < copies; ++i) {
    block->addArgument(topType, location);
    for (const OnlineSum &sum : fold.sums)
      block->addArgument(accumulatorType(sum), location);
    block->addArgument(topType, location);
  }
  for (mlir::Type type : more)
    block->addArgument(mlir::cast<RowsType>(type).withDomain(topType.getDomain()), location);
  return Accumulators(block->getArguments().begin(), block->getArguments().end());
}

void FoldBuilder::build(IRMapping &local) {
  auto walked = body[fold.top].walked;
  // The rows that a step takes: the scores, then every factor, each once for each map.
  SmallVector<Value> inputs = {local.lookupOrDefault(body[fold.top].op->getOperand(0))};
  llvm::DenseMap<std::pair<Value, Map>, unsigned> placeOf;
  for (const OnlineSum &sum : fold.sums)
    for (const OnlineSum::Step &step : sum.steps) {
      Operation *op = body[step.op].op;
      for (unsigned i = 0; i < op->getNumOperands(); ++i) {
        if (i == step.operand || step.total != Body::kNone || op->getOperand(i).getDefiningOp<ConstantOp>())
          continue;
        auto [slot, isNew] =
            placeOf.try_emplace({op->getOperand(i), readMap(op, i)}, static_cast<unsigned>(inputs.size()));
        if (!isNew)
          continue;
        Value rows = local.lookupOrDefault(op->getOperand(i));
        if (readMap(op, i) != Map::Self)
          rows = builder.create<SpreadOp>(location, rowsType(rows).withDomain(walked), rows, readMap(op, i));
        inputs.push_back(rows);
      }
    }
  SmallVector<mlir::Type> types = {topType};
  for (const OnlineSum &sum : fold.sums)
    types.push_back(accumulatorType(sum));
  auto result = builder.create<FoldOp>(location, types, inputs, body[fold.top].collects);
  mlir::OpBuilder::InsertionGuard guard(builder);

  enter(result.getInit(), {}, 0);
  Accumulators first = {constant(topType, -std::numeric_limits<double>::infinity())};
  for (const OnlineSum &sum : fold.sums)
    first.push_back(constant(accumulatorType(sum), 0));
  first.push_back(constant(topType, 0));
  builder.create<YieldOp>(location, first);

  Accumulators rows = enter(result.getStep(), SmallVector<mlir::Type>(mlir::ValueRange(inputs).getTypes()), 1);
  const size_t numAccumulators = types.size() + 1;
  Value score = rows[numAccumulators];
  Value top = make<MaxOp>(topType, {rows[0], score});
  Accumulators next = scaled(Accumulators(rows.begin(), rows.begin() + numAccumulators), top);
  // The largest counts 1, also -inf: as long as nothing larger is met, nothing is known about what its sums will be.
  Value isTop = make<EqualOp>(flagType(), {score, top});
  Value power = make<ExpOp>(topType, make<SubOp>(topType, {score, top}));
  power = make<SelectOp>(topType, {isTop, constant(topType, 1), power});
  for (auto [k, sum] : llvm::enumerate(fold.sums)) {
    Value value = power;
    for (const OnlineSum::Step &step : sum.steps) {
      if (step.total != Body::kNone)
        continue;
      Operation *op = body[step.op].op;
      SmallVector<Value> operands;
      for (unsigned i = 0; i < op->getNumOperands(); ++i) {
        if (i == step.operand)
          operands.push_back(value);
        else if (auto number = op->getOperand(i).getDefiningOp<ConstantOp>())
          operands.push_back(
              constant(rowsType(number).withDomain(topType.getDomain()), number.getValue().convertToDouble()));
        else
          operands.push_back(rows[numAccumulators + placeOf.lookup({op->getOperand(i), readMap(op, i)})]);
      }
      value = cloneAt(op, operands);
    }
    next[k + 1] = make<AddOp>(accumulatorType(sum), {next[k + 1], value});
  }
  next.push_back(constant(topType, 1));
  builder.create<YieldOp>(location, next);

  Accumulators parts = enter(result.getJoin(), {}, 2);
  Accumulators left(parts.begin(), parts.begin() + numAccumulators),
      right(parts.begin() + numAccumulators, parts.end());
  top = make<MaxOp>(topType, {left[0], right[0]});
  Accumulators joined = scaled(left, top), other = scaled(right, top);
  for (size_t k = 1; k < joined.size(); ++k)
    joined[k] = make<AddOp>(rowsType(joined[k]), {joined[k], other[k]});
  joined.push_back(make<MaxOp>(topType, {left.back(), right.back()}));
  builder.create<YieldOp>(location, joined);

  Accumulators last = enter(result.getFinish(), {}, 1);
  SmallVector<Value> finished;
  // Nothing was met: the maximum of nothing is 0, and so are all sums.
  Value isEmpty = make<EqualOp>(flagType(), {last.back(), constant(topType, 0)});
  finished.push_back(make<SelectOp>(topType, {isEmpty, constant(topType, 0), last[0]}));
  Value one = constant(topType, 1);
  // If all scores are -inf, or one is inf, their differences to the maximum are NaN, and so are all sums.
  Value none = make<SubOp>(topType, {finished[0], finished[0]});
  for (auto [k, sum] : llvm::enumerate(fold.sums)) {
    Value value = make<AddOp>(accumulatorType(sum), {last[k + 1], shaped(none, sum)});
    for (auto [place, step] : llvm::enumerate(sum.steps))
      if (step.total != Body::kNone) {
        size_t total = static_cast<size_t>(
            llvm::find_if(fold.sums, [&](const OnlineSum &other) { return other.sum == step.total; }) -
            fold.sums.begin());
        Value divisor = make<SelectOp>(topType, {isEmpty, one, finished[total + 1]});
        value = make<DivOp>(accumulatorType(sum), {value, shaped(divisor, sum, place + 1)});
      }
    finished.push_back(value);
  }
  builder.create<YieldOp>(location, finished);

  local.map(body[fold.top].op->getResult(0), result.getResult(0));
  for (auto [k, sum] : llvm::enumerate(fold.sums))
    local.map(body[sum.sum].op->getResult(0), result.getResult(k + 1));
}

//===- Groups ----------------------------------------------------------------------------------------------------===//

/// Builds the op of one group.
class GroupBuilder {
public:
  explicit GroupBuilder(const Groups &groups)
      : groups(groups), body(groups.getBody()),
        builder(mlir::func::FuncOp(body.function).getBody().front().getTerminator()) {}

  /// Makes tables of the constants that sums over all rows start from, which have to be tables. Comes first.
  void buildStarts();
  void build(const Group &group);
  /// Where each value of the function lives now.
  IRMapping outside;
  unsigned numSweeps = 0, numScratch = 0, numFolds = 0;

private:
  void buildSweeps(const Group &group, IRMapping &inside);
  void buildSweep(const Sweeps::Sweep &sweep, IRMapping &local);
  mlir::Location locationOf(const Group &group);
  Value tableFor(const Group &group, Value value);
  void cloneOp(Operation *op, IRMapping &inside);

  const Groups &groups;
  const Body &body;
  mlir::OpBuilder builder;
  /// Tables that groups have written, by the order in which they are stored.
  llvm::DenseMap<std::pair<Value, Order>, Value> copies;
  /// The tables of constants that sums start from, and what stands for them in the group that is built.
  llvm::DenseMap<Value, Value> tableOfStart, startInside;
};

/// All places of the model that the group computes.
mlir::Location GroupBuilder::locationOf(const Group &group) {
  SmallVector<mlir::Location> places;
  for (unsigned op : group.ops)
    places.push_back(body[op].op->getLoc());
  return mlir::FusedLoc::get(builder.getContext(), places);
}

/// The table of a value, in the order in which the group visits its rows if it is stored in that.
Value GroupBuilder::tableFor(const Group &group, Value value) {
  const Order order = walkOrder(group.kind.loop, rowsType(value).getDomain());
  auto copy = copies.find({value, order});
  return copy == copies.end() ? outside.lookupOrDefault(value) : copy->second;
}

/// The constant that an op starts from. Only a result of the domain One can have one; others start from rows.
static Value startOf(Operation *op) {
  Value start;
  if (auto reduce = mlir::dyn_cast<ReduceOp>(op))
    start = reduce.getInit();
  else if (auto first = mlir::dyn_cast<FirstIndexOp>(op))
    start = first.getInit();
  return start && start.getDefiningOp<ConstantOp>() ? start : Value();
}

/// The copy starts from a table where the op starts from a constant.
void GroupBuilder::cloneOp(Operation *op, IRMapping &inside) {
  Operation *copy = builder.clone(*op, inside);
  if (Value start = startOf(op))
    for (auto [operand, copied] : llvm::zip_equal(op->getOpOperands(), copy->getOpOperands()))
      if (operand.get() == start)
        copied.set(startInside.lookup(start));
}

/// Clones the ops of a sweep, each when what it reads in the same sweep is there: a fold comes after all its factors,
/// and before what reads one of its results.
void GroupBuilder::buildSweep(const Sweeps::Sweep &sweep, IRMapping &local) {
  llvm::DenseSet<unsigned> waiting(sweep.ops.begin(), sweep.ops.end());
  for (const OnlineFold &fold : sweep.folds) {
    waiting.insert(fold.top);
    for (const OnlineSum &sum : fold.sums)
      waiting.insert(sum.sum);
  }
  auto isWaiting = [&](Value value) {
    auto source = body.find(value);
    return source && waiting.contains(*source);
  };
  SmallVector<bool> isBuilt(sweep.folds.size());
  while (!waiting.empty()) {
    size_t before = waiting.size();
    for (unsigned number : sweep.ops) {
      Operation *op = body[number].op;
      if (!waiting.contains(number) || llvm::any_of(op->getOperands(), isWaiting))
        continue;
      cloneOp(op, local);
      waiting.erase(number);
    }
    for (auto [i, fold] : llvm::enumerate(sweep.folds)) {
      bool isReady = !isBuilt[i] && !isWaiting(body[fold.top].op->getOperand(0));
      for (const OnlineSum &sum : fold.sums)
        for (const OnlineSum::Step &step : sum.steps)
          for (auto [k, operand] : llvm::enumerate(body[step.op].op->getOperands()))
            isReady &= k == step.operand || step.total != Body::kNone || !isWaiting(operand);
      if (!isReady)
        continue;
      FoldBuilder(body, fold, builder, body[fold.top].op->getLoc()).build(local);
      isBuilt[i] = true;
      ++numFolds;
      waiting.erase(fold.top);
      for (const OnlineSum &sum : fold.sums)
        waiting.erase(sum.sum);
    }
    if (waiting.size() == before)
      llvm::report_fatal_error("ops of a sweep wait for each other");
  }
}

void GroupBuilder::buildSweeps(const Group &group, IRMapping &inside) {
  Sweeps sweeps = groups.sweepsOf(group);
  numSweeps += static_cast<unsigned>(sweeps.list.size());
  mlir::Location location = locationOf(group);
  for (const Sweeps::Sweep &sweep : sweeps.list) {
    SmallVector<mlir::Type> types;
    for (unsigned value : sweep.yields) {
      types.push_back(body[value].op->getResult(0).getType());
      numScratch += body[value].domain == group.domain && !group.stores(value);
    }
    auto op = builder.create<SweepOp>(location, types);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getBody());
    IRMapping local = inside;
    buildSweep(sweep, local);
    SmallVector<Value> yielded;
    for (auto [value, crossed] : llvm::zip_equal(sweep.yields, op.getResults())) {
      yielded.push_back(local.lookup(body[value].op->getResult(0)));
      inside.map(body[value].op->getResult(0), crossed);
    }
    builder.create<YieldOp>(location, yielded);
  }
}

void GroupBuilder::buildStarts() {
  llvm::SetVector<Value> starts;
  for (const Group &group : groups.list())
    for (unsigned number : group.ops)
      if (Value start = startOf(body[number].op))
        starts.insert(start);
  for (Value start : starts) {
    auto result = builder.create<GroupOp>(start.getLoc(), start.getType(), mlir::ValueRange(), Loop::Flat, Domain::One,
                                          Phase::Graph, mlir::ArrayAttr(), false);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&result.getBody());
    Operation *constant = builder.clone(*start.getDefiningOp());
    builder.create<YieldOp>(start.getLoc(), constant->getResults());
    tableOfStart[start] = result.getResult(0);
  }
}

void GroupBuilder::build(const Group &group) {
  llvm::SetVector<Value> inputs, starts;
  llvm::SetVector<Operation *> constants;
  for (unsigned number : group.ops)
    for (Value operand : body[number].op->getOperands()) {
      auto source = body.find(operand);
      if (operand == startOf(body[number].op))
        starts.insert(operand);
      else if (auto constant = operand.getDefiningOp<ConstantOp>())
        constants.insert(constant);
      else if (!source || !group.contains(*source))
        inputs.insert(operand);
    }
  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(tableFor(group, input));
  for (Value start : starts)
    operands.push_back(tableOfStart.lookup(start));
  SmallVector<mlir::Type> types;
  SmallVector<mlir::Attribute> orders;
  bool hasOwnOrder = true;
  for (auto [value, order] : llvm::zip_equal(group.writes, group.orders)) {
    types.push_back(body[value].op->getResult(0).getType());
    orders.push_back(OrderAttr::get(builder.getContext(), order));
    hasOwnOrder &= order == walkOrder(group.kind.loop, body[value].domain);
  }
  mlir::Location location = locationOf(group);
  auto result = builder.create<GroupOp>(location, types, operands, group.kind.loop, group.domain, group.phase,
                                        hasOwnOrder ? mlir::ArrayAttr() : builder.getArrayAttr(orders), group.isBeside);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block = builder.createBlock(&result.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, block->addArgument(input.getType(), input.getLoc()));
  for (Value start : starts)
    startInside[start] = block->addArgument(start.getType(), start.getLoc());
  for (Operation *constant : constants)
    builder.clone(*constant, inside);
  if (group.kind.isTraversal())
    buildSweeps(group, inside);
  else
    for (unsigned op : group.ops)
      cloneOp(body[op].op, inside);
  SmallVector<Value> yielded;
  for (auto [i, written] : llvm::enumerate(result.getResults())) {
    Value value = body[group.writes[i]].op->getResult(0);
    yielded.push_back(inside.lookup(value));
    outside.map(value, written);
    copies[{value, group.orders[i]}] = written;
  }
  builder.create<YieldOp>(location, yielded);
}

struct FormGroupsPass : impl::FormGroupsPassBase<FormGroupsPass> {
  using FormGroupsPassBase::FormGroupsPassBase;

  void runOnFlow() override {
    mlir::func::FuncOp function = getOperation();
    mlir::Block &block = function.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    GroupOptions options;
    options.fuse = fuse;
    options.rebuild = rebuild;
    options.memoryWeight = memoryWeight;
    options.remark = [](mlir::Location location, const std::string &text) { mlir::emitRemark(location) << text; };
    Groups groups(function, options);
    if (!groups.isComplete()) {
      function.emitOpError("has groups that wait for each other");
      return signalPassFailure();
    }
    GroupBuilder builder(groups);
    builder.buildStarts();
    for (const Group &group : groups.list())
      builder.build(group);
    for (mlir::OpOperand &result : block.getTerminator()->getOpOperands())
      result.set(builder.outside.lookupOrDefault(result.get()));
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())  // constants may be results
        op->erase();
    numGroups += groups.list().size();
    numSweeps += builder.numSweeps;
    numScratch += builder.numScratch;
    numFolds += builder.numFolds;
  }
};

}  // namespace

}  // namespace hector::flow
