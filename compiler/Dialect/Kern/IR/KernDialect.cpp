/// The dialect and its types.

#include "compiler/Dialect/Kern/IR/Kern.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>

using namespace mlir;
using namespace hector::kern;

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
