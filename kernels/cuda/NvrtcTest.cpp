/// Compiles the headers as they are compiled for a GPU, where CUDA's compiler library is installed.

#include "kernels/Headers.h"

#include <gtest/gtest.h>

#include <array>
#include <dlfcn.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace hector {
namespace {

/// What the tests need of libnvrtc, which is opened at run time.
struct Nvrtc {
  using Program = struct OpaqueProgram *;
  int (*create)(Program *, const char *source, const char *name, int count, const char *const *texts,
                const char *const *names) = nullptr;
  int (*compile)(Program, int count, const char *const *options) = nullptr;
  int (*logSize)(Program, size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*codeSize)(Program, size_t *) = nullptr;
  int (*destroy)(Program *) = nullptr;

  /// False where the library is absent.
  bool open() {
    for (const char *name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"})
      if (void *library = dlopen(name, RTLD_NOW)) {
        find(library, "nvrtcCreateProgram", create);
        find(library, "nvrtcCompileProgram", compile);
        find(library, "nvrtcGetProgramLogSize", logSize);
        find(library, "nvrtcGetProgramLog", log);
        find(library, "nvrtcGetCUBINSize", codeSize);
        find(library, "nvrtcDestroyProgram", destroy);
        return create && compile && logSize && log && codeSize && destroy;
      }
    return false;
  }

private:
  template <class F> static void find(void *library, const char *name, F &function) {
    function = reinterpret_cast<F>(dlsym(library, name));
  }
};

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class CompiledForGpu : public testing::TestWithParam<const char *> {};

INSTANTIATE_TEST_SUITE_P(Of, CompiledForGpu, testing::Values("sm_80", "sm_89", "sm_90", "sm_100"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(CompiledForGpu, EverythingThatKernelsAreWrittenWith) {
  Nvrtc nvrtc;
  if (!nvrtc.open())
    GTEST_SKIP() << "CUDA's compiler library (libnvrtc) is absent: the headers are not compiled for a GPU";
  std::vector<std::string> texts, names;
  for (const EmbeddedFile &file : cudaHeaders()) {
    texts.emplace_back(file.text);
    names.emplace_back(file.name);
  }
  std::vector<const char *> textPointers, namePointers;
  for (size_t i = 0; i < texts.size(); ++i) {
    textPointers.push_back(texts[i].c_str());
    namePointers.push_back(names[i].c_str());
  }
  const std::string source = textOf(HECTOR_SOURCE_DIR "/kernels/cuda/Everything.cu");
  Nvrtc::Program program = nullptr;
  ASSERT_EQ(nvrtc.create(&program, source.c_str(), "Everything.cu", static_cast<int>(texts.size()), textPointers.data(),
                         namePointers.data()),
            0);
  const std::string target = std::string("-arch=") + GetParam();
  const std::array<const char *, 3> options = {target.c_str(), "--std=c++20", "--fmad=false"};
  const int result = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  size_t logSize = 0, codeSize = 0;
  nvrtc.logSize(program, &logSize);
  std::vector<char> log(logSize + 1, '\0');
  nvrtc.log(program, log.data());
  EXPECT_EQ(result, 0);
  EXPECT_EQ(std::string(log.data()), "");  // no warnings
  nvrtc.codeSize(program, &codeSize);
  EXPECT_GT(codeSize, 0u);
  nvrtc.destroy(&program);
}

}  // namespace
}  // namespace hector
