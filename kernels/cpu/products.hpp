/// Products of a tile of rows with a matrix.
///
/// A number's sum goes over its terms in order, in T, whatever the number of rows and the row's place among them: where
/// tiles are cut changes no bit. So there is one kind of block: its sums stay in registers while one number of each row
/// at a time meets a row of the matrix. `a` has strides in both directions, which makes sums of outer products the same
/// block as products.
///
/// Sizes are arguments, not template parameters. All products of a file share the blocks, which are a few dozen
/// instructions each; a constant size would save none of those in the loop.
#pragma once

#include "kernels/cpu/vectors.hpp"

#include <cstdint>

namespace hector::cpu {

/// Rows of the largest block, and vectors of a row: as many sums as there are registers for, and enough of them that an
/// addition need not wait for the one before.
inline constexpr int kBlockRows = kVectorRegisters >= 32 ? 8 : 4;
inline constexpr int kBlockVectors = 2;
template <class T> inline constexpr int64_t kPanel = kBlockVectors * kLanes<T>;

/// c[r][j] (+)= Σ_k a[r][k]·b[k][j] for kRows rows and kVectors vectors, of which the last has `lastLanes` columns.
/// Number k of row r of `a` is a[r·rowStride + k·stepStride].
template <class T, int kRows, int kVectors>
[[gnu::noinline]] void multiplyBlock(const T *a, int64_t rowStride, int64_t stepStride, const T *b, int64_t ldb, T *c,
                                     int64_t ldc, int64_t steps, int64_t lastLanes, bool isAdded) {
  using V = Vector<T>;
  const Part<T> last(lastLanes);
  auto load = [&](const T *row, int v) __attribute__((always_inline)) {
    return v == kVectors - 1 ? last.load(row + v * kLanes<T>) : loadVector<V>(row + v * kLanes<T>);
  };
  V sums[kRows][kVectors] = {};
  if (isAdded)
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = load(c + r * ldc, v);
  for (int64_t k = 0; k < steps; ++k) {
    V row[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      row[v] = load(b, v);
      keepInRegister(row[v]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] += a[r * rowStride] * row[v];
    a += stepStride;
    b += ldb;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors - 1; ++v)
      storeVector(c + r * ldc + v * kLanes<T>, sums[r][v]);
    last.store(c + r * ldc + (kVectors - 1) * kLanes<T>, sums[r][kVectors - 1]);
  }
}

/// The same for any number of rows: blocks of kRows of them, then of half as many.
template <class T, int kRows, int kVectors>
void multiplyRows(const T *a, int64_t rowStride, int64_t stepStride, const T *b, int64_t ldb, T *c, int64_t ldc,
                  int64_t rows, int64_t steps, int64_t lastLanes, bool isAdded) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    multiplyBlock<T, kRows, kVectors>(a + r * rowStride, rowStride, stepStride, b, ldb, c + r * ldc, ldc, steps,
                                      lastLanes, isAdded);
  if constexpr (kRows > 1)
    if (r < rows)
      multiplyRows<T, kRows / 2, kVectors>(a + r * rowStride, rowStride, stepStride, b, ldb, c + r * ldc, ldc, rows - r,
                                           steps, lastLanes, isAdded);
}

/// The same for one panel: up to kPanel columns.
template <class T>
[[gnu::noinline]] void multiplyPanel(const T *a, int64_t rowStride, int64_t stepStride, const T *b, int64_t ldb, T *c,
                                     int64_t ldc, int64_t rows, int64_t steps, int64_t columns, bool isAdded) {
  if (columns > kLanes<T>)
    multiplyRows<T, kBlockRows, 2>(a, rowStride, stepStride, b, ldb, c, ldc, rows, steps, columns - kLanes<T>, isAdded);
  else
    multiplyRows<T, kBlockRows, 1>(a, rowStride, stepStride, b, ldb, c, ldc, rows, steps, columns, isAdded);
}

template <class T> int64_t panelColumns(int64_t left) { return left < kPanel<T> ? left : kPanel<T>; }

/// c[r][j] = Σ_k a[r][k]·w[k][j], for r < rows, k < inner, j < outer. lda, ldw and ldc are the distances between rows.
template <class T>
void multiply(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows, int64_t inner,
              int64_t outer) {
  for (int64_t j = 0; j < outer; j += kPanel<T>)
    multiplyPanel(a, lda, 1, w + j, ldw, c + j, ldc, rows, inner, panelColumns<T>(outer - j), /*isAdded=*/false);
}

/// w[i][j] += Σ_r a[r][i]·g[r][j], for i < inner and j < outer, with r in ascending order.
template <class T>
void addOuterProducts(const T *a, int64_t lda, const T *g, int64_t ldg, T *w, int64_t ldw, int64_t rows, int64_t inner,
                      int64_t outer) {
  for (int64_t j = 0; j < outer; j += kPanel<T>)
    multiplyPanel(a, 1, lda, g + j, ldg, w + j, ldw, inner, rows, panelColumns<T>(outer - j), /*isAdded=*/true);
}

/// to[k][j] = from[j][k], for j < rows and k < columns: squares of 16-byte vectors, and the rest one by one.
template <class T>
[[gnu::noinline]] void transpose(const T *from, int64_t ldf, T *to, int64_t ldt, int64_t rows, int64_t columns) {
  using V = Vector<T, 16>;
  constexpr int64_t kSide = 16 / sizeof(T);
  const int64_t fullRows = rows - rows % kSide, fullColumns = columns - columns % kSide;
  for (int64_t j = 0; j < fullRows; j += kSide)
    for (int64_t k = 0; k < fullColumns; k += kSide) {
      const T *square = from + j * ldf + k;
      T *turned = to + k * ldt + j;
      const V first = loadVector<V>(square), second = loadVector<V>(square + ldf);
      if constexpr (kSide == 2) {
        storeVector(turned, __builtin_shufflevector(first, second, 0, 2));
        storeVector(turned + ldt, __builtin_shufflevector(first, second, 1, 3));
      } else {
        const V third = loadVector<V>(square + 2 * ldf), fourth = loadVector<V>(square + 3 * ldf);
        const V low = __builtin_shufflevector(first, second, 0, 4, 1, 5);
        const V high = __builtin_shufflevector(first, second, 2, 6, 3, 7);
        const V lowBelow = __builtin_shufflevector(third, fourth, 0, 4, 1, 5);
        const V highBelow = __builtin_shufflevector(third, fourth, 2, 6, 3, 7);
        storeVector(turned, __builtin_shufflevector(low, lowBelow, 0, 1, 4, 5));
        storeVector(turned + ldt, __builtin_shufflevector(low, lowBelow, 2, 3, 6, 7));
        storeVector(turned + 2 * ldt, __builtin_shufflevector(high, highBelow, 0, 1, 4, 5));
        storeVector(turned + 3 * ldt, __builtin_shufflevector(high, highBelow, 2, 3, 6, 7));
      }
    }
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t k = j < fullRows ? fullColumns : 0; k < columns; ++k)
      to[k * ldt + j] = from[j * ldf + k];
}

/// c[r][j] = Σ_k a[r][k]·w[j][k]: the product with the transpose of `w`, with the same bits. Transposes `w` part by part,
/// each time; for many tiles with one `w` it is cheaper to `transpose` it once.
template <class T>
void multiplyTransposed(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows,
                        int64_t inner, int64_t outer) {
  constexpr int64_t kSteps = 128;
  alignas(64) T panel[kSteps * kPanel<T>];  // half of the first cache
  for (int64_t j = 0; j < outer; j += kPanel<T>) {
    const int64_t columns = panelColumns<T>(outer - j);
    for (int64_t k = 0; k == 0 || k < inner; k += kSteps) {
      const int64_t steps = inner - k < kSteps ? inner - k : kSteps;
      transpose(w + j * ldw + k, ldw, panel, kPanel<T>, columns, steps);
      multiplyPanel(a + k, lda, 1, panel, kPanel<T>, c + j, ldc, rows, steps, columns, /*isAdded=*/k > 0);
    }
  }
}

/// Whether n numbers are all 0. -0 is; NaN is not.
template <class T> bool isZero(const T *row, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (row[k] != T(0))
      return false;
  return true;
}

}  // namespace hector::cpu
