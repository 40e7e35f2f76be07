/// How tables keep numbers, for the CPU.
#pragma once

#include "kernels/common/storage.hpp"

namespace hector::cpu {

using namespace common;

}  // namespace hector::cpu
