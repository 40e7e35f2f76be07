#include "training/Train.h"

#include "training/Labels.h"
#include "training/Network.h"
#include "training/TrainingRun.h"

#include <algorithm>
#include <cmath>

namespace hector::training {

GraphFacts factsOf(const GraphFile &graph) {
  GraphFacts facts;
  facts.numNodes = graph.graph.numNodes();
  facts.nodeTypes = graph.nodeTypes;
  for (const EdgeType &type : graph.edgeTypes)
    facts.edgeTypes.push_back(type.name);
  return facts;
}

namespace {

/// What the loss reads besides the result of the stack.
Tensors lossInputs(const Labels &labels, int64_t numNodes, ClassWeights weighting) {
  std::vector<float> weights(static_cast<size_t>(numNodes));
  std::vector<double> ofClass(static_cast<size_t>(labels.numClasses), 1.0);
  if (weighting == ClassWeights::Balanced && !labels.isMulti) {
    std::vector<int64_t> counts(ofClass.size());
    for (int64_t node : labels.train)
      ++counts[static_cast<size_t>(labels.classes[static_cast<size_t>(node)])];
    const auto seen = static_cast<double>(std::count_if(counts.begin(), counts.end(), [](int64_t n) { return n > 0; }));
    for (size_t c = 0; c < ofClass.size(); ++c)
      ofClass[c] =
          counts[c] == 0 ? 0 : static_cast<double>(labels.train.size()) / (seen * static_cast<double>(counts[c]));
  }
  for (int64_t node : labels.train)
    weights[static_cast<size_t>(node)] = static_cast<float>(
        (labels.isMulti ? 1.0 : ofClass[static_cast<size_t>(labels.classes[static_cast<size_t>(node)])]) /
        static_cast<double>(labels.train.size()));
  Tensors inputs;
  inputs["loss.weight"] = tensorOf({numNodes}, std::move(weights));
  inputs["grad.loss"] = tensorOf({}, {1.0F});
  if (labels.isMulti) {
    inputs["loss.target"] = tensorOf({numNodes, labels.numClasses}, labels.targets);
    return inputs;
  }
  std::vector<float> classes(labels.classes.begin(), labels.classes.end()), number;
  for (int64_t c = 0; c < labels.numClasses; ++c)
    number.push_back(static_cast<float>(c));
  inputs["loss.label"] = tensorOf({numNodes}, std::move(classes));
  inputs["loss.number"] = tensorOf({labels.numClasses}, std::move(number));
  return inputs;
}

/// Rows of `table` for some nodes.
std::vector<float> rowsFor(std::span<const float> table, std::span<const int64_t> nodes, int64_t width) {
  std::vector<float> rows;
  rows.reserve(nodes.size() * static_cast<size_t>(width));
  for (int64_t node : nodes)
    rows.insert(rows.end(), table.begin() + node * width, table.begin() + (node + 1) * width);
  return rows;
}

/// The mean cross-entropy of nodes of one class each.
double meanLoss(std::span<const float> scores, std::span<const int64_t> classes, int64_t width) {
  double total = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    std::span<const float> row = scores.subspan(i * static_cast<size_t>(width), static_cast<size_t>(width));
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (float score : row)
      sum += std::exp(score - top);
    total += std::log(sum) + top - row[static_cast<size_t>(classes[i])];
  }
  return total / static_cast<double>(std::max<size_t>(classes.size(), 1));
}

/// How well the scores of a split's nodes do.
struct SplitScore {
  double accuracy = 0, macroF1 = 0, loss = 0;
  std::optional<Confusion> confusion;
};

SplitScore scoreOf(const Labels &labels, const std::vector<int64_t> &nodes, std::span<const float> out) {
  SplitScore score;
  const std::vector<float> rows = rowsFor(out, nodes, labels.numClasses);
  if (labels.isMulti) {
    const std::vector<float> targets = rowsFor(labels.targets, nodes, labels.numClasses);
    const MultiLabelScore found = multiLabelScore(rows, targets, labels.numClasses);
    score.accuracy = found.microF1;
    score.macroF1 = found.macroF1;
    return score;
  }
  std::vector<int64_t> classes;
  for (int64_t node : nodes)
    classes.push_back(labels.classes[static_cast<size_t>(node)]);
  score.confusion = confusionOf(classes, predictedClasses(rows, labels.numClasses), labels.numClasses);
  score.accuracy = score.confusion->accuracy();
  score.macroF1 = score.confusion->macroF1();
  score.loss = meanLoss(rows, classes, labels.numClasses);
  return score;
}

class ClassTraining final : public TrainingRun {
public:
  using TrainingRun::TrainingRun;

private:
  Status prepare() override;
  Result<double> forward(int64_t epoch) override;
  Status update(int64_t epoch, double rateFactor) override;
  Status evaluate(EpochRecord &record) override;
  Status finish() override;
  Tables parameters() const override { return network->parameters(); }
  Tensors state() const override { return network->state(); }
  std::string metric() const override { return "valid." + score(); }

  std::string score() const { return labels.isMulti ? "micro_f1" : "accuracy"; }
  /// What the stack gives with these parameters: a row per node.
  Result<std::span<const float>> predict(const Tables &tables);

  Labels labels;
  std::optional<Network> network;
};

Status ClassTraining::prepare() {
  std::vector<std::string> notes;
  auto read = readLabels(graph, config.validShare, config.seed, notes);
  if (!read)
    return std::move(read).status();
  labels = std::move(*read);
  if (config.patience > 0 && labels.valid.empty())
    return Status::invalid(
        "`patience` needs nodes to validate with, but the graph has none; set `valid_share` to set some of "
        "the training nodes apart");
  if (events.onNote)
    for (const std::string &note : notes)
      events.onNote(note);

  Checkpoint &checkpoint = result.checkpoint;
  GraphFacts facts = factsOf(graph);
  facts.numClasses = labels.numClasses;
  facts.classes = labels.names;
  if (Status status = noteFacts(std::move(facts)); !status.isOk())
    return status;
  auto stack = Stack::make(config, graph, labels.numClasses, checkpoint.models);
  if (!stack)
    return std::move(stack).status();
  checkpoint.models = stack->texts();
  LearningPlan learning = learningPlan();
  learning.loss = labels.isMulti ? "binary_cross_entropy" : "cross_entropy";
  learning.inputs = lossInputs(labels, graph.graph.numNodes(), config.classWeights);
  return makeNetwork(std::move(*stack), graph.graph, learning, network);
}

Result<double> ClassTraining::forward(int64_t epoch) {
  if (Status status = network->forward(config.seed, epoch); !status.isOk())
    return status;
  return network->number("loss");
}

Status ClassTraining::update(int64_t epoch, double rateFactor) {
  if (Status status = network->backward(epoch, rateFactor); !status.isOk())
    return status;
  return network->accept();
}

Result<std::span<const float>> ClassTraining::predict(const Tables &tables) {
  if (Status status = network->predict(tables); !status.isOk())
    return status;
  auto out = network->prediction();
  if (!out)
    return std::move(out).status();
  return std::span(static_cast<const float *>(out->data), static_cast<size_t>(out->rows * labels.numClasses));
}

Status ClassTraining::evaluate(EpochRecord &record) {
  auto out = predict(parameters());
  if (!out)
    return std::move(out).status();
  record.metrics["train." + score()] = scoreOf(labels, labels.train, *out).accuracy;
  if (labels.valid.empty())
    return Status::ok();
  const SplitScore valid = scoreOf(labels, labels.valid, *out);
  record.metrics["valid." + score()] = valid.accuracy;
  if (!labels.isMulti)
    record.metrics["valid.loss"] = valid.loss;
  return Status::ok();
}

Status ClassTraining::finish() {
  auto out = predict(chosen());
  if (!out)
    return std::move(out).status();
  result.metrics["train." + score()] = scoreOf(labels, labels.train, *out).accuracy;
  if (!labels.valid.empty())
    result.metrics["valid." + score()] = scoreOf(labels, labels.valid, *out).accuracy;
  if (labels.test.empty())
    return Status::ok();
  const SplitScore test = scoreOf(labels, labels.test, *out);
  result.metrics["test." + score()] = test.accuracy;
  result.metrics["test.macro_f1"] = test.macroF1;
  result.confusion = test.confusion;
  if (!labels.isMulti) {
    const int64_t most = labels.majorityClass();
    const auto count = std::count_if(labels.test.begin(), labels.test.end(),
                                     [&](int64_t node) { return labels.classes[static_cast<size_t>(node)] == most; });
    result.majority = static_cast<double>(count) / static_cast<double>(labels.test.size());
  }
  return Status::ok();
}

}  // namespace

Result<TrainResult> trainClasses(const GraphFile &graph, const TrainOptions &options, const TrainEvents &events) {
  return ClassTraining(graph, options, events).run();
}

}  // namespace hector::training
