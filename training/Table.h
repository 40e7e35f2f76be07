/// Tensors of floats that steps change in place.
#pragma once

#include "driver/Inputs.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hector::training {

/// Copies of a table's `Tensor` share its bytes.
class Table {
public:
  explicit Table(const Tensor &tensor);
  /// Zeros.
  explicit Table(std::vector<int64_t> shape);
  const Tensor &tensor() const { return view; }
  float *data() const { return values->data(); }
  /// A copy with bytes of its own.
  Tensor copy() const;

private:
  std::shared_ptr<std::vector<float>> values;
  Tensor view;
};

/// Parameters by name.
using Tables = std::map<std::string, Table>;

}  // namespace hector::training
