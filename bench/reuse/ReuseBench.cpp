/// Measures what it costs to run a plan on graphs that it was not made for: RGCN, RGAT and HGT, each compiled for one
/// graph, written to a plan file, and run on five others beside the plans that are made for those. Results of both are
/// compared first with a plan without passes that computes in f64.
///
///   reuse-bench --hector PROGRAM --models FOLDER --data FOLDER --work FOLDER
///
/// Times are medians; the two plans take turns, so that other work on the machine meets both.

#include "bench/Layers.h"
#include "bench/Measure.h"
#include "bench/RealGraphs.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "runtime/base/Program.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::bench;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kWidth = 64;
constexpr const char *kMadeFor = "aifb";
constexpr const char *kModels[] = {"rgcn", "rgat", "hgt"};
constexpr int kRuns = 15;
constexpr double kTolerance = 1e-3;  // of the largest number; sums of thousands of f32 in another order

/// How a plan is made.
struct Way {
  bool grad = false;
  NumberType numbers = NumberType::F32;
  std::string passes = "default";
};

Result<exec::Plan> compile(const BoundLayer &bound, const Graph &graph, const Way &way) {
  ProgramOptions options = {.numbers = way.numbers, .gradients = {}};
  if (way.grad)
    options.gradients.emplace();
  auto program = Program::import(bound.model, bound.binding, options);
  if (!program)
    return program.status();
  if (Status status = program->attachGraph(graph); !status.isOk())
    return status;
  if (Status status = program->runPasses(way.passes); !status.isOk())
    return status;
  if (Status status = program->formGroups(); !status.isOk())
    return status;
  return makePlan(*program, {.wideIds = exec::needsWideIds(graph)});
}

/// The plan for a graph, by way of a file.
Result<exec::SavedPlan> savedPlan(const BoundLayer &bound, const Graph &graph, const Way &way,
                                  const std::string &path) {
  auto plan = compile(bound, graph, way);
  if (!plan)
    return plan.status();
  auto saved = compilePlan(std::make_shared<const exec::Plan>(std::move(*plan)), originOf(bound.model, bound.binding));
  if (!saved)
    return saved;
  if (Status status = exec::writePlanFile(path, *saved); !status.isOk())
    return status;
  return exec::readPlanFile(path);
}

Result<exec::Executor> prepare(const LoadedPlan &loaded, const Graph &graph, Tensors tensors) {
  auto bound = bindInputs(*loaded.plan, graph, std::move(tensors));
  if (!bound)
    return bound.status();
  auto executor = exec::Executor::create(loaded.plan, loaded.kernels, graph);
  if (!executor)
    return executor;
  for (const NamedTensor &tensor : *bound)
    if (Status status = executor->setInput(tensor.name, tensor.tensor); !status.isOk())
      return status;
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return executor;
}

struct Measured {
  double own = 0, reused = 0;  // milliseconds
  double error = 0;            // of the worse one
  bool isSame = false;         // both graphs get the same plan
};

Result<Measured> measure(const BoundLayer &bound, const exec::SavedPlan &saved, const Graph &graph, bool grad) {
  auto reusedPlan = loadSavedPlan(saved, exec::needsWideIds(graph));
  if (!reusedPlan)
    return reusedPlan.status();
  const Tensors tensors = makeInputs(*reusedPlan->plan, bound, graph);
  auto make = [&](const Way &way) -> Result<LoadedPlan> {
    auto plan = compile(bound, graph, way);
    if (!plan)
      return plan.status();
    auto kernels = loadKernels(*plan);
    if (!kernels)
      return kernels.status();
    return LoadedPlan{std::make_shared<const exec::Plan>(std::move(*plan)), std::move(*kernels)};
  };
  Numbers expected;
  {
    auto judge = make({grad, NumberType::F64, "none"});
    if (!judge)
      return judge.status();
    auto executor = prepare(*judge, graph, tensors);
    if (!executor)
      return executor.status();
    auto results = numbersOf(*executor, *judge->plan);
    if (!results)
      return results.status();
    expected = std::move(*results);
  }
  auto ownPlan = make({.grad = grad});
  if (!ownPlan)
    return ownPlan.status();
  auto own = prepare(*ownPlan, graph, tensors), reused = prepare(*reusedPlan, graph, tensors);
  if (!own || !reused)
    return own ? reused.status() : own.status();
  Measured measured;
  measured.isSame = *ownPlan->plan == *reusedPlan->plan;
  for (auto [executor, plan] : {std::pair(&*own, ownPlan->plan), std::pair(&*reused, reusedPlan->plan)}) {
    auto results = numbersOf(*executor, *plan);
    if (!results)
      return results.status();
    measured.error = std::max(measured.error, distance(*results, expected));
  }
  const exec::Phase last = grad ? exec::Phase::Backward : exec::Phase::Forward;
  std::vector<double> times[2];
  for (int run = 0; run < kRuns; ++run)
    for (auto *executor : {&*own, &*reused}) {
      const double time = median(1, [&] { return executor->run(exec::Phase::Forward, last).isOk(); });
      if (time < 0)
        return Status::failed("a run fails");
      times[executor == &*reused].push_back(time);
    }
  for (std::vector<double> &list : times)
    std::nth_element(list.begin(), list.begin() + kRuns / 2, list.end());
  measured.own = times[0][kRuns / 2];
  measured.reused = times[1][kRuns / 2];
  return measured;
}

int benchMain(int argc, char **argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2)
    options[argv[i]] = argv[i + 1];
  if (argc != 9 || !options.count("--hector") || !options.count("--models") || !options.count("--data") ||
      !options.count("--work")) {
    std::fputs("usage: reuse-bench --hector PROGRAM --models FOLDER --data FOLDER --work FOLDER\n", stderr);
    return 2;
  }
  const GraphFolders folders = {options["--hector"], options["--data"], options["--work"]};
  fs::create_directories(folders.work);
  std::map<std::string, std::string> files;
  bool fine = true;
  for (const GraphSource &source : realGraphs()) {
    auto file = importGraph(source, folders);
    fine &= !file || !file->empty();
    if (file && !file->empty())
      files[source.name] = *file;
  }
  if (!files.contains(kMadeFor)) {
    std::printf("nothing to measure: there is no %s\n", kMadeFor);
    return fine ? 0 : 1;
  }
  auto fail = [](const std::string &what, const Status &status) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), status.message().c_str());
    return 1;
  };
  std::printf("rows of %lld numbers (f32), one head; plans made for %s on other graphs; medians of %d runs\n\n",
              static_cast<long long>(kWidth), kMadeFor, kRuns);
  std::printf("%-14s %-5s %-11s %10s %10s %8s %10s  %s\n", "graph", "model", "", "own, ms", "reused, ms", "ratio",
              "error", "own plan");
  double logs = 0;
  int rows = 0;
  for (const char *name : kModels) {
    auto bound = bindLayer((fs::path(options["--models"]) / (std::string(name) + ".hec")).string(), kWidth);
    if (!bound)
      return fail(name, bound.status());
    auto first = loadGraph(files.at(kMadeFor), bound->model.signature);
    if (!first)
      return fail(kMadeFor, first.status());
    for (bool grad : {false, true}) {
      auto saved = savedPlan(*bound, *first, {.grad = grad}, (folders.work / (std::string(name) + ".plan")).string());
      if (!saved)
        return fail(name, saved.status());
      for (const auto &[graphName, file] : files) {
        if (graphName == kMadeFor)
          continue;
        auto graph = loadGraph(file, bound->model.signature);
        if (!graph)
          return fail(graphName, graph.status());
        auto measured = measure(*bound, *saved, *graph, grad);
        if (!measured)
          return fail(graphName + ", " + name, measured.status());
        const bool isRight = measured->error <= kTolerance;
        fine &= isRight;
        const double ratio = measured->reused / measured->own;
        std::printf("%-14s %-5s %-11s %10.2f %10.2f %8.2f %10.1e  %s%s\n", graphName.c_str(), name,
                    grad ? "training" : "inference", measured->own, measured->reused, ratio, measured->error,
                    measured->isSame ? "the same" : "another", isRight ? "" : "  WRONG");
        std::fflush(stdout);
        logs += std::log(ratio);
        ++rows;
      }
    }
  }
  std::printf("%-32s %30.2f\n", "geometric mean of the ratios", rows > 0 ? std::exp(logs / rows) : 1.0);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(benchMain, argc, argv);
}
