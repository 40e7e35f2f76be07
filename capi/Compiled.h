/// What a model was compiled to. Numbers of rows are symbols in it, so it serves all graphs that share its figures.
#pragma once

#include "capi/Devices.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Plan.h"

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace hector::capi {

/// Not changed once made, so that threads and layers share it.
struct Compiled {
  Compiled() = default;
  Compiled(const Compiled &) = delete;
  Compiled &operator=(const Compiled &) = delete;
  ~Compiled();

  std::shared_ptr<const exec::Plan> plan;
  std::string passes;          // those that ran: `default` stands for the plan that it chose
  exec::KernelLookup kernels;  // on the CPU
  // On a GPU.
  OpenDevice *open = nullptr;
  std::shared_ptr<DeviceProgram> program;
};

/// The last that a model was compiled to, by what they were compiled for. Used by threads at once.
class CompiledCache {
public:
  /// Null if there is none.
  std::shared_ptr<const Compiled> find(const std::string &key);
  void keep(const std::string &key, std::shared_ptr<const Compiled> compiled);
  void clear();

private:
  static constexpr size_t kMost = 64;
  struct Entry {
    std::string key;
    std::shared_ptr<const Compiled> compiled;
  };
  std::mutex mutex;
  std::list<Entry> entries;  // the one that was used last comes first
};

}  // namespace hector::capi
