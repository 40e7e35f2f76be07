#include "runtime/graph/GraphFile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

using namespace hector;

namespace {

using Ids = std::vector<int64_t>;

Tensor ids(const Ids &values) {
  return Tensor::fromInt64({static_cast<int64_t>(values.size())}, values);
}

Tensor bytes(std::string_view text) {
  Ids codes;
  for (char c : text)
    codes.push_back(static_cast<unsigned char>(c));
  return Tensor::fromInt64({static_cast<int64_t>(text.size())}, codes, DType::U8);
}

/// Two authors (0, 1) and a paper (2) that both wrote.
GraphContents example() {
  GraphContents contents;
  contents.nodeTypes = {"author", "paper"};
  contents.edgeTypes = {{"writes", "author", "paper"}, {"rev-writes", "paper", "author", 0}};
  contents.labelNames = {"x", "y"};
  contents.source = "a test";
  auto &tensors = contents.tensors.tensors;
  tensors["graph.src"] = ids({0, 1, 2, 2});
  tensors["graph.dst"] = ids({2, 2, 0, 1});
  tensors["graph.etype"] = ids({0, 0, 1, 1});
  tensors["graph.ntype_ptr"] = ids({0, 2, 3});
  tensors["names.bytes"] = bytes("annbobp");
  tensors["names.offsets"] = ids({0, 3, 6, 7});
  tensors["feat.author"] = Tensor::fromDoubles({2, 1}, std::vector<double>{1, 2}, DType::F32);
  tensors["label"] = ids({1, 0});
  tensors["label.node"] = ids({0, 1});
  tensors["split.train"] = ids({0});
  tensors["split.test"] = ids({1});
  return contents;
}

class TemporaryFile {
public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hector-graph-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    path = folder + "/g.safetensors";
  }
  ~TemporaryFile() { std::filesystem::remove_all(folder); }
  std::string folder, path;
};

/// What is wrong with the example once `change` was made to it.
std::vector<std::string> findings(const std::function<void(TensorFile &)> &change) {
  TemporaryFile file;
  EXPECT_TRUE(saveGraphFile(file.path, example()).isOk());
  Result<TensorFile> tensors = readSafetensors(file.path);
  EXPECT_TRUE(tensors);
  change(*tensors);
  return checkGraph(*tensors);
}

void expectEqual(const TensorFile &a, const TensorFile &b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto &[name, tensor] : a.tensors) {
    const Tensor *other = b.find(name);
    ASSERT_TRUE(other) << name;
    EXPECT_EQ(other->dtype, tensor.dtype) << name;
    EXPECT_EQ(other->shape, tensor.shape) << name;
    EXPECT_TRUE(tensor.numBytes() == 0 || std::memcmp(other->bytes, tensor.bytes, tensor.numBytes()) == 0) << name;
  }
}

using Texts = std::vector<std::string>;

}  // namespace

TEST(GraphFileTest, WhatIsWrittenIsReadEqual) {
  TemporaryFile file;
  GraphContents contents = example();
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->nodeTypes, contents.nodeTypes);
  EXPECT_EQ(read->edgeTypes, contents.edgeTypes);
  EXPECT_EQ(read->labelNames, contents.labelNames);
  EXPECT_EQ(read->source, "a test");
  EXPECT_EQ(read->nodeName(1), "bob");
  EXPECT_EQ(read->nodeName(3), "");
  EXPECT_EQ(read->graph.numRelations(), 2);
  expectEqual(read->tensors, contents.tensors);
}

TEST(GraphFileTest, TypesWithoutNodesAndRelationsWithoutEdgesAreKept) {
  GraphContents contents = example();
  contents.nodeTypes.push_back("none");
  contents.edgeTypes.push_back({"never", "none", "none"});
  contents.tensors.tensors["graph.ntype_ptr"] = ids({0, 2, 3, 3});
  TemporaryFile file;
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->graph.numNodeTypes(), 3);
  EXPECT_EQ(read->graph.numRelations(), 3);
}

TEST(GraphFileTest, FilesWithoutTypesGetNames) {
  GraphContents contents = example();
  TemporaryFile file;
  TensorFile plain;
  for (const char *name : {"graph.src", "graph.dst", "graph.etype", "graph.ntype_ptr"})
    plain.tensors[name] = contents.tensors.tensors[name];
  ASSERT_TRUE(writeSafetensors(file.path, plain).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->nodeTypes, (Texts{"node0", "node1"}));
  EXPECT_EQ(read->edgeTypes.at(1).name, "relation1");
}

TEST(GraphFileTest, EveryReaderCountsTheSameNodesWithoutNodeTypes) {
  TensorFile tensors;
  tensors.metadata["hector.format"] = "graph/1";
  tensors.tensors["graph.src"] = tensors.tensors["graph.dst"] = ids({0, 1});
  tensors.tensors["x"] = Tensor::fromDoubles({5, 1}, std::vector<double>(5), DType::F32);
  Result<GraphFile> file = graphFromTensors(tensors, "graph");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->graph.numNodes(), 5);
  Result<Graph> graph = readGraph(tensors);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(graph->numNodes(), 5);
  EXPECT_TRUE(checkContents(tensors, *graph).isOk());
}

TEST(GraphFileTest, ContentsThatDoNotFitAGraphAreFound) {
  TensorFile tensors;
  tensors.tensors["graph.src"] = tensors.tensors["graph.dst"] = ids({0, 1});
  tensors.tensors["x"] = Tensor::fromDoubles({5, 1}, std::vector<double>(5), DType::F32);
  Result<Graph> graph = readGraph(tensors, -1, 2);
  ASSERT_TRUE(graph) << graph.status().message();
  Status status = checkContents(tensors, *graph);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "x holds F32 of shape [5, 1]; expected floats with 2 rows and two dimensions");
}

TEST(GraphFileTest, EdgesMayComeInAnyOrder) {
  GraphContents contents = example();
  contents.tensors.tensors["graph.src"] = ids({2, 0, 2, 1});
  contents.tensors.tensors["graph.dst"] = ids({0, 2, 1, 2});
  contents.tensors.tensors["graph.etype"] = ids({1, 0, 1, 0});
  TemporaryFile file;
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->graph.edgeNumber(0), 1);
  EXPECT_EQ(read->graph.edgeNumber(2), 0);
  expectEqual(read->tensors, contents.tensors);
}

TEST(GraphFileTest, EdgesOfAWrongTypeAreToldByTheirNumbersInTheFile) {
  GraphContents contents = example();
  contents.tensors.tensors["graph.src"] = ids({2, 0, 2, 2});
  contents.tensors.tensors["graph.dst"] = ids({0, 2, 1, 2});
  contents.tensors.tensors["graph.etype"] = ids({1, 0, 1, 0});
  TemporaryFile file;
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.status().message(), file.path +
                                         ": edge type 0 `writes` has sources of type `author`, which are nodes 0 "
                                         "to 1, but edge 3 has node 2");
}

TEST(GraphFileTest, MetadataSaysHowManyTypesThereAre) {
  TensorFile tensors = example().tensors;
  tensors.metadata["edge_types"] = R"(["a", "b", "c"])";
  Result<Graph> graph = readGraph(tensors, /*numRelations=*/7);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(graph->numRelations(), 3);
  tensors.metadata["node_types"] = R"(["a", "b", "c"])";
  graph = readGraph(tensors);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.status().message(),
            "the metadata `node_types` has 3 names, but graph.ntype_ptr has 2 types; expected as many");
}

TEST(GraphFileTest, MetadataNamesTheEndsOfRelationsWithoutEdges) {
  TensorFile tensors = example().tensors;
  tensors.metadata["node_types"] = R"(["author", "paper"])";
  tensors.metadata["edge_types"] = R"(["a", "b", {"name": "c", "src": "paper", "dst": "author"}, "d"])";
  Result<Graph> graph = readGraph(tensors);
  ASSERT_TRUE(graph) << graph.status().message();
  ASSERT_TRUE(nameEnds(tensors, *graph).isOk());
  Result<IdArray> src = graph->srcTypeOfRelation(), dst = graph->dstTypeOfRelation();
  ASSERT_TRUE(src && dst);
  for (auto [relation, at, to] : {std::tuple(0, 0, 1), std::tuple(1, 1, 0), std::tuple(2, 1, 0), std::tuple(3, 0, 0)}) {
    EXPECT_EQ((*src)[relation], at) << relation;
    EXPECT_EQ((*dst)[relation], to) << relation;
  }
}

TEST(GraphFileTest, MetadataThatEdgesContradictIsRefused) {
  TensorFile tensors = example().tensors;
  tensors.metadata["node_types"] = R"(["author", "paper"])";
  tensors.metadata["edge_types"] = R"([{"name": "a", "src": "paper", "dst": "paper"}, "b"])";
  Result<Graph> graph = readGraph(tensors);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(nameEnds(tensors, *graph).message(),
            "edge type 0 `a` has sources of type `paper`, which are nodes 2 to 2, but edge 0 has node 0");
}

TEST(GraphFileTest, OneEdgeOfAHugeTypeNeedsNoNames) {
  TensorFile tensors;
  tensors.tensors["graph.src"] = ids({0});
  tensors.tensors["graph.dst"] = ids({0});
  tensors.tensors["graph.etype"] = ids({16'777'215});
  EXPECT_TRUE(checkGraph(tensors).empty());
  Result<GraphFile> read = graphFromTensors(tensors, "g");
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->graph.numRelations(), 16'777'216);
  EXPECT_TRUE(read->edgeTypes.empty());
}

TEST(GraphFileTest, FeaturesSayHowManyNodesThereAre) {
  TensorFile tensors;
  tensors.tensors["graph.src"] = ids({0});
  tensors.tensors["graph.dst"] = ids({1});
  tensors.tensors["x"] = Tensor::fromDoubles({4, 1}, std::vector<double>{1, 2, 3, 4}, DType::F32);
  Result<GraphFile> read = graphFromTensors(tensors, "g");
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->graph.numNodes(), 4);
}

TEST(GraphFileTest, WideIdsOfManyEdgesAndNodes) {
  // 2^33 nodes cannot be had on disk, but a graph file can name them.
  TemporaryFile file;
  GraphContents contents;
  contents.nodeTypes = {"node"};
  contents.edgeTypes = {{"edge", "node", "node"}};
  contents.tensors.tensors["graph.src"] = ids({(int64_t{1} << 33) - 1});
  contents.tensors.tensors["graph.dst"] = ids({int64_t{1} << 31});
  contents.tensors.tensors["graph.etype"] = ids({0});
  contents.tensors.tensors["graph.ntype_ptr"] = ids({0, int64_t{1} << 33});
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(read->graph.src().isWide());
  EXPECT_EQ(read->graph.src()[0], (int64_t{1} << 33) - 1);
}

TEST(GraphFileTest, GoldenCasesRoundTrip) {
  const std::string folder = std::string(HECTOR_SOURCE_DIR) + "/../shared/golden";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "../shared/golden is not there";
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors")
      continue;
    Result<GraphFile> golden = loadGraphFile(entry.path().string());
    ASSERT_TRUE(golden) << golden.status().message();
    TemporaryFile file;
    ASSERT_TRUE(saveGraphFile(file.path, *golden).isOk());
    Result<GraphFile> read = loadGraphFile(file.path);
    ASSERT_TRUE(read) << read.status().message();
    expectEqual(golden->tensors, read->tensors);
  }
}

// What `hector data check` finds.

TEST(CheckGraph, SoundFilesHaveNoFindings) {
  EXPECT_EQ(findings([](TensorFile &) {}), Texts{});
}

TEST(CheckGraph, Ids) {
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["graph.src"] = ids({0, 7, 2, 2}); }),
            Texts{"graph.src[1] is 7; node ids are 0 to 2"});
}

TEST(CheckGraph, TypesThatDoNotFit) {
  EXPECT_EQ(findings([](TensorFile &f) { f.metadata["node_types"] = R"(["author"])"; }),
            Texts{"the metadata `node_types` has 1 name, but graph.ntype_ptr has 2 types; expected as many"});
  EXPECT_EQ(findings([](TensorFile &f) { f.metadata["node_types"] = "author"; }).front(),
            "the metadata `node_types` is `author`; expected a JSON array");
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["graph.src"] = ids({0, 2, 2, 2}); }),
            Texts{"edge type 0 `writes` has sources of type `author`, which are nodes 0 to 1, but edge 1 has node 2"});
  EXPECT_EQ(
      findings([](TensorFile &f) { f.metadata["edge_types"] = R"(["a",{"name":"b","inverse_of":9}])"; }).front(),
      "entry 1 of the metadata `edge_types` is `{\"inverse_of\":9,\"name\":\"b\"}`; expected `inverse_of` to be the "
      "number of another edge type, 0 to 1");
}

TEST(CheckGraph, TypesThatCannotBeReadAreOneFinding) {
  EXPECT_EQ(findings([](TensorFile &f) { f.metadata["edge_types"] = "{}"; }),
            Texts{"the metadata `edge_types` is `{}`; expected a JSON array"});
  EXPECT_EQ(findings([](TensorFile &f) { f.metadata["node_types"] = "{}"; }),
            Texts{"the metadata `node_types` is `{}`; expected a JSON array"});
}

TEST(CheckGraph, InversesOfThemselves) {
  EXPECT_EQ(findings([](TensorFile &f) { f.metadata["edge_types"] = R"(["a",{"name":"b","inverse_of":1}])"; }),
            Texts{"entry 1 of the metadata `edge_types` is `{\"inverse_of\":1,\"name\":\"b\"}`; expected `inverse_of` "
                  "to be the number of another edge type, not 1, its own"});
}

TEST(CheckGraph, InversesOfOtherSizes) {
  EXPECT_EQ(findings([](TensorFile &f) {
              f.tensors["graph.src"] = ids({0, 1, 2});
              f.tensors["graph.dst"] = ids({2, 2, 0});
              f.tensors["graph.etype"] = ids({0, 0, 1});
            }),
            Texts{"edge type 1 `rev-writes` has 1 edge, but edge type 0 `writes`, of which it is the inverse, has 2"});
}

TEST(CheckGraph, Names) {
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["names.offsets"] = ids({0, 3, 6}); }),
            Texts{"names.offsets has 3 entries; 3 nodes need 4"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["names.offsets"] = ids({0, 5, 4, 7}); }),
            Texts{"names.offsets[2] is 4; expected a number from 5 to 7"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors.erase("names.bytes"); }),
            Texts{"names.bytes is missing, but names.offsets is there; names need both"});
  EXPECT_EQ(findings([](TensorFile &f) {
              f.tensors["names.bytes"] = bytes("ann\xff"
                                               "obp");
            }),
            Texts{"the name of node 1 is `\\xffob`; expected UTF-8"});
}

TEST(CheckGraph, Features) {
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["feat.author"].shape = {1, 2}; }),
            Texts{"feat.author holds F32 of shape [1, 2]; expected floats with 2 rows and two dimensions"});
  EXPECT_EQ(findings([](TensorFile &f) {
              f.tensors["feat.author"] =
                  Tensor::fromDoubles({2, 1}, std::vector{1.0, std::numeric_limits<double>::quiet_NaN()}, DType::F32);
            }),
            Texts{"feat.author has a NaN in row 1, column 0; expected numbers"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["feat.venue"] = f.tensors["feat.author"]; }),
            Texts{"feat.venue is for a node type that the graph does not have; expected one of node_types"});
}

TEST(CheckGraph, Labels) {
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["label"] = ids({1, 2}); }),
            Texts{"label[1] is 2; labels are 0 to 1"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["label"] = ids({1}); }),
            Texts{"label has 1 entry, but label.node has 2; each needs one for every labelled node"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["label.node"] = ids({0, 0}); }).front(),
            "label.node has node 0 twice; expected each node once");
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["label.node"] = ids({0, 9}); }).front(),
            "label.node[1] is 9; node ids are 0 to 2");
}

TEST(CheckGraph, TablesOfLabels) {
  auto table = [](std::vector<int64_t> shape, std::vector<double> values) {
    return [=](TensorFile &f) { f.tensors["label"] = Tensor::fromDoubles(shape, values, DType::F32); };
  };
  EXPECT_EQ(findings(table({2, 2}, {1, 0, 1, 1})), Texts{});
  EXPECT_EQ(findings(table({2, 2}, {1, 0, 1, 2})), Texts{"label has 2.000000 in row 1, column 1; expected 1 where the "
                                                         "node is of the class, else 0"});
  EXPECT_EQ(findings(table({2, 1}, {1, 0})),
            Texts{"label has 1 column, but the metadata `label_names` has 2 names; expected as many"});
  EXPECT_EQ(findings(table({1, 2}, {1, 0})),
            Texts{"label has 1 row, but label.node has 2; each needs one for every labelled node"});
}

TEST(CheckGraph, ContentsThatAreNotWrittenYet) {
  EXPECT_EQ(checkGraph(example()), Texts{});
  GraphContents contents = example();
  contents.edgeTypes[0].src = "paper";
  EXPECT_EQ(checkGraph(contents), Texts{"edge type 0 `writes` has sources of type `paper`, which are nodes 2 to 2, but "
                                        "edge 0 has node 0"});
}

TEST(CheckGraph, Splits) {
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["split.test"] = ids({0}); }),
            Texts{"node 0 is in split.test and in split.train; expected it in one of them"});
  EXPECT_EQ(findings([](TensorFile &f) { f.tensors["split.valid"] = ids({2}); }),
            Texts{"split.valid[0] is node 2, which has no label; expected nodes of label.node"});
}

TEST(CheckGraph, SplitsOfEdges) {
  auto splits = [](const Ids &values) {
    return [=](TensorFile &f) {
      f.tensors["edge.split"] = Tensor::fromInt64({static_cast<int64_t>(values.size())}, values, DType::U8);
    };
  };
  EXPECT_EQ(findings(splits({0, 1, 0, 1})), Texts{});
  EXPECT_EQ(findings(splits({3, 1, 3, 1})), Texts{"edge.split[0] is 3; expected 0 (train), 1 (valid) or 2 (test)"});
  EXPECT_EQ(findings(splits({0, 1})), Texts{"edge.split holds U8 of shape [2]; expected U8 of shape [4]"});
}

TEST(CheckGraph, InversesInAnotherSplitThanTheirOriginals) {
  const Texts expected = {
      "edge 3 of edge type 1 `rev-writes` leads from node 2 to node 1 in the split train, but edge type 0 `writes`, of "
      "which it is the inverse, has no such edge from node 1 to node 2 in train; expected inverse edges with the ends "
      "and the split of their originals"};
  auto leak = [](TensorFile &f) { f.tensors["edge.split"] = Tensor::fromInt64({4}, Ids{0, 2, 0, 0}, DType::U8); };
  EXPECT_EQ(findings(leak), expected);
  TemporaryFile file;
  GraphContents contents = example();
  leak(contents.tensors);
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  auto loaded = loadGraphFile(file.path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.status().message(), file.path + ": " + expected.front());
}

TEST(CheckGraph, InversesMayComeInAnotherOrder) {
  EXPECT_EQ(findings([](TensorFile &f) {
              f.tensors["graph.dst"] = ids({2, 2, 1, 0});
              f.tensors["edge.split"] = Tensor::fromInt64({4}, Ids{0, 2, 2, 0}, DType::U8);
            }),
            Texts{});
}

TEST(CheckGraph, InversesBetweenOtherNodes) {
  const Texts found = findings([](TensorFile &f) {
    f.tensors["graph.dst"] = ids({2, 2, 0, 0});
    f.tensors["edge.split"] = Tensor::fromInt64({4}, Ids{0, 0, 0, 0}, DType::U8);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().substr(0, 70), "edge 3 of edge type 1 `rev-writes` leads from node 2 to node 0 in the ");
}

TEST(CheckGraph, InversesOfInverses) {
  const std::string expected = "entry 0 of the metadata `edge_types`, `a`, has `inverse_of` 1, but entry 1, `b`, is an "
                               "inverse itself; expected an edge type without `inverse_of`";
  EXPECT_EQ(findings([](TensorFile &f) {
              f.metadata["edge_types"] = R"([{"name":"a","inverse_of":1},{"name":"b","inverse_of":0}])";
            }),
            Texts{expected});
}

TEST(CheckGraph, NamesOfClasses) {
  auto named = [](const char *names) { return [=](TensorFile &f) { f.metadata["label_names"] = names; }; };
  EXPECT_EQ(findings(named(R"(["a", "a"])")),
            Texts{"entries 0 and 1 of the metadata `label_names` are both `a`; expected different names"});
  EXPECT_EQ(findings(named(R"(["a", ""])")), Texts{"entry 1 of the metadata `label_names` is empty; expected a name"});
}

TEST(CheckGraph, SeveralFindingsAreAllNamed) {
  EXPECT_EQ(findings([](TensorFile &f) {
              f.tensors["label"] = ids({1, 2});
              f.tensors["split.test"] = ids({0});
              f.metadata["hector.format"] = "graph/2";
            }).size(),
            3u);
}

TEST(CheckGraph, LoadingGivesTheFirstFinding) {
  TemporaryFile file;
  GraphContents contents = example();
  contents.tensors.tensors["label"] = ids({1, 2});
  ASSERT_TRUE(saveGraphFile(file.path, contents).isOk());
  Result<GraphFile> read = loadGraphFile(file.path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.status().message(), file.path + ": label[1] is 2; labels are 0 to 1");
}
