/// Uses all that kernels are written with, for tests that compile it for a GPU and for the host.

#include "kernels/cuda/choose.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/lanes.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/matrices.cuh"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/products.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/storage.cuh"
#include "kernels/cuda/transfer.cuh"
#include "kernels/cuda/traversal.cuh"

namespace cuda = hector::cuda;

template <class T> __device__ void useShuffles(T *x) {
  x[0] = cuda::shuffle(x[1], 3, 8);
  x[1] = cuda::shuffleXor(x[2], 4);
  x[2] = cuda::shuffleDown(x[3], 1, 16, cuda::groupLanes(16));
  x[3] = cuda::shuffleUp(x[4], 1);
}

extern "C" __global__ __launch_bounds__(128) void useThreads(float *floats, double *doubles, int32_t *ints,
                                                             int64_t *longs, bool *bools) {
  useShuffles(floats);
  useShuffles(doubles);
  useShuffles(ints);
  useShuffles(longs);
  useShuffles(bools);
  ints[0] = static_cast<int32_t>(cuda::ballot(bools[0])) + cuda::any(bools[1]) + cuda::warp() + cuda::numThreads();
  longs[0] = cuda::blockNumber() * cuda::numBlocks();
  __shared__ __align__(16) float ring[64];
  cuda::copyAsync<4>(ring, floats);
  cuda::copyAsync<8>(ring + 2, floats + 2);
  cuda::copyAsync<16>(ring + 4, floats + 4);
  cuda::copyAsync<4>(ring, floats, 2);
  cuda::copyAsync<8>(ring + 2, floats + 2, 3);
  cuda::copyAsync<16>(ring + 4, floats + 4, 5);
  cuda::commitCopies();
  cuda::waitCopies<1>();
  cuda::syncWarp();
  cuda::syncBlock();
  floats[3] = ring[3];
}
HECTOR_CUDA_KERNEL(useThreads)

extern "C" __global__ void useMatrices(float *floats, double *doubles, uint32_t *pairs) {
  float sums[4] = {};
  const uint32_t pairsOfA[4] = {pairs[0], pairs[1], pairs[2], pairs[3]}, pairsOfB[2] = {pairs[4], pairs[5]};
  cuda::multiplyBf16(sums, pairsOfA, pairsOfB);
  double sumsOfDoubles[2] = {};
  cuda::multiplyF64(sumsOfDoubles, doubles[0], doubles[1]);
  floats[0] = sums[0] + sums[1] + sums[2] + sums[3];
  doubles[0] = sumsOfDoubles[0] + sumsOfDoubles[1];
}
HECTOR_CUDA_KERNEL(useMatrices)

template <class T> __device__ void useFunctions(T *x) {
  using namespace cuda;
  x[0] = cuda::abs(x[1]) + cuda::floor(x[2]) + cuda::sqrt(x[3]) + cuda::sin(x[4]) + cuda::cos(x[5]) +
         cuda::pow(x[6], x[7]) + cuda::exp(x[8]) + cuda::log(x[9]) + cuda::tanh(x[10]) + cuda::erf(x[11]);
  x[1] = larger(x[0], x[1]) + smaller(x[2], x[3]) + chain(x[4], x[5]) + sign(x[6]) + cuda::rsqrt(x[7]) + relu(x[8]) +
         leakyRelu(x[9], x[10]) + softplus(x[11]) + sigmoid(x[12]) + modulo(x[13], x[14]) + floorDivide(x[15], x[0]);
  x[2] = choose(matches(x[0], x[1]), x[2], infinity<T>());
}
template <class Storage> __device__ void usePacks(Storage *x) {
  cuda::storePack(x, cuda::loadPack<4>(x + 4));
  cuda::store(x, cuda::load(x + 1));
}
template <class T, int kWidth> __device__ void useRows(T *x, int n) {
  const hector::DropoutMask mask(1, 2, 3, 0.5);
  cuda::dropout<kWidth>(mask, 4, 0.5, x, x, n);
  auto term = [&](int k) { return x[k]; };
  const T all =
      cuda::sum<T, kWidth>(n, term) + cuda::maximum<T, kWidth, 4>(n, term) + cuda::minimum<T, kWidth>(n, term);
  cuda::fill<kWidth>(x, all, n);
}
extern "C" __global__ void useNumbers(float *floats, double *doubles, cuda::bf16 *bf16s, cuda::f16 *f16s,
                                      uint8_t *bools, int64_t *longs, const int32_t *types, int n) {
  useFunctions(floats);
  useFunctions(doubles);
  usePacks(floats);
  usePacks(doubles);
  usePacks(bf16s);
  usePacks(f16s);
  usePacks(bools);
  usePacks(longs);
  cuda::store(bf16s, doubles[0]);
  cuda::store(f16s, doubles[0]);
  useRows<float, 1>(floats, n);
  useRows<float, 8>(floats, n);
  useRows<float, 32>(floats, n);
  useRows<double, 16>(doubles, n);
  for (cuda::Segments<int32_t> part(types, n, 0, n); part.next();)
    longs[part.type] = cuda::smallest(part.first, part.last);
}
HECTOR_CUDA_KERNEL(useNumbers)

template <class T, int kInner, int kOuter, int kPlanes> __device__ void useProducts(const T *w, T *sums, int rows) {
  constexpr int kStride = cuda::paddedColumns(kOuter, sizeof(T)), kWarps = 8;
  constexpr bool canKeep = cuda::divideProduct(kInner, kOuter, kWarps, true).numbers <= 32;
  unsigned char *memory = cuda::sharedMemory<unsigned char>();
  const cuda::Tile<T, kInner, 32, kPlanes> tile(memory);
  const cuda::Tile<T, kOuter, 32, kPlanes> other(memory + (1 << 17));
  tile.clear();
  other.clearRows(rows);
  const cuda::Lanes<8> lanes;
  lanes.put(tile, rows, lanes.load<kInner>(w));
  T *result = reinterpret_cast<T *>(memory);
  cuda::Weights<T, kInner, kOuter, kWarps, kPlanes>(w).multiply(tile, result, kStride, rows);
  cuda::Weights<T, kInner, kOuter, kWarps, kPlanes, cuda::Layout::Transposed, kInner % 4 == 0, true, canKeep>(w)
      .multiply(tile, result, kStride, rows);
  cuda::multiplyPlain<T, kInner, kOuter>(tile, 0, w, result, kStride, rows);
  cuda::multiplyRow<T, kInner, kOuter, kWarps>(result, w, result);
  cuda::multiplyRow<T, kInner, kOuter, kWarps, cuda::Layout::Transposed, kInner % 4 == 0, true>(result, w, result);
  cuda::addOuterProducts<T, kInner, kOuter, kWarps, kPlanes, true>(tile, other, sums, kOuter, rows);
  cuda::addOuterProductsPlain<T, kInner, kOuter>(tile, 0, other, 0, sums, kOuter, 0, rows);
  if constexpr (kInner <= 64 && kOuter <= 64) {
    cuda::OuterProducts<T, kInner, kOuter, kWarps, kPlanes> products;
    for (int i = 0; i < rows; ++i)
      products.add(tile, other, i);
    products.forEach([&](int i, int j, T sum) { sums[i * kOuter + j] = sum; });
  }
}
extern "C" __global__ void useAllProducts(const float *w, float *sums, const double *wOfDoubles, double *sumsOfDoubles,
                                          int rows) {
  useProducts<float, 64, 64, 3>(w, sums, rows);
  useProducts<float, 1024, 3, 2>(w, sums, rows);
  useProducts<float, 7, 129, 3>(w, sums, rows);
  useProducts<double, 64, 32, 1>(wOfDoubles, sumsOfDoubles, rows);
  useProducts<double, 5, 9, 1>(wOfDoubles, sumsOfDoubles, rows);
}
HECTOR_CUDA_KERNEL(useAllProducts)

struct LargestRows {
  struct Part {
    double largest;
    int32_t rows;
    uint8_t mark;
  };
  struct Unit {};
  struct Read {
    double number;
  };
  const double *numbers;
  double *result;

  __device__ Part start() const { return {-cuda::infinity<double>(), 0, 0}; }
  __device__ Unit enter(int64_t) const { return {}; }
  __device__ Read read(int64_t row) const { return {numbers[row]}; }
  __device__ void take(Part &part, const Unit &, const Read &read, int64_t, int64_t, bool) const {
    join(part, {read.number, 1, 1});
  }
  struct Written {
    double number;
  };
  __device__ void take(Part &part, const Unit &unit, const Read &read, int64_t, int64_t, bool, Written &written) const {
    take(part, unit, read, 0, 0, true);
    written.number = part.largest;
  }
  __device__ void write(int64_t row, const Written &written) const { cuda::aligned(result)[row] = written.number; }
  __device__ void join(Part &part, const Part &next) const {
    part.largest = cuda::larger(part.largest, next.largest);
    part.rows += next.rows;
    part.mark |= next.mark;
  }
  __device__ void finish(int64_t unit, Part part) const { result[unit] = part.mark != 0 ? part.largest : 0; }
};
template <class Id>
__device__ void useWalks(const LargestRows &walk, const Id *unitOf, const Id *offsets, int64_t rows,
                         LargestRows::Part *carry) {
  cuda::walkChunks<8, 2>(walk, unitOf, rows, 32, carry);
  cuda::walkRuns<1, 1, 4>(walk, unitOf, rows, 16, carry);
  cuda::walkRuns<2, 4, 1>(walk, unitOf, rows, 16, carry);
  cuda::finishCut<1>(walk, offsets, rows, 16 * 256, carry);
}
extern "C" __global__ void useTraversal(const double *numbers, double *result, const int32_t *ints,
                                        const int64_t *longs, int64_t rows, void *carry) {
  const LargestRows walk = {numbers, result};
  useWalks(walk, ints, ints, rows, static_cast<LargestRows::Part *>(carry));
  useWalks(walk, longs, longs, rows, static_cast<LargestRows::Part *>(carry));
}
HECTOR_CUDA_KERNEL(useTraversal)
template <class T, int kRows, int kTerms, int kColumns, class Stored>
__device__ void useMatrixProducts(const Stored *a, const T *b, T *c) {
  unsigned char *memory = cuda::sharedMemory<unsigned char>();
  const cuda::BlockLanes<256> lanes(memory);
  lanes.share(c, lanes.load<kTerms * kColumns>(b));
  c[0] = lanes.sum(c[1]) + lanes.largest(c[2]) + lanes.least(c[3]);
  const auto right = cuda::matrixOf<kColumns, 1>(b);
  cuda::multiplyMatrices<T, kRows, kTerms, kColumns>(cuda::matrixOf<kTerms, 1>(a), right, c, memory + 64);
  cuda::multiplyMatrices<T, kRows, kTerms, kColumns, cuda::Guard::Rows>(cuda::matrixOf<kTerms, 1>(a),
                                                                        cuda::matrixOf<1, kTerms>(b), c, memory + 64);
  cuda::multiplyMatrices<T, kRows, kTerms, kColumns, cuda::Guard::Terms>(cuda::matrixOf<1, kRows>(a), right, c,
                                                                         memory + 64);
}
extern "C" __global__ __launch_bounds__(256, 2) void useAllMatrixProducts(const float *a, const cuda::bf16 *stored,
                                                                          float *c, const double *doubles,
                                                                          double *cOfDoubles) {
  useMatrixProducts<float, 64, 64, 64>(a, a, c);
  useMatrixProducts<float, 5, 130, 66>(stored, a, c);
  useMatrixProducts<double, 64, 64, 64>(doubles, doubles, cOfDoubles);
}
HECTOR_CUDA_KERNEL(useAllMatrixProducts)
