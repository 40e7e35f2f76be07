#include "runtime/graph/DerivedForms.h"

#include "runtime/base/Parallel.h"
#include "runtime/graph/Synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

Ids values(const IdArray &array) {
  return array.visit([](auto ids) { return Ids(ids.begin(), ids.end()); });
}

template <class Id> std::vector<Id> as(const Ids &ids) {
  return {ids.begin(), ids.end()};
}

Ids randomIds(int seed, int64_t count, int64_t below) {
  std::mt19937_64 random(seed);
  Ids ids(static_cast<size_t>(count));
  for (int64_t &id : ids) {
    double u = std::uniform_real_distribution<>(0, 1)(random);
    id = static_cast<int64_t>(u * u * static_cast<double>(below));
  }
  return ids;
}

/// Edges in order of `key`, equal ones as they are.
Ids sortedEdges(const Ids &key) {
  Ids edges(key.size());
  std::iota(edges.begin(), edges.end(), 0);
  std::stable_sort(edges.begin(), edges.end(), [&](int64_t a, int64_t b) { return key[a] < key[b]; });
  return edges;
}

template <class Id> void expectIndex(const Ids &nodes, int64_t numNodes) {
  std::vector<Id> ids = as<Id>(nodes);
  EdgeIndex index = groupByNode(std::span<const Id>(ids), numNodes);
  Ids ptr(static_cast<size_t>(numNodes) + 1);
  for (int64_t node : nodes)
    ++ptr[node + 1];
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
  EXPECT_EQ(values(index.ptr), ptr);
  EXPECT_EQ(values(index.edges), sortedEdges(nodes));
}

template <class Id> void expectPairs(const Ids &nodes, const Ids &etypePtr) {
  std::vector<Id> ids = as<Id>(nodes);
  Pairs pairs = findPairs(std::span<const Id>(ids), etypePtr);
  Ids node, relation, ofEdge, relationPtr = {0};
  for (size_t r = 0; r + 1 < etypePtr.size(); ++r) {
    Ids distinct(nodes.begin() + etypePtr[r], nodes.begin() + etypePtr[r + 1]);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (int64_t e = etypePtr[r]; e < etypePtr[r + 1]; ++e)
      ofEdge.push_back(relationPtr.back() +
                       (std::lower_bound(distinct.begin(), distinct.end(), nodes[e]) - distinct.begin()));
    node.insert(node.end(), distinct.begin(), distinct.end());
    relation.insert(relation.end(), distinct.size(), static_cast<int64_t>(r));
    relationPtr.push_back(static_cast<int64_t>(node.size()));
  }
  EXPECT_EQ(values(pairs.node), node);
  EXPECT_EQ(values(pairs.relation), relation);
  EXPECT_EQ(values(pairs.ofEdge), ofEdge);
  EXPECT_EQ(values(pairs.relationPtr), relationPtr);
}

/// Pointers that cut `count` rows into a large, an empty, a tiny and several mid-sized parts.
Ids unevenPtr(int64_t count) {
  return {0, count * 7 / 10, count * 7 / 10, count * 7 / 10 + 3, count * 8 / 10, count * 9 / 10, count, count};
}

class ThreadsTest : public testing::TestWithParam<int> {
protected:
  ThreadLimit limit{GetParam()};
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Threads, ThreadsTest, testing::Values(1, 5));

// Large enough to be dealt out to ranges and to several chunks, and to have a relation that all threads share.

TEST_P(ThreadsTest, LargeIndexMatchesSorting) {
  expectIndex<int32_t>(randomIds(1, 1'600'000, 300'000), 300'000);
}

TEST_P(ThreadsTest, WideLargeIndexMatchesSorting) {
  expectIndex<int64_t>(randomIds(2, 1'100'000, 70'001), 70'001);
}

TEST_P(ThreadsTest, IndexOfOneBusyNodeMatchesSorting) {
  Ids nodes = randomIds(3, 600'000, 100'000);
  std::fill(nodes.begin() + 1000, nodes.end() - 1000, 77'777);
  expectIndex<int32_t>(nodes, 100'000);
}

TEST_P(ThreadsTest, LargePairsMatchSorting) {
  expectPairs<int32_t>(randomIds(4, 1'600'000, 300'000), unevenPtr(1'600'000));
}

TEST_P(ThreadsTest, WideLargePairsMatchSorting) {
  expectPairs<int64_t>(randomIds(5, 1'600'000, 70'001), unevenPtr(1'600'000));
}

TEST_P(ThreadsTest, PairsOfFarApartNodesMatchSorting) {
  // Too far apart for a bitmap.
  Ids nodes = randomIds(6, 20'000, int64_t{1} << 40);
  nodes[5] = (int64_t{1} << 40) - 1;
  expectPairs<int64_t>(nodes, {0, 12'000, 12'010, 20'000});
}

TEST_P(ThreadsTest, DegreeOrderMatchesStableSorting) {
  // A few nodes beyond the degrees that have bins of their own, two of them equal.
  Ids degrees = randomIds(7, 700'000, 30);
  degrees[10] = 5000;
  degrees[600'000] = 70'000;
  degrees[20] = 5000;
  degrees[30] = 4095;
  Ids ptr(degrees.size() + 1);
  std::partial_sum(degrees.begin(), degrees.end(), ptr.begin() + 1);
  Ids falling(degrees.size());
  std::transform(degrees.begin(), degrees.end(), falling.begin(), std::negate<>());
  const Ids expected = sortedEdges(falling);
  std::vector<int32_t> narrow = as<int32_t>(ptr);
  EXPECT_EQ(values(degreeOrder(std::span<const int32_t>(narrow))), expected);
  EXPECT_EQ(values(degreeOrder(std::span<const int64_t>(ptr))), expected);
}

// Ids and sizes beyond 32 bits.

TEST(DerivedFormsTest, PairsKeepNodesBeyond32Bits) {
  const int64_t far = int64_t{1} << 35;
  Ids nodes;
  for (int64_t i = 0; i < 200; ++i)
    nodes.push_back(far + (i * 37) % 100);
  expectPairs<int64_t>(nodes, {0, 150, 200});
}

TEST(DerivedFormsTest, DegreesBeyond32BitsAreCompared) {
  const int64_t many = int64_t{1} << 33;
  Ids ptr = {0, 5, 5 + many, 5 + many + 1, 5 + many + 1 + many + 1};
  EXPECT_EQ(values(degreeOrder(std::span<const int64_t>(ptr))), (Ids{3, 1, 0, 2}));
}

TEST(DerivedFormsTest, TilesOfMoreRowsThan32BitsCount) {
  const int64_t rows = (int64_t{1} << 33) + 1, height = int64_t{1} << 32;
  Ids ptr = {0, rows, rows + 3};
  Tiles tiles = cutTiles(std::span<const int64_t>(ptr), height, rows + 4);
  EXPECT_EQ(values(tiles.type), (Ids{0, 0, 0, 1}));
  EXPECT_EQ(values(tiles.first), (Ids{0, height, 2 * height, rows}));
  EXPECT_EQ(values(tiles.rows), (Ids{height, height, 1, 3}));
}

// Small cases by hand.

TEST(DerivedFormsTest, DegreeOrderOfNothing) {
  Ids ptr = {0};
  EXPECT_EQ(degreeOrder(std::span<const int64_t>(ptr)).size(), 0);
}

TEST(DerivedFormsTest, TilesSkipEmptyTypesAndShortenTheLast) {
  Ids ptr = {0, 5, 5, 7, 11};
  Tiles tiles = cutTiles(std::span<const int64_t>(ptr), 4, 12);
  EXPECT_EQ(values(tiles.type), (Ids{0, 0, 2, 3}));
  EXPECT_EQ(values(tiles.first), (Ids{0, 4, 5, 7}));
  EXPECT_EQ(values(tiles.rows), (Ids{4, 1, 2, 4}));
  EXPECT_EQ(tiles.height, 4);
}

TEST(DerivedFormsTest, GraphCutsEachKindOfRow) {
  const Ids src = {5, 5, 3, 5}, dst = {1, 2, 2, 1}, etype = {0, 0, 0, 1}, ntypePtr = {0, 4, 8};
  Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, 2);
  ASSERT_TRUE(graph);
  EXPECT_EQ(values(graph->tiles(TileRows::Edges, 2).rows), (Ids{2, 1, 1}));
  EXPECT_EQ(values(graph->tiles(TileRows::SrcPairs, 2).rows), (Ids{2, 1}));
  EXPECT_EQ(values(graph->tiles(TileRows::DstPairs, 1).rows), (Ids{1, 1, 1}));
  EXPECT_EQ(values(graph->tiles(TileRows::Nodes, 3).first), (Ids{0, 3, 4, 7}));
  EXPECT_EQ(&graph->tiles(TileRows::Nodes, 3), &graph->tiles(TileRows::Nodes, 3));
}

TEST(DerivedFormsTest, GraphOrdersNodesByDegree) {
  const Ids src = {5, 5, 3, 5}, dst = {1, 2, 2, 0}, etype = {0, 0, 0, 1}, ntypePtr = {0, 6};
  for (IdWidth width : {IdWidth::Fitting, IdWidth::Wide}) {
    Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, 2, width);
    ASSERT_TRUE(graph);
    EXPECT_EQ(values(graph->outDegreeOrder()), (Ids{5, 3, 0, 1, 2, 4}));
    EXPECT_EQ(values(graph->inDegreeOrder()), (Ids{2, 0, 1, 3, 4, 5}));
  }
}

// Edges are checked chunk by chunk; these lie at the border of two chunks.

TEST(DerivedFormsTest, UnsortedTypesAcrossChunksAreFound) {
  const int64_t border = int64_t{1} << 18;
  Ids ends(border + 10), types(border + 10, 1);
  types[border] = 0;
  Result<Graph> graph = Graph::create(ends, ends, types, Ids{0, 1}, 2);
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->etypePtr()[1], 1);
  EXPECT_EQ(graph->edgeNumber(0), border);
  EXPECT_EQ(graph->edgeNumber(1), 0);
  EXPECT_EQ(graph->edgeNumber(border), border - 1);
  EXPECT_EQ(graph->edgeNumber(border + 1), border + 1);
}

TEST(DerivedFormsTest, TheFirstOfSeveralBadNodesIsReported) {
  const int64_t border = int64_t{1} << 18;
  Ids ends(border * 3), types(border * 3);
  ends[border * 2 + 1] = 7;
  ends[border + 5] = 9;
  ThreadLimit limit(4);
  Result<Graph> graph = Graph::create(ends, Ids(border * 3), types, Ids{0, 1}, 1);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.status().message(), "graph.src[262149] is 9; node ids are 0 to 0");
}
