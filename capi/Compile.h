/// Compiles models for the C interface.
#pragma once

#include "capi/Handles.h"
#include "runtime/base/Status.h"

#include <memory>
#include <span>
#include <string>

namespace hector::capi {

/// A model compiled for a graph, with the sizes that the shapes of its inputs give.
Result<std::shared_ptr<const Layer>> compileLayer(const hector_model &model, const hector_graph &graph,
                                                  const hector_options *options, std::span<const hector_tensor> inputs);

/// The same as one of the compiler's forms.
Result<std::string> layerText(const hector_model &model, const hector_graph &graph, const hector_options *options,
                              std::span<const hector_tensor> inputs, const std::string &form);

}  // namespace hector::capi
