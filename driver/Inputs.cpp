#include "driver/Inputs.h"

#include "language/Diagnostics.h"

#include <algorithm>
#include <set>

namespace hector {

using language::InputDecl;
using language::Signature;

std::string InputSources::files() const {
  std::string list = graph;
  for (const std::string &path : tensors)
    list += ", " + path;
  return list;
}

/// The names that bind to an input without being told to.
static std::vector<std::string> ownNames(const InputDecl &input) {
  return {input.name, "param." + input.name};
}

std::string InputTensor::label(const InputDecl &input) const {
  const bool isOwn = !isTransposed && (name == input.name || name == "param." + input.name);
  return isOwn ? "`" + input.name + "`" : "`" + name + (isTransposed ? ".T" : "") + "` for input `" + input.name + "`";
}

std::string listNames(const std::vector<std::string> &names) {
  constexpr size_t kMaxShown = 12;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMaxShown); ++i)
    list += (i ? ", " : "") + names[i];
  return list + (names.size() > kMaxShown ? ", …" : "");
}

/// "; did you mean `x`?", or nothing where no name is near.
static std::string suggest(const std::string &name, const std::vector<std::string> &names) {
  std::string_view near = language::nearest(name, {names.begin(), names.end()});
  return near.empty() ? "" : "; did you mean `" + std::string(near) + "`?";
}

/// The one tensor that has one of `names`; nothing where there is none. `purpose` says in messages what it is for.
static Result<std::optional<InputTensor>> find(std::span<const SourceFile> files, const std::vector<std::string> &names,
                                               const std::string &purpose) {
  auto search = [&](std::span<const SourceFile> among) -> Result<std::optional<InputTensor>> {
    std::optional<InputTensor> found;
    for (const SourceFile &file : among)
      for (const std::string &name : names) {
        const Tensor *tensor = file.contents.find(name);
        if (!tensor)
          continue;
        if (found && found->path == file.path) {
          Status twice = Status::invalid("the file has both `" + found->name + "` and `" + name +
                                         "`; only one can be bound to " + purpose);
          return file.path.empty() ? twice : std::move(twice).during(file.path);
        }
        if (found)
          return Status::invalid("tensor `" + found->name + "` of " + found->path + " and `" + name + "` of " +
                                 file.path + " are both for " + purpose +
                                 "; leave one of the files out, or choose a tensor with --bind INPUT=TENSOR");
        found = InputTensor{*tensor, name, file.path};
      }
    return found;
  };
  auto found = search(files.subspan(1));
  return !found || *found ? found : search(files.first(1));
}

/// The transpose of a tensor that a binding asks for as `TENSOR.T`.
static Result<InputTensor> transpose(InputTensor found) {
  if (found.tensor.shape.size() < 2)
    return Status::invalid(found.path + ": `" + found.name + ".T` swaps the last two axes of `" + found.name +
                           "`, but its shape is " + formatShape(found.tensor.shape));
  found.tensor = found.tensor.transposed();
  found.isTransposed = true;
  return found;
}

/// The tensor that a binding gives to an input.
static Result<InputTensor> findBound(std::span<const SourceFile> files, const InputDecl &input,
                                     const std::string &name) {
  const std::string purpose = "input `" + input.name + "`";
  auto found = find(files, {name}, purpose);
  if (!found)
    return std::move(found).status();
  if (*found)
    return **found;
  if (name.ends_with(".T")) {
    found = find(files, {name.substr(0, name.size() - 2)}, purpose);
    if (!found)
      return std::move(found).status();
    if (*found)
      return transpose(std::move(**found));
  }
  std::string where;
  for (const SourceFile &file : files)
    where += (where.empty() ? "" : ", ") + file.path;
  const std::vector<std::string> names = unusedTensors(files, {});
  std::string near = suggest(name, names);
  if (near.empty())
    near = names.empty() ? "; there is none that could be an input" : "; there are " + listNames(names);
  return Status::invalid(where + ": there is no tensor `" + name + "`, which --bind gives to " + purpose + near);
}

/// The bindings as tensors by input.
static Result<std::map<std::string, std::string>> readBindings(std::span<const std::string> bindings,
                                                               const Signature &signature) {
  std::map<std::string, std::string> tensors;
  for (const std::string &binding : bindings) {
    const size_t equals = binding.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == binding.size())
      return Status::invalid("--bind takes INPUT=TENSOR, but is given `" + binding + "`");
    const std::string input = binding.substr(0, equals), tensor = binding.substr(equals + 1);
    if (!signature.findInput(input)) {
      std::vector<std::string> inputs;
      for (const InputDecl &decl : signature.inputs)
        inputs.push_back(decl.name);
      std::string near = suggest(input, inputs);
      if (near.empty())
        near = inputs.empty() ? "; it has none" : "; its inputs are " + listNames(inputs);
      return Status::invalid("model `" + signature.name + "` has no input `" + input + "` for --bind" + near);
    }
    auto [first, isNew] = tensors.emplace(input, tensor);
    if (!isNew)
      return Status::invalid("input `" + input + "` is bound twice, to `" + first->second + "` and to `" + tensor +
                             "`; leave one of them out");
  }
  return tensors;
}

/// Fails if a file besides that of the graph gives nothing: its tensors must have names that were not expected.
static Status requireUse(std::span<const SourceFile> files, const Signature &signature,
                         const std::set<std::string> &used) {
  for (const SourceFile &file : files.subspan(1)) {
    if (used.contains(file.path))
      continue;
    std::vector<std::string> names, inputs;
    for (const auto &[name, tensor] : file.contents.tensors)
      names.push_back(name);
    for (const InputDecl &input : signature.inputs)
      inputs.push_back(input.name);
    return Status::invalid(file.path + ": no tensor of this file is used; it has " +
                           (names.empty() ? "none" : listNames(names)) + ", and the inputs of `" + signature.name +
                           "` are " + listNames(inputs) + "; bind other names with --bind INPUT=TENSOR");
  }
  return Status::ok();
}

Result<SelectedTensors> selectTensors(std::span<const SourceFile> files, const Signature &signature,
                                      std::span<const std::string> bindings) {
  auto bound = readBindings(bindings, signature);
  if (!bound)
    return bound.status();
  SelectedTensors selected;
  std::set<std::string> used;
  for (const InputDecl &input : signature.inputs) {
    std::optional<InputTensor> tensor;
    if (auto binding = bound->find(input.name); binding != bound->end()) {
      auto found = findBound(files, input, binding->second);
      if (!found)
        return std::move(found).status();
      tensor = std::move(*found);
    } else {
      auto found = find(files, ownNames(input), "input `" + input.name + "`");
      if (!found)
        return std::move(found).status();
      tensor = std::move(*found);
    }
    if (tensor)
      used.insert(tensor->path);
    selected.inputs.push_back(std::move(tensor));
  }
  for (const SourceFile &file : files)
    for (const auto &[name, tensor] : file.contents.tensors) {
      if (!name.starts_with("grad.") || selected.gradients.contains(name))
        continue;
      auto found = find(files, {name}, "the gradient of result `" + name.substr(5) + "`");
      if (!found)
        return std::move(found).status();
      used.insert((*found)->path);
      selected.gradients[name] = (*found)->tensor;
    }
  if (Status status = requireUse(files, signature, used); !status.isOk())
    return status;
  return selected;
}

std::vector<std::string> unusedTensors(std::span<const SourceFile> files, const SelectedTensors &selected) {
  std::set<std::string> names;
  for (const SourceFile &file : files)
    for (const auto &[name, tensor] : file.contents.tensors)
      if (isFloat(tensor.dtype) && !name.starts_with("grad."))
        names.insert(name);
  for (const std::optional<InputTensor> &input : selected.inputs)
    if (input)
      names.erase(input->name);
  return {names.begin(), names.end()};
}

}  // namespace hector
