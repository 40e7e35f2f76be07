// The passes on flow. Each says what it does, what it leaves alone, and why it stands where it does in Pipelines/.
#ifndef HECTOR_FLOW_PASSES
#define HECTOR_FLOW_PASSES

include "mlir/Pass/PassBase.td"

def PrintKeysPass : Pass<"flow-print-keys", "mlir::func::FuncOp"> {
  let summary = "Remarks on the key of every op and the coarsest domain that holds it.";
  let description = [{
    Changes nothing; for reading IR and for tests of the analysis.
    ```mlir
    %m = flow.linear %x[src], %w[etype] : …   // remark: key {source, etype}, fits src_pair
    ```
  }];
}

#endif
