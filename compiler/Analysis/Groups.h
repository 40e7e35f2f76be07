/// Fusion groups: ops that one loop computes, so that values between them stay in registers.
///
/// An edge softmax is one group. Its loop visits a node, then the node's incoming edges, as often as necessary:
///
///   %t = flow.reduce max %a via dst      node  ┐ by_dst: the node's edges are walked for %t, again for %s, again for
///   %e = flow.sub %a, %t[dst]            edge  │ %y. %t, %e and %s never reach memory; the edges' scores, read thrice,
///   %s = flow.reduce sum %e via dst      node  │ are still in the cache the second time.
///   %y = flow.div %e, %s[dst]            edge  ┘
///
/// If the division read `%s[src]`, the row would belong to a node that the loop may not have visited yet. The division
/// would then start a new group, and `%e` and `%s` would become tables.
///
/// A loop is flat over one domain, a traversal by destination (node, its pairs, their edges) or by source, or the loop
/// nest of one product (`linear`, `weight_grad`) with element-wise work before and after it. A group starts with all
/// kinds of loop that its ops fit into, and merging narrows them.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>
#include <vector>

namespace hector::flow {

//===- Kinds of loops --------------------------------------------------------------------------------------------===//

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

//===- Groups ----------------------------------------------------------------------------------------------------===//

/// A group runs once for a graph where no argument matters to it; or every time, before or after the point where all
/// results that `flow.forward_results` counts are there.
struct Group {
  Phase phase = Phase::Forward;
  LoopKinds kinds;                              // the loops that it could become; never empty
  llvm::SmallVector<mlir::Operation *, 4> ops;  // in program order
  /// The finest domain that the ops visit.
  Domain domain = Domain::One;
};

/// The groups of a function. Every op but constants is in one. Deterministic.
class Groups {
public:
  explicit Groups(mlir::func::FuncOp function);

  /// In an order in which they can run: groups of the graph, of the forward phase, of the backward phase. If several
  /// could run next, the one that leaves the least memory in use comes first, by the row counts of `flow.graph`.
  const std::vector<Group> &list() const { return groups; }
  /// The index in `list` of an op's group; nothing for constants and the return.
  std::optional<unsigned> of(mlir::Operation *op) const;
  /// The same for the op that computes `value`; nothing for arguments and constants.
  std::optional<unsigned> of(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op ? of(op) : std::nullopt;
  }
  /// Whether `value`, which an op of a group computes, is read outside of the group or returned.
  bool escapes(mlir::Value value) const;

private:
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
};

}  // namespace hector::flow
