/// Builds dense ops for passes. Operands are reads, and ops that fold are folded.
#pragma once

#include "compiler/Analysis/Operations.h"
#include "compiler/Dialect/Flow/IR/Flow.h"
#include "compiler/Dialect/Flow/Transforms/Draft.h"

#include <mlir/IR/Builders.h>

#include <cstdint>

namespace hector::flow {

/// A table read through a map, from the rows of a domain that the context gives.
struct Read {
  mlir::Value table;
  Map map = Map::Self;

  RowsType type() const { return mlir::cast<RowsType>(table.getType()); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  bool operator==(const Read &other) const = default;
};

/// How many numbers a row of this shape holds.
int64_t sizeOf(llvm::ArrayRef<int64_t> shape);

/// `shape` with axes of size 1 in front until it has `rank`; one number alone fits anywhere and has none.
llvm::SmallVector<int64_t> padded(llvm::ArrayRef<int64_t> shape, size_t rank);

/// Whether the domain that `map` leads to from `from` may have rows that no row of `from` leads to. A pair has edges.
bool mayHaveEmptyRows(Domain from, Map map);

/// Builds ops at the domain `at`; the maps of reads given to it and taken from it start there.
class RowBuilder {
public:
  explicit RowBuilder(mlir::MLIRContext *context)
      : builder(context), location(mlir::UnknownLoc::get(context)), element(builder.getF32Type()) {}

  /// From now on, ops are inserted before `op`, or into the draft if there is one, with its location, and make tables
  /// like its result.
  void startAt(mlir::Operation *op);
  /// From here on, tables have the domain, element type and residency of `type`.
  void makeLike(RowsType type);

  static Read read(DenseOp op, unsigned i) { return {op->getOperand(i), op.getMap(i)}; }
  Read constant(double value);
  /// An op of any kind that is dense; the attribute `maps` is added.
  Read make(llvm::StringRef name, llvm::ArrayRef<Read> operands, llvm::ArrayRef<int64_t> shape,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, mlir::Type elementType = {});
  template <class Op>
  Read make(llvm::ArrayRef<Read> operands, llvm::ArrayRef<int64_t> shape,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, mlir::Type elementType = {}) {
    return make(Op::getOperationName(), operands, shape, attributes, elementType);
  }
  template <class Op> Read binary(Read a, Read b) { return make<Op>({a, b}, *commonShape(a.shape(), b.shape())); }
  template <class Op> Read binaryTruth(Read a, Read b) {
    return make<Op>({a, b}, *commonShape(a.shape(), b.shape()), {}, builder.getI1Type());
  }
  template <class Op> Read unary(Read a) { return make<Op>({a}, a.shape()); }
  Read linear(Read input, Read weights, bool transposed, bool guarded);
  llvm::SmallVector<mlir::NamedAttribute> linearAttributes(bool transposed, bool guarded);
  Read choose(Read condition, Read then, Read otherwise);
  Read compare(Read less, Read more) { return binaryTruth<LessOp>(less, more); }
  Read reshape(Read a, llvm::ArrayRef<int64_t> shape) { return make<ReshapeOp>({a}, shape); }
  /// The same numbers in another row shape, computed in the domain of the table and not once per reader.
  Read view(Read a, llvm::ArrayRef<int64_t> shape);
  /// Repeats a row that lacks leading axes, or has axes of size 1, until it has `shape`; in the domain of the table.
  Read toShape(Read a, llvm::ArrayRef<int64_t> shape);
  /// 1 / a, computed in the domain of the table.
  Read reciprocal(Read a);
  /// An element-wise op on rows of which one may lack leading axes: it is used for all of them.
  template <class Op> Read combine(Read a, Read b) {
    size_t rank = std::max(a.shape().size(), b.shape().size());
    return binary<Op>(view(a, padded(a.shape(), rank)), view(b, padded(b.shape(), rank)));
  }
  /// The number 1 in every row of `domain`.
  Read ones(Domain domain);
  /// Whether any row of `from` leads to a row of `at` along `map`.
  Read isFed(Domain from, Map map);
  Read sumAxis(Read a, int64_t axis);
  Read sumLead(Read a, int64_t axes);
  /// Sums over the axes along which `shape` was repeated.
  Read unbroadcast(Read a, llvm::ArrayRef<int64_t> shape);
  /// Inserts axes of size 1 so that `tail` axes stay last and `lead` come before them.
  Read padLead(Read a, int64_t lead, llvm::ArrayRef<int64_t> tail);
  /// The table that a chain of spreads reads, instead of the spreads; `y` is read from `from`.
  static Read throughSpreads(Domain from, Read y);
  /// The table of a read in the domain itself.
  mlir::Value materialise(Read a);
  /// Rows of `at` summed along `via`.
  mlir::Value reduce(ReduceKind kind, Read a, Map via);
  mlir::NamedAttribute axisAttr(int64_t axis) { return builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)); }

  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::Type element;
  Residency residency = Residency::Device;
  Domain at = Domain::One;
  /// Where ops are built if they are only tried; what is there already is then not built again.
  Draft *draft = nullptr;

protected:
  /// The result of an op that was just built, or of one in its place that the draft finds equal.
  mlir::Value share(mlir::Operation *op);
};

}  // namespace hector::flow
