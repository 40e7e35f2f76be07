/// Arrays as NumPy writes them (.npy).
#pragma once

#include "runtime/base/Status.h"
#include "runtime/storage/Tensor.h"

#include <string>

namespace hector {

/// Row-major; little-endian integers, floats and Bool. Every size is checked against the bytes there are.
Result<Tensor> parseNpy(std::string bytes, const std::string &name);

}  // namespace hector
