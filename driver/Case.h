/// A graph and tensors, bound to a model's inputs by name.
#pragma once

#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <map>
#include <string>

namespace hector {

/// Tensors by name. Copies share the bytes.
using Tensors = std::map<std::string, Tensor>;

struct Case {
  Graph graph;
  Tensors tensors;  // one per input, under the input's name; and those named `grad.RESULT`
};

/// Reads `path`, builds its graph and binds its tensors: `NAME` or `param.NAME` to input NAME. Sizes that the shapes
/// determine are added to `binding`; those already there are checked. Fails as well if the forms that are derived from
/// the graph would not fit in memory.
Result<Case> loadCase(const std::string &path, const language::Signature &signature, language::Binding &binding);

/// The same on tensors already read; messages do not name the file. The metadata says how many edge types there are;
/// where it does not, the tensors of EdgeType inputs do, and where there are none, the largest type of an edge. Inputs
/// that disagree with that are refused.
Result<Case> bindCase(const TensorFile &file, const language::Signature &signature, language::Binding &binding);

/// Reads the graph of a graph file, or of a case for the model, whose inputs may be absent; those that are there must
/// fit the graph.
Result<Graph> loadGraph(const std::string &path, const language::Signature &signature);

}  // namespace hector
