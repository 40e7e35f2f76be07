/// Builds the forms that a `Graph` derives from its edges, in parallel and without comparing.
///
/// Grouping by node takes two steps that each stay in cache: deal the edges out to some hundred ranges of nodes, then
/// count within each range. Pairs need no sorting at all. Within a relation, a pair's number is the number of smaller
/// nodes that occur: mark them in a bitmap, and count bits.
///   nodes of the edges    9 4 9 0        marked    1 0 0 0 1 0 0 0 0 1
///   bits before each      2 1 2 0        pairs     0       1         2
/// A bitmap of a million nodes is 128 KiB, so that both passes over the edges hit the cache. Each non-empty word
/// carries the count of bits before it, and a second bitmap says which words are not empty, so that a relation with few
/// edges costs little however many nodes there are.
///
/// Results do not depend on the number of threads.
#pragma once

#include "runtime/graph/Graph.h"

#include <cstdint>
#include <span>

namespace hector {

/// Edges grouped by the node at one end, in edge order.
template <class Id> EdgeIndex groupByNode(std::span<const Id> nodes, int64_t numNodes);

/// The pairs at one end. `etypePtr` delimits the relations' edges.
template <class Id> Pairs findPairs(std::span<const Id> nodes, std::span<const int64_t> etypePtr);

/// Pairs by node. `edges` are grouped by the same end, `etypePtr` delimits the relations' edges.
PairIndex groupPairs(const Pairs &pairs, const EdgeIndex &edges, std::span<const int64_t> etypePtr);

/// values[places[i]] for each i.
IdArray gather(const IdArray &values, const IdArray &places);

/// The inverse of a permutation: what it has at i is where i goes.
IdArray invert(const IdArray &permutation);

/// Nodes by falling degree, equal ones by rising id; `ptr` is an `EdgeIndex`'s.
template <class Id> IdArray degreeOrder(std::span<const Id> ptr);

/// Cuts the rows of each type into tiles of `height` rows, the last of a type as short as need be. `Ptr` delimits
/// types.
template <class Id> Tiles cutTiles(std::span<const Id> ptr, int64_t height, int64_t limit);

extern template EdgeIndex groupByNode(std::span<const int32_t>, int64_t);
extern template EdgeIndex groupByNode(std::span<const int64_t>, int64_t);
extern template Pairs findPairs(std::span<const int32_t>, std::span<const int64_t>);
extern template Pairs findPairs(std::span<const int64_t>, std::span<const int64_t>);
extern template IdArray degreeOrder(std::span<const int32_t>);
extern template IdArray degreeOrder(std::span<const int64_t>);
extern template Tiles cutTiles(std::span<const int32_t>, int64_t, int64_t);
extern template Tiles cutTiles(std::span<const int64_t>, int64_t, int64_t);

}  // namespace hector
