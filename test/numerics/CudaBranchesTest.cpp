/// How many launches of a training step have to run one after the other, by where their tables lie.

#include "driver/Cuda.h"
#include "runtime/device/DeviceExecutor.h"
#include "runtime/device/FakeDevice.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace hector::numerics {
namespace {

/// The longest chain of kernels in a recording of a training step.
size_t longestChain(const std::shared_ptr<const exec::Plan> &plan, const Graph &graph,
                    const exec::DeviceExecOptions &options) {
  FakeDevice device(132);
  auto executor = exec::DeviceExecutor::create(plan, device.program(), device, graph, options);
  EXPECT_TRUE(executor) << executor.status().message();
  if (!executor)
    return 0;
  const exec::GraphNumbers numbers = exec::graphNumbers(*plan, graph);
  for (int i = 0; i < 3; ++i) {  // what runs once per graph is not a part of the last run, what runs once per update is
    for (const exec::Port &input : plan->inputs) {
      const exec::TableSpec &table = plan->tables[input.table];
      std::vector<int64_t> shape = table.shape;
      if (table.domain != exec::Domain::One)
        shape.insert(shape.begin(), numbers.rows[table.domain]);
      const std::vector<double> zeros(numbers.rows[table.domain] * table.rowSize());
      const Status status = executor->setInput(input.name, Tensor::fromDoubles(shape, zeros, DType::F32));
      EXPECT_TRUE(status.isOk()) << status.message();
    }
    device.log.clear();
    const Status status = executor->run(exec::Phase::Graph, exec::Phase::Backward);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  // "record KERNEL GRID after 0 2"
  std::vector<size_t> chains;
  for (const std::string &line : device.log) {
    if (!line.starts_with("record "))
      continue;
    size_t chain = 0;
    if (const size_t after = line.find(" after "); after != std::string::npos) {
      std::istringstream numbers(line.substr(after + 7));
      for (size_t number = 0; numbers >> number;)
        chain = std::max(chain, chains.at(number));
    }
    chains.push_back(chain + 1);
  }
  return chains.empty() ? 0 : *std::max_element(chains.begin(), chains.end());
}

/// The longest chain of kernels that read what others write: a launch, what finishes units that are cut, and the join.
size_t longestChainOfTables(const exec::Plan &plan) {
  std::vector<size_t> chains(plan.tables.size());
  size_t longest = 0;
  for (const exec::Step &step : plan.steps) {
    if (step.phase == exec::Phase::Graph)
      continue;
    const exec::Launch &launch = step.launch;
    size_t chain = 1;
    for (int table : launch.inputs)
      chain = std::max(chain, chains[table] + 1);
    chain += launch.device->schedule == exec::Schedule::Chunks;
    for (int table : launch.outputs)
      chains[table] = chain;
    for (const exec::TotalSpec &total : launch.totals)
      chains[launch.outputs[total.output]] = chain + 1;
    longest = std::max(longest, chain + !launch.totals.empty());
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
  const size_t own = longestChain(planned->plan, graph, {.isRecorded = true});
  EXPECT_EQ(own, longestChainOfTables(plan)) << "of " << plan.steps.size();
  // Little memory, so that tables lie where others have lain.
  auto memory = exec::memoryFor(plan, graph, FakeDevice(132).info());
  ASSERT_TRUE(memory) << memory.status().message();
  const exec::DeviceExecOptions shared = {
      .memoryLimit = memory->peakBytes(), .isRecorded = true, .branches = exec::Branches::Always};
  EXPECT_LT(own, longestChain(planned->plan, graph, shared)) << "of " << plan.steps.size();
}

INSTANTIATE_TEST_SUITE_P(Models, CudaBranchesTest, testing::Values("rgcn", "rgat", "hgt"),
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
}  // namespace hector::numerics
