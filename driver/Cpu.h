/// Runs programs as compiled code on the CPU.
#pragma once

#include "compiler/Target/Cpp/Emitter.h"
#include "driver/Kernels.h"
#include "driver/PlanChoice.h"
#include "driver/Run.h"
#include "driver/RunPlan.h"
#include "runtime/base/Memory.h"
#include "runtime/exec/Plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hector {

/// The plan of a program, with its C++ text. The program has had its passes and has groups.
Result<exec::Plan> makePlan(const Program &program, const CppOptions &options = {});

/// The kernels of a program, as text in kern.
Result<std::string> kernText(const Program &program);

/// Where memory decides between plans, it is what they take with so many threads, so that results do not depend on
/// how many there are. With more, an executor takes as many as fit.
inline constexpr int kThreadsOfPlans = 16;

/// What a plan takes with `kThreadsOfPlans`, and with one.
Result<PlanBytes> planBytes(const exec::Plan &plan, const Graph &graph, const Tensors &tensors,
                            exec::Outputs outputs = exec::Outputs::InArena);

struct PlanOptions {
  std::string passes = "default";
  int threads = 0;                                      // that prepare the graph; 0: as many as there are processors
  int64_t memoryLimit = 0;                              // bytes; 0: what the machine has
  int64_t availableMemory = hector::availableMemory();  // what it has
  exec::Outputs outputs = exec::Outputs::InArena;       // as the executor will have them
};

/// Compiles a program, before any pass and with its graph attached, so that it fits into the memory that the options
/// allow (`choosePlan`), on that graph and with copies of those `tensors` that have another type of number. Fails if no
/// plan fits, with the smallest that was found.
Result<Planned> planFor(const Program &program, const Graph &graph, const Tensors &tensors,
                        const PlanOptions &options = {});

/// Runs a plan on the CPU: as `run`, but with compiled code.
Result<std::vector<NamedTensor>> runOnCpu(const Planned &planned, const Graph &graph, const Tensors &tensors,
                                          const CpuOptions &options = {});

}  // namespace hector
