/// Runs model files on small graphs, for tests that compare them with formulas written out as loops or stored results.
///
/// A test makes a graph (`randomGraph`, `unkindGraphs`), loads a model (`loadFile`, `parseModel`), makes inputs for its
/// signature
/// (`randomInputs`), runs it (`runModel`) and compares tables by name (`expectClose`). Nothing here knows any layer.
#pragma once

#include "driver/Run.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hector::numerics {

/// A graph as plain arrays, for formulas to loop over.
struct PlainGraph {
  std::string name;
  std::vector<int64_t> src, dst, etype;  // one per edge, in any order
  std::vector<int64_t> ntypePtr;
  int64_t numRelations = 0;

  int64_t numNodes() const { return ntypePtr.back(); }
  int64_t numEdges() const { return static_cast<int64_t>(src.size()); }
  int64_t numNodeTypes() const { return static_cast<int64_t>(ntypePtr.size()) - 1; }
  int64_t ntype(int64_t node) const;
  /// Edge ids that end (start) at a node, in increasing order.
  std::vector<int64_t> incoming(int64_t node) const;
  std::vector<int64_t> outgoing(int64_t node) const;
  /// The rows that an input has on this graph.
  int64_t rows(language::Home home) const;
  Graph build(IdWidth width = IdWidth::Fitting) const;
};

/// A graph with `nodes` nodes and `edges` edges of random ends and types. Few nodes and types get most of the edges, so
/// that some stay empty; a third of the edges repeat an earlier one, a tenth are loops. Edges are sorted by type.
PlainGraph randomGraph(uint64_t seed, int64_t nodes, int64_t nodeTypes, int64_t edges, int64_t relations);

/// The graphs that find mistakes: no nodes, no edges, one node, one edge, a loop alone, repeated edges, a star, and
/// random ones of several sizes, some with edges that are not sorted by type. Each has its own name.
std::vector<PlainGraph> unkindGraphs();

/// A graph as plain arrays, with its edges in the order that they came in.
PlainGraph plainGraph(const Graph &graph, const std::string &name);

/// Tables by name: the inputs of a model, or its results.
using Tables = std::map<std::string, Table>;

/// How a model is bound, compiled and run.
struct Settings : hector::Settings {
  NumberType numbers = NumberType::F64;
  std::string passes = "none";
  bool grad = false;  // also derive the gradients of all inputs
  RunMode mode;       // inference, unless it says otherwise
};

/// A model file of this repository, by its path from the root: "models/rgcn.hec".
Result<Model> loadFile(const std::string &path);
/// A model given as text; messages call it "model.hec".
Result<Model> parseModel(const std::string &text);

/// The attributes and sizes that `settings` gives; every size must be among them.
Result<language::Binding> bindAll(const Model &model, const Settings &settings);

/// Random values for every input, roughly normal with deviation `scale`; the same for the same seed.
Tables randomInputs(const Model &model, const language::Binding &binding, const PlainGraph &graph, uint64_t seed,
                    double scale = 0.7);

/// The model with its passes.
Result<Program> compileModel(const Model &model, const Settings &settings);

/// Compiles, interprets, and gives the results by name. With `grad`, `inputs` also holds `grad.RESULT` (zero
/// where absent), and the results `grad.INPUT`.
Result<Tables> runModel(const Model &model, const Settings &settings, const PlainGraph &graph, const Tables &inputs);

/// A golden case: inputs, results and gradients that were computed elsewhere, bound to a model.
struct Golden {
  Model model;
  language::Binding binding;
  TensorFile file;
  Case bound;

  /// The results that the file has as well, all as flat tables: actual and expected.
  std::pair<Tables, Tables> compared(const std::vector<NamedTensor> &results) const;
};
std::vector<std::string> goldenNames();
/// Where a case lies, and whether it is there: golden cases are not part of the repository.
std::string goldenPath(const std::string &name);
bool hasGolden(const std::string &name);
/// Reads a case for a model file of this repository.
Result<Golden> loadGolden(const std::string &name, const std::string &modelPath);

/// Adds a test failure where a table is missing, has another shape, or differs by more than `tolerance` times its
/// largest expected entry, or `least` where that is more: what is left where everything cancels is rounding. NaN
/// differs from everything.
void expectClose(const Tables &actual, const Tables &expected, double tolerance, double least = 0.0);

}  // namespace hector::numerics
