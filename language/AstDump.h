/// Prints syntax trees as s-expressions, for tests only.
#pragma once

#include "language/Ast.h"

#include <sstream>
#include <string>

namespace hector::language {

inline std::string dump(const ExprPtr &expr);

inline std::string dump(const Expr &expr) {
  std::string text;
  auto list = [](std::string_view head, auto &&...parts) {
    return "(" + std::string(head) + ((" " + std::string(parts)) + ...) + ")";
  };
  switch (expr.kind) {
  case ExprKind::Name:
    return as<NameExpr>(expr)->name;
  case ExprKind::Integer:
    return std::to_string(as<IntegerExpr>(expr)->value);
  case ExprKind::Float: {
    std::ostringstream stream;
    stream << as<FloatExpr>(expr)->value << "f";
    return stream.str();
  }
  case ExprKind::String:
    return "\"" + as<StringExpr>(expr)->value + "\"";
  case ExprKind::Boolean:
    return as<BooleanExpr>(expr)->value ? "True" : "False";
  case ExprKind::None:
    return "None";
  case ExprKind::Attribute:
    return list(".", dump(as<AttributeExpr>(expr)->base), as<AttributeExpr>(expr)->name);
  case ExprKind::Subscript:
    return list("[]", dump(as<SubscriptExpr>(expr)->base), dump(as<SubscriptExpr>(expr)->index));
  case ExprKind::Slice:
    return list(":", dump(as<SliceExpr>(expr)->begin), dump(as<SliceExpr>(expr)->end));
  case ExprKind::Call:
    text = "(call " + dump(as<CallExpr>(expr)->callee);
    for (const ExprPtr &argument : as<CallExpr>(expr)->arguments)
      text += " " + dump(argument);
    for (const Keyword &keyword : as<CallExpr>(expr)->keywords)
      text += " " + keyword.name + "=" + dump(keyword.value);
    return text + ")";
  case ExprKind::Unary:
    return list(spelling(as<UnaryExpr>(expr)->op), dump(as<UnaryExpr>(expr)->operand));
  case ExprKind::Binary:
    return list(spelling(as<BinaryExpr>(expr)->op), dump(as<BinaryExpr>(expr)->left),
                dump(as<BinaryExpr>(expr)->right));
  case ExprKind::Compare:
    return list(spelling(as<CompareExpr>(expr)->op), dump(as<CompareExpr>(expr)->left),
                dump(as<CompareExpr>(expr)->right));
  case ExprKind::Logical:
    return list(spelling(as<LogicalExpr>(expr)->op), dump(as<LogicalExpr>(expr)->left),
                dump(as<LogicalExpr>(expr)->right));
  case ExprKind::Conditional:
    return list("if", dump(as<ConditionalExpr>(expr)->condition), dump(as<ConditionalExpr>(expr)->then),
                dump(as<ConditionalExpr>(expr)->otherwise));
  case ExprKind::Generator:
    return list("gen", dump(as<GeneratorExpr>(expr)->body), as<GeneratorExpr>(expr)->variable,
                dump(as<GeneratorExpr>(expr)->iterator), dump(as<GeneratorExpr>(expr)->condition));
  case ExprKind::Tuple:
    text = "(tuple";
    for (const ExprPtr &item : as<TupleExpr>(expr)->items)
      text += " " + dump(item);
    return text + ")";
  }
  return "?";
}

/// `_` stands for an absent child.
inline std::string dump(const ExprPtr &expr) {
  return expr ? dump(*expr) : "_";
}

inline std::string dump(const Parameter &parameter) {
  return "(: " + parameter.name + " " + dump(parameter.annotation) + " " + dump(parameter.value) + ")";
}

inline std::string dump(const Block &block);

inline std::string dump(const Stmt &stmt) {
  std::string text;
  switch (stmt.kind) {
  case StmtKind::Function:
    text = "(def " + as<FunctionStmt>(stmt)->name + " (";
    for (const Parameter &parameter : as<FunctionStmt>(stmt)->parameters)
      text += dump(parameter);
    return text + ") " + dump(as<FunctionStmt>(stmt)->body) + ")";
  case StmtKind::Declare:
    return dump(as<DeclareStmt>(stmt)->parameter);
  case StmtKind::Assign:
    return "(= " + dump(as<AssignStmt>(stmt)->target) + " " + dump(as<AssignStmt>(stmt)->value) + ")";
  case StmtKind::Augment:
    return "(" + std::string(spelling(as<AugmentStmt>(stmt)->op)) + "= " + dump(as<AugmentStmt>(stmt)->target) + " " +
           dump(as<AugmentStmt>(stmt)->value) + ")";
  case StmtKind::For:
    return "(for " + as<ForStmt>(stmt)->variable + " " + dump(as<ForStmt>(stmt)->iterator) + " " +
           dump(as<ForStmt>(stmt)->body) + ")";
  case StmtKind::If:
    return "(if " + dump(as<IfStmt>(stmt)->condition) + " " + dump(as<IfStmt>(stmt)->then) + " " +
           dump(as<IfStmt>(stmt)->otherwise) + ")";
  case StmtKind::Return:
    text = "(return";
    for (const ExprPtr &value : as<ReturnStmt>(stmt)->values)
      text += " " + dump(value);
    return text + ")";
  case StmtKind::Evaluate:
    return "(do " + dump(as<EvaluateStmt>(stmt)->value) + ")";
  case StmtKind::Pass:
    return "pass";
  }
  return "?";
}

/// Statements between braces, separated by blanks.
inline std::string dump(const Block &block) {
  std::string text = "{";
  for (const StmtPtr &stmt : block)
    text += (text.size() > 1 ? " " : "") + dump(*stmt);
  return text + "}";
}

}  // namespace hector::language
