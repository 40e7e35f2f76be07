/// Plans for GPUs that went through a file, on the emulator or on a GPU (`testDevice`): golden cases with their
/// gradients, one plan on many graphs, and files that are damaged.

#include "driver/Arguments.h"
#include "driver/Cuda.h"
#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"
#include "test/numerics/TestDevice.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

/// Compiles a plan for the test's device, writes it to a file and reads it again. The emulator runs the source.
Result<exec::SavedPlan> throughFile(std::shared_ptr<const exec::Plan> plan, exec::PlanOrigin origin,
                                    const std::string &path) {
  const int architecture = testDevice().info().architecture;
  const std::vector<int> architectures = architecture > 0 ? std::vector<int>{architecture} : std::vector<int>();
  origin.backend = exec::kCuda;
  auto saved = compileCudaPlan(plan, std::move(origin), architectures);
  if (!saved)
    return saved;
  if (Status status = exec::writePlanFile(path, *saved); !status.isOk())
    return status;
  auto read = exec::readPlanFile(path);
  EXPECT_TRUE(read && *read->plan == *plan);
  return read;
}

Result<std::vector<NamedTensor>> runSaved(const exec::SavedPlan &saved, const Graph &graph, const Tensors &tensors) {
  // None is needed: on a GPU, the code is in the file.
  Setting none("HECTOR_NVRTC", "/nonexistent");
  auto loaded = loadSavedPlan(saved, exec::needsWideIds(graph), testDevice());
  if (!loaded)
    return loaded.status();
  auto arguments = bindTensors(argumentsOf(*loaded->plan, graph), tensors);
  if (!arguments)
    return arguments;
  DeviceOptions options;
  options.exec.poison = true;
  return runPlan(loaded->plan, loaded->program, testDevice(), graph, *arguments, options);
}

class CudaSavedGoldenTest : public FolderTest, public testing::WithParamInterface<std::string> {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    if (!hasGolden(GetParam()))
      GTEST_SKIP() << "there is no " << goldenPath(GetParam());
    auto loaded = loadGolden(GetParam(), "test/golden/" + GetParam() + ".hec");
    ASSERT_TRUE(loaded) << loaded.status().message();
    golden.emplace(std::move(*loaded));
    auto program = Program::import(golden->model, golden->binding, {.gradients = std::vector<std::string>()});
    ASSERT_TRUE(program) << program.status().message();
    Status status = program->attachGraph(golden->bound.graph);
    ASSERT_TRUE(status.isOk()) << status.message();
    auto planned = planForDevice(*program, golden->bound.graph);
    ASSERT_TRUE(planned) << planned.status().message();
    auto read = throughFile(planned->plan, originOf(golden->model, golden->binding), path("golden.plan"));
    ASSERT_TRUE(read) << read.status().message();
    saved = std::move(*read);
  }

  std::optional<Golden> golden;
  exec::SavedPlan saved;
};

TEST_P(CudaSavedGoldenTest, GivesTheStoredNumbers) {
  auto results = runSaved(saved, golden->bound.graph, golden->bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  auto [actual, expected] = golden->compared(*results);
  EXPECT_GT(actual.size(), 1u);  // gradients as well
  expectClose(actual, expected, 1e-4);
}

TEST_P(CudaSavedGoldenTest, DamageIsFound) {
  const std::string file = contents(path("golden.plan"));
  auto isRefused = [](const std::string &bytes) {
    return !exec::parsePlanFile(std::as_bytes(std::span(bytes)), "golden.plan", nullptr);
  };
  EXPECT_FALSE(isRefused(file));
  constexpr size_t kParts = 64;
  for (size_t i = 0; i < kParts; ++i) {
    const size_t place = file.size() * i / kParts;
    EXPECT_TRUE(isRefused(file.substr(0, place))) << place;
    std::string flipped = file;
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << i % 8));
    EXPECT_TRUE(isRefused(flipped)) << place;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CudaSavedGoldenTest, testing::ValuesIn(goldenNames()),
                         [](const auto &info) { return info.param; });

class CudaManyGraphsTest : public FolderTest, public testing::WithParamInterface<std::string> {};

TEST_P(CudaManyGraphsTest, OnePlanServesAll) {
  auto model = loadFile("models/" + GetParam() + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  Settings settings;
  settings.grad = true;
  for (const language::SizeDecl &size : model->signature.sizes)
    settings.sizes.push_back(size.name + "=6");
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  auto program =
      Program::import(*model, *binding, {.numbers = NumberType::F64, .gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();
  const Graph first = randomGraph(1, 60, 3, 400, 5).build();
  Status status = program->attachGraph(first);
  ASSERT_TRUE(status.isOk()) << status.message();
  auto planned = planForDevice(*program, first);
  ASSERT_TRUE(planned) << planned.status().message();
  auto saved = throughFile(planned->plan, originOf(*model, *binding), path("many.plan"));
  ASSERT_TRUE(saved) << saved.status().message();

  for (const PlainGraph &graph : unkindGraphs()) {
    SCOPED_TRACE(graph.name);
    Tables inputs = randomInputs(*model, *binding, graph, 7);
    inputs["grad.out"] = inputs.at("x");
    auto expected = runModel(*model, settings, graph, inputs);
    ASSERT_TRUE(expected) << expected.status().message();
    auto results = runSaved(*saved, graph.build(), toTensors(*saved->plan, inputs));
    ASSERT_TRUE(results) << results.status().message();
    expectClose(toTables(*saved->plan, *results), *expected, 1e-9, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaManyGraphsTest, testing::Values("rgcn", "rgat", "hgt"),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
