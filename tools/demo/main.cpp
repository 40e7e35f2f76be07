/// The two ends of the demonstration (tools/demo/run): `make` writes a small typed graph with random features and
/// weights; `check` works out the layer of rgcn.hec once more with plain loops, and shows both answers.

#include "runtime/base/Program.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

using namespace hector;

namespace {

struct NodeType {
  const char *name;
  int64_t count;
};
constexpr NodeType kNodeTypes[] = {{"paper", 300}, {"author", 180}, {"venue", 12}};

struct Relation {
  const char *name;
  int source, destination;  // node types
  int64_t count;
};
constexpr Relation kRelations[] = {
    {"writes", 1, 0, 700}, {"written by", 0, 1, 700}, {"cites", 0, 0, 1200}, {"appears in", 0, 2, 300}};

constexpr int64_t kIn = 16, kOut = 8;

/// The first node of a type.
int64_t firstNode(int type) {
  int64_t first = 0;
  for (int t = 0; t < type; ++t)
    first += kNodeTypes[t].count;
  return first;
}

/// Numbers that are the same on every machine: only the generator's own bits are used.
class Random {
public:
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  int64_t below(int64_t limit) { return static_cast<int64_t>(uniform() * static_cast<double>(limit)); }
  Tensor tensor(std::vector<int64_t> shape) {
    Tensor like{DType::F64, shape, nullptr, nullptr};
    std::vector<double> values(like.numElements());
    for (double &value : values)
      value = 2 * uniform() - 1;
    return Tensor::fromDoubles(std::move(shape), values, DType::F64);
  }

private:
  std::mt19937_64 bits{7};
};

int report(const Status &status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return 1;
}

int make(const std::string &path) {
  Random random;
  std::vector<int64_t> src, dst, etype, ntypePtr = {0};
  for (const NodeType &type : kNodeTypes)
    ntypePtr.push_back(ntypePtr.back() + type.count);
  for (size_t r = 0; r < std::size(kRelations); ++r) {
    const Relation &relation = kRelations[r];
    for (int64_t e = 0; e < relation.count; ++e) {
      src.push_back(firstNode(relation.source) + random.below(kNodeTypes[relation.source].count));
      // The square makes some nodes far more popular than others.
      double popular = random.uniform();
      dst.push_back(
          firstNode(relation.destination) +
          static_cast<int64_t>(popular * popular * static_cast<double>(kNodeTypes[relation.destination].count)));
      etype.push_back(static_cast<int64_t>(r));
    }
  }
  auto count = static_cast<int64_t>(src.size());
  TensorFile file;
  file.tensors["graph.src"] = Tensor::fromInt64({count}, src);
  file.tensors["graph.dst"] = Tensor::fromInt64({count}, dst);
  file.tensors["graph.etype"] = Tensor::fromInt64({count}, etype);
  file.tensors["graph.ntype_ptr"] = Tensor::fromInt64({static_cast<int64_t>(ntypePtr.size())}, ntypePtr);
  file.tensors["x"] = random.tensor({ntypePtr.back(), kIn});
  file.tensors["W"] = random.tensor({static_cast<int64_t>(std::size(kRelations)), kIn, kOut});
  file.tensors["root"] = random.tensor({kIn, kOut});
  file.tensors["bias"] = random.tensor({kOut});
  if (Status status = writeSafetensors(path, file); !status.isOk())
    return report(status);

  std::string nodes, edges;
  for (const NodeType &type : kNodeTypes)
    nodes += (nodes.empty() ? "" : ", ") + std::to_string(type.count) + " " + type.name + "s";
  for (const Relation &relation : kRelations)
    edges += (edges.empty() ? "" : ", ") + std::to_string(relation.count) + " \"" + relation.name + "\"";
  std::printf("  %lld nodes  %s\n  %lld edges %s\n", static_cast<long long>(ntypePtr.back()), nodes.c_str(),
              static_cast<long long>(count), edges.c_str());
  return 0;
}

/// The layer by its formula: for each node, the mean over each relation's edges of x·W, plus x·root + bias.
std::vector<double> plainLoops(const TensorFile &file, const Graph &graph) {
  std::vector<double> x = file.find("x")->toDoubles(), weights = file.find("W")->toDoubles();
  std::vector<double> root = file.find("root")->toDoubles(), bias = file.find("bias")->toDoubles();
  std::vector<double> out(graph.numNodes() * kOut);
  std::vector<int64_t> arrivals(graph.numNodes() * graph.numRelations());
  for (int64_t e = 0; e < graph.numEdges(); ++e)
    ++arrivals[graph.dst()[e] * graph.numRelations() + graph.etype()[e]];
  for (int64_t v = 0; v < graph.numNodes(); ++v)
    for (int64_t o = 0; o < kOut; ++o) {
      out[v * kOut + o] = bias[o];
      for (int64_t i = 0; i < kIn; ++i)
        out[v * kOut + o] += x[v * kIn + i] * root[i * kOut + o];
    }
  for (int64_t e = 0; e < graph.numEdges(); ++e) {
    int64_t u = graph.src()[e], v = graph.dst()[e], r = graph.etype()[e];
    for (int64_t o = 0; o < kOut; ++o) {
      double message = 0;
      for (int64_t i = 0; i < kIn; ++i)
        message += x[u * kIn + i] * weights[(r * kIn + i) * kOut + o];
      out[v * kOut + o] += message / static_cast<double>(arrivals[v * graph.numRelations() + r]);
    }
  }
  return out;
}

int check(const std::string &casePath, const std::string &outPath) {
  auto file = readSafetensors(casePath), answer = readSafetensors(outPath);
  if (!file)
    return report(file.status());
  if (!answer)
    return report(answer.status());
  auto graph = Graph::fromTensors(*file);
  if (!graph)
    return report(graph.status());
  std::vector<double> expected = plainLoops(*file, *graph);
  const Tensor *out = answer->find("out");
  if (!out || out->numElements() != static_cast<int64_t>(expected.size()))
    return report(Status::invalid(outPath + ": there is no tensor `out` of the expected shape"));
  std::vector<double> actual = out->toDoubles();

  std::printf("  %-12s %8s   %-28s %s\n", "node", "in-edges", "hector: out[0..2]", "plain loops: out[0..2]");
  const EdgeIndex &incoming = graph->incoming();
  for (size_t t = 0; t < std::size(kNodeTypes); ++t)
    for (int64_t k : {int64_t{0}, kNodeTypes[t].count - 1}) {
      int64_t v = firstNode(static_cast<int>(t)) + k;
      const double *a = &actual[v * kOut], *b = &expected[v * kOut];
      std::printf("  %-6s %-5lld %8lld   %8.4f %8.4f %8.4f   %8.4f %8.4f %8.4f\n", kNodeTypes[t].name,
                  static_cast<long long>(k), static_cast<long long>(incoming.ptr[v + 1] - incoming.ptr[v]), a[0], a[1],
                  a[2], b[0], b[1], b[2]);
    }
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::abs(actual[i] - expected[i]));
  // Written so that a NaN fails.
  bool fine = worst <= 1e-9 && std::none_of(actual.begin(), actual.end(), [](double a) { return std::isnan(a); });
  std::printf("%s: %zu numbers compared, largest difference %.1e\n", fine ? "The answers agree" : "THE ANSWERS DIFFER",
              expected.size(), worst);
  return fine ? 0 : 1;
}

int demo(int argc, char **argv) {
  std::string command = argc > 1 ? argv[1] : "";
  if (command == "make" && argc == 3)
    return make(argv[2]);
  if (command == "check" && argc == 4)
    return check(argv[2], argv[3]);
  std::fputs("usage: hector-demo make CASE | hector-demo check CASE OUT\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(demo, argc, argv);
}
