/// Every op has a rule for its gradient, or is known to need none.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <gtest/gtest.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>

#include <map>
#include <set>

namespace hector::flow {
namespace {

/// Ops whose result is flat wherever it has a slope, or that read nothing: their gradient is 0 without a rule.
const std::set<std::string> kFlat = {"and",       "constant",        "equal", "first_index", "floor",
                                     "floor_div", "is_row",          "less",  "less_equal",  "not",
                                     "or",        "row_first_match", "sign"};
/// Ops of functions whose groups are formed, which happens after gradients are derived.
const std::set<std::string> kGrouped = {"fold", "group", "sweep", "yield"};

/// Ops that only differentiation makes. Gradients of gradients are not derived, and asking for them is an error.
const std::set<std::string> kRefused = {"weight_grad"};

const std::string kRow = "<node, 2x3xf64, device>";
const std::string kTruth = "<node, 2x3xi1, device>";

std::string unary(const std::string &name, const std::string &attributes = "") {
  return "flow." + name + " %x " + attributes + " : " + kRow + " -> " + kRow;
}

std::string binary(const std::string &name) {
  return "flow." + name + " %x, %x : " + kRow + ", " + kRow + " -> " + kRow;
}

std::string compare(const std::string &name) {
  return "flow." + name + " %x, %x : " + kRow + ", " + kRow + " -> " + kTruth;
}

std::string logical(const std::string &name) {
  return "flow." + name + " %c, %c : " + kTruth + ", " + kTruth + " -> " + kTruth;
}

/// What an op looks like, reading %x, of two by three numbers a node; %c is %x as truth values.
std::map<std::string, std::string> examples() {
  std::map<std::string, std::string> texts = {
      {"cast", unary("cast")},
      {"concat", "flow.concat %x, %x {axis = 0 : i64} : " + kRow + ", " + kRow + " -> <node, 4x3xf64, device>"},
      {"constant", "flow.constant 2.0 : <one, f64, device>"},
      {"dot", "flow.dot %x, %x : " + kRow + ", " + kRow + " -> <node, 2xf64, device>"},
      {"dropout", unary("dropout", "{rate = 0.5 : f64, stream = 0 : i64}")},
      {"expand", "flow.expand %x[src] : " + kRow + " -> <edge, 2x3xf64, device>"},
      {"first_index",
       "flow.first_index %e, %x via dst : <edge, 2x3xf64, device>, " + kRow + " -> <node, 2x3xindex, device>"},
      {"is_row", "flow.is_row %i : <node, 2x3xindex, device> -> " + kTruth},
      {"leaky_relu", unary("leaky_relu", "{slope = 0.2 : f64}")},
      {"linear", "flow.linear %x, %w[one] : " + kRow + ", <one, 3x4xf64, device> -> <node, 2x4xf64, device>"},
      {"not", "flow.not %c : " + kTruth + " -> " + kTruth},
      {"outer", "flow.outer %x, %x : " + kRow + ", " + kRow + " -> <node, 2x3x3xf64, device>"},
      {"reduce", "flow.reduce max %x via ntype : " + kRow + " -> <ntype, 2x3xf64, device>"},
      {"reshape", "flow.reshape %x : " + kRow + " -> <node, 6xf64, device>"},
      {"row_first_match",
       "flow.row_first_match %x, %top {axis = 0 : i64} : " + kRow + ", <node, 3xf64, device> -> " + kTruth},
      {"row_reduce",
       "flow.row_reduce %x {axis = 0 : i64, kind = #flow.reduce_kind<max>} : " + kRow + " -> <node, 3xf64, device>"},
      {"select", "flow.select %c, %x, %x : " + kTruth + ", " + kRow + ", " + kRow + " -> " + kRow},
      {"slice", "flow.slice %x {axis = 0 : i64, offset = 1 : i64} : " + kRow + " -> <node, 1x3xf64, device>"},
      {"spread", "flow.spread %x via src : " + kRow + " -> <edge, 2x3xf64, device>"},
      {"transpose", "flow.transpose %x {permutation = array<i64: 1, 0>} : " + kRow + " -> <node, 3x2xf64, device>"},
      {"weight_grad",
       "flow.weight_grad %x, %x over node via ntype : " + kRow + ", " + kRow + " -> <ntype, 3x3xf64, device>"},
  };
  for (const char *name : {"abs", "cos", "erf", "exp", "floor", "log", "neg", "relu", "rsqrt", "sigmoid", "sign", "sin",
                           "softplus", "sqrt", "tanh"})
    texts[name] = unary(name);
  for (const char *name : {"add", "chain", "div", "floor_div", "max", "min", "mod", "mul", "pow", "sub"})
    texts[name] = binary(name);
  for (const char *name : {"equal", "less", "less_equal"})
    texts[name] = compare(name);
  for (const char *name : {"and", "or"})
    texts[name] = logical(name);
  return texts;
}

class DifferentiateTest : public testing::Test {
protected:
  DifferentiateTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<FlowDialect, mlir::func::FuncDialect>();
  }

  /// The names of all ops of the dialect.
  std::vector<std::string> opNames() {
    std::vector<std::string> names;
    for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == FlowDialect::getDialectNamespace() &&
          !kGrouped.contains(name.stripDialect().str()))
        names.push_back(name.stripDialect().str());
    return names;
  }

  /// A function of x that gives what `op` does, differentiated. Null, with `message` set, where that fails.
  mlir::OwningOpRef<mlir::ModuleOp> differentiate(const std::string &op) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      message += diagnostic.str();
      return mlir::success();
    });
    std::string result = op.substr(op.rfind(op.find("->") == std::string::npos ? ": " : "->") + 2);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(%x: !flow.rows" + kRow + " {flow.name = \"x\"}, %c: !flow.rows" + kTruth +
            ", %e: !flow.rows<edge, 2x3xf64, device>, %w: !flow.rows<one, 3x4xf64, device>, %top: !flow.rows<node, "
            "3xf64, device>, %i: !flow.rows<node, 2x3xindex, device>) -> (!flow.rows" +
            result.substr(result.find('<')) + " {flow.name = \"y\"}) attributes {flow.gradients = [\"x\"]} {\n%y = " +
            op + "\nreturn %y : !flow.rows" + result.substr(result.find('<')) + "\n}",
        &context);
    if (!module)
      return {};
    mlir::PassManager manager(&context);
    manager.addNestedPass<mlir::func::FuncOp>(createDifferentiatePass());
    return mlir::succeeded(manager.run(*module)) ? std::move(module) : mlir::OwningOpRef<mlir::ModuleOp>();
  }

  /// Whether the gradient of x, the last result, depends on the gradient of y.
  static bool dependsOnUpstream(mlir::ModuleOp module) {
    auto function = *module.getOps<mlir::func::FuncOp>().begin();
    mlir::Block &body = function.getBody().front();
    std::set<void *> seen;
    std::vector<mlir::Value> open = {body.getTerminator()->getOperands().back()};
    while (!open.empty()) {
      mlir::Value value = open.back();
      open.pop_back();
      if (value == body.getArguments().back())
        return true;
      if (seen.insert(value.getAsOpaquePointer()).second && value.getDefiningOp())
        open.insert(open.end(), value.getDefiningOp()->operand_begin(), value.getDefiningOp()->operand_end());
    }
    return false;
  }

  mlir::MLIRContext context;
  std::string message;
};

TEST_F(DifferentiateTest, EveryOpHasARuleOrNeedsNone) {
  std::map<std::string, std::string> texts = examples();
  ASSERT_FALSE(opNames().empty());
  for (const std::string &name : opNames()) {
    SCOPED_TRACE("flow." + name);
    if (!texts.count(name)) {
      ADD_FAILURE() << "write an example of the op in examples(), and its rule in Differentiate.cpp";
      continue;
    }
    message.clear();
    auto module = differentiate(texts[name]);
    if (kRefused.count(name)) {
      EXPECT_FALSE(module);
      EXPECT_EQ(message, "'flow." + name + "' op cannot be differentiated: there is no rule for its gradient");
      continue;
    }
    ASSERT_TRUE(module) << message;
    EXPECT_EQ(dependsOnUpstream(*module), !kFlat.count(name));
  }
}

}  // namespace
}  // namespace hector::flow
