/// The layer between kernels and the machine: which thread this is, and what threads do together.
///
/// Kernels call these functions instead of CUDA's own. On the device they are a few instructions each, for sm_80 and
/// newer. With HECTOR_EMULATED they call the emulator of runtime/device, so that tests execute the same kernels on
/// machines without a GPU.
///
/// Blocks have one dimension. A grid has one or several bands of blocks, each numbered from 0 on: several where loops
/// share a launch, a band for each of them. A warp has 32 lanes. Functions that take `lanes`, a bit for each lane, must be
/// called by all of these lanes with the same value, and by none that has left the kernel.
#pragma once

#include "kernels/common/target.hpp"
#ifdef HECTOR_EMULATED
#include "kernels/cuda/emulated.hpp"
#else
/// For the host's compiler, this line of generated code exports a kernel to the emulator.
#define HECTOR_CUDA_KERNEL(name)
#endif

/// Before loops over arrays that are to stay in registers if they are short, or in any case; before loops that are too
/// long to be unrolled; and before loops over rows, of which some are loaded together.
#ifdef __CUDACC__
#define HECTOR_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define HECTOR_UNROLL_SHORT(...) HECTOR_PRAGMA(unroll((__VA_ARGS__) <= 32 ? (__VA_ARGS__) : 1))
#define HECTOR_UNROLL _Pragma("unroll")
#define HECTOR_KEEP_LOOP _Pragma("unroll 1")
#define HECTOR_UNROLL_SOME _Pragma("unroll 4")
#else
#define HECTOR_UNROLL_SHORT(...)
#define HECTOR_UNROLL
#define HECTOR_KEEP_LOOP
#define HECTOR_UNROLL_SOME
#endif

/// A function for what happens seldom: its registers and its code are not those of every caller.
#ifdef __CUDACC__
#define HECTOR_SELDOM __device__ __noinline__
#else
#define HECTOR_SELDOM __attribute__((noinline))
#endif

namespace hector::cuda {

inline constexpr int kWarp = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;

// --- where a thread is ----------------------------------------------------------------------------------------------

__device__ __forceinline__ int threadInBlock() {
#ifdef HECTOR_EMULATED
  return machine().place().thread;
#else
  return static_cast<int>(threadIdx.x);
#endif
}
__device__ __forceinline__ int numThreads() {
#ifdef HECTOR_EMULATED
  return machine().place().numThreads;
#else
  return static_cast<int>(blockDim.x);
#endif
}
__device__ __forceinline__ int64_t blockNumber() {
#ifdef HECTOR_EMULATED
  return machine().place().block;
#else
  return static_cast<int64_t>(blockIdx.x);
#endif
}
__device__ __forceinline__ int64_t numBlocks() {
#ifdef HECTOR_EMULATED
  return machine().place().numBlocks;
#else
  return static_cast<int64_t>(gridDim.x);
#endif
}
__device__ __forceinline__ int bandNumber() {
#ifdef HECTOR_EMULATED
  return machine().place().band;
#else
  return static_cast<int>(blockIdx.y);
#endif
}
/// The thread's number in its warp.
__device__ __forceinline__ int lane() {
  return threadInBlock() % kWarp;
}
/// The warp's number in its block.
__device__ __forceinline__ int warp() {
  return threadInBlock() / kWarp;
}
/// The lanes of the group of `width` lanes, a power of 2, that this lane is in.
__device__ __forceinline__ uint32_t groupLanes(int width) {
  return width == kWarp ? kAllLanes : ((1u << width) - 1) << (lane() & ~(width - 1));
}

// --- shared memory --------------------------------------------------------------------------------------------------

/// The start of the block's dynamic shared memory, aligned to 16 bytes. Its size is set by the launch.
template <class T> __device__ __forceinline__ T *sharedMemory() {
#ifdef HECTOR_EMULATED
  return static_cast<T *>(machine().sharedMemory());
#else
  extern __shared__ __align__(16) unsigned char hectorSharedMemory[];
  return reinterpret_cast<T *>(hectorSharedMemory);
#endif
}

/// Numbers that are loaded or stored at once, by 16 bytes or fewer. Addresses are multiples of the alignment.
template <class T, int kCount> struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Pack {
  T numbers[kCount];
};

/// The address of a table or an array of the graph, which are all aligned to 16 bytes: what is loaded or stored side by
/// side, from a multiple of that, becomes one instruction.
template <class T> __device__ __forceinline__ T *aligned(T *address) {
  return static_cast<T *>(__builtin_assume_aligned(address, 16));
}

/// Starts a copy of kBytes (4, 8 or 16) from global to shared memory. Both addresses are multiples of kBytes. The bytes
/// are there for this thread after `waitCopies`, and for others after a barrier that follows it.
template <int kBytes> __device__ __forceinline__ void copyAsync(void *to, const void *from) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#ifdef HECTOR_EMULATED
  machine().copyAsync(to, from, kBytes, kBytes);
#else
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16)  // not kept in the first cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(kBytes) : "memory");
#endif
}
/// The same for the first `filled` bytes; the others become 0. Nothing is read if `filled` is 0.
template <int kBytes> __device__ __forceinline__ void copyAsync(void *to, const void *from, int filled) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#ifdef HECTOR_EMULATED
  machine().copyAsync(to, from, kBytes, filled);
#else
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(filled) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(kBytes), "r"(filled)
                 : "memory");
#endif
}
/// Makes a group of the copies that this thread has started since the last group.
__device__ __forceinline__ void commitCopies() {
#ifdef HECTOR_EMULATED
  machine().commitCopies();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all groups of this thread but the last `kGroups`.
template <int kGroups> __device__ __forceinline__ void waitCopies() {
#ifdef HECTOR_EMULATED
  machine().waitCopies(kGroups);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

// --- threads together -----------------------------------------------------------------------------------------------

/// Waits for all threads of the block. What they wrote before is seen after it.
__device__ __forceinline__ void syncBlock() {
#ifdef HECTOR_EMULATED
  machine().syncBlock();
#else
  __syncthreads();
#endif
}
/// The same for lanes of the warp.
__device__ __forceinline__ void syncWarp(uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  machine().syncWarp(lanes);
#else
  __syncwarp(lanes);
#endif
}

/// The lanes for which `predicate` holds.
__device__ __forceinline__ uint32_t ballot(bool predicate, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return machine().ballot(predicate, lanes);
#else
  return __ballot_sync(lanes, predicate);
#endif
}
/// Whether `predicate` holds for any of the lanes.
__device__ __forceinline__ bool any(bool predicate, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return machine().ballot(predicate, lanes) != 0;
#else
  return __any_sync(lanes, predicate) != 0;
#endif
}

#ifdef HECTOR_EMULATED
template <class T> T shuffleAs(Shuffle kind, T value, int operand, int width, uint32_t lanes) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(shuffleAs(kind, static_cast<int32_t>(value), operand, width, lanes));
  } else {
    machine().shuffle(&value, sizeof(T), kind, operand, width, lanes);
    return value;
  }
}
#else
/// What CUDA's own shuffles take.
template <class T> struct ShuffledAs {
  using Type = T;
};
template <> struct ShuffledAs<bool> {
  using Type = int;
};
#endif

// Shuffles are for float, double, bool and integers of 32 and 64 bits. The warp is cut into groups of `width` lanes, a
// power of 2. By default a group shuffles alone: other groups of the warp may be elsewhere in the kernel. With
// `isWhole`, all groups of the warp shuffle at the same place of the kernel, which takes a fraction of the time.

/// The value of lane `from` of the group.
template <bool isWhole = false, class T>
__device__ __forceinline__ T shuffle(T value, int from, int width = kWarp, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return shuffleAs(Shuffle::Index, value, from, width, isWhole ? lanes : lanes & groupLanes(width));
#else
  using Type = typename ShuffledAs<T>::Type;
  return static_cast<T>(
      __shfl_sync(isWhole ? lanes : lanes & groupLanes(width), static_cast<Type>(value), from, width));
#endif
}
/// The value of the lane whose number differs in the bits of `bits`, which are below `width`.
template <bool isWhole = false, class T>
__device__ __forceinline__ T shuffleXor(T value, int bits, int width = kWarp, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return shuffleAs(Shuffle::Xor, value, bits, width, isWhole ? lanes : lanes & groupLanes(width));
#else
  using Type = typename ShuffledAs<T>::Type;
  return static_cast<T>(
      __shfl_xor_sync(isWhole ? lanes : lanes & groupLanes(width), static_cast<Type>(value), bits, width));
#endif
}
/// The value of the lane that is `distance` further on in the group; its own where there is none.
template <bool isWhole = false, class T>
__device__ __forceinline__ T shuffleDown(T value, int distance, int width = kWarp, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return shuffleAs(Shuffle::Down, value, distance, width, isWhole ? lanes : lanes & groupLanes(width));
#else
  using Type = typename ShuffledAs<T>::Type;
  return static_cast<T>(__shfl_down_sync(isWhole ? lanes : lanes & groupLanes(width), static_cast<Type>(value),
                                         static_cast<unsigned>(distance), width));
#endif
}

/// The value of the lane that is `distance` before it in the group; its own where there is none.
template <bool isWhole = false, class T>
__device__ __forceinline__ T shuffleUp(T value, int distance, int width = kWarp, uint32_t lanes = kAllLanes) {
#ifdef HECTOR_EMULATED
  return shuffleAs(Shuffle::Up, value, distance, width, isWhole ? lanes : lanes & groupLanes(width));
#else
  using Type = typename ShuffledAs<T>::Type;
  return static_cast<T>(__shfl_up_sync(isWhole ? lanes : lanes & groupLanes(width), static_cast<Type>(value),
                                       static_cast<unsigned>(distance), width));
#endif
}

/// Shuffles a structure that may be copied byte by byte: `shuffled` gets its words one after the other.
template <class T, class F> __device__ __forceinline__ T shuffleWords(const T &value, F &&shuffled) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  uint32_t words[kWords] = {};
  memcpy(words, &value, sizeof(T));
  HECTOR_UNROLL
  for (int i = 0; i < kWords; ++i)
    words[i] = shuffled(words[i]);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// --- matrix instructions --------------------------------------------------------------------------------------------
//
// A whole warp computes sums += a·b. With group = lane / 4 and t = lane % 4, a lane holds these numbers, as
// [row, column]:
//
// - bf16, 16×16 times 16×8, two to a register, the first below: of a from [group, 2t], [group + 8, 2t],
//   [group, 2t + 8] and [group + 8, 2t + 8] on; of b from [2t, group] and [2t + 8, group] on;
// - of its sums: [group, 2t], [group, 2t + 1], [group + 8, 2t] and [group + 8, 2t + 1];
// - f64, 8×4 times 4×8: of a [group, t], of b [t, group], of the sums [group, 2t] and [group, 2t + 1].
//
// The sums of bf16 are floats, but each addition truncates instead of rounding: long sums lose digits unless
// they are moved to other registers now and then.

__device__ __forceinline__ void multiplyBf16(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef HECTOR_EMULATED
  machine().multiplyBf16(sums, a, b);
#else
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
__device__ __forceinline__ void multiplyF64(double (&sums)[2], double a, double b) {
#ifdef HECTOR_EMULATED
  machine().multiplyF64(sums, a, b);
#else
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(sums[0]), "+d"(sums[1])
               : "d"(a), "d"(b));
#endif
}

/// Two numbers of bf16, the nearest ones, in one register; and the two as floats. With `isFinite`, the largest number
/// stands for inf, and for what is rounded to it.
template <bool isFinite = false> __device__ __forceinline__ uint32_t packBf16(float low, float high) {
#ifdef HECTOR_EMULATED
  auto round = [](float x) -> uint32_t {
    const uint32_t bits = __builtin_bit_cast(uint32_t, x), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return x != x ? 0x7fffu : isFinite && (rounded & 0x7fffu) == 0x7f80u ? (rounded & 0x8000u) | 0x7f7fu : rounded;
  };
  return round(low) | round(high) << 16;
#else
  uint32_t pair;
  if constexpr (isFinite)
    asm("cvt.rn.satfinite.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}
__device__ __forceinline__ float lowOf(uint32_t pair) {
#ifdef HECTOR_EMULATED
  return __builtin_bit_cast(float, pair << 16);
#else
  return __uint_as_float(pair << 16);
#endif
}
__device__ __forceinline__ float highOf(uint32_t pair) {
#ifdef HECTOR_EMULATED
  return __builtin_bit_cast(float, pair & 0xffff0000u);
#else
  return __uint_as_float(pair & 0xffff0000u);
#endif
}

/// Loads four matrices of 8 rows with 8 numbers of bf16 from shared memory. Lane 8·m + r brings the address of row r of
/// matrix m, a multiple of 16 bytes. With group = lane / 4 and t = lane % 4, a lane gets the numbers [group, 2t] and
/// [group, 2t + 1] of each, or of its transpose.
template <bool isTransposed> __device__ __forceinline__ void loadMatrices(uint32_t (&to)[4], const uint16_t *row) {
#ifdef HECTOR_EMULATED
  machine().checkMatrixRow(row);
  const int group = lane() / 4, t = lane() % 4;
  for (int m = 0; m < 4; ++m) {
    const uint16_t *first = shuffle(row, 8 * m + (isTransposed ? 2 * t : group));
    const uint16_t *second = shuffle(row, 8 * m + (isTransposed ? 2 * t + 1 : group));
    to[m] = first[isTransposed ? group : 2 * t] | static_cast<uint32_t>(second[isTransposed ? group : 2 * t + 1]) << 16;
  }
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (isTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
#endif
}

}  // namespace hector::cuda
