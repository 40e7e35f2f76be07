#include "runtime/exec/Pieces.h"

#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <random>

using namespace hector;
using namespace hector::exec;

namespace {

constexpr double kEnough = 1 << 15;  // operations of a piece

/// Expects that pieces cover the units, in order and without gaps.
void expectCover(const Pieces &pieces, int64_t units) {
  int64_t covered = 0;
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    EXPECT_EQ(pieces.begin(piece), covered);
    EXPECT_GT(pieces.end(piece), covered);
    covered = pieces.end(piece);
  }
  EXPECT_EQ(covered, units);
}

IdArray offsets(const std::vector<int64_t> &degrees) {
  BigVector<int32_t> starts = {0};
  for (int64_t degree : degrees)
    starts.push_back(static_cast<int32_t>(starts.back() + degree));
  return IdArray(std::move(starts));
}

}  // namespace

TEST(PiecesTest, RowsAreCutEvenly) {
  for (int64_t units : {0, 1, 2, 63, 64, 65, 255, 256, 257, 1000, 100'000})
    for (double cost : {0.001, 1.0, 100.0, kEnough, 1e12})
      for (bool hasTotals : {false, true}) {
        Pieces pieces = cutEvenly(units, cost, hasTotals);
        expectCover(pieces, units);
        EXPECT_LE(pieces.count, hasTotals ? 64 : 256);
        EXPECT_TRUE(pieces.count <= 1 || static_cast<double>(pieces.grain) * cost >= kEnough);
      }
}

TEST(PiecesTest, ManyUnitsAreManyPieces) {
  EXPECT_EQ(cutEvenly(1'000'000, 100, false).count, 256);
  EXPECT_EQ(cutEvenly(1'000'000, 100, true).count, 64);
}

TEST(PiecesTest, UnitsBeyond32Bits) {
  const int64_t units = int64_t{1} << 61;
  EXPECT_EQ(cutEvenly(units, 1e-300, false).count, 1);
  expectCover(cutEvenly(units, 1, false), units);
}

TEST(PiecesTest, BalancedPiecesHaveAboutEqualWork) {
  std::mt19937_64 random(1);
  std::vector<int64_t> degrees;
  for (int i = 0; i < 20'000; ++i)
    degrees.push_back(static_cast<int64_t>(std::pow(1 / (1 - std::uniform_real_distribution<>(0, 1)(random)), 0.8)));
  const int64_t longest = *std::max_element(degrees.begin(), degrees.end());
  const IdArray starts = offsets(degrees);
  const int64_t units = starts.size() - 1, work = starts[units] + units;
  Pieces pieces = cutBalanced(starts, 1000, false);
  expectCover(pieces, units);
  EXPECT_LE(pieces.count, 256);
  EXPECT_GE(pieces.count, 100);
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    const int64_t begin = pieces.begin(piece), end = pieces.end(piece);
    EXPECT_LE(starts[end] - starts[begin] + end - begin, work / 256 + longest + 2);
  }
  EXPECT_EQ(longestUnit(starts), longest);
}

TEST(PiecesTest, LittleWorkIsOnePiece) {
  Pieces pieces = cutBalanced(offsets({3, 0, 5, 1}), 10, false);
  EXPECT_EQ(pieces.count, 1);
  expectCover(pieces, 4);
}

TEST(PiecesTest, OneHugeUnitLeavesNoEmptyPieces) {
  std::vector<int64_t> degrees(50, 0);
  degrees[20] = 1'000'000;
  Pieces pieces = cutBalanced(offsets(degrees), 1, false);
  expectCover(pieces, 50);
  EXPECT_LE(pieces.count, 3);
}

TEST(PiecesTest, NoUnitsAreNoPieces) {
  EXPECT_EQ(cutBalanced(offsets({}), 1, false).count, 0);
  EXPECT_EQ(cutEvenly(0, 1, false).count, 0);
  EXPECT_EQ(longestUnit(offsets({})), 0);
}

TEST(PiecesTest, BalancedPiecesWithTotalsAreFew) {
  EXPECT_EQ(cutBalanced(offsets(std::vector<int64_t>(10'000, 5)), kEnough, true).count, 64);
}

// --- warps of a GPU -------------------------------------------------------------------------------------------------

static Pieces cutRows(int64_t rows, int64_t types, const std::vector<TotalSpec> &totals, int multiprocessors = 2) {
  GraphNumbers numbers;
  numbers.rows = {1, 1, types, 0, 0, 0, rows};
  Launch launch = {.domain = Domain::Edge, .totals = totals};
  DeviceLaunch &device = launch.device.emplace();
  device.schedule = Schedule::Pieces;
  device.threads = 128;
  return cutForWarps(launch, numbers, multiprocessors);
}

TEST(PiecesTest, WarpsTakePiecesOf16Rows) {
  for (int64_t rows : {0, 1, 63, 64, 65, 4096, 4097, 100'000, 1'234'567}) {
    const Pieces pieces = cutRows(rows, 5, {});
    expectCover(pieces, rows);
    EXPECT_GE(pieces.grain, 64);
    EXPECT_EQ(pieces.grain % 16, 0);
    EXPECT_LE(pieces.count, 2 * 8 * 4);
  }
  EXPECT_EQ(cutRows(4096, 5, {}).count, 64);
  EXPECT_EQ(cutRows(4097, 5, {}).grain, 80);
  EXPECT_EQ(cutRows(int64_t{1} << 50, 5, {}).count, 64);
}

TEST(PiecesTest, TotalsForWarpsAreBounded) {
  constexpr int64_t kMiB = 1 << 20;
  const TotalSpec sorted = {TotalSpec::Slots::Sorted, Domain::EdgeType, kMiB, "j"},
                  full = {TotalSpec::Slots::Full, Domain::EdgeType, kMiB, "j"},
                  byRow = {TotalSpec::Slots::Rows, Domain::EdgeType, kMiB, "j"};
  EXPECT_EQ(cutRows(1'000'000, 10, {sorted}, 132).count, 64);
  EXPECT_EQ(cutRows(1'000'000, 10, {full}, 132).count, 6);
  EXPECT_EQ(cutRows(1'000'000, 1000, {full}, 132).count, 1);
  EXPECT_EQ(cutRows(1'000'000, 6, {sorted, full}, 132).count, 9);
  EXPECT_EQ(cutRows(1'000'000, 0, {full}, 132).count, cutRows(1'000'000, 0, {}, 132).count);
  EXPECT_EQ(cutRows(1'000'000, 10, {byRow}, 132).count, cutRows(1'000'000, 10, {}, 132).count);
}

TEST(PiecesTest, BlocksTakePiecesOfSeveralTiles) {
  auto cut = [](int64_t rows, int blocks, int64_t tileRows) {
    GraphNumbers numbers;
    numbers.rows = {1, 1, 5, 0, 0, 0, rows};
    Launch launch = {.domain = Domain::Edge};
    launch.device = {.schedule = Schedule::Tiles, .blocks = blocks, .tileRows = tileRows};
    Pieces pieces = cutForBlocks(launch, numbers, 10);
    expectCover(pieces, rows);
    return pieces;
  };
  EXPECT_EQ(cut(0, 2, 64).count, 0);
  EXPECT_EQ(cut(64, 2, 64).count, 1);
  EXPECT_EQ(cut(65, 2, 64).grain, 64);
  EXPECT_EQ(cut(100'000, 2, 64).grain, 5008);  // 20 blocks
  EXPECT_EQ(cut(100'000, 2, 64).count, 20);
  EXPECT_EQ(cut(100'000, 16, 64).count, 157);  // 160 blocks at most
  EXPECT_EQ(cut(100, 2, 1).grain, 2);          // 80 blocks at most
  EXPECT_EQ(cut(7, 2, 1).count, 7);
}

TEST(PiecesTest, GroupsTakeChunksOfUpTo32Rows) {
  Launch launch = {.domain = Domain::Node};
  DeviceLaunch &device = launch.device.emplace();
  device.schedule = Schedule::Chunks;
  device.rows = Domain::Edge;
  device.threads = 128;
  device.lanes = 16;
  auto cut = [&](int64_t edges) {
    GraphNumbers numbers;
    numbers.rows = {1, 1, 1, 50, 0, 0, edges};
    return cutIntoChunks(launch, numbers, 4);
  };
  // 8 groups in a block. There are 8 blocks or more, unless chunks would have fewer than 8 rows.
  EXPECT_EQ(cut(8 * 32 * 8).grain, 32);
  EXPECT_EQ(cut(8 * 32 * 8).count, 8);
  EXPECT_EQ(cut(8 * 16 * 8).grain, 16);
  EXPECT_EQ(cut(100).grain, 8);
  EXPECT_EQ(cut(100).count, 2);
  EXPECT_EQ(cut(0).count, 0);
  EXPECT_EQ(cut(1'000'000).count, (1'000'000 + 255) / 256);
  // With few lanes, there are many groups in a block: 128 here.
  device.lanes = 1;
  EXPECT_EQ(cut(8 * 16 * 128).grain, 16);
  EXPECT_EQ(cut(8 * 16 * 128).count, 8);
  EXPECT_EQ(cut(8 * 16 * 128 - 128 * 16).grain, 8);
  EXPECT_EQ(cut(100).grain, 4);
  EXPECT_EQ(cut(100).count, 1);
}
