#include "runtime/graph/GraphSummary.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace hector {

namespace {

constexpr const char *kEdges = "edges", *kSrcPairs = "source pairs", *kDstPairs = "destination pairs";

/// The bin of a degree: 0, 1, 2 to 3, 4 to 7 …
size_t binOf(int64_t degree) {
  return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(degree)));
}

DegreeSummary degrees(const EdgeIndex &index, const IdArray &order) {
  DegreeSummary summary;
  const int64_t numNodes = order.size();
  if (numNodes == 0)
    return summary;
  const IdArray &ptr = index.ptr;
  // The order falls; `rank` counts from the lowest degree.
  auto degreeAt = [&](int64_t rank) {
    const int64_t node = order[numNodes - 1 - rank];
    return ptr[node + 1] - ptr[node];
  };
  summary.min = degreeAt(0);
  summary.median = degreeAt((numNodes + 1) / 2 - 1);
  summary.p99 = degreeAt(numNodes - numNodes / 100 - 1);
  summary.max = degreeAt(numNodes - 1);
  summary.mean = static_cast<double>(index.edges.size()) / static_cast<double>(numNodes);
  summary.bins.resize(binOf(summary.max) + 1);
  ptr.visit([&](auto starts) {
    for (int64_t node = 0; node < numNodes; ++node)
      ++summary.bins[binOf(starts[node + 1] - starts[node])];
  });
  return summary;
}

int64_t bytesOf(const EdgeIndex &index) {
  return index.ptr.numBytes() + index.edges.numBytes();
}
int64_t bytesOf(const Pairs &pairs) {
  return pairs.node.numBytes() + pairs.relation.numBytes() + pairs.ofEdge.numBytes() + pairs.relationPtr.numBytes();
}
int64_t bytesOf(const Tiles &tiles) {
  return tiles.type.numBytes() + tiles.first.numBytes() + tiles.rows.numBytes();
}

/// The bytes of the derived forms of a graph with `numRelations` relations.
int64_t bytesWith(const Graph &graph, int64_t numRelations) {
  const int64_t width = graph.src().isWide() ? 8 : 4;
  // Two indices and two orders have a number per node; indices, pairs at their largest and what building takes have 10
  // per edge. Numbers of nodes are below 2^40 and edges are in memory, so that nothing overflows.
  return (graph.numNodes() * 4 + graph.numEdges() * 10 + numRelations * 8) * width;
}

}  // namespace

int64_t binFirst(size_t bin) {
  return bin == 0 ? 0 : int64_t{1} << (bin - 1);
}

int64_t binLast(size_t bin) {
  return bin == 0 ? 0 : binFirst(bin) + (binFirst(bin) - 1);
}

/// Whether relations without edges are few enough to be treated like the others.
static bool listsAll(const Graph &graph, int64_t numNamed) {
  return graph.hasFewRelations() || graph.numRelations() <= numNamed;
}

/// The summary of a graph all of whose relations are listed.
static GraphSummary summarizeAll(const Graph &graph) {
  constexpr int64_t kTileHeight = 64;
  GraphSummary summary;
  summary.nodes = graph.numNodes();
  summary.edges = graph.numEdges();
  for (int64_t k = 0; k < graph.numNodeTypes(); ++k)
    summary.nodeTypes.push_back({"", graph.ntypePtr()[k + 1] - graph.ntypePtr()[k]});
  const Pairs &src = graph.srcPairs(), &dst = graph.dstPairs();
  summary.srcPairs = src.count();
  summary.dstPairs = dst.count();
  for (int64_t r = 0; r < graph.numRelations(); ++r)
    summary.relations.push_back({"", "", "", graph.etypePtr()[r + 1] - graph.etypePtr()[r],
                                 src.relationPtr[r + 1] - src.relationPtr[r],
                                 dst.relationPtr[r + 1] - dst.relationPtr[r], r});
  summary.out = degrees(graph.outgoing(), graph.outDegreeOrder());
  summary.in = degrees(graph.incoming(), graph.inDegreeOrder());
  graph.outgoing().ptr.visit([&](auto out) {
    graph.incoming().ptr.visit([&](auto in) {
      for (int64_t node = 0; node < summary.nodes; ++node)
        summary.isolated += out[node] == out[node + 1] && in[node] == in[node + 1];
    });
  });
  summary.forms = {
      {kEdges,
       graph.src().numBytes() + graph.dst().numBytes() + graph.etype().numBytes() + graph.edgeNumbers().numBytes()},
      {"by source (CSR)", bytesOf(graph.outgoing())},
      {"by destination (CSC)", bytesOf(graph.incoming())},
      {kSrcPairs, bytesOf(src)},
      {kDstPairs, bytesOf(dst)},
      {"degree orders", graph.outDegreeOrder().numBytes() + graph.inDegreeOrder().numBytes()},
      {"edge tiles of 64", bytesOf(graph.tiles(TileRows::Edges, kTileHeight))},
  };
  return summary;
}

GraphSummary summarize(const Graph &graph, int64_t numNamed) {
  if (listsAll(graph, numNamed))
    return summarizeAll(graph);
  // The same graph with the relations that have edges numbered from 0.
  std::vector<int64_t> ids, src, dst, types;
  for (int64_t e = 0; e < graph.numEdges(); ++e) {
    if (e == 0 || graph.etype()[e] != ids.back())
      ids.push_back(graph.etype()[e]);
    src.push_back(graph.src()[e]);
    dst.push_back(graph.dst()[e]);
    types.push_back(static_cast<int64_t>(ids.size()) - 1);
  }
  Result<Graph> dense = Graph::create(src, dst, types, graph.ntypePtr(), static_cast<int64_t>(ids.size()),
                                      graph.src().isWide() ? IdWidth::Wide : IdWidth::Fitting);
  assert(dense.isOk());
  GraphSummary summary = summarizeAll(*dense);
  summary.unlisted = graph.numRelations() - dense->numRelations();
  for (RelationSummary &relation : summary.relations)
    relation.id = ids[static_cast<size_t>(relation.id)];
  // Pairs have a pointer for each relation, with edges or without; sorted edges have numbers.
  const int64_t width = graph.src().isWide() ? 8 : 4;
  for (FormSummary &form : summary.forms) {
    if (form.name == kSrcPairs || form.name == kDstPairs)
      form.bytes += summary.unlisted * width;
    if (form.name == kEdges)
      form.bytes += graph.edgeNumbers().numBytes();
  }
  return summary;
}

int64_t formBytes(const Graph &graph) {
  return bytesWith(graph, graph.numRelations());
}

int64_t summaryBytes(const Graph &graph, int64_t numNamed) {
  // Where relations are left out there is a copy of the edges as well.
  return listsAll(graph, numNamed) ? formBytes(graph) : bytesWith(graph, graph.numEdges()) + graph.numEdges() * 9 * 8;
}

}  // namespace hector
