/// Models of many layers or steps, on which whatever is not linear in the size of a function shows.
#pragma once

#include <string>
#include <vector>

namespace hector::bench {

struct DeepModel {
  std::string name;
  std::string text;  // every size is called `d`
  double limit;      // milliseconds
};

std::vector<DeepModel> deepModels();

}  // namespace hector::bench
