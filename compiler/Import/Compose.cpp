#include "compiler/Import/Compose.h"

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Import/Import.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Verifier.h>

#include <algorithm>

namespace hector {

namespace {

class Composer {
public:
  Composer(mlir::MLIRContext &context, const std::string &name)
      : builder(&context), module(mlir::ModuleOp::create(builder.getUnknownLoc())) {
    builder.setInsertionPointToEnd(module->getBody());
    whole = builder.create<mlir::func::FuncOp>(builder.getUnknownLoc(), name, builder.getFunctionType({}, {}));
    body = whole.addEntryBlock();
    builder.setInsertionPointToEnd(body);
  }

  mlir::LogicalResult add(const Part &part);
  mlir::OwningOpRef<mlir::ModuleOp> finish(std::span<const PartResult> results);

private:
  mlir::Value input(const std::string &name, mlir::BlockArgument like);

  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp whole;
  mlir::Block *body = nullptr;
  std::map<std::string, mlir::Value> values;
  int64_t numStreams = 0;  // of dropout
  llvm::SetVector<mlir::Attribute> relationEnds;
};

mlir::Value Composer::input(const std::string &name, mlir::BlockArgument like) {
  mlir::Value &value = values[name];
  if (!value) {
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr("flow.name", builder.getStringAttr(name)));
    whole.insertArgument(whole.getNumArguments(), like.getType(), attributes, like.getLoc());
    value = body->getArguments().back();
  }
  return value;
}

mlir::LogicalResult Composer::add(const Part &part) {
  mlir::func::FuncOp function = part.function;
  mlir::IRMapping inside;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const std::string name = inputName(function, i).str();
    auto wire = part.wires.find(name);
    mlir::BlockArgument argument = function.getArgument(i);
    mlir::Value value = input(wire == part.wires.end() ? part.name + "." + name : wire->second, argument);
    if (value.getType() != argument.getType())
      return function.emitError() << "input `" << name << "` of part `" << part.name << "` is " << argument.getType()
                                  << ", but is given " << value.getType();
    inside.map(argument, value);
  }
  int64_t streams = 0;
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    mlir::Operation *copy = builder.clone(op, inside);
    if (auto dropout = mlir::dyn_cast<flow::DropoutOp>(copy)) {
      streams = std::max<int64_t>(streams, static_cast<int64_t>(dropout.getStream()) + 1);
      dropout.setStream(numStreams + dropout.getStream());
    }
  }
  numStreams += streams;
  mlir::Operation *end = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < end->getNumOperands(); ++i)
    values[part.name + "." + resultName(function, i).str()] = inside.lookup(end->getOperand(i));
  if (auto ends = function->getAttrOfType<mlir::ArrayAttr>("flow.relation_ends"))
    relationEnds.insert(ends.begin(), ends.end());
  return mlir::success();
}

mlir::OwningOpRef<mlir::ModuleOp> Composer::finish(std::span<const PartResult> results) {
  llvm::SmallVector<mlir::Value> returned;
  for (const PartResult &result : results) {
    auto found = values.find(result.value);
    if (found == values.end()) {
      whole.emitError() << "no part has `" << result.value << "`";
      return nullptr;
    }
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr("flow.name", builder.getStringAttr(result.name)));
    whole.insertResult(whole.getNumResults(), found->second.getType(), attributes);
    returned.push_back(found->second);
  }
  builder.create<mlir::func::ReturnOp>(builder.getUnknownLoc(), returned);
  if (!relationEnds.empty())
    whole->setAttr("flow.relation_ends", builder.getArrayAttr(relationEnds.getArrayRef()));
  if (mlir::failed(mlir::verify(*module)))
    return nullptr;
  return std::move(module);
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> composeParts(mlir::MLIRContext &context, const std::string &name,
                                               std::span<const Part> parts, std::span<const PartResult> results) {
  Composer composer(context, name);
  for (const Part &part : parts)
    if (mlir::failed(composer.add(part)))
      return nullptr;
  return composer.finish(results);
}

}  // namespace hector
