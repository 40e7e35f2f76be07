/// `hector data info --svg`: the same numbers as a picture of one page.

#include "DataMakeInfo.h"
#include "runtime/base/Drawing.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace hector {

namespace {

constexpr const char *kIn = Drawing::kBlue;
constexpr const char *kOut = Drawing::kOrange;
constexpr const char *kBar = Drawing::kBlue;
constexpr const char *kText = Drawing::kText;
constexpr const char *kSoft = Drawing::kSoft;
constexpr const char *kGrid = Drawing::kGrid;
constexpr double kRow = 22;  // between the bars of a table

/// 1, 10, 100, 1k, 1M … With a base of 1024, 2048 is 2k.
std::string shortNumber(double value, double base = 1000) {
  constexpr std::array<const char *, 6> kUnits = {"", "k", "M", "G", "T", "P"};
  size_t unit = 0;
  for (; value >= base && unit + 1 < kUnits.size(); ++unit)
    value /= base;
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g%s", value, kUnits[unit]);
  return text;
}

struct Bar {
  std::string label, figures;
  double value;
};

/// A table of bars in a column of `width`; returns where it ends.
double drawBars(Drawing &d, double x, double y, double width, const std::string &title, const std::vector<Bar> &rows,
                double labelWidth) {
  constexpr double kFigures = 96;
  d.text(x, y, title, {14, kText, "start", true});
  y += 14;
  double largest = 0;
  for (const Bar &row : rows)
    largest = std::max(largest, row.value);
  for (const Bar &row : rows) {
    d.text(x + labelWidth - 8, y + 13, row.label, {12, kText, "end"});
    const double room = width - labelWidth - kFigures;
    const double length = largest > 0 ? row.value / largest * room : 0;
    if (row.value > 0)
      d.box(x + labelWidth, y + 3, std::max(1.0, length), 13, kBar, 2);
    d.text(x + labelWidth + length + 6, y + 13, row.figures, {11, kSoft});
    y += kRow;
  }
  return y;
}

/// In- and out-degrees side by side in doubling bins, nodes on a logarithmic scale.
void drawDegrees(Drawing &d, double x, double y, double width, double height, const GraphSummary &graph) {
  d.text(x, y, "Nodes by degree", {14, kText, "start", true});
  d.box(x + width - 116, y - 10, 11, 11, kIn, 2);
  d.text(x + width - 101, y, "in", {12, kSoft});
  d.box(x + width - 66, y - 10, 11, 11, kOut, 2);
  d.text(x + width - 51, y, "out", {12, kSoft});
  const double left = x + 44, top = y + 16, bottom = y + height - 40, right = x + width;
  const size_t bins = std::max<size_t>(1, std::max(graph.in.bins.size(), graph.out.bins.size()));
  int64_t most = 1;
  for (const auto *degrees : {&graph.in, &graph.out})
    for (int64_t count : degrees->bins)
      most = std::max(most, count);
  // Half a decade below 1, so that a single node shows.
  const double lowest = -0.4, decades = std::max(1.0, std::ceil(std::log10(static_cast<double>(most)))) - lowest;
  auto place = [&](double count) { return bottom - (std::log10(count) - lowest) / decades * (bottom - top); };
  for (double tick = 1; tick <= static_cast<double>(most) * 1.0001 || tick == 10; tick *= 10) {
    d.line(left, place(tick), right, place(tick), kGrid);
    d.text(left - 6, place(tick) + 4, shortNumber(tick), {11, kSoft, "end"});
  }
  d.line(left, bottom, right, bottom, kSoft);
  const double slot = (right - left) / static_cast<double>(bins);
  const double barWidth = std::min(18.0, slot * 0.4);
  const size_t every = slot < 26 ? 2 : 1;
  for (size_t bin = 0; bin < bins; ++bin) {
    const double middle = left + (static_cast<double>(bin) + 0.5) * slot;
    auto draw = [&](const DegreeSummary &degrees, double from, const char *fill) {
      if (bin < degrees.bins.size() && degrees.bins[bin] > 0) {
        const double upper = place(static_cast<double>(degrees.bins[bin]));
        d.box(from, upper, barWidth, bottom - upper, fill, 1);
      }
    };
    draw(graph.in, middle - barWidth - 0.5, kIn);
    draw(graph.out, middle + 0.5, kOut);
    if (bin % every == 0)
      d.text(middle, bottom + 15, shortNumber(static_cast<double>(binFirst(bin)), 1024), {11, kSoft, "middle"});
  }
  d.text((left + right) / 2, bottom + 33, "degree: 0, 1, 2 to 3, 4 to 7, …", {11, kSoft, "middle"});
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                whole ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
  return text;
}

}  // namespace

std::string renderSvg(const GraphReport &report) {
  constexpr double kWidth = 1000, kMargin = 32, kGap = 40, kColumn = (kWidth - 2 * kMargin - kGap) / 2;
  constexpr size_t kMaxRelations = 12, kMaxTypes = 8;
  const GraphSummary &graph = report.graph;
  Drawing d;
  const std::string file = report.path.substr(report.path.rfind('/') + 1);
  d.text(kMargin, 46, shortened(file, 60), {24, kText, "start", true});
  if (!report.source.empty())
    d.text(kMargin, 68, shortened(report.source, 130), {12, kSoft});

  struct Fact {
    std::string value, name, note;
  };
  auto count = [](size_t n, const char *one, const char *many) {
    return std::string("of ") + withCommas(static_cast<int64_t>(n)) + " " + (n == 1 ? one : many);
  };
  const std::array<Fact, 5> facts = {{
      {withCommas(graph.nodes), "nodes", count(graph.nodeTypes.size(), "type", "types")},
      {withCommas(graph.edges), "edges", count(static_cast<size_t>(graph.numRelations()), "relation", "relations")},
      {ratio(graph.srcPairRatio()), "source pairs", "/ edges"},
      {ratio(graph.dstPairRatio()), "destination pairs", "/ edges"},
      {withCommas(graph.isolated), "isolated nodes", percent(graph.isolated, graph.nodes)},
  }};
  constexpr double kCard = (kWidth - 2 * kMargin - 4 * 12) / 5;
  for (size_t i = 0; i < facts.size(); ++i) {
    const double x = kMargin + static_cast<double>(i) * (kCard + 12);
    d.box(x, 86, kCard, 74, "#f3f4f6", 6);
    d.text(x + 14, 118, facts[i].value, {facts[i].value.size() > 12 ? 17.0 : 21.0, kText, "start", true});
    d.text(x + 14, 146, facts[i].name + " " + facts[i].note, {11.5, kSoft});
  }

  // Degrees and node types on the left, relations and memory on the right.
  const double top = 196;
  const double middle = kMargin + kColumn + kGap;
  drawDegrees(d, kMargin, top, kColumn, 300, graph);
  double left = top + 324;
  for (auto [name, degrees] : {std::pair("in", &graph.in), std::pair("out", &graph.out)}) {
    d.text(kMargin + 44, left,
           std::string(name) + ":  min " + withCommas(degrees->min) + ",  median " + withCommas(degrees->median) +
               ",  mean " + formatMean(degrees->mean) + ",  99 % " + withCommas(degrees->p99) + ",  max " +
               withCommas(degrees->max),
           {12, kSoft});
    left += 18;
  }

  std::vector<Bar> rows;
  for (const RelationSummary *relation : largestRelations(graph, kMaxRelations)) {
    std::string label = shortened(relation->name, 22);
    if (!relation->src.empty() && !relation->dst.empty() && characters(relation->name) <= 10)
      label += "  " + shortened(relation->src, 8) + "→" + shortened(relation->dst, 8);
    rows.push_back({label, withCommas(relation->edges), static_cast<double>(relation->edges)});
  }
  const bool isPart = graph.relations.size() > kMaxRelations;
  double right =
      drawBars(d, middle, top, kColumn,
               isPart ? "Largest relations, of " + withCommas(graph.numRelations()) : "Relations", rows, 164);
  right += 26;
  rows.clear();
  for (const FormSummary &form : graph.forms)
    rows.push_back({form.name, formatBytes(form.bytes), static_cast<double>(form.bytes)});
  right = drawBars(d, middle, right, kColumn, "Memory of each form", rows, 164);

  rows.clear();
  const std::vector<const NodeTypeSummary *> order = largestNodeTypes(graph);
  for (size_t i = 0; i < std::min(order.size(), kMaxTypes); ++i)
    rows.push_back({shortened(order[i]->name, 22), withCommas(order[i]->nodes), static_cast<double>(order[i]->nodes)});
  if (!rows.empty())
    left =
        drawBars(d, kMargin, left + 24, kColumn,
                 order.size() > kMaxTypes ? "Largest node types, of " + withCommas(static_cast<int64_t>(order.size()))
                                          : "Node types",
                 rows, 164);
  return d.finish(kWidth, std::max(left, right) + 24, file);
}

}  // namespace hector
