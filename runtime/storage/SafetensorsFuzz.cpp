/// Feeds arbitrary bytes to the reader, then uses everything it lets through.
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <cstdlib>

using namespace hector;

namespace {

void require(bool condition) {
  if (!condition)
    std::abort();
}

void touchGraph(const Graph &graph) {
  constexpr int64_t kAffordable = 1 << 16;
  // A file of a few bytes may have 2^24 relations, and forms with an entry for each take a second then.
  if (graph.numRelations() <= kAffordable) {
    (void)graph.srcTypeOfRelation();
    (void)graph.dstTypeOfRelation();
    require(graph.etypePtr().back() == graph.numEdges());
    require(graph.srcPairs().count() <= graph.numEdges());
    require(graph.dstPairs().count() <= graph.numEdges());
  }
  if (graph.numNodes() <= kAffordable) {
    require(graph.outgoing().ptr[graph.numNodes()] == graph.numEdges());
    require(graph.incoming().ptr[graph.numNodes()] == graph.numEdges());
    require(graph.ntypeOfNode().size() == graph.numNodes());
    require(graph.edgeColumn(EdgeColumn::Source, EdgeOrder::Destination).size() == graph.numEdges());
    require(graph.edgeColumn(EdgeColumn::Destination, EdgeOrder::File).size() == graph.numEdges());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A copy of its own on the heap, so that the sanitizer sees reads past the end.
  auto bytes = std::make_shared<std::vector<std::byte>>(reinterpret_cast<const std::byte *>(data),
                                                        reinterpret_cast<const std::byte *>(data) + size);
  Result<TensorFile> file = parseSafetensors(*bytes, "input", bytes);
  if (!file) {
    require(file.status().message().starts_with("input: byte "));
    return 0;
  }
  size_t covered = 0;
  for (const auto &[name, tensor] : file->tensors) {
    require(tensor.toDoubles().size() == static_cast<size_t>(tensor.numElements()));
    covered += tensor.numBytes();
  }
  require(covered <= size);
  if (Result<Graph> graph = Graph::fromTensors(*file))
    touchGraph(*graph);
  return 0;
}
