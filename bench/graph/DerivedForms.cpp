/// Times the forms derived from a graph against plain builds in one run: by `std::sort`, or one loop where that does.
/// Each form is compared with the plain one, element by element, before its times are printed.
///
///   derived-forms-bench [GRAPH ...] [--runs N]      graphs by name (mag, wikikg2, …); default: mag wikikg2, 3 runs
///
/// Times are the fastest of the runs: processor time with one thread, which other work on the machine hardly changes,
/// and elapsed time with all. "Bytes per edge" is the peak memory while a form was built (resident pages, including
/// the edges themselves but not other forms); for the last line all forms are kept.
#include "runtime/graph/DerivedForms.h"

#include "runtime/base/Parallel.h"
#include "runtime/base/Program.h"
#include "runtime/graph/Synthetic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <numeric>
#include <string>

using namespace hector;

namespace {

using Clock = std::chrono::steady_clock;

/// A line of /proc/self/status in bytes: "VmRSS:", "VmHWM:" (its peak).
int64_t memory(const std::string &line) {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word)
    if (word == line)
      status >> kilobytes;
  return kilobytes * 1024;
}

/// Resets the peak to the memory that is in use now.
void resetPeak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

/// In milliseconds.
struct Time {
  double elapsed = 1e300, processor = 1e300;
};

double processorTime() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Runs `f` and keeps the lower times in `time`.
template <class F> void measure(Time &time, F &&f) {
  const auto start = Clock::now();
  const double startProcessor = processorTime();
  f();
  time.processor = std::min(time.processor, processorTime() - startProcessor);
  time.elapsed = std::min(time.elapsed, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
}

// The plain builds: what one would write first, with the keys beside the edges so that comparing misses no cache, and
// relation by relation where edges are sorted by relation already.

using Ids = std::vector<int32_t>;

struct PlainIndex {
  Ids ptr, edges;
};

PlainIndex plainIndex(std::span<const int32_t> nodes, int64_t numNodes) {
  std::vector<std::pair<int32_t, int32_t>> ends(nodes.size());
  for (size_t e = 0; e < nodes.size(); ++e)
    ends[e] = {nodes[e], static_cast<int32_t>(e)};
  std::sort(ends.begin(), ends.end());
  PlainIndex index;
  index.ptr.resize(static_cast<size_t>(numNodes) + 1);
  index.edges.resize(nodes.size());
  for (size_t i = 0; i < ends.size(); ++i) {
    ++index.ptr[ends[i].first + 1];
    index.edges[i] = ends[i].second;
  }
  std::partial_sum(index.ptr.begin(), index.ptr.end(), index.ptr.begin());
  return index;
}

struct PlainPairs {
  Ids node, relation, ofEdge, relationPtr = {0};
};

PlainPairs plainPairs(std::span<const int32_t> nodes, std::span<const int64_t> etypePtr) {
  PlainPairs pairs;
  pairs.ofEdge.resize(nodes.size());
  std::vector<std::pair<int32_t, int32_t>> ends;
  for (size_t r = 0; r + 1 < etypePtr.size(); ++r) {
    ends.clear();
    for (int64_t e = etypePtr[r]; e < etypePtr[r + 1]; ++e)
      ends.emplace_back(nodes[e], static_cast<int32_t>(e));
    std::sort(ends.begin(), ends.end());
    for (size_t i = 0; i < ends.size(); ++i) {
      if (i == 0 || ends[i].first != ends[i - 1].first) {
        pairs.node.push_back(ends[i].first);
        pairs.relation.push_back(static_cast<int32_t>(r));
      }
      pairs.ofEdge[ends[i].second] = static_cast<int32_t>(pairs.node.size()) - 1;
    }
    pairs.relationPtr.push_back(static_cast<int32_t>(pairs.node.size()));
  }
  return pairs;
}

Ids plainOrder(std::span<const int32_t> ptr) {
  Ids order(ptr.size() - 1);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int32_t x = ptr[a + 1] - ptr[a], y = ptr[b + 1] - ptr[b];
    return x != y ? x > y : a < b;
  });
  return order;
}

Ids plainInverse(std::span<const int32_t> permutation) {
  Ids inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[permutation[i]] = static_cast<int32_t>(i);
  return inverse;
}

Ids plainGather(std::span<const int32_t> values, std::span<const int32_t> places) {
  Ids gathered(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    gathered[i] = values[places[i]];
  return gathered;
}

struct PlainPairIndex {
  Ids ptr, pairs, relation, edgePtr, places;
};

PlainPairIndex plainPairIndex(std::span<const int32_t> nodes, std::span<const int32_t> relations,
                              std::span<const int32_t> ofEdge, int64_t numNodes) {
  PlainPairIndex index;
  auto [ptr, pairs] = plainIndex(nodes, numNodes);
  Ids numEdges(nodes.size());
  for (int32_t pair : ofEdge)
    ++numEdges[pair];
  index.relation = plainGather(relations, pairs);
  index.places = plainInverse(pairs);
  index.edgePtr.push_back(0);
  for (int32_t pair : pairs)
    index.edgePtr.push_back(index.edgePtr.back() + numEdges[pair]);
  index.ptr = std::move(ptr);
  index.pairs = std::move(pairs);
  return index;
}

struct PlainTiles {
  Ids type, first, rows;
};

PlainTiles plainTiles(std::span<const int64_t> ptr, int64_t height) {
  PlainTiles tiles;
  for (size_t type = 0; type + 1 < ptr.size(); ++type)
    for (int64_t row = ptr[type]; row < ptr[type + 1]; row += height) {
      tiles.type.push_back(static_cast<int32_t>(type));
      tiles.first.push_back(static_cast<int32_t>(row));
      tiles.rows.push_back(static_cast<int32_t>(std::min(height, ptr[type + 1] - row)));
    }
  return tiles;
}

bool equal(const IdArray &ours, const Ids &plain) {
  return ours.visit([&](auto ids) { return std::equal(ids.begin(), ids.end(), plain.begin(), plain.end()); });
}
bool equal(const EdgeIndex &ours, const PlainIndex &plain) {
  return equal(ours.ptr, plain.ptr) && equal(ours.edges, plain.edges);
}
bool equal(const Pairs &ours, const PlainPairs &plain) {
  return equal(ours.node, plain.node) && equal(ours.relation, plain.relation) && equal(ours.ofEdge, plain.ofEdge) &&
         equal(ours.relationPtr, plain.relationPtr);
}
bool equal(const PairIndex &ours, const PlainPairIndex &plain) {
  return equal(ours.ptr, plain.ptr) && equal(ours.pairs, plain.pairs) && equal(ours.relation, plain.relation) &&
         equal(ours.edgePtr, plain.edgePtr) && equal(ours.places, plain.places);
}
bool equal(const Tiles &ours, const PlainTiles &plain) {
  return equal(ours.type, plain.type) && equal(ours.first, plain.first) && equal(ours.rows, plain.rows);
}

/// The ids of a graph small enough to have 32-bit ones, as all that are measured here.
std::span<const int32_t> narrow(const IdArray &array) {
  return array.visit([](auto ids) {
    if constexpr (sizeof(ids[0]) == 4)
      return ids;
    else
      return std::span<const int32_t>();
  });
}

class Table {
public:
  Table(int64_t numEdges, int64_t graphBytes, int runs) : numEdges(numEdges), graphBytes(graphBytes), runs(runs) {
    std::printf("| form | 1 thread, ms | plain, ms | ratio | %d threads, ms elapsed | plain, ms elapsed | ratio "
                "| peak bytes per edge | equal |\n|---|---|---|---|---|---|---|---|---|\n",
                numThreads());
  }

  /// Checks, then times. The plain build runs once: it is slow enough for that.
  template <class F, class G> void form(const char *name, F &&ours, G &&plain) {
    Time plainTime, time, oneTime;
    bool isEqual = true;
    {
      decltype(plain()) expected;
      measure(plainTime, [&] { expected = plain(); });
      isEqual = equal(ours(), expected);
      ThreadLimit one(1);
      isEqual = isEqual && equal(ours(), expected);
    }
    allEqual = allEqual && isEqual;
    if (!isEqual) {
      std::printf("| %s | – | – | – | – | – | – | – | NO |\n", name);
      return;
    }
    resetPeak();
    const int64_t before = memory("VmRSS:");
    measure(time, [&] { (void)ours(); });
    const int64_t peak = memory("VmHWM:") - before + graphBytes;
    for (int run = 0; run < runs; ++run) {
      measure(time, [&] { (void)ours(); });
      ThreadLimit one(1);
      measure(oneTime, [&] { (void)ours(); });
    }
    row(name, oneTime.processor, plainTime.processor, time.elapsed, plainTime.elapsed, peak);
    sums[0] += oneTime.processor;
    sums[1] += plainTime.processor;
    sums[2] += time.elapsed;
    sums[3] += plainTime.elapsed;
  }
  void all(int64_t peak) { row("all together", sums[0], sums[1], sums[2], sums[3], peak); }
  bool isFine() const { return allEqual; }

private:
  void row(const char *name, double one, double plainOne, double many, double plainMany, int64_t peak) {
    std::printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | yes |\n", name, one, plainOne, plainOne / one,
                many, plainMany, plainMany / many, static_cast<double>(peak) / static_cast<double>(numEdges));
    std::fflush(stdout);
  }

  int64_t numEdges, graphBytes;
  int runs;
  std::array<double, 4> sums = {};
  bool allEqual = true;
};

bool bench(const NamedGraph &named, int runs) {
  SyntheticOptions options;
  options.nodes = named.nodes;
  options.nodeTypes = named.nodeTypes;
  options.edges = named.edges;
  options.edgeTypes = named.edgeTypes;
  std::optional<Graph> graph;
  {
    Result<TensorFile> file = makeSynthetic(options);
    if (!file) {
      std::fprintf(stderr, "error: %s\n", file.status().message().c_str());
      return false;
    }
    Result<Graph> made = Graph::fromTensors(*file, named.edgeTypes);
    if (!made) {
      std::fprintf(stderr, "error: %s\n", made.status().message().c_str());
      return false;
    }
    graph = std::move(made).take();
  }
  const int64_t graphBytes = graph->src().numBytes() + graph->dst().numBytes() + graph->etype().numBytes();
  std::printf("\n%s: %lld nodes of %lld types, %lld edges of %lld types\n\n", std::string(named.name).c_str(),
              static_cast<long long>(named.nodes), static_cast<long long>(named.nodeTypes),
              static_cast<long long>(named.edges), static_cast<long long>(named.edgeTypes));

  Table table(named.edges, graphBytes, runs);
  const std::span<const int32_t> src = narrow(graph->src()), dst = narrow(graph->dst());
  const int64_t numNodes = graph->numNodes();
  const std::span<const int64_t> etypePtr = graph->etypePtr();
  struct End {
    std::span<const int32_t> nodes;
    const char *index, *pairs, *order;
  };
  const End ends[] = {{src, "CSR (edges by source)", "source pairs", "nodes by out-degree"},
                      {dst, "CSC (edges by destination)", "destination pairs", "nodes by in-degree"}};
  for (const End &end : ends)
    table.form(
        end.index, [&] { return groupByNode(end.nodes, numNodes); }, [&] { return plainIndex(end.nodes, numNodes); });
  for (const End &end : ends)
    table.form(
        end.pairs, [&] { return findPairs(end.nodes, etypePtr); }, [&] { return plainPairs(end.nodes, etypePtr); });
  for (const End &end : ends) {
    const EdgeIndex edges = groupByNode(end.nodes, numNodes);
    const std::span<const int32_t> ptr = narrow(edges.ptr);
    table.form(end.order, [&] { return degreeOrder(ptr); }, [&] { return plainOrder(ptr); });
  }
  {
    const EdgeIndex csr = groupByNode(src, numNodes), csc = groupByNode(dst, numNodes);
    const IdArray toType = invert(csc.edges);
    table.form(
        "permutation from CSC to type order", [&] { return invert(csc.edges); },
        [&] { return plainInverse(narrow(csc.edges)); });
    table.form(
        "permutation from CSC to CSR order", [&] { return gather(toType, csr.edges); },
        [&] { return plainGather(narrow(toType), narrow(csr.edges)); });
    table.form(
        "sources in CSC order", [&] { return gather(graph->src(), csc.edges); },
        [&] { return plainGather(src, narrow(csc.edges)); });
    const Pairs srcPairs = findPairs(src, etypePtr), dstPairs = findPairs(dst, etypePtr);
    table.form(
        "source pairs in CSC order", [&] { return gather(srcPairs.ofEdge, csc.edges); },
        [&] { return plainGather(narrow(srcPairs.ofEdge), narrow(csc.edges)); });
    auto byNode = [&](const char *name, const Pairs &pairs, const EdgeIndex &edges) {
      table.form(
          name, [&] { return groupPairs(pairs, edges, etypePtr); },
          [&] { return plainPairIndex(narrow(pairs.node), narrow(pairs.relation), narrow(pairs.ofEdge), numNodes); });
    };
    byNode("source pairs by node", srcPairs, csr);
    byNode("destination pairs by node", dstPairs, csc);
  }
  table.form(
      "tiles of 64 edges", [&] { return cutTiles(etypePtr, 64, int64_t{1} << 31); },
      [&] { return plainTiles(etypePtr, 64); });

  resetPeak();
  const int64_t before = memory("VmRSS:");
  (void)graph->outgoing(), (void)graph->incoming();
  (void)graph->srcPairs(), (void)graph->dstPairs();
  (void)graph->outDegreeOrder(), (void)graph->inDegreeOrder();
  (void)graph->edgePermutation(EdgeOrder::Destination, EdgeOrder::Source);
  (void)graph->edgeColumn(EdgeColumn::Source, EdgeOrder::Destination);
  (void)graph->edgeColumn(EdgeColumn::SrcPair, EdgeOrder::Destination);
  (void)graph->srcPairsByNode(), (void)graph->dstPairsByNode();
  (void)graph->tiles(TileRows::Edges, 64);
  table.all(memory("VmHWM:") - before + graphBytes);
  return table.isFine();
}

int benchMain(int argc, char **argv) {
  std::vector<const NamedGraph *> graphs;
  int runs = 3;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      const char *text = argv[++i];
      auto [end, error] = std::from_chars(text, text + std::strlen(text), runs);
      if (error != std::errc() || *end || runs < 1) {
        std::fprintf(stderr, "error: --runs is `%s`; it must be a number from 1\n", text);
        return 2;
      }
      continue;
    }
    graphs.push_back(findNamedGraph(argv[i]));
    if (!graphs.back()) {
      std::fprintf(stderr, "error: there is no graph `%s`; usage: derived-forms-bench [GRAPH ...] [--runs N]\n",
                   argv[i]);
      return 2;
    }
  }
  if (graphs.empty())
    graphs = {findNamedGraph("mag"), findNamedGraph("wikikg2")};
  bool isFine = true;
  for (const NamedGraph *graph : graphs)
    isFine = bench(*graph, runs) && isFine;
  return isFine ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(benchMain, argc, argv);
}
