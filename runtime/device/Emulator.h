/// Executes CUDA kernels on the host, so that machines without a GPU test the very kernels that run on one.
///
/// Each thread of a block is a fibre. The threads of a block take turns on one thread of the host: each runs until it
/// waits for others or ends. Blocks run on several threads of the host. Which thread and which block is next is drawn
/// from a seed, and does not depend on the number of host threads.
///
/// The emulator is stricter than a GPU, so that mistakes show:
///
/// - A barrier or shuffle that not all of its threads reach ends the launch with a report of what each waits for. So
///   does one that a thread which has left the kernel should take part in.
/// - Shared memory is filled with NaN (all bits set) before each block. Static shared memory of kernels that are linked
///   into the program itself is not; that of loaded modules is.
/// - An asynchronous copy reads and writes at once or at the wait that requires it; the seed says which.
/// - Writing outside of dynamic shared memory is reported, and so is reading where it is far enough outside.
/// - An exception, or a fault such as a null pointer, ends the launch with a report of kernel, block and thread. The
///   emulator can be used again. Objects on the stacks of the block's threads are not destroyed.
///
/// Not emulated: time, more than one block per multiprocessor, memory that becomes visible late, and races that need
/// threads to stop between two barriers.
///
/// Address and thread sanitizers know the fibres. With the address sanitizer, faults are reported by it, and end the
/// program.
#pragma once

#include "kernels/cuda/machine.hpp"
#include "runtime/base/Status.h"

#include <cstdint>

namespace hector {

class Emulator {
public:
  static constexpr int kMaxThreads = 1024;            // of a block
  static constexpr int kMaxBands = 65535;             // of a grid
  static constexpr int64_t kMaxSharedBytes = 232448;  // of a block, dynamic, on the largest GPU that kernels are for

  /// What order threads and blocks run in.
  explicit Emulator(uint64_t seed = 1) : seed(seed) {}

  /// Runs `bands` times `blocks` blocks of `threads` threads, and returns when all have ended. `entry` is what
  /// `HECTOR_CUDA_KERNEL` makes of a kernel, and `args` has the addresses of its arguments, in order. May be called
  /// from any thread.
  Status launch(cuda::HostEntry *entry, int64_t blocks, int threads, int64_t sharedBytes, void **args,
                int bands = 1) const;

private:
  uint64_t seed;
};

}  // namespace hector
