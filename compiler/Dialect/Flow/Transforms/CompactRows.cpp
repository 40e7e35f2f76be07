/// Computes each op in the domain with the fewest rows that can hold it.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"
#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

namespace hector::flow {

#define GEN_PASS_DEF_COMPACTROWSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

std::string describe(const RowCounts &rows, Domain domain) {
  return (stringifyDomain(domain) + " (" + llvm::Twine(static_cast<int64_t>(rows.of(domain))) + " rows)").str();
}

struct CompactRowsPass : impl::CompactRowsPassBase<CompactRowsPass> {
  void runOnFlow() override {
    RowCounts rows(getOperation());
    Keys keys(getOperation());
    llvm::SmallVector<DenseOp> ops;
    getOperation().walk([&](DenseOp op) { ops.push_back(op); });
    for (DenseOp op : ops) {
      Domain at = op.getResultRows().getDomain();
      Key key = keys.of(op->getResult(0));
      Place place = rows.cheapestPlace(at, key);
      if (place.domain != at)
        move(op, place, rows);
      else if (Domain coarsest = coarsestPlace(at, key).domain; coarsest != at)
        op->emitRemark() << "stays at " << describe(rows, at) << ": " << describe(rows, coarsest)
                         << " has no fewer rows";
    }
    llvm::SmallVector<ReduceOp> reductions;
    getOperation().walk([&](ReduceOp op) { reductions.push_back(op); });
    for (ReduceOp op : reductions)
      reducePairs(op, rows);
  }

  /// Moves an op to `place`, which holds its key.
  void move(DenseOp op, Place place, const RowCounts &rows) {
    Domain at = op.getResultRows().getDomain();
    llvm::SmallVector<mlir::Attribute> maps;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      auto map = factor(at, place.map, op.getMap(i));
      if (!map) {
        op->emitRemark() << "not computed at " << stringifyDomain(place.domain) << ": operand " << i
                         << " is read through `" << stringifyMap(op.getMap(i)) << "`, which does not lead there";
        return;
      }
      maps.push_back(MapAttr::get(&getContext(), *map));
    }
    op->emitRemark() << "computed at " << describe(rows, place.domain) << " instead of " << describe(rows, at);
    mlir::Value result = op->getResult(0);
    op.setMapsAttr(mlir::ArrayAttr::get(&getContext(), maps));
    result.setType(op.getResultRows().withDomain(place.domain));
    ++numMoved;
    // Readers with maps read the coarser rows through a longer map. Others get a spread.
    mlir::Value spread;
    for (mlir::OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
      unsigned i = use.getOperandNumber();
      auto longer = [&](Domain from, Map map) { return MapAttr::get(&getContext(), *compose(from, map, place.map)); };
      if (auto reader = mlir::dyn_cast<DenseOp>(use.getOwner())) {
        llvm::SmallVector<mlir::Attribute> readerMaps(reader.getMaps().getValue());
        readerMaps[i] = longer(reader.getResultRows().getDomain(), reader.getMap(i));
        reader.setMapsAttr(mlir::ArrayAttr::get(&getContext(), readerMaps));
        continue;
      }
      if (auto reader = mlir::dyn_cast<WeightGradOp>(use.getOwner())) {
        if (i == 0)
          reader.setInputMapAttr(longer(reader.getOver(), reader.getInputMap()));
        else
          reader.setGradMapAttr(longer(reader.getOver(), reader.getGradMap()));
        continue;
      }
      if (!spread) {
        mlir::OpBuilder builder(&getContext());
        builder.setInsertionPointAfter(op);
        auto type = mlir::cast<RowsType>(result.getType()).withDomain(at);
        spread = builder.create<SpreadOp>(op.getLoc(), type, result, place.map);
      }
      if (use.getOwner() != spread.getDefiningOp())
        use.set(spread);
    }
  }

  /// If edges only repeat the rows of pairs, a reduction works on the pairs: the maximum of equal rows is any of them,
  /// and their sum is the row times their number. Every pair has an edge, so the set of rows stays the same.
  void reducePairs(ReduceOp op, const RowCounts &rows) {
    auto spread = op.getRows().getDefiningOp<SpreadOp>();
    if (!spread || (spread.getVia() != Map::SrcPair && spread.getVia() != Map::DstPair))
      return;
    Domain pair = spread.getRows().getType().getDomain();
    auto rest = factor(Domain::Edge, spread.getVia(), op.getVia());
    if (!rest || rows.of(pair) >= rows.of(Domain::Edge))
      return;
    bool isChoice = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
    // Pairs of one node keep the order of their edges, which decides who receives the gradient on ties.
    if (isChoice && !(*rest == Map::Node || (*rest == Map::Self && !op.getInit())))
      return;
    if (op.getKind() == ReduceKind::Mean && *rest != Map::Self)
      return;
    op->emitRemark() << "collects " << describe(rows, pair) << " instead of " << describe(rows, Domain::Edge);
    ++numMoved;
    RowBuilder build(&getContext());
    build.startAt(op);
    Read result{spread.getRows()};
    if (op.getKind() == ReduceKind::Sum) {
      build.at = Domain::Edge;
      mlir::Value count = build.reduce(ReduceKind::Sum, build.constant(1.0), spread.getVia());
      build.at = pair;
      result = build.binary<MulOp>(result, {count});
    }
    if (*rest != Map::Self)
      result.table =
          build.builder.create<ReduceOp>(op.getLoc(), op.getType(), op.getKind(), result.table, op.getInit(), *rest);
    op.replaceAllUsesWith(result.table);
    op.erase();
    if (spread.use_empty())
      spread.erase();
  }
};

}  // namespace

}  // namespace hector::flow
