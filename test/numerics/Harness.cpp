#include "test/numerics/Harness.h"

#include "compiler/Import/Import.h"
#include "interp/Interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>

namespace hector::numerics {

using language::Home;

//===- Graphs ----------------------------------------------------------------------------------------------------===//

int64_t PlainGraph::ntype(int64_t node) const {
  int64_t type = 0;
  while (node >= ntypePtr[type + 1])
    ++type;
  return type;
}

static std::vector<int64_t> edgesWhere(const std::vector<int64_t> &ends, int64_t node) {
  std::vector<int64_t> edges;
  for (size_t e = 0; e < ends.size(); ++e)
    if (ends[e] == node)
      edges.push_back(static_cast<int64_t>(e));
  return edges;
}

std::vector<int64_t> PlainGraph::incoming(int64_t node) const {
  return edgesWhere(dst, node);
}

std::vector<int64_t> PlainGraph::outgoing(int64_t node) const {
  return edgesWhere(src, node);
}

int64_t PlainGraph::rows(Home home) const {
  switch (home) {
  case Home::Node:
    return numNodes();
  case Home::Edge:
    return numEdges();
  case Home::EdgeType:
    return numRelations;
  case Home::NodeType:
    return numNodeTypes();
  case Home::Shared:
    break;
  }
  return 1;
}

Graph PlainGraph::build(IdWidth width) const {
  auto graph = Graph::create(src, dst, etype, ntypePtr, numRelations, width);
  // A graph of a test that is no graph is a mistake of the test.
  if (!graph) {
    ADD_FAILURE() << name << ": " << graph.status().message();
    std::abort();
  }
  return std::move(graph).take();
}

/// The graph with its edges in another order.
static PlainGraph inOrder(PlainGraph graph, const std::vector<size_t> &order) {
  for (std::vector<int64_t> *ids : {&graph.src, &graph.dst, &graph.etype}) {
    std::vector<int64_t> old = *ids;
    for (size_t i = 0; i < order.size(); ++i)
      (*ids)[i] = old[order[i]];
  }
  return graph;
}

/// The graph with its edges in order of their types.
static PlainGraph sorted(PlainGraph graph) {
  std::vector<size_t> order(graph.src.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return graph.etype[a] < graph.etype[b]; });
  return inOrder(std::move(graph), order);
}

/// The graph with its edges in no order at all.
static PlainGraph shuffled(PlainGraph graph, uint64_t seed) {
  std::vector<size_t> order(graph.src.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  graph.name += ", shuffled";
  return inOrder(std::move(graph), order);
}

PlainGraph randomGraph(uint64_t seed, int64_t nodes, int64_t nodeTypes, int64_t edges, int64_t relations) {
  std::mt19937_64 random(seed);
  auto uniform = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  // The smaller of two draws: low ids are common, high ones rare or absent.
  auto skewed = [&](int64_t limit) { return std::min(uniform(limit), uniform(limit)); };
  PlainGraph graph;
  graph.name = "random " + std::to_string(seed);
  graph.numRelations = relations;
  graph.ntypePtr.push_back(0);
  for (int64_t type = 1; type < nodeTypes; ++type)
    graph.ntypePtr.push_back(uniform(nodes + 1));
  graph.ntypePtr.push_back(nodes);
  std::sort(graph.ntypePtr.begin(), graph.ntypePtr.end());
  for (int64_t e = 0; e < edges; ++e) {
    if (e > 0 && uniform(3) == 0) {
      int64_t again = uniform(e);
      graph.src.push_back(graph.src[again]);
      graph.dst.push_back(graph.dst[again]);
      graph.etype.push_back(uniform(2) ? graph.etype[again] : skewed(relations));
      continue;
    }
    graph.src.push_back(uniform(nodes));
    graph.dst.push_back(uniform(10) == 0 ? graph.src.back() : skewed(nodes));
    graph.etype.push_back(skewed(relations));
  }
  return sorted(std::move(graph));
}

std::vector<PlainGraph> unkindGraphs() {
  std::vector<PlainGraph> graphs = {
      {"no nodes", {}, {}, {}, {0, 0}, 1},
      {"no edges", {}, {}, {}, {0, 3, 3, 5}, 2},
      {"one node", {}, {}, {}, {0, 1}, 1},
      {"one edge", {2}, {0}, {1}, {0, 0, 4}, 3},
      {"one loop", {0}, {0}, {0}, {0, 1}, 1},
      {"repeated edges", {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 2}, {0, 1, 2}, 4},
      {"star", {1, 2, 3, 4, 5, 6, 0}, {0, 0, 0, 0, 0, 0, 6}, {0, 0, 1, 1, 2, 2, 2}, {0, 1, 7}, 3},
  };
  graphs.push_back(randomGraph(1, 9, 3, 14, 5));
  graphs.push_back(randomGraph(2, 23, 4, 60, 7));
  graphs.push_back(randomGraph(3, 5, 1, 40, 2));
  graphs.push_back(randomGraph(4, 31, 6, 20, 9));
  graphs.push_back(shuffled(randomGraph(5, 11, 3, 50, 6), 5));
  graphs.push_back(shuffled(randomGraph(6, 7, 2, 30, 40), 6));
  return graphs;
}

PlainGraph plainGraph(const Graph &graph, const std::string &name) {
  PlainGraph plain;
  plain.name = name;
  for (auto [ids, from] : {std::pair(&plain.src, &graph.src()), std::pair(&plain.dst, &graph.dst()),
                           std::pair(&plain.etype, &graph.etype())}) {
    ids->resize(static_cast<size_t>(graph.numEdges()));
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      (*ids)[static_cast<size_t>(graph.edgeNumber(e))] = (*from)[e];
  }
  plain.ntypePtr.assign(graph.ntypePtr().begin(), graph.ntypePtr().end());
  plain.numRelations = graph.numRelations();
  return plain;
}

//===- Models ----------------------------------------------------------------------------------------------------===//

Result<Model> loadFile(const std::string &path) {
  return loadModel(std::string(HECTOR_SOURCE_DIR) + "/" + path);
}

Result<Model> parseModel(const std::string &text) {
  return hector::parseModel(text, "model.hec");
}

Result<language::Binding> bindAll(const Model &model, const Settings &settings) {
  auto binding = bind(model, settings);
  for (const language::SizeDecl &size : model.signature.sizes)
    if (binding && !binding->sizes.count(size.name))
      return Status::invalid("size `" + size.name + "` is not set");
  return binding;
}

Tables randomInputs(const Model &model, const language::Binding &binding, const PlainGraph &graph, uint64_t seed,
                    double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, scale);
  Tables tables;
  for (const language::InputDecl &input : model.signature.inputs) {
    language::Diagnostics diagnostics;
    auto shape = language::rowShape(input, binding, diagnostics);
    if (!shape) {
      ADD_FAILURE() << diagnostics.render();
      continue;
    }
    Table table;
    table.rows = graph.rows(input.home);
    table.shape = *shape;
    int64_t size = std::accumulate(shape->begin(), shape->end(), table.rows, std::multiplies<>());
    for (int64_t i = 0; i < size; ++i)
      table.values.push_back(normal(random));
    tables[input.name] = std::move(table);
  }
  return tables;
}

Result<Program> compileModel(const Model &model, const Settings &settings) {
  auto binding = bindAll(model, settings);
  if (!binding)
    return std::move(binding).status();
  ProgramOptions options = {.numbers = settings.numbers, .gradients = {}};
  if (settings.grad)
    options.gradients.emplace();
  auto program = Program::import(model, *binding, options);
  if (!program)
    return program;
  if (Status status = program->runPasses(settings.passes); !status.isOk())
    return status;
  return program;
}

Result<Tables> runModel(const Model &model, const Settings &settings, const PlainGraph &graph, const Tables &inputs) {
  auto program = compileModel(model, settings);
  if (!program)
    return std::move(program).status();
  auto function = program->function();
  Graph built = graph.build();
  std::vector<Table> arguments;
  for (size_t i = 0; i < function.getNumArguments(); ++i) {
    std::string name = inputName(function, i).str();
    if (auto found = inputs.find(name); found != inputs.end()) {
      arguments.push_back(found->second);
      continue;
    }
    if (model.signature.findInput(name))
      return Status::invalid("input `" + name + "` has no table");
    auto type = mlir::cast<flow::RowsType>(function.getArgumentTypes()[i]);
    int64_t count = numRows(built, type.getDomain());
    arguments.push_back({count, {type.getShape().begin(), type.getShape().end()}, {}});
    arguments.back().values.assign(count * type.getRowSize(), 0.0);
  }
  auto results = interpret(function, built, std::move(arguments), settings.mode);
  if (!results)
    return std::move(results).status();
  Tables named;
  for (size_t i = 0; i < results->size(); ++i)
    named[resultName(function, i).str()] = std::move((*results)[i]);
  return named;
}

//===- Golden cases ----------------------------------------------------------------------------------------------===//

std::vector<std::string> goldenNames() {
  return {"gat_small", "gcn_small", "hgt_small", "rgat_heads_small", "rgat_small", "rgcn_small", "sage_small"};
}

std::string goldenPath(const std::string &name) {
  return std::string(HECTOR_SOURCE_DIR "/../shared/golden/") + name + ".safetensors";
}

bool hasGolden(const std::string &name) {
  return std::filesystem::exists(goldenPath(name));
}

Result<Golden> loadGolden(const std::string &name, const std::string &modelPath) {
  auto model = loadFile(modelPath);
  if (!model)
    return std::move(model).status();
  auto file = readSafetensors(goldenPath(name));
  if (!file)
    return std::move(file).status();
  auto binding = bind(*model);
  if (!binding)
    return std::move(binding).status();
  auto bound = bindCase(*file, model->signature, *binding);
  if (!bound)
    return std::move(bound).status();
  return Golden{std::move(*model), std::move(*binding), std::move(*file), std::move(*bound)};
}

std::pair<Tables, Tables> Golden::compared(const std::vector<NamedTensor> &results) const {
  Tables actual, expected;
  for (const auto &[name, tensor] : results) {
    const Tensor *stored = file.find(name);
    if (!stored)  // an input without a golden gradient
      continue;
    EXPECT_EQ(tensor.shape, stored->shape) << name;
    actual[name] = {tensor.numElements(), {}, tensor.toDoubles()};
    expected[name] = {stored->numElements(), {}, stored->toDoubles()};
  }
  return {std::move(actual), std::move(expected)};
}

//===- Comparing -------------------------------------------------------------------------------------------------===//

void expectClose(const Tables &actual, const Tables &expected, double tolerance, double least) {
  for (const auto &[name, table] : actual)
    EXPECT_TRUE(expected.count(name)) << "the model also gives `" << name << "`";
  for (const auto &[name, table] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) {
      ADD_FAILURE() << "the model gives no `" << name << "`";
      continue;
    }
    EXPECT_EQ(found->second.rows, table.rows) << name;
    EXPECT_EQ(found->second.shape, table.shape) << name;
    ASSERT_EQ(found->second.values.size(), table.values.size()) << name;
    double largest = 0.0;
    for (double value : table.values)
      largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < table.values.size(); ++i) {
      double error = std::abs(found->second.values[i] - table.values[i]);
      ASSERT_TRUE(error <= std::max(tolerance * largest, least))
          << name << " at " << i << ": " << found->second.values[i] << ", but the formula gives " << table.values[i];
    }
  }
}

}  // namespace hector::numerics
