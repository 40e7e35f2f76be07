/// The text of `machines/*.toml`, which travel inside the library.
#pragma once

#include <span>
#include <string_view>

namespace hector {

struct ShippedMachine {
  std::string_view file;
  std::string_view text;
};

/// `cpu` first.
std::span<const ShippedMachine> shippedMachineTexts();

}  // namespace hector
