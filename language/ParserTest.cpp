/// What the parser accepts and the tree it makes; and, from files, what it says about mistakes.
#include "language/Parser.h"

#include "language/AstDump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hector::language {
namespace {

/// The tree of `text`, or the errors if there are any.
std::string tree(const std::string &text) {
  Source source("t.hec", text);
  Diagnostics diagnostics;
  Module module = parse(source, diagnostics);
  if (!diagnostics.empty())
    return diagnostics.render();
  std::string block = dump(module.body);
  return block.substr(1, block.size() - 2);
}

/// The tree of one expression.
std::string expr(const std::string &text) {
  std::string assign = tree("v = " + text);
  return assign.starts_with("(= v ") ? assign.substr(5, assign.size() - 6) : assign;
}

std::vector<std::string> messages(const std::string &text) {
  Source source("t.hec", text);
  Diagnostics diagnostics;
  parse(source, diagnostics);
  std::vector<std::string> out;
  for (const Diagnostic &diagnostic : diagnostics.all())
    out.push_back(diagnostic.message);
  return out;
}

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

// ---- expressions

TEST(ParserExpression, Literals) {
  EXPECT_EQ(expr("12"), "12");
  EXPECT_EQ(expr("1.5"), "1.5f");
  EXPECT_EQ(expr("\"att\""), "\"att\"");
  EXPECT_EQ(expr("True"), "True");
  EXPECT_EQ(expr("False"), "False");
}

TEST(ParserExpression, ArithmeticBindsAsInPython) {
  EXPECT_EQ(expr("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(expr("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expr("a / b // c % d @ e"), "(@ (% (// (/ a b) c) d) e)");
  EXPECT_EQ(expr("(a + b) * c"), "(* (+ a b) c)");
}

TEST(ParserExpression, PowerBindsToTheRightAndTighterThanMinus) {
  EXPECT_EQ(expr("-a ** b"), "(- (** a b))");
  EXPECT_EQ(expr("a ** -b ** c"), "(** a (- (** b c)))");
  EXPECT_EQ(expr("- + a"), "(- (+ a))");
  EXPECT_EQ(expr("-a.b[0]"), "(- ([] (. a b) 0))");
}

TEST(ParserExpression, LogicBindsWeakerThanComparison) {
  EXPECT_EQ(expr("not a == b and c or d"), "(or (and (not (== a b)) c) d)");
  EXPECT_EQ(expr("a or b and not c"), "(or a (and b (not c)))");
  EXPECT_EQ(expr("not not a"), "(not (not a))");
  EXPECT_EQ(expr("a + 1 <= b * 2"), "(<= (+ a 1) (* b 2))");
  EXPECT_EQ(expr("(a < b) == c"), "(== (< a b) c)");
}

TEST(ParserExpression, ConditionalBindsToTheRight) {
  EXPECT_EQ(expr("a if b else c if d else e"), "(if b a (if d c e))");
  EXPECT_EQ(expr("a or b if c else d"), "(if c (or a b) d)");
}

TEST(ParserExpression, AttributesSubscriptsAndCallsChain) {
  EXPECT_EQ(expr("n.incoming_edges()"), "(call (. n incoming_edges))");
  EXPECT_EQ(expr("e.src[\"h\"]"), "([] (. e src) \"h\")");
  EXPECT_EQ(expr("f(a)(b)[c].d"), "(. ([] (call (call f a) b) c) d)");
}

TEST(ParserExpression, Arguments) {
  EXPECT_EQ(expr("f(a, b, axis=1, keep=c,)"), "(call f a b axis=1 keep=c)");
  EXPECT_EQ(expr("f(a,\n  b)"), "(call f a b)");
}

TEST(ParserExpression, Subscripts) {
  EXPECT_EQ(expr("W[]"), "([] W _)");
  EXPECT_EQ(expr("W[a, b * 2]"), "([] W (tuple a (* b 2)))");
  EXPECT_EQ(expr("W[a,]"), "([] W (tuple a))");
  EXPECT_EQ(expr("W[1:]"), "([] W (: 1 _))");
  EXPECT_EQ(expr("W[:]"), "([] W (: _ _))");
  EXPECT_EQ(expr("W[:n, 0:2]"), "([] W (tuple (: _ n) (: 0 2)))");
  EXPECT_EQ(expr("W[None]"), "([] W None)");
  EXPECT_EQ(expr("W[None, :, None]"), "([] W (tuple None (: _ _) None))");
}

TEST(ParserExpression, Tuples) {
  EXPECT_EQ(expr("a, b"), "(tuple a b)");
  EXPECT_EQ(expr("(a, b,)"), "(tuple a b)");
  EXPECT_EQ(expr("(a,)"), "(tuple a)");
  EXPECT_EQ(expr("[a]"), "(tuple a)");
  EXPECT_EQ(expr("[]"), "(tuple)");
  EXPECT_EQ(expr("()"), "(tuple)");
  EXPECT_EQ(expr("((a))"), "a");
}

TEST(ParserExpression, Generators) {
  EXPECT_EQ(expr("sum(f(e) for e in n.incoming_edges())"),
            "(call sum (gen (call f e) e (call (. n incoming_edges)) _))");
  EXPECT_EQ(expr("[k for k in range(K) if k != 0]"), "(gen k k (call range K) (!= k 0))");
  EXPECT_EQ(expr("(k for k in a or b)"), "(gen k k (or a b) _)");
  EXPECT_EQ(expr("f((k for k in a), 1)"), "(call f (gen k k a _) 1)");
}

// ---- statements

TEST(ParserStatement, Functions) {
  EXPECT_EQ(tree("def f():\n    pass\n"), "(def f () {pass})");
  EXPECT_EQ(tree("def f(g, x: Node[d], W: EdgeType[] = 0, k=2,) -> None: return x"),
            "(def f ((: g _ _)(: x ([] Node d) _)(: W ([] EdgeType _) 0)(: k _ 2)) {(return x)})");
}

TEST(ParserStatement, DecoratorsAreIgnored) {
  EXPECT_EQ(tree("@hector.model(\"x\")\n@other\ndef f(): pass\n"), "(def f () {pass})");
}

TEST(ParserStatement, Declarations) {
  EXPECT_EQ(tree("x: Node[d_in]\nW: EdgeType[d, d] = 1\n"), "(: x ([] Node d_in) _) (: W ([] EdgeType (tuple d d)) 1)");
}

TEST(ParserStatement, Assignments) {
  EXPECT_EQ(tree("a = b"), "(= a b)");
  EXPECT_EQ(tree("n[\"h\"] = 1"), "(= ([] n \"h\") 1)");
  EXPECT_EQ(tree("a, n[\"h\"] = f(x)"), "(= (tuple a ([] n \"h\")) (call f x))");
  EXPECT_EQ(tree("(a, b) = b, a"), "(= (tuple a b) (tuple b a))");
}

TEST(ParserStatement, AugmentedAssignments) {
  EXPECT_EQ(tree("a += 1; a -= 1; a *= 1; a /= 1"), "(+= a 1) (-= a 1) (*= a 1) (/= a 1)");
  EXPECT_EQ(tree("a //= 1; a %= 1; a **= 1; a @= 1"), "(//= a 1) (%= a 1) (**= a 1) (@= a 1)");
  EXPECT_EQ(tree("n[\"h\"] += e[\"m\"]"), "(+= ([] n \"h\") ([] e \"m\"))");
}

TEST(ParserStatement, Loops) {
  EXPECT_EQ(tree("for e in g.edges():\n    a = 1\n    for k in range(2): b = 2; c = 3\n"),
            "(for e (call (. g edges)) {(= a 1) (for k (call range 2) {(= b 2) (= c 3)})})");
}

TEST(ParserStatement, ElifIsAnIfInsideElse) {
  EXPECT_EQ(tree("if a:\n  pass\nelif b:\n  x = 1\nelse:\n  x = 2\n"), "(if a {pass} {(if b {(= x 1)} {(= x 2)})})");
}

TEST(ParserStatement, Returns) {
  EXPECT_EQ(tree("return"), "(return)");
  EXPECT_EQ(tree("return a"), "(return a)");
  EXPECT_EQ(tree("return a, b"), "(return a b)");
  EXPECT_EQ(tree("return (a, b)"), "(return a b)");
  EXPECT_EQ(tree("return [a, b]"), "(return (tuple a b))");
  EXPECT_EQ(tree("return [a], b"), "(return (tuple a) b)");
}

TEST(ParserStatement, CallsAreStatements) {
  EXPECT_EQ(tree("edge_softmax(g, \"att\")\n"), "(do (call edge_softmax g \"att\"))");
}

TEST(ParserStatement, DocumentationIsDropped) {
  EXPECT_EQ(tree("\"module\"\ndef f():\n    \"\"\"Doc\n    string.\"\"\"\n"), "(def f () {})");
}

TEST(ParserStatement, SemicolonsSeparate) {
  EXPECT_EQ(tree("a = 1; b = 2;\nc = 3"), "(= a 1) (= b 2) (= c 3)");
}

TEST(ParserStatement, SoftKeywordsAreNames) {
  EXPECT_EQ(tree("match = 1\ntype = match\nmatch(x)"), "(= match 1) (= type match) (do (call match x))");
}

TEST(ParserStatement, WholeModel) {
  EXPECT_EQ(
      tree("def rgcn(g, x: Node[i], W: EdgeType[i, o]):\n"
           "    for e in g.edges():\n"
           "        e[\"m\"] = linear(e.src.x, W[e.etype])\n"
           "\n"
           "    for n in g.dst_nodes():\n"
           "        n[\"h\"] = sum(e[\"m\"] for e in n.incoming_edges())  # all types\n"
           "    return n[\"h\"]\n"),
      "(def rgcn ((: g _ _)(: x ([] Node i) _)(: W ([] EdgeType (tuple i o)) _)) {"
      "(for e (call (. g edges)) {(= ([] e \"m\") (call linear (. (. e src) x) ([] W (. e etype))))}) "
      "(for n (call (. g dst_nodes)) {(= ([] n \"h\") (call sum (gen ([] e \"m\") e (call (. n incoming_edges)) _)))}) "
      "(return ([] n \"h\"))})");
}

// ---- places

/// Parses `text`, keeps all alive, and gives the value of its first statement, an assignment.
struct Parsed {
  explicit Parsed(std::string text) : source("t.hec", std::move(text)), module(parse(source, diagnostics)) {}
  const Expr &value() const { return *as<AssignStmt>(module.body.at(0))->value; }
  Source source;
  Diagnostics diagnostics;
  Module module;
};

TEST(ParserPlace, BinaryCoversBothOperandsWithTheirParentheses) {
  Parsed parsed("v = (a + b) * (c)  # end\n");
  EXPECT_EQ(parsed.value().place.text(), "(a + b) * (c)");
  EXPECT_EQ(as<BinaryExpr>(parsed.value())->left->place.text(), "a + b");
  EXPECT_EQ(as<BinaryExpr>(parsed.value())->right->place.text(), "c");
}

TEST(ParserPlace, CallReachesToItsParenthesis) {
  Parsed parsed("v = (f)(a, k=b )\n");
  EXPECT_EQ(parsed.value().place.text(), "(f)(a, k=b )");
  EXPECT_EQ(as<CallExpr>(parsed.value())->keywords[0].namePlace.text(), "k");
}

TEST(ParserPlace, AttributeNamesItsName) {
  Parsed parsed("v = e.src . x\n");
  EXPECT_EQ(parsed.value().place.text(), "e.src . x");
  EXPECT_EQ(as<AttributeExpr>(parsed.value())->namePlace.text(), "x");
}

TEST(ParserPlace, SubscriptsAndSlices) {
  Parsed parsed("v = W[ a:b , : ]\n");
  EXPECT_EQ(parsed.value().place.text(), "W[ a:b , : ]");
  const auto *index = as<TupleExpr>(as<SubscriptExpr>(parsed.value())->index);
  EXPECT_EQ(index->place.text(), "a:b , :");
  EXPECT_EQ(index->items[0]->place.text(), "a:b");
  EXPECT_EQ(index->items[1]->place.text(), ":");
}

TEST(ParserPlace, UnaryConditionalGenerator) {
  EXPECT_EQ(Parsed("v = - (a)\n").value().place.text(), "- (a)");
  EXPECT_EQ(Parsed("v = a if b else (c) \n").value().place.text(), "a if b else (c)");
  EXPECT_EQ(Parsed("v = [ a for b in c if (d) ]\n").value().place.text(), "a for b in c if (d)");
  EXPECT_EQ(Parsed("v = (a, b) \n").value().place.text(), "(a, b)");
  EXPECT_EQ(Parsed("v = a, b, \n").value().place.text(), "a, b,");
}

TEST(ParserPlace, CompoundStatementsAreTheirHeader) {
  Parsed parsed("for e in g.edges() :\n    pass\nif a:\n    pass\nelif b : c = 1\ndef f(x) -> y :\n    pass\n");
  ASSERT_EQ(parsed.module.body.size(), 3u);
  EXPECT_EQ(parsed.module.body[0]->place.text(), "for e in g.edges()");
  EXPECT_EQ(parsed.module.body[1]->place.text(), "if a");
  EXPECT_EQ(as<IfStmt>(parsed.module.body[1])->otherwise[0]->place.text(), "elif b");
  EXPECT_EQ(parsed.module.body[2]->place.text(), "def f(x) -> y");
  EXPECT_EQ(as<FunctionStmt>(parsed.module.body[2])->namePlace.text(), "f");
}

TEST(ParserPlace, SimpleStatementsAreWhole) {
  Parsed parsed("(a) = (b) ; a += 1 ; return a, b # c\nf( x )\nx: Node[d] = 1\npass\n");
  ASSERT_EQ(parsed.module.body.size(), 6u);
  const char *expected[] = {"(a) = (b)", "a += 1", "return a, b", "f( x )", "x: Node[d] = 1", "pass"};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(parsed.module.body[i]->place.text(), expected[i]);
}

// ---- depth: one error, whatever nests

struct DeepText {
  const char *name;
  std::string text;
};
void PrintTo(const DeepText &deep, std::ostream *out) {
  *out << deep.name;
}

class ParserDepth : public testing::TestWithParam<DeepText> {};

TEST_P(ParserDepth, IsOneError) {
  std::vector<std::string> found = messages(GetParam().text);
  EXPECT_EQ(found.size(), 1u) << testing::PrintToString(found);
}

std::string nestedBlocks(size_t depth) {
  std::string text;
  for (size_t i = 0; i < depth; ++i)
    text += std::string(i, ' ') + "for e in g:\n" + std::string(i + 1, ' ') + "x = 1\n";
  for (size_t i = depth; i > 0; --i)
    text += std::string(i, ' ') + "y = (2)\n";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    , ParserDepth,
    testing::Values(
        DeepText{"Parentheses", "v = " + repeat("(", 10000) + "x" + repeat(")", 10000)},
        DeepText{"OpenParentheses", "v = " + repeat("(", 10000)},
        DeepText{"Brackets", "v = " + repeat("[", 10000) + repeat("]", 10000)},
        DeepText{"Calls", "v = " + repeat("f(", 10000) + repeat(")", 10000)},
        DeepText{"Subscripts", "v = " + repeat("x[", 10000) + "0" + repeat("]", 10000)},
        DeepText{"Sums", "v = x" + repeat(" + x", 100000)}, DeepText{"Minuses", "v = " + repeat("-", 100000) + "x"},
        DeepText{"Nots", "v = " + repeat("not ", 100000) + "x"}, DeepText{"Powers", "v = x" + repeat(" ** x", 100000)},
        DeepText{"Attributes", "v = x" + repeat(".x", 100000)}, DeepText{"CallChain", "v = x" + repeat("()", 100000)},
        DeepText{"SubscriptChain", "v = x" + repeat("[0]", 100000)},
        DeepText{"Conditionals", "v = x" + repeat(" if x else x", 100000)},
        DeepText{"Logic", "v = x" + repeat(" and x", 100000)},
        DeepText{"SumsInParentheses", "v = " + repeat("(", 200) + "x" + repeat(repeat(" + x", 20) + ")", 200)},
        DeepText{"Elifs", "if x:\n  y = 1\n" + repeat("elif x:\n  y = 1\n", 100000) + "else:\n  y = 2\n"},
        DeepText{"Blocks", nestedBlocks(1000)},
        DeepText{"Types", "x: " + repeat("(", 10000) + "y" + repeat(")", 10000)}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(ParserLength, LongFlatTextIsFine) {
  EXPECT_TRUE(messages("v = f(" + repeat("x, ", 100000) + "x)").empty());
  EXPECT_TRUE(messages(repeat("v = 1;", 100000)).empty());
  EXPECT_TRUE(messages("v = x" + repeat(" + x", 990)).empty());
  EXPECT_TRUE(messages("v = " + repeat("(", 250) + "x" + repeat(")", 250)).empty());
  EXPECT_TRUE(messages(nestedBlocks(250)).empty());
}

// ---- recovery

TEST(ParserRecovery, IndependentErrorsAreReportedTogether) {
  EXPECT_EQ(messages("a = $\nb = 1 +\nc = 3\nd d\n").size(), 3u);
}

TEST(ParserRecovery, BodyOfABadHeaderIsStillRead) {
  EXPECT_EQ(messages("for a b in c:\n    x = 1\n    y = *\n    z = 1\nw = $\n").size(), 3u);
}

TEST(ParserRecovery, ElseOfABadIfIsNotAnError) {
  EXPECT_EQ(messages("if a = 1:\n  x = 1\nelif b:\n  x = 2\nelse:\n  x = 3\n").size(), 1u);
  EXPECT_EQ(messages("try:\n  x = 1\nexcept A:\n  x = 2\nfinally:\n  x = 3\n").size(), 1u);
}

TEST(ParserRecovery, GoodStatementsSurvive) {
  Source source("t.hec", "a = 1\nb = )\nfor e in g:\n    c = $\n    d = 2\n");
  Diagnostics diagnostics;
  EXPECT_EQ(dump(parse(source, diagnostics).body), "{(= a 1) (for e g {(= d 2)})}");
}

TEST(ParserRecovery, OneStatementIsOneError) {
  EXPECT_EQ(messages("x = $ ? “a” f'b' [1, 2\ny = 1\n").size(), 1u);
}

// ---- mistakes, one file each: NAME.hec beside NAME.expected, what its author reads
//
// HECTOR_REGEN=1 rewrites the expected files; read the difference before committing it.

const std::filesystem::path kErrors = std::filesystem::path(HECTOR_SOURCE_DIR) / "language/test/errors";

std::string readFile(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> errorCases() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(kErrors))
    if (entry.path().extension() == ".hec")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class ParserErrors : public testing::TestWithParam<std::string> {};

TEST_P(ParserErrors, ReadAsExpected) {
  Source source(GetParam() + ".hec", readFile(kErrors / (GetParam() + ".hec")));
  Diagnostics diagnostics;
  parse(source, diagnostics);
  std::string text = diagnostics.render();
  std::filesystem::path expected = kErrors / (GetParam() + ".expected");
  if (std::getenv("HECTOR_REGEN"))
    std::ofstream(expected, std::ios::binary) << text;
  EXPECT_EQ(text, readFile(expected));
  EXPECT_FALSE(diagnostics.empty());
}

INSTANTIATE_TEST_SUITE_P(, ParserErrors, testing::ValuesIn(errorCases()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace hector::language
