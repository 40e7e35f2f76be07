#include "compiler/Dialect/Flow/Transforms/RowBuilder.h"

namespace hector::flow {

using llvm::ArrayRef;
using llvm::SmallVector;

int64_t sizeOf(ArrayRef<int64_t> shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

SmallVector<int64_t> padded(ArrayRef<int64_t> shape, size_t rank) {
  if (shape.empty() || (shape.size() < rank && sizeOf(shape) == 1))
    return {};
  SmallVector<int64_t> result(shape.size() < rank ? rank - shape.size() : 0, 1);
  result.append(shape.begin(), shape.end());
  return result;
}

bool mayHaveEmptyRows(Domain from, Map map) {
  return !(from == Domain::Edge && (map == Map::SrcPair || map == Map::DstPair));
}

void RowBuilder::startAt(mlir::Operation *op) {
  if (draft) {
    draft->startBefore(op);
    builder.setInsertionPointToEnd(&draft->getBlock());
  } else {
    builder.setInsertionPoint(op);
  }
  location = op->getLoc();
  makeLike(mlir::cast<RowsType>(op->getResult(0).getType()));
}

void RowBuilder::makeLike(RowsType type) {
  element = type.getElementType();
  residency = type.getResidency();
  at = type.getDomain();
}

mlir::Value RowBuilder::share(mlir::Operation *op) {
  mlir::Operation *same = draft ? draft->findEqual(op) : nullptr;
  if (!same)
    return op->getResult(0);
  op->erase();
  return same->getResult(0);
}

Read RowBuilder::constant(double value) {
  auto type = RowsType::get(builder.getContext(), Domain::One, {}, element, residency);
  mlir::Value table = share(builder.create<ConstantOp>(location, type, builder.getF64FloatAttr(value)));
  return {table, at == Domain::One ? Map::Self : Map::One};
}

Read RowBuilder::make(llvm::StringRef name, ArrayRef<Read> operands, ArrayRef<int64_t> shape,
                      ArrayRef<mlir::NamedAttribute> attributes, mlir::Type elementType) {
  mlir::OperationState state(location, name);
  SmallVector<mlir::Attribute> maps;
  for (const Read &operand : operands) {
    state.addOperands(operand.table);
    maps.push_back(MapAttr::get(builder.getContext(), operand.map));
  }
  state.addTypes(RowsType::get(builder.getContext(), at, shape, elementType ? elementType : element, residency));
  state.addAttributes(attributes);
  state.addAttribute("maps", builder.getArrayAttr(maps));
  mlir::Operation *op = builder.create(state);
  SmallVector<mlir::Value> folded;
  if (mlir::succeeded(builder.tryFold(op, folded)) && !folded.empty()) {  // empty: changed in place
    op->erase();
    return {folded[0], Map::Self};
  }
  return {share(op), Map::Self};
}

Read RowBuilder::choose(Read condition, Read then, Read otherwise) {
  auto shape = commonShape(then.shape(), otherwise.shape());
  return make<SelectOp>({condition, then, otherwise}, *commonShape(condition.shape(), *shape));
}

Read RowBuilder::view(Read a, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  Domain here = std::exchange(at, a.type().getDomain());
  Read seen = reshape({a.table}, shape);
  at = here;
  return {seen.table, a.map};
}

Read RowBuilder::toShape(Read a, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  a = view(a, padded(a.shape(), shape.size()));
  if (a.shape() == shape)
    return a;
  Domain here = std::exchange(at, a.type().getDomain());
  Read repeated = make<ExpandOp>({Read{a.table}}, shape);
  at = here;
  return {repeated.table, a.map};
}

Read RowBuilder::reciprocal(Read a) {
  Domain here = std::exchange(at, a.type().getDomain());
  Read inverse = binary<DivOp>(constant(1.0), {a.table});
  at = here;
  return {inverse.table, a.map};
}

Read RowBuilder::ones(Domain domain) {
  Domain here = std::exchange(at, domain);
  Read one{materialise(constant(1.0))};
  at = here;
  return one;
}

Read RowBuilder::isFed(Domain from, Map map) {
  Read one = ones(from);
  Domain here = std::exchange(at, from);
  mlir::Value count = reduce(ReduceKind::Sum, one, map);
  at = here;
  return compare(constant(0.0), {count});
}

Read RowBuilder::sumAxis(Read a, int64_t axis) {
  SmallVector<int64_t> shape(a.shape());
  shape.erase(shape.begin() + axis);
  return make<RowReduceOp>(
      {a}, shape,
      {axisAttr(axis), builder.getNamedAttr("kind", ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum))});
}

Read RowBuilder::sumLead(Read a, int64_t axes) {
  for (int64_t i = 0; i < axes; ++i)
    a = sumAxis(a, 0);
  return a;
}

Read RowBuilder::unbroadcast(Read a, ArrayRef<int64_t> shape) {
  if (a.shape() == shape)
    return a;
  if (shape.empty())
    return sumLead(a, a.type().getRank());
  for (int64_t axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0; --axis)
    if (shape[axis] == 1 && a.shape()[axis] != 1) {
      SmallVector<int64_t> kept(a.shape());
      kept[axis] = 1;
      a = reshape(sumAxis(a, axis), kept);
    }
  return a;
}

Read RowBuilder::padLead(Read a, int64_t lead, ArrayRef<int64_t> tail) {
  SmallVector<int64_t> shape(lead, 1);
  int64_t own = a.type().getRank() - static_cast<int64_t>(tail.size() > 0);
  if (own > 0)
    shape.assign(a.shape().begin(), a.shape().begin() + own);
  shape.append(tail.begin(), tail.end());
  return a.shape() == ArrayRef(shape) ? a : reshape(a, shape);
}

mlir::Value RowBuilder::materialise(Read a) {
  if (a.map == Map::Self)
    return a.table;
  return share(builder.create<SpreadOp>(location, a.type().withDomain(at), a.table, a.map));
}

Read RowBuilder::linear(Read input, Read weights, bool transposed, bool guarded) {
  auto lead = commonLead(input.shape().drop_back(), weights.shape().drop_back(2));
  SmallVector<int64_t> shape(*lead);
  shape.push_back(weights.shape()[weights.shape().size() - (transposed ? 2 : 1)]);
  return make<LinearOp>({input, weights}, shape, linearAttributes(transposed, guarded));
}

SmallVector<mlir::NamedAttribute> RowBuilder::linearAttributes(bool transposed, bool guarded) {
  SmallVector<mlir::NamedAttribute> attributes;
  if (transposed)
    attributes.push_back(builder.getNamedAttr("transposed", builder.getUnitAttr()));
  if (guarded)
    attributes.push_back(builder.getNamedAttr("guarded", builder.getUnitAttr()));
  return attributes;
}

mlir::Value RowBuilder::reduce(ReduceKind kind, Read a, Map via) {
  auto type = a.type().withDomain(*mapTarget(at, via));
  return share(builder.create<ReduceOp>(location, type, kind, materialise(a), mlir::Value(), via));
}

Read RowBuilder::throughSpreads(Domain from, Read y) {
  while (auto spread = y.table.getDefiningOp<SpreadOp>()) {
    auto map = compose(from, y.map, spread.getVia());
    if (!map)
      break;
    y = {spread.getRows(), *map};
  }
  return y;
}

}  // namespace hector::flow
