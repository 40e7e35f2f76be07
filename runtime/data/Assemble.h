/// Makes a graph file's contents from nodes and edges in any order: groups nodes by type and edges by relation, adds
/// inverse relations, drops repeated edges. All by counting and hashing, in time linear in the edges.
#pragma once

#include "runtime/data/Pipeline.h"
#include "runtime/graph/GraphFile.h"

#include <cstdint>
#include <functional>

namespace hector {

/// A node's features by type: `width` numbers for each of the type's nodes, in their order.
struct TypeFeatures {
  int64_t width = 0;
  std::vector<float> values;
};

enum class Split : uint8_t { None, Train, Valid, Test };

/// One class of a node.
struct Label {
  uint32_t node = 0;
  int64_t label = 0;  // where nodes may have several: -1 for a node that is known to be of none
  Split split = Split::None;
};

/// What importers gather. Node numbers are theirs; `assemble` gives the final ones.
struct RawGraph {
  std::vector<std::string> nodeTypes;
  std::vector<uint32_t> typeOfNode;  // one per node; empty: `countOfType` says how many of each type, in order
  std::vector<int64_t> countOfType;
  std::vector<EdgeType> edgeTypes;
  std::vector<uint32_t> src, dst, type;                   // one an edge
  std::vector<uint8_t> edgeSplit;                         // empty, or one an edge: 0 train, 1 valid, 2 test
  std::function<std::string_view(uint32_t node)> nameOf;  // null: nodes have no names
  std::vector<TypeFeatures> features;                     // empty, or one per node type (width 0: none)
  std::vector<Label> labels;                              // one per node, unless `multiLabel`
  bool multiLabel = false;                                // a node may have several, together and in one split
  std::vector<std::string> labelNames;
  std::string source;

  int64_t numNodes() const;
};

struct AssembleOptions {
  bool inverses = true;       // add a relation the other way round for each one that has none
  bool dropRepeated = false;  // keep the first of equal edges
  bool dropIsolated = false;  // leave out nodes that no edge has
  bool names = true;
  int threads = 1;
};

Result<GraphContents> assemble(RawGraph raw, const AssembleOptions &options, const Watch &watch);

}  // namespace hector
