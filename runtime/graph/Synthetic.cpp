#include "runtime/graph/Synthetic.h"

#include "runtime/base/BigVector.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/graph/Graph.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

namespace hector {

namespace {

// Hector, Table 3, in full: preprocessed as OGB and DGL do, inverse edges included.
constexpr std::array<NamedGraph, 8> kNamed = {{
    {"aifb", 7262, 7, 48810, 104},
    {"am", 1885136, 7, 5668682, 108},
    {"bgs", 94806, 27, 672884, 122},
    {"biokg", 93773, 5, 4762678, 51},
    {"fb15k", 14951, 1, 620232, 474},
    {"mag", 1939743, 4, 21111007, 4},
    {"mutag", 27163, 5, 148100, 50},
    {"wikikg2", 2500604, 1, 16109182, 535},
}};

constexpr int64_t kGrain = int64_t{1} << 16;
constexpr int64_t kMaxFeatures = int64_t{1} << 20;
constexpr int64_t kMaxClasses = 1 << 12;
constexpr int64_t kMinInformative = 4;  // in-edges that a node needs to get a label

/// A bijection of 64 bits in which every bit depends on every other (the finaliser of SplitMix64).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// What a random number is for. Numbers of different purposes have nothing to do with each other.
enum class Purpose : uint64_t { EdgeTypeEnds = 1, Source, Destination, Signal, Class, Rotation, Feature, Split };

/// Random numbers that are functions of their index, so that any thread can compute any of them.
class Stream {
public:
  Stream(uint64_t seed, Purpose purpose, int64_t part = 0)
      : key(mix(mix(mix(seed + kStep) + static_cast<uint64_t>(purpose)) + static_cast<uint64_t>(part) * kStep)) {}
  uint64_t bits(int64_t index) const { return mix(key + static_cast<uint64_t>(index) * kStep); }
  /// In [0, 1), a multiple of 2^-53.
  double unit(int64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  /// In 0 .. count-1.
  int64_t below(int64_t index, int64_t count) const {
    return static_cast<int64_t>((static_cast<unsigned __int128>(bits(index)) * static_cast<uint64_t>(count)) >> 64);
  }

private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t key;
};

/// x^a for x > 0, by additions, multiplications and divisions alone: libraries' powers differ in the last bit.
double power(double x, double a) {
  if (a == 1)
    return x;
  if (a == 2)
    return x * x;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // 0.5 <= m < 1; exact
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)); |t| <= 0.172, so that 12 terms reach the last bit.
  const double t = (m - 1) / (m + 1), t2 = t * t;
  double series = 0;
  for (int k = 23; k >= 1; k -= 2)
    series = series * t2 + 1.0 / k;
  constexpr double kLn2 = 0.69314718055994531;
  const double y = a * (2 * t * series + exponent * kLn2);
  if (y < -700)
    return 0;
  const double whole = std::floor(y / kLn2 + 0.5), rest = y - whole * kLn2;  // |rest| <= 0.35
  double sum = 1;
  for (int k = 16; k >= 1; --k)
    sum = 1 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(whole));
}

/// Shares of `total` in proportion to 1/k^skew, at least one each; the first gets what rounding leaves.
std::vector<int64_t> shares(int64_t total, int64_t count, double skew) {
  std::vector<double> weight(static_cast<size_t>(count));
  double sum = 0;
  for (int64_t k = 0; k < count; ++k)
    sum += weight[k] = 1 / power(static_cast<double>(k + 1), skew);
  std::vector<int64_t> share(static_cast<size_t>(count));
  int64_t given = 0;
  for (int64_t k = 0; k < count; ++k)
    given += share[k] = std::max<int64_t>(1, static_cast<int64_t>(weight[k] / sum * static_cast<double>(total)));
  // Where types outnumber what rounding left, the minimum of one may have given away more than there is.
  share[0] += total - given;
  for (int64_t k = 0; share[0] < 1; k = (k + 1) % count)
    if (k > 0 && share[k] > 1) {
      --share[k];
      ++share[0];
    }
  return share;
}

/// A node type's nodes by rank, the busiest first.
class Ranks {
public:
  Ranks(int64_t first, int64_t span) : first(first), span(span) {
    while (std::gcd(static_cast<int64_t>(multiplier), span) != 1)
      multiplier += 2;
  }
  int64_t size() const { return span; }
  /// One to one.
  int64_t node(int64_t rank) const {
    return first +
           static_cast<int64_t>(static_cast<unsigned __int128>(rank) * multiplier % static_cast<uint64_t>(span));
  }
  int64_t draw(double unit, double skew) const {
    const double u = unit > 0 ? power(unit, skew) : 0;
    return std::min(span - 1, static_cast<int64_t>(static_cast<double>(span) * u));
  }

private:
  int64_t first, span;
  uint64_t multiplier = 2654435761;
};

/// Communities by rank: each run of `classes` ranks has every community once, so that communities are equally busy.
class Communities {
public:
  Communities(uint64_t seed, int64_t type, int64_t classes)
      : rotation(seed, Purpose::Rotation, type), classes(classes) {}
  int64_t of(int64_t rank) const { return (rank + turn(rank / classes)) % classes; }
  /// The rank nearest to `rank`'s run that has `community`. The type has at least `classes` nodes.
  int64_t nearest(int64_t rank, int64_t community, int64_t size) const {
    int64_t run = std::min(rank / classes, size / classes - 1);
    // of(run * classes + i) = (run * classes + i + turn) % classes = (i + turn) % classes
    return run * classes + (community - turn(run) + classes) % classes;
  }

private:
  int64_t turn(int64_t run) const { return rotation.below(run, classes); }
  Stream rotation;
  int64_t classes;
};

struct Relation {
  int64_t src = 0, dst = 0;
  int64_t first = 0, count = 0;  // edges
  bool isInformative = false;
  int64_t shift = 0;
  double signal = 0;  // the part of the edges that tell the class
};

/// Everything small that the edges are drawn from.
struct Plan {
  std::vector<int64_t> ntypePtr = {0};
  std::vector<Ranks> ranks;              // one per node type
  std::vector<Communities> communities;  // one per node type
  std::vector<Relation> edgeTypes;
};

/// Gives the edge types that can carry a signal their shifts, and thins the signal of common shifts down to that of the
/// rarest.
Status plant(const SyntheticOptions &o, Plan &plan) {
  std::vector<int64_t> weight(static_cast<size_t>(o.classes));
  for (Relation &type : plan.edgeTypes) {
    type.isInformative = type.dst == 0 && plan.ranks[type.src].size() >= o.classes;
    if (!type.isInformative)
      continue;
    // Largest first, each to the shift that has least so far.
    type.shift = std::min_element(weight.begin(), weight.end()) - weight.begin();
    weight[type.shift] += type.count;
  }
  const int64_t least = *std::min_element(weight.begin(), weight.end());
  if (least == 0)
    return Status::invalid("too few edge types come from node types with " + std::to_string(o.classes) +
                           " nodes or more to plant " + std::to_string(o.classes) +
                           " classes; raise --edge-types or --nodes, or lower --classes or --node-types");
  for (Relation &type : plan.edgeTypes)
    if (type.isInformative)
      type.signal = o.signal * static_cast<double>(least) / static_cast<double>(weight[type.shift]);
  return Status::ok();
}

Result<Plan> makePlan(const SyntheticOptions &o) {
  Plan plan;
  for (int64_t size : shares(o.nodes, o.nodeTypes, o.nodeTypeSkew)) {
    plan.communities.emplace_back(o.seed, static_cast<int64_t>(plan.ranks.size()), std::max<int64_t>(o.classes, 1));
    plan.ranks.emplace_back(plan.ntypePtr.back(), size);
    plan.ntypePtr.push_back(plan.ntypePtr.back() + size);
  }
  const Stream ends(o.seed, Purpose::EdgeTypeEnds);
  int64_t first = 0;
  for (int64_t count : shares(o.edges, o.edgeTypes, o.edgeTypeSkew)) {
    const auto r = static_cast<int64_t>(plan.edgeTypes.size());
    Relation type{ends.below(2 * r, o.nodeTypes), ends.below(2 * r + 1, o.nodeTypes), first, count};
    if (r == 0)
      type.src = type.dst = 0;
    // Enough large edge types to give each shift about two.
    if (r < 2 * o.classes)
      type.dst = 0;
    plan.edgeTypes.push_back(type);
    first += count;
  }
  if (o.classes > 0)
    if (Status status = plant(o, plan); !status.isOk())
      return status;
  return plan;
}

template <class T> Tensor tensorOf(DType dtype, std::vector<int64_t> shape, BigVector<T> values) {
  auto owner = std::make_shared<BigVector<T>>(std::move(values));
  return {dtype, std::move(shape), reinterpret_cast<const std::byte *>(owner->data()), owner};
}

std::string jsonNames(std::string_view prefix, int64_t count) {
  std::string text = "[";
  for (int64_t k = 0; k < count; ++k)
    text += (k ? ",\"" : "\"") + std::string(prefix) + std::to_string(k) + "\"";
  return text + "]";
}

/// A number as users write it: 0.9, 2.
std::string formatNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.12g", value);
  return text;
}

/// The command that makes the file again.
std::string command(const SyntheticOptions &o) {
  std::string text = "hector data make";
  if (!o.name.empty())
    text += " " + o.name;
  else
    text += " --nodes " + std::to_string(o.nodes) + " --node-types " + std::to_string(o.nodeTypes) + " --edges " +
            std::to_string(o.edges) + " --edge-types " + std::to_string(o.edgeTypes);
  const SyntheticOptions usual;
  auto add = [&](std::string_view option, double value, double usualValue) {
    if (value != usualValue)
      text += " --" + std::string(option) + " " + formatNumber(value);
  };
  add("skew", o.skew, usual.skew);
  add("node-type-skew", o.nodeTypeSkew, usual.nodeTypeSkew);
  add("edge-type-skew", o.edgeTypeSkew, usual.edgeTypeSkew);
  if (o.features > 0)
    text += " --features " + std::to_string(o.features);
  if (o.features > 0)
    add("noise", o.noise, usual.noise);
  if (o.classes > 0) {
    text += " --classes " + std::to_string(o.classes);
    add("signal", o.signal, usual.signal);
  }
  return text + " --seed " + std::to_string(o.seed);
}

/// Counts what is done, over all threads, and asks whether to go on.
class Progress {
public:
  Progress(int64_t total, const std::function<bool(int64_t, int64_t)> &report) : total(total), report(report) {}
  bool goesOn() const { return !isStopped; }
  void add(int64_t count) {
    const int64_t now = done += count;
    if (report && !report(now, total))
      isStopped = true;
  }

private:
  int64_t total;
  const std::function<bool(int64_t, int64_t)> &report;
  std::atomic<int64_t> done = 0;
  std::atomic<bool> isStopped = false;
};

template <class Id> class Maker {
public:
  Maker(const SyntheticOptions &options, const Plan &plan, Progress &progress)
      : o(options), plan(plan), progress(progress) {}

  void makeEdges(TensorFile &file) {
    BigVector<Id> src(static_cast<size_t>(o.edges)), dst(static_cast<size_t>(o.edges));
    BigVector<int32_t> etype(static_cast<size_t>(o.edges));
    parallelFor(o.edges, kGrain, [&](int64_t begin, int64_t end) {
      if (!progress.goesOn())
        return;
      auto type = std::upper_bound(plan.edgeTypes.begin(), plan.edgeTypes.end(), begin,
                                   [](int64_t e, const Relation &t) { return e < t.first; }) -
                  1;
      for (int64_t e = begin; e < end; ++type) {
        const int64_t stop = std::min(end, type->first + type->count);
        const auto r = type - plan.edgeTypes.begin();
        std::fill(etype.begin() + e, etype.begin() + stop, static_cast<int32_t>(r));
        drawEdges(r, e - type->first, stop - type->first, &src[type->first], &dst[type->first]);
        e = stop;
      }
      progress.add(end - begin);
    });
    if (o.classes > 0 && progress.goesOn())
      makeLabels(file, dst);
    const DType dtype = sizeof(Id) == 4 ? DType::I32 : DType::I64;
    file.tensors["graph.src"] = tensorOf(dtype, {o.edges}, std::move(src));
    file.tensors["graph.dst"] = tensorOf(dtype, {o.edges}, std::move(dst));
    file.tensors["graph.etype"] = tensorOf(DType::I32, {o.edges}, std::move(etype));
    file.tensors["graph.ntype_ptr"] = Tensor::fromInt64({static_cast<int64_t>(plan.ntypePtr.size())}, plan.ntypePtr);
  }

  void makeFeatures(TensorFile &file) {
    BigVector<float> x(static_cast<size_t>(o.nodes * o.features));
    for (size_t k = 0; k < plan.ranks.size(); ++k) {
      const Ranks &ranks = plan.ranks[k];
      parallelFor(ranks.size(), std::max<int64_t>(1, kGrain / o.features), [&](int64_t begin, int64_t end) {
        if (!progress.goesOn())
          return;
        for (int64_t rank = begin; rank < end; ++rank) {
          const int64_t node = ranks.node(rank);
          drawFeatures(node, o.classes > 0 ? plan.communities[k].of(rank) : -1, &x[node * o.features]);
        }
        progress.add(end - begin);
      });
    }
    file.tensors["x"] = tensorOf(DType::F32, {o.nodes, o.features}, std::move(x));
  }

private:
  /// Edges `begin .. end-1` of relation r, counted from its first.
  void drawEdges(int64_t r, int64_t begin, int64_t end, Id *src, Id *dst) const {
    const Relation &type = plan.edgeTypes[r];
    const Ranks &sources = plan.ranks[type.src], &destinations = plan.ranks[type.dst];
    const Stream source(o.seed, Purpose::Source, r), destination(o.seed, Purpose::Destination, r),
        signal(o.seed, Purpose::Signal, r);
    for (int64_t i = begin; i < end; ++i) {
      int64_t rank = sources.draw(source.unit(i), o.skew);
      const int64_t to = destinations.node(destinations.draw(destination.unit(i), o.skew));
      if (type.isInformative && signal.unit(i) < type.signal) {
        const int64_t community = (classOf(to) + type.shift) % o.classes;
        rank = plan.communities[type.src].nearest(rank, community, sources.size());
      }
      src[i] = static_cast<Id>(sources.node(rank));
      dst[i] = static_cast<Id>(to);
    }
  }

  int64_t classOf(int64_t node) const { return Stream(o.seed, Purpose::Class).below(node, o.classes); }

  /// Four uniform numbers added up are close enough to a normal one, and the same on every machine.
  void drawFeatures(int64_t node, int64_t community, float *row) const {
    const Stream stream(o.seed, Purpose::Feature, node);
    for (int64_t j = 0; j < o.features; ++j) {
      const uint64_t bits = stream.bits(j);
      int64_t sum = 0;
      for (int part = 0; part < 64; part += 16)
        sum += static_cast<int64_t>((bits >> part) & 0xffff) * 2 - 65535;
      // Each has a standard deviation of 65536 / sqrt(3), their sum twice that.
      constexpr double kScale = 0.8660254037844386 / 65536;
      double value = static_cast<double>(sum) * kScale * o.noise;
      if (community >= 0 && j % o.classes == community)
        value += 1;
      row[j] = static_cast<float>(value);
    }
  }

  /// Labels the nodes of the first type that have edges enough to tell their class by.
  void makeLabels(TensorFile &file, const BigVector<Id> &dst) const {
    std::vector<int32_t> edges(static_cast<size_t>(plan.ntypePtr[1]));
    for (const Relation &type : plan.edgeTypes)
      for (int64_t e = type.first; type.isInformative && e < type.first + type.count; ++e)
        edges[dst[e]] += edges[dst[e]] < kMinInformative;
    std::vector<int64_t> nodes, labels;
    for (int64_t node = 0; node < plan.ntypePtr[1]; ++node)
      if (edges[node] >= kMinInformative) {
        nodes.push_back(node);
        labels.push_back(classOf(node));
      }
    const auto count = static_cast<int64_t>(nodes.size());
    file.tensors["label"] = Tensor::fromInt64({count}, labels);
    file.tensors["label.node"] = Tensor::fromInt64({count}, nodes);
    const Stream split(o.seed, Purpose::Split);
    std::sort(nodes.begin(), nodes.end(),
              [&](int64_t a, int64_t b) { return std::pair(split.bits(a), a) < std::pair(split.bits(b), b); });
    const int64_t ends[] = {0, count * 6 / 10, count * 8 / 10, count};
    const char *names[] = {"split.train", "split.valid", "split.test"};
    for (int i = 0; i < 3; ++i) {
      std::vector<int64_t> part(nodes.begin() + ends[i], nodes.begin() + ends[i + 1]);
      std::sort(part.begin(), part.end());
      file.tensors[names[i]] = Tensor::fromInt64({static_cast<int64_t>(part.size())}, part);
    }
  }

  const SyntheticOptions &o;
  const Plan &plan;
  Progress &progress;
};

bool fitsNarrow(int64_t nodes) {
  return nodes - 1 <= std::numeric_limits<int32_t>::max();
}

}  // namespace

std::span<const NamedGraph> namedGraphs() {
  return kNamed;
}

const NamedGraph *findNamedGraph(std::string_view name) {
  auto it = std::find_if(kNamed.begin(), kNamed.end(), [&](const NamedGraph &graph) { return graph.name == name; });
  return it == kNamed.end() ? nullptr : &*it;
}

Status checkSynthetic(const SyntheticOptions &o) {
  auto number = [](int64_t n) { return std::to_string(n); };
  auto range = [&](std::string_view option, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high)
      return Status::ok();
    return Status::invalid(std::string(option) + " is " + number(value) + "; it must be " + number(low) + " to " +
                           number(high));
  };
  constexpr int64_t kMaxEdges = int64_t{1} << 40;
  for (Status status :
       {range("--nodes", o.nodes, 1, Graph::kMaxNodes), range("--edges", o.edges, 1, kMaxEdges),
        range("--node-types", o.nodeTypes, 1, Graph::kMaxRelations),
        range("--edge-types", o.edgeTypes, 1, Graph::kMaxRelations), range("--features", o.features, 0, kMaxFeatures),
        range("--classes", o.classes, 0, kMaxClasses)})
    if (!status.isOk())
      return status;
  if (o.nodes < o.nodeTypes)
    return Status::invalid("--nodes is " + number(o.nodes) + ", but --node-types is " + number(o.nodeTypes) +
                           "; every type needs a node");
  if (o.edges < o.edgeTypes)
    return Status::invalid("--edges is " + number(o.edges) + ", but --edge-types is " + number(o.edgeTypes) +
                           "; every type needs an edge");
  for (auto [option, value] : {std::pair("--skew", o.skew), std::pair("--node-type-skew", o.nodeTypeSkew),
                               std::pair("--edge-type-skew", o.edgeTypeSkew), std::pair("--noise", o.noise)})
    if (!(value >= 0 && value <= 100))
      return Status::invalid(std::string(option) + " must be 0 to 100");
  if (!(o.signal >= 0 && o.signal <= 1))
    return Status::invalid("--signal must be 0 to 1");
  if (o.classes == 0)
    return Status::ok();
  if (o.classes == 1)
    return Status::invalid("--classes is 1; planted classes are at least 2, or 0 for none");
  if (o.edgeTypes < o.classes)
    return Status::invalid("--classes is " + number(o.classes) + ", but --edge-types is " + number(o.edgeTypes) +
                           "; each class needs an edge type of its own to hide among");
  if (o.features < o.classes)
    return Status::invalid("--classes is " + number(o.classes) + ", but --features is " + number(o.features) +
                           "; each class needs a column to show its community");
  return Status::ok();
}

int64_t syntheticBytes(const SyntheticOptions &o) {
  // In floating point, which cannot overflow; then clamped.
  const double bytes = static_cast<double>(o.edges) * (fitsNarrow(o.nodes) ? 12 : 20) +
                       static_cast<double>(o.nodes) * (static_cast<double>(o.features) * 4 + (o.classes > 0 ? 36 : 0));
  return static_cast<int64_t>(std::min(bytes, 9e18));
}

Result<TensorFile> makeSynthetic(const SyntheticOptions &options, const std::function<bool(int64_t, int64_t)> &report) {
  if (Status status = checkSynthetic(options); !status.isOk())
    return status;
  Result<Plan> plan = makePlan(options);
  if (!plan)
    return std::move(plan).status();
  TensorFile file;
  Progress progress(options.edges + (options.features > 0 ? options.nodes : 0), report);
  auto make = [&](auto maker) {
    maker.makeEdges(file);
    if (options.features > 0 && progress.goesOn())
      maker.makeFeatures(file);
  };
  if (fitsNarrow(options.nodes))
    make(Maker<int32_t>(options, *plan, progress));
  else
    make(Maker<int64_t>(options, *plan, progress));
  if (!progress.goesOn())
    return Status::failed("stopped");
  if (const Tensor *labels = file.find("label"); labels && labels->numElements() < 10 * options.classes)
    return Status::invalid("only " + std::to_string(labels->numElements()) + " nodes have " +
                           std::to_string(kMinInformative) + " edges that tell their class; " +
                           std::to_string(options.classes) + " classes need at least " +
                           std::to_string(10 * options.classes) + ": raise --edges or lower --classes");

  std::string edgeTypes = "[";
  for (size_t r = 0; r < plan->edgeTypes.size(); ++r) {
    const Relation &type = plan->edgeTypes[r];
    edgeTypes += std::string(r ? "," : "") + "{\"name\":\"r" + std::to_string(r) + "\",\"src\":\"n" +
                 std::to_string(type.src) + "\",\"dst\":\"n" + std::to_string(type.dst) + "\"}";
  }
  file.metadata["hector.format"] = "graph/1";
  file.metadata["node_types"] = jsonNames("n", options.nodeTypes);
  file.metadata["edge_types"] = edgeTypes + "]";
  file.metadata["source"] = command(options);
  return file;
}

}  // namespace hector
