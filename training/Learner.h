/// Parameters that learn: a compiled step, the parameters it reads and what the optimiser keeps.
#pragma once

#include "driver/Program.h"
#include "training/Config.h"
#include "training/Runner.h"
#include "training/Stack.h"
#include "training/Table.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector::training {

/// A program that was planned, compiled and bound to a graph.
struct Compiled {
  std::shared_ptr<const exec::Plan> plan;
  std::string passes;
  MakeRunner make;
  std::unique_ptr<Runner> runner;
};

struct CompileSettings {
  std::string passes = "default";
  int threads = 0;
  int64_t memoryLimit = 0;                    // bytes; 0: what the machine has, or what is free on the device
  int64_t takenBytes = 0;                     // of the limit, by plans that were made before
  Device *device = nullptr;                   // where plans run, which it outlives; null: on the CPU
  MachineDescription machine = defaultGpu();  // that plans for the device are chosen for
  exec::TuningNote onTuned = {};              // launches on the device are started in the fastest way; else none
  bool isBoundAnew = false;                   // each step has a graph of its own, so that nothing is worth recording
};

/// Plans and compiles a program for a graph. `tensors` are its inputs as far as they are known, for the memory plan.
Result<Compiled> compileProgram(Program program, const Graph &graph, const Tensors &tensors,
                                const CompileSettings &settings);

/// A step that changes parameters.
class Learner {
public:
  /// `program` has had `flow.optimiser` set for `parameters`. Inputs other than parameters, state and numbers of the
  /// step are set by `setInput`. Starts from the tables as they are, which it changes, and from `state`, or zeros.
  static Result<Learner> make(Program program, const Graph &graph, Tables parameters, const Tensors &state,
                              const Tensors &inputs, const OptimiserConfig &optimiser, const CompileSettings &settings);

  /// Goes on with another graph. Inputs other than parameters, state and numbers of the step are to be set again. After
  /// a failure the learner can do no more steps.
  Status bind(const Graph &graph);
  Status setInput(const std::string &name, const Tensor &tensor) { return compiled.runner->setInput(name, tensor); }
  /// Runs the forward phase of step `step`, counted from 0; dropout draws by the seed and the step.
  Status forward(uint64_t seed, int64_t step);
  /// Runs the backward phase and the optimiser, with a factor of its learning rate. Parameters change only by `accept`.
  Status backward(int64_t step, double rateFactor);
  /// Takes the parameters and the state after the step.
  Status accept();
  /// Brings parameters and state to the host, where steps have changed them elsewhere.
  Status fetch();

  /// The first number of a result.
  Result<double> number(std::string_view result);
  /// A result in the host's memory, until the next step.
  Result<exec::TableView> view(std::string_view result) { return compiled.runner->view(result); }
  /// As they were when `fetch` was called last.
  const Tables &parameters() const { return tables; }
  /// What the optimiser keeps, by name without `state.`. Shares the bytes, which `fetch` changes.
  Tensors state() const;
  const std::string &passes() const { return compiled.passes; }
  int64_t peakBytes() const { return compiled.runner->peakBytes(); }

private:
  Learner(Compiled compiled, const OptimiserConfig &optimiser) : compiled(std::move(compiled)), optimiser(optimiser) {}
  Status setTables();
  /// Sets the numbers that a step has others of than the last; all of them if `isFirst`.
  Status setNumbers(int64_t step, double rateFactor, bool isFirst = false);

  Compiled compiled;
  OptimiserConfig optimiser;
  Tables tables;
  Tables kept;                           // by the name of the input, "state.m.layer1.W"
  std::map<std::string, Table> numbers;  // "step.rate"
  bool isFetched = true;                 // the host has parameters and state as they are
};

}  // namespace hector::training
