#include "runtime/graph/GraphFile.h"

#include "runtime/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace hector {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "graph/1";

/// The JSON text of a metadata entry as an array; a message where it is none.
Result<Json> arrayOf(const TensorFile &tensors, const std::string &key) {
  auto it = tensors.metadata.find(key);
  if (it == tensors.metadata.end())
    return Json();
  Json value = Json::parse(it->second, nullptr, /*allow_exceptions=*/false);
  if (!value.is_array())
    return Status::invalid("the metadata `" + key + "` is " + inTicks(it->second) + "; expected a JSON array");
  return value;
}

Result<std::vector<std::string>> namesOf(const TensorFile &tensors, const std::string &key) {
  Result<Json> array = arrayOf(tensors, key);
  if (!array)
    return array.status();
  std::vector<std::string> names;
  for (const Json &item : *array) {
    if (!item.is_string())
      return Status::invalid("entry " + std::to_string(names.size()) + " of the metadata `" + key + "` is " +
                             inTicks(item.dump(-1, ' ', true, Json::error_handler_t::replace)) + "; expected a name");
    names.push_back(item.get<std::string>());
  }
  return names;
}

Result<std::vector<EdgeType>> edgeTypesOf(const TensorFile &tensors) {
  Result<Json> array = arrayOf(tensors, "edge_types");
  if (!array)
    return array.status();
  std::vector<EdgeType> types;
  for (const Json &item : *array) {
    auto fail = [&](const std::string &expected) {
      return Status::invalid("entry " + std::to_string(types.size()) + " of the metadata `edge_types` is " +
                             inTicks(item.dump(-1, ' ', true, Json::error_handler_t::replace)) + "; expected " +
                             expected);
    };
    EdgeType type;
    if (item.is_string()) {
      type.name = item.get<std::string>();
    } else if (item.is_object()) {
      for (const auto &[key, value] : item.items()) {
        if ((key == "name" || key == "src" || key == "dst") && !value.is_string())
          return fail("text for `" + key + "`");
        if (key == "name")
          type.name = value.get<std::string>();
        else if (key == "src")
          type.src = value.get<std::string>();
        else if (key == "dst")
          type.dst = value.get<std::string>();
        else if (key == "inverse_of") {
          if (!value.is_number_unsigned() || value.get<uint64_t>() >= array->size())
            return fail("`inverse_of` to be the number of another edge type, 0 to " +
                        std::to_string(array->size() - 1));
          if (value.get<uint64_t>() == types.size())
            return fail("`inverse_of` to be the number of another edge type, not " + std::to_string(types.size()) +
                        ", its own");
          type.inverseOf = value.get<int64_t>();
        }
      }
      if (!item.contains("name"))
        return fail("a `name`");
    } else {
      return fail("a name, or {\"name\", \"src\", \"dst\"}");
    }
    types.push_back(std::move(type));
  }
  for (size_t r = 0; r < types.size(); ++r) {
    const int64_t of = types[r].inverseOf;
    if (of >= 0 && types[static_cast<size_t>(of)].inverseOf >= 0)
      return Status::invalid("entry " + std::to_string(r) + " of the metadata `edge_types`, " + inTicks(types[r].name) +
                             ", has `inverse_of` " + std::to_string(of) + ", but entry " + std::to_string(of) + ", " +
                             inTicks(types[static_cast<size_t>(of)].name) +
                             ", is an inverse itself; expected an edge type without `inverse_of`");
  }
  return types;
}

/// Gathers messages up to a limit.
class Findings {
public:
  explicit Findings(size_t limit) : limit(limit) {}
  bool full() const { return messages.size() >= limit; }
  void add(std::string message) {
    if (!full())
      messages.push_back(std::move(message));
  }
  std::vector<std::string> take() && { return std::move(messages); }

private:
  size_t limit;
  std::vector<std::string> messages;
};

/// A tensor of ids with one dimension; null, with a finding, where it is something else or absent.
const Tensor *idTensor(const TensorFile &tensors, const std::string &name, Findings &findings) {
  const Tensor *tensor = tensors.find(name);
  if (!tensor)
    return nullptr;
  if (tensor->dtype != DType::I64 && tensor->dtype != DType::I32) {
    findings.add(name + " holds " + std::string(hector::name(tensor->dtype)) + "; ids are stored as I64 or I32");
    return nullptr;
  }
  if (tensor->shape.size() != 1) {
    findings.add(name + " has shape " + formatShape(tensor->shape) + "; it must have one dimension");
    return nullptr;
  }
  return tensor;
}

/// Reports ids out of range and ids that occur twice. Returns whether there are none.
bool checkIds(const Tensor &ids, const std::string &name, int64_t numNodes, Findings &findings) {
  std::vector<int64_t> sorted;
  for (int64_t i = 0; i < ids.numElements(); ++i) {
    int64_t id = ids.intAt(i);
    if (id < 0 || id >= numNodes) {
      findings.add(name + "[" + std::to_string(i) + "] is " + std::to_string(id) + "; " +
                   (numNodes == 0 ? "the graph has no nodes" : "node ids are 0 to " + std::to_string(numNodes - 1)));
      return false;
    }
    sorted.push_back(id);
  }
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    findings.add(name + " has node " + std::to_string(*twice) + " twice; expected each node once");
  return twice == sorted.end();
}

/// Labels where nodes may have several: 1 where a node is of a class, else 0.
void checkLabelMatrix(const Tensor &label, size_t numClasses, Findings &findings) {
  const int64_t columns = label.shape[1];
  if (numClasses > 0 && columns != static_cast<int64_t>(numClasses))
    findings.add("label has " + counted(columns, "column") + ", but the metadata `label_names` has " +
                 counted(static_cast<int64_t>(numClasses), "name") + "; expected as many");
  for (int64_t i = 0; i < label.numElements(); ++i) {
    float value;
    std::memcpy(&value, label.bytes + i * static_cast<int64_t>(sizeof(float)), sizeof(float));
    if (value == 0 || value == 1)
      continue;
    return findings.add("label has " + std::to_string(value) + " in row " + std::to_string(i / columns) + ", column " +
                        std::to_string(i % columns) + "; expected 1 where the node is of the class, else 0");
  }
}

void checkLabels(const TensorFile &tensors, int64_t numNodes, size_t numClasses, Findings &findings) {
  const Tensor *label = tensors.find("label");
  const Tensor *node = idTensor(tensors, "label.node", findings);
  std::vector<int64_t> labelled;
  if (label) {
    const bool isMatrix = label->dtype == DType::F32 && label->shape.size() == 2;
    const bool isList = label->dtype == DType::I64 && label->shape.size() == 1;
    const bool sound = isList || isMatrix;
    if (!sound)
      findings.add("label holds " + std::string(name(label->dtype)) + " of shape " + formatShape(label->shape) +
                   "; expected I64 with one dimension, or F32 with a row for each labelled node and a column for each "
                   "class");
    const int64_t numRows = sound ? label->shape[0] : label->numElements();
    if (!tensors.find("label.node"))
      findings.add("label has " + (isMatrix ? counted(numRows, "row") : counted(numRows, "entry", "entries")) +
                   ", but label.node is missing; it says which nodes they belong to");
    if (sound && node && node->numElements() != numRows)
      findings.add("label has " + (isMatrix ? counted(numRows, "row") : counted(numRows, "entry", "entries")) +
                   ", but label.node has " + std::to_string(node->numElements()) +
                   "; each needs one for every labelled node");
    if (isMatrix)
      checkLabelMatrix(*label, numClasses, findings);
    for (int64_t i = 0; isList && i < label->numElements(); ++i)
      if (int64_t value = label->intAt(i); value < 0 || (numClasses > 0 && value >= static_cast<int64_t>(numClasses))) {
        findings.add("label[" + std::to_string(i) + "] is " + std::to_string(value) + "; " +
                     (numClasses > 0 ? "labels are 0 to " + std::to_string(numClasses - 1) : "labels start at 0"));
        break;
      }
  } else if (tensors.find("label.node")) {
    findings.add("label.node is there, but label is missing; it holds their labels");
  }
  if (node && checkIds(*node, "label.node", numNodes, findings))
    for (int64_t i = 0; i < node->numElements(); ++i)
      labelled.push_back(node->intAt(i));
  std::sort(labelled.begin(), labelled.end());

  std::vector<std::pair<int64_t, std::string>> seen;  // node, split
  for (const std::string split : {"split.train", "split.valid", "split.test"}) {
    const Tensor *ids = idTensor(tensors, split, findings);
    if (!ids || !checkIds(*ids, split, numNodes, findings))
      continue;
    for (int64_t i = 0; i < ids->numElements(); ++i) {
      int64_t id = ids->intAt(i);
      if (node && !std::binary_search(labelled.begin(), labelled.end(), id)) {
        findings.add(split + "[" + std::to_string(i) + "] is node " + std::to_string(id) +
                     ", which has no label; expected nodes of label.node");
        break;
      }
      seen.emplace_back(id, split);
    }
  }
  std::sort(seen.begin(), seen.end());
  for (size_t i = 1; i < seen.size(); ++i)
    if (seen[i].first == seen[i - 1].first) {
      findings.add("node " + std::to_string(seen[i].first) + " is in " + seen[i - 1].second + " and in " +
                   seen[i].second + "; expected it in one of them");
      break;
    }
}

void checkEdgeSplit(const TensorFile &tensors, int64_t numEdges, Findings &findings) {
  const Tensor *split = tensors.find("edge.split");
  if (!split)
    return;
  if (split->dtype != DType::U8 || split->shape != std::vector<int64_t>{numEdges})
    return findings.add("edge.split holds " + std::string(name(split->dtype)) + " of shape " +
                        formatShape(split->shape) + "; expected U8 of shape [" + std::to_string(numEdges) + "]");
  for (int64_t e = 0; e < numEdges; ++e)
    if (int64_t value = split->intAt(e); value > 2)
      return findings.add("edge.split[" + std::to_string(e) + "] is " + std::to_string(value) +
                          "; expected 0 (train), 1 (valid) or 2 (test)");
}

/// An edge between the ends that it has, or that its inverse has.
struct SplitEdge {
  int64_t head, tail, split, number;

  bool joinsLike(const SplitEdge &other) const {
    return head == other.head && tail == other.tail && split == other.split;
  }
  bool operator<(const SplitEdge &other) const {
    return std::tie(head, tail, split, number) < std::tie(other.head, other.tail, other.split, other.number);
  }
};

/// Inverse edges have the ends and the split of their originals; otherwise messages along them would tell what
/// validates or tests.
void checkInverseSplits(const TensorFile &tensors, const Graph &graph, const std::vector<EdgeType> &edgeTypes,
                        Findings &findings) {
  const Tensor *split = tensors.find("edge.split");
  if (!split || split->dtype != DType::U8 || split->shape != std::vector<int64_t>{graph.numEdges()})
    return;
  auto edgesOf = [&](size_t r, bool isTurned) {
    std::vector<SplitEdge> edges;
    for (int64_t e = graph.etypePtr()[r]; e < graph.etypePtr()[r + 1]; ++e) {
      const int64_t src = graph.src()[e], dst = graph.dst()[e], number = graph.edgeNumber(e);
      edges.push_back({isTurned ? dst : src, isTurned ? src : dst, split->intAt(number), number});
    }
    return edges;
  };
  for (size_t r = 0; r < edgeTypes.size() && !findings.full(); ++r) {
    if (edgeTypes[r].inverseOf < 0)
      continue;
    const auto of = static_cast<size_t>(edgeTypes[r].inverseOf);
    std::vector<SplitEdge> inverses = edgesOf(r, true), originals = edgesOf(of, false);
    if (inverses.size() != originals.size())  // `checkEnds` reports it
      continue;
    auto joinAlike = [](const SplitEdge &a, const SplitEdge &b) { return a.joinsLike(b); };
    // Files that `data import` wrote have both in one order.
    if (std::equal(inverses.begin(), inverses.end(), originals.begin(), joinAlike))
      continue;
    std::sort(inverses.begin(), inverses.end());
    std::sort(originals.begin(), originals.end());
    const SplitEdge *first = nullptr;
    for (size_t i = 0, k = 0; i < inverses.size(); ++i) {
      const auto key = [](const SplitEdge &edge) { return std::tie(edge.head, edge.tail, edge.split); };
      while (k < originals.size() && key(originals[k]) < key(inverses[i]))
        ++k;
      if (k < originals.size() && originals[k].joinsLike(inverses[i]))
        ++k;
      else if (!first || inverses[i].number < first->number)
        first = &inverses[i];
    }
    if (!first)
      continue;
    constexpr const char *kSplits[] = {"train", "valid", "test"};
    const std::string word = first->split <= 2 ? kSplits[first->split] : std::to_string(first->split);
    findings.add("edge " + std::to_string(first->number) + " of edge type " + std::to_string(r) + " " +
                 inTicks(edgeTypes[r].name) + " leads from node " + std::to_string(first->tail) + " to node " +
                 std::to_string(first->head) + " in the split " + word + ", but edge type " + std::to_string(of) + " " +
                 inTicks(edgeTypes[of].name) + ", of which it is the inverse, has no such edge from node " +
                 std::to_string(first->head) + " to node " + std::to_string(first->tail) + " in " + word +
                 "; expected inverse edges with the ends and the split of their originals");
  }
}

/// Names of classes tell them apart.
void checkClassNames(const std::vector<std::string> &names, Findings &findings) {
  std::map<std::string, size_t> seen;
  for (size_t c = 0; c < names.size(); ++c) {
    if (names[c].empty())
      return findings.add("entry " + std::to_string(c) + " of the metadata `label_names` is empty; expected a name");
    if (const auto [first, isNew] = seen.emplace(names[c], c); !isNew)
      return findings.add("entries " + std::to_string(first->second) + " and " + std::to_string(c) +
                          " of the metadata `label_names` are both " + inTicks(names[c]) +
                          "; expected different names");
  }
}

void checkNames(const TensorFile &tensors, int64_t numNodes, bool deep, Findings &findings) {
  const Tensor *bytes = tensors.find("names.bytes");
  const Tensor *offsets = idTensor(tensors, "names.offsets", findings);
  if (!bytes && !tensors.find("names.offsets"))
    return;
  if (!bytes || !tensors.find("names.offsets")) {
    findings.add(std::string(bytes ? "names.offsets" : "names.bytes") + " is missing, but " +
                 (bytes ? "names.bytes" : "names.offsets") + " is there; names need both");
    return;
  }
  if (bytes->dtype != DType::U8 || bytes->shape.size() != 1)
    return findings.add("names.bytes holds " + std::string(name(bytes->dtype)) + " of shape " +
                        formatShape(bytes->shape) + "; expected U8 with one dimension");
  if (!offsets)
    return;
  if (offsets->numElements() != numNodes + 1)
    return findings.add("names.offsets has " + counted(offsets->numElements(), "entry", "entries") + "; " +
                        counted(numNodes, "node") + " need " + std::to_string(numNodes + 1));
  int64_t last = 0;
  for (int64_t i = 0; i <= numNodes; ++i) {
    int64_t offset = offsets->intAt(i);
    if (offset < last || offset > bytes->numElements() || (i == 0 && offset != 0))
      return findings.add(
          "names.offsets[" + std::to_string(i) + "] is " + std::to_string(offset) + "; expected " +
          (i == 0 ? "0" : "a number from " + std::to_string(last) + " to " + std::to_string(bytes->numElements())));
    last = offset;
  }
  if (last != bytes->numElements())
    return findings.add("names.offsets ends at " + std::to_string(last) + ", but names.bytes has " +
                        counted(bytes->numElements(), "byte") + "; expected them to agree");
  if (!deep)
    return;
  const char *text = reinterpret_cast<const char *>(bytes->bytes);
  for (int64_t i = 0; i < numNodes; ++i) {
    std::string_view name(text + offsets->intAt(i), static_cast<size_t>(offsets->intAt(i + 1) - offsets->intAt(i)));
    if (validUtf8Prefix(name) != name.size())
      return findings.add("the name of node " + std::to_string(i) + " is " + inTicks(name) + "; expected UTF-8");
  }
}

void checkFeatures(const TensorFile &tensors, const Graph &graph, const std::vector<std::string> &nodeTypes, bool deep,
                   Findings &findings) {
  for (const auto &[name, tensor] : tensors.tensors) {
    int64_t rows;
    if (name == "x") {
      rows = graph.numNodes();
    } else if (name.starts_with("feat.")) {
      auto type = std::find(nodeTypes.begin(), nodeTypes.end(), name.substr(5));
      if (type == nodeTypes.end()) {
        findings.add(name + " is for a node type that the graph does not have; expected one of node_types");
        continue;
      }
      auto ptr = graph.ntypePtr().subspan(static_cast<size_t>(type - nodeTypes.begin()));
      rows = ptr[1] - ptr[0];
    } else {
      continue;
    }
    if (!isFloat(tensor.dtype) || tensor.shape.size() != 2 || tensor.shape[0] != rows) {
      findings.add(name + " holds " + std::string(hector::name(tensor.dtype)) + " of shape " +
                   formatShape(tensor.shape) + "; expected floats with " + counted(rows, "row") +
                   " and two dimensions");
      continue;
    }
    if (!deep || tensor.dtype != DType::F32)
      continue;
    for (int64_t i = 0; i < tensor.numElements(); ++i) {
      float value;
      std::memcpy(&value, tensor.bytes + i * sizeof(float), sizeof(float));
      if (!std::isfinite(value)) {
        findings.add(name + " has " + (std::isnan(value) ? "a NaN" : "an infinity") + " in row " +
                     std::to_string(i / tensor.shape[1]) + ", column " + std::to_string(i % tensor.shape[1]) +
                     "; expected numbers");
        break;
      }
    }
  }
}

/// The edges of each relation join the node types that its description names.
void checkEnds(const Graph &graph, const std::vector<std::string> &nodeTypes, const std::vector<EdgeType> &edgeTypes,
               Findings &findings) {
  for (size_t r = 0; r < edgeTypes.size(); ++r) {
    const EdgeType &type = edgeTypes[r];
    const std::string what = "edge type " + std::to_string(r) + " " + inTicks(type.name);
    for (bool atSource : {true, false}) {
      const std::string &end = atSource ? type.src : type.dst;
      if (end.empty())
        continue;
      auto it = std::find(nodeTypes.begin(), nodeTypes.end(), end);
      const char *word = atSource ? "sources" : "destinations";
      if (it == nodeTypes.end()) {
        findings.add(what + " has " + word + " of type " + inTicks(end) + ", which is none of node_types");
        continue;
      }
      auto ptr = graph.ntypePtr().subspan(static_cast<size_t>(it - nodeTypes.begin()));
      const IdArray &ids = atSource ? graph.src() : graph.dst();
      // Those of one type keep the order of the file, so the first one found here is the first one there.
      for (int64_t e = graph.etypePtr()[r]; e < graph.etypePtr()[r + 1]; ++e)
        if (ids[e] < ptr[0] || ids[e] >= ptr[1]) {
          findings.add(what + " has " + word + " of type " + inTicks(end) + ", which are nodes " +
                       std::to_string(ptr[0]) + " to " + std::to_string(ptr[1] - 1) + ", but edge " +
                       std::to_string(graph.edgeNumber(e)) + " has node " + std::to_string(ids[e]));
          break;
        }
    }
    if (type.inverseOf >= 0) {
      auto size = [&](size_t k) { return graph.etypePtr()[k + 1] - graph.etypePtr()[k]; };
      auto other = static_cast<size_t>(type.inverseOf);
      if (size(r) != size(other))
        findings.add(what + " has " + counted(size(r), "edge") + ", but edge type " + std::to_string(other) + " " +
                     inTicks(edgeTypes[other].name) + ", of which it is the inverse, has " +
                     std::to_string(size(other)));
    }
    if (findings.full())
      return;
  }
}

/// Tells the graph which node types the descriptions of its relations name.
void tellEnds(Graph &graph, const std::vector<std::string> &nodeTypes, const std::vector<EdgeType> &edgeTypes) {
  auto typeOf = [&](const std::string &name) {
    auto it = std::find(nodeTypes.begin(), nodeTypes.end(), name);
    return name.empty() || it == nodeTypes.end() ? int64_t{-1} : static_cast<int64_t>(it - nodeTypes.begin());
  };
  std::vector<int64_t> src, dst;
  for (const EdgeType &type : edgeTypes) {
    src.push_back(typeOf(type.src));
    dst.push_back(typeOf(type.dst));
  }
  graph.nameEnds(std::move(src), std::move(dst));
}

/// Where no node type says how many nodes there are, `x` does.
Result<Graph> graphWith(const TensorFile &tensors, int64_t numRelations) {
  const Tensor *x = tensors.find("x");
  if (x && !x->shape.empty() && !tensors.find("graph.ntype_ptr"))
    if (Result<Graph> graph = Graph::fromTensors(tensors, numRelations, x->shape[0]))
      return graph;
  return Graph::fromTensors(tensors, numRelations);
}

Status checkNodeTypes(int64_t numNames, const Graph &graph) {
  if (numNames == graph.numNodeTypes())
    return Status::ok();
  return Status::invalid("the metadata `node_types` has " + counted(numNames, "name") + ", but graph.ntype_ptr has " +
                         counted(graph.numNodeTypes(), "type") + "; expected as many");
}

struct Described {
  GraphContents contents;
  std::optional<Graph> graph;
};

/// Reads the whole of it; `deep` also looks at every name and every feature. A graph that was already read from it is
/// taken as it is.
Described describe(const TensorFile &tensors, bool deep, Findings &findings, const Graph *known = nullptr) {
  Described out;
  GraphContents &contents = out.contents;
  if (auto it = tensors.metadata.find("hector.format"); it != tensors.metadata.end() && it->second != kFormat)
    findings.add("the metadata `hector.format` is " + inTicks(it->second) + "; this version reads `graph/1`");
  auto keep = [&](auto result, auto &field) {
    const bool isSound = bool(result);
    if (isSound)
      field = std::move(*result);
    else
      findings.add(result.status().message());
    return isSound;
  };
  // What needs types that cannot be read is not checked: one mistake is one finding.
  const bool soundNodeTypes = keep(namesOf(tensors, "node_types"), contents.nodeTypes);
  keep(namesOf(tensors, "label_names"), contents.labelNames);
  const bool soundEdgeTypes = keep(edgeTypesOf(tensors), contents.edgeTypes);
  if (auto it = tensors.metadata.find("source"); it != tensors.metadata.end())
    contents.source = it->second;

  const bool hasEdgeTypes = soundEdgeTypes && tensors.metadata.contains("edge_types");
  const int64_t numRelations = hasEdgeTypes ? static_cast<int64_t>(contents.edgeTypes.size()) : -1;
  Result<Graph> graph = known ? *known : graphWith(tensors, numRelations);
  if (!graph) {
    findings.add(graph.status().message());
    return out;
  }
  if (!tensors.metadata.contains("node_types"))
    for (int64_t t = 0; t < graph->numNodeTypes(); ++t)
      contents.nodeTypes.push_back(graph->numNodeTypes() == 1 ? "node" : "node" + std::to_string(t));
  if (!hasEdgeTypes && graph->hasFewRelations())
    for (int64_t r = 0; r < graph->numRelations(); ++r)
      contents.edgeTypes.push_back({.name = "relation" + std::to_string(r), .src = "", .dst = ""});
  if (Status status = checkNodeTypes(static_cast<int64_t>(contents.nodeTypes.size()), *graph);
      soundNodeTypes && !status.isOk()) {
    findings.add(status.message());
    return out;
  }
  std::set<std::string> distinct(contents.nodeTypes.begin(), contents.nodeTypes.end());
  if (distinct.size() != contents.nodeTypes.size())
    findings.add("the metadata `node_types` has a name twice; expected different names");
  if (hasEdgeTypes && soundNodeTypes) {
    checkEnds(*graph, contents.nodeTypes, contents.edgeTypes, findings);
    if (!known)
      tellEnds(*graph, contents.nodeTypes, contents.edgeTypes);
  }
  checkNames(tensors, graph->numNodes(), deep, findings);
  if (soundNodeTypes)
    checkFeatures(tensors, *graph, contents.nodeTypes, deep, findings);
  checkLabels(tensors, graph->numNodes(), contents.labelNames.size(), findings);
  checkEdgeSplit(tensors, graph->numEdges(), findings);
  if (hasEdgeTypes)
    checkInverseSplits(tensors, *graph, contents.edgeTypes, findings);
  if (deep)
    checkClassNames(contents.labelNames, findings);
  out.graph = std::move(*graph);
  return out;
}

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Makes the metadata from the fields.
void fillMetadata(GraphContents &contents) {
  Json edgeTypes = Json::array();
  for (const EdgeType &type : contents.edgeTypes) {
    Json item = {{"name", type.name}};
    if (!type.src.empty())
      item["src"] = type.src;
    if (!type.dst.empty())
      item["dst"] = type.dst;
    if (type.inverseOf >= 0)
      item["inverse_of"] = type.inverseOf;
    edgeTypes.push_back(std::move(item));
  }
  auto &metadata = contents.tensors.metadata;
  metadata["hector.format"] = kFormat;
  metadata["node_types"] = dump(Json(contents.nodeTypes));
  metadata["edge_types"] = dump(edgeTypes);
  if (!contents.labelNames.empty())
    metadata["label_names"] = dump(Json(contents.labelNames));
  if (!contents.source.empty())
    metadata["source"] = contents.source;
}

}  // namespace

std::string_view GraphContents::nodeName(int64_t node) const {
  const Tensor *offsets = tensors.find("names.offsets");
  const Tensor *bytes = tensors.find("names.bytes");
  if (!offsets || !bytes || node < 0 || node + 1 >= offsets->numElements())
    return {};
  int64_t begin = offsets->intAt(node), end = offsets->intAt(node + 1);
  if (begin < 0 || begin > end || end > bytes->numElements())
    return {};
  return {reinterpret_cast<const char *>(bytes->bytes) + begin, static_cast<size_t>(end - begin)};
}

Result<int64_t> numNamedRelations(const TensorFile &tensors) {
  Result<Json> types = arrayOf(tensors, "edge_types");
  if (!types)
    return types.status();
  return types->is_null() ? int64_t{-1} : static_cast<int64_t>(types->size());
}

bool isGraphFile(const TensorFile &tensors) {
  return tensors.metadata.contains("hector.format");
}

Result<Graph> readGraph(const TensorFile &tensors, int64_t numRelations, int64_t numNodes) {
  Result<int64_t> named = numNamedRelations(tensors);
  if (!named)
    return named.status();
  Result<Json> nodeTypes = arrayOf(tensors, "node_types");
  if (!nodeTypes)
    return nodeTypes.status();
  if (*named >= 0)
    numRelations = *named;
  Result<Graph> graph = numNodes < 0 && isGraphFile(tensors) ? graphWith(tensors, numRelations)
                                                             : Graph::fromTensors(tensors, numRelations, numNodes);
  if (graph && !nodeTypes->is_null())
    if (Status status = checkNodeTypes(static_cast<int64_t>(nodeTypes->size()), *graph); !status.isOk())
      return status;
  return graph;
}

Status nameEnds(const TensorFile &tensors, Graph &graph) {
  if (!tensors.metadata.contains("edge_types"))
    return Status::ok();
  Result<std::vector<std::string>> nodeTypes = namesOf(tensors, "node_types");
  if (!nodeTypes)
    return nodeTypes.status();
  Result<std::vector<EdgeType>> edgeTypes = edgeTypesOf(tensors);
  if (!edgeTypes)
    return edgeTypes.status();
  Findings findings(1);
  checkEnds(graph, *nodeTypes, *edgeTypes, findings);
  if (findings.full())
    return Status::invalid(std::move(findings).take().front());
  tellEnds(graph, *nodeTypes, *edgeTypes);
  return Status::ok();
}

Result<GraphFile> graphFromTensors(TensorFile tensors, const std::string &name) {
  Findings findings(1);
  Described described = describe(tensors, /*deep=*/false, findings);
  if (findings.full())
    return Status::invalid(name + ": " + std::move(findings).take().front());
  described.contents.tensors = std::move(tensors);
  return GraphFile(std::move(described.contents), std::move(*described.graph));
}

Status checkContents(const TensorFile &tensors, const Graph &graph) {
  Findings findings(1);
  describe(tensors, /*deep=*/false, findings, &graph);
  return findings.full() ? Status::invalid(std::move(findings).take().front()) : Status::ok();
}

Result<GraphFile> loadGraphFile(const std::string &path) {
  Result<TensorFile> tensors = readSafetensors(path);
  if (!tensors)
    return tensors.status();
  return graphFromTensors(std::move(*tensors), path);
}

Status saveGraphFile(const std::string &path, GraphContents contents) {
  fillMetadata(contents);
  return writeSafetensors(path, contents.tensors);
}

std::vector<std::string> checkGraph(const TensorFile &tensors, size_t limit) {
  Findings findings(limit);
  describe(tensors, /*deep=*/true, findings);
  return std::move(findings).take();
}

std::vector<std::string> checkGraph(const GraphContents &contents, size_t limit) {
  GraphContents copy = contents;
  fillMetadata(copy);
  return checkGraph(copy.tensors, limit);
}

}  // namespace hector
