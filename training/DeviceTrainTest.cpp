/// Training on an emulated GPU, against training on the CPU.
#include "runtime/device/EmulatedDevice.h"
#include "runtime/graph/Synthetic.h"
#include "training/LinkTrain.h"
#include "training/Predict.h"
#include "training/TestGraphs.h"
#include "training/Train.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace hector::training {
namespace {

TensorFile smallTensors() {
  SyntheticOptions options;
  options.nodes = 60;
  options.nodeTypes = 2;
  options.edges = 500;
  options.edgeTypes = 3;
  options.classes = 2;
  options.features = 4;
  options.seed = 5;
  auto tensors = makeSynthetic(options);
  EXPECT_TRUE(tensors) << tensors.status().message();
  return std::move(*tensors);
}

/// 12 entities in a ring of two relations; some triples validate.
GraphFile ring() {
  constexpr int64_t kEntities = 12;
  std::vector<int64_t> src, dst, type, split;
  for (int64_t relation = 0; relation < 2; ++relation)
    for (int64_t e = 0; e < kEntities; ++e) {
      src.push_back(e);
      dst.push_back((e + 1 + relation) % kEntities);
      type.push_back(relation);
      split.push_back(e % 6 == 0 ? 1 : 0);
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
  tensors.metadata["edge_types"] = R"(["next", "over"])";
  return graphOf(std::move(tensors));
}

Config layers() {
  Config config;
  config.layers = {*parseLayer("rgcn:8,relu,dropout=0.4"), *parseLayer("rgcn")};
  config.epochs = 5;
  return config;
}

void expectSameBits(const Tensors &a, const Tensors &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a)
    EXPECT_EQ(std::memcmp(b.at(name).bytes, tensor.bytes, tensor.numBytes()), 0) << name;
}

void expectNear(const Tensors &a, const Tensors &b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto &[name, tensor] : a) {
    const std::vector<double> found = tensor.toDoubles(), right = b.at(name).toDoubles();
    ASSERT_EQ(found.size(), right.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], right[i], 1e-4 * std::max(1.0, std::abs(right[i]))) << name << ", " << i;
  }
}

class DeviceTrainTest : public testing::Test {
protected:
  TrainResult train(const GraphFile &graph, Config config, Backend backend, std::optional<Checkpoint> resume = {}) {
    TrainOptions options;
    config.backend = backend;
    options.config = config;
    options.resume = std::move(resume);
    options.device = backend == Backend::Cuda ? device.get() : nullptr;
    auto result = config.task == Task::Link ? trainLinks(graph, options) : trainClasses(graph, options);
    EXPECT_TRUE(result) << result.status().message();
    return result ? std::move(*result) : TrainResult();
  }
  void expectAsOnTheCpu(const GraphFile &graph, const Config &config) {
    const TrainResult found = train(graph, config, Backend::Cuda), right = train(graph, config, Backend::Cpu);
    expectNear(found.checkpoint.parameters, right.checkpoint.parameters);
    expectNear(found.checkpoint.state, right.checkpoint.state);
    EXPECT_NEAR(found.checkpoint.history.back().loss, right.checkpoint.history.back().loss, 1e-4);
  }

  std::unique_ptr<Device> device = createEmulatedDevice();
};

TEST_F(DeviceTrainTest, SgdWithMomentumLearnsAsOnTheCpu) {
  Config config = layers();
  config.optimiser.kind = OptimiserKind::Sgd;
  config.optimiser.momentum = 0.9;
  expectAsOnTheCpu(graphOf(smallTensors()), config);
}

TEST_F(DeviceTrainTest, AdamWithDropoutAndEmbeddingsLearnsAsOnTheCpu) {
  Config config = layers();
  config.input.kind = InputKind::Embedding;
  config.optimiser.epsilon = 1e-3;  // so that the sign of a gradient near 0 does not decide
  config.schedule.kind = ScheduleKind::Cosine;
  expectAsOnTheCpu(graphOf(smallTensors()), config);
}

TEST_F(DeviceTrainTest, FeaturesOfTypesLearnAsOnTheCpu) {
  TensorFile tensors = smallTensors();
  tensors.tensors.erase("x");
  const std::string type = graphOf(tensors).nodeTypes[0];
  const int64_t rows = tensors.find("graph.ntype_ptr")->intAt(1);
  std::vector<double> numbers;
  for (int64_t i = 0; i < 3 * rows; ++i)
    numbers.push_back(std::sin(static_cast<double>(i)));
  tensors.tensors["feat." + type] = Tensor::fromDoubles({rows, 3}, numbers, DType::F32);
  Config config = layers();
  config.epochs = 3;
  config.optimiser.epsilon = 1e-3;
  expectAsOnTheCpu(graphOf(std::move(tensors)), config);
}

TEST_F(DeviceTrainTest, LinksLearnAsOnTheCpu) {
  Config config;
  config.task = Task::Link;
  config.layers = {*parseLayer("rgcn:8")};
  config.epochs = 4;
  config.link.batch = 10;
  config.link.negatives = 3;
  config.optimiser.epsilon = 1e-3;
  expectAsOnTheCpu(ring(), config);
}

TEST_F(DeviceTrainTest, ContinuedRunsGiveTheSameBits) {
  const GraphFile graph = graphOf(smallTensors());
  const Config config = layers();
  Config half = config;
  half.epochs = 2;
  const TrainResult whole = train(graph, config, Backend::Cuda);
  const TrainResult rest = train(graph, config, Backend::Cuda, train(graph, half, Backend::Cuda).checkpoint);
  expectSameBits(rest.checkpoint.parameters, whole.checkpoint.parameters);
  expectSameBits(rest.checkpoint.state, whole.checkpoint.state);
}

TEST_F(DeviceTrainTest, RunsOfTheCpuAreContinued) {
  const GraphFile graph = graphOf(smallTensors());
  Config config = layers();
  config.optimiser.epsilon = 1e-3;
  Config half = config;
  half.epochs = 2;
  const TrainResult whole = train(graph, config, Backend::Cpu);
  const TrainResult rest = train(graph, config, Backend::Cuda, train(graph, half, Backend::Cpu).checkpoint);
  expectNear(rest.checkpoint.parameters, whole.checkpoint.parameters);
  EXPECT_EQ(rest.checkpoint.config.backend, Backend::Cuda);
}

TEST_F(DeviceTrainTest, PredictionsAreThoseOfTheCpu) {
  const GraphFile graph = graphOf(smallTensors());
  Config config = layers();
  config.epochs = 2;
  const Checkpoint checkpoint = train(graph, config, Backend::Cpu).checkpoint;
  auto right = predict(checkpoint, graph, {.withHidden = true});
  auto found = predict(checkpoint, graph, {.withHidden = true, .device = device.get()});
  ASSERT_TRUE(right && found);
  expectNear({{"out", found->out}, {"hidden", found->hidden}}, {{"out", right->out}, {"hidden", right->hidden}});
}

TEST_F(DeviceTrainTest, LossThatIsNoNumberEndsTheRun) {
  Config config = layers();
  config.optimiser.kind = OptimiserKind::Sgd;
  config.optimiser.rate = 1e30;
  config.epochs = 10;
  const TrainResult result = train(graphOf(smallTensors()), config, Backend::Cuda);
  EXPECT_EQ(result.reason, StopReason::Diverged);
  EXPECT_FALSE(std::isfinite(result.checkpoint.history.back().loss));
}

TEST_F(DeviceTrainTest, PlansThatDoNotFitAreRefusedWithNumbers) {
  TrainOptions options;
  options.config = layers();
  options.config.backend = Backend::Cuda;
  options.device = device.get();
  options.memoryLimit = 4096;
  auto result = trainClasses(graphOf(smallTensors()), options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("the limit is 4.0 KiB"), std::string::npos) << result.status().message();
}

}  // namespace
}  // namespace hector::training
