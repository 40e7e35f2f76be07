#include "runtime/device/CudaDriver.h"

#include <dlfcn.h>
#include <type_traits>

namespace hector {

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open(const std::string &library) {
  // Never closed: the driver has threads of its own.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return Status::failed("there is no CUDA driver, which comes with NVIDIA's driver for its GPUs: " +
                          (reason ? reason : library));
  }
  auto driver = std::make_shared<CudaDriver>();
  const char *missing = nullptr;
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  auto get = [&](const char *name, auto &function) {
    if (!find(name, function))
      missing = name;
  };
  // By the names that the driver exports: cuda.h maps some functions to those of a later version.
  get("cuInit", driver->Init);
  get("cuDriverGetVersion", driver->DriverGetVersion);
  get("cuGetErrorName", driver->GetErrorName);
  get("cuGetErrorString", driver->GetErrorString);
  get("cuDeviceGetCount", driver->DeviceGetCount);
  get("cuDeviceGet", driver->DeviceGet);
  get("cuDeviceGetName", driver->DeviceGetName);
  get("cuDeviceGetAttribute", driver->DeviceGetAttribute);
  get("cuDeviceTotalMem_v2", driver->DeviceTotalMem);
  get("cuDevicePrimaryCtxRetain", driver->DevicePrimaryCtxRetain);
  get("cuDevicePrimaryCtxRelease_v2", driver->DevicePrimaryCtxRelease);
  get("cuCtxPushCurrent_v2", driver->CtxPushCurrent);
  get("cuCtxPopCurrent_v2", driver->CtxPopCurrent);
  get("cuMemGetInfo_v2", driver->MemGetInfo);
  get("cuMemAlloc_v2", driver->MemAlloc);
  get("cuMemFree_v2", driver->MemFree);
  get("cuMemcpyHtoDAsync_v2", driver->MemcpyHtoDAsync);
  get("cuMemcpyDtoHAsync_v2", driver->MemcpyDtoHAsync);
  get("cuMemcpyDtoDAsync_v2", driver->MemcpyDtoDAsync);
  get("cuMemsetD8Async", driver->MemsetD8Async);
  get("cuStreamCreate", driver->StreamCreate);
  get("cuStreamDestroy_v2", driver->StreamDestroy);
  get("cuStreamSynchronize", driver->StreamSynchronize);
  get("cuEventCreate", driver->EventCreate);
  get("cuEventDestroy_v2", driver->EventDestroy);
  get("cuEventRecord", driver->EventRecord);
  get("cuEventSynchronize", driver->EventSynchronize);
  get("cuEventElapsedTime", driver->EventElapsedTime);
  get("cuModuleLoadData", driver->ModuleLoadData);
  get("cuModuleUnload", driver->ModuleUnload);
  get("cuModuleGetFunction", driver->ModuleGetFunction);
  get("cuFuncSetAttribute", driver->FuncSetAttribute);
  (void)find("cuFuncGetParamInfo", driver->FuncGetParamInfo);
  get("cuLaunchKernel", driver->LaunchKernel);
  get("cuGraphCreate", driver->GraphCreate);
  get("cuGraphAddKernelNode", driver->GraphAddKernelNode);
  get("cuGraphAddMemsetNode", driver->GraphAddMemsetNode);
  get("cuGraphInstantiateWithFlags", driver->GraphInstantiateWithFlags);
  get("cuGraphLaunch", driver->GraphLaunch);
  get("cuGraphDestroy", driver->GraphDestroy);
  get("cuGraphExecDestroy", driver->GraphExecDestroy);
  if (missing)
    return Status::failed("the CUDA driver is older than CUDA 11.4, the oldest that Hector works with: " + library +
                          " has no function " + missing);
  if (int error = driver->Init(0))
    return Status::failed("the CUDA driver cannot be used: " + driver->describe(error));
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

std::string CudaDriver::describe(int error) const {
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(error, &name) != 0 || GetErrorString(error, &text) != 0 || !name || !text)
    return "CUDA error " + std::to_string(error);
  return std::string(name) + ": " + text;
}

std::string CudaDriver::version() const {
  int version = 0;
  if (DriverGetVersion(&version) != 0)
    return "unknown";
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace hector
