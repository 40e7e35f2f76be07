/// `hector cache`: shows the compiled code that is kept, or removes it.
#pragma once

#include <functional>
#include <optional>

namespace CLI {
class App;
}

namespace hector {

/// Adds `cache`. Once the command line is parsed, the function runs it if it was given and returns its exit code;
/// nothing where it was not.
std::function<std::optional<int>()> addCache(CLI::App &app);

}  // namespace hector
