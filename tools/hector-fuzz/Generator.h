/// Random well-formed models on random unkind graphs.
#pragma once

#include "Choices.h"
#include "runtime/storage/Safetensors.h"

#include <string>

namespace hector::fuzz {

/// A model's text, and a case it can run on: graph, inputs, upstream gradients are drawn when results are known.
struct TestProgram {
  std::string text;
  TensorFile file;
};

/// Builds a program from choices. Every op, every domain, heads, groups, functions; graphs with empty types, isolated
/// nodes, repeated edges, self loops, one edge, one node, none.
TestProgram generate(Choices &choices);

/// Numbers around 0 for a tensor, exact in f32, a function of its name only.
std::vector<double> numbersFor(const std::string &name, size_t count);

}  // namespace hector::fuzz
