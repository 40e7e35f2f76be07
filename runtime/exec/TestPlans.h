/// Plans with kernels written by hand, for tests of the executor.
#pragma once

#include "runtime/exec/Executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace hector::exec {

using Ids = std::vector<int64_t>;

/// Edges as a file has them.
struct TestGraph {
  std::string name;
  Ids src, dst, etype;
  Ids ntypePtr;
  int64_t numRelations = 0;

  int64_t numNodes() const { return ntypePtr.back(); }
  int64_t numEdges() const { return static_cast<int64_t>(src.size()); }
  Graph make(IdWidth width = IdWidth::Fitting) const {
    Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, numRelations, width);
    EXPECT_TRUE(graph) << graph.status().message();
    return *graph;
  }
};

/// Low ids are busier; some nodes and types stay empty.
inline TestGraph randomGraph(std::string name, int seed, int64_t numNodes, int64_t numEdges, int64_t numRelations) {
  std::mt19937_64 random(seed);
  auto draw = [&](int64_t count) {
    const double x = std::uniform_real_distribution<>(0, 1)(random);
    return static_cast<int64_t>(x * x * static_cast<double>(count));
  };
  TestGraph graph{std::move(name), {}, {}, {}, {0, numNodes / 3, numNodes}, numRelations};
  for (int64_t e = 0; e < numEdges; ++e) {
    graph.src.push_back(draw(numNodes));
    graph.dst.push_back(draw(numNodes));
    graph.etype.push_back(draw(numRelations));
  }
  return graph;
}

inline std::vector<TestGraph> unkindGraphs() {
  TestGraph sorted = randomGraph("Sorted", 5, 40, 300, 7);
  std::sort(sorted.etype.begin(), sorted.etype.end());
  return {{"Nothing", {}, {}, {}, {0}, 0},
          {"NoEdges", {}, {}, {}, {0, 2, 5}, 3},
          {"OneEdge", {2}, {1}, {1}, {0, 4}, 3},
          {"Repeated", {3, 3, 3, 1, 3}, {1, 1, 1, 1, 1}, {1, 0, 1, 1, 0}, {0, 5}, 2},
          {"EmptyTypes", {0, 1, 2, 0}, {2, 2, 2, 2}, {4, 1, 4, 1}, {0, 0, 3, 3}, 6},
          randomGraph("Small", 1, 30, 200, 5),
          randomGraph("ManyTypes", 2, 50, 300, 90),
          randomGraph("MostlyIsolated", 3, 3000, 200, 4),
          sorted};
}

/// The symbols of kernels and joins.
using Kernels = std::map<std::string, void *>;

template <class F> void *symbol(F *function) {
  return reinterpret_cast<void *>(function);
}

inline KernelLookup lookupIn(Kernels kernels) {
  return [kernels = std::move(kernels)](const std::string &name) {
    auto found = kernels.find(name);
    return found == kernels.end() ? nullptr : found->second;
  };
}

template <class T> T *rowsOf(const cpu::Frame &frame, int table) {
  return static_cast<T *>(frame.tables[table]);
}
template <class Id> const Id *idsOf(const cpu::Frame &frame, int form) {
  return static_cast<const Id *>(frame.forms[form]);
}

inline Form form(const std::string &name) {
  std::optional<Form> found = formFromName(name);
  EXPECT_TRUE(found) << name;
  return found.value_or(Form());
}

/// Numbers that differ from row to row, exact in float.
inline std::vector<double> numbers(int64_t count, int seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(static_cast<int64_t>(random() % 2001) - 1000) / 256);
  return values;
}

/// A weighted sum over incoming edges, and sums by type.
///
///   graph     inDegree[n]  = number of incoming edges
///   weights   twice        = 2 · scale
///   forward   h[n]         = twice · x[n]
///             out[n]       = Σ over edges into n of w[e] · h[src] + inDegree[n]
///             byType[r]    = Σ over edges of type r of w[e]            (sorted by type)
///   backward  gx[n]        = twice · gout[n]
///             gtype[r]     = Σ over edges of type r of gx[dst]         (by destination: not sorted)
namespace example {

enum Table { X, W, Scale, GOut, InDegree, Twice, H, Out, ByType, Gx, GType, WByType, NumTables };

template <class Id> void inDegree(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  for (int64_t n = begin; n < end; ++n)
    rowsOf<float>(frame, 0)[n] = static_cast<float>(idsOf<Id>(frame, 0)[n + 1] - idsOf<Id>(frame, 0)[n]);
}

inline void twice(const cpu::Frame &frame, int64_t, int64_t, int64_t, void *) {
  rowsOf<float>(frame, 1)[0] = 2 * rowsOf<float>(frame, 0)[0];
}

inline void scaleRows(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *) {
  for (int64_t i = 2 * begin; i < 2 * end; ++i)
    rowsOf<float>(frame, 2)[i] = rowsOf<float>(frame, 1)[0] * rowsOf<float>(frame, 0)[i];
}

/// Goes through scratch memory with one row per edge of the node.
template <class Id> void gather(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t, void *scratch) {
  const Id *starts = idsOf<Id>(frame, 0), *sources = idsOf<Id>(frame, 1);
  const float *h = rowsOf<float>(frame, 0), *w = rowsOf<float>(frame, 1), *degree = rowsOf<float>(frame, 2);
  float *out = rowsOf<float>(frame, 3), *products = static_cast<float *>(scratch);
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t e = starts[n]; e < starts[n + 1]; ++e)
      for (int64_t k = 0; k < 2; ++k)
        products[2 * (e - starts[n]) + k] = w[e] * h[2 * sources[e] + k];
    for (int64_t k = 0; k < 2; ++k) {
      float sum = degree[n];
      for (int64_t e = starts[n]; e < starts[n + 1]; ++e)
        sum += products[2 * (e - starts[n]) + k];
      out[2 * n + k] = sum;
    }
  }
}

/// Rows of totals have 16 numbers, of which the first is used.
template <class Id> void sumByType(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *) {
  const Id *starts = idsOf<Id>(frame, 0);
  auto *totals = static_cast<float *>(frame.totals[0].rows);
  int64_t type = std::upper_bound(starts, starts + frame.rows[cpu::EdgeType] + 1, begin) - starts - 1;
  for (int64_t e = begin; e < end; ++type) {
    if (starts[type + 1] <= e)
      continue;
    float &sum = totals[16 * (piece + type)];
    sum = 0;
    for (; e < std::min<int64_t>(end, starts[type + 1]); ++e)
      sum += rowsOf<float>(frame, 0)[e];
  }
}
template <class Id> void joinByType(const cpu::Frame &frame, int64_t begin, int64_t end) {
  const Id *starts = idsOf<Id>(frame, 0);
  const auto *totals = static_cast<const float *>(frame.totals[0].rows);
  for (int64_t type = begin; type < end; ++type) {
    float sum = 0;
    if (starts[type] < starts[type + 1])
      for (int64_t piece = starts[type] / frame.grain; piece <= (starts[type + 1] - 1) / frame.grain; ++piece)
        sum += totals[16 * (piece + type)];
    rowsOf<float>(frame, 1)[type] = sum;
  }
}

/// Tables: gx, gtype.
template <class Id> void sumUnsorted(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t piece, void *) {
  const int64_t types = frame.rows[cpu::EdgeType];
  float *totals = static_cast<float *>(frame.totals[0].rows) + 16 * piece * types;
  for (int64_t type = 0; type < types; ++type)
    totals[16 * type] = 0;
  for (int64_t e = begin; e < end; ++e)
    totals[16 * idsOf<Id>(frame, 0)[e]] += rowsOf<float>(frame, 0)[2 * idsOf<Id>(frame, 1)[e]];
}
inline void joinUnsorted(const cpu::Frame &frame, int64_t begin, int64_t end) {
  const int64_t types = frame.rows[cpu::EdgeType];
  const auto *totals = static_cast<const float *>(frame.totals[0].rows);
  for (int64_t type = begin; type < end; ++type) {
    float sum = 0;
    for (int64_t piece = 0; piece < frame.pieces; ++piece)
      sum += totals[16 * (piece * types + type)];
    rowsOf<float>(frame, 1)[type] = sum;
  }
}

template <class Id> Kernels kernels() {
  return {{"in_degree", symbol(inDegree<Id>)},       {"twice", symbol(twice)},
          {"scale_rows", symbol(scaleRows)},         {"gather", symbol(gather<Id>)},
          {"sum_by_type", symbol(sumByType<Id>)},    {"join_by_type", symbol(joinByType<Id>)},
          {"sum_unsorted", symbol(sumUnsorted<Id>)}, {"join_unsorted", symbol(joinUnsorted)}};
}
inline KernelLookup lookup(bool isWide = false) {
  return lookupIn(isWide ? kernels<int64_t>() : kernels<int32_t>());
}

/// Each launch is cut into as many pieces as allowed.
inline Plan plan(bool isWide = false) {
  constexpr double kCost = 1 << 15;
  Plan plan;
  plan.name = "example";
  plan.wideIds = isWide;
  plan.tables.resize(NumTables);
  plan.tables[X] = {"x", Domain::Node, {2}};
  plan.tables[W] = {"w", Domain::Edge, {}, Storage::F32, Order::ByDst};
  plan.tables[WByType] = {"v", Domain::Edge, {}, Storage::F32, Order::ByType};
  plan.tables[Scale] = {"scale", Domain::One, {1}};
  plan.tables[GOut] = {"grad.out", Domain::Node, {2}};
  plan.tables[InDegree] = {"in_degree", Domain::Node, {}};
  plan.tables[Twice] = {"twice", Domain::One, {1}};
  plan.tables[H] = {"h", Domain::Node, {2}};
  plan.tables[Out] = {"out", Domain::Node, {2}};
  plan.tables[ByType] = {"by_type", Domain::EdgeType, {}};
  plan.tables[Gx] = {"gx", Domain::Node, {2}};
  plan.tables[GType] = {"gtype", Domain::EdgeType, {}};
  plan.inputs = {{"x", X}, {"w", W}, {"v", WByType}, {"scale", Scale}, {"grad.out", GOut}};
  plan.outputs = {{"out", Out}, {"by_type", ByType}, {"gx", Gx}, {"gtype", GType}, {"w", W}};
  plan.relationEnds = {};
  auto add = [&](Phase phase, Launch launch) {
    launch.label = launch.kernel;
    launch.unitCost = kCost;
    plan.steps.push_back({phase, std::move(launch)});
  };
  add(Phase::Graph,
      {.kernel = "in_degree", .domain = Domain::Node, .outputs = {InDegree}, .forms = {form("edges.dst")}});
  add(Phase::Weights, {.kernel = "twice", .domain = Domain::One, .inputs = {Scale}, .outputs = {Twice}});
  add(Phase::Forward, {.kernel = "scale_rows", .domain = Domain::Node, .inputs = {X, Twice}, .outputs = {H}});
  add(Phase::Forward, {.kernel = "gather",
                       .domain = Domain::Node,
                       .balance = form("edges.dst"),
                       .inputs = {H, W, InDegree},
                       .outputs = {Out},
                       .forms = {form("edges.dst"), form("edge_src.dst")},
                       .scratch = {.bytes = 0, .bytesPerRow = 8, .domain = Domain::Edge}});
  add(Phase::Forward, {.kernel = "sum_by_type",
                       .domain = Domain::Edge,
                       .inputs = {WByType},
                       .outputs = {ByType},
                       .forms = {form("types.edge")},
                       .totals = {{TotalSpec::Slots::Sorted, Domain::EdgeType, 64, "join_by_type"}}});
  add(Phase::Backward, {.kernel = "scale_rows", .domain = Domain::Node, .inputs = {GOut, Twice}, .outputs = {Gx}});
  add(Phase::Backward, {.kernel = "sum_unsorted",
                        .domain = Domain::Edge,
                        .inputs = {Gx},
                        .outputs = {GType},
                        .forms = {form("edge_type.dst"), form("edge_dst.dst")},
                        .totals = {{TotalSpec::Slots::Full, Domain::EdgeType, 64, "join_unsorted"}}});
  return plan;
}

/// The same for a GPU, with kernels that do not exist.
inline Plan devicePlan() {
  Plan made = plan();
  for (Step &step : made.steps)
    step.launch.device.emplace().schedule = step.launch.totals.empty() ? Schedule::Units : Schedule::Pieces;
  return made;
}

/// Inputs for a graph, and what comes out.
struct Values {
  std::vector<double> x, w, scale, gout;

  explicit Values(const TestGraph &graph)
      : x(numbers(graph.numNodes() * 2, 1)), w(numbers(graph.numEdges(), 2)), scale({1.5}),
        gout(numbers(graph.numNodes() * 2, 3)) {}

  std::vector<double> out(const TestGraph &graph) const {
    std::vector<double> sums(x.size());
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      for (int64_t k = 0; k < 2; ++k)
        sums[2 * graph.dst[e] + k] += w[e] * 2 * scale[0] * x[2 * graph.src[e] + k] + 1;
    return sums;
  }
  std::vector<double> byType(const TestGraph &graph) const {
    std::vector<double> sums(static_cast<size_t>(graph.numRelations));
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      sums[graph.etype[e]] += w[e];
    return sums;
  }
  std::vector<double> gtype(const TestGraph &graph) const {
    std::vector<double> sums(static_cast<size_t>(graph.numRelations));
    for (int64_t e = 0; e < graph.numEdges(); ++e)
      sums[graph.etype[e]] += 2 * scale[0] * gout[2 * graph.dst[e]];
    return sums;
  }
  template <class SomeExecutor>
  void setAll(SomeExecutor &executor, const TestGraph &graph, DType dtype = DType::F32) const {
    auto set = [&](const char *name, Ids shape, const std::vector<double> &values) {
      Status status = executor.setInput(name, Tensor::fromDoubles(std::move(shape), values, dtype));
      EXPECT_TRUE(status.isOk()) << status.message();
    };
    set("x", {graph.numNodes(), 2}, x);
    set("w", {graph.numEdges()}, w);
    set("v", {graph.numEdges()}, w);
    set("scale", {1}, scale);
    set("grad.out", {graph.numNodes(), 2}, gout);
  }
};

inline Executor makeExecutor(const TestGraph &graph, const ExecOptions &options = {},
                             IdWidth width = IdWidth::Fitting) {
  const bool isWide = width == IdWidth::Wide;
  auto executor = Executor::create(std::make_shared<Plan>(plan(isWide)), lookup(isWide), graph.make(width), options);
  EXPECT_TRUE(executor) << executor.status().message();
  return std::move(*executor);
}

}  // namespace example

}  // namespace hector::exec
