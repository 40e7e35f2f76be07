/// The C++ compiler of the system.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/jit/Cache.h"

#include <string>
#include <vector>

namespace hector {

struct HostCompiler {
  std::string path;
  std::string version;  // the first line of what --version prints

  /// "g++ 12.2.0".
  std::string title() const;
};

/// Finds $HECTOR_CXX if that is set, else the first of c++, g++ and clang++ on the PATH that works. A compiler works if
/// it makes a shared object of a small C++20 source. What was found is remembered in `cache`, where there is one, as
/// long as none of these programs changes; no process is started then.
Result<HostCompiler> findCompiler(const CodeCache *cache);
/// The same with the user's cache, if it can be used.
Result<HostCompiler> findCompiler();

/// Flags for a shared object for this machine, with the sanitizers that Hector itself is built with. Such a build needs
/// the compiler that built it in HECTOR_CXX.
std::vector<std::string> baseFlags();

/// What is compiled and where: in the folder `source` of a build folder.
struct Compilation {
  std::string source;  // a file below `source`, which is also where includes are looked up
  std::vector<std::string> flags;
  std::string output;  // a name in the build folder
};
/// Runs the compiler in a build folder. Returns its exit code; all that it prints is in `compiler.txt`.
Result<int> runCompiler(const HostCompiler &compiler, const Compilation &compilation, const std::string &buildFolder);

/// The first errors in what a compiler printed, a few lines at most, each indented and ended by a line end.
/// `buildFolder` is where it ran.
std::string firstErrors(const std::string &buildFolder);

}  // namespace hector
