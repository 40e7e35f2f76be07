/// Each structure lists its keys once, with the limits of their values (`describe`). Reading, writing and checking walk
/// that list, so that a new key is one new line here.
#include "training/Config.h"

#include "driver/TomlReader.h"
#include "runtime/base/Text.h"
#include "training/Number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>
#include <type_traits>

namespace hector::training {

namespace {

// --- words of enumerations, in the order of their values
// --------------------------------------------------------------

template <class E> constexpr std::array<std::string_view, 0> kWords = {};
template <> constexpr std::array<std::string_view, 2> kWords<Task> = {"classify", "link"};
template <>
constexpr std::array<std::string_view, 7> kWords<Activation> = {"none", "relu", "leaky_relu", "elu",
                                                                "gelu", "silu", "tanh"};
template <> constexpr std::array<std::string_view, 3> kWords<Norm> = {"none", "layer", "unit"};
template <> constexpr std::array<std::string_view, 3> kWords<InputKind> = {"auto", "features", "embedding"};
template <> constexpr std::array<std::string_view, 3> kWords<OptimiserKind> = {"sgd", "adam", "adamw"};
template <> constexpr std::array<std::string_view, 4> kWords<ScheduleKind> = {"constant", "linear", "cosine", "step"};
template <> constexpr std::array<std::string_view, 2> kWords<Backend> = {"cpu", "cuda"};
template <> constexpr std::array<std::string_view, 2> kWords<ClassWeights> = {"none", "balanced"};

template <class E> std::string wordOf(E value) {
  return std::string(kWords<E>.at(static_cast<size_t>(value)));
}

/// The value that a word stands for; none for other words.
template <class E> std::optional<E> valueOf(std::string_view word) {
  auto found = std::find(kWords<E>.begin(), kWords<E>.end(), word);
  if (found == kWords<E>.end())
    return std::nullopt;
  return static_cast<E>(found - kWords<E>.begin());
}

// --- limits
// -----------------------------------------------------------------------------------------------------------

/// The finite numbers from `min` to `max`, with or without these two.
struct Range {
  double min, max;
  bool hasMin = true, hasMax = true;

  bool contains(double value) const {
    return std::isfinite(value) && (hasMin ? value >= min : value > min) && (hasMax ? value <= max : value < max);
  }
  std::string text(bool isFinite = true) const {
    const std::string number = isFinite ? "a number " : "a finite number ";
    if (std::isinf(max))
      return number + (hasMin ? "of at least " : "above ") + formatNumber(min);
    return formatNumber(min) + (hasMax ? " to " : " to below ") + formatNumber(max);
  }
};

constexpr Range kPositive = {0, std::numeric_limits<double>::infinity(), false};
constexpr Range kNotNegative = {0, std::numeric_limits<double>::infinity()};
constexpr Range kShare = {0, 1};
constexpr Range kBelowOne = {0, 1, true, false};

struct WholeRange {
  int64_t min, max;

  bool contains(int64_t value) const { return value >= min && value <= max; }
  std::string text() const { return std::to_string(min) + " to " + std::to_string(max); }
};

constexpr WholeRange kSizes = {1, 1 << 24};
constexpr WholeRange kEpochs = {1, 1'000'000};
constexpr WholeRange kEpochsOrNone = {0, 1'000'000};

/// "`rate` is 0; expected a number above 0".
template <class T, class Limits> std::string outside(const std::string &what, T value, const Limits &limits) {
  if constexpr (std::is_same_v<T, double>)
    return what + " is " + formatNumber(value) + "; expected " + limits.text(std::isfinite(value));
  else
    return what + " is " + std::to_string(value) + "; expected " + limits.text();
}

// --- keys
// -------------------------------------------------------------------------------------------------------------

template <class Visitor> void describe(const LayerConfig *, Visitor &&field) {
  field("model", &LayerConfig::model);
  field("entry", &LayerConfig::entry);
  field("size", &LayerConfig::size, kSizes);
  field("sizes", &LayerConfig::sizes, kSizes);
  field("set", &LayerConfig::attributes);
  field("activation", &LayerConfig::activation);
  field("norm", &LayerConfig::norm);
  field("dropout", &LayerConfig::dropout, kBelowOne);
  field("residual", &LayerConfig::residual);
}

template <class Visitor> void describe(const InputConfig *, Visitor &&field) {
  field("kind", &InputConfig::kind);
  field("size", &InputConfig::size, kSizes);
  field("activation", &InputConfig::activation);
  field("dropout", &InputConfig::dropout, kBelowOne);
}

template <class Visitor> void describe(const OptimiserConfig *, Visitor &&field) {
  field("kind", &OptimiserConfig::kind);
  field("rate", &OptimiserConfig::rate, kPositive);
  field("decay", &OptimiserConfig::decay, kNotNegative);
  field("momentum", &OptimiserConfig::momentum, kBelowOne);
  field("beta1", &OptimiserConfig::beta1, kBelowOne);
  field("beta2", &OptimiserConfig::beta2, kBelowOne);
  field("epsilon", &OptimiserConfig::epsilon, kNotNegative);
}

template <class Visitor> void describe(const ScheduleConfig *, Visitor &&field) {
  field("kind", &ScheduleConfig::kind);
  field("warmup", &ScheduleConfig::warmup, kEpochsOrNone);
  field("every", &ScheduleConfig::every, kEpochs);
  field("factor", &ScheduleConfig::factor, kShare);
}

template <class Visitor> void describe(const LinkConfig *, Visitor &&field) {
  field("negatives", &LinkConfig::negatives, WholeRange{1, 1'000'000});
  field("batch", &LinkConfig::batch, WholeRange{1, 1'000'000'000});
  field("decay", &LinkConfig::decay, kNotNegative);
}

template <class Visitor> void describe(const Config *, Visitor &&field) {
  field("task", &Config::task);
  field("layers", &Config::layers);
  field("head", &Config::head);
  field("input", &Config::input);
  field("optimiser", &Config::optimiser);
  field("schedule", &Config::schedule);
  field("link", &Config::link);
  field("class_weights", &Config::classWeights);
  field("epochs", &Config::epochs, kEpochs);
  field("patience", &Config::patience, kEpochsOrNone);
  field("evaluate", &Config::evaluate, kEpochs);
  field("checkpoint", &Config::checkpoint, kEpochs);
  field("valid_share", &Config::validShare, kBelowOne);
  field("seed", &Config::seed, WholeRange{0, std::numeric_limits<int64_t>::max()});
  field("passes", &Config::passes);
  field("backend", &Config::backend);
  field("threads", &Config::threads, WholeRange{0, 1024});
}

/// What is written even if it has its default.
bool isAlwaysWritten(const Config *, std::string_view key) {
  return key == "task" || key == "layers" || key == "optimiser" || key == "epochs" || key == "seed";
}
bool isAlwaysWritten(const LayerConfig *, std::string_view key) {
  return key == "model";
}
bool isAlwaysWritten(const OptimiserConfig *, std::string_view key) {
  return key == "kind" || key == "rate";
}
bool isAlwaysWritten(const void *, std::string_view) {
  return false;
}

// --- rules
// ------------------------------------------------------------------------------------------------------------

/// What is wrong, and with which key: "optimiser.rate".
struct Problem {
  std::string key, message;
};

std::optional<Problem> findProblem(const Config &config, ConfigRules rules);

// --- reading
// ----------------------------------------------------------------------------------------------------------

class Reader : private TomlReader {
public:
  Reader(std::string text, const std::string &path) : TomlReader(std::move(text), path) {}

  Result<Config> read(ConfigRules rules) {
    if (!parse())
      return failure();
    Config config;
    readTable(root, "a configuration", config);
    if (!root.contains("layers") && config.task != Task::Link)
      error("the configuration has no `layers`").suggest("list them: layers = [\"rgcn:16,relu\", \"rgcn\"]");
    if (diagnostics.empty())
      if (auto problem = findProblem(config, rules)) {
        const toml::node *node = problem->key.empty() ? nullptr : root.at_path(problem->key).node();
        node ? error(*node, std::move(problem->message)) : error(std::move(problem->message));
      }
    if (!diagnostics.empty())
      return failure();
    return config;
  }

private:
  template <class T> void readTable(const toml::table &table, const std::string &owner, T &value) {
    std::vector<std::string_view> keys;
    describe(&value, [&](std::string_view key, auto, auto...) { keys.push_back(key); });
    checkKeys(table, owner, keys);
    describe(&value, [&](std::string_view key, auto member, auto... limits) {
      if (const toml::node *given = table.get(key))
        readValue(*given, inTicks(key), value.*member, limits...);
    });
  }

  template <class T> static void assign(T &value, const auto &given) {
    if (given)
      value = static_cast<T>(*given);
  }

  void readValue(const toml::node &node, const std::string &what, std::string &value) {
    assign(value, text(node, what));
  }
  void readValue(const toml::node &node, const std::string &what, bool &value) { assign(value, truth(node, what)); }
  void readValue(const toml::node &node, const std::string &what, double &value, Range range) {
    auto given = number(node, what);
    if (given && !range.contains(*given))
      error(node, outside(what, *given, range));
    assign(value, given);
  }
  template <class T> void readValue(const toml::node &node, const std::string &what, T &value, WholeRange range) {
    assign(value, whole(node, what, range.min, range.max));
  }
  void readValue(const toml::node &node, const std::string &what, std::map<std::string, int64_t> &value,
                 WholeRange range) {
    if (const toml::table *table = tableOf(node, what))
      for (const Entry &entry : entriesOf(*table))
        readValue(*entry.value, inTicks(entry.key->str()), value[std::string(entry.key->str())], range);
  }
  void readValue(const toml::node &node, const std::string &what, std::map<std::string, std::string> &value) {
    if (const toml::table *table = tableOf(node, what))
      for (const Entry &entry : entriesOf(*table))
        assign(value[std::string(entry.key->str())], constant(*entry.value, inTicks(entry.key->str())));
  }
  void readValue(const toml::node &node, const std::string &what, std::vector<LayerConfig> &value) {
    // Links need no layers; for other tasks `checkConfig` says that some are missing.
    if (node.is_array() && node.as_array()->empty())
      return;
    for (const toml::node *item : listOf(node, what))
      value.push_back(readLayer(*item));
  }
  template <class T> void readValue(const toml::node &node, const std::string &what, T &value) {
    if constexpr (std::is_enum_v<T>) {
      if (auto given = word(node, what, kWords<T>))
        value = *valueOf<T>(*given);
    } else if (const toml::table *table = tableOf(node, what)) {
      readTable(*table, what, value);
    }
  }

  LayerConfig readLayer(const toml::node &node) {
    LayerConfig layer;
    if (node.is_string()) {
      auto spelt = text(node, "a layer");
      if (!spelt)
        return layer;
      auto parsed = parseLayer(*spelt);
      if (parsed)
        layer = std::move(*parsed);
      else
        error(node, parsed.status().message());
    } else if (const toml::table *table = node.as_table()) {
      readTable(*table, "a layer", layer);
      if (!table->contains("model"))
        error(node, "the layer has no `model`").suggest("name one that ships, or a file: model = \"rgcn\"");
    } else {
      expected(node, "a layer", "a text, such as \"rgcn:16,relu\", or a table");
    }
    if (isModelPath(layer.model))
      layer.model = fromFolder(layer.model);
    return layer;
  }

  /// A path of the file as seen from the current folder. Stays a path even if it gets shorter: `../m` may become `./m`.
  std::string fromFolder(const std::string &path) const {
    const std::filesystem::path given = path;
    if (given.is_absolute() || !std::filesystem::path(source.name()).has_parent_path())
      return path;
    const std::string resolved = resolve(path);
    return isModelPath(resolved) ? resolved : "./" + resolved;
  }
};

// --- writing
// ----------------------------------------------------------------------------------------------------------

std::string keyText(const std::string &key) {
  const bool isBare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return isBare ? key : quoteToml(key);
}

/// "{ a = 1, b = 2 }".
std::string inBraces(const std::vector<std::string> &entries) {
  std::string text = "{";
  for (const std::string &entry : entries)
    text += (text.size() == 1 ? " " : ", ") + entry;
  return text + (entries.empty() ? "}" : " }");
}

std::string valueText(const std::string &value) {
  return quoteToml(value);
}
std::string valueText(bool value) {
  return value ? "true" : "false";
}
std::string valueText(double value) {
  const std::string text = formatNumber(value);
  // Whole numbers of TOML have 64 bits.
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
template <class T>
  requires std::is_integral_v<T>
std::string valueText(T value) {
  return std::to_string(value);
}
std::string valueText(const std::optional<int64_t> &value) {
  return std::to_string(value.value_or(0));  // without a value it is not written
}
std::string valueText(const std::map<std::string, int64_t> &values) {
  std::vector<std::string> entries;
  for (const auto &[name, value] : values)
    entries.push_back(keyText(name) + " = " + std::to_string(value));
  return inBraces(entries);
}

template <class T> bool isWhole(const std::string &text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// A value of an attribute: as a number or a truth if it reads back to this text, else as text.
std::string constantText(const std::string &text) {
  int64_t whole = 0;
  double number = 0;
  if (isWhole(text, whole) && std::to_string(whole) == text)
    return text;
  if (isWhole(text, number) && std::isfinite(number) && formatNumber(number) == text && valueText(number) == text)
    return text;
  return text == "True" ? "true" : text == "False" ? "false" : quoteToml(text);
}

std::string valueText(const std::map<std::string, std::string> &values) {
  std::vector<std::string> entries;
  for (const auto &[name, value] : values)
    entries.push_back(keyText(name) + " = " + constantText(value));
  return inBraces(entries);
}
std::string valueText(const std::vector<LayerConfig> &layers);
template <class T>
  requires std::is_enum_v<T>
std::string valueText(T value) {
  return quoteToml(wordOf(value));
}
template <class T>
  requires std::is_same_v<T, InputConfig> || std::is_same_v<T, OptimiserConfig> || std::is_same_v<T, ScheduleConfig> ||
           std::is_same_v<T, LinkConfig>
std::string valueText(const T &value);

/// "rate = 0.01" for each key to write.
template <class T> std::vector<std::string> entriesText(const T &value) {
  const T defaults;
  std::vector<std::string> entries;
  describe(&value, [&](std::string_view key, auto member, auto...) {
    if (!(value.*member == defaults.*member) || isAlwaysWritten(&value, key))
      entries.push_back(std::string(key) + " = " + valueText(value.*member));
  });
  return entries;
}

template <class T>
  requires std::is_same_v<T, InputConfig> || std::is_same_v<T, OptimiserConfig> || std::is_same_v<T, ScheduleConfig> ||
           std::is_same_v<T, LinkConfig>
std::string valueText(const T &value) {
  return inBraces(entriesText(value));
}

std::string valueText(const std::vector<LayerConfig> &layers) {
  std::string text = "[";
  for (const LayerConfig &layer : layers)
    text += "\n  " + inBraces(entriesText(layer)) + ",";
  return text + (layers.empty() ? "]" : "\n]");
}

// --- checks
// -----------------------------------------------------------------------------------------------------------

/// Finds the first value that is out of its limits; `wrong` gets what is wrong with it.
class Checker {
public:
  std::string wrong;

  template <class T> void check(const T &value, const std::string &owner, const std::string &prefix) {
    describe(&value, [&](std::string_view key, auto member, auto... limits) {
      if (wrong.empty())
        checkValue(prefix + "`" + owner + std::string(key) + "`", value.*member, limits...);
    });
  }

private:
  /// "`sizes.k`" of "`sizes`".
  static std::string memberOf(const std::string &what, const std::string &name) {
    return what.substr(0, what.size() - 1) + "." + inTicks(name).substr(1);
  }
  void checkValue(const std::string &what, const std::string &value) {
    if (validUtf8Prefix(value) != value.size())
      wrong = what + " is " + inTicks(value) + "; expected UTF-8";
  }
  void checkValue(const std::string &, bool) {}
  void checkValue(const std::string &what, double value, Range range) {
    if (!range.contains(value))
      wrong = outside(what, value, range);
  }
  template <class T>
    requires std::is_integral_v<T>
  void checkValue(const std::string &what, T value, WholeRange range) {
    // Of all types only seeds can be beyond the range of int64_t.
    if (!std::in_range<int64_t>(value) || !range.contains(static_cast<int64_t>(value)))
      wrong = outside(what, value, range);
  }
  void checkValue(const std::string &what, const std::optional<int64_t> &value, WholeRange range) {
    if (value)
      checkValue(what, *value, range);
  }
  void checkValue(const std::string &what, const std::map<std::string, int64_t> &values, WholeRange range) {
    for (const auto &[name, value] : values) {
      checkValue("a name of " + what, name);
      if (wrong.empty())
        checkValue(memberOf(what, name), value, range);
      if (!wrong.empty())
        return;
    }
  }
  void checkValue(const std::string &what, const std::map<std::string, std::string> &values) {
    for (const auto &[name, value] : values) {
      checkValue("a name of " + what, name);
      if (wrong.empty())
        checkValue(memberOf(what, name), value);
      if (!wrong.empty())
        return;
    }
  }
  void checkValue(const std::string &, const std::vector<LayerConfig> &layers) {
    for (size_t i = 0; i < layers.size() && wrong.empty(); ++i) {
      const std::string prefix = "layer " + std::to_string(i + 1) + ": ";
      if (layers[i].model.empty())
        wrong = prefix + "`model` is empty; expected one that ships, or a file";
      else
        check(layers[i], "", prefix);
    }
  }
  template <class T> void checkValue(const std::string &what, const T &value) {
    if constexpr (!std::is_enum_v<T>)
      check(value, what.substr(1, what.size() - 2) + ".", "");
  }
};

/// "`optimiser.beta1` is 0.8, but the optimiser is sgd; …" if a value differs from its default although it has no
/// effect.
template <class T>
std::optional<Problem> findUnused(const std::string &key, const T &value, const T &usual, const std::string &why) {
  if (value == usual)
    return std::nullopt;
  return Problem{key, inTicks(key) + " is " + valueText(value) + ", but " + why};
}

/// Values without effect. Earlier versions did not mind them.
std::optional<Problem> findUnused(const Config &config) {
  const OptimiserConfig usual;
  std::optional<Problem> found;
  auto look = [&](const std::string &key, const auto &value, const auto &default_, const std::string &why) {
    if (!found)
      found = findUnused(key, value, default_, why);
  };
  if (config.optimiser.kind == OptimiserKind::Sgd) {
    const std::string why = "the optimiser is sgd; only adam and adamw have it (sgd has momentum)";
    look("optimiser.beta1", config.optimiser.beta1, usual.beta1, why);
    look("optimiser.beta2", config.optimiser.beta2, usual.beta2, why);
    look("optimiser.epsilon", config.optimiser.epsilon, usual.epsilon, why);
  }
  if (config.schedule.kind != ScheduleKind::Step)
    look("schedule.every", config.schedule.every, ScheduleConfig().every,
         "the schedule is " + wordOf(config.schedule.kind) + "; only step has it, so leave it out");
  if (config.schedule.kind == ScheduleKind::Constant)
    look("schedule.factor", config.schedule.factor, ScheduleConfig().factor,
         "the schedule is constant; only linear, cosine and step have it, so leave it out");
  if (config.task != Task::Link) {
    const std::string why = "the task is classify, which has no links; leave it out";
    look("link.negatives", config.link.negatives, LinkConfig().negatives, why);
    look("link.batch", config.link.batch, LinkConfig().batch, why);
    look("link.decay", config.link.decay, LinkConfig().decay, why);
  }
  return found;
}

/// Rules that earlier versions did not have.
std::optional<Problem> findNewProblem(const Config &config) {
  if (auto unused = findUnused(config))
    return unused;
  // With less, a gradient of 0 is divided by 0.
  constexpr Range kEpsilons = {1e-30, std::numeric_limits<double>::infinity()};
  if (!kEpsilons.contains(config.optimiser.epsilon))
    return Problem{"optimiser.epsilon", outside("`optimiser.epsilon`", config.optimiser.epsilon, kEpsilons)};
  if (config.patience > 0 && config.patience < config.evaluate)
    return Problem{"patience", "`patience` is " + std::to_string(config.patience) + ", but `evaluate` is " +
                                   std::to_string(config.evaluate) +
                                   ", so that the run would stop before anything is validated; expected `patience` to "
                                   "be at least " +
                                   std::to_string(config.evaluate)};
  if (config.task == Task::Link && config.validShare > 0)
    return Problem{"valid_share",
                   "`valid_share` is " + formatNumber(config.validShare) +
                       ", but the task is link, where the split of the edges says which validate; leave it out"};
  return std::nullopt;
}

std::optional<Problem> findProblem(const Config &config, ConfigRules rules) {
  if (config.layers.empty() && config.task != Task::Link)
    return Problem{"layers", "the configuration has no layers; expected one at least"};
  Checker checker;
  checker.check(config, "", "");
  if (!checker.wrong.empty())
    return Problem{"", checker.wrong};
  if (config.passes.empty())
    return Problem{"passes", "`passes` is empty; expected `default`, `none` or a list of passes"};
  if (config.optimiser.momentum != 0 && config.optimiser.kind != OptimiserKind::Sgd)
    return Problem{"optimiser.momentum", "`optimiser.momentum` is " + formatNumber(config.optimiser.momentum) +
                                             ", but the optimiser is " + wordOf(config.optimiser.kind) +
                                             "; only sgd has a momentum (adam and adamw have beta1)"};
  if (config.task == Task::Link && config.head)
    return Problem{"head", "`head` is true, but the task is link, which has no classes; leave it out"};
  if (config.task == Task::Link && config.classWeights != ClassWeights::None)
    return Problem{"class_weights", "`class_weights` is " + wordOf(config.classWeights) +
                                        ", but the task is link, which has no classes; leave it out"};
  return rules == ConfigRules::All ? findNewProblem(config) : std::nullopt;
}

std::string_view withoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks) + 1;
  return text.substr(begin, end > begin ? end - begin : 0);
}

}  // namespace

bool isModelPath(std::string_view model) {
  return model.find('/') != std::string_view::npos || model.ends_with(".hec");
}

Result<Config> parseConfig(std::string text, const std::string &path, ConfigRules rules) {
  return Reader(std::move(text), path).read(rules);
}

Result<Config> readConfig(const std::string &path) {
  auto text = readTomlText(path, "configuration");
  if (!text)
    return std::move(text).status();
  return parseConfig(std::move(*text), path);
}

std::string formatConfig(const Config &config) {
  std::string text;
  for (const std::string &entry : entriesText(config))
    text += entry + "\n";
  return text;
}

Status checkConfig(const Config &config, ConfigRules rules) {
  const auto problem = findProblem(config, rules);
  return problem ? Status::invalid(problem->message) : Status::ok();
}

Result<LayerConfig> parseLayer(const std::string &text) {
  auto fail = [&](const std::string &message) { return Status::invalid("layer " + inTicks(text) + ": " + message); };
  // A file's name may have a colon.
  size_t colon = text.find(".hec:");
  colon = colon == std::string::npos ? text.find(':') : colon + 4;
  LayerConfig layer;
  layer.model = withoutBlanks(std::string_view(text).substr(0, colon));
  if (layer.model.empty())
    return fail("the model is missing; expected a text such as `rgcn:16,relu`");
  const size_t comma = layer.model.find(',');
  if (!isModelPath(layer.model) && layer.model.find_first_of(",= \t") != std::string::npos)
    return fail(inTicks(layer.model) + " is no model; expected MODEL:WORD,WORD, such as `" +
                (comma > 0 && comma < layer.model.size()
                     ? layer.model.substr(0, comma) + ":" + layer.model.substr(comma + 1)
                     : "rgcn:16,relu") +
                "`");
  if (colon == std::string::npos)
    return layer;

  bool hasActivation = false, hasNorm = false, hasDropout = false;
  for (std::string_view rest = std::string_view(text).substr(colon + 1);;) {
    const size_t comma = rest.find(',');
    const std::string word(withoutBlanks(rest.substr(0, comma)));
    const size_t equals = word.find('=');
    if (word.empty())
      return fail("a word is missing " +
                  std::string(comma == std::string_view::npos ? "at the end" : "before a comma"));
    if (equals != std::string::npos) {
      const std::string name(withoutBlanks(std::string_view(word).substr(0, equals)));
      const std::string value(withoutBlanks(std::string_view(word).substr(equals + 1)));
      if (name.empty() || value.empty())
        return fail(inTicks(word) + " is not understood; expected NAME=VALUE");
      if (name == "dropout") {
        if (hasDropout)
          return fail("`dropout` is given twice; leave one out");
        double share = 0;
        if (!isWhole(value, share))
          return fail("`dropout` is " + inTicks(value) + "; expected " + kBelowOne.text());
        if (!kBelowOne.contains(share))
          return fail(outside("`dropout`", share, kBelowOne));
        layer.dropout = share;
        hasDropout = true;
      } else if (!layer.attributes.emplace(name, value).second) {
        return fail(inTicks(name) + " is given twice; leave one out");
      }
    } else if ((word[0] >= '0' && word[0] <= '9') || word[0] == '-' || word[0] == '+') {
      int64_t size = 0;
      if (!isWhole(word, size) || !kSizes.contains(size))
        return fail("the size is " + inTicks(word) + "; expected a whole number, " + kSizes.text());
      if (layer.size)
        return fail("the size is given twice, " + std::to_string(*layer.size) + " and " + word + "; leave one out");
      layer.size = size;
    } else if (auto activation = valueOf<Activation>(word); activation && *activation != Activation::None) {
      if (hasActivation)
        return fail("two activations are given, " + wordOf(layer.activation) + " and " + word + "; leave one out");
      layer.activation = *activation;
      hasActivation = true;
    } else if (auto norm = valueOf<Norm>(word); norm && *norm != Norm::None) {
      if (hasNorm)
        return fail("two norms are given, " + wordOf(layer.norm) + " and " + word + "; leave one out");
      layer.norm = *norm;
      hasNorm = true;
    } else if (word == "residual") {
      layer.residual = true;
    } else if (word == "dropout") {
      return fail("`dropout` has no value; expected a share, such as dropout=0.5");
    } else {
      std::vector<std::string_view> words(kWords<Activation>.begin() + 1, kWords<Activation>.end());
      words.insert(words.end(), kWords<Norm>.begin() + 1, kWords<Norm>.end());
      words.push_back("residual");
      const std::string near = suggestion(word, words);
      return fail(
          inTicks(word) + " is not understood" +
          (near.empty() ? "; expected a size, " + listWords(words, ", ") + ", dropout=SHARE or NAME=VALUE" : near));
    }
    if (comma == std::string_view::npos)
      return layer;
    rest.remove_prefix(comma + 1);
  }
}

/// In the epochs of the warm-up the rate is below its full value, which the next epoch has. From there, linear and
/// cosine fall to `factor` at the end of the last epoch, so that no epoch has a rate of 0.
double rateFactor(const ScheduleConfig &schedule, int64_t epoch, int64_t epochs) {
  if (epoch < schedule.warmup)
    return static_cast<double>(epoch + 1) / static_cast<double>(schedule.warmup + 1);
  const int64_t since = epoch - schedule.warmup, all = epochs - schedule.warmup;
  const double progress = all > 0 ? std::min(1.0, static_cast<double>(since) / static_cast<double>(all)) : 1;
  switch (schedule.kind) {
  case ScheduleKind::Constant:
    return 1;
  case ScheduleKind::Linear:
    return 1 - progress * (1 - schedule.factor);
  case ScheduleKind::Cosine:
    return schedule.factor + (1 - schedule.factor) * (1 + std::cos(std::numbers::pi * progress)) / 2;
  case ScheduleKind::Step:
    return std::pow(schedule.factor, static_cast<double>(since / std::max<int64_t>(1, schedule.every)));
  }
  return 1;
}

std::optional<Task> taskFromName(std::string_view name) {
  return valueOf<Task>(name);
}

std::optional<InputKind> inputKindFromName(std::string_view name) {
  return valueOf<InputKind>(name);
}

std::optional<OptimiserKind> optimiserFromName(std::string_view name) {
  return valueOf<OptimiserKind>(name);
}

std::optional<ScheduleKind> scheduleFromName(std::string_view name) {
  return valueOf<ScheduleKind>(name);
}

std::optional<Backend> backendFromName(std::string_view name) {
  return valueOf<Backend>(name);
}

std::optional<ClassWeights> classWeightsFromName(std::string_view name) {
  return valueOf<ClassWeights>(name);
}

}  // namespace hector::training
