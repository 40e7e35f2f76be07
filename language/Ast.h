/// The syntax tree of the model language: Python's grammar, the part of it that models use.
/// Plain data without meaning; what a name refers to is settled by the importer.
#pragma once

#include "language/Source.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector::language {

enum class ExprKind : uint8_t {
  Name,
  Integer,
  Float,
  String,
  Boolean,
  None,
  Attribute,
  Subscript,
  Slice,
  Call,
  Unary,
  Binary,
  Compare,
  Logical,
  Conditional,
  Generator,
  Tuple,
};

enum class UnaryOp : uint8_t { Negate, Plus, Not };
enum class BinaryOp : uint8_t { Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power, MatrixMultiply };
enum class CompareOp : uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };
enum class LogicalOp : uint8_t { And, Or };

/// How an operator is written, for messages.
std::string_view spelling(UnaryOp op);
std::string_view spelling(BinaryOp op);
std::string_view spelling(CompareOp op);
std::string_view spelling(LogicalOp op);

struct Expr {
  Expr(ExprKind kind, Place place) : kind(kind), place(place) {}
  virtual ~Expr() = default;
  ExprKind kind;
  Place place;
};
using ExprPtr = std::unique_ptr<Expr>;

struct NameExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Name;
  NameExpr(Place place, std::string name) : Expr(kKind, place), name(std::move(name)) {}
  std::string name;
};

struct IntegerExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Integer;
  IntegerExpr(Place place, int64_t value) : Expr(kKind, place), value(value) {}
  int64_t value;
};

struct FloatExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Float;
  FloatExpr(Place place, double value) : Expr(kKind, place), value(value) {}
  double value;
};

struct StringExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::String;
  StringExpr(Place place, std::string value) : Expr(kKind, place), value(std::move(value)) {}
  std::string value;
};

/// `True` or `False`.
struct BooleanExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Boolean;
  BooleanExpr(Place place, bool value) : Expr(kKind, place), value(value) {}
  bool value;
};

/// `None` among the indices of a subscript: an axis of size 1.
struct NoneExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::None;
  explicit NoneExpr(Place place) : Expr(kKind, place) {}
};

/// `base.name`.
struct AttributeExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Attribute;
  AttributeExpr(Place place, ExprPtr base, std::string name, Place namePlace)
      : Expr(kKind, place), base(std::move(base)), name(std::move(name)), namePlace(namePlace) {}
  ExprPtr base;
  std::string name;
  Place namePlace;
};

/// `base[index]`; several indices make a `Tuple`.
struct SubscriptExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Subscript;
  SubscriptExpr(Place place, ExprPtr base, ExprPtr index)
      : Expr(kKind, place), base(std::move(base)), index(std::move(index)) {}
  ExprPtr base;
  ExprPtr index;  // null for `base[]`, which only declarations use
};

/// `begin:end` inside a subscript; either bound may be absent.
struct SliceExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Slice;
  SliceExpr(Place place, ExprPtr begin, ExprPtr end)
      : Expr(kKind, place), begin(std::move(begin)), end(std::move(end)) {}
  ExprPtr begin;
  ExprPtr end;
};

struct Keyword {
  std::string name;
  Place namePlace;
  ExprPtr value;
};

struct CallExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Call;
  CallExpr(Place place, ExprPtr callee, std::vector<ExprPtr> arguments, std::vector<Keyword> keywords)
      : Expr(kKind, place), callee(std::move(callee)), arguments(std::move(arguments)), keywords(std::move(keywords)) {}
  ExprPtr callee;
  std::vector<ExprPtr> arguments;
  std::vector<Keyword> keywords;
};

struct UnaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Unary;
  UnaryExpr(Place place, UnaryOp op, ExprPtr operand) : Expr(kKind, place), op(op), operand(std::move(operand)) {}
  UnaryOp op;
  ExprPtr operand;
};

struct BinaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Binary;
  BinaryExpr(Place place, BinaryOp op, ExprPtr left, ExprPtr right)
      : Expr(kKind, place), op(op), left(std::move(left)), right(std::move(right)) {}
  BinaryOp op;
  ExprPtr left;
  ExprPtr right;
};

/// One comparison; chains (`a < b < c`) are refused by the parser.
struct CompareExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Compare;
  CompareExpr(Place place, CompareOp op, ExprPtr left, ExprPtr right)
      : Expr(kKind, place), op(op), left(std::move(left)), right(std::move(right)) {}
  CompareOp op;
  ExprPtr left;
  ExprPtr right;
};

struct LogicalExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Logical;
  LogicalExpr(Place place, LogicalOp op, ExprPtr left, ExprPtr right)
      : Expr(kKind, place), op(op), left(std::move(left)), right(std::move(right)) {}
  LogicalOp op;
  ExprPtr left;
  ExprPtr right;
};

/// `then if condition else otherwise`.
struct ConditionalExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Conditional;
  ConditionalExpr(Place place, ExprPtr condition, ExprPtr then, ExprPtr otherwise)
      : Expr(kKind, place), condition(std::move(condition)), then(std::move(then)), otherwise(std::move(otherwise)) {}
  ExprPtr condition;
  ExprPtr then;
  ExprPtr otherwise;
};

/// `body for variable in iterator [if condition]`, as a call's argument or in brackets.
struct GeneratorExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Generator;
  GeneratorExpr(Place place, ExprPtr body, std::string variable, Place variablePlace, ExprPtr iterator,
                ExprPtr condition)
      : Expr(kKind, place), body(std::move(body)), variable(std::move(variable)), variablePlace(variablePlace),
        iterator(std::move(iterator)), condition(std::move(condition)) {}
  ExprPtr body;
  std::string variable;
  Place variablePlace;
  ExprPtr iterator;
  ExprPtr condition;  // null when absent
};

/// `a, b` with or without parentheses or brackets.
struct TupleExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::Tuple;
  TupleExpr(Place place, std::vector<ExprPtr> items) : Expr(kKind, place), items(std::move(items)) {}
  std::vector<ExprPtr> items;
};

enum class StmtKind : uint8_t { Function, Declare, Assign, Augment, For, If, Return, Evaluate, Pass };

struct Stmt {
  Stmt(StmtKind kind, Place place) : kind(kind), place(place) {}
  virtual ~Stmt() = default;
  StmtKind kind;
  Place place;  // of a compound statement: its header line
};
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

/// `name`, `name: annotation`, `name = value` or `name: annotation = value`.
struct Parameter {
  std::string name;
  Place place;
  ExprPtr annotation;  // null when absent
  ExprPtr value;       // the default; null when absent
};

/// `def name(parameters):`. Decorators are read and ignored.
struct FunctionStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Function;
  FunctionStmt(Place place, std::string name, Place namePlace, std::vector<Parameter> parameters, Block body)
      : Stmt(kKind, place), name(std::move(name)), namePlace(namePlace), parameters(std::move(parameters)),
        body(std::move(body)) {}
  std::string name;
  Place namePlace;
  std::vector<Parameter> parameters;
  Block body;
};

/// `name: annotation [= value]` as a statement.
struct DeclareStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Declare;
  DeclareStmt(Place place, Parameter parameter) : Stmt(kKind, place), parameter(std::move(parameter)) {}
  Parameter parameter;
};

/// `target = value`; the target is a name, a subscript, or a tuple of those. Chains are refused by the parser.
struct AssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Assign;
  AssignStmt(Place place, ExprPtr target, ExprPtr value)
      : Stmt(kKind, place), target(std::move(target)), value(std::move(value)) {}
  ExprPtr target;
  ExprPtr value;
};

/// `target op= value`.
struct AugmentStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Augment;
  AugmentStmt(Place place, BinaryOp op, ExprPtr target, ExprPtr value)
      : Stmt(kKind, place), op(op), target(std::move(target)), value(std::move(value)) {}
  BinaryOp op;
  ExprPtr target;
  ExprPtr value;
};

struct ForStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::For;
  ForStmt(Place place, std::string variable, Place variablePlace, ExprPtr iterator, Block body)
      : Stmt(kKind, place), variable(std::move(variable)), variablePlace(variablePlace), iterator(std::move(iterator)),
        body(std::move(body)) {}
  std::string variable;
  Place variablePlace;
  ExprPtr iterator;
  Block body;
};

/// `if condition: … else: …`; `elif` becomes an `If` alone in `otherwise`.
struct IfStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::If;
  IfStmt(Place place, ExprPtr condition, Block then, Block otherwise)
      : Stmt(kKind, place), condition(std::move(condition)), then(std::move(then)), otherwise(std::move(otherwise)) {}
  ExprPtr condition;
  Block then;
  Block otherwise;
};

/// `return a, b`; `return` alone has no values.
struct ReturnStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Return;
  ReturnStmt(Place place, std::vector<ExprPtr> values) : Stmt(kKind, place), values(std::move(values)) {}
  std::vector<ExprPtr> values;
};

/// An expression for its effect: a call. A string alone (documentation) is dropped by the parser.
struct EvaluateStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Evaluate;
  EvaluateStmt(Place place, ExprPtr value) : Stmt(kKind, place), value(std::move(value)) {}
  ExprPtr value;
};

struct PassStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::Pass;
  explicit PassStmt(Place place) : Stmt(kKind, place) {}
};

/// A whole file: functions, declarations and, for models without a `def`, statements.
struct Module {
  Block body;
};

/// Casts a node to the class of its kind, or gives null.
template <class Node, class Base> const Node *as(const Base &base) {
  return base.kind == Node::kKind ? static_cast<const Node *>(&base) : nullptr;
}
template <class Node, class Base> const Node *as(const std::unique_ptr<Base> &base) {
  return base ? as<Node>(*base) : nullptr;
}

}  // namespace hector::language
