#include "runtime/storage/File.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Interrupt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace hector;
namespace fs = std::filesystem;

namespace {

class FileTest : public FolderTest {
protected:
  static Status replace(const std::string &file, const std::string &text) {
    std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(text))};
    return replaceFile(file, pieces);
  }
  static std::string errorOf(const Result<MappedFile> &result) {
    return result ? "no error" : result.status().message();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto &entry : fs::directory_iterator(folder))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }
};

}  // namespace

TEST_F(FileTest, MappedBytesAreTheFiles) {
  ASSERT_TRUE(replace(path("t"), "abc").isOk());
  Result<MappedFile> file = mapFile(path("t"));
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size()), "abc");
}

TEST_F(FileTest, MappedBytesOutliveTheFile) {
  ASSERT_TRUE(replace(path("t"), "abc").isOk());
  Result<MappedFile> file = mapFile(path("t"));
  ASSERT_TRUE(file) << errorOf(file);
  fs::remove(path("t"));
  EXPECT_EQ(file->bytes[2], std::byte{'c'});
}

TEST_F(FileTest, EmptyFilesHaveNoBytes) {
  ASSERT_TRUE(replace(path("t"), "").isOk());
  Result<MappedFile> file = mapFile(path("t"));
  ASSERT_TRUE(file) << errorOf(file);
  EXPECT_TRUE(file->bytes.empty());
}

TEST_F(FileTest, PiecesOfAllSizesFollowEachOther) {
  std::string small = "small", large(200'000, 'x'), whole;
  std::vector<std::span<const std::byte>> pieces;
  for (const std::string *piece : {&small, &large, &small, &small, &large, &small}) {
    pieces.push_back(std::as_bytes(std::span(*piece)));
    pieces.emplace_back();
    whole += *piece;
  }
  ASSERT_TRUE(replaceFile(path("t"), pieces).isOk());
  EXPECT_EQ(contents(path("t")), whole);
}

TEST_F(FileTest, NamesWithoutAFolderAreInTheCurrentOne) {
  fs::path before = fs::current_path();
  fs::current_path(folder);
  Status status = replace("t", "abc");
  fs::current_path(before);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(names(), std::vector<std::string>{"t"});
}

TEST_F(FileTest, WritingLeavesNothingElseBehind) {
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  ASSERT_TRUE(replace(path("t"), "new").isOk());
  EXPECT_EQ(names(), std::vector<std::string>{"t"});
}

TEST_F(FileTest, ReplacementKeepsThePermissions) {
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  fs::permissions(path("t"), fs::perms(0640));
  ASSERT_TRUE(replace(path("t"), "new").isOk());
  EXPECT_EQ(fs::status(path("t")).permissions(), fs::perms(0640));
}

TEST_F(FileTest, ReplacementFollowsLinks) {
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  fs::create_symlink("t", path("link"));
  ASSERT_TRUE(replace(path("link"), "new").isOk());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("t")), "new");
}

TEST_F(FileTest, OldContentsStayWhereTheDiskRefusesTheNew) {
  ASSERT_TRUE(replace(path("t"), "old").isOk());

  struct rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = {4096, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  Status status = replace(path("t"), std::string(80072, 'x'));
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, oldHandler);

  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: File too large; 80072 bytes are needed");
  EXPECT_EQ(status.blame(), Blame::Machine);
  EXPECT_EQ(contents(path("t")), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"t"});
}

TEST_F(FileTest, OldContentsStayWhereTheFolderIsReadOnly) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  fs::permissions(folder, fs::perms(0555));
  Status status = replace(path("t"), "new");
  fs::permissions(folder, fs::perms(0755));
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: Permission denied");
  EXPECT_EQ(contents(path("t")), "old");
}

TEST_F(FileTest, ReadOnlyFilesAreNotReplaced) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  fs::permissions(path("t"), fs::perms(0444));
  Status status = replace(path("t"), "new");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t") + ": cannot be written: Permission denied");
}

TEST_F(FileTest, WritingIntoAMissingFolder) {
  Status status = replace(path("no/t"), "old");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(),
            path("no/t") + ": cannot be written: the folder `" + path("no") + "` does not exist; create it first");
  EXPECT_EQ(status.blame(), Blame::User);
}

TEST_F(FileTest, WritingToAFolder) {
  Status status = replace(folder.string(), "old");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), folder.string() + ": cannot be written: it is a folder; expected the name of a file");
}

TEST_F(FileTest, WritingBelowAFile) {
  ASSERT_TRUE(replace(path("t"), "x").isOk());
  Status status = replace(path("t/u"), "old");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), path("t/u") + ": cannot be written: Not a directory");
}

TEST_F(FileTest, WritingToNoName) {
  Status status = replace("", "old");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "cannot write to a file without a name");
}

TEST_F(FileTest, DevicesAreWrittenDirectly) {
  EXPECT_TRUE(replace("/dev/null", "old").isOk());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(FileTest, FullDeviceIsTheMachinesFailure) {
  Status status = replace("/dev/full", "old");
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.message(), "/dev/full: cannot be written: No space left on device; 3 bytes are needed");
  EXPECT_EQ(status.blame(), Blame::Machine);
}

TEST_F(FileTest, InterruptLeavesTheOldContents) {
  ASSERT_TRUE(replace(path("t"), "old").isOk());
  // In a process of its own, which an interrupt then marks for good.
  EXPECT_EXIT(
      {
        noteInterrupts();
        std::raise(SIGINT);
        Status status = replace(path("t"), "new");
        std::fprintf(stderr, "%s", status.isOk() ? "written" : status.message().c_str());
        std::_Exit(interruptExitCode());
      },
      testing::ExitedWithCode(130), "not written: interrupted");
  EXPECT_EQ(contents(path("t")), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(FileTest, ReadingAMissingFile) {
  Result<MappedFile> file = mapFile(path("none"));
  EXPECT_EQ(errorOf(file), path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(file.status().blame(), Blame::User);
}

TEST_F(FileTest, ReadingAFolder) {
  EXPECT_EQ(errorOf(mapFile(folder.string())), folder.string() + ": cannot be read: it is a folder; expected a file");
}

TEST_F(FileTest, ReadingADeviceOrPipeDoesNotWait) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(errorOf(mapFile(path("pipe"))),
            path("pipe") + ": cannot be read: it is not a regular file; expected a file on disk");
}

TEST_F(FileTest, ReadingAFileWithoutPermission) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may read everything";
  ASSERT_TRUE(replace(path("t"), "x").isOk());
  fs::permissions(path("t"), fs::perms(0));
  EXPECT_EQ(errorOf(mapFile(path("t"))), path("t") + ": cannot be read: Permission denied");
}

TEST_F(FileTest, AnOutputThatIsAnInputIsRefusedByAnyName) {
  ASSERT_TRUE(replace(path("t"), "x").isOk());
  fs::create_symlink("t", path("link"));
  fs::create_hard_link(path("t"), path("second"));
  const std::vector<std::string> inputs = {"", path("absent"), path("t")};
  for (const std::string &name : {path("t"), folder.string() + "/./t", path("link"), path("second")}) {
    Status status = refuseOverwriting(name, inputs);
    ASSERT_FALSE(status.isOk()) << name;
    EXPECT_EQ(status.blame(), Blame::User);
    EXPECT_TRUE(status.message().starts_with(name + ": cannot be written: it is the same file as the input "));
  }
}

TEST_F(FileTest, FilesOfAnInputFolderAreInputs) {
  fs::create_directories(path("data/raw"));
  ASSERT_TRUE(replace(path("data/raw/t"), "x").isOk());
  ASSERT_TRUE(replace(path("data/g.safetensors"), "x").isOk());
  const std::vector<std::string> inputs = {path("data")};
  EXPECT_FALSE(refuseOverwriting(path("data/raw/t"), inputs).isOk());
  EXPECT_TRUE(refuseOverwriting(path("data/new"), inputs).isOk());
  EXPECT_TRUE(refuseOverwriting(path("data/g.safetensors"), inputs).isOk());  // of an earlier import
}

TEST_F(FileTest, OutputsThatAreNotReadAreFine) {
  ASSERT_TRUE(replace(path("t"), "x").isOk());
  ASSERT_TRUE(replace(path("u"), "x").isOk());
  const std::vector<std::string> inputs = {path("t"), "/dev/null"};
  for (const std::string &name : {path("u"), path("new"), std::string("/dev/null"), std::string()})
    EXPECT_TRUE(refuseOverwriting(name, inputs).isOk()) << name;
}
