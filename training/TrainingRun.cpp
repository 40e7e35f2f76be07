#include "training/TrainingRun.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

namespace hector::training {

Tensor tensorOf(std::vector<int64_t> shape, std::vector<float> values) {
  auto owner = std::make_shared<std::vector<float>>(std::move(values));
  Tensor tensor;
  tensor.shape = std::move(shape);
  tensor.bytes = reinterpret_cast<const std::byte *>(owner->data());
  tensor.owner = std::move(owner);
  return tensor;
}

Result<Table> TrainingRun::startOf(const Parameter &parameter) const {
  if (!isResumed())
    return Table(startingTensor(parameter, config.seed));
  auto found = options.resume->parameters.find(parameter.name);
  if (found == options.resume->parameters.end() || found->second.shape != parameter.shape)
    return Status::invalid("the checkpoint has no parameter " + inTicks(parameter.name) + " of shape " +
                           formatShape(parameter.shape));
  if (parameter.home == language::Home::Node)
    if (Status status = options.resume->graph.checkNodes(result.checkpoint.graph); !status.isOk())
      return status;
  return Table(found->second);
}

CompileSettings TrainingRun::settings(const std::string &recorded, int64_t takenBytes) const {
  // Plans of the CPU are chosen by other costs than those of GPUs.
  const bool isContinued = isResumed() && !recorded.empty() && options.resume->config.backend == config.backend;
  return {isContinued ? recorded : config.passes,
          config.threads,
          options.memoryLimit,
          takenBytes,
          options.device,
          options.machine,
          options.onTuned};
}

LearningPlan TrainingRun::learningPlan() const {
  LearningPlan learning;
  learning.state = result.checkpoint.state;
  learning.optimiser = config.optimiser;
  learning.settings = settings(result.checkpoint.plan);
  learning.start = [this](const Parameter &parameter) { return startOf(parameter); };
  return learning;
}

/// A hash of the tensors that the layers read.
static std::string hashFeatures(const Stack &stack) {
  TextHash hash;
  auto add = [&](const std::string &name, const Tensor &tensor) {
    hash.add(name);
    hash.add(std::string(hector::name(tensor.dtype)) + formatShape(tensor.shape));
    hash.add({reinterpret_cast<const char *>(tensor.bytes), tensor.numBytes()});
  };
  for (const auto &[name, tensor] : stack.features())
    add(name, tensor);
  for (const InputStage &stage : stack.stages())
    if (stage.features)
      add(stage.part, *stage.features);
  return hash.digest();
}

KeptLayers TrainingRun::kept() const {
  if (!isResumed())
    return {};
  return {options.resume->models, options.resume->parameters, options.resume->graph.featureWidth};
}

Status TrainingRun::makeNetwork(Stack stack, const Graph &on, const LearningPlan &learning,
                                std::optional<Network> &network, const std::vector<std::string> &more,
                                int64_t moreParameters) {
  if (events.onStart) {
    std::vector<std::string> lines = stack.description();
    lines.insert(lines.end(), more.begin(), more.end());
    int64_t count = moreParameters;
    auto add = [&](const std::vector<Parameter> &parameters) {
      for (const Parameter &parameter : parameters)
        count += std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t{1}, std::multiplies<>());
    };
    add(stack.parameters());
    for (const InputStage &stage : stack.stages())
      add(stage.parameters);
    events.onStart(lines, count);
  }
  Checkpoint &checkpoint = result.checkpoint;
  GraphHashes &hashes = checkpoint.graph.hashes;
  hashes.features = hashFeatures(stack);
  if (isResumed())
    if (Status status = options.resume->graph.hashes.checkSame(hashes); !status.isOk())
      return status;
  checkpoint.graph.featureWidth = stack.featureWidth();
  checkpoint.models = stack.texts();
  // A graph that gains or loses features later must not change what a run reads.
  if (!isResumed())
    checkpoint.config.input.kind = stack.inputKind();
  auto made = Network::make(std::move(stack), on, learning, settings(checkpoint.inferencePlan));
  if (!made)
    return std::move(made).status();
  network.emplace(std::move(*made));
  checkpoint.plan = network->learningPasses();
  checkpoint.inferencePlan = network->inferencePasses();
  result.planBytes = network->peakBytes();
  return Status::ok();
}

Tables TrainingRun::chosen() const {
  Tables tables;
  for (const auto &[name, tensor] : result.checkpoint.chosen())
    tables.emplace(name, Table(tensor));
  return tables;
}

Status TrainingRun::noteFacts(GraphFacts facts) {
  facts.hashes.edges = hashEdges(graph.graph);
  if (isResumed()) {
    const GraphFacts &before = options.resume->graph;
    const bool isKnownMulti = before.isMulti && facts.isMulti;
    if (before.numNodes != facts.numNodes || before.nodeTypes != facts.nodeTypes ||
        before.edgeTypes != facts.edgeTypes || before.classes != facts.classes ||
        before.numClasses != facts.numClasses || (isKnownMulti && before.isMulti != facts.isMulti) ||
        (!before.ntypePtr.empty() && before.ntypePtr != facts.ntypePtr))
      return Status::invalid("the checkpoint was made for another graph; `hector infer` predicts on changed graphs");
    if (Status status = before.hashes.checkSame(facts.hashes); !status.isOk())
      return status;
    // A graph file without names does not make the run forget them.
    if (facts.nodeNames.empty())
      facts.nodeNames = before.nodeNames;
  }
  result.checkpoint.graph = std::move(facts);
  return Status::ok();
}

bool TrainingRun::isBest(const EpochRecord &record) const {
  auto found = record.metrics.find(metric());
  if (found == record.metrics.end())
    return false;
  const Checkpoint &checkpoint = result.checkpoint;
  if (checkpoint.bestEpoch == 0 || found->second != checkpoint.bestMetric)
    return checkpoint.bestEpoch == 0 || found->second > checkpoint.bestMetric;
  // Of equals the one with the smaller loss.
  auto lossOf = [](const EpochRecord &of) {
    auto loss = of.metrics.find("valid.loss");
    return loss == of.metrics.end() ? 0.0 : loss->second;
  };
  const auto before = std::lower_bound(checkpoint.history.begin(), checkpoint.history.end(), checkpoint.bestEpoch,
                                       [](const EpochRecord &of, int64_t epoch) { return of.epoch < epoch; });
  return before != checkpoint.history.end() && before->epoch == checkpoint.bestEpoch &&
         lossOf(record) < lossOf(*before);
}

Status TrainingRun::save() {
  if (Status status = fetch(); !status.isOk())
    return status;
  Checkpoint &checkpoint = result.checkpoint;
  checkpoint.parameters.clear();
  for (const auto &[name, table] : parameters())
    checkpoint.parameters[name] = table.tensor();
  checkpoint.state = state();
  if (options.checkpointPath.empty())
    return checkCheckpoint(checkpoint);
  Status status = saveCheckpoint(options.checkpointPath, checkpoint);
  result.isSaved |= status.isOk();
  return status;
}

Status TrainingRun::runEpoch(int64_t epoch) {
  const auto start = std::chrono::steady_clock::now();
  const double factor = rateFactor(config.schedule, epoch, config.epochs);
  auto loss = forward(epoch);
  if (!loss)
    return std::move(loss).status();
  EpochRecord record;
  record.epoch = epoch + 1;
  record.loss = *loss;
  record.rate = config.optimiser.rate * factor;
  result.stoppedAt = epoch + 1;
  if (!std::isfinite(*loss)) {
    result.reason = StopReason::Diverged;
    result.checkpoint.history.push_back(record);  // for charts; this checkpoint is not written
    return Status::ok();
  }
  if (Status status = update(epoch, factor); !status.isOk())
    return status;
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  seconds.push_back(record.seconds);

  Checkpoint &checkpoint = result.checkpoint;
  const bool isLast = epoch + 1 == config.epochs;
  if (isLast || (epoch + 1) % config.evaluate == 0) {
    if (Status status = fetch(); !status.isOk())
      return status;
    if (Status status = evaluate(record); !status.isOk())
      return status;
  }
  if (isBest(record)) {
    checkpoint.bestEpoch = epoch + 1;
    checkpoint.bestMetric = record.metrics.at(metric());
    checkpoint.best.clear();
    for (const auto &[name, table] : parameters())
      checkpoint.best[name] = table.copy();
  }
  checkpoint.epoch = epoch + 1;
  checkpoint.history.push_back(record);
  if (events.onEpoch)
    events.onEpoch(record);
  if ((epoch + 1) % config.checkpoint == 0 && !isLast && !options.checkpointPath.empty())
    return save();
  return Status::ok();
}

Result<TrainResult> TrainingRun::run() {
  assert((config.backend == Backend::Cuda) == (options.device != nullptr));
  // For all that no plan runs: ranks, metrics, samples.
  ThreadLimit limit(config.threads > 0 ? config.threads : numThreads());
  if (isResumed())
    result.checkpoint = *options.resume;
  result.checkpoint.config = config;
  if (Status status = prepare(); !status.isOk())
    return status;
  if (events.onReady)
    events.onReady();
  result.stoppedAt = result.checkpoint.epoch;
  for (int64_t epoch = result.checkpoint.epoch; epoch < config.epochs; ++epoch) {
    if (config.patience > 0 && epoch - result.checkpoint.bestEpoch >= config.patience) {
      result.reason = StopReason::Patience;
      break;
    }
    {
      // An epoch is finished, so that the run goes on from there as if it had not been stopped.
      InterruptShield shield;
      if (Status status = runEpoch(epoch); !status.isOk())
        return status;
    }
    if (result.reason == StopReason::Diverged)
      return std::move(result);
    if (interruptSignal()) {
      result.reason = StopReason::Interrupted;
      break;
    }
  }
  {
    InterruptShield shield;
    if (Status status = save(); !status.isOk())
      return status;
  }
  if (result.reason != StopReason::Interrupted)
    if (Status status = finish(); !status.isOk()) {
      if (!interruptSignal())
        return status;
      // All epochs are done and kept; continuing the run only judges it.
      result.reason = StopReason::Interrupted;
      result.metrics.clear();
    }
  if (!seconds.empty()) {
    std::sort(seconds.begin(), seconds.end());
    result.secondsPerEpoch = seconds[seconds.size() / 2];
  }
  return std::move(result);
}

}  // namespace hector::training
