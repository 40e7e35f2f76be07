/// Compiles CUDA text with NVRTC, the part of NVIDIA's compiler that is a library. It is opened when it is needed:
/// nothing here needs CUDA to build.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/jit/Jit.h"

#include <memory>
#include <string>
#include <vector>

namespace hector {

/// An opened libnvrtc. May be used by any thread; it stays loaded until the process ends.
class Nvrtc {
public:
  /// The library at a path, or of a name that the loader knows. Fails with the loader's reason.
  static Result<Nvrtc> open(const std::string &library);
  /// The first that works of `nvrtcPlaces`. The message says where it was looked for.
  static Result<Nvrtc> find();

  /// The file that was loaded.
  const std::string &path() const { return file; }
  /// "NVRTC 13.0".
  std::string title() const { return "NVRTC " + version; }
  /// What it compiles for, such as 90 for sm_90, by rising number. Fails where it does not say.
  Result<std::vector<int>> architectures() const;

  struct Output {
    int error = 0;  // 0 where there is a cubin
    std::string errorName;
    std::string log;
    std::string cubin;
  };
  /// Compiles a source. What NVRTC says against it is in the output. An interrupt that is noted meanwhile
  /// (`noteInterrupts`) ends it early where NVRTC can be stopped (12.9 or later).
  Output compile(const CodeRequest &request) const;

private:
  struct Functions;
  Nvrtc(std::shared_ptr<const Functions> functions, std::string file, std::string version)
      : functions(std::move(functions)), file(std::move(file)), version(std::move(version)) {}
  std::shared_ptr<const Functions> functions;
  std::string file, version;
};

/// Where NVRTC is looked for.
struct NvrtcPlaces {
  std::vector<std::string> libraries;  // in order: paths, and names for the loader
  std::string description;             // of all places, found or not, for messages
};
/// $HECTOR_NVRTC alone, a library or its folder, if that is set. Otherwise what the loader finds; then CUDA toolkits
/// in /usr/local, `cuda` before the numbered ones, the newest of those first; then wheels in Python environments:
/// $VIRTUAL_ENV, $CONDA_PREFIX, that of the first python3 on the PATH, the user's and the system's. `root` is put
/// before the system's folders.
NvrtcPlaces nvrtcPlaces(const std::string &root = "");

/// The flags of all generated code, whatever GPU it is for. Products and sums are rounded one by one unless `isFused`.
std::vector<std::string> commonCudaFlags(bool isFused = false);
/// The same and the one for a GPU, of compute capability 10 * major + minor.
std::vector<std::string> cudaFlags(int architecture, bool isFused = false);

/// Finds a cubin in the cache or compiles it with NVRTC. As `findOrCompile` otherwise.
Result<CompiledCode> compileCuda(const CodeRequest &request, const Nvrtc &nvrtc, const JitEvents &events = {});

}  // namespace hector
