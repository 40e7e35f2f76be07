#include "runtime/jit/Cache.h"

#include "runtime/base/Memory.h"
#include "runtime/jit/JitFolderTest.h"

#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>

using namespace hector;

namespace {

const std::string kKey(32, '7');

class CacheTest : public JitFolderTest {
protected:
  static std::span<const std::byte> bytesOf(const std::string &text) { return std::as_bytes(std::span(text)); }
  static std::string textOf(const std::optional<MappedFile> &file) {
    return file ? std::string(reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size()) : "nothing";
  }
  /// A name as those of code, different for each number.
  static std::string codeName(char digit) { return CodeCache::codeName(std::string(32, digit)); }
  void age(const std::string &file, int64_t seconds) const {
    const timespec time = {std::time(nullptr) - seconds, 0};
    const timespec times[] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  static std::string openMessage() {
    auto cache = CodeCache::open();
    return cache ? "" : cache.status().message();
  }
};

// Its place.

TEST_F(CacheTest, PlaceFollowsTheEnvironment) {
  Setting home("HOME", "/h"), xdg("XDG_CACHE_HOME", "/x"), own("HECTOR_CACHE", "/c");
  EXPECT_EQ(*CodeCache::place(), "/c/code");
  Setting noOwn("HECTOR_CACHE", "");
  EXPECT_EQ(*CodeCache::place(), "/x/hector/code");
  Setting relative("XDG_CACHE_HOME", "x");
  EXPECT_EQ(*CodeCache::place(), "/h/.cache/hector/code");
  Setting noHome("HOME", nullptr);
  EXPECT_EQ(CodeCache::place().status().message(),
            "there is no place for compiled code: none of HECTOR_CACHE, XDG_CACHE_HOME and HOME is set to a full path; "
            "set one of them");
}

TEST_F(CacheTest, RelativePlacesAreRefused) {
  Setting own("HECTOR_CACHE", "cache");
  EXPECT_EQ(openMessage(), "HECTOR_CACHE is `cache`; expected a full path, such as /scratch/me");
}

TEST_F(CacheTest, FoldersAreForTheirOwnerOnly) {
  Setting own("HECTOR_CACHE", path("deep/cache").c_str());
  ASSERT_EQ(openMessage(), "");
  for (const char *made : {"deep", "deep/cache", "deep/cache/code"}) {
    struct stat info;
    ASSERT_EQ(::stat(path(made).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << made;
  }
}

TEST_F(CacheTest, FoldersThatOthersCanWriteToAreRefused) {
  ASSERT_EQ(openMessage(), "");
  for (mode_t mode : {0770, 0707})
    for (const std::string &unsafe : {path("cache"), cached()}) {
      ASSERT_EQ(::chmod(unsafe.c_str(), mode), 0);
      EXPECT_EQ(openMessage(), unsafe + ": not safe for compiled code: others can write to it; run `chmod 700 " +
                                   unsafe + "`, or set HECTOR_CACHE to a folder of your own");
      EXPECT_FALSE(cacheState());
      EXPECT_FALSE(clearCache());
      ASSERT_EQ(::chmod(unsafe.c_str(), 0755), 0);
      EXPECT_EQ(openMessage(), "");
    }
}

TEST_F(CacheTest, FoldersOfOthersAreRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a folder away";
  std::filesystem::create_directories(path("theirs/code"));
  ASSERT_EQ(::chown(path("theirs").c_str(), 65534, 65534), 0);
  const std::string rest = ": not safe for compiled code: it belongs to user 65534, and this is user 0; set "
                           "HECTOR_CACHE to a folder of your own";
  Setting theirs("HECTOR_CACHE", path("theirs").c_str());
  EXPECT_EQ(openMessage(), path("theirs") + rest);
  // A link of our own leads there.
  std::filesystem::create_directory_symlink(path("theirs"), path("link"));
  Setting link("HECTOR_CACHE", path("link").c_str());
  EXPECT_EQ(openMessage(), path("link") + rest);
  std::filesystem::create_directory(path("ours"));
  std::filesystem::create_directory_symlink(path("theirs"), path("ours/code"));
  Setting below("HECTOR_CACHE", path("ours").c_str());
  EXPECT_EQ(openMessage(), path("ours/code") + rest);
}

TEST_F(CacheTest, LinksToOwnFoldersAreFine) {
  std::filesystem::create_directory(path("elsewhere"));
  std::filesystem::create_directory_symlink(path("elsewhere"), path("cache"));
  EXPECT_EQ(openMessage(), "");
  EXPECT_TRUE(std::filesystem::is_directory(path("elsewhere/code")));
}

TEST_F(CacheTest, FoldersThatCannotBeMadeAreNamed) {
  write(path("cache"), "a file");
  EXPECT_EQ(openMessage(),
            path("cache") + ": cannot be created: File exists; set HECTOR_CACHE to a folder that can be written");
}

// What is kept.

TEST_F(CacheTest, WhatIsKeptIsFound) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  EXPECT_EQ(textOf(cache->find(codeName('a'))), "nothing");
  ASSERT_TRUE(cache->insert(codeName('a'), bytesOf("first")).isOk());
  EXPECT_EQ(textOf(cache->find(codeName('a'))), "first");
  ASSERT_TRUE(cache->insert(codeName('a'), bytesOf("second")).isOk());
  EXPECT_EQ(textOf(cache->find(codeName('a'))), "second");
}

TEST_F(CacheTest, DamagedEntriesAreNotFound) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  ASSERT_TRUE(cache->insert(codeName('a'), bytesOf("some bytes")).isOk());
  const std::string whole = contents(cached(codeName('a')));
  for (size_t i = 0; i < whole.size(); ++i) {
    write(cached(codeName('a')), whole.substr(0, i));
    EXPECT_FALSE(cache->find(codeName('a'))) << "cut to " << i;
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 4);
    write(cached(codeName('a')), flipped);
    EXPECT_FALSE(cache->find(codeName('a'))) << "bit flipped in byte " << i;
  }
  // Whole, but of another name.
  write(cached(codeName('b')), whole);
  EXPECT_FALSE(cache->find(codeName('b')));
}

// The limit.

TEST_F(CacheTest, LeastRecentlyUsedGoFirst) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  const std::string kilobyte(1024, 'x');
  for (char digit : {'a', 'b', 'c', 'd'})
    ASSERT_TRUE(cache->insert(codeName(digit), bytesOf(kilobyte)).isOk());
  age(cached(codeName('a')), 400);
  age(cached(codeName('b')), 300);
  age(cached(codeName('c')), 200);
  age(cached(codeName('d')), 100);
  EXPECT_TRUE(cache->find(codeName('a')));  // used just now
  cache->trim(3 * 1200);
  EXPECT_EQ(cachedNames(".so"), (std::vector<std::string>{codeName('a'), codeName('c'), codeName('d')}));
  cache->trim(1200);
  EXPECT_EQ(cachedNames(".so"), std::vector<std::string>{codeName('a')});
  cache->trim(0);
  EXPECT_TRUE(cachedNames(".so").empty());
}

TEST_F(CacheTest, LimitComesFromTheEnvironment) {
  EXPECT_EQ(*cacheLimit(), int64_t{1} << 30);
  Setting given("HECTOR_CACHE_LIMIT", "500M");
  EXPECT_EQ(*cacheLimit(), 500 << 20);
  Setting wrong("HECTOR_CACHE_LIMIT", "a lot");
  EXPECT_EQ(cacheLimit().status().message(), std::string("HECTOR_CACHE_LIMIT is `a lot`; expected ") + kByteForms +
                                                 ", from 0 to 1024G, such as 500M or 2G");
}

// Processes.

TEST_F(CacheTest, LocksWaitForTheirHolder) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  const pid_t other = fork([&] {
    auto lock = cache->lock(kKey);
    write(path("locked"), "");
    ::usleep(100'000);
    write(path("released"), "");
  });
  while (!std::filesystem::exists(path("locked")))
    ::usleep(1000);
  {
    auto lock = cache->lock(kKey);
    ASSERT_TRUE(lock);
    EXPECT_TRUE(std::filesystem::exists(path("released")));
  }
  expectSuccess(other);
  EXPECT_TRUE(cachedNames(".lock").empty());
}

TEST_F(CacheTest, LocksOfDeadProcessesAreNoObstacle) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  expectSuccess(fork([&] {
    auto lock = cache->lock(kKey);
    ::_exit(0);
  }));
  ASSERT_EQ(cachedNames(".lock").size(), 1u);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(cache->lock(kKey));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(CacheTest, LeftoversOfDeadProcessesAreRemoved) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  expectSuccess(fork([&] {
    auto lock = cache->lock(kKey);
    auto folder = cache->createBuildFolder();
    write(folder->path() + "/code.so", "half");
    age(folder->path(), 1000);
    age(cached(kKey + ".lock"), 1000);
    ::_exit(0);
  }));
  write(cached(".hector-0123456789abcdef.tmp"), "half");
  age(cached(".hector-0123456789abcdef.tmp"), 1000);
  auto living = cache->createBuildFolder();
  ASSERT_TRUE(living);
  age(living->path(), 1000);
  // Just made, and not locked yet.
  std::filesystem::create_directory(cached("hector-build-000000"));
  write(cached("notes.txt"), "of someone else");
  age(cached("notes.txt"), 1000);
  cache->trim(kDefaultCacheLimit);
  EXPECT_EQ(cachedNames(""),
            (std::vector<std::string>{"hector-build-000000", living->path().substr(cached().size() + 1), "notes.txt"}));
}

TEST_F(CacheTest, CodeForGpusIsKeptAndTrimmedLikeOther) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  ASSERT_TRUE(cache->insert(codeName('a'), bytesOf("bytes")).isOk());
  const std::string cubin = CodeCache::codeName(std::string(32, 'b'), CodeKind::Gpu);
  ASSERT_TRUE(cache->insert(cubin, bytesOf("bytes")).isOk());
  age(cached(codeName('a')), 1000);
  auto state = cacheState();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->numEntries, 2);
  EXPECT_EQ(state->numGpuEntries, 1);
  EXPECT_NEAR(static_cast<double>(state->newestUse - state->oldestUse), 1000, 10);
  cache->trim(static_cast<int64_t>(std::filesystem::file_size(cached(cubin))));
  EXPECT_EQ(cachedNames(""), std::vector<std::string>{cubin});
  auto cleared = clearCache();
  ASSERT_TRUE(cleared);
  EXPECT_EQ(cleared->numEntries, 1);
}

// What users see and empty.

TEST_F(CacheTest, StateCreatesNothing) {
  auto state = cacheState();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->folder, cached());
  EXPECT_EQ(state->numEntries, 0);
  EXPECT_EQ(state->limit, kDefaultCacheLimit);
  EXPECT_TRUE(clearCache());
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(CacheTest, StateCountsWhatIsKept) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  for (char digit : {'a', 'b'})
    ASSERT_TRUE(cache->insert(codeName(digit), bytesOf("bytes")).isOk());
  age(cached(codeName('a')), 1000);
  std::filesystem::create_directory(cached("failed-" + kKey));
  write(cached("failed-" + kKey) + "/model.cpp", "0123456789");
  auto state = cacheState();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->numEntries, 2);
  EXPECT_EQ(state->numFailures, 1);
  EXPECT_EQ(state->numBytes, static_cast<int64_t>(2 * std::filesystem::file_size(cached(codeName('a'))) + 10));
  EXPECT_NEAR(static_cast<double>(state->newestUse - state->oldestUse), 1000, 10);
}

TEST_F(CacheTest, ClearingRemovesOnlyOurs) {
  auto cache = CodeCache::open();
  ASSERT_TRUE(cache);
  ASSERT_TRUE(cache->insert(codeName('a'), bytesOf("bytes")).isOk());
  ASSERT_TRUE(cache->insert(CodeCache::compilerName(kKey), bytesOf("c++")).isOk());
  std::filesystem::create_directory(cached("failed-" + kKey));
  const std::vector<std::string> others = {"build", "failed-try", "libanswer.so", "notes.txt"};
  for (const std::string &name : others)
    write(cached(name), "of someone else");
  auto living = cache->createBuildFolder();
  auto cleared = clearCache();
  ASSERT_TRUE(cleared);
  EXPECT_EQ(cleared->numEntries, 1);
  EXPECT_EQ(cleared->numFailures, 1);
  EXPECT_TRUE(std::filesystem::exists(living->path()));
  std::filesystem::remove_all(living->path());
  EXPECT_EQ(cachedNames(""), others);
}

}  // namespace
