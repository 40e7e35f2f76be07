/// Stands in for the CUDA driver in tests: device memory is host memory, and all work is done at once. Every program
/// has the kernel `triple(int *numbers, int64_t count)`. `fakeCudaFail` makes the calls of one function fail,
/// `fakeCudaLive` counts what was made and not released, and `fakeCudaLoaded` is the code that was loaded last.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

std::string failingCall, loadedCode;
int failingError = 0;
int64_t live = 0;
int depth = 0;  // of contexts that are current

using Work = std::vector<std::function<void()>>;
Work *capture = nullptr;

/// What a function returns unless it is told to fail. All but the first few functions need a context.
int result(const char *function, bool needsContext = true) {
  if (failingCall == function)
    return failingError;
  return needsContext && depth == 0 ? 201 : 0;
}

void run(std::function<void()> work) {
  if (capture)
    capture->push_back(std::move(work));
  else
    work();
}

int make(const char *function, void **handle, void *value, bool needsContext = true) {
  if (int error = result(function, needsContext))
    return error;
  ++live;
  *handle = value;
  return 0;
}

int release(const char *function, bool needsContext = true) {
  if (int error = result(function, needsContext))
    return error;
  --live;
  return 0;
}

int someEvent, someFunction, someStream, someModule, someContext;

}  // namespace

extern "C" {

void fakeCudaFail(const char *function, int error) {
  failingCall = function;
  failingError = error;
}
const char *fakeCudaLoaded() {
  return loadedCode.c_str();
}
/// Objects, memory and current contexts.
int64_t fakeCudaLive() {
  return live + depth;
}

int cuInit(unsigned) {
  return result("cuInit", false);
}
int cuDriverGetVersion(int *version) {
  *version = 13020;
  return 0;
}
int cuGetErrorName(int error, const char **text) {
  *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OTHER";
  return error == 12345;
}
int cuGetErrorString(int, const char **text) {
  *text = "as the test asked";
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = failingCall == "no GPU" ? 0 : 1;
  return result("cuDeviceGetCount", false);
}
int cuDeviceGet(int *device, int) {
  *device = 7;
  return 0;
}
int cuDeviceGetName(char *name, int, int) {
  std::strcpy(name, "Fake");
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 1000 + attribute;
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t{4} << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  return make("cuDevicePrimaryCtxRetain", context, &someContext, false);
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return release("cuDevicePrimaryCtxRelease_v2", false);
}
int cuCtxPushCurrent_v2(void *) {
  ++depth;
  return 0;
}
int cuCtxPopCurrent_v2(void **) {
  --depth;
  return 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = size_t{1} << 30;
  *total = size_t{4} << 30;
  return result("cuMemGetInfo_v2");
}
int cuMemAlloc_v2(unsigned long long *memory, size_t bytes) {
  if (int error = result("cuMemAlloc_v2"))
    return error;
  if (bytes > size_t{1} << 30)
    return 2;
  ++live;
  *memory = reinterpret_cast<uintptr_t>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long memory) {
  std::free(reinterpret_cast<void *>(static_cast<uintptr_t>(memory)));
  return release("cuMemFree_v2");
}
int cuMemcpyHtoDAsync_v2(unsigned long long target, const void *source, size_t bytes, void *) {
  std::memcpy(reinterpret_cast<void *>(static_cast<uintptr_t>(target)), source, bytes);
  return result("cuMemcpyHtoDAsync_v2");
}
int cuMemcpyDtoHAsync_v2(void *target, unsigned long long source, size_t bytes, void *) {
  std::memcpy(target, reinterpret_cast<void *>(static_cast<uintptr_t>(source)), bytes);
  return result("cuMemcpyDtoHAsync_v2");
}
int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes, void *) {
  run([=] { std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(target)), value, bytes); });
  return result("cuMemsetD8Async");
}

int cuStreamCreate(void **stream, unsigned) {
  return make("cuStreamCreate", stream, &someStream);
}
int cuStreamDestroy_v2(void *) {
  return release("cuStreamDestroy_v2");
}
int cuStreamSynchronize(void *) {
  return result("cuStreamSynchronize");
}
int cuEventCreate(void **event, unsigned) {
  return make("cuEventCreate", event, &someEvent);
}
int cuEventDestroy_v2(void *) {
  return release("cuEventDestroy_v2");
}
int cuEventRecord(void *, void *) {
  return result("cuEventRecord");
}
int cuEventSynchronize(void *) {
  return result("cuEventSynchronize");
}
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1.5f;
  return result("cuEventElapsedTime");
}

int cuModuleLoadData(void **module, const void *image) {
  loadedCode = static_cast<const char *>(image);  // text of tests, which ends with a zero
  return make("cuModuleLoadData", module, &someModule);
}
int cuModuleUnload(void *) {
  return release("cuModuleUnload");
}
int cuModuleGetFunction(void **function, void *, const char *name) {
  *function = &someFunction;
  return std::strcmp(name, "triple") == 0 ? result("cuModuleGetFunction") : 500;
}
int cuFuncSetAttribute(void *, int, int) {
  return result("cuFuncSetAttribute");
}
int cuFuncGetParamInfo(void *, size_t index, size_t *offset, size_t *bytes) {
  *offset = 8 * index;
  *bytes = 8;
  return index < 2 ? 0 : 1;
}
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **arguments, void **) {
  int *numbers = *static_cast<int **>(arguments[0]);
  const int64_t count = *static_cast<int64_t *>(arguments[1]);
  run([=] {
    for (int64_t i = 0; i < count; ++i)
      numbers[i] *= 3;
  });
  return result("cuLaunchKernel");
}

int cuStreamBeginCapture_v2(void *, int) {
  capture = new Work;
  return result("cuStreamBeginCapture_v2");
}
int cuStreamEndCapture(void *, void **graph) {
  if (int error = make("cuStreamEndCapture", graph, capture)) {
    delete capture;
    capture = nullptr;
    return error;
  }
  capture = nullptr;
  return 0;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  if (int error = result("cuGraphInstantiateWithFlags"))
    return error;
  return make("cuGraphInstantiateWithFlags", executable, new Work(*static_cast<Work *>(graph)));
}
int cuGraphLaunch(void *executable, void *) {
  for (const auto &work : *static_cast<Work *>(executable))
    work();
  return result("cuGraphLaunch");
}
int cuGraphDestroy(void *graph) {
  delete static_cast<Work *>(graph);
  return release("cuGraphDestroy");
}
int cuGraphExecDestroy(void *executable) {
  delete static_cast<Work *>(executable);
  return release("cuGraphExecDestroy");
}
}
