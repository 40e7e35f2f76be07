#include "runtime/graph/GraphSummary.h"

#include <gtest/gtest.h>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

/// Node 3 has no edge; node 0 has two out-edges of one relation.
GraphSummary example(IdWidth width = IdWidth::Fitting) {
  const Ids src = {0, 0, 1, 0}, dst = {1, 2, 2, 2}, etype = {0, 0, 0, 2}, ntypePtr = {0, 3, 4};
  Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, 3, width);
  EXPECT_TRUE(graph);
  return summarize(*graph);
}

/// A star: nodes 1 .. n point at node 0.
GraphSummary star(int64_t n) {
  Ids src, dst(static_cast<size_t>(n)), etype(static_cast<size_t>(n));
  for (int64_t i = 1; i <= n; ++i)
    src.push_back(i);
  Result<Graph> graph = Graph::create(src, dst, etype, Ids{0, n + 1}, 1);
  EXPECT_TRUE(graph);
  return summarize(*graph);
}

}  // namespace

TEST(GraphSummaryTest, CountsByType) {
  GraphSummary summary = example();
  EXPECT_EQ(summary.nodes, 4);
  EXPECT_EQ(summary.edges, 4);
  ASSERT_EQ(summary.nodeTypes.size(), 2u);
  EXPECT_EQ(summary.nodeTypes[0].nodes, 3);
  ASSERT_EQ(summary.relations.size(), 3u);
  EXPECT_EQ(summary.relations[0].edges, 3);
  EXPECT_EQ(summary.relations[1].edges, 0);
  EXPECT_EQ(summary.relations[0].srcPairs, 2);
  EXPECT_EQ(summary.relations[2].dstPairs, 1);
}

TEST(GraphSummaryTest, PairRatiosAreByEdges) {
  EXPECT_DOUBLE_EQ(example().srcPairRatio(), 0.75);  // (0, r0), (1, r0), (0, r2)
  EXPECT_DOUBLE_EQ(example().dstPairRatio(), 0.75);
}

TEST(GraphSummaryTest, NodesWithoutAnEdgeAreIsolated) {
  EXPECT_EQ(example().isolated, 1);
}

TEST(GraphSummaryTest, DegreesOfAStar) {
  GraphSummary summary = star(299);
  EXPECT_EQ(summary.in.min, 0);
  EXPECT_EQ(summary.in.median, 0);
  EXPECT_EQ(summary.in.p99, 0);
  EXPECT_EQ(summary.in.max, 299);
  EXPECT_EQ(summary.out.min, 0);
  EXPECT_EQ(summary.out.median, 1);
  EXPECT_EQ(summary.out.max, 1);
  EXPECT_DOUBLE_EQ(summary.out.mean, 299.0 / 300);
}

TEST(GraphSummaryTest, HistogramBinsDouble) {
  GraphSummary summary = star(299);
  ASSERT_EQ(summary.in.bins.size(), 10u);
  EXPECT_EQ(summary.in.bins[0], 299);
  EXPECT_EQ(summary.in.bins[9], 1);  // 256 to 511
  EXPECT_EQ(binFirst(9), 256);
  EXPECT_EQ(binLast(9), 511);
  EXPECT_EQ(binFirst(0), 0);
  EXPECT_EQ(binLast(1), 1);
  EXPECT_EQ(binLast(63), INT64_MAX);
}

TEST(GraphSummaryTest, MedianIsTheLowerOfTwo) {
  EXPECT_EQ(example().out.median, 0);  // of 0 0 1 3
  EXPECT_EQ(star(2).out.median, 1);    // of 0 1 1
}

TEST(GraphSummaryTest, FormsCountTheirBytes) {
  GraphSummary narrow = example(), wide = example(IdWidth::Wide);
  ASSERT_EQ(narrow.forms.size(), 7u);
  EXPECT_EQ(narrow.forms[0].bytes, 3 * 4 * 4);
  EXPECT_EQ(narrow.forms[1].bytes, (5 + 4) * 4);
  EXPECT_EQ(narrow.forms[3].bytes, (3 + 3 + 4 + 4) * 4);
  EXPECT_EQ(narrow.forms[5].bytes, 2 * 4 * 4);
  EXPECT_EQ(narrow.forms[6].bytes, 2 * 3 * 4);  // relation 1 has no tile
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(wide.forms[i].bytes, 2 * narrow.forms[i].bytes);
}

TEST(GraphSummaryTest, NothingAtAll) {
  Result<Graph> graph = Graph::create({}, {}, {}, Ids{0}, 0);
  ASSERT_TRUE(graph);
  GraphSummary summary = summarize(*graph);
  EXPECT_EQ(summary.in.max, 0);
  EXPECT_TRUE(summary.in.bins.empty());
  EXPECT_EQ(summary.srcPairRatio(), 0);
}

TEST(GraphSummaryTest, RelationsWithoutEdgesAreNotListedWhereTheyAreTooMany) {
  const Ids src = {0, 1, 0}, dst = {1, 1, 1}, etype = {16'777'215, 3, 3};
  Result<Graph> graph = Graph::create(src, dst, etype, Ids{0, 2}, 16'777'216);
  ASSERT_TRUE(graph);
  GraphSummary summary = summarize(*graph);
  ASSERT_EQ(summary.relations.size(), 2u);
  EXPECT_EQ(summary.relations[0].id, 3);
  EXPECT_EQ(summary.relations[0].edges, 2);
  EXPECT_EQ(summary.relations[0].dstPairs, 1);
  EXPECT_EQ(summary.relations[1].id, 16'777'215);
  EXPECT_EQ(summary.numRelations(), 16'777'216);
  EXPECT_EQ(summary.srcPairs, 3);
  EXPECT_EQ(summary.forms[0].bytes, 4 * 3 * 4);                       // ends, types and numbers
  EXPECT_EQ(summary.forms[3].bytes, (3 + 3 + 3 + 16'777'217LL) * 4);  // pairs have a pointer for each relation
  EXPECT_LT(summaryBytes(*graph), 100'000);
}
