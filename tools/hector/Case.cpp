#include "Case.h"

#include "language/Diagnostics.h"

namespace hector {

using language::Home;
using language::InputDecl;

/// The tensor that binds to an input: `NAME`, or `param.NAME`.
static Result<const Tensor *> findTensor(const TensorFile &file, const InputDecl &input) {
  const Tensor *plain = file.find(input.name), *parameter = file.find("param." + input.name);
  if (plain && parameter)
    return Status::invalid("the file has both `" + input.name + "` and `param." + input.name +
                           "`; only one can be bound to input `" + input.name + "`");
  if (plain || parameter)
    return plain ? plain : parameter;
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

static std::string_view rowsOf(Home home) {
  switch (home) {
  case Home::Node:
    return "nodes";
  case Home::Edge:
    return "edges";
  case Home::EdgeType:
    return "edge types";
  case Home::NodeType:
    return "node types";
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

Result<Case> bindCase(TensorFile file, const language::Signature &signature, language::Binding &binding) {
  std::vector<const Tensor *> tensors;
  int64_t relations = -1, nodes = -1;
  std::string relationsFrom;
  for (const InputDecl &input : signature.inputs) {
    auto tensor = findTensor(file, input);
    if (!tensor)
      return tensor.status();
    tensors.push_back(*tensor);
    const auto &shape = (*tensor)->shape;
    if (input.home != Home::Shared && shape.empty())
      return Status::invalid("tensor `" + input.name + "` is one number, but `" + std::string(input.place.text()) +
                             "` has one row for each of the " + std::string(rowsOf(input.home)));
    if (input.home == Home::EdgeType) {
      if (relations >= 0 && shape[0] != relations)
        return Status::invalid("tensor `" + input.name + "` has " + std::to_string(shape[0]) + " rows, but `" +
                               relationsFrom + "` has " + std::to_string(relations) +
                               "; EdgeType inputs have one row for each edge type");
      relations = shape[0];
      relationsFrom = input.name;
    }
    if (input.home == Home::Node && nodes < 0)
      nodes = shape[0];
  }
  auto graph = Graph::fromTensors(file, relations, nodes);
  if (!graph)
    return std::move(graph).status();

  for (size_t i = 0; i < tensors.size(); ++i) {
    const InputDecl &input = signature.inputs[i];
    int64_t count = countOf(*graph, input.home);
    if (input.home != Home::Shared && tensors[i]->shape[0] != count)
      return Status::invalid("tensor `" + input.name + "` has " + std::to_string(tensors[i]->shape[0]) +
                             " rows, but the graph has " + std::to_string(count) + " " +
                             std::string(rowsOf(input.home)));
  }
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
  return Case{std::move(file), std::move(graph).take(), std::move(tensors)};
}

Result<Case> loadCase(const std::string &path, const language::Signature &signature, language::Binding &binding) {
  auto file = readSafetensors(path);
  if (!file)
    return Status(std::move(file).status()).during("error");
  auto bound = bindCase(std::move(file).take(), signature, binding);
  if (!bound)
    return std::move(bound).status().during("error: " + path);
  return bound;
}

Table toTable(const Tensor &tensor, Home home) {
  Table table;
  table.rows = home == Home::Shared ? 1 : tensor.shape[0];
  table.shape.assign(tensor.shape.begin() + (home == Home::Shared ? 0 : 1), tensor.shape.end());
  table.values = tensor.toDoubles();
  return table;
}

}  // namespace hector
