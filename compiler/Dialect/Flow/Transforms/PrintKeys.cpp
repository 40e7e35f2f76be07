/// Remarks on keys.

#include "compiler/Analysis/Keys.h"
#include "compiler/Dialect/Flow/Transforms/FlowPass.h"
#include "compiler/Dialect/Flow/Transforms/Passes.h"

namespace hector::flow {

#define GEN_PASS_DEF_PRINTKEYSPASS
#include "compiler/Dialect/Flow/Transforms/Passes.h.inc"

namespace {

struct PrintKeysPass : impl::PrintKeysPassBase<PrintKeysPass> {
  void runOnFlow() override {
    Keys keys(getOperation());
    for (mlir::Operation &op : getOperation().getBody().front().without_terminator()) {
      const Key &key = keys.of(op.getResult(0));
      Domain at = mlir::cast<RowsType>(op.getResult(0).getType()).getDomain();
      op.emitRemark() << "key " << key.format() << ", fits " << stringifyDomain(coarsestPlace(at, key).domain);
    }
    markAllAnalysesPreserved();
  }
};

}  // namespace

}  // namespace hector::flow
