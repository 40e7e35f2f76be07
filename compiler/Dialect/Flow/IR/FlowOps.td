// All ops, by family.
#ifndef HECTOR_FLOW_OPS
#define HECTOR_FLOW_OPS

include "compiler/Dialect/Flow/IR/FlowBase.td"
include "compiler/Dialect/Flow/IR/FlowInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Flow_Op<string mnemonic, list<Trait> traits = []>
    : Op<Flow_Dialect, mnemonic, !listconcat([Pure], traits)>;

/// `%r = flow.NAME %a[map], %b[map] {attributes} : <type a>, <type b> -> <type r>`; the map `self` is not written.
class Flow_DenseOp<string mnemonic, list<Trait> traits = []>
    : Flow_Op<mnemonic, !listconcat([Flow_DenseOpInterface], traits)> {
  let results = (outs Flow_Rows:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &state) {
      return ::hector::flow::detail::parseDense(parser, state);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { ::hector::flow::detail::printDense(printer, *this); }
  }];
}

include "compiler/Dialect/Flow/IR/FlowMovement.td"
include "compiler/Dialect/Flow/IR/FlowElementwise.td"
include "compiler/Dialect/Flow/IR/FlowContraction.td"
include "compiler/Dialect/Flow/IR/FlowShape.td"
include "compiler/Dialect/Flow/IR/FlowGroups.td"

#endif
