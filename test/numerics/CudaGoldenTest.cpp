/// Golden cases with their gradients as CUDA kernels, on the emulator or on a GPU (`testDevice`).

#include "driver/Cuda.h"
#include "test/numerics/Harness.h"
#include "test/numerics/TestDevice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hector::numerics {
namespace {

class CudaGoldenTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!hasGolden(GetParam()))
      GTEST_SKIP() << "there is no " << goldenPath(GetParam());
    auto loaded = loadGolden(GetParam(), "test/golden/" + GetParam() + ".hec");
    ASSERT_TRUE(loaded) << loaded.status().message();
    golden.emplace(std::move(*loaded));
  }

  /// The case on the device: what was computed, and what is stored.
  std::pair<Tables, Tables> compute(NumberType numbers) {
    auto program =
        Program::import(golden->model, golden->binding, {.numbers = numbers, .gradients = std::vector<std::string>()});
    EXPECT_TRUE(program) << program.status().message();
    Status status = program->attachGraph(golden->bound.graph);
    EXPECT_TRUE(status.isOk()) << status.message();
    auto planned = planForDevice(*program, golden->bound.graph);
    EXPECT_TRUE(planned) << planned.status().message();
    DeviceOptions options;
    options.exec.poison = true;
    auto results = runOnDevice(*planned, golden->bound.graph, golden->bound.tensors, testDevice(), options);
    EXPECT_TRUE(results) << results.status().message();
    return golden->compared(*results);
  }

  std::optional<Golden> golden;
};

TEST_P(CudaGoldenTest, GivesTheStoredNumbersInF64) {
  auto [actual, expected] = compute(NumberType::F64);
  expectClose(actual, expected, 1e-9);
}

TEST_P(CudaGoldenTest, GivesTheStoredNumbersInF32) {
  auto [actual, expected] = compute(NumberType::F32);
  expectClose(actual, expected, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Golden, CudaGoldenTest, testing::ValuesIn(goldenNames()),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
