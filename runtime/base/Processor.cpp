#include "runtime/base/Processor.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>

namespace hector {

static std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

Processor readProcessor(std::string_view cpuinfo, std::string architecture) {
  Processor processor;
  processor.architecture = std::move(architecture);
  std::istringstream lines{std::string(cpuinfo)};
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon));
    const std::string value(trimmed(std::string_view(line).substr(colon + 1)));
    if (key == "model name")
      processor.name = value;
    // The names that x86, ARM and RISC-V have for them.
    for (std::string_view word :
         {"vendor_id", "cpu family", "model", "CPU implementer", "CPU part", "CPU variant", "isa"})
      if (key == word)
        processor.model += (processor.model.empty() ? "" : " ") + value;
    if (key == "stepping" || key == "CPU revision")
      processor.stepping = value;
    if (key == "flags" || key == "Features") {
      std::istringstream words(value);
      for (std::string word; words >> word;)
        processor.features.push_back(word);
    }
  }
  std::sort(processor.features.begin(), processor.features.end());
  return processor;
}

Processor thisProcessor() {
  utsname system = {};
  const bool isKnown = ::uname(&system) == 0;
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return readProcessor(text.str(), isKnown ? system.machine : "");
}

std::string identityOf(const Processor &processor) {
  std::string text =
      processor.architecture + "\n" + processor.name + "\n" + processor.model + "\n" + processor.stepping + "\n";
  for (const std::string &feature : processor.features)
    text += feature + " ";
  return text;
}

/// "`Intel(R) Xeon(R)` (GenuineIntel 6 143)".
static std::string describe(const Processor &processor) {
  if (processor.name.empty() && processor.model.empty())
    return "an unknown " + processor.architecture;
  return processor.name.empty() ? processor.model : processor.name + " (" + processor.model + ")";
}

std::string whyUnfit(const Processor &made, const Processor &here) {
  if (made.architecture != here.architecture)
    return "it is for " + made.architecture + ", and this machine is " + here.architecture;
  if (here.model.empty())
    return "it is for " + describe(made) + ", and this system does not say what processor it has";
  if (made.model != here.model)
    return "it is for " + describe(made) + ", and this processor is " + describe(here);
  std::string missing;
  int64_t count = 0;
  constexpr int64_t kMaxShown = 4;
  for (const std::string &feature : made.features)
    if (!std::binary_search(here.features.begin(), here.features.end(), feature) && ++count <= kMaxShown)
      missing += (missing.empty() ? "" : ", ") + feature;
  if (count == 0)
    return "";
  return "it is for a processor with " + missing +
         (count > kMaxShown ? " and " + counted(count - kMaxShown, "more feature") : "") + ", which this one lacks";
}

}  // namespace hector
