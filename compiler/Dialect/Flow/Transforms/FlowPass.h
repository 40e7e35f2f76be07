/// What all passes on functions share.
#pragma once

#include "compiler/Analysis/FlowFunction.h"

#include <mlir/Pass/Pass.h>

namespace hector::flow {

/// A pass on functions of flow. It leaves declarations as they are, and fails on functions that hold anything else.
class FlowPass : public mlir::OperationPass<mlir::func::FuncOp> {
public:
  using OperationPass::OperationPass;

  void runOnOperation() final {
    if (getOperation().isExternal())
      return;
    if (mlir::failed(checkFlowFunction(getOperation())))
      return signalPassFailure();
    runOnFlow();
  }

protected:
  /// Runs on a function that `checkFlowFunction` accepts.
  virtual void runOnFlow() = 0;
};

}  // namespace hector::flow
