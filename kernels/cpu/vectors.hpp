/// Vectors as wide as the processor's registers, by the vector extensions of g++ and clang.
#pragma once

#include <cstdint>

/// A function that is compiled once per file, however many calls with constants there are.
#ifdef __clang__
#define HECTOR_SHARED [[gnu::noinline]]
#else
#define HECTOR_SHARED [[gnu::noinline, gnu::noclone]]
#endif

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
template <class T> inline constexpr int64_t kLanes = kVectorBytes / sizeof(T);

/// Loads from any address.
template <class V, class T> [[gnu::always_inline]] inline V loadVector(const T *from) {
  V vector;
  __builtin_memcpy(&vector, from, sizeof(V));
  return vector;
}

template <class V, class T> [[gnu::always_inline]] inline void storeVector(T *to, V vector) {
  __builtin_memcpy(to, &vector, sizeof(V));
}

/// The first `count` numbers of a vector in memory, 1 to all of them. What lies behind them is not touched, and is 0 in
/// the register.
template <class T> class Part {
public:
  [[gnu::always_inline]] explicit Part(int64_t count);
  [[gnu::always_inline]] Vector<T> load(const T *from) const;
  [[gnu::always_inline]] void store(T *to, Vector<T> vector) const;

private:
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)
  uint16_t mask;
#elif defined(__AVX__) && !defined(__AVX512F__) && __has_builtin(__builtin_ia32_maskloadps256)
  Vector<int32_t> mask;
#else
  int64_t count;
#endif
};

#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_loadups512_mask)

template <class T> inline Part<T>::Part(int64_t count) : mask(static_cast<uint16_t>((1u << count) - 1)) {}

template <> inline Vector<float> Part<float>::load(const float *from) const {
  return __builtin_ia32_loadups512_mask(from, Vector<float>{}, mask);
}
template <> inline Vector<double> Part<double>::load(const double *from) const {
  return __builtin_ia32_loadupd512_mask(from, Vector<double>{}, static_cast<uint8_t>(mask));
}
template <> inline void Part<float>::store(float *to, Vector<float> vector) const {
  __builtin_ia32_storeups512_mask(to, vector, mask);
}
template <> inline void Part<double>::store(double *to, Vector<double> vector) const {
  __builtin_ia32_storeupd512_mask(to, vector, static_cast<uint8_t>(mask));
}

#elif defined(__AVX__) && !defined(__AVX512F__) && __has_builtin(__builtin_ia32_maskloadps256)

template <> inline Part<float>::Part(int64_t count) {
  for (int i = 0; i < 8; ++i)
    mask[i] = i < count ? -1 : 0;
}
template <> inline Part<double>::Part(int64_t count) {
  for (int i = 0; i < 8; ++i)
    mask[i] = i / 2 < count ? -1 : 0;
}

template <> inline Vector<float> Part<float>::load(const float *from) const {
  return __builtin_ia32_maskloadps256(reinterpret_cast<const Vector<float> *>(from), mask);
}
template <> inline Vector<double> Part<double>::load(const double *from) const {
  return __builtin_ia32_maskloadpd256(reinterpret_cast<const Vector<double> *>(from),
                                      reinterpret_cast<Vector<long long>>(mask));
}
// A whole vector is stored without the mask, which some processors are slow with.
template <> inline void Part<float>::store(float *to, Vector<float> vector) const {
  if (mask[7])
    storeVector(to, vector);
  else
    __builtin_ia32_maskstoreps256(reinterpret_cast<Vector<float> *>(to), mask, vector);
}
template <> inline void Part<double>::store(double *to, Vector<double> vector) const {
  if (mask[7])
    storeVector(to, vector);
  else
    __builtin_ia32_maskstorepd256(reinterpret_cast<Vector<double> *>(to), reinterpret_cast<Vector<long long>>(mask),
                                  vector);
}

#else

template <class T> inline Part<T>::Part(int64_t count) : count(count) {}

template <class T> inline Vector<T> Part<T>::load(const T *from) const {
  Vector<T> vector = {};
  for (int64_t i = 0; i < kLanes<T>; ++i)
    if (i < count)
      vector[i] = from[i];
  return vector;
}
template <class T> inline void Part<T>::store(T *to, Vector<T> vector) const {
  for (int64_t i = 0; i < kLanes<T>; ++i)
    if (i < count)
      to[i] = vector[i];
}

#endif

/// Keeps a value in a register: g++ would read it from memory at each use.
template <class V> [[gnu::always_inline]] inline void keepInRegister(V &vector) {
#if defined(__AVX512F__)
  asm("" : "+v"(vector));
#elif defined(__x86_64__)
  asm("" : "+x"(vector));
#elif defined(__aarch64__)
  asm("" : "+w"(vector));
#endif
}

}  // namespace hector::cpu
