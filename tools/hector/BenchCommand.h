/// `hector bench`: the command line.
#pragma once

#include <functional>
#include <optional>

namespace CLI {
class App;
}

namespace hector {

/// Adds `bench`. Once the command line is parsed, the function runs it if it was given and returns its exit code (130
/// where Ctrl-C stopped it); nothing where it was not.
std::function<std::optional<int>()> addBench(CLI::App &app);

}  // namespace hector
