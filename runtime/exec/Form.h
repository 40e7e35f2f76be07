/// Index arrays of a graph, by name: what compiled loops find rows with.
///
/// A plan lists the forms that its loops read; the executor builds them when the plan meets a graph. Each has a name in
/// which it is written to files and in the text of kernels:
///
///   edges.src, edges.dst        nodes + 1: where a node's edges start if edges are ordered by that end
///   places.src, places.dst      nodes + 1: where a node's pairs start if pairs are ordered by node (`PairIndex`)
///   place_edges.src, …          pairs + 1: where the edges of the pair at a place start
///   place_pair.src, …           the id of the pair at a place; pair_place.src, … the other way round
///   place_type.src, …           the relation of the pair at a place
///   pair_node.src, …            the node of a pair, by id; pair_type.src, … its relation
///   pair_first.src, …           the number in the file of a pair's first edge, by id
///   edge_COLUMN.ORDER           what an edge leads to (src, dst, type, src_pair, dst_pair, src_place, dst_place), for
///                               edges in an order (file, type, dst, src)
///   edge_row.FROM.TO            where the row of an edge is in a table of order FROM, for edges in order TO
///   place_node.src, …           the node of the pair at a place
///   node_type                   the type of a node
///   relation_type.src, …        the node type at one end of a relation
///   types.edge, types.src_pair, types.dst_pair, types.node
///                               where the rows of each type start, in the order of ids
#pragma once

#include "runtime/graph/Graph.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector::exec {

enum class FormKind : uint8_t {
  Edges,
  Places,
  PlaceEdges,
  PlacePair,
  PairPlace,
  PlaceType,
  PairNode,
  PairType,
  PairFirst,
  PlaceNode,
  EdgeColumn,
  EdgeRow,
  NodeType,
  RelationType,
  Types
};

enum class Side : uint8_t { Source, Destination };

/// Members that a kind does not use have their first value, so that equal forms compare equal.
struct Form {
  FormKind kind = FormKind::Edges;
  Side side = Side::Source;
  EdgeColumn column = EdgeColumn::Source;
  EdgeOrder from = EdgeOrder::File;  // EdgeRow: the table's
  EdgeOrder to = EdgeOrder::File;    // EdgeRow, EdgeColumn: the loop's
  TileRows types = TileRows::Edges;

  auto operator<=>(const Form &) const = default;
};

/// Every form there is.
const std::vector<Form> &allForms();

std::string formName(const Form &form);
std::optional<Form> formFromName(std::string_view name);

/// Whether a graph's index arrays have 64 bits an entry. All of them have the same width.
bool needsWideIds(const Graph &graph);

/// The array, which is built on first use and lives as long as the graph. Fails for `relation_type` where a relation
/// joins several node types.
Result<const IdArray *> resolve(const Graph &graph, const Form &form);

}  // namespace hector::exec
