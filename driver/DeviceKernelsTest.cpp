#include "driver/Arguments.h"
#include "driver/Cuda.h"
#include "driver/Kernels.h"
#include "driver/TestLayer.h"
#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hector {
namespace {

/// The layer of TestLayer.h as a saved plan for GPUs, on stand-ins for the driver and NVRTC. The GPU has sm_90; the
/// cubin of a source is its text and its flags.
class DeviceKernelsTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    cache.emplace("HECTOR_CACHE", path("cache").c_str());
    nvrtc.emplace("HECTOR_NVRTC", HECTOR_FAKE_NVRTC);
    runs.emplace("FAKE_NVRTC_RUNS", path("runs").c_str());
    void *handle = dlopen(HECTOR_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    fail = reinterpret_cast<void (*)(const char *, int)>(dlsym(handle, "fakeCudaFail"));
    loaded = reinterpret_cast<const char *(*)()>(dlsym(handle, "fakeCudaLoaded"));
    fail("", 0);

    auto bound = bindCase(layerCase(), model.signature, binding);
    ASSERT_TRUE(bound) << bound.status().message();
    inputs.emplace(std::move(*bound));
    auto program = Program::import(model, binding, {});
    ASSERT_TRUE(program) << program.status().message();
    ASSERT_TRUE(program->attachGraph(inputs->graph).isOk());
    auto planned = planForDevice(*program, inputs->graph);
    ASSERT_TRUE(planned) << planned.status().message();
    plan = planned->plan;
  }

  /// The plan with code for some architectures.
  Result<exec::SavedPlan> compile(const std::vector<int> &architectures, const NoteReason &onNoCode = {}) {
    exec::PlanOrigin origin = originOf(model, binding);
    origin.backend = exec::kCuda;
    origin.numbers = "f32";
    origin.passes = "default";
    return compileCudaPlan(plan, std::move(origin), architectures, {}, onNoCode);
  }
  exec::SavedPlan compiled(const std::vector<int> &architectures = {90}) {
    auto saved = compile(architectures);
    EXPECT_TRUE(saved) << saved.status().message();
    return std::move(saved).take();
  }

  /// Loads a plan onto the GPU: what was said of its code.
  std::string load(const exec::SavedPlan &saved, bool wideIds = false) {
    auto device = createCudaDevice(HECTOR_FAKE_CUDA);
    EXPECT_TRUE(device) << device.status().message();
    std::string said;
    auto ready = loadSavedPlan(saved, wideIds, **device, {}, [&](const std::string &why) { said += why; });
    return ready ? said : ready.status().message();
  }

  /// How often NVRTC's stand-in was run.
  int64_t numRuns() const {
    const std::string text = contents(path("runs"));
    return std::count(text.begin(), text.end(), '\n');
  }

  Model model = layer();
  language::Binding binding;
  std::optional<Case> inputs;
  std::shared_ptr<const exec::Plan> plan;
  void (*fail)(const char *function, int error) = nullptr;
  const char *(*loaded)() = nullptr;

private:
  std::optional<Setting> cache, nvrtc, runs;
};

constexpr const char *kNoCompiler =
    "; and it cannot be made again: HECTOR_NVRTC is `/nonexistent`, and NVRTC is not there (/nonexistent: cannot open "
    "shared object file: No such file or directory); expected the path of libnvrtc.so or of its folder\n"
    "   help: make the plan again, where there is NVRTC, with\n"
    "         hector compile layer.hec --entry layer --size d=2 --size k=1 --backend cuda --arch sm_90 -o FILE";

TEST_F(DeviceKernelsTest, CodeThatFitsNeedsNoCompiler) {
  ASSERT_TRUE(exec::writePlanFile(path("layer.plan"), compiled({90, 80})).isOk());
  EXPECT_EQ(numRuns(), 2);
  auto saved = exec::readPlanFile(path("layer.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  EXPECT_TRUE(*saved->plan == *plan);
  EXPECT_EQ(saved->made.compiler, "NVRTC 99.1");
  Setting none("HECTOR_NVRTC", "/nonexistent"), nowhere("HECTOR_CACHE", path("other").c_str());
  EXPECT_EQ(load(*saved), "");
  EXPECT_NE(std::string(loaded()).find("--gpu-architecture=sm_90\n"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(DeviceKernelsTest, CodeFitsLaterGpusOfItsMajorVersion) {
  const exec::SavedPlan saved = compiled({80, 90});
  auto why = [&](int architecture) { return whyStale(saved, {.name = "GPU", .architecture = architecture}); };
  EXPECT_EQ(why(80), "");
  EXPECT_EQ(why(89), "");
  EXPECT_EQ(why(90), "");
  EXPECT_EQ(why(75), "it is for sm_80, sm_90, and the GPU is GPU (sm_75)");
  EXPECT_EQ(why(100), "it is for sm_80, sm_90, and the GPU is GPU (sm_100)");
  EXPECT_EQ(why(0), "it is for sm_80, sm_90, and the GPU is GPU");
}

TEST_F(DeviceKernelsTest, CodeForAnotherGpuIsMadeAgain) {
  const exec::SavedPlan saved = compiled({80});
  const std::string why = "it is for sm_80, and the GPU is Fake (sm_90)";
  EXPECT_EQ(load(saved), why);
  EXPECT_EQ(numRuns(), 2);
  EXPECT_NE(std::string(loaded()).find("--gpu-architecture=sm_90\n"), std::string::npos);
  Setting none("HECTOR_NVRTC", "/nonexistent");
  EXPECT_EQ(load(saved), "the code of the plan cannot be used: " + why + kNoCompiler);
}

TEST_F(DeviceKernelsTest, CodeOfAnotherVersionOrBuildIsMadeAgain) {
  exec::SavedPlan other = compiled();
  other.made.version = "0.0.1";
  EXPECT_EQ(load(other), "it was made by Hector 0.0.1, and this is 0.1.0");
  other = compiled();
  other.made.headers = "0123";
  EXPECT_EQ(load(other), "it was made by another build of Hector 0.1.0, with other headers");
  other = compiled();
  other.made.flags.push_back("--use_fast_math");
  EXPECT_EQ(load(other), "it was made by another build of Hector 0.1.0, which has other flags for the compiler");
}

TEST_F(DeviceKernelsTest, CodeForIdsOfAnotherWidthIsMadeAgain) {
  EXPECT_EQ(load(compiled(), true), "it is for ids of 32 bits, and those of the graph have 64");
  EXPECT_NE(std::string(loaded()).find("\nusing Id = int64_t;\n"), std::string::npos);
}

TEST_F(DeviceKernelsTest, CodeThatTheDriverRefusesIsMadeAgain) {
  fail("cuModuleLoadData", 222);
  const std::string refusal =
      "the code of layer cannot be loaded: CUDA_ERROR_OTHER: as the test asked (Fake, driver for CUDA 13.2)";
  EXPECT_TRUE(load(compiled())
                  .starts_with("the code of the plan cannot be used: " + refusal +
                               "; and it cannot be made again: " + refusal + "; it was compiled by NVRTC "))
      << load(compiled());
}

TEST_F(DeviceKernelsTest, PlansAreMadeWithoutNvrtc) {
  std::optional<exec::SavedPlan> saved;
  {
    Setting none("HECTOR_NVRTC", "/nonexistent");
    std::string said;
    auto made = compile({90}, [&](const std::string &why) { said += why; });
    ASSERT_TRUE(made) << made.status().message();
    EXPECT_TRUE(said.starts_with("HECTOR_NVRTC is `/nonexistent`, and NVRTC is not there")) << said;
    EXPECT_TRUE(made->cubins.empty());
    saved.emplace(std::move(*made));
    EXPECT_EQ(load(*saved),
              std::string("the code of the plan cannot be used: there was no NVRTC when the plan was made") +
                  kNoCompiler);
  }
  EXPECT_EQ(load(*saved), "there was no NVRTC when the plan was made");
}

TEST_F(DeviceKernelsTest, GpusThatNvrtcDoesNotKnowAreRefused) {
  auto saved = compile({80, 95});
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.status().message(), "NVRTC 99.1 does not compile for sm_95, only for sm_80, sm_90");
}

TEST_F(DeviceKernelsTest, RunsWhereAGpuIsEmulated) {
  auto device = createEmulatedDevice();
  std::string said;
  auto ready = loadSavedPlan(compiled(), false, *device, {}, [&](const std::string &why) { said += why; });
  ASSERT_TRUE(ready) << ready.status().message();
  EXPECT_EQ(said, "it is for sm_90, and the GPU is emulated");
  auto arguments = bindTensors(argumentsOf(*ready->plan, inputs->graph), inputs->tensors);
  ASSERT_TRUE(arguments) << arguments.status().message();
  auto results = runPlan(ready->plan, ready->program, *device, inputs->graph, *arguments);
  ASSERT_TRUE(results) << results.status().message();
  EXPECT_EQ(results->front().tensor.toDoubles(), (std::vector<double>{0.5, 6521.5, 0.5}));
}

}  // namespace
}  // namespace hector
