/// Runs flow in float64, one plain loop per op: slow, obvious, the judge of every other backend.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <vector>

namespace hector {

/// A table's rows, one after the other; truth values are 0 and 1. Rows of edges are in the order that the edges came in
/// (`Graph::edgeNumbers`), whatever order the graph keeps them in.
struct Table {
  int64_t rows = 0;
  std::vector<int64_t> shape;  // of one row
  std::vector<double> values;
};

/// How many rows a table of `domain` has.
int64_t numRows(const Graph &graph, flow::Domain domain);

/// Computes the results of `function` from its arguments, in their order. Every op's result is rounded to its element
/// type, so that f32 functions show what float32 storage does; sums inside an op are in float64 throughout.
/// Edges are combined in the order they came in, and pairs in that of their first edges, so that on ties of max and min
/// the first edge takes the gradient.
/// Fails where an argument has the wrong size, where the graph lacks a map that the function uses, or where a table
/// does not fit in memory.
Result<std::vector<Table>> interpret(mlir::func::FuncOp function, const Graph &graph, std::vector<Table> arguments);

}  // namespace hector
