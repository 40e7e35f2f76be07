#include "compiler/Import/Work.h"

#include <algorithm>

namespace hector::importer {

using namespace language;

static void addNames(const Expr &target, std::set<std::string> &names) {
  if (const auto *name = as<NameExpr>(target))
    names.insert(name->name);
  if (const auto *tuple = as<TupleExpr>(target))
    for (const ExprPtr &item : tuple->items)
      addNames(*item, names);
}

/// The names that a block assigns, loop variables included.
static void addAssigned(const Block &block, std::set<std::string> &names) {
  for (const StmtPtr &statement : block) {
    if (const auto *assign = as<AssignStmt>(statement)) {
      addNames(*assign->target, names);
    } else if (const auto *augment = as<AugmentStmt>(statement)) {
      addNames(*augment->target, names);
    } else if (const auto *loop = as<ForStmt>(statement)) {
      names.insert(loop->variable);
      addAssigned(loop->body, names);
    } else if (const auto *choice = as<IfStmt>(statement)) {
      addAssigned(choice->then, names);
      addAssigned(choice->otherwise, names);
    }
  }
}

/// Whether a block may return before its end.
static bool mayReturn(const Block &block) {
  return std::any_of(block.begin(), block.end(), [](const StmtPtr &statement) {
    const auto *choice = as<IfStmt>(statement);
    const auto *loop = as<ForStmt>(statement);
    return statement->kind == StmtKind::Return || (loop && mayReturn(loop->body)) ||
           (choice && (mayReturn(choice->then) || mayReturn(choice->otherwise)));
  });
}

int64_t LeastWork::of(const Block &body, int64_t rounds, int64_t limit) {
  changed.clear();
  addAssigned(body, changed);
  double work = (mayReturn(body) ? 1.0 : static_cast<double>(rounds)) * block(body);
  return work > static_cast<double>(limit) ? limit + 1 : static_cast<int64_t>(work);
}

std::optional<int64_t> LeastWork::integer(const Expr &expr) const {
  if (const auto *number = as<IntegerExpr>(expr))
    return number->value;
  const auto *name = as<NameExpr>(expr);
  return name && depth == 0 && !changed.count(name->name) ? lookUp(name->name) : std::nullopt;
}

double LeastWork::block(const Block &block) {
  double work = 0;
  for (const StmtPtr &one : block) {
    work += statement(*one);
    const auto *choice = as<IfStmt>(one);
    const auto *loop = as<ForStmt>(one);
    if ((loop && mayReturn(loop->body)) || (choice && (mayReturn(choice->then) || mayReturn(choice->otherwise))))
      break;
  }
  return work;
}

double LeastWork::statement(const Stmt &statement) {
  if (const auto *assign = as<AssignStmt>(statement))
    return expression(*assign->value);
  if (const auto *augment = as<AugmentStmt>(statement))
    return expression(*augment->value);
  if (const auto *evaluate = as<EvaluateStmt>(statement))
    return expression(*evaluate->value);
  if (const auto *choice = as<IfStmt>(statement))
    return expression(*choice->condition) + std::min(block(choice->then), block(choice->otherwise));
  if (const auto *forEach = as<ForStmt>(statement))
    return mayReturn(forEach->body) ? 0 : loop(*forEach->iterator, block(forEach->body));
  double work = 0;
  if (const auto *given = as<ReturnStmt>(statement))
    for (const ExprPtr &value : given->values)
      work += expression(*value);
  return work;
}

/// A loop's body as often as it is certain to run; once for rows, since one round stands for all of them.
double LeastWork::loop(const Expr &iterator, double body) {
  const auto *call = as<CallExpr>(iterator);
  const auto *name = call ? as<NameExpr>(call->callee) : nullptr;
  if (!name || name->name != "range")
    return body;
  std::optional<int64_t> bounds[2];
  if (call->arguments.size() <= 2 && call->keywords.empty())
    for (size_t i = 0; i < call->arguments.size(); ++i)
      bounds[i] = integer(*call->arguments[i]);
  double first = 0;
  std::optional<int64_t> last = bounds[0];
  if (call->arguments.size() == 2) {
    first = static_cast<double>(bounds[0].value_or(0));
    last = bounds[0] ? bounds[1] : std::nullopt;
  }
  return last ? std::max(0.0, static_cast<double>(*last) - first) * body : 0;
}

double LeastWork::call(const CallExpr &call) {
  double work = 1;
  for (const ExprPtr &argument : call.arguments)
    work += expression(*argument);
  for (const Keyword &keyword : call.keywords)
    work += expression(*keyword.value);
  const auto *name = as<NameExpr>(call.callee);
  auto function = name ? functions.find(name->name) : functions.end();
  if (function == functions.end())
    return work;
  // Zero where a function calls itself, which is refused when it is met.
  auto [known, isNew] = ofFunction.try_emplace(function->second, 0);
  if (isNew) {
    ++depth;
    double body = block(function->second->body);
    --depth;
    ofFunction[function->second] = body;
    known = ofFunction.find(function->second);
  }
  return work + known->second;
}

double LeastWork::expression(const Expr &expr) {
  if (const auto *unary = as<UnaryExpr>(expr))
    return 1 + expression(*unary->operand);
  if (const auto *binary = as<BinaryExpr>(expr))
    return 1 + expression(*binary->left) + expression(*binary->right);
  if (const auto *compare = as<CompareExpr>(expr))
    return 1 + expression(*compare->left) + expression(*compare->right);
  if (const auto *logical = as<LogicalExpr>(expr))
    return 1 + expression(*logical->left);  // the right side may not matter
  if (const auto *choice = as<ConditionalExpr>(expr))
    return 1 + expression(*choice->condition) + std::min(expression(*choice->then), expression(*choice->otherwise));
  if (const auto *generator = as<GeneratorExpr>(expr))
    return loop(*generator->iterator,
                generator->condition ? expression(*generator->condition) : expression(*generator->body));
  if (const auto *called = as<CallExpr>(expr))
    return call(*called);
  if (const auto *tuple = as<TupleExpr>(expr)) {
    double work = 0;
    for (const ExprPtr &item : tuple->items)
      work += expression(*item);
    return work;
  }
  return 1;
}

}  // namespace hector::importer
