/// Counts what passes save: operations, bytes moved and peak memory of RGCN, RGAT and HGT on real graphs, as estimated
/// by the cost model, without passes, with compaction (C), with reordering (R), with both, and with the default; and
/// what it costs that graphs that are alike share a plan. Fails if a pass fails, if IR does not verify, or if `default`
/// would cost more than no pass at all.
///
///   plans-bench --hector PROGRAM --models FOLDER --data FOLDER --work FOLDER
///
/// Graphs are imported from the data folder into the work folder, once. Missing graphs are skipped.

#include "bench/Measure.h"
#include "bench/RealGraphs.h"
#include "compiler/Analysis/Cost.h"
#include "driver/Case.h"
#include "driver/Program.h"
#include "runtime/base/Program.h"
#include "runtime/machine/Machine.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::bench;
namespace fs = std::filesystem;

namespace {

constexpr const char *kWidth = "64";
constexpr int kRuns = 21;
constexpr double kLimit = 100;  // milliseconds, to compile HGT with its gradients

constexpr const char *kModels[] = {"rgcn", "rgat", "hgt"};
constexpr const char *kPasses[] = {"none", "C", "R", "C,R", "default"};
constexpr size_t kNumPasses = std::size(kPasses);

struct Plan {
  double operations = 0, bytes = 0, peakBytes = 0, price = 0;
  double gpuPrice = 0;        // for an H200
  std::string name, gpuName;  // of the plans that `default` took

  double priceOn(bool isGpu) const { return isGpu ? gpuPrice : price; }
};

/// One line of the tables: one plan per entry of `kPasses`.
struct Row {
  std::string graph, model;
  bool grad;
  Plan plans[kNumPasses];
  Plan shared;  // the one that `default` takes for graphs like this one
};

/// What passes choose by.
enum class Figures : uint8_t { Own, Shared };

/// A model read and bound: every size is the same.
struct Bound {
  Model model;
  language::Binding binding;
};

Result<Bound> bindModel(const std::string &path) {
  auto model = loadModel(path);
  if (!model)
    return model.status();
  Settings settings;
  for (const language::SizeDecl &size : model->signature.sizes)
    settings.sizes.push_back(size.name + "=" + kWidth);
  auto binding = bind(*model, settings);
  if (!binding)
    return binding.status();
  return Bound{std::move(*model), std::move(*binding)};
}

/// Compiles for a graph and counts, on each of `machines`.
Result<Plan> makePlan(std::shared_ptr<mlir::MLIRContext> context, const Bound &bound, const Graph &graph,
                      const char *passes, bool grad, std::initializer_list<bool> machines = {true, false},
                      Figures figures = Figures::Own) {
  ProgramOptions options;
  if (grad)
    options.gradients.emplace();
  auto program = Program::import(bound.model, bound.binding, options, std::move(context));
  if (!program)
    return program.status();
  const GraphFigures own = figuresOf(graph), chosenBy = figures == Figures::Own ? own : sharedFigures(graph);
  if (Status status = program->attachGraph(graph, chosenBy); !status.isOk())
    return status;
  auto gpu = findMachine("h200");
  if (!gpu)
    return gpu.status();
  Plan plan;
  for (bool isGpu : machines) {
    Program copy = program->clone();
    if (isGpu)
      copy.attachMachine(*gpu);
    PassOutput output;
    output.onPlans = [&](const std::vector<PlanCost> &plans) {
      for (const PlanCost &weighed : plans)
        if (weighed.isTaken)
          (isGpu ? plan.gpuName : plan.name) = weighed.name;
    };
    if (Status status = copy.runPasses(passes, output); !status.isOk())
      return status;
    if (Status status = copy.attachGraph(graph, own); !status.isOk())
      return status;
    flow::Cost cost = flow::estimate(copy.function(), copy.groupOptions());
    if (isGpu) {
      plan.gpuPrice = cost.price();
      continue;
    }
    plan.operations = cost.operations;
    plan.bytes = cost.bytes;
    plan.peakBytes = cost.peakBytes;
    plan.price = cost.price();
  }
  return plan;
}

void printTable(const std::vector<Row> &rows, const char *title, double unit, double Plan::*field) {
  std::printf("\n%-32s", title);
  for (const char *passes : kPasses)
    std::printf(" %10s", passes);
  std::printf("\n");
  double logs[kNumPasses] = {};
  for (const Row &row : rows) {
    std::printf("%-14s %-5s %-11s", row.graph.c_str(), row.model.c_str(), row.grad ? "training" : "inference");
    for (size_t i = 0; i < kNumPasses; ++i) {
      double value = row.plans[i].*field;
      std::printf(" %10.*f", value / unit < 10 ? 3 : 1, value / unit);
      logs[i] += std::log(value / (row.plans[0].*field));
    }
    std::printf("\n");
  }
  std::printf("%-32s", "  of none, geometric mean");
  for (double log : logs)
    std::printf(" %9.1f%%", 100 * std::exp(log / static_cast<double>(rows.size())));
  std::printf("\n");
}

/// The plans that `default` takes.
void printNames(const std::vector<Row> &rows) {
  std::printf("\n%-32s %-40s %s\n", "plan taken by default", "cpu", "h200");
  for (const Row &row : rows)
    std::printf("%-14s %-5s %-11s %-40s %s\n", row.graph.c_str(), row.model.c_str(),
                row.grad ? "training" : "inference", row.plans[kNumPasses - 1].name.c_str(),
                row.plans[kNumPasses - 1].gpuName.c_str());
}

/// What plans that graphs share cost on a graph, as a ratio to its own.
void printShared(const std::vector<Row> &rows) {
  std::printf("\nprice of a plan for graphs that are alike, to that of the graph's own\n");
  for (bool isGpu : {false, true}) {
    double logs = 0, worst = 0;
    const Row *worstRow = nullptr;
    for (const Row &row : rows) {
      const double ratio = row.shared.priceOn(isGpu) / row.plans[kNumPasses - 1].priceOn(isGpu);
      logs += std::log(ratio);
      if (ratio > worst) {
        worst = ratio;
        worstRow = &row;
      }
    }
    std::printf("%-5s geometric mean %.3f, at most %.3f (%s, %s, %s)\n", isGpu ? "h200" : "cpu",
                std::exp(logs / static_cast<double>(rows.size())), worst, worstRow->graph.c_str(),
                worstRow->model.c_str(), worstRow->grad ? "training" : "inference");
  }
}

/// Measures how long a model takes from its text to the plan for training. Returns whether that is fast enough.
bool printCompileTime(const std::string &path, const std::string &name, const Graph &graph) {
  double time = median(kRuns, [&] {
    auto bound = bindModel(path);
    return bound && makePlan(makeContext(), *bound, graph, "default", /*grad=*/true, {false});
  });
  bool fine = time >= 0 && time <= kLimit;
  std::printf("\nhgt, training, default, for %s: compiled and counted in %.1f ms (limit %.0f), median of %d runs  %s\n",
              name.c_str(), time, kLimit, kRuns, fine ? "ok" : "TOO SLOW");
  return fine;
}

int benchMain(int argc, char **argv) {
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2)
    options[argv[i]] = argv[i + 1];
  if (argc != 9 || !options.count("--hector") || !options.count("--models") || !options.count("--data") ||
      !options.count("--work")) {
    std::fputs("usage: plans-bench --hector PROGRAM --models FOLDER --data FOLDER --work FOLDER\n", stderr);
    return 2;
  }
  const fs::path data = options["--data"], work = options["--work"], models = options["--models"];
  fs::create_directories(work);
  std::shared_ptr<mlir::MLIRContext> context = makeContext();
  std::map<std::string, Bound> bound;
  for (const char *name : kModels) {
    auto model = bindModel((models / (std::string(name) + ".hec")).string());
    if (!model) {
      std::fprintf(stderr, "%s\n", model.status().message().c_str());
      return 1;
    }
    bound.emplace(name, std::move(*model));
  }

  std::vector<Row> rows;
  std::optional<std::pair<std::string, Graph>> timed;
  bool fine = true;
  for (const GraphSource &source : realGraphs()) {
    auto file = importGraph(source, {options["--hector"], data, work});
    fine &= !file || !file->empty();
    if (!file || file->empty())
      continue;
    for (const char *model : kModels) {
      auto graph = loadGraph(*file, bound.at(model).model.signature);
      if (!graph) {
        std::fprintf(stderr, "%s\n", graph.status().message().c_str());
        return 1;
      }
      for (bool grad : {false, true}) {
        Row row = {source.name, model, grad, {}, {}};
        for (size_t i = 0; i < kNumPasses; ++i) {
          auto plan = makePlan(context, bound.at(model), *graph, kPasses[i], grad);
          if (!plan) {
            std::fprintf(stderr, "%s, %s, --passes %s: %s\n", source.name.c_str(), model, kPasses[i],
                         plan.status().message().c_str());
            return 1;
          }
          row.plans[i] = *plan;
        }
        auto shared = makePlan(context, bound.at(model), *graph, "default", grad, {true, false}, Figures::Shared);
        if (!shared) {
          std::fprintf(stderr, "%s, %s: %s\n", source.name.c_str(), model, shared.status().message().c_str());
          return 1;
        }
        row.shared = *shared;
        if (row.plans[kNumPasses - 1].price > row.plans[0].price) {
          std::fprintf(stderr, "%s, %s, %s: default costs more than no pass\n", source.name.c_str(), model,
                       grad ? "training" : "inference");
          fine = false;
        }
        rows.push_back(std::move(row));
      }
      if (!timed)
        timed.emplace(source.name, std::move(*graph));
    }
  }
  if (rows.empty()) {
    std::printf("nothing to count: none of the graphs is in %s\n", data.c_str());
    return fine ? 0 : 1;
  }
  std::printf("rows of %s numbers (f32), one head\n", kWidth);
  printTable(rows, "operations, GFLOP", 1e9, &Plan::operations);
  printTable(rows, "moved, MB", 1e6, &Plan::bytes);
  printTable(rows, "peak memory besides inputs and graph, MB", 1e6, &Plan::peakBytes);
  printTable(rows, "price on a CPU, ms", 1e-3, &Plan::price);
  printTable(rows, "price on an H200, us", 1e-6, &Plan::gpuPrice);
  printNames(rows);
  printShared(rows);
  fine &= printCompileTime((models / "hgt.hec").string(), timed->first, timed->second);
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(benchMain, argc, argv);
}
