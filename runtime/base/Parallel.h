/// Parallel loops with results that do not depend on the number of threads.
///
/// `parallelFor` cuts `count` items into chunks of `grain`. The bounds depend only on those two numbers, and whichever
/// thread is free takes the next chunk. So a value that is computed per chunk (a histogram, a sum) and combined in
/// chunk order is the same for one thread and for a hundred.
#pragma once

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

namespace hector {

/// How many threads a loop may use: the innermost `ThreadLimit`, else HECTOR_THREADS (1 to 1024), else one per
/// processor that this process may run on.
int numThreads();

/// Fails if HECTOR_THREADS is set to something else, which `numThreads` ignores. Programs ask at their start.
Status checkThreadSetting();

/// Sets `numThreads` for the calling thread as long as it lives.
class ThreadLimit {
public:
  explicit ThreadLimit(int threads);
  ThreadLimit(const ThreadLimit &) = delete;
  ThreadLimit &operator=(const ThreadLimit &) = delete;
  ~ThreadLimit();

private:
  int previous;
};

/// Threads of someone else: calls body(data) on so many threads, the caller among them, and returns when all of these
/// calls have. It is what compilers call for OpenMP's parallel regions (`GOMP_parallel`); `flags` is 0.
using Team = void (*)(void (*body)(void *), void *data, unsigned threads, unsigned flags);

/// From now on, loops that may use exactly `threads` threads run on those of a team instead of those of the pool. Where
/// a program computes with both in turns, threads of either that wait for their next work take time from the other.
/// Null ends that, and so does `fork` in the child, in which the team has no threads.
void useTeam(Team team, int threads);

namespace detail {
void runChunks(int64_t numChunks, void (*run)(void *context, int64_t chunk), void *context);
}  // namespace detail

inline int64_t numChunks(int64_t count, int64_t grain) {
  return count / grain + (count % grain != 0);
}

/// A grain that gives at most `maxChunks` chunks of at least `minGrain` items, for loops that keep memory per chunk.
inline int64_t grainFor(int64_t count, int64_t minGrain, int64_t maxChunks) {
  return std::max(minGrain, numChunks(count, maxChunks));
}

/// Calls `body(begin, end)` for each chunk of 0 .. count-1 and returns when all are done. The calling thread takes
/// part; the others come from a pool that is kept, one per process, or from a team (`useTeam`). May be called from any
/// thread at any time: inside another loop, or while the pool is busy, it runs on the calling thread alone. Where
/// `body` throws, chunks not begun are left out and one of the exceptions is thrown again by the caller.
template <class F> void parallelFor(int64_t count, int64_t grain, F &&body) {
  struct Context {
    int64_t count, grain;
    std::remove_reference_t<F> *body;
  } context = {count, grain, &body};
  detail::runChunks(
      numChunks(count, grain),
      [](void *opaque, int64_t chunk) {
        auto &c = *static_cast<Context *>(opaque);
        int64_t begin = chunk * c.grain;
        (*c.body)(begin, c.count - begin < c.grain ? c.count : begin + c.grain);
      },
      &context);
}

/// Working memory that chunks borrow. There are as many copies as threads use it at the same time.
template <class T> class ScratchPool {
public:
  class Lease {
  public:
    Lease(ScratchPool &pool, std::unique_ptr<T> item) : pool(pool), item(std::move(item)) {}
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    ~Lease() {
      std::lock_guard lock(pool.mutex);
      pool.free.push_back(std::move(item));
    }
    T &operator*() { return *item; }
    T *operator->() { return item.get(); }

  private:
    ScratchPool &pool;
    std::unique_ptr<T> item;
  };

  Lease borrow() {
    std::unique_ptr<T> item;
    {
      std::lock_guard lock(mutex);
      if (!free.empty()) {
        item = std::move(free.back());
        free.pop_back();
      }
    }
    return Lease(*this, item ? std::move(item) : std::make_unique<T>());
  }

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<T>> free;
};

}  // namespace hector
