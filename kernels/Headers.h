/// The text of the headers that generated code includes, which travel inside the library.
#pragma once

#include <span>
#include <string_view>

namespace hector {

struct EmbeddedFile {
  std::string_view name;  // its path in the repository, by which the headers include one another
  std::string_view text;
};

/// All that C++ for the CPU includes, sorted by name.
std::span<const EmbeddedFile> cpuHeaders();

/// All that CUDA C++ includes, for the device and, with HECTOR_EMULATED, for the host. Sorted by name.
std::span<const EmbeddedFile> cudaHeaders();

}  // namespace hector
