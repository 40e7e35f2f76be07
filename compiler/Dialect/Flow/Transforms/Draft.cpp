#include "compiler/Dialect/Flow/Transforms/Draft.h"

#include <mlir/IR/OperationSupport.h>

namespace hector::flow {

using mlir::Operation;
using mlir::Value;

llvm::SetVector<Operation *> unread(llvm::ArrayRef<Operation *> gone, Operation *kept) {
  llvm::SetVector<Operation *> found;
  for (Operation *op : gone)
    if (op != kept)
      found.insert(op);
  for (size_t i = 0; i < found.size(); ++i)
    for (Value operand : found[i]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (op && op != kept && llvm::all_of(op->getUsers(), [&](Operation *user) { return found.contains(user); }))
        found.insert(op);
    }
  return found;
}

bool isEqual(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         mlir::OperationEquivalence::isEquivalentTo(a, b, mlir::OperationEquivalence::IgnoreLocations);
}

/// What constants are found by.
static std::pair<mlir::Attribute, mlir::Type> keyOf(ConstantOp op) {
  return {op.getValueAttr(), op.getType()};
}

/// Of the values that an op reads, one that has no more readers than the others. Finding it takes no longer than
/// going through its readers: a weight may be read by every layer.
static Value leastRead(Operation *op) {
  llvm::SmallVector<Value::use_iterator, 4> uses;
  for (Value operand : op->getOperands())
    uses.push_back(operand.use_begin());
  for (;;)
    for (auto [operand, use] : llvm::zip_equal(op->getOperands(), uses))
      if (++use == operand.use_end())
        return operand;
}

Draft::Draft(mlir::Block &body) : body(body) {
  for (auto constant : body.getOps<ConstantOp>())
    constants.try_emplace(keyOf(constant), constant);
}

template <class Accept> Operation *Draft::findReader(Operation *op, Accept accept) {
  for (Operation *other : leastRead(op).getUsers())
    if (other != op && accept(other) && isEqual(op, other))
      return other;
  return nullptr;
}

Operation *Draft::findEqual(Operation *op) {
  if (op->getNumOperands() > 0)
    return findReader(op, [&](Operation *other) {
      return other->getBlock() == &aside || (other->getBlock() == &body && other->isBeforeInBlock(site));
    });
  auto constant = mlir::dyn_cast<ConstantOp>(op);
  if (!constant)
    return nullptr;
  auto found = constants.find(keyOf(constant));
  if (found != constants.end() && found->second->isBeforeInBlock(site))
    return found->second;
  for (auto other : aside.getOps<ConstantOp>())
    if (other != constant && keyOf(other) == keyOf(constant))
      return other;
  return nullptr;
}

Operation *Draft::findEqualLater(Operation *op) {
  if (op->getNumOperands() == 0)
    return nullptr;
  return findReader(op, [&](Operation *other) { return other->getBlock() == &body && site->isBeforeInBlock(other); });
}

void Draft::eraseUnread(Operation *kept, llvm::function_ref<void(Operation *)> erasing) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(aside)))
    if (&op != kept && op.use_empty()) {
      if (erasing)
        erasing(&op);
      op.erase();
    }
}

void Draft::place() {
  // Equal ones, if any, come later.
  for (auto constant : aside.getOps<ConstantOp>())
    constants[keyOf(constant)] = constant;
  body.getOperations().splice(site->getIterator(), aside.getOperations());
}

void Draft::forget(Operation *op) {
  auto constant = mlir::dyn_cast<ConstantOp>(op);
  auto found = constant ? constants.find(keyOf(constant)) : constants.end();
  if (found != constants.end() && found->second == op)
    constants.erase(found);
}

}  // namespace hector::flow
