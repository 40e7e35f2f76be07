/// Checks edges on the way in and keeps the forms derived from them.
#include "runtime/graph/Graph.h"

#include "kernels/common/domains.hpp"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/graph/DerivedForms.h"
#include "runtime/storage/Safetensors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace hector {

namespace {

constexpr int64_t kEdgeGrain = int64_t{1} << 18;  // edges per chunk of loops that do little for each

constexpr std::array<std::string_view, 4> kArrays = {"graph.src", "graph.dst", "graph.etype", "graph.ntype_ptr"};

/// Ids as they come in: 32 or 64 bits, aligned or not, or all zero. Elements are checked as they are copied, never read
/// twice: the memory may be a mapped file that somebody else changes.
class IdSource {
public:
  static IdSource zeros(int64_t size) { return IdSource(nullptr, false, size); }
  explicit IdSource(std::span<const int64_t> ids)
      : IdSource(reinterpret_cast<const std::byte *>(ids.data()), true, static_cast<int64_t>(ids.size())) {}
  explicit IdSource(const Tensor &tensor) : IdSource(tensor.bytes, tensor.dtype == DType::I64, tensor.numElements()) {}

  int64_t size() const { return count; }
  int64_t operator[](int64_t i) const {
    if (!bytes)
      return 0;
    return isWide ? load<int64_t>(i) : load<int32_t>(i);
  }

private:
  IdSource(const std::byte *bytes, bool isWide, int64_t count) : bytes(bytes), isWide(isWide), count(count) {}
  template <class T> int64_t load(int64_t i) const {
    T id;
    std::memcpy(&id, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return id;
  }

  const std::byte *bytes;
  bool isWide;
  int64_t count;
};

std::string element(std::string_view array, int64_t i) {
  return std::string(array) + "[" + std::to_string(i) + "]";
}

/// "node ids are 0 to 9", also where there are none.
std::string allowedRange(std::string_view ids, std::string_view things, int64_t count) {
  if (count == 0)
    return "the graph has no " + std::string(things);
  return std::string(ids) + " are 0 to " + std::to_string(count - 1);
}

/// Copies ids in parallel. All must be below `count`; `explain(i, id)` says what is wrong with the first that is not.
template <class F> Result<IdArray> copyIds(const IdSource &ids, int64_t count, int64_t limit, F &&explain) {
  struct Wrong {
    int64_t place = -1, id = 0;
  };
  auto copy = [&]<class Id>(BigVector<Id> copied) -> Result<IdArray> {
    std::vector<Wrong> wrong(static_cast<size_t>(numChunks(ids.size(), kEdgeGrain)));
    parallelFor(ids.size(), kEdgeGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t id = ids[i];
        if (id < 0 || id >= count) {
          wrong[begin / kEdgeGrain] = {i, id};
          return;
        }
        copied[i] = static_cast<Id>(id);
      }
    });
    for (const Wrong &first : wrong)
      if (first.place >= 0)
        return explain(first.place, first.id);
    return IdArray(std::move(copied));
  };
  const auto size = static_cast<size_t>(ids.size());
  const bool isWide = limit - 1 > std::numeric_limits<int32_t>::max();
  return isWide ? copy(BigVector<int64_t>(size)) : copy(BigVector<int32_t>(size));
}

Result<IdArray> copyNodeIds(const IdSource &ids, std::string_view array, int64_t numNodes, int64_t limit) {
  return copyIds(ids, numNodes, limit, [&](int64_t i, int64_t id) {
    return Status::invalid(element(array, i) + " is " + std::to_string(id) + "; " +
                           allowedRange("node ids", "nodes", numNodes));
  });
}

Result<IdArray> copyTypes(const IdSource &types, int64_t numRelations, int64_t limit) {
  return copyIds(types, numRelations, limit, [&](int64_t i, int64_t type) {
    return Status::invalid(element("graph.etype", i) + " is " + std::to_string(type) + "; " +
                           allowedRange("edge types", "relations", numRelations));
  });
}

/// The edges by type, those of one type in their order; empty where that is the order they are in.
IdArray orderByType(const IdArray &types, int64_t numRelations) {
  return types.visit([&]<class Id>(std::span<const Id> ids) -> IdArray {
    if (std::is_sorted(ids.begin(), ids.end()))
      return IdArray();
    // Counting takes memory for each relation, so where they outnumber the edges those are compared.
    if (numRelations <= types.size())
      return std::move(groupByNode(ids, numRelations).edges);
    BigVector<Id> order(ids.size());
    std::iota(order.begin(), order.end(), Id{0});
    std::sort(order.begin(), order.end(), [&](Id a, Id b) { return ids[a] != ids[b] ? ids[a] < ids[b] : a < b; });
    return IdArray(std::move(order));
  });
}

Result<std::vector<int64_t>> copyNodeTypes(const IdSource &ptr) {
  if (ptr.size() == 0)
    return Status::invalid("graph.ntype_ptr is empty; it holds a 0, then the end of each node type");
  std::vector<int64_t> copy(static_cast<size_t>(ptr.size()));
  for (int64_t i = 0; i < ptr.size(); ++i) {
    int64_t start = copy[i] = ptr[i];
    if (i == 0 && start != 0)
      return Status::invalid("graph.ntype_ptr[0] is " + std::to_string(start) + "; it must be 0");
    if (i > 0 && start < copy[i - 1])
      return Status::invalid(element("graph.ntype_ptr", i) + " is " + std::to_string(start) + ", but " +
                             element("graph.ntype_ptr", i - 1) + " is " + std::to_string(copy[i - 1]) +
                             "; it must not decrease");
    if (start > Graph::kMaxNodes)
      return Status::invalid(element("graph.ntype_ptr", i) + " is " + std::to_string(start) + "; at most " +
                             std::to_string(Graph::kMaxNodes) + " nodes are supported");
  }
  return copy;
}

/// Built by the first caller; others wait for it.
template <class T> class Lazy {
public:
  template <class F> const T &get(F &&build) {
    std::call_once(once, [&] {
      value.emplace(build());
      isBuilt.store(true, std::memory_order_release);
    });
    return *value;
  }
  /// Takes the value of another one, if it has one by now.
  void takeFrom(const Lazy &other) {
    if (other.isBuilt.load(std::memory_order_acquire))
      get([&] { return *other.value; });
  }

private:
  std::once_flag once;
  std::atomic<bool> isBuilt = false;
  std::optional<T> value;
};

}  // namespace

IdArray IdArray::make(int64_t size, int64_t limit) {
  if (limit - 1 <= std::numeric_limits<int32_t>::max())
    return IdArray(BigVector<int32_t>(static_cast<size_t>(size), 0));
  return IdArray(BigVector<int64_t>(static_cast<size_t>(size), 0));
}

/// What a graph is, and all of its forks.
struct GraphEdges {
  int64_t numNodes = 0;
  int64_t numRelations = 0;
  int64_t limit = 0;  // what `IdArray::make` is given for every array
  std::vector<int64_t> ntypePtr;
  IdArray src;
  IdArray dst;
  IdArray etype;
  IdArray edgeNumbers;                      // empty: 0, 1, 2 …
  std::vector<int64_t> namedSrc, namedDst;  // node types of relations, -1 if unknown; empty: all are
};

struct Graph::Data : GraphEdges {
  Lazy<std::vector<int64_t>> etypePtr;
  Lazy<EdgeIndex> outgoing;
  Lazy<EdgeIndex> incoming;
  Lazy<Pairs> srcPairs;
  Lazy<Pairs> dstPairs;
  Lazy<PairIndex> srcPairsByNode;
  Lazy<PairIndex> dstPairsByNode;
  Lazy<IdArray> outDegreeOrder;
  Lazy<IdArray> inDegreeOrder;
  Lazy<IdArray> ntypeOfNode;
  Lazy<IdArray> identity;
  Lazy<IdArray> srcPairFirsts;
  Lazy<IdArray> dstPairFirsts;
  Lazy<IdArray> srcPlaceNodes;
  Lazy<IdArray> dstPlaceNodes;
  Lazy<IdArray> edgeTypeStarts;
  Lazy<IdArray> nodeTypeStarts;
  Lazy<Result<IdArray>> srcTypeOfRelation;
  Lazy<Result<IdArray>> dstTypeOfRelation;
  std::mutex mapsMutex;  // guards the maps, not their entries
  std::map<std::pair<TileRows, int64_t>, Lazy<Tiles>> tiles;
  std::map<std::pair<EdgeOrder, EdgeOrder>, Lazy<IdArray>> permutations;
  std::map<std::pair<EdgeColumn, EdgeOrder>, Lazy<IdArray>> columns;
  /// The entry of one of the maps.
  template <class Map> typename Map::mapped_type &entry(Map &map, const typename Map::key_type &key) {
    std::lock_guard lock(mapsMutex);
    return map[key];
  }

  /// Takes what another one has derived by now.
  void takeFrom(Data &other);

  static Result<std::shared_ptr<Data>> build(const IdSource &src, const IdSource &dst, const IdSource &etype,
                                             const IdSource &ntypePtr, int64_t numRelations, IdWidth width);
  /// The type that holds `node`: the last one that starts at or before it, so never an empty one.
  int64_t typeOf(int64_t node) const {
    return std::upper_bound(ntypePtr.begin(), ntypePtr.end(), node) - ntypePtr.begin() - 1;
  }
  EdgeIndex index(const IdArray &ends) const {
    return ends.visit([&](auto nodes) { return groupByNode(nodes, numNodes); });
  }
  Pairs pairs(const IdArray &ends, std::span<const int64_t> etypePtr) const {
    return ends.visit([&](auto nodes) { return findPairs(nodes, etypePtr); });
  }
  IdArray starts(std::span<const int64_t> ptr) const {
    IdArray copy = IdArray::make(static_cast<int64_t>(ptr.size()), limit);
    for (size_t type = 0; type < ptr.size(); ++type)
      copy.set(static_cast<int64_t>(type), ptr[type]);
    return copy;
  }
  IdArray identityOf(int64_t size) const;
  IdArray pairFirsts(const Pairs &pairs) const;
  Result<IdArray> typeOfRelation(const IdArray &ends, std::span<const int64_t> etypePtr, std::span<const int64_t> named,
                                 std::string_view endName) const;
};

Result<std::shared_ptr<Graph::Data>> Graph::Data::build(const IdSource &src, const IdSource &dst, const IdSource &etype,
                                                        const IdSource &ntypePtr, int64_t numRelations, IdWidth width) {
  auto checkLength = [&](const IdSource &array, std::string_view name) {
    if (array.size() == src.size())
      return Status::ok();
    return Status::invalid("graph.src has " + counted(src.size(), "entry", "entries") + ", but " + std::string(name) +
                           " has " + std::to_string(array.size()) + "; each needs one for every edge");
  };
  if (Status status = checkLength(dst, "graph.dst"); !status.isOk())
    return status;
  if (Status status = checkLength(etype, "graph.etype"); !status.isOk())
    return status;
  if (numRelations < 0 || numRelations > kMaxRelations)
    return Status::invalid("the graph is to have " + std::to_string(numRelations) + " relations; 0 to " +
                           std::to_string(kMaxRelations) + " are supported");

  auto data = std::make_shared<Data>();
  Result<std::vector<int64_t>> nodeTypes = copyNodeTypes(ntypePtr);
  if (!nodeTypes)
    return nodeTypes.status();
  data->ntypePtr = std::move(*nodeTypes);
  data->numNodes = data->ntypePtr.back();
  data->numRelations = numRelations;
  // One more than the largest count, so that counts fit as well as ids.
  data->limit = width == IdWidth::Wide
                    ? std::numeric_limits<int64_t>::max()
                    : std::max({data->numNodes, src.size() + common::kEdgesBehind, numRelations, ntypePtr.size()}) + 1;
  Result<IdArray> sources = copyNodeIds(src, "graph.src", data->numNodes, data->limit);
  if (!sources)
    return sources.status();
  Result<IdArray> destinations = copyNodeIds(dst, "graph.dst", data->numNodes, data->limit);
  if (!destinations)
    return destinations.status();
  Result<IdArray> types = copyTypes(etype, numRelations, data->limit);
  if (!types)
    return types.status();
  data->src = std::move(*sources);
  data->dst = std::move(*destinations);
  data->etype = std::move(*types);
  data->edgeNumbers = orderByType(data->etype, numRelations);
  if (data->edgeNumbers.size() > 0)
    for (IdArray *array : {&data->src, &data->dst, &data->etype})
      *array = gather(*array, data->edgeNumbers);
  return data;
}

void Graph::Data::takeFrom(Data &other) {
  auto take = [&](auto... members) { ((this->*members).takeFrom(other.*members), ...); };
  take(&Data::etypePtr, &Data::outgoing, &Data::incoming, &Data::srcPairs, &Data::dstPairs, &Data::srcPairsByNode,
       &Data::dstPairsByNode, &Data::outDegreeOrder, &Data::inDegreeOrder, &Data::ntypeOfNode, &Data::identity,
       &Data::srcPairFirsts, &Data::dstPairFirsts, &Data::srcPlaceNodes, &Data::dstPlaceNodes, &Data::edgeTypeStarts,
       &Data::nodeTypeStarts, &Data::srcTypeOfRelation, &Data::dstTypeOfRelation);
  std::lock_guard lock(other.mapsMutex);
  auto takeEntries = [](auto &mine, const auto &theirs) {
    for (const auto &[key, form] : theirs)
      mine[key].takeFrom(form);
  };
  takeEntries(tiles, other.tiles);
  takeEntries(permutations, other.permutations);
  takeEntries(columns, other.columns);
}

IdArray Graph::Data::identityOf(int64_t size) const {
  return etype.visit([&]<class Id>(std::span<const Id>) {
    BigVector<Id> ids(static_cast<size_t>(size));
    parallelFor(size, kEdgeGrain, [&](int64_t begin, int64_t end) {
      std::iota(ids.begin() + begin, ids.begin() + end, static_cast<Id>(begin));
    });
    return IdArray(std::move(ids));
  });
}

IdArray Graph::Data::pairFirsts(const Pairs &pairs) const {
  return pairs.ofEdge.visit([&]<class Id>(std::span<const Id> ofEdge) {
    BigVector<Id> firsts(static_cast<size_t>(pairs.count()));
    parallelFor(pairs.count(), kEdgeGrain, [&](int64_t begin, int64_t end) {
      std::fill(firsts.begin() + begin, firsts.begin() + end, std::numeric_limits<Id>::max());
    });
    const bool isFileOrder = edgeNumbers.size() == 0;
    parallelFor(static_cast<int64_t>(ofEdge.size()), kEdgeGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const auto number = static_cast<Id>(isFileOrder ? e : edgeNumbers[e]);
        // Numbers rise within a relation, so that a chunk lowers an entry at most once.
        std::atomic_ref first(firsts[ofEdge[e]]);
        Id known = first.load(std::memory_order_relaxed);
        while (number < known && !first.compare_exchange_weak(known, number, std::memory_order_relaxed))
          ;
      }
    });
    return IdArray(std::move(firsts));
  });
}

Result<IdArray> Graph::Data::typeOfRelation(const IdArray &ends, std::span<const int64_t> etypePtr,
                                            std::span<const int64_t> named, std::string_view endName) const {
  if (ntypePtr.size() == 1 && numRelations > 0)
    return Status::invalid("the model asks for the node types that a relation joins, but the graph has no node type");
  IdArray types = IdArray::make(numRelations, limit);
  for (int64_t relation = 0; relation < numRelations; ++relation)
    if (etypePtr[relation] < etypePtr[relation + 1])
      types.set(relation, typeOf(ends[etypePtr[relation]]));
    else if (!named.empty())
      types.set(relation, std::max<int64_t>(named[relation], 0));
  // The first edge of each chunk whose end has another type than its relation's first edge.
  std::vector<int64_t> odd(static_cast<size_t>(numChunks(ends.size(), kEdgeGrain)), -1);
  ends.visit([&](auto nodes) {
    parallelFor(ends.size(), kEdgeGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end;) {
        const int64_t relation = etype[e], stop = std::min(end, etypePtr[relation + 1]), type = types[relation];
        const int64_t first = ntypePtr[type], last = ntypePtr[type + 1];
        for (; e < stop; ++e)
          if (nodes[e] < first || nodes[e] >= last) {
            odd[begin / kEdgeGrain] = e;
            return;
          }
      }
    });
  });
  for (int64_t e : odd)
    if (e >= 0) {
      auto describe = [&](int64_t edge) {
        const int64_t number = edgeNumbers.size() == 0 ? edge : edgeNumbers[edge];
        return "edge " + std::to_string(number) + " has node " + std::to_string(ends[edge]) + " of type " +
               std::to_string(typeOf(ends[edge]));
      };
      return Status::invalid("relation " + std::to_string(etype[e]) + " has " + std::string(endName) +
                             " of several node types: " + describe(etypePtr[etype[e]]) + ", " + describe(e) +
                             "; give each combination of node types a relation of its own");
    }
  return types;
}

Result<Graph> Graph::create(std::span<const int64_t> src, std::span<const int64_t> dst, std::span<const int64_t> etype,
                            std::span<const int64_t> ntypePtr, int64_t numRelations, IdWidth width) {
  auto data = Data::build(IdSource(src), IdSource(dst), IdSource(etype), IdSource(ntypePtr), numRelations, width);
  if (!data)
    return data.status();
  return Graph(std::move(*data));
}

Result<Graph> Graph::fromTensors(const TensorFile &file, int64_t numRelations, int64_t numNodes, IdWidth width) {
  std::array<const Tensor *, kArrays.size()> arrays;
  for (size_t i = 0; i < kArrays.size(); ++i) {
    std::string name(kArrays[i]);
    arrays[i] = file.find(name);
    if (!arrays[i])
      continue;
    const Tensor &tensor = *arrays[i];
    if (tensor.dtype != DType::I32 && tensor.dtype != DType::I64)
      return Status::invalid(name + " holds " + std::string(hector::name(tensor.dtype)) +
                             "; ids are stored as I32 or I64");
    if (tensor.shape.size() != 1)
      return Status::invalid(name + " has shape " + formatShape(tensor.shape) + "; it must have one dimension");
  }
  auto [src, dst, etype, ntypePtr] = arrays;
  if (std::count(arrays.begin(), arrays.end(), nullptr) > 0) {
    for (auto it = file.tensors.lower_bound("graph."); it != file.tensors.end() && it->first.starts_with("graph.");
         ++it)
      if (std::find(kArrays.begin(), kArrays.end(), it->first) == kArrays.end())
        return Status::invalid(it->first + " is no part of a graph; its arrays are graph.src, graph.dst, graph.etype "
                                           "and graph.ntype_ptr");
  }
  if (!src || !dst)
    return Status::invalid(std::string(src ? "graph.dst" : "graph.src") +
                           " is missing; a graph needs graph.src and graph.dst");

  IdSource sources(*src);
  IdSource destinations(*dst);
  IdSource types = etype ? IdSource(*etype) : IdSource::zeros(sources.size());
  if (!etype && numRelations >= 0 && numRelations != 1 && sources.size() > 0)
    return Status::invalid("graph.etype is missing, so that all edges have one type, but " +
                           std::to_string(numRelations) +
                           " relations are needed; add graph.etype, one type for every edge");
  if (numRelations < 0) {
    int64_t largest = etype ? -1 : 0;
    for (int64_t i = 0; i < types.size(); ++i) {
      int64_t type = types[i];
      if (type < 0 || type >= kMaxRelations)
        return Status::invalid(element("graph.etype", i) + " is " + std::to_string(type) + "; " +
                               allowedRange("edge types", "relations", kMaxRelations));
      largest = std::max(largest, type);
    }
    numRelations = largest + 1;
  }

  if (numRelations > kMaxRelations)
    return Status::invalid("the graph is to have " + counted(numRelations, "edge type") + "; at most " +
                           std::to_string(kMaxRelations) + " are supported");

  if (ntypePtr) {
    auto data = Data::build(sources, destinations, types, IdSource(*ntypePtr), numRelations, width);
    if (!data)
      return data.status();
    return Graph(std::move(*data));
  }
  if (numNodes < 0) {
    int64_t largest = -1;
    auto scan = [&](const IdSource &ids, std::string_view array) {
      for (int64_t i = 0; i < ids.size(); ++i) {
        int64_t id = ids[i];
        if (id < 0 || id >= kMaxNodes)
          return Status::invalid(element(array, i) + " is " + std::to_string(id) + "; " +
                                 allowedRange("node ids", "nodes", kMaxNodes));
        largest = std::max(largest, id);
      }
      return Status::ok();
    };
    if (Status status = scan(sources, "graph.src"); !status.isOk())
      return status;
    if (Status status = scan(destinations, "graph.dst"); !status.isOk())
      return status;
    numNodes = largest + 1;
  }
  if (numNodes > kMaxNodes)
    return Status::invalid("the graph is to have " + counted(numNodes, "node") + "; at most " +
                           std::to_string(kMaxNodes) + " are supported");
  std::array<int64_t, 2> oneType = {0, numNodes};
  auto data = Data::build(sources, destinations, types, IdSource(oneType), numRelations, width);
  if (!data)
    return data.status();
  return Graph(std::move(*data));
}

Graph Graph::fork() const {
  auto copy = std::make_shared<Data>();
  static_cast<GraphEdges &>(*copy) = *data;
  copy->takeFrom(*data);
  return Graph(std::move(copy));
}

int64_t Graph::numNodes() const {
  return data->numNodes;
}

int64_t Graph::numEdges() const {
  return data->src.size();
}

int64_t Graph::numNodeTypes() const {
  return static_cast<int64_t>(data->ntypePtr.size()) - 1;
}

int64_t Graph::numRelations() const {
  return data->numRelations;
}

const IdArray &Graph::src() const {
  return data->src;
}

const IdArray &Graph::dst() const {
  return data->dst;
}

const IdArray &Graph::etype() const {
  return data->etype;
}

const IdArray &Graph::edgeNumbers() const {
  return data->edgeNumbers;
}

std::span<const int64_t> Graph::ntypePtr() const {
  return data->ntypePtr;
}

std::span<const int64_t> Graph::etypePtr() const {
  return data->etypePtr.get([&] {
    std::vector<int64_t> ptr(static_cast<size_t>(data->numRelations) + 1);
    data->etype.visit([&](auto types) {
      // Types are sorted: look each one's end up where they are few, else walk.
      if (data->numRelations < numEdges() / 64) {
        for (int64_t r = 0; r < data->numRelations; ++r)
          ptr[r + 1] = std::upper_bound(types.begin() + ptr[r], types.end(), r) - types.begin();
        return;
      }
      for (auto type : types)
        ++ptr[type + 1];
      for (size_t r = 1; r < ptr.size(); ++r)
        ptr[r] += ptr[r - 1];
    });
    return ptr;
  });
}

const EdgeIndex &Graph::outgoing() const {
  return data->outgoing.get([&] { return data->index(data->src); });
}

const EdgeIndex &Graph::incoming() const {
  return data->incoming.get([&] { return data->index(data->dst); });
}

const Pairs &Graph::srcPairs() const {
  return data->srcPairs.get([&] { return data->pairs(data->src, etypePtr()); });
}

const Pairs &Graph::dstPairs() const {
  return data->dstPairs.get([&] { return data->pairs(data->dst, etypePtr()); });
}

const PairIndex &Graph::srcPairsByNode() const {
  return data->srcPairsByNode.get([&] { return groupPairs(srcPairs(), outgoing(), etypePtr()); });
}

const PairIndex &Graph::dstPairsByNode() const {
  return data->dstPairsByNode.get([&] { return groupPairs(dstPairs(), incoming(), etypePtr()); });
}

const IdArray &Graph::edgePermutation(EdgeOrder from, EdgeOrder to) const {
  static const IdArray kIdentity;
  if (from == to)
    return kIdentity;
  if (from == EdgeOrder::Type && to == EdgeOrder::Destination)
    return incoming().edges;
  if (from == EdgeOrder::Type && to == EdgeOrder::Source)
    return outgoing().edges;
  if (from == EdgeOrder::File && to == EdgeOrder::Type)
    return edgeNumbers();
  // Edges that came sorted by type are in the same order in the file.
  if (edgeNumbers().size() == 0 && (from == EdgeOrder::File || to == EdgeOrder::File))
    return edgePermutation(from == EdgeOrder::File ? EdgeOrder::Type : from,
                           to == EdgeOrder::File ? EdgeOrder::Type : to);
  return data->entry(data->permutations, {from, to}).get([&] {
    // The graph's own order is known from or to each of the others, which go through it.
    if (from == EdgeOrder::Type || to == EdgeOrder::Type)
      return invert(edgePermutation(to, from));
    return gather(edgePermutation(from, EdgeOrder::Type), edgePermutation(EdgeOrder::Type, to));
  });
}

const IdArray &Graph::edgeRows(EdgeOrder from, EdgeOrder to) const {
  const IdArray &permutation = edgePermutation(from, to);
  if (permutation.size() == numEdges())
    return permutation;
  return data->identity.get([&] { return data->identityOf(numEdges()); });
}

const IdArray &Graph::edgeColumn(EdgeColumn column, EdgeOrder order) const {
  const bool isOwn = order == EdgeOrder::Type || (order == EdgeOrder::File && edgeNumbers().size() == 0);
  if (isOwn) {
    switch (column) {
    case EdgeColumn::Source:
      return src();
    case EdgeColumn::Destination:
      return dst();
    case EdgeColumn::Type:
      return etype();
    case EdgeColumn::SrcPair:
      return srcPairs().ofEdge;
    case EdgeColumn::DstPair:
      return dstPairs().ofEdge;
    case EdgeColumn::SrcPairByNode:
      return data->entry(data->columns, {column, EdgeOrder::Type}).get([&] {
        return gather(srcPairsByNode().places, srcPairs().ofEdge);
      });
    case EdgeColumn::DstPairByNode:
      return data->entry(data->columns, {column, EdgeOrder::Type}).get([&] {
        return gather(dstPairsByNode().places, dstPairs().ofEdge);
      });
    }
  }
  return data->entry(data->columns, {column, order}).get([&] {
    return gather(edgeColumn(column, EdgeOrder::Type), edgePermutation(EdgeOrder::Type, order));
  });
}

const IdArray &Graph::outDegreeOrder() const {
  return data->outDegreeOrder.get([&] { return outgoing().ptr.visit([](auto ptr) { return degreeOrder(ptr); }); });
}

const IdArray &Graph::inDegreeOrder() const {
  return data->inDegreeOrder.get([&] { return incoming().ptr.visit([](auto ptr) { return degreeOrder(ptr); }); });
}

const IdArray &Graph::ntypeOfNode() const {
  return data->ntypeOfNode.get([&] {
    IdArray types = IdArray::make(data->numNodes, data->limit);
    for (int64_t type = 0; type < numNodeTypes(); ++type)
      for (int64_t node = data->ntypePtr[type]; node < data->ntypePtr[type + 1]; ++node)
        types.set(node, type);
    return types;
  });
}

static IdArray nodesOfPlaces(const PairIndex &places, int64_t limit) {
  IdArray nodes = IdArray::make(places.pairs.size(), limit);
  for (int64_t node = 0; node + 1 < places.ptr.size(); ++node)
    for (int64_t place = places.ptr[node]; place < places.ptr[node + 1]; ++place)
      nodes.set(place, node);
  return nodes;
}
const IdArray &Graph::srcPlaceNodes() const {
  return data->srcPlaceNodes.get([&] { return nodesOfPlaces(srcPairsByNode(), data->limit); });
}
const IdArray &Graph::dstPlaceNodes() const {
  return data->dstPlaceNodes.get([&] { return nodesOfPlaces(dstPairsByNode(), data->limit); });
}

const Tiles &Graph::tiles(TileRows rows, int64_t height) const {
  assert(height >= 1);
  return data->entry(data->tiles, {rows, height}).get([&] {
    auto cut = [&](auto ptr) { return cutTiles(ptr, height, data->limit); };
    switch (rows) {
    case TileRows::Edges:
      return cut(etypePtr());
    case TileRows::SrcPairs:
      return srcPairs().relationPtr.visit(cut);
    case TileRows::DstPairs:
      return dstPairs().relationPtr.visit(cut);
    case TileRows::Nodes:
      break;
    }
    return cut(ntypePtr());
  });
}

const IdArray &Graph::srcPairFirsts() const {
  return data->srcPairFirsts.get([&] { return data->pairFirsts(srcPairs()); });
}

const IdArray &Graph::dstPairFirsts() const {
  return data->dstPairFirsts.get([&] { return data->pairFirsts(dstPairs()); });
}

const IdArray &Graph::typeStarts(TileRows rows) const {
  switch (rows) {
  case TileRows::Edges:
    return data->edgeTypeStarts.get([&] { return data->starts(etypePtr()); });
  case TileRows::SrcPairs:
    return srcPairs().relationPtr;
  case TileRows::DstPairs:
    return dstPairs().relationPtr;
  case TileRows::Nodes:
    break;
  }
  return data->nodeTypeStarts.get([&] { return data->starts(ntypePtr()); });
}

const Result<IdArray> &Graph::srcTypeOfRelation() const {
  return data->srcTypeOfRelation.get(
      [&] { return data->typeOfRelation(data->src, etypePtr(), data->namedSrc, "sources"); });
}

const Result<IdArray> &Graph::dstTypeOfRelation() const {
  return data->dstTypeOfRelation.get(
      [&] { return data->typeOfRelation(data->dst, etypePtr(), data->namedDst, "destinations"); });
}

void Graph::nameEnds(std::vector<int64_t> src, std::vector<int64_t> dst) {
  assert(static_cast<int64_t>(src.size()) == numRelations() && src.size() == dst.size());
  data->namedSrc = std::move(src);
  data->namedDst = std::move(dst);
}

}  // namespace hector
