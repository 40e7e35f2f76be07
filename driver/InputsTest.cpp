#include "driver/Inputs.h"

#include "driver/TestLayer.h"

#include <gtest/gtest.h>

namespace hector {
namespace {

using Names = std::vector<std::string>;

/// The files of a graph and of tensors, and what is selected from them for the layer.
class InputsTest : public testing::Test {
protected:
  /// A file whose tensors have one number each, which tells them apart; the first is the file with the graph.
  void add(const std::string &path, const std::vector<std::pair<std::string, double>> &tensors) {
    TensorFile file;
    for (const auto &[name, value] : tensors)
      file.tensors[name] = numbers({1, 1}, {value});
    files.push_back({path, file});
  }

  /// The number that each of `x`, `W` and `b` gets; -1 where there is none.
  std::vector<double> select(const Names &bindings = {}) {
    auto selected = selectTensors(files, model.signature, bindings);
    EXPECT_TRUE(selected) << selected.status().message();
    std::vector<double> values;
    for (size_t i = 0; selected && i < selected->inputs.size(); ++i)
      values.push_back(selected->inputs[i] ? selected->inputs[i]->tensor.toDoubles()[0] : -1);
    return values;
  }

  std::string refusal(const Names &bindings = {}) {
    auto selected = selectTensors(files, model.signature, bindings);
    EXPECT_FALSE(selected);
    return selected ? "" : selected.status().message();
  }

  Model model = layer();
  std::vector<SourceFile> files;
};

using Values = std::vector<double>;

TEST_F(InputsTest, EveryFileGivesInputs) {
  add("graph", {{"x", 1}, {"label", 9}});
  add("first", {{"W", 2}});
  add("second", {{"param.b", 3}});
  EXPECT_EQ(select(), (Values{1, 2, 3}));
}

TEST_F(InputsTest, InputsMayBeAbsent) {
  add("graph", {{"W", 2}});
  EXPECT_EQ(select(), (Values{-1, 2, -1}));
}

TEST_F(InputsTest, AddedFilesReplaceWhatTheGraphHas) {
  add("graph", {{"x", 1}, {"W", 2}, {"b", 3}, {"grad.out", 4}});
  add("tensors", {{"param.x", 10}, {"grad.out", 40}});
  EXPECT_EQ(select(), (Values{10, 2, 3}));
  EXPECT_EQ(selectTensors(files, model.signature)->gradients.at("grad.out").toDoubles(), Values{40});
}

TEST_F(InputsTest, TwoAddedFilesMayNotHaveTheSameInput) {
  add("graph", {{"W", 1}});
  add("first", {{"W", 2}});
  add("second", {{"param.W", 3}});
  EXPECT_EQ(refusal(), "tensor `W` of first and `param.W` of second are both for input `W`; leave one of the files "
                       "out, or choose a tensor with --bind INPUT=TENSOR");
}

TEST_F(InputsTest, OneFileMayNotHaveAnInputUnderBothNames) {
  add("graph", {{"W", 1}, {"param.W", 2}});
  EXPECT_EQ(refusal(), "graph: the file has both `W` and `param.W`; only one can be bound to input `W`");
}

TEST_F(InputsTest, ABindingRenames) {
  add("graph", {{"x", 1}});
  add("tensors", {{"conv1.weight", 2}});
  EXPECT_EQ(select({"W=conv1.weight"}), (Values{1, 2, -1}));
}

TEST_F(InputsTest, ABindingWinsOverTensorsOfTheInputsName) {
  add("graph", {{"x", 1}});
  add("first", {{"W", 2}, {"V", 3}});
  add("second", {{"W", 4}, {"b", 5}});
  EXPECT_EQ(select({"W=V"}), (Values{1, 3, 5}));
}

TEST_F(InputsTest, OneTensorMayServeSeveralInputs) {
  add("graph", {{"V", 3}});
  EXPECT_EQ(select({"W=V", "b=V"}), (Values{-1, 3, 3}));
}

TEST_F(InputsTest, ATransposeSwapsTheLastTwoAxes) {
  TensorFile file;
  file.tensors["V"] = numbers({2, 1, 2}, {1, 2, 3, 4});
  files.push_back({"graph", file});
  const Names bindings = {"W=V.T"};
  auto selected = selectTensors(files, model.signature, bindings);
  ASSERT_TRUE(selected) << selected.status().message();
  EXPECT_EQ(selected->inputs[1]->tensor.shape, (std::vector<int64_t>{2, 2, 1}));
  EXPECT_EQ(selected->inputs[1]->label(model.signature.inputs[1]), "`V.T` for input `W`");
}

TEST_F(InputsTest, ATensorMayBeNamedLikeATranspose) {
  add("graph", {{"V", 1}, {"V.T", 2}});
  EXPECT_EQ(select({"W=V.T"}), (Values{-1, 2, -1}));
  EXPECT_FALSE(selectTensors(files, model.signature, Names{"W=V.T"})->inputs[1]->isTransposed);
}

TEST_F(InputsTest, AVectorHasNoTranspose) {
  TensorFile file;
  file.tensors["V"] = numbers({2}, {1, 2});
  files.push_back({"graph", file});
  EXPECT_EQ(refusal({"b=V.T"}), "graph: `V.T` swaps the last two axes of `V`, but its shape is [2]");
}

TEST_F(InputsTest, BindingsAreInputAndTensor) {
  add("graph", {{"x", 1}});
  for (const char *wrong : {"W", "=W", "W=", ""})
    EXPECT_EQ(refusal({wrong}), "--bind takes INPUT=TENSOR, but is given `" + std::string(wrong) + "`");
}

TEST_F(InputsTest, AnUnknownInputIsRefused) {
  add("graph", {{"x", 1}});
  EXPECT_EQ(refusal({"w=x"}), "model `layer` has no input `w` for --bind; did you mean `W`?");
  EXPECT_EQ(refusal({"weight=x"}), "model `layer` has no input `weight` for --bind; its inputs are x, W, b");
}

TEST_F(InputsTest, AnUnknownTensorIsRefused) {
  add("graph", {{"x", 1}});
  add("tensors", {{"conv1.weight", 2}});
  EXPECT_EQ(refusal({"W=conv1.wieght"}), "graph, tensors: there is no tensor `conv1.wieght`, which --bind gives to "
                                         "input `W`; did you mean `conv1.weight`?");
  EXPECT_EQ(refusal({"W=lin"}), "graph, tensors: there is no tensor `lin`, which --bind gives to input `W`; there are "
                                "conv1.weight, x");
}

TEST_F(InputsTest, AnInputIsBoundOnce) {
  add("graph", {{"x", 1}, {"y", 2}});
  EXPECT_EQ(refusal({"x=x", "x=y"}), "input `x` is bound twice, to `x` and to `y`; leave one of them out");
}

TEST_F(InputsTest, ATensorOfABindingIsInOneAddedFile) {
  add("graph", {{"V", 1}});
  add("first", {{"V", 2}});
  EXPECT_EQ(select({"W=V"}), (Values{-1, 2, -1}));
  add("second", {{"V", 3}});
  EXPECT_TRUE(refusal({"W=V"}).starts_with("tensor `V` of first and `V` of second are both for input `W`"));
}

TEST_F(InputsTest, AFileThatGivesNothingIsRefused) {
  add("graph", {{"x", 1}});
  add("tensors", {{"conv1.bias", 2}, {"conv1.weight", 3}});
  EXPECT_EQ(refusal(), "tensors: no tensor of this file is used; it has conv1.bias, conv1.weight, and the inputs of "
                       "`layer` are x, W, b; bind other names with --bind INPUT=TENSOR");
}

}  // namespace
}  // namespace hector
