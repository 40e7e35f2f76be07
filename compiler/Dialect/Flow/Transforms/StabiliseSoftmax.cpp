/// Makes every softmax stable.

#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

#include <mlir/IR/Builders.h>

namespace hector::flow {

#define GEN_PASS_DEF_STABILISESOFTMAXPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

struct StabiliseSoftmaxPass : impl::StabiliseSoftmaxPassBase<StabiliseSoftmaxPass> {
  void runOnFlow() override {
    llvm::SmallVector<DivOp> quotients;
    getOperation().walk([&](DivOp op) { quotients.push_back(op); });
    for (DivOp op : quotients)
      visit(op);
  }

  /// `exp(a) / (Σ exp(a))[via]`, each read row by row.
  void visit(DivOp op) {
    auto quotient = mlir::cast<DenseOp>(op.getOperation());
    auto power = op.getLhs().getDefiningOp<ExpOp>();
    auto sum = op.getRhs().getDefiningOp<ReduceOp>();
    if (!power || !sum || sum.getKind() != ReduceKind::Sum || sum.getRows() != power.getResult() ||
        quotient.getMap(0) != Map::Self || quotient.getMap(1) != sum.getVia() ||
        quotient.getResultRows() != power.getResult().getType())
      return;
    auto exponent = mlir::cast<DenseOp>(power.getOperation());
    if (isShifted(power.getInput(), exponent.getMap(0), sum.getVia())) {
      op.emitRemark("softmax is stable already");
      return;
    }
    mlir::OpBuilder builder(op);
    mlir::Location location = op.getLoc();
    RowsType fine = power.getResult().getType(), coarse = sum.getResult().getType();
    Map via = sum.getVia();
    auto maps = [&](Map a, Map b) {
      return builder.getArrayAttr({MapAttr::get(&getContext(), a), MapAttr::get(&getContext(), b)});
    };
    // The scores as rows of their own, where the exponential read them through a map.
    mlir::Value scores = power.getInput();
    if (exponent.getMap(0) != Map::Self)
      scores = builder.create<SpreadOp>(location, fine, scores, exponent.getMap(0));
    mlir::Value top = builder.create<ReduceOp>(location, coarse, ReduceKind::Max, scores, mlir::Value(), via);
    mlir::Value shifted = builder.create<SubOp>(location, fine, scores, top, maps(Map::Self, via));
    mlir::Value powers =
        builder.create<ExpOp>(location, fine, shifted, builder.getArrayAttr(MapAttr::get(&getContext(), Map::Self)));
    mlir::Value total = builder.create<ReduceOp>(location, coarse, ReduceKind::Sum, powers, mlir::Value(), via);
    mlir::Value stable = builder.create<DivOp>(location, fine, powers, total, maps(Map::Self, via));
    op.getResult().replaceAllUsesWith(stable);
    for (mlir::Operation *dead : {op.getOperation(), sum.getOperation(), power.getOperation()})
      if (dead->use_empty())
        dead->erase();
    ++numStabilised;
  }

  /// Whether the exponent is `b - (max b)[via]`.
  static bool isShifted(mlir::Value exponent, Map map, Map via) {
    auto shift = exponent.getDefiningOp<SubOp>();
    auto top = shift ? shift.getRhs().getDefiningOp<ReduceOp>() : nullptr;
    return map == Map::Self && top && top.getKind() == ReduceKind::Max && top.getVia() == via &&
           top.getRows() == shift.getLhs() && mlir::cast<DenseOp>(shift.getOperation()).getMap(0) == Map::Self &&
           mlir::cast<DenseOp>(shift.getOperation()).getMap(1) == via;
  }
};

}  // namespace

}  // namespace hector::flow
