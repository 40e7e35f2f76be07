/// `hector data info` on a terminal: numbers, and small bars beside them.

#include "DataMakeInfo.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/storage/Tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

namespace hector {

namespace {

class Page {
public:
  Page(bool utf8, int width) : utf8(utf8), width(static_cast<size_t>(width)) {}

  void line(const std::string &text = "") { out += text + "\n"; }
  void title(const std::string &text) { line("\n" + text); }

  struct Bar {
    std::string label, figures;
    double value;
  };
  /// Labels on the left, figures on the right of them, bars in what is left of the line. Bars of a table share a scale.
  void bars(std::span<const Bar> rows) {
    size_t labelWidth = 0, figureWidth = 0;
    double largest = 0;
    for (const Bar &row : rows) {
      labelWidth = std::max(labelWidth, characters(row.label));
      figureWidth = std::max(figureWidth, characters(row.figures));
      largest = std::max(largest, row.value);
    }
    const size_t used = 2 + labelWidth + 2 + figureWidth + 2;
    const size_t room = width > used + 4 ? width - used : 4;
    for (const Bar &row : rows) {
      std::string text = "  " + row.label + std::string(labelWidth - characters(row.label) + 2, ' ') +
                         std::string(figureWidth - characters(row.figures), ' ') + row.figures;
      if (row.value > 0 && largest > 0)
        text += "  " + bar(row.value / largest * static_cast<double>(room));
      line(text);
    }
  }

  /// Other characters than ASCII become question marks where the terminal has no others.
  std::string take() {
    if (utf8)
      return std::move(out);
    std::string ascii;
    for (size_t i = 0; i < out.size(); ++i) {
      const auto byte = static_cast<unsigned char>(out[i]);
      if (byte < 0x80)
        ascii += out[i];
      else if (out.compare(i, 3, "→") == 0)
        ascii += "->";
      else if (out.compare(i, 3, "…") == 0)
        ascii += "~";
      else if (byte >= 0xc0)
        ascii += '?';
    }
    return ascii;
  }

private:
  /// Never nothing for something.
  std::string bar(double length) const {
    if (!utf8)
      return std::string(std::max<size_t>(1, static_cast<size_t>(std::lround(length))), '#');
    constexpr std::array<const char *, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto eighths = std::max<int64_t>(1, std::llround(length * 8));
    std::string text;
    for (int64_t i = 0; i < eighths / 8; ++i)
      text += "█";
    return text + kParts[eighths % 8];
  }

  bool utf8;
  size_t width;
  std::string out;
};

std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                whole ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
  return text;
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

std::string padded(const std::string &text, size_t width) {
  return std::string(width > characters(text) ? width - characters(text) : 0, ' ') + text;
}

std::string types(size_t count) {
  return withCommas(static_cast<int64_t>(count), "type", "types");
}

std::string degreeRow(const char *name, const DegreeSummary &degrees) {
  std::string row = "  " + std::string(name) + std::string(8 - std::string(name).size(), ' ');
  for (const std::string &figure : {withCommas(degrees.min), withCommas(degrees.median), formatMean(degrees.mean),
                                    withCommas(degrees.p99), withCommas(degrees.max)})
    row += padded(figure, 12);
  return row;
}

std::string binName(size_t bin) {
  const int64_t first = binFirst(bin), last = binLast(bin);
  return first == last ? withCommas(first) : withCommas(first) + " to " + withCommas(last);
}

void degreeBars(Page &page, const char *title, const DegreeSummary &degrees) {
  page.title(title);
  std::vector<Page::Bar> rows;
  size_t bin = 0;
  while (bin < degrees.bins.size() && degrees.bins[bin] == 0)
    ++bin;
  for (; bin < degrees.bins.size(); ++bin)
    rows.push_back({binName(bin), withCommas(degrees.bins[bin]), static_cast<double>(degrees.bins[bin])});
  page.bars(rows);
}

/// "12.5 MiB  (2.1 bytes per edge)".
std::string memoryFigures(int64_t bytes, int64_t edges) {
  char text[32];
  std::snprintf(text, sizeof(text), "%5.1f", edges ? static_cast<double>(bytes) / static_cast<double>(edges) : 0.0);
  return formatBytes(bytes) + "  " + text + " per edge";
}

}  // namespace

std::string renderText(const GraphReport &report, bool utf8, int width) {
  constexpr size_t kMaxTypes = 10, kMaxRelations = 12;
  const GraphSummary &graph = report.graph;
  const auto room = static_cast<size_t>(width);
  Page page(utf8, width);
  page.line(report.path);
  if (!report.source.empty())
    page.line("  source             " + shortened(report.source, room - 21));
  page.line("  nodes              " + withCommas(graph.nodes) + " of " + types(graph.nodeTypes.size()));
  page.line("  edges              " + withCommas(graph.edges) + " of " +
            types(static_cast<size_t>(graph.numRelations())));
  page.line("  source pairs       " + withCommas(graph.srcPairs) + ", " + ratio(graph.srcPairRatio()) +
            " of the edges");
  page.line("  destination pairs  " + withCommas(graph.dstPairs) + ", " + ratio(graph.dstPairRatio()) +
            " of the edges");
  page.line("  isolated nodes     " + withCommas(graph.isolated) + ", " + percent(graph.isolated, graph.nodes));
  if (report.classes)
    page.line("  classes            " + withCommas(*report.classes));

  page.title("degrees            min      median        mean         p99         max");
  page.line(degreeRow("in", graph.in));
  page.line(degreeRow("out", graph.out));
  degreeBars(page, "nodes by in-degree", graph.in);
  degreeBars(page, "nodes by out-degree", graph.out);

  if (graph.nodeTypes.size() > 1) {
    const std::vector<const NodeTypeSummary *> order = largestNodeTypes(graph);
    page.title(order.size() > kMaxTypes ? "largest node types" : "node types");
    std::vector<Page::Bar> rows;
    for (size_t i = 0; i < std::min(order.size(), kMaxTypes); ++i)
      rows.push_back({shortened(order[i]->name, room / 4),
                      withCommas(order[i]->nodes) + padded(percent(order[i]->nodes, graph.nodes), 8),
                      static_cast<double>(order[i]->nodes)});
    page.bars(rows);
  }

  page.title(std::string(graph.relations.size() > kMaxRelations ? "largest relations" : "relations") +
             "   (edges, share; source pairs and destination pairs / edges)");
  std::vector<Page::Bar> rows;
  auto byEdges = [](int64_t pairs, int64_t edges) {
    return padded(edges ? ratio(static_cast<double>(pairs) / static_cast<double>(edges)) : "-", 7);
  };
  const auto largest = largestRelations(graph, kMaxRelations);
  const bool hasEnds = graph.nodeTypes.size() > 1;  // else all say the same
  const size_t nameRoom = hasEnds ? room / 4 : room * 2 / 5;
  size_t nameWidth = 0;
  for (const RelationSummary *relation : largest)
    nameWidth = std::max(nameWidth, characters(shortened(relation->name, nameRoom)));
  for (const RelationSummary *relation : largest) {
    std::string label = shortened(relation->name, nameRoom);
    if (hasEnds && !relation->src.empty() && !relation->dst.empty())
      label += std::string(nameWidth - characters(label) + 2, ' ') + shortened(relation->src, room / 10) + " → " +
               shortened(relation->dst, room / 10);
    rows.push_back({label,
                    withCommas(relation->edges) + padded(percent(relation->edges, graph.edges), 8) +
                        byEdges(relation->srcPairs, relation->edges) + byEdges(relation->dstPairs, relation->edges),
                    static_cast<double>(relation->edges)});
  }
  page.bars(rows);

  page.title("memory");
  rows.clear();
  for (const FormSummary &form : graph.forms)
    rows.push_back({form.name, memoryFigures(form.bytes, graph.edges), static_cast<double>(form.bytes)});
  page.bars(rows);

  if (!report.tensors.empty()) {
    page.title("tensors");
    size_t nameWidth = 0;
    for (const TensorSummary &tensor : report.tensors)
      nameWidth = std::max(nameWidth, characters(shortened(tensor.name, room / 2)));
    for (const TensorSummary &tensor : report.tensors) {
      const std::string name = shortened(tensor.name, room / 2);
      page.line("  " + name + std::string(nameWidth - characters(name) + 2, ' ') + tensor.dtype + " " +
                formatShape(tensor.shape));
    }
  }
  return page.take();
}

}  // namespace hector
