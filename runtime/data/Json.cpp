#include "runtime/data/Json.h"

#include "runtime/base/Text.h"

#include <cctype>

namespace hector {

namespace {

using Kind = JsonValue::Kind;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

class Parser {
public:
  Parser(std::string_view text, const std::string &name) : text(text), name(name) {}

  Result<JsonValue> run() {
    if (size_t good = validUtf8Prefix(text); good < text.size()) {
      fail(good, "the byte 0x" + hexByte(static_cast<unsigned char>(text[good])) + " is not UTF-8; expected UTF-8");
      return Status::invalid(message);
    }
    JsonValue root;
    if (!value(root, 0))
      return Status::invalid(message);
    skipBlanks();
    if (at < text.size()) {
      unexpected("the end, after the first value");
      return Status::invalid(message);
    }
    return root;
  }

private:
  static constexpr int kMaxDepth = 200;

  /// Moves `line` and `column` to a place that is not before the last one.
  void locate(size_t place) {
    for (; located < place; ++located) {
      if (text[located] == '\n') {
        ++line;
        column = 1;
      } else {
        column += (text[located] & '\xc0') != '\x80';
      }
    }
  }

  bool fail(size_t place, const std::string &what) {
    if (place < located) {
      located = 0;
      line = column = 1;
    }
    locate(place);
    message = name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
    return false;
  }

  /// Says what stands at `at`: a word, a character or the end.
  bool unexpected(const std::string &expected) {
    size_t stop = at;
    while (stop < text.size() && (isDigit(text[stop]) || std::isalpha(static_cast<unsigned char>(text[stop])) ||
                                  (text[stop] & '\x80') || text[stop] == '_' || text[stop] == '.'))
      ++stop;
    if (stop == at)
      ++stop;
    return fail(at, (at >= text.size() ? "the file ends" : "found " + inTicks(text.substr(at, stop - at))) +
                        "; expected " + expected);
  }

  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
      ++at;
  }

  bool take(std::string_view word) {
    if (!text.substr(at).starts_with(word))
      return false;
    at += word.size();
    return true;
  }

  bool value(JsonValue &out, int depth) {
    skipBlanks();
    locate(at);
    out.line = line;
    out.column = column;
    if (depth > kMaxDepth)
      return fail(at, "values are nested more than " + std::to_string(kMaxDepth) + " deep; expected fewer");
    if (at < text.size() && text[at] == '{')
      return object(out, depth);
    if (at < text.size() && text[at] == '[')
      return array(out, depth);
    if (at < text.size() && text[at] == '"') {
      out.kind = Kind::Text;
      return string(out.text);
    }
    // Words end where a word may end: `nulls` is none of them.
    const size_t start = at;
    for (auto [word, kind] : {std::pair("null", Kind::Null),
                              {"true", Kind::Bool},
                              {"false", Kind::Bool},
                              {"NaN", Kind::NotANumber},
                              {"Infinity", Kind::NotANumber},
                              {"-Infinity", Kind::NotANumber}})
      if (take(word)) {
        if (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) {
          at = start;
          break;
        }
        out.kind = kind;
        return true;
      }
    return number(out);
  }

  bool number(JsonValue &out) {
    const size_t start = at;
    size_t end = at;
    auto digits = [&] {
      const size_t first = end;
      while (end < text.size() && isDigit(text[end]))
        ++end;
      return end > first;
    };
    if (end < text.size() && text[end] == '-')
      ++end;
    const size_t whole = end;
    bool sound = digits() && (text[whole] != '0' || end == whole + 1);
    if (sound && end < text.size() && text[end] == '.') {
      ++end;
      sound = digits();
    }
    if (sound && end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      ++end;
      if (end < text.size() && (text[end] == '+' || text[end] == '-'))
        ++end;
      sound = digits();
    }
    if (!sound)
      return unexpected("a value: a text in double quotes, a number, `{`, `[`, `true`, `false` or `null`");
    at = end;
    out.kind = Kind::Number;
    out.text = text.substr(start, end - start);
    return true;
  }

  bool object(JsonValue &out, int depth) {
    out.kind = Kind::Object;
    ++at;
    skipBlanks();
    if (take("}"))
      return true;
    for (;;) {
      skipBlanks();
      if (at >= text.size() || text[at] != '"')
        return unexpected("a name in double quotes");
      std::string key;
      if (!string(key))
        return false;
      skipBlanks();
      if (!take(":"))
        return unexpected("`:` after the name " + inTicks(key));
      out.names.push_back(std::move(key));
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1))
        return false;
      skipBlanks();
      if (take("}"))
        return true;
      if (!take(","))
        return unexpected("`,` or `}`");
    }
  }

  bool array(JsonValue &out, int depth) {
    out.kind = Kind::Array;
    ++at;
    skipBlanks();
    if (take("]"))
      return true;
    for (;;) {
      out.items.emplace_back();
      if (!value(out.items.back(), depth + 1))
        return false;
      skipBlanks();
      if (take("]"))
        return true;
      if (!take(","))
        return unexpected("`,` or `]`");
    }
  }

  bool hex4(uint32_t &code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      const char c = at < text.size() ? text[at] : '\0';
      const int digit = isDigit(c)             ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0)
        return unexpected("four hexadecimal digits after `\\u`");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return true;
  }

  bool string(std::string &out) {
    const size_t start = at++;
    for (;;) {
      if (at >= text.size() || text[at] == '\n')
        return fail(start, "the text has no end; expected a closing `\"` in its line");
      const char c = text[at];
      if (c == '"') {
        ++at;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20)
        return fail(at, "found the byte 0x" + hexByte(static_cast<unsigned char>(c)) + " in a text; expected `\\u00" +
                            hexByte(static_cast<unsigned char>(c)) + "`");
      ++at;
      if (c != '\\') {
        out += c;
        continue;
      }
      constexpr std::string_view kNames = "\"\\/bfnrt", kCodes = "\"\\/\b\f\n\r\t";
      const size_t which = at < text.size() ? kNames.find(text[at]) : std::string_view::npos;
      if (which != std::string_view::npos) {
        out += kCodes[which];
        ++at;
        continue;
      }
      if (!take("u"))
        return unexpected("one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
      const size_t escape = at - 2;
      uint32_t code, low;
      if (!hex4(code))
        return false;
      if (code >= 0xd800 && code < 0xdc00) {
        if (!take("\\u") || !hex4(low) || low < 0xdc00 || low > 0xdfff)
          return fail(escape, "found half of a surrogate pair; expected both halves");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(escape, "found half of a surrogate pair; expected both halves");
      }
      appendUtf8(out, code);
    }
  }

  std::string_view text;
  const std::string &name;
  size_t at = 0;
  size_t located = 0;  // the place of `line` and `column`
  int64_t line = 1, column = 1;
  std::string message;
};

}  // namespace

const JsonValue *JsonValue::find(std::string_view name) const {
  for (size_t i = names.size(); i-- > 0;)
    if (names[i] == name)
      return &items[i];
  return nullptr;
}

std::string_view JsonValue::kindName() const {
  constexpr std::string_view kNames[] = {"null",   "true or false", "a number", "not a number",
                                         "a text", "an array",      "an object"};
  return kNames[static_cast<size_t>(kind)];
}

Result<JsonValue> parseJson(std::string_view text, const std::string &name) {
  return Parser(text, name).run();
}

}  // namespace hector
