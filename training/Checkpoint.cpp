#include "training/Checkpoint.h"

#include "driver/Model.h"
#include "runtime/base/Text.h"
#include "runtime/storage/Safetensors.h"
#include "training/Number.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

namespace hector::training {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "checkpoint/1";
constexpr std::string_view kState = "state.", kBest = "best.";
constexpr const char *kDamaged = "; the file was changed or damaged, so use another checkpoint";

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// --- what holds for every checkpoint
// ----------------------------------------------------------------------------------

double elementOf(const Tensor &tensor, int64_t i) {
  auto read = [&](auto value) {
    std::memcpy(&value, tensor.bytes + static_cast<size_t>(i) * sizeof(value), sizeof(value));
    return value;
  };
  switch (tensor.dtype) {
  case DType::F64:
    return read(double());
  case DType::F16:
    return halfToDouble(read(uint16_t()));
  case DType::BF16:
    return bfloatToDouble(read(uint16_t()));
  default:
    return read(float());
  }
}

/// Fails if a tensor has something other than numbers. `what` is what messages call it.
Status checkNumbers(const std::string &what, const Tensor &tensor) {
  if (!isFloat(tensor.dtype))
    return Status::invalid(what + " holds " + std::string(name(tensor.dtype)) + "; expected F32");
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    if (const double value = elementOf(tensor, i); !std::isfinite(value))
      return Status::invalid(what + " has " + (std::isnan(value) ? "a NaN" : "an infinity") + " at element " +
                             std::to_string(i) + "; expected numbers (a lower learning rate may help)");
  return Status::ok();
}

/// The tensors fit each other, and have names that reading keeps apart.
Status checkTensors(const Checkpoint &checkpoint) {
  for (const auto &[name, tensor] : checkpoint.parameters) {
    if (name.starts_with(kState) || name.starts_with(kBest))
      return Status::invalid("a parameter is named " + inTicks(name) + "; names that start with `state.` or `best.` " +
                             "are reserved");
    if (Status status = checkNumbers("parameter " + inTicks(name), tensor); !status.isOk())
      return status;
  }
  auto checkLike = [&](const std::string &what, const Tensor &tensor, const std::string &name) {
    auto parameter = checkpoint.parameters.find(name);
    if (parameter == checkpoint.parameters.end())
      return Status::invalid(what + " belongs to parameter " + inTicks(name) + ", which is missing");
    if (parameter->second.shape != tensor.shape)
      return Status::invalid(what + " has shape " + formatShape(tensor.shape) + ", but parameter " + inTicks(name) +
                             " has shape " + formatShape(parameter->second.shape) + "; expected the same");
    return checkNumbers(what, tensor);
  };
  for (const auto &[name, tensor] : checkpoint.state)  // m.layer1.W
    if (Status status =
            checkLike("tensor " + inTicks(std::string(kState) + name), tensor, name.substr(name.find('.') + 1));
        !status.isOk())
      return status;
  for (const auto &[name, tensor] : checkpoint.best)
    if (Status status = checkLike("tensor " + inTicks(std::string(kBest) + name), tensor, name); !status.isOk())
      return status;
  if (!checkpoint.best.empty())
    for (const auto &[name, tensor] : checkpoint.parameters)
      if (!checkpoint.best.contains(name))
        return Status::invalid("tensor " + inTicks(std::string(kBest) + name) +
                               " is missing; expected the best values of all parameters");
  return Status::ok();
}

Status checkContents(const Checkpoint &checkpoint) {
  const auto count = [](size_t n, const char *what) { return counted(static_cast<int64_t>(n), what); };
  if (Status status = checkConfig(checkpoint.config, ConfigRules::Kept); !status.isOk())
    return status;
  if (checkpoint.models.size() != checkpoint.config.layers.size())
    return Status::invalid("the configuration has " + count(checkpoint.config.layers.size(), "layer") + ", but " +
                           count(checkpoint.models.size(), "model") + (checkpoint.models.size() == 1 ? " is" : " are") +
                           " there; expected one for each");
  if (checkpoint.epoch < 0)
    return Status::invalid("`epoch` is " + std::to_string(checkpoint.epoch) + "; expected 0 or more");
  if (checkpoint.bestEpoch < 0 || checkpoint.bestEpoch > checkpoint.epoch)
    return Status::invalid("`best_epoch` is " + std::to_string(checkpoint.bestEpoch) + "; expected 0 to " +
                           std::to_string(checkpoint.epoch));
  if (checkpoint.bestEpoch > 0 && !std::isfinite(checkpoint.bestMetric))
    return Status::invalid("`best_metric` is " + formatNumber(checkpoint.bestMetric) + "; expected a number");
  if (checkpoint.bestEpoch == 0 && !checkpoint.best.empty())
    return Status::invalid("there are parameters of a best epoch, but `best_epoch` is 0");
  const GraphFacts &graph = checkpoint.graph;
  if (graph.numNodes < 0 || graph.numClasses < 0)
    return Status::invalid("the graph has " + std::to_string(graph.numNodes) + " nodes and " +
                           std::to_string(graph.numClasses) + " classes; expected 0 or more");
  if (!graph.classes.empty() && static_cast<int64_t>(graph.classes.size()) != graph.numClasses)
    return Status::invalid("the graph has " + counted(graph.numClasses, "class", "classes") + ", but " +
                           count(graph.classes.size(), "name") + " of classes; expected as many, or none");
  if (!graph.ntypePtr.empty() && graph.ntypePtr.size() != graph.nodeTypes.size() + 1)
    return Status::invalid("the graph has " + count(graph.nodeTypes.size(), "node type") + ", but `ntype_ptr` has " +
                           counted(static_cast<int64_t>(graph.ntypePtr.size()), "entry", "entries") + "; expected " +
                           std::to_string(graph.nodeTypes.size() + 1) + ", or none");
  return checkTensors(checkpoint);
}

// --- metadata
// ---------------------------------------------------------------------------------------------------------

/// Reads the metadata of a file. The first failure stays; what is read after it is empty.
class Metadata {
public:
  explicit Metadata(const TensorFile &file) : file(file) {}

  Status status = Status::ok();

  const std::string &text(const std::string &key) {
    static const std::string kNone;
    auto found = file.metadata.find(key);
    if (found != file.metadata.end())
      return found->second;
    fail("the metadata " + inTicks(key) + " is missing" + kDamaged);
    return kNone;
  }
  int64_t whole(const std::string &key) {
    const std::string &digits = text(key);
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
      unexpected(key, digits, "a whole number, 0 or more");
    return value;
  }
  double number(const std::string &key) {
    const std::string &digits = text(key);
    double value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
      unexpected(key, digits, "a number");
    return value;
  }
  /// A list of texts; those of an object are found by `member`.
  std::vector<std::string> names(const std::string &key, const char *member = nullptr) {
    const Json json = parsed(key, member);
    std::vector<std::string> names;
    bool isSound = json.is_array();
    for (const Json &item : isSound ? json : Json::array()) {
      isSound &= item.is_string();
      names.push_back(item.is_string() ? item.get<std::string>() : "");
    }
    if (!isSound)
      unexpected(key, text(key), (member ? "`" + std::string(member) + "` to be " : "") + "a list of names in JSON");
    return names;
  }
  int64_t count(const std::string &key, const char *member) {
    const Json json = parsed(key, member);
    if (isCount(json))
      return json.get<int64_t>();
    unexpected(key, text(key), "`" + std::string(member) + "` to be a whole number, 0 or more");
    return 0;
  }

  // What earlier versions did not write: empty where it is missing.
  std::string textOrNone(const std::string &key) const {
    auto found = file.metadata.find(key);
    return found == file.metadata.end() ? "" : found->second;
  }
  std::string textOrNone(const std::string &key, const char *member) {
    const Json json = parsed(key, member);
    if (!json.is_null() && !json.is_string())
      unexpected(key, text(key), "`" + std::string(member) + "` to be a text");
    return json.is_string() ? json.get<std::string>() : "";
  }
  int64_t countOrNone(const std::string &key, const char *member) {
    return parsed(key, member).is_null() ? 0 : count(key, member);
  }
  std::vector<int64_t> countsOrNone(const std::string &key, const char *member) {
    const Json json = parsed(key, member);
    std::vector<int64_t> counts;
    bool isSound = json.is_null() || json.is_array();
    for (const Json &item : json.is_array() ? json : Json::array()) {
      isSound &= isCount(item);
      counts.push_back(isCount(item) ? item.get<int64_t>() : 0);
    }
    if (!isSound)
      unexpected(key, text(key), "`" + std::string(member) + "` to be a list of whole numbers, 0 or more");
    return counts;
  }
  std::optional<bool> truthOrNone(const std::string &key, const char *member) {
    const Json json = parsed(key, member);
    if (json.is_boolean())
      return json.get<bool>();
    if (!json.is_null())
      unexpected(key, text(key), "`" + std::string(member) + "` to be true or false");
    return std::nullopt;
  }

  void unexpected(const std::string &key, const std::string &given, const std::string &expected) {
    fail("the metadata " + inTicks(key) + " is " + inTicks(given) + "; expected " + expected + kDamaged);
  }
  void fail(std::string message) {
    if (status.isOk())
      status = Status::invalid(std::move(message));
  }

private:
  static bool isCount(const Json &json) {
    return json.is_number_unsigned() && json.get<uint64_t>() <= std::numeric_limits<int64_t>::max();
  }
  /// The value of an entry, or of a member of it; null if there is none.
  Json parsed(const std::string &key, const char *member) {
    Json json = Json::parse(text(key), nullptr, /*allow_exceptions=*/false);
    if (!member)
      return json;
    return json.is_object() && json.contains(member) ? json[member] : Json();
  }

  const TensorFile &file;
};

/// Fails unless the file says that it is a checkpoint that this version reads.
Status checkFormat(const TensorFile &file) {
  auto found = file.metadata.find("hector.format");
  if (found == file.metadata.end())
    return Status::invalid(
        "it is not a checkpoint: it has no metadata `hector.format`; expected a file that `hector train` "
        "wrote");
  const std::string &format = found->second;
  if (format == kFormat)
    return Status::ok();
  if (format.starts_with("checkpoint/"))
    return Status::invalid("it is a checkpoint of the format " + inTicks(format) + ", but this version reads " +
                           inTicks(kFormat) + "; use the version of Hector that wrote it");
  if (format.starts_with("graph/"))
    return Status::invalid("it is a graph file, not a checkpoint; expected a file that `hector train` wrote");
  return Status::invalid("it is not a checkpoint: its metadata `hector.format` is " + inTicks(format) + "; expected " +
                         inTicks(kFormat));
}

Result<Checkpoint> fromFile(const TensorFile &file) {
  if (Status status = checkFormat(file); !status.isOk())
    return status;
  Metadata metadata(file);
  Checkpoint checkpoint;
  // Without a folder in the name, paths of models stay as they are.
  const std::string &configText = metadata.text("config");
  if (metadata.status.isOk()) {
    auto config = parseConfig(configText, "config", ConfigRules::Kept);
    if (!config)
      return Status::invalid("the metadata `config` cannot be read" + std::string(kDamaged) + "\n" +
                             config.status().message());
    checkpoint.config = std::move(*config);
  }
  for (size_t i = 1; i <= checkpoint.config.layers.size(); ++i)
    checkpoint.models.push_back(metadata.text("model." + std::to_string(i)));
  if (const std::string next = "model." + std::to_string(checkpoint.models.size() + 1); file.metadata.contains(next))
    metadata.fail("the configuration has " + counted(static_cast<int64_t>(checkpoint.models.size()), "layer") +
                  ", but the metadata has " + inTicks(next) + kDamaged);
  checkpoint.plan = metadata.text("plan");
  checkpoint.inferencePlan = metadata.text("inference_plan");
  checkpoint.decoderPlan = metadata.textOrNone("decoder_plan");
  checkpoint.epoch = metadata.whole("epoch");
  checkpoint.bestEpoch = metadata.whole("best_epoch");
  if (checkpoint.bestEpoch > 0)
    checkpoint.bestMetric = metadata.number("best_metric");
  auto history = parseHistory(metadata.text("history"));
  if (history)
    checkpoint.history = std::move(*history);
  else
    metadata.fail("the metadata `history`, " + history.status().message() + kDamaged);
  GraphFacts &graph = checkpoint.graph;
  graph.numNodes = metadata.count("graph", "nodes");
  graph.nodeTypes = metadata.names("graph", "node_types");
  graph.edgeTypes = metadata.names("graph", "edge_types");
  graph.classes = metadata.names("graph", "classes");
  graph.numClasses = metadata.count("graph", "num_classes");
  graph.ntypePtr = metadata.countsOrNone("graph", "ntype_ptr");
  graph.nodeNames = metadata.textOrNone("graph", "node_names");
  graph.isMulti = metadata.truthOrNone("graph", "multi_label");
  graph.featureWidth = metadata.countOrNone("graph", "feature_width");
  graph.hashes.edges = metadata.textOrNone("graph", "edges");
  graph.hashes.features = metadata.textOrNone("graph", "features");
  graph.hashes.labels = metadata.textOrNone("graph", "labels");
  graph.hashes.splits = metadata.textOrNone("graph", "splits");

  // The list of tensors shows whether one is missing, which nothing else would before training goes on.
  const std::vector<std::string> listed = metadata.names("tensors");
  if (!metadata.status.isOk())
    return metadata.status;
  for (const std::string &name : listed)
    if (!file.find(name))
      return Status::invalid("tensor " + inTicks(name) + " is missing" + kDamaged);
  const std::set<std::string> known(listed.begin(), listed.end());
  for (const auto &[name, tensor] : file.tensors) {
    if (!known.contains(name))
      return Status::invalid("tensor " + inTicks(name) + " is not in the metadata `tensors`" + kDamaged);
    if (name.starts_with(kState))
      checkpoint.state.emplace(name.substr(kState.size()), tensor);
    else if (name.starts_with(kBest))
      checkpoint.best.emplace(name.substr(kBest.size()), tensor);
    else
      checkpoint.parameters.emplace(name, tensor);
  }
  if (Status status = checkContents(checkpoint); !status.isOk())
    return status;
  return checkpoint;
}

Json factsToJson(const GraphFacts &graph) {
  Json facts = {{"nodes", graph.numNodes},
                {"node_types", graph.nodeTypes},
                {"edge_types", graph.edgeTypes},
                {"classes", graph.classes},
                {"num_classes", graph.numClasses}};
  if (!graph.ntypePtr.empty())
    facts["ntype_ptr"] = graph.ntypePtr;
  if (!graph.nodeNames.empty())
    facts["node_names"] = graph.nodeNames;
  if (graph.isMulti)
    facts["multi_label"] = *graph.isMulti;
  if (graph.featureWidth > 0)
    facts["feature_width"] = graph.featureWidth;
  for (const auto &[name, hash] : {std::pair("edges", &graph.hashes.edges),
                                   {"features", &graph.hashes.features},
                                   {"labels", &graph.hashes.labels},
                                   {"splits", &graph.hashes.splits}})
    if (!hash->empty())
      facts[name] = *hash;
  return facts;
}

}  // namespace

Status GraphHashes::checkSame(const GraphHashes &given) const {
  struct Part {
    const char *name;
    const std::string &had, &has;
  };
  for (const auto &[name, had, has] : {Part{"edges", edges, given.edges}, Part{"features", features, given.features},
                                       Part{"labels", labels, given.labels}, Part{"splits", splits, given.splits}})
    if (!had.empty() && !has.empty() && had != has)
      return Status::invalid("the graph's " + std::string(name) +
                             " are not those that the run was begun with; give the same graph, or start a new run with "
                             "--config");
  return Status::ok();
}

Status GraphFacts::checkNodes(const GraphFacts &given) const {
  const bool hasTypes = nodeTypes.size() + 1 == ntypePtr.size() && ntypePtr.size() == given.ntypePtr.size();
  for (size_t k = 0; hasTypes && k < nodeTypes.size(); ++k) {
    const int64_t had = ntypePtr[k + 1] - ntypePtr[k], has = given.ntypePtr[k + 1] - given.ntypePtr[k];
    if (has != had)
      return Status::invalid("node type " + inTicks(nodeTypes[k]) + " has " + counted(has, "node") + ", but had " +
                             std::to_string(had) + " in training; nodes have embeddings, so a graph of other nodes " +
                             "needs training of its own");
  }
  if (!nodeNames.empty() && !given.nodeNames.empty() && nodeNames != given.nodeNames)
    return Status::invalid("the nodes have other names than in training, or another order; nodes have embeddings, so "
                           "use the graph file of training, or train on this one");
  return Status::ok();
}

Status checkCheckpoint(const Checkpoint &checkpoint) {
  return checkContents(checkpoint);
}

Status saveCheckpoint(const std::string &path, const Checkpoint &checkpoint) {
  // What could not be read again must not replace a file that can.
  if (Status status = checkContents(checkpoint); !status.isOk())
    return std::move(status).during(path + ": not written");
  TensorFile file;
  file.tensors = checkpoint.parameters;
  for (const auto &[name, tensor] : checkpoint.state)
    file.tensors.emplace(std::string(kState) + name, tensor);
  for (const auto &[name, tensor] : checkpoint.best)
    file.tensors.emplace(std::string(kBest) + name, tensor);
  Json names = Json::array();
  for (const auto &[name, tensor] : file.tensors)
    names.push_back(name);

  auto &metadata = file.metadata;
  metadata["hector.format"] = kFormat;
  metadata["config"] = formatConfig(checkpoint.config);
  for (size_t i = 0; i < checkpoint.models.size(); ++i)
    metadata["model." + std::to_string(i + 1)] = checkpoint.models[i];
  metadata["plan"] = checkpoint.plan;
  metadata["inference_plan"] = checkpoint.inferencePlan;
  if (!checkpoint.decoderPlan.empty())
    metadata["decoder_plan"] = checkpoint.decoderPlan;
  metadata["epoch"] = std::to_string(checkpoint.epoch);
  metadata["best_epoch"] = std::to_string(checkpoint.bestEpoch);
  if (checkpoint.bestEpoch > 0)
    metadata["best_metric"] = formatNumber(checkpoint.bestMetric);
  metadata["history"] = formatHistory(checkpoint.history);
  metadata["graph"] = dump(factsToJson(checkpoint.graph));
  metadata["tensors"] = dump(names);
  return writeSafetensors(path, file);
}

Status checkModels(const Checkpoint &checkpoint) {
  for (size_t i = 0; i < checkpoint.models.size(); ++i) {
    const LayerConfig &layer = checkpoint.config.layers[i];
    if (auto model = parseModel(checkpoint.models[i], layer.model, layer.entry); !model)
      return Status::invalid("the metadata `model." + std::to_string(i + 1) + "` cannot be read" + kDamaged + "\n" +
                             model.status().message());
  }
  return Status::ok();
}

Result<Checkpoint> loadCheckpoint(const std::string &path) {
  auto file = readSafetensors(path);
  if (!file)
    return std::move(file).status();
  auto checkpoint = fromFile(*file);
  if (!checkpoint)
    return std::move(checkpoint).status().during(path);
  return checkpoint;
}

}  // namespace hector::training
