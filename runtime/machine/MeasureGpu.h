/// Measures what a GPU can do.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/machine/Machine.h"
#include "runtime/machine/Measure.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace hector {

/// How much a GPU is given to do: a GPU as much as its size needs, an emulated one next to nothing.
struct GpuWork {
  double runSeconds = 0.02;  // of a run, at least
  int64_t bytes = 0;         // of memory, much larger than the cache; a multiple of 8 KiB
  int64_t cachedBytes = 0;   // of tables that fit in the cache, the same
  int blocksPerUnit = 16;    // of a launch, for each multiprocessor; products have three of them
  int reads = 512;           // of a thread
  int tiles = 1024;          // of rows of a product, for each block
  int rounds = 4096;         // of other operations, for each thread
  int steps = 200;           // launches of a recording
};
GpuWork workFor(const DeviceInfo &device);

/// Measures a GPU. Each rate is the median of several runs, rounded by `roundFigure`; the size of the cache is what the
/// driver says. Takes a few seconds and half a GiB to 4 GiB of the GPU's memory. Fails if that is not free, or if
/// `progress` stops it. The device has nothing else to do meanwhile.
Result<MachineDescription> measureGpu(Device &device, const MeasureProgress &progress);

/// The CUDA text of what rates are measured with.
std::string_view measuredKernels();
/// It on a device.
Result<std::unique_ptr<DeviceProgram>> loadMeasuredKernels(Device &device);
/// The shared memory of a block of its `multiplyTiles`.
int64_t sharedBytesOfProducts();

}  // namespace hector
