#include "Judge.h"

#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"
#include "driver/Run.h"

#include <algorithm>
#include <cmath>

namespace hector::fuzz {

namespace {

constexpr double kTolerance = 1e-9;
constexpr RunMode kMode = {.isTraining = true, .seed = 1, .step = 1};  // all ways drop the same

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

bool isFinite(const std::vector<Table> &tables) {
  for (const Table &table : tables)
    for (double value : table.values)
      if (!std::isfinite(value))
        return false;
  return true;
}

/// Where two tables differ by more than the tolerance, relative to their largest entry.
std::optional<std::string> difference(const Table &a, const Table &b) {
  double scale = 1.0;
  for (double value : a.values)
    if (std::isfinite(value))
      scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < a.values.size(); ++i) {
    double x = a.values[i], y = b.values[i];
    bool isSame = std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) <= kTolerance * scale
                                                       : std::isfinite(x) == std::isfinite(y);
    if (!isSame)
      return "entry " + std::to_string(i) + " is " + std::to_string(x) + " and " + std::to_string(y) + ", apart by " +
             std::to_string(std::abs(x - y) / scale);
  }
  return std::nullopt;
}

/// Whether a function without groups gives other results if its arguments change in their last bits: it compares
/// numbers that are equal but for rounding.
bool jumps(mlir::func::FuncOp function, const Graph &graph, const std::vector<Table> &arguments,
           const std::vector<Table> &results, uint64_t seed) {
  constexpr int kTries = 32;
  for (int i = 0; i < kTries; ++i) {
    std::vector<Table> moved = arguments;
    for (Table &table : moved)
      for (double &value : table.values) {
        seed = mix(seed);
        value *= 1.0 + (static_cast<double>(seed % 17) - 8.0) * 0x1p-52;
      }
    auto others = interpret(function, graph, std::move(moved), kMode);
    for (size_t k = 0; others && k < results.size(); ++k)
      if (difference(results[k], (*others)[k]))
        return true;
  }
  return false;
}

/// Numbers for the choices that passes make by row counts. They need not be the graph's own: any plan is right. Only
/// what a plan may rest on, that relations join one type to one type, is true.
flow::GraphAttr randomNumbers(mlir::MLIRContext &context, const Graph &graph, uint64_t seed) {
  auto number = [&] {
    seed = mix(seed);
    return static_cast<int64_t>(1 + (seed >> 8) % (uint64_t{1} << (1 + seed % 20)));
  };
  bool isUniform = graph.srcTypeOfRelation() && graph.dstTypeOfRelation();
  int64_t nodes = number(), edges = number(), srcPairs = number(), dstPairs = number(), relations = number();
  return flow::GraphAttr::get(&context, nodes, edges, srcPairs, dstPairs, relations, number(), isUniform, {}, {}, {},
                              {});
}

}  // namespace

Judge::Judge() : context(makeContext()) {}

std::vector<std::string> Judge::ways(uint64_t seed) const {
  // The first is run on ops as they are written, the others on what the importer makes of them.
  std::vector<std::string> all = {"none", "none", "default", "spread-reads,simplify", "compact-rows,simplify"};
  for (std::string_view name : planNames())
    all.emplace_back(name);
  std::vector<std::string_view> passes = passNames();
  all.insert(all.end(), passes.begin(), passes.end());
  // A few passes in any order, some of them twice.
  std::string list;
  for (size_t length = 2 + (seed = mix(seed)) % passes.size(); length > 0; --length)
    list += (list.empty() ? "" : ",") + std::string(passes[(seed = mix(seed)) % passes.size()]);
  all.push_back(list);
  return all;
}

std::optional<Failure> Judge::judge(const TestProgram &test, uint64_t seed, bool checkSlopes) {
  ++counts.programs;
  auto model = parseModel(test.text, "model.hec");
  if (!model)
    return Failure{"refused", model.status().message()};
  auto binding = bind(*model);
  if (!binding)
    return Failure{"refused", binding.status().message()};
  auto bound = bindCase(test.file, model->signature, *binding);
  if (!bound)
    return Failure{"refused", bound.status().message()};
  const Graph &graph = bound->graph;
  ProgramOptions options = {.numbers = NumberType::F64, .gradients = std::vector<std::string>()};
  auto imported = Program::import(*model, *binding, options, context);
  if (!imported)
    return Failure{imported.status().isLocated() ? "refused" : "failed", imported.status().message()};
  // What all ways are compared with: ops as they are written, none folded on the way in.
  options.fold = false;
  auto plain = Program::import(*model, *binding, options, context);
  if (!plain)
    return Failure{"failed", "the model compiles with folds only"};
  // Half of the programs are compiled for their own graph, half for the default one: passes choose otherwise.
  if (mix(seed) & 2)
    if (Status status = imported->attachGraph(graph); !status.isOk())
      return Failure{"failed", status.message()};

  auto forward = plain->function();
  auto inputs = makeArguments(*plain, graph, bound->tensors);
  if (!inputs)
    return Failure{"failed", inputs.status().message()};
  size_t numResults = forward.getNumResults();
  std::vector<Table> upstream;
  for (size_t i = 0; i < numResults; ++i) {
    auto type = mlir::cast<flow::RowsType>(forward.getResultTypes()[i]);
    Table table;
    table.rows = numRows(graph, type.getDomain());
    table.shape.assign(type.getShape().begin(), type.getShape().end());
    table.values =
        numbersFor("grad." + resultName(forward, i).str(), static_cast<size_t>(table.rows * type.getRowSize()));
    upstream.push_back(std::move(table));
  }
  std::vector<Table> arguments = *inputs;
  arguments.insert(arguments.end(), upstream.begin(), upstream.end());

  std::optional<std::vector<Table>> expected;
  for (const std::string &way : ways(seed)) {
    Program copy = (expected ? *imported : *plain).clone();
    seed = mix(seed);
    if (seed & 1)
      copy.function()->setAttr("flow.graph", randomNumbers(*context, graph, seed));
    if (Status status = copy.runPasses(way); !status.isOk())
      return Failure{"failed", "--passes " + way + ": " + status.message()};
    auto function = copy.function();
    auto results = interpret(function, graph, arguments, kMode);
    ++counts.runs;
    if (!results)
      return Failure{"failed", "--passes " + way + ": " + results.status().message()};
    // The same in loops: groups in their own order, rows cut at random places and joined.
    Program loops = copy.clone();
    if (Status status = loops.formGroups(); !status.isOk())
      return Failure{"failed", "--passes " + way + ": " + status.message()};
    RunMode cut = kMode;
    cut.cuts = seed;
    auto grouped = interpret(loops.function(), graph, arguments, cut);
    ++counts.runs;
    if (!grouped)
      return Failure{"failed", "groups of --passes " + way + ": " + grouped.status().message()};
    for (size_t i = 0; i < results->size(); ++i)
      if (auto where = difference((*results)[i], (*grouped)[i])) {
        // Sums in another order are rounded otherwise, which a comparison of equal numbers shows.
        if (jumps(function, graph, arguments, *results, seed)) {
          ++counts.kinks;
          return std::nullopt;
        }
        return Failure{"differs", "`" + resultName(function, i).str() + "` differs with groups after --passes " + way +
                                      ": " + *where};
      }
    if (!expected) {
      expected = std::move(*results);
      continue;
    }
    for (size_t i = 0; i < expected->size(); ++i)
      if (auto where = difference((*expected)[i], (*results)[i]))
        return Failure{"differs", "`" + resultName(function, i).str() +
                                      "` differs between --passes none and --passes " + way + ": " + *where};
  }
  if (!checkSlopes || !isFinite(*expected))
    return std::nullopt;

  // The slope of Σ result · upstream along one random direction of all inputs at once.
  std::vector<std::vector<double>> direction;
  double slope = 0.0, size = 0.0;
  for (size_t i = 0; i < inputs->size(); ++i) {
    direction.push_back(
        numbersFor("direction " + std::to_string(seed) + model->signature.inputs[i].name, (*inputs)[i].values.size()));
    const std::vector<double> &gradient = (*expected)[numResults + i].values;
    slope += dot(gradient, direction[i]);
    for (size_t k = 0; k < gradient.size(); ++k)
      size += std::abs(gradient[k] * direction[i][k]);
  }
  auto lossAt = [&](double step) -> std::optional<double> {
    std::vector<Table> moved = *inputs;
    for (size_t i = 0; i < moved.size(); ++i)
      for (size_t k = 0; k < moved[i].values.size(); ++k)
        moved[i].values[k] += step * direction[i][k];
    auto results = interpret(forward, graph, std::move(moved), kMode);
    if (!results)
      return std::nullopt;
    double loss = 0.0;
    for (size_t i = 0; i < numResults; ++i)
      loss += dot((*results)[i].values, upstream[i].values);
    return loss;
  };
  constexpr double kStep = 1e-5;
  auto here = lossAt(0.0), after = lossAt(kStep), before = lossAt(-kStep);
  auto nearAfter = lossAt(kStep / 4), nearBefore = lossAt(-kStep / 4);
  if (!here || !after || !before || !nearAfter || !nearBefore)
    return Failure{"failed", "the forward function fails where its gradient does not"};
  double right = (*after - *here) / kStep, left = (*here - *before) / kStep;
  double measured = (right + left) / 2, nearer = (*nearAfter - *nearBefore) / (kStep / 2);
  double scale = 1.0 + size + std::abs(slope) + std::abs(*here);
  // Kinks (max, relu, floor) between the two points show as slopes that disagree with themselves. A kink at the point
  // itself, where rows tie, bends the function as much on a quarter of the way; what is smooth bends a quarter as much.
  double bend = right - left, nearBend = (*nearAfter + *nearBefore - 2 * *here) / (kStep / 4);
  if (std::abs(bend) > 1e-3 * scale || std::abs(bend - 4 * nearBend) > 1e-6 * scale ||
      std::abs(measured - nearer) > 1e-6 * scale) {
    ++counts.rough;
    return std::nullopt;
  }
  ++counts.gradientChecks;
  if (std::abs(measured - slope) > 2e-6 * scale)
    return Failure{"gradient", "the function's slope is " + std::to_string(measured) + ", its gradient says " +
                                   std::to_string(slope)};
  return std::nullopt;
}

}  // namespace hector::fuzz
