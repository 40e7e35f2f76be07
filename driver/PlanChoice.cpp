#include "driver/PlanChoice.h"

#include "compiler/Analysis/Cost.h"
#include "compiler/Pipelines/Pipelines.h"

#include <utility>
#include <vector>

namespace hector {

static Result<Candidate> tryPlan(const Program &program, const std::string &passes, double memoryWeight,
                                 const PlanMaker &maker) {
  Program copy = program.clone();
  std::string taken = passes;
  PassOutput output;
  output.onPlans = [&](const std::vector<PlanCost> &plans) {
    for (const PlanCost &plan : plans)
      if (plan.isTaken)
        taken = plan.name;
  };
  if (Status status = copy.runPasses(passes, output, memoryWeight); !status.isOk())
    return status;
  const double seconds = flow::estimate(copy.function(), copy.groupOptions()).seconds;
  if (Status status = copy.formGroups(); !status.isOk())
    return status;
  auto plan = maker.make(copy);
  if (!plan)
    return std::move(plan).status();
  auto bytes = maker.measure(*plan);
  if (!bytes)
    return std::move(bytes).status();
  return Candidate{
      {std::move(copy), std::make_shared<const exec::Plan>(std::move(*plan)), std::move(taken)}, seconds, *bytes};
}

Result<Candidate> choosePlan(const Program &program, const std::string &passes, int64_t limit, const PlanMaker &maker) {
  std::vector<Candidate> tried;
  auto attempt = [&](const std::string &names, double memoryWeight) -> Status {
    auto candidate = tryPlan(program, names, memoryWeight, maker);
    if (!candidate)
      return std::move(candidate).status();
    tried.push_back(std::move(*candidate));
    return Status::ok();
  };
  constexpr double kMost = 256;
  for (double weight = 1; weight <= kMost; weight *= 4) {
    if (Status status = attempt(passes, weight); !status.isOk())
      return status;
    if (tried.back().bytes.usual <= limit)
      return std::move(tried.back());
  }
  // The plan that is best by its estimate need not be the smallest.
  if (passes == "default")
    for (std::string_view name : planNames())
      if (Status status = attempt(std::string(name), kMost); !status.isOk())
        return status;
  Candidate *best = nullptr, *smallest = nullptr;
  for (auto bytes : {&PlanBytes::usual, &PlanBytes::least}) {
    for (Candidate &candidate : tried) {
      if (candidate.bytes.*bytes <= limit && (!best || candidate.seconds < best->seconds))
        best = &candidate;
      if (!smallest || candidate.bytes.least < smallest->bytes.least)
        smallest = &candidate;
    }
    if (best)
      break;
  }
  return std::move(best ? *best : *smallest);
}

}  // namespace hector
