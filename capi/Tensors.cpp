#include "capi/Tensors.h"

#include "runtime/base/Text.h"

#include <cstring>
#include <optional>

namespace hector::capi {

namespace {

// Codes of DLPack.
constexpr int kCudaHost = 3;
enum : uint8_t { kInteger = 0, kUnsigned = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

std::optional<DType> dtypeFrom(const hector_tensor &tensor) {
  const struct {
    uint8_t code, bits;
    DType dtype;
  } known[] = {
      {kInteger, 8, DType::I8},  {kInteger, 16, DType::I16},  {kInteger, 32, DType::I32},  {kInteger, 64, DType::I64},
      {kUnsigned, 8, DType::U8}, {kUnsigned, 16, DType::U16}, {kUnsigned, 32, DType::U32}, {kUnsigned, 64, DType::U64},
      {kFloat, 16, DType::F16},  {kFloat, 32, DType::F32},    {kFloat, 64, DType::F64},    {kBfloat, 16, DType::BF16},
      {kBool, 8, DType::Bool},
  };
  if (tensor.dtype_lanes == 1)
    for (const auto &type : known)
      if (type.code == tensor.dtype_code && type.bits == tensor.dtype_bits)
        return type.dtype;
  return std::nullopt;
}

bool hasGaps(const hector_tensor &tensor) {
  if (!tensor.strides)
    return false;
  int64_t expected = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected)
      return true;
    expected *= tensor.shape[axis];
  }
  return false;
}

/// Memory of the host that a GPU can reach is the CPU's.
Place placeOf(const hector_tensor &tensor) {
  if (tensor.device_type == Place::kCpu || tensor.device_type == kCudaHost)
    return {};
  return {tensor.device_type, tensor.device_id};
}

}  // namespace

std::string spelling(const Place &place) {
  if (place.type == Place::kCpu)
    return "the CPU";
  return (place.type == Place::kCuda ? "GPU " : "a device of DLPack type " + std::to_string(place.type) + ", number ") +
         std::to_string(place.number);
}

Result<Tensor> viewOf(const hector_tensor &tensor, const std::string &name, const Place &place, Numbers numbers) {
  constexpr int kMostAxes = 32;
  constexpr int64_t kMostNumbers = int64_t{1} << 56;  // their bytes can be counted
  if (tensor.ndim < 0 || tensor.ndim > kMostAxes || (tensor.ndim > 0 && !tensor.shape))
    return Status::invalid(inTicks(name) + " has " + std::to_string(tensor.ndim) + " axes" +
                           (tensor.shape ? "; expected 0 to " + std::to_string(kMostAxes) : " and no shape"));
  auto dtype = dtypeFrom(tensor);
  if (!dtype)
    return Status::invalid(inTicks(name) + " has numbers of a type that Hector does not know (DLPack code " +
                           std::to_string(tensor.dtype_code) + " with " + std::to_string(tensor.dtype_bits) +
                           " bits); expected integers or floats");
  Tensor view;
  view.dtype = *dtype;
  view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  int64_t count = 1;
  for (int64_t extent : view.shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMostNumbers)
      return Status::invalid(inTicks(name) + " has shape " + formatShape(view.shape) + ", which no array has");
  if (placeOf(tensor) != place)
    return Status::invalid(inTicks(name) + " is on " + spelling(placeOf(tensor)) + ", but this layer runs on " +
                           spelling(place) + "; copy it there");
  if (count > 0 && hasGaps(tensor))
    return Status::invalid(inTicks(name) + " has gaps between its numbers; make a contiguous copy");
  if (numbers == Numbers::Needed && !tensor.data && count > 0)
    return Status::invalid(inTicks(name) + " has shape " + formatShape(view.shape) + ", but no numbers");
  if (tensor.data)
    view.bytes = static_cast<const std::byte *>(tensor.data) + tensor.byte_offset;
  return view;
}

Result<std::vector<int64_t>> idsOf(const hector_tensor &tensor, const std::string &name) {
  if (placeOf(tensor) != Place())
    return Status::invalid(inTicks(name) + " is on " + spelling(placeOf(tensor)) +
                           ", but graphs are made on the CPU; copy it there");
  auto view = viewOf(tensor, name);
  if (!view)
    return std::move(view).status();
  if (view->shape.size() != 1)
    return Status::invalid(inTicks(name) + " has shape " + formatShape(view->shape) + "; expected a list of ids");
  if (view->dtype != DType::I32 && view->dtype != DType::I64)
    return Status::invalid(inTicks(name) + " holds " + spelling(view->dtype) +
                           ", but ids are integers of 32 or 64 bits");
  const auto count = static_cast<size_t>(view->shape[0]);
  std::vector<int64_t> ids(count);
  if (view->dtype == DType::I64) {
    if (count > 0)
      std::memcpy(ids.data(), view->bytes, count * sizeof(int64_t));
  } else {
    for (size_t i = 0; i < count; ++i) {
      int32_t id = 0;
      std::memcpy(&id, view->bytes + i * sizeof(id), sizeof(id));
      ids[i] = id;
    }
  }
  return ids;
}

std::string spelling(DType dtype) {
  std::string text(name(dtype));
  for (char &letter : text)
    letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  return text;
}

}  // namespace hector::capi
