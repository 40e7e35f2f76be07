/// The smallest models that CUDA kernels once computed wrongly, on the emulator, against the interpreter.

#include "driver/Cuda.h"
#include "runtime/device/EmulatedDevice.h"
#include "test/numerics/CpuBatch.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hector::numerics {
namespace {

void expectInterpretersResults(const std::string &text) {
  auto model = parseModel(text);
  ASSERT_TRUE(model) << model.status().message();
  const PlainGraph graph = randomGraph(1, 5, 2, 12, 3);
  const Settings settings;
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  const Tables inputs = randomInputs(*model, *binding, graph, 1);
  auto expected = runModel(*model, settings, graph, inputs);
  ASSERT_TRUE(expected) << expected.status().message();

  auto program = Program::import(*model, *binding, {.numbers = NumberType::F64, .gradients = std::nullopt});
  ASSERT_TRUE(program) << program.status().message();
  const Graph built = graph.build();
  auto planned = planForDevice(*program, built);
  ASSERT_TRUE(planned) << planned.status().message();
  auto device = createEmulatedDevice();
  DeviceOptions options;
  options.exec.poison = true;
  auto results = runOnDevice(*planned, built, toTensors(*planned->plan, inputs), *device, options);
  ASSERT_TRUE(results) << results.status().message();
  expectClose(toTables(*planned->plan, *results), *expected, 1e-12);
}

// The place in the whole, such as k + 12, is a sum of which remainders are taken.
TEST(CudaSmallTest, ReadsAPartOfATransposedMatrix) {
  expectInterpretersResults(R"(
def m(g, W: Shared[2, 3, 4]):
    one = exp(transpose(W)[1])
    return one
)");
}

}  // namespace
}  // namespace hector::numerics
