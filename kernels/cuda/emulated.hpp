/// What makes CUDA C++ compile for the host, where the emulator of runtime/device executes it.
#pragma once

#include "kernels/cuda/machine.hpp"

#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// A block is executed by one thread of the host, and a thread of the host executes one block at a time.
#define __shared__ static thread_local

namespace hector::cuda {

using std::memcpy;

/// Set by every thread that enters a kernel, to the same value. Hidden, so that each loaded module has its own.
[[gnu::visibility("hidden")]] inline Machine *currentMachine = nullptr;

inline Machine &machine() {
  return *__atomic_load_n(&currentMachine, __ATOMIC_RELAXED);
}

/// The arguments of a launch, found through their addresses.
struct Arguments {
  void **next;
  template <class T> T take() { return *static_cast<T *>(*next++); }
};
/// Its arguments are evaluated from left to right, since they are between braces.
struct KernelCall {
  template <class... Args> KernelCall(void (*kernel)(Args...), Args... args) { kernel(args...); }
};
template <class... Args> void callKernel(void (*kernel)(Args...), void **args) {
  [[maybe_unused]] Arguments arguments = {args};
  KernelCall{kernel, arguments.take<Args>()...};
}

}  // namespace hector::cuda

/// Exports a kernel to the emulator, as NAME_host.
#define HECTOR_CUDA_KERNEL(name)                                                                                       \
  extern "C" [[gnu::visibility("default")]] void name##_host(hector::cuda::Machine &machine, void **args) {            \
    __atomic_store_n(&hector::cuda::currentMachine, &machine, __ATOMIC_RELAXED);                                       \
    machine.enter(#name);                                                                                              \
    hector::cuda::callKernel(name, args);                                                                              \
  }
