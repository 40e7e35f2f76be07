/// The language's own functions, and calls of the user's.

#include "compiler/Import/Importer.h"
#include "language/Prelude.h"

#include <cmath>

namespace hector::importer {

using flow::Domain;
using flow::Map;
using flow::ReduceKind;
using namespace language;

namespace {

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double reciprocalRoot(double x) {
  return 1.0 / std::sqrt(x);
}
double relu(double x) {
  return x > 0.0 || std::isnan(x) ? x : 0.0;
}
double sign(double x) {
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

/// A function of one number: its op, and its value where the argument is known when compiling.
struct UnaryFunction {
  std::string_view name;
  llvm::StringLiteral (*op)();
  double (*compute)(double);
};

const UnaryFunction kUnaryFunctions[] = {
    {"abs", [] { return flow::AbsOp::getOperationName(); }, [](double x) { return std::abs(x); }},
    {"cos", [] { return flow::CosOp::getOperationName(); }, [](double x) { return std::cos(x); }},
    {"erf", [] { return flow::ErfOp::getOperationName(); }, [](double x) { return std::erf(x); }},
    {"exp", [] { return flow::ExpOp::getOperationName(); }, [](double x) { return std::exp(x); }},
    {"floor", [] { return flow::FloorOp::getOperationName(); }, [](double x) { return std::floor(x); }},
    {"log", [] { return flow::LogOp::getOperationName(); }, [](double x) { return std::log(x); }},
    {"relu", [] { return flow::ReluOp::getOperationName(); }, relu},
    {"rsqrt", [] { return flow::RsqrtOp::getOperationName(); }, reciprocalRoot},
    {"sigmoid", [] { return flow::SigmoidOp::getOperationName(); }, sigmoid},
    {"sign", [] { return flow::SignOp::getOperationName(); }, sign},
    {"sin", [] { return flow::SinOp::getOperationName(); }, [](double x) { return std::sin(x); }},
    {"softplus", [] { return flow::SoftplusOp::getOperationName(); }, softplus},
    {"sqrt", [] { return flow::SqrtOp::getOperationName(); }, [](double x) { return std::sqrt(x); }},
    {"tanh", [] { return flow::TanhOp::getOperationName(); }, [](double x) { return std::tanh(x); }},
};

constexpr std::string_view kOtherBuiltins[] = {
    "concat", "dot_prd",    "dot_prod", "dropout", "float", "int", "leaky_relu", "leakyrelu", "linear", "max",   "mean",
    "min",    "outer_prod", "pow",      "reshape", "split", "str", "sum",        "transpose", "where",  "range",
};

/// What users reach for that the language has no word for.
struct Refusal {
  std::string_view name;
  std::string_view hint;
};

constexpr Refusal kRefusals[] = {
    {"topk",
     "choosing the k largest neighbours is not in the language; weigh all of them, for example by edge_softmax"},
    {"top_k",
     "choosing the k largest neighbours is not in the language; weigh all of them, for example by edge_softmax"},
    {"sort", "rows have no order in the language; combine them by sum, mean, max or min"},
    {"argmax", "indices are not values in the language; max(…) gives the largest value itself"},
    {"argmin", "indices are not values in the language; min(…) gives the smallest value itself"},
    {"lstm", "aggregation in sequence is not in the language; combine rows by sum, mean, max or min"},
    {"gru", "aggregation in sequence is not in the language; write the gates with sigmoid and tanh, row by row"},
    {"zeros", "a number stretches to any shape: write 0.0"},
    {"ones", "a number stretches to any shape: write 1.0"},
    {"full", "a number stretches to any shape: write the number"},
    {"matmul", "write x @ W or linear(x, W)"},
    {"mm", "write x @ W or linear(x, W)"},
    {"bmm", "write linear(x, W), which treats leading axes one by one"},
    {"einsum", "write linear(x, W), dot_prod(a, b) or outer_prod(a, b), with reshape and .T around them"},
    {"dot", "write dot_prod(a, b)"},
    {"outer", "write outer_prod(a, b)"},
    {"cat", "write concat(a, b)"},
    {"stack", "write concat(a[None], b[None], axis=0), where `None` is the new axis"},
    {"view", "write reshape(x, a, b), or x[:, None] to add an axis of size 1"},
    {"unsqueeze", "write x[:, None], with `None` where the new axis goes; x[None] puts it first"},
    {"expand_dims", "write x[:, None], with `None` where the new axis goes; x[None] puts it first"},
    {"squeeze", "write x[:, 0], which takes the only part of an axis of size 1"},
    {"flatten", "write reshape(x, -1)"},
    {"repeat", "axes of size 1 stretch by themselves: write x[:, None], with `None` where the new axis goes"},
    {"expand", "axes of size 1 stretch by themselves: write x[:, None], with `None` where the new axis goes"},
    {"clamp", "write min(max(x, low), high)"},
    {"clip", "write min(max(x, low), high)"},
    {"swish", "write silu(x)"},
    {"norm", "write sqrt(sum(x * x)), or normalize(x) for a row of length 1"},
    {"batch_norm", "write it with mean(n.x for n in g.nodes()), or use layer_norm(x) within a row"},
    {"prod", "products over rows are not in the language; write exp(sum(log(…) for …))"},
    {"std", "a deviation is sqrt(mean(x * x for …) - mean(x for …) ** 2 + eps)"},
    {"var", "a variance is mean(x * x for …) - mean(x for …) ** 2"},
    {"print", "models compute tables and print nothing; return what you want to see"},
    {"len", "counts are sums: in_degree(n), or sum(1.0 for e in p.edges())"},
};

}  // namespace

bool Importer::isBuiltin(std::string_view name) {
  return std::any_of(std::begin(kUnaryFunctions), std::end(kUnaryFunctions),
                     [&](const UnaryFunction &function) { return function.name == name; }) ||
         std::find(std::begin(kOtherBuiltins), std::end(kOtherBuiltins), name) != std::end(kOtherBuiltins);
}

std::vector<std::string_view> Importer::functionNames() const {
  std::vector<std::string_view> names;
  for (const UnaryFunction &function : kUnaryFunctions)
    names.push_back(function.name);
  names.insert(names.end(), std::begin(kOtherBuiltins), std::end(kOtherBuiltins));
  for (const StmtPtr &statement : prelude().body)
    if (const auto *function = as<FunctionStmt>(statement))
      names.push_back(function->name);
  if (!scopes.back().isPrelude)
    for (const auto &[name, function] : functions)
      names.push_back(name);
  return names;
}

Item Importer::evaluateCall(const CallExpr &expr) {
  if (const auto *method = as<AttributeExpr>(expr.callee)) {
    if (const auto *module = as<NameExpr>(method->base);
        module && !findLocal(module->name) && !signature.findInput(module->name)) {
      for (std::string_view name : {"torch", "F", "nn", "np", "numpy", "math", "dgl", "fn", "tf", "jnp", "jax"})
        if (module->name == name)
          return fail(method->place, "there are no modules in the language, so no `" + module->name + "`",
                      "built-in functions have bare names: `" + method->name + "(…)`");
    }
    Item base = evaluate(*method->base);
    if (isPoison(base))
      return Poison{};
    if (tryGet<Element>(base) || tryGet<WholeGraph>(base))
      return fail(expr.place, "`" + std::string(expr.place.text().substr(0, 60)) + "` can only be looped over",
                  "write `for e in " + std::string(expr.place.text().substr(0, 60)) + ":`, or sum(… for e in …)");
    for (const Refusal &refusal : kRefusals)
      if (refusal.name == method->name)
        return fail(method->namePlace, "values have no methods, so no `." + method->name + "(…)`",
                    std::string(refusal.hint));
    return fail(method->namePlace, "values have no methods, so no `." + method->name + "(…)`",
                "functions are written before their argument: `" + method->name + "(" +
                    std::string(method->base->place.text().substr(0, 40)) + ")`");
  }
  const auto *callee = as<NameExpr>(expr.callee);
  if (!callee)
    return fail(expr.callee->place, "only functions can be called");
  const std::string &name = callee->name;
  if (!scopes.back().isPrelude) {
    auto own = functions.find(name);
    if (own != functions.end())
      return callFunction(*own->second, /*isPrelude=*/false, expr);
  }
  for (const StmtPtr &statement : prelude().body)
    if (const auto *function = as<FunctionStmt>(statement); function && function->name == name)
      return callFunction(*function, /*isPrelude=*/true, expr);
  bool isKnown = true;
  Item result = callBuiltin(name, expr, isKnown);
  if (isKnown)
    return result;
  for (const Refusal &refusal : kRefusals)
    if (refusal.name == name)
      return fail(callee->place, "the language has no `" + name + "`", std::string(refusal.hint));
  std::string_view near = nearest(name, functionNames());
  return fail(callee->place, "there is no function `" + name + "`",
              near.empty() ? "write it as a function of your own, above the model"
                           : "did you mean `" + std::string(near) + "`?");
}

/// Matches a call's arguments to parameter names; absent ones are null. The first `required` must be there.
std::optional<std::vector<const Expr *>> Importer::arguments(const CallExpr &call,
                                                             llvm::ArrayRef<std::string_view> names, size_t required) {
  std::string function(call.callee->place.text());
  std::vector<const Expr *> values(names.size(), nullptr);
  if (call.arguments.size() > names.size()) {
    error(call.place, "`" + function + "` takes at most " + std::to_string(names.size()) +
                          (names.size() == 1 ? " argument" : " arguments") + ", but is given " +
                          std::to_string(call.arguments.size()));
    return std::nullopt;
  }
  for (size_t i = 0; i < call.arguments.size(); ++i)
    values[i] = call.arguments[i].get();
  for (const Keyword &keyword : call.keywords) {
    auto found = std::find(names.begin(), names.end(), keyword.name);
    if (found == names.end()) {
      std::string list;
      for (std::string_view name : names)
        list += (list.empty() ? "" : ", ") + std::string(name);
      error(keyword.namePlace, "`" + function + "` has no parameter `" + keyword.name + "`").suggest("it has " + list);
      return std::nullopt;
    }
    const Expr *&value = values[found - names.begin()];
    if (value) {
      error(keyword.namePlace, "`" + keyword.name + "` is given twice");
      return std::nullopt;
    }
    value = keyword.value.get();
  }
  for (size_t i = 0; i < required; ++i) {
    if (values[i])
      continue;
    error(call.place, "`" + function + "` needs a value for `" + std::string(names[i]) + "`");
    return std::nullopt;
  }
  return values;
}

Item Importer::callBuiltin(const std::string &name, const CallExpr &call, bool &isKnown) {
  for (const UnaryFunction &function : kUnaryFunctions) {
    if (function.name != name)
      continue;
    auto values = arguments(call, {"x"}, 1);
    if (!values)
      return Poison{};
    Item item = evaluate(*(*values)[0]);
    if (auto number = asNumber(item)) {
      if (name == "abs" && number->isInteger && number->integer != INT64_MIN)
        return Number::of(std::abs(number->integer));
      return Number::of(function.compute(number->value));
    }
    auto rows = toNumbers(item, (*values)[0]->place);
    if (!rows)
      return Poison{};
    return buildDense(function.op(), call.place, {{*rows, (*values)[0]->place}}, rows->type().getShape(), elementType,
                      {});
  }
  if (name == "leakyrelu" || name == "leaky_relu") {
    auto values = arguments(call, {"x", "slope"}, 1);
    if (!values)
      return Poison{};
    Item item = evaluate(*(*values)[0]);
    Item slope = (*values)[1] ? evaluate(*(*values)[1]) : Item(Number::of(0.2));
    if (isPoison(item) || isPoison(slope))
      return Poison{};
    auto number = asNumber(slope);
    if (!number)
      return fail((*values)[1]->place, "the slope is a number known when compiling, not " + describe(slope));
    auto rows = toNumbers(item, (*values)[0]->place);
    if (!rows)
      return Poison{};
    return dense<flow::LeakyReluOp>(call.place, {{*rows, (*values)[0]->place}}, rows->type().getShape(), elementType,
                                    {builder.getNamedAttr("slope", builder.getF64FloatAttr(number->value))});
  }
  if (name == "sum")
    return reduceCall(ReduceKind::Sum, call);
  if (name == "mean")
    return reduceCall(ReduceKind::Mean, call);
  if (name == "max")
    return reduceCall(ReduceKind::Max, call);
  if (name == "min")
    return reduceCall(ReduceKind::Min, call);
  if (name == "linear") {
    auto values = arguments(call, {"x", "W"}, 2);
    if (!values)
      return Poison{};
    Item x = evaluate(*(*values)[0]), weights = evaluate(*(*values)[1]);
    if (isPoison(x) || isPoison(weights))
      return Poison{};
    return linear(x, weights, call.place, (*values)[0]->place, (*values)[1]->place);
  }
  if (name == "dot_prod" || name == "dot_prd")
    return callDot(call, /*isOuter=*/false);
  if (name == "outer_prod")
    return callDot(call, /*isOuter=*/true);
  if (name == "dropout")
    return callDropout(call);
  if (name == "reshape")
    return callReshape(call);
  if (name == "concat")
    return callConcat(call);
  if (name == "split")
    return callSplit(call);
  if (name == "transpose")
    return callTranspose(call);
  if (name == "where")
    return callWhere(call);
  if (name == "pow") {
    auto values = arguments(call, {"x", "y"}, 2);
    if (!values)
      return Poison{};
    Item x = evaluate(*(*values)[0]), y = evaluate(*(*values)[1]);
    if (isPoison(x) || isPoison(y))
      return Poison{};
    return binary(BinaryOp::Power, x, y, call.place, (*values)[0]->place, (*values)[1]->place);
  }
  if (name == "int" || name == "float") {
    auto values = arguments(call, {"x"}, 1);
    if (!values)
      return Poison{};
    Item item = evaluate(*(*values)[0]);
    if (auto number = asNumber(item)) {
      if (name == "float")
        return Number::of(number->value);
      if (!number->isInteger && !(std::abs(number->value) < 9.2e18))
        return fail(call.place, "this number does not fit in 64 bits");
      return Number::of(number->isInteger ? number->integer : static_cast<int64_t>(number->value));
    }
    if (name == "int")
      return fail(call.place, "int(…) takes a number known when compiling, not " + describe(item),
                  "floor(x) rounds rows down");
    auto rows = toNumbers(item, (*values)[0]->place);
    return rows ? Item(*rows) : Item(Poison{});
  }
  if (name == "str") {
    auto values = arguments(call, {"x"}, 1);
    if (!values)
      return Poison{};
    Item item = evaluate(*(*values)[0]);
    if (tryGet<Text>(item) || isPoison(item))
      return item;
    if (const Truth *truth = tryGet<Truth>(item))
      return Text{truth->value ? "True" : "False"};
    const Number *number = tryGet<Number>(item);
    if (!number || !number->isInteger)
      return fail((*values)[0]->place, "str(…) takes an integer known when compiling, not " + describe(item));
    return Text{std::to_string(number->integer)};
  }
  if (name == "range")
    return fail(call.place, "range(…) stands only in `for`", "write `for k in range(K):`");
  isKnown = false;
  return Poison{};
}

/// Draws once for each row of the innermost loop, as Python would; for types and shared parameters once, where they
/// live. Every call that is carried out has a stream of its own.
Item Importer::callDropout(const CallExpr &call) {
  auto values = arguments(call, {"x", "p"}, 2);
  if (!values)
    return Poison{};
  const Expr &x = *(*values)[0], &part = *(*values)[1];
  Item item = evaluate(x), rate = evaluate(part);
  if (isPoison(item) || isPoison(rate))
    return Poison{};
  const Number *number = tryGet<Number>(rate);
  if (!number)
    return fail(part.place, "the part that dropout sets to 0 is a number known when compiling, not " + describe(rate));
  double value = number->value;
  if (!(value >= 0.0 && value <= 1.0))
    return fail(part.place, "dropout sets a part from 0 to 1 of the numbers to 0, but `p` is " + formatConstant(value),
                value > 1.0 && value <= 100.0 ? "for percent, write " + formatConstant(value / 100.0) : "");
  auto rows = toNumbers(item, x.place);
  if (!rows)
    return Poison{};
  mlir::NamedAttribute attributes[] = {builder.getNamedAttr("rate", builder.getF64FloatAttr(value)),
                                       builder.getNamedAttr("stream", builder.getI64IntegerAttr(streams++))};
  // A number belongs to no table, so it is drawn for every row as well: dropout(1.0, 0.2) leaves out edges.
  if (!tryGet<Rows>(item) && current != kNoFrame) {
    auto type = rows->type().withDomain(frames[current].domain);
    return Rows{
        createDense(flow::DropoutOp::getOperationName(), call.place, {{rows->table, Map::One}}, type, attributes),
        current, Map::Self};
  }
  return dense<flow::DropoutOp>(call.place, {{*rows, x.place}}, rows->type().getShape(), elementType, attributes);
}

//===- Sums, means, largest and smallest -------------------------------------------------------------------------===//

/// The larger or smaller of two numbers known when compiling: the first where they are equal, and NaN where one is NaN.
static Item chooseNumber(ReduceKind kind, const Item &first, const Item &second) {
  Number a = *asNumber(first), b = *asNumber(second);
  if (kind == ReduceKind::Min)
    std::swap(a, b);
  bool isLess = a.isInteger && b.isInteger ? a.integer < b.integer : a.value < b.value;
  double before = asNumber(first)->value, next = asNumber(second)->value;
  return !std::isnan(before) && (isLess || std::isnan(next)) ? second : first;
}

Item Importer::reduceCall(ReduceKind kind, const CallExpr &call) {
  std::string name(call.callee->place.text());
  if (call.arguments.empty())
    return fail(call.place, "`" + name + "` needs something to combine");
  // sum([… for e in …]) is the same as without the brackets.
  const Expr *first = call.arguments[0].get();
  if (const auto *generator = as<GeneratorExpr>(*first)) {
    if (call.arguments.size() > 1 || !call.keywords.empty())
      return fail(call.place, "`" + name + "` over rows takes nothing but the generator expression");
    return reduceGenerator(kind, *generator, call.place);
  }
  bool isChoice = kind == ReduceKind::Max || kind == ReduceKind::Min;
  if (isChoice && call.arguments.size() > 1 && call.keywords.empty()) {
    Item item = evaluate(*first);
    for (size_t i = 1; i < call.arguments.size(); ++i) {
      Item next = evaluate(*call.arguments[i]);
      if (isPoison(item) || isPoison(next))
        return Poison{};
      if (asNumber(item) && asNumber(next)) {
        item = chooseNumber(kind, item, next);
        continue;
      }
      llvm::StringRef op = kind == ReduceKind::Max ? flow::MaxOp::getOperationName() : flow::MinOp::getOperationName();
      item = elementwise(op, item, next, call.place, first->place, call.arguments[i]->place, false);
    }
    return item;
  }
  // Elsewhere a second argument is an axis or a start.
  if (call.arguments.size() > 1)
    return fail(call.arguments[1]->place, "`" + name + "` combines the numbers of one row",
                "name the axis: `" + name + "(x, axis=" + std::string(call.arguments[1]->place.text().substr(0, 20)) +
                    ")`");
  Item item = evaluate(*first);
  if (isPoison(item))
    return Poison{};
  return reduceRow(kind, item, call);
}

Item Importer::reduceRow(ReduceKind kind, const Item &item, const CallExpr &call) {
  auto values = arguments(call, {"x", "axis", "keepdims"}, 1);
  auto input = toNumbers(item, call.arguments[0]->place);
  if (!values || !input)
    return Poison{};
  Rows rows = *input;
  int64_t rank = rows.type().getRank();
  if (rank == 0)
    return fail(call.place, "there is nothing to combine in one number per row",
                "to combine rows, write " + std::string(call.callee->place.text()) + "(… for e in n.incoming_edges())");
  bool keep = false;
  if ((*values)[2]) {
    auto truth = compileTimeTruth(*(*values)[2], "`keepdims` is known when compiling");
    if (!truth)
      return Poison{};
    keep = *truth;
  }
  llvm::SmallVector<int64_t> axes;
  if ((*values)[1]) {
    auto axis = readAxis((*values)[1], rank, 0);
    if (!axis)
      return Poison{};
    axes.push_back(*axis);
  } else {
    for (int64_t axis = rank - 1; axis >= 0; --axis)
      axes.push_back(axis);
  }
  llvm::SmallVector<int64_t> kept(rows.type().getShape());
  for (int64_t axis : axes) {
    llvm::SmallVector<int64_t> shape(rows.type().getShape());
    kept[axis] = 1;
    shape.erase(shape.begin() + axis);
    Item reduced = dense<flow::RowReduceOp>(call.place, {{rows, call.arguments[0]->place}}, shape, elementType,
                                            {builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)),
                                             builder.getNamedAttr("kind", flow::ReduceKindAttr::get(&context, kind))});
    if (isPoison(reduced))
      return Poison{};
    rows = std::get<Rows>(reduced);
  }
  return keep ? reshape(rows, kept, call.place) : Item(rows);
}

std::optional<int64_t> Importer::readAxis(const Expr *expr, int64_t rank, int64_t otherwise) {
  if (!expr)
    return otherwise;
  auto axis = compileTimeInteger(*expr, "an axis is a number known when compiling");
  if (!axis)
    return std::nullopt;
  if (*axis < -rank || *axis >= rank) {
    error(expr->place,
          "axis " + std::to_string(*axis) + " of a row with " + std::to_string(rank) + (rank == 1 ? " axis" : " axes"))
        .suggest("axes are numbered from 0, or from -1 backwards");
    return std::nullopt;
  }
  return *axis < 0 ? *axis + rank : *axis;
}

/// `[… for k in range(K)]`: a list of the values of every round.
Item Importer::unrollList(const GeneratorExpr &generator) {
  const auto *call = as<CallExpr>(generator.iterator);
  const auto *callee = call ? as<NameExpr>(call->callee) : nullptr;
  if (!callee || callee->name != "range")
    return fail(generator.place, "rows are combined by sum(…), mean(…), max(…) or min(…) around this",
                "a list of values has rounds known when compiling: `[… for k in range(K)]`");
  auto iteration = readIterator(*generator.iterator);
  if (!iteration)
    return Poison{};
  auto &locals = scopes.back().locals;
  std::optional<Slot> shadowed;
  if (Slot *slot = findLocal(generator.variable))
    shadowed = std::move(*slot);
  Tuple list;
  bool isFine = true;
  for (int64_t k : iteration->numbers) {
    Slot slot;
    slot.item = Number::of(k);
    slot.place = generator.variablePlace;
    slot.boundIn = current;
    locals[generator.variable] = std::move(slot);
    if (generator.condition) {
      auto keep = compileTimeTruth(*generator.condition, "range() is unrolled when compiling");
      isFine &= keep.has_value();
      if (!keep || !*keep)
        continue;
    }
    list.items.push_back(evaluate(*generator.body));
    isFine &= !isPoison(list.items.back());
  }
  locals.erase(generator.variable);
  if (shadowed)
    locals[generator.variable] = std::move(*shadowed);
  return isFine ? Item(std::move(list)) : Item(Poison{});
}

Item Importer::reduceGenerator(ReduceKind kind, const GeneratorExpr &generator, Place place) {
  auto iteration = readIterator(*generator.iterator);
  if (!iteration)
    return Poison{};
  auto &locals = scopes.back().locals;
  // The variable lives in the expression only; a name of the same spelling outside comes back afterwards.
  std::optional<Slot> shadowed;
  if (Slot *slot = findLocal(generator.variable))
    shadowed = std::move(*slot);
  auto restore = [&] {
    locals.erase(generator.variable);
    if (shadowed)
      locals[generator.variable] = std::move(*shadowed);
  };
  auto bind = [&](Item item) {
    Slot slot;
    slot.item = std::move(item);
    slot.place = generator.variablePlace;
    slot.boundIn = current;
    locals[generator.variable] = std::move(slot);
  };

  if (iteration->isRange) {
    std::optional<Item> total;
    int64_t count = 0;
    for (int64_t k : iteration->numbers) {
      bind(Number::of(k));
      if (generator.condition) {
        auto keep = compileTimeTruth(*generator.condition, "range() is unrolled when compiling");
        if (!keep) {
          restore();
          return Poison{};
        }
        if (!*keep)
          continue;
      }
      Item item = evaluate(*generator.body);
      ++count;
      bool isSum = kind == ReduceKind::Sum || kind == ReduceKind::Mean;
      if (isPoison(item) || (total && isPoison(*total))) {
        total = Poison{};
      } else if (!total) {
        auto number = asNumber(item);
        total = isSum && number ? Item(*number) : std::move(item);
      } else if (isSum) {
        total = binary(BinaryOp::Add, *total, item, place, place, generator.body->place);
      } else if (asNumber(*total) && asNumber(item)) {
        total = chooseNumber(kind, *total, item);
      } else {
        llvm::StringRef op =
            kind == ReduceKind::Max ? flow::MaxOp::getOperationName() : flow::MinOp::getOperationName();
        total = elementwise(op, *total, item, place, place, generator.body->place, false);
      }
    }
    restore();
    if (!total)
      return Number::of(int64_t{0});
    if (kind == ReduceKind::Mean && !isPoison(*total))
      return binary(BinaryOp::Divide, *total, Number::of(static_cast<double>(count)), place, place, place);
    return *total;
  }

  auto frame = openLoop(*iteration, generator.variable, generator.place, /*isStatement=*/false);
  if (!frame) {
    restore();
    return Poison{};
  }
  int outer = current;
  int parent = frames[*frame].parent;
  current = *frame;
  bind(Element{iteration->domain, *frame, Map::Self});
  std::optional<Rows> body, condition;
  bool isKept = true, isFine = true;
  if (generator.condition) {
    Item item = evaluate(*generator.condition);
    if (const Truth *truth = tryGet<Truth>(item))
      isKept = truth->value;
    else if (const Rows *rows = tryGet<Rows>(item); rows && rows->type().isBool())
      condition = *rows;
    else if (isPoison(item))
      isFine = false;
    else {
      error(generator.condition->place, "a condition is a comparison, not " + describe(item))
          .suggest("write, for example, `if e.w > 0`");
      isFine = false;
    }
  }
  body = toNumbers(evaluate(*generator.body), generator.body->place);
  mlir::Value fine, count;
  if (body && isFine) {
    Rows rows = *body;
    if (!isKept) {
      Rows zero{constant(0.0, place), kNoFrame, Map::Self};
      rows = std::get<Rows>(dense<flow::ExpandOp>(place, {{zero, place}}, rows.type().getShape(), elementType));
    } else if (condition) {
      // A row that is left out must not count: 0 in a sum, the far end of the scale for max and min.
      double neutral = kind == ReduceKind::Max ? -INFINITY : kind == ReduceKind::Min ? INFINITY : 0.0;
      Rows otherwise{constant(neutral, place), kNoFrame, Map::Self};
      llvm::ArrayRef<int64_t> shape = rows.type().getShape();
      if (condition->type().getRank() != 0) {
        isFine = false;
        error(generator.condition->place,
              "a row is kept or not as a whole, but this gives " + formatRowShape(condition->type().getShape()));
      } else {
        Item chosen = dense<flow::SelectOp>(
            place, {{*condition, generator.condition->place}, {rows, generator.body->place}, {otherwise, place}}, shape,
            elementType);
        Item ones = dense<flow::CastOp>(place, {{*condition, generator.condition->place}}, {}, elementType);
        if (!isPoison(chosen) && !isPoison(ones)) {
          rows = std::get<Rows>(chosen);
          count = materialise(std::get<Rows>(ones), place);
        }
      }
    }
    fine = isFine ? materialise(rows, generator.body->place) : nullptr;
  }
  closeFrame(*frame);
  current = outer;
  restore();
  Rows result{nullptr, kNoFrame, Map::Self};
  if (iteration->over) {
    Element over = normalise(*iteration->over);
    result.frame = over.frame;
    result.map = over.map;
    if (over.frame != parent)
      closeFrame(parent);  // stood in for the element's own loop
  }
  if (!fine)
    return Poison{};

  Domain domain = parent == kNoFrame ? Domain::One : frames[parent].domain;
  Map via = parent == kNoFrame ? Map::One : iteration->up;
  auto collect = [&](ReduceKind by, mlir::Value rows) -> mlir::Value {
    auto type = mlir::cast<flow::RowsType>(rows.getType()).withDomain(domain);
    return builder.create<flow::ReduceOp>(location(place), type, flow::ReduceKindAttr::get(&context, by), rows,
                                          mlir::Value(), flow::MapAttr::get(&context, via));
  };
  if (!count) {
    result.table = collect(kind, fine);
    return result;
  }
  bool isMean = kind == ReduceKind::Mean;
  result.table = collect(isMean ? ReduceKind::Sum : kind, fine);
  if (kind == ReduceKind::Sum)
    return result;
  // Where no row was kept the result is 0, as for any empty reduction.
  auto type = mlir::cast<flow::RowsType>(result.table.getType());
  mlir::Value kept = collect(ReduceKind::Sum, count);
  Map one = domain == Domain::One ? Map::Self : Map::One;
  if (isMean) {
    mlir::Value divisor = createDense(flow::MaxOp::getOperationName(), place,
                                      {{kept, Map::Self}, {constant(1.0, place), one}}, type.withShape({}), {});
    result.table = createDense(flow::DivOp::getOperationName(), place,
                               {{result.table, Map::Self}, {divisor, Map::Self}}, type, {});
    return result;
  }
  auto truth = type.withShape({}).withElementType(builder.getI1Type());
  mlir::Value zero = constant(0.0, place);
  mlir::Value any = createDense(flow::LessOp::getOperationName(), place, {{zero, one}, {kept, Map::Self}}, truth, {});
  result.table = createDense(flow::SelectOp::getOperationName(), place,
                             {{any, Map::Self}, {result.table, Map::Self}, {zero, one}}, type, {});
  return result;
}

//===- Products and shapes ---------------------------------------------------------------------------------------===//

Item Importer::callDot(const CallExpr &call, bool isOuter) {
  auto values = arguments(call, {"a", "b"}, 2);
  if (!values)
    return Poison{};
  Place aPlace = (*values)[0]->place, bPlace = (*values)[1]->place;
  auto a = toNumbers(evaluate(*(*values)[0]), aPlace), b = toNumbers(evaluate(*(*values)[1]), bPlace);
  if (!a || !b)
    return Poison{};
  llvm::ArrayRef<int64_t> left = a->type().getShape(), right = b->type().getShape();
  std::string name(call.callee->place.text());
  if (left.empty() || right.empty())
    return fail(call.place, "`" + name + "` takes rows of at least one axis, but is given " + formatRowShape(left) +
                                " and " + formatRowShape(right));
  if (!isOuter && left.back() != right.back())
    return fail(call.place, "`" + name + "` takes rows of one length, but is given " + formatRowShape(left) + " and " +
                                formatRowShape(right));
  auto shape = flow::commonLead(left.drop_back(1), right.drop_back(1));
  if (!shape)
    return fail(call.place, "leading sizes differ: " + formatRowShape(left) + " and " + formatRowShape(right));
  if (!isOuter)
    return dense<flow::DotOp>(call.place, {{*a, aPlace}, {*b, bPlace}}, *shape, elementType);
  shape->push_back(left.back());
  shape->push_back(right.back());
  return dense<flow::OuterOp>(call.place, {{*a, aPlace}, {*b, bPlace}}, *shape, elementType);
}

Item Importer::callReshape(const CallExpr &call) {
  if (call.arguments.size() < 2 || !call.keywords.empty())
    return fail(call.place, "`reshape` takes rows and sizes", "write `reshape(x, heads, d)`");
  auto rows = toRows(evaluate(*call.arguments[0]), call.arguments[0]->place);
  if (!rows)
    return Poison{};
  std::vector<const Expr *> sizes;
  const auto *tuple = as<TupleExpr>(call.arguments[1]);
  if (tuple && call.arguments.size() == 2)
    for (const ExprPtr &size : tuple->items)
      sizes.push_back(size.get());
  else
    for (size_t i = 1; i < call.arguments.size(); ++i)
      sizes.push_back(call.arguments[i].get());
  llvm::SmallVector<int64_t> shape;
  int64_t total = rows->type().getRowSize(), known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto size = compileTimeInteger(*sizes[i], "a size is a number known when compiling");
    if (!size)
      return Poison{};
    if (*size == -1 && !open) {
      open = i;
    } else if (*size == -1) {
      return fail(sizes[i]->place, "one size of `reshape` may be -1, and another one is already");
    } else if (*size < 1) {
      return fail(sizes[i]->place, "a size is at least 1, but this is " + std::to_string(*size),
                  *size == -1 ? "only one size can be left open" : "");
    } else if (__builtin_mul_overflow(known, *size, &known)) {
      return fail(call.place, "the sizes do not fit in 64 bits");
    }
    shape.push_back(*size);
  }
  if (open && total % known == 0)
    shape[*open] = total / known;
  if (open ? total % known != 0 : total != known) {
    std::string wanted = open ? "a multiple of " + std::to_string(known) : std::to_string(known);
    return fail(call.place, "rows of " + formatRowShape(rows->type().getShape()) + " have " + std::to_string(total) +
                                " numbers, but the new shape " + formatRowShape(shape) + " has " + wanted);
  }
  return reshape(*rows, shape, call.place);
}

Item Importer::callConcat(const CallExpr &call) {
  std::vector<const Expr *> parts;
  const Expr *axisExpr = nullptr;
  for (const Keyword &keyword : call.keywords) {
    if (keyword.name != "axis")
      return fail(keyword.namePlace, "`concat` has no parameter `" + keyword.name + "`", "it has axis");
    axisExpr = keyword.value.get();
  }
  const auto *tuple = call.arguments.size() == 1 ? as<TupleExpr>(call.arguments[0]) : nullptr;
  if (tuple)
    for (const ExprPtr &item : tuple->items)
      parts.push_back(item.get());
  else
    for (const ExprPtr &item : call.arguments)
      parts.push_back(item.get());
  std::vector<Operand> operands;
  auto append = [&](const Item &item, Place place) {
    auto rows = toNumbers(item, place);
    if (rows)
      operands.push_back({*rows, place});
    return rows.has_value();
  };
  for (const Expr *part : parts) {
    Item item = evaluate(*part);
    if (const Tuple *several = tryGet<Tuple>(item)) {
      for (const Item &each : several->items)
        if (!append(each, part->place))
          return Poison{};
    } else if (!append(item, part->place)) {
      return Poison{};
    }
  }
  if (operands.empty())
    return fail(call.place, "`concat` needs rows to put side by side");
  llvm::SmallVector<int64_t> shape(operands[0].rows.type().getShape());
  if (shape.empty())
    return fail(operands[0].place, "one number per row has no axis to put others beside",
                "write `reshape(x, 1)` first");
  auto axis = readAxis(axisExpr, shape.size(), shape.size() - 1);
  if (!axis)
    return Poison{};
  int64_t total = 0;
  for (const Operand &operand : operands) {
    llvm::SmallVector<int64_t> part(operand.rows.type().getShape());
    if (part.size() == shape.size()) {
      total += part[*axis];
      part[*axis] = shape[*axis];
    }
    if (part != shape)
      return fail(operand.place, "rows of " + formatRowShape(operand.rows.type().getShape()) +
                                     " cannot be put beside rows of " + formatRowShape(shape) + " along axis " +
                                     std::to_string(*axis));
  }
  shape[*axis] = total;
  return dense<flow::ConcatOp>(call.place, operands, shape, elementType,
                               {builder.getNamedAttr("axis", builder.getI64IntegerAttr(*axis))});
}

Item Importer::callSplit(const CallExpr &call) {
  auto values = arguments(call, {"x", "parts", "axis"}, 2);
  if (!values)
    return Poison{};
  auto rows = toRows(evaluate(*(*values)[0]), (*values)[0]->place);
  if (!rows)
    return Poison{};
  llvm::ArrayRef<int64_t> shape = rows->type().getShape();
  if (shape.empty())
    return fail(call.place, "one number per row cannot be split");
  auto axis = readAxis((*values)[2], shape.size(), shape.size() - 1);
  if (!axis)
    return Poison{};
  std::vector<int64_t> sizes;
  int64_t total = 0;
  if (const auto *list = as<TupleExpr>(*(*values)[1])) {
    for (const ExprPtr &item : list->items) {
      auto size = compileTimeInteger(*item, "the size of a part is a number known when compiling");
      if (!size)
        return Poison{};
      if (*size < 1 || *size > shape[*axis])
        return fail(item->place,
                    "a part of size " + std::to_string(*size) + " of an axis of size " + std::to_string(shape[*axis]));
      sizes.push_back(*size);
      total += *size;
    }
  } else {
    auto parts = compileTimeInteger(*(*values)[1], "the number of parts is known when compiling");
    if (!parts)
      return Poison{};
    if (*parts < 1 || shape[*axis] % *parts != 0)
      return fail((*values)[1]->place,
                  "axis " + std::to_string(*axis) + " has size " + std::to_string(shape[*axis]) +
                      ", which does not split into " + std::to_string(*parts) + " equal parts",
                  "give the sizes: `split(x, [a, b])`");
    constexpr int64_t kMaxParts = 4096;
    if (*parts > kMaxParts)
      return fail((*values)[1]->place,
                  "`split` gives at most " + std::to_string(kMaxParts) + " parts, not " + std::to_string(*parts));
    sizes.assign(*parts, shape[*axis] / *parts);
    total = shape[*axis];
  }
  if (total != shape[*axis])
    return fail((*values)[1]->place, "the parts add up to " + std::to_string(total) + ", but axis " +
                                         std::to_string(*axis) + " has size " + std::to_string(shape[*axis]));
  Tuple result;
  int64_t offset = 0;
  for (int64_t size : sizes) {
    llvm::SmallVector<int64_t> part(shape);
    part[*axis] = size;
    result.items.push_back(dense<flow::SliceOp>(call.place, {{*rows, (*values)[0]->place}}, part,
                                                rows->type().getElementType(),
                                                {builder.getNamedAttr("axis", builder.getI64IntegerAttr(*axis)),
                                                 builder.getNamedAttr("offset", builder.getI64IntegerAttr(offset))}));
    offset += size;
  }
  return result;
}

Item Importer::callTranspose(const CallExpr &call) {
  auto values = arguments(call, {"x"}, 1);
  if (!values)
    return Poison{};
  auto rows = toRows(evaluate(*(*values)[0]), (*values)[0]->place);
  return rows ? transpose(*rows, call.place) : Item(Poison{});
}

Item Importer::callWhere(const CallExpr &call) {
  auto values = arguments(call, {"condition", "a", "b"}, 3);
  if (!values)
    return Poison{};
  Item condition = evaluate(*(*values)[0]), then = evaluate(*(*values)[1]), otherwise = evaluate(*(*values)[2]);
  if (isPoison(condition) || isPoison(then) || isPoison(otherwise))
    return Poison{};
  if (const Truth *truth = tryGet<Truth>(condition)) {
    const Item &chosen = truth->value ? then : otherwise;
    if (asNumber(then) && asNumber(otherwise))
      return chosen;
    // The result has the common shape, whichever side is chosen.
    auto a = toNumbers(then, (*values)[1]->place), b = toNumbers(otherwise, (*values)[2]->place);
    auto shape = a && b ? flow::commonShape(a->type().getShape(), b->type().getShape()) : std::nullopt;
    if (shape) {
      const Rows &rows = truth->value ? *a : *b;
      if (rows.type().getShape() == llvm::ArrayRef(*shape))
        return rows;
      return dense<flow::ExpandOp>(call.place, {{rows, call.place}}, *shape, elementType);
    }
    return a && b
               ? fail(call.place, "rows of " + formatRowShape(a->type().getShape()) + " and of " +
                                      formatRowShape(b->type().getShape()) + " cannot be combined element by element")
               : Item(Poison{});
  }
  const Rows *choice = tryGet<Rows>(condition);
  if (!choice || !choice->type().isBool())
    return fail((*values)[0]->place, "where(…) chooses by a comparison, not by " + describe(condition),
                "write, for example, `where(x > 0, a, b)`");
  auto a = toNumbers(then, (*values)[1]->place), b = toNumbers(otherwise, (*values)[2]->place);
  if (!a || !b)
    return Poison{};
  auto shape = flow::commonShape(a->type().getShape(), b->type().getShape());
  if (shape)
    shape = flow::commonShape(choice->type().getShape(), *shape);
  if (!shape)
    return fail(call.place, "rows of " + formatRowShape(choice->type().getShape()) + ", " +
                                formatRowShape(a->type().getShape()) + " and " + formatRowShape(b->type().getShape()) +
                                " cannot be combined element by element");
  return dense<flow::SelectOp>(call.place,
                               {{*choice, (*values)[0]->place}, {*a, (*values)[1]->place}, {*b, (*values)[2]->place}},
                               *shape, elementType);
}

}  // namespace hector::importer
