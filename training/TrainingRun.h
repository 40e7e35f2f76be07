/// What all tasks share: the loop over epochs, early stopping, checkpoints, what happens on Ctrl-C and on a loss that
/// is no number.
#pragma once

#include "training/Network.h"
#include "training/Train.h"

#include <string>
#include <vector>

namespace hector::training {

class TrainingRun {
public:
  TrainingRun(const GraphFile &graph, const TrainOptions &options, const TrainEvents &events)
      : graph(graph), options(options), config(options.config), events(events) {}
  TrainingRun(const TrainingRun &) = delete;
  TrainingRun &operator=(const TrainingRun &) = delete;
  virtual ~TrainingRun() = default;

  Result<TrainResult> run();

protected:
  /// Compiles everything; parameters and state are those of `result.checkpoint` where that is continued.
  virtual Status prepare() = 0;
  /// The loss of an epoch, counted from 0.
  virtual Result<double> forward(int64_t epoch) = 0;
  /// The gradients and the step, once the loss is known to be a number.
  virtual Status update(int64_t epoch, double rateFactor) = 0;
  /// Adds the metrics of the parameters as they are.
  virtual Status evaluate(EpochRecord &record) = 0;
  /// Judges the parameters that were chosen, with data that nothing was chosen by.
  virtual Status finish() = 0;
  /// Brings parameters and state to the host, where they are asked for.
  virtual Status fetch() = 0;
  virtual Tables parameters() const = 0;
  virtual Tensors state() const = 0;
  /// The metric that chooses: "valid.accuracy". Larger is better.
  virtual std::string metric() const = 0;

  bool isResumed() const { return options.resume.has_value(); }
  /// The starting value of a parameter: the checkpoint's if the run is continued.
  Result<Table> startOf(const Parameter &parameter) const;
  /// The passes for a plan: those that the checkpoint recorded if the run is continued. `takenBytes` is what plans take
  /// that were made before.
  CompileSettings settings(const std::string &recorded, int64_t takenBytes = 0) const;
  /// How a network learns here, but for the loss.
  LearningPlan learningPlan() const;
  /// Compiles the network, tells of it, with `more` to say and so many more parameters, and notes its plans.
  Status makeNetwork(Stack stack, const Graph &on, const LearningPlan &learning, std::optional<Network> &network,
                     const std::vector<std::string> &more = {}, int64_t moreParameters = 0);
  /// The parameters to judge.
  Tables chosen() const;
  /// Checks that a continued run has the graph of the checkpoint, and notes the facts, with the hash of the edges.
  /// Features are checked by `makeNetwork`. Whether nodes are the same is checked for parameters that belong to nodes,
  /// by `startOf`.
  Status noteFacts(GraphFacts facts);
  /// What a continued run has of its layers.
  KeptLayers kept() const;

  const GraphFile &graph;
  const TrainOptions &options;
  const Config &config;
  const TrainEvents &events;
  TrainResult result;

private:
  Status runEpoch(int64_t epoch);
  bool isBest(const EpochRecord &record) const;
  Status save();

  std::vector<double> seconds;
};

/// A tensor of floats.
Tensor tensorOf(std::vector<int64_t> shape, std::vector<float> values);

}  // namespace hector::training
