/// The same tests on every device. Those of a GPU are skipped where there is none.

#include "runtime/device/Device.h"

#include "runtime/base/Setting.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

using namespace hector;

namespace {

constexpr const char *kText = R"cuda(
#include "kernels/cuda/device.cuh"
using namespace hector::cuda;

struct Line {
  double slope;
  int64_t count;
};

/// y[i] = slope * x[i] + y[i]
extern "C" __global__ void add_scaled(const double *x, double *y, Line line) {
  const int64_t stride = numBlocks() * numThreads();
  for (int64_t i = blockNumber() * numThreads() + threadInBlock(); i < line.count; i += stride)
    y[i] = line.slope * x[i] + y[i];
}
HECTOR_CUDA_KERNEL(add_scaled)

/// Reverses each block's part of x, by way of shared memory, of which a block uses the last bytes.
extern "C" __global__ void reverse(float *x, int64_t sharedNumbers) {
  float *numbers = sharedMemory<float>() + sharedNumbers - numThreads();
  const int64_t start = blockNumber() * numThreads();
  numbers[threadInBlock()] = x[start + threadInBlock()];
  syncBlock();
  x[start + threadInBlock()] = numbers[numThreads() - 1 - threadInBlock()];
}
HECTOR_CUDA_KERNEL(reverse)

/// Block `i` of band `b` adds 100 * b + 10 * numBlocks() + i at its own place.
extern "C" __global__ void add_place(int64_t *x) {
  x[bandNumber() * numBlocks() + blockNumber()] += 100 * bandNumber() + 10 * numBlocks() + blockNumber();
}
HECTOR_CUDA_KERNEL(add_place)

/// z = x * y + z for one number.
extern "C" __global__ void multiply_add(const float *x, const float *y, float *z) {
  *z = *x * *y + *z;
}
HECTOR_CUDA_KERNEL(multiply_add)
)cuda";

/// Copies to the device; fails the test where that fails.
template <class T> DeviceMemory place(Device &device, const std::vector<T> &numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  auto memory = device.allocate(static_cast<int64_t>(bytes.size()));
  EXPECT_TRUE(memory) << memory.status().message();
  Status status = device.upload(memory->data(), bytes);
  EXPECT_TRUE(status.isOk());
  EXPECT_TRUE(device.synchronize().isOk());
  return std::move(memory).take();
}

template <class T> std::vector<T> contents(Device &device, const DeviceMemory &memory) {
  std::vector<T> numbers(static_cast<size_t>(memory.bytes()) / sizeof(T));
  EXPECT_TRUE(device.download(std::as_writable_bytes(std::span(numbers)), memory.data()).isOk());
  Status status = device.synchronize();
  EXPECT_TRUE(status.isOk()) << status.message();
  return numbers;
}

template <class T> std::vector<T> countingFrom(T first, size_t count) {
  std::vector<T> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::string messageOf(const Status &status) {
  return status.isOk() ? "" : status.message();
}

struct Line {
  double slope;
  int64_t count;
};

class DeviceTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (GetParam() == std::string("emulated")) {
      device = createEmulatedDevice();
      return;
    }
    auto gpu = createCudaDevice();
    if (!gpu)
      GTEST_SKIP() << gpu.status().message();
    device = std::move(gpu).take();
  }

  Kernel &kernel(const std::string &name, bool isFused = false) {
    auto loaded = device->load({{"test.cu", kText}, cudaHeaders(), "the test", isFused});
    if (!loaded) {
      ADD_FAILURE() << loaded.status().message();
      std::abort();
    }
    programs.push_back(std::move(loaded).take());
    auto found = programs.back()->kernel(name);
    EXPECT_TRUE(found) << found.status().message();
    return **found;
  }

  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
};

TEST_P(DeviceTest, DescribesItself) {
  const DeviceInfo &info = device->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.multiprocessors, 0);
  EXPECT_GT(info.cacheBytes, 0);
  EXPECT_GE(info.sharedBytes, 48 << 10);
  auto free = device->freeBytes();
  ASSERT_TRUE(free);
  EXPECT_GT(*free, 0);
  EXPECT_EQ(info.architecture == 0, info.name == "emulated");
}

TEST_P(DeviceTest, MemoryIsAlignedAndKeepsItsBytes) {
  const std::vector<int> numbers = countingFrom(1, 1001);
  const DeviceMemory a = place(*device, numbers), b = place(*device, std::vector<int>(3, 7));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 256, 0u);
  EXPECT_EQ(a.bytes(), 4004);
  EXPECT_EQ(contents<int>(*device, a), numbers);
  EXPECT_EQ(contents<int>(*device, b), std::vector<int>(3, 7));
}

TEST_P(DeviceTest, BytesAreCopiedOnTheDevice) {
  const std::vector<int> numbers = countingFrom(1, 1001);
  const DeviceMemory a = place(*device, numbers), b = place(*device, std::vector<int>(1001));
  ASSERT_TRUE(device->copy(b.data(), a.data(), a.bytes()).isOk());
  EXPECT_EQ(contents<int>(*device, b), numbers);
}

TEST_P(DeviceTest, NothingCanBeAllocatedCopiedAndFilled) {
  auto memory = device->allocate(0);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->data(), nullptr);
  EXPECT_TRUE(device->upload(memory->data(), {}).isOk());
  EXPECT_TRUE(device->copy(memory->data(), memory->data(), 0).isOk());
  EXPECT_TRUE(device->fill(memory->data(), std::byte{1}, 0).isOk());
  EXPECT_TRUE(device->download({}, memory->data()).isOk());
  EXPECT_TRUE(device->synchronize().isOk());
}

TEST_P(DeviceTest, MemoryThatDoesNotFitIsAFailure) {
  EXPECT_FALSE(device->allocate(int64_t{1} << 50));
  EXPECT_FALSE(device->allocate(-1));
  EXPECT_TRUE(device->allocate(1));
}

TEST_P(DeviceTest, FillsBytes) {
  const DeviceMemory memory = place(*device, std::vector<uint8_t>(10, 1));
  ASSERT_TRUE(device->fill(static_cast<uint8_t *>(memory.data()) + 3, std::byte{0xfe}, 4).isOk());
  EXPECT_EQ(contents<uint8_t>(*device, memory), (std::vector<uint8_t>{1, 1, 1, 0xfe, 0xfe, 0xfe, 0xfe, 1, 1, 1}));
}

TEST_P(DeviceTest, LaunchesWithPointersAndStructures) {
  const size_t count = 1000;
  const DeviceMemory x = place(*device, countingFrom(0.0, count)), y = place(*device, std::vector<double>(count, 1));
  const Arguments arguments = Arguments::of(x.data(), y.data(), Line{0.5, int64_t{count}});
  Status status = device->launch(kernel("add_scaled"), {3, 96}, arguments);
  ASSERT_TRUE(status.isOk()) << status.message();
  const std::vector<double> sums = contents<double>(*device, y);
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(sums[i], 0.5 * static_cast<double>(i) + 1) << i;
}

TEST_P(DeviceTest, WorkIsDoneInItsOrder) {
  const DeviceMemory x = place(*device, std::vector<double>(100, 1)), y = place(*device, std::vector<double>(100, 5));
  Kernel &add = kernel("add_scaled");
  ASSERT_TRUE(device->launch(add, {1, 64}, Arguments::of(x.data(), y.data(), Line{1, 100})).isOk());
  ASSERT_TRUE(device->fill(y.data(), std::byte{0}, y.bytes()).isOk());
  ASSERT_TRUE(device->launch(add, {1, 64}, Arguments::of(x.data(), y.data(), Line{2, 100})).isOk());
  ASSERT_TRUE(device->launch(add, {1, 64}, Arguments::of(y.data(), y.data(), Line{2, 50})).isOk());
  const std::vector<double> sums = contents<double>(*device, y);
  EXPECT_EQ(sums[0], 6);
  EXPECT_EQ(sums[99], 2);
}

TEST_P(DeviceTest, ALaunchWithoutBlocksDoesNothing) {
  const DeviceMemory x = place(*device, countingFrom(1.0f, 32));
  EXPECT_TRUE(device->launch(kernel("reverse"), {0, 32, 128}, Arguments::of(x.data(), int64_t{32})).isOk());
  EXPECT_EQ(contents<float>(*device, x), countingFrom(1.0f, 32));
}

TEST_P(DeviceTest, BandsHaveBlocksOfTheirOwn) {
  const DeviceMemory x = place(*device, std::vector<int64_t>(6, 0));
  const LaunchShape shape = {.blocks = 2, .threads = 1, .bands = 3};
  auto add = [&] { return device->launch(kernel("add_place"), shape, Arguments::of(x.data())); };
  ASSERT_TRUE(add().isOk());
  EXPECT_EQ(contents<int64_t>(*device, x), (std::vector<int64_t>{20, 21, 120, 121, 220, 221}));
  auto recording = device->record(add);
  ASSERT_TRUE(recording) << recording.status().message();
  ASSERT_TRUE(device->replay(**recording).isOk());
  EXPECT_EQ(contents<int64_t>(*device, x), (std::vector<int64_t>{40, 42, 240, 242, 440, 442}));
}

TEST_P(DeviceTest, SharedMemoryCanBeAsLargeAsTheDeviceSays) {
  Kernel &reverse = kernel("reverse");
  const int64_t bytes = device->info().sharedBytes;
  const DeviceMemory x = place(*device, countingFrom(0.0f, 128));
  const Arguments arguments = Arguments::of(x.data(), bytes / 4);
  EXPECT_EQ(messageOf(device->launch(reverse, {2, 64, bytes}, arguments)),
            "kernel `reverse` cannot be launched: it asks for " + std::to_string(bytes) +
                " bytes of shared memory per block; 49152 are allowed");
  Status status = device->allowShared(reverse, bytes);
  ASSERT_TRUE(status.isOk()) << status.message();
  status = device->launch(reverse, {2, 64, bytes}, arguments);
  ASSERT_TRUE(status.isOk()) << status.message();
  const std::vector<float> numbers = contents<float>(*device, x);
  EXPECT_EQ(numbers[0], 63);
  EXPECT_EQ(numbers[63], 0);
  EXPECT_EQ(numbers[64], 127);
  EXPECT_EQ(messageOf(device->allowShared(reverse, bytes + 1)),
            "kernel `reverse` needs " + std::to_string(bytes + 1) + " bytes of shared memory per block; " +
                device->info().name + " has " + std::to_string(bytes));
}

TEST_P(DeviceTest, ShapesBeyondTheDeviceAreRefused) {
  Kernel &reverse = kernel("reverse");
  const Arguments arguments = Arguments::of(static_cast<void *>(nullptr), int64_t{0});
  EXPECT_EQ(messageOf(device->launch(reverse, {1, 1025}, arguments)),
            "kernel `reverse` cannot be launched: a block is to have 1025 threads; 1 to 1024 are possible");
  EXPECT_EQ(messageOf(device->launch(reverse, {1, 0}, arguments)),
            "kernel `reverse` cannot be launched: a block is to have 0 threads; 1 to 1024 are possible");
  EXPECT_EQ(messageOf(device->launch(reverse, {int64_t{1} << 31, 1}, arguments)),
            "kernel `reverse` cannot be launched: it is to have 2147483648 blocks; 2147483647 are the most");
  for (int bands : {0, 65536})
    EXPECT_EQ(messageOf(device->launch(reverse, {.bands = bands}, arguments)),
              "kernel `reverse` cannot be launched: it is to have " + std::to_string(bands) +
                  " bands of blocks; 1 to 65535 are possible");
}

TEST_P(DeviceTest, AKernelIsFoundByItsName) {
  kernel("reverse");
  auto missing = programs.back()->kernel("absent");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.status().message().starts_with("the code of the test has no kernel `absent`"))
      << missing.status().message();
}

TEST_P(DeviceTest, ProductsAndSumsAreRoundedTogetherOnlyOnDemand) {
  const float x = 1 + std::ldexp(1.0f, -12), apart = x * x - 1, together = std::fma(x, x, -1.0f);
  ASSERT_NE(apart, together);
  for (bool isFused : {false, true}) {
    if (isFused && device->info().architecture == 0)
      continue;  // as far as the host's processor can
    const DeviceMemory a = place(*device, std::vector<float>{x}), z = place(*device, std::vector<float>{-1});
    ASSERT_TRUE(
        device->launch(kernel("multiply_add", isFused), {1, 1}, Arguments::of(a.data(), a.data(), z.data())).isOk());
    EXPECT_EQ(contents<float>(*device, z)[0], isFused ? together : apart);
  }
}

TEST_P(DeviceTest, TimeBetweenMarksGrows) {
  auto start = device->mark();
  const DeviceMemory x = place(*device, std::vector<double>(1 << 12)), y = place(*device, std::vector<double>(1 << 12));
  ASSERT_TRUE(
      device->launch(kernel("add_scaled"), {1, 32}, Arguments::of(x.data(), y.data(), Line{1, 1 << 12})).isOk());
  auto middle = device->mark(), end = device->mark();
  ASSERT_TRUE(start && middle && end);
  auto part = device->elapsedMs(**start, **middle), all = device->elapsedMs(**start, **end);
  ASSERT_TRUE(part && all);
  EXPECT_GT(*part, 0);
  EXPECT_GE(*all, *part);
}

TEST_P(DeviceTest, ARecordingRunsOnlyWhenItIsReplayed) {
  const DeviceMemory x = place(*device, std::vector<double>(8, 1)), y = place(*device, std::vector<double>(8, 0)),
                     z = place(*device, std::vector<double>(8, 3));
  Kernel &add = kernel("add_scaled");
  auto recording = device->record([&] {
    // The arguments are gone when the recording is replayed.
    Status status = device->launch(add, {1, 32}, Arguments::of(x.data(), y.data(), Line{1, 8}));
    if (status.isOk())
      status = device->launch(add, {1, 32}, Arguments::of(y.data(), y.data(), Line{1, 8}));
    return status.isOk() ? device->fill(z.data(), std::byte{0}, 32) : status;
  });
  ASSERT_TRUE(recording) << recording.status().message();
  EXPECT_EQ(contents<double>(*device, y), std::vector<double>(8, 0));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(device->replay(**recording).isOk());
  EXPECT_EQ(contents<double>(*device, y), std::vector<double>(8, 14));  // 2, 6, 14
  EXPECT_EQ(contents<double>(*device, z), (std::vector<double>{0, 0, 0, 0, 3, 3, 3, 3}));
}

TEST_P(DeviceTest, OnlyLaunchesAndFillsAreRecorded) {
  std::vector<std::byte> bytes(8);
  const DeviceMemory memory = place(*device, std::vector<double>(1));
  std::vector<std::string> messages;
  auto recording = device->record([&] {
    messages = {messageOf(device->upload(memory.data(), bytes)),
                messageOf(device->download(bytes, memory.data())),
                messageOf(device->copy(memory.data(), memory.data(), 8)),
                messageOf(device->synchronize()),
                device->mark().status().message(),
                device->record([] { return Status::ok(); }).status().message()};
    return Status::ok();
  });
  ASSERT_TRUE(recording);
  EXPECT_EQ(messages, (std::vector<std::string>{"an upload cannot be recorded; launches and fills can",
                                                "a download cannot be recorded; launches and fills can",
                                                "a copy cannot be recorded; launches and fills can",
                                                "waiting cannot be recorded; launches and fills can",
                                                "a mark cannot be recorded; launches and fills can",
                                                "another recording cannot be recorded; launches and fills can"}));
  EXPECT_TRUE(device->replay(**recording).isOk());
  EXPECT_TRUE(device->synchronize().isOk());
}

TEST_P(DeviceTest, MemoryCanBeFreedWhileItIsRecorded) {
  DeviceMemory memory = place(*device, std::vector<double>(1));
  auto recording = device->record([&] {
    memory = DeviceMemory();
    return Status::ok();
  });
  EXPECT_TRUE(recording) << recording.status().message();
}

TEST_P(DeviceTest, TextThatDoesNotCompileIsAFailureWithItsLine) {
  auto program = device->load({{"bad.cu", "int a;\nint b = question;\n"}, {}, "a bad text"});
  ASSERT_FALSE(program);
  const std::string message = program.status().message();
  EXPECT_NE(message.find(" could not compile the code of a bad text"), std::string::npos) << message;
  EXPECT_TRUE(message.find("bad.cu(2): error: ") != std::string::npos ||
              message.find("bad.cu:2:9: error: ") != std::string::npos)
      << message;
}

INSTANTIATE_TEST_SUITE_P(Gpu, DeviceTest, testing::Values("gpu"), [](auto &) { return "gpu"; });
INSTANTIATE_TEST_SUITE_P(Emulated, DeviceTest, testing::Values("emulated"), [](auto &) { return "emulated"; });

// What only the emulated device can find.

#if !defined(__SANITIZE_ADDRESS__)
TEST(EmulatedDeviceTest, WritesOutsideOfMemoryAreReportedOnce) {
  auto device = createEmulatedDevice();
  auto program = device->load({{"test.cu", kText}, cudaHeaders(), "the test"});
  ASSERT_TRUE(program) << program.status().message();
  auto add = (*program)->kernel("add_scaled");
  ASSERT_TRUE(add);
  const DeviceMemory x = place(*device, std::vector<double>(20, 1)), y = place(*device, std::vector<double>(10, 1));
  EXPECT_EQ(messageOf(device->launch(**add, {1, 32}, Arguments::of(x.data(), y.data(), Line{1, 12}))),
            "kernel `add_scaled` wrote outside of its memory: to byte 80 of an allocation of 80 bytes");
  EXPECT_TRUE(device->launch(**add, {1, 32}, Arguments::of(x.data(), y.data(), Line{1, 10})).isOk());
  EXPECT_EQ(messageOf(device->fill(static_cast<std::byte *>(y.data()) - 5, std::byte{0}, 6)),
            "a fill wrote outside of its memory: to byte -5 of an allocation of 80 bytes");
}
#endif

TEST(EmulatedDeviceTest, MemoryStartsAsNaN) {
  auto device = createEmulatedDevice();
  auto memory = device->allocate(8);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(std::isnan(contents<double>(*device, *memory)[0]));
}

}  // namespace
