/// How a loop finds the rows of tables: from the current row of a level, through index arrays of the graph.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "runtime/exec/Form.h"

#include <llvm/ADT/SmallVector.h>

#include <string>
#include <vector>

namespace hector {

/// A row, from the current row of `level`. The level `one` has the single row.
struct Access {
  flow::Domain level = flow::Domain::One;
  llvm::SmallVector<std::string, 2> path;

  bool operator==(const Access &) const = default;
};

/// The levels of a kernel that have a current row.
struct Levels {
  flow::Loop loop = flow::Loop::Flat;
  std::vector<flow::Domain> rows;  // of loops, and the type of a tile

  bool has(flow::Domain domain) const;
  /// The order in which the current row of `domain` is counted.
  flow::Order orderOf(flow::Domain domain) const { return flow::walkOrder(loop, domain); }

  /// The row that `map` leads to from the current row of `from`, in a table that is stored in `order`.
  Access find(flow::Domain from, flow::Map map, flow::Order order) const;
  /// The number of the current row of `domain` by which the first of equal rows is found: an edge's in the file, that
  /// of a pair's first edge.
  Access number(flow::Domain domain) const;

private:
  Access self(flow::Domain domain, flow::Order order) const;
  Access node(flow::Domain pair) const;
  Access relation(flow::Domain from) const;
};

}  // namespace hector
