/// Shared by benchmarks: real graphs, imported once.
#pragma once

#include "bench/Measure.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hector::bench {

struct GraphSource {
  std::string name;                  // its folder
  std::vector<std::string> options;  // of `hector data import`
};

inline const std::vector<GraphSource> &realGraphs() {
  static const std::vector<GraphSource> kGraphs = {
      {"aifb", {"--preset", "dgl-aifb"}},
      {"mutag", {"--preset", "dgl-mutag"}},
      {"fb15k-237", {}},
      {"wn18rr", {}},
      {"ogbn-mag-0.1",
       {"--relation", "citing=paper:paper", "--relation", "writing=author:paper", "--relation", "has=field:paper",
        "--drop-isolated"}},
      {"hgb-dblp", {}},
  };
  return kGraphs;
}

/// Where graphs are, and the program that imports them.
struct GraphFolders {
  std::string hector;
  std::filesystem::path data, work;
};

/// The graph file, which is imported if it is not there. Nothing, with a line that says why, if the graph is absent; an
/// empty name if it cannot be imported.
inline std::optional<std::string> importGraph(const GraphSource &source, const GraphFolders &folders) {
  const std::filesystem::path folder = folders.data / source.name, file = folders.work / (source.name + ".safetensors");
  if (std::filesystem::exists(file))
    return file.string();
  if (!std::filesystem::exists(folder)) {
    std::printf("skipped: %s, since there is no %s\n", source.name.c_str(), folder.c_str());
    return std::nullopt;
  }
  std::vector<std::string> words = {folders.hector, "data", "import", folder.string()};
  words.insert(words.end(), source.options.begin(), source.options.end());
  words.insert(words.end(), {"--out", file.string()});
  if (runProgram(words))
    return file.string();
  std::fprintf(stderr, "%s: `hector data import` fails\n", source.name.c_str());
  return "";
}

}  // namespace hector::bench
