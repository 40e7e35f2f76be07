#include "driver/DeviceBatch.h"

#include "driver/TestLayer.h"
#include "driver/TestPlan.h"
#include "runtime/device/EmulatedDevice.h"
#include "runtime/machine/Machine.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace hector {
namespace {

TEST(DeviceBatch, NamesTheProgramsThatCannotBeCompiled) {
  auto device = createEmulatedDevice();
  DeviceBatch batch;
  for (int i = 0; i < 3; ++i)
    batch.add(planOf(i == 1 ? "this is no C++;\n" : ""));
  const std::vector<DeviceBatch::Failure> failures = batch.compile(*device);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].numbers, std::vector<size_t>{1});
}

TEST(DeviceBatch, CompilesProgramsWithIdsOfBothWidthsTogether) {
  const Model model = layer();
  const TensorFile file = layerCase();
  auto binding = bind(model, {{}, {"d=2", "k=1"}});
  ASSERT_TRUE(binding) << binding.status().message();
  auto bound = bindCase(file, model.signature, *binding);
  ASSERT_TRUE(bound) << bound.status().message();
  auto wide = Graph::fromTensors(file, bound->graph.numRelations(), bound->graph.numNodes(), IdWidth::Wide);
  ASSERT_TRUE(wide) << wide.status().message();
  const std::vector<Graph> graphs = {bound->graph, *wide};

  auto machine = findMachine("h200");
  ASSERT_TRUE(machine) << machine.status().message();
  auto device = createEmulatedDevice();
  DeviceBatch batch;
  std::vector<NamedTensor> arguments;
  for (const Graph &graph : graphs) {
    auto program = Program::import(model, *binding, {.numbers = NumberType::F64, .gradients = std::nullopt});
    ASSERT_TRUE(program) << program.status().message();
    program->attachMachine(*machine);
    Status status = program->runPasses("default");
    ASSERT_TRUE(status.isOk()) << status.message();
    auto tensors = bindArguments(*program, graph, bound->tensors);
    ASSERT_TRUE(tensors) << tensors.status().message();
    arguments = *tensors;
    status = program->formGroups();
    ASSERT_TRUE(status.isOk()) << status.message();
    auto added = batch.add(*program, graph);
    ASSERT_TRUE(added) << added.status().message();
  }
  for (const DeviceBatch::Failure &failure : batch.compile(*device))
    ADD_FAILURE() << failure.status.message();
  for (size_t i = 0; i < graphs.size(); ++i) {
    EXPECT_EQ(batch.plan(i).wideIds, i == 1);
    auto executor = batch.prepare(i, graphs[i], arguments, *device);
    ASSERT_TRUE(executor) << executor.status().message();
    Status status = executor->runAll();
    ASSERT_TRUE(status.isOk()) << status.message();
    auto results = resultsOf(*executor, batch.plan(i));
    ASSERT_TRUE(results) << results.status().message();
    EXPECT_EQ(results->front().tensor.toDoubles()[1], 6521.5);
  }
}

}  // namespace
}  // namespace hector
