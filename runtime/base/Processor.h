/// The processor that code is compiled for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// What decides whether code that was compiled for the processor at hand (`-march=native`) runs on another one.
struct Processor {
  std::string architecture;           // "x86_64"
  std::string name;                   // for messages: "Intel(R) Xeon(R) Platinum 8481C"; may be empty
  std::string model;                  // vendor, family and model: "GenuineIntel 6 143"
  std::string stepping;               // of the model
  std::vector<std::string> features;  // the instructions that it has, as the system names them

  bool operator==(const Processor &) const = default;
};

Processor thisProcessor();
/// From the text of /proc/cpuinfo, of which the first processor counts.
Processor readProcessor(std::string_view cpuinfo, std::string architecture);

/// A text that differs for processors that differ.
std::string identityOf(const Processor &processor);

/// Why code compiled for `made` may not run on `here`: "it is for Intel …, and this is AMD …". Empty if it does: on the
/// same model with the same features or more. Other models may lack instructions that the system has no name for.
std::string whyUnfit(const Processor &made, const Processor &here);

}  // namespace hector
