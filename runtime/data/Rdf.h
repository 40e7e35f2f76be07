/// RDF to typed graphs: which terms are nodes, and of what type.
#pragma once

#include "runtime/data/Assemble.h"
#include "runtime/data/Input.h"
#include "runtime/data/NTriples.h"

#include <cstdint>
#include <optional>

namespace hector {

/// Terms: every term is a node, all of one type. Types: a node's type is its rdf:type (the rarest of several), and the
/// triples that say so are left out. Patterns: nodes are what `nodePatterns` match.
enum class NodeRules { Terms, Types, Patterns };

struct RdfOptions {
  NodeRules rules = NodeRules::Terms;
  std::optional<bool> keepLiterals;  // by default yes
  std::optional<bool> keepBlanks;    // by default with NodeRules::Terms only
  std::optional<bool> typedEdges;    // relation = (source type, predicate, destination type); default: where typed
  std::vector<std::string> removePredicates;  // IRIs, or what stands after their last `/` or `#`
  std::vector<std::string> nodePatterns;      // `PATTERN` with {type}, `TYPE=PATTERN`, or `?=PATTERN`: by its role
  std::vector<std::string> rangePatterns;     // `TYPE=PATTERN`: objects of such predicates are of that type
  NTriplesOptions reader;
};

/// A graph, and what is needed to find its nodes by name.
struct RdfGraph {
  RawGraph raw;
  std::function<uint32_t(std::string_view)> find;  // IRIs without `<` and `>`; UINT32_MAX where unknown
  ReadStats stats;
  double readSeconds = 0;             // until every term had its number
  std::vector<std::string> warnings;  // files without triples
};

/// Reads N-Triples (`.nt`) and Turtle (`.ttl`). Fails where all files are empty.
Result<RdfGraph> importRdf(const std::vector<InputFile> &files, const RdfOptions &options, const Watch &watch);

}  // namespace hector
