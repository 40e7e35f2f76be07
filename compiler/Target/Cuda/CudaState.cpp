/// Accumulators, products and totals: what is collected over rows.

#include "compiler/Target/Cpp/Text.h"
#include "compiler/Target/Cuda/CudaWriter.h"
#include "kernels/cuda/division.hpp"
#include "kernels/cuda/sizes.hpp"

#include <cmath>
#include <optional>

namespace hector {

using cpp::bare;
using cpp::numberName;
using exec::FormKind;
using flow::Domain;
using flow::RowsType;
using kern::AccKind;
using llvm::ArrayRef;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// A row of distances, one for each number of `row`.
static Type distanceType(Type row, Type compared) {
  const int64_t size = kern::rowSize(row);
  return kern::rowType(size, compared, /*isScalar=*/size == 1);
}

//===- Accumulators ----------------------------------------------------------------------------------------------===//

void CudaWriter::writeAcc(Value acc, AccKind kind) {
  Type row = mlir::cast<kern::AccType>(acc.getType()).getRows().front();
  Acc made;
  made.names = {
      declare(row, baseOf(acc.getLoc(), stringifyAccKind(kind)), bare(startOf(kind, kern::elementType(row))))};
  if (cpp::needsCount(kind)) {
    made.count = unique(made.names.front() + "_count");
    body.line("int64_t " + made.count + " = 0;");
  }
  if (kind == AccKind::Nearest) {
    Type compared = comparedType(acc);
    made.distance =
        declare(distanceType(row, compared), made.names.front() + "_distance", bare(literal(HUGE_VAL, compared)));
  }
  accs[acc] = made;
}

void CudaWriter::computeRegion(mlir::Region &region, ArrayRef<Row> arguments) {
  for (auto [argument, row] : llvm::zip_equal(region.front().getArguments(), arguments)) {
    rows[argument] = row;
    if (!row.isPointer && !row.op)
      define(argument, row.name);
  }
  for (Operation &op : region.front().without_terminator())
    writeOp(op);
}

void CudaWriter::writeFold(kern::FoldOp fold) {
  computeRegion(fold.getInit(), {});
  Acc made;
  for (Value value : fold.getInit().front().getTerminator()->getOperands()) {
    std::string name = declare(value.getType(), baseOf(fold.getLoc(), "fold"));
    body.line(name + " = " + inRegisters(value) + ";");
    made.names.push_back(name);
  }
  accs[fold.getResult()] = made;
}

void CudaWriter::writeFoldStep(kern::StepOp step, kern::FoldOp fold) {
  const Acc acc = accs.at(fold.getResult());
  std::vector<Row> arguments;
  for (const std::string &name : acc.names)
    arguments.push_back({.name = name});
  for (Value row : step.getRows())
    arguments.push_back(rows.at(row));
  NameScope scope(*this);
  body.openBlock();
  computeRegion(fold.getStep(), arguments);
  // Old accumulators are read until all new ones are known.
  std::vector<std::string> fresh;
  for (Value value : fold.getStep().front().getTerminator()->getOperands()) {
    fresh.push_back(unique("next"));
    body.line("const auto " + fresh.back() + " = " + inRegisters(value) + ";");
  }
  for (auto [name, next] : llvm::zip_equal(acc.names, fresh))
    body.line(name + " = " + next + ";");
  body.close();
}

void CudaWriter::writeFoldFinish(kern::FinishOp finish, kern::FoldOp fold) {
  std::vector<Row> arguments;
  for (const std::string &name : accs.at(fold.getResult()).names)
    arguments.push_back({.name = name});
  computeRegion(fold.getFinish(), arguments);
  for (auto [result, value] :
       llvm::zip_equal(finish.getResults(), fold.getFinish().front().getTerminator()->getOperands())) {
    std::string name = unique(baseOf(result.getLoc(), "folded"));
    body.line("const auto " + name + " = " + inRegisters(value) + ";");
    define(result, name);
  }
}

void CudaWriter::writeStep(kern::StepOp step) {
  if (auto fold = step.getAcc().getDefiningOp<kern::FoldOp>()) {
    writeFoldStep(step, fold);
    return;
  }
  auto total = step.getAcc().getDefiningOp<kern::TotalOp>();
  if (total && isByRow) {
    NameScope scope(*this);
    body.openBlock();
    declareSlot(total, cpp::levelName(kernel.getDomain()));
    const std::string to = accs.at(total.getResult()).names.front();
    if (kern::rowSize(step.getRows().front().getType()) > 1) {
      writeRow(to, step.getRows().front(), "");
    } else {
      std::string number = inRegisters(step.getRows().front());
      body.line("if (lanes.isFirst())");
      body.indented("*" + to + " = " + number + ";");
    }
    body.close();
    return;
  }
  const AccKind kind = total ? total.getKind() : step.getAcc().getDefiningOp<kern::AccOp>().getKind();
  const int64_t size = kern::rowSize(step.getAcc().getType().getRows().front());
  // The row of a total that is not sorted is found for each step.
  const bool isScoped = total && isInMemory(total);
  std::optional<NameScope> scope;
  if (isScoped) {
    scope.emplace(*this);
    body.openBlock();
    declareSlot(total, total.getSorted() ? "piece + " + cpp::levelName(total.getTable().getType().getDomain())
                                         : slotOf(total));
  }
  const Acc acc = accs.at(step.getAcc());
  auto at = [&](const std::string &name) {
    return acc.isInMemory ? name + (size == 1 ? "[0]" : "[k]") : size == 1 ? name : name + "[c]";
  };
  // All lanes compute, since some may ask others, before those that have a number in memory take it.
  std::vector<std::string> taken;
  if (acc.isInMemory)
    for (Value row : step.getRows()) {
      taken.push_back(unique("taken"));
      body.line("const auto " + taken.back() + " = " + inRegisters(row) + ";");
    }
  auto operand = [&](unsigned i, const Point &point) {
    if (!acc.isInMemory)
      return numberAt(step.getRows()[i], point);
    return kern::rowSize(step.getRows()[i].getType()) == 1 ? taken[i] : taken[i] + "[c]";
  };
  if (acc.isInMemory && size == 1)
    body.open("if (lanes.isFirst())");
  if (kind == AccKind::Nearest) {
    std::string number = operand(2, {});
    forOwn(
        size,
        [&](const Point &point) {
          return "cuda::takeNearer(" + at(acc.names.front()) + ", " + at(acc.distance) + ", " + number +
                 ", cuda::distance(" + bare(operand(0, point)) + ", " + bare(operand(1, point)) + "));";
        },
        acc.isInMemory);
  } else {
    forOwn(
        size, [&](const Point &point) { return cpp::taking(space, kind, at(acc.names.front()), operand(0, point)); },
        acc.isInMemory);
  }
  if (acc.isInMemory && size == 1)
    body.close();
  if (cpp::needsCount(kind))
    body.line(acc.isInMemory ? "if (lanes.isFirst()) ++" + acc.count + ";" : "++" + acc.count + ";");
  if (isScoped)
    body.close();
}

void CudaWriter::writeFinish(kern::FinishOp finish) {
  if (auto fold = finish.getAcc().getDefiningOp<kern::FoldOp>()) {
    writeFoldFinish(finish, fold);
    return;
  }
  const AccKind kind = finish.getAcc().getDefiningOp<kern::AccOp>().getKind();
  const Acc acc = accs.at(finish.getAcc());
  const std::string &name = acc.names.front();
  Value result = finish.getResult(0);
  Type element = kern::elementType(result.getType());
  const int64_t size = kern::rowSize(result.getType());
  const std::string to = size == 1 ? name : name + "[c]";
  auto initAt = [&](unsigned i, const Point &point) { return bare(numberAt(finish.getInit()[i], point)); };
  switch (kind) {
  case AccKind::Sum:
    break;
  case AccKind::Mean:
    forOwn(size, [&](const Point &) {
      return to + " = " + acc.count + " > 0 ? " + to + " / static_cast<" + numberName(element) + ">(" + acc.count +
             ") : " + to + ";";
    });
    break;
  case AccKind::Max:
  case AccKind::Min: {
    const char *choose = kind == AccKind::Max ? "cuda::larger(" : "cuda::smaller(";
    forOwn(size, [&](const Point &point) {
      std::string init = finish.getInit().empty() ? literal(0, element) : initAt(0, point);
      std::string otherwise = finish.getInit().empty() ? to : choose + init + ", " + to + ")";
      return to + " = " + acc.count + " == 0 ? " + init + " : " + otherwise + ";";
    });
    break;
  }
  case AccKind::Nearest:
    if (!finish.getInit().empty())
      forOwn(size, [&](const Point &point) {
        return to + " = cuda::distance(" + initAt(0, point) + ", " + initAt(1, point) +
               ") <= " + (size == 1 ? acc.distance : acc.distance + "[c]") + " ? -1 : " + to + ";";
      });
    break;
  }
  define(result, name);
}

//===- Products --------------------------------------------------------------------------------------------------===//

/// The matrix of a product, or of its first head.
std::string CudaWriter::matrixOf(kern::ProductOp product) {
  return rowAt(tables.at(product.getWeights()), product.getLevel(), product.getPath(),
               product.getWeights().getType().getRowSize());
}

/// What the functions for a product have as their last parameters: how the matrix is read.
static std::string waysOf(kern::ProductOp product, std::optional<bool> isAligned) {
  std::string text = std::string(", cuda::Layout::") + (product.getTransposed() ? "Transposed" : "Plain");
  if (isAligned)
    text += *isAligned ? ", true" : ", false";
  return text + (product.getGuarded() ? ", true" : ", false");
}

/// Whether the rows of the matrix start at multiples of 16 bytes.
static bool isMatrixAligned(kern::ProductOp product) {
  Type stored = product.getWeights().getType().getElementType();
  const int64_t stride = product.getTransposed() ? product.getInner() : product.getOuter();
  return cpp::isStoredAsIs(stored) && stride * cpp::numberBytes(stored) % 16 == 0;
}

std::string CudaWriter::weightsClass(kern::ProductOp product, bool isKept) {
  Type stored = product.getWeights().getType().getElementType(), element = buffers.at(product.getRows()).element;
  return "cuda::Weights<" + numberName(element) + ", " + std::to_string(product.getInner()) + ", " +
         std::to_string(product.getOuter()) + ", " + std::to_string(warps) + ", " + std::to_string(planesOf(element)) +
         waysOf(product, isMatrixAligned(product)) + (isKept ? ", true" : ", false") +
         (cpp::isStoredAsIs(stored) ? ">" : ", " + cpp::storageName(space, stored) + ">");
}

/// The rows of a buffer, for functions that read one number at a time.
std::string CudaWriter::operandOf(const Buffer &buffer) const {
  if (!buffer.operand.empty())
    return buffer.operand;
  return "cuda::PlainRows<" + numberName(buffer.element) + ">{" + buffer.tile + ", " + std::to_string(buffer.stride) +
         "}";
}

/// Whether the matrix instructions can start at the columns of each head.
static bool startsAligned(int64_t heads, int64_t columns, Type element) {
  return heads == 1 || columns * (element.isF64() ? 8 : 2) % 16 == 0;
}

bool CudaWriter::isOfMatrices(kern::ProductOp product) const {
  return isWide && product.getHeads() > 1 && product.getSharedWeights() && !product.getSharedRows();
}

bool CudaWriter::isOfMatrices(kern::OuterOp outer) const {
  return isWide && isByRow && outer.getHeads() > 1 && outer.getSharedTotal() && !outer.getSharedLeft() &&
         !outer.getSharedRight();
}

std::string CudaWriter::matrixProduct(const std::string &type, int64_t numRows, int64_t terms, int64_t columns,
                                      const std::string &guard, const std::string &left, const std::string &right,
                                      const std::string &result) {
  const int bytes = type == "double" ? 8 : 4;
  slabBytes = std::max<int64_t>(slabBytes, cuda::slabsOf(static_cast<int>(terms), bytes).bytes);
  return "cuda::multiplyMatrices<" + type + ", " + std::to_string(numRows) + ", " + std::to_string(terms) + ", " +
         std::to_string(columns) + ", cuda::Guard::" + guard + ">(" + left + ", " + right + ", " + result + ", slabs);";
}

/// A matrix at `numbers`, whose rows and columns are so far apart.
static std::string matrixAt(int64_t down, int64_t across, const std::string &numbers) {
  return "cuda::matrixOf<" + std::to_string(down) + ", " + std::to_string(across) + ">(" + bare(numbers) + ")";
}

/// A product of two matrices within a row: result[k0][k1] = Σ a·b, where `a` has no k1, and `b` no k0.
bool CudaWriter::writeMatrixProduct(kern::MapOp map) {
  if (!isWide || map.getFn() != kern::Fn::Mul || map.getCombine() != flow::ReduceKind::Sum ||
      map.getSizes().size() != 2 || map.getReduced().front() == 1)
    return false;
  Value result = map.getResult();
  Type element = kern::elementType(result.getType());
  llvm::SmallVector<int64_t> strides[2];  // along k0, k1 and r; then the first number
  for (unsigned i = 0; i < 2; ++i) {
    if (!rows.at(map.getOperand(i)).isPointer || kern::elementType(map.getOperand(i).getType()) != element)
      return false;
    auto found =
        cpp::stridesOf(mlir::cast<mlir::AffineMapAttr>(map.getMaps()[i]).getValue().getResult(0), /*numAxes=*/3);
    if (!found)
      return false;
    strides[i] = *found;
  }
  const unsigned left = strides[0][1] == 0 ? 0 : 1, right = 1 - left;
  const llvm::SmallVector<int64_t> &a = strides[left], &b = strides[right];
  if (a[1] != 0 || b[0] != 0 || (a[0] != 1 && a[2] != 1) || (b[1] != 1 && b[2] != 1))
    return false;
  auto matrix = [&](unsigned operand, int64_t down, int64_t across) {
    const std::string &name = rows.at(map.getOperand(operand)).name;
    return matrixAt(down, across, strides[operand][3] == 0 ? name : name + " + " + std::to_string(strides[operand][3]));
  };
  const int64_t numRows = map.getSizes()[0], columns = map.getSizes()[1];
  std::string name = takeShared(baseOf(map.getLoc(), "product") + "_row", element, numRows * columns);
  body.line(matrixProduct(numberName(element), numRows, map.getReduced().front(), columns, "None",
                          matrix(left, a[0], a[2]), matrix(right, b[2], b[1]), name));
  body.line("cuda::syncBlock();");
  rows[result] = {.name = name, .isPointer = true, .stored = element};
  return true;
}

void CudaWriter::writeProduct(kern::ProductOp product) {
  if (isOfMatrices(product)) {
    const Buffer left = buffers.at(product.getRows()), result = buffers.at(product.getResult());
    const int64_t inner = product.getInner(), outer = product.getOuter();
    body.line(matrixProduct(numberName(result.element), product.getHeads(), inner, outer,
                            product.getGuarded() ? "Rows" : "None", matrixAt(inner, 1, left.tile),
                            product.getTransposed() ? matrixAt(1, inner, matrixOf(product))
                                                    : matrixAt(outer, 1, matrixOf(product)),
                            result.tile));
    return;
  }
  const Buffer left = buffers.at(product.getRows()), result = buffers.at(product.getResult());
  const int64_t inner = product.getInner(), outer = product.getOuter(), heads = product.getHeads();
  const std::string number = numberName(left.element),
                    sizes = number + ", " + std::to_string(inner) + ", " + std::to_string(outer);
  const std::string column = heads == 1 || product.getSharedRows() ? "0" : "head * " + std::to_string(inner);
  auto ofHead = [&](const std::string &name, int64_t step, bool isShared) {
    return heads == 1 || isShared ? name : name + " + head * " + std::to_string(step);
  };
  const std::string c = ofHead(result.tile, outer, false),
                    w = ofHead(matrixOf(product), inner * outer, product.getSharedWeights());
  const std::string results = c + ", " + std::to_string(result.stride) + ", rows);";
  const bool isAligned = !left.operand.empty() && startsAligned(heads, inner, left.element) &&
                         (heads == 1 || outer * cpp::numberBytes(result.element) % 16 == 0);
  const std::string a = column == "0" ? left.operand : left.operand + ".from(" + column + ")";
  Type stored = product.getWeights().getType().getElementType();
  std::string call;
  if (auto matrix = matrices.find(product); matrix != matrices.end() && isAligned)
    call = matrix->second + ".multiply(" + a + ", " + results;
  else if (tileRows == 1)
    call = "cuda::multiplyRow<" + sizes + ", " + std::to_string(warps) + waysOf(product, isMatrixAligned(product)) +
           (cpp::isStoredAsIs(stored) ? "" : ", " + cpp::storageName(space, stored)) + ">(" +
           ofHead(left.tile, inner, product.getSharedRows()) + ", " + w + ", " + c + ");";
  else if (isAligned)
    call = weightsClass(product, /*isKept=*/false) + "(" + w + ").multiply(" + a + ", " + results;
  else
    call = "cuda::multiplyPlain<" + sizes + waysOf(product, std::nullopt) + ">(" + operandOf(left) + ", " + column +
           ", " + w + ", " + results;
  if (heads > 1)
    body.line("for (int head = 0; head < " + std::to_string(heads) + "; ++head)");
  heads > 1 ? body.indented(call) : body.line(call);
}

/// The op whose products a total adds up, if there is one.
static kern::OuterOp productsOf(kern::TotalOp total) {
  for (Operation *user : total.getResult().getUsers())
    if (auto outer = mlir::dyn_cast<kern::OuterOp>(user))
      return outer;
  return nullptr;
}

/// Registers of a lane for its part of a matrix.
int64_t CudaWriter::matrixRegisters(kern::ProductOp product, int warps) const {
  const cuda::ProductDivision way = cuda::divideProduct(static_cast<int>(product.getInner()),
                                                        static_cast<int>(product.getOuter()), warps, /*isKept=*/true);
  Type element = kern::elementType(product.getRows().getType().getRow());
  return element.isF64() ? way.numbers * 2 : way.numbers * planesOf(element) / 2;
}

/// Registers of a lane for the sums of products.
int64_t CudaWriter::sumRegistersOf(kern::OuterOp outer, int warps) const {
  const cuda::OuterDivision way =
      cuda::divideOuter(static_cast<int>(outer.getInner()), static_cast<int>(outer.getOuter()), warps);
  const int64_t numbers = int64_t{way.own} * way.rowTiles * way.tiles * 4;
  return numbers * cpp::numberBytes(kern::elementType(outer.getLeft().getType().getRow())) / 4;
}

/// Whether products are added up in registers: one matrix, small enough, for all rows that a block takes in a row.
bool CudaWriter::isInRegisters(kern::OuterOp outer, int warps) const {
  constexpr int64_t kMostRegisters = 64;
  auto total = outer.getTotal().getDefiningOp<kern::TotalOp>();
  const bool isOne = total.getTable().getType().getDomain() == Domain::One;
  return hasOperands && outer.getHeads() == 1 && sumRegistersOf(outer, warps) <= kMostRegisters &&
         (total.getSorted() || isOne);
}

void CudaWriter::writeOuter(kern::OuterOp outer) {
  auto total = outer.getTotal().getDefiningOp<kern::TotalOp>();
  const Buffer left = buffers.at(outer.getLeft()), right = buffers.at(outer.getRight());
  const int64_t inner = outer.getInner(), columns = outer.getOuter(), heads = outer.getHeads();
  if (isInRegisters(outer, warps)) {
    body.line(accs.at(outer.getTotal()).names.front() + ".add(" + left.operand + ", " + right.operand + ", rows);");
    return;
  }
  auto columnOf = [&](int64_t step, bool isShared) {
    return heads == 1 || isShared ? std::string("0") : "head * " + std::to_string(step);
  };
  const std::string a = columnOf(inner, outer.getSharedLeft()), g = columnOf(columns, outer.getSharedRight());
  // With `first`, one row; else all of them.
  auto call = [&](const std::string &first) {
    const std::string &to = accs.at(outer.getTotal()).names.front();
    const bool isAligned = first.empty() && !left.operand.empty() && !right.operand.empty() &&
                           startsAligned(heads, inner, left.element) && startsAligned(heads, columns, left.element);
    auto from = [](const Buffer &buffer, const std::string &column) {
      return column == "0" ? buffer.operand : buffer.operand + ".from(" + column + ")";
    };
    std::string matrix =
        heads == 1 || outer.getSharedTotal() ? to : to + " + head * " + std::to_string(inner * columns);
    if (heads > 1)
      body.line("for (int head = 0; head < " + std::to_string(heads) + "; ++head)");
    std::string line = std::string("cuda::addOuterProducts") + (isAligned ? "<" : "Plain<") + numberName(left.element) +
                       ", " + std::to_string(inner) + ", " + std::to_string(columns) +
                       (isAligned ? ", " + std::to_string(warps) + ", " + std::to_string(planesOf(left.element)) : "") +
                       ", true>(";
    line += isAligned ? from(left, a) + ", " + from(right, g)
                      : operandOf(left) + ", " + a + ", " + operandOf(right) + ", " + g;
    line += ", " + matrix + ", " + std::to_string(columns) +
            (isAligned       ? ", rows);"
             : first.empty() ? ", 0, rows);"
                             : ", " + first + ", 1);");
    heads > 1 ? body.indented(line) : body.line(line);
  };
  NameScope scope(*this);
  if (isByRow) {
    body.openBlock();
    declareSlot(total, cpp::levelName(kernel.getDomain()));
    const std::string &to = accs.at(outer.getTotal()).names.front();
    if (isOfMatrices(outer)) {
      body.line(matrixProduct(numberName(left.element), inner, heads, columns, "Terms", matrixAt(1, inner, left.tile),
                              matrixAt(columns, 1, right.tile), to));
    } else {
      clearSlot(to, kern::rowSize(outer.getTotal().getType().getRows().front()), bare(literal(0, left.element)));
      call("");
    }
    body.close();
    return;
  }
  const bool isOne = total.getTable().getType().getDomain() == Domain::One;
  if (total.getSorted() || isOne) {
    body.openBlock();
    declareSlot(total,
                total.getSorted() ? "piece + " + cpp::levelName(total.getTable().getType().getDomain()) : "piece");
    call("");
    body.close();
    return;
  }
  // Rows of one tile may belong to several rows of a total that is not sorted.
  std::string row = cpp::levelName(kernel.getDomain());
  body.open("for (int64_t " + row + " = first; " + row + " < last; ++" + row + ")");
  declareSlot(total, slotOf(total));
  call("static_cast<int>(" + row + " - first)");
  body.close();
}

//===- Totals ----------------------------------------------------------------------------------------------------===//

/// Steps of a total whose rows come in any order, or take too many registers, go to memory; and so do products.
bool CudaWriter::isInMemory(kern::TotalOp total) const {
  const bool isOne = total.getTable().getType().getDomain() == Domain::One;
  const bool isLong = ownNumbers(kern::rowSize(total.getResult().getType().getRows().front())) > 32;
  return isLong || (!total.getSorted() && !isOne);
}

/// Which of its rows a total that is not sorted takes from the current row.
std::string CudaWriter::slotOf(kern::TotalOp total) {
  Domain target = total.getTable().getType().getDomain();
  if (target == Domain::One)
    return "piece";
  return "piece * " + count(target) + " + " + pathTo(total.getLevel(), total.getPath());
}

std::string CudaWriter::totalRow(kern::TotalOp total, const std::string &slot) const {
  std::string type = numberName(kern::elementType(total.getResult().getType().getRows().front()));
  size_t number = static_cast<size_t>(llvm::find(totals, total) - totals.begin());
  return "cuda::totalRow<" + type + ">(totals" + std::to_string(number) + ", " +
         std::to_string(facts.totals[number].rowBytes) + ", " + slot + ")";
}

/// Declares the row of a total at `slot` in memory, under the name by which steps know it.
void CudaWriter::declareSlot(kern::TotalOp total, const std::string &slot) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  std::string name = unique(tables.at(total.getTable()) + "_part"), type = numberName(element);
  body.line(type + " *" + name + " = " + totalRow(total, slot) + ";");
  Acc acc;
  acc.names = {name};
  acc.isInMemory = true;
  if (cpp::needsCount(total.getKind())) {
    acc.count = unique(name + "_count");
    body.line("int64_t &" + acc.count + " = *reinterpret_cast<int64_t *>(" + name + " + " +
              std::to_string(cpp::countPlace(kern::rowSize(row), element)) + ");");
  }
  if (total.getKind() == AccKind::Nearest) {
    std::string compared = numberName(comparedType(total.getResult()));
    acc.distance = unique(name + "_distance");
    body.line(compared + " *" + acc.distance + " = reinterpret_cast<" + compared + " *>(" + name + " + " +
              std::to_string(kern::rowSize(row)) + ");");
  }
  accs[total.getResult()] = acc;
}

/// The whole block sets the row of a total to what it starts with.
void CudaWriter::clearSlot(const std::string &name, int64_t size, const std::string &start) {
  body.line("for (int k = cuda::threadInBlock(); k < " + std::to_string(size) + "; k += cuda::numThreads())");
  body.indented(name + "[k] = " + start + ";");
  body.line("cuda::syncBlock();");
}

void CudaWriter::startTotal(kern::TotalOp total, const std::string &slot) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  const int64_t size = kern::rowSize(row);
  kern::OuterOp products = productsOf(total);
  if (products && isInRegisters(products, warps)) {
    std::string name = unique(tables.at(total.getTable()) + "_products");
    body.line("cuda::OuterProducts<" + numberName(element) + ", " + std::to_string(products.getInner()) + ", " +
              std::to_string(products.getOuter()) + ", " + std::to_string(warps) + ", " +
              std::to_string(planesOf(element)) + ", true> " + name + ";");
    sumRegisters += sumRegistersOf(products, warps);
    accs[total.getResult()] = {.names = {name}, .count = {}, .distance = {}};
    return;
  }
  if (!isInMemory(total) && !products) {
    sumRegisters += ownNumbers(size) * cpp::numberBytes(element) / 4;
    writeAcc(total.getResult(), total.getKind());
    return;
  }
  NameScope scope(*this);
  if (total.getSorted())
    body.openBlock();
  declareSlot(total, slot);
  const Acc acc = accs.at(total.getResult());
  const std::string start = bare(startOf(total.getKind(), element));
  if (products) {
    clearSlot(acc.names.front(), size, start);
  } else {
    // A single number is written by the lane that will add to it: others may be late.
    body.open(std::string("if (lanes.groupInWarp() == 0") + (size == 1 ? " && lanes.isFirst())" : ")"));
    forOwn(
        size, [&](const Point &) { return acc.names.front() + (size == 1 ? "[0]" : "[k]") + " = " + start + ";"; },
        /*isGuarded=*/true);
    if (!acc.count.empty()) {
      body.line("if (lanes.isFirst())");
      body.indented(acc.count + " = 0;");
    }
    if (!acc.distance.empty()) {
      std::string far = bare(literal(HUGE_VAL, comparedType(total.getResult())));
      forOwn(
          size, [&](const Point &) { return acc.distance + (size == 1 ? "[0]" : "[k]") + " = " + far + ";"; },
          /*isGuarded=*/true);
    }
    body.close();
  }
  if (total.getSorted())
    body.close();
}

/// What the groups of the warp, or of the block, have becomes the piece's part.
void CudaWriter::endTotal(kern::TotalOp total, const std::string &slot) {
  if (kern::OuterOp products = productsOf(total)) {
    if (isInRegisters(products, warps)) {
      std::string type = numberName(kern::elementType(total.getResult().getType().getRows().front()));
      body.open(accs.at(total.getResult()).names.front() + ".forEach([&](int i, int j, " + type + " sum)");
      body.line(totalRow(total, slot) + "[i * " + std::to_string(products.getOuter()) + " + j] = sum;");
      body.indent(body.indentation() - 1);
      body.line("});");
    }
    return;
  }
  if (isInMemory(total))
    return;
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  const int64_t size = kern::rowSize(row);
  const Acc acc = accs.at(total.getResult());
  const std::string &name = acc.names.front(), type = numberName(element);
  NameScope scope(*this);
  body.openBlock();
  const bool isOfWarps = isOfBlocks && warps > 1;
  auto join = [&](const std::string &number, const std::string &type, const std::string &taking, int64_t bytes) {
    const std::string take = "[](" + type + " a, " + type + " b) { return " + taking + "; });";
    body.line("lanes.joinGroups(" + number + ", " + take);
    if (isOfWarps)
      body.line("lanes.joinWarps<" + std::to_string(warps) + ">(" + number + ", joinMemory, " + take);
    joinBytes = std::max(joinBytes, isOfWarps ? warps * bytes : 0);
  };
  const int64_t rowBytes = size * cpp::numberBytes(element);
  switch (total.getKind()) {
  case AccKind::Sum:
  case AccKind::Mean:
    join(name, type, "a + b", rowBytes);
    break;
  case AccKind::Max:
    join(name, type, "cuda::larger(a, b)", rowBytes);
    break;
  case AccKind::Min:
    join(name, type, "cuda::smaller(a, b)", rowBytes);
    break;
  case AccKind::Nearest:
    body.line("lanes.joinNearest(" + name + ", " + acc.distance + ");");
    if (isOfWarps) {
      body.line("lanes.joinNearestWarps<" + std::to_string(warps) + ">(" + name + ", " + acc.distance +
                ", joinMemory);");
      joinBytes = std::max(joinBytes, warps * 2 * rowBytes);
    }
    break;
  }
  if (!acc.count.empty())
    join(acc.count, "int64_t", "a + b", sizeof(int64_t));
  declareSlot(total, slot);
  const Acc memory = accs.at(total.getResult());
  accs[total.getResult()] = acc;
  body.open(std::string("if (lanes.") + (isOfWarps ? "groupInBlock" : "groupInWarp") + "() == 0)");
  auto write = [&](const std::string &to, const std::string &from) {
    body.line(size == 1 ? "*" + to + " = " + from + ";"
                        : "lanes.store<" + std::to_string(size) + ">(" + to + ", " + from + ");");
  };
  write(memory.names.front(), name);
  if (!acc.distance.empty())
    write(memory.distance, acc.distance);
  if (!acc.count.empty())
    body.line(memory.count + " = " + acc.count + ";");
  body.close();
  if (isOfWarps)
    body.line("cuda::syncBlock();");  // before the memory of the join has rows again
  body.close();
}

/// Writes the kernel that joins what the pieces, or the rows, left for each number of the totals. Its first blocks join
/// the first total.
void CudaWriter::writeJoins(Writer &out) {
  const std::string name = symbol + "_join";
  std::string written;
  for (kern::TotalOp total : totals)
    written += (written.empty() ? "" : ", ") + tables.at(total.getTable());
  out.line("");
  out.comment("Joins what the pieces of " + symbol + " left for " + written + ".");
  if (use == Use::Band) {
    writeHead(out, name, cuda::kJoinThreads, 1, "int64_t &block, ");
  } else {
    writeHead(out, name, cuda::kJoinThreads);
    out.line("int64_t block = cuda::blockInGrid();");
  }
  for (kern::TotalOp total : totals) {
    out.openBlock();
    writeJoin(out, total);
    out.close();
  }
  writeEnd(out, name);
}

void CudaWriter::writeJoin(Writer &out, kern::TotalOp total) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  const AccKind kind = total.getKind();
  const std::string type = numberName(element);
  const std::string &table = tables.at(total.getTable());
  const bool isNearest = kind == AccKind::Nearest, isCounted = cpp::needsCount(kind);
  const std::string compared = isNearest ? numberName(comparedType(total.getResult())) : "";
  out.open("struct Part");
  out.line(type + " value;");
  if (isCounted)
    out.line("int64_t count;");
  if (isNearest)
    out.line(compared + " distance;");
  out.indent(out.indentation() - 1);
  out.line("};");
  std::string start = bare(startOf(kind, element));
  if (isCounted)
    start += ", 0";
  if (isNearest)
    start += ", " + bare(literal(HUGE_VAL, comparedType(total.getResult())));
  // Parts of products lie as the products are computed.
  std::string place = "k";
  if (kern::OuterOp products = productsOf(total); products && products.getTransposed()) {
    const std::string rows = std::to_string(products.getInner()), columns = std::to_string(products.getOuter()),
                      matrix = std::to_string(products.getInner() * products.getOuter());
    place = "k / " + matrix + " * " + matrix + " + k % " + rows + " * " + columns + " + k % " + matrix + " / " + rows;
  }
  auto initAt = [&](unsigned i) {
    Value init = total.getInit()[i];
    Type stored = mlir::cast<RowsType>(init.getType()).getElementType();
    return cpp::isStoredAsIs(stored) ? tables.at(init) + "[index]" : "cuda::load(" + tables.at(init) + " + index)";
  };
  std::string value = "part.value";
  switch (kind) {
  case AccKind::Sum:
    break;
  case AccKind::Mean:
    value = "part.count == 0 ? part.value : part.value / static_cast<" + type + ">(part.count)";
    break;
  case AccKind::Max:
  case AccKind::Min:
    if (total.getInit().empty())
      value = "part.count == 0 ? " + literal(0, element) + " : part.value";
    else
      value = "part.count == 0 ? " + initAt(0) + " : cuda::" + (kind == AccKind::Max ? "larger(" : "smaller(") +
              initAt(0) + ", part.value)";
    break;
  case AccKind::Nearest:
    if (!total.getInit().empty())
      value = "cuda::distance(" + initAt(0) + ", " + initAt(1) + ") <= part.distance ? -1 : part.value";
    break;
  }
  Type stored = total.getTable().getType().getElementType();
  const std::string finish = cpp::isStoredAsIs(stored) ? table + "[index] = " + value + ";"
                                                       : "cuda::store(" + table + " + index, " + value + ");";
  writeJoinOfPieces(out, total, start, place, finish);
}

/// The threads join what the pieces left for each number of the result (`cuda::joinPieces`). Where each row of the loop
/// has left what it adds, rows are the pieces, of which a target takes its own.
void CudaWriter::writeJoinOfPieces(Writer &out, kern::TotalOp total, const std::string &start, const std::string &place,
                                   const std::string &finish) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  const AccKind kind = total.getKind();
  const int64_t size = kern::rowSize(row);
  const std::string type = numberName(element);
  Domain target = total.getTable().getType().getDomain();
  const bool isNearest = kind == AccKind::Nearest, isCounted = cpp::needsCount(kind);
  const std::string compared = isNearest ? numberName(comparedType(total.getResult())) : "";
  auto lambda = [&](const std::string &parameters, const std::string &end, llvm::function_ref<void()> statements) {
    out.open("[&](" + parameters + ")");
    statements();
    out.indent(out.indentation() - 1);
    out.line("}" + end);
  };
  out.line("cuda::joinPieces<" + std::to_string(size) + ">(");
  out.indent(out.indentation() + 2);
  const std::string pieces = isByRow ? count(kernel.getDomain()) : "sizes.pieces";
  out.line("block, " + count(target) + ", " + pieces + ", Part{" + start + "},");
  const bool isSorted = total.getSorted();
  lambda(isSorted ? "int64_t target" : "int64_t", ",", [&] {
    if (isSorted) {
      std::string types =
          formVariables.lookup(exec::formName({.kind = FormKind::Types, .types = cpp::typedRows(kernel.getDomain())}));
      out.line("const int64_t firstRow = " + types + "[target], lastRow = " + types + "[target + 1];");
      out.line("const int64_t first = firstRow / sizes.grain;");
      out.line("return cuda::PieceRange{first, firstRow < lastRow ? (lastRow - 1) / sizes.grain + 1 : first};");
    } else {
      out.line("return cuda::PieceRange{0, " + pieces + "};");
    }
  });
  const bool isOne = target == Domain::One;
  const std::string piece = isByRow ? cpp::levelName(kernel.getDomain()) : "piece";
  lambda("Part &part, int64_t " + piece + ", int64_t" + (isOne ? "" : " target") +
             (size == 1 ? ", int64_t" : ", int64_t k"),
         ",", [&] {
           std::string slot = isByRow    ? piece
                              : isSorted ? "piece + target"
                              : isOne    ? "piece"
                                         : "piece * " + count(target) + " + target";
           if (isByRow) {
             out.line("if (" + pathTo(total.getLevel(), total.getPath()) + " != target)");
             out.indented("return;");
           }
           out.line("const " + type + " *from = " + totalRow(total, slot) + ";");
           const std::string at = size == 1 ? "0" : place;
           if (isNearest)
             out.line("cuda::takeNearer(part.value, part.distance, from[" + at + "], reinterpret_cast<const " +
                      compared + " *>(from + " + std::to_string(size) + ")[" + at + "]);");
           else
             out.line(cpp::taking(space, kind, "part.value", "from[" + at + "]"));
           if (isCounted && isByRow)
             out.line("++part.count;");
           else if (isCounted)
             out.line("part.count += *reinterpret_cast<const int64_t *>(from + " +
                      std::to_string(cpp::countPlace(size, element)) + ");");
         });
  lambda("Part &part, const Part &next", ",", [&] {
    if (isNearest)
      out.line("cuda::takeNearer(part.value, part.distance, next.value, next.distance);");
    else
      out.line(cpp::taking(space, kind, "part.value", "next.value"));
    if (isCounted)
      out.line("part.count += next.count;");
  });
  lambda("int64_t index, const Part &part", ");", [&] { out.line(finish); });
  out.indent(out.indentation() - 2);
}

}  // namespace hector
