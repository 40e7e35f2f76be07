#include "kernels/cuda/pieces.cuh"

#include "kernels/cuda/Emulate.h"

#include <string>
#include <vector>

namespace hector {
namespace {

/// The numbers of pieces in the order in which they were joined.
struct Order {
  int first = 0, last = 0;  // none if `last` is 0
  bool isWrong = false;

  void take(int begin, int end) {
    isWrong |= last != 0 && last != begin;
    first = last == 0 ? begin : first;
    last = end;
  }
};

/// A total of `targets` rows of kSize numbers, of which `pieces` pieces leave parts; pieces go round among the targets
/// or, with `isSorted`, are divided among them.
template <int kSize> struct Total {
  int64_t targets, pieces;
  bool isSorted;
  std::vector<Order> results = std::vector<Order>(targets * kSize, Order{-1, -1, true});

  cuda::PieceRange range(int64_t target) const {
    return isSorted ? cuda::PieceRange{target * pieces / targets, (target + 1) * pieces / targets}
                    : cuda::PieceRange{0, pieces};
  }
  int64_t blocks() const { return cuda::blocksOfJoin(targets, kSize, pieces); }
  void join(int64_t &block) {
    cuda::joinPieces<kSize>(
        block, targets, pieces, Order{}, [&](int64_t target) { return range(target); },
        [&](Order &part, int64_t piece, int64_t, int64_t) {
          part.take(static_cast<int>(piece), static_cast<int>(piece) + 1);
        },
        [&](Order &part, const Order &next) {
          part.isWrong |= next.isWrong;
          if (next.last != 0)
            part.take(next.first, next.last);
        },
        [&](int64_t index, const Order &part) { results[index] = part; });
  }
  /// How many numbers were not joined of all their pieces, in order.
  int64_t countWrong() const {
    int64_t wrong = 0;
    for (int64_t i = 0; i < targets * kSize; ++i) {
      const cuda::PieceRange all = range(i / kSize);
      const bool isEmpty = all.first >= all.end;
      wrong += results[i].isWrong || results[i].first != (isEmpty ? 0 : all.first) ||
               results[i].last != (isEmpty ? 0 : all.end);
    }
    return wrong;
  }
};

template <int kSize> void expectAllInOrder(int64_t targets, int64_t pieces) {
  for (bool isSorted : {false, true}) {
    Total<kSize> total{targets, pieces, isSorted};
    emulate(static_cast<int>(total.blocks()), cuda::kJoinThreads, cuda::kJoinThreads * sizeof(Order), [&] {
      int64_t block = cuda::blockInGrid();
      total.join(block);
    });
    EXPECT_EQ(total.countWrong(), 0) << targets << " x " << kSize << ", " << pieces << " pieces";
  }
}

TEST(CudaPieces, AreJoinedInOrderByOneThreadOrByMany) {
  for (int64_t pieces : {0, 1, 2, 7, 19, 20, 21, 300, 1000}) {
    expectAllInOrder<1>(1, pieces);
    expectAllInOrder<1>(5, pieces);
    expectAllInOrder<7>(3, pieces);
    expectAllInOrder<64>(2, pieces);
  }
}

TEST(CudaPieces, ManyNumbersAreNeighboursInABlock) {
  EXPECT_EQ(cuda::joinAcross(1), 1);
  EXPECT_EQ(cuda::joinAcross(2047), 1);
  EXPECT_EQ(cuda::joinAcross(2048), 2);
  EXPECT_EQ(cuda::joinAcross(int64_t{1} << 40), 32);
  expectAllInOrder<4096>(1, 9);
}

TEST(CudaPieces, BlocksTakeSeveralNumbersWhereThereAreMany) {
  EXPECT_EQ(cuda::blocksOfJoin(0, 64, 9), 0);
  EXPECT_EQ(cuda::blocksOfJoin(5, 1, 0), 1);
  EXPECT_EQ(cuda::blocksOfJoin(5, 1, 300), 5);
  EXPECT_EQ(cuda::blocksOfJoin(1100, 1024, 2), 4096);
  expectAllInOrder<1024>(1100, 2);
}

TEST(CudaPieces, AGridJoinsSeveralTotals) {
  Total<3> few{4, 2, false};
  Total<1> none{0, 300, false};
  Total<64> many{3, 300, true};
  Total<1> last{5, 21, false};
  const auto blocks = static_cast<int>(few.blocks() + none.blocks() + many.blocks() + last.blocks());
  emulate(blocks, cuda::kJoinThreads, cuda::kJoinThreads * sizeof(Order), [&] {
    int64_t block = cuda::blockInGrid();
    few.join(block);
    none.join(block);
    many.join(block);
    last.join(block);
  });
  EXPECT_EQ(few.countWrong() + many.countWrong() + last.countWrong(), 0);
}

}  // namespace
}  // namespace hector
