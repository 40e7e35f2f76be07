/// A device that kernels written in CUDA run on: a GPU (CudaDevice), or host memory and an emulator (EmulatedDevice).
///
/// A device has one stream, or the one that the caller lends it: uploads, fills, launches and downloads take effect in
/// the order in which they are called, and return before they have. `synchronize` waits for all of them, and is where a
/// failure inside a kernel shows at the latest. After such a failure a GPU cannot be used any more by this process.
///
/// A device is used by one thread at a time, not always the same one. It outlives all that it made: memory, programs,
/// marks and recordings. Addresses of device memory are `void *`, as kernels take them; only kernels read what is
/// there.
#pragma once

#include "kernels/Headers.h"
#include "runtime/base/Status.h"
#include "runtime/device/Ordering.h"
#include "runtime/jit/Jit.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hector {

struct DeviceInfo {
  std::string name;
  int architecture = 0;  // 90 for compute capability 9.0; 0 where kernels are emulated
  int multiprocessors = 0;
  int64_t memoryBytes = 0;
  int64_t cacheBytes = 0;   // the L2 cache
  int64_t sharedBytes = 0;  // the most that one block can have, after `allowShared`
};

/// Blocks have one dimension. A grid has bands of blocks, which are numbered within their band.
struct LaunchShape {
  int64_t blocks = 1;       // of a band
  int threads = 1;          // of a block
  int64_t sharedBytes = 0;  // of dynamic shared memory per block
  int bands = 1;
};

/// The values of a kernel's parameters, in their order. Holds copies.
class Arguments {
public:
  template <class... Ts> static Arguments of(const Ts &...values) {
    Arguments arguments;
    (arguments.add(values), ...);
    return arguments;
  }
  /// The type has to be that of the parameter.
  template <class T> void add(const T &value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    const size_t place = numBytes();
    slots.resize(slots.size() + (sizeof(T) + kAlignment - 1) / kAlignment);
    std::memcpy(reinterpret_cast<std::byte *>(slots.data()) + place, &value, sizeof(T));
    parameters.push_back({place, sizeof(T)});
  }

  /// Replaces a value by another one of its type.
  template <class T> void set(size_t parameter, const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    assert(parameters[parameter].bytes == sizeof(T));
    std::memcpy(reinterpret_cast<std::byte *>(slots.data()) + parameters[parameter].place, &value, sizeof(T));
  }

  size_t count() const { return parameters.size(); }
  /// The size of one value.
  size_t bytesOf(size_t parameter) const { return parameters[parameter].bytes; }
  /// The address of each value, valid as long as this object and until a value is added.
  std::vector<void *> pointers() const;

private:
  static constexpr size_t kAlignment = 16;
  struct alignas(kAlignment) Slot {
    std::byte bytes[kAlignment];
  };
  struct Parameter {
    size_t place, bytes;
  };
  size_t numBytes() const { return slots.size() * kAlignment; }
  std::vector<Slot> slots;
  std::vector<Parameter> parameters;
};

/// CUDA text, and what it includes.
struct DeviceSource {
  CodeFile main;
  std::span<const EmbeddedFile> headers;
  std::string what;      // for messages: "rgat"
  bool isFused = false;  // whether a product and a sum may be rounded together

  CodeRequest request(std::vector<std::string> flags) const;
};

/// A function of a program. Lives as long as its program.
class Kernel {
public:
  virtual ~Kernel() = default;
  const std::string &name() const { return title; }

protected:
  /// With the sizes of its parameters, where they are known.
  explicit Kernel(std::string name, std::optional<std::vector<size_t>> parameterBytes = std::nullopt)
      : title(std::move(name)), parameterBytes(std::move(parameterBytes)) {}

private:
  friend class Device;
  std::string title;
  std::optional<std::vector<size_t>> parameterBytes;
  int64_t allowedShared = 48 << 10;
};

/// Compiled text on a device.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// The kernel of a name. Asking twice gives the same one.
  virtual Result<Kernel *> kernel(const std::string &name) = 0;
};

/// A moment in the order of the device's work, for measuring.
class Mark {
public:
  virtual ~Mark() = default;
};

/// Launches and fills that can be run again at once.
class Recording {
public:
  virtual ~Recording() = default;
};

/// How the calls of a recording follow each other.
enum class RecordedOrder : uint8_t {
  AsCalled,  // one after the other
  ByMemory,  // those that touch the same memory do, others may run side by side
};

/// A launch or a fill of a recording.
struct RecordedCall {
  // A launch, where there is a kernel.
  const Kernel *kernel = nullptr;
  LaunchShape shape = {};
  Arguments arguments = {};
  // Else a fill.
  void *target = nullptr;
  std::byte value{0};
  int64_t bytes = 0;
  std::vector<size_t> after = {};  // earlier calls that have to end first
};

class Device;

/// Memory of a device, freed at the end of its life. Its bytes have any value at first.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept
      : device(std::exchange(other.device, nullptr)), start(std::exchange(other.start, nullptr)),
        size(std::exchange(other.size, 0)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(start, other.start);
    std::swap(size, other.size);
    return *this;
  }
  ~DeviceMemory();

  void *data() const { return start; }
  int64_t bytes() const { return size; }

private:
  friend class Device;
  DeviceMemory(Device *device, void *start, int64_t size) : device(device), start(start), size(size) {}
  Device *device = nullptr;
  void *start = nullptr;
  int64_t size = 0;
};

class Device {
public:
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &info() const { return facts; }
  /// How many bytes could still be allocated, give or take fragments.
  virtual Result<int64_t> freeBytes() = 0;

  /// At an address that 256 divides. 0 bytes are allowed, and have the address null.
  Result<DeviceMemory> allocate(int64_t bytes);

  /// Copies to the device. `source` has to stay as it is until `synchronize`.
  Status upload(void *target, std::span<const std::byte> source);
  /// Copies from the device. `target` has its bytes after `synchronize`.
  Status download(std::span<std::byte> target, const void *source);
  /// Copies from one place of the device to another; they do not overlap.
  Status copy(void *target, const void *source, int64_t bytes);
  /// Sets bytes of the device to a value.
  Status fill(void *target, std::byte value, int64_t bytes);
  Status synchronize();
  /// Has what is asked for from now on go to a stream of the caller, a CUstream of this device, of which null is the
  /// default one; or again to the device's own. Work of two streams is in no order.
  void useStream(std::optional<void *> stream) { doUseStream(stream); }

  /// Compiles text, or finds it in the cache, and loads it.
  virtual Result<std::unique_ptr<DeviceProgram>> load(const DeviceSource &source, const JitEvents &events = {}) = 0;
  /// Loads machine code that was compiled before; `what` is what messages call it. Fails where it is not for this
  /// device. The bytes are needed no longer than the call takes.
  virtual Result<std::unique_ptr<DeviceProgram>> loadCode(std::span<const std::byte> code, const std::string &what);
  /// Lets a kernel have more dynamic shared memory than the 48 KiB that every kernel can have, up to
  /// `info().sharedBytes` less what it declares itself.
  Status allowShared(Kernel &kernel, int64_t bytes);
  /// Starts a kernel; nothing where there are no blocks. Fails where the shape is beyond the device, or the arguments
  /// are not the kernel's. `uses` is the memory that the kernel reads and writes; recordings by memory ask for it.
  Status launch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments,
                std::span<const MemoryUse> uses = kAnything);

  Result<std::unique_ptr<Mark>> mark();
  /// Milliseconds between two marks. Waits for the second.
  Result<double> elapsedMs(const Mark &from, const Mark &to);

  /// Records the launches and fills that `body` makes, without running them. Arguments keep the values that they have
  /// now. `body` must make no copies, marks or further recordings, and must not wait. Kernels have to live as long as
  /// the recording.
  Result<std::unique_ptr<Recording>> record(const std::function<Status()> &body,
                                            RecordedOrder order = RecordedOrder::AsCalled);
  /// Runs what was recorded, after all that was asked for before, and before all that is asked for later.
  Status replay(const Recording &recording);

protected:
  Device() = default;
  DeviceInfo facts;

private:
  friend class DeviceMemory;
  Status refuseWhileRecording(const char *what) const;
  Status checkLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments) const;

  // The work itself; what is asked for has been checked.
  virtual Result<void *> doAllocate(int64_t bytes) = 0;
  virtual void doFree(void *memory) = 0;
  virtual Status doUpload(void *target, std::span<const std::byte> source) = 0;
  virtual Status doDownload(std::span<std::byte> target, const void *source) = 0;
  virtual Status doCopy(void *target, const void *source, int64_t bytes) = 0;
  virtual Status doFill(void *target, std::byte value, int64_t bytes) = 0;
  virtual Status doSynchronize() = 0;
  virtual void doUseStream(std::optional<void *> stream) = 0;
  virtual Status doAllowShared(Kernel &kernel, int64_t bytes) = 0;
  virtual Status doLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments) = 0;
  virtual Result<std::unique_ptr<Mark>> doMark() = 0;
  virtual Result<double> doElapsedMs(const Mark &from, const Mark &to) = 0;
  /// Calls are in an order in which they may run one by one.
  virtual Result<std::unique_ptr<Recording>> doRecord(std::vector<RecordedCall> calls) = 0;
  virtual Status doReplay(const Recording &recording) = 0;

  static constexpr MemoryUse kAnything[] = {MemoryUse::anything()};

  /// What a body has asked for while it is recorded.
  struct Recorder {
    RecordedOrder order;
    Ordering ordering;
    std::vector<RecordedCall> calls;

    void add(RecordedCall call, std::span<const MemoryUse> uses);
  };
  std::optional<Recorder> recorder;
};

/// What to do where `needed` bytes do not fit into what is free: "\n   help: …".
std::string memoryHelp(const DeviceInfo &device, int64_t needed);

/// "4 blocks of 128 threads, 1024 bytes of shared memory".
std::string toText(const LaunchShape &shape);

}  // namespace hector
