/// A graph in numbers: counts, degrees, pairs and the memory that its forms take.
#pragma once

#include "runtime/graph/Graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hector {

/// How many edges nodes have at one end. Quantiles are nearest ranks: the median is a degree that some node has.
struct DegreeSummary {
  int64_t min = 0, median = 0, p99 = 0, max = 0;
  double mean = 0;
  std::vector<int64_t> bins;  // nodes of degree 0, 1, 2 to 3, 4 to 7 …, up to the bin of `max`
};
/// The degrees that a bin counts.
int64_t binFirst(size_t bin);
int64_t binLast(size_t bin);

struct NodeTypeSummary {
  std::string name;
  int64_t nodes = 0;
};

struct RelationSummary {
  std::string name, src, dst;  // `src` and `dst` may be empty
  int64_t edges = 0, srcPairs = 0, dstPairs = 0;
  int64_t id = 0;
};

struct FormSummary {
  std::string name;
  int64_t bytes = 0;
};

struct GraphSummary {
  int64_t nodes = 0, edges = 0;
  std::vector<NodeTypeSummary> nodeTypes;
  std::vector<RelationSummary> relations;  // those with edges, and the others where they are not too many
  int64_t unlisted = 0;                    // relations that are left out
  DegreeSummary in, out;
  int64_t srcPairs = 0, dstPairs = 0;
  int64_t isolated = 0;  // nodes without an edge
  std::vector<FormSummary> forms;

  int64_t numRelations() const { return static_cast<int64_t>(relations.size()) + unlisted; }
  /// Pairs divided by edges: the work that remains if it is done once per pair.
  double srcPairRatio() const { return edges ? static_cast<double>(srcPairs) / static_cast<double>(edges) : 0; }
  double dstPairRatio() const { return edges ? static_cast<double>(dstPairs) / static_cast<double>(edges) : 0; }
};

/// Builds every derived form. Types get no names; `nodeTypes` and `relations` are in the graph's order. The first
/// `numNamed` relations are listed, even without edges. So are the others, unless far more of them than there are edges
/// have none: time and memory stay in proportion to the edges, the nodes and `numNamed`.
GraphSummary summarize(const Graph &graph, int64_t numNamed = 0);

/// About how many bytes `summarize` will take beyond the graph.
int64_t summaryBytes(const Graph &graph, int64_t numNamed = 0);
/// About how many bytes the derived forms will take.
int64_t formBytes(const Graph &graph);

}  // namespace hector
