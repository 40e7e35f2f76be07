#include "driver/Initial.h"

#include "kernels/common/philox.hpp"
#include "language/Diagnostics.h"
#include "runtime/base/BigVector.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <string_view>

namespace hector {

using language::Home;

/// The key of an input's numbers. The third word keeps it apart from the keys of dropout, which have 0 there.
static PhiloxKey keyOf(uint64_t seed, std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const PhiloxCounter drawn = philox({{static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32), 1, 0}},
                                     {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
  return {{drawn.words[0], drawn.words[1]}};
}

/// A number between 0 and 1, and neither of them.
static double unit(uint32_t word) {
  return (word + 0.5) * 0x1p-32;
}

namespace {

struct Distribution {
  bool isNormal;
  double low = 0, high = 1;  // of uniform numbers

  /// Four numbers out of four words.
  void draw(const PhiloxCounter &drawn, double (&values)[4]) const {
    for (int i = 0; i < 4; i += 2) {
      const double first = unit(drawn.words[i]), second = unit(drawn.words[i + 1]);
      if (isNormal) {  // Box and Muller
        const double radius = std::sqrt(-2.0 * std::log(first)), angle = 2.0 * std::numbers::pi * second;
        values[i] = radius * std::cos(angle);
        values[i + 1] = radius * std::sin(angle);
      } else {
        values[i] = low + (high - low) * first;
        values[i + 1] = low + (high - low) * second;
      }
    }
  }
};

}  // namespace

static Distribution distributionOf(Home home, std::span<const int64_t> rowShape) {
  if (home == Home::Node || home == Home::Edge)
    return {.isNormal = !rowShape.empty()};
  if (rowShape.empty())
    return {.isNormal = false, .low = 1, .high = 1};
  const size_t rank = rowShape.size();
  const auto rows = static_cast<double>(rowShape[rank > 1 ? rank - 2 : 0]);
  const auto columns = static_cast<double>(rank > 1 ? rowShape[rank - 1] : 1);
  const double bound = std::sqrt(6.0 / (rows + columns));
  return {.isNormal = false, .low = -bound, .high = bound};
}

int64_t countOf(const Graph &graph, Home home) {
  switch (home) {
  case Home::Node:
    return graph.numNodes();
  case Home::Edge:
    return graph.numEdges();
  case Home::EdgeType:
    return graph.numRelations();
  case Home::NodeType:
    return graph.numNodeTypes();
  case Home::Shared:
    break;
  }
  return 1;
}

Tensor initialTensor(const language::InputDecl &input, std::vector<int64_t> shape, uint64_t seed) {
  const Distribution distribution =
      distributionOf(input.home, std::span(shape).subspan(input.home == Home::Shared ? 0 : 1));
  const PhiloxKey key = keyOf(seed, input.name);
  Tensor tensor;
  tensor.dtype = DType::F32;
  tensor.shape = std::move(shape);
  auto values = std::make_shared<BigVector<float>>(static_cast<size_t>(tensor.numElements()));
  const auto count = static_cast<int64_t>(values->size());
  parallelFor(numChunks(count, 4), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t call = begin; call < end; ++call) {
      double drawn[4];
      distribution.draw(philox({{static_cast<uint32_t>(call), static_cast<uint32_t>(call >> 32), 0, 0}}, key), drawn);
      std::copy_n(drawn, std::min<int64_t>(4, count - 4 * call), values->data() + 4 * call);
    }
  });
  tensor.bytes = reinterpret_cast<const std::byte *>(values->data());
  tensor.owner = std::move(values);
  return tensor;
}

Result<Tensors> initialTensors(std::span<const language::InputDecl *const> inputs, const language::Binding &binding,
                               const Graph &graph, uint64_t seed) {
  language::Diagnostics diagnostics;
  std::vector<std::vector<int64_t>> shapes;
  double bytes = 0;
  for (const language::InputDecl *input : inputs) {
    auto shape = language::rowShape(*input, binding, diagnostics);
    if (!shape)
      continue;
    if (input->home != Home::Shared)
      shape->insert(shape->begin(), countOf(graph, input->home));
    double inputBytes = sizeof(float);
    for (int64_t size : *shape)
      inputBytes *= static_cast<double>(size);
    bytes += inputBytes;
    shapes.push_back(std::move(*shape));
  }
  if (!diagnostics.empty())
    return Status::located(diagnostics.render());
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t needed = bytes < static_cast<double>(kMost) ? static_cast<int64_t>(bytes) : kMost;
  if (Status status = requireMemory("initialising inputs", needed); !status.isOk())
    return status;
  Tensors tensors;
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors[inputs[i]->name] = initialTensor(*inputs[i], std::move(shapes[i]), seed);
  return tensors;
}

}  // namespace hector
