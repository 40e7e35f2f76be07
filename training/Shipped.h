/// Model texts that travel inside the program: the layers of `models/`, and the losses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hector::training {

struct ShippedText {
  std::string_view name;  // "rgcn"
  std::string_view text;
};

/// The layers of `models/`, by name.
const std::vector<ShippedText> &shippedLayers();
/// The programs of `training/programs`, by name.
const std::vector<ShippedText> &shippedPrograms();

/// The text of that name; empty where there is none.
std::string_view findText(const std::vector<ShippedText> &texts, std::string_view name);

}  // namespace hector::training
