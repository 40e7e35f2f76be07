/// Compiles the headers as they are compiled for a GPU, where CUDA's compiler library is installed.

#include "runtime/device/Nvrtc.h"

#include "kernels/Headers.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace hector {
namespace {

CodeRequest everythingFor(int architecture) {
  std::ifstream file(HECTOR_SOURCE_DIR "/kernels/cuda/Everything.cu");
  std::ostringstream text;
  text << file.rdbuf();
  CodeRequest request = {{"Everything.cu", text.str()}, {}, cudaFlags(architecture), "everything"};
  for (const EmbeddedFile &header : cudaHeaders())
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  return request;
}

class CompiledForGpu : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Sm, CompiledForGpu, testing::Values(80, 89, 90, 100),
                         [](const auto &info) { return std::to_string(info.param); });

TEST_P(CompiledForGpu, EverythingThatKernelsAreWrittenWith) {
  auto nvrtc = Nvrtc::find();
  if (!nvrtc)
    GTEST_SKIP() << "the headers are not compiled for a GPU: " << nvrtc.status().message();
  const Nvrtc::Output output = nvrtc->compile(everythingFor(GetParam()));
  EXPECT_EQ(output.error, 0) << output.errorName;
  EXPECT_EQ(output.log, "");  // no warnings
  EXPECT_NE(output.cubin, "");
}

}  // namespace
}  // namespace hector
