/// The formulas of models/, written as loops over nodes and edges.
#pragma once

#include "test/numerics/Formulas.h"

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace hector::numerics {

/// A file of models/ with some of its attributes set.
struct Layer {
  std::string file;
  std::vector<std::string> attributes;
  std::function<Tables(const PlainGraph &, const Inputs &)> formula;
  std::string name = {};  // of the test; empty: the file's

  /// Sizes for the model: `width(k)` for the one that comes k-th, `count` for numbers of heads and their like. Those
  /// that follow from others get what they must.
  std::map<std::string, int64_t> sizesFor(const Model &model, const std::function<int64_t(int)> &width,
                                          int64_t count) const;
  Settings settingsFor(const std::map<std::string, int64_t> &sizes) const;
};
void PrintTo(const Layer &layer, std::ostream *out);

/// All files, some of them with several choices of attributes. Sorted by file.
std::span<const Layer> layers();

/// The name of a size that is a number of heads or the like, and not a width.
bool isCount(const std::string &size);

/// Sizes for messages: "d=3 heads=1".
std::string shown(const std::map<std::string, int64_t> &sizes);

/// Random inputs; `self_loop` says which edges are loops.
Tables layerInputs(const Model &model, const Settings &settings, const PlainGraph &graph, uint64_t seed);

}  // namespace hector::numerics
