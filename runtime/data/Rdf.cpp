#include "runtime/data/Rdf.h"

#include "runtime/base/Text.h"
#include "runtime/data/Pattern.h"
#include "runtime/data/Serd.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <unordered_map>

namespace hector {

namespace {

constexpr std::string_view kRdfType = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
constexpr uint32_t kNone = UINT32_MAX;

/// Triples of term numbers. Pieces, so that growing copies nothing and reading can free them one by one.
class TripleList {
public:
  /// Room for `count` numbers at the end.
  uint32_t *grow(size_t count) {
    if (pieces.empty() || pieces.back().size() + count > kPiece) {
      pieces.emplace_back();
      pieces.back().reserve(std::max(kPiece, count));
    }
    std::vector<uint32_t> &piece = pieces.back();
    piece.resize(piece.size() + count);
    return piece.data() + piece.size() - count;
  }
  size_t size() const {
    size_t sum = 0;
    for (const auto &piece : pieces)
      sum += piece.size() / 3;
    return sum;
  }
  template <class F> void forEach(F f) const {
    for (const auto &piece : pieces)
      for (size_t i = 0; i < piece.size(); i += 3)
        f(piece[i], piece[i + 1], piece[i + 2]);
  }
  /// The same, giving memory back on the way.
  template <class F> void drain(F f) {
    for (auto &piece : pieces) {
      for (size_t i = 0; i < piece.size(); i += 3)
        f(piece[i], piece[i + 1], piece[i + 2]);
      piece = {};
    }
    pieces.clear();
  }

private:
  static constexpr size_t kPiece = size_t{3} << 20;
  std::vector<std::vector<uint32_t>> pieces;
};

std::string_view plainName(std::string_view term) {
  if (term.starts_with('<'))
    return term.substr(1, term.size() - 2);
  return term;
}

/// What stands after the last `/` or `#` of an IRI; all of it where nothing does.
std::string_view localName(std::string_view term) {
  std::string_view name = plainName(term);
  size_t cut = name.find_last_of("/#");
  return cut == std::string_view::npos || cut + 1 == name.size() ? name : name.substr(cut + 1);
}

/// Short names where they are different, whole ones where they are not.
std::vector<std::string> distinctNames(const std::vector<std::string_view> &terms) {
  std::unordered_map<std::string_view, int> count;
  for (std::string_view term : terms)
    ++count[localName(term)];
  std::vector<std::string> names;
  for (std::string_view term : terms)
    names.emplace_back(count[localName(term)] == 1 ? localName(term) : plainName(term));
  return names;
}

struct NodePattern {
  std::string type;  // empty: from {type}; "?": from its role
  Pattern pattern;
};

Result<std::vector<NodePattern>> parsePatterns(const std::vector<std::string> &texts, bool needType) {
  std::vector<NodePattern> patterns;
  for (const std::string &text : texts) {
    // A type is a word; IRIs have `:` before their first `=`.
    size_t equals = text.find('=');
    size_t colon = text.find(':');
    const bool typed = equals != std::string::npos && (colon == std::string::npos || equals < colon);
    std::string type = typed ? text.substr(0, equals) : "";
    std::string rest = typed ? text.substr(equals + 1) : text;
    if (type.empty() && (needType || rest.find("{type}") == std::string::npos))
      return Status::invalid("the rule " + inTicks(text) + " gives no type; expected `TYPE=PATTERN`" +
                             (needType ? "" : " or a pattern with {type}"));
    Result<Pattern> pattern = Pattern::parse(rest);
    if (!pattern)
      return pattern.status();
    patterns.push_back({std::move(type), std::move(*pattern)});
  }
  return patterns;
}

/// Terms, triples, and from them nodes and edges.
class Importer {
public:
  Importer(const RdfOptions &options, const Watch &watch) : options(options), watch(watch) {}

  /// Before anything is read, which may take long.
  Status parseRules() {
    if (options.rules != NodeRules::Patterns)
      return Status::ok();
    Result<std::vector<NodePattern>> nodes = parsePatterns(options.nodePatterns, false);
    if (!nodes)
      return nodes.status();
    nodePatterns = std::move(*nodes);
    Result<std::vector<NodePattern>> ranges = parsePatterns(options.rangePatterns, true);
    if (!ranges)
      return ranges.status();
    rangePatterns = std::move(*ranges);
    return Status::ok();
  }

  Status read(const std::vector<InputFile> &files, ReadStats &stats) {
    size_t fileNumber = 0;
    std::vector<HashedText> renamed;
    std::deque<std::string> names;
    auto take = [&](std::span<const HashedText> texts) {
      uint32_t *ids = triples.grow(texts.size());
      if (fileNumber > 0) {
        // A blank node's name means something in its own file only.
        renamed.assign(texts.begin(), texts.end());
        names.clear();
        for (HashedText &text : renamed)
          if (text.data[0] == '_') {
            names.push_back(std::string(text.view()) + ".file" + std::to_string(fileNumber));
            text = HashedText(names.back());
          }
        texts = renamed;
      }
      terms->internAll(texts, ids);
      return std::find(ids, ids + texts.size(), kNone) != ids + texts.size()
                 ? Status::failed("no memory for the names of " + std::to_string(terms->size()) + " terms and more")
             : terms->isFull() ? Status::invalid("the input has more than " + std::to_string(StringTable::kMaxTexts) +
                                                 " different terms, the most supported")
                               : Status::ok();
    };
    for (const InputFile &file : files) {
      Status status = file.base().ends_with(".ttl") || file.base().ends_with(".turtle")
                          ? readBySerd(file, SerdFormat::Turtle, watch, stats, take)
                          : readNTriples(file, options.reader, watch, stats, take);
      if (!status.isOk())
        return status;
      ++fileNumber;
    }
    return Status::ok();
  }

  Result<RdfGraph> build(ReadStats stats) {
    if (watch.progress)
      watch.progress("applying the rules", 0, 0, static_cast<int64_t>(triples.size()));
    if (Status status = prepare(); !status.isOk())
      return status;
    if (options.rules == NodeRules::Types)
      chooseTypes();
    RdfGraph graph;
    RawGraph &raw = graph.raw;
    const size_t count = triples.size();
    raw.src.reserve(count);
    raw.dst.reserve(count);
    raw.type.reserve(count);
    triples.drain([&](uint32_t s, uint32_t p, uint32_t o) {
      if (isRemoved(p))
        return;
      uint32_t src = nodeAt(s, p, /*isObject=*/false);
      if (src == kNone)
        return;
      uint32_t dst = nodeAt(o, p, /*isObject=*/true);
      if (dst == kNone)
        return;
      // Nodes get numbers once both ends are known to be some.
      src = number(src);
      dst = number(dst);
      raw.src.push_back(src);
      raw.dst.push_back(dst);
      raw.type.push_back(relation(p, typeOf[src], typeOf[dst]));
    });
    graph.stats = std::move(stats);
    finish(graph);
    return graph;
  }

private:
  // A candidate is a term, or with patterns a (type, name); `number` makes it a node.
  Status prepare() {
    const auto numTerms = static_cast<size_t>(terms->size());
    rdfType = terms->find(kRdfType);
    removed.assign(numTerms, 0);
    for (const std::string &name : options.removePredicates) {
      uint32_t id = terms->find("<" + name + ">");
      bool found = id != kNone;
      if (found)
        removed[id] = 1;
      else
        triples.forEach([&](uint32_t, uint32_t p, uint32_t) {
          if (!removed[p] && localName((*terms)[p]) == name)
            removed[p] = 1, found = true;
          else if (removed[p])
            found |= localName((*terms)[p]) == name;
        });
      if (!found)
        return Status::invalid("no triple has the predicate " + inTicks(name) + ", which is to be removed");
    }
    keepLiterals = options.keepLiterals.value_or(true);
    keepBlanks = options.keepBlanks.value_or(options.rules == NodeRules::Terms);
    typedEdges = options.typedEdges.value_or(options.rules != NodeRules::Terms);
    nodeOf.assign(numTerms, kNone);
    placeOf.assign(numTerms, kNone);
    // Looked at in order once, rather than at random for every triple.
    if (!keepLiterals || !keepBlanks) {
      kinds.resize(numTerms);
      for (size_t term = 0; term < numTerms; ++term)
        kinds[term] = (*terms)[term].front();
    }
    if (options.rules == NodeRules::Types && rdfType == kNone)
      return Status::invalid("no triple has the predicate rdf:type, from which the nodes' types were to come; use "
                             "--rules terms or --nodes");
    if (options.rules != NodeRules::Patterns)
      return Status::ok();
    // The type that a predicate gives its objects, by term.
    rangeOf.assign(numTerms, kUnknownRange);
    patternOf.assign(numTerms, kUnknownPattern);
    return Status::ok();
  }

  bool isRemoved(uint32_t predicate) const {
    return removed[predicate] || (options.rules == NodeRules::Types && predicate == rdfType);
  }

  /// The rarest type of each node, so that `Person, PhDStudent` is a PhDStudent; equally rare ones go by name.
  void chooseTypes() {
    const auto numTerms = static_cast<size_t>(terms->size());
    std::vector<uint32_t> uses(numTerms);
    triples.forEach([&](uint32_t, uint32_t p, uint32_t o) { uses[o] += p == rdfType; });
    classOf.assign(numTerms, kNone);
    triples.forEach([&](uint32_t s, uint32_t p, uint32_t o) {
      if (p != rdfType)
        return;
      uint32_t &best = classOf[s];
      if (best == kNone || uses[o] < uses[best] || (uses[o] == uses[best] && (*terms)[o] < (*terms)[best]))
        best = o;
    });
  }

  uint32_t nodeAt(uint32_t term, uint32_t predicate, bool isObject) {
    if (!kinds.empty() && ((kinds[term] == '"' && !keepLiterals) || (kinds[term] == '_' && !keepBlanks)))
      return kNone;
    if (options.rules != NodeRules::Patterns)
      return term;
    return patternNode(term, predicate, isObject);
  }

  uint32_t patternNode(uint32_t term, uint32_t predicate, bool isObject) {
    std::string_view text = (*terms)[term];
    uint32_t range = rangeOf[predicate];
    if (range == kUnknownRange) {
      range = kNone;
      for (const NodePattern &pattern : rangePatterns)
        if (pattern.pattern.matches(plainName((*terms)[predicate]))) {
          range = typeNumber(pattern.type);
          break;
        }
      rangeOf[predicate] = range;
    }
    uint32_t type = kNone;
    std::string_view name = plainName(text);
    if (text.front() == '"') {
      type = typeNumber("literal");
    } else if (text.front() == '_') {
      type = typeNumber("blank");
    } else {
      uint32_t &which = patternOf[term];
      Pattern::Match match;
      if (which == kUnknownPattern) {
        which = kNone;
        for (size_t i = 0; i < nodePatterns.size(); ++i)
          if (nodePatterns[i].pattern.matches(name, match)) {
            which = static_cast<uint32_t>(i);
            break;
          }
      } else if (which != kNone) {
        nodePatterns[which].pattern.matches(name, match);
      }
      if (which == kNone)
        return kNone;
      if (!match.name.empty())
        name = match.name;
      const std::string &given = nodePatterns[which].type;
      if (given.empty())
        type = typeNumber(match.type);
      else if (given != "?")
        type = typeNumber(given);
    }
    if (isObject && range != kNone)
      type = range;
    if (type == kNone)
      type = isObject ? typeNumber(localName((*terms)[predicate])) : range != kNone ? range : typeNumber("untyped");
    std::string key = std::to_string(type) + " " + std::string(name);
    uint32_t candidate = candidates->intern(key);
    if (candidate == candidateType.size()) {
      candidateType.push_back(type);
      nodeOfCandidate.push_back(kNone);
    }
    firstCandidate.emplace(term, candidate);
    return candidate;
  }

  uint32_t typeNumber(std::string_view name) {
    uint32_t id = typeNames.intern(name);
    return id;
  }

  uint32_t number(uint32_t candidate) {
    const bool patterns = options.rules == NodeRules::Patterns;
    uint32_t &node = patterns ? nodeOfCandidate[candidate] : nodeOf[candidate];
    if (node != kNone)
      return node;
    node = static_cast<uint32_t>(termOfNode.size());
    termOfNode.push_back(candidate);
    uint32_t type = 0;
    if (patterns) {
      // Of the types that rules name, those that have a node, in the order of their first.
      auto [it, isNew] = typeOfClass.emplace(candidateType[candidate], static_cast<uint32_t>(classes.size()));
      if (isNew)
        classes.push_back(candidateType[candidate]);
      type = it->second;
    } else if (options.rules == NodeRules::Types) {
      // Types are numbered as nodes are: by first appearance.
      const char kind = (*terms)[candidate].front();
      uint32_t source = kind == '"' ? kLiteralType : classOf[candidate] != kNone ? classOf[candidate] : kUntyped;
      auto [it, isNew] = typeOfClass.emplace(source, static_cast<uint32_t>(classes.size()));
      if (isNew)
        classes.push_back(source);
      type = it->second;
    }
    typeOf.push_back(type);
    return node;
  }

  uint32_t relation(uint32_t predicate, uint32_t srcType, uint32_t dstType) {
    if (!typedEdges)
      srcType = dstType = 0;
    // Most triples have the relation of some earlier one with the same predicate and types.
    const uint64_t types = uint64_t{srcType} << 32 | dstType;
    uint32_t &place = placeOf[predicate];
    if (place == kNone) {
      place = static_cast<uint32_t>(relationsOf.size());
      relationsOf.emplace_back();
    }
    auto &known = relationsOf[place];
    for (auto [key, id] : known)
      if (key == types)
        return id;
    auto id = static_cast<uint32_t>(relations.size());
    relations.push_back({predicate, srcType, dstType});
    known.emplace_back(types, id);
    return id;
  }

  void finish(RdfGraph &graph) {
    RawGraph &raw = graph.raw;
    const bool patterns = options.rules == NodeRules::Patterns;
    if (options.rules == NodeRules::Types) {
      std::vector<std::string_view> names;
      for (uint32_t source : classes)
        names.push_back(source == kLiteralType ? "literal" : source == kUntyped ? "untyped" : (*terms)[source]);
      raw.nodeTypes = distinctNames(names);
    } else if (patterns) {
      for (uint32_t type : classes)
        raw.nodeTypes.emplace_back(typeNames[type]);
    } else {
      raw.nodeTypes = {"node"};
    }
    raw.typeOfNode = std::move(typeOf);
    if (raw.typeOfNode.empty())
      raw.countOfType.assign(raw.nodeTypes.size(), 0);

    std::vector<std::string_view> predicates;
    std::unordered_map<uint32_t, size_t> place;
    for (const Relation &relation : relations)
      if (place.emplace(relation.predicate, predicates.size()).second)
        predicates.push_back((*terms)[relation.predicate]);
    std::vector<std::string> names = distinctNames(predicates);
    const bool oneType = raw.nodeTypes.size() == 1;
    for (const Relation &relation : relations) {
      EdgeType type{names[place[relation.predicate]], "", ""};
      if (typedEdges || oneType) {
        type.src = raw.nodeTypes[relation.srcType];
        type.dst = raw.nodeTypes[relation.dstType];
      }
      raw.edgeTypes.push_back(std::move(type));
    }

    auto nodes = std::make_shared<std::vector<uint32_t>>(std::move(termOfNode));
    if (patterns) {
      raw.nameOf = [nodes, table = candidates](uint32_t node) {
        std::string_view key = (*table)[(*nodes)[node]];
        return key.substr(key.find(' ') + 1);
      };
      auto first = std::make_shared<std::unordered_map<uint32_t, uint32_t>>(std::move(firstCandidate));
      auto numbers = std::make_shared<std::vector<uint32_t>>(std::move(nodeOfCandidate));
      graph.find = [first, numbers, table = terms](std::string_view name) {
        auto it = first->find(table->find("<" + std::string(name) + ">"));
        return it == first->end() ? kNone : (*numbers)[it->second];
      };
    } else {
      raw.nameOf = [nodes, table = terms](uint32_t node) { return plainName((*table)[(*nodes)[node]]); };
      auto numbers = std::make_shared<std::vector<uint32_t>>(std::move(nodeOf));
      graph.find = [numbers, table = terms](std::string_view name) {
        uint32_t term = table->find("<" + std::string(name) + ">");
        if (term == kNone)
          term = table->find(name);  // a blank node or a literal, spelt as in N-Triples
        return term == kNone ? kNone : (*numbers)[term];
      };
    }
  }

  struct Relation {
    uint32_t predicate, srcType, dstType;
  };
  static constexpr uint32_t kUnknownRange = UINT32_MAX - 1;
  static constexpr uint32_t kUnknownPattern = UINT32_MAX - 1;
  static constexpr uint32_t kLiteralType = UINT32_MAX - 2;
  static constexpr uint32_t kUntyped = UINT32_MAX - 3;

  const RdfOptions &options;
  const Watch &watch;
  std::shared_ptr<StringTable> terms = std::make_shared<StringTable>();
  TripleList triples;
  bool keepLiterals = true, keepBlanks = true, typedEdges = false;
  uint32_t rdfType = kNone;
  std::vector<uint8_t> removed;     // by term
  std::vector<uint32_t> nodeOf;     // by term
  std::vector<uint32_t> classOf;    // by term, with NodeRules::Types
  std::vector<uint32_t> rangeOf;    // by term, with NodeRules::Patterns
  std::vector<uint32_t> patternOf;  // by term, with NodeRules::Patterns
  std::vector<NodePattern> nodePatterns, rangePatterns;
  std::shared_ptr<StringTable> candidates = std::make_shared<StringTable>();
  std::vector<uint32_t> candidateType, nodeOfCandidate;
  std::unordered_map<uint32_t, uint32_t> firstCandidate;  // by term
  StringTable typeNames;
  std::unordered_map<uint32_t, uint32_t> typeOfClass;
  std::vector<uint32_t> classes;
  std::vector<uint32_t> termOfNode, typeOf;
  std::vector<Relation> relations;
  std::vector<uint32_t> placeOf;  // by term: the place of a predicate in `relationsOf`
  std::vector<std::vector<std::pair<uint64_t, uint32_t>>> relationsOf;
  std::vector<char> kinds;  // by term: `<`, `_` or `"`; empty where all are kept
};

}  // namespace

Result<RdfGraph> importRdf(const std::vector<InputFile> &files, const RdfOptions &options, const Watch &watch) {
  Importer importer(options, watch);
  if (Status status = importer.parseRules(); !status.isOk())
    return status;
  std::vector<std::string> warnings;
  for (const InputFile &file : files)
    if (isEmpty(file))
      warnings.push_back(file.name + ": is empty" + (file.bytes.empty() ? " (0 bytes)" : " once unpacked") +
                         "; expected triples: is it complete?");
  if (!files.empty() && warnings.size() == files.size())
    return Status::invalid(warnings.front());
  ReadStats stats;
  const auto start = std::chrono::steady_clock::now();
  if (Status status = importer.read(files, stats); !status.isOk())
    return status;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<RdfGraph> graph = importer.build(std::move(stats));
  if (!graph)
    return graph;
  if (graph->stats.triples == 0)
    warnings.push_back(files[0].name + ": has no triples" +
                       (files.size() > 1 ? ", and neither have the files after it" : "") + "; the graph is empty");
  graph->readSeconds = seconds;
  graph->warnings = std::move(warnings);
  return graph;
}

}  // namespace hector
