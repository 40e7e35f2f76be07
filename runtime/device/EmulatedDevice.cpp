#include "runtime/device/EmulatedDevice.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/Emulator.h"
#include "runtime/jit/Compiler.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define HECTOR_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HECTOR_HAS_ASAN 1
#endif
#endif

namespace hector {

namespace {

constexpr size_t kAlignment = 256;
/// Bytes before and after each allocation that nobody may write. The sanitizer has its own.
#ifdef HECTOR_HAS_ASAN
constexpr size_t kGuardBytes = 0;
#else
constexpr size_t kGuardBytes = kAlignment;
#endif
constexpr std::byte kGuard{0xa5}, kUnset{0xff};

class EmulatedKernel : public Kernel {
public:
  EmulatedKernel(std::string name, cuda::HostEntry *entry) : Kernel(std::move(name)), entry(entry) {}
  cuda::HostEntry *const entry;
};

class EmulatedProgram : public DeviceProgram {
public:
  EmulatedProgram(Library library, std::string what) : library(std::move(library)), what(std::move(what)) {}

  Result<Kernel *> kernel(const std::string &name) override {
    if (auto known = kernels.find(name); known != kernels.end())
      return known->second.get();
    auto *entry = reinterpret_cast<cuda::HostEntry *>(library.find((name + "_host").c_str()));
    if (!entry)
      return Status::failed("the code of " + what + " has no kernel " + inTicks(name) +
                            "; does it say HECTOR_CUDA_KERNEL(" + name + ")?");
    auto kernel = std::make_unique<EmulatedKernel>(name, entry);
    return kernels.emplace(name, std::move(kernel)).first->second.get();
  }

private:
  Library library;
  std::string what;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

class EmulatedMark : public Mark {
public:
  const std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

class EmulatedRecording : public Recording {
public:
  explicit EmulatedRecording(std::vector<RecordedCall> calls) : calls(std::move(calls)) {}
  const std::vector<RecordedCall> calls;
};

class EmulatedDevice : public Device {
public:
  explicit EmulatedDevice(uint64_t seed) : emulator(seed), random(seed) {
    // Few multiprocessors: what starts some blocks on each of them starts few. The rest is like Hopper's.
    facts = {"emulated", 0, 4, availableMemory(), int64_t{50} << 20, Emulator::kMaxSharedBytes};
  }

  Result<int64_t> freeBytes() override { return availableMemory(); }

  Result<std::unique_ptr<DeviceProgram>> load(const DeviceSource &source, const JitEvents &events) override {
    CodeRequest request = source.request(baseFlags());
    // Kernels run on little data here: a quick compilation is worth more than quick code.
    for (const char *flag : {"-O1", "-DHECTOR_EMULATED", "-fno-math-errno", "-fvisibility=hidden",
                             "-fstack-clash-protection", source.isFused ? "-ffp-contract=fast" : "-ffp-contract=off"})
      request.flags.push_back(flag);
    auto library = loadOrCompile(request, events);
    if (!library)
      return library.status();
    return std::unique_ptr<DeviceProgram>(std::make_unique<EmulatedProgram>(std::move(*library), source.what));
  }

private:
  Result<void *> doAllocate(int64_t bytes) override {
    if (Status status = requireMemory("an allocation on the emulated device", bytes); !status.isOk())
      return status;
    const size_t size = static_cast<size_t>(bytes);
    void *base = nullptr;
    if (::posix_memalign(&base, kAlignment, size + 2 * kGuardBytes) != 0)
      return Status::failed("out of device memory: " + formatBytes(bytes) + " do not fit on the emulated device");
    std::byte *start = static_cast<std::byte *>(base) + kGuardBytes;
    std::memset(base, static_cast<int>(kGuard), kGuardBytes);
    std::memset(start, static_cast<int>(kUnset), size);
    std::memset(start + size, static_cast<int>(kGuard), kGuardBytes);
    allocations.emplace(start, size);
    return start;
  }
  void doFree(void *memory) override {
    allocations.erase(static_cast<std::byte *>(memory));
    std::free(static_cast<std::byte *>(memory) - kGuardBytes);
  }

  Status doUpload(void *target, std::span<const std::byte> source) override {
    std::memcpy(target, source.data(), source.size());
    return checkGuards("an upload");
  }
  Status doDownload(std::span<std::byte> target, const void *source) override {
    std::memcpy(target.data(), source, target.size());
    return Status::ok();
  }
  Status doCopy(void *target, const void *source, int64_t bytes) override {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    return checkGuards("a copy");
  }
  Status doFill(void *target, std::byte value, int64_t bytes) override {
    std::memset(target, static_cast<int>(value), static_cast<size_t>(bytes));
    return checkGuards("a fill");
  }
  Status doSynchronize() override { return Status::ok(); }
  void doUseStream(std::optional<void *>) override {}  // all work is done at once

  Status doAllowShared(Kernel &, int64_t) override { return Status::ok(); }
  Status doLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments) override {
    auto *entry = static_cast<const EmulatedKernel &>(kernel).entry;
    std::vector<void *> pointers = arguments.pointers();
    Status status =
        emulator.launch(entry, shape.blocks, shape.threads, shape.sharedBytes, pointers.data(), shape.bands);
    return status.isOk() ? checkGuards("kernel " + inTicks(kernel.name())) : status;
  }

  Result<std::unique_ptr<Mark>> doMark() override { return std::unique_ptr<Mark>(std::make_unique<EmulatedMark>()); }
  Result<double> doElapsedMs(const Mark &from, const Mark &to) override {
    const auto time = static_cast<const EmulatedMark &>(to).time - static_cast<const EmulatedMark &>(from).time;
    return std::chrono::duration<double, std::milli>(time).count();
  }

  Result<std::unique_ptr<Recording>> doRecord(std::vector<RecordedCall> calls) override {
    return std::unique_ptr<Recording>(std::make_unique<EmulatedRecording>(std::move(calls)));
  }
  /// In any order in which calls follow those that they wait for, so that a missing one shows.
  Status doReplay(const Recording &recorded) override {
    const auto &calls = static_cast<const EmulatedRecording &>(recorded).calls;
    std::vector<size_t> ready, waitingFor(calls.size());
    std::vector<std::vector<size_t>> followers(calls.size());
    for (size_t i = 0; i < calls.size(); ++i) {
      for (size_t before : calls[i].after)
        followers[before].push_back(i);
      waitingFor[i] = calls[i].after.size();
      if (waitingFor[i] == 0)
        ready.push_back(i);
    }
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const size_t next = ready.back();
      ready.pop_back();
      const RecordedCall &call = calls[next];
      Status status = call.kernel ? doLaunch(*call.kernel, call.shape, call.arguments)
                                  : doFill(call.target, call.value, call.bytes);
      if (!status.isOk())
        return status;
      for (size_t follower : followers[next])
        if (--waitingFor[follower] == 0)
          ready.push_back(follower);
    }
    return Status::ok();
  }

  /// Whether `what`, the last thing that wrote, stayed inside of all memory. Reports the first mistake, and mends all.
  Status checkGuards(const std::string &what) {
    Status status = Status::ok();
    for (const auto &[start, size] : allocations)
      for (std::byte *guard : {start - kGuardBytes, start + size}) {
        auto isWritten = [](std::byte value) { return value != kGuard; };
        std::byte *const end = guard + kGuardBytes, *const first = std::find_if(guard, end, isWritten);
        if (first == end)
          continue;
        std::fill(guard, end, kGuard);
        const int64_t place = first - start;
        if (status.isOk())
          status = Status::failed(what + " wrote outside of its memory: to byte " + std::to_string(place) +
                                  " of an allocation of " + counted(static_cast<int64_t>(size), "byte"));
      }
    return status;
  }

  Emulator emulator;
  std::map<std::byte *, size_t> allocations;  // start to size
  std::mt19937_64 random;
};

}  // namespace

std::unique_ptr<Device> createEmulatedDevice(uint64_t seed) {
  return std::make_unique<EmulatedDevice>(seed);
}

}  // namespace hector
