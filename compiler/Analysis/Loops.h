/// Kinds of loops, and which ops fit into which.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/SmallVector.h>

namespace hector::flow {

/// A kind of loop. The domain is what flat loops and products walk; traversals have levels instead, and `edge` here.
struct LoopKind {
  Loop loop = Loop::Flat;
  Domain domain = Domain::Edge;

  bool operator==(const LoopKind &) const = default;
  bool isTraversal() const { return flow::isTraversal(loop); }
  /// Whether rows that `map` leads to from `from` are those of an outer level of this loop: at hand, whatever is read.
  bool isLevel(Domain from, Map map) const { return flow::isLevel(loop, from, map); }
  /// Whether `map` leads from `from` to a type by which the walked rows are sorted: flat loops over edges and pairs go
  /// through relation after relation, those over nodes through type after type.
  bool isSorted(Domain from, Map map) const;
};

/// A set of kinds.
class LoopKinds {
public:
  LoopKinds() = default;
  LoopKinds(std::initializer_list<LoopKind> kinds) {
    for (LoopKind kind : kinds)
      bits |= bit(kind);
  }
  static LoopKinds all() { return LoopKinds(~0u); }
  /// All kinds of one loop.
  static LoopKinds all(Loop loop);

  LoopKinds operator&(LoopKinds other) const { return LoopKinds(bits & other.bits); }
  LoopKinds operator|(LoopKinds other) const { return LoopKinds(bits | other.bits); }
  LoopKinds without(LoopKinds other) const { return LoopKinds(bits & ~other.bits); }
  bool operator==(const LoopKinds &) const = default;
  bool empty() const { return bits == 0; }
  bool has(LoopKind kind) const { return bits & bit(kind); }
  /// The members, flat ones first, then traversals, then products.
  llvm::SmallVector<LoopKind> list() const;

private:
  explicit LoopKinds(unsigned bits) : bits(bits) {}
  static unsigned bit(LoopKind kind);
  unsigned bits = 0;
};

/// The loops that an op alone fits into. If it is no product, `gemm` means work before or after the product.
LoopKinds loopKinds(mlir::Operation *op);

/// The loops in which operand `i` of `op` may come from the same loop.
LoopKinds innerKinds(mlir::Operation *op, unsigned i);

}  // namespace hector::flow
