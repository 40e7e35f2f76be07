/// Runs programs as compiled code and compares with the interpreter. The system's compiler takes longer than everything
/// else, so programs are compiled in batches: one file, one call.
#pragma once

#include "Judge.h"

#include <mlir/IR/MLIRContext.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hector::fuzz {

struct CpuFailure {
  TestProgram test;
  uint64_t number = 0, seed = 0;
  Failure failure;
};

class CpuJudge {
public:
  CpuJudge();
  ~CpuJudge();
  /// Compiles a program to C++, in one way and one type of number, and puts it aside; `number` names it.
  std::optional<Failure> add(const TestProgram &test, uint64_t number, uint64_t seed);
  /// Compiles what was put aside, runs each program with memory poisoned and compares: f64 to 1e-9, f32 as Rounding.h
  /// says. Runs again with other numbers of threads have the same bits.
  std::vector<CpuFailure> run();
  size_t numWaiting() const;
  const Tally &tally() const { return counts; }

private:
  struct Waiting;
  std::optional<Failure> judge(Waiting &program, const std::function<void *(const std::string &)> &lookup);
  std::shared_ptr<mlir::MLIRContext> context;
  std::vector<Waiting> waiting;
  Tally counts;
};

}  // namespace hector::fuzz
