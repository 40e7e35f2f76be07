/// `hector train`: parameters from a graph and labels.

#include "training/Train.h"

#include "Commands.h"
#include "Progress.h"
#include "RunReport.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/File.h"
#include "training/Config.h"
#include "training/LinkTrain.h"
#include "training/Number.h"
#include "training/Outputs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

namespace hector {

using namespace training;

namespace {

/// "0:42", "1:03:20".
std::string formatDuration(double seconds) {
  const auto whole = static_cast<long long>(std::lround(std::max(0.0, seconds)));
  char text[48];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

/// What `epochs` counts.
std::string unitOf(const Config &config) {
  return config.task == Task::Link ? "step" : "epoch";
}

template <class T, class U> void replace(T &value, const std::optional<U> &given) {
  if (given)
    value = static_cast<T>(*given);
}

/// Fails if a flag changes what a run relies on that was begun with `config`.
Status checkResumed(const Config &config, const TrainCommandOptions &options) {
  const bool isSgd = config.optimiser.kind == OptimiserKind::Sgd;
  struct Flag {
    const char *name;
    bool isChanged;
  };
  for (const auto &[name, isChanged] : {
           Flag{"--task", options.task && taskFromName(*options.task) != config.task},
           Flag{"--input", options.input && inputKindFromName(*options.input) != config.input.kind},
           Flag{"--input-size", options.inputSize && options.inputSize != config.input.size},
           // What sgd keeps is not what adam and adamw keep.
           Flag{"--optimiser", options.optimiser && (*options.optimiser == "sgd") != isSgd},
           Flag{"--valid-share", options.validShare && *options.validShare != config.validShare},
           Flag{"--seed", options.seed && *options.seed != config.seed},
           Flag{"--passes", options.passes && *options.passes != config.passes},
       })
    if (isChanged)
      return Status::invalid(std::string("--resume continues a run as it was begun; leave out ") + name);
  return Status::ok();
}

/// Has flags replace what a configuration says.
Status applyFlags(Config &config, const TrainCommandOptions &options, ConfigRules rules) {
  if (!options.layers.empty()) {
    config.layers.clear();
    for (const std::string &text : options.layers) {
      auto layer = parseLayer(text);
      if (!layer)
        return std::move(layer).status().during("--layer");
      config.layers.push_back(std::move(*layer));
    }
  }
  // The command line has checked the words.
  auto word = [](auto &value, const std::optional<std::string> &given, auto fromName) {
    if (given)
      value = *fromName(*given);
  };
  word(config.task, options.task, taskFromName);
  word(config.input.kind, options.input, inputKindFromName);
  word(config.optimiser.kind, options.optimiser, optimiserFromName);
  word(config.schedule.kind, options.schedule, scheduleFromName);
  // What only another schedule has goes with it.
  if (options.schedule && config.schedule.kind != ScheduleKind::Step)
    config.schedule.every = ScheduleConfig().every;
  if (options.schedule && config.schedule.kind == ScheduleKind::Constant)
    config.schedule.factor = ScheduleConfig().factor;
  word(config.classWeights, options.classWeights, classWeightsFromName);
  if (options.inputSize)
    config.input.size = *options.inputSize;
  replace(config.optimiser.rate, options.rate);
  replace(config.optimiser.decay, options.decay);
  if (options.dropout && config.layers.size() < 2)
    return Status::invalid("--dropout is for all layers but the last, and there is " +
                           std::string(config.layers.empty() ? "none" : "one") +
                           "; write it behind the layer, as in --layer rgcn:16,dropout=0.5");
  if (options.dropout)
    for (size_t i = 0; i + 1 < config.layers.size(); ++i)
      config.layers[i].dropout = *options.dropout;
  replace(config.epochs, options.epochs);
  replace(config.patience, options.patience);
  replace(config.evaluate, options.evaluate);
  replace(config.checkpoint, options.checkpoint);
  replace(config.validShare, options.validShare);
  replace(config.link.negatives, options.negatives);
  replace(config.link.batch, options.batch);
  for (const auto &[name, given] : {std::pair("--negatives", options.negatives), {"--batch", options.batch}})
    if (given && config.task != Task::Link)
      return Status::invalid(std::string(name) +
                             " is for links, but the task is classify; leave it out, or give --task "
                             "link");
  replace(config.seed, options.seed);
  replace(config.threads, options.threads);
  replace(config.passes, options.passes);
  word(config.backend, options.backend, backendFromName);
  return checkConfig(config, rules);
}

/// The configuration that the options ask for, and the run that is continued.
Result<TrainOptions> readOptions(const TrainCommandOptions &options) {
  TrainOptions train;
  ConfigRules rules = ConfigRules::All;
  train.checkpointPath = options.outPath;
  if (!options.memoryLimit.empty()) {
    const auto bytes = parseBytes(options.memoryLimit);
    if (!bytes)
      return Status::invalid("--memory-limit is " + inTicks(options.memoryLimit) + ", but needs " + kByteForms);
    train.memoryLimit = *bytes;
  }
  if (!options.resumePath.empty()) {
    if (!options.configPath.empty() || !options.layers.empty())
      return Status::invalid(
          "--resume continues with the layers and the configuration of its file; leave out --config and "
          "--layer");
    auto checkpoint = loadCheckpoint(options.resumePath);
    if (!checkpoint)
      return std::move(checkpoint).status();
    if (Status status = checkModels(*checkpoint); !status.isOk())
      return std::move(status).during(options.resumePath);
    train.config = checkpoint->config;
    train.resume = std::move(*checkpoint);
    if (Status status = checkResumed(train.config, options); !status.isOk())
      return status;
    // A run of an earlier version continues as it is. Otherwise no flag may break a rule.
    if (!checkConfig(train.config).isOk())
      rules = ConfigRules::Kept;
  } else if (!options.configPath.empty()) {
    auto config = readConfig(options.configPath);
    if (!config)
      return std::move(config).status();
    train.config = std::move(*config);
  } else if (options.layers.empty() && options.task != "link") {
    return Status::invalid("which layers? Give --layer, as in --layer rgcn:16,relu --layer rgcn, or --config FILE");
  }
  if (Status status = applyFlags(train.config, options, rules); !status.isOk())
    return status;
  // With as many epochs as are done, only the final evaluation is left.
  if (train.resume && train.resume->epoch > train.config.epochs)
    return Status::invalid(options.resumePath + " has " + counted(train.resume->epoch, unitOf(train.config)) +
                           " already, and --epochs asks for " + std::to_string(train.config.epochs) +
                           "; give a larger number");
  // A run that is continued stays in its file.
  if (train.resume && train.checkpointPath.empty())
    train.checkpointPath = options.resumePath;
  return train;
}

/// Shows epochs as they come.
class EpochLines {
public:
  EpochLines(const Config &config, bool isQuiet) : config(config), isQuiet(isQuiet), line("compiling") {
    if (!isQuiet)
      line.begin("compiling");
  }

  void start() { begin = std::chrono::steady_clock::now(); }
  void show(const EpochRecord &record) {
    if (first == 0)
      first = record.epoch - 1;
    for (const auto &[name, value] : record.metrics)
      latest[name] = value;
    if (isQuiet)
      return;
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto done = static_cast<double>(record.epoch - first);
    const double rate = done / std::max(elapsed, 1e-9);
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "loss %.4f", record.loss);
    std::string text =
        unitOf(config) + " " + std::to_string(record.epoch) + "/" + std::to_string(config.epochs) + "  " + numbers;
    for (const auto &[name, value] : latest) {
      std::snprintf(numbers, sizeof numbers, "  %s %.4f", name.c_str(), value);
      text += numbers;
    }
    std::snprintf(numbers, sizeof numbers, "  %.1f/s  ", rate);
    text += numbers + formatDuration(static_cast<double>(config.epochs - record.epoch) / rate) + " left  " +
            formatBytes(peakResidentBytes());
    line.say(text, record.epoch == config.epochs);
  }

private:
  const Config &config;
  bool isQuiet;
  ProgressLine line;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  int64_t first = 0;
  std::map<std::string, double> latest;
};

std::string metricsText(const std::map<std::string, double> &metrics) {
  std::string text;
  for (const auto &[name, value] : metrics) {
    char number[64];
    std::snprintf(number, sizeof number, "%s%s %.4f", text.empty() ? "" : ", ", name.c_str(), value);
    text += number;
  }
  return text;
}

/// Whether the run was fit for a table of seeds.
bool isComplete(const TrainResult &result) {
  return result.reason == StopReason::Done || result.reason == StopReason::Patience;
}

/// What a run came to.
void printResult(const GraphFile &graph, const TrainResult &result, const TrainOptions &options) {
  const Checkpoint &checkpoint = result.checkpoint;
  const std::string unit = unitOf(options.config);
  if (result.reason == StopReason::Patience)
    std::printf("stopped at %s %lld: no better validation for %s\n", unit.c_str(),
                static_cast<long long>(result.stoppedAt), counted(options.config.patience, unit).c_str());
  if (result.reason == StopReason::Interrupted)
    std::printf("interrupted after %s %lld of %lld\n", unit.c_str(), static_cast<long long>(checkpoint.epoch),
                static_cast<long long>(options.config.epochs));
  if (checkpoint.bestEpoch > 0)
    std::printf("best %s: %lld, %.4f in validation\n", unit.c_str(), static_cast<long long>(checkpoint.bestEpoch),
                checkpoint.bestMetric);
  if (!result.metrics.empty())
    std::printf("%s\n", metricsText(result.metrics).c_str());
  if (result.majority > 0)
    std::printf("the most frequent class alone: test.accuracy %.4f\n", result.majority);
  if (result.confusion && result.confusion->total() > 0)
    std::printf("\n%s\n", formatConfusion(*result.confusion, graph.labelNames).c_str());
  if (result.secondsPerEpoch > 0)
    std::printf("%.4g ms per %s, %s for the plan, %s in all\n", result.secondsPerEpoch * 1e3, unit.c_str(),
                formatBytes(result.planBytes).c_str(), formatBytes(peakResidentBytes()).c_str());
}

Status writeHistory(const TrainResult &result, const TrainCommandOptions &options, const std::string &title) {
  // What an interrupted run has done is written all the same.
  InterruptShield shield;
  const std::vector<EpochRecord> &history = result.checkpoint.history;
  if (!options.metricsPath.empty()) {
    if (Status status = replaceFile(options.metricsPath, formatHistory(history)); !status.isOk())
      return status;
    std::printf("wrote %s\n", options.metricsPath.c_str());
  }
  if (!options.svgPath.empty()) {
    const bool isMulti = result.checkpoint.graph.isMulti.value_or(false);
    const std::string metric = result.checkpoint.config.task == Task::Link ? "mrr" : isMulti ? "micro_f1" : "accuracy";
    if (Status status = replaceFile(options.svgPath, drawHistory(history, metric, title)); !status.isOk())
      return status;
    std::printf("wrote %s\n", options.svgPath.c_str());
  }
  return Status::ok();
}

/// Trains once with the configuration's seed.
Result<TrainResult> trainOnce(const GraphFile &graph, const TrainOptions &options, bool isQuiet, bool isFirst) {
  EpochLines lines(options.config, isQuiet);
  TrainEvents events;
  events.onNote = [&](const std::string &note) {
    if (isFirst)
      std::fprintf(stderr, "note: %s\n", note.c_str());
  };
  events.onStart = [&](const std::vector<std::string> &description, int64_t numParameters) {
    if (!isFirst)
      return;
    for (const std::string &text : description)
      std::printf("%s\n", text.c_str());
    std::printf("%lld parameters\n", static_cast<long long>(numParameters));
    std::fflush(stdout);
  };
  events.onReady = [&] { lines.start(); };
  events.onEpoch = [&](const EpochRecord &record) { lines.show(record); };
  return options.config.task == Task::Link ? trainLinks(graph, options, events) : trainClasses(graph, options, events);
}

/// A table of several seeds, with mean and standard deviation.
void printSeeds(const std::vector<std::pair<uint64_t, std::map<std::string, double>>> &runs) {
  std::vector<std::string> names;
  for (const auto &[name, value] : runs.front().second)
    names.push_back(name);
  std::printf("\n%-6s", "seed");
  for (const std::string &name : names)
    std::printf("  %14s", name.c_str());
  std::printf("\n");
  std::map<std::string, std::vector<double>> columns;
  for (const auto &[seed, metrics] : runs) {
    std::printf("%-6llu", static_cast<unsigned long long>(seed));
    for (const std::string &name : names) {
      std::printf("  %14.4f", metrics.at(name));
      columns[name].push_back(metrics.at(name));
    }
    std::printf("\n");
  }
  auto mean = [](const std::vector<double> &values) {
    double total = 0;
    for (double value : values)
      total += value;
    return total / static_cast<double>(values.size());
  };
  std::printf("%-6s", "mean");
  for (const std::string &name : names)
    std::printf("  %14.4f", mean(columns[name]));
  std::printf("\n%-6s", "sd");
  for (const std::string &name : names) {
    const double centre = mean(columns[name]);
    std::vector<double> squares;
    for (double value : columns[name])
      squares.push_back((value - centre) * (value - centre));
    const auto count = static_cast<double>(squares.size());
    std::printf("  %14.4f", count > 1 ? std::sqrt(mean(squares) * count / (count - 1)) : 0.0);
  }
  std::printf("\n");
}

/// Says that the loss is no number any more, and what stays.
Status diverged(const TrainResult &result, const TrainOptions &train, const TrainCommandOptions &options) {
  const std::string unit = unitOf(train.config);
  // Nothing has been learnt before the first step, so the rate is not the cause.
  if (result.stoppedAt == 1)
    return Status::invalid("the loss is no finite number in the first " + unit +
                           "; check the features with `hector data check " + options.graphPath + "`");
  // A continued run that stays in its file is there, whether or not it was written again.
  const bool isKept = result.isSaved || (train.resume && train.checkpointPath == options.resumePath);
  return Status::invalid("the loss is no finite number any more in " + unit + " " + std::to_string(result.stoppedAt) +
                         "; try a smaller --rate than " + formatNumber(train.config.optimiser.rate) +
                         (isKept ? "; " + train.checkpointPath + " has the run as it was before" : ""));
}

Status trainSeeds(const GraphFile &graph, TrainOptions train, const TrainCommandOptions &options) {
  std::vector<std::pair<uint64_t, std::map<std::string, double>>> runs;
  const uint64_t firstSeed = train.config.seed;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < options.numSeeds; ++i) {
    train.config.seed = firstSeed + static_cast<uint64_t>(i);
    auto result = trainOnce(graph, train, options.isQuiet, i == 0);
    if (!result)
      return std::move(result).status();
    if (result->reason == StopReason::Diverged)
      return diverged(*result, train, options);
    if (!isComplete(*result))
      return Status::failed("interrupted");
    std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(train.config.seed),
                 metricsText(result->metrics).c_str());
    runs.emplace_back(train.config.seed, result->metrics);
    if (i + 1 == options.numSeeds && result->majority > 0)
      std::printf("the most frequent class alone: test.accuracy %.4f\n", result->majority);
  }
  printSeeds(runs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.2f s per seed\n", seconds / static_cast<double>(options.numSeeds));
  return Status::ok();
}

/// "rgcn, rgcn on aifb".
std::string titleOf(const TrainOptions &train, const TrainCommandOptions &options) {
  std::string layers;
  for (const LayerConfig &layer : train.config.layers)
    layers += (layers.empty() ? "" : ", ") + std::filesystem::path(layer.model).stem().string();
  return (layers.empty() ? "DistMult" : layers) + " on " + std::filesystem::path(options.graphPath).stem().string();
}

Status train(const TrainCommandOptions &options) {
  auto settings = readOptions(options);
  if (!settings)
    return std::move(settings).status();
  if (options.numSeeds > 1 && !(options.outPath.empty() && options.resumePath.empty() && options.metricsPath.empty() &&
                                options.svgPath.empty()))
    return Status::invalid("--seeds trains several times and sums up; leave out --out, --resume, --metrics and --svg");
  constexpr uint64_t kLastSeed = std::numeric_limits<int64_t>::max();
  if (const auto more = static_cast<uint64_t>(options.numSeeds - 1); settings->config.seed > kLastSeed - more)
    return Status::invalid("--seeds " + std::to_string(options.numSeeds) + " from seed " +
                           std::to_string(settings->config.seed) + " on goes beyond the largest seed, " +
                           std::to_string(kLastSeed) + "; start at " + std::to_string(kLastSeed - more) + " or below");
  if (options.isDry) {
    std::printf("%s", formatConfig(settings->config).c_str());
    return Status::ok();
  }
  if (options.graphPath.empty())
    return Status::invalid("which graph? Give --graph FILE, as `hector data import` writes it");
  std::vector<std::string> readFiles = {options.graphPath, options.configPath, options.resumePath};
  for (const LayerConfig &layer : settings->config.layers)
    if (isModelPath(layer.model))
      readFiles.push_back(layer.model);
  const OutputFile outputs[] = {
      {options.outPath.empty() ? "--resume" : "--out", settings->checkpointPath, options.resumePath},
      {"--metrics", options.metricsPath},
      {"--svg", options.svgPath},
  };
  if (Status status = checkOutputs(outputs, readFiles); !status.isOk())
    return status;
  auto machine = chooseGpu(options.machine, settings->config.backend == Backend::Cuda ? "cuda" : "cpu");
  if (!machine)
    return std::move(machine).status();
  settings->machine = std::move(*machine);
  if (options.tune && settings->config.backend != Backend::Cuda)
    return Status::invalid("--tune is about launches on a GPU, and --backend is cpu; leave it out");
  if (options.tune)
    settings->onTuned = [](const std::string &note) { std::fprintf(stderr, "note: %s\n", note.c_str()); };
  std::unique_ptr<Device> device;
  if (settings->config.backend == Backend::Cuda) {
    auto found = findGpu();
    if (!found)
      return Status::invalid("--backend cuda: " + found.status().message() + "; train with --backend cpu");
    device = std::move(*found);
    settings->device = device.get();
  }
  if (!settings->checkpointPath.empty())
    removeLeftovers(settings->checkpointPath);
  auto graph = loadGraphFile(options.graphPath);
  if (!graph)
    return std::move(graph).status();
  std::printf("%s\n%lld nodes, %lld edges, %lld edge types\n", formatConfig(settings->config).c_str(),
              static_cast<long long>(graph->graph.numNodes()), static_cast<long long>(graph->graph.numEdges()),
              static_cast<long long>(graph->graph.numRelations()));
  if (options.numSeeds > 1)
    return trainSeeds(*graph, std::move(*settings), options);
  auto result = trainOnce(*graph, *settings, options.isQuiet, true);
  if (!result)
    return std::move(result).status();
  if (result->reason == StopReason::Diverged) {
    if (Status status = writeHistory(*result, options, titleOf(*settings, options)); !status.isOk())
      return status;
    return diverged(*result, *settings, options);
  }
  printResult(*graph, *result, *settings);
  if (!settings->checkpointPath.empty())
    std::printf("wrote %s\n", settings->checkpointPath.c_str());
  if (Status status = writeHistory(*result, options, titleOf(*settings, options)); !status.isOk())
    return status;
  return result->reason == StopReason::Interrupted
             ? Status::failed("interrupted" + (settings->checkpointPath.empty()
                                                   ? std::string("; nothing was kept, as there is no --out")
                                                   : "; continue with --resume " + settings->checkpointPath))
             : Status::ok();
}

}  // namespace

int trainCommand(const TrainCommandOptions &options) {
  noteInterrupts();
  Status status = train(options);
  if (status.isOk())
    return kExitFine;
  std::fflush(stdout);  // the reason comes last, also in a file
  const int code = report(status);
  return interruptSignal() ? interruptExitCode() : code;
}

}  // namespace hector
