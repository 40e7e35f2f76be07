#include "runtime/data/Npy.h"

#include "runtime/base/Text.h"

#include <cctype>
#include <optional>

namespace hector {

namespace {

/// The value of `'key': …` in the header, up to the comma, brace or closing bracket that ends it.
std::optional<std::string_view> headerValue(std::string_view header, std::string_view key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos)
    return std::nullopt;
  at = header.find(':', at);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = header.substr(at + 1);
  while (rest.starts_with(' '))
    rest.remove_prefix(1);
  size_t stop = rest.starts_with('(') ? rest.find(')') : rest.find_first_of(",}");
  if (stop == std::string_view::npos)
    return std::nullopt;
  return rest.substr(0, rest.starts_with('(') ? stop + 1 : stop);
}

std::optional<DType> dtypeOf(std::string_view text) {
  if (text.size() < 2 || text.front() != '\'' || text.back() != '\'')
    return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.starts_with('<') || text.starts_with('|') || text.starts_with('='))
    text.remove_prefix(1);
  constexpr std::pair<std::string_view, DType> kTypes[] = {{"b1", DType::Bool}, {"i1", DType::I8},  {"u1", DType::U8},
                                                           {"i2", DType::I16},  {"u2", DType::U16}, {"i4", DType::I32},
                                                           {"u4", DType::U32},  {"i8", DType::I64}, {"u8", DType::U64},
                                                           {"f2", DType::F16},  {"f4", DType::F32}, {"f8", DType::F64}};
  for (auto [name, type] : kTypes)
    if (name == text)
      return type;
  return std::nullopt;
}

}  // namespace

Result<Tensor> parseNpy(std::string bytes, const std::string &name) {
  auto fail = [&](const std::string &what) { return Status::invalid(name + ": " + what); };
  auto owner = std::make_shared<std::string>(std::move(bytes));
  std::string_view all = *owner;
  if (!all.starts_with("\x93NUMPY") || all.size() < 12)
    return fail("does not start as an npy file does; expected an array written by numpy.save");
  const size_t lengthBytes = all[6] == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(all[8 + i])) << (8 * i);
  const size_t start = 8 + lengthBytes;
  if (length > all.size() - start)
    return fail("its header is " + std::to_string(length) + " bytes long, but " + std::to_string(all.size() - start) +
                " follow; the file is incomplete");
  std::string_view header = all.substr(start, length);
  std::optional<std::string_view> descr = headerValue(header, "descr"), order = headerValue(header, "fortran_order"),
                                  shape = headerValue(header, "shape");
  if (!descr || !order || !shape || !shape->starts_with('('))
    return fail("its header is " + inTicks(header) + "; expected `descr`, `fortran_order` and `shape`");
  std::optional<DType> dtype = dtypeOf(*descr);
  if (!dtype)
    return fail("its elements are " + inTicks(*descr) + "; expected little-endian integers or floats");
  Tensor tensor;
  tensor.dtype = *dtype;
  uint64_t numElements = 1;
  for (size_t i = 1; i < shape->size();) {
    char c = (*shape)[i];
    if (!std::isdigit(static_cast<unsigned char>(c))) {
      if (c != ' ' && c != ',' && c != ')' && c != 'L')
        return fail("its shape is " + inTicks(*shape) + "; expected numbers");
      ++i;
      continue;
    }
    uint64_t size = 0;
    for (; i < shape->size() && std::isdigit(static_cast<unsigned char>((*shape)[i])); ++i) {
      if (size > (uint64_t{1} << 48))
        return fail("its shape " + inTicks(*shape) + " is too large");
      size = size * 10 + static_cast<uint64_t>((*shape)[i] - '0');
    }
    if (size != 0 && numElements > (uint64_t{1} << 48) / size)
      return fail("its shape " + inTicks(*shape) + " is too large");
    numElements *= size;
    tensor.shape.push_back(static_cast<int64_t>(size));
  }
  if (*order != "False" && tensor.shape.size() > 1)
    return fail("is in Fortran order; save it with numpy.ascontiguousarray first");
  const uint64_t have = all.size() - start - length;
  if (numElements * byteSize(*dtype) != have)
    return fail("its shape " + inTicks(*shape) + " needs " + std::to_string(numElements * byteSize(*dtype)) +
                " bytes, but " + std::to_string(have) + " follow the header; the file is incomplete or damaged");
  tensor.bytes = reinterpret_cast<const std::byte *>(owner->data()) + start + length;
  tensor.owner = std::move(owner);
  return tensor;
}

}  // namespace hector
