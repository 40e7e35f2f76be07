#include "runtime/device/Nvrtc.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Process.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <link.h>
#include <sstream>
#include <type_traits>

namespace hector {

namespace fs = std::filesystem;

// The library.

/// The part of NVRTC's interface (nvrtc.h) that is used here. Programs are opaque, results are 0 or an error.
struct Nvrtc::Functions {
  int (*version)(int *major, int *minor) = nullptr;
  const char *(*getErrorString)(int result) = nullptr;
  int (*getNumSupportedArchs)(int *count) = nullptr;
  int (*getSupportedArchs)(int *architectures) = nullptr;
  int (*createProgram)(void **program, const char *source, const char *name, int numHeaders, const char *const *headers,
                       const char *const *includeNames) = nullptr;
  int (*destroyProgram)(void **program) = nullptr;
  int (*compileProgram)(void *program, int numOptions, const char *const *options) = nullptr;
  int (*getProgramLogSize)(void *program, size_t *size) = nullptr;
  int (*getProgramLog)(void *program, char *log) = nullptr;
  int (*getCubinSize)(void *program, size_t *size) = nullptr;
  int (*getCubin)(void *program, char *cubin) = nullptr;
  int (*setFlowCallback)(void *program, int (*callback)(void *, void *), void *payload) = nullptr;  // may be missing
};

Result<Nvrtc> Nvrtc::open(const std::string &library) {
  // Never closed: what it has registered with the process may not survive that.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Status::failed(reason ? reason : library + ": cannot be loaded");
  }
  auto functions = std::make_shared<Functions>();
  const char *missing = nullptr;
  auto get = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (!function)
      missing = name;
  };
  get("nvrtcSetFlowCallback", functions->setFlowCallback);
  missing = nullptr;
  get("nvrtcVersion", functions->version);
  get("nvrtcGetErrorString", functions->getErrorString);
  get("nvrtcGetNumSupportedArchs", functions->getNumSupportedArchs);
  get("nvrtcGetSupportedArchs", functions->getSupportedArchs);
  get("nvrtcCreateProgram", functions->createProgram);
  get("nvrtcDestroyProgram", functions->destroyProgram);
  get("nvrtcCompileProgram", functions->compileProgram);
  get("nvrtcGetProgramLogSize", functions->getProgramLogSize);
  get("nvrtcGetProgramLog", functions->getProgramLog);
  get("nvrtcGetCUBINSize", functions->getCubinSize);
  get("nvrtcGetCUBIN", functions->getCubin);
  if (missing)
    return Status::failed(library + ": is not NVRTC 12.1 or later: it has no function " + missing);
  int major = 0, minor = 0;
  if (int error = functions->version(&major, &minor))
    return Status::failed(library + ": does not work: " + functions->getErrorString(error));
  // Kernels use instructions of PTX 8.1.
  if (major < 12 || (major == 12 && minor < 1))
    return Status::failed(library + ": is NVRTC " + std::to_string(major) + "." + std::to_string(minor) +
                          "; Hector needs 12.1 or later");
  link_map *map = nullptr;
  const bool isKnown = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0';
  return Nvrtc(std::move(functions), isKnown ? map->l_name : library,
               std::to_string(major) + "." + std::to_string(minor));
}

Result<std::vector<int>> Nvrtc::architectures() const {
  int count = 0;
  int error = functions->getNumSupportedArchs(&count);
  std::vector<int> found(static_cast<size_t>(std::max(count, 0)));
  if (!error)
    error = functions->getSupportedArchs(found.data());
  if (error)
    return Status::failed(title() + " does not say which GPUs it compiles for: " + functions->getErrorString(error));
  std::sort(found.begin(), found.end());
  return found;
}

Nvrtc::Output Nvrtc::compile(const CodeRequest &request) const {
  const Functions &f = *functions;
  Output output;
  auto check = [&](int error) {
    output.error = error;
    output.errorName = error ? f.getErrorString(error) : "";
    return error == 0;
  };
  std::vector<const char *> headers, names, flags;
  for (const CodeFile &header : request.headers) {
    headers.push_back(header.text.c_str());
    names.push_back(header.name.c_str());
  }
  for (const std::string &flag : request.flags)
    flags.push_back(flag.c_str());
  void *program = nullptr;
  if (!check(f.createProgram(&program, request.main.text.c_str(), request.main.name.c_str(),
                             static_cast<int>(headers.size()), headers.data(), names.data())))
    return output;
  if (f.setFlowCallback)
    (void)f.setFlowCallback(program, [](void *, void *) { return interruptSignal() ? 1 : 0; }, nullptr);
  const bool isCompiled = check(f.compileProgram(program, static_cast<int>(flags.size()), flags.data()));
  size_t size = 0;
  if (f.getProgramLogSize(program, &size) == 0 && size > 1) {
    output.log.resize(size);
    (void)f.getProgramLog(program, output.log.data());
    output.log.resize(std::strlen(output.log.c_str()));
  }
  if (isCompiled && check(f.getCubinSize(program, &size))) {
    output.cubin.resize(size);
    check(f.getCubin(program, output.cubin.data()));
  }
  (void)f.destroyProgram(&program);
  return output;
}

// Finding it.

namespace {

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The paths that a pattern with wildcards matches, the highest version first.
std::vector<std::string> matches(const std::string &pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT | GLOB_BRACE, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::sort(paths.begin(), paths.end(),
            [](const std::string &a, const std::string &b) { return ::strverscmp(a.c_str(), b.c_str()) > 0; });
  return paths;
}

/// The folder above the one that the first python3 on the PATH is in; empty where there is none.
std::string pythonPrefix() {
  std::istringstream folders(variable("PATH"));
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (folder.starts_with('/') && fs::exists(folder + "/python3", error))
      return fs::path(folder).parent_path().string();
  return "";
}

}  // namespace

NvrtcPlaces nvrtcPlaces(const std::string &root) {
  constexpr const char *kPattern = "/libnvrtc.so*";
  NvrtcPlaces places;
  if (const std::string given = variable("HECTOR_NVRTC"); !given.empty()) {
    std::error_code error;
    places.libraries = fs::is_directory(given, error) ? matches(given + kPattern) : std::vector<std::string>{given};
    places.description = "HECTOR_NVRTC is " + inTicks(given);
    return places;
  }
  places.libraries = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  places.description = "the loader's path";
  auto look = [&](const std::string &folders) {
    places.description += ", " + folders;
    for (const std::string &library : matches(folders + kPattern))
      places.libraries.push_back(library);
  };
  for (const char *toolkit : {"/usr/local/cuda", "/usr/local/cuda-*"})
    look(root + toolkit + "/{lib64,targets/*/lib}");
  auto lookInPackages = [&](const std::string &packages) { look(packages + "/nvidia/{cuda_nvrtc,cu[0-9]*}/lib"); };
  std::vector<std::string> prefixes = {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), pythonPrefix()};
  if (const std::string home = variable("HOME"); !home.empty())
    prefixes.push_back(home + "/.local");
  for (const std::string &prefix : prefixes)
    if (!prefix.empty())
      lookInPackages(prefix + "/lib/python3*/site-packages");
  lookInPackages(root + "/usr/local/lib/python3*/dist-packages");
  return places;
}

Result<Nvrtc> Nvrtc::find() {
  const NvrtcPlaces places = nvrtcPlaces();
  const bool isGiven = places.description.starts_with("HECTOR_NVRTC");
  std::string failures;
  for (const std::string &library : places.libraries) {
    auto nvrtc = open(library);
    if (nvrtc)
      return nvrtc;
    // That the loader does not know a name is no news.
    if (library.find('/') != std::string::npos || isGiven)
      failures += (failures.empty() ? "" : "; ") + nvrtc.status().message();
  }
  if (isGiven)
    return Status::invalid(places.description + ", and NVRTC is not there" +
                           (failures.empty() ? "" : " (" + failures + ")") +
                           "; expected the path of libnvrtc.so or of its folder");
  return Status::failed("there is no NVRTC, which compiles for GPUs; looked in " + places.description +
                        (failures.empty() ? "" : "; " + failures) +
                        "; install it with the CUDA toolkit, or name the library in HECTOR_NVRTC");
}

// Compiling.

namespace {

constexpr const char *kLog = "/compiler.txt";

/// NVRTC as the cache sees it.
class NvrtcCompiler : public CodeCompiler {
public:
  explicit NvrtcCompiler(const Nvrtc &nvrtc) : nvrtc(nvrtc) {}

  std::string title() const override { return nvrtc.title(); }
  std::string identity(const CodeRequest &) const override { return nvrtc.title(); }
  CodeKind kind() const override { return CodeKind::Gpu; }

  Result<std::string> compile(const CodeRequest &request, const std::string &folder,
                              const std::string &output) const override {
    const Nvrtc::Output result = nvrtc.compile(request);
    if (interruptSignal())
      return interrupted(nvrtc.title());
    std::ofstream log(folder + kLog, std::ios::binary);
    log << "$ nvrtc";
    for (const std::string &flag : request.flags)
      log << " " << flag;
    log << " " << request.main.name << "\n" << result.log;
    std::ofstream file(folder + "/" + output, std::ios::binary);
    file << result.cubin;
    log.close();
    file.close();
    if (!log || !file)
      return Status::failed(folder + ": cannot be written; is the disk full?");
    return result.errorName;
  }

  std::string errors(const std::string &folder) const override {
    // An error is a line, the line of the source that it is about, and a mark below that; then an empty line.
    constexpr int kMaxErrors = 3;
    constexpr size_t kMaxColumns = 200;
    std::ifstream log(folder + kLog);
    std::string errors, others, line;
    int numErrors = 0;
    bool isWithin = false;
    std::getline(log, line);  // the flags
    while (std::getline(log, line)) {
      const bool isStart = line.find("error: ") != std::string::npos || line.find("error   : ") != std::string::npos;
      numErrors += isStart;
      isWithin = isStart || (isWithin && !line.empty());
      if (line.size() > kMaxColumns)
        line = line.substr(0, validUtf8Prefix(line.substr(0, kMaxColumns))) + "…";
      if (isWithin && numErrors <= kMaxErrors)
        errors += "   " + line + "\n";
      else if (!isWithin && !line.empty() && std::count(others.begin(), others.end(), '\n') < kMaxErrors)
        others += "   " + line + "\n";
    }
    if (numErrors > kMaxErrors)
      errors += "   and " + counted(numErrors - kMaxErrors, "more error") + "\n";
    return numErrors > 0 ? errors : others;
  }

private:
  const Nvrtc &nvrtc;
};

}  // namespace

std::vector<std::string> commonCudaFlags(bool isFused) {
  return {"-std=c++20", isFused ? "--fmad=true" : "--fmad=false", "-lineinfo"};
}

std::vector<std::string> cudaFlags(int architecture, bool isFused) {
  std::vector<std::string> flags = commonCudaFlags(isFused);
  flags.insert(flags.begin(), "--gpu-architecture=sm_" + std::to_string(architecture));
  return flags;
}

Result<CompiledCode> compileCuda(const CodeRequest &request, const Nvrtc &nvrtc, const JitEvents &events) {
  return findOrCompile(request, NvrtcCompiler(nvrtc), events);
}

}  // namespace hector
