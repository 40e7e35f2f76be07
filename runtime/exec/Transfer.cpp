#include "runtime/exec/Transfer.h"

#include "runtime/base/Parallel.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hector::exec {

namespace {

constexpr int64_t kAtATime = 256;  // numbers, which stay in the first cache

template <class T> T loadAs(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T, class F> void readEach(const std::byte *from, int64_t count, double *to, F &&toDouble) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = toDouble(loadAs<T>(from + i * static_cast<int64_t>(sizeof(T))));
}

template <class T> void readNumbers(const std::byte *from, int64_t count, double *to) {
  readEach<T>(from, count, to, [](T value) { return static_cast<double>(value); });
}

void readDoubles(const std::byte *from, DType dtype, int64_t count, double *to) {
  switch (dtype) {
  case DType::Bool:
    return readEach<uint8_t>(from, count, to, [](uint8_t value) { return value != 0 ? 1.0 : 0.0; });
  case DType::U8:
    return readNumbers<uint8_t>(from, count, to);
  case DType::I8:
    return readNumbers<int8_t>(from, count, to);
  case DType::U16:
    return readNumbers<uint16_t>(from, count, to);
  case DType::I16:
    return readNumbers<int16_t>(from, count, to);
  case DType::F16:
    return readEach<uint16_t>(from, count, to, halfToDouble);
  case DType::BF16:
    return readEach<uint16_t>(from, count, to, bfloatToDouble);
  case DType::U32:
    return readNumbers<uint32_t>(from, count, to);
  case DType::I32:
    return readNumbers<int32_t>(from, count, to);
  case DType::F32:
    return readNumbers<float>(from, count, to);
  case DType::U64:
    return readNumbers<uint64_t>(from, count, to);
  case DType::I64:
    return readNumbers<int64_t>(from, count, to);
  case DType::F64:
    return readNumbers<double>(from, count, to);
  }
}

template <class T, class F> void writeEach(const double *from, int64_t count, std::byte *to, F &&fromDouble) {
  for (int64_t i = 0; i < count; ++i) {
    const T value = fromDouble(from[i]);
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
}

void writeDoubles(const double *from, int64_t count, Storage storage, std::byte *to) {
  switch (storage) {
  case Storage::F64:
    return writeEach<double>(from, count, to, [](double value) { return value; });
  case Storage::F32:
    return writeEach<float>(from, count, to, [](double value) { return static_cast<float>(value); });
  case Storage::BF16:
    return writeEach<uint16_t>(from, count, to, doubleToBfloat);
  case Storage::F16:
    return writeEach<uint16_t>(from, count, to, doubleToHalf);
  case Storage::Bool:
    return writeEach<uint8_t>(from, count, to, [](double value) { return static_cast<uint8_t>(value != 0); });
  case Storage::Index:
    return writeEach<int64_t>(from, count, to, [](double value) { return static_cast<int64_t>(value); });
  }
}

/// Converts through doubles, which hold every number of the other types that tables have.
void convert(const std::byte *from, DType dtype, int64_t count, Storage storage, std::byte *to) {
  std::array<double, kAtATime> numbers;
  const auto fromSize = static_cast<int64_t>(byteSize(dtype)), toSize = byteSize(storage);
  for (int64_t begin = 0; begin < count; begin += kAtATime) {
    const int64_t some = std::min(kAtATime, count - begin);
    readDoubles(from + begin * fromSize, dtype, some, numbers.data());
    writeDoubles(numbers.data(), some, storage, to + begin * toSize);
  }
}

/// Calls `copy(i, rows[i], n)` for rows i to i + n - 1, in parallel: one by one, or many together if they have no
/// `rows`.
template <class F> void forRows(const IdArray *rows, int64_t numRows, int64_t rowSize, F &&copy) {
  constexpr int64_t kNumbers = int64_t{1} << 15;
  parallelFor(numRows, std::max<int64_t>(1, kNumbers / std::max<int64_t>(rowSize, 1)), [&](int64_t begin, int64_t end) {
    if (!rows)
      return copy(begin, begin, end - begin);
    for (int64_t row = begin; row < end; ++row)
      copy(row, (*rows)[row], 1);
  });
}

}  // namespace

DType dtypeOf(Storage storage) {
  switch (storage) {
  case Storage::F64:
    return DType::F64;
  case Storage::F32:
    return DType::F32;
  case Storage::BF16:
    return DType::BF16;
  case Storage::F16:
    return DType::F16;
  case Storage::Bool:
    return DType::Bool;
  case Storage::Index:
    break;
  }
  return DType::I64;
}

bool isStoredAs(Storage storage, DType dtype) {
  return dtype == dtypeOf(storage) && storage != Storage::Bool;
}

bool isStoredAs(Storage storage, const Tensor &tensor) {
  return isStoredAs(storage, tensor.dtype) &&
         reinterpret_cast<uintptr_t>(tensor.bytes) % static_cast<uintptr_t>(byteSize(storage)) == 0;
}

void copyIn(const Tensor &from, const IdArray *rows, int64_t numRows, int64_t rowSize, Storage storage, std::byte *to) {
  const int64_t fromBytes = rowSize * static_cast<int64_t>(byteSize(from.dtype)), toBytes = rowSize * byteSize(storage);
  const bool isSame = isStoredAs(storage, from.dtype);
  forRows(rows, numRows, rowSize, [&](int64_t row, int64_t outside, int64_t count) {
    if (isSame)
      std::memcpy(to + row * toBytes, from.bytes + outside * fromBytes, static_cast<size_t>(count * toBytes));
    else
      convert(from.bytes + outside * fromBytes, from.dtype, count * rowSize, storage, to + row * toBytes);
  });
}

void copyOut(const std::byte *from, Storage storage, const IdArray *rows, int64_t numRows, int64_t rowSize, DType dtype,
             std::byte *to) {
  const DType stored = dtypeOf(storage);
  const Storage wanted = dtype == DType::F64 ? Storage::F64 : Storage::F32;
  const int64_t fromBytes = rowSize * byteSize(storage), toBytes = rowSize * byteSize(wanted);
  forRows(rows, numRows, rowSize, [&](int64_t row, int64_t outside, int64_t count) {
    if (stored == dtype)
      std::memcpy(to + outside * toBytes, from + row * fromBytes, static_cast<size_t>(count * toBytes));
    else
      convert(from + row * fromBytes, stored, count * rowSize, wanted, to + outside * toBytes);
  });
}

}  // namespace hector::exec
