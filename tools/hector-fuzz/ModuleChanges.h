/// Single steps from one module to an odder one.
#pragma once

#include "Choices.h"

#include <mlir/IR/BuiltinOps.h>

namespace hector::fuzz {

/// Changes one thing. The result need not be valid: whoever calls this verifies it.
void changeModule(mlir::ModuleOp module, Choices &choices);

}  // namespace hector::fuzz
