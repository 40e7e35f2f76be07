#include "runtime/base/Memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

namespace hector {

static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

/// The number that a file consists of; a group without a limit says "max".
static int64_t numberIn(const std::string &path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? number : kUnknown;
}

/// The number behind a word of a file with a word and a number in each line; 0 if it is not there.
static int64_t numberOf(const std::string &word, const std::string &path) {
  std::ifstream file(path);
  std::string key;
  for (int64_t number = 0; file >> key >> number;)
    if (key == word)
      return number;
  return 0;
}

int64_t freeInGroups(const std::string &groups, const std::string &root) {
  int64_t available = kUnknown;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    // NUMBER:CONTROLLERS:PATH. The second version of groups has no controllers here.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool isFirstVersion = controllers.find(",memory,") != std::string::npos;
    if (!isFirstVersion && controllers != ",,")
      continue;
    const std::string top = isFirstVersion ? root + "/memory" : root;
    // Each group has a limit, and so has what it is in.
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      const std::string folder = top + (path == "/" ? "" : path) + "/";
      const int64_t limit = numberIn(folder + (isFirstVersion ? "memory.limit_in_bytes" : "memory.max"));
      const int64_t used = numberIn(folder + (isFirstVersion ? "memory.usage_in_bytes" : "memory.current"));
      // Pages of files that nobody has used lately are given up when memory is asked for.
      const int64_t idle = numberOf(isFirstVersion ? "total_inactive_file" : "inactive_file", folder + "memory.stat");
      if (limit != kUnknown && used != kUnknown)
        available = std::min(available, std::max<int64_t>(0, limit - used + idle));
      if (path.empty() || path.find('/') == std::string::npos)
        break;
    }
  }
  return available;
}

int64_t availableMemory() {
  int64_t available = kUnknown;
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word)
    if (int64_t kilobytes = 0; word == "MemAvailable:" && info >> kilobytes)
      available = kilobytes * 1024;
  std::stringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  return std::min(available, freeInGroups(groups.str(), "/sys/fs/cgroup"));
}

Status requireMemory(const std::string &what, int64_t bytes) {
  const int64_t available = availableMemory();
  if (bytes <= available)
    return Status::ok();
  return Status::failed(what + " needs " + formatBytes(bytes) + "; " + formatBytes(available) +
                        " of memory are available");
}

/// A line of /proc/self/status, in bytes; 0 if there is none.
static int64_t statusBytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (int64_t kilobytes = 0; word == key && status >> kilobytes)
      return kilobytes * 1024;
  return 0;
}

int64_t residentBytes() {
  return statusBytes("VmRSS:");
}

int64_t peakResidentBytes() {
  return statusBytes("VmHWM:");
}

Status resetPeakResident() {
  std::ofstream file("/proc/self/clear_refs");
  if (file << "5" << std::flush)
    return Status::ok();
  return Status::failed(
      "the peak memory of a process cannot be measured here: /proc/self/clear_refs cannot be written");
}

void throwOutOfMemory(size_t bytes) {
  throw OutOfMemory(bytes);
}

std::string formatBytes(int64_t bytes) {
  if (bytes < 1024)
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  constexpr std::array<const char *, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would be shown as 1024.0.
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", value, kUnits[unit]);
  return text;
}

std::optional<int64_t> parseBytes(std::string_view text) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  int shift = 0;
  if (!suffix.empty()) {
    const size_t unit = std::string_view("KMGkmg").find(suffix[0]);
    if (unit == std::string_view::npos || (suffix.size() > 1 && suffix.substr(1) != "iB"))
      return std::nullopt;
    shift = 10 * (static_cast<int>(unit % 3) + 1);
  }
  if (error != std::errc() || number < 0 || number > (int64_t{1} << 40 >> shift))
    return std::nullopt;
  return number << shift;
}

}  // namespace hector
