#include "runtime/exec/Form.h"

#include <algorithm>
#include <array>

namespace hector::exec {

namespace {

constexpr std::array<const char *, 2> kSides = {"src", "dst"};
constexpr std::array<const char *, 4> kOrders = {"file", "type", "dst", "src"};  // as `EdgeOrder` lists them
constexpr std::array<const char *, 7> kColumns = {"src",      "dst",       "type",     "src_pair",
                                                  "dst_pair", "src_place", "dst_place"};      // as `EdgeColumn` does
constexpr std::array<const char *, 4> kTypedRows = {"edge", "src_pair", "dst_pair", "node"};  // as `TileRows` does

template <class E, size_t N> std::string nameIn(const std::array<const char *, N> &names, E value) {
  return names[static_cast<size_t>(value)];
}

/// The name of a kind that exists at both ends, without the end.
const char *sidedName(FormKind kind) {
  switch (kind) {
  case FormKind::Edges:
    return "edges";
  case FormKind::Places:
    return "places";
  case FormKind::PlaceEdges:
    return "place_edges";
  case FormKind::PlacePair:
    return "place_pair";
  case FormKind::PairPlace:
    return "pair_place";
  case FormKind::PlaceType:
    return "place_type";
  case FormKind::PairNode:
    return "pair_node";
  case FormKind::PairType:
    return "pair_type";
  case FormKind::PairFirst:
    return "pair_first";
  case FormKind::PlaceNode:
    return "place_node";
  case FormKind::RelationType:
    return "relation_type";
  case FormKind::EdgeColumn:
  case FormKind::EdgeRow:
  case FormKind::NodeType:
  case FormKind::Types:
    break;
  }
  return nullptr;
}

}  // namespace

const std::vector<Form> &allForms() {
  static const std::vector<Form> kForms = [] {
    std::vector<Form> forms;
    for (int kind = 0; kind <= static_cast<int>(FormKind::Types); ++kind)
      if (sidedName(static_cast<FormKind>(kind)))
        for (Side side : {Side::Source, Side::Destination})
          forms.push_back({.kind = static_cast<FormKind>(kind), .side = side});
    for (size_t to = 0; to < kOrders.size(); ++to) {
      for (size_t column = 0; column < kColumns.size(); ++column)
        forms.push_back({.kind = FormKind::EdgeColumn,
                         .column = static_cast<EdgeColumn>(column),
                         .to = static_cast<EdgeOrder>(to)});
      for (size_t from = 0; from < kOrders.size(); ++from)
        forms.push_back(
            {.kind = FormKind::EdgeRow, .from = static_cast<EdgeOrder>(from), .to = static_cast<EdgeOrder>(to)});
    }
    forms.push_back({.kind = FormKind::NodeType});
    for (size_t rows = 0; rows < kTypedRows.size(); ++rows)
      forms.push_back({.kind = FormKind::Types, .types = static_cast<TileRows>(rows)});
    return forms;
  }();
  return kForms;
}

std::string formName(const Form &form) {
  switch (form.kind) {
  case FormKind::EdgeColumn:
    return "edge_" + nameIn(kColumns, form.column) + "." + nameIn(kOrders, form.to);
  case FormKind::EdgeRow:
    return "edge_row." + nameIn(kOrders, form.from) + "." + nameIn(kOrders, form.to);
  case FormKind::NodeType:
    return "node_type";
  case FormKind::Types:
    return "types." + nameIn(kTypedRows, form.types);
  default:
    return sidedName(form.kind) + ("." + nameIn(kSides, form.side));
  }
}

std::optional<Form> formFromName(std::string_view name) {
  auto found = std::find_if(allForms().begin(), allForms().end(), [&](const Form &f) { return formName(f) == name; });
  if (found == allForms().end())
    return std::nullopt;
  return *found;
}

bool needsWideIds(const Graph &graph) {
  return graph.src().isWide();
}

Result<const IdArray *> resolve(const Graph &graph, const Form &form) {
  const bool isSource = form.side == Side::Source;
  auto pairs = [&]() -> const Pairs & { return isSource ? graph.srcPairs() : graph.dstPairs(); };
  auto places = [&]() -> const PairIndex & { return isSource ? graph.srcPairsByNode() : graph.dstPairsByNode(); };
  switch (form.kind) {
  case FormKind::Edges:
    return isSource ? &graph.outgoing().ptr : &graph.incoming().ptr;
  case FormKind::Places:
    return &places().ptr;
  case FormKind::PlaceEdges:
    return &places().edgePtr;
  case FormKind::PlacePair:
    return &places().pairs;
  case FormKind::PairPlace:
    return &places().places;
  case FormKind::PlaceType:
    return &places().relation;
  case FormKind::PairNode:
    return &pairs().node;
  case FormKind::PairType:
    return &pairs().relation;
  case FormKind::PairFirst:
    return isSource ? &graph.srcPairFirsts() : &graph.dstPairFirsts();
  case FormKind::PlaceNode:
    return isSource ? &graph.srcPlaceNodes() : &graph.dstPlaceNodes();
  case FormKind::EdgeColumn:
    return &graph.edgeColumn(form.column, form.to);
  case FormKind::EdgeRow:
    return &graph.edgeRows(form.from, form.to);
  case FormKind::NodeType:
    return &graph.ntypeOfNode();
  case FormKind::RelationType: {
    const Result<IdArray> &types = isSource ? graph.srcTypeOfRelation() : graph.dstTypeOfRelation();
    if (!types)
      return types.status();
    return &*types;
  }
  case FormKind::Types:
    break;
  }
  return &graph.typeStarts(form.types);
}

}  // namespace hector::exec
