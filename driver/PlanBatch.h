/// Plans whose kernels are compiled together: one source, one call of a compiler. What is common to `KernelBatch`, for
/// the CPU, and `DeviceBatch`, for GPUs.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hector {

class PlanBatch {
public:
  /// Adds a plan, whose symbols are its own, and gives its number.
  size_t add(exec::Plan plan);
  size_t size() const { return plans.size(); }
  const exec::Plan &plan(size_t number) const { return *plans[number]; }

  /// Programs that could not be compiled: a single one, or some that can be compiled apart, but not together.
  struct Failure {
    std::vector<size_t> numbers;
    Status status;
  };

protected:
  /// The start of the next program's symbols.
  std::string nextPrefix() const { return "p" + std::to_string(plans.size()) + "_"; }
  const std::shared_ptr<const exec::Plan> &shared(size_t number) const { return plans[number]; }

  /// Compiles a plan with the text of those from `begin` to `end - 1`, and keeps what comes of it.
  using Load = std::function<Status(const exec::Plan &all, size_t begin, size_t end)>;
  /// Compiles what was added. If that fails, its halves are compiled, and so on, so that the failures name the programs
  /// at fault and all others can run.
  std::vector<Failure> compileWith(const Load &load) const;

private:
  std::vector<Failure> compileWith(const Load &load, size_t begin, size_t end) const;
  std::vector<std::shared_ptr<const exec::Plan>> plans;
};

}  // namespace hector
