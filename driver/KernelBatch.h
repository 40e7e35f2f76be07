/// Programs whose kernels are compiled together: one source, one call of the host compiler, one library. Most of the
/// time that a small program takes goes into that compiler, and half of it into its start and into headers.
///
///   KernelBatch batch;
///   Result<size_t> number = batch.add(program, graph);  // several times
///   for (const KernelBatch::Failure &failure : batch.compile({"-O1"}))
///     …
///   Result<exec::Executor> executor = batch.prepare(*number, graph, tensors);
#pragma once

#include "driver/Cpu.h"
#include "driver/PlanBatch.h"

#include <cstddef>
#include <string>
#include <vector>

namespace hector {

class KernelBatch : public PlanBatch {
public:
  using PlanBatch::add;
  /// Adds a program that has had its passes and has groups, and gives its number. `graph` is only asked how wide its
  /// ids are: programs of both widths may meet.
  Result<size_t> add(const Program &program, const Graph &graph);

  /// Compiles what was added. `flags` come after the usual ones.
  std::vector<Failure> compile(const std::vector<std::string> &flags = {});

  /// An executor for a program that was compiled, with its inputs set. `arguments` are those of its function, in its
  /// order.
  Result<exec::Executor> prepare(size_t number, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                 const exec::ExecOptions &options = {}) const;

private:
  std::vector<exec::KernelLookup> kernels;  // of each program; null where it was not compiled
};

}  // namespace hector
