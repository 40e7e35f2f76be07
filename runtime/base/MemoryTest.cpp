#include "runtime/base/Memory.h"

#include "runtime/base/BigVector.h"
#include "runtime/base/FolderTest.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <numeric>

using namespace hector;

TEST(MemoryTest, BytesAreShownInTheLargestUnitThatFits) {
  EXPECT_EQ(formatBytes(0), "0 bytes");
  EXPECT_EQ(formatBytes(1), "1 byte");
  EXPECT_EQ(formatBytes(1023), "1023 bytes");
  EXPECT_EQ(formatBytes(1536), "1.5 KiB");
  EXPECT_EQ(formatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(formatBytes(std::numeric_limits<int64_t>::max()), "8.0 EiB");
}

TEST(MemoryTest, BytesAreReadWithASuffix) {
  EXPECT_EQ(parseBytes("0"), 0);
  EXPECT_EQ(parseBytes("4096"), 4096);
  EXPECT_EQ(parseBytes("512K"), 512 << 10);
  EXPECT_EQ(parseBytes("32M"), 32 << 20);
  EXPECT_EQ(parseBytes("1024G"), int64_t{1} << 40);
  for (const char *text : {"1K", "1k", "1KiB", "1kiB"})
    EXPECT_EQ(parseBytes(text), 1 << 10) << text;
  for (const char *text : {"3M", "3m", "3MiB", "3miB"})
    EXPECT_EQ(parseBytes(text), 3 << 20) << text;
  for (const char *text : {"2G", "2g", "2GiB", "2giB"})
    EXPECT_EQ(parseBytes(text), int64_t{2} << 30) << text;
  for (const char *text : {"", "K", "1.5G", "-1", "1025G", "32Q", "32 M", "1KB", "1Ki", "1iB", "99999999999999999999"})
    EXPECT_EQ(parseBytes(text), std::nullopt) << text;
}

class GroupsTest : public FolderTest {
protected:
  void write(const std::string &name, const std::string &text) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  int64_t freeIn(const std::string &groups) const { return freeInGroups(groups, folder.string()); }
};

TEST_F(GroupsTest, TheSmallestOfNestedLimitsCounts) {
  write("slice/memory.max", "1000\n");
  write("slice/memory.current", "400\n");
  write("slice/job/memory.max", "max\n");
  write("slice/job/memory.current", "300\n");
  EXPECT_EQ(freeIn("0::/slice/job\n"), 600);
  write("slice/job/memory.max", "500\n");
  EXPECT_EQ(freeIn("0::/slice/job\n"), 200);
  write("memory.max", "450\n");
  write("memory.current", "400\n");
  EXPECT_EQ(freeIn("0::/slice/job\n"), 50);
  EXPECT_EQ(freeIn("0::/\n"), 50);
  write("memory.current", "500\n");
  EXPECT_EQ(freeIn("0::/\n"), 0);
}

TEST_F(GroupsTest, PagesOfFilesAreGivenUp) {
  write("memory.max", "1000\n");
  write("memory.current", "900\n");
  write("memory.stat", "anon 100\nfile 800\ninactive_file 750\nactive_file 50\n");
  EXPECT_EQ(freeIn("0::/\n"), 850);
}

TEST_F(GroupsTest, TheFirstVersionIsKnown) {
  write("memory/docker/a/memory.limit_in_bytes", "2000\n");
  write("memory/docker/a/memory.usage_in_bytes", "1500\n");
  write("memory/docker/a/memory.stat", "cache 9\ntotal_inactive_file 100\n");
  EXPECT_EQ(freeIn("12:cpu,cpuacct:/docker/a\n7:memory:/docker/a\n0::/\n"), 600);
}

TEST_F(GroupsTest, WithoutLimitsAllIsFree) {
  for (const char *groups : {"", "0::/nowhere\n", "no group\n", "0::\n", "3:memory:x\n"})
    EXPECT_EQ(freeIn(groups), std::numeric_limits<int64_t>::max()) << groups;
}

TEST(MemoryTest, ThePeakOfResidentMemoryCanBeReset) {
  constexpr int64_t kBytes = 64 << 20;
  auto takeMemory = [] {
    BigVector<char> large(kBytes, 1);
    asm volatile("" : : "r"(large.data()) : "memory");  // else a compiler may leave it out
  };
  takeMemory();
  if (Status status = resetPeakResident(); !status.isOk())
    GTEST_SKIP() << status.message();
  const int64_t before = residentBytes();
  ASSERT_GT(before, 0);
  EXPECT_LT(peakResidentBytes(), before + kBytes / 2);
  takeMemory();
  EXPECT_GE(peakResidentBytes(), before + kBytes / 2);
}

TEST(MemoryTest, WhatFitsIsAllowed) {
  EXPECT_TRUE(requireMemory("a byte", 1).isOk());
}

TEST(MemoryTest, MoreThanTheMachineHasIsRefused) {
  Status status = requireMemory("the graph", int64_t{1} << 60);
  ASSERT_FALSE(status.isOk());
  EXPECT_EQ(status.blame(), Blame::Machine);
  EXPECT_TRUE(status.message().starts_with("the graph needs 1.0 EiB; ")) << status.message();
}

TEST(BigVectorTest, HoldsWhatIsWrittenAtEverySize) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20}) {
    BigVector<int32_t> array(size);
    std::iota(array.begin(), array.end(), 7);
    BigVector<int32_t> copy = array;
    EXPECT_EQ(copy.size(), size);
    EXPECT_TRUE(size == 0 || copy.back() == static_cast<int32_t>(size) + 6);
  }
}

TEST(BigVectorTest, FilledWithAValueWhereOneIsGiven) {
  BigVector<int64_t> array(1000, 0);
  EXPECT_EQ(std::accumulate(array.begin(), array.end(), int64_t{0}), 0);
}
