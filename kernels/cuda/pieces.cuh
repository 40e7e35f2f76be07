/// How generated kernels divide rows among warps and blocks, and where they leave what is to be joined.
#pragma once

#include "kernels/common/segments.hpp"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/sizes.hpp"

namespace hector::cuda {

using namespace common;

__device__ __forceinline__ int64_t warpInGrid() {
  return blockNumber() * (numThreads() / kWarp) + warp();
}
__device__ __forceinline__ int64_t warpsInGrid() {
  return numBlocks() * (numThreads() / kWarp);
}
__device__ __forceinline__ int64_t blockInGrid() {
  return blockNumber();
}
__device__ __forceinline__ int64_t blocksInGrid() {
  return numBlocks();
}
__device__ __forceinline__ int64_t threadInGrid() {
  return blockNumber() * numThreads() + threadInBlock();
}
__device__ __forceinline__ int64_t threadsInGrid() {
  return numBlocks() * numThreads();
}

/// Pieces `first` to `end` - 1.
struct PieceRange {
  int64_t first, end;
};

/// Joins what pieces left for each of `targets` rows of kSize numbers, in the order of the pieces. A thread takes a
/// number. Where there are many pieces, the threads of a block divide those of a few neighbouring numbers among
/// themselves, and then join what each of them has, neighbours first. Which threads take what depends on sizes alone,
/// so results repeat bit for bit.
///
/// A grid joins several totals, one after the other in its blocks: `block` is counted from the first of this total on,
/// and is negative in blocks of earlier ones. `blocksOfJoin` are of this one, and `block` is then counted from the
/// first of the next.
///
///   PieceRange range(target)                  the pieces that may have parts for it
///   take(Part &part, piece, target, k)        adds what a piece left for number k of a target
///   join(Part &part, const Part &next)        joins parts of neighbouring pieces
///   finish(index, const Part &part)           writes number `index` of all
template <int kSize, class Part, class Range, class Take, class Join, class Finish>
__device__ __forceinline__ void joinPieces(int64_t &block, int64_t targets, int64_t pieces, const Part &start,
                                           Range &&range, Take &&take, Join &&join, Finish &&finish) {
  static_assert(sizeof(Part) <= kMostJoinBytes);
  const int64_t numbers = targets * kSize, own = block, blocks = blocksOfJoin(targets, kSize, pieces);
  block -= blocks;
  if (own < 0 || own >= blocks)
    return;
  auto takeAll = [&](int64_t index, int64_t part, int64_t parts) {
    const int64_t target = index / kSize, k = index % kSize;
    const PieceRange all = range(target);
    const int64_t share = (all.end - all.first + parts - 1) / parts, first = all.first + part * share;
    const int64_t end = smallest(first + share, all.end);
    Part taken = start;
    HECTOR_UNROLL_SOME
    for (int64_t piece = first; piece < end; ++piece)
      take(taken, piece, target, k);
    return taken;
  };
  if (!hasManyPieces(pieces, targets)) {
    for (int64_t index = own * numThreads() + threadInBlock(); index < numbers; index += blocks * numThreads())
      finish(index, takeAll(index, 0, 1));
    return;
  }
  Part *parts = sharedMemory<Part>();  // one for each thread
  const int across = joinAcross(numbers), slices = numThreads() / across, slice = threadInBlock() / across;
  for (int64_t left = own * across; left < numbers; left += blocks * across) {
    const int64_t index = left + threadInBlock() % across;
    parts[threadInBlock()] = index < numbers ? takeAll(index, slice, slices) : start;
    for (int step = 1; step < slices; step *= 2) {
      syncBlock();
      if (slice % (2 * step) == 0)
        join(parts[threadInBlock()], parts[threadInBlock() + step * across]);
    }
    if (slice == 0 && index < numbers)
      finish(index, parts[threadInBlock()]);
    syncBlock();
  }
}

/// Row `slot` of a total, whose rows take `rowBytes`.
template <class T> __device__ __forceinline__ T *totalRow(void *rows, int64_t rowBytes, int64_t slot) {
  return reinterpret_cast<T *>(static_cast<unsigned char *>(rows) + slot * rowBytes);
}

}  // namespace hector::cuda
