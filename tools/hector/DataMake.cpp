/// `hector data make`.

#include "DataMakeInfo.h"
#include "Progress.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/storage/Safetensors.h"

#include <chrono>
#include <cstdio>
#include <new>

namespace hector {

/// Sizes by name or by options, but not by both.
static Status chooseSizes(const DataMakeOptions &options, SyntheticOptions &graph) {
  if (!graph.name.empty()) {
    const NamedGraph *named = findNamedGraph(graph.name);
    if (!named) {
      std::string names;
      for (const NamedGraph &other : namedGraphs())
        names += (names.empty() ? "" : ", ") + std::string(other.name);
      return Status::invalid("there is no graph named " + inTicks(graph.name) + "; the names are " + names +
                             "; or give --nodes and --edges instead of a name");
    }
    for (auto [option, given] :
         {std::pair("--nodes", options.nodes.has_value()), std::pair("--node-types", options.nodeTypes.has_value()),
          std::pair("--edges", options.edges.has_value()), std::pair("--edge-types", options.edgeTypes.has_value())})
      if (given)
        return Status::invalid("`" + graph.name + "` settles the sizes, but " + option +
                               " is given as well; leave one of them out");
    graph.nodes = named->nodes;
    graph.nodeTypes = named->nodeTypes;
    graph.edges = named->edges;
    graph.edgeTypes = named->edgeTypes;
  } else {
    if (!options.nodes || !options.edges)
      return Status::invalid("the graph's size is missing; give --nodes and --edges, or a name such as `mag`");
    graph.nodes = *options.nodes;
    graph.edges = *options.edges;
    graph.nodeTypes = options.nodeTypes.value_or(1);
    graph.edgeTypes = options.edgeTypes.value_or(1);
  }
  graph.features = options.features.value_or(graph.classes > 0 ? std::max<int64_t>(64, graph.classes) : 0);
  return Status::ok();
}

Status makeData(const DataMakeOptions &options, std::string &summary) {
  const auto start = std::chrono::steady_clock::now();
  SyntheticOptions graph = options.graph;
  if (Status status = chooseSizes(options, graph); !status.isOk())
    return status;
  if (Status status = checkSynthetic(graph); !status.isOk())
    return status;
  if (Status status = requireMemory("the graph", syntheticBytes(graph)); !status.isOk())
    return status;
  ProgressLine progress("making the graph");
  try {
    Result<TensorFile> file = makeSynthetic(graph, [&](int64_t done, int64_t total) {
      progress.update(done, total);
      return interruptSignal() == 0;
    });
    if (!file)
      return std::move(file).status();
    progress.begin("writing " + options.outPath);
    int64_t bytes = 0;
    if (Status status = writeSafetensors(options.outPath, *file, &bytes); !status.isOk())
      return status;
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f s",
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    summary += options.outPath + ": " + withCommas(graph.nodes, "node", "nodes") + " of " +
               withCommas(graph.nodeTypes, "type", "types") + ", " + withCommas(graph.edges, "edge", "edges") + " of " +
               withCommas(graph.edgeTypes, "type", "types");
    if (graph.features > 0)
      summary += ", " + withCommas(graph.features, "feature", "features");
    if (const Tensor *labels = file->find("label"))
      summary += ", " + withCommas(labels->numElements(), "label", "labels") + " of " +
                 withCommas(graph.classes, "class", "classes");
    summary += "; " + formatBytes(bytes) + " in " + seconds + "\n";
  } catch (const std::bad_alloc &) {
    return Status::failed("out of memory: the graph needs " + formatBytes(syntheticBytes(graph)));
  }
  return Status::ok();
}

}  // namespace hector
