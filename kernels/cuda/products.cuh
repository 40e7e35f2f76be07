/// Products of a tile of rows with a matrix, and sums of outer products of two tiles, by the kWarps warps of a block on
/// the matrix instructions. T is float or double.
///
/// Warps divide the columns of a product among themselves, and then its rows, 32 at a time. Each lane keeps what it needs
/// of the matrix in registers, for all tiles that are multiplied by it, if it is small enough. Sums of outer products are
/// divided into blocks of up to 32 by 32 numbers.
///
/// The 32 lanes of a warp share the work so that every load takes 16 bytes where they are aligned. With group = lane / 4
/// and t = lane % 4, one step multiplies 16 rows by 16·8 numbers for kTiles times 8 columns:
///
/// - of the left side, a lane brings the terms 4t to 4t + 3 of two rows, `rowOf(group)` and the one 8 further on;
/// - of the right side, the same terms of kTiles neighbouring columns from kTiles · group on;
/// - of the sums, it gets 2·kTiles neighbouring columns from 2·kTiles · t on, of its two rows.
///
/// So the instruction's own order of terms, rows and columns is permuted, which changes nothing but the order in which
/// the terms of a sum are added. That order depends on the sizes alone: where tiles are cut changes no bit of a product.
///
/// How floats are multiplied is a choice (`Precision`). Sums leave the tensor core after 32 terms, since it truncates. No
/// way works with inf, with NaN, or next to the largest float: a sum that is not finite is computed again, term by term,
/// so that it is what float makes of it.
///
/// "Guarded" are products in which a row of zeros stands for no row at all: it gives zeros, or adds nothing, whatever
/// inf or NaN it meets on the other side.
///
/// Tiles are in shared memory, or in the memory of the device. They start at multiples of 16 bytes, and so do their rows;
/// `paddedColumns` is the distance between rows that has no bank conflicts. All threads of a block call together, with
/// the same arguments, after a barrier that follows the writing of the tiles. Another one has to follow before anyone
/// reads what was computed, or writes to what was read.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/division.hpp"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/storage.cuh"

namespace hector::cuda {

using namespace common;

// --- the step -------------------------------------------------------------------------------------------------------

/// kCount terms of a row or column, as the matrix instructions take them.
template <class T, int kCount, Precision precision> struct Terms;

template <int kCount> struct Terms<float, kCount, Precision::Highest> {
  float big[kCount], small[kCount];

  Terms() = default;
  __device__ __forceinline__ explicit Terms(const float (&numbers)[kCount]) {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const SplitTf32 split = splitTf32(numbers[i]);
      big[i] = split.big;
      small[i] = split.small;
    }
  }
};

template <int kCount> struct Terms<float, kCount, Precision::High> {
  uint32_t big[kCount / 2], small[kCount / 2];

  Terms() = default;
  __device__ __forceinline__ explicit Terms(const float (&numbers)[kCount]) {
    HECTOR_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      big[i] = packBf16(numbers[2 * i], numbers[2 * i + 1]);
      small[i] = packBf16(numbers[2 * i] - lowOf(big[i]), numbers[2 * i + 1] - highOf(big[i]));
    }
  }
};

template <int kCount> struct Terms<float, kCount, Precision::Medium> {
  float numbers[kCount];

  Terms() = default;
  __device__ __forceinline__ explicit Terms(const float (&values)[kCount]) {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      numbers[i] = toTf32(values[i]);
  }
};

template <int kCount, Precision precision> struct Terms<double, kCount, precision> {
  double numbers[kCount];

  Terms() = default;
  __device__ __forceinline__ explicit Terms(const double (&values)[kCount]) {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      numbers[i] = values[i];
  }
};

/// One instruction: the terms i and i + 1 of two rows and of a column, or two pairs of them.
__device__ __forceinline__ void multiplyTerms(float (&sums)[4], const float *upper, const float *lower,
                                              const float *column) {
  const float a[4] = {upper[0], lower[0], upper[1], lower[1]}, b[2] = {column[0], column[1]};
  multiplyTf32(sums, a, b);
}
__device__ __forceinline__ void multiplyTerms(float (&sums)[4], const uint32_t *upper, const uint32_t *lower,
                                              const uint32_t *column) {
  const uint32_t a[4] = {upper[0], lower[0], upper[1], lower[1]}, b[2] = {column[0], column[1]};
  multiplyBf16(sums, a, b);
}

/// sums += the products of kRowTiles times 16 rows and kTiles times 8 columns. `upper` are of the first 8 rows of each
/// 16, `lower` of the others. Neighbouring instructions add to different sums.
template <int kRowTiles, int kTiles, int kCount, Precision precision>
__device__ __forceinline__ void multiplyAdd(float (&sums)[kRowTiles][kTiles][4],
                                            const Terms<float, kCount, precision> (&upper)[kRowTiles],
                                            const Terms<float, kCount, precision> (&lower)[kRowTiles],
                                            const Terms<float, kCount, precision> (&columns)[kTiles]) {
  constexpr int kRegisters = precision == Precision::High ? kCount / 2 : kCount;
  HECTOR_UNROLL
  for (int i = 0; i < kRegisters; i += 2) {
    HECTOR_UNROLL
    for (int part = 0; part < (precision == Precision::Medium ? 1 : 3); ++part) {
      HECTOR_UNROLL
      for (int row = 0; row < kRowTiles; ++row) {
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
          if constexpr (precision == Precision::Medium)
            multiplyTerms(sums[row][tile], upper[row].numbers + i, lower[row].numbers + i, columns[tile].numbers + i);
          else if (part == 0)  // the smallest first
            multiplyTerms(sums[row][tile], upper[row].small + i, lower[row].small + i, columns[tile].big + i);
          else
            multiplyTerms(sums[row][tile], upper[row].big + i, lower[row].big + i,
                          part == 1 ? columns[tile].small + i : columns[tile].big + i);
        }
      }
    }
  }
}
template <int kRowTiles, int kTiles, int kCount, Precision precision>
__device__ __forceinline__ void multiplyAdd(double (&sums)[kRowTiles][kTiles][4],
                                            const Terms<double, kCount, precision> (&upper)[kRowTiles],
                                            const Terms<double, kCount, precision> (&lower)[kRowTiles],
                                            const Terms<double, kCount, precision> (&columns)[kTiles]) {
  HECTOR_UNROLL
  for (int row = 0; row < kRowTiles; ++row) {
    HECTOR_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      double(&sum)[4] = sums[row][tile];
      double high[2] = {sum[0], sum[1]}, low[2] = {sum[2], sum[3]};
      HECTOR_UNROLL
      for (int i = 0; i < kCount; ++i) {
        multiplyF64(high, upper[row].numbers[i], columns[tile].numbers[i]);
        multiplyF64(low, lower[row].numbers[i], columns[tile].numbers[i]);
      }
      sum[0] = high[0], sum[1] = high[1];
      sum[2] = low[0], sum[3] = low[1];
    }
  }
}

/// Loads kCount numbers, of which the first `count` are there; the others are 0. With `isWhole`, all are.
template <bool isWhole, bool isAligned, int kCount, class T, class Stored>
__device__ __forceinline__ void loadPart(T (&numbers)[kCount], const Stored *from, int count) {
  if (isWhole || count >= kCount) {
    if constexpr (isAligned) {
      const auto pack = loadPack<kCount>(from);
      HECTOR_UNROLL
      for (int i = 0; i < kCount; ++i)
        numbers[i] = pack.numbers[i];
    } else {
      HECTOR_UNROLL
      for (int i = 0; i < kCount; ++i)
        numbers[i] = load(from + i);
    }
  } else {
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      numbers[i] = i < count ? load(from + i) : T(0);
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

// --- products -------------------------------------------------------------------------------------------------------

/// How a matrix is stored.
enum class Layout { Plain, Transposed };

/// The matrix of a product, with kInner rows and kOuter columns, or stored as its transpose. With `isAligned`, it starts
/// at a multiple of 16 bytes, and so do its stored rows, which lie one after the other. With `isKept`, each lane has its
/// part of the matrix in registers.
template <class T, int kInner, int kOuter, int kWarps, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false, bool isKept = false, Precision precision = Precision::Highest, class Stored = T>
class Weights {
  using Terms4 = Terms<T, 4, precision>;
  // The parts of bf16 take as many registers as the number, those of TF32 twice as many.
  static constexpr bool isKeptSplit = precision == Precision::High;
  static constexpr ProductDivision kWay = divideProduct(kInner, kOuter, kWarps, isKept);
  static constexpr int kTiles = kWay.tiles, kColumns = 8 * kTiles, kPasses = kWay.passes, kSteps = kWay.steps;
  static constexpr int kRowTiles = kWay.rowTiles, kColumnWarps = kWay.columnWarps, kRowWarps = kWay.rowWarps;
  static constexpr bool hasAllTerms = kInner % 16 == 0, hasAllColumns = kOuter % (kColumns * kColumnWarps) == 0;
  static constexpr int kStride = layout == Layout::Plain ? kOuter : kInner;

public:
  __device__ __forceinline__ explicit Weights(const Stored *matrix) : matrix(matrix) {
    if constexpr (isKept) {
      HECTOR_UNROLL
      for (int pass = 0; pass < kPasses; ++pass) {
        HECTOR_UNROLL
        for (int step = 0; step < kSteps; ++step) {
          T numbers[kTiles][4];
          read(numbers, 16 * step, leftOf(pass));
          HECTOR_UNROLL
          for (int tile = 0; tile < kTiles; ++tile) {
            if constexpr (isKeptSplit) {
              keptTerms[pass][step][tile] = Terms4(numbers[tile]);
            } else {
              HECTOR_UNROLL
              for (int i = 0; i < 4; ++i)
                kept[pass][step][tile][i] = numbers[tile][i];
            }
          }
        }
      }
    }
  }

  /// c[r][j] = Σ_k a[r][k]·w[k][j] for r < rows. lda and ldc are the distances between rows.
  __device__ __forceinline__ void multiply(const T *a, int lda, T *c, int ldc, int rows) const {
    HECTOR_KEEP_LOOP
    for (int top = warp() / kColumnWarps * 16 * kRowTiles; top < rows; top += kRowWarps * 16 * kRowTiles) {
      if constexpr (isKept) {
        HECTOR_UNROLL
        for (int pass = 0; pass < kPasses; ++pass)
          if (hasAllColumns || leftOf(pass) < kOuter)
            multiplyRows(pass, top, a, lda, c, ldc, rows);
      } else {
        HECTOR_KEEP_LOOP
        for (int pass = 0; pass < kPasses; ++pass)
          if (hasAllColumns || leftOf(pass) < kOuter)
            multiplyRows(pass, top, a, lda, c, ldc, rows);
      }
    }
  }

private:
  /// The first column of this warp.
  static __device__ __forceinline__ int leftOf(int pass) {
    return (pass * kColumnWarps + warp() % kColumnWarps) * kColumns;
  }
  /// The row of a group: neighbouring groups, which load together, have rows in different memory banks.
  static __device__ __forceinline__ int rowOf(int group) {
    return (group & 4) | (group & 1) << 1 | (group & 2) >> 1;
  }

  /// The terms of this lane, from `start` on, in its columns from `left` on.
  __device__ __forceinline__ void read(T (&numbers)[kTiles][4], int start, int left) const {
    constexpr bool isWhole = hasAllTerms && hasAllColumns;
    const int k = start + 4 * (lane() % 4), terms = kInner - k, column = left + kTiles * (lane() / 4);
    if constexpr (layout == Layout::Plain) {
      HECTOR_UNROLL
      for (int i = 0; i < 4; ++i) {
        T row[kTiles];
        loadPart<isWhole, isAligned>(row, matrix + (k + i) * kStride + column, i < terms ? kOuter - column : 0);
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile)
          numbers[tile][i] = row[tile];
      }
    } else {
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile)
        loadPart<isWhole, isAligned>(numbers[tile], matrix + (column + tile) * kStride + k,
                                     column + tile < kOuter ? terms : 0);
    }
  }

  /// 16·kRowTiles rows from `top` on, in the columns of a pass. What is behind the last row is computed from that row,
  /// and dropped.
  __device__ __forceinline__ void multiplyRows(int pass, int top, const T *a, int lda, T *c, int ldc, int rows) const {
    const int t = lane() % 4, left = leftOf(pass);
    int row[kRowTiles][2];
    const T *from[kRowTiles][2];
    HECTOR_UNROLL
    for (int m = 0; m < kRowTiles; ++m) {
      HECTOR_UNROLL
      for (int half = 0; half < 2; ++half) {
        row[m][half] = top + 16 * m + 8 * half + rowOf(lane() / 4);
        from[m][half] = a + (row[m][half] < rows ? row[m][half] : rows - 1) * lda + 4 * t;
      }
    }
    T sums[kRowTiles][kTiles][4] = {};
    auto addTerms = [&](T(&parts)[kRowTiles][kTiles][4], int step) {
      const int terms = kInner - 16 * step - 4 * t;
      Terms4 upper[kRowTiles], lower[kRowTiles];
      HECTOR_UNROLL
      for (int m = 0; m < kRowTiles; ++m) {
        T numbers[4];
        loadPart<hasAllTerms, true>(numbers, from[m][0] + 16 * step, terms);
        upper[m] = Terms4(numbers);
        loadPart<hasAllTerms, true>(numbers, from[m][1] + 16 * step, terms);
        lower[m] = Terms4(numbers);
      }
      if constexpr (isKept && isKeptSplit) {
        multiplyAdd(parts, upper, lower, keptTerms[pass][step]);
      } else {
        Terms4 columns[kTiles];
        T numbers[kTiles][4];
        if constexpr (isKept) {
          HECTOR_UNROLL
          for (int i = 0; i < 4 * kTiles; ++i)
            numbers[i / 4][i % 4] = hidden(kept[pass][step][i / 4][i % 4]);
        } else {
          read(numbers, 16 * step, left);
        }
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile)
          columns[tile] = Terms4(numbers[tile]);
        multiplyAdd(parts, upper, lower, columns);
      }
    };
    auto addSteps = [&](int step) {
      T parts[kRowTiles][kTiles][4] = {};
      addTerms(parts, step);
      if (kSteps % 2 == 0 || step + 1 < kSteps)
        addTerms(parts, step + 1);
      HECTOR_UNROLL
      for (int m = 0; m < kRowTiles; ++m)
        addBlock(sums[m], parts[m]);
    };
    if constexpr (isKept) {
      HECTOR_UNROLL
      for (int step = 0; step < kSteps; step += 2)
        addSteps(step);
    } else {
      HECTOR_KEEP_LOOP
      for (int step = 0; step < kSteps; step += 2)
        addSteps(step);
    }
    T nothing = 0;  // or NaN, if a sum is not finite
    HECTOR_UNROLL
    for (int m = 0; m < kRowTiles; ++m) {
      HECTOR_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int first = left + 2 * kTiles * t;
        T numbers[2 * kTiles];
        HECTOR_UNROLL
        for (int i = 0; i < 2 * kTiles; ++i) {
          numbers[i] = sums[m][i % kTiles][2 * half + i / kTiles];
          nothing += numbers[i] * T(0);
        }
        storePart<hasAllColumns>(c + row[m][half] * ldc + first, numbers, row[m][half] < rows ? kOuter - first : 0);
      }
    }
    if (any(nothing != T(0))) {
      HECTOR_KEEP_LOOP
      for (int half = 0; half < 2 * kRowTiles; ++half)
        replaceOdd(top + 8 * half + rowOf(lane() / 4), left + 2 * kTiles * t, a, lda, matrix, c, ldc, rows);
    }
  }

  /// Computes the sums of a lane in `row` that are not finite again. They are in 2·kTiles columns from `first` on.
  static HECTOR_SELDOM void replaceOdd(int row, int first, const T *a, int lda, const Stored *matrix, T *c, int ldc,
                                       int rows) {
    if (row >= rows)
      return;
    const T *own = a + row * lda;
    HECTOR_KEEP_LOOP
    for (int j = first; j < first + 2 * kTiles && j < kOuter; ++j) {
      if (isFinite(c[row * ldc + j]))
        continue;
      T sum = 0;
      if (!isGuarded || !isZero(own, kInner)) {
        HECTOR_KEEP_LOOP
        for (int k = 0; k < kInner; ++k)
          sum += own[k] * load(matrix + (layout == Layout::Plain ? k * kStride + j : j * kStride + k));
      }
      c[row * ldc + j] = sum;
    }
  }

  const Stored *matrix;
  static constexpr bool isKeptWhole = isKept && !isKeptSplit, isKeptInParts = isKept && isKeptSplit;
  T kept[isKeptWhole ? kPasses : 1][isKeptWhole ? kSteps : 1][kTiles][4];
  Terms4 keptTerms[isKeptInParts ? kPasses : 1][isKeptInParts ? kSteps : 1][kTiles];
};

// --- sums of outer products -----------------------------------------------------------------------------------------

/// The blocks of Σ_r a[r]·g[r], and how warps share them. A block has kRowTiles times 16 numbers of the rows of `a`, and
/// kTiles times 8 of those of `g`. Rows are the terms here, and lie in the instruction's own order: row t + 4i is term i
/// of lane t.
template <class T, int kInner, int kOuter, int kWarps, bool isGuarded, Precision precision> struct OuterBlocks {
  static constexpr OuterDivision kWay = divideOuter(kInner, kOuter, kWarps);
  static constexpr int kTiles = kWay.tiles, kColumns = 8 * kTiles, kAcross = kWay.across, kOwn = kWay.own;
  static constexpr int kRowTiles = kWay.rowTiles, kRows = 16 * kRowTiles;
  static constexpr bool hasAllRows = kInner % kRows == 0, hasAllColumns = kOuter % kColumns == 0;
  /// Terms of a lane that are multiplied at once: as few as an instruction takes.
  static constexpr int kCount = precision == Precision::High ? 4 : 2;
  using Sums = T[kRowTiles][kTiles][4];

  int top, left;

  /// A warp's own block of number `own`.
  __device__ __forceinline__ explicit OuterBlocks(int own) {
    const int number = own * kWarps + warp();
    top = number / kAcross * kRows;
    left = number % kAcross * kColumns;
  }
  __device__ __forceinline__ bool isThere() const { return kWay.blocks % kWarps == 0 || top < kInner; }

  /// Where number `i` of a tile is.
  __device__ __forceinline__ int rowOf(int row, int i) const {
    return top + 2 * kRowTiles * (lane() / 4) + 2 * row + i / 2;
  }
  __device__ __forceinline__ int columnOf(int tile, int i) const {
    return left + kTiles * (2 * (lane() % 4) + i % 2) + tile;
  }

  /// Calls body(row, column, number) for the numbers of this lane that are there.
  template <class F> __device__ __forceinline__ void forEach(const Sums &sums, F &&body) const {
    HECTOR_UNROLL
    for (int row = 0; row < kRowTiles; ++row) {
      HECTOR_UNROLL
      for (int i = 0; i < 4; ++i) {
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile)
          if ((hasAllRows || rowOf(row, i) < kInner) && (hasAllColumns || columnOf(tile, i) < kOuter))
            body(rowOf(row, i), columnOf(tile, i), sums[row][tile][i]);
      }
    }
  }

  /// sums += the products of `rows` rows.
  __device__ __forceinline__ void add(Sums &sums, const T *a, int lda, const T *g, int ldg, int rows) const {
    HECTOR_KEEP_LOOP
    for (int start = 0; start < rows; start += 32) {
      Sums parts = {};
      if (start + 32 <= rows) {
        HECTOR_UNROLL
        for (int first = start; first < start + 32; first += 4 * kCount)
          addRows<true>(parts, first, a, lda, g, ldg, rows);
      } else {
        HECTOR_KEEP_LOOP
        for (int first = start; first < rows; first += 4 * kCount)
          addRows<false>(parts, first, a, lda, g, ldg, rows);
      }
      T nothing = 0;  // or NaN, if a sum is not finite
      HECTOR_UNROLL
      for (int row = 0; row < kRowTiles; ++row) {
        HECTOR_UNROLL
        for (int i = 0; i < 4 * kTiles; ++i)
          nothing += parts[row][i / 4][i % 4] * T(0);
      }
      if (any(nothing != T(0))) {
        const int count = rows - start < 32 ? rows - start : 32;
        HECTOR_UNROLL
        for (int row = 0; row < kRowTiles; ++row) {
          HECTOR_UNROLL
          for (int i = 0; i < 4 * kTiles; ++i) {
            T &part = parts[row][i / 4][i % 4];
            const int r = rowOf(row, i % 4), column = columnOf(i / 4, i % 4);
            if (!isFinite(part) && r < kInner && column < kOuter)
              part = sumAgain(a + start * lda + r, lda, g + start * ldg, column, ldg, count);
          }
        }
        syncWarp();
      }
      HECTOR_UNROLL
      for (int row = 0; row < kRowTiles; ++row)
        addBlock(sums[row], parts[row]);
    }
  }

private:
  /// 4·kCount rows from `first` on; with `isWhole`, all of them are there.
  template <bool isWhole>
  __device__ __forceinline__ void addRows(Sums &sums, int first, const T *a, int lda, const T *g, int ldg,
                                          int rows) const {
    const int t = lane() % 4, row = top + 2 * kRowTiles * (lane() / 4), column = left + kTiles * (lane() / 4);
    T numbers[2 * kRowTiles][kCount], right[kTiles][kCount];
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i) {
      const int r = first + t + 4 * i;
      T ofLeft[2 * kRowTiles], ofRight[kTiles];
      loadPart<isWhole && hasAllRows, true>(ofLeft, a + r * lda + row, isWhole || r < rows ? kInner - row : 0);
      loadPart<isWhole && hasAllColumns, true>(ofRight, g + r * ldg + column, isWhole || r < rows ? kOuter - column : 0);
      HECTOR_UNROLL
      for (int k = 0; k < 2 * kRowTiles; ++k)
        numbers[k][i] = ofLeft[k];
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile)
        right[tile][i] = ofRight[tile];
    }
    using Terms = Terms<T, kCount, precision>;
    Terms upper[kRowTiles], lower[kRowTiles], columns[kTiles];
    HECTOR_UNROLL
    for (int m = 0; m < kRowTiles; ++m) {
      upper[m] = Terms(numbers[2 * m]);
      lower[m] = Terms(numbers[2 * m + 1]);
    }
    HECTOR_UNROLL
    for (int tile = 0; tile < kTiles; ++tile)
      columns[tile] = Terms(right[tile]);
    multiplyAdd(sums, upper, lower, columns);
  }

  /// Computes a sum that was not finite again, row by row. `a` points to its numbers, `g` to rows.
  static HECTOR_SELDOM T sumAgain(const T *a, int lda, const T *g, int column, int ldg, int rows) {
    T sum = 0;
    HECTOR_KEEP_LOOP
    for (int r = 0; r < rows; ++r)
      if (!isGuarded || !isZero(g + r * ldg, kOuter))
        sum += a[r * lda] * g[r * ldg + column];
    return sum;
  }
};

/// w[i][j] = Σ_r a[r][i]·g[r][j] for i < kInner and j < kOuter, in registers: of many tiles, one after the other.
template <class T, int kInner, int kOuter, int kWarps, bool isGuarded = false,
          Precision precision = Precision::Highest>
class OuterProducts {
  using Block = OuterBlocks<T, kInner, kOuter, kWarps, isGuarded, precision>;

public:
  /// Adds the rows of two tiles.
  __device__ __forceinline__ void add(const T *a, int lda, const T *g, int ldg, int rows) {
    HECTOR_UNROLL
    for (int own = 0; own < Block::kOwn; ++own)
      if (const Block block(own); block.isThere())
        block.add(sums[own], a, lda, g, ldg, rows);
  }

  /// Calls body(i, j, sum) for the numbers that this lane has.
  template <class F> __device__ __forceinline__ void forEach(F &&body) const {
    HECTOR_UNROLL
    for (int own = 0; own < Block::kOwn; ++own)
      if (const Block block(own); block.isThere())
        block.forEach(sums[own], body);
  }

private:
  typename Block::Sums sums[Block::kOwn] = {};
};

/// w[i][j] += Σ_r a[r][i]·g[r][j] for r < rows, in global memory that this block alone uses. A number is always added to
/// by the same lane, so that calls need no barrier between them.
template <class T, int kInner, int kOuter, int kWarps, bool isGuarded = false,
          Precision precision = Precision::Highest>
__device__ inline void addOuterProducts(const T *a, int lda, const T *g, int ldg, T *w, int ldw, int rows) {
  using Block = OuterBlocks<T, kInner, kOuter, kWarps, isGuarded, precision>;
  HECTOR_KEEP_LOOP
  for (int own = 0; own < Block::kOwn; ++own) {
    const Block block(own);
    if (!block.isThere())
      continue;
    typename Block::Sums sums = {};
    block.add(sums, a, lda, g, ldg, rows);
    block.forEach(sums, [&](int row, int column, T sum) { w[row * ldw + column] += sum; });
  }
}

// --- a row and its own matrix ---------------------------------------------------------------------------------------

/// c[j] = Σ_k a[k]·w[k][j], where the matrix is that of one row. It is read once: 4·kPack columns of 32 / kPack rows, or
/// rows of the transpose, by a warp at a time.
template <class T, int kInner, int kOuter, int kWarps, Layout layout = Layout::Plain, bool isAligned = false,
          bool isGuarded = false, class Stored = T>
__device__ inline void multiplyRow(const T *a, const Stored *w, T *c) {
  // Where inf or NaN may be in the matrix, 0 times it is not 0.
  const bool isNothing = isGuarded && isZero(a, kInner);
  if constexpr (layout == Layout::Plain) {
    constexpr int kPack = isAligned ? 4 : 1, kColumns = 8, kAcross = kColumns / kPack, kDown = kWarp / kAcross;
    HECTOR_KEEP_LOOP
    for (int left = warp() * kColumns; left < kOuter; left += kWarps * kColumns) {
      const int column = left + lane() % kAcross * kPack;
      T sums[kPack] = {};
      if (!isNothing && column < kOuter) {
        HECTOR_UNROLL_SOME
        for (int k = lane() / kAcross; k < kInner; k += kDown) {
          T numbers[kPack];
          loadPart<false, isAligned>(numbers, w + k * kOuter + column, kOuter - column);
          HECTOR_UNROLL
          for (int i = 0; i < kPack; ++i)
            sums[i] += a[k] * numbers[i];
        }
      }
      HECTOR_UNROLL
      for (int i = 0; i < kPack; ++i) {
        HECTOR_UNROLL
        for (int bits = kAcross; bits < kWarp; bits *= 2)
          sums[i] += shuffleXor(sums[i], bits);
        if (lane() < kAcross && column + i < kOuter)
          c[column + i] = sums[i];
      }
    }
  } else {
    constexpr int kPack = isAligned ? 4 : 1;
    HECTOR_UNROLL_SOME
    for (int j = warp(); j < kOuter; j += kWarps) {
      T sum = 0;
      if (!isNothing) {
        HECTOR_UNROLL_SOME
        for (int k = lane() * kPack; k < kInner; k += kWarp * kPack) {
          T numbers[kPack];
          loadPart<false, isAligned>(numbers, w + j * kInner + k, kInner - k);
          HECTOR_UNROLL
          for (int i = 0; i < kPack; ++i)
            if (kInner % kPack == 0 || k + i < kInner)
              sum += a[k + i] * numbers[i];
        }
      }
      HECTOR_UNROLL
      for (int bits = 1; bits < kWarp; bits *= 2)
        sum += shuffleXor(sum, bits);
      if (lane() == 0)
        c[j] = sum;
    }
  }
}

// --- rows that start anywhere ---------------------------------------------------------------------------------------

/// `Weights::multiply` without matrix instructions, for tiles whose rows do not start at multiples of 16 bytes: parts of
/// rows, such as heads of an odd number of columns.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isGuarded = false, class Stored = T>
__device__ inline void multiplyPlain(const T *a, int lda, const Stored *w, T *c, int ldc, int rows) {
  for (int i = threadInBlock(); i < rows * kOuter; i += numThreads()) {
    const int row = i / kOuter, j = i % kOuter;
    const T *own = a + row * lda;
    T sum = 0;
    if (!isGuarded || !isZero(own, kInner))
      for (int k = 0; k < kInner; ++k)
        sum += own[k] * load(w + (layout == Layout::Plain ? k * kOuter + j : j * kInner + k));
    c[row * ldc + j] = sum;
  }
}

/// `addOuterProducts` for such tiles.
template <class T, int kInner, int kOuter, bool isGuarded = false>
__device__ inline void addOuterProductsPlain(const T *a, int lda, const T *g, int ldg, T *w, int ldw, int rows) {
  for (int i = threadInBlock(); i < kInner * kOuter; i += numThreads()) {
    const int row = i / kOuter, column = i % kOuter;
    T sum = 0;
    for (int r = 0; r < rows; ++r)
      if (!isGuarded || !isZero(g + r * ldg, kOuter))
        sum += a[r * lda + row] * g[r * ldg + column];
    w[row * ldw + column] += sum;
  }
}

}  // namespace hector::cuda
