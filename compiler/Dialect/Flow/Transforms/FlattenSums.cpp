/// Sums edges to nodes at once, where they were summed to pairs first and then pairs to nodes.
///
/// A node's pairs share out its edges, so a sum of sums is one sum. Where the inner one was a mean, each edge has a
/// factor: one over the number of edges of its pair. For three edges into one node, two of one type:
///
///   (m₁ + m₂) / 2  +  m₃ / 1   =   ½ · m₁ + ½ · m₂ + 1 · m₃
///
/// The factors depend on the graph alone. They are built at the edges, so that a loop over edges reads them one after
/// the other; `compact-rows` may decide otherwise.
///
/// What is linear may stand between the two sums, and is repeated at the edges. Divisions by what may be 0 are not: a
/// sum divided by 0 is inf, and a sum of quotients may be NaN.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseSet.h>

#include <cassert>
#include <optional>
#include <string>

namespace hector::flow {

#define GEN_PASS_DEF_FLATTENSUMSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

bool isPair(Domain domain) {
  return domain == Domain::SrcPair || domain == Domain::DstPair;
}

/// Whether edges are collected to pairs.
bool collectsEdges(ReduceOp op) {
  return op && op.getRows().getType().getDomain() == Domain::Edge && isPair(op.getResult().getType().getDomain());
}

/// How many ops a search for the inner sums may meet.
constexpr unsigned kMaxSearched = 64;

/// Rewrites one sum of pairs at a time.
class Flattener : RowBuilder {
public:
  explicit Flattener(mlir::func::FuncOp function) : RowBuilder(function.getContext()) {}

  /// Whether the sum was replaced. It, and ops that nothing else reads, are then in `erased`.
  bool visit(ReduceOp op);

  llvm::DenseSet<Operation *> erased;

private:
  //===- Looking ------===//
  bool coversSum(Value rows);
  bool check(Value rows);
  bool decline(const llvm::Twine &why) {
    obstacle = why.str();
    return false;
  }

  //===- Building -----===//
  Read fromEdge(Read a) const { return throughSpreads(Domain::Edge, {a.table, *compose(Domain::Edge, toPair, a.map)}); }
  Read count(Domain from, Map via);
  Read build(Value rows);
  Read repeat(DenseOp op, ArrayRef<std::optional<Read>> terms);

  Map toPair = Map::Self;
  std::optional<Read> divisor;  // of all edges: how many pairs a node has
  std::string obstacle;
};

//===- Looking ---------------------------------------------------------------------------------------------------===//

/// Whether rows of pairs are computed from edges that were collected to the same pairs.
bool Flattener::coversSum(Value rows) {
  SmallVector<Value> open = {rows};
  llvm::SmallDenseSet<Operation *> seen;
  for (size_t i = 0; i < open.size(); ++i) {
    if (seen.size() > kMaxSearched)
      return decline("there are more than " + llvm::Twine(kMaxSearched) + " ops in between");
    Operation *op = open[i].getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto reduce = mlir::dyn_cast<ReduceOp>(op)) {
      if (collectsEdges(reduce) && reduce.getVia() == toPair)
        return true;
    } else if (auto dense = mlir::dyn_cast<DenseOp>(op)) {
      for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
        if (dense.getMap(operand) == Map::Self)
          open.push_back(op->getOperand(operand));
    }
  }
  return false;
}

/// Whether rows of pairs are sums of edges, changed by nothing but linear ops. If not, `obstacle` says why.
bool Flattener::check(Value rows) {
  Operation *op = rows.getDefiningOp();
  if (!rows.hasOneUse())
    return decline("another op reads the rows of the pairs");
  if (auto reduce = mlir::dyn_cast<ReduceOp>(op)) {
    if (!isLinear(reduce.getKind()))
      return decline("`" + stringifyReduceKind(reduce.getKind()) + "` is no sum");
    return true;
  }
  auto dense = mlir::dyn_cast<DenseOp>(op);
  auto isTerm = [&](unsigned i) { return dense.getMap(i) == Map::Self && coversSum(op->getOperand(i)); };
  if (mlir::isa<NegOp, ReshapeOp, ExpandOp>(op))
    return check(op->getOperand(0));
  if (mlir::isa<AddOp, SubOp>(op)) {
    if (!isTerm(0) || !isTerm(1))
      return decline("rows that are no sums of edges are added to the sum");
    return check(op->getOperand(0)) && check(op->getOperand(1));
  }
  if (mlir::isa<DivOp>(op)) {
    auto divisor = op->getOperand(1).getDefiningOp<ConstantOp>();
    return divisor && !divisor.getValue().isZero() ? check(op->getOperand(0))
                                                   : decline("a division is between the two");
  }
  if (mlir::isa<MulOp>(op)) {
    bool isFirst = isTerm(0), isSecond = isTerm(1);
    if (isFirst && isSecond)
      return decline("sums are multiplied with each other");
    unsigned term = isSecond ? 1 : 0;
    // A table of such rows is what the rewrite is to avoid.
    RowsType factor = dense.getOperandRows(1 - term);
    if (isPair(factor.getDomain()) && factor.getRowSize() > 1 &&
        factor.getRowSize() >= dense.getOperandRows(term).getRowSize())
      return decline("a pair has a factor for each of its numbers");
    return check(op->getOperand(term));
  }
  return decline("`" + op->getName().getStringRef() + "` is between the two");
}

//===- Building --------------------------------------------------------------------------------------------------===//

/// How many rows of `from` lead to each row along `via`, as read from the edges.
Read Flattener::count(Domain from, Map via) {
  Read one = ones(from);
  Domain here = std::exchange(at, from);
  Value number = reduce(ReduceKind::Sum, one, via);
  at = here;
  return {number, from == Domain::Edge ? via : *compose(Domain::Edge, toPair, via)};
}

/// An op on pairs at the edges. `terms` are what becomes of operands that the edges do not read from the pairs.
Read Flattener::repeat(DenseOp op, ArrayRef<std::optional<Read>> terms) {
  SmallVector<Read> operands;
  for (auto [i, term] : llvm::enumerate(terms))
    operands.push_back(term ? *term : fromEdge(read(op, static_cast<unsigned>(i))));
  SmallVector<mlir::NamedAttribute> attributes;
  for (mlir::NamedAttribute attribute : op->getAttrs())
    if (attribute.getName() != "maps")
      attributes.push_back(attribute);
  return make(op->getName().getStringRef(), operands, op.getResultRows().getShape(), attributes);
}

/// What the rows of pairs are sums of. Means become shares, of which each edge has one number.
Read Flattener::build(Value rows) {
  Operation *op = rows.getDefiningOp();
  mlir::Location outside = std::exchange(location, op->getLoc());
  Read result;
  if (auto sum = mlir::dyn_cast<ReduceOp>(op)) {
    std::optional<Read> below = divisor;
    if (sum.getKind() == ReduceKind::Mean) {
      Read number = count(Domain::Edge, toPair);
      below = below ? combine<MulOp>(number, *below) : number;
    }
    result = throughSpreads(Domain::Edge, {sum.getRows()});
    if (below)
      result = combine<MulOp>(result, combine<DivOp>(constant(1.0), *below));
  } else {
    auto dense = mlir::cast<DenseOp>(op);
    SmallVector<std::optional<Read>> terms(op->getNumOperands());
    for (unsigned i = 0; i < terms.size(); ++i)
      if (!mlir::isa<MulOp, DivOp>(op) || (dense.getMap(i) == Map::Self && coversSum(op->getOperand(i))))
        terms[i] = build(op->getOperand(i));
    location = op->getLoc();
    result = repeat(dense, terms);
  }
  location = outside;
  return result;
}

bool Flattener::visit(ReduceOp op) {
  Domain pair = op.getRows().getType().getDomain();
  if (!isPair(pair) || op.getVia() != Map::Node || !isLinear(op.getKind()))
    return false;
  toPair = pair == Domain::SrcPair ? Map::SrcPair : Map::DstPair;
  obstacle.clear();
  const bool isOfSums = coversSum(op.getRows());
  if (!isOfSums && obstacle.empty())
    return false;
  if (!isOfSums || !check(op.getRows())) {
    op.emitRemark() << "edges are summed to pairs first: " << obstacle;
    return false;
  }
  startAt(op);
  makeLike(op.getRows().getType().withDomain(Domain::Edge));
  divisor = std::nullopt;
  if (op.getKind() == ReduceKind::Mean)
    divisor = count(pair, Map::Node);
  Read rows = build(op.getRows());
  assert(rows.shape() == op.getRows().getType().getShape() && "ops are repeated with their shapes");
  Value flat = reduce(ReduceKind::Sum, rows, *compose(Domain::Edge, toPair, Map::Node));
  op.emitRemark() << "edges are summed at once, without pairs in between";
  auto dead = unread(op.getOperation(), flat.getDefiningOp());
  op.replaceAllUsesWith(flat);
  erased.insert(dead.begin(), dead.end());
  for (Operation *gone : dead)
    gone->erase();
  return true;
}

struct FlattenSumsPass : impl::FlattenSumsPassBase<FlattenSumsPass> {
  void runOnFlow() override {
    SmallVector<ReduceOp> sums;
    getOperation().walk([&](ReduceOp op) { sums.push_back(op); });
    Flattener flattener(getOperation());
    for (ReduceOp op : sums)
      if (!flattener.erased.contains(op))
        numFlattened += flattener.visit(op);
  }
};

}  // namespace

}  // namespace hector::flow
