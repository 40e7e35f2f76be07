#include "driver/Arguments.h"

#include "language/Diagnostics.h"
#include "runtime/base/Memory.h"
#include "runtime/exec/Memory.h"
#include "runtime/exec/Transfer.h"

namespace hector {

/// Whether a tensor is the gradient of a result. Inputs have names without dots.
static bool isGradient(const std::string &name) {
  return name.starts_with("grad.");
}

std::vector<Argument> argumentsOf(const exec::Plan &plan, const Graph &graph) {
  const exec::GraphNumbers numbers = exec::graphNumbers(plan, graph);
  std::vector<Argument> arguments;
  for (const exec::Port &input : plan.inputs) {
    const exec::TableSpec &table = plan.tables[input.table];
    Argument argument = {input.name, table.shape, exec::dtypeOf(table.storage)};
    if (table.domain != exec::Domain::One)
      argument.shape.insert(argument.shape.begin(), numbers.rows[table.domain]);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// A gradient that is filled with one number, if it fits in memory.
static Result<Tensor> filled(const Argument &argument, double value) {
  double numbers = 1;
  for (int64_t extent : argument.shape)
    numbers *= static_cast<double>(extent);
  if (numbers * sizeof(double) > static_cast<double>(availableMemory()))
    return Status::failed("out of memory: the gradient `" + argument.name + "` has shape " +
                          formatShape(argument.shape));
  const std::vector<double> values(static_cast<size_t>(numbers), value);
  return Tensor::fromDoubles(argument.shape, values, argument.dtype);
}

/// Says that no result has a gradient to start from; `wanted` is that of the first.
static Status missingGradient(const std::string &wanted, const Tensors &tensors) {
  std::vector<std::string_view> names;
  for (const auto &[name, tensor] : tensors)
    if (isGradient(name))
      names.push_back(name);
  std::string_view near = language::nearest(wanted, names);
  return Status::invalid("there is no tensor `" + wanted + "`, the gradient that --grad starts from" +
                         (!near.empty()   ? "; did you mean `" + std::string(near) + "`?"
                          : names.empty() ? "; add it, or start from ones with `--init SEED`"
                                          : "; there are " + listNames({names.begin(), names.end()})));
}

Result<std::vector<NamedTensor>> bindTensors(std::span<const Argument> arguments, const Tensors &tensors) {
  std::vector<NamedTensor> bound;
  std::string firstGradient;
  bool isAnyGiven = false;
  for (const Argument &argument : arguments) {
    auto found = tensors.find(argument.name);
    const bool isGiven = found != tensors.end();
    if (isGradient(argument.name)) {
      isAnyGiven |= isGiven;
      if (firstGradient.empty())
        firstGradient = argument.name;
    } else if (!isGiven) {
      return Status::invalid("there is no tensor for input `" + argument.name + "`");
    }
    if (isGiven && found->second.shape != argument.shape)
      return Status::invalid("tensor `" + argument.name + "` has shape " + formatShape(found->second.shape) +
                             ", but the " + (isGradient(argument.name) ? "result" : "input") + " it belongs to has " +
                             formatShape(argument.shape));
    auto tensor = isGiven ? Result<Tensor>(found->second) : filled(argument, 0.0);
    if (!tensor)
      return std::move(tensor).status();
    bound.push_back({argument.name, std::move(*tensor)});
  }
  if (!firstGradient.empty() && !isAnyGiven)
    return missingGradient(firstGradient, tensors);
  return bound;
}

Result<std::vector<std::string>> addUnitGradients(std::span<const Argument> arguments, Tensors &tensors) {
  std::vector<std::string> added;
  for (const auto &[name, tensor] : tensors)
    if (isGradient(name))
      return added;
  for (const Argument &argument : arguments) {
    if (!isGradient(argument.name))
      continue;
    auto ones = filled(argument, 1.0);
    if (!ones)
      return std::move(ones).status();
    tensors[argument.name] = std::move(*ones);
    added.push_back(argument.name);
  }
  return added;
}

}  // namespace hector
