#include "runtime/device/CudaDevice.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/device/CudaDriver.h"
#include "runtime/device/Nvrtc.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hector {

namespace {

/// The primary context of a device, and one stream in it.
struct Context {
  std::shared_ptr<const CudaDriver> driver;
  int device = 0;
  void *context = nullptr;
  void *own = nullptr;     // the stream that is the device's
  void *stream = nullptr;  // that work goes to

  Context() = default;
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context();
};

/// Makes a context the current one of this thread while it lives. What others of the process had set comes back.
class Current {
public:
  explicit Current(const Context &context) : driver(*context.driver), error(driver.CtxPushCurrent(context.context)) {}
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  ~Current() {
    void *popped = nullptr;
    if (error == 0)
      (void)driver.CtxPopCurrent(&popped);
  }
  /// What the first call that follows fails with, if the context cannot be used.
  int status() const { return error; }

private:
  const CudaDriver &driver;
  int error;
};

Context::~Context() {
  if (!context)
    return;
  if (own) {
    Current current(*this);
    (void)driver->StreamDestroy(own);
  }
  (void)driver->DevicePrimaryCtxRelease(device);
}

CudaDriver::Address addressOf(const void *memory) {
  return static_cast<CudaDriver::Address>(reinterpret_cast<uintptr_t>(memory));
}

class CudaKernel : public Kernel {
public:
  CudaKernel(std::string name, void *function, std::optional<std::vector<size_t>> parameterBytes)
      : Kernel(std::move(name), std::move(parameterBytes)), function(function) {}
  void *const function;
};

class CudaProgram : public DeviceProgram {
public:
  CudaProgram(const Context &context, void *module, std::string what)
      : context(context), module(module), what(std::move(what)) {}
  ~CudaProgram() override {
    Current current(context);
    (void)context.driver->ModuleUnload(module);
  }

  Result<Kernel *> kernel(const std::string &name) override {
    if (auto known = kernels.find(name); known != kernels.end())
      return known->second.get();
    const CudaDriver &driver = *context.driver;
    Current current(context);
    void *function = nullptr;
    if (int error = driver.ModuleGetFunction(&function, module, name.c_str()))
      return Status::failed("the code of " + what + " has no kernel " + inTicks(name) + ": " + driver.describe(error));
    std::optional<std::vector<size_t>> parameters;
    if (driver.FuncGetParamInfo) {
      parameters.emplace();
      size_t offset = 0, bytes = 0;
      while (driver.FuncGetParamInfo(function, parameters->size(), &offset, &bytes) == 0)
        parameters->push_back(bytes);
    }
    auto kernel = std::make_unique<CudaKernel>(name, function, std::move(parameters));
    return kernels.emplace(name, std::move(kernel)).first->second.get();
  }

private:
  const Context &context;
  void *module;
  std::string what;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

class CudaMark : public Mark {
public:
  CudaMark(const Context &context, void *event) : event(event), context(context) {}
  ~CudaMark() override {
    Current current(context);
    (void)context.driver->EventDestroy(event);
  }
  void *const event;

private:
  const Context &context;
};

class CudaRecording : public Recording {
public:
  CudaRecording(const Context &context, void *executable, int64_t numKernels, std::string lastKernel)
      : executable(executable), numKernels(numKernels), lastKernel(std::move(lastKernel)), context(context) {}
  ~CudaRecording() override {
    Current current(context);
    (void)context.driver->GraphExecDestroy(executable);
  }
  void *const executable;
  const int64_t numKernels;
  const std::string lastKernel;

private:
  const Context &context;
};

class CudaDevice : public Device {
public:
  static Result<std::unique_ptr<Device>> create(const std::string &driverLibrary, int number);

  Result<int64_t> freeBytes() override {
    Current current(context);
    size_t free = 0, total = 0;
    if (int error = firstOf(current, [&] { return driver().MemGetInfo(&free, &total); }))
      return failure("asking for free memory", error);
    return static_cast<int64_t>(free);
  }

  Result<std::unique_ptr<DeviceProgram>> load(const DeviceSource &source, const JitEvents &events) override {
    auto nvrtc = Nvrtc::find();
    if (!nvrtc)
      return nvrtc.status();
    auto code = compileCuda(source.request(cudaFlags(facts.architecture, source.isFused)), *nvrtc, events);
    if (!code)
      return code.status();
    auto program = loadCode(code->bytes, source.what);
    if (!program)
      return Status::failed(program.status().message() + "; it was compiled by " + nvrtc->title());
    return program;
  }

  Result<std::unique_ptr<DeviceProgram>> loadCode(std::span<const std::byte> code, const std::string &what) override {
    // Aligned, and with an end: the driver takes what is no cubin for text.
    std::vector<std::byte> image(code.begin(), code.end());
    image.push_back(std::byte{0});
    Current current(context);
    void *module = nullptr;
    if (int error = firstOf(current, [&] { return driver().ModuleLoadData(&module, image.data()); }))
      return Status::failed("the code of " + what + " cannot be loaded: " + driver().describe(error) + " (" +
                            facts.name + ", driver for CUDA " + driver().version() + ")");
    return std::unique_ptr<DeviceProgram>(std::make_unique<CudaProgram>(context, module, what));
  }

private:
  const CudaDriver &driver() const { return *context.driver; }
  template <class F> int firstOf(const Current &current, F &&call) const {
    return current.status() ? current.status() : call();
  }
  Status failure(const std::string &what, int error) const {
    return Status::failed(facts.name + ": " + what + ": " + driver().describe(error));
  }
  /// The outcome of a call that only needs the context.
  template <class F> Status run(const std::string &what, F &&call) const {
    Current current(context);
    const int error = firstOf(current, call);
    return error ? failure(what, error) : Status::ok();
  }

  Result<void *> doAllocate(int64_t bytes) override {
    Current current(context);
    CudaDriver::Address memory = 0;
    const int error = firstOf(current, [&] { return driver().MemAlloc(&memory, static_cast<size_t>(bytes)); });
    if (error == CudaDriver::kOutOfMemory) {
      size_t free = 0, total = 0;
      (void)driver().MemGetInfo(&free, &total);
      return Status::failed("out of device memory: " + formatBytes(bytes) + " do not fit; " +
                            formatBytes(static_cast<int64_t>(free)) + " of " + formatBytes(facts.memoryBytes) +
                            " are free on " + facts.name + memoryHelp(facts, bytes));
    }
    if (error)
      return failure("allocating " + formatBytes(bytes), error);
    return reinterpret_cast<void *>(static_cast<uintptr_t>(memory));
  }
  void doFree(void *memory) override {
    (void)run("freeing", [&] { return driver().MemFree(addressOf(memory)); }).isOk();  // shows at the next call
  }
  Status doUpload(void *target, std::span<const std::byte> source) override {
    return run("upload", [&] {
      return driver().MemcpyHtoDAsync(addressOf(target), source.data(), source.size(), context.stream);
    });
  }
  Status doDownload(std::span<std::byte> target, const void *source) override {
    return run("download", [&] {
      return driver().MemcpyDtoHAsync(target.data(), addressOf(source), target.size(), context.stream);
    });
  }
  Status doCopy(void *target, const void *source, int64_t bytes) override {
    return run("copy on the device", [&] {
      return driver().MemcpyDtoDAsync(addressOf(target), addressOf(source), static_cast<size_t>(bytes), context.stream);
    });
  }
  Status doFill(void *target, std::byte value, int64_t bytes) override {
    return run("fill", [&] {
      return driver().MemsetD8Async(addressOf(target), static_cast<unsigned char>(value), static_cast<size_t>(bytes),
                                    context.stream);
    });
  }
  Status doSynchronize() override {
    Current current(context);
    const int error = firstOf(current, [&] { return driver().StreamSynchronize(context.stream); });
    const int64_t count = std::exchange(numKernels, 0);
    if (!error)
      return Status::ok();
    if (count == 0)
      return failure("waiting", error);
    if (count == 1)
      return failure("running kernel " + inTicks(lastKernel), error);
    return failure("running " + counted(count, "kernel") + ", the last of them " + inTicks(lastKernel), error);
  }
  void doUseStream(std::optional<void *> stream) override { context.stream = stream.value_or(context.own); }

  Status doAllowShared(Kernel &kernel, int64_t bytes) override {
    Current current(context);
    if (int error = firstOf(current, [&] {
          return driver().FuncSetAttribute(static_cast<CudaKernel &>(kernel).function, CudaDriver::kDynamicSharedBytes,
                                           static_cast<int>(bytes));
        }))
      return failure("giving kernel " + inTicks(kernel.name()) + " " + counted(bytes, "byte") + " of shared memory",
                     error);
    return Status::ok();
  }
  Status doLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments) override {
    Current current(context);
    std::vector<void *> pointers = arguments.pointers();
    if (int error = firstOf(current, [&] {
          return driver().LaunchKernel(
              static_cast<const CudaKernel &>(kernel).function, static_cast<unsigned>(shape.blocks),
              static_cast<unsigned>(shape.bands), 1, static_cast<unsigned>(shape.threads), 1, 1,
              static_cast<unsigned>(shape.sharedBytes), context.stream, pointers.data(), nullptr);
        }))
      return failure("launching kernel " + inTicks(kernel.name()) + " (" + toText(shape) + ")", error);
    lastKernel = kernel.name();
    ++numKernels;
    return Status::ok();
  }

  Result<std::unique_ptr<Mark>> doMark() override {
    Current current(context);
    void *event = nullptr;
    if (int error = firstOf(current, [&] { return driver().EventCreate(&event, 0); }))
      return failure("making a mark", error);
    auto mark = std::make_unique<CudaMark>(context, event);
    if (int error = driver().EventRecord(event, context.stream))
      return failure("making a mark", error);
    return std::unique_ptr<Mark>(std::move(mark));
  }
  Result<double> doElapsedMs(const Mark &from, const Mark &to) override {
    void *const start = static_cast<const CudaMark &>(from).event, *const end = static_cast<const CudaMark &>(to).event;
    float milliseconds = 0;
    Status status = run("measuring", [&] {
      const int error = driver().EventSynchronize(end);
      return error ? error : driver().EventElapsedTime(&milliseconds, start, end);
    });
    if (!status.isOk())
      return status;
    return static_cast<double>(milliseconds);
  }

  /// As a graph of CUDA, made call by call. The driver copies arguments when a call is added.
  Result<std::unique_ptr<Recording>> doRecord(std::vector<RecordedCall> calls) override {
    Current current(context);
    void *graph = nullptr, *executable = nullptr;
    if (int error = firstOf(current, [&] { return driver().GraphCreate(&graph, 0); }))
      return failure("recording", error);
    Status status = addCalls(graph, calls);
    if (status.isOk())
      if (int error = driver().GraphInstantiateWithFlags(&executable, graph, 0))
        status = failure("recording", error);
    (void)driver().GraphDestroy(graph);
    if (!status.isOk())
      return status;
    std::string last;
    int64_t count = 0;
    for (const RecordedCall &call : calls)
      if (call.kernel) {
        last = call.kernel->name();
        ++count;
      }
    return std::unique_ptr<Recording>(std::make_unique<CudaRecording>(context, executable, count, std::move(last)));
  }
  Status addCalls(void *graph, const std::vector<RecordedCall> &calls) const {
    std::vector<void *> nodes(calls.size()), after;
    for (size_t i = 0; i < calls.size(); ++i) {
      const RecordedCall &call = calls[i];
      after.clear();
      for (size_t before : call.after)
        after.push_back(nodes[before]);
      if (!call.kernel) {
        const CudaDriver::MemsetNode fill = {addressOf(call.target),          0, static_cast<unsigned>(call.value), 1,
                                             static_cast<size_t>(call.bytes), 1};
        if (int error =
                driver().GraphAddMemsetNode(&nodes[i], graph, after.data(), after.size(), &fill, context.context))
          return failure("recording a fill", error);
        continue;
      }
      std::vector<void *> pointers = call.arguments.pointers();
      const CudaDriver::KernelNode node = {static_cast<const CudaKernel *>(call.kernel)->function,
                                           static_cast<unsigned>(call.shape.blocks),
                                           static_cast<unsigned>(call.shape.bands),
                                           1,
                                           static_cast<unsigned>(call.shape.threads),
                                           1,
                                           1,
                                           static_cast<unsigned>(call.shape.sharedBytes),
                                           pointers.data(),
                                           nullptr};
      if (int error = driver().GraphAddKernelNode(&nodes[i], graph, after.data(), after.size(), &node))
        return failure("recording kernel " + inTicks(call.kernel->name()) + " (" + toText(call.shape) + ")", error);
    }
    return Status::ok();
  }
  Status doReplay(const Recording &recording) override {
    const auto &recorded = static_cast<const CudaRecording &>(recording);
    if (recorded.numKernels > 0)
      lastKernel = recorded.lastKernel;
    numKernels += recorded.numKernels;
    return run("replaying a recording", [&] { return driver().GraphLaunch(recorded.executable, context.stream); });
  }

  Context context;
  int64_t numKernels = 0;  // launched or replayed since the last `synchronize`
  std::string lastKernel;  // of them
};

Result<std::unique_ptr<Device>> CudaDevice::create(const std::string &driverLibrary, int number) {
  auto opened = CudaDriver::open(driverLibrary);
  if (!opened)
    return opened.status();
  auto device = std::make_unique<CudaDevice>();
  Context &context = device->context;
  context.driver = *opened;
  const CudaDriver &driver = *context.driver;
  int error = 0, count = 0;
  auto check = [&](int result) { return (error = result) == 0; };
  if (check(driver.DeviceGetCount(&count)) && count == 0)
    return Status::failed("the CUDA driver shows no GPU; is CUDA_VISIBLE_DEVICES set?");
  if (!error && (number < 0 || number >= count))
    return Status::invalid("there is no GPU " + std::to_string(number) + "; the CUDA driver shows " +
                           (count == 1 ? "one, GPU 0" : "GPUs 0 to " + std::to_string(count - 1)));

  DeviceInfo &info = device->facts;
  char name[256] = "";
  size_t memory = 0;
  int major = 0, minor = 0, multiprocessors = 0, cache = 0, shared = 0;
  auto ask = [&](int attribute, int &value) {
    return check(driver.DeviceGetAttribute(&value, attribute, context.device));
  };
  if (error || !check(driver.DeviceGet(&context.device, number)) ||
      !check(driver.DeviceGetName(name, sizeof(name), context.device)) ||
      !check(driver.DeviceTotalMem(&memory, context.device)) || !ask(CudaDriver::kArchitectureMajor, major) ||
      !ask(CudaDriver::kArchitectureMinor, minor) || !ask(CudaDriver::kMultiprocessors, multiprocessors) ||
      !ask(CudaDriver::kCacheBytes, cache) || !ask(CudaDriver::kSharedBytes, shared))
    return Status::failed("the CUDA driver does not describe its GPU: " + driver.describe(error));
  info = {name, 10 * major + minor, multiprocessors, static_cast<int64_t>(memory), cache, shared};

  if (int result = driver.DevicePrimaryCtxRetain(&context.context, context.device)) {
    context.context = nullptr;
    return device->failure("cannot be used", result);
  }
  if (Status status = device->run("cannot be used",
                                  [&] { return driver.StreamCreate(&context.own, CudaDriver::kNonBlockingStream); });
      !status.isOk())
    return status;
  context.stream = context.own;
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace

Result<std::unique_ptr<Device>> createCudaDevice(const std::string &driverLibrary, int number) {
  return CudaDevice::create(driverLibrary, number);
}

}  // namespace hector
