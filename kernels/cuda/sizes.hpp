/// What kernels take as parameters, beside tables and arrays. Shared by the runtime and by every generated file.
#pragma once

#include "kernels/common/domains.hpp"
#include "kernels/common/target.hpp"

namespace hector::cuda {

using namespace common;

/// What dropout depends on.
struct Random {
  uint64_t seed, step;
  bool isTraining;
};

/// Whether the threads of a block share the pieces of a number when totals are joined, instead of one thread that takes
/// them all.
HECTOR_ANYWHERE constexpr bool hasManyPieces(int64_t pieces, int64_t targets) {
  return pieces / 4 > targets;
}
/// How many neighbouring numbers a block then joins at a time, of all `numbers`: as many as leave work for all blocks.
HECTOR_ANYWHERE constexpr int joinAcross(int64_t numbers) {
  constexpr int kMost = 32, kBlocks = 1024;
  int across = 1;
  while (across < kMost && numbers / (2 * across) >= kBlocks)
    across *= 2;
  return across;
}
/// Threads of a block of a join.
inline constexpr int kJoinThreads = 256;
/// How many blocks join a total of `targets` rows of `size` numbers. Blocks go on with further numbers, so that there
/// need be no more than keep a device busy.
HECTOR_ANYWHERE constexpr int64_t blocksOfJoin(int64_t targets, int64_t size, int64_t pieces) {
  constexpr int64_t kMost = 4096;
  const int64_t numbers = targets * size;
  const int64_t perBlock = hasManyPieces(pieces, targets) ? joinAcross(numbers) : kJoinThreads;
  const int64_t blocks = (numbers + perBlock - 1) / perBlock;
  return blocks < kMost ? blocks : kMost;
}
/// What a thread has of a number: the number, a count and a distance.
inline constexpr int kMostJoinBytes = 24;

/// What every generated kernel takes as its last parameter.
struct Sizes {
  int64_t rows[NumDomains];  // of each domain
  int64_t grain;             // rows of a piece: piece p starts at row p · grain
  int64_t pieces;            // of the launch, 0 if it has no rows; joins run all the same
  const Random *random;      // in the memory of the device, so that recorded launches read what is there when they run
};

// --- copies of tables -----------------------------------------------------------------------------------------------

/// Rows that have another place outside.
struct RowPlaces {
  const void *ids;     // of each row of the plan's table, where it is in the caller's; null: in the same place
  int64_t count;       // of rows
  int64_t size;        // numbers of a row, or words
  int32_t hasWideIds;  // of 64 bits
  int32_t isOut;       // from the plan's table to the caller's, and not the other way round
};

/// The numbers of `exec::Storage`.
enum Stored : int32_t { StoredF64, StoredF32, StoredBF16, StoredF16, StoredBool, StoredIndex };

}  // namespace hector::cuda
