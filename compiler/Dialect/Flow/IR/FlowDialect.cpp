/// The dialect, its type, and the algebra of maps.

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/DialectImplementation.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

using namespace mlir;
using namespace hector::flow;

#include "compiler/Dialect/Flow/IR/FlowDialect.cpp.inc"
#include "compiler/Dialect/Flow/IR/FlowEnums.cpp.inc"
#include "compiler/Dialect/Flow/IR/FlowInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/Flow/IR/FlowAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/Flow/IR/FlowTypes.cpp.inc"

void FlowDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/Flow/IR/FlowAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/Dialect/Flow/IR/FlowTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/Flow/IR/FlowOps.cpp.inc"
      >();
}

Operation *FlowDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto rows = dyn_cast<RowsType>(type);
  auto number = dyn_cast<FloatAttr>(value);
  if (!rows || !number || rows.getDomain() != Domain::One || rows.getRank() != 0)
    return nullptr;
  return builder.create<ConstantOp>(location, type, number);
}

//===- Attributes of functions and ops ---------------------------------------------------------------------------===//

/// Checks that an attribute of flow is of the kind `Attr`.
template <class Attr> static LogicalResult verifyKind(Operation *op, NamedAttribute attribute, StringRef kind) {
  if (isa<Attr>(attribute.getValue()))
    return success();
  return op->emitOpError() << "has `" << attribute.getName().getValue() << "` = " << attribute.getValue()
                           << ", but it is " << kind;
}

/// Checks that an attribute that says something about functions is on one.
static LogicalResult verifyOnFunction(Operation *op, NamedAttribute attribute) {
  if (isa<FunctionOpInterface>(op))
    return success();
  return op->emitOpError() << "has `" << attribute.getName().getValue() << "`, which belongs on a function";
}

static bool isI64(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64);
}

LogicalResult FlowDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == "flow.graph") {  // (A1)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    return verifyKind<GraphAttr>(op, attribute, "a #flow.graph");
  }
  if (name == "flow.machine") {  // (A2)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    return verifyKind<MachineAttr>(op, attribute, "a #flow.machine");
  }
  if (name == "flow.forward_results") {  // (A3)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    int64_t numResults = cast<FunctionOpInterface>(op).getNumResults();
    if (isI64(attribute.getValue())) {
      int64_t count = cast<IntegerAttr>(attribute.getValue()).getInt();
      if (count >= 0 && count <= numResults)
        return success();
    }
    return op->emitOpError() << "has `flow.forward_results` = " << attribute.getValue()
                             << ", but it is an i64 from 0 to the number of results, " << numResults;
  }
  if (name == "flow.gradients") {  // (A5)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitOpError() << "has `flow.gradients` = " << attribute.getValue()
                             << ", but it is a list of strings, the names of inputs";
  }
  if (name == "flow.relation_ends") {  // (A6)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    auto ends = dyn_cast<ArrayAttr>(attribute.getValue());
    if (ends && llvm::all_of(ends, [](Attribute end) {
          auto map = dyn_cast<MapAttr>(end);
          return map && (map.getValue() == Map::SrcNodeType || map.getValue() == Map::DstNodeType);
        }))
      return success();
    return op->emitOpError() << "has `flow.relation_ends` = " << attribute.getValue()
                             << ", but it is a list of #flow.map<src_ntype> and #flow.map<dst_ntype>";
  }
  if (name == "flow.phase") {  // (A7)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    return verifyKind<PhaseAttr>(op, attribute, "a #flow.phase");
  }
  if (name == "flow.optimiser") {  // (A8)
    if (failed(verifyOnFunction(op, attribute)))
      return failure();
    return verifyKind<OptimiserAttr>(op, attribute, "a #flow.optimiser");
  }
  if (name == "flow.name")  // (A4)
    return op->emitOpError("has `flow.name`, which belongs on an argument or result of a function");
  return success();
}

LogicalResult FlowDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  if (attribute.getName() != "flow.name")
    return success();
  return verifyKind<StringAttr>(op, attribute, "a string");  // (A4)
}

LogicalResult FlowDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  if (attribute.getName() != "flow.name")
    return success();
  return verifyKind<StringAttr>(op, attribute, "a string");  // (A4)
}

//===- Maps ------------------------------------------------------------------------------------------------------===//

std::optional<Domain> hector::flow::mapTarget(Domain from, Map map) {
  if (map == Map::Self)
    return from;
  if (map == Map::One)
    return from == Domain::One ? std::nullopt : std::optional(Domain::One);
  bool isPair = from == Domain::SrcPair || from == Domain::DstPair;
  bool isEdge = from == Domain::Edge;
  switch (map) {
  case Map::Src:
  case Map::Dst:
    return isEdge ? std::optional(Domain::Node) : std::nullopt;
  case Map::SrcPair:
    return isEdge ? std::optional(Domain::SrcPair) : std::nullopt;
  case Map::DstPair:
    return isEdge ? std::optional(Domain::DstPair) : std::nullopt;
  case Map::Node:
    return isPair ? std::optional(Domain::Node) : std::nullopt;
  case Map::EdgeType:
    return isPair || isEdge ? std::optional(Domain::EdgeType) : std::nullopt;
  case Map::NodeType:
    return isPair || from == Domain::Node ? std::optional(Domain::NodeType) : std::nullopt;
  case Map::SrcNodeType:
  case Map::DstNodeType:
    return isPair || isEdge || from == Domain::EdgeType ? std::optional(Domain::NodeType) : std::nullopt;
  case Map::Self:
  case Map::One:
    break;
  }
  return std::nullopt;
}

std::optional<Map> hector::flow::compose(Domain from, Map first, Map second) {
  std::optional<Domain> middle = mapTarget(from, first);
  if (!middle || !mapTarget(*middle, second))
    return std::nullopt;
  if (first == Map::Self)
    return second;
  if (second == Map::Self)
    return first;
  if (second == Map::One)
    return Map::One;
  // From here on both lead somewhere else, so `from` is an edge or a pair.
  switch (first) {
  case Map::Src:  // edge → node → ntype
    return Map::SrcNodeType;
  case Map::Dst:
    return Map::DstNodeType;
  case Map::SrcPair:  // edge → pair → node, etype, ntype
    return second == Map::Node ? Map::Src : second == Map::NodeType ? Map::SrcNodeType : second;
  case Map::DstPair:
    return second == Map::Node ? Map::Dst : second == Map::NodeType ? Map::DstNodeType : second;
  case Map::Node:  // pair → node → ntype
    return Map::NodeType;
  case Map::EdgeType:  // edge or pair → etype → ntype, by source or by destination
    return second;
  default:
    return std::nullopt;
  }
}

//===- Shapes ----------------------------------------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> hector::flow::commonShape(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.empty())
    return SmallVector<int64_t>(b);
  if (b.empty())
    return SmallVector<int64_t>(a);
  if (a.size() != b.size())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    shape.push_back(x == 1 ? y : x);
  }
  return shape;
}

std::optional<SmallVector<int64_t>> hector::flow::commonLead(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.empty())
    return SmallVector<int64_t>(b);
  if (b.empty() || a == b)
    return SmallVector<int64_t>(a);
  return std::nullopt;
}

bool hector::flow::isRowShape(ArrayRef<int64_t> shape) {
  int64_t rowSize = 1;
  return llvm::all_of(shape, [&](int64_t size) {
    return !__builtin_mul_overflow(rowSize, size, &rowSize) && rowSize <= (int64_t{1} << 40);
  });
}

//===- The graph's and the machine's numbers ---------------------------------------------------------------------===//

LogicalResult GraphAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t nodes, int64_t edges,
                                int64_t srcPairs, int64_t dstPairs, int64_t relations, int64_t nodeTypes,
                                int64_t uniform, DenseI64ArrayAttr sourceReads, DenseI64ArrayAttr destinationReads,
                                DenseI64ArrayAttr srcPairReads, DenseI64ArrayAttr dstPairReads) {
  for (int64_t number : {nodes, edges, srcPairs, dstPairs, relations, nodeTypes, uniform})
    if (number < 0)  // (C1)
      return emitError() << "a graph's numbers are at least 0, but one is " << number;
  for (DenseI64ArrayAttr reads : {sourceReads, destinationReads, srcPairReads, dstPairReads})
    for (int64_t number : reads ? reads.asArrayRef() : ArrayRef<int64_t>())
      if (number < 0)  // (C1)
        return emitError() << "a graph's numbers are at least 0, but one is " << number;
  return success();
}

LogicalResult MachineAttr::verify(function_ref<InFlightDiagnostic()> emitError, Target, int64_t bandwidth,
                                  int64_t cacheBytes, int64_t lineBytes, int64_t randomReads, int64_t cachedReads,
                                  int64_t productRate, int64_t scalarRate, int64_t launch) {
  for (int64_t number : {bandwidth, cacheBytes, lineBytes, randomReads, cachedReads, productRate, scalarRate, launch})
    if (number < 1)  // (C1)
      return emitError() << "a machine's numbers are at least 1, but one is " << number;
  return success();
}

LogicalResult OptimiserAttr::verify(function_ref<InFlightDiagnostic()> emitError, OptimiserKind, ArrayAttr parameters) {
  if (!llvm::all_of(parameters, llvm::IsaPred<StringAttr>))  // (C1)
    return emitError() << "an optimiser changes a list of strings, the names of inputs, but is given " << parameters;
  return success();
}

//===- The type --------------------------------------------------------------------------------------------------===//

std::string hector::flow::formatRow(RowsType type) {
  return formatRow(type.getShape(), type.getElementType());
}

std::string hector::flow::formatRow(ArrayRef<int64_t> shape, Type elementType) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (int64_t size : shape)
    out << size << 'x';
  out << elementType;
  return text;
}

int64_t RowsType::getRowSize() const {
  int64_t size = 1;
  for (int64_t extent : getShape())
    size *= extent;
  return size;
}

RowsType RowsType::withDomain(Domain domain) const {
  return get(getContext(), domain, getShape(), getElementType(), getResidency());
}

RowsType RowsType::withShape(ArrayRef<int64_t> shape) const {
  return get(getContext(), getDomain(), shape, getElementType(), getResidency());
}

RowsType RowsType::withElementType(Type type) const {
  return get(getContext(), getDomain(), getShape(), type, getResidency());
}

LogicalResult RowsType::verify(function_ref<InFlightDiagnostic()> emitError, Domain, ArrayRef<int64_t> shape,
                               Type elementType, Residency) {
  for (int64_t size : shape)
    if (size < 1)  // (C1)
      return emitError() << "a row's sizes are at least 1, but one is " << size;
  if (!isRowShape(shape))  // (C1)
    return emitError() << "a row has at most 2^40 numbers";
  if (!elementType.isF64() && !elementType.isF32() && !elementType.isF16() && !elementType.isBF16() &&
      !elementType.isInteger(1) && !elementType.isIndex())  // (C2)
    return emitError() << "rows hold f64, f32, f16, bf16, i1 or index, but are given " << elementType;
  return success();
}

/// Reads one of an enum's spellings; the message lists them all.
template <class Enum>
static FailureOr<Enum> parseEnumKeyword(AsmParser &parser, StringRef what, std::optional<Enum> (*symbolize)(StringRef),
                                        unsigned last, StringRef (*spell)(Enum)) {
  StringRef keyword;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (std::optional<Enum> value = symbolize(keyword))
    return *value;
  auto diagnostic = parser.emitError(location) << "unknown " << what << " `" << keyword << "`; expected ";
  for (unsigned i = 0; i <= last; ++i)
    diagnostic << (i == 0 ? "" : i == last ? " or " : ", ") << spell(static_cast<Enum>(i));
  return failure();
}

Type RowsType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  auto domain = parseEnumKeyword<Domain>(parser, "domain", symbolizeDomain, getMaxEnumValForDomain(), stringifyDomain);
  if (failed(domain) || parser.parseComma() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  auto residency = parseEnumKeyword<Residency>(parser, "residency", symbolizeResidency, getMaxEnumValForResidency(),
                                               stringifyResidency);
  if (failed(residency) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); }, parser.getContext(), *domain, ArrayRef(shape),
                    elementType, *residency);
}

void RowsType::print(AsmPrinter &printer) const {
  printer << '<' << stringifyDomain(getDomain()) << ", ";
  for (int64_t size : getShape())
    printer << size << 'x';
  printer << getElementType() << ", " << stringifyResidency(getResidency()) << '>';
}
