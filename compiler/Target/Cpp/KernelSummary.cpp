#include "compiler/Target/Cpp/KernelSummary.h"

#include <cstdio>
#include <map>
#include <set>

namespace hector {

using kern::Fn;
using mlir::Operation;
using mlir::Value;

namespace {

/// A line longer than this is shortened, as long as that helps.
constexpr size_t kLength = 100;
constexpr int kDepth = 5;
constexpr size_t kLines = 8;

const char *infix(Fn fn) {
  switch (fn) {
  case Fn::Add:
    return " + ";
  case Fn::Sub:
    return " - ";
  case Fn::Mul:
    return " * ";
  case Fn::Div:
    return " / ";
  case Fn::Less:
    return " < ";
  case Fn::LessEqual:
    return " <= ";
  case Fn::Equal:
    return " == ";
  default:
    return nullptr;
  }
}

class Summary {
public:
  explicit Summary(llvm::function_ref<std::string(Value)> tableName) : tableName(tableName) {}

  /// How the rows of an output are computed.
  std::string ofTable(Value table, int depth) {
    for (Operation *user : table.getUsers()) {
      if (auto store = mlir::dyn_cast<kern::StoreOp>(user))
        return bare(ofRow(store.getRow(), depth, /*isWhole=*/true));
      if (auto total = mlir::dyn_cast<kern::TotalOp>(user))
        return ofTotal(total, depth);
    }
    return "...";
  }

private:
  std::string ofTotal(kern::TotalOp total, int depth) {
    std::string rows = "...";
    for (Operation *user : total.getResult().getUsers()) {
      if (auto step = mlir::dyn_cast<kern::StepOp>(user))
        rows = bare(ofRow(step.getRows().front(), depth));
      else if (auto outer = mlir::dyn_cast<kern::OuterOp>(user))
        rows = "outer(" + bare(ofBuffer(outer.getLeft(), depth)) + ", " + bare(ofBuffer(outer.getRight(), depth)) + ")";
    }
    return stringifyAccKind(total.getKind()).str() + "(" + rows + ") per " +
           flow::stringifyDomain(total.getTable().getType().getDomain()).str();
  }

  std::string ofBuffer(Value buffer, int depth) {
    for (Operation *user : buffer.getUsers()) {
      if (auto put = mlir::dyn_cast<kern::PutOp>(user))
        return ofRow(put.getRow(), depth);
      if (auto product = mlir::dyn_cast<kern::ProductOp>(user); product && product.getResult() == buffer) {
        std::string matrix = tableName(product.getWeights());
        return "product(" + bare(ofBuffer(product.getRows(), depth)) + ", " +
               (product.getTransposed() ? "transposed " : "") + matrix + ")";
      }
    }
    return "...";
  }

  /// `isWhole`: what is computed, even if it has a name.
  std::string ofRow(Value row, int depth, bool isWhole = false) {
    Operation *op = row.getDefiningOp();
    if (auto load = mlir::dyn_cast_or_null<kern::LoadOp>(op))
      return tableName(load.getTable());
    if (auto number = mlir::dyn_cast_or_null<kern::ConstantOp>(op)) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", number.getValue().convertToDouble());
      return text;
    }
    // What is written to a table is called by the table's name.
    for (Operation *user : row.getUsers())
      if (auto store = mlir::dyn_cast<kern::StoreOp>(user); store && !isWhole)
        return tableName(store.getTable());
    if (auto get = mlir::dyn_cast_or_null<kern::GetOp>(op))
      return ofBuffer(get.getBuffer(), depth);
    if (!op || depth == 0)
      return "...";
    if (auto map = mlir::dyn_cast<kern::MapOp>(op))
      return ofMap(map, depth);
    if (auto finish = mlir::dyn_cast<kern::FinishOp>(op))
      return ofFinish(finish, depth);
    return call(op->getName().stripDialect(), op->getOperands(), depth);
  }

  std::string ofMap(kern::MapOp map, int depth) {
    if (map.getFn() == Fn::Copy && !map.getCombine())
      return ofRow(map.getOperand(0), depth);
    bool isProduct = map.getFn() == Fn::Mul || map.getFn() == Fn::Chain;
    bool isCombined = llvm::any_of(map.getReduced(), [](int64_t size) { return size > 1; });
    if (isProduct && isCombined && map.getCombine() == flow::ReduceKind::Sum)
      return call("dot", map.getOperands(), depth);
    std::string text;
    if (const char *sign = infix(map.getFn()))
      text = "(" + ofRow(map.getOperand(0), depth - 1) + sign + ofRow(map.getOperand(1), depth - 1) + ")";
    else
      text = call(stringifyFn(map.getFn()), map.getOperands(), depth);
    if (!isCombined)
      return text;
    return flow::stringifyReduceKind(*map.getCombine()).str() + "(" + bare(text) + ")";
  }

  std::string ofFinish(kern::FinishOp finish, int depth) {
    std::string kind = "fold";
    if (auto acc = finish.getAcc().getDefiningOp<kern::AccOp>())
      kind = stringifyAccKind(acc.getKind()).str();
    for (Operation *user : finish.getAcc().getUsers())
      if (auto step = mlir::dyn_cast<kern::StepOp>(user))
        return call(kind, step.getRows(), depth);
    return kind;
  }

  std::string call(llvm::StringRef name, mlir::ValueRange operands, int depth) {
    std::string text = name.str() + "(";
    for (auto [i, operand] : llvm::enumerate(operands))
      text += (i == 0 ? "" : ", ") + bare(ofRow(operand, depth - 1));
    return text + ")";
  }

  /// Without the parentheses of a sum or product.
  static std::string bare(const std::string &text) {
    return text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
  }

  llvm::function_ref<std::string(Value)> tableName;
};

}  // namespace

std::vector<std::string> summarize(kern::KernelOp kernel, llvm::function_ref<std::string(Value)> tableName) {
  std::vector<std::string> lines;
  Summary summary(tableName);
  for (mlir::BlockArgument table :
       kernel.getBody().getArguments().drop_front(static_cast<size_t>(kernel.getInputs()))) {
    if (lines.size() == kLines) {
      lines.push_back("...");
      break;
    }
    std::string line;
    for (int depth = kDepth; depth > 0 && (line.empty() || line.size() > kLength); --depth)
      line = tableName(table) + " = " + summary.ofTable(table, depth);
    lines.push_back(line.size() > kLength ? tableName(table) + " = ..." : line);
  }
  return lines;
}

namespace {

using Lines = std::map<std::string, std::set<unsigned>>;

/// Notes where code comes from: for the body of a function, the line of the model that calls it.
void noteLines(mlir::Location location, Lines &lines) {
  if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(location)) {
    llvm::StringRef name = file.getFilename().getValue();
    if (file.getLine() > 0)
      lines[name.substr(name.find_last_of('/') + 1).str()].insert(file.getLine());
  } else if (auto named = mlir::dyn_cast<mlir::NameLoc>(location)) {
    noteLines(named.getChildLoc(), lines);
  } else if (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    noteLines(call.getCaller(), lines);
  } else if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations())
      noteLines(part, lines);
  }
}

}  // namespace

std::string sourceLines(kern::KernelOp kernel) {
  Lines lines;
  kernel.walk([&](Operation *op) { noteLines(op->getLoc(), lines); });
  std::string text;
  for (const auto &[file, numbers] : lines) {
    text += (text.empty() ? "" : "; ") + file + ":";
    size_t count = 0;
    for (unsigned number : numbers) {
      text += (count == 0 ? "" : ", ") + (count == kLines ? std::string("...") : std::to_string(number));
      if (++count > kLines)
        break;
    }
  }
  return text;
}

}  // namespace hector
