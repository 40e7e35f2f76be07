/// Statements: assignment, accumulation, loops, calls of user functions, results; and the function they end up in.

#include "compiler/Import/Importer.h"
#include "language/Prelude.h"

#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Dominance.h>
#include <mlir/IR/PatternMatch.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Transforms/CSE.h>

namespace hector::importer {

using flow::Domain;
using flow::Map;
using flow::ReduceKind;
using namespace language;

Domain domainOf(Home home) {
  switch (home) {
  case Home::Node:
    return Domain::Node;
  case Home::Edge:
    return Domain::Edge;
  case Home::EdgeType:
    return Domain::EdgeType;
  case Home::NodeType:
    return Domain::NodeType;
  case Home::Shared:
    return Domain::One;
  }
  return Domain::One;
}

std::string_view userName(Domain domain) {
  switch (domain) {
  case Domain::One:
    return "model";
  case Domain::NodeType:
    return "node type";
  case Domain::EdgeType:
    return "edge type";
  case Domain::Node:
    return "node";
  case Domain::SrcPair:
    return "outgoing type";
  case Domain::DstPair:
    return "incoming type";
  case Domain::Edge:
    return "edge";
  }
  return "";
}

Importer::Importer(mlir::MLIRContext &context, const Module &module, const Signature &signature, const Binding &binding,
                   mlir::FloatType elementType, Diagnostics &diagnostics, bool fold)
    : context(context), module(module), signature(signature), binding(binding), elementType(elementType),
      diagnostics(diagnostics), fold(fold), builder(&context) {
  for (const StmtPtr &statement : module.body)
    if (const auto *function = as<FunctionStmt>(statement))
      functions[function->name] = function;
}

//===- Messages --------------------------------------------------------------------------------------------------===//

Diagnostic &Importer::error(Place place, std::string message) {
  // What goes wrong inside a prelude function is shown where the user called it.
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (!scope->isPrelude)
      break;
    message = "in `" + scope->function->name + "`: " + message;
    place = scope->call;
  }
  Diagnostic &diagnostic = diagnostics.error(place, std::move(message));
  if (!scopes.empty() && scopes.back().function && !scopes.back().isPrelude && scopes.back().call.known())
    diagnostic.note(scopes.back().call, "`" + scopes.back().function->name + "` is called here");
  return diagnostic;
}

Item Importer::fail(Place place, std::string message, std::string help) {
  Diagnostic &diagnostic = error(place, std::move(message));
  if (!help.empty())
    diagnostic.suggest(std::move(help));
  return Poison{};
}

std::string Importer::describe(const Item &item) const {
  struct Describer {
    std::string operator()(const Poison &) { return "this"; }
    std::string operator()(const Nothing &) { return "nothing"; }
    std::string operator()(const Number &number) {
      return "the number " + formatConstant(number.isInteger ? Constant(number.integer) : Constant(number.value));
    }
    std::string operator()(const Truth &truth) { return truth.value ? "`True`" : "`False`"; }
    std::string operator()(const Text &text) { return "the string \"" + text.value + "\""; }
    std::string operator()(const WholeGraph &) { return "the graph"; }
    std::string operator()(const Element &element) {
      bool vowel = userName(element.domain).front() == 'e' || userName(element.domain).front() == 'i' ||
                   userName(element.domain).front() == 'o';
      return (vowel ? "an " : "a ") + std::string(userName(element.domain));
    }
    std::string operator()(const Rows &rows) {
      if (rows.type().isBool())
        return rows.type().getRank() == 0 ? "a truth value per row"
                                          : "truth values of " + formatRowShape(rows.type().getShape());
      return rows.type().getRank() == 0 ? "one number per row" : "rows of " + formatRowShape(rows.type().getShape());
    }
    std::string operator()(const Input &input) { return "input `" + input.decl->name + "`"; }
    std::string operator()(const Tuple &) { return "a list of values"; }
  };
  return std::visit(Describer(), item);
}

mlir::Location Importer::location(Place place) {
  if (!place.known())
    return builder.getUnknownLoc();
  auto [line, column] = place.source->lineColumn(place.begin);
  mlir::Location here = mlir::FileLineColLoc::get(&context, place.source->name(), line, column);
  for (auto scope = scopes.rbegin(); scope != scopes.rend() && scope->call.known(); ++scope) {
    auto [callLine, callColumn] = scope->call.source->lineColumn(scope->call.begin);
    here = mlir::CallSiteLoc::get(
        here, mlir::FileLineColLoc::get(&context, scope->call.source->name(), callLine, callColumn));
  }
  return here;
}

//===- Statements ------------------------------------------------------------------------------------------------===//

void Importer::runBlock(const Block &block) {
  for (const StmtPtr &statement : block) {
    runStatement(*statement);
    if (!scopes.back().hasReturned)
      continue;
    // After `if c: return a`, the rest is the other branch.
    if (statement->kind == StmtKind::Return && statement != block.back())
      error((&statement)[1]->place, "nothing runs after `return`").suggest("make `return` the last statement");
    return;
  }
}

void Importer::runStatement(const Stmt &statement) {
  switch (statement.kind) {
  case StmtKind::Function:
    if (scopes.size() > 1 || signature.function) {
      const auto &function = static_cast<const FunctionStmt &>(statement);
      error(statement.place, "a function inside another").suggest("move it out, to the left margin");
      functions.try_emplace(function.name, &function);
    }
    return;
  case StmtKind::Declare:
    if (scopes.size() > 1 || signature.function)
      error(statement.place, "data is declared in the model's signature, not in its body")
          .suggest("write it among the parameters of `def`");
    return;
  case StmtKind::Assign:
    return runAssign(static_cast<const AssignStmt &>(statement));
  case StmtKind::Augment:
    return runAugment(static_cast<const AugmentStmt &>(statement));
  case StmtKind::For:
    return runFor(static_cast<const ForStmt &>(statement));
  case StmtKind::If:
    return runIf(static_cast<const IfStmt &>(statement));
  case StmtKind::Return:
    return runReturn(static_cast<const ReturnStmt &>(statement));
  case StmtKind::Evaluate:
    unused = static_cast<const EvaluateStmt &>(statement).value.get();
    evaluate(*unused);
    return;
  case StmtKind::Pass:
    return;
  }
}

/// Whether two expressions are the same names and subscripts, as in `n["m"] = max(n["m"], …)`.
static bool isSame(const Expr &a, const Expr &b) {
  if (a.kind != b.kind)
    return false;
  switch (a.kind) {
  case ExprKind::Name:
    return as<NameExpr>(a)->name == as<NameExpr>(b)->name;
  case ExprKind::String:
    return as<StringExpr>(a)->value == as<StringExpr>(b)->value;
  case ExprKind::Attribute:
    return as<AttributeExpr>(a)->name == as<AttributeExpr>(b)->name &&
           isSame(*as<AttributeExpr>(a)->base, *as<AttributeExpr>(b)->base);
  case ExprKind::Subscript: {
    const auto *x = as<SubscriptExpr>(a), *y = as<SubscriptExpr>(b);
    return x->index && y->index && isSame(*x->base, *y->base) && isSame(*x->index, *y->index);
  }
  default:
    return false;
  }
}

/// Whether a target belongs to a row outside of the innermost loop, so that an assignment to it means accumulation.
bool Importer::isOuterTarget(const Expr &target) {
  if (current == kNoFrame)
    return false;
  if (const auto *name = as<NameExpr>(target)) {
    Slot *slot = findLocal(name->name);
    return slot && slot->boundIn != current && !tryGet<Element>(slot->item);
  }
  const auto *subscript = as<SubscriptExpr>(target);
  if (!subscript)
    return false;
  Item base = evaluate(*subscript->base);
  const Element *element = tryGet<Element>(base);
  if (!element)
    return false;
  Element own = normalise(*element);
  return own.map != Map::Self || own.frame != current;
}

/// Whether an expression may run statements: it calls a function that is not built in.
bool Importer::callsFunction(const Expr &expr) const {
  auto any = [&](const std::vector<ExprPtr> &items) {
    return std::any_of(items.begin(), items.end(), [&](const ExprPtr &item) { return callsFunction(*item); });
  };
  switch (expr.kind) {
  case ExprKind::Name:
  case ExprKind::Integer:
  case ExprKind::Float:
  case ExprKind::String:
  case ExprKind::Boolean:
  case ExprKind::None:
    return false;
  case ExprKind::Attribute:
    return callsFunction(*as<AttributeExpr>(expr)->base);
  case ExprKind::Subscript: {
    const auto *subscript = as<SubscriptExpr>(expr);
    return callsFunction(*subscript->base) || (subscript->index && callsFunction(*subscript->index));
  }
  case ExprKind::Tuple:
    return any(as<TupleExpr>(expr)->items);
  case ExprKind::Binary:
    return callsFunction(*as<BinaryExpr>(expr)->left) || callsFunction(*as<BinaryExpr>(expr)->right);
  case ExprKind::Call: {
    const auto *call = as<CallExpr>(expr);
    const auto *callee = as<NameExpr>(call->callee);
    return !callee || functions.count(callee->name) || !isBuiltin(callee->name) || !call->keywords.empty() ||
           any(call->arguments);
  }
  default:
    return true;
  }
}

/// Targets are looked at more than once, so they must be plain names and subscripts.
bool Importer::checkTarget(const Expr &target) {
  if (const auto *tuple = as<TupleExpr>(target))
    return std::all_of(tuple->items.begin(), tuple->items.end(),
                       [&](const ExprPtr &item) { return checkTarget(*item); });
  if (const auto *subscript = as<SubscriptExpr>(target); subscript && !subscript->index) {
    error(target.place, "the brackets are empty").suggest("name the data: n[\"h\"] = …");
    return false;
  }
  if (!callsFunction(target))
    return true;
  error(target.place,
        "`" + std::string(target.place.text().substr(0, 60)) + "` is computed, not a plain place to keep data")
      .suggest("give the row and the name of the data names of their own first, as in n[\"h\"] = …");
  giveUp(target);
  return false;
}

void Importer::runAssign(const AssignStmt &statement) {
  const Expr &target = *statement.target, &value = *statement.value;
  if (!checkTarget(target))
    return;
  // `t = max(t, v)`, `t = t + v` and their like accumulate where `t` belongs to an outer row.
  if (const auto *call = as<CallExpr>(value)) {
    const auto *callee = as<NameExpr>(call->callee);
    bool isOwnFunction = callee && !scopes.back().isPrelude && functions.count(callee->name);
    if (callee && !isOwnFunction && (callee->name == "max" || callee->name == "min") && call->arguments.size() == 2 &&
        call->keywords.empty() && isOuterTarget(target)) {
      ReduceKind kind = callee->name == "max" ? ReduceKind::Max : ReduceKind::Min;
      for (int i : {0, 1})
        if (isSame(target, *call->arguments[i]))
          return accumulate(kind, false, target, *call->arguments[1 - i], statement.place);
    }
  }
  if (const auto *sum = as<BinaryExpr>(value);
      sum && (sum->op == BinaryOp::Add || sum->op == BinaryOp::Subtract) && isOuterTarget(target)) {
    if (isSame(target, *sum->left))
      return accumulate(ReduceKind::Sum, sum->op == BinaryOp::Subtract, target, *sum->right, statement.place);
    if (sum->op == BinaryOp::Add && isSame(target, *sum->right))
      return accumulate(ReduceKind::Sum, false, target, *sum->left, statement.place);
  }
  Item item = evaluate(value);
  const auto *targets = as<TupleExpr>(target);
  if (!targets)
    return assign(target, std::move(item), target.place);
  const Tuple *items = tryGet<Tuple>(item);
  if (isPoison(item))
    items = nullptr;
  else if (!items || items->items.size() != targets->items.size()) {
    error(statement.place, "there are " + std::to_string(targets->items.size()) + " names on the left, but " +
                               (items ? std::to_string(items->items.size()) + " values" : describe(item)) +
                               " on the right");
    items = nullptr;
  }
  for (size_t i = 0; i < targets->items.size(); ++i)
    assign(*targets->items[i], items ? items->items[i] : Item(Poison{}), targets->items[i]->place);
}

void Importer::assign(const Expr &target, Item value, Place place) {
  if (const auto *name = as<NameExpr>(target)) {
    if (name->name == signature.graph || (signature.findInput(name->name) && scopes.size() == 1)) {
      error(place, "`" + name->name + "` is " + (name->name == signature.graph ? "the graph" : "an input") +
                       " and cannot be assigned")
          .suggest("choose another name");
      return;
    }
    if (!signature.function && scopes.size() == 1 && signature.hasSize(name->name)) {
      error(place, "`" + name->name + "` is a size of this model's inputs and cannot be assigned")
          .suggest("declare it before the inputs, as in `" + name->name + ": int = 4`, or choose another name");
      return;
    }
    return bindLocal(name->name, std::move(value), place);
  }
  const auto *subscript = as<SubscriptExpr>(target);
  if (!subscript) {
    error(place, "`" + std::string(place.text()) + "` cannot be assigned");
    return;
  }
  Item base = evaluate(*subscript->base);
  if (isPoison(base))
    return;
  const Element *element = tryGet<Element>(base);
  if (!element) {
    error(place, describe(base) + " cannot be assigned through a subscript")
        .suggest("subscripts keep data of nodes, edges and types: n[\"h\"] = …");
    return;
  }
  auto name = subscriptName(*subscript->index);
  if (!name)
    return giveUp(target);
  if (!writeTable(*element, *name, std::move(value), place))
    giveUp(target);
}

/// After a wrong assignment: what it should have set is unknown from here on, and nobody complains again.
void Importer::giveUp(const Expr &target) {
  if (const auto *name = as<NameExpr>(target)) {
    if (!signature.findInput(name->name))
      scopes.back().locals[name->name].item = Poison{};
  } else if (const auto *tuple = as<TupleExpr>(target)) {
    for (const ExprPtr &item : tuple->items)
      giveUp(*item);
  } else if (const auto *subscript = as<SubscriptExpr>(target); subscript && subscript->index) {
    if (const auto *key = as<StringExpr>(subscript->index))
      lostTables.insert(key->value);
    else
      hasLostName = true;
  }
}

/// The same for all that a block, which cannot be run, would have set.
void Importer::giveUp(const Block &block) {
  for (const StmtPtr &statement : block) {
    if (const auto *assign = as<AssignStmt>(statement)) {
      giveUp(*assign->target);
    } else if (const auto *augment = as<AugmentStmt>(statement)) {
      giveUp(*augment->target);
    } else if (const auto *loop = as<ForStmt>(statement)) {
      scopes.back().locals[loop->variable].item = Poison{};
      giveUp(loop->body);
    } else if (const auto *choice = as<IfStmt>(statement)) {
      giveUp(choice->then);
      giveUp(choice->otherwise);
    }
  }
}

void Importer::accumulate(ReduceKind kind, bool negate, const Expr &target, const Expr &value, Place place) {
  if (const auto *name = as<NameExpr>(target))
    return accumulateLocal(name->name, kind, negate, evaluate(value), place);
  const auto &subscript = static_cast<const SubscriptExpr &>(target);
  Item base = evaluate(*subscript.base);
  auto name = subscriptName(*subscript.index);
  const Element *element = tryGet<Element>(base);
  if (!element || !name)
    return giveUp(target);
  auto version = [&] {
    auto found = tables.find({element->domain, *name});
    return found == tables.end() ? 0 : found->second.version;
  };
  int before = version();
  Item item = evaluate(value);
  // Python reads the target first and would lose what a function adds to it meanwhile.
  if (version() != before) {
    error(place,
          "`" + std::string(target.place.text().substr(0, 40)) + "` is written while what is added to it is computed")
        .suggest("call the function in a statement of its own");
    return giveUp(target);
  }
  if (!accumulateTable(*element, *name, kind, negate, std::move(item), place))
    giveUp(target);
}

void Importer::runAugment(const AugmentStmt &statement) {
  const Expr &target = *statement.target;
  if (target.kind != ExprKind::Name && target.kind != ExprKind::Subscript) {
    error(target.place, "`" + std::string(target.place.text()) + "` cannot be assigned");
    return;
  }
  if (!checkTarget(target))
    return;
  if (isOuterTarget(target)) {
    if (statement.op == BinaryOp::Add || statement.op == BinaryOp::Subtract)
      return accumulate(ReduceKind::Sum, statement.op == BinaryOp::Subtract, target, *statement.value, statement.place);
    error(statement.place, "`" + std::string(spelling(statement.op)) + "=` cannot combine the rows of a loop")
        .suggest("rows are combined by `+=`, `-=`, max(…) or min(…); a product is exp(sum(log(…)))");
    return;
  }
  Item before = evaluate(target), value = evaluate(*statement.value);
  Item result = isPoison(before) || isPoison(value)
                    ? Item(Poison{})
                    : binary(statement.op, before, value, statement.place, target.place, statement.value->place);
  assign(target, std::move(result), target.place);
}

void Importer::runFor(const ForStmt &statement) {
  auto iteration = readIterator(*statement.iterator);
  if (!iteration) {
    scopes.back().locals[statement.variable].item = Poison{};
    return giveUp(statement.body);
  }
  if (iteration->isRange) {
    if (isTooMuchWork(statement.body, static_cast<int64_t>(iteration->numbers.size()), statement.iterator->place))
      return giveUp(statement.body);
    for (int64_t k : iteration->numbers) {
      bindLocal(statement.variable, Number::of(k), statement.variablePlace);
      runBlock(statement.body);
      if (scopes.back().hasReturned || diagnostics.size() > Diagnostics::kMaxShown || work > kMaxWork)
        return;
    }
    return;
  }
  auto frame = openLoop(*iteration, statement.variable, statement.place, /*isStatement=*/true);
  if (!frame) {
    scopes.back().locals[statement.variable].item = Poison{};
    return giveUp(statement.body);
  }
  int outer = current;
  current = *frame;
  if (outer == kNoFrame)
    loopRoot = current;
  bindLocal(statement.variable, Element{iteration->domain, *frame, Map::Self}, statement.variablePlace);
  runBlock(statement.body);
  closeFrame(*frame);
  current = outer;
  if (outer == kNoFrame)
    loopRoot = kNoFrame;
}

void Importer::runIf(const IfStmt &statement) {
  auto truth = compileTimeTruth(*statement.condition, "`if` chooses when compiling");
  if (truth)
    return runBlock(*truth ? statement.then : statement.otherwise);
  giveUp(statement.then);
  giveUp(statement.otherwise);
}

void Importer::runReturn(const ReturnStmt &statement) {
  Scope &scope = scopes.back();
  scope.hasReturned = true;
  if (current != scope.calledIn) {
    error(statement.place, "`return` inside a loop").suggest("results are whole tables: return them after the loop");
    scope.result = Poison{};
    return;
  }
  if (scopes.size() > 1) {
    if (statement.values.empty())
      return;
    // Whoever called this function may have no use for the value either.
    if (statement.values.size() == 1)
      unused = statement.values[0].get();
    std::vector<Item> items;
    for (const ExprPtr &value : statement.values)
      items.push_back(evaluate(*value));
    if (items.size() == 1)
      scopes.back().result = std::move(items[0]);
    else
      scopes.back().result = Tuple{std::move(items)};
    return;
  }
  hasResults = true;
  if (statement.values.empty())
    error(statement.place, "the model returns nothing").suggest("name the tables it computes: `return n[\"out\"]`");
  for (const ExprPtr &value : statement.values)
    if (auto result = resolveResult(*value)) {
      for (const Result &earlier : results)
        if (earlier.name == result->name) {
          error(result->place, "two results are called \"" + result->name + "\"")
              .note(earlier.place, "the other one is here");
          return;
        }
      if (checkResultName(*result))
        results.push_back(*result);
    }
}

//===- Functions of the user's own -------------------------------------------------------------------------------===//

Item Importer::callFunction(const FunctionStmt &function, bool isPrelude, const CallExpr &call) {
  bool isUnused = &call == unused;
  for (const Scope &scope : scopes)
    if (scope.function == &function || (scopes.size() == 1 && signature.function == &function))
      return fail(call.place, "`" + function.name + "` calls itself",
                  "functions are inlined, so they cannot be recursive");
  constexpr size_t kMaxCalls = 64;
  if (scopes.size() > kMaxCalls)
    return fail(call.place, "functions call each other more than " + std::to_string(kMaxCalls) + " deep");
  // Calls within calls multiply as loops do.
  if (!isPrelude && scopes.size() == 1 && modest.insert(&function).second &&
      isTooMuchWork(function.body, 1, call.place))
    return Poison{};
  auto wrongCall = [&](Place place, const std::string &message) -> Item {
    std::string parameters;
    for (const Parameter &parameter : function.parameters)
      parameters += (parameters.empty() ? "" : ", ") + parameter.name;
    Diagnostic &diagnostic = error(place, "`" + function.name + "` " + message);
    if (isPrelude)
      diagnostic.suggest("it is " + function.name + "(" + parameters + ")");
    else
      diagnostic.note(function.namePlace, "it is defined here");
    return Poison{};
  };
  Scope scope;
  scope.function = &function;
  scope.isPrelude = isPrelude;
  scope.call = call.place;
  scope.calledIn = current;
  std::vector<Slot *> slots;
  for (const Parameter &parameter : function.parameters) {
    Slot slot;
    slot.place = call.place;
    slot.boundIn = current;
    slots.push_back(&(scope.locals[parameter.name] = std::move(slot)));
  }
  std::vector<bool> isSet(function.parameters.size(), false);
  if (call.arguments.size() > function.parameters.size())
    return wrongCall(call.place, "takes " + std::to_string(function.parameters.size()) + " arguments, but is given " +
                                     std::to_string(call.arguments.size()));
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    slots[i]->item = evaluate(*call.arguments[i]);
    isSet[i] = true;
  }
  for (const Keyword &keyword : call.keywords) {
    size_t i = 0;
    while (i < function.parameters.size() && function.parameters[i].name != keyword.name)
      ++i;
    if (i == function.parameters.size())
      return wrongCall(keyword.namePlace, "has no parameter `" + keyword.name + "`");
    if (isSet[i])
      return fail(keyword.namePlace, "`" + keyword.name + "` is given twice");
    slots[i]->item = evaluate(*keyword.value);
    isSet[i] = true;
  }
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    if (isSet[i])
      continue;
    if (!function.parameters[i].value)
      return wrongCall(call.place, "needs a value for `" + function.parameters[i].name + "`");
    // A default knows the model's inputs and attributes, not the names of whoever calls.
    Scope definition;
    definition.function = &function;
    definition.isPrelude = isPrelude;
    definition.call = call.place;
    scopes.push_back(std::move(definition));
    slots[i]->item = evaluate(*function.parameters[i].value);
    scopes.pop_back();
  }
  scope.result = Nothing{};
  scopes.push_back(std::move(scope));
  size_t numErrors = diagnostics.size();
  runBlock(function.body);
  Item result = std::move(scopes.back().result);
  scopes.pop_back();
  if (!tryGet<Nothing>(result) || isUnused)
    return result;
  if (diagnostics.size() > numErrors)  // one of them may have kept it from its `return`
    return Poison{};
  Diagnostic &diagnostic = error(call.place, "`" + function.name + "` returns nothing, so this has no value");
  if (isPrelude)
    diagnostic.suggest("call it in a line of its own, then read what it has written");
  else
    diagnostic.note(function.namePlace, "it is defined here")
        .suggest("end it with `return` and what it computes, or call it in a line of its own");
  return Poison{};
}

//===- Results and the finished function -------------------------------------------------------------------------===//

std::optional<Importer::Result> Importer::resolveResult(const Expr &expr) {
  if (const auto *text = as<StringExpr>(expr))
    return resolveResultName(text->value, expr.place);
  if (const auto *name = as<NameExpr>(expr)) {
    if (Slot *slot = findLocal(name->name)) {
      if (isPoison(slot->item))
        return std::nullopt;
      const Rows *rows = tryGet<Rows>(slot->item);
      if (slot->boundIn != kNoFrame && !tryGet<Element>(slot->item)) {
        readLocal(*slot, name->name, expr.place);  // says which loop
        return std::nullopt;
      }
      if (asNumber(slot->item) || (rows && rows->frame == kNoFrame))
        return Result{name->name, expr.place, Domain::One, slot};
      if (rows) {
        readLocal(*slot, name->name, expr.place);  // says that its loop has ended
        return std::nullopt;
      }
      error(expr.place, describe(slot->item) + " is no table and cannot be returned")
          .suggest("name a table: `return " + name->name + "[\"out\"]`");
      return std::nullopt;
    }
    return resolveResultName(name->name, expr.place);
  }
  const auto *subscript = as<SubscriptExpr>(expr);
  const auto *variable = subscript ? as<NameExpr>(subscript->base) : nullptr;
  std::optional<Text> key;
  if (subscript && subscript->index) {
    Item index = evaluate(*subscript->index);
    if (isPoison(index))
      return std::nullopt;
    if (const Text *text = tryGet<Text>(index))
      key = *text;
  }
  Slot *slot = variable ? findLocal(variable->name) : nullptr;
  Item base = slot ? slot->item : Item(WholeGraph{});
  if (key && subscript->base->kind == ExprKind::Attribute)
    base = evaluate(*subscript->base);  // e.dst["out"] names the same table as n["out"]
  if (isPoison(base) || (key && isLost(key->value)))
    return std::nullopt;
  if (key && tryGet<Element>(base)) {
    Domain domain = tryGet<Element>(base)->domain;
    auto found = tables.find({domain, key->value});
    if (found != tables.end())
      return Result{key->value, expr.place, domain, &found->second};
    int frame = openFrame(domain, kNoFrame, Map::Self, "", expr.place, false);
    current = frame;
    readTable({domain, frame, Map::Self}, key->value, expr.place);  // says what is wrong, with the nearest name
    current = kNoFrame;
    return std::nullopt;
  }
  if (variable && key) {
    bool isKept = false;
    for (const auto &[table, kept] : tables)
      isKept |= table.second == key->value;
    error(expr.place, slot ? "`" + variable->name + "` is " + describe(slot->item) + " here, and no loop variable"
                           : "`" + variable->name + "` is no loop variable of this model")
        .suggest(isKept ? "write `return \"" + key->value + "\"`"
                        : "return what a loop has kept, by the loop's variable: after `for n in g.nodes():`, n[\"" +
                              key->value + "\"]");
    return std::nullopt;
  }
  error(expr.place, "`" + std::string(expr.place.text().substr(0, 60)) + "` is no table and cannot be returned")
      .suggest("keep the value first, as in n[\"out\"] = …, and then `return n[\"out\"]`");
  return std::nullopt;
}

std::optional<Importer::Result> Importer::resolveResultName(const std::string &name, Place place) {
  std::optional<Result> result;
  std::vector<std::string_view> names;
  for (auto &[key, slot] : tables) {
    names.push_back(key.second);
    if (key.second != name)
      continue;
    if (result) {
      error(place, "\"" + name + "\" is kept for each " + std::string(userName(result->domain)) + " and for each " +
                       std::string(userName(key.first)))
          .suggest("say which: return n[\"" + name + "\"] or e[\"" + name + "\"]");
      return std::nullopt;
    }
    result = Result{name, place, key.first, &slot};
  }
  if (result)
    return result;
  if (signature.findInput(name)) {
    error(place, "`" + name + "` is an input and cannot be returned").suggest("results are tables the model computes");
    return std::nullopt;
  }
  if (isLost(name))
    return std::nullopt;
  std::string_view near = nearest(name, names);
  error(place, "there is no table \"" + name + "\" to return")
      .suggest(near.empty() ? "keep it first, as in n[\"" + name + "\"] = …"
                            : "did you mean \"" + std::string(near) + "\"?");
  return std::nullopt;
}

/// Gradients are read and written as `grad.NAME`, of results and of inputs: no two of these names may be one.
bool Importer::checkResultName(const Result &result) {
  constexpr std::string_view kPrefix = "grad.";
  auto help = [&](const std::string &name) {
    return "keep it under another name, such as \"" + name + "\"" +
           (hasResults ? "" : ", or end the model with a `return` that leaves it out");
  };
  if (const InputDecl *input = signature.findInput(result.name)) {
    error(result.place, "a result and an input are both called `" + result.name + "`; `grad." + result.name +
                            "` would be the gradient of either")
        .note(input->place, "the input is declared here")
        .suggest(help(result.name + "_out"));
    return false;
  }
  if (!result.name.starts_with(kPrefix))
    return true;
  std::string of = result.name.substr(kPrefix.size());
  const InputDecl *input = signature.findInput(of);
  Diagnostic &diagnostic =
      error(result.place, input ? "the result `" + result.name + "` has the name of the gradient of input `" + of + "`"
                                : "the result `" + result.name + "` has a name that is kept for gradients");
  if (input)
    diagnostic.note(input->place, "the input is declared here");
  diagnostic.suggest(help(of + "_grad"));
  return false;
}

/// Puts ops in the order in which the results need them and drops those that nothing needs.
static void orderByUse(mlir::Block &block) {
  mlir::Operation *end = block.getTerminator();
  llvm::SetVector<mlir::Operation *> order;
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> stack{{end, 0}};
  llvm::DenseSet<mlir::Operation *> entered{end};
  while (!stack.empty()) {
    auto &[op, next] = stack.back();
    if (next == op->getNumOperands()) {
      order.insert(op);
      stack.pop_back();
      continue;
    }
    mlir::Operation *producer = op->getOperand(next++).getDefiningOp();
    if (producer && entered.insert(producer).second)
      stack.push_back({producer, 0});
  }
  llvm::SmallVector<mlir::Operation *> dead;
  for (mlir::Operation &op : block)
    if (!order.contains(&op))
      dead.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(dead))
    op->erase();
  for (mlir::Operation *op : order)
    if (op != end)
      op->moveBefore(end);
}

mlir::OwningOpRef<mlir::ModuleOp> Importer::run() {
  mlir::OwningOpRef<mlir::ModuleOp> result = mlir::ModuleOp::create(location(signature.place));
  llvm::SmallVector<mlir::Type> argumentTypes;
  for (const InputDecl &input : signature.inputs) {
    auto shape = rowShape(input, binding, diagnostics);
    if (shape)
      argumentTypes.push_back(
          flow::RowsType::get(&context, domainOf(input.home), *shape, elementType, flow::Residency::Device));
  }
  if (!diagnostics.empty())
    return nullptr;

  builder.setInsertionPointToEnd(result->getBody());
  auto function = builder.create<mlir::func::FuncOp>(location(signature.place), signature.name,
                                                     builder.getFunctionType(argumentTypes, {}));
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (auto [i, input] : llvm::enumerate(signature.inputs)) {
    inputs[input.name] = body->getArgument(i);
    body->getArgument(i).setLoc(location(input.place));
    function.setArgAttr(i, "flow.name", builder.getStringAttr(input.name));
  }

  scopes.emplace_back();
  runBlock(signature.function ? signature.function->body : module.body);
  if (!hasResults && diagnostics.empty()) {
    if (signature.function) {
      error(signature.place, "the model returns nothing").suggest("end it with `return n[\"out\"]`");
    } else {
      // A model without `def` gives what it keeps.
      for (auto &[key, slot] : tables)
        results.push_back({key.second, slot.place, key.first, &slot});
      for (size_t i = 0; i < results.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if (results[i].name == results[j].name)
            error(results[i].place, "two tables are called \"" + results[i].name + "\"")
                .note(results[j].place, "the other one is here")
                .suggest("add a `return` that says which are results");
      for (const Result &result : results)
        checkResultName(result);
      if (results.empty())
        error(signature.place, "the model computes nothing").suggest("keep a result, as in n[\"out\"] = …");
    }
  }
  if (!diagnostics.empty())
    return nullptr;

  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::Type> resultTypes;
  for (const Result &result : results) {
    if (isPoison(result.slot->item))
      return nullptr;
    Rows rows;
    if (const Rows *kept = tryGet<Rows>(result.slot->item))
      rows = *kept;
    else
      rows = *toRows(result.slot->item, result.place);
    mlir::Value value = rows.table;
    flow::RowsType type = rows.type().withDomain(result.domain);
    if (type.isBool()) {
      auto element = type.withElementType(elementType);
      Map map = rows.type().getDomain() == result.domain ? Map::Self
                : rows.type().getDomain() == Domain::One ? Map::One
                                                         : rows.map;
      value = createDense(flow::CastOp::getOperationName(), result.place, {{value, map}}, element, {});
    } else if (rows.type().getDomain() != result.domain) {
      Map map = rows.type().getDomain() == Domain::One ? Map::One : rows.map;
      value = builder.create<flow::SpreadOp>(location(result.place), type, value, flow::MapAttr::get(&context, map));
    }
    values.push_back(value);
    resultTypes.push_back(value.getType());
  }
  builder.create<mlir::func::ReturnOp>(location(signature.place), values);
  function.setType(builder.getFunctionType(argumentTypes, resultTypes));
  for (auto [i, result] : llvm::enumerate(results))
    function.setResultAttr(i, "flow.name", builder.getStringAttr(result.name));

  if (!relationEnds.empty()) {
    llvm::SmallVector<mlir::Attribute> ends;
    for (Map end : relationEnds)
      ends.push_back(flow::MapAttr::get(&context, end));
    function->setAttr("flow.relation_ends", builder.getArrayAttr(ends));
  }

  mlir::IRRewriter rewriter(&context);
  mlir::DominanceInfo dominance(function);
  mlir::eliminateCommonSubExpressions(rewriter, dominance, function);
  orderByUse(*body);
  if (mlir::failed(mlir::verify(*result)))
    return nullptr;
  return result;
}

}  // namespace hector::importer

namespace hector {

mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const language::Module &module,
                                              const language::Signature &signature, const language::Binding &binding,
                                              mlir::FloatType elementType, language::Diagnostics &diagnostics,
                                              bool fold) {
  return importer::Importer(context, module, signature, binding, elementType, diagnostics, fold).run();
}

llvm::StringRef inputName(mlir::Operation *function, unsigned index) {
  auto name = mlir::cast<mlir::func::FuncOp>(function).getArgAttrOfType<mlir::StringAttr>(index, "flow.name");
  return name ? name.getValue() : llvm::StringRef();
}

llvm::StringRef resultName(mlir::Operation *function, unsigned index) {
  auto name = mlir::cast<mlir::func::FuncOp>(function).getResultAttrOfType<mlir::StringAttr>(index, "flow.name");
  return name ? name.getValue() : llvm::StringRef();
}

}  // namespace hector
