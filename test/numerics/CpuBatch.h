/// Programs that run as compiled code on the CPU and are compiled together, with tables for arguments and results.
///
///   CpuBatch batch;
///   auto number = batch.add(std::move(program), graph);  // several times
///   batch.compile({"-O1"});
///   auto results = batch.run(*number, graph, tensors);
#pragma once

#include "driver/KernelBatch.h"
#include "test/numerics/Harness.h"

#include <string>
#include <vector>

namespace hector::numerics {

/// The arguments of a plan as tensors, and its results as tables.
Tensors toTensors(const exec::Plan &plan, const Tables &arguments);
Tables toTables(const exec::Plan &plan, const std::vector<NamedTensor> &results);

class CpuBatch {
public:
  /// Adds a program that has had its passes, and gives its number. `graph` is only asked how wide its ids are.
  Result<size_t> add(Program program, const Graph &graph);
  /// Compiles what was added. `flags` come after the usual ones.
  Status compile(const std::vector<std::string> &flags = {});

  const exec::Plan &plan(size_t number) const { return batch.plan(number); }
  /// An executor with its inputs set.
  Result<exec::Executor> prepare(size_t number, const Graph &graph, const Tensors &tensors,
                                 const exec::ExecOptions &options) const;
  Tensors toTensors(size_t number, const Tables &arguments) const {
    return numerics::toTensors(plan(number), arguments);
  }
  Tables toTables(size_t number, const std::vector<NamedTensor> &results) const {
    return numerics::toTables(plan(number), results);
  }
  /// One run, in memory that starts and ends as NaN.
  Result<std::vector<NamedTensor>> run(size_t number, const Graph &graph, const Tensors &tensors) const;

private:
  KernelBatch batch;
  std::vector<Program> programs;  // as the batch numbers them
};

}  // namespace hector::numerics
