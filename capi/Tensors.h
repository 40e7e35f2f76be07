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

/// A view of the caller's numbers. Fails if they are not in memory of the CPU, have gaps or a type that there is none
/// for. Messages call the tensor `name`.
Result<Tensor> viewOf(const hector_tensor &tensor, const std::string &name, Numbers numbers = Numbers::Needed);

/// Integers of 32 or 64 bits, as 64. Fails for other types, and for tensors that are no list.
Result<std::vector<int64_t>> idsOf(const hector_tensor &tensor, const std::string &name);

/// "f32", "bf16".
std::string spelling(DType dtype);

}  // namespace hector::capi
