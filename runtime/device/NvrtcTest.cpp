#include "runtime/device/Nvrtc.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "runtime/jit/Cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

using namespace hector;
namespace fs = std::filesystem;

namespace {

std::string textOf(const CompiledCode &code) {
  return {reinterpret_cast<const char *>(code.bytes.data()), code.bytes.size()};
}

/// With a cache of its own.
class NvrtcTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    cache.emplace("HECTOR_CACHE", path("cache").c_str());
    runs.emplace("FAKE_NVRTC_RUNS", path("runs").c_str());
    given.emplace("HECTOR_NVRTC", nullptr);
  }
  /// How often NVRTC's stand-in was run.
  int64_t numRuns() const {
    const std::string text = contents(path("runs"));
    return std::count(text.begin(), text.end(), '\n');
  }
  /// Puts the stand-in somewhere in the test's folder.
  std::string place(const std::string &name) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::copy_file(HECTOR_FAKE_NVRTC, path(name));
    return path(name);
  }
  static CodeRequest request(const std::string &body = "x[0] = kAnswer;") {
    return {{"model.cu", "#include \"kernels/cuda/answer.cuh\"\n"
                         "extern \"C\" __global__ void answer(float *x) {\n  " +
                             body + "\n}\n"},
            {{"kernels/cuda/answer.cuh", "constexpr float kAnswer = 42;\n"}},
            cudaFlags(90),
            "model"};
  }
  static Nvrtc fake() { return *Nvrtc::open(HECTOR_FAKE_NVRTC); }

private:
  std::optional<Setting> cache, runs, given;
};

// With NVIDIA's own.

class RealNvrtcTest : public NvrtcTest {
protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    auto found = Nvrtc::find();
    if (!found)
      GTEST_SKIP() << found.status().message();
    nvrtc.emplace(std::move(*found));
  }
  std::optional<Nvrtc> nvrtc;
};

TEST_F(RealNvrtcTest, MakesACubin) {
  auto code = compileCuda(request(), *nvrtc);
  ASSERT_TRUE(code) << code.status().message();
  EXPECT_EQ(textOf(*code).substr(0, 4), "\x7f"
                                        "ELF");
  EXPECT_NE(textOf(*code).find("answer"), std::string::npos);
  EXPECT_TRUE(code->path.ends_with(".cubin"));
}

TEST_F(RealNvrtcTest, ProductsAndSumsAreFusedOnlyOnDemand) {
  CodeRequest fused = request("x[0] = x[1] * x[2] + x[3];"), apart = fused;
  fused.flags = cudaFlags(90, true);
  const Nvrtc::Output a = nvrtc->compile(fused), b = nvrtc->compile(apart);
  ASSERT_EQ(a.errorName + b.errorName, "");
  EXPECT_NE(a.cubin, b.cubin);
}

TEST_F(RealNvrtcTest, ErrorsAreShownWithTheirLines) {
  auto code = compileCuda(request("x[0] = question;"), *nvrtc);
  ASSERT_FALSE(code);
  const std::string message = code.status().message();
  EXPECT_TRUE(message.starts_with(nvrtc->title() + " could not compile the code of model (NVRTC_ERROR_COMPILATION)\n"))
      << message;
  EXPECT_NE(message.find("   model.cu(3): error: identifier \"question\" is undefined\n       x[0] = question;\n"),
            std::string::npos)
      << message;
}

TEST_F(RealNvrtcTest, SaysWhatItCompilesFor) {
  auto architectures = nvrtc->architectures();
  ASSERT_TRUE(architectures) << architectures.status().message();
  EXPECT_TRUE(std::is_sorted(architectures->begin(), architectures->end()));
  EXPECT_TRUE(std::binary_search(architectures->begin(), architectures->end(), 90));
}

TEST_F(RealNvrtcTest, AnArchitectureThatItDoesNotKnowIsAnError) {
  CodeRequest odd = request();
  odd.flags = cudaFlags(12);
  auto code = compileCuda(odd, *nvrtc);
  ASSERT_FALSE(code);
  EXPECT_NE(code.status().message().find("\n   nvrtc: error: invalid value for --gpu-architecture"), std::string::npos)
      << code.status().message();
}

// With a stand-in.

TEST_F(NvrtcTest, SourcesHeadersAndFlagsArriveAndCodeIsKept) {
  auto code = compileCuda(request(), fake());
  ASSERT_TRUE(code) << code.status().message();
  for (const char *part : {"model.cu\n#include", "kernels/cuda/answer.cuh\nconstexpr", "--gpu-architecture=sm_90\n",
                           "--fmad=false\n", "-std=c++20\n"})
    EXPECT_NE(textOf(*code).find(part), std::string::npos) << textOf(*code);
  auto again = compileCuda(request(), fake());
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(textOf(*again), textOf(*code));
  EXPECT_EQ(numRuns(), 1);
  auto state = cacheState();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->numGpuEntries, 1);
}

TEST_F(NvrtcTest, WhateverCodeDependsOnCompilesAgain) {
  CodeRequest source = request("x[0] = 1;"), header = request(), name = request(), architecture = request(),
              fused = request();
  header.headers[0].text += "\n";
  name.main.name = "other.cu";
  architecture.flags = cudaFlags(80);
  fused.flags = cudaFlags(90, true);
  int64_t expected = 0;
  for (const CodeRequest &changed : {request(), source, header, name, architecture, fused}) {
    ASSERT_TRUE(compileCuda(changed, fake()));
    EXPECT_EQ(numRuns(), ++expected);
  }
}

TEST_F(NvrtcTest, DamagedCodeIsCompiledAgain) {
  auto code = compileCuda(request(), fake());
  ASSERT_TRUE(code);
  std::ofstream(code->path, std::ios::binary | std::ios::in) << "damaged";
  auto again = compileCuda(request(), fake());
  ASSERT_TRUE(again);
  EXPECT_EQ(textOf(*again).substr(0, 8), "model.cu");
  EXPECT_EQ(numRuns(), 2);
}

TEST_F(NvrtcTest, TheFirstErrorsAreShownAndTheSourceIsKept) {
  auto code = compileCuda(request("wrong"), fake());
  ASSERT_FALSE(code);
  const std::string message = code.status().message();
  EXPECT_EQ(message.find("NVRTC 99.1 could not compile the code of model (NVRTC_ERROR_COMPILATION)\n"
                         "   model.cu(1): error: identifier \"wrong\" is undefined\n       x = wrong;\n           ^\n"),
            0u)
      << message;
  EXPECT_NE(message.find("           ^\n   and 1 more error\n   help: source and output of the compiler are in "),
            std::string::npos)
      << message;
  std::string failed;
  for (const auto &entry : fs::directory_iterator(path("cache/code")))
    if (entry.path().filename().string().starts_with("failed-"))
      failed = entry.path().string();
  EXPECT_EQ(contents(failed + "/source/model.cu"), request("wrong").main.text);
  EXPECT_TRUE(contents(failed + "/compiler.txt").starts_with("$ nvrtc --gpu-architecture=sm_90 "));
}

// Finding it.

TEST_F(NvrtcTest, ALibraryOrAFolderCanBeGiven) {
  const std::string library = place("own/libnvrtc.so.12");
  for (const std::string &given : {library, path("own")}) {
    Setting setting("HECTOR_NVRTC", given.c_str());
    auto nvrtc = Nvrtc::find();
    ASSERT_TRUE(nvrtc) << nvrtc.status().message();
    EXPECT_EQ(nvrtc->path(), library);
    EXPECT_EQ(nvrtc->title(), "NVRTC 99.1");
  }
}

TEST_F(NvrtcTest, AGivenLibraryIsTheOnlyOneTried) {
  for (const char *given : {"/nowhere/libnvrtc.so", "/"}) {
    Setting setting("HECTOR_NVRTC", given);
    auto nvrtc = Nvrtc::find();
    ASSERT_FALSE(nvrtc);
    EXPECT_EQ(nvrtc.status().blame(), Blame::User);
    EXPECT_TRUE(
        nvrtc.status().message().starts_with("HECTOR_NVRTC is `" + std::string(given) + "`, and NVRTC is not there"))
        << nvrtc.status().message();
  }
}

TEST_F(NvrtcTest, AnotherLibraryIsNotNvrtc) {
  auto nvrtc = Nvrtc::open(HECTOR_FAKE_CUDA);
  ASSERT_FALSE(nvrtc);
  EXPECT_NE(nvrtc.status().message().find(" is not NVRTC 12.1 or later: it has no function nvrtc"), std::string::npos)
      << nvrtc.status().message();
}

TEST_F(NvrtcTest, ToolkitsComeBeforeWheelsAndNewOnesFirst) {
  Setting environment("VIRTUAL_ENV", path("venv").c_str()), conda("CONDA_PREFIX", nullptr),
      home("HOME", path("home").c_str()), programs("PATH", path("python/bin").c_str());
  place("python/bin/python3");
  std::vector<std::string> expected = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  for (const char *name :
       {"usr/local/cuda/lib64/libnvrtc.so", "usr/local/cuda-13.0/lib64/libnvrtc.so.13",
        "usr/local/cuda-12.4/targets/x86_64-linux/lib/libnvrtc.so.12", "usr/local/cuda-9.2/lib64/libnvrtc.so.9",
        "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "python/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        "home/.local/lib/python3.9/site-packages/nvidia/cu13/lib/libnvrtc.so.13"})
    expected.push_back(place(name));
  place("usr/local/cuda/lib64/libnvrtc-builtins.so");
  const NvrtcPlaces places = nvrtcPlaces(path(""));
  EXPECT_EQ(places.libraries.size(), expected.size());
  for (size_t i = 0; i < std::min(places.libraries.size(), expected.size()); ++i)
    EXPECT_EQ(fs::path(places.libraries[i]).lexically_normal(), expected[i]);
  for (const char *part :
       {"the loader's path, ", "/usr/local/cuda-*/{lib64,targets/*/lib}, ", "/venv/lib/python3*/site-packages"})
    EXPECT_NE(places.description.find(part), std::string::npos) << places.description;
}

}  // namespace
