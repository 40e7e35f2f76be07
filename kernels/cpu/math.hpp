/// Functions of numbers, for the CPU.
#pragma once

#include "kernels/common/math.hpp"

namespace hector::cpu {

using namespace common;

}  // namespace hector::cpu
