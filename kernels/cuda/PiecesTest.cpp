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

/// What a grid joins of `pieces` pieces for each of `targets` rows of kSize numbers; pieces go round among the targets
/// or, with `isSorted`, are divided among them.
template <int kSize> std::vector<Order> joined(int blocks, int64_t targets, int64_t pieces, bool isSorted) {
  std::vector<Order> results(targets * kSize, Order{-1, -1, true});
  emulate(blocks, 256, 256 * sizeof(Order), [&] {
    cuda::joinPieces<kSize>(
        targets, pieces, Order{},
        [&](int64_t target) {
          return isSorted ? cuda::PieceRange{target * pieces / targets, (target + 1) * pieces / targets}
                          : cuda::PieceRange{0, pieces};
        },
        [&](Order &part, int64_t piece, int64_t, int64_t) {
          part.take(static_cast<int>(piece), static_cast<int>(piece) + 1);
        },
        [&](Order &part, const Order &next) {
          part.isWrong |= next.isWrong;
          if (next.last != 0)
            part.take(next.first, next.last);
        },
        [&](int64_t index, const Order &part) { results[index] = part; });
  });
  return results;
}

template <int kSize> void expectAllInOrder(int64_t targets, int64_t pieces) {
  for (bool isSorted : {false, true})
    for (int blocks : {1, 3}) {
      const std::vector<Order> results = joined<kSize>(blocks, targets, pieces, isSorted);
      for (int64_t i = 0; i < targets * kSize; ++i) {
        const int64_t target = i / kSize;
        const int64_t first = isSorted ? target * pieces / targets : 0,
                      last = isSorted ? (target + 1) * pieces / targets : pieces;
        SCOPED_TRACE(std::to_string(i) + " of " + std::to_string(targets) + " x " + std::to_string(kSize) + ", " +
                     std::to_string(pieces) + " pieces");
        EXPECT_FALSE(results[i].isWrong);
        EXPECT_EQ(results[i].last, first < last ? last : 0);
        EXPECT_EQ(results[i].first, first < last ? first : 0);
      }
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

}  // namespace
}  // namespace hector
