#include "kernels/cpu/storage.hpp"

#include "runtime/storage/Tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace hector::cpu {
namespace {

/// A 16-bit type beside the functions that tensors in files are read and written with.
template <class Type, double (*kToDouble)(uint16_t), uint16_t (*kFromDouble)(double)> struct Checked {
  using Storage = Type;
  static double toDouble(uint16_t bits) { return kToDouble(bits); }
  static uint16_t fromDouble(double value) { return kFromDouble(value); }
};

template <class T> class Storage : public testing::Test {};
using Types = testing::Types<Checked<bf16, bfloatToDouble, doubleToBfloat>, Checked<f16, halfToDouble, doubleToHalf>>;
TYPED_TEST_SUITE(Storage, Types);

template <class Checked> bool isNan(uint16_t bits) {
  return std::isnan(Checked::toDouble(bits));
}

TYPED_TEST(Storage, LoadsEveryNumber) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const typename TypeParam::Storage number = {static_cast<uint16_t>(bits)};
    const double value = TypeParam::toDouble(number.bits);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(load(&number))) << bits;
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(load(&number)), std::bit_cast<uint32_t>(static_cast<float>(value))) << bits;
  }
}

template <class Checked, class T> void checkStore(T value) {
  typename Checked::Storage stored;
  store(&stored, value);
  if (std::isnan(value))
    EXPECT_TRUE(isNan<Checked>(stored.bits)) << value;
  else
    EXPECT_EQ(stored.bits, Checked::fromDouble(static_cast<double>(value))) << value;
}

TYPED_TEST(Storage, RoundsFloatsToTheNearest) {
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 997)
    checkStore<TypeParam>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (uint32_t bits : {0x00000000u, 0x80000000u, 0x00000001u, 0x007fffffu, 0x7f7fffffu, 0x7f800000u, 0xff800000u,
                        0x7f800001u, 0x7fbfffffu, 0x7fffffffu, 0xffffffffu})
    checkStore<TypeParam>(std::bit_cast<float>(bits));
}

// Halfway between two neighbours, and next to it: by one unit of a float, and by the least that a double can.
TYPED_TEST(Storage, RoundsTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const double low = TypeParam::toDouble(static_cast<uint16_t>(bits));
    const double high = TypeParam::toDouble(static_cast<uint16_t>(bits + 1));
    if (!std::isfinite(low) || !std::isfinite(high))
      continue;
    for (double sign : {1.0, -1.0}) {
      const double halfway = sign * (low + high) / 2;
      const float asFloat = static_cast<float>(halfway);
      for (float value : {asFloat, std::nextafter(asFloat, 0.0f), std::nextafter(asFloat, sign > 0 ? 1e38f : -1e38f)})
        checkStore<TypeParam>(value);
      for (double value : {halfway, std::nextafter(halfway, 0.0), std::nextafter(halfway, sign * 1e300)})
        checkStore<TypeParam>(value);
    }
  }
}

TYPED_TEST(Storage, RoundsDoublesOutsideTheRangeOfFloats) {
  const double inf = std::numeric_limits<double>::infinity();
  for (double value : {1e300, 3.5e38, 3.4028235677973366e38, 1e-300, 1e-46, 65519.99999999999, 65520.0, inf, 0.0,
                       std::numeric_limits<double>::quiet_NaN()})
    for (double sign : {1.0, -1.0})
      checkStore<TypeParam>(sign * value);
}

TEST(StorageOfTruth, IsOneOrZero) {
  uint8_t stored = 7;
  store(&stored, true);
  EXPECT_EQ(stored, 1);
  EXPECT_TRUE(load(&stored));
  store(&stored, false);
  EXPECT_EQ(stored, 0);
  EXPECT_FALSE(load(&stored));
}

}  // namespace
}  // namespace hector::cpu
