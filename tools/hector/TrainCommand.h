/// `hector train` and `hector infer`: the command line.
#pragma once

#include <functional>
#include <optional>

namespace CLI {
class App;
}

namespace hector {

/// Adds `train` and `infer`. Once the command line is parsed, the function runs the one that was given and returns its
/// exit code; nothing where neither was.
std::function<std::optional<int>()> addTrain(CLI::App &app);

}  // namespace hector
