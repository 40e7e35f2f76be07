/// What a GPU is measured with. The kernels compute real results, so that tests can check that the work is done.

#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/products.cuh"

namespace cuda = hector::cuda;

/// to = from, in packs of four numbers.
extern "C" __global__ void __launch_bounds__(256) copyNumbers(float *__restrict__ to, const float *__restrict__ from,
                                                              int64_t numPacks) {
  constexpr int kInFlight = 4;
  using Pack = cuda::Pack<float, 4>;
  auto *target = reinterpret_cast<Pack *>(to);
  const auto *source = reinterpret_cast<const Pack *>(from);
  const int64_t stride = cuda::numThreads();
  for (int64_t first = cuda::blockNumber() * kInFlight * stride + cuda::threadInBlock(); first < numPacks;
       first += cuda::numBlocks() * kInFlight * stride) {
    Pack packs[kInFlight];
    HECTOR_UNROLL
    for (int i = 0; i < kInFlight; ++i)
      if (first + i * stride < numPacks)
        packs[i] = source[first + i * stride];
    HECTOR_UNROLL
    for (int i = 0; i < kInFlight; ++i)
      if (first + i * stride < numPacks)
        target[first + i * stride] = packs[i];
  }
}
HECTOR_CUDA_KERNEL(copyNumbers)

/// sums[thread] = the sum of `reads` words at places that depend on the seed and the thread alone.
extern "C" __global__ void __launch_bounds__(256) readAtRandom(uint32_t *__restrict__ sums,
                                                               const uint32_t *__restrict__ table, uint32_t size,
                                                               uint32_t seed, int reads) {
  const uint32_t thread = static_cast<uint32_t>(cuda::blockNumber() * cuda::numThreads() + cuda::threadInBlock());
  uint32_t sum = 0;
  HECTOR_UNROLL_SOME
  for (int i = 0; i < reads; ++i) {
    uint32_t h = (thread * static_cast<uint32_t>(reads) + static_cast<uint32_t>(i)) * 0x9E3779B9u + seed;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    h ^= h >> 16;
    sum += table[(static_cast<uint64_t>(h) * size) >> 32];
  }
  sums[thread] = sum;
}
HECTOR_CUDA_KERNEL(readAtRandom)

/// Multiplies tiles of 32 rows by a matrix of 64 × 64, as generated products do, the rows being read again and again
/// from a table of `tilesOfTable`. Results stay in shared memory; those of each block's last tile are written.
extern "C" __global__ void __launch_bounds__(128, 3) multiplyTiles(float *__restrict__ to,
                                                                   const float *__restrict__ rows,
                                                                   const float *__restrict__ matrix, int numTiles,
                                                                   int tilesOfTable) {
  constexpr int kSize = 64, kRows = 32, kStride = 72, kPlanes = cuda::planesOf(cuda::Precision::Highest);
  using Tile = cuda::Tile<float, kSize, kRows, kPlanes>;
  const cuda::Lanes<8> lanes;
  const int row = lanes.groupInBlock();
  unsigned char *memory = cuda::sharedMemory<unsigned char>();
  const Tile tile(memory);
  float *products = reinterpret_cast<float *>(memory + Tile::kShape.bytes);
  tile.clear();
  const cuda::Weights<float, kSize, kSize, 4, kPlanes, cuda::Layout::Plain, true, false, true> weights(matrix);
  auto rowOf = [&](int number, int row) { return rows + (number % tilesOfTable * kRows + row) * kSize; };
  const int first = static_cast<int>(cuda::blockNumber()), step = static_cast<int>(cuda::numBlocks());
  cuda::Row<float, kSize, 8> low = lanes.load<kSize>(rowOf(first, row));
  cuda::Row<float, kSize, 8> high = lanes.load<kSize>(rowOf(first, row + 16));
  for (int number = first; number < numTiles; number += step) {
    cuda::syncBlock();
    lanes.put(tile, row, low);
    lanes.put(tile, row + 16, high);
    low = lanes.load<kSize>(rowOf(number + step, row));
    high = lanes.load<kSize>(rowOf(number + step, row + 16));
    cuda::syncBlock();
    weights.multiply(tile, products, kStride, kRows);
  }
  cuda::syncBlock();
  for (int i = cuda::threadInBlock(); i < kRows * kSize; i += cuda::numThreads())
    to[cuda::blockNumber() * kRows * kSize + i] = products[i / kSize * kStride + i % kSize];
}
HECTOR_CUDA_KERNEL(multiplyTiles)

/// to[thread] = the sum of f(x), f(x + 1/1024) … for `rounds` numbers from x = from[thread] on, where f(x) =
/// exp(y) · 0.5 + x - y with y = leaky(2 x + 1). That is ten operations per number, an exp among them.
extern "C" __global__ void __launch_bounds__(256) computeElements(float *__restrict__ to,
                                                                  const float *__restrict__ from, int rounds) {
  const int64_t thread = cuda::blockNumber() * cuda::numThreads() + cuda::threadInBlock();
  float x = from[thread], sum = 0.0f;
  HECTOR_UNROLL_SOME
  for (int i = 0; i < rounds; ++i) {
    const float t = 2.0f * x + 1.0f, small = 0.2f * t, y = t > small ? t : small;
    sum += cuda::exp(y) * 0.5f + x - y;
    x += 1.0f / 1024;
  }
  to[thread] = sum;
}
HECTOR_CUDA_KERNEL(computeElements)

/// A small stage of a layer: to[thread] = from[places[thread]] + 1.
extern "C" __global__ void __launch_bounds__(128) takeStep(float *__restrict__ to, const float *__restrict__ from,
                                                           const int32_t *__restrict__ places) {
  const int64_t thread = cuda::blockNumber() * cuda::numThreads() + cuda::threadInBlock();
  to[thread] = from[places[thread]] + 1.0f;
}
HECTOR_CUDA_KERNEL(takeStep)
