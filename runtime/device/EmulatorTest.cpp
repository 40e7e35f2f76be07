#include "runtime/device/Emulator.h"

#include "kernels/cuda/device.cuh"
#include "runtime/base/Parallel.h"
#include "runtime/device/Fibre.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace hector {
namespace {

// A kernel's arguments are kept alive for the launch, and passed by their addresses.
template <class... Args>
Status launch(const Emulator &emulator, cuda::HostEntry *entry, int64_t blocks, int threads, int64_t sharedBytes,
              Args... args) {
  std::array<void *, sizeof...(Args) + 1> addresses = {&args..., nullptr};
  return emulator.launch(entry, blocks, threads, sharedBytes, addresses.data());
}

template <class... Args> std::string failureOf(cuda::HostEntry *entry, int threads, Args... args) {
  Status status = launch(Emulator(), entry, 1, threads, 64, args...);
  return status.isOk() ? "" : status.message();
}

#define EXPECT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    Status status = expression;                                                                                        \
    EXPECT_TRUE(status.isOk()) << status.message();                                                                    \
  } while (false)

/// How many of some seeds make a kernel leave a wrong answer.
int numWrong(const std::function<bool(uint64_t seed)> &isRight) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    wrong += !isRight(seed);
  return wrong;
}

// --- launches -------------------------------------------------------------------------------------------------------

struct Sizes {
  int64_t rows;
  double scale;
};

extern "C" __global__ void placesOfThreads(int64_t *out, const uint8_t offset, Sizes sizes) {
  const int64_t i = cuda::blockNumber() * cuda::numThreads() + cuda::threadInBlock();
  if (i < sizes.rows)
    out[i] =
        offset + static_cast<int64_t>(sizes.scale) * (cuda::warp() * 100 + cuda::lane()) + 100000 * cuda::numBlocks();
}
HECTOR_CUDA_KERNEL(placesOfThreads)

TEST(Emulator, RunsEveryThreadOfEveryBlockWithItsArguments) {
  std::vector<int64_t> out(200, -1);
  EXPECT_OK(launch(Emulator(), placesOfThreads_host, 3, 70, 0, out.data(), uint8_t{7}, Sizes{199, 10.0}));
  for (int i = 0; i < 199; ++i)
    EXPECT_EQ(out[i], 7 + 10 * (i % 70 / 32 * 100 + i % 70 % 32) + 300000) << i;
  EXPECT_EQ(out[199], -1);
}

TEST(Emulator, RunsNothingForAGridOfNoBlocks) {
  int64_t out = -1;
  EXPECT_OK(launch(Emulator(), placesOfThreads_host, 0, 32, 0, &out, uint8_t{7}, Sizes{1, 1.0}));
  EXPECT_EQ(out, -1);
}

TEST(Emulator, RefusesWhatAGpuRefuses) {
  int64_t out = -1;
  auto messageOf = [&](int64_t blocks, int threads, int64_t bytes) {
    return launch(Emulator(), placesOfThreads_host, blocks, threads, bytes, &out, uint8_t{7}, Sizes{1, 1.0}).message();
  };
  EXPECT_EQ(messageOf(1, 1025, 0), "cannot launch blocks of 1025 threads; a block has 1 to 1024");
  EXPECT_EQ(messageOf(-1, 32, 0), "cannot launch -1 blocks; a grid has 0 to 2147483647");
  EXPECT_EQ(messageOf(1, 32, 232449),
            "cannot launch blocks with 232449 bytes of dynamic shared memory; a block has 0 to 232448");
}

// --- barriers -------------------------------------------------------------------------------------------------------

/// Adds the numbers of a block by halves, with a barrier after each.
extern "C" __global__ void sumOfBlock(const float *x, float *out, bool hasBarriers) {
  auto *sums = cuda::sharedMemory<float>();
  const int thread = cuda::threadInBlock();
  sums[thread] = x[thread];
  for (int half = cuda::numThreads() / 2; half > 0; half /= 2) {
    if (hasBarriers)
      cuda::syncBlock();
    if (thread < half)
      sums[thread] += sums[thread + half];
  }
  if (thread == 0)
    out[cuda::blockNumber()] = sums[0];
}
HECTOR_CUDA_KERNEL(sumOfBlock)

TEST(Emulator, KeepsABlockTogether) {
  std::vector<float> x(256, 1.0f);
  EXPECT_EQ(numWrong([&](uint64_t seed) {
              float out = 0;
              EXPECT_OK(launch(Emulator(seed), sumOfBlock_host, 1, 256, 1024, x.data(), &out, true));
              return out == 256.0f;
            }),
            0);
}

TEST(Emulator, ShowsThatABlockBarrierIsMissing) {
  std::vector<float> x(256, 1.0f);
  EXPECT_EQ(numWrong([&](uint64_t seed) {
              float out = 0;
              EXPECT_OK(launch(Emulator(seed), sumOfBlock_host, 1, 256, 1024, x.data(), &out, false));
              return out == 256.0f;
            }),
            20);
}

extern "C" __global__ void neighbours(int *out, bool hasBarrier) {
  auto *shared = cuda::sharedMemory<int>();
  const int lane = cuda::lane();
  shared[lane] = lane;
  const uint32_t lanes = cuda::groupLanes(8);
  if (hasBarrier)
    cuda::syncWarp(lanes);
  out[lane] = shared[lane ^ 7];
}
HECTOR_CUDA_KERNEL(neighbours)

TEST(Emulator, KeepsLanesTogetherAndShowsWhereABarrierIsMissing) {
  for (bool hasBarrier : {true, false})
    EXPECT_EQ(numWrong([&](uint64_t seed) {
                std::array<int, 32> out = {};
                EXPECT_OK(launch(Emulator(seed), neighbours_host, 1, 32, 128, out.data(), hasBarrier));
                for (int lane = 0; lane < 32; ++lane)
                  if (out[lane] != (lane ^ 7))
                    return false;
                return true;
              }),
              hasBarrier ? 0 : 20);
}

extern "C" __global__ void orderOfArrival(int *next, int *order) {
  order[(*next)++] = static_cast<int>(cuda::blockNumber()) * 64 + cuda::threadInBlock();
}
HECTOR_CUDA_KERNEL(orderOfArrival)

std::vector<int> orderOf(uint64_t seed) {
  const ThreadLimit limit(1);
  int next = 0;
  std::vector<int> order(64 * 4);
  EXPECT_OK(launch(Emulator(seed), orderOfArrival_host, 4, 64, 0, &next, order.data()));
  return order;
}

TEST(Emulator, DrawsTheOrderFromTheSeed) {
  EXPECT_EQ(orderOf(5), orderOf(5));
  EXPECT_NE(orderOf(5), orderOf(6));
}

extern "C" __global__ void leavesEarly() {
  if (cuda::threadInBlock() < 3)
    return;
  cuda::syncBlock();
}
HECTOR_CUDA_KERNEL(leavesEarly)

TEST(Emulator, ReportsABarrierThatNotAllReach) {
  EXPECT_EQ(failureOf(leavesEarly_host, 40),
            "kernel `leavesEarly`, block 0 of 1: its threads wait for each other, and none can go on\n"
            "  has ended: threads 0 to 2\n"
            "  at syncBlock: threads 3 to 39");
}

extern "C" __global__ void barriersThatDiffer() {
  if (cuda::warp() == 0)
    cuda::syncBlock();
  else
    cuda::syncWarp(cuda::lane() < 2 ? 0xffffffffu : 0xfffffffcu);
}
HECTOR_CUDA_KERNEL(barriersThatDiffer)

TEST(Emulator, ReportsWhatEachThreadWaitsFor) {
  EXPECT_EQ(failureOf(barriersThatDiffer_host, 64),
            "kernel `barriersThatDiffer`, block 0 of 1: its threads wait for each other, and none can go on\n"
            "  at syncBlock: threads 0 to 31\n"
            "  at syncWarp: threads 32, 33\n"
            "  has ended: threads 34 to 63");
}

// --- shuffles -------------------------------------------------------------------------------------------------------

template <class T> struct Shuffled {
  T index[64], exchanged[64], down[64], up[64];
};

template <class T> __device__ void shuffleAll(Shuffled<T> *out, T value) {
  const int thread = cuda::threadInBlock();
  out->index[thread] = cuda::shuffle(value, 2, 8);
  out->exchanged[thread] = cuda::shuffleXor(value, 5, 16);
  out->down[thread] = cuda::shuffleDown(value, 3, 32);
  out->up[thread] = cuda::shuffleUp(value, 4, 16);
}
extern "C" __global__ void shufflesOfAll(Shuffled<float> *floats, Shuffled<double> *doubles, Shuffled<int32_t> *ints,
                                         Shuffled<int64_t> *longs, Shuffled<bool> *bools) {
  const int thread = cuda::threadInBlock();
  shuffleAll(floats, 0.5f + static_cast<float>(thread));
  shuffleAll(doubles, 1e-12 + thread);
  shuffleAll(ints, -thread);
  shuffleAll(longs, (int64_t{1} << 40) + thread);
  shuffleAll(bools, thread % 3 == 0);
}
HECTOR_CUDA_KERNEL(shufflesOfAll)

template <class T, class F> void checkShuffled(const Shuffled<T> &out, F value) {
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(out.index[i], value(i / 8 * 8 + 2)) << i;
    EXPECT_EQ(out.exchanged[i], value(i ^ 5)) << i;
    EXPECT_EQ(out.down[i], value(i % 32 + 3 < 32 ? i + 3 : i)) << i;
    EXPECT_EQ(out.up[i], value(i % 16 < 4 ? i : i - 4)) << i;
  }
}

TEST(Emulator, ShufflesEveryType) {
  auto floats = std::make_unique<Shuffled<float>>();
  auto doubles = std::make_unique<Shuffled<double>>();
  auto ints = std::make_unique<Shuffled<int32_t>>();
  auto longs = std::make_unique<Shuffled<int64_t>>();
  auto bools = std::make_unique<Shuffled<bool>>();
  EXPECT_OK(launch(Emulator(), shufflesOfAll_host, 1, 64, 0, floats.get(), doubles.get(), ints.get(), longs.get(),
                   bools.get()));
  checkShuffled(*floats, [](int i) { return 0.5f + static_cast<float>(i); });
  checkShuffled(*doubles, [](int i) { return 1e-12 + i; });
  checkShuffled(*ints, [](int i) { return -i; });
  checkShuffled(*longs, [](int i) { return (int64_t{1} << 40) + i; });
  checkShuffled(*bools, [](int i) { return i % 3 == 0; });
}

/// Groups of 4 lanes, each with its own number of rounds.
extern "C" __global__ void roundsOfGroups(int *out) {
  const int lane = cuda::lane(), group = lane / 4;
  int value = lane;
  for (int round = 0; round < group; ++round)
    value += cuda::shuffle(value, 3, 4);
  out[lane] = value;
}
HECTOR_CUDA_KERNEL(roundsOfGroups)

TEST(Emulator, LetsGroupsShuffleAlone) {
  std::array<int, 32> out = {};
  EXPECT_OK(launch(Emulator(), roundsOfGroups_host, 1, 32, 0, out.data()));
  for (int lane = 0; lane < 32; ++lane) {
    const int last = lane / 4 * 4 + 3, rounds = lane / 4;
    EXPECT_EQ(out[lane], lane + last * ((1 << rounds) - 1)) << lane;  // lane 3 of the group doubles every time
  }
}

extern "C" __global__ void votes(uint32_t *out) {
  const int thread = cuda::threadInBlock();
  out[thread] = cuda::ballot(thread % 3 == 0);
  const uint32_t upper = cuda::groupLanes(16);
  if (cuda::any(thread == 5, upper))
    out[thread] |= 1u << 31;
}
HECTOR_CUDA_KERNEL(votes)

TEST(Emulator, CountsVotes) {
  std::array<uint32_t, 32> out = {};
  EXPECT_OK(launch(Emulator(), votes_host, 1, 32, 0, out.data()));
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], 0x49249249u | (lane < 16 ? 1u << 31 : 0u)) << lane;
}

extern "C" __global__ void divergentShuffle(int *out) {
  if (cuda::lane() % 2 == 0)
    *out = cuda::shuffle(cuda::lane(), 0);
}
HECTOR_CUDA_KERNEL(divergentShuffle)

TEST(Emulator, ReportsAShuffleThatNotAllReach) {
  int out = 0;
  EXPECT_EQ(failureOf(divergentShuffle_host, 32, &out).substr(0, 159),
            "kernel `divergentShuffle`, block 0 of 1: its threads wait for each other, and none can go on\n"
            "  at shuffle of 4 bytes in groups of 32 lanes: threads 0, 2, 4, 6,");
}

extern "C" __global__ void shuffleFromOutside(int *out) {
  const uint32_t lanes = 0x0000ffffu;
  if (cuda::lane() < 16)
    out[cuda::lane()] = cuda::shuffle(cuda::lane(), 20, 32, lanes);
}
HECTOR_CUDA_KERNEL(shuffleFromOutside)

TEST(Emulator, ReportsAShuffleFromALaneThatTakesNoPart) {
  std::array<int, 32> out = {};
  const std::string failure = failureOf(shuffleFromOutside_host, 32, out.data());
  EXPECT_NE(failure.find("asks for the value of lane 20, which takes no part"), std::string::npos) << failure;
}

extern "C" __global__ void barrierOfOthers() {
  cuda::syncWarp(2);
}
HECTOR_CUDA_KERNEL(barrierOfOthers)

TEST(Emulator, ReportsABarrierThatLeavesOutItsCaller) {
  EXPECT_EQ(failureOf(barrierOfOthers_host, 1),
            "kernel `barrierOfOthers`, block 0 of 1, thread 0 calls syncWarp, for the lanes 1, but is lane 0");
}

// --- shared memory and copies ---------------------------------------------------------------------------------------

extern "C" __global__ void unwrittenShared(float *out) {
  auto *shared = cuda::sharedMemory<float>();
  out[cuda::blockNumber() * 16 + cuda::threadInBlock()] = shared[cuda::threadInBlock()];
  shared[cuda::threadInBlock()] = 0.0f;
}
HECTOR_CUDA_KERNEL(unwrittenShared)

TEST(Emulator, FillsSharedMemoryWithNanForEveryBlock) {
  std::vector<float> out(16 * 20, 0.0f);
  EXPECT_OK(launch(Emulator(), unwrittenShared_host, 20, 16, 64, out.data()));
  for (float number : out)
    EXPECT_TRUE(std::isnan(number));
}

extern "C" __global__ void writesOutside(int64_t offset) {
  cuda::sharedMemory<char>()[offset] = 1;
}
HECTOR_CUDA_KERNEL(writesOutside)

std::string failureOfWriting(int64_t offset, int64_t sharedBytes) {
  Status status = launch(Emulator(), writesOutside_host, 1, 1, sharedBytes, offset);
  return status.isOk() ? "" : status.message();
}

TEST(Emulator, ReportsWritesNextToSharedMemory) {
  const std::string message =
      "kernel `writesOutside`, block 0 of 1 wrote outside of its 100 bytes of dynamic shared memory";
  EXPECT_EQ(failureOfWriting(99, 100), "");
  EXPECT_EQ(failureOfWriting(100, 100), message);
  EXPECT_EQ(failureOfWriting(-1, 100), message);
  EXPECT_EQ(failureOfWriting(-1000, 100), message);
}

#if HECTOR_FIBRE_SWITCH && !HECTOR_FIBRE_ASAN

TEST(Emulator, ReportsWritesBehindSharedMemory) {
  EXPECT_EQ(
      failureOfWriting(112, 100),
      "kernel `writesOutside`, block 0 of 1, thread 0 ran into a memory fault at byte 112 of 100 bytes of dynamic "
      "shared memory");
}

#endif

/// Doubles what an asynchronous copy brings.
extern "C" __global__ void doubled(const float *from, float *to, bool waits) {
  auto *shared = cuda::sharedMemory<float>();
  const int thread = cuda::threadInBlock();
  cuda::copyAsync<4>(shared + thread, from + thread);
  cuda::commitCopies();
  if (waits)
    cuda::waitCopies<0>();
  to[thread] = 2 * shared[thread];
}
HECTOR_CUDA_KERNEL(doubled)

TEST(Emulator, CopiesArriveAtTheWaitOrBefore) {
  const std::array<float, 2> from = {1.0f, 2.0f};
  int early = 0, late = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::array<float, 2> to = {};
    EXPECT_OK(launch(Emulator(seed), doubled_host, 1, 2, 8, from.data(), to.data(), true));
    EXPECT_EQ(to, (std::array<float, 2>{2.0f, 4.0f}));
    EXPECT_OK(launch(Emulator(seed), doubled_host, 1, 2, 8, from.data(), to.data(), false));
    early += to[0] == 2.0f;
    late += std::isnan(to[0]);
  }
  EXPECT_GT(early, 0);
  EXPECT_GT(late, 0);
  EXPECT_EQ(early + late, 20);
}

/// A ring of two stages over four numbers. `kGroups` groups may be under way when a number is read.
template <int kGroups> __device__ void ring(const double *from, double *to) {
  auto *stages = cuda::sharedMemory<double>();
  cuda::copyAsync<8>(stages, from);
  cuda::commitCopies();
  for (int i = 0; i < 4; ++i) {
    if (i + 1 < 4)
      cuda::copyAsync<8>(stages + (i + 1) % 2, from + i + 1);
    cuda::commitCopies();
    cuda::waitCopies<kGroups>();
    to[i] = stages[i % 2];
  }
}
extern "C" __global__ void rings(const double *from, double *right, double *wrong) {
  ring<1>(from, right);
  ring<2>(from, wrong);
}
HECTOR_CUDA_KERNEL(rings)

TEST(Emulator, WaitsForTheGroupsThatAreAskedFor) {
  const std::array<double, 4> from = {1, 2, 3, 4};
  std::array<double, 4> right = {}, wrong = {};
  EXPECT_OK(launch(Emulator(), rings_host, 1, 1, 16, from.data(), right.data(), wrong.data()));
  EXPECT_EQ(right, from);
  // What the ring before left there, then what was copied two steps before.
  EXPECT_EQ(wrong, (std::array<double, 4>{3, 4, 1, 2}));
}

extern "C" __global__ void filledCopies(const char *from, char *to) {
  auto *shared = cuda::sharedMemory<char>();
  for (int filled = 0; filled <= 16; ++filled)
    cuda::copyAsync<16>(shared + 16 * filled, filled == 0 ? nullptr : from, filled);
  cuda::commitCopies();
  cuda::waitCopies<0>();
  for (int i = 0; i < 17 * 16; ++i)
    to[i] = shared[i];
}
HECTOR_CUDA_KERNEL(filledCopies)

TEST(Emulator, FillsCopiesWithZeros) {
  alignas(16) const char from[17] = "abcdefghijklmnop";
  std::array<char, 17 * 16> to = {};
  EXPECT_OK(launch(Emulator(), filledCopies_host, 1, 1, 17 * 16, static_cast<const char *>(from), to.data()));
  for (int filled = 0; filled <= 16; ++filled)
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(to[16 * filled + i], i < filled ? from[i] : '\0') << filled << ", " << i;
}

extern "C" __global__ void misalignedCopy(const float *from) {
  cuda::copyAsync<8>(cuda::sharedMemory<float>() + 1, from);
}
HECTOR_CUDA_KERNEL(misalignedCopy)

TEST(Emulator, ReportsMisalignedCopies) {
  alignas(8) const float from[2] = {};
  EXPECT_EQ(failureOf(misalignedCopy_host, 1, static_cast<const float *>(from)),
            "kernel `misalignedCopy`, block 0 of 1, thread 0 starts a copy of 8 bytes from or to an address that is no "
            "multiple of it");
}

// --- modules --------------------------------------------------------------------------------------------------------

class EmulatedModule : public testing::Test {
protected:
  void SetUp() override {
    handle = dlopen(HECTOR_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
  }
  ~EmulatedModule() override {
    if (handle)
      dlclose(handle);
  }
  cuda::HostEntry *find(const char *name) {
    return reinterpret_cast<cuda::HostEntry *>(dlsym(handle, (std::string(name) + "_host").c_str()));
  }
  void *handle = nullptr;
};

TEST_F(EmulatedModule, HasStaticSharedMemory) {
  std::vector<int> out(64 * 30, -1);
  EXPECT_OK(launch(Emulator(), find("reversed"), 30, 64, 0, out.data()));
  for (int i = 0; i < 64 * 30; ++i)
    EXPECT_EQ(out[i], i / 64 * 64 + 63 - i % 64);
}

TEST_F(EmulatedModule, StaticSharedMemoryIsNanForEveryBlock) {
  std::vector<float> out(64 * 30, 0.0f);
  EXPECT_OK(launch(Emulator(), find("unwritten"), 30, 64, 0, out.data()));
  for (float number : out)
    EXPECT_TRUE(std::isnan(number));
}

TEST_F(EmulatedModule, CopiesToStaticSharedMemoryAndNowhereElse) {
  alignas(16) const float from[4] = {1, 2, 3, 4};
  alignas(16) float to[4] = {};
  EXPECT_OK(
      launch(Emulator(), find("copiesToStatic"), 1, 1, 0, static_cast<const float *>(from), static_cast<float *>(to)));
  EXPECT_EQ(std::memcmp(from, to, sizeof(from)), 0);
  EXPECT_EQ(
      failureOf(find("copiesToGlobal"), 1, static_cast<const float *>(from), static_cast<float *>(to)),
      "kernel `copiesToGlobal`, block 0 of 1, thread 0 starts a copy to an address that is not in the block's shared "
      "memory");
}

// --- matrix instructions --------------------------------------------------------------------------------------------

uint32_t bf16Bits(float x) {
  return std::bit_cast<uint32_t>(x) >> 16;
}

extern "C" __global__ void multipliesBf16(const float *a, const float *b, float *c) {
  const int group = cuda::lane() / 4, t = cuda::lane() % 4;
  auto pair = [](float first, float second) { return bf16Bits(first) | bf16Bits(second) << 16; };
  auto fromA = [&](int row, int k) { return pair(a[row * 16 + k], a[row * 16 + k + 1]); };
  auto fromB = [&](int k) { return pair(b[k * 8 + group], b[(k + 1) * 8 + group]); };
  float sums[4] = {100, 100, 100, 100};
  const uint32_t own[4] = {fromA(group, 2 * t), fromA(group + 8, 2 * t), fromA(group, 2 * t + 8),
                           fromA(group + 8, 2 * t + 8)};
  const uint32_t column[2] = {fromB(2 * t), fromB(2 * t + 8)};
  cuda::multiplyBf16(sums, own, column);
  for (int i = 0; i < 4; ++i)
    c[(group + i / 2 * 8) * 8 + 2 * t + i % 2] = sums[i];
}
HECTOR_CUDA_KERNEL(multipliesBf16)

extern "C" __global__ void multipliesF64(const double *a, const double *b, double *c) {
  const int group = cuda::lane() / 4, t = cuda::lane() % 4;
  double sums[2] = {100, 100};
  cuda::multiplyF64(sums, a[group * 4 + t], b[t * 8 + group]);
  for (int i = 0; i < 2; ++i)
    c[group * 8 + 2 * t + i] = sums[i];
}
HECTOR_CUDA_KERNEL(multipliesF64)

/// Checks a product of small integers, which every type has.
template <class T> void checkProduct(cuda::HostEntry *entry, int rows, int depth) {
  std::vector<T> a(rows * depth), b(depth * 8), c(rows * 8);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<T>(static_cast<int>(i * 7 % 17) - 8);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<T>(static_cast<int>(i * 5 % 13) - 6);
  EXPECT_OK(launch(Emulator(), entry, 1, 32, 0, static_cast<const T *>(a.data()), static_cast<const T *>(b.data()),
                   c.data()));
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < 8; ++j) {
      T sum = 100;
      for (int k = 0; k < depth; ++k)
        sum += a[r * depth + k] * b[k * 8 + j];
      EXPECT_EQ(c[r * 8 + j], sum) << r << ", " << j;
    }
}

TEST(EmulatedMatrices, AreMultiplied) {
  checkProduct<float>(multipliesBf16_host, 16, 16);
  checkProduct<double>(multipliesF64_host, 8, 4);
}

TEST(EmulatedMatrices, DropDigitsOfSums) {
  std::vector<float> a(16 * 16, 0.0f), b(16 * 8, 0.0f), c(16 * 8);
  a[16] = 0x1p-17f;  // 100 + 2^-17 - 2^-25 is next to 100 + 2^-17, the float after 100
  b[1] = 1.0f - 0x1p-8f;
  EXPECT_OK(launch(Emulator(), multipliesBf16_host, 1, 32, 0, static_cast<const float *>(a.data()),
                   static_cast<const float *>(b.data()), c.data()));
  EXPECT_EQ(c[9], 100.0f);
  a[16] = b[1] = 3e38f;
  EXPECT_OK(launch(Emulator(), multipliesBf16_host, 1, 32, 0, static_cast<const float *>(a.data()),
                   static_cast<const float *>(b.data()), c.data()));
  EXPECT_EQ(c[9], std::numeric_limits<float>::infinity());
}

extern "C" __global__ void loadsMatrices(const uint16_t *from, uint32_t *to) {
  uint16_t *row = cuda::sharedMemory<uint16_t>() + cuda::lane() * 8;
  for (int i = 0; i < 8; ++i)
    row[i] = from[cuda::lane() * 8 + i];
  cuda::syncWarp();
  uint32_t plain[4], transposed[4];
  cuda::loadMatrices<false>(plain, row);
  cuda::loadMatrices<true>(transposed, row);
  for (int m = 0; m < 4; ++m) {
    to[m * 32 + cuda::lane()] = plain[m];
    to[(m + 4) * 32 + cuda::lane()] = transposed[m];
  }
}
HECTOR_CUDA_KERNEL(loadsMatrices)

TEST(EmulatedMatrices, AreLoadedByRowsAndByColumns) {
  std::vector<uint16_t> from(4 * 64);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<uint16_t>(i * 3);
  std::vector<uint32_t> to(8 * 32);
  EXPECT_OK(launch(Emulator(), loadsMatrices_host, 1, 32, 512, static_cast<const uint16_t *>(from.data()), to.data()));
  auto at = [&](int m, int row, int column) { return uint32_t{from[m * 64 + row * 8 + column]}; };
  for (int m = 0; m < 4; ++m)
    for (int group = 0; group < 8; ++group)
      for (int t = 0; t < 4; ++t) {
        EXPECT_EQ(to[m * 32 + group * 4 + t], at(m, group, 2 * t) | at(m, group, 2 * t + 1) << 16);
        EXPECT_EQ(to[(m + 4) * 32 + group * 4 + t], at(m, 2 * t, group) | at(m, 2 * t + 1, group) << 16);
      }
}

extern "C" __global__ void loadsFrom(const uint16_t *row) {
  uint32_t numbers[4];
  cuda::loadMatrices<false>(numbers, row);
}
HECTOR_CUDA_KERNEL(loadsFrom)
extern "C" __global__ void loadsFromOdd() {
  uint32_t numbers[4];
  cuda::loadMatrices<false>(numbers, cuda::sharedMemory<uint16_t>() + 4);
}
HECTOR_CUDA_KERNEL(loadsFromOdd)

TEST(EmulatedMatrices, AreLoadedFromSharedMemoryOnly) {
  alignas(16) const uint16_t row[8] = {};
  const std::string elsewhere = failureOf(loadsFrom_host, 32, static_cast<const uint16_t *>(row));
  EXPECT_NE(elsewhere.find("loads a row of a matrix that is not in the block's shared memory"), std::string::npos)
      << elsewhere;
  const std::string odd = failureOf(loadsFromOdd_host, 32);
  EXPECT_NE(odd.find("loads a row of a matrix from an address that is no multiple of 16"), std::string::npos) << odd;
}

// --- failures -------------------------------------------------------------------------------------------------------

extern "C" __global__ void throws() {
  cuda::syncBlock();
  if (cuda::threadInBlock() == 3)
    throw std::runtime_error("no such row");
  cuda::syncBlock();
}
HECTOR_CUDA_KERNEL(throws)

/// Whether launches still work.
void checkThatItWorks() {
  std::vector<float> x(256, 1.0f);
  float out = 0;
  EXPECT_OK(launch(Emulator(), sumOfBlock_host, 1, 256, 1024, x.data(), &out, true));
  EXPECT_EQ(out, 256.0f);
}

TEST(Emulator, ReportsExceptionsAndGoesOn) {
  EXPECT_EQ(failureOf(throws_host, 32), "kernel `throws`, block 0 of 1, thread 3 threw an exception: no such row");
  checkThatItWorks();
}

#if HECTOR_FIBRE_SWITCH && !HECTOR_FIBRE_ASAN

extern "C" __global__ void faults(volatile int *at) {
  cuda::syncBlock();
  if (cuda::threadInBlock() == 3)
    *at = 1;
  cuda::syncBlock();
}
HECTOR_CUDA_KERNEL(faults)

TEST(Emulator, ReportsFaultsAndGoesOn) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(failureOf(faults_host, 32, static_cast<volatile int *>(nullptr)),
              "kernel `faults`, block 0 of 1, thread 3 ran into a memory fault at address 0");
    checkThatItWorks();
  }
}

[[gnu::noinline]] int descend(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return depth <= 0 ? room[0] : descend(depth - 1) + room[0];
}
extern "C" __global__ void overflows(int *out) {
  *out = descend(1000000);
}
HECTOR_CUDA_KERNEL(overflows)

TEST(Emulator, ReportsAStackThatIsFullAndGoesOn) {
  int out = 0;
  EXPECT_EQ(
      failureOf(overflows_host, 1, &out),
      "kernel `overflows`, block 0 of 1, thread 0 ran into a memory fault: its local variables need more than the 256 "
      "KiB of its stack");
  checkThatItWorks();
}

#endif

/// One block fails, the others do not.
extern "C" __global__ void oneFails(int64_t block) {
  if (cuda::blockNumber() == block)
    throw std::runtime_error("it is this one");
}
HECTOR_CUDA_KERNEL(oneFails)

TEST(Emulator, NamesTheBlockThatFailed) {
  for (int threads : {1, 4}) {
    const ThreadLimit limit(threads);
    EXPECT_EQ(launch(Emulator(), oneFails_host, 100, 32, 0, int64_t{71}).message().substr(0, 36),
              "kernel `oneFails`, block 71 of 100, ");
  }
}

TEST(Emulator, GivesTheSameOnAnyNumberOfThreads) {
  std::vector<std::vector<float>> results;
  std::vector<float> x(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 1.0f / static_cast<float>(i + 1);
  for (int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    results.emplace_back(50, 0.0f);
    // Without barriers, the sums depend on the order.
    EXPECT_OK(launch(Emulator(), sumOfBlock_host, 50, 64, 256, x.data(), results.back().data(), false));
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), 50 * sizeof(float)), 0);
}

}  // namespace
}  // namespace hector
