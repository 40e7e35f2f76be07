/// Vectors as wide as the processor's registers, by the vector extensions of g++ and clang.
#pragma once

#include "kernels/cpu/attributes.hpp"

#include <cstdint>

namespace hector::cpu {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64, kVectorRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32, kVectorRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kVectorBytes = 16, kVectorRegisters = 32;
#else
inline constexpr int kVectorBytes = 16, kVectorRegisters = 16;
#endif

template <class T, int kBytes> struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes = kVectorBytes> using Vector = typename VectorOf<T, kBytes>::Type;
/// How many numbers a vector holds.
template <class T, int kBytes = kVectorBytes> inline constexpr int64_t kLanes = kBytes / sizeof(T);

/// Loads from any address.
template <class V, class T> HECTOR_INLINE V loadVector(const T *from) {
  V vector;
  __builtin_memcpy(&vector, from, sizeof(V));
  return vector;
}

template <class V, class T> HECTOR_INLINE void storeVector(T *to, V vector) {
  __builtin_memcpy(to, &vector, sizeof(V));
}

// Which numbers of a vector a load or store touches: a bit each, a lane each, or simply how many.
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)
struct MaskBits {
  uint16_t bits;
};

HECTOR_INLINE Vector<float, 64> loadPart(const float *from, Vector<float, 64> zero, MaskBits mask) {
  return __builtin_ia32_loadups512_mask(from, zero, mask.bits);
}
HECTOR_INLINE Vector<double, 64> loadPart(const double *from, Vector<double, 64> zero, MaskBits mask) {
  return __builtin_ia32_loadupd512_mask(from, zero, static_cast<uint8_t>(mask.bits));
}
HECTOR_INLINE void storePart(float *to, Vector<float, 64> vector, MaskBits mask) {
  __builtin_ia32_storeups512_mask(to, vector, mask.bits);
}
HECTOR_INLINE void storePart(double *to, Vector<double, 64> vector, MaskBits mask) {
  __builtin_ia32_storeupd512_mask(to, vector, static_cast<uint8_t>(mask.bits));
}
#endif

#if defined(__AVX__) && __has_builtin(__builtin_ia32_maskloadps256)
template <class T, int kBytes> struct MaskLanes;
template <int kBytes> struct MaskLanes<float, kBytes> {
  Vector<int, kBytes> lanes;  // all bits of a lane, or none
};
template <int kBytes> struct MaskLanes<double, kBytes> {
  Vector<long long, kBytes> lanes;
};

HECTOR_INLINE Vector<float, 32> loadPart(const float *from, Vector<float, 32>, MaskLanes<float, 32> mask) {
  return __builtin_ia32_maskloadps256(reinterpret_cast<const Vector<float, 32> *>(from), mask.lanes);
}
HECTOR_INLINE Vector<double, 32> loadPart(const double *from, Vector<double, 32>, MaskLanes<double, 32> mask) {
  return __builtin_ia32_maskloadpd256(reinterpret_cast<const Vector<double, 32> *>(from), mask.lanes);
}
HECTOR_INLINE Vector<float, 16> loadPart(const float *from, Vector<float, 16>, MaskLanes<float, 16> mask) {
  return __builtin_ia32_maskloadps(reinterpret_cast<const Vector<float, 16> *>(from), mask.lanes);
}
HECTOR_INLINE Vector<double, 16> loadPart(const double *from, Vector<double, 16>, MaskLanes<double, 16> mask) {
  return __builtin_ia32_maskloadpd(reinterpret_cast<const Vector<double, 16> *>(from), mask.lanes);
}
HECTOR_INLINE void storePart(float *to, Vector<float, 32> vector, MaskLanes<float, 32> mask) {
  __builtin_ia32_maskstoreps256(reinterpret_cast<Vector<float, 32> *>(to), mask.lanes, vector);
}
HECTOR_INLINE void storePart(double *to, Vector<double, 32> vector, MaskLanes<double, 32> mask) {
  __builtin_ia32_maskstorepd256(reinterpret_cast<Vector<double, 32> *>(to), mask.lanes, vector);
}
HECTOR_INLINE void storePart(float *to, Vector<float, 16> vector, MaskLanes<float, 16> mask) {
  __builtin_ia32_maskstoreps(reinterpret_cast<Vector<float, 16> *>(to), mask.lanes, vector);
}
HECTOR_INLINE void storePart(double *to, Vector<double, 16> vector, MaskLanes<double, 16> mask) {
  __builtin_ia32_maskstorepd(reinterpret_cast<Vector<double, 16> *>(to), mask.lanes, vector);
}
#endif

struct MaskCount {
  int64_t count;
};

template <class T, class V> HECTOR_INLINE V loadPart(const T *from, V vector, MaskCount mask) {
  for (int64_t i = 0; i < kLanes<T, sizeof(V)>; ++i)
    if (i < mask.count)
      vector[i] = from[i];
  return vector;
}
template <class T, class V> HECTOR_INLINE void storePart(T *to, V vector, MaskCount mask) {
  for (int64_t i = 0; i < kLanes<T, sizeof(V)>; ++i)
    if (i < mask.count)
      to[i] = vector[i];
}

/// The mask of the first `count` numbers.
template <class T, int kBytes> HECTOR_INLINE auto makeMask(int64_t count) {
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)
  if constexpr (kBytes == 64)
    return MaskBits{static_cast<uint16_t>((1u << count) - 1)};
  else
#endif
#if defined(__AVX__) && __has_builtin(__builtin_ia32_maskloadps256)
      if constexpr (kBytes <= 32) {
    MaskLanes<T, kBytes> mask;
    for (int64_t i = 0; i < kLanes<T, kBytes>; ++i)
      mask.lanes[i] = i < count ? -1 : 0;
    return mask;
  } else
#endif
    return MaskCount{count};
}

/// The first `count` numbers of a vector in memory, 1 to all of them. What lies behind them is not touched, and is 0 in
/// the register.
template <class T, int kBytes> class Part {
public:
  explicit Part(int64_t count) : isWhole(count == kLanes<T, kBytes>), mask(makeMask<T, kBytes>(count)) {}

  HECTOR_INLINE Vector<T, kBytes> load(const T *from) const { return loadPart(from, Vector<T, kBytes>{}, mask); }
  /// A whole vector is stored without the mask, which some processors are slow with.
  HECTOR_INLINE void store(T *to, Vector<T, kBytes> vector) const {
    if (isWhole)
      storeVector(to, vector);
    else
      storePart(to, vector, mask);
  }

private:
  bool isWhole;
  decltype(makeMask<T, kBytes>(1)) mask;
};

/// Keeps a value in a register: g++ would read it from memory at each use.
template <class V> HECTOR_INLINE void keepInRegister(V &vector) {
#if defined(__AVX512F__)
  asm("" : "+v"(vector));
#elif defined(__x86_64__)
  asm("" : "+x"(vector));
#elif defined(__aarch64__)
  asm("" : "+w"(vector));
#endif
}

}  // namespace hector::cpu
