/// Makes each fusion group an op.

#include "compiler/Analysis/Cost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>

namespace hector::flow {

#define GEN_PASS_DEF_FORMGROUPSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

Domain domainOf(Value value) {
  return mlir::cast<RowsType>(value.getType()).getDomain();
}

/// The sweeps of one traversal: which op is in which, and what crosses from one to another.
///
/// In the softmax of an edge, `%t` is complete when sweep 0 ends, so the subtraction, which reads it from below, is in
/// sweep 1, and so is the sum over it. A division at the node may still read that sum in sweep 1; one at the edges
/// waits for sweep 2, where `%e` is needed again: it is rebuilt there from `%a` and `%t`, or carried over.
class Sweeps {
public:
  Sweeps(const Group &group, Loop loop, const Groups &groups, unsigned index, const Machine &machine);

  struct Sweep {
    llvm::SetVector<Operation *> ops;
    llvm::SmallSetVector<Value, 4> yields;
  };
  SmallVector<Sweep> list;
  unsigned numScratch = 0;

private:
  /// The first sweeps in which a value may be read at its own level, and from a level below it.
  struct Ready {
    unsigned atLevel = 0, below = 0;
  };

  bool isInside(Value value) const { return groups.of(value) == index; }
  bool isOuterLevel(Map map) const { return map != Map::Self && isLevel(loop, finest, map); }
  void place(Operation *op);
  void bring(Value value, unsigned sweep);
  bool isRebuilt(Value value);
  double rebuildBytes(Value value);

  const Groups &groups;
  unsigned index;
  Loop loop;
  Domain finest;
  const Machine &machine;
  llvm::DenseMap<Value, Ready> ready;
  llvm::DenseMap<Value, double> rebuilding;
};

Sweeps::Sweeps(const Group &group, Loop loop, const Groups &groups, unsigned index, const Machine &machine)
    : groups(groups), index(index), loop(loop), finest(group.domain), machine(machine) {
  for (Operation *op : group.ops)
    place(op);
  for (Operation *op : group.ops) {
    unsigned sweep = ready[op->getResult(0)].atLevel;
    if (list.size() <= sweep)
      list.resize(sweep + 1);
  }
  for (Operation *op : group.ops) {
    unsigned sweep = ready[op->getResult(0)].atLevel;
    if (groups.escapes(op->getResult(0)))
      list[sweep].yields.insert(op->getResult(0));
  }
  for (Operation *op : group.ops) {
    unsigned sweep = ready[op->getResult(0)].atLevel;
    list[sweep].ops.insert(op);
    for (Value operand : op->getOperands())
      bring(operand, sweep);
  }
}

void Sweeps::place(Operation *op) {
  Domain walked = walkedDomain(op);
  Ready result;
  for (Value operand : op->getOperands()) {
    if (!isInside(operand))
      continue;
    Ready source = ready[operand];
    result.atLevel = std::max(result.atLevel, domainOf(operand) == walked ? source.atLevel : source.below);
    result.below = std::max(result.below, source.below);
  }
  if (collectMap(op) != Map::Self)
    result.below = result.atLevel + 1;
  result.below = std::max(result.atLevel, result.below);
  ready[op->getResult(0)] = result;
}

/// Makes `value` available in a sweep: it is computed there, rebuilt, or carried over.
void Sweeps::bring(Value value, unsigned sweep) {
  if (!isInside(value) || ready[value].atLevel == sweep)
    return;
  unsigned home = ready[value].atLevel;
  Operation *op = value.getDefiningOp();
  if (!list[home].yields.contains(value) && isRebuilt(value)) {
    if (list[sweep].ops.insert(op))
      for (Value operand : op->getOperands())
        bring(operand, sweep);
    return;
  }
  if (list[home].yields.insert(value) && domainOf(value) == finest)
    ++numScratch;
}

/// The bytes that an edge reads, and its operations in bytes' worth, to compute `value` again.
double Sweeps::rebuildBytes(Value value) {
  auto [slot, isNew] = rebuilding.try_emplace(value, 0.0);
  if (!isNew)
    return slot->second;
  Operation *op = value.getDefiningOp();
  double bytes = static_cast<double>(mlir::cast<RowsType>(value.getType()).getRowSize()) / machine.operationsPerByte;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto type = mlir::cast<RowsType>(operand.getType());
    if (!isInside(operand))
      // The row of an outer level is at hand, and one number for all is a constant.
      bytes +=
          isOuterLevel(readMap(op, static_cast<unsigned>(i))) || type.getDomain() == Domain::One ? 0.0 : rowBytes(type);
    else if (domainOf(operand) == finest)
      bytes += isRebuilt(operand) ? rebuildBytes(operand) : rowBytes(type);
  }
  if (mlir::isa<DotOp>(op))
    bytes += 2 * static_cast<double>(mlir::cast<RowsType>(op->getOperand(0).getType()).getRowSize()) /
             machine.operationsPerByte;
  return rebuilding[value] = bytes;
}

bool Sweeps::isRebuilt(Value value) {
  Operation *op = value.getDefiningOp();
  return domainOf(value) == finest && mlir::isa<SpreadOp, DenseOp>(op) && !isProduct(op) &&
         rebuildBytes(value) <= 2 * rowBytes(mlir::cast<RowsType>(value.getType()));
}

/// Builds the op of one group.
class GroupBuilder {
public:
  GroupBuilder(mlir::func::FuncOp function, const Groups &groups, const Machine &machine)
      : groups(groups), machine(machine), builder(function.getBody().front().getTerminator()) {}

  GroupOp build(unsigned index, LoopKind kind);
  /// Where each value of the function lives now.
  mlir::IRMapping outside;
  unsigned numSweeps = 0, numScratch = 0;

private:
  void clone(Operation *op, mlir::IRMapping &inside);
  mlir::Location locationOf(const Group &group);

  const Groups &groups;
  const Machine &machine;
  mlir::OpBuilder builder;
};

/// All places of the model that the group computes.
mlir::Location GroupBuilder::locationOf(const Group &group) {
  SmallVector<mlir::Location> places;
  for (Operation *op : group.ops)
    places.push_back(op->getLoc());
  return mlir::FusedLoc::get(builder.getContext(), places);
}

void GroupBuilder::clone(Operation *op, mlir::IRMapping &inside) {
  builder.clone(*op, inside)->removeAttr("flow.again");
}

GroupOp GroupBuilder::build(unsigned index, LoopKind kind) {
  const Group &group = groups.list()[index];
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> constants;
  SmallVector<Value> outputs;
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands())
      if (auto constant = operand.getDefiningOp<ConstantOp>())
        constants.insert(constant);
      else if (groups.of(operand) != index)
        inputs.insert(operand);
    if (groups.escapes(op->getResult(0)))
      outputs.push_back(op->getResult(0));
  }
  SmallVector<Value> operands;
  for (Value input : inputs)
    operands.push_back(outside.lookupOrDefault(input));
  mlir::Location location = locationOf(group);
  auto result = builder.create<GroupOp>(location, mlir::ValueRange(outputs).getTypes(), operands, kind.loop,
                                        group.domain, group.phase);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *body = builder.createBlock(&result.getBody());
  mlir::IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *constant : constants)
    builder.clone(*constant, inside);
  if (!kind.isTraversal()) {
    for (Operation *op : group.ops)
      clone(op, inside);
  } else {
    Sweeps sweeps(group, kind.loop, groups, index, machine);
    numSweeps += static_cast<unsigned>(sweeps.list.size());
    numScratch += sweeps.numScratch;
    for (Sweeps::Sweep &sweep : sweeps.list) {
      auto op = builder.create<SweepOp>(location, mlir::ValueRange(sweep.yields.getArrayRef()).getTypes());
      mlir::OpBuilder::InsertionGuard inner(builder);
      builder.createBlock(&op.getBody());
      mlir::IRMapping local = inside;
      for (Operation *member : group.ops)  // in program order, also what is rebuilt
        if (sweep.ops.contains(member))
          clone(member, local);
      SmallVector<Value> yielded;
      for (auto [value, crossed] : llvm::zip_equal(sweep.yields, op.getResults())) {
        yielded.push_back(local.lookup(value));
        inside.map(value, crossed);
      }
      builder.create<YieldOp>(location, yielded);
    }
  }
  SmallVector<Value> yielded;
  for (auto [value, written] : llvm::zip_equal(outputs, result.getResults())) {
    yielded.push_back(inside.lookup(value));
    outside.map(value, written);
  }
  builder.create<YieldOp>(location, yielded);
  return result;
}

struct FormGroupsPass : impl::FormGroupsPassBase<FormGroupsPass> {
  void runOnFlow() override {
    mlir::func::FuncOp function = getOperation();
    mlir::Block &block = function.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    Groups groups(function);
    Cost cost = estimate(function, groups);
    Machine machine(function);
    GroupBuilder build(function, groups, machine);
    for (unsigned i = 0; i < groups.list().size(); ++i)
      build.build(i, cost.groups[i].kind);
    for (mlir::OpOperand &result : block.getTerminator()->getOpOperands())
      result.set(build.outside.lookupOrDefault(result.get()));
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty())  // constants may be results
        op->erase();
    numGroups += groups.list().size();
    numSweeps += build.numSweeps;
    numScratch += build.numScratch;
  }
};

}  // namespace

}  // namespace hector::flow
