/// Walks over the rows below units (the edges of nodes, the edges of pairs, the pairs of nodes), balanced by rows.
///
/// A group takes a chunk of neighbouring rows, whatever units they belong to. Units that are whole within a chunk are
/// finished at once. Of the others a chunk has parts, at most one that began before it and one that goes on after it.
/// Parts are joined in the order of rows: those of a block in shared memory, those of several blocks by a second
/// kernel, which also finishes units without rows. Where units are cut depends on the sizes alone, so results repeat
/// bit for bit.
///
/// What is computed is a class `Walk`:
///
///   struct Part                                      what a lane has collected of a unit
///   Part start() const                               of no row
///   void walk(unit, Part &, from, to) const          takes the rows from `from` to `to` - 1 of a unit
///   void join(Part &, const Part &next) const        joins a part with the one that follows
///   void finish(unit, Part) const                    ends a unit, and writes it
#pragma once

#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/pieces.cuh"

namespace hector::cuda {

/// `units` has an entry for every so many rows: the unit of the first of them. Chunks are multiples of it.
inline constexpr int kUnitStep = 8;

/// `chunk` rows to a group, and a chunk for each group of the grid; or blocks may take several, one after the other.
/// `carry` has two parts for each block of rows, and a part for each lane.
template <int kLanes, class Walk, class Id>
__device__ __forceinline__ void walkChunks(const Walk &walk, const Id *offsets, const Id *units, int64_t numRows,
                                           int64_t chunk, typename Walk::Part *carry) {
  using Part = typename Walk::Part;
  using Lane = Lanes<kLanes>;
  enum Head : int { None, GoesOn, Ends };  // of a chunk: a unit that began before it
  const int groups = numThreads() / kLanes, group = Lane::groupInBlock(), lane = Lane::lane();
  Part *heads = sharedMemory<Part>();  // a part for each lane of the block
  int *states = reinterpret_cast<int *>(heads + numThreads());
  const int64_t blockRows = chunk * groups;
  for (int64_t block = blockNumber(); block * blockRows < numRows; block += numBlocks()) {
    const int64_t first = block * blockRows + group * chunk, last = smallest(first + chunk, numRows);
    Head head = None;
    int64_t open = -1;  // the unit that goes on after the chunk and began in it, and its part
    Part tail;
    if (first < last) {
      int64_t unit = units[first / kUnitStep];
      for (int64_t row = first; row < last;) {
        const int64_t begin = offsets[unit], end = offsets[unit + 1];
        Part part = walk.start();
        walk.walk(unit, part, row, smallest(end, last));
        if (begin < first) {
          heads[group * kLanes + lane] = part;
          head = end <= last ? Ends : GoesOn;
        } else if (end <= last) {
          walk.finish(unit, part);
        } else {
          open = unit;
          tail = part;
        }
        row = end;
        if (row < last)
          do
            ++unit;
          while (offsets[unit + 1] <= row);
      }
    }
    if (lane == 0)
      states[group] = head;
    syncBlock();
    // Takes the heads of the chunks that follow, and tells whether the unit ends in one of them.
    auto takeHeads = [&](Part &part) {
      for (int next = group + 1; next < groups; ++next) {
        if (states[next] == None)
          return false;  // behind the last row
        walk.join(part, heads[next * kLanes + lane]);
        if (states[next] == Ends)
          return true;
      }
      return false;
    };
    if (group == 0 && head != None) {
      Part part = heads[lane];
      if (head == GoesOn)
        takeHeads(part);
      carry[2 * block * kLanes + lane] = part;
    }
    if (open >= 0) {
      if (takeHeads(tail))
        walk.finish(open, tail);
      else
        carry[(2 * block + 1) * kLanes + lane] = tail;
    }
    syncBlock();
  }
}

/// Finishes the units that several blocks have parts of, and those without rows. `blockRows` are the rows of a block of
/// `walkChunks`.
template <int kLanes, class Walk, class Id>
__device__ __forceinline__ void finishCut(const Walk &walk, const Id *offsets, int64_t numUnits, int64_t blockRows,
                                          const typename Walk::Part *carry) {
  using Part = typename Walk::Part;
  using Lane = Lanes<kLanes>;
  for (int64_t first = warpInGrid() * kWarp; first < numUnits; first += warpsInGrid() * kWarp) {
    // A lane looks at a unit, then groups take turns.
    const int64_t own = first + lane();
    bool isLeft = false;
    if (own < numUnits) {
      const int64_t begin = offsets[own], end = offsets[own + 1];
      isLeft = begin == end || begin / blockRows != (end - 1) / blockRows;
    }
    const uint32_t left = ballot(isLeft);
    int turn = 0;
    for (int bit = 0; bit < kWarp; ++bit) {
      if ((left >> bit & 1) == 0 || turn++ % Lane::groupsInWarp() != Lane::groupInWarp())
        continue;
      const int64_t unit = first + bit, begin = offsets[unit], end = offsets[unit + 1];
      Part part = walk.start();
      if (begin < end) {
        int64_t block = begin / blockRows;
        part = carry[(2 * block + 1) * kLanes + Lane::lane()];
        while (++block * blockRows < end)
          walk.join(part, carry[2 * block * kLanes + Lane::lane()]);
      }
      walk.finish(unit, part);
    }
    syncWarp();
  }
}

}  // namespace hector::cuda
