/// Declarations, and how sizes and attributes get their values; every message in full.

#include "language/Signature.h"

#include "language/Parser.h"

#include <gtest/gtest.h>

#include <memory>

namespace hector::language {
namespace {

/// A model's text with its signature, or with what is wrong with it.
struct Declared {
  explicit Declared(const std::string &text, const std::string &entry = "")
      : source(std::make_unique<Source>("m.hec", text)), module(parse(*source, diagnostics)) {
    EXPECT_TRUE(diagnostics.empty()) << diagnostics.render();
    signature = readSignature(module, *source, entry, diagnostics);
  }

  /// Errors as "line:column message; help", one per line.
  std::string errors() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.all()) {
      auto [line, column] = source->lineColumn(diagnostic.place.begin);
      text += std::to_string(line) + ":" + std::to_string(column) + " " + diagnostic.message;
      text += (diagnostic.help.empty() ? "" : "; " + diagnostic.help) + "\n";
    }
    return text;
  }

  std::unique_ptr<Source> source;
  Diagnostics diagnostics;
  Module module;
  std::optional<Signature> signature;
};

/// What is wrong with the parameters of a model.
std::string errorsOf(const std::string &parameters) {
  return Declared("def m(" + parameters + "):\n    return \"h\"\n").errors();
}

Declared model(const std::string &parameters) {
  return Declared("def m(" + parameters + "):\n    return \"h\"\n");
}

TEST(Signature, InputsAttributesAndSizes) {
  Declared declared =
      model("graph, x: Node[d_in], w: Edge[], W: EdgeType[heads, d_in, d], b: NodeType[heads * d], s: Shared[2], "
            "rate: float, heads: int = 4, eps=1e-5, deep: bool = False, mode: str = \"sum\"");
  ASSERT_TRUE(declared.signature) << declared.errors();
  const Signature &signature = *declared.signature;
  EXPECT_EQ(signature.name, "m");
  EXPECT_EQ(signature.graph, "graph");
  ASSERT_EQ(signature.inputs.size(), 5u);
  const Home homes[] = {Home::Node, Home::Edge, Home::EdgeType, Home::NodeType, Home::Shared};
  const size_t ranks[] = {1, 0, 3, 1, 1};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(signature.inputs[i].home, homes[i]) << i;
    EXPECT_EQ(signature.inputs[i].sizes.size(), ranks[i]) << i;
  }
  EXPECT_EQ(signature.inputs[2].place.text(), "W: EdgeType[heads, d_in, d]");
  ASSERT_EQ(signature.attributes.size(), 5u);
  EXPECT_EQ(signature.findAttribute("heads")->value, Constant(int64_t{4}));
  EXPECT_EQ(signature.findAttribute("eps")->kind, AttributeKind::Float);
  EXPECT_EQ(signature.findAttribute("deep")->value, Constant(false));
  EXPECT_EQ(signature.findAttribute("mode")->value, Constant(std::string("sum")));
  EXPECT_FALSE(signature.findAttribute("rate")->value);
  // What is no attribute is a size, in the order of first use.
  ASSERT_EQ(signature.sizes.size(), 2u);
  EXPECT_EQ(signature.sizes[0].name, "d_in");
  EXPECT_EQ(signature.sizes[1].name, "d");
}

TEST(Signature, IntegersServeAsFloats) {
  Declared declared = model("g, rate: float = -2");
  ASSERT_TRUE(declared.signature) << declared.errors();
  EXPECT_EQ(declared.signature->findAttribute("rate")->value, Constant(-2.0));
}

TEST(Signature, TheModelIsTheFunctionThatDeclaresInputs) {
  EXPECT_EQ(Declared("def a(g, x: Node[d]):\n    pass\ndef b(v):\n    return v\n").signature->name, "a");
  EXPECT_EQ(Declared("def a(v):\n    return v\ndef b(g):\n    pass\n").signature->name, "b");
  const std::string two = "def a(g, x: Node[d]):\n    pass\ndef b(g, x: Node[d]):\n    pass\n";
  EXPECT_EQ(Declared(two, "a").signature->name, "a");
  EXPECT_EQ(Declared(two).errors(), "3:5 two functions declare inputs, so either could be the model; choose with "
                                    "`--entry b`\n");
  EXPECT_EQ(Declared(two, "c").errors(), "1:1 m.hec has no function `c`; it has `a` and others\n");
}

TEST(Signature, AModuleCanBeTheModel) {
  Declared declared("x: Node[d]\nheads: int = 2\nfor n in g.nodes():\n    n[\"h\"] = n.x\n");
  ASSERT_TRUE(declared.signature) << declared.errors();
  EXPECT_EQ(declared.signature->name, "model");
  EXPECT_EQ(declared.signature->graph, "g");
  EXPECT_FALSE(declared.signature->function);
  EXPECT_TRUE(declared.signature->findInput("x"));
  EXPECT_TRUE(declared.signature->findAttribute("heads"));
}

TEST(Signature, NothingToCompile) {
  EXPECT_EQ(Declared("").errors(), "1:1 the file holds no model; write `def layer(g, x: Node[d]):` and a `return`\n");
  EXPECT_EQ(Declared("def a():\n    pass\ndef a():\n    pass\n").errors(), "3:5 function `a` is defined twice\n");
  EXPECT_EQ(errorsOf(""), "1:5 the first parameter of a model is the graph; write `def m(g, …)`\n");
  EXPECT_EQ(errorsOf("x: Node[d]"), "1:7 the first parameter of a model is the graph; write `def m(g, …)`\n");
  EXPECT_EQ(Declared("def m(g, x: Node[d]):\n    pass\nt = 1\n", "m").errors(),
            "3:1 statements outside of functions belong to no model; move them into it\n");
  EXPECT_EQ(
      Declared("def m(g, x: Node[d]):\n    pass\nt = 1\n").errors(),
      "1:5 `m` declares inputs, but the statements outside of it are a model already; a file is one model: move the "
      "statements into the function, or remove them\n");
}

TEST(Signature, DeclarationsThatSayTooLittle) {
  EXPECT_EQ(errorsOf("g, x"), "1:10 `x` is not declared: nothing says where it lives; write `x: Node[d]`, or Edge, "
                              "EdgeType, NodeType, Shared; `x: int` for an attribute\n");
  EXPECT_EQ(errorsOf("g, x: Node"),
            "1:13 `Node` does not say what `x` is; data needs its row shape: `Node[d]`, or `Node[]` for one number\n");
  EXPECT_EQ(errorsOf("g, x: tensor"),
            "1:13 `tensor` does not say what `x` is; write where data lives, as in `Node[d]`, or `int`, `float`, "
            "`bool`, `str` for an attribute\n");
  EXPECT_EQ(errorsOf("g, x: Nodes[d]"), "1:13 `Nodes` is no place for data to live; did you mean `Node`?\n");
  EXPECT_EQ(errorsOf("g, x: Hyperedge[d]"),
            "1:13 `Hyperedge` is no place for data to live; write Node, Edge, EdgeType, NodeType or Shared\n");
}

TEST(Signature, DeclarationsThatSayTooMuch) {
  EXPECT_EQ(errorsOf("g, x: Node[d], x: Edge[d]"), "1:22 `x` is declared twice\n");
  EXPECT_EQ(errorsOf("g, g: Node[d]"), "1:10 `g` is declared twice\n");
  EXPECT_EQ(errorsOf("g, x: Node[d] = 1"),
            "1:23 input `x` cannot have a default; data comes from the case or from training; only `int`, `float`, "
            "`bool` and `str` have defaults\n");
  EXPECT_EQ(errorsOf("g, src: Node[d]"),
            "1:10 `src` is a word of the language and cannot name an input; choose another name\n");
  EXPECT_EQ(errorsOf("g, k: int = 1.5"),
            "1:19 the default of `k` is no int; write a number, True, False or a string\n");
  EXPECT_EQ(errorsOf("g, k = a + b"),
            "1:14 the default of `k` is not a plain value; write a number, True, False or a string\n");
}

TEST(Signature, WhatIsNoSize) {
  EXPECT_EQ(errorsOf("g, x: Node[0]"), "1:18 a size is at least 1, but this is 0\n");
  EXPECT_EQ(errorsOf("g, x: Node[d / 2]"),
            "1:18 `d / 2` is no size; a size is a number, a name, or a product such as `heads * d`\n");
  EXPECT_EQ(errorsOf("g, x: Node[1.5]"),
            "1:18 `1.5` is no size; a size is a number, a name, or a product such as `heads * d`\n");
  EXPECT_EQ(errorsOf("g, x: Node[rate], rate: float = 1.0"), "1:18 `rate` is float; a size is an int\n");
  EXPECT_EQ(errorsOf("g, x: Node[y], y: Node[d]"), "1:18 `y` is an input, not a size\n");
}

//===- Binding ---------------------------------------------------------------------------------------------------===//

/// Binds attributes and sizes, and says what is wrong.
std::string bindError(const Declared &declared, const std::vector<std::string> &settings,
                      const std::vector<std::string> &sizes = {}) {
  Binding binding;
  if (auto wrong = bindAttributes(*declared.signature, settings, binding))
    return *wrong;
  return bindSizes(*declared.signature, sizes, binding).value_or("");
}

TEST(Binding, AttributesTakeValuesAndDefaults) {
  Declared declared = model("g, heads: int = 4, rate: float = 0.5, deep: bool = False, mode: str = \"a\"");
  Binding binding;
  const std::vector<std::string> settings{"heads=8", "deep=True", "mode=x=y"};
  EXPECT_FALSE(bindAttributes(*declared.signature, settings, binding));
  EXPECT_EQ(binding.attributes["heads"], Constant(int64_t{8}));
  EXPECT_EQ(binding.attributes["rate"], Constant(0.5));
  EXPECT_EQ(binding.attributes["deep"], Constant(true));
  EXPECT_EQ(binding.attributes["mode"], Constant(std::string("x=y")));
}

TEST(Binding, AttributesThatDoNotFit) {
  Declared declared = model("g, x: Node[d], heads: int, rate: float = 1.0, deep: bool = True");
  EXPECT_EQ(bindError(declared, {"heads"}), "--set takes NAME=VALUE, but is given `heads`");
  EXPECT_EQ(bindError(declared, {"=4"}), "--set takes NAME=VALUE, but is given `=4`");
  EXPECT_EQ(bindError(declared, {"heads=4.5"}),
            "attribute `heads` is int, but is set to `4.5`; expected a whole number of 64 bits");
  EXPECT_EQ(bindError(declared, {"heads=99999999999999999999"}),
            "attribute `heads` is int, but is set to `99999999999999999999`; expected a whole number of 64 bits");
  EXPECT_EQ(bindError(declared, {"heads="}),
            "attribute `heads` is int, but is set to ``; expected a whole number of 64 bits");
  EXPECT_EQ(bindError(declared, {"rate=fast"}),
            "attribute `rate` is float, but is set to `fast`; expected a number, as in 0.5");
  EXPECT_EQ(bindError(declared, {"deep=yes"}), "attribute `deep` is bool, but is set to `yes`; expected True or False");
  EXPECT_EQ(bindError(declared, {}), "attribute `heads` of model `m` is not set; add `--set heads=VALUE`");
  EXPECT_EQ(bindError(declared, {"head=4"}), "model `m` has no attribute `head`; did you mean `heads`?");
  EXPECT_EQ(bindError(declared, {"zzz=4"}), "model `m` has no attribute `zzz`; it has `heads`, `rate`, `deep`");
  EXPECT_EQ(bindError(declared, {"d=4"}), "`d` is a size of model `m`; bind it with `--size d=4`");
  EXPECT_EQ(bindError(model("g"), {"zzz=4"}), "model `m` has no attribute `zzz`; it has none");
}

TEST(Binding, SizesThatDoNotFit) {
  Declared declared = model("g, x: Node[d_in], W: Shared[d_in, d_out], heads: int = 4");
  EXPECT_EQ(bindError(declared, {}, {"d_in=64", "d_out=1"}), "");
  EXPECT_EQ(bindError(declared, {}, {"d_in"}), "--size takes NAME=VALUE, but is given `d_in`");
  EXPECT_EQ(bindError(declared, {}, {"d_in=0"}), "size `d_in` is a number from 1 on, but is set to `0`");
  EXPECT_EQ(bindError(declared, {}, {"d_in=4x"}), "size `d_in` is a number from 1 on, but is set to `4x`");
  EXPECT_EQ(bindError(declared, {}, {"heads=4"}), "`heads` is an attribute of model `m`; bind it with `--set heads=4`");
  EXPECT_EQ(bindError(declared, {}, {"din=4"}), "model `m` has no size `din`; did you mean `d_in`?");
  EXPECT_EQ(bindError(declared, {}, {"zzz=4"}), "model `m` has no size `zzz`; it has `d_in`, `d_out`");
}

/// Binds the row shape of the only input of a model.
struct Shaped {
  explicit Shaped(const std::string &sizes, const std::string &others = "")
      : declared(model("g, x: Node[" + sizes + "]" + others)) {
    EXPECT_TRUE(declared.signature) << declared.errors();
    EXPECT_FALSE(bindAttributes(*declared.signature, {}, binding));
  }
  std::string bind(const std::vector<int64_t> &shape) {
    undecided = false;
    return bindShape(declared.signature->inputs[0], shape, "`x`", binding, undecided).value_or("");
  }

  Declared declared;
  Binding binding;
  bool undecided = false;
};

TEST(Binding, ShapesSolveForSizes) {
  Shaped plain("d, d");
  EXPECT_EQ(plain.bind({4, 4}), "");
  EXPECT_EQ(plain.binding.sizes["d"], 4);
  Shaped product("heads * d * 2", ", heads: int = 3");
  EXPECT_EQ(product.bind({24}), "");
  EXPECT_EQ(product.binding.sizes["d"], 4);
  EXPECT_EQ(product.binding.sizeOrigin["d"], "`x`");
  Shaped sum("a, a + 1, 2 * a - 1, a // 2");
  EXPECT_EQ(sum.bind({5, 6, 9, 2}), "");
}

TEST(Binding, AProductOfTwoUnknownsWaits) {
  Shaped product("heads * d");
  EXPECT_EQ(product.bind({24}), "");
  EXPECT_TRUE(product.undecided);
  product.binding.sizes["heads"] = 4;
  EXPECT_EQ(product.bind({24}), "");
  EXPECT_FALSE(product.undecided);
  EXPECT_EQ(product.binding.sizes["d"], 6);
}

TEST(Binding, ShapesThatDoNotFit) {
  EXPECT_EQ(Shaped("d").bind({4, 4}), "rows of `x` have shape [4, 4], but are declared with 1 size: `x: Node[d]`");
  EXPECT_EQ(Shaped("").bind({4}), "rows of `x` have shape [4], but are declared with 0 sizes: `x: Node[]`");
  EXPECT_EQ(Shaped("d").bind({0}), "rows of `x` have shape [0], but every size is at least 1");
  EXPECT_EQ(Shaped("3").bind({4}), "rows of `x` have shape [4], but `x: Node[3]` asks for 3 at axis 0");
  EXPECT_EQ(Shaped("d, d").bind({4, 5}),
            "rows of `x` have shape [4, 5], but `x: Node[d, d]` asks for 4 at axis 1 (d = 4 from `x`)");
  EXPECT_EQ(Shaped("3 * d").bind({4}),
            "rows of `x` have shape [4], but `x: Node[3 * d]` asks for a multiple of 3 at axis 0");
}

/// The row shape of the only input, or what is wrong with it.
std::string shapeOf(Shaped &shaped) {
  Diagnostics diagnostics;
  auto shape = rowShape(shaped.declared.signature->inputs[0], shaped.binding, diagnostics);
  std::string text;
  if (shape)
    for (int64_t size : *shape)
      text += std::to_string(size) + " ";
  else
    text = diagnostics.all()[0].message + (diagnostics.all()[0].help.empty() ? "" : "; " + diagnostics.all()[0].help);
  return text;
}

TEST(Binding, RowShapes) {
  Shaped fine("heads * d, 2, d - 1", ", heads: int = 3");
  EXPECT_EQ(shapeOf(fine), "size `d` has no value; add `--size d=64`");
  fine.binding.sizes["d"] = 4;
  EXPECT_EQ(shapeOf(fine), "12 2 3 ");
  fine.binding.sizes["d"] = 1;
  EXPECT_EQ(shapeOf(fine), "a size is at least 1, but this is 0");
  fine.binding.sizes["d"] = int64_t{1} << 62;
  EXPECT_EQ(shapeOf(fine), "this size cannot be computed");
  Shaped sum("d + 2 * k");
  EXPECT_EQ(shapeOf(sum), "size `d` has no value; add `--size d=64`");
  Shaped large("d, d");
  large.binding.sizes["d"] = 1 << 21;
  EXPECT_EQ(shapeOf(large), "a row of `x` would have more than 2^40 numbers");
  Shaped ratio("6 // k", ", k: int = 0");
  EXPECT_EQ(shapeOf(ratio), "this size cannot be computed");
}

TEST(Binding, OpenSizesAreThoseOfTheInput) {
  Shaped open("heads * d, d + k, 3", ", W: Shared[o], heads: int = 3");
  EXPECT_EQ(openSizes(open.declared.signature->inputs[0], open.binding), (std::vector<std::string>{"d", "d", "k"}));
  open.binding.sizes["d"] = 4;
  EXPECT_EQ(openSizes(open.declared.signature->inputs[0], open.binding), std::vector<std::string>{"k"});
}

TEST(Binding, SizesWithoutAValueAreShownAsWritten) {
  Shaped open("heads * d, 2 * d", ", heads: int = 3");
  EXPECT_EQ(describeRowShape(open.declared.signature->inputs[0], open.binding),
            (std::vector<std::string>{"heads * d", "2 * d"}));
  open.binding.sizes["d"] = 4;
  EXPECT_EQ(describeRowShape(open.declared.signature->inputs[0], open.binding), (std::vector<std::string>{"12", "8"}));
}

TEST(Constants, AreShownAsTheyAreWritten) {
  EXPECT_EQ(formatConstant(true), "True");
  EXPECT_EQ(formatConstant(int64_t{-3}), "-3");
  EXPECT_EQ(formatConstant(0.1), "0.1");
  EXPECT_EQ(formatConstant(std::string("a")), "\"a\"");
}

}  // namespace
}  // namespace hector::language
