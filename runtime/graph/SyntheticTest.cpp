#include "runtime/graph/Synthetic.h"

#include "runtime/base/Parallel.h"
#include "runtime/graph/Graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

SyntheticOptions sized(int64_t nodes, int64_t nodeTypes, int64_t edges, int64_t edgeTypes) {
  SyntheticOptions options;
  options.nodes = nodes;
  options.nodeTypes = nodeTypes;
  options.edges = edges;
  options.edgeTypes = edgeTypes;
  return options;
}

TensorFile make(const SyntheticOptions &options) {
  Result<TensorFile> file = makeSynthetic(options);
  EXPECT_TRUE(file) << file.status().message();
  return file ? std::move(file).take() : TensorFile();
}

std::string errorOf(const SyntheticOptions &options) {
  Result<TensorFile> file = makeSynthetic(options);
  return file ? "no error" : file.status().message();
}

Ids ints(const TensorFile &file, const std::string &name) {
  const Tensor *tensor = file.find(name);
  EXPECT_TRUE(tensor) << name;
  Ids values;
  for (int64_t i = 0; tensor && i < tensor->numElements(); ++i)
    values.push_back(tensor->intAt(i));
  return values;
}

bool sameBytes(const TensorFile &a, const TensorFile &b) {
  return a.metadata == b.metadata &&
         std::equal(
             a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), [](const auto &x, const auto &y) {
               return x.first == y.first && x.second.dtype == y.second.dtype && x.second.shape == y.second.shape &&
                      std::memcmp(x.second.bytes, y.second.bytes, x.second.numBytes()) == 0;
             });
}

/// FNV-1a over everything, to notice a change of the bytes from one version or machine to the next.
uint64_t fingerprint(const TensorFile &file) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const auto &[name, tensor] : file.tensors)
    for (size_t i = 0; i < tensor.numBytes(); ++i)
      hash = (hash ^ static_cast<uint8_t>(tensor.bytes[i])) * 0x100000001b3;
  return hash;
}

SyntheticOptions planted() {
  SyntheticOptions options = sized(20'000, 3, 300'000, 12);
  options.features = 16;
  options.classes = 4;
  return options;
}

/// What a one-layer model may look at: the relation of each incoming edge, and its source's community as its features
/// show it.
struct Planted {
  TensorFile file = make(planted());
  Ids src = ints(file, "graph.src"), dst = ints(file, "graph.dst"), etype = ints(file, "graph.etype");
  Ids label = ints(file, "label"), labelNode = ints(file, "label.node");
  std::vector<double> x = file.find("x")->toDoubles();
  int64_t width = 16, classes = 4;

  /// The column group that stands out: columns j with j % classes == c belong to community c.
  int64_t community(int64_t node) const {
    std::vector<double> sum(static_cast<size_t>(classes));
    for (int64_t j = 0; j < width; ++j)
      sum[j % classes] += x[node * width + j];
    return std::max_element(sum.begin(), sum.end()) - sum.begin();
  }

  /// Trains a naive Bayes classifier on counts of `clue(edge)` over each node's incoming edges, from `split.train`, and
  /// returns its accuracy on `split.test`. A clue of -1 is not counted.
  double accuracy(int64_t numClues, const std::function<int64_t(int64_t edge)> &clue,
                  const std::function<int64_t(int64_t node)> &ownClue = {}) const {
    std::map<int64_t, int64_t> classOf;
    for (size_t i = 0; i < label.size(); ++i)
      classOf[labelNode[i]] = label[i];
    std::map<int64_t, std::vector<int64_t>> clues;
    for (size_t e = 0; e < dst.size(); ++e)
      if (classOf.count(dst[e]) && clue)
        clues[dst[e]].push_back(clue(static_cast<int64_t>(e)));
    if (ownClue)
      for (int64_t node : labelNode)
        clues[node].push_back(ownClue(node));
    std::vector<std::vector<double>> counts(static_cast<size_t>(classes),
                                            std::vector<double>(static_cast<size_t>(numClues), 1));
    for (int64_t node : ints(file, "split.train"))
      for (int64_t c : clues[node])
        ++counts[classOf[node]][c];
    int64_t right = 0;
    const Ids test = ints(file, "split.test");
    for (int64_t node : test) {
      std::vector<double> score(static_cast<size_t>(classes));
      for (int64_t y = 0; y < classes; ++y) {
        double total = 0;
        for (double count : counts[y])
          total += count;
        for (int64_t c : clues[node])
          score[y] += std::log(counts[y][c] / total);
      }
      right += std::max_element(score.begin(), score.end()) - score.begin() == classOf[node];
    }
    return static_cast<double>(right) / static_cast<double>(test.size());
  }
};

const Planted &plantedGraph() {
  static const Planted graph;
  return graph;
}

/// A quarter, and four standard deviations of what guessing gives.
double luckiestGuess() {
  const auto n = static_cast<double>(ints(plantedGraph().file, "split.test").size());
  return 0.25 + 4 * std::sqrt(0.25 * 0.75 / n);
}

}  // namespace

// Same seed, same bytes.

TEST(SyntheticTest, SameSeedSameBytes) {
  EXPECT_TRUE(sameBytes(make(planted()), make(planted())));
}

TEST(SyntheticTest, ThreadsDoNotMatter) {
  TensorFile one, many;
  {
    ThreadLimit limit(1);
    one = make(planted());
  }
  ThreadLimit limit(5);
  EXPECT_TRUE(sameBytes(one, make(planted())));
}

TEST(SyntheticTest, AnotherSeedAnotherGraph) {
  SyntheticOptions other = planted();
  other.seed = 1;
  EXPECT_NE(ints(make(other), "graph.src"), plantedGraph().src);
}

TEST(SyntheticTest, BytesStayTheSameFromVersionToVersion) {
  SyntheticOptions options = planted();
  options.skew = 1.7;  // by our own power function
  EXPECT_EQ(fingerprint(make(options)), 17974385168087039437u);
}

// The law.

TEST(SyntheticTest, NamedGraphsHaveThePapersCounts) {
  ASSERT_EQ(namedGraphs().size(), 8u);
  const NamedGraph *mutag = findNamedGraph("mutag");
  ASSERT_TRUE(mutag);
  TensorFile file = make(sized(mutag->nodes, mutag->nodeTypes, mutag->edges, mutag->edgeTypes));
  Result<Graph> graph = Graph::fromTensors(file);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(graph->numNodes(), 27'163);
  EXPECT_EQ(graph->numNodeTypes(), 5);
  EXPECT_EQ(graph->numEdges(), 148'100);
  EXPECT_EQ(graph->numRelations(), 50);
  EXPECT_FALSE(findNamedGraph("cora"));
}

TEST(SyntheticTest, TypesShareByTheirRank) {
  TensorFile file = make(sized(100'000, 4, 200'000, 10));
  Result<Graph> graph = Graph::fromTensors(file);
  ASSERT_TRUE(graph);
  const double nodeSum = 1 + 1. / 2 + 1. / 3 + 1. / 4;
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_NEAR(static_cast<double>(graph->ntypePtr()[k + 1] - graph->ntypePtr()[k]),
                100'000 / nodeSum / static_cast<double>(k + 1), 4);
  double edgeSum = 0;
  for (int k = 1; k <= 10; ++k)
    edgeSum += std::pow(k, -0.9);
  for (int64_t k = 0; k < 10; ++k)
    EXPECT_NEAR(static_cast<double>(graph->etypePtr()[k + 1] - graph->etypePtr()[k]),
                200'000 / edgeSum * std::pow(static_cast<double>(k + 1), -0.9), 10);
}

TEST(SyntheticTest, EachEdgeTypeJoinsTwoNodeTypes) {
  Result<Graph> graph = Graph::fromTensors(make(sized(1000, 7, 50'000, 60)));
  ASSERT_TRUE(graph);
  Result<IdArray> src = graph->srcTypeOfRelation(), dst = graph->dstTypeOfRelation();
  ASSERT_TRUE(src && dst);
  EXPECT_EQ((*src)[0], 0);
  EXPECT_EQ((*dst)[0], 0);
  std::set<int64_t> seen;
  for (int64_t r = 0; r < 60; ++r)
    seen.insert((*src)[r]);
  EXPECT_EQ(seen.size(), 7u);
}

TEST(SyntheticTest, BusiestNodesFollowTheSquare) {
  // Ranks below f * span take sqrt(f) of the ends.
  Result<Graph> graph = Graph::fromTensors(make(sized(10'000, 1, 1'000'000, 1)));
  ASSERT_TRUE(graph);
  const IdArray &order = graph->outDegreeOrder();
  const IdArray &ptr = graph->outgoing().ptr;
  double busiest = 0;
  for (int64_t i = 0; i < 100; ++i)
    busiest += static_cast<double>(ptr[order[i] + 1] - ptr[order[i]]);
  EXPECT_NEAR(busiest / 1e6, std::sqrt(0.01), 0.002);
}

TEST(SyntheticTest, SkewOfOneIsUniform) {
  SyntheticOptions options = sized(1000, 1, 1'000'000, 1);
  options.skew = 1;
  Result<Graph> graph = Graph::fromTensors(make(options));
  ASSERT_TRUE(graph);
  const IdArray &ptr = graph->incoming().ptr;
  for (int64_t node = 0; node < 1000; ++node)
    EXPECT_NEAR(static_cast<double>(ptr[node + 1] - ptr[node]), 1000, 6 * std::sqrt(1000.0));
}

TEST(SyntheticTest, FractionalSkewLiesBetween) {
  SyntheticOptions options = sized(10'000, 1, 1'000'000, 1);
  options.skew = 1.5;
  Result<Graph> graph = Graph::fromTensors(make(options));
  ASSERT_TRUE(graph);
  const IdArray &order = graph->outDegreeOrder();
  const IdArray &ptr = graph->outgoing().ptr;
  double busiest = 0;
  for (int64_t i = 0; i < 1000; ++i)
    busiest += static_cast<double>(ptr[order[i] + 1] - ptr[order[i]]);
  EXPECT_NEAR(busiest / 1e6, std::pow(0.1, 1 / 1.5), 0.005);
}

TEST(SyntheticTest, BusyNodesAreSpreadOverTheIds) {
  Result<Graph> graph = Graph::fromTensors(make(sized(10'000, 1, 1'000'000, 1)));
  ASSERT_TRUE(graph);
  int64_t low = 0;
  for (int64_t i = 0; i < 1000; ++i)
    low += graph->outDegreeOrder()[i] < 5000;
  EXPECT_NEAR(static_cast<double>(low), 500, 60);
}

TEST(SyntheticTest, MoreTypesThanShares) {
  // By shares the last types would have less than one node; each gets one all the same.
  Result<Graph> graph = Graph::fromTensors(make(sized(6, 5, 8, 8)));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->numNodes(), 6);
  for (int64_t k = 0; k < 5; ++k)
    EXPECT_GE(graph->ntypePtr()[k + 1] - graph->ntypePtr()[k], 1);
  for (int64_t r = 0; r < 8; ++r)
    EXPECT_EQ(graph->etypePtr()[r + 1] - graph->etypePtr()[r], 1);
}

// Planted classes.

TEST(PlantedTest, RelationsAndCommunitiesTogetherTellTheClass) {
  const Planted &g = plantedGraph();
  EXPECT_GT(g.accuracy(12 * 4, [&](int64_t e) { return g.etype[e] * 4 + g.community(g.src[e]); }), 0.85);
}

TEST(PlantedTest, CommunitiesWithoutRelationsTellNothing) {
  const Planted &g = plantedGraph();
  EXPECT_LT(g.accuracy(4, [&](int64_t e) { return g.community(g.src[e]); }), luckiestGuess());
}

TEST(PlantedTest, RelationsWithoutFeaturesTellNothing) {
  const Planted &g = plantedGraph();
  EXPECT_LT(g.accuracy(12, [&](int64_t e) { return g.etype[e]; }), luckiestGuess());
}

TEST(PlantedTest, OwnFeaturesTellNothing) {
  const Planted &g = plantedGraph();
  EXPECT_LT(g.accuracy(4, {}, [&](int64_t node) { return g.community(node); }), luckiestGuess());
}

TEST(PlantedTest, LabelsAndSplitsFitTogether) {
  const Planted &g = plantedGraph();
  const Ids train = ints(g.file, "split.train"), valid = ints(g.file, "split.valid"), test = ints(g.file, "split.test");
  Ids all = train;
  all.insert(all.end(), valid.begin(), valid.end());
  all.insert(all.end(), test.begin(), test.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, g.labelNode);
  EXPECT_EQ(static_cast<int64_t>(train.size()), static_cast<int64_t>(all.size()) * 6 / 10);
  EXPECT_EQ(std::set(g.label.begin(), g.label.end()), (std::set<int64_t>{0, 1, 2, 3}));
  EXPECT_LT(g.labelNode.back(), ints(g.file, "graph.ntype_ptr")[1]);
}

TEST(PlantedTest, FeaturesHaveTheNoiseAskedFor) {
  const Planted &g = plantedGraph();
  double sum = 0, squares = 0;
  int64_t count = 0;
  for (int64_t node = 0; node < 20'000; ++node)
    for (int64_t j = 0, c = g.community(node); j < 16; ++j)
      if (j % 4 != c) {
        double value = g.x[node * 16 + j];
        sum += value;
        squares += value * value;
        ++count;
      }
  EXPECT_NEAR(sum / static_cast<double>(count), 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 0.5, 0.02);
}

// What the file says of itself.

TEST(SyntheticTest, SourceIsTheCommandThatMakesItAgain) {
  SyntheticOptions options = planted();
  options.skew = 1.5;
  options.seed = 18'446'744'073'709'551'615u;
  EXPECT_EQ(make(options).metadata["source"],
            "hector data make --nodes 20000 --node-types 3 --edges 300000 --edge-types 12 --skew 1.5 --features 16 "
            "--classes 4 --seed 18446744073709551615");
}

TEST(SyntheticTest, TypesHaveNames) {
  TensorFile file = make(sized(10, 2, 5, 1));
  EXPECT_EQ(file.metadata["hector.format"], "graph/1");
  EXPECT_EQ(file.metadata["node_types"], R"(["n0","n1"])");
  EXPECT_EQ(file.metadata["edge_types"], R"([{"name":"r0","src":"n0","dst":"n0"}])");
}

TEST(SyntheticTest, IdsAreNarrowWhereTheyFit) {
  TensorFile file = make(sized(int64_t{1} << 31, 1, 10, 1));
  EXPECT_EQ(file.find("graph.src")->dtype, DType::I32);
  file = make(sized((int64_t{1} << 31) + 1, 1, 10, 1));
  EXPECT_EQ(file.find("graph.src")->dtype, DType::I64);
}

TEST(SyntheticTest, NodesBeyond32BitsAreReached) {
  const Ids src = ints(make(sized(int64_t{1} << 40, 1, 1000, 1)), "graph.src");
  EXPECT_GT(*std::max_element(src.begin(), src.end()), int64_t{1} << 39);
  EXPECT_LT(*std::max_element(src.begin(), src.end()), int64_t{1} << 40);
  EXPECT_GE(*std::min_element(src.begin(), src.end()), 0);
}

TEST(SyntheticTest, SpanDivisibleByTheMultiplierStillSpreads) {
  const Ids src = ints(make(sized(2654435761, 1, 1000, 1)), "graph.src");
  EXPECT_GT(std::set(src.begin(), src.end()).size(), 900u);
}

TEST(SyntheticTest, StopsWhenToldTo) {
  Result<TensorFile> file = makeSynthetic(planted(), [](int64_t, int64_t) { return false; });
  EXPECT_FALSE(file);
}

TEST(SyntheticTest, ProgressEndsAtTheTotal) {
  std::mutex mutex;
  int64_t last = 0, all = 0;
  Result<TensorFile> file = makeSynthetic(planted(), [&](int64_t done, int64_t total) {
    std::lock_guard lock(mutex);
    last = std::max(last, done);
    all = total;
    return true;
  });
  EXPECT_TRUE(file);
  EXPECT_EQ(all, 320'000);
  EXPECT_EQ(last, all);
}

// What is refused.

TEST(SyntheticError, FewerNodesThanTypes) {
  EXPECT_EQ(errorOf(sized(3, 5, 10, 1)), "--nodes is 3, but --node-types is 5; every type needs a node");
}

TEST(SyntheticError, FewerEdgesThanTypes) {
  EXPECT_EQ(errorOf(sized(3, 1, 10, 11)), "--edges is 10, but --edge-types is 11; every type needs an edge");
}

TEST(SyntheticError, NothingAsked) {
  EXPECT_EQ(errorOf(sized(0, 1, 10, 1)), "--nodes is 0; it must be 1 to 1099511627776");
}

TEST(SyntheticError, OneClass) {
  SyntheticOptions options = planted();
  options.classes = 1;
  EXPECT_EQ(errorOf(options), "--classes is 1; planted classes are at least 2, or 0 for none");
}

TEST(SyntheticError, MoreClassesThanEdgeTypes) {
  SyntheticOptions options = planted();
  options.classes = 13;
  EXPECT_EQ(errorOf(options), "--classes is 13, but --edge-types is 12; each class needs an edge type of its own to "
                              "hide among");
}

TEST(SyntheticError, MoreClassesThanColumns) {
  SyntheticOptions options = planted();
  options.features = 3;
  EXPECT_EQ(errorOf(options), "--classes is 4, but --features is 3; each class needs a column to show its community");
}

TEST(SyntheticError, TooFewEdgesForLabels) {
  SyntheticOptions options = planted();
  options.edges = 50;
  EXPECT_EQ(errorOf(options), "only 0 nodes have 4 edges that tell their class; 4 classes need at least 40: raise "
                              "--edges or lower --classes");
}

TEST(SyntheticError, SkewThatIsNoNumber) {
  SyntheticOptions options = planted();
  options.skew = std::nan("");
  EXPECT_EQ(errorOf(options), "--skew must be 0 to 100");
}
