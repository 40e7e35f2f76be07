/// How many expressions a block unrolls to at least, counted before any of it is built.
#pragma once

#include "language/Ast.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace hector::importer {

/// Counts what is certain: loops over `range` whose bounds are known, the shorter branch of a choice, and functions
/// where they are called. Every other loop counts once.
class LeastWork {
public:
  using Functions = std::map<std::string, const language::FunctionStmt *>;
  using Lookup = std::function<std::optional<int64_t>(const std::string &)>;

  /// `lookUp` gives the whole number that a name stands for where the block begins.
  LeastWork(const Functions &functions, Lookup lookUp) : functions(functions), lookUp(std::move(lookUp)) {}

  /// The expressions of `rounds` rounds of the block; any number above `limit` stands for all such.
  int64_t of(const language::Block &block, int64_t rounds, int64_t limit);

private:
  double block(const language::Block &block);
  double statement(const language::Stmt &statement);
  double expression(const language::Expr &expr);
  double loop(const language::Expr &iterator, double body);
  double call(const language::CallExpr &call);
  std::optional<int64_t> integer(const language::Expr &expr) const;

  const Functions &functions;
  Lookup lookUp;
  std::set<std::string> changed;  // names that the block itself gives a value
  std::map<const language::FunctionStmt *, double> ofFunction;
  int depth = 0;  // of calls: inside of them, names stand for something else
};

}  // namespace hector::importer
