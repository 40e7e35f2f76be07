#include "training/LinkTrain.h"

#include "training/Predict.h"
#include "training/Ranking.h"
#include "training/TestGraphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

namespace hector::training {
namespace {

/// 60 entities in 6 groups of 10. Relation `next` leads from each entity to all of the next group, `over` to those of
/// the group after that; with inverses. A tenth of the triples validates, a tenth tests.
GraphFile groups() {
  constexpr int64_t kEntities = 60;
  std::vector<int64_t> src, dst, type, split;
  for (int64_t relation = 0; relation < 4; ++relation)
    for (int64_t e = 0; e < kEntities; ++e)
      for (int64_t k = 0; k < 10; ++k) {
        const int64_t group = (e / 10 + 1 + relation % 2) % 6, other = 10 * group + k;
        src.push_back(relation < 2 ? e : other);
        dst.push_back(relation < 2 ? other : e);
        type.push_back(relation);
        const int64_t draw = (7 * e + 3 * k + 5 * (relation % 2)) % 10;
        split.push_back(draw == 0 ? 1 : draw == 5 ? 2 : 0);
      }
  TensorFile tensors;
  const auto numEdges = static_cast<int64_t>(src.size());
  tensors.tensors["graph.src"] = Tensor::fromInt64({numEdges}, src, DType::I32);
  tensors.tensors["graph.dst"] = Tensor::fromInt64({numEdges}, dst, DType::I32);
  tensors.tensors["graph.etype"] = Tensor::fromInt64({numEdges}, type, DType::I32);
  tensors.tensors["graph.ntype_ptr"] = Tensor::fromInt64({2}, std::vector<int64_t>{0, kEntities});
  tensors.tensors["edge.split"] = Tensor::fromInt64({numEdges}, split, DType::U8);
  tensors.metadata["hector.format"] = "graph/1";
  tensors.metadata["node_types"] = R"(["entity"])";
  tensors.metadata["edge_types"] =
      R"(["next", "over", {"name": "rev-next", "inverse_of": 0}, {"name": "rev-over", "inverse_of": 1}])";
  return graphOf(std::move(tensors));
}

Config links() {
  Config config;
  config.task = Task::Link;
  config.input.size = 16;
  config.optimiser.rate = 0.02;
  config.epochs = 150;
  config.evaluate = 50;
  config.link.batch = 200;
  config.link.negatives = 10;
  return config;
}

TrainResult train(const GraphFile &graph, const Config &config, std::optional<Checkpoint> resume = {}) {
  TrainOptions options;
  options.config = config;
  options.resume = std::move(resume);
  auto result = trainLinks(graph, options);
  EXPECT_TRUE(result) << result.status().message();
  return result ? std::move(*result) : TrainResult();
}

void expectSameBits(const Tensors &a, const Tensors &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a)
    EXPECT_EQ(std::memcmp(b.at(name).bytes, tensor.bytes, tensor.numBytes()), 0) << name;
}

/// The triples of some splits.
std::vector<Triple> triplesOf(const GraphFile &file, const std::set<int64_t> &splits) {
  const Graph &graph = file.graph;
  std::vector<Triple> triples;
  for (int64_t e = 0; e < graph.numEdges(); ++e)
    if (graph.etype()[e] < 2 && splits.contains(file.tensors.find("edge.split")->intAt(graph.edgeNumber(e))))
      triples.push_back({graph.src()[e], graph.etype()[e], graph.dst()[e]});
  return triples;
}

TEST(LinkTrainTest, LossFalls) {
  const TrainResult result = train(groups(), links());
  EXPECT_LT(result.checkpoint.history.back().loss, 0.8 * result.checkpoint.history.front().loss);
  EXPECT_TRUE(result.metrics.contains("test.mrr"));
  EXPECT_EQ(result.checkpoint.parameters.at("relation").shape, (std::vector<int64_t>{4, 16}));
}

TEST(LinkTrainTest, EncoderLearnsWhatNeighboursTell) {
  Config config = links();
  config.layers.resize(1);
  config.layers[0].model = "rgcn";
  config.layers[0].size = 16;
  const TrainResult result = train(groups(), config);
  // By chance, a rank among 60 entities gives 0.08.
  EXPECT_GT(result.metrics.at("test.mrr"), 0.4);
}

TEST(LinkTrainTest, ContinuedRunGivesTheSameBits) {
  Config config = links();
  config.epochs = 8;
  config.evaluate = 1;
  config.layers.resize(1);
  config.layers[0].model = "rgcn";
  config.layers[0].size = 8;
  config.layers[0].dropout = 0.2;
  const GraphFile graph = groups();
  const TrainResult whole = train(graph, config);
  Config half = config;
  half.epochs = 3;
  const TrainResult rest = train(graph, config, train(graph, half).checkpoint);
  expectSameBits(rest.checkpoint.parameters, whole.checkpoint.parameters);
  expectSameBits(rest.checkpoint.state, whole.checkpoint.state);
  expectSameBits(rest.checkpoint.best, whole.checkpoint.best);
  EXPECT_EQ(rest.checkpoint.bestEpoch, whole.checkpoint.bestEpoch);
}

TEST(LinkTrainTest, PredictsTheRowsThatTriplesAreScoredWith) {
  Config config = links();
  config.epochs = 20;
  config.layers.resize(1);
  config.layers[0].model = "rgcn";
  config.layers[0].size = 8;
  const GraphFile graph = groups();
  const TrainResult result = train(graph, config);
  auto prediction = predict(result.checkpoint, graph);
  ASSERT_TRUE(prediction) << prediction.status().message();
  const auto rows = [](const Tensor &tensor) {
    return std::span(reinterpret_cast<const float *>(tensor.bytes), static_cast<size_t>(tensor.numElements()));
  };
  const std::span<const float> relations = rows(result.checkpoint.chosen().at("relation"));
  const size_t half = relations.size() / 2;
  auto score = rankTriples(triplesOf(graph, {2}), KnownTriples(triplesOf(graph, {0, 1, 2})), rows(prediction->out),
                           relations.first(half), relations.last(half), prediction->width);
  ASSERT_TRUE(score);
  EXPECT_DOUBLE_EQ(score->mrr, result.metrics.at("test.mrr"));
}

TEST(LinkTrainTest, MessagesRunAlongAllEdgesWithoutASplit) {
  const GraphFile graph = plantedGraph();
  auto messages = messageGraph(graph);
  ASSERT_TRUE(messages);
  EXPECT_EQ(messages->graph.numEdges(), graph.graph.numEdges());
}

/// The edges of `groups` in another order, with a number each that depends on its ends.
GraphFile numberedGroups(bool isReversed) {
  GraphFile file = groups();
  TensorFile tensors = file.tensors;
  const int64_t numEdges = file.graph.numEdges();
  std::vector<double> w(static_cast<size_t>(numEdges));
  for (int64_t i = 0; i < numEdges; ++i) {
    const int64_t from = isReversed ? numEdges - 1 - i : i;
    const int64_t src = file.tensors.find("graph.src")->intAt(from), dst = file.tensors.find("graph.dst")->intAt(from);
    w[static_cast<size_t>(i)] = static_cast<double>(src % 7 + dst % 3) / 10;
  }
  if (isReversed)
    for (const char *name : {"graph.src", "graph.dst", "graph.etype", "edge.split"}) {
      const Tensor *given = file.tensors.find(name);
      std::vector<int64_t> values;
      for (int64_t i = numEdges - 1; i >= 0; --i)
        values.push_back(given->intAt(i));
      tensors.tensors[name] = Tensor::fromInt64({numEdges}, values, given->dtype);
    }
  tensors.tensors["w"] = Tensor::fromDoubles({numEdges}, w, DType::F32);
  return graphOf(std::move(tensors));
}

TEST(LinkTrainTest, EdgesThatTrainHaveRowsOfTheirOwn) {
  for (bool isReversed : {false, true}) {
    const GraphFile graph = numberedGroups(isReversed);
    auto messages = messageGraph(graph);
    ASSERT_TRUE(messages) << messages.status().message();
    ASSERT_TRUE(messages->edges);
    ASSERT_EQ(messages->edges->size(), static_cast<size_t>(messages->graph.numEdges()));
    ASSERT_LT(messages->graph.numEdges(), graph.graph.numEdges());
    for (int64_t e = 0; e < messages->graph.numEdges(); ++e) {
      const int64_t number = (*messages->edges)[static_cast<size_t>(messages->graph.edgeNumber(e))];
      EXPECT_EQ(graph.tensors.find("graph.src")->intAt(number), messages->graph.src()[e]);
      EXPECT_EQ(graph.tensors.find("graph.dst")->intAt(number), messages->graph.dst()[e]);
      EXPECT_EQ(graph.tensors.find("graph.etype")->intAt(number), messages->graph.etype()[e]);
      EXPECT_EQ(graph.tensors.find("edge.split")->intAt(number), 0);
    }
  }
}

TEST(LinkTrainTest, InputsOfEdgesDoNotDependOnTheirOrder) {
  const std::string path = testing::TempDir() + "/weighted.hec";
  std::ofstream(path) << "def weighted(g, x: Node[d_in], w: Edge[], W: EdgeType[d_in, d_out]):\n"
                         "    for n in g.nodes():\n"
                         "        n[\"out\"] = sum(e.w * (e.src.x * W[e.etype]) for e in n.incoming_edges())\n"
                         "    return n[\"out\"]\n";
  Config config = links();
  config.epochs = 2;
  config.layers.resize(1);
  config.layers[0].model = path;
  config.layers[0].size = 8;
  const TrainResult first = train(numberedGroups(false), config);
  auto rows = predict(first.checkpoint, numberedGroups(false)), moved = predict(first.checkpoint, numberedGroups(true));
  ASSERT_TRUE(rows) << rows.status().message();
  ASSERT_TRUE(moved) << moved.status().message();
  const std::vector<double> expected = rows->out.toDoubles(), found = moved->out.toDoubles();
  ASSERT_EQ(expected.size(), found.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(expected[i], found[i], 1e-5 * (1 + std::abs(expected[i]))) << i;
}

TEST(LinkTrainTest, ThePlanOfTheDecoderIsKept) {
  Config config = links();
  config.epochs = 1;
  config.passes = "none";
  const GraphFile graph = groups();
  Checkpoint checkpoint = train(graph, config).checkpoint;
  EXPECT_EQ(checkpoint.decoderPlan, "none");
  // It decides, not the passes that would be chosen now.
  config.passes = "default";
  config.epochs = 2;
  EXPECT_EQ(train(graph, config, checkpoint).checkpoint.decoderPlan, "none");
}

TEST(LinkTrainTest, RunWithoutLayersIsKeptAndContinued) {
  TrainOptions options;
  options.config = links();
  options.config.epochs = 2;
  options.checkpointPath = testing::TempDir() + "/links.safetensors";
  ASSERT_TRUE(trainLinks(groups(), options));
  auto kept = loadCheckpoint(options.checkpointPath);
  ASSERT_TRUE(kept) << kept.status().message();
  EXPECT_EQ(kept->epoch, 2);
  options.config.epochs = 3;
  EXPECT_EQ(train(groups(), options.config, *kept).checkpoint.epoch, 3);
}

TEST(LinkTrainTest, ContinuedRunsNeedTheirSplit) {
  Config config = links();
  config.epochs = 2;
  const Checkpoint begun = train(groups(), config).checkpoint;
  GraphFile other = groups();
  std::vector<int64_t> split;
  for (int64_t e = 0; e < other.graph.numEdges(); ++e)
    split.push_back(e % 1200 == 3 ? 2 : 0);  // the edge and its inverse
  other.tensors.tensors["edge.split"] = Tensor::fromInt64({other.graph.numEdges()}, split, DType::U8);
  TrainOptions options;
  options.config = config;
  options.config.epochs = 3;
  options.resume = begun;
  auto result = trainLinks(other, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(), "the graph's splits are not those that the run was begun with; give the same "
                                       "graph, or start a new run with --config");
}

TEST(LinkTrainTest, GraphsWithoutASplitOfEdges) {
  TrainOptions options;
  options.config = links();
  auto result = trainLinks(plantedGraph(), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.status().message(),
            "the graph does not say which edges train: it has no `edge.split`; import a folder "
            "with train, valid and test files");
}

}  // namespace
}  // namespace hector::training
