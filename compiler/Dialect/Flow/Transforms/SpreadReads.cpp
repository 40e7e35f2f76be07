/// Replaces every read through a map with a `flow.spread`.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <mlir/IR/Builders.h>

namespace hector::flow {

#define GEN_PASS_DEF_SPREADREADSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

struct SpreadReadsPass : impl::SpreadReadsPassBase<SpreadReadsPass> {
  void runOnFlow() override {
    getOperation().walk([&](DenseOp op) {
      mlir::OpBuilder builder(op);
      llvm::SmallVector<mlir::Attribute> maps;
      for (mlir::OpOperand &operand : op->getOpOperands()) {
        unsigned i = operand.getOperandNumber();
        maps.push_back(MapAttr::get(&getContext(), Map::Self));
        if (op.getMap(i) == Map::Self)
          continue;
        auto type = op.getOperandRows(i).withDomain(op.getResultRows().getDomain());
        operand.set(builder.create<SpreadOp>(op.getLoc(), type, operand.get(), op.getMap(i)));
        ++numSpread;
      }
      op.setMapsAttr(builder.getArrayAttr(maps));
    });
  }
};

}  // namespace

}  // namespace hector::flow
