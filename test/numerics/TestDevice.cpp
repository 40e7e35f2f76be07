#include "test/numerics/TestDevice.h"

#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace hector::numerics {

static std::unique_ptr<Device> createTestDevice() {
  const char *asked = std::getenv("HECTOR_TEST_DEVICE");
  if (!asked || std::string(asked) == "emulated")
    return createEmulatedDevice();
  if (std::string(asked) != "cuda") {
    std::fprintf(stderr, "HECTOR_TEST_DEVICE is `emulated` or `cuda`, not `%s`\n", asked);
    std::exit(2);
  }
  auto gpu = createCudaDevice();
  if (!gpu) {
    std::fprintf(stderr, "%s\n", gpu.status().message().c_str());
    std::exit(2);
  }
  return std::move(*gpu);
}

Device &testDevice() {
  static const std::unique_ptr<Device> device = createTestDevice();
  return *device;
}

}  // namespace hector::numerics
