/// Accumulators, products and totals: what is collected over rows.

#include "compiler/Target/Cpp/KernelWriter.h"
#include "compiler/Target/Cpp/Text.h"

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

//===- Accumulators ----------------------------------------------------------------------------------------------===//

/// Whether an accumulator is a sum over edges, of which there may be so many that a running sum would lose small
/// numbers.
bool KernelWriter::isLongSum(Value acc) {
  auto declared = acc.getDefiningOp<kern::AccOp>();
  if (!declared || (declared.getKind() != AccKind::Sum && declared.getKind() != AccKind::Mean))
    return false;
  return llvm::any_of(acc.getUsers(), [](Operation *user) {
    auto loop = mlir::dyn_cast<kern::ForOp>(user->getParentOp());
    return mlir::isa<kern::StepOp>(user) && loop && loop.getDomain() == Domain::Edge && !isSideBySide(loop);
  });
}

void KernelWriter::writeAcc(Value acc, AccKind kind) {
  Type row = mlir::cast<kern::AccType>(acc.getType()).getRows().front();
  Acc made;
  made.names = {
      declare(row, baseOf(acc.getLoc(), stringifyAccKind(kind)), bare(startOf(kind, kern::elementType(row))))};
  if (cpp::needsCount(kind)) {
    made.count = unique(made.names.front() + "_count");
    body.line("int64_t " + made.count + " = 0;");
  }
  if (isLongSum(acc)) {
    made.blocks = declare(row, made.names.front() + "_blocks");
    made.hasBlocks = unique(made.names.front() + "_has_blocks");
    body.line("bool " + made.hasBlocks + " = false;");
  }
  if (kind == AccKind::Nearest) {
    Type element = comparedType(acc);
    made.distance = declare(kern::rowType(kern::rowSize(row), element, /*isScalar=*/kern::rowSize(row) == 1),
                            made.names.front() + "_distance", bare(literal(HUGE_VAL, element)));
  }
  accs[acc] = made;
}

bool KernelWriter::isSideBySide(kern::ForOp loop) {
  // Buffers start with the first edge of a unit, and have room for whole vectors from there.
  auto unit = mlir::dyn_cast<kern::ForOp>(loop->getParentOp());
  if (loop.getDomain() != Domain::Edge || !unit || !mlir::isa<kern::KernelOp>(unit->getParentOp()))
    return false;
  Type element;
  auto isNumber = [&](Type row) {
    Type own = kern::elementType(row);
    if (kern::rowSize(row) != 1 || !(own.isF32() || own.isF64()) || (element && own != element))
      return false;
    element = own;
    return true;
  };
  auto isInOrder = [&](flow::RowsType table, Domain level, mlir::ArrayAttr path) {
    return level == Domain::Edge && path.empty() && cpp::isStoredAsIs(table.getElementType());
  };
  bool hasStep = false;
  for (Operation &op : loop.getBody().front()) {
    if (auto get = mlir::dyn_cast<kern::GetOp>(op)) {
      if (!isNumber(get.getResult().getType()))
        return false;
    } else if (auto load = mlir::dyn_cast<kern::LoadOp>(op)) {
      if (!isNumber(load.getResult().getType()) ||
          !isInOrder(load.getTable().getType(), load.getLevel(), load.getPath()))
        return false;
    } else if (auto store = mlir::dyn_cast<kern::StoreOp>(op)) {
      if (!isNumber(store.getRow().getType()) ||
          !isInOrder(store.getTable().getType(), store.getLevel(), store.getPath()))
        return false;
    } else if (auto map = mlir::dyn_cast<kern::MapOp>(op)) {
      // What a comparison gives is a part of the expression that reads it.
      const bool isTruth = kern::elementType(map.getResult().getType()).isInteger(1);
      if (map.getFn() == kern::Fn::Dropout || map.getCombine() ||
          (isTruth ? kern::rowSize(map.getResult().getType()) != 1 : !isNumber(map.getResult().getType())))
        return false;
    } else if (auto put = mlir::dyn_cast<kern::PutOp>(op)) {
      if (!isNumber(put.getRow().getType()))
        return false;
    } else if (auto step = mlir::dyn_cast<kern::StepOp>(op)) {
      auto acc = step.getAcc().getDefiningOp<kern::AccOp>();
      if (!acc || acc.getKind() == AccKind::Nearest || !isNumber(step.getRows().front().getType()))
        return false;
      hasStep = true;
    } else {
      return false;
    }
  }
  return hasStep;
}

/// Numbers of edges that lie in buffers or follow one another in tables: as many side by side as a vector holds. Those
/// after the last edge are computed from anything, and neither stored nor counted. Long sums are taken in blocks.
void KernelWriter::writeSideBySide(kern::ForOp loop, const std::string &begin, const std::string &end) {
  mlir::Block &block = loop.getBody().front();
  auto steps = llvm::to_vector(block.getOps<kern::StepOp>());
  const std::string row = cpp::levelName(loop.getDomain());
  Type element = kern::elementType(steps.front().getRows().front().getType());
  const std::string number = numberName(element), lanes = "cpu::kSums<" + number + ">";
  auto kindOf = [](kern::StepOp step) { return step.getAcc().getDefiningOp<kern::AccOp>().getKind(); };
  NameScope scope(*this);
  body.open("for (int64_t from = " + begin + "; from < " + end + "; from += cpu::kBlockEdges)");
  body.line("const int64_t to = cpu::smallest(from + cpu::kBlockEdges, " + end + ");");
  std::vector<std::string> sums;
  for (kern::StepOp step : steps) {
    sums.push_back(unique(accs.at(step.getAcc()).names.front() + "_sums"));
    body.line("alignas(64) " + number + " " + sums.back() + "[" + lanes + "];");
    body.line("cpu::fill<" + number + ">(" + sums.back() + ", " + bare(startOf(kindOf(step), element)) + ", " + lanes +
              ");");
  }
  body.line("for (int64_t first = from; first < to; first += " + lanes + ")");
  body.indent(body.indentation() + 1);
  body.open("for (int64_t i = 0; i < " + lanes + "; ++i)");
  body.line("const int64_t " + row + " = first + i;");
  levels.push_back(loop.getDomain());
  size_t place = 0;
  for (Operation &op : block) {
    if (auto load = mlir::dyn_cast<kern::LoadOp>(op)) {
      const std::string &table = tables.at(load.getTable());
      std::string name = unique(table + "_" + row);
      body.line("const " + number + " " + name + " = " + row + " < to ? " + table + "[" + row +
                "] : " + bare(literal(0, element)) + ";");
      rows[load.getResult()] = {.name = name};
    } else if (auto store = mlir::dyn_cast<kern::StoreOp>(op)) {
      forNumbers(store.getRow(), [&](const std::string &value, const std::string &) {
        return "if (" + row + " < to) " + tables.at(store.getTable()) + "[" + row + "] = " + bare(value) + ";";
      });
    } else if (auto step = mlir::dyn_cast<kern::StepOp>(op)) {
      forNumbers(step.getRows().front(), [&](const std::string &value, const std::string &) {
        std::string counted =
            "cpu::choose(" + row + " < to, " + bare(value) + ", " + bare(startOf(kindOf(step), element)) + ")";
        return cpp::taking(space, kindOf(step), sums[place] + "[i]", counted);
      });
      ++place;
    } else {
      writeOp(op);
    }
  }
  levels.pop_back();
  body.close();
  body.indent(body.indentation() - 1);
  for (auto [step, name] : llvm::zip_equal(steps, sums)) {
    const Acc &acc = accs.at(step.getAcc());
    const AccKind kind = kindOf(step);
    std::string combine = kind == AccKind::Max   ? "cpu::larger(a, b)"
                          : kind == AccKind::Min ? "cpu::smaller(a, b)"
                                                 : "a + b";
    body.line(
        cpp::taking(space, kind, acc.names.front(),
                    "cpu::joinSums(" + name + ", [](" + number + " a, " + number + " b) { return " + combine + "; })"));
    if (cpp::needsCount(kind))
      body.line(acc.count + " += to - from;");
  }
  body.close();
}

void KernelWriter::writeBlockEnds(kern::ForOp loop) {
  if (loop.getDomain() != Domain::Edge)
    return;
  std::vector<std::string> moved;
  for (auto step : loop.getBody().front().getOps<kern::StepOp>()) {
    const Acc &acc = accs.at(step.getAcc());
    if (acc.blocks.empty())
      continue;
    int64_t size = kern::rowSize(step.getAcc().getType().getRows().front());
    moved.push_back("cpu::moveSum(" + acc.names.front() + ", " + acc.blocks + ", " +
                    (size == 1 ? "" : std::to_string(size) + ", ") + acc.hasBlocks + ");");
  }
  if (moved.empty())
    return;
  std::string condition = "if (cpu::endsBlock(" + cpp::levelName(loop.getDomain()) + "))";
  if (moved.size() == 1) {
    body.line(condition);
    body.indented(moved.front());
    return;
  }
  body.open(condition);
  for (const std::string &line : moved)
    body.line(line);
  body.close();
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
    std::string name = declare(value.getType(), baseOf(fold.getLoc(), "fold"));
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
  NameScope scope(*this);
  body.openBlock();
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
    for (Value read = argument; read.hasOneUse();) {
      mlir::OpOperand &use = *read.getUses().begin();
      auto map = mlir::dyn_cast<kern::MapOp>(use.getOwner());
      if (!map || !rows.lookup(map.getResult()).op)
        return false;
      // Every number is read where it is written.
      auto offset = mlir::cast<mlir::AffineMapAttr>(map.getMaps()[use.getOperandNumber()]).getValue().getResult(0);
      if (offset != cpp::rowMajor(map.getSizes(), map.getContext()))
        return false;
      if (map.getResult() == value)
        return true;
      read = map.getResult();
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
      return (kern::rowSize(value.getType()) == 1 ? fresh[i] : fresh[i] + "[" + offset + "]") + " = " + bare(number) +
             ";";
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
      Axes axes = axesOf({size});
      openLoops({size}, axes);
      body.line(acc.names[i] + "[k] = " + fresh[i] + "[k];");
      closeLoops(axes);
    }
  }
  body.close();
}

void KernelWriter::writeFoldFinish(kern::FinishOp finish, kern::FoldOp fold) {
  std::vector<Row> arguments;
  for (const std::string &name : accs.at(fold.getResult()).names)
    arguments.push_back({.name = name});
  computeRegion(fold.getFinish(), arguments);
  for (auto [result, value] :
       llvm::zip_equal(finish.getResults(), fold.getFinish().front().getTerminator()->getOperands())) {
    std::string name = declare(value.getType(), baseOf(result.getLoc(), "folded"));
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
  auto total = step.getAcc().getDefiningOp<kern::TotalOp>();
  AccKind kind = total ? total.getKind() : step.getAcc().getDefiningOp<kern::AccOp>().getKind();
  Type rowType = step.getAcc().getType().getRows().front();
  int64_t size = kern::rowSize(rowType);
  // The row of an unsorted total is found for each step.
  bool isScoped = total && !total.getSorted();
  std::optional<NameScope> scope;
  if (isScoped) {
    scope.emplace(*this);
    body.openBlock();
    declareTotal(total, slotOf(total));
  }
  const Acc acc = accs.at(step.getAcc());
  auto at = [&](const std::string &name, const std::string &offset) {
    return size == 1 && !total ? name : name + "[" + offset + "]";
  };
  if (kind == AccKind::Nearest) {
    Value row = step.getRows()[0], wanted = step.getRows()[1];
    std::string number = numberAt(step.getRows()[2]);
    Axes axes = axesOf({size});
    const std::string &offset = axes.front();
    openLoops({size}, axes);
    body.line("cpu::takeNearer(" + at(acc.names.front(), offset) + ", " + at(acc.distance, offset) + ", " + number +
              ", cpu::distance(" + bare(numberAt(row, offset, {offset}, false)) + ", " +
              bare(numberAt(wanted, offset, {offset}, false)) + "));");
    closeLoops(axes);
  } else {
    forNumbers(step.getRows().front(), [&](const std::string &number, const std::string &offset) {
      return cpp::taking(space, kind, at(acc.names.front(), offset), number);
    });
    if (cpp::needsCount(kind))
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
    Axes axes = axesOf({size});
    openLoops({size}, axes);
    body.line(statement(size > 1 ? name + "[k]" : name, axes.front()));
    closeLoops(axes);
    if (!condition.empty())
      body.indent(body.indentation() - 1);
  };
  auto initAt = [&](unsigned i, const std::string &offset) {
    return bare(numberAt(finish.getInit()[i], offset, {offset}, false));
  };
  if (!acc.blocks.empty())
    each(acc.hasBlocks,
         [&](std::string to, std::string) { return to + " += " + acc.blocks + (size > 1 ? "[k];" : ";"); });
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
  case AccKind::Nearest:
    if (!finish.getInit().empty())
      each("", [&](std::string to, std::string offset) {
        return "if (cpu::distance(" + initAt(0, offset) + ", " + initAt(1, offset) +
               ") <= " + (size > 1 ? acc.distance + "[k]" : acc.distance) + ") " + to + " = -1;";
      });
    break;
  }
}

//===- Products --------------------------------------------------------------------------------------------------===//

/// The matrix of a product, or those of its heads, as numbers to compute with.
std::string KernelWriter::declareMatrix(kern::ProductOp product) {
  RowsType type = product.getWeights().getType();
  Type element = kern::elementType(product.getRows().getType().getRow());
  const int64_t size = type.getRowSize();
  const std::string &table = tables.at(product.getWeights());
  std::string from = rowAt(table, product.getLevel(), product.getPath(), size);
  if (cpp::isStoredAsIs(type.getElementType())) {
    std::string name = unique(table + "_matrix");
    body.line("const " + numberName(element) + " *" + name + " = " + from + ";");
    return name;
  }
  std::string name = takeFixed(table + "_matrix", element, size);
  Axes axes = axesOf({size});
  openLoops({size}, axes);
  body.line(name + "[" + axes.front() + "] = cpu::load(" + from + " + " + axes.front() + ");");
  closeLoops(axes);
  return name;
}

void KernelWriter::prepareWeights(kern::ProductOp product) {
  Type element = kern::elementType(product.getRows().getType().getRow());
  int64_t inner = product.getInner(), outer = product.getOuter();
  int64_t heads = product.getSharedWeights() ? 1 : product.getHeads(), size = heads * inner * outer;
  const std::string &table = tables.at(product.getWeights());
  std::string number = numberName(element);
  Weights made;
  made.name = declareMatrix(product);
  made.isJoined = heads > 1 && product.getSharedRows();
  if (product.getTransposed()) {
    made.isTurned = true;
    std::string to = takeFixed(table + "_turned", element, size);
    auto at = [&](const std::string &name, int64_t step) {
      return heads == 1 ? name : name + " + head * " + std::to_string(step);
    };
    if (heads > 1)
      body.line("for (int64_t head = 0; head < " + std::to_string(heads) + "; ++head)");
    std::string line = "cpu::transpose<" + number + ">(" + at(made.name, inner * outer) + ", " + std::to_string(inner) +
                       ", " + at(to, made.isJoined ? outer : inner * outer) + ", " +
                       std::to_string(made.isJoined ? heads * outer : outer) + ", " + std::to_string(outer) + ", " +
                       std::to_string(inner) + ");";
    heads > 1 ? body.indented(line) : body.line(line);
    made.name = to;
  } else if (made.isJoined) {
    std::string to = takeFixed(table + "_joined", element, size);
    body.line("cpu::joinHeads<" + number + ">(" + made.name + ", " + to + ", " + std::to_string(heads) + ", " +
              std::to_string(inner) + ", " + std::to_string(outer) + ");");
    made.name = to;
  }
  weights[product] = made;
}

void KernelWriter::writeProduct(kern::ProductOp product) {
  const Buffer &left = buffers.at(product.getRows()), &result = buffers.at(product.getResult());
  std::string number = numberName(left.element);
  int64_t inner = product.getInner(), outer = product.getOuter(), heads = product.getHeads();
  if (!weights.contains(product))  // it is that of one row
    weights[product] = {.name = declareMatrix(product)};
  const Weights &matrix = weights[product];
  int64_t rowStride = left.size, resultStride = result.size;
  std::string count = tileEnd + " - " + tileBegin;
  if (matrix.isJoined) {
    outer *= heads;
    heads = 1;
  } else if (heads > 1 && product.getSharedWeights() && !product.getSharedRows()) {
    // The parts of a row that meet the same matrix are rows of their own.
    count = "(" + count + ") * " + std::to_string(heads);
    rowStride = inner;
    resultStride = outer;
    heads = 1;
  }
  auto inPart = [&](const std::string &name, int64_t size) {
    return tileBegin == "first" ? name : name + " + (" + tileBegin + " - first) * " + std::to_string(size);
  };
  auto shifted = [&](const std::string &name, int64_t step, bool isShared) {
    return heads == 1 || isShared ? name : name + " + head * " + std::to_string(step);
  };
  std::string a = shifted(inPart(left.name, left.size), inner, product.getSharedRows()),
              c = shifted(inPart(result.name, result.size), outer, /*isShared=*/false);
  std::string w = shifted(matrix.name, inner * outer, product.getSharedWeights());
  auto sizes = [&](const std::string &between) {
    return a + ", " + std::to_string(rowStride) + ", " + between + c + ", " + std::to_string(resultStride) + ", " +
           count + ", " + std::to_string(inner) + ", " + std::to_string(outer) + ");";
  };
  const bool isTurnedHere = product.getTransposed() && !matrix.isTurned;
  if (heads > 1)
    body.open("for (int64_t head = 0; head < " + std::to_string(heads) + "; ++head)");
  body.line(std::string("cpu::") + (isTurnedHere ? "multiplyTransposed<" : "multiply<") + number + ">(" +
            sizes(w + ", " + std::to_string(isTurnedHere ? inner : outer) + ", "));
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
  // The parts of a row that are summed to the same matrix are rows of their own.
  const bool isMerged = heads > 1 && outer.getSharedTotal() && !outer.getSharedLeft() && !outer.getSharedRight();
  const int64_t merged = isMerged ? heads : 1;
  if (isMerged)
    heads = 1;
  auto call = [&](const std::string &rowsFrom, const std::string &rows, const std::string &to) {
    std::string numRows = cpp::times(rows, merged);
    auto at = [&](const Buffer &buffer, int64_t step, bool isShared) {
      std::string text = buffer.name + " + " + cpp::times(rowsFrom, buffer.size);
      return heads == 1 || isShared ? text : text + " + head * " + std::to_string(step);
    };
    std::string x = at(left, inner, outer.getSharedLeft()) + ", " + std::to_string(isMerged ? inner : left.size);
    std::string g = at(right, columns, outer.getSharedRight()) + ", " + std::to_string(isMerged ? columns : right.size);
    std::string matrix =
        heads == 1 || outer.getSharedTotal() ? to : to + " + head * " + std::to_string(inner * columns);
    bool isTurned = outer.getTransposed();
    if (heads > 1)
      body.line("for (int64_t head = 0; head < " + std::to_string(heads) + "; ++head)");
    std::string line = "cpu::addOuterProducts<" + number + ">(" + (isTurned ? g : x) + ", " + (isTurned ? x : g) +
                       ", " + matrix + ", " + std::to_string(isTurned ? inner : columns) + ", " + numRows + ", " +
                       std::to_string(isTurned ? columns : inner) + ", " + std::to_string(isTurned ? inner : columns) +
                       ");";
    heads > 1 ? body.indented(line) : body.line(line);
  };
  // Rows of one tile may belong to several rows of a total that is not sorted.
  bool isSorted = total.getSorted() || total.getTable().getType().getDomain() == Domain::One;
  NameScope scope(*this);
  if (isSorted && !total.getSorted()) {
    body.openBlock();
    declareTotal(total, slotOf(total));
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
  std::string row = cpp::levelName(kernel.getDomain());
  body.open("for (int64_t " + row + " = first; " + row + " < last; ++" + row + ")");
  body.line("if (cpu::isZero(" + right.name + " + (" + row + " - first) * " + std::to_string(right.size) + ", " +
            std::to_string(right.size) + "))");
  body.indented("continue;");
  declareTotal(total, slotOf(total));
  call("(" + row + " - first)", "1", accs.at(outer.getTotal()).names.front());
  body.close();
}

//===- Totals ----------------------------------------------------------------------------------------------------===//

/// Which of its rows a total that is not sorted takes from the current row.
std::string KernelWriter::slotOf(kern::TotalOp total) {
  Domain target = total.getTable().getType().getDomain();
  if (target == Domain::One)
    return "piece";
  return "piece * " + count(target) + " + " + pathTo(total.getLevel(), total.getPath());
}

/// Declares the row of a total at `slot`, under the name by which steps know it.
void KernelWriter::declareTotal(kern::TotalOp total, const std::string &slot) {
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  size_t number = static_cast<size_t>(llvm::find(totals, total) - totals.begin());
  std::string name = unique(tables.at(total.getTable()) + "_part");
  std::string type = numberName(element);
  body.line(type + " *" + name + " = cpu::totalRow<" + type + ">(frame.totals[" + std::to_string(number) + "], " +
            std::to_string(facts.totals[number].rowBytes) + ", " + slot + ");");
  Acc acc;
  acc.names = {name};
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

/// Declares the row of a total at `slot`, and starts it.
void KernelWriter::startTotal(kern::TotalOp total, const std::string &slot) {
  declareTotal(total, slot);
  Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
  const Acc &acc = accs.at(total.getResult());
  body.line("cpu::fill<" + numberName(element) + ">(" + acc.names.front() + ", " +
            bare(startOf(total.getKind(), element)) + ", " + std::to_string(kern::rowSize(row)) + ");");
  if (!acc.count.empty())
    body.line(acc.count + " = 0;");
  if (!acc.distance.empty()) {
    Type compared = comparedType(total.getResult());
    body.line("cpu::fill<" + numberName(compared) + ">(" + acc.distance + ", " + bare(literal(HUGE_VAL, compared)) +
              ", " + std::to_string(kern::rowSize(row)) + ");");
  }
}

/// Starts the totals that are not sorted: a piece may step any of their rows.
void KernelWriter::writeTotals() {
  for (kern::TotalOp total : totals) {
    if (total.getSorted())
      continue;
    std::string targets = count(total.getTable().getType().getDomain());
    NameScope scope(*this);
    body.open("for (int64_t target = 0; target < " + targets + "; ++target)");
    startTotal(total, "piece * " + targets + " + target");
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
  out.comment("Joins what the pieces of " + symbol + " left for " + table + ".");
  out.open("HECTOR_KERNEL void " + symbol + "_join" + std::to_string(number) +
           "(const cpu::Frame &frame, int64_t begin, int64_t end)");
  out.line(type + " *" + table + " = cpu::table<" + type + ">(frame, " + index + ");");
  for (Value init : total.getInit()) {
    std::string stored = cpp::storageName(space, mlir::cast<RowsType>(init.getType()).getElementType());
    out.line("const " + stored + " *" + tables.at(init) + " = cpu::table<const " + stored + ">(frame, " +
             std::to_string(mlir::cast<mlir::BlockArgument>(init).getArgNumber()) + ");");
  }
  if (total.getSorted()) {
    std::string name = exec::formName({.kind = FormKind::Types, .types = cpp::typedRows(kernel.getDomain())});
    size_t place = static_cast<size_t>(llvm::find(formNames, name) - formNames.begin());
    out.line("const Id *types = cpu::form<Id>(frame, " + std::to_string(place) + ");");
  }
  out.open("for (int64_t target = begin; target < end; ++target)");
  out.line(type + " *row = " + table + " + target * " + size + ";");
  const bool isNearest = kind == AccKind::Nearest;
  std::string each = "for (int64_t k = 0; k < " + size + "; ++k)";
  if (isNearest) {
    // Number by number, since distances are kept apart from the table.
    Type compared = comparedType(total.getResult());
    out.open(each);
    out.line("int64_t nearest = -1;");
    out.line(numberName(compared) + " distance = " + bare(literal(HUGE_VAL, compared)) + ";");
  } else {
    out.line("cpu::fill<" + type + ">(row, " + bare(startOf(kind, element)) + ", " + size + ");");
  }
  if (cpp::needsCount(kind))
    out.line("int64_t count = 0;");
  if (total.getSorted()) {
    out.line("const int64_t firstRow = types[target], lastRow = types[target + 1];");
    out.open(
        "for (int64_t piece = firstRow / frame.grain; piece * frame.grain < lastRow && firstRow < lastRow; ++piece)");
    out.line("const " + type + " *part = " + parts + "piece + target);");
  } else {
    out.open("for (int64_t piece = 0; piece < frame.pieces; ++piece)");
    out.line("const " + type + " *part = " + parts + "piece * " + count(target) + " + target);");
  }
  if (isNearest) {
    std::string compared = numberName(comparedType(total.getResult()));
    out.line("cpu::takeNearer(nearest, distance, part[k], reinterpret_cast<const " + compared + " *>(part + " + size +
             ")[k]);");
  } else {
    out.line(each);
    out.indented(cpp::taking(space, kind, "row[k]", "part[k]"));
  }
  if (cpp::needsCount(kind))
    out.line("count += *reinterpret_cast<const int64_t *>(part + " +
             std::to_string(cpp::countPlace(kern::rowSize(row), element)) + ");");
  out.close();
  auto initAt = [&](unsigned i) { return tables.at(total.getInit()[i]) + "[target * " + size + " + k]"; };
  switch (kind) {
  case AccKind::Sum:
    break;
  case AccKind::Mean:
    out.line(each);
    out.indented("row[k] = count == 0 ? row[k] : row[k] / static_cast<" + type + ">(count);");
    break;
  case AccKind::Max:
  case AccKind::Min: {
    out.line(each);
    std::string choose = kind == AccKind::Max ? "cpu::larger(" : "cpu::smaller(";
    if (total.getInit().empty())
      out.indented("row[k] = count == 0 ? " + literal(0, element) + " : row[k];");
    else
      out.indented("row[k] = count == 0 ? " + initAt(0) + " : " + choose + initAt(0) + ", row[k]);");
    break;
  }
  case AccKind::Nearest:
    if (total.getInit().empty())
      out.line("row[k] = nearest;");
    else
      out.line("row[k] = cpu::distance(" + initAt(0) + ", " + initAt(1) + ") <= distance ? -1 : nearest;");
    out.close();
    break;
  }
  out.close();
  out.close();
}

}  // namespace hector
