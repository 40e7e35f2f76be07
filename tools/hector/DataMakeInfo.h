/// `hector data make` and `hector data info`: what they are asked to do, without the command line.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/graph/GraphSummary.h"
#include "runtime/graph/Synthetic.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hector {

/// Adds `make` and `info` to `hector data`. Once the command line is parsed, the function runs whichever was given and
/// returns its exit code; nothing where neither was.
std::function<std::optional<int>()> addDataMakeAndInfo(CLI::App &data);

/// Options of `data make` that have no value unless given.
struct DataMakeOptions {
  SyntheticOptions graph;
  std::optional<int64_t> nodes, nodeTypes, edges, edgeTypes, features;
  std::string outPath;
};
/// Makes and writes the graph. What was written is added to `summary`.
Status makeData(const DataMakeOptions &options, std::string &summary);

struct DataInfoOptions {
  std::string path;
  bool json = false;
  std::string svgPath;
};
/// Describes a graph file: text or JSON in `text`, a picture in the file asked for.
Status describeData(const DataInfoOptions &options, std::string &text);

/// A tensor that belongs to the graph but is not part of it.
struct TensorSummary {
  std::string name, dtype;
  std::vector<int64_t> shape;
};

/// All that `data info` shows.
struct GraphReport {
  std::string path, source;
  GraphSummary graph;
  std::vector<TensorSummary> tensors;
  std::optional<int64_t> classes;  // where there are labels: the largest + 1
};

/// `width` columns wide at most, in UTF-8 or in ASCII.
std::string renderText(const GraphReport &report, bool utf8, int width = 80);
std::string renderJson(const GraphReport &report);
std::string renderSvg(const GraphReport &report);

/// Four digits or so: "0", "9.97", "11.4", "1,234".
std::string formatMean(double value);
/// The largest relations first, at most `limit`; equal ones in the graph's order.
std::vector<const RelationSummary *> largestRelations(const GraphSummary &graph, size_t limit);
std::vector<const NodeTypeSummary *> largestNodeTypes(const GraphSummary &graph);
/// Characters, not bytes, cut in the middle to at most `limit`: "http://…/writes". Control characters become spaces.
std::string shortened(const std::string &text, size_t limit);
size_t characters(const std::string &text);

}  // namespace hector
