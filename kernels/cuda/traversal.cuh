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
///   struct Unit, struct Read                         what is read of a unit, and of a row
///   Part start() const                               of no row
///   Unit enter(unit) const
///   Read read(row) const
///   void take(Part &, const Unit &, const Read &, unit, row, bool isThere) const
///                                                    called by all lanes of a warp; of a row that is not there, nothing
///                                                    is written
///   void join(Part &, const Part &next) const        joins a part with the one that follows
///   void finish(unit, Part) const                    ends a unit, and writes it
#pragma once

#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/pieces.cuh"

namespace hector::cuda {

/// `chunk` rows to a group, and a chunk for each group of the grid; or blocks may take several, one after the other.
/// `kInFlight` rows are read before the first of them is taken, whatever units they belong to. `unitOf` has the unit of
/// each row, `carry` two parts for each block of rows, and a part for each lane.
template <int kLanes, int kInFlight, class Walk, class Id>
__device__ __forceinline__ void walkChunks(const Walk &walk, const Id *unitOf, int64_t numRows, int64_t chunk,
                                           typename Walk::Part *carry) {
  using Part = typename Walk::Part;
  using Lane = Lanes<kLanes>;
  enum Head : int { None, GoesOn, Ends };  // of a chunk: a unit that began before it
  const int groups = numThreads() / kLanes, group = Lane::groupInBlock(), lane = Lane::lane();
  Part *heads = sharedMemory<Part>();  // a part for each lane of the block
  int *states = reinterpret_cast<int *>(heads + numThreads());
  const int64_t blockRows = chunk * groups;
  for (int64_t block = blockNumber(); block * blockRows < numRows; block += numBlocks()) {
    // Ids are wide enough for the numbers of rows, and often half as wide as an address.
    const Id first = static_cast<Id>(smallest(block * blockRows + group * chunk, numRows));
    const Id last = static_cast<Id>(smallest(int64_t{first} + chunk, numRows));
    // Groups of a warp stay together, so that lanes can combine numbers. All of them take `chunk` rows; what is behind
    // the last row belongs to no unit, and reads the last row there is.
    const int there = static_cast<int>(last - first);
    auto unitAt = [&](int row) { return row < there ? unitOf[first + row] : Id(-1); };
    auto enter = [&](Id unit) { return walk.enter(unit < 0 ? 0 : unit); };
    Head head = None;
    Id unit = unitAt(0);
    bool isHead = unit >= 0 && first > 0 && unitOf[first - 1] == unit;
    Part part = walk.start();
    typename Walk::Unit at = enter(unit);
    auto close = [&] {
      if (isHead) {
        heads[group * kLanes + lane] = part;
        head = Ends;
        isHead = false;
      } else if (unit >= 0) {
        walk.finish(unit, part);
      }
    };
    HECTOR_KEEP_LOOP
    for (int done = 0; done < chunk; done += kInFlight) {
      Id rows[kInFlight], units[kInFlight];
      typename Walk::Read reads[kInFlight];
      typename Walk::Unit entered[kInFlight];
      HECTOR_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        units[i] = unitAt(done + i);
        rows[i] = units[i] < 0 ? static_cast<Id>(numRows - 1) : first + done + i;
        reads[i] = walk.read(rows[i]);
      }
      HECTOR_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        entered[i] = i == 0 ? at : entered[i - 1];
        if (units[i] != (i == 0 ? unit : units[i - 1]))
          entered[i] = enter(units[i]);
      }
      HECTOR_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        if (units[i] != unit) {
          close();
          part = walk.start();
          unit = units[i];
        }
        walk.take(part, entered[i], reads[i], unit < 0 ? 0 : unit, rows[i], unit >= 0);
      }
      at = entered[kInFlight - 1];
    }
    // Whether the last unit began in the chunk and goes on after it.
    bool isOpen = false;
    if (unit >= 0 && last < numRows && unitOf[last] == unit) {
      isOpen = !isHead;
      if (isHead) {
        heads[group * kLanes + lane] = part;
        head = GoesOn;
      }
    } else {
      close();
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
      Part begun = heads[lane];
      if (head == GoesOn)
        takeHeads(begun);
      carry[2 * block * kLanes + lane] = begun;
    }
    if (isOpen) {
      if (takeHeads(part))
        walk.finish(unit, part);
      else
        carry[(2 * block + 1) * kLanes + lane] = part;
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
