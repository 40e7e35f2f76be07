/// `hector data info`.

#include "DataMakeInfo.h"
#include "Progress.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/File.h"
#include "runtime/storage/Safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <langinfo.h>
#include <new>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hector {

using nlohmann::json;

/// A text field of a metadata object, empty where it has none.
static std::string field(const json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

/// Names types from the file's metadata: `node_types` and `edge_types`, arrays of names or of objects. What is not
/// there, or not understood, gets a name from its number.
static void nameTypes(const TensorFile &file, GraphSummary &graph) {
  auto array = [&](const char *key) {
    auto it = file.metadata.find(key);
    json parsed = it == file.metadata.end() ? json() : json::parse(it->second, nullptr, false);
    return parsed.is_array() ? parsed : json::array();
  };
  auto nameOf = [](const json &item) { return item.is_string() ? item.get<std::string>() : field(item, "name"); };
  const json nodeTypes = array("node_types"), edgeTypes = array("edge_types");
  for (size_t k = 0; k < graph.nodeTypes.size(); ++k) {
    if (k < nodeTypes.size())
      graph.nodeTypes[k].name = nameOf(nodeTypes[k]);
    if (graph.nodeTypes[k].name.empty())
      graph.nodeTypes[k].name = "node type " + std::to_string(k);
  }
  for (RelationSummary &relation : graph.relations) {
    const auto r = static_cast<size_t>(relation.id);
    if (r < edgeTypes.size()) {
      relation.name = nameOf(edgeTypes[r]);
      if (edgeTypes[r].is_object()) {
        relation.src = field(edgeTypes[r], "src");
        relation.dst = field(edgeTypes[r], "dst");
      }
    }
    if (relation.name.empty())
      relation.name = "relation " + std::to_string(r);
  }
}

static Result<GraphReport> makeReport(const std::string &path) {
  ProgressLine progress("reading " + path);
  Result<TensorFile> file = readSafetensors(path);
  if (!file)
    return std::move(file).status();
  GraphReport report;
  report.path = path;
  if (auto it = file->metadata.find("source"); it != file->metadata.end())
    report.source = it->second;
  // What is not understood names nothing; `data check` says what is wrong with it.
  for (const char *key : {"node_types", "edge_types"})
    if (auto it = file->metadata.find(key);
        it != file->metadata.end() && !json::parse(it->second, nullptr, false).is_array())
      file->metadata.erase(it);
  int64_t numNodes = -1;
  if (const Tensor *x = file->find("x"); x && !x->shape.empty())
    numNodes = x->shape[0];
  Result<Graph> graph = readGraph(*file, /*numRelations=*/-1, numNodes);
  if (!graph)
    return std::move(graph).status().during(path);
  const int64_t numNamed = file->metadata.contains("edge_types") ? graph->numRelations() : 0;
  if (Status status = requireMemory(path + ": describing the graph", summaryBytes(*graph, numNamed)); !status.isOk())
    return status;
  progress.begin("counting");
  report.graph = summarize(*graph, numNamed);
  nameTypes(*file, report.graph);
  for (const auto &[name, tensor] : file->tensors) {
    if (name.starts_with("graph."))
      continue;
    report.tensors.push_back({name, std::string(hector::name(tensor.dtype)), tensor.shape});
    if (name == "label" && (isInteger(tensor.dtype) || tensor.dtype == DType::Bool)) {
      int64_t largest = -1;
      for (int64_t i = 0; i < tensor.numElements(); ++i)
        largest = std::max(largest, tensor.intAt(i));
      report.classes = largest + 1;
    } else if (name == "label" && tensor.shape.size() == 2) {
      report.classes = tensor.shape[1];  // nodes may have several
    }
  }
  return report;
}

std::string formatMean(double value) {
  if (value >= 1000)
    return withCommas(static_cast<int64_t>(value + 0.5));
  char text[32];
  std::snprintf(text, sizeof(text), value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

/// Pointers to the items, the largest first by `size`, equal ones in order.
template <class T> static std::vector<const T *> largest(const std::vector<T> &items, int64_t T::*size) {
  std::vector<const T *> order;
  for (const T &item : items)
    order.push_back(&item);
  std::sort(order.begin(), order.end(),
            [&](const T *a, const T *b) { return a->*size != b->*size ? a->*size > b->*size : a < b; });
  return order;
}

std::vector<const RelationSummary *> largestRelations(const GraphSummary &graph, size_t limit) {
  auto order = largest(graph.relations, &RelationSummary::edges);
  order.resize(std::min(order.size(), limit));
  return order;
}

std::vector<const NodeTypeSummary *> largestNodeTypes(const GraphSummary &graph) {
  return largest(graph.nodeTypes, &NodeTypeSummary::nodes);
}

static bool startsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

size_t characters(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), startsCharacter));
}

std::string shortened(const std::string &text, size_t limit) {
  std::vector<std::string> parts;  // one per character
  for (char byte : text) {
    if (startsCharacter(byte) || parts.empty())
      parts.emplace_back();
    parts.back() += static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f ? ' ' : byte;
  }
  std::string result;
  // The end of a name tells more than its beginning: they are often addresses.
  const size_t head = parts.size() > limit ? (limit - 1) / 4 : parts.size();
  for (size_t i = 0; i < head; ++i)
    result += parts[i];
  if (parts.size() > limit) {
    result += "…";
    for (size_t i = parts.size() - (limit - 1 - head); i < parts.size(); ++i)
      result += parts[i];
  }
  return result;
}

/// Whether the user's locale is UTF-8.
static bool isUtf8Locale() {
  std::setlocale(LC_CTYPE, "");
  const std::string codeset = nl_langinfo(CODESET);
  std::setlocale(LC_CTYPE, "C");
  return codeset == "UTF-8" || codeset == "utf8";
}

static int terminalWidth() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return std::clamp<int>(size.ws_col, 60, 100);
}

Status describeData(const DataInfoOptions &options, std::string &text) {
  if (Status status = refuseOverwriting(options.svgPath, std::span(&options.path, 1)); !status.isOk())
    return status;
  try {
    Result<GraphReport> report = makeReport(options.path);
    if (!report)
      return std::move(report).status();
    if (interruptSignal())
      return Status::failed("interrupted");
    if (!options.svgPath.empty()) {
      const std::string svg = renderSvg(*report);
      const std::span<const std::byte> piece = std::as_bytes(std::span(svg));
      if (Status status = replaceFile(options.svgPath, std::span(&piece, 1)); !status.isOk())
        return status;
    }
    text = options.json ? renderJson(*report) : renderText(*report, isUtf8Locale(), terminalWidth());
  } catch (const std::bad_alloc &) {
    return Status::failed(options.path + ": out of memory");
  }
  return Status::ok();
}

std::string renderJson(const GraphReport &report) {
  using Json = nlohmann::ordered_json;
  const GraphSummary &graph = report.graph;
  Json root;
  root["format"] = "hector.info/1";
  root["file"] = report.path;
  root["source"] = report.source;
  root["nodes"] = graph.nodes;
  root["edges"] = graph.edges;
  root["isolated_nodes"] = graph.isolated;
  root["src_pairs"] = graph.srcPairs;
  root["dst_pairs"] = graph.dstPairs;
  root["src_pair_ratio"] = graph.srcPairRatio();
  root["dst_pair_ratio"] = graph.dstPairRatio();
  for (auto [key, degrees] : {std::pair("in_degree", &graph.in), std::pair("out_degree", &graph.out)}) {
    Json &item = root[key];
    item["min"] = degrees->min;
    item["median"] = degrees->median;
    item["mean"] = degrees->mean;
    item["p99"] = degrees->p99;
    item["max"] = degrees->max;
    item["histogram"] = Json::array();
    for (size_t bin = 0; bin < degrees->bins.size(); ++bin)
      item["histogram"].push_back({{"from", binFirst(bin)}, {"to", binLast(bin)}, {"nodes", degrees->bins[bin]}});
  }
  root["node_types"] = Json::array();
  for (const NodeTypeSummary &type : graph.nodeTypes)
    root["node_types"].push_back({{"name", type.name}, {"nodes", type.nodes}});
  root["edge_types"] = Json::array();
  for (const RelationSummary &relation : graph.relations)
    root["edge_types"].push_back({{"id", relation.id},
                                  {"name", relation.name},
                                  {"src", relation.src},
                                  {"dst", relation.dst},
                                  {"edges", relation.edges},
                                  {"src_pairs", relation.srcPairs},
                                  {"dst_pairs", relation.dstPairs}});
  root["memory"] = Json::array();
  for (const FormSummary &form : graph.forms)
    root["memory"].push_back({{"form", form.name}, {"bytes", form.bytes}});
  root["classes"] = report.classes ? Json(*report.classes) : Json();
  root["tensors"] = Json::array();
  for (const TensorSummary &tensor : report.tensors)
    root["tensors"].push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hector
