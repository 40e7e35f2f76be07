/// Where compiled programs run: the CPU, a GPU, or an emulated GPU.
#pragma once

#include "driver/PlanBatch.h"
#include "driver/Run.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hector::fuzz {

/// The results of one run of several.
struct CompiledRun {
  std::string how;  // what it differs by from the first: "with 3 threads"
  std::vector<NamedTensor> results;
};

/// Programs that are compiled together.
class CompiledBatch {
public:
  virtual ~CompiledBatch() = default;
  /// Adds a program that has had its passes and has groups, and gives its number.
  virtual Result<size_t> add(const Program &program, const Graph &graph) = 0;
  virtual std::vector<PlanBatch::Failure> compile() = 0;
  virtual const exec::Plan &plan(size_t number) const = 0;
  /// Runs a program that was compiled, with memory poisoned and as in training: several times, which must give the same
  /// bits. `arguments` are those of its function, in its order; `seed` chooses how it runs.
  virtual Result<std::vector<CompiledRun>> run(size_t number, const Graph &graph,
                                               const std::vector<NamedTensor> &arguments, uint64_t seed) const = 0;
};

class CompiledTarget {
public:
  virtual ~CompiledTarget() = default;
  /// For messages: "cpu".
  virtual std::string name() const = 0;
  /// The options that choose it: "--backend=cpu".
  virtual std::string options() const = 0;
  /// Gives a program the machine that passes choose by, drawn by `seed`; or none, for the default.
  virtual void attachMachine(Program &program, uint64_t seed) const = 0;
  /// Whether some programs are compiled with the flags that users get, and others with quicker ones.
  virtual bool hasQuickFlags() const = 0;
  virtual std::unique_ptr<CompiledBatch> makeBatch(bool hasUsualFlags) const = 0;
  /// Whether further programs can run in this process. A GPU is lost to it after a fault in a kernel.
  virtual bool isUsable() const { return true; }
};

/// Compiled by the system's compiler, with -O1 where the flags are not the usual ones. Runs differ in the number of
/// threads.
std::unique_ptr<CompiledTarget> cpuTarget();

/// Runs are the first and the second of one executor, launch by launch or recorded; where threads are emulated, a third
/// one has them take turns in another order. `device` is "emulated", or "cuda" for a GPU.
Result<std::unique_ptr<CompiledTarget>> cudaTarget(const std::string &device);

}  // namespace hector::fuzz
