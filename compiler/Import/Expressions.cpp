/// Expressions: names, attributes, subscripts, operators; and the building of dense ops.

#include "compiler/Import/Importer.h"
#include "compiler/Import/Work.h"

#include <llvm/ADT/StringExtras.h>

#include <cmath>

namespace hector::importer {

using flow::Domain;
using flow::Map;
using namespace language;

std::string formatRowShape(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "one number";
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Whether rounds of a block are certain to go beyond the limit, before any of it is built; that is then an error.
bool Importer::isTooMuchWork(const Block &block, int64_t rounds, Place place) {
  LeastWork least(functions, [&](const std::string &name) -> std::optional<int64_t> {
    Item item = Poison{};
    if (Slot *slot = findLocal(name))
      item = slot->item;
    else if (auto size = binding.sizes.find(name); size != binding.sizes.end())
      item = Number::of(size->second);
    else if (auto attribute = binding.attributes.find(name); attribute != binding.attributes.end())
      if (const int64_t *integer = std::get_if<int64_t>(&attribute->second))
        item = Number::of(*integer);
    const Number *number = tryGet<Number>(item);
    return number && number->isInteger ? std::optional(number->integer) : std::nullopt;
  });
  if (work > kMaxWork || least.of(block, rounds, kMaxWork) <= kMaxWork - work)
    return work > kMaxWork;
  work = kMaxWork + 1;
  error(place, "the model unrolls to more than " + std::to_string(kMaxWork) + " expressions");
  return true;
}

/// The items in it, and the characters of its strings by the hundred.
static int64_t sizeOf(const Item &item) {
  if (const Text *text = tryGet<Text>(item))
    return static_cast<int64_t>(text->value.size()) / 100;
  int64_t size = 0;
  if (const Tuple *tuple = tryGet<Tuple>(item))
    for (const Item &one : tuple->items)
      size += 1 + sizeOf(one);
  return size;
}

Item Importer::evaluate(const Expr &expr) {
  // Inlined functions could nest deeper than the parser's own limit, and unrolled loops multiply.
  constexpr int kMaxDepth = 2000;
  if (++work > kMaxWork) {
    if (work == kMaxWork + 1)
      error(expr.place, "the model unrolls to more than " + std::to_string(kMaxWork) + " expressions");
    return Poison{};
  }
  struct Depth {
    int &depth;
    explicit Depth(int &depth) : depth(++depth) {}
    ~Depth() { --depth; }
  } guard(depth);
  if (depth > kMaxDepth)
    return fail(expr.place, "expressions and calls are nested more than " + std::to_string(kMaxDepth) + " deep");
  Item item = evaluateKind(expr);
  // A copy takes as long as it is large. What is too large shows with the next expression.
  if (tryGet<Text>(item) || tryGet<Tuple>(item))
    work += std::min(sizeOf(item), kMaxWork - work);
  return item;
}

Item Importer::evaluateKind(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Name:
    return evaluateName(static_cast<const NameExpr &>(expr));
  case ExprKind::Integer:
    return Number::of(static_cast<const IntegerExpr &>(expr).value);
  case ExprKind::Float:
    return Number::of(static_cast<const FloatExpr &>(expr).value);
  case ExprKind::String:
    return Text{static_cast<const StringExpr &>(expr).value};
  case ExprKind::Boolean:
    return Truth{static_cast<const BooleanExpr &>(expr).value};
  case ExprKind::None:
    return fail(expr.place, "`None` adds an axis to a row, and only that", "write it after a row, as in x[:, None]");
  case ExprKind::Attribute:
    return evaluateAttribute(static_cast<const AttributeExpr &>(expr));
  case ExprKind::Subscript:
    return evaluateSubscript(static_cast<const SubscriptExpr &>(expr));
  case ExprKind::Slice:
    return fail(expr.place, "a slice stands only in brackets");
  case ExprKind::Call:
    return evaluateCall(static_cast<const CallExpr &>(expr));
  case ExprKind::Unary:
    return evaluateUnary(static_cast<const UnaryExpr &>(expr));
  case ExprKind::Binary:
    return evaluateBinary(static_cast<const BinaryExpr &>(expr));
  case ExprKind::Compare:
    return evaluateCompare(static_cast<const CompareExpr &>(expr));
  case ExprKind::Logical:
    return evaluateLogical(static_cast<const LogicalExpr &>(expr));
  case ExprKind::Conditional:
    return evaluateConditional(static_cast<const ConditionalExpr &>(expr));
  case ExprKind::Generator:
    return unrollList(static_cast<const GeneratorExpr &>(expr));
  case ExprKind::Tuple: {
    Tuple tuple;
    for (const ExprPtr &item : static_cast<const TupleExpr &>(expr).items)
      tuple.items.push_back(evaluate(*item));
    return tuple;
  }
  }
  return Poison{};
}

//===- Names -----------------------------------------------------------------------------------------------------===//

Item Importer::evaluateName(const NameExpr &expr) {
  if (Slot *slot = findLocal(expr.name))
    return readLocal(*slot, expr.name, expr.place);
  if (!scopes.back().isPrelude) {
    if (expr.name == signature.graph)
      return WholeGraph{};
    if (const InputDecl *input = signature.findInput(expr.name)) {
      mlir::Value table = inputs.at(expr.name);
      if (input->home == Home::Shared)
        return Rows{table, kNoFrame, Map::Self};
      return Input{input, table};
    }
    if (auto size = binding.sizes.find(expr.name); size != binding.sizes.end() && signature.hasSize(expr.name))
      return Number::of(size->second);
    if (auto attribute = binding.attributes.find(expr.name); attribute != binding.attributes.end()) {
      if (const bool *truth = std::get_if<bool>(&attribute->second))
        return Truth{*truth};
      if (const int64_t *integer = std::get_if<int64_t>(&attribute->second))
        return Number::of(*integer);
      if (const double *number = std::get_if<double>(&attribute->second))
        return Number::of(*number);
      return Text{std::get<std::string>(attribute->second)};
    }
  }
  if (expr.name == "inf")
    return Number::of(INFINITY);
  if (expr.name == "pi")
    return Number::of(M_PI);

  std::vector<std::string_view> names = functionNames();
  if (std::find(names.begin(), names.end(), expr.name) != names.end())
    return fail(expr.place, "`" + expr.name + "` is a function", "call it: `" + expr.name + "(…)`");
  for (const auto &[name, slot] : scopes.back().locals)
    names.push_back(name);
  for (const InputDecl &input : signature.inputs)
    names.push_back(input.name);
  for (const AttributeDecl &attribute : signature.attributes)
    names.push_back(attribute.name);
  for (const SizeDecl &size : signature.sizes)
    names.push_back(size.name);
  names.push_back(signature.graph);
  std::string_view near = nearest(expr.name, names);
  if (!near.empty())
    return fail(expr.place, "nothing is called `" + expr.name + "`", "did you mean `" + std::string(near) + "`?");
  for (const auto &[key, slot] : tables)
    if (key.second == expr.name)
      return fail(expr.place, "nothing is called `" + expr.name + "`",
                  "data kept in a table is read from its row: n[\"" + expr.name + "\"]");
  return fail(expr.place, "nothing is called `" + expr.name + "`",
              "assign it before this line, or declare it in the signature: `" + expr.name + ": Shared[d]`");
}

Item Importer::evaluateAttribute(const AttributeExpr &expr) {
  Item base = evaluate(*expr.base);
  if (isPoison(base))
    return Poison{};
  if (const Rows *rows = tryGet<Rows>(base)) {
    if (expr.name != "T")
      return fail(expr.namePlace, describe(base) + " has no attribute `" + expr.name + "`");
    return transpose(*rows, expr.place);
  }
  const Element *element = tryGet<Element>(base);
  if (!element) {
    if (tryGet<WholeGraph>(base))
      return fail(expr.namePlace, "the graph has no data `" + expr.name + "`",
                  "it has iterators: g.nodes(), g.edges(), g.edge_types(), g.node_types()");
    return fail(expr.namePlace, describe(base) + " has no attribute `" + expr.name + "`");
  }

  struct Entry {
    Domain on;
    std::string_view name;
    Map map;
  };
  static constexpr Entry kEntries[] = {
      {Domain::Edge, "src", Map::Src},
      {Domain::Edge, "dst", Map::Dst},
      {Domain::Edge, "etype", Map::EdgeType},
      {Domain::Edge, "src_pair", Map::SrcPair},
      {Domain::Edge, "dst_pair", Map::DstPair},
      {Domain::Node, "ntype", Map::NodeType},
      {Domain::SrcPair, "node", Map::Node},
      {Domain::SrcPair, "etype", Map::EdgeType},
      {Domain::DstPair, "node", Map::Node},
      {Domain::DstPair, "etype", Map::EdgeType},
      {Domain::EdgeType, "src_ntype", Map::SrcNodeType},
      {Domain::EdgeType, "dst_ntype", Map::DstNodeType},
  };
  std::vector<std::string_view> names;
  for (const Entry &entry : kEntries) {
    if (entry.on != element->domain)
      continue;
    if (entry.name == expr.name) {
      auto map = flow::compose(frames[element->frame].domain, element->map, entry.map);
      Domain target = *flow::mapTarget(element->domain, entry.map);
      if (!map)
        return fail(expr.place, "there is no way from here to this " + std::string(userName(target)));
      // From an edge, `map` no longer shows that the type is the relation's and not the node's.
      if (element->domain == Domain::EdgeType)
        relationEnds.insert(entry.map);
      return Element{target, element->frame, *map};
    }
    names.push_back(entry.name);
  }
  if (const InputDecl *input = signature.findInput(expr.name)) {
    if (domainOf(input->home) == element->domain) {
      if (!mapFromHere(element->frame, element->map, expr.place))
        return Poison{};
      return Rows{inputs.at(expr.name), element->frame, element->map};
    }
    std::string baseText(expr.base->place.text());
    std::string help;
    if (input->home == Home::Node && element->domain == Domain::Edge)
      help = "write `" + baseText + ".src." + expr.name + "` or `" + baseText + ".dst." + expr.name + "`";
    else if (input->home == Home::EdgeType && element->domain == Domain::Edge)
      help = "write `" + expr.name + "[" + baseText + ".etype]`";
    else if (input->home == Home::NodeType && element->domain == Domain::Node)
      help = "write `" + expr.name + "[" + baseText + ".ntype]`";
    else if (input->home == Home::Shared)
      help = "write `" + expr.name + "`";
    else if (input->home == Home::Node && (element->domain == Domain::SrcPair || element->domain == Domain::DstPair))
      help = "write `" + baseText + ".node." + expr.name + "`";
    else if (input->home == Home::NodeType && element->domain == Domain::Edge)
      help = "write `" + expr.name + "[" + baseText + ".src.ntype]` or `" + expr.name + "[" + baseText + ".dst.ntype]`";
    else if (input->home == Home::Edge && element->domain == Domain::Node)
      help = "combine it over the node's edges: sum(e." + expr.name + " for e in " + baseText + ".incoming_edges())";
    else if (input->home == Home::EdgeType && element->domain == Domain::Node)
      help = "types belong to edges: write `" + expr.name + "[e.etype]` for e in " + baseText + ".incoming_edges()";
    else if (input->home == Home::EdgeType)
      help = "write `" + expr.name + "[" + baseText + (element->domain == Domain::EdgeType ? "]`" : ".etype]`");
    else if (input->home == Home::NodeType && element->domain == Domain::NodeType)
      help = "write `" + expr.name + "[" + baseText + "]`";
    Diagnostic &diagnostic = error(expr.place, "`" + expr.name + "` is " + std::string(spelling(input->home)) +
                                                   " data; " + describe(base) + " has none of it");
    diagnostic.note(input->place, "it is declared here");
    if (!help.empty())
      diagnostic.suggest(help);
    return Poison{};
  }
  if (tables.count({element->domain, expr.name}))
    return fail(expr.place, "`" + expr.name + "` is produced by the model, not an input",
                "write `" + std::string(expr.base->place.text()) + "[\"" + expr.name + "\"]`");
  for (const InputDecl &input : signature.inputs)
    if (domainOf(input.home) == element->domain)
      names.push_back(input.name);
  std::string_view near = nearest(expr.name, names);
  std::string list, baseText(expr.base->place.text());
  for (std::string_view name : names)
    list += (list.empty() ? "" : ", ") + std::string(name);
  bool hasTwoNodes = element->domain == Domain::Edge && expr.name == "ntype";
  return fail(expr.namePlace, describe(base) + " has no `" + expr.name + "`",
              hasTwoNodes ? "write `" + baseText + ".src.ntype` or `" + baseText + ".dst.ntype`"
              : element->domain == Domain::Node && expr.name == "etype"
                  ? "edges have types: `e.etype` for e in " + baseText + ".incoming_edges()"
              : !near.empty() ? "did you mean `" + std::string(near) + "`?"
              : names.empty() ? "declare it in the signature"
                              : "it has " + list);
}

std::optional<std::string> Importer::subscriptName(const Expr &index) {
  Item item = evaluate(index);
  if (isPoison(item))
    return std::nullopt;
  if (const Text *text = tryGet<Text>(item))
    return text->value;
  error(index.place, describe(item) + " cannot name data of a row").suggest("write a string: n[\"h\"]");
  return std::nullopt;
}

Item Importer::evaluateSubscript(const SubscriptExpr &expr) {
  Item base = evaluate(*expr.base);
  if (isPoison(base))
    return Poison{};
  if (!expr.index)
    return fail(expr.place, "the brackets are empty");
  if (const Element *element = tryGet<Element>(base)) {
    auto name = subscriptName(*expr.index);
    return name ? readTable(*element, *name, expr.place) : Item(Poison{});
  }
  std::vector<const Expr *> indices;
  if (const auto *tuple = as<TupleExpr>(expr.index))
    for (const ExprPtr &item : tuple->items)
      indices.push_back(item.get());
  else
    indices.push_back(expr.index.get());

  if (const Tuple *tuple = tryGet<Tuple>(base)) {
    auto index = compileTimeInteger(*expr.index, "a list is indexed by a number known when compiling");
    if (!index)
      return Poison{};
    int64_t size = static_cast<int64_t>(tuple->items.size());
    if (*index < -size || *index >= size)
      return fail(expr.index->place,
                  "the list has " + std::to_string(size) + " values, and this is number " + std::to_string(*index));
    return tuple->items[*index < 0 ? *index + size : *index];
  }
  if (const Input *input = tryGet<Input>(base)) {
    Domain domain = domainOf(input->decl->home);
    std::string how = domain == Domain::EdgeType   ? "[e.etype]"
                      : domain == Domain::NodeType ? "[n.ntype]"
                      : domain == Domain::Node     ? "[n]"
                                                   : "[e]";
    Item index = indices[0]->kind == ExprKind::Slice ? Item(Number::of(int64_t{0})) : evaluate(*indices[0]);
    if (isPoison(index))
      return Poison{};
    const Element *element = tryGet<Element>(index);
    if (!element || element->domain != domain) {
      error(indices[0]->place, "`" + input->decl->name + "` has one row for each " + std::string(userName(domain)) +
                                   ", but is indexed by " + describe(index))
          .note(input->decl->place, "it is declared here")
          .suggest("write `" + input->decl->name + how + "`");
      return Poison{};
    }
    if (!mapFromHere(element->frame, element->map, indices[0]->place))
      return Poison{};
    Rows rows{input->table, element->frame, element->map};
    if (indices.size() == 1)
      return rows;
    return indexRows(rows, {indices.begin() + 1, indices.end()}, expr.place);
  }
  if (const Rows *rows = tryGet<Rows>(base))
    return indexRows(*rows, indices, expr.place);
  return fail(expr.place, describe(base) + " cannot be indexed");
}

/// Takes parts of a row by numbers and slices known when compiling; `None` adds an axis of size 1.
Item Importer::indexRows(Rows rows, const std::vector<const Expr *> &indices, Place place) {
  int64_t axis = 0;
  std::string whole = formatRowShape(rows.type().getShape());
  auto isNewAxis = [](const Expr *index) { return index->kind == ExprKind::None; };
  auto numIndices = static_cast<int64_t>(indices.size()) - llvm::count_if(indices, isNewAxis);
  for (const Expr *index : indices) {
    llvm::ArrayRef<int64_t> shape = rows.type().getShape();
    if (isNewAxis(index)) {
      llvm::SmallVector<int64_t> longer(shape);
      longer.insert(longer.begin() + axis++, 1);
      Item extended = reshape(rows, longer, place);
      if (isPoison(extended))
        return Poison{};
      rows = std::get<Rows>(extended);
      continue;
    }
    if (axis >= static_cast<int64_t>(shape.size()))
      return fail(index->place, "a row of " + whole + " is given " + std::to_string(numIndices) +
                                    (numIndices == 1 ? " index" : " indices"));
    int64_t size = shape[axis], begin = 0, end = size;
    const auto *slice = as<SliceExpr>(*index);
    if (slice) {
      for (auto [bound, value] : {std::pair{slice->begin.get(), &begin}, std::pair{slice->end.get(), &end}}) {
        if (!bound)
          continue;
        auto number = compileTimeInteger(*bound, "rows are sliced by numbers known when compiling");
        if (!number)
          return Poison{};
        *value = std::clamp(*number < 0 ? *number + size : *number, int64_t{0}, size);
      }
      if (begin >= end)
        return fail(index->place,
                    "the slice is empty; axis " + std::to_string(axis) + " has size " + std::to_string(size));
    } else {
      Item item = evaluate(*index);
      if (isPoison(item))
        return Poison{};
      if (const Element *element = tryGet<Element>(item))
        return fail(index->place, "this has no row for each " + std::string(userName(element->domain)),
                    "only inputs declared EdgeType or NodeType are indexed by a type");
      const Number *number = tryGet<Number>(item);
      if (number && !number->isInteger)
        return refuseFloat(*index, number->value);
      if (!number)
        return fail(index->place, "rows are indexed by numbers known when compiling, but this is " + describe(item));
      begin = number->integer < 0 ? number->integer + size : number->integer;
      if (begin < 0 || begin >= size)
        return fail(index->place, "index " + std::to_string(number->integer) + " lies outside of axis " +
                                      std::to_string(axis) + ", which has size " + std::to_string(size));
      end = begin + 1;
    }
    llvm::SmallVector<int64_t> part(shape);
    part[axis] = end - begin;
    Item taken = dense<flow::SliceOp>(place, {{rows, place}}, part, rows.type().getElementType(),
                                      {builder.getNamedAttr("axis", builder.getI64IntegerAttr(axis)),
                                       builder.getNamedAttr("offset", builder.getI64IntegerAttr(begin))});
    if (!slice && !isPoison(taken)) {
      part.erase(part.begin() + axis);
      taken = reshape(std::get<Rows>(taken), part, place);
    } else {
      ++axis;
    }
    if (isPoison(taken))
      return Poison{};
    rows = std::get<Rows>(taken);
  }
  return rows;
}

//===- Operators -------------------------------------------------------------------------------------------------===//

Item Importer::evaluateUnary(const UnaryExpr &expr) {
  Item item = evaluate(*expr.operand);
  if (isPoison(item))
    return Poison{};
  if (expr.op == UnaryOp::Not) {
    if (const Truth *truth = tryGet<Truth>(item))
      return Truth{!truth->value};
    if (const Number *number = tryGet<Number>(item))
      return Truth{number->value == 0.0};
    const Rows *rows = tryGet<Rows>(item);
    if (!rows || !rows->type().isBool())
      return fail(expr.place, "`not` works on truth values, not on " + describe(item), "compare first: `not x > 0`");
    return dense<flow::NotOp>(expr.place, {{*rows, expr.operand->place}}, rows->type().getShape(),
                              rows->type().getElementType());
  }
  if (auto number = asNumber(item)) {
    if (expr.op == UnaryOp::Plus)
      return *number;
    if (!number->isInteger)
      return Number::of(-number->value);
    if (number->integer == INT64_MIN)
      return fail(expr.place, "this number does not fit in 64 bits");
    return Number::of(-number->integer);
  }
  auto rows = toNumbers(item, expr.operand->place);
  if (!rows)
    return Poison{};
  if (expr.op == UnaryOp::Plus)
    return *rows;
  return dense<flow::NegOp>(expr.place, {{*rows, expr.operand->place}}, rows->type().getShape(),
                            rows->type().getElementType());
}

Item Importer::evaluateBinary(const BinaryExpr &expr) {
  Item left = evaluate(*expr.left), right = evaluate(*expr.right);
  if (isPoison(left) || isPoison(right))
    return Poison{};
  return binary(expr.op, left, right, expr.place, expr.left->place, expr.right->place);
}

Item Importer::numberBinary(BinaryOp op, const Number &left, const Number &right, Place place) {
  bool isInteger = left.isInteger && right.isInteger;
  int64_t integer = 0;
  auto overflow = [&] { return fail(place, "this number does not fit in 64 bits"); };
  switch (op) {
  case BinaryOp::Add:
    if (isInteger)
      return __builtin_add_overflow(left.integer, right.integer, &integer) ? overflow() : Item(Number::of(integer));
    return Number::of(left.value + right.value);
  case BinaryOp::Subtract:
    if (isInteger)
      return __builtin_sub_overflow(left.integer, right.integer, &integer) ? overflow() : Item(Number::of(integer));
    return Number::of(left.value - right.value);
  case BinaryOp::Multiply:
    if (isInteger)
      return __builtin_mul_overflow(left.integer, right.integer, &integer) ? overflow() : Item(Number::of(integer));
    return Number::of(left.value * right.value);
  case BinaryOp::Divide:
  case BinaryOp::FloorDivide:
  case BinaryOp::Modulo: {
    if (right.value == 0.0)
      return fail(place, "division by zero");
    if (op == BinaryOp::Divide)
      return Number::of(left.value / right.value);
    if (!isInteger)
      return Number::of(op == BinaryOp::Modulo ? flow::modulo(left.value, right.value)
                                               : flow::floorDivide(left.value, right.value));
    if (left.integer == INT64_MIN && right.integer == -1)
      return op == BinaryOp::Modulo ? Item(Number::of(int64_t{0})) : overflow();
    int64_t quotient = left.integer / right.integer, rest = left.integer % right.integer;
    if (rest != 0 && (rest < 0) != (right.integer < 0)) {
      --quotient;
      rest += right.integer;
    }
    return Number::of(op == BinaryOp::FloorDivide ? quotient : rest);
  }
  case BinaryOp::Power: {
    if (isInteger && right.integer >= 0) {
      int64_t power = 1;
      if (left.integer == 0 || left.integer == 1)
        return Number::of(right.integer == 0 ? int64_t{1} : left.integer);
      if (left.integer == -1)
        return Number::of(right.integer % 2 == 0 ? int64_t{1} : int64_t{-1});
      for (int64_t i = 0; i < right.integer; ++i)
        if (__builtin_mul_overflow(power, left.integer, &power))
          return overflow();
      return Number::of(power);
    }
    if (left.value == 0.0 && right.value < 0.0 && std::isfinite(right.value))
      return fail(place, "division by zero: 0 to a negative power");
    if (left.value < 0.0 && std::isfinite(left.value) && std::isfinite(right.value) &&
        right.value != std::floor(right.value))
      return fail(place, "a negative number to a power that is no integer is not a real number");
    return Number::of(std::pow(left.value, right.value));
  }
  case BinaryOp::MatrixMultiply:
    return fail(place, "`@` multiplies a row by a matrix; these are plain numbers");
  }
  return Poison{};
}

/// Whether `op` with this number on its right changes nothing.
static bool isIdentity(BinaryOp op, double right) {
  if (op == BinaryOp::Add || op == BinaryOp::Subtract)
    return right == 0.0;
  return (op == BinaryOp::Multiply || op == BinaryOp::Divide || op == BinaryOp::Power) && right == 1.0;
}

Item Importer::binary(BinaryOp op, const Item &left, const Item &right, Place place, Place leftPlace,
                      Place rightPlace) {
  auto a = asNumber(left), b = asNumber(right);
  if (a && b)
    return numberBinary(op, *a, *b, place);
  if (const Text *start = tryGet<Text>(left), *end = tryGet<Text>(right); start && end && op == BinaryOp::Add) {
    constexpr size_t kMostCharacters = 100'000;
    if (start->value.size() + end->value.size() > kMostCharacters)
      return fail(place, "this string has more than " + std::to_string(kMostCharacters) + " characters");
    return Text{start->value + end->value};
  }
  if (bool isStart = tryGet<Text>(left) != nullptr; isStart || tryGet<Text>(right)) {
    const Item &other = isStart ? right : left;
    Place otherPlace = isStart ? rightPlace : leftPlace;
    return fail(place,
                "strings are joined with strings by `+`; this is `" + std::string(spelling(op)) + "` with " +
                    describe(other),
                tryGet<Number>(other) ? "write str(" + std::string(otherPlace.text().substr(0, 40)) + ")" : "");
  }
  auto isNumeric = [](const Item &item) {
    const Rows *rows = tryGet<Rows>(item);
    return rows && !rows->type().isBool();
  };
  if (b && isNumeric(left) && isIdentity(op, b->value))
    return left;
  if (a && isNumeric(right) && (op == BinaryOp::Add || op == BinaryOp::Multiply) && isIdentity(op, a->value))
    return right;
  switch (op) {
  case BinaryOp::Add:
    return elementwise(flow::AddOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  case BinaryOp::Subtract:
    return elementwise(flow::SubOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  case BinaryOp::Multiply: {
    const Rows *x = tryGet<Rows>(left), *y = tryGet<Rows>(right);
    if (x && y && x->type().getRank() == 1 && y->type().getRank() == 2)
      return linear(left, right, place, leftPlace, rightPlace);
    return elementwise(flow::MulOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  }
  case BinaryOp::Divide:
    return elementwise(flow::DivOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  case BinaryOp::Power:
    return elementwise(flow::PowOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  case BinaryOp::MatrixMultiply: {
    // Elsewhere `@` pairs every leading row of one side with every matrix of the other.
    const Rows *x = tryGet<Rows>(left), *y = tryGet<Rows>(right);
    if (x && y && x->type().getRank() > 1 && y->type().getRank() > 2)
      return fail(place,
                  "`@` of rows of " + formatRowShape(x->type().getShape()) + " and weights of " +
                      formatRowShape(y->type().getShape()) + " does not say which axes belong together",
                  "write `linear(x, W)`, which has one matrix for each leading index");
    return linear(left, right, place, leftPlace, rightPlace);
  }
  case BinaryOp::FloorDivide:
    return elementwise(flow::FloorDivOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  case BinaryOp::Modulo:
    return elementwise(flow::ModOp::getOperationName(), left, right, place, leftPlace, rightPlace, false);
  }
  return Poison{};
}

template <class T> static bool compare(CompareOp op, T a, T b) {
  switch (op) {
  case CompareOp::Less:
    return a < b;
  case CompareOp::LessEqual:
    return a <= b;
  case CompareOp::Greater:
    return a > b;
  case CompareOp::GreaterEqual:
    return a >= b;
  case CompareOp::Equal:
    return a == b;
  case CompareOp::NotEqual:
    return a != b;
  }
  return false;
}

Item Importer::evaluateCompare(const CompareExpr &expr) {
  Item left = evaluate(*expr.left), right = evaluate(*expr.right);
  if (isPoison(left) || isPoison(right))
    return Poison{};
  if (const Text *a = tryGet<Text>(left)) {
    const Text *b = tryGet<Text>(right);
    if (!b || (expr.op != CompareOp::Equal && expr.op != CompareOp::NotEqual))
      return fail(expr.place, describe(left) + " cannot be compared with " + describe(right));
    return Truth{(a->value == b->value) == (expr.op == CompareOp::Equal)};
  }
  const Element *leftElement = tryGet<Element>(left), *rightElement = tryGet<Element>(right);
  if (leftElement && rightElement && leftElement->domain == Domain::Node && rightElement->domain == Domain::Node)
    return fail(expr.place, "nodes are not numbers and cannot be compared",
                "to tell loops from other edges, declare `self_loop: Edge[]`, 1 for those from a node to itself");
  if (leftElement || rightElement)
    return fail(expr.place, "nodes, edges and types are not numbers and cannot be compared",
                "give each type its own value: declare `flag: EdgeType[]` and use flag[e.etype]");
  if (auto a = asNumber(left), b = asNumber(right); a && b) {
    // A long double holds every 64-bit integer and every double.
    auto exact = [](const auto &number) {
      return number.isInteger ? static_cast<long double>(number.integer) : static_cast<long double>(number.value);
    };
    return Truth{compare(expr.op, exact(*a), exact(*b))};
  }
  Place a = expr.left->place, b = expr.right->place;
  switch (expr.op) {
  case CompareOp::Less:
    return elementwise(flow::LessOp::getOperationName(), left, right, expr.place, a, b, true);
  case CompareOp::LessEqual:
    return elementwise(flow::LessEqualOp::getOperationName(), left, right, expr.place, a, b, true);
  case CompareOp::Greater:
    return elementwise(flow::LessOp::getOperationName(), right, left, expr.place, b, a, true);
  case CompareOp::GreaterEqual:
    return elementwise(flow::LessEqualOp::getOperationName(), right, left, expr.place, b, a, true);
  case CompareOp::Equal:
  case CompareOp::NotEqual: {
    Item equal = elementwise(flow::EqualOp::getOperationName(), left, right, expr.place, a, b, true);
    const Rows *rows = tryGet<Rows>(equal);
    if (!rows || expr.op == CompareOp::Equal)
      return equal;
    return dense<flow::NotOp>(expr.place, {{*rows, expr.place}}, rows->type().getShape(),
                              rows->type().getElementType());
  }
  }
  return Poison{};
}

Item Importer::evaluateLogical(const LogicalExpr &expr) {
  Item left = evaluate(*expr.left);
  if (isPoison(left))
    return Poison{};
  auto truthOf = [](const Item &item) -> std::optional<bool> {
    if (const Truth *truth = tryGet<Truth>(item))
      return truth->value;
    if (const Number *number = tryGet<Number>(item))
      return number->value != 0.0;
    return std::nullopt;
  };
  bool isAnd = expr.op == LogicalOp::And;
  if (auto truth = truthOf(left)) {
    return *truth == isAnd ? evaluate(*expr.right) : left;
  }
  Item right = evaluate(*expr.right);
  if (isPoison(right))
    return Poison{};
  if (const Truth *truth = tryGet<Truth>(right); truth && tryGet<Rows>(left) && tryGet<Rows>(left)->type().isBool())
    return truth->value == isAnd ? left : right;
  const Rows *a = tryGet<Rows>(left), *b = tryGet<Rows>(right);
  for (auto [rows, item, side] : {std::tuple{a, &left, &expr.left}, std::tuple{b, &right, &expr.right}})
    if (!rows || !rows->type().isBool())
      return fail((*side)->place,
                  "`" + std::string(spelling(expr.op)) + "` works on truth values, not on " + describe(*item),
                  "compare first, as in `x > 0`");
  auto shape = flow::commonShape(a->type().getShape(), b->type().getShape());
  if (!shape)
    return fail(expr.place, "rows of " + formatRowShape(a->type().getShape()) + " and of " +
                                formatRowShape(b->type().getShape()) + " cannot be combined element by element");
  llvm::StringRef name = isAnd ? flow::AndOp::getOperationName() : flow::OrOp::getOperationName();
  return buildDense(name, expr.place, {{*a, expr.left->place}, {*b, expr.right->place}}, *shape,
                    a->type().getElementType(), {});
}

Item Importer::evaluateConditional(const ConditionalExpr &expr) {
  auto truth = compileTimeTruth(*expr.condition, "`a if c else b` chooses when compiling");
  return truth ? evaluate(*truth ? *expr.then : *expr.otherwise) : Item(Poison{});
}

std::optional<bool> Importer::compileTimeTruth(const Expr &expr, std::string_view use) {
  Item item = evaluate(expr);
  if (isPoison(item))
    return std::nullopt;
  if (const Truth *truth = tryGet<Truth>(item))
    return truth->value;
  if (const Number *number = tryGet<Number>(item))
    return number->value != 0.0;
  if (const Text *text = tryGet<Text>(item))
    return !text->value.empty();
  error(expr.place, std::string(use) + ", but this is known only when running: " + describe(item))
      .suggest("to choose row by row, write where(condition, a, b)");
  return std::nullopt;
}

std::optional<int64_t> Importer::compileTimeInteger(const Expr &expr, std::string_view use) {
  Item item = evaluate(expr);
  if (isPoison(item))
    return std::nullopt;
  auto number = asNumber(item);
  if (number && number->isInteger)
    return number->integer;
  if (number) {
    refuseFloat(expr, number->value);
    return std::nullopt;
  }
  error(expr.place, std::string(use) + ", but this is " + describe(item));
  return std::nullopt;
}

/// Reports a float where an integer is needed, with what to write instead.
Item Importer::refuseFloat(const Expr &expr, double value) {
  std::string text(expr.place.text()), number = formatConstant(Constant(value));
  if (std::isfinite(value) && number.find_first_of(".e") == std::string::npos)
    number += ".0";
  bool isLiteral = expr.kind == ExprKind::Float;
  std::string message = "an integer is needed here, but " + (isLiteral ? "this" : "`" + text.substr(0, 40) + "`") +
                        " is the float " + number;
  const auto *ratio = as<BinaryExpr>(expr);
  if (ratio && ratio->op == BinaryOp::Divide) {
    // The slash stands between the operands, and the brackets around them.
    size_t slash = text.find('/', ratio->left->place.end - expr.place.begin);
    return fail(expr.place, std::move(message),
                "`/` always gives a float, as in Python; write `" + text.insert(slash, "/") + "`");
  }
  if (isLiteral && value == std::floor(value) && value < 0x1p53)
    return fail(expr.place, std::move(message), "write `" + std::to_string(static_cast<int64_t>(value)) + "`");
  return fail(expr.place, std::move(message), "write `int(" + text + ")`, which rounds towards 0");
}

//===- Building ops ----------------------------------------------------------------------------------------------===//

mlir::Value Importer::constant(double value, Place place) {
  auto type = flow::RowsType::get(&context, Domain::One, {}, elementType, flow::Residency::Device);
  return builder.create<flow::ConstantOp>(location(place), type, builder.getF64FloatAttr(value));
}

std::optional<Rows> Importer::toRows(const Item &item, Place place) {
  if (const Rows *rows = tryGet<Rows>(item))
    return *rows;
  if (const Number *number = tryGet<Number>(item))
    return Rows{constant(number->value, place), kNoFrame, Map::Self};
  if (const Truth *truth = tryGet<Truth>(item))
    return Rows{constant(truth->value ? 1.0 : 0.0, place), kNoFrame, Map::Self};
  if (isPoison(item))
    return std::nullopt;
  if (const Input *input = tryGet<Input>(item)) {
    static constexpr std::string_view kHow[] = {"n.", "e.", "[e.etype]", "[n.ntype]", ""};
    std::string_view how = kHow[static_cast<size_t>(input->decl->home)];
    std::string name = input->decl->name;
    error(place, "`" + name + "` has one row for each " + std::string(userName(domainOf(input->decl->home))) +
                     "; this does not say which")
        .note(input->decl->place, "it is declared here")
        .suggest("write `" + (how.front() == '[' ? name + std::string(how) : std::string(how) + name) + "`");
    return std::nullopt;
  }
  Diagnostic &diagnostic = error(place, describe(item) + " is not something to compute with");
  if (const Element *element = tryGet<Element>(item); element && place.known())
    diagnostic.suggest("its data is: an input such as `" + std::string(place.text().substr(0, 40)) +
                       ".x`, or what the model keeps, as " + std::string(place.text().substr(0, 40)) + "[\"h\"]");
  return std::nullopt;
}

std::optional<Rows> Importer::toNumbers(const Item &item, Place place) {
  auto rows = toRows(item, place);
  if (!rows || !rows->type().isBool())
    return rows;
  Item cast = dense<flow::CastOp>(place, {{*rows, place}}, rows->type().getShape(), elementType);
  return tryGet<Rows>(cast) ? std::optional(std::get<Rows>(cast)) : std::nullopt;
}

mlir::Value Importer::createDense(llvm::StringRef name, Place place,
                                  llvm::ArrayRef<std::pair<mlir::Value, Map>> operands, flow::RowsType result,
                                  llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  mlir::OperationState state(location(place), name);
  llvm::SmallVector<mlir::Attribute> maps;
  for (auto [value, map] : operands) {
    state.addOperands(value);
    maps.push_back(flow::MapAttr::get(&context, map));
  }
  state.addTypes(result);
  state.addAttributes(attributes);
  state.addAttribute("maps", builder.getArrayAttr(maps));
  mlir::Operation *op = builder.create(state);
  llvm::SmallVector<mlir::Value> folded;
  if (fold && mlir::succeeded(builder.tryFold(op, folded)) && !folded.empty()) {  // empty: changed in place
    op->erase();
    return folded[0];
  }
  return op->getResult(0);
}

/// Types and shared parameters are computed with where they live, so that no weight is ever copied to rows; everything
/// else at the row of the innermost loop.
Item Importer::buildDense(llvm::StringRef name, Place place, llvm::ArrayRef<Operand> operands,
                          llvm::ArrayRef<int64_t> shape, mlir::Type element,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  int64_t rowSize = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(rowSize, size, &rowSize) || rowSize > (int64_t{1} << 40))
      return fail(place, "a row of the result would have more than 2^40 numbers");
  llvm::SmallVector<Map> maps;
  std::optional<Map> typeMap;
  bool isTypes = true;
  for (const Operand &operand : operands) {
    auto map = mapFromHere(operand.rows.frame, operand.rows.map, operand.place);
    if (!map)
      return Poison{};
    maps.push_back(*map);
    Domain domain = operand.rows.type().getDomain();
    if (domain == Domain::One)
      continue;
    isTypes &= (domain == Domain::EdgeType || domain == Domain::NodeType) && (!typeMap || *typeMap == *map);
    typeMap = *map;
  }
  Rows result;
  Domain domain = Domain::One;
  if (!typeMap) {
    result.frame = kNoFrame;
    result.map = Map::Self;
    for (Map &map : maps)
      map = Map::Self;
  } else if (isTypes) {
    domain = *flow::mapTarget(frames[current].domain, *typeMap);
    result.frame = current;
    result.map = *typeMap;
    for (auto [operand, map] : llvm::zip_equal(operands, maps))
      map = operand.rows.type().getDomain() == Domain::One ? Map::One : Map::Self;
  } else {
    domain = frames[current].domain;
    result.frame = current;
    result.map = Map::Self;
  }
  llvm::SmallVector<std::pair<mlir::Value, Map>> mapped;
  for (auto [operand, map] : llvm::zip_equal(operands, maps))
    mapped.push_back({operand.rows.table, map});
  auto type = flow::RowsType::get(&context, domain, shape, element, flow::Residency::Device);
  result.table = createDense(name, place, mapped, type, attributes);
  return result;
}

mlir::Value Importer::materialise(const Rows &rows, Place place) {
  auto map = mapFromHere(rows.frame, rows.map, place);
  if (!map)
    return nullptr;
  if (*map == Map::Self)
    return rows.table;
  auto type = rows.type().withDomain(frames[current].domain);
  return builder.create<flow::SpreadOp>(location(place), type, rows.table, flow::MapAttr::get(&context, *map));
}

/// `text` with what is needed around it to be indexed.
static std::string asBase(std::string_view text) {
  constexpr size_t kMaxShown = 60;
  if (text.size() > kMaxShown)
    return "(…)";
  int depth = 0;
  bool isPlain = true;
  for (char c : text) {
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    isPlain &= depth > 0 || llvm::isAlnum(c) || c == '_' || c == '.' || c == ')' || c == ']';
  }
  return isPlain ? std::string(text) : "(" + std::string(text) + ")";
}

/// The new axes that would make `small` fit `large`, as text: after its own, before them, or between; empty where none
/// do.
static std::string suggestAxes(llvm::ArrayRef<int64_t> small, llvm::ArrayRef<int64_t> large, std::string_view text) {
  if (small.empty() || small.size() >= large.size())
    return {};
  size_t missing = large.size() - small.size();
  llvm::SmallVector<size_t> positions = {small.size()};
  llvm::append_range(positions, llvm::seq<size_t>(0, small.size()));
  for (size_t position : positions) {
    llvm::SmallVector<int64_t> padded(small);
    padded.insert(padded.begin() + position, missing, 1);
    if (!flow::commonShape(padded, large))
      continue;
    std::string indices;
    for (size_t i = 0; i < position + missing; ++i)
      indices += std::string(i ? ", " : "") + (i < position ? ":" : "None");
    return "write `" + asBase(text) + "[" + indices + "]`";
  }
  return {};
}

Item Importer::elementwise(llvm::StringRef name, const Item &a, const Item &b, Place place, Place aPlace, Place bPlace,
                           bool givesTruth) {
  auto x = toNumbers(a, aPlace), y = toNumbers(b, bPlace);
  if (!x || !y)
    return Poison{};
  llvm::ArrayRef<int64_t> left = x->type().getShape(), right = y->type().getShape();
  auto shape = flow::commonShape(left, right);
  if (!shape) {
    Diagnostic &diagnostic = error(place, "rows of " + formatRowShape(left) + " and of " + formatRowShape(right) +
                                              " cannot be combined element by element");
    std::string help =
        left.size() < right.size() ? suggestAxes(left, right, aPlace.text()) : suggestAxes(right, left, bPlace.text());
    if (left.size() == 2 && right.size() == 1 && name == flow::MulOp::getOperationName())
      help = "a row times a matrix is written with the row first: `" + std::string(bPlace.text().substr(0, 40)) +
             " * " + std::string(aPlace.text().substr(0, 40)) + "`";
    if (!help.empty())
      diagnostic.suggest(help);
    return Poison{};
  }
  mlir::Type element = givesTruth ? mlir::Type(builder.getI1Type()) : mlir::Type(elementType);
  return buildDense(name, place, {{*x, aPlace}, {*y, bPlace}}, *shape, element, {});
}

Item Importer::linear(const Item &x, const Item &weights, Place place, Place xPlace, Place weightsPlace) {
  auto rows = toNumbers(x, xPlace), matrix = toNumbers(weights, weightsPlace);
  if (!rows || !matrix)
    return Poison{};
  llvm::ArrayRef<int64_t> a = rows->type().getShape(), w = matrix->type().getShape();
  if (a.empty() || w.size() < 2)
    return fail(place,
                "a linear map takes rows of […, i] and weights of […, i, o], but is given " + formatRowShape(a) +
                    " and " + formatRowShape(w),
                a.size() == 1 && w.size() == 1 ? "the product of two rows is dot_prod(a, b) or outer_prod(a, b)" : "");
  if (a.back() != w[w.size() - 2]) {
    std::string help;
    if (a.back() == w.back())
      help = "the weights lie the other way: write `" + std::string(weightsPlace.text().substr(0, 40)) + ".T`";
    Diagnostic &diagnostic =
        error(place, "rows of " + std::to_string(a.back()) + " numbers are multiplied by weights for rows of " +
                         std::to_string(w[w.size() - 2]) + " (" + formatRowShape(a) + " by " + formatRowShape(w) + ")");
    if (!help.empty())
      diagnostic.suggest(help);
    return Poison{};
  }
  auto shape = flow::commonLead(a.drop_back(1), w.drop_back(2));
  if (!shape)
    return fail(place, "leading sizes differ: " + formatRowShape(a.drop_back(1)) + " of rows of " + formatRowShape(a) +
                           " and " + formatRowShape(w.drop_back(2)) + " of weights of " + formatRowShape(w));
  shape->push_back(w.back());
  return dense<flow::LinearOp>(place, {{*rows, xPlace}, {*matrix, weightsPlace}}, *shape, elementType);
}

Item Importer::reshape(const Rows &rows, llvm::ArrayRef<int64_t> shape, Place place) {
  return dense<flow::ReshapeOp>(place, {{rows, place}}, shape, rows.type().getElementType());
}

/// Swaps the last two axes.
Item Importer::transpose(const Rows &rows, Place place) {
  llvm::SmallVector<int64_t> shape(rows.type().getShape());
  if (shape.size() < 2)
    return fail(place, "only rows of two or more axes can be transposed, not " + formatRowShape(shape));
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(permutation[shape.size() - 1], permutation[shape.size() - 2]);
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return dense<flow::TransposeOp>(place, {{rows, place}}, shape, rows.type().getElementType(),
                                  {builder.getNamedAttr("permutation", builder.getDenseI64ArrayAttr(permutation))});
}

}  // namespace hector::importer
