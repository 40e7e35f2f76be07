/// Stands in for NVRTC in tests. The cubin of a source is its text and its flags; a source with the word `wrong` is
/// refused. FAKE_NVRTC_RUNS names a file that gets a line per compilation.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Program {
  std::string text, log, cubin;
};

int copy(const std::string &from, char *to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
  *major = 99;
  *minor = 1;
  return 0;
}

const char *nvrtcGetErrorString(int error) {
  return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR unknown";
}

int nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return 0;
}
int nvrtcGetSupportedArchs(int *architectures) {
  architectures[0] = 90;
  architectures[1] = 80;
  return 0;
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int numHeaders, const char *const *headers,
                       const char *const *includeNames) {
  auto *made = new Program{std::string(name) + "\n" + source, "", ""};
  for (int i = 0; i < numHeaders; ++i)
    made->text += std::string(includeNames[i]) + "\n" + headers[i];
  *program = made;
  return 0;
}

int nvrtcDestroyProgram(void **program) {
  delete static_cast<Program *>(*program);
  *program = nullptr;
  return 0;
}

int nvrtcCompileProgram(void *handle, int numOptions, const char *const *options) {
  auto *program = static_cast<Program *>(handle);
  if (const char *runs = std::getenv("FAKE_NVRTC_RUNS"))
    if (std::FILE *file = std::fopen(runs, "a")) {
      std::fputs("run\n", file);
      std::fclose(file);
    }
  if (program->text.find("wrong") != std::string::npos) {
    for (int line = 1; line <= 4; ++line)
      program->log += "model.cu(" + std::to_string(line) + "): error: identifier \"wrong\" is undefined\n" +
                      "    x = wrong;\n        ^\n\n";
    program->log += "4 errors detected in the compilation of \"model.cu\".\n";
    return 6;
  }
  program->cubin = program->text;
  for (int i = 0; i < numOptions; ++i)
    program->cubin += std::string(options[i]) + "\n";
  return 0;
}

int nvrtcGetProgramLogSize(void *program, size_t *size) {
  *size = static_cast<Program *>(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void *program, char *log) {
  return copy(static_cast<Program *>(program)->log, log);
}
int nvrtcGetCUBINSize(void *program, size_t *size) {
  *size = static_cast<Program *>(program)->cubin.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(void *program, char *cubin) {
  return copy(static_cast<Program *>(program)->cubin, cubin);
}
}
