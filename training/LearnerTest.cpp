#include "training/Learner.h"

#include "driver/Run.h"
#include "training/TestGraphs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace hector::training {
namespace {

Tensor tensorOf(std::vector<int64_t> shape, const std::vector<double> &values) {
  return Tensor::fromDoubles(std::move(shape), values, DType::F32);
}

/// loss = Σ over nodes of x · w³, so that the gradient of w is Σ x · 3w².
class OptimiserTest : public testing::Test {
protected:
  void SetUp() override {
    const int64_t ends[] = {0, 3};
    auto made = Graph::create({}, {}, {}, ends, 1);
    ASSERT_TRUE(made);
    graph.emplace(std::move(*made));
  }

  /// The parameter after each of some steps, as compiled code computes it. The rate falls from step to step.
  std::vector<double> learn(const OptimiserConfig &config, int steps) {
    auto program = importText("def f(g, x: Node[], w: Shared[]):\n"
                              "    loss = sum(n.x * (w * w * w) for n in g.nodes())\n"
                              "    return loss\n",
                              "cubes", {}, makeContext());
    EXPECT_TRUE(program) << program.status().message();
    const ProgramPart part = {"part", &*program, {{"x", "x"}, {"w", "w"}}};
    const PartResult loss = {"part.loss", "loss"};
    auto whole = Program::compose("step", {&part, 1}, {&loss, 1}, Learning{{"w"}, kindOf(config.kind), {"w"}});
    EXPECT_TRUE(whole) << whole.status().message();
    Tables tables;
    tables.emplace("w", Table(tensorOf({}, {kStart})));
    auto learner = Learner::make(std::move(*whole), *graph, std::move(tables), {},
                                 {{"x", tensorOf({3}, {0.5, 1, -0.25})}, {"grad.loss", tensorOf({}, {1})}}, config, {});
    EXPECT_TRUE(learner) << learner.status().message();
    std::vector<double> found;
    for (int step = 0; step < steps; ++step) {
      EXPECT_TRUE(learner->forward(0, step).isOk());
      EXPECT_TRUE(learner->backward(step, factor(step)).isOk());
      EXPECT_TRUE(learner->accept().isOk());
      found.push_back(*learner->parameters().at("w").data());
    }
    return found;
  }

  static double gradient(double w) { return 1.25 * 3 * w * w; }
  static double factor(int step) { return 1.0 / (step + 1); }
  static void expectNear(const std::vector<double> &found, const std::function<double(int step)> &next) {
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], next(static_cast<int>(i)), 1e-5) << "step " << i;
  }

  static constexpr double kStart = 0.8;
  std::optional<Graph> graph;
};

TEST_F(OptimiserTest, SgdWithMomentumAndDecay) {
  OptimiserConfig config;
  config.kind = OptimiserKind::Sgd;
  config.rate = 0.01;
  config.momentum = 0.9;
  config.decay = 0.1;
  double w = kStart, b = 0;
  expectNear(learn(config, 6), [&](int step) {
    b = config.momentum * b + gradient(w) + config.decay * w;
    return w -= config.rate * factor(step) * b;
  });
}

TEST_F(OptimiserTest, AdamWithDecay) {
  OptimiserConfig config;
  config.rate = 0.05;
  config.decay = 0.1;
  double w = kStart, m = 0, v = 0;
  expectNear(learn(config, 6), [&](int step) {
    const double g = gradient(w) + config.decay * w;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double t = step + 1, rate = config.rate * factor(step);
    return w -= rate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST_F(OptimiserTest, AdamWTakesDecayOffTheWeights) {
  OptimiserConfig config;
  config.kind = OptimiserKind::AdamW;
  config.rate = 0.05;
  config.decay = 0.5;
  double w = kStart, m = 0, v = 0;
  expectNear(learn(config, 6), [&](int step) {
    const double g = gradient(w), t = step + 1, rate = config.rate * factor(step);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    w *= 1 - rate * config.decay;
    return w -= rate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

/// A step of a stack on the interpreter, without passes, against compiled code.
class StepTest : public testing::TestWithParam<const char *> {};

TEST_P(StepTest, CompiledStepIsTheInterpretersStep) {
  const GraphFile graph = plantedGraph();
  Config config;
  for (const char *word = GetParam(); *word;) {
    const std::string rest = word;
    const std::string layer = rest.substr(0, rest.find(' '));
    auto parsed = parseLayer(layer);
    ASSERT_TRUE(parsed) << parsed.status().message();
    config.layers.push_back(*parsed);
    word += layer.size() + (rest.size() > layer.size() ? 1 : 0);
  }
  auto stack = Stack::make(config, graph, 3);
  ASSERT_TRUE(stack) << stack.status().message();
  auto program = stack->forTraining("cross_entropy", OptimiserKind::Adam);
  ASSERT_TRUE(program) << program.status().message();

  const int64_t nodes = graph.graph.numNodes();
  std::vector<double> label(static_cast<size_t>(nodes)), weight(label.size());
  for (size_t i = 0; i < label.size(); ++i) {
    label[i] = static_cast<double>(i % 3);
    weight[i] = i % 4 == 0 ? 0.01 : 0;
  }
  Tensors tensors = stack->features();
  tensors["loss.label"] = tensorOf({nodes}, label);
  tensors["loss.weight"] = tensorOf({nodes}, weight);
  tensors["loss.number"] = tensorOf({3}, {0, 1, 2});
  tensors["grad.loss"] = tensorOf({}, {1});
  Tables tables;
  for (const Parameter &parameter : stack->parameters())
    tables.emplace(parameter.name, Table(startingTensor(parameter, 3)));
  const Tensors inputs = tensors;

  Program plain = program->clone();
  ASSERT_TRUE(plain.attachGraph(graph.graph).isOk());
  ASSERT_TRUE(plain.runPasses("none").isOk());
  for (const auto &[name, table] : tables) {
    tensors[name] = table.copy();
    const std::vector<double> zeros(static_cast<size_t>(table.tensor().numElements()));
    tensors["state.m." + name] = tensors["state.v." + name] = tensorOf(table.tensor().shape, zeros);
  }
  for (const auto &[name, value] : std::map<std::string, double>{{"decay", 0},
                                                                 {"beta1", 0.9},
                                                                 {"gain1", 0.1},
                                                                 {"beta2", 0.999},
                                                                 {"gain2", 0.001},
                                                                 {"epsilon", 1e-3},
                                                                 {"rate", 0.1},
                                                                 {"scale", 1 / std::sqrt(0.001)}})
    tensors["step." + name] = tensorOf({}, {value});
  auto expected = run(plain, graph.graph, tensors, {.isTraining = true, .seed = 7, .step = 0});
  ASSERT_TRUE(expected) << expected.status().message();

  OptimiserConfig optimiser;
  optimiser.rate = 0.01;
  optimiser.epsilon = 1e-3;  // so that the sign of a gradient near 0 does not decide
  auto learner = Learner::make(std::move(*program), graph.graph, std::move(tables), {}, inputs, optimiser, {});
  ASSERT_TRUE(learner) << learner.status().message();
  ASSERT_TRUE(learner->forward(7, 0).isOk());
  ASSERT_TRUE(learner->backward(0, 1).isOk());
  for (const NamedTensor &result : *expected) {
    auto view = learner->view(result.name);
    ASSERT_TRUE(view) << view.status().message();
    const std::vector<double> right = result.tensor.toDoubles();
    const auto *found = static_cast<const float *>(view->data);
    double worst = 0, largest = 1e-6;
    for (size_t i = 0; i < right.size(); ++i) {
      worst = std::max(worst, std::abs(right[i] - static_cast<double>(found[i])));
      largest = std::max(largest, std::abs(right[i]));
    }
    EXPECT_LT(worst / largest, 2e-4) << result.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, StepTest,
                         testing::Values("rgcn:8,relu,dropout=0.4 rgcn", "rgat:8,elu,layer rgat:5,tanh rgcn",
                                         "hgt:gelu,residual hgt", "rgat_heads:4,heads=2,leaky_relu graphsage:3",
                                         "rgcn_bases:6,bases=3,unit,silu film:3"));

}  // namespace
}  // namespace hector::training
