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
  EXPECT_EQ(refusal(file),
            "there is no tensor for 1 input:\n"
            "   `W: EdgeType[d, k]`, shape [2, 2, 1]; did you mean `w`?\n"
            "   help: bind one of w with `--bind W=TENSOR`, add a file with `--tensors FILE`, or initialise "
            "what is missing with `--init SEED`");
}

TEST(Case, AllMissingInputsAreListed) {
  TensorFile file = layerCase();
  file.tensors.erase("W");
  file.tensors.erase("b");
  EXPECT_TRUE(refusal(file).starts_with("there is no tensor for 2 inputs:\n"
                                        "   `W: EdgeType[d, k]`, shape [2, 2, k]\n"
                                        "   `b: Shared[k]`, shape [k]\n"
                                        "   help: add a file"))
      << refusal(file);
}

TEST(Case, IntegersAreNoInputs) {
  TensorFile file = layerCase();
  file.tensors["b"] = ids({1});
  EXPECT_EQ(refusal(file),
            "tensor `b` holds I64, but inputs are real numbers; store it as F64, F32, F16, BF16 or BOOL");
}

TEST(Case, ATransposeThatWouldFitIsSuggested) {
  TensorFile file = layerCase();
  file.tensors["W"] = numbers({2, 1, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(refusal(file), "rows of `W` have shape [1, 2], but `W: EdgeType[d, k]` asks for 2 at axis 0 (d = 2 from "
                           "`x`); its transpose fits");
}

/// Cases of several files: `graph` and `tensors`.
class CaseFileTest : public FolderTest {
protected:
  /// Writes the layer's case as two files; the tensors in `second` are not in the first.
  void split(const std::vector<std::string> &second, const std::string &prefix = "") {
    TensorFile graph = layerCase(), tensors;
    for (const std::string &name : second)
      tensors.tensors[prefix + name] = graph.tensors.extract(name).mapped();
    ASSERT_TRUE(writeSafetensors(path("graph"), graph).isOk());
    ASSERT_TRUE(writeSafetensors(path("tensors"), tensors).isOk());
    sources.graph = path("graph");
    sources.tensors = {path("tensors")};
  }

  Result<Case> load() {
    binding = {};
    return loadCase(sources, model.signature, binding);
  }

  /// What is wrong, with the files' names but not their folder.
  std::string refusal() {
    auto loaded = load();
    EXPECT_FALSE(loaded);
    std::string text = loaded ? "" : loaded.status().message();
    const std::string folder = path("");
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
      text.erase(at, folder.size());
    return text;
  }

  Model model = layer();
  InputSources sources;
  language::Binding binding;
};

TEST_F(CaseFileTest, InputsComeFromSeveralFiles) {
  split({"W", "b"}, "conv.");
  sources.bindings = {"W=conv.W", "b=conv.b"};
  auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->tensors.at("W").toDoubles(), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(loaded->tensors.at("x").shape, (std::vector<int64_t>{3, 2}));
  EXPECT_TRUE(loaded->initialised.empty());
}

TEST_F(CaseFileTest, AFileGivenTwiceCountsOnce) {
  split({"W", "b"});
  sources.tensors.push_back(sources.tensors[0]);
  EXPECT_TRUE(load());
}

TEST_F(CaseFileTest, RowsThatDoNotFitNameBothFiles) {
  split({"W"});
  TensorFile graph = layerCase();
  graph.tensors.erase("W");
  graph.metadata["edge_types"] = R"(["a", "b", "c"])";
  ASSERT_TRUE(writeSafetensors(path("graph"), graph).isOk());
  EXPECT_EQ(refusal(), "tensors: tensor `W` has 2 rows, but the graph of graph has 3 edge types");
}

TEST_F(CaseFileTest, ShapesThatDoNotFitNameBothFiles) {
  split({"W"}, "conv.");
  TensorFile tensors;
  tensors.tensors["conv.W"] = numbers({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(writeSafetensors(path("tensors"), tensors).isOk());
  sources.bindings = {"W=conv.W"};
  EXPECT_EQ(refusal(), "tensors: tensor `conv.W` for input `W`: rows of `W` have shape [3, 1], but `W: EdgeType[d, k]` "
                       "asks for 2 at axis 0 (d = 2 from `x` in graph)");
}

TEST_F(CaseFileTest, EdgeTypesThatDifferNameBothFiles) {
  model = std::move(parseModel("def m(g, W: EdgeType[d], V: EdgeType[d]):\n    for e in g.edges():\n"
                               "        e[\"out\"] = W[e.etype] + V[e.etype]\n    return e[\"out\"]\n",
                               "m.hec"))
              .take();
  split({"W"});
  TensorFile tensors;
  tensors.tensors["V"] = numbers({3, 1}, {1, 2, 3});
  ASSERT_TRUE(writeSafetensors(path("tensors"), tensors).isOk());
  TensorFile graph = layerCase();
  graph.tensors["W"] = numbers({2, 1}, {1, 2});
  ASSERT_TRUE(writeSafetensors(path("graph"), graph).isOk());
  EXPECT_EQ(refusal(), "tensors: tensor `V` has 3 rows, but `W` of graph has 2; EdgeType inputs have one row for each "
                       "edge type");
}

TEST_F(CaseFileTest, MissingInputsAreInitialised) {
  split({"b"});
  sources.tensors.clear();
  sources.initialSeed = 3;
  auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->initialised, std::vector<std::string>{"b"});
  EXPECT_EQ(loaded->tensors.at("b").shape, std::vector<int64_t>{1});
}

TEST_F(CaseFileTest, EveryInputMayBeInitialised) {
  split({"x", "W", "b"});
  sources.tensors.clear();
  sources.initialSeed = 3;
  EXPECT_NE(refusal().find("size `d` has no value"), std::string::npos);
  binding.sizes = {{"d", 5}, {"k", 4}};
  auto loaded = loadCase(sources, model.signature, binding);
  ASSERT_TRUE(loaded) << loaded.status().message();
  EXPECT_EQ(loaded->initialised, (std::vector<std::string>{"x", "W", "b"}));
  EXPECT_EQ(loaded->tensors.at("x").shape, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(loaded->tensors.at("W").shape, (std::vector<int64_t>{2, 5, 4}));
}

TEST_F(CaseFileTest, InitialInputsMustFitInMemory) {
  split({"x", "W", "b"});
  sources.tensors.clear();
  sources.initialSeed = 3;
  binding.sizes = {{"d", int64_t{1} << 39}, {"k", 1}};
  auto loaded = loadCase(sources, model.signature, binding);
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(loaded.status().message().starts_with("initialising inputs needs 10.0 TiB; "))
      << loaded.status().message();
}

TEST_F(CaseFileTest, MessagesNameTheFileOnce) {
  TensorFile file = layerCase();
  file.tensors.erase("b");
  ASSERT_TRUE(writeSafetensors(path("case"), file).isOk());
  sources.graph = path("case");
  EXPECT_TRUE(refusal().starts_with("case: there is no tensor for 1 input:\n   `b: Shared[k]`")) << refusal();
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
