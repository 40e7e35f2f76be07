/// Copies tables between what the caller has and what a plan stores: another type of number, another order of rows.
#pragma once

#include "runtime/exec/Plan.h"
#include "runtime/storage/Tensor.h"

#include <cstddef>
#include <cstdint>

namespace hector::exec {

/// The type of a tensor with the same numbers.
DType dtypeOf(Storage storage);

/// Whether a table keeps numbers of a type as they are. Bytes of a Bool may be any outside.
bool isStoredAs(Storage storage, DType dtype);
/// Whether it can be read where a tensor is, which has its type and alignment then.
bool isStoredAs(Storage storage, const Tensor &tensor);

/// Row i of `to` becomes row `rows[i]` of `from`, or row i where there is no `rows`. Numbers are rounded to nearest
/// even; Bool takes whether they differ from 0.
void copyIn(const Tensor &from, const IdArray *rows, int64_t numRows, int64_t rowSize, Storage storage, std::byte *to);

/// Row `rows[i]` of `to` becomes row i of `from`, as F64 or F32.
void copyOut(const std::byte *from, Storage storage, const IdArray *rows, int64_t numRows, int64_t rowSize, DType dtype,
             std::byte *to);

}  // namespace hector::exec
