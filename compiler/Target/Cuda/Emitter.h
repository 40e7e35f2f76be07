/// Writes kernels as CUDA C++ and their launches as a plan.
#pragma once

#include "kernels/cuda/division.hpp"
#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"

#include <string>

namespace mlir {
class ModuleOp;
}

namespace hector {

struct CudaOptions {
  cuda::Precision precision = cuda::Precision::Highest;  // of products of floats
  bool wideIds = false;                                  // index arrays have 64 bits an entry
  std::string prefix = "hector_";                        // of all symbols: code of several plans may share a program
};

/// The plan of a module in kern, with the CUDA text of its kernels. Fails where a kernel needs more shared memory than
/// a GPU has.
Result<exec::Plan> emitCuda(mlir::ModuleOp module, const CudaOptions &options = {});

}  // namespace hector
