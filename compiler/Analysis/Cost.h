/// The cost of a function: operations, bytes moved between its groups and memory, and peak memory.
///
/// Bytes are counted per group. A table that a group reads row after row is streamed: it counts once, at its
/// size. A table read through a map is gathered. Take one million edges that read rows of 256 bytes of 100,000 nodes by
/// `[src]`, and a cache of 8 MiB, which holds 32,768 of the rows:
///
///   - if the table fitted in the cache, it would count once: 25.6 MB;
///   - if every node were read ten times, the rows that are kept would count once and the other 67,232 every time:
///     (32,768 + 672,320) · 256 bytes = 180 MB;
///   - if, as on graphs with hubs, the 32,768 most read nodes took 900,000 of the reads, (32,768 + 100,000) · 256 bytes
///     = 34 MB. `flow.graph` holds these profiles.
///
/// A value that another group reads, or that is a result, is written once. Indices take 4 bytes per row and map. Every
/// table is counted as if it had the whole cache. The numbers serve to compare plans, not to predict times.
#pragma once

#include "compiler/Analysis/Groups.h"
#include "compiler/Analysis/Operations.h"

namespace hector::flow {

/// The properties of a machine, from the function's `flow.machine`; defaults if it has none.
struct Machine {
  explicit Machine(mlir::func::FuncOp function);
  double cacheBytes = 32 << 20;
  double operationsPerByte = 8;
};

struct OpCost {
  mlir::Operation *op;
  double rows = 0;
  double operations = 0;
};

/// A table that a group reads, or writes.
struct TableCost {
  mlir::Value table;
  Map map = Map::Self;
  bool isGathered = false;
  double bytes = 0;
};

struct GroupCost {
  Phase phase = Phase::Forward;
  LoopKind kind;  // of the possible kinds, the one that moves the fewest bytes
  Domain domain = Domain::One;
  double rows = 0;  // of the finest domain it walks
  double operations = 0;
  double bytes = 0;  // reads, writes and indices
  double indexBytes = 0;
  double liveBytes = 0;           // between groups while it runs, what it writes included
  std::vector<TableCost> reads;   // each table and map once, in program order
  std::vector<TableCost> writes;  // what escapes
  std::vector<OpCost> ops;
};

/// A table that the forward phase leaves for the backward phase.
struct KeptTable {
  mlir::Value table;
  double bytes = 0;
};

/// Groups that run once for a graph are listed, but count in `graphBytes` only.
struct Cost {
  std::vector<GroupCost> groups;  // in the order of `Groups`
  std::vector<KeptTable> kept;    // arguments excluded
  double operations = 0;
  double bytes = 0;
  double peakBytes = 0;   // live at once between groups; arguments and tables of the graph excluded
  double inputBytes = 0;  // all arguments
  double graphBytes = 0;  // tables that are computed once for a graph
  double operationsPerByte = 1;

  /// Bytes, and operations converted to bytes.
  double time() const { return bytes + operations / operationsPerByte; }
  /// The number by which plans are compared. A byte that is kept for the gradients is counted when it is written and
  /// when it is read. It counts twice more because it occupies memory in between, which limits the size of graphs.
  double price() const { return time() + 2 * keptBytes(); }
  double keptBytes() const;
};

Cost estimate(mlir::func::FuncOp function);
/// The same, if the groups are known already.
Cost estimate(mlir::func::FuncOp function, const Groups &groups);

/// The bytes that an op would move as a group of its own.
double bytesAlone(mlir::Operation *op, const RowCounts &rows, const Machine &machine);

/// The bytes that rows of `from` move when they read `type` through `map` out of order, with a cache of `cacheBytes`.
double gatheredBytes(RowsType type, Domain from, Map map, const RowCounts &rows, double cacheBytes);

}  // namespace hector::flow
