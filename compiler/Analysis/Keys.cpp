#include "compiler/Analysis/Keys.h"

#include <llvm/ADT/STLExtras.h>

#include <array>
#include <vector>

namespace hector::flow {

/// Which parts a part determines.
static std::initializer_list<KeyPart> determinedBy(KeyPart part) {
  static constexpr std::initializer_list<KeyPart> kByEdge = {KeyPart::Source, KeyPart::Destination, KeyPart::EdgeType,
                                                             KeyPart::SourceType, KeyPart::DestinationType};
  static constexpr std::initializer_list<KeyPart> kBySource = {KeyPart::SourceType};
  static constexpr std::initializer_list<KeyPart> kByDestination = {KeyPart::DestinationType};
  static constexpr std::initializer_list<KeyPart> kByNode = {KeyPart::NodeType};
  switch (part) {
  case KeyPart::Edge:
    return kByEdge;
  case KeyPart::Source:
    return kBySource;
  case KeyPart::Destination:
    return kByDestination;
  case KeyPart::Node:
    return kByNode;
  default:
    return {};
  }
}

void Key::add(KeyPart part) {
  bits |= bit(part);
  for (unsigned i = 0; i <= static_cast<unsigned>(KeyPart::NodeType); ++i)
    if (has(static_cast<KeyPart>(i)))
      for (KeyPart determined : determinedBy(static_cast<KeyPart>(i)))
        bits &= ~bit(determined);
}

void Key::unite(const Key &other) {
  for (unsigned i = 0; i <= static_cast<unsigned>(KeyPart::NodeType); ++i)
    if (other.has(static_cast<KeyPart>(i)))
      add(static_cast<KeyPart>(i));
}

std::string Key::format() const {
  static constexpr std::string_view kNames[] = {"edge",  "source",      "destination",      "node",
                                                "etype", "source type", "destination type", "ntype"};
  std::string text;
  for (unsigned i = 0; i <= static_cast<unsigned>(KeyPart::NodeType); ++i)
    if (has(static_cast<KeyPart>(i)))
      text += (text.empty() ? "" : ", ") + std::string(kNames[i]);
  return "{" + text + "}";
}

Key keyOf(Domain domain) {
  switch (domain) {
  case Domain::One:
    return {};
  case Domain::NodeType:
    return {KeyPart::NodeType};
  case Domain::EdgeType:
    return {KeyPart::EdgeType};
  case Domain::Node:
    return {KeyPart::Node};
  case Domain::SrcPair:
  case Domain::DstPair:
    return {KeyPart::Node, KeyPart::EdgeType};
  case Domain::Edge:
    return {KeyPart::Edge};
  }
  return {};
}

Key keyThrough(Domain from, Map map, const Key &key) {
  if (map == Map::Self || map == Map::One)
    return key;
  // What "the node" of the far side is called here.
  KeyPart node = KeyPart::Node, type = KeyPart::NodeType;
  if (map == Map::Src || map == Map::SrcPair || map == Map::SrcNodeType) {
    node = KeyPart::Source;
    type = KeyPart::SourceType;
  } else if (map == Map::Dst || map == Map::DstPair || map == Map::DstNodeType) {
    node = KeyPart::Destination;
    type = KeyPart::DestinationType;
  }
  Key seen;
  for (KeyPart part :
       {KeyPart::Node, KeyPart::EdgeType, KeyPart::SourceType, KeyPart::DestinationType, KeyPart::NodeType}) {
    if (!key.has(part))
      continue;
    // From a relation's own row, the types that it joins are determined by the relation.
    bool joined = part == KeyPart::SourceType || part == KeyPart::DestinationType;
    seen.add(part == KeyPart::Node ? node : part == KeyPart::NodeType ? type : joined ? KeyPart::EdgeType : part);
  }
  // A type read from a pair or relation through the relation depends on the relation.
  bool throughRelation = from != Domain::Edge && (map == Map::SrcNodeType || map == Map::DstNodeType);
  if (throughRelation && (seen.has(KeyPart::SourceType) || seen.has(KeyPart::DestinationType)))
    return {KeyPart::EdgeType};
  return seen;
}

Place coarsestPlace(Domain at, const Key &key) {
  if (key == Key())
    return {Domain::One, at == Domain::One ? Map::Self : Map::One};
  if (at == Domain::Edge) {
    if (key == Key{KeyPart::EdgeType})
      return {Domain::EdgeType, Map::EdgeType};
    if (key == Key{KeyPart::SourceType})
      return {Domain::NodeType, Map::SrcNodeType};
    if (key == Key{KeyPart::DestinationType})
      return {Domain::NodeType, Map::DstNodeType};
    if (key == Key{KeyPart::Source})
      return {Domain::Node, Map::Src};
    if (key == Key{KeyPart::Destination})
      return {Domain::Node, Map::Dst};
    if (key == Key{KeyPart::Source, KeyPart::EdgeType} || key == Key{KeyPart::SourceType, KeyPart::EdgeType})
      return {Domain::SrcPair, Map::SrcPair};
    if (key == Key{KeyPart::Destination, KeyPart::EdgeType} || key == Key{KeyPart::DestinationType, KeyPart::EdgeType})
      return {Domain::DstPair, Map::DstPair};
  } else if (at == Domain::SrcPair || at == Domain::DstPair) {
    if (key == Key{KeyPart::EdgeType})
      return {Domain::EdgeType, Map::EdgeType};
    if (key == Key{KeyPart::NodeType})
      return {Domain::NodeType, Map::NodeType};
    if (key == Key{KeyPart::Node})
      return {Domain::Node, Map::Node};
  } else if (at == Domain::Node && key == Key{KeyPart::NodeType}) {
    return {Domain::NodeType, Map::NodeType};
  }
  return {at, Map::Self};
}

llvm::ArrayRef<Place> placesFrom(Domain at) {
  static const auto places = [] {
    std::array<std::vector<Place>, getMaxEnumValForDomain() + 1> table;
    for (unsigned from = 0; from < table.size(); ++from) {
      for (unsigned i = 0; i <= getMaxEnumValForMap(); ++i) {
        Map map = static_cast<Map>(i);
        if (auto domain = mapTarget(static_cast<Domain>(from), map); domain && map != Map::Self)
          table[from].push_back({*domain, map});
      }
      llvm::sort(table[from], [](Place a, Place b) { return std::pair(a.domain, a.map) < std::pair(b.domain, b.map); });
    }
    return table;
  }();
  return places[static_cast<unsigned>(at)];
}

bool isHeldBy(const Key &key, Domain at, const Place &place) {
  // A type found through a relation does not distinguish relations.
  if (at != Domain::Edge && (place.map == Map::SrcNodeType || place.map == Map::DstNodeType))
    return false;
  Key all = keyThrough(at, place.map, keyOf(place.domain)), both = all;
  both.unite(key);
  return both == all;
}

Keys::Keys(mlir::func::FuncOp function) {
  for (mlir::Value argument : function.getArguments())
    keys[argument] = keyOf(mlir::cast<RowsType>(argument.getType()).getDomain());
  for (mlir::Operation &op : function.getBody().front().without_terminator()) {
    Key key;
    if (dependsOnRow(&op)) {
      // Tells rows apart by itself, however equal the rows that it reads.
      key = keyOf(mlir::cast<RowsType>(op.getResult(0).getType()).getDomain());
    } else if (auto dense = mlir::dyn_cast<DenseOp>(op)) {
      for (unsigned i = 0; i < op.getNumOperands(); ++i)
        key.unite(keyThrough(dense.getResultRows().getDomain(), dense.getMap(i), of(op.getOperand(i))));
    } else if (auto spread = mlir::dyn_cast<SpreadOp>(op)) {
      key = keyThrough(spread.getResult().getType().getDomain(), spread.getVia(), of(spread.getRows()));
    } else {
      // A reduction tells all rows of its domain apart; a constant has the key of the single row, which is empty.
      key = keyOf(mlir::cast<RowsType>(op.getResult(0).getType()).getDomain());
    }
    keys[op.getResult(0)] = key;
  }
}

}  // namespace hector::flow
