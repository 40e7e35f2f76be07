/// The device that tests of CUDA kernels run on.
#pragma once

#include "runtime/device/Device.h"

namespace hector::numerics {

/// The emulator; or, where HECTOR_TEST_DEVICE is `cuda`, the GPU of this machine, which then has to be there.
Device &testDevice();

}  // namespace hector::numerics
