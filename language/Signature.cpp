/// Declarations and their binding.

#include "language/Signature.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace hector::language {

std::string_view spelling(Home home) {
  switch (home) {
  case Home::Node:
    return "Node";
  case Home::Edge:
    return "Edge";
  case Home::EdgeType:
    return "EdgeType";
  case Home::NodeType:
    return "NodeType";
  case Home::Shared:
    return "Shared";
  }
  return "";
}

static std::optional<Home> homeFromName(std::string_view name) {
  for (Home home : {Home::Node, Home::Edge, Home::EdgeType, Home::NodeType, Home::Shared})
    if (spelling(home) == name)
      return home;
  return std::nullopt;
}

static std::optional<AttributeKind> attributeKindFromName(std::string_view name) {
  if (name == "int")
    return AttributeKind::Integer;
  if (name == "float")
    return AttributeKind::Float;
  if (name == "bool")
    return AttributeKind::Boolean;
  if (name == "str")
    return AttributeKind::Text;
  return std::nullopt;
}

static std::string_view spelling(AttributeKind kind) {
  constexpr std::string_view names[] = {"int", "float", "bool", "str"};
  return names[static_cast<size_t>(kind)];
}

std::string formatConstant(const Constant &constant) {
  if (const bool *truth = std::get_if<bool>(&constant))
    return *truth ? "True" : "False";
  if (const int64_t *integer = std::get_if<int64_t>(&constant))
    return std::to_string(*integer);
  if (const std::string *text = std::get_if<std::string>(&constant))
    return "\"" + *text + "\"";
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, std::get<double>(constant));
  return error == std::errc() ? std::string(buffer, end) : "?";
}

const InputDecl *Signature::findInput(std::string_view name) const {
  auto found = std::find_if(inputs.begin(), inputs.end(), [&](const InputDecl &input) { return input.name == name; });
  return found == inputs.end() ? nullptr : &*found;
}

const AttributeDecl *Signature::findAttribute(std::string_view name) const {
  auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const AttributeDecl &decl) { return decl.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

bool Signature::hasSize(std::string_view name) const {
  return std::any_of(sizes.begin(), sizes.end(), [&](const SizeDecl &size) { return size.name == name; });
}

//===- Reading declarations --------------------------------------------------------------------------------------===//

namespace {

/// Names that attributes of graph elements already have, so that an input of that name could never be read.
bool isReserved(std::string_view name) {
  for (std::string_view word :
       {"src", "dst", "etype", "ntype", "src_pair", "dst_pair", "node", "src_ntype", "dst_ntype", "edges", "nodes",
        "incoming_edges", "outgoing_edges", "incoming_types", "outgoing_types"})
    if (word == name)
      return true;
  return false;
}

/// The brackets of `Literal["a", "b"]`; null for any other annotation.
const SubscriptExpr *asLiteral(const Expr *annotation) {
  const auto *subscript = annotation ? as<SubscriptExpr>(*annotation) : nullptr;
  const auto *word = subscript ? as<NameExpr>(subscript->base) : nullptr;
  return word && word->name == "Literal" ? subscript : nullptr;
}

/// Whether an annotation says where data lives, as opposed to `int`, `float`, ….
bool declaresData(const Expr *annotation) {
  return annotation && annotation->kind == ExprKind::Subscript && !asLiteral(annotation);
}

/// `"a", "b" or "c"`.
std::string listChoices(const std::vector<std::string> &choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i)
    text += (i == 0 ? "\"" : i + 1 == choices.size() ? " or \"" : ", \"") + choices[i] + "\"";
  return text;
}

bool contains(const std::vector<std::string> &choices, const std::string &value) {
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

/// A literal as a constant, with a minus sign allowed.
std::optional<Constant> literal(const Expr &expr) {
  if (const auto *integer = as<IntegerExpr>(expr))
    return Constant(integer->value);
  if (const auto *number = as<FloatExpr>(expr))
    return Constant(number->value);
  if (const auto *truth = as<BooleanExpr>(expr))
    return Constant(truth->value);
  if (const auto *text = as<StringExpr>(expr))
    return Constant(text->value);
  if (const auto *unary = as<UnaryExpr>(expr); unary && unary->op == UnaryOp::Negate) {
    auto inner = literal(*unary->operand);
    if (inner && std::holds_alternative<int64_t>(*inner))
      return Constant(-std::get<int64_t>(*inner));
    if (inner && std::holds_alternative<double>(*inner))
      return Constant(-std::get<double>(*inner));
  }
  return std::nullopt;
}

AttributeKind kindOf(const Constant &constant) {
  constexpr AttributeKind kinds[] = {AttributeKind::Boolean, AttributeKind::Integer, AttributeKind::Float,
                                     AttributeKind::Text};
  return kinds[constant.index()];
}

/// A constant as a value of `kind`: integers serve as floats, nothing else changes kind.
std::optional<Constant> convert(Constant constant, AttributeKind kind) {
  if (kind == AttributeKind::Float && std::holds_alternative<int64_t>(constant))
    return Constant(static_cast<double>(std::get<int64_t>(constant)));
  if (kindOf(constant) == kind)
    return constant;
  return std::nullopt;
}

class SignatureReader {
public:
  SignatureReader(Signature &signature, Diagnostics &diagnostics) : signature(signature), diagnostics(diagnostics) {}

  void readParameter(const Parameter &parameter) {
    if (!claim(parameter.name, parameter.place))
      return;
    if (!parameter.annotation && !parameter.value) {
      diagnostics.error(parameter.place, "`" + parameter.name + "` is not declared: nothing says where it lives")
          .suggest("write `" + parameter.name + ": Node[d]`, or Edge, EdgeType, NodeType, Shared; `" + parameter.name +
                   ": int` for an attribute");
      return;
    }
    if (declaresData(parameter.annotation.get()))
      return readInput(parameter);
    readAttribute(parameter);
  }

  /// Collects the names in brackets, once all attributes are known: what is no attribute is a size.
  void readSizes() {
    for (const InputDecl &input : signature.inputs)
      for (const Expr *size : input.sizes)
        readSize(*size);
  }

private:
  bool claim(const std::string &name, Place place) {
    auto [earlier, isNew] = claimed.try_emplace(name, place);
    if (isNew && name != signature.graph)
      return true;
    auto &error = diagnostics.error(place, "`" + name + "` is declared twice");
    if (!isNew)
      error.note(earlier->second, "the first declaration is here");
    return false;
  }

  void readInput(const Parameter &parameter) {
    const auto &annotation = static_cast<const SubscriptExpr &>(*parameter.annotation);
    const auto *word = as<NameExpr>(annotation.base);
    std::optional<Home> home = word ? homeFromName(word->name) : std::nullopt;
    if (!home) {
      std::string_view text = annotation.base->place.text();
      auto &error =
          diagnostics.error(annotation.base->place, "`" + std::string(text) + "` is no place for data to live");
      std::string_view near = nearest(text, {"Node", "Edge", "EdgeType", "NodeType", "Shared"});
      error.suggest(near.empty() ? "write Node, Edge, EdgeType, NodeType or Shared"
                                 : "did you mean `" + std::string(near) + "`?");
      return;
    }
    if (parameter.value) {
      diagnostics.error(parameter.value->place, "input `" + parameter.name + "` cannot have a default")
          .suggest("data comes from the case or from training; only `int`, `float`, `bool` and `str` have defaults");
      return;
    }
    if (isReserved(parameter.name)) {
      diagnostics.error(parameter.place, "`" + parameter.name + "` is a word of the language and cannot name an input")
          .suggest("choose another name");
      return;
    }
    InputDecl input{parameter.name, join(parameter.place, annotation.place), *home, {}};
    if (const auto *tuple = as<TupleExpr>(annotation.index)) {
      for (const ExprPtr &size : tuple->items)
        input.sizes.push_back(size.get());
    } else if (annotation.index) {
      input.sizes.push_back(annotation.index.get());
    }
    signature.inputs.push_back(std::move(input));
  }

  void readAttribute(const Parameter &parameter) {
    AttributeDecl attribute{parameter.name, parameter.place, AttributeKind::Integer, std::nullopt, {}};
    std::optional<AttributeKind> declared;
    if (const SubscriptExpr *choices = asLiteral(parameter.annotation.get())) {
      if (!readChoices(*choices, attribute))
        return;
      declared = AttributeKind::Text;
    } else if (parameter.annotation) {
      const auto *word = as<NameExpr>(parameter.annotation);
      declared = word ? attributeKindFromName(word->name) : std::nullopt;
      if (!declared) {
        std::string text(parameter.annotation->place.text());
        auto &error = diagnostics.error(parameter.annotation->place,
                                        "`" + text + "` does not say what `" + parameter.name + "` is");
        if (homeFromName(text))
          error.suggest("data needs its row shape: `" + text + "[d]`, or `" + text + "[]` for one number");
        else
          error.suggest("write where data lives, as in `Node[d]`, or `int`, `float`, `bool`, `str` for an attribute");
        return;
      }
    }
    if (parameter.value) {
      std::optional<Constant> value = literal(*parameter.value);
      if (value && declared)
        value = convert(*value, *declared);
      if (!value) {
        diagnostics
            .error(parameter.value->place,
                   declared ? "the default of `" + parameter.name + "` is no " + std::string(spelling(*declared))
                            : "the default of `" + parameter.name + "` is not a plain value")
            .suggest("write a number, True, False or a string");
        return;
      }
      attribute.value = value;
      attribute.kind = declared ? *declared : kindOf(*value);
      if (!attribute.choices.empty() && !contains(attribute.choices, std::get<std::string>(*value))) {
        diagnostics
            .error(parameter.value->place, "the default of `" + parameter.name + "` is " + formatConstant(*value) +
                                               ", which is no choice of it")
            .suggest("it is one of " + listChoices(attribute.choices));
        return;
      }
    } else {
      attribute.kind = *declared;
    }
    signature.attributes.push_back(std::move(attribute));
  }

  /// Reads the strings of `Literal["a", "b"]`; false, with an error recorded, where they are not that.
  bool readChoices(const SubscriptExpr &literal, AttributeDecl &attribute) {
    std::vector<const Expr *> items;
    if (const auto *tuple = as<TupleExpr>(literal.index)) {
      for (const ExprPtr &item : tuple->items)
        items.push_back(item.get());
    } else if (literal.index) {
      items.push_back(literal.index.get());
    }
    std::string help = "write its strings: `" + attribute.name + ": Literal[\"a\", \"b\"]`";
    if (items.empty()) {
      diagnostics.error(literal.place, "`Literal` has no choices").suggest(help);
      return false;
    }
    for (const Expr *item : items) {
      const auto *text = as<StringExpr>(*item);
      if (!text) {
        diagnostics.error(item->place, "`" + std::string(item->place.text()) + "` is no string; choices are strings")
            .suggest(help);
        return false;
      }
      if (contains(attribute.choices, text->value)) {
        diagnostics.error(item->place, "\"" + text->value + "\" is listed twice");
        return false;
      }
      attribute.choices.push_back(text->value);
    }
    return true;
  }

  void readSize(const Expr &expr) {
    if (const auto *name = as<NameExpr>(expr)) {
      if (const AttributeDecl *attribute = signature.findAttribute(name->name)) {
        if (attribute->kind != AttributeKind::Integer)
          diagnostics.error(expr.place,
                            "`" + name->name + "` is " + std::string(spelling(attribute->kind)) + "; a size is an int");
        return;
      }
      if (const InputDecl *input = signature.findInput(name->name)) {
        diagnostics.error(expr.place, "`" + name->name + "` is an input, not a size")
            .note(input->place, "it is declared here");
        return;
      }
      if (!signature.hasSize(name->name))
        signature.sizes.push_back({name->name, expr.place});
      return;
    }
    if (const auto *binary = as<BinaryExpr>(expr);
        binary && (binary->op == BinaryOp::Multiply || binary->op == BinaryOp::Add ||
                   binary->op == BinaryOp::Subtract || binary->op == BinaryOp::FloorDivide)) {
      readSize(*binary->left);
      readSize(*binary->right);
      return;
    }
    if (const auto *integer = as<IntegerExpr>(expr)) {
      if (integer->value < 1)
        diagnostics.error(expr.place, "a size is at least 1, but this is " + std::to_string(integer->value));
      return;
    }
    diagnostics.error(expr.place, "`" + std::string(expr.place.text()) + "` is no size")
        .suggest("a size is a number, a name, or a product such as `heads * d`");
  }

  Signature &signature;
  Diagnostics &diagnostics;
  std::map<std::string, Place> claimed;
};

bool declaresInputs(const FunctionStmt &function) {
  return std::any_of(function.parameters.begin(), function.parameters.end(),
                     [](const Parameter &parameter) { return declaresData(parameter.annotation.get()); });
}

}  // namespace

std::optional<Signature> readSignature(const Module &module, const Source &source, const std::string &entry,
                                       Diagnostics &diagnostics) {
  std::vector<const FunctionStmt *> functions;
  bool hasStatements = false;
  Place firstStatement;
  size_t errorsBefore = diagnostics.size();
  std::map<std::string, Place> names;
  for (const StmtPtr &statement : module.body) {
    if (const auto *function = as<FunctionStmt>(statement)) {
      auto [earlier, isNew] = names.try_emplace(function->name, function->namePlace);
      if (!isNew)
        diagnostics.error(function->namePlace, "function `" + function->name + "` is defined twice")
            .note(earlier->second, "the first definition is here");
      functions.push_back(function);
    } else {
      if (!hasStatements)
        firstStatement = statement->place;
      hasStatements = true;
    }
  }

  Signature signature;
  Place whole{&source, 0, 0};
  if (!entry.empty()) {
    auto found = std::find_if(functions.begin(), functions.end(),
                              [&](const FunctionStmt *function) { return function->name == entry; });
    if (found == functions.end()) {
      std::vector<std::string_view> candidates;
      for (const auto &[name, place] : names)
        candidates.push_back(name);
      std::string_view near = nearest(entry, candidates);
      auto &error = diagnostics.error(Place{}, source.name() + " has no function `" + entry + "`");
      if (!near.empty())
        error.suggest("did you mean `--entry " + std::string(near) + "`?");
      else if (!candidates.empty())
        error.suggest("it has `" + std::string(candidates.front()) + "`" +
                      (candidates.size() > 1 ? " and others" : ""));
      return std::nullopt;
    }
    signature.function = *found;
  } else if (!hasStatements) {
    std::vector<const FunctionStmt *> models;
    std::copy_if(functions.begin(), functions.end(), std::back_inserter(models),
                 [](const FunctionStmt *function) { return declaresInputs(*function); });
    if (models.size() > 1) {
      auto &error =
          diagnostics.error(models[1]->namePlace, "two functions declare inputs, so either could be the model");
      error.note(models[0]->namePlace, "the other one is here");
      error.suggest("choose with `--entry " + models[1]->name + "`");
      return std::nullopt;
    }
    if (functions.empty()) {
      diagnostics.error(whole, "the file holds no model").suggest("write `def layer(g, x: Node[d]):` and a `return`");
      return std::nullopt;
    }
    signature.function = models.empty() ? functions.back() : models.front();
  }

  SignatureReader reader(signature, diagnostics);
  if (signature.function) {
    const FunctionStmt &function = *signature.function;
    signature.name = function.name;
    signature.place = function.namePlace;
    if (function.parameters.empty() || function.parameters[0].annotation || function.parameters[0].value) {
      diagnostics
          .error(function.parameters.empty() ? function.namePlace : function.parameters[0].place,
                 "the first parameter of a model is the graph")
          .suggest("write `def " + function.name + "(g, …)`");
      return std::nullopt;
    }
    signature.graph = function.parameters[0].name;
    for (size_t i = 1; i < function.parameters.size(); ++i)
      reader.readParameter(function.parameters[i]);
    for (const StmtPtr &statement : module.body)
      if (statement->kind != StmtKind::Function)
        diagnostics.error(statement->place, "statements outside of functions belong to no model")
            .note(function.namePlace, "the model is this function")
            .suggest("move them into it");
  } else {
    signature.name = "model";
    signature.place = whole;
    for (const StmtPtr &statement : module.body)
      if (const auto *declare = as<DeclareStmt>(statement))
        reader.readParameter(declare->parameter);
    for (const FunctionStmt *function : functions)
      if (declaresInputs(*function))
        diagnostics
            .error(function->namePlace,
                   "`" + function->name + "` declares inputs, but the statements outside of it are a model already")
            .note(firstStatement, "they start here")
            .suggest("a file is one model: move the statements into the function, or remove them");
  }
  reader.readSizes();
  if (diagnostics.size() != errorsBefore)
    return std::nullopt;
  return signature;
}

//===- Binding ---------------------------------------------------------------------------------------------------===//

/// Splits `NAME=VALUE`.
static BindError splitSetting(const std::string &option, const std::string &setting, std::string &name,
                              std::string &value) {
  size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0)
    return option + " takes NAME=VALUE, but is given `" + setting + "`";
  name = setting.substr(0, equals);
  value = setting.substr(equals + 1);
  return std::nullopt;
}

static std::string listNames(const std::vector<std::string_view> &names) {
  if (names.empty())
    return "it has none";
  std::string text = "it has ";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i ? ", `" : "`") + std::string(names[i]) + "`";
  return text;
}

static std::string unknownName(const std::string &what, const std::string &name, const Signature &signature,
                               const std::vector<std::string_view> &names) {
  std::string text = "model `" + signature.name + "` has no " + what + " `" + name + "`";
  std::string_view near = nearest(name, names);
  return text + (near.empty() ? "; " + listNames(names) : "; did you mean `" + std::string(near) + "`?");
}

template <class T> static bool parseWhole(const std::string &text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// What is wrong with giving `name` a second value.
static BindError refuseTwice(const std::string &what, const std::string &name, const std::string &value,
                             std::map<std::string, std::string> &given) {
  auto [first, isNew] = given.emplace(name, value);
  if (isNew)
    return std::nullopt;
  return what + " `" + name + "` is set twice, to `" + first->second + "` and to `" + value +
         "`; leave one of them out";
}

BindError bindAttributes(const Signature &signature, std::span<const std::string> settings, Binding &binding) {
  std::map<std::string, std::string> given;
  for (const std::string &setting : settings) {
    std::string name, value;
    if (BindError error = splitSetting("--set", setting, name, value))
      return error;
    const AttributeDecl *attribute = signature.findAttribute(name);
    if (!attribute) {
      if (signature.hasSize(name))
        return "`" + name + "` is a size of model `" + signature.name + "`; bind it with `--size " + setting + "`";
      std::vector<std::string_view> names;
      for (const AttributeDecl &decl : signature.attributes)
        names.push_back(decl.name);
      return unknownName("attribute", name, signature, names);
    }
    if (BindError error = refuseTwice("attribute", name, value, given))
      return error;
    Constant constant;
    bool fits = false;
    switch (attribute->kind) {
    case AttributeKind::Integer: {
      int64_t integer = 0;
      fits = parseWhole(value, integer);
      constant = integer;
      break;
    }
    case AttributeKind::Float: {
      double number = 0;
      fits = parseWhole(value, number);
      constant = number;
      break;
    }
    case AttributeKind::Boolean:
      fits = value == "true" || value == "True" || value == "1" || value == "false" || value == "False" || value == "0";
      constant = value == "true" || value == "True" || value == "1";
      break;
    case AttributeKind::Text:
      fits = true;
      constant = value;
      break;
    }
    if (!fits) {
      constexpr std::string_view kExpected[] = {"a whole number of 64 bits", "a number, as in 0.5", "True or False",
                                                ""};
      return "attribute `" + name + "` is " + std::string(spelling(attribute->kind)) + ", but is set to `" + value +
             "`; expected " + std::string(kExpected[static_cast<size_t>(attribute->kind)]);
    }
    if (!attribute->choices.empty() && !contains(attribute->choices, value)) {
      std::string_view near = nearest(value, {attribute->choices.begin(), attribute->choices.end()});
      return "attribute `" + name + "` is " + listChoices(attribute->choices) + ", but is set to `" + value + "`" +
             (near.empty() ? "" : "; did you mean `" + std::string(near) + "`?");
    }
    binding.attributes[name] = constant;
  }
  for (const AttributeDecl &attribute : signature.attributes) {
    if (binding.attributes.count(attribute.name))
      continue;
    if (!attribute.value)
      return "attribute `" + attribute.name + "` of model `" + signature.name + "` is not set; add `--set " +
             attribute.name + "=VALUE`";
    binding.attributes[attribute.name] = *attribute.value;
  }
  return std::nullopt;
}

BindError bindSizes(const Signature &signature, std::span<const std::string> settings, Binding &binding) {
  std::map<std::string, std::string> given;
  for (const std::string &setting : settings) {
    std::string name, value;
    if (BindError error = splitSetting("--size", setting, name, value))
      return error;
    if (!signature.hasSize(name)) {
      if (signature.findAttribute(name))
        return "`" + name + "` is an attribute of model `" + signature.name + "`; bind it with `--set " + setting + "`";
      std::vector<std::string_view> names;
      for (const SizeDecl &size : signature.sizes)
        names.push_back(size.name);
      return unknownName("size", name, signature, names);
    }
    if (BindError error = refuseTwice("size", name, value, given))
      return error;
    int64_t number = 0;
    if (!parseWhole(value, number) || number < 1) {
      const bool isWhole = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
      if (isWhole && value.find_first_not_of('0') != std::string::npos)
        return "size `" + name + "` is at most " + std::to_string(std::numeric_limits<int64_t>::max()) +
               ", but is set to `" + value + "`";
      return "size `" + name + "` is a number from 1 on, but is set to `" + value + "`";
    }
    binding.sizes[name] = number;
    binding.sizeOrigin[name] = "--size";
  }
  return std::nullopt;
}

/// The value of a size expression, or nothing where a name is unbound or the value overflows.
static std::optional<int64_t> evaluateSize(const Expr &expr, const Binding &binding) {
  if (const auto *integer = as<IntegerExpr>(expr))
    return integer->value;
  if (const auto *name = as<NameExpr>(expr)) {
    if (auto size = binding.sizes.find(name->name); size != binding.sizes.end())
      return size->second;
    if (auto attribute = binding.attributes.find(name->name); attribute != binding.attributes.end())
      if (const int64_t *integer = std::get_if<int64_t>(&attribute->second))
        return *integer;
    return std::nullopt;
  }
  const auto *binary = as<BinaryExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto left = evaluateSize(*binary->left, binding), right = evaluateSize(*binary->right, binding);
  int64_t value = 0;
  if (!left || !right)
    return std::nullopt;
  switch (binary->op) {
  case BinaryOp::Multiply:
    return __builtin_mul_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BinaryOp::Add:
    return __builtin_add_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BinaryOp::Subtract:
    return __builtin_sub_overflow(*left, *right, &value) ? std::nullopt : std::optional(value);
  case BinaryOp::FloorDivide:
    if (*right <= 0)
      return std::nullopt;
    return *left / *right - (*left % *right < 0 ? 1 : 0);
  default:
    return std::nullopt;
  }
}

/// Splits a product into its unbound names and the product of the rest; false where it is not a plain product.
static bool splitProduct(const Expr &expr, const Binding &binding, std::vector<const NameExpr *> &unknown,
                         int64_t &known) {
  if (auto value = evaluateSize(expr, binding))
    return !__builtin_mul_overflow(known, *value, &known);
  if (const auto *name = as<NameExpr>(expr)) {
    unknown.push_back(name);
    return true;
  }
  const auto *binary = as<BinaryExpr>(expr);
  return binary && binary->op == BinaryOp::Multiply && splitProduct(*binary->left, binding, unknown, known) &&
         splitProduct(*binary->right, binding, unknown, known);
}

/// The names in a size expression that have no value.
static void findUnbound(const Expr &expr, const Binding &binding, std::vector<const NameExpr *> &names) {
  if (const auto *name = as<NameExpr>(expr); name && !evaluateSize(expr, binding))
    names.push_back(name);
  if (const auto *binary = as<BinaryExpr>(expr)) {
    findUnbound(*binary->left, binding, names);
    findUnbound(*binary->right, binding, names);
  }
}

static std::string formatSizes(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// "d_in = 16 from `x`" for every name of an expression, to say why a size was expected.
static void explainSizes(const Expr &expr, const Binding &binding, std::string &text) {
  if (const auto *name = as<NameExpr>(expr)) {
    if (auto attribute = binding.attributes.find(name->name); attribute != binding.attributes.end())
      text += (text.empty() ? "" : ", ") + name->name + " = " + formatConstant(attribute->second);
    auto size = binding.sizes.find(name->name);
    if (size == binding.sizes.end())
      return;
    auto origin = binding.sizeOrigin.find(name->name);
    text += (text.empty() ? "" : ", ") + name->name + " = " + std::to_string(size->second) +
            (origin == binding.sizeOrigin.end() ? "" : " from " + origin->second);
  } else if (const auto *binary = as<BinaryExpr>(expr)) {
    explainSizes(*binary->left, binding, text);
    explainSizes(*binary->right, binding, text);
  }
}

BindError bindShape(const InputDecl &input, std::span<const int64_t> rowShape, const std::string &origin,
                    Binding &binding, bool &undecided) {
  std::string declaration(input.place.text());
  if (rowShape.size() != input.sizes.size())
    return "rows of `" + input.name + "` have shape " + formatSizes(rowShape) + ", but are declared with " +
           std::to_string(input.sizes.size()) + (input.sizes.size() == 1 ? " size: `" : " sizes: `") + declaration +
           "`";
  for (size_t i = 0; i < rowShape.size(); ++i) {
    const Expr &expr = *input.sizes[i];
    std::vector<const NameExpr *> unknown;
    int64_t known = 1;
    if (auto value = evaluateSize(expr, binding)) {
      known = *value;
    } else if (!splitProduct(expr, binding, unknown, known) || unknown.size() != 1) {
      undecided = true;
      continue;
    }
    if (rowShape[i] < 1)
      return "rows of `" + input.name + "` have shape " + formatSizes(rowShape) + ", but every size is at least 1";
    if (unknown.empty() && known == rowShape[i])
      continue;
    if (unknown.size() == 1 && known > 0 && rowShape[i] % known == 0) {
      binding.sizes[unknown[0]->name] = rowShape[i] / known;
      binding.sizeOrigin[unknown[0]->name] = origin;
      continue;
    }
    std::string why;
    explainSizes(expr, binding, why);
    if (known < 1)
      return "`" + std::string(expr.place.text()) + "` in `" + declaration + "` is at least 1, but comes to " +
             std::to_string(known) + (why.empty() ? "" : " (" + why + ")");
    return "rows of `" + input.name + "` have shape " + formatSizes(rowShape) + ", but `" + declaration +
           "` asks for " + (unknown.empty() ? "" : "a multiple of ") + std::to_string(known) + " at axis " +
           std::to_string(i) + (why.empty() ? "" : " (" + why + ")");
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> rowShape(const InputDecl &input, const Binding &binding, Diagnostics &diagnostics) {
  std::vector<int64_t> shape;
  int64_t rowSize = 1;
  bool isComplete = true;
  for (const Expr *size : input.sizes) {
    std::optional<int64_t> value = evaluateSize(*size, binding);
    if (!value) {
      std::vector<const NameExpr *> unknown;
      findUnbound(*size, binding, unknown);
      if (unknown.empty())
        diagnostics.error(size->place, "this size cannot be computed");
      for (const NameExpr *name : unknown) {
        // Once a name, however many inputs use it.
        std::string message = "size `" + name->name + "` has no value";
        auto isSaid = [&](const Diagnostic &earlier) { return earlier.message == message; };
        if (std::none_of(diagnostics.all().begin(), diagnostics.all().end(), isSaid))
          diagnostics.error(name->place, message).suggest("add `--size " + name->name + "=64`");
      }
      isComplete = false;
      continue;
    }
    if (*value < 1) {
      diagnostics.error(size->place, "a size is at least 1, but this is " + std::to_string(*value));
      return std::nullopt;
    }
    if (__builtin_mul_overflow(rowSize, *value, &rowSize) || rowSize > (int64_t{1} << 40)) {
      diagnostics.error(input.place, "a row of `" + input.name + "` would have more than 2^40 numbers");
      return std::nullopt;
    }
    shape.push_back(*value);
  }
  return isComplete ? std::optional(std::move(shape)) : std::nullopt;
}

std::vector<std::string> openSizes(const InputDecl &input, const Binding &binding) {
  std::vector<const NameExpr *> unbound;
  for (const Expr *size : input.sizes)
    findUnbound(*size, binding, unbound);
  std::vector<std::string> names;
  for (const NameExpr *name : unbound)
    names.push_back(name->name);
  return names;
}

std::vector<std::string> describeRowShape(const InputDecl &input, const Binding &binding) {
  std::vector<std::string> sizes;
  for (const Expr *size : input.sizes) {
    std::optional<int64_t> value = evaluateSize(*size, binding);
    sizes.push_back(value ? std::to_string(*value) : std::string(size->place.text()));
  }
  return sizes;
}

}  // namespace hector::language
