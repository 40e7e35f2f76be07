#include "training/Checkpoint.h"

#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>

using namespace hector;
using namespace hector::training;

namespace {

Tensor tensorOf(std::vector<int64_t> shape, std::vector<double> values) {
  return Tensor::fromDoubles(std::move(shape), values, DType::F32);
}

Checkpoint sample() {
  Checkpoint checkpoint;
  LayerConfig layer;
  layer.model = "./my/layer.hec";
  layer.size = 2;
  checkpoint.config.layers = {layer, layer};
  checkpoint.config.optimiser.rate = 1.0 / 3;
  checkpoint.models = {"def layer(g):\n    return \"ü\"\n", "def other(g):\n"};
  checkpoint.plan = "reorder,compact";
  checkpoint.inferencePlan = "none";
  checkpoint.decoderPlan = "compact";
  checkpoint.epoch = 3;
  checkpoint.parameters = {{"layer1.W", tensorOf({2, 2}, {1, 2, 3, 4})}, {"layer2.b", tensorOf({1}, {5})}};
  checkpoint.state = {{"m.layer1.W", tensorOf({2, 2}, {0.1, 0.2, 0.3, 0.4})}, {"m.layer2.b", tensorOf({1}, {6})}};
  checkpoint.best = {{"layer1.W", tensorOf({2, 2}, {9, 8, 7, 6})}, {"layer2.b", tensorOf({1}, {0})}};
  checkpoint.bestEpoch = 2;
  checkpoint.bestMetric = 0.1 + 0.2;
  checkpoint.history = {{1, 1.5, 0.01, 0.1, {{"valid.accuracy", 0.25}}}, {2, 1.25, 0.01, 0.1, {}}};
  checkpoint.graph = {7, {"paper", "author"}, {"writes", "cites \"x\""}, {"a", "b"}, 2, {0, 3, 7}, "0f", true};
  return checkpoint;
}

void expectSame(const Tensors &a, const Tensors &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a) {
    ASSERT_TRUE(b.contains(name)) << name;
    EXPECT_EQ(tensor.shape, b.at(name).shape);
    EXPECT_EQ(tensor.dtype, b.at(name).dtype);
    EXPECT_EQ(tensor.toDoubles(), b.at(name).toDoubles());
  }
}

class CheckpointTest : public FolderTest {
protected:
  std::string file() const { return path("run.safetensors"); }
  /// What loading the sample says after a change to its file, without the name of the file.
  template <class Change> std::string wrongAfter(Change change) {
    EXPECT_TRUE(saveCheckpoint(file(), sample()).isOk());
    auto tensors = readSafetensors(file());
    EXPECT_TRUE(tensors);
    change(*tensors);
    EXPECT_TRUE(writeSafetensors(file(), *tensors).isOk());
    return wrong();
  }
  std::string wrongMetadata(const std::string &key, const std::string &value) {
    return wrongAfter([&](TensorFile &tensors) { tensors.metadata[key] = value; });
  }
  std::string wrong() {
    auto loaded = loadCheckpoint(file());
    if (loaded)
      return "nothing is wrong";
    EXPECT_TRUE(loaded.status().message().starts_with(file() + ": ")) << loaded.status().message();
    return loaded.status().message().substr(file().size() + 2);
  }
  /// What saving says after a change to the sample, without the name of the file.
  template <class Change> std::string refusedAfter(Change change) {
    Checkpoint checkpoint = sample();
    change(checkpoint);
    Status status = saveCheckpoint(file(), checkpoint);
    if (status.isOk())
      return "saved";
    EXPECT_TRUE(status.message().starts_with(file() + ": not written: ")) << status.message();
    return status.message().substr((file() + ": not written: ").size());
  }
};

const std::string kDamaged = "; the file was changed or damaged, so use another checkpoint";

}  // namespace

TEST_F(CheckpointTest, ReadsBackToTheSame) {
  const Checkpoint saved = sample();
  ASSERT_TRUE(saveCheckpoint(file(), saved).isOk());
  auto loaded = loadCheckpoint(file());
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->config, saved.config);
  EXPECT_EQ(loaded->models, saved.models);
  EXPECT_EQ(loaded->plan, saved.plan);
  EXPECT_EQ(loaded->inferencePlan, saved.inferencePlan);
  EXPECT_EQ(loaded->decoderPlan, saved.decoderPlan);
  EXPECT_EQ(loaded->epoch, saved.epoch);
  EXPECT_EQ(loaded->bestEpoch, saved.bestEpoch);
  EXPECT_EQ(loaded->bestMetric, saved.bestMetric);
  EXPECT_EQ(loaded->history, saved.history);
  EXPECT_EQ(loaded->graph, saved.graph);
  expectSame(loaded->parameters, saved.parameters);
  expectSame(loaded->state, saved.state);
  expectSame(loaded->best, saved.best);
}

TEST_F(CheckpointTest, TheStartOfARunReadsBackToTheSame) {
  Checkpoint saved = sample();
  saved.epoch = saved.bestEpoch = 0;
  saved.bestMetric = 0;
  saved.best.clear();
  saved.state.clear();
  saved.history.clear();
  saved.graph = {};
  ASSERT_TRUE(saveCheckpoint(file(), saved).isOk());
  auto loaded = loadCheckpoint(file());
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_TRUE(loaded->history.empty());
  EXPECT_EQ(loaded->graph, GraphFacts());
  expectSame(loaded->chosen(), saved.parameters);
}

TEST_F(CheckpointTest, EarlierVersionsKeptLess) {
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) {
              tensors.metadata.erase("decoder_plan");
              tensors.metadata["graph"] = R"({"nodes": 7, "node_types": ["paper"], "edge_types": ["cites"],
                                              "classes": ["a", "b"], "num_classes": 2})";
            }),
            "nothing is wrong");
  auto loaded = loadCheckpoint(file());
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->decoderPlan, "");
  EXPECT_EQ(loaded->graph, (GraphFacts{7, {"paper"}, {"cites"}, {"a", "b"}, 2, {}, "", {}}));
}

TEST_F(CheckpointTest, EarlierVersionsRefusedLess) {
  Checkpoint saved = sample();
  saved.config.optimiser.epsilon = 0;
  saved.config.patience = 2;
  saved.config.evaluate = 3;
  ASSERT_TRUE(saveCheckpoint(file(), saved).isOk());
  auto loaded = loadCheckpoint(file());
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->config, saved.config);
}

TEST_F(CheckpointTest, ALoadedCheckpointOutlivesItsReplacement) {
  ASSERT_TRUE(saveCheckpoint(file(), sample()).isOk());
  auto first = loadCheckpoint(file());
  ASSERT_TRUE(first);
  first->parameters["layer2.b"] = tensorOf({1}, {50});
  ASSERT_TRUE(saveCheckpoint(file(), *first).isOk());
  EXPECT_EQ(first->best.at("layer1.W").toDoubles(), (std::vector<double>{9, 8, 7, 6}));
  auto second = loadCheckpoint(file());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->parameters.at("layer2.b").toDoubles(), std::vector<double>{50});
}

TEST_F(CheckpointTest, EveryTruncationIsAFailure) {
  ASSERT_TRUE(saveCheckpoint(file(), sample()).isOk());
  const std::string bytes = contents(file());
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::ofstream(file(), std::ios::binary) << bytes.substr(0, length);
    EXPECT_FALSE(loadCheckpoint(file())) << length;
  }
}

TEST_F(CheckpointTest, NoChangedByteCrashes) {
  ASSERT_TRUE(saveCheckpoint(file(), sample()).isOk());
  const std::string bytes = contents(file());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (char byte : {'\xff', '"'}) {
      std::string changed = bytes;
      changed[at] = byte;
      std::ofstream(file(), std::ios::binary) << changed;
      // Some changes only change numbers.
      auto loaded = loadCheckpoint(file());
      EXPECT_TRUE(loaded || !loaded.status().message().empty());
    }
}

TEST_F(CheckpointTest, ReportsAFileThatIsNotThere) {
  EXPECT_EQ(wrong(), "cannot be read: No such file or directory");
}

TEST_F(CheckpointTest, RefusesOtherFiles) {
  EXPECT_EQ(wrongMetadata("hector.format", "graph/1"),
            "it is a graph file, not a checkpoint; expected a file that `hector train` wrote");
  EXPECT_EQ(wrongMetadata("hector.format", "plan/1"),
            "it is not a checkpoint: its metadata `hector.format` is `plan/1`; expected `checkpoint/1`");
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) { tensors.metadata.clear(); }),
            "it is not a checkpoint: it has no metadata `hector.format`; expected a file that `hector train` wrote");
}

TEST_F(CheckpointTest, RefusesOtherVersions) {
  EXPECT_EQ(
      wrongMetadata("hector.format", "checkpoint/2"),
      "it is a checkpoint of the format `checkpoint/2`, but this version reads `checkpoint/1`; use the version of "
      "Hector that wrote it");
}

TEST_F(CheckpointTest, ReportsMissingMetadata) {
  for (const std::string key : {"config", "model.1", "model.2", "epoch", "plan", "inference_plan", "best_epoch",
                                "best_metric", "history", "graph", "tensors"})
    EXPECT_EQ(wrongAfter([&](TensorFile &tensors) { tensors.metadata.erase(key); }),
              "the metadata `" + key + "` is missing" + kDamaged);
}

TEST_F(CheckpointTest, ReportsDamagedMetadata) {
  EXPECT_EQ(wrongMetadata("epoch", "3x"),
            "the metadata `epoch` is `3x`; expected a whole number, 0 or more" + kDamaged);
  EXPECT_EQ(wrongMetadata("best_metric", "nan"), "the metadata `best_metric` is `nan`; expected a number" + kDamaged);
  EXPECT_EQ(wrongMetadata("best_epoch", "4"), "`best_epoch` is 4; expected 0 to 3");
  EXPECT_EQ(wrongMetadata("graph", "{"),
            "the metadata `graph` is `{`; expected `nodes` to be a whole number, 0 or more" + kDamaged);
  const std::string facts = R"({"nodes":7,"node_types":["a"],"edge_types":[],"classes":[],"num_classes":0,)";
  EXPECT_TRUE(wrongMetadata("graph", facts + "\"ntype_ptr\":[0,-7]}")
                  .ends_with("; expected `ntype_ptr` to be a list of whole numbers, 0 or more" + kDamaged));
  EXPECT_EQ(wrongMetadata("graph", facts + "\"ntype_ptr\":[7]}"),
            "the graph has 1 node type, but `ntype_ptr` has 1 entry; expected 2, or none");
  EXPECT_TRUE(wrongMetadata("graph", facts + "\"multi_label\":1}")
                  .ends_with("; expected `multi_label` to be true or false" + kDamaged));
  EXPECT_EQ(wrongMetadata("tensors", "[1]"),
            "the metadata `tensors` is `[1]`; expected a list of names in JSON" + kDamaged);
  EXPECT_EQ(wrongMetadata("model.3", ""), "the configuration has 2 layers, but the metadata has `model.3`" + kDamaged);
  EXPECT_TRUE(
      wrongMetadata("history", "{}").starts_with("the metadata `history`, line 1: a record of an epoch has no"));
}

TEST_F(CheckpointTest, ReportsADamagedConfigurationWithItsPlace) {
  EXPECT_TRUE(
      wrongMetadata("config", "layers = [\"rgcn\"]\nepochs = 0")
          .starts_with("the metadata `config` cannot be read" + kDamaged + "\nconfig:2:10: error: `epochs` is 0"));
}

TEST_F(CheckpointTest, ReportsMissingTensors) {
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) { tensors.tensors.erase("state.m.layer2.b"); }),
            "tensor `state.m.layer2.b` is missing" + kDamaged);
}

TEST_F(CheckpointTest, ReportsTensorsTooMany) {
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) { tensors.tensors["x"] = tensors.tensors.at("layer2.b"); }),
            "tensor `x` is not in the metadata `tensors`" + kDamaged);
}

TEST_F(CheckpointTest, ReportsTensorsThatDoNotFit) {
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) { tensors.tensors["best.layer2.b"] = tensorOf({2}, {1, 2}); }),
            "tensor `best.layer2.b` has shape [2], but parameter `layer2.b` has shape [1]; expected the same");
  EXPECT_EQ(wrongAfter([](TensorFile &tensors) {
              tensors.tensors["layer2.b"] = Tensor::fromInt64({1}, std::vector<int64_t>{1});
            }),
            "parameter `layer2.b` holds I64; expected F32");
}

TEST_F(CheckpointTest, ReportsWhatIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(wrongAfter([&](TensorFile &tensors) { tensors.tensors["layer1.W"] = tensorOf({2, 2}, {1, 2, nan, 4}); }),
            "parameter `layer1.W` has a NaN at element 2; expected numbers (a lower learning rate may help)");
}

TEST_F(CheckpointTest, RefusesToReplaceAGoodFileByABadOne) {
  ASSERT_TRUE(saveCheckpoint(file(), sample()).isOk());
  EXPECT_EQ(
      refusedAfter([](Checkpoint &checkpoint) {
        checkpoint.state["m.layer2.b"] = tensorOf({1}, {std::numeric_limits<double>::infinity()});
      }),
      "tensor `state.m.layer2.b` has an infinity at element 0; expected numbers (a lower learning rate may help)");
  EXPECT_EQ(wrong(), "nothing is wrong");
}

TEST_F(CheckpointTest, SomeNamesAreReserved) {
  for (const std::string name : {"best.W", "state.m.W"})
    EXPECT_EQ(refusedAfter([&](Checkpoint &checkpoint) { checkpoint.parameters[name] = tensorOf({1}, {1}); }),
              "a parameter is named `" + name + "`; names that start with `state.` or `best.` are reserved");
}

TEST_F(CheckpointTest, EveryLayerHasAModel) {
  EXPECT_EQ(refusedAfter([](Checkpoint &checkpoint) { checkpoint.models.pop_back(); }),
            "the configuration has 2 layers, but 1 model is there; expected one for each");
}

TEST_F(CheckpointTest, TheBestEpochHasAllParameters) {
  EXPECT_EQ(refusedAfter([](Checkpoint &checkpoint) { checkpoint.best.erase("layer2.b"); }),
            "tensor `best.layer2.b` is missing; expected the best values of all parameters");
}

TEST_F(CheckpointTest, AHistoryMayHaveLossesThatAreNoNumbers) {
  Checkpoint checkpoint = sample();
  checkpoint.history[1].loss = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(saveCheckpoint(file(), checkpoint).isOk());
  EXPECT_EQ(wrong(), "nothing is wrong");
}

TEST(GraphFactsTest, RowsOfNodesNeedTheSameNodes) {
  const GraphFacts trained = {7, {"paper", "author"}, {}, {}, 0, {0, 3, 7}, "aa", {}};
  EXPECT_TRUE(trained.checkNodes(trained).isOk());
  GraphFacts other = trained;
  other.nodeNames = "bb";
  EXPECT_EQ(trained.checkNodes(other).message(),
            "the nodes have other names than in training, or another order; nodes have embeddings, so use the graph "
            "file of training, or train on this one");
  other = trained;
  other.ntypePtr = {0, 4, 7};
  EXPECT_EQ(trained.checkNodes(other).message(),
            "node type `paper` has 4 nodes, but had 3 in training; nodes have embeddings, so a graph of other nodes "
            "needs training of its own");
}

TEST(GraphFactsTest, WhatIsNotKnownIsNotCompared) {
  const GraphFacts trained = {7, {"paper", "author"}, {}, {}, 0, {0, 3, 7}, "aa", {}};
  GraphFacts unknown = trained;
  unknown.nodeNames = "";
  unknown.ntypePtr.clear();
  EXPECT_TRUE(trained.checkNodes(unknown).isOk());
  EXPECT_TRUE(unknown.checkNodes(trained).isOk());
}

TEST(GraphHashesTest, WhatDiffersIsNamed) {
  const GraphHashes begun = {"e", "f", "l", "s"};
  EXPECT_TRUE(begun.checkSame(begun).isOk());
  EXPECT_EQ(
      begun.checkSame({"e", "f", "other", "other"}).message(),
      "the graph's labels are not those that the run was begun with; give the same graph, or start a new run with "
      "--config");
  EXPECT_TRUE(begun.checkSame({"e", "", "", "s"}).isOk());
  EXPECT_TRUE(GraphHashes().checkSame(begun).isOk());
}

TEST_F(CheckpointTest, HashesOfTheGraphAreKept) {
  Checkpoint checkpoint = sample();
  checkpoint.graph.hashes = {"e", "f", "", "s"};
  checkpoint.graph.featureWidth = 7;
  ASSERT_TRUE(saveCheckpoint(path("run.safetensors"), checkpoint).isOk());
  auto loaded = loadCheckpoint(path("run.safetensors"));
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->graph, checkpoint.graph);
}

TEST_F(CheckpointTest, ModelsThatCannotBeReadAreNamed) {
  const Status status = checkModels(sample());
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message().substr(0, 38), "the metadata `model.2` cannot be read;");
}

TEST_F(CheckpointTest, ReportsAFolderThatIsNotThere) {
  Status status = saveCheckpoint(path("none/run.safetensors"), sample());
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.message().find("cannot be written"), std::string::npos) << status.message();
}
