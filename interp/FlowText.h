/// Parses and runs flow in textual form, for tests of the interpreter.
#pragma once

#include "interp/Interpreter.h"

#include <gtest/gtest.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Parser/Parser.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hector {

/// A module of one function, with the context it lives in.
class FlowText {
public:
  explicit FlowText(const std::string &text) : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<flow::FlowDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  bool isRead() const { return static_cast<bool>(module); }
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }

  /// Runs the function. Each argument and result is the numbers of one table, row after row.
  Result<std::vector<Table>> run(const Graph &graph, const std::vector<std::vector<double>> &arguments,
                                 const RunMode &mode = {}) {
    std::vector<Table> tables;
    for (auto [type, values] : llvm::zip_equal(function().getArgumentTypes(), arguments)) {
      auto rows = mlir::cast<flow::RowsType>(type);
      tables.push_back({numRows(graph, rows.getDomain()), rows.getShape().vec(), values});
    }
    return interpret(function(), graph, std::move(tables), mode);
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Where edges come from and go to, their types, and where each node type starts.
struct GraphText {
  std::vector<int64_t> src, dst, etype, ntypePtr;
  int64_t relations;

  Graph make() const {
    auto graph = Graph::create(src, dst, etype, ntypePtr, relations);
    EXPECT_TRUE(graph.isOk()) << graph.status().message();
    return *graph;
  }
};

}  // namespace hector
