/// `hector run` and its neighbours as a user meets them, where the files that they leave matter.

#include "runtime/exec/PlanFile.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/Safetensors.h"
#include "test/Process.h"

#include <gtest/gtest.h>

namespace hector::test {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int64_t>;
using Numbers = std::vector<double>;

Tensor ids(const Ids &values) {
  return Tensor::fromInt64({static_cast<int64_t>(values.size())}, values);
}
Tensor numbers(std::vector<int64_t> shape, const Numbers &values) {
  return Tensor::fromDoubles(std::move(shape), values, DType::F64);
}

class CommandsTest : public testing::Test {
protected:
  std::string at(const std::string &name) const { return (workspace.folder() / name).string(); }
  void write(const std::string &name, const TensorFile &file) const {
    ASSERT_TRUE(writeSafetensors(at(name), file).isOk());
  }
  Numbers read(const std::string &file, const std::string &tensor) const {
    Result<TensorFile> tensors = readSafetensors(at(file));
    EXPECT_TRUE(tensors);
    const Tensor *found = tensors ? tensors->find(tensor) : nullptr;
    EXPECT_NE(found, nullptr) << tensor;
    return found ? found->toDoubles() : Numbers();
  }
  void expectFine(const std::string &command) const {
    Outcome outcome = workspace.run(command);
    EXPECT_EQ(outcome.exitCode, 0) << command << "\n" << outcome.output;
  }

  Workspace workspace{HECTOR_PROGRAM};
};

constexpr const char *kTypes = "def types(g, w: Edge[]):\n"
                               "    for r in g.edge_types():\n"
                               "        r[\"edges\"] = sum(1.0 for e in r.edges())\n"
                               "    for t in g.node_types():\n"
                               "        t[\"nodes\"] = sum(1.0 for n in t.nodes())\n"
                               "    return r[\"edges\"], t[\"nodes\"]\n";

TensorFile twoEdges() {
  TensorFile file;
  file.tensors["graph.src"] = ids({0, 1});
  file.tensors["graph.dst"] = ids({1, 0});
  file.tensors["graph.etype"] = ids({1, 0});
  file.tensors["w"] = numbers({2}, {1, 2});
  return file;
}

// Interrupts.

TEST_F(CommandsTest, AnInterruptWhileACompilerIsTriedLeavesNothing) {
  write("case.safetensors", twoEdges());
  writeText(at("types.hec"), std::string(kTypes));
  writeText(at("slow"), "#!/bin/sh\nexec sleep 30\n");
  fs::permissions(at("slow"), fs::perms::owner_all);
  fs::create_directory(at("temporary"));
  for (const char *command : {"run types.hec --case case.safetensors --out out.safetensors", "doctor"}) {
    Outcome outcome = workspace.run("TMPDIR=$PWD/temporary HECTOR_CXX=$PWD/slow HECTOR_CACHE=$PWD/cache timeout "
                                    "--foreground --preserve-status -s INT 2 hector " +
                                    std::string(command));
    EXPECT_EQ(outcome.exitCode, 130) << outcome.output;
    EXPECT_TRUE(fs::is_empty(at("temporary"))) << command;
    EXPECT_EQ(outcome.output.find("the interpreter runs"), std::string::npos) << outcome.output;
  }
}

// Types.

TEST_F(CommandsTest, TypesThatOnlyTheMetadataNamesHaveRows) {
  TensorFile file = twoEdges();
  file.tensors["graph.ntype_ptr"] = ids({0, 2, 2});
  file.metadata["edge_types"] = R"(["a", {"name": "b"}, "c"])";
  file.metadata["node_types"] = R"(["x", "y"])";
  write("case.safetensors", file);
  writeText(at("types.hec"), std::string(kTypes));
  expectFine("hector run types.hec --case case.safetensors --out out.safetensors");
  EXPECT_EQ(read("out.safetensors", "edges"), (Numbers{1, 1, 0}));
  EXPECT_EQ(read("out.safetensors", "nodes"), (Numbers{2, 0}));
}

TEST_F(CommandsTest, EveryCommandCountsTheTypesOfTheMetadata) {
  TensorFile file = twoEdges();
  file.metadata["edge_types"] = R"(["a", "b", "c"])";
  write("case.safetensors", file);
  writeText(at("types.hec"), "def types(g, w: Edge[]):\n    for e in g.edges():\n        e[\"y\"] = e.w\n"
                             "    return e[\"y\"]\n");
  for (const char *command : {"hector run types.hec --case case.safetensors --out out.safetensors",
                              "hector compile types.hec --emit summary --graph case.safetensors",
                              "hector data info case.safetensors", "hector data check case.safetensors"}) {
    Outcome outcome = workspace.run(command);
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_TRUE(outcome.output.find("3 types") != std::string::npos ||
                outcome.output.find("3 edge types") != std::string::npos)
        << command << "\n"
        << outcome.output;
  }
}

// Edges in any order.

/// A case whose rows tie often: every node has edges of both types with equal values.
TensorFile unsortedCase() {
  TensorFile file;
  file.tensors["graph.src"] = ids({0, 1, 2, 0, 1, 2});
  file.tensors["graph.dst"] = ids({2, 2, 2, 0, 0, 0});
  file.tensors["graph.etype"] = ids({1, 0, 1, 0, 1, 0});
  file.tensors["h"] = numbers({3}, {2, 2, 1});
  file.tensors["w"] = numbers({6}, {1, 1, 2, 3, 3, 6});
  file.tensors["W"] = numbers({2}, {5, 5});
  file.tensors["grad.y"] = numbers({6}, {1, 2, 3, 4, 5, 6});
  file.tensors["grad.top"] = numbers({3}, {10, 20, 30});
  file.tensors["grad.best"] = numbers({3}, {100, 200, 300});
  return file;
}

constexpr const char *kTies = "def ties(g, h: Node[], w: Edge[], W: EdgeType[]):\n"
                              "    for e in g.edges():\n"
                              "        e[\"y\"] = e.w * e.src.h * W[e.etype]\n"
                              "    for n in g.nodes():\n"
                              "        n[\"top\"] = max(e[\"y\"] for e in n.incoming_edges())\n"
                              "        n[\"best\"] = max(e.src.h * W[e.etype] for e in n.outgoing_edges())\n"
                              "    return e[\"y\"], n[\"top\"], n[\"best\"]\n";

TEST_F(CommandsTest, EdgeTensorsKeepTheOrderOfTheFile) {
  write("case.safetensors", unsortedCase());
  writeText(at("ties.hec"), kTies);
  for (const char *passes : {"none", "default", "compact-rows"}) {
    expectFine(std::string("hector run ties.hec --case case.safetensors --out out.safetensors --grad --passes ") +
               passes);
    EXPECT_EQ(read("out.safetensors", "y"), (Numbers{10, 10, 10, 30, 30, 30})) << passes;
    // The first edge in the file takes the gradient of the maximum: edge 0 for node 2, edge 3 for node 0.
    EXPECT_EQ(read("out.safetensors", "grad.w"), (Numbers{310, 20, 15, 140, 50, 30})) << passes;
    // Nodes send out edges of both types with equal values. The first in the file has type 1 for nodes 0 and 2, type 0
    // for node 1: 100·2 + 300·1 and 200·2 beside what `y` and `top` bring, 98 and 124.
    EXPECT_EQ(read("out.safetensors", "grad.W"), (Numbers{524, 598})) << passes;
  }
}

TEST_F(CommandsTest, OrderOfTheFileMakesNoDifference) {
  TensorFile file = unsortedCase();
  const Ids order = {1, 3, 5, 0, 2, 4};  // by type
  TensorFile sorted = file;
  for (const char *name : {"graph.src", "graph.dst", "graph.etype"}) {
    Ids values;
    for (int64_t e : order)
      values.push_back(file.tensors[name].intAt(e));
    sorted.tensors[name] = ids(values);
  }
  // No ties, so that their order does not matter.
  const Numbers w = {1, 2, 8, 3, 5, 30};
  Numbers sortedW, sortedGrad;
  for (int64_t e : order) {
    sortedW.push_back(w[static_cast<size_t>(e)]);
    sortedGrad.push_back(static_cast<double>(e) + 1);
  }
  file.tensors["w"] = numbers({6}, w);
  sorted.tensors["w"] = numbers({6}, sortedW);
  sorted.tensors["grad.y"] = numbers({6}, sortedGrad);
  file.tensors["grad.best"] = sorted.tensors["grad.best"] = numbers({3}, {0, 0, 0});
  write("unsorted.safetensors", file);
  write("sorted.safetensors", sorted);
  writeText(at("ties.hec"), kTies);
  for (const char *name : {"sorted", "unsorted"})
    expectFine(std::string("hector run ties.hec --case ") + name + ".safetensors --out out-" + name + " --grad");
  for (const char *name : {"y", "grad.w"}) {
    const Numbers a = read("out-unsorted", name), b = read("out-sorted", name);
    for (size_t i = 0; i < order.size(); ++i)
      EXPECT_EQ(a[static_cast<size_t>(order[i])], b[i]) << name;
  }
  for (const char *name : {"top", "grad.h", "grad.W"})
    EXPECT_EQ(read("out-unsorted", name), read("out-sorted", name)) << name;
}

TEST_F(CommandsTest, UnsortedFilesCanBeCheckedDescribedAndCompiledFor) {
  write("case.safetensors", unsortedCase());
  writeText(at("ties.hec"), kTies);
  expectFine("hector data check case.safetensors");
  expectFine("hector data info case.safetensors");
  expectFine("hector compile ties.hec --emit summary --graph case.safetensors");
}

// Outputs that are inputs.

TEST_F(CommandsTest, AnOutputThatIsAnInputByAnotherNameIsRefused) {
  write("case.safetensors", unsortedCase());
  writeText(at("ties.hec"), kTies);
  const std::string before = readText(at("case.safetensors"));
  fs::create_symlink("case.safetensors", at("link"));
  fs::create_hard_link(at("case.safetensors"), at("second"));
  for (const char *out : {"case.safetensors", "./case.safetensors", "../work/case.safetensors", "link", "second"}) {
    Outcome outcome = workspace.run(std::string("hector run ties.hec --case case.safetensors --out ") + out);
    EXPECT_EQ(outcome.exitCode, 2) << out;
    EXPECT_EQ(outcome.output, "error: " + std::string(out) +
                                  ": cannot be written: it is the same file as the input `case.safetensors`; give the "
                                  "output another name\n");
    EXPECT_EQ(readText(at("case.safetensors")), before) << out;
  }
}

TEST_F(CommandsTest, ImportsDoNotReplaceWhatTheyRead) {
  const std::string triples = "<http://a> <http://p> <http://b> .\n";
  writeText(at("x.nt"), triples);
  writeText(at("labels.tsv"), "node\tlabel\n");
  fs::create_directory(at("data"));
  writeText(at("data/y.nt"), triples);
  for (const char *command :
       {"hector data import x.nt --out x.nt", "hector data import x.nt --labels labels.tsv --out ./labels.tsv",
        "hector data import data --out data/../data/y.nt"}) {
    Outcome outcome = workspace.run(command);
    EXPECT_EQ(outcome.exitCode, 2) << command;
    EXPECT_NE(outcome.output.find("cannot be written: it is"), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(readText(at("x.nt")), triples);
  EXPECT_EQ(readText(at("data/y.nt")), triples);
}

TEST_F(CommandsTest, OutputsMayReplaceFilesThatAreNotRead) {
  write("case.safetensors", unsortedCase());
  writeText(at("ties.hec"), kTies);
  writeText(at("out.safetensors"), "old");
  expectFine("hector run ties.hec --case case.safetensors --out out.safetensors");
  EXPECT_EQ(read("out.safetensors", "y").size(), 6u);
}

// Disks and memory.

TEST_F(CommandsTest, AFileThatMayNotGrowIsAMessageAndLeavesNothing) {
  write("case.safetensors", unsortedCase());
  writeText(at("ties.hec"), kTies);
  writeText(at("x.nt"), "<http://a> <http://p> <http://b> .\n");
  for (const char *command :
       {"hector run ties.hec --backend interp --case case.safetensors --out out",
        "hector compile ties.hec --emit flow -o out", "hector data make --nodes 9 --edges 9 -o out",
        "hector data info case.safetensors --svg out", "hector data import x.nt --out out"}) {
    Outcome outcome = workspace.run(std::string("(ulimit -f 0; ") + command + ")");
    EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
    EXPECT_TRUE(outcome.output.starts_with("error: out: cannot be written: File too large; ")) << outcome.output;
    const auto files = fs::directory_iterator(workspace.folder());
    EXPECT_EQ(std::distance(fs::begin(files), fs::end(files)), 3) << command;
  }
}

TEST_F(CommandsTest, TypesWithoutEdgesTakeNoMemory) {
  TensorFile file = twoEdges();
  file.tensors["graph.etype"] = ids({16'777'215, 0});
  write("case.safetensors", file);
  // A name, a string and three numbers for each of 2^24 types would take gigabytes.
  for (const char *command : {"hector data check case.safetensors", "hector data info case.safetensors",
                              "hector data info case.safetensors --json"}) {
    Outcome outcome = workspace.run(std::string("(ulimit -d 200000; ") + command + ")");
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_LT(outcome.output.size(), 10'000u) << command;
  }
}

TEST_F(CommandsTest, MoreNodesThanMemoryHoldsAreRefused) {
  TensorFile file = twoEdges();
  file.tensors["graph.ntype_ptr"] = ids({0, int64_t{1} << 40});
  write("case.safetensors", file);
  writeText(at("sum.hec"), "def sums(g, w: Edge[]):\n    for n in g.nodes():\n"
                           "        n[\"s\"] = sum(e.w for e in n.incoming_edges())\n    return n[\"s\"]\n");
  Outcome outcome = workspace.run("hector run sum.hec --case case.safetensors --out out.safetensors");
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_TRUE(outcome.output.starts_with("error: case.safetensors: the graph needs 32.0 TiB; ")) << outcome.output;
  EXPECT_FALSE(fs::exists(at("out.safetensors")));
}

// Numbers and sizes in what is printed.

TEST_F(CommandsTest, LeadingZerosAreNotOctal) {
  expectFine("hector data make --nodes 010 --edges 012 --out g.safetensors");
  Result<GraphFile> graph = loadGraphFile(at("g.safetensors"));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->graph.numNodes(), 10);
  EXPECT_EQ(graph->graph.numEdges(), 12);
}

TEST_F(CommandsTest, MakePrintsTheSizeOfTheFile) {
  Outcome outcome = workspace.run("hector data make --nodes 10 --edges 10 --out g.safetensors");
  const std::string size = std::to_string(fs::file_size(at("g.safetensors")));
  EXPECT_NE(outcome.output.find("; " + size + " bytes in "), std::string::npos) << outcome.output << size;
}

TEST_F(CommandsTest, OneIsNoPlural) {
  Outcome outcome = workspace.run("hector data make --nodes 1 --edges 1 --out g.safetensors");
  EXPECT_TRUE(outcome.output.starts_with("g.safetensors: 1 node of 1 type, 1 edge of 1 type; ")) << outcome.output;
  EXPECT_EQ(workspace.run("hector data check g.safetensors").output,
            "g.safetensors: sound (1 node of 1 type, 1 edge of 1 type)\n");
}

// Plans.

TEST_F(CommandsTest, PlansOfOtherVersionsAndMachinesAreMadeAgain) {
  write("case.safetensors", twoEdges());
  writeText(at("types.hec"), std::string(kTypes));
  expectFine("hector compile types.hec -o types.plan");
  Result<exec::SavedPlan> saved = exec::readPlanFile(at("types.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  saved->made.version = "0.0.1";
  ASSERT_TRUE(exec::writePlanFile(at("older.plan"), *saved).isOk());
  saved = exec::readPlanFile(at("types.plan"));
  saved->made.processor.features.push_back("avx4096");
  ASSERT_TRUE(exec::writePlanFile(at("foreign.plan"), *saved).isOk());

  const std::string run = "hector run older.plan --case case.safetensors --out out.safetensors";
  Outcome outcome = workspace.run(run);
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.starts_with(
      "note: older.plan: its code is made again from its source: it was made by Hector 0.0.1, and this is "))
      << outcome.output;
  EXPECT_EQ(read("out.safetensors", "edges"), (Numbers{1, 1}));
  outcome = workspace.run("hector run foreign.plan --case case.safetensors --out out.safetensors");
  EXPECT_TRUE(outcome.output.starts_with("note: foreign.plan: its code is made again from its source: it is for a "
                                         "processor with avx4096, which this one lacks\n"))
      << outcome.output;

  outcome = workspace.run("HECTOR_CXX=/nonexistent " + run);
  EXPECT_EQ(outcome.exitCode, 1);
  EXPECT_NE(outcome.output.find("error: older.plan: the code of the plan cannot be used: it was made by Hector 0.0.1"),
            std::string::npos)
      << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("hector compile types.hec --entry types -o FILE\n")) << outcome.output;
}

TEST_F(CommandsTest, PlansForGpusSayWhatTheyLack) {
  write("case.safetensors", twoEdges());
  writeText(at("types.hec"), std::string(kTypes));
  const std::string nvrtc = std::string("HECTOR_NVRTC=") + HECTOR_FAKE_NVRTC + " HECTOR_CACHE=" + at("cache") + " ";
  const std::string none = "HECTOR_NVRTC=/nonexistent ";
  Outcome outcome = workspace.run(nvrtc + "hector compile types.hec --backend cuda --arch sm_80 -o types.plan");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with(" of compiled code for sm_80\n")) << outcome.output;
  outcome = workspace.run(none + "hector compile types.hec --backend cuda -o bare.plan");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  EXPECT_TRUE(outcome.output.starts_with("note: bare.plan has the source of its kernels, and no compiled code: "
                                         "HECTOR_NVRTC is `/nonexistent`, and NVRTC is not there"))
      << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with(", no compiled code\n")) << outcome.output;

  const std::string run = "hector run types.plan --case case.safetensors --out out.safetensors";
  outcome = workspace.run("CUDA_VISIBLE_DEVICES= " + run);
  EXPECT_EQ(outcome.exitCode, 2) << outcome.output;
  EXPECT_TRUE(outcome.output.starts_with("error: types.plan: the plan is for a GPU: ")) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("; compile the model again with --backend cpu\n")) << outcome.output;

  // A GPU of sm_90, whose programs have one kernel only.
  fs::create_symlink(HECTOR_FAKE_CUDA, at("libcuda.so.1"));
  const std::string gpu = "LD_LIBRARY_PATH=" + at("") + " ", why = "it is for sm_80, and the GPU is Fake (sm_90)";
  outcome = workspace.run(gpu + nvrtc + run);
  EXPECT_TRUE(
      outcome.output.starts_with("note: types.plan: its code is made again from its source: " + why + "\ncompiling "))
      << outcome.output;
  EXPECT_NE(outcome.output.find("error: types.plan on case.safetensors: the code of types has no kernel "),
            std::string::npos)
      << outcome.output;
  outcome = workspace.run(gpu + none + run);
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("error: types.plan: the code of the plan cannot be used: " + why + "; and it cannot "),
            std::string::npos)
      << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("hector compile types.hec --entry types --backend cuda --arch sm_90 -o FILE\n"))
      << outcome.output;
}

TEST_F(CommandsTest, PlansSayWhatTheyNeedOfAGraph) {
  writeText(at("ends.hec"), "def ends(g, K: NodeType[d]):\n"
                            "    for r in g.edge_types():\n"
                            "        r[\"k\"] = K[r.src_ntype]\n"
                            "    return r[\"k\"]\n");
  TensorFile file = twoEdges();
  file.tensors["graph.ntype_ptr"] = ids({0, 1, 2});
  file.tensors["K"] = numbers({2, 1}, {3, 4});
  write("case.safetensors", file);
  file.tensors["graph.etype"] = ids({0, 0});
  write("mixed.safetensors", file);
  expectFine("hector compile ends.hec --size d=1 -o ends.plan");
  expectFine("hector run ends.plan --case case.safetensors --out out.safetensors");
  EXPECT_EQ(read("out.safetensors", "k"), (Numbers{4, 3}));
  Outcome outcome = workspace.run("hector run ends.plan --case mixed.safetensors --out no.safetensors");
  EXPECT_EQ(outcome.exitCode, 2);
  EXPECT_TRUE(
      outcome.output.starts_with("error: ends.plan on mixed.safetensors: the plan of `ends` is for graphs whose "
                                 "relations have sources of one node type each: relation 0 has sources of "
                                 "several node types: "))
      << outcome.output;
}

TEST_F(CommandsTest, PlansAreWrittenWholeOrNotAtAll) {
  writeText(at("types.hec"), std::string(kTypes));
  fs::create_directory(at("locked"));
  EXPECT_EQ(workspace.run("hector compile types.hec -o /dev/full").exitCode, 1);
  EXPECT_EQ(workspace.run("hector compile types.hec -o missing/types.plan").exitCode, 2);
  // A file of a few KiB is the most that this shell lets anyone write.
  Outcome outcome = workspace.run("hector compile types.hec -o first.plan && trap '' XFSZ && ulimit -f 4 && "
                                  "hector compile types.hec -o locked/types.plan");
  EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("locked/types.plan: cannot be written: "), std::string::npos) << outcome.output;
  EXPECT_TRUE(fs::is_empty(at("locked")));
}

}  // namespace
}  // namespace hector::test
