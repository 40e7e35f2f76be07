#include "compiler/Analysis/Body.h"

#include "compiler/Analysis/Machine.h"

#include <llvm/ADT/DenseSet.h>

namespace hector::flow {

using mlir::Operation;
using mlir::Value;

Body::Body(mlir::func::FuncOp function) : function(function), rows(function), numArguments(function.getNumArguments()) {
  // What nothing leads to from the results is not computed.
  mlir::Block &block = function.getBody().front();
  llvm::DenseSet<Operation *> read;
  for (Operation &op : llvm::reverse(block))
    if (&op == block.getTerminator() || read.contains(&op))
      for (Value operand : op.getOperands())
        read.insert(operand.getDefiningOp());
  for (Operation &op : block.without_terminator())
    if (!mlir::isa<ConstantOp>(op) && read.contains(&op)) {
      numberOf[&op] = size();
      ops.emplace_back().op = &op;
    }
  const Machine machine(function);
  for (unsigned number = 0; number < size(); ++number) {
    Op &info = ops[number];
    auto type = mlir::cast<RowsType>(info.op->getResult(0).getType());
    info.walked = walkedDomain(info.op);
    info.domain = type.getDomain();
    info.collects = collectMap(info.op);
    info.isProduct = flow::isProduct(info.op);
    info.isCheap = mlir::isa<SpreadOp>(info.op) || (mlir::isa<DenseOp>(info.op) && !info.isProduct);
    (info.isProduct ? info.products : info.scalars) = operations(info.op, rows);
    (info.isProduct ? info.productWork : info.work) = operations(info.op, rows) * effort(info.op, machine);
    info.rowBytes = flow::rowBytes(type);
    info.tableBytes = flow::tableBytes(type, rows);
    info.kinds = loopKinds(info.op);
    for (unsigned i = 0; i < info.op->getNumOperands(); ++i) {
      Value value = info.op->getOperand(i);
      Operand operand;
      operand.value = value;
      operand.map = readMap(info.op, i);
      operand.type = mlir::cast<RowsType>(value.getType());
      operand.rowBytes = flow::rowBytes(operand.type);
      operand.tableBytes = flow::tableBytes(operand.type, rows);
      if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
        operand.table = argument.getArgNumber();
      } else if (auto source = find(value)) {
        operand.source = *source;
        operand.table = tableOf(*source);
        operand.inner = innerKinds(info.op, i);
        if (!llvm::is_contained(ops[*source].readers, number))
          ops[*source].readers.push_back(number);
      } else {
        continue;
      }
      info.operands.push_back(operand);
    }
  }
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (auto source = find(result))
      ops[*source].isReturned = true;
  findPhases();
}

std::optional<unsigned> Body::find(Value value) const {
  auto found = value.getDefiningOp() ? numberOf.find(value.getDefiningOp()) : numberOf.end();
  return found == numberOf.end() ? std::nullopt : std::optional(found->second);
}

/// Whether an argument is a parameter: a table of weights, and not of rows. Gradients of results and what an optimiser
/// reads are none: they change with every step.
static bool isParameter(mlir::func::FuncOp function, Value value) {
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(value);
  if (!argument)
    return false;
  auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "flow.name");
  auto startsWith = [&](llvm::StringRef start) { return name && name.getValue().starts_with(start); };
  return mlir::cast<RowsType>(value.getType()).getDomain() <= Domain::EdgeType && !startsWith("grad.") &&
         !startsWith("state.") && !startsWith("step.");
}

void Body::findPhases() {
  if (auto count = function->getAttrOfType<mlir::IntegerAttr>("flow.forward_results")) {
    for (Op &op : ops)
      op.phase = Phase::Backward;
    Operation *end = function.getBody().front().getTerminator();
    unsigned numForward = std::min(static_cast<unsigned>(std::max<int64_t>(count.getInt(), 0)), end->getNumOperands());
    for (Value result : end->getOperands().take_front(numForward))
      if (auto source = find(result))
        ops[*source].phase = Phase::Forward;
    for (Op &op : llvm::reverse(ops))
      if (llvm::any_of(op.readers, [&](unsigned reader) { return ops[reader].phase == Phase::Forward; }))
        op.phase = Phase::Forward;
  }
  for (Op &op : ops) {
    if (mlir::isa<DropoutOp>(op.op))  // drawn anew in every step, whatever it reads
      continue;
    Phase earliest = Phase::Graph;
    for (Value operand : op.op->getOperands()) {
      auto source = find(operand);
      bool isConstant = !source && operand.getDefiningOp();
      earliest = std::max(earliest, source                           ? ops[*source].phase
                                    : isConstant                     ? Phase::Graph
                                    : isParameter(function, operand) ? Phase::Weights
                                                                     : Phase::Forward);
    }
    if (earliest <= Phase::Weights)
      op.phase = earliest;
  }
}

}  // namespace hector::flow
