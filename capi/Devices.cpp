#include "capi/Devices.h"

#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <cstdlib>
#include <map>
#include <string_view>

namespace hector::capi {

Result<OpenDevice *> openDevice(int32_t number) {
  static std::mutex mutex;
  static auto &devices = *new std::map<int32_t, OpenDevice>();  // never closed
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = devices.find(number); known != devices.end())
    return &known->second;
  const char *isEmulated = std::getenv("HECTOR_EMULATE_CUDA");
  std::unique_ptr<Device> device;
  if (isEmulated && std::string_view(isEmulated) == "1") {
    device = createEmulatedDevice();
  } else {
    auto gpu = createCudaDevice("libcuda.so.1", number);
    if (!gpu)
      return std::move(gpu).status();
    device = std::move(*gpu);
  }
  OpenDevice &open = devices[number];
  open.device = std::move(device);
  return &open;
}

}  // namespace hector::capi
