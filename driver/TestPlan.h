/// A plan of no steps, for tests of how plans are compiled.
#pragma once

#include "runtime/exec/Plan.h"

#include <string>

namespace hector {

/// Its source may be any text.
inline exec::Plan planOf(const std::string &source) {
  exec::Plan plan;
  plan.name = "made";
  plan.source = source;
  return plan;
}

}  // namespace hector
