#include "training/Train.h"

#include "training/Predict.h"
#include "training/TestGraphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

namespace hector::training {
namespace {

/// Two layers of R-GCN.
Config rgcn(int64_t size = 8) {
  Config config;
  config.layers.resize(2);
  config.layers[0].model = config.layers[1].model = "rgcn";
  config.layers[0].size = size;
  config.layers[0].activation = Activation::Relu;
  config.epochs = 40;
  return config;
}

TrainResult train(const GraphFile &graph, const Config &config, std::optional<Checkpoint> resume = {}) {
  TrainOptions options;
  options.config = config;
  options.resume = std::move(resume);
  auto result = trainClasses(graph, options);
  EXPECT_TRUE(result) << result.status().message();
  return result ? std::move(*result) : TrainResult();
}

std::string failure(const GraphFile &graph, const Config &config, std::optional<Checkpoint> resume = {}) {
  TrainOptions options;
  options.config = config;
  options.resume = std::move(resume);
  auto result = trainClasses(graph, options);
  EXPECT_FALSE(result);
  return result ? "" : result.status().message();
}

void expectSameBits(const Tensors &a, const Tensors &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a) {
    const Tensor &other = b.at(name);
    ASSERT_EQ(tensor.shape, other.shape) << name;
    EXPECT_EQ(std::memcmp(tensor.bytes, other.bytes, tensor.numBytes()), 0) << name;
  }
}

TEST(TrainTest, LearnsClassesThatOnlyRelationsAndFeaturesTell) {
  const TrainResult result = train(plantedGraph(), rgcn(16));
  EXPECT_EQ(result.reason, StopReason::Done);
  EXPECT_GT(result.metrics.at("test.accuracy"), result.majority + 0.3);
  ASSERT_TRUE(result.confusion);
  EXPECT_DOUBLE_EQ(result.confusion->accuracy(), result.metrics.at("test.accuracy"));
}

TEST(TrainTest, LearnsEmbeddings) {
  Config config = rgcn();
  config.input.kind = InputKind::Embedding;
  config.input.size = 4;
  const TrainResult result = train(plantedGraph(), config);
  EXPECT_EQ(result.checkpoint.parameters.at("embedding").shape, (std::vector<int64_t>{600, 4}));
  EXPECT_GT(result.metrics.at("train.accuracy"), 0.9);
}

TEST(TrainTest, SameRunGivesTheSameBitsWithAnyNumberOfThreads) {
  Config config = rgcn();
  config.layers[0].dropout = 0.3;
  config.epochs = 5;
  config.threads = 1;
  const GraphFile graph = plantedGraph();
  const TrainResult one = train(graph, config);
  config.threads = 3;
  expectSameBits(train(graph, config).checkpoint.parameters, one.checkpoint.parameters);
}

TEST(TrainTest, OtherSeedGivesOtherParameters) {
  Config config = rgcn();
  config.epochs = 1;
  const GraphFile graph = plantedGraph();
  const TrainResult one = train(graph, config);
  config.seed = 1;
  const Tensor &w = one.checkpoint.parameters.at("layer1.W");
  EXPECT_NE(std::memcmp(train(graph, config).checkpoint.parameters.at("layer1.W").bytes, w.bytes, w.numBytes()), 0);
}

TEST(TrainTest, ContinuedRunGivesTheSameBits) {
  Config config = rgcn();
  config.layers[0].dropout = 0.3;
  config.layers[0].norm = Norm::Layer;
  config.schedule.kind = ScheduleKind::Cosine;
  config.epochs = 9;
  const GraphFile graph = plantedGraph();
  const TrainResult whole = train(graph, config);

  // Stopped in the middle, through a file.
  const std::string path = testing::TempDir() + "/continued.safetensors";
  TrainOptions options;
  options.config = config;
  options.config.checkpoint = 4;
  options.checkpointPath = path;
  int64_t seen = 0;
  TrainEvents events;
  events.onEpoch = [&](const EpochRecord &record) {
    seen = record.epoch;
    if (record.epoch == 6)  // after the checkpoint of epoch 4
      std::filesystem::copy_file(path, path + ".kept", std::filesystem::copy_options::overwrite_existing);
  };
  ASSERT_TRUE(trainClasses(graph, options, events));
  EXPECT_EQ(seen, 9);
  auto kept = loadCheckpoint(path + ".kept");
  ASSERT_TRUE(kept) << kept.status().message();
  EXPECT_EQ(kept->epoch, 4);
  const TrainResult rest = train(graph, config, *kept);
  expectSameBits(rest.checkpoint.parameters, whole.checkpoint.parameters);
  expectSameBits(rest.checkpoint.state, whole.checkpoint.state);
  expectSameBits(rest.checkpoint.best, whole.checkpoint.best);
  EXPECT_EQ(rest.checkpoint.bestEpoch, whole.checkpoint.bestEpoch);
  EXPECT_EQ(rest.checkpoint.history.size(), 9U);
}

TEST(TrainTest, StopsAfterPatience) {
  Config config = rgcn();
  config.patience = 3;
  config.epochs = 500;
  const TrainResult result = train(plantedGraph(), config);
  EXPECT_EQ(result.reason, StopReason::Patience);
  EXPECT_EQ(result.stoppedAt, result.checkpoint.bestEpoch + 3);
  EXPECT_FALSE(result.checkpoint.best.empty());
}

TEST(TrainTest, DivergingLossKeepsTheLastCheckpoint) {
  Config config = rgcn();
  config.optimiser.kind = OptimiserKind::Sgd;
  config.optimiser.rate = 1e20;
  config.checkpoint = 1;
  TrainOptions options;
  options.config = config;
  options.checkpointPath = testing::TempDir() + "/diverging.safetensors";
  auto result = trainClasses(plantedGraph(), options);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_EQ(result->reason, StopReason::Diverged);
  auto kept = loadCheckpoint(options.checkpointPath);
  ASSERT_TRUE(kept) << kept.status().message();
  EXPECT_LT(kept->epoch, result->stoppedAt);
}

TEST(TrainTest, SetsNodesApartToValidate) {
  TensorFile tensors = plantedTensors();
  tensors.tensors.erase("split.valid");
  Config config = rgcn();
  config.epochs = 2;
  const GraphFile graph = graphOf(std::move(tensors));
  EXPECT_FALSE(train(graph, config).metrics.contains("valid.accuracy"));
  config.validShare = 0.25;
  EXPECT_TRUE(train(graph, config).metrics.contains("valid.accuracy"));
}

TEST(TrainTest, SeveralClassesPerNode) {
  TensorFile tensors = plantedTensors();
  const Tensor label = tensors.tensors.at("label");
  std::vector<double> rows;
  for (int64_t i = 0; i < label.numElements(); ++i)
    for (int64_t c = 0; c < 3; ++c)
      rows.push_back(label.intAt(i) == c || c == 2 ? 1 : 0);  // every node is of class 2 as well
  tensors.tensors["label"] = Tensor::fromDoubles({label.numElements(), 3}, rows, DType::F32);
  Config config = rgcn(16);
  config.epochs = 80;
  const TrainResult result = train(graphOf(std::move(tensors)), config);
  EXPECT_GT(result.metrics.at("test.micro_f1"), 0.8);
  EXPECT_FALSE(result.confusion);
}

/// The planted graph with features by type, the second type's cut to `width` columns.
TensorFile featuresByType(int64_t width) {
  TensorFile tensors = plantedTensors();
  const Tensor x = tensors.tensors.at("x");
  const std::vector<double> values = x.toDoubles();
  const Tensor ptr = tensors.tensors.at("graph.ntype_ptr");
  const std::string names[] = {"n0", "n1"};
  for (int64_t k = 0; k < 2; ++k) {
    const int64_t columns = k == 0 ? x.shape[1] : width;
    std::vector<double> part;
    for (int64_t node = ptr.intAt(k); node < ptr.intAt(k + 1); ++node)
      for (int64_t c = 0; c < columns; ++c)
        part.push_back(values[static_cast<size_t>(node * x.shape[1] + c)]);
    if (columns > 0)
      tensors.tensors["feat." + names[k]] =
          Tensor::fromDoubles({ptr.intAt(k + 1) - ptr.intAt(k), columns}, part, DType::F32);
  }
  tensors.tensors.erase("x");
  return tensors;
}

TEST(TrainTest, FeaturesOfDifferentWidthsAreProjectedByType) {
  Config config = rgcn(16);
  config.input.size = 10;
  const TrainResult result = train(graphOf(featuresByType(7)), config);
  EXPECT_EQ(result.checkpoint.parameters.at("input.n0.W").shape, (std::vector<int64_t>{12, 10}));
  EXPECT_EQ(result.checkpoint.parameters.at("input.n1.W").shape, (std::vector<int64_t>{7, 10}));
  EXPECT_GT(result.metrics.at("test.accuracy"), result.majority + 0.2);
}

TEST(TrainTest, TypesWithoutFeaturesHaveEmbeddings) {
  Config config = rgcn(16);
  const TrainResult result = train(graphOf(featuresByType(0)), config);
  EXPECT_TRUE(result.checkpoint.parameters.contains("input.n0.W"));
  EXPECT_EQ(result.checkpoint.parameters.at("input.n1.embedding").shape[1], 16);
  EXPECT_GT(result.metrics.at("train.accuracy"), 0.9);
}

TEST(TrainTest, ProjectionsByTypeLearnAsOneTableDoes) {
  // One table of features, and the same by type, with the same start: the same losses.
  Config config = rgcn();
  config.input.size = 5;
  config.epochs = 6;
  const TrainResult whole = train(plantedGraph(), config);
  const GraphFile graph = graphOf(featuresByType(12));
  Config one = config;
  one.epochs = 1;
  Checkpoint start = train(graph, one).checkpoint;
  start.epoch = 0;
  start.history.clear();
  start.best.clear();
  start.bestEpoch = 0;
  for (auto &[name, tensor] : start.state)
    tensor =
        Tensor::fromDoubles(tensor.shape, std::vector<double>(static_cast<size_t>(tensor.numElements())), DType::F32);
  // The start of `whole`, which its seed gives.
  Config none = config;
  none.optimiser.kind = OptimiserKind::Sgd;
  none.optimiser.rate = 1e-30;
  none.epochs = 1;
  const Tensors first = train(plantedGraph(), none).checkpoint.parameters;
  for (auto &[name, tensor] : start.parameters)
    if (!name.starts_with("input."))
      tensor = first.at(name);
  for (int64_t k = 0; k < 2; ++k)
    for (const char *part : {"W", "bias"}) {
      const Tensor &all = first.at(std::string("input.") + part);
      Tensor slice = all;
      slice.shape.erase(slice.shape.begin());
      slice.bytes += static_cast<size_t>(k) * slice.numBytes();
      start.parameters.at("input.n" + std::to_string(k) + "." + part) = slice;
    }
  start.config = config;
  const TrainResult parts = train(graph, config, start);
  ASSERT_EQ(parts.checkpoint.history.size(), whole.checkpoint.history.size());
  for (size_t i = 0; i < whole.checkpoint.history.size(); ++i)
    EXPECT_NEAR(parts.checkpoint.history[i].loss, whole.checkpoint.history[i].loss, 1e-4) << "epoch " << i + 1;
}

TEST(TrainTest, PredictsWhatTrainingSaw) {
  const GraphFile graph = plantedGraph();
  const TrainResult result = train(graph, rgcn());
  auto prediction = predict(result.checkpoint, graph, {.withHidden = true});
  ASSERT_TRUE(prediction) << prediction.status().message();
  EXPECT_EQ(prediction->out.shape, (std::vector<int64_t>{600, 3}));
  EXPECT_EQ(prediction->hidden.shape, (std::vector<int64_t>{600, 8}));
  const std::vector<int64_t> classes =
      predictedClasses({reinterpret_cast<const float *>(prediction->out.bytes), 1800}, 3);
  int64_t right = 0;
  const Tensor test = *graph.tensors.find("split.test"), label = *graph.tensors.find("label"),
               node = *graph.tensors.find("label.node");
  std::vector<int64_t> truth(600, -1);
  for (int64_t i = 0; i < node.numElements(); ++i)
    truth[static_cast<size_t>(node.intAt(i))] = label.intAt(i);
  for (int64_t i = 0; i < test.numElements(); ++i)
    right += classes[static_cast<size_t>(test.intAt(i))] == truth[static_cast<size_t>(test.intAt(i))];
  EXPECT_DOUBLE_EQ(static_cast<double>(right) / static_cast<double>(test.numElements()),
                   result.metrics.at("test.accuracy"));
}

TEST(TrainTest, PredictsOnAGraphWithOtherNodes) {
  const TrainResult result = train(plantedGraph(), rgcn());
  SyntheticOptions other = {
      .name = "other", .nodes = 300, .nodeTypes = 2, .edges = 2000, .edgeTypes = 8, .features = 12, .classes = 3};
  auto tensors = makeSynthetic(other);
  ASSERT_TRUE(tensors);
  auto prediction = predict(result.checkpoint, graphOf(std::move(*tensors)));
  ASSERT_TRUE(prediction) << prediction.status().message();
  EXPECT_EQ(prediction->out.shape, (std::vector<int64_t>{300, 3}));
}

TEST(TrainTest, RefusesToPredictWhereParametersDoNotFit) {
  Config config = rgcn();
  config.input.kind = InputKind::Embedding;
  config.epochs = 1;
  const TrainResult result = train(plantedGraph(), config);
  SyntheticOptions other = {
      .name = "other", .nodes = 300, .nodeTypes = 2, .edges = 2000, .edgeTypes = 8, .features = 12, .classes = 3};
  auto fewer = makeSynthetic(other);
  ASSERT_TRUE(fewer);
  EXPECT_EQ(predict(result.checkpoint, graphOf(std::move(*fewer))).status().message(),
            "the parameter `embedding` of the checkpoint has shape [600, 8], but the graph needs [300, 8]; nodes have "
            "embeddings, so a graph of other nodes needs training of its own");
  other.edgeTypes = 7;
  auto types = makeSynthetic(other);
  ASSERT_TRUE(types);
  EXPECT_EQ(predict(result.checkpoint, graphOf(std::move(*types))).status().message(),
            "the graph has 7 edge types, but the parameters were trained for 8");
}

// --- what is refused
// --------------------------------------------------------------------------------------------------

TEST(TrainTest, GraphsWithoutLabels) {
  TensorFile tensors = plantedTensors();
  for (const char *name : {"label", "label.node", "split.train", "split.valid", "split.test"})
    tensors.tensors.erase(name);
  EXPECT_EQ(
      failure(graphOf(std::move(tensors)), rgcn()),
      "the graph has no labels, so there are no classes to learn; import it with --labels, or train link prediction "
      "with `task = \"link\"`");
}

TEST(TrainTest, PatienceWithoutNodesToValidate) {
  TensorFile tensors = plantedTensors();
  tensors.tensors.erase("split.valid");
  Config config = rgcn();
  config.patience = 5;
  EXPECT_EQ(failure(graphOf(std::move(tensors)), config),
            "`patience` needs nodes to validate with, but the graph has none; set `valid_share` to set some of the "
            "training nodes apart");
}

TEST(TrainTest, UnknownLayer) {
  Config config = rgcn();
  config.layers[1].model = "rgnc";
  EXPECT_EQ(failure(plantedGraph(), config), "there is no layer `rgnc`; did you mean `rgcn`?");
}

TEST(TrainTest, LayerWithoutASize) {
  Config config = rgcn();
  config.layers[0].size.reset();
  EXPECT_EQ(failure(plantedGraph(), config), "layer 1 (rgcn) leaves the size `d_out` open; give the layer a size");
}

TEST(TrainTest, SizeOfALayerThatHasNone) {
  Config config = rgcn();
  config.layers[0].model = "hgt";
  EXPECT_EQ(failure(plantedGraph(), config),
            "layer 1 (hgt) has the size of what it reads, 12, but is given size 8; leave it "
            "out, or change the size before it");
}

TEST(TrainTest, ResidualOfAnotherWidth) {
  Config config = rgcn();
  config.layers[0].residual = true;
  EXPECT_EQ(failure(plantedGraph(), config), "layer 1 (rgcn) is residual, but reads rows of 12 numbers and gives 8");
}

TEST(TrainTest, CheckpointOfAnotherGraph) {
  Config config = rgcn();
  config.epochs = 1;
  Checkpoint checkpoint = train(plantedGraph(), config).checkpoint;
  config.epochs = 2;
  SyntheticOptions other = {
      .name = "other", .nodes = 300, .nodeTypes = 2, .edges = 2000, .edgeTypes = 8, .features = 12, .classes = 3};
  auto tensors = makeSynthetic(other);
  ASSERT_TRUE(tensors);
  EXPECT_EQ(failure(graphOf(std::move(*tensors)), config, checkpoint),
            "the checkpoint was made for another graph; `hector infer` predicts on changed graphs");
}

}  // namespace
}  // namespace hector::training
