#include "driver/GraphFigures.h"

#include <gtest/gtest.h>

#include <vector>

namespace hector {
namespace {

/// Edges from node 0 on to their neighbours, of two types by turns.
Graph ring(int64_t nodes, int64_t edges) {
  std::vector<int64_t> sources, destinations, types;
  for (int64_t i = 0; i < edges; ++i) {
    sources.push_back(i % nodes);
    destinations.push_back((i + 1) % nodes);
    types.push_back(i % 2);
  }
  auto graph = Graph::create(sources, destinations, types, std::vector<int64_t>{0, nodes}, 2);
  EXPECT_TRUE(graph.isOk());
  return std::move(*graph);
}

TEST(GraphFiguresTest, CountsAndReadsAreThoseOfTheGraph) {
  const GraphFigures figures = figuresOf(ring(5, 7));
  EXPECT_EQ(figures.nodes, 5);
  EXPECT_EQ(figures.edges, 7);
  EXPECT_EQ(figures.srcPairs, 7);
  EXPECT_EQ(figures.relations, 2);
  EXPECT_TRUE(figures.hasTypedSources);
  EXPECT_EQ(figures.sourceReads, (std::vector<int64_t>{0, 3, 2}));  // nodes 0 and 1 have two edges
}

TEST(GraphFiguresTest, GraphsOfLikeSizeHaveTheSameFiguresToShare) {
  EXPECT_EQ(sharedFigures(ring(1000, 3900)), sharedFigures(ring(1050, 4200)));
  EXPECT_NE(sharedFigures(ring(1000, 3900)), sharedFigures(ring(1000, 16000)));
}

TEST(GraphFiguresTest, SharedFiguresAreRounded) {
  const GraphFigures figures = sharedFigures(ring(1000, 3900));
  EXPECT_EQ(figures.nodes, 1024);
  EXPECT_EQ(figures.edges, 4096);
  EXPECT_EQ(figures.srcPairs, 4096 / 8 * 2);  // 1,000 of 3,900: each node's edges have one type
  EXPECT_TRUE(figures.sourceReads.empty());
}

TEST(GraphFiguresTest, GraphsWithoutEdgesOrNodesHaveFigures) {
  auto empty = Graph::create({}, {}, {}, std::vector<int64_t>{0, 0}, 1);
  ASSERT_TRUE(empty.isOk());
  EXPECT_EQ(sharedFigures(*empty).edges, 0);
  EXPECT_EQ(sharedFigures(*empty).srcPairs, 0);
  EXPECT_EQ(sharedFigures(ring(1, 1)).srcPairs, 1);
}

TEST(GraphFiguresTest, LargeGraphsHaveFiguresOfTheirOwn) {
  const Graph large = ring(kMostSharedEdges / 2, kMostSharedEdges + 1);
  EXPECT_EQ(sharedFigures(large), figuresOf(large));
}

TEST(GraphFiguresTest, KeysTellFiguresApart) {
  GraphFigures one, other;
  one.sourceReads = {1, 2};
  other.destinationReads = {1, 2};
  EXPECT_NE(keyOf(one), keyOf(other));
  EXPECT_EQ(keyOf(one), keyOf(GraphFigures(one)));
}

}  // namespace
}  // namespace hector
