#include "runtime/data/NTriples.h"

#include "runtime/data/Serd.h"
#include "runtime/data/TestFiles.h"

#include <atomic>
#include <random>

using namespace hector;
using namespace hector::test;

namespace {

using Terms = std::vector<std::string>;

Terms parse(const std::string &text, NTriplesOptions options = {}) {
  ParsedTriples parsed = parseNTriples(text, options);
  Terms terms;
  for (const BadLine &bad : parsed.bad)
    terms.push_back(std::to_string(bad.line) + ":" + std::to_string(bad.column) + ": " + bad.message);
  for (HashedText term : parsed.terms)
    terms.emplace_back(term.view());
  return terms;
}

/// The only message of a text with a mistake.
std::string mistake(const std::string &text, NTriplesOptions options = {}) {
  Terms terms = parse(text, options);
  return terms.empty() ? "no error" : terms[0];
}

struct Reading {
  Status status = Status::ok();
  ReadStats stats;
  Terms terms;
};

Reading read(const InputFile &file, NTriplesOptions options = {}) {
  Reading reading;
  reading.status = readNTriples(file, options, {}, reading.stats, [&](std::span<const HashedText> terms) {
    for (HashedText term : terms)
      reading.terms.emplace_back(term.view());
    return Status::ok();
  });
  return reading;
}

Reading readSerd(const InputFile &file, SerdFormat format) {
  Reading reading;
  reading.status = readBySerd(file, format, {}, reading.stats, [&](std::span<const HashedText> terms) {
    for (HashedText term : terms)
      reading.terms.emplace_back(term.view());
    return Status::ok();
  });
  return reading;
}

constexpr NTriplesOptions kSkip = {.skipBad = true};
constexpr NTriplesOptions kMultiline = {.multiline = true};

}  // namespace

// What is read.

TEST(NTriplesTest, IrisBlankNodesAndTexts) {
  EXPECT_EQ(parse("<http://a> <http://p> <http://b> .\n_:x <http://p> \"text\" .\n"),
            (Terms{"<http://a>", "<http://p>", "<http://b>", "_:x", "<http://p>", "\"text\""}));
}

TEST(NTriplesTest, LanguagesAndDatatypesBelongToTexts) {
  EXPECT_EQ(parse("<s:s> <p:p> \"a\"@en-GB .\n<s:s> <p:p> \"1\"^^<http://int> .\n"),
            (Terms{"<s:s>", "<p:p>", "\"a\"@en-GB", "<s:s>", "<p:p>", "\"1\"^^<http://int>"}));
}

TEST(NTriplesTest, TheDefaultDatatypeIsLeftOut) {
  EXPECT_EQ(parse("<s:s> <p:p> \"a\"^^<http://www.w3.org/2001/XMLSchema#string> .").at(2), "\"a\"");
  EXPECT_EQ(parse("<s:s> <p:p> \"\\t\"^^<http://www.w3.org/2001/XMLSchema#string> .").at(2), "\"\t\"");
  EXPECT_EQ(parse("<s:s> <p:p> \"a\"^^<http://www.w3.org/2001/XMLSchema#strin\\u0067> .").at(2), "\"a\"");
}

TEST(NTriplesTest, EqualTermsHaveOneSpelling) {
  EXPECT_EQ(parse("<s:\\u0061> <p:p> \"\\u00e9\\U0001F600\\t\\'\\\"\\\\\\n\\r\" .\n"),
            (Terms{"<s:a>", "<p:p>", "\"é😀\t'\\\"\\\\\\n\\r\""}));
}

TEST(NTriplesTest, SpacesCommentsAndEmptyLines) {
  EXPECT_EQ(parse("# first\n\n  \t\n<s:s><p:p><o:o>.# last\n\t_:a<p:p>_:b.\n"),
            (Terms{"<s:s>", "<p:p>", "<o:o>", "_:a", "<p:p>", "_:b"}));
}

TEST(NTriplesTest, EveryKindOfLineEnd) {
  const Terms both = {"<s:s>", "<p:p>", "<o:o>", "<s:s>", "<p:p>", "\"x\""};
  for (const char *newline : {"\n", "\r\n", "\r", "\n\n\r\n"})
    EXPECT_EQ(parse(std::string("<s:s> <p:p> <o:o> .") + newline + "<s:s> <p:p> \"x\" ." + newline), both);
}

TEST(NTriplesTest, TheLastLineNeedsNoEnd) {
  EXPECT_EQ(parse("<s:s> <p:p> <o:o> .").size(), 3u);
  EXPECT_EQ(parseNTriples("<s:s> <p:p> <o:o> .", {}).numLines, 1);
  EXPECT_EQ(parseNTriples("<s:s> <p:p> <o:o> .\n", {}).numLines, 1);
}

TEST(NTriplesTest, DotsBelongToBlankNodesInside) {
  EXPECT_EQ(parse("_:a.b <p:p> _:c.\n"), (Terms{"_:a.b", "<p:p>", "_:c"}));
}

TEST(NTriplesTest, TextsOverSeveralLinesOnRequest) {
  const std::string text = "<s:s> <p:p> \"one.\n two \\\"\r\n\"@en .\n<s:s> <p:p> <o:o> .\n";
  EXPECT_EQ(parse(text, kMultiline).at(2), "\"one.\\n two \\\"\\r\\n\"@en");
  EXPECT_EQ(parse(text, kMultiline).size(), 6u);
  EXPECT_EQ(parseNTriples(text, kMultiline).numLines, 4);
}

TEST(NTriplesTest, TextsOverSeveralLinesMayCrossBlocks) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "<s:s" + std::to_string(i) + "> <p:p> \"a\nb\n" + std::string(static_cast<size_t>(i), 'c') + "\" .\n";
  const Terms whole = parse(text, kMultiline);
  ASSERT_EQ(whole.size(), 150u);
  for (size_t block : {1u, 7u, 64u, 1000u}) {
    Reading reading = read(memoryFile("a.nt", text), {.multiline = true, .blockBytes = block});
    EXPECT_EQ(reading.terms, whole);
    EXPECT_EQ(reading.stats.lines, 150);
  }
}

TEST(NTriplesTest, IrisWithAnyCharacterOnRequest) {
  EXPECT_EQ(parse("<a b> <p:p> <x^{|}`\\q\\u00e9> .", {.anyIri = true}), (Terms{"<a b>", "<p:p>", "<x^{|}`\\qé>"}));
}

TEST(NTriplesTest, ThreadsAndBlocksChangeNothing) {
  std::string text;
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i)
    text += "<http://e/" + std::to_string(random() % 500) + "> <p:p> \"" + std::string(random() % 40, 'x') + "\" .\n" +
            (i % 97 == 0 ? "bad line\n" : "");
  Reading expected = read(memoryFile("a.nt", text), kSkip);
  EXPECT_EQ(expected.stats.triples, 5000);
  EXPECT_EQ(expected.stats.bad, 52);
  for (const std::string &bytes : {text, gzipped(text)})
    for (int threads : {1, 2, 5})
      for (size_t block : {50u, 4096u}) {
        Reading reading = read(memoryFile("a.nt", bytes), {.skipBad = true, .threads = threads, .blockBytes = block});
        EXPECT_EQ(reading.terms, expected.terms);
        EXPECT_EQ(reading.stats.lines, expected.stats.lines);
        EXPECT_EQ(reading.stats.firstBad, expected.stats.firstBad);
      }
}

TEST(NTriplesTest, LinesOfAHundredMegabytes) {
  const std::string line = "<s:s> <p:p> \"" + std::string(100'000'000, 'x') + "\" .\n";
  Reading reading = read(memoryFile("a.nt", "<s:s> <p:p> <o:o> .\n" + line), {.threads = 2});
  ASSERT_TRUE(reading.status.isOk()) << errorOf(reading.status);
  ASSERT_EQ(reading.terms.size(), 6u);
  EXPECT_EQ(reading.terms[5].size(), 100'000'002u);
}

TEST(NTriplesTest, StopsOnRequest) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "<s:s> <p:p> <o:o> .\n";
  std::atomic<bool> stop = false;
  Watch watch;
  watch.stop = [&] { return stop.load(); };
  ReadStats stats;
  InputFile file = memoryFile("a.nt", text);
  for (int threads : {1, 3}) {
    stop = false;
    Status status = readNTriples(file, {.threads = threads, .blockBytes = 100}, watch, stats, [&](auto) {
      stop = true;
      return Status::ok();
    });
    EXPECT_EQ(errorOf(status), "stopped on request; nothing was written");
  }
}

// What is refused, where, and in which words.

TEST(NTriplesError, NoSubject) {
  EXPECT_EQ(mistake("<s:s> <p:p> <o:o> .\n  \"x\" <p:p> <o:o> .\n"),
            "2:3: found `\"x\"`; expected a subject: `<iri>` or `_:name`");
}

TEST(NTriplesError, PredicateThatIsNoIri) {
  EXPECT_EQ(mistake("<s:s> _:p <o:o> .\n"), "1:7: found `_:p`; expected a predicate: `<iri>`");
  EXPECT_EQ(mistake("<s:s> \n"), "1:7: the line ends; expected a predicate: `<iri>`");
}

TEST(NTriplesError, NoObject) {
  EXPECT_EQ(mistake("<s:s> <p:p> .\n"), "1:13: found `.`; expected an object: `<iri>`, `_:name` or `\"text\"`");
  EXPECT_EQ(mistake("<s:s> <p:p>"), "1:12: the line ends; expected an object: `<iri>`, `_:name` or `\"text\"`");
}

TEST(NTriplesError, NoDot) {
  EXPECT_EQ(mistake("<s:s> <p:p> <o:o>\r\n"), "1:18: the line ends; expected `.` after the triple");
  EXPECT_EQ(mistake("<s:s> <p:p> <o:o> <g:g> .\n"), "1:19: found `<g:g>`; expected `.` after the triple");
}

TEST(NTriplesError, MoreAfterTheDot) {
  EXPECT_EQ(mistake("<s:s> <p:p> <o:o> . more\n"), "1:21: found `more`; expected the end of the line after `.`");
}

TEST(NTriplesError, ColumnsCountCharacters) {
  EXPECT_EQ(mistake("<s:ééé> <p:p> x\n"), "1:15: found `x`; expected an object: `<iri>`, `_:name` or `\"text\"`");
}

TEST(NTriplesError, IriWithBadCharacter) {
  EXPECT_EQ(mistake("<s:s> <p:p> <o:^o> .\n"), "1:16: found `^o>`; expected `>` after the object's IRI, or a character "
                                               "that IRIs may contain (--any-iri reads others)");
  EXPECT_EQ(mistake("<s:s\n"),
            "1:5: the line ends; expected `>` after the subject's IRI, or a character that IRIs may contain");
}

TEST(NTriplesError, RelativeIri) {
  EXPECT_EQ(mistake("<s> <p:p> <o:o> .\n"),
            "1:1: the IRI `s` has no scheme; expected an absolute one, such as `http://example.org/name`");
}

TEST(NTriplesError, Escapes) {
  EXPECT_EQ(mistake("<s:s> <p:p> \"\\q\" .\n"),
            "1:14: found `\\q\"`; expected one of the escapes \\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX \\UXXXXXXXX");
  EXPECT_EQ(mistake("<s:s> <p:p> \"\\u12G4\" .\n"), "1:18: found `G4\"`; expected 4 hexadecimal digits after `\\u`");
  EXPECT_EQ(mistake("<s:s> <p:p> \"\\uD800\" .\n"),
            "1:14: found `\\uD800\"`; expected the code of a character, up to 10FFFF and no surrogate");
  EXPECT_EQ(mistake("<s:\\u0020> <p:p> <o:o> .\n"),
            "1:4: found `\\u0020>`; expected the escape of a character that IRIs may contain");
  EXPECT_EQ(mistake("<s:\\n> <p:p> <o:o> .\n"),
            "1:4: found `\\n>`; expected `\\uXXXX` or `\\UXXXXXXXX`, the escapes that IRIs may contain");
}

TEST(NTriplesError, EscapeAtTheEndOfTheFile) {
  EXPECT_EQ(mistake("<s:\\"),
            "1:4: found `\\`; expected `\\uXXXX` or `\\UXXXXXXXX`, the escapes that IRIs may contain");
  EXPECT_EQ(mistake("<s:\\u"), "1:6: the line ends; expected 4 hexadecimal digits after `\\u`");
}

TEST(NTriplesError, TextWithoutEnd) {
  EXPECT_EQ(mistake("<s:s> <p:p> \"x .\n<s:s> <p:p> \"y\" .\n"),
            "1:13: the text has no closing `\"` on its line; if texts go over several lines, use --multiline-literals");
  EXPECT_EQ(mistake("<s:s> <p:p> \"x\\\ny\" .\n"),
            "1:13: the text has no closing `\"` on its line; if texts go over several lines, use --multiline-literals");
  EXPECT_EQ(mistake("<s:s> <p:p> <o:o> .\n<s:s> <p:p> \"x\ny .\n", kMultiline), "2:13: the text has no closing `\"`");
}

TEST(NTriplesError, PlaceAfterATextOverSeveralLines) {
  EXPECT_EQ(mistake("<s:s> <p:p> \"x\ny\nz\" , .\n", kMultiline), "3:4: found `,`; expected `.` after the triple");
}

TEST(NTriplesError, Language) {
  EXPECT_EQ(mistake("<s:s> <p:p> \"x\"@1 .\n"),
            "1:17: found `1`; expected a language after `@`, such as `en` or `en-GB`");
}

TEST(NTriplesError, Latin1) {
  EXPECT_EQ(mistake("<s:s> <p:p> \"caf\xe9\" .\n"),
            "1:17: the byte 0xe9 is not UTF-8; expected UTF-8 (if the file is in Latin-1, convert it with `iconv -f "
            "LATIN1 -t UTF-8`)");
}

TEST(NTriplesError, TheFirstBadLineEndsReading) {
  Reading reading = read(memoryFile("a.nt", "<s:s> <p:p> <o:o> .\nbad\n<s:s> <p:p> <o:o> .\nworse\n"));
  EXPECT_EQ(errorOf(reading.status), "a.nt:2:1: found `bad`; expected a subject: `<iri>` or `_:name`");
}

TEST(NTriplesError, SkippedLinesAreCounted) {
  Reading reading = read(memoryFile("a.nt", "<s:s> <p:p> <o:o> .\nbad\n<s:s> <p:p> \"x\n<s:s> <p:p> <o:o> .\n"), kSkip);
  ASSERT_TRUE(reading.status.isOk()) << errorOf(reading.status);
  EXPECT_EQ(reading.stats.triples, 2);
  EXPECT_EQ(reading.stats.bad, 2);
  EXPECT_EQ(reading.stats.firstBad.at(0), "a.nt:2:1: found `bad`; expected a subject: `<iri>` or `_:name`");
}

// serd as the judge.

TEST(NTriplesJudge, GeneratedTriplesReadAsSerdReadsThem) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  std::mt19937 random(11);
  auto pick = [&](std::initializer_list<const char *> items) {
    return std::string(items.begin()[random() % items.size()]);
  };
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    std::string s = pick({"<http://example.org/a>", "<http://example.org/b#\\u00e9>", "_:b1", "_:x.y", "<urn:isbn:é>"});
    std::string p = pick({"<http://example.org/p>", "<tag:x,2020:q>"});
    std::string o = pick({"<http://example.org/c>", "_:b2", "\"\"", "\"plain\"", "\"\\t\\b\\n\\r\\f\\\"\\\\\"",
                          "\"\\u00e9\\U0001F600é\"@fr", "\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>",
                          "\"s\"^^<http://www.w3.org/2001/XMLSchema#string>", "\"x\"@en-GB", "\"a . b\""});
    text += s + pick({" ", "\t", "  "}) + p + " " + o + pick({" .", " . # note"}) + pick({"\n", "\r\n", "\n\n"});
  }
  InputFile file = memoryFile("a.nt", text);
  Reading ours = read(file, {.threads = 2, .blockBytes = 1000}), theirs = readSerd(file, SerdFormat::NTriples);
  ASSERT_TRUE(ours.status.isOk()) << errorOf(ours.status);
  ASSERT_TRUE(theirs.status.isOk()) << errorOf(theirs.status);
  EXPECT_EQ(ours.terms, theirs.terms);
}

TEST(NTriplesJudge, RealFilesReadAsSerdReadsThem) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  if (sharedData().empty())
    GTEST_SKIP() << "../shared/data is not there";
  for (const char *name : {"aifb/aifb_stripped.nt.gz", "mutag/mutag_stripped.nt.gz"}) {
    Result<std::vector<InputFile>> files = openInputs({sharedData() + "/" + name});
    ASSERT_TRUE(files) << errorOf(files);
    Reading ours = read(files->at(0), {.threads = 2}), theirs = readSerd(files->at(0), SerdFormat::NTriples);
    ASSERT_TRUE(ours.status.isOk()) << errorOf(ours.status);
    ASSERT_TRUE(theirs.status.isOk()) << errorOf(theirs.status);
    EXPECT_GT(ours.stats.triples, 20'000);
    EXPECT_TRUE(ours.terms == theirs.terms) << name;
  }
}

TEST(NTriplesJudge, BothRefuseTheSameMistakes) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  for (const char *text : {"<s:s> <p:p> .\n", "<s:s> <p:p> <o:o>\n", "<s:s> _:p <o:o> .\n", "\"x\" <p:p> <o:o> .\n",
                           "<s:s> <p:p> \"x\n", "<s:s> <p:p> \"\\q\" .\n", "<s:s <p:p> <o:o> .\n", "bad\n"}) {
    InputFile file = memoryFile("a.nt", text);
    EXPECT_FALSE(read(file).status.isOk()) << text;
    EXPECT_FALSE(readSerd(file, SerdFormat::NTriples).status.isOk()) << text;
  }
}

// Turtle.

TEST(TurtleTest, PrefixesListsAndAbbreviations) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  Reading reading =
      readSerd(memoryFile("a.ttl", "@prefix e: <http://e/> .\ne:a a e:T ; e:p 1 , \"x\"@en .\n"), SerdFormat::Turtle);
  ASSERT_TRUE(reading.status.isOk()) << errorOf(reading.status);
  EXPECT_EQ(reading.terms, (Terms{"<http://e/a>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://e/T>",
                                  "<http://e/a>", "<http://e/p>", "\"1\"^^<http://www.w3.org/2001/XMLSchema#integer>",
                                  "<http://e/a>", "<http://e/p>", "\"x\"@en"}));
}

TEST(TurtleTest, MistakesHaveAPlace) {
  if (!haveSerd())
    GTEST_SKIP() << "libserd-0.so.0 is not installed";
  Reading reading = readSerd(memoryFile("a.ttl", "@prefix e: <http://e/> .\ne:a e:b .\n"), SerdFormat::Turtle);
  EXPECT_TRUE(errorOf(reading.status).starts_with("a.ttl:2:")) << errorOf(reading.status);
  reading = readSerd(memoryFile("a.ttl", "x:a x:b x:c .\n"), SerdFormat::Turtle);
  EXPECT_FALSE(reading.status.isOk());
}
