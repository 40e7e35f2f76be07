/// `hector run` on a saved plan. No MLIR.
#pragma once

#include "Commands.h"

#include <string>

namespace hector {

/// Whether `hector run` is to take a file for a plan: by its contents, or by its name if they are damaged.
bool namesPlan(const std::string &path);

Status runSavedPlan(const RunOptions &options);

}  // namespace hector
