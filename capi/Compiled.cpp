#include "capi/Compiled.h"

#include <algorithm>
#include <utility>

namespace hector::capi {

Compiled::~Compiled() {
  if (!program)
    return;
  Turn turn(*open);
  program.reset();
}

std::shared_ptr<const Compiled> CompiledCache::find(const std::string &key) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) { return entry.key == key; });
  if (found == entries.end())
    return nullptr;
  entries.splice(entries.begin(), entries, found);
  return found->compiled;
}

void CompiledCache::keep(const std::string &key, std::shared_ptr<const Compiled> compiled) {
  std::list<Entry> dropped;  // destroyed without the lock
  const std::lock_guard<std::mutex> lock(mutex);
  entries.push_front({key, std::move(compiled)});
  if (entries.size() > kMost)
    dropped.splice(dropped.begin(), entries, std::prev(entries.end()));
}

void CompiledCache::clear() {
  std::list<Entry> dropped;
  const std::lock_guard<std::mutex> lock(mutex);
  dropped.swap(entries);
}

}  // namespace hector::capi
