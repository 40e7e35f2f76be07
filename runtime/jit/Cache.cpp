#include "runtime/jit/Cache.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace hector {

namespace fs = std::filesystem;

namespace {

constexpr size_t kKeyDigits = 32;
/// What a process has just made it may not have locked yet; and copies that replaceFile makes have no lock.
constexpr int64_t kYoungSeconds = 60, kCopySeconds = 600;

/// In a build folder, locked as long as its process lives.
constexpr const char *kBuildLock = "/lock";
constexpr std::string_view kBuildPrefix = "hector-build-";

constexpr std::string_view kSealStart = "\nhector 1 ";
constexpr size_t kSealSize = kSealStart.size() + 2 * kKeyDigits + 2;

/// What follows the bytes that are kept under a name.
std::string sealOf(const std::string &name, std::span<const std::byte> bytes) {
  return std::string(kSealStart) + hashOf(std::as_bytes(std::span(name))) + " " + hashOf(bytes) + "\n";
}

bool isKey(std::string_view text) {
  return text.size() == kKeyDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The text between `start` and `end` where `name` has both; nothing else.
std::optional<std::string_view> between(std::string_view name, std::string_view start, std::string_view end) {
  if (name.size() < start.size() + end.size() || !name.starts_with(start) || !name.ends_with(end))
    return std::nullopt;
  return name.substr(start.size(), name.size() - start.size() - end.size());
}

enum class Kind { Code, Cubin, Compiler, Tuning, Failure, Build, Lock, Copy, Foreign };

Kind kindOf(const std::string &name) {
  auto isKeyBetween = [&](std::string_view start, std::string_view end) {
    auto key = between(name, start, end);
    return key && isKey(*key);
  };
  if (isKeyBetween("", ".so"))
    return Kind::Code;
  if (isKeyBetween("", ".cubin"))
    return Kind::Cubin;
  if (isKeyBetween("compiler-", ".txt"))
    return Kind::Compiler;
  if (isKeyBetween("tuned-", ".txt"))
    return Kind::Tuning;
  if (isKeyBetween("failed-", ""))
    return Kind::Failure;
  if (isKeyBetween("", ".lock"))
    return Kind::Lock;
  if (name.starts_with(kBuildPrefix))
    return Kind::Build;
  return between(name, ".hector-", ".tmp") ? Kind::Copy : Kind::Foreign;
}

struct Item {
  std::string path;
  Kind kind;
  int64_t bytes = 0;
  timespec lastUse{};
};

bool isOlder(const timespec &a, const timespec &b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

int64_t bytesBelow(const std::string &folder) {
  int64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info;
    if (::lstat(entry->path().c_str(), &info) == 0 && S_ISREG(info.st_mode))
      sum += info.st_size;
  }
  return sum;
}

/// All that is ours. What disappears meanwhile is left out.
std::vector<Item> itemsIn(const std::string &folder) {
  std::vector<Item> items;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    Item item{entry->path().string(), kindOf(entry->path().filename().string())};
    struct stat info;
    if (item.kind == Kind::Foreign || ::lstat(item.path.c_str(), &info) != 0)
      continue;
    const bool isFolder = item.kind == Kind::Failure || item.kind == Kind::Build;
    if (isFolder ? !S_ISDIR(info.st_mode) : !S_ISREG(info.st_mode))
      continue;
    item.bytes = isFolder ? bytesBelow(item.path) : info.st_size;
    item.lastUse = info.st_mtim;
    items.push_back(std::move(item));
  }
  return items;
}

/// Whether it is compiled code.
bool isEntry(Kind kind) {
  return kind == Kind::Code || kind == Kind::Cubin;
}

/// Whether it counts as kept; the rest belongs to processes at work, or is left by dead ones.
bool isKept(Kind kind) {
  return isEntry(kind) || kind == Kind::Compiler || kind == Kind::Tuning || kind == Kind::Failure;
}

/// Whether an item was removed, by us or by someone else meanwhile.
bool removeItem(const Item &item) {
  std::error_code error;
  fs::remove_all(item.path, error);
  return !error;
}

/// Locks a file that exists and that no process has locked. Whoever locks such a file removes it before the lock ends:
/// a file that was opened before and locked after that is no longer the one of that name, and does not count.
bool lockExisting(FileDescriptor &file, const std::string &path) {
  struct stat held, named;
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(file.get(), &held) == 0 &&
         ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/// Removes what processes left that ended before they could.
void removeLeftovers(const std::vector<Item> &items) {
  const int64_t now = std::time(nullptr);
  for (const Item &item : items) {
    const int64_t age = now - item.lastUse.tv_sec;
    FileDescriptor file;
    if (item.kind == Kind::Copy && age > kCopySeconds) {
      removeItem(item);
    } else if (item.kind == Kind::Build && age > kYoungSeconds) {
      const std::string lock = item.path + kBuildLock;
      if (file.open(lock, O_RDWR) ? lockExisting(file, lock) : errno == ENOENT)
        removeItem(item);
    } else if (item.kind == Kind::Lock && age > kYoungSeconds) {
      if (file.open(item.path, O_RDWR) && lockExisting(file, item.path))
        ::unlink(item.path.c_str());
    }
  }
}

/// Refuses a folder that others could put code into. Links are followed: what counts is where they lead.
Status checkFolder(const std::string &folder) {
  constexpr std::string_view kHelp = "set HECTOR_CACHE to a folder of your own";
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) {
    const int error = errno;
    return Status::invalid(folder + ": cannot be used for compiled code: " + std::strerror(error) + "; " +
                           std::string(kHelp));
  }
  if (!S_ISDIR(info.st_mode))
    return Status::invalid(folder + ": cannot be used for compiled code: it is not a folder; " + std::string(kHelp));
  if (info.st_uid != ::geteuid())
    return Status::invalid(folder + ": not safe for compiled code: it belongs to user " + std::to_string(info.st_uid) +
                           ", and this is user " + std::to_string(::geteuid()) + "; " + std::string(kHelp));
  if (info.st_mode & (S_IWGRP | S_IWOTH))
    return Status::invalid(folder + ": not safe for compiled code: others can write to it; run `chmod 700 " + folder +
                           "`, or " + std::string(kHelp));
  return Status::ok();
}

std::string folderAbove(const std::string &folder) {
  return fs::path(folder).parent_path().string();
}

/// The folder where it exists and is safe, an empty text where it does not exist.
Result<std::string> existingFolder() {
  auto folder = CodeCache::place();
  if (!folder)
    return folder.status();
  for (const std::string &checked : {folderAbove(*folder), *folder}) {
    struct stat info;
    if (::lstat(checked.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR))
      return std::string();
    if (Status status = checkFolder(checked); !status.isOk())
      return status;
  }
  return folder;
}

}  // namespace

// Folders to compile in.

Result<BuildFolder> BuildFolder::create(const std::string &parent, const std::string &prefix) {
  BuildFolder made;
  std::string pattern = parent + "/" + prefix + "XXXXXX";
  if (!::mkdtemp(pattern.data())) {
    const int error = errno;
    return Status::failed(parent + ": nothing can be created there: " + std::strerror(error));
  }
  made.folder = pattern;
  if (!made.lock.open(made.folder + kBuildLock, O_RDWR | O_CREAT, 0600)) {
    const int error = errno;
    return Status::failed(made.folder + kBuildLock + ": cannot be created: " + std::strerror(error));
  }
  // A new file: nobody else has it locked. Where there are no locks, the folder is taken for a dead process's once it
  // is old, which costs a compilation.
  (void)::flock(made.lock.get(), LOCK_EX | LOCK_NB);
  return made;
}

Result<BuildFolder> BuildFolder::createTemporary() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error)
    return Status::failed("there is no folder for temporary files: " + error.message() + "; set TMPDIR to one");
  return create(parent.string(), "hector-");
}

BuildFolder::~BuildFolder() {
  std::error_code error;
  if (!folder.empty())
    fs::remove_all(folder, error);
}

std::string BuildFolder::keep(const std::string &target) {
  std::string place = std::exchange(folder, "");
  std::error_code error;
  fs::remove(place + kBuildLock, error);
  if (target.empty())
    return place;
  fs::remove_all(target, error);
  fs::rename(place, target, error);
  return error ? place : target;
}

// The cache.

Result<std::string> CodeCache::place() {
  if (const char *own = std::getenv("HECTOR_CACHE"); own && own[0] != '\0') {
    if (own[0] != '/')
      return Status::invalid("HECTOR_CACHE is " + inTicks(own) + "; expected a full path, such as /scratch/me");
    return std::string(own) + "/code";
  }
  // A relative path in this variable is to be ignored: it would mean something else in each folder.
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && cache[0] == '/')
    return std::string(cache) + "/hector/code";
  if (const char *home = std::getenv("HOME"); home && home[0] == '/')
    return std::string(home) + "/.cache/hector/code";
  return Status::invalid("there is no place for compiled code: none of HECTOR_CACHE, XDG_CACHE_HOME and HOME is set to "
                         "a full path; set one of them");
}

Result<CodeCache> CodeCache::open() {
  auto folder = place();
  if (!folder)
    return folder.status();
  // The folder above is looked at first: nothing is created where others could exchange it.
  for (const std::string &checked : {folderAbove(*folder), *folder}) {
    if (Status status = makeFolders(checked); !status.isOk())
      return Status::invalid(status.message() + "; set HECTOR_CACHE to a folder that can be written");
    if (Status status = checkFolder(checked); !status.isOk())
      return status;
  }
  return CodeCache(std::move(folder).take());
}

std::optional<MappedFile> CodeCache::find(const std::string &name) const {
  auto file = mapFile(pathOf(name));
  if (!file || file->bytes.size() <= kSealSize)
    return std::nullopt;
  const auto bytes = file->bytes.first(file->bytes.size() - kSealSize);
  const std::string seal = sealOf(name, bytes);
  if (std::memcmp(seal.data(), file->bytes.data() + bytes.size(), kSealSize) != 0)
    return std::nullopt;
  // Fails where the disk is read-only; nothing is removed there either.
  (void)::utimensat(AT_FDCWD, pathOf(name).c_str(), nullptr, 0);
  file->bytes = bytes;
  return std::move(file).take();
}

Status CodeCache::insert(const std::string &name, std::span<const std::byte> bytes) const {
  const std::string seal = sealOf(name, bytes);
  const std::span<const std::byte> pieces[] = {bytes, std::as_bytes(std::span(seal))};
  return replaceFile(pathOf(name), pieces);
}

CodeCache::KeyLock::~KeyLock() {
  if (file.get() < 0)
    return;
  ::unlink(path.c_str());
  // Not left to closing: a process that was forked meanwhile has the file open, too.
  (void)::flock(file.get(), LOCK_UN);
}

Result<CodeCache::KeyLock> CodeCache::lock(const std::string &key) const {
  constexpr std::chrono::milliseconds kPause(10);
  constexpr std::chrono::seconds kPatience(60);
  const auto start = std::chrono::steady_clock::now();
  KeyLock lock;
  lock.path = pathOf(key + ".lock");
  while (true) {
    FileDescriptor file;
    if (!file.open(lock.path, O_RDWR | O_CREAT, 0600)) {
      const int error = errno;
      return Status::failed(lock.path + ": cannot be created: " + std::strerror(error));
    }
    errno = 0;
    if (lockExisting(file, lock.path)) {
      lock.file = std::move(file);
      return lock;
    }
    const int error = errno;
    if (error == 0 || error == ENOENT)  // the last owner has removed it
      continue;
    if ((error != EWOULDBLOCK && error != EINTR) || std::chrono::steady_clock::now() - start > kPatience)
      return KeyLock();
    if (interruptSignal())
      return interrupted("waiting for another process that compiles the same");
    std::this_thread::sleep_for(kPause);
  }
}

Result<BuildFolder> CodeCache::createBuildFolder() const {
  return BuildFolder::create(path, std::string(kBuildPrefix));
}

void CodeCache::trim(int64_t limit) const {
  std::vector<Item> items = itemsIn(path);
  removeLeftovers(items);
  std::erase_if(items, [](const Item &item) { return !isKept(item.kind); });
  std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) { return isOlder(a.lastUse, b.lastUse); });
  int64_t total = 0;
  for (const Item &item : items)
    total += item.bytes;
  for (const Item &item : items)
    if (total > limit && removeItem(item))
      total -= item.bytes;
}

Result<int64_t> cacheLimit() {
  const char *text = std::getenv("HECTOR_CACHE_LIMIT");
  if (!text || text[0] == '\0')
    return kDefaultCacheLimit;
  if (auto limit = parseBytes(text))
    return *limit;
  return Status::invalid("HECTOR_CACHE_LIMIT is " + inTicks(text) + "; expected " + kByteForms +
                         ", from 0 to 1024G, such as 500M or 2G");
}

Result<CacheState> cacheState() {
  auto place = CodeCache::place();
  auto folder = existingFolder();
  auto limit = cacheLimit();
  for (const Status &status : {place.status(), folder.status(), limit.status()})
    if (!status.isOk())
      return status;
  CacheState state;
  state.folder = *place;
  state.limit = *limit;
  if (folder->empty())
    return state;
  for (const Item &item : itemsIn(*folder)) {
    if (!isKept(item.kind))
      continue;
    state.numBytes += item.bytes;
    state.numFailures += item.kind == Kind::Failure;
    if (!isEntry(item.kind))
      continue;
    const int64_t use = item.lastUse.tv_sec;
    state.oldestUse = state.numEntries == 0 ? use : std::min(state.oldestUse, use);
    state.newestUse = state.numEntries == 0 ? use : std::max(state.newestUse, use);
    ++state.numEntries;
    state.numGpuEntries += item.kind == Kind::Cubin;
  }
  return state;
}

Result<ClearedCache> clearCache() {
  auto folder = existingFolder();
  if (!folder)
    return folder.status();
  ClearedCache cleared;
  cleared.folder = *CodeCache::place();
  if (folder->empty())
    return cleared;
  const std::vector<Item> items = itemsIn(*folder);
  removeLeftovers(items);
  for (const Item &item : items) {
    if (!isKept(item.kind))
      continue;
    if (!removeItem(item))
      return Status::failed(item.path + ": cannot be removed; is the disk read-only?");
    cleared.numBytes += item.bytes;
    cleared.numEntries += isEntry(item.kind);
    cleared.numFailures += item.kind == Kind::Failure;
  }
  return cleared;
}

}  // namespace hector
