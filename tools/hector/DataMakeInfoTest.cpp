#include "DataMakeInfo.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Text.h"
#include "runtime/storage/Safetensors.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace hector;
namespace fs = std::filesystem;

namespace {

class DataTest : public FolderTest {
protected:
  std::string make(DataMakeOptions options, const std::string &name = "graph") {
    options.outPath = path(name);
    std::string summary;
    Status status = makeData(options, summary);
    return status.isOk() ? summary : status.message();
  }
  std::string info(DataInfoOptions options) {
    std::string text;
    Status status = describeData(options, text);
    return status.isOk() ? text : status.message();
  }
  static DataMakeOptions sized(int64_t nodes, int64_t edges) {
    DataMakeOptions options;
    options.nodes = nodes;
    options.edges = edges;
    return options;
  }
  static DataMakeOptions named(const std::string &name) {
    DataMakeOptions options;
    options.graph.name = name;
    return options;
  }
};

/// Three nodes of two types; a relation without edges; names that need care.
GraphReport example() {
  GraphReport report;
  report.path = "some/where/graph.safetensors";
  report.source = "a <b> & \"c\"";
  GraphSummary &graph = report.graph;
  graph.nodes = 3;
  graph.edges = 2000;
  graph.nodeTypes = {{"author", 2}, {"größe", 1}};
  graph.relations = {
      {"writes", "author", "größe", 500, 100, 200}, {"empty", "", "", 0, 0, 0}, {"cites", "", "", 1500, 20, 30}};
  graph.srcPairs = 522;
  graph.dstPairs = 230;
  graph.isolated = 1;
  graph.in = {0, 1, 1999, 1999, 2000.0 / 3, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  graph.out = {0, 0, 2000, 2000, 2000.0 / 3, {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  graph.forms = {{"edges", 24000}, {"by source (CSR)", 8016}};
  report.classes = 4;
  report.tensors = {{"label", "I64", {2}}, {"x", "F32", {3, 8}}};
  return report;
}

bool isAscii(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

// Making.

TEST_F(DataTest, MakeSaysWhatItMade) {
  std::string said = make(named("aifb"));
  EXPECT_TRUE(said.starts_with(path("graph") + ": 7,262 nodes of 7 types, 48,810 edges of 104 types; 577.5 KiB in "))
      << said;
}

TEST_F(DataTest, SameSeedSameFile) {
  make(named("aifb"), "a");
  make(named("aifb"), "b");
  DataMakeOptions other = named("aifb");
  other.graph.seed = 1;
  make(other, "c");
  EXPECT_EQ(contents(path("a")), contents(path("b")));
  EXPECT_NE(contents(path("a")), contents(path("c")));
}

TEST_F(DataTest, ClassesBringFeaturesLabelsAndSplits) {
  DataMakeOptions options = sized(2000, 30'000);
  options.edgeTypes = 8;
  options.graph.classes = 3;
  make(options);
  Result<TensorFile> file = readSafetensors(path("graph"));
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->find("x")->shape, (std::vector<int64_t>{2000, 64}));
  for (const char *name : {"label", "label.node", "split.train", "split.valid", "split.test"})
    EXPECT_TRUE(file->find(name)) << name;
}

TEST_F(DataTest, UnknownNameListsTheNames) {
  EXPECT_EQ(make(named("cora")), "there is no graph named `cora`; the names are aifb, am, bgs, biokg, fb15k, mag, "
                                 "mutag, wikikg2; or give --nodes and --edges instead of a name");
}

TEST_F(DataTest, NameAndSizeContradict) {
  DataMakeOptions options = named("aifb");
  options.edges = 5;
  EXPECT_EQ(make(options), "`aifb` settles the sizes, but --edges is given as well; leave one of them out");
}

TEST_F(DataTest, SizeIsNeeded) {
  DataMakeOptions options;
  options.nodes = 5;
  EXPECT_EQ(make(options), "the graph's size is missing; give --nodes and --edges, or a name such as `mag`");
}

TEST_F(DataTest, MoreThanMemoryIsRefusedBeforeAnythingIsWritten) {
  std::string said = make(sized(1000, int64_t{1} << 40));
  EXPECT_TRUE(said.starts_with("the graph needs 12.0 TiB; ")) << said;
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(DataTest, MissingFolderIsTheUsersToMend) {
  DataMakeOptions options = sized(10, 10);
  options.outPath = path("none/graph");
  std::string summary;
  Status status = makeData(options, summary);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.blame(), Blame::User);
}

// Describing.

TEST_F(DataTest, InfoReadsWhatMakeWrote) {
  DataMakeOptions options = sized(100, 1000);
  options.nodeTypes = 2;
  options.edgeTypes = 3;
  make(options);
  nlohmann::json root = nlohmann::json::parse(info({path("graph"), true, ""}), nullptr, false);
  ASSERT_TRUE(root.is_object());
  EXPECT_EQ(root["nodes"], 100);
  EXPECT_EQ(root["edges"], 1000);
  EXPECT_EQ(root["node_types"][1]["name"], "n1");
  EXPECT_EQ(root["edge_types"][0]["src"], "n0");
  EXPECT_EQ(root["source"], "hector data make --nodes 100 --node-types 2 --edges 1000 --edge-types 3 --seed 0");
}

TEST_F(DataTest, ClassesOfNodesWithSeveralLabelsAreCounted) {
  TensorFile file;
  for (const char *name : {"graph.src", "graph.dst", "label.node"})
    file.tensors[name] = Tensor::fromInt64({1}, std::vector<int64_t>{0});
  file.tensors["label"] = Tensor::fromDoubles({1, 5}, std::vector<double>{1, 0, 1, 0, 0}, DType::F32);
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  nlohmann::json root = nlohmann::json::parse(info({path("graph"), true, ""}), nullptr, false);
  EXPECT_EQ(root["classes"], 5);
}

TEST_F(DataTest, RelationsThatOnlyTheMetadataNamesAreCounted) {
  TensorFile file;
  for (const char *name : {"graph.src", "graph.dst", "graph.etype"})
    file.tensors[name] = Tensor::fromInt64({1}, std::vector<int64_t>{0});
  file.metadata["edge_types"] = R"(["likes", {"name": "hates", "src": "a", "dst": "b"}])";
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  nlohmann::json root = nlohmann::json::parse(info({path("graph"), true, ""}), nullptr, false);
  ASSERT_EQ(root["edge_types"].size(), 2u);
  EXPECT_EQ(root["edge_types"][1]["name"], "hates");
  EXPECT_EQ(root["edge_types"][1]["edges"], 0);
}

TEST_F(DataTest, MetadataThatIsNoJsonIsNotFatal) {
  TensorFile file;
  for (const char *name : {"graph.src", "graph.dst"})
    file.tensors[name] = Tensor::fromInt64({1}, std::vector<int64_t>{0});
  file.metadata["edge_types"] = "[oops";
  file.metadata["node_types"] = R"([7])";
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  nlohmann::json root = nlohmann::json::parse(info({path("graph"), true, ""}), nullptr, false);
  EXPECT_EQ(root["edge_types"][0]["name"], "relation 0");
  EXPECT_EQ(root["node_types"][0]["name"], "node type 0");
}

TEST_F(DataTest, BrokenGraphIsNamed) {
  TensorFile file;
  file.tensors["graph.src"] = Tensor::fromInt64({1}, std::vector<int64_t>{0});
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  EXPECT_EQ(info({path("graph"), false, ""}),
            path("graph") + ": graph.dst is missing; a graph needs graph.src and graph.dst");
}

TEST_F(DataTest, SvgIsWrittenBesideTheText) {
  make(named("aifb"));
  EXPECT_FALSE(info({path("graph"), false, path("picture.svg")}).empty());
  EXPECT_TRUE(contents(path("picture.svg")).starts_with("<svg xmlns="));
}

TEST_F(DataTest, GraphOfAbsurdlyManyNodesIsRefused) {
  make(sized(int64_t{1} << 40, 10));
  std::string said = info({path("graph"), false, ""});
  EXPECT_NE(said.find("describing the graph needs 32.0 TiB"), std::string::npos) << said;
}

TEST_F(DataTest, GraphOfNothingCanBeDescribed) {
  TensorFile file;
  for (const char *name : {"graph.src", "graph.dst"})
    file.tensors[name] = Tensor::fromInt64({0}, std::vector<int64_t>{});
  ASSERT_TRUE(writeSafetensors(path("graph"), file).isOk());
  EXPECT_NE(info({path("graph"), false, path("picture.svg")}).find("nodes              0 of 1 type\n"),
            std::string::npos);
}

// Renderings.

TEST(InfoTextTest, ShowsTheNumbers) {
  std::string text = renderText(example(), true);
  for (const char *line :
       {"some/where/graph.safetensors\n", "  nodes              3 of 2 types\n",
        "  edges              2,000 of 3 types\n", "  source pairs       522, 0.261 of the edges\n",
        "  destination pairs  230, 0.115 of the edges\n", "  isolated nodes     1, 33.3 %\n",
        "  classes            4\n", "  in                 0           1         667       1,999       1,999\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

TEST(InfoTextTest, LargestRelationComesFirst) {
  std::string text = renderText(example(), true);
  EXPECT_LT(text.find("cites"), text.find("writes"));
  EXPECT_LT(text.find("writes  author → größe"), text.find("empty"));
}

TEST(InfoTextTest, LinesFitTheWidth) {
  GraphReport report = example();
  report.graph.relations[0].name = std::string(300, 'x');
  report.source = std::string(300, 'y');
  for (bool utf8 : {true, false}) {
    std::string text = renderText(report, utf8, 80), line;
    for (char c : text) {
      if (c == '\n') {
        EXPECT_LE(characters(line), 80u) << line;
        line.clear();
      } else {
        line += c;
      }
    }
  }
}

TEST(InfoTextTest, AsciiWhereTheTerminalHasNothingElse) {
  std::string text = renderText(example(), false);
  EXPECT_TRUE(isAscii(text));
  EXPECT_NE(text.find("author -> gr??e"), std::string::npos) << text;
  EXPECT_NE(text.find("####"), std::string::npos);
}

TEST(InfoTextTest, SmallestBarIsNotNothing) {
  GraphReport report = example();
  report.graph.in.bins = {1'000'000, 1};
  EXPECT_NE(renderText(report, true).find("  1          1  ▏\n"), std::string::npos) << renderText(report, true);
}

TEST(InfoJsonTest, HasItsKeysInOrder) {
  nlohmann::ordered_json root = nlohmann::ordered_json::parse(renderJson(example()), nullptr, false);
  ASSERT_TRUE(root.is_object());
  std::vector<std::string> keys;
  for (const auto &item : root.items())
    keys.push_back(item.key());
  EXPECT_EQ(keys, (std::vector<std::string>{"format", "file", "source", "nodes", "edges", "isolated_nodes", "src_pairs",
                                            "dst_pairs", "src_pair_ratio", "dst_pair_ratio", "in_degree", "out_degree",
                                            "node_types", "edge_types", "memory", "classes", "tensors"}));
  EXPECT_EQ(root["src_pair_ratio"], 0.261);
  EXPECT_EQ(root["in_degree"]["histogram"][11]["from"], 1024);
  EXPECT_EQ(root["tensors"][1]["shape"], (std::vector<int64_t>{3, 8}));
}

TEST(InfoJsonTest, StaysValidWithBytesThatAreNoText) {
  GraphReport report = example();
  report.path = "a\xff\"b\n";
  EXPECT_TRUE(nlohmann::json::accept(renderJson(report)));
}

TEST(InfoSvgTest, TextIsEscaped) {
  std::string svg = renderSvg(example());
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; \"c\""), std::string::npos);
  EXPECT_EQ(svg.find("<b>"), std::string::npos);
}

TEST(InfoSvgTest, ElementsAreClosed) {
  std::string svg = renderSvg(example());
  auto count = [&](const std::string &word) {
    size_t found = 0;
    for (size_t at = svg.find(word); at != std::string::npos; at = svg.find(word, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<text "), count("</text>"));
  EXPECT_EQ(count("<svg "), 1u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(FormatTest, CommasEveryThreeDigits) {
  EXPECT_EQ(withCommas(0), "0");
  EXPECT_EQ(withCommas(999), "999");
  EXPECT_EQ(withCommas(21'111'007), "21,111,007");
  EXPECT_EQ(withCommas(-1000), "-1,000");
  EXPECT_EQ(withCommas(-100), "-100");
}

TEST(FormatTest, LongNamesKeepTheirEnd) {
  EXPECT_EQ(shortened("http://example.org/writes", 13), "htt…rg/writes");
  EXPECT_EQ(shortened("größe", 5), "größe");
  EXPECT_EQ(shortened("a\tb", 5), "a b");
}
