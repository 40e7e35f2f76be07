#include "runtime/machine/MeasureGpu.h"

#include "runtime/device/EmulatedDevice.h"
#include "runtime/device/Nvrtc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

using namespace hector;

namespace {

/// The kernels on the emulated device.
class MeasuredGpuKernelsTest : public testing::Test {
protected:
  template <class T> DeviceMemory filled(const std::vector<T> &values) {
    auto memory = device->allocate(static_cast<int64_t>(values.size() * sizeof(T)));
    EXPECT_TRUE(memory && device->upload(memory->data(), std::as_bytes(std::span(values))).isOk());
    return std::move(*memory);
  }
  template <class T> std::vector<T> contents(const DeviceMemory &memory) {
    std::vector<T> values(static_cast<size_t>(memory.bytes()) / sizeof(T));
    EXPECT_TRUE(device->download(std::as_writable_bytes(std::span(values)), memory.data()).isOk());
    return values;
  }
  template <class... Ts> void launch(const char *name, const LaunchShape &shape, const Ts &...arguments) {
    auto program = loadMeasuredKernels(*device);
    ASSERT_TRUE(program) << program.status().message();
    auto kernel = (*program)->kernel(name);
    ASSERT_TRUE(kernel) << kernel.status().message();
    const Status status = device->launch(**kernel, shape, Arguments::of(arguments...));
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  std::unique_ptr<Device> device = createEmulatedDevice();
};

}  // namespace

// The kernels do the work that they are timed for.

TEST_F(MeasuredGpuKernelsTest, CopiesEveryNumber) {
  // More packs than the grid takes at once, and a part of a block.
  std::vector<float> numbers(4 * 5000);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  DeviceMemory from = filled(numbers), to = filled(std::vector<float>(numbers.size(), -1));
  launch("copyNumbers", {2, 256}, to.data(), from.data(), int64_t{5000});
  EXPECT_EQ(contents<float>(to), numbers);
}

TEST_F(MeasuredGpuKernelsTest, RandomReadsReachTheWholeTable) {
  // The sum of a single read is the word that was read, and each word is its own place.
  std::vector<uint32_t> words(16), seen(16);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(i);
  DeviceMemory table = filled(words), sums = filled(std::vector<uint32_t>(1024));
  launch("readAtRandom", {4, 256}, sums.data(), table.data(), uint32_t{16}, uint32_t{7}, 1);
  for (uint32_t word : contents<uint32_t>(sums))
    ++seen[word];
  for (uint32_t count : seen)
    EXPECT_GT(count, 20u);
}

TEST_F(MeasuredGpuKernelsTest, SumsCountEveryRead) {
  DeviceMemory table = filled(std::vector<uint32_t>(100, 1)), sums = filled(std::vector<uint32_t>(512));
  launch("readAtRandom", {2, 256}, sums.data(), table.data(), uint32_t{100}, uint32_t{7}, 123);
  EXPECT_EQ(contents<uint32_t>(sums), std::vector<uint32_t>(512, 123));
}

TEST_F(MeasuredGpuKernelsTest, ProductsMatchPlainLoops) {
  // Five tiles for two blocks: each ends with one of them.
  constexpr int64_t kSize = 64, kRows = 32;
  constexpr int kTiles = 5, kTable = 3;
  std::vector<float> rows(kTable * kRows * kSize), matrix(kSize * kSize);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(i * 7 % 11) - 5;
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<float>(i * 5 % 13) - 6;
  DeviceMemory from = filled(rows), by = filled(matrix), to = filled(std::vector<float>(2 * kRows * kSize));
  launch("multiplyTiles", {2, 128, sharedBytesOfProducts()}, to.data(), from.data(), by.data(), kTiles, kTable);
  const std::vector<float> found = contents<float>(to);
  for (int64_t block : {0, 1})
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t c = 0; c < kSize; ++c) {
        const int64_t tile = (block == 0 ? 4 : 3) % kTable;
        float sum = 0;  // whole numbers: exact in any order
        for (int64_t k = 0; k < kSize; ++k)
          sum += rows[static_cast<size_t>((tile * kRows + r) * kSize + k)] * matrix[static_cast<size_t>(k * kSize + c)];
        ASSERT_EQ(found[static_cast<size_t>((block * kRows + r) * kSize + c)], sum) << block << ", " << r << ", " << c;
      }
}

TEST_F(MeasuredGpuKernelsTest, ElementsMatchTheFormula) {
  std::vector<float> from(256);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<float>(i) / 64 - 2;
  DeviceMemory given = filled(from), to = filled(std::vector<float>(from.size()));
  launch("computeElements", {1, 256}, to.data(), given.data(), 3);
  const std::vector<float> found = contents<float>(to);
  for (size_t i = 0; i < from.size(); ++i) {
    double expected = 0;
    for (int round = 0; round < 3; ++round) {
      const double x = from[i] + round / 1024.0, t = 2 * x + 1, y = std::max(t, 0.2 * t);
      expected += std::exp(y) * 0.5 + x - y;
    }
    EXPECT_NEAR(found[i], expected, 1e-5 * (1 + std::abs(expected))) << from[i];
  }
}

TEST_F(MeasuredGpuKernelsTest, StepsFollowTheirPlaces) {
  std::vector<float> from(256), expected(256);
  std::vector<int32_t> places(256);
  for (size_t i = 0; i < 256; ++i) {
    from[i] = static_cast<float>(i);
    places[i] = static_cast<int32_t>(255 - i);
    expected[i] = static_cast<float>(256 - i);
  }
  DeviceMemory given = filled(from), order = filled(places), to = filled(std::vector<float>(256));
  launch("takeStep", {2, 128}, to.data(), given.data(), order.data());
  EXPECT_EQ(contents<float>(to), expected);
}

// As for a GPU.

class MeasuredKernelsForGpu : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Sm, MeasuredKernelsForGpu, testing::Values(80, 90, 100),
                         [](const auto &info) { return std::to_string(info.param); });

TEST_P(MeasuredKernelsForGpu, Compile) {
  auto nvrtc = Nvrtc::find();
  if (!nvrtc)
    GTEST_SKIP() << "the kernels are not compiled for a GPU: " << nvrtc.status().message();
  CodeRequest request = {{"Measured.cu", std::string(measuredKernels())}, {}, cudaFlags(GetParam()), "the measurement"};
  for (const EmbeddedFile &header : cudaHeaders())
    request.headers.push_back({std::string(header.name), std::string(header.text)});
  const Nvrtc::Output output = nvrtc->compile(request);
  EXPECT_EQ(output.error, 0) << output.errorName;
  EXPECT_EQ(output.log, "");  // no warnings
  EXPECT_NE(output.cubin, "");
}

// Measuring.

TEST(MeasureGpuTest, EveryFigureIsThere) {
  std::unique_ptr<Device> device = createEmulatedDevice();
  std::vector<std::string> told;
  auto machine = measureGpu(*device, [&](std::string_view what, int64_t done, int64_t total) {
    EXPECT_LE(done, total);
    if (told.empty() || told.back() != what)
      told.emplace_back(what);
    return true;
  });
  ASSERT_TRUE(machine) << machine.status().message();
  EXPECT_EQ(machine->name, "emulated");
  EXPECT_EQ(machine->target, MachineTarget::Gpu);
  EXPECT_EQ(machine->cacheBytes, device->info().cacheBytes);
  EXPECT_EQ(machine->lineBytes, 32);
  // It can be kept, and read again.
  auto again = parseMachine(formatMachine(*machine), "gpu.toml");
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(*again, *machine);
  EXPECT_EQ(told, (std::vector<std::string>{"memory", "memory bandwidth", "reads of a large table",
                                            "reads of a cached table", "products", "other operations", "launches"}));
}

TEST(MeasureGpuTest, StopsWhenAsked) {
  std::unique_ptr<Device> device = createEmulatedDevice();
  int64_t calls = 0;
  auto machine = measureGpu(*device, [&](std::string_view, int64_t, int64_t) { return ++calls < 3; });
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.status().message(), "stopped; nothing was measured");
  EXPECT_EQ(calls, 3);
}

TEST(MeasureGpuTest, WorkGrowsWithTheCache) {
  DeviceInfo info;
  info.architecture = 90;
  info.cacheBytes = 60 << 20;
  const GpuWork work = workFor(info);
  EXPECT_EQ(work.bytes, int64_t{32} * (60 << 20));
  EXPECT_EQ(work.cachedBytes, 15 << 20);
  info.cacheBytes = 0;  // a driver that does not say
  EXPECT_EQ(workFor(info).bytes, int64_t{1} << 29);
  EXPECT_EQ(workFor(info).cachedBytes, 8192);
}
