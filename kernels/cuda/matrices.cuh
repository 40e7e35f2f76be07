/// Products of two matrices by all threads of a block, where both are rows of tables: weights contracted with weights.
///
/// A block computes 64 by 64 numbers at a time, each thread 4 by 4 of them, from slabs of both matrices that it copies
/// to shared memory. Terms are added one after the other, as T: a product has the same bits wherever it is computed.
///
/// "Guarded" is what it is in products.cuh: a row of zeros stands for no row at all.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/division.hpp"
#include "kernels/cuda/products.cuh"
#include "kernels/cuda/storage.cuh"

namespace hector::cuda {

using namespace common;

/// A matrix in memory: number (i, j) is at i · kDown + j · kAcross. One of them is 1.
template <int kDown, int kAcross, class Stored> struct MatrixOf {
  const Stored *numbers;

  static constexpr bool isByRows = kAcross == 1;
  __device__ __forceinline__ auto at(int row, int column) const {
    return load(numbers + row * kDown + column * kAcross);
  }
};
template <int kDown, int kAcross, class Stored>
__device__ __forceinline__ MatrixOf<kDown, kAcross, Stored> matrixOf(const Stored *numbers) {
  static_assert(kDown == 1 || kAcross == 1);
  return {numbers};
}

/// Which rows of zeros are no rows: those of the left matrix, which give zeros, or those of the right one, which are
/// terms that add nothing.
enum class Guard { None, Rows, Terms };

/// How the threads of a block, 256 of them, share a product.
template <class T, int kTerms> struct MatrixBlock {
  static constexpr MatrixSlabs kSlabs = slabsOf(kTerms, sizeof(T));
  static constexpr int kSide = MatrixSlabs::kSide, kOwn = 4, kAcross = kSide / kOwn, kThreads = kAcross * kAcross;
  static constexpr int kStride = MatrixSlabs::kStride, kDepth = kSlabs.depth;
  static constexpr int kCopied = kDepth * kSide / kThreads;  // numbers of a slab that a thread copies

  /// Number `i` of those that a thread copies: which term, and which row or column. Neighbouring threads read
  /// neighbours, eight at least, and write to different banks.
  template <bool isByTerms> __device__ __forceinline__ static void place(int i, int &term, int &at) {
    // Sums of what depends on the thread and a constant: addresses are then one for all numbers of a thread.
    const int thread = threadInBlock();
    if constexpr (isByTerms) {
      constexpr int kTogether = 8, kBeside = kThreads / kTogether, kRounds = kSide / kBeside;
      term = thread % kTogether + i / kRounds * kTogether;
      at = thread / kTogether + i % kRounds * kBeside;
    } else {
      term = thread / kSide + i * (kThreads / kSide);
      at = thread % kSide;
    }
  }
  /// Reads a part of a slab: terms from `start` on, rows or columns from `first` on. What is not there is 0.
  template <bool isByTerms, class F>
  __device__ __forceinline__ static void read(T (&numbers)[kCopied], int start, int first, int count, F &&at) {
    HECTOR_UNROLL
    for (int i = 0; i < kCopied; ++i) {
      int term, other;
      place<isByTerms>(i, term, other);
      numbers[i] = start + term < kTerms && first + other < count ? T(at(start + term, first + other)) : T(0);
    }
  }
  template <bool isByTerms> __device__ __forceinline__ static void write(T *slab, const T (&numbers)[kCopied]) {
    HECTOR_UNROLL
    for (int i = 0; i < kCopied; ++i) {
      int term, other;
      place<isByTerms>(i, term, other);
      slab[term * kStride + other] = numbers[i];
    }
  }
};

/// A sum that is not finite, of which a row of zeros may be a part.
template <class T, int kTerms, int kColumns, Guard guard, class Left, class Right>
HECTOR_SELDOM T guardedSum(Left a, Right b, int row, int column) {
  T sum = 0;
  bool isNothing = guard == Guard::Rows;
  HECTOR_KEEP_LOOP
  for (int k = 0; k < kTerms; ++k) {
    const T left = a.at(row, k);
    bool isTerm = guard == Guard::Rows;
    HECTOR_KEEP_LOOP
    for (int j = 0; !isTerm && j < kColumns; ++j)
      isTerm = b.at(k, j) != T(0);
    isNothing &= left == T(0);
    if (isTerm)
      sum += left * T(b.at(k, column));
  }
  return isNothing ? T(0) : sum;
}

/// c[i][j] = Σ_k a(i, k)·b(k, j), for kRows rows, kTerms terms and kColumns columns. The rows of `c` lie one after the
/// other, from a multiple of 16 bytes on. `slabs` is shared memory of `slabsOf(kTerms, sizeof(T)).bytes`. All 256
/// threads of the block call together, after a barrier that follows the writing of `a` and `b`. Another one has to
/// follow before anyone reads `c`; it is written after all threads have come.
template <class T, int kRows, int kTerms, int kColumns, Guard guard = Guard::None, class Left, class Right>
__device__ inline void multiplyMatrices(const Left &a, const Right &b, T *c, void *slabs) {
  using Block = MatrixBlock<T, kTerms>;
  constexpr int kSide = Block::kSide, kOwn = Block::kOwn, kStride = Block::kStride, kDepth = Block::kDepth;
  T *leftSlab = static_cast<T *>(slabs), *rightSlab = leftSlab + kDepth * kStride;
  const int row = threadInBlock() / Block::kAcross * kOwn, column = threadInBlock() % Block::kAcross * kOwn;
  HECTOR_KEEP_LOOP
  for (int block = 0; block < partsOf(kRows, kSide) * partsOf(kColumns, kSide); ++block) {
    const int top = block / partsOf(kColumns, kSide) * kSide, left = block % partsOf(kColumns, kSide) * kSide;
    T sums[kOwn][kOwn] = {};
    T rows[Block::kCopied], columns[Block::kCopied];
    auto fetch = [&](int start) {
      Block::template read<Left::isByRows>(rows, start, top, kRows, [&](int k, int i) { return a.at(i, k); });
      Block::template read<!Right::isByRows>(columns, start, left, kColumns, [&](int k, int j) { return b.at(k, j); });
    };
    fetch(0);
    HECTOR_KEEP_LOOP
    for (int start = 0; start < kTerms; start += kDepth) {
      syncBlock();  // the slabs before were read
      Block::template write<Left::isByRows>(leftSlab, rows);
      Block::template write<!Right::isByRows>(rightSlab, columns);
      syncBlock();
      if (start + kDepth < kTerms)
        fetch(start + kDepth);
      HECTOR_UNROLL_SOME
      for (int k = 0; k < kDepth; ++k) {
        const auto x = *reinterpret_cast<const Pack<T, kOwn> *>(leftSlab + k * kStride + row);
        const auto y = *reinterpret_cast<const Pack<T, kOwn> *>(rightSlab + k * kStride + column);
        HECTOR_UNROLL
        for (int i = 0; i < kOwn; ++i) {
          HECTOR_UNROLL
          for (int j = 0; j < kOwn; ++j)
            sums[i][j] += x.numbers[i] * y.numbers[j];
        }
      }
    }
    HECTOR_UNROLL
    for (int i = 0; i < kOwn; ++i) {
      const int r = top + row + i, first = left + column;
      if constexpr (guard != Guard::None) {
        HECTOR_UNROLL
        for (int j = 0; j < kOwn; ++j)
          if (!isFinite(sums[i][j]) && r < kRows && first + j < kColumns)
            sums[i][j] = guardedSum<T, kTerms, kColumns, guard>(a, b, r, first + j);
      }
      if constexpr (kColumns % kOwn == 0) {
        storePart</*isWhole=*/true>(c + r * kColumns + first, sums[i], r < kRows ? kColumns - first : 0);
      } else {
        HECTOR_UNROLL
        for (int j = 0; j < kOwn; ++j)
          if (r < kRows && first + j < kColumns)
            c[r * kColumns + first + j] = sums[i][j];
      }
    }
  }
}

}  // namespace hector::cuda
