/// Syntax and verifiers of the flow ops. Labels name the constraints of the ops' descriptions.

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/STLExtras.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/OpImplementation.h>

using namespace mlir;
using namespace hector::flow;

//===- Syntax ----------------------------------------------------------------------------------------------------===//

static ParseResult parseMapKeyword(OpAsmParser &parser, MapAttr &map) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Map> value = symbolizeMap(keyword);
  if (!value)
    return parser.emitError(location) << "unknown map `" << keyword << "`";
  map = MapAttr::get(parser.getContext(), *value);
  return success();
}

static void printMapKeyword(OpAsmPrinter &printer, Operation *, MapAttr map) {
  printer << stringifyMap(map.getValue());
}

/// `[map]` after an operand, nothing for `self`.
static ParseResult parseBracketMap(OpAsmParser &parser, MapAttr &map) {
  map = MapAttr::get(parser.getContext(), Map::Self);
  if (failed(parser.parseOptionalLSquare()))
    return success();
  return failure(parseMapKeyword(parser, map) || parser.parseRSquare());
}

static void printBracketMap(OpAsmPrinter &printer, Operation *, MapAttr map) {
  if (map.getValue() != Map::Self)
    printer << '[' << stringifyMap(map.getValue()) << ']';
}

static ParseResult parseDomainKeyword(OpAsmParser &parser, DomainAttr &domain) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Domain> value = symbolizeDomain(keyword);
  if (!value)
    return parser.emitError(location) << "unknown domain `" << keyword << "`";
  domain = DomainAttr::get(parser.getContext(), *value);
  return success();
}

static void printDomainKeyword(OpAsmPrinter &printer, Operation *, DomainAttr domain) {
  printer << stringifyDomain(domain.getValue());
}

static ParseResult parseKindKeyword(OpAsmParser &parser, ReduceKindAttr &kind) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReduceKind> value = symbolizeReduceKind(keyword);
  if (!value)
    return parser.emitError(location) << "unknown reduction `" << keyword << "`; expected sum, max, min or mean";
  kind = ReduceKindAttr::get(parser.getContext(), *value);
  return success();
}

static void printKindKeyword(OpAsmPrinter &printer, Operation *, ReduceKindAttr kind) {
  printer << stringifyReduceKind(kind.getValue());
}

/// The type of `init` is that of the result, so it is written once.
static ParseResult parseInitType(OpAsmParser &parser, Type &result, Type &init,
                                 std::optional<OpAsmParser::UnresolvedOperand> start) {
  RowsType rows;
  if (parser.parseCustomTypeWithFallback(rows))
    return failure();
  result = rows;
  if (start)
    init = rows;
  return success();
}

static void printInitType(OpAsmPrinter &printer, Operation *, Type result, Type, Value) {
  printer.printStrippedAttrOrType(cast<RowsType>(result));
}

ParseResult hector::flow::detail::parseDense(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Attribute> maps;
  auto parseOperand = [&]() -> ParseResult {
    MapAttr map;
    if (parser.parseOperand(operands.emplace_back()) || parseBracketMap(parser, map))
      return failure();
    maps.push_back(map);
    return success();
  };
  SMLoc location = parser.getCurrentLocation();
  SmallVector<Type> types;
  RowsType result;
  auto parseRowsType = [&]() -> ParseResult {
    RowsType rows;
    if (parser.parseCustomTypeWithFallback(rows))
      return failure();
    types.push_back(rows);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOperand) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColon() || parser.parseCommaSeparatedList(parseRowsType) || parser.parseArrow() ||
      parser.parseCustomTypeWithFallback(result) || parser.resolveOperands(operands, types, location, state.operands))
    return failure();
  state.addAttribute("maps", parser.getBuilder().getArrayAttr(maps));
  state.addTypes(result);
  return success();
}

void hector::flow::detail::printDense(OpAsmPrinter &printer, Operation *op) {
  auto dense = cast<DenseOp>(op);
  printer << ' ';
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    printer << (i ? ", " : "") << operand;
    if (dense.getMap(i) != Map::Self)
      printer << '[' << stringifyMap(dense.getMap(i)) << ']';
  }
  printer.printOptionalAttrDict(op->getAttrs(), {"maps"});
  printer << " : ";
  llvm::interleaveComma(op->getOperandTypes(), printer,
                        [&](Type type) { printer.printStrippedAttrOrType(cast<RowsType>(type)); });
  printer << " -> ";
  printer.printStrippedAttrOrType(dense.getResultRows());
}

bool hector::flow::dependsOnRow(Operation *op) {
  return isa<DropoutOp, IsRowOp>(op);
}

//===- What all dense ops share ----------------------------------------------------------------------------------===//

LogicalResult hector::flow::detail::verifyDense(Operation *op) {
  auto dense = cast<DenseOp>(op);
  if (dense.getMaps().size() != op->getNumOperands())  // (D1)
    return op->emitOpError() << "has " << op->getNumOperands() << " operands, but " << dense.getMaps().size()
                             << " maps";
  RowsType result = dense.getResultRows();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    RowsType operand = dense.getOperandRows(i);
    std::optional<Domain> target = mapTarget(result.getDomain(), dense.getMap(i));
    if (!target)  // (D2)
      return op->emitOpError() << "reads operand " << i << " through `" << stringifyMap(dense.getMap(i))
                               << "`, which domain " << stringifyDomain(result.getDomain()) << " does not have";
    if (*target != operand.getDomain())  // (D2)
      return op->emitOpError() << "reads operand " << i << " through `" << stringifyMap(dense.getMap(i))
                               << "`, which leads from " << stringifyDomain(result.getDomain()) << " to "
                               << stringifyDomain(*target) << ", but the operand has domain "
                               << stringifyDomain(operand.getDomain());
    if (operand.getResidency() != result.getResidency())  // (D3)
      return op->emitOpError() << "has its result on " << stringifyResidency(result.getResidency()) << ", but operand "
                               << i << " on " << stringifyResidency(operand.getResidency());
  }
  return success();
}

/// Checks that operands from `first` on and the result have one element type and that it is not i1.
static LogicalResult verifyFloats(DenseOp op) {
  RowsType result = op.getResultRows();
  if (!result.isFloat())
    return op->emitOpError() << "computes with numbers, but its result holds " << (result.isBool() ? "i1" : "index");
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (op.getOperandRows(i).getElementType() != result.getElementType())
      return op->emitOpError() << "has a result of " << result.getElementType() << ", but operand " << i << " of "
                               << op.getOperandRows(i).getElementType();
  return success();
}

static LogicalResult verifyShape(DenseOp op, ArrayRef<int64_t> expected) {
  RowsType result = op.getResultRows();
  if (result.getShape() == expected)
    return success();
  return op->emitOpError() << "gives rows of " << formatRow(expected, result.getElementType())
                           << ", but its result has " << formatRow(result);
}

static LogicalResult verifyCommonShape(DenseOp op) {
  SmallVector<int64_t> shape(op.getOperandRows(0).getShape());
  for (unsigned i = 1; i < op->getNumOperands(); ++i) {
    auto common = commonShape(shape, op.getOperandRows(i).getShape());
    if (!common)
      return op->emitOpError() << "cannot combine rows of " << formatRow(op.getOperandRows(0)) << " and "
                               << formatRow(op.getOperandRows(i)) << " element by element";
    shape = *common;
  }
  return verifyShape(op, shape);
}

static LogicalResult verifySameType(DenseOp op) {
  if (op.getOperandRows(0).getElementType() == op.getResultRows().getElementType())
    return success();
  return op->emitOpError() << "has a result of " << op.getResultRows().getElementType() << ", but an operand of "
                           << op.getOperandRows(0).getElementType();
}

//===- Element-wise ----------------------------------------------------------------------------------------------===//

static LogicalResult verifyUnary(DenseOp op) {
  if (failed(verifyShape(op, op.getOperandRows(0).getShape())))  // (C1)
    return failure();
  return verifyFloats(op);  // (C1)
}

static LogicalResult verifyBinary(DenseOp op) {
  if (failed(verifyCommonShape(op)))  // (C1)
    return failure();
  return verifyFloats(op);  // (C2)
}

static LogicalResult verifyCompare(DenseOp op) {
  if (failed(verifyCommonShape(op)))  // (C1)
    return failure();
  if (!op.getResultRows().isBool())  // (C2)
    return op->emitOpError() << "gives i1, but its result holds " << op.getResultRows().getElementType();
  if (op.getOperandRows(0).getElementType() != op.getOperandRows(1).getElementType())  // (C2)
    return op->emitOpError() << "compares " << op.getOperandRows(0).getElementType() << " with "
                             << op.getOperandRows(1).getElementType();
  return success();
}

static LogicalResult verifyLogical(DenseOp op) {
  if (failed(verifyCommonShape(op)))  // (C1)
    return failure();
  SmallVector<Type> types(op->getOperandTypes());
  types.push_back(op.getResultRows());
  for (Type type : types)
    if (!cast<RowsType>(type).isBool())  // (C2)
      return op->emitOpError() << "works on i1, but is given " << cast<RowsType>(type).getElementType();
  return success();
}

#define HECTOR_VERIFY(check, op)                                                                                       \
  LogicalResult op::verify() {                                                                                         \
    return check(cast<DenseOp>(getOperation()));                                                                       \
  }

HECTOR_VERIFY(verifyBinary, AddOp)
HECTOR_VERIFY(verifyBinary, ChainOp)
HECTOR_VERIFY(verifyBinary, SubOp)
HECTOR_VERIFY(verifyBinary, MulOp)
HECTOR_VERIFY(verifyBinary, DivOp)
HECTOR_VERIFY(verifyBinary, FloorDivOp)
HECTOR_VERIFY(verifyBinary, ModOp)
HECTOR_VERIFY(verifyBinary, PowOp)
HECTOR_VERIFY(verifyBinary, MaxOp)
HECTOR_VERIFY(verifyBinary, MinOp)
HECTOR_VERIFY(verifyCompare, LessOp)
HECTOR_VERIFY(verifyCompare, LessEqualOp)
HECTOR_VERIFY(verifyCompare, EqualOp)
HECTOR_VERIFY(verifyLogical, AndOp)
HECTOR_VERIFY(verifyLogical, OrOp)
HECTOR_VERIFY(verifyLogical, NotOp)
HECTOR_VERIFY(verifyUnary, NegOp)
HECTOR_VERIFY(verifyUnary, AbsOp)
HECTOR_VERIFY(verifyUnary, SignOp)
HECTOR_VERIFY(verifyUnary, FloorOp)
HECTOR_VERIFY(verifyUnary, ExpOp)
HECTOR_VERIFY(verifyUnary, LogOp)
HECTOR_VERIFY(verifyUnary, SqrtOp)
HECTOR_VERIFY(verifyUnary, RsqrtOp)
HECTOR_VERIFY(verifyUnary, SinOp)
HECTOR_VERIFY(verifyUnary, CosOp)
HECTOR_VERIFY(verifyUnary, TanhOp)
HECTOR_VERIFY(verifyUnary, SigmoidOp)
HECTOR_VERIFY(verifyUnary, SoftplusOp)
HECTOR_VERIFY(verifyUnary, ErfOp)
HECTOR_VERIFY(verifyUnary, ReluOp)
HECTOR_VERIFY(verifyUnary, LeakyReluOp)
#undef HECTOR_VERIFY

LogicalResult DropoutOp::verify() {
  constexpr int64_t kMaxStream = (int64_t{1} << 32) - 1, kMaxRow = int64_t{1} << 34;
  if (failed(verifyUnary(cast<DenseOp>(getOperation()))))  // (C1)
    return failure();
  double rate = getRate().convertToDouble();
  if (!(rate >= 0.0 && rate <= 1.0))  // (C2)
    return emitOpError() << "drops a part from 0 to 1, but `rate` is " << getRateAttr();
  int64_t stream = getStreamAttr().getInt();
  if (stream < 0 || stream > kMaxStream)  // (C3)
    return emitOpError() << "has streams from 0 to " << kMaxStream << ", but `stream` is " << stream;
  if (getResult().getType().getRowSize() > kMaxRow)  // (C4)
    return emitOpError() << "takes rows of at most " << kMaxRow << " numbers, but is given "
                         << getResult().getType().getRowSize();
  return success();
}

LogicalResult CastOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  if (failed(verifyShape(op, getInput().getType().getShape())))  // (C1)
    return failure();
  if (getResult().getType().isBool())  // (C1)
    return emitOpError("gives numbers, but its result holds i1");
  return success();
}

LogicalResult SelectOp::verify() {
  if (failed(verifyCommonShape(cast<DenseOp>(getOperation()))))  // (C1)
    return failure();
  if (!getCondition().getType().isBool())  // (C2)
    return emitOpError() << "chooses by i1, but is given " << getCondition().getType().getElementType();
  Type type = getResult().getType().getElementType();
  for (RowsType operand : {getThen().getType(), getOtherwise().getType()})
    if (operand.getElementType() != type)  // (C2)
      return emitOpError() << "has a result of " << type << ", but chooses from " << operand.getElementType();
  return success();
}

//===- Contractions ----------------------------------------------------------------------------------------------===//

/// Checks the leading sizes of operands whose last `a` and `b` axes are contracted or kept; gives those they share.
static FailureOr<SmallVector<int64_t>> verifyLead(DenseOp op, size_t a, size_t b) {
  ArrayRef<int64_t> lhs = op.getOperandRows(0).getShape(), rhs = op.getOperandRows(1).getShape();
  if (lhs.size() < a || rhs.size() < b) {
    op->emitOpError() << "needs rows of at least " << a << " and " << b << " axes, but is given "
                      << formatRow(op.getOperandRows(0)) << " and " << formatRow(op.getOperandRows(1));
    return failure();
  }
  auto lead = commonLead(lhs.drop_back(a), rhs.drop_back(b));
  if (lead)
    return *lead;
  op->emitOpError() << "needs equal leading sizes, but is given " << formatRow(op.getOperandRows(0)) << " and "
                    << formatRow(op.getOperandRows(1));
  return failure();
}

LogicalResult LinearOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  auto lead = verifyLead(op, 1, 2);  // (C2)
  if (failed(lead))
    return failure();
  ArrayRef<int64_t> weights = getWeights().getType().getShape();
  int64_t inner = weights[weights.size() - (getTransposed() ? 1 : 2)];
  int64_t outer = weights[weights.size() - (getTransposed() ? 2 : 1)];
  if (getInput().getType().getShape().back() != inner)  // (C1)
    return emitOpError() << "multiplies rows of " << inner << " elements, but is given rows of "
                         << getInput().getType().getShape().back();
  lead->push_back(outer);
  if (failed(verifyShape(op, *lead)))  // (C3)
    return failure();
  return verifyFloats(op);  // (C4)
}

LogicalResult DotOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  auto lead = verifyLead(op, 1, 1);  // (C2)
  if (failed(lead))
    return failure();
  int64_t lhs = getLhs().getType().getShape().back(), rhs = getRhs().getType().getShape().back();
  if (lhs != rhs)  // (C1)
    return emitOpError() << "needs rows of one length, but is given " << lhs << " and " << rhs;
  if (failed(verifyShape(op, *lead)))  // (C2)
    return failure();
  return verifyFloats(op);  // (C3)
}

LogicalResult OuterOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  auto lead = verifyLead(op, 1, 1);  // (C1, C2)
  if (failed(lead))
    return failure();
  lead->push_back(getLhs().getType().getShape().back());
  lead->push_back(getRhs().getType().getShape().back());
  if (failed(verifyShape(op, *lead)))  // (C3)
    return failure();
  return verifyFloats(op);  // (C4)
}

//===- Shapes of rows --------------------------------------------------------------------------------------------===//

static LogicalResult verifyAxis(DenseOp op, unsigned operand, int64_t axis) {
  int64_t rank = op.getOperandRows(operand).getRank();
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "names axis " << axis << ", but operand " << operand << " has " << rank;
}

LogicalResult RowReduceOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  if (failed(verifyAxis(op, 0, getAxis())))  // (C1)
    return failure();
  SmallVector<int64_t> shape(getInput().getType().getShape());
  shape.erase(shape.begin() + getAxis());
  if (failed(verifyShape(op, shape)))  // (C2)
    return failure();
  return verifyFloats(op);  // (C3)
}

LogicalResult ExpandOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  auto common = commonShape(getInput().getType().getShape(), shape);
  if (!common || ArrayRef(*common) != shape)  // (C1)
    return emitOpError() << "cannot repeat rows of " << formatRow(getInput().getType()) << " to "
                         << formatRow(getResult().getType());
  return verifySameType(op);  // (C2)
}

LogicalResult ReshapeOp::verify() {
  int64_t before = getInput().getType().getRowSize(), after = getResult().getType().getRowSize();
  if (before != after)  // (C1)
    return emitOpError() << "keeps the numbers of a row, but there are " << before << " before and " << after
                         << " after";
  return verifySameType(cast<DenseOp>(getOperation()));  // (C2)
}

LogicalResult TransposeOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  ArrayRef<int64_t> permutation = getPermutation(), shape = getInput().getType().getShape();
  SmallVector<bool> seen(shape.size(), false);
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<int64_t>(shape.size()) || seen[axis])  // (C1)
      return emitOpError() << "names axis " << axis << " twice or beyond the " << shape.size()
                           << " axes of its operand";
    seen[axis] = true;
  }
  if (permutation.size() != shape.size())  // (C1)
    return emitOpError() << "permutes " << permutation.size() << " axes, but its operand has " << shape.size();
  SmallVector<int64_t> expected;
  for (int64_t axis : permutation)
    expected.push_back(shape[axis]);
  if (failed(verifyShape(op, expected)))  // (C2)
    return failure();
  return verifySameType(op);  // (C3)
}

LogicalResult SliceOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  if (failed(verifyAxis(op, 0, getAxis())))  // (C1)
    return failure();
  ArrayRef<int64_t> shape = getInput().getType().getShape(), part = getResult().getType().getShape();
  if (part.size() != shape.size())  // (C3)
    return emitOpError() << "keeps " << shape.size() << " axes, but its result has " << part.size();
  int64_t offset = getOffset(), axis = getAxis();
  if (offset < 0 || offset > shape[axis] || part[axis] > shape[axis] - offset)  // (C2)
    return emitOpError() << "takes " << part[axis] << " from " << offset << " on, but the axis has " << shape[axis];
  SmallVector<int64_t> expected(shape);
  expected[axis] = part[axis];
  if (failed(verifyShape(op, expected)))  // (C3)
    return failure();
  return verifySameType(op);  // (C3)
}

LogicalResult ConcatOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  if (getInputs().empty())  // (C1)
    return emitOpError("needs at least one operand");
  SmallVector<int64_t> expected(op.getOperandRows(0).getShape());
  int64_t axis = getAxis(), total = 0;
  for (unsigned i = 0; i < getInputs().size(); ++i) {
    if (failed(verifyAxis(op, i, axis)))  // (C1)
      return failure();
    RowsType part = op.getOperandRows(i);
    SmallVector<int64_t> others(part.getShape());
    total += others[axis];
    others[axis] = expected[axis];
    if (others != expected || part.getElementType() != getResult().getType().getElementType())  // (C2)
      return emitOpError() << "cannot put rows of " << formatRow(part) << " beside " << formatRow(op.getOperandRows(0));
  }
  expected[axis] = total;
  return verifyShape(op, expected);  // (C2)
}

//===- Movement --------------------------------------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  RowsType type = getResult().getType();
  if (type.getDomain() != Domain::One || type.getRank() != 0 || !type.isFloat())  // (C1)
    return emitOpError() << "is one number, `<one, dtype, residency>`, but its result has type " << type;
  return success();
}

/// Checks that `via` leads from `fine` to `coarse` and that both hold the same kind of rows.
static LogicalResult verifyMovement(Operation *op, Map via, RowsType fine, RowsType coarse) {
  std::optional<Domain> target = mapTarget(fine.getDomain(), via);
  if (!target)  // (C1)
    return op->emitOpError() << "goes along `" << stringifyMap(via) << "`, which domain "
                             << stringifyDomain(fine.getDomain()) << " does not have";
  if (*target != coarse.getDomain())  // (C1)
    return op->emitOpError() << "goes along `" << stringifyMap(via) << "`, which leads from "
                             << stringifyDomain(fine.getDomain()) << " to " << stringifyDomain(*target) << ", not to "
                             << stringifyDomain(coarse.getDomain());
  if (fine.withDomain(coarse.getDomain()) != coarse)  // (C2)
    return op->emitOpError() << "keeps rows as they are, but reads and writes different ones: " << fine << " and "
                             << coarse;
  return success();
}

LogicalResult SpreadOp::verify() {
  return verifyMovement(*this, getVia(), getResult().getType(), getRows().getType());
}

LogicalResult ReduceOp::verify() {
  if (getVia() == Map::Self)  // (C1)
    return emitOpError("goes along `self`, which collects nothing");
  if (failed(verifyMovement(*this, getVia(), getRows().getType(), getResult().getType())))
    return failure();
  if (!getResult().getType().isFloat())  // (C2)
    return emitOpError() << "combines numbers, but is given " << (getResult().getType().isBool() ? "i1" : "index");
  if (!getInit())
    return success();
  if (getInit().getType() != getResult().getType())  // (C2)
    return emitOpError() << "starts from " << getInit().getType() << ", but its result is " << getResult().getType();
  if (isLinear(getKind()))  // (C3)
    return emitOpError() << "takes `init` for max and min only, not for " << stringifyReduceKind(getKind());
  return success();
}

/// Checks that an operand of domain `to` can be read at `from` through `map`.
static LogicalResult verifyRead(Operation *op, Domain from, Map map, Domain to, StringRef what) {
  std::optional<Domain> target = mapTarget(from, map);
  if (target && *target == to)
    return success();
  return op->emitOpError() << "reads " << what << " of domain " << stringifyDomain(to) << " from "
                           << stringifyDomain(from) << " through `" << stringifyMap(map) << "`";
}

LogicalResult WeightGradOp::verify() {
  ArrayRef<int64_t> x = getInput().getType().getShape(), g = getGrad().getType().getShape();
  auto lead = x.empty() || g.empty() ? std::nullopt : commonLead(x.drop_back(1), g.drop_back(1));
  if (!lead)  // (C1)
    return emitOpError() << "cannot multiply rows of " << formatRow(getInput().getType()) << " and "
                         << formatRow(getGrad().getType());
  if (failed(verifyRead(*this, getOver(), getInputMap(), getInput().getType().getDomain(), "an input")) ||  // (C2)
      failed(verifyRead(*this, getOver(), getGradMap(), getGrad().getType().getDomain(), "a gradient")))
    return failure();
  RowsType result = getResult().getType();
  std::optional<Domain> target = mapTarget(getOver(), getVia());
  if (!target || *target != result.getDomain())  // (C2)
    return emitOpError() << "sums from " << stringifyDomain(getOver()) << " along `" << stringifyMap(getVia())
                         << "`, which does not lead to " << stringifyDomain(result.getDomain());
  SmallVector<int64_t> matrix = {getTransposed() ? g.back() : x.back(), getTransposed() ? x.back() : g.back()};
  SmallVector<int64_t> batched(*lead);
  batched.append(matrix);
  if (result.getShape() != ArrayRef(matrix) && result.getShape() != ArrayRef(batched))  // (C3)
    return emitOpError() << "gives rows of " << formatRow(batched, result.getElementType()) << " or "
                         << formatRow(matrix, result.getElementType()) << ", but its result has " << formatRow(result);
  for (RowsType operand : {getInput().getType(), getGrad().getType()})
    if (operand.getElementType() != result.getElementType() || !result.isFloat() ||
        operand.getResidency() != result.getResidency())  // (C4)
      return emitOpError() << "has operands and a result of different kinds: " << operand << " and " << result;
  return success();
}

LogicalResult FirstIndexOp::verify() {
  if (getVia() == Map::Self)  // (C1)
    return emitOpError("goes along `self`, which groups nothing");
  if (failed(verifyMovement(*this, getVia(), getRows().getType(), getReduced().getType())))
    return failure();
  if (!getRows().getType().isFloat())  // (C2)
    return emitOpError() << "looks for numbers, but is given " << (getRows().getType().isBool() ? "i1" : "index");
  if (getInit() && getInit().getType() != getReduced().getType())  // (C2)
    return emitOpError() << "starts from " << getInit().getType() << ", but was reduced to " << getReduced().getType();
  RowsType expected = getReduced().getType().withElementType(IndexType::get(getContext()));
  if (getResult().getType() != expected)  // (C3)
    return emitOpError() << "gives " << expected << ", but its result has type " << getResult().getType();
  return success();
}

LogicalResult IsRowOp::verify() {
  if (!getInput().getType().getElementType().isIndex() || !getResult().getType().isBool())  // (C1)
    return emitOpError() << "compares the numbers of rows and gives i1, but has operand and result of "
                         << getInput().getType().getElementType() << " and " << getResult().getType().getElementType();
  return verifyShape(cast<DenseOp>(getOperation()), getInput().getType().getShape());  // (C1)
}

LogicalResult RowFirstMatchOp::verify() {
  auto op = cast<DenseOp>(getOperation());
  if (failed(verifyAxis(op, 0, getAxis())))  // (C1)
    return failure();
  SmallVector<int64_t> shape(getInput().getType().getShape());
  shape.erase(shape.begin() + getAxis());
  if (getReduced().getType().getShape() != ArrayRef(shape))  // (C1)
    return emitOpError() << "compares rows of " << formatRow(getInput().getType()) << " with "
                         << formatRow(getReduced().getType());
  if (getInput().getType().getElementType() != getReduced().getType().getElementType() ||
      !getInput().getType().isFloat() || !getResult().getType().isBool())  // (C2)
    return emitOpError("compares numbers of one type and gives i1");
  return verifyShape(op, getInput().getType().getShape());  // (C2)
}

#define GET_OP_CLASSES
#include "compiler/Dialect/Flow/IR/FlowOps.cpp.inc"
