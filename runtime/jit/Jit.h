/// Compiles generated code, keeps the result (see Cache.h), and loads shared objects.
///
/// Code is found again by the hash of all that it depends on: sources, flags, the compiler and its version, the
/// processor if it is compiled for the one that it runs on, and Hector's version. All functions may be called from any
/// thread and by any number of processes at once: one of them compiles, the others wait for it.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/jit/Cache.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hector {

struct CodeFile {
  std::string name;  // relative: "rgat.cpp", "hector/gemm.hpp"
  std::string text;
};

struct CodeRequest {
  CodeFile main;
  std::vector<CodeFile> headers;   // found by `#include "NAME"`
  std::vector<std::string> flags;  // see `baseFlags`
  std::string what;                // for messages: "rgat"
};

/// Lines for the user. Each is called on the thread that asked for code.
struct JitEvents {
  /// Once, before the compiler is started: "compiling rgat with g++ 12.2.0 (first run; kept in ~/.cache/hector/code)".
  std::function<void(const std::string &line)> onCompile;
  /// Where code cannot be kept, and is compiled all the same; and where a setting of the cache is wrong.
  std::function<void(const std::string &line)> onWarning;
};

/// Compiled code, valid as long as `owner` or a copy of it.
struct CompiledCode {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  std::string path;  // where it is kept; empty where it is not
};

/// A loaded shared object. Its functions may be called as long as it lives. Loading the same code twice in one process
/// may give the same functions and variables.
class Library {
public:
  static Result<Library> open(const std::string &path);
  /// The address of a function or variable, null where there is none of that name.
  void *find(const char *symbol) const;

private:
  struct Close {
    void operator()(void *handle) const;
  };
  explicit Library(void *handle) : handle(handle) {}
  std::unique_ptr<void, Close> handle;
};

/// What turns sources into code: the C++ compiler of the system, NVRTC.
class CodeCompiler {
public:
  virtual ~CodeCompiler() = default;
  /// For messages: "g++ 12.2.0".
  virtual std::string title() const = 0;
  /// What the code depends on besides the request: at least the compiler's version.
  virtual std::string identity(const CodeRequest &request) const = 0;
  virtual CodeKind kind() const = 0;
  /// Compiles in `folder`: sources and headers are below `source` there, the code goes into the file `output`, and
  /// all that the compiler says into `compiler.txt`. Returns an empty text, or how the compiler refused the source:
  /// "exit code 1". Fails where the compiler could not be run.
  virtual Result<std::string> compile(const CodeRequest &request, const std::string &folder,
                                      const std::string &output) const = 0;
  /// The first errors in `compiler.txt`, a few indented lines.
  virtual std::string errors(const std::string &folder) const = 0;
};

/// Finds the code in the cache or compiles it. A cache that cannot be used is no reason to fail. Where the compiler
/// fails, the message has its first errors and where source and output are kept.
Result<CompiledCode> findOrCompile(const CodeRequest &request, const CodeCompiler &compiler,
                                   const JitEvents &events = {});
/// The same with the C++ compiler of the system.
Result<CompiledCode> findOrCompile(const CodeRequest &request, const JitEvents &events = {});

/// Loads a shared object from memory, by way of a temporary file.
Result<Library> loadCode(std::span<const std::byte> bytes);

/// Finds or compiles code, and loads it.
Result<Library> loadOrCompile(const CodeRequest &request, const JitEvents &events = {});

}  // namespace hector
