#include "Judge.h"

#include "Rounding.h"
#include "Ways.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"
#include "driver/Run.h"

#include <algorithm>
#include <cmath>

namespace hector::fuzz {

namespace {

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

}  // namespace

Judge::Judge() : context(makeContext()) {}

std::vector<std::string> Judge::ways(uint64_t seed) const {
  // The first is run on ops as they are written, the others on what the importer makes of them.
  std::vector<std::string> all = {
      "none", "none", "default", "default,-fuse", "spread-reads,simplify", "compact-rows,simplify"};
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

/// A program in one type of number: as the importer makes it, and with ops as they are written, none folded.
struct Judge::Forms {
  Program imported, written;
};

/// What one way gives, without groups and with them.
struct Judge::Outcome {
  Program program;  // without groups
  std::vector<Table> results, grouped;
};

Result<Judge::Outcome> Judge::run(const Program &form, const std::string &way, const Graph &graph,
                                  const std::vector<Table> &arguments, uint64_t seed) {
  Program program = form.clone();
  if (seed & 1)
    program.function()->setAttr("flow.graph", randomNumbers(*context, graph, seed));
  if (seed & 4)
    program.attachMachine(randomMachine(mix(seed)));
  if (Status status = program.runPasses(way); !status.isOk())
    return std::move(status).during("--passes " + way);
  auto results = interpret(program.function(), graph, arguments, kMode);
  ++counts.runs;
  if (!results)
    return std::move(results).status().during("--passes " + way);
  // The same in loops: groups in their own order, rows cut at random places and joined.
  Program loops = program.clone();
  if (Status status = loops.formGroups(); !status.isOk())
    return std::move(status).during("--passes " + way);
  RunMode cut = kMode;
  cut.cuts = seed;
  auto grouped = interpret(loops.function(), graph, arguments, cut);
  ++counts.runs;
  if (!grouped)
    return std::move(grouped).status().during("groups of --passes " + way);
  return Outcome{std::move(program), std::move(*results), std::move(*grouped)};
}

std::optional<Failure> Judge::judge(const TestProgram &test, uint64_t seed, bool checkSlopes) {
  ++counts.programs;
  auto loaded = load(test);
  if (!loaded)
    return Failure{"refused", loaded.status().message()};
  auto &[model, binding, bound] = *loaded;
  const Graph &graph = bound.graph;
  std::vector<Forms> forms;
  for (NumberType type : {NumberType::F64, NumberType::F32}) {
    ProgramOptions options = {.numbers = type, .gradients = std::vector<std::string>()};
    auto imported = Program::import(model, binding, options, context);
    if (!imported)
      return Failure{imported.status().isLocated() ? "refused" : "failed", imported.status().message()};
    options.fold = false;
    auto written = Program::import(model, binding, options, context);
    if (!written)
      return Failure{"failed", "the model compiles with folds only"};
    // Half of the programs are compiled for their own graph, half for the default one: passes choose otherwise.
    if (mix(seed) & 2)
      if (Status status = imported->attachGraph(graph); !status.isOk())
        return Failure{"failed", status.message()};
    forms.push_back({std::move(*imported), std::move(*written)});
  }
  const Forms &wide = forms[0], &narrow = forms[1];

  auto forward = wide.written.function();
  auto inputs = makeArguments(wide.written, graph, bound.tensors);
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

  bool isAtNarrowKink = false;
  std::optional<std::vector<Table>> expected;  // what ops give as they are written; all ways are compared with it
  for (const std::string &way : ways(seed)) {
    seed = mix(seed);
    auto exact = run(expected ? wide.imported : wide.written, way, graph, arguments, seed);
    if (!exact)
      return Failure{"failed", exact.status().message()};
    auto nameOf = [&](size_t i) { return "`" + resultName(exact->program.function(), i).str() + "`"; };
    for (size_t i = 0; i < exact->results.size(); ++i)
      if (auto where = difference(exact->results[i], exact->grouped[i])) {
        // Sums in another order are rounded otherwise, which a comparison of equal numbers shows.
        auto isFar = [&](const std::vector<Table> &others) {
          for (size_t k = 0; k < others.size(); ++k)
            if (difference(exact->results[k], others[k]))
              return true;
          return false;
        };
        if (isAtKink(exact->program, graph, arguments, seed, isFar)) {
          ++counts.kinks;
          return std::nullopt;
        }
        return Failure{"differs", nameOf(i) + " differs with groups after --passes " + way + ": " + *where};
      }
    for (size_t i = 0; expected && i < expected->size(); ++i)
      if (auto where = difference((*expected)[i], exact->results[i]))
        return Failure{"differs", nameOf(i) + " differs between --passes none and --passes " + way + ": " + *where};
    const Program &form = expected ? narrow.imported : narrow.written;
    if (!expected)
      expected = std::move(exact->results);
    // A third of the ways in f32 as well, others for the next program: most of the time goes into compiling.
    if (isAtNarrowKink || (seed >> 8) % 3 != 0)
      continue;
    auto rounded = run(form, way, graph, arguments, seed);
    if (!rounded)
      return Failure{"failed", std::move(rounded).status().during("in f32").message()};
    if (hasParted(*expected, rounded->results)) {
      isAtNarrowKink = true;
    } else if (auto found = findUnexplained(*expected, rounded->results, rounded->grouped)) {
      auto isFar = [&](const std::vector<Table> &others) {
        return !findUnexplained(*expected, others, rounded->grouped);
      };
      if (!isAtKink(rounded->program, graph, arguments, seed, isFar))
        return Failure{"rounding", nameOf(found->table) + " in f32 is " + found->text + ", after --passes " + way};
      isAtNarrowKink = true;
    }
    counts.narrowKinks += isAtNarrowKink;
  }
  if (!checkSlopes || !isFinite(*expected))
    return std::nullopt;

  // The slope of Σ result · upstream along one random direction of all inputs at once.
  std::vector<std::vector<double>> direction;
  double slope = 0.0, size = 0.0;
  for (size_t i = 0; i < inputs->size(); ++i) {
    direction.push_back(
        numbersFor("direction " + std::to_string(seed) + model.signature.inputs[i].name, (*inputs)[i].values.size()));
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
