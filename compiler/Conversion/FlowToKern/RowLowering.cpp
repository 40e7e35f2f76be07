#include "compiler/Conversion/FlowToKern/RowLowering.h"

#include <llvm/ADT/TypeSwitch.h>

namespace hector {

using flow::ReduceKind;
using flow::RowsType;
using kern::Fn;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

Type computeType(Type element) {
  if (mlir::isa<mlir::FloatType>(element) && !element.isF64())
    return mlir::Float32Type::get(element.getContext());
  return element;
}

Type rowTypeOf(RowsType type) {
  int64_t size = type.getRowSize();
  return kern::rowType(size, computeType(type.getElementType()), /*isScalar=*/size == 1);
}

namespace {

int64_t product(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

/// An operand, and how a point of the axes finds its number there.
struct Read {
  Value row;
  AffineExpr offset;
};

/// What a statement may have besides its operands.
struct MapAttrs {
  SmallVector<int64_t> reduced = {};
  std::optional<ReduceKind> combine = {};
  std::optional<double> parameter = {};
  std::optional<int64_t> stream = {};
};

class RowLowering {
public:
  RowLowering(mlir::OpBuilder &builder, Operation *op)
      : builder(builder), context(builder.getContext()), op(op), location(op->getLoc()) {}

  Value lower(mlir::ValueRange operands, const RowNumbers &numbers);
  Value outer(flow::WeightGradOp grad, Value input, Value gradRow);

private:
  Value map(Fn fn, ArrayRef<Read> reads, SmallVector<int64_t> sizes, Type element, const MapAttrs &attrs) {
    size_t numAxes = sizes.size() + attrs.reduced.size();
    // Axes that all operands go through like the result, or not at all, are one axis.
    if (attrs.reduced.empty() && sizes.size() != 1) {
      AffineExpr whole = rowMajor(sizes);
      if (llvm::all_of(reads, [&](const Read &read) {
            return read.offset == whole || mlir::isa<mlir::AffineConstantExpr>(read.offset);
          })) {
        SmallVector<Read> flat(reads);
        for (Read &read : flat)
          if (read.offset == whole)
            read.offset = dim(0);
        return create(fn, flat, {product(sizes)}, 1, element, attrs);
      }
    }
    return create(fn, reads, sizes, numAxes, element, attrs);
  }

  Value create(Fn fn, ArrayRef<Read> reads, ArrayRef<int64_t> sizes, size_t numAxes, Type element,
               const MapAttrs &attrs) {
    SmallVector<Value> rows;
    SmallVector<AffineMap> maps;
    for (const Read &read : reads) {
      rows.push_back(read.row);
      // A single number is read whatever the point.
      AffineExpr offset = kern::rowSize(read.row.getType()) == 1 ? constant(0) : read.offset;
      maps.push_back(AffineMap::get(static_cast<unsigned>(numAxes), 0, offset));
    }
    int64_t size = product(sizes);
    Type type = kern::rowType(size, element, /*isScalar=*/size == 1);
    return builder.create<kern::MapOp>(
        location, type, kern::FnAttr::get(context, fn), rows, builder.getAffineMapArrayAttr(maps),
        builder.getDenseI64ArrayAttr(sizes), builder.getDenseI64ArrayAttr(attrs.reduced),
        attrs.combine ? flow::ReduceKindAttr::get(context, *attrs.combine) : flow::ReduceKindAttr(),
        attrs.parameter ? builder.getF64FloatAttr(*attrs.parameter) : mlir::FloatAttr(),
        attrs.stream ? builder.getI64IntegerAttr(*attrs.stream) : mlir::IntegerAttr());
  }

  AffineExpr dim(size_t i) const { return mlir::getAffineDimExpr(static_cast<unsigned>(i), context); }
  AffineExpr constant(int64_t value) const { return mlir::getAffineConstantExpr(value, context); }

  /// The offset of a point in a row of these sizes, whose axis i is that of `axes[i]`.
  AffineExpr offsetOf(ArrayRef<int64_t> sizes, ArrayRef<AffineExpr> axes) const {
    AffineExpr offset = constant(0);
    int64_t stride = 1;
    for (size_t i = sizes.size(); i > 0; --i) {
      if (sizes[i - 1] != 1)
        offset = axes[i - 1] * stride + offset;
      stride *= sizes[i - 1];
    }
    return offset;
  }
  SmallVector<AffineExpr> dims(size_t first, size_t count) const {
    SmallVector<AffineExpr> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back(dim(first + i));
    return list;
  }
  AffineExpr rowMajor(ArrayRef<int64_t> sizes) const { return offsetOf(sizes, dims(0, sizes.size())); }

  RowsType operandType(unsigned i) const { return mlir::cast<RowsType>(op->getOperand(i).getType()); }

  /// The result of a function of the numbers at the same place; scalars and axes of size 1 are repeated.
  Value elementwise(Fn fn, mlir::ValueRange operands, const MapAttrs &attrs = {}) {
    auto type = mlir::cast<RowsType>(op->getResult(0).getType());
    SmallVector<int64_t> sizes(type.getShape());
    SmallVector<Read> reads;
    for (auto [i, row] : llvm::enumerate(operands)) {
      ArrayRef<int64_t> shape = operandType(static_cast<unsigned>(i)).getShape();
      reads.push_back({row, shape.empty() ? constant(0) : offsetOf(shape, dims(0, sizes.size()))});
    }
    return map(fn, reads, sizes, computeType(type.getElementType()), attrs);
  }

  /// The same numbers elsewhere.
  Value copy(Value row, AffineExpr offset, SmallVector<int64_t> sizes) {
    auto type = mlir::cast<RowsType>(op->getResult(0).getType());
    return map(Fn::Copy, {{row, offset}}, std::move(sizes), computeType(type.getElementType()), {});
  }

  Value contraction(mlir::ValueRange operands, bool guarded);
  Value outerProduct(mlir::ValueRange operands);
  Value rowReduce(flow::RowReduceOp reduce, Value row);
  Value dropout(flow::DropoutOp dropout, Value row, const RowNumbers &numbers);

  mlir::OpBuilder &builder;
  mlir::MLIRContext *context;
  Operation *op;
  mlir::Location location;
};

Value RowLowering::contraction(mlir::ValueRange operands, bool guarded) {
  auto type = mlir::cast<RowsType>(op->getResult(0).getType());
  ArrayRef<int64_t> lead = type.getShape();
  SmallVector<Read> reads;
  for (unsigned i = 0; i < 2; ++i) {
    ArrayRef<int64_t> shape = operandType(i).getShape();
    SmallVector<AffineExpr> axes = dims(shape.size() > 1 ? 0 : lead.size(), shape.size());
    axes.back() = dim(lead.size());
    reads.push_back({operands[i], offsetOf(shape, axes)});
  }
  return map(guarded ? Fn::Chain : Fn::Mul, reads, SmallVector<int64_t>(lead), computeType(type.getElementType()),
             {.reduced = {operandType(0).getShape().back()}, .combine = ReduceKind::Sum});
}

Value RowLowering::outerProduct(mlir::ValueRange operands) {
  auto type = mlir::cast<RowsType>(op->getResult(0).getType());
  size_t rank = type.getShape().size();
  SmallVector<Read> reads;
  for (unsigned i = 0; i < 2; ++i) {
    ArrayRef<int64_t> shape = operandType(i).getShape();
    SmallVector<AffineExpr> axes = dims(0, shape.size());
    axes.back() = dim(rank - 2 + i);
    reads.push_back({operands[i], offsetOf(shape, axes)});
  }
  return map(Fn::Mul, reads, SmallVector<int64_t>(type.getShape()), computeType(type.getElementType()), {});
}

Value RowLowering::rowReduce(flow::RowReduceOp reduce, Value row) {
  auto type = reduce.getResult().getType();
  ArrayRef<int64_t> shape = operandType(0).getShape();
  size_t axis = static_cast<size_t>(reduce.getAxis());
  int64_t before = product(shape.take_front(axis)), after = product(shape.drop_front(axis + 1)), length = shape[axis];
  AffineExpr offset = (dim(0) * length + dim(2)) * after + dim(1);
  return map(Fn::Copy, {{row, offset}}, {before, after}, computeType(type.getElementType()),
             {.reduced = {length}, .combine = reduce.getKind()});
}

Value RowLowering::dropout(flow::DropoutOp dropout, Value row, const RowNumbers &numbers) {
  auto type = dropout.getResult().getType();
  return map(Fn::Dropout, {{row, dim(0)}, {numbers.forDropout(), constant(0)}}, {type.getRowSize()},
             computeType(type.getElementType()),
             {.parameter = dropout.getRate().convertToDouble(), .stream = static_cast<int64_t>(dropout.getStream())});
}

Value RowLowering::lower(mlir::ValueRange in, const RowNumbers &numbers) {
  auto fn = [&](Fn fn) { return elementwise(fn, in); };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<flow::AddOp>([&](auto) { return fn(Fn::Add); })
      .Case<flow::SubOp>([&](auto) { return fn(Fn::Sub); })
      .Case<flow::MulOp>([&](auto) { return fn(Fn::Mul); })
      .Case<flow::DivOp>([&](auto) { return fn(Fn::Div); })
      .Case<flow::ChainOp>([&](auto) { return fn(Fn::Chain); })
      .Case<flow::FloorDivOp>([&](auto) { return fn(Fn::FloorDiv); })
      .Case<flow::ModOp>([&](auto) { return fn(Fn::Mod); })
      .Case<flow::PowOp>([&](auto) { return fn(Fn::Pow); })
      .Case<flow::MaxOp>([&](auto) { return fn(Fn::Max); })
      .Case<flow::MinOp>([&](auto) { return fn(Fn::Min); })
      .Case<flow::LessOp>([&](auto) { return fn(Fn::Less); })
      .Case<flow::LessEqualOp>([&](auto) { return fn(Fn::LessEqual); })
      .Case<flow::EqualOp>([&](auto) { return fn(Fn::Equal); })
      .Case<flow::AndOp>([&](auto) { return fn(Fn::And); })
      .Case<flow::OrOp>([&](auto) { return fn(Fn::Or); })
      .Case<flow::NotOp>([&](auto) { return fn(Fn::Not); })
      .Case<flow::NegOp>([&](auto) { return fn(Fn::Neg); })
      .Case<flow::AbsOp>([&](auto) { return fn(Fn::Abs); })
      .Case<flow::SignOp>([&](auto) { return fn(Fn::Sign); })
      .Case<flow::FloorOp>([&](auto) { return fn(Fn::Floor); })
      .Case<flow::ExpOp>([&](auto) { return fn(Fn::Exp); })
      .Case<flow::LogOp>([&](auto) { return fn(Fn::Log); })
      .Case<flow::SqrtOp>([&](auto) { return fn(Fn::Sqrt); })
      .Case<flow::RsqrtOp>([&](auto) { return fn(Fn::Rsqrt); })
      .Case<flow::SinOp>([&](auto) { return fn(Fn::Sin); })
      .Case<flow::CosOp>([&](auto) { return fn(Fn::Cos); })
      .Case<flow::TanhOp>([&](auto) { return fn(Fn::Tanh); })
      .Case<flow::SigmoidOp>([&](auto) { return fn(Fn::Sigmoid); })
      .Case<flow::SoftplusOp>([&](auto) { return fn(Fn::Softplus); })
      .Case<flow::ErfOp>([&](auto) { return fn(Fn::Erf); })
      .Case<flow::ReluOp>([&](auto) { return fn(Fn::Relu); })
      .Case<flow::SelectOp>([&](auto) { return fn(Fn::Select); })
      .Case<flow::LeakyReluOp>([&](flow::LeakyReluOp leaky) {
        return elementwise(Fn::LeakyRelu, in, {.parameter = leaky.getSlope().convertToDouble()});
      })
      .Case<flow::CastOp, flow::ExpandOp>([&](auto) { return fn(Fn::Copy); })
      .Case<flow::IsRowOp>([&](auto) {
        auto type = mlir::cast<RowsType>(op->getResult(0).getType());
        return map(Fn::Equal, {{in[0], dim(0)}, {numbers.forMatches(), constant(0)}}, {type.getRowSize()},
                   type.getElementType(), {});
      })
      .Case<flow::DropoutOp>([&](flow::DropoutOp own) { return dropout(own, in[0], numbers); })
      .Case<flow::DotOp>([&](flow::DotOp dot) { return contraction(in, dot.getGuarded()); })
      .Case<flow::OuterOp>([&](auto) { return outerProduct(in); })
      .Case<flow::RowReduceOp>([&](flow::RowReduceOp reduce) { return rowReduce(reduce, in[0]); })
      // Rows are flat: their numbers stay where they are.
      .Case<flow::ReshapeOp, flow::SpreadOp>([&](auto) -> Value { return in[0]; })
      .Case<flow::TransposeOp>([&](flow::TransposeOp transpose) {
        ArrayRef<int64_t> shape = operandType(0).getShape();
        SmallVector<AffineExpr> axes(shape.size());
        for (auto [k, axis] : llvm::enumerate(transpose.getPermutation()))
          axes[static_cast<size_t>(axis)] = dim(k);
        return copy(in[0], offsetOf(shape, axes), SmallVector<int64_t>(transpose.getResult().getType().getShape()));
      })
      .Case<flow::SliceOp>([&](flow::SliceOp slice) {
        ArrayRef<int64_t> shape = operandType(0).getShape();
        size_t axis = static_cast<size_t>(slice.getAxis());
        int64_t before = product(shape.take_front(axis)), after = product(shape.drop_front(axis + 1));
        int64_t length = slice.getResult().getType().getShape()[axis];
        AffineExpr offset = dim(0) * (shape[axis] * after) + dim(1) + static_cast<int64_t>(slice.getOffset()) * after;
        return copy(in[0], offset, {before, length * after});
      })
      .Case<flow::ConcatOp>([&](flow::ConcatOp concat) -> Value {
        auto type = concat.getResult().getType();
        int64_t repeats = product(type.getShape().take_front(static_cast<size_t>(concat.getAxis())));
        return builder.create<kern::ConcatOp>(location, rowTypeOf(type), in, repeats);
      })
      .Case<flow::RowFirstMatchOp>([&](flow::RowFirstMatchOp match) -> Value {
        auto type = match.getResult().getType();
        size_t axis = static_cast<size_t>(match.getAxis());
        int64_t before = product(type.getShape().take_front(axis)),
                after = product(type.getShape().drop_front(axis + 1));
        return builder.create<kern::MatchOp>(location, rowTypeOf(type), in[0], in[1], before, type.getShape()[axis],
                                             after);
      })
      .Default([](Operation *) { return Value(); });
}

Value RowLowering::outer(flow::WeightGradOp grad, Value input, Value gradRow) {
  RowsType type = grad.getResult().getType();
  ArrayRef<int64_t> x = operandType(0).getShape(), g = operandType(1).getShape();
  int64_t inner = x.back(), columns = g.back();
  int64_t heads = std::max(operandType(0).getRowSize() / inner, operandType(1).getRowSize() / columns);
  bool keepsHeads = type.getRank() > 2;
  Type element = computeType(type.getElementType());
  // A row of zeros adds nothing, whatever the input holds.
  Value largest = map(Fn::Abs, {{gradRow, dim(0)}}, {}, element,
                      {.reduced = {operandType(1).getRowSize()}, .combine = ReduceKind::Max});
  Value zero = builder.create<kern::ConstantOp>(location, element, llvm::APFloat(0.0));
  Value isZero = map(Fn::Equal, {{largest, constant(0)}, {zero, constant(0)}}, {}, builder.getI1Type(), {});
  // Axes of the result, and the head along which it may be summed.
  size_t numAxes = keepsHeads ? 3 : 2;
  AffineExpr head = keepsHeads ? dim(0) : dim(2);
  AffineExpr first = dim(numAxes - 2), second = dim(numAxes - 1);
  AffineExpr i = grad.getTransposed() ? second : first, o = grad.getTransposed() ? first : second;
  SmallVector<int64_t> sizes;
  if (keepsHeads)
    sizes.push_back(heads);
  sizes.append({grad.getTransposed() ? columns : inner, grad.getTransposed() ? inner : columns});
  MapAttrs attrs;
  if (!keepsHeads)
    attrs = {.reduced = {heads}, .combine = ReduceKind::Sum};
  Value outer =
      map(Fn::Mul, {{input, x.size() > 1 ? head * inner + i : i}, {gradRow, g.size() > 1 ? head * columns + o : o}},
          sizes, element, attrs);
  return map(Fn::Select, {{isZero, constant(0)}, {zero, constant(0)}, {outer, dim(0)}}, {type.getRowSize()}, element,
             {});
}

}  // namespace

Value lowerRow(mlir::OpBuilder &builder, Operation *op, mlir::ValueRange operands, const RowNumbers &numbers) {
  return RowLowering(builder, op).lower(operands, numbers);
}

Value lowerOuter(mlir::OpBuilder &builder, flow::WeightGradOp op, Value input, Value grad) {
  return RowLowering(builder, op).outer(op, input, grad);
}

}  // namespace hector
