#include "compiler/Target/Cpp/Text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hector::cpp {

using flow::Domain;
using kern::AccKind;
using llvm::ArrayRef;
using mlir::AffineExpr;
using mlir::Type;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t points = 1;
  for (int64_t size : sizes)
    points *= size;
  return points;
}

int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

//===- Names -----------------------------------------------------------------------------------------------------===//

/// Names that generated code has for itself, and words of C++.
static constexpr const char *kReserved[] = {
    "begin", "block", "count", "cpu", "end", "first", "fixed", "frame", "from", "head", "hector", "distance", "k",
    "nearest", "firstRow", "last", "lastRow", "part", "piece", "r", "row", "rows", "scratch", "sizes", "space",
    "target", "types", "Id", "ahead", "blockMemory", "c", "carry", "cuda", "enter", "fetch", "finish", "groupMemory",
    "i", "index", "isThere", "join", "joinMemory", "lanes", "look", "next", "Part", "random", "read", "Read", "start",
    "take", "to", "unit", "Unit", "value", "walk", "slabs", "written", "Written",
    // A macro.
    "errno",
    // Rows of loops.
    "dst_pair", "edge", "etype", "node", "ntype", "one", "src_pair",
    // C++
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "int64_t", "linux", "long", "main", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
    "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "uint8_t", "union", "unix",
    "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq"};

llvm::StringSet<> reservedNames() {
  llvm::StringSet<> names;
  for (const char *name : kReserved)
    names.insert(name);
  return names;
}

std::string asWord(llvm::StringRef base) {
  std::string name;
  for (char c : base)
    name += llvm::isAlnum(c) ? c : '_';
  // Compilers define what starts like this.
  if (name.empty() || llvm::isDigit(name.front()) || name.front() == '_')
    name = "t" + name;
  // NULL, UINT64_MAX: capitals alone are names of macros.
  if (llvm::count_if(name, llvm::isUpper) > 1 && llvm::none_of(name, llvm::isLower))
    name += "_";
  return name;
}

std::string uniqueName(llvm::StringSet<> &taken, llvm::StringRef base) {
  const std::string name = asWord(base);
  std::string candidate = name;
  for (int i = 2; !taken.insert(candidate).second; ++i)
    candidate = name + "_" + std::to_string(i);
  return candidate;
}

bool hasWord(const std::string &text, const std::string &word) {
  auto isPart = [&](size_t i) { return i < text.size() && (llvm::isAlnum(text[i]) || text[i] == '_'); };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !isPart(at - 1)) && !isPart(at + word.size()))
      return true;
  return false;
}

std::string numberName(Type element) {
  if (element.isInteger(1))
    return "bool";
  if (mlir::isa<mlir::IndexType>(element))
    return "int64_t";
  return element.isF64() ? "double" : "float";
}

std::string storageName(const std::string &space, Type element) {
  if (element.isBF16())
    return space + "bf16";
  if (element.isF16())
    return space + "f16";
  if (element.isInteger(1))
    return "uint8_t";
  return numberName(element);
}

int64_t numberBytes(Type element) {
  if (element.isInteger(1))
    return 1;
  return element.isF64() || mlir::isa<mlir::IndexType>(element) ? 8 : 4;
}

bool isStoredAsIs(Type element) {
  return element.isF32() || element.isF64() || mlir::isa<mlir::IndexType>(element);
}

std::string literal(const std::string &space, double value, Type element) {
  if (element.isInteger(1))
    return value != 0 ? "true" : "false";
  if (mlir::isa<mlir::IndexType>(element))
    return std::to_string(static_cast<int64_t>(value));
  const bool isDouble = element.isF64();
  if (std::isnan(value))
    return space + (isDouble ? "nan<double>()" : "nan<float>()");
  if (!isDouble)
    value = static_cast<double>(static_cast<float>(value));
  if (std::isinf(value))
    return (value < 0 ? "(-" : "") + space + (isDouble ? "infinity<double>()" : "infinity<float>()") +
           (value < 0 ? ")" : "");
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

std::optional<llvm::SmallVector<int64_t>> stridesOf(AffineExpr offset, unsigned numAxes) {
  llvm::SmallVector<int64_t> strides(numAxes + 1);
  if (auto axis = mlir::dyn_cast<mlir::AffineDimExpr>(offset)) {
    strides[axis.getPosition()] = 1;
    return strides;
  }
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(offset)) {
    strides.back() = constant.getValue();
    return strides;
  }
  auto both = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(offset);
  if (!both)
    return std::nullopt;
  auto left = stridesOf(both.getLHS(), numAxes), right = stridesOf(both.getRHS(), numAxes);
  auto factor = mlir::dyn_cast<mlir::AffineConstantExpr>(both.getRHS());
  if (!left || !right)
    return std::nullopt;
  for (auto [i, stride] : llvm::enumerate(*left))
    if (both.getKind() == mlir::AffineExprKind::Add)
      stride += (*right)[i];
    else if (both.getKind() == mlir::AffineExprKind::Mul && factor)
      stride *= factor.getValue();
    else
      return std::nullopt;
  return left;
}

std::string offsetText(AffineExpr expr, const std::vector<std::string> &axes) {
  if (auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(expr))
    return axes[dim.getPosition()];
  if (auto number = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return std::to_string(number.getValue());
  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
  std::string left = offsetText(binary.getLHS(), axes), right = offsetText(binary.getRHS(), axes);
  if (expr.getKind() != mlir::AffineExprKind::Add)
    return left == "0" ? left : left + " * " + right;
  if (left == "0" || right == "0")
    return left == "0" ? right : left;
  return "(" + left + " + " + right + ")";
}

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

std::string times(const std::string &place, int64_t size) {
  return size == 1 ? place : place + " * " + std::to_string(size);
}

std::string levelName(Domain domain) {
  return flow::stringifyDomain(domain).str();
}

const char *domainConstant(Domain domain) {
  switch (domain) {
  case Domain::One:
    return "One";
  case Domain::NodeType:
    return "NodeType";
  case Domain::EdgeType:
    return "EdgeType";
  case Domain::Node:
    return "Node";
  case Domain::SrcPair:
    return "SrcPair";
  case Domain::DstPair:
    return "DstPair";
  case Domain::Edge:
    return "Edge";
  }
  return "";
}

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

std::string startOf(const std::string &space, AccKind kind, Type element) {
  switch (kind) {
  case AccKind::Max:
    return literal(space, -HUGE_VAL, element);
  case AccKind::Min:
    return literal(space, HUGE_VAL, element);
  case AccKind::Nearest:
    return "-1";
  case AccKind::Sum:
  case AccKind::Mean:
    return literal(space, 0.0, element);
  }
  return "";
}

std::string taking(const std::string &space, AccKind kind, const std::string &to, const std::string &number) {
  switch (kind) {
  case AccKind::Max:
    return to + " = " + space + "larger(" + to + ", " + bare(number) + ");";
  case AccKind::Min:
    return to + " = " + space + "smaller(" + to + ", " + bare(number) + ");";
  default:
    return to + " += " + bare(number) + ";";
  }
}

int64_t countPlace(int64_t size, Type element) {
  return roundUp(size * numberBytes(element), 8) / numberBytes(element);
}

}  // namespace hector::cpp
