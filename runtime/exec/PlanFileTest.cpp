#include "runtime/exec/PlanFile.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Hash.h"
#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sys/stat.h>

using namespace hector;
using namespace hector::exec;

namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

const std::string &code() {
  static const std::string kCode = [] {
    std::string bytes = "\x7f"
                        "ELF";
    for (int i = 0; i < 300; ++i)
      bytes += static_cast<char>(i * 7);
    return bytes;
  }();
  return kCode;
}

SavedPlan example() {
  Plan plan = example::plan();
  plan.source = "// kernels\nusing Id = int32_t;\n";
  SavedPlan saved;
  saved.plan = std::make_shared<const Plan>(std::move(plan));
  saved.origin.modelPath = "example.hec";
  saved.origin.modelText = "def example(g, x: Node[d]):\n    return x\n";
  saved.origin.entry = "example";
  saved.origin.numbers = "f32";
  saved.origin.passes = "default";
  saved.origin.sizes = {"d=2"};
  saved.made = {"0.1.0", "0011", "g++ 12.2.0", {"-O3", "-march=native"}, thisProcessor()};
  saved.code = bytesOf(code());
  return saved;
}

/// The same for two kinds of GPUs.
SavedPlan cudaExample() {
  SavedPlan saved = example();
  Plan plan = example::devicePlan();
  plan.source = saved.plan->source;
  saved.plan = std::make_shared<const Plan>(std::move(plan));
  saved.origin.backend = kCuda;
  saved.made = {"0.1.0", "0011", "NVRTC 13.0", {"-std=c++20"}};
  saved.code = {};
  saved.cubins = {{90, bytesOf(code()).first(100)}, {100, bytesOf(code()).subspan(100)}};
  return saved;
}

class PlanFileTest : public FolderTest {
protected:
  std::string writeExample(const SavedPlan &saved = example()) {
    Status status = writePlanFile(path("example.plan"), saved);
    EXPECT_TRUE(status.isOk()) << status.message();
    return contents(path("example.plan"));
  }

  static Result<SavedPlan> parse(const std::string &bytes) { return parsePlanFile(bytesOf(bytes), "a.plan", nullptr); }
  static std::string failureOf(const std::string &bytes) {
    Result<SavedPlan> saved = parse(bytes);
    return saved ? "" : saved.status().message();
  }

  /// The sections of the example, by name, in their order.
  std::vector<std::pair<std::string, std::string>> sections(const SavedPlan &saved = example()) {
    const std::string file = writeExample(saved);
    std::vector<std::pair<std::string, std::string>> found;
    size_t at = file.find("\nchecked ") + 1 + 8 + 32 + 1;
    for (size_t line = file.find("section "); line < file.find("\nchecked "); line = file.find("section ", line + 1)) {
      const size_t name = line + 8, size = file.find(' ', name) + 1;
      const size_t bytes = std::stoul(file.substr(size));
      found.emplace_back(file.substr(name, size - 1 - name), file.substr(at, bytes));
      at += bytes;
    }
    EXPECT_EQ(at, file.size());
    return found;
  }

  /// A file with the right hashes, whatever it holds.
  static std::string fileOf(const std::vector<std::pair<std::string, std::string>> &sections) {
    std::vector<PlanSection> list;
    std::string rest;
    for (const auto &[name, bytes] : sections) {
      list.push_back({name, bytesOf(bytes)});
      rest += bytes;
    }
    return planFileHead(list) + rest;
  }
};

TEST_F(PlanFileTest, IsReadAsItWasWritten) {
  writeExample();
  Result<SavedPlan> saved = readPlanFile(path("example.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  const SavedPlan expected = example();
  EXPECT_TRUE(*saved->plan == *expected.plan);
  EXPECT_TRUE(saved->origin == expected.origin);
  EXPECT_TRUE(saved->made == expected.made);
  EXPECT_TRUE(std::ranges::equal(saved->code, expected.code));
}

TEST_F(PlanFileTest, HoldsCodeForSeveralGpus) {
  writeExample(cudaExample());
  Result<SavedPlan> saved = readPlanFile(path("example.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  const SavedPlan expected = cudaExample();
  EXPECT_TRUE(*saved->plan == *expected.plan);
  EXPECT_TRUE(saved->origin == expected.origin);
  EXPECT_TRUE(saved->made == expected.made);
  EXPECT_TRUE(saved->code.empty());
  ASSERT_EQ(saved->cubins.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(saved->cubins[i].architecture, expected.cubins[i].architecture);
    EXPECT_TRUE(std::ranges::equal(saved->cubins[i].code, expected.cubins[i].code));
  }
}

TEST_F(PlanFileTest, MayHoldNoCodeForGpus) {
  SavedPlan bare = cudaExample();
  bare.made.compiler = "";
  bare.cubins = {};
  writeExample(bare);
  Result<SavedPlan> saved = readPlanFile(path("example.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  EXPECT_TRUE(saved->cubins.empty());
  EXPECT_TRUE(saved->made == bare.made);
}

TEST_F(PlanFileTest, CodeForGpusHasANumber) {
  for (const char *name : {"code.cuda.sm_", "code.cuda.sm_90a", "code.cuda.sm_-90", "code.cuda.sm_090",
                           "code.cuda.sm_0", "code.cuda.sm_99999999999", "code.cuda"}) {
    auto list = sections(cudaExample());
    list.push_back({name, "other"});
    const std::string file = fileOf(list);
    Result<SavedPlan> saved = parse(file);
    ASSERT_TRUE(saved) << saved.status().message();
    EXPECT_EQ(saved->cubins.size(), 2u) << name;
  }
}

TEST_F(PlanFileTest, BytesOutliveTheFile) {
  writeExample();
  Result<SavedPlan> saved = readPlanFile(path("example.plan"));
  ASSERT_TRUE(saved);
  fs::remove(path("example.plan"));
  EXPECT_TRUE(std::ranges::equal(saved->code, bytesOf(code())));
}

TEST_F(PlanFileTest, EveryTruncationIsFound) {
  for (const std::string &file : {writeExample(), writeExample(cudaExample())})
    for (size_t size = 0; size < file.size(); ++size) {
      const std::string failure = failureOf(file.substr(0, size));
      EXPECT_TRUE(failure.starts_with("a.plan: byte ")) << size << ": " << failure;
    }
}

TEST_F(PlanFileTest, EveryFlippedBitIsFound) {
  for (const std::string &file : {writeExample(), writeExample(cudaExample())})
    for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
      std::string flipped = file;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      const std::string failure = failureOf(flipped);
      EXPECT_TRUE(failure.starts_with("a.plan: byte ")) << bit << ": " << failure;
    }
}

TEST_F(PlanFileTest, SaysWhereItIsDamaged) {
  const std::string file = writeExample();
  EXPECT_EQ(failureOf(file + "x"), "a.plan: byte " + std::to_string(file.size()) +
                                       ": the plan is damaged: the last section ends here, and the file at byte " +
                                       std::to_string(file.size() + 1) + "; copy it again, or compile the model again");
  std::string other = file;
  other[file.find("using Id")] = 'U';
  const size_t source = file.find("// kernels");
  EXPECT_EQ(failureOf(other), "a.plan: byte " + std::to_string(source) +
                                  ": the plan is damaged: section `source`, up to byte " +
                                  std::to_string(source + example().plan->source.size()) +
                                  ", does not have the hash that it should have; copy it again, or compile the model "
                                  "again");
  EXPECT_EQ(failureOf(file.substr(0, file.size() - 1)),
            "a.plan: byte " + std::to_string(file.size() - 1) +
                ": the plan is damaged: the file ends here, and section `code.cpu` takes 304 bytes from byte " +
                std::to_string(file.size() - 304) + " on; copy it again, or compile the model again");
  EXPECT_EQ(failureOf(""), "a.plan: byte 0: the plan is damaged: the file ends within its first line; copy it again, "
                           "or compile the model again");
}

TEST_F(PlanFileTest, OtherFilesAreRefused) {
  EXPECT_EQ(failureOf("def layer(g):\n"),
            "a.plan: byte 0: this is no plan: it starts with `def layer(g):`; expected `hector plan 2`");
  EXPECT_EQ(failureOf("hector plan 1\nchecked by something else"),
            "a.plan: byte 12: this is a plan of format `1`, and this version of Hector reads format 2; compile the "
            "model again");
  EXPECT_EQ(readPlanFile(path("missing.plan")).status().message(),
            path("missing.plan") + ": cannot be read: No such file or directory");
  EXPECT_EQ(readPlanFile(folder.string()).status().message(),
            folder.string() + ": cannot be read: it is a folder; expected a file");
}

TEST_F(PlanFileTest, UnknownSectionsAreLeftAlone) {
  auto list = sections();
  list.insert(list.begin() + 1, {"code.other", "something"});
  EXPECT_EQ(failureOf(fileOf(list)), "");
}

TEST_F(PlanFileTest, SectionsAreThereOnce) {
  auto list = sections();
  list.push_back({"model", "again"});
  EXPECT_TRUE(failureOf(fileOf(list)).find("section `model` is there twice") != std::string::npos)
      << failureOf(fileOf(list));
  for (size_t i = 0; i < 5; ++i) {
    list = sections();
    const std::string name = list[i].first;
    list.erase(list.begin() + static_cast<int64_t>(i));
    EXPECT_EQ(failureOf(fileOf(list)), "a.plan: there is no section `" + name + "`, which every plan " +
                                           (name == "code.cpu" ? "for a CPU has" : "has"));
  }
}

TEST_F(PlanFileTest, ContentsAreCheckedWhereHashesAreRight) {
  auto list = sections();
  list[0].second += "launch sideways\n";
  EXPECT_TRUE(failureOf(fileOf(list)).find("section `plan`: line ") != std::string::npos) << failureOf(fileOf(list));
  list = sections();
  list[1].second += "version 2\n";
  EXPECT_TRUE(failureOf(fileOf(list)).find("section `build`: line 7 has the keyword `version`") != std::string::npos)
      << failureOf(fileOf(list));
  list[1].second = "version 2\n";
  EXPECT_TRUE(failureOf(fileOf(list)).find("section `build`: there is no line `headers`") != std::string::npos)
      << failureOf(fileOf(list));
}

TEST_F(PlanFileTest, SizesAreNotTrusted) {
  for (const char *size : {"-1", "1", "9223372036854775807", "18446744073709551615", "1e3", ""}) {
    const std::string list = "hector plan 2\nsection plan " + std::string(size) + " 00\n";
    const std::string failure = failureOf(list + "checked " + hashOf(bytesOf(list)) + "\n");
    EXPECT_TRUE(failure.starts_with("a.plan: byte ")) << failure;
    EXPECT_EQ(failure.find("list of sections"), std::string::npos) << failure;
  }
}

TEST_F(PlanFileTest, OtherBackendsAreRefused) {
  SavedPlan saved = example();
  saved.origin.backend = "vulkan";
  ASSERT_TRUE(writePlanFile(path("other.plan"), saved).isOk());
  EXPECT_EQ(readPlanFile(path("other.plan")).status().message(),
            path("other.plan") + ": this plan was made for the backend `vulkan`, and this version of Hector has `cpu` "
                                 "and `cuda`; compile the model again");
}

TEST_F(PlanFileTest, FailedWritesLeaveNothing) {
  EXPECT_TRUE(writePlanFile("/dev/full", example()).message().starts_with("/dev/full: cannot be written: No space"));
  EXPECT_FALSE(writePlanFile(path("missing/a.plan"), example()).isOk());
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(PlanFileTest, IsToldByItsFirstBytes) {
  writeExample();
  EXPECT_TRUE(isPlanFile(path("example.plan")));
  std::ofstream(path("model.hec")) << "hector is a name";
  EXPECT_FALSE(isPlanFile(path("model.hec")));
  EXPECT_FALSE(isPlanFile(path("missing")));
  EXPECT_FALSE(isPlanFile(folder.string()));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(isPlanFile(path("pipe")));
}

}  // namespace
