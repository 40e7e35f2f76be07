/// Named pipelines: what `--passes` means.
#pragma once

#include <mlir/Pass/PassManager.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hector {

/// The names that `--passes` takes in a list.
std::vector<std::string_view> passNames();

/// Adds the passes of `text` to `manager`: `none`, `default`, or names separated by commas, in their order.
/// With `differentiate`, gradients of all inputs are derived after them, and the same passes run again on the whole.
/// Gives what is wrong with the text, or nothing.
std::optional<std::string> buildPipeline(mlir::PassManager &manager, const std::string &text, bool differentiate);

}  // namespace hector
