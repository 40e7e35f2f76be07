/// Which tensors of which files are the inputs of a model.
#pragma once

#include "language/Signature.h"
#include "runtime/base/Status.h"
#include "runtime/storage/Safetensors.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hector {

/// Tensors by name. Copies share the bytes.
using Tensors = std::map<std::string, Tensor>;

/// A tensor under the name of an input or result; gradients are `grad.NAME`.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What the graph and the inputs of a model come from.
struct InputSources {
  std::string graph;                    // a graph file or a case: the graph, and inputs
  std::vector<std::string> tensors;     // more files; their tensors replace those of `graph`
  std::vector<std::string> bindings;    // `INPUT=TENSOR`, or `INPUT=TENSOR.T` for the transpose
  std::optional<uint64_t> initialSeed;  // initialises inputs that no file has; without it they are an error

  /// The names of all files, for messages.
  std::string files() const;
};

/// A file that was read. The path is empty if the tensors come from memory.
struct SourceFile {
  std::string path;
  TensorFile contents;
};

/// The tensor of an input, and where it was found.
struct InputTensor {
  Tensor tensor;
  std::string name;  // in its file
  std::string path;
  bool isTransposed = false;

  /// How messages call it: `W`, or `conv1.weight` for input `W`.
  std::string label(const language::InputDecl &input) const;
};

struct SelectedTensors {
  std::vector<std::optional<InputTensor>> inputs;  // one per input of the signature; none: no file has it
  Tensors gradients;                               // those named `grad.RESULT`
};

/// Selects a tensor for each input. A binding decides; without one it is the tensor `NAME` or `param.NAME`. The first
/// of `files` is the one with the graph, and the others take precedence over it. Fails if two of the others have the
/// tensor, if a binding names no input or no tensor, or if nothing in one of the others is used.
Result<SelectedTensors> selectTensors(std::span<const SourceFile> files, const language::Signature &signature,
                                      std::span<const std::string> bindings = {});

/// The names of the tensors that could be inputs but are not among `selected`, sorted.
std::vector<std::string> unusedTensors(std::span<const SourceFile> files, const SelectedTensors &selected);

/// "a, b, c", shortened with `…` after a dozen.
std::string listNames(const std::vector<std::string> &names);

}  // namespace hector
