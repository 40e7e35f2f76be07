#include "BenchReport.h"

#include "DataMakeInfo.h"
#include "runtime/base/Drawing.h"
#include "runtime/base/Parallel.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hector {

namespace {

constexpr size_t kNumberWidth = 9;

std::string padLeft(const std::string &text, size_t width) {
  const size_t count = characters(text);
  return count < width ? std::string(width - count, ' ') + text : text;
}

std::string padRight(const std::string &text, size_t width) {
  const size_t count = characters(text);
  return count < width ? text + std::string(width - count, ' ') : text;
}

std::string withDigits(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Three digits or so: "0.0123", "1.23", "123".
std::string shortNumber(double value) {
  return withDigits(value, value < 0.01 ? 5 : value < 0.1 ? 4 : value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

constexpr double kMebi = 1 << 20;

double perSecond(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

std::string formatColumn(BenchColumn column, const BenchResult &result) {
  const double median = result.quantile(0.5);
  switch (column) {
  case BenchColumn::Median:
    return shortNumber(median * 1e3);
  case BenchColumn::P95:
    return shortNumber(result.quantile(0.95) * 1e3);
  case BenchColumn::Min:
    return shortNumber(result.quantile(0) * 1e3);
  case BenchColumn::Prepare:
    return shortNumber(result.prepareSeconds * 1e3);
  case BenchColumn::First:
    return shortNumber(result.firstSeconds * 1e3);
  case BenchColumn::Bandwidth:
    return shortNumber(perSecond(result.predicted.bytes, median) / 1e9);
  case BenchColumn::Rate:
    return shortNumber(perSecond(result.predicted.operations, median) / 1e9);
  case BenchColumn::Peak:
    return shortNumber(static_cast<double>(result.peakBytes) / kMebi);
  case BenchColumn::Predicted:
    return shortNumber(result.predicted.seconds * 1e3);
  case BenchColumn::Error:
    return scientific(result.error);
  }
  return "";
}

std::string titleOf(BenchColumn column) {
  for (const BenchColumnInfo &info : benchColumns())
    if (info.column == column)
      return std::string(info.title);
  return "";
}

size_t widthOf(const std::string &title) {
  return std::max(kNumberWidth, title.size());
}

/// Why a row has no time.
std::string describeFailure(const BenchFile &file, const BenchResult &result) {
  if (!result.failure.empty())
    return "FAILED: " + firstLine(result.failure);
  return "WRONG: `" + result.worst + "` is off by " + scientific(result.error) + " of its largest number; at most " +
         scientific(file.rtol) + " is right";
}

const char *phaseText(exec::Phase phase) {
  switch (phase) {
  case exec::Phase::Graph:
    return "graph";
  case exec::Phase::Weights:
    return "weights";
  case exec::Phase::Forward:
    return "forward";
  case exec::Phase::Backward:
    return "backward";
  }
  return "";
}

}  // namespace

// --- the table ------------------------------------------------------------------------------------------------------

BenchTable::BenchTable(const BenchFile &file, bool hasMemory) : file(file), hasMemory(hasMemory) {
  for (const std::vector<BenchCell> &round : file.rounds)
    for (const BenchCell &cell : round)
      for (const auto &[name, value] : cell.swept)
        if (std::find(axes.begin(), axes.end(), name) == axes.end())
          axes.push_back(name);
  std::vector<std::string> titles = {"model", "graph", "phase"};
  titles.insert(titles.end(), axes.begin(), axes.end());
  for (const std::string &title : titles)
    widths.push_back(characters(title));
  for (const std::vector<BenchCell> &round : file.rounds)
    for (const BenchCell &cell : round) {
      const std::vector<std::string> texts = labels(cell);
      for (size_t i = 0; i < texts.size(); ++i)
        widths[i] = std::max(widths[i], characters(texts[i]));
    }
}

std::vector<std::string> BenchTable::labels(const BenchCell &cell) const {
  std::vector<std::string> texts = {file.models[cell.model].name, file.graphs[cell.graph].name,
                                    std::string(phaseName(cell.phase))};
  for (const std::string &axis : axes) {
    auto found =
        std::find_if(cell.swept.begin(), cell.swept.end(), [&](const auto &item) { return item.first == axis; });
    texts.push_back(found == cell.swept.end() ? "" : found->second);
  }
  return texts;
}

std::string BenchTable::header() const {
  std::vector<std::string> titles = {"model", "graph", "phase"};
  titles.insert(titles.end(), axes.begin(), axes.end());
  std::string text;
  for (size_t i = 0; i < titles.size(); ++i)
    text += padRight(titles[i], widths[i]) + "  ";
  for (BenchColumn column : file.report)
    text += padLeft(titleOf(column), widthOf(titleOf(column))) + "  ";
  if (hasMemory)
    text += padLeft("memory MiB", widthOf("memory MiB")) + "  ";
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string BenchTable::row(const BenchRow &row) const {
  const BenchResult &result = row.result;
  const std::vector<std::string> texts = labels(result.cell);
  std::string text;
  for (size_t i = 0; i < texts.size(); ++i)
    text += padRight(texts[i], widths[i]) + "  ";
  if (!result.failure.empty() || !result.isRight)
    return text + describeFailure(file, result) + "\n";
  for (BenchColumn column : file.report)
    text += padLeft(formatColumn(column, result), widthOf(titleOf(column))) + "  ";
  if (row.memoryBytes)
    text += padLeft(shortNumber(static_cast<double>(*row.memoryBytes) / kMebi), widthOf("memory MiB")) + "  ";
  else if (hasMemory)
    text += "FAILED: " + firstLine(row.memoryFailure);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

// --- kernels --------------------------------------------------------------------------------------------------------

std::string formatProfile(const BenchFile &file, const BenchResult &result) {
  size_t width = characters("kernel");
  double total = 0;
  for (const KernelProfile &kernel : result.kernels) {
    width = std::max(width, characters(kernel.name));
    total += kernel.seconds;
  }
  const char *const kTitles[] = {"ms",   "share",   "expected", "ratio",   "MB",
                                 "GB/s", "of peak", "MFLOP",    "GFLOP/s", "of peak"};
  std::string text = "  " + padRight("kernel", width) + "  " + padRight("phase", 8);
  for (const char *title : kTitles)
    text += padLeft(title, kNumberWidth);
  text += "\n";
  const double bandwidth = static_cast<double>(file.machine.bandwidth) * 1e9;
  for (const KernelProfile &kernel : result.kernels) {
    auto percent = [](double part) { return withDigits(100 * part, 0) + " %"; };
    std::vector<std::string> cells = {shortNumber(kernel.seconds * 1e3), percent(perSecond(kernel.seconds, total))};
    if (kernel.predicted) {
      const PredictedCost &cost = *kernel.predicted;
      cells.insert(cells.end(),
                   {shortNumber(cost.seconds * 1e3), shortNumber(perSecond(kernel.seconds, cost.seconds)),
                    shortNumber(cost.bytes / 1e6), shortNumber(perSecond(cost.bytes, kernel.seconds) / 1e9),
                    percent(perSecond(cost.bytes / bandwidth, kernel.seconds)), shortNumber(cost.operations / 1e6),
                    shortNumber(perSecond(cost.operations, kernel.seconds) / 1e9),
                    percent(perSecond(cost.arithmeticSeconds, kernel.seconds))});
    }
    std::string line = "  " + padRight(kernel.name, width) + "  " + padRight(phaseText(kernel.phase), 8);
    for (const std::string &cell : cells)
      line += padLeft(cell, kNumberWidth);
    text += line + "\n";
  }
  text += "  " + padRight("all", width) + "  " + std::string(8, ' ') + padLeft(shortNumber(total * 1e3), kNumberWidth) +
          padLeft("", kNumberWidth) + padLeft(shortNumber(result.predicted.seconds * 1e3), kNumberWidth) +
          padLeft(shortNumber(perSecond(total, result.predicted.seconds)), kNumberWidth) + "\n";
  return text;
}

// --- JSON -----------------------------------------------------------------------------------------------------------

namespace {

using Json = nlohmann::ordered_json;

Json costJson(const PredictedCost &cost) {
  return {{"operations", cost.operations},
          {"bytes", cost.bytes},
          {"ms", cost.seconds * 1e3},
          {"arithmetic_ms", cost.arithmeticSeconds * 1e3}};
}

/// The median.
double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

Json rowJson(const BenchFile &file, const BenchRow &row) {
  const BenchResult &result = row.result;
  const BenchCell &cell = result.cell;
  Json json = {{"cell", cellName(file, cell)},
               {"model", file.models[cell.model].name},
               {"graph", file.graphs[cell.graph].name},
               {"phase", std::string(phaseName(cell.phase))},
               {"sizes", cell.settings.sizes},
               {"settings", cell.settings.attributes},
               {"passes", cell.way.passes},
               {"dtype", cell.way.dtype}};
  if (file.backend == BenchBackend::Cuda)
    json["precision"] = cell.way.precision;
  else
    json["threads"] = cell.way.threads > 0 ? cell.way.threads : numThreads();
  if (!result.failure.empty()) {
    json["status"] = "failed";
    json["failure"] = result.failure;
    return json;
  }
  json["status"] = result.isRight ? "right" : "wrong";
  // JSON has no word for what is not finite.
  json["error"] = std::isfinite(result.error) ? Json(result.error) : Json();
  json["worst"] = result.worst;
  if (!result.isRight)
    return json;
  Json runs = Json::array();
  for (double seconds : result.seconds)
    runs.push_back(seconds * 1e3);
  const double median = result.quantile(0.5);
  json["median_ms"] = median * 1e3;
  json["p95_ms"] = result.quantile(0.95) * 1e3;
  json["min_ms"] = result.quantile(0) * 1e3;
  if (file.reports(BenchColumn::Prepare))
    json["prepare_ms"] = result.prepareSeconds * 1e3;
  if (!result.wallSeconds.empty())
    json["wall_ms"] = middle(result.wallSeconds) * 1e3;
  json["first_ms"] = result.firstSeconds * 1e3;
  json["gb_per_s"] = perSecond(result.predicted.bytes, median) / 1e9;
  json["gflop_per_s"] = perSecond(result.predicted.operations, median) / 1e9;
  json["peak_bytes"] = result.peakBytes;
  json["plan"] = result.plan;
  if (row.memoryBytes)
    json["memory_bytes"] = *row.memoryBytes;
  if (!row.memoryFailure.empty())
    json["memory_failure"] = row.memoryFailure;
  json["predicted"] = costJson(result.predicted);
  json["runs_ms"] = std::move(runs);
  for (const KernelProfile &kernel : result.kernels) {
    Json item = {{"name", kernel.name}, {"phase", phaseText(kernel.phase)}, {"ms", kernel.seconds * 1e3}};
    if (kernel.predicted)
      item["predicted"] = costJson(*kernel.predicted);
    json["kernels"].push_back(std::move(item));
  }
  return json;
}

}  // namespace

std::string formatBenchJson(const std::vector<BenchReport> &reports, const std::string &version) {
  Json json = {{"hector", version}, {"benchmarks", Json::array()}};
  for (const BenchReport &report : reports) {
    const BenchFile &file = *report.file;
    Json item = {
        {"file", file.path},
        {"backend", file.backend == BenchBackend::Cuda ? "cuda" : "cpu"},
        {"machine", file.machine.name},
        {"warmup", file.warmup},
        {"runs", file.runs},
        {"verify",
         {{"against", file.judge == BenchJudge::Reference ? "reference" : "interpreter"}, {"rtol", file.rtol}}},
        {"skipped", file.absent},
        {"cells", Json::array()}};
    if (!report.device.empty())
      item["device"] = report.device;
    for (const BenchRow &row : report.rows)
      item["cells"].push_back(rowJson(file, row));
    json["benchmarks"].push_back(std::move(item));
  }
  // Paths need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// --- the picture ----------------------------------------------------------------------------------------------------

namespace {

/// Where labels, bars and figures of the picture are.
constexpr double kWidth = 900, kMargin = 32, kLabels = 300, kFigures = 80, kRowHeight = 20, kKernelHeight = 15;
constexpr double kBars = kMargin + kLabels, kRoom = kWidth - kBars - kMargin - kFigures;

const char *colourOf(BenchPhase phase) {
  return phase == BenchPhase::Training ? Drawing::kOrange : Drawing::kBlue;
}

/// The kernels of a cell, each with a line where its bar should end by the cost model. `scale` is the length of a
/// second. Gives where the picture goes on.
double drawKernels(Drawing &d, const BenchResult &result, double y, double scale) {
  for (const KernelProfile &kernel : result.kernels) {
    const double length = kernel.seconds * scale, middle = y + kKernelHeight / 2;
    const std::string label = kernel.name + ", " + std::string(phaseText(kernel.phase));
    d.text(kBars - 8, y + 11, shortened(label, 52), {10, Drawing::kSoft, "end"});
    d.box(kBars, middle - 2, std::clamp(length, 1.0, kRoom), 4, colourOf(result.cell.phase), 1);
    if (kernel.predicted) {
      const double expected = kBars + std::min(kernel.predicted->seconds * scale, kRoom);
      d.line(expected, y + 2, expected, y + kKernelHeight - 2, Drawing::kText);
    }
    d.text(kBars + std::min(length, kRoom) + 6, y + 11, shortNumber(kernel.seconds * 1e3), {10, Drawing::kSoft});
    y += kKernelHeight;
  }
  return result.kernels.empty() ? y : y + 6;
}

}  // namespace

std::string drawBench(const std::vector<BenchReport> &reports) {
  Drawing d;
  double y = 24;
  for (const BenchReport &report : reports) {
    const BenchFile &file = *report.file;
    y += 22;
    d.text(kMargin, y, shortened(file.path.substr(file.path.rfind('/') + 1), 60), {20, Drawing::kText, "start", true});
    y += 20;
    double longest = 0;
    bool hasKernels = false;
    for (const BenchRow &row : report.rows) {
      longest = std::max(longest, row.result.quantile(0.5));
      hasKernels |= !row.result.kernels.empty();
    }
    d.text(kMargin, y,
           "median milliseconds of " + std::to_string(file.runs) + " runs; shorter is better" +
               (hasKernels ? "; a line is what the cost model expects of a kernel" : ""),
           {12, Drawing::kSoft});
    const double scale = longest > 0 ? kRoom / longest : 0;
    size_t graph = file.graphs.size();
    for (const BenchRow &row : report.rows) {
      const BenchResult &result = row.result;
      if (result.cell.graph != graph) {
        graph = result.cell.graph;
        y += 26;
        d.text(kMargin, y, shortened(file.graphs[graph].name, 60), {13, Drawing::kText, "start", true});
        y += 8;
      }
      std::string label = file.models[result.cell.model].name + " " + std::string(phaseName(result.cell.phase));
      for (const auto &[name, value] : result.cell.swept)
        label += " " + value;
      d.text(kBars - 8, y + 13, shortened(label, 44), {12, Drawing::kText, "end"});
      if (!result.failure.empty() || !result.isRight) {
        d.text(kBars, y + 13, result.failure.empty() ? "wrong" : "failed", {11, Drawing::kRed});
      } else {
        const double median = result.quantile(0.5), length = median * scale;
        d.box(kBars, y + 3, std::max(1.0, length), 13, colourOf(result.cell.phase), 2);
        d.text(kBars + length + 6, y + 13, shortNumber(median * 1e3), {11, Drawing::kSoft});
      }
      y = drawKernels(d, result, y + kRowHeight, scale);
    }
    y += 12;
  }
  return d.finish(kWidth, y + 12, "hector bench");
}

}  // namespace hector
