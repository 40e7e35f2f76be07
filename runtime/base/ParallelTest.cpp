#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace hector;

namespace {

std::set<std::pair<int64_t, int64_t>> chunksOf(int64_t count, int64_t grain, int threads) {
  ThreadLimit limit(threads);
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  parallelFor(count, grain, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(begin, end).second);
  });
  return chunks;
}

}  // namespace

TEST(ParallelTest, ChunksCoverEverythingOnce) {
  EXPECT_EQ(chunksOf(10, 4, 2), (std::set<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
}

TEST(ParallelTest, ChunksDoNotDependOnThreads) {
  for (int64_t count : {1, 63, 64, 1000})
    for (int64_t grain : {1, 7, 64, 5000})
      EXPECT_EQ(chunksOf(count, grain, 1), chunksOf(count, grain, 9));
}

TEST(ParallelTest, NothingToDoCallsNothing) {
  EXPECT_TRUE(chunksOf(0, 8, 4).empty());
}

TEST(ParallelTest, ChunkBoundsBeyond32Bits) {
  const int64_t count = (int64_t{1} << 62) + 5, grain = int64_t{1} << 60;
  auto chunks = chunksOf(count, grain, 2);
  EXPECT_EQ(chunks.size(), 5u);
  EXPECT_EQ(*chunks.rbegin(), std::pair(grain * 4, count));
}

static void expectThreeThreads() {
  std::atomic<int> arrived = 0;
  // Each chunk waits for the other two, which only other threads can run.
  parallelFor(3, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

TEST(ParallelTest, SeveralThreadsTakePart) {
  ThreadLimit limit(3);
  expectThreeThreads();
}

std::atomic<int> teamRuns = 0;

/// As `GOMP_parallel`, with threads of its own for each call.
void runTeam(void (*body)(void *), void *data, unsigned threads, unsigned) {
  ++teamRuns;
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(body, data);
  body(data);
  for (std::thread &other : others)
    other.join();
}

class TeamTest : public testing::Test {
protected:
  void SetUp() override {
    teamRuns = 0;
    useTeam(runTeam, 3);
  }
  void TearDown() override { useTeam(nullptr, 0); }
  static int64_t sumOf(int64_t count) {
    std::atomic<int64_t> sum = 0;
    parallelFor(count, 1, [&](int64_t begin, int64_t) { sum += begin; });
    return sum;
  }
};

TEST_F(TeamTest, LoopsOfAsManyThreadsRunOnIt) {
  ThreadLimit limit(3);
  expectThreeThreads();
  EXPECT_EQ(teamRuns, 1);
  EXPECT_EQ(sumOf(2), 1);  // the whole team, for fewer chunks
  EXPECT_EQ(teamRuns, 2);
  EXPECT_EQ(sumOf(1), 0);
  EXPECT_EQ(teamRuns, 2);
}

TEST_F(TeamTest, OtherLoopsRunInThePool) {
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    EXPECT_EQ(sumOf(1000), 499500);
  }
  EXPECT_EQ(teamRuns, 0);
}

TEST_F(TeamTest, ExceptionsReachTheCaller) {
  ThreadLimit limit(3);
  EXPECT_THROW(parallelFor(100, 1, [](int64_t, int64_t) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(sumOf(1000), 499500);
  EXPECT_EQ(teamRuns, 2);
}

TEST_F(TeamTest, LoopsOfSeveralThreadsShareOneTeam) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      ThreadLimit limit(3);
      for (int round = 0; round < 50; ++round)
        EXPECT_EQ(sumOf(100), 4950);
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_GT(teamRuns, 0);
}

TEST_F(TeamTest, AChildOfForkHasNone) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    ThreadLimit limit(3);
    _exit(sumOf(1000) == 499500 && teamRuns == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ParallelTest, LoopsInsideLoopsFinish) {
  ThreadLimit limit(4);
  std::atomic<int64_t> sum = 0;
  parallelFor(8, 1, [&](int64_t, int64_t) {
    parallelFor(100, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sum += i;
    });
  });
  EXPECT_EQ(sum, 8 * 4950);
}

TEST(ParallelTest, LoopsOfSeveralThreadsFinish) {
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      ThreadLimit limit(3);
      for (int round = 0; round < 50; ++round)
        parallelFor(64, 1, [&](int64_t begin, int64_t) { sum += begin; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 50 * 2016);
}

TEST(ParallelTest, LimitsNest) {
  ThreadLimit outer(5);
  {
    ThreadLimit inner(2);
    EXPECT_EQ(numThreads(), 2);
  }
  EXPECT_EQ(numThreads(), 5);
}

TEST(ParallelTest, GrainBoundsTheNumberOfChunks) {
  EXPECT_EQ(grainFor(100, 10, 64), 10);
  EXPECT_EQ(grainFor(6400, 10, 64), 100);
  EXPECT_EQ(numChunks(int64_t{1} << 40, grainFor(int64_t{1} << 40, 1000, 64)), 64);
}

TEST(ScratchPoolTest, MemoryIsReusedOnceReturned) {
  ScratchPool<int> pool;
  int *first = nullptr;
  {
    auto lease = pool.borrow();
    first = &*lease;
    EXPECT_NE(&*pool.borrow(), first);
  }
  EXPECT_EQ(&*pool.borrow(), first);
}

TEST(ParallelTest, AnExceptionReachesTheCaller) {
  ThreadLimit limit(4);
  for (int64_t bad : {0, 37, 99})
    EXPECT_THROW(parallelFor(100, 1,
                             [&](int64_t begin, int64_t) {
                               if (begin == bad)
                                 throw std::bad_alloc();
                             }),
                 std::bad_alloc);
  std::atomic<int64_t> sum = 0;
  parallelFor(100, 1, [&](int64_t begin, int64_t) { sum += begin; });  // the pool is whole
  EXPECT_EQ(sum, 4950);
}

TEST(ParallelTest, AChildOfForkHasThreadsOfItsOwn) {
  ThreadLimit limit(4);
  auto sumOf = [] {
    std::atomic<int64_t> sum = 0;
    parallelFor(1000, 1, [&](int64_t begin, int64_t) { sum += begin; });
    return sum.load();
  };
  EXPECT_EQ(sumOf(), 499500);  // the parent has helpers now
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // instead of waiting for helpers that are not there
    _exit(sumOf() == 499500 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(sumOf(), 499500);
}
