/// Numbers as text.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace hector::training {

/// The shortest text that reads back to the same bits.
inline std::string formatNumber(double number) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

}  // namespace hector::training
