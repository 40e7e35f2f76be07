/// Keys: what a value depends on.
///
/// A table of the edge domain has one row per edge, but `x[src] · W[etype]` depends only on the source and the type of
/// the edge: its key is {source, etype}. Two rows with equal keys are equal. So an op may be computed in the coarsest
/// domain that distinguishes its keys, here `src_pair`, and read from there. An example with three edges:
///
///   e0: 5→1 type a    e1: 5→2 type a    e2: 5→1 type b
///
/// `x[src] · W[etype]` has two distinct rows, (5,a) and (5,b): one per source pair. `x[src] · y[dst]` has two as well,
/// but there is no domain of (source, destination), so it stays at the edges.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hector::flow {

/// Parts of a key, as seen from a row: an edge has a source, a destination and types; a node or pair has a node.
enum class KeyPart : uint8_t { Edge, Source, Destination, Node, EdgeType, SourceType, DestinationType, NodeType };

/// A set of parts in its shortest form: a part that another part determines is left out (a source determines its type).
class Key {
public:
  Key() = default;
  Key(std::initializer_list<KeyPart> parts) {
    for (KeyPart part : parts)
      add(part);
  }

  void add(KeyPart part);
  void unite(const Key &other);
  bool has(KeyPart part) const { return bits & bit(part); }
  bool operator==(const Key &other) const = default;
  /// "{source, etype}".
  std::string format() const;

private:
  static unsigned bit(KeyPart part) { return 1u << static_cast<unsigned>(part); }
  unsigned bits = 0;
};

/// The key of a row of `domain`: {node} for a node, {node, etype} for a pair.
Key keyOf(Domain domain);

/// A key of the domain that `map` leads to, as seen from `from`: {node} through `src` is {source}.
Key keyThrough(Domain from, Map map, const Key &key);

/// The coarsest domain that distinguishes all rows with different keys, and the map that reads it from `at`.
struct Place {
  Domain domain;
  Map map;
};
Place coarsestPlace(Domain at, const Key &key);

/// All domains but its own that rows of `at` can be read from, coarser ones first.
llvm::ArrayRef<Place> placesFrom(Domain at);
/// Whether a place tells apart all rows of `at` with different keys.
bool isHeldBy(const Key &key, Domain at, const Place &place);

/// The keys of all tables of a function.
class Keys {
public:
  explicit Keys(mlir::func::FuncOp function);
  const Key &of(mlir::Value value) const { return keys.find(value)->second; }

private:
  llvm::DenseMap<mlir::Value, Key> keys;
};

}  // namespace hector::flow
