/// Shared by benchmarks: layers with all sizes bound to one width, inputs from a seed, and results to compare.
#pragma once

#include "driver/Arguments.h"
#include "driver/Initial.h"
#include "driver/Model.h"
#include "runtime/exec/Plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace hector::bench {

struct BoundLayer {
  Model model;
  language::Binding binding;
};

inline Result<BoundLayer> bindLayer(const std::string &path, int64_t width) {
  auto model = loadModel(path);
  if (!model)
    return model.status();
  Settings settings;
  for (const language::SizeDecl &size : model->signature.sizes)
    settings.sizes.push_back(size.name + "=" + std::to_string(width));
  auto binding = bind(*model, settings);
  if (!binding)
    return binding.status();
  return BoundLayer{std::move(*model), std::move(*binding)};
}

/// Inputs of a plan, from a seed.
inline Tensors makeInputs(const exec::Plan &plan, const BoundLayer &bound, const Graph &graph) {
  constexpr uint64_t kSeed = 1;
  Tensors tensors;
  for (const Argument &argument : argumentsOf(plan, graph))
    if (const language::InputDecl *input = bound.model.signature.findInput(argument.name))
      tensors[argument.name] = initialTensor(*input, argument.shape, kSeed);
  return tensors;
}

/// The tensors of all inputs, where gradients of results are ones.
inline Result<std::vector<NamedTensor>> bindInputs(const exec::Plan &plan, const Graph &graph, Tensors tensors) {
  const std::vector<Argument> arguments = argumentsOf(plan, graph);
  if (auto ones = addUnitGradients(arguments, tensors); !ones)
    return ones.status();
  return bindTensors(arguments, tensors);
}

/// Results by their names.
using Numbers = std::map<std::string, std::vector<double>>;

template <class Executor> Result<Numbers> numbersOf(const Executor &executor, const exec::Plan &plan) {
  Numbers results;
  for (const exec::Port &output : plan.outputs) {
    auto tensor = executor.output(output.name);
    if (!tensor)
      return tensor.status();
    results[output.name] = tensor->toDoubles();
  }
  return results;
}

/// The largest difference of any result, relative to its largest number.
inline double distance(const Numbers &actual, const Numbers &expected) {
  double worst = 0;
  for (const auto &[name, values] : expected) {
    double largest = 0, error = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(values[i]));
      const double off = std::abs(actual.at(name)[i] - values[i]);
      error = std::isnan(off) ? INFINITY : std::max(error, off);
    }
    worst = std::max(worst, largest > 0 ? error / largest : error);
  }
  return worst;
}

}  // namespace hector::bench
