/// Products of a tile of rows with a matrix, and sums of outer products of two tiles, by the kWarps warps of a block on
/// the matrix instructions. T is float or double.
///
/// Floats are split when they are put into a tile (`Tile`): each is the sum of kPlanes numbers of bf16. With 3 planes and
/// the 6 largest of their products, sums are as exact as those of float, down to numbers of about 1e-33; with 2 planes and 3 products they have an error of
/// 4e-6 of the norms. That is `Precision`. So a number is split once, whichever warps multiply it, and lies as the
/// instructions want it, by rows and by columns.
///
/// Warps divide the columns of a product among themselves, and then its rows, 16 or 32 at a time. Each lane keeps what it needs
/// of the matrix in registers, for all tiles that are multiplied by it, if it is small enough. Sums of outer products are
/// divided into blocks of up to 32 by 32 numbers. A lane gets neighbouring columns of a product, which it stores at once:
/// the instruction's own order of columns is permuted.
///
/// The order of terms depends on the sizes alone: where tiles are cut changes no bit of a product. Sums leave the tensor
/// core after 32 terms, since it truncates. It does not work with inf, with NaN, or next to the largest float: a sum that
/// is not finite is computed again, term by term, so that it is what float makes of it.
///
/// "Guarded" are products in which a row of zeros stands for no row at all: it gives zeros, or adds nothing, whatever
/// inf or NaN it meets on the other side.
///
/// Results are plain rows, in shared memory or in that of the device, which start at multiples of 16 bytes;
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

/// 0 if numbers are finite, else NaN. Short chains of additions, as each waits for the one before.
template <int kCount, class T> __device__ __forceinline__ T nothingOf(const T (&numbers)[kCount]) {
  T nothing = 0;
  HECTOR_UNROLL
  for (int i = 0; i < kCount; ++i)
    nothing += numbers[i] * T(0);
  return nothing;
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

// --- tiles ----------------------------------------------------------------------------------------------------------

/// Splits two numbers into planes of bf16. The first has no inf: what is left of inf goes to the second.
template <int kPlanes>
__device__ __forceinline__ void splitPair(float first, float second, uint32_t (&planes)[kPlanes]) {
  HECTOR_UNROLL
  for (int plane = 0; plane < kPlanes; ++plane) {
    planes[plane] = plane == 0 ? packBf16<true>(first, second) : packBf16(first, second);
    first -= lowOf(planes[plane]);
    second -= highOf(planes[plane]);
  }
}

/// Up to kRows rows of kSize numbers in shared memory, which products read. It takes kBytes from a multiple of 16 on.
template <class T, int kSize, int kRows, int kPlanes> class Tile;

template <int kSize, int kRows, int kPlanes> class Tile<float, kSize, kRows, kPlanes> {
public:
  static constexpr TileShape kShape = shapeOfTile(kSize, kRows, kPlanes);
  static constexpr int kStride = kShape.stride, kPlane = kShape.plane, kAllRows = kShape.rows;

  __device__ __forceinline__ explicit Tile(void *memory) : numbers(static_cast<uint16_t *>(memory)) {}
  /// The columns from `first` on, a multiple of 8.
  __device__ __forceinline__ Tile from(int first) const { return Tile(numbers + first); }

  /// Sets all numbers to 0, those behind the last column included, which products meet.
  __device__ __forceinline__ void clear() const {
    for (int i = threadInBlock(); i < kShape.bytes / 16; i += numThreads())
      reinterpret_cast<Pack<uint32_t, 4> *>(numbers)[i] = {};
  }
  /// Sets the rows from `first` on to 0. Sums of outer products take them all.
  __device__ __forceinline__ void clearRows(int first) const {
    if (first == kAllRows)
      return;
    for (int i = threadInBlock(); i < (kAllRows - first) * (kStride / 8) * kPlanes; i += numThreads()) {
      const int part = (kAllRows - first) * (kStride / 8);
      reinterpret_cast<Pack<uint32_t, 4> *>(numbers + i / part * kPlane + first * kStride)[i % part] = {};
    }
  }
  /// Writes kCount neighbouring numbers.
  template <int kCount> __device__ __forceinline__ void put(int row, int column, const float (&values)[kCount]) const {
    static_assert(kCount == 1 || kCount % 2 == 0);
    Pack<uint32_t, partsOf(kCount, 2)> packs[kPlanes];
    HECTOR_UNROLL
    for (int i = 0; i < kCount; i += 2) {
      uint32_t planes[kPlanes];
      splitPair(values[i], i + 1 < kCount ? values[i + 1] : 0.0f, planes);
      HECTOR_UNROLL
      for (int plane = 0; plane < kPlanes; ++plane)
        packs[plane].numbers[i / 2] = planes[plane];
    }
    HECTOR_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) {
      uint16_t *to = numbers + plane * kPlane + row * kStride + column;
      if constexpr (kCount == 1)
        *to = static_cast<uint16_t>(packs[plane].numbers[0]);
      else
        *reinterpret_cast<Pack<uint32_t, kCount / 2> *>(to) = packs[plane];
    }
  }
  __device__ __forceinline__ float at(int row, int column) const {
    float sum = 0;
    HECTOR_UNROLL
    for (int plane = kPlanes - 1; plane >= 0; --plane) {
      const float number = lowOf(numbers[plane * kPlane + row * kStride + column]);
      sum = isFinite(number) ? sum + number : number;  // of inf and NaN, what follows is nothing
    }
    return sum;
  }

  /// 16 rows and 16 columns of a plane, as terms of the left side: of the rows, or of the columns.
  __device__ __forceinline__ void read(uint32_t (&to)[4], int plane, int row, int column) const {
    const int r = row + lane() % 16 < kAllRows ? row + lane() % 16 : kAllRows - 1;
    loadMatrices<false>(to, numbers + plane * kPlane + r * kStride + column + lane() / 16 * 8);
  }
  __device__ __forceinline__ void readColumns(uint32_t (&to)[4], int plane, int row, int column) const {
    loadMatrices<true>(to, numbers + plane * kPlane + (row + lane() / 16 * 8 + lane() % 8) * kStride + column +
                               lane() / 8 % 2 * 8);
  }
  /// The same as terms of the right side: of 8 columns, then of the next 8.
  __device__ __forceinline__ void readRight(uint32_t (&to)[4], int plane, int row, int column) const {
    loadMatrices<true>(to, numbers + plane * kPlane + (row + lane() % 16) * kStride + column + lane() / 16 * 8);
  }

private:
  uint16_t *numbers;
};

template <int kSize, int kRows, int kPlanes> class Tile<double, kSize, kRows, kPlanes> {
public:
  static constexpr int kStride = paddedColumns(kSize, sizeof(double)), kAllRows = kRows;

  __device__ __forceinline__ explicit Tile(void *memory) : numbers(static_cast<double *>(memory)) {}
  __device__ __forceinline__ Tile from(int first) const { return Tile(numbers + first); }
  __device__ __forceinline__ void clear() const {}
  __device__ __forceinline__ void clearRows(int) const {}
  template <int kCount> __device__ __forceinline__ void put(int row, int column, const double (&values)[kCount]) const {
    Pack<double, kCount> pack;
    HECTOR_UNROLL
    for (int i = 0; i < kCount; ++i)
      pack.numbers[i] = values[i];
    *reinterpret_cast<Pack<double, kCount> *>(numbers + row * kStride + column) = pack;
  }
  __device__ __forceinline__ double at(int row, int column) const { return numbers[row * kStride + column]; }
  __device__ __forceinline__ const double *row(int row) const { return numbers + row * kStride; }

private:
  double *numbers;
};

/// Rows that do not fit in shared memory. They are read one number at a time.
template <class T> struct PlainRows {
  const T *numbers;
  int stride;

  __device__ __forceinline__ T at(int row, int column) const { return numbers[row * stride + column]; }
};

/// Whether the first n numbers of a row are all 0.
template <class Rows> __device__ inline bool isZeroRow(const Rows &tile, int row, int n) {
  HECTOR_KEEP_LOOP
  for (int k = 0; k < n; ++k)
    if (tile.at(row, k) != 0)
      return false;
  return true;
}

// --- the step -------------------------------------------------------------------------------------------------------

/// Calls body(left, right) for the pairs of planes whose products count, the smallest first.
template <int kPlanes, class F> __device__ __forceinline__ void forPlanes(F &&body) {
  HECTOR_UNROLL
  for (int both = kPlanes - 1; both >= 0; --both) {
    HECTOR_UNROLL
    for (int left = 0; left <= both; ++left)
      body(left, both - left);
  }
}

/// The terms of kTiles times 8 columns that a lane brings: in each plane, two registers to a column.
template <int kTiles, int kPlanes> struct Columns {
  uint32_t planes[kPlanes][kTiles][2];
};

/// sums += the products of kRowTiles times 16 rows and kTiles times 8 columns, over 16 terms. Neighbouring instructions
/// add to different sums.
template <int kRowTiles, int kTiles, int kPlanes>
__device__ __forceinline__ void multiplyAdd(float (&sums)[kRowTiles][kTiles][4],
                                            const uint32_t (&rows)[kPlanes][kRowTiles][4],
                                            const Columns<kTiles, kPlanes> &columns) {
  forPlanes<kPlanes>([&](int left, int right) {
    HECTOR_UNROLL
    for (int row = 0; row < kRowTiles; ++row) {
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile)
        multiplyBf16(sums[row][tile], rows[left][row], columns.planes[right][tile]);
    }
  });
}

// --- products -------------------------------------------------------------------------------------------------------

/// How a matrix is stored.
enum class Layout { Plain, Transposed };

/// The matrix of a product, with kInner rows and kOuter columns, or stored as its transpose. With `isAligned`, it starts
/// at a multiple of 16 bytes, and so do its stored rows, which lie one after the other. With `isKept`, each lane has its
/// part of the matrix in registers.
template <class T, int kInner, int kOuter, int kWarps, int kPlanes, Layout layout = Layout::Plain,
          bool isAligned = false, bool isGuarded = false, bool isKept = false, class Stored = T>
class Weights {
  static constexpr ProductDivision kWay = divideProduct(kInner, kOuter, kWarps, isKept);
  static constexpr int kTiles = kWay.tiles, kColumns = 8 * kTiles, kPasses = kWay.passes, kSteps = kWay.steps;
  static constexpr int kRowTiles = kWay.rowTiles, kColumnWarps = kWay.columnWarps, kRowWarps = kWay.rowWarps;
  static constexpr bool hasAllTerms = kInner % 16 == 0, hasAllColumns = kOuter % (kColumns * kColumnWarps) == 0;
  static constexpr int kStride = layout == Layout::Plain ? kOuter : kInner;
  static constexpr bool isFloat = sizeof(T) == sizeof(float);
  // Of floats, a lane has two pairs of neighbouring terms, 8 apart. Of doubles, it has four neighbours.
  static constexpr int kPart = isFloat ? 2 : 4;
  using Numbers = T[kTiles][4];

public:
  __device__ __forceinline__ explicit Weights(const Stored *matrix) : matrix(matrix) {
    if constexpr (isKept) {
      HECTOR_UNROLL
      for (int pass = 0; pass < kPasses; ++pass) {
        HECTOR_UNROLL
        for (int step = 0; step < kSteps; ++step)
          take(kept[pass][step], 16 * step, leftOf(pass));
      }
    }
  }

  /// c[r][j] = Σ_k a[r][k]·w[k][j] for r < rows. ldc is the distance between rows.
  template <class Rows> __device__ __forceinline__ void multiply(const Rows &a, T *c, int ldc, int rows) const {
    HECTOR_KEEP_LOOP
    for (int top = warp() / kColumnWarps * 16 * kRowTiles; top < rows; top += kRowWarps * 16 * kRowTiles) {
      if constexpr (isKept) {
        HECTOR_UNROLL
        for (int pass = 0; pass < kPasses; ++pass)
          if (hasAllColumns || leftOf(pass) < kOuter)
            multiplyRows(pass, top, a, c, ldc, rows);
      } else {
        HECTOR_KEEP_LOOP
        for (int pass = 0; pass < kPasses; ++pass)
          if (hasAllColumns || leftOf(pass) < kOuter)
            multiplyRows(pass, top, a, c, ldc, rows);
      }
    }
  }

private:
  /// The first column of this warp.
  static __device__ __forceinline__ int leftOf(int pass) {
    return (pass * kColumnWarps + warp() % kColumnWarps) * kColumns;
  }

  /// The terms of this lane, from `start` on, in its columns from `left` on.
  __device__ __forceinline__ void read(Numbers &numbers, int start, int left) const {
    constexpr bool isWhole = hasAllTerms && hasAllColumns;
    const int column = left + kTiles * (lane() / 4);
    HECTOR_UNROLL
    for (int part = 0; part < 4; part += kPart) {
      const int k = start + part * 4 + kPart * (lane() % 4), terms = kInner - k;
      if constexpr (layout == Layout::Plain) {
        HECTOR_UNROLL
        for (int i = 0; i < kPart; ++i) {
          T row[kTiles];
          loadPart<isWhole, isAligned>(row, matrix + (k + i) * kStride + column, i < terms ? kOuter - column : 0);
          HECTOR_UNROLL
          for (int tile = 0; tile < kTiles; ++tile)
            numbers[tile][part + i] = row[tile];
        }
      } else {
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
          T row[kPart];
          loadPart<isWhole, isAligned>(row, matrix + (column + tile) * kStride + k, column + tile < kOuter ? terms : 0);
          HECTOR_UNROLL
          for (int i = 0; i < kPart; ++i)
            numbers[tile][part + i] = row[i];
        }
      }
    }
  }
  __device__ __forceinline__ void take(Columns<kTiles, kPlanes> &columns, int start, int left) const {
    T numbers[kTiles][4];
    read(numbers, start, left);
    HECTOR_UNROLL
    for (int i = 0; i < 2 * kTiles; ++i) {
      uint32_t planes[kPlanes];
      splitPair(numbers[i / 2][i % 2 * 2], numbers[i / 2][i % 2 * 2 + 1], planes);
      HECTOR_UNROLL
      for (int plane = 0; plane < kPlanes; ++plane)
        columns.planes[plane][i / 2][i % 2] = planes[plane];
    }
  }
  __device__ __forceinline__ void take(Numbers &numbers, int start, int left) const { read(numbers, start, left); }

  /// parts += the products over 16 terms, of the rows from `top` on.
  template <class Rows>
  __device__ __forceinline__ void addTerms(float (&parts)[kRowTiles][kTiles][4], const Rows &a, int top, int step,
                                           const Columns<kTiles, kPlanes> &columns) const {
    uint32_t rows[kPlanes][kRowTiles][4];
    HECTOR_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) {
      HECTOR_UNROLL
      for (int m = 0; m < kRowTiles; ++m)
        a.read(rows[plane][m], plane, top + 16 * m, 16 * step);
    }
    multiplyAdd(parts, rows, columns);
  }
  template <class Rows>
  __device__ __forceinline__ void addTerms(double (&parts)[kRowTiles][kTiles][4], const Rows &a, int top, int step,
                                           const Numbers &columns) const {
    const int k = 16 * step + 4 * (lane() % 4);
    HECTOR_UNROLL
    for (int m = 0; m < kRowTiles; ++m) {
      HECTOR_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int row = top + 16 * m + 8 * half + lane() / 4;
        double terms[4];
        loadPart<hasAllTerms, true>(terms, a.row(row < Rows::kAllRows ? row : Rows::kAllRows - 1) + k, kInner - k);
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
          double sum[2] = {parts[m][tile][2 * half], parts[m][tile][2 * half + 1]};
          HECTOR_UNROLL
          for (int i = 0; i < 4; ++i)
            multiplyF64(sum, terms[i], columns[tile][i]);
          parts[m][tile][2 * half] = sum[0], parts[m][tile][2 * half + 1] = sum[1];
        }
      }
    }
  }

  /// 16·kRowTiles rows from `top` on, in the columns of a pass. What is behind the last row is dropped.
  template <class Rows>
  __device__ __forceinline__ void multiplyRows(int pass, int top, const Rows &a, T *c, int ldc, int rows) const {
    const int t = lane() % 4, left = leftOf(pass);
    T sums[kRowTiles][kTiles][4] = {};
    auto addStep = [&](T(&parts)[kRowTiles][kTiles][4], int step) {
      if constexpr (isKept) {
        addTerms(parts, a, top, step, kept[pass][step]);
      } else {
        Kept columns;
        take(columns, 16 * step, left);
        addTerms(parts, a, top, step, columns);
      }
    };
    auto addSteps = [&](T(&parts)[kRowTiles][kTiles][4], int step) {
      addStep(parts, step);
      if (kSteps % 2 == 0 || step + 1 < kSteps)
        addStep(parts, step + 1);
    };
    auto addRest = [&](int step) {
      T parts[kRowTiles][kTiles][4] = {};
      addSteps(parts, step);
      HECTOR_UNROLL
      for (int m = 0; m < kRowTiles; ++m)
        addBlock(sums[m], parts[m]);
    };
    addSteps(sums, 0);
    if constexpr (isKept) {
      HECTOR_UNROLL
      for (int step = 2; step < kSteps; step += 2)
        addRest(step);
    } else {
      HECTOR_KEEP_LOOP
      for (int step = 2; step < kSteps; step += 2)
        addRest(step);
    }
    T nothing = 0;  // or NaN, if a sum is not finite
    HECTOR_UNROLL
    for (int m = 0; m < kRowTiles; ++m) {
      HECTOR_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int first = left + 2 * kTiles * t, row = top + 16 * m + 8 * half + lane() / 4;
        T numbers[2 * kTiles];
        HECTOR_UNROLL
        for (int i = 0; i < 2 * kTiles; ++i)
          numbers[i] = sums[m][i % kTiles][2 * half + i / kTiles];
        nothing += nothingOf(numbers);
        storePart<hasAllColumns>(c + row * ldc + first, numbers, row < rows ? kOuter - first : 0);
      }
    }
    if (any(nothing != T(0))) {
      HECTOR_KEEP_LOOP
      for (int half = 0; half < 2 * kRowTiles; ++half)
        replaceOdd(top + 8 * half + lane() / 4, left + 2 * kTiles * t, a, matrix, c, ldc, rows);
    }
  }

  /// Computes the sums of a lane in `row` that are not finite again. They are in 2·kTiles columns from `first` on.
  template <class Rows>
  static HECTOR_SELDOM void replaceOdd(int row, int first, Rows a, const Stored *matrix, T *c, int ldc, int rows) {
    if (row >= rows)
      return;
    HECTOR_KEEP_LOOP
    for (int j = first; j < first + 2 * kTiles && j < kOuter; ++j) {
      if (isFinite(c[row * ldc + j]))
        continue;
      T sum = 0;
      if (!isGuarded || !isZeroRow(a, row, kInner)) {
        HECTOR_KEEP_LOOP
        for (int k = 0; k < kInner; ++k)
          sum += a.at(row, k) * load(matrix + (layout == Layout::Plain ? k * kStride + j : j * kStride + k));
      }
      c[row * ldc + j] = sum;
    }
  }

  template <bool isOfFloats, class Unused> struct KeptAs {
    using Type = Columns<kTiles, kPlanes>;
  };
  template <class Unused> struct KeptAs<false, Unused> {
    using Type = Numbers;
  };
  using Kept = typename KeptAs<isFloat, void>::Type;

  const Stored *matrix;
  Kept kept[isKept ? kPasses : 1][isKept ? kSteps : 1];
};

// --- sums of outer products -----------------------------------------------------------------------------------------

/// The blocks of Σ_r a[r]·g[r], and how warps share them. A block has kRowTiles times 16 numbers of the rows of `a`, and
/// kTiles times 8 of those of `g`. Rows are the terms here.
template <class T, int kInner, int kOuter, int kWarps, int kPlanes, bool isGuarded> struct OuterBlocks {
  static constexpr OuterDivision kWay = divideOuter(kInner, kOuter, kWarps);
  static constexpr int kTiles = kWay.tiles, kColumns = 8 * kTiles, kAcross = kWay.across, kOwn = kWay.own;
  static constexpr int kRowTiles = kWay.rowTiles, kRows = 16 * kRowTiles;
  static constexpr bool hasAllRows = kInner % kRows == 0, hasAllColumns = kOuter % kColumns == 0;
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
  __device__ __forceinline__ int rowOf(int row, int i) const { return top + 16 * row + 8 * (i / 2) + lane() / 4; }
  __device__ __forceinline__ int columnOf(int tile, int i) const { return left + 8 * tile + 2 * (lane() % 4) + i % 2; }

  /// Calls body(row, column, number) for the numbers of this lane that are there.
  template <class F> __device__ __forceinline__ void forEach(const Sums &sums, F &&body) const {
    HECTOR_UNROLL
    for (int row = 0; row < kRowTiles; ++row) {
      HECTOR_UNROLL
      for (int i = 0; i < 4 * kTiles; ++i) {
        const int r = rowOf(row, i % 4), column = columnOf(i / 4, i % 4);
        if ((hasAllRows || r < kInner) && (hasAllColumns || column < kOuter))
          body(r, column, sums[row][i / 4][i % 4]);
      }
    }
  }

  /// sums += the products of `rows` rows. The tiles are 0 behind them.
  template <class Left, class Right>
  __device__ __forceinline__ void add(Sums &sums, const Left &a, const Right &g, int rows) const {
    HECTOR_KEEP_LOOP
    for (int start = 0; start < rows; start += 32) {
      Sums parts = {};
      HECTOR_UNROLL
      for (int first = start; first < start + 32; first += 16)
        if (first < Left::kAllRows)
          addRows(parts, first, a, g, rows);
      T nothing = 0;  // or NaN, if a sum is not finite
      HECTOR_UNROLL
      for (int row = 0; row < kRowTiles; ++row) {
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile)
          nothing += nothingOf(parts[row][tile]);
      }
      if (any(nothing != T(0))) {
        const int end = rows - start < 32 ? rows : start + 32;
        HECTOR_UNROLL
        for (int row = 0; row < kRowTiles; ++row) {
          HECTOR_UNROLL
          for (int i = 0; i < 4 * kTiles; ++i) {
            T &part = parts[row][i / 4][i % 4];
            const int r = rowOf(row, i % 4), column = columnOf(i / 4, i % 4);
            if (!isFinite(part) && r < kInner && column < kOuter)
              part = sumAgain(a, r, g, column, start, end);
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
  /// 16 rows from `first` on.
  template <class Left, class Right>
  __device__ __forceinline__ void addRows(float (&sums)[kRowTiles][kTiles][4], int first, const Left &a,
                                          const Right &g, int) const {
    uint32_t rows[kPlanes][kRowTiles][4];
    Columns<kTiles, kPlanes> columns;
    HECTOR_UNROLL
    for (int plane = 0; plane < kPlanes; ++plane) {
      HECTOR_UNROLL
      for (int m = 0; m < kRowTiles; ++m)
        a.readColumns(rows[plane][m], plane, first, top + 16 * m);
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; tile += 2) {
        uint32_t both[4];
        g.readRight(both, plane, first, left + 8 * tile);
        HECTOR_UNROLL
        for (int i = 0; i < 4; ++i)
          if (tile + i / 2 < kTiles)
            columns.planes[plane][tile + i / 2][i % 2] = both[i];
      }
    }
    multiplyAdd(sums, rows, columns);
  }
  template <class Left, class Right>
  __device__ __forceinline__ void addRows(double (&sums)[kRowTiles][kTiles][4], int first, const Left &a,
                                          const Right &g, int rows) const {
    HECTOR_UNROLL
    for (int k = 0; k < 16; k += 4) {
      const int r = first + k + lane() % 4, last = r < rows ? r : 0;
      double columns[kTiles];
      HECTOR_UNROLL
      for (int tile = 0; tile < kTiles; ++tile) {
        const int column = left + 8 * tile + lane() / 4;
        columns[tile] = r < rows && (hasAllColumns || column < kOuter) ? g.at(last, column) : 0.0;
      }
      HECTOR_UNROLL
      for (int half = 0; half < 2 * kRowTiles; ++half) {
        const int column = top + 8 * half + lane() / 4;
        const double term = r < rows && (hasAllRows || column < kInner) ? a.at(last, column) : 0.0;
        HECTOR_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
          double(&all)[4] = sums[half / 2][tile];
          double sum[2] = {all[half % 2 * 2], all[half % 2 * 2 + 1]};
          multiplyF64(sum, term, columns[tile]);
          all[half % 2 * 2] = sum[0], all[half % 2 * 2 + 1] = sum[1];
        }
      }
    }
  }

  /// Computes a sum that was not finite again, row by row.
  template <class Left, class Right>
  static HECTOR_SELDOM T sumAgain(Left a, int row, Right g, int column, int first, int last) {
    T sum = 0;
    HECTOR_KEEP_LOOP
    for (int r = first; r < last; ++r)
      if (!isGuarded || !isZeroRow(g, r, kOuter))
        sum += a.at(r, row) * g.at(r, column);
    return sum;
  }
};

/// w[i][j] = Σ_r a[r][i]·g[r][j] for i < kInner and j < kOuter, in registers: of many tiles, one after the other.
template <class T, int kInner, int kOuter, int kWarps, int kPlanes, bool isGuarded = false> class OuterProducts {
  using Block = OuterBlocks<T, kInner, kOuter, kWarps, kPlanes, isGuarded>;

public:
  /// Adds the rows of two tiles.
  template <class Left, class Right> __device__ __forceinline__ void add(const Left &a, const Right &g, int rows) {
    HECTOR_UNROLL
    for (int own = 0; own < Block::kOwn; ++own)
      if (const Block block(own); block.isThere())
        block.add(sums[own], a, g, rows);
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
template <class T, int kInner, int kOuter, int kWarps, int kPlanes, bool isGuarded = false, class Left, class Right>
__device__ inline void addOuterProducts(const Left &a, const Right &g, T *w, int ldw, int rows) {
  using Block = OuterBlocks<T, kInner, kOuter, kWarps, kPlanes, isGuarded>;
  HECTOR_KEEP_LOOP
  for (int own = 0; own < Block::kOwn; ++own) {
    const Block block(own);
    if (!block.isThere())
      continue;
    typename Block::Sums sums = {};
    block.add(sums, a, g, rows);
    block.forEach(sums, [&](int row, int column, T sum) { w[row * ldw + column] += sum; });
  }
}

// --- a row and its own matrix ---------------------------------------------------------------------------------------

/// c[j] = Σ_k a[k]·w[k][j], where the matrix is that of one row. It is read once: 8 columns of 4·kPack rows, or a row of
/// the transpose, by a warp at a time.
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

/// `Weights::multiply` without matrix instructions, for parts of rows that start at any column, such as heads of an odd
/// number of columns.
template <class T, int kInner, int kOuter, Layout layout = Layout::Plain, bool isGuarded = false, class Rows,
          class Stored>
__device__ inline void multiplyPlain(const Rows &a, int column, const Stored *w, T *c, int ldc, int rows) {
  for (int i = threadInBlock(); i < rows * kOuter; i += numThreads()) {
    const int row = i / kOuter, j = i % kOuter;
    T sum = 0;
    bool isNothing = isGuarded;
    for (int k = 0; k < kInner; ++k) {
      const T number = a.at(row, column + k);
      isNothing &= number == T(0);
      sum += number * load(w + (layout == Layout::Plain ? k * kOuter + j : j * kInner + k));
    }
    c[row * ldc + j] = isNothing ? T(0) : sum;
  }
}

/// `addOuterProducts` for such parts: of `a` from `left` on, of `g` from `right` on; of the rows from `first` on.
template <class T, int kInner, int kOuter, bool isGuarded = false, class Left, class Right>
__device__ inline void addOuterProductsPlain(const Left &a, int left, const Right &g, int right, T *w, int ldw,
                                             int first, int rows) {
  for (int i = threadInBlock(); i < kInner * kOuter; i += numThreads()) {
    const int row = i / kOuter, column = i % kOuter;
    T sum = 0;
    for (int r = first; r < first + rows; ++r) {
      bool isNothing = isGuarded;
      for (int k = 0; isNothing && k < kOuter; ++k)
        isNothing = g.at(r, right + k) == T(0);
      if (!isNothing)
        sum += a.at(r, left + row) * g.at(r, right + column);
    }
    w[row * ldw + column] += sum;
  }
}

}  // namespace hector::cuda
