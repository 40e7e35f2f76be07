#include "training/Outputs.h"

#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace hector::training {
namespace {

class OutputsTest : public FolderTest {
protected:
  void write(const std::string &name) { std::ofstream(path(name)) << "old"; }
  static std::string wrong(const std::vector<OutputFile> &outputs, const std::vector<std::string> &inputs = {}) {
    Status status = checkOutputs(outputs, inputs);
    return status.isOk() ? "nothing is wrong" : status.message();
  }
  std::string wrongFile(const std::string &name) {
    Status status = checkWritable(path(name));
    return status.isOk() ? "nothing is wrong" : status.message().substr(path(name).size());
  }
};

TEST_F(OutputsTest, DifferentFilesAreFine) {
  write("run");
  EXPECT_EQ(wrong({{"--out", path("run")}, {"--metrics", path("m")}, {"--svg", ""}}), "nothing is wrong");
}

TEST_F(OutputsTest, TwoOutputsAreNotOneFile) {
  EXPECT_EQ(wrong({{"--metrics", path("m")}, {"--svg", path("m")}}),
            "--metrics `" + path("m") + "` and --svg `" + path("m") + "` are one file; give one of them another name");
}

TEST_F(OutputsTest, OtherSpellingsAreTheSameFile) {
  fs::create_directory(path("a"));
  fs::create_symlink(path("a"), path("link"));
  EXPECT_NE(wrong({{"--out", path("a/f")}, {"--svg", path("a/../a/f")}}), "nothing is wrong");
  EXPECT_NE(wrong({{"--out", path("a/f")}, {"--svg", path("link/f")}}), "nothing is wrong");
}

TEST_F(OutputsTest, DevicesMayBeWrittenTwice) {
  EXPECT_EQ(wrong({{"--metrics", "/dev/null"}, {"--svg", "/dev/null"}}), "nothing is wrong");
}

TEST_F(OutputsTest, InputsAreNotReplaced) {
  write("graph");
  EXPECT_EQ(wrong({{"--svg", path("graph")}}, {path("graph")}),
            path("graph") + ": cannot be written: it is the same file as the input `" + path("graph") +
                "`; give the output another name");
}

TEST_F(OutputsTest, OnlyTheRunThatIsContinuedIsReplaced) {
  write("run");
  EXPECT_EQ(wrong({{"--out", path("run"), path("run")}}, {path("run")}), "nothing is wrong");
  EXPECT_NE(wrong({{"--out", path("new"), path("run")}, {"--svg", path("run")}}, {path("run")}), "nothing is wrong");
}

TEST_F(OutputsTest, AFolderIsNoFile) {
  fs::create_directory(path("a"));
  EXPECT_EQ(wrongFile("a"), ": cannot be written: it is a folder; expected the name of a file");
}

TEST_F(OutputsTest, TheFolderIsThere) {
  EXPECT_EQ(wrongFile("none/f"),
            ": cannot be written: the folder `" + path("none") + "` does not exist; create it first");
}

TEST_F(OutputsTest, NamesThatAreTooLongAreRefused) {
  EXPECT_EQ(wrongFile(std::string(255, 'a')), "nothing is wrong");
  EXPECT_EQ(wrongFile(std::string(256, 'a')), ": cannot be written: its name has 256 bytes; expected at most 255");
}

TEST_F(OutputsTest, LeftoversOfKilledProcessesAreRemoved) {
  const std::string old = ".hector-0123456789abcdef.tmp", open = ".hector-0123456789abcdee.tmp",
                    fresh = ".hector-0123456789abcded.tmp", other = ".hector-mine.tmp";
  for (const std::string &name : {old, open, fresh, other})
    write(name);
  for (const std::string &name : {old, open, other})
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::minutes(2));
  std::ifstream holder(path(open));
  removeLeftovers(path("run.safetensors"));
  EXPECT_FALSE(fs::exists(path(old)));
  for (const std::string &name : {open, fresh, other})
    EXPECT_TRUE(fs::exists(path(name))) << name;
}

TEST_F(OutputsTest, ReadOnlyFilesAreRefused) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  write("f");
  fs::permissions(path("f"), fs::perms(0444));
  EXPECT_EQ(wrongFile("f"), ": cannot be written: it is read-only; give the output another name");
}

TEST_F(OutputsTest, FilesInReadOnlyFoldersAreRefused) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  write("f");
  fs::permissions(folder, fs::perms(0555));
  const std::string found = wrongFile("f");
  fs::permissions(folder, fs::perms(0755));
  EXPECT_EQ(found, ": cannot be written: the folder `" + folder.string() + "` is read-only; write to another folder");
}

}  // namespace
}  // namespace hector::training
