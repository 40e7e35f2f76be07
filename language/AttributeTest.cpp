/// Attributes with a fixed list of choices: how they are declared and set, and what is said about mistakes.

#include "language/Parser.h"
#include "language/Signature.h"

#include <gtest/gtest.h>

namespace hector::language {
namespace {

/// A model whose last parameter is `declaration`, read and set; what is wrong, or empty.
std::string check(const std::string &declaration, const std::vector<std::string> &settings, Binding *bound = nullptr) {
  Source source("m.hec", "def m(g, x: Node[d], " + declaration + "):\n    return x\n");
  Diagnostics diagnostics;
  Module module = parse(source, diagnostics);
  auto signature = readSignature(module, source, "", diagnostics);
  if (!signature)
    return diagnostics.render();
  Binding binding;
  auto wrong = bindAttributes(*signature, settings, binding);
  if (bound)
    *bound = binding;
  return wrong.value_or("");
}

TEST(Choices, TakeOneOfTheirStrings) {
  Binding binding;
  EXPECT_EQ(check("norm: Literal[\"sym\", \"row\"] = \"sym\"", {"norm=row"}, &binding), "");
  EXPECT_EQ(binding.attributes["norm"], Constant(std::string("row")));
}

TEST(Choices, FallBackToTheDefault) {
  Binding binding;
  EXPECT_EQ(check("norm: Literal[\"sym\", \"row\"] = \"sym\"", {}, &binding), "");
  EXPECT_EQ(binding.attributes["norm"], Constant(std::string("sym")));
}

TEST(Choices, OfferTheNearestForAMisspeltOne) {
  EXPECT_EQ(check("agg: Literal[\"mean\", \"max\", \"sum\"] = \"mean\"", {"agg=meen"}),
            "attribute `agg` is \"mean\", \"max\" or \"sum\", but is set to `meen`; did you mean `mean`?");
}

TEST(Choices, MustBeSetWithoutADefault) {
  EXPECT_EQ(check("norm: Literal[\"sym\"]", {}), "attribute `norm` of model `m` is not set; add `--set norm=VALUE`");
}

TEST(Choices, RefuseADefaultOutsideOfThem) {
  EXPECT_EQ(check("norm: Literal[\"sym\", \"row\"] = \"col\"", {}),
            "m.hec:1:52: error: the default of `norm` is \"col\", which is no choice of it\n"
            "    1 | def m(g, x: Node[d], norm: Literal[\"sym\", \"row\"] = \"col\"):\n"
            "      |                                                    ^~~~~\n"
            "   help: it is one of \"sym\" or \"row\"\n");
}

TEST(Choices, AreStrings) {
  EXPECT_EQ(check("norm: Literal[1, 2]", {}), "m.hec:1:36: error: `1` is no string; choices are strings\n"
                                              "    1 | def m(g, x: Node[d], norm: Literal[1, 2]):\n"
                                              "      |                                    ^\n"
                                              "   help: write its strings: `norm: Literal[\"a\", \"b\"]`\n");
}

TEST(Choices, AreListedOnce) {
  EXPECT_NE(check("norm: Literal[\"a\", \"a\"]", {}).find("error: \"a\" is listed twice"), std::string::npos);
}

TEST(Choices, AreNotEmpty) {
  EXPECT_NE(check("norm: Literal[]", {}).find("error: `Literal` has no choices"), std::string::npos);
}

}  // namespace
}  // namespace hector::language
