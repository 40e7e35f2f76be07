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

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hector {

class KernelBatch {
public:
  /// Adds a program that has had its passes and has groups, and gives its number. `graph` is only asked how wide its
  /// ids are: programs of both widths may meet.
  Result<size_t> add(const Program &program, const Graph &graph);
  /// The same for a plan, whose symbols are its own.
  size_t add(exec::Plan plan);
  size_t size() const { return items.size(); }

  /// Programs that could not be compiled: a single one, or some that can be compiled apart, but not together.
  struct Failure {
    std::vector<size_t> numbers;
    Status status;
  };
  /// Compiles what was added. `flags` come after the usual ones. If that fails, its halves are compiled, and so on, so
  /// that the failures name the programs at fault and all others can run.
  std::vector<Failure> compile(const std::vector<std::string> &flags = {});

  const exec::Plan &plan(size_t number) const { return *items[number].plan; }
  /// An executor for a program that was compiled, with its inputs set. `arguments` are those of its function, in its
  /// order.
  Result<exec::Executor> prepare(size_t number, const Graph &graph, const std::vector<NamedTensor> &arguments,
                                 const exec::ExecOptions &options = {}) const;

private:
  struct Item {
    std::shared_ptr<const exec::Plan> plan;
    exec::KernelLookup kernels;
  };
  /// Those from `begin` to `end - 1`.
  std::vector<Failure> compile(size_t begin, size_t end, const std::vector<std::string> &flags);
  std::vector<Item> items;
};

}  // namespace hector
