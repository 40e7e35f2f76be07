#include "runtime/graph/DerivedForms.h"

#include "runtime/base/Parallel.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <numeric>

namespace hector {

namespace {

constexpr int64_t kGrain = int64_t{1} << 18;  // items of a pass that a thread takes at a time
constexpr int64_t kMaxHistograms = 64;        // chunks of a pass that counts per chunk

/// One end of an edge. Moving both is quicker than looking nodes up by edge.
template <class Id> struct EdgeEnd {
  Id node;
  Id edge;
};

/// Counts per (chunk, bin), turned into the place where each chunk puts its first item of a bin.
class Histograms {
public:
  Histograms(int64_t numChunks, int64_t numBins)
      : numChunks(numChunks), numBins(numBins), counts(static_cast<size_t>(numChunks * numBins)) {}

  std::span<int64_t> chunk(int64_t c) { return std::span(counts).subspan(c * numBins, numBins); }
  /// Bins in order, chunks in order within a bin. Returns where each bin starts, and the total.
  std::vector<int64_t> toPlaces() {
    std::vector<int64_t> starts(static_cast<size_t>(numBins) + 1);
    int64_t sum = 0;
    for (int64_t bin = 0; bin < numBins; ++bin) {
      starts[bin] = sum;
      for (int64_t c = 0; c < numChunks; ++c)
        sum += std::exchange(counts[c * numBins + bin], sum);
    }
    starts[numBins] = sum;
    return starts;
  }

private:
  int64_t numChunks, numBins;
  std::vector<int64_t> counts;
};

/// Edges of the nodes `first .. first + next.size() - 1`, whose places begin at `start`: counts each node's, turns
/// counts into starts, hands out the places in edge order. `ends` may be walked twice.
template <class Id, class Ends>
void placeEdges(const Ends &ends, int64_t first, int64_t start, std::span<Id> next, Id *ptr, Id *edges) {
  std::fill(next.begin(), next.end(), 0);
  ends([&](Id node, Id) { ++next[node - first]; });
  for (size_t i = 0; i < next.size(); ++i) {
    ptr[first + static_cast<int64_t>(i)] = static_cast<Id>(start);
    start += std::exchange(next[i], static_cast<Id>(start));
  }
  ends([&](Id node, Id edge) { edges[next[node - first]++] = edge; });
}

}  // namespace

template <class Id> EdgeIndex groupByNode(std::span<const Id> nodes, int64_t numNodes) {
  const auto numEdges = static_cast<int64_t>(nodes.size());
  BigVector<Id> ptr(static_cast<size_t>(numNodes) + 1);
  BigVector<Id> edges(nodes.size());
  ptr[numNodes] = static_cast<Id>(numEdges);

  // Ranges of 2^shift nodes: enough of them that an average one's edges fit a core's cache, few enough that dealing out
  // keeps one open cache line for each.
  constexpr int64_t kMaxRanges = 2048;
  constexpr int64_t kEdgesPerRange = int64_t{1} << 15;
  const int64_t wanted = std::clamp<int64_t>(numEdges / kEdgesPerRange, 1, kMaxRanges);
  int shift = 0;
  while (((numNodes - 1) >> shift) >= wanted)
    ++shift;
  const int64_t numRanges = numNodes == 0 ? 0 : ((numNodes - 1) >> shift) + 1;
  if (numRanges <= 1) {
    std::vector<Id> next(static_cast<size_t>(numNodes));
    auto ends = [&](auto &&visit) {
      for (int64_t e = 0; e < numEdges; ++e)
        visit(nodes[e], static_cast<Id>(e));
    };
    placeEdges<Id>(ends, 0, 0, next, ptr.data(), edges.data());
    return {IdArray(std::move(ptr)), IdArray(std::move(edges))};
  }

  const int64_t grain = grainFor(numEdges, kGrain, kMaxHistograms);
  Histograms places(numChunks(numEdges, grain), numRanges);
  parallelFor(numEdges, grain, [&](int64_t begin, int64_t end) {
    std::span<int64_t> counts = places.chunk(begin / grain);
    for (int64_t e = begin; e < end; ++e)
      ++counts[nodes[e] >> shift];
  });
  const std::vector<int64_t> starts = places.toPlaces();
  BigVector<EdgeEnd<Id>> dealt(nodes.size());
  parallelFor(numEdges, grain, [&](int64_t begin, int64_t end) {
    std::span<int64_t> place = places.chunk(begin / grain);
    for (int64_t e = begin; e < end; ++e)
      dealt[place[nodes[e] >> shift]++] = {nodes[e], static_cast<Id>(e)};
  });
  ScratchPool<std::vector<Id>> scratch;
  parallelFor(numRanges, 1, [&](int64_t range, int64_t) {
    auto next = scratch.borrow();
    const int64_t first = range << shift;
    next->resize(static_cast<size_t>(std::min(numNodes - first, int64_t{1} << shift)));
    auto ends = [&](auto &&visit) {
      for (int64_t i = starts[range]; i < starts[range + 1]; ++i)
        visit(dealt[i].node, dealt[i].edge);
    };
    placeEdges<Id>(ends, first, starts[range], *next, ptr.data(), edges.data());
  });
  return {IdArray(std::move(ptr)), IdArray(std::move(edges))};
}

namespace {

/// The nodes that a relation's edges have at one end, and how many smaller ones each has.
class NodeSet {
public:
  /// Empties the set and makes it hold `first .. last`.
  void reset(int64_t first, int64_t last) {
    base = first;
    const auto numWords = static_cast<size_t>((last - first) / 64 + 1);
    usedSummaries = (numWords + 63) / 64;
    if (words.size() < numWords) {
      words.resize(numWords);
      full.resize(usedSummaries);
    }
  }
  void add(int64_t node) {
    const auto bit = static_cast<uint64_t>(node - base);
    words[bit >> 6].marked |= uint64_t{1} << (bit & 63);
    full[bit >> 12] |= uint64_t{1} << ((bit >> 6) & 63);
  }
  /// The same while other threads add as well.
  void addShared(int64_t node) {
    const auto bit = static_cast<uint64_t>(node - base);
    const uint64_t mask = uint64_t{1} << (bit & 63);
    std::atomic_ref marked(words[bit >> 6].marked);
    if (marked.load(std::memory_order_relaxed) & mask)  // the usual case, and reading leaves the line with all threads
      return;
    marked.fetch_or(mask, std::memory_order_relaxed);
    std::atomic_ref(full[bit >> 12]).fetch_or(uint64_t{1} << ((bit >> 6) & 63), std::memory_order_relaxed);
  }
  /// Numbers the nodes from 0 in rising order, writes them to `nodes` and returns how many they are.
  template <class Id> int64_t number(Id *nodes) {
    int64_t count = 0;
    forEachWord([&](size_t i) {
      words[i].before = count;
      const int64_t first = base + static_cast<int64_t>(i) * 64;
      for (uint64_t bits = words[i].marked; bits; bits &= bits - 1)
        nodes[count++] = static_cast<Id>(first + std::countr_zero(bits));
    });
    return count;
  }
  int64_t numberOf(int64_t node) const {
    const auto bit = static_cast<uint64_t>(node - base);
    const Word &word = words[bit >> 6];
    return word.before + std::popcount(word.marked & ((uint64_t{1} << (bit & 63)) - 1));
  }
  void clear() {
    forEachWord([&](size_t i) { words[i].marked = 0; });
    std::fill_n(full.begin(), usedSummaries, 0);
  }

private:
  template <class F> void forEachWord(F &&visit) {
    for (size_t i = 0; i < usedSummaries; ++i)
      for (uint64_t set = full[i]; set; set &= set - 1)
        visit(i * 64 + static_cast<size_t>(std::countr_zero(set)));
  }

  /// 64 nodes.
  struct Word {
    uint64_t marked = 0;
    int64_t before = 0;  // marks in the words before it
  };
  int64_t base = 0;
  size_t usedSummaries = 0;
  std::vector<Word> words;
  std::vector<uint64_t> full;  // one bit a word: it has marks
};

/// Orders the ends by node, equal ones as they come. Sorts by 11 bits at a time, lowest first, and so needs no memory
/// per node.
template <class Id> void sortByNode(std::vector<EdgeEnd<Id>> &ends, int64_t first, int64_t last) {
  constexpr int kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  if (ends.size() < kDigits) {
    std::sort(ends.begin(), ends.end(),
              [](auto a, auto b) { return a.node != b.node ? a.node < b.node : a.edge < b.edge; });
    return;
  }
  std::vector<EdgeEnd<Id>> next(ends.size());
  for (int shift = 0; shift < 63 && (last - first) >> shift > 0; shift += kDigitBits) {
    auto digit = [&](EdgeEnd<Id> end) { return static_cast<size_t>((end.node - first) >> shift) & (kDigits - 1); };
    std::array<size_t, kDigits> start = {};
    for (EdgeEnd<Id> end : ends)
      ++start[digit(end)];
    size_t sum = 0;
    for (size_t &entry : start)
      entry = std::exchange(sum, sum + entry);
    for (EdgeEnd<Id> end : ends)
      next[start[digit(end)]++] = end;
    ends.swap(next);
  }
}

/// Works out a relation's pairs with numbers from 0: `node` gets its nodes, `ofEdge` its edges' pairs.
template <class Id> class RelationPairs {
public:
  RelationPairs(std::span<const Id> nodes, Id *node, Id *ofEdge) : nodes(nodes), node(node), ofEdge(ofEdge) {
    const auto numEdges = static_cast<int64_t>(nodes.size());
    // A bitmap with its counts takes a quarter of a byte per node. All bitmaps together stay below 8 bytes per edge.
    maxSpan = std::max(int64_t{1} << 20, numEdges / numThreads() * 32);
  }

  /// Edges `begin .. end-1`; returns the number of pairs. With `isAlone` uses all threads.
  int64_t find(int64_t begin, int64_t end, bool isAlone) {
    if (begin == end)
      return 0;
    auto [first, last] = range(begin, end, isAlone);
    if (last - first >= maxSpan || end - begin < 64)
      return findBySorting(begin, end, first, last);
    auto set = sets.borrow();
    set->reset(first, last);
    if (isAlone) {
      parallelFor(end - begin, kGrain, [&](int64_t from, int64_t to) {
        for (int64_t e = begin + from; e < begin + to; ++e)
          set->addShared(nodes[e]);
      });
    } else {
      for (int64_t e = begin; e < end; ++e)
        set->add(nodes[e]);
    }
    const int64_t count = set->number(node + begin);
    parallelFor(end - begin, isAlone ? kGrain : end - begin, [&](int64_t from, int64_t to) {
      for (int64_t e = begin + from; e < begin + to; ++e)
        ofEdge[e] = static_cast<Id>(set->numberOf(nodes[e]));
    });
    set->clear();
    return count;
  }

private:
  std::pair<int64_t, int64_t> range(int64_t begin, int64_t end, bool isAlone) const {
    const int64_t grain = isAlone ? kGrain : end - begin;
    std::vector<std::pair<Id, Id>> ranges(static_cast<size_t>(numChunks(end - begin, grain)));
    parallelFor(end - begin, grain, [&](int64_t from, int64_t to) {
      Id first = nodes[begin + from], last = first;
      for (int64_t e = begin + from; e < begin + to; ++e) {
        first = std::min(first, nodes[e]);
        last = std::max(last, nodes[e]);
      }
      ranges[from / grain] = {first, last};
    });
    auto whole = ranges[0];
    for (auto [first, last] : ranges)
      whole = {std::min(whole.first, first), std::max(whole.second, last)};
    return whole;
  }

  int64_t findBySorting(int64_t begin, int64_t end, int64_t first, int64_t last) {
    std::vector<EdgeEnd<Id>> ends(static_cast<size_t>(end - begin));
    for (int64_t e = begin; e < end; ++e)
      ends[e - begin] = {nodes[e], static_cast<Id>(e)};
    sortByNode(ends, first, last);
    int64_t count = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (i == 0 || ends[i].node != ends[i - 1].node)
        node[begin + count++] = ends[i].node;
      ofEdge[ends[i].edge] = static_cast<Id>(count - 1);
    }
    return count;
  }

  std::span<const Id> nodes;
  Id *node;
  Id *ofEdge;
  int64_t maxSpan;
  ScratchPool<NodeSet> sets;
};

}  // namespace

template <class Id> Pairs findPairs(std::span<const Id> nodes, std::span<const int64_t> etypePtr) {
  const auto numRelations = static_cast<int64_t>(etypePtr.size()) - 1;
  BigVector<Id> ofEdge(nodes.size());
  std::vector<int64_t> start(etypePtr.size());  // counts first, then where each relation's pairs begin
  // Relations do not know yet where their pairs will begin, so they leave them where their edges begin.
  BigVector<Id> loose(nodes.size());
  {
    RelationPairs<Id> relations(nodes, loose.data(), ofEdge.data());
    // Large relations share their edges among all threads, small ones are whole tasks.
    constexpr int64_t kLarge = kGrain * 4;
    auto isLarge = [&](int64_t r) { return etypePtr[r + 1] - etypePtr[r] >= kLarge; };
    for (int64_t r = 0; r < numRelations; ++r)
      if (isLarge(r))
        start[r] = relations.find(etypePtr[r], etypePtr[r + 1], true);
    parallelFor(numRelations, grainFor(numRelations, 1, 1 << 12), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        if (!isLarge(r))
          start[r] = relations.find(etypePtr[r], etypePtr[r + 1], false);
    });
  }
  std::exclusive_scan(start.begin(), start.end(), start.begin(), int64_t{0});

  const auto count = static_cast<size_t>(start.back());
  BigVector<Id> node(count);
  BigVector<Id> relation(count);
  // By edges, not relations, so that chunks are even: a chunk does its part of every relation it meets.
  parallelFor(static_cast<int64_t>(nodes.size()), kGrain, [&](int64_t begin, int64_t end) {
    int64_t r = std::upper_bound(etypePtr.begin(), etypePtr.end(), begin) - etypePtr.begin() - 1;
    for (int64_t e = begin; e < end; ++r) {
      const int64_t stop = std::min(end, etypePtr[r + 1]);
      const int64_t pairs = start[r + 1] - start[r];
      for (int64_t i = e - etypePtr[r]; i < std::min(stop - etypePtr[r], pairs); ++i) {
        node[start[r] + i] = loose[etypePtr[r] + i];
        relation[start[r] + i] = static_cast<Id>(r);
      }
      for (; e < stop; ++e)
        ofEdge[e] += static_cast<Id>(start[r]);
    }
  });
  BigVector<Id> relationPtr(start.begin(), start.end());
  return {IdArray(std::move(node)), IdArray(std::move(relation)), IdArray(std::move(ofEdge)),
          IdArray(std::move(relationPtr))};
}

IdArray gather(const IdArray &values, const IdArray &places) {
  return values.visit([&]<class Id>(std::span<const Id> from) {
    return places.visit([&](auto at) {
      BigVector<Id> to(at.size());
      parallelFor(places.size(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          to[i] = from[at[i]];
      });
      return IdArray(std::move(to));
    });
  });
}

IdArray invert(const IdArray &permutation) {
  return permutation.visit([&]<class Id>(std::span<const Id> places) {
    BigVector<Id> inverse(places.size());
    parallelFor(permutation.size(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        inverse[places[i]] = static_cast<Id>(i);
    });
    return IdArray(std::move(inverse));
  });
}

PairIndex groupPairs(const Pairs &pairs, const EdgeIndex &edges, std::span<const int64_t> etypePtr) {
  PairIndex index;
  const int64_t numNodes = edges.ptr.size() - 1;
  pairs.node.visit([&](auto nodes) {
    EdgeIndex byNode = groupByNode(nodes, numNodes);
    index.ptr = std::move(byNode.ptr);
    index.pairs = std::move(byNode.edges);
  });
  index.relation = gather(pairs.relation, index.pairs);
  index.places = invert(index.pairs);
  index.edgePtr = edges.edges.visit([&]<class Id>(std::span<const Id> ids) {
    BigVector<Id> edgePtr(static_cast<size_t>(pairs.count()) + 1);
    edgePtr[pairs.count()] = static_cast<Id>(ids.size());
    constexpr int64_t kNodes = int64_t{1} << 12;  // few, since some have many edges
    parallelFor(numNodes, kNodes, [&](int64_t begin, int64_t end) {
      for (int64_t node = begin; node < end; ++node) {
        // A node's edges rise, so a pair ends where the edges of its relation do.
        int64_t place = index.ptr[node], relationEnd = -1;
        const int64_t last = edges.ptr[node + 1];
        for (int64_t i = edges.ptr[node]; i < last; ++i)
          if (ids[i] >= relationEnd) {
            relationEnd = etypePtr[index.relation[place] + 1];
            edgePtr[place++] = static_cast<Id>(i);
          }
      }
    });
    return IdArray(std::move(edgePtr));
  });
  return index;
}

template <class Id> IdArray degreeOrder(std::span<const Id> ptr) {
  const int64_t numNodes = ptr.empty() ? 0 : static_cast<int64_t>(ptr.size()) - 1;
  BigVector<Id> order(static_cast<size_t>(numNodes));
  // One bin a degree, the busiest nodes first. There are few nodes of the highest degrees, at most edges / kTop: they
  // share a bin and are sorted there.
  constexpr int64_t kTop = 4095;
  auto degree = [&](int64_t node) { return static_cast<int64_t>(ptr[node + 1]) - static_cast<int64_t>(ptr[node]); };
  auto bin = [&](int64_t node) { return kTop - std::min(degree(node), kTop); };
  const int64_t grain = grainFor(numNodes, kGrain, kMaxHistograms);
  Histograms places(numChunks(numNodes, grain), kTop + 1);
  parallelFor(numNodes, grain, [&](int64_t begin, int64_t end) {
    std::span<int64_t> counts = places.chunk(begin / grain);
    for (int64_t node = begin; node < end; ++node)
      ++counts[bin(node)];
  });
  const std::vector<int64_t> starts = places.toPlaces();
  parallelFor(numNodes, grain, [&](int64_t begin, int64_t end) {
    std::span<int64_t> place = places.chunk(begin / grain);
    for (int64_t node = begin; node < end; ++node)
      order[place[bin(node)]++] = static_cast<Id>(node);
  });
  std::sort(order.begin(), order.begin() + starts[1], [&](Id a, Id b) {
    const int64_t x = degree(a), y = degree(b);
    return x != y ? x > y : a < b;
  });
  return IdArray(std::move(order));
}

template <class Id> Tiles cutTiles(std::span<const Id> ptr, int64_t height, int64_t limit) {
  int64_t count = 0;
  for (size_t type = 1; type < ptr.size(); ++type)
    count += numChunks(static_cast<int64_t>(ptr[type]) - static_cast<int64_t>(ptr[type - 1]), height);
  Tiles tiles = {height, IdArray::make(count, limit), IdArray::make(count, limit), IdArray::make(count, limit)};
  int64_t tile = 0;
  for (size_t type = 1; type < ptr.size(); ++type) {
    const int64_t end = ptr[type];
    for (int64_t first = ptr[type - 1]; first < end; ++tile) {
      const int64_t rows = std::min(height, end - first);
      tiles.type.set(tile, static_cast<int64_t>(type) - 1);
      tiles.first.set(tile, first);
      tiles.rows.set(tile, rows);
      first += rows;
    }
  }
  return tiles;
}

template EdgeIndex groupByNode(std::span<const int32_t>, int64_t);
template EdgeIndex groupByNode(std::span<const int64_t>, int64_t);
template Pairs findPairs(std::span<const int32_t>, std::span<const int64_t>);
template Pairs findPairs(std::span<const int64_t>, std::span<const int64_t>);
template IdArray degreeOrder(std::span<const int32_t>);
template IdArray degreeOrder(std::span<const int64_t>);
template Tiles cutTiles(std::span<const int32_t>, int64_t, int64_t);
template Tiles cutTiles(std::span<const int64_t>, int64_t, int64_t);

}  // namespace hector
