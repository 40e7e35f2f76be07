/// What plans are chosen by in a graph, and which graphs share a plan. No MLIR.
#pragma once

#include "runtime/graph/Graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hector {

struct GraphFigures {
  int64_t nodes = 0, edges = 0, srcPairs = 0, dstPairs = 0, relations = 0, nodeTypes = 0;
  bool hasTypedSources = false, hasTypedDestinations = false;  // each relation has ends of one node type there
  /// How many rows are read 0, 1, 2 to 3, 4 to 7 … times by all edges; empty if nobody has counted, which stands for
  /// rows that are read equally often.
  std::vector<int64_t> sourceReads, destinationReads, srcPairReads, dstPairReads;

  bool operator==(const GraphFigures &) const = default;
};

/// Takes memory for each edge and node.
GraphFigures figuresOf(const Graph &graph);

/// Up to this many edges, graphs that are alike share a plan.
inline constexpr int64_t kMostSharedEdges = int64_t{1} << 20;

/// The figures by which a plan is chosen where graphs follow each other, such as batches of sampled neighbours: those
/// of one graph for all that are alike. Of small graphs, nodes and edges are rounded to powers of two, pairs to eighths
/// of the edges, and reads are not counted; so a plan does not depend on which graph came first. Large ones have their
/// own.
GraphFigures sharedFigures(const Graph &graph);

/// Equal figures, and no others, have equal keys.
std::string keyOf(const GraphFigures &figures);

}  // namespace hector
