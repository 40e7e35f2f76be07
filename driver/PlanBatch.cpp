#include "driver/PlanBatch.h"

#include "runtime/base/Interrupt.h"

#include <numeric>
#include <utility>

namespace hector {

size_t PlanBatch::add(exec::Plan plan) {
  plans.push_back(std::make_shared<const exec::Plan>(std::move(plan)));
  return plans.size() - 1;
}

std::vector<PlanBatch::Failure> PlanBatch::compileWith(const Load &load) const {
  return plans.empty() ? std::vector<Failure>() : compileWith(load, 0, plans.size());
}

std::vector<PlanBatch::Failure> PlanBatch::compileWith(const Load &load, size_t begin, size_t end) const {
  exec::Plan all;
  all.name = "batch";
  for (size_t i = begin; i < end; ++i)
    all.source += plans[i]->source;
  Status status = load(all, begin, end);
  if (status.isOk())
    return {};
  std::vector<Failure> failures;
  if (end - begin > 1 && !interruptSignal()) {
    const size_t middle = begin + (end - begin) / 2;
    failures = compileWith(load, begin, middle);
    for (Failure &failure : compileWith(load, middle, end))
      failures.push_back(std::move(failure));
  }
  if (failures.empty()) {
    std::vector<size_t> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), begin);
    failures.push_back({std::move(numbers), std::move(status)});
  }
  return failures;
}

}  // namespace hector
