/// Measures the cells of a benchmark, and checks their answers first. The header needs no MLIR.
///
///   Result<BenchFile> file = readBenchFile("layers.toml");
///   Result<std::string> graph = prepareGraph(file->graphs[0], "work");
///   std::vector<BenchResult> results = measureRound(*file, file->rounds[0], *graph);
///
/// Inputs come from the file's seed, and so do the gradients that a training step starts from. A step of inference is
/// the forward phase: whatever depends on parameters or on the graph alone was computed before. A step of training is
/// new parameters, the phase that depends on them alone, the forward phase and the backward phase, with the gradients
/// of all inputs. On a GPU, parameters are copied there before a step, which is timed by the GPU from its first launch
/// to the end of its last, as launches that are replayed.
#pragma once

#include "driver/BenchFile.h"
#include "driver/Inputs.h"
#include "runtime/device/Device.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/Plan.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hector {

/// What the cost model says about a loop.
struct PredictedCost {
  double operations = 0;
  double bytes = 0;
  double seconds = 0;
  double arithmeticSeconds = 0;
};

/// A kernel of a plan, and how long it takes in a step.
struct KernelProfile {
  std::string name;
  exec::Phase phase = exec::Phase::Forward;
  double seconds = 0;                      // the median
  std::optional<PredictedCost> predicted;  // none for what is no loop of the model, such as a constant
};

struct BenchResult {
  BenchCell cell;
  std::string failure;                 // why there is no answer; empty: there is one
  bool isRight = false;                // it is within the tolerance; only then are there times
  double error = 0;                    // the largest of any result, relative to its largest number
  std::string worst;                   // the result that it is of
  std::vector<double> seconds;         // of each run, in their order
  std::vector<double> wallSeconds;     // of each run on a GPU, from its first launch until the host has waited for all
  double prepareSeconds = 0;           // to derive what the plan reads of the graph, and to copy it; if reported
  double firstSeconds = 0;             // of the first step, with what is computed once for the graph
  int64_t peakBytes = 0;               // that the plan takes; inputs count on a GPU only
  std::string plan;                    // a hash of its text and code: equal for equal plans
  PredictedCost predicted;             // of a step
  std::vector<KernelProfile> kernels;  // if asked for

  /// The time below which the part `share` of the runs is: 0.5 gives the median.
  double quantile(double share) const;
};

struct BenchOptions {
  Device *device = nullptr;  // where cells run; null: on the CPU
  bool profile = false;
  exec::TuningNote onTuned =
      {};                  // launches on a device are started in the fastest way, and this is told which; else none
  std::string keepFolder;  // where each cell's inputs and results are left; empty: nowhere
  std::function<void(const std::string &task)> onTask;
};

/// The name of a cell among those of its file, for people and for files: "rgcn-aifb-training-passes=none".
std::string cellName(const BenchFile &file, const BenchCell &cell);

/// The path of a graph as a graph file, which is written to `folder` where it is imported or made.
Result<std::string> prepareGraph(const BenchGraph &graph, const std::string &folder);

/// Measures cells of one model, graph and phase, which take turns. A cell that fails has its reason in the result.
/// With `keepFolder`, a cell leaves CELL.case.safetensors, which `hector run --case` takes, and CELL.out.safetensors.
std::vector<BenchResult> measureRound(const BenchFile &file, std::span<const BenchCell> round,
                                      const std::string &graphPath, const BenchOptions &options = {});

/// The bytes by which this process grows, at most, while it makes ready for a cell and runs it twice: index arrays and
/// tables, but not the graph, the inputs and the code. On a device, the bytes of its memory that are taken then, with
/// the inputs; `onTuned` is as in `BenchOptions`. To be called in a process of its own.
Result<int64_t> measureMemory(const BenchFile &file, const BenchCell &cell, const std::string &graphPath,
                              Device *device = nullptr, const exec::TuningNote &onTuned = {});

}  // namespace hector
