#include "runtime/device/Tuning.h"

#include "runtime/jit/Cache.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace hector::exec {

namespace {

constexpr std::array<Starting, kNumStartings> kStartings = {Starting::Plain, Starting::Chained, Starting::Branched};

/// What is kept, with the version of what it means.
constexpr std::array<std::string_view, kNumStartings> kKept = {"tuning 1 plain\n", "tuning 1 chained\n",
                                                               "tuning 1 branched\n"};

std::string_view nameOf(Starting way) {
  constexpr std::array<std::string_view, kNumStartings> kNames = {"launches one by one", "replayed launches in a row",
                                                                  "replayed launches side by side"};
  return kNames[static_cast<size_t>(way)];
}

std::string withTime(Starting way, double ms) {
  char time[32];
  std::snprintf(time, sizeof time, " %.4g ms", ms);
  return std::string(nameOf(way)) + time;
}

std::optional<Starting> parse(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  for (Starting way : kStartings)
    if (text == kKept[static_cast<size_t>(way)])
      return way;
  return std::nullopt;
}

}  // namespace

Tuning::Tuning(std::string key, std::string what, Starting usual, TuningNote note)
    : key(std::move(key)), what(std::move(what)), chosen(usual), note(std::move(note)) {
  auto cache = CodeCache::open();
  if (!cache)
    return;  // compiling has said why
  const std::string name = CodeCache::tuningName(this->key), path = cache->pathOf(name);
  const auto kept = cache->find(name);
  if (const auto way = kept ? parse(kept->bytes) : std::nullopt) {
    chosen = *way;
    next = kTuningRuns;
    this->note(this->what + ": " + std::string(nameOf(chosen)) + ", as measured before (" + path + ")");
  } else if (::access(path.c_str(), F_OK) == 0) {
    this->note(path + " is damaged, or of another version; it is ignored, and " + this->what + " is measured again");
  }
}

void Tuning::add(double ms) {
  // The first round has what is done once.
  if (next >= kNumStartings)
    times[static_cast<size_t>(way())].push_back(ms);
  if (++next == kTuningRuns)
    choose();
}

void Tuning::choose() {
  std::array<double, kNumStartings> medians = {};
  for (size_t i = 0; i < times.size(); ++i) {
    const auto middle = times[i].begin() + static_cast<ptrdiff_t>(times[i].size() / 2);
    std::nth_element(times[i].begin(), middle, times[i].end());
    medians[i] = *middle;
  }
  // What differs by less than the clock does is no reason for a change.
  constexpr double kClearly = 0.98;
  const Starting usual = chosen;
  auto timeOf = [&](Starting way) { return medians[static_cast<size_t>(way)] / (way == usual ? 1 : kClearly); };
  chosen = *std::min_element(kStartings.begin(), kStartings.end(),
                             [&](Starting a, Starting b) { return timeOf(a) < timeOf(b); });
  std::string others;
  for (Starting way : kStartings)
    if (way != chosen)
      others += (others.empty() ? "" : ", ") + withTime(way, medians[static_cast<size_t>(way)]);
  std::string kept;
  if (auto cache = CodeCache::open()) {
    const std::string name = CodeCache::tuningName(key);
    const Status status = cache->insert(name, std::as_bytes(std::span(kKept[static_cast<size_t>(chosen)])));
    kept = status.isOk() ? "; kept in " + cache->pathOf(name) : "; not kept: " + status.message();
  }
  note(what + ": " + withTime(chosen, medians[static_cast<size_t>(chosen)]) + " (" + others + ")" + kept);
}

}  // namespace hector::exec
