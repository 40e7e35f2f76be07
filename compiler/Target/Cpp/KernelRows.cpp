/// Rows of numbers: how they are read, computed and written.

#include "compiler/Target/Cpp/KernelWriter.h"
#include "compiler/Target/Cpp/Text.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace hector {

using cpp::bare;
using cpp::numberName;
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

/// Rows that take more are in the thread's working memory, not on its stack.
static constexpr int64_t kStackBytes = 8192;

//===- Rows ------------------------------------------------------------------------------------------------------===//

KernelWriter::Axes KernelWriter::axesOf(ArrayRef<int64_t> sizes, const std::string &letter) {
  Axes axes;
  for (auto [i, size] : llvm::enumerate(sizes))
    axes.push_back(size == 1 ? "0" : sizes.size() == 1 ? letter : letter + std::to_string(i));
  return axes;
}

/// The axes that have a loop.
static size_t numLoops(const std::vector<std::string> &axes) {
  return static_cast<size_t>(llvm::count_if(axes, [](const std::string &axis) { return axis != "0"; }));
}

void KernelWriter::openLoops(ArrayRef<int64_t> sizes, const Axes &axes, bool isBraced) {
  size_t left = numLoops(axes);
  for (auto [size, axis] : llvm::zip_equal(sizes, axes)) {
    if (axis == "0")
      continue;
    // A short loop stays one, since what it is unrolled to does not become vectors.
    if (left == 1 && size >= 4 && size <= 16)
      body.line("#pragma GCC unroll 1");
    std::string head = "for (int64_t " + axis + " = 0; " + axis + " < " + std::to_string(size) + "; ++" + axis + ")";
    body.line(--left == 0 && isBraced ? head + " {" : head);
    body.indent(body.indentation() + 1);
  }
}

void KernelWriter::closeLoops(const Axes &axes, bool isBraced) {
  size_t loops = numLoops(axes);
  if (isBraced && loops > 0) {
    body.close();
    --loops;
  }
  body.indent(body.indentation() - loops);
}

std::string KernelWriter::declare(Type row, const std::string &base, const std::string &value) {
  Type element = kern::elementType(row);
  int64_t size = kern::rowSize(row);
  std::string number = numberName(element);
  if (size == 1) {
    std::string name = unique(base);
    body.line(number + " " + name + (value.empty() ? "" : " = " + value) + ";");
    return name;
  }
  std::string name;
  if (size * cpp::numberBytes(element) <= kStackBytes) {
    name = unique(base);
    body.line("alignas(64) " + number + " " + name + "[" + std::to_string(size) + "];");
  } else {
    name = takeFixed(base, element, size);
  }
  if (!value.empty())
    body.line("cpu::fill<" + number + ">(" + name + ", " + value + ", " + std::to_string(size) + ");");
  return name;
}

std::string KernelWriter::takeFixed(const std::string &base, Type element, int64_t size) {
  std::string name = uniqueInKernel(base), number = numberName(element);
  prologue.push_back(number + " *" + name + " = fixed.take<" + number + ">(" + std::to_string(size) + ");");
  facts.scratch.bytes += cpp::roundUp(size * cpp::numberBytes(element), 64);
  usesScratch = true;
  return name;
}

bool KernelWriter::canRead(kern::MapOp reader, unsigned operand, kern::MapOp source) {
  int64_t points = cpp::product(reader.getSizes()) * cpp::product(reader.getReduced());
  bool isOnce = points == kern::rowSize(source.getResult().getType()) || source.getFn() == Fn::Copy;
  if (!isOnce)
    return false;
  if (source.getSizes().size() == 1)
    return true;
  AffineExpr offset = mlir::cast<mlir::AffineMapAttr>(reader.getMaps()[operand]).getValue().getResult(0);
  return reader.getReduced().empty() && source.getSizes() == reader.getSizes() &&
         offset == cpp::rowMajor(reader.getSizes(), reader.getContext());
}

/// Whether a statement is computed where it is read, and not before.
bool KernelWriter::isInlined(kern::MapOp map) {
  if (map.getCombine() || map.getFn() == Fn::Dropout || map.getResult().use_empty())
    return false;
  bool isCopy = map.getFn() == Fn::Copy &&
                kern::elementType(map.getOperand(0).getType()) == kern::elementType(map.getResult().getType());
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
  if (!row.isPointer || cpp::isStoredAsIs(row.stored))
    return row.name + "[" + bare(offset) + "]";
  return "cpu::load(" + row.name + (offset == "0" ? "" : " + " + offset) + ")";
}

std::string KernelWriter::expression(kern::MapOp map, const Axes &axes) {
  std::vector<std::string> operands;
  AffineExpr here = cpp::rowMajor(map.getSizes(), map.getContext());
  for (auto [i, operand] : llvm::enumerate(map.getOperands())) {
    AffineExpr offset = mlir::cast<mlir::AffineMapAttr>(map.getMaps()[i]).getValue().getResult(0);
    operands.push_back(numberAt(operand, cpp::offsetText(offset, axes), axes, offset == here));
  }
  return apply(map, operands, cpp::offsetText(here, axes));
}

std::string KernelWriter::dropped(kern::MapOp map, const std::string &row, const std::string &offset) {
  return masks.at(map.getResult()) + ".drops(" + row + ", " + bare(offset) + ")";
}

void KernelWriter::forNumbers(Value value, llvm::function_ref<std::string(std::string, std::string)> statement) {
  auto map = mlir::dyn_cast_or_null<kern::MapOp>(rows.at(value).op);
  if (kern::rowSize(value.getType()) == 1) {
    body.line(statement(map ? expression(map, axesOf(map.getSizes())) : numberAt(value), "0"));
    return;
  }
  llvm::SmallVector<int64_t> sizes = {kern::rowSize(value.getType())};
  if (map)
    sizes.assign(map.getSizes().begin(), map.getSizes().end());
  Axes axes = axesOf(sizes);
  std::string offset = cpp::offsetText(cpp::rowMajor(sizes, value.getContext()), axes);
  openLoops(sizes, axes);
  body.line(statement(map ? expression(map, axes) : numberAt(value, offset, axes, false), bare(offset)));
  closeLoops(axes);
}

//===- Statements ------------------------------------------------------------------------------------------------===//

void KernelWriter::writeMap(kern::MapOp map) {
  Value result = map.getResult();
  // Expressions stay short enough for readers, and for compilers that limit how deep parentheses nest.
  constexpr unsigned kMaxDepth = 16;
  unsigned depth = 1;
  for (Value operand : map.getOperands())
    depth = std::max(depth, 1 + depths.lookup(operand));
  if (depth < kMaxDepth && isInlined(map)) {
    rows[result] = {.name = "", .op = map};
    depths[result] = depth;
    return;
  }
  if (result.use_empty())
    return;
  if (map.getCombine())
    return writeCombine(map);
  std::string base = baseOf(map.getLoc(), stringifyFn(map.getFn()));
  if (map.getFn() == Fn::Dropout) {
    masks[result] = uniqueInKernel(base + "_mask");
    Type f64 = mlir::Float64Type::get(map.getContext());
    prologue.push_back("const hector::DropoutMask " + masks[result] + "(frame.seed, frame.step, " +
                       std::to_string(*map.getStream()) + ", " +
                       bare(literal(map.getParameter()->convertToDouble(), f64)) + ");");
  }
  Axes axes = axesOf(map.getSizes());
  if (kern::rowSize(result.getType()) == 1) {
    std::string value = bare(expression(map, axes)), name = unique(base);
    body.line("const " + numberName(kern::elementType(result.getType())) + " " + name + " = " + value + ";");
    rows[result] = {.name = name};
    return;
  }
  std::string name = declare(result.getType(), base);
  openLoops(map.getSizes(), axes);
  body.line(name + "[" + bare(cpp::offsetText(cpp::rowMajor(map.getSizes(), map.getContext()), axes)) +
            "] = " + bare(expression(map, axes)) + ";");
  closeLoops(axes);
  rows[result] = {.name = name};
}

/// A product of two matrices within a row: result[k0][k1] = Σ a·b, where `a` has no k1, and `b` no k0 and the numbers
/// of a row of k1 side by side.
bool KernelWriter::writeMatrixProduct(kern::MapOp map) {
  if (map.getFn() != Fn::Mul || map.getCombine() != ReduceKind::Sum || map.getSizes().size() != 2 ||
      kern::rowSize(map.getResult().getType()) == 1 || map.getReduced().size() != 1)
    return false;
  Value result = map.getResult();
  Type element = kern::elementType(result.getType());
  int64_t numRows = map.getSizes()[0], outer = map.getSizes()[1], steps = map.getReduced()[0];
  llvm::SmallVector<int64_t> strides[2];  // along k0, k1 and r; then the first number
  for (unsigned i = 0; i < 2; ++i) {
    const Row &row = rows.at(map.getOperand(i));
    if (row.op || kern::rowSize(map.getOperand(i).getType()) == 1 ||
        kern::elementType(map.getOperand(i).getType()) != element || (row.isPointer && !cpp::isStoredAsIs(row.stored)))
      return false;
    AffineExpr offset = mlir::cast<mlir::AffineMapAttr>(map.getMaps()[i]).getValue().getResult(0);
    auto found = cpp::stridesOf(offset, 3);
    if (!found)
      return false;
    strides[i] = *found;
  }
  const unsigned left = strides[0][1] == 0 ? 0 : 1, right = 1 - left;
  const llvm::SmallVector<int64_t> &a = strides[left], &b = strides[right];
  if (a[1] != 0 || b[0] != 0 || b[1] != 1)
    return false;
  auto start = [&](unsigned operand) {
    const std::string &name = rows.at(map.getOperand(operand)).name;
    return strides[operand][3] == 0 ? name : name + " + " + std::to_string(strides[operand][3]);
  };
  std::string name = declare(result.getType(), baseOf(map.getLoc(), "product"));
  rows[result] = {.name = name};
  std::string line = "cpu::multiplyStrided<" + numberName(element) + ">(" + start(left);
  for (int64_t size : {a[0], a[2]})
    line += ", " + std::to_string(size);
  line += ", " + start(right) + ", " + std::to_string(b[2]) + ", " + name;
  for (int64_t size : {outer, numRows, steps, outer})
    line += ", " + std::to_string(size);
  body.line(line + ");");
  return true;
}

/// A statement that combines numbers along one more axis, `r`.
void KernelWriter::writeCombine(kern::MapOp map) {
  if (writeMatrixProduct(map))
    return;
  Value result = map.getResult();
  Type element = kern::elementType(result.getType());
  ReduceKind kind = *map.getCombine();
  int64_t length = map.getReduced().front();
  const Axes outer = axesOf(map.getSizes()), inner = axesOf(map.getReduced(), "r");
  Axes all = outer;
  all.insert(all.end(), inner.begin(), inner.end());
  std::string base = baseOf(map.getLoc(), stringifyFn(map.getFn()));
  std::string offset = bare(cpp::offsetText(cpp::rowMajor(map.getSizes(), map.getContext()), outer));
  const bool isShort = kern::rowSize(result.getType()) == 1;
  if (kind == ReduceKind::Sum || kind == ReduceKind::Mean) {
    // A sum is one expression, in an order that does not depend on where it stands.
    std::string value = "cpu::sum<" + numberName(element) + ">(" + std::to_string(length) +
                        ", [&](int64_t r) { return " + bare(expression(map, all)) + "; })";
    if (length == 1)
      value = literal(0, element) + " + " + expression(map, all);
    else if (kind == ReduceKind::Mean)
      value += " / " + literal(static_cast<double>(length), element);
    if (isShort) {
      std::string name = unique(base);
      body.line("const " + numberName(element) + " " + name + " = " + value + ";");
      rows[result] = {.name = name};
      return;
    }
    std::string name = declare(result.getType(), base);
    openLoops(map.getSizes(), outer);
    body.line(name + "[" + offset + "] = " + value + ";");
    closeLoops(outer);
    rows[result] = {.name = name};
    return;
  }
  AccKind acc = kind == ReduceKind::Max ? AccKind::Max : AccKind::Min;
  auto choose = [&](const std::string &to) {
    openLoops(map.getReduced(), inner);
    body.line(cpp::taking(space, acc, to, expression(map, all)));
    closeLoops(inner);
  };
  std::string start = bare(startOf(acc, element));
  std::string name = declare(result.getType(), base, isShort ? start : "");
  rows[result] = {.name = name};
  if (isShort)
    return choose(name);
  openLoops(map.getSizes(), outer, /*isBraced=*/true);
  NameScope scope(*this);
  std::string number = unique(flow::stringifyReduceKind(kind));
  body.line(numberName(element) + " " + number + " = " + start + ";");
  choose(number);
  body.line(name + "[" + offset + "] = " + number + ";");
  closeLoops(outer, /*isBraced=*/true);
}

void KernelWriter::writeConcat(kern::ConcatOp concat) {
  std::string name = declare(concat.getResult().getType(), baseOf(concat.getLoc(), "concat"));
  int64_t repeats = concat.getRepeats(), total = kern::rowSize(concat.getResult().getType()) / repeats, start = 0;
  for (Value operand : concat.getOperands()) {
    int64_t length = kern::rowSize(operand.getType()) / repeats;
    const int64_t sizes[] = {repeats, length};
    Axes axes = axesOf(sizes);
    AffineExpr part = mlir::getAffineDimExpr(0, concat.getContext()),
               number = mlir::getAffineDimExpr(1, concat.getContext());
    openLoops(sizes, axes);
    body.line(name + "[" + bare(cpp::offsetText(part * total + number + start, axes)) +
              "] = " + bare(numberAt(operand, cpp::offsetText(part * length + number, axes), axes, false)) + ";");
    closeLoops(axes);
    start += length;
  }
  rows[concat.getResult()] = {.name = name};
}

void KernelWriter::writeMatch(kern::MatchOp match) {
  int64_t length = match.getLength(), after = match.getAfter();
  std::string name = declare(match.getResult().getType(), baseOf(match.getLoc(), "match"));
  rows[match.getResult()] = {.name = name};
  const int64_t sizes[] = {match.getBefore(), after}, walked[] = {length};
  const Axes outer = axesOf(sizes), inner = axesOf(walked, "r"), all = {outer[0], outer[1], inner[0]};
  mlir::MLIRContext *context = match.getContext();
  AffineExpr d0 = mlir::getAffineDimExpr(0, context), d1 = mlir::getAffineDimExpr(1, context),
             d2 = mlir::getAffineDimExpr(2, context);
  std::string at = cpp::offsetText((d0 * length + d2) * after + d1, all);
  std::string reduced = cpp::offsetText(d0 * after + d1, all);
  const bool isAlone = numLoops(outer) == 0;
  if (isAlone)
    body.openBlock();
  openLoops(sizes, outer, /*isBraced=*/true);
  Type element = kern::elementType(match.getRow().getType());
  body.line("int64_t nearest = -1;");
  body.line(numberName(element) + " distance = " + bare(literal(HUGE_VAL, element)) + ";");
  openLoops(walked, inner);
  body.line("cpu::takeNearer(nearest, distance, " + inner[0] + ", cpu::distance(" +
            bare(numberAt(match.getRow(), at, all, false)) + ", " +
            bare(numberAt(match.getReduced(), reduced, all, false)) + "));");
  closeLoops(inner);
  openLoops(walked, inner);
  body.line((kern::rowSize(match.getResult().getType()) == 1 ? name : name + "[" + bare(at) + "]") +
            " = nearest == " + inner[0] + ";");
  closeLoops(inner);
  closeLoops(outer, /*isBraced=*/true);
  if (isAlone)
    body.close();
}

//===- Memory ----------------------------------------------------------------------------------------------------===//

void KernelWriter::writeLoad(kern::LoadOp load) {
  if (load.getResult().use_empty())
    return;
  Type stored = load.getTable().getType().getElementType();
  int64_t size = kern::rowSize(load.getResult().getType());
  const std::string &table = tables.at(load.getTable());
  std::string name = unique(table + "_" + cpp::levelName(load.getLevel()));
  writeFetch(load);
  if (size > 1) {
    body.line("const " + cpp::storageName(space, stored) + " *" + name + " = " +
              rowAt(table, load.getLevel(), load.getPath(), size) + ";");
    rows[load.getResult()] = {.name = name, .isPointer = true, .stored = stored};
    return;
  }
  std::string place = pathTo(load.getLevel(), load.getPath()), number = table + "[" + place + "]";
  if (stored.isInteger(1))
    number += " != 0";
  else if (!cpp::isStoredAsIs(stored))
    number = "cpu::load(" + table + " + " + place + ")";
  body.line("const " + numberName(kern::elementType(load.getResult().getType())) + " " + name + " = " + number + ";");
  rows[load.getResult()] = {.name = name};
}

void KernelWriter::writeFetch(kern::LoadOp load) {
  // Rows that are not found by an index follow one another, which processors see by themselves.
  Domain level = load.getLevel();
  RowsType type = load.getTable().getType();
  const Type stored = type.getElementType();
  const int64_t bytes = type.getRowSize() * (stored.isIntOrFloat() ? (stored.getIntOrFloatBitWidth() + 7) / 8 : 8);
  // Small tables are near anyway: those of node types, and single numbers of nodes.
  constexpr int64_t kSmall = 16, kAhead = 8192, kMost = 32;
  if (load.getPath().empty() || level <= Domain::EdgeType || type.getDomain() <= Domain::NodeType ||
      !mlir::isa<kern::ForOp>(load->getParentOp()) || (bytes < kSmall && type.getDomain() <= Domain::Node))
    return;
  std::string &last = lastRows[static_cast<unsigned>(level)];
  if (last.empty()) {
    last = uniqueInKernel("last_" + cpp::levelName(level));
    prologue.push_back("const int64_t " + last + " = " + count(level) + " - 1;");
  }
  std::string later = "cpu::smallest(" + cpp::levelName(level) + " + " +
                      std::to_string(std::clamp<int64_t>(kAhead / bytes, 4, kMost)) + ", " + last + ")";
  body.line("cpu::fetch<" + std::to_string(bytes) + ">(" + tables.at(load.getTable()) + " + " +
            cpp::times("int64_t{" + pathFrom(later, load.getPath()) + "}", type.getRowSize()) + ");");
}

void KernelWriter::writeStore(kern::StoreOp store) {
  if (leftOut.contains(store))
    return;
  Type stored = store.getTable().getType().getElementType();
  int64_t size = kern::rowSize(store.getRow().getType());
  std::string place = pathTo(store.getLevel(), store.getPath());
  std::string table = tables.at(store.getTable());
  if (size > 1) {
    std::string name = unique(table + "_to");
    body.line(cpp::storageName(space, stored) + " *" + name + " = " +
              rowAt(table, store.getLevel(), store.getPath(), size) + ";");
    table = name;
  }
  forNumbers(store.getRow(), [&](const std::string &number, const std::string &offset) {
    const std::string &at = size == 1 ? place : offset;
    if (cpp::isStoredAsIs(stored) || stored.isInteger(1))
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
    place = pathTo(number.getLevel(), *number.getRelation()) + " * " + count(Domain::Node) + " + " + place;
  body.line("const int64_t " + name + " = " + place + ";");
  rows[number.getResult()] = {.name = name};
}

/// The table whose rows a buffer of a tile would hold as they are, one after another: those that a product reads, or
/// those that it gives. What would copy them is left out.
Value KernelWriter::tableBehind(kern::BufferOp buffer) {
  auto tile = mlir::dyn_cast<kern::TileOp>(buffer->getParentOp());
  if (!tile)
    return {};
  Type row = buffer.getResult().getType().getRow();
  auto isSame = [&](RowsType table, Domain level, mlir::ArrayAttr path) {
    return level == tile.getDomain() && path.empty() && cpp::isStoredAsIs(table.getElementType()) &&
           table.getElementType() == kern::elementType(row) && table.getRowSize() == kern::rowSize(row);
  };
  kern::PutOp put;
  bool isProduct = false;
  for (Operation *user : buffer.getResult().getUsers()) {
    auto product = mlir::dyn_cast<kern::ProductOp>(user);
    isProduct |= product && product.getResult() == buffer.getResult();
    if (auto other = mlir::dyn_cast<kern::PutOp>(user))
      put = other;
  }
  if (!isProduct) {
    auto load = put ? put.getRow().getDefiningOp<kern::LoadOp>() : kern::LoadOp();
    if (!load || !isSame(load.getTable().getType(), load.getLevel(), load.getPath()))
      return {};
    leftOut.insert(put);
    return load.getTable();
  }
  for (Operation *user : buffer.getResult().getUsers())
    if (auto get = mlir::dyn_cast<kern::GetOp>(user))
      for (Operation *reader : get.getResult().getUsers())
        if (auto store = mlir::dyn_cast<kern::StoreOp>(reader);
            store && isSame(store.getTable().getType(), store.getLevel(), store.getPath())) {
          leftOut.insert(store);
          return store.getTable();
        }
  return {};
}

void KernelWriter::writeBuffer(kern::BufferOp buffer) {
  kern::BufferType type = buffer.getResult().getType();
  Buffer made;
  made.size = kern::rowSize(type.getRow());
  made.element = kern::elementType(type.getRow());
  made.base = bufferBase(buffer);
  made.name = unique(made.base + "_rows");
  std::string number = numberName(made.element), numbers;
  int64_t bytes = made.size * cpp::numberBytes(made.element);
  if (Value table = tableBehind(buffer)) {
    made.first = "first";
    const bool isRead = mlir::cast<mlir::BlockArgument>(table).getArgNumber() < kernel.getInputs();
    body.line((isRead ? "const " : "") + number + " *" + made.name + " = " + tables.at(table) + " + " +
              cpp::times("first", made.size) + ";");
    buffers[buffer.getResult()] = made;
    return;
  }
  if (auto tile = mlir::dyn_cast<kern::TileOp>(buffer->getParentOp())) {
    made.first = "first";
    numbers = std::to_string(*tile.getHeight() * made.size);
    facts.scratch.bytes += cpp::roundUp(*tile.getHeight() * bytes, 64);
  } else {
    Domain unit = mlir::cast<kern::ForOp>(buffer->getParentOp()).getDomain();
    std::string offsets = offsetsName(unit, type.getDomain()), row = cpp::levelName(unit);
    made.first = offsets + "[" + row + "]";
    numbers = cpp::times("int64_t{" + offsets + "[" + row + " + 1] - " + made.first + "}", made.size);
    facts.scratch.bytesPerRow += bytes;
    facts.scratch.bytes += 64;
    // As many edges as pairs or more.
    if (type.getDomain() == Domain::Edge || facts.scratch.domain != exec::Domain::Edge ||
        facts.scratch.bytesPerRow == bytes)
      facts.scratch.domain = static_cast<exec::Domain>(type.getDomain());
  }
  body.line(number + " *" + made.name + " = space.take<" + number + ">(" + numbers + ");");
  buffers[buffer.getResult()] = made;
}

/// The current row of a buffer: a number of it, or where its numbers start.
std::string KernelWriter::currentRow(kern::BufferType type, const Buffer &buffer) const {
  std::string place = cpp::levelName(type.getDomain()) + " - " + buffer.first;
  if (buffer.size == 1)
    return buffer.name + "[" + place + "]";
  return buffer.name + " + (" + place + ") * " + std::to_string(buffer.size);
}

void KernelWriter::writePut(kern::PutOp put) {
  if (leftOut.contains(put))
    return;
  const Buffer &buffer = buffers.at(put.getBuffer());
  std::string to = currentRow(put.getBuffer().getType(), buffer);
  if (buffer.size > 1) {
    std::string name = unique(buffer.base + "_row");
    body.line(numberName(buffer.element) + " *" + name + " = " + to + ";");
    to = name;
  }
  forNumbers(put.getRow(), [&](const std::string &number, const std::string &offset) {
    return (buffer.size == 1 ? to : to + "[" + offset + "]") + " = " + bare(number) + ";";
  });
}

void KernelWriter::writeGet(kern::GetOp get) {
  if (get.getResult().use_empty())
    return;
  const Buffer &buffer = buffers.at(get.getBuffer());
  std::string name = unique(buffer.base + "_row");
  body.line("const " + numberName(buffer.element) + (buffer.size == 1 ? " " : " *") + name + " = " +
            currentRow(get.getBuffer().getType(), buffer) + ";");
  rows[get.getResult()] = {.name = name};
}

}  // namespace hector
