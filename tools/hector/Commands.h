/// What each subcommand is asked to do. A command prints what is wrong and returns the exit code.
#pragma once

#include "driver/Inputs.h"
#include "runtime/base/Program.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// Options that say which model is meant and how it is bound.
struct ModelOptions {
  std::string path;  // of a model; for `hector run` also of a plan
  std::string entry;
  std::vector<std::string> settings;  // --set NAME=VALUE
  std::vector<std::string> sizes;     // --size NAME=NUMBER
  std::string dtype;                  // empty: the backend's own
};

struct RunOptions {
  ModelOptions model;
  InputSources inputs;
  std::string outPath;
  std::string backend;                           // empty: the best there is
  std::optional<std::vector<std::string>> grad;  // inputs whose gradients are wanted; an empty list: all
  bool train = false;                            // dropout drops
  uint64_t seed = 0;                             // of what it drops
  uint64_t step = 0;
  std::string passes;       // empty: `default`, or those of a plan
  std::string precision;    // of products on a GPU; empty: `highest`, or that of a plan
  std::string machine;      // a GPU that plans are chosen for; empty: the default
  int threads = 0;          // 0: one per processor
  std::string memoryLimit;  // bytes, such as 8G; empty: what the machine has
  bool poison = false;      // memory is filled with NaN wherever nothing should be read
};

struct CompileOptions {
  ModelOptions model;
  std::string graphPath;                         // empty: no graph
  std::string emit;                              // empty: a plan file at `outPath`
  std::string backend;                           // cpu or cuda; empty: cpu, but for --emit cuda
  std::vector<std::string> architectures;        // of GPUs that a plan file has code for, such as sm_90; empty: sm_90
  std::optional<std::vector<std::string>> grad;  // inputs whose gradients are wanted; an empty list: all
  std::string passes;                            // empty: `none` for flow, `default` for the others
  std::string precision;                         // of products on a GPU; empty: `highest`
  std::string machine;                           // a name, `here` or a file; empty: the default
  std::string cache;                             // bytes, such as 32M; empty: the machine's
  bool remarks = false;                          // what passes have to say, to standard error
  bool perOp = false;                            // a summary lists every op
  bool dumpPasses = false;                       // IR after each pass that changed it, to standard error
  std::string outPath;                           // empty: standard output
};

struct BenchCommandOptions {
  std::vector<std::string> files;
  int runs = 0;           // 0: as the file says
  int threads = 0;        // 0: as the file says
  std::string machine;    // empty: as the file says
  std::string backend;    // cpu or cuda; empty: as the file says
  std::string precision;  // of products on a GPU; empty: as the file says
  std::string only;       // part of the names of cells; empty: all
  bool profile = false;
  bool memory = false;
  bool tune = false;
  std::string jsonPath, svgPath;  // empty: none
  std::string keepFolder;         // empty: nothing is kept
  std::string memoryOf;           // a cell whose memory this process measures; empty: it measures times
  std::string graphFile;          // for that cell
};

struct TrainCommandOptions {
  std::string graphPath;
  std::string configPath;            // empty: flags alone
  std::string resumePath;            // a checkpoint to continue; empty: start anew
  std::string outPath;               // where checkpoints go; empty: nowhere
  std::string metricsPath, svgPath;  // empty: none
  std::vector<std::string> layers;   // as `training::parseLayer` takes them; these replace those of the file
  // What replaces the file's value, if it is there.
  std::optional<std::string> task, optimiser, schedule, input, classWeights, passes, backend;
  std::optional<double> rate, decay, dropout, validShare;
  std::optional<int64_t> epochs, patience, evaluate, checkpoint, inputSize;
  std::optional<int64_t> negatives, batch;
  std::optional<uint64_t> seed;
  std::optional<int> threads;
  std::string machine;      // a GPU that plans are chosen for; empty: the default
  bool tune = false;        // launches on a GPU are started in the fastest way
  int64_t numSeeds = 1;     // runs with this many seeds, from the first on
  std::string memoryLimit;  // bytes, such as 8G; empty: what the machine has
  bool isDry = false;       // prints the configuration and ends
  bool isQuiet = false;     // no line per epoch
};

struct InferCommandOptions {
  std::string checkpointPath, graphPath;
  std::string outPath;         // .csv or .safetensors
  std::string embeddingsPath;  // .csv or .safetensors; empty: none
  std::string backend = "cpu";
  std::string machine;  // a GPU that plans are chosen for; empty: the default
  int threads = 0;
  std::string memoryLimit;
};

/// Prints a failure and gives the exit code for it.
int report(const Status &status);

/// Has LLVM throw where it finds no memory, so that `runProgram` reports it; LLVM would end the program. To be called
/// once.
void throwWhereLlvmFindsNoMemory();

int runCommand(const RunOptions &options);
int compileCommand(const CompileOptions &options);
int benchCommand(const BenchCommandOptions &options);
int trainCommand(const TrainCommandOptions &options);
int inferCommand(const InferCommandOptions &options);
int doctorCommand();

}  // namespace hector
