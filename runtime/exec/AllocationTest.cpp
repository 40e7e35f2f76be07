/// Counts allocations: steps make none after the first.

#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

// Sanitizers have a malloc of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HECTOR_COUNTS_ALLOCATIONS 0
#else
#define HECTOR_COUNTS_ALLOCATIONS 1
#endif

static std::atomic<int64_t> allocations = 0;

#if HECTOR_COUNTS_ALLOCATIONS
// The C library's own functions, which these take the place of; operator new calls them as well.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void *realloc(void *memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
}
#endif

using namespace hector;
using namespace hector::exec;

class AllocationTest : public testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Threads, AllocationTest, testing::Combine(testing::Values(1, 2, 5), testing::Bool()),
                         [](const auto &info) {
                           return "With" + std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Poisoned" : "");
                         });

TEST_P(AllocationTest, StepsAllocateNothingAfterTheFirst) {
  if (!HECTOR_COUNTS_ALLOCATIONS)
    GTEST_SKIP() << "a sanitizer counts allocations here";
  auto [threads, poison] = GetParam();
  const TestGraph graph = randomGraph("", 3, 500, 5000, 20);
  example::Values values(graph);
  Executor executor = example::makeExecutor(graph, {.threads = threads, .poison = poison});
  values.setAll(executor, graph);
  // A training loop hands over new weights and gradients in each step; this one needs a copy.
  const Tensor scale = Tensor::fromDoubles({1}, values.scale, DType::F64);
  const Tensor w = Tensor::fromDoubles({graph.numEdges()}, values.w, DType::F32);
  auto step = [&](uint64_t number) {
    executor.setTraining(1, number);
    return executor.setInput("scale", scale).isOk() && executor.setInput("w", w).isOk() && executor.runAll().isOk() &&
           executor.view("out");
  };
  const int64_t atStart = allocations;
  ASSERT_TRUE(step(0));
  EXPECT_GT(allocations, atStart);  // the copy; so they are counted
  const int64_t before = allocations;
  bool isRun = true;
  for (uint64_t i = 1; i < 20; ++i)
    isRun &= step(i);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(isRun);
}
