#include "runtime/storage/Tensor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace hector;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<DType> allTypes() {
  std::vector<DType> types;
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i)
    types.push_back(static_cast<DType>(i));
  return types;
}

Tensor vectorOf(std::vector<double> values, DType dtype) {
  return Tensor::fromDoubles({static_cast<int64_t>(values.size())}, values, dtype);
}

}  // namespace

TEST(DTypeTest, NamesReadBackAsTheirTypes) {
  for (DType type : allTypes())
    EXPECT_EQ(dtypeFromName(name(type)), type) << name(type);
}

TEST(DTypeTest, UnknownNamesGiveNothing) {
  EXPECT_EQ(dtypeFromName("F8_E4M3"), std::nullopt);
  EXPECT_EQ(dtypeFromName("f32"), std::nullopt);
  EXPECT_EQ(dtypeFromName(""), std::nullopt);
}

TEST(DTypeTest, SizesFollowTheNames) {
  EXPECT_EQ(byteSize(DType::Bool), 1u);
  EXPECT_EQ(byteSize(DType::BF16), 2u);
  EXPECT_EQ(byteSize(DType::U32), 4u);
  EXPECT_EQ(byteSize(DType::F64), 8u);
}

TEST(DTypeTest, BoolIsNeitherFloatNorInteger) {
  EXPECT_FALSE(isFloat(DType::Bool));
  EXPECT_FALSE(isInteger(DType::Bool));
}

TEST(DTypeTest, EveryTypeButBoolIsEitherFloatOrInteger) {
  for (DType type : allTypes()) {
    EXPECT_EQ(isFloat(type) + isInteger(type), type == DType::Bool ? 0 : 1) << name(type);
  }
}

TEST(ShapeTest, FormatsAsAList) {
  EXPECT_EQ(formatShape(std::vector<int64_t>{77, 16}), "[77, 16]");
  EXPECT_EQ(formatShape({}), "[]");
}

TEST(TensorTest, RankZeroHoldsOneElement) {
  Tensor scalar = Tensor::fromDoubles({}, std::vector<double>{2.5}, DType::F32);
  EXPECT_EQ(scalar.numElements(), 1);
  EXPECT_EQ(scalar.toDoubles(), std::vector<double>{2.5});
}

TEST(TensorTest, EmptyShapesHoldNoElements) {
  Tensor empty = Tensor::fromDoubles({3, 0, 2}, {}, DType::F64);
  EXPECT_EQ(empty.numBytes(), 0u);
  EXPECT_TRUE(empty.toDoubles().empty());
}

TEST(TensorTest, EveryTypeHoldsZeroAndOne) {
  for (DType type : allTypes())
    EXPECT_EQ(vectorOf({0, 1}, type).toDoubles(), (std::vector<double>{0, 1})) << name(type);
}

TEST(TensorTest, SignedTypesHoldNegativeNumbers) {
  for (DType type : {DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64})
    EXPECT_EQ(vectorOf({-100}, type).toDoubles(), std::vector<double>{-100}) << name(type);
}

TEST(TensorTest, DoublesAreClampedToTheRangeOfIntegers) {
  EXPECT_EQ(vectorOf({300, -1}, DType::U8).toDoubles(), (std::vector<double>{255, 0}));
  EXPECT_EQ(vectorOf({300, -300}, DType::I8).toDoubles(), (std::vector<double>{127, -128}));
  Tensor wide = vectorOf({1e30, -1e30, 0x1p63}, DType::I64);
  EXPECT_EQ(wide.intAt(0), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(wide.intAt(1), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(wide.intAt(2), std::numeric_limits<int64_t>::max());
}

TEST(TensorTest, DoublesAreCutTowardsZeroForIntegers) {
  EXPECT_EQ(vectorOf({1.9, -1.9}, DType::I32).toDoubles(), (std::vector<double>{1, -1}));
}

TEST(TensorTest, NanBecomesZeroInIntegers) {
  EXPECT_EQ(vectorOf({kNan}, DType::I32).intAt(0), 0);
}

TEST(TensorTest, BoolTakesWhetherValuesDifferFromZero) {
  EXPECT_EQ(vectorOf({0, 0.5, -3}, DType::Bool).toDoubles(), (std::vector<double>{0, 1, 1}));
}

TEST(TensorTest, Int64ValuesSurviveExactly) {
  std::vector<int64_t> values = {std::numeric_limits<int64_t>::min(), -1, (int64_t{1} << 53) + 1,
                                 std::numeric_limits<int64_t>::max()};
  Tensor tensor = Tensor::fromInt64({4}, values);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(tensor.intAt(i), values[i]);
}

TEST(TensorTest, Int64ValuesAreClampedToNarrowTypes) {
  Tensor tensor = Tensor::fromInt64({2}, std::vector<int64_t>{int64_t{1} << 40, -1}, DType::U32);
  EXPECT_EQ(tensor.intAt(0), 0xffffffffLL);
  EXPECT_EQ(tensor.intAt(1), 0);
}

TEST(TensorTest, LargeU64Saturates) {
  auto buffer = std::make_shared<std::vector<std::byte>>(8, std::byte{0xff});
  Tensor tensor{DType::U64, {1}, buffer->data(), buffer};
  EXPECT_EQ(tensor.intAt(0), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(tensor.toDoubles()[0], 0x1p64);
}

TEST(TensorTest, TransposedSwapsTheLastTwoAxes) {
  const Tensor tensor =
      Tensor::fromInt64({2, 2, 3}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, DType::I16);
  const Tensor transposed = tensor.transposed();
  EXPECT_EQ(transposed.dtype, DType::I16);
  EXPECT_EQ(transposed.shape, (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(transposed.toDoubles(), (std::vector<double>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
}

TEST(TensorTest, TransposedMayBeEmpty) {
  EXPECT_EQ(Tensor::fromDoubles({2, 0}, {}, DType::F32).transposed().shape, (std::vector<int64_t>{0, 2}));
}

TEST(TensorTest, BytesNeedNoAlignment) {
  auto buffer = std::make_shared<std::vector<std::byte>>(9);
  double value = 1.25;
  std::memcpy(buffer->data() + 1, &value, sizeof(value));
  Tensor tensor{DType::F64, {1}, buffer->data() + 1, buffer};
  EXPECT_EQ(tensor.toDoubles()[0], 1.25);
}

TEST(DistanceTest, OddNumbersAgreeWithThemselvesAlone) {
  EXPECT_EQ(distanceBetween(kInfinity, kInfinity), 0);
  EXPECT_EQ(distanceBetween(kNan, kNan), 0);
  EXPECT_EQ(distanceBetween(kInfinity, -kInfinity), kInfinity);
  EXPECT_EQ(distanceBetween(kInfinity, kNan), kInfinity);
  EXPECT_EQ(distanceBetween(kNan, 1), kInfinity);
  EXPECT_EQ(distanceBetween(1, kInfinity), kInfinity);
  EXPECT_EQ(distanceBetween(1, -0.5), 1.5);
}

TEST(HalfTest, EveryPatternReadsBackAsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double value = halfToDouble(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(halfToDouble(doubleToHalf(value))));
    } else {
      ASSERT_EQ(doubleToHalf(value), bits);
    }
  }
}

TEST(HalfTest, KnownValues) {
  EXPECT_EQ(halfToDouble(0x3c00), 1.0);
  EXPECT_EQ(halfToDouble(0xc000), -2.0);
  EXPECT_EQ(halfToDouble(0x7bff), 65504.0);
  EXPECT_EQ(halfToDouble(0x0001), 0x1p-24);
  EXPECT_EQ(halfToDouble(0x7c00), kInfinity);
}

TEST(HalfTest, TiesGoToEven) {
  EXPECT_EQ(doubleToHalf(2049), doubleToHalf(2048));
  EXPECT_EQ(doubleToHalf(2051), doubleToHalf(2052));
  EXPECT_EQ(doubleToHalf(0x1p-25), 0x0000);
  EXPECT_EQ(doubleToHalf(0x3p-25), 0x0002);
}

TEST(HalfTest, RoundsOnceFromDouble) {
  // Just above a tie, by less than float can tell: through float it would become the tie and round down.
  EXPECT_EQ(doubleToHalf(2049.0 + 0x1p-40), doubleToHalf(2050));
}

TEST(HalfTest, OverflowGivesInfinityFromHalfAUnitOn) {
  EXPECT_EQ(doubleToHalf(std::nextafter(65520.0, 0.0)), 0x7bff);
  EXPECT_EQ(doubleToHalf(65520), 0x7c00);
  EXPECT_EQ(doubleToHalf(-1e300), 0xfc00);
}

TEST(HalfTest, TinyNumbersGiveZeroWithTheirSign) {
  EXPECT_EQ(doubleToHalf(-1e-300), 0x8000);
  EXPECT_EQ(doubleToHalf(std::numeric_limits<double>::denorm_min()), 0x0000);
}

TEST(BfloatTest, EveryPatternReadsBackAsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double value = bfloatToDouble(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloatToDouble(doubleToBfloat(value))));
    } else {
      ASSERT_EQ(doubleToBfloat(value), bits);
    }
  }
}

TEST(BfloatTest, TiesGoToEven) {
  EXPECT_EQ(doubleToBfloat(257), doubleToBfloat(256));
  EXPECT_EQ(doubleToBfloat(259), doubleToBfloat(260));
}

TEST(BfloatTest, OverflowGivesInfinity) {
  EXPECT_EQ(doubleToBfloat(3.4e38), 0x7f80);
  EXPECT_EQ(doubleToBfloat(kInfinity), 0x7f80);
}
