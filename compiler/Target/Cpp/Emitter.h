/// Writes kernels as C++ and their launches as a plan.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"

#include <string>

namespace mlir {
class ModuleOp;
}

namespace hector {

struct CppOptions {
  bool wideIds = false;            // index arrays have 64 bits an entry
  std::string prefix = "hector_";  // of the namespace and all symbols: code of several plans may share a source
};

/// The plan of a module in kern, with the C++ text of its kernels.
Result<exec::Plan> emitCpp(mlir::ModuleOp module, const CppOptions &options = {});

}  // namespace hector
