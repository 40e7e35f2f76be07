/// The flow dialect: tables that know what their rows stand for, and the ops on them.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <optional>

// clang-format off: generated code needs what is included above.
#include "compiler/Dialect/Flow/IR/FlowEnums.h.inc"
#include "compiler/Dialect/Flow/IR/FlowDialect.h.inc"
// clang-format on

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Flow/IR/FlowAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/Flow/IR/FlowTypes.h.inc"

namespace hector::flow {

/// Where `map` leads from `from`, or nothing where that domain has no such map.
///
///   edge      src dst → node, src_pair, dst_pair, etype, src_ntype dst_ntype → ntype
///   src_pair  node, etype, ntype (of its node), src_ntype dst_ntype → ntype
///   dst_pair  the same
///   node      ntype
///   etype     src_ntype dst_ntype → ntype, where every relation joins one type to one type
/// `self` leads from any domain to itself and `one` from any other domain to the single row.
std::optional<Domain> mapTarget(Domain from, Map map);

/// The map that goes first along `first` from `from`, then along `second`; nothing where there is none.
/// `compose(edge, dst_pair, node)` is `dst`.
std::optional<Map> compose(Domain from, Map first, Map second);

/// The row shape that element-wise operands of these shapes share, or nothing where they do not fit.
std::optional<llvm::SmallVector<int64_t>> commonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The leading (batched) sizes that two contraction operands share: equal, or those of the side that has any.
std::optional<llvm::SmallVector<int64_t>> commonLead(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Whether a row of this shape has no more numbers than a type allows: 2^40.
bool isRowShape(llvm::ArrayRef<int64_t> shape);

/// "4x16xf32" or "f32": a row as messages and types spell it.
std::string formatRow(RowsType type);
/// The same for a row that may be too long for a type.
std::string formatRow(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

namespace detail {
mlir::ParseResult parseDense(mlir::OpAsmParser &parser, mlir::OperationState &state);
void printDense(mlir::OpAsmPrinter &printer, mlir::Operation *op);
mlir::LogicalResult verifyDense(mlir::Operation *op);
}  // namespace detail

}  // namespace hector::flow

#include "compiler/Dialect/Flow/IR/FlowInterfaces.h.inc"

#define GET_OP_CLASSES
#include "compiler/Dialect/Flow/IR/FlowOps.h.inc"
