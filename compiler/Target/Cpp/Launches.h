/// The launches of a program as a plan.
#pragma once

#include "compiler/Target/Cpp/KernelText.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"

#include <string>

namespace hector {

/// The plan of a module in kern whose kernels have been written, without their text. `facts` are by the kernels' names,
/// and `prefix` comes before these in the text.
Result<exec::Plan> planOf(mlir::ModuleOp module, const std::string &prefix, const llvm::StringMap<KernelFacts> &facts);

}  // namespace hector
