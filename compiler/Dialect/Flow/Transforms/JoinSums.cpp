/// Adds rows before they are summed, where sums along the same map were added.
///
/// Products leave their rows as tables, and the loop that sums them reads one table for each. Σ a W + Σ b V is
/// Σ (a W + b V): the loop over the products adds the rows while it holds them, and what is left to sum is one table.

#include "compiler/Analysis/Operations.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>
#include <utility>

namespace hector::flow {

#define GEN_PASS_DEF_JOINSUMSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

bool isAddition(Operation *op) {
  return op && mlir::isa<AddOp, SubOp>(op);
}

/// How the rows of a sum come about, as far as it matters whether others may be added to them.
enum class Rows {
  Product,  // a product that nothing else reads, or what is computed from its rows alone: a table only for the sum
  Narrow,   // computed from nothing but numbers of the row and rows of types: no table is needed
  Other,
};

/// Rewrites one addition of any number of terms at a time.
class Joiner : RowBuilder {
public:
  explicit Joiner(mlir::func::FuncOp function) : RowBuilder(function.getContext()) {}

  /// How many sums are left out of the addition that ends in `root`.
  unsigned visit(DenseOp root);

private:
  struct Term {
    Read read;
    bool isNegative;
    SmallVector<std::pair<Value, bool>> others = {};  // rows of other sums, and whether those are subtracted
    bool isGone = false;
  };
  Rows rowsOf(Value rows);
  void collect(DenseOp op, bool isNegative);
  bool findSums(DenseOp root);
  Read add(Read sum, Read term, bool isNegative) {
    return isNegative ? binary<SubOp>(sum, term) : binary<AddOp>(sum, term);
  }
  Read join(const Term &first);

  SmallVector<Term> terms;
  llvm::DenseMap<Value, Rows> known;  // until an addition was rewritten
};

Rows Joiner::rowsOf(Value rows) {
  if (auto found = known.find(rows); found != known.end())
    return found->second;
  auto find = [&] {
    Operation *op = rows.getDefiningOp();
    if (!op || !mlir::isa<DenseOp>(op))
      return Rows::Other;
    if (isProduct(op))
      return rows.hasOneUse() ? Rows::Product : Rows::Other;
    auto dense = mlir::cast<DenseOp>(op);
    bool hasProduct = false;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Map map = dense.getMap(static_cast<unsigned>(i));
      auto type = mlir::cast<RowsType>(operand.getType());
      if (type.getDomain() <= Domain::EdgeType || (map == Map::Self && type.getRowSize() == 1))
        continue;
      Rows inner = map == Map::Self ? rowsOf(operand) : Rows::Other;
      if (inner == Rows::Other)
        return Rows::Other;
      hasProduct |= inner == Rows::Product;
    }
    if (!hasProduct)
      return Rows::Narrow;
    return rows.hasOneUse() ? Rows::Product : Rows::Other;
  };
  return known[rows] = find();
}

/// Whether the result is one term of a longer addition.
bool isTerm(DenseOp op) {
  if (!op->hasOneUse())
    return false;
  mlir::OpOperand &use = *op->getUses().begin();
  auto reader = mlir::dyn_cast<DenseOp>(use.getOwner());
  return reader && isAddition(reader) && reader.getMap(use.getOperandNumber()) == Map::Self &&
         reader->getResult(0).getType() == op->getResult(0).getType();
}

void Joiner::collect(DenseOp op, bool isNegative) {
  for (unsigned i = 0; i < 2; ++i) {
    bool isSubtracted = isNegative != (i == 1 && mlir::isa<SubOp>(op));
    auto inner = op->getOperand(i).getDefiningOp<DenseOp>();
    if (inner && isAddition(inner) && isTerm(inner) && op.getMap(i) == Map::Self)
      collect(inner, isSubtracted);
    else
      terms.push_back({read(op, i), isSubtracted});
  }
}

/// Gives the first of several sums the others that can be joined with it. Whether there are any.
bool Joiner::findSums(DenseOp root) {
  bool hasFound = false;
  auto sumOf = [](const Term &term) -> ReduceOp {
    auto sum = term.read.table.getDefiningOp<ReduceOp>();
    return sum && isLinear(sum.getKind()) && term.read.map == Map::Self && sum->hasOneUse() ? sum : ReduceOp();
  };
  for (auto [i, first] : llvm::enumerate(terms)) {
    ReduceOp sum = first.isGone ? ReduceOp() : sumOf(first);
    Rows rows = sum ? rowsOf(sum.getRows()) : Rows::Other;
    if (rows == Rows::Other)
      continue;
    bool hasProduct = rows == Rows::Product;
    SmallVector<unsigned> others;
    for (unsigned j = i + 1; j < terms.size(); ++j) {
      ReduceOp other = terms[j].isGone ? ReduceOp() : sumOf(terms[j]);
      if (!other || other.getVia() != sum.getVia() || other.getKind() != sum.getKind() ||
          other.getRows().getType() != sum.getRows().getType())
        continue;
      Rows otherRows = rowsOf(other.getRows());
      if (otherRows == Rows::Other) {
        if (Operation *op = other.getRows().getDefiningOp(); op && isProduct(op))
          root->emitRemark() << "a sum is not joined with another one: its product is read elsewhere too";
        continue;
      }
      hasProduct |= otherRows == Rows::Product;
      others.push_back(j);
    }
    if (!hasProduct)
      continue;
    for (unsigned j : others) {
      first.others.push_back({sumOf(terms[j]).getRows(), terms[j].isNegative});
      hasFound = terms[j].isGone = true;
    }
  }
  return hasFound;
}

/// The sum of all rows at once.
Read Joiner::join(const Term &first) {
  auto sum = first.read.table.getDefiningOp<ReduceOp>();
  makeLike(sum.getRows().getType());
  Read rows = {sum.getRows()};
  sum.emitRemark() << first.others.size() + 1 << " sums are one: their rows are added before";
  for (auto [other, isNegative] : first.others)
    rows = add(rows, {other}, isNegative != first.isNegative);
  Read joined = {reduce(sum.getKind(), rows, sum.getVia())};
  makeLike(sum.getResult().getType());
  return joined;
}

unsigned Joiner::visit(DenseOp root) {
  terms.clear();
  known.clear();
  collect(root, /*isNegative=*/false);
  if (!findSums(root))
    return 0;
  startAt(root);
  unsigned numJoined = 0;
  std::optional<Read> sum;  // the first term is added, and stays
  for (const Term &term : terms) {
    if (term.isGone)
      continue;
    Read read = term.others.empty() ? term.read : join(term);
    numJoined += static_cast<unsigned>(term.others.size());
    sum = sum ? add(*sum, read, term.isNegative) : read;
  }
  Value whole = materialise(*sum);
  auto dead = unread(root.getOperation(), whole.getDefiningOp());
  root->replaceAllUsesWith(mlir::ValueRange(whole));
  for (Operation *gone : dead)
    gone->erase();
  return numJoined;
}

struct JoinSumsPass : impl::JoinSumsPassBase<JoinSumsPass> {
  void runOnFlow() override {
    SmallVector<DenseOp> additions;
    getOperation().walk([&](DenseOp op) {
      if (isAddition(op) && !isTerm(op))
        additions.push_back(op);
    });
    Joiner joiner(getOperation());
    for (DenseOp op : additions)
      numJoined += joiner.visit(op);
  }
};

}  // namespace

}  // namespace hector::flow
