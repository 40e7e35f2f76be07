/// Runs programs as compiled code on a GPU, or where one is emulated.
#pragma once

#include "compiler/Target/Cuda/Emitter.h"
#include "driver/Program.h"

namespace hector {

/// The plan of a program, with its CUDA text. The program has had its passes, for a machine that is a GPU, and has
/// groups.
Result<exec::Plan> makeCudaPlan(const Program &program, const CudaOptions &options = {});

}  // namespace hector
