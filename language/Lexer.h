/// Model text to tokens, with Python's rules for lines and indentation.
///
/// A logical line ends in `Newline`; inside brackets and after a backslash lines are joined. Where the indentation of
/// a logical line differs from the one before, `Indent` or `Dedent` tokens stand before its first token, always in
/// pairs. What cannot be a token becomes an `Error` token that carries its diagnostic: the parser, which accepts it
/// nowhere, reports it when it gets there, so that a line with two strays is still one error.
#pragma once

#include "language/Diagnostics.h"
#include "language/Source.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hector::language {

enum class TokenKind : uint8_t {
  // clang-format off
  EndOfFile, Newline, Indent, Dedent, Error,
  Name, Integer, Float, String,
  // Keywords with a meaning here.
  And, Def, Elif, Else, False, For, If, In, Not, Or, Pass, Return, True,
  // Python's other keywords, each refused with its own message.
  As, Assert, Async, Await, Break, Class, Continue, Del, Except, Finally, From, Global, Import, Is, Lambda, None,
  Nonlocal, Raise, Try, While, With, Yield,
  // Brackets and other marks.
  LeftParen, RightParen, LeftBracket, RightBracket, LeftBrace, RightBrace,
  Comma, Colon, Semicolon, Dot, Arrow, Walrus, Ellipsis,
  Plus, Minus, Star, Slash, SlashSlash, Percent, StarStar, At,
  Less, LessEqual, Greater, GreaterEqual, EqualEqual, NotEqual,
  Equal, PlusEqual, MinusEqual, StarEqual, SlashEqual, SlashSlashEqual, PercentEqual, StarStarEqual, AtEqual,
  // clang-format on
};

/// True for all of Python's keywords, refused ones too.
bool isKeyword(TokenKind kind);
/// True for Python's keywords that the language has no use for.
bool isRefusedKeyword(TokenKind kind);

struct Token {
  TokenKind kind;
  uint32_t begin;
  uint32_t end;
  uint32_t value = 0;  // of literals and errors: the index into the list of its kind below
};

/// The tokens of one source, ending in `EndOfFile`, and the values of its literals.
struct TokenList {
  std::vector<Token> tokens;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  std::vector<std::string> strings;
  std::vector<Diagnostic> errors;
};

/// Larger texts are refused; a model that long is a mistake.
inline constexpr size_t kMaxSourceBytes = size_t{4} << 20;

/// Splits all of `source`. Faults of indentation, which leave the tokens intact, go to `diagnostics` at once.
TokenList tokenize(const Source &source, Diagnostics &diagnostics);

}  // namespace hector::language
