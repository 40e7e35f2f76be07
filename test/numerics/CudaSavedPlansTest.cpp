/// Plans for GPUs that went through a file: golden cases with their gradients, on the emulator or on a GPU
/// (`testDevice`), and files that are damaged.

#include "driver/Arguments.h"
#include "driver/Cuda.h"
#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
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

class CudaSavedPlansTest : public FolderTest, public testing::WithParamInterface<std::string> {
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
    plan = planned->plan;

    exec::PlanOrigin origin = originOf(golden->model, golden->binding);
    origin.backend = exec::kCuda;
    auto saved = compileCudaPlan(plan, std::move(origin), architectures());
    ASSERT_TRUE(saved) << saved.status().message();
    status = exec::writePlanFile(path("golden.plan"), *saved);
    ASSERT_TRUE(status.isOk()) << status.message();
  }

  /// That of the GPU. The emulator runs the source.
  static std::vector<int> architectures() {
    const int architecture = testDevice().info().architecture;
    return architecture > 0 ? std::vector<int>{architecture} : std::vector<int>();
  }

  std::optional<Golden> golden;
  std::shared_ptr<const exec::Plan> plan;
};

TEST_P(CudaSavedPlansTest, GiveTheStoredNumbers) {
  auto saved = exec::readPlanFile(path("golden.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  EXPECT_TRUE(*saved->plan == *plan);
  // None is needed: on a GPU, the code is in the file.
  Setting none("HECTOR_NVRTC", "/nonexistent");
  const Graph &graph = golden->bound.graph;
  auto loaded = loadSavedPlan(*saved, exec::needsWideIds(graph), testDevice());
  ASSERT_TRUE(loaded) << loaded.status().message();
  auto arguments = bindTensors(argumentsOf(*loaded->plan, graph), golden->bound.tensors);
  ASSERT_TRUE(arguments) << arguments.status().message();
  DeviceOptions options;
  options.exec.poison = true;
  auto results = runPlan(loaded->plan, loaded->program, testDevice(), graph, *arguments, options);
  ASSERT_TRUE(results) << results.status().message();
  auto [actual, expected] = golden->compared(*results);
  EXPECT_GT(actual.size(), 1u);  // gradients as well
  expectClose(actual, expected, 1e-4);
}

TEST_P(CudaSavedPlansTest, DamageIsFound) {
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

INSTANTIATE_TEST_SUITE_P(Golden, CudaSavedPlansTest, testing::ValuesIn(goldenNames()),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
