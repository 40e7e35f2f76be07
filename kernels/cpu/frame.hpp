/// What generated code is called with. Shared by the executor and by every generated file.
#pragma once

#include "kernels/common/domains.hpp"

#include <cstdint>

namespace hector::cpu {

using namespace common;

/// What a sum over types leaves for its join: one row per piece of the loop and type that the piece meets.
struct Total {
  void *rows = nullptr;
};

/// The arguments of one launch. Nothing in it changes while the launch runs.
struct Frame {
  /// As the launch lists them: what it reads, then what it writes. Those that the executor owns are aligned to 64
  /// bytes, inputs of the caller's to their numbers.
  void *const *tables = nullptr;
  const void *const *forms = nullptr;  // index arrays of the graph, as the launch lists them; 32 or 64 bits an entry
  const Total *totals = nullptr;       // as the launch lists them
  const int64_t *rows = nullptr;       // of each `Domain`
  int64_t grain = 1;                   // rows of a piece, for launches over rows: piece p starts at row p · grain
  int64_t pieces = 0;                  // of the launch, 0 if it has no units; the join runs all the same
  uint64_t seed = 0, step = 0;         // of dropout
  bool isTraining = false;
};

/// Computes the units `begin` to `end` - 1, which are piece `piece` of the launch. `scratch` is this thread's own,
/// aligned to 64 bytes.
using Kernel = void(const Frame &frame, int64_t begin, int64_t end, int64_t piece, void *scratch);

/// Joins what the pieces left for the rows `begin` to `end` - 1 of a total's domain.
using Join = void(const Frame &frame, int64_t begin, int64_t end);

}  // namespace hector::cpu
