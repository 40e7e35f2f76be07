/// Runs programs as compiled code on the CPU.
#pragma once

#include "driver/Run.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Plan.h"
#include "runtime/jit/Jit.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector {

/// The plan of a program, with its C++ text. The program has had its passes and has groups.
Result<exec::Plan> makePlan(const Program &program, bool wideIds = false);

/// The kernels of a program, as text in kern.
Result<std::string> kernText(const Program &program);

/// Compiles the text of a plan, or finds what was compiled before.
Result<exec::KernelLookup> loadKernels(const exec::Plan &plan, const JitEvents &events = {});

struct CpuOptions {
  exec::ExecOptions exec;
  std::optional<uint64_t> seed;  // of dropout; without, nothing is dropped
  uint64_t step = 0;
  JitEvents events;
};

/// Runs a program on the CPU: as `run`, but with compiled code.
Result<std::vector<NamedTensor>> runOnCpu(const Program &program, const Graph &graph, const Tensors &tensors,
                                          const CpuOptions &options = {});

}  // namespace hector
