/// Programs that run as compiled code on the CPU and are compiled together. Most of a test's time goes into the host
/// compiler, and half of that into its start and into headers.
///
///   CpuBatch batch;
///   auto number = batch.add(std::move(program), graph);  // several times
///   batch.compile({"-O1"});
///   auto results = batch.run(*number, graph, tensors);
#pragma once

#include "driver/Cpu.h"
#include "test/numerics/Harness.h"

#include <memory>
#include <string>
#include <vector>

namespace hector::numerics {

class CpuBatch {
public:
  /// Adds a program that has had its passes, and gives its number. `graph` is only asked for its size.
  Result<size_t> add(Program program, const Graph &graph);
  /// Compiles what was added. `flags` come after the usual ones.
  Status compile(const std::vector<std::string> &flags = {});

  const exec::Plan &plan(size_t number) const { return *items[number].plan; }
  /// An executor with its inputs set.
  Result<exec::Executor> prepare(size_t number, const Graph &graph, const Tensors &tensors,
                                 const exec::ExecOptions &options) const;
  /// The arguments of a program as tensors, and its results as tables.
  Tensors toTensors(size_t number, const Tables &arguments) const;
  Tables toTables(size_t number, const std::vector<NamedTensor> &results) const;
  /// One run, in memory that starts and ends as NaN.
  Result<std::vector<NamedTensor>> run(size_t number, const Graph &graph, const Tensors &tensors) const;

private:
  struct Item {
    Program program;
    std::shared_ptr<const exec::Plan> plan;
  };
  std::vector<Item> items;
  exec::KernelLookup lookup;
};

/// All results of the last run.
Result<std::vector<NamedTensor>> outputs(const exec::Executor &executor, const exec::Plan &plan);

}  // namespace hector::numerics
