#include "training/Metrics.h"

#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tuple>

namespace hector::training {

namespace {

/// Harmonic mean of precision and recall; 0 where both are 0 or unknown.
double f1(int64_t right, int64_t actual, int64_t predicted) {
  return actual + predicted > 0 ? 2 * static_cast<double>(right) / static_cast<double>(actual + predicted) : 0;
}

/// What is known of one class.
struct ClassCounts {
  int64_t right = 0, actual = 0, predicted = 0;

  bool isSeen() const { return actual + predicted > 0; }
};

double meanF1(std::span<const ClassCounts> classes) {
  double sum = 0;
  int64_t seen = 0;
  for (const ClassCounts &c : classes)
    if (c.isSeen()) {
      sum += f1(c.right, c.actual, c.predicted);
      ++seen;
    }
  return seen > 0 ? sum / static_cast<double>(seen) : 0;
}

std::vector<ClassCounts> classCounts(const Confusion &confusion) {
  const int64_t n = confusion.numClasses;
  std::vector<ClassCounts> classes(static_cast<size_t>(n));
  for (int64_t truth = 0; truth < n; ++truth)
    for (int64_t predicted = 0; predicted < n; ++predicted) {
      const int64_t count = confusion.counts[truth * n + predicted];
      classes[truth].actual += count;
      classes[predicted].predicted += count;
      if (truth == predicted)
        classes[truth].right = count;
    }
  return classes;
}

constexpr int64_t kMaxColumns = 12;   // of classes in a table
constexpr size_t kMaxNameWidth = 20;  // characters of a class name
constexpr size_t kMaxMistakes = 10;

size_t widthOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string leftAligned(std::string text, size_t width) {
  return text.append(width - std::min(width, widthOf(text)), ' ');
}

std::string rightAligned(const std::string &text, size_t width) {
  return std::string(width - std::min(width, widthOf(text)), ' ') + text;
}

/// A share in percent: "93.8", or "-" of nothing.
std::string percent(int64_t part, int64_t whole) {
  if (whole == 0)
    return "-";
  char text[16];
  std::snprintf(text, sizeof(text), "%.1f", 100 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

/// A name without what would upset a terminal, and cut to fit a table. Addresses keep their end, which tells them
/// apart.
std::string shortName(const std::string &name) {
  std::string text = inTicks(name);
  text = text.substr(1, text.size() - 2);
  if (widthOf(text) <= kMaxNameWidth)
    return text;
  if (const size_t end = name.find_last_not_of("/#"); name.find("://") != std::string::npos && end != std::string::npos)
    if (const size_t start = name.find_last_of("/#", end); start != std::string::npos)
      return shortName(name.substr(start + 1, end - start));
  while (widthOf(text) >= kMaxNameWidth)
    text.pop_back();
  return text + "…";
}

/// Number and name of each class, such as "3 Person"; the number alone where classes have no names.
std::vector<std::string> classTitles(int64_t numClasses, std::span<const std::string> names) {
  std::vector<std::string> titles;
  const size_t numberWidth = std::to_string(std::max<int64_t>(0, numClasses - 1)).size();
  for (int64_t c = 0; c < numClasses; ++c) {
    titles.push_back(rightAligned(std::to_string(c), numberWidth));
    if (c < static_cast<int64_t>(names.size()))
      titles.back() += " " + shortName(names[c]);
  }
  return titles;
}

/// Lines of cells: the first cell of a line is left-aligned, the others are right-aligned.
class Table {
public:
  void addLine(std::vector<std::string> cells) { lines.push_back(std::move(cells)); }

  std::string format() const {
    std::vector<size_t> widths;
    for (const auto &cells : lines) {
      widths.resize(std::max(widths.size(), cells.size()));
      for (size_t i = 0; i < cells.size(); ++i)
        widths[i] = std::max(widths[i], widthOf(cells[i]));
    }
    std::string text;
    for (const auto &cells : lines) {
      for (size_t i = 0; i < cells.size(); ++i)
        text += i == 0 ? leftAligned(cells[0], widths[0]) : "  " + rightAligned(cells[i], widths[i]);
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> lines;
};

/// A line per true class, and a column per prediction; these are equally wide.
std::string formatMatrix(const Confusion &confusion, std::span<const ClassCounts> classes,
                         std::span<const std::string> titles) {
  const int64_t n = confusion.numClasses;
  Table table;
  std::vector<std::string> header = {"truth \\ predicted"}, footer = {"precision %"};
  size_t width = std::string_view("100.0").size();
  for (int64_t count : confusion.counts)
    width = std::max(width, std::to_string(count).size());
  for (int64_t c = 0; c < n; ++c) {
    header.push_back(rightAligned(std::to_string(c), width));
    footer.push_back(percent(classes[c].right, classes[c].predicted));
  }
  header.push_back("recall %");
  table.addLine(std::move(header));
  for (int64_t truth = 0; truth < n; ++truth) {
    std::vector<std::string> line = {titles[truth]};
    for (int64_t predicted = 0; predicted < n; ++predicted)
      line.push_back(std::to_string(confusion.counts[truth * n + predicted]));
    line.push_back(percent(classes[truth].right, classes[truth].actual));
    table.addLine(std::move(line));
  }
  table.addLine(std::move(footer));
  return table.format();
}

/// A line per class that has a node or a prediction.
std::string formatClasses(std::span<const ClassCounts> classes, std::span<const std::string> titles) {
  Table table;
  table.addLine({"class", "nodes", "predicted", "recall %", "precision %"});
  for (size_t c = 0; c < classes.size(); ++c) {
    const auto [right, actual, predicted] = classes[c];
    if (classes[c].isSeen())
      table.addLine({titles[c], std::to_string(actual), std::to_string(predicted), percent(right, actual),
                     percent(right, predicted)});
  }
  std::string text = table.format();
  const auto unseen = std::count_if(classes.begin(), classes.end(), [](const ClassCounts &c) { return !c.isSeen(); });
  if (unseen > 0)
    text += "not listed: " + counted(unseen, "class", "classes") + " without a node or a prediction\n";
  return text;
}

std::string formatMistakes(const Confusion &confusion, std::span<const std::string> titles) {
  struct Mistake {
    int64_t count, truth, predicted;
  };
  const int64_t n = confusion.numClasses;
  std::vector<Mistake> mistakes;
  for (int64_t truth = 0; truth < n; ++truth)
    for (int64_t predicted = 0; predicted < n; ++predicted)
      if (const int64_t count = confusion.counts[truth * n + predicted]; truth != predicted && count > 0)
        mistakes.push_back({count, truth, predicted});
  if (mistakes.empty())
    return "";
  std::sort(mistakes.begin(), mistakes.end(), [](const Mistake &a, const Mistake &b) {
    return std::tuple(-a.count, a.truth, a.predicted) < std::tuple(-b.count, b.truth, b.predicted);
  });
  mistakes.resize(std::min(mistakes.size(), kMaxMistakes));
  size_t width = 0, countWidth = std::to_string(mistakes[0].count).size();
  for (const Mistake &mistake : mistakes)
    width = std::max(width, widthOf(titles[mistake.truth]));
  std::string text = "\nmost frequent mistakes (nodes, truth, prediction):\n";
  for (const auto &[count, truth, predicted] : mistakes)
    text += "  " + rightAligned(std::to_string(count), countWidth) + "  " + leftAligned(titles[truth], width) +
            "  as  " + titles[predicted] + "\n";
  return text;
}

}  // namespace

int64_t Confusion::total() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

double Confusion::accuracy() const {
  int64_t right = 0;
  for (int64_t c = 0; c < numClasses; ++c)
    right += counts[c * numClasses + c];
  const int64_t all = total();
  return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
}

double Confusion::macroF1() const {
  return meanF1(classCounts(*this));
}

std::vector<int64_t> predictedClasses(std::span<const float> scores, int64_t numClasses) {
  assert(numClasses > 0 && scores.size() % static_cast<size_t>(numClasses) == 0);
  std::vector<int64_t> predicted(scores.size() / static_cast<size_t>(numClasses));
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / numClasses);
  parallelFor(static_cast<int64_t>(predicted.size()), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::span<const float> mine = scores.subspan(row * numClasses, numClasses);
      const bool isFinite = std::all_of(mine.begin(), mine.end(), [](float score) { return std::isfinite(score); });
      predicted[row] = isFinite ? std::max_element(mine.begin(), mine.end()) - mine.begin() : -1;
    }
  });
  return predicted;
}

Confusion confusionOf(std::span<const int64_t> labels, std::span<const int64_t> predicted, int64_t numClasses) {
  assert(labels.size() == predicted.size());
  Confusion confusion{numClasses, std::vector<int64_t>(static_cast<size_t>(numClasses * numClasses))};
  for (size_t i = 0; i < labels.size(); ++i)
    if (predicted[i] >= 0)
      ++confusion.counts[labels[i] * numClasses + predicted[i]];
  return confusion;
}

ClassScore classScore(std::span<const int64_t> labels, std::span<const int64_t> predicted, int64_t numClasses) {
  assert(labels.size() == predicted.size());
  std::vector<ClassCounts> classes(static_cast<size_t>(numClasses));
  int64_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    ++classes[labels[i]].actual;
    if (predicted[i] < 0)
      continue;
    ++classes[predicted[i]].predicted;
    if (predicted[i] == labels[i]) {
      ++classes[labels[i]].right;
      ++right;
    }
  }
  const auto total = static_cast<double>(labels.size());
  return {.accuracy = labels.empty() ? 0 : static_cast<double>(right) / total, .macroF1 = meanF1(classes)};
}

MultiLabelScore multiLabelScore(std::span<const float> scores, std::span<const float> targets, int64_t numClasses) {
  assert(scores.size() == targets.size() && numClasses > 0);
  std::vector<ClassCounts> classes(static_cast<size_t>(numClasses));
  for (size_t first = 0; first < scores.size(); first += classes.size())
    for (size_t c = 0; c < classes.size(); ++c) {
      const bool isTrue = targets[first + c] > 0.5f, isPredicted = scores[first + c] > 0;
      classes[c].right += isTrue && isPredicted;
      classes[c].actual += isTrue;
      classes[c].predicted += isPredicted;
    }
  ClassCounts all;
  for (const auto &[right, actual, predicted] : classes) {
    all.right += right;
    all.actual += actual;
    all.predicted += predicted;
  }
  return {.microF1 = f1(all.right, all.actual, all.predicted), .macroF1 = meanF1(classes)};
}

std::string formatConfusion(const Confusion &confusion, std::span<const std::string> names) {
  const std::vector<ClassCounts> classes = classCounts(confusion);
  const std::vector<std::string> titles = classTitles(confusion.numClasses, names);
  if (confusion.numClasses <= kMaxColumns)
    return formatMatrix(confusion, classes, titles);
  return formatClasses(classes, titles) + formatMistakes(confusion, titles);
}

}  // namespace hector::training
