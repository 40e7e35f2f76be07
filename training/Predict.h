/// Predictions of trained parameters, on the graph that they were trained on or on a changed one.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/machine/Machine.h"
#include "training/Checkpoint.h"

#include <cstdint>
#include <span>
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
  Device *device = nullptr;                   // where the stack runs; null: on the CPU
  MachineDescription machine = defaultGpu();  // that plans for the device are chosen for
};

/// Runs the stack of a checkpoint on a graph, without dropout. The graph may have other edges than the one of training,
/// and other nodes unless they have embeddings; its node and edge types are the same. Fails otherwise, and says what
/// differs. For links, messages run along the edges of the training split, as they do in training.
Result<Prediction> predict(const Checkpoint &checkpoint, const GraphFile &graph, const PredictOptions &options = {});

/// The nodes among `nodes` whose row of `rows` (`width` numbers each, a row per node of the graph) has a number that is
/// not finite.
std::vector<int64_t> nodesNotFinite(std::span<const int64_t> nodes, std::span<const float> rows, int64_t width);
/// "node 7 `n7`"; the number alone if nodes have no names.
std::string showNode(const GraphContents &graph, int64_t node);

}  // namespace hector::training
