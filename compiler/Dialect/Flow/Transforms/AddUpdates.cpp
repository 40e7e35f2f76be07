/// Gradients of parameters become the parameters after a step of an optimiser.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/StringMap.h>
#include <mlir/IR/Builders.h>

#include <string>

namespace hector::flow {

#define GEN_PASS_DEF_ADDUPDATESPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::SmallVector;
using llvm::StringRef;
using mlir::Value;

class UpdateBuilder : RowBuilder {
public:
  UpdateBuilder(mlir::func::FuncOp function, OptimiserKind kind)
      : RowBuilder(function.getContext()), function(function), body(function.getBody().front()), kind(kind) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<mlir::StringAttr>(i, "flow.name"))
        arguments[name.getValue()] = body.getArgument(i);
  }

  mlir::LogicalResult run(mlir::ArrayAttr parameters);

private:
  /// The argument of that name; a new one where there is none yet.
  Value argument(const std::string &name, RowsType type);
  /// A number of the step, read from the rows that are being built.
  Read number(StringRef name);
  /// What the optimiser keeps for the parameter, before the step.
  Read state(StringRef name) { return {argument(stateName(name), parameterType), Map::Self}; }
  void setState(StringRef name, Read next) { addResult("next." + stateName(name), next); }
  std::string stateName(StringRef name) const { return "state." + name.str() + "." + parameterName; }
  void addResult(const std::string &name, Read rows);

  Read sum(Read a, Read b) { return binary<AddOp>(a, b); }
  Read times(Read a, Read b) { return binary<MulOp>(a, b); }

  /// The parameter after a step, and new results for its state.
  Read update(Read parameter, Read gradient);
  Read decayed(Read parameter, Read gradient);
  Read updateSgd(Read parameter, Read gradient);
  Read updateAdam(Read parameter, Read gradient);

  mlir::func::FuncOp function;
  mlir::Block &body;
  OptimiserKind kind;
  llvm::StringMap<Value> arguments;
  std::string parameterName;
  RowsType parameterType;
};

Value UpdateBuilder::argument(const std::string &name, RowsType type) {
  Value &found = arguments[name];
  if (!found) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr("flow.name", builder.getStringAttr(name)));
    function.insertArgument(function.getNumArguments(), type, attributes, location);
    found = body.getArguments().back();
  }
  return found;
}

Read UpdateBuilder::number(StringRef name) {
  auto type = RowsType::get(builder.getContext(), Domain::One, {}, element, residency);
  return {argument("step." + name.str(), type), at == Domain::One ? Map::Self : Map::One};
}

void UpdateBuilder::addResult(const std::string &name, Read rows) {
  mlir::Operation *end = body.getTerminator();
  Value table = materialise(rows);
  end->insertOperands(end->getNumOperands(), table);
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr("flow.name", builder.getStringAttr(name)));
  function.insertResult(function.getNumResults(), table.getType(), attributes);
}

// Arguments are made where they are read first, so each is read in a statement of its own: the order of the function's
// arguments must not depend on the compiler.

Read UpdateBuilder::decayed(Read parameter, Read gradient) {
  return sum(gradient, times(parameter, number("decay")));
}

Read UpdateBuilder::updateSgd(Read parameter, Read gradient) {
  gradient = decayed(parameter, gradient);
  Read before = state("b"), momentum = number("momentum"), rate = number("rate");
  Read moved = sum(times(before, momentum), gradient);
  setState("b", moved);
  return binary<SubOp>(parameter, times(moved, rate));
}

Read UpdateBuilder::updateAdam(Read parameter, Read gradient) {
  if (kind == OptimiserKind::Adam)
    gradient = decayed(parameter, gradient);
  else
    parameter = times(parameter, number("keep"));
  Read mean = state("m"), square = state("v");
  Read beta1 = number("beta1"), gain1 = number("gain1"), beta2 = number("beta2"), gain2 = number("gain2");
  Read scale = number("scale"), epsilon = number("epsilon"), rate = number("rate");
  mean = sum(times(mean, beta1), times(gradient, gain1));
  square = sum(times(square, beta2), times(times(gradient, gradient), gain2));
  setState("m", mean);
  setState("v", square);
  Read length = sum(times(unary<SqrtOp>(square), scale), epsilon);
  return binary<SubOp>(parameter, times(binary<DivOp>(mean, length), rate));
}

Read UpdateBuilder::update(Read parameter, Read gradient) {
  return kind == OptimiserKind::Sgd ? updateSgd(parameter, gradient) : updateAdam(parameter, gradient);
}

mlir::LogicalResult UpdateBuilder::run(mlir::ArrayAttr parameters) {
  mlir::Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (auto wanted : parameters.getAsRange<mlir::StringAttr>()) {
    parameterName = wanted.str();
    const std::string gradientName = "grad." + parameterName;
    std::optional<unsigned> index;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, "flow.name"); name && name == gradientName)
        index = i;
    Value parameter = arguments.lookup(parameterName);
    if (!index || !parameter)
      return function.emitOpError() << "has no gradient of `" << parameterName
                                    << "`, which `flow.optimiser` is to change";
    Value gradient = end->getOperand(*index);
    parameterType = mlir::cast<RowsType>(parameter.getType());
    makeLike(parameterType);
    location = parameter.getLoc();
    Read next = update({parameter, Map::Self}, {gradient, Map::Self});
    end->setOperand(*index, materialise(next));
    function.setResultAttr(*index, "flow.name", builder.getStringAttr("next." + parameterName));
  }
  return mlir::success();
}

struct AddUpdatesPass : impl::AddUpdatesPassBase<AddUpdatesPass> {
  void runOnFlow() override {
    constexpr llvm::StringLiteral kName = "flow.optimiser";
    auto optimiser = getOperation()->getAttrOfType<OptimiserAttr>(kName);
    getOperation()->removeAttr(kName);
    if (optimiser && mlir::failed(UpdateBuilder(getOperation(), optimiser.getKind()).run(optimiser.getParameters())))
      signalPassFailure();
  }
};

}  // namespace

}  // namespace hector::flow
