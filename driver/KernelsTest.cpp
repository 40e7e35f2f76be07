#include "driver/Kernels.h"

#include "driver/Arguments.h"
#include "driver/Cpu.h"
#include "driver/TestLayer.h"
#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"

#include <gtest/gtest.h>

namespace hector {
namespace {

/// The layer of TestLayer.h as a saved plan.
class KernelsTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    auto bound = bindCase(layerCase(), model.signature, binding);
    ASSERT_TRUE(bound) << bound.status().message();
    inputs.emplace(std::move(*bound));
    auto program = Program::import(model, binding, {});
    ASSERT_TRUE(program) << program.status().message();
    ASSERT_TRUE(program->runPasses("default").isOk());
    ASSERT_TRUE(program->formGroups().isOk());
    auto plan = makePlan(*program);
    ASSERT_TRUE(plan) << plan.status().message();
    exec::PlanOrigin origin = originOf(model, binding);
    origin.numbers = "f32";
    origin.passes = "default";
    auto compiled = compilePlan(std::make_shared<const exec::Plan>(std::move(*plan)), std::move(origin));
    ASSERT_TRUE(compiled) << compiled.status().message();
    saved = std::move(*compiled);
  }

  /// Loads and runs the plan on the layer's case: the first result, with what was said of the code.
  std::string resultsOf(const exec::SavedPlan &plan, const Graph &graph) {
    std::string said;
    auto loaded = loadSavedPlan(plan, exec::needsWideIds(graph), {}, [&](const std::string &why) { said += why; });
    if (!loaded)
      return loaded.status().message();
    auto arguments = bindTensors(argumentsOf(*loaded->plan, graph), inputs->tensors);
    EXPECT_TRUE(arguments) << arguments.status().message();
    auto results = runPlan(loaded->plan, loaded->kernels, graph, *arguments);
    if (!results)
      return results.status().message();
    EXPECT_EQ(results->front().tensor.toDoubles(), (std::vector<double>{0.5, 6521.5, 0.5}));
    return said;
  }
  std::string resultsOf(const exec::SavedPlan &plan) { return resultsOf(plan, inputs->graph); }

  Model model = layer();
  language::Binding binding;
  std::optional<Case> inputs;
  exec::SavedPlan saved;
};

constexpr const char *kNoCompiler =
    "; and it cannot be made again: HECTOR_CXX is `/nonexistent`, and there is no such program; expected a C++ "
    "compiler, such as g++\n"
    "   help: make the plan again, where there is a compiler and for a machine like this, with\n"
    "         hector compile layer.hec --entry layer --size d=2 --size k=1 -o FILE";

TEST_F(KernelsTest, CodeThatFitsNeedsNoCompiler) {
  Setting none("HECTOR_CXX", "/nonexistent"), nowhere("PATH", ""), cache("HECTOR_CACHE", path("cache").c_str());
  EXPECT_EQ(resultsOf(saved), "");
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
}

TEST_F(KernelsTest, CodeOfAnotherVersionIsMadeAgain) {
  saved.made.version = "0.0.1";
  const std::string why = "it was made by Hector 0.0.1, and this is 0.1.0";
  EXPECT_EQ(resultsOf(saved), why);
  Setting none("HECTOR_CXX", "/nonexistent");
  EXPECT_EQ(resultsOf(saved), "the code of the plan cannot be used: " + why + kNoCompiler);
}

TEST_F(KernelsTest, CodeForAnotherProcessorIsMadeAgain) {
  saved.made.processor.name = "Z80";
  saved.made.processor.model = "Zilog 8 80";
  EXPECT_TRUE(resultsOf(saved).starts_with("it is for Z80 (Zilog 8 80), and this processor is ")) << resultsOf(saved);
  saved.made.processor = thisProcessor();
  saved.made.processor.features.push_back("avx4096");
  EXPECT_EQ(resultsOf(saved), "it is for a processor with avx4096, which this one lacks");
}

TEST_F(KernelsTest, CodeOfAnotherBuildIsMadeAgain) {
  exec::SavedPlan other = saved;
  other.made.headers = "0123";
  EXPECT_EQ(resultsOf(other), "it was made by another build of Hector 0.1.0, with other headers");
  other = saved;
  other.made.flags.push_back("-fsanitize=thread");
  EXPECT_EQ(resultsOf(other), "it was made by another build of Hector 0.1.0, which has other flags for the compiler");
}

TEST_F(KernelsTest, CodeThatCannotBeLoadedIsMadeAgain) {
  const std::string text = "no shared object";
  saved.code = std::as_bytes(std::span(text));
  EXPECT_TRUE(resultsOf(saved).starts_with("compiled code cannot be loaded: ")) << resultsOf(saved);
}

TEST_F(KernelsTest, CodeForIdsOfAnotherWidthIsMadeAgain) {
  auto wide = Graph::create(std::vector<int64_t>{0, 2}, std::vector<int64_t>{1, 1}, std::vector<int64_t>{0, 1},
                            std::vector<int64_t>{0, 3}, 2, IdWidth::Wide);
  ASSERT_TRUE(wide) << wide.status().message();
  EXPECT_EQ(resultsOf(saved, *wide), "it is for ids of 32 bits, and those of the graph have 64");

  exec::Plan plan = *saved.plan;
  plan.source += "\nusing Id = int32_t;\n";
  saved.plan = std::make_shared<const exec::Plan>(plan);
  EXPECT_EQ(resultsOf(saved, *wide),
            "the code of the plan cannot be used: it is for ids of 32 bits, and those of the graph have 64, and its "
            "source has no line that says so; compile the model for this graph");
}

TEST_F(KernelsTest, FilesKeepAllOfIt) {
  ASSERT_TRUE(exec::writePlanFile(path("layer.plan"), saved).isOk());
  auto read = exec::readPlanFile(path("layer.plan"));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(*read->plan == *saved.plan);
  EXPECT_TRUE(read->origin == saved.origin);
  EXPECT_EQ(read->origin.modelText, kLayer);
  EXPECT_EQ(whyStale(read->made), "");
  EXPECT_EQ(resultsOf(*read), "");
}

}  // namespace
}  // namespace hector
