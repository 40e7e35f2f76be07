/// Whole files: mapped into memory to read, replaced atomically to write.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hector {

/// A file's bytes, read-only. They stay valid as long as `owner` or a copy of it, even where the file is replaced or
/// deleted meanwhile; but cutting it short in place takes its pages away, so writers should replace, as ours do.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Fails for what is not a regular file. Never waits, as opening a pipe would.
Result<MappedFile> mapFile(const std::string &path);

/// Makes `pieces`, one after the other, the contents of `path`: writes a temporary file beside it, syncs it and renames
/// it, so that `path` holds the old contents or the new, whatever happens. Keeps permissions and follows links.
/// Devices and pipes are written directly; folders and read-only files are refused. Stops and leaves `path` as it was
/// where an interrupt is noted meanwhile (`noteInterrupts`).
Status replaceFile(const std::string &path, std::span<const std::span<const std::byte>> pieces);

/// The same with one text.
Status replaceFile(const std::string &path, std::string_view text);

/// Creates the folder and those above it, where they are missing, for their owner only.
Status makeFolders(const std::string &folder);

/// Refuses an output that would replace one of the files that are read, whatever it is called there: by another
/// spelling, a link or a second name. An input that is a folder stands for the files in it, but for those that end in
/// `.safetensors`, which nobody imports. Empty names stand for nothing.
Status refuseOverwriting(const std::string &output, std::span<const std::string> inputs);

}  // namespace hector
