#include "runtime/machine/Machine.h"

#include "runtime/base/Text.h"
#include "runtime/machine/Shipped.h"
#include "runtime/storage/File.h"

// Only this file sees the library, so its code is compiled here rather than linked. Failures are results.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
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

std::string keyList() {
  std::string list = "name, target";
  for (const MachineFigure &figure : machineFigures())
    list += (figure.key == machineFigures().back().key ? " and " : ", ") + std::string(figure.key);
  return list;
}

bool isBlank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view withoutBlanks(std::string_view text) {
  while (!text.empty() && isBlank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back()))
    text.remove_suffix(1);
  return text;
}

/// The bytes of a value at the start of `text`: up to the closing quote, or to a comment.
size_t valueLength(std::string_view text) {
  const char quote = text.empty() ? '\0' : text.front();
  if (quote != '"' && quote != '\'')
    return withoutBlanks(text.substr(0, text.find('#'))).size();
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote)
      return i + 1;
    i += text[i] == '\\' && quote == '"';
  }
  return text.size();
}

/// Reads TOML's basic and literal strings of one line: "…" with escapes, '…' without. Nothing if `text` is neither.
std::optional<std::string> readString(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'') || text.back() != text.front())
    return std::nullopt;
  const bool hasEscapes = text.front() == '"';
  text = text.substr(1, text.size() - 2);
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || !hasEscapes) {
      result += text[i];
      continue;
    }
    if (++i == text.size())
      return std::nullopt;
    constexpr std::string_view kEscapes = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    if (size_t at = kEscapes.find(text[i]); at != std::string_view::npos) {
      result += kMeanings[at];
      continue;
    }
    const size_t numDigits = text[i] == 'u' ? 4 : text[i] == 'U' ? 8 : 0;
    uint32_t code = 0;
    const char *first = text.data() + i + 1;
    if (numDigits == 0 || text.size() - i - 1 < numDigits)
      return std::nullopt;
    auto [end, error] = std::from_chars(first, first + numDigits, code, 16);
    if (error != std::errc() || end != first + numDigits || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      return std::nullopt;
    appendUtf8(result, code);
    i += numDigits;
  }
  return result;
}

/// Reads a decimal number, which may have underscores between its digits: 33_554_432. Nothing if `text` is something
/// else; numbers beyond 64 bits become the largest.
std::optional<int64_t> readNumber(std::string_view text) {
  const bool isNegative = text.starts_with('-');
  if (isNegative || text.starts_with('+'))
    text.remove_prefix(1);
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_')
      continue;
    if (text[i] < '0' || text[i] > '9')
      return std::nullopt;
    digits += text[i];
  }
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0'))
    return std::nullopt;
  int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc())
    number = std::numeric_limits<int64_t>::max();
  return isNegative ? -number : number;
}

/// Sets what `key` stands for; the message of a failure lacks its place.
Status setValue(MachineDescription &machine, std::string_view key, std::string_view value) {
  auto expected = [&](const std::string &what) {
    return Status::invalid("`" + std::string(key) + "` is " + inTicks(value) + "; expected " + what);
  };
  if (key == "name") {
    constexpr size_t kMaxName = 200;
    auto text = readString(value);
    if (!text || text->empty() || text->size() > kMaxName)
      return expected("1 to " + std::to_string(kMaxName) + " characters in quotes, such as \"my machine\"");
    machine.name = std::move(*text);
    return Status::ok();
  }
  if (key == "target") {
    for (MachineTarget target : {MachineTarget::Cpu, MachineTarget::Gpu})
      if (readString(value) == targetName(target)) {
        machine.target = target;
        return Status::ok();
      }
    return expected("\"cpu\" or \"gpu\", in quotes");
  }
  for (const MachineFigure &figure : machineFigures()) {
    if (key != figure.key)
      continue;
    auto number = readNumber(value);
    if (!number || *number < figure.min || *number > figure.max)
      return expected("a whole number from " + std::to_string(figure.min) + " to " + std::to_string(figure.max) + " (" +
                      std::string(figure.unit) + ")");
    machine.*figure.value = *number;
    return Status::ok();
  }
  return Status::invalid("a machine has no " + inTicks(key) + "; its keys are " + keyList());
}

}  // namespace

// The part of TOML that a description needs is read here: lines `key = value` with texts and whole numbers. Libraries
// read more, and toml++ 3.3 (Debian's) fails assertions on many files that are not TOML.
Result<MachineDescription> parseMachine(std::string_view text, const std::string &file) {
  MachineDescription machine;
  std::map<std::string_view, int64_t> lineOf;
  int64_t line = 0;
  auto invalid = [&](const std::string &message) {
    return Status::invalid(file + ":" + std::to_string(line) + ": " + message);
  };
  for (std::string_view rest = text; !rest.empty();) {
    ++line;
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (row.ends_with('\r'))
      row.remove_suffix(1);
    for (char c : row)
      if (auto byte = static_cast<unsigned char>(c); (byte < 32 && c != '\t') || byte == 127)
        return invalid("found the byte " + hexByte(byte) + "; expected text");
    if (size_t valid = validUtf8Prefix(row); valid < row.size())
      return invalid("found the byte " + hexByte(static_cast<unsigned char>(row[valid])) + "; expected UTF-8");
    row = withoutBlanks(row);
    if (row.empty() || row.front() == '#')
      continue;
    const size_t equals = row.find('=');
    const std::string_view key = withoutBlanks(row.substr(0, equals));
    std::string_view value = equals == std::string_view::npos ? "" : withoutBlanks(row.substr(equals + 1));
    const std::string_view after = withoutBlanks(value.substr(valueLength(value)));
    value = value.substr(0, valueLength(value));
    if (key.empty() || value.empty() || !(after.empty() || after.front() == '#'))
      return invalid("found " + inTicks(row) + "; expected a line such as `bandwidth = 40`");
    if (Status status = setValue(machine, key, value); !status.isOk())
      return invalid(status.message());
    if (auto [before, isNew] = lineOf.emplace(key, line); !isNew)
      return invalid("`" + std::string(key) + "` is set already in line " + std::to_string(before->second) +
                     "; leave one of them out");
  }
  auto missing = [&](const std::string &key, const std::string &example) {
    return Status::invalid(file + ": `" + key + "` is missing; add a line `" + key + " = " + example);
  };
  if (!lineOf.contains("name"))
    return missing("name", "\"my machine\"`");
  if (!lineOf.contains("target"))
    return missing("target", "\"cpu\"`");
  for (const MachineFigure &figure : machineFigures())
    if (!lineOf.contains(figure.key))
      return missing(std::string(figure.key),
                     "NUMBER` (" + std::string(figure.meaning) + ", " + std::string(figure.unit) + ")");
  return machine;
}

/// A basic string of TOML.
static std::string basicString(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (byte < 32 || byte == 127)
      result += "\\u00" + hexByte(byte);
    else
      result += c;
  }
  return result + "\"";
}

std::string formatMachine(const MachineDescription &machine) {
  std::string text = "# What a machine can do, for `hector compile --machine`.\n";
  text += "name = " + basicString(machine.name) + "\n";
  text += "target = \"" + std::string(targetName(machine.target)) + "\"\n";
  for (const MachineFigure &figure : machineFigures())
    text += std::string(figure.key) + " = " + std::to_string(machine.*figure.value) + "  # " +
            std::string(figure.unit) + ": " + std::string(figure.meaning) + "\n";
  return text;
}

Result<MachineDescription> readMachine(const std::string &path) {
  auto file = mapFile(path);
  if (!file)
    return file.status();
  return parseMachine({reinterpret_cast<const char *>(file->bytes.data()), file->bytes.size()}, path);
}

Status writeMachine(const std::string &path, const MachineDescription &machine) {
  return replaceFile(path, formatMachine(machine));
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

const MachineDescription &defaultGpu() {
  const auto machines = shippedMachines();
  return *std::find_if(machines.begin(), machines.end(),
                       [](const MachineDescription &machine) { return machine.target == MachineTarget::Gpu; });
}

Result<std::string> keptMachinePath(MachineTarget target) {
  const std::string file = target == MachineTarget::Cpu ? "hector/machine.toml" : "hector/gpu.toml";
  // A relative path in this variable is to be ignored: it would mean something else in each folder.
  if (const char *config = std::getenv("XDG_CONFIG_HOME"); config && config[0] == '/')
    return std::string(config) + "/" + file;
  if (const char *home = std::getenv("HOME"); home && home[0] == '/')
    return std::string(home) + "/.config/" + file;
  return Status::invalid("there is no place to keep a measurement: neither XDG_CONFIG_HOME nor HOME is set to a full "
                         "path; set one of them, or name a file");
}

Status keepMachine(const MachineDescription &machine) {
  auto path = keptMachinePath(machine.target);
  if (!path)
    return path.status();
  if (Status status = makeFolders(std::filesystem::path(*path).parent_path().string()); !status.isOk())
    return Status::invalid(status.message() + "; set XDG_CONFIG_HOME to a folder that can be written, or name a file");
  return writeMachine(*path, machine);
}

Result<MachineDescription> findMachine(const std::string &nameOrFile, MachineTarget target) {
  for (const MachineDescription &machine : shippedMachines())
    if (machine.name == nameOrFile)
      return machine;
  if (nameOrFile == "here") {
    auto path = keptMachinePath(target);
    if (!path)
      return path.status();
    const bool isGpu = target == MachineTarget::Gpu;
    if (::access(path->c_str(), F_OK) != 0)
      return Status::invalid("this " + std::string(isGpu ? "GPU" : "machine") + " has not been measured: " + *path +
                             " does not exist; run `hector machine" + (isGpu ? " --backend cuda" : "") +
                             "`, which takes a few seconds");
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
