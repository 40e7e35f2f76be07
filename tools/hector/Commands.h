/// What each subcommand is asked to do. A command prints what is wrong and returns the exit code:
/// 0 fine, 1 the machine failed (disk, memory), 2 the user can fix it (model, files, options).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hector {

inline constexpr int kExitFine = 0;
inline constexpr int kExitMachine = 1;
inline constexpr int kExitUser = 2;

/// Options that say which model is meant and how it is bound.
struct ModelOptions {
  std::string path;
  std::string entry;
  std::vector<std::string> settings;  // --set NAME=VALUE
  std::vector<std::string> sizes;     // --size NAME=NUMBER
  std::string dtype;                  // empty: the backend's own
};

struct RunOptions {
  ModelOptions model;
  std::string casePath;
  std::string outPath;
  std::string backend;  // empty: the best there is
  bool grad = false;
  std::string gradInputs;  // those whose gradients are wanted, separated by commas; empty: all
  bool train = false;      // dropout drops
  uint64_t seed = 0;       // of what it drops
  uint64_t step = 0;
  std::string passes = "default";
};

struct CompileOptions {
  ModelOptions model;
  std::string graphPath;  // empty: no graph
  std::string emit;
  bool grad = false;
  std::string gradInputs;   // those whose gradients are wanted, separated by commas; empty: all
  std::string passes;       // empty: `none` for flow, `default` for the others
  std::string cache;        // bytes, such as 32M; empty: the default
  bool remarks = false;     // what passes have to say, to standard error
  bool perOp = false;       // a summary lists every op
  bool dumpPasses = false;  // IR after each pass that changed it, to standard error
  std::string outPath;      // empty: standard output
};

int runCommand(const RunOptions &options);
int compileCommand(const CompileOptions &options);
int doctorCommand();

}  // namespace hector
