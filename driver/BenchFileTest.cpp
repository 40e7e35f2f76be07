#include "driver/BenchFile.h"

#include "driver/TestLayer.h"
#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace hector;

namespace {

/// Benchmarks beside the model `layer.hec`, which has the sizes d and k.
class BenchFileTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    write("layer.hec", kLayer);
    write("scaled.hec", "def scaled(g, x: Node[d], scale: float = 2.0):\n"
                        "    for n in g.nodes():\n"
                        "        n[\"out\"] = n.x * scale\n"
                        "    return n[\"out\"]\n");
  }
  void write(const std::string &name, const std::string &text) { std::ofstream(path(name)) << text; }
  Result<BenchFile> parse(const std::string &text) { return parseBenchFile(text, path("bench.toml")); }
  /// What is wrong with a text, without the lines of source and the folder.
  std::string wrong(const std::string &text) {
    auto file = parse(text);
    if (file)
      return "nothing is wrong";
    EXPECT_TRUE(file.status().isLocated()) << file.status().message();
    std::string message = file.status().message();
    for (size_t at = message.find(folder.string() + "/"); at != std::string::npos;
         at = message.find(folder.string() + "/"))
      message.erase(at, folder.string().size() + 1);
    return message.substr(0, message.find('\n'));
  }
};

const std::string kGraph = "graph = { kind = \"skewed\", nodes = 10, edges = 20 }\n";
const std::string kModel = "model = \"layer.hec\"\n";

}  // namespace

TEST_F(BenchFileTest, NeedsAModelAGraphAndSizes) {
  auto file = parse(kModel + kGraph + "size = 8");
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_EQ(file->rounds.size(), 1u);
  const BenchCell &cell = file->rounds[0].at(0);
  EXPECT_EQ(cell.settings.sizes, (std::vector<std::string>{"d=8", "k=8"}));
  EXPECT_EQ(cell.phase, BenchPhase::Inference);
  EXPECT_EQ(cell.way, BenchWay());
  EXPECT_EQ(std::get<SyntheticOptions>(file->graphs[0].source).edges, 20);
}

TEST_F(BenchFileTest, WaysOfComputingShareARound) {
  auto file = parse(kModel + kGraph + "size = { k = 1 }\nsweep = { d = [2, 4], passes = [\"none\", \"default\"] }");
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_EQ(file->rounds.size(), 2u);  // one for each d
  ASSERT_EQ(file->rounds[1].size(), 2u);
  EXPECT_EQ(file->rounds[1][0].settings.sizes, (std::vector<std::string>{"d=4", "k=1"}));
  EXPECT_EQ(file->rounds[1][0].way.passes, "none");
  EXPECT_EQ(file->rounds[1][1].way.passes, "default");
}

TEST_F(BenchFileTest, EachModelTakesTheNamesThatItHas) {
  auto file = parse("model = [\"layer.hec\", \"scaled.hec\"]\n" + kGraph +
                    "size = { d = 2, k = 3 }\nset = { scale = 0.5 }\nsweep = { k = [1, 2, 3] }");
  ASSERT_TRUE(file) << file.status().message();
  ASSERT_EQ(file->rounds.size(), 4u);  // three for the layer, and one for the model that has no k
  EXPECT_EQ(file->rounds[3].at(0).settings.sizes, std::vector<std::string>{"d=2"});
  EXPECT_EQ(file->rounds[3].at(0).settings.attributes, std::vector<std::string>{"scale=0.5"});
}

TEST_F(BenchFileTest, PathsStartAtTheFile) {
  write("g.safetensors", "");
  auto file = parse(kModel + "graph = \"g.safetensors\"\nsize = 2");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(std::get<std::string>(file->graphs[0].source), path("g.safetensors"));
  EXPECT_EQ(file->graphs[0].name, "g");
}

TEST_F(BenchFileTest, OptionalGraphsMayBeAbsent) {
  auto file = parse(kModel + "size = 2\ngraph = { folder = \"nowhere\", optional = true }");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->absent, std::vector<std::string>{"nowhere"});
  EXPECT_TRUE(file->rounds.empty());
}

TEST_F(BenchFileTest, ReportsWhatIsMissing) {
  EXPECT_EQ(wrong(""), "bench.toml:1:1: error: the benchmark has no `model` and no `graph`");
  EXPECT_EQ(wrong(kModel), "bench.toml:1:1: error: the benchmark has no `graph`");
  EXPECT_EQ(wrong(kModel + kGraph + "size = { d = 2 }"), "bench.toml:1:1: error: `layer`: size `k` has no value");
}

TEST_F(BenchFileTest, ReportsUnknownNamesWithTheirPlaces) {
  EXPECT_EQ(wrong(kModel + kGraph + "sise = 8"),
            "bench.toml:3:1: error: a benchmark has no `sise`; did you mean `size`?");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nmeasure = { runz = 8 }"),
            "bench.toml:4:13: error: `measure` has no `runz`; did you mean `runs`?");
  EXPECT_EQ(wrong(kModel + kGraph + "size = { e = 8 }"), "bench.toml:3:10: error: no model has a size `e`");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nphase = [\"inference\", \"trainig\"]"),
            "bench.toml:4:23: error: `phase` is `trainig`; expected inference or training; did you mean `training`?");
  EXPECT_EQ(wrong(kModel + "size = 8\ngraph = { kind = \"skewed\", nodes = 1, edges = 1, nodez = 1 }"),
            "bench.toml:3:50: error: a generated graph has no `nodez`; did you mean `nodes`?");
}

TEST_F(BenchFileTest, ReportsValuesOfTheWrongKind) {
  EXPECT_EQ(wrong(kModel + kGraph + "size = \"big\""),
            "bench.toml:3:8: error: `size` is a whole number, but this is a text");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nmeasure = { runs = 0 }"),
            "bench.toml:4:20: error: `runs` is 0; expected 1 to 1000000");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nsweep = { passes = [] }"),
            "bench.toml:4:20: error: `passes` is an empty list; give one value at least");
  EXPECT_EQ(wrong(kModel + "size = 8\ngraph = { kind = \"mag\", nodes = 7 }"),
            "bench.toml:3:33: error: the kind `mag` settles the sizes, but `nodes` is given as well");
  EXPECT_EQ(wrong(kModel + "size = 8\ngraph = [\n  7]"),
            "bench.toml:4:3: error: a graph is a text (a graph file) or a table, but this is a whole number");
}

TEST_F(BenchFileTest, ReportsFilesThatAreNotThere) {
  EXPECT_EQ(wrong(kModel + "size = 8\ngraph = \"gone.safetensors\""),
            "bench.toml:3:9: error: there is no file `gone.safetensors`");
  EXPECT_EQ(wrong(kGraph + "size = 8\nmodel = \"gone.hec\""),
            "bench.toml:3:9: error: cannot read model `gone.hec`: No such file or directory");
}

TEST_F(BenchFileTest, ReportsSyntaxWithItsPlace) {
  EXPECT_TRUE(wrong("model = [\n  \"a\"\n  \"b\" ]").starts_with("bench.toml:3:3: error: "));
  EXPECT_TRUE(wrong("x = \"ü\" y").starts_with("bench.toml:1:9: error: "));
}

TEST_F(BenchFileTest, NamesOfGraphsAreNamesOfFiles) {
  for (const char *name : {"../up", "a/b", "..", "\\u001b[31m", "a\\nb"})
    EXPECT_TRUE(wrong(kModel + "size = 8\ngraph = { kind = \"mag\", name = \"" + name + "\" }")
                    .starts_with("bench.toml:3:32: error: a graph cannot be called `"))
        << name;
}

TEST_F(BenchFileTest, TwoModelsHaveTwoNames) {
  EXPECT_EQ(wrong("model = [\"layer.hec\", \"layer.hec\"]\nsize = 8\n" + kGraph),
            "bench.toml:1:23: error: two models are called `layer`");
}

TEST_F(BenchFileTest, MachinesAreFoundBesideTheFile) {
  write("m.toml", "name = \"workstation\"\ntarget = \"cpu\"\nbandwidth = 123\ncacheBytes = 33554432\nlineBytes = "
                  "64\nrandomReads = 200\n"
                  "cachedReads = 800\nproductRate = 160\nscalarRate = 40\nlaunch = 2000\n");
  auto file = parse(kModel + kGraph + "size = 8\nmachine = \"m.toml\"");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->machine.name, "workstation");
}

TEST_F(BenchFileTest, PlansForAGpuAreChosenForOne) {
  auto file = parse(kModel + kGraph + "size = 8\nbackend = \"cuda\"");
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->machine.name, "h200");
  EXPECT_EQ(
      wrong(kModel + kGraph + "size = 8\nbackend = \"cuda\"\nmachine = \"cpu\""),
      "bench.toml:5:11: error: the machine `cpu` is a CPU, but the benchmark runs on a GPU; choose `h200` or `here`");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nmachine = \"h200\""),
            "bench.toml:4:11: error: the machine `h200` is a GPU, but the benchmark runs on the CPU; choose `cpu` or "
            "`here`, or --backend cuda");
}

TEST_F(BenchFileTest, KeysOfTheOtherBackendAreRefused) {
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nsweep = { precision = [\"high\"] }"),
            "bench.toml:4:11: error: `precision` is how a GPU multiplies, but the benchmark runs on the CPU, which is "
            "always exact");
  EXPECT_EQ(wrong(kModel + kGraph + "size = 8\nbackend = \"cuda\"\nthreads = 2"),
            "bench.toml:5:1: error: `threads` are those of the CPU, but the benchmark runs on a GPU");
}

TEST_F(BenchFileTest, TwoGraphsHaveTwoNames) {
  EXPECT_EQ(wrong(kModel + "size = 8\ngraph = [{ kind = \"mag\" }, { kind = \"mag\", seed = 1 }]"),
            "bench.toml:3:9: error: two graphs are called `mag`");
}
