#include "training/Predict.h"

#include "runtime/base/Text.h"
#include "training/LinkTrain.h"
#include "training/Network.h"
#include "training/Train.h"

#include <algorithm>
#include <cmath>

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

/// Predicts with messages along all edges of `graph`.
static Result<Prediction> predictOn(const GraphFile &graph, const Checkpoint &checkpoint,
                                    const PredictOptions &options) {
  const GraphFacts facts = factsOf(graph);
  if (Status status = checkTypes("node", checkpoint.graph.nodeTypes, facts.nodeTypes); !status.isOk())
    return status;
  if (Status status = checkTypes("edge", checkpoint.graph.edgeTypes, facts.edgeTypes); !status.isOk())
    return status;
  auto stack = Stack::make(checkpoint.config, graph, checkpoint.graph.numClasses,
                           {checkpoint.models, checkpoint.chosen(), checkpoint.graph.featureWidth});
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
    if (parameter.home == language::Home::Node)
      if (Status status = checkpoint.graph.checkNodes(facts); !status.isOk())
        return status;
    tables.emplace(parameter.name, Table(found->second));
  }
  Prediction prediction;
  prediction.width = stack->width();
  auto network = Network::make(
      std::move(*stack), graph.graph, std::nullopt,
      {checkpoint.config.passes, options.threads, options.memoryLimit, 0, options.device, options.machine},
      options.withHidden);
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

Result<Prediction> predict(const Checkpoint &checkpoint, const GraphFile &graph, const PredictOptions &options) {
  if (checkpoint.config.task != Task::Link)
    return predictOn(graph, checkpoint, options);
  auto messages = messageGraph(graph);
  if (!messages)
    return std::move(messages).status();
  return predictOn(*messages, checkpoint, options);
}

std::vector<int64_t> nodesNotFinite(std::span<const int64_t> nodes, std::span<const float> rows, int64_t width) {
  std::vector<int64_t> found;
  for (int64_t node : nodes) {
    const std::span<const float> row = rows.subspan(static_cast<size_t>(node * width), static_cast<size_t>(width));
    if (!std::all_of(row.begin(), row.end(), [](float value) { return std::isfinite(value); }))
      found.push_back(node);
  }
  return found;
}

std::string showNode(const GraphContents &graph, int64_t node) {
  return "node " + std::to_string(node) + (graph.hasNames() ? " " + inTicks(graph.nodeName(node)) : "");
}

}  // namespace hector::training
