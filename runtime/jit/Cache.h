/// Where compiled code is kept from run to run: one folder per user, `code` in $HECTOR_CACHE, $XDG_CACHE_HOME/hector or
/// ~/.cache/hector.
///
/// What is in the folder is run, so nobody else may write there; a folder that others can write to is refused. Any
/// number of processes may use it at once, and each of them may end at any moment:
///
///   KEY.so            a shared object, followed by a seal: its key and the hash of its bytes. Written elsewhere,
///                     synced and renamed; the seal is checked before it is used. Its time stamp is that of its last
///                     use, by which the least recently used are removed.
///   KEY.cubin         code for a GPU; otherwise the same.
///   KEY.lock          locked (flock) by the process that compiles KEY; others wait for it.
///   hector-build-…    what a process compiles in. Its file `lock` is locked as long as that process lives.
///   failed-KEY        the source that could not be compiled, and what the compiler said.
///   compiler-KEY.txt  which compiler was found; sealed.
///   tuned-KEY.txt     how launches of a plan are started the fastest; sealed.
///
/// Everything else there belongs to someone else and is left alone.
#pragma once

#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Status.h"
#include "runtime/storage/File.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace hector {

/// A new folder, for its owner only, that is removed with its contents at the end of its life.
class BuildFolder {
public:
  /// In `parent`: `PREFIX` and six characters.
  static Result<BuildFolder> create(const std::string &parent, const std::string &prefix);
  /// In $TMPDIR, or where else the system keeps temporary files.
  static Result<BuildFolder> createTemporary();
  BuildFolder(BuildFolder &&other) noexcept : folder(std::exchange(other.folder, "")), lock(std::move(other.lock)) {}
  BuildFolder &operator=(BuildFolder &&) = delete;
  ~BuildFolder();

  const std::string &path() const { return folder; }
  /// Leaves the folder where it is, or as `target` in place of what is there. Returns where it is.
  std::string keep(const std::string &target = "");

private:
  BuildFolder() = default;
  std::string folder;
  FileDescriptor lock;
};

/// What compiled code runs on.
enum class CodeKind { Host, Gpu };

class CodeCache {
public:
  /// Where code would be kept. Fails where the environment names no place.
  static Result<std::string> place();
  /// Creates the folder where it is missing. Fails, with what to do about it, where it cannot be created or is not
  /// safe.
  static Result<CodeCache> open();

  const std::string &folder() const { return path; }

  /// The bytes that are kept under a name, without their seal. Nothing where there are none or they are damaged.
  /// Counts as a use.
  std::optional<MappedFile> find(const std::string &name) const;
  /// Keeps bytes under a name, in place of those that are there.
  Status insert(const std::string &name, std::span<const std::byte> bytes) const;
  std::string pathOf(const std::string &name) const { return path + "/" + name; }

  static std::string codeName(const std::string &key, CodeKind kind = CodeKind::Host) {
    return key + (kind == CodeKind::Host ? ".so" : ".cubin");
  }
  static std::string compilerName(const std::string &key) { return "compiler-" + key + ".txt"; }
  static std::string tuningName(const std::string &key) { return "tuned-" + key + ".txt"; }
  static std::string failureName(const std::string &key) { return "failed-" + key; }

  /// Held by the one process that compiles a key; released at the end of its life, and of the process.
  class KeyLock {
  public:
    KeyLock() = default;
    KeyLock(KeyLock &&) = default;
    KeyLock &operator=(KeyLock &&) = delete;
    ~KeyLock();

  private:
    friend class CodeCache;
    std::string path;
    FileDescriptor file;
  };
  /// Waits for other processes that compile the same, but not for ever: one that was suspended may hold the lock for
  /// hours. Then, and on file systems without locks, nothing is locked, and the same is compiled twice.
  Result<KeyLock> lock(const std::string &key) const;
  Result<BuildFolder> createBuildFolder() const;

  /// Removes what was not used for longest until the rest fits into `limit` bytes, and what dead processes left.
  void trim(int64_t limit) const;

private:
  explicit CodeCache(std::string path) : path(std::move(path)) {}
  std::string path;
};

inline constexpr int64_t kDefaultCacheLimit = int64_t{1} << 30;
/// How many bytes are kept: $HECTOR_CACHE_LIMIT (500M, 2G), else the default.
Result<int64_t> cacheLimit();

struct CacheState {
  std::string folder;
  int64_t numEntries = 0;     // shared objects and cubins
  int64_t numGpuEntries = 0;  // cubins
  int64_t numFailures = 0;
  int64_t numBytes = 0;  // of all
  int64_t limit = 0;
  int64_t oldestUse = 0, newestUse = 0;  // seconds since 1970; of the entries
};
/// Creates nothing: a folder that is missing is empty. Fails where it is not safe.
Result<CacheState> cacheState();

struct ClearedCache {
  std::string folder;
  int64_t numEntries = 0, numFailures = 0, numBytes = 0;
};
/// Removes all that is kept, but for what other processes are compiling.
Result<ClearedCache> clearCache();

}  // namespace hector
