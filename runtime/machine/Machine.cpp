#include "runtime/machine/Machine.h"

#include "runtime/base/Text.h"
#include "runtime/machine/Shipped.h"
#include "runtime/storage/File.h"

// Only this file sees the library, so its code is compiled here rather than linked. Failures are results.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>
#include <vector>

namespace hector {

using M = MachineDescription;

std::string_view targetName(MachineTarget target) {
  return target == MachineTarget::Cpu ? "cpu" : "gpu";
}

std::span<const MachineFigure> machineFigures() {
  constexpr int64_t kMaxRate = 1'000'000'000;
  static constexpr MachineFigure kFigures[] = {
      {"bandwidth", &M::bandwidth, 1, kMaxRate, "10^9 bytes/s", "memory, reads and writes together"},
      {"cacheBytes", &M::cacheBytes, 1, int64_t{1} << 40, "bytes", "the largest cache"},
      {"lineBytes", &M::lineBytes, 1, 1 << 20, "bytes", "the least that is read from memory"},
      {"randomReads", &M::randomReads, 1, kMaxRate, "10^6/s", "numbers from random places of a large table"},
      {"cachedReads", &M::cachedReads, 1, kMaxRate, "10^6/s", "the same of a table that fits in the cache"},
      {"productRate", &M::productRate, 1, kMaxRate, "10^9/s", "operations of matrix products"},
      {"scalarRate", &M::scalarRate, 1, kMaxRate, "10^9/s", "other operations on rows"},
      {"launch", &M::launch, 1, kMaxRate, "ns", "to start a parallel loop and wait for its end"},
  };
  return kFigures;
}

int64_t roundFigure(double value) {
  if (!(value > 1))
    return 1;
  constexpr double kSteps[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
  const double power = std::pow(10, std::floor(std::log10(value)));
  double best = 1;
  for (double step : kSteps) {
    const double candidate = std::round(step * power);
    // 1.2 and 1.5 are no whole numbers.
    if (std::abs(candidate - step * power) < 1e-6 * power &&
        std::abs(std::log(candidate / value)) < std::abs(std::log(best / value)))
      best = candidate;
  }
  return static_cast<int64_t>(best);
}

namespace {

std::string place(const std::string &file, const toml::source_region &source) {
  return file + ":" + std::to_string(source.begin.line) + ": ";
}

std::string_view kindOf(const toml::node &node) {
  switch (node.type()) {
  case toml::node_type::string:
    return "a text";
  case toml::node_type::integer:
    return "a whole number";
  case toml::node_type::floating_point:
    return "a number with a fraction";
  case toml::node_type::boolean:
    return "a truth value";
  case toml::node_type::table:
    return "a table";
  case toml::node_type::array:
    return "a list";
  default:
    return "a date or time";
  }
}

std::string keyList() {
  std::string list = "name, target";
  for (const MachineFigure &figure : machineFigures())
    list += (figure.key == machineFigures().back().key ? " and " : ", ") + std::string(figure.key);
  return list;
}

Status readTarget(const toml::node &node, const std::string &where, MachineTarget &target) {
  const auto text = node.value_exact<std::string_view>();
  for (MachineTarget candidate : {MachineTarget::Cpu, MachineTarget::Gpu})
    if (text == targetName(candidate)) {
      target = candidate;
      return Status::ok();
    }
  return Status::invalid(where + "`target` is " + (text ? inTicks(*text) : std::string(kindOf(node))) +
                         "; expected \"cpu\" or \"gpu\"");
}

Status readName(const toml::node &node, const std::string &where, std::string &name) {
  const auto text = node.value_exact<std::string_view>();
  constexpr size_t kMaxName = 200;
  if (!text)
    return Status::invalid(where + "`name` is " + std::string(kindOf(node)) +
                           "; expected a text such as \"my machine\"");
  if (text->empty() || text->size() > kMaxName)
    return Status::invalid(where + "`name` has " + counted(static_cast<int64_t>(text->size()), "byte") +
                           "; expected 1 to " + std::to_string(kMaxName));
  name = *text;
  return Status::ok();
}

Status readFigure(const toml::node &node, const std::string &where, const MachineFigure &figure, int64_t &value) {
  const auto number = node.value_exact<int64_t>();
  const std::string expected = "expected a whole number from " + std::to_string(figure.min) + " to " +
                               std::to_string(figure.max) + " (" + std::string(figure.unit) + ")";
  if (!number)
    return Status::invalid(where + "`" + std::string(figure.key) + "` is " + std::string(kindOf(node)) + "; " +
                           expected);
  if (*number < figure.min || *number > figure.max)
    return Status::invalid(where + "`" + std::string(figure.key) + "` is " + std::to_string(*number) + "; " + expected);
  value = *number;
  return Status::ok();
}

}  // namespace

Result<MachineDescription> parseMachine(std::string_view text, const std::string &file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return Status::invalid(place(file, parsed.error().source()) + "this is not TOML: " +
                           std::string(parsed.error().description()) + "; expected lines such as `bandwidth = 40`");
  // In the order of the file, so that the first mistake is reported first.
  std::vector<std::pair<std::string, const toml::node *>> entries;
  for (const auto &[key, node] : parsed.table())
    entries.emplace_back(key.str(), &node);
  std::sort(entries.begin(), entries.end(),
            [](const auto &a, const auto &b) { return a.second->source().begin.line < b.second->source().begin.line; });
  MachineDescription machine;
  std::vector<std::string_view> missing = {"name", "target"};
  for (const MachineFigure &figure : machineFigures())
    missing.push_back(figure.key);
  for (const auto &[key, node] : entries) {
    const std::string where = place(file, node->source());
    if (std::erase(missing, key) == 0)
      return Status::invalid(where + "a machine has no " + inTicks(key) + "; its keys are " + keyList());
    Status status = Status::ok();
    if (key == "name")
      status = readName(*node, where, machine.name);
    else if (key == "target")
      status = readTarget(*node, where, machine.target);
    for (const MachineFigure &figure : machineFigures())
      if (key == figure.key)
        status = readFigure(*node, where, figure, machine.*figure.value);
    if (!status.isOk())
      return status;
  }
  if (!missing.empty()) {
    const std::string key(missing.front());
    std::string line = key == "name" ? "name = \"my machine\"`" : "target = \"cpu\"`";
    for (const MachineFigure &figure : machineFigures())
      if (key == figure.key)
        line = key + " = NUMBER` (" + std::string(figure.meaning) + ", " + std::string(figure.unit) + ")";
    return Status::invalid(file + ": `" + key + "` is missing; add a line `" + line);
  }
  return machine;
}

std::string formatMachine(const MachineDescription &machine) {
  const toml::value name(machine.name);
  std::ostringstream out;
  out << "# What a machine can do, for `hector compile --machine`.\n"
      << "name = " << toml::toml_formatter(name, toml::format_flags::allow_unicode_strings) << "\n"
      << "target = \"" << targetName(machine.target) << "\"\n";
  for (const MachineFigure &figure : machineFigures())
    out << figure.key << " = " << machine.*figure.value << "  # " << figure.unit << ": " << figure.meaning << "\n";
  return out.str();
}

Result<MachineDescription> readMachine(const std::string &path) {
  auto file = mapFile(path);
  if (!file)
    return file.status();
  return parseMachine({reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size()}, path);
}

Status writeMachine(const std::string &path, const MachineDescription &machine) {
  const std::string text = formatMachine(machine);
  const std::span<const std::byte> piece = std::as_bytes(std::span(text));
  return replaceFile(path, std::span(&piece, 1));
}

std::span<const MachineDescription> shippedMachines() {
  static const std::vector<MachineDescription> machines = [] {
    std::vector<MachineDescription> parsed;
    for (const ShippedMachine &shipped : shippedMachineTexts()) {
      auto machine = parseMachine(shipped.text, std::string(shipped.file));
      assert(machine && "tests read every shipped file");
      parsed.push_back(std::move(machine).take());
    }
    return parsed;
  }();
  return machines;
}

const MachineDescription &defaultMachine() {
  return shippedMachines().front();
}

Result<std::string> keptMachinePath() {
  // A relative path in this variable is to be ignored: it would mean something else in each folder.
  if (const char *config = std::getenv("XDG_CONFIG_HOME"); config && config[0] == '/')
    return std::string(config) + "/hector/machine.toml";
  if (const char *home = std::getenv("HOME"); home && home[0] == '/')
    return std::string(home) + "/.config/hector/machine.toml";
  return Status::invalid("there is no place to keep a measurement: neither XDG_CONFIG_HOME nor HOME is set to a full "
                         "path; set one of them, or name a file");
}

/// Creates the folder and those above it, where they are missing, for their owner only.
static Status makeFolders(const std::filesystem::path &folder) {
  std::filesystem::path made;
  for (const auto &part : folder) {
    made /= part;
    struct stat info;
    if (::mkdir(made.c_str(), 0700) != 0 && (::stat(made.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))) {
      const int error = errno;
      return Status::invalid(made.string() + ": cannot be created: " + std::strerror(error) +
                             "; set XDG_CONFIG_HOME to a folder that can be written, or name a file");
    }
  }
  return Status::ok();
}

Status keepMachine(const MachineDescription &machine) {
  auto path = keptMachinePath();
  if (!path)
    return path.status();
  if (Status status = makeFolders(std::filesystem::path(*path).parent_path()); !status.isOk())
    return status;
  return writeMachine(*path, machine);
}

Result<MachineDescription> findMachine(const std::string &nameOrFile) {
  for (const MachineDescription &machine : shippedMachines())
    if (machine.name == nameOrFile)
      return machine;
  if (nameOrFile == "here") {
    auto path = keptMachinePath();
    if (!path)
      return path.status();
    if (::access(path->c_str(), F_OK) != 0)
      return Status::invalid("this machine has not been measured: " + *path +
                             " does not exist; run `hector machine`, which takes a few seconds");
    return readMachine(*path);
  }
  if (nameOrFile.find_first_of("./") == std::string::npos && ::access(nameOrFile.c_str(), F_OK) != 0) {
    std::string names;
    for (const MachineDescription &machine : shippedMachines())
      names += machine.name + ", ";
    return Status::invalid("there is no machine " + inTicks(nameOrFile) + "; expected " + names +
                           "here (what `hector machine` measured), or a machine file");
  }
  return readMachine(nameOrFile);
}

}  // namespace hector
