/// Small graphs with labels, for tests of training.
#pragma once

#include "runtime/graph/GraphFile.h"
#include "runtime/graph/Synthetic.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hector::training {

inline GraphFile graphOf(TensorFile tensors) {
  auto graph = graphFromTensors(std::move(tensors), "test graph");
  EXPECT_TRUE(graph) << graph.status().message();
  return std::move(*graph);
}

/// Nodes of two types whose classes only relations and features together reveal.
inline TensorFile plantedTensors() {
  SyntheticOptions options;
  options.nodes = 600;
  options.nodeTypes = 2;
  options.edges = 6000;
  options.edgeTypes = 8;
  options.classes = 3;
  options.features = 12;
  options.seed = 5;
  auto tensors = makeSynthetic(options);
  EXPECT_TRUE(tensors) << tensors.status().message();
  return std::move(*tensors);
}

inline GraphFile plantedGraph() {
  return graphOf(plantedTensors());
}

}  // namespace hector::training
