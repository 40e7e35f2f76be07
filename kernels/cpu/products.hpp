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

#include "kernels/cpu/attributes.hpp"
#include "kernels/cpu/vectors.hpp"

#include <cstdint>

// Generated code is compiled without fused multiply-adds: a value that two kernels compute must have the same bits in
// both, and compilers fuse here and not there. In products every term is fused, on every machine that can.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

namespace hector::cpu {

/// Rows of the largest block, and vectors of a row: enough sums that an addition need not wait for the one before it,
/// and no more than there are registers for. Few rows, because tiles have as many: the shorter they are, the better the
/// reading and writing of rows overlaps with products. A block of a single vector has more of them, for want of sums.
inline constexpr int kBlockRows = 4, kNarrowBlockRows = 8;
inline constexpr int kBlockVectors = kVectorRegisters >= 32 ? 4 : 2;
/// Columns of a panel.
template <class T> inline constexpr int64_t kPanel = kBlockVectors * kLanes<T>;

/// c[r][j] = Σ_k a[r][k]·b[k][j], or += if `isAdded`, for the columns of one panel. Number k of row r of `a` is
/// a[r·rowStride + k·stepStride]. `columns` is that of a part of a vector.
template <class T> struct PanelProduct {
  const T *a;
  int64_t rowStride, stepStride;
  const T *b;
  int64_t ldb;
  T *c;
  int64_t ldc;
  int64_t rows, steps, columns;
  bool isAdded;
};

/// Computes the rows `first` to `first` + kRows - 1 of a panel of kVectors whole vectors of kBytes, or of a part of
/// one.
template <class T, int kRows, int kVectors, int kBytes, bool kIsPart>
HECTOR_SHARED void multiplyBlock(const PanelProduct<T> &product, int64_t first) {
#ifdef __clang__
#pragma clang fp contract(fast)
#endif
  using V = Vector<T, kBytes>;
  constexpr int64_t kLanes = cpu::kLanes<T, kBytes>;
  static_assert(!kIsPart || kVectors == 1);
  const Part<T, kBytes> part(kIsPart ? product.columns : kLanes);
  auto load = [&](const T *row, int v)
                  __attribute__((always_inline)) { return kIsPart ? part.load(row) : loadVector<V>(row + v * kLanes); };
  const int64_t rowStride = product.rowStride, stepStride = product.stepStride, ldb = product.ldb, ldc = product.ldc;
  const T *a = product.a + first * rowStride, *b = product.b;
  T *c = product.c + first * ldc;
  V sums[kRows][kVectors] = {};
  if (product.isAdded)
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] = load(c + r * ldc, v);
  for (int64_t steps = product.steps; steps > 0; --steps) {
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
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      kIsPart ? part.store(c + r * ldc, sums[r][v]) : storeVector(c + r * ldc + v * kLanes, sums[r][v]);
}

/// Computes the rows from `first` on: in blocks of kRows, and what is left in blocks of half as many.
template <class T, int kRows, int kVectors, int kBytes, bool kIsPart>
void multiplyRows(const PanelProduct<T> &product, int64_t first = 0) {
  for (; first + kRows <= product.rows; first += kRows)
    multiplyBlock<T, kRows, kVectors, kBytes, kIsPart>(product, first);
  if constexpr (kRows > 1)
    multiplyRows<T, kRows / 2, kVectors, kBytes, kIsPart>(product, first);
}

/// Computes the panels of kVectors whole vectors that there are before column `outer`, and moves on to what is left.
template <class T, int kVectors> void multiplyWhole(PanelProduct<T> &product, int64_t &outer) {
  constexpr int64_t kColumns = kVectors * kLanes<T>;
  for (; outer >= kColumns; outer -= kColumns) {
    multiplyRows<T, kVectors == 1 ? kNarrowBlockRows : kBlockRows, kVectors, kVectorBytes, false>(product);
    product.b += kColumns;
    product.c += kColumns;
  }
  if constexpr (kVectors > 1)
    multiplyWhole<T, kVectors - 1>(product, outer);
}

/// Computes the panel of `product` and all panels to the right of it, up to column `outer`. The last few columns go by
/// half a vector, of which processors compute two at a time.
template <class T> HECTOR_SHARED void multiplyPanels(PanelProduct<T> product, int64_t outer) {
  constexpr int kHalfBytes = kVectorBytes / 2;
  constexpr int64_t kHalf = kVectorBytes > 16 ? kLanes<T, kHalfBytes> : 0;
  multiplyWhole<T, kBlockVectors>(product, outer);
  product.columns = outer;
  if (outer > kHalf)
    multiplyRows<T, kNarrowBlockRows, 1, kVectorBytes, true>(product);
  else if (outer > 0)
    if constexpr (kHalf > 0)
      multiplyRows<T, kNarrowBlockRows, 1, kHalfBytes, true>(product);
}

/// c[r][j] = Σ_k a[r][k]·w[k][j], for r < rows, k < inner, j < outer. lda, ldw and ldc are the distances between rows.
template <class T>
void multiply(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows, int64_t inner,
              int64_t outer) {
  multiplyPanels<T>({a, lda, 1, w, ldw, c, ldc, rows, inner, 0, /*isAdded=*/false}, outer);
}

/// c[i][j] = Σ_k a[i·rowStride + k·stepStride]·b[k][j], for i < rows, k < steps, j < outer.
template <class T>
void multiplyStrided(const T *a, int64_t rowStride, int64_t stepStride, const T *b, int64_t ldb, T *c, int64_t ldc,
                     int64_t rows, int64_t steps, int64_t outer) {
  multiplyPanels<T>({a, rowStride, stepStride, b, ldb, c, ldc, rows, steps, 0, /*isAdded=*/false}, outer);
}

/// w[i][j] += Σ_r a[r][i]·g[r][j], for i < inner and j < outer, with r in ascending order.
template <class T>
void addOuterProducts(const T *a, int64_t lda, const T *g, int64_t ldg, T *w, int64_t ldw, int64_t rows, int64_t inner,
                      int64_t outer) {
  multiplyPanels<T>({a, 1, lda, g, ldg, w, ldw, inner, rows, 0, /*isAdded=*/true}, outer);
}

/// to[k][j] = from[j][k], for j < rows and k < columns: squares of 16-byte vectors, and the rest one by one.
template <class T>
HECTOR_SHARED void transpose(const T *from, int64_t ldf, T *to, int64_t ldt, int64_t rows, int64_t columns) {
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

/// to[k][h·columns + j] = from[h][k][j], for h < heads, k < rows and j < columns: the matrices of all heads side by
/// side.
template <class T> HECTOR_SHARED void joinHeads(const T *from, T *to, int64_t heads, int64_t rows, int64_t columns) {
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t j = 0; j < columns; ++j)
        to[(k * heads + h) * columns + j] = from[(h * rows + k) * columns + j];
}

/// c[r][j] = Σ_k a[r][k]·w[j][k]: the product with the transpose of `w`, with the same bits. Transposes `w` part by
/// part, each time; for many tiles with one `w` it is cheaper to `transpose` it once.
template <class T>
HECTOR_SHARED void multiplyTransposed(const T *a, int64_t lda, const T *w, int64_t ldw, T *c, int64_t ldc, int64_t rows,
                                      int64_t inner, int64_t outer) {
  constexpr int64_t kSteps = 64;
  alignas(64) T panel[kSteps * kPanel<T>];  // 16 KiB with the widest vectors: stays in the first cache
  for (int64_t j = 0; j < outer; j += kPanel<T>) {
    const int64_t columns = outer - j < kPanel<T> ? outer - j : kPanel<T>;
    for (int64_t k = 0; k == 0 || k < inner; k += kSteps) {
      const int64_t steps = inner - k < kSteps ? inner - k : kSteps;
      transpose(w + j * ldw + k, ldw, panel, kPanel<T>, columns, steps);
      multiplyPanels<T>({a + k, lda, 1, panel, kPanel<T>, c + j, ldc, rows, steps, 0, /*isAdded=*/k > 0}, columns);
    }
  }
}

/// Whether n numbers are all 0. -0 is; NaN is not.
template <class T> bool isZero(const T *row, int64_t n) {
  if (n > 0 && row[0] != T(0))  // as a rule
    return false;
  int isOther = 0;
  for (int64_t k = 0; k < n; ++k)
    isOther |= row[k] != T(0);
  return isOther == 0;
}

}  // namespace hector::cpu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
