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

//===- Names -----------------------------------------------------------------------------------------------------===//

/// `base` as a word of C++.
static std::string asWord(llvm::StringRef base) {
  std::string name;
  for (char c : base)
    name += llvm::isAlnum(c) ? c : '_';
  return name.empty() || llvm::isDigit(name.front()) ? "t" + name : name;
}

std::string KernelWriter::uniqueInKernel(llvm::StringRef base) {
  std::string name = asWord(base), candidate = name;
  for (int i = 2; !taken.insert(candidate).second; ++i)
    candidate = name + "_" + std::to_string(i);
  return candidate;
}

std::string KernelWriter::unique(llvm::StringRef base) {
  // Next to a table `att`, its current row is `att_edge`.
  std::string name = asWord(base);
  if (taken.contains(name) && !levels.empty())
    name += "_" + cpp::levelName(levels.back());
  name = uniqueInKernel(name);
  scopes.back().push_back(name);
  return name;
}

KernelWriter::NameScope::~NameScope() {
  for (const std::string &name : writer.scopes.back())
    writer.taken.erase(name);
  writer.scopes.pop_back();
}

std::string KernelWriter::baseOf(mlir::Location location, llvm::StringRef otherwise) {
  llvm::StringRef name = flow::tableName(location);
  return (name.empty() ? otherwise : name).str();
}

std::string KernelWriter::form(llvm::StringRef name) {
  auto [slot, isNew] = formVariables.try_emplace(name);
  if (isNew) {
    slot->second = uniqueInKernel(name);
    formNames.push_back(name.str());
    facts.forms.push_back(*exec::formFromName(std::string_view(name)));
  }
  return slot->second;
}

std::string KernelWriter::pathTo(Domain level, mlir::ArrayAttr path) {
  std::string place = level == Domain::One ? "0" : cpp::levelName(level);
  for (mlir::StringAttr name : path.getAsRange<mlir::StringAttr>())
    place = form(name.getValue()) + "[" + place + "]";
  return place;
}

std::string KernelWriter::count(Domain domain) const {
  return std::string("frame.rows[") + cpp::domainConstant(domain) + "]";
}

std::string KernelWriter::offsetsForm(Domain outer, Domain domain) {
  Side side = kernel.getLoop() == flow::Loop::BySrc ? Side::Source : Side::Destination;
  FormKind kind = outer != Domain::Node    ? FormKind::PlaceEdges
                  : domain == Domain::Edge ? FormKind::Edges
                                           : FormKind::Places;
  return exec::formName({.kind = kind, .side = side});
}

std::string KernelWriter::offsetsName(Domain outer, Domain domain) {
  return form(offsetsForm(outer, domain));
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
  std::string row = cpp::levelName(loop.getDomain());
  std::string begin = "begin", end = "end";
  Operation *around = loop->getParentOp();
  if (auto outer = mlir::dyn_cast<kern::ForOp>(around)) {
    std::string offsets = offsetsName(outer.getDomain(), loop.getDomain()), at = cpp::levelName(outer.getDomain());
    begin = offsets + "[" + at + "]";
    end = offsets + "[" + at + " + 1]";
  } else if (mlir::isa<kern::TileOp>(around)) {
    begin = "first";
    end = "last";
  }
  NameScope scope(*this);
  body.open("for (int64_t " + row + " = " + begin + "; " + row + " < " + end + "; ++" + row + ")");
  levels.push_back(loop.getDomain());
  writeBody(loop.getBody().front());
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
  if (height) {
    std::string step = std::to_string(*height);
    body.open("for (int64_t first = " + begin + "; first < " + end + "; " +
              (*height == 1 ? "++first" : "first += " + step) + ")");
    body.line("const int64_t last = " +
              (*height == 1 ? "first + 1" : "cpu::smallest(first + " + step + ", " + end + ")") + ";");
    // A matrix may be that of the single row.
    if (llvm::any_of(block.getOps<kern::ProductOp>(),
                     [&](kern::ProductOp product) { return product.getLevel() == tile.getDomain(); }))
      body.line("const int64_t " + cpp::levelName(tile.getDomain()) + " = first;");
  } else {
    body.line("const int64_t first = " + begin + ", last = " + end + ";");
  }
  writeBody(block);
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
  if (auto put = mlir::dyn_cast<kern::PutOp>(op))
    return writePut(put);
  if (auto get = mlir::dyn_cast<kern::GetOp>(op))
    return writeGet(get);
  if (auto constant = mlir::dyn_cast<kern::ConstantOp>(op)) {
    rows[constant.getResult()] = {
        .name = cpp::literal(constant.getValue().convertToDouble(), kern::elementType(constant.getResult().getType()))};
  }
}

//===- The kernel ------------------------------------------------------------------------------------------------===//

/// Names that generated code has for itself, and words of C++.
static constexpr const char *kReserved[] = {
    "begin", "count", "cpu", "end", "first", "fixed", "frame", "from", "head", "hector", "isMatch", "isTaken", "k",
    "firstRow", "last", "lastRow", "part", "piece", "r", "row", "scratch", "space", "target", "types", "Id",
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

void KernelWriter::nameTables() {
  for (const char *name : kReserved)
    taken.insert(name);
  for (int i = 0; i < 8; ++i) {
    taken.insert("k" + std::to_string(i));
    taken.insert("r" + std::to_string(i));
  }
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    tables[argument] = uniqueInKernel(baseOf(argument.getLoc(), isRead ? "in" : "out"));
    facts.tables.push_back(tables[argument]);
  }
}

void KernelWriter::noteTotals() {
  for (auto total : kernel.getBody().getOps<kern::TotalOp>()) {
    Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
    int64_t bytes = kern::rowSize(row) * cpp::numberBytes(element);
    if (cpp::needsCount(total.getKind()))
      bytes = cpp::countPlace(kern::rowSize(row), element) * cpp::numberBytes(element) + 8;
    totals.push_back(total);
    facts.totals.push_back({.slots = total.getSorted() ? exec::TotalSpec::Slots::Sorted : exec::TotalSpec::Slots::Full,
                            .target = static_cast<exec::Domain>(total.getTable().getType().getDomain()),
                            .rowBytes = cpp::roundUp(bytes, 64)});
  }
}

void KernelWriter::noteUnits() {
  for (Operation &op : kernel.getBody().front()) {
    if (auto loop = mlir::dyn_cast<kern::ForOp>(op)) {
      facts.unit = loop.getDomain();
      if (flow::isTraversal(kernel.getLoop()) && facts.unit != kernel.getDomain())
        facts.balance = exec::formFromName(offsetsForm(facts.unit, kernel.getDomain()));
    } else if (auto tile = mlir::dyn_cast<kern::TileOp>(op)) {
      facts.unit = tile.getDomain();
    }
  }
  double cost = 1;
  kernel.walk([&](Operation *op) {
    if (auto map = mlir::dyn_cast<kern::MapOp>(op))
      cost += static_cast<double>(cpp::product(map.getSizes()) * cpp::product(map.getReduced()));
    else if (auto load = mlir::dyn_cast<kern::LoadOp>(op))
      cost += static_cast<double>(kern::rowSize(load.getResult().getType()));
    else if (auto multiplied = mlir::dyn_cast<kern::ProductOp>(op))
      cost += static_cast<double>(multiplied.getHeads() * multiplied.getInner() * multiplied.getOuter());
    else if (auto outer = mlir::dyn_cast<kern::OuterOp>(op))
      cost += static_cast<double>(outer.getHeads() * outer.getInner() * outer.getOuter());
  });
  facts.unitCost = cost;
}

/// What a person wants to know before reading the loops.
void KernelWriter::writeSummary(Writer &out) {
  std::string where = sourceLines(kernel);
  out.line("// " + flow::stringifyLoop(kernel.getLoop()).str() + " " + cpp::levelName(kernel.getDomain()) +
           (where.empty() ? "" : ", " + where));
  for (const std::string &line : summarize(kernel, [&](Value table) { return tables.at(table); }))
    out.line("//   " + line);
}

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
    std::string name = (isRead ? "const " : "") + cpp::storageName(type.getElementType());
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
