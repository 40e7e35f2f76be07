/// Runs a compiled plan on a graph.
///
/// An executor is made for one plan and one graph. Making it checks that they fit, lays out memory and refuses what
/// does not fit, builds the index arrays that the plan reads, and allocates; runs then allocate nothing. Results are
/// the same bits for any number of threads.
///
///   Result<Executor> executor = Executor::create(plan, lookup, graph, {.threads = 4});
///   executor->setInput("x", features);
///   executor->run(Phase::Graph, Phase::Forward);
///   Result<Tensor> out = executor->output("out");
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hector::exec {

/// Finds a kernel or a join by its symbol; null if there is none. The executor keeps a copy, and with it whatever the
/// function holds on to, such as the library that it looks into.
using KernelLookup = std::function<void *(const std::string &symbol)>;

struct ExecOptions {
  int threads = 0;          // at most; 0: `numThreads()`. Fewer where their scratch memory does not fit
  int64_t memoryLimit = 0;  // bytes that the plan may take; 0: what the machine has
  /// Fills memory with NaN before each run and again when nobody needs it any more, so that whatever reads a number
  /// that was not written shows in the results.
  bool poison = false;
  /// Outside: outputs are written to the caller's memory where that can be (`Executor::placeOutput`).
  Outputs outputs = Outputs::InArena;
  /// Told after each launch which step of the plan it was and how long it took, joins included. For profiles.
  std::function<void(size_t step, double seconds)> onStep = {};
};

/// The memory that an executor would take once its inputs are set to `inputs`, without making one: for choosing between
/// plans. Inputs without a tensor count as read where they are. Derives from the graph what has to be known for that:
/// its pairs, the types of its relations and the offsets that launches are cut by. Fails as `Executor::create` does,
/// but for memory.
Result<MemoryPlan> memoryFor(const Plan &plan, const Graph &graph, int threads, const InputTensors &inputs = {},
                             Outputs outputs = Outputs::InArena);

/// A table as it is stored: `rows` rows in the order and type of `spec`.
struct TableView {
  const void *data = nullptr;
  const TableSpec *spec = nullptr;
  int64_t rows = 0;
};

/// Used by one thread at a time. Owns its memory and shares the plan and the graph.
class Executor {
public:
  /// Fails if the plan and the graph do not fit, if a symbol is missing, or if memory does not suffice.
  static Result<Executor> create(std::shared_ptr<const Plan> plan, KernelLookup lookup, const Graph &graph,
                                 const ExecOptions &options = {});
  Executor(Executor &&) noexcept;
  Executor &operator=(Executor &&) noexcept;
  ~Executor();

  /// Sets the rows of an input: one per row of its domain (a shared input has one row and no axis for it), edges in the
  /// order of the file, pairs in that of their ids. The numbers are converted if they have another type.
  ///
  /// The plan reads the tensor's own bytes where type, order and alignment allow. Then they stay alive through the
  /// tensor's `owner`; if that is null, the caller keeps them until the input is set again or the executor is gone. An
  /// input whose bytes have changed must be set again: it may have been copied, and weights may have been prepared.
  Status setInput(std::string_view name, const Tensor &tensor);
  /// Fails if `setInput` would refuse a tensor by its name, shape or type. It may still lack memory for a copy.
  Status checkInput(std::string_view name, const Tensor &tensor) const;

  /// From now on dropout drops, by this seed and step.
  void setTraining(uint64_t seed, uint64_t step);
  /// From now on dropout does nothing. That is how an executor starts.
  void setInference();

  /// Runs the phases from `first` to `last`. Graph runs once, and Weights only if one of its inputs was set since it
  /// last ran; both also run before a later `first` if they have not yet. Backward runs once after each Forward.
  /// Fails if an input that is read is not set, and if an interrupt was noted: the run then stops between launches, and
  /// the next one starts with Forward.
  Status run(Phase first, Phase last);
  Status runAll() { return run(Phase::Graph, Phase::Backward); }

  /// An output in the order that inputs have, as F64 if it is stored as such, else as F32. A copy.
  Result<Tensor> output(std::string_view name) const;
  /// The same in the caller's memory, which has room for it.
  Status copyOutput(std::string_view name, std::byte *to) const;
  /// Whether an output is written to the caller's memory: with `Outputs::Outside`, those that are stored as they are
  /// handed out. Fails if there is none of that name.
  Result<bool> isOutside(std::string_view name) const;
  /// Has such an output written to `to`, which is aligned to its numbers. It is to be named before the first run. Later
  /// phases may read what an earlier one wrote there.
  Status placeOutput(std::string_view name, std::byte *to);
  /// The same as it is stored, without a copy. Valid until the next run; for an output that is an input, until that is
  /// set again.
  Result<TableView> view(std::string_view name) const;

  /// All that was taken from memory, known before the first run; copies of inputs are counted when they are set.
  int64_t peakBytes() const;
  const MemoryPlan &memory() const;

private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

}  // namespace hector::exec
