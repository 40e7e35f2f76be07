/// `hector data import` and `hector data check` as a user meets them: what they print, leave behind and return.
#include "runtime/data/TestFiles.h"
#include "runtime/graph/GraphFile.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace hector;
using namespace hector::test;

namespace {

struct Outcome {
  int code = -1;  // exit code; 1000 + signal where one ended it
  std::string out, err;
};

/// A `hector` process. `fileLimit`, where not 0, bounds the size of files it may write; `memoryLimit` its memory.
class Process {
public:
  Process(const Folder &folder, std::vector<std::string> arguments, rlim_t fileLimit = 0, rlim_t memoryLimit = 0)
      : outPath(folder.at("stdout")), errPath(folder.at("stderr")) {
    std::vector<char *> argv = {const_cast<char *>("hector")};
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid = fork();
    if (pid != 0)
      return;
    int out = ::open(outPath.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    int err = ::open(errPath.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(out, 1);
    dup2(err, 2);
    if (fileLimit > 0) {
      rlimit limit{fileLimit, fileLimit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (memoryLimit > 0) {
      rlimit limit{memoryLimit, memoryLimit};
      setrlimit(RLIMIT_AS, &limit);
    }
    execv(HECTOR_BINARY, argv.data());
    _exit(127);
  }
  /// Waits until the process handles SIGINT, which it does from the start of its work.
  void waitForHandler() const {
    for (int i = 0; i < 10'000; ++i) {
      std::ifstream status("/proc/" + std::to_string(pid) + "/status");
      std::string line;
      while (std::getline(status, line))
        if (line.starts_with("SigCgt:") && (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1))
          return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void interrupt() const { kill(pid, SIGINT); }
  Outcome finish() {
    int status = 0;
    waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), slurp(outPath), slurp(errPath)};
  }

private:
  std::string outPath, errPath;
  pid_t pid = -1;
};

Outcome run(const Folder &folder, std::vector<std::string> arguments, rlim_t fileLimit = 0) {
  return Process(folder, std::move(arguments), fileLimit).finish();
}

const std::string kTriples = "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/b> <http://e/p> \"x\" .\n";

}  // namespace

TEST(DataImport, SaysWhatItWrote) {
  Folder work, data;
  Outcome outcome = run(work, {"data", "import", data.write("a.nt", kTriples), "--out", data.at("g.safetensors")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(
      outcome.out.starts_with(data.at("g.safetensors") + ": 3 nodes of 1 type, 4 edges of 2 types (RDF, 2 read)\n"))
      << outcome.out;
  EXPECT_EQ(outcome.err, "");
  Result<GraphFile> graph = loadGraphFile(data.at("g.safetensors"));
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->nodeName(2), "\"x\"");
}

TEST(DataImport, OptionsReachTheImporter) {
  Folder work, data;
  Outcome outcome = run(work, {"data", "import", data.write("a.nt", kTriples + "bad\n"), "--skip-bad", "--no-inverses",
                               "--no-names", "--literals", "drop", "-o", data.at("g.safetensors")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("skipped 1 bad line; the first:\n  " + data.at("a.nt") +
                                      ":3:1: found `bad`; expected a subject: `<iri>` or `_:name`\n"))
      << outcome.out;
  Result<GraphFile> graph = loadGraphFile(data.at("g.safetensors"));
  ASSERT_TRUE(graph) << errorOf(graph);
  EXPECT_EQ(graph->graph.numEdges(), 1);
  EXPECT_FALSE(graph->hasNames());
}

TEST(DataImport, BadInputWritesNothing) {
  Folder work, data;
  Outcome outcome = run(work, {"data", "import", data.write("a.nt", kTriples + "bad\n"), "--out", data.at("g")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "error: " + data.at("a.nt") + ":3:1: found `bad`; expected a subject: `<iri>` or `_:name`\n");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(data.numFiles(), 1u);
}

TEST(DataImport, FullDisk) {
  Folder work, data;
  Outcome outcome = run(work, {"data", "import", data.write("a.nt", kTriples), "--out", "/dev/full"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.err.starts_with("error: /dev/full: cannot be written: No space left on device; ")) << outcome.err;
}

TEST(DataImport, FileThatGrowsTooLargeLeavesNothing) {
  Folder work, data;
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "<http://e/" + std::to_string(i) + "> <http://e/p> <http://e/b> .\n";
  data.write("a.nt", text);
  data.write("g.safetensors", "old");
  Outcome outcome = run(work, {"data", "import", data.at("a.nt"), "--out", data.at("g.safetensors")}, 20'000);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(outcome.err.starts_with("error: " + data.at("g.safetensors") + ": cannot be written: File too large; "))
      << outcome.err;
  EXPECT_EQ(slurp(data.at("g.safetensors")), "old");
  EXPECT_EQ(data.numFiles(), 2u);
}

TEST(DataImport, WarningsAndNotesArePrinted) {
  Folder work, data;
  const std::string input = data.write("a.txt", "ann likes bob\nann likes cid\nann likes dan\n");
  Outcome outcome = run(work, {"data", "import", input, "--order", "htr", "--out", data.at("g")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "warning: " + input +
                             ": with --order htr the graph has 3 relations for 2 nodes; the columns look like --order "
                             "hrt, which reads the first row as head `ann`, relation `likes`, tail `bob`\n");
  const std::string edges = data.write("b.txt", "from to\n0 1\n");
  outcome = run(work, {"data", "import", edges, "--out", data.at("g")});
  EXPECT_TRUE(outcome.out.starts_with("note: " + edges + ":1: `from to` was taken as a header, not as a row\n"))
      << outcome.out;
}

TEST(DataImport, SeveralLabelsPerNodeAreCountedByNode) {
  Folder work, data;
  data.write("a/node.dat", "0\tann\t0\n1\tbob\t0\n");
  data.write("a/link.dat", "0\t1\t0\n");
  data.write("a/label.dat", "0\tann\t0\t0,1\n1\tbob\t0\t1\n");
  Outcome outcome = run(work, {"data", "import", data.at("a"), "--out", data.at("g")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\n  2 nodes with any of 2 classes, 2 train\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(run(work, {"data", "check", data.at("g")}).code, 0);
}

TEST(DataImport, LineOfGigabytesIsAnErrorWithItsNumber) {
  Folder work, data;
  // Members of a gzip file are one stream: 4 GiB in 4 MiB.
  const std::string piece = gzipped(std::string(size_t{64} << 20, 'x'));
  std::string bytes = gzipped(kTriples);
  for (int i = 0; i < 64; ++i)
    bytes += piece;
  constexpr rlim_t kMemory = rlim_t{3} << 30;
  const std::string input = data.write("a.nt.gz", bytes);
  Outcome outcome =
      Process(work, {"data", "import", input, "--threads", "2", "--out", data.at("g")}, 0, kMemory).finish();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "error: " + input + ":3: the line is longer than 256.0 MiB, the most supported; is the file damaged?\n");
  EXPECT_EQ(data.numFiles(), 1u);
}

TEST(DataImport, NoMemoryIsAMessage) {
  Folder work, data;
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 100000000), }";
  const std::string start = std::string("\x93NUMPY\x01\x00", 8) + littleEndian(header.size(), 2) + header;
  const std::string input =
      data.write("a.npy.gz", gzipped(start) + gzipped(std::string(size_t{800} * 1000 * 1000, '\0')));
  Outcome outcome = Process(work, {"data", "import", input, "--out", data.at("g")}, 0, rlim_t{1} << 30).finish();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: a.npy.gz: out of memory; nothing was written\n");
  EXPECT_EQ(data.numFiles(), 1u);
}

TEST(DataImport, CtrlCStopsWithNothingWritten) {
  Folder work, data;
  std::string text;
  while (text.size() < (size_t{150} << 20))
    text += "<http://example.org/entity/" + std::to_string(text.size()) + "> <http://e/p> <http://e/b> .\n";
  data.write("a.nt", text);
  Process process(work, {"data", "import", data.at("a.nt"), "--threads", "1", "--out", data.at("g.safetensors")});
  process.waitForHandler();
  process.interrupt();
  Outcome outcome = process.finish();
  EXPECT_EQ(outcome.code, 130);
  EXPECT_EQ(outcome.err, "stopped; nothing was written\n");
  EXPECT_EQ(data.numFiles(), 1u);
}

TEST(DataCheck, SoundFile) {
  Folder work, data;
  ASSERT_EQ(run(work, {"data", "import", data.write("a.nt", kTriples), "--out", data.at("g")}).code, 0);
  Outcome outcome = run(work, {"data", "check", data.at("g")});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, data.at("g") + ": sound (3 nodes of 1 type, 4 edges of 2 types)\n");
}

TEST(DataCheck, EveryFindingIsPrinted) {
  Folder work, data;
  TensorFile tensors;
  const std::vector<int64_t> zero = {0}, label = {-1}, node = {5};
  for (const char *name : {"graph.src", "graph.dst", "graph.etype"})
    tensors.tensors[name] = Tensor::fromInt64({1}, zero);
  tensors.tensors["label"] = Tensor::fromInt64({1}, label);
  tensors.tensors["label.node"] = Tensor::fromInt64({1}, node);
  tensors.tensors["graph.ntype_ptr"] = Tensor::fromInt64({2}, std::vector<int64_t>{0, 1});
  ASSERT_TRUE(writeSafetensors(data.at("g"), tensors).isOk());
  Outcome outcome = run(work, {"data", "check", data.at("g")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, data.at("g") + ": label[0] is -1; labels start at 0\n" + data.at("g") +
                             ": label.node[0] is 5; node ids are 0 to 0\n");
}

TEST(DataCheck, FileThatIsNone) {
  Folder work, data;
  EXPECT_EQ(run(work, {"data", "check", data.write("g", "text")}).code, 2);
  EXPECT_EQ(run(work, {"data", "check", data.at("none")}).code, 2);
}
