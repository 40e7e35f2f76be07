#include "driver/Case.h"

#include "driver/Initial.h"
#include "language/Diagnostics.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/graph/GraphSummary.h"

#include <algorithm>
#include <limits>

namespace hector {

using language::Home;
using language::InputDecl;
using language::Signature;
using Inputs = std::vector<std::optional<InputTensor>>;

/// A failure with the name of the file in front, if there is one.
static Status inFile(Status status, const std::string &path) {
  return path.empty() ? status : std::move(status).during(path);
}

/// What the rows of an input stand for.
static std::string_view rowOf(Home home) {
  switch (home) {
  case Home::Node:
    return "node";
  case Home::Edge:
    return "edge";
  case Home::EdgeType:
    return "edge type";
  case Home::NodeType:
    return "node type";
  case Home::Shared:
    break;
  }
  return "";
}

/// Says that a tensor does not fit a graph.
static Status wrongRows(const InputTensor &tensor, const InputDecl &input, int64_t count, const SourceFile &graph) {
  return inFile(Status::invalid("tensor " + tensor.label(input) + " has " + counted(tensor.tensor.shape[0], "row") +
                                ", but the graph " + (graph.path == tensor.path ? "" : "of " + graph.path + " ") +
                                "has " + counted(count, rowOf(input.home))),
                tensor.path);
}

/// Fails if a tensor cannot be that of an input, whatever the graph.
static Status checkTensor(const InputTensor &tensor, const InputDecl &input) {
  if (input.home == Home::Shared || !tensor.tensor.shape.empty())
    return Status::ok();
  return inFile(Status::invalid("tensor " + tensor.label(input) + " is one number, but `" +
                                std::string(input.place.text()) + "` has one row for each of the " +
                                std::string(rowOf(input.home)) + "s"),
                tensor.path);
}

/// The graph of `file`. Checks that the inputs that have tensors fit it.
static Result<Graph> bindGraph(const SourceFile &file, const Signature &signature, const Inputs &inputs) {
  auto named = numNamedRelations(file.contents);
  if (!named)
    return inFile(named.status(), file.path);
  size_t relationsFrom = inputs.size(), nodesFrom = inputs.size();  // the inputs that count them
  int64_t relations = -1, nodes = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    if (!inputs[i] || input.home == Home::Shared)
      continue;
    if (Status status = checkTensor(*inputs[i], input); !status.isOk())
      return status;
    const int64_t rows = inputs[i]->tensor.shape[0];
    if (input.home == Home::EdgeType && *named < 0) {
      if (relations >= 0 && rows != relations) {
        const InputTensor &first = *inputs[relationsFrom];
        return inFile(Status::invalid("tensor " + inputs[i]->label(input) + " has " + counted(rows, "row") + ", but " +
                                      first.label(signature.inputs[relationsFrom]) +
                                      (first.path == inputs[i]->path ? "" : " of " + first.path) + " has " +
                                      std::to_string(relations) + "; EdgeType inputs have one row for each edge type"),
                      inputs[i]->path);
      }
      if (relations < 0)
        relationsFrom = i;
      relations = rows;
    }
    if (input.home == Home::Node && nodes < 0 && !file.contents.find("graph.ntype_ptr")) {
      nodes = rows;
      nodesFrom = i;
    }
  }
  auto graph = readGraph(file.contents, relations, nodes);
  if (!graph) {
    // If the graph is whole without the inputs, it is they that have too few rows.
    if (auto alone = readGraph(file.contents)) {
      if (relations >= 0 && alone->numRelations() > relations)
        return wrongRows(*inputs[relationsFrom], signature.inputs[relationsFrom], alone->numRelations(), file);
      if (nodes >= 0 && alone->numNodes() > nodes)
        return wrongRows(*inputs[nodesFrom], signature.inputs[nodesFrom], alone->numNodes(), file);
    }
    return inFile(std::move(graph).status(), file.path);
  }
  if (Status status = nameEnds(file.contents, *graph); !status.isOk())
    return inFile(std::move(status), file.path);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    const int64_t count = countOf(*graph, input.home);
    if (inputs[i] && input.home != Home::Shared && inputs[i]->tensor.shape[0] != count)
      return wrongRows(*inputs[i], input, count, file);
  }
  return graph;
}

//===- Sizes -----------------------------------------------------------------------------------------------------===//

/// The shape of a row of a tensor.
static std::span<const int64_t> rowShapeOf(const Tensor &tensor, const InputDecl &input) {
  return std::span(tensor.shape).subspan(input.home == Home::Shared ? 0 : 1);
}

/// What is wrong with the shape of a tensor, and the binding of its transpose if that would fit.
static Status wrongShape(const InputTensor &tensor, const InputDecl &input, const std::string &problem,
                         language::Binding binding) {
  std::string text = problem;
  std::span<const int64_t> shape = rowShapeOf(tensor.tensor, input);
  if (shape.size() >= 2) {
    std::vector<int64_t> swapped(shape.begin(), shape.end());
    std::swap(swapped[swapped.size() - 2], swapped[swapped.size() - 1]);
    bool undecided = false;
    if (!language::bindShape(input, swapped, "", binding, undecided))
      text += "; its transpose fits" + (tensor.path.empty() ? std::string()
                                                            : ": `--bind " + input.name + "=" + tensor.name +
                                                                  (tensor.isTransposed ? "" : ".T") + "`");
  }
  std::string label = tensor.label(input);
  if (label != "`" + input.name + "`")
    text = "tensor " + label + ": " + text;
  return inFile(Status::invalid(text), tensor.path);
}

/// Adds the sizes that the tensors determine to `binding`. Gives an input whose sizes are still open, or null.
static Result<const InputDecl *> learnSizes(const Signature &signature, const Inputs &inputs, bool hasSeveralFiles,
                                            language::Binding &binding) {
  // Products such as `heads * d` may need sizes that another input settles, so go round until nothing new is learnt.
  for (size_t known = binding.sizes.size();; known = binding.sizes.size()) {
    const InputDecl *open = nullptr;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const InputDecl &input = signature.inputs[i];
      if (!inputs[i])
        continue;
      const std::string origin = inputs[i]->label(input) + (hasSeveralFiles ? " in " + inputs[i]->path : "");
      bool undecided = false;
      if (auto wrong = language::bindShape(input, rowShapeOf(inputs[i]->tensor, input), origin, binding, undecided))
        return wrongShape(*inputs[i], input, *wrong, binding);
      if (undecided)
        open = &input;
    }
    if (!open || binding.sizes.size() == known)
      return open;
  }
}

/// Says that no tensor determines a size of `input`.
static Status openSize(const InputDecl &input, const language::Binding &binding) {
  const std::vector<std::string> open = language::openSizes(input, binding);
  return Status::invalid("the sizes of `" + std::string(input.place.text()) +
                         "` cannot be told from the tensors; add `--size " + (open.empty() ? "NAME" : open.back()) +
                         "=NUMBER`");
}

//===- Missing inputs --------------------------------------------------------------------------------------------===//

/// Lists the inputs that have no tensor, and says what to do.
static Status missingInputs(std::span<const SourceFile> files, const Signature &signature,
                            const SelectedTensors &selected, const Graph &graph, const language::Binding &binding) {
  const std::vector<std::string> unused = unusedTensors(files, selected);
  std::string list, first;
  int64_t count = 0;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (selected.inputs[i])
      continue;
    const InputDecl &input = signature.inputs[i];
    std::vector<std::string> shape = language::describeRowShape(input, binding);
    if (input.home != Home::Shared)
      shape.insert(shape.begin(), std::to_string(countOf(graph, input.home)));
    std::string sizes;
    for (const std::string &size : shape)
      sizes += (sizes.empty() ? "" : ", ") + size;
    list += "   `" + std::string(input.place.text()) + "`, shape [" + sizes + "]";
    if (std::string_view near = language::nearest(input.name, {unused.begin(), unused.end()}); !near.empty())
      list += "; did you mean `" + std::string(near) + "`?";
    list += "\n";
    if (count++ == 0)
      first = input.name;
  }
  std::string paths;
  for (const SourceFile &file : files)
    paths += (paths.empty() ? "" : ", ") + file.path;
  std::string rename;
  if (!unused.empty())
    rename = "bind one of " + listNames(unused) + " with `--bind " + first + "=TENSOR`, ";
  return inFile(Status::invalid("there is no tensor for " + counted(count, "input") + ":\n" + list +
                                "   help: " + rename +
                                "add a file with `--tensors FILE`, or initialise what is missing with `--init SEED`"),
                paths);
}

/// Initialises the inputs that have no tensor.
static Status initialise(const Signature &signature, const SelectedTensors &selected, uint64_t seed,
                         const language::Binding &binding, Case &bound) {
  std::vector<const InputDecl *> inputs;
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    if (!selected.inputs[i])
      inputs.push_back(&signature.inputs[i]);
  auto tensors = initialTensors(inputs, binding, bound.graph, seed);
  if (!tensors)
    return std::move(tensors).status();
  for (const InputDecl *input : inputs) {
    bound.tensors[input->name] = std::move(tensors->at(input->name));
    bound.initialised.push_back(input->name);
  }
  return Status::ok();
}

//===- Cases -----------------------------------------------------------------------------------------------------===//

/// Fails if the numbers of an input's tensor are of a type that cannot be meant: ids and labels.
static Status checkNumbers(const Signature &signature, const Inputs &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && isInteger(inputs[i]->tensor.dtype))
      return inFile(Status::invalid("tensor " + inputs[i]->label(signature.inputs[i]) + " holds " +
                                    std::string(name(inputs[i]->tensor.dtype)) +
                                    ", but inputs are real numbers; store it as F64, F32, F16, BF16 or BOOL"),
                    inputs[i]->path);
  return Status::ok();
}

static Result<Case> bindFiles(std::span<const SourceFile> files, const Signature &signature,
                              std::span<const std::string> bindings, std::optional<uint64_t> initialSeed,
                              language::Binding &binding) {
  auto selected = selectTensors(files, signature, bindings);
  if (!selected)
    return std::move(selected).status();
  if (Status status = checkNumbers(signature, selected->inputs); !status.isOk())
    return status;
  const SourceFile &graphFile = files.front();
  auto graph = bindGraph(graphFile, signature, selected->inputs);
  if (!graph)
    return std::move(graph).status();
  auto open = learnSizes(signature, selected->inputs, files.size() > 1, binding);
  if (!open)
    return open.status();
  const bool isComplete = std::all_of(selected->inputs.begin(), selected->inputs.end(),
                                      [](const auto &input) { return input.has_value(); });
  if (!isComplete && !initialSeed)
    return missingInputs(files, signature, *selected, *graph, binding);
  if (*open)
    return inFile(openSize(**open, binding), graphFile.path);
  if (Status status = requireMemory("the graph", formBytes(*graph)); !status.isOk())
    return inFile(std::move(status), graphFile.path);
  Case bound = {std::move(graph).take(), std::move(selected->gradients), {}};
  if (!isComplete)
    if (Status status = initialise(signature, *selected, *initialSeed, binding, bound); !status.isOk())
      return status;
  for (size_t i = 0; i < selected->inputs.size(); ++i)
    if (selected->inputs[i])
      bound.tensors[signature.inputs[i].name] = selected->inputs[i]->tensor;
  return bound;
}

Result<Case> bindCase(const TensorFile &file, const Signature &signature, language::Binding &binding) {
  const SourceFile source = {"", file};
  return bindFiles(std::span(&source, 1), signature, {}, {}, binding);
}

Status bindShapes(const Tensors &tensors, const Signature &signature, language::Binding &binding) {
  Inputs inputs(signature.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    auto found = tensors.find(input.name);
    if (found == tensors.end())
      return Status::invalid("there is no tensor for input `" + std::string(input.place.text()) + "`");
    inputs[i] = {.tensor = found->second, .name = input.name, .path = ""};
    if (Status status = checkTensor(*inputs[i], input); !status.isOk())
      return status;
  }
  if (Status status = checkNumbers(signature, inputs); !status.isOk())
    return status;
  auto open = learnSizes(signature, inputs, false, binding);
  if (!open)
    return open.status();
  for (const language::SizeDecl &size : signature.sizes)
    if (!binding.sizes.contains(size.name))
      return Status::invalid("no tensor determines the size `" + size.name + "`; give it a value");
  return Status::ok();
}

Result<Case> loadCase(const InputSources &sources, const Signature &signature, language::Binding &binding) {
  std::vector<std::string> paths = {sources.graph};
  for (const std::string &path : sources.tensors)
    if (std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(path);
  std::vector<SourceFile> files;
  for (const std::string &path : paths) {
    auto contents = readSafetensors(path);
    if (!contents)
      return std::move(contents).status();
    files.push_back({path, std::move(*contents)});
  }
  return bindFiles(files, signature, sources.bindings, sources.initialSeed, binding);
}

Result<Graph> loadGraph(const std::string &path, const Signature &signature) {
  auto contents = readSafetensors(path);
  if (!contents)
    return std::move(contents).status();
  const SourceFile file = {path, std::move(*contents)};
  auto selected = selectTensors(std::span(&file, 1), signature);
  if (!selected)
    return std::move(selected).status();
  auto graph = bindGraph(file, signature, selected->inputs);
  if (!graph)
    return graph;
  if (isGraphFile(file.contents))
    if (Status status = checkContents(file.contents, *graph); !status.isOk())
      return inFile(std::move(status), path);
  if (Status status = requireMemory("counting pairs", formBytes(*graph)); !status.isOk())
    return inFile(std::move(status), path);
  return graph;
}

}  // namespace hector
