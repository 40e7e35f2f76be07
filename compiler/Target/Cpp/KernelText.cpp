#include "compiler/Target/Cpp/KernelText.h"

#include "compiler/Target/Cpp/Enums.h"
#include "compiler/Target/Cpp/KernelSummary.h"
#include "compiler/Target/Cpp/Text.h"

#include <llvm/ADT/StringExtras.h>

namespace hector {

using cpp::bare;
using cpp::numberName;
using exec::FormKind;
using exec::Side;
using flow::Domain;
using kern::Fn;
using mlir::Operation;
using mlir::Type;
using mlir::Value;

//===- Names -----------------------------------------------------------------------------------------------------===//

std::string KernelText::uniqueInKernel(llvm::StringRef base) {
  return cpp::uniqueName(taken, base);
}

std::string KernelText::unique(llvm::StringRef base) {
  // Next to a table `att`, its current row is `att_edge`.
  std::string name = cpp::asWord(base);
  if (taken.contains(name) && !levels.empty())
    name += "_" + cpp::levelName(levels.back());
  name = uniqueInKernel(name);
  scopes.back().push_back(name);
  return name;
}

KernelText::NameScope::~NameScope() {
  for (const std::string &name : writer.scopes.back())
    writer.taken.erase(name);
  writer.scopes.pop_back();
}

std::string KernelText::baseOf(mlir::Location location, llvm::StringRef otherwise) {
  llvm::StringRef name = flow::tableName(location);
  return (name.empty() ? otherwise : name).str();
}

std::string KernelText::form(llvm::StringRef name) {
  auto [slot, isNew] = formVariables.try_emplace(name);
  if (isNew) {
    slot->second = uniqueInKernel(name);
    formNames.push_back(name.str());
    facts.forms.push_back(*exec::formFromName(std::string_view(name)));
  }
  return slot->second;
}

std::string KernelText::pathTo(Domain level, mlir::ArrayAttr path) {
  return pathFrom(level == Domain::One ? "0" : cpp::levelName(level), path);
}

std::string KernelText::pathFrom(std::string place, mlir::ArrayAttr path) {
  for (mlir::StringAttr name : path.getAsRange<mlir::StringAttr>())
    place = form(name.getValue()) + "[" + place + "]";
  return place;
}

std::string KernelText::offsetsForm(Domain outer, Domain domain) {
  Side side = kernel.getLoop() == flow::Loop::BySrc ? Side::Source : Side::Destination;
  FormKind kind = outer != Domain::Node    ? FormKind::PlaceEdges
                  : domain == Domain::Edge ? FormKind::Edges
                                           : FormKind::Places;
  return exec::formName({.kind = kind, .side = side});
}

std::string KernelText::offsetsName(Domain outer, Domain domain) {
  return form(offsetsForm(outer, domain));
}

/// The start of a row of a table.
std::string KernelText::rowAt(const std::string &table, Domain level, mlir::ArrayAttr path, int64_t size) {
  if (level == Domain::One && path.empty())
    return table;
  // Index arrays may have 32 bits an entry, which a table's offsets need not fit.
  std::string place = pathTo(level, path);
  return table + " + " + cpp::times(path.empty() ? place : "int64_t{" + place + "}", size);
}

/// What the rows of a buffer are called: by their own name, or by what they come from.
std::string KernelText::bufferBase(kern::BufferOp buffer) {
  std::string otherwise = "row";
  for (Operation *user : buffer.getResult().getUsers()) {
    if (auto product = mlir::dyn_cast<kern::ProductOp>(user); product && product.getResult() == buffer.getResult())
      otherwise = "product";
    auto put = mlir::dyn_cast<kern::PutOp>(user);
    Operation *source = put ? put.getRow().getDefiningOp() : nullptr;
    if (auto load = mlir::dyn_cast_or_null<kern::LoadOp>(source))
      otherwise = tables.at(load.getTable());
    else if (auto map = mlir::dyn_cast_or_null<kern::MapOp>(source))
      otherwise = stringifyFn(map.getFn());
  }
  return baseOf(buffer.getLoc(), otherwise);
}

Type KernelText::comparedType(Value acc) {
  for (Operation *user : acc.getUsers())
    if (auto step = mlir::dyn_cast<kern::StepOp>(user))
      return kern::elementType(step.getRows().front().getType());
  return mlir::Float32Type::get(acc.getContext());
}

//===- Formulas --------------------------------------------------------------------------------------------------===//

std::string KernelText::apply(kern::MapOp map, const std::vector<std::string> &in, const std::string &offset) {
  Type element = kern::elementType(map.getResult().getType());
  auto infix = [&](const char *op) { return "(" + in[0] + " " + op + " " + in[1] + ")"; };
  auto call = [&](const char *name) {
    std::string text = space + name + "(";
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
    return space + "leakyRelu(" + bare(in[0]) + ", " + bare(literal(map.getParameter()->convertToDouble(), element)) +
           ")";
  case Fn::Select:
    return call("choose");
  case Fn::Dropout: {
    std::string kept = bare(literal(1.0 - map.getParameter()->convertToDouble(), element));
    return "(!" + isTraining() + " ? " + in[0] + " : " + dropped(map, in[1], offset) + " ? " + literal(0, element) +
           " : " + in[0] + " / " + kept + ")";
  }
  }
  return "";
}

//===- Ops -------------------------------------------------------------------------------------------------------===//

void KernelText::writeBlock(mlir::Block &block) {
  for (Operation &op : block)
    writeOp(op);
}

void KernelText::writeOp(Operation &op) {
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
  if (auto constant = mlir::dyn_cast<kern::ConstantOp>(op))
    return writeConstant(constant);
  assert(mlir::isa<kern::TotalOp>(op) && "only totals are written elsewhere");
}

//===- The kernel ------------------------------------------------------------------------------------------------===//

void KernelText::nameTables() {
  taken = cpp::reservedNames();
  for (int i = 0; i < 8; ++i) {
    taken.insert("k" + std::to_string(i));
    taken.insert("r" + std::to_string(i));
  }
  size_t numTotals = 0;
  for ([[maybe_unused]] auto total : kernel.getBody().getOps<kern::TotalOp>())
    taken.insert("totals" + std::to_string(numTotals++));
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    bool isRead = argument.getArgNumber() < kernel.getInputs();
    tables[argument] = uniqueInKernel(baseOf(argument.getLoc(), isRead ? "in" : "out"));
    facts.tables.push_back(tables[argument]);
  }
}

void KernelText::noteTotals() {
  for (auto total : kernel.getBody().getOps<kern::TotalOp>()) {
    Type row = total.getResult().getType().getRows().front(), element = kern::elementType(row);
    int64_t bytes = kern::rowSize(row) * cpp::numberBytes(element);
    if (cpp::needsCount(total.getKind()))
      bytes = cpp::countPlace(kern::rowSize(row), element) * cpp::numberBytes(element) + 8;
    if (total.getKind() == kern::AccKind::Nearest)
      bytes += kern::rowSize(row) * cpp::numberBytes(comparedType(total.getResult()));
    totals.push_back(total);
    facts.totals.push_back(
        {.slots = total.getSorted() ? exec::TotalSpec::Slots::Sorted : exec::TotalSpec::Slots::Full,
         .target = cpp::planDomain(total.getTable().getType().getDomain()),
         .rowBytes = cpp::roundUp(bytes, 64),
         .output =
             static_cast<int>(mlir::cast<mlir::BlockArgument>(total.getTable()).getArgNumber() - kernel.getInputs())});
  }
}

void KernelText::noteUnits() {
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
void KernelText::writeSummary(Writer &out) {
  std::string where = sourceLines(kernel);
  out.comment(flow::stringifyLoop(kernel.getLoop()).str() + " " + cpp::levelName(kernel.getDomain()) +
              (where.empty() ? "" : ", " + where));
  for (const std::string &line : summarize(kernel, [&](Value table) { return tables.at(table); }))
    out.comment("  " + line);
}

}  // namespace hector
