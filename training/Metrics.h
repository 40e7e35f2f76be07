/// How good predictions are. Nothing here trains.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hector::training {

/// Predictions of classes against the truth, for nodes of one class each.
struct Confusion {
  int64_t numClasses = 0;
  std::vector<int64_t> counts;  // counts[truth * numClasses + predicted]

  int64_t total() const;
  double accuracy() const;  // of the nodes in the table; equals micro-F1, as every node has one class
  double macroF1() const;   // mean over classes that have a node or a prediction
};

/// The class with the largest number in each row of `scores` (`numClasses` to a row); the first of equals. A row with
/// NaN or an infinity has no class: -1.
std::vector<int64_t> predictedClasses(std::span<const float> scores, int64_t numClasses);

/// Counts the nodes listed. `labels` and `predicted` have one entry per node listed, in that order. Nodes whose
/// prediction is -1 are left out.
Confusion confusionOf(std::span<const int64_t> labels, std::span<const int64_t> predicted, int64_t numClasses);

/// The most classes for which programs make a `Confusion`, which has a count for each pair of them.
inline constexpr int64_t kMostConfusionClasses = 1024;

/// What `confusionOf` would give, without its table: for any number of classes. Here nodes whose prediction is -1 count
/// as wrong.
struct ClassScore {
  double accuracy = 0, macroF1 = 0;
};
ClassScore classScore(std::span<const int64_t> labels, std::span<const int64_t> predicted, int64_t numClasses);

/// Nodes of several classes each: `targets` and `scores` have a row per node, a class is predicted where its score is
/// above 0 (never where it is NaN), and true where its target is above 0.5. The mean over classes leaves out those
/// without a node or a prediction.
struct MultiLabelScore {
  double microF1 = 0, macroF1 = 0;
};
MultiLabelScore multiLabelScore(std::span<const float> scores, std::span<const float> targets, int64_t numClasses);

/// A confusion table for a terminal, with the names of classes (or numbers where there are none), recall and precision.
/// Wide tables list the most frequent mistakes instead of all columns.
std::string formatConfusion(const Confusion &confusion, std::span<const std::string> names);

}  // namespace hector::training
