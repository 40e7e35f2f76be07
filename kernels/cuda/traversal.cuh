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
///
/// In runs, rows are written later, so that neighbours are written at once:
///
///   struct Written                                   what is written of a row
///   void take(Part &, const Unit &, const Read &, unit, row, bool isThere, Written &) const
///   void write(row, const Written &) const           of a row that is there
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

/// The same where a row is so short that a few lanes take it: neighbouring lanes take neighbouring rows, so that they
/// read and write memory side by side. A warp takes `chunk` rows for each of its groups, a run of neighbouring ones, in
/// steps: each group takes kRows neighbouring rows of a step, into a part of its own, then parts are joined across the
/// groups, in the order of rows, as far as units go. The part at the end of a step goes on in the next one. The rows of
/// kSteps steps are read before the first of them is taken. `chunk` is a multiple of kRows, and a power of 2.
///
/// With kRows = 2, rows a to h, and units abc, def and gh of which the last goes on, groups 0 to 3 have
///
///   ab    c | d    ef     gh      what they take; c and ef end units that began in other groups, and are kept
///   ab    d        def    gh      joined with the part before, where all rows of a group are of one unit
///         abc      def            what was kept, joined with the part before; gh goes on in the next step
///
/// `carry` has two parts for each block of rows, and a part for each lane of a group.
template <int kLanes, int kRows, int kSteps, class Walk, class Id>
__device__ __forceinline__ void walkRuns(const Walk &walk, const Id *unitOf, int64_t numRows, int64_t chunk,
                                         typename Walk::Part *carry) {
  using Part = typename Walk::Part;
  using Lane = Lanes<kLanes>;
  enum Head : int { None, GoesOn, Ends };  // of a run: a unit that began before it
  constexpr int kGroups = kWarp / kLanes, kStep = kGroups * kRows;
  static_assert(kSteps * kStep < kEdgesBehind);
  constexpr bool isShort = sizeof(Part) <= 4;  // a branch takes as long as joining
  const int warps = numThreads() / kWarp, group = Lane::groupInWarp(), lane = Lane::lane(), own = cuda::lane();
  Part *heads = sharedMemory<Part>();  // a part for each lane of a group, for each warp
  int *states = reinterpret_cast<int *>(heads + warps * kLanes);
  const int64_t runRows = chunk * kGroups, blockRows = runRows * warps;
  for (int64_t block = blockNumber(); block * blockRows < numRows; block += numBlocks()) {
    const int64_t firstOfRun = smallest(block * blockRows + warp() * runRows, numRows);
    const int64_t rowsOfRun = smallest(runRows, numRows - firstOfRun);
    const Id first = static_cast<Id>(firstOfRun), behind = static_cast<Id>(numRows);
    const Id firstOfGroup = static_cast<Id>(firstOfRun / kRows) + group;  // times kRows, so that rows are aligned
    const int steps = (static_cast<int>(rowsOfRun) + kStep - 1) / kStep;
    // The same in all lanes: whether the unit of the next row began before the run, or in it.
    bool isHead = steps > 0 && first > 0 && unitOf[first - 1] == unitOf[first], isOpen = false;
    Head head = None;
    Id unit = 0;
    Part part = walk.start();
    HECTOR_KEEP_LOOP
    for (int done = 0; done < steps; done += kSteps) {
      // What is behind the last row reads the last row there is.
      Id firsts[kSteps], units[kSteps][kRows], nexts[kSteps];
      typename Walk::Read reads[kSteps][kRows];
      typename Walk::Unit entered[kSteps][kRows];
      auto there = [&](Id row) { return row < behind ? row : behind - 1; };
      HECTOR_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        firsts[s] = (firstOfGroup + (done + s) * kGroups) * kRows;
        auto readRows = [&](bool areThere) {
          auto rowAt = [&](int i) { return areThere ? firsts[s] + i : there(firsts[s] + i); };
          HECTOR_UNROLL
          for (int i = 0; i < kRows; ++i)
            units[s][i] = (kRows > 1 ? aligned(unitOf) : unitOf)[rowAt(i)];
          nexts[s] = unitOf[rowAt(kRows)];
          HECTOR_UNROLL
          for (int i = 0; i < kRows; ++i)
            reads[s][i] = walk.read(rowAt(i));
        };
        if (kRows > 1 && firsts[s] + kRows < behind)
          readRows(true);
        else
          readRows(false);
      }
      HECTOR_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        HECTOR_UNROLL
        for (int i = 0; i < kRows; ++i)
          entered[s][i] = walk.enter(units[s][i]);
      }
      HECTOR_UNROLL
      for (int s = 0; s < kSteps; ++s) {
        if (s > 0 && done + s >= steps)
          break;
        bool goesOn[kRows], isWhole = true;  // the unit of each row in the next one, and one unit in all rows
        HECTOR_UNROLL
        for (int i = 0; i < kRows; ++i) {
          goesOn[i] = firsts[s] + i + 1 < behind && units[s][i] == (i + 1 < kRows ? units[s][i + 1] : nexts[s]);
          if (i + 1 < kRows)
            isWhole = isWhole && goesOn[i];
        }
        const uint32_t open = ballot(goesOn[kRows - 1]), whole = kRows == 1 ? kAllLanes : ballot(isWhole);
        const uint32_t through = open & whole;
        // The unit that began before the run ends in the first group that is not passed through.
        const bool endsHead = isHead && ((~through & (through + 1)) >> group * kLanes & 1) != 0;
        const bool isContinued = ((open << kLanes) >> own & 1) != 0;  // by the group's first row
        auto end = [&](Id ended, const Part &last, bool isFirst) {
          if (endsHead && isFirst)
            heads[warp() * kLanes + lane] = last;
          else
            walk.finish(ended, last);
        };
        // The first group goes on with what the last step left.
        const Part before = shuffleWords(
            part, [&](uint32_t word) { return shuffle<true>(word, kWarp - kLanes + lane); });
        part = walk.start();
        if (isOpen && group == 0)
          part = before;
        Part begun = part;  // of a unit that ends in the group and began in another one
        Id begunUnit = -1;
        typename Walk::Written written[kRows];
        HECTOR_UNROLL
        for (int i = 0; i < kRows; ++i) {
          if (i > 0 && !goesOn[i - 1])
            part = walk.start();
          unit = units[s][i];
          walk.take(part, entered[s][i], reads[s][i], unit, there(firsts[s] + i), firsts[s] + i < behind, written[i]);
          if (kRows == 1 || goesOn[i] || firsts[s] + i >= behind)
            continue;
          bool isFirst = true;
          HECTOR_UNROLL
          for (int j = 0; j < i; ++j)
            isFirst = isFirst && goesOn[j];
          if (isFirst && isContinued) {
            begun = part;
            begunUnit = unit;
          } else {
            end(unit, part, isFirst);
          }
        }
        if (firsts[s] + kRows <= behind) {  // at once
          HECTOR_UNROLL
          for (int i = 0; i < kRows; ++i)
            walk.write(firsts[s] + i, written[i]);
        } else {
          HECTOR_UNROLL
          for (int i = 0; i + 1 < kRows; ++i)
            if (firsts[s] + i < behind)
              walk.write(firsts[s] + i, written[i]);
        }
        // Groups that pass a unit through join what is before them, of more and more groups.
        uint32_t joins = (open << kLanes) & whole;
        HECTOR_UNROLL
        for (int distance = kLanes; distance < kWarp; distance *= 2) {
          if (!isShort && joins == 0)
            break;
          Part joined = shuffleWords(part, [&](uint32_t word) { return shuffleUp<true>(word, distance); });
          if ((joins >> own & 1) != 0) {
            walk.join(joined, part);
            part = joined;
          }
          joins &= joins << distance;
        }
        if constexpr (kRows == 1) {
          if (!goesOn[0] && firsts[s] < behind)
            end(unit, part, true);
        } else {
          Part joined = shuffleWords(part, [&](uint32_t word) { return shuffleUp<true>(word, kLanes); });
          if (begunUnit >= 0) {
            walk.join(joined, begun);
            end(begunUnit, joined, true);
          }
        }
        isOpen = open >> (kWarp - 1) != 0;
        if (isHead && through != kAllLanes) {
          head = Ends;
          isHead = false;
        }
      }
    }
    // The last group has what goes on after the run.
    if (isHead) {
      head = GoesOn;
      if (group == kGroups - 1)
        heads[warp() * kLanes + lane] = part;
    }
    if (own == 0)
      states[warp()] = head;
    syncBlock();
    // Takes the heads of the runs that follow, and tells whether the unit ends in one of them.
    auto takeHeads = [&](Part &part) {
      for (int next = warp() + 1; next < warps; ++next) {
        walk.join(part, heads[next * kLanes + lane]);
        if (states[next] == Ends)
          return true;
      }
      return false;
    };
    if (warp() == 0 && group == 0 && head != None) {
      Part begun = heads[lane];
      if (head == GoesOn)
        takeHeads(begun);
      carry[2 * block * kLanes + lane] = begun;
    }
    if (isOpen && !isHead && group == kGroups - 1) {
      if (takeHeads(part))
        walk.finish(unit, part);
      else
        carry[(2 * block + 1) * kLanes + lane] = part;
    }
    syncBlock();
  }
}

/// Finishes the units that several blocks have parts of, and those without rows. `blockRows`, a power of 2, are the
/// rows of a block of `walkChunks` or `walkRuns`.
template <int kLanes, class Walk, class Id>
__device__ __forceinline__ void finishCut(const Walk &walk, const Id *offsets, int64_t numUnits, int64_t blockRows,
                                          const typename Walk::Part *carry) {
  using Part = typename Walk::Part;
  using Lane = Lanes<kLanes>;
  for (int64_t first = warpInGrid() * kWarp; first < numUnits; first += warpsInGrid() * kWarp) {
    // A lane looks at a unit, then each group finishes what its lanes have found.
    const int64_t own = first + lane();
    bool isLeft = false;
    if (own < numUnits) {
      const int64_t begin = offsets[own], end = offsets[own + 1];
      isLeft = begin == end || (begin ^ (end - 1)) >= blockRows;  // not all in one block
    }
    const uint32_t left = ballot(isLeft);
    HECTOR_KEEP_LOOP
    for (int turn = 0; turn < kLanes; ++turn) {
      const int bit = Lane::groupInWarp() * kLanes + turn;
      if ((left >> bit & 1) == 0)
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
