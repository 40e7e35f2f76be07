/// Products of a tile of rows with a matrix, and sums of outer products of two tiles, by one warp on the matrix
/// instructions. T is float or double.
///
/// The 32 lanes share the work so that every load takes 16 bytes where they are aligned. With group = lane / 4 and
/// t = lane % 4, one step multiplies 16 rows by 16·8 numbers for kTiles times 8 columns:
///
/// - of the left side, a lane brings the terms 4t to 4t + 3 of the rows `group` and `group` + 8;
/// - of the right side, the same terms of kTiles neighbouring columns from kTiles · group on;
/// - of the sums, it gets 2·kTiles neighbouring columns from 2·kTiles · t on, of its two rows.
///
/// So the instruction's own order of terms and columns is permuted, which changes nothing but the order in which the
/// terms of a sum are added. That order depends on the sizes alone: where tiles are cut changes no bit of a product.
///
/// Floats are split into two numbers of TF32 (3×TF32), and sums leave the tensor core after 32 terms, since it
/// truncates. The error is that of float, about 4e-7 of the norms. Neither works with inf, with NaN, or next to the
/// largest float: a sum that is not finite is computed again, term by term, so that it is what float makes of it.
///
/// "Guarded" are products in which a row of zeros stands for no row at all: it gives zeros, or adds nothing, whatever
/// inf or NaN it meets on the other side.
///
/// Tiles are in shared memory. They start at multiples of 16 bytes, and so do their rows; `paddedColumns` is the
/// distance between rows that has the fewest bank conflicts. All lanes of a warp call together, with the same
/// arguments, after a barrier that follows the writing of the tiles. When a product returns, all lanes see it.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/math.cuh"

namespace hector::cuda {

using namespace common;

inline constexpr int kTileRows = 16;

/// The least distance between rows of n numbers that is an odd multiple of 64 bytes.
template <class T> HECTOR_ANYWHERE constexpr int paddedColumns(int n) {
  constexpr int kNumbers = 64 / sizeof(T);
  const int pieces = (n + kNumbers - 1) / kNumbers;
  return (pieces % 2 == 0 ? pieces + 1 : pieces) * kNumbers;
}

// --- the step -------------------------------------------------------------------------------------------------------

/// Terms of a row or column, as the matrix instructions take them.
template <class T> struct Terms;

template <> struct Terms<float> {
  float big[4], small[4];

  __device__ __forceinline__ explicit Terms(const float (&numbers)[4]) {
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const SplitTf32 split = splitTf32(numbers[i]);
      big[i] = split.big;
      small[i] = split.small;
    }
  }
};

template <> struct Terms<double> {
  double numbers[4];

  __device__ __forceinline__ explicit Terms(const double (&values)[4]) {
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i)
      numbers[i] = values[i];
  }
};

/// sums += the products of 16 rows and 8 columns over 16 terms. `upper` is of row `group`, `lower` of `group` + 8.
__device__ __forceinline__ void multiplyAdd(float (&sums)[4], const Terms<float> &upper, const Terms<float> &lower,
                                            const Terms<float> &column) {
  HECTOR_UNROLL
  for (int i = 0; i < 4; i += 2) {
    const float big[4] = {upper.big[i], lower.big[i], upper.big[i + 1], lower.big[i + 1]};
    const float small[4] = {upper.small[i], lower.small[i], upper.small[i + 1], lower.small[i + 1]};
    const float bigColumn[2] = {column.big[i], column.big[i + 1]};
    const float smallColumn[2] = {column.small[i], column.small[i + 1]};
    multiplyTf32(sums, small, bigColumn);  // the smallest first
    multiplyTf32(sums, big, smallColumn);
    multiplyTf32(sums, big, bigColumn);
  }
}
__device__ __forceinline__ void multiplyAdd(double (&sums)[4], const Terms<double> &upper, const Terms<double> &lower,
                                            const Terms<double> &column) {
  double high[2] = {sums[0], sums[1]}, low[2] = {sums[2], sums[3]};
  HECTOR_UNROLL
  for (int i = 0; i < 4; ++i) {
    multiplyF64(high, upper.numbers[i], column.numbers[i]);
    multiplyF64(low, lower.numbers[i], column.numbers[i]);
  }
  sums[0] = high[0], sums[1] = high[1];
  sums[2] = low[0], sums[3] = low[1];
}

/// Loads kCount numbers, of which the first `count` are there; the others are 0. With `isWhole`, all are.
template <bool isWhole, bool isAligned, int kCount, class T>
__device__ __forceinline__ void loadPart(T (&numbers)[kCount], const T *from, int count) {
  if (isWhole || count >= kCount) {
    if constexpr (isAligned) {
      const auto pack = *reinterpret_cast<const Pack<T, kCount> *>(from);
      HECTOR_UNROLL
      for (int i = 0; i < kCount; ++i)
        numbers[i] = pack.numbers[i];
    } else {
      HECTOR_UNROLL
      for (int i = 0; i < kCount; ++i)
        numbers[i] = from[i];
    }
  } else {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      numbers[i] = i < count ? from[i] : T(0);
  }
}

/// Stores the first `count` of kCount numbers. With `isWhole`, `count` is 0 or less, or at least kCount.
template <bool isWhole, int kCount, class T>
__device__ __forceinline__ void storePart(T *to, const T (&numbers)[kCount], int count) {
  if (count >= kCount) {
    Pack<T, kCount> pack;
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      pack.numbers[i] = numbers[i];
    *reinterpret_cast<Pack<T, kCount> *>(to) = pack;
  } else if constexpr (!isWhole) {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      if (i < count)
        to[i] = numbers[i];
  }
}

template <int kTiles, class T>
__device__ __forceinline__ void addBlock(T (&sums)[kTiles][4], const T (&block)[kTiles][4]) {
  HECTOR_UNROLL
  for (int tile = 0; tile < kTiles; ++tile) {
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i)
      sums[tile][i] += block[tile][i];
  }
}

template <class T> __device__ __forceinline__ bool isFinite(T x) {
  return x - x == T(0);
}

/// Whether n numbers are all 0. -0 is; NaN is not.
template <class T> __device__ inline bool isZero(const T *row, int n) {
  HECTOR_KEEP_LOOP
  for (int k = 0; k < n; ++k)
    if (row[k] != T(0))
      return false;
  return true;
}

/// How many times 8 columns are computed at once.
HECTOR_ANYWHERE inline constexpr int tilesOf(int columns) {
  return columns <= 8 ? 1 : columns <= 16 ? 2 : 4;
}

// --- products -------------------------------------------------------------------------------------------------------

/// How a matrix in global memory is read.
enum class Layout { Plain, Transposed };

/// Computes the sums of this lane that are not finite again. They are in the columns from `left` on.
template <class T, int kInner, int kOuter, Layout layout, bool isGuarded>
HECTOR_SELDOM void replaceOdd(int left, const T *a, int lda, const T *w, int ldw, T *c, int ldc, int rows) {
  constexpr int kColumns = 2 * tilesOf(kOuter);  // of this lane
  const int first = left + kColumns * (lane() % 4), end = first + kColumns < kOuter ? first + kColumns : kOuter;
  HECTOR_KEEP_LOOP
  for (int row = lane() / 4; row < rows; row += 8) {
    const T *own = a + row * lda;
    HECTOR_KEEP_LOOP
    for (int j = first; j < end; ++j) {
      if (isFinite(c[row * ldc + j]))
        continue;
      T sum = 0;
      if (!isGuarded || !isZero(own, kInner)) {
        HECTOR_KEEP_LOOP
        for (int k = 0; k < kInner; ++k)
          sum += own[k] * (layout == Layout::Plain ? w[k * ldw + j] : w[j * ldw + k]);
      }
      c[row * ldc + j] = sum;
    }
  }
}

/// c[r][j] = Σ_k a[r][k]·w[k][j] for r < rows (16 at most), k < kInner and j < kOuter; with Layout::Transposed, w[j][k]
/// is in the place of w[k][j]. lda, ldw and ldc are the distances between rows. With `isAligned`, `w` and its rows
/// start at multiples of 16 bytes.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false>
__device__ inline void multiply(const T *a, int lda, const T *w, int ldw, T *c, int ldc, int rows) {
  constexpr int kTiles = tilesOf(kOuter), kColumns = 8 * kTiles;
  constexpr bool hasAllTerms = kInner % 16 == 0, hasAllColumns = kOuter % kColumns == 0;
  const int group = lane() / 4, t = lane() % 4;
  HECTOR_KEEP_LOOP
  for (int left = 0; left < kOuter; left += kColumns) {
    const int column = left + kTiles * group;
    T sums[kTiles][4] = {};
    HECTOR_KEEP_LOOP
    for (int start = 0; start < kInner; start += 32) {
      T parts[kTiles][4] = {};
      HECTOR_UNROLL
      for (int half = 0; half < 32; half += 16) {
        if (kInner % 32 != 0 && start + half >= kInner)
          break;
        const int k = start + half + 4 * t, terms = kInner - k;
        T upper[4], lower[4], right[kTiles][4];
        loadPart<false, true>(upper, a + group * lda + k, group < rows ? terms : 0);
        loadPart<false, true>(lower, a + (group + 8) * lda + k, group + 8 < rows ? terms : 0);
        if constexpr (layout == Layout::Plain) {
          HECTOR_UNROLL
          for (int i = 0; i < 4; ++i) {
            T row[kTiles];
            loadPart<hasAllTerms && hasAllColumns, isAligned>(row, w + (k + i) * ldw + column,
                                                              i < terms ? kOuter - column : 0);
            HECTOR_UNROLL
            for (int tile = 0; tile < kTiles; ++tile)
              right[tile][i] = row[tile];
          }
        } else {
          HECTOR_UNROLL
          for (int tile = 0; tile < kTiles; ++tile)
            loadPart<hasAllTerms && hasAllColumns, isAligned>(right[tile], w + (column + tile) * ldw + k,
                                                              column + tile < kOuter ? terms : 0);
        }
        const Terms<T> upperTerms(upper), lowerTerms(lower);
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile)
          multiplyAdd(parts[tile], upperTerms, lowerTerms, Terms<T>(right[tile]));
      }
      addBlock(sums, parts);
    }
    bool isOdd = false;
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int row = group + i / 2 * 8, first = left + kTiles * (2 * t + i % 2);
      T numbers[kTiles];
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile) {
        numbers[tile] = sums[tile][i];
        isOdd |= !isFinite(numbers[tile]);
      }
      storePart<hasAllColumns>(c + row * ldc + first, numbers, row < rows ? kOuter - first : 0);
    }
    if (any(isOdd))
      replaceOdd<T, kInner, kOuter, layout, isGuarded>(left, a, lda, w, ldw, c, ldc, rows);
    syncWarp();
  }
}

// --- sums of outer products -----------------------------------------------------------------------------------------

/// A block of Σ_r a[r]·g[r]: 16 numbers of the rows of `a` from `top` on, and kTiles times 8 of those of `g` from
/// `left` on. Rows are the terms here, and lie in the instruction's own order: row t + 4i is term i of lane t.
template <class T, int kInner, int kOuter, bool isGuarded> struct OuterBlock {
  static constexpr int kTiles = tilesOf(kOuter), kColumns = 8 * kTiles;
  static constexpr bool hasAllRows = kInner % 16 == 0, hasAllColumns = kOuter % kColumns == 0;

  /// Where number `i` of tile `tile` is.
  static __device__ __forceinline__ int rowOf(int top, int i) { return top + 2 * (lane() / 4) + i / 2; }
  static __device__ __forceinline__ int columnOf(int left, int tile, int i) {
    return left + kTiles * (2 * (lane() % 4) + i % 2) + tile;
  }
  static __device__ __forceinline__ bool isInside(int row, int column) {
    return (hasAllRows || row < kInner) && (hasAllColumns || column < kOuter);
  }

  /// Calls body(row, column, tile, i) for the numbers of this lane that are inside.
  template <class F> static __device__ __forceinline__ void forEach(int top, int left, F &&body) {
    HECTOR_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      HECTOR_UNROLL
      for (int i = 0; i < 4; ++i)
        if (isInside(rowOf(top, i), columnOf(left, tile, i)))
          body(rowOf(top, i), columnOf(left, tile, i), tile, i);
    }
  }

  static __device__ __forceinline__ void compute(T (&sums)[kTiles][4], int top, int left, const T *a, int lda,
                                                 const T *g, int ldg, int rows) {
    const int group = lane() / 4, t = lane() % 4;
    const int row = top + 2 * group, column = left + kTiles * group;
    T upper[4], lower[4], right[kTiles][4];
    HECTOR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int r = t + 4 * i;
      T pair[2], numbers[kTiles];
      loadPart<false, true>(pair, a + r * lda + row, r < rows ? kInner - row : 0);
      upper[i] = pair[0];
      lower[i] = pair[1];
      loadPart<false, true>(numbers, g + r * ldg + column, r < rows ? kOuter - column : 0);
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile)
        right[tile][i] = numbers[tile];
    }
    const Terms<T> upperTerms(upper), lowerTerms(lower);
    bool isOdd = false;
    HECTOR_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      multiplyAdd(sums[tile], upperTerms, lowerTerms, Terms<T>(right[tile]));
      HECTOR_UNROLL
      for (int i = 0; i < 4; ++i)
        isOdd |= !isFinite(sums[tile][i]);
    }
    if (any(isOdd)) {
      // A copy, since an array whose address is taken does not stay in registers.
      T copy[kTiles][4];
      copyBlock(copy, sums);
      replaceOdd(copy, top, left, a, lda, g, ldg, rows);
      copyBlock(sums, copy);
      syncWarp();
    }
  }

private:
  static __device__ __forceinline__ void copyBlock(T (&to)[kTiles][4], const T (&from)[kTiles][4]) {
    HECTOR_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      HECTOR_UNROLL
      for (int i = 0; i < 4; ++i)
        to[tile][i] = from[tile][i];
    }
  }

  /// Computes the sums that are not finite again, row by row.
  static HECTOR_SELDOM void replaceOdd(T (&sums)[kTiles][4], int top, int left, const T *a, int lda, const T *g,
                                       int ldg, int rows) {
    HECTOR_KEEP_LOOP
    for (int number = 0; number < 4 * kTiles; ++number) {
      const int i = number % 4, row = rowOf(top, i), column = columnOf(left, number / 4, i);
      T &sum = sums[number / 4][i];
      if (isFinite(sum) || row >= kInner || column >= kOuter)
        continue;
      sum = 0;
      HECTOR_KEEP_LOOP
      for (int r = 0; r < rows; ++r)
        if (!isGuarded || !isZero(g + r * ldg, kOuter))
          sum += a[r * lda + row] * g[r * ldg + column];
    }
  }
};

/// w[i][j] = Σ_r a[r][i]·g[r][j] for i < kInner and j < kOuter, in registers: of many tiles, one after the other. A
/// lane keeps up to 128 numbers.
template <class T, int kInner, int kOuter, bool isGuarded = false> class OuterProducts {
  using Block = OuterBlock<T, kInner, kOuter, isGuarded>;
  static constexpr int kBlockRows = (kInner + 15) / 16;
  static constexpr int kBlockColumns = (kOuter + Block::kColumns - 1) / Block::kColumns;

public:
  static_assert(kInner <= 64 && kOuter <= 64, "larger sums are kept in memory: addOuterProducts");

  /// Adds the rows of two tiles, 16 at most.
  __device__ __forceinline__ void add(const T *a, int lda, const T *g, int ldg, int rows) {
    HECTOR_UNROLL
    for (int y = 0; y < kBlockRows; ++y) {
      HECTOR_UNROLL
      for (int x = 0; x < kBlockColumns; ++x) {
        T block[Block::kTiles][4] = {};
        Block::compute(block, 16 * y, Block::kColumns * x, a, lda, g, ldg, rows);
        addBlock(sums[y][x], block);
      }
    }
  }

  /// Calls body(i, j, sum) for the numbers that this lane has.
  template <class F> __device__ __forceinline__ void forEach(F &&body) const {
    HECTOR_UNROLL
    for (int y = 0; y < kBlockRows; ++y) {
      HECTOR_UNROLL
      for (int x = 0; x < kBlockColumns; ++x)
        Block::forEach(16 * y, Block::kColumns * x,
                       [&](int row, int column, int tile, int i) { body(row, column, sums[y][x][tile][i]); });
    }
  }

private:
  T sums[kBlockRows][kBlockColumns][Block::kTiles][4] = {};
};

/// w[i][j] += Σ_r a[r][i]·g[r][j] for r < rows (16 at most), in global memory that this warp alone uses. A number is
/// always added to by the same lane, so that calls need no barrier between them.
template <class T, int kInner, int kOuter, bool isGuarded = false>
__device__ inline void addOuterProducts(const T *a, int lda, const T *g, int ldg, T *w, int ldw, int rows) {
  using Block = OuterBlock<T, kInner, kOuter, isGuarded>;
  HECTOR_KEEP_LOOP
  for (int top = 0; top < kInner; top += 16) {
    HECTOR_KEEP_LOOP
    for (int left = 0; left < kOuter; left += Block::kColumns) {
      T block[Block::kTiles][4] = {};
      Block::compute(block, top, left, a, lda, g, ldg, rows);
      Block::forEach(top, left, [&](int row, int column, int tile, int i) { w[row * ldw + column] += block[tile][i]; });
    }
  }
}

// --- rows that start anywhere ---------------------------------------------------------------------------------------

/// `multiply` without matrix instructions, for tiles whose rows do not start at multiples of 16 bytes: parts of rows,
/// such as heads of an odd number of columns.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isGuarded = false>
__device__ inline void multiplyPlain(const T *a, int lda, const T *w, int ldw, T *c, int ldc, int rows) {
  for (int i = lane(); i < rows * kOuter; i += kWarp) {
    const int row = i / kOuter, j = i % kOuter;
    const T *own = a + row * lda;
    T sum = 0;
    if (!isGuarded || !isZero(own, kInner))
      for (int k = 0; k < kInner; ++k)
        sum += own[k] * (layout == Layout::Plain ? w[k * ldw + j] : w[j * ldw + k]);
    c[row * ldc + j] = sum;
  }
  syncWarp();
}

/// `addOuterProducts` for such tiles.
template <class T, int kInner, int kOuter, bool isGuarded = false>
__device__ inline void addOuterProductsPlain(const T *a, int lda, const T *g, int ldg, T *w, int ldw, int rows) {
  for (int i = lane(); i < kInner * kOuter; i += kWarp) {
    const int row = i / kOuter, column = i % kOuter;
    T sum = 0;
    for (int r = 0; r < rows; ++r)
      if (!isGuarded || !isZero(g + r * ldg, kOuter))
        sum += a[r * lda + row] * g[r * ldg + column];
    w[row * ldw + column] += sum;
  }
}

}  // namespace hector::cuda
