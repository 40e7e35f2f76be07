/// A stack that is compiled: it learns, predicts, or both.
///
/// Most graphs need one plan for each. Where node types have features of different widths, each type has a plan of its
/// own, which makes its rows of the input that the main plan reads, and learns from the gradient of these rows.
#pragma once

#include "training/Learner.h"
#include "training/Stack.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector::training {

/// What a network learns from.
struct LearningPlan {
  std::string loss;  // the program of training/programs; empty: `grad.out` is set from outside
  Tensors inputs;    // of the loss, and `grad.loss`
  Tensors state;     // of the optimiser, where a run is continued
  OptimiserConfig optimiser;
  CompileSettings settings;
  /// The value that a parameter starts from.
  std::function<Result<Table>(const Parameter &parameter)> start;
};

class Network {
public:
  /// Compiles a stack for a graph, to learn by `learning` if that is given, and to predict.
  static Result<Network> make(Stack stack, const Graph &graph, const std::optional<LearningPlan> &learning,
                              const CompileSettings &inference, bool withHidden = false);
  Network(Network &&) noexcept;
  Network &operator=(Network &&) noexcept;
  ~Network();

  const Stack &stack() const { return layers; }
  const std::string &learningPasses() const { return learner->passes(); }
  const std::string &inferencePasses() const { return inference->passes; }
  /// What the plans take, those of predictions included.
  int64_t peakBytes() const;

  // --- learning; see `Learner`
  Status forward(uint64_t seed, int64_t step);
  Status backward(int64_t step, double rateFactor);
  Status accept();
  Status fetch();
  Status setInput(const std::string &name, const Tensor &tensor) { return learner->setInput(name, tensor); }
  Result<double> number(std::string_view result) { return learner->number(result); }
  Result<exec::TableView> view(std::string_view result) { return learner->view(result); }
  Tables parameters() const;
  Tensors state() const;

  // --- predicting
  /// Runs on these parameters, without dropout. Views of results are valid until the next run.
  Status predict(const Tables &parameters);
  Result<exec::TableView> prediction(std::string_view result = "out") { return inference->runner->view(result); }
  Result<Tensor> predictedTensor(std::string_view result) const { return inference->runner->output(result); }

private:
  struct Stage;
  explicit Network(Stack stack);
  Status makeStages(const std::optional<LearningPlan> &learning, const CompileSettings &settings);
  /// Settings for one more plan, which has to do with the memory that those made so far leave.
  CompileSettings besides(CompileSettings settings) const;

  Stack layers;
  std::vector<std::unique_ptr<Stage>> stages;
  std::optional<Table> rows;  // that stages make
  std::optional<Learner> learner;
  std::optional<Compiled> inference;
};

}  // namespace hector::training
