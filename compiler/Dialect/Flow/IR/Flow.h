/// The flow dialect: tables of rows with a domain, and the ops on them.
#pragma once

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/IR/RegionKindInterface.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <cstdint>
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

/// Where `map` leads from `from`, or nothing if that domain has no such map.
///
///   edge      src dst → node, src_pair, dst_pair, etype, src_ntype dst_ntype → ntype
///   src_pair  node, etype, ntype (of its node), src_ntype dst_ntype → ntype
///   dst_pair  the same
///   node      ntype
///   etype     src_ntype dst_ntype → ntype, where every relation joins one type to one type
/// `self` leads from any domain to itself and `one` from any other domain to the single row.
std::optional<Domain> mapTarget(Domain from, Map map);

/// The map that goes first along `first` from `from`, then along `second`; nothing if there is none.
/// `compose(edge, dst_pair, node)` is `dst`.
std::optional<Map> compose(Domain from, Map first, Map second);

/// The row shape that element-wise operands of these shapes share, or nothing if they do not fit.
std::optional<llvm::SmallVector<int64_t>> commonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The leading (batched) sizes that two contraction operands share: equal, or those of the side that has any.
std::optional<llvm::SmallVector<int64_t>> commonLead(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Whether rows are combined as a sum of them, each with the same factor: sums and means.
inline bool isLinear(ReduceKind kind) {
  return kind == ReduceKind::Sum || kind == ReduceKind::Mean;
}

/// Whether a row of this shape has no more numbers than a type allows: 2^40.
bool isRowShape(llvm::ArrayRef<int64_t> shape);

/// `a // b` and `a % b` as Python computes them for floats, and as NumPy does if b is 0. Both use the exact remainder
/// `fmod(a, b)`, so that 1.0 // 0.1 is 9 and -5 % inf is inf. Constants and data go through the same two functions.
double floorDivide(double a, double b);
double modulo(double a, double b);

/// Whether an op gives different rows for equal operands: its result depends on which row it is.
bool dependsOnRow(mlir::Operation *op);

/// "4x16xf32" or "f32": a row as messages and types write it.
std::string formatRow(RowsType type);
/// The same for a row that may be too long for a type.
std::string formatRow(llvm::ArrayRef<int64_t> shape, mlir::Type elementType);

//===- How ops read and what loops have at hand ------------------------------------------------------------------===//

/// The domain whose rows an op walks: that of its result, or the finer one that a reduction collects from.
Domain walkedDomain(mlir::Operation *op);

/// The map through which an op finds the row of operand `i`, from the domain that it walks.
Map readMap(mlir::Operation *op, unsigned i);

/// The map along which a `reduce`, `fold` or `weight_grad` collects rows; `self` for other ops.
Map collectMap(mlir::Operation *op);

inline bool isTraversal(Loop loop) {
  return loop == Loop::ByDst || loop == Loop::BySrc;
}

/// Whether rows that `map` leads to from `from` are those of an outer level of the loop, or of the same: at hand.
bool isLevel(Loop loop, Domain from, Map map);

/// The traversal that collects rows of `from` along `map`, if one does.
std::optional<Loop> traversalAlong(Domain from, Map map);

/// The name that a model gives to the value at a location: that of `e["att"]` is `att`. Empty where it has none.
llvm::StringRef tableName(mlir::Location location);

/// The order in which a loop visits the rows of a domain; none where they have no order but their numbers.
Order walkOrder(Loop loop, Domain domain);

/// Whether an op is the product of a `gemm`.
bool isProduct(mlir::Operation *op);

/// Whether an op's result is complete only after the whole loop, so that nothing in the loop can read it.
bool isTerminal(mlir::Operation *op);

namespace detail {
mlir::ParseResult parseDense(mlir::OpAsmParser &parser, mlir::OperationState &state);
void printDense(mlir::OpAsmPrinter &printer, mlir::Operation *op);
mlir::LogicalResult verifyDense(mlir::Operation *op);
}  // namespace detail

}  // namespace hector::flow

#include "compiler/Dialect/Flow/IR/FlowInterfaces.h.inc"

#define GET_OP_CLASSES
#include "compiler/Dialect/Flow/IR/FlowOps.h.inc"
