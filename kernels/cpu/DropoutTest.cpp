#include "kernels/cpu/dropout.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hector::cpu {
namespace {

TEST(Dropout, DropsWhatTheMaskSays) {
  const DropoutMask mask(11, 3, 5, 0.25);
  for (int64_t n = 1; n <= 150; ++n) {
    const uint64_t row = (uint64_t{1} << 33) + static_cast<uint64_t>(n);
    std::vector<float> x(n, 3.0f), y(n + 1, -1.0f);
    dropout(mask, row, 0.25, x.data(), y.data(), n);
    for (int64_t k = 0; k < n; ++k)
      EXPECT_EQ(y[k], mask.drops(row, static_cast<uint64_t>(k)) ? 0.0f : 4.0f) << k << " of " << n;
    EXPECT_EQ(y[n], -1.0f);
  }
}

TEST(Dropout, OfAllIsZeroWhateverItHeld) {
  const DropoutMask mask(11, 3, 5, 1.0);
  std::vector<double> x = {1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  dropout(mask, 0, 1.0, x.data(), x.data(), 3);
  EXPECT_EQ(x, (std::vector<double>{0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace hector::cpu
