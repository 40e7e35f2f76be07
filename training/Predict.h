/// Predictions of trained parameters, on the graph that they were trained on or on a changed one.
#pragma once

#include "runtime/graph/GraphFile.h"
#include "training/Checkpoint.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hector::training {

struct Prediction {
  int64_t width = 0;  // numbers per node of the result: classes, or the size of embeddings
  Tensor out;         // a row per node
  Tensor hidden;      // rows that the last layer reads; empty unless asked for
};

struct PredictOptions {
  bool withHidden = false;
  int threads = 0;
  int64_t memoryLimit = 0;
};

/// Runs the stack of a checkpoint on a graph, without dropout. The graph may have other edges than the one of training,
/// and other nodes unless they have embeddings; its node and edge types are the same. Fails otherwise, and says what
/// differs.
Result<Prediction> predict(const Checkpoint &checkpoint, const GraphFile &graph, const PredictOptions &options = {});

}  // namespace hector::training
