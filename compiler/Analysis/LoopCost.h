/// What one loop costs: what it reads and writes, how, and how long that takes on a machine.
///
/// A table that a loop reads row after row is streamed: it counts once, at its size. A table read through a map is
/// gathered. Take one million edges that read rows of 256 bytes of 100,000 nodes by `[src]`, and a cache of 8 MiB,
/// which holds 32,768 of the rows:
///
///   - if the table fitted in the cache, it would be read from memory once: 25.6 MB;
///   - if every node were read ten times, the rows that are kept would be read once and the other 67,232 every time:
///     (32,768 + 672,320) · 256 bytes = 180 MB;
///   - if, as on graphs with hubs, the 32,768 most read nodes took 900,000 of the reads, (32,768 + 100,000) · 256 bytes
///     = 34 MB. `flow.graph` holds these profiles.
///
/// What misses the cache is read by whole lines: a number of 4 bytes costs 64 bytes, or a sector of 32. What hits it is
/// not free either: a cache is a few times as fast as memory.
#pragma once

#include "compiler/Analysis/Sweeps.h"

namespace hector::flow {

/// A table that a group reads, or writes.
struct TableCost {
  mlir::Value table;
  Map map = Map::Self;
  bool isGathered = false;
  bool isPermuted = false;  // row after row, but in another order than the table has
  double bytes = 0;         // between the loop and memory
  double seconds = 0;
};

struct OpCost {
  mlir::Operation *op;
  double rows = 0;
  double operations = 0;
};

struct GroupCost {
  Phase phase = Phase::Forward;
  LoopKind kind;
  Domain domain = Domain::One;
  double rows = 0;  // of the finest domain it walks
  double operations = 0;
  double bytes = 0;  // reads, writes and indices, between the loop and memory
  double indexBytes = 0;
  double scratchBytes = 0;  // kept between sweeps, near the cores
  double liveBytes = 0;     // between groups while it runs, what it writes included
  double memorySeconds = 0;
  double arithmeticSeconds = 0;
  double seconds = 0;             // all in all
  unsigned numSweeps = 0;         // of a traversal
  bool isOnline = false;          // sums are folded with their maxima
  bool isNested = false;          // a traversal with more than one level of sums, or with rows of pairs among edges
  unsigned registers = 0;         // that a thread of a GPU would take, roughly
  std::vector<TableCost> reads;   // each table and map once, in program order
  std::vector<TableCost> writes;  // what escapes
  std::vector<OpCost> ops;

  /// Sets `seconds` from the other times.
  void finish(const Machine &machine);
};

/// The time that `bytes` take, for rows of `from` that read `type` through `map` out of order.
TableCost gatherCost(RowsType type, Domain from, Map map, const RowCounts &rows, const Machine &machine);

/// The same for a table whose rows are all read once, in an order that is not the table's.
TableCost permutedCost(RowsType type, const RowCounts &rows, const Machine &machine);

/// The time of an op's operations alone.
double operationSeconds(mlir::Operation *op, const RowCounts &rows, const Machine &machine);

/// The time of one op among others that are fused with it: its operations, and, where it computes a table that others
/// read (a product, a reduction), writing and reading that table and gathering what it is computed from.
double fusedSeconds(mlir::Operation *op, const RowCounts &rows, const Machine &machine);

/// Prices sets of ops as loops. It remembers nothing but space to work in.
class LoopPricer {
public:
  LoopPricer(const Body &body, const Machine &machine);

  /// The cost of `ops`, in program order, as one loop of `kind`; `isWritten` tells which of them others read.
  GroupCost price(llvm::ArrayRef<unsigned> ops, LoopKind kind, llvm::function_ref<bool(unsigned)> isWritten);
  /// The same for the kind that takes the least time, the first one on ties.
  GroupCost price(llvm::ArrayRef<unsigned> ops, LoopKinds kinds, llvm::function_ref<bool(unsigned)> isWritten);

  const Body &body;
  const Machine machine;

private:
  void addReads(GroupCost &cost, llvm::ArrayRef<unsigned> ops);

  std::vector<unsigned> opMark;    // of each op: the last loop that held it
  std::vector<unsigned> readMark;  // of each table and map: the last loop that read it
  std::vector<unsigned> readPlace;
  unsigned current = 0;
};

}  // namespace hector::flow
