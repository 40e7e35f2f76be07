/// What the executors of all devices have in common: a plan on a graph, which phases are due, which inputs are set, and
/// the checks of what is handed over. Memory and launches belong to the executors.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hector::exec {

inline constexpr std::array kPhases = {Phase::Graph, Phase::Weights, Phase::Forward, Phase::Backward};
inline constexpr size_t kNumPhases = kPhases.size();

/// Where the launches of a plan run.
enum class Target : uint8_t { Cpu, Device };

/// Fails if a plan cannot run on a graph, whatever memory there is.
Status checkFit(const Plan &plan, const Graph &graph, Target target);

/// The numbers that dropout depends on.
struct Randomness {
  bool isTraining = false;
  uint64_t seed = 0, step = 0;

  bool operator==(const Randomness &) const = default;
};

/// Used by one thread at a time. Shares the plan, and of the graph the index arrays that it needs.
class Session {
public:
  /// Builds the index arrays that permute inputs and outputs. The plan fits the graph.
  static Result<Session> create(std::shared_ptr<const Plan> plan, const Graph &graph, const GraphNumbers &numbers,
                                MemoryPlan memory);

  const Plan &plan() const { return *sharedPlan; }
  const GraphNumbers &numbers() const { return graphNumbers; }
  const MemoryPlan &memory() const { return memoryPlan; }
  const TableSpec &table(int index) const { return sharedPlan->tables[index]; }
  int64_t rowsOf(int index) const { return graphNumbers.rows[table(index).domain]; }
  int64_t bytesOf(int index) const { return tableBytes(table(index), graphNumbers); }
  /// Where the rows of a port's table are outside: see `outsideRows`. Null if they stay in place.
  const IdArray *outside(int index) const { return outsideOf[index] ? &*outsideOf[index] : nullptr; }

  // --- inputs and outputs
  /// The number of an input among those of the plan. Fails if there is none of that name, or the tensor does not fit.
  Result<size_t> findInput(std::string_view name, const Tensor &tensor) const;
  /// Whether a table holds a tensor's bytes as they are.
  bool isStoredAsIs(const Tensor &tensor, int index) const;
  /// An input has its table filled.
  void noteInput(size_t input);
  /// The table of an input. Fails if there is none of that name, or it is not set.
  Result<int> findSetInput(std::string_view name) const;
  /// The table of an output. Fails if there is none of that name.
  Result<int> tableOfOutput(std::string_view name) const;
  /// The same; fails as well if it is not computed.
  Result<int> findOutput(std::string_view name) const;
  /// The shape and type in which a table is handed out, without its numbers.
  Tensor describeOutput(int index) const;

  // --- running
  Randomness randomness;
  /// Fails if the phases from `first` to `last` cannot run.
  Status checkRun(Phase first, Phase last) const;
  /// Whether the steps of a phase take part in a run.
  bool isRunning(Phase phase, Phase first, Phase last) const;
  /// The steps of a phase: those from `begin` to `end` - 1.
  struct Steps {
    size_t begin = 0, end = 0;
  };
  Steps stepsOf(Phase phase) const;
  /// Brackets the steps of a phase that runs. What later phases have computed came from what is now replaced.
  void beginPhase(Phase phase);
  void endPhase(Phase phase);

  // --- poison
  /// The bytes of the arena that hold nothing for a run, which is yet to start, or for the caller.
  std::span<const Block> unneededBefore(Phase first, Phase last);
  /// Those that nothing needs after a step. Both are valid until the next call.
  std::span<const Block> unneededAfter(size_t step);

private:
  struct Input {
    bool isSet = false;
    std::array<bool, kNumPhases> isRead = {};  // by which phases
  };

  Session(std::shared_ptr<const Plan> plan, const GraphNumbers &numbers, MemoryPlan memory);
  Status findOutside(const Graph &graph);
  void noteReaders();

  std::shared_ptr<const Plan> sharedPlan;
  GraphNumbers graphNumbers;
  MemoryPlan memoryPlan;
  std::vector<std::optional<IdArray>> outsideOf;  // of each table
  std::vector<Input> inputs;                      // as the plan lists them
  std::array<bool, kNumPhases> isDone = {};       // phases whose tables hold results
  bool areWeightsDue = false;                     // an input of the Weights phase was set since it ran
  bool hasForward = false;                        // Forward has run for the next Backward
  std::vector<Block> kept, unneeded;              // for poison; with room, so that runs allocate nothing
};

}  // namespace hector::exec
