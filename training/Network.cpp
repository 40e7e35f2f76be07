#include "training/Network.h"

#include <cstring>

namespace hector::training {

/// The rows of one node type.
struct Network::Stage {
  InputStage input;
  Graph graph;  // its nodes, and no edges
  std::optional<Learner> learner;
  std::optional<Compiled> inference;
};

Network::Network(Stack stack) : layers(std::move(stack)) {}
Network::Network(Network &&) noexcept = default;
Network &Network::operator=(Network &&) noexcept = default;
Network::~Network() = default;

static Result<Tables> startTables(const std::vector<Parameter> &parameters, const LearningPlan &learning) {
  Tables tables;
  for (const Parameter &parameter : parameters) {
    auto start = learning.start(parameter);
    if (!start)
      return std::move(start).status();
    tables.emplace(parameter.name, std::move(*start));
  }
  return tables;
}

static Result<Graph> nodesAlone(int64_t count) {
  const int64_t ends[] = {0, count};
  return Graph::create({}, {}, {}, ends, 1);
}

Status Network::makeStages(const std::optional<LearningPlan> &learning, const CompileSettings &settings) {
  for (const InputStage &input : layers.stages()) {
    auto graph = nodesAlone(input.count);
    if (!graph)
      return std::move(graph).status();
    Stage &stage = *stages.emplace_back(std::make_unique<Stage>(Stage{input, std::move(*graph), {}, {}}));
    Tensors inputs;
    if (input.features)
      inputs["features"] = *input.features;
    if (learning) {
      auto program = Stack::forStage(input, learning->optimiser.kind);
      if (!program)
        return std::move(program).status();
      auto tables = startTables(input.parameters, *learning);
      if (!tables)
        return std::move(tables).status();
      CompileSettings own = besides(learning->settings);
      own.passes = "default";  // there is nothing to choose from, and the recorded plan is that of the layers
      auto made = Learner::make(std::move(*program), stage.graph, std::move(*tables), learning->state, inputs,
                                learning->optimiser, own);
      if (!made)
        return std::move(made).status();
      stage.learner.emplace(std::move(*made));
    }
    auto program = Stack::forStage(input, std::nullopt);
    if (!program)
      return std::move(program).status();
    CompileSettings own = besides(settings);
    own.passes = "default";
    auto compiled = compileProgram(std::move(*program), stage.graph, inputs, own);
    if (!compiled)
      return std::move(compiled).status();
    stage.inference.emplace(std::move(*compiled));
    for (const auto &[name, tensor] : inputs)
      if (Status status = stage.inference->runner->setInput(name, tensor); !status.isOk())
        return status;
  }
  return Status::ok();
}

Result<Network> Network::make(Stack stack, const Graph &graph, const std::optional<LearningPlan> &learning,
                              const CompileSettings &inference, bool withHidden) {
  Network network(std::move(stack));
  if (Status status = network.makeStages(learning, inference); !status.isOk())
    return status;
  Tensors features = network.layers.features();
  if (!network.stages.empty()) {
    network.rows.emplace(std::vector<int64_t>{graph.numNodes(), network.layers.inputWidth()});
    features["x"] = network.rows->tensor();
  }
  if (learning) {
    auto program = learning->loss.empty() ? network.layers.forEncoding(learning->optimiser.kind)
                                          : network.layers.forTraining(learning->loss, learning->optimiser.kind);
    if (!program)
      return std::move(program).status();
    auto tables = startTables(network.layers.parameters(), *learning);
    if (!tables)
      return std::move(tables).status();
    Tensors inputs = learning->inputs;
    inputs.insert(features.begin(), features.end());
    auto made = Learner::make(std::move(*program), graph, std::move(*tables), learning->state, inputs,
                              learning->optimiser, network.besides(learning->settings));
    if (!made)
      return std::move(made).status();
    network.learner.emplace(std::move(*made));
  }
  auto program = network.layers.forInference(withHidden);
  if (!program)
    return std::move(program).status();
  auto compiled = compileProgram(std::move(*program), graph, features, network.besides(inference));
  if (!compiled)
    return std::move(compiled).status();
  network.inference.emplace(std::move(*compiled));
  for (const auto &[name, tensor] : features)
    if (Status status = network.inference->runner->setInput(name, tensor); !status.isOk())
      return status;
  return network;
}

int64_t Network::peakBytes() const {
  auto bytesOf = [](const auto &part) {
    return (part.learner ? part.learner->peakBytes() : 0) + (part.inference ? part.inference->runner->peakBytes() : 0);
  };
  int64_t bytes = bytesOf(*this);
  for (const auto &stage : stages)
    bytes += bytesOf(*stage);
  return bytes;
}

CompileSettings Network::besides(CompileSettings settings) const {
  settings.takenBytes += peakBytes();
  return settings;
}

/// Copies what a stage gave to its rows of the input of the layers.
static void copyRows(const exec::TableView &from, const InputStage &stage, const Table &to) {
  const int64_t width = from.spec->rowSize();
  std::memcpy(to.data() + stage.first * width, from.data, static_cast<size_t>(stage.count * width) * sizeof(float));
}

Status Network::forward(uint64_t seed, int64_t step) {
  for (const auto &stage : stages) {
    if (Status status = stage->learner->forward(seed, step); !status.isOk())
      return status;
    auto out = stage->learner->view("out");
    if (!out)
      return std::move(out).status();
    training::copyRows(*out, stage->input, *rows);
  }
  if (rows)
    if (Status status = learner->setInput("x", rows->tensor()); !status.isOk())
      return status;
  return learner->forward(seed, step);
}

Status Network::backward(int64_t step, double rateFactor) {
  if (Status status = learner->backward(step, rateFactor); !status.isOk())
    return status;
  if (stages.empty())
    return Status::ok();
  auto gradient = learner->view("grad.x");
  if (!gradient)
    return std::move(gradient).status();
  const int64_t width = gradient->spec->rowSize();
  for (const auto &stage : stages) {
    Tensor part;
    part.shape = {stage->input.count, width};
    part.bytes = static_cast<const std::byte *>(gradient->data) +
                 static_cast<size_t>(stage->input.first * width) * sizeof(float);  // stays until the next step
    if (Status status = stage->learner->setInput("grad.out", part); !status.isOk())
      return status;
    if (Status status = stage->learner->backward(step, rateFactor); !status.isOk())
      return status;
  }
  return Status::ok();
}

Status Network::accept() {
  for (const auto &stage : stages)
    if (Status status = stage->learner->accept(); !status.isOk())
      return status;
  return learner->accept();
}

Status Network::fetch() {
  for (const auto &stage : stages)
    if (Status status = stage->learner->fetch(); !status.isOk())
      return status;
  return learner->fetch();
}

Tables Network::parameters() const {
  Tables all = learner->parameters();
  for (const auto &stage : stages)
    all.insert(stage->learner->parameters().begin(), stage->learner->parameters().end());
  return all;
}

Tensors Network::state() const {
  Tensors all = learner->state();
  for (const auto &stage : stages)
    all.merge(stage->learner->state());
  return all;
}

/// Sets the inputs of a plan that are among the parameters, and runs it.
static Status runOn(Runner &runner, const std::vector<Parameter> &wanted, const Tables &parameters) {
  for (const Parameter &parameter : wanted)
    if (Status status = runner.setInput(parameter.name, parameters.at(parameter.name).tensor()); !status.isOk())
      return status;
  return runner.run(exec::Phase::Graph, exec::Phase::Forward);
}

Status Network::predict(const Tables &parameters) {
  for (const auto &stage : stages) {
    if (Status status = runOn(*stage->inference->runner, stage->input.parameters, parameters); !status.isOk())
      return status;
    auto out = stage->inference->runner->view("out");
    if (!out)
      return std::move(out).status();
    training::copyRows(*out, stage->input, *rows);
  }
  if (rows)
    if (Status status = inference->runner->setInput("x", rows->tensor()); !status.isOk())
      return status;
  return runOn(*inference->runner, layers.parameters(), parameters);
}

}  // namespace hector::training
