/// The ops of kern: their text and their constraints.

#include "compiler/Dialect/Kern/IR/Kern.h"
#include "runtime/exec/Form.h"

#include <mlir/IR/Builders.h>
#include <mlir/IR/OpImplementation.h>

using namespace mlir;
using namespace hector::kern;
namespace flow = hector::flow;

/// A word of an enum: `edge`, `mul`.
template <class Enum>
static ParseResult parseEnum(OpAsmParser &parser, StringRef what, std::optional<Enum> (*symbolize)(StringRef),
                             Enum &value) {
  StringRef word;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  auto found = symbolize(word);
  if (!found)
    return parser.emitError(location) << "unknown " << what << " `" << word << "`";
  value = *found;
  return success();
}

static ParseResult parseWord(OpAsmParser &parser, flow::DomainAttr &domain) {
  flow::Domain value = flow::Domain::One;
  if (parseEnum<flow::Domain>(parser, "domain", flow::symbolizeDomain, value))
    return failure();
  domain = flow::DomainAttr::get(parser.getContext(), value);
  return success();
}
static void printWord(OpAsmPrinter &printer, Operation *, flow::DomainAttr domain) {
  printer << flow::stringifyDomain(domain.getValue());
}
static ParseResult parseWord(OpAsmParser &parser, FnAttr &fn) {
  Fn value = Fn::Copy;
  if (parseEnum<Fn>(parser, "function", symbolizeFn, value))
    return failure();
  fn = FnAttr::get(parser.getContext(), value);
  return success();
}
static void printWord(OpAsmPrinter &printer, Operation *, FnAttr fn) {
  printer << stringifyFn(fn.getValue());
}
static ParseResult parseWord(OpAsmParser &parser, AccKindAttr &kind) {
  AccKind value = AccKind::Sum;
  if (parseEnum<AccKind>(parser, "kind", symbolizeAccKind, value))
    return failure();
  kind = AccKindAttr::get(parser.getContext(), value);
  return success();
}
static void printWord(OpAsmPrinter &printer, Operation *, AccKindAttr kind) {
  printer << stringifyAccKind(kind.getValue());
}

#define GET_OP_CLASSES
#include "compiler/Dialect/Kern/IR/KernOps.cpp.inc"

//===- Kernels ---------------------------------------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  flow::Loop loop = flow::Loop::Flat;
  flow::Domain domain = flow::Domain::One;
  int64_t inputs = 0;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name) || parseEnum<flow::Loop>(parser, "loop", flow::symbolizeLoop, loop) ||
      parseEnum<flow::Domain>(parser, "domain", flow::symbolizeDomain, domain) || parser.parseKeyword("reads") ||
      parser.parseInteger(inputs) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  MLIRContext *context = parser.getContext();
  auto &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = name;
  properties.loop = flow::LoopAttr::get(context, loop);
  properties.domain = flow::DomainAttr::get(context, domain);
  properties.inputs = parser.getBuilder().getI64IntegerAttr(inputs);
  return parser.parseRegion(*state.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << ' ' << flow::stringifyLoop(getLoop()) << ' ' << flow::stringifyDomain(getDomain()) << " reads "
          << getInputs() << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "loop", "domain", "inputs"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (!isa<flow::RowsType>(argument.getType()))
      return emitOpError() << "has argument " << argument.getArgNumber() << " of type " << argument.getType()
                           << ", but arguments are tables (C1)";
  if (getInputs() < 0 || getInputs() > block.getNumArguments())
    return emitOpError() << "reads " << getInputs() << " tables, but has " << block.getNumArguments()
                         << " arguments (C1)";
  unsigned numLoops = 0;
  for (Operation &op : block) {
    bool isLoop = isa<ForOp, TileOp>(op);
    numLoops += isLoop;
    if (!isLoop && !isa<ConstantOp, TotalOp>(op))
      return op.emitOpError() << "is outside of the kernel's loop, where only constants and totals are (C2)";
  }
  if (numLoops != 1)
    return emitOpError() << "has " << numLoops << " outermost loops, but a kernel has one (C2)";
  return success();
}

//===- Access ----------------------------------------------------------------------------------------------------===//

/// Whether a loop or tile around `op` has a current row of `level`.
static bool hasCurrentRow(Operation *op, flow::Domain level) {
  if (level == flow::Domain::One)
    return true;
  for (Operation *around = op->getParentOp(); around; around = around->getParentOp()) {
    if (auto loop = dyn_cast<ForOp>(around); loop && loop.getDomain() == level)
      return true;
    if (auto tile = dyn_cast<TileOp>(around); tile && (tile.getType() == level || tile.getHeight() == 1) &&
                                              (tile.getType() == level || tile.getDomain() == level))
      return true;
  }
  return false;
}

/// (C3)
static LogicalResult verifyPath(Operation *op, flow::Domain level, ArrayAttr path) {
  if (!hasCurrentRow(op, level))
    return op->emitOpError() << "starts at a row of " << flow::stringifyDomain(level)
                             << ", but no loop around it has one (C3)";
  for (StringAttr name : path.getAsRange<StringAttr>())
    if (!hector::exec::formFromName(std::string_view(name.getValue())))
      return op->emitOpError() << "looks up " << name << ", which is no index array (C3)";
  return success();
}

/// (C1) and (C2) of loads and stores.
static LogicalResult verifyTable(Operation *op, Value table, Type row, bool isRead) {
  auto argument = dyn_cast<BlockArgument>(table);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel || (argument.getArgNumber() < kernel.getInputs()) != isRead)
    return op->emitOpError() << "needs a table that the kernel " << (isRead ? "reads" : "writes") << " (C1)";
  int64_t size = cast<flow::RowsType>(table.getType()).getRowSize();
  if (rowSize(row) != size)
    return op->emitOpError() << "has a row of " << rowSize(row) << " numbers, but rows of the table have " << size
                             << " (C2)";
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyTable(*this, getTable(), getResult().getType(), /*isRead=*/true)))
    return failure();
  return verifyPath(*this, getLevel(), getPath());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyTable(*this, getTable(), getRow().getType(), /*isRead=*/false)))
    return failure();
  return verifyPath(*this, getLevel(), getPath());
}

LogicalResult NumberOp::verify() {
  if (failed(verifyPath(*this, getLevel(), getPath())))
    return failure();
  return getRelation() ? verifyPath(*this, getLevel(), *getRelation()) : success();
}

/// (C1) of puts and gets.
static LogicalResult verifyBuffer(Operation *op, BufferType buffer, Type row) {
  if (row != buffer.getRow())
    return op->emitOpError() << "has a row of type " << row << ", but the buffer's are " << buffer.getRow() << " (C1)";
  if (!hasCurrentRow(op, buffer.getDomain()))
    return op->emitOpError() << "is in no loop over " << flow::stringifyDomain(buffer.getDomain()) << " (C1)";
  return success();
}

LogicalResult PutOp::verify() {
  return verifyBuffer(*this, getBuffer().getType(), getRow().getType());
}

LogicalResult GetOp::verify() {
  return verifyBuffer(*this, getBuffer().getType(), getResult().getType());
}

LogicalResult TileOp::verify() {
  flow::Domain wanted = getDomain() == flow::Domain::Node ? flow::Domain::NodeType : flow::Domain::EdgeType;
  if (getType() && *getType() != wanted)
    return emitOpError() << "has tiles of " << flow::stringifyDomain(*getType()) << ", but rows of "
                         << flow::stringifyDomain(getDomain()) << " are sorted by " << flow::stringifyDomain(wanted)
                         << " (C1)";
  if (getHeight() && *getHeight() < 1)
    return emitOpError() << "has tiles of " << *getHeight() << " rows, but a tile has at least 1 (C2)";
  return success();
}

//===- Rows ------------------------------------------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getValueAttr();
}

LogicalResult MapOp::verify() {
  if (getMaps().size() != getNumOperands())
    return emitOpError() << "has " << getMaps().size() << " maps for " << getNumOperands() << " operands (C1)";
  size_t numAxes = getSizes().size() + getReduced().size();
  for (AffineMapAttr attribute : getMaps().getAsRange<AffineMapAttr>())
    if (AffineMap map = attribute.getValue();
        map.getNumDims() != numAxes || map.getNumSymbols() != 0 || map.getNumResults() != 1)
      return emitOpError() << "has the map " << attribute << ", but maps lead from " << numAxes
                           << " axes to one offset (C1)";
  int64_t points = 1;
  for (int64_t size : getSizes())
    points *= size;
  if (points != rowSize(getResult().getType()))
    return emitOpError() << "has " << points << " points, but a result of " << rowSize(getResult().getType())
                         << " numbers (C2)";
  if (getCombine().has_value() == getReduced().empty())
    return emitOpError() << "combines numbers exactly if it has axes to combine them along (C3)";
  if (getNumOperands() != arity(getFn()))
    return emitOpError() << "has " << getNumOperands() << " operands, but `" << stringifyFn(getFn()) << "` takes "
                         << arity(getFn()) << " (C4)";
  return success();
}

LogicalResult ConcatOp::verify() {
  int64_t total = 0;
  for (Value operand : getOperands()) {
    total += rowSize(operand.getType());
    if (getRepeats() < 1 || rowSize(operand.getType()) % getRepeats() != 0)
      return emitOpError() << "cannot cut " << rowSize(operand.getType()) << " numbers into " << getRepeats()
                           << " parts (C1)";
  }
  if (total != rowSize(getResult().getType()))
    return emitOpError() << "joins " << total << " numbers, but the result has " << rowSize(getResult().getType())
                         << " (C1)";
  return success();
}

LogicalResult MatchOp::verify() {
  if (rowSize(getRow().getType()) != getBefore() * getLength() * getAfter() ||
      rowSize(getReduced().getType()) != getBefore() * getAfter() ||
      rowSize(getResult().getType()) != rowSize(getRow().getType()))
    return emitOpError() << "has rows that do not fit the axis (C1)";
  return success();
}

//===- State -----------------------------------------------------------------------------------------------------===//

LogicalResult AccOp::verify() {
  ArrayRef<Type> rows = getResult().getType().getRows();
  if (rows.size() != 1)
    return emitOpError() << "has an accumulator of " << rows.size() << " rows, but only a fold has several (C1)";
  if ((getKind() == AccKind::First) != isa<IndexType>(elementType(rows.front())))
    return emitOpError() << "keeps " << rows.front() << ", but `first`, and nothing else, keeps numbers of rows (C1)";
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  ArrayRef<Type> rows = getResult().getType().getRows();
  auto yields = [&](Region &region, StringRef name) -> LogicalResult {
    if (region.front().getTerminator()->getOperandTypes() == TypeRange(rows))
      return success();
    return emitOpError() << "has a region `" << name << "` that does not yield the accumulators (C1)";
  };
  auto starts = [&](Region &region, StringRef name, size_t copies) -> LogicalResult {
    TypeRange types = region.front().getArgumentTypes();
    for (size_t i = 0; i < copies * rows.size(); ++i)
      if (i >= types.size() || types[i] != rows[i % rows.size()])
        return emitOpError() << "has a region `" << name << "` that does not take the accumulators (C1)";
    return success();
  };
  if (failed(yields(getInit(), "init")) || failed(yields(getStep(), "step")) || failed(yields(getJoin(), "join")) ||
      failed(starts(getStep(), "step", 1)) || failed(starts(getJoin(), "join", 2)) ||
      failed(starts(getFinish(), "finish", 1)))
    return failure();
  return success();
}

/// What a step of an accumulator takes; nothing if the accumulator is unknown.
static std::optional<SmallVector<Type>> stepTypes(Value acc) {
  if (auto fold = acc.getDefiningOp<FoldOp>())
    return llvm::to_vector(
        llvm::drop_begin(fold.getStep().front().getArgumentTypes(), fold.getResult().getType().getRows().size()));
  AccKind kind = AccKind::Sum;
  if (auto own = acc.getDefiningOp<AccOp>())
    kind = own.getKind();
  else if (auto total = acc.getDefiningOp<TotalOp>())
    kind = total.getKind();
  else
    return std::nullopt;
  Type row = cast<AccType>(acc.getType()).getRows().front();
  if (kind != AccKind::First)
    return SmallVector<Type>{row};
  return std::nullopt;  // float rows of the same size, and a number
}

LogicalResult StepOp::verify() {
  auto wanted = stepTypes(getAcc());
  if (wanted && TypeRange(*wanted) != getRows().getTypes())
    return emitOpError() << "takes rows of other types than its accumulator (C1)";
  if (!wanted && getRows().size() != 3)
    return emitOpError() << "takes a row, what is looked for, and a number (C1)";
  return success();
}

LogicalResult FinishOp::verify() {
  TypeRange wanted = getAcc().getType().getRows();
  if (auto fold = getAcc().getDefiningOp<FoldOp>())
    wanted = fold.getFinish().front().getTerminator()->getOperandTypes();
  if (wanted != getResults().getTypes())
    return emitOpError() << "has results of other types than its accumulator gives (C1)";
  return success();
}

//===- Products --------------------------------------------------------------------------------------------------===//

LogicalResult ProductOp::verify() {
  int64_t rows = rowSize(getRows().getType().getRow()), results = rowSize(getResult().getType().getRow());
  int64_t weights = getWeights().getType().getRowSize();
  if (rows != getInner() * (getSharedRows() ? 1 : getHeads()) || results != getOuter() * getHeads() ||
      weights != getInner() * getOuter() * (getSharedWeights() ? 1 : getHeads()))
    return emitOpError() << "has rows of " << rows << ", a matrix of " << weights << " and results of " << results
                         << " numbers, which do not fit its sizes (C2)";
  return verifyPath(*this, getLevel(), getPath());
}

LogicalResult OuterOp::verify() {
  int64_t left = rowSize(getLeft().getType().getRow()), right = rowSize(getRight().getType().getRow());
  int64_t total = rowSize(getTotal().getType().getRows().front());
  if (left != getInner() * (getSharedLeft() ? 1 : getHeads()) ||
      right != getOuter() * (getSharedRight() ? 1 : getHeads()) ||
      total != getInner() * getOuter() * (getSharedTotal() ? 1 : getHeads()))
    return emitOpError() << "has rows of " << left << " and " << right << " and a total of " << total
                         << " numbers, which do not fit its sizes (C1)";
  return success();
}
