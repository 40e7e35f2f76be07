/// Typed graphs made to measure: sizes and skew as asked for, the same bytes for the same seed on any machine and with
/// any number of threads.
///
/// The law. Node type k (from 1) has a share of the nodes in proportion to 1/k^a, edge type k a share of the edges in
/// proportion to 1/k^b, and every type has at least one. Each edge type joins two node types drawn at random; the first
/// joins the first to itself. An end of an edge is the node of rank floor(span * u^c) in its type, u uniform in [0, 1):
/// low ranks are busy. Ranks are spread over the ids by a multiplication modulo the span, so busy nodes are not
/// neighbours. By default a = 1, b = 0.9, c = 2.
///
/// Planted classes. Every node has a community, which its features show, and nodes of the first type have a class,
/// which nothing of their own shows. Some edge types point at the first node type; each of them, r, has a shift s(r),
/// and on a part of its edges the source is chosen so that
///     community of the source = class of the destination + s(r)   (modulo the number of classes).
/// Every shift gets the same number of such edges. So an edge's type and its source's community together tell the
/// class, but over all edges, types unseen, each community is as likely as any other whatever the class: counting
/// neighbours without their relation, reading a node's own features, or counting relations without features finds
/// nothing.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/storage/Safetensors.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hector {

struct SyntheticOptions {
  std::string name;  // of the law's named graphs; for the file's `source` only
  int64_t nodes = 0;
  int64_t nodeTypes = 1;
  int64_t edges = 0;
  int64_t edgeTypes = 1;
  double skew = 2;            // c
  double nodeTypeSkew = 1;    // a
  double edgeTypeSkew = 0.9;  // b
  uint64_t seed = 0;
  int64_t features = 0;  // columns of `x`; 0: no features
  int64_t classes = 0;   // 0: no labels
  double signal = 0.9;   // the part of an edge type's edges that tell the class, where shifts are equally common
  double noise = 0.5;    // standard deviation of a feature
};

/// A graph of the Hector paper's Table 3.
struct NamedGraph {
  std::string_view name;
  int64_t nodes, nodeTypes, edges, edgeTypes;
};
std::span<const NamedGraph> namedGraphs();
/// Null where there is none of that name.
const NamedGraph *findNamedGraph(std::string_view name);

/// Says what is wrong with the options, calling them by their names on the command line.
Status checkSynthetic(const SyntheticOptions &options);

/// Bytes that the tensors will take, for options that are fine.
int64_t syntheticBytes(const SyntheticOptions &options);

/// The graph as a graph file: `graph.*`, `x` with features, and with classes `label`, `label.node` and `split.*` (60,
/// 20 and 20 % of the labelled nodes). `progress` is told now and then, from any thread, how many edges and feature
/// rows of how many are done; where it returns false work stops and nothing is returned but a failure.
Result<TensorFile> makeSynthetic(const SyntheticOptions &options,
                                 const std::function<bool(int64_t done, int64_t total)> &progress = {});

}  // namespace hector
