#ifndef HECTOR_FLOW_INTERFACES
#define HECTOR_FLOW_INTERFACES

include "mlir/IR/OpBase.td"

def Flow_DenseOpInterface : OpInterface<"DenseOp"> {
  let cppNamespace = "::hector::flow";
  let description = [{
    An op that works row by row in the domain of its one result and reads operand `i` through map `i`.
    - (D1) there is one map per operand.
    - (D2) map `i` leads from the result's domain to the domain of operand `i`.
    - (D3) operands and result share one residency.
  }];
  let methods = [
    InterfaceMethod<"The map of every operand.", "::mlir::ArrayAttr", "getMaps">,
    InterfaceMethod<"Replaces the maps.", "void", "setMapsAttr", (ins "::mlir::ArrayAttr":$maps)>,
  ];
  let extraSharedClassDeclaration = [{
    ::hector::flow::Map getMap(unsigned operand) {
      return ::llvm::cast<::hector::flow::MapAttr>($_op.getMaps()[operand]).getValue();
    }
    ::hector::flow::RowsType getResultRows() {
      return ::llvm::cast<::hector::flow::RowsType>($_op->getResult(0).getType());
    }
    ::hector::flow::RowsType getOperandRows(unsigned operand) {
      return ::llvm::cast<::hector::flow::RowsType>($_op->getOperand(operand).getType());
    }
  }];
  let verify = [{ return ::hector::flow::detail::verifyDense($_op); }];
}

#endif
