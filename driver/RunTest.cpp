#include "driver/Run.h"

#include "driver/TestLayer.h"

#include <gtest/gtest.h>

namespace hector {
namespace {

using Numbers = std::vector<double>;

/// The layer, compiled for its case.
struct Compiled {
  Case bound;
  Program program;
};

Compiled compile(const ProgramOptions &options, const std::string &passes = "default") {
  Model model = layer();
  language::Binding binding;
  auto bound = bindCase(layerCase(), model.signature, binding);
  EXPECT_TRUE(bound) << bound.status().message();
  auto program = Program::import(model, binding, options);
  EXPECT_TRUE(program) << program.status().message();
  EXPECT_TRUE(program->attachGraph(bound->graph).isOk());
  EXPECT_TRUE(program->runPasses(passes).isOk());
  return {std::move(*bound), std::move(*program)};
}

const ProgramOptions kForward = {.numbers = NumberType::F64, .gradients = {}};
const ProgramOptions kGradients = {.numbers = NumberType::F64, .gradients = std::vector<std::string>()};

TEST(Run, ResultsHaveNamesInTheOrderOfTheModel) {
  Compiled compiled = compile(kForward);
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].name, "out");
  EXPECT_EQ((*results)[0].tensor.shape, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ((*results)[0].tensor.toDoubles(), (Numbers{0.5, 6521.5, 0.5}));
  EXPECT_EQ((*results)[1].name, "sum");
}

TEST(Run, GradientsFollowAndAbsentOnesAreZero) {
  Compiled compiled = compile(kGradients);
  compiled.bound.tensors["grad.out"] = numbers({3, 1}, {1, 2, 4});  // nothing for `sum`
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  ASSERT_EQ(results->size(), 5u);
  EXPECT_EQ((*results)[2].name, "grad.x");
  EXPECT_EQ((*results)[2].tensor.toDoubles(), (Numbers{2, 20, 0, 0, 200, 2000}));
  EXPECT_EQ((*results)[4].name, "grad.b");
  EXPECT_EQ((*results)[4].tensor.shape, (std::vector<int64_t>{1}));
  EXPECT_EQ((*results)[4].tensor.toDoubles(), (Numbers{7}));
}

TEST(Run, GroupsGiveTheSame) {
  Compiled compiled = compile(kForward);
  ASSERT_TRUE(compiled.program.formGroups().isOk());
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors, {.cuts = 3});
  ASSERT_TRUE(results) << results.status().message();
  EXPECT_EQ((*results)[0].tensor.toDoubles(), (Numbers{0.5, 6521.5, 0.5}));
}

TEST(Run, ResultsAreInTheTypeThatTheProgramComputesWith) {
  for (auto [numbers, dtype] : {std::pair(NumberType::F64, DType::F64), std::pair(NumberType::F32, DType::F32),
                                std::pair(NumberType::BF16, DType::F32)}) {
    Compiled compiled = compile({.numbers = numbers, .gradients = {}});
    auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
    ASSERT_TRUE(results) << results.status().message();
    EXPECT_EQ(results->front().tensor.dtype, dtype);
  }
}

TEST(Run, SomeResultNeedsAGradient) {
  Compiled compiled = compile(kGradients);
  compiled.bound.tensors["grad.outt"] = numbers({3, 1}, {1, 2, 4});
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(),
            "there is no tensor `grad.out`, the gradient that --grad starts from; did you mean `grad.outt`?");
  compiled.bound.tensors.erase("grad.outt");
  results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(), "there is no tensor `grad.out`, the gradient that --grad starts from; add it, "
                                        "or start from ones with `--init SEED`");
  compiled.bound.tensors["grad.hidden_rows"] = numbers({}, {1});
  results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(),
            "there is no tensor `grad.out`, the gradient that --grad starts from; there are grad.hidden_rows");
}

TEST(Run, GradientsOfOnesAreThoseOfTheSum) {
  Compiled compiled = compile(kGradients);
  auto added = addUnitGradients(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_TRUE(added) << added.status().message();
  EXPECT_EQ(*added, (std::vector<std::string>{"grad.out", "grad.sum"}));
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_TRUE(results) << results.status().message();
  EXPECT_EQ((*results)[4].name, "grad.b");
  EXPECT_EQ((*results)[4].tensor.toDoubles(), (Numbers{3}));
}

TEST(Run, NoOnesBesideGradientsThatAreGiven) {
  Compiled compiled = compile(kGradients);
  compiled.bound.tensors["grad.sum"] = numbers({3, 1}, {1, 2, 4});
  auto added = addUnitGradients(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_TRUE(added) << added.status().message();
  EXPECT_TRUE(added->empty());
  EXPECT_FALSE(compiled.bound.tensors.contains("grad.out"));
}

TEST(Run, TensorsThatDoNotFitAreRefused) {
  Compiled compiled = compile(kGradients);
  compiled.bound.tensors["grad.out"] = numbers({3}, {1, 2, 4});
  auto results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(), "tensor `grad.out` has shape [3], but the result it belongs to has [3, 1]");
  compiled.bound.tensors["x"] = numbers({}, {1});
  results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(), "tensor `x` has shape [], but the input it belongs to has [3, 2]");
  compiled.bound.tensors.erase("x");
  results = run(compiled.program, compiled.bound.graph, compiled.bound.tensors);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.status().message(), "there is no tensor for input `x`");
}

}  // namespace
}  // namespace hector
