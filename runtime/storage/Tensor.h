/// A dense array in row-major order, as it lies in a file or is about to be written to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// The element types of the safetensors format.
enum class DType : uint8_t { Bool, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64 };

size_t byteSize(DType type);
/// The format's own spelling: "F32", "I64", "BOOL".
std::string_view name(DType type);
std::optional<DType> dtypeFromName(std::string_view name);
bool isFloat(DType type);
bool isInteger(DType type);  // signed or unsigned; not Bool

/// "[77, 16]".
std::string formatShape(std::span<const int64_t> shape);

/// A tensor's description and bytes. Copies share the bytes, which stay alive as long as any copy
/// (`owner` may be a buffer or a mapped file). The bytes need not be aligned.
struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte *bytes = nullptr;
  std::shared_ptr<const void> owner;

  int64_t numElements() const;
  size_t numBytes() const { return static_cast<size_t>(numElements()) * byteSize(dtype); }

  /// Copies `values`, one per element of `shape`. Integer types take them cut towards zero and clamped to their range
  /// (NaN gives 0), Bool takes whether they differ from 0, floats round to nearest even.
  static Tensor fromDoubles(std::vector<int64_t> shape, std::span<const double> values, DType dtype);
  static Tensor fromInt64(std::vector<int64_t> shape, std::span<const int64_t> values, DType dtype = DType::I64);
  /// Elements as float64, whatever the stored type (exact but for 64-bit integers beyond 2^53).
  std::vector<double> toDoubles() const;
  /// A copy with the last two axes swapped; there must be two.
  Tensor transposed() const;
  /// Element `i` of an integer or Bool tensor. U64 values beyond int64 saturate.
  int64_t intAt(int64_t i) const;
};

/// How far two elements are apart, for tests of results: NaN agrees with NaN alone, and an infinity with itself alone;
/// they are infinitely far from all else.
double distanceBetween(double a, double b);

/// Conversions of single elements to and from 16-bit floats, rounding to nearest even.
double halfToDouble(uint16_t bits);
double bfloatToDouble(uint16_t bits);
uint16_t doubleToHalf(double value);
uint16_t doubleToBfloat(double value);

}  // namespace hector
