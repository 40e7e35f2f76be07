/// Feeds arbitrary texts to the reader of plans, then prepares and runs what it lets through on a device that computes
/// nothing.
#include "runtime/device/DeviceExecutor.h"
#include "runtime/device/FakeDevice.h"
#include "runtime/exec/PlanText.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

using namespace hector;
using namespace hector::exec;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static void execute(std::shared_ptr<const Plan> plan) {
  constexpr int64_t kLimit = int64_t{1} << 24;
  const std::vector<int64_t> src = {0, 1, 1, 3, 3}, dst = {1, 0, 2, 3, 3}, etype = {0, 2, 0, 2, 2},
                             ntypePtr = {0, 2, 5};
  Result<Graph> graph = Graph::create(src, dst, etype, ntypePtr, 3, plan->wideIds ? IdWidth::Wide : IdWidth::Fitting);
  require(graph.isOk());
  FakeDevice device(4);
  Result<DeviceExecutor> executor =
      DeviceExecutor::create(plan, device.program(), device, *graph, {.memoryLimit = kLimit, .poison = true});
  if (!executor)
    return;
  require(executor->peakBytes() <= kLimit);
  for (const Port &input : plan->inputs)
    (void)executor->setInput(input.name, Tensor::fromDoubles({}, std::vector<double>{1}, DType::F32)).isOk();
  (void)executor->runAll().isOk();
  for (const Port &output : plan->outputs)
    (void)executor->output(output.name).isOk();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<ParsedPlan> parsed = parsePlanText({reinterpret_cast<const char *>(data), size});
  if (parsed)
    execute(std::make_shared<const Plan>(std::move(parsed->plan)));
  return 0;
}
