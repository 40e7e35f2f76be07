/// A case file: a graph and tensors, bound to a model's inputs by name.
#pragma once

#include "interp/Interpreter.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <string>
#include <vector>

namespace hector {

struct Case {
  TensorFile file;
  Graph graph;
  std::vector<const Tensor *> inputs;  // one per input of the signature, in its order; they point into `file`
};

/// Reads `path`, builds its graph and binds its tensors: `NAME` or `param.NAME` to input NAME. Sizes that the shapes
/// determine are added to `binding`; those already there are checked.
Result<Case> loadCase(const std::string &path, const language::Signature &signature, language::Binding &binding);

/// The same on tensors already read; messages do not name the file. The metadata says how many edge types there are;
/// where it does not, the tensors of EdgeType inputs do, and where there are none, the largest type of an edge.
Result<Case> bindCase(TensorFile file, const language::Signature &signature, language::Binding &binding);

/// Reads the graph of a graph file, or of a case for the model, whose inputs may be absent; those that are there must
/// fit the graph. The message of a failure is ready to be printed.
Result<Graph> loadGraph(const std::string &path, const language::Signature &signature);

/// The tensor as rows of an input that lives at `home`.
Table toTable(const Tensor &tensor, language::Home home);

}  // namespace hector
