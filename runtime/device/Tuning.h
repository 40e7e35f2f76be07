/// Which way of starting a run's launches is the fastest, by the clock.
///
/// Launches have the same arguments and the same order of sums in every way, so results are the same bits. The ways
/// take turns while runs are made that are wanted anyhow: each is timed kTuningRounds times, the first of which does
/// not count. Then the fastest is taken for good, and kept in the cache of compiled code for the same plan, graph
/// sizes, phases and device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hector::exec {

/// How the launches of a run are started.
enum class Starting : uint8_t {
  Plain,     // one by one
  Chained,   // replayed, one after the other
  Branched,  // replayed, side by side where they share no memory
};
inline constexpr int kNumStartings = 3, kTuningRounds = 6;
/// After so many runs of the same phases, and the first, a choice is made.
inline constexpr int kTuningRuns = kNumStartings * kTuningRounds;

/// Is told what was chosen and from what, or why something that was kept is not used.
using TuningNote = std::function<void(const std::string &note)>;

class Tuning {
public:
  /// Looks for what was kept for `key`, which is a hash. `what` is what notes call the run. Unless another way is
  /// clearly faster, `usual` is chosen.
  Tuning(std::string key, std::string what, Starting usual, TuningNote note);

  bool isMeasuring() const { return next < kTuningRuns; }
  /// The way of the next run.
  Starting way() const { return isMeasuring() ? static_cast<Starting>(next % kNumStartings) : chosen; }
  /// The time of a run that was started that way.
  void add(double ms);

private:
  void choose();

  std::string key, what;
  Starting chosen;
  TuningNote note;
  int next = 0;
  std::array<std::vector<double>, kNumStartings> times;
};

}  // namespace hector::exec
