#include "training/Train.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/Parallel.h"
#include "training/Predict.h"
#include "training/Stack.h"
#include "training/TestGraphs.h"
#include "training/TrainingRun.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
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

TEST(TrainTest, LayersGiveAsManyNumbersAsTheirSize) {
  struct Case {
    const char *layer;
    int64_t width;
  };
  for (const auto &[layer, width] : {
           Case{"gat:8", 8},
           Case{"gat:8,heads=2", 8},
           Case{"gat:8,heads=2,join=mean", 8},
           Case{"gat:heads=2,d=3", 6},  // the bias has as many numbers as the heads together
           Case{"gat:heads=2,d=3,join=mean", 3},
           Case{"rgat_heads:8", 8},
           Case{"rgat_heads:16,d=4", 16},
           Case{"simple_hgn:8,heads=2", 8},
           Case{"rgcn_bases:6", 6},
           Case{"rgcn_blocks:8,blocks=4", 8},
           Case{"gin:5", 5},
       }) {
    Config config = rgcn();
    config.layers[0] = *parseLayer(layer);
    TensorFile tensors = plantedTensors();
    tensors.tensors["before"] = tensorOf({6000, 2}, std::vector<float>(12000));
    auto stack = Stack::make(config, graphOf(std::move(tensors)), 3);
    ASSERT_TRUE(stack) << layer << ": " << stack.status().message();
    EXPECT_TRUE(stack->description()[1].ends_with(" to " + std::to_string(width) + " numbers"))
        << layer << ": " << stack->description()[1];
  }
}

TEST(TrainTest, SizesThatContradictEachOther) {
  auto wrong = [](const char *layer) {
    Config config = rgcn();
    config.layers[0] = *parseLayer(layer);
    const std::string message = failure(plantedGraph(), config);
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(wrong("gat:9,heads=2"),
            "layer 1 (gat) cannot give 9 numbers per node with heads 2; leave out the size 9 and "
            "set by name what is open: `d`, `d_out`");
  EXPECT_EQ(wrong("rgcn:4,d_out=6"),
            "layer 1 (rgcn) is given size 4, but gives 6 numbers per node, as its sizes are set (d_out 6); these "
            "contradict each other, so leave one out");
  EXPECT_EQ(wrong("gat:heads=2"), "layer 1 (gat) leaves the sizes `d`, `d_out` open; give the layer a size, as in "
                                  "`gat:16`, or name them in `sizes`");
}

TEST(TrainTest, ShapesOfARunDecideItsSizes) {
  // Earlier versions gave `gat:4` four heads of four numbers.
  Config config = rgcn();
  config.layers[0] = *parseLayer("gat:heads=4,d=4,d_out=16");
  config.epochs = 2;
  const GraphFile graph = plantedGraph();
  Checkpoint checkpoint = train(graph, config).checkpoint;
  checkpoint.config.layers[0] = *parseLayer("gat:4");
  EXPECT_TRUE(predict(checkpoint, graph));
  config = checkpoint.config;
  config.epochs = 3;
  EXPECT_EQ(train(graph, config, checkpoint).checkpoint.epoch, 3);
}

TEST(TrainTest, ContinuedRunsNeedTheirGraph) {
  Config config = rgcn();
  config.epochs = 2;
  const Checkpoint begun = train(plantedGraph(), config).checkpoint;
  config.epochs = 3;
  auto wrong = [&](const char *tensor, int64_t first) {
    TensorFile tensors = plantedTensors();
    Tensor &changed = tensors.tensors.at(tensor);
    if (isFloat(changed.dtype)) {
      std::vector<double> numbers = changed.toDoubles();
      numbers[0] += 1;
      changed = Tensor::fromDoubles(changed.shape, numbers, changed.dtype);
    } else {
      std::vector<int64_t> numbers;
      for (int64_t i = 0; i < changed.numElements(); ++i)
        numbers.push_back(changed.intAt(i));
      numbers[0] = first >= 0 ? first : (numbers[0] + 1) % 3;
      changed = Tensor::fromInt64(changed.shape, numbers, changed.dtype);
    }
    return failure(graphOf(std::move(tensors)), config, begun);
  };
  auto expected = [](const std::string &what) {
    return "the graph's " + what +
           " are not those that the run was begun with; give the same graph, or start a new run "
           "with --config";
  };
  EXPECT_EQ(wrong("label", -1), expected("labels"));
  EXPECT_EQ(wrong("x", 0), expected("features"));
  const int64_t unused = graphOf(plantedTensors()).graph.src()[1];
  EXPECT_EQ(wrong("graph.src", unused), expected("edges"));
  TensorFile fewer = plantedTensors();
  std::vector<int64_t> nodes;
  for (int64_t i = 1; i < fewer.find("split.train")->numElements(); ++i)
    nodes.push_back(fewer.find("split.train")->intAt(i));
  fewer.tensors["split.train"] = Tensor::fromInt64({static_cast<int64_t>(nodes.size())}, nodes);
  EXPECT_EQ(failure(graphOf(std::move(fewer)), config, begun), expected("splits"));
  // Runs of earlier versions have no hashes.
  Checkpoint old = begun;
  old.graph.hashes = {};
  TensorFile changed = plantedTensors();
  changed.tensors["x"] = tensorOf(changed.find("x")->shape, std::vector<float>(600 * 12));
  EXPECT_EQ(train(graphOf(std::move(changed)), config, old).checkpoint.epoch, 3);
}

TEST(TrainTest, PredictionsNeedTheFeaturesOfTraining) {
  Config config = rgcn();
  config.epochs = 1;
  const Checkpoint checkpoint = train(plantedGraph(), config).checkpoint;
  auto wrong = [&](const std::function<void(TensorFile &)> &change) {
    TensorFile tensors = plantedTensors();
    change(tensors);
    auto prediction = predict(checkpoint, graphOf(std::move(tensors)));
    return prediction ? "nothing is wrong" : prediction.status().message();
  };
  EXPECT_EQ(wrong([](TensorFile &f) { f.tensors.erase("x"); }),
            "the run reads features `x` of 12 numbers per node, but the graph has none; give a graph with the features "
            "of training");
  EXPECT_EQ(
      wrong([](TensorFile &f) {
        f.tensors.erase("x");
        const std::string type = graphOf(f).nodeTypes[0];
        const int64_t rows = f.find("graph.ntype_ptr")->intAt(1);
        f.tensors["feat." + type] = tensorOf({rows, 1}, std::vector<float>(static_cast<size_t>(rows)));
      }),
      "the run reads features `x` of 12 numbers per node, but the graph has `feat.TYPE` instead; give a graph with "
      "the features of training");
  EXPECT_EQ(wrong([](TensorFile &f) { f.tensors["x"] = tensorOf({600, 7}, std::vector<float>(4200)); }),
            "the run reads features `x` of 12 numbers per node, but those of the graph have 7; give a graph with the "
            "features of training");
  EXPECT_EQ(wrong([](TensorFile &f) { f.tensors["x"] = tensorOf({600, 0}, {}); }),
            "the run reads features `x` of 12 numbers per node, but those of the graph have 0; give a graph with the "
            "features of training");
}

std::vector<std::string> notesOf(TensorFile tensors, const Config &config) {
  std::vector<std::string> notes;
  TrainEvents events;
  events.onNote = [&](const std::string &note) { notes.push_back(note); };
  TrainOptions options;
  options.config = config;
  EXPECT_TRUE(trainClasses(graphOf(std::move(tensors)), options, events));
  return notes;
}

TEST(TrainTest, ClassesWithoutANodeToTrainWith) {
  TensorFile tensors = plantedTensors();
  tensors.metadata["label_names"] = R"(["a", "b", "c", "d"])";
  Config config = rgcn();
  config.epochs = 1;
  EXPECT_EQ(notesOf(std::move(tensors), config),
            std::vector<std::string>{"1 class of 4 has no node to train with, so predictions of it are chance: `d`"});
}

TEST(TrainTest, ShareOfNoNodeValidates) {
  TensorFile tensors = plantedTensors();
  tensors.tensors.erase("split.valid");
  Config config = rgcn();
  config.epochs = 1;
  config.validShare = 1e-4;
  const std::vector<std::string> notes = notesOf(std::move(tensors), config);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("no node validates: `valid_share` is 1e-04, and that of ")) << notes[0];
}

TEST(TrainTest, NamesOfTypesDoNotReachTheTerminalAsTheyAre) {
  TensorFile tensors = plantedTensors();
  tensors.tensors.erase("x");
  tensors.metadata["node_types"] = R"(["a\u001b[31m", "b"])";
  std::vector<int64_t> ptr;
  for (int64_t i = 0; i < 3; ++i)
    ptr.push_back(tensors.find("graph.ntype_ptr")->intAt(i));
  tensors.metadata.erase("edge_types");
  for (auto it = tensors.tensors.begin(); it != tensors.tensors.end();)
    it = it->first.starts_with("feat.") ? tensors.tensors.erase(it) : std::next(it);
  tensors.tensors["feat.b"] =
      tensorOf({ptr[2] - ptr[1], 2}, std::vector<float>(static_cast<size_t>(2 * (ptr[2] - ptr[1]))));
  auto stack = Stack::make(rgcn(), graphOf(std::move(tensors)), 3);
  ASSERT_TRUE(stack) << stack.status().message();
  EXPECT_EQ(stack->description()[0], "input: features projected to 8 numbers (b 2); embeddings of a\\x1b[31m");
}

TEST(TrainTest, FeaturesWithoutColumns) {
  TensorFile tensors = plantedTensors();
  tensors.tensors["x"] = tensorOf({600, 0}, {});
  EXPECT_EQ(failure(graphOf(std::move(tensors)), rgcn()),
            "the graph file's `x` has shape [600, 0], so it has no columns; expected at least one number per node, or "
            "use --input embedding");
}

TEST(TrainTest, NodesWithoutFiniteScoresAreTold) {
  Config config = rgcn();
  config.optimiser.kind = OptimiserKind::Sgd;
  config.optimiser.rate = 1e25;  // the only step leaves finite parameters, and scores that are not
  config.epochs = 1;
  TrainOptions options;
  options.config = config;
  std::vector<std::string> notes;
  TrainEvents events;
  events.onNote = [&](const std::string &note) { notes.push_back(note); };
  auto result = trainClasses(plantedGraph(), options, events);
  ASSERT_TRUE(result) << result.status().message();
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.back().find("of `split.test` have scores that are not finite numbers; the first is node "),
            std::string::npos)
      << notes.back();
  ASSERT_TRUE(result->confusion);
  EXPECT_LT(result->confusion->total(), static_cast<int64_t>(plantedGraph().tensors.find("split.test")->numElements()));
}

TEST(TrainTest, WhatDoesNotTrainMayBeNaN) {
  TensorFile tensors = plantedTensors();
  Tensor &x = tensors.tensors.at("x");
  std::vector<double> values = x.toDoubles();
  const int64_t node = tensors.tensors.at("split.test").intAt(0), width = x.shape[1];
  // No node of the training reads what others have.
  const std::string path = testing::TempDir() + "/local.hec";
  std::ofstream(path) << "def local(g, x: Node[d_in], W: Shared[d_in, d_out]):\n"
                         "    for n in g.nodes():\n"
                         "        n[\"out\"] = n.x * W\n"
                         "    return n[\"out\"]\n";
  values[static_cast<size_t>(node * width)] = std::numeric_limits<double>::quiet_NaN();
  x = Tensor::fromDoubles(x.shape, values, DType::F32);
  Config config = rgcn();
  config.layers.resize(1);
  config.layers[0].model = path;
  config.layers[0].size.reset();
  config.epochs = 2;
  const TrainResult result = train(graphOf(std::move(tensors)), config);
  for (const EpochRecord &epoch : result.checkpoint.history)
    EXPECT_TRUE(std::isfinite(epoch.loss));
  for (const auto &[name, parameter] : result.checkpoint.parameters)
    for (double number : parameter.toDoubles())
      EXPECT_TRUE(std::isfinite(number)) << name;
}

TEST(TrainTest, AdviceForLittleMemoryIsOfTraining) {
  TrainOptions options;
  options.config = rgcn();
  options.memoryLimit = 1;
  auto result = trainClasses(plantedGraph(), options);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.status().message().ends_with(
      "but the limit is 1 byte; allow more with --memory-limit, or use smaller layers"))
      << result.status().message();
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

TEST(TrainTest, ARunThatHasAllItsEpochsIsOnlyJudged) {
  Config config = rgcn();
  config.epochs = 3;
  const GraphFile graph = plantedGraph();
  const TrainResult whole = train(graph, config);
  const TrainResult again = train(graph, config, whole.checkpoint);
  EXPECT_EQ(again.metrics, whole.metrics);
  EXPECT_EQ(again.checkpoint.history.size(), 3U);
  expectSameBits(again.checkpoint.parameters, whole.checkpoint.parameters);
}

/// Trains two epochs, the second of which sees a signal, and ends as programs do.
[[noreturn]] void trainWithSignalInTheLastEpoch() {
  noteInterrupts();
  TrainOptions options;
  options.config = rgcn();
  options.config.epochs = 2;
  options.checkpointPath = testing::TempDir() + "/last-epoch.safetensors";
  TrainEvents events;
  events.onEpoch = [](const EpochRecord &record) {
    if (record.epoch == 2)
      std::raise(SIGINT);
  };
  auto result = trainClasses(plantedGraph(), options, events);
  const bool isStopped = result && result->reason == StopReason::Interrupted && result->metrics.empty();
  std::fputs(isStopped && result->isSaved ? "stopped and kept" : "not stopped", stderr);
  std::_Exit(interruptExitCode());
}

TEST(TrainDeathTest, ASignalInTheLastEpochLeavesTheTest) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(trainWithSignalInTheLastEpoch(), testing::ExitedWithCode(130), "^stopped and kept$");
  auto kept = loadCheckpoint(testing::TempDir() + "/last-epoch.safetensors");
  ASSERT_TRUE(kept) << kept.status().message();
  const Config config = kept->config;
  EXPECT_TRUE(train(plantedGraph(), config, *kept).metrics.contains("test.accuracy"));
}

TEST(TrainTest, ThreadsAreThoseOfTheWholeRun) {
  TrainOptions options;
  options.config = rgcn();
  options.config.epochs = 1;
  options.config.threads = 3;
  int seen = 0;
  TrainEvents events;
  events.onEpoch = [&](const EpochRecord &) { seen = numThreads(); };
  ThreadLimit limit(2);
  ASSERT_TRUE(trainClasses(plantedGraph(), options, events));
  EXPECT_EQ(seen, 3);
}

TEST(TrainTest, PlansShareTheMemoryLimit) {
  TrainOptions options;
  options.config = rgcn();
  options.config.epochs = 1;
  const GraphFile graph = plantedGraph();
  auto free = trainClasses(graph, options);
  ASSERT_TRUE(free) << free.status().message();
  options.memoryLimit = free->planBytes - 1;
  auto limited = trainClasses(graph, options);
  if (limited)
    EXPECT_LE(limited->planBytes, options.memoryLimit);
  else
    EXPECT_NE(limited.status().message().find("of the limit of"), std::string::npos) << limited.status().message();
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
  EXPECT_TRUE(result->isSaved);
  auto kept = loadCheckpoint(options.checkpointPath);
  ASSERT_TRUE(kept) << kept.status().message();
  EXPECT_LT(kept->epoch, result->stoppedAt);
}

TEST(TrainTest, TheHistoryEndsWithTheLossThatIsNoNumber) {
  TensorFile tensors = plantedTensors();
  Tensor &x = tensors.tensors.at("x");
  std::vector<double> values = x.toDoubles();
  values[0] = std::numeric_limits<double>::quiet_NaN();
  x = Tensor::fromDoubles(x.shape, values, DType::F32);
  Config config = rgcn();
  config.layers[0].activation = Activation::None;  // relu may give 0
  const TrainResult result = train(graphOf(std::move(tensors)), config);
  EXPECT_EQ(result.reason, StopReason::Diverged);
  EXPECT_EQ(result.stoppedAt, 1);
  EXPECT_FALSE(result.isSaved);
  ASSERT_EQ(result.checkpoint.history.size(), 1U);
  EXPECT_TRUE(std::isnan(result.checkpoint.history[0].loss));
}

TEST(TrainTest, ParametersThatAreNoNumbersAreAFailure) {
  Config config = rgcn();
  config.optimiser.kind = OptimiserKind::Sgd;
  config.optimiser.rate = config.optimiser.decay = 1e38;
  config.epochs = 1;
  const std::string message = failure(plantedGraph(), config);
  EXPECT_TRUE(message.starts_with("parameter `")) << message;
  EXPECT_TRUE(message.ends_with("expected numbers (a lower learning rate may help)")) << message;
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

/// The planted graph, where every node is of class 2 as well.
TensorFile severalLabels() {
  TensorFile tensors = plantedTensors();
  const Tensor label = tensors.tensors.at("label");
  std::vector<double> rows;
  for (int64_t i = 0; i < label.numElements(); ++i)
    for (int64_t c = 0; c < 3; ++c)
      rows.push_back(label.intAt(i) == c || c == 2 ? 1 : 0);
  tensors.tensors["label"] = Tensor::fromDoubles({label.numElements(), 3}, rows, DType::F32);
  return tensors;
}

TEST(TrainTest, SeveralClassesPerNode) {
  Config config = rgcn(16);
  config.epochs = 80;
  const TrainResult result = train(graphOf(severalLabels()), config);
  EXPECT_GT(result.metrics.at("test.micro_f1"), 0.8);
  EXPECT_FALSE(result.confusion);
}

TEST(TrainTest, RunsKnowWhetherNodesHaveSeveralClasses) {
  Config config = rgcn();
  config.epochs = 1;
  EXPECT_EQ(train(plantedGraph(), config).checkpoint.graph.isMulti, std::optional(false));
  EXPECT_EQ(train(graphOf(severalLabels()), config).checkpoint.graph.isMulti, std::optional(true));
}

TEST(TrainTest, ManyClassesHaveNoConfusionTable) {
  TensorFile tensors = plantedTensors();
  Tensor &label = tensors.tensors.at("label");
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < label.numElements(); ++i)
    classes.push_back(i == 0 ? 1999 : label.intAt(i));
  label = Tensor::fromInt64(label.shape, classes);
  Config config = rgcn(2);
  config.epochs = 1;
  const TrainResult result = train(graphOf(std::move(tensors)), config);
  EXPECT_EQ(result.checkpoint.graph.numClasses, 2000);
  EXPECT_TRUE(result.metrics.contains("test.macro_f1"));
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

/// The planted graph with names of nodes: "0", "1" … or the same from the last node to the first.
GraphFile namedGraph(bool isReversed) {
  TensorFile tensors = plantedTensors();
  std::vector<int64_t> bytes, offsets = {0};
  for (int64_t node = 0; node < 600; ++node) {
    for (char c : std::to_string(isReversed ? 599 - node : node))
      bytes.push_back(c);
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  tensors.tensors["names.bytes"] = Tensor::fromInt64({static_cast<int64_t>(bytes.size())}, bytes, DType::U8);
  tensors.tensors["names.offsets"] = Tensor::fromInt64({601}, offsets);
  return graphOf(std::move(tensors));
}

constexpr const char *kOtherNodes =
    "the nodes have other names than in training, or another order; nodes have embeddings, so use the graph file of "
    "training, or train on this one";

TEST(TrainTest, EmbeddingsGoToTheNodesOfTheirNames) {
  Config config = rgcn();
  config.input.kind = InputKind::Embedding;
  config.epochs = 1;
  const Checkpoint checkpoint = train(namedGraph(false), config).checkpoint;
  EXPECT_TRUE(predict(checkpoint, namedGraph(false)));
  EXPECT_TRUE(predict(checkpoint, plantedGraph()));  // without names nothing is known
  EXPECT_EQ(predict(checkpoint, namedGraph(true)).status().message(), kOtherNodes);
}

TEST(TrainTest, ContinuedEmbeddingsStayWithTheirNodes) {
  Config config = rgcn();
  config.input.kind = InputKind::Embedding;
  config.epochs = 1;
  const Checkpoint checkpoint = train(namedGraph(false), config).checkpoint;
  config.epochs = 2;
  EXPECT_EQ(failure(namedGraph(true), config, checkpoint), kOtherNodes);
  // A file without names does not make the run forget them.
  const Checkpoint unnamed = train(plantedGraph(), config, checkpoint).checkpoint;
  EXPECT_EQ(unnamed.graph.nodeNames, checkpoint.graph.nodeNames);
}

TEST(TrainTest, WithFeaturesNamesDoNotMatter) {
  Config config = rgcn();
  config.epochs = 1;
  EXPECT_TRUE(predict(train(namedGraph(false), config).checkpoint, namedGraph(true)));
}

TEST(TrainTest, FeaturesThatCameLaterDoNotReplaceEmbeddings) {
  TensorFile tensors = plantedTensors();
  tensors.tensors.erase("x");
  Config config = rgcn();
  config.epochs = 1;
  const TrainResult result = train(graphOf(std::move(tensors)), config);
  EXPECT_EQ(result.checkpoint.config.input.kind, InputKind::Embedding);
  auto prediction = predict(result.checkpoint, plantedGraph());
  EXPECT_TRUE(prediction) << prediction.status().message();
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

TEST(TrainTest, LabelsBeyondAllClasses) {
  TensorFile tensors = plantedTensors();
  Tensor &label = tensors.tensors.at("label");
  std::vector<int64_t> classes(static_cast<size_t>(label.numElements()));
  classes[3] = std::numeric_limits<int64_t>::max();
  label = Tensor::fromInt64(label.shape, classes);
  EXPECT_EQ(failure(graphOf(std::move(tensors)), rgcn()),
            "entry 3 of `label` is 9223372036854775807; expected a class below 1048576");
}

TEST(TrainTest, WeightsOfClassesWhereNodesHaveSeveral) {
  Config config = rgcn();
  config.classWeights = ClassWeights::Balanced;
  EXPECT_EQ(failure(graphOf(severalLabels()), config),
            "`class_weights` is balanced, but nodes of this graph have several classes each, which all count the same; "
            "leave it out");
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
  EXPECT_EQ(
      failure(plantedGraph(), config),
      "layer 1 (rgcn) leaves the size `d_out` open; give the layer a size, as in `rgcn:16`, or name it in `sizes`");
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
