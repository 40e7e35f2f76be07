#include "training/Predict.h"

#include "runtime/base/Text.h"
#include "training/Network.h"
#include "training/Train.h"

namespace hector::training {

/// Fails if types of a graph are not those that parameters were trained for.
static Status checkTypes(const char *kind, const std::vector<std::string> &trained,
                         const std::vector<std::string> &given) {
  if (trained == given)
    return Status::ok();
  if (trained.size() != given.size())
    return Status::invalid("the graph has " + counted(static_cast<int64_t>(given.size()), std::string(kind) + " type") +
                           ", but the parameters were trained for " + std::to_string(trained.size()));
  size_t i = 0;
  while (trained[i] == given[i])
    ++i;
  return Status::invalid(std::string(kind) + " type " + std::to_string(i) + " of the graph is " + inTicks(given[i]) +
                         ", but was " + inTicks(trained[i]) + " in training");
}

Result<Prediction> predict(const Checkpoint &checkpoint, const GraphFile &graph, const PredictOptions &options) {
  const GraphFacts facts = factsOf(graph);
  if (Status status = checkTypes("node", checkpoint.graph.nodeTypes, facts.nodeTypes); !status.isOk())
    return status;
  if (Status status = checkTypes("edge", checkpoint.graph.edgeTypes, facts.edgeTypes); !status.isOk())
    return status;
  auto stack = Stack::make(checkpoint.config, graph, checkpoint.graph.numClasses, checkpoint.models);
  if (!stack)
    return std::move(stack).status();
  std::vector<Parameter> wanted = stack->parameters();
  for (const InputStage &stage : stack->stages())
    wanted.insert(wanted.end(), stage.parameters.begin(), stage.parameters.end());
  Tables tables;
  for (const Parameter &parameter : wanted) {
    auto found = checkpoint.chosen().find(parameter.name);
    if (found == checkpoint.chosen().end())
      return Status::invalid("the checkpoint has no parameter " + inTicks(parameter.name));
    if (found->second.shape != parameter.shape) {
      const bool isNodes = parameter.home == language::Home::Node;
      return Status::invalid(
          "the parameter " + inTicks(parameter.name) + " of the checkpoint has shape " +
          formatShape(found->second.shape) + ", but the graph needs " + formatShape(parameter.shape) +
          (isNodes ? "; nodes have embeddings, so a graph of other nodes needs training of its own" : ""));
    }
    tables.emplace(parameter.name, Table(found->second));
  }
  Prediction prediction;
  prediction.width = stack->width();
  auto network = Network::make(std::move(*stack), graph.graph, std::nullopt,
                               {checkpoint.config.passes, options.threads, options.memoryLimit}, options.withHidden);
  if (!network)
    return std::move(network).status();
  if (Status status = network->predict(tables); !status.isOk())
    return status;
  auto out = network->predictedTensor("out");
  if (!out)
    return std::move(out).status();
  prediction.out = std::move(*out);
  if (options.withHidden) {
    auto hidden = network->predictedTensor("hidden");
    if (!hidden)
      return std::move(hidden).status();
    prediction.hidden = std::move(*hidden);
  }
  return prediction;
}

}  // namespace hector::training
