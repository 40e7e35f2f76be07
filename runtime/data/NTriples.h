/// Reads N-Triples (RDF 1.1), plain or packed, in parallel blocks of lines.
///
/// Terms come out in one spelling each, so that equal terms are equal bytes: `<iri>`, `_:name`, `"text"`,
/// `"text"@language`, `"text"^^<datatype>`. Escapes are resolved; in texts only `\"`, `\\`, `\n` and `\r` stay escaped,
/// and the datatype xsd:string, which is the default, is left out.
#pragma once

#include "runtime/data/Pipeline.h"
#include "runtime/data/StringTable.h"

#include <cstdint>
#include <deque>
#include <string>

namespace hector {

/// What is wrong with a line, and where.
struct BadLine {
  int64_t line = 0;    // from 1
  int64_t column = 0;  // from 1, in characters
  std::string message;
};

/// What a text gave. The terms' bytes live in the block, in `decoded`, or both.
struct ParsedTriples {
  std::vector<HashedText> terms;  // subject, predicate, object; subject, …
  std::deque<std::string> decoded;
  std::vector<BadLine> bad;  // lines counted from the start of the text; the first few of `numBad`
  int64_t numBad = 0;
  int64_t numLines = 0;
  size_t consumed = 0;  // bytes; less than all where the text ends inside a literal that may go on
  std::shared_ptr<const void> owner;
};

struct NTriplesOptions {
  bool skipBad = false;    // go on after a bad line
  bool multiline = false;  // literals may contain newlines
  bool anyIri = false;     // IRIs may contain any character but `<`, `>` and controls, and need no scheme
  int threads = 1;         // ignored where `multiline`: where a line starts then depends on all before it
  size_t blockBytes = size_t{1} << 20;
};

/// Parses whole lines. `isLast` says that nothing follows, so that an open literal is an error.
ParsedTriples parseNTriples(std::string_view text, const NTriplesOptions &options, bool isLast = true);

/// What reading a file came to.
struct ReadStats {
  int64_t triples = 0;
  int64_t lines = 0;
  int64_t bad = 0;
  std::vector<std::string> firstBad;  // whole messages, at most `kMaxShown`
  static constexpr size_t kMaxShown = 3;
};

/// Hands the triples of a file to `take`, in order. Without `skipBad` the first bad line is the failure:
/// `file:line:column: message`.
Status readNTriples(const InputFile &file, const NTriplesOptions &options, const Watch &watch, ReadStats &stats,
                    const std::function<Status(std::span<const HashedText>)> &take);

}  // namespace hector
