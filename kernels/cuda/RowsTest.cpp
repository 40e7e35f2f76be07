#include "kernels/cuda/rows.cuh"

#include "kernels/cuda/Emulate.h"
#include "kernels/cuda/choose.cuh"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/storage.cuh"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace hector {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Calls test(kWidth) for every width of groups.
template <class F> void forWidths(F &&test) {
  auto each = [&]<int... kBits>(std::integer_sequence<int, kBits...>) {
    (test(std::integral_constant<int, 1 << kBits>()), ...);
  };
  each(std::make_integer_sequence<int, 6>());
}

// --- who has what ---------------------------------------------------------------------------------------------------

TEST(CudaRows, GiveEachNumberToOneLane) {
  forWidths([](auto width) {
    constexpr int kWidth = width;
    for (int n : {0, 1, 3, 31, 32, 33, 130}) {
      std::vector<std::vector<int>> single(n), packed(n);
      emulate(1, kWidth, 0, [&] {
        cuda::forEach<kWidth>(n, [&](int k) { single[k].push_back(cuda::lane()); });
        cuda::forEach<kWidth, 4>(n, [&](int k) { packed[k].push_back(cuda::lane()); });
      });
      for (int k = 0; k < n; ++k) {
        EXPECT_EQ(single[k], std::vector<int>{k % kWidth}) << k << " of " << n;
        EXPECT_EQ(packed[k], std::vector<int>{k / 4 % kWidth}) << k << " of " << n;
      }
    }
  });
}

TEST(CudaRows, AreFilled) {
  std::array<double, 8> row = {};
  emulate(1, 4, 0, [&] { cuda::fill<4>(row.data(), 3.0, 7); });
  EXPECT_EQ(row, (std::array<double, 8>{3, 3, 3, 3, 3, 3, 3, 0}));
}

// --- sums and extremes ----------------------------------------------------------------------------------------------

/// What all threads of a block of two warps return for the row of their group.
template <class T, class F> std::vector<T> ofAllThreads(F &&body) {
  std::vector<T> results(64);
  emulate(1, 64, 0, [&] { results[cuda::threadInBlock()] = body(); });
  return results;
}

TEST(CudaRows, SumsAreExactForIntegersInAllLanesOfAGroup) {
  forWidths([](auto width) {
    constexpr int kWidth = width;
    for (int n : {0, 1, 2, 5, 31, 64, 100}) {
      auto sums = ofAllThreads<double>([&] {
        // Rows of a different length in each group, so that groups part.
        const int group = cuda::threadInBlock() / kWidth;
        return cuda::sum<double, kWidth>(n + group, [](int k) { return k; }) +
               1e6 * cuda::sum<double, kWidth, 4>(n + group, [](int k) { return k; });
      });
      for (int thread = 0; thread < 64; ++thread) {
        const int length = n + thread / kWidth;
        EXPECT_EQ(sums[thread], 1000001.0 * length * (length - 1) / 2) << thread << ", " << n;
      }
    }
  });
}

TEST(CudaRows, SumsAddInAFixedOrder) {
  std::vector<float> row(77);
  for (size_t k = 0; k < row.size(); ++k)
    row[k] = 1.0f / static_cast<float>(k + 1);
  forWidths([&](auto width) {
    constexpr int kWidth = width;
    // Lanes in order, then neighbours, pairs and so on.
    std::array<float, kWidth> lanes = {};
    for (size_t k = 0; k < row.size(); ++k)
      lanes[k % kWidth] += row[k];
    for (int distance = 1; distance < kWidth; distance *= 2)
      for (int lane = 0; lane < kWidth; lane += 2 * distance)
        lanes[lane] += lanes[lane + distance];
    const auto sums = ofAllThreads<float>([&] { return cuda::sum<float, kWidth>(77, [&](int k) { return row[k]; }); });
    for (float sum : sums)
      EXPECT_EQ(std::bit_cast<uint32_t>(sum), std::bit_cast<uint32_t>(lanes[0])) << kWidth;
  });
}

TEST(CudaRows, ExtremesOfEveryPlace) {
  forWidths([](auto width) {
    constexpr int kWidth = width;
    for (int place = 0; place < 67; place += 3) {
      auto spread = ofAllThreads<float>([&] {
        return cuda::maximum<float, kWidth>(67, [&](int k) { return k == place ? 7.0f : -1.0f; }) -
               cuda::minimum<float, kWidth, 4>(67, [&](int k) { return k == place ? -7.0f : 1.0f; });
      });
      for (float difference : spread)
        EXPECT_EQ(difference, 14.0f);
    }
  });
}

TEST(CudaRows, ExtremesOfNothing) {
  for (float most : ofAllThreads<float>([] { return cuda::maximum<float, 8>(0, [](int) { return 0.0f; }); }))
    EXPECT_EQ(most, -std::numeric_limits<float>::infinity());
  for (double least : ofAllThreads<double>([] { return cuda::minimum<double, 8>(0, [](int) { return 0.0; }); }))
    EXPECT_EQ(least, std::numeric_limits<double>::infinity());
}

TEST(CudaRows, NanWinsInAllLanes) {
  for (int place = 0; place < 20; ++place) {
    auto term = [place](int k) { return k == place ? kNan : static_cast<float>(k); };
    for (float most : ofAllThreads<float>([&] { return cuda::maximum<float, 8>(20, term); }))
      EXPECT_TRUE(std::isnan(most));
    for (float least : ofAllThreads<float>([&] { return cuda::minimum<float, 8>(20, term); }))
      EXPECT_TRUE(std::isnan(least));
  }
}

// Of 0 and -0, all lanes must take the same one: whoever compares with it later finds the same row.
TEST(CudaRows, AllLanesTakeTheSameZero) {
  auto term = [](int k) { return k % 2 == 0 ? -0.0f : 0.0f; };
  for (float most : ofAllThreads<float>([&] { return cuda::maximum<float, 16>(16, term); }))
    EXPECT_TRUE(std::signbit(most));
}

// --- dropout --------------------------------------------------------------------------------------------------------

TEST(CudaDropout, DropsWhatTheCpuDrops) {
  const DropoutMask mask(11, 3, 5, 0.25);
  const uint64_t row = (uint64_t{1} << 33) + 7;
  forWidths([&](auto width) {
    constexpr int kWidth = width;
    for (int n : {1, 2, 5, 64, 131}) {
      std::vector<float> x(n, 3.0f), y(n + 1, -1.0f);
      x[0] = kNan;
      emulate(1, kWidth, 0, [&] { cuda::dropout<kWidth>(mask, row, 0.25, x.data(), y.data(), n); });
      for (int k = 0; k < n; ++k) {
        if (mask.drops(row, static_cast<uint64_t>(k)))
          EXPECT_EQ(y[k], 0.0f) << k << " of " << n;
        else if (k == 0)
          EXPECT_TRUE(std::isnan(y[k]));
        else
          EXPECT_EQ(y[k], 4.0f) << k << " of " << n;
      }
      EXPECT_EQ(y[n], -1.0f);
    }
  });
}

// --- what all targets share -----------------------------------------------------------------------------------------

TEST(CudaNumbers, AreThoseOfTheCpu) {
  EXPECT_NEAR(cuda::exp(1.5), std::exp(1.5), 1e-15);
  EXPECT_EQ(cuda::leakyRelu(-3.0f, 0.5f), -1.5f);
  EXPECT_TRUE(std::isnan(cuda::larger(1.0f, kNan)));
  EXPECT_EQ(cuda::choose(true, 1.0, 2.0), 1.0);
  cuda::bf16 stored;
  cuda::store(&stored, 1.0f + 0x1.8p-7f);
  EXPECT_EQ(cuda::load(&stored), 1.0f + 0x1p-6f);
}

template <class Storage> void checkPacks() {
  alignas(16) Storage from[8], to[8] = {};
  for (int i = 0; i < 8; ++i)
    cuda::store(&from[i], static_cast<decltype(cuda::load(from))>(i % 2 ? i : -i));
  cuda::storePack(to, cuda::loadPack<8>(from));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(cuda::load(&to[i]), cuda::load(&from[i])) << i;
}

TEST(CudaNumbers, AreLoadedAndStoredInPacks) {
  checkPacks<float>();
  checkPacks<double>();
  checkPacks<cuda::bf16>();
  checkPacks<cuda::f16>();
  checkPacks<uint8_t>();
  checkPacks<int64_t>();
}

}  // namespace
}  // namespace hector
