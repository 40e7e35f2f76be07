#include "CacheCommand.h"

#include "Commands.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Cache.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

namespace hector {

namespace {

/// "2025-03-01 17:45", in the user's time zone.
std::string formatTime(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[32] = "unknown";
  if (localtime_r(&time, &parts))
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts);
  return text;
}

void line(const char *what, const std::string &value) {
  std::printf("%-11s %s\n", what, value.c_str());
}

int showCache() {
  auto state = cacheState();
  if (!state)
    return report(std::move(state).status());
  line("folder", state->folder);
  std::string entries = std::to_string(state->numEntries);
  if (state->numGpuEntries > 0)
    entries += " (" + std::to_string(state->numGpuEntries) + " for GPUs)";
  line("entries", entries);
  if (state->numFailures > 0)
    line("failures", std::to_string(state->numFailures) + " (sources that could not be compiled)");
  line("size", formatBytes(state->numBytes) + " of " + formatBytes(state->limit));
  if (state->numEntries > 0) {
    line("oldest use", formatTime(state->oldestUse));
    line("newest use", formatTime(state->newestUse));
  }
  return kExitFine;
}

int clear() {
  auto cleared = clearCache();
  if (!cleared)
    return report(std::move(cleared).status());
  std::string removed = counted(cleared->numEntries, "entry", "entries");
  if (cleared->numFailures > 0)
    removed += " and " + counted(cleared->numFailures, "failure");
  std::printf("removed %s from %s; %s freed\n", removed.c_str(), cleared->folder.c_str(),
              formatBytes(cleared->numBytes).c_str());
  return kExitFine;
}

}  // namespace

std::function<std::optional<int>()> addCache(CLI::App &app) {
  auto isClear = std::make_shared<bool>(false);
  CLI::App *cache = app.add_subcommand("cache", "Shows the compiled code that is kept, or removes it");
  cache->add_flag("--clear", *isClear, "Removes all that is kept; it is compiled again when it is needed");
  cache->footer("Compiled code is kept in $HECTOR_CACHE, $XDG_CACHE_HOME/hector or ~/.cache/hector, up to\n"
                "$HECTOR_CACHE_LIMIT (by default 1G).\n"
                "Example:\n  hector cache");
  return [=]() -> std::optional<int> {
    if (!cache->parsed())
      return std::nullopt;
    return *isClear ? clear() : showCache();
  };
}

}  // namespace hector
