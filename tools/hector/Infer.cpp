/// `hector infer`: predictions of trained parameters.

#include "Commands.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/File.h"
#include "training/Labels.h"
#include "training/Metrics.h"
#include "training/Predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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

std::string classesAsCsv(const GraphFile &graph, const GraphFacts &facts, const Prediction &prediction,
                         const std::vector<int64_t> &predicted, const std::vector<int64_t> &labels) {
  const auto types = typesOf(graph);
  std::string text = "node,name,type,class,probability,label\n";
  const std::span<const float> scores = numbersOf(prediction.out);
  for (int64_t node = 0; node < graph.graph.numNodes(); ++node) {
    const int64_t c = predicted[static_cast<size_t>(node)];
    const auto row =
        scores.subspan(static_cast<size_t>(node * prediction.width), static_cast<size_t>(prediction.width));
    text += nodeColumns(graph, types, node) + "," + csvField(className(facts, c)) + "," +
            shortNumber(probabilityOf(row, c)) + "," +
            (labels.empty() ? "" : csvField(className(facts, labels[static_cast<size_t>(node)]))) + "\n";
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

Status checkEnding(const std::string &path, const char *option) {
  if (path.empty() || path.ends_with(".csv") || path.ends_with(".safetensors"))
    return Status::ok();
  return Status::invalid(std::string(option) + " " + inTicks(path) + " ends neither in .csv nor in .safetensors");
}

/// Prints how well classes are predicted, as far as the graph knows them.
void printScore(const GraphFile &graph, const GraphFacts &facts, const std::vector<int64_t> &predicted,
                const std::vector<int64_t> &labels) {
  std::vector<int64_t> nodes;
  std::string what = "all labelled nodes";
  if (const Tensor *test = graph.tensors.find("split.test"); test && test->numElements() > 0) {
    what = "the test nodes";
    for (int64_t i = 0; i < test->numElements(); ++i)
      nodes.push_back(test->intAt(i));
  } else {
    for (size_t node = 0; node < labels.size(); ++node)
      nodes.push_back(static_cast<int64_t>(node));
  }
  std::vector<int64_t> truth, guess;
  for (int64_t node : nodes)
    if (labels[static_cast<size_t>(node)] >= 0 && labels[static_cast<size_t>(node)] < facts.numClasses) {
      truth.push_back(labels[static_cast<size_t>(node)]);
      guess.push_back(predicted[static_cast<size_t>(node)]);
    }
  if (truth.empty())
    return;
  const Confusion confusion = confusionOf(truth, guess, facts.numClasses);
  std::printf("%s: accuracy %.4f, macro F1 %.4f\n\n%s\n", what.c_str(), confusion.accuracy(), confusion.macroF1(),
              formatConfusion(confusion, facts.classes).c_str());
}

Status infer(const InferCommandOptions &options) {
  for (const auto &[path, option] :
       {std::pair(options.outPath, "--out"), std::pair(options.embeddingsPath, "--embeddings")}) {
    if (Status status = checkEnding(path, option); !status.isOk())
      return status;
    const std::vector<std::string> readFiles = {options.graphPath, options.checkpointPath};
    if (Status status = refuseOverwriting(path, readFiles); !status.isOk())
      return status;
  }
  PredictOptions how;
  how.threads = options.threads;
  how.withHidden = !options.embeddingsPath.empty();
  if (!options.memoryLimit.empty()) {
    const auto bytes = parseBytes(options.memoryLimit);
    if (!bytes)
      return Status::invalid("--memory-limit is " + inTicks(options.memoryLimit) + ", but needs " + kByteForms);
    how.memoryLimit = *bytes;
  }
  auto checkpoint = loadCheckpoint(options.checkpointPath);
  if (!checkpoint)
    return std::move(checkpoint).status();
  auto graph = loadGraphFile(options.graphPath);
  if (!graph)
    return std::move(graph).status();
  const bool isLink = checkpoint->config.task == Task::Link;
  // Encoders of links have no layer after their rows.
  how.withHidden &= !isLink;
  auto prediction = predict(*checkpoint, *graph, how);
  if (!prediction)
    return std::move(prediction).status().during(options.graphPath);
  const GraphFacts &facts = checkpoint->graph;
  std::printf("%lld nodes, %s from %s %lld\n", static_cast<long long>(graph->graph.numNodes()),
              isLink ? "embeddings" : (std::to_string(facts.numClasses) + " classes").c_str(),
              isLink ? "step" : "epoch",
              static_cast<long long>(checkpoint->best.empty() ? checkpoint->epoch : checkpoint->bestEpoch));
  std::vector<int64_t> predicted, labels;
  const Tensor *label = graph->tensors.find("label"), *labelled = graph->tensors.find("label.node");
  const bool isMulti = !isLink && label && isFloat(label->dtype);
  if (!isLink && !isMulti) {
    predicted = predictedClasses(numbersOf(prediction->out), prediction->width);
    if (label && labelled) {
      labels.assign(static_cast<size_t>(graph->graph.numNodes()), -1);
      for (int64_t i = 0; i < labelled->numElements(); ++i)
        labels[static_cast<size_t>(labelled->intAt(i))] = label->intAt(i);
      printScore(*graph, facts, predicted, labels);
    }
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
