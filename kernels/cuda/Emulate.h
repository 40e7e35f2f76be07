/// For tests of what kernels are written with: runs a function as a kernel on the host.
#pragma once

#include "kernels/cuda/device.cuh"
#include "runtime/device/Emulator.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace hector {

/// Calls `body` as every thread of every block. The test fails if the emulator reports something.
template <class F> void emulate(int64_t blocks, int threads, int64_t sharedBytes, const F &body, uint64_t seed = 1) {
  cuda::HostEntry *entry = [](cuda::Machine &machine, void **args) {
    __atomic_store_n(&cuda::currentMachine, &machine, __ATOMIC_RELAXED);
    machine.enter("body");
    (*static_cast<const F *>(args[0]))();
  };
  void *args[] = {const_cast<F *>(&body)};
  const Status status = Emulator(seed).launch(entry, blocks, threads, sharedBytes, args);
  EXPECT_TRUE(status.isOk()) << status.message();
}

}  // namespace hector
