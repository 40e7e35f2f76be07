/// How much memory a plan takes on a graph, and where in it everything lies: known before anything is allocated.
///
/// Tables, totals and scratch memory lie in one arena. Two of them may share bytes if no step needs both:
///
///   step        0  1  2  3         arena
///   table a     w  r                 0 ..  63   a, then c
///   table b        w  r             64 .. 127   b
///   table c           w  r
///
/// Whatever the phases Graph and Weights leave is needed throughout, and so are inputs. Outputs are needed from where
/// they are written to the last step: when a phase runs again, its outputs are computed again. Inputs lie outside of
/// the arena: in the caller's memory where the plan can read it as it is, else in copies. On a GPU index arrays are
/// always copies, and so are inputs unless the caller has them there.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"
#include "runtime/storage/Tensor.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace hector::exec {

/// What a plan's memory depends on in a graph.
struct GraphNumbers {
  std::array<int64_t, cpu::NumDomains> rows = {};  // of each domain; 0 for pairs that the plan does not ask for
  bool wideIds = false;
  bool isSortedByType = false;  // the file has its edges in the order of their types
};
/// Counts pairs if the plan asks for them.
GraphNumbers graphNumbers(const Plan &plan, const Graph &graph);

/// What a launch's memory depends on.
struct LaunchNumbers {
  int64_t pieces = 0;
  int64_t longestUnit = 0;  // rows of scratch memory that the largest unit needs
};

/// Bytes of the arena, in use from step `first` to step `last`.
struct Block {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = 0;
};
/// Sets the offsets, multiples of `alignment`, so that blocks in use at the same time do not overlap, and returns where
/// the last one ends. The largest blocks choose first, and each takes the smallest gap that holds it.
int64_t placeBlocks(std::span<Block> blocks, int64_t alignment);

struct MemoryPlan {
  struct Table {
    Block block;          // without bytes for inputs and for tables that nothing writes
    bool isKept = false;  // needed when a run has ended; otherwise from `firstWrite` to `lastUse`
    int firstWrite = -1, lastUse = -1;
  };
  struct Launch {
    std::vector<Block> totals;
    std::vector<Block> buffers;  // of `DeviceLaunch`
    Block carry;                 // of its chunks
    Block scratch;               // of all threads
    int64_t scratchPerThread = 0;
  };
  std::vector<Table> tables;     // as the plan lists them
  std::vector<Launch> launches;  // one per step
  int64_t arenaBytes = 0;
  int64_t indexBytes = 0;  // the forms that the plan reads; on the CPU also those that they are made from
  int64_t inputBytes = 0;  // copies of inputs, as far as it is known that they are copied
  int64_t graphBytes = 0;  // tables of the graph phase, where they lie outside of the arena

  int64_t peakBytes() const;
};

/// When each table of a plan is needed, without its place: blocks are empty.
std::vector<MemoryPlan::Table> findLifetimes(const Plan &plan);

/// Whether the rows of an input or output have another order outside.
bool isMoved(const TableSpec &table, const GraphNumbers &graph);

/// Where outputs lie that are stored as they are handed out, and that every run writes anew.
enum class Outputs : uint8_t { InArena, Outside };

/// Which tables lie in the caller's memory with `Outputs::Outside`: outputs that every run of Forward or Backward
/// writes, in the order, the type and the place of one output alone.
std::vector<bool> findOutside(const Plan &plan, const GraphNumbers &graph);

/// Tensors of inputs, by name.
using InputTensors = std::map<std::string, Tensor>;

/// Numbers too large for an int64_t become the largest one, and are refused by `checkMemory`. Inputs whose rows have
/// another order outside are copied whatever they are set to, others if `inputs` has a tensor that cannot be read as it
/// is. Outputs that lie outside have no bytes.
MemoryPlan planMemory(const Plan &plan, const GraphNumbers &graph, std::span<const LaunchNumbers> launches, int threads,
                      const InputTensors &inputs = {}, Outputs outputs = Outputs::InArena);

/// At a multiple of how many bytes blocks start on a GPU, as `Device::allocate` aligns.
inline constexpr int64_t kDeviceAlignment = 256;

/// Whether blocks that are not needed at the same time may share bytes.
enum class Places : uint8_t { Shared, Own };

/// The same on a GPU, where threads have no scratch memory. With `Places::Own` no two blocks share bytes, so that only
/// launches that read what others write have to wait for them. Inputs are copied. With `Outputs::Outside` only
/// those are that the plan cannot read where they are, where `inputs` say what types they have, and tables of the graph
/// phase have no place in the arena.
MemoryPlan planDeviceMemory(const Plan &plan, const GraphNumbers &graph, std::span<const LaunchNumbers> launches,
                            Places places = Places::Shared, Outputs outputs = Outputs::InArena,
                            const InputTensors &inputs = {});

/// Which tables the graph phase writes. They depend on the graph alone, so that all runs may read the same ones.
std::vector<bool> findGraphTables(const Plan &plan);

/// Whether an input that is on the device is copied before a plan reads it: its rows have another order outside, its
/// numbers another type, or its bytes may be any.
bool isCopied(const Plan &plan, const Port &input, const GraphNumbers &graph, const InputTensors &inputs);

/// Fails if a plan needs more than `limit` bytes (0: no limit) or more than there are: "`rgat` needs 1.2 GiB: tables
/// and scratch memory 1.0 GiB (the largest table, `att`, 0.5 GiB), index arrays 0.2 GiB; the limit is 1.0 GiB".
Status checkMemory(const Plan &plan, const GraphNumbers &graph, const MemoryPlan &memory, int64_t limit);
/// The same for other memory than the machine's. `where` follows the number of bytes: "are free on NVIDIA H200".
Status checkMemory(const Plan &plan, const GraphNumbers &graph, const MemoryPlan &memory, int64_t limit,
                   int64_t available, const std::string &where);

/// Bytes of a table; the largest int64_t if there are more.
int64_t tableBytes(const TableSpec &table, const GraphNumbers &graph);

/// Bytes of the arrays that a graph builds for these forms, beyond its edges.
int64_t formBytes(std::span<const Form> forms, const GraphNumbers &graph);

/// Bytes of the array of a form.
int64_t arrayBytes(const Form &form, const GraphNumbers &graph);

/// The forms that a plan needs: those of its launches and those that permute inputs and outputs.
std::vector<Form> formsOf(const Plan &plan);

/// The forms that the kernels of a plan read.
std::vector<Form> formsOfKernels(const Plan &plan);

}  // namespace hector::exec
