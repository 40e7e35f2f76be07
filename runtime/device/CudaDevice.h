/// A GPU of NVIDIA, through its driver.
#pragma once

#include "runtime/device/Device.h"

#include <memory>
#include <string>

namespace hector {

/// A GPU by its number among those that the driver shows ($CUDA_VISIBLE_DEVICES chooses others), in its primary
/// context, which other libraries of the process use as well. Kernels are compiled by NVRTC. Fails, with what the
/// driver says, where there is no GPU or no driver.
Result<std::unique_ptr<Device>> createCudaDevice(const std::string &driverLibrary = "libcuda.so.1", int number = 0);

}  // namespace hector
