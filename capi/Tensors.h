/// Tensors of the C interface as those of the runtime.
#pragma once

#include "include/hector.h"
#include "runtime/base/Status.h"
#include "runtime/storage/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hector::capi {

/// Whether a tensor's numbers have to be there.
enum class Numbers : uint8_t { Needed, NotNeeded };

/// Where numbers are, as DLPack says it.
struct Place {
  static constexpr int32_t kCpu = 1, kCuda = 2;
  int32_t type = kCpu, number = 0;

  bool operator==(const Place &) const = default;
};
/// "the CPU", "GPU 0".
std::string spelling(const Place &place);

/// A view of the caller's numbers. Fails if they are not where a layer runs, have gaps or a type that there is none
/// for. Messages call the tensor `name`.
Result<Tensor> viewOf(const hector_tensor &tensor, const std::string &name, const Place &place = {},
                      Numbers numbers = Numbers::Needed);

/// Integers of 32 or 64 bits, as 64. Fails for other types, and for tensors that are no list.
Result<std::vector<int64_t>> idsOf(const hector_tensor &tensor, const std::string &name);

/// "f32", "bf16".
std::string spelling(DType dtype);

}  // namespace hector::capi
