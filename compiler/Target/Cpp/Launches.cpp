#include "compiler/Target/Cpp/Launches.h"

#include "compiler/Target/Cpp/Enums.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace hector {

using exec::Plan;
using flow::RowsType;

namespace {

exec::Storage storageOf(mlir::Type element) {
  if (element.isF64())
    return exec::Storage::F64;
  if (element.isBF16())
    return exec::Storage::BF16;
  if (element.isF16())
    return exec::Storage::F16;
  if (element.isInteger(1))
    return exec::Storage::Bool;
  if (mlir::isa<mlir::IndexType>(element))
    return exec::Storage::Index;
  return exec::Storage::F32;
}

exec::TableSpec tableSpec(std::string name, RowsType type, flow::Order order) {
  return {.name = std::move(name),
          .domain = cpp::planDomain(type.getDomain()),
          .shape = {type.getShape().begin(), type.getShape().end()},
          .storage = storageOf(type.getElementType()),
          .order = cpp::planOrder(order)};
}

}  // namespace

Result<Plan> planOf(mlir::ModuleOp module, const std::string &prefix, const llvm::StringMap<KernelFacts> &facts) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (functions.empty())
    return Status::failed("the module has no function that launches kernels");
  mlir::func::FuncOp function = *functions.begin();
  Plan plan;
  plan.name = function.getName().str();
  if (auto ends = function->getAttrOfType<mlir::ArrayAttr>("flow.relation_ends"))
    for (auto end : ends.getAsRange<flow::MapAttr>())
      plan.relationEnds.push_back(end.getValue() == flow::Map::SrcNodeType ? exec::Side::Source
                                                                           : exec::Side::Destination);

  llvm::DenseMap<mlir::Value, int> numbers;
  auto orderOf = [](mlir::Attribute attribute) {
    auto order = mlir::dyn_cast_or_null<flow::OrderAttr>(attribute);
    return order ? order.getValue() : flow::Order::None;
  };
  auto nameOf = [](mlir::Attribute attribute) {
    auto name = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute);
    return name ? name.getValue().str() : std::string();
  };
  for (mlir::BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    std::string name = nameOf(function.getArgAttr(i, "flow.name"));
    numbers[argument] = static_cast<int>(plan.tables.size());
    plan.inputs.push_back({name, numbers[argument]});
    plan.tables.push_back(
        tableSpec(name, mlir::cast<RowsType>(argument.getType()), orderOf(function.getArgAttr(i, "kern.order"))));
  }
  for (mlir::Operation &op : function.getBody().front()) {
    if (auto launch = mlir::dyn_cast<kern::LaunchOp>(op)) {
      const KernelFacts &kernel = facts.at(launch.getKernel());
      exec::Launch made;
      made.kernel = prefix + launch.getKernel().str();
      made.label = launch.getKernel().str();
      made.domain = cpp::planDomain(kernel.unit);
      made.balance = kernel.balance;
      made.unitCost = kernel.unitCost;
      made.forms = kernel.forms;
      made.totals = kernel.totals;
      made.scratch = kernel.scratch;
      made.device = kernel.device;
      for (mlir::Value input : launch.getInputs())
        made.inputs.push_back(numbers.at(input));
      for (auto [i, result] : llvm::enumerate(launch.getResults())) {
        numbers[result] = static_cast<int>(plan.tables.size());
        made.outputs.push_back(numbers[result]);
        plan.tables.push_back(tableSpec(kernel.tables[launch.getInputs().size() + i],
                                        mlir::cast<RowsType>(result.getType()), orderOf(launch.getOrders()[i])));
      }
      for (auto [i, total] : llvm::enumerate(made.totals))
        total.join = made.kernel + "_join" + (made.device ? "" : std::to_string(i));
      plan.steps.push_back({cpp::planPhase(launch.getPhase()), std::move(made)});
    } else if (auto end = mlir::dyn_cast<mlir::func::ReturnOp>(op)) {
      for (auto [i, value] : llvm::enumerate(end.getOperands()))
        plan.outputs.push_back(
            {nameOf(function.getResultAttr(static_cast<unsigned>(i), "flow.name")), numbers.at(value)});
    } else {
      return Status::failed("`" + op.getName().getStringRef().str() + "` has no code");
    }
  }
  return plan;
}

}  // namespace hector
