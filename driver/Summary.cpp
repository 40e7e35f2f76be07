#include "driver/Summary.h"

#include "compiler/Analysis/Cost.h"
#include "driver/Program.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"

#include <cstdio>

namespace hector {

using namespace flow;

namespace {

constexpr size_t kColumns = 100;   // of a line
constexpr size_t kNumColumns = 8;  // of the table

/// Three digits and a unit: "8.19 GFLOP", "640 FLOP".
std::string scaled(double value, const char *unit) {
  static constexpr const char *kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  // 999.5 would be printed as 1000.
  for (; value >= 999.5 && i + 1 < std::size(kPrefixes); ++i)
    value /= 1000;
  char text[32];
  int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s%s", digits, value, kPrefixes[i], unit);
  return text;
}

/// Three digits and a unit: "12.5 us".
std::string formatSeconds(double seconds) {
  static constexpr const char *kUnits[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  size_t i = 0;
  for (; value >= 999.5 && i + 1 < std::size(kUnits); ++i)
    value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, kUnits[i]);
  return text;
}

std::string wholeNumber(double value) {
  return withCommas(static_cast<int64_t>(value));
}

/// The lines of the model that ops come from: "7" or "7-9"; empty where they come from none.
std::string formatLines(const std::string &file, llvm::ArrayRef<OpCost> ops) {
  unsigned first = 0, last = 0;
  for (const OpCost &op : ops)
    if (auto place = placeIn(file, op.op->getLoc())) {
      first = first == 0 ? place.getLine() : std::min(first, place.getLine());
      last = std::max(last, place.getLine());
    }
  if (first == 0)
    return "";
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

std::string shortName(mlir::Operation *op) {
  return op->getName().stripDialect().str();
}

std::vector<std::string> splitWords(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {words.begin(), words.end()};
}

/// A table as the user knows it: the name of an input, or of what the model stores, or the op that computes it.
std::string tableName(mlir::Value table) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(table)) {
    auto function = mlir::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "flow.name");
    return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
  }
  if (auto name = flow::tableName(table.getLoc()); !name.empty())
    return name.str();
  return shortName(table.getDefiningOp());
}

/// What a loop does beside its ops: "2 sweeps; gathers x[src] (12.3 MB); permutes att (1.2 MB); scratch 2.48 MB".
std::string formatTraffic(const GroupCost &group) {
  std::string text;
  auto part = [&](const std::string &more) { text += (text.empty() ? "" : "; ") + more; };
  if (group.numSweeps > 1)
    part(std::to_string(group.numSweeps) + " sweeps");
  if (group.isOnline)
    part("maxima folded with their sums");
  std::string gathered, permuted;
  for (const TableCost &read : group.reads) {
    std::string table = tableName(read.table);
    if (read.map != Map::Self)
      table += "[" + stringifyMap(read.map).str() + "]";
    if (read.isGathered)
      gathered += (gathered.empty() ? "" : ", ") + table + " (" + scaled(read.bytes, "B") + ")";
    if (read.isPermuted)
      permuted += (permuted.empty() ? "" : ", ") + table + " (" + scaled(read.bytes, "B") + ")";
  }
  for (const TableCost &write : group.writes)
    if (write.isPermuted)
      permuted += (permuted.empty() ? "" : ", ") + tableName(write.table) + " (" + scaled(write.bytes, "B") + ")";
  if (!gathered.empty())
    part("gathers " + gathered);
  if (!permuted.empty())
    part("permutes " + permuted);
  if (group.scratchBytes > 0)
    part("scratch " + scaled(group.scratchBytes, "B"));
  return text;
}

/// The names of a group's ops in the order in which they first appear: "reduce (2), sub, exp".
std::vector<std::string> formatOps(const GroupCost &group) {
  std::vector<std::pair<std::string, int>> counts;
  for (const OpCost &op : group.ops) {
    auto found = llvm::find_if(counts, [&](const auto &item) { return item.first == shortName(op.op); });
    if (found == counts.end())
      counts.emplace_back(shortName(op.op), 1);
    else
      ++found->second;
  }
  std::vector<std::string> words;
  for (size_t i = 0; i < counts.size(); ++i)
    words.push_back(counts[i].first + (counts[i].second > 1 ? " (" + std::to_string(counts[i].second) + ")" : "") +
                    (i + 1 < counts.size() ? "," : ""));
  return words;
}

/// Appends words to `line`, which starts at column 0, going on below its column where they do not fit.
void appendWords(std::string &text, std::string line, const std::vector<std::string> &words) {
  const size_t indent = line.size();
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && line.size() + 1 + words[i].size() > kColumns) {
      text += line + "\n";
      line = std::string(indent, ' ');
    } else if (i > 0) {
      line += ' ';
    }
    line += words[i];
  }
  text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string padLeft(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string padRight(const std::string &text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

/// A list with a blank after each comma, so that it can go on in the next line.
std::string spaced(const std::string &list) {
  std::string text;
  for (char letter : list)
    text += letter == ',' ? ", " : std::string(1, letter);
  return text;
}

std::string formatMachine(const Machine &machine) {
  return std::string(machine.isGpu() ? "a GPU" : "a CPU") + ": memory " + scaled(machine.bandwidth, "B/s") +
         ", cache " + formatBytes(static_cast<int64_t>(machine.cacheBytes)) + ", products " +
         scaled(machine.productRate, "FLOP/s") + ", " + formatSeconds(machine.launch) + " to start a loop";
}

std::string formatGraph(const RowCounts &rows) {
  GraphAttr graph = rows.getGraph();
  std::string numbers = withCommas(graph.getNodes(), "node", "nodes") + " of " +
                        withCommas(graph.getNodeTypes(), "type", "types") + ", " +
                        withCommas(graph.getEdges(), "edge", "edges") + " of " +
                        withCommas(graph.getRelations(), "type", "types") + ", " +
                        withCommas(graph.getSrcPairs(), "source pair", "source pairs") + ", " +
                        withCommas(graph.getDstPairs(), "destination pair", "destination pairs");
  return rows.isGiven() ? numbers : "none given: a default one of " + numbers + " is assumed";
}

}  // namespace

std::string formatSummary(mlir::func::FuncOp function, const language::Binding &binding,
                          const SummaryOptions &options) {
  Groups groups(function, options.groups);
  Cost cost = estimate(groups);
  const RowCounts &rows = groups.getBody().rows;
  LoopPricer pricer(groups.getBody(), groups.getMachine());
  std::string text;
  std::string header = function.getName().str() + ":";
  for (const auto &[name, size] : binding.sizes)
    header += " " + name + "=" + std::to_string(size);
  header += std::string(binding.sizes.empty() ? "" : ",") + " " + options.dtype +
            (function->hasAttr("flow.forward_results") ? ", with gradients" : "") + ", passes " +
            spaced(options.passes);
  appendWords(text, "model    ", splitWords(header));
  appendWords(text, "graph    ",
              splitWords((options.standsForOthers ? "planned as others like it: " : "") + formatGraph(rows)));
  appendWords(text, "machine  ", splitWords(formatMachine(groups.getMachine())));

  for (const PlanCost &plan : options.plans)
    appendWords(text, &plan == &options.plans.front() ? "plans    " : "         ",
                splitWords(plan.name + ": " + scaled(plan.operations, "FLOP") + ", " + scaled(plan.bytes, "B") +
                           " moved, " + scaled(plan.peakBytes, "B") + " live at once, " + formatSeconds(plan.seconds) +
                           ", price " + formatSeconds(plan.price) + (plan.isTaken ? " (taken)" : "")));

  // Columns as wide as their widest entry.
  struct Line {
    Phase phase;
    std::string cells[kNumColumns];
    std::vector<std::string> ops;
    std::string traffic;
  };
  std::vector<Line> lines;
  const char *const kTitles[kNumColumns] = {"group", "loop", "rows", "operations", "bytes", "time", "live", "line"};
  size_t widths[kNumColumns];
  for (size_t i = 0; i < kNumColumns; ++i)
    widths[i] = std::string_view(kTitles[i]).size();
  auto add = [&](Line line) {
    for (size_t k = 0; k < kNumColumns; ++k)
      widths[k] = std::max(widths[k], line.cells[k].size());
    lines.push_back(std::move(line));
  };
  for (size_t i = 0; i < cost.groups.size(); ++i) {
    const GroupCost &group = cost.groups[i];
    add({group.phase,
         {std::to_string(i), stringifyLoop(group.kind.loop).str() + " " + stringifyDomain(group.domain).str(),
          wholeNumber(group.rows), scaled(group.operations, "FLOP"), scaled(group.bytes, "B"),
          formatSeconds(group.seconds), scaled(group.liveBytes, "B"), formatLines(options.model, group.ops)},
         options.perOp ? std::vector<std::string>() : formatOps(group),
         formatTraffic(group)});
    for (const OpCost &op : group.ops)
      if (options.perOp)
        add({group.phase,
             {"", "", wholeNumber(op.rows), scaled(op.operations, "FLOP"),
              scaled(bytesAlone(*groups.getBody().find(op.op->getResult(0)), pricer), "B"), "", "",
              formatLines(options.model, op)},
             {shortName(op.op), formatRow(mlir::cast<RowsType>(op.op->getResult(0).getType()))},
             ""});
  }
  auto cells = [&](auto &row) {
    std::string line;
    for (size_t i = 0; i < kNumColumns; ++i)
      line += (i == 1 ? padRight(row[i], widths[i]) : padLeft(row[i], widths[i])) + "  ";
    return line;
  };
  text += "\n" + cells(kTitles) + (options.perOp ? "ops (bytes of each alone)\n" : "ops\n");
  static constexpr const char *kPhases[] = {"once for a graph", "once for weights", "forward", "backward"};
  for (size_t i = 0; i < lines.size(); ++i) {
    bool isOnly = lines.front().phase == Phase::Forward && lines.back().phase == Phase::Forward;
    if (!isOnly && (i == 0 || lines[i].phase != lines[i - 1].phase))
      text += std::string(kPhases[static_cast<size_t>(lines[i].phase)]) + "\n";
    appendWords(text, cells(lines[i].cells), lines[i].ops);
    if (!lines[i].traffic.empty())
      appendWords(text, std::string(widths[0] + 2, ' '), splitWords(lines[i].traffic));
  }

  if (!cost.kept.empty()) {
    text += "\nkept from the forward phase for the backward phase: " + scaled(cost.keptBytes(), "B") + "\n";
    for (const KeptTable &kept : cost.kept) {
      auto type = mlir::cast<RowsType>(kept.table.getType());
      mlir::Operation *op = kept.table.getDefiningOp();
      auto place = placeIn(options.model, op->getLoc());
      text += padLeft(scaled(kept.bytes, "B"), 12) + "  " + stringifyDomain(type.getDomain()).str() + " " +
              formatRow(type) + ", " + shortName(op) + (place ? " of line " + std::to_string(place.getLine()) : "") +
              "\n";
    }
  }
  auto total = [&](double value, const char *unit, const char *what) {
    text += padLeft(scaled(value, unit), 12) + "  " + what + "\n";
  };
  text += "\n";
  total(cost.operations, "FLOP", "operations");
  total(cost.bytes, "B", "moved between groups and memory");
  text += padLeft(formatSeconds(cost.seconds), 12) + "  on this machine, as estimated\n";
  total(cost.peakBytes, "B", "live at once, at most, beside inputs and the graph");
  total(cost.inputBytes, "B", "of inputs");
  if (cost.graphBytes > 0)
    total(cost.graphBytes, "B", "of tables computed once for a graph");
  return text;
}

}  // namespace hector
