/// What every generated CUDA kernel takes as its last parameter. Shared by the executor and by every generated file.
#pragma once

#include "kernels/common/domains.hpp"
#include "kernels/common/target.hpp"

namespace hector::cuda {

using namespace common;

/// What dropout depends on.
struct Random {
  uint64_t seed, step;
  bool isTraining;
};

struct Sizes {
  int64_t rows[NumDomains];  // of each domain
  int64_t grain;             // rows of a piece: piece p starts at row p · grain
  int64_t pieces;            // of the launch, 0 if it has no rows; joins run all the same
  const Random *random;      // in the memory of the device, so that recorded launches read what is there when they run
};

}  // namespace hector::cuda
