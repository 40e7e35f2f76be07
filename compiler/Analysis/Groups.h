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
/// nest of products (`linear`, `weight_grad`) with element-wise work before and after them. Two groups merge if one
/// loop can hold both and takes less time than two; of all such pairs, the one that saves most merges first. An op may
/// also be computed again in every group that reads it, if that takes less time than storing it.
///
/// For a GPU the edges of a row are walked once per group, because pieces of a row are walked at the same time.
#pragma once

#include "compiler/Analysis/GroupOptions.h"
#include "compiler/Analysis/LoopCost.h"

#include <algorithm>
#include <string>
#include <vector>

namespace hector::flow {

/// A group runs once for a graph where no argument matters to it, once per update where only parameters do; or every
/// time, before or after the point where all results that `flow.forward_results` counts are there.
struct Group {
  Phase phase = Phase::Forward;
  LoopKind kind;
  /// The finest domain that the ops visit.
  Domain domain = Domain::One;
  llvm::SmallVector<unsigned, 8> ops;     // numbers in the body, in program order, with those that are computed again
  llvm::SmallVector<unsigned, 4> writes;  // those that other groups read, or that are returned; once for each copy
  llvm::SmallVector<Order, 4> orders;     // in which each of `writes` is stored
  bool isBeside = false;                  // shares the launch of the group before it
  GroupCost cost;

  bool contains(unsigned op) const { return std::binary_search(ops.begin(), ops.end(), op); }
  bool stores(unsigned op) const { return std::binary_search(writes.begin(), writes.end(), op); }
};

/// The groups of a function. Every op on which a result depends is in at least one. Deterministic.
class Groups {
public:
  explicit Groups(mlir::func::FuncOp function, const GroupOptions &options = {});

  /// In an order in which they can run: groups of the graph, of the weights, of the forward phase, of the backward
  /// phase. If several could run next, the one that leaves the least memory in use comes first, by the row counts of
  /// `flow.graph`. For a GPU, small ones come earlier where they can share a launch (`shareLaunches`).
  const std::vector<Group> &list() const { return groups; }
  /// Whether all groups can run one after the other; anything else is a bug of the merger.
  bool isComplete() const { return complete; }
  const Body &getBody() const { return *body; }
  const Machine &getMachine() const { return machine; }
  double getMemoryWeight() const { return memoryWeight; }
  /// The sweeps of a traversal.
  Sweeps sweepsOf(const Group &group) const;

private:
  std::unique_ptr<Body> body;
  Machine machine;
  double memoryWeight;
  std::vector<Group> groups;
  bool complete = true;
};

}  // namespace hector::flow
