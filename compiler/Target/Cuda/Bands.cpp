#include "compiler/Target/Cuda/Bands.h"

#include "compiler/Target/Cpp/Text.h"
#include "kernels/cuda/sizes.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace hector {

using exec::DeviceLaunch;
using exec::Domain;
using exec::Launch;
using exec::Plan;
using exec::Step;

std::string kernelHead(const std::string &symbol, int threads, int blocks) {
  return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) +
         (blocks > 1 ? ", " + std::to_string(blocks) : "") + ") " + symbol + "(";
}

std::string bandSymbol(const std::string &kernel) {
  return kernel + "_band";
}

//===- Which launches are shared ---------------------------------------------------------------------------------===//

/// Whether blocks of one launch can run both. A group of lanes takes unit after unit, however many blocks there are, so
/// `Units` may run where each block takes pieces of single rows.
static bool haveSameBlocks(const Launch &a, const Launch &b) {
  using exec::Schedule;
  const DeviceLaunch &one = *a.device, &other = *b.device;
  if (a.domain != b.domain || a.balance || b.balance || one.threads != other.threads)
    return false;
  if (one.schedule == other.schedule)
    return one.schedule != Schedule::Chunks && (one.schedule != Schedule::Tiles || one.tileRows == other.tileRows);
  auto isUnits = [](const DeviceLaunch &device) { return device.schedule == Schedule::Units; };
  auto isOfRows = [](const DeviceLaunch &device) { return device.schedule == Schedule::Tiles && device.tileRows == 1; };
  return (isUnits(one) && isOfRows(other)) || (isOfRows(one) && isUnits(other));
}

/// Whether a launch reads or writes a table that another one writes.
static bool waitsFor(const Launch &later, const Launch &earlier) {
  return std::any_of(earlier.outputs.begin(), earlier.outputs.end(), [&](int table) {
    auto isTable = [&](int other) { return other == table; };
    return std::any_of(later.inputs.begin(), later.inputs.end(), isTable) ||
           std::any_of(later.outputs.begin(), later.outputs.end(), isTable);
  });
}

static size_t countParameters(const Launch &launch) {
  return launch.inputs.size() + launch.outputs.size() + launch.device->buffers.size() + launch.forms.size() +
         launch.totals.size();
}

namespace {

/// A launch made of several.
class SharedLaunch {
public:
  SharedLaunch(const std::vector<Step> &steps, size_t begin, size_t end, std::string symbol);

  Launch launch;
  BandsKernel kernel;

private:
  /// The parameters of a launch, by kind. The same table or array is one parameter of all bands.
  enum Kind { Read, Written, Buffer, Form, Total, NumKinds };
  using Places = std::array<std::vector<size_t>, NumKinds>;
  Places add(const Launch &band);
};

SharedLaunch::SharedLaunch(const std::vector<Step> &steps, size_t begin, size_t end, std::string symbol) {
  constexpr size_t kMostNames = 3;  // in a label: "a+b+c+5"
  launch = {.kernel = symbol, .domain = steps[begin].launch.domain};
  launch.unitCost = 0;
  launch.device = steps[begin].launch.device;
  launch.device->buffers.clear();
  launch.device->bands = static_cast<int>(end - begin);
  std::vector<Places> places;
  for (size_t i = begin; i < end; ++i) {
    const Launch &band = steps[i].launch;
    if (i - begin < kMostNames)
      launch.label += (i == begin ? "" : "+") + band.label;
    launch.unitCost = std::max(launch.unitCost, band.unitCost);
    DeviceLaunch &device = *launch.device;
    if (band.device->schedule == exec::Schedule::Tiles)
      device.schedule = exec::Schedule::Tiles;
    device.tileRows = std::min(device.tileRows, band.device->tileRows);
    device.lanes = std::max(device.lanes, band.device->lanes);
    device.blocks = std::min(device.blocks, band.device->blocks);
    device.sharedBytes = std::max(device.sharedBytes, band.device->sharedBytes);
    places.push_back(add(band));
  }
  if (end - begin > kMostNames)
    launch.label += "+" + std::to_string(end - begin - kMostNames);
  for (exec::TotalSpec &total : launch.totals)
    total.join = symbol + "_join";
  kernel.symbol = std::move(symbol);
  kernel.device = *launch.device;
  const std::array<size_t, NumKinds> counts = {launch.inputs.size(), launch.outputs.size(),
                                               launch.device->buffers.size(), launch.forms.size(),
                                               launch.totals.size()};
  for (size_t i = begin; i < end; ++i) {
    BandsKernel::Band &band = kernel.bands.emplace_back();
    band.kernel = steps[i].launch.kernel;
    band.hasTotals = !steps[i].launch.totals.empty();
    size_t first = 0;
    for (int kind = 0; kind < NumKinds; first += counts[kind++])
      for (size_t place : places[i - begin][kind])
        band.parameters.push_back(first + place);
  }
}

SharedLaunch::Places SharedLaunch::add(const Launch &band) {
  Places places;
  auto addOnce = [](auto &list, const auto &value) {
    const auto found = std::find(list.begin(), list.end(), value);
    const size_t place = found - list.begin();
    if (found == list.end())
      list.push_back(value);
    return place;
  };
  for (int table : band.inputs)
    places[Read].push_back(addOnce(launch.inputs, table));
  const int firstOutput = static_cast<int>(launch.outputs.size());
  for (int table : band.outputs) {
    places[Written].push_back(launch.outputs.size());
    launch.outputs.push_back(table);
  }
  for (const exec::TableSpec &buffer : band.device->buffers) {
    places[Buffer].push_back(launch.device->buffers.size());
    launch.device->buffers.push_back(buffer);
  }
  for (const exec::Form &form : band.forms)
    places[Form].push_back(addOnce(launch.forms, form));
  for (exec::TotalSpec total : band.totals) {
    places[Total].push_back(launch.totals.size());
    total.output += firstOutput;
    launch.totals.push_back(std::move(total));
  }
  return places;
}

}  // namespace

std::vector<BandsKernel> shareLaunches(Plan &plan, const std::vector<bool> &isBeside, const std::string &prefix) {
  constexpr size_t kMostParameters = 256;  // a kernel takes 4 KiB, and the sizes are a part of that
  std::set<std::string> symbols;
  for (const Step &step : plan.steps)
    symbols.insert(step.launch.kernel);
  auto symbolFor = [&](const std::string &name) {
    std::string symbol = prefix + name;
    for (int i = 2; !symbols.insert(symbol).second; ++i)
      symbol = prefix + name + "_" + std::to_string(i);
    return symbol;
  };
  std::vector<BandsKernel> kernels;
  std::vector<Step> steps;
  for (size_t begin = 0, end; begin < plan.steps.size(); begin = end) {
    const Step &first = plan.steps[begin];
    auto canShare = [&](size_t i) {
      if (!isBeside[i] || i - begin == exec::kMostBands || plan.steps[i].phase != first.phase)
        return false;
      size_t count = countParameters(plan.steps[i].launch);
      for (size_t earlier = begin; earlier < i; ++earlier)
        count += countParameters(plan.steps[earlier].launch);
      if (count > kMostParameters)
        return false;
      for (size_t earlier = begin; earlier < i; ++earlier)
        if (!haveSameBlocks(plan.steps[i].launch, plan.steps[earlier].launch) ||
            waitsFor(plan.steps[i].launch, plan.steps[earlier].launch))
          return false;
      return true;
    };
    end = begin + 1;
    while (end < plan.steps.size() && canShare(end))
      ++end;
    if (end == begin + 1) {
      steps.push_back(first);
      continue;
    }
    const char *loops = first.launch.domain == Domain::EdgeType   ? "relation_loops"
                        : first.launch.domain == Domain::NodeType ? "node_type_loops"
                                                                  : "loops";
    SharedLaunch shared(plan.steps, begin, end, symbolFor(loops));
    for (const std::vector<int> *tables : {&shared.launch.inputs, &shared.launch.outputs})
      for (int table : *tables)
        shared.kernel.tables.push_back(plan.tables[table].name);
    steps.push_back({first.phase, std::move(shared.launch)});
    kernels.push_back(std::move(shared.kernel));
  }
  plan.steps = std::move(steps);
  return kernels;
}

//===- Text ------------------------------------------------------------------------------------------------------===//

/// The parameters of all bands: tables as the plan calls them, others as the first band does that has them. A kernel
/// may serve several bands, and has other names for its tables.
static Parameters parametersOf(const BandsKernel &shared, const std::map<std::string, BandFacts> &facts) {
  size_t count = 0;
  for (const BandsKernel::Band &band : shared.bands)
    for (size_t place : band.parameters)
      count = std::max(count, place + 1);
  Parameters all(count);
  llvm::StringSet<> names = cpp::reservedNames();
  for (const BandsKernel::Band &band : shared.bands)  // functions that are called
    for (const char *end : {"", "_join"})
      names.insert(bandSymbol(band.kernel) + end);
  for (const BandsKernel::Band &band : shared.bands)
    for (size_t i = 0; i < band.parameters.size(); ++i) {
      const size_t place = band.parameters[i];
      Parameter &parameter = all[place];
      if (!parameter.name.empty())
        continue;
      parameter = facts.at(band.kernel).parameters[i];
      parameter.name = cpp::uniqueName(names, place < shared.tables.size() ? shared.tables[place] : parameter.name);
    }
  return all;
}

void writeBands(Writer &out, const BandsKernel &shared, const std::map<std::string, BandFacts> &facts) {
  const Parameters all = parametersOf(shared, facts);
  auto open = [&](const std::string &symbol, int threads, int blocks) {
    std::string head = kernelHead(symbol, threads, blocks);
    for (const Parameter &parameter : all)
      head += parameter.text() + ", ";
    out.open(head + "const cuda::Sizes sizes)");
  };
  auto call = [&](const std::string &function, const BandsKernel::Band &band, const std::string &first) {
    std::string text = function + "(" + first;
    for (size_t place : band.parameters)
      text += all[place].name + ", ";
    return text + "sizes);";
  };
  std::string loops;
  for (const BandsKernel::Band &band : shared.bands) {
    const std::string &lines = facts.at(band.kernel).lines;
    loops += (loops.empty() ? "" : "; ") + band.kernel + (lines.empty() ? "" : ", " + lines);
  }
  out.line("");
  out.comment("A band of blocks for each of " + loops);
  // As for a kernel of its own, blocks of a warp have as many registers as they like.
  open(shared.symbol, shared.device.threads, shared.device.threads == 32 ? 1 : shared.device.blocks);
  out.open("switch (cuda::bandNumber())");
  for (size_t i = 0; i < shared.bands.size(); ++i) {
    out.line("case " + std::to_string(i) + ":");
    out.indented("return " + call(bandSymbol(shared.bands[i].kernel), shared.bands[i], ""));
  }
  out.close();
  out.close();
  out.line("HECTOR_CUDA_KERNEL(" + shared.symbol + ")");
  if (std::none_of(shared.bands.begin(), shared.bands.end(), [](const auto &band) { return band.hasTotals; }))
    return;
  out.line("");
  out.comment("Joins what the pieces of all of them left.");
  open(shared.symbol + "_join", cuda::kJoinThreads, 1);
  out.line("int64_t block = cuda::blockInGrid();");
  for (const BandsKernel::Band &band : shared.bands)
    if (band.hasTotals)
      out.line(call(bandSymbol(band.kernel) + "_join", band, "block, "));
  out.close();
  out.line("HECTOR_CUDA_KERNEL(" + shared.symbol + "_join)");
}

}  // namespace hector
