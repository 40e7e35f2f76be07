#include "kernels/cuda/traversal.cuh"

#include "kernels/cuda/Emulate.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace hector {
namespace {

constexpr int kThreads = 64;  // two warps, so that runs of a block meet

/// What a walk has collected: a text, so to speak, of which rows it has seen in which order. Joining it in another
/// order gives another one.
struct Text {
  uint64_t hash = 0, power = 1;  // a polynomial of the rows, and the base to the number of rows
  int32_t rows = 0;

  void append(const Text &next) {
    hash = hash * next.power + next.hash;
    power *= next.power;
    rows += next.rows;
  }
  static Text of(int64_t row) { return {static_cast<uint64_t>(row) * 2654435761u + 1, 0x9e3779b97f4a7c15u, 1}; }
  bool operator==(const Text &) const = default;
};

/// Every lane of a group collects the same, but for its own number.
template <int kLanes> struct Walk {
  struct Part {
    Text text;
    int32_t lane = -1;
  };
  struct Unit {
    int64_t unit;
  };
  struct Read {
    int64_t row;
  };
  struct Written {
    int64_t row;
  };
  std::vector<Text> *units;           // a text for each unit and lane
  std::vector<int> *timesWritten;     // of each row and lane
  std::vector<int> *timesFinished;    // of each unit and lane
  std::vector<int64_t> *unitsOfRows;  // as rows were taken

  Part start() const { return {}; }
  Unit enter(int64_t unit) const { return {unit}; }
  Read read(int64_t row) const { return {row}; }
  void take(Part &part, const Unit &from, const Read &read, int64_t unit, int64_t row, bool isThere) const {
    const int lane = cuda::lane() % kLanes;
    EXPECT_EQ(read.row, row);
    if (!isThere) {
      part.text.append(Text::of(-7));  // as generated kernels do: nobody may take this part
      return;
    }
    EXPECT_EQ(from.unit, unit);
    EXPECT_TRUE(part.lane == -1 || part.lane == lane);
    part.lane = lane;
    part.text.append(Text::of(row));
    if (lane == 0) {
      EXPECT_EQ((*unitsOfRows)[row], -1) << "row " << row << " is taken again";
      (*unitsOfRows)[row] = unit;
    }
  }
  void take(Part &part, const Unit &from, const Read &read, int64_t unit, int64_t row, bool isThere,
            Written &written) const {
    take(part, from, read, unit, row, isThere);
    written.row = row;
  }
  void write(int64_t row, const Written &written) const {
    EXPECT_EQ(written.row, row);
    ++(*timesWritten)[row * kLanes + cuda::lane() % kLanes];
  }
  void join(Part &part, const Part &next) const {
    EXPECT_TRUE(part.lane == -1 || next.lane == -1 || part.lane == next.lane);
    part.lane = std::max(part.lane, next.lane);
    part.text.append(next.text);
  }
  void finish(int64_t unit, Part part) const {
    const int lane = cuda::lane() % kLanes;
    EXPECT_TRUE(part.lane == -1 || part.lane == lane);
    (*units)[unit * kLanes + lane] = part.text;
    ++(*timesFinished)[unit * kLanes + lane];
  }
};

struct Shape {
  int64_t chunk, blocks;
};

/// Walks over units of so many rows, and checks that each unit has its rows in their order.
template <int kLanes, class Id, class F>
void check(const std::vector<int64_t> &lengths, const Shape &shape, bool writesLater, F &&walker) {
  std::vector<Id> offsets = {0}, unitOf;
  for (size_t unit = 0; unit < lengths.size(); ++unit) {
    offsets.push_back(static_cast<Id>(offsets.back() + lengths[unit]));
    unitOf.resize(static_cast<size_t>(offsets.back()), static_cast<Id>(unit));
  }
  const auto numRows = static_cast<int64_t>(unitOf.size()), numUnits = static_cast<int64_t>(lengths.size());
  const int64_t blockRows = shape.chunk * (kThreads / kLanes), blocks = (numRows + blockRows - 1) / blockRows;
  std::vector<Text> units(lengths.size() * kLanes);
  std::vector<int> timesFinished(lengths.size() * kLanes);
  std::vector<int64_t> unitsOfRows(unitOf.size(), -1);
  std::vector<int> timesWritten(unitOf.size() * kLanes);
  const Walk<kLanes> walk = {&units, &timesWritten, &timesFinished, &unitsOfRows};
  using Part = typename Walk<kLanes>::Part;
  std::vector<Part> carry(static_cast<size_t>(2 * blocks * kLanes));
  const int64_t sharedBytes = kThreads * static_cast<int64_t>(sizeof(Part) + sizeof(int));
  if (numRows > 0)
    emulate(std::min(blocks, shape.blocks), kThreads, sharedBytes,
            [&] { walker(walk, unitOf.data(), numRows, shape.chunk, carry.data()); });
  emulate(1, kThreads, sharedBytes,
          [&] { cuda::finishCut<kLanes>(walk, offsets.data(), numUnits, blockRows, carry.data()); });
  for (size_t unit = 0; unit < lengths.size(); ++unit) {
    Text expected;
    for (Id row = offsets[unit]; row < offsets[unit + 1]; ++row)
      expected.append(Text::of(row));
    for (int lane = 0; lane < kLanes; ++lane) {
      const size_t place = unit * kLanes + static_cast<size_t>(lane);
      ASSERT_EQ(timesFinished[place], 1) << "unit " << unit << ", lane " << lane << " of " << kLanes;
      ASSERT_EQ(units[place].rows, expected.rows) << "unit " << unit << ", lane " << lane << " of " << kLanes;
      ASSERT_EQ(units[place], expected) << "unit " << unit << ", lane " << lane << " of " << kLanes;
    }
  }
  for (int64_t row = 0; row < numRows; ++row)
    ASSERT_EQ(unitsOfRows[row], unitOf[row]) << "row " << row;
  ASSERT_EQ(timesWritten, std::vector<int>(timesWritten.size(), writesLater ? 1 : 0));
}

/// All walks there are, over the same units.
template <int kLanes, class Id = int32_t> void checkLanes(const std::vector<int64_t> &lengths, const Shape &shape) {
  auto runs = [&]<int kRows, int kSteps>(std::integer_sequence<int, kRows, kSteps>) {
    check<kLanes, Id>(lengths, shape, true,
                      [](auto &&...arguments) { cuda::walkRuns<kLanes, kRows, kSteps>(arguments...); });
  };
  runs(std::integer_sequence<int, 1, 1>());
  runs(std::integer_sequence<int, 1, 4>());
  runs(std::integer_sequence<int, 2, 1>());
  runs(std::integer_sequence<int, 2, 2>());
  runs(std::integer_sequence<int, 4, 1>());
  check<kLanes, Id>(lengths, shape, false, [](auto &&...arguments) { cuda::walkChunks<kLanes, 2>(arguments...); });
}
void checkAll(const std::vector<int64_t> &lengths, const Shape &shape) {
  checkLanes<1>(lengths, shape);
  checkLanes<2>(lengths, shape);
  checkLanes<4>(lengths, shape);
  checkLanes<8>(lengths, shape);
}

TEST(CudaTraversal, WithoutRows) {
  checkAll({}, {4, 1});
  checkAll({0}, {4, 1});
  checkAll(std::vector<int64_t>(100, 0), {4, 1});
}

TEST(CudaTraversal, OneUnit) {
  for (int64_t length : {1, 31, 32, 33, 127, 128, 129, 256, 257, 3000})
    checkAll({length}, {4, 3});
}

TEST(CudaTraversal, UnitsOfOneLength) {
  for (int64_t length : {1, 2, 3, 4, 31, 32, 33, 64, 100})
    checkAll(std::vector<int64_t>(static_cast<size_t>(1000 / length), length), {4, 100});
}

TEST(CudaTraversal, UnitsBetweenOthersWithoutRows) {
  checkAll({0, 5, 0, 0, 32, 0, 1, 0, 33, 0, 0, 0, 500, 0}, {4, 100});
}

// The last row of a unit is the last or the first one of a step, a run or a block, or beside it.
TEST(CudaTraversal, UnitsThatEndWhereRunsDo) {
  for (int64_t end : {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513})
    for (int64_t length : {1, 40, 300})
      checkAll({std::max<int64_t>(end - length, 0), length, 3, 700, 1}, {4, 100});
}

TEST(CudaTraversal, RandomUnits) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 25; ++round) {
    std::vector<int64_t> lengths;
    const int64_t most = int64_t{1} << random() % 9;
    for (int64_t rows = static_cast<int64_t>(random() % 2000); rows > 0;) {
      const int64_t length =
          random() % 10 == 0 ? static_cast<int64_t>(random() % 500) : static_cast<int64_t>(random() % (most + 1));
      lengths.push_back(length);
      rows -= length + 1;
    }
    checkAll(lengths, {int64_t{4} << random() % 4, static_cast<int64_t>(1 + random() % 8)});
  }
}

TEST(CudaTraversal, RowsWithWideNumbers) {
  checkLanes<1, int64_t>({3, 0, 40, 1, 1, 900, 2}, {8, 3});
}

}  // namespace
}  // namespace hector
