/// The orders that tables of edges and pairs may be kept in, against sorting.

#include "runtime/base/Parallel.h"
#include "runtime/graph/Graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>
#include <tuple>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

Ids values(const IdArray &array) {
  return array.visit([](auto ids) { return Ids(ids.begin(), ids.end()); });
}

constexpr EdgeOrder kOrders[] = {EdgeOrder::File, EdgeOrder::Type, EdgeOrder::Destination, EdgeOrder::Source};

/// Edges as a file has them.
struct Edges {
  std::string name;
  Ids src, dst, etype;
  int64_t numNodes = 0, numRelations = 0;

  Graph make(IdWidth width) const {
    Result<Graph> graph = Graph::create(src, dst, etype, Ids{0, numNodes}, numRelations, width);
    EXPECT_TRUE(graph) << graph.status().message();
    return *graph;
  }
  int64_t size() const { return static_cast<int64_t>(src.size()); }
  /// The numbers of the edges in an order.
  Ids in(EdgeOrder order) const {
    Ids numbers(src.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    auto key = [&](int64_t e) {
      return order == EdgeOrder::File          ? std::tuple(e, e, e)
             : order == EdgeOrder::Type        ? std::tuple(etype[e], e, e)
             : order == EdgeOrder::Destination ? std::tuple(dst[e], etype[e], e)
                                               : std::tuple(src[e], etype[e], e);
    };
    std::sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
    return numbers;
  }
};

Edges randomEdges(std::string name, int seed, int64_t numNodes, int64_t numEdges, int64_t numRelations) {
  std::mt19937_64 random(seed);
  // Squared, so that low ids are busier, and some nodes and relations stay empty.
  auto draw = [&](int64_t count) {
    const double x = std::uniform_real_distribution<>(0, 1)(random);
    return static_cast<int64_t>(x * x * static_cast<double>(count));
  };
  Edges edges{std::move(name), {}, {}, {}, numNodes, numRelations};
  for (int64_t e = 0; e < numEdges; ++e) {
    edges.src.push_back(draw(numNodes));
    edges.dst.push_back(draw(numNodes));
    edges.etype.push_back(draw(numRelations));
  }
  return edges;
}

Edges sorted(Edges edges) {
  edges.name += "Sorted";
  std::sort(edges.etype.begin(), edges.etype.end());
  return edges;
}

std::vector<Edges> unkindGraphs() {
  return {{"Nothing", {}, {}, {}, 0, 0},
          {"NoEdges", {}, {}, {}, 5, 3},
          {"OneEdge", {2}, {1}, {1}, 4, 3},
          {"Loop", {0}, {0}, {0}, 1, 1},
          {"Repeated", {3, 3, 3, 1, 3}, {1, 1, 1, 1, 1}, {1, 0, 1, 1, 0}, 5, 2},
          {"EmptyTypes", {0, 1, 2, 0}, {2, 2, 2, 2}, {4, 1, 4, 1}, 3, 6},
          randomEdges("Small", 1, 7, 40, 3),
          sorted(randomEdges("Small", 1, 7, 40, 3)),
          randomEdges("ManyTypes", 2, 50, 300, 90),
          randomEdges("MostlyIsolated", 3, 5000, 200, 4)};
}

class EdgeOrdersTest : public testing::TestWithParam<std::tuple<Edges, IdWidth>> {
protected:
  const Edges &edges = std::get<0>(GetParam());
  Graph graph = edges.make(std::get<1>(GetParam()));
  const bool isWide = std::get<1>(GetParam()) == IdWidth::Wide;
};

/// Expects that a permutation takes the numbers in one order to those in another; an empty one keeps them.
void expectPermutation(const Graph &graph, const Edges &edges, EdgeOrder from, EdgeOrder to) {
  const Ids before = edges.in(from), permutation = values(graph.edgePermutation(from, to));
  Ids after;
  for (int64_t place : permutation)
    after.push_back(before[place]);
  EXPECT_EQ(permutation.empty() ? before : after, edges.in(to))
      << static_cast<int>(from) << " to " << static_cast<int>(to);
}

/// The pairs at one end: distinct (node, type), with the number of edges of each.
std::map<std::pair<int64_t, int64_t>, int64_t> countPairs(const Ids &nodes, const Ids &etype) {
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (size_t e = 0; e < nodes.size(); ++e)
    ++counts[{nodes[e], etype[e]}];
  return counts;
}

void expectPairIndex(const PairIndex &index, const Pairs &pairs, const Ids &nodes, const Edges &edges) {
  const auto counts = countPairs(nodes, edges.etype);
  Ids ptr(static_cast<size_t>(edges.numNodes) + 1), ids, relation, edgePtr = {0}, places(counts.size());
  for (const auto &[pair, count] : counts) {  // by node, then by relation
    ++ptr[pair.first + 1];
    for (int64_t id = 0; id < pairs.count(); ++id)
      if (pairs.node[id] == pair.first && pairs.relation[id] == pair.second) {
        places[id] = static_cast<int64_t>(ids.size());
        ids.push_back(id);
      }
    relation.push_back(pair.second);
    edgePtr.push_back(edgePtr.back() + count);
  }
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
  EXPECT_EQ(values(index.ptr), ptr);
  EXPECT_EQ(values(index.pairs), ids);
  EXPECT_EQ(values(index.relation), relation);
  EXPECT_EQ(values(index.edgePtr), edgePtr);
  EXPECT_EQ(values(index.places), places);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Graphs, EdgeOrdersTest,
                         testing::Combine(testing::ValuesIn(unkindGraphs()),
                                          testing::Values(IdWidth::Fitting, IdWidth::Wide)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) == IdWidth::Wide ? "Wide" : "");
                         });

TEST_P(EdgeOrdersTest, PermutationsMatchSorting) {
  for (EdgeOrder from : kOrders)
    for (EdgeOrder to : kOrders)
      expectPermutation(graph, edges, from, to);
}

TEST_P(EdgeOrdersTest, RowsHaveAnEntryForEveryEdge) {
  for (EdgeOrder from : kOrders)
    for (EdgeOrder to : kOrders) {
      const Ids before = edges.in(from);
      Ids after;
      for (int64_t row : values(graph.edgeRows(from, to)))
        after.push_back(before[row]);
      EXPECT_EQ(after, edges.in(to)) << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
}

TEST_P(EdgeOrdersTest, FirstEdgesOfPairsHaveTheSmallestNumbers) {
  auto expectFirsts = [&](const IdArray &firsts, const Pairs &pairs, const Ids &nodes) {
    ASSERT_EQ(firsts.size(), pairs.count());
    EXPECT_EQ(firsts.isWide(), isWide);
    for (int64_t pair = 0; pair < pairs.count(); ++pair) {
      int64_t first = 0;
      while (nodes[first] != pairs.node[pair] || edges.etype[first] != pairs.relation[pair])
        ++first;
      EXPECT_EQ(firsts[pair], first);
    }
  };
  expectFirsts(graph.srcPairFirsts(), graph.srcPairs(), edges.src);
  expectFirsts(graph.dstPairFirsts(), graph.dstPairs(), edges.dst);
}

TEST_P(EdgeOrdersTest, TypesStartWhereTheirRowsDo) {
  auto expectStarts = [&](TileRows rows, const IdArray &typeOfRow, int64_t numTypes) {
    const IdArray &starts = graph.typeStarts(rows);
    ASSERT_EQ(starts.size(), numTypes + 1);
    EXPECT_EQ(starts.isWide(), isWide);
    for (int64_t type = 0; type < numTypes; ++type)
      for (int64_t row = starts[type]; row < starts[type + 1]; ++row)
        EXPECT_EQ(typeOfRow[row], type);
    EXPECT_EQ(starts[numTypes], typeOfRow.size());
  };
  expectStarts(TileRows::Edges, graph.etype(), edges.numRelations);
  expectStarts(TileRows::SrcPairs, graph.srcPairs().relation, edges.numRelations);
  expectStarts(TileRows::DstPairs, graph.dstPairs().relation, edges.numRelations);
  expectStarts(TileRows::Nodes, graph.ntypeOfNode(), 1);
}

TEST_P(EdgeOrdersTest, ColumnsAreWhatEdgesLeadTo) {
  for (EdgeOrder order : kOrders) {
    Ids src, dst, etype;
    for (int64_t number : edges.in(order)) {
      src.push_back(edges.src[number]);
      dst.push_back(edges.dst[number]);
      etype.push_back(edges.etype[number]);
    }
    EXPECT_EQ(values(graph.edgeColumn(EdgeColumn::Source, order)), src);
    EXPECT_EQ(values(graph.edgeColumn(EdgeColumn::Destination, order)), dst);
    EXPECT_EQ(values(graph.edgeColumn(EdgeColumn::Type, order)), etype);
    const IdArray &srcPair = graph.edgeColumn(EdgeColumn::SrcPair, order);
    const IdArray &dstPair = graph.edgeColumn(EdgeColumn::DstPair, order);
    const IdArray &srcPlace = graph.edgeColumn(EdgeColumn::SrcPairByNode, order);
    const IdArray &dstPlace = graph.edgeColumn(EdgeColumn::DstPairByNode, order);
    ASSERT_EQ(srcPair.size(), edges.size());
    ASSERT_EQ(dstPlace.size(), edges.size());
    for (int64_t i = 0; i < edges.size(); ++i) {
      EXPECT_EQ(graph.srcPairs().node[srcPair[i]], src[i]);
      EXPECT_EQ(graph.srcPairs().relation[srcPair[i]], etype[i]);
      EXPECT_EQ(graph.dstPairs().node[dstPair[i]], dst[i]);
      EXPECT_EQ(graph.dstPairs().relation[dstPair[i]], etype[i]);
      EXPECT_EQ(graph.srcPairsByNode().pairs[srcPlace[i]], srcPair[i]);
      EXPECT_EQ(graph.dstPairsByNode().pairs[dstPlace[i]], dstPair[i]);
    }
  }
}

TEST_P(EdgeOrdersTest, PairsByNodeMatchSorting) {
  expectPairIndex(graph.srcPairsByNode(), graph.srcPairs(), edges.src, edges);
  expectPairIndex(graph.dstPairsByNode(), graph.dstPairs(), edges.dst, edges);
}

TEST_P(EdgeOrdersTest, ArraysHaveTheWidthOfTheGraph) {
  EXPECT_EQ(graph.edgePermutation(EdgeOrder::Destination, EdgeOrder::Source).isWide(), isWide);
  EXPECT_EQ(graph.edgeColumn(EdgeColumn::SrcPairByNode, EdgeOrder::Destination).isWide(), isWide);
  EXPECT_EQ(graph.dstPairsByNode().edgePtr.isWide(), isWide);
}

// By hand: the edges at the top of Graph.h, 0:(5→1, r0), 1:(5→2, r0), 2:(3→2, r0), 3:(5→1, r1).

TEST(EdgeOrdersByHandTest, ExampleByHand) {
  const Edges edges = {"", {5, 5, 3, 5}, {1, 2, 2, 1}, {0, 0, 0, 1}, 6, 2};
  Graph graph = edges.make(IdWidth::Fitting);
  EXPECT_EQ(values(graph.edgePermutation(EdgeOrder::Type, EdgeOrder::Destination)), (Ids{0, 3, 1, 2}));
  EXPECT_EQ(values(graph.edgePermutation(EdgeOrder::Destination, EdgeOrder::Type)), (Ids{0, 2, 3, 1}));
  EXPECT_EQ(values(graph.edgePermutation(EdgeOrder::Destination, EdgeOrder::Source)), (Ids{3, 0, 2, 1}));
  EXPECT_EQ(graph.edgePermutation(EdgeOrder::File, EdgeOrder::Type).size(), 0);
  EXPECT_EQ(values(graph.edgeColumn(EdgeColumn::Source, EdgeOrder::Destination)), (Ids{5, 5, 5, 3}));
  EXPECT_EQ(values(graph.edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination)), (Ids{1, 2, 1, 0}));
  EXPECT_EQ(values(graph.dstPairsByNode().pairs), (Ids{0, 2, 1}));
  EXPECT_EQ(values(graph.dstPairsByNode().edgePtr), (Ids{0, 1, 2, 4}));
}

TEST(EdgeOrdersByHandTest, FormsAreBuiltOnceForAllThreads) {
  Graph graph = randomEdges("", 4, 100, 10'000, 5).make(IdWidth::Fitting);
  std::vector<std::thread> threads;
  std::vector<const IdArray *> seen(4);
  for (size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] { seen[i] = &graph.edgeColumn(EdgeColumn::SrcPairByNode, EdgeOrder::Destination); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1u);
}

// Large enough for several chunks.

TEST(EdgeOrdersByHandTest, AnyNumberOfThreadsGivesTheSame) {
  const Edges edges = randomEdges("", 5, 30'000, 900'000, 20);
  auto forms = [&](int threads) {
    ThreadLimit limit(threads);
    Graph graph = edges.make(IdWidth::Fitting);
    const PairIndex &pairs = graph.dstPairsByNode();
    return std::vector<Ids>{values(graph.edgePermutation(EdgeOrder::File, EdgeOrder::Source)),
                            values(graph.edgePermutation(EdgeOrder::Source, EdgeOrder::Destination)),
                            values(graph.edgeColumn(EdgeColumn::SrcPairByNode, EdgeOrder::Destination)),
                            values(pairs.edgePtr),
                            values(pairs.places),
                            values(graph.dstPairFirsts()),
                            values(graph.edgeRows(EdgeOrder::Type, EdgeOrder::Type))};
  };
  const std::vector<Ids> one = forms(1);
  EXPECT_EQ(one, forms(5));
  expectPermutation(edges.make(IdWidth::Fitting), edges, EdgeOrder::Source, EdgeOrder::Destination);
}
