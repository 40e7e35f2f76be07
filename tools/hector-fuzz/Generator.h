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

/// Small: rows of up to 12 numbers and graphs of up to 30 edges, which show most mistakes and are quick to interpret.
/// Large: rows that are divided among lanes, and nodes with so many edges that they are cut.
enum class ProgramSize { Small, Large };

/// Builds a program from choices. Every op, every domain, heads, groups, functions; graphs with empty types, isolated
/// nodes, repeated edges, self loops, one edge, one node, none.
TestProgram generate(Choices &choices, ProgramSize size = ProgramSize::Small);

/// Numbers around 0 for a tensor, exact in f32, a function of its name only.
std::vector<double> numbersFor(const std::string &name, size_t count);

}  // namespace hector::fuzz
