/// What the interpreter reads and gives, as plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace hector {

/// A table's rows, one after the other; truth values are 0 and 1. Rows of edges are in the order that the edges came in
/// (`Graph::edgeNumbers`), whatever order the graph keeps them in.
struct Table {
  int64_t rows = 0;
  std::vector<int64_t> shape;  // of one row
  std::vector<double> values;
};

/// What a run computes besides a function of its arguments.
struct RunMode {
  bool isTraining = false;  // dropout drops; otherwise it is the identity
  uint64_t seed = 0;        // of everything random
  uint64_t step = 0;        // of training: each step drops other numbers
  uint64_t cuts = 0;        // seed of the places where groups cut rows; results differ by rounding only
  uint64_t noise = 0;       // unless 0, seed of errors of up to 8 units in the last place of sums outside groups, to
                            // find out what hangs on rounding
};

}  // namespace hector
