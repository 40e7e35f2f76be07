#include "runtime/base/Text.h"

#include "runtime/base/Status.h"

#include <gtest/gtest.h>

using namespace hector;

TEST(StatusTest, ContextComesBeforeTheMessage) {
  EXPECT_EQ(Status::invalid("no such file").during("while reading x").message(), "while reading x: no such file");
}

TEST(StatusTest, SuccessTakesNoContext) {
  EXPECT_TRUE(Status::ok().during("while reading x").isOk());
}

TEST(TextTest, EveryCharacterLengthIsValid) {
  std::string text = "aé→𝔾\x7f";
  EXPECT_EQ(validUtf8Prefix(text), text.size());
}

TEST(TextTest, EmptyTextIsValid) {
  EXPECT_EQ(validUtf8Prefix(""), 0u);
}

TEST(TextTest, PrefixEndsBeforeTheFirstBadByte) {
  EXPECT_EQ(validUtf8Prefix("ab\xff"), 2u);
}

TEST(TextTest, BadSequencesAreRefused) {
  // Lone continuation, overlong forms, cut short, a surrogate, beyond U+10FFFF.
  for (std::string text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xe2\x86", "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf", "\xf0\x9d\x94", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(validUtf8Prefix(text), 0u) << hexByte(static_cast<unsigned char>(text[0]));
}

TEST(TextTest, LastCharactersBeforeTheGapsAreValid) {
  for (std::string text : {"\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(validUtf8Prefix(text), text.size());
}

TEST(TextTest, NamesAreShownInTicks) {
  EXPECT_EQ(inTicks("größe"), "`größe`");
}

TEST(TextTest, OddBytesAreShownInHex) {
  EXPECT_EQ(inTicks("a\n\xff\x7f"), "`a\\x0a\\xff\\x7f`");
}

TEST(TextTest, TabsAreShownAsPeopleWriteThem) {
  EXPECT_EQ(inTicks("a\tb"), "`a\\tb`");
}

TEST(TextTest, OneIsNoPlural) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
}

TEST(TextTest, LongNamesAreShortenedBetweenCharacters) {
  EXPECT_EQ(inTicks(std::string(79, 'n') + "→→"), "`" + std::string(79, 'n') + "→…`");
}
