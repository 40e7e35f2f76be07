#include "runtime/data/NTriples.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"

#include <array>
#include <cstring>

namespace hector {

namespace {

constexpr std::string_view kXsdString = "^^<http://www.w3.org/2001/XMLSchema#string>";

enum : uint8_t {
  kNotInIri = 1,
  kScheme = 2,
  kLabel = 4,
  kLabelStart = 8,
  kTag = 16,
  kEndsText = 32,
  kSpace = 64,
  kEndsAnyIri = 128  // what ends even an IRI that may contain anything, and the escapes in it
};

constexpr std::array<uint8_t, 256> makeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    uint8_t bits = 0;
    if (c <= 0x20 || c == '<' || c == '>' || c == '"' || c == '{' || c == '}' || c == '|' || c == '^' || c == '`' ||
        c == '\\')
      bits |= kNotInIri;
    if (c < 0x20 || c == '<' || c == '>' || c == '\\')
      bits |= kEndsAnyIri;
    if (letter || digit || c == '+' || c == '-' || c == '.')
      bits |= kScheme;
    if (letter || digit || c == '_' || c == ':' || c >= 0x80)
      bits |= kLabelStart;
    if (letter || digit || c == '_' || c == ':' || c >= 0x80 || c == '-' || c == '.')
      bits |= kLabel;
    if (letter || digit || c == '-')
      bits |= kTag;
    if (c == '"' || c == '\\' || c == '\n' || c == '\r')
      bits |= kEndsText;
    if (c == ' ' || c == '\t')
      bits |= kSpace;
    classes[static_cast<size_t>(c)] = bits;
  }
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = makeClasses();

bool is(char c, uint8_t bits) {
  return kClasses[static_cast<unsigned char>(c)] & bits;
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

class Parser {
public:
  Parser(std::string_view text, const NTriplesOptions &options, bool isLast)
      : begin(text.data()), end(text.data() + text.size()), at(begin), lineStart(begin), options(options),
        notInIri(options.anyIri ? kEndsAnyIri : kNotInIri), isLast(isLast), checkUtf8(!isAscii(text)) {
    out.terms.reserve(text.size() / 100 * 3 + 12);
  }

  ParsedTriples run() {
    while (at < end) {
      const char *statement = at;
      const char *statementLine = lineStart;
      const int64_t statementLines = out.numLines;
      const size_t numTerms = out.terms.size();
      if (parseStatement())
        continue;
      out.terms.resize(numTerms);
      lineStart = statementLine;
      out.numLines = statementLines;
      if (unfinished && !isLast) {
        at = statement;
        break;
      }
      report();
      if (!options.skipBad)
        break;
      at = static_cast<const char *>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (!at)
        at = end;
      unfinished = false;
    }
    out.consumed = static_cast<size_t>(at - begin);
    if (at == end && at > begin && end[-1] != '\n')
      ++out.numLines;
    return std::move(out);
  }

private:
  bool fail(const char *where, std::string expected) {
    failedAt = where;
    // Found before the end of the file, which a message then shows as such.
    if (where >= end || *where == '\n' || (*where == '\r' && (where + 1 >= end || where[1] == '\n')))
      message = "the line ends; expected " + std::move(expected);
    else
      message = "found " + inTicks(std::string_view(where, wordEnd(where))) + "; expected " + std::move(expected);
    return false;
  }
  bool failPlainly(const char *where, std::string text) {
    failedAt = where;
    message = std::move(text);
    return false;
  }
  /// The end of a word or two for a message, at least one character.
  const char *wordEnd(const char *where) const {
    const char *stop = where + 1;
    while (stop < end && stop - where < 24 && *stop != '\n' && *stop != '\r' && *stop != ' ' && *stop != '\t')
      ++stop;
    while (stop < end && (*stop & '\xc0') == '\x80')
      ++stop;
    return stop;
  }
  void report() {
    ++out.numBad;
    if (out.bad.size() >= ReadStats::kMaxShown)
      return;
    // The failure may lie lines below the start of the statement.
    const char *start = failedAt;
    while (start > lineStart && start[-1] != '\n')
      --start;
    BadLine bad;
    bad.line = out.numLines + 1;
    for (const char *p = lineStart; p < start; ++p)
      bad.line += *p == '\n';
    bad.column = 1;
    for (const char *p = start; p < failedAt; ++p)
      bad.column += (*p & '\xc0') != '\x80';
    bad.message = std::move(message);
    out.bad.push_back(std::move(bad));
    at = failedAt;
    lineStart = start;
    out.numLines = bad.line - 1;
  }

  void skipSpaces() {
    while (at < end && is(*at, kSpace))
      ++at;
  }
  void endLine() {
    ++at;
    ++out.numLines;
    lineStart = at;
  }

  /// One triple, or one empty or comment line, with its line end.
  bool parseStatement() {
    skipSpaces();
    if (at < end && *at != '\n' && *at != '\r' && *at != '#') {
      if (*at == '<' ? !parseIri("subject") : *at == '_' ? !parseBlank() : !fail(at, "a subject: `<iri>` or `_:name`"))
        return false;
      if (at == end || (*at != '<' && *at != '_' && *at != ' ' && *at != '\t'))
        return fail(at, "a space, then the predicate");
      skipSpaces();
      if (at == end || *at != '<')
        return fail(at, "a predicate: `<iri>`");
      if (!parseIri("predicate"))
        return false;
      skipSpaces();
      if (at == end)
        return fail(at, "an object: `<iri>`, `_:name` or `\"text\"`");
      if (*at == '<'   ? !parseIri("object")
          : *at == '_' ? !parseBlank()
          : *at == '"' ? !parseLiteral()
                       : !fail(at, "an object: `<iri>`, `_:name` or `\"text\"`"))
        return false;
      skipSpaces();
      if (at == end || *at != '.')
        return fail(at, "`.` after the triple");
      ++at;
      skipSpaces();
    }
    if (at < end && *at == '#') {
      while (at < end && *at != '\n')
        ++at;
    }
    if (at == end)
      return true;
    if (*at == '\r') {  // an end of line by itself, or a part of one
      ++at;
      if (at < end && *at == '\n')
        endLine();
      return true;
    }
    if (*at != '\n')
      return fail(at, "the end of the line after `.`");
    endLine();
    return true;
  }

  bool push(std::string_view term, const char *start) {
    if (checkUtf8) {
      if (size_t good = validUtf8Prefix(term); good < term.size())
        return failPlainly(start + good, "the byte 0x" + hexByte(static_cast<unsigned char>(term[good])) +
                                             " is not UTF-8; expected UTF-8 (if the file is in Latin-1, convert it "
                                             "with `iconv -f LATIN1 -t UTF-8`)");
    }
    out.terms.emplace_back(term);
    return true;
  }

  bool checkScheme(std::string_view iri, const char *start) {
    if (options.anyIri)
      return true;
    size_t i = 0;
    if (!iri.empty() && isLetter(iri[0]))
      while (i < iri.size() && is(iri[i], kScheme))
        ++i;
    if (i > 0 && i < iri.size() && iri[i] == ':')
      return true;
    return failPlainly(start, "the IRI " + inTicks(iri) +
                                  " has no scheme; expected an absolute one, such as "
                                  "`http://example.org/name`");
  }

  bool parseIri(const char *role) {
    const char *start = at++;
    while (at < end && !is(*at, notInIri))
      ++at;
    if (at < end && *at == '>') {
      ++at;
      std::string_view term(start, at);
      return checkScheme(term.substr(1, term.size() - 2), start) && push(term, start);
    }
    if (at < end && *at == '\\')
      return parseEscapedIri(start, role);
    return failIri(role);
  }

  bool failIri(const char *role) {
    std::string expected = std::string("`>` after the ") + role + "'s IRI, or a character that IRIs may contain";
    if (!options.anyIri && at < end && !is(*at, kEndsAnyIri))
      expected += " (--any-iri reads others)";
    return fail(at, std::move(expected));
  }

  bool parseEscapedIri(const char *start, const char *role) {
    std::string text(start, at);
    while (at < end && *at != '>') {
      if (*at == '\\') {
        const char *escape = at;
        uint32_t code = 0;
        if (at + 1 >= end || (at[1] != 'u' && at[1] != 'U')) {
          if (options.anyIri) {
            text += *at++;
            continue;
          }
          return fail(at, "`\\uXXXX` or `\\UXXXXXXXX`, the escapes that IRIs may contain");
        }
        if (!parseCode(code))
          return false;
        if (code < 0x80 && is(static_cast<char>(code), notInIri))
          return fail(escape, "the escape of a character that IRIs may contain");
        appendUtf8(text, code);
      } else if (is(*at, notInIri)) {
        break;
      } else {
        text += *at++;
      }
    }
    if (at == end || *at != '>')
      return failIri(role);
    text += *at++;
    out.decoded.push_back(std::move(text));
    std::string_view term = out.decoded.back();
    return checkScheme(term.substr(1, term.size() - 2), start) && push(term, start);
  }

  /// `\uXXXX` or `\UXXXXXXXX` at `at`.
  bool parseCode(uint32_t &code) {
    const char *escape = at;
    const int digits = at + 1 < end && at[1] == 'u' ? 4 : 8;
    at += 2;
    code = 0;
    for (int i = 0; i < digits; ++i, ++at) {
      int digit = at < end ? hexDigit(*at) : -1;
      if (digit < 0)
        return fail(std::min(at, end), std::to_string(digits) + " hexadecimal digits after `\\" + escape[1] + "`");
      code = code << 4 | static_cast<uint32_t>(digit);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      return fail(escape, "the code of a character, up to 10FFFF and no surrogate");
    return true;
  }

  bool parseBlank() {
    const char *start = at;
    if (at + 1 >= end || at[1] != ':')
      return fail(at, "`_:` and the name of a blank node");
    at += 2;
    if (at == end || !is(*at, kLabelStart))
      return fail(at, "the name of a blank node after `_:`");
    while (at < end && is(*at, kLabel))
      ++at;
    while (at[-1] == '.')  // which ends the triple
      --at;
    return push(std::string_view(start, at), start);
  }

  bool parseLiteral() {
    const char *start = at++;
    bool plain = true;  // the bytes are the spelling wanted
    for (;; ++at) {
      while (at < end && !is(*at, kEndsText))
        ++at;
      if (at == end) {
        unfinished = options.multiline;
        return failPlainly(start, "the text has no closing `\"`" + multilineHelp());
      }
      if (*at == '"')
        break;
      if (*at == '\\') {
        plain = false;
        ++at;
        if (at == end) {
          unfinished = options.multiline;
          return failPlainly(start, "the text has no closing `\"`" + multilineHelp());
        }
        if (*at == '\n' || *at == '\r')  // no escape: the line ends here as anywhere else
          --at;
        continue;
      }
      if (!options.multiline)
        return failPlainly(start, "the text has no closing `\"` on its line" + multilineHelp());
      plain = false;
      if (*at == '\n') {
        ++out.numLines;
        lineStart = at + 1;
      }
    }
    const char *textEnd = at++;
    const char *suffix = at;
    size_t datatypeAt = out.terms.size();
    if (at < end && *at == '@') {
      ++at;
      const char *tag = at;
      while (at < end && is(*at, kTag))
        ++at;
      if (at == tag || !isLetter(*tag) || at[-1] == '-')
        return fail(tag, "a language after `@`, such as `en` or `en-GB`");
    } else if (at < end && *at == '^') {
      if (at + 2 >= end || at[1] != '^' || at[2] != '<')
        return fail(at, "`^^<iri>`, the datatype");
      at += 2;
      const char *iri = at;
      if (!parseIri("datatype"))
        return false;
      // The IRI went where terms go; it may have been rewritten.
      HashedText datatype = out.terms.back();
      out.terms.resize(datatypeAt);
      if (datatype.data != iri)
        plain = false;
      if (std::string_view(suffix, at) == kXsdString) {
        if (plain)
          return push(std::string_view(start, suffix), start);
        return pushDecoded(start, textEnd, "");
      }
      if (!plain) {
        std::string text = "^^" + std::string(datatype.view());
        return pushDecoded(start, textEnd, text == kXsdString ? "" : text);
      }
    }
    if (plain)
      return push(std::string_view(start, at), start);
    return pushDecoded(start, textEnd, std::string_view(suffix, at));
  }

  std::string multilineHelp() const {
    return options.multiline ? "" : "; if texts go over several lines, use --multiline-literals";
  }

  /// The text between two quotes with its escapes resolved, then `suffix`.
  bool pushDecoded(const char *start, const char *textEnd, std::string_view suffix) {
    const char *after = at;
    std::string text = "\"";
    auto put = [&](uint32_t code) {
      switch (code) {
      case '"':
        text += "\\\"";
        break;
      case '\\':
        text += "\\\\";
        break;
      case '\n':
        text += "\\n";
        break;
      case '\r':
        text += "\\r";
        break;
      default:
        appendUtf8(text, code);
      }
    };
    for (at = start + 1; at < textEnd;) {
      if (*at != '\\') {
        if (is(*at, kEndsText))
          put(static_cast<unsigned char>(*at));
        else
          text += *at;
        ++at;
        continue;
      }
      constexpr std::string_view kNames = "tbnrf\"'\\", kCodes = "\t\b\n\r\f\"'\\";
      size_t which = kNames.find(at[1]);
      if (which != std::string_view::npos) {
        put(static_cast<unsigned char>(kCodes[which]));
        at += 2;
      } else if (at[1] == 'u' || at[1] == 'U') {
        uint32_t code;
        if (!parseCode(code))
          return false;
        put(code);
      } else {
        return fail(at, "one of the escapes \\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX \\UXXXXXXXX");
      }
    }
    text += '"';
    text += suffix;
    at = after;
    if (checkUtf8)
      if (std::string_view raw(start, after); validUtf8Prefix(raw) < raw.size())
        return push(raw, start);  // says where
    out.decoded.push_back(std::move(text));
    out.terms.emplace_back(std::string_view(out.decoded.back()));
    return true;
  }

  const char *begin;
  const char *end;
  const char *at;
  const char *lineStart;
  const NTriplesOptions &options;
  uint8_t notInIri;
  bool isLast;
  bool checkUtf8;
  bool unfinished = false;
  const char *failedAt = nullptr;
  std::string message;
  ParsedTriples out;
};

/// Adds what a block gave to the sums. Fails at the first bad line unless they are skipped.
Status takeBlock(const InputFile &file, ParsedTriples &block, const NTriplesOptions &options, ReadStats &stats,
                 const std::function<Status(std::span<const HashedText>)> &take) {
  for (const BadLine &bad : block.bad) {
    std::string text = file.name + ":" + std::to_string(stats.lines + bad.line) + ":" + std::to_string(bad.column) +
                       ": " + bad.message;
    if (!options.skipBad)
      return Status::invalid(std::move(text));
    if (stats.firstBad.size() < ReadStats::kMaxShown)
      stats.firstBad.push_back(std::move(text));
  }
  stats.bad += block.numBad;
  stats.lines += block.numLines;
  stats.triples += static_cast<int64_t>(block.terms.size() / 3);
  return take(block.terms);
}

}  // namespace

ParsedTriples parseNTriples(std::string_view text, const NTriplesOptions &options, bool isLast) {
  return Parser(text, options, isLast).run();
}

Status readNTriples(const InputFile &file, const NTriplesOptions &options, const Watch &watch, ReadStats &stats,
                    const std::function<Status(std::span<const HashedText>)> &take) {
  BlockReader reader(file, options.blockBytes);
  // Lines are counted within the file.
  ReadStats own;
  own.firstBad = std::move(stats.firstBad);
  auto finish = [&](Status status) {
    stats.triples += own.triples;
    stats.lines += own.lines;
    stats.bad += own.bad;
    stats.firstBad = std::move(own.firstBad);
    return status;
  };
  auto report = [&](uint64_t position) {
    if (watch.progress)
      watch.progress(file.name, position, file.bytes.size(), stats.triples + own.triples);
  };
  if (!options.multiline)
    return finish(inOrder<ParsedTriples>(
        reader, options.threads, watch,
        [&](Block block) {
          ParsedTriples parsed = parseNTriples(block.text, options);
          parsed.owner = std::move(block.owner);
          return parsed;
        },
        [&](ParsedTriples parsed, uint64_t position) {
          report(position);
          return takeBlock(file, parsed, options, own, take);
        }));

  // A literal may reach over the end of a block: what is left of one goes before the next.
  std::string carried;
  size_t enough = 0;  // parsing waits until so much is there, so that a long literal is not read over and over
  for (;;) {
    if (watch.stopped())
      return finish(stoppedStatus());
    Result<Block> block = reader.next();
    if (!block)
      return finish(block.status());
    const bool isLast = block->text.empty();
    std::string_view text = block->text;
    if (!carried.empty() || isLast) {
      carried += text;
      text = carried;
    }
    if (text.size() < enough && !isLast)
      continue;
    ParsedTriples parsed = parseNTriples(text, options, isLast);
    if (Status status = takeBlock(file, parsed, options, own, take); !status.isOk() || isLast)
      return finish(std::move(status));
    carried = std::string(text.substr(parsed.consumed));
    enough = carried.size() * 2;
    if (carried.size() > BlockReader::kMaxLine)
      return finish(
          Status::invalid(file.name + ":" + std::to_string(own.lines + 1) + ":1: a text goes on for more than " +
                          formatBytes(static_cast<int64_t>(BlockReader::kMaxLine)) + "; is its closing `\"` missing?"));
    report(reader.position());
  }
}

}  // namespace hector
