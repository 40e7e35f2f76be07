/// The dialect and its types.

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

using namespace mlir;
using namespace hector::kern;
namespace flow = hector::flow;

#include "compiler/Dialect/Kern/IR/KernDialect.cpp.inc"
#include "compiler/Dialect/Kern/IR/KernEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Kern/IR/KernAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/Kern/IR/KernTypes.cpp.inc"

void KernDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/Kern/IR/KernAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Dialect/Kern/IR/KernTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/Kern/IR/KernOps.cpp.inc"
      >();
}

//===- Attributes of functions -----------------------------------------------------------------------------------===//

LogicalResult KernDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == "kern.order")  // (A1)
    return op->emitOpError("has `kern.order`, which belongs on an argument or result of a function");
  return success();
}

/// (A1), for an argument or result of this type.
static LogicalResult verifyOrder(Operation *op, NamedAttribute attribute, Type type) {
  if (attribute.getName() != "kern.order")
    return success();
  auto order = dyn_cast<flow::OrderAttr>(attribute.getValue());
  if (!order)
    return op->emitOpError() << "has `kern.order` = " << attribute.getValue() << ", but it is a #flow.order";
  auto rows = dyn_cast<flow::RowsType>(type);
  flow::Domain domain = rows ? rows.getDomain() : flow::Domain::One;
  const flow::Order value = order.getValue();
  bool isEdge = domain == flow::Domain::Edge, isSrcPair = domain == flow::Domain::SrcPair,
       isDstPair = domain == flow::Domain::DstPair;
  bool isFine = (value == flow::Order::ByType && (isEdge || isSrcPair || isDstPair)) ||
                (value == flow::Order::ByDst && (isEdge || isDstPair)) ||
                (value == flow::Order::BySrc && (isEdge || isSrcPair));
  if (isFine)
    return success();
  return op->emitOpError() << "has `kern.order` = " << order << " on " << type
                           << ", but edges are stored by type, destination or source, pairs by type or by their node, "
                              "and other rows have no order";
}

LogicalResult KernDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return verifyOrder(op, attribute, function ? function.getArgumentTypes()[index] : Type());
}

LogicalResult KernDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return verifyOrder(op, attribute, function ? function.getResultTypes()[index] : Type());
}

//===- Types -----------------------------------------------------------------------------------------------------===//

/// (C1) of accumulators and buffers.
static LogicalResult verifyRow(function_ref<InFlightDiagnostic()> emitError, Type row) {
  auto vector = dyn_cast<VectorType>(row);
  Type element = elementType(row);
  bool isNumber = isa<FloatType, IndexType>(element) || element.isInteger(1);
  if (isNumber && (!vector || vector.getRank() == 1))
    return success();
  return emitError() << "a row is a number or a vector of numbers with one axis, but is given " << row;
}

LogicalResult AccType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Type> rows) {
  for (Type row : rows)
    if (failed(verifyRow(emitError, row)))
      return failure();
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, flow::Domain, Type row) {
  return verifyRow(emitError, row);
}

int64_t hector::kern::rowSize(Type row) {
  auto vector = dyn_cast<VectorType>(row);
  return vector ? vector.getNumElements() : 1;
}

Type hector::kern::elementType(Type row) {
  auto vector = dyn_cast<VectorType>(row);
  return vector ? vector.getElementType() : row;
}

Type hector::kern::rowType(int64_t size, Type element, bool isScalar) {
  return isScalar ? element : VectorType::get({size}, element);
}

unsigned hector::kern::arity(Fn fn) {
  switch (fn) {
  case Fn::Copy:
  case Fn::Not:
  case Fn::Neg:
  case Fn::Abs:
  case Fn::Sign:
  case Fn::Floor:
  case Fn::Exp:
  case Fn::Log:
  case Fn::Sqrt:
  case Fn::Rsqrt:
  case Fn::Sin:
  case Fn::Cos:
  case Fn::Tanh:
  case Fn::Sigmoid:
  case Fn::Softplus:
  case Fn::Erf:
  case Fn::Relu:
  case Fn::LeakyRelu:
    return 1;
  case Fn::Select:
    return 3;
  default:
    return 2;
  }
}
