/// A typed graph and the forms derived from it.
///
/// Nodes of one type have contiguous ids: type k owns `ntypePtr[k] .. ntypePtr[k+1]-1`. Edges go from `src` to `dst`
/// and are sorted by type: relation r owns `etypePtr[r] .. etypePtr[r+1]-1`. They may come in any order; a graph sorts
/// them by type, keeps the order of those of one type, and remembers their numbers (`edgeNumbers`). Several edges may
/// join the same nodes. A pair is a (node, relation) that at least one edge has: a source pair by the edges' sources, a
/// destination pair by their destinations. Pairs are numbered by relation, then by node, so that those of one relation
/// are contiguous.
///
/// Example: edges 0:(5→1, r0), 1:(5→2, r0), 2:(3→2, r0), 3:(5→1, r1)
///   source pairs       (3,r0)=0 (5,r0)=1 (5,r1)=2      edges → 1 1 0 2
///   destination pairs  (1,r0)=0 (2,r0)=1 (1,r1)=2      edges → 0 1 1 2
#pragma once

#include "runtime/base/BigVector.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hector {

struct TensorFile;

/// Ids in 32 bits where they fit and 64 where they do not. Copies share their ids, which live as long as one of them.
class IdArray {
public:
  IdArray() = default;
  explicit IdArray(BigVector<int32_t> ids) : IdArray(std::make_shared<BigVector<int32_t>>(std::move(ids))) {}
  explicit IdArray(BigVector<int64_t> ids) : IdArray(std::make_shared<BigVector<int64_t>>(std::move(ids))) {}
  /// An array of `size` zeros that can hold ids below `limit`.
  static IdArray make(int64_t size, int64_t limit);

  bool isWide() const { return std::holds_alternative<std::span<int64_t>>(ids); }
  int64_t numBytes() const { return size() * (isWide() ? 8 : 4); }
  int64_t size() const {
    return std::visit([](auto v) { return static_cast<int64_t>(v.size()); }, ids);
  }
  int64_t operator[](int64_t i) const {
    if (const auto *narrow = std::get_if<std::span<int32_t>>(&ids))
      return (*narrow)[i];
    return std::get<std::span<int64_t>>(ids)[i];
  }
  /// For whoever makes the array, before there are copies.
  void set(int64_t i, int64_t id) {
    std::visit([&](auto v) { v[i] = static_cast<typename decltype(v)::value_type>(id); }, ids);
  }
  /// Calls `f` with a span of int32_t or of int64_t, for loops that should not branch on the width.
  template <class F> decltype(auto) visit(F &&f) const {
    return std::visit([&]<class Id>(std::span<Id> v) -> decltype(auto) { return f(std::span<const Id>(v)); }, ids);
  }

private:
  template <class Id>
  explicit IdArray(std::shared_ptr<BigVector<Id>> vector) : ids(std::span<Id>(*vector)), owner(std::move(vector)) {}

  std::variant<std::span<int32_t>, std::span<int64_t>> ids;
  std::shared_ptr<const void> owner;
};

/// How wide a graph's ids are. Tests and the fuzzer ask for wide ones on small graphs.
enum class IdWidth { Fitting, Wide };

/// Edges grouped by one end: those of node n are `edges[ptr[n]] .. edges[ptr[n+1]-1]`, in increasing order.
struct EdgeIndex {
  IdArray ptr;    // nodes + 1
  IdArray edges;  // edge ids
};

/// Distinct (node, relation) pairs at one end of the edges.
struct Pairs {
  IdArray node;         // one per pair
  IdArray relation;     // one per pair
  IdArray ofEdge;       // one per edge: its pair
  IdArray relationPtr;  // relations + 1: pairs of relation r are relationPtr[r] .. relationPtr[r+1]-1
  int64_t count() const { return node.size(); }
};

/// The orders in which a plan may keep a table of edges. Equal edges keep the order of their numbers in the file, so
/// that each order is the same on every machine.
///   File         by number, as inputs and results have them
///   Type         by (type, number): the graph's own, in which edges have their ids
///   Destination  by (destination, type, number): the edges of a node are contiguous, those of each of its pairs too
///   Source       by (source, type, number)
enum class EdgeOrder { File, Type, Destination, Source };

/// What an edge leads to: a node, its type, or a pair by its id or by its place in `PairIndex`.
enum class EdgeColumn { Source, Destination, Type, SrcPair, DstPair, SrcPairByNode, DstPairByNode };

/// Pairs at one end in the order of (node, relation): those of node n are at the places ptr[n] .. ptr[n+1]-1. Their
/// edges are contiguous where edges are ordered by that end: the pair at place k has the rows edgePtr[k] ..
/// edgePtr[k+1]-1.
struct PairIndex {
  IdArray ptr;       // nodes + 1
  IdArray pairs;     // one per place: the pair's id
  IdArray relation;  // one per place
  IdArray edgePtr;   // places + 1
  IdArray places;    // one per pair: its place
};

/// Rows of one type cut into tiles, for products whose weight depends on the type: one launch covers all types. Tiles
/// are ordered by type, then by row; only a type's last tile may have fewer rows than `height`.
struct Tiles {
  int64_t height = 0;
  IdArray type;   // one per tile, as are the others
  IdArray first;  // row
  IdArray rows;
  int64_t count() const { return type.size(); }
};

/// Rows that are sorted by type, and that tiles cut: edges and pairs by relation, nodes by node type.
enum class TileRows { Edges, SrcPairs, DstPairs, Nodes };

/// Immutable once created; derived forms are built on first use and kept. Safe to share between threads.
class Graph {
public:
  /// Checks everything: lengths, id ranges, `etype` below `numRelations`, `ntypePtr` rising from 0.
  /// Messages call the arrays `graph.src`, `graph.dst`, `graph.etype` and `graph.ntype_ptr`.
  /// All arrays of a graph share one width: 32 bits where the numbers of nodes, edges and relations fit, else 64.
  /// Takes memory for the edges only; derived forms may take some for each node and relation.
  static Result<Graph> create(std::span<const int64_t> src, std::span<const int64_t> dst,
                              std::span<const int64_t> etype, std::span<const int64_t> ntypePtr, int64_t numRelations,
                              IdWidth width = IdWidth::Fitting);
  /// Reads `graph.src`, `graph.dst`, `graph.etype`, `graph.ntype_ptr` (stored as I32 or I64).
  /// `graph.etype` may be absent (one relation), `graph.ntype_ptr` too (one type with `numNodes` nodes or, where that
  /// is negative, as many as the largest id needs). Where `numRelations` is negative it is the largest type + 1. While
  /// one of the four is absent, other tensors named `graph.*` are refused: they may be the missing one misspelt.
  static Result<Graph> fromTensors(const TensorFile &file, int64_t numRelations = -1, int64_t numNodes = -1,
                                   IdWidth width = IdWidth::Fitting);

  static constexpr int64_t kMaxNodes = int64_t{1} << 40;
  static constexpr int64_t kMaxRelations = int64_t{1} << 24;

  int64_t numNodes() const;
  int64_t numEdges() const;
  int64_t numNodeTypes() const;
  int64_t numRelations() const;
  /// Whether relations without edges are so few that each may take memory: one edge of a huge type declares as many
  /// relations as its type's number.
  bool hasFewRelations() const { return numRelations() <= numEdges() + 1024; }

  const IdArray &src() const;
  const IdArray &dst() const;
  const IdArray &etype() const;
  /// The number that each edge came with: its row in edge inputs and results, and what messages call it. Empty where
  /// edges came sorted by type and have kept their numbers.
  const IdArray &edgeNumbers() const;
  int64_t edgeNumber(int64_t edge) const { return edgeNumbers().size() == 0 ? edge : edgeNumbers()[edge]; }
  std::span<const int64_t> ntypePtr() const;
  std::span<const int64_t> etypePtr() const;

  const EdgeIndex &outgoing() const;  // CSR: edges by source
  const EdgeIndex &incoming() const;  // CSC: edges by destination
  const Pairs &srcPairs() const;
  const Pairs &dstPairs() const;
  const PairIndex &srcPairsByNode() const;
  const PairIndex &dstPairsByNode() const;
  /// Where the rows of a table are that is kept in another order: row i of `to` is row p[i] of `from`. Empty where both
  /// are one, also if edges came sorted by type: then File is Type.
  const IdArray &edgePermutation(EdgeOrder from, EdgeOrder to) const;
  /// The same with an entry for every edge, also where both are one: compiled loops always read it.
  const IdArray &edgeRows(EdgeOrder from, EdgeOrder to) const;
  /// One entry per edge, in the given order: what a loop over edges in that order reads beside its rows. A loop by
  /// destination gathers rows of sources through `edgeColumn(EdgeColumn::Source, EdgeOrder::Destination)`.
  const IdArray &edgeColumn(EdgeColumn column, EdgeOrder order) const;
  const IdArray &outDegreeOrder() const;  // nodes by falling out-degree, equal ones by rising id
  const IdArray &inDegreeOrder() const;   // the same by in-degree
  const IdArray &ntypeOfNode() const;     // one per node
  /// The number in the file of each pair's first edge, by the pair's id.
  const IdArray &srcPairFirsts() const;
  const IdArray &dstPairFirsts() const;
  /// Where the rows of each type start, in the order of ids; types + 1 entries.
  const IdArray &typeStarts(TileRows rows) const;
  /// The node of each pair, in the order of `srcPairsByNode` (`dstPairsByNode`).
  const IdArray &srcPlaceNodes() const;
  const IdArray &dstPlaceNodes() const;
  /// `height` is at least 1.
  const Tiles &tiles(TileRows rows, int64_t height) const;

  /// A graph of the same edges. It has the forms that this one has by now, but those that it builds are its own: who
  /// needs a few of them takes these, and those that they are made from go with the fork.
  Graph fork() const;

  /// Says at which node types relations start and end, -1 if that is not known. It counts for relations without edges.
  /// To be called before the graph is shared and before anything asks for the types of relations.
  void nameEnds(std::vector<int64_t> src, std::vector<int64_t> dst);

  /// The node type at the source (destination) end of each relation. Relations without edges have the type that
  /// `nameEnds` gave, else type 0. Fails, naming two edges, where a relation joins several types at that end, and where
  /// there are relations but no node type.
  const Result<IdArray> &srcTypeOfRelation() const;
  const Result<IdArray> &dstTypeOfRelation() const;

private:
  struct Data;
  explicit Graph(std::shared_ptr<Data> data) : data(std::move(data)) {}
  std::shared_ptr<Data> data;
};

}  // namespace hector
