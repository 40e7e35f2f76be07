#include "compiler/Conversion/FlowToKern/FlowToKern.h"

#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Conversion/FlowToKern/GroupLowering.h"
#include "compiler/Conversion/FlowToKern/RowLowering.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace hector {

using flow::Domain;
using flow::Order;
using flow::RowsType;

RowsType storedType(RowsType type) {
  mlir::Type element = type.getElementType();
  bool isNarrow = element.isF16() || element.isBF16();
  if (!isNarrow || (type.getRowSize() > 1 && type.getDomain() >= Domain::Node))
    return type;
  return type.withElementType(mlir::Float32Type::get(type.getContext()));
}

namespace {

/// A table of the new function, and the order in which it is stored.
struct Stored {
  mlir::Value table;
  Order order = Order::None;
};

class ModuleLowering {
public:
  explicit ModuleLowering(mlir::ModuleOp module) : module(module), builder(module.getContext()) {}

  mlir::LogicalResult run();

private:
  mlir::LogicalResult lowerBody(mlir::func::FuncOp function, llvm::ArrayRef<Stored> arguments,
                                llvm::SmallVectorImpl<Stored> &results);
  mlir::LogicalResult lowerGroup(flow::GroupOp group, llvm::DenseMap<mlir::Value, Stored> &tables);
  void lowerConstant(flow::ConstantOp number, llvm::DenseMap<mlir::Value, Stored> &tables);
  kern::KernelOp unify(kern::KernelOp kernel, llvm::function_ref<std::string()> makeName);
  std::string nameOf(flow::GroupOp group);
  std::string unique(std::string name);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  llvm::StringMap<kern::KernelOp> kernels;  // by their text without the name
  llvm::StringMap<unsigned> names;
};

/// The order in which an input is best stored: that of the first loop that reads it row after row.
Order inputOrder(mlir::Value input) {
  for (mlir::Operation *user : input.getUsers()) {
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(user)) {
      auto callee = flow::calledFunction(call);
      for (auto [i, operand] : llvm::enumerate(call.getOperands()))
        if (operand == input)
          if (Order order = inputOrder(callee.getArgument(static_cast<unsigned>(i))); order != Order::None)
            return order;
    } else if (auto group = mlir::dyn_cast<flow::GroupOp>(user)) {
      return flow::walkOrder(group.getLoop(), mlir::cast<RowsType>(input.getType()).getDomain());
    }
  }
  return Order::None;
}

mlir::LogicalResult ModuleLowering::run() {
  auto functions = llvm::to_vector(module.getOps<mlir::func::FuncOp>());
  if (functions.empty())
    return mlir::success();
  mlir::func::FuncOp old = functions.front();
  llvm::SmallVector<mlir::Type> argumentTypes;
  for (mlir::Type type : old.getArgumentTypes())
    argumentTypes.push_back(storedType(mlir::cast<RowsType>(type)));
  builder.setInsertionPoint(old);
  auto function =
      builder.create<mlir::func::FuncOp>(old.getLoc(), old.getName(), builder.getFunctionType(argumentTypes, {}));
  mlir::Block *block = function.addEntryBlock();
  llvm::SmallVector<Stored> arguments, results;
  for (mlir::BlockArgument argument : old.getArguments()) {
    Domain domain = mlir::cast<RowsType>(argument.getType()).getDomain();
    Order order = inputOrder(argument);
    // Nobody reads it: any order will do.
    if (order == Order::None && (domain == Domain::Edge || domain == Domain::SrcPair || domain == Domain::DstPair))
      order = Order::ByType;
    unsigned i = argument.getArgNumber();
    arguments.push_back({block->getArgument(i), order});
    function.setArgAttrs(i, old.getArgAttrDict(i));
    if (order != Order::None)
      function.setArgAttr(i, "kern.order", flow::OrderAttr::get(builder.getContext(), order));
  }
  builder.setInsertionPointToEnd(block);
  if (mlir::failed(lowerBody(old, arguments, results)))
    return mlir::failure();
  llvm::SmallVector<mlir::Value> returned;
  llvm::SmallVector<mlir::Type> resultTypes;
  for (const Stored &result : results) {
    returned.push_back(result.table);
    resultTypes.push_back(result.table.getType());
  }
  builder.create<mlir::func::ReturnOp>(old.getLoc(), returned);
  function.setType(builder.getFunctionType(argumentTypes, resultTypes));
  for (auto [i, result] : llvm::enumerate(results)) {
    function.setResultAttrs(static_cast<unsigned>(i), old.getResultAttrDict(static_cast<unsigned>(i)));
    if (result.order != Order::None)
      function.setResultAttr(static_cast<unsigned>(i), "kern.order",
                             flow::OrderAttr::get(builder.getContext(), result.order));
  }
  for (llvm::StringRef kept : {"flow.graph", "flow.machine", "flow.relation_ends"})
    if (mlir::Attribute attribute = old->getAttr(kept))
      function->setAttr(kept, attribute);
  // Callers go first.
  for (mlir::func::FuncOp function : functions)
    function->dropAllReferences();
  for (mlir::func::FuncOp function : functions)
    function.erase();
  return mlir::success();
}

mlir::LogicalResult ModuleLowering::lowerBody(mlir::func::FuncOp function, llvm::ArrayRef<Stored> arguments,
                                              llvm::SmallVectorImpl<Stored> &results) {
  llvm::DenseMap<mlir::Value, Stored> tables;
  for (auto [argument, stored] : llvm::zip_equal(function.getArguments(), arguments))
    tables[argument] = stored;
  for (mlir::Operation &op : function.getBody().front()) {
    if (auto group = mlir::dyn_cast<flow::GroupOp>(op)) {
      if (mlir::failed(lowerGroup(group, tables)))
        return mlir::failure();
    } else if (auto number = mlir::dyn_cast<flow::ConstantOp>(op)) {
      lowerConstant(number, tables);
    } else if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) {
      llvm::SmallVector<Stored> given, made;
      for (mlir::Value operand : call.getOperands())
        given.push_back(tables.at(operand));
      if (mlir::failed(lowerBody(flow::calledFunction(call), given, made)))
        return mlir::failure();
      for (auto [result, stored] : llvm::zip_equal(call.getResults(), made))
        tables[result] = stored;
    } else if (auto end = mlir::dyn_cast<mlir::func::ReturnOp>(op)) {
      for (mlir::Value value : end.getOperands())
        results.push_back(tables.at(value));
    } else {
      return op.emitOpError() << "is outside of groups, and has no kernel; run flow-form-groups first";
    }
  }
  return mlir::success();
}

/// A name for people: what the kernel computes.
std::string ModuleLowering::nameOf(flow::GroupOp group) {
  llvm::SmallVector<std::string> parts;
  mlir::Operation *end = &group.getBody().front().back();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    std::string name;
    for (char c : flow::tableName(group.getResult(static_cast<unsigned>(i)).getLoc()))
      name += llvm::isAlnum(c) ? c : '_';
    if (name.empty())
      for (char c : flow::tableName(group.getLoc()))
        name += llvm::isAlnum(c) ? c : '_';
    if (!name.empty() && !llvm::is_contained(parts, name))
      parts.push_back(name);
  }
  if (parts.size() > 3)
    parts.resize(3);
  std::string name = llvm::join(parts, "_");
  if (name.empty())
    name = (flow::stringifyLoop(group.getLoop()) + "_" + flow::stringifyDomain(group.getDomain())).str();
  if (!llvm::isAlpha(name.front()))
    name = "t" + name;
  return unique(std::move(name));
}

std::string ModuleLowering::unique(std::string name) {
  unsigned &count = names[name];
  return ++count == 1 ? name : name + "_" + std::to_string(count);
}

/// The first kernel that is equal to `kernel`; it gets a name if it is new.
kern::KernelOp ModuleLowering::unify(kern::KernelOp kernel, llvm::function_ref<std::string()> makeName) {
  // The text of a kernel says all about it.
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel.print(stream, mlir::OpPrintingFlags().useLocalScope().elideLargeElementsAttrs());
  auto [slot, isNew] = kernels.try_emplace(text, kernel);
  if (isNew)
    kernel.setSymName(makeName());
  else
    kernel.erase();
  return slot->second;
}

/// A number that is a table of its own: a result of the model, or what a group reads.
void ModuleLowering::lowerConstant(flow::ConstantOp number, llvm::DenseMap<mlir::Value, Stored> &tables) {
  mlir::OpBuilder atEnd = mlir::OpBuilder::atBlockEnd(module.getBody());
  mlir::Location location = number.getLoc();
  RowsType type = storedType(number.getResult().getType());
  auto kernel = atEnd.create<kern::KernelOp>(location, "kernel", flow::Loop::Flat, Domain::One, 0);
  mlir::Block &block = kernel.getBody().emplaceBlock();
  mlir::Value table = block.addArgument(type, location);
  atEnd.setInsertionPointToEnd(&block);
  auto loop = atEnd.create<kern::ForOp>(location, Domain::One);
  atEnd.setInsertionPointToEnd(&loop.getBody().emplaceBlock());
  mlir::Value value =
      atEnd.create<kern::ConstantOp>(location, computeType(type.getElementType()), number.getValueAttr());
  atEnd.create<kern::StoreOp>(location, value, table, flow::DomainAttr::get(module.getContext(), Domain::One),
                              atEnd.getStrArrayAttr({}));
  kernel = unify(kernel, [&] { return unique("number"); });
  // It needs nothing, and comes first.
  mlir::OpBuilder atStart = mlir::OpBuilder::atBlockBegin(builder.getInsertionBlock());
  auto launch = atStart.create<kern::LaunchOp>(
      location, mlir::TypeRange(type), mlir::FlatSymbolRefAttr::get(kernel.getSymNameAttr()), mlir::ValueRange(),
      flow::PhaseAttr::get(module.getContext(), flow::Phase::Graph),
      builder.getArrayAttr({flow::OrderAttr::get(module.getContext(), Order::None)}));
  tables[number.getResult()] = {launch.getResult(0), Order::None};
}

mlir::LogicalResult ModuleLowering::lowerGroup(flow::GroupOp group, llvm::DenseMap<mlir::Value, Stored> &tables) {
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<Order> inputOrders;
  for (mlir::Value input : group.getInputs()) {
    inputs.push_back(tables.at(input).table);
    inputOrders.push_back(tables.at(input).order);
  }
  mlir::OpBuilder atEnd = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto made = hector::lowerGroup(atEnd, group, inputOrders);
  if (mlir::failed(made))
    return mlir::failure();
  kern::KernelOp kernel = unify(*made, [&] { return nameOf(group); });
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Attribute> orders;
  for (unsigned i = 0; i < group.getNumResults(); ++i) {
    types.push_back(storedType(mlir::cast<RowsType>(group.getResult(i).getType())));
    orders.push_back(flow::OrderAttr::get(builder.getContext(), group.getOrder(i)));
  }
  auto launch =
      builder.create<kern::LaunchOp>(group.getLoc(), types, mlir::FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                     inputs, group.getPhaseAttr(), builder.getArrayAttr(orders));
  for (unsigned i = 0; i < group.getNumResults(); ++i)
    tables[group.getResult(i)] = {launch.getResult(i), group.getOrder(i)};
  return mlir::success();
}

struct LowerToKernPass : mlir::PassWrapper<LowerToKernPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToKernPass)
  llvm::StringRef getArgument() const override { return "lower-to-kern"; }
  llvm::StringRef getDescription() const override { return "Makes a kernel of every group."; }
  void getDependentDialects(mlir::DialectRegistry &registry) const override { registry.insert<kern::KernDialect>(); }
  void runOnOperation() override {
    if (mlir::failed(lowerToKern(getOperation())))
      signalPassFailure();
  }
};

}  // namespace

mlir::LogicalResult lowerToKern(mlir::ModuleOp module) {
  return ModuleLowering(module).run();
}

std::unique_ptr<mlir::Pass> createLowerToKernPass() {
  return std::make_unique<LowerToKernPass>();
}

}  // namespace hector
