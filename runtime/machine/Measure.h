/// Measures what the processor can do.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/machine/Machine.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace hector {

/// Is told what is being measured, and how many of all steps are done. Measuring stops where it returns false.
using MeasureProgress = std::function<bool(std::string_view what, int64_t done, int64_t total)>;

struct MeasuredMachine {
  MachineDescription machine;
  /// The part of the processors' time that the work got while it kept all of them busy: near 1 on a quiet machine.
  /// Other programs had the rest, and the figures are too low.
  double share = 1;
};

/// Measures the machine with as many threads as loops may use (`numThreads`). Each rate is the median of several runs,
/// rounded by `roundFigure`, and `launch` the lower quartile of many; sizes of caches are those that the system
/// reports. Takes a few seconds and 256 MiB to 1 GiB of memory. Fails if that is not available, or if `progress` stops
/// it.
Result<MeasuredMachine> measureMachine(const MeasureProgress &progress);

/// The largest cache of the processors that this process may run on, and the size of a cache line.
struct CacheSizes {
  int64_t cacheBytes = 0;
  int64_t lineBytes = 0;
};
/// Sizes that the system does not report are those of the default machine.
CacheSizes findCacheSizes();

/// What rates are measured with. They compute real results, so that tests can check that the work is done.
namespace measured {
/// `count` numbers: to[i] = a[i] + factor * b[i].
void addScaled(float *to, const float *a, const float *b, float factor, int64_t count);
/// The sum, modulo 2^32, of `count` words at places that depend on `seed` alone. `size` is below 2^32.
uint32_t sumAtRandom(const uint32_t *table, int64_t size, uint32_t seed, int64_t count);
/// `rows` rows of 64 numbers times a 64 x 64 matrix; `rows` is a multiple of `kProductRows`.
inline constexpr int64_t kProductRows = 12;
void multiplyRows(float *to, const float *rows, const float *weight, int64_t numRows);
/// Eight operations per number, an exp among them: y = leaky(2 x + 1), then exp(y) * 0.5 + x - y. `count` is a multiple
/// of 16.
inline constexpr int64_t kScalarOperations = 8;
void computeElements(float *to, const float *from, int64_t count);
}  // namespace measured

}  // namespace hector
