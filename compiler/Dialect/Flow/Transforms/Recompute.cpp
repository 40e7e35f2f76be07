/// Recomputes values where they are read, if that costs less than storing them.

#include "compiler/Analysis/Cost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>

namespace hector::flow {

#define GEN_PASS_DEF_RECOMPUTEPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using mlir::Operation;
using mlir::OpOperand;
using mlir::Value;

/// Whether an op works within a row: recomputing it visits no more rows than reading it would.
bool isCheap(Operation *op) {
  return op && (mlir::isa<SpreadOp>(op) || (mlir::isa<DenseOp>(op) && !mlir::isa<LinearOp>(op)));
}

/// An op that nothing reads any more, out of the function but not destroyed.
struct Removed {
  Operation *op;
  Operation *next;  // it stood before this one
  llvm::SmallVector<Value> operands;
};

struct RecomputePass : impl::RecomputePassBase<RecomputePass> {
  void runOnFlow() override {
    mlir::Block &body = getOperation().getBody().front();
    // Numbers go on after those of an earlier run.
    gone.clear();
    tag = 0;
    for (Operation &op : body)
      if (auto again = op.getAttrOfType<mlir::IntegerAttr>("flow.again"))
        tag = std::max(tag, static_cast<uint64_t>(again.getInt()) + 1);
    // Late values first: the values that they depend on are looked at after them.
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isCheap(&op))
        ops.push_back(&op);
    Groups groups(getOperation());
    double price = estimate(getOperation(), groups).price();
    for (Operation *op : ops)
      if (!gone.contains(op))
        rebuild(op->getResult(0), groups, price);
  }

  /// Recomputes `value` in every group that reads it, and keeps that if it lowers the price of the function.
  void rebuild(Value value, Groups &groups, double &price) {
    auto home = groups.of(value);
    if (!home || groups.list()[*home].phase == Phase::Graph || !groups.escapes(value))
      return;
    llvm::MapVector<unsigned, llvm::SmallVector<OpOperand *>> readers;
    for (OpOperand &use : value.getUses()) {
      auto group = groups.of(use.getOwner());
      if (!group)  // a result is stored in any case
        return;
      if (*group != *home)
        readers[*group].push_back(&use);
    }
    llvm::SmallVector<Operation *> clones;
    for (auto &[group, uses] : readers) {
      Operation *first = uses.front()->getOwner();
      for (OpOperand *use : uses)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      mlir::IRMapping copies;
      Value copy = clone(value, group, groups, first, copies, clones);
      for (OpOperand *use : uses)
        use->set(copy);
      ++tag;
    }
    llvm::SmallVector<Removed> removed;
    removeUnread(value.getDefiningOp(), removed);
    Groups regrouped(getOperation());
    double then = estimate(getOperation(), regrouped).price();
    mlir::Location location = value.getLoc();
    if (then < price) {
      mlir::emitRemark(location) << "rebuilt where it is read: " << format(then) << " instead of " << format(price);
      ++numRebuilt;
      price = then;
      groups = std::move(regrouped);
      for (const Removed &unread : removed) {
        gone.insert(unread.op);
        unread.op->destroy();
      }
      return;
    }
    mlir::emitRemark(location) << "stored: " << format(price) << ", and " << format(then)
                               << " if it were rebuilt where it is read";
    for (Removed &unread : llvm::reverse(removed)) {
      unread.next->getBlock()->getOperations().insert(unread.next->getIterator(), unread.op);
      unread.op->setOperands(unread.operands);
    }
    for (auto &[group, uses] : readers)
      for (OpOperand *use : uses)
        use->set(value);
    for (Operation *op : llvm::reverse(clones))
      op->erase();
  }

  /// Takes out an op that nothing reads, and the ops that become unused by that.
  void removeUnread(Operation *op, llvm::SmallVectorImpl<Removed> &removed) {
    if (!op || !op->use_empty())
      return;
    Removed unread = {op, op->getNextNode(), llvm::SmallVector<Value>(op->getOperands())};
    op->remove();
    for (OpOperand &operand : op->getOpOperands())
      operand.drop();
    removed.push_back(unread);
    for (Value operand : unread.operands)
      if (isCheap(operand.getDefiningOp()) && operand.getDefiningOp()->getBlock())
        removeUnread(operand.getDefiningOp(), removed);
  }

  /// A copy of `value` before `point`, together with the row-wise ops that it depends on, unless they are stored
  /// anyway.
  Value clone(Value value, unsigned group, const Groups &groups, Operation *point, mlir::IRMapping &copies,
              llvm::SmallVectorImpl<Operation *> &clones) {
    Operation *op = value.getDefiningOp();
    Domain domain = mlir::cast<RowsType>(value.getType()).getDomain();
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      bool isSameRow = mlir::cast<RowsType>(operand.getType()).getDomain() == domain;
      if (isCheap(source) && isSameRow && !groups.escapes(operand) && groups.of(operand) != group &&
          !copies.contains(operand))
        copies.map(operand, clone(operand, group, groups, point, copies, clones));
    }
    mlir::OpBuilder builder(point);
    Operation *copy = builder.clone(*op, copies);
    // Equal ops of different groups stay apart.
    copy->setAttr("flow.again", builder.getI64IntegerAttr(static_cast<int64_t>(tag)));
    clones.push_back(copy);
    return copy->getResult(0);
  }

  static std::string format(double price) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g MB", price / 1e6);
    return text;
  }

  uint64_t tag = 0;
  llvm::DenseSet<Operation *> gone;
};

}  // namespace

}  // namespace hector::flow
