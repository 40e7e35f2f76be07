/// A choice that is not a branch, for the CPU.
#pragma once

#include "kernels/common/choose.hpp"

namespace hector::cpu {

using namespace common;

}  // namespace hector::cpu
