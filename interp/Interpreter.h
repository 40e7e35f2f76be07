/// Runs flow in float64, with one plain loop per op. It is slow and simple, and the reference for every other backend.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "interp/Table.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdint>
#include <vector>

namespace hector {

/// How many rows a table of `domain` has.
int64_t numRows(const Graph &graph, flow::Domain domain);

/// Fails if the graph lacks what `function` relies on, as `flow.relation_ends` says. Ops alone would not show it: an
/// edge finds the type of its source in any graph, but the type of its relation's sources only if there is one.
Status checkGraph(mlir::func::FuncOp function, const Graph &graph);

/// Computes the results of `function` from its arguments, in their order. Every op's result is rounded to its element
/// type, so that f32 functions show what float32 storage does; sums inside an op are in float64 throughout.
/// Edges are combined in the order they came in, and pairs in that of their first edges, so that on ties of max and min
/// the first edge receives the gradient.
/// Fails if an argument has the wrong size, if the graph lacks what the function uses or relies on, or if a table does
/// not fit in memory.
///
/// A `flow.group` runs in its own loop order: unit by unit, with no rows available except its inputs and the values of
/// the unit, and with rows cut at random places and joined. It fails if an op reads anything else.
Result<std::vector<Table>> interpret(mlir::func::FuncOp function, const Graph &graph, std::vector<Table> arguments,
                                     const RunMode &mode = {});

}  // namespace hector
