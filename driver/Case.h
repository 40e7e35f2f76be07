/// A graph and tensors, bound to a model's inputs by name.
#pragma once

#include "driver/Inputs.h"
#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/graph/Graph.h"
#include "runtime/storage/Safetensors.h"

#include <string>
#include <vector>

namespace hector {

struct Case {
  Graph graph;
  Tensors tensors;                       // one per input, under the input's name; and those named `grad.RESULT`
  std::vector<std::string> initialised;  // inputs that no file has, in the order of the model
};

/// Reads the files, builds the graph and binds the tensors that `selectTensors` selects. Sizes that the shapes
/// determine are added to `binding`; those already there are checked. Inputs without a tensor are initialised from the
/// seed (`initialTensor`); if there is none, the failure lists them all. Fails as well if the forms that are derived
/// from the graph would not fit in memory. Failures name the files.
Result<Case> loadCase(const InputSources &sources, const language::Signature &signature, language::Binding &binding);

/// The same on tensors already read, one for every input; messages do not name the file. The metadata says how many
/// edge types there are; where it does not, the tensors of EdgeType inputs do, and where there are none, the largest
/// type of an edge. Inputs that disagree with that are refused.
Result<Case> bindCase(const TensorFile &file, const language::Signature &signature, language::Binding &binding);

/// Adds the sizes that the shapes of tensors in memory determine to `binding`; those already there are checked. Their
/// numbers are not read. Fails if an input has no tensor, or a size stays open.
Status bindShapes(const Tensors &tensors, const language::Signature &signature, language::Binding &binding);

/// Reads the graph of a graph file, or of a case for the model, whose inputs may be absent; those that are there must
/// fit the graph.
Result<Graph> loadGraph(const std::string &path, const language::Signature &signature);

}  // namespace hector
