#include "training/Metrics.h"

#include "runtime/base/Parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace hector::training {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(PredictedClasses, AreThoseWithTheLargestScore) {
  EXPECT_EQ(predictedClasses(Floats{1, 3, 2, -5, -7, -6}, 3), (Ids{1, 0}));
}

TEST(PredictedClasses, AreTheFirstOfEquals) {
  EXPECT_EQ(predictedClasses(Floats{0, 2, 2, -1, -1, -1}, 3), (Ids{1, 0}));
}

TEST(PredictedClasses, AreMissingWhereAScoreIsNotFinite) {
  EXPECT_EQ(predictedClasses(Floats{kNan, 1, 1, kNan, 1, kInfinity, 2, 1}, 2), (Ids{-1, -1, -1, 0}));
}

TEST(PredictedClasses, DoNotDependOnThreads) {
  Floats scores(3 * 100'000);
  for (size_t i = 0; i < scores.size(); ++i)
    scores[i] = static_cast<float>(i * 2654435761 % 1000);
  ThreadLimit one(1);
  const Ids predicted = predictedClasses(scores, 3);
  ThreadLimit many(7);
  EXPECT_EQ(predictedClasses(scores, 3), predicted);
}

TEST(Confusion, CountsByTruthAndPrediction) {
  const Confusion confusion = confusionOf(Ids{0, 0, 1, 2, 2}, Ids{0, 1, 1, 0, 0}, 3);
  EXPECT_EQ(confusion.counts, (Ids{1, 1, 0, 0, 1, 0, 2, 0, 0}));
  EXPECT_EQ(confusion.total(), 5);
}

TEST(Confusion, NodesWithoutAPredictionAreLeftOut) {
  const Confusion confusion = confusionOf(Ids{0, 2, 1}, Ids{-1, -1, 1}, 3);
  EXPECT_EQ(confusion.counts, (Ids{0, 0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(Confusion, AccuracyIsTheShareOfRightPredictions) {
  EXPECT_DOUBLE_EQ(confusionOf(Ids{0, 0, 1, 2, 2}, Ids{0, 1, 1, 0, 0}, 3).accuracy(), 0.4);
}

TEST(Confusion, MacroF1IsTheMeanOverClasses) {
  // Class 0: right 1 of 2, of 3 predicted. Class 1: right 1 of 1, of 2 predicted. Class 2: none of 2.
  EXPECT_DOUBLE_EQ(confusionOf(Ids{0, 0, 1, 2, 2}, Ids{0, 1, 1, 0, 0}, 3).macroF1(), (2.0 / 5 + 2.0 / 3 + 0) / 3);
}

TEST(Confusion, MacroF1LeavesOutClassesThatDoNotOccur) {
  EXPECT_DOUBLE_EQ(confusionOf(Ids{0, 1}, Ids{0, 1}, 5).macroF1(), 1);
}

TEST(Confusion, OfNoNodesIsZero) {
  const Confusion confusion = confusionOf({}, {}, 3);
  EXPECT_EQ(confusion.total(), 0);
  EXPECT_EQ(confusion.accuracy(), 0);
  EXPECT_EQ(confusion.macroF1(), 0);
}

TEST(ClassScore, IsThatOfTheConfusion) {
  const Ids labels = {0, 0, 1, 2, 2, 1}, predicted = {0, 1, 1, 0, 2, 3};
  const ClassScore score = classScore(labels, predicted, 4);
  const Confusion confusion = confusionOf(labels, predicted, 4);
  EXPECT_EQ(score.accuracy, confusion.accuracy());
  EXPECT_EQ(score.macroF1, confusion.macroF1());
}

TEST(ClassScore, NodesWithoutAPredictionAreWrong) {
  const ClassScore score = classScore(Ids{0, 1, 1, 0}, Ids{0, -1, 1, 0}, 2);
  EXPECT_DOUBLE_EQ(score.accuracy, 0.75);
  // Class 1: right 1 of 2, of 1 predicted.
  EXPECT_DOUBLE_EQ(score.macroF1, (1 + 2.0 / 3) / 2);
  EXPECT_EQ(classScore(Ids{0, 0}, Ids{-1, -1}, 1).accuracy, 0);
}

TEST(ClassScore, NeedsNoTableOfAllPairsOfClasses) {
  const ClassScore score = classScore(Ids{0, 999'999}, Ids{0, 1}, 1'000'000);
  EXPECT_DOUBLE_EQ(score.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(score.macroF1, 1.0 / 3);
}

TEST(ClassScore, OfNoNodesIsZero) {
  EXPECT_EQ(classScore({}, {}, 3).accuracy, 0);
}

TEST(MultiLabelScore, CountsScoresAbove0) {
  // Right 2 of 3 true ones, and 3 are predicted. By class: 1 of 1 with 2 predicted; 1 of 2 with 1 predicted.
  const MultiLabelScore score = multiLabelScore(Floats{1, 2, 3, 0}, Floats{1, 1, 0, 1}, 2);
  EXPECT_DOUBLE_EQ(score.microF1, 2.0 * 2 / (3 + 3));
  EXPECT_DOUBLE_EQ(score.macroF1, (2.0 / 3 + 2.0 / 3) / 2);
}

TEST(MultiLabelScore, LeavesOutClassesThatDoNotOccur) {
  EXPECT_DOUBLE_EQ(multiLabelScore(Floats{1, -1, -1}, Floats{1, 0, 0}, 3).macroF1, 1);
}

TEST(MultiLabelScore, NanIsNoPrediction) {
  const MultiLabelScore score = multiLabelScore(Floats{kNan, 1}, Floats{1, 1}, 1);
  EXPECT_DOUBLE_EQ(score.microF1, 2.0 / 3);
}

TEST(MultiLabelScore, OfNothingIsZero) {
  const MultiLabelScore score = multiLabelScore(Floats{-1, -1}, Floats{0, 0}, 2);
  EXPECT_EQ(score.microF1, 0);
  EXPECT_EQ(score.macroF1, 0);
}

Confusion small() {
  return {3, {1200, 3, 0, 0, 45, 15, 0, 0, 0}};
}

TEST(FormatConfusion, ShowsEveryPairOfClasses) {
  EXPECT_EQ(formatConfusion(small(), Names{"paper", "author", "field"}),
            R"(truth \ predicted      0      1      2  recall %
0 paper             1200      3      0      99.8
1 author               0     45     15      75.0
2 field                0      0      0         -
precision %        100.0   93.8    0.0
)");
}

TEST(FormatConfusion, NumbersClassesWithoutNames) {
  EXPECT_EQ(formatConfusion(small(), {}), R"(truth \ predicted      0      1      2  recall %
0                   1200      3      0      99.8
1                      0     45     15      75.0
2                      0      0      0         -
precision %        100.0   93.8    0.0
)");
}

/// The lines of two classes, up to their counts.
std::string shownNames(const std::string &first, const std::string &second) {
  const std::string text = formatConfusion({2, {1, 0, 0, 1}}, Names{first, second});
  std::string shown;
  for (std::string_view start : {"\n0 ", "\n1 "}) {
    const size_t begin = text.find(start) + start.size();
    shown += text.substr(begin, text.find("  ", begin) - begin) + "|";
  }
  return shown;
}

TEST(FormatConfusion, ShortensNames) {
  EXPECT_EQ(shownNames("größte größte größte größte", "größte größte größte"),
            "größte größte größt…|größte größte größte|");
}

TEST(FormatConfusion, ShowsTheEndOfAddresses) {
  EXPECT_EQ(shownNames("http://www.example.org/type#Person", "http://www.example.org/an/article/"), "Person|article|");
}

TEST(FormatConfusion, EscapesOddBytes) {
  EXPECT_EQ(shownNames("a\nb", "\x1b[31mc"), "a\\x0ab|\\x1b[31mc|");
}

/// Thirteen classes, of which class 12 does not occur. Class 3 is taken for class 4 twice, all others are right.
Confusion large() {
  Confusion confusion{13, Ids(13 * 13)};
  for (int64_t c = 0; c < 12; ++c)
    confusion.counts[c * 13 + c] = 10;
  confusion.counts[3 * 13 + 4] = 2;
  confusion.counts[11 * 13 + 0] = 1;
  return confusion;
}

TEST(FormatConfusion, ListsClassesAndMistakesOfLargeTables) {
  EXPECT_EQ(formatConfusion(large(), Names{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}),
            R"(class  nodes  predicted  recall %  precision %
 0 a      10         11     100.0         90.9
 1 b      10         10     100.0        100.0
 2 c      10         10     100.0        100.0
 3 d      12         10      83.3        100.0
 4 e      10         12     100.0         83.3
 5 f      10         10     100.0        100.0
 6 g      10         10     100.0        100.0
 7 h      10         10     100.0        100.0
 8 i      10         10     100.0        100.0
 9 j      10         10     100.0        100.0
10 k      10         10     100.0        100.0
11 l      11         10      90.9        100.0
not listed: 1 class without a node or a prediction

most frequent mistakes (nodes, truth, prediction):
  2   3 d  as   4 e
  1  11 l  as   0 a
)");
}

TEST(FormatConfusion, ListsTenMistakesAtMost) {
  Confusion confusion = {20, Ids(400, 1)};
  const std::string text = formatConfusion(confusion, {});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 20 + 2 + 10) << text;
}

TEST(FormatConfusion, ListsNoMistakesWhereThereAreNone) {
  Confusion confusion = {20, Ids(400)};
  confusion.counts[0] = 1;
  EXPECT_EQ(formatConfusion(confusion, {}).find("mistakes"), std::string::npos);
}

}  // namespace
}  // namespace hector::training
