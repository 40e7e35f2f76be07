/// What a machine can do: the figures by which every choice between plans is made.
#pragma once

#include "compiler/Dialect/Flow/IR/Flow.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace hector::flow {

/// The figures of `#flow.machine`, in bytes, numbers and seconds. The defaults are those of a CPU with a few cores.
struct Machine {
  Machine() = default;
  explicit Machine(MachineAttr attr);
  /// Those of the function's `flow.machine`; the defaults if it has none.
  explicit Machine(mlir::func::FuncOp function);
  MachineAttr toAttr(mlir::MLIRContext *context) const;

  Target target = Target::Cpu;
  double bandwidth = 40e9;  // bytes a second, reads and writes together
  double cacheBytes = 32 << 20;
  double lineBytes = 64;       // what is read from memory at least
  double randomReads = 200e6;  // a second, from random places of a large table
  double cachedReads = 800e6;  // a second, from random places of a table in the cache
  double productRate = 160e9;  // multiplications and additions a second, in products of matrices
  double scalarRate = 40e9;    // other operations a second
  double launch = 2e-6;        // seconds to start a loop and to wait for its end

  bool isGpu() const { return target == Target::Gpu; }
};

/// "12.34 us", for remarks.
std::string formatTime(double seconds);

}  // namespace hector::flow
