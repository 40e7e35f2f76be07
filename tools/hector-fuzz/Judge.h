/// Runs one program in every way there is and compares.
#pragma once

#include "Generator.h"
#include "driver/Run.h"

#include <mlir/IR/MLIRContext.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hector::fuzz {

/// What went wrong with a program. Shrinking keeps the kind.
struct Failure {
  std::string kind;  // "refused", "failed", "differs", "rounding", "gradient"
  std::string message;
};

struct Tally {
  int64_t programs = 0, runs = 0, gradientChecks = 0, rough = 0;
  int64_t kinks = 0, narrowKinks = 0;   // programs that f64, or f32, does not judge
  int64_t wideIds = 0, usualFlags = 0;  // programs with ids of 64 bits, and compiled as for users
};

class Judge {
public:
  Judge();
  /// Compares `none`, every single pass, a random list, every plan and `default`, values and gradients, to 1e-9; groups
  /// in f32 as Rounding.h says; with `checkSlopes`, gradients against differences of the function itself too. A new
  /// pass or backend joins in `ways`.
  std::optional<Failure> judge(const TestProgram &test, uint64_t seed, bool checkSlopes);
  const Tally &tally() const { return counts; }

private:
  struct Forms;
  struct Outcome;
  std::vector<std::string> ways(uint64_t seed) const;
  /// Runs `form` in one way.
  Result<Outcome> run(const Program &form, const std::string &way, const Graph &graph,
                      const std::vector<Table> &arguments, uint64_t seed);
  std::shared_ptr<mlir::MLIRContext> context;
  Tally counts;
};

}  // namespace hector::fuzz
