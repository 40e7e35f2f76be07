#include "runtime/machine/Measure.h"

#include "runtime/base/BigVector.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/machine/Runs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sched.h>
#include <string>
#include <vector>

namespace hector {

// --- kernels ---------------------------------------------------------------------------------------------------------

// Generated code is compiled for the processor that it runs on, and this program is not. So each kernel is compiled for
// several levels of processors and the highest that is there runs. The bodies are inlined into a function per level.

#define HECTOR_INLINE [[gnu::always_inline]] static inline

namespace {

template <int kLanes> struct Vectors {
  using Floats [[gnu::vector_size(kLanes * 4)]] = float;
  using Ints [[gnu::vector_size(kLanes * 4)]] = int32_t;
};

}  // namespace

// Vectors are passed by reference: by value the wide ones have no calling convention at the lowest level.
template <class T> HECTOR_INLINE void load(T &vector, const float *from) {
  std::memcpy(&vector, from, sizeof(T));
}

template <class T> HECTOR_INLINE void store(float *to, const T &vector) {
  std::memcpy(to, &vector, sizeof(T));
}

HECTOR_INLINE void addScaledBody(float *to, const float *a, const float *b, float factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = a[i] + factor * b[i];
}

HECTOR_INLINE uint32_t sumAtRandomBody(const uint32_t *table, int64_t size, uint32_t seed, int64_t count) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B9u + seed;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    h ^= h >> 16;
    sum += table[(static_cast<uint64_t>(h) * static_cast<uint64_t>(size)) >> 32];
  }
  return sum;
}

/// A block of kRows rows by kColumns vectors stays in registers.
template <int kLanes, int kRows, int kColumns>
HECTOR_INLINE void multiplyRowsBody(float *to, const float *rows, const float *weight, int64_t numRows) {
  using Floats = typename Vectors<kLanes>::Floats;
  constexpr int kSize = 64;
  static_assert(measured::kProductRows % kRows == 0 && kSize % (kColumns * kLanes) == 0);
  for (int64_t row = 0; row < numRows; row += kRows)
    for (int column = 0; column < kSize; column += kColumns * kLanes) {
      Floats sums[kRows][kColumns] = {};
      for (int k = 0; k < kSize; ++k)
        for (int c = 0; c < kColumns; ++c) {
          Floats w;
          load(w, weight + k * kSize + column + c * kLanes);
          for (int r = 0; r < kRows; ++r)
            sums[r][c] += rows[(row + r) * kSize + k] * w;
        }
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c)
          store(to + (row + r) * kSize + column + c * kLanes, sums[r][c]);
    }
}

/// Replaces x by e^x to about six digits, for |x| below 80: 2^n times a polynomial in the rest.
template <class Floats, class Ints> HECTOR_INLINE void exponential(Floats &x) {
  const Ints n = __builtin_convertvector(x * 1.44269504f + (x > 0.f ? Floats{} + 0.5f : Floats{} - 0.5f), Ints);
  const Floats r = x - __builtin_convertvector(n, Floats) * 0.693147181f;
  const Floats p =
      1.f +
      r * (1.f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * (0.00833333333f + r * 0.00138888889f)))));
  const Ints bits = (n + 127) << 23;
  Floats scale;
  std::memcpy(&scale, &bits, sizeof(scale));
  x = p * scale;
}

template <int kLanes> HECTOR_INLINE void computeElementsBody(float *to, const float *from, int64_t count) {
  using Floats = typename Vectors<kLanes>::Floats;
  using Ints = typename Vectors<kLanes>::Ints;
  for (int64_t i = 0; i < count; i += kLanes) {
    Floats x;
    load(x, from + i);
    const Floats t = 2.f * x + 1.f;
    const Floats small = 0.2f * t;
    const Floats y = t > small ? t : small;
    Floats e = y;
    exponential<Floats, Ints>(e);
    store(to + i, e * 0.5f + x - y);
  }
}

namespace {

/// The kernels of one level of processors.
struct Kernels {
  decltype(&measured::addScaled) addScaled;
  decltype(&measured::sumAtRandom) sumAtRandom;
  decltype(&measured::multiplyRows) multiplyRows;
  decltype(&measured::computeElements) computeElements;
};

}  // namespace

/// Defines the kernels of a level: its name, the attribute that compiles for it, how many numbers a register holds, and
/// the block of a product that its registers hold.
#define HECTOR_KERNELS(LEVEL, TARGET, LANES, ROWS, COLUMNS)                                                            \
  TARGET static void addScaled##LEVEL(float *to, const float *a, const float *b, float factor, int64_t count) {        \
    addScaledBody(to, a, b, factor, count);                                                                            \
  }                                                                                                                    \
  TARGET static uint32_t sumAtRandom##LEVEL(const uint32_t *table, int64_t size, uint32_t seed, int64_t count) {       \
    return sumAtRandomBody(table, size, seed, count);                                                                  \
  }                                                                                                                    \
  TARGET static void multiplyRows##LEVEL(float *to, const float *rows, const float *weight, int64_t numRows) {         \
    multiplyRowsBody<LANES, ROWS, COLUMNS>(to, rows, weight, numRows);                                                 \
  }                                                                                                                    \
  TARGET static void computeElements##LEVEL(float *to, const float *from, int64_t count) {                             \
    computeElementsBody<LANES>(to, from, count);                                                                       \
  }                                                                                                                    \
  static constexpr Kernels k##LEVEL = {addScaled##LEVEL, sumAtRandom##LEVEL, multiplyRows##LEVEL,                      \
                                       computeElements##LEVEL};

HECTOR_KERNELS(Plain, , 4, 4, 2)
#ifdef __x86_64__
HECTOR_KERNELS(Avx2, [[gnu::target("avx2,fma")]], 8, 6, 2)
HECTOR_KERNELS(Avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,fma")]], 16, 6, 4)
#endif

static const Kernels &kernels() {
#ifdef __x86_64__
  static const Kernels &best = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512f")
                                   ? kAvx512
                               : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kAvx2
                                                                                                 : kPlain;
  return best;
#else
  return kPlain;
#endif
}

void measured::addScaled(float *to, const float *a, const float *b, float factor, int64_t count) {
  kernels().addScaled(to, a, b, factor, count);
}

uint32_t measured::sumAtRandom(const uint32_t *table, int64_t size, uint32_t seed, int64_t count) {
  return kernels().sumAtRandom(table, size, seed, count);
}

void measured::multiplyRows(float *to, const float *rows, const float *weight, int64_t numRows) {
  kernels().multiplyRows(to, rows, weight, numRows);
}

void measured::computeElements(float *to, const float *from, int64_t count) {
  kernels().computeElements(to, from, count);
}

// --- sizes -----------------------------------------------------------------------------------------------------------

/// "32768K" of a file that describes a cache, in bytes; 0 if it cannot be read.
static int64_t sizeIn(const std::string &path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (!(file >> number))
    return 0;
  const int suffix = file.get();
  return suffix == 'K' ? number << 10 : suffix == 'M' ? number << 20 : suffix == 'G' ? number << 30 : number;
}

CacheSizes findCacheSizes() {
  CacheSizes sizes;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  (void)sched_getaffinity(0, sizeof(allowed), &allowed);  // of more processors than the set holds, none is looked at
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    for (int index = 0; CPU_ISSET(cpu, &allowed); ++index) {
      const std::string cache =
          "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
      const int64_t bytes = sizeIn(cache + "size");
      if (bytes <= 0)
        break;
      if (bytes > sizes.cacheBytes) {
        sizes.cacheBytes = bytes;
        sizes.lineBytes = sizeIn(cache + "coherency_line_size");
      }
    }
  if (sizes.cacheBytes == 0)
    sizes.cacheBytes = defaultMachine().cacheBytes;
  if (sizes.lineBytes == 0)
    sizes.lineBytes = defaultMachine().lineBytes;
  return sizes;
}

/// "AMD EPYC 9654, 2 threads".
static std::string describeProcessor() {
  std::string model = "processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (size_t colon = line.find(": "); line.starts_with("model name") && colon != std::string::npos) {
      model = line.substr(colon + 2, 100);
      std::erase_if(model, [](char c) { return c < ' ' || c > '~'; });
      break;
    }
  return model + ", " + std::to_string(numThreads()) + (numThreads() == 1 ? " thread" : " threads");
}

// --- measuring -------------------------------------------------------------------------------------------------------

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

double processorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

template <class F> double elapsed(F &&work) {
  const auto start = Clock::now();
  work();
  return seconds(Clock::now() - start);
}

/// Pieces of work that threads take one by one: several for each thread, so that one that is late delays little.
int64_t numPieces() {
  return int64_t{numThreads()} * 8;
}

/// Starts a loop in which every thread has a part, and waits for its end. A part ends when all have begun, so that no
/// thread takes two; one that never begins (the system may refuse threads) is waited for no longer than a millisecond.
void startOnAllThreads() {
  std::atomic<int> begun = 0;
  const int parts = numThreads();
  parallelFor(parts, 1, [&](int64_t, int64_t) {
    ++begun;
    const auto start = Clock::now();
    while (begun.load(std::memory_order_relaxed) < parts && Clock::now() - start < std::chrono::milliseconds(1))
      ;
  });
}

}  // namespace

Result<MeasuredMachine> measureMachine(const MeasureProgress &progress) {
  const CacheSizes sizes = findCacheSizes();
  MeasuredMachine result;
  MachineDescription &machine = result.machine;
  machine.name = describeProcessor();
  machine.cacheBytes = sizes.cacheBytes;
  machine.lineBytes = sizes.lineBytes;

  // Much larger than the cache, so that hardly any of it is found there.
  const int64_t bytes = std::clamp<int64_t>(16 * sizes.cacheBytes, int64_t{256} << 20, int64_t{1} << 30);
  if (Status status = requireMemory("measuring", bytes); !status.isOk())
    return status;
  const int64_t numWords = bytes / 4;
  Runs runs(progress, 6, 0.02);
  // Units per second of `work(n)`, which does n of them.
  auto rate = [&](std::string_view what, auto &&work) {
    return runs.rate(what, [&](int64_t count) { return elapsed([&] { work(count); }); });
  };
  runs.check("memory");
  BigVector<float> memory(static_cast<size_t>(numWords));
  parallelFor(numWords, int64_t{1} << 20,
              [&](int64_t begin, int64_t end) { std::fill(memory.begin() + begin, memory.begin() + end, 1.f); });

  // Slices of three tables. Each run goes on where the one before ended, so that nothing is cached.
  constexpr int64_t kSlice = int64_t{1} << 16;
  const int64_t numSlices = numWords / 3 / kSlice;
  int64_t next = 0;
  const double slices = rate("memory bandwidth", [&](int64_t count) {
    parallelFor(count, numChunks(count, numPieces()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float *slice = memory.data() + (next + i) % numSlices * 3 * kSlice;
        measured::addScaled(slice, slice + kSlice, slice + 2 * kSlice, 0.5f, kSlice);
      }
    });
    next += count;
  });
  machine.bandwidth = roundFigure(slices * 3 * kSlice * 4 / 1e9);

  std::atomic<uint32_t> sink = 0;  // what is computed must be needed
  const auto *table = reinterpret_cast<const uint32_t *>(memory.data());
  auto reads = [&](std::string_view what, int64_t size) {
    constexpr int64_t kReads = 1024;
    uint32_t run = 0;
    const double units = rate(what, [&](int64_t count) {
      const uint32_t seed = ++run * 0x632BE59Bu;
      parallelFor(count, numChunks(count, numPieces()), [&](int64_t begin, int64_t end) {
        const uint32_t own = seed + static_cast<uint32_t>(begin) * 0x7FEB352Du;
        sink += measured::sumAtRandom(table, size, own, (end - begin) * kReads);
      });
    });
    return roundFigure(units * kReads / 1e6);
  };
  machine.randomReads = reads("reads of a large table", numWords);
  machine.cachedReads = reads("reads of a cached table", sizes.cacheBytes / 4 / 4);

  // Blocks of rows and of results, each run going on where the one before ended: rows of layers come from memory and
  // go there, and a core that only multiplies what it has in its own cache would be up to twice as fast.
  constexpr int64_t kRows = measured::kProductRows * 16, kSize = 64, kBlock = kRows * kSize;
  const int64_t numBlocks = numWords / (2 * kBlock);
  const std::vector<float> weight(kSize * kSize, 0.01f);
  const auto start = Clock::now();
  const double startProcessor = processorSeconds();
  next = 0;
  const double products = rate("products", [&](int64_t count) {
    parallelFor(count, numChunks(count, numPieces()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float *rows = memory.data() + (next + i) % numBlocks * 2 * kBlock;
        measured::multiplyRows(rows + kBlock, rows, weight.data(), kRows);
      }
    });
    next += count;
  });

  // Numbers that stay in a core's own cache.
  const double elements = rate("other operations", [&](int64_t count) {
    parallelFor(numPieces(), 1, [&](int64_t, int64_t) {
      std::vector<float> from(kBlock, 0.1f), to(kBlock);
      for (int64_t i = 0; i < count; ++i)
        measured::computeElements(to.data(), from.data(), kBlock);
      sink += static_cast<uint32_t>(to[0] != 0.f);
    });
  });
  result.share = (processorSeconds() - startProcessor) / (seconds(Clock::now() - start) * numThreads());
  machine.productRate = roundFigure(products * kBlock * kSize * 2 / 1e9);
  machine.scalarRate =
      roundFigure(elements * static_cast<double>(numPieces() * kBlock * measured::kScalarOperations) / 1e9);

  machine.launch =
      roundFigure(runs.timeOf("starting a loop", 100, 0.25, [] { return elapsed(startOnAllThreads); }) * 1e9);
  if (runs.wasStopped())
    return Status::failed("stopped; nothing was measured");
  return result;
}

}  // namespace hector
