/// Plans that went through a file: the stored numbers of golden cases, and one plan on many graphs.

#include "driver/Arguments.h"
#include "driver/Cpu.h"
#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "test/numerics/Harness.h"

#include <gtest/gtest.h>

namespace hector::numerics {
namespace {

/// The plan of a program that had its passes, written to a file and read again.
Result<exec::SavedPlan> throughFile(Program program, exec::PlanOrigin origin, const std::string &path) {
  if (Status status = program.formGroups(); !status.isOk())
    return status;
  auto plan = makePlan(program);
  if (!plan)
    return plan.status();
  const exec::Plan before = *plan;
  auto saved = compilePlan(std::make_shared<const exec::Plan>(std::move(*plan)), std::move(origin));
  if (!saved)
    return saved;
  if (Status status = exec::writePlanFile(path, *saved); !status.isOk())
    return status;
  auto read = exec::readPlanFile(path);
  EXPECT_TRUE(read && *read->plan == before);
  return read;
}

Result<std::vector<NamedTensor>> runSaved(const exec::SavedPlan &saved, const Graph &graph, const Tensors &tensors) {
  // None is needed: the code is in the file.
  Setting none("HECTOR_CXX", "/nonexistent");
  auto loaded = loadSavedPlan(saved, exec::needsWideIds(graph));
  if (!loaded)
    return loaded.status();
  auto arguments = bindTensors(argumentsOf(*loaded->plan, graph), tensors);
  if (!arguments)
    return arguments;
  CpuOptions options;
  options.exec.poison = true;
  return runPlan(loaded->plan, loaded->kernels, graph, *arguments, options);
}

class SavedGoldenTest : public FolderTest, public testing::WithParamInterface<std::string> {};

TEST_P(SavedGoldenTest, GivesTheStoredNumbers) {
  if (!hasGolden(GetParam()))
    GTEST_SKIP() << "there is no " << goldenPath(GetParam());
  auto golden = loadGolden(GetParam(), "test/golden/" + GetParam() + ".hec");
  ASSERT_TRUE(golden) << golden.status().message();
  auto program = Program::import(golden->model, golden->binding, {.gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();
  ASSERT_TRUE(program->attachGraph(golden->bound.graph).isOk());
  ASSERT_TRUE(program->runPasses("default").isOk());
  auto saved = throughFile(std::move(*program), originOf(golden->model, golden->binding), path("golden.plan"));
  ASSERT_TRUE(saved) << saved.status().message();
  auto results = runSaved(*saved, golden->bound.graph, golden->bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  auto [actual, expected] = golden->compared(*results);
  EXPECT_GT(actual.size(), 1u);  // gradients as well
  expectClose(actual, expected, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Golden, SavedGoldenTest, testing::ValuesIn(goldenNames()),
                         [](const auto &info) { return info.param; });

class ManyGraphsTest : public FolderTest, public testing::WithParamInterface<std::string> {};

TEST_P(ManyGraphsTest, OnePlanServesAll) {
  auto model = loadFile("models/" + GetParam() + ".hec");
  ASSERT_TRUE(model) << model.status().message();
  Settings settings;
  settings.grad = true;
  for (const language::SizeDecl &size : model->signature.sizes)
    settings.sizes.push_back(size.name + "=6");
  auto binding = bindAll(*model, settings);
  ASSERT_TRUE(binding) << binding.status().message();

  const PlainGraph first = randomGraph(1, 60, 3, 400, 5);
  auto program =
      Program::import(*model, *binding, {.numbers = NumberType::F64, .gradients = std::vector<std::string>()});
  ASSERT_TRUE(program) << program.status().message();
  Status status = program->attachGraph(first.build());
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_TRUE(program->runPasses("default").isOk());
  auto saved = throughFile(std::move(*program), originOf(*model, *binding), path("many.plan"));
  ASSERT_TRUE(saved) << saved.status().message();

  std::vector<PlainGraph> graphs = unkindGraphs();
  graphs.push_back(randomGraph(2, 500, 4, 5000, 30));
  graphs.push_back(randomGraph(3, 2000, 1, 600, 3));
  int served = 0;
  for (const PlainGraph &graph : graphs) {
    SCOPED_TRACE(graph.name);
    Tables inputs = randomInputs(*model, *binding, graph, 7);
    inputs["grad.out"] = inputs.at("x");
    auto expected = runModel(*model, settings, graph, inputs);
    ASSERT_TRUE(expected) << expected.status().message();
    Tensors tensors;
    for (const auto &[name, table] : inputs) {
      std::vector<int64_t> shape = table.shape;
      const language::InputDecl *input = model->signature.findInput(name);
      if (!input || input->home != language::Home::Shared)
        shape.insert(shape.begin(), table.rows);
      tensors[name] = Tensor::fromDoubles(shape, table.values, DType::F64);
    }
    auto results = runSaved(*saved, graph.build(), tensors);
    ASSERT_TRUE(results) << results.status().message();
    Tables actual;
    for (const NamedTensor &result : *results) {
      const Table &like = expected->at(result.name);
      actual[result.name] = like;
      actual[result.name].values = result.tensor.toDoubles();
    }
    expectClose(actual, *expected, 1e-9, 1e-9);
    ++served;
  }
  EXPECT_GE(served, 5);
}

INSTANTIATE_TEST_SUITE_P(Models, ManyGraphsTest, testing::Values("rgcn", "rgat", "hgt"),
                         [](const auto &info) { return info.param; });

}  // namespace
}  // namespace hector::numerics
