/// What functions that are put together return.
#pragma once

#include <string>

namespace hector {

/// A value of the whole that is a result.
struct PartResult {
  std::string value;  // `PART.RESULT`, or an input of the whole
  std::string name;
};

}  // namespace hector
