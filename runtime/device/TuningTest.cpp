#include "runtime/device/Tuning.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "runtime/jit/Cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::exec;

namespace {

class TuningTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    cache.emplace("HECTOR_CACHE", path("cache").c_str());
  }

  Tuning make(Starting usual = Starting::Chained) {
    return Tuning(kKey, "rgcn (forward)", usual, [this](const std::string &note) { notes.push_back(note); });
  }
  /// Has each way take its time in all rounds, and a hundred times that in the first.
  void measure(Tuning &tuning, double plain, double chained, double branched) {
    for (int run = 0; run < kTuningRuns; ++run) {
      ASSERT_TRUE(tuning.isMeasuring());
      const double ms = tuning.way() == Starting::Plain     ? plain
                        : tuning.way() == Starting::Chained ? chained
                                                            : branched;
      tuning.add(run < kNumStartings ? 100 * ms : ms);
    }
    EXPECT_FALSE(tuning.isMeasuring());
  }
  std::string keptPath() const { return path("cache/code/tuned-") + kKey + ".txt"; }

  const std::string kKey = "0123456789abcdef0123456789abcdef";
  std::optional<Setting> cache;
  std::vector<std::string> notes;
};

}  // namespace

TEST_F(TuningTest, TheFastestWayIsTakenAndKept) {
  Tuning tuning = make();
  measure(tuning, 3, 2, 1);
  EXPECT_EQ(tuning.way(), Starting::Branched);
  EXPECT_EQ(notes,
            (std::vector<std::string>{
                "rgcn (forward): replayed launches side by side 1 ms (launches one by one 3 ms, replayed launches "
                "in a row 2 ms); kept in " +
                keptPath()}));
  notes.clear();
  const Tuning again = make();
  EXPECT_FALSE(again.isMeasuring());
  EXPECT_EQ(again.way(), Starting::Branched);
  EXPECT_EQ(notes, (std::vector<std::string>{"rgcn (forward): replayed launches side by side, as measured before (" +
                                             keptPath() + ")"}));
}

TEST_F(TuningTest, WhatIsHardlyFasterChangesNothing) {
  Tuning tuning = make(Starting::Chained);
  measure(tuning, 3, 1, 0.99);
  EXPECT_EQ(tuning.way(), Starting::Chained);
}

TEST_F(TuningTest, DamagedAndOldFilesAreIgnoredWithANote) {
  Tuning first = make();
  measure(first, 1, 2, 3);
  const std::vector<std::string> expected = {
      keptPath() + " is damaged, or of another version; it is ignored, and rgcn (forward) is measured again"};
  // Sealed, but from another version; then without its seal.
  const std::string old = "tuning 0 plain\n";
  ASSERT_TRUE(CodeCache::open()->insert(CodeCache::tuningName(kKey), std::as_bytes(std::span(old))).isOk());
  for (int round : {0, 1}) {
    notes.clear();
    EXPECT_TRUE(make().isMeasuring()) << round;
    EXPECT_EQ(notes, expected) << round;
    std::ofstream(keptPath()) << "tuning 1 plain\n";
  }
  notes.clear();
  Tuning again = make();
  measure(again, 1, 2, 3);
  EXPECT_EQ(make().way(), Starting::Plain);
}

TEST_F(TuningTest, ClearingTheCacheForgets) {
  Tuning tuning = make();
  measure(tuning, 1, 2, 3);
  ASSERT_TRUE(clearCache());
  EXPECT_TRUE(make().isMeasuring());
}
