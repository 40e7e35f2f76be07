/// A small layer and a case for it, for tests of the driver.
#pragma once

#include "driver/Case.h"
#include "driver/Model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hector {

/// Two results, an input of each of three homes, and a size that no attribute or setting gives.
inline constexpr const char *kLayer = "def layer(g, x: Node[d], W: EdgeType[d, k], b: Shared[k]):\n"
                                      "    for n in g.nodes():\n"
                                      "        n[\"sum\"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())\n"
                                      "        n[\"out\"] = n[\"sum\"] + b\n"
                                      "    return n[\"out\"], n[\"sum\"]\n";

inline Model layer() {
  auto model = parseModel(kLayer, "layer.hec");
  EXPECT_TRUE(model) << model.status().message();
  return std::move(model).take();
}

inline Tensor ids(const std::vector<int64_t> &values) {
  return Tensor::fromInt64({static_cast<int64_t>(values.size())}, values);
}

inline Tensor numbers(std::vector<int64_t> shape, const std::vector<double> &values) {
  return Tensor::fromDoubles(std::move(shape), values, DType::F64);
}

/// Three nodes, edges 0→1 and 2→1 of types 0 and 1; d = 2, k = 1. Node 1 gets 1·1 + 2·10 + 5·100 + 6·1000.
inline TensorFile layerCase() {
  TensorFile file;
  file.tensors["graph.src"] = ids({0, 2});
  file.tensors["graph.dst"] = ids({1, 1});
  file.tensors["graph.etype"] = ids({0, 1});
  file.tensors["x"] = numbers({3, 2}, {1, 2, 3, 4, 5, 6});
  file.tensors["W"] = numbers({2, 2, 1}, {1, 10, 100, 1000});
  file.tensors["b"] = numbers({1}, {0.5});
  return file;
}

}  // namespace hector
