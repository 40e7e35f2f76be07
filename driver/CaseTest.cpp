#include "driver/TestLayer.h"
#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

namespace hector {
namespace {

/// The message of a case that is refused.
std::string refusal(const TensorFile &file) {
  Model model = layer();
  language::Binding binding;
  auto bound = bindCase(file, model.signature, binding);
  EXPECT_FALSE(bound);
  return bound ? "" : bound.status().message();
}

TEST(Case, ShapesSettleSizes) {
  Model model = layer();
  language::Binding binding;
  auto bound = bindCase(layerCase(), model.signature, binding);
  ASSERT_TRUE(bound) << bound.status().message();
  EXPECT_EQ(binding.sizes, (std::map<std::string, int64_t>{{"d", 2}, {"k", 1}}));
  EXPECT_EQ(bound->graph.numNodes(), 3);
  EXPECT_EQ(bound->graph.numRelations(), 2);
}

TEST(Case, ParametersBindToTheirInputs) {
  TensorFile file = layerCase();
  file.tensors["param.W"] = file.tensors.extract("W").mapped();
  Model model = layer();
  language::Binding binding;
  auto bound = bindCase(file, model.signature, binding);
  ASSERT_TRUE(bound) << bound.status().message();
  EXPECT_EQ(bound->tensors.at("W").shape, (std::vector<int64_t>{2, 2, 1}));
}

TEST(Case, GradientsAreKeptAndOtherTensorsAreNot) {
  TensorFile file = layerCase();
  file.tensors["grad.out"] = numbers({3, 1}, {1, 1, 1});
  file.tensors["label"] = ids({0, 1, 2});
  Model model = layer();
  language::Binding binding;
  auto bound = bindCase(file, model.signature, binding);
  ASSERT_TRUE(bound) << bound.status().message();
  EXPECT_TRUE(bound->tensors.contains("grad.out"));
  EXPECT_FALSE(bound->tensors.contains("label"));
  EXPECT_FALSE(bound->tensors.contains("graph.src"));
}

TEST(Case, WeightsThatDisagreeWithTheMetadataAreRefused) {
  TensorFile file = layerCase();
  file.metadata["edge_types"] = R"(["a", "b", "c"])";
  EXPECT_EQ(refusal(file), "tensor `W` has 2 rows, but the graph has 3 edge types");
}

TEST(Case, AMissingTensorIsNamed) {
  TensorFile file = layerCase();
  file.tensors["w"] = file.tensors.extract("W").mapped();
  EXPECT_EQ(refusal(file), "there is no tensor `W` or `param.W` for input `W: EdgeType[d, k]`; did you mean `w`?");
}

class CaseFileTest : public FolderTest {};

TEST_F(CaseFileTest, MessagesNameTheFileOnce) {
  TensorFile file = layerCase();
  file.tensors.erase("b");
  ASSERT_TRUE(writeSafetensors(path("case"), file).isOk());
  Model model = layer();
  language::Binding binding;
  auto loaded = loadCase(path("case"), model.signature, binding);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.status().message().starts_with(path("case") + ": there is no tensor `b`"))
      << loaded.status().message();
}

TEST_F(CaseFileTest, AGraphNeedsNoInputs) {
  TensorFile file = layerCase();
  for (const char *name : {"x", "W", "b"})
    file.tensors.erase(name);
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  auto graph = loadGraph(path("graph"), layer().signature);
  ASSERT_TRUE(graph) << graph.status().message();
  EXPECT_EQ(graph->numEdges(), 2);
}

TEST_F(CaseFileTest, AGraphFileKeepsItsPromises) {
  TensorFile file = layerCase();
  file.tensors["graph.ntype_ptr"] = ids({0, 3});
  file.tensors["label"] = ids({1});
  file.tensors["label.node"] = ids({3});
  ASSERT_TRUE(writeSafetensors(path("case"), file).isOk());
  EXPECT_TRUE(loadGraph(path("case"), layer().signature));  // no graph file: labels are no business of ours
  file.metadata["hector.format"] = "graph/1";
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  auto graph = loadGraph(path("graph"), layer().signature);
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.status().message(), path("graph") + ": label.node[0] is 3; node ids are 0 to 2");
}

}  // namespace
}  // namespace hector
