#include "compiler/Target/Cpp/KernelWriter.h"

#include "compiler/Target/Cpp/KernelSummary.h"
#include "compiler/Target/Cpp/Text.h"

#include <llvm/ADT/StringExtras.h>

namespace hector {

using exec::FormKind;
using exec::Side;
using flow::Domain;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

/// Rows of a block of products: `cpu::kBlockRows`.
static constexpr int64_t kBlockRows = 4;

std::string KernelWriter::count(Domain domain) const {
  return "frame.rows[" + space + cpp::domainConstant(domain) + "]";
}

//===- Loops -----------------------------------------------------------------------------------------------------===//

void KernelWriter::writeBody(mlir::Block &block) {
  if (llvm::any_of(block, llvm::IsaPred<kern::BufferOp>)) {
    body.line("cpu::Scratch space = fixed;");
    usesScratch = true;
  }
  writeBlock(block);
}

void KernelWriter::writeFor(kern::ForOp loop) {
  // Nothing may be left of a loop that only copies.
  if (llvm::all_of(loop.getBody().front(),
                   [&](Operation &op) { return leftOut.contains(&op) || mlir::isa<kern::GetOp, kern::LoadOp>(op); }))
    return;
  std::string row = cpp::levelName(loop.getDomain());
  std::string begin = "begin", end = "end";
  Operation *around = loop->getParentOp();
  if (auto outer = mlir::dyn_cast<kern::ForOp>(around)) {
    std::string offsets = offsetsName(outer.getDomain(), loop.getDomain()), at = cpp::levelName(outer.getDomain());
    begin = offsets + "[" + at + "]";
    end = offsets + "[" + at + " + 1]";
  } else if (mlir::isa<kern::TileOp>(around)) {
    begin = tileBegin;
    end = tileEnd;
  }
  if (isSideBySide(loop))
    return writeSideBySide(loop, begin, end);
  NameScope scope(*this);
  body.open("for (int64_t " + row + " = " + begin + "; " + row + " < " + end + "; ++" + row + ")");
  levels.push_back(loop.getDomain());
  writeBody(loop.getBody().front());
  writeBlockEnds(loop);
  levels.pop_back();
  body.close();
}

void KernelWriter::writeTile(kern::TileOp tile) {
  std::optional<int64_t> height = tile.getHeight();
  std::string begin = "begin", end = "end";
  mlir::Block &block = tile.getBody().front();
  NameScope scope(*this);
  if (tile.getType()) {
    std::string name = exec::formName({.kind = FormKind::Types, .types = cpp::typedRows(tile.getDomain())});
    std::string type = cpp::levelName(*tile.getType());
    body.open("for (cpu::Segments<Id> part(" + form(name) + ", " + count(*tile.getType()) +
              ", begin, end); part.next();)");
    body.line("const int64_t " + type + " = part.type;");
    begin = "part.first";
    end = "part.last";
    for (kern::TotalOp total : totals)
      if (total.getSorted())
        startTotal(total, "piece + " + type);
  }
  for (auto product : block.getOps<kern::ProductOp>())
    if (product.getLevel() == Domain::One || product.getLevel() == tile.getType())
      prepareWeights(product);
  if (height) {
    std::string step = std::to_string(*height);
    body.open("for (int64_t first = " + begin + "; first < " + end + "; " +
              (*height == 1 ? "++first" : "first += " + step) + ")");
    body.line("const int64_t last = " +
              (*height == 1 ? "first + 1" : "cpu::smallest(first + " + step + ", " + end + ")") + ";");
    // A matrix may be that of the single row.
    if (tile.getDomain() != Domain::One && llvm::any_of(block.getOps<kern::ProductOp>(), [&](kern::ProductOp product) {
          return product.getLevel() == tile.getDomain();
        }))
      body.line("const int64_t " + cpp::levelName(tile.getDomain()) + " = first;");
  } else {
    body.line("const int64_t first = " + begin + ", last = " + end + ";");
  }
  if (height && *height > kBlockRows && !block.getOps<kern::OuterOp>().empty())
    writeTallTile(block);
  else
    writeBody(block);
  if (height)
    body.close();
  if (tile.getType())
    body.close();
}

/// A tile in parts of as many rows as a block of products has: each part is read, multiplied and written before the
/// next. Sums of outer products take all rows together.
void KernelWriter::writeTallTile(mlir::Block &block) {
  auto isInPart = llvm::IsaPred<kern::ForOp, kern::ProductOp>;
  body.line("cpu::Scratch space = fixed;");
  usesScratch = true;
  for (Operation &op : block)
    if (!isInPart(op) && !mlir::isa<kern::OuterOp>(op))
      writeOp(op);
  const std::string step = std::to_string(kBlockRows);
  body.open("for (int64_t from = first; from < last; from += " + step + ")");
  body.line("const int64_t to = cpu::smallest(from + " + step + ", last);");
  tileBegin = "from";
  tileEnd = "to";
  for (Operation &op : block)
    if (isInPart(op))
      writeOp(op);
  tileBegin = "first";
  tileEnd = "last";
  body.close();
  for (Operation &op : block)
    if (mlir::isa<kern::OuterOp>(op))
      writeOp(op);
}

void KernelWriter::writeConstant(kern::ConstantOp constant) {
  rows[constant.getResult()] = {
      .name = literal(constant.getValue().convertToDouble(), kern::elementType(constant.getResult().getType()))};
}

//===- The kernel ------------------------------------------------------------------------------------------------===//

void KernelWriter::write(Writer &out) {
  nameTables();
  noteTotals();
  NameScope scope(*this);
  body.indent(1);
  writeTotals();
  writeBlock(kernel.getBody().front());
  noteUnits();

  writeSummary(out);
  out.open("HECTOR_KERNEL void " + symbol + "(const cpu::Frame &frame, int64_t begin, int64_t end, int64_t" +
           (totals.empty() ? "" : " piece") + ", void *" + (usesScratch ? "scratch" : "") + ")");
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = mlir::cast<flow::RowsType>(argument.getType());
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    if (argument.use_empty() || llvm::all_of(argument.getUsers(), llvm::IsaPred<kern::TotalOp>))
      continue;
    std::string name = (isRead ? "const " : "") + cpp::storageName(space, type.getElementType());
    out.line(name + " *" + tables[argument] + " = cpu::table<" + name + ">(frame, " +
             std::to_string(argument.getArgNumber()) + ");  // " + cpp::levelName(type.getDomain()) + ", " +
             flow::formatRow(type));
  }
  for (auto [i, name] : llvm::enumerate(formNames))
    out.line("const Id *" + formVariables[name] + " = cpu::form<Id>(frame, " + std::to_string(i) + ");");
  if (usesScratch)
    out.line("cpu::Scratch fixed(scratch);");
  for (const std::string &line : prologue)
    out.line(line);
  out.append(body);
  out.close();
  for (auto [i, total] : llvm::enumerate(totals))
    writeJoin(out, total, static_cast<unsigned>(i));
}

}  // namespace hector
