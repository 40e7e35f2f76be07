#include "runtime/device/Device.h"

#include "runtime/base/Text.h"

namespace hector {

std::string toText(const LaunchShape &shape) {
  return (shape.bands > 1 ? std::to_string(shape.bands) + " times " : "") + counted(shape.blocks, "block") + " of " +
         counted(shape.threads, "thread") + ", " + counted(shape.sharedBytes, "byte") + " of shared memory";
}

std::string memoryHelp(const DeviceInfo &device, int64_t needed) {
  if (needed > device.memoryBytes)
    return "\n   help: run on the CPU (--backend cpu), or on a GPU with more memory";
  return "\n   help: nvidia-smi lists the programs that hold memory of the GPU; end those that are not needed, or run "
         "on the CPU (--backend cpu)";
}

std::vector<void *> Arguments::pointers() const {
  std::vector<void *> pointers;
  pointers.reserve(parameters.size());
  // Whoever launches takes `void **`, and writes nothing.
  auto *start = const_cast<std::byte *>(reinterpret_cast<const std::byte *>(slots.data()));
  for (const Parameter &parameter : parameters)
    pointers.push_back(start + parameter.place);
  return pointers;
}

CodeRequest DeviceSource::request(std::vector<std::string> flags) const {
  CodeRequest request{main, {}, std::move(flags), what};
  for (const EmbeddedFile &header : headers)
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  return request;
}

DeviceMemory::~DeviceMemory() {
  if (start)
    device->doFree(start);
}

Status Device::refuseWhileRecording(const char *what) const {
  if (recorder)
    return Status::failed(std::string(what) + " cannot be recorded; launches and fills can");
  return Status::ok();
}

Result<DeviceMemory> Device::allocate(int64_t bytes) {
  if (bytes < 0)
    return Status::failed("cannot allocate " + std::to_string(bytes) + " bytes");
  if (bytes == 0)
    return DeviceMemory();
  auto memory = doAllocate(bytes);
  if (!memory)
    return memory.status();
  return DeviceMemory(this, *memory, bytes);
}

Status Device::upload(void *target, std::span<const std::byte> source) {
  if (Status status = refuseWhileRecording("an upload"); !status.isOk())
    return status;
  return source.empty() ? Status::ok() : doUpload(target, source);
}

Status Device::download(std::span<std::byte> target, const void *source) {
  if (Status status = refuseWhileRecording("a download"); !status.isOk())
    return status;
  return target.empty() ? Status::ok() : doDownload(target, source);
}

Status Device::copy(void *target, const void *source, int64_t bytes) {
  if (Status status = refuseWhileRecording("a copy"); !status.isOk())
    return status;
  return bytes <= 0 ? Status::ok() : doCopy(target, source, bytes);
}

Status Device::fill(void *target, std::byte value, int64_t bytes) {
  if (bytes <= 0)
    return Status::ok();
  if (!recorder)
    return doFill(target, value, bytes);
  const MemoryUse use = MemoryUse::write(target, bytes);
  recorder->add({.target = target, .value = value, .bytes = bytes}, {&use, 1});
  return Status::ok();
}

Status Device::synchronize() {
  if (Status status = refuseWhileRecording("waiting"); !status.isOk())
    return status;
  return doSynchronize();
}

Result<std::unique_ptr<DeviceProgram>> Device::loadCode(std::span<const std::byte>, const std::string &what) {
  return Status::failed("the code of " + what + " cannot be loaded: " + facts.name + " runs no machine code of GPUs");
}

Status Device::allowShared(Kernel &kernel, int64_t bytes) {
  if (bytes <= kernel.allowedShared)
    return Status::ok();
  if (bytes > facts.sharedBytes)
    return Status::failed("kernel " + inTicks(kernel.name()) + " needs " + counted(bytes, "byte") +
                          " of shared memory per block; " + facts.name + " has " + std::to_string(facts.sharedBytes));
  if (Status status = doAllowShared(kernel, bytes); !status.isOk())
    return status;
  kernel.allowedShared = bytes;
  return Status::ok();
}

Status Device::checkLaunch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments) const {
  // The same for every GPU since compute capability 3.0.
  constexpr int64_t kMaxBlocks = 0x7fffffff;
  constexpr int kMaxThreads = 1024, kMaxBands = 65535;
  auto fail = [&](const std::string &why) {
    return Status::failed("kernel " + inTicks(kernel.name()) + " cannot be launched: " + why);
  };
  if (shape.blocks < 0 || shape.blocks > kMaxBlocks)
    return fail("it is to have " + counted(shape.blocks, "block") + "; " + std::to_string(kMaxBlocks) +
                " are the most");
  if (shape.bands < 1 || shape.bands > kMaxBands)
    return fail("it is to have " + counted(shape.bands, "band") + " of blocks; 1 to " + std::to_string(kMaxBands) +
                " are possible");
  if (shape.threads < 1 || shape.threads > kMaxThreads)
    return fail("a block is to have " + counted(shape.threads, "thread") + "; 1 to " + std::to_string(kMaxThreads) +
                " are possible");
  if (shape.sharedBytes < 0 || shape.sharedBytes > kernel.allowedShared)
    return fail("it asks for " + std::to_string(shape.sharedBytes) + " bytes of shared memory per block; " +
                std::to_string(kernel.allowedShared) + " are allowed");
  if (const auto &expected = kernel.parameterBytes) {
    if (arguments.count() != expected->size())
      return fail("it has " + counted(static_cast<int64_t>(expected->size()), "parameter") + " and is given " +
                  counted(static_cast<int64_t>(arguments.count()), "argument"));
    for (size_t i = 0; i < expected->size(); ++i)
      if (arguments.bytesOf(i) != (*expected)[i])
        return fail("parameter " + std::to_string(i) + " has " + counted(static_cast<int64_t>((*expected)[i]), "byte") +
                    ", and its argument " + std::to_string(arguments.bytesOf(i)));
  }
  return Status::ok();
}

Status Device::launch(const Kernel &kernel, const LaunchShape &shape, const Arguments &arguments,
                      std::span<const MemoryUse> uses) {
  if (Status status = checkLaunch(kernel, shape, arguments); !status.isOk())
    return status;
  if (shape.blocks == 0)
    return Status::ok();
  if (!recorder)
    return doLaunch(kernel, shape, arguments);
  recorder->add({.kernel = &kernel, .shape = shape, .arguments = arguments}, uses);
  return Status::ok();
}

void Device::Recorder::add(RecordedCall call, std::span<const MemoryUse> uses) {
  call.after = ordering.add(order == RecordedOrder::ByMemory ? uses : kAnything);
  calls.push_back(std::move(call));
}

Result<std::unique_ptr<Mark>> Device::mark() {
  if (Status status = refuseWhileRecording("a mark"); !status.isOk())
    return status;
  return doMark();
}

Result<double> Device::elapsedMs(const Mark &from, const Mark &to) {
  if (Status status = refuseWhileRecording("waiting"); !status.isOk())
    return status;
  return doElapsedMs(from, to);
}

Result<std::unique_ptr<Recording>> Device::record(const std::function<Status()> &body, RecordedOrder order) {
  if (Status status = refuseWhileRecording("another recording"); !status.isOk())
    return status;
  recorder.emplace(Recorder{order, {}, {}});
  Status status = body();
  std::vector<RecordedCall> calls = std::move(recorder->calls);
  recorder.reset();
  if (!status.isOk())
    return status;
  return doRecord(std::move(calls));
}

Status Device::replay(const Recording &recording) {
  if (Status status = refuseWhileRecording("a replay"); !status.isOk())
    return status;
  return doReplay(recording);
}

}  // namespace hector
