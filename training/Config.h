/// What a training run is made of: the stack of layers, the task, the optimiser and the schedule. Plain data.
///
/// A configuration comes from a TOML file, from flags or from both; flags win. It resolves to one value, which is
/// printed, stored in every checkpoint, and gives the same run again. No MLIR.
///
///   task    = "classify"
///   layers  = [{ model = "rgcn", size = 16, activation = "relu", dropout = 0.5 }, { model = "rgcn" }]
///   input   = { size = 16 }
///   optimiser = { kind = "adam", rate = 0.01, decay = 5e-4 }
///   epochs  = 50
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector::training {

enum class Task : uint8_t { Classify, Link };
enum class Activation : uint8_t { None, Relu, LeakyRelu, Elu, Gelu, Silu, Tanh };
enum class Norm : uint8_t { None, Layer, Unit };
enum class InputKind : uint8_t { Auto, Features, Embedding };
enum class OptimiserKind : uint8_t { Sgd, Adam, AdamW };
enum class ScheduleKind : uint8_t { Constant, Linear, Cosine, Step };
enum class Backend : uint8_t { Cpu, Cuda };
enum class ClassWeights : uint8_t { None, Balanced };

/// One layer, and what follows it.
struct LayerConfig {
  std::string model;                              // "rgcn", one of those that ship, or the path of a model file
  std::string entry;                              // the function that is the layer, if the file has several
  std::optional<int64_t> size;                    // numbers per node that the layer gives
  std::map<std::string, int64_t> sizes;           // values of sizes by name
  std::map<std::string, std::string> attributes;  // as `--set` spells them
  Activation activation = Activation::None;
  Norm norm = Norm::None;
  double dropout = 0;     // of what the layer returns, after norm and activation
  bool residual = false;  // adds the layer's input to its result, if both have one width

  bool operator==(const LayerConfig &) const = default;
};

/// Where the rows of the first layer come from.
struct InputConfig {
  InputKind kind = InputKind::Auto;  // Auto: features of the node types that have them, embeddings for the others
  std::optional<int64_t> size;       // width of embeddings and projected features; none: of the first layer
  Activation activation = Activation::None;
  double dropout = 0;

  bool operator==(const InputConfig &) const = default;
};

struct OptimiserConfig {
  OptimiserKind kind = OptimiserKind::Adam;
  double rate = 0.01;
  double decay = 0;     // of weights: added to the gradient (sgd, adam), or taken off the weights (adamw)
  double momentum = 0;  // of sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  bool operator==(const OptimiserConfig &) const = default;
};

/// The learning rate as a factor of the optimiser's, by epoch.
struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::Constant;
  int64_t warmup = 0;   // epochs in which the rate rises to its full value
  int64_t every = 50;   // of Step: epochs after which the rate is multiplied by `factor`
  double factor = 0.5;  // of Step; of Linear and Cosine: what is left of the rate at the end

  bool operator==(const ScheduleConfig &) const = default;
};

/// Link prediction: triples are scored by DistMult, and compete with triples whose head or tail was replaced. A triple
/// has two queries, for its tail and for its head. Queries of a step that have the same known node and relation share
/// one softmax, over the candidates of all of them.
struct LinkConfig {
  int64_t negatives = 64;  // replaced triples for each query
  int64_t batch = 30'000;  // true triples of a step
  double decay = 0;        // of the squared length of the rows that the last layer gives, and of relation vectors

  bool operator==(const LinkConfig &) const = default;
};

struct Config {
  Task task = Task::Classify;
  std::vector<LayerConfig> layers;  // the last layer's size is the number of classes, unless there is a head
  bool head = false;                // a linear layer from the last layer's width to the classes
  InputConfig input;
  OptimiserConfig optimiser;
  ScheduleConfig schedule;
  LinkConfig link;
  ClassWeights classWeights = ClassWeights::None;
  int64_t epochs = 50;      // of link prediction: steps
  int64_t patience = 0;     // epochs without a better validation metric after which training stops; 0: never
  int64_t evaluate = 1;     // epochs between two looks at the metrics
  int64_t checkpoint = 10;  // epochs between two checkpoints
  double validShare = 0;    // of the training nodes that validate, if the graph has no validation split
  uint64_t seed = 0;
  std::string passes = "default";
  Backend backend = Backend::Cpu;
  int threads = 0;  // 0: one per processor; results do not depend on it

  bool operator==(const Config &) const = default;
};

/// Which rules hold: all, or those that configurations in the checkpoints of earlier versions kept as well.
enum class ConfigRules : uint8_t { All, Kept };

/// Reads a TOML file. What is wrong is reported with its places: unknown keys (with the nearest), values of the wrong
/// kind or out of range, no layers. Paths of models are relative to the file.
Result<Config> readConfig(const std::string &path);
/// The same on a text; `path` is what messages call it, and where paths start.
Result<Config> parseConfig(std::string text, const std::string &path, ConfigRules rules = ConfigRules::All);
/// A configuration as TOML that `parseConfig` reads back to the same value. Only what differs from the defaults is
/// listed, but always the task, layers, optimiser, epochs and seed.
std::string formatConfig(const Config &config);
/// Fails if values contradict each other, such as a rate of 0 or less; `parseConfig` calls it, and whoever changes a
/// configuration by flags.
Status checkConfig(const Config &config, ConfigRules rules = ConfigRules::All);

/// Whether a layer's model is a file. Other names are those of models that ship.
bool isModelPath(std::string_view model);

/// What words of a configuration stand for, as in `--optimiser adam`; nothing for others.
std::optional<Task> taskFromName(std::string_view name);
std::optional<InputKind> inputKindFromName(std::string_view name);
std::optional<OptimiserKind> optimiserFromName(std::string_view name);
std::optional<ScheduleKind> scheduleFromName(std::string_view name);
std::optional<Backend> backendFromName(std::string_view name);
std::optional<ClassWeights> classWeightsFromName(std::string_view name);

/// A layer as flags spell it: "rgcn:16,relu,dropout=0.5,heads=4". The first word is the model; a number is the size;
/// the name of an activation or norm stands for itself; `residual`; `dropout=P`; any other `NAME=VALUE` is a size of
/// the model if the value is a whole number and the model has a size of that name, else an attribute. What is a size is
/// decided when the model is read, so both stay in `attributes` here.
Result<LayerConfig> parseLayer(const std::string &text);

/// The factor of the learning rate in an epoch, counted from 0.
double rateFactor(const ScheduleConfig &schedule, int64_t epoch, int64_t epochs);

}  // namespace hector::training
