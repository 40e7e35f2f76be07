/// Element types and their conversions.
#include "runtime/storage/Tensor.h"

#include "runtime/base/BigVector.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace hector {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian and read as they lie");

namespace {

struct DTypeInfo {
  std::string_view name;
  size_t bytes;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, 13> kDTypes = {{{"BOOL", 1},
                                                {"U8", 1},
                                                {"I8", 1},
                                                {"U16", 2},
                                                {"I16", 2},
                                                {"F16", 2},
                                                {"BF16", 2},
                                                {"U32", 4},
                                                {"I32", 4},
                                                {"F32", 4},
                                                {"U64", 8},
                                                {"I64", 8},
                                                {"F64", 8}}};
static_assert(kDTypes.size() == static_cast<size_t>(DType::F64) + 1);

template <class T> T loadAs(const std::byte *bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <class To> To clampInteger(int64_t value) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    return value < 0 ? 0 : static_cast<uint64_t>(value);
  } else {
    return static_cast<To>(std::clamp<int64_t>(value, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
  }
}

template <class To> To clampInteger(double value) {
  if (std::isnan(value))
    return 0;
  // The largest 64-bit values are no doubles: compare with the power of two above them.
  double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (value >= above)
    return std::numeric_limits<To>::max();
  if (value <= static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(value);
}

template <class From> struct Encoder {
  std::span<const From> values;
  std::byte *out;

  template <class F> void each(F &&convert) const {
    for (size_t i = 0; i < values.size(); ++i) {
      auto stored = convert(values[i]);
      std::memcpy(out + i * sizeof(stored), &stored, sizeof(stored));
    }
  }
};

template <class From> Tensor encode(std::vector<int64_t> shape, std::span<const From> values, DType dtype) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  assert(tensor.numElements() == static_cast<int64_t>(values.size()));
  auto buffer = std::make_shared<BigVector<std::byte>>(values.size() * byteSize(dtype));
  Encoder<From> encoder{values, buffer->data()};
  auto real = [](From v) { return static_cast<double>(v); };
  switch (dtype) {
  case DType::Bool:
    encoder.each([](From v) { return static_cast<uint8_t>(v != 0); });
    break;
  case DType::U8:
    encoder.each([](From v) { return clampInteger<uint8_t>(v); });
    break;
  case DType::I8:
    encoder.each([](From v) { return clampInteger<int8_t>(v); });
    break;
  case DType::U16:
    encoder.each([](From v) { return clampInteger<uint16_t>(v); });
    break;
  case DType::I16:
    encoder.each([](From v) { return clampInteger<int16_t>(v); });
    break;
  case DType::F16:
    encoder.each([&](From v) { return doubleToHalf(real(v)); });
    break;
  case DType::BF16:
    encoder.each([&](From v) { return doubleToBfloat(real(v)); });
    break;
  case DType::U32:
    encoder.each([](From v) { return clampInteger<uint32_t>(v); });
    break;
  case DType::I32:
    encoder.each([](From v) { return clampInteger<int32_t>(v); });
    break;
  case DType::F32:
    encoder.each([](From v) { return static_cast<float>(v); });
    break;
  case DType::U64:
    encoder.each([](From v) { return clampInteger<uint64_t>(v); });
    break;
  case DType::I64:
    encoder.each([](From v) { return clampInteger<int64_t>(v); });
    break;
  case DType::F64:
    encoder.each(real);
    break;
  }
  tensor.bytes = buffer->data();
  tensor.owner = std::move(buffer);
  return tensor;
}

/// Rounds to a 16-bit float with `mantissaBits` after the point. Works on the bits of the double, so that there is one
/// rounding only: going through float would round twice.
uint16_t roundTo16(double value, int mantissaBits) {
  const int exponentBits = 15 - mantissaBits;
  const uint32_t maxExponent = (1u << exponentBits) - 1;
  const int bias = static_cast<int>(maxExponent >> 1);
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << 15;
  const uint32_t infinity = maxExponent << mantissaBits;
  const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  const int storedExponent = static_cast<int>((bits >> 52) & 0x7ff);

  if (storedExponent == 0x7ff && mantissa != 0) {
    uint32_t quiet = 1u << (mantissaBits - 1);
    return static_cast<uint16_t>(sign | infinity | quiet | static_cast<uint32_t>(mantissa >> (52 - mantissaBits)));
  }
  const int exponent = storedExponent - 1023;
  if (exponent > bias)
    return static_cast<uint16_t>(sign | infinity);
  // The result counts units of 2^(unitExponent - mantissaBits); below the normal numbers the unit shrinks no further.
  const int unitExponent = std::max(exponent, 1 - bias);
  const int shift = unitExponent - exponent + 52 - mantissaBits;
  if (shift >= 54)  // less than half a unit; also the double's own subnormals
    return static_cast<uint16_t>(sign);
  const uint64_t significand = mantissa | (uint64_t{1} << 52);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  uint32_t units = static_cast<uint32_t>(significand >> shift);
  if (rest > half || (rest == half && (units & 1)))
    ++units;
  // A carry out of the mantissa lands in the exponent, up to infinity: just what rounding up means. A normal number's
  // leading one is the 1 that `exponent + bias - 1` leaves out.
  uint32_t base = exponent < 1 - bias ? 0 : static_cast<uint32_t>(exponent + bias - 1) << mantissaBits;
  return static_cast<uint16_t>(sign | (base + units));
}

}  // namespace

size_t byteSize(DType type) {
  return kDTypes[static_cast<size_t>(type)].bytes;
}

std::string_view name(DType type) {
  return kDTypes[static_cast<size_t>(type)].name;
}

std::optional<DType> dtypeFromName(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloat(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::F64;
}

bool isInteger(DType type) {
  return !isFloat(type) && type != DType::Bool;
}

std::string formatShape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0)
      text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

int64_t Tensor::numElements() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

Tensor Tensor::fromDoubles(std::vector<int64_t> shape, std::span<const double> values, DType dtype) {
  return encode(std::move(shape), values, dtype);
}

Tensor Tensor::fromInt64(std::vector<int64_t> shape, std::span<const int64_t> values, DType dtype) {
  return encode(std::move(shape), values, dtype);
}

std::vector<double> Tensor::toDoubles() const {
  std::vector<double> values(static_cast<size_t>(numElements()));
  auto fill = [&](auto load) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(load(static_cast<int64_t>(i)));
  };
  switch (dtype) {
  case DType::Bool:
    fill([&](int64_t i) { return loadAs<uint8_t>(bytes, i) != 0; });
    break;
  case DType::U8:
    fill([&](int64_t i) { return loadAs<uint8_t>(bytes, i); });
    break;
  case DType::I8:
    fill([&](int64_t i) { return loadAs<int8_t>(bytes, i); });
    break;
  case DType::U16:
    fill([&](int64_t i) { return loadAs<uint16_t>(bytes, i); });
    break;
  case DType::I16:
    fill([&](int64_t i) { return loadAs<int16_t>(bytes, i); });
    break;
  case DType::F16:
    fill([&](int64_t i) { return halfToDouble(loadAs<uint16_t>(bytes, i)); });
    break;
  case DType::BF16:
    fill([&](int64_t i) { return bfloatToDouble(loadAs<uint16_t>(bytes, i)); });
    break;
  case DType::U32:
    fill([&](int64_t i) { return loadAs<uint32_t>(bytes, i); });
    break;
  case DType::I32:
    fill([&](int64_t i) { return loadAs<int32_t>(bytes, i); });
    break;
  case DType::F32:
    fill([&](int64_t i) { return loadAs<float>(bytes, i); });
    break;
  case DType::U64:
    fill([&](int64_t i) { return loadAs<uint64_t>(bytes, i); });
    break;
  case DType::I64:
    fill([&](int64_t i) { return loadAs<int64_t>(bytes, i); });
    break;
  case DType::F64:
    fill([&](int64_t i) { return loadAs<double>(bytes, i); });
    break;
  }
  return values;
}

Tensor Tensor::transposed() const {
  assert(shape.size() >= 2);
  Tensor result;
  result.dtype = dtype;
  result.shape = shape;
  std::swap(result.shape[shape.size() - 2], result.shape[shape.size() - 1]);
  auto buffer = std::make_shared<BigVector<std::byte>>(static_cast<size_t>(numBytes()));
  const auto size = static_cast<int64_t>(byteSize(dtype));
  const int64_t rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  const int64_t numMatrices = rows * columns == 0 ? 0 : numElements() / (rows * columns);
  for (int64_t m = 0; m < numMatrices; ++m)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        std::memcpy(buffer->data() + ((m * columns + j) * rows + i) * size,
                    bytes + ((m * rows + i) * columns + j) * size, byteSize(dtype));
  result.bytes = buffer->data();
  result.owner = std::move(buffer);
  return result;
}

int64_t Tensor::intAt(int64_t i) const {
  switch (dtype) {
  case DType::Bool:
    return loadAs<uint8_t>(bytes, i) != 0;
  case DType::U8:
    return loadAs<uint8_t>(bytes, i);
  case DType::I8:
    return loadAs<int8_t>(bytes, i);
  case DType::U16:
    return loadAs<uint16_t>(bytes, i);
  case DType::I16:
    return loadAs<int16_t>(bytes, i);
  case DType::U32:
    return loadAs<uint32_t>(bytes, i);
  case DType::I32:
    return loadAs<int32_t>(bytes, i);
  case DType::U64:
    return static_cast<int64_t>(std::min<uint64_t>(loadAs<uint64_t>(bytes, i), std::numeric_limits<int64_t>::max()));
  case DType::I64:
    return loadAs<int64_t>(bytes, i);
  case DType::F16:
  case DType::BF16:
  case DType::F32:
  case DType::F64:
    break;
  }
  assert(false && "intAt is for integers and Bool");
  return 0;
}

double distanceBetween(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  const double distance = std::abs(a - b);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

double halfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f) {
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(0x400 + mantissa, exponent - 25);
  }
  return bits & 0x8000 ? -magnitude : magnitude;
}

double bfloatToDouble(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t doubleToHalf(double value) {
  return roundTo16(value, 10);
}

uint16_t doubleToBfloat(double value) {
  return roundTo16(value, 7);
}

}  // namespace hector
