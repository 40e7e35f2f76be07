#include "training/Labels.h"

#include "kernels/common/philox.hpp"
#include "runtime/base/Text.h"
#include "training/Number.h"

#include <algorithm>
#include <cmath>

namespace hector::training {

int64_t Labels::majorityClass() const {
  std::vector<int64_t> counts(static_cast<size_t>(numClasses));
  for (int64_t node : train)
    ++counts[static_cast<size_t>(classes[static_cast<size_t>(node)])];
  return std::max_element(counts.begin(), counts.end()) - counts.begin();
}

static std::vector<int64_t> idsOf(const GraphFile &graph, const std::string &name) {
  std::vector<int64_t> ids;
  if (const Tensor *tensor = graph.tensors.find(name))
    for (int64_t i = 0; i < tensor->numElements(); ++i)
      ids.push_back(tensor->intAt(i));
  return ids;
}

/// Moves a share of the training nodes to those that validate, drawn by the seed.
static void setApart(Labels &labels, double share, uint64_t seed) {
  std::vector<int64_t> shuffled = labels.train;
  for (size_t i = shuffled.size(); i > 1; --i) {
    const PhiloxCounter drawn = philox({{static_cast<uint32_t>(i), 0, 2, 0}},
                                       {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
    const uint64_t word = (static_cast<uint64_t>(drawn.words[0]) << 32) | drawn.words[1];
    std::swap(shuffled[i - 1], shuffled[word % i]);
  }
  const auto count = static_cast<size_t>(std::llround(share * static_cast<double>(shuffled.size())));
  labels.valid.assign(shuffled.begin(), shuffled.begin() + static_cast<std::ptrdiff_t>(count));
  labels.train.assign(shuffled.begin() + static_cast<std::ptrdiff_t>(count), shuffled.end());
  std::sort(labels.valid.begin(), labels.valid.end());
  std::sort(labels.train.begin(), labels.train.end());
}

constexpr int64_t kMostClasses = 1 << 20;

static Status tooManyClasses(int64_t count) {
  return Status::invalid("there would be " + std::to_string(count) + " classes; at most " +
                         std::to_string(kMostClasses) + " can be told apart");
}

static Status readClasses(const GraphFile &graph, const Tensor &label, const std::vector<int64_t> &nodes,
                          Labels &labels) {
  const auto numNodes = static_cast<size_t>(graph.graph.numNodes());
  labels.names = graph.labelNames;
  labels.isMulti = isFloat(label.dtype);
  if (labels.isMulti) {
    labels.numClasses = label.shape.size() == 2 ? label.shape[1] : 0;
    if (labels.numClasses < 1)
      return Status::invalid("`label` has shape " + formatShape(label.shape) + ", but needs a column for each class");
    if (labels.numClasses > kMostClasses)
      return tooManyClasses(labels.numClasses);
    const std::vector<double> values = label.toDoubles();
    const auto width = static_cast<size_t>(labels.numClasses);
    labels.targets.assign(numNodes * width, 0.0F);
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t c = 0; c < width; ++c)
        labels.targets[static_cast<size_t>(nodes[i]) * width + c] = static_cast<float>(values[i * width + c]);
    return Status::ok();
  }
  labels.classes.assign(numNodes, -1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int64_t label_ = label.intAt(static_cast<int64_t>(i));
    if (label_ < 0)
      return Status::invalid("entry " + std::to_string(i) + " of `label` is " + std::to_string(label_) +
                             ", but classes are counted from 0");
    // Checked before anything is computed with the number, which may be the largest there is.
    if (label_ >= kMostClasses)
      return Status::invalid("entry " + std::to_string(i) + " of `label` is " + std::to_string(label_) +
                             "; expected a class below " + std::to_string(kMostClasses));
    labels.classes[static_cast<size_t>(nodes[i])] = label_;
    labels.numClasses = std::max(labels.numClasses, label_ + 1);
  }
  labels.numClasses = std::max(labels.numClasses, static_cast<int64_t>(labels.names.size()));
  return labels.numClasses > kMostClasses ? tooManyClasses(labels.numClasses) : Status::ok();
}

static Status checkSplits(const Labels &labels, const std::vector<bool> &isLabelled, std::vector<std::string> &notes) {
  struct Split {
    const char *name;
    const std::vector<int64_t> &nodes;
  };
  for (const auto &[name, nodes] :
       {Split{"train", labels.train}, Split{"valid", labels.valid}, Split{"test", labels.test}})
    for (int64_t node : nodes)
      if (!isLabelled[static_cast<size_t>(node)])
        return Status::invalid("node " + std::to_string(node) + " is listed in `split." + name + "`, but has no label");
  if (labels.train.empty())
    return Status::invalid("no node is left to train with: `split.train` is empty, or all of it validates");
  if (labels.isMulti)
    return Status::ok();
  std::vector<bool> isSeen(static_cast<size_t>(labels.numClasses));
  for (int64_t node : labels.train)
    isSeen[static_cast<size_t>(labels.classes[static_cast<size_t>(node)])] = true;
  std::string missing;
  int64_t count = 0;
  for (size_t c = 0; c < isSeen.size(); ++c)
    if (!isSeen[c] && ++count <= 5)
      missing +=
          (missing.empty() ? "" : ", ") + (c < labels.names.size() ? inTicks(labels.names[c]) : std::to_string(c));
  if (count > 0)
    notes.push_back(counted(count, "class", "classes") + " of " + std::to_string(labels.numClasses) +
                    (count == 1 ? " has" : " have") + " no node to train with, so predictions of " +
                    (count == 1 ? "it" : "them") + " are chance: " + missing + (count > 5 ? " …" : ""));
  return Status::ok();
}

Result<Labels> readLabels(const GraphFile &graph, double validShare, uint64_t seed, std::vector<std::string> &notes) {
  const Tensor *label = graph.tensors.find("label");
  if (!label || !graph.tensors.find("label.node"))
    return Status::invalid(
        "the graph has no labels, so there are no classes to learn; import it with --labels, or train "
        "link prediction with `task = \"link\"`");
  const std::vector<int64_t> nodes = idsOf(graph, "label.node");
  Labels labels;
  if (Status status = readClasses(graph, *label, nodes, labels); !status.isOk())
    return status;
  labels.train = idsOf(graph, "split.train");
  labels.valid = idsOf(graph, "split.valid");
  labels.test = idsOf(graph, "split.test");
  if (!graph.tensors.find("split.train"))
    return Status::invalid("the graph does not say which labelled nodes train: it has no `split.train`; import it with "
                           "--train and --test");
  if (labels.valid.empty() && validShare > 0) {
    setApart(labels, validShare, seed);
    if (labels.valid.empty())
      notes.push_back("no node validates: `valid_share` is " + formatNumber(validShare) + ", and that of " +
                      counted(static_cast<int64_t>(labels.train.size()), "training node") + " rounds to none");
  }
  std::vector<bool> isLabelled(static_cast<size_t>(graph.graph.numNodes()));
  for (int64_t node : nodes)
    isLabelled[static_cast<size_t>(node)] = true;
  if (Status status = checkSplits(labels, isLabelled, notes); !status.isOk())
    return status;
  return labels;
}

}  // namespace hector::training
