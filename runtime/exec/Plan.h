/// A compiled plan: which loops run in which order on which tables. Plain data between the compiler and the executor.
///
/// Row counts are symbols: a table has a domain, and the graph says how many rows that has. So one plan serves many
/// graphs.
#pragma once

#include "kernels/cpu/frame.hpp"
#include "runtime/base/Status.h"
#include "runtime/exec/Form.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace hector::exec {

using cpu::Domain;

/// How numbers are stored in a table. Kernels compute in f64 or f32, whatever the storage.
enum class Storage : uint8_t { F64, F32, BF16, F16, Bool, Index };  // Bool takes one byte, Index eight

/// The order of a table's rows. Outside, edges are in the order of the file and pairs in that of their ids (by type):
/// that is None. Pairs by node have the order of their own end, `PairIndex`; other domains have no order.
enum class Order : uint8_t { None, ByType, ByDst, BySrc };

struct TableSpec {
  std::string name = {};  // as the model calls it; for messages and comments
  Domain domain = Domain::One;
  std::vector<int64_t> shape = {};  // of a row; extents are at least 1
  Storage storage = Storage::F32;
  Order order = Order::None;

  /// Numbers in a row. The largest int64_t where there are more, so that they are refused and never wrap around.
  int64_t rowSize() const {
    int64_t size = 1;
    for (int64_t extent : shape)
      if (__builtin_mul_overflow(size, extent, &size))
        return std::numeric_limits<int64_t>::max();
    return size;
  }
  bool operator==(const TableSpec &) const = default;
};

/// A sum over types (or over everything) at the end of a loop over rows. Each piece of the loop adds to rows of its
/// own, and the join adds these up in order.
struct TotalSpec {
  enum class Slots : uint8_t {
    Sorted,  // rows come sorted by target: piece p and target t share row p + t; pieces + targets rows
    Full,    // they do not: row p · targets + t; pieces · targets rows
    Rows,    // each row of the launch's domain leaves what it adds, on a GPU: as many rows as the domain has
  };
  Slots slots = Slots::Full;
  Domain target = Domain::One;
  int64_t rowBytes = 0;  // a multiple of 64
  /// The symbol: a `cpu::Join` over the rows of `target`, or on a GPU the kernel that joins all totals of the launch.
  std::string join = {};
  int output = 0;  // the table that the join writes, and the kernel does not, as an index into `Launch::outputs`

  bool operator==(const TotalSpec &) const = default;
};

/// Memory that a thread needs while it works on one unit: a fixed part, and one row per row of `domain` below the
/// largest unit.
struct ScratchSpec {
  int64_t bytes = 0;
  int64_t bytesPerRow = 0;
  Domain domain = Domain::Edge;

  bool operator==(const ScratchSpec &) const = default;
};

/// How the threads of a GPU divide a launch.
enum class Schedule : uint8_t {
  Units,   // a group of lanes takes a unit at a time
  Pieces,  // a warp takes a piece of the rows at a time
  Tiles,   // a block takes a piece of the rows at a time, tile by tile
  Chunks,  // a group takes a chunk of the rows below units; `KERNEL_cut` finishes what several blocks have parts of
};

/// The most shared memory that a block has on any GPU that kernels are written for.
inline constexpr int64_t kMostSharedBytes = 227 << 10;

/// The most loops that share a launch.
inline constexpr int kMostBands = 16;

/// What a launch needs on a GPU. All kernels of a launch have the same parameters: tables that are read, tables that
/// are written, buffers, index arrays, a pointer for each total, one for what Chunks carry, and `cuda::Sizes`.
struct DeviceLaunch {
  Schedule schedule = Schedule::Units;
  int lanes = 1;                        // of a group: 1, 2, 4, 8, 16 or 32, or all threads of the block
  int threads = 256;                    // of a block
  int blocks = 1;                       // of Tiles: that a multiprocessor has room for at a time
  int bands = 1;                        // loops that share the launch, each with blocks of its own; 1 of Chunks
  int64_t sharedBytes = 0;              // of a block
  std::vector<TableSpec> buffers = {};  // tables that the launch has for itself while it runs
  int64_t tileRows = 1;                 // of Tiles: the most rows of a tile
  // Of chunks: `Sizes::grain` are the rows of a chunk, a power of 2 from 4 to 32. There are threads / lanes chunks to
  // a block, and a block carries two parts.
  Domain rows = Domain::Edge;  // below the units of the launch
  int64_t partBytes = 0;       // of a lane

  bool operator==(const DeviceLaunch &) const = default;
};

struct Launch {
  std::string kernel = {};      // the symbol, a `cpu::Kernel`
  std::string label = {};       // for messages and profiles: "by_dst edge: att, out"
  Domain domain = Domain::One;  // a unit is a row of it
  /// The offsets by which units are cut into pieces of about equal work (edges, or pairs, below them); without, all
  /// units count the same.
  std::optional<Form> balance = {};
  double unitCost = 1;           // rough operations of a unit, or of one row below it where `balance` is set; above 0
  std::vector<int> inputs = {};  // tables, as indices into `Plan::tables`
  std::vector<int> outputs = {};
  std::vector<Form> forms = {};
  std::vector<TotalSpec> totals = {};
  ScratchSpec scratch = {};
  std::optional<DeviceLaunch> device = {};  // of launches on a GPU, and of no others

  bool operator==(const Launch &) const = default;
};

enum class Phase : uint8_t { Graph, Weights, Forward, Backward };

struct Step {
  Phase phase = Phase::Forward;
  Launch launch = {};

  bool operator==(const Step &) const = default;
};

/// What the caller hands over or gets back, under its name.
struct Port {
  std::string name = {};  // "x", "grad.out", "out", "grad.W"
  int table = 0;

  bool operator==(const Port &) const = default;
};

struct Plan {
  std::string name = {};  // of the model
  std::vector<TableSpec> tables = {};
  std::vector<Port> inputs = {};
  std::vector<Port> outputs = {};  // two may name one table, and one may be an input
  std::vector<Step> steps = {};    // in the order in which they run; phases in their order
  std::string source = {};         // the text of all kernels: C++, or CUDA for a GPU
  bool wideIds = false;            // the source was made for 64-bit index arrays
  /// Ends at which every relation has to join one node type: those that the plan relies on.
  std::vector<Side> relationEnds = {};

  bool operator==(const Plan &) const = default;
};

/// Whether the launches of a plan are for a GPU. All of them are, or none.
inline bool isForDevices(const Plan &plan) {
  return !plan.steps.empty() && plan.steps[0].launch.device.has_value();
}

/// Bytes of one number.
int64_t byteSize(Storage storage);

/// Where the row of a table is outside, if the table has another order: an index array with an entry per row.
std::optional<Form> outsideRows(const TableSpec &table);

/// The domain whose rows start where an index array says, one entry each and one more; none for arrays of another kind.
std::optional<Domain> offsetsOf(const Form &form);

/// The offsets that say how many rows of scratch each unit of a launch needs; none if units need a fixed number of
/// bytes.
std::optional<Form> scratchOffsets(const Launch &launch);

/// Fails if a plan contradicts itself: what the executor relies on and does not check again. A plan from the compiler
/// passes; one from a file may be damaged.
Status checkPlan(const Plan &plan);

}  // namespace hector::exec
