#include "compiler/Conversion/FlowToKern/Access.h"

#include <llvm/ADT/STLExtras.h>

namespace hector {

using exec::Form;
using exec::FormKind;
using exec::formName;
using exec::Side;
using flow::Domain;
using flow::Map;
using flow::Order;

namespace {

EdgeOrder edgeOrder(Order order) {
  switch (order) {
  case Order::ByDst:
    return EdgeOrder::Destination;
  case Order::BySrc:
    return EdgeOrder::Source;
  case Order::ByType:
    return EdgeOrder::Type;
  case Order::None:
    break;
  }
  return EdgeOrder::File;
}

Side sideOf(Domain pair) {
  return pair == Domain::SrcPair ? Side::Source : Side::Destination;
}

std::string form(FormKind kind, Side side = Side::Source) {
  return formName({.kind = kind, .side = side});
}

std::string column(EdgeColumn column, EdgeOrder order) {
  return formName({.kind = FormKind::EdgeColumn, .column = column, .to = order});
}

Access then(Access access, std::string name) {
  access.path.push_back(std::move(name));
  return access;
}

}  // namespace

bool Levels::has(Domain domain) const {
  return llvm::is_contained(rows, domain);
}

/// The current row of `domain`, in a table that is stored in `order`.
Access Levels::self(Domain domain, Order order) const {
  Access row = {domain, {}};
  Order own = orderOf(domain);
  if (own == order)
    return row;
  if (domain == Domain::Edge)
    return then(row, formName({.kind = FormKind::EdgeRow, .from = edgeOrder(order), .to = edgeOrder(own)}));
  return then(row, form(own == Order::ByType ? FormKind::PairPlace : FormKind::PlacePair, sideOf(domain)));
}

/// The node of the current pair.
Access Levels::node(Domain pair) const {
  if (has(Domain::Node))
    return {Domain::Node, {}};
  return then(self(pair, Order::ByType), form(FormKind::PairNode, sideOf(pair)));
}

/// The relation of the current edge or pair.
Access Levels::relation(Domain from) const {
  if (has(Domain::EdgeType) || from == Domain::EdgeType)
    return {Domain::EdgeType, {}};
  // A pair around the edge knows it.
  for (Domain pair : {Domain::SrcPair, Domain::DstPair})
    if (has(pair))
      return then({pair, {}},
                  form(orderOf(pair) == Order::ByType ? FormKind::PairType : FormKind::PlaceType, sideOf(pair)));
  return then({from, {}}, column(EdgeColumn::Type, edgeOrder(orderOf(from))));
}

Access Levels::find(Domain from, Map map, Order order) const {
  if (map == Map::One)
    return {Domain::One, {}};
  if (map == Map::Self)
    return self(from, order);
  Domain target = *flow::mapTarget(from, map);
  if (flow::isTraversal(loop) && flow::isLevel(loop, from, map) && has(target))
    return self(target, order);
  const EdgeOrder walked = edgeOrder(orderOf(Domain::Edge));
  auto end = [&](Side side) { return form(FormKind::RelationType, side); };
  switch (map) {
  case Map::Src:
    return then({from, {}}, column(EdgeColumn::Source, walked));
  case Map::Dst:
    return then({from, {}}, column(EdgeColumn::Destination, walked));
  case Map::SrcPair:
    return then({from, {}}, column(order == Order::BySrc ? EdgeColumn::SrcPairByNode : EdgeColumn::SrcPair, walked));
  case Map::DstPair:
    return then({from, {}}, column(order == Order::ByDst ? EdgeColumn::DstPairByNode : EdgeColumn::DstPair, walked));
  case Map::Node:
    return node(from);
  case Map::EdgeType:
    return relation(from);
  case Map::NodeType:
    if (has(Domain::NodeType))
      return {Domain::NodeType, {}};
    return then(from == Domain::Node ? Access{from, {}} : node(from), form(FormKind::NodeType));
  case Map::SrcNodeType:
    return from == Domain::Edge ? then(find(from, Map::Src, Order::None), form(FormKind::NodeType))
                                : then(relation(from), end(Side::Source));
  case Map::DstNodeType:
    return from == Domain::Edge ? then(find(from, Map::Dst, Order::None), form(FormKind::NodeType))
                                : then(relation(from), end(Side::Destination));
  case Map::Self:
  case Map::One:
    break;
  }
  return {};
}

Access Levels::number(Domain domain) const {
  Access row = {domain, {}};
  if (domain == Domain::Edge)
    return then(row, formName({.kind = FormKind::EdgeRow, .from = EdgeOrder::File, .to = edgeOrder(orderOf(domain))}));
  if (domain == Domain::SrcPair || domain == Domain::DstPair)
    return then(self(domain, Order::ByType), form(FormKind::PairFirst, sideOf(domain)));
  return row;
}

}  // namespace hector
