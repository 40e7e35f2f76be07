#include "TrainCommand.h"

#include "Commands.h"
#include "Options.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <limits>
#include <memory>
#include <system_error>

namespace hector {

/// A check that an option's value is a number. `checkConfig` knows which are allowed, as for configuration files.
static CLI::Validator anyNumber() {
  return CLI::Validator(
      [](std::string &value) -> std::string {
        double number = 0;
        const char *end = value.data() + value.size();
        auto [rest, error] = std::from_chars(value.data(), end, number);
        if (value.empty() || value.starts_with("--"))
          return "a number is missing";
        return rest != end || error != std::errc() ? "`" + value + "` is not a number" : "";
      },
      "");
}

static void addLimits(CLI::App &command, std::string &memoryLimit) {
  command.add_option("--memory-limit", memoryLimit, "The most memory that plans may take, such as 8G")
      ->type_name("BYTES")
      ->check(notEmpty());
}

static void addMachineOption(CLI::App &command, std::string &machine) {
  command
      .add_option("--machine", machine,
                  "The GPU that --backend cuda chooses plans for: h200 (the default), here (what `hector machine "
                  "--backend cuda` measured) or a machine file")
      ->type_name("NAME:{h200,here}")
      ->check(notEmpty());
}

static CLI::App *addTrainOptions(CLI::App &app, TrainCommandOptions &options) {
  CLI::App *train = app.add_subcommand("train", "Trains layers on a graph with labels, or on the links of a graph");
  auto addFile = [&](const char *name, std::string &path, const char *help) {
    return train->add_option(name, path, help)->type_name("FILE")->check(notEmpty());
  };
  auto addWord = [&](const char *name, std::optional<std::string> &word, const char *help,
                     std::vector<std::string> words) {
    train->add_option(name, word, help)->check(oneOf(std::move(words)))->type_name("NAME");
  };
  auto addNumber = [&](const char *name, auto &number, const char *help) {
    train->add_option(name, number, help)->check(anyNumber())->type_name("NUMBER");
  };
  auto addWhole = [&](const char *name, std::optional<int64_t> &number, const char *help) {
    train->add_option(name, number, help)
        ->transform(wholeNumber<int64_t>(std::numeric_limits<int64_t>::min()))
        ->type_name("NUMBER");
  };
  addFile("--graph", options.graphPath, "The graph, with labels and a split (.safetensors)");
  addFile("--config", options.configPath, "The configuration (.toml); flags replace what it says");
  train
      ->add_option(
          "--layer", options.layers,
          "A layer, such as rgcn:16,relu,dropout=0.5; may be repeated. A layer of models/ or the path of a model, "
          "its size, and what follows it")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->check(notEmpty())
      ->type_name("LAYER");
  addFile("--out", options.outPath, "Keeps the run here, to be continued or used by `hector infer` (.safetensors)");
  addFile("--resume", options.resumePath, "Continues the run that this file keeps");
  addFile("--metrics", options.metricsPath, "Writes a line of JSON for each epoch");
  addFile("--svg", options.svgPath, "Draws the loss and the accuracy");
  addWord("--task", options.task, "What is learnt: classes of nodes, or links", {"classify", "link"});
  addWord("--input", options.input, "Where the rows of nodes come from", {"auto", "features", "embedding"});
  addWhole("--input-size", options.inputSize, "Numbers per node of embeddings and of projected features");
  addWord("--optimiser", options.optimiser, "How parameters learn", {"sgd", "adam", "adamw"});
  addNumber("--rate", options.rate, "The learning rate");
  addNumber("--decay", options.decay, "The decay of weights");
  addWord("--schedule", options.schedule, "How the learning rate changes", {"constant", "linear", "cosine", "step"});
  addNumber("--dropout", options.dropout, "Dropout after every layer but the last");
  addWord("--class-weights", options.classWeights, "Whether rare classes count more", {"none", "balanced"});
  addWhole("--epochs", options.epochs, "How often all training nodes are seen; of link prediction: steps");
  addWhole("--patience", options.patience, "Stops after so many epochs without a better validation; 0: never");
  addNumber("--valid-share", options.validShare,
            "The share of the training nodes that validate where the graph has none that do");
  addWhole("--evaluate", options.evaluate, "Epochs between two looks at the accuracy");
  addWhole("--checkpoint", options.checkpoint, "Epochs between two times that --out is written");
  addWhole("--negatives", options.negatives, "Link prediction: replaced triples for each query");
  addWhole("--batch", options.batch, "Link prediction: true triples of a step");
  train->add_option("--seed", options.seed, "All that is drawn depends on it")
      ->transform(wholeNumber<uint64_t>())
      ->type_name("NUMBER");
  train->add_option("--seeds", options.numSeeds, "Trains with this many seeds, one after the other, and sums up")
      ->transform(wholeNumber<int64_t>(1, 10'000))
      ->type_name("NUMBER");
  train->add_option("--passes", options.passes, "The passes of the plan, as `hector run` takes them")
      ->type_name("LIST");
  addWord("--backend", options.backend, "Where plans run: on the CPU, or on a GPU", {"cpu", "cuda"});
  addMachineOption(*train, options.machine);
  train->add_flag("--tune", options.tune,
                  "Starts launches on a GPU in the way that is the fastest by the clock, and says which");
  train->add_option("--threads", options.threads, "How many threads run at once; results do not depend on it")
      ->transform(wholeNumber<int>(1, 1024))
      ->type_name("NUMBER");
  addLimits(*train, options.memoryLimit);
  train->add_flag("--dry-run", options.isDry, "Prints the configuration and ends");
  train->add_flag("--quiet", options.isQuiet, "Says nothing while it trains");
  train->footer("Ctrl-C stops after the step at hand and keeps the run.\n"
                "Examples:\n  hector train --graph aifb.safetensors --layer rgcn:16,relu --layer rgcn --out "
                "aifb-rgcn.safetensors\n"
                "  hector train --resume aifb-rgcn.safetensors --graph aifb.safetensors --epochs 100 --out "
                "aifb-rgcn.safetensors\n"
                "  hector train --config rgcn.toml --graph aifb.safetensors --seeds 10");
  return train;
}

static CLI::App *addInferOptions(CLI::App &app, InferCommandOptions &options) {
  CLI::App *infer = app.add_subcommand("infer", "Predicts with what `hector train` kept");
  auto addFile = [&](const char *name, std::string &path, const char *help) {
    return infer->add_option(name, path, help)->type_name("FILE")->check(notEmpty());
  };
  infer->add_option("CHECKPOINT", options.checkpointPath, "What `hector train --out` wrote")
      ->required()
      ->check(notEmpty());
  addFile("--graph", options.graphPath, "The graph (.safetensors): that of training, or a changed one")->required();
  addFile("--out", options.outPath, "Writes the prediction for each node (.csv or .safetensors)");
  addFile("--embeddings", options.embeddingsPath, "Writes the rows that the last layer reads (.csv or .safetensors)");
  infer->add_option("--backend", options.backend, "Where plans run: on the CPU, or on a GPU")
      ->check(oneOf({"cpu", "cuda"}))
      ->type_name("NAME");
  addMachineOption(*infer, options.machine);
  infer->add_option("--threads", options.threads, "How many threads run at once")
      ->transform(wholeNumber<int>(1, 1024))
      ->type_name("NUMBER");
  addLimits(*infer, options.memoryLimit);
  infer->footer("Example:\n  hector infer aifb-rgcn.safetensors --graph aifb.safetensors --out predictions.csv");
  return infer;
}

std::function<std::optional<int>()> addTrain(CLI::App &app) {
  auto train = std::make_shared<TrainCommandOptions>();
  auto infer = std::make_shared<InferCommandOptions>();
  CLI::App *trainApp = addTrainOptions(app, *train), *inferApp = addInferOptions(app, *infer);
  return [=]() -> std::optional<int> {
    if (trainApp->parsed())
      return trainCommand(*train);
    if (inferApp->parsed())
      return inferCommand(*infer);
    return std::nullopt;
  };
}

}  // namespace hector
