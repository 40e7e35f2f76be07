/// Rebuilds values where they are read, where that costs less than storing them.

#include "compiler/Analysis/Cost.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

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

/// Whether an op is work within a row: rebuilding it walks no more rows than reading it would.
bool isCheap(Operation *op) {
  return op && mlir::isa<DenseOp>(op) && !mlir::isa<LinearOp>(op);
}

struct RecomputePass : impl::RecomputePassBase<RecomputePass> {
  void runOnOperation() override {
    mlir::Block &body = getOperation().getBody().front();
    // Late values first: what they are rebuilt from is looked at after them.
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isCheap(&op))
        ops.push_back(&op);
    double before = estimate(getOperation()).price();
    for (Operation *op : ops)
      if (auto after = rebuild(op->getResult(0), before))
        before = *after;
  }

  /// Tries to have every group that reads `value` rebuild it; gives the price of the function then, or nothing where
  /// the value stays as it was.
  std::optional<double> rebuild(Value value, double before) {
    Groups groups(getOperation());
    auto home = groups.of(value);
    if (!home || groups.list()[*home].phase == Phase::Graph || !groups.escapes(value))
      return std::nullopt;
    llvm::MapVector<unsigned, llvm::SmallVector<OpOperand *>> readers;
    for (OpOperand &use : value.getUses()) {
      auto group = groups.of(use.getOwner());
      if (!group)  // a result is stored in any case
        return std::nullopt;
      if (*group != *home)
        readers[*group].push_back(&use);
    }
    llvm::SmallVector<Operation *> clones;
    for (auto &[group, uses] : readers) {
      Operation *first = uses.front()->getOwner();
      for (OpOperand *use : uses)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      Value copy = clone(value, group, groups, first, clones);
      for (OpOperand *use : uses)
        use->set(copy);
      ++tag;
    }
    double after = estimate(getOperation()).price();
    if (after < before) {
      value.getDefiningOp()->emitRemark()
          << "rebuilt where it is read: " << format(after) << " instead of " << format(before);
      ++numRebuilt;
      return after;
    }
    value.getDefiningOp()->emitRemark() << "stored: " << format(before) << ", and " << format(after)
                                        << " if it were rebuilt where it is read";
    for (auto &[group, uses] : readers)
      for (OpOperand *use : uses)
        use->set(value);
    for (Operation *op : llvm::reverse(clones))
      op->erase();
    return std::nullopt;
  }

  /// A copy of `value` before `point`, together with what it is computed from row by row and is not stored anyway.
  Value clone(Value value, unsigned group, const Groups &groups, Operation *point,
              llvm::SmallVectorImpl<Operation *> &clones) {
    mlir::IRMapping mapping;
    Operation *op = value.getDefiningOp();
    Domain domain = mlir::cast<RowsType>(value.getType()).getDomain();
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      bool isSameRow = mlir::cast<RowsType>(operand.getType()).getDomain() == domain;
      if (isCheap(source) && isSameRow && !groups.escapes(operand) && groups.of(operand) != group &&
          !mapping.contains(operand))
        mapping.map(operand, clone(operand, group, groups, point, clones));
    }
    mlir::OpBuilder builder(point);
    Operation *copy = builder.clone(*op, mapping);
    // Equal ops of different groups stay apart.
    copy->setAttr("flow.again", builder.getI64IntegerAttr(tag));
    clones.push_back(copy);
    return copy->getResult(0);
  }

  static std::string format(double price) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g MB", price / 1e6);
    return text;
  }

  int64_t tag = 0;
};

}  // namespace

}  // namespace hector::flow
