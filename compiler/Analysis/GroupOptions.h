/// How groups are formed.
#pragma once

#include <functional>
#include <string>

namespace mlir {
class Location;
}

namespace hector::flow {

struct GroupOptions {
  bool fuse = true;     // without, every op is a group of its own
  bool rebuild = true;  // compute values again where they are read, if that takes less time
  /// How much memory counts against time: 1 as a rule, more where memory is short.
  double memoryWeight = 1;
  /// Told what was decided and why, at the place of an op.
  std::function<void(mlir::Location, const std::string &)> remark;
};

}  // namespace hector::flow
