/// Parses any text, renders what is said about it, and walks the tree: every place lies where it should.
#include "language/Parser.h"

#include <cstdlib>

namespace hector::language {
namespace {

void check(bool condition) {
  if (!condition)
    std::abort();
}

struct Walker {
  const Source &source;
  unsigned depth = 0;

  void visit(Place place, const Place *parent) {
    check(place.source == &source && place.begin <= place.end && place.end <= source.text().size());
    check(!parent || (parent->begin <= place.begin && place.end <= parent->end));
    // What the parser promises to those who walk the tree recursively.
    check(depth < 1400);
  }

  void walk(const ExprPtr &expr, const Place *parent = nullptr) {
    if (!expr)
      return;
    visit(expr->place, parent);
    ++depth;
    const Place *here = &expr->place;
    if (const auto *attribute = as<AttributeExpr>(expr)) {
      visit(attribute->namePlace, here);
      check(attribute->namePlace.text() == attribute->name);
      walk(attribute->base, here);
    } else if (const auto *name = as<NameExpr>(expr)) {
      check(name->place.text() == name->name);
    } else if (const auto *subscript = as<SubscriptExpr>(expr)) {
      walk(subscript->base, here);
      walk(subscript->index, here);
    } else if (const auto *slice = as<SliceExpr>(expr)) {
      walk(slice->begin, here);
      walk(slice->end, here);
    } else if (const auto *call = as<CallExpr>(expr)) {
      walk(call->callee, here);
      for (const ExprPtr &argument : call->arguments)
        walk(argument, here);
      for (const Keyword &keyword : call->keywords) {
        visit(keyword.namePlace, here);
        check(keyword.value != nullptr);
        walk(keyword.value, here);
      }
    } else if (const auto *unary = as<UnaryExpr>(expr)) {
      walk(unary->operand, here);
    } else if (const auto *binary = as<BinaryExpr>(expr)) {
      walk(binary->left, here);
      walk(binary->right, here);
    } else if (const auto *compare = as<CompareExpr>(expr)) {
      walk(compare->left, here);
      walk(compare->right, here);
    } else if (const auto *logical = as<LogicalExpr>(expr)) {
      walk(logical->left, here);
      walk(logical->right, here);
    } else if (const auto *conditional = as<ConditionalExpr>(expr)) {
      walk(conditional->condition, here);
      walk(conditional->then, here);
      walk(conditional->otherwise, here);
    } else if (const auto *generator = as<GeneratorExpr>(expr)) {
      walk(generator->body, here);
      visit(generator->variablePlace, here);
      walk(generator->iterator, here);
      walk(generator->condition, here);
    } else if (const auto *tuple = as<TupleExpr>(expr)) {
      for (const ExprPtr &item : tuple->items) {
        check(item != nullptr);
        walk(item, here);
      }
    }
    --depth;
  }

  void walk(const Parameter &parameter) {
    visit(parameter.place, nullptr);
    walk(parameter.annotation);
    walk(parameter.value);
  }

  void walk(const Block &block) {
    ++depth;
    for (const StmtPtr &stmt : block)
      walk(*stmt);
    --depth;
  }

  void walk(const Stmt &stmt) {
    visit(stmt.place, nullptr);
    const Place *here = &stmt.place;
    if (const auto *function = as<FunctionStmt>(stmt)) {
      visit(function->namePlace, here);
      for (const Parameter &parameter : function->parameters)
        walk(parameter);
      walk(function->body);
    } else if (const auto *declare = as<DeclareStmt>(stmt)) {
      walk(declare->parameter);
    } else if (const auto *assign = as<AssignStmt>(stmt)) {
      walk(assign->target, here);
      walk(assign->value, here);
    } else if (const auto *augment = as<AugmentStmt>(stmt)) {
      walk(augment->target, here);
      walk(augment->value, here);
    } else if (const auto *loop = as<ForStmt>(stmt)) {
      visit(loop->variablePlace, here);
      walk(loop->iterator, here);
      walk(loop->body);
    } else if (const auto *choice = as<IfStmt>(stmt)) {
      walk(choice->condition, here);
      walk(choice->then);
      walk(choice->otherwise);
    } else if (const auto *result = as<ReturnStmt>(stmt)) {
      for (const ExprPtr &value : result->values)
        walk(value, here);
    } else if (const auto *evaluate = as<EvaluateStmt>(stmt)) {
      walk(evaluate->value, here);
    }
  }
};

}  // namespace
}  // namespace hector::language

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace hector::language;
  Source source("fuzz.hec", std::string(reinterpret_cast<const char *>(data), size));
  Diagnostics diagnostics;
  Module module = parse(source, diagnostics);
  std::string text = diagnostics.render();
  check(text.empty() == diagnostics.empty());
  Walker{source}.walk(module.body);
  return 0;
}
