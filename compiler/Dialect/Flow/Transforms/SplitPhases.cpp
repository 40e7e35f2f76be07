/// Makes the groups of each phase a function of their own.

#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/SymbolTable.h>
#include <mlir/Pass/Pass.h>

#include <set>
#include <string>

namespace hector::flow {

#define GEN_PASS_DEF_SPLITPHASESPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

/// Splits one function.
class Splitter {
public:
  Splitter(mlir::func::FuncOp function, mlir::SymbolTable &symbols)
      : function(function), symbols(symbols), body(function.getBody().front()), builder(function), last(function) {}

  unsigned run() {
    unsigned numFunctions = 0;
    for (unsigned i = 0; i <= getMaxEnumValForPhase(); ++i) {
      SmallVector<GroupOp> groups;
      for (auto group : body.getOps<GroupOp>())
        if (group.getPhase() == static_cast<Phase>(i))
          groups.push_back(group);
      if (groups.empty())
        continue;
      split(static_cast<Phase>(i), groups);
      ++numFunctions;
    }
    return numFunctions;
  }

private:
  void split(Phase phase, llvm::ArrayRef<GroupOp> groups);
  /// The attributes of an argument or a result that stands for `value`.
  mlir::DictionaryAttr nameOf(Value value);
  void nameKept(Value value);

  mlir::func::FuncOp function;
  mlir::SymbolTable &symbols;
  mlir::Block &body;
  mlir::OpBuilder builder;
  llvm::DenseMap<Value, mlir::StringAttr> names;  // of what phases leave for each other
  std::set<std::string> taken;
  Operation *last;  // of the functions made, behind which the next one goes
};

mlir::DictionaryAttr Splitter::nameOf(Value value) {
  mlir::StringAttr kept = names.lookup(value);
  llvm::StringRef name = kept ? kept.getValue() : llvm::StringRef();
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
    if (auto given = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "flow.name"))
      name = given.getValue();
  if (name.empty())
    return builder.getDictionaryAttr({});
  return builder.getDictionaryAttr(builder.getNamedAttr("flow.name", builder.getStringAttr(name)));
}

/// Names what a phase computes: a result of the whole as that, anything else `kept.att`, `kept.att.1` and so on.
void Splitter::nameKept(Value value) {
  std::string name;
  for (mlir::OpOperand &use : value.getUses())
    if (mlir::isa<mlir::func::ReturnOp>(use.getOwner()))
      if (auto result = function.getResultAttrOfType<mlir::StringAttr>(use.getOperandNumber(), "flow.name"))
        name = result.str();
  if (name.empty()) {
    llvm::StringRef table = tableName(value.getLoc());
    std::string start = "kept" + (table.empty() ? "" : "." + table.str());
    name = start;
    for (unsigned number = 1; !taken.insert(name).second; ++number)
      name = start + "." + std::to_string(number);
  }
  names[value] = builder.getStringAttr(name);
}

/// Moves groups into a function, and calls it after the phases before it.
void Splitter::split(Phase phase, llvm::ArrayRef<GroupOp> groups) {
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
  auto isInside = [&](Operation *op) {
    auto group = mlir::dyn_cast_or_null<GroupOp>(op);
    return group && llvm::is_contained(groups, group);
  };
  llvm::SetVector<Operation *> constants;
  for (GroupOp group : groups) {
    for (Value input : group.getInputs())
      if (input.getDefiningOp<ConstantOp>())
        constants.insert(input.getDefiningOp());
      else if (!isInside(input.getDefiningOp()))
        inputs.insert(input);
    for (Value result : group.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isInside(user); }))
        outputs.push_back(result);
  }
  SmallVector<mlir::Type> inputTypes(mlir::ValueRange(inputs.getArrayRef()).getTypes()),
      outputTypes(mlir::ValueRange(outputs).getTypes());
  builder.setInsertionPointAfter(last);
  auto part = builder.create<mlir::func::FuncOp>(function.getLoc(),
                                                 function.getName().str() + "." + stringifyPhase(phase).str(),
                                                 builder.getFunctionType(inputTypes, outputTypes));
  part.setPrivate();
  part->setAttr("flow.phase", PhaseAttr::get(builder.getContext(), phase));
  for (llvm::StringRef kept : {"flow.graph", "flow.machine", "flow.relation_ends"})
    if (mlir::Attribute attribute = function->getAttr(kept))
      part->setAttr(kept, attribute);
  for (Value output : outputs)
    nameKept(output);
  SmallVector<mlir::Attribute> inputNames, outputNames;
  for (Value input : inputs)
    inputNames.push_back(nameOf(input));
  for (Value output : outputs)
    outputNames.push_back(nameOf(output));
  part.setAllArgAttrs(inputNames);
  part.setAllResultAttrs(outputNames);
  symbols.insert(part);
  last = part;

  builder.setInsertionPoint(body.getTerminator());
  auto call = builder.create<mlir::func::CallOp>(function.getLoc(), part, inputs.getArrayRef());
  mlir::Block *block = part.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  mlir::IRMapping inside;
  for (Operation *constant : constants)
    builder.clone(*constant, inside);
  auto end = builder.create<mlir::func::ReturnOp>(function.getLoc(), outputs);
  for (GroupOp group : groups)
    group->moveBefore(end);
  for (auto [value, result] : llvm::zip_equal(outputs, call.getResults())) {
    names[result] = names.lookup(value);
    value.replaceUsesWithIf(result, [&](mlir::OpOperand &use) { return use.getOwner()->getBlock() == &body; });
  }
  for (auto [value, argument] : llvm::zip_equal(inputs, block->getArguments()))
    Value(value).replaceUsesWithIf(argument, [&](mlir::OpOperand &use) { return use.getOwner()->getBlock() == block; });
  for (Operation *constant : constants)
    constant->getResult(0).replaceUsesWithIf(inside.lookup(constant->getResult(0)),
                                             [&](mlir::OpOperand &use) { return use.getOwner()->getBlock() == block; });
}

/// Fails, with an error, where a function is not made of groups alone, or a group reads what a later phase computes.
mlir::LogicalResult checkPhases(mlir::func::FuncOp function) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto group = mlir::dyn_cast<GroupOp>(op);
    if (!group && !mlir::isa<ConstantOp>(op))
      return op.emitOpError("is part of no group, but phases are made of groups");
    if (!group)
      continue;
    for (Value input : group.getInputs())
      if (auto source = input.getDefiningOp<GroupOp>(); source && source.getPhase() > group.getPhase())
        return group.emitOpError() << "runs in the phase `" << stringifyPhase(group.getPhase())
                                   << "`, but reads what the phase `" << stringifyPhase(source.getPhase())
                                   << "` computes";
  }
  return mlir::success();
}

struct SplitPhasesPass : impl::SplitPhasesPassBase<SplitPhasesPass> {
  void runOnOperation() override {
    mlir::SymbolTable symbols(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<mlir::func::FuncOp>())) {
      // Those that are split call the others.
      if (function.isExternal() || !function.getBody().front().getOps<mlir::func::CallOp>().empty() ||
          function->hasAttr("flow.phase"))
        continue;
      if (mlir::failed(checkFlowFunction(function, Form::Grouped)) || mlir::failed(checkPhases(function)))
        return signalPassFailure();
      numFunctions += Splitter(function, symbols).run();
    }
  }
};

}  // namespace

}  // namespace hector::flow
