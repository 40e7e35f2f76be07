#include "driver/Case.h"

#include "language/Diagnostics.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/graph/GraphSummary.h"

namespace hector {

using language::Home;
using language::InputDecl;

/// The tensor that binds to an input: `NAME`, or `param.NAME`; null where there is neither.
static Result<const Tensor *> findTensor(const TensorFile &file, const InputDecl &input) {
  const Tensor *plain = file.find(input.name), *parameter = file.find("param." + input.name);
  if (plain && parameter)
    return Status::invalid("the file has both `" + input.name + "` and `param." + input.name +
                           "`; only one can be bound to input `" + input.name + "`");
  return plain ? plain : parameter;
}

/// Says that there is no tensor for an input, and which ones there are.
static Status missingTensor(const TensorFile &file, const InputDecl &input) {
  std::vector<std::string_view> names;
  std::string list;
  for (const auto &[name, tensor] : file.tensors) {
    std::string_view shown = name;
    if (shown.starts_with("graph.") || shown.starts_with("grad."))
      continue;
    if (shown.starts_with("param."))
      shown.remove_prefix(6);
    names.push_back(shown);
    if (names.size() <= 12)
      list += (list.empty() ? "" : ", ") + std::string(shown);
  }
  std::string_view near = language::nearest(input.name, names);
  return Status::invalid("there is no tensor `" + input.name + "` or `param." + input.name + "` for input `" +
                         std::string(input.place.text()) + "`; " +
                         (!near.empty()   ? "did you mean `" + std::string(near) + "`?"
                          : names.empty() ? std::string("the file holds no tensor but the graph")
                                          : "the file has " + list + (names.size() > 12 ? ", …" : "")));
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

static int64_t countOf(const Graph &graph, Home home) {
  switch (home) {
  case Home::Node:
    return graph.numNodes();
  case Home::Edge:
    return graph.numEdges();
  case Home::EdgeType:
    return graph.numRelations();
  case Home::NodeType:
    return graph.numNodeTypes();
  case Home::Shared:
    break;
  }
  return 1;
}

static Status wrongRows(const InputDecl &input, int64_t rows, int64_t count) {
  return Status::invalid("tensor `" + input.name + "` has " + counted(rows, "row") + ", but the graph has " +
                         counted(count, rowOf(input.home)));
}

/// The graph of `file`; `tensors` has one entry per input, null for inputs that the file lacks. Checks that those of
/// the others fit it.
static Result<Graph> bindGraph(const TensorFile &file, const language::Signature &signature,
                               std::span<const Tensor *const> tensors) {
  auto named = numNamedRelations(file);
  if (!named)
    return named.status();
  const InputDecl *relationsFrom = nullptr, *nodesFrom = nullptr;
  int64_t relations = -1, nodes = -1;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    if (!tensors[i] || input.home == Home::Shared)
      continue;
    if (tensors[i]->shape.empty())
      return Status::invalid("tensor `" + input.name + "` is one number, but `" + std::string(input.place.text()) +
                             "` has one row for each of the " + std::string(rowOf(input.home)) + "s");
    const int64_t rows = tensors[i]->shape[0];
    if (input.home == Home::EdgeType && *named < 0) {
      if (relationsFrom && rows != relations)
        return Status::invalid("tensor `" + input.name + "` has " + counted(rows, "row") + ", but `" +
                               relationsFrom->name + "` has " + std::to_string(relations) +
                               "; EdgeType inputs have one row for each edge type");
      if (!relationsFrom)
        relationsFrom = &input;
      relations = rows;
    }
    if (input.home == Home::Node && !nodesFrom && !file.find("graph.ntype_ptr")) {
      nodes = rows;
      nodesFrom = &input;
    }
  }
  auto graph = readGraph(file, relations, nodes);
  if (!graph) {
    // If the graph is whole without the inputs, it is they that have too few rows.
    if (auto alone = readGraph(file)) {
      if (relationsFrom && alone->numRelations() > relations)
        return wrongRows(*relationsFrom, relations, alone->numRelations());
      if (nodesFrom && alone->numNodes() > nodes)
        return wrongRows(*nodesFrom, nodes, alone->numNodes());
    }
    return std::move(graph).status();
  }
  if (Status status = nameEnds(file, *graph); !status.isOk())
    return status;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    if (tensors[i] && input.home != Home::Shared && tensors[i]->shape[0] != countOf(*graph, input.home))
      return wrongRows(input, tensors[i]->shape[0], countOf(*graph, input.home));
  }
  return graph;
}

Result<Case> bindCase(const TensorFile &file, const language::Signature &signature, language::Binding &binding) {
  std::vector<const Tensor *> tensors;
  for (const InputDecl &input : signature.inputs) {
    auto tensor = findTensor(file, input);
    if (!tensor)
      return tensor.status();
    if (!*tensor)
      return missingTensor(file, input);
    tensors.push_back(*tensor);
  }
  auto graph = bindGraph(file, signature, tensors);
  if (!graph)
    return std::move(graph).status();
  // Products such as `heads * d` may need sizes that another input settles, so go round until nothing new is learnt.
  for (size_t known = binding.sizes.size();; known = binding.sizes.size()) {
    const InputDecl *open = nullptr;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const InputDecl &input = signature.inputs[i];
      std::span<const int64_t> shape = tensors[i]->shape;
      bool undecided = false;
      if (auto wrong =
              language::bindShape(input, input.home == Home::Shared ? shape : shape.subspan(1), binding, undecided))
        return Status::invalid(*wrong);
      if (undecided)
        open = &input;
    }
    if (!open)
      break;
    if (binding.sizes.size() == known) {
      std::string name = "NAME";
      for (const language::SizeDecl &size : signature.sizes)
        if (!binding.sizes.count(size.name))
          name = size.name;
      return Status::invalid("the sizes of `" + std::string(open->place.text()) +
                             "` cannot be told from the tensors; add `--size " + name + "=NUMBER`");
    }
  }
  if (Status status = requireMemory("the graph", formBytes(*graph)); !status.isOk())
    return status;
  Case bound = {std::move(graph).take(), {}};
  for (size_t i = 0; i < tensors.size(); ++i)
    bound.tensors[signature.inputs[i].name] = *tensors[i];
  for (const auto &[name, tensor] : file.tensors)
    if (name.starts_with("grad."))
      bound.tensors.emplace(name, tensor);
  return bound;
}

Result<Case> loadCase(const std::string &path, const language::Signature &signature, language::Binding &binding) {
  auto file = readSafetensors(path);
  if (!file)
    return std::move(file).status();
  auto bound = bindCase(*file, signature, binding);
  if (!bound)
    return std::move(bound).status().during(path);
  return bound;
}

/// The graph of a graph file or a case.
static Result<Graph> graphFor(const TensorFile &file, const language::Signature &signature) {
  std::vector<const Tensor *> tensors;
  for (const InputDecl &input : signature.inputs) {
    auto tensor = findTensor(file, input);
    if (!tensor)
      return tensor.status();
    tensors.push_back(*tensor);
  }
  auto graph = bindGraph(file, signature, tensors);
  if (!graph)
    return graph;
  if (isGraphFile(file))
    if (Status status = checkContents(file, *graph); !status.isOk())
      return status;
  if (Status status = requireMemory("counting pairs", formBytes(*graph)); !status.isOk())
    return status;
  return graph;
}

Result<Graph> loadGraph(const std::string &path, const language::Signature &signature) {
  auto file = readSafetensors(path);
  if (!file)
    return std::move(file).status();
  auto graph = graphFor(*file, signature);
  if (!graph)
    return std::move(graph).status().during(path);
  return graph;
}

}  // namespace hector
