#include "training/History.h"

#include "runtime/base/Drawing.h"
#include "runtime/base/Text.h"
#include "training/Number.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace hector::training {

namespace {

using Json = nlohmann::json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string numberText(double number) {
  if (!std::isfinite(number))
    return "null";
  // JSON has no whole number below 0 that is 0.
  return number == 0 && std::signbit(number) ? "-0.0" : formatNumber(number);
}

Status unexpected(const std::string &key, const Json &value, const std::string &expected) {
  return Status::invalid(inTicks(key) + " is " + inTicks(dump(value)) + "; expected " + expected);
}

}  // namespace

std::string formatRecord(const EpochRecord &record) {
  std::string line = "{\"epoch\": " + std::to_string(record.epoch) + ", \"loss\": " + numberText(record.loss) +
                     ", \"rate\": " + numberText(record.rate) + ", \"seconds\": " + numberText(record.seconds);
  for (const auto &[name, value] : record.metrics)
    line += ", " + dump(name) + ": " + numberText(value);
  return line + "}";
}

Result<EpochRecord> parseRecord(const std::string &line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status::invalid(inTicks(line) + " is no record of an epoch; expected an object of JSON, such as {\"epoch\": "
                                           "1, \"loss\": 1.386, \"rate\": 0.01, \"seconds\": 0.012}");
  EpochRecord record;
  for (const std::string key : {"epoch", "loss", "rate", "seconds"})
    if (!json.contains(key))
      return Status::invalid("a record of an epoch has no " + inTicks(key) +
                             "; expected epoch, loss, rate and seconds");
  for (const auto &[key, value] : json.items()) {
    if (key == "epoch") {
      if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<int64_t>::max())
        return unexpected(key, value, "a whole number");
      record.epoch = value.get<int64_t>();
      continue;
    }
    if (!value.is_number() && !value.is_null())
      return unexpected(key, value, "a number or null");
    const double number = value.is_null() ? kNan : value.get<double>();
    if (key == "loss")
      record.loss = number;
    else if (key == "rate")
      record.rate = number;
    else if (key == "seconds")
      record.seconds = number;
    else
      record.metrics[key] = number;
  }
  return record;
}

std::string formatHistory(std::span<const EpochRecord> records) {
  std::string text;
  for (const EpochRecord &record : records)
    text += formatRecord(record) + "\n";
  return text;
}

Result<std::vector<EpochRecord>> parseHistory(const std::string &text) {
  std::vector<EpochRecord> records;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    auto record = parseRecord(line);
    if (!record)
      return std::move(record).status().during("line " + std::to_string(number));
    records.push_back(std::move(*record));
  }
  return records;
}

// --- the picture
// ------------------------------------------------------------------------------------------------------

namespace {

constexpr double kWidth = 860, kHeight = 446;
constexpr double kLeft = 72, kRight = kWidth - 60, kTop = 100, kBottom = kHeight - 52;
constexpr int kIntervals = 5;  // of both axes, so that they share their lines
constexpr const char *kLossColour = Drawing::kBlue;

std::string tickText(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

/// The smallest of `steps`, times a power of ten, that is not below `value`. The steps start at 1 and rise.
double roundUp(double value, std::initializer_list<double> steps) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (double step : steps)
    if (step * power >= value * (1 - 1e-9))
      return step * power;
  return 10 * power;
}

double nextLossStep(double value) {
  return roundUp(value, {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8});
}

/// Places numbers between the bottom and the top of the picture.
struct Axis {
  double first = 0, last = 1;  // logarithms if the scale is logarithmic
  bool isLog = false;
  std::vector<double> ticks;

  double place(double value) const {
    const double at = isLog ? std::log10(value) : value;
    return kBottom - std::clamp((at - first) / (last - first), 0.0, 1.0) * (kBottom - kTop);
  }
};

/// An axis for values from `min` to `max`; logarithmic if they are positive and span more than two decades.
Axis axisFor(double min, double max) {
  Axis axis;
  axis.isLog = min > 0 && max / min > 100;
  if (axis.isLog) {
    axis.first = std::floor(std::log10(min));
    axis.last = std::ceil(std::log10(max));
    const double every = std::ceil((axis.last - axis.first) / 6);
    for (double tick = axis.first; tick <= axis.last; tick += every)
      axis.ticks.push_back(std::pow(10, tick));
    return axis;
  }
  // So that no difference overflows.
  constexpr double kMost = 1e300;
  min = std::clamp(min, -kMost, kMost);
  max = std::clamp(max, -kMost, kMost);
  // Only values that differ little get an axis without 0.
  const bool isOne = max - min <= 1e-9 * std::max(std::abs(min), std::abs(max));
  if (isOne ? min > 0 : min >= 0 && min < 0.3 * max)
    min = 0;
  else if (isOne)
    max = min < 0 ? 0 : 1;
  double step = nextLossStep((max - min) / kIntervals);
  while (std::floor(min / step) * step + kIntervals * step < max)
    step = nextLossStep(step * 1.01);
  axis.first = std::floor(min / step) * step;
  axis.last = axis.first + kIntervals * step;
  for (int i = 0; i <= kIntervals; ++i)
    axis.ticks.push_back(std::round(axis.first / step + i) * step + 0.0);  // + 0.0: never "-0"
  return axis;
}

/// A value of an epoch; a value that is not a number is a gap in the curve.
struct Sample {
  double epoch, value;
};

/// Draws a curve. Of the samples of one column of the picture only the lowest and the highest are kept, so that
/// thousands of epochs give a small file that still shows every peak.
void drawCurve(Drawing &d, const std::vector<Sample> &samples, auto place, const Axis &axis, const char *colour) {
  constexpr double kColumn = 1.5;
  std::vector<Drawing::Point> points;
  auto finish = [&] {
    if (points.size() == 1)
      d.dot(points[0].x, points[0].y, 3, colour);
    else if (!points.empty())
      d.path(points, colour, 1.8);
    points.clear();
  };
  for (size_t i = 0; i < samples.size();) {
    const double x = place(samples[i].epoch);
    const Sample *low = nullptr, *high = nullptr;
    for (; i < samples.size() && place(samples[i].epoch) < x + kColumn; ++i) {
      if (!std::isfinite(samples[i].value))
        continue;
      if (!low || samples[i].value < low->value)
        low = &samples[i];
      if (!high || samples[i].value > high->value)
        high = &samples[i];
    }
    if (!low) {
      finish();
      continue;
    }
    // In the order of epochs.
    if (high < low)
      std::swap(low, high);
    points.push_back({place(low->epoch), axis.place(low->value)});
    if (low != high)
      points.push_back({place(high->epoch), axis.place(high->value)});
  }
  finish();
}

/// Names that end in `metric`: those of training first, then validation, test and others.
std::vector<std::string> curvesOf(std::span<const EpochRecord> records, const std::string &metric) {
  std::set<std::string> found;
  for (const EpochRecord &record : records)
    for (const auto &[name, value] : record.metrics)
      if (name.ends_with(metric))
        found.insert(name);
  std::vector<std::string> names(found.begin(), found.end());
  auto rank = [](const std::string &name) {
    constexpr std::array<std::string_view, 3> kFirst = {"train.", "valid.", "test."};
    return std::find_if(kFirst.begin(), kFirst.end(), [&](std::string_view start) { return name.starts_with(start); }) -
           kFirst.begin();
  };
  std::sort(names.begin(), names.end(), [&](const std::string &a, const std::string &b) {
    return std::pair(rank(a), std::string_view(a)) < std::pair(rank(b), std::string_view(b));
  });
  return names;
}

}  // namespace

std::string drawHistory(std::span<const EpochRecord> records, const std::string &metric, const std::string &title) {
  constexpr std::array<const char *, 4> kColours = {Drawing::kOrange, Drawing::kGreen, Drawing::kPurple, Drawing::kRed};
  std::vector<const EpochRecord *> order;
  for (const EpochRecord &record : records)
    order.push_back(&record);
  std::sort(order.begin(), order.end(),
            [](const EpochRecord *a, const EpochRecord *b) { return std::pair(a->epoch, a) < std::pair(b->epoch, b); });

  std::vector<Sample> losses;
  double min = std::numeric_limits<double>::infinity(), max = -min;
  for (const EpochRecord *record : order) {
    losses.push_back({static_cast<double>(record->epoch), record->loss});
    if (std::isfinite(record->loss)) {
      min = std::min(min, record->loss);
      max = std::max(max, record->loss);
    }
  }
  const bool hasLoss = min <= max;
  const Axis lossAxis = hasLoss ? axisFor(min, max) : Axis();
  Axis metricAxis;
  for (int i = 0; i <= kIntervals; ++i)
    metricAxis.ticks.push_back(static_cast<double>(i) / kIntervals);

  Drawing d;
  d.text(24, 34, title, {18, Drawing::kText, "start", true});

  // The legend.
  const std::vector<std::string> curves = curvesOf(records, metric);
  double x = 30;
  auto legend = [&](const std::string &name, const char *colour) {
    d.dot(x, 56, 5, colour);
    d.text(x + 10, 60, name, {12, Drawing::kSoft});
    x += 32 + 6.5 * static_cast<double>(name.size());
  };
  legend("loss", kLossColour);
  for (size_t i = 0; i < curves.size(); ++i)
    legend(curves[i], kColours[i % kColours.size()]);

  // The axes of loss and metric.
  if (hasLoss)
    for (double tick : lossAxis.ticks) {
      d.line(kLeft, lossAxis.place(tick), kRight, lossAxis.place(tick), Drawing::kGrid);
      d.text(kLeft - 8, lossAxis.place(tick) + 4, tickText(tick), {11, Drawing::kSoft, "end"});
    }
  d.text(24, kTop - 14, lossAxis.isLog ? "loss (log scale)" : "loss", {11, Drawing::kSoft});
  if (!curves.empty()) {
    for (double tick : metricAxis.ticks) {
      d.line(kRight, metricAxis.place(tick), kRight + 4, metricAxis.place(tick), Drawing::kSoft);
      d.text(kRight + 8, metricAxis.place(tick) + 4, tickText(tick), {11, Drawing::kSoft});
    }
    d.text(kWidth - 24, kTop - 14, metric, {11, Drawing::kSoft, "end"});
  }

  // The axis of epochs.
  d.line(kLeft, kBottom, kRight, kBottom, Drawing::kSoft);
  d.text((kLeft + kRight) / 2, kBottom + 36, "epoch", {11, Drawing::kSoft, "middle"});
  if (order.empty()) {
    d.text((kLeft + kRight) / 2, (kTop + kBottom) / 2, "no epochs yet", {13, Drawing::kSoft, "middle"});
    return d.finish(kWidth, kHeight, title);
  }
  const double first = static_cast<double>(order.front()->epoch), last = static_cast<double>(order.back()->epoch);
  auto place = [&](double epoch) {
    return last > first ? kLeft + (epoch - first) / (last - first) * (kRight - kLeft) : (kLeft + kRight) / 2;
  };
  const double step = std::max(1.0, roundUp(std::max(1.0, last - first) / 8, {1, 2, 5}));
  auto tick = [&](double epoch) {
    d.line(place(epoch), kBottom, place(epoch), kBottom + 4, Drawing::kSoft);
    d.text(place(epoch), kBottom + 18, tickText(epoch), {11, Drawing::kSoft, "middle"});
  };
  const double round = std::ceil(first / step) * step;
  if (round - first > step / 2 || round > last)
    tick(first);
  for (int i = 0; i < 10 && round + i * step <= last; ++i)
    tick(round + i * step);

  // Where the loss is first no number, training went wrong.
  for (const Sample &sample : losses)
    if (!std::isfinite(sample.value)) {
      const double at = place(sample.epoch);
      const bool isRight = at > (kLeft + kRight) / 2;
      d.line(at, kTop, at, kBottom, Drawing::kRed);
      d.text(isRight ? at - 6 : at + 6, kTop + 12, "the loss is not a number",
             {11, Drawing::kRed, isRight ? "end" : "start"});
      break;
    }
  if (hasLoss)
    drawCurve(d, losses, place, lossAxis, kLossColour);
  for (size_t i = 0; i < curves.size(); ++i) {
    std::vector<Sample> samples;
    for (const EpochRecord *record : order)
      if (auto found = record->metrics.find(curves[i]); found != record->metrics.end())
        samples.push_back({static_cast<double>(record->epoch), found->second});
    drawCurve(d, samples, place, metricAxis, kColours[i % kColours.size()]);
  }
  return d.finish(kWidth, kHeight, title);
}

}  // namespace hector::training
