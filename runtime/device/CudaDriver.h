/// The part of the CUDA driver API that Hector uses, from a libcuda that is opened at run time. No CUDA is needed to
/// build: the prototypes, which are those of CUDA 13.0's cuda.h, are declared here.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <string>

namespace hector {

/// The functions have the names of the API without `cu`. Handles (contexts, streams, events, modules, functions,
/// graphs) are opaque. All return 0 or an error.
struct CudaDriver {
  using Address = unsigned long long;

  // Numbers of cuda.h: attributes of devices and functions, errors, flags.
  static constexpr int kMultiprocessors = 16, kCacheBytes = 38, kArchitectureMajor = 75, kArchitectureMinor = 76,
                       kSharedBytes = 97;
  static constexpr int kDynamicSharedBytes = 8;
  static constexpr int kOutOfMemory = 2;
  static constexpr int kNonBlockingStream = 1;

  int (*Init)(unsigned flags);
  int (*DriverGetVersion)(int *version);
  int (*GetErrorName)(int error, const char **text);
  int (*GetErrorString)(int error, const char **text);

  int (*DeviceGetCount)(int *count);
  int (*DeviceGet)(int *device, int number);
  int (*DeviceGetName)(char *name, int size, int device);
  int (*DeviceGetAttribute)(int *value, int attribute, int device);
  int (*DeviceTotalMem)(size_t *bytes, int device);
  int (*DevicePrimaryCtxRetain)(void **context, int device);
  int (*DevicePrimaryCtxRelease)(int device);
  int (*CtxPushCurrent)(void *context);
  int (*CtxPopCurrent)(void **context);

  int (*MemGetInfo)(size_t *free, size_t *total);
  int (*MemAlloc)(Address *memory, size_t bytes);
  int (*MemFree)(Address memory);
  int (*MemcpyHtoDAsync)(Address target, const void *source, size_t bytes, void *stream);
  int (*MemcpyDtoHAsync)(void *target, Address source, size_t bytes, void *stream);
  int (*MemcpyDtoDAsync)(Address target, Address source, size_t bytes, void *stream);
  int (*MemsetD8Async)(Address target, unsigned char value, size_t bytes, void *stream);

  int (*StreamCreate)(void **stream, unsigned flags);
  int (*StreamDestroy)(void *stream);
  int (*StreamSynchronize)(void *stream);
  int (*EventCreate)(void **event, unsigned flags);
  int (*EventDestroy)(void *event);
  int (*EventRecord)(void *event, void *stream);
  int (*EventSynchronize)(void *event);
  int (*EventElapsedTime)(float *milliseconds, void *from, void *to);

  int (*ModuleLoadData)(void **module, const void *image);
  int (*ModuleUnload)(void *module);
  int (*ModuleGetFunction)(void **function, void *module, const char *name);
  int (*FuncSetAttribute)(void *function, int attribute, int value);
  int (*FuncGetParamInfo)(void *function, size_t index, size_t *offset, size_t *bytes);  // null before CUDA 12.4
  int (*LaunchKernel)(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                      unsigned blockZ, unsigned sharedBytes, void *stream, void **arguments, void **extra);

  /// CUDA_KERNEL_NODE_PARAMS_v1, which all drivers take.
  struct KernelNode {
    void *function;
    unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
    void **arguments;
    void **extra;
  };
  /// CUDA_MEMSET_NODE_PARAMS_v1.
  struct MemsetNode {
    Address target;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;  // width in elements
  };
  int (*GraphCreate)(void **graph, unsigned flags);
  int (*GraphAddKernelNode)(void **node, void *graph, void *const *after, size_t numAfter, const KernelNode *what);
  int (*GraphAddMemsetNode)(void **node, void *graph, void *const *after, size_t numAfter, const MemsetNode *what,
                            void *context);
  int (*GraphInstantiateWithFlags)(void **executable, void *graph, unsigned long long flags);
  int (*GraphLaunch)(void *executable, void *stream);
  int (*GraphDestroy)(void *graph);
  int (*GraphExecDestroy)(void *executable);

  /// Opens a library and starts the driver. Fails where there is none, or it finds no GPU, with what it says.
  static Result<std::shared_ptr<const CudaDriver>> open(const std::string &library);

  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string describe(int error) const;
  /// "13.0", the newest CUDA that the driver serves.
  std::string version() const;
};

}  // namespace hector
