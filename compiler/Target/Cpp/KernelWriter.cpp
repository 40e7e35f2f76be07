#include "compiler/Target/Cpp/KernelWriter.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace hector {

using exec::Form;
using exec::FormKind;
using exec::Side;
using flow::Domain;
using flow::ReduceKind;
using flow::RowsType;
using kern::AccKind;
using kern::Fn;
using llvm::ArrayRef;
using mlir::AffineExpr;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

namespace {

/// Rows that take more are in the thread's working memory, not on its stack.
constexpr int64_t kStackBytes = 8192;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t points = 1;
  for (int64_t size : sizes)
    points *= size;
  return points;
}

int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The type in which numbers are computed.
std::string numberName(Type element) {
  if (element.isInteger(1))
    return "bool";
  if (mlir::isa<mlir::IndexType>(element))
    return "int64_t";
  return element.isF64() ? "double" : "float";
}

int64_t numberBytes(Type element) {
  if (element.isInteger(1))
    return 1;
  return element.isF64() || mlir::isa<mlir::IndexType>(element) ? 8 : 4;
}

/// Whether numbers are stored as they are computed with.
bool isStoredAsIs(Type element) {
  return element.isF32() || element.isF64() || mlir::isa<mlir::IndexType>(element);
}

std::string literal(double value, Type element) {
  if (element.isInteger(1))
    return value != 0 ? "true" : "false";
  if (mlir::isa<mlir::IndexType>(element))
    return std::to_string(static_cast<int64_t>(value));
  const bool isDouble = element.isF64();
  if (std::isnan(value))
    return isDouble ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (!isDouble)
    value = static_cast<double>(static_cast<float>(value));
  if (std::isinf(value))
    return std::string(value < 0 ? "-" : "") + (isDouble ? "__builtin_inf()" : "__builtin_inff()");
  char text[40];
  std::snprintf(text, sizeof text, isDouble ? "%.17g" : "%.9g", value);
  // The shortest text that reads back as the same number.
  for (int digits = 1; digits < 17; ++digits) {
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, value);
    double back = std::strtod(shorter, nullptr);
    if (isDouble ? back == value : static_cast<float>(back) == static_cast<float>(value)) {
      std::copy(std::begin(shorter), std::end(shorter), text);
      break;
    }
  }
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos)
    result += ".0";
  if (!isDouble)
    result += "f";
  return value < 0 || std::signbit(value) ? "(" + result + ")" : result;
}

/// Without the parentheses around the whole.
std::string bare(const std::string &text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0)
      return text;
  }
  return text.substr(1, text.size() - 2);
}

std::string text(AffineExpr expr, const std::vector<std::string> &axes) {
  if (auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(expr))
    return axes[dim.getPosition()];
  if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return std::to_string(number.getValue());
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
  std::string left = text(binary.getLHS(), axes), right = text(binary.getRHS(), axes);
  if (expr.getKind() == mlir::AffineExprKind::Add)
    return "(" + left + " + " + right + ")";
  return left + " * " + right;
}

/// The offset of a point in row-major order.
AffineExpr rowMajor(ArrayRef<int64_t> sizes, mlir::MLIRContext *context) {
  AffineExpr offset = mlir::getAffineConstantExpr(0, context);
  int64_t stride = 1;
  for (size_t i = sizes.size(); i > 0; --i) {
    if (sizes[i - 1] != 1)
      offset = mlir::getAffineDimExpr(static_cast<unsigned>(i - 1), context) * stride + offset;
    stride *= sizes[i - 1];
  }
  return offset;
}

const char *levelName(Domain domain) {
  switch (domain) {
  case Domain::One:
    return "one";
  case Domain::NodeType:
    return "ntype";
  case Domain::EdgeType:
    return "etype";
  case Domain::Node:
    return "node";
  case Domain::SrcPair:
    return "src_pair";
  case Domain::DstPair:
    return "dst_pair";
  case Domain::Edge:
    return "edge";
  }
  return "";
}

const char *domainConstant(Domain domain) {
  switch (domain) {
  case Domain::One:
    return "cpu::One";
  case Domain::NodeType:
    return "cpu::NodeType";
  case Domain::EdgeType:
    return "cpu::EdgeType";
  case Domain::Node:
    return "cpu::Node";
  case Domain::SrcPair:
    return "cpu::SrcPair";
  case Domain::DstPair:
    return "cpu::DstPair";
  case Domain::Edge:
    return "cpu::Edge";
  }
  return "";
}

/// The rows of which types are sorted, by the domain that a tile walks.
TileRows typedRows(Domain domain) {
  switch (domain) {
  case Domain::SrcPair:
    return TileRows::SrcPairs;
  case Domain::DstPair:
    return TileRows::DstPairs;
  case Domain::Node:
    return TileRows::Nodes;
  default:
    return TileRows::Edges;
  }
}

bool needsCount(AccKind kind) {
  return kind == AccKind::Mean || kind == AccKind::Max || kind == AccKind::Min;
}

/// What an accumulator starts at.
std::string startOf(AccKind kind, Type element) {
  switch (kind) {
  case AccKind::Max:
    return literal(-HUGE_VAL, element);
  case AccKind::Min:
    return literal(HUGE_VAL, element);
  case AccKind::First:
    return "-1";
  case AccKind::Sum:
  case AccKind::Mean:
    return literal(0.0, element);
  }
  return "";
}

/// The statement that has `to` take `number`.
std::string taking(AccKind kind, const std::string &to, const std::string &number) {
  switch (kind) {
  case AccKind::Max:
    return to + " = cpu::larger(" + to + ", " + bare(number) + ");";
  case AccKind::Min:
    return to + " = cpu::smaller(" + to + ", " + bare(number) + ");";
  default:
    return to + " += " + bare(number) + ";";
  }
}

std::string plural(const std::string &place, int64_t size) {
  return size == 1 ? place : place + " * " + std::to_string(size);
}

}  // namespace

std::string storageName(Type element) {
  if (element.isBF16())
    return "cpu::bf16";
  if (element.isF16())
    return "cpu::f16";
  if (element.isInteger(1))
    return "uint8_t";
  return numberName(element);
}

//===- Names -----------------------------------------------------------------------------------------------------===//

std::string KernelWriter::unique(llvm::StringRef base) {
  std::string name;
  for (char c : base)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name = "t" + name;
  std::string candidate = name;
  for (int i = 2; !taken.insert(candidate).second; ++i)
    candidate = name + "_" + std::to_string(i);
  return candidate;
}

std::string KernelWriter::nameOf(mlir::Location location, llvm::StringRef otherwise) {
  llvm::StringRef name = flow::tableName(location);
  return unique(name.empty() ? otherwise : name);
}

std::string KernelWriter::form(llvm::StringRef name) {
  auto [slot, isNew] = formVariables.try_emplace(name);
  if (isNew) {
    slot->second = unique(name);
    formNames.push_back(name.str());
    facts.forms.push_back(*exec::formFromName(std::string_view(name)));
  }
  return slot->second;
}

std::string KernelWriter::pathTo(Domain level, mlir::ArrayAttr path) {
  std::string place = level == Domain::One ? "0" : levelName(level);
  for (mlir::StringAttr name : path.getAsRange<mlir::StringAttr>())
    place = form(name.getValue()) + "[" + place + "]";
  return place;
}

std::string KernelWriter::count(Domain domain) const {
  return std::string("frame.rows[") + domainConstant(domain) + "]";
}

std::string KernelWriter::offsetsName(Domain outer, Domain domain) {
  Side side = kernel.getLoop() == flow::Loop::BySrc ? Side::Source : Side::Destination;
  FormKind kind = outer != Domain::Node     ? FormKind::PlaceEdges
                  : domain == Domain::Edge ? FormKind::Edges
                                           : FormKind::Places;
  return form(exec::formName({.kind = kind, .side = side}));
}

//===- Rows ------------------------------------------------------------------------------------------------------===//

KernelWriter::Axes KernelWriter::axesOf(size_t count) {
  if (count == 1)
    return {"k"};
  Axes axes;
  for (size_t i = 0; i < count; ++i)
    axes.push_back("k" + std::to_string(i));
  return axes;
}

void KernelWriter::openLoops(ArrayRef<int64_t> sizes, const Axes &axes) {
  for (auto [size, axis] : llvm::zip_equal(sizes, axes)) {
    body.line("for (int64_t " + axis + " = 0; " + axis + " < " + std::to_string(size) + "; ++" + axis + ")");
    body.indent(body.indentation() + 1);
  }
}

void KernelWriter::closeLoops(ArrayRef<int64_t> sizes) {
  body.indent(body.indentation() - sizes.size());
}

std::string KernelWriter::declare(Type row, const std::string &base, const std::string &value) {
  std::string name = unique(base);
  Type element = kern::elementType(row);
  int64_t size = kern::rowSize(row);
  std::string number = numberName(element);
  if (size == 1) {
    body.line(number + " " + name + (value.empty() ? "" : " = " + value) + ";");
  } else if (size * numberBytes(element) <= kStackBytes) {
    body.line("alignas(64) " + number + " " + name + "[" + std::to_string(size) + "];");
  } else {
    large.push_back(number + " *" + name + " = fixed.take<" + number + ">(" + std::to_string(size) + ");");
    facts.scratch.bytes += roundUp(size * numberBytes(element), 64);
  }
  if (size > 1 && !value.empty())
    body.line("cpu::fill<" + number + ">(" + name + ", " + value + ", " + std::to_string(size) + ");");
  return name;
}

bool KernelWriter::canRead(kern::MapOp reader, unsigned operand, kern::MapOp source) {
  int64_t points = product(reader.getSizes()) * product(reader.getReduced());
  bool isOnce = points == kern::rowSize(source.getResult().getType()) || source.getFn() == Fn::Copy;
  if (!isOnce)
    return false;
  if (source.getSizes().size() == 1)
    return true;
  AffineExpr offset = mlir::cast<mlir::AffineMapAttr>(reader.getMaps()[operand]).getValue().getResult(0);
  return reader.getReduced().empty() && source.getSizes() == reader.getSizes() &&
         offset == rowMajor(reader.getSizes(), reader.getContext());
}

/// Whether a statement is computed where it is read, and not before.
bool KernelWriter::isInlined(kern::MapOp map) {
  if (map.getCombine() || map.getFn() == Fn::Dropout || map.getResult().use_empty())
    return false;
  bool isCopy = map.getFn() == Fn::Copy && kern::elementType(map.getOperand(0).getType()) ==
                                               kern::elementType(map.getResult().getType());
  bool isShort = kern::rowSize(map.getResult().getType()) == 1;
  if (!map.getResult().hasOneUse() && (!isCopy || isShort))
    return false;
  for (mlir::OpOperand &use : map.getResult().getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != map->getBlock() && (!isCopy || isShort))
      return false;
    if (auto reader = mlir::dyn_cast<kern::MapOp>(user)) {
      if (reader.getFn() == Fn::Dropout && use.getOperandNumber() == 1)
        return false;
      if (!canRead(reader, use.getOperandNumber(), map))
        return false;
    } else if (auto step = mlir::dyn_cast<kern::StepOp>(user)) {
      if (step.getAcc().getDefiningOp<kern::FoldOp>() || step.getRows().size() != 1)
        return false;
    } else if (mlir::isa<kern::ConcatOp>(user)) {
      if (map.getSizes().size() != 1)
        return false;
    } else if (!mlir::isa<kern::StoreOp, kern::PutOp, kern::YieldOp>(user)) {
      return false;
    }
  }
  return true;
}

std::string KernelWriter::numberAt(Value value, const std::string &offset, const Axes &axes, bool isSamePoint) {
  const Row &row = rows.at(value);
  if (auto map = mlir::dyn_cast_or_null<kern::MapOp>(row.op)) {
    if (!isSamePoint || map.getSizes().size() == 1)
      return expression(map, {offset});
    return expression(map, axes);
  }
  if (kern::rowSize(value.getType()) == 1)
    return row.name;
  if (!row.isPointer || isStoredAsIs(row.stored))
    return row.name + "[" + bare(offset) + "]";
  return "cpu::load(" + row.name + (offset == "0" ? "" : " + " + offset) + ")";
}

std::string KernelWriter::expression(kern::MapOp map, const Axes &axes) {
  std::vector<std::string> operands;
  AffineExpr here = rowMajor(map.getSizes(), map.getContext());
  for (auto [i, operand] : llvm::enumerate(map.getOperands())) {
    AffineExpr offset = mlir::cast<mlir::AffineMapAttr>(map.getMaps()[i]).getValue().getResult(0);
    operands.push_back(numberAt(operand, text(offset, axes), axes, offset == here));
  }
  return apply(map, operands, text(here, axes));
}

std::string KernelWriter::apply(kern::MapOp map, const std::vector<std::string> &in, const std::string &offset) {
  Type element = kern::elementType(map.getResult().getType());
  auto infix = [&](const char *op) { return "(" + in[0] + " " + op + " " + in[1] + ")"; };
  auto call = [&](const char *name) {
    std::string text = std::string("cpu::") + name + "(";
    for (size_t i = 0; i < in.size(); ++i)
      text += (i == 0 ? "" : ", ") + bare(in[i]);
    return text + ")";
  };
  switch (map.getFn()) {
  case Fn::Copy: {
    Type from = kern::elementType(map.getOperand(0).getType());
    if (from == element)
      return in[0];
    if (from.isInteger(1))
      return "(" + in[0] + " ? " + literal(1, element) + " : " + literal(0, element) + ")";
    return "static_cast<" + numberName(element) + ">(" + bare(in[0]) + ")";
  }
  case Fn::Add:
    return infix("+");
  case Fn::Sub:
    return infix("-");
  case Fn::Mul:
    return infix("*");
  case Fn::Div:
    return infix("/");
  case Fn::Less:
    return infix("<");
  case Fn::LessEqual:
    return infix("<=");
  case Fn::Equal:
    return infix("==");
  case Fn::And:
    return infix("&");
  case Fn::Or:
    return infix("|");
  case Fn::Not:
    return "(!" + in[0] + ")";
  case Fn::Neg:
    return "(-" + in[0] + ")";
  case Fn::Chain:
    return call("chain");
  case Fn::FloorDiv:
    return call("floorDivide");
  case Fn::Mod:
    return call("modulo");
  case Fn::Pow:
    return call("pow");
  case Fn::Max:
    return call("larger");
  case Fn::Min:
    return call("smaller");
  case Fn::Abs:
    return call("abs");
  case Fn::Sign:
    return call("sign");
  case Fn::Floor:
    return call("floor");
  case Fn::Exp:
    return call("exp");
  case Fn::Log:
    return call("log");
  case Fn::Sqrt:
    return call("sqrt");
  case Fn::Rsqrt:
    return call("rsqrt");
  case Fn::Sin:
    return call("sin");
  case Fn::Cos:
    return call("cos");
  case Fn::Tanh:
    return call("tanh");
  case Fn::Sigmoid:
    return call("sigmoid");
  case Fn::Softplus:
    return call("softplus");
  case Fn::Erf:
    return call("erf");
  case Fn::Relu:
    return call("relu");
  case Fn::LeakyRelu:
    return "cpu::leakyRelu(" + bare(in[0]) + ", " + bare(literal(map.getParameter()->convertToDouble(), element)) + ")";
  case Fn::Select:
    if (element.isF32() || element.isF64())
      return call("choose");
    return "(" + in[0] + " ? " + in[1] + " : " + in[2] + ")";
  case Fn::Dropout: {
    std::string kept = bare(literal(1.0 - map.getParameter()->convertToDouble(), element));
    return "(!frame.isTraining ? " + in[0] + " : " + rows.at(map.getResult()).name + "_mask.drops(" + in[1] + ", " +
           bare(offset) + ") ? " + literal(0, element) + " : " + in[0] + " / " + kept + ")";
  }
  }
  return "";
}

void KernelWriter::forNumbers(Value value, llvm::function_ref<std::string(std::string, std::string)> statement) {
  auto map = mlir::dyn_cast_or_null<kern::MapOp>(rows.at(value).op);
  if (kern::rowSize(value.getType()) == 1) {
    body.line(statement(map ? expression(map, Axes(map.getSizes().size(), "0")) : numberAt(value), "0"));
    return;
  }
  llvm::SmallVector<int64_t> sizes = {kern::rowSize(value.getType())};
  if (map)
    sizes.assign(map.getSizes().begin(), map.getSizes().end());
  Axes axes = axesOf(sizes.size());
  std::string offset = text(rowMajor(sizes, value.getContext()), axes);
  openLoops(sizes, axes);
  body.line(statement(map ? expression(map, axes) : numberAt(value, offset, axes, false), bare(offset)));
  closeLoops(sizes);
}

//===- Statements ------------------------------------------------------------------------------------------------===//

void KernelWriter::writeMap(kern::MapOp map) {
  Value result = map.getResult();
  if (isInlined(map)) {
    rows[result] = {.name = "", .op = map};
    return;
  }
  if (result.use_empty())
    return;
  Type element = kern::elementType(result.getType());
  int64_t size = kern::rowSize(result.getType());
  std::string base = flow::tableName(map.getLoc()).str();
  if (base.empty())
    base = stringifyFn(map.getFn()).str();
  if (map.getFn() == Fn::Dropout) {
    // The mask is named after the row.
    std::string name = declare(result.getType(), base);
    large.push_back("const hector::DropoutMask " + name + "_mask(frame.seed, frame.step, " +
                    std::to_string(*map.getStream()) + ", " +
                    bare(literal(map.getParameter()->convertToDouble(), mlir::Float64Type::get(map.getContext()))) + ");");
    rows[result] = {.name = name};
    Axes axes = axesOf(map.getSizes().size());
    if (size == 1) {
      body.line(name + " = " + bare(expression(map, Axes(axes.size(), "0"))) + ";");
      return;
    }
    openLoops(map.getSizes(), axes);
    body.line(name + "[" + bare(text(rowMajor(map.getSizes(), map.getContext()), axes)) +
              "] = " + bare(expression(map, axes)) + ";");
    closeLoops(map.getSizes());
    return;
  }
  if (!map.getCombine()) {
    Axes axes = axesOf(map.getSizes().size());
    if (size == 1) {
      std::string value = bare(expression(map, Axes(axes.size(), "0")));
      std::string name = unique(base);
      body.line("const " + numberName(element) + " " + name + " = " + value + ";");
      rows[result] = {.name = name};
      return;
    }
    std::string name = declare(result.getType(), base);
    openLoops(map.getSizes(), axes);
    body.line(name + "[" + bare(text(rowMajor(map.getSizes(), map.getContext()), axes)) +
              "] = " + bare(expression(map, axes)) + ";");
    closeLoops(map.getSizes());
    rows[result] = {.name = name};
    return;
  }
  // Numbers are combined along further axes.
  ReduceKind kind = *map.getCombine();
  AccKind acc = kind == ReduceKind::Max ? AccKind::Max : kind == ReduceKind::Min ? AccKind::Min : AccKind::Sum;
  Axes outer = axesOf(map.getSizes().size()), inner;
  for (size_t i = 0; i < map.getReduced().size(); ++i)  // there is one
    inner.push_back("r");
  Axes all = outer;
  all.insert(all.end(), inner.begin(), inner.end());
  // A sum is one expression, in an order that does not depend on where it stands.
  auto sum = [&] {
    std::string type = numberName(element), count = std::to_string(product(map.getReduced()));
    std::string value = "cpu::sum<" + type + ">(" + count + ", [&](int64_t r) { return " + bare(expression(map, all)) + "; })";
    return kind == ReduceKind::Mean ? value + " / " + literal(static_cast<double>(product(map.getReduced())), element)
                                    : value;
  };
  auto choose = [&](const std::string &to) {
    openLoops(map.getReduced(), inner);
    body.line(taking(acc, to, expression(map, all)));
    closeLoops(map.getReduced());
  };
  if (size == 1) {
    for (std::string &axis : outer)
      axis = "0";
    all = outer;
    all.insert(all.end(), inner.begin(), inner.end());
    if (acc == AccKind::Sum) {
      std::string value = sum(), name = unique(base);
      body.line("const " + numberName(element) + " " + name + " = " + value + ";");
      rows[result] = {.name = name};
      return;
    }
    std::string name = declare(result.getType(), base, bare(startOf(acc, element)));
    rows[result] = {.name = name};
    choose(name);
    return;
  }
  std::string name = declare(result.getType(), base);
  rows[result] = {.name = name};
  std::string place = name + "[" + bare(text(rowMajor(map.getSizes(), map.getContext()), outer)) + "] = ";
  if (acc == AccKind::Sum) {
    openLoops(map.getSizes(), outer);
    body.line(place + sum() + ";");
    closeLoops(map.getSizes());
    return;
  }
  openLoops(map.getSizes().drop_back(), Axes(outer.begin(), outer.end() - 1));
  const std::string &last = outer.back();
  body.open("for (int64_t " + last + " = 0; " + last + " < " + std::to_string(map.getSizes().back()) + "; ++" + last +
            ")");
  body.line(numberName(element) + " total = " + bare(startOf(acc, element)) + ";");
  choose("total");
  body.line(place + "total;");
  body.close();
  closeLoops(map.getSizes().drop_back());
}

void KernelWriter::writeConcat(kern::ConcatOp concat) {
  std::string name = declare(concat.getResult().getType(), nameOf(concat.getLoc(), "concat"));
  int64_t repeats = concat.getRepeats(), total = kern::rowSize(concat.getResult().getType()) / repeats, offset = 0;
  for (Value operand : concat.getOperands()) {
    int64_t length = kern::rowSize(operand.getType()) / repeats;
    Axes axes = axesOf(2);
    openLoops({repeats, length}, axes);
    std::string from = "(" + axes[0] + " * " + std::to_string(length) + " + " + axes[1] + ")";
    body.line(name + "[" + axes[0] + " * " + std::to_string(total) + " + " + std::to_string(offset) + " + " + axes[1] +
              "] = " + bare(numberAt(operand, from, axes, false)) + ";");
    closeLoops({repeats, length});
    offset += length;
  }
  rows[concat.getResult()] = {.name = name};
}

void KernelWriter::writeMatch(kern::MatchOp match) {
  int64_t length = match.getLength(), after = match.getAfter();
  bool isShort = kern::rowSize(match.getResult().getType()) == 1;
  std::string name = declare(match.getResult().getType(), nameOf(match.getLoc(), "match"));
  rows[match.getResult()] = {.name = name};
  Axes axes = {"k0", "k1"};
  openLoops({match.getBefore()}, {"k0"});
  body.open("for (int64_t k1 = 0; k1 < " + std::to_string(after) + "; ++k1)");
  body.line("bool isTaken = false;");
  body.open("for (int64_t r = 0; r < " + std::to_string(length) + "; ++r)");
  std::string at = "((k0 * " + std::to_string(length) + " + r) * " + std::to_string(after) + " + k1)";
  std::string reduced = "(k0 * " + std::to_string(after) + " + k1)";
  body.line("const bool isMatch = !isTaken && cpu::matches(" + bare(numberAt(match.getRow(), at, axes, false)) + ", " +
            bare(numberAt(match.getReduced(), reduced, axes, false)) + ");");
  body.line((isShort ? name : name + "[" + bare(at) + "]") + " = isMatch;");
  body.line("isTaken |= isMatch;");
  body.close();
  body.close();
  closeLoops({match.getBefore()});
}

void KernelWriter::writeLoad(kern::LoadOp load) {
  if (load.getResult().use_empty())
    return;
  Type stored = load.getTable().getType().getElementType();
  int64_t size = kern::rowSize(load.getResult().getType());
  const std::string &table = tables.at(load.getTable());
  std::string place = pathTo(load.getLevel(), load.getPath());
  std::string name = unique(table + "_" + levelName(load.getLevel()));
  if (size == 1) {
    std::string number = isStoredAsIs(stored)       ? table + "[" + place + "]"
                         : stored.isInteger(1) ? table + "[" + place + "] != 0"
                                               : "cpu::load(" + table + " + " + place + ")";
    body.line("const " + numberName(kern::elementType(load.getResult().getType())) + " " + name + " = " + number + ";");
    rows[load.getResult()] = {.name = name};
    return;
  }
  body.line("const " + storageName(stored) + " *" + name + " = " + table + " + static_cast<int64_t>(" + place + ") * " + std::to_string(size) + ";");
  rows[load.getResult()] = {.name = name, .isPointer = true, .stored = stored};
}

void KernelWriter::writeStore(kern::StoreOp store) {
  Type stored = store.getTable().getType().getElementType();
  int64_t size = kern::rowSize(store.getRow().getType());
  std::string place = pathTo(store.getLevel(), store.getPath());
  std::string table = tables.at(store.getTable());
  if (size > 1) {
    std::string name = unique(table + "_" + levelName(store.getLevel()));
    body.line(storageName(stored) + " *" + name + " = " + table + " + static_cast<int64_t>(" + place + ") * " + std::to_string(size) + ";");
    table = name;
  }
  forNumbers(store.getRow(), [&](const std::string &number, const std::string &offset) {
    const std::string &at = size == 1 ? place : offset;
    if (isStoredAsIs(stored) || stored.isInteger(1))
      return table + "[" + at + "] = " + bare(number) + ";";
    return "cpu::store(" + table + " + " + at + ", " + bare(number) + ");";
  });
}

void KernelWriter::writeNumber(kern::NumberOp number) {
  if (number.getResult().use_empty())
    return;
  std::string name = unique("number");
  std::string place = pathTo(number.getLevel(), number.getPath());
  if (number.getRelation())
    place = "static_cast<int64_t>(" + pathTo(number.getLevel(), *number.getRelation()) + ") * " + count(Domain::Node) + " + " + place;
  body.line("const int64_t " + name + " = " + place + ";");
  rows[number.getResult()] = {.name = name};
}

void KernelWriter::writeBuffer(kern::BufferOp buffer) {
  kern::BufferType type = buffer.getResult().getType();
  Buffer made;
  made.size = kern::rowSize(type.getRow());
  made.element = kern::elementType(type.getRow());
  made.name = nameOf(buffer.getLoc(), "rows");
  std::string number = numberName(made.element), rowsBelow;
  int64_t bytes = made.size * numberBytes(made.element);
  if (auto tile = mlir::dyn_cast<kern::TileOp>(buffer->getParentOp())) {
    made.first = "first";
    rowsBelow = std::to_string(*tile.getHeight());
    facts.scratch.bytes += roundUp(*tile.getHeight() * bytes, 64);
  } else {
    Domain unit = mlir::cast<kern::ForOp>(buffer->getParentOp()).getDomain();
    std::string offsets = offsetsName(unit, type.getDomain()), row = levelName(unit);
    made.first = offsets + "[" + row + "]";
    rowsBelow = "(" + offsets + "[" + row + " + 1] - " + made.first + ")";
    facts.scratch.bytesPerRow += bytes;
    facts.scratch.bytes += 64;
    // As many edges as pairs or more.
    if (type.getDomain() == Domain::Edge || facts.scratch.domain != exec::Domain::Edge || facts.scratch.bytesPerRow == bytes)
      facts.scratch.domain = static_cast<exec::Domain>(type.getDomain());
  }
  body.line(number + " *" + made.name + " = space.take<" + number + ">(" + plural(rowsBelow, made.size) + ");");
  buffers[buffer.getResult()] = made;
}

void KernelWriter::writeAcc(Value acc, AccKind kind) {
  Type row = mlir::cast<kern::AccType>(acc.getType()).getRows().front();
  std::string base = flow::tableName(acc.getLoc()).str();
  if (base.empty())
    base = stringifyAccKind(kind).str();
  Acc made;
  made.names = {declare(row, base, bare(startOf(kind, kern::elementType(row))))};
  if (needsCount(kind)) {
    made.count = unique(made.names.front() + "_count");
    body.line("int64_t " + made.count + " = 0;");
  }
  accs[acc] = made;
}

void KernelWriter::computeRegion(mlir::Region &region, ArrayRef<Row> arguments) {
  for (auto [argument, row] : llvm::zip_equal(region.front().getArguments(), arguments))
    rows[argument] = row;
  for (Operation &op : region.front().without_terminator())
    writeOp(op);
}

void KernelWriter::writeFold(kern::FoldOp fold) {
  computeRegion(fold.getInit(), {});
  Acc made;
  for (Value value : fold.getInit().front().getTerminator()->getOperands()) {
    std::string name = declare(value.getType(), nameOf(fold.getLoc(), "fold"));
    forNumbers(value, [&](const std::string &number, const std::string &offset) {
      return (kern::rowSize(value.getType()) == 1 ? name : name + "[" + offset + "]") + " = " + bare(number) + ";";
    });
    made.names.push_back(name);
  }
  accs[fold.getResult()] = made;
}

void KernelWriter::writeFoldStep(kern::StepOp step, kern::FoldOp fold) {
  const Acc acc = accs.at(fold.getResult());
  std::vector<Row> arguments;
  for (const std::string &name : acc.names)
    arguments.push_back({.name = name});
  for (Value row : step.getRows())
    arguments.push_back(rows.at(row));
  body.line("{");
  body.indent(body.indentation() + 1);
  computeRegion(fold.getStep(), arguments);
  // Old accumulators are read until all new ones are known; a row that only its own new row reads changes in place.
  mlir::Block &block = fold.getStep().front();
  Operation *end = block.getTerminator();
  std::vector<std::string> fresh(acc.names.size());
  auto isOwn = [&](size_t i) {
    mlir::BlockArgument argument = block.getArgument(static_cast<unsigned>(i));
    if (!argument.hasOneUse())
      return argument.use_empty();
    Value value = end->getOperand(static_cast<unsigned>(i));
    Operation *user = *argument.user_begin();
    for (Operation *op = user; op;) {
      auto map = mlir::dyn_cast<kern::MapOp>(op);
      if (!map || !rows.lookup(map.getResult()).op)
        return false;
      if (map.getResult() == value)
        return true;
      op = map.getResult().hasOneUse() ? *map.getResult().user_begin() : nullptr;
    }
    return false;
  };
  std::vector<size_t> inPlace;
  for (size_t i = 0; i < acc.names.size(); ++i) {
    Value value = end->getOperand(static_cast<unsigned>(i));
    if (kern::rowSize(value.getType()) > 1 && isOwn(i)) {
      inPlace.push_back(i);
      continue;
    }
    fresh[i] = declare(value.getType(), "next");
    forNumbers(value, [&](const std::string &number, const std::string &offset) {
      return (kern::rowSize(value.getType()) == 1 ? fresh[i] : fresh[i] + "[" + offset + "]") + " = " + bare(number) + ";";
    });
  }
  for (size_t i : inPlace)
    forNumbers(end->getOperand(static_cast<unsigned>(i)), [&](const std::string &number, const std::string &offset) {
      return acc.names[i] + "[" + offset + "] = " + bare(number) + ";";
    });
  for (size_t i = 0; i < acc.names.size(); ++i) {
    if (fresh[i].empty())
      continue;
    int64_t size = kern::rowSize(end->getOperand(static_cast<unsigned>(i)).getType());
    if (size == 1) {
      body.line(acc.names[i] + " = " + fresh[i] + ";");
    } else {
      openLoops({size}, {"k"});
      body.line(acc.names[i] + "[k] = " + fresh[i] + "[k];");
      closeLoops({size});
    }
  }
  body.close();
}

void KernelWriter::writeFoldFinish(kern::FinishOp finish, kern::FoldOp fold) {
  std::vector<Row> arguments;
  for (const std::string &name : accs.at(fold.getResult()).names)
    arguments.push_back({.name = name});
  computeRegion(fold.getFinish(), arguments);
  for (auto [result, value] : llvm::zip_equal(finish.getResults(), fold.getFinish().front().getTerminator()->getOperands())) {
    std::string name = declare(value.getType(), nameOf(result.getLoc(), "folded"));
    forNumbers(value, [&](const std::string &number, const std::string &offset) {
      return (kern::rowSize(value.getType()) == 1 ? name : name + "[" + offset + "]") + " = " + bare(number) + ";";
    });
    rows[result] = {.name = name};
  }
}

void KernelWriter::writeStep(kern::StepOp step) {
  if (auto fold = step.getAcc().getDefiningOp<kern::FoldOp>()) {
    writeFoldStep(step, fold);
    return;
  }
  AccKind kind = AccKind::Sum;
  auto total = step.getAcc().getDefiningOp<kern::TotalOp>();
  kind = total ? total.getKind() : step.getAcc().getDefiningOp<kern::AccOp>().getKind();
  Type rowType = step.getAcc().getType().getRows().front();
  int64_t size = kern::rowSize(rowType);
  // The row of an unsorted total is found for each step.
  bool isScoped = total && !total.getSorted();
  std::string place;
  if (isScoped) {
    body.line("{");
    body.indent(body.indentation() + 1);
    place = pathTo(total.getLevel(), total.getPath());
    writeTotalStart(total, "piece * " + count(total.getTable().getType().getDomain()) + " + " + place);
  }
  const Acc acc = accs.at(step.getAcc());
  const std::string &name = acc.names.front();
  auto at = [&](const std::string &offset) { return size == 1 && !total ? name : name + "[" + offset + "]"; };
  if (kind == AccKind::First) {
    Value row = step.getRows()[0], reduced = step.getRows()[1];
    std::string number = numberAt(step.getRows()[2]);
    if (size > 1)
      openLoops({size}, {"k"});
    std::string offset = size > 1 ? "k" : "0";
    body.line("if (cpu::matches(" + bare(numberAt(row, offset, {offset}, false)) + ", " +
              bare(numberAt(reduced, offset, {offset}, false)) + ") && (" + at(offset) + " < 0 || " + number + " < " +
              at(offset) + "))");
    body.indented(at(offset) + " = " + number + ";");
    if (size > 1)
      closeLoops({size});
  } else {
    forNumbers(step.getRows().front(),
               [&](const std::string &number, const std::string &offset) { return taking(kind, at(offset), number); });
    if (needsCount(kind))
      body.line("++" + acc.count + ";");
  }
  if (isScoped)
    body.close();
}

void KernelWriter::writeFinish(kern::FinishOp finish) {
  if (auto fold = finish.getAcc().getDefiningOp<kern::FoldOp>()) {
    writeFoldFinish(finish, fold);
    return;
  }
  AccKind kind = finish.getAcc().getDefiningOp<kern::AccOp>().getKind();
  const Acc acc = accs.at(finish.getAcc());
  const std::string &name = acc.names.front();
  Value result = finish.getResult(0);
  Type element = kern::elementType(result.getType());
  int64_t size = kern::rowSize(result.getType());
  rows[result] = {.name = name};
  auto each = [&](const std::string &condition, llvm::function_ref<std::string(std::string, std::string)> statement) {
    if (!condition.empty()) {
      body.line("if (" + condition + ")");
      body.indent(body.indentation() + 1);
    }
    if (size > 1)
      openLoops({size}, {"k"});
    body.line(statement(size > 1 ? name + "[k]" : name, size > 1 ? "k" : "0"));
    if (size > 1)
      closeLoops({size});
    if (!condition.empty())
      body.indent(body.indentation() - 1);
  };
  auto initAt = [&](unsigned i, const std::string &offset) {
    return bare(numberAt(finish.getInit()[i], offset, {offset}, false));
  };
  switch (kind) {
  case AccKind::Sum:
    break;
  case AccKind::Mean:
    each(acc.count + " > 0", [&](std::string to, std::string) {
      return to + " /= static_cast<" + numberName(element) + ">(" + acc.count + ");";
    });
    break;
  case AccKind::Max:
  case AccKind::Min: {
    const char *choose = kind == AccKind::Max ? "cpu::larger(" : "cpu::smaller(";
    if (finish.getInit().empty())
      each(acc.count + " == 0", [&](std::string to, std::string) { return to + " = " + literal(0, element) + ";"; });
    else
      each("", [&](std::string to, std::string offset) {
        std::string init = initAt(0, offset);
        return to + " = " + acc.count + " == 0 ? " + init + " : " + choose + init + ", " + to + ");";
      });
    break;
  }
  case AccKind::First:
    if (!finish.getInit().empty())
      each("", [&](std::string to, std::string offset) {
        return "if (cpu::matches(" + initAt(0, offset) + ", " + initAt(1, offset) + ")) " + to + " = -1;";
      });
    break;
  }
}

//===- Products --------------------------------------------------------------------------------------------------===//

void KernelWriter::writeProduct(kern::ProductOp product) {
  const Buffer &left = buffers.at(product.getRows()), &result = buffers.at(product.getResult());
  RowsType type = product.getWeights().getType();
  std::string number = numberName(left.element);
  int64_t inner = product.getInner(), outer = product.getOuter(), heads = product.getHeads();
  std::string weights = unique(tables.at(product.getWeights()) + "_matrix");
  std::string place = "static_cast<int64_t>(" + pathTo(product.getLevel(), product.getPath()) + ") * " +
                      std::to_string(type.getRowSize());
  if (isStoredAsIs(type.getElementType())) {
    body.line("const " + number + " *" + weights + " = " + tables.at(product.getWeights()) + " + " + place + ";");
  } else {
    large.push_back(number + " *" + weights + " = fixed.take<" + number + ">(" + std::to_string(type.getRowSize()) + ");");
    facts.scratch.bytes += roundUp(type.getRowSize() * numberBytes(left.element), 64);
    openLoops({type.getRowSize()}, {"k"});
    body.line(weights + "[k] = cpu::load(" + tables.at(product.getWeights()) + " + " + place + " + k);");
    closeLoops({type.getRowSize()});
  }
  auto shifted = [&](const std::string &name, int64_t step, bool isShared) {
    return heads == 1 || isShared ? name : name + " + head * " + std::to_string(step);
  };
  std::string a = shifted(left.name, inner, product.getSharedRows()),
              c = shifted(result.name, outer, /*isShared=*/false);
  std::string w = shifted(weights, inner * outer, product.getSharedWeights());
  auto sizes = [&](const std::string &between) {
    return a + ", " + std::to_string(left.size) + ", " + between + c + ", " + std::to_string(result.size) +
           ", last - first, " + std::to_string(inner) + ", " + std::to_string(outer) + ");";
  };
  if (heads > 1)
    body.open("for (int64_t head = 0; head < " + std::to_string(heads) + "; ++head)");
  body.line(std::string("cpu::") + (product.getTransposed() ? "multiplyTransposed<" : "multiply<") + number + ">(" +
            sizes(w + ", " + std::to_string(product.getTransposed() ? inner : outer) + ", "));
  if (product.getGuarded())
    body.line("cpu::clearZeroRows<" + number + ">(" + sizes(""));
  if (heads > 1)
    body.close();
}

void KernelWriter::writeOuter(kern::OuterOp outer) {
  auto total = outer.getTotal().getDefiningOp<kern::TotalOp>();
  const Buffer &left = buffers.at(outer.getLeft()), &right = buffers.at(outer.getRight());
  int64_t inner = outer.getInner(), columns = outer.getOuter(), heads = outer.getHeads();
  std::string number = numberName(left.element);
  auto call = [&](const std::string &rowsFrom, const std::string &numRows, const std::string &to) {
    auto at = [&](const Buffer &buffer, int64_t step, bool isShared) {
      std::string text = buffer.name + " + " + plural("(" + rowsFrom + ")", buffer.size);
      return heads == 1 || isShared ? text : text + " + head * " + std::to_string(step);
    };
    std::string x = at(left, inner, outer.getSharedLeft()) + ", " + std::to_string(left.size);
    std::string g = at(right, columns, outer.getSharedRight()) + ", " + std::to_string(right.size);
    std::string matrix = heads == 1 || outer.getSharedTotal() ? to : to + " + head * " + std::to_string(inner * columns);
    bool isTurned = outer.getTransposed();
    if (heads > 1)
      body.line("for (int64_t head = 0; head < " + std::to_string(heads) + "; ++head)");
    std::string line = "cpu::addOuterProducts<" + number + ">(" + (isTurned ? g : x) + ", " + (isTurned ? x : g) + ", " +
                       matrix + ", " + std::to_string(isTurned ? inner : columns) + ", " + numRows + ", " +
                       std::to_string(isTurned ? columns : inner) + ", " + std::to_string(isTurned ? inner : columns) +
                       ");";
    heads > 1 ? body.indented(line) : body.line(line);
  };
  // Rows of one tile may belong to several rows of a total that is not sorted.
  bool isSorted = total.getSorted() || total.getTable().getType().getDomain() == Domain::One;
  if (isSorted && !total.getSorted()) {
    body.line("{");
    body.indent(body.indentation() + 1);
    writeTotalStart(total, "piece");
  }
  if (isSorted) {
    body.open("cpu::forNonZeroRows(" + right.name + ", " + std::to_string(right.size) +
              ", last - first, [&](int64_t from, int64_t count)");
    call("from", "count", accs.at(outer.getTotal()).names.front());
    body.indent(body.indentation() - 1);
    body.line("});");
    if (!total.getSorted())
      body.close();
    return;
  }
  std::string row = levelName(kernel.getDomain());
  body.open("for (int64_t " + row + " = first; " + row + " < last; ++" + row + ")");
  body.line("if (cpu::isZero(" + right.name + " + (" + row + " - first) * " + std::to_string(right.size) + ", " +
            std::to_string(right.size) + "))");
  body.indented("continue;");
  writeTotalStart(total, "piece * " + count(total.getTable().getType().getDomain()) + " + " +
                             pathTo(total.getLevel(), total.getPath()));
  call(row + " - first", "1", accs.at(outer.getTotal()).names.front());
  body.close();
}

//===- Totals ----------------------------------------------------------------------------------------------------===//

/// Where the count of a total's row is, in numbers after its start.
static int64_t countPlace(int64_t size, Type element) {
  return roundUp(size * numberBytes(element), 8) / numberBytes(element);
}

/// Declares the row of a total at `slot`, under the name by which steps know it.
void KernelWriter::writeTotalStart(kern::TotalOp total, const std::string &slot) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  size_t number = static_cast<size_t>(llvm::find(totals, total) - totals.begin());
  std::string name = unique(tables.at(total.getTable()) + "_part");
  std::string type = numberName(element);
  body.line(type + " *" + name + " = cpu::totalRow<" + type + ">(frame.totals[" + std::to_string(number) + "], " +
            std::to_string(facts.totals[number].rowBytes) + ", " + slot + ");");
  Acc acc;
  acc.names = {name};
  if (needsCount(total.getKind())) {
    acc.count = unique(name + "_count");
    body.line("int64_t &" + acc.count + " = *reinterpret_cast<int64_t *>(" + name + " + " +
              std::to_string(countPlace(kern::rowSize(row), element)) + ");");
  }
  accs[total.getResult()] = acc;
}

/// Starts the totals that are not sorted: a piece may step any of their rows.
void KernelWriter::writeTotals() {
  for (kern::TotalOp total : totals) {
    if (total.getSorted())
      continue;
    Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
    std::string targets = count(total.getTable().getType().getDomain());
    body.open("for (int64_t target = 0; target < " + targets + "; ++target)");
    writeTotalStart(total, "piece * " + targets + " + target");
    const Acc &acc = accs.at(total.getResult());
    body.line("cpu::fill<" + numberName(element) + ">(" + acc.names.front() + ", " +
              bare(startOf(total.getKind(), element)) + ", " + std::to_string(kern::rowSize(row)) + ");");
    if (!acc.count.empty())
      body.line(acc.count + " = 0;");
    body.close();
  }
}

void KernelWriter::writeJoin(Writer &out, kern::TotalOp total, unsigned number) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  AccKind kind = total.getKind();
  std::string type = numberName(element), size = std::to_string(kern::rowSize(row));
  std::string parts = "cpu::totalRow<" + type + ">(frame.totals[" + std::to_string(number) + "], " +
                      std::to_string(facts.totals[number].rowBytes) + ", ";
  Domain target = total.getTable().getType().getDomain();
  std::string index = std::to_string(mlir::cast<mlir::BlockArgument>(total.getTable()).getArgNumber());
  const std::string &table = tables.at(total.getTable());
  out.line("");
  out.line("// Joins what the pieces of " + symbol + " left for " + table + ".");
  out.open("HECTOR_KERNEL void " + symbol + "_join" + std::to_string(number) +
           "(const cpu::Frame &frame, int64_t begin, int64_t end)");
  out.line(type + " *" + table + " = cpu::table<" + type + ">(frame, " + index + ");");
  for (Value init : total.getInit())
    out.line("const " + storageName(mlir::cast<RowsType>(init.getType()).getElementType()) + " *" + tables.at(init) +
             " = cpu::table<const " + storageName(mlir::cast<RowsType>(init.getType()).getElementType()) + ">(frame, " +
             std::to_string(mlir::cast<mlir::BlockArgument>(init).getArgNumber()) + ");");
  if (total.getSorted()) {
    std::string name = exec::formName({.kind = FormKind::Types, .types = typedRows(kernel.getDomain())});
    size_t place = static_cast<size_t>(llvm::find(formNames, name) - formNames.begin());
    out.line("const Id *types = cpu::form<Id>(frame, " + std::to_string(place) + ");");
  }
  out.open("for (int64_t target = begin; target < end; ++target)");
  out.line(type + " *row = " + table + " + target * " + size + ";");
  out.line("cpu::fill<" + type + ">(row, " + bare(startOf(kind, element)) + ", " + size + ");");
  if (needsCount(kind))
    out.line("int64_t count = 0;");
  if (total.getSorted()) {
    out.line("const int64_t firstRow = types[target], lastRow = types[target + 1];");
    out.open("for (int64_t piece = firstRow / frame.grain; piece * frame.grain < lastRow && firstRow < lastRow; ++piece)");
    out.line("const " + type + " *part = " + parts + "piece + target);");
  } else {
    out.open("for (int64_t piece = 0; piece < frame.pieces; ++piece)");
    out.line("const " + type + " *part = " + parts + "piece * " + count(target) + " + target);");
  }
  out.line("for (int64_t k = 0; k < " + size + "; ++k)");
  if (kind == AccKind::First) {
    out.indented("if (part[k] >= 0 && (row[k] < 0 || part[k] < row[k])) row[k] = part[k];");
  } else {
    out.indented(taking(kind, "row[k]", "part[k]"));
  }
  if (needsCount(kind))
    out.line("count += *reinterpret_cast<const int64_t *>(part + " +
             std::to_string(countPlace(kern::rowSize(row), element)) + ");");
  out.close();
  std::string loop = "for (int64_t k = 0; k < " + size + "; ++k)";
  auto initAt = [&](unsigned i) { return tables.at(total.getInit()[i]) + "[target * " + size + " + k]"; };
  switch (kind) {
  case AccKind::Sum:
    break;
  case AccKind::Mean:
    out.line(loop);
    out.indented("row[k] = count == 0 ? row[k] : row[k] / static_cast<" + type + ">(count);");
    break;
  case AccKind::Max:
  case AccKind::Min: {
    out.line(loop);
    std::string choose = kind == AccKind::Max ? "cpu::larger(" : "cpu::smaller(";
    if (total.getInit().empty())
      out.indented("row[k] = count == 0 ? " + literal(0, element) + " : row[k];");
    else
      out.indented("row[k] = count == 0 ? " + initAt(0) + " : " + choose + initAt(0) + ", row[k]);");
    break;
  }
  case AccKind::First:
    if (!total.getInit().empty()) {
      out.line(loop);
      out.indented("if (cpu::matches(" + initAt(0) + ", " + initAt(1) + ")) row[k] = -1;");
    }
    break;
  }
  out.close();
  out.close();
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

static bool hasBuffers(mlir::Block &block) {
  return llvm::any_of(block, [](Operation &op) { return mlir::isa<kern::BufferOp>(op); });
}

void KernelWriter::writeFor(kern::ForOp loop) {
  std::string row = levelName(loop.getDomain());
  std::string begin = "begin", end = "end";
  Operation *around = loop->getParentOp();
  if (auto outer = mlir::dyn_cast<kern::ForOp>(around)) {
    std::string offsets = offsetsName(outer.getDomain(), loop.getDomain()), at = levelName(outer.getDomain());
    begin = offsets + "[" + at + "]";
    end = offsets + "[" + at + " + 1]";
  } else if (mlir::isa<kern::TileOp>(around)) {
    begin = "first";
    end = "last";
  }
  body.open("for (int64_t " + row + " = " + begin + "; " + row + " < " + end + "; ++" + row + ")");
  mlir::Block &block = loop.getBody().front();
  if (hasBuffers(block)) {
    body.line("cpu::Scratch space = fixed;");
    usesSpace = true;
  }
  writeBlock(block);
  body.close();
}

void KernelWriter::writeTile(kern::TileOp tile) {
  std::optional<int64_t> height = tile.getHeight();
  std::string begin = "begin", end = "end";
  if (tile.getType()) {
    std::string name = exec::formName({.kind = FormKind::Types, .types = typedRows(tile.getDomain())});
    body.open("for (cpu::Segments<Id> part(" + form(name) + ", " + count(*tile.getType()) +
              ", begin, end); part.next();)");
    body.line("const int64_t " + std::string(levelName(*tile.getType())) + " = part.type;");
    begin = "part.first";
    end = "part.last";
    for (kern::TotalOp total : totals) {
      if (!total.getSorted())
        continue;
      Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
      writeTotalStart(total, "piece + " + std::string(levelName(*tile.getType())));
      const Acc &acc = accs.at(total.getResult());
      body.line("cpu::fill<" + numberName(element) + ">(" + acc.names.front() + ", " +
                bare(startOf(total.getKind(), element)) + ", " + std::to_string(kern::rowSize(row)) + ");");
      if (!acc.count.empty())
        body.line(acc.count + " = 0;");
    }
  }
  if (height) {
    std::string step = std::to_string(*height);
    body.open("for (int64_t first = " + begin + "; first < " + end + "; first += " + step + ")");
    body.line("const int64_t last = cpu::smallest(first + " + step + ", " + end + ");");
    if (*height == 1)
      body.line("[[maybe_unused]] const int64_t " + std::string(levelName(tile.getDomain())) + " = first;");
  } else {
    body.line("const int64_t first = " + begin + ", last = " + end + ";");
  }
  mlir::Block &block = tile.getBody().front();
  if (hasBuffers(block)) {
    body.line("cpu::Scratch space = fixed;");
    usesSpace = true;
  }
  writeBlock(block);
  if (height)
    body.close();
  if (tile.getType())
    body.close();
}

void KernelWriter::writeBlock(mlir::Block &block) {
  for (Operation &op : block)
    writeOp(op);
}

void KernelWriter::writeOp(Operation &op) {
  if (auto loop = mlir::dyn_cast<kern::ForOp>(op))
    return writeFor(loop);
  if (auto tile = mlir::dyn_cast<kern::TileOp>(op))
    return writeTile(tile);
  if (auto load = mlir::dyn_cast<kern::LoadOp>(op))
    return writeLoad(load);
  if (auto store = mlir::dyn_cast<kern::StoreOp>(op))
    return writeStore(store);
  if (auto number = mlir::dyn_cast<kern::NumberOp>(op))
    return writeNumber(number);
  if (auto buffer = mlir::dyn_cast<kern::BufferOp>(op))
    return writeBuffer(buffer);
  if (auto map = mlir::dyn_cast<kern::MapOp>(op))
    return writeMap(map);
  if (auto concat = mlir::dyn_cast<kern::ConcatOp>(op))
    return writeConcat(concat);
  if (auto match = mlir::dyn_cast<kern::MatchOp>(op))
    return writeMatch(match);
  if (auto acc = mlir::dyn_cast<kern::AccOp>(op))
    return writeAcc(acc.getResult(), acc.getKind());
  if (auto fold = mlir::dyn_cast<kern::FoldOp>(op))
    return writeFold(fold);
  if (auto step = mlir::dyn_cast<kern::StepOp>(op))
    return writeStep(step);
  if (auto finish = mlir::dyn_cast<kern::FinishOp>(op))
    return writeFinish(finish);
  if (auto product = mlir::dyn_cast<kern::ProductOp>(op))
    return writeProduct(product);
  if (auto outer = mlir::dyn_cast<kern::OuterOp>(op))
    return writeOuter(outer);
  if (auto constant = mlir::dyn_cast<kern::ConstantOp>(op)) {
    rows[constant.getResult()] = {
        .name = literal(constant.getValue().convertToDouble(), kern::elementType(constant.getResult().getType()))};
    return;
  }
  if (auto put = mlir::dyn_cast<kern::PutOp>(op)) {
    const Buffer &buffer = buffers.at(put.getBuffer());
    std::string place = std::string(levelName(put.getBuffer().getType().getDomain())) + " - " + buffer.first;
    std::string to = buffer.name;
    if (buffer.size > 1) {
      to = unique(buffer.name + "_row");
      body.line(numberName(buffer.element) + " *" + to + " = " + buffer.name + " + (" + place + ") * " +
                std::to_string(buffer.size) + ";");
    }
    forNumbers(put.getRow(), [&](const std::string &number, const std::string &offset) {
      return to + "[" + (buffer.size == 1 ? place : offset) + "] = " + bare(number) + ";";
    });
    return;
  }
  if (auto get = mlir::dyn_cast<kern::GetOp>(op)) {
    if (get.getResult().use_empty())
      return;
    const Buffer &buffer = buffers.at(get.getBuffer());
    std::string place = std::string(levelName(get.getBuffer().getType().getDomain())) + " - " + buffer.first;
    std::string name = unique(buffer.name + "_row"), number = numberName(buffer.element);
    if (buffer.size == 1)
      body.line("const " + number + " " + name + " = " + buffer.name + "[" + place + "];");
    else
      body.line("const " + number + " *" + name + " = " + buffer.name + " + (" + place + ") * " +
                std::to_string(buffer.size) + ";");
    rows[get.getResult()] = {.name = name};
    return;
  }
}

void KernelWriter::write(Writer &out) {
  for (const char *name : {"frame", "begin", "end", "piece", "scratch", "fixed", "space", "first", "last", "part", "k",
                           "r", "head", "total", "target", "count", "from", "row", "types", "node", "edge", "src_pair",
                           "dst_pair", "etype", "ntype", "one", "Id", "cpu", "hector", "isTaken", "isMatch",
                           // C++
                           "alignas", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const",
                           "continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
                           "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
                           "mutable", "namespace", "new", "not", "operator", "or", "private", "protected", "public",
                           "register", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template",
                           "this", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned",
                           "using", "virtual", "void", "volatile", "while", "xor", "int64_t", "uint8_t", "requires",
                           "concept", "compl", "bitand", "bitor", "main", "linux", "unix"})
    taken.insert(name);
  for (int i = 0; i < 8; ++i) {
    taken.insert("k" + std::to_string(i));
    taken.insert("r" + std::to_string(i));
  }
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    tables[argument] = nameOf(argument.getLoc(), argument.getArgNumber() < kernel.getInputs() ? "in" : "out");
    facts.tables.push_back(tables[argument]);
  }
  for (auto total : kernel.getBody().getOps<kern::TotalOp>()) {
    Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
    int64_t bytes = kern::rowSize(row) * numberBytes(element);
    if (needsCount(total.getKind()))
      bytes = countPlace(kern::rowSize(row), element) * numberBytes(element) + 8;
    totals.push_back(total);
    facts.totals.push_back({.slots = total.getSorted() ? exec::TotalSpec::Slots::Sorted : exec::TotalSpec::Slots::Full,
                            .target = static_cast<exec::Domain>(total.getTable().getType().getDomain()),
                            .rowBytes = roundUp(bytes, 64)});
  }
  body.indent(1);
  writeTotals();
  writeBlock(kernel.getBody().front());

  // What the launch needs to know.
  for (Operation &op : kernel.getBody().front()) {
    if (auto loop = mlir::dyn_cast<kern::ForOp>(op)) {
      facts.unit = loop.getDomain();
      if (flow::isTraversal(kernel.getLoop()) && facts.unit != kernel.getDomain()) {
        Side side = kernel.getLoop() == flow::Loop::BySrc ? Side::Source : Side::Destination;
        FormKind kind = facts.unit != Domain::Node              ? FormKind::PlaceEdges
                        : kernel.getDomain() == Domain::Edge ? FormKind::Edges
                                                             : FormKind::Places;
        facts.balance = Form{.kind = kind, .side = side};
      }
    } else if (auto tile = mlir::dyn_cast<kern::TileOp>(op)) {
      facts.unit = tile.getDomain();
    }
  }
  double cost = 1;
  kernel.walk([&](Operation *op) {
    if (auto map = mlir::dyn_cast<kern::MapOp>(op))
      cost += static_cast<double>(product(map.getSizes()) * product(map.getReduced()));
    else if (auto load = mlir::dyn_cast<kern::LoadOp>(op))
      cost += static_cast<double>(kern::rowSize(load.getResult().getType()));
    else if (auto multiplied = mlir::dyn_cast<kern::ProductOp>(op))
      cost += static_cast<double>(multiplied.getHeads() * multiplied.getInner() * multiplied.getOuter());
    else if (auto outer = mlir::dyn_cast<kern::OuterOp>(op))
      cost += static_cast<double>(outer.getHeads() * outer.getInner() * outer.getOuter());
  });
  facts.unitCost = cost;

  out.open("HECTOR_KERNEL void " + symbol +
           "([[maybe_unused]] const cpu::Frame &frame, int64_t begin, int64_t end, [[maybe_unused]] int64_t piece, "
           "[[maybe_unused]] void *scratch)");
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = mlir::cast<RowsType>(argument.getType());
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    if (argument.use_empty() || llvm::all_of(argument.getUsers(), llvm::IsaPred<kern::TotalOp>))
      continue;
    std::string name = (isRead ? "const " : "") + storageName(type.getElementType());
    out.line(name + " *" + tables[argument] + " = cpu::table<" + name + ">(frame, " +
             std::to_string(argument.getArgNumber()) + ");  // " + flow::stringifyDomain(type.getDomain()).str() + ", " +
             flow::formatRow(type));
  }
  for (auto [i, name] : llvm::enumerate(formNames))
    out.line("const Id *" + formVariables[name] + " = cpu::form<Id>(frame, " + std::to_string(i) + ");");
  if (usesSpace || !large.empty())
    out.line("[[maybe_unused]] cpu::Scratch fixed(scratch);");
  for (const std::string &line : large)
    out.line(line);
  out.append(body);
  out.close();
  for (auto [i, total] : llvm::enumerate(totals))
    writeJoin(out, total, static_cast<unsigned>(i));
}

}  // namespace hector
