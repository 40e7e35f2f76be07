#include "runtime/device/CudaDevice.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"

#include <dlfcn.h>
#include <numeric>
#include <optional>

using namespace hector;

namespace {

/// On stand-ins for the driver and NVRTC. Whatever a test does, nothing is left behind.
class CudaDeviceTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    cache.emplace("HECTOR_CACHE", path("cache").c_str());
    nvrtc.emplace("HECTOR_NVRTC", HECTOR_FAKE_NVRTC);
    void *handle = dlopen(HECTOR_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    fail = reinterpret_cast<void (*)(const char *, int)>(dlsym(handle, "fakeCudaFail"));
    live = reinterpret_cast<int64_t (*)()>(dlsym(handle, "fakeCudaLive"));
    loaded = reinterpret_cast<const char *(*)()>(dlsym(handle, "fakeCudaLoaded"));
    launchStream = reinterpret_cast<void *(*)()>(dlsym(handle, "fakeCudaStream"));
    launchedGraph = reinterpret_cast<const char *(*)()>(dlsym(handle, "fakeCudaGraph"));
    fail("", 0);
  }
  void TearDown() override {
    EXPECT_EQ(live(), 0);
    FolderTest::TearDown();
  }

  static std::unique_ptr<Device> create() {
    auto device = createCudaDevice(HECTOR_FAKE_CUDA);
    EXPECT_TRUE(device) << device.status().message();
    return std::move(device).take();
  }
  static std::string failureOfCreate(const std::string &library = HECTOR_FAKE_CUDA) {
    auto device = createCudaDevice(library);
    return device ? "" : device.status().message();
  }
  static std::unique_ptr<DeviceProgram> load(Device &device) {
    auto program = device.load({{"model.cu", "text"}, {}, "model"});
    EXPECT_TRUE(program) << program.status().message();
    return std::move(program).take();
  }

  void (*fail)(const char *function, int error) = nullptr;
  int64_t (*live)() = nullptr;
  void *(*launchStream)() = nullptr;
  const char *(*loaded)() = nullptr, *(*launchedGraph)() = nullptr;

private:
  std::optional<Setting> cache, nvrtc;
};

std::string messageOf(const Status &status) {
  return status.isOk() ? "" : status.message();
}

TEST_F(CudaDeviceTest, DescribesItself) {
  auto device = create();
  EXPECT_EQ(device->info().name, "Fake");
  EXPECT_EQ(device->info().architecture, 90);
  EXPECT_EQ(device->info().multiprocessors, 1016);
  EXPECT_EQ(device->info().memoryBytes, int64_t{4} << 30);
  EXPECT_EQ(device->info().cacheBytes, 1038);
  EXPECT_EQ(device->info().sharedBytes, 232448);
  EXPECT_EQ(*device->freeBytes(), int64_t{1} << 30);
}

TEST_F(CudaDeviceTest, SaysWhyThereIsNone) {
  EXPECT_EQ(
      failureOfCreate("/nowhere/libcuda.so.1")
          .find("there is no CUDA driver, which comes with NVIDIA's driver for its GPUs: /nowhere/libcuda.so.1: "),
      0u);
  const std::string other = failureOfCreate(HECTOR_FAKE_NVRTC);
  EXPECT_EQ(other.find("the CUDA driver is older than CUDA 11.4, the oldest that Hector works with: "), 0u) << other;
  fail("cuInit", 100);
  EXPECT_EQ(failureOfCreate(), "the CUDA driver cannot be used: CUDA_ERROR_NO_DEVICE: as the test asked");
  fail("cuInit", 12345);
  EXPECT_EQ(failureOfCreate(), "the CUDA driver cannot be used: CUDA error 12345");
  fail("no GPU", 0);
  EXPECT_EQ(failureOfCreate(), "the CUDA driver shows no GPU; is CUDA_VISIBLE_DEVICES set?");
  for (const char *function : {"cuDevicePrimaryCtxRetain", "cuStreamCreate"}) {
    fail(function, 2);
    EXPECT_EQ(failureOfCreate(), "Fake: cannot be used: CUDA_ERROR_OUT_OF_MEMORY: as the test asked");
  }
}

TEST_F(CudaDeviceTest, MemoryThatDoesNotFitIsAFailureWithNumbers) {
  auto device = create();
  auto memory = device->allocate(int64_t{3} << 30);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.status().message(), "out of device memory: 3.0 GiB do not fit; 1.0 GiB of 4.0 GiB are free on Fake\n"
                                       "   help: nvidia-smi lists the programs that hold memory of the GPU; end those "
                                       "that are not needed, or run on the CPU (--backend cpu)");
  memory = device->allocate(int64_t{5} << 30);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.status().message(), "out of device memory: 5.0 GiB do not fit; 1.0 GiB of 4.0 GiB are free on Fake\n"
                                       "   help: run on the CPU (--backend cpu), or on a GPU with more memory");
}

TEST_F(CudaDeviceTest, GpusHaveNumbers) {
  EXPECT_TRUE(createCudaDevice(HECTOR_FAKE_CUDA, 0));
  for (int number : {1, -1})
    EXPECT_EQ(createCudaDevice(HECTOR_FAKE_CUDA, number).status().message(),
              "there is no GPU " + std::to_string(number) + "; the CUDA driver shows one, GPU 0");
}

TEST_F(CudaDeviceTest, WorkGoesToTheCallersStreamWhileItIsLent) {
  auto device = create();
  auto program = load(*device);
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  const Arguments arguments = Arguments::of(static_cast<int *>(nullptr), int64_t{0});
  auto streamOfLaunch = [&] {
    EXPECT_EQ(messageOf(device->launch(**kernel, {1, 32, 0}, arguments)), "");
    return launchStream();
  };
  void *const own = streamOfLaunch();
  EXPECT_NE(own, nullptr);
  int stream = 0;
  device->useStream(&stream);
  EXPECT_EQ(streamOfLaunch(), &stream);
  device->useStream(nullptr);  // the default one
  EXPECT_EQ(streamOfLaunch(), nullptr);
  device->useStream(std::nullopt);
  EXPECT_EQ(streamOfLaunch(), own);
}

TEST_F(CudaDeviceTest, LaunchesRecordsAndReplays) {
  auto device = create();
  auto program = load(*device);
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(*kernel, *program->kernel("triple"));
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1);
  auto memory = device->allocate(400);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(device->upload(memory->data(), std::as_bytes(std::span(numbers))).isOk());
  const Arguments arguments = Arguments::of(static_cast<int *>(memory->data()), int64_t{50});
  auto recording = device->record([&] {
    Status status = device->launch(**kernel, {1, 128}, arguments);
    return status.isOk() ? device->fill(static_cast<int *>(memory->data()) + 60, std::byte{0}, 160) : status;
  });
  ASSERT_TRUE(recording) << recording.status().message();
  ASSERT_TRUE(device->launch(**kernel, {1, 128}, arguments).isOk());
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(device->replay(**recording).isOk());
  ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(numbers)), memory->data()).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(numbers[0], 27);
  EXPECT_EQ(numbers[49], 50 * 27);
  EXPECT_EQ(numbers[50], 51);
  EXPECT_EQ(numbers[60], 0);
}

TEST_F(CudaDeviceTest, RecordingsByMemoryAreGraphsWithBranches) {
  auto device = create();
  auto program = load(*device);
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  std::vector<int> numbers(200, 1);
  auto memory = device->allocate(800);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(device->upload(memory->data(), std::as_bytes(std::span(numbers))).isOk());
  int *left = static_cast<int *>(memory->data()), *right = left + 100;
  auto triple = [&](int *start, int blocks) {
    const MemoryUse use = MemoryUse::write(start, 400);
    return device->launch(**kernel, {blocks, 128, 16}, Arguments::of(start, int64_t{100}), {&use, 1});
  };
  auto body = [&] {
    EXPECT_TRUE(triple(left, 1).isOk());
    EXPECT_TRUE(triple(right, 2).isOk());
    EXPECT_TRUE(triple(right, 0).isOk());
    EXPECT_TRUE(device->fill(left + 60, std::byte{0}, 160).isOk());
    EXPECT_TRUE(triple(left, 3).isOk());
    return device->fill(left + 90, std::byte{0}, 80);
  };
  auto recording = device->record(body, RecordedOrder::ByMemory);
  ASSERT_TRUE(recording) << recording.status().message();
  ASSERT_TRUE(device->replay(**recording).isOk());
  EXPECT_STREQ(launchedGraph(), "triple 1x128+16; triple 2x128+16; fill 160 after 0; triple 3x128+16 after 2; "
                                "fill 80 after 1 3");
  ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(numbers)), memory->data()).isOk());
  ASSERT_TRUE(device->synchronize().isOk());
  EXPECT_EQ(numbers[0], 9);
  EXPECT_EQ(numbers[60], 0);
  EXPECT_EQ(numbers[109], 0);
  EXPECT_EQ(numbers[110], 3);
  recording = device->record(body);
  ASSERT_TRUE(recording && device->replay(**recording).isOk());
  EXPECT_STREQ(launchedGraph(), "triple 1x128+16; triple 2x128+16 after 0; fill 160 after 1; triple 3x128+16 after 2; "
                                "fill 80 after 3");
}

TEST_F(CudaDeviceTest, FailuresOfRecordingNameTheCall) {
  auto device = create();
  auto program = load(*device);
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  auto memory = device->allocate(8);
  ASSERT_TRUE(memory);
  auto failureOf = [&](const char *function) {
    fail(function, 2);
    auto recording = device->record([&] {
      Status status = device->launch(**kernel, {4, 128, 16}, Arguments::of(memory->data(), int64_t{1}));
      return status.isOk() ? device->fill(memory->data(), std::byte{0}, 8) : status;
    });
    fail("", 0);
    return recording ? "" : recording.status().message();
  };
  const std::string why = ": CUDA_ERROR_OUT_OF_MEMORY: as the test asked";
  EXPECT_EQ(failureOf("cuGraphCreate"), "Fake: recording" + why);
  EXPECT_EQ(failureOf("cuGraphAddKernelNode"),
            "Fake: recording kernel `triple` (4 blocks of 128 threads, 16 bytes of shared memory)" + why);
  EXPECT_EQ(failureOf("cuGraphAddMemsetNode"), "Fake: recording a fill" + why);
  EXPECT_EQ(failureOf("cuGraphInstantiateWithFlags"), "Fake: recording" + why);
}

TEST_F(CudaDeviceTest, FailuresNameTheKernelAndWhatCudaSaid) {
  auto device = create();
  auto program = load(*device);
  auto missing = program->kernel("absent");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(),
            "the code of model has no kernel `absent`: CUDA_ERROR_OTHER: as the test asked");
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  const Arguments nothing = Arguments::of(static_cast<int *>(nullptr), int64_t{0});
  ASSERT_TRUE(device->launch(**kernel, {1, 1}, nothing).isOk());
  fail("cuStreamSynchronize", 700);
  EXPECT_EQ(messageOf(device->synchronize()), "Fake: running kernel `triple`: CUDA_ERROR_OTHER: as the test asked");
  EXPECT_EQ(messageOf(device->synchronize()), "Fake: waiting: CUDA_ERROR_OTHER: as the test asked");
  auto recording = device->record([&] { return device->launch(**kernel, {1, 1}, nothing); });
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(recording && device->replay(**recording).isOk());
  EXPECT_EQ(messageOf(device->synchronize()),
            "Fake: running 2 kernels, the last of them `triple`: CUDA_ERROR_OTHER: as the test asked");
  fail("cuLaunchKernel", 701);
  EXPECT_EQ(messageOf(device->launch(**kernel, {4, 128, 16}, nothing)),
            "Fake: launching kernel `triple` (4 blocks of 128 threads, 16 bytes of shared memory): "
            "CUDA_ERROR_OTHER: as the test asked");
  fail("cuFuncSetAttribute", 1);
  EXPECT_EQ(messageOf(device->allowShared(**kernel, 100000)),
            "Fake: giving kernel `triple` 100000 bytes of shared memory: CUDA_ERROR_OTHER: as the test asked");
}

TEST_F(CudaDeviceTest, ArgumentsAreComparedWithTheKernelsParameters) {
  auto device = create();
  auto program = load(*device);
  auto kernel = program->kernel("triple");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(messageOf(device->launch(**kernel, {1, 1}, Arguments::of(static_cast<int *>(nullptr)))),
            "kernel `triple` cannot be launched: it has 2 parameters and is given 1 argument");
  EXPECT_EQ(messageOf(device->launch(**kernel, {1, 1}, Arguments::of(static_cast<int *>(nullptr), 5))),
            "kernel `triple` cannot be launched: parameter 1 has 8 bytes, and its argument 4");
}

TEST_F(CudaDeviceTest, CodeThatCannotBeLoadedNamesVersions) {
  auto device = create();
  fail("cuModuleLoadData", 222);
  auto program = device->load({{"model.cu", "text"}, {}, "model"});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.status().message(), "the code of model cannot be loaded: CUDA_ERROR_OTHER: as the test asked "
                                        "(Fake, driver for CUDA 13.2); it was compiled by NVRTC 99.1");
}

TEST_F(CudaDeviceTest, CompiledCodeNeedsNoCompiler) {
  auto device = create();
  const std::string code = "compiled elsewhere";
  Setting none("HECTOR_NVRTC", "/nonexistent");
  auto program = device->loadCode(std::as_bytes(std::span(code)).first(8), "model");
  ASSERT_TRUE(program) << program.status().message();
  EXPECT_STREQ(loaded(), "compiled");
  fail("cuModuleLoadData", 222);
  program = device->loadCode(std::as_bytes(std::span(code)), "model");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.status().message(), "the code of model cannot be loaded: CUDA_ERROR_OTHER: as the test asked "
                                        "(Fake, driver for CUDA 13.2)");
}

TEST_F(CudaDeviceTest, ARecordingThatFailsLeavesTheDeviceUsable) {
  auto device = create();
  auto failing = device->record([] { return Status::failed("no"); });
  ASSERT_FALSE(failing);
  EXPECT_EQ(failing.status().message(), "no");
  for (const char *function : {"cuGraphCreate", "cuGraphInstantiateWithFlags"}) {
    fail(function, 900);
    auto recording = device->record([] { return Status::ok(); });
    ASSERT_FALSE(recording);
    EXPECT_EQ(recording.status().message(), "Fake: recording: CUDA_ERROR_OTHER: as the test asked");
  }
  fail("", 0);
  EXPECT_TRUE(device->synchronize().isOk());
}

}  // namespace
