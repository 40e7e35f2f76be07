/// Reads and writes safetensors files: an 8-byte header length, a JSON header, then the tensors' bytes.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/storage/Tensor.h"

#include <cstdint>
#include <map>
#include <string>

namespace hector {

/// Named tensors and the file's own text metadata, both ordered by name.
struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Null when there is no tensor of that name.
  const Tensor *find(const std::string &name) const;
};

/// Maps a file into memory and describes its tensors, which keep the mapping alive. Every bound is checked before use;
/// failures name the file, the byte offset and what was expected.
Result<TensorFile> readSafetensors(const std::string &path);

/// The same on bytes already in memory; `name` is what messages call them. The tensors share `owner`.
Result<TensorFile> parseSafetensors(std::span<const std::byte> bytes, const std::string &name,
                                    std::shared_ptr<const void> owner);

/// Writes to a temporary file beside `path`, syncs it and renames it, so `path` holds the old contents or the new.
/// Tensors start at multiples of their element size. `size`, where given, gets the number of bytes written.
Status writeSafetensors(const std::string &path, const TensorFile &file, int64_t *size = nullptr);

}  // namespace hector
