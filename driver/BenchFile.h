/// Benchmarks as data: what is measured, on which graphs, in which ways. Reads the TOML files that `hector bench`
/// takes. No MLIR.
///
///   model   = ["../../models/rgcn.hec", "../../models/hgt.hec"]
///   graph   = [{ folder = "data/aifb", preset = "dgl-aifb" }, { kind = "skewed", nodes = 10000, edges = 50000 }]
///   size    = 64
///   phase   = ["inference", "training"]
///   sweep   = { passes = ["none", "default"] }
///   measure = { warmup = 3, runs = 15 }
///   verify  = { against = "reference", rtol = 1e-3 }
///
/// Every combination of a model, a graph, a phase and values of the sweep is a cell. Cells that differ only in how they
/// compute (`passes`, `dtype`, `precision`, `threads`) are a round: they are run in turns, so that other work on the
/// machine meets all of them.
#pragma once

#include "driver/Model.h"
#include "runtime/base/Status.h"
#include "runtime/data/Import.h"
#include "runtime/graph/Synthetic.h"
#include "runtime/machine/Machine.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hector {

struct BenchModel {
  std::string name;  // that of the file, without folder and ending
  std::string path;
  Model model;
};

struct BenchGraph {
  std::string name;
  /// A graph file, a folder to import, or a graph to make.
  std::variant<std::string, ImportOptions, SyntheticOptions> source;
};

enum class BenchPhase : uint8_t { Inference, Training };
/// "inference" or "training".
std::string_view phaseName(BenchPhase phase);

enum class BenchBackend : uint8_t { Cpu, Cuda };

/// What cells of a round may differ in.
struct BenchWay {
  std::string passes = "default";
  std::string dtype = "f32";          // f64, f32, bf16 or f16
  std::string precision = "highest";  // of products on a GPU: highest, high or medium
  int threads = 0;                    // of the CPU; 0: one per processor

  bool operator==(const BenchWay &) const = default;
};

struct BenchCell {
  size_t model = 0, graph = 0;  // indices into those of the file
  BenchPhase phase = BenchPhase::Inference;
  Settings settings;
  BenchWay way;
  std::vector<std::pair<std::string, std::string>> swept;  // what the sweep chose, in the order of the file
};

/// A number that a table of results shows.
enum class BenchColumn : uint8_t { Median, P95, Min, Prepare, First, Bandwidth, Rate, Peak, Predicted, Error };
struct BenchColumnInfo {
  BenchColumn column;
  std::string_view key;    // in files: "median_ms"
  std::string_view title;  // of the table: "median ms"
};
std::span<const BenchColumnInfo> benchColumns();

enum class BenchJudge : uint8_t {
  Reference,    // compiled without passes, in f64
  Interpreter,  // the interpreter, in f64
};

struct BenchFile {
  std::string path;
  BenchBackend backend = BenchBackend::Cpu;
  std::vector<BenchModel> models;
  std::vector<BenchGraph> graphs;
  std::vector<std::string> absent;             // graphs marked as optional that are not there
  std::vector<std::vector<BenchCell>> rounds;  // in the order in which they run
  int warmup = 3, runs = 15;
  std::vector<BenchColumn> report = {BenchColumn::Median, BenchColumn::P95, BenchColumn::Bandwidth, BenchColumn::Peak};
  BenchJudge judge = BenchJudge::Reference;
  double rtol = 1e-3;  // of the largest number of a result; sums of thousands of f32 in another order
  uint64_t seed = 1;   // of inputs
  MachineDescription machine = defaultMachine();  // that plans are chosen for: a GPU if `backend` is one

  bool reports(BenchColumn column) const;
};

/// What a command line says instead of the file.
struct BenchOverrides {
  std::optional<BenchBackend> backend;
  std::string machine;  // as `findMachine` takes it; empty: that of the file
};

/// Reads a benchmark and the models that it names; paths are relative to the file. What is wrong is reported with its
/// places in the file: unknown and missing keys, values of the wrong kind, files that are not there, names that no
/// model has.
Result<BenchFile> readBenchFile(const std::string &path, const BenchOverrides &overrides = {});
/// The same on a text; `path` is what messages call it, and where paths start.
Result<BenchFile> parseBenchFile(std::string text, const std::string &path, const BenchOverrides &overrides = {});

}  // namespace hector
