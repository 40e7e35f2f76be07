/// A choice that is not a branch, for CUDA.
#pragma once

#include "kernels/common/choose.hpp"

namespace hector::cuda {

using namespace common;

}  // namespace hector::cuda
