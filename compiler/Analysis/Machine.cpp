#include "compiler/Analysis/Machine.h"

#include <llvm/Support/Format.h>

#include <cmath>

namespace hector::flow {

Machine::Machine(MachineAttr attr)
    : target(attr.getTarget()), bandwidth(static_cast<double>(attr.getBandwidth()) * 1e9),
      cacheBytes(static_cast<double>(attr.getCacheBytes())), lineBytes(static_cast<double>(attr.getLineBytes())),
      randomReads(static_cast<double>(attr.getRandomReads()) * 1e6),
      cachedReads(static_cast<double>(attr.getCachedReads()) * 1e6),
      productRate(static_cast<double>(attr.getProductRate()) * 1e9),
      scalarRate(static_cast<double>(attr.getScalarRate()) * 1e9),
      launch(static_cast<double>(attr.getLaunch()) * 1e-9) {}

Machine::Machine(mlir::func::FuncOp function) {
  if (auto attr = function->getAttrOfType<MachineAttr>("flow.machine"))
    *this = Machine(attr);
}

MachineAttr Machine::toAttr(mlir::MLIRContext *context) const {
  auto whole = [](double number, double unit) { return std::max<int64_t>(1, std::llround(number / unit)); };
  return MachineAttr::get(context, target, whole(bandwidth, 1e9), whole(cacheBytes, 1), whole(lineBytes, 1),
                          whole(randomReads, 1e6), whole(cachedReads, 1e6), whole(productRate, 1e9),
                          whole(scalarRate, 1e9), whole(launch, 1e-9));
}

std::string formatTime(double seconds) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g us", seconds * 1e6);
  return text;
}

}  // namespace hector::flow
