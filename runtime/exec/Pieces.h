/// Cuts launches into pieces, the work that a thread takes at a time.
///
/// Bounds depend on the plan and the graph alone, never on the number of threads: sums that go over several pieces are
/// then the same for any number. A piece has enough work to pay for handing it out, and there are enough of them for
/// many threads.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hector::exec {

/// The pieces of one launch. Together they cover its units, in order.
struct Pieces {
  int64_t units = 0;
  int64_t count = 0;
  int64_t grain = 1;            // units of each but the last, unless there are bounds
  std::vector<int64_t> bounds;  // of balanced pieces: count + 1, or empty

  int64_t begin(int64_t piece) const { return bounds.empty() ? piece * grain : bounds[piece]; }
  int64_t end(int64_t piece) const {
    return bounds.empty() ? std::min(units, begin(piece) + grain) : bounds[piece + 1];
  }
};

/// Equal numbers of units. Few pieces if they have totals, which take memory for each.
Pieces cutEvenly(int64_t units, double unitCost, bool hasTotals);

/// About equal sums of units and rows below them. `offsets` has an entry per unit, and one more.
Pieces cutBalanced(const IdArray &offsets, double rowCost, bool hasTotals);

/// Pieces for the warps of a GPU: as many as keep all of its multiprocessors busy, and fewer where each leaves much for
/// the joins of totals. Depends on the plan, the graph and the number of multiprocessors alone.
Pieces cutForWarps(const Launch &launch, const GraphNumbers &numbers, int multiprocessors);

/// Pieces for the blocks of a GPU: two for each multiprocessor, or more where a block is small, and fewer where each
/// leaves much for the joins of totals.
Pieces cutForBlocks(const Launch &launch, const GraphNumbers &numbers, int multiprocessors);

/// Blocks of chunks for the groups of a GPU: chunks of 32 rows, or of 16 or 8 if there would be too few blocks, and of
/// 16, 8 or 4 for groups of one or two lanes. `grain` are the rows of a chunk, and `count` is the number of blocks.
Pieces cutIntoChunks(const Launch &launch, const GraphNumbers &numbers, int multiprocessors);

/// The most rows below a unit.
int64_t longestUnit(const IdArray &offsets);

/// The pieces of each launch of a plan, and what they need. Builds the offsets that they are cut by.
struct LaunchCut {
  Pieces pieces;
  LaunchNumbers numbers;
};
Result<std::vector<LaunchCut>> cutLaunches(const Plan &plan, const Graph &graph, const GraphNumbers &numbers);

}  // namespace hector::exec
