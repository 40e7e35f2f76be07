#include "runtime/jit/Compiler.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Process.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace hector {

namespace fs = std::filesystem;

namespace {

constexpr const char *kLog = "/compiler.txt";

/// Uses a concept and two headers, so that an old compiler or one without its library does not pass.
constexpr const char *kCheckSource = "#include <cmath>\n"
                                     "#include <cstdint>\n"
                                     "template <class T> concept Number = requires(T x) { x + x; };\n"
                                     "template <Number T> T twice(T x) { return x + x; }\n"
                                     "extern \"C\" double hectorCheck(double x) { return twice(std::fabs(x)); }\n";

bool isProgram(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// A full path for a program's name or path; empty where there is no such program.
std::string locate(const std::string &name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    const fs::path path = fs::absolute(name, error);
    return !error && isProgram(path.string()) ? path.string() : "";
  }
  const char *variable = std::getenv("PATH");
  std::istringstream folders(variable ? variable : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (folder.starts_with('/') && isProgram(folder + "/" + name))
      return folder + "/" + name;
  return "";
}

/// What tells whether a program is still the same: path, size and time of its last change.
std::string identityOf(const std::string &program) {
  struct stat info;
  if (::stat(program.c_str(), &info) != 0)
    return program + "\n";
  return program + "\t" + std::to_string(info.st_size) + "\t" + std::to_string(info.st_mtim.tv_sec) + "." +
         std::to_string(info.st_mtim.tv_nsec) + "\n";
}

std::string textOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What a compiler is remembered as: its path and its version, a line each.
std::string formatCompiler(const HostCompiler &compiler) {
  return compiler.path + "\n" + compiler.version + "\n";
}

HostCompiler parseCompiler(std::string_view text) {
  const size_t end = text.find('\n');
  return {std::string(text.substr(0, end)), std::string(text.substr(end + 1, text.size() - end - 2))};
}

/// Asks a program for its version and has it compile something. The message lacks the program's name.
Result<HostCompiler> check(const std::string &program) {
  auto folder = BuildFolder::createTemporary();
  if (!folder)
    return folder.status();
  HostCompiler compiler{program, ""};
  const std::string versionPath = folder->path() + "/version.txt";
  auto version = runProcess({program, {"--version"}, folder->path(), folder->path(), versionPath});
  if (!version)
    return version.status();
  if (*version == 0) {
    std::istringstream lines(textOf(versionPath));
    std::getline(lines, compiler.version);
  }
  std::error_code error;
  fs::create_directory(folder->path() + "/source", error);
  std::ofstream(folder->path() + "/source/check.cpp") << kCheckSource;
  auto code = runCompiler(compiler, {"check.cpp", {"-std=c++20", "-shared", "-fPIC"}, "check.so"}, folder->path());
  if (!code)
    return code.status();
  if (*code != 0 || !fs::exists(folder->path() + "/check.so", error))
    return Status::failed("cannot compile a small C++20 source\n" + firstErrors(folder->path()));
  return compiler;
}

}  // namespace

std::string HostCompiler::title() const {
  const std::string name = fs::path(path).filename().string();
  // "g++ (Debian 12.2.0-14) 12.2.0" ends in its number; "clang version 14.0.6 (…)" has it after a word.
  std::istringstream words(version);
  std::string number, before;
  for (std::string word; words >> word; before = word) {
    if (std::isdigit(static_cast<unsigned char>(word[0])))
      number = word;
    if (before == "version")
      break;
  }
  return number.empty() ? name : name + " " + number;
}

Result<HostCompiler> findCompiler(const CodeCache *cache) {
  const char *wanted = std::getenv("HECTOR_CXX");
  const bool isGiven = wanted && wanted[0] != '\0';
  std::vector<std::string> programs;
  for (const char *name : {"c++", "g++", "clang++"}) {
    const std::string program = locate(isGiven ? wanted : name);
    if (!program.empty() && std::find(programs.begin(), programs.end(), program) == programs.end())
      programs.push_back(program);
  }
  if (programs.empty())
    return isGiven ? Status::invalid("HECTOR_CXX is " + inTicks(wanted) +
                                     ", and there is no such program; expected a C++ compiler, such as g++")
                   : Status::failed("there is no C++ compiler: c++, g++ and clang++ are not on the PATH; install one "
                                    "(apt-get install g++), or name one in HECTOR_CXX");

  TextHash hash;
  hash.add(kCheckSource);
  for (const std::string &program : programs)
    hash.add(identityOf(program));
  const std::string name = CodeCache::compilerName(hash.digest());
  if (cache)
    if (auto known = cache->find(name))
      return parseCompiler({reinterpret_cast<const char *>(known->bytes.data()), known->bytes.size()});

  std::string failures;
  for (const std::string &program : programs) {
    auto compiler = check(program);
    if (!compiler && interruptSignal())
      return compiler.status();
    if (!compiler) {
      failures += (failures.empty() ? "" : "\n") + program + ": " + compiler.status().message();
      continue;
    }
    const std::string text = formatCompiler(*compiler);
    if (cache)
      (void)cache->insert(name, std::as_bytes(std::span(text))).isOk();  // found again next time
    return compiler;
  }
  if (failures.ends_with('\n'))
    failures.pop_back();
  return isGiven ? Status::invalid("HECTOR_CXX is not a C++ compiler that works: " + failures)
                 : Status::failed("there is no C++ compiler that works; install one (apt-get install g++), or name one "
                                  "in HECTOR_CXX\n" +
                                  failures);
}

Result<HostCompiler> findCompiler() {
  auto cache = CodeCache::open();
  return findCompiler(cache ? &*cache : nullptr);
}

std::vector<std::string> baseFlags() {
  std::vector<std::string> flags = {"-x", "c++", "-std=c++20", "-shared", "-fPIC", "-O3", "-march=native"};
  std::istringstream sanitizers(HECTOR_SANITIZERS);
  for (std::string flag; sanitizers >> flag;)
    flags.push_back(flag);
  return flags;
}

Result<int> runCompiler(const HostCompiler &compiler, const Compilation &compilation, const std::string &buildFolder) {
  ProcessRequest request{compiler.path, compilation.flags, buildFolder + "/source", buildFolder, buildFolder + kLog};
  for (const char *word : {"-I.", "-o"})
    request.arguments.emplace_back(word);
  request.arguments.push_back("../" + compilation.output);
  request.arguments.push_back(compilation.source);
  std::string command = "$ " + request.program;
  for (const std::string &word : request.arguments)
    command += " " + word;
  std::ofstream(request.outputPath) << command << "\n";
  return runProcess(request);
}

std::string firstErrors(const std::string &buildFolder) {
  constexpr int kMaxLines = 3;
  constexpr size_t kMaxColumns = 200;
  std::istringstream log(textOf(buildFolder + kLog));
  std::string errors, others, line;
  int numErrors = 0, numOthers = 0;
  std::getline(log, line);  // the command
  while (std::getline(log, line)) {
    const bool isError = line.find("error: ") != std::string::npos;
    if (line.size() > kMaxColumns)
      line = line.substr(0, validUtf8Prefix(line.substr(0, kMaxColumns))) + "…";
    if (isError && numErrors++ < kMaxLines)
      errors += "   " + line + "\n";
    else if (!isError && numOthers++ < kMaxLines)
      others += "   " + line + "\n";
  }
  if (numErrors > kMaxLines)
    errors += "   and " + counted(numErrors - kMaxLines, "more error") + "\n";
  return !errors.empty() ? errors : others;
}

}  // namespace hector
