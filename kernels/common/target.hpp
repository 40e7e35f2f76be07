/// What headers for every target are written with: integers of a fixed size, and how functions are compiled.
#pragma once

// The compiler that CUDA has at run time knows no header of the system.
#ifdef __CUDACC_RTC__
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using uintptr_t = unsigned long;
#else
#include <cstdint>
#endif

#ifdef __CUDACC__
/// A function of the host and of the device.
#define HECTOR_ANYWHERE __host__ __device__
/// Into every loop that calls it, so that the loop vectorises.
#define HECTOR_INLINE __host__ __device__ __forceinline__
#else
#define HECTOR_ANYWHERE
#define HECTOR_INLINE [[gnu::always_inline]] inline
#endif
