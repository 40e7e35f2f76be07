/// Generated kernels of all files of models/, compiled for GPUs where CUDA's compiler library is installed.

#include "driver/Cuda.h"
#include "kernels/Headers.h"
#include "runtime/device/Nvrtc.h"
#include "test/numerics/Harness.h"
#include "test/numerics/Layers.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hector::numerics {
namespace {

struct Compiled {
  std::string file;
  int architecture;
};

/// Each file for one architecture, and one file for all.
std::vector<Compiled> all() {
  std::vector<Compiled> list;
  for (const Layer &layer : layers())
    if (list.empty() || list.back().file != layer.file)
      list.push_back({layer.file, 90});
  for (int architecture : {80, 89, 100})
    list.push_back({"rgat_heads", architecture});
  return list;
}

class CudaCompileTest : public testing::TestWithParam<Compiled> {};

TEST_P(CudaCompileTest, HasNoWarnings) {
  auto nvrtc = Nvrtc::find();
  if (!nvrtc)
    GTEST_SKIP() << "nothing is compiled for a GPU: " << nvrtc.status().message();
  auto model = loadFile("models/" + GetParam().file + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  const Layer *layer = nullptr;
  for (const Layer &candidate : layers())
    if (candidate.file == GetParam().file)
      layer = &candidate;
  Settings settings = layer->settingsFor(layer->sizesFor(*model, [](int) { return 64; }, 4));
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  auto program =
      Program::import(*model, *binding, {.numbers = NumberType::F32, .gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();
  auto planned = planForDevice(*program, randomGraph(1, 10, 2, 20, 2).build());
  ASSERT_TRUE(planned) << planned.status().message();
  CodeRequest request = {
      {GetParam().file + ".cu", planned->plan->source}, {}, cudaFlags(GetParam().architecture), GetParam().file};
  for (const EmbeddedFile &header : cudaHeaders())
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  const Nvrtc::Output output = nvrtc->compile(request);
  EXPECT_EQ(output.error, 0) << output.errorName;
  EXPECT_EQ(output.log, "");
  EXPECT_NE(output.cubin, "");
}

INSTANTIATE_TEST_SUITE_P(Models, CudaCompileTest, testing::ValuesIn(all()), [](const auto &info) {
  return info.param.file + "_sm" + std::to_string(info.param.architecture);
});

}  // namespace
}  // namespace hector::numerics
