/// The executor of a run, on the CPU or on a GPU.
#pragma once

#include "capi/Handles.h"
#include "runtime/exec/Session.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hector::capi {

/// Used by one thread at a time. Tensors are views of memory of the layer's device.
class Runner {
public:
  virtual ~Runner() = default;

  /// Where passes do their work from now on. Fails on the CPU.
  virtual Status place(const hector_placement &placement) = 0;

  /// Whether a tensor can be an input of the plan.
  virtual Status checkInput(std::string_view port, const Tensor &tensor) const = 0;

  /// What a pass reads, by ports of the plan.
  struct Input {
    std::string_view port;
    const Tensor *tensor;
  };
  /// Computes outputs and leaves them in `places`, one for each.
  virtual Status forward(std::span<const Input> inputs, const hector_randomness *randomness,
                         const std::vector<PortInfo> &outputs, const std::vector<Tensor> &places) = 0;
  /// The same for gradients. Gradients of outputs that have no `bytes` are 0.
  virtual Status backward(std::span<const Input> inputs, const std::vector<PortInfo> &gradients,
                          const std::vector<Tensor> &places) = 0;
};

Result<std::unique_ptr<Runner>> makeRunner(const Layer &layer);

}  // namespace hector::capi
