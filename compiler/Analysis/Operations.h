/// How many rows each domain has and how many operations an op takes. Passes compare rewrites by these numbers.
///
/// On fb15k-237 (620,232 edges, 161,922 source pairs), `x[src] · W[etype]` of 64 by 64 takes 2 · 64 · 64 operations per
/// row: 5.1 billion at the edges, 1.3 billion at the source pairs.
#pragma once

#include "compiler/Analysis/Keys.h"
#include "compiler/Analysis/Machine.h"

namespace hector::flow {

/// The number of rows of each domain, from the function's `flow.graph`; those of a default graph if it has none.
class RowCounts {
public:
  explicit RowCounts(mlir::func::FuncOp function);
  double of(Domain domain) const;
  /// Whether every relation is known to join one node type to one node type: `etype` has the maps to `ntype`.
  bool isUniform() const { return graph.getUniform() != 0; }
  /// Whether the numbers are those of a given graph.
  bool isGiven() const { return given; }
  GraphAttr getGraph() const { return graph; }

private:
  GraphAttr graph;
  bool given = false;
};

/// Additions, multiplications, comparisons and elementary functions, one each, and 10 for a number that dropout draws;
/// moving rows takes none.
double operations(mlir::Operation *op, const RowCounts &rows);

/// How many times as long an operation of this op takes as one at the machine's rate. A product computes whole lines of
/// columns, as many as vectors and matrix instructions have. On a core, functions take longer than the additions of a
/// row, and so does a number by itself, with which no others are computed side by side.
double effort(mlir::Operation *op, const Machine &machine);

/// The bytes of a row and of a whole table; i1 takes one byte.
double rowBytes(RowsType type);
double tableBytes(RowsType type, const RowCounts &rows);

/// The map `rest` with `first` then `rest` = `whole`, all starting at `from`; nothing if there is none. On a
/// `uniform` graph, the type at the end of an edge, or of a pair's node, may be found through the relation.
std::optional<Map> factor(Domain from, Map first, Map whole, bool uniform = false);

}  // namespace hector::flow
