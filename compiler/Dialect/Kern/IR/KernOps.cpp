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
    if (!isa<flow::RowsType>(argument.getType()))  // (C1)
      return emitOpError() << "has argument " << argument.getArgNumber() << " of type " << argument.getType()
                           << ", but arguments are tables";
  if (getInputs() < 0 || getInputs() > block.getNumArguments())  // (C1)
    return emitOpError() << "reads " << getInputs() << " tables, but has " << block.getNumArguments() << " arguments";
  for (Operation &op : block) {  // (C2)
    bool isLoop = isa<ForOp, TileOp>(op);
    if (isLoop != (&op == &block.back()) || (!isLoop && !isa<ConstantOp, TotalOp>(op)))
      return op.emitOpError() << "is out of place: a kernel has constants and totals, and then one loop";
  }
  if (block.empty())
    return emitOpError() << "has no loop";
  return success();
}

LogicalResult LaunchOp::verify() {  // (C2)
  bool areOrders = llvm::all_of(getOrders(), llvm::IsaPred<flow::OrderAttr>);
  if (!areOrders || getOrders().size() != getNumResults())
    return emitOpError() << "has the orders " << getOrders() << " for " << getNumResults()
                         << " results, but there is a #flow.order for each";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {  // (C1)
  auto launched = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!launched)
    return emitOpError() << "launches " << getKernelAttr() << ", but there is no such kernel";
  SmallVector<Type> types(getInputs().getTypes());
  llvm::append_range(types, getResults().getTypes());
  if (TypeRange(types) != TypeRange(launched.getBody().getArgumentTypes()) ||
      static_cast<int64_t>(getInputs().size()) != launched.getInputs())
    return emitOpError() << "has operands and results of other types than the tables of " << getKernelAttr();
  return success();
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

/// Whether rows of `inner` are below those of `outer`, in a kernel whose loop is `loop`.
static bool isBelow(flow::Loop loop, flow::Domain outer, flow::Domain inner) {
  if (!flow::isTraversal(loop))
    return false;
  flow::Domain pair = loop == flow::Loop::ByDst ? flow::Domain::DstPair : flow::Domain::SrcPair;
  bool isEdge = inner == flow::Domain::Edge;
  return outer == flow::Domain::Node ? isEdge || inner == pair : outer == pair && isEdge;
}

LogicalResult ForOp::verify() {  // (C1)
  auto kernel = (*this)->getParentOfType<KernelOp>();
  Operation *around = (*this)->getParentOp();
  if (auto outer = dyn_cast<ForOp>(around);
      outer && kernel && !isBelow(kernel.getLoop(), outer.getDomain(), getDomain()))
    return emitOpError() << "walks rows of " << flow::stringifyDomain(getDomain()) << ", which are not below those of "
                         << flow::stringifyDomain(outer.getDomain()) << " in a kernel that goes "
                         << flow::stringifyLoop(kernel.getLoop());
  if (auto tile = dyn_cast<TileOp>(around); tile && tile.getDomain() != getDomain())
    return emitOpError() << "walks rows of " << flow::stringifyDomain(getDomain()) << " in a tile of "
                         << flow::stringifyDomain(tile.getDomain());
  return success();
}

LogicalResult TileOp::verify() {
  std::optional<flow::Domain> wanted;
  if (getDomain() == flow::Domain::Node)
    wanted = flow::Domain::NodeType;
  else if (getDomain() > flow::Domain::Node)
    wanted = flow::Domain::EdgeType;
  if (getType() && getType() != wanted) {  // (C1)
    auto error = emitOpError() << "has tiles of " << flow::stringifyDomain(*getType()) << ", but rows of "
                               << flow::stringifyDomain(getDomain()) << " are ";
    return wanted ? error << "sorted by " << flow::stringifyDomain(*wanted) : error << "not sorted";
  }
  if (getHeight() && *getHeight() < 1)  // (C2)
    return emitOpError() << "has tiles of " << *getHeight() << " rows, but a tile has at least 1";
  return success();
}

LogicalResult TileOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, ForOp, LoadOp, OuterOp, ProductOp>(op))  // (C3)
      return op.emitOpError() << "is out of place: a tile has buffers, loads, products and loops";
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

static LogicalResult verifyNames(Operation *op, ArrayAttr path) {
  for (StringAttr name : path.getAsRange<StringAttr>())
    if (!hector::exec::formFromName(std::string_view(name.getValue())))
      return op->emitOpError() << "looks up " << name << ", which is no index array";
  return success();
}

/// The last constraint of ops that find a row.
static LogicalResult verifyPath(Operation *op, flow::Domain level, ArrayAttr path) {
  if (!hasCurrentRow(op, level))
    return op->emitOpError() << "starts at a row of " << flow::stringifyDomain(level)
                             << ", but no loop around it has one";
  return verifyNames(op, path);
}

/// Whether a kernel reads, or else writes, a table.
static LogicalResult verifyTable(Operation *op, Value table, bool isRead) {
  auto argument = dyn_cast<BlockArgument>(table);
  auto kernel = argument ? dyn_cast<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  if (!kernel || (argument.getArgNumber() < kernel.getInputs()) != isRead)
    return op->emitOpError() << "needs a table that the kernel " << (isRead ? "reads" : "writes");
  return success();
}

static LogicalResult verifySize(Operation *op, Value table, Type row) {
  int64_t size = cast<flow::RowsType>(table.getType()).getRowSize();
  if (rowSize(row) != size)
    return op->emitOpError() << "has a row of " << rowSize(row) << " numbers, but rows of the table have " << size;
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyTable(*this, getTable(), /*isRead=*/true)) ||     // (C1)
      failed(verifySize(*this, getTable(), getResult().getType())))  // (C2)
    return failure();
  return verifyPath(*this, getLevel(), getPath());  // (C3)
}

LogicalResult StoreOp::verify() {
  if (failed(verifyTable(*this, getTable(), /*isRead=*/false)) ||  // (C1)
      failed(verifySize(*this, getTable(), getRow().getType())))   // (C2)
    return failure();
  return verifyPath(*this, getLevel(), getPath());  // (C3)
}

LogicalResult NumberOp::verify() {  // (C1)
  if (failed(verifyPath(*this, getLevel(), getPath())))
    return failure();
  return getRelation() ? verifyPath(*this, getLevel(), *getRelation()) : success();
}

/// (C1) of puts and gets.
static LogicalResult verifyBuffer(Operation *op, BufferType buffer, Type row) {
  if (row != buffer.getRow())
    return op->emitOpError() << "has a row of type " << row << ", but the buffer's are " << buffer.getRow();
  if (!hasCurrentRow(op, buffer.getDomain()))
    return op->emitOpError() << "is in no loop over " << flow::stringifyDomain(buffer.getDomain());
  return success();
}

LogicalResult PutOp::verify() {
  return verifyBuffer(*this, getBuffer().getType(), getRow().getType());
}

LogicalResult GetOp::verify() {
  return verifyBuffer(*this, getBuffer().getType(), getResult().getType());
}

LogicalResult BufferOp::verify() {  // (C1)
  flow::Domain domain = getResult().getType().getDomain();
  auto kernel = (*this)->getParentOfType<KernelOp>();
  auto loop = dyn_cast<ForOp>((*this)->getParentOp());
  auto tile = dyn_cast<TileOp>((*this)->getParentOp());
  if ((loop && kernel && isBelow(kernel.getLoop(), loop.getDomain(), domain)) ||
      (tile && tile.getDomain() == domain && tile.getHeight()))
    return success();
  return emitOpError() << "has a row for each row of " << flow::stringifyDomain(domain)
                       << ", but is neither in a loop that has these below it nor in a tile of a certain height";
}

//===- Rows ------------------------------------------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) {
  return getValueAttr();
}

LogicalResult MapOp::verify() {
  if (getMaps().size() != getNumOperands())  // (C1)
    return emitOpError() << "has " << getMaps().size() << " maps for " << getNumOperands() << " operands";
  size_t numAxes = getSizes().size() + getReduced().size();
  for (AffineMapAttr attribute : getMaps().getAsRange<AffineMapAttr>())
    if (AffineMap map = attribute.getValue();  // (C1)
        map.getNumDims() != numAxes || map.getNumSymbols() != 0 || map.getNumResults() != 1)
      return emitOpError() << "has the map " << attribute << ", but maps lead from " << numAxes
                           << " axes to one offset";
  for (AffineMapAttr attribute : getMaps().getAsRange<AffineMapAttr>()) {
    bool isLinear = true;
    attribute.getValue().getResult(0).walk([&](AffineExpr expr) {
      isLinear &= expr.getKind() != AffineExprKind::Mod && expr.getKind() != AffineExprKind::FloorDiv &&
                  expr.getKind() != AffineExprKind::CeilDiv;
    });
    if (!isLinear)  // (C1)
      return emitOpError() << "has the map " << attribute << ", but offsets are sums of multiples of axes";
  }
  int64_t points = 1;
  for (int64_t size : getSizes())
    points *= size;
  if (points != rowSize(getResult().getType()))  // (C2)
    return emitOpError() << "has " << points << " points, but a result of " << rowSize(getResult().getType())
                         << " numbers";
  if (getReduced().size() > 1 || getCombine().has_value() == getReduced().empty())  // (C3)
    return emitOpError() << "combines numbers exactly if it has an axis to combine them along";
  if (getNumOperands() != arity(getFn()))  // (C4)
    return emitOpError() << "has " << getNumOperands() << " operands, but `" << stringifyFn(getFn()) << "` takes "
                         << arity(getFn());
  bool isDropout = getFn() == Fn::Dropout;
  if (getParameter().has_value() != (isDropout || getFn() == Fn::LeakyRelu) ||
      getStream().has_value() != isDropout)  // (C5)
    return emitOpError()
           << "has a parameter exactly if it is `leaky_relu` or `dropout`, and a stream if it is `dropout`";
  return success();
}

LogicalResult ConcatOp::verify() {  // (C1)
  int64_t total = 0;
  for (Value operand : getOperands()) {
    total += rowSize(operand.getType());
    if (getRepeats() < 1 || rowSize(operand.getType()) % getRepeats() != 0)
      return emitOpError() << "cannot cut " << rowSize(operand.getType()) << " numbers into " << getRepeats()
                           << " parts";
  }
  if (total != rowSize(getResult().getType()))
    return emitOpError() << "joins " << total << " numbers, but the result has " << rowSize(getResult().getType());
  return success();
}

LogicalResult MatchOp::verify() {  // (C1)
  if (rowSize(getRow().getType()) != getBefore() * getLength() * getAfter() ||
      rowSize(getReduced().getType()) != getBefore() * getAfter() ||
      rowSize(getResult().getType()) != rowSize(getRow().getType()))
    return emitOpError() << "has rows that do not fit the axis";
  return success();
}

//===- State -----------------------------------------------------------------------------------------------------===//

LogicalResult AccOp::verify() {  // (C1)
  ArrayRef<Type> rows = getResult().getType().getRows();
  if (rows.size() != 1)
    return emitOpError() << "has an accumulator of " << rows.size() << " rows, but only a fold has several";
  if ((getKind() == AccKind::Nearest) != isa<IndexType>(elementType(rows.front())))
    return emitOpError() << "keeps " << rows.front() << ", but `nearest`, and nothing else, keeps numbers of rows";
  return success();
}

LogicalResult FoldOp::verifyRegions() {  // (C1)
  ArrayRef<Type> rows = getResult().getType().getRows();
  for (auto [name, region] :
       {std::pair("init", &getInit()), std::pair("step", &getStep()), std::pair("join", &getJoin())})
    if (region->front().getTerminator()->getOperandTypes() != TypeRange(rows))
      return emitOpError() << "has a region `" << name << "` that does not yield the accumulators";
  SmallVector<Type> once(rows), twice(rows);
  llvm::append_range(twice, rows);
  auto takes = [](Region &region) { return TypeRange(region.getArgumentTypes()); };
  if (!takes(getInit()).empty())
    return emitOpError() << "has a region `init` that takes something";
  if (takes(getStep()).size() < once.size() || takes(getStep()).take_front(once.size()) != TypeRange(once))
    return emitOpError() << "has a region `step` that does not take the accumulators";
  if (takes(getJoin()) != TypeRange(twice))
    return emitOpError() << "has a region `join` that does not take the accumulators twice";
  if (takes(getFinish()) != TypeRange(once))
    return emitOpError() << "has a region `finish` that does not take the accumulators";
  return success();
}

/// The kind of an accumulator; nothing if it is a fold, or unknown.
static std::optional<AccKind> kindOf(Value acc) {
  if (auto own = acc.getDefiningOp<AccOp>())
    return own.getKind();
  if (auto total = acc.getDefiningOp<TotalOp>())
    return total.getKind();
  return std::nullopt;
}

LogicalResult StepOp::verify() {  // (C1)
  auto types = getRows().getTypes();
  if (auto fold = getAcc().getDefiningOp<FoldOp>()) {
    size_t numRows = fold.getResult().getType().getRows().size();
    TypeRange taken = TypeRange(fold.getStep().getArgumentTypes());
    if (taken.size() >= numRows && taken.drop_front(numRows) == TypeRange(types))
      return success();
    return emitOpError() << "takes rows of other types than its accumulator";
  }
  Type row = getAcc().getType().getRows().front();
  if (kindOf(getAcc()) != AccKind::Nearest) {
    if (types.size() == 1 && types.front() == row)
      return success();
    return emitOpError() << "takes rows of other types than its accumulator";
  }
  if (types.size() != 3 || rowSize(types[0]) != rowSize(row) || types[0] != types[1] || !isa<IndexType>(types[2]))
    return emitOpError() << "takes a row, what is looked for, and a number";
  return success();
}

/// How many rows come first: none, or as many as the kind allows.
static bool canStartWith(AccKind kind, size_t count) {
  bool isExtreme = kind == AccKind::Max || kind == AccKind::Min;
  return count == 0 || (count == 1 && isExtreme) || (count == 2 && kind == AccKind::Nearest);
}

LogicalResult FinishOp::verify() {
  auto fold = getAcc().getDefiningOp<FoldOp>();
  auto acc = getAcc().getDefiningOp<AccOp>();
  if (!fold && !acc)  // (C1)
    return emitOpError() << "has a total, which the end of the kernel finishes";
  TypeRange wanted = getAcc().getType().getRows();
  if (fold) {
    if (!fold.getFinish().front().mightHaveTerminator())
      return success();  // the fold says so
    wanted = fold.getFinish().front().getTerminator()->getOperandTypes();
  }
  if (wanted != TypeRange(getResults().getTypes()))  // (C1)
    return emitOpError() << "has results of other types than its accumulator gives";
  bool isFine = fold ? getInit().empty() : canStartWith(acc.getKind(), getInit().size());
  for (Value row : getInit())
    isFine = isFine && rowSize(row.getType()) == rowSize(wanted.front());
  if (!isFine)  // (C2)
    return emitOpError() << "has " << getInit().size() << " rows that come first, which do not fit its accumulator";
  return success();
}

LogicalResult TotalOp::verify() {
  if (failed(verifyTable(*this, getTable(), /*isRead=*/false)))  // (C1)
    return failure();
  ArrayRef<Type> rows = getResult().getType().getRows();
  if (rows.size() != 1 || rowSize(rows.front()) != getTable().getType().getRowSize())  // (C1)
    return emitOpError() << "has an accumulator of other rows than its table";
  auto isOfType = [&](TileOp tile) { return tile.getType() == getTable().getType().getDomain(); };
  if (getSorted() && !llvm::any_of((*this)->getBlock()->getOps<TileOp>(), isOfType))  // (C2)
    return emitOpError() << "is sorted by " << flow::stringifyDomain(getTable().getType().getDomain())
                         << ", but the kernel has no tiles of that type";
  if (!canStartWith(getKind(), getInit().size()))  // (C3)
    return emitOpError() << "has " << getInit().size() << " tables that come first, which do not fit its kind";
  for (Value init : getInit())  // (C3)
    if (failed(verifyTable(*this, init, /*isRead=*/true)) || failed(verifySize(*this, init, rows.front())))
      return failure();
  return verifyNames(*this, getPath());  // (C4)
}

//===- Products --------------------------------------------------------------------------------------------------===//

LogicalResult ProductOp::verify() {
  if (failed(verifyTable(*this, getWeights(), /*isRead=*/true)))  // (C1)
    return failure();
  int64_t rows = rowSize(getRows().getType().getRow()), results = rowSize(getResult().getType().getRow());
  int64_t weights = getWeights().getType().getRowSize();
  if (rows != getInner() * (getSharedRows() ? 1 : getHeads()) || results != getOuter() * getHeads() ||
      weights != getInner() * getOuter() * (getSharedWeights() ? 1 : getHeads()))  // (C2)
    return emitOpError() << "has rows of " << rows << ", a matrix of " << weights << " and results of " << results
                         << " numbers, which do not fit its sizes";
  return verifyPath(*this, getLevel(), getPath());  // (C3)
}

LogicalResult OuterOp::verify() {
  int64_t left = rowSize(getLeft().getType().getRow()), right = rowSize(getRight().getType().getRow());
  int64_t total = rowSize(getTotal().getType().getRows().front());
  if (left != getInner() * (getSharedLeft() ? 1 : getHeads()) ||
      right != getOuter() * (getSharedRight() ? 1 : getHeads()) ||
      total != getInner() * getOuter() * (getSharedTotal() ? 1 : getHeads()))  // (C1)
    return emitOpError() << "has rows of " << left << " and " << right << " and a total of " << total
                         << " numbers, which do not fit its sizes";
  if (!getTotal().getDefiningOp<TotalOp>())  // (C2)
    return emitOpError() << "adds to an accumulator that is no total";
  return success();
}
