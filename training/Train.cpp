#include "training/Train.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Text.h"
#include "training/Labels.h"
#include "training/Network.h"
#include "training/Predict.h"
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
  const std::span<const int64_t> ptr = graph.graph.ntypePtr();
  facts.ntypePtr.assign(ptr.begin(), ptr.end());
  if (graph.hasNames()) {
    TextHash names;
    for (int64_t node = 0; node < facts.numNodes; ++node)
      names.add(graph.nodeName(node));
    facts.nodeNames = names.digest();
  }
  return facts;
}

template <class T> static std::string_view bytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size_bytes()};
}

std::string hashNumbers(std::span<const int64_t> numbers) {
  TextHash hash;
  hash.add(bytesOf(numbers));
  return hash.digest();
}

std::string hashEdges(const Graph &graph) {
  TextHash hash;
  // Whether a file has ids of 32 or 64 bits does not matter.
  std::vector<int64_t> numbers(static_cast<size_t>(graph.numEdges()));
  for (const IdArray *ids : {&graph.src(), &graph.dst(), &graph.etype()}) {
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      numbers[static_cast<size_t>(e)] = (*ids)[e];
    hash.add(bytesOf(std::span<const int64_t>(numbers)));
  }
  return hash.digest();
}

namespace {

std::string hashLabels(const Labels &labels) {
  TextHash hash;
  hash.add(bytesOf(std::span(labels.classes)));
  hash.add(bytesOf(std::span(labels.targets)));
  return hash.digest();
}

std::string hashSplits(const Labels &labels) {
  TextHash hash;
  for (std::vector<int64_t> nodes : {labels.train, labels.valid, labels.test}) {
    std::sort(nodes.begin(), nodes.end());
    hash.add(bytesOf(std::span<const int64_t>(nodes)));
  }
  return hash.digest();
}

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
};

std::vector<int64_t> classesOf(const Labels &labels, const std::vector<int64_t> &nodes) {
  std::vector<int64_t> classes;
  for (int64_t node : nodes)
    classes.push_back(labels.classes[static_cast<size_t>(node)]);
  return classes;
}

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
  const std::vector<int64_t> classes = classesOf(labels, nodes);
  const ClassScore found = classScore(classes, predictedClasses(rows, labels.numClasses), labels.numClasses);
  score.accuracy = found.accuracy;
  score.macroF1 = found.macroF1;
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
  Status fetch() override { return network->fetch(); }
  Tables parameters() const override { return network->parameters(); }
  Tensors state() const override { return network->state(); }
  std::string metric() const override { return "valid." + score(); }

  std::string score() const { return labels.isMulti ? "micro_f1" : "accuracy"; }
  /// What the stack gives with these parameters: a row per node.
  Result<std::span<const float>> predict(const Tables &tables);
  /// Says for which nodes of the splits the stack gives no finite numbers.
  void noteNotFinite(std::span<const float> out) const;

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
  // Runs of earlier versions may have it, without effect.
  if (labels.isMulti && config.classWeights != ClassWeights::None && !isResumed())
    return Status::invalid("`class_weights` is balanced, but nodes of this graph have several classes each, which all "
                           "count the same; leave it out");
  if (events.onNote)
    for (const std::string &note : notes)
      events.onNote(note);

  GraphFacts facts = factsOf(graph);
  facts.numClasses = labels.numClasses;
  facts.classes = labels.names;
  facts.isMulti = labels.isMulti;
  facts.hashes.labels = hashLabels(labels);
  facts.hashes.splits = hashSplits(labels);
  if (Status status = noteFacts(std::move(facts)); !status.isOk())
    return status;
  auto stack = Stack::make(config, graph, labels.numClasses, kept());
  if (!stack)
    return std::move(stack).status();
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

void ClassTraining::noteNotFinite(std::span<const float> out) const {
  if (!events.onNote)
    return;
  for (const auto &[name, nodes] : {std::pair("valid", &labels.valid), {"test", &labels.test}}) {
    const std::vector<int64_t> found = nodesNotFinite(*nodes, out, labels.numClasses);
    if (found.empty())
      continue;
    const bool isOne = found.size() == 1;
    events.onNote(counted(static_cast<int64_t>(found.size()), "node") + " of `split." + name + "` " +
                  (isOne ? "has" : "have") + " scores that are not finite numbers" +
                  (isOne ? ", " : "; the first is ") + showNode(graph, found.front()) + "; " +
                  (labels.isMulti ? "no class with such a score is predicted"
                   : isOne        ? "it counts as wrong and is left out of the table"
                                  : "they count as wrong and are left out of the table"));
  }
}

Status ClassTraining::finish() {
  auto out = predict(chosen());
  if (!out)
    return std::move(out).status();
  noteNotFinite(*out);
  result.metrics["train." + score()] = scoreOf(labels, labels.train, *out).accuracy;
  if (!labels.valid.empty())
    result.metrics["valid." + score()] = scoreOf(labels, labels.valid, *out).accuracy;
  if (labels.test.empty())
    return Status::ok();
  const SplitScore test = scoreOf(labels, labels.test, *out);
  result.metrics["test." + score()] = test.accuracy;
  result.metrics["test.macro_f1"] = test.macroF1;
  if (!labels.isMulti) {
    if (labels.numClasses <= kMostConfusionClasses)
      result.confusion = confusionOf(classesOf(labels, labels.test),
                                     predictedClasses(rowsFor(*out, labels.test, labels.numClasses), labels.numClasses),
                                     labels.numClasses);
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
