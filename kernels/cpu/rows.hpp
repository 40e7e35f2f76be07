/// How generated loops find their tables, rows and working memory.
#pragma once

#include "kernels/common/segments.hpp"
#include "kernels/cpu/frame.hpp"
#include "kernels/cpu/products.hpp"

#include <cstdint>

namespace hector::cpu {

using namespace common;

/// Table or index array number `i` of a launch.
template <class T> T *table(const Frame &frame, int i) {
  return static_cast<T *>(frame.tables[i]);
}
template <class Id> const Id *form(const Frame &frame, int i) {
  return static_cast<const Id *>(frame.forms[i]);
}

/// A thread's working memory, handed out from front to back. A copy starts where the original is.
class Scratch {
public:
  explicit Scratch(void *memory) : next(static_cast<char *>(memory)) {}
  template <class T> T *take(int64_t count) {
    T *taken = reinterpret_cast<T *>(next);
    next += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return taken;
  }

private:
  char *next;
};

/// Row `slot` of a total, whose rows take `rowBytes`.
template <class T> T *totalRow(const Total &total, int64_t rowBytes, int64_t slot) {
  return reinterpret_cast<T *>(static_cast<char *>(total.rows) + slot * rowBytes);
}

/// Has the processor fetch a row of kBytes that is read soon: the first lines, of which it guesses the rest. They go to
/// the second cache, which waits for more lines at a time than the first.
template <int64_t kBytes> HECTOR_INLINE void fetch(const void *row) {
  constexpr int64_t kLine = 64, kMost = 16 * kLine;
#pragma GCC unroll 16
  for (int64_t at = 0; at < (kBytes < kMost ? kBytes : kMost); at += kLine)
    __builtin_prefetch(static_cast<const char *>(row) + at, /*rw=*/0, /*locality=*/2);
}

template <class T> void fill(T *row, T value, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    row[k] = value;
}

/// Sums over edges are taken in blocks: a running sum over all of a hub's edges would lose what is small next to it.
inline constexpr int64_t kBlockEdges = 1024;
HECTOR_INLINE bool endsBlock(int64_t edge) {
  return edge % kBlockEdges == kBlockEdges - 1;
}
/// Moves the sum of a block to that of all blocks, of which it is the first unless `hasBlocks`.
template <class T> HECTOR_INLINE void moveSum(T &sum, T &blocks, bool &hasBlocks) {
  blocks = hasBlocks ? blocks + sum : sum;
  sum = T(0);
  hasBlocks = true;
}
template <class T> void moveSum(T *sum, T *blocks, int64_t n, bool &hasBlocks) {
  for (int64_t k = 0; k < n; ++k) {
    blocks[k] = hasBlocks ? blocks[k] + sum[k] : sum[k];
    sum[k] = T(0);
  }
  hasBlocks = true;
}

/// Numbers that are computed side by side: as many on every machine, so that results are the same.
template <class T> inline constexpr int64_t kSums = 64 / sizeof(T);

/// Combines kSums numbers in pairs.
template <class T, class F> HECTOR_INLINE T joinSums(T *sums, F &&combine) {
#pragma GCC unroll 4
  for (int64_t half = kSums<T> / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int64_t i = 0; i < half; ++i)
      sums[i] = combine(sums[i], sums[i + half]);
  return sums[0];
}

/// Σ term(r) for r < n. The order is the same wherever it is called and for every width of vectors: sixteen sums (eight
/// of double) take a term each in turn, and are added in pairs.
template <class T, class F> HECTOR_INLINE T sum(int64_t n, F &&term) {
  constexpr int64_t kSums = cpu::kSums<T>;
  T rest = 0;
  int64_t r = 0;
  if (n >= kSums) {
    T sums[kSums] = {};
    for (; r + kSums <= n; r += kSums)
#pragma GCC unroll 16
      for (int64_t i = 0; i < kSums; ++i)
        sums[i] += term(r + i);
    rest = joinSums(sums, [](T a, T b) { return a + b; });
  }
  for (; r < n; ++r)
    rest += term(r);
  return rest;
}

/// Makes rows of `c` zero where those of `a` are, whatever a product made of them.
template <class T>
void clearZeroRows(const T *a, int64_t lda, T *c, int64_t ldc, int64_t rows, int64_t inner, int64_t outer) {
  for (int64_t r = 0; r < rows; ++r)
    if (isZero(a + r * lda, inner))
      fill(c + r * ldc, T(0), outer);
}

/// Calls `add(first, rows)` for each run of rows of `g` that are not all zeros.
template <class T, class F> void forNonZeroRows(const T *g, int64_t ldg, int64_t rows, F &&add) {
  for (int64_t r = 0; r < rows;) {
    int64_t first = r;
    while (r < rows && !isZero(g + r * ldg, ldg))
      ++r;
    if (r > first)
      add(first, r - first);
    while (r < rows && isZero(g + r * ldg, ldg))
      ++r;
  }
}

}  // namespace hector::cpu
