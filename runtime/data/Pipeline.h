/// Blocks of a file read by turns, worked on by several threads, and handed on in order by the caller's thread.
#pragma once

#include "runtime/data/Input.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace hector {

/// What long work tells and asks its caller. Called from the thread that started the work.
struct Watch {
  std::function<bool()> stop;  // whether to end early; asked often, so it should be quick
  /// What is being done, and how far it is: packed bytes read of all, and items found.
  std::function<void(std::string_view what, uint64_t done, uint64_t total, int64_t items)> progress;

  bool stopped() const { return stop && stop(); }
};

/// The status of work that was stopped on request.
inline Status stoppedStatus() {
  return Status::failed("stopped on request; nothing was written");
}

/// The status of an import that needs more memory than there is.
inline Status noMemoryStatus(const std::string &what) {
  return Status::failed(what + ": out of memory; nothing was written");
}

/// Calls `work(Block)` on every block, on `threads` threads, and `consume(result, position)` on each result, in order,
/// here. Ends with the first failure of reading or of `consume`. The result is the same for any number of threads.
/// Throws `std::bad_alloc` where any of the threads gets no memory.
template <class T, class Work, class Consume>
Status inOrder(BlockReader &reader, int threads, const Watch &watch, Work work, Consume consume) {
  if (threads <= 1) {
    for (;;) {
      if (watch.stopped())
        return stoppedStatus();
      Result<Block> block = reader.next();
      if (!block)
        return block.status();
      if (block->text.empty())
        return Status::ok();
      if (Status status = consume(work(std::move(*block)), reader.position()); !status.isOk())
        return status;
    }
  }
  struct Item {
    T value;
    uint64_t position;
  };
  const uint64_t window = static_cast<uint64_t>(threads) * 2 + 2;
  std::mutex sourceMutex, mutex;
  std::condition_variable changed;
  std::vector<std::optional<Item>> slots(window);
  uint64_t nextRead = 0, nextConsume = 0, end = UINT64_MAX;
  bool quit = false, noMemory = false;
  std::optional<Status> readFailure;

  auto readAndWork = [&] {
    for (;;) {
      uint64_t sequence, position;
      Block block;
      {
        std::lock_guard source(sourceMutex);
        {
          std::unique_lock lock(mutex);
          changed.wait(lock, [&] { return quit || nextRead >= end || nextRead < nextConsume + window; });
          if (quit || nextRead >= end)
            return;
          sequence = nextRead;
        }
        Result<Block> read = reader.next();
        position = reader.position();
        std::lock_guard lock(mutex);
        if (!read || read->text.empty()) {
          if (!read)
            readFailure = read.status();
          end = sequence;
          changed.notify_all();
          return;
        }
        nextRead = sequence + 1;
        block = std::move(*read);
      }
      T value = work(std::move(block));
      std::lock_guard lock(mutex);
      slots[sequence % window].emplace(Item{std::move(value), position});
      changed.notify_all();
    }
  };
  // An exception that left a thread would end the process.
  auto run = [&] {
    try {
      readAndWork();
    } catch (const std::bad_alloc &) {
      std::lock_guard lock(mutex);
      noMemory = quit = true;
      changed.notify_all();
    }
  };
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i)
      workers.emplace_back(run);
  } catch (const std::system_error &) {
    if (workers.empty())  // fewer threads than asked for do as well
      throw std::bad_alloc();
  }

  Status status = Status::ok();
  auto consumeAll = [&] {
    for (;;) {
      std::optional<Item> item;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return quit || nextConsume >= end || slots[nextConsume % window].has_value(); });
        if (quit)
          return;
        if (nextConsume >= end) {
          if (readFailure)
            status = *readFailure;
          return;
        }
        item.swap(slots[nextConsume % window]);
        ++nextConsume;
        changed.notify_all();
      }
      status = watch.stopped() ? stoppedStatus() : consume(std::move(item->value), item->position);
      if (!status.isOk())
        return;
    }
  };
  bool noMemoryHere = false;
  try {
    consumeAll();
  } catch (const std::bad_alloc &) {
    noMemoryHere = true;
  }
  {
    std::lock_guard lock(mutex);
    quit = true;
    changed.notify_all();
  }
  for (std::thread &worker : workers)
    worker.join();
  if (noMemory || noMemoryHere)
    throw std::bad_alloc();
  return status;
}

}  // namespace hector
