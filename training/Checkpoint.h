/// A training run as one safetensors file: everything that continuing it, or predicting with it, needs besides the
/// graph.
///
/// Tensors: `NAME` for each parameter, such as `layer1.W`; `state.m.layer1.W` and the like for what the optimiser
/// keeps; `best.NAME` for the parameters of the best epoch so far, where validation chose one. Metadata:
/// `hector.format` is "checkpoint/1"; `config` is TOML; `model.1`, `model.2` … are the texts of the layers; `epoch`,
/// `plan`, `history` and the facts about the graph are texts and JSON; `tensors` lists the names of all tensors. Files
/// are replaced in one step, so that a file is whole at any moment. Files of earlier versions may lack `decoder_plan`
/// and some facts about the graph.
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

/// Hashes of what a run reads of a graph, so that a continued run reads the same. Empty: not known, or not read.
struct GraphHashes {
  std::string edges;     // ends and types
  std::string features;  // the tensors that layers read
  std::string labels;    // of nodes
  std::string splits;    // of nodes, or of edges

  bool operator==(const GraphHashes &) const = default;
  /// Fails and says what differs if `given` is not the graph that a run was begun with. What is not known of one of
  /// them is not compared.
  Status checkSame(const GraphHashes &given) const;
};

/// What parameters rely on in a graph.
struct GraphFacts {
  int64_t numNodes = 0;                           // matters where nodes have embeddings
  std::vector<std::string> nodeTypes, edgeTypes;  // names, in the order of parameters
  std::vector<std::string> classes;               // names of labels, empty where they have none
  int64_t numClasses = 0;
  std::vector<int64_t> ntypePtr;  // nodes of type k are ntypePtr[k] .. ntypePtr[k+1]-1; empty: not known
  std::string nodeNames;          // a hash of the nodes' names in their order; empty: not known
  std::optional<bool> isMulti;    // nodes have several classes each; nothing: not known, or there are no classes
  int64_t featureWidth = 0;       // numbers per node of `x`; 0: not known, or it is not read
  GraphHashes hashes = {};

  bool operator==(const GraphFacts &) const = default;
  /// Fails if rows that belong to nodes, such as embeddings, would go to other nodes in `given` than in this graph.
  /// What is not known of one of the graphs is not compared.
  Status checkNodes(const GraphFacts &given) const;
};

struct Checkpoint {
  Config config;
  std::vector<std::string> models;  // the text of each layer's model
  std::string plan;                 // the passes that were chosen for the step; resuming uses the same
  std::string inferencePlan;        // and for predictions
  std::string decoderPlan;          // and for the scores of links; empty: there are none, or it was not recorded
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

/// Fails if `loadCheckpoint` would refuse a file with these contents, as with parameters that are not numbers.
Status checkCheckpoint(const Checkpoint &checkpoint);
/// Replaces the file at `path`. Fails with the system's reason where that is not possible, or as `checkCheckpoint`
/// does; then what was there stays.
Status saveCheckpoint(const std::string &path, const Checkpoint &checkpoint);
/// Reads and checks a checkpoint. Failures name the file and what is wrong with it.
Result<Checkpoint> loadCheckpoint(const std::string &path);
/// Fails if the text of a layer is no model.
Status checkModels(const Checkpoint &checkpoint);

}  // namespace hector::training
