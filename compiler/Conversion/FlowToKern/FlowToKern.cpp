#include "compiler/Conversion/FlowToKern/FlowToKern.h"

#include "compiler/Analysis/FlowFunction.h"
#include "compiler/Conversion/FlowToKern/GroupLowering.h"
#include "compiler/Conversion/FlowToKern/RowLowering.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
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

/// A table of the new function.
struct Stored {
  mlir::Value table;
  Order order = Order::None;  // in which it is stored
  std::string name = {};      // for people: that of an input or result, or of what computes it
};

/// What an op computes, in a word: by the name that the model has for it, or by the op's own.
std::string nameOf(mlir::Operation *op) {
  if (llvm::StringRef name = flow::tableName(op->getLoc()); !name.empty())
    return name.str();
  if (auto reduce = mlir::dyn_cast<flow::ReduceOp>(op))
    return flow::stringifyReduceKind(reduce.getKind()).str();
  return op->getName().stripDialect().str();
}

/// The op that computes a result of a group.
mlir::Operation *sourceOf(flow::GroupOp group, unsigned result) {
  mlir::Value value = group.getBody().front().back().getOperand(result);
  if (auto sweep = value.getDefiningOp<flow::SweepOp>())
    value = sweep.getBody().front().back().getOperand(mlir::cast<mlir::OpResult>(value).getResultNumber());
  return value.getDefiningOp();
}

/// The name under which a phase or the model returns a group's result, unless it is one that `flow-split-phases` made.
std::string returnedName(mlir::Value result) {
  for (mlir::OpOperand &use : result.getUses()) {
    auto end = mlir::dyn_cast<mlir::func::ReturnOp>(use.getOwner());
    if (!end)
      continue;
    auto name = end->getParentOfType<mlir::func::FuncOp>().getResultAttrOfType<mlir::StringAttr>(use.getOperandNumber(),
                                                                                                 "flow.name");
    if (name && name != "kept" && !name.getValue().starts_with("kept."))
      return name.str();
  }
  return {};
}

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
  std::string kernelName(flow::GroupOp group);
  std::string unique(std::string name);

  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  llvm::StringMap<kern::KernelOp> kernels;  // by their text without the name
  llvm::StringSet<> names;
};

/// The order in which an input is stored: that of a loop which reads it. Other loops read through a permutation.
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
  for (auto function : module.getOps<mlir::func::FuncOp>())
    names.insert(function.getName());
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
    auto name = old.getArgAttrOfType<mlir::StringAttr>(i, "flow.name");
    arguments.push_back({block->getArgument(i), order, name ? name.str() : ""});
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

/// A name for people: what the kernel computes. Results of the model come first.
std::string ModuleLowering::kernelName(flow::GroupOp group) {
  llvm::SmallVector<std::string> parts;
  auto add = [&](llvm::StringRef name) {
    std::string word;
    for (char c : name)
      word += llvm::isAlnum(c) ? c : '_';
    if (!word.empty() && !llvm::is_contained(parts, word) && parts.size() < 3)
      parts.push_back(word);
  };
  for (mlir::Value result : group.getResults())
    add(returnedName(result));
  for (unsigned i = 0; i < group.getNumResults(); ++i)
    if (mlir::Operation *op = sourceOf(group, i))
      add(flow::tableName(op->getLoc()));
  if (parts.empty())
    add(flow::tableName(group.getLoc()));
  std::string name = llvm::join(parts, "_");
  if (name.empty())
    name = (flow::stringifyLoop(group.getLoop()) + "_" + flow::stringifyDomain(group.getDomain())).str();
  if (!llvm::isAlpha(name.front()))
    name = "t" + name;
  return unique(std::move(name));
}

std::string ModuleLowering::unique(std::string name) {
  // What emitters add to a kernel's name, for its joins and classes, is no end of a kernel's name.
  if (llvm::StringRef text = name;
      text.contains("_join") || text.ends_with("_cut") || text.ends_with("_walk") || text.ends_with("_band"))
    name += "_";
  std::string candidate = name;
  for (unsigned i = 2; !names.insert(candidate).second; ++i)
    candidate = name + "_" + std::to_string(i);
  return candidate;
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
  mlir::Value table = block.addArgument(type, mlir::NameLoc::get(atEnd.getStringAttr("number"), location));
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
      builder.getArrayAttr({flow::OrderAttr::get(module.getContext(), Order::None)}), mlir::UnitAttr());
  tables[number.getResult()] = {launch.getResult(0), Order::None, "number"};
}

mlir::LogicalResult ModuleLowering::lowerGroup(flow::GroupOp group, llvm::DenseMap<mlir::Value, Stored> &tables) {
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<Order> inputOrders;
  llvm::SmallVector<std::string> names;
  for (mlir::Value input : group.getInputs()) {
    const Stored &stored = tables.at(input);
    inputs.push_back(stored.table);
    inputOrders.push_back(stored.order);
    names.push_back(stored.name);
  }
  for (auto [i, result] : llvm::enumerate(group.getResults())) {
    mlir::Operation *op = sourceOf(group, static_cast<unsigned>(i));
    std::string name = returnedName(result);
    names.push_back(name.empty() && op ? nameOf(op) : name);
  }
  mlir::OpBuilder atEnd = mlir::OpBuilder::atBlockEnd(module.getBody());
  auto made = hector::lowerGroup(atEnd, group, inputOrders, names);
  if (mlir::failed(made))
    return mlir::failure();
  kern::KernelOp kernel = unify(*made, [&] { return kernelName(group); });
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Attribute> orders;
  for (unsigned i = 0; i < group.getNumResults(); ++i) {
    types.push_back(storedType(mlir::cast<RowsType>(group.getResult(i).getType())));
    orders.push_back(flow::OrderAttr::get(builder.getContext(), group.getOrder(i)));
  }
  auto launch =
      builder.create<kern::LaunchOp>(group.getLoc(), types, mlir::FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                     inputs, group.getPhaseAttr(), builder.getArrayAttr(orders), group.getBesideAttr());
  for (unsigned i = 0; i < group.getNumResults(); ++i)
    tables[group.getResult(i)] = {launch.getResult(i), group.getOrder(i), names[inputs.size() + i]};
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
