/// Every file of models/ as CUDA kernels on the emulator, against the interpreter, with gradients. Widths and numbers
/// of heads differ from file to file; with HECTOR_ALL_SIZES=1 in the environment each file gets six of them.

#include "driver/Cuda.h"
#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"
#include "test/numerics/Layers.h"
#include "test/numerics/TestDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

constexpr int64_t kWidths[] = {17, 64, 3, 100, 1, 33};
constexpr int64_t kCounts[] = {3, 8, 1};

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const Layer &layer : layers())
    if (names.empty() || names.back() != layer.file)
      names.push_back(layer.file);
  return names;
}

/// Some nodes have many edges, so that chunks cut them.
const PlainGraph &graph() {
  static const PlainGraph made = [] {
    PlainGraph graph = randomGraph(5, 41, 3, 260, 4);
    for (int64_t i = 0; i < 700; ++i) {
      graph.src.push_back(i % 2 == 0 ? i % 41 : 7);
      graph.dst.push_back(i % 2 == 0 ? 11 : i * 3 % 41);
      graph.etype.push_back(3);
    }
    return graph;
  }();
  return made;
}

class CudaModelTest : public testing::TestWithParam<std::string> {};

TEST_P(CudaModelTest, GivesWhatTheInterpreterGives) {
  auto model = loadFile("models/" + GetParam() + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  const std::vector<std::string> names = files();
  const auto number = static_cast<size_t>(std::find(names.begin(), names.end(), GetParam()) - names.begin());
  const Layer &layer =
      *std::find_if(layers().begin(), layers().end(), [](const Layer &layer) { return layer.file == GetParam(); });
  const size_t numChoices = std::getenv("HECTOR_ALL_SIZES") ? std::size(kWidths) : 1;
  for (size_t choice = number; choice < number + numChoices; ++choice) {
    std::map<std::string, int64_t> sizes = layer.sizesFor(
        *model, [&](int i) { return kWidths[(choice + static_cast<size_t>(i)) % std::size(kWidths)]; },
        kCounts[choice % std::size(kCounts)]);
    SCOPED_TRACE(shown(sizes));
    Settings settings = layer.settingsFor(sizes);
    settings.grad = true;
    settings.passes = "none";
    Tables arguments = layerInputs(*model, settings, graph(), 100);
    // Numbers as networks have them, so that results are of the same size at any width.
    for (const language::InputDecl &input : model->signature.inputs) {
      Table &table = arguments.at(input.name);
      if (input.home == language::Home::Node || input.home == language::Home::Edge || table.shape.empty())
        continue;
      const double width = static_cast<double>(table.shape[std::max<size_t>(table.shape.size(), 2) - 2]);
      for (double &value : table.values)
        value /= std::sqrt(width);
    }
    Tables weights = layer.formula(graph(), {arguments, sizes});
    std::mt19937_64 random(17);
    std::normal_distribution<double> normal;
    for (auto &[name, table] : weights) {
      for (double &value : table.values)
        value = normal(random);
      arguments["grad." + name] = table;
    }
    auto expected = runModel(*model, settings, graph(), arguments);
    ASSERT_TRUE(expected) << expected.status().message();

    auto binding = bindAll(*model, settings);
    ASSERT_TRUE(binding) << binding.status().message();
    auto program =
        Program::import(*model, *binding, {.numbers = NumberType::F64, .gradients = std::vector<std::string>()});
    ASSERT_TRUE(program) << program.status().message();
    const Graph built = graph().build();
    auto planned = planForDevice(*program, built);
    ASSERT_TRUE(planned) << planned.status().message();
    DeviceOptions options;
    options.exec.poison = true;
    auto results = runOnDevice(*planned, built, toTensors(*planned->plan, arguments), testDevice(), options);
    ASSERT_TRUE(results) << results.status().message();
    expectClose(toTables(*planned->plan, *results), *expected, 1e-9, 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaModelTest, testing::ValuesIn(files()),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
