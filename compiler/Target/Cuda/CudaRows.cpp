/// Rows of numbers: how lanes read, compute and write them.

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/Text.h"
#include "compiler/Target/Cuda/CudaWriter.h"

#include <cmath>

namespace hector {

using cpp::bare;
using cpp::numberName;
using flow::Domain;
using flow::ReduceKind;
using kern::AccKind;
using kern::Fn;
using llvm::ArrayRef;
using mlir::AffineExpr;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// Rows that take more numbers of each lane stay in memory where they are read from there.
static constexpr int64_t kMostOwn = 32;

//===- Who reads what --------------------------------------------------------------------------------------------===//

/// All axes of a statement, the one along which it combines last.
static llvm::SmallVector<int64_t> allAxes(kern::MapOp map) {
  llvm::SmallVector<int64_t> axes(map.getSizes());
  axes.append(map.getReduced().begin(), map.getReduced().end());
  return axes;
}

static AffineExpr offsetOf(kern::MapOp map, unsigned operand) {
  return mlir::cast<mlir::AffineMapAttr>(map.getMaps()[operand]).getValue().getResult(0);
}

CudaWriter::Combining CudaWriter::combiningOf(kern::MapOp map) const {
  int64_t results = cpp::product(map.getSizes());
  if (results == 1)
    return Combining::All;
  return !isWide && results <= lanes ? Combining::Parts : Combining::Serial;
}

/// Whether a reader wants numbers of a row that may belong to other lanes.
bool CudaWriter::isReadAnywhere(mlir::OpOperand &use) {
  Operation *user = use.getOwner();
  const int64_t size = kern::rowSize(use.get().getType());
  if (size == 1)
    return false;
  if (auto map = mlir::dyn_cast<kern::MapOp>(user)) {
    if (map.getCombine() && combiningOf(map) == Combining::Serial)
      return true;
    llvm::SmallVector<int64_t> axes = allAxes(map);
    if (size != cpp::product(axes) || offsetOf(map, use.getOperandNumber()) != cpp::rowMajor(axes, map.getContext()))
      return true;
    return isInlined(map) && isRandom(map.getResult());
  }
  if (auto step = mlir::dyn_cast<kern::StepOp>(user)) {
    auto fold = step.getAcc().getDefiningOp<kern::FoldOp>();
    if (!fold)
      return false;
    // The accumulator is the first operand; its rows come before those of the step.
    unsigned numRows = static_cast<unsigned>(fold.getResult().getType().getRows().size());
    return isRandom(fold.getStep().getArgument(numRows + use.getOperandNumber() - 1));
  }
  return mlir::isa<kern::ConcatOp, kern::MatchOp>(user);
}

bool CudaWriter::isRandom(Value row) {
  if (auto found = random.find(row); found != random.end())
    return found->second;
  bool result = llvm::any_of(row.getUses(), [&](mlir::OpOperand &use) { return isReadAnywhere(use); });
  random[row] = result;
  return result;
}

bool CudaWriter::isKeptInRegisters(Value row) {
  const int64_t size = kern::rowSize(row.getType());
  return ownNumbers(size) <= kMostOwn && ((size <= lanes && !isWide) || !isRandom(row));
}

/// Whether each number of a long row is a sum of one term: of an outer product.
bool CudaWriter::isSumOfOne(kern::MapOp map) const {
  return isWide && map.getCombine() == ReduceKind::Sum && map.getReduced().front() == 1 &&
         kern::rowSize(map.getResult().getType()) > 1;
}

/// Whether a statement is computed where it is read, and not before.
bool CudaWriter::isInlined(kern::MapOp map) {
  Value result = map.getResult();
  if ((map.getCombine() && !isSumOfOne(map)) || map.getFn() == Fn::Dropout || result.use_empty())
    return false;
  const bool isCopy =
      map.getFn() == Fn::Copy && kern::elementType(map.getOperand(0).getType()) == kern::elementType(result.getType());
  const bool isShort = kern::rowSize(result.getType()) == 1;
  if (!result.hasOneUse() && (!isCopy || isShort))
    return false;
  for (mlir::OpOperand &use : result.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != map->getBlock())
      return false;
    if (auto reader = mlir::dyn_cast<kern::MapOp>(user)) {
      // What one lane needs and another does not must not ask other lanes.
      if (reader.getFn() == Fn::Dropout)
        return false;
      // Each number is computed once.
      if (!isCopy && cpp::product(allAxes(reader)) != kern::rowSize(result.getType()))
        return false;
      if (!isCopy && reader.getCombine() && combiningOf(reader) == Combining::Serial)
        return false;
    } else if (auto step = mlir::dyn_cast<kern::StepOp>(user)) {
      if (step.getAcc().getDefiningOp<kern::FoldOp>() || step.getRows().size() != 1)
        return false;
    } else if (!mlir::isa<kern::StoreOp, kern::PutOp, kern::YieldOp>(user)) {
      return false;
    }
  }
  return true;
}

//===- Reading ---------------------------------------------------------------------------------------------------===//

CudaWriter::Point CudaWriter::pointOf(ArrayRef<int64_t> sizes, const std::string &place, int64_t ownSize) const {
  Point point;
  point.place = place;
  point.ownSize = ownSize;
  if (sizes.size() == 1) {
    point.axes = {sizes.front() == 1 ? "0" : place};
    return point;
  }
  int64_t stride = cpp::product(sizes);
  const int64_t all = stride;
  for (int64_t size : sizes) {
    stride /= size;
    std::string axis = "0";
    if (size > 1) {
      // A sum has its own parentheses in `place`, and keeps them.
      axis = place;
      if (stride != 1)
        axis += " / " + std::to_string(stride);
      if (size * stride != all)
        axis += " % " + std::to_string(size);
      if (axis != place)
        axis = "(" + axis + ")";
    }
    point.axes.push_back(axis);
  }
  return point;
}

std::string CudaWriter::numberAt(Value value, const Point &point) {
  const Row &row = rows.at(value);
  const int64_t size = kern::rowSize(value.getType());
  if (auto map = mlir::dyn_cast_or_null<kern::MapOp>(row.op))
    return map.getCombine() ? combinedOne(map, point)
                            : expression(map, size == 1 ? pointOf(map.getSizes(), "0", 0)
                                                        : pointOf(map.getSizes(), point.place, point.ownSize));
  if (size == 1)
    return row.name;
  if (row.isPointer) {
    if (cpp::isStoredAsIs(row.stored) || !mlir::isa<mlir::FloatType>(row.stored))
      return row.name + "[" + bare(point.place) + "]";
    return "cuda::load(" + row.name + " + " + point.place + ")";
  }
  if (point.ownSize == size)
    return row.name + "[c]";
  return "lanes.at(" + row.name + ", " + bare(point.place) + ")";
}

/// A number of a row whose sums have one term each.
std::string CudaWriter::combinedOne(kern::MapOp map, const Point &point) {
  return "(" + literal(0, kern::elementType(map.getResult().getType())) + " + " +
         expression(map, pointOf(allAxes(map), point.place, point.ownSize)) + ")";
}

std::string CudaWriter::expression(kern::MapOp map, const Point &point) {
  std::vector<std::string> operands;
  AffineExpr here = cpp::rowMajor(allAxes(map), map.getContext());
  for (auto [i, operand] : llvm::enumerate(map.getOperands())) {
    AffineExpr offset = offsetOf(map, static_cast<unsigned>(i));
    const bool isSame = offset == here && kern::rowSize(operand.getType()) == cpp::product(allAxes(map));
    Point at;
    at.place = isSame ? point.place : cpp::offsetText(offset, point.axes);
    at.ownSize = isSame ? point.ownSize : 0;
    operands.push_back(numberAt(operand, at));
  }
  return apply(map, operands, point.place);
}

//===- Writing ---------------------------------------------------------------------------------------------------===//

std::string CudaWriter::rowClass(Type row) const {
  return "cuda::Row<" + numberName(kern::elementType(row)) + ", " + std::to_string(kern::rowSize(row)) + ", " +
         std::to_string(lanes) + ">";
}

std::string CudaWriter::declare(Type row, const std::string &base, const std::string &value) {
  std::string name = unique(base);
  if (kern::rowSize(row) == 1)
    body.line(numberName(kern::elementType(row)) + " " + name + (value.empty() ? "" : " = " + value) + ";");
  else
    body.line(rowClass(row) + " " + name + (value.empty() ? "" : "(" + value + ")") + ";");
  return name;
}

void CudaWriter::loopOwn(int64_t size, const std::vector<std::string> &lines, bool isGuarded) {
  const bool isFull = ownNumbers(size) * lanes == size;
  const bool needsPlace = llvm::any_of(lines, [](const std::string &line) { return cpp::hasWord(line, "k"); });
  const bool needsGuard = isGuarded && !isFull;
  const bool isBraced = needsPlace || lines.size() > 1;
  body.line(ownNumbers(size) <= kMostOwn ? "HECTOR_UNROLL" : isWide ? "HECTOR_UNROLL_SOME" : "HECTOR_KEEP_LOOP");
  std::string head = "for (int c = 0; c < " + std::to_string(ownNumbers(size)) + "; ++c)";
  if (!isBraced && !needsGuard) {
    body.line(head);
    body.indented(lines.front());
    return;
  }
  body.open(head);
  if (needsGuard) {
    body.line("if (!lanes.has<" + std::to_string(size) + ">(c))");
    body.indented("continue;");
  }
  if (needsPlace)
    body.line("const int k = lanes.number<" + std::to_string(size) + ">(c);");
  for (const std::string &line : lines)
    body.line(line);
  body.close();
}

void CudaWriter::forOwn(int64_t size, llvm::function_ref<std::string(const Point &)> statement, bool isGuarded) {
  if (size == 1) {
    body.line(statement({.axes = {"0"}, .place = "0", .ownSize = 0}));
    return;
  }
  loopOwn(size, {statement({.axes = {"k"}, .place = "k", .ownSize = size})}, isGuarded);
}

exec::TableSpec CudaWriter::bufferSpec(const std::string &name, Domain domain, Type element, int64_t size) {
  return {.name = name,
          .domain = cpp::planDomain(domain),
          .shape = {size},
          .storage = element.isF64()                       ? exec::Storage::F64
                     : element.isInteger(1)                ? exec::Storage::Bool
                     : mlir::isa<mlir::IndexType>(element) ? exec::Storage::Index
                                                           : exec::Storage::F32};
}

/// Memory of the group that all of its lanes read: shared memory, or for long rows a table that the launch has for
/// itself, with a row for each row of the loop.
std::string CudaWriter::takeShared(const std::string &base, Type element, int64_t size) {
  const int64_t kMostBytes = isWide ? 64 * 1024 - groupBytes : 8 * 1024;  // of a row
  std::string name = uniqueInKernel(base), number = cpp::storageName(space, element);
  const int64_t bytes = cpp::roundUp(size * cpp::numberBytes(element), 16);
  // Of a block that takes tiles, all memory but that of the groups is known by now.
  if (bytes > kMostBytes ||
      (isOfBlocks && blockBytes + (groupBytes + bytes) * (warps * 32 / lanes) > exec::kMostSharedBytes - kJoinBytes)) {
    std::string table = uniqueInKernel(base + "_rows");
    bufferParameters.push_back({number, table});
    launch.buffers.push_back(bufferSpec(table, levels.back(), element, size));
    body.line(number + " *" + name + " = " + table + " + " + cpp::times(cpp::levelName(levels.back()), size) + ";");
    return name;
  }
  prologue.push_back(number + " *" + name + " = reinterpret_cast<" + number + " *>(groupMemory + " +
                     std::to_string(groupBytes) + ");");
  groupBytes += bytes;
  return name;
}

/// Memory of the block.
std::string CudaWriter::takeBlock(const std::string &base, Type element, int64_t size) {
  std::string name = uniqueInKernel(base), number = cpp::storageName(space, element);
  prologue.push_back(number + " *" + name + " = reinterpret_cast<" + number + " *>(blockMemory + " +
                     std::to_string(blockBytes) + ");");
  blockBytes += cpp::roundUp(size * cpp::numberBytes(element), 16);
  return name;
}

void CudaWriter::define(Value value, const std::string &name) {
  const int64_t size = kern::rowSize(value.getType());
  rows[value] = {.name = name};
  if (size == 1 || (size <= lanes && !isWide) || !isRandom(value))
    return;
  Type element = kern::elementType(value.getType());
  std::string shared = takeShared(name + "_shared", element, size);
  body.line("lanes.share(" + shared + ", " + name + ");");
  rows[value] = {.name = shared, .isPointer = true, .stored = element};
}

std::string CudaWriter::inRegisters(Value value) {
  const Row &row = rows.at(value);
  const int64_t size = kern::rowSize(value.getType());
  if (!row.op && !row.isPointer)
    return row.name;
  if (size == 1) {
    std::string number = bare(numberAt(value));
    if (!cpp::hasWord(number, "lanes"))
      return number;
    // A number that other lanes help to find is found by all of them, wherever it is needed.
    std::string name = unique("number");
    body.line("const auto " + name + " = " + number + ";");
    return name;
  }
  if (row.isPointer)
    return "lanes.load<" + std::to_string(size) + ">(" + row.name + ")";
  std::string name = declare(value.getType(), baseOf(row.op->getLoc(), "row"));
  forOwn(size, [&](const Point &point) { return name + "[c] = " + bare(numberAt(value, point)) + ";"; });
  return name;
}

//===- Statements ------------------------------------------------------------------------------------------------===//

void CudaWriter::writeMap(kern::MapOp map) {
  Value result = map.getResult();
  if (result.use_empty())
    return;
  // Expressions stay short enough for readers, and for compilers that limit how deep parentheses nest.
  constexpr unsigned kMaxDepth = 16;
  unsigned depth = 1;
  for (Value operand : map.getOperands())
    depth = std::max(depth, 1 + depths.lookup(operand));
  if (isInlined(map) && (depth < kMaxDepth || isRandom(result))) {
    rows[result] = {.name = "", .op = map};
    depths[result] = depth;
    return;
  }
  if (map.getCombine())
    return writeCombine(map);
  std::string base = baseOf(map.getLoc(), stringifyFn(map.getFn()));
  if (map.getFn() == Fn::Dropout) {
    masks[result] = uniqueInKernel(base + "_mask");
    Type f64 = mlir::Float64Type::get(map.getContext());
    prologue.push_back("const hector::DropoutMask " + masks[result] + "(random.seed, random.step, " +
                       std::to_string(*map.getStream()) + ", " +
                       bare(literal(map.getParameter()->convertToDouble(), f64)) + ");");
  }
  const int64_t size = kern::rowSize(result.getType());
  if (size == 1) {
    std::string value = bare(expression(map, pointOf(map.getSizes(), "0", 0))), name = unique(base);
    body.line("const " + numberName(kern::elementType(result.getType())) + " " + name + " = " + value + ";");
    rows[result] = {.name = name};
    return;
  }
  std::string name = declare(result.getType(), base);
  forOwn(size, [&](const Point &point) {
    return name + "[c] = " + bare(expression(map, pointOf(map.getSizes(), point.place, size))) + ";";
  });
  define(result, name);
}

/// A statement that combines numbers along one more axis.
void CudaWriter::writeCombine(kern::MapOp map) {
  if (writeMatrixProduct(map))
    return;
  Value result = map.getResult();
  Type element = kern::elementType(result.getType());
  std::string type = numberName(element);
  const ReduceKind kind = *map.getCombine();
  const int64_t length = map.getReduced().front(), size = kern::rowSize(result.getType());
  const bool isSum = kind == ReduceKind::Sum || kind == ReduceKind::Mean;
  const AccKind acc = isSum ? AccKind::Sum : kind == ReduceKind::Max ? AccKind::Max : AccKind::Min;
  const std::string over = isSum ? "sum" : kind == ReduceKind::Max ? "largest" : "least";
  std::string base = baseOf(map.getLoc(), stringifyFn(map.getFn())), start = bare(startOf(acc, element));
  const std::string mean = kind == ReduceKind::Mean ? " / " + literal(static_cast<double>(length), element) : "";
  const llvm::SmallVector<int64_t> axes = allAxes(map);
  switch (combiningOf(map)) {
  case Combining::All: {
    std::string part = unique(base + "_part");
    body.line(type + " " + part + " = " + start + ";");
    auto termAt = [&](const Point &point) { return expression(map, pointOf(axes, point.place, point.ownSize)); };
    if (length == 1 || ownNumbers(length) * lanes == length) {
      forOwn(length, [&](const Point &point) { return cpp::taking(space, acc, part, termAt(point)); });
    } else {
      // All lanes compute, since some may ask others, and those that have a number take it.
      std::string term = unique("term");
      loopOwn(
          length,
          {"const " + type + " " + term + " = " + bare(termAt({.axes = {"k"}, .place = "k", .ownSize = length})) + ";",
           "if (lanes.has<" + std::to_string(length) + ">(c))", "  " + cpp::taking(space, acc, part, term)},
          /*isGuarded=*/false);
    }
    std::string name = unique(base);
    body.line("const " + type + " " + name + " = " + (length == 1 ? part : "lanes." + over + "(" + part + ")") + mean +
              ";");
    rows[result] = {.name = name};
    return;
  }
  case Combining::Parts: {
    const int64_t all = size * length;
    std::string terms = declare(kern::rowType(all, element, /*isScalar=*/all == 1), base + "_terms");
    forOwn(all, [&](const Point &point) {
      return terms + "[c] = " + bare(expression(map, pointOf(axes, point.place, all))) + ";";
    });
    std::string name = unique(base);
    body.line("auto " + name + " = lanes." + over + "Parts<" + std::to_string(size) + ">(" + terms + ");");
    if (!mean.empty())
      forOwn(size, [&](const Point &) { return name + "[c] = " + name + "[c]" + mean + ";"; });
    define(result, name);
    return;
  }
  case Combining::Serial: {
    std::string name = declare(result.getType(), base);
    Point point = pointOf(map.getSizes(), "k", 0);
    point.axes.push_back(length == 1 ? "0" : "r");
    point.place = "(k * " + std::to_string(length) + " + r)";
    std::vector<std::string> lines = {
        type + " value = " + start + ";", "for (int r = 0; r < " + std::to_string(length) + "; ++r)",
        "  " + cpp::taking(space, acc, "value", expression(map, point)), name + "[c] = value" + mean + ";"};
    loopOwn(size, lines, /*isGuarded=*/false);
    define(result, name);
    return;
  }
  }
}

void CudaWriter::writeConcat(kern::ConcatOp concat) {
  Value result = concat.getResult();
  const int64_t repeats = concat.getRepeats(), size = kern::rowSize(result.getType()), total = size / repeats;
  std::string name = declare(result.getType(), baseOf(concat.getLoc(), "concat"));
  std::string part = repeats == 1 ? "0" : "(k / " + std::to_string(total) + ")";
  std::string inPart = repeats == 1 ? "k" : "(k % " + std::to_string(total) + ")";
  // Every lane reads a number of each part, since others may need its own, and keeps the one that it wants.
  std::vector<std::string> lines;
  int64_t start = 0;
  for (Value operand : concat.getOperands()) {
    const int64_t length = kern::rowSize(operand.getType()) / repeats;
    std::string place =
        "cuda::within(" + bare(inPart) + " - " + std::to_string(start) + ", " + std::to_string(length) + ")";
    if (repeats > 1)
      place = "(" + part + " * " + std::to_string(length) + " + " + place + ")";
    std::string value = bare(numberAt(operand, {.axes = {place}, .place = place, .ownSize = 0}));
    if (start == 0) {
      lines.push_back(numberName(kern::elementType(result.getType())) + " value = " + value + ";");
    } else {
      std::string other = unique("value");
      lines.push_back("const auto " + other + " = " + value + ";");
      lines.push_back("value = " + bare(inPart) + " < " + std::to_string(start) + " ? value : " + other + ";");
    }
    start += length;
  }
  lines.push_back(name + (size == 1 ? "" : "[c]") + " = value;");
  if (size == 1) {
    body.line(name + " = " + bare(numberAt(concat.getOperands().front())) + ";");
    rows[result] = {.name = name};
    return;
  }
  loopOwn(size, lines, /*isGuarded=*/false);
  define(result, name);
}

void CudaWriter::writeMatch(kern::MatchOp match) {
  const int64_t length = match.getLength(), after = match.getAfter();
  const int64_t size = kern::rowSize(match.getResult().getType());
  Type element = kern::elementType(match.getRow().getType());
  std::string name = declare(match.getResult().getType(), baseOf(match.getLoc(), "match"));
  if (size == 1) {
    body.line(name + " = cuda::distance(" + bare(numberAt(match.getRow())) + ", " + bare(numberAt(match.getReduced())) +
              ") < " + bare(literal(HUGE_VAL, element)) + ";");
    rows[match.getResult()] = {.name = name};
    return;
  }
  // The number at `k` is number `own` along the axis.
  const std::string text = std::to_string(after), along = std::to_string(length);
  auto times = [](const std::string &value, int64_t by) {
    return by == 1 ? value : value + " * " + std::to_string(by);
  };
  const std::string first = "(k / " + std::to_string(length * after) + ")",
                    rest = after == 1 ? "0" : "(k % " + text + ")";
  std::string at = "(" + times(first, length * after) + " + " + times("r", after) + " + " + rest + ")";
  std::string reduced = "(" + times(first, after) + " + " + rest + ")";
  Point row = {.axes = {at}, .place = at, .ownSize = 0}, wanted = {.axes = {reduced}, .place = reduced, .ownSize = 0};
  std::vector<std::string> lines = {
      "int64_t nearest = -1;", numberName(element) + " distance = " + bare(literal(HUGE_VAL, element)) + ";",
      "for (int r = 0; r < " + along + "; ++r)",
      "  cuda::takeNearer(nearest, distance, r, cuda::distance(" + bare(numberAt(match.getRow(), row)) + ", " +
          bare(numberAt(match.getReduced(), wanted)) + "));",
      name + "[c] = nearest == k / " + text + " % " + along + ";"};
  loopOwn(size, lines, /*isGuarded=*/false);
  define(match.getResult(), name);
}

//===- Memory ----------------------------------------------------------------------------------------------------===//

void CudaWriter::writeLoad(kern::LoadOp load) {
  if (load.getResult().use_empty())
    return;
  Type stored = load.getTable().getType().getElementType();
  const int64_t size = kern::rowSize(load.getResult().getType());
  const std::string &table = tables.at(load.getTable());
  std::string name = unique(table + "_" + cpp::levelName(load.getLevel()));
  if (auto copied = ahead.find(load); copied != ahead.end()) {
    if (size == 1)
      body.line("const " + numberName(stored) + " " + name + " = " + copied->second + "[" + tileRow + "];");
    else
      body.line("const auto " + name + " = lanes.load<" + std::to_string(size) + ">(" + copied->second + " + " +
                cpp::times(tileRow, size) + ");");
    rows[load.getResult()] = {.name = name};
    return;
  }
  if (auto read = early.find(load); read != early.end()) {
    rows[load.getResult()] = {.name = read->second + "[i]"};
    return;
  }
  if (size == 1) {
    std::string place = pathTo(load.getLevel(), load.getPath()), number = table + "[" + place + "]";
    if (stored.isInteger(1))
      number += " != 0";
    else if (!cpp::isStoredAsIs(stored))
      number = "cuda::load(" + table + " + " + place + ")";
    body.line("const " + numberName(kern::elementType(load.getResult().getType())) + " " + name + " = " + number + ";");
    rows[load.getResult()] = {.name = name};
    return;
  }
  std::string from = rowAt(table, load.getLevel(), load.getPath(), size);
  if (isKeptInRegisters(load.getResult())) {
    body.line("const auto " + name + " = lanes.load<" + std::to_string(size) + ">(" + from + ");");
    rows[load.getResult()] = {.name = name};
    return;
  }
  body.line("const " + cpp::storageName(space, stored) + " *" + name + " = " + from + ";");
  rows[load.getResult()] = {.name = name, .isPointer = true, .stored = stored};
}

void CudaWriter::writeRow(const std::string &to, Value value, const std::string &condition) {
  const int64_t size = kern::rowSize(value.getType());
  const Row &row = rows.at(value);
  if (ownNumbers(size) > kMostOwn && (row.op || (isWide && row.isPointer))) {
    // Too long for registers: each number is stored as soon as it is known. All lanes compute, since some may ask
    // others.
    NameScope scope(*this);
    std::string place = unique("to"), number = unique("number");
    body.openBlock();
    body.line("auto *" + place + " = " + to + ";");
    std::string has = "lanes.has<" + std::to_string(size) + ">(c)" + (condition.empty() ? "" : " && " + condition);
    loopOwn(
        size,
        {"const auto " + number + " = " + bare(numberAt(value, {.axes = {"k"}, .place = "k", .ownSize = size})) + ";",
         "if (" + has + ")", "  cuda::store(" + place + " + k, " + number + ");"},
        /*isGuarded=*/false);
    body.close();
    return;
  }
  std::string numbers = inRegisters(value);
  std::string line = "lanes.store<" + std::to_string(size) + ">(" + to + ", " + numbers + ");";
  if (!condition.empty())
    body.line("if (" + condition + ")");
  condition.empty() ? body.line(line) : body.indented(line);
}

void CudaWriter::writeStore(kern::StoreOp store) {
  Type stored = store.getTable().getType().getElementType();
  const int64_t size = kern::rowSize(store.getRow().getType());
  const std::string &table = tables.at(store.getTable());
  // In a walk over rows, a pair is written with its first one.
  auto loop = mlir::cast<kern::ForOp>(store->getParentOp());
  std::string condition = isTaking ? "isThere" : "";
  if (isTaking && loop.getDomain() != kernel.getDomain())
    condition += " && " + offsetsName(loop.getDomain(), kernel.getDomain()) + "[" + cpp::levelName(loop.getDomain()) +
                 "] == " + cpp::levelName(kernel.getDomain());
  if (size > 1)
    return writeRow(rowAt(table, store.getLevel(), store.getPath(), size), store.getRow(), condition);
  std::string number = inRegisters(store.getRow()), place = pathTo(store.getLevel(), store.getPath());
  auto stores = [&](const std::string &table, const std::string &number) {
    return cpp::isStoredAsIs(stored) || stored.isInteger(1)
               ? table + "[" + place + "] = " + number + ";"
               : "cuda::store(" + table + " + " + place + ", " + number + ");";
  };
  if (isTaking && writesLater && place == cpp::levelName(kernel.getDomain())) {
    body.line("written." + table + " = " + number + ";");
    later.push_back({numberName(kern::elementType(store.getRow().getType())) + " " + table + ";",
                     stores("cuda::aligned(" + table + ")", "written." + table)});
    return;
  }
  body.line("if (lanes.isFirst()" + (condition.empty() ? "" : " && " + condition) + ")");
  body.indented(stores(table, number));
}

void CudaWriter::writeNumber(kern::NumberOp number) {
  if (number.getResult().use_empty())
    return;
  std::string name = unique("number");
  std::string place = pathTo(number.getLevel(), number.getPath());
  if (number.getRelation())
    place = pathTo(number.getLevel(), *number.getRelation()) + " * " + count(Domain::Node) + " + " + place;
  body.line("const int64_t " + name + " = " + place + ";");
  rows[number.getResult()] = {.name = name};
}

/// Declares the tile that products read.
void CudaWriter::writeOperand(kern::BufferOp buffer) {
  Type row = buffer.getResult().getType().getRow(), element = kern::elementType(row);
  Buffer &made = buffers[buffer.getResult()];
  made.operand = uniqueInKernel(bufferBase(buffer) + "_tile");
  prologue.push_back("const cuda::Tile<" + numberName(element) + ", " + std::to_string(kern::rowSize(row)) + ", " +
                     std::to_string(tileRows) + ", " + std::to_string(planesOf(element)) + "> " + made.operand +
                     "(blockMemory + " + std::to_string(blockBytes) + ");");
  prologue.push_back(made.operand + ".clear();");
  blockBytes += operandBytes(buffer);
}

/// Rows of a tile are in the block's shared memory, unless they are too long for it. Those, and rows of a traversal,
/// are in a table that the launch has for itself.
void CudaWriter::writeBuffer(kern::BufferOp buffer) {
  constexpr int64_t kMostBytes = 176 * 1024;
  kern::BufferType type = buffer.getResult().getType();
  Buffer made;
  made.size = made.stride = kern::rowSize(type.getRow());
  made.element = kern::elementType(type.getRow());
  made.base = bufferBase(buffer);
  auto tile = mlir::dyn_cast<kern::TileOp>(buffer->getParentOp());
  if (kern::LoadOp load = onlyLoadOf(buffer)) {
    made.tile = "(" + rowAt(tables.at(load.getTable()), load.getLevel(), load.getPath(), made.size) + ")";
    buffers[buffer.getResult()] = made;
    return;
  }
  if (tile && made.size > 1) {
    // Lanes meet no conflicts of memory banks.
    made.stride = cuda::paddedColumns(static_cast<int>(made.size), static_cast<int>(cpp::numberBytes(made.element)));
  }
  if (hasOperands && isOperand(buffer)) {
    made.operand = buffers.at(buffer.getResult()).operand;
    if (llvm::none_of(buffer.getResult().getUsers(), llvm::IsaPred<kern::GetOp>)) {
      buffers[buffer.getResult()] = made;
      return;
    }
  }
  if (tile && blockBytes + tileRows * made.stride * cpp::numberBytes(made.element) <= kMostBytes) {
    made.isOfTile = true;
    made.name = made.tile = takeBlock(made.base + "_rows", made.element, tileRows * made.stride);
  } else {
    made.name = uniqueInKernel(made.base + "_rows");
    made.tile = made.name + " + " + cpp::times("int64_t{first}", made.stride);
    bufferParameters.push_back({cpp::storageName(space, made.element), made.name});
    launch.buffers.push_back(bufferSpec(made.name, type.getDomain(), made.element, made.stride));
  }
  buffers[buffer.getResult()] = made;
}

kern::LoadOp CudaWriter::onlyLoadOf(kern::BufferOp buffer) const {
  kern::LoadOp load;
  for (mlir::OpOperand &use : buffer.getResult().getUses()) {
    auto put = mlir::dyn_cast<kern::PutOp>(use.getOwner());
    if (mlir::isa<kern::GetOp>(use.getOwner()) || (put && load))
      return nullptr;
    if (put)
      load = put.getRow().getDefiningOp<kern::LoadOp>();
    if (put && !load)
      return nullptr;
    // Only products of matrices read numbers as they are stored.
    auto product = mlir::dyn_cast<kern::ProductOp>(use.getOwner());
    if (product && !isOfMatrices(product))
      return nullptr;
    auto outer = mlir::dyn_cast<kern::OuterOp>(use.getOwner());
    if (outer && !isOfMatrices(outer))
      return nullptr;
  }
  return isWide && isOfBlocks ? load : nullptr;
}

/// The current row of a buffer: a number of it, or where its numbers start.
std::string CudaWriter::currentRow(kern::BufferType type, const Buffer &buffer) const {
  std::string place = buffer.isOfTile ? tileRow : cpp::levelName(type.getDomain());
  if (buffer.size == 1)
    return buffer.name + "[" + bare(cpp::times(place, buffer.stride)) + "]";
  return buffer.name + " + " + cpp::times(place, buffer.stride);
}

void CudaWriter::writePut(kern::PutOp put) {
  const Buffer buffer = buffers.at(put.getBuffer());
  if (onlyLoadOf(put.getBuffer().getDefiningOp<kern::BufferOp>()))
    return;
  if (buffer.operand.empty() && buffer.size > 1)
    return writeRow(currentRow(put.getBuffer().getType(), buffer), put.getRow(), "");
  std::string row = inRegisters(put.getRow());
  if (!buffer.operand.empty()) {
    if (buffer.size > 1) {
      body.line("lanes.put(" + buffer.operand + ", " + tileRow + ", " + row + ");");
    } else {
      body.line("if (lanes.isFirst())");
      body.indented(buffer.operand + ".put(" + tileRow + ", 0, {" + row + "});");
    }
  }
  if (buffer.name.empty())
    return;
  std::string to = currentRow(put.getBuffer().getType(), buffer);
  if (buffer.size > 1) {
    body.line("lanes.store<" + std::to_string(buffer.size) + ">(" + to + ", " + row + ");");
    return;
  }
  body.line("if (lanes.isFirst())");
  body.indented(to + " = " + row + ";");
}

void CudaWriter::writeGet(kern::GetOp get) {
  if (get.getResult().use_empty())
    return;
  const Buffer &buffer = buffers.at(get.getBuffer());
  std::string from = currentRow(get.getBuffer().getType(), buffer);
  std::string name = unique(buffer.base + "_row");
  // In a traversal, what the first lane wrote is read by the others.
  if (!buffer.isOfTile)
    body.line("lanes.sync();");
  if (buffer.size == 1) {
    body.line("const " + numberName(buffer.element) + " " + name + " = " + from +
              (buffer.element.isInteger(1) ? " != 0;" : ";"));
    rows[get.getResult()] = {.name = name};
    return;
  }
  if (isKeptInRegisters(get.getResult())) {
    body.line("const auto " + name + " = lanes.load<" + std::to_string(buffer.size) + ">(" + from + ");");
    rows[get.getResult()] = {.name = name};
    return;
  }
  body.line("const " + cpp::storageName(space, buffer.element) + " *" + name + " = " + from + ";");
  rows[get.getResult()] = {.name = name, .isPointer = true, .stored = buffer.element};
}

}  // namespace hector
