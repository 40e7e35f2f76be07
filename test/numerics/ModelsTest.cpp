/// Every file of models/ against its formula: results on odd graphs and sizes, and gradients.

#include "test/numerics/Harness.h"
#include "test/numerics/Layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

namespace hector::numerics {
namespace {

constexpr double kTolerance = 1e-9;

class ModelTest : public testing::TestWithParam<Layer> {
protected:
  /// The layer at one choice of odd sizes, with inputs for a graph.
  struct Setup {
    std::map<std::string, int64_t> sizes;
    Settings settings;
    Tables inputs;
  };

  /// Another choice for each `turn`; what counts heads and their like is 1 or 3.
  static Setup setUpInputs(const Model &model, const PlainGraph &graph, int turn) {
    constexpr int64_t kSizes[] = {3, 5, 1, 7};
    auto sizes = GetParam().sizesFor(model, [&](int number) { return kSizes[(turn + number) % 4]; }, turn % 2 ? 1 : 3);
    Settings settings = GetParam().settingsFor(sizes);
    Tables inputs = layerInputs(model, settings, graph, 100 + turn);
    return {std::move(sizes), std::move(settings), std::move(inputs)};
  }

  /// Compares model and formula on one graph, at several sizes, with passes and without.
  void check(const PlainGraph &graph) {
    auto model = loadFile("models/" + GetParam().file + ".hec");
    ASSERT_TRUE(model) << model.status().message();
    for (int turn = 0; turn < 4; ++turn) {
      Setup setup = setUpInputs(*model, graph, turn);
      SCOPED_TRACE("graph: " + graph.name + "; sizes: " + shown(setup.sizes));
      Tables expected = GetParam().formula(graph, {setup.inputs, setup.sizes});
      for (const char *passes : {"none", "default", "simplify,compact-rows,linear-reorder,simplify"}) {
        SCOPED_TRACE(std::string("passes: ") + passes);
        setup.settings.passes = passes;
        auto results = runModel(*model, setup.settings, graph, setup.inputs);
        ASSERT_TRUE(results) << results.status().message();
        expectClose(*results, expected, kTolerance);
      }
      if (HasFailure())
        return;
    }
  }
};

TEST_P(ModelTest, GivesItsFormulaOnUnkindGraphs) {
  for (const PlainGraph &graph : unkindGraphs())
    check(graph);
}

TEST_P(ModelTest, GivesItsFormulaOnTheGoldenGraph) {
  if (!hasGolden("rgcn_small"))
    GTEST_SKIP() << "there is no " << goldenPath("rgcn_small");
  auto graph = loadGraph(goldenPath("rgcn_small"), {});
  ASSERT_TRUE(graph) << graph.status().message();
  check(plainGraph(*graph, "rgcn_small"));
}

/// Σ results·weights, all tables of one name paired.
double pair(const Tables &results, const Tables &weights, const std::string &prefix) {
  double total = 0.0;
  for (const auto &[name, weight] : weights) {
    const Table &values = results.at(prefix + name);
    for (size_t i = 0; i < weight.values.size(); ++i)
      total += weight.values[i] * values.values[i];
  }
  return total;
}

TEST_P(ModelTest, HasTheGradientsThatDifferencesShow) {
  constexpr double kStep = 1e-6;
  auto model = loadFile("models/" + GetParam().file + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  for (const PlainGraph &graph : unkindGraphs()) {
    Setup setup = setUpInputs(*model, graph, 0);
    SCOPED_TRACE("graph: " + graph.name + "; sizes: " + shown(setup.sizes));
    auto forward = runModel(*model, setup.settings, graph, setup.inputs);
    ASSERT_TRUE(forward) << forward.status().message();
    // A loss: the results weighed at random. A direction: a random step of every input.
    std::mt19937_64 random(17);
    std::normal_distribution<double> normal;
    Tables loss = *forward, direction = setup.inputs;
    for (Tables *tables : {&loss, &direction})
      for (auto &[name, table] : *tables)
        for (double &value : table.values)
          value = normal(random);
    Tables with = setup.inputs;
    for (const auto &[name, table] : loss)
      with["grad." + name] = table;
    setup.settings.grad = true;
    auto results = runModel(*model, setup.settings, graph, with);
    ASSERT_TRUE(results) << results.status().message();
    double slope = pair(*results, direction, "grad."), scale = 1.0;
    for (const auto &[name, table] : direction)
      for (size_t i = 0; i < table.values.size(); ++i)
        scale += std::abs(table.values[i] * results->at("grad." + name).values[i]);

    setup.settings.grad = false;
    double sides[2];
    for (int side : {0, 1}) {
      Tables moved = setup.inputs;
      for (auto &[name, table] : moved)
        for (size_t i = 0; i < table.values.size(); ++i)
          table.values[i] += (side ? kStep : -kStep) * direction.at(name).values[i];
      auto there = runModel(*model, setup.settings, graph, moved);
      ASSERT_TRUE(there) << there.status().message();
      sides[side] = pair(*there, loss, "");
    }
    EXPECT_NEAR(slope, (sides[1] - sides[0]) / (2.0 * kStep), 1e-7 * scale);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelTest, testing::ValuesIn(layers()),
                         [](const auto &info) { return info.param.name.empty() ? info.param.file : info.param.name; });

//===- The folder as a whole -------------------------------------------------------------------------------------===//

std::vector<std::string> linesOf(const std::string &model) {
  std::ifstream file(std::string(HECTOR_SOURCE_DIR) + "/models/" + model + ".hec");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

/// Characters of a line of UTF-8, which is what an editor calls columns.
int64_t columns(const std::string &line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::vector<std::string> modelNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(HECTOR_SOURCE_DIR "/models"))
    if (entry.path().extension() == ".hec")
      names.push_back(entry.path().stem());
  return names;
}

TEST(Models, HaveAFormulaEach) {
  std::set<std::string> tested;
  for (const Layer &layer : layers())
    tested.insert(layer.file);
  for (const std::string &name : modelNames())
    EXPECT_TRUE(tested.count(name)) << "models/" << name << ".hec has no formula in this test";
}

TEST(Models, StandInTheReadme) {
  std::ifstream file(HECTOR_SOURCE_DIR "/models/README.md");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const std::string &name : modelNames())
    EXPECT_NE(text.find("| `" + name + ".hec` |"), std::string::npos) << name;
}

TEST(Models, StartWithTheirFormula) {
  for (const std::string &name : modelNames())
    EXPECT_TRUE(linesOf(name).at(0).starts_with("# ")) << name;
}

TEST(Models, FitInAHundredColumns) {
  for (const std::string &name : modelNames())
    for (const std::string &line : linesOf(name))
      EXPECT_LE(columns(line), 100) << name << ": " << line;
}

TEST(Models, OfThePaperTakeAtMost51Lines) {
  size_t total = 0;
  for (const char *name : {"rgcn", "rgat", "hgt"}) {
    EXPECT_FALSE(linesOf(name).empty());
    total += linesOf(name).size();
  }
  EXPECT_LE(total, 51u);
}

//===- Golden results --------------------------------------------------------------------------------------------===//

struct GoldenCase {
  std::string model, file;
};

void PrintTo(const GoldenCase &golden, std::ostream *out) {
  *out << golden.model << ".hec on " << golden.file;
}

class GoldenModelTest : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenModelTest, GivesTheStoredResult) {
  if (!hasGolden(GetParam().file))
    GTEST_SKIP() << "there is no " << goldenPath(GetParam().file);
  auto golden = loadGolden(GetParam().file, "models/" + GetParam().model + ".hec");
  ASSERT_TRUE(golden) << golden.status().message();
  auto program = Program::import(golden->model, golden->binding, {.numbers = NumberType::F64, .gradients = {}});
  ASSERT_TRUE(program) << program.status().message();
  auto results = run(*program, golden->bound.graph, golden->bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ(results->front().name, "out");
  expectClose({{"out", toTable(results->front().tensor, /*isShared=*/false)}},
              {{"out", toTable(golden->file.tensors.at("out"), /*isShared=*/false)}}, kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenModelTest,
                         testing::Values(GoldenCase{"rgcn", "rgcn_small"}, GoldenCase{"rgat_heads", "rgat_small"},
                                         GoldenCase{"rgat_heads", "rgat_heads_small"}, GoldenCase{"hgt", "hgt_small"},
                                         GoldenCase{"gcn", "gcn_small"}, GoldenCase{"gat", "gat_small"},
                                         GoldenCase{"graphsage", "sage_small"}),
                         [](const auto &info) { return info.param.file; });

}  // namespace
}  // namespace hector::numerics
