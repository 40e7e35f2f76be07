/// Measures how long a model takes to become flow: in this process, where only the compiler is measured, and as the
/// whole `hector compile` that a user waits for; and how long passes take on models of many layers, with their
/// gradients. Fails if IR does not verify or a time exceeds its limit.
///
///   compile-bench --hector PROGRAM MODEL...

#include "bench/Measure.h"
#include "bench/compile/DeepModels.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "driver/Program.h"
#include "runtime/base/Program.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Verifier.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::bench;

namespace {

constexpr int kRuns = 21;
constexpr int kDeepRuns = 3;
constexpr double kLimit = 50;  // milliseconds
constexpr const char *kSize = "16";

/// Every size of a model, bound to the same number; one head, so that heads side by side are as wide as any other row.
std::vector<std::string> sizesOf(const Model &model) {
  std::vector<std::string> sizes;
  for (const language::SizeDecl &size : model.signature.sizes)
    sizes.push_back(size.name + "=" + (size.name == "heads" ? "1" : kSize));
  return sizes;
}

/// Measures `hector compile --grad` of a deep model, passes and all, and prints its line; whether it is quick enough.
bool measureDeep(const std::string &hector, const DeepModel &deep) {
  std::string path = (std::filesystem::temp_directory_path() / ("hector-deep-" + std::to_string(getpid()))).string();
  std::ofstream(path) << deep.text;
  std::vector<std::string> words = {hector,   "compile", path,      "--size", "d=" + std::string(kSize),
                                    "--grad", "--emit",  "flow-opt"};
  double time = median(kDeepRuns, [&] { return runProgram(words); });
  std::filesystem::remove(path);
  if (time < 0) {
    std::fprintf(stderr, "%s: `hector compile` fails\n", deep.name.c_str());
    return false;
  }
  bool fine = time <= deep.limit;
  std::printf("%-36s %29.0f %9.0f  %s\n", deep.name.c_str(), time, deep.limit, fine ? "ok" : "TOO SLOW");
  return fine;
}

/// From the file to verified, printed flow. Returns the number of flow ops, or what is wrong.
Result<int64_t> compileOnce(const std::string &path) {
  auto model = loadModel(path);
  if (!model)
    return model.status();
  auto binding = bind(*model, {{}, sizesOf(*model)});
  if (!binding)
    return binding.status();
  auto program = Program::import(*model, *binding, {});
  if (!program)
    return program.status();
  mlir::ModuleOp module = program->module();
  if (mlir::failed(mlir::verify(module)))
    return Status::failed("the IR does not verify");
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  int64_t ops = 0;
  module.walk([&](mlir::Operation *op) { ops += mlir::isa<flow::FlowDialect>(op->getDialect()); });
  return ops;
}

/// Measures one model and prints its line. Returns whether it is correct and fast enough.
bool measure(const std::string &hector, const std::string &path) {
  auto ops = compileOnce(path);
  auto model = loadModel(path);
  if (!ops || !model) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), ops.status().message().c_str());
    return false;
  }
  std::vector<std::string> words = {hector, "compile", path, "--emit", "flow"};
  for (const std::string &size : sizesOf(*model)) {
    words.push_back("--size");
    words.push_back(size);
  }
  double inside = median(kRuns, [&] { return compileOnce(path).isOk(); });
  double whole = median(kRuns, [&] { return runProgram(words); });
  if (inside < 0 || whole < 0) {
    std::fprintf(stderr, "%s: `hector compile` fails where a first run did not\n", path.c_str());
    return false;
  }
  bool fine = inside <= kLimit && whole <= kLimit;
  std::printf("%-36s %5lld %10.2f %13.2f %9.0f  %s\n", path.c_str(), static_cast<long long>(*ops), inside, whole,
              kLimit, fine ? "ok" : "TOO SLOW");
  return fine;
}

int benchMain(int argc, char **argv) {
  if (argc < 4 || std::string(argv[1]) != "--hector") {
    std::fputs("usage: compile-bench --hector PROGRAM MODEL...\n", stderr);
    return 2;
  }
  std::printf("medians of %d runs; every size is %s, one head; IR verified\n", kRuns, kSize);
  std::printf("%-36s %5s %10s %13s %9s\n", "model", "ops", "median ms", "program ms", "limit ms");
  bool fine = true;
  for (int i = 3; i < argc; ++i)
    fine &= measure(argv[2], argv[i]);
  std::printf("\nmedians of %d runs; with gradients and the default passes\n", kDeepRuns);
  std::printf("%-36s %29s %9s\n", "deep model", "program ms", "limit ms");
  for (const DeepModel &deep : deepModels())
    fine &= measureDeep(argv[2], deep);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(benchMain, argc, argv);
}
