/// A training run as one safetensors file: everything that continuing it, or predicting with it, needs besides the
/// graph.
///
/// Tensors: `NAME` for each parameter, such as `layer1.W`; `state.m.layer1.W` and the like for what the optimiser
/// keeps; `best.NAME` for the parameters of the best epoch so far, where validation chose one. Metadata:
/// `hector.format` is "checkpoint/1"; `config` is TOML; `model.1`, `model.2` … are the texts of the layers; `epoch`,
/// `plan`, `history` and the facts about the graph are texts and JSON; `tensors` lists the names of all tensors. Files
/// are replaced in one step, so that a file is whole at any moment.
#pragma once

#include "driver/Inputs.h"
#include "runtime/base/Status.h"
#include "training/Config.h"
#include "training/History.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hector::training {

/// What parameters rely on in a graph.
struct GraphFacts {
  int64_t numNodes = 0;                           // matters where nodes have embeddings
  std::vector<std::string> nodeTypes, edgeTypes;  // names, in the order of parameters
  std::vector<std::string> classes;               // names of labels, empty where they have none
  int64_t numClasses = 0;

  bool operator==(const GraphFacts &) const = default;
};

struct Checkpoint {
  Config config;
  std::vector<std::string> models;  // the text of each layer's model
  std::string plan;                 // the passes that were chosen for the step; resuming uses the same
  std::string inferencePlan;        // and for predictions
  int64_t epoch = 0;                // epochs done
  Tensors parameters;
  Tensors state;          // of the optimiser, by name without `state.`
  Tensors best;           // parameters of the best epoch; empty where the last ones are the best known
  int64_t bestEpoch = 0;  // 0: none
  double bestMetric = 0;
  std::vector<EpochRecord> history;
  GraphFacts graph;

  /// The parameters to predict with.
  const Tensors &chosen() const { return best.empty() ? parameters : best; }
};

/// Replaces the file at `path`. Fails with the system's reason where that is not possible, or if `loadCheckpoint` would
/// refuse the file, as with parameters that are not numbers; then what was there stays.
Status saveCheckpoint(const std::string &path, const Checkpoint &checkpoint);
/// Reads and checks a checkpoint. Failures name the file and what is wrong with it.
Result<Checkpoint> loadCheckpoint(const std::string &path);

}  // namespace hector::training
