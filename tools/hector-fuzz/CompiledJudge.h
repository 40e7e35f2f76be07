/// Runs programs as compiled code and compares with the interpreter. The compiler takes longer than everything else, so
/// programs are compiled in batches: one file, one call. For the CPU, one program in ten is compiled with the flags
/// that users get, in batches of their own; all others with -O1, which is quicker.
#pragma once

#include "Judge.h"
#include "Targets.h"

#include <mlir/IR/MLIRContext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector::fuzz {

struct CompiledFailure {
  TestProgram test;
  uint64_t number = 0, seed = 0;
  Failure failure;
};

class CompiledJudge {
public:
  /// `onProgram` is told the number of each program before its code runs.
  CompiledJudge(const CompiledTarget &target, std::function<void(uint64_t number)> onProgram);
  ~CompiledJudge();
  /// Compiles a program to the target's language, in one way, one type of number and one width of ids, and puts it
  /// aside; `number` names it. All is chosen by `seed`.
  std::optional<Failure> add(const TestProgram &test, uint64_t number, uint64_t seed);
  /// Compiles the batches of at least `size` programs, runs each program with memory poisoned and compares: f64 to
  /// 1e-9, f32 as Rounding.h says. All runs that the target makes of a program have the same bits.
  std::vector<CompiledFailure> run(size_t size = 1);
  /// The program after which the target could not be used any more. Those that were added after it have not run.
  std::optional<uint64_t> lastProgram() const { return last; }
  const Tally &tally() const { return counts; }

private:
  struct Waiting;
  struct Batch;
  std::vector<CompiledFailure> run(Batch &batch);
  std::optional<Failure> judge(const Waiting &program, const CompiledBatch &kernels);
  const CompiledTarget &target;
  std::function<void(uint64_t)> onProgram;
  std::shared_ptr<mlir::MLIRContext> context;
  std::vector<Batch> batches;  // with quick flags, and with the usual ones
  std::optional<uint64_t> last;
  Tally counts;
};

}  // namespace hector::fuzz
