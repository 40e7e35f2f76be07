#include "compiler/Analysis/Loops.h"

#include <bit>

namespace hector::flow {

using mlir::Operation;

constexpr LoopKind kByDst = {Loop::ByDst, Domain::Edge}, kBySrc = {Loop::BySrc, Domain::Edge};

bool LoopKind::isSorted(Domain from, Map map) const {
  if (isTraversal())
    return false;
  return from == Domain::Node ? map == Map::NodeType : map == Map::EdgeType;
}

/// Bits from below: flat loops by domain, the two traversals, products by domain.
constexpr unsigned kNumDomains = getMaxEnumValForDomain() + 1;

unsigned LoopKinds::bit(LoopKind kind) {
  switch (kind.loop) {
  case Loop::Flat:
    return 1u << static_cast<unsigned>(kind.domain);
  case Loop::ByDst:
    return 1u << kNumDomains;
  case Loop::BySrc:
    return 2u << kNumDomains;
  case Loop::Gemm:
    return 4u << kNumDomains << static_cast<unsigned>(kind.domain);
  }
  return 0;
}

LoopKinds LoopKinds::all(Loop loop) {
  LoopKinds kinds;
  for (unsigned i = 0; i < kNumDomains; ++i)
    kinds.bits |= bit({loop, static_cast<Domain>(i)});
  return kinds;
}

llvm::SmallVector<LoopKind> LoopKinds::list() const {
  llvm::SmallVector<LoopKind> kinds;
  for (unsigned rest = bits; rest != 0; rest &= rest - 1) {
    unsigned place = static_cast<unsigned>(std::countr_zero(rest));
    if (place < kNumDomains)
      kinds.push_back({Loop::Flat, static_cast<Domain>(place)});
    else if (place < kNumDomains + 2)
      kinds.push_back(place == kNumDomains ? kByDst : kBySrc);
    else if (place < 2 * kNumDomains + 2)
      kinds.push_back({Loop::Gemm, static_cast<Domain>(place - kNumDomains - 2)});
  }
  return kinds;
}

/// The kind of the traversal that collects rows of `from` along `map`, if one does.
static std::optional<LoopKind> traversalKind(Domain from, Map map) {
  auto loop = traversalAlong(from, map);
  return loop ? std::optional(LoopKind{*loop, Domain::Edge}) : std::nullopt;
}

LoopKinds loopKinds(Operation *op) {
  Domain domain = walkedDomain(op);
  LoopKind flat = {Loop::Flat, domain}, gemm = {Loop::Gemm, domain};
  if (isProduct(op))
    return {gemm};
  if (mlir::isa<ReduceOp, FirstIndexOp>(op)) {
    if (auto traversal = traversalKind(domain, collectMap(op)))
      return {*traversal};
    // Tiles are of one type each, so a total to their type is one row for all of a tile.
    if (mlir::isa<ReduceOp>(op) && gemm.isSorted(domain, collectMap(op)))
      return {flat, gemm};
    return {flat};
  }
  switch (domain) {
  case Domain::Edge:
  case Domain::Node:
    return {flat, kByDst, kBySrc, gemm};
  case Domain::DstPair:
    return {flat, kByDst, gemm};
  case Domain::SrcPair:
    return {flat, kBySrc, gemm};
  default:
    return {flat, gemm};
  }
}

LoopKinds innerKinds(Operation *op, unsigned i) {

  // The weights of a product are read tile by tile, long after their row would have been computed.
  if (isTerminal(op->getOperand(i).getDefiningOp()) || (mlir::isa<LinearOp>(op) && i == 1))
    return {};
  Map map = readMap(op, i);
  if (map == Map::Self)
    return LoopKinds::all();
  if (auto traversal = traversalKind(walkedDomain(op), map))
    return {*traversal};
  return {};
}

}  // namespace hector::flow
