/// What the lexer makes of lines, indentation, literals and strays.
#include "language/Lexer.h"

#include <gtest/gtest.h>

namespace hector::language {
namespace {

/// The tokens of `text` as a line of words, with `<`, `>` and `;` for Indent, Dedent and Newline.
std::string tokens(const std::string &text) {
  Source source("t.hec", text);
  Diagnostics diagnostics;
  TokenList list = tokenize(source, diagnostics);
  std::string out;
  for (const Token &token : list.tokens) {
    std::string word(source.text().substr(token.begin, token.end - token.begin));
    switch (token.kind) {
    case TokenKind::EndOfFile:
      return out;
    case TokenKind::Newline:
      word = ";";
      break;
    case TokenKind::Indent:
      word = "<";
      break;
    case TokenKind::Dedent:
      word = ">";
      break;
    case TokenKind::Error:
      word = "error:" + list.errors[token.value].message;
      break;
    default:
      break;
    }
    out += (out.empty() ? "" : " ") + word;
  }
  return out + " (no end)";
}

TokenList lex(const std::string &text) {
  Source source("t.hec", text);
  Diagnostics diagnostics;
  return tokenize(source, diagnostics);
}

int64_t integer(const std::string &text) {
  TokenList list = lex(text);
  return list.tokens[0].kind == TokenKind::Integer ? list.integers.at(0) : -1;
}

double real(const std::string &text) {
  TokenList list = lex(text);
  return list.tokens[0].kind == TokenKind::Float ? list.floats.at(0) : -1;
}

std::string string(const std::string &text) {
  TokenList list = lex(text);
  if (list.tokens[0].kind == TokenKind::String)
    return list.strings.at(0);
  return "error:" + (list.errors.empty() ? "" : list.errors[0].message);
}

std::string faultsOfIndentation(const std::string &text) {
  Source source("t.hec", text);
  Diagnostics diagnostics;
  tokenize(source, diagnostics);
  std::string out;
  for (const Diagnostic &diagnostic : diagnostics.all())
    out += diagnostic.message + "\n";
  return out;
}

TEST(Lexer, EmptyTextHasNoTokens) {
  EXPECT_EQ(tokens(""), "");
  EXPECT_EQ(tokens("\n\n  \n# only a comment\n\t\n"), "");
}

TEST(Lexer, IndentationOpensAndClosesBlocks) {
  EXPECT_EQ(tokens("a\n  b\n  c\n    d\ne\n"), "a ; < b ; c ; < d ; > > e ;");
}

TEST(Lexer, BlocksEndWithTheFile) {
  EXPECT_EQ(tokens("a\n  b\n    c"), "a ; < b ; < c ; > >");
}

TEST(Lexer, BlankAndCommentLinesDoNotIndent) {
  EXPECT_EQ(tokens("a\n  b\n\n# c\n      # d\n  e\n"), "a ; < b ; e ; >");
}

TEST(Lexer, BracketsJoinLines) {
  EXPECT_EQ(tokens("f(a, # one\n\n  b)\nc\n"), "f ( a , b ) ; c ;");
}

TEST(Lexer, BackslashJoinsLines) {
  EXPECT_EQ(tokens("a + \\\n    b\nc"), "a + b ; c ;");
}

TEST(Lexer, BackslashElsewhereIsAnError) {
  EXPECT_EQ(tokens("a \\ b"), "a error:text follows this `\\` on its line b ;");
  EXPECT_EQ(tokens("a \\"), "a error:nothing follows this `\\` ;");
  EXPECT_EQ(tokens("a \\\n"), "a error:nothing follows this `\\` ;");
  EXPECT_EQ(tokens("a \\ \nb"), "a error:blank space follows this `\\` b ;");
}

TEST(Lexer, AllLineEndingsAreAccepted) {
  EXPECT_EQ(tokens("a\r\n  b\r\n  c\rd\ne"), "a ; < b ; c ; > d ; e ;");
}

TEST(Lexer, ByteOrderMarkIsSkippedAtTheStartOnly) {
  EXPECT_EQ(tokens("\xEF\xBB\xBF"
                   "a\n"),
            "a ;");
  EXPECT_EQ(tokens("a \xEF\xBB\xBF\n"), "a error:the character U+FEFF is not part of the language ;");
}

TEST(Lexer, TabsBetweenTokensAreBlank) {
  EXPECT_EQ(tokens("a\t=\tb\f\n"), "a = b ;");
}

TEST(Lexer, TabsInIndentationAreReportedOnce) {
  EXPECT_EQ(faultsOfIndentation("a\n\tb\n\tc\n"), "this line is indented with a tab\n");
  EXPECT_EQ(tokens("a\n\tb\n\tc\n"), "a ; < b ; c ; >");
}

TEST(Lexer, TabsOnBlankLinesAreFine) {
  EXPECT_EQ(faultsOfIndentation("a\n\t\n\t# b\n"), "");
}

TEST(Lexer, DedentBetweenTwoLevelsStaysInTheInnerBlock) {
  EXPECT_EQ(tokens("a\n    b\n  c\n  d\ne"), "a ; < b ; c ; d ; > e ;");
  EXPECT_EQ(faultsOfIndentation("a\n    b\n  c\n  d\ne"),
            "this line is indented by 2, which matches no block above; they are indented by 0 and 4\n");
}

TEST(Lexer, IntegersInAllBases) {
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("00"), 0);
  EXPECT_EQ(integer("1_000_000"), 1000000);
  EXPECT_EQ(integer("0xFf"), 255);
  EXPECT_EQ(integer("0x_ff"), 255);
  EXPECT_EQ(integer("0o17"), 15);
  EXPECT_EQ(integer("0B101"), 5);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
}

TEST(Lexer, IntegersThatDoNotFitAreErrors) {
  EXPECT_EQ(tokens("9223372036854775808"),
            "error:`9223372036854775808` is larger than the largest integer, 9223372036854775807 ;");
  EXPECT_EQ(tokens("0x8000000000000000"),
            "error:`0x8000000000000000` is larger than the largest integer, 9223372036854775807 ;");
}

TEST(Lexer, FloatsInAllForms) {
  EXPECT_EQ(real("1.5"), 1.5);
  EXPECT_EQ(real("1."), 1.0);
  EXPECT_EQ(real(".5"), 0.5);
  EXPECT_EQ(real("1e3"), 1000.0);
  EXPECT_EQ(real("1.e-2"), 0.01);
  EXPECT_EQ(real("1_0.2_5E+1"), 102.5);
  EXPECT_EQ(real("0777.5"), 777.5);
}

TEST(Lexer, FloatsOutOfRange) {
  EXPECT_EQ(real("1e-400"), 0.0);
  EXPECT_EQ(real("0e999999999999999999999"), 0.0);
  EXPECT_EQ(real("0.000000000000000000001e-320"), 0.0);
  EXPECT_EQ(tokens("1e400"), "error:`1e400` is larger than the largest number, about 1.8e308 ;");
}

TEST(Lexer, MalformedNumbersAreOneError) {
  for (const char *text : {"1__0", "1_", "0x", "0b12", "0o8", "12ab", "1_000_", "0xfg", "1j", "1.5j", "1_.5", "1e5_"}) {
    TokenList list = lex(text);
    EXPECT_EQ(list.tokens[0].kind, TokenKind::Error) << text;
    EXPECT_EQ(list.tokens[1].kind, TokenKind::Newline) << text;
  }
  EXPECT_EQ(tokens("012"), "error:`012` starts with a zero ;");
}

TEST(Lexer, StringsInAllQuotes) {
  EXPECT_EQ(string("'a\"b'"), "a\"b");
  EXPECT_EQ(string("\"a'b\""), "a'b");
  EXPECT_EQ(string("\"\""), "");
  EXPECT_EQ(string("'''a\n''b'''"), "a\n''b");
  EXPECT_EQ(string("\"\"\"a\r\nb\"\"\""), "a\nb");
  EXPECT_EQ(string("'größe'"), "größe");
}

TEST(Lexer, EscapesInStrings) {
  EXPECT_EQ(string(R"('\\ \' \" \n\t\a\b\f\v\r')"), "\\ ' \" \n\t\a\b\f\v\r");
  EXPECT_EQ(string(R"('\x41\101\u00e9\U0001F600')"), "AAé😀");
  EXPECT_EQ(string("'a\\\nb'"), "ab");
}

TEST(Lexer, BadEscapesAreErrors) {
  EXPECT_EQ(string(R"('\q')"), "error:this string has an unknown escape `\\q`");
  EXPECT_EQ(string(R"('\x4')"), "error:`\\x` needs 2 hexadecimal digits");
  EXPECT_EQ(string(R"('\ud800')"), "error:`\\ud800` is not a character that a string can hold");
  EXPECT_EQ(string(R"('\U00110000')"), "error:`\\U00110000` is not a character that a string can hold");
}

TEST(Lexer, StringPrefixesAreRefused) {
  EXPECT_EQ(tokens("f'{x}' + 1"), "error:f-strings are not part of the language + 1 ;");
  EXPECT_EQ(tokens("rb'\\d'"), "error:strings have no prefix here, but this one has `rb` ;");
  EXPECT_EQ(tokens("h('x')"), "h ( 'x' ) ;");
}

TEST(Lexer, UnterminatedStringEndsWithItsLine) {
  EXPECT_EQ(tokens("a = 'b\nc"), "a = error:this string does not end on its line ; c ;");
}

TEST(Lexer, UnterminatedTripleStringEndsWithTheFile) {
  EXPECT_EQ(tokens("f('''b\nc(\n"), "f ( error:this string never ends ;");
}

TEST(Lexer, UnterminatedStringIsBlamedForTheBracketItSwallows) {
  EXPECT_EQ(tokens("f('b)\nc = 1\n"), "f ( error:this string does not end on its line ; c = 1 ;");
}

TEST(Lexer, OpenBracketLosesItsLineOnly) {
  EXPECT_EQ(tokens("a = f(b,\nc = 1\n"), "a = f error:this `(` is never closed ; c = 1 ;");
  EXPECT_EQ(tokens("def f(a\n  b = 1\n"), "def f error:this `(` is never closed ; < b = 1 ; >");
}

TEST(Lexer, OpenBracketLosesItsContinuationLines) {
  EXPECT_EQ(tokens("a = f(\n  b,\n\n    c\nd = 1\n"), "a = f error:this `(` is never closed ; d = 1 ;");
  EXPECT_EQ(tokens("def f(a,\n      b\n  c = 1\n"), "def f error:this `(` is never closed ; < c = 1 ; >");
}

TEST(Lexer, OpenBracketEndsBeforeAStatement) {
  EXPECT_EQ(tokens("a = f(b\nreturn c\nd = (1)"), "a = f error:this `(` is never closed ; return c ; d = ( 1 ) ;");
}

TEST(Lexer, ManyOpenBracketsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += "(\n";
  EXPECT_LT(lex(text).tokens.size(), 100u);
}

TEST(Lexer, MismatchedBracketsAreOneErrorEach) {
  EXPECT_EQ(tokens("f(a]\nb"), "f ( a error:this `]` does not close `(` ; b ;");
  EXPECT_EQ(tokens("f(a[1)\nb"), "f ( a [ 1 error:this `)` does not close `[` ; b ;");
  EXPECT_EQ(tokens("a)\nb"), "a error:this `)` closes nothing ; b ;");
}

TEST(Lexer, StraysShowTheCharacterAndItsCode) {
  EXPECT_EQ(tokens("$"), "error:`$` (U+0024) is not part of the language ;");
  EXPECT_EQ(tokens("é"), "error:`é` (U+00E9) is not part of the language ;");
  EXPECT_EQ(tokens("\x07"), "error:the character U+0007 is not part of the language ;");
  EXPECT_EQ(tokens(std::string("\0", 1)), "error:the character U+0000 is not part of the language ;");
  EXPECT_EQ(tokens("\xFF\xFE\xFF"), "error:the byte 0xFF is not valid UTF-8 ;");
}

TEST(Lexer, StraysComeWithTheLikelyFix) {
  EXPECT_EQ(lex("a − b").errors[0].help, "write a plain `-`");
  EXPECT_EQ(lex("a × b").errors[0].help, "write `*`");
  EXPECT_EQ(lex("“a”").errors[0].help, "write a plain `\"`");
  EXPECT_EQ(lex("!a").errors[0].help, "write `not x`; unequal is `!=`");
  EXPECT_EQ(lex("a && b").errors[0].help, "write `and`");
}

TEST(Lexer, AnyTextMayStandInComments) {
  EXPECT_EQ(tokens("a # größe $ “x”\n"), "a ;");
}

TEST(Lexer, CommentsAreUtf8Too) {
  EXPECT_EQ(faultsOfIndentation("a\n  b\n# \xE9t\xE9\n  c\n"), "the byte 0xE9 in this comment is not valid UTF-8\n");
  EXPECT_EQ(tokens("a\n  b\n# \xE9t\xE9\n  c\n"), "a ; < b ; c ; >");
}

TEST(Lexer, LargeTextIsRefused) {
  EXPECT_EQ(faultsOfIndentation(std::string(kMaxSourceBytes + 1, ' ')),
            "t.hec has 4194305 bytes; a model has at most 4194304\n");
}

TEST(Lexer, LongestMarkWins) {
  EXPECT_EQ(tokens("a **= b // c ** d != e -> f := ... @="), "a **= b // c ** d != e -> f := ... @= ;");
}

}  // namespace
}  // namespace hector::language
