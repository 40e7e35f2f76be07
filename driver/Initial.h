/// Numbers for inputs that no file has.
///
/// They depend on the seed, the name of the input and its shape, and on nothing else: not on other inputs, on the model
/// or on the number of threads.
///
/// Parameters (EdgeType, NodeType, Shared) are uniform in ±sqrt(6 / (m + n)), where a row's last two axes have m and n
/// numbers (Glorot and Bengio 2010): `W: EdgeType[16, 8]` in ±0.5. A vector counts as a matrix of one column. A single
/// number, such as a temperature or the weight of a relation, is 1. Rows of nodes and edges are features: normal with
/// mean 0 and variance 1. Those of a single number are weights or flags, uniform between 0 and 1, so that roots and
/// logarithms of sums of them exist.
#pragma once

#include "driver/Inputs.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace hector {

/// An F32 tensor for `input`; `shape` includes the axis of rows.
Tensor initialTensor(const language::InputDecl &input, std::vector<int64_t> shape, uint64_t seed);

/// Tensors for `inputs` on a graph. Fails if a size has no value, or, before any number is drawn, if memory does not
/// suffice.
Result<Tensors> initialTensors(std::span<const language::InputDecl *const> inputs, const language::Binding &binding,
                               const Graph &graph, uint64_t seed);

/// How many rows an input has; 0 for a shared one, which has no axis for them.
int64_t countOf(const Graph &graph, language::Home home);

}  // namespace hector
