/// How rates are measured: the median of several runs, each long enough for the clock.
#pragma once

#include "runtime/machine/Measure.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hector {

/// Runs the measurements one after the other; does nothing more once `progress` stopped it.
class Runs {
public:
  /// A run of a rate takes at least `runSeconds`.
  Runs(const MeasureProgress &progress, int64_t numRates, double runSeconds)
      : progress(progress), total(numRates * kRuns), runSeconds(runSeconds) {}

  /// Units per second, where `secondsOf(n)` does n of them and returns the time that it took: the median of several
  /// runs.
  template <class F> double rate(std::string_view what, F &&secondsOf) {
    int64_t units = 1;
    double time = 0;
    while (!isStopped && (time = secondsOf(units)) < runSeconds && units < (int64_t{1} << 40)) {
      units = static_cast<int64_t>(static_cast<double>(units) *
                                   std::clamp(1.2 * runSeconds / std::max(time, 1e-9), 1.5, 10.0)) +
              1;
      check(what);
    }
    return static_cast<double>(units) / std::max(timeOf(what, 1, 0.5, [&] { return secondsOf(units); }), 1e-9);
  }

  /// A quantile of the times that `seconds` returns, in several runs with `perRun` calls in each.
  template <class F> double timeOf(std::string_view what, int perRun, double quantile, F &&seconds) {
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run, ++done) {
      check(what);
      for (int call = 0; call < perRun && !isStopped; ++call)
        times.push_back(seconds());
    }
    check(what);
    if (isStopped)
      return 0;
    const auto chosen = times.begin() + static_cast<ptrdiff_t>(static_cast<double>(times.size()) * quantile);
    std::nth_element(times.begin(), chosen, times.end());
    return *chosen;
  }

  void check(std::string_view what) { isStopped = isStopped || !progress(what, done, total); }
  bool wasStopped() const { return isStopped; }

private:
  static constexpr int kRuns = 11;

  const MeasureProgress &progress;
  int64_t done = 0, total;
  double runSeconds;
  bool isStopped = false;
};

}  // namespace hector
