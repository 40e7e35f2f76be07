#include "runtime/jit/Jit.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Processor.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Cache.h"
#include "runtime/jit/Compiler.h"
#include "runtime/jit/Process.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <optional>
#include <string_view>

namespace hector {

namespace fs = std::filesystem;

namespace {

/// Changes whenever code of before must not be found any more.
constexpr const char *kFormat = "hector code 1";

/// The system's compiler as the cache sees it.
class HostCodeCompiler : public CodeCompiler {
public:
  explicit HostCodeCompiler(HostCompiler compiler) : compiler(std::move(compiler)) {}

  std::string title() const override { return compiler.title(); }
  std::string identity(const CodeRequest &request) const override {
    const bool isNative = std::any_of(request.flags.begin(), request.flags.end(), [](const std::string &flag) {
      return flag.starts_with("-m") && flag.ends_with("=native");
    });
    return compiler.path + "\n" + compiler.version + "\n" + (isNative ? identityOf(thisProcessor()) : "");
  }
  CodeKind kind() const override { return CodeKind::Host; }
  Result<std::string> compile(const CodeRequest &request, const std::string &folder,
                              const std::string &output) const override {
    auto code = runCompiler(compiler, {request.main.name, request.flags, output}, folder);
    if (!code)
      return code.status();
    return *code == 0 ? "" : "exit code " + std::to_string(*code);
  }
  std::string errors(const std::string &folder) const override { return firstErrors(folder); }

private:
  HostCompiler compiler;
};

std::string keyOf(const CodeRequest &request, const CodeCompiler &compiler) {
  TextHash hash;
  hash.add(kFormat);
  hash.add(HECTOR_VERSION);
  hash.add(compiler.identity(request));
  hash.add(request.main.name);
  hash.add(request.main.text);
  hash.add(std::to_string(request.headers.size()));
  for (const CodeFile &header : request.headers) {
    hash.add(header.name);
    hash.add(header.text);
  }
  for (const std::string &flag : request.flags)
    hash.add(flag);
  return hash.digest();
}

/// "~/.cache/hector/code" for a folder in the user's home.
std::string shortPath(const std::string &path) {
  const char *home = std::getenv("HOME");
  const std::string start = home && home[0] == '/' ? std::string(home) + "/" : "";
  return !start.empty() && path.starts_with(start) ? "~/" + path.substr(start.size()) : path;
}

Status checkNames(const CodeRequest &request) {
  auto check = [&](const CodeFile &file) {
    const fs::path name(file.name);
    const bool isPlain = std::all_of(name.begin(), name.end(),
                                     [](const fs::path &part) { return !part.empty() && part != ".." && part != "."; });
    return !file.name.empty() && name.is_relative() && isPlain && !file.name.starts_with('-');
  };
  if (!check(request.main))
    return Status::invalid("cannot compile a file called " + inTicks(request.main.name) + "; expected a relative path");
  for (const CodeFile &header : request.headers)
    if (!check(header))
      return Status::invalid("cannot include a file called " + inTicks(header.name) + "; expected a relative path");
  return Status::ok();
}

Status writeSources(const CodeRequest &request, const std::string &folder) {
  auto write = [&](const CodeFile &source) {
    const fs::path path = fs::path(folder) / source.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file << source.text;
    file.close();
    return file ? Status::ok() : Status::failed(path.string() + ": cannot be written; is the disk full?");
  };
  Status status = write(request.main);
  for (const CodeFile &header : request.headers)
    if (status.isOk())
      status = write(header);
  return status;
}

bool contains(const std::string &path, std::string_view text) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.find(text) != std::string::npos)
      return true;
  return false;
}

/// How a compilation in one folder ended: with code, with a failure of the folder (full, read-only), after which
/// another folder may do, or with one of the source.
struct Attempt {
  std::optional<MappedFile> code;
  Status folderFailure = Status::ok();
  Status failure = Status::ok();
};

/// Compiles in `folder`. A source that cannot be compiled is kept as `failurePath`, or where it is.
Attempt compileIn(BuildFolder &folder, const CodeRequest &request, const CodeCompiler &compiler,
                  const std::string &failurePath) {
  Attempt attempt;
  attempt.folderFailure = writeSources(request, folder.path() + "/source");
  if (!attempt.folderFailure.isOk())
    return attempt;
  const std::string outputName = CodeCache::codeName("code", compiler.kind());
  auto refusal = compiler.compile(request, folder.path(), outputName);
  if (!refusal) {  // for the compiler's output cannot be written, perhaps
    if (interruptSignal())
      attempt.failure = interrupted("compiling " + request.what);
    else
      attempt.folderFailure = refusal.status();
    return attempt;
  }
  auto output = mapFile(folder.path() + "/" + outputName);
  if (refusal->empty() && output && !output->bytes.empty()) {
    attempt.code = std::move(output).take();
    return attempt;
  }
  for (const char *reason : {"No space left on device", "Disk quota exceeded"})
    if (contains(folder.path() + "/compiler.txt", reason)) {
      attempt.folderFailure = Status::failed(folder.path() + ": " + reason);
      return attempt;
    }
  std::string message = compiler.title() + " could not compile the code of " + request.what + " (" +
                        (refusal->empty() ? "it left no code" : *refusal) + ")\n" + compiler.errors(folder.path());
  message += "   help: source and output of the compiler are in " + shortPath(folder.keep(failurePath)) +
             "; please report this as a bug of Hector, unless memory or disk space ran out";
  attempt.failure = Status::failed(std::move(message));
  return attempt;
}

void tell(const std::function<void(const std::string &)> &listener, const std::string &line) {
  if (listener)
    listener(line);
}

void announce(const CodeRequest &request, const CodeCompiler &compiler, const std::string &note,
              const JitEvents &events) {
  tell(events.onCompile, "compiling " + request.what + " with " + compiler.title() + " (" + note + ")");
}

/// Compiles in a folder of its own, and keeps nothing. `why` says why.
Result<CompiledCode> compileApart(const CodeRequest &request, const CodeCompiler &compiler, const Status &why,
                                  const JitEvents &events) {
  tell(events.onWarning, "compiled code is not kept: " + why.message());
  auto folder = BuildFolder::createTemporary();
  if (!folder)
    return std::move(folder).status().during("compiling " + request.what);
  Attempt attempt = compileIn(*folder, request, compiler, "");
  if (attempt.code)
    return CompiledCode{attempt.code->bytes, attempt.code->owner, ""};
  return attempt.failure.isOk() ? attempt.folderFailure : attempt.failure;
}

}  // namespace

// Loading.

void Library::Close::operator()(void *handle) const {
  dlclose(handle);
}

void *Library::find(const char *symbol) const {
  return dlsym(handle.get(), symbol);
}

Result<Library> Library::open(const std::string &path) {
  if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return Library(handle);
  const char *reason = dlerror();
  return Status::failed(std::string("compiled code cannot be loaded: ") + (reason ? reason : path));
}

/// Whether all parts of a library that are loaded are in the file. The loader does not look: where the end is missing,
/// touching it ends the program.
static bool isWholeLibrary(std::span<const std::byte> bytes) {
  ElfW(Ehdr) head;
  if (bytes.size() < sizeof(head))
    return false;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const size_t size = bytes.size();
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(ElfW(Phdr)) ||
      head.e_phoff > size || head.e_phnum > (size - head.e_phoff) / sizeof(ElfW(Phdr)))
    return false;
  for (size_t i = 0; i < head.e_phnum; ++i) {
    ElfW(Phdr) part;
    std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof(part), sizeof(part));
    if (part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset))
      return false;
  }
  return true;
}

Result<Library> loadCode(std::span<const std::byte> bytes) {
  if (!isWholeLibrary(bytes))
    return Status::failed("compiled code cannot be loaded: it is no library, or a part of it is missing");
  // A new name each time: the loader takes a file of a name that it knows for the one that it has loaded.
  auto folder = BuildFolder::createTemporary();
  if (!folder)
    return folder.status();
  const std::string path = folder->path() + "/" + CodeCache::codeName("code");
  if (Status status = replaceFile(path, std::span(&bytes, 1)); !status.isOk())
    return status;
  auto library = Library::open(path);
  if (!library)
    return Status::failed(library.status().message() +
                          "; if files there may not be run, set TMPDIR to a folder where they may");
  return library;
}

// Compiling.

static Result<CompiledCode> findOrCompileIn(const Result<CodeCache> &cache, const CodeRequest &request,
                                            const CodeCompiler &compiler, const JitEvents &events) {
  if (!cache) {
    announce(request, compiler, "not kept", events);
    return compileApart(request, compiler, cache.status(), events);
  }

  const std::string key = keyOf(request, compiler), name = CodeCache::codeName(key, compiler.kind());
  auto found = [&]() -> std::optional<CompiledCode> {
    auto file = cache->find(name);
    if (!file)
      return std::nullopt;
    return CompiledCode{file->bytes, file->owner, cache->pathOf(name)};
  };
  if (auto code = found())
    return *code;
  auto lock = cache->lock(key);
  if (interruptSignal())
    return interrupted("compiling " + request.what);
  // Another process may have compiled it meanwhile.
  if (auto code = found())
    return *code;
  auto folder = lock ? cache->createBuildFolder() : Result<BuildFolder>(lock.status());
  if (!folder) {
    announce(request, compiler, "not kept", events);
    return compileApart(request, compiler, folder.status(), events);
  }
  announce(request, compiler, "first run; kept in " + shortPath(cache->folder()), events);
  Attempt attempt = compileIn(*folder, request, compiler, cache->pathOf(CodeCache::failureName(key)));
  if (!attempt.folderFailure.isOk())
    return compileApart(request, compiler, attempt.folderFailure, events);
  if (!attempt.failure.isOk())
    return attempt.failure;
  Status kept = cache->insert(name, attempt.code->bytes);
  if (interruptSignal())
    return interrupted("compiling " + request.what);
  if (!kept.isOk())
    tell(events.onWarning, "compiled code is not kept: " + kept.message());
  auto limit = cacheLimit();
  if (!limit)
    tell(events.onWarning, limit.status().message());
  cache->trim(limit ? *limit : kDefaultCacheLimit);
  if (auto code = found())
    return *code;
  return CompiledCode{attempt.code->bytes, attempt.code->owner, ""};
}

Result<CompiledCode> findOrCompile(const CodeRequest &request, const CodeCompiler &compiler, const JitEvents &events) {
  if (Status status = checkNames(request); !status.isOk())
    return status;
  return findOrCompileIn(CodeCache::open(), request, compiler, events);
}

Result<CompiledCode> findOrCompile(const CodeRequest &request, const JitEvents &events) {
  if (Status status = checkNames(request); !status.isOk())
    return status;
  const auto cache = CodeCache::open();
  auto compiler = findCompiler(cache ? &*cache : nullptr);
  if (!compiler)
    return compiler.status();
  return findOrCompileIn(cache, request, HostCodeCompiler(std::move(*compiler)), events);
}

Result<Library> loadOrCompile(const CodeRequest &request, const JitEvents &events) {
  auto code = findOrCompile(request, events);
  if (!code)
    return code.status();
  // The file may have been removed meanwhile, or be on a disk whose files may not be run.
  if (!code->path.empty())
    if (auto library = Library::open(code->path))
      return library;
  return loadCode(code->bytes);
}

}  // namespace hector
