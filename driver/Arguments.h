/// The tensors that a program or a plan is run on. No MLIR.
#pragma once

#include "driver/Inputs.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hector {

/// An argument and the shape of its tensor; those named `grad.RESULT` are gradients that others start from.
struct Argument {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::F32;  // of gradients that are filled with one number
};

/// The inputs of a plan on a graph.
std::vector<Argument> argumentsOf(const exec::Plan &plan, const Graph &graph);

/// A tensor for each argument, in their order: those of the same name and, for gradients, zeros for results that have
/// none as long as one has.
Result<std::vector<NamedTensor>> bindTensors(std::span<const Argument> arguments, const Tensors &tensors);

/// Adds a gradient of ones for every result, unless `tensors` has a gradient already: the inputs then get the gradient
/// of the sum of all results. Gives the names of those added. Fails if memory runs out.
Result<std::vector<std::string>> addUnitGradients(std::span<const Argument> arguments, Tensors &tensors);

}  // namespace hector
