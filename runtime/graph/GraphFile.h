/// A graph and what belongs to it (names, types, features, labels, splits) as one safetensors file.
///
/// Tensors: `graph.src`, `graph.dst`, `graph.etype` (I32 where ids fit, else I64; edges in any order) and
/// `graph.ntype_ptr` (I64); `names.bytes` (U8) and `names.offsets` (I64, nodes + 1): the nodes' names, UTF-8, one after
/// the other; `feat.TYPE` (F32, a row for each node of that type) and `x` (F32, a row for each node) where all types
/// share one width; `label` (I64) and `label.node` (I64, node ids): the labelled nodes; `split.train`, `split.valid`,
/// `split.test` (I64, node ids); `edge.split` (U8: 0 train, 1 valid, 2 test), one per edge in the order of `graph.src`.
/// If nodes have several labels each, `label` (F32) has one row per labelled node and one column per class: 1 if the
/// node is of that class, else 0. All but the first two are optional. Metadata: `hector.format` is "graph/1";
/// `node_types`, `edge_types` and `label_names` are JSON arrays; `source` says where the graph came from. If the
/// metadata names types, there are as many as it names, with edges or without.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// A relation: its name, and the names of the node types it joins (empty where it joins several).
struct EdgeType {
  std::string name;
  std::string src;
  std::string dst;
  int64_t inverseOf = -1;  // the relation that this one turns round; -1: none

  bool operator==(const EdgeType &) const = default;
};

/// Everything a graph file holds but the graph's derived forms. Copies share the tensors' bytes.
struct GraphContents {
  TensorFile tensors;  // metadata other than the fields below is kept
  std::vector<std::string> nodeTypes;
  std::vector<EdgeType> edgeTypes;  // empty where a file without names has more of them than edges
  std::vector<std::string> labelNames;
  std::string source;

  bool hasNames() const { return tensors.find("names.offsets") != nullptr; }
  /// The name of a node, empty where the file has none. The view lives as long as the contents.
  std::string_view nodeName(int64_t node) const;
};

struct GraphFile : GraphContents {
  GraphFile(GraphContents contents, Graph graph) : GraphContents(std::move(contents)), graph(std::move(graph)) {}
  Graph graph;
  /// Where the graph has only some of the edges: their numbers among all, of which tensors have a row each.
  std::optional<std::vector<int64_t>> edges;
};

/// The graph alone, with as many edge types as the metadata names; where it names none, `numRelations`. Numbers that
/// are negative are worked out as `Graph::fromTensors` does; a graph file without node types has as many nodes as rows
/// in `x`. Fails where the metadata names another number of node types than the graph has.
Result<Graph> readGraph(const TensorFile &tensors, int64_t numRelations = -1, int64_t numNodes = -1);
/// Tells a graph which node types its relations join, as the metadata names them. Fails if the metadata is not
/// understood, or if edges contradict it.
Status nameEnds(const TensorFile &tensors, Graph &graph);
/// How many edge types the metadata names, -1 where it names none. Fails where it is not understood.
Result<int64_t> numNamedRelations(const TensorFile &tensors);

/// Whether tensors come from a file that calls itself a graph file, and so keeps the promises of one.
bool isGraphFile(const TensorFile &tensors);
/// Fails if what a graph file holds besides its graph, which is `graph`, is not sound. Checks what `loadGraphFile`
/// does.
Status checkContents(const TensorFile &tensors, const Graph &graph);

/// Maps a file and checks all that `checkGraph` checks but the contents of features and names.
/// Files without types in their metadata get "node" or "node0", "node1" … and "relation0" …
Result<GraphFile> loadGraphFile(const std::string &path);
/// The same on tensors already read; `name` is what messages call them.
Result<GraphFile> graphFromTensors(TensorFile tensors, const std::string &name);

/// Writes atomically. The metadata is made from the fields.
Status saveGraphFile(const std::string &path, GraphContents contents);

/// Everything that is wrong with a graph file, one message each, at most `limit` of them; empty where it is sound.
std::vector<std::string> checkGraph(const TensorFile &tensors, size_t limit = 20);
/// The same for contents that are yet to be written.
std::vector<std::string> checkGraph(const GraphContents &contents, size_t limit = 20);

}  // namespace hector
