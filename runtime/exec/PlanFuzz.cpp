/// Feeds arbitrary texts to the reader of plans, then runs what it lets through with kernels that do nothing.
#include "runtime/exec/Executor.h"
#include "runtime/exec/PlanFile.h"
#include "runtime/exec/PlanText.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::exec;

namespace {

void require(bool condition) {
  if (!condition)
    std::abort();
}

void idleKernel(const cpu::Frame &, int64_t, int64_t, int64_t, void *) {}
void idleJoin(const cpu::Frame &, int64_t, int64_t) {}

void execute(std::shared_ptr<const Plan> plan) {
  constexpr int64_t kLimit = int64_t{1} << 24;
  const std::vector<int64_t> src = {0, 1, 1, 3, 3}, dst = {1, 0, 2, 3, 3}, etype = {0, 2, 0, 2, 2},
                             ntypePtr = {0, 2, 5};
  Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, 3, plan->wideIds ? IdWidth::Wide : IdWidth::Fitting);
  require(graph.isOk());
  std::map<std::string, void *> functions;
  for (const Step &step : plan->steps)
    for (const TotalSpec &total : step.launch.totals)
      functions[total.join] = reinterpret_cast<void *>(&idleJoin);
  // No function is both: what the code of a plan holds is not for its reader to check.
  for (const Step &step : plan->steps)
    if (!functions.emplace(step.launch.kernel, reinterpret_cast<void *>(&idleKernel)).second &&
        functions[step.launch.kernel] == reinterpret_cast<void *>(&idleJoin))
      return;
  auto lookup = [&](const std::string &symbol) { return functions.at(symbol); };
  Result<Executor> executor = Executor::create(plan, lookup, *graph, {.threads = 1, .memoryLimit = kLimit});
  if (!executor)
    return;
  require(executor->peakBytes() <= kLimit);
  for (const Port &input : plan->inputs)
    (void)executor->setInput(input.name, Tensor::fromDoubles({}, std::vector<double>{1}, DType::F32)).isOk();
  (void)executor->runAll().isOk();
  for (const Port &output : plan->outputs)
    (void)executor->view(output.name).isOk();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  (void)parsePlanFile(std::as_bytes(std::span(text)), "input", nullptr).isOk();
  Result<ParsedPlan> parsed = parsePlanText(text);
  if (!parsed)
    return 0;
  Result<ParsedPlan> again = parsePlanText(planText(parsed->plan, parsed->origin));
  require(again.isOk() && again->plan == parsed->plan && again->origin == parsed->origin);
  execute(std::make_shared<const Plan>(std::move(parsed->plan)));
  return 0;
}
