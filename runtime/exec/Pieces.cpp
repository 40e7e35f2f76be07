#include "runtime/exec/Pieces.h"

#include "runtime/base/Parallel.h"

#include <cmath>
#include <map>

namespace hector::exec {

static constexpr double kPieceCost = 1 << 15;  // operations that pay for handing a piece to a thread
static constexpr int64_t kMaxPieces = 256;
static constexpr int64_t kMaxPiecesWithTotals = 64;

static int64_t maxPieces(bool hasTotals) {
  return hasTotals ? kMaxPiecesWithTotals : kMaxPieces;
}

Pieces cutEvenly(int64_t units, double unitCost, bool hasTotals) {
  // No more units than there are, so that the number fits.
  const double enough = std::min(std::ceil(kPieceCost / unitCost), static_cast<double>(std::max<int64_t>(units, 1)));
  Pieces pieces;
  pieces.units = units;
  pieces.grain = grainFor(units, std::max<int64_t>(static_cast<int64_t>(enough), 1), maxPieces(hasTotals));
  pieces.count = numChunks(units, pieces.grain);
  return pieces;
}

Pieces cutBalanced(const IdArray &offsets, double rowCost, bool hasTotals) {
  Pieces pieces;
  pieces.units = offsets.size() - 1;
  if (pieces.units <= 0)
    return Pieces();
  const int64_t work = offsets[pieces.units] + pieces.units;
  const auto wanted = static_cast<int64_t>(std::clamp(std::floor(static_cast<double>(work) * rowCost / kPieceCost), 1.0,
                                                      static_cast<double>(maxPieces(hasTotals))));
  pieces.bounds = {0};
  offsets.visit([&](auto starts) {
    for (int64_t piece = 1; piece < wanted; ++piece) {
      const int64_t target = work / wanted * piece + work % wanted * piece / wanted;
      // The first unit that starts at or after the target.
      int64_t low = pieces.bounds.back(), high = pieces.units;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (starts[middle] + middle < target)
          low = middle + 1;
        else
          high = middle;
      }
      if (low > pieces.bounds.back() && low < pieces.units)
        pieces.bounds.push_back(low);
    }
  });
  pieces.bounds.push_back(pieces.units);
  pieces.count = static_cast<int64_t>(pieces.bounds.size()) - 1;
  return pieces;
}

/// At most `most` pieces, whose parts of totals take a bounded amount of memory: `least` units or more each, in
/// multiples of `step`.
static Pieces cutForDevice(const Launch &launch, const GraphNumbers &numbers, int64_t most, int64_t least,
                           int64_t step) {
  constexpr int64_t kMostTotalBytes = int64_t{64} << 20;
  double bytesPerPiece = 0;
  for (const TotalSpec &total : launch.totals) {
    if (total.slots == TotalSpec::Slots::Rows)
      continue;  // as many rows, however they are cut
    const bool isSorted = total.slots == TotalSpec::Slots::Sorted;
    bytesPerPiece +=
        static_cast<double>(total.rowBytes) * static_cast<double>(isSorted ? 1 : numbers.rows[total.target]);
  }
  if (bytesPerPiece > 0) {
    const double fitting = static_cast<double>(kMostTotalBytes) / bytesPerPiece;
    if (fitting < static_cast<double>(most))
      most = std::max<int64_t>(static_cast<int64_t>(fitting), 1);
  }
  Pieces pieces;
  pieces.units = numbers.rows[launch.domain];
  const int64_t rows = pieces.units / most + (pieces.units % most != 0 ? 1 : 0);
  pieces.grain = std::max(least, (rows + step - 1) / step * step);
  pieces.count = numChunks(pieces.units, pieces.grain);
  return pieces;
}

Pieces cutForWarps(const Launch &launch, const GraphNumbers &numbers, int multiprocessors) {
  constexpr int64_t kBlocksPerMultiprocessor = 8, kLeastGrain = 64, kGrainStep = 16;
  const int64_t most = std::max(multiprocessors, 1) * kBlocksPerMultiprocessor * (launch.device->threads / 32);
  return cutForDevice(launch, numbers, most, kLeastGrain, kGrainStep);
}

Pieces cutForBlocks(const Launch &launch, const GraphNumbers &numbers, int multiprocessors) {
  constexpr int64_t kInstructionRows = 16;  // products take 16 rows at a time
  const int64_t rows = launch.device->tileRows;
  // A block takes a matrix for many tiles. Where each row has its own, there is nothing to take for several.
  const int64_t perMultiprocessor = rows == 1 ? 8 : launch.device->blocks;
  return cutForDevice(launch, numbers, std::max(multiprocessors, 1) * perMultiprocessor, rows,
                      std::min(rows, kInstructionRows));
}

Pieces cutIntoChunks(const Launch &launch, const GraphNumbers &numbers, int multiprocessors) {
  // Where groups have few lanes, there are many in a block, and neighbours take neighbouring rows.
  const bool isNarrow = launch.device->lanes <= 2;
  const int64_t least = isNarrow ? 4 : 8, most = isNarrow ? 16 : 32;
  const int64_t groups = launch.device->threads / launch.device->lanes;
  Pieces pieces;
  pieces.units = numbers.rows[launch.device->rows];
  pieces.grain = most;
  while (pieces.grain > least && numChunks(pieces.units, pieces.grain * groups) < 2 * multiprocessors)
    pieces.grain /= 2;
  pieces.count = numChunks(pieces.units, pieces.grain * groups);
  return pieces;
}

int64_t longestUnit(const IdArray &offsets) {
  return offsets.visit([](auto starts) {
    constexpr int64_t kGrain = int64_t{1} << 18;
    const int64_t units = std::max<int64_t>(static_cast<int64_t>(starts.size()) - 1, 0);
    std::vector<int64_t> longest(static_cast<size_t>(numChunks(units, kGrain)));
    parallelFor(units, kGrain, [&](int64_t begin, int64_t end) {
      int64_t most = 0;
      for (int64_t unit = begin; unit < end; ++unit)
        most = std::max(most, static_cast<int64_t>(starts[unit + 1]) - static_cast<int64_t>(starts[unit]));
      longest[begin / kGrain] = most;
    });
    return longest.empty() ? 0 : *std::max_element(longest.begin(), longest.end());
  });
}

Result<std::vector<LaunchCut>> cutLaunches(const Plan &plan, const Graph &graph, const GraphNumbers &numbers) {
  std::map<Form, int64_t> longest;  // many launches share their offsets
  std::vector<LaunchCut> cuts;
  for (const Step &step : plan.steps) {
    const Launch &launch = step.launch;
    const bool hasTotals = !launch.totals.empty();
    LaunchCut cut;
    if (launch.balance) {
      Result<const IdArray *> offsets = resolve(graph, *launch.balance);
      if (!offsets)
        return std::move(offsets).status();
      cut.pieces = cutBalanced(**offsets, launch.unitCost, hasTotals);
    } else {
      cut.pieces = cutEvenly(numbers.rows[launch.domain], launch.unitCost, hasTotals);
    }
    cut.numbers = {cut.pieces.count, 1};
    if (std::optional<Form> form = scratchOffsets(launch)) {
      auto known = longest.find(*form);
      if (known == longest.end()) {
        Result<const IdArray *> offsets = resolve(graph, *form);
        if (!offsets)
          return std::move(offsets).status();
        known = longest.emplace(*form, longestUnit(**offsets)).first;
      }
      cut.numbers.longestUnit = known->second;
    }
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace hector::exec
