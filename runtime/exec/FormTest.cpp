#include "runtime/exec/Form.h"

#include "runtime/exec/Memory.h"
#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <set>

using namespace hector;
using namespace hector::exec;

TEST(FormTest, NamesRoundTrip) {
  std::set<std::string> names;
  for (const Form &form : allForms()) {
    const std::string name = formName(form);
    EXPECT_TRUE(names.insert(name).second) << name;
    std::optional<Form> again = formFromName(name);
    ASSERT_TRUE(again) << name;
    EXPECT_EQ(*again, form) << name;
  }
  EXPECT_EQ(names.size(), 71u);
}

TEST(FormTest, NamesAreThoseOfTheHeader) {
  for (const char *name :
       {"edges.src",      "places.dst",         "place_edges.dst",     "place_pair.src", "pair_place.src",
        "place_type.dst", "place_node.src",     "pair_node.src",       "pair_type.dst",  "pair_first.dst",
        "edge_src.dst",   "edge_dst_pair.file", "edge_src_place.type", "edge_type.src",  "edge_row.type.dst",
        "node_type",      "relation_type.src",  "types.edge",          "types.dst_pair", "types.node"})
    EXPECT_TRUE(formFromName(name)) << name;
}

TEST(FormTest, OtherNamesAreNone) {
  for (const char *name : {"", "edges", "edges.", "edges.type", "edge_row.type", "node_type.src", "types.pair"})
    EXPECT_FALSE(formFromName(name)) << name;
}

class FormsTest : public testing::TestWithParam<std::tuple<TestGraph, IdWidth>> {
protected:
  const TestGraph &edges = std::get<0>(GetParam());
  IdWidth width = std::get<1>(GetParam());
  Graph graph = edges.make(width);
  GraphNumbers numbers = [&] {
    Plan plan;  // that asks for pairs
    plan.tables = {{"s", Domain::SrcPair, {}}, {"d", Domain::DstPair, {}}};
    return graphNumbers(plan, graph);
  }();
};
INSTANTIATE_TEST_SUITE_P(Graphs, FormsTest,
                         testing::Combine(testing::ValuesIn(unkindGraphs()),
                                          testing::Values(IdWidth::Fitting, IdWidth::Wide)),
                         [](const auto &info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) == IdWidth::Wide ? "Wide" : "");
                         });

/// How many entries the header promises.
static int64_t entries(const Form &form, const GraphNumbers &numbers) {
  const int64_t nodes = numbers.rows[Domain::Node];
  const int64_t pairs = numbers.rows[form.side == Side::Source ? Domain::SrcPair : Domain::DstPair];
  switch (form.kind) {
  case FormKind::Edges:
  case FormKind::Places:
    return nodes + 1;
  case FormKind::PlaceEdges:
    return pairs + 1;
  case FormKind::EdgeColumn:
  case FormKind::EdgeRow:
    return numbers.rows[Domain::Edge];
  case FormKind::NodeType:
    return nodes;
  case FormKind::RelationType:
    return numbers.rows[Domain::EdgeType];
  case FormKind::Types:
    return numbers.rows[form.types == TileRows::Nodes ? Domain::NodeType : Domain::EdgeType] + 1;
  default:
    return pairs;
  }
}

TEST_P(FormsTest, ArraysHaveTheirSizesAndOneWidth) {
  for (const Form &form : allForms()) {
    Result<const IdArray *> array = resolve(graph, form);
    if (!array) {  // relations of this graph may join several types
      EXPECT_EQ(form.kind, FormKind::RelationType);
      continue;
    }
    EXPECT_EQ((*array)->size(), entries(form, numbers)) << formName(form);
    EXPECT_TRUE((*array)->size() == 0 || (*array)->isWide() == (width == IdWidth::Wide)) << formName(form);
  }
}

TEST_P(FormsTest, BytesAreThoseOfTheDistinctArrays) {
  std::set<const IdArray *> arrays = {&graph.src(), &graph.dst(), &graph.etype(), &graph.edgeNumbers()};
  int64_t bytes = 0;
  for (const Form &form : allForms()) {
    Result<const IdArray *> array = resolve(graph, form);
    if (!array || !arrays.insert(*array).second)
      continue;
    bytes += (*array)->numBytes();
    EXPECT_GE(formBytes(std::array{form}, numbers), (*array)->numBytes()) << formName(form);
  }
  // All forms together leave nothing that none of them is, but for types of relations that could not be told.
  const int64_t untold = 2 * numbers.rows[Domain::EdgeType] * (needsWideIds(graph) ? 8 : 4);
  EXPECT_GE(formBytes(allForms(), numbers), bytes);
  EXPECT_LE(formBytes(allForms(), numbers), bytes + untold);
}

TEST(FormTest, WideIdsAreSeenWithoutEdges) {
  EXPECT_FALSE(needsWideIds(unkindGraphs()[1].make()));
  EXPECT_TRUE(needsWideIds(unkindGraphs()[1].make(IdWidth::Wide)));
}

TEST(FormTest, RelationsThatJoinSeveralTypesHaveNoType) {
  const TestGraph graph = {"", {0, 1}, {0, 0}, {0, 0}, {0, 1, 2}, 1};
  Result<const IdArray *> types = resolve(graph.make(), form("relation_type.src"));
  ASSERT_FALSE(types);
  EXPECT_TRUE(types.status().message().starts_with("relation 0 has sources of several node types"));
  EXPECT_TRUE(resolve(graph.make(), form("relation_type.dst")));
}
