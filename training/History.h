/// What happened in each epoch: as lines of JSON, and as a picture.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hector::training {

struct EpochRecord {
  int64_t epoch = 0;  // counted from 1
  double loss = 0;
  double rate = 0;     // the learning rate
  double seconds = 0;  // of the epoch's step; without the look at the metrics
  /// What was measured after it, by name: "train.accuracy", "valid.accuracy", "valid.mrr". Empty where nobody looked.
  std::map<std::string, double> metrics;

  bool operator==(const EpochRecord &) const = default;
};

/// One line of JSON without its end, such as {"epoch": 1, "loss": 1.386, "rate": 0.01, "seconds": 0.012,
/// "train.accuracy": 0.25}. Numbers are written so that reading gives the same bits; NaN and inf are null.
std::string formatRecord(const EpochRecord &record);
Result<EpochRecord> parseRecord(const std::string &line);
/// Records, one line each.
std::string formatHistory(std::span<const EpochRecord> records);
Result<std::vector<EpochRecord>> parseHistory(const std::string &text);

/// A picture in SVG: the loss (left axis) and the metrics whose names end in `metric` (right axis, 0 to 1), by epoch.
std::string drawHistory(std::span<const EpochRecord> records, const std::string &metric, const std::string &title);

}  // namespace hector::training
