/// How many launches of a training step have to run one after the other, by where their tables lie.

#include "driver/Cuda.h"
#include "runtime/device/DeviceExecutor.h"
#include "runtime/device/Ordering.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

/// The longest chain of launches with the memory of an executor.
size_t longestChain(const exec::Plan &plan, const exec::MemoryPlan &memory) {
  Ordering ordering;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    std::vector<MemoryUse> uses;
    auto use = [&](const exec::Block &block, bool isWritten) {
      uses.push_back({static_cast<uintptr_t>(block.offset), static_cast<uint64_t>(block.bytes), isWritten});
    };
    for (int table : plan.steps[i].launch.inputs)
      use(memory.tables[table].block, false);
    for (int table : plan.steps[i].launch.outputs)
      use(memory.tables[table].block, true);
    for (const exec::Block &block : memory.launches[i].totals)
      use(block, true);
    for (const exec::Block &block : memory.launches[i].buffers)
      use(block, true);
    use(memory.launches[i].carry, true);
    (void)ordering.add(uses);
  }
  return ordering.longestChain();
}

/// The longest chain of launches that read what others write.
size_t longestChainOfTables(const exec::Plan &plan) {
  std::vector<size_t> chains(plan.tables.size());
  size_t longest = 0;
  for (const exec::Step &step : plan.steps) {
    size_t chain = 0;
    for (int table : step.launch.inputs)
      chain = std::max(chain, chains[table]);
    for (int table : step.launch.outputs)
      chains[table] = chain + 1;
    longest = std::max(longest, chain + 1);
  }
  return longest;
}

class CudaBranchesTest : public testing::TestWithParam<const char *> {};

TEST_P(CudaBranchesTest, OnlyReadersWaitForWritersWherePlacesAreNotShared) {
  const std::string name = GetParam();
  auto model = loadFile("models/" + name + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  Settings settings;
  settings.sizes = name == "hgt" ? std::vector<std::string>{"d=64"} : std::vector<std::string>{"d_in=64", "d_out=64"};
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();
  auto program =
      Program::import(*model, *binding, {.numbers = NumberType::F32, .gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();
  const Graph graph = randomGraph(1, 500, 3, 4000, 10).build();
  auto planned = planForDevice(*program, graph);
  ASSERT_TRUE(planned) << planned.status().message();
  const exec::Plan &plan = *planned->plan;
  const DeviceInfo h200 = {"H200", 90, 132, int64_t{141} << 30, 60 << 20, 227 << 10};
  const exec::DeviceExecOptions recorded = {.isRecorded = true};
  auto shared = exec::memoryFor(plan, graph, h200), own = exec::memoryFor(plan, graph, h200, recorded);
  ASSERT_TRUE(shared && own);
  EXPECT_EQ(longestChain(plan, *own), longestChainOfTables(plan)) << "of " << plan.steps.size();
  // On this graph the longest chain of HGT is that of its tables, wherever they lie.
  if (name != "hgt") {
    EXPECT_LT(longestChain(plan, *own), longestChain(plan, *shared)) << "of " << plan.steps.size();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaBranchesTest, testing::Values("rgcn", "rgat", "hgt"),
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
}  // namespace hector::numerics
