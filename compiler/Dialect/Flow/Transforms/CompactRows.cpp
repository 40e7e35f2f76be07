/// Computes each dense op at the coarsest domain that holds its key.

#include "compiler/Analysis/Operations.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <mlir/IR/Builders.h>

namespace hector::flow {

#define GEN_PASS_DEF_COMPACTROWSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

struct CompactRowsPass : impl::CompactRowsPassBase<CompactRowsPass> {
  void runOnOperation() override {
    Keys keys(getOperation());
    llvm::SmallVector<DenseOp> ops;
    getOperation().walk([&](DenseOp op) { ops.push_back(op); });
    for (DenseOp op : ops) {
      Domain at = op.getResultRows().getDomain();
      Place place = coarsestPlace(at, keys.of(op->getResult(0)));
      if (place.domain != at)
        move(op, place);
    }
  }

  void move(DenseOp op, Place place) {
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
    mlir::Value rows = op->getResult(0);
    op.setMapsAttr(mlir::ArrayAttr::get(&getContext(), maps));
    rows.setType(op.getResultRows().withDomain(place.domain));
    ++numMoved;
    // Dense readers read the coarser rows through a longer map; others get them spread.
    mlir::Value spread;
    for (mlir::OpOperand &use : llvm::make_early_inc_range(rows.getUses())) {
      unsigned i = use.getOperandNumber();
      if (auto reader = mlir::dyn_cast<DenseOp>(use.getOwner())) {
        llvm::SmallVector<mlir::Attribute> readerMaps(reader.getMaps().getValue());
        auto map = compose(reader.getResultRows().getDomain(), reader.getMap(i), place.map);
        readerMaps[i] = MapAttr::get(&getContext(), *map);
        reader.setMapsAttr(mlir::ArrayAttr::get(&getContext(), readerMaps));
        continue;
      }
      if (!spread) {
        mlir::OpBuilder builder(&getContext());
        builder.setInsertionPointAfter(op);
        auto type = mlir::cast<RowsType>(rows.getType()).withDomain(at);
        spread = builder.create<SpreadOp>(op.getLoc(), type, rows, place.map);
      }
      if (use.getOwner() != spread.getDefiningOp())
        use.set(spread);
    }
  }
};

}  // namespace

}  // namespace hector::flow
