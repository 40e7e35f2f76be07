#include "training/Table.h"

#include <algorithm>
#include <cstring>

namespace hector::training {

Table::Table(std::vector<int64_t> shape) {
  view.shape = std::move(shape);
  values = std::make_shared<std::vector<float>>(static_cast<size_t>(view.numElements()));
  view.bytes = reinterpret_cast<const std::byte *>(values->data());
  view.owner = values;
}

Table::Table(const Tensor &tensor) : Table(tensor.shape) {
  if (tensor.dtype == DType::F32) {
    std::memcpy(values->data(), tensor.bytes, tensor.numBytes());
    return;
  }
  const std::vector<double> numbers = tensor.toDoubles();
  std::transform(numbers.begin(), numbers.end(), values->begin(), [](double x) { return static_cast<float>(x); });
}

Tensor Table::copy() const {
  return Table(view).tensor();
}

}  // namespace hector::training
