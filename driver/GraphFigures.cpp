#include "driver/GraphFigures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace hector {

/// How many of `count` rows `ids` names 0, 1, 2 to 3, 4 to 7 … times.
static std::vector<int64_t> countReads(const IdArray &ids, int64_t count) {
  BigVector<int32_t> reads(static_cast<size_t>(count), 0);  // never more than edges, which are in memory
  ids.visit([&](auto span) {
    for (auto id : span)
      if (reads[static_cast<size_t>(id)] < std::numeric_limits<int32_t>::max())
        ++reads[static_cast<size_t>(id)];
  });
  std::vector<int64_t> profile;
  for (int32_t number : reads) {
    const size_t bin = static_cast<size_t>(std::bit_width(static_cast<uint32_t>(number)));
    if (bin >= profile.size())
      profile.resize(bin + 1);
    ++profile[bin];
  }
  return profile;
}

/// All but the reads.
static GraphFigures countsOf(const Graph &graph) {
  GraphFigures figures;
  figures.nodes = graph.numNodes();
  figures.edges = graph.numEdges();
  figures.srcPairs = graph.srcPairs().count();
  figures.dstPairs = graph.dstPairs().count();
  figures.relations = graph.numRelations();
  figures.nodeTypes = graph.numNodeTypes();
  figures.hasTypedSources = graph.srcTypeOfRelation().isOk();
  figures.hasTypedDestinations = graph.dstTypeOfRelation().isOk();
  return figures;
}

GraphFigures figuresOf(const Graph &graph) {
  GraphFigures figures = countsOf(graph);
  figures.sourceReads = countReads(graph.src(), figures.nodes);
  figures.destinationReads = countReads(graph.dst(), figures.nodes);
  figures.srcPairReads = countReads(graph.srcPairs().ofEdge, figures.srcPairs);
  figures.dstPairReads = countReads(graph.dstPairs().ofEdge, figures.dstPairs);
  return figures;
}

/// The power of two with the least ratio to `count`; 0 stays 0.
static int64_t roundToPower(int64_t count) {
  return count > 0 ? int64_t{1} << std::lround(std::log2(static_cast<double>(count))) : 0;
}

GraphFigures sharedFigures(const Graph &graph) {
  if (graph.numEdges() > kMostSharedEdges || graph.numNodes() > kMostSharedEdges)
    return figuresOf(graph);
  GraphFigures figures = countsOf(graph);
  const int64_t edges = roundToPower(figures.edges);
  for (int64_t *pairs : {&figures.srcPairs, &figures.dstPairs}) {
    constexpr double kParts = 8;
    const double part = static_cast<double>(*pairs) / static_cast<double>(std::max<int64_t>(figures.edges, 1));
    *pairs = static_cast<int64_t>(static_cast<double>(edges) * std::max(std::round(part * kParts), 1.0) / kParts);
  }
  figures.edges = edges;
  figures.nodes = roundToPower(figures.nodes);
  return figures;
}

std::string keyOf(const GraphFigures &figures) {
  std::string key;
  for (int64_t number : {figures.nodes, figures.edges, figures.srcPairs, figures.dstPairs, figures.relations,
                         figures.nodeTypes, int64_t{figures.hasTypedSources}, int64_t{figures.hasTypedDestinations}})
    key += std::to_string(number) + " ";
  for (const auto *reads :
       {&figures.sourceReads, &figures.destinationReads, &figures.srcPairReads, &figures.dstPairReads}) {
    for (int64_t number : *reads)
      key += std::to_string(number) + " ";
    key += "; ";
  }
  return key;
}

}  // namespace hector
