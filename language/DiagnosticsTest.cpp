/// How errors look, and places as lines and columns.
#include "language/Diagnostics.h"

#include <gtest/gtest.h>

namespace hector::language {
namespace {

Place find(const Source &source, std::string_view text) {
  auto begin = static_cast<uint32_t>(source.text().find(text));
  return {&source, begin, begin + static_cast<uint32_t>(text.size())};
}

TEST(Source, ColumnsCountCharacters) {
  Source source("m.hec", "a\nö = 'ü' + b\n");
  Source::LineColumn where = source.lineColumn(find(source, "b").begin);
  EXPECT_EQ(where.line, 2u);
  EXPECT_EQ(where.column, 11u);
}

TEST(Source, LinesEndInAnyWay) {
  Source source("m.hec", "a\r\nb\rc\nd");
  EXPECT_EQ(source.lineText(1), "a");
  EXPECT_EQ(source.lineText(2), "b");
  EXPECT_EQ(source.lineText(3), "c");
  EXPECT_EQ(source.lineText(4), "d");
  EXPECT_EQ(source.lineText(5), "");
  EXPECT_EQ(source.lineColumn(find(source, "d").begin).line, 4u);
}

TEST(Source, ByteOrderMarkTakesNoColumn) {
  Source source("m.hec", "\xEF\xBB\xBFx = 1\n");
  EXPECT_EQ(source.lineText(1), "x = 1");
  EXPECT_EQ(source.lineColumn(3).column, 1u);
}

TEST(Source, JoinCoversBoth) {
  Source source("m.hec", "a + b");
  EXPECT_EQ(join(find(source, "b"), find(source, "a")).text(), "a + b");
  EXPECT_EQ(join({}, find(source, "b")).text(), "b");
}

TEST(Diagnostics, ErrorWithNoteAndHelp) {
  Source source("model.hec", "def f(g, W_msg):\n    m = g.typed_linear(h, W_msg)\n");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "g.typed_linear(h, W_msg)"), "message")
      .note(find(source, "W_msg"), "`W_msg` is declared here")
      .suggest("what to write");
  EXPECT_EQ(diagnostics.render(), "model.hec:2:9: error: message\n"
                                  "    2 |     m = g.typed_linear(h, W_msg)\n"
                                  "      |         ^~~~~~~~~~~~~~~~~~~~~~~~\n"
                                  "model.hec:1:10: note: `W_msg` is declared here\n"
                                  "    1 | def f(g, W_msg):\n"
                                  "      |          ^~~~~\n"
                                  "   help: what to write\n");
}

TEST(Diagnostics, ErrorWithoutAPlace) {
  Diagnostics diagnostics;
  diagnostics.error({}, "the model is empty").suggest("write one");
  EXPECT_EQ(diagnostics.render(), "error: the model is empty\n   help: write one\n");
}

TEST(Diagnostics, NothingIsRenderedWithoutErrors) {
  EXPECT_EQ(Diagnostics().render(), "");
}

TEST(Diagnostics, TabsAndControlCharactersTakeOneColumn) {
  Source source("m.hec", "\ta\x07\xFF = b\n");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "b"), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:8: error: no\n"
                                  "    1 |  a?? = b\n"
                                  "      |        ^\n");
}

TEST(Diagnostics, CharactersOfSeveralBytesTakeOneColumn) {
  Source source("m.hec", "'äöü' + bcd\n");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "bcd"), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:9: error: no\n"
                                  "    1 | 'äöü' + bcd\n"
                                  "      |         ^~~\n");
}

TEST(Diagnostics, PlaceOfSeveralLinesIsUnderlinedToTheEndOfTheFirst) {
  Source source("m.hec", "x = f(a,\n      b)\n");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "f(a,\n      b)"), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:5: error: no\n"
                                  "    1 | x = f(a,\n"
                                  "      |     ^~~~\n");
}

TEST(Diagnostics, EndOfFileIsBehindTheLastText) {
  Source source("m.hec", "x = 1\n\n  \n");
  Diagnostics diagnostics;
  auto end = static_cast<uint32_t>(source.text().size());
  diagnostics.error({&source, end, end}, "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:6: error: no\n"
                                  "    1 | x = 1\n"
                                  "      |      ^\n");
}

TEST(Diagnostics, EmptyFile) {
  Source source("m.hec", "");
  Diagnostics diagnostics;
  diagnostics.error({&source, 0, 0}, "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:1: error: no\n"
                                  "    1 |\n"
                                  "      | ^\n");
}

TEST(Diagnostics, LongLinesAreCutAroundTheCaret) {
  std::string line = std::string(200, 'a') + " + bcd + " + std::string(200, 'e');
  Source source("m.hec", line);
  Diagnostics diagnostics;
  diagnostics.error(find(source, "bcd"), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:204: error: no\n"
                                  "    1 | …" +
                                      std::string(36, 'a') + " + bcd + " + std::string(73, 'e') +
                                      "…\n"
                                      "      |                                         ^~~\n");
}

TEST(Diagnostics, UnderlineEndsWithACutLine) {
  Source source("m.hec", std::string(300, 'a'));
  Diagnostics diagnostics;
  diagnostics.error(find(source, source.text()), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:1:1: error: no\n"
                                  "    1 | " +
                                      std::string(119, 'a') + "…\n      | ^" + std::string(119, '~') + "\n");
}

TEST(Diagnostics, LongLineNumbersWidenTheGutter) {
  Source source("m.hec", std::string(123455, '\n') + "a");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "a"), "no");
  EXPECT_EQ(diagnostics.render(), "m.hec:123456:1: error: no\n"
                                  "123456 | a\n"
                                  "       | ^\n");
}

TEST(Diagnostics, SortedByFileThenPlace) {
  Source first("a.hec", "x y"), second("b.hec", "z");
  Diagnostics diagnostics;
  diagnostics.error(find(first, "y"), "two");
  diagnostics.error(find(second, "z"), "three");
  diagnostics.error(find(first, "x"), "one");
  std::string text = diagnostics.render();
  EXPECT_LT(text.find("one"), text.find("two"));
  EXPECT_LT(text.find("two"), text.find("three"));
}

TEST(Diagnostics, SecondErrorAtOnePlaceIsDropped) {
  Source source("m.hec", "x");
  Diagnostics diagnostics;
  diagnostics.error(find(source, "x"), "first");
  diagnostics.error(find(source, "x"), "second").suggest("lost");
  EXPECT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics.all()[0].help, "");
}

TEST(Diagnostics, ErrorsWithoutAPlaceAreKeptApart) {
  Diagnostics diagnostics;
  diagnostics.error({}, "first");
  diagnostics.error({}, "second");
  diagnostics.error({}, "first");
  EXPECT_EQ(diagnostics.size(), 2u);
}

TEST(Diagnostics, ManyErrorsAreCounted) {
  Source source("m.hec", std::string(100, 'x'));
  Diagnostics diagnostics;
  auto add = [&](uint32_t i) { diagnostics.error({&source, i, i + 1}, "no"); };
  for (uint32_t i = 0; i <= Diagnostics::kMaxShown; ++i)
    add(i);
  EXPECT_TRUE(diagnostics.render().ends_with("\n… and 1 more error\n"));
  add(50);
  EXPECT_TRUE(diagnostics.render().ends_with("\n… and 2 more errors\n"));
}

TEST(Nearest, FindsTheLikelyWord) {
  EXPECT_EQ(nearest("incomming_edges", {"outgoing_edges", "incoming_edges"}), "incoming_edges");
  EXPECT_EQ(nearest("lienar", {"concat", "linear"}), "linear");
}

TEST(Nearest, OffersNothingWhenNoneIsNear) {
  EXPECT_EQ(nearest("foo", {"linear", "concat"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace hector::language
