/// How much memory is available.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace hector {

/// Bytes that this process can still take without swapping: what the system has available, or less where a control
/// group allows less. The largest number if both are unknown.
int64_t availableMemory();

/// What control groups leave of memory: `groups` is the text of /proc/self/cgroup, and `root` the folder of groups.
/// Both versions of groups are known. The largest number if none of them has a limit.
int64_t freeInGroups(const std::string &groups, const std::string &root);

/// Fails if `bytes` do not fit: "WHAT needs 12.0 GiB; 3.1 GiB of memory are available".
Status requireMemory(const std::string &what, int64_t bytes);

/// Bytes of this process that are in memory now, and the most that were since `resetPeakResident`, or since it started.
/// 0 if the system does not tell.
int64_t residentBytes();
int64_t peakResidentBytes();
/// Fails if the system does not let it.
Status resetPeakResident();

/// An allocation that failed, with the bytes that it was for.
class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(size_t bytes) : size(bytes) {}
  size_t bytes() const { return size; }

private:
  size_t size;
};
[[noreturn]] void throwOutOfMemory(size_t bytes);

/// "12.0 GiB", "512 bytes".
std::string formatBytes(int64_t bytes);

/// "4096", "512K", "32m" or "1GiB" in bytes, up to 1024G. Nothing if `text` is something else.
std::optional<int64_t> parseBytes(std::string_view text);
/// What it reads, for messages.
inline constexpr const char *kByteForms = "a whole number of bytes, or of K, M or G (KiB, MiB, GiB)";

}  // namespace hector
