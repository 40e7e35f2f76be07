/// Parameters that learn: a compiled step, the parameters it reads and what the optimiser keeps.
#pragma once

#include "driver/Cpu.h"
#include "runtime/exec/Executor.h"
#include "training/Config.h"
#include "training/Stack.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector::training {

/// Tensors that steps change in place. Copies of a table's `Tensor` share its bytes.
class Table {
public:
  explicit Table(const Tensor &tensor);
  /// Zeros.
  explicit Table(std::vector<int64_t> shape);
  const Tensor &tensor() const { return view; }
  float *data() const { return values->data(); }
  /// A copy with bytes of its own.
  Tensor copy() const;

private:
  std::shared_ptr<std::vector<float>> values;
  Tensor view;
};

/// Parameters by name.
using Tables = std::map<std::string, Table>;

/// A program that was planned, compiled and given to an executor.
struct Compiled {
  std::shared_ptr<const exec::Plan> plan;
  std::string passes;
  exec::KernelLookup kernels;
  exec::ExecOptions options;
  exec::Executor executor;
};

struct CompileSettings {
  std::string passes = "default";
  int threads = 0;
  int64_t memoryLimit = 0;  // bytes; 0: what the machine has
  int64_t takenBytes = 0;   // of the limit, by plans that were made before
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
  Status setInput(const std::string &name, const Tensor &tensor) { return compiled.executor.setInput(name, tensor); }
  /// Runs the forward phase of step `step`, counted from 0; dropout draws by the seed and the step.
  Status forward(uint64_t seed, int64_t step);
  /// Runs the backward phase and the optimiser, with a factor of its learning rate. Parameters change only by `accept`.
  Status backward(int64_t step, double rateFactor);
  /// Takes the parameters and the state after the step.
  Status accept();

  /// The first number of a result.
  Result<double> number(std::string_view result) const;
  Result<exec::TableView> view(std::string_view result) const { return compiled.executor.view(result); }
  const Tables &parameters() const { return tables; }
  /// What the optimiser keeps, by name without `state.`. Shares the bytes.
  Tensors state() const;
  const std::string &passes() const { return compiled.passes; }
  int64_t peakBytes() const { return compiled.executor.peakBytes(); }

private:
  Learner(Compiled compiled, const OptimiserConfig &optimiser) : compiled(std::move(compiled)), optimiser(optimiser) {}
  Status setTables();
  Status setNumbers(int64_t step, double rateFactor);
  Status take(const std::string &input, const Table &table);

  Compiled compiled;
  OptimiserConfig optimiser;
  Tables tables;
  Tables kept;                           // by the name of the input, "state.m.layer1.W"
  std::map<std::string, Table> numbers;  // "step.rate"
};

}  // namespace hector::training
