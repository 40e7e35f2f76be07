#include "runtime/graph/Graph.h"

#include "runtime/storage/Safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

struct Edges {
  Ids src, dst, etype;
};

Graph make(const Edges &edges, const Ids &ntypePtr, int64_t numRelations, IdWidth width = IdWidth::Fitting) {
  Result<Graph> graph = Graph::create(edges.src, edges.dst, edges.etype, ntypePtr, numRelations, width);
  EXPECT_TRUE(graph) << graph.status().message();
  return *graph;
}

std::string errorOf(const Result<Graph> &result) {
  return result ? "no error" : result.status().message();
}
std::string errorOf(const Edges &edges, const Ids &ntypePtr, int64_t numRelations) {
  return errorOf(Graph::create(edges.src, edges.dst, edges.etype, ntypePtr, numRelations));
}

Ids values(const IdArray &array) {
  Ids copy;
  for (int64_t i = 0; i < array.size(); ++i)
    copy.push_back(array[i]);
  return copy;
}
Ids values(std::span<const int64_t> span) {
  return {span.begin(), span.end()};
}

/// The example at the top of Graph.h.
const Edges kExample = {{5, 5, 3, 5}, {1, 2, 2, 1}, {0, 0, 0, 1}};

TensorFile tensors(const std::map<std::string, Ids> &arrays, DType dtype = DType::I64) {
  TensorFile file;
  for (const auto &[name, ids] : arrays)
    file.tensors[name] = Tensor::fromInt64({static_cast<int64_t>(ids.size())}, ids, dtype);
  return file;
}
TensorFile exampleTensors(DType dtype = DType::I64) {
  return tensors({{"graph.src", kExample.src},
                  {"graph.dst", kExample.dst},
                  {"graph.etype", kExample.etype},
                  {"graph.ntype_ptr", {0, 4, 8}}},
                 dtype);
}

Edges randomEdges(std::mt19937 &random, int64_t numNodes, int64_t numEdges, int64_t numRelations) {
  Edges edges;
  // Squared, so that low ids are busier and some nodes and relations stay empty.
  auto draw = [&](int64_t count) {
    double x = std::uniform_real_distribution<>(0, 1)(random);
    return static_cast<int64_t>(x * x * static_cast<double>(count));
  };
  for (int64_t e = 0; e < numEdges; ++e) {
    edges.src.push_back(draw(numNodes));
    edges.dst.push_back(draw(numNodes));
    edges.etype.push_back(draw(numRelations));
  }
  std::sort(edges.etype.begin(), edges.etype.end());
  return edges;
}

void expectIndex(const EdgeIndex &index, const Ids &ends, int64_t numNodes) {
  std::map<int64_t, Ids> edgesOf;
  for (size_t e = 0; e < ends.size(); ++e)
    edgesOf[ends[e]].push_back(static_cast<int64_t>(e));
  Ids ptr = {0};
  Ids edges;
  for (int64_t node = 0; node < numNodes; ++node) {
    edges.insert(edges.end(), edgesOf[node].begin(), edgesOf[node].end());
    ptr.push_back(static_cast<int64_t>(edges.size()));
  }
  EXPECT_EQ(values(index.ptr), ptr);
  EXPECT_EQ(values(index.edges), edges);
}

void expectPairs(const Pairs &pairs, const Ids &ends, const Ids &etype, int64_t numRelations) {
  std::map<std::pair<int64_t, int64_t>, int64_t> number;
  for (size_t e = 0; e < ends.size(); ++e)
    number[{etype[e], ends[e]}] = 0;
  Ids node, relation, ofEdge, relationPtr(static_cast<size_t>(numRelations) + 1);
  for (auto &[pair, id] : number) {
    id = static_cast<int64_t>(node.size());
    relation.push_back(pair.first);
    node.push_back(pair.second);
  }
  for (size_t e = 0; e < ends.size(); ++e)
    ofEdge.push_back(number[{etype[e], ends[e]}]);
  for (int64_t r = 0; r < numRelations; ++r)
    relationPtr[r + 1] = std::count_if(relation.begin(), relation.end(), [&](int64_t other) { return other <= r; });
  EXPECT_EQ(values(pairs.node), node);
  EXPECT_EQ(values(pairs.relation), relation);
  EXPECT_EQ(values(pairs.ofEdge), ofEdge);
  EXPECT_EQ(values(pairs.relationPtr), relationPtr);
}

void expectDerivedForms(const Edges &edges, int64_t numNodes, int64_t numRelations, IdWidth width) {
  Graph graph = make(edges, {0, numNodes}, numRelations, width);
  EXPECT_EQ(graph.src().isWide(), width == IdWidth::Wide);
  EXPECT_EQ(graph.outgoing().edges.isWide(), width == IdWidth::Wide);
  EXPECT_EQ(graph.srcPairs().ofEdge.isWide(), width == IdWidth::Wide);
  EXPECT_EQ(values(graph.src()), edges.src);
  EXPECT_EQ(values(graph.dst()), edges.dst);
  EXPECT_EQ(values(graph.etype()), edges.etype);
  expectIndex(graph.outgoing(), edges.src, numNodes);
  expectIndex(graph.incoming(), edges.dst, numNodes);
  expectPairs(graph.srcPairs(), edges.src, edges.etype, numRelations);
  expectPairs(graph.dstPairs(), edges.dst, edges.etype, numRelations);
}

}  // namespace

// Ids.

TEST(IdArrayTest, NarrowWhereTheLimitFits) {
  EXPECT_FALSE(IdArray::make(3, int64_t{1} << 31).isWide());
}

TEST(IdArrayTest, WideWhereTheLimitDoesNotFit) {
  EXPECT_TRUE(IdArray::make(3, (int64_t{1} << 31) + 1).isWide());
}

TEST(IdArrayTest, HoldsTheLargestIdOfEachWidth) {
  for (int64_t limit : {int64_t{1} << 31, int64_t{1} << 40}) {
    IdArray array = IdArray::make(2, limit);
    array.set(1, limit - 1);
    EXPECT_EQ(values(array), (Ids{0, limit - 1}));
  }
}

TEST(IdArrayTest, VisitSeesTheStoredWidth) {
  EXPECT_EQ(IdArray::make(1, 10).visit([](auto ids) { return sizeof(ids[0]); }), 4u);
  EXPECT_EQ(IdArray::make(1, int64_t{1} << 40).visit([](auto ids) { return sizeof(ids[0]); }), 8u);
}

// The example, form by form.

TEST(GraphTest, CountsAreAsGiven) {
  Graph graph = make(kExample, {0, 4, 4, 8}, 3);
  EXPECT_EQ(graph.numNodes(), 8);
  EXPECT_EQ(graph.numEdges(), 4);
  EXPECT_EQ(graph.numNodeTypes(), 3);
  EXPECT_EQ(graph.numRelations(), 3);
  EXPECT_EQ(values(graph.ntypePtr()), (Ids{0, 4, 4, 8}));
}

TEST(GraphTest, RelationsOwnContiguousEdges) {
  EXPECT_EQ(values(make(kExample, {0, 8}, 3).etypePtr()), (Ids{0, 3, 4, 4}));
}

TEST(GraphTest, OutgoingGroupsEdgesBySource) {
  Graph graph = make(kExample, {0, 6}, 2);
  EXPECT_EQ(values(graph.outgoing().ptr), (Ids{0, 0, 0, 0, 1, 1, 4}));
  EXPECT_EQ(values(graph.outgoing().edges), (Ids{2, 0, 1, 3}));
}

TEST(GraphTest, IncomingGroupsEdgesByDestination) {
  Graph graph = make(kExample, {0, 6}, 2);
  EXPECT_EQ(values(graph.incoming().ptr), (Ids{0, 0, 2, 4, 4, 4, 4}));
  EXPECT_EQ(values(graph.incoming().edges), (Ids{0, 3, 1, 2}));
}

TEST(GraphTest, SourcePairsAreNumberedByRelationThenNode) {
  Graph graph = make(kExample, {0, 6}, 2);
  const Pairs &pairs = graph.srcPairs();
  EXPECT_EQ(pairs.count(), 3);
  EXPECT_EQ(values(pairs.node), (Ids{3, 5, 5}));
  EXPECT_EQ(values(pairs.relation), (Ids{0, 0, 1}));
  EXPECT_EQ(values(pairs.ofEdge), (Ids{1, 1, 0, 2}));
  EXPECT_EQ(values(pairs.relationPtr), (Ids{0, 2, 3}));
}

TEST(GraphTest, DestinationPairsAreNumberedByRelationThenNode) {
  Graph graph = make(kExample, {0, 6}, 2);
  const Pairs &pairs = graph.dstPairs();
  EXPECT_EQ(values(pairs.node), (Ids{1, 2, 1}));
  EXPECT_EQ(values(pairs.relation), (Ids{0, 0, 1}));
  EXPECT_EQ(values(pairs.ofEdge), (Ids{0, 1, 1, 2}));
}

TEST(GraphTest, NodesKnowTheirTypesAcrossEmptyOnes) {
  EXPECT_EQ(values(make({}, {0, 0, 2, 2, 3, 3}, 0).ntypeOfNode()), (Ids{1, 1, 3}));
}

TEST(GraphTest, DerivedFormsAreBuiltOnce) {
  Graph graph = make(kExample, {0, 6}, 2);
  Graph copy = graph;
  EXPECT_EQ(&graph.outgoing(), &copy.outgoing());
  EXPECT_EQ(&graph.srcPairs(), &copy.srcPairs());
}

TEST(GraphTest, ForksHaveTheFormsThatWereThere) {
  Graph graph = make(kExample, {0, 6}, 2);
  auto start = [](const IdArray &array) { return array.visit([](auto ids) -> const void * { return ids.data(); }); };
  const IdArray &column = graph.edgeColumn(EdgeColumn::Source, EdgeOrder::Destination);
  Graph fork = graph.fork();
  EXPECT_EQ(start(fork.src()), start(graph.src()));
  EXPECT_EQ(start(fork.incoming().edges), start(graph.incoming().edges));
  EXPECT_EQ(start(fork.edgeColumn(EdgeColumn::Source, EdgeOrder::Destination)), start(column));
  EXPECT_EQ(fork.numNodes(), 6);
  EXPECT_EQ(fork.numRelations(), 2);
}

TEST(GraphTest, FormsOfAForkAreItsOwn) {
  Graph graph = make(kExample, {0, 6}, 2);
  auto start = [](const IdArray &array) { return array.visit([](auto ids) -> const void * { return ids.data(); }); };
  IdArray taken;
  {
    Graph fork = graph.fork();
    taken = fork.srcPairs().ofEdge;
    EXPECT_NE(start(taken), start(graph.srcPairs().ofEdge));
  }
  // What was taken outlives the fork.
  EXPECT_EQ(values(taken), values(graph.srcPairs().ofEdge));
}

TEST(GraphTest, ForksAreMadeWhileOthersDerive) {
  std::mt19937 random(7);
  Graph graph = make(randomEdges(random, 100, 10'000, 5), {0, 100}, 5);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      if (i % 2 == 0)
        graph.edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination);
      else
        graph.fork().edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination);
    });
  for (std::thread &thread : threads)
    thread.join();
  const auto wanted = values(graph.edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination));
  EXPECT_EQ(values(graph.fork().edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination)), wanted);
}

TEST(GraphTest, DerivedFormsMayBeAskedForByManyThreads) {
  std::mt19937 random(7);
  Graph graph = make(randomEdges(random, 100, 10'000, 5), {0, 100}, 5);
  std::vector<std::thread> threads;
  std::vector<const Pairs *> seen(4);
  for (size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] { seen[i] = &graph.dstPairs(); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 1u);
}

// Random graphs against the obvious construction.

TEST(GraphTest, RandomGraphsMatchTheNaiveConstruction) {
  std::mt19937 random(7);
  for (int64_t numNodes : {1, 7, 300, 5000})
    for (int64_t numEdges : {0, 1, 40, 2000})
      for (int64_t numRelations : {1, 6, 90})
        expectDerivedForms(randomEdges(random, numNodes, numEdges, numRelations), numNodes, numRelations,
                           IdWidth::Fitting);
}

TEST(GraphTest, WideRandomGraphsMatchTheNaiveConstruction) {
  std::mt19937 random(8);
  for (int64_t numNodes : {1, 300, 5000})
    for (int64_t numEdges : {0, 2000})
      expectDerivedForms(randomEdges(random, numNodes, numEdges, 6), numNodes, 6, IdWidth::Wide);
}

TEST(GraphTest, PairsNeedNoMemoryForEachNode) {
  const int64_t numNodes = int64_t{1} << 40;
  Edges edges = {{numNodes - 1, 0, numNodes - 1, int64_t{1} << 33}, {0, 0, 0, 0}, {0, 0, 0, 1}};
  Graph graph = make(edges, {0, numNodes}, 2);
  EXPECT_TRUE(graph.src().isWide());
  expectPairs(graph.srcPairs(), edges.src, edges.etype, 2);
}

TEST(GraphTest, AsManyNodesAs32BitsHoldAreNarrow) {
  EXPECT_FALSE(make({{0}, {0}, {0}}, {0, (int64_t{1} << 31) - 1}, 1).src().isWide());
  EXPECT_TRUE(make({{0}, {0}, {0}}, {0, int64_t{1} << 31}, 1).src().isWide());
}

// Unusual graphs.

TEST(GraphTest, NothingAtAll) {
  expectDerivedForms({}, 0, 0, IdWidth::Fitting);
  EXPECT_EQ(values(make({}, {0}, 0).etypePtr()), Ids{0});
  EXPECT_EQ(make({}, {0}, 0).numNodeTypes(), 0);
}

TEST(GraphTest, NodesWithoutEdges) {
  expectDerivedForms({}, 5, 3, IdWidth::Fitting);
}

TEST(GraphTest, SelfLoopsAndRepeatedEdges) {
  expectDerivedForms({{1, 1, 1, 0}, {1, 1, 1, 1}, {0, 0, 2, 2}}, 2, 4, IdWidth::Fitting);
}

// Node types of relations.

TEST(GraphTest, RelationsHaveOneTypeAtEachEnd) {
  Graph graph = make(kExample, {0, 3, 6}, 3);
  Result<IdArray> src = graph.srcTypeOfRelation();
  Result<IdArray> dst = graph.dstTypeOfRelation();
  ASSERT_TRUE(src && dst);
  EXPECT_EQ(values(*src), (Ids{1, 1, 0}));
  EXPECT_EQ(values(*dst), (Ids{0, 0, 0}));
}

TEST(GraphTest, RelationsJoinNoTypesWhereThereAreNone) {
  EXPECT_EQ(make({{}, {}, {}}, {0}, 2).srcTypeOfRelation().status().message(),
            "the model asks for the node types that a relation joins, but the graph has no node type");
  EXPECT_TRUE(make({{}, {}, {}}, {0}, 0).dstTypeOfRelation());
}

TEST(GraphTest, RelationWithSeveralSourceTypesNamesTwoEdges) {
  Result<IdArray> types = make(kExample, {0, 4, 6}, 2).srcTypeOfRelation();
  ASSERT_FALSE(types);
  EXPECT_EQ(types.status().message(),
            "relation 0 has sources of several node types: edge 0 has node 5 of type 1, edge 2 has node 3 of type 0; "
            "give each combination of node types a relation of its own");
}

TEST(GraphTest, RelationWithSeveralDestinationTypesNamesTwoEdges) {
  Result<IdArray> types = make(kExample, {0, 2, 6}, 2).dstTypeOfRelation();
  ASSERT_FALSE(types);
  EXPECT_EQ(types.status().message(),
            "relation 0 has destinations of several node types: edge 0 has node 1 of type 0, edge 1 has node 2 of type "
            "1; give each combination of node types a relation of its own");
}

// What is refused, and in which words.

TEST(Graph, EdgesInAnyOrderAreSortedByType) {
  for (int64_t numRelations : {3, 100}) {  // fewer than edges, and more
    Graph graph = make({{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 1, 0, 2}}, {0, 5}, numRelations);
    EXPECT_EQ(values(graph.etype()), (Ids{0, 0, 1, 2, 2}));
    EXPECT_EQ(values(graph.src()), (Ids{1, 3, 2, 0, 4}));
    EXPECT_EQ(values(graph.dst()), (Ids{3, 1, 2, 4, 0}));
    EXPECT_EQ(values(graph.edgeNumbers()), (Ids{1, 3, 2, 0, 4}));
    EXPECT_EQ(graph.edgeNumber(3), 0);
  }
}

TEST(Graph, EdgesInAnyOrderWithWideIds) {
  Graph graph = make({{0, 1, 2}, {2, 1, 0}, {1, 0, 0}}, {0, 3}, 2, IdWidth::Wide);
  EXPECT_EQ(values(graph.src()), (Ids{1, 2, 0}));
  EXPECT_EQ(values(graph.edgeNumbers()), (Ids{1, 2, 0}));
  EXPECT_TRUE(graph.edgeNumbers().isWide());
}

TEST(Graph, SortedEdgesKeepTheirNumbers) {
  Graph graph = make(kExample, {0, 8}, 2);
  EXPECT_EQ(graph.edgeNumbers().size(), 0);
  EXPECT_EQ(graph.edgeNumber(2), 2);
}

TEST(GraphError, DifferentLengths) {
  EXPECT_EQ(errorOf({{0, 0}, {0}, {0, 0}}, {0, 1}, 1),
            "graph.src has 2 entries, but graph.dst has 1; each needs one for every edge");
  EXPECT_EQ(errorOf({{0, 0}, {0, 0}, {0}}, {0, 1}, 1),
            "graph.src has 2 entries, but graph.etype has 1; each needs one for every edge");
}

TEST(GraphError, NodeOutOfRange) {
  EXPECT_EQ(errorOf({{0, 10}, {0, 0}, {0, 0}}, {0, 10}, 1), "graph.src[1] is 10; node ids are 0 to 9");
  EXPECT_EQ(errorOf({{0, 0}, {-1, 0}, {0, 0}}, {0, 10}, 1), "graph.dst[0] is -1; node ids are 0 to 9");
}

TEST(GraphError, EdgeWithoutNodes) {
  EXPECT_EQ(errorOf({{0}, {0}, {0}}, {0}, 1), "graph.src[0] is 0; the graph has no nodes");
}

TEST(GraphError, RelationsThatJoinSeveralTypesAreToldByTheNumbersOfTheirEdges) {
  Graph graph = make({{1, 0, 0, 1}, {0, 0, 0, 0}, {1, 0, 1, 0}}, {0, 1, 2}, 2);
  Result<IdArray> types = graph.srcTypeOfRelation();
  ASSERT_FALSE(types);
  EXPECT_EQ(types.status().message(),
            "relation 0 has sources of several node types: edge 1 has node 0 of type 0, edge 3 has node 1 of type 1; "
            "give each combination of node types a relation of its own");
}

TEST(GraphError, TypeOutOfRange) {
  EXPECT_EQ(errorOf({{0}, {0}, {3}}, {0, 1}, 3), "graph.etype[0] is 3; edge types are 0 to 2");
  EXPECT_EQ(errorOf({{0}, {0}, {-1}}, {0, 1}, 3), "graph.etype[0] is -1; edge types are 0 to 2");
  EXPECT_EQ(errorOf({{0}, {0}, {0}}, {0, 1}, 0), "graph.etype[0] is 0; the graph has no relations");
}

TEST(GraphError, NodeTypesThatDoNotStartAtZero) {
  EXPECT_EQ(errorOf({}, {3, 5}, 0), "graph.ntype_ptr[0] is 3; it must be 0");
}

TEST(GraphError, NodeTypesThatDecrease) {
  EXPECT_EQ(errorOf({}, {0, 7, 4}, 0), "graph.ntype_ptr[2] is 4, but graph.ntype_ptr[1] is 7; it must not decrease");
}

TEST(GraphError, NodeTypesWithoutEntries) {
  EXPECT_EQ(errorOf({}, {}, 0), "graph.ntype_ptr is empty; it holds a 0, then the end of each node type");
}

TEST(GraphError, AbsurdNumberOfNodes) {
  EXPECT_EQ(errorOf({}, {0, int64_t{1} << 62}, 0),
            "graph.ntype_ptr[1] is 4611686018427387904; at most 1099511627776 nodes are supported");
}

TEST(GraphError, AbsurdNumberOfRelations) {
  EXPECT_EQ(errorOf({}, {0}, -1), "the graph is to have -1 relations; 0 to 16777216 are supported");
  EXPECT_EQ(errorOf({}, {0}, int64_t{1} << 40),
            "the graph is to have 1099511627776 relations; 0 to 16777216 are supported");
}

// From tensors.

TEST(GraphFromTensors, ReadsBothWidths) {
  for (DType dtype : {DType::I32, DType::I64}) {
    Result<Graph> graph = Graph::fromTensors(exampleTensors(dtype));
    ASSERT_TRUE(graph) << errorOf(graph);
    EXPECT_EQ(values(graph->src()), kExample.src);
    EXPECT_EQ(values(graph->dst()), kExample.dst);
    EXPECT_EQ(values(graph->etype()), kExample.etype);
    EXPECT_EQ(values(graph->ntypePtr()), (Ids{0, 4, 8}));
    EXPECT_EQ(graph->numRelations(), 2);
  }
}

TEST(GraphFromTensors, ReadsUnalignedBytes) {
  TensorFile file = exampleTensors();
  auto shifted = std::make_shared<std::vector<std::byte>>(1);
  Tensor &src = file.tensors["graph.src"];
  shifted->insert(shifted->end(), src.bytes, src.bytes + src.numBytes());
  src.bytes = shifted->data() + 1;
  src.owner = shifted;
  Result<Graph> graph = Graph::fromTensors(file);
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(values(graph->src()), kExample.src);
}

TEST(GraphFromTensors, NumberOfRelationsMayBeGiven) {
  Result<Graph> graph = Graph::fromTensors(exampleTensors(), 9);
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->numRelations(), 9);
}

TEST(GraphFromTensors, WithoutTypesThereIsOneOfEach) {
  Result<Graph> graph = Graph::fromTensors(tensors({{"graph.src", {5, 0}}, {"graph.dst", {1, 7}}}));
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->numRelations(), 1);
  EXPECT_EQ(graph->numNodeTypes(), 1);
  EXPECT_EQ(graph->numNodes(), 8);
}

TEST(GraphFromTensors, NumberOfNodesMayBeGiven) {
  Result<Graph> graph = Graph::fromTensors(tensors({{"graph.src", {5}}, {"graph.dst", {1}}}), -1, 20);
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(values(graph->ntypePtr()), (Ids{0, 20}));
}

TEST(GraphFromTensors, NoEdges) {
  Result<Graph> graph = Graph::fromTensors(tensors({{"graph.src", {}}, {"graph.dst", {}}, {"graph.etype", {}}}));
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->numNodes(), 0);
  EXPECT_EQ(graph->numRelations(), 0);
}

TEST(GraphFromTensors, MissingSource) {
  EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.dst", {0}}}))),
            "graph.src is missing; a graph needs graph.src and graph.dst");
}

TEST(GraphFromTensors, MisspeltArrayIsNotIgnored) {
  EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.src", {0}}, {"graph.dst", {0}}, {"graph.edge_type", {0}}}))),
            "graph.edge_type is no part of a graph; its arrays are graph.src, graph.dst, graph.etype and "
            "graph.ntype_ptr");
}

TEST(GraphFromTensors, FloatIds) {
  EXPECT_EQ(errorOf(Graph::fromTensors(exampleTensors(DType::F64))),
            "graph.src holds F64; ids are stored as I32 or I64");
}

TEST(GraphFromTensors, IdsWithTwoDimensions) {
  TensorFile file = exampleTensors();
  file.tensors["graph.dst"].shape = {2, 2};
  EXPECT_EQ(errorOf(Graph::fromTensors(file)), "graph.dst has shape [2, 2]; it must have one dimension");
}

TEST(GraphFromTensors, MissingTypesWhereSeveralAreNeeded) {
  EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.src", {0}}, {"graph.dst", {0}}}), 3)),
            "graph.etype is missing, so that all edges have one type, but 3 relations are needed; add graph.etype, one "
            "type for every edge");
}

TEST(GraphFromTensors, HostileNodeId) {
  EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.src", {0}}, {"graph.dst", {INT64_MAX}}}))),
            "graph.dst[0] is 9223372036854775807; node ids are 0 to 1099511627775");
}

TEST(GraphFromTensors, HostileNumberOfNodes) {
  EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.src", {0}}, {"graph.dst", {0}}}), -1, INT64_MAX)),
            "the graph is to have 9223372036854775807 nodes; at most 1099511627776 are supported");
}

TEST(GraphFromTensors, HostileType) {
  for (auto [type, text] : {std::pair(INT64_MAX, "9223372036854775807"), std::pair(int64_t{-1}, "-1")})
    EXPECT_EQ(errorOf(Graph::fromTensors(tensors({{"graph.src", {0}}, {"graph.dst", {0}}, {"graph.etype", {type}}}))),
              "graph.etype[0] is " + std::string(text) + "; edge types are 0 to 16777215");
}

TEST(GraphFromTensors, LargestNumberOfNodesIsCreatedAtOnce) {
  TensorFile file = exampleTensors();
  file.tensors["graph.ntype_ptr"] = Tensor::fromInt64({2}, Ids{0, Graph::kMaxNodes});
  Result<Graph> graph = Graph::fromTensors(file);
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->numNodes(), Graph::kMaxNodes);
}

TEST(GraphFromTensorsError, TooManyRelations) {
  EXPECT_EQ(errorOf(Graph::fromTensors(exampleTensors(), Graph::kMaxRelations + 1)),
            "the graph is to have 16777217 edge types; at most 16777216 are supported");
}
