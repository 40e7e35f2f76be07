/// `hector data import` and `hector data check`: real graphs in, and whether a graph file is sound.
#pragma once

#include <functional>
#include <optional>

namespace CLI {
class App;
}

namespace hector {

/// Adds `import` and `check` to `hector data`. Once the command line is parsed, the function runs whichever was given
/// and returns its exit code (130 where Ctrl-C stopped it); nothing where neither was.
std::function<std::optional<int>()> addDataImportAndCheck(CLI::App &data);

}  // namespace hector
