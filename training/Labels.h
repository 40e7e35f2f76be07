/// Labels and splits of a graph file, as training needs them. No MLIR.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/graph/GraphFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hector::training {

struct Labels {
  int64_t numClasses = 0;
  std::vector<std::string> names;  // of classes; empty where they have none
  bool isMulti = false;            // nodes have several classes each
  std::vector<int64_t> classes;    // one per node, -1: none; empty if `isMulti`
  std::vector<float> targets;      // a row per node if `isMulti`
  std::vector<int64_t> train, valid, test;

  /// The most frequent class of `train`; always predicting it is what a model has to beat. For one class per node.
  int64_t majorityClass() const;
};

/// Reads labels. Without a split, fails and says how to get one. If the graph has no nodes to validate with,
/// `validShare` of the training nodes are set apart, drawn by the seed. Fails if there are no labels, or no nodes to
/// train with, or if nodes of a split have no label. `notes` gets what is worth knowing, such as classes without a
/// training node.
Result<Labels> readLabels(const GraphFile &graph, double validShare, uint64_t seed, std::vector<std::string> &notes);

}  // namespace hector::training
