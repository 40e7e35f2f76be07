#include "runtime/machine/MeasureGpu.h"

#include "kernels/cuda/division.hpp"
#include "runtime/machine/Runs.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace hector {

GpuWork workFor(const DeviceInfo &device) {
  constexpr int64_t kUnit = 8192;
  GpuWork work;
  if (device.architecture == 0) {
    work = {.runSeconds = 0.001, .blocksPerUnit = 1, .reads = 4, .tiles = 2, .rounds = 4, .steps = 4};
    work.bytes = 16 * kUnit;
    work.cachedBytes = 4 * kUnit;
    return work;
  }
  // So large that hardly anything of it is found in the cache.
  work.bytes = std::clamp<int64_t>(32 * device.cacheBytes, int64_t{1} << 29, int64_t{1} << 32) / kUnit * kUnit;
  work.cachedBytes = std::max(device.cacheBytes / 4 / kUnit, int64_t{1}) * kUnit;
  return work;
}

Result<std::unique_ptr<DeviceProgram>> loadMeasuredKernels(Device &device) {
  return device.load({{"Measured.cu", std::string(measuredKernels())}, cudaHeaders(), "the measurement"});
}

int64_t sharedBytesOfProducts() {
  constexpr int kSize = 64, kRows = 32, kStride = 72;
  return cuda::shapeOfTile(kSize, kRows, cuda::planesOf(cuda::Precision::Highest)).bytes + kRows * kStride * 4;
}

namespace {

constexpr int kThreads = 256, kProductThreads = 128, kStepThreads = 128;
constexpr int64_t kSize = 64, kTileRows = 32, kTile = kTileRows * kSize;  // numbers

/// One measurement after the other on a device. The first failure ends them all, and is kept.
class GpuMeasurement {
public:
  GpuMeasurement(Device &device, const GpuWork &work, const MeasureProgress &progress)
      : device(device), work(work), runs(progress, 6, work.runSeconds) {}

  Result<MachineDescription> measure() {
    const DeviceInfo &info = device.info();
    MachineDescription machine;
    machine.name = info.name;
    machine.target = MachineTarget::Gpu;
    machine.cacheBytes = std::max(info.cacheBytes, int64_t{1});
    machine.lineBytes = 32;  // a sector
    runs.check("memory");
    if (Status status = prepare(); !status.isOk())
      return status;
    machine.bandwidth = roundFigure(bandwidth() / 1e9);
    machine.randomReads = roundFigure(reads("reads of a large table", work.bytes) / 1e6);
    machine.cachedReads = roundFigure(reads("reads of a cached table", work.cachedBytes) / 1e6);
    machine.productRate = roundFigure(products() / 1e9);
    machine.scalarRate = roundFigure(elements() / 1e9);
    machine.launch = roundFigure(launch() * 1e9);
    if (!failure.isOk())
      return failure;
    if (runs.wasStopped())
      return Status::failed("stopped; nothing was measured");
    return machine;
  }

private:
  Status prepare() {
    auto loaded = loadMeasuredKernels(device);
    if (!loaded)
      return std::move(loaded).status();
    program = std::move(*loaded);
    auto memory = device.allocate(work.bytes);
    auto spare = device.allocate(numBlocks() * kTile * 4);
    for (const auto *allocated : {&memory, &spare})
      if (!*allocated)
        return Status(allocated->status()).during("measuring");
    table = std::move(*memory);
    sums = std::move(*spare);
    // Numbers whose products and functions are as usual: zeros may take less power, and so less time.
    std::vector<float> numbers(static_cast<size_t>(work.cachedBytes / 4));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(i * 7919 % 1024) / 4096 + 0.05f;
    Status status = device.upload(at(0), std::as_bytes(std::span(numbers)));
    for (int64_t done = work.cachedBytes; done < work.bytes && status.isOk(); done += work.cachedBytes)
      status = device.copy(at(done), at(0), std::min(work.cachedBytes, work.bytes - done));
    return status.isOk() ? device.synchronize() : status;
  }

  double bandwidth() {
    const int64_t half = work.bytes / 2;
    const Arguments arguments = Arguments::of(at(half), at(0), half / 16);
    return 2 * static_cast<double>(half) *
           rate("memory bandwidth", "copyNumbers", {numBlocks(), kThreads}, [&] { return arguments; });
  }

  double reads(std::string_view what, int64_t tableBytes) {
    uint32_t seed = 0;
    return static_cast<double>(numBlocks() * kThreads * work.reads) *
           rate(what, "readAtRandom", {numBlocks(), kThreads}, [&] {
             return Arguments::of(sums.data(), at(0), static_cast<uint32_t>(tableBytes / 4), ++seed * 0x632BE59Bu,
                                  work.reads);
           });
  }

  double products() {
    // As many blocks as run at the same time.
    const int64_t blocks = int64_t{device.info().multiprocessors} * std::min(work.blocksPerUnit, 3);
    const int tiles = static_cast<int>(blocks) * work.tiles;
    const int tilesOfTable = static_cast<int>(work.cachedBytes / (kTile * 4));
    const Arguments arguments = Arguments::of(sums.data(), at(0), at(0), tiles, tilesOfTable);
    return 2.0 * static_cast<double>(tiles * kTile * kSize) *
           rate("products", "multiplyTiles", {blocks, kProductThreads, sharedBytesOfProducts()},
                [&] { return arguments; });
  }

  double elements() {
    constexpr double kOperations = 10;
    const Arguments arguments = Arguments::of(sums.data(), at(0), work.rounds);
    return kOperations * static_cast<double>(numBlocks() * kThreads * work.rounds) *
           rate("other operations", "computeElements", {numBlocks(), kThreads}, [&] { return arguments; });
  }

  /// Seconds of a small kernel in a recording, each of which reads what the one before has written.
  double launch() {
    const int64_t blocks = 2 * int64_t{device.info().multiprocessors}, threads = blocks * kStepThreads;
    std::vector<int32_t> places(static_cast<size_t>(threads));
    for (size_t i = 0; i < places.size(); ++i)
      places[i] = static_cast<int32_t>(i * 31 % places.size());
    const int64_t rows = (threads * 4 + 255) / 256 * 256;
    auto memory = device.allocate(3 * rows);
    auto kernel = program->kernel("takeStep");
    if (!memory || !kernel) {
      note(memory ? std::move(kernel).status() : std::move(memory).status());
      return 0;
    }
    auto *first = static_cast<std::byte *>(memory->data());
    note(device.upload(first + 2 * rows, std::as_bytes(std::span(places))));
    auto recording = device.record([&] {
      Status status = Status::ok();
      for (int step = 0; step < work.steps && status.isOk(); ++step)
        status = device.launch(**kernel, {blocks, kStepThreads},
                               Arguments::of(first + (step + 1) % 2 * rows, first + step % 2 * rows, first + 2 * rows));
      return status;
    });
    if (!recording) {
      note(std::move(recording).status());
      return 0;
    }
    const double seconds =
        runs.timeOf("launches", 4, 0.25, [&] { return secondsOf([&] { return device.replay(**recording); }); });
    return seconds / work.steps;
  }

  /// Launches per second.
  template <class F> double rate(std::string_view what, const char *name, LaunchShape shape, F &&arguments) {
    auto kernel = program->kernel(name);
    if (!kernel) {
      note(std::move(kernel).status());
      return 0;
    }
    return runs.rate(what, [&](int64_t count) {
      return secondsOf([&] {
        Status status = Status::ok();
        for (int64_t i = 0; i < count && status.isOk(); ++i)
          status = device.launch(**kernel, shape, arguments());
        return status;
      });
    });
  }

  /// Seconds that the device takes for what `body` asks for; any number after a failure.
  template <class F> double secondsOf(F &&body) {
    const double any = work.runSeconds;
    if (!failure.isOk())
      return any;
    auto from = device.mark();
    Status status = from ? body() : std::move(from).status();
    auto to = status.isOk() ? device.mark() : Result<std::unique_ptr<Mark>>(std::move(status));
    auto ms = to ? device.elapsedMs(**from, **to) : Result<double>(std::move(to).status());
    if (!ms) {
      note(std::move(ms).status());
      return any;
    }
    return *ms / 1e3;
  }

  void note(Status status) {
    if (failure.isOk())
      failure = std::move(status);
  }

  int64_t numBlocks() const { return int64_t{device.info().multiprocessors} * work.blocksPerUnit; }
  std::byte *at(int64_t byte) const { return static_cast<std::byte *>(table.data()) + byte; }

  Device &device;
  const GpuWork work;
  Runs runs;
  std::unique_ptr<DeviceProgram> program;
  DeviceMemory table, sums;
  Status failure = Status::ok();
};

}  // namespace

Result<MachineDescription> measureGpu(Device &device, const MeasureProgress &progress) {
  return GpuMeasurement(device, workFor(device.info()), progress).measure();
}

}  // namespace hector
