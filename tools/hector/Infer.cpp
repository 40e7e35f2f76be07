/// `hector infer`: predictions of trained parameters.

#include "Commands.h"
#include "RunReport.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/File.h"
#include "training/Metrics.h"
#include "training/Outputs.h"
#include "training/Predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>

namespace hector {

using namespace training;

namespace {

std::span<const float> numbersOf(const Tensor &tensor) {
  return {reinterpret_cast<const float *>(tensor.bytes), static_cast<size_t>(tensor.numElements())};
}

/// A field of CSV, in quotes where it needs them.
std::string csvField(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos)
    return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"')
      quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string shortNumber(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return text;
}

/// The type of each node, by name.
std::vector<const std::string *> typesOf(const GraphFile &graph) {
  std::vector<const std::string *> types(static_cast<size_t>(graph.graph.numNodes()));
  const std::span<const int64_t> ptr = graph.graph.ntypePtr();
  for (size_t k = 0; k + 1 < ptr.size(); ++k)
    for (int64_t node = ptr[k]; node < ptr[k + 1]; ++node)
      types[static_cast<size_t>(node)] = &graph.nodeTypes[k];
  return types;
}

/// The probability of the class that has it in a row of scores.
float probabilityOf(std::span<const float> row, int64_t predicted) {
  if (predicted < 0)
    return NAN;
  const float top = row[static_cast<size_t>(predicted)];
  double sum = 0;
  for (float score : row)
    sum += std::exp(static_cast<double>(score - top));
  return static_cast<float>(1 / sum);
}

/// Columns of CSV that say which node a line is about.
std::string nodeColumns(const GraphFile &graph, const std::vector<const std::string *> &types, int64_t node) {
  return std::to_string(node) + "," + csvField(graph.nodeName(node)) + "," +
         csvField(*types[static_cast<size_t>(node)]);
}

std::string rowsAsCsv(const GraphFile &graph, const Tensor &rows, const std::string &column) {
  const int64_t width = rows.shape.size() > 1 ? rows.shape[1] : 1;
  const auto types = typesOf(graph);
  const std::span<const float> numbers = numbersOf(rows);
  std::string text = "node,name,type";
  for (int64_t k = 0; k < width; ++k)
    text += "," + column + std::to_string(k);
  text += "\n";
  for (int64_t node = 0; node < graph.graph.numNodes(); ++node) {
    text += nodeColumns(graph, types, node);
    for (int64_t k = 0; k < width; ++k)
      text += "," + shortNumber(numbers[static_cast<size_t>(node * width + k)]);
    text += "\n";
  }
  return text;
}

std::string className(const GraphFacts &facts, int64_t c) {
  return c < 0                                            ? ""
         : c < static_cast<int64_t>(facts.classes.size()) ? facts.classes[static_cast<size_t>(c)]
                                                          : std::to_string(c);
}

/// Labels of a graph, in the classes of a run.
class GivenLabels {
public:
  GivenLabels(const GraphFile &graph, const GraphFacts &facts)
      : graph(graph), facts(facts), label(graph.tensors.find("label")),
        isNamed(!graph.labelNames.empty() && !facts.classes.empty() && graph.labelNames != facts.classes) {
    const Tensor *nodes = graph.tensors.find("label.node");
    if (!label || !nodes)
      return;
    entries.assign(static_cast<size_t>(graph.graph.numNodes()), -1);
    for (int64_t i = 0; i < nodes->numElements(); ++i)
      entries[static_cast<size_t>(nodes->intAt(i))] = i;
    for (size_t c = 0; isNamed && c < facts.classes.size(); ++c)
      numbers.emplace(facts.classes[c], static_cast<int64_t>(c));
  }

  bool isEmpty() const { return entries.empty(); }
  /// Nodes have several classes each.
  bool isMulti() const { return !isEmpty() && isFloat(label->dtype); }
  bool hasLabel(int64_t node) const { return entries[static_cast<size_t>(node)] >= 0; }
  /// The class of a node, as the graph numbers it.
  int64_t given(int64_t node) const { return label->intAt(entries[static_cast<size_t>(node)]); }
  /// The classes of a node, as the graph numbers them.
  std::vector<int64_t> allGiven(int64_t node) const {
    if (!isMulti())
      return {given(node)};
    std::vector<int64_t> classes;
    const int64_t width = label->shape[1];
    const int64_t first = entries[static_cast<size_t>(node)] * width;
    for (int64_t c = 0; c < width; ++c) {
      float value = 0;
      std::memcpy(&value, label->bytes + static_cast<size_t>(first + c) * sizeof(value), sizeof(value));
      if (value > 0.5F)
        classes.push_back(c);
    }
    return classes;
  }
  /// The run's number of a class of the graph, -1 if the run does not know it. Names decide if both have them: numbers
  /// depend on which classes a file has.
  int64_t known(int64_t c) const {
    if (!isNamed)
      return c < facts.numClasses ? c : -1;
    auto found = numbers.find(name(c));
    return found == numbers.end() ? -1 : found->second;
  }
  /// What the graph calls a class; what the run does, if the graph has no names.
  std::string name(int64_t c) const {
    return c < static_cast<int64_t>(graph.labelNames.size()) ? graph.labelNames[static_cast<size_t>(c)]
                                                             : className(facts, c);
  }

private:
  const GraphFile &graph;
  const GraphFacts &facts;
  const Tensor *label;
  bool isNamed;
  std::vector<int64_t> entries;  // one per node: its place in `label`, -1: none
  std::map<std::string, int64_t> numbers;
};

std::string classesAsCsv(const GraphFile &graph, const GraphFacts &facts, const Prediction &prediction,
                         const std::vector<int64_t> &predicted, const GivenLabels &labels) {
  const auto types = typesOf(graph);
  const bool hasLabels = !labels.isEmpty() && !labels.isMulti();
  std::string text = "node,name,type,class,probability,label\n";
  const std::span<const float> scores = numbersOf(prediction.out);
  for (int64_t node = 0; node < graph.graph.numNodes(); ++node) {
    const int64_t c = predicted[static_cast<size_t>(node)];
    const auto row =
        scores.subspan(static_cast<size_t>(node * prediction.width), static_cast<size_t>(prediction.width));
    text += nodeColumns(graph, types, node) + "," + csvField(className(facts, c)) + "," +
            shortNumber(probabilityOf(row, c)) + "," +
            (hasLabels && labels.hasLabel(node) ? csvField(labels.name(labels.given(node))) : "") + "\n";
  }
  return text;
}

Status writeTensors(const std::string &path, const GraphFile &graph, Tensors tensors) {
  TensorFile file;
  for (auto &[name, tensor] : tensors)
    file.tensors[name] = std::move(tensor);
  for (const char *name : {"names.bytes", "names.offsets"})
    if (const Tensor *names = graph.tensors.find(name))
      file.tensors[name] = *names;
  return writeSafetensors(path, file);
}

Status checkEnding(const std::string &path, const std::string &option) {
  if (path.empty() || path.ends_with(".csv") || path.ends_with(".safetensors"))
    return Status::ok();
  return Status::invalid(option + " " + inTicks(path) + " ends neither in .csv nor in .safetensors");
}

/// The nodes that the score is computed on: the test nodes, or all; those without a label are left out.
struct ScoredNodes {
  std::string what;
  std::vector<int64_t> nodes;
};

ScoredNodes scoredNodes(const GraphFile &graph, const GivenLabels &labels) {
  ScoredNodes scored;
  auto add = [&](int64_t node) {
    if (labels.hasLabel(node))
      scored.nodes.push_back(node);
  };
  if (const Tensor *test = graph.tensors.find("split.test"); test && test->numElements() > 0) {
    scored.what = "the test nodes";
    for (int64_t i = 0; i < test->numElements(); ++i)
      add(test->intAt(i));
  } else {
    scored.what = "all labelled nodes";
    for (int64_t node = 0; node < graph.graph.numNodes(); ++node)
      add(node);
  }
  return scored;
}

/// Says how many labels are of classes that the run does not know.
void noteUnknown(const ScoredNodes &scored, const GivenLabels &labels) {
  int64_t count = 0;
  std::string example;
  for (int64_t node : scored.nodes)
    for (int64_t c : labels.allGiven(node))
      if (labels.known(c) < 0) {
        ++count;
        if (example.empty())
          example = labels.name(c);
      }
  if (count > 0)
    std::fprintf(stderr, "note: %s of %s %s of classes that the run does not know, such as %s; %s left out\n",
                 counted(count, "label").c_str(), scored.what.c_str(), count == 1 ? "is" : "are",
                 inTicks(example).c_str(), count == 1 ? "it is" : "they are");
}

/// Says for which nodes there is no prediction, and what becomes of those that are scored.
void noteNotFinite(const GraphFile &graph, const Prediction &prediction, const ScoredNodes &scored, bool isMulti) {
  std::vector<int64_t> all(static_cast<size_t>(graph.graph.numNodes()));
  std::iota(all.begin(), all.end(), int64_t{0});
  const std::span<const float> rows = numbersOf(prediction.out);
  const std::vector<int64_t> found = nodesNotFinite(all, rows, prediction.width);
  if (found.empty())
    return;
  const bool isOne = found.size() == 1;
  std::string text = counted(static_cast<int64_t>(found.size()), "node") + " of " + std::to_string(all.size()) +
                     (isOne ? " has" : " have") + " no prediction, as the result is not finite there" +
                     (isOne ? ": " : "; the first is ") + showNode(graph, found.front());
  if (const size_t count = nodesNotFinite(scored.nodes, rows, prediction.width).size(); count > 0)
    text += "; " + std::to_string(count) + " of " + scored.what +
            (isMulti      ? " lack the classes with such scores"
             : count == 1 ? " counts as wrong and is left out of the table"
                          : " count as wrong and are left out of the table");
  std::fflush(stdout);
  std::fprintf(stderr, "note: %s\n", text.c_str());
}

/// Prints how well classes are predicted, as far as the graph knows them.
void printScore(const ScoredNodes &scored, const GraphFacts &facts, const std::vector<int64_t> &predicted,
                const GivenLabels &labels) {
  std::vector<int64_t> truth, guess;
  for (int64_t node : scored.nodes)
    if (const int64_t c = labels.known(labels.given(node)); c >= 0) {
      truth.push_back(c);
      guess.push_back(predicted[static_cast<size_t>(node)]);
    }
  if (truth.empty())
    return;
  const ClassScore score = classScore(truth, guess, facts.numClasses);
  std::printf("%s: accuracy %.4f, macro F1 %.4f\n", scored.what.c_str(), score.accuracy, score.macroF1);
  if (facts.numClasses > kMostConfusionClasses)
    return;
  if (const Confusion confusion = confusionOf(truth, guess, facts.numClasses); confusion.total() > 0)
    std::printf("\n%s\n", formatConfusion(confusion, facts.classes).c_str());
}

/// The same for several classes per node.
void printMultiLabelScore(const ScoredNodes &scored, const GraphFacts &facts, std::span<const float> out,
                          const GivenLabels &labels) {
  const auto width = static_cast<size_t>(facts.numClasses);
  std::vector<float> targets(scored.nodes.size() * width), scores;
  for (size_t i = 0; i < scored.nodes.size(); ++i) {
    for (int64_t c : labels.allGiven(scored.nodes[i]))
      if (const int64_t known = labels.known(c); known >= 0)
        targets[i * width + static_cast<size_t>(known)] = 1;
    const std::span<const float> row = out.subspan(static_cast<size_t>(scored.nodes[i]) * width, width);
    scores.insert(scores.end(), row.begin(), row.end());
  }
  if (targets.empty())
    return;
  const MultiLabelScore score = multiLabelScore(scores, targets, facts.numClasses);
  std::printf("%s: micro F1 %.4f, macro F1 %.4f\n", scored.what.c_str(), score.microF1, score.macroF1);
}

Status infer(const InferCommandOptions &options) {
  const OutputFile outputs[] = {{"--out", options.outPath}, {"--embeddings", options.embeddingsPath}};
  for (const OutputFile &output : outputs)
    if (Status status = checkEnding(output.path, output.option); !status.isOk())
      return status;
  const std::string readFiles[] = {options.graphPath, options.checkpointPath};
  if (Status status = checkOutputs(outputs, readFiles); !status.isOk())
    return status;
  ThreadLimit limit(options.threads > 0 ? options.threads : numThreads());
  PredictOptions how;
  how.threads = options.threads;
  how.withHidden = !options.embeddingsPath.empty();
  if (!options.memoryLimit.empty()) {
    const auto bytes = parseBytes(options.memoryLimit);
    if (!bytes)
      return Status::invalid("--memory-limit is " + inTicks(options.memoryLimit) + ", but needs " + kByteForms);
    how.memoryLimit = *bytes;
  }
  auto machine = chooseGpu(options.machine, options.backend);
  if (!machine)
    return std::move(machine).status();
  how.machine = std::move(*machine);
  std::unique_ptr<Device> device;
  if (options.backend == "cuda") {
    auto found = findGpu();
    if (!found)
      return Status::invalid("--backend cuda: " + found.status().message() + "; predict with --backend cpu");
    device = std::move(*found);
    how.device = device.get();
  }
  auto checkpoint = loadCheckpoint(options.checkpointPath);
  if (!checkpoint)
    return std::move(checkpoint).status();
  if (Status status = checkModels(*checkpoint); !status.isOk())
    return std::move(status).during(options.checkpointPath);
  auto graph = loadGraphFile(options.graphPath);
  if (!graph)
    return std::move(graph).status();
  const bool isLink = checkpoint->config.task == Task::Link;
  // Encoders of links have no layer after their rows.
  how.withHidden &= !isLink;
  auto prediction = predict(*checkpoint, *graph, how);
  // A place is one in the text of a layer, which the checkpoint keeps.
  if (!prediction && prediction.status().isLocated())
    return Status::invalid(options.checkpointPath + ": a layer that it keeps cannot be compiled for " +
                           inTicks(options.graphPath) + "\n" + prediction.status().message());
  if (!prediction)
    return std::move(prediction).status().during(options.graphPath);
  const GraphFacts &facts = checkpoint->graph;
  std::printf("%lld nodes, %s from %s %lld\n", static_cast<long long>(graph->graph.numNodes()),
              isLink ? "embeddings" : (std::to_string(facts.numClasses) + " classes").c_str(),
              isLink ? "step" : "epoch",
              static_cast<long long>(checkpoint->best.empty() ? checkpoint->epoch : checkpoint->bestEpoch));
  std::vector<int64_t> predicted;
  const GivenLabels labels(*graph, facts);
  // Runs of earlier versions do not say, so the graph decides.
  const bool isMulti = !isLink && facts.isMulti.value_or(labels.isMulti());
  if (!isLink && !isMulti)
    predicted = predictedClasses(numbersOf(prediction->out), prediction->width);
  const bool isCompared = !isLink && !labels.isEmpty() && (isMulti || !labels.isMulti());
  const ScoredNodes scored = isCompared ? scoredNodes(*graph, labels) : ScoredNodes();
  noteNotFinite(*graph, *prediction, scored, isMulti);
  if (!isLink && !isMulti && labels.isMulti()) {
    std::fprintf(stderr, "note: nodes of the graph have several classes each, but the run predicts one; labels are not "
                         "compared\n");
  } else if (isCompared) {
    noteUnknown(scored, labels);
    if (isMulti)
      printMultiLabelScore(scored, facts, numbersOf(prediction->out), labels);
    else
      printScore(scored, facts, predicted, labels);
  }
  auto write = [&](const std::string &path, const std::string &csv, Tensors tensors) -> Status {
    Status status = path.ends_with(".csv") ? replaceFile(path, csv) : writeTensors(path, *graph, std::move(tensors));
    if (status.isOk())
      std::printf("wrote %s\n", path.c_str());
    return status;
  };
  if (!options.outPath.empty()) {
    const bool isCsv = options.outPath.ends_with(".csv");
    Tensors tensors = {{"out", prediction->out}};
    if (!predicted.empty())
      tensors["class"] = Tensor::fromInt64({static_cast<int64_t>(predicted.size())}, predicted);
    const std::string csv = !isCsv              ? ""
                            : predicted.empty() ? rowsAsCsv(*graph, prediction->out, "out")
                                                : classesAsCsv(*graph, facts, *prediction, predicted, labels);
    if (Status status = write(options.outPath, csv, std::move(tensors)); !status.isOk())
      return status;
  }
  if (!options.embeddingsPath.empty()) {
    const Tensor &rows = isLink ? prediction->out : prediction->hidden;
    const std::string csv = options.embeddingsPath.ends_with(".csv") ? rowsAsCsv(*graph, rows, "e") : "";
    if (Status status = write(options.embeddingsPath, csv, {{"embedding", rows}}); !status.isOk())
      return status;
  }
  return Status::ok();
}

}  // namespace

int inferCommand(const InferCommandOptions &options) {
  noteInterrupts();
  Status status = infer(options);
  if (status.isOk())
    return kExitFine;
  const int code = report(status);
  return interruptSignal() ? interruptExitCode() : code;
}

}  // namespace hector
