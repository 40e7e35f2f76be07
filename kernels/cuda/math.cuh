/// Functions of numbers, for CUDA.
#pragma once

#include "kernels/common/math.hpp"

namespace hector::cuda {

using namespace common;

}  // namespace hector::cuda
