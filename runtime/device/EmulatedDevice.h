/// A device without a GPU: memory of the host, and kernels that the emulator executes. For tests.
#pragma once

#include "runtime/device/Device.h"

#include <cstdint>
#include <memory>

namespace hector {

/// Has the name "emulated" and architecture 0. The text of programs is compiled by the system's C++ compiler with
/// HECTOR_EMULATED defined; kernels are those that it exports with HECTOR_CUDA_KERNEL. All work is done when it is
/// asked for. `seed` sets the order in which the emulator runs threads and blocks, and that of recorded calls which may
/// run side by side: each replay has another one.
///
/// Memory starts with all bits set, which is NaN. It ends exactly where it was asked to end: the address sanitizer
/// finds accesses outside, and without that sanitizer a write up to 256 bytes outside fails the launch that made it.
std::unique_ptr<Device> createEmulatedDevice(uint64_t seed = 1);

}  // namespace hector
