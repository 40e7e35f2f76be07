#include "Generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace hector::fuzz {

namespace {

using Shape = std::vector<int64_t>;

int64_t sizeOf(const Shape &shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

enum class Home { Shared, EdgeType, NodeType, Node, Edge, InPair, OutPair };

struct Table {
  Home home;
  std::string name;
  Shape shape;
  int loop;  // the top-level loop that wrote it
  /// The end of an edge through which alone it may be read, if any: other rows hold inf or NaN.
  std::string only = {};
};

struct Variable {
  Home home;
  std::string name;
  bool isOwn;  // rows that the loop at hand writes may be read through it
};

/// What an expression may refer to; the innermost variable is last.
struct Context {
  std::vector<Variable> variables;
  bool isGenerator = false;  // inside sum(… for …): reductions do not nest further
  const Variable &inner() const { return variables.back(); }
};

struct GraphSizes {
  int64_t nodes, nodeTypes, relations, edges;
  bool isTyped;  // every relation joins one node type to one node type
};

class Generator {
public:
  Generator(Choices &choices, ProgramSize size) : choices(choices), isLarge(size == ProgramSize::Large) {}

  TestProgram run() {
    TestProgram program;
    makeGraph(program.file);
    uint32_t statements = 1 + choices.below(6);
    for (uint32_t i = 0; i < statements; ++i)
      statement();
    std::string returns = chooseResults();
    if (choices.oneIn(4))
      attribute = true;
    std::string signature = "def model(g";
    for (const auto &[name, text] : declarations)
      signature += ", " + text;
    if (attribute)
      signature += ", flag: bool = True, slope: float = 0.3";
    program.text = functions + signature + "):\n" + body + "    return " + returns + "\n";
    for (const auto &[name, tensor] : tensors)
      program.file.tensors[name] = tensor;
    return program;
  }

private:
  //===- The graph -------------------------------------------------------------------------------------------------//

  void makeGraph(TensorFile &file) {
    static constexpr int64_t kNodes[2][6] = {{4, 1, 0, 2, 7, 12}, {40, 1, 0, 3, 90, 200}};
    static constexpr int64_t kEdges[2][6] = {{6, 1, 0, 3, 14, 30}, {90, 1, 0, 300, 700, 1500}};
    sizes.nodes = kNodes[isLarge][choices.below(6)];
    sizes.edges = sizes.nodes == 0 ? 0 : kEdges[isLarge][choices.below(6)];
    sizes.nodeTypes = 1 + choices.below(3);
    sizes.relations = 1 + choices.below(4);
    sizes.isTyped = choices.below(2) == 0;
    std::vector<int64_t> pointer = {0};
    for (int64_t k = 0; k + 1 < sizes.nodeTypes; ++k)
      pointer.push_back(std::min<int64_t>(sizes.nodes, pointer.back() + choices.below(sizes.nodes + 1)));
    pointer.push_back(sizes.nodes);
    // A relation's end types; only types that have nodes can be joined.
    std::vector<int64_t> populated;
    for (int64_t k = 0; k < sizes.nodeTypes; ++k)
      if (pointer[k + 1] > pointer[k])
        populated.push_back(k);
    std::vector<std::pair<int64_t, int64_t>> joins;
    for (int64_t r = 0; r < sizes.relations && !populated.empty(); ++r)
      joins.push_back({populated[choices.below(populated.size())], populated[choices.below(populated.size())]});
    std::vector<std::array<int64_t, 3>> edges;
    // Few distinct ends, so that pairs repeat and degrees are skewed.
    int64_t span = 1 + choices.below(std::max<int64_t>(1, sizes.nodes));
    for (int64_t i = 0; i < sizes.edges; ++i) {
      int64_t relation = choices.below(sizes.relations);
      auto end = [&](int64_t type) -> int64_t {
        if (!sizes.isTyped)
          return choices.below(static_cast<uint32_t>(span));
        int64_t count = std::min(span, pointer[type + 1] - pointer[type]);
        return pointer[type] + choices.below(static_cast<uint32_t>(count));
      };
      int64_t source = end(joins[relation].first), target = end(joins[relation].second);
      edges.push_back({relation, source, target});
    }
    // Files may have their edges in any order.
    if (choices.below(2))
      std::sort(edges.begin(), edges.end(), [](const auto &a, const auto &b) { return a[0] < b[0]; });
    std::vector<int64_t> src, dst, etype;
    for (const auto &edge : edges) {
      etype.push_back(edge[0]);
      src.push_back(edge[1]);
      dst.push_back(edge[2]);
    }
    file.tensors["graph.src"] = Tensor::fromInt64({sizes.edges}, src);
    file.tensors["graph.dst"] = Tensor::fromInt64({sizes.edges}, dst);
    file.tensors["graph.etype"] = Tensor::fromInt64({sizes.edges}, etype);
    file.tensors["graph.ntype_ptr"] = Tensor::fromInt64({sizes.nodeTypes + 1}, pointer);
    // Settles the number of relations whatever else the model declares.
    input(Home::EdgeType, {});
  }

  int64_t rowsOf(Home home) const {
    switch (home) {
    case Home::EdgeType:
      return sizes.relations;
    case Home::NodeType:
      return sizes.nodeTypes;
    case Home::Node:
      return sizes.nodes;
    case Home::Edge:
      return sizes.edges;
    default:
      return 1;
    }
  }

  //===- Inputs ----------------------------------------------------------------------------------------------------//

  /// The name of an input of this home and shape, declared on first use.
  std::string input(Home home, const Shape &shape) {
    static const std::map<Home, std::pair<std::string, std::string>> kWords = {{Home::Shared, {"s", "Shared"}},
                                                                               {Home::EdgeType, {"w", "EdgeType"}},
                                                                               {Home::NodeType, {"v", "NodeType"}},
                                                                               {Home::Node, {"x", "Node"}},
                                                                               {Home::Edge, {"y", "Edge"}}};
    const auto &[letter, word] = kWords.at(home);
    std::string name = letter, list;
    for (int64_t size : shape) {
      name += "_" + std::to_string(size);
      list += (list.empty() ? "" : ", ") + std::to_string(size);
    }
    if (choices.oneIn(3))
      name += "b";
    if (declarations.count(name))
      return name;
    declarations[name] = name + ": " + word + "[" + list + "]";
    Shape full = shape;
    if (home != Home::Shared)
      full.insert(full.begin(), rowsOf(home));
    auto numbers = numbersFor(name, static_cast<size_t>(sizeOf(full)));
    // Few distinct numbers, so that rows tie and some are zeros.
    if (choices.oneIn(6))
      for (double &number : numbers)
        number = std::floor(number * 2.0) / 2.0;
    tensors[name] = Tensor::fromDoubles(full, numbers, DType::F64);
    return name;
  }

  //===- Expressions -----------------------------------------------------------------------------------------------//

  Shape randomShape() {
    static const Shape kShapes[2][9] = {{{}, {3}, {2}, {2, 3}, {1}, {3, 2}, {2, 1}, {4}, {2, 2, 3}},
                                        {{}, {33}, {64}, {8, 16}, {1}, {3, 22}, {40, 1}, {150}, {2, 3, 17}}};
    return kShapes[isLarge][choices.below(9)];
  }

  /// Elements reachable from a variable: their text and home.
  std::vector<Variable> reach(const Variable &variable) const {
    std::vector<Variable> all = {variable};
    const std::string &v = variable.name;
    switch (variable.home) {
    case Home::Edge:
      all.push_back({Home::Node, v + ".src", false});
      all.push_back({Home::Node, v + ".dst", false});
      all.push_back({Home::EdgeType, v + ".etype", false});
      all.push_back({Home::NodeType, v + ".src.ntype", false});
      all.push_back({Home::NodeType, v + ".dst.ntype", false});
      all.push_back({Home::InPair, v + ".dst_pair", false});
      all.push_back({Home::OutPair, v + ".src_pair", false});
      break;
    case Home::Node:
      all.push_back({Home::NodeType, v + ".ntype", false});
      break;
    case Home::InPair:
    case Home::OutPair:
      all.push_back({Home::Node, v + ".node", false});
      all.push_back({Home::EdgeType, v + ".etype", false});
      all.push_back({Home::NodeType, v + ".node.ntype", false});
      break;
    case Home::EdgeType:
      if (sizes.isTyped && sizes.nodes > 0) {
        all.push_back({Home::NodeType, v + ".src_ntype", false});
        all.push_back({Home::NodeType, v + ".dst_ntype", false});
      }
      break;
    default:
      break;
    }
    return all;
  }

  std::string leaf(const Context &context, const Shape &shape) {
    if (shape.empty() && choices.below(4) == 0) {
      static const char *kLiterals[] = {"0.5", "1.0", "0.0", "-1.5", "2"};
      return kLiterals[choices.below(5)];
    }
    std::vector<std::string> options;
    for (const Variable &variable : context.variables)
      for (const Variable &element : reach(variable))
        for (const Table &table : tables)
          if (table.home == element.home && table.shape == shape && (table.loop < loop || element.isOwn) &&
              (table.only.empty() || element.name.ends_with(table.only)))
            options.push_back(element.name + "[\"" + table.name + "\"]");
    for (const auto &[name, localShape] : locals)
      if (localShape == shape)
        options.push_back(name);
    if (!options.empty() && choices.below(3) != 0)
      return options[choices.below(options.size())];
    std::vector<Variable> elements;
    for (const Variable &variable : context.variables)
      for (const Variable &element : reach(variable))
        if (element.home != Home::InPair && element.home != Home::OutPair)
          elements.push_back(element);
    uint32_t pick = choices.below(1 + elements.size());
    if (pick == 0)
      return input(Home::Shared, shape);
    const Variable &element = elements[pick - 1];
    std::string name = input(element.home, shape);
    bool isType = element.home == Home::EdgeType || element.home == Home::NodeType;
    return isType ? name + "[" + element.name + "]" : element.name + "." + name;
  }

  /// A shape that repeats to `shape` element by element: itself, a scalar, or with axes of size 1.
  Shape partner(const Shape &shape) {
    switch (choices.below(3)) {
    case 1:
      return {};
    case 2: {
      Shape narrow = shape;
      for (int64_t &size : narrow)
        if (choices.below(2))
          size = 1;
      return narrow;
    }
    default:
      return shape;
    }
  }

  std::string expression(const Context &context, const Shape &shape, int depth) {
    if (depth <= 0 || choices.below(5) == 0)
      return leaf(context, shape);
    auto sub = [&](const Shape &s) { return expression(context, s, depth - 1); };
    switch (choices.below(17)) {
    case 0:
      return unary(sub(shape));
    case 1: {
      std::string a = sub(shape), b = sub(partner(shape));
      static const char *kOps[] = {" + ", " - ", " + -", " - -"};
      return "(" + a + kOps[choices.below(4)] + b + ")";
    }
    case 2: {
      std::string a = sub(shape), b = sub(partner(shape));
      return choices.below(2) ? "(" + a + " / (2.0 + sin(" + b + ")))" : "(" + a + " * " + b + ")";
    }
    case 3: {
      std::string a = sub(shape), b = sub(partner(shape));
      return std::string(choices.below(2) ? "max(" : "min(") + a + ", " + b + ")";
    }
    case 4: {
      std::string a = sub(partner(shape)), b = sub({}), c = sub(shape), d = sub(partner(shape));
      static const char *kCompare[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
      std::string condition = a + kCompare[choices.below(6)] + b;
      if (choices.oneIn(4))
        condition =
            std::string("(") + condition + ") " + (choices.below(2) ? "and" : "or") + " not " + sub({}) + " < 0.1";
      return "where(" + condition + ", " + c + ", " + d + ")";
    }
    case 5:
      return linear(context, shape, depth);
    case 6:
      return contraction(context, shape, depth);
    case 7:
    case 8:
      return reduction(context, shape, depth);
    case 9:
      return rowReduction(context, shape, depth);
    case 10:
      return shuffle(context, shape, depth);
    case 11:
      return call(sub(shape), sub(partner(shape)));
    case 12:
      if (!shape.empty()) {
        static const char *kRowFunctions[] = {"softmax", "layer_norm", "normalize"};
        uint32_t pick = choices.below(3);
        // Rows of exact zeros are common here; with the usual eps their slope is 1e12, and differences mean nothing.
        return std::string(kRowFunctions[pick]) + "(" + sub(shape) + (pick == 2 ? ", eps=0.01)" : ")");
      }
      return "abs(" + sub(shape) + ")";
    case 13:
    case 14:
      return combination(context, shape, 3);
    case 15:
      return partlyDefined(context, shape, depth);
    default:
      return choices.below(2) ? "(abs(" + sub(shape) + ") + 0.5) ** 1.5"
                              : "sum(" + sub(shape) + " * (i + 1.0) for i in range(2))";
    }
  }

  /// A choice of which one side is NaN wherever the other is taken. Gradients must not come from there.
  std::string partlyDefined(const Context &context, const Shape &shape, int depth) {
    std::string s = leaf(context, {}), outer = std::exchange(partial, "sqrt(" + s + ")");
    std::string defined = combination(context, shape, 3);
    partial = outer;
    return "where(" + s + " > 0.1, " + defined + ", " + expression(context, shape, depth - 1) + ")";
  }

  /// An operand of a combination: a leaf, or one times a factor that some rows lack.
  std::string operand(const Context &context, const Shape &shape) {
    if (partial.empty() || choices.below(3) == 0)
      return leaf(context, shape);
    return "(" + partial + " * " + leaf(context, shape) + ")";
  }

  /// An expression that is linear in what it reads, as layers are: products, sums, factors and parts inside each other.
  std::string combination(const Context &context, const Shape &shape, int depth) {
    if (depth <= 0)
      return operand(context, shape);
    auto sub = [&](const Shape &s) { return combination(context, s, depth - 1); };
    switch (choices.below(9)) {
    case 0:
      return operand(context, shape);
    case 1: {
      std::string a = sub(shape), b = sub(partner(shape));
      return "(" + a + (choices.below(2) ? " - " : " + ") + b + ")";
    }
    case 2: {
      Shape factor = choices.below(2) ? shape : Shape();
      if (!factor.empty())
        factor.back() = 1;
      std::string a = sub(shape), s = operand(context, factor);
      return choices.below(3) ? "(" + s + " * " + a + ")" : "(" + a + " / (2.0 + sin(" + s + ")))";
    }
    case 3: {
      if (shape.empty() || shape.back() < 2)
        return "-" + sub(shape);
      Shape a = shape, b = shape;
      a.back() = 1 + choices.below(static_cast<uint32_t>(shape.back() - 1));
      b.back() = shape.back() - a.back();
      std::string first = sub(a);
      return "concat(" + first + ", " + sub(b) + ", axis=-1)";
    }
    case 4: {
      if (shape.size() < 2)
        return sub(shape);
      std::string list;
      for (int64_t size : shape)
        list += ", " + std::to_string(size);
      return "reshape(" + sub({sizeOf(shape)}) + list + ")";
    }
    default:
      break;
    }
    int64_t inner = 1 + choices.below(4);
    Shape a = shape, b = shape;
    uint32_t form = choices.below(3);  // heads on both sides, on one of them
    if (shape.empty() || choices.oneIn(3)) {
      a.push_back(inner);
      b.push_back(inner);
      if (form == 1)
        a = {inner};
      else if (form == 2)
        b = {inner};
      std::string first = sub(a);
      return "dot_prod(" + first + ", " + sub(b) + ")";
    }
    a.back() = inner;
    b.insert(b.end() - 1, inner);
    if (form == 1)
      a = {inner};
    else if (form == 2)
      b = {inner, shape.back()};
    std::string first = sub(a);
    if (choices.below(2))
      return "linear(" + first + ", " + (choices.oneIn(4) ? sub(b) : operand(context, b)) + ")";
    std::swap(b[b.size() - 1], b[b.size() - 2]);
    return "linear(" + first + ", transpose(" + operand(context, b) + "))";
  }

  std::string unary(const std::string &a) {
    static const std::pair<const char *, const char *> kForms[] = {
        {"-", ""},
        {"tanh(", ")"},
        {"sigmoid(", ")"},
        {"relu(", ")"},
        {"leakyrelu(", ")"},
        {"leakyrelu(", ", 0.1)"},
        {"exp(sin(", "))"},
        {"log(1.5 + sin(", "))"},
        {"sqrt(1.0 + abs(", "))"},
        {"rsqrt(0.5 + abs(", "))"},
        {"sin(", ")"},
        {"cos(", ")"},
        {"softplus(", ")"},
        {"erf(", ")"},
        {"gelu(", ")"},
        {"silu(", ")"},
        {"elu(", ")"},
        {"floor(", ")"},
        {"sign(", ")"},
        {"dropout(", ", 0.25)"},
    };
    const auto &[before, after] = kForms[choices.below(std::size(kForms))];
    return before + ("(" + a + ")") + after;
  }

  std::string linear(const Context &context, const Shape &shape, int depth) {
    if (shape.empty())
      return "dot_prod(" + expression(context, {3}, depth - 1) + ", " + expression(context, {3}, depth - 1) + ")";
    int64_t inner = 1 + choices.below(3);
    Shape x = shape, w = shape;
    x.back() = inner;
    w.insert(w.end() - 1, inner);
    if (shape.size() > 1) {
      uint32_t form = choices.below(3);  // heads on both sides, on one of them
      if (form == 1)
        x = {inner};
      else if (form == 2)
        w = {inner, shape.back()};
    }
    std::string a = expression(context, x, depth - 1), b = expression(context, w, depth - 1);
    if (x.size() == 1 && w.size() == 2 && choices.below(2))
      return "((" + a + ") * " + b + ")";
    if (choices.oneIn(4)) {
      std::swap(w[w.size() - 1], w[w.size() - 2]);
      b = "transpose(" + expression(context, w, depth - 1) + ")";
    }
    return "linear(" + a + ", " + b + ")";
  }

  std::string contraction(const Context &context, const Shape &shape, int depth) {
    if (shape.size() >= 2 && choices.below(2)) {
      Shape a(shape.begin(), shape.end() - 1), b(shape.begin(), shape.end() - 2);
      b.push_back(shape.back());
      if (shape.size() > 2 && choices.below(2))
        b = {shape.back()};
      return "outer_prod(" + expression(context, a, depth - 1) + ", " + expression(context, b, depth - 1) + ")";
    }
    Shape a = shape, b = shape;
    int64_t inner = 1 + choices.below(3);
    a.push_back(inner);
    b.push_back(inner);
    if (!shape.empty() && choices.below(2))
      b = {inner};
    return "dot_prod(" + expression(context, a, depth - 1) + ", " + expression(context, b, depth - 1) + ")";
  }

  /// A reduction over the rows below the innermost variable, or over all rows.
  std::string reduction(const Context &context, const Shape &shape, int depth) {
    if (context.isGenerator)
      return leaf(context, shape);
    struct Source {
      std::string iterator;
      Home home;
      bool sees;  // whether the outer variables stay visible
    };
    std::vector<Source> sources;
    std::string v = context.variables.empty() ? "" : context.inner().name;
    Home home = context.variables.empty() ? Home::Shared : context.inner().home;
    switch (home) {
    case Home::Node:
      sources = {{v + ".incoming_edges()", Home::Edge, true},
                 {v + ".outgoing_edges()", Home::Edge, true},
                 {v + ".incoming_types()", Home::InPair, true},
                 {v + ".outgoing_types()", Home::OutPair, true}};
      break;
    case Home::InPair:
    case Home::OutPair:
    case Home::EdgeType:
      sources = {{v + ".edges()", Home::Edge, true}};
      break;
    case Home::NodeType:
      sources = {{v + ".nodes()", Home::Node, true}};
      break;
    case Home::Edge:
      sources = {{v + ".dst.incoming_edges()", Home::Edge, false}, {v + ".src.outgoing_edges()", Home::Edge, false}};
      break;
    case Home::Shared:
      break;
    }
    sources.push_back({"g.nodes()", Home::Node, false});
    sources.push_back({"g.edges()", Home::Edge, false});
    sources.push_back({"g.edge_types()", Home::EdgeType, false});
    const Source &source = sources[choices.below(sources.size())];
    Context inside;
    if (source.sees)
      inside = context;
    for (Variable &variable : inside.variables)
      variable.isOwn = variable.isOwn && variable.home != source.home;
    std::string variable = "r" + std::to_string(fresh++);
    inside.variables.push_back({source.home, variable, false});
    inside.isGenerator = true;
    auto savedLocals = locals;
    if (!source.sees)
      locals.clear();
    static const char *kKinds[] = {"sum", "mean", "max", "min"};
    std::string kind = kKinds[choices.below(4)];
    std::string term = choices.oneIn(3) ? combination(inside, shape, 3) : expression(inside, shape, depth - 1);
    std::string text = kind + "(" + term + " for " + variable + " in " + source.iterator;
    if (choices.oneIn(5))
      text += " if " + expression(inside, {}, 1) + " > 0.2";
    locals = savedLocals;
    return text + ")";
  }

  std::string rowReduction(const Context &context, const Shape &shape, int depth) {
    Shape wide = shape;
    int64_t axis = choices.below(shape.size() + 1), length = 1 + choices.below(3);
    wide.insert(wide.begin() + axis, length);
    static const char *kKinds[] = {"sum", "mean", "max", "min"};
    std::string text = std::string(kKinds[choices.below(4)]) + "(" + expression(context, wide, depth - 1) + ", axis=";
    text += std::to_string(choices.below(2) ? axis - static_cast<int64_t>(wide.size()) : axis);
    if (!shape.empty() && choices.oneIn(4)) {
      std::string list;
      for (int64_t size : shape)
        list += ", " + std::to_string(size);
      return "reshape(" + text + ", keepdims=True)" + list + ")";
    }
    return text + ")";
  }

  std::string shuffle(const Context &context, const Shape &shape, int depth) {
    if (shape.empty())
      return "(" + expression(context, {3}, depth - 1) + ")[" + std::to_string(static_cast<int>(choices.below(5)) - 2) +
             "]";
    switch (choices.below(5)) {
    case 0: {
      std::string list;
      for (int64_t size : shape)
        list += ", " + std::to_string(size);
      return "reshape(" + expression(context, {sizeOf(shape)}, depth - 1) + list + ")";
    }
    case 1:
      if (shape.size() >= 2) {
        Shape turned = shape;
        std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
        return "transpose(" + expression(context, turned, depth - 1) + ")";
      }
      [[fallthrough]];
    case 2: {
      int64_t axis = choices.below(shape.size());
      if (shape[axis] < 2)
        return expression(context, shape, depth - 1);
      Shape a = shape, b = shape;
      a[axis] = 1 + choices.below(static_cast<uint32_t>(shape[axis] - 1));
      b[axis] = shape[axis] - a[axis];
      return "concat(" + expression(context, a, depth - 1) + ", " + expression(context, b, depth - 1) +
             ", axis=" + std::to_string(axis) + ")";
    }
    case 3: {
      Shape wide = shape;
      int64_t offset = choices.below(3), rest = choices.below(2);
      wide[0] += offset + rest;
      return "(" + expression(context, wide, depth - 1) + ")[" + std::to_string(offset) + ":" +
             std::to_string(offset + shape[0]) + "]";
    }
    default: {
      Shape wide = shape;
      wide.insert(wide.begin(), 2);
      return "(" + expression(context, wide, depth - 1) + ")[" + std::to_string(choices.below(2)) + "]";
    }
    }
  }

  /// A call of a function of the program's own.
  std::string call(const std::string &a, const std::string &b) {
    if (numFunctions == 0 || choices.oneIn(3)) {
      static const char *kBodies[] = {"return a + b", "return tanh(a) * b + a",
                                      "c = a * b\n    return max(c, a) - sin(c)",
                                      "if flip:\n        return b - a\n    return a - b"};
      functions +=
          "def f" + std::to_string(numFunctions++) + "(a, b, flip=False):\n    " + kBodies[choices.below(4)] + "\n\n";
    }
    std::string name = "f" + std::to_string(choices.below(numFunctions));
    return name + "(" + a + ", " + b + (choices.oneIn(3) ? ", flip=True)" : ")");
  }

  //===- Statements ------------------------------------------------------------------------------------------------//

  std::string freshName() { return "t" + std::to_string(fresh++); }

  void emit(int indent, const std::string &line) { body += std::string(4 * indent, ' ') + line + "\n"; }

  /// A loop over one domain, with a few tables and locals of its rows.
  void simpleLoop(Home home, const std::string &variable, const std::string &iterator) {
    ++loop;
    emit(1, "for " + variable + " in " + iterator + ":");
    Context context{{{home, variable, true}}, false};
    uint32_t count = 1 + choices.below(3);
    for (uint32_t i = 0; i < count; ++i) {
      Shape shape = randomShape();
      std::string value = expression(context, shape, 1 + choices.below(3));
      if (choices.oneIn(4)) {
        std::string local = "a" + std::to_string(fresh++);
        emit(2, local + " = " + value);
        locals[local] = shape;
        continue;
      }
      std::string name = freshName();
      std::string only;
      if (home == Home::Node && choices.oneIn(6)) {
        // Divided by the number of edges: inf or NaN where there are none, which no edge reads.
        bool incoming = choices.below(2) == 0;
        only = incoming ? ".dst" : ".src";
        value =
            "(" + value + ") / sum(1.0 for r in " + variable + (incoming ? ".incoming_edges())" : ".outgoing_edges())");
      }
      emit(2, variable + "[\"" + name + "\"] = " + value);
      tables.push_back({home, name, shape, loop, only});
    }
    if (home == Home::Node && choices.oneIn(3))
      nested(context);
    // A loop's locals end with it; a body without a table is fine.
    locals.clear();
  }

  /// Inside a node loop: an accumulation over its edges or groups.
  void nested(Context &context) {
    std::string name = freshName();
    Shape shape = randomShape();
    bool incoming = choices.below(2) == 0;
    bool groups = choices.oneIn(3);
    std::string n = context.inner().name;
    static const char *kStarts[] = {"0.0", "0.5", "-3.0"};
    bool isChoice = choices.oneIn(3);
    emit(2, n + "[\"" + name + "\"] = " + (isChoice ? expression(context, shape, 1) : kStarts[choices.below(3)]));
    std::string variable = groups ? "p" : "e";
    emit(2, "for " + variable + " in " + n + (incoming ? ".incoming_" : ".outgoing_") +
                (groups ? "types():" : "edges():"));
    Home home = !groups ? Home::Edge : incoming ? Home::InPair : Home::OutPair;
    Context inside = context;
    inside.variables.push_back({home, variable, false});
    auto savedLocals = locals;
    std::string value = expression(inside, shape, 1 + choices.below(2));
    std::string target = n + "[\"" + name + "\"]";
    if (groups && choices.below(2)) {
      std::string group = freshName();
      emit(3, "p[\"" + group + "\"] = " + value);
      tables.push_back({home, group, shape, loop});
      value = "p[\"" + group + "\"]";
    }
    if (isChoice)
      emit(3, target + " = " + (choices.below(2) ? "max(" : "min(") + target + ", " + value + ")");
    else
      emit(3, target + (choices.below(2) ? " += " : " -= ") + value);
    locals = savedLocals;
    tables.push_back({Home::Node, name, shape, loop});
    if (isChoice)
      emit(2, n + "[\"" + name + "b\"] = " + target + " * 2.0");
    if (isChoice)
      tables.push_back({Home::Node, name + "b", shape, loop});
  }

  /// Edges that add to rows of another domain, or raise or lower them.
  void scatter() {
    static const std::pair<const char *, Home> kTargets[] = {{"e.dst", Home::Node},
                                                             {"e.src", Home::Node},
                                                             {"e.etype", Home::EdgeType},
                                                             {"e.dst_pair", Home::InPair},
                                                             {"e.src_pair", Home::OutPair}};
    const auto &[target, home] = kTargets[choices.below(5)];
    bool isPair = home == Home::InPair || home == Home::OutPair, isChoice = choices.oneIn(3);
    std::string name = freshName();
    Shape shape = randomShape();
    ++loop;
    emit(1, home == Home::EdgeType ? "for t in g.edge_types():" : "for n in g.nodes():");
    if (isPair)
      emit(2, home == Home::InPair ? "for p in n.incoming_types():" : "for p in n.outgoing_types():");
    std::string variable = home == Home::EdgeType ? "t" : isPair ? "p" : "n";
    Context rows{{{home, variable, true}}, /*isGenerator=*/true};
    std::string start = isChoice ? expression(rows, shape, 1) : choices.below(2) ? "1.0" : "0.0";
    emit(isPair ? 3 : 2, variable + "[\"" + name + "\"] = " + start);
    ++loop;
    emit(1, "for e in g.edges():");
    Context context{{{Home::Edge, "e", true}}, false};
    std::string old = std::string(target) + "[\"" + name + "\"]", value = expression(context, shape, 2);
    if (isChoice)
      emit(2, old + " = " + (choices.below(2) ? "max(" : "min(") + old + ", " + value + ")");
    else
      emit(2, old + " += " + value);
    tables.push_back({home, name, shape, loop});
    locals.clear();
  }

  /// A softmax as the textbook writes it, which a pass makes stable.
  void naiveSoftmax() {
    Shape shape = randomShape();
    std::string name = freshName();
    ++loop;
    emit(1, "for n in g.nodes():");
    bool incoming = choices.below(2) == 0, types = choices.oneIn(3);
    std::string edges = incoming ? "n.incoming_edges()" : "n.outgoing_edges()";
    int indent = 2;
    if (types) {
      emit(2, std::string("for p in ") + (incoming ? "n.incoming_types():" : "n.outgoing_types():"));
      edges = "p.edges()";
      indent = 3;
    }
    Context context{{{Home::Node, "n", true}, {Home::Edge, "e", false}}, true};
    emit(indent, "for e in " + edges + ":");
    emit(indent + 1, "e[\"" + name + "\"] = exp(sin(" + expression(context, shape, 2) + "))");
    emit(indent, "z = sum(e[\"" + name + "\"] for e in " + edges + ")");
    emit(indent, "for e in " + edges + ":");
    emit(indent + 1, "e[\"" + name + "\"] = e[\"" + name + "\"] / z");
    tables.push_back({Home::Edge, name, shape, loop});
    locals.clear();
  }

  void softmax() {
    if (choices.below(2))
      return naiveSoftmax();
    for (size_t i = 0; i < tables.size(); ++i) {
      if (tables[i].home != Home::Edge)
        continue;
      emit(1, std::string(choices.below(2) ? "edge_softmax" : "relation_softmax") + "(g, \"" + tables[i].name + "\")");
      tables[i].loop = loop;
      return;
    }
  }

  /// A value that all rows of a loop add to, or raise or lower.
  void whole() {
    static const std::tuple<Home, const char *, const char *> kLoops[] = {{Home::Edge, "e", "g.edges()"},
                                                                          {Home::Node, "n", "g.nodes()"},
                                                                          {Home::EdgeType, "t", "g.edge_types()"},
                                                                          {Home::NodeType, "k", "g.node_types()"}};
    const auto &[home, variable, iterator] = kLoops[choices.below(4)];
    static const char *kStarts[] = {"0.0", "0.5", "-3.0"};
    const std::string name = "one" + std::to_string(fresh++);
    const bool isChoice = choices.oneIn(2);
    Shape shape = randomShape();
    emit(1,
         name + " = " + (isChoice && choices.oneIn(3) ? expression(Context(), shape, 1) : kStarts[choices.below(3)]));
    ++loop;
    emit(1, std::string("for ") + variable + " in " + iterator + ":");
    Context context{{{home, variable, true}}, false};
    const std::string value = expression(context, shape, 1 + choices.below(2));
    if (isChoice)
      emit(2, name + " = " + (choices.below(2) ? "max(" : "min(") + name + ", " + value + ")");
    else
      emit(2, name + (choices.below(2) ? " += " : " -= ") + value);
    ones.push_back(name);
    locals.clear();
  }

  void statement() {
    switch (choices.below(10)) {
    case 0:
    case 1:
      return simpleLoop(Home::Node, "n", "g.nodes()");
    case 2:
    case 3:
      return simpleLoop(Home::Edge, "e", "g.edges()");
    case 4:
      return simpleLoop(Home::EdgeType, "t", "g.edge_types()");
    case 5:
      return simpleLoop(Home::NodeType, "k", "g.node_types()");
    case 6:
      return scatter();
    case 7:
      return softmax();
    case 8:
      return whole();
    default: {
      std::string name = "one" + std::to_string(fresh++);
      Shape shape = randomShape();
      Context nothing;
      std::string value = expression(nothing, shape, 2);
      emit(1, name + " = " + value);
      ones.push_back(name);
      return;
    }
    }
  }

  std::string chooseResults() {
    std::vector<std::string> all = ones;
    for (const Table &table : tables)
      if (table.only.empty())
        all.push_back("\"" + table.name + "\"");
    if (all.empty()) {
      ++loop;
      emit(1, "for n in g.nodes():");
      emit(2, "n[\"out\"] = n." + input(Home::Node, {2}));
      all.push_back("\"out\"");
    }
    std::string list = all.back();
    for (size_t i = 0; i + 1 < all.size(); ++i)
      if (choices.below(3) == 1)
        list += ", " + all[i];
    return list;
  }

  Choices &choices;
  const bool isLarge;
  GraphSizes sizes{};
  std::map<std::string, std::string> declarations;
  std::map<std::string, Tensor> tensors;
  std::vector<Table> tables;
  std::map<std::string, Shape> locals;
  std::vector<std::string> ones;
  std::string functions, body;
  std::string partial;  // a factor that is NaN in some rows, while a choice that leaves those out is written
  bool attribute = false;
  int loop = 0, fresh = 0;
  uint32_t numFunctions = 0;
};

}  // namespace

std::vector<double> numbersFor(const std::string &name, size_t count) {
  uint64_t state = 7;
  for (char c : name)
    state = mix(state ^ static_cast<unsigned char>(c));
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = static_cast<float>(static_cast<double>((state = mix(state)) >> 11) * 0x1p-53 * 3.0 - 1.5);
  return numbers;
}

TestProgram generate(Choices &choices, ProgramSize size) {
  return Generator(choices, size).run();
}

}  // namespace hector::fuzz
