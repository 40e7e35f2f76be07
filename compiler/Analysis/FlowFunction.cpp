#include "compiler/Analysis/FlowFunction.h"

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <set>

namespace hector::flow {

mlir::func::FuncOp calledFunction(mlir::func::CallOp call) {
  auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
  return callee && !callee.isExternal() ? callee : mlir::func::FuncOp();
}

mlir::LogicalResult checkFlowFunction(mlir::func::FuncOp function, Form form) {
  if (function.isExternal())  // (F1)
    return function.emitOpError("is a declaration, but needs a body to work on");
  size_t numBlocks = function.getBody().getBlocks().size();
  if (numBlocks != 1)  // (F1)
    return function.emitOpError() << "has " << numBlocks << " blocks, but functions of flow have one";
  for (mlir::BlockArgument argument : function.getArguments())
    if (!mlir::isa<RowsType>(argument.getType()))  // (F2)
      return function.emitOpError() << "has argument " << argument.getArgNumber() << " of type " << argument.getType()
                                    << ", but functions of flow take tables, !flow.rows";
  mlir::Block &body = function.getBody().front();
  for (mlir::Operation &op : body.without_terminator()) {
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op); call && form == Form::Grouped) {
      auto callee = calledFunction(call);
      if (!callee || !callee.getBody().front().getOps<mlir::func::CallOp>().empty())  // (F5)
        return call.emitOpError() << "calls `" << call.getCallee() << "`, which is no phase of this function";
      if (mlir::failed(checkFlowFunction(callee, Form::Grouped)))
        return mlir::failure();
      continue;
    }
    if (!op.isRegistered() || !mlir::isa<FlowDialect>(op.getDialect()))  // (F3)
      return op.emitOpError("is no op of flow, and functions of flow hold nothing else before their return");
    if (mlir::isa<FoldOp>(op) || (form == Form::Plain && mlir::isa<GroupOp>(op)))  // (F4)
      return op.emitOpError("belongs to a function whose groups are formed, which is done last");
  }
  if (!mlir::isa<mlir::func::ReturnOp>(body.back()))  // (F1)
    return body.back().emitOpError("ends the body, but functions of flow end with func.return");
  return mlir::success();
}

void listRelationEnds(mlir::func::FuncOp function) {
  constexpr llvm::StringLiteral kName = "flow.relation_ends";
  std::set<Map> ends;
  if (auto listed = function->getAttrOfType<mlir::ArrayAttr>(kName))
    for (auto end : listed.getAsRange<MapAttr>())
      ends.insert(end.getValue());
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    // An edge knows the types of its own ends.
    if (walkedDomain(&op) == Domain::Edge)
      continue;
    auto note = [&](Map map) {
      if (map == Map::SrcNodeType || map == Map::DstNodeType)
        ends.insert(map);
    };
    note(collectMap(&op));
    for (unsigned i = 0; i < op.getNumOperands(); ++i)
      note(readMap(&op, i));
  }
  llvm::SmallVector<mlir::Attribute> attributes;
  for (Map end : ends)
    attributes.push_back(MapAttr::get(function.getContext(), end));
  if (!attributes.empty())
    function->setAttr(kName, mlir::ArrayAttr::get(function.getContext(), attributes));
}

}  // namespace hector::flow
