#include "runtime/data/Assemble.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <new>
#include <numeric>
#include <set>
#include <system_error>
#include <thread>

namespace hector {

namespace {

template <class T> Tensor own(DType dtype, std::vector<int64_t> shape, std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.bytes = reinterpret_cast<const std::byte *>(owner->data());
  tensor.owner = std::move(owner);
  return tensor;
}

template <class T> Tensor ownList(DType dtype, std::vector<T> values) {
  std::vector<int64_t> shape = {static_cast<int64_t>(values.size())};
  return own(dtype, std::move(shape), std::move(values));
}

uint64_t mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 29);
}

/// Marks all but the first of equal edges. Each thread looks at the edges whose hash falls into its part.
template <class Index> std::vector<uint8_t> markRepeated(const RawGraph &raw, int threads) {
  const size_t numEdges = raw.src.size();
  std::vector<uint8_t> repeated(numEdges);
  const auto parts = static_cast<uint64_t>(std::max(threads, 1));
  auto hashOf = [&](size_t e) { return mix(mix(uint64_t{raw.src[e]} << 32 | raw.dst[e]) + raw.type[e]); };
  auto run = [&](uint64_t part) {
    constexpr Index kFree = std::numeric_limits<Index>::max();
    // Parts differ in size by little: the hash spreads. A quarter more than their share is plenty.
    const size_t share = numEdges / parts + numEdges / parts / 4 + 1024;
    std::vector<Index> slots(std::bit_ceil(share + share / 2), kFree);
    const uint64_t mask = slots.size() - 1;
    constexpr size_t kAhead = 16;
    std::vector<std::pair<uint64_t, Index>> queue;  // edges of this part, in order, whose slots were asked for
    queue.reserve(kAhead);
    auto place = [&](uint64_t hash, Index e) {
      for (uint64_t at = (hash >> 8) & mask;; at = (at + 1) & mask) {
        if (slots[at] == kFree) {
          slots[at] = e;
          return;
        }
        Index other = slots[at];
        if (raw.src[other] == raw.src[e] && raw.dst[other] == raw.dst[e] && raw.type[other] == raw.type[e]) {
          repeated[e] = 1;
          return;
        }
      }
    };
    auto flush = [&] {
      for (auto [hash, e] : queue)
        place(hash, e);
      queue.clear();
    };
    for (size_t e = 0; e < numEdges; ++e) {
      const uint64_t hash = hashOf(e);
      if ((hash >> 40) % parts != part)
        continue;
      __builtin_prefetch(&slots[(hash >> 8) & mask]);
      queue.emplace_back(hash, static_cast<Index>(e));
      if (queue.size() == kAhead)
        flush();
    }
    flush();
  };
  // An exception that left a thread would end the process.
  std::atomic<bool> noMemory = false;
  auto guarded = [&](uint64_t part) {
    try {
      run(part);
    } catch (const std::bad_alloc &) {
      noMemory = true;
    }
  };
  std::vector<std::thread> workers;
  workers.reserve(parts);
  for (uint64_t part = 1; part < parts; ++part) {
    try {
      workers.emplace_back(guarded, part);
    } catch (const std::system_error &) {
      guarded(part);  // there are no more threads to be had
    }
  }
  guarded(0);
  for (std::thread &worker : workers)
    worker.join();
  if (noMemory)
    throw std::bad_alloc();
  return repeated;
}

/// The number of each relation that another one turns round; relations that were added come after all others. Fails
/// where the name that one would get is taken: two relations of one name could not be told apart.
Status addInverses(std::vector<EdgeType> &types) {
  const size_t own = types.size();
  std::vector<bool> has(own);
  for (size_t r = 0; r < own; ++r)
    if (types[r].inverseOf >= 0)
      has[r] = has[static_cast<size_t>(types[r].inverseOf)] = true;
  types.reserve(own * 2);  // `taken` holds views into it
  std::set<std::array<std::string_view, 3>> taken;
  for (size_t r = 0; r < own; ++r)
    taken.insert({types[r].name, types[r].src, types[r].dst});
  for (size_t r = 0; r < own; ++r) {
    if (has[r])
      continue;
    EdgeType inverse{"rev-" + types[r].name, types[r].dst, types[r].src, static_cast<int64_t>(r)};
    if (taken.contains({inverse.name, inverse.src, inverse.dst}))
      return Status::invalid("the inverse of the relation " + inTicks(types[r].name) + " would be called " +
                             inTicks(inverse.name) + ", but the input has a relation " + inTicks(inverse.name) +
                             " already; give --no-inverses where the input has its inverses, or rename one of the two");
    types.push_back(std::move(inverse));
  }
  return Status::ok();
}

template <class Id> struct Edges {
  std::vector<Id> src, dst, type;
};

/// Edges by relation, keeping their order, with the inverses that `types` names beyond those of `raw`.
template <class Id>
void fillEdges(RawGraph &raw, const std::vector<uint8_t> &repeated, const std::vector<uint32_t> &newId,
               const std::vector<EdgeType> &types, GraphContents &out) {
  const size_t numOwn = raw.edgeTypes.size();
  std::vector<int64_t> first(types.size() + 1);
  for (size_t e = 0; e < raw.src.size(); ++e)
    if (repeated.empty() || !repeated[e])
      ++first[raw.type[e] + 1];
  std::vector<int64_t> inverse(numOwn, -1);
  for (size_t r = numOwn; r < types.size(); ++r) {
    auto of = static_cast<size_t>(types[r].inverseOf);
    inverse[of] = static_cast<int64_t>(r);
    first[r + 1] = first[of + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  const auto total = static_cast<size_t>(first.back());
  Edges<Id> edges;
  edges.src.resize(total);
  edges.dst.resize(total);
  edges.type.resize(total);
  std::vector<uint8_t> split(raw.edgeSplit.empty() ? 0 : total);
  for (size_t r = 0; r < types.size(); ++r)
    std::fill(edges.type.begin() + first[r], edges.type.begin() + first[r + 1], static_cast<Id>(r));
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (size_t e = 0; e < raw.src.size(); ++e) {
    if (!repeated.empty() && repeated[e])
      continue;
    auto src = static_cast<Id>(newId.empty() ? raw.src[e] : newId[raw.src[e]]);
    auto dst = static_cast<Id>(newId.empty() ? raw.dst[e] : newId[raw.dst[e]]);
    auto put = [&](int64_t relation, Id from, Id to) {
      auto at = static_cast<size_t>(next[static_cast<size_t>(relation)]++);
      edges.src[at] = from;
      edges.dst[at] = to;
      if (!split.empty())
        split[at] = raw.edgeSplit[e];
    };
    put(raw.type[e], src, dst);
    if (inverse[raw.type[e]] >= 0)
      put(inverse[raw.type[e]], dst, src);
  }
  constexpr DType kType = sizeof(Id) == 4 ? DType::I32 : DType::I64;
  out.tensors.tensors["graph.src"] = ownList(kType, std::move(edges.src));
  out.tensors.tensors["graph.dst"] = ownList(kType, std::move(edges.dst));
  out.tensors.tensors["graph.etype"] = ownList(kType, std::move(edges.type));
  if (!split.empty())
    out.tensors.tensors["edge.split"] = ownList(DType::U8, std::move(split));
}

}  // namespace

int64_t RawGraph::numNodes() const {
  if (!typeOfNode.empty())
    return static_cast<int64_t>(typeOfNode.size());
  return std::accumulate(countOfType.begin(), countOfType.end(), int64_t{0});
}

Result<GraphContents> assemble(RawGraph raw, const AssembleOptions &options, const Watch &watch) {
  GraphContents out;
  if (watch.progress)
    watch.progress("building the graph", 0, 0, static_cast<int64_t>(raw.src.size()));
  const auto numOld = static_cast<size_t>(raw.numNodes());
  if (raw.edgeTypes.size() * (options.inverses ? 2 : 1) > static_cast<size_t>(Graph::kMaxRelations))
    return Status::invalid("the graph would have " + std::to_string(raw.edgeTypes.size()) +
                           " relations, and as many inverse ones; at most " + std::to_string(Graph::kMaxRelations) +
                           " are supported");

  // Nodes: by type, in their old order; isolated ones may go.
  std::vector<uint8_t> used;
  if (options.dropIsolated) {
    used.resize(numOld);
    for (size_t e = 0; e < raw.src.size(); ++e)
      used[raw.src[e]] = used[raw.dst[e]] = 1;
  }
  std::vector<int64_t> ptr(raw.nodeTypes.size() + 1);
  std::vector<uint32_t> typeOf = std::move(raw.typeOfNode);
  raw.typeOfNode.clear();
  if (typeOf.empty() && !used.empty())
    for (size_t t = 0; t < raw.countOfType.size(); ++t)
      typeOf.insert(typeOf.end(), static_cast<size_t>(raw.countOfType[t]), static_cast<uint32_t>(t));
  std::vector<uint32_t> newId;  // empty: as they are
  int64_t numNew = static_cast<int64_t>(numOld);
  if (typeOf.empty()) {
    for (size_t t = 0; t < raw.countOfType.size(); ++t)
      ptr[t + 1] = ptr[t] + raw.countOfType[t];
  } else {
    for (size_t n = 0; n < numOld; ++n)
      if (used.empty() || used[n])
        ++ptr[typeOf[n] + 1];
    std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
    numNew = ptr.back();
    if (raw.nodeTypes.size() > 1 || !used.empty()) {
      std::vector<int64_t> next(ptr.begin(), ptr.end() - 1);
      newId.assign(numOld, UINT32_MAX);
      for (size_t n = 0; n < numOld; ++n)
        if (used.empty() || used[n])
          newId[n] = static_cast<uint32_t>(next[typeOf[n]]++);
    }
  }
  typeOf = {};

  std::vector<uint8_t> repeated;
  if (options.dropRepeated)
    repeated = raw.src.size() < UINT32_MAX ? markRepeated<uint32_t>(raw, options.threads)
                                           : markRepeated<uint64_t>(raw, options.threads);
  if (watch.stopped())
    return stoppedStatus();
  out.edgeTypes = raw.edgeTypes;
  if (options.inverses)
    if (Status status = addInverses(out.edgeTypes); !status.isOk())
      return status;
  if (numNew <= std::numeric_limits<int32_t>::max())
    fillEdges<int32_t>(raw, repeated, newId, out.edgeTypes, out);
  else
    fillEdges<int64_t>(raw, repeated, newId, out.edgeTypes, out);
  raw.src = raw.dst = raw.type = {};
  repeated = {};
  if (watch.stopped())
    return stoppedStatus();

  auto idOf = [&](uint32_t old) { return newId.empty() ? old : newId[old]; };
  if (options.names && raw.nameOf) {
    std::vector<uint32_t> oldOf;
    if (!newId.empty()) {
      oldOf.resize(static_cast<size_t>(numNew));
      for (size_t n = 0; n < numOld; ++n)
        if (newId[n] != UINT32_MAX)
          oldOf[newId[n]] = static_cast<uint32_t>(n);
    }
    std::vector<int64_t> offsets(static_cast<size_t>(numNew) + 1);
    for (int64_t n = 0; n < numNew; ++n)
      offsets[static_cast<size_t>(n) + 1] =
          offsets[static_cast<size_t>(n)] +
          static_cast<int64_t>(
              raw.nameOf(oldOf.empty() ? static_cast<uint32_t>(n) : oldOf[static_cast<size_t>(n)]).size());
    std::vector<uint8_t> bytes(static_cast<size_t>(offsets.back()));
    for (int64_t n = 0; n < numNew; ++n) {
      std::string_view name = raw.nameOf(oldOf.empty() ? static_cast<uint32_t>(n) : oldOf[static_cast<size_t>(n)]);
      std::copy(name.begin(), name.end(), bytes.begin() + offsets[static_cast<size_t>(n)]);
    }
    out.tensors.tensors["names.bytes"] = ownList(DType::U8, std::move(bytes));
    out.tensors.tensors["names.offsets"] = own(DType::I64, {numNew + 1}, std::move(offsets));
  }

  // Features follow their nodes where those are renumbered within a type.
  std::vector<int64_t> firstOld(raw.nodeTypes.size() + 1);
  for (size_t t = 0; t < raw.countOfType.size(); ++t)
    firstOld[t + 1] = firstOld[t] + raw.countOfType[t];
  for (size_t t = 0; t < raw.features.size(); ++t) {
    TypeFeatures &features = raw.features[t];
    if (features.width == 0)
      continue;
    const int64_t rows = ptr[t + 1] - ptr[t];
    std::vector<float> values;
    if (newId.empty()) {
      values = std::move(features.values);
    } else {
      values.resize(static_cast<size_t>(rows * features.width));
      for (int64_t old = 0; old < raw.countOfType[t]; ++old)
        if (uint32_t now = newId[static_cast<size_t>(firstOld[t] + old)]; now != UINT32_MAX)
          std::copy_n(features.values.begin() + old * features.width, features.width,
                      values.begin() + (now - ptr[t]) * features.width);
      features.values = {};
    }
    out.tensors.tensors["feat." + raw.nodeTypes[t]] = own(DType::F32, {rows, features.width}, std::move(values));
  }
  // With one type the same bytes serve as `x`; several of one width are joined.
  if (!raw.features.empty()) {
    int64_t width = raw.features[0].width;
    for (size_t t = 0; t < raw.features.size(); ++t)
      if (raw.features[t].width != width)
        width = 0;
    if (width > 0 && raw.features.size() == 1) {
      out.tensors.tensors["x"] = out.tensors.tensors["feat." + raw.nodeTypes[0]];
    } else if (width > 0) {
      std::vector<float> all;
      all.reserve(static_cast<size_t>(numNew * width));
      for (const std::string &type : raw.nodeTypes) {
        const Tensor &part = out.tensors.tensors["feat." + type];
        const auto *values = reinterpret_cast<const float *>(part.bytes);
        all.insert(all.end(), values, values + part.numElements());
      }
      out.tensors.tensors["x"] = own(DType::F32, {numNew, width}, std::move(all));
    }
  }

  if (!raw.labels.empty()) {
    std::sort(raw.labels.begin(), raw.labels.end(),
              [&](const Label &a, const Label &b) { return idOf(a.node) < idOf(b.node); });
    std::vector<int64_t> nodes, labels, splits[4];
    for (const Label &label : raw.labels) {
      if (idOf(label.node) == UINT32_MAX)
        continue;  // isolated, and left out
      if (!raw.multiLabel)
        labels.push_back(label.label);
      else if (!nodes.empty() && nodes.back() == idOf(label.node))
        continue;
      nodes.push_back(idOf(label.node));
      splits[static_cast<size_t>(label.split)].push_back(idOf(label.node));
    }
    const auto numLabelled = static_cast<int64_t>(nodes.size());
    if (raw.multiLabel) {
      const auto numClasses = static_cast<int64_t>(raw.labelNames.size());
      const std::string what = "the table of " + std::to_string(numLabelled) + " labelled nodes by " +
                               std::to_string(numClasses) + " classes";
      constexpr int64_t kMaxCells = int64_t{1} << 40;
      const int64_t cells =
          numClasses > 0 && numLabelled > kMaxCells / numClasses ? kMaxCells : numLabelled * numClasses;
      if (Status status = requireMemory(what, cells * static_cast<int64_t>(sizeof(float))); !status.isOk())
        return status;
      std::vector<float> matrix(static_cast<size_t>(cells));
      int64_t row = 0;
      for (const Label &label : raw.labels) {
        if (idOf(label.node) == UINT32_MAX)
          continue;
        while (nodes[static_cast<size_t>(row)] != idOf(label.node))
          ++row;
        if (label.label >= 0)
          matrix[static_cast<size_t>(row * numClasses + label.label)] = 1;
      }
      out.tensors.tensors["label"] = own(DType::F32, {numLabelled, numClasses}, std::move(matrix));
    } else {
      out.tensors.tensors["label"] = ownList(DType::I64, std::move(labels));
    }
    out.tensors.tensors["label.node"] = ownList(DType::I64, std::move(nodes));
    constexpr std::string_view kNames[] = {"", "split.train", "split.valid", "split.test"};
    for (size_t s = 1; s < 4; ++s)
      if (!splits[s].empty())
        out.tensors.tensors[std::string(kNames[s])] = ownList(DType::I64, std::move(splits[s]));
  }
  out.tensors.tensors["graph.ntype_ptr"] = ownList(DType::I64, std::move(ptr));
  out.nodeTypes = std::move(raw.nodeTypes);
  out.labelNames = std::move(raw.labelNames);
  out.source = std::move(raw.source);
  return out;
}

}  // namespace hector
