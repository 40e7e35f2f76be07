/// A device that notes what it is asked for and runs no kernels, for tests of what is launched.
#pragma once

#include "runtime/device/Device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hector {

/// Memory is the host's. Programs have a kernel of every name.
class FakeDevice : public Device {
public:
  explicit FakeDevice(int multiprocessors) {
    facts = {"Fake", 90, multiprocessors, int64_t{1} << 30, 1 << 20, 200 << 10};
  }

  /// "gather 4x64" or "gather 2x4x64": launches, with bands, if there are several, blocks and threads; "fill", "allow
  /// 65536", "replay", "wait", "lent stream", "own stream", and "record gather 4x64 after 0 2" for each launch of a
  /// recording, whose launches and fills are numbered from 0.
  std::vector<std::string> log;
  /// The arguments of the last launch of each kernel.
  std::map<std::string, Arguments> arguments;
  int64_t free = int64_t{1} << 30;
  size_t uploads = 0;
  std::string failing;             // the kernel whose launch fails
  bool isFailing = false;          // whether waiting fails
  std::function<void()> onLaunch;  // called by each launch

  std::shared_ptr<DeviceProgram> program() { return std::make_shared<FakeProgram>(); }

  Result<int64_t> freeBytes() override { return free; }
  Result<std::unique_ptr<DeviceProgram>> load(const DeviceSource &, const JitEvents &) override {
    return std::unique_ptr<DeviceProgram>(std::make_unique<FakeProgram>());
  }

private:
  class FakeKernel : public Kernel {
  public:
    explicit FakeKernel(std::string name) : Kernel(std::move(name)) {}
  };
  class FakeProgram : public DeviceProgram {
  public:
    Result<Kernel *> kernel(const std::string &name) override {
      std::unique_ptr<Kernel> &kernel = kernels[name];
      if (!kernel)
        kernel = std::make_unique<FakeKernel>(name);
      return kernel.get();
    }

  private:
    std::map<std::string, std::unique_ptr<Kernel>> kernels;
  };

  static std::string textOf(const Kernel &kernel, const LaunchShape &shape) {
    const std::string bands = shape.bands > 1 ? std::to_string(shape.bands) + "x" : "";
    return kernel.name() + " " + bands + std::to_string(shape.blocks) + "x" + std::to_string(shape.threads);
  }

  Result<void *> doAllocate(int64_t bytes) override {
    return std::aligned_alloc(256, (static_cast<size_t>(bytes) + 255) / 256 * 256);
  }
  void doFree(void *memory) override { std::free(memory); }
  Status doUpload(void *target, std::span<const std::byte> source) override {
    std::memcpy(target, source.data(), source.size());
    ++uploads;
    return Status::ok();
  }
  Status doDownload(std::span<std::byte> target, const void *source) override {
    std::memcpy(target.data(), source, target.size());
    return Status::ok();
  }
  Status doCopy(void *target, const void *source, int64_t bytes) override {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    log.push_back("copy");
    return Status::ok();
  }
  Status doFill(void *target, std::byte value, int64_t bytes) override {
    std::memset(target, static_cast<int>(value), static_cast<size_t>(bytes));
    log.push_back("fill");
    return Status::ok();
  }
  Status doSynchronize() override {
    log.push_back("wait");
    return isFailing ? Status::failed("a kernel failed") : Status::ok();
  }
  void doUseStream(std::optional<void *> stream) override { log.push_back(stream ? "lent stream" : "own stream"); }
  Status doAllowShared(Kernel &, int64_t bytes) override {
    log.push_back("allow " + std::to_string(bytes));
    return Status::ok();
  }
  Status doLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &given) override {
    log.push_back(textOf(kernel, shape));
    arguments[kernel.name()] = given;
    if (onLaunch)
      onLaunch();
    return kernel.name() == failing ? Status::failed("no launch") : Status::ok();
  }
  Result<std::unique_ptr<Mark>> doMark() override { return std::make_unique<Mark>(); }
  Result<double> doElapsedMs(const Mark &, const Mark &) override { return 1.0; }
  Result<std::unique_ptr<Recording>> doRecord(std::vector<RecordedCall> calls) override {
    for (const RecordedCall &call : calls) {
      std::string line = "record " + (call.kernel ? textOf(*call.kernel, call.shape) : "fill");
      for (size_t i = 0; i < call.after.size(); ++i)
        line += (i == 0 ? " after " : " ") + std::to_string(call.after[i]);
      log.push_back(line);
    }
    return std::make_unique<Recording>();
  }
  Status doReplay(const Recording &) override {
    log.push_back("replay");
    return Status::ok();
  }
};

}  // namespace hector
