/// What plans cost, as plain numbers.
#pragma once

#include <string>

namespace hector {

/// A plan that `default` tried for a function, with its numbers on the function's graph.
struct PlanCost {
  std::string name;  // `--passes` takes it, and gives the same function
  double operations = 0;
  double bytes = 0;
  double peakBytes = 0;
  double seconds = 0;
  double price = 0;  // the number by which plans are compared, in seconds
  bool isTaken = false;
};

}  // namespace hector
