/// Rows of numbers that the lanes of a group share.
///
/// A group of 1, 2, 4, 8, 16 or 32 lanes of a warp computes a row together. Each lane has its own numbers of the row,
/// always the same ones for rows of one size, in registers; a single number is the same in all lanes. Groups go their
/// own way: nothing here waits for other groups, unless it says so.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/division.hpp"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/storage.cuh"

namespace hector::cuda {

using namespace common;

/// The number that is computed with, of one that is stored.
template <class Stored> using Number = decltype(load(static_cast<const Stored *>(nullptr)));

__device__ __forceinline__ int64_t largest(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/// The offset in a part of `size` numbers, or the nearest one there is.
__device__ __forceinline__ int within(int offset, int size) {
  return offset < 0 ? 0 : offset < size ? offset : size - 1;
}

/// Which numbers of a row of kSize belong to which of kLanes lanes: up to four neighbours go to one lane, which then
/// loads and stores them at once. Rows no longer than the group have one number to a lane.
template <int kSize, int kLanes> struct Shares {
  static constexpr int kPack = kSize % 4 == 0 && kSize >= 4 * kLanes   ? 4
                               : kSize % 2 == 0 && kSize >= 2 * kLanes ? 2
                                                                       : 1;
  static constexpr int kRounds = (kSize + kLanes * kPack - 1) / (kLanes * kPack);
  static constexpr int kOwn = kRounds * kPack;
  static constexpr bool kIsFull = kOwn * kLanes == kSize;

  /// The place in the row of a lane's own number c. It may be behind the end.
  static __device__ __forceinline__ int place(int lane, int c) {
    return c / kPack * (kLanes * kPack) + lane * kPack + c % kPack;
  }
};

/// A lane's own numbers of a row. Those behind the end of the row have any value.
template <class T, int kSize, int kLanes> struct Row {
  static constexpr int kOwn = Shares<kSize, kLanes>::kOwn;
  T own[kOwn];

  Row() = default;
  __device__ __forceinline__ explicit Row(T value) {
    HECTOR_UNROLL_SHORT(kOwn)
    for (int c = 0; c < kOwn; ++c)
      own[c] = value;
  }
  __device__ __forceinline__ T &operator[](int c) { return own[c]; }
  __device__ __forceinline__ const T &operator[](int c) const { return own[c]; }
};

/// The group of a thread. With `isWhole`, all groups of a warp combine numbers at the same place of the kernel.
template <int kLanes, bool isWhole = false> class Lanes {
  static constexpr int kGroups = kWarp / kLanes;  // of a warp

public:
  // --- where it is --------------------------------------------------------------------------------------------------

  __device__ __forceinline__ static int lane() { return threadInBlock() % kLanes; }
  __device__ __forceinline__ static bool isFirst() { return lane() == 0; }
  __device__ __forceinline__ static int groupInWarp() { return cuda::lane() / kLanes; }
  __device__ __forceinline__ static constexpr int groupsInWarp() { return kGroups; }
  __device__ __forceinline__ static int groupInBlock() { return threadInBlock() / kLanes; }
  __device__ __forceinline__ static int64_t groupInGrid() {
    return blockNumber() * (numThreads() / kLanes) + groupInBlock();
  }
  __device__ __forceinline__ static int64_t groupsInGrid() { return numBlocks() * (numThreads() / kLanes); }
  /// Waits for the lanes of the group. What they wrote before is seen after it.
  __device__ __forceinline__ static void sync() { syncWarp(groupLanes(kLanes)); }

  // --- rows ---------------------------------------------------------------------------------------------------------

  /// The place of the lane's number c in a row, or the row's last place if it has fewer.
  template <int kSize> __device__ __forceinline__ static int number(int c) {
    const int place = Shares<kSize, kLanes>::place(lane(), c);
    return Shares<kSize, kLanes>::kIsFull || place < kSize ? place : kSize - 1;
  }
  /// Whether the row has a number there.
  template <int kSize> __device__ __forceinline__ static bool has(int c) {
    return Shares<kSize, kLanes>::kIsFull || Shares<kSize, kLanes>::place(lane(), c) < kSize;
  }

  /// Reads a row whose numbers lie side by side, aligned to as many as a lane has neighbours.
  template <int kSize, class Stored>
  __device__ __forceinline__ static Row<Number<Stored>, kSize, kLanes> load(const Stored *from) {
    using Here = Shares<kSize, kLanes>;
    const Stored *own = from + Here::place(lane(), 0);
    Row<Number<Stored>, kSize, kLanes> row;
    HECTOR_UNROLL_SHORT(Here::kOwn)
    for (int round = 0; round < Here::kRounds; ++round) {
      const int c = round * Here::kPack;
      if (has<kSize>(c)) {
        const auto pack = *reinterpret_cast<const Pack<Stored, Here::kPack> *>(own + Here::place(0, c));
        HECTOR_UNROLL
        for (int i = 0; i < Here::kPack; ++i)
          row[c + i] = cuda::load(&pack.numbers[i]);
      } else {
        HECTOR_UNROLL
        for (int i = 0; i < Here::kPack; ++i)
          row[c + i] = Number<Stored>(0);
      }
    }
    return row;
  }
  /// Writes a row, as `load` reads it.
  template <int kSize, class T, class Stored>
  __device__ __forceinline__ static void store(Stored *to, const Row<T, kSize, kLanes> &row) {
    using Here = Shares<kSize, kLanes>;
    Stored *own = to + Here::place(lane(), 0);
    HECTOR_UNROLL_SHORT(Here::kOwn)
    for (int round = 0; round < Here::kRounds; ++round) {
      const int c = round * Here::kPack;
      if (!has<kSize>(c))
        continue;
      Pack<Stored, Here::kPack> pack;
      HECTOR_UNROLL
      for (int i = 0; i < Here::kPack; ++i)
        cuda::store(&pack.numbers[i], row[c + i]);
      *reinterpret_cast<Pack<Stored, Here::kPack> *>(own + Here::place(0, c)) = pack;
    }
  }
  /// Writes a row of a tile that products read.
  template <int kSize, class T, class Rows>
  __device__ __forceinline__ static void put(const Rows &tile, int at, const Row<T, kSize, kLanes> &row) {
    using Here = Shares<kSize, kLanes>;
    HECTOR_UNROLL_SHORT(Here::kOwn)
    for (int round = 0; round < Here::kRounds; ++round) {
      const int c = round * Here::kPack;
      if (!has<kSize>(c))
        continue;
      T pack[Here::kPack];
      HECTOR_UNROLL
      for (int i = 0; i < Here::kPack; ++i)
        pack[i] = row[c + i];
      tile.put(at, Here::place(lane(), c), pack);
    }
  }
  /// Starts to copy a row of global memory to shared memory, where `load` will read it. Packs have 4 bytes or more. A
  /// single number is copied by the first lane, and the others see it after a barrier.
  template <int kSize, class Stored> __device__ __forceinline__ static void copy(Stored *to, const Stored *from) {
    using Here = Shares<kSize, kLanes>;
    HECTOR_UNROLL_SHORT(Here::kOwn)
    for (int round = 0; round < Here::kRounds; ++round) {
      const int c = round * Here::kPack, place = Here::place(lane(), c);
      constexpr int kBytes = sizeof(Stored) * Here::kPack, kCopied = kBytes < 16 ? kBytes : 16;
      if (!has<kSize>(c))
        continue;
      HECTOR_UNROLL
      for (int part = 0; part < partsOf(kBytes, 16); ++part)
        copyAsync<kCopied>(to + place + part * (16 / sizeof(Stored)), from + place + part * (16 / sizeof(Stored)));
    }
  }
  /// Writes a row to memory where all lanes of the group may read it. Nobody of the group still reads what was there.
  template <int kSize, class T, class Stored>
  __device__ __forceinline__ static void share(Stored *to, const Row<T, kSize, kLanes> &row) {
    sync();
    store<kSize>(to, row);
    sync();
  }
  /// The number at any place of a row that has at most one to a lane. All lanes of the group take part.
  template <class T, int kSize> __device__ __forceinline__ static T at(const Row<T, kSize, kLanes> &row, int place) {
    static_assert(kSize <= kLanes);
    return shuffle<isWhole>(row[0], place, kLanes);
  }

  // --- over the lanes of the group ----------------------------------------------------------------------------------

  /// Combines a number of each lane. All lanes get the same bits.
  template <class T, class F> __device__ __forceinline__ static T combine(T value, F &&take) {
    HECTOR_UNROLL
    for (int bits = 1; bits < kLanes; bits *= 2)
      value = take(value, shuffleXor<isWhole>(value, bits, kLanes));
    return value;
  }
  template <class T> __device__ __forceinline__ static T sum(T value) {
    return combine(value, [](T a, T b) { return a + b; });
  }
  /// NaN wins, whichever lane has it.
  template <class T> __device__ __forceinline__ static T largest(T value) {
    return combine(value, [](T a, T b) { return b != b ? b : larger(a, b); });
  }
  template <class T> __device__ __forceinline__ static T least(T value) {
    return combine(value, [](T a, T b) { return b != b ? b : smaller(a, b); });
  }

  /// Combines each of kParts equal parts of a row, which start at `start`.
  template <int kParts, class T, int kSize, class F>
  __device__ __forceinline__ static Row<T, kParts, kLanes> combineParts(const Row<T, kSize, kLanes> &row, T start,
                                                                        F &&take) {
    static_assert(kParts <= kLanes && kSize % kParts == 0);
    using Here = Shares<kSize, kLanes>;
    constexpr int kPart = kSize / kParts, kWidth = kPart / Here::kPack;
    Row<T, kParts, kLanes> parts(start);
    if constexpr (Here::kRounds == 1 && Here::kIsFull && kPart % Here::kPack == 0 && (kWidth & (kWidth - 1)) == 0) {
      // A part is in neighbouring lanes, as many as a power of 2.
      T value = start;
      HECTOR_UNROLL_SHORT(Here::kOwn)
      for (int c = 0; c < Here::kOwn; ++c)
        value = take(value, row[c]);
      HECTOR_UNROLL
      for (int bits = 1; bits < kWidth; bits *= 2)
        value = take(value, shuffleXor<isWhole>(value, bits, kLanes));
      parts[0] = shuffle<isWhole>(value, lane() * kWidth % kLanes, kLanes);
    } else {
      for (int part = 0; part < kParts; ++part) {
        T value = start;
        HECTOR_UNROLL_SHORT(Here::kOwn)
        for (int c = 0; c < Here::kOwn; ++c)
          if (has<kSize>(c) && Here::place(lane(), c) / kPart == part)
            value = take(value, row[c]);
        value = combine(value, take);
        if (lane() == part)
          parts[0] = value;
      }
    }
    return parts;
  }
  template <int kParts, class T, int kSize>
  __device__ __forceinline__ static Row<T, kParts, kLanes> sumParts(const Row<T, kSize, kLanes> &row) {
    return combineParts<kParts>(row, T(0), [](T a, T b) { return a + b; });
  }
  template <int kParts, class T, int kSize>
  __device__ __forceinline__ static Row<T, kParts, kLanes> largestParts(const Row<T, kSize, kLanes> &row) {
    return combineParts<kParts>(row, -infinity<T>(), [](T a, T b) { return b != b ? b : larger(a, b); });
  }
  template <int kParts, class T, int kSize>
  __device__ __forceinline__ static Row<T, kParts, kLanes> leastParts(const Row<T, kSize, kLanes> &row) {
    return combineParts<kParts>(row, infinity<T>(), [](T a, T b) { return b != b ? b : smaller(a, b); });
  }

  // --- over the groups of the warp ----------------------------------------------------------------------------------

  /// Joins what each group of the warp has. All lanes of the warp take part, and all groups get the same bits.
  /// `take(value, other)` is given the number of another group; the group that comes first is always on the left.
  template <class T, class F> __device__ __forceinline__ static void joinGroups(T &value, F &&take) {
    HECTOR_UNROLL
    for (int bits = kLanes; bits < kWarp; bits *= 2) {
      const T other = shuffleXor(value, bits);
      value = (cuda::lane() & bits) == 0 ? take(value, other) : take(other, value);
    }
  }
  template <class T, int kSize, class F>
  __device__ __forceinline__ static void joinGroups(Row<T, kSize, kLanes> &row, F &&take) {
    HECTOR_UNROLL_SHORT((Row<T, kSize, kLanes>::kOwn))
    for (int c = 0; c < Row<T, kSize, kLanes>::kOwn; ++c)
      joinGroups(row[c], take);
  }
  /// The same for numbers of rows and their distances.
  template <class T> __device__ __forceinline__ static void joinNearest(int64_t &nearest, T &distance) {
    HECTOR_UNROLL
    for (int bits = kLanes; bits < kWarp; bits *= 2) {
      const int64_t row = shuffleXor(nearest, bits);
      const T rowDistance = shuffleXor(distance, bits);
      takeNearer(nearest, distance, row, rowDistance);
    }
  }
  template <class T, int kSize>
  __device__ __forceinline__ static void joinNearest(Row<int64_t, kSize, kLanes> &nearest,
                                                     Row<T, kSize, kLanes> &distance) {
    HECTOR_UNROLL_SHORT((Row<T, kSize, kLanes>::kOwn))
    for (int c = 0; c < Row<T, kSize, kLanes>::kOwn; ++c)
      joinNearest(nearest[c], distance[c]);
  }

  // --- over the warps of the block ----------------------------------------------------------------------------------

  /// Joins what each of the kWarps warps of the block has; all groups of a warp have the same. All threads take part,
  /// and all get the same bits: those of the first warp are always on the left. `scratch` is shared memory for a row of
  /// each warp, aligned to 16 bytes.
  template <int kWarps, class T, int kSize, class F>
  __device__ __forceinline__ static void joinWarps(Row<T, kSize, kLanes> &row, void *scratch, F &&take) {
    T *rows = shareWithWarps(row, scratch);
    HECTOR_KEEP_LOOP
    for (int other = 1; other < kWarps; ++other) {
      const auto next = load<kSize>(static_cast<const T *>(rows) + other * kSize);
      HECTOR_UNROLL_SHORT((Row<T, kSize, kLanes>::kOwn))
      for (int c = 0; c < Row<T, kSize, kLanes>::kOwn; ++c)
        row[c] = take(row[c], next[c]);
    }
  }
  template <int kWarps, class T, class F>
  __device__ __forceinline__ static void joinWarps(T &value, void *scratch, F &&take) {
    T *values = shareWithWarps(value, scratch);
    HECTOR_KEEP_LOOP
    for (int other = 1; other < kWarps; ++other)
      value = take(value, values[other]);
  }
  /// The same for numbers of rows and their distances, one after the other in `scratch`.
  template <int kWarps, class T, int kSize>
  __device__ __forceinline__ static void joinNearestWarps(Row<int64_t, kSize, kLanes> &nearest,
                                                          Row<T, kSize, kLanes> &distance, void *scratch) {
    auto *distances = static_cast<int64_t *>(scratch) + kWarps * kSize;
    const int64_t *rows = shareWithWarps(nearest, scratch);
    const T *rowDistances = shareWithWarps(distance, distances);
    HECTOR_KEEP_LOOP
    for (int other = 1; other < kWarps; ++other) {
      const auto row = load<kSize>(rows + other * kSize);
      const auto rowDistance = load<kSize>(rowDistances + other * kSize);
      HECTOR_UNROLL_SHORT((Row<T, kSize, kLanes>::kOwn))
      for (int c = 0; c < Row<T, kSize, kLanes>::kOwn; ++c)
        takeNearer(nearest[c], distance[c], row[c], rowDistance[c]);
    }
  }
  template <int kWarps, class T>
  __device__ __forceinline__ static void joinNearestWarps(int64_t &nearest, T &distance, void *scratch) {
    const int64_t *rows = shareWithWarps(nearest, scratch);
    const T *distances = shareWithWarps(distance, static_cast<int64_t *>(scratch) + kWarps);
    HECTOR_KEEP_LOOP
    for (int other = 1; other < kWarps; ++other)
      takeNearer(nearest, distance, rows[other], distances[other]);
  }

private:
  /// Writes what each warp has, and takes that of the first.
  template <class T, int kSize>
  __device__ __forceinline__ static T *shareWithWarps(Row<T, kSize, kLanes> &row, void *scratch) {
    T *rows = static_cast<T *>(scratch);
    syncBlock();
    if (groupInWarp() == 0)
      store<kSize>(rows + warp() * kSize, row);
    syncBlock();
    row = load<kSize>(static_cast<const T *>(rows));
    return rows;
  }
  template <class T> __device__ __forceinline__ static T *shareWithWarps(T &value, void *scratch) {
    T *values = static_cast<T *>(scratch);
    syncBlock();
    if (cuda::lane() == 0)
      values[warp()] = value;
    syncBlock();
    value = values[0];
    return values;
  }
};

/// All kLanes threads of a block as one group, for rows of thousands of numbers. They part ways at no statement that
/// waits. What lanes of a warp exchange by shuffles goes through shared memory here; parts of rows and numbers of other
/// lanes are not asked for.
template <int kLanes> class BlockLanes : public Lanes<kLanes> {
  static constexpr int kWarps = kLanes / kWarp;

public:
  /// What `scratch`, in shared memory, takes.
  static constexpr int kBytes = kWarps * 8;

  __device__ __forceinline__ explicit BlockLanes(void *scratch) : scratch(scratch) {}

  __device__ __forceinline__ static void sync() { syncBlock(); }
  template <int kSize, class T, class Stored>
  __device__ __forceinline__ static void share(Stored *to, const Row<T, kSize, kLanes> &row) {
    sync();
    Lanes<kLanes>::template store<kSize>(to, row);
    sync();
  }
  /// Combines a number of each lane: those of a warp as `Lanes` does, then the warps in order.
  template <class T, class F> __device__ __forceinline__ T combine(T value, F &&take) const {
    T *values = static_cast<T *>(scratch);
    value = Lanes<kWarp>::combine(value, take);
    sync();
    if (cuda::lane() == 0)
      values[warp()] = value;
    sync();
    value = values[0];
    HECTOR_UNROLL
    for (int other = 1; other < kWarps; ++other)
      value = take(value, values[other]);
    return value;
  }
  template <class T> __device__ __forceinline__ T sum(T value) const {
    return combine(value, [](T a, T b) { return a + b; });
  }
  template <class T> __device__ __forceinline__ T largest(T value) const {
    return combine(value, [](T a, T b) { return b != b ? b : larger(a, b); });
  }
  template <class T> __device__ __forceinline__ T least(T value) const {
    return combine(value, [](T a, T b) { return b != b ? b : smaller(a, b); });
  }

private:
  void *scratch;
};

}  // namespace hector::cuda
