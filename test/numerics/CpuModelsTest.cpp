/// Every file of models/ as compiled code against its formula, with gradients, over narrow and wide rows and one or
/// many heads, with ids of 32 and of 64 bits by turns.
///
/// Each file gets one program for each width. Over all files, every two widths meet, and every width and number of
/// heads. With HECTOR_ALL_SIZES=1 in the environment each file gets all of them, which takes about a quarter of an
/// hour.

#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"
#include "test/numerics/Layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

constexpr int64_t kWidths[] = {1, 3, 17, 64, 100, 257};
constexpr int64_t kCounts[] = {1, 3, 8};
constexpr int kNumWidths = std::size(kWidths), kNumCounts = std::size(kCounts);
constexpr size_t kBatch = 12;  // at most that many programs go to the host compiler at once

/// Where a choice stands in the lists above: the first width of a model, the second, and the number of heads.
struct Choice {
  int first, second, count;
};

/// The k-th width is as far from the one before as the second is from the first.
std::map<std::string, int64_t> sizesFor(const Model &model, const Layer &layer, const Choice &choice) {
  const int shift = choice.second - choice.first + kNumWidths;
  return layer.sizesFor(
      model, [&](int number) { return kWidths[(choice.first + number * shift) % kNumWidths]; }, kCounts[choice.count]);
}

/// The choices of the file that comes `number`-th.
std::vector<Choice> choicesFor(int number) {
  std::vector<Choice> choices;
  if (!std::getenv("HECTOR_ALL_SIZES")) {
    // Models whose weights are as wide as all heads together are not among those with eight heads of the largest width.
    for (int row = 0; row < kNumWidths; ++row)
      choices.push_back({row, (row + number) % kNumWidths, (row + 2 * number + 2) % kNumCounts});
    return choices;
  }
  for (int first = 0; first < kNumWidths; ++first)
    for (int second = 0; second < kNumWidths; ++second)
      for (int count = 0; count < kNumCounts; ++count)
        choices.push_back({first, second, count});
  return choices;
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const Layer &layer : layers())
    if (names.empty() || names.back() != layer.file)
      names.push_back(layer.file);
  return names;
}

const PlainGraph &graph() {
  static const PlainGraph made = randomGraph(2, 23, 3, 60, 4);
  return made;
}

/// Inputs as networks have them: the wider the rows that a weight multiplies, the smaller its numbers. So results are
/// of the same size at any width.
Tables balancedInputs(const Model &model, const Settings &settings, uint64_t seed) {
  Tables inputs = layerInputs(model, settings, graph(), seed);
  for (const language::InputDecl &input : model.signature.inputs) {
    Table &table = inputs.at(input.name);
    if (input.home == language::Home::Node || input.home == language::Home::Edge || table.shape.empty())
      continue;
    const double width = static_cast<double>(table.shape[std::max<size_t>(table.shape.size(), 2) - 2]);
    for (double &value : table.values)
      value /= std::sqrt(width);
  }
  return inputs;
}

/// A program of a batch.
struct Member {
  const Layer *layer;
  std::map<std::string, int64_t> sizes;
  Settings settings;
  IdWidth ids;
  size_t number;
};

/// The slope of the loss when inputs move in a direction, by their gradients; and how large its terms are.
struct Slope {
  double sum = 0.0, sizes = 0.0;
};
Slope slopeOf(const Tables &gradients, const Tables &direction) {
  Slope slope;
  for (const auto &[name, table] : direction) {
    const std::vector<double> &gradient = gradients.at("grad." + name).values;
    for (size_t i = 0; i < table.values.size(); ++i) {
      slope.sum += gradient[i] * table.values[i];
      slope.sizes += std::abs(gradient[i] * table.values[i]);
    }
  }
  return slope;
}

class CpuModelTest : public testing::TestWithParam<std::string> {
protected:
  /// The loss by the formula, at a point some way from the inputs.
  static double lossAt(double way, const Member &member, Tables inputs, const Tables &direction,
                       const Tables &weights) {
    for (auto &[name, table] : inputs)
      for (size_t i = 0; i < table.values.size(); ++i)
        table.values[i] += way * direction.at(name).values[i];
    double loss = 0.0;
    for (const auto &[name, table] : member.layer->formula(graph(), {inputs, member.sizes}))
      for (size_t i = 0; i < table.values.size(); ++i)
        loss += table.values[i] * weights.at(name).values[i];
    return loss;
  }

  /// Compares results with the formula; gradients with those of the interpreter, number by number, and in one direction
  /// with the formula.
  static void check(const Model &model, const Member &member, const CpuBatch &batch) {
    const Tables inputs = balancedInputs(model, member.settings, 100);
    Tables expected = member.layer->formula(graph(), {inputs, member.sizes});
    Tables weights = expected;
    std::mt19937_64 random(17);
    std::normal_distribution<double> normal;
    for (auto &[name, table] : weights)
      for (double &value : table.values)
        value = normal(random);
    Tables arguments = inputs;
    for (const auto &[name, table] : weights)
      arguments["grad." + name] = table;
    auto results = batch.run(member.number, graph().build(member.ids), batch.toTensors(member.number, arguments));
    ASSERT_TRUE(results) << results.status().message();
    const Tables actual = batch.toTables(member.number, *results);

    auto interpreted = runModel(model, member.settings, graph(), arguments);
    ASSERT_TRUE(interpreted) << interpreted.status().message();
    for (auto &[name, table] : *interpreted)
      if (name.starts_with("grad."))
        expected[name] = std::move(table);
    expectClose(actual, expected, 1e-9, 1e-13);

    Tables direction = balancedInputs(model, member.settings, 200);
    if (auto loops = direction.find("self_loop"); loops != direction.end())
      loops->second.values.assign(loops->second.values.size(), 0.0);  // the formula looks at the graph instead
    const Slope slope = slopeOf(actual, direction);
    const double tolerance = 1e-7 * (1.0 + slope.sizes);
    double difference = 0.0;
    // A kink between the two points spoils the difference; points that are closer may have none between them.
    for (double step : {1e-6, 1e-7}) {
      difference =
          (lossAt(step, member, inputs, direction, weights) - lossAt(-step, member, inputs, direction, weights)) /
          (2.0 * step);
      if (std::abs(slope.sum - difference) <= tolerance)
        break;
    }
    EXPECT_NEAR(slope.sum, difference, tolerance);
  }
};

TEST_P(CpuModelTest, GivesItsFormula) {
  auto model = loadFile("models/" + GetParam() + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  const std::vector<std::string> names = files();
  const auto number = static_cast<int>(std::find(names.begin(), names.end(), GetParam()) - names.begin());
  std::vector<const Layer *> variants;
  for (const Layer &layer : layers())
    if (layer.file == GetParam())
      variants.push_back(&layer);

  std::set<std::map<std::string, int64_t>> done;  // a model may have one width only, and no heads
  std::vector<Choice> choices = choicesFor(number);
  for (size_t next = 0; next < choices.size();) {
    CpuBatch batch;
    std::vector<Member> members;
    for (; next < choices.size() && members.size() < kBatch; ++next) {
      const Layer &layer = *variants[done.size() % variants.size()];
      std::map<std::string, int64_t> sizes = sizesFor(*model, layer, choices[next]);
      if (!done.insert(sizes).second)
        continue;
      Settings settings = layer.settingsFor(sizes);
      settings.grad = true;
      settings.passes = "default";
      auto program = compileModel(*model, settings);
      ASSERT_TRUE(program) << program.status().message();
      const IdWidth ids = members.size() % 2 == 0 ? IdWidth::Fitting : IdWidth::Wide;
      auto added = batch.add(std::move(*program), graph().build(ids));
      ASSERT_TRUE(added) << shown(sizes) << ": " << added.status().message();
      settings.passes = "none";  // of the interpreter
      members.push_back({&layer, std::move(sizes), std::move(settings), ids, *added});
    }
    Status status = batch.compile({"-O1"});
    ASSERT_TRUE(status.isOk()) << status.message();
    for (const Member &member : members) {
      SCOPED_TRACE(shown(member.sizes));
      check(*model, member, batch);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CpuModelTest, testing::ValuesIn(files()), [](const auto &info) { return info.param; });

TEST(CpuModels, MeetEveryPairOfSizes) {
  std::set<std::pair<int, int>> widths, firsts, seconds;
  const std::vector<std::string> names = files();
  for (int number = 0; number < static_cast<int>(names.size()); ++number) {
    auto model = loadFile("models/" + names[number] + ".hec");
    ASSERT_TRUE(model) << model.status().message();
    const auto &sizes = model->signature.sizes;
    const auto numCounts =
        std::count_if(sizes.begin(), sizes.end(), [](const auto &size) { return isCount(size.name); });
    const auto numWidths = static_cast<int64_t>(sizes.size()) - numCounts;
    for (const Choice &choice : choicesFor(number)) {
      if (numWidths > 1)
        widths.insert({choice.first, choice.second});
      if (numCounts > 0)
        firsts.insert({choice.first, choice.count});
      if (numCounts > 0 && numWidths > 1)
        seconds.insert({choice.second, choice.count});
    }
  }
  EXPECT_EQ(widths.size(), kNumWidths * kNumWidths);
  EXPECT_EQ(firsts.size(), kNumWidths * kNumCounts);
  EXPECT_EQ(seconds.size(), kNumWidths * kNumCounts);
}

}  // namespace
}  // namespace hector::numerics
