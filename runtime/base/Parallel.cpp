#include "runtime/base/Parallel.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/Text.h"

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <system_error>
#include <thread>

namespace hector {

namespace {

constexpr int kMaxThreads = 1024;

/// The text of HECTOR_THREADS; nothing where it is empty or not set.
std::optional<std::string> threadSetting() {
  const char *text = std::getenv("HECTOR_THREADS");
  return text && text[0] != '\0' ? std::optional<std::string>(text) : std::nullopt;
}

std::optional<int> parseThreads(const std::string &text) {
  int value = 0;
  const char *last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 1 || value > kMaxThreads)
    return std::nullopt;
  return value;
}

int defaultThreads() {
  if (auto text = threadSetting())
    if (auto threads = parseThreads(*text))
      return *threads;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
    return std::clamp(CPU_COUNT(&allowed), 1, kMaxThreads);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
}

thread_local int threadLimit = 0;    // 0: the default
thread_local bool isInLoop = false;  // of this thread, as caller or as worker

/// One loop in flight. Threads take chunks until none is left.
struct Loop {
  int64_t numChunks;
  void (*run)(void *, int64_t);
  void *context;
  std::atomic<int64_t> next = 0;
  std::mutex mutex = {};
  std::exception_ptr failure = nullptr;                 // of the chunk that failed first, if any
  const bool isShielded = InterruptShield::isActive();  // the caller; helpers work on its behalf

  void work() {
    std::optional<InterruptShield> shield;
    if (isShielded)
      shield.emplace();
    isInLoop = true;
    try {
      for (int64_t chunk = next++; chunk < numChunks; chunk = next++)
        run(context, chunk);
    } catch (...) {
      next = numChunks;
      std::lock_guard lock(mutex);
      if (!failure)
        failure = std::current_exception();
    }
    isInLoop = false;
  }
};

/// Of `useTeam`. One is never deleted, since a loop may be about to start on it.
struct TeamOfThreads {
  Team run;
  int threads;
};
std::atomic<const TeamOfThreads *> sharedTeam = nullptr;

class Pool {
public:
  /// False if another thread is using the pool.
  bool tryRun(Loop &work, int helpers) {
    std::unique_lock use(inUse, std::try_to_lock);
    if (!use)
      return false;
    if (const TeamOfThreads *team = sharedTeam.load(std::memory_order_acquire); team && team->threads == numThreads()) {
      // A team that changes its size makes new threads, so that all take part, also where there are fewer chunks.
      team->run([](void *data) { static_cast<Loop *>(data)->work(); }, &work, static_cast<unsigned>(team->threads), 0);
      return true;
    }
    {
      std::lock_guard lock(mutex);
      while (static_cast<int>(threads.size()) < helpers && addThread())
        ;
      loop = &work;
      places = std::min(helpers, static_cast<int>(threads.size()));
    }
    wake.notify_all();
    work.work();
    std::unique_lock lock(mutex);
    places = 0;
    loop = nullptr;
    idle.wait(lock, [&] { return working == 0; });
    return true;
  }

private:
  /// If the system refuses another thread, the loop uses fewer.
  bool addThread() {
    try {
      threads.emplace_back([this] { serve(); });
    } catch (const std::system_error &) {
      return false;
    }
    return true;
  }

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return places > 0; });
      --places;
      ++working;
      Loop *mine = loop;
      lock.unlock();
      mine->work();
      lock.lock();
      if (--working == 0)
        idle.notify_all();
    }
  }

  std::mutex inUse;  // held by the thread whose loop it is
  std::mutex mutex;  // guards what follows
  std::condition_variable wake, idle;
  std::vector<std::thread> threads;
  Loop *loop = nullptr;
  int places = 0;   // helpers that the loop can still take
  int working = 0;  // helpers at work
};

std::atomic<Pool *> sharedPool = nullptr;

/// The pool of this process. It is never deleted: when the process ends, other threads may still be in a loop. A child
/// of `fork` has none of its parent's threads, so it leaves the parent's pool alone and makes one of its own when it
/// needs one.
Pool &poolOfProcess() {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, [] {
    sharedPool.store(nullptr, std::memory_order_relaxed);
    sharedTeam.store(nullptr, std::memory_order_relaxed);
  });
  Pool *pool = sharedPool.load(std::memory_order_acquire);
  if (!pool) {
    auto made = std::make_unique<Pool>();
    if (sharedPool.compare_exchange_strong(pool, made.get(), std::memory_order_acq_rel))
      pool = made.release();
  }
  return *pool;
}

}  // namespace

int numThreads() {
  static const int fromEnvironment = defaultThreads();
  return threadLimit > 0 ? threadLimit : fromEnvironment;
}

Status checkThreadSetting() {
  const std::optional<std::string> text = threadSetting();
  if (!text || parseThreads(*text))
    return Status::ok();
  return Status::invalid("HECTOR_THREADS is " + inTicks(*text) + "; expected a whole number of threads from 1 to " +
                         std::to_string(kMaxThreads));
}

ThreadLimit::ThreadLimit(int threads) : previous(threadLimit) {
  threadLimit = std::clamp(threads, 1, kMaxThreads);
}

ThreadLimit::~ThreadLimit() {
  threadLimit = previous;
}

void useTeam(Team team, int threads) {
  (void)poolOfProcess();  // which knows of `fork`
  sharedTeam.store(team ? new TeamOfThreads{team, threads} : nullptr, std::memory_order_release);
}

void detail::runChunks(int64_t numChunks, void (*run)(void *, int64_t), void *context) {
  auto helpers = static_cast<int>(std::min<int64_t>(numThreads(), numChunks)) - 1;
  if (helpers > 0 && !isInLoop) {
    Loop loop{numChunks, run, context};
    if (poolOfProcess().tryRun(loop, helpers)) {
      if (loop.failure)
        std::rethrow_exception(loop.failure);
      return;
    }
  }
  for (int64_t chunk = 0; chunk < numChunks; ++chunk)
    run(context, chunk);
}

}  // namespace hector
