#include "training/Outputs.h"

#include "runtime/base/Text.h"
#include "runtime/storage/File.h"

#include <climits>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace hector::training {

namespace fs = std::filesystem;

/// Whether two names stand for one file. Devices and pipes may be written twice.
static bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  if (const fs::file_status status = fs::status(a, error); fs::exists(status) && !fs::is_regular_file(status))
    return false;
  const fs::path first = fs::weakly_canonical(fs::absolute(a, error), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b, error), error) && !error;
}

Status checkOutputs(std::span<const OutputFile> outputs, std::span<const std::string> inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputFile &output = outputs[i];
    if (output.path.empty())
      continue;
    std::vector<std::string> foreign;
    for (const std::string &input : inputs)
      if (input != output.continues)
        foreign.push_back(input);
    if (Status status = refuseOverwriting(output.path, foreign); !status.isOk())
      return status;
    for (const OutputFile &other : outputs.first(i))
      if (!other.path.empty() && isSameFile(other.path, output.path))
        return Status::invalid(other.option + " " + inTicks(other.path) + " and " + output.option + " " +
                               inTicks(output.path) + " are one file; give one of them another name");
    if (Status status = checkWritable(output.path); !status.isOk())
      return status;
  }
  return Status::ok();
}

Status checkWritable(const std::string &path) {
  auto refused = [&](const std::string &why) { return Status::invalid(path + ": cannot be written: " + why); };
  const size_t nameBytes = fs::path(path).filename().native().size();
  if (nameBytes > NAME_MAX)
    return refused("its name has " + std::to_string(nameBytes) + " bytes; expected at most " +
                   std::to_string(NAME_MAX));
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error == std::errc::filename_too_long)
    return refused("the path is too long; give a shorter one");
  if (fs::is_directory(status))
    return refused("it is a folder; expected the name of a file");
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0)
    return refused("it is read-only; give the output another name");
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Status::ok();
  // A file is replaced in its folder, and a link stays: what it leads to is replaced.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::absolute(path, error);
  const fs::path folder = target.parent_path();
  if (!fs::is_directory(folder, error))
    return refused("the folder " + inTicks(folder.string()) + " does not exist; create it first");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return refused("the folder " + inTicks(folder.string()) + " is read-only; write to another folder");
  return Status::ok();
}

/// Whether a name is one that `replaceFile` takes for a while: ".hector-", 16 hexadecimal digits, ".tmp".
static bool isTemporaryName(std::string_view name) {
  constexpr std::string_view kStart = ".hector-", kEnd = ".tmp";
  if (!name.starts_with(kStart) || !name.ends_with(kEnd) || name.size() != kStart.size() + 16 + kEnd.size())
    return false;
  const std::string_view digits = name.substr(kStart.size(), 16);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

using FileId = std::pair<dev_t, ino_t>;

/// The files that processes have open, as far as we may look.
static std::set<FileId> openFiles() {
  std::set<FileId> found;
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string number = process->path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos)
      continue;
    std::error_code denied;
    for (fs::directory_iterator file(process->path() / "fd", denied); !denied && file != end; file.increment(denied))
      if (struct stat info; ::stat(file->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
        found.emplace(info.st_dev, info.st_ino);
  }
  return found;
}

void removeLeftovers(const std::string &path) {
  std::error_code error;
  const fs::path target = fs::exists(path, error) ? fs::canonical(path, error) : fs::absolute(path, error);
  if (error)
    return;
  std::vector<std::pair<fs::path, FileId>> old;
  for (fs::directory_iterator file(target.parent_path(), error), end; !error && file != end; file.increment(error)) {
    struct stat info;
    if (!isTemporaryName(file->path().filename().native()) || ::lstat(file->path().c_str(), &info) != 0)
      continue;
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    if (S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && now - info.st_mtime > 60)
      old.emplace_back(file->path(), FileId(info.st_dev, info.st_ino));
  }
  if (old.empty())
    return;
  const std::set<FileId> open = openFiles();
  for (const auto &[name, id] : old)
    if (!open.contains(id))
      fs::remove(name, error);
}

}  // namespace hector::training
