#include "language/Lexer.h"

#include "language/Utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

namespace hector::language {

namespace {

constexpr std::pair<std::string_view, TokenKind> kKeywords[] = {
    {"False", TokenKind::False},
    {"None", TokenKind::None},
    {"True", TokenKind::True},
    {"and", TokenKind::And},
    {"as", TokenKind::As},
    {"assert", TokenKind::Assert},
    {"async", TokenKind::Async},
    {"await", TokenKind::Await},
    {"break", TokenKind::Break},
    {"class", TokenKind::Class},
    {"continue", TokenKind::Continue},
    {"def", TokenKind::Def},
    {"del", TokenKind::Del},
    {"elif", TokenKind::Elif},
    {"else", TokenKind::Else},
    {"except", TokenKind::Except},
    {"finally", TokenKind::Finally},
    {"for", TokenKind::For},
    {"from", TokenKind::From},
    {"global", TokenKind::Global},
    {"if", TokenKind::If},
    {"import", TokenKind::Import},
    {"in", TokenKind::In},
    {"is", TokenKind::Is},
    {"lambda", TokenKind::Lambda},
    {"nonlocal", TokenKind::Nonlocal},
    {"not", TokenKind::Not},
    {"or", TokenKind::Or},
    {"pass", TokenKind::Pass},
    {"raise", TokenKind::Raise},
    {"return", TokenKind::Return},
    {"try", TokenKind::Try},
    {"while", TokenKind::While},
    {"with", TokenKind::With},
    {"yield", TokenKind::Yield},
};

struct Mark {
  std::string_view text;
  TokenKind kind;
  std::string_view help;  // of `Error` marks
};

/// Longest first where one mark begins another.
constexpr std::string_view kLogicalHelp = "combine conditions with `and`, `or` and `not`";
constexpr Mark kMarks[] = {
    {"//=", TokenKind::SlashSlashEqual, ""},
    {"**=", TokenKind::StarStarEqual, ""},
    {"<<=", TokenKind::Error, "multiply by a power of two: `x *= 2 ** n`"},
    {">>=", TokenKind::Error, "divide by a power of two: `x //= 2 ** n`"},
    {"...", TokenKind::Ellipsis, ""},
    {"===", TokenKind::Error, "compare with `==`"},
    {"!==", TokenKind::Error, "compare with `!=`"},
    {"&&", TokenKind::Error, "write `and`"},
    {"||", TokenKind::Error, "write `or`"},
    {"<>", TokenKind::Error, "write `!=`"},
    {"&=", TokenKind::Error, kLogicalHelp},
    {"|=", TokenKind::Error, kLogicalHelp},
    {"^=", TokenKind::Error, kLogicalHelp},
    {"<<", TokenKind::Error, "multiply by a power of two: `x * 2 ** n`"},
    {">>", TokenKind::Error, "divide by a power of two: `x // 2 ** n`"},
    {"//", TokenKind::SlashSlash, ""},
    {"**", TokenKind::StarStar, ""},
    {"->", TokenKind::Arrow, ""},
    {":=", TokenKind::Walrus, ""},
    {"<=", TokenKind::LessEqual, ""},
    {">=", TokenKind::GreaterEqual, ""},
    {"==", TokenKind::EqualEqual, ""},
    {"!=", TokenKind::NotEqual, ""},
    {"+=", TokenKind::PlusEqual, ""},
    {"-=", TokenKind::MinusEqual, ""},
    {"*=", TokenKind::StarEqual, ""},
    {"/=", TokenKind::SlashEqual, ""},
    {"%=", TokenKind::PercentEqual, ""},
    {"@=", TokenKind::AtEqual, ""},
    {"(", TokenKind::LeftParen, ""},
    {")", TokenKind::RightParen, ""},
    {"[", TokenKind::LeftBracket, ""},
    {"]", TokenKind::RightBracket, ""},
    {"{", TokenKind::LeftBrace, ""},
    {"}", TokenKind::RightBrace, ""},
    {",", TokenKind::Comma, ""},
    {":", TokenKind::Colon, ""},
    {";", TokenKind::Semicolon, ""},
    {".", TokenKind::Dot, ""},
    {"+", TokenKind::Plus, ""},
    {"-", TokenKind::Minus, ""},
    {"*", TokenKind::Star, ""},
    {"/", TokenKind::Slash, ""},
    {"%", TokenKind::Percent, ""},
    {"@", TokenKind::At, ""},
    {"<", TokenKind::Less, ""},
    {">", TokenKind::Greater, ""},
    {"=", TokenKind::Equal, ""},
    {"&", TokenKind::Error, kLogicalHelp},
    {"|", TokenKind::Error, kLogicalHelp},
    {"^", TokenKind::Error, "powers are written `**`; conditions combine with `and`, `or` and `not`"},
    {"~", TokenKind::Error, "write `not`"},
};

/// What people mean by characters that text editors, papers and web pages put in place of plain ones.
struct Lookalike {
  uint32_t code;
  std::string_view help;
};
constexpr Lookalike kLookalikes[] = {
    {0x21, "write `not x`; unequal is `!=`"},
    {0x24, ""},
    {0x3F, "choose with `a if condition else b`, or row by row with `where(condition, a, b)`"},
    {0x60, "put strings in `\"…\"`"},
    {0xA0, "this is a no-break space; type a plain one"},
    {0xAB, "put strings in `\"…\"`"},
    {0xB2, "write `** 2`"},
    {0xB3, "write `** 3`"},
    {0xB4, "put strings in `\"…\"`"},
    {0xB7, "write `*`, or `dot_prod(a, b)` for the product of two rows"},
    {0xBB, "put strings in `\"…\"`"},
    {0xD7, "write `*`"},
    {0xF7, "write `/`"},
    {0x2010, "write a plain `-`"},
    {0x2011, "write a plain `-`"},
    {0x2012, "write a plain `-`"},
    {0x2013, "write a plain `-`"},
    {0x2014, "write a plain `-`"},
    {0x2018, "write a plain `'`"},
    {0x2019, "write a plain `'`"},
    {0x201A, "write a plain `'`"},
    {0x201C, "write a plain `\"`"},
    {0x201D, "write a plain `\"`"},
    {0x201E, "write a plain `\"`"},
    {0x200B, "this is a zero-width space; delete it"},
    {0x2026, "write out what the dots stand for"},
    {0x202F, "this is a no-break space; type a plain one"},
    {0x2032, "write a plain `'`"},
    {0x2190, "assign with `=`"},
    {0x2192, "write `->`"},
    {0x2211, "write `sum(…)`"},
    {0x2212, "write a plain `-`"},
    {0x2215, "write `/`"},
    {0x2217, "write `*`"},
    {0x2219, "write `*`"},
    {0x221A, "write `sqrt(x)`"},
    {0x2227, "write `and`"},
    {0x2228, "write `or`"},
    {0x2260, "write `!=`"},
    {0x2264, "write `<=`"},
    {0x2265, "write `>=`"},
    {0x22C5, "write `*`, or `dot_prod(a, b)` for the product of two rows"},
    {0x3000, "this is a wide space; type a plain one"},
    {0xFEFF, "this is a byte-order mark in the middle of the file; delete it"},
    {0xFF08, "write a plain `(`"},
    {0xFF09, "write a plain `)`"},
    {0xFF0C, "write a plain `,`"},
    {0xFF1A, "write a plain `:`"},
    {0xFF1B, "write a plain `;`"},
    {0xFF1D, "write a plain `=`"},
};

TokenKind keywordKind(std::string_view word) {
  const auto *keyword =
      std::find_if(std::begin(kKeywords), std::end(kKeywords), [&](const auto &entry) { return entry.first == word; });
  return keyword == std::end(kKeywords) ? TokenKind::Name : keyword->second;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isNamePart(char c) {
  return isNameStart(c) || isDigit(c);
}
bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}
bool isLineEnd(char c) {
  return c == '\n' || c == '\r';
}

int digitValue(char c) {
  if (isDigit(c))
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return 99;
}

std::string hexadecimal(const char *format, uint32_t code) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), format, code);
  return text.data();
}

/// Whether a decimal literal that no double can hold is too small rather than too large.
bool underflows(std::string_view digits) {
  // The power of ten of the first digit that counts, then the exponent; both saturate long before they overflow.
  int64_t magnitude = 0;
  bool point = false, counts = false;
  size_t i = 0;
  for (; i < digits.size() && digits[i] != 'e' && digits[i] != 'E'; ++i) {
    if (digits[i] == '.') {
      point = true;
      continue;
    }
    counts = counts || digits[i] != '0';
    if (counts && !point)
      ++magnitude;
    if (!counts && point)
      --magnitude;
  }
  if (!counts)
    return true;
  if (i == digits.size())
    return magnitude < 0;
  bool negative = digits[i + 1] == '-';
  int64_t exponent = 0;
  for (++i; i < digits.size(); ++i)
    if (isDigit(digits[i]))
      exponent = std::min<int64_t>(exponent * 10 + (digits[i] - '0'), int64_t{1} << 40);
  return magnitude + (negative ? -exponent : exponent) < 0;
}

class Lexer {
public:
  Lexer(const Source &source, Diagnostics &diagnostics)
      : source(source), text(source.text()), diagnostics(diagnostics) {}

  TokenList run();

private:
  struct Bracket {
    char open;
    uint32_t begin;
    size_t token;  // its index
  };

  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool ended() const { return at >= text.size(); }
  Place placeOf(size_t begin, size_t end) const {
    return {&source, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  void push(TokenKind kind, size_t begin, size_t end, size_t value = 0);
  /// Adds an error token for [begin, end), and returns its diagnostic.
  Diagnostic &fail(size_t begin, size_t end, std::string message);

  void lexLine();
  void lexToken();
  void endLine();
  void indentTo();
  void skipBlanksAndComment();
  void continueLine();
  void skipLineEnd();

  void lexName();
  void lexNumber();
  void lexString(size_t begin, std::string_view prefix);
  bool lexEscape(std::string &value, std::string &fault);
  void lexMark();
  void closeBracket(Mark mark);
  bool atStatementKeyword() const;
  void giveUpOnBrackets();
  void skipContinuation(size_t open);
  std::string_view leadingBlanks(size_t begin) const;
  void lexStray();

  const Source &source;
  std::string_view text;
  Diagnostics &diagnostics;
  TokenList out;
  size_t at = 0;
  std::vector<uint32_t> indents = {0};
  std::vector<Bracket> brackets;
  std::vector<size_t> openStrings;  // error tokens of strings that never end
  bool lineHasTokens = false;       // whether the logical line has begun
  size_t lineStart = 0;             // where the logical line's indentation begins
  size_t lineIndent = 0;            // and how wide it is
  bool tabReported = false;
  bool commentReported = false;
  int restarts = 0;
  /// Each restart after an open bracket reads the rest again; this keeps the whole linear.
  static constexpr int kMaxRestarts = 20;
};

TokenList Lexer::run() {
  if (text.size() > kMaxSourceBytes) {
    diagnostics
        .error({}, source.name() + " has " + std::to_string(text.size()) + " bytes; a model has at most " +
                       std::to_string(kMaxSourceBytes))
        .suggest("put data into tensors, and check that this is the model's file");
    text = {};
  }
  if (text.starts_with("\xEF\xBB\xBF"))
    at = 3;
  while (true) {
    while (!ended())
      lexLine();
    if (brackets.empty())
      break;
    giveUpOnBrackets();
  }
  endLine();
  while (indents.size() > 1) {
    indents.pop_back();
    push(TokenKind::Dedent, text.size(), text.size());
  }
  push(TokenKind::EndOfFile, text.size(), text.size());
  return std::move(out);
}

void Lexer::push(TokenKind kind, size_t begin, size_t end, size_t value) {
  if (!lineHasTokens && kind >= TokenKind::Error) {
    lineHasTokens = true;
    indentTo();
  }
  out.tokens.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(end), static_cast<uint32_t>(value)});
}

Diagnostic &Lexer::fail(size_t begin, size_t end, std::string message) {
  push(TokenKind::Error, begin, end, out.errors.size());
  return out.errors.emplace_back(Diagnostic{placeOf(begin, end), std::move(message), {}, {}});
}

/// Reads one physical line, or what is left of it, with its line ending.
void Lexer::lexLine() {
  if (!lineHasTokens) {
    lineStart = at;
    lineIndent = 0;
    for (; isBlank(peek()); ++at) {
      if (peek() == '\t')
        lineIndent = (lineIndent / 8 + 1) * 8;
      else if (peek() == '\f')
        lineIndent = 0;
      else
        ++lineIndent;
    }
  }
  while (true) {
    skipBlanksAndComment();
    if (ended())
      return;
    if (isLineEnd(peek())) {
      if (brackets.empty())
        endLine();
      skipLineEnd();
      return;
    }
    if (peek() == '\\') {
      continueLine();
      continue;
    }
    lexToken();
  }
}

void Lexer::skipBlanksAndComment() {
  while (!ended() && isBlank(text[at]))
    ++at;
  if (peek() != '#')
    return;
  while (!ended() && !isLineEnd(text[at])) {
    Utf8Character character = decodeUtf8(text, at);
    if (!character.valid && !commentReported) {
      // Said at once, for a comment makes no tokens; and once, for its neighbours have the same encoding.
      commentReported = true;
      diagnostics
          .error(placeOf(at, at + 1),
                 "the byte " + hexadecimal("0x%02X", character.code) + " in this comment is not valid UTF-8")
          .suggest("save the file as UTF-8");
    }
    at += character.length;
  }
}

void Lexer::skipLineEnd() {
  at += peek() == '\r' && peek(1) == '\n' ? 2 : 1;
}

void Lexer::continueLine() {
  size_t begin = at++;
  size_t blanks = at;
  while (isBlank(peek()))
    ++at;
  if (ended()) {
    fail(begin, begin + 1, "nothing follows this `\\`").suggest("delete it");
  } else if (!isLineEnd(peek())) {
    at = blanks;
    fail(begin, begin + 1, "text follows this `\\` on its line")
        .suggest("a `\\` at the very end of a line joins it with the next; elsewhere it has no meaning");
  } else if (at != blanks) {
    fail(begin, at, "blank space follows this `\\`").suggest("a `\\` joins two lines only as the last character");
    // Joined all the same: what follows most likely continues this line.
    skipLineEnd();
  } else {
    skipLineEnd();
    if (ended())
      fail(begin, begin + 1, "nothing follows this `\\`").suggest("delete it");
  }
}

/// Ends the logical line, if one has begun.
void Lexer::endLine() {
  if (!lineHasTokens)
    return;
  // Behind the last token, not behind a comment.
  size_t end = out.tokens.back().end;
  push(TokenKind::Newline, end, end);
  lineHasTokens = false;
}

/// Compares the indentation of the line that begins here with the open blocks.
void Lexer::indentTo() {
  std::string_view leading = leadingBlanks(lineStart);
  size_t textBegin = lineStart + leading.size();
  size_t tab = leading.find('\t');
  if (tab != std::string_view::npos && !tabReported) {
    // Once is enough: a file with one tab has hundreds. It is read as Python 2 did, to the next multiple of eight.
    tabReported = true;
    diagnostics.error(placeOf(lineStart + tab, lineStart + tab + 1), "this line is indented with a tab")
        .suggest("indent with spaces");
  }
  auto width = static_cast<uint32_t>(lineIndent);
  if (width > indents.back()) {
    indents.push_back(width);
    out.tokens.push_back({TokenKind::Indent, static_cast<uint32_t>(lineStart), static_cast<uint32_t>(textBegin), 0});
    return;
  }
  auto offset = static_cast<uint32_t>(textBegin);
  while (indents.size() > 1 && indents[indents.size() - 2] >= width) {
    indents.pop_back();
    out.tokens.push_back({TokenKind::Dedent, offset, offset, 0});
  }
  if (indents.back() == width)
    return;
  // Between two levels: the line stays in the inner block, whose other lines now are measured by this one.
  diagnostics
      .error(placeOf(lineStart, textBegin), "this line is indented by " + std::to_string(width) +
                                                ", which matches no block above; they are indented by " +
                                                std::to_string(indents[indents.size() - 2]) + " and " +
                                                std::to_string(indents.back()))
      .suggest("indent it like the block it belongs to");
  indents.back() = width;
}

void Lexer::lexToken() {
  char c = peek();
  if (isNameStart(c)) {
    if (!brackets.empty() && atStatementKeyword()) {
      giveUpOnBrackets();
      return;
    }
    lexName();
  } else if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
    lexNumber();
  } else if (c == '"' || c == '\'') {
    lexString(at, "");
  } else {
    lexMark();
  }
}

void Lexer::lexName() {
  size_t begin = at;
  while (isNamePart(peek()))
    ++at;
  std::string_view word = text.substr(begin, at - begin);
  if ((peek() == '"' || peek() == '\'') && word.size() <= 2 &&
      word.find_first_not_of("rRbBfFuU") == std::string_view::npos) {
    lexString(begin, word);
    return;
  }
  push(keywordKind(word), begin, at);
}

void Lexer::lexNumber() {
  size_t begin = at;
  int base = 10;
  if (peek() == '0') {
    char mark = static_cast<char>(peek(1) | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  }
  if (base != 10)
    at += 2;
  // Everything that could belong to the number is taken, then judged, so that `12ab` is one fault and not two tokens.
  std::string digits;
  bool real = false, wellFormed = true;
  auto takeDigits = [&](int digitBase) {
    size_t first = digits.size();
    bool underscore = false;
    while (digitValue(peek()) < digitBase || peek() == '_') {
      bool isUnderscore = peek() == '_';
      bool leading = digits.size() == first && base == 10;
      wellFormed = wellFormed && !(isUnderscore && (underscore || leading));
      underscore = isUnderscore;
      if (!isUnderscore)
        digits += peek();
      ++at;
    }
    wellFormed = wellFormed && !underscore;
    return digits.size() > first;
  };
  bool hasWhole = takeDigits(base);
  wellFormed = wellFormed && (hasWhole || base == 10);
  if (base == 10) {
    if (peek() == '.') {
      real = true;
      digits += '.';
      ++at;
      if (isDigit(peek()))
        takeDigits(10);
    }
    bool signedExponent = (peek(1) == '+' || peek(1) == '-') && isDigit(peek(2));
    if ((peek() == 'e' || peek() == 'E') && (isDigit(peek(1)) || signedExponent)) {
      real = true;
      digits += 'e';
      ++at;
      if (peek() == '+' || peek() == '-') {
        if (peek() == '-')
          digits += '-';
        ++at;
      }
      takeDigits(10);
    }
  }
  if (isNamePart(peek())) {
    size_t tail = at;
    while (isNamePart(peek()))
      ++at;
    std::string number(text.substr(begin, tail - begin)), rest(text.substr(tail, at - tail));
    Diagnostic &fault =
        fail(begin, at, "`" + std::string(text.substr(begin, std::min<size_t>(at - begin, 40))) + "` is not a number");
    if (keywordKind(rest) != TokenKind::Name)
      fault.suggest("put a blank before `" + rest + "`");
    else if ((rest == "j" || rest == "J") && base == 10)
      fault.suggest("there are no complex numbers; rows hold real ones");
    else if (isNameStart(rest[0]) && base == 10 && at - begin <= 40)
      fault.suggest("a name starts with a letter; a product is written `" + number + " * " + rest + "`");
    return;
  }
  std::string shown(text.substr(begin, std::min<size_t>(at - begin, 40)));
  if (!wellFormed) {
    Diagnostic &fault = fail(begin, at, "`" + shown + "` is not a number");
    if (shown.find('_') != std::string::npos)
      fault.suggest("single underscores may stand between digits: `1_000`");
    return;
  }
  if (real) {
    double value = 0;
    auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (fault == std::errc::result_out_of_range && !underflows(digits)) {
      fail(begin, at, "`" + shown + "` is larger than the largest number, about 1.8e308");
      return;
    }
    // Python reads numbers too close to zero as zero, too.
    push(TokenKind::Float, begin, at, out.floats.size());
    out.floats.push_back(fault == std::errc() ? value : 0.0);
    return;
  }
  bool leadingZero = base == 10 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos;
  if (leadingZero) {
    fail(begin, at, "`" + shown + "` starts with a zero").suggest("delete the zero; octal numbers are written `0o…`");
    return;
  }
  int64_t value = 0;
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (fault == std::errc::result_out_of_range) {
    fail(begin, at, "`" + shown + "` is larger than the largest integer, 9223372036854775807")
        .suggest("as a real number it is written with a point or an exponent: `1e20`");
    return;
  }
  push(TokenKind::Integer, begin, at, out.integers.size());
  out.integers.push_back(value);
}

/// Reads the string whose prefix, if any, starts at `begin`; `at` is at the quote.
void Lexer::lexString(size_t begin, std::string_view prefix) {
  char quote = peek();
  bool triple = peek(1) == quote && peek(2) == quote;
  size_t quotes = triple ? 3 : 1;
  size_t opening = at;
  at += quotes;
  std::string value;
  std::optional<Diagnostic> firstFault;
  auto note = [&](size_t from, size_t to, std::string message, std::string help) {
    if (!firstFault)
      firstFault = Diagnostic{placeOf(from, to), std::move(message), {}, std::move(help)};
  };
  while (true) {
    if (ended() || (!triple && isLineEnd(peek()))) {
      openStrings.push_back(out.tokens.size());
      fail(opening, opening + quotes, triple ? "this string never ends" : "this string does not end on its line")
          .suggest(triple ? "close it with three quotes, as it was opened"
                          : "close it with the same quote; longer text goes between `\"\"\"`");
      return;
    }
    char c = peek();
    if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
      at += quotes;
      break;
    }
    if (c == '\\') {
      size_t escape = at;
      std::string fault;
      if (!lexEscape(value, fault))
        note(escape, at, fault, "a backslash itself is written `\\\\`");
      continue;
    }
    if (isLineEnd(c)) {
      skipLineEnd();
      value += '\n';
      continue;
    }
    Utf8Character character = decodeUtf8(text, at);
    if (!character.valid)
      note(at, at + 1, "the byte " + hexadecimal("0x%02X", character.code) + " is not valid UTF-8",
           "save the file as UTF-8");
    if (character.code == 0)
      note(at, at + 1, "the character U+0000 cannot stand in a string", "");
    value += text.substr(at, character.length);
    at += character.length;
  }
  if (!prefix.empty()) {
    bool formatted = prefix.find_first_of("fF") != std::string_view::npos;
    bool raw = prefix.find_first_of("rR") != std::string_view::npos;
    fail(begin, begin + prefix.size(),
         formatted ? "f-strings are not part of the language"
                   : "strings have no prefix here, but this one has `" + std::string(prefix) + "`")
        .suggest(formatted ? "strings are joined by `+`: `\"h\" + str(k)`"
                 : raw     ? "delete the prefix and write `\\\\` for a backslash"
                           : "delete the prefix; all strings are text");
    return;
  }
  if (firstFault) {
    Diagnostic &fault = fail(firstFault->place.begin, firstFault->place.end, firstFault->message);
    fault.suggest(firstFault->help);
    return;
  }
  push(TokenKind::String, begin, at, out.strings.size());
  out.strings.push_back(std::move(value));
}

/// Reads what a backslash in a string stands for. On a fault it moves behind the part that is wrong.
bool Lexer::lexEscape(std::string &value, std::string &fault) {
  ++at;
  if (ended())
    return true;  // the caller sees the end
  char c = peek();
  constexpr std::string_view kNames = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
  if (size_t which = kNames.find(c); which != std::string_view::npos) {
    value += kValues[which];
    ++at;
    return true;
  }
  if (isLineEnd(c)) {
    skipLineEnd();
    return true;
  }
  size_t begin = at - 1;
  uint32_t code = 0;
  if (c >= '0' && c <= '7') {
    for (int i = 0; i < 3 && peek() >= '0' && peek() <= '7'; ++i, ++at)
      code = code * 8 + static_cast<uint32_t>(peek() - '0');
  } else if (c == 'x' || c == 'u' || c == 'U') {
    ++at;
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    for (int i = 0; i < digits; ++i, ++at) {
      if (digitValue(peek()) > 15) {
        fault = "`" + std::string("\\") + c + "` needs " + std::to_string(digits) + " hexadecimal digits";
        return false;
      }
      code = code << 4 | static_cast<uint32_t>(digitValue(peek()));
    }
  } else {
    Utf8Character character = decodeUtf8(text, at);
    at += character.length;
    bool printable = character.valid && character.code >= 0x20 && character.code != 0x7F;
    fault = "this string has an unknown escape" +
            (printable ? " `" + std::string(text.substr(begin, at - begin)) + "`" : "");
    return false;
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) || code == 0) {
    fault = "`" + std::string(text.substr(begin, at - begin)) + "` is not a character that a string can hold";
    return false;
  }
  appendUtf8(value, code);
  return true;
}

void Lexer::lexMark() {
  std::string_view rest = text.substr(at, 3);
  const Mark *mark =
      std::find_if(std::begin(kMarks), std::end(kMarks), [&](const Mark &m) { return rest.starts_with(m.text); });
  if (mark == std::end(kMarks)) {
    lexStray();
    return;
  }
  switch (mark->kind) {
  case TokenKind::LeftParen:
  case TokenKind::LeftBracket:
  case TokenKind::LeftBrace:
    brackets.push_back({peek(), static_cast<uint32_t>(at), out.tokens.size()});
    push(mark->kind, at, at + 1);
    // The first token of a line is preceded by its indentation.
    brackets.back().token = out.tokens.size() - 1;
    ++at;
    return;
  case TokenKind::RightParen:
  case TokenKind::RightBracket:
  case TokenKind::RightBrace:
    closeBracket(*mark);
    return;
  case TokenKind::Error: {
    size_t begin = at;
    at += mark->text.size();
    fail(begin, at, "`" + std::string(mark->text) + "` is not part of the language").suggest(std::string(mark->help));
    return;
  }
  default:
    push(mark->kind, at, at + mark->text.size());
    at += mark->text.size();
  }
}

void Lexer::closeBracket(Mark mark) {
  size_t begin = at++;
  char open = mark.kind == TokenKind::RightParen ? '(' : mark.kind == TokenKind::RightBracket ? '[' : '{';
  std::string quoted = "`" + std::string(mark.text) + "`";
  if (brackets.empty()) {
    fail(begin, at, "this " + quoted + " closes nothing").suggest("delete it, or open its bracket before");
    return;
  }
  if (brackets.back().open == open) {
    push(mark.kind, begin, at);
    brackets.pop_back();
    return;
  }
  Bracket inner = brackets.back();
  fail(begin, at, "this " + quoted + " does not close `" + std::string(1, inner.open) + "`")
      .note(placeOf(inner.begin, inner.begin + 1), "`" + std::string(1, inner.open) + "` is opened here");
  // It closes the bracket it fits, and with it those inside; if it fits none it is a slip for the innermost.
  auto fitting = std::find_if(brackets.rbegin(), brackets.rend(), [&](const Bracket &b) { return b.open == open; });
  if (fitting == brackets.rend())
    brackets.pop_back();
  else
    brackets.erase(fitting.base() - 1, brackets.end());
}

/// Whether a line starts here with a word that only begins statements, so that an open bracket was forgotten.
bool Lexer::atStatementKeyword() const {
  size_t begin = at;
  while (begin > 0 && isBlank(text[begin - 1]))
    --begin;
  if (begin > 0 && !isLineEnd(text[begin - 1]))
    return false;
  constexpr std::string_view kWords[] = {"assert", "break",  "class",   "continue", "def",    "del",
                                         "elif",   "except", "finally", "global",   "import", "nonlocal",
                                         "pass",   "raise",  "return",  "try",      "while",  "with"};
  size_t length = 0;
  while (isNamePart(peek(length)))
    ++length;
  // A keyword argument by such a name is another mistake, which the parser explains.
  size_t after = text.find_first_not_of(" \t", at + length);
  bool argument = after != std::string_view::npos && text[after] == '=';
  return !argument && std::find(std::begin(kWords), std::end(kWords), text.substr(at, length)) != std::end(kWords);
}

/// Reports that the outermost open bracket is never closed, and reads on behind its line as if it had not been opened.
/// The outermost: all after it was read under the assumption that a line had not ended.
void Lexer::giveUpOnBrackets() {
  Bracket outer = brackets.front();
  brackets.clear();
  // A string that does not end most likely swallowed the closing bracket; it is the fault to report.
  auto string = std::lower_bound(openStrings.begin(), openStrings.end(), outer.token);
  size_t resume;
  if (string != openStrings.end()) {
    out.tokens.resize(*string + 1, Token{});
    bool triple = out.tokens.back().end - out.tokens.back().begin == 3;
    resume = triple ? text.size() : out.tokens.back().end;
  } else {
    out.tokens.resize(outer.token, Token{});
    fail(outer.begin, outer.begin + 1, "this `" + std::string(1, outer.open) + "` is never closed")
        .suggest(std::string("add the `") +
                 (outer.open == '('   ? ')'
                  : outer.open == '[' ? ']'
                                      : '}') +
                 "` that belongs to it");
    resume = outer.begin;
  }
  openStrings.clear();
  if (++restarts > kMaxRestarts) {
    at = text.size();
    return;
  }
  at = std::min(text.find_first_of("\r\n", resume), text.size());
  skipContinuation(outer.begin);
}

/// From the end of a line whose bracket at `open` is never closed: skips the lines that were meant to continue it.
/// Below a plain statement those are all that are indented deeper; below a header, whose block is deeper as well,
/// only those to the right of the bracket.
void Lexer::skipContinuation(size_t open) {
  size_t word = lineStart + leadingBlanks(lineStart).size(), length = 0;
  while (word + length < text.size() && isNamePart(text[word + length]))
    ++length;
  constexpr std::string_view kHeaders[] = {"class", "def", "elif", "for", "if", "while", "with"};
  bool header = std::find(std::begin(kHeaders), std::end(kHeaders), text.substr(word, length)) != std::end(kHeaders);
  size_t limit = header ? open - lineStart : lineIndent;
  for (size_t line = at; line < text.size();) {
    line += text[line] == '\r' && line + 1 < text.size() && text[line + 1] == '\n' ? 2 : 1;
    size_t blanks = leadingBlanks(line).size(), begin = line + blanks;
    line = std::min(text.find_first_of("\r\n", begin), text.size());
    bool blank = begin >= line || text[begin] == '#';
    if (blank)
      continue;
    if (blanks <= limit)
      return;
    at = line;
  }
}

/// The blank space that starts at `begin`.
std::string_view Lexer::leadingBlanks(size_t begin) const {
  std::string_view rest = text.substr(std::min(begin, text.size()));
  return rest.substr(0, std::min(rest.find_first_not_of(" \t\f"), rest.size()));
}

void Lexer::lexStray() {
  Utf8Character character = decodeUtf8(text, at);
  size_t begin = at;
  at += character.length;
  if (!character.valid) {
    // One message for a run of them: most likely another encoding or a binary file.
    while (!ended() && !decodeUtf8(text, at).valid)
      ++at;
    fail(begin, begin + 1, "the byte " + hexadecimal("0x%02X", character.code) + " is not valid UTF-8")
        .suggest("save the file as UTF-8");
    return;
  }
  uint32_t code = character.code;
  std::string name = hexadecimal("U+%04X", code);
  bool visible = code > 0x20 && !(code >= 0x7F && code <= 0xA0) && !(code >= 0x2000 && code <= 0x200F) &&
                 !(code >= 0x2028 && code <= 0x202F) && !(code >= 0x2060 && code <= 0x206F) && code != 0x3000 &&
                 code != 0xFEFF;
  std::string quoted = "`" + std::string(text.substr(begin, character.length)) + "` (" + name + ")";
  Diagnostic &fault = fail(begin, at, (visible ? quoted : "the character " + name) + " is not part of the language");
  const auto *lookalike = std::find_if(std::begin(kLookalikes), std::end(kLookalikes),
                                       [&](const Lookalike &entry) { return entry.code == code; });
  if (lookalike != std::end(kLookalikes))
    fault.suggest(std::string(lookalike->help));
  else if (code >= 0x80 && visible)
    fault.suggest("names consist of the letters a to z and A to Z, digits and `_`; comments and strings hold any text");
}

}  // namespace

bool isKeyword(TokenKind kind) {
  return kind >= TokenKind::And && kind <= TokenKind::Yield;
}
bool isRefusedKeyword(TokenKind kind) {
  return kind >= TokenKind::As && kind <= TokenKind::Yield;
}

TokenList tokenize(const Source &source, Diagnostics &diagnostics) {
  return Lexer(source, diagnostics).run();
}

}  // namespace hector::language
