#include "training/Config.h"

#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

using namespace hector;
using namespace hector::training;

namespace {

const std::string kLayers = "layers = [\"rgcn\"]\n";

/// The first line of what is wrong with a text.
std::string wrong(const std::string &text) {
  auto config = parseConfig(text, "c.toml");
  if (config)
    return "nothing is wrong";
  EXPECT_TRUE(config.status().isLocated()) << config.status().message();
  return config.status().message().substr(0, config.status().message().find('\n'));
}

std::string wrongLayer(const std::string &text) {
  auto layer = parseLayer(text);
  return layer ? "nothing is wrong" : layer.status().message();
}

std::string wrongConfig(const Config &config) {
  Status status = checkConfig(config);
  return status.isOk() ? "nothing is wrong" : status.message();
}

LayerConfig layerOf(const std::string &model) {
  LayerConfig layer;
  layer.model = model;
  return layer;
}

/// "rgcn:16,relu,dropout=0.5".
LayerConfig usual() {
  LayerConfig layer = layerOf("rgcn");
  layer.size = 16;
  layer.activation = Activation::Relu;
  layer.dropout = 0.5;
  return layer;
}

Config small() {
  Config config;
  config.layers = {layerOf("rgcn")};
  return config;
}

/// Every field differs from its default.
Config unusual() {
  Config config;
  config.task = Task::Classify;
  LayerConfig layer;
  layer.model = "../my models/a\"b.hec";
  layer.entry = "layer";
  layer.size = 16;
  layer.sizes = {{"k", 4}, {"odd name", 5}};
  layer.attributes = {{"heads", "4"},   {"slope", "0.2"},  {"small", "1e-05"}, {"yes", "True"}, {"no", "False"},
                      {"text", "a\tb"}, {"almost", "4.0"}, {"zero", "-0"},     {"true", "true"}};
  layer.activation = Activation::LeakyRelu;
  layer.norm = Norm::Layer;
  layer.dropout = 0.1;
  layer.residual = true;
  config.layers = {layer, layerOf("rgcn")};
  config.head = true;
  config.input = {InputKind::Embedding, 32, Activation::Gelu, 0.25};
  config.optimiser = {OptimiserKind::Sgd, 1.0 / 3, 5e-4, 0.9, 0.8, 0.99, 1e-7};
  config.schedule = {ScheduleKind::Cosine, 5, 7, 0.1};
  config.link = {3, 100, 1e-3};
  config.classWeights = ClassWeights::Balanced;
  config.epochs = 7;
  config.patience = 3;
  config.evaluate = 2;
  config.checkpoint = 4;
  config.validShare = 0.2;
  config.seed = 9'223'372'036'854'775'807;
  config.passes = "none";
  config.backend = Backend::Cuda;
  config.threads = 2;
  return config;
}

class ConfigFolderTest : public FolderTest {};

}  // namespace

TEST(ConfigTest, ReadsTheExampleOfTheHeader) {
  auto config = parseConfig("task    = \"classify\"\n"
                            "layers  = [{ model = \"rgcn\", size = 16, activation = \"relu\", dropout = 0.5 }, "
                            "{ model = \"rgcn\" }]\n"
                            "input   = { size = 16 }\n"
                            "optimiser = { kind = \"adam\", rate = 0.01, decay = 5e-4 }\n"
                            "epochs  = 50\n",
                            "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  Config expected;
  expected.layers = {usual(), layerOf("rgcn")};
  expected.input.size = 16;
  expected.optimiser.decay = 5e-4;
  EXPECT_EQ(*config, expected);
}

TEST(ConfigTest, ReadsAllEnumerations) {
  auto config =
      parseConfig("task = \"link\"\nlayers = [{ model = \"m\", activation = \"leaky_relu\", norm = \"unit\" }]\n"
                  "input = { kind = \"features\", activation = \"silu\" }\noptimiser = { kind = \"adamw\" }\n"
                  "schedule = { kind = \"step\" }\nclass_weights = \"none\"",
                  "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->task, Task::Link);
  EXPECT_EQ(config->layers[0].activation, Activation::LeakyRelu);
  EXPECT_EQ(config->layers[0].norm, Norm::Unit);
  EXPECT_EQ(config->input.kind, InputKind::Features);
  EXPECT_EQ(config->input.activation, Activation::Silu);
  EXPECT_EQ(config->optimiser.kind, OptimiserKind::AdamW);
  EXPECT_EQ(config->schedule.kind, ScheduleKind::Step);
}

TEST(ConfigTest, ReadsSizesAndAttributes) {
  auto config =
      parseConfig("layers = [{ model = \"m\", sizes = { k = 4 }, set = { heads = 2, slope = 0.2, mean = true, "
                  "kind = \"x\" } }]",
                  "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers[0].sizes, (std::map<std::string, int64_t>{{"k", 4}}));
  EXPECT_EQ(config->layers[0].attributes,
            (std::map<std::string, std::string>{{"heads", "2"}, {"kind", "x"}, {"mean", "True"}, {"slope", "0.2"}}));
}

TEST(ConfigTest, ALayerMayBeAText) {
  auto config = parseConfig("layers = [\"rgcn:16,relu,dropout=0.5\", { model = \"rgat\" }]", "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers[0], usual());
  EXPECT_EQ(config->layers[1].model, "rgat");
}

TEST(ConfigTest, TablesMayBeSections) {
  auto config = parseConfig(
      "[[layers]]\nmodel = \"rgcn\"\nsize = 8\n[[layers]]\nmodel = \"rgat\"\n[optimiser]\nrate = 1", "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers.size(), 2u);
  EXPECT_EQ(config->optimiser.rate, 1);
}

TEST(ConfigTest, PathsStartAtTheFile) {
  auto modelOf = [](const std::string &model, const std::string &path) {
    auto config = parseConfig("layers = [{ model = \"" + model + "\" }]", path);
    return config ? config->layers[0].model : config.status().message();
  };
  EXPECT_EQ(modelOf("m.hec", "a/b/c.toml"), "a/b/m.hec");
  EXPECT_EQ(modelOf("../m.hec", "a/b/c.toml"), "a/m.hec");
  EXPECT_EQ(modelOf("/x/m.hec", "a/b/c.toml"), "/x/m.hec");
  EXPECT_EQ(modelOf("rgcn", "a/b/c.toml"), "rgcn");
  EXPECT_EQ(modelOf("./m.hec", "c.toml"), "./m.hec");
  EXPECT_EQ(modelOf("../m", "a/c.toml"), "./m");  // `m` would be a model that ships
}

TEST(ConfigTest, PathsInTextsStartAtTheFileToo) {
  auto config = parseConfig("layers = [\"m.hec:16\"]", "a/c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers[0].model, "a/m.hec");
}

TEST(ConfigTest, ReportsMissingLayers) {
  EXPECT_EQ(wrong("epochs = 5"), "c.toml:1:1: error: the configuration has no `layers`");
  EXPECT_EQ(wrong("layers = []"), "c.toml:1:10: error: the configuration has no layers; expected one at least");
  EXPECT_EQ(wrong("layers = [{ size = 3 }]"), "c.toml:1:11: error: the layer has no `model`");
}

TEST(ConfigTest, ReportsUnknownKeysWithTheirPlaces) {
  EXPECT_EQ(wrong(kLayers + "epoch = 5"), "c.toml:2:1: error: a configuration has no `epoch`; did you mean `epochs`?");
  EXPECT_EQ(wrong(kLayers + "optimiser = { rat = 5 }"),
            "c.toml:2:15: error: `optimiser` has no `rat`; did you mean `rate`?");
  EXPECT_EQ(wrong("layers = [{ model = \"m\", dropuot = 0.5 }]"),
            "c.toml:1:26: error: a layer has no `dropuot`; did you mean `dropout`?");
}

TEST(ConfigTest, ReportsWordsWithTheNearest) {
  EXPECT_EQ(wrong(kLayers + "task = \"clasify\""),
            "c.toml:2:8: error: `task` is `clasify`; expected classify or link; did you mean `classify`?");
}

TEST(ConfigTest, ReportsValuesOfTheWrongKind) {
  EXPECT_EQ(wrong(kLayers + "epochs = 2.5"), "c.toml:2:10: error: `epochs` is a whole number, but this is a number");
  EXPECT_EQ(wrong(kLayers + "input = 16"), "c.toml:2:9: error: `input` is a table, but this is a whole number");
  EXPECT_EQ(wrong("layers = [7]"), "c.toml:1:11: error: a layer is a text, such as \"rgcn:16,relu\", or a table, but "
                                   "this is a whole number");
}

TEST(ConfigTest, ReportsValuesOutOfRange) {
  EXPECT_EQ(wrong("layers = [{ model = \"m\", dropout = 1 }]"),
            "c.toml:1:36: error: `dropout` is 1; expected 0 to below 1");
  EXPECT_EQ(wrong(kLayers + "optimiser = { rate = 0 }"), "c.toml:2:22: error: `rate` is 0; expected a number above 0");
  EXPECT_EQ(wrong(kLayers + "optimiser = { decay = nan }"),
            "c.toml:2:23: error: `decay` is nan; expected a finite number of at least 0");
  EXPECT_EQ(wrong(kLayers + "epochs = 0"), "c.toml:2:10: error: `epochs` is 0; expected 1 to 1000000");
  EXPECT_EQ(wrong(kLayers + "seed = -1"), "c.toml:2:8: error: `seed` is -1; expected 0 to 9223372036854775807");
}

TEST(ConfigTest, ReportsContradictions) {
  EXPECT_EQ(wrong(kLayers + "optimiser = { momentum = 0.9 }"),
            "c.toml:2:26: error: `optimiser.momentum` is 0.9, but the optimiser is adam; only sgd has a momentum (adam "
            "and adamw have beta1)");
  EXPECT_EQ(wrong(kLayers + "[optimiser]\nepsilon = 0"),
            "c.toml:3:11: error: `optimiser.epsilon` is 0; expected a number of at least 1e-30");
  EXPECT_EQ(wrong(kLayers + "evaluate = 5\npatience = 3"),
            "c.toml:3:12: error: `patience` is 3, but `evaluate` is 5, so that the run would stop before anything is "
            "validated; expected `patience` to be at least 5");
}

TEST(ConfigTest, ReportsValuesWithoutEffect) {
  EXPECT_EQ(wrong(kLayers + "optimiser = { kind = \"sgd\", beta1 = 0.8 }"),
            "c.toml:2:37: error: `optimiser.beta1` is 0.8, but the optimiser is sgd; only adam and adamw have it (sgd "
            "has momentum)");
  EXPECT_EQ(
      wrong(kLayers + "schedule = { kind = \"cosine\", every = 20 }"),
      "c.toml:2:39: error: `schedule.every` is 20, but the schedule is cosine; only step has it, so leave it out");
  EXPECT_EQ(wrong(kLayers + "schedule = { factor = 0.1 }"),
            "c.toml:2:23: error: `schedule.factor` is 0.1, but the schedule is constant; only linear, cosine and step "
            "have it, so leave it out");
  EXPECT_EQ(wrong(kLayers + "link = { batch = 5 }"),
            "c.toml:2:18: error: `link.batch` is 5, but the task is classify, which has no links; leave it out");
  // Runs of earlier versions may have them.
  EXPECT_TRUE(parseConfig(kLayers + "link = { batch = 5 }", "c.toml", ConfigRules::Kept));
}

TEST(ConfigTest, ReportsAllMistakesAtOnce) {
  auto config = parseConfig("layers = [\"rgcn:rleu\"]\nepochs = 0\nsede = 1", "c.toml");
  ASSERT_FALSE(config);
  for (const char *place : {"c.toml:1:11: ", "c.toml:2:10: ", "c.toml:3:1: "})
    EXPECT_NE(config.status().message().find(place), std::string::npos) << place;
}

// toml++ 3.3 asserts on some of these, and on others its behaviour is undefined.
TEST(ConfigTest, TextsThatAreNoTomlAreErrors) {
  for (const char *text : {"[{", "[ ", "a.=1", "\"", "'''", "x = \"\\u12", "\x01", "=", "a = 1979-05-27T07:32:oo"})
    EXPECT_NE(wrong(text), "nothing is wrong") << text;
  EXPECT_EQ(wrong("größe = 1"), "c.toml:1:3: error: `ö` cannot be here; expected such letters in texts and comments "
                                "only");
  EXPECT_EQ(wrong("x = 0.&\"ü\""),
            "c.toml:1:8: error: `\"` cannot be here; expected texts after a blank, `=`, `,`, `[` "
            "or `{`");
}

TEST(ConfigTest, TextsAndCommentsMayHaveAnyLetters) {
  auto config =
      parseConfig("# größer\nlayers = [\"größe.hec\", '''grö\"ße.hec''', \"\"\"ü\\\"ü.hec\"\"\"]  # ü", "c.toml");
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers[0].model, "größe.hec");
}

TEST(ConfigTest, WrittenTextReadsBackToTheSame) {
  auto back = parseConfig(formatConfig(unusual()), "c.toml", ConfigRules::Kept);  // some values have no effect
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(*back, unusual()) << formatConfig(unusual());
}

TEST(ConfigTest, WrittenNumbersReadBackToTheSameBits) {
  std::mt19937_64 random(7);
  std::vector<double> rates = {5e-324,
                               2.2250738585072014e-308,
                               std::numeric_limits<double>::max(),
                               123456789012345680000.0,
                               9007199254740994.0,
                               1,
                               1e22};
  while (rates.size() < 500) {
    const uint64_t bits = random();
    double rate;
    std::memcpy(&rate, &bits, sizeof rate);
    if (std::isfinite(rate) && rate > 0)
      rates.push_back(rate);
  }
  for (double rate : rates) {
    Config config = small();
    config.optimiser.rate = rate;
    auto back = parseConfig(formatConfig(config), "c.toml");
    ASSERT_TRUE(back) << back.status().message();
    EXPECT_EQ(back->optimiser.rate, rate);
  }
}

TEST(ConfigTest, OnlyWhatDiffersFromDefaultsIsWritten) {
  EXPECT_EQ(formatConfig(small()), "task = \"classify\"\n"
                                   "layers = [\n"
                                   "  { model = \"rgcn\" },\n"
                                   "]\n"
                                   "optimiser = { kind = \"adam\", rate = 0.01 }\n"
                                   "epochs = 50\n"
                                   "seed = 0\n");
}

TEST(ConfigTest, ChecksValuesThatFlagsSet) {
  EXPECT_EQ(wrongConfig(small()), "nothing is wrong");
  EXPECT_EQ(wrongConfig({}), "the configuration has no layers; expected one at least");
  Config config = small();
  config.optimiser.rate = -1;
  EXPECT_EQ(wrongConfig(config), "`optimiser.rate` is -1; expected a number above 0");
  config = small();
  config.layers.push_back(layerOf("rgcn"));
  config.layers[1].dropout = 1.5;
  EXPECT_EQ(wrongConfig(config), "layer 2: `dropout` is 1.5; expected 0 to below 1");
  config = small();
  config.layers[0].sizes["k"] = 0;
  EXPECT_EQ(wrongConfig(config), "layer 1: `sizes.k` is 0; expected 1 to 16777216");
  config = small();
  config.seed = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(wrongConfig(config), "`seed` is 18446744073709551615; expected 0 to 9223372036854775807");
  config = small();
  config.layers[0].model = "\xff";
  EXPECT_EQ(wrongConfig(config), "layer 1: `model` is `\\xff`; expected UTF-8");
}

TEST(ConfigTest, LinkPredictionHasNoClasses) {
  Config config = small();
  config.task = Task::Link;
  config.head = true;
  EXPECT_EQ(wrongConfig(config), "`head` is true, but the task is link, which has no classes; leave it out");
}

TEST(ConfigTest, LinkPredictionHasNoShareOfNodesThatValidate) {
  Config config;
  config.task = Task::Link;
  config.validShare = 0.2;
  EXPECT_EQ(wrongConfig(config), "`valid_share` is 0.2, but the task is link, where the split of the edges says which "
                                 "validate; leave it out");
}

TEST(ConfigTest, PatienceWaitsForAnEvaluation) {
  Config config = small();
  config.patience = 4;
  config.evaluate = 5;
  EXPECT_EQ(wrongConfig(config), "`patience` is 4, but `evaluate` is 5, so that the run would stop before anything is "
                                 "validated; expected `patience` to be at least 5");
  config.patience = 5;
  EXPECT_EQ(wrongConfig(config), "nothing is wrong");
}

TEST(ConfigTest, EpsilonIsNotZero) {
  Config config = small();
  config.optimiser.epsilon = 0;
  EXPECT_EQ(wrongConfig(config), "`optimiser.epsilon` is 0; expected a number of at least 1e-30");
}

TEST(ConfigTest, KeptConfigurationsMayBreakNewRules) {
  Config config = small();
  config.patience = 4;
  config.evaluate = 5;
  EXPECT_TRUE(checkConfig(config, ConfigRules::Kept).isOk());
  EXPECT_TRUE(parseConfig(formatConfig(config), "config", ConfigRules::Kept));
  EXPECT_FALSE(parseConfig(formatConfig(config), "config"));
}

TEST_F(ConfigFolderTest, ReadsAFile) {
  std::ofstream(path("c.toml")) << "layers = [\"m.hec\"]";
  auto config = readConfig(path("c.toml"));
  ASSERT_TRUE(config) << config.status().message();
  EXPECT_EQ(config->layers[0].model, path("m.hec"));
}

TEST_F(ConfigFolderTest, ReportsAFileThatIsNotThere) {
  auto config = readConfig(path("c.toml"));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.status().message(), path("c.toml") + ": cannot be read: No such file or directory");
}

TEST(LayerTest, ReadsAllKindsOfWords) {
  auto layer = parseLayer("rgcn:16,relu,dropout=0.5,heads=4,unit,residual");
  ASSERT_TRUE(layer) << layer.status().message();
  LayerConfig expected = usual();
  expected.attributes = {{"heads", "4"}};
  expected.norm = Norm::Unit;
  expected.residual = true;
  EXPECT_EQ(*layer, expected);
}

TEST(LayerTest, AModelMayStandAlone) {
  auto layer = parseLayer("rgcn");
  ASSERT_TRUE(layer) << layer.status().message();
  EXPECT_EQ(*layer, layerOf("rgcn"));
}

TEST(LayerTest, PathsStayAsGiven) {
  auto layer = parseLayer("./a:b/m.hec: 16, relu");
  ASSERT_TRUE(layer) << layer.status().message();
  EXPECT_EQ(layer->model, "./a:b/m.hec");
  EXPECT_EQ(layer->size, 16);
  EXPECT_EQ(layer->activation, Activation::Relu);
}

TEST(LayerTest, ReportsTheWordThatIsNotUnderstood) {
  EXPECT_EQ(wrongLayer("rgcn:16,rleu"), "layer `rgcn:16,rleu`: `rleu` is not understood; did you mean `relu`?");
  EXPECT_EQ(wrongLayer("rgcn:none"), "layer `rgcn:none`: `none` is not understood; expected a size, relu, leaky_relu, "
                                     "elu, gelu, silu, tanh, layer, unit, residual, dropout=SHARE or NAME=VALUE");
}

TEST(LayerTest, ReportsMissingParts) {
  EXPECT_EQ(wrongLayer(""), "layer ``: the model is missing; expected a text such as `rgcn:16,relu`");
  EXPECT_EQ(wrongLayer(":16"), "layer `:16`: the model is missing; expected a text such as `rgcn:16,relu`");
  EXPECT_EQ(wrongLayer("rgcn,relu"),
            "layer `rgcn,relu`: `rgcn,relu` is no model; expected MODEL:WORD,WORD, such as `rgcn:relu`");
  EXPECT_EQ(wrongLayer("rgcn:"), "layer `rgcn:`: a word is missing at the end");
  EXPECT_EQ(wrongLayer("rgcn:16,,relu"), "layer `rgcn:16,,relu`: a word is missing before a comma");
  EXPECT_EQ(wrongLayer("rgcn:heads="), "layer `rgcn:heads=`: `heads=` is not understood; expected NAME=VALUE");
  EXPECT_EQ(wrongLayer("rgcn:dropout"),
            "layer `rgcn:dropout`: `dropout` has no value; expected a share, such as dropout=0.5");
}

TEST(LayerTest, ReportsNumbersOutOfRange) {
  EXPECT_EQ(wrongLayer("rgcn:0"), "layer `rgcn:0`: the size is `0`; expected a whole number, 1 to 16777216");
  EXPECT_EQ(wrongLayer("rgcn:1.5"), "layer `rgcn:1.5`: the size is `1.5`; expected a whole number, 1 to 16777216");
  EXPECT_EQ(wrongLayer("rgcn:dropout=1"), "layer `rgcn:dropout=1`: `dropout` is 1; expected 0 to below 1");
  EXPECT_EQ(wrongLayer("rgcn:dropout=half"), "layer `rgcn:dropout=half`: `dropout` is `half`; expected 0 to below 1");
}

TEST(LayerTest, ReportsWhatIsGivenTwice) {
  EXPECT_EQ(wrongLayer("m:8,16"), "layer `m:8,16`: the size is given twice, 8 and 16; leave one out");
  EXPECT_EQ(wrongLayer("m:relu,elu"), "layer `m:relu,elu`: two activations are given, relu and elu; leave one out");
  EXPECT_EQ(wrongLayer("m:a=1,a=1"), "layer `m:a=1,a=1`: `a` is given twice; leave one out");
}

TEST(ScheduleTest, ConstantIsOne) {
  EXPECT_EQ(rateFactor({}, 0, 10), 1);
  EXPECT_EQ(rateFactor({}, 9, 10), 1);
}

TEST(ScheduleTest, WarmupRisesToTheFullRate) {
  const ScheduleConfig schedule = {.warmup = 3};
  EXPECT_DOUBLE_EQ(rateFactor(schedule, 0, 10), 0.25);
  EXPECT_DOUBLE_EQ(rateFactor(schedule, 2, 10), 0.75);
  EXPECT_DOUBLE_EQ(rateFactor(schedule, 3, 10), 1);
}

TEST(ScheduleTest, LinearAndCosineFallToTheFactor) {
  for (ScheduleKind kind : {ScheduleKind::Linear, ScheduleKind::Cosine}) {
    const ScheduleConfig schedule = {.kind = kind, .warmup = 2, .factor = 0.2};
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 2, 12), 1);
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 7, 12), 0.6);
    EXPECT_GT(rateFactor(schedule, 11, 12), 0.2);
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 12, 12), 0.2);
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 100, 12), 0.2);
  }
}

TEST(ScheduleTest, StepMultipliesAgainAndAgain) {
  const ScheduleConfig schedule = {.kind = ScheduleKind::Step, .every = 10, .factor = 0.5};
  EXPECT_EQ(rateFactor(schedule, 9, 100), 1);
  EXPECT_EQ(rateFactor(schedule, 10, 100), 0.5);
  EXPECT_EQ(rateFactor(schedule, 25, 100), 0.25);
}

TEST(ScheduleTest, AWarmupMayBeLongerThanTraining) {
  EXPECT_DOUBLE_EQ(rateFactor({.kind = ScheduleKind::Linear, .warmup = 9}, 4, 5), 0.5);
}
