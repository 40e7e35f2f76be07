#include "include/hector.h"

#include "capi/Handles.h"
#include "runtime/base/Setting.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

const std::string kRgcn = "def rgcn(g, x: Node[d_in], W: EdgeType[d_in, d_out]):\n"
                          "    for n in g.nodes():\n"
                          "        n[\"out\"] = sum(e.src.x * W[e.etype] for e in n.incoming_edges())\n"
                          "    return n[\"out\"]\n";

/// Numbers with a shape, as the interface takes them.
template <class T> struct Array {
  std::vector<T> numbers;
  std::vector<int64_t> shape;

  hector_tensor tensor() {
    const bool isFloat = std::is_floating_point_v<T>;
    hector_tensor view = {};
    view.data = numbers.data();
    view.device_type = 1;
    view.ndim = static_cast<int32_t>(shape.size());
    view.dtype_code = isFloat ? 2 : 0;
    view.dtype_bits = sizeof(T) * 8;
    view.dtype_lanes = 1;
    view.shape = shape.data();
    return view;
  }
};

std::string message() {
  return hector_error_message();
}

/// Three nodes, edges 0 → 2 of type 0 and 1 → 2 of type 1; rows of two numbers become rows of one.
class HectorTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(hector_model_parse(kRgcn.c_str(), "rgcn.hec", nullptr, &model), HECTOR_OK) << message();
    hector_tensor src = sources.tensor(), dst = destinations.tensor(), etype = types.tensor();
    ASSERT_EQ(hector_graph_create(&src, &dst, &etype, nullptr, -1, -1, &graph), HECTOR_OK) << message();
  }
  void TearDown() override {
    hector_layer_free(layer);
    hector_graph_free(graph);
    hector_model_free(model);
  }

  hector_status compile(bool withGradients) {
    hector_options options = {};
    options.struct_size = sizeof(options);
    options.with_gradients = withGradients;
    const hector_tensor inputs[] = {x.tensor(), weights.tensor()};
    return hector_layer_compile(model, graph, &options, inputs, 2, &layer);
  }
  hector_status forward(hector_run *run, Array<float> &to) {
    const hector_tensor inputs[] = {x.tensor(), weights.tensor()};
    const hector_tensor output = to.tensor();
    return hector_run_forward(run, inputs, 2, &output, 1, nullptr);
  }

  hector_model *model = nullptr;
  hector_graph *graph = nullptr;
  hector_layer *layer = nullptr;
  Array<int64_t> sources = {{0, 1}, {2}}, destinations = {{2, 2}, {2}}, types = {{0, 1}, {2}};
  Array<float> x = {{1, 2, 3, 4, 5, 6}, {3, 2}};
  Array<float> weights = {{1, 10, 100, 1000}, {2, 2, 1}};
  Array<float> out = {{-1, -1, -1}, {3, 1}};
};

TEST_F(HectorTest, ModelsAreDescribed) {
  const auto json = nlohmann::json::parse(hector_model_describe(model));
  EXPECT_EQ(json["name"], "rgcn");
  EXPECT_EQ(json["inputs"][1]["name"], "W");
  EXPECT_EQ(json["inputs"][1]["home"], "EdgeType");
  EXPECT_EQ(json["inputs"][1]["shape"], (std::vector<std::string>{"d_in", "d_out"}));
  EXPECT_EQ(json["sizes"], (std::vector<std::string>{"d_in", "d_out"}));
}

TEST_F(HectorTest, WrongModelsAreShownWithTheirPlace) {
  hector_model *other = nullptr;
  EXPECT_EQ(hector_model_parse("def f(g, x: Node[d]):\n    retrun x\n", "f.hec", nullptr, &other), HECTOR_MODEL);
  EXPECT_EQ(other, nullptr);
  EXPECT_TRUE(message().starts_with("f.hec:2:")) << message();
}

TEST_F(HectorTest, GraphsAreDescribed) {
  EXPECT_EQ(nlohmann::json::parse(hector_graph_describe(graph)),
            (nlohmann::json{{"nodes", 3}, {"edges", 2}, {"node_types", 1}, {"edge_types", 2}}));
}

TEST_F(HectorTest, IdsOutsideOfAGraphAreRefused) {
  Array<int64_t> wrong = {{0, 7}, {2}};
  hector_tensor src = sources.tensor(), dst = wrong.tensor(), etype = types.tensor();
  hector_graph *other = nullptr;
  EXPECT_EQ(hector_graph_create(&src, &dst, &etype, nullptr, -1, 3, &other), HECTOR_INVALID);
  EXPECT_NE(message().find("7"), std::string::npos) << message();
}

TEST_F(HectorTest, NegativeIdsAreRefused) {
  Array<int64_t> wrong = {{0, -1}, {2}};
  hector_tensor src = wrong.tensor(), dst = destinations.tensor();
  hector_graph *other = nullptr;
  EXPECT_EQ(hector_graph_create(&src, &dst, nullptr, nullptr, -1, -1, &other), HECTOR_INVALID);
  EXPECT_NE(message().find("-1"), std::string::npos) << message();
}

TEST_F(HectorTest, IdsHave32BitsToo) {
  Array<int32_t> src32 = {{0, 1}, {2}}, dst32 = {{2, 2}, {2}};
  hector_tensor src = src32.tensor(), dst = dst32.tensor();
  hector_graph *other = nullptr;
  ASSERT_EQ(hector_graph_create(&src, &dst, nullptr, nullptr, -1, -1, &other), HECTOR_OK) << message();
  EXPECT_EQ(nlohmann::json::parse(hector_graph_describe(other))["nodes"], 3);
  hector_graph_free(other);
}

TEST_F(HectorTest, ForwardPassesWriteToTheCallersMemory) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  EXPECT_EQ(out.numbers, (std::vector<float>{0, 0, 1 * 1 + 2 * 10 + 3 * 100 + 4 * 1000}));
  Array<float> second = {{0, 0, 0}, {3, 1}};
  ASSERT_EQ(forward(run, second), HECTOR_OK) << message();
  EXPECT_EQ(second.numbers, out.numbers);
  hector_run_free(run);
}

TEST_F(HectorTest, BackwardPassesGiveGradients) {
  ASSERT_EQ(compile(true), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  Array<float> start = {{7, 7, 2}, {3, 1}};
  Array<float> gradX = {std::vector<float>(6), {3, 2}}, gradW = {std::vector<float>(4), {2, 2, 1}};
  const hector_tensor given = start.tensor(), gradients[] = {gradX.tensor(), gradW.tensor()};
  ASSERT_EQ(hector_run_backward(run, &given, 1, gradients, 2), HECTOR_OK) << message();
  EXPECT_EQ(gradX.numbers, (std::vector<float>{2, 20, 200, 2000, 0, 0}));
  EXPECT_EQ(gradW.numbers, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(hector_run_backward(run, &given, 1, gradients, 2), HECTOR_INVALID);
  EXPECT_EQ(message(), "a backward pass needs a forward pass of its own; run one first");
  hector_run_free(run);
}

TEST_F(HectorTest, AGradientWithoutDataIsZero) {
  ASSERT_EQ(compile(true), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  Array<float> start = {{}, {3, 1}}, gradX = {{9, 9, 9, 9, 9, 9}, {3, 2}}, gradW = {{9, 9, 9, 9}, {2, 2, 1}};
  hector_tensor given = start.tensor();
  given.data = nullptr;
  const hector_tensor gradients[] = {gradX.tensor(), gradW.tensor()};
  ASSERT_EQ(hector_run_backward(run, &given, 1, gradients, 2), HECTOR_OK) << message();
  EXPECT_EQ(gradX.numbers, std::vector<float>(6));
  EXPECT_EQ(gradW.numbers, std::vector<float>(4));
  hector_run_free(run);
}

TEST_F(HectorTest, TwoForwardPassesBeforeOneBackwardPassNeedTwoRuns) {
  ASSERT_EQ(compile(true), HECTOR_OK) << message();
  hector_run *first = nullptr, *second = nullptr;
  ASSERT_EQ(hector_run_create(layer, &first), HECTOR_OK) << message();
  ASSERT_EQ(hector_run_create(layer, &second), HECTOR_OK) << message();
  ASSERT_EQ(forward(first, out), HECTOR_OK) << message();
  Array<float> otherX = {{10, 10, 10, 10, 10, 10}, {3, 2}}, otherOut = {{0, 0, 0}, {3, 1}};
  const hector_tensor inputs[] = {otherX.tensor(), weights.tensor()}, output = otherOut.tensor();
  ASSERT_EQ(hector_run_forward(second, inputs, 2, &output, 1, nullptr), HECTOR_OK) << message();
  Array<float> start = {{0, 0, 1}, {3, 1}}, gradX = {std::vector<float>(6), {3, 2}};
  Array<float> gradW = {std::vector<float>(4), {2, 2, 1}};
  const hector_tensor given = start.tensor(), gradients[] = {gradX.tensor(), gradW.tensor()};
  ASSERT_EQ(hector_run_backward(first, &given, 1, gradients, 2), HECTOR_OK) << message();
  EXPECT_EQ(gradW.numbers, (std::vector<float>{1, 2, 3, 4}));
  ASSERT_EQ(hector_run_backward(second, &given, 1, gradients, 2), HECTOR_OK) << message();
  EXPECT_EQ(gradW.numbers, (std::vector<float>{10, 10, 10, 10}));
  hector_run_free(first);
  hector_run_free(second);
}

TEST_F(HectorTest, InputsThatHaveNotChangedNeedNotBeGivenAgain) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  Array<float> other = {{0, 0, 0, 1, 0, 0}, {3, 2}};
  hector_tensor inputs[] = {other.tensor(), weights.tensor()}, output = out.tensor();
  inputs[1].shape = nullptr;
  ASSERT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_OK) << message();
  EXPECT_EQ(out.numbers, (std::vector<float>{0, 0, 1000}));
  hector_run_free(run);
}

TEST_F(HectorTest, ARefusedCallLeavesInputsAsTheyWere) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  // `x` would fit, but the weights do not: the next pass without new inputs still reads the old `x`.
  Array<float> otherX = {{9, 9, 9, 9, 9, 9}, {3, 2}}, short_ = {{1, 2}, {1, 2, 1}}, again = {{-1, -1, -1}, {3, 1}};
  hector_tensor inputs[] = {otherX.tensor(), short_.tensor()}, output = again.tensor();
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  EXPECT_EQ(again.numbers, (std::vector<float>{-1, -1, -1}));
  inputs[0].shape = inputs[1].shape = nullptr;
  ASSERT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_OK) << message();
  EXPECT_EQ(again.numbers, out.numbers);
  hector_run_free(run);
}

TEST_F(HectorTest, GradientsMustNotOverwriteWhatTheirPassReads) {
  ASSERT_EQ(compile(true), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  Array<float> start = {{7, 7, 2}, {3, 1}}, gradW = {std::vector<float>(4), {2, 2, 1}};
  const hector_tensor given = start.tensor(), gradients[] = {x.tensor(), gradW.tensor()};
  EXPECT_EQ(hector_run_backward(run, &given, 1, gradients, 2), HECTOR_INVALID);
  EXPECT_EQ(message(),
            "the tensor for result `x` shares memory with a tensor that the same pass reads or writes; give it "
            "memory of its own");
  hector_run_free(run);
}

TEST_F(HectorTest, ResultsMustNotOverwriteInputsOfAnEarlierPass) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(forward(run, out), HECTOR_OK) << message();
  hector_tensor inputs[] = {x.tensor(), weights.tensor()}, output = out.tensor();
  inputs[0].shape = nullptr;  // `x` as it was
  output.data = x.numbers.data();
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  hector_run_free(run);
}

TEST_F(HectorTest, ShapesWithoutAnArrayAreRefused) {
  const int64_t huge = int64_t{1} << 60;
  hector_tensor src = sources.tensor(), dst = destinations.tensor();
  src.shape = dst.shape = &huge;
  hector_graph *none = nullptr;
  EXPECT_EQ(hector_graph_create(&src, &dst, nullptr, nullptr, -1, -1, &none), HECTOR_INVALID);
  EXPECT_EQ(message(), "`graph.src` has shape [1152921504606846976], which no array has");
}

TEST_F(HectorTest, LayersAreCompiledByThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      hector_tensor src = sources.tensor(), dst = destinations.tensor(), etype = types.tensor();
      hector_graph *own = nullptr;
      ASSERT_EQ(hector_graph_create(&src, &dst, &etype, nullptr, 2 + i, -1, &own), HECTOR_OK) << message();
      Array<float> mine = {std::vector<float>(static_cast<size_t>(2 * (2 + i)), 1), {2 + i, 2, 1}}, result = out;
      const hector_tensor inputs[] = {x.tensor(), mine.tensor()}, output = result.tensor();
      hector_layer *made = nullptr;
      ASSERT_EQ(hector_layer_compile(model, own, nullptr, inputs, 2, &made), HECTOR_OK) << message();
      hector_run *run = nullptr;
      ASSERT_EQ(hector_run_create(made, &run), HECTOR_OK) << message();
      ASSERT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_OK) << message();
      EXPECT_EQ(result.numbers[2], 1 + 2 + 3 + 4);
      hector_run_free(run);
      hector_layer_free(made);
      hector_graph_free(own);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Layers of one model that are compiled one after the other.
class HectorSharingTest : public HectorTest {
protected:
  void TearDown() override {
    layers.clear();
    HectorTest::TearDown();
  }
  /// What a layer is compiled to for `count` edges to node 2, from nodes 0 and 1 by turns. Null if that fails.
  std::shared_ptr<const hector::capi::Compiled> compileFor(size_t count, const hector_options &options) {
    Array<int64_t> from = {{}, {static_cast<int64_t>(count)}}, to = from, kinds = from;
    for (size_t i = 0; i < count; ++i) {
      from.numbers.push_back(static_cast<int64_t>(i % 2));
      to.numbers.push_back(2);
      kinds.numbers.push_back(1);
    }
    hector_tensor src = from.tensor(), dst = to.tensor(), etype = kinds.tensor();
    hector_graph *own = nullptr;
    EXPECT_EQ(hector_graph_create(&src, &dst, &etype, nullptr, 2, 3, &own), HECTOR_OK) << message();
    hector_tensor inputs[] = {x.tensor(), weights.tensor()};
    for (hector_tensor &input : inputs)
      input.device_type = options.device_type == 2 ? 2 : 1;
    hector_layer *made = nullptr;
    (void)hector_layer_compile(model, own, &options, inputs, 2, &made);
    hector_graph_free(own);
    if (!made)
      return nullptr;
    layers.emplace_back(made, hector_layer_free);
    return made->shared->compiled;
  }
  std::shared_ptr<const hector::capi::Compiled> compiledFor(size_t count, const hector_options &options = plain()) {
    auto compiled = compileFor(count, options);
    EXPECT_TRUE(compiled) << message();
    return compiled;
  }
  /// What the last layer gives for node 2.
  float result() {
    hector_run *run = nullptr;
    EXPECT_EQ(hector_run_create(layers.back().get(), &run), HECTOR_OK) << message();
    EXPECT_EQ(forward(run, out), HECTOR_OK) << message();
    hector_run_free(run);
    return out.numbers[2];
  }
  static hector_options plain() {
    hector_options options = {};
    options.struct_size = sizeof(options);
    return options;
  }

  std::vector<std::shared_ptr<hector_layer>> layers;
};

TEST_F(HectorSharingTest, GraphsThatAreAlikeShareCode) {
  const auto first = compiledFor(30);
  EXPECT_EQ(result(), 15 * (100 * 1 + 1000 * 2) + 15 * (100 * 3 + 1000 * 4));
  EXPECT_EQ(compiledFor(33), first);
  EXPECT_EQ(result(), 17 * (100 * 1 + 1000 * 2) + 16 * (100 * 3 + 1000 * 4));
  EXPECT_NE(compiledFor(64), first);
}

TEST_F(HectorSharingTest, WhichGraphCameFirstDoesNotMatter) {
  compiledFor(27);
  const std::string source = compiledFor(33)->plan->source;
  hector_model_free(model);
  ASSERT_EQ(hector_model_parse(kRgcn.c_str(), "rgcn.hec", nullptr, &model), HECTOR_OK) << message();
  EXPECT_EQ(compiledFor(33)->plan->source, source);
}

TEST_F(HectorSharingTest, ModelsForgetTheirCode) {
  const auto first = compiledFor(30);
  hector_model_forget(model);
  EXPECT_EQ(result(), 15 * (100 * 1 + 1000 * 2) + 15 * (100 * 3 + 1000 * 4));
  EXPECT_NE(compiledFor(30), first);
  hector_model_forget(nullptr);
}

TEST_F(HectorSharingTest, LayersOfOtherOptionsHaveCodeOfTheirOwn) {
  std::vector<hector_options> all(4, plain());
  all[1].with_gradients = 1;
  all[2].passes = "none";
  all[3].dtype = "f64";
  std::set<const hector::capi::Compiled *> found;
  for (const hector_options &options : all)
    found.insert(compiledFor(30, options).get());
  EXPECT_EQ(found.size(), all.size());
}

TEST_F(HectorSharingTest, GraphsThatAreAlikeShareCodeOnAGpu) {
  const hector::Setting emulate("HECTOR_EMULATE_CUDA", "1");
  hector_options onDevice = plain();
  onDevice.device_type = 2;
  const auto first = compiledFor(30, onDevice);
  EXPECT_EQ(compiledFor(33, onDevice), first);
  EXPECT_NE(compiledFor(33), first);
}

TEST_F(HectorSharingTest, ALayerThatDoesNotFitIsRefusedWhereOneLikeItFits) {
  hector_options options = plain();
  options.memory_limit = 1;
  EXPECT_TRUE(compiledFor(30));
  EXPECT_FALSE(compileFor(30, options));
  EXPECT_NE(message().find("the limit is 1 byte"), std::string::npos) << message();
}

TEST_F(HectorSharingTest, WhatALayerTakesIsEnoughForIt) {
  const hector::Setting emulate("HECTOR_EMULATE_CUDA", "1");
  for (int device : {1, 2}) {
    hector_options options = plain();
    options.with_gradients = 1;
    options.device_type = device;
    options.threads = 1;
    const auto shared = compiledFor(30, options);
    auto peakOfLast = [&] {
      return nlohmann::json::parse(hector_layer_describe(layers.back().get()))["peak_bytes"].get<int64_t>();
    };
    const int64_t peak = peakOfLast();
    options.memory_limit = peak;
    compiledFor(30, options);
    EXPECT_LE(peakOfLast(), peak);
    // A refusal counts what the caller owns as little as a layer does.
    options.memory_limit = 1;
    EXPECT_FALSE(compileFor(30, options));
    if (device == 1) {
      const size_t end = message().find(" bytes");
      ASSERT_NE(end, std::string::npos) << message();
      EXPECT_LE(std::stoll(message().substr(message().find_last_not_of("0123456789", end - 1) + 1)), peak) << message();
    }
  }
}

TEST_F(HectorTest, HandlesAreFreedInAnyOrder) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  hector_layer_free(layer);
  hector_graph_free(graph);
  hector_model_free(model);
  layer = nullptr;
  graph = nullptr;
  model = nullptr;
  EXPECT_EQ(forward(run, out), HECTOR_OK) << message();
  hector_run_free(run);
}

TEST_F(HectorTest, BackwardPassesNeedALayerWithGradients) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  EXPECT_EQ(hector_run_backward(run, nullptr, 0, nullptr, 0), HECTOR_INVALID);
  EXPECT_EQ(message(), "`rgcn` was compiled without gradients; set `with_gradients`");
  hector_run_free(run);
}

TEST_F(HectorTest, TensorsWithGapsAreRefused) {
  hector_tensor inputs[] = {x.tensor(), weights.tensor()};
  const int64_t strides[] = {1, 3};
  inputs[0].strides = strides;
  EXPECT_EQ(hector_layer_compile(model, graph, nullptr, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`x` has gaps between its numbers; make a contiguous copy");
}

TEST_F(HectorTest, TensorsOfOtherDevicesAreRefused) {
  hector_tensor inputs[] = {x.tensor(), weights.tensor()};
  inputs[1].device_type = 2;
  EXPECT_EQ(hector_layer_compile(model, graph, nullptr, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`W` is on GPU 0, but this layer runs on the CPU; copy it there");
}

// --- on a GPU, an emulated one
// ----------------------------------------------------------------------------------------

/// The same layer. The memory of the emulated device is the host's, so arrays of a test are on it.
class HectorDeviceTest : public HectorTest {
protected:
  void SetUp() override {
    emulate.emplace("HECTOR_EMULATE_CUDA", "1");
    HectorTest::SetUp();
  }
  void TearDown() override {
    hector_run_free(run);
    HectorTest::TearDown();
  }

  template <class T> static hector_tensor onDevice(Array<T> &array, int32_t number = 0) {
    hector_tensor tensor = array.tensor();
    tensor.device_type = 2;
    tensor.device_id = number;
    return tensor;
  }
  void make(bool withGradients = true, const char *precision = nullptr) {
    hector_options options = {};
    options.struct_size = sizeof(options);
    options.with_gradients = withGradients;
    options.device_type = 2;
    options.precision = precision;
    const hector_tensor inputs[] = {onDevice(x), onDevice(weights)};
    ASSERT_EQ(hector_layer_compile(model, graph, &options, inputs, 2, &layer), HECTOR_OK) << message();
    ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  }
  hector_status forward() {
    const hector_tensor inputs[] = {onDevice(x), onDevice(weights)}, output = onDevice(out);
    return hector_run_forward(run, inputs, 2, &output, 1, nullptr);
  }
  hector_status backward(bool hasGradient = true) {
    const hector_tensor gradients[] = {onDevice(gx), onDevice(gw)};
    hector_tensor start = onDevice(gout);
    if (!hasGradient)
      start.data = nullptr;
    return hector_run_backward(run, &start, 1, gradients, 2);
  }
  void expectResults() {
    EXPECT_EQ(out.numbers, (std::vector<float>{0, 0, 4321}));
    EXPECT_EQ(gx.numbers, (std::vector<float>{2, 20, 200, 2000, 0, 0}));
    EXPECT_EQ(gw.numbers, (std::vector<float>{2, 4, 6, 8}));
  }

  std::optional<hector::Setting> emulate;
  hector_run *run = nullptr;
  Array<float> gout = {{1, 1, 2}, {3, 1}}, gx = {std::vector<float>(6), {3, 2}},
               gw = {std::vector<float>(4), {2, 2, 1}};
};

TEST_F(HectorDeviceTest, PassesReadAndWriteTheMemoryOfTheDevice) {
  make();
  ASSERT_EQ(forward(), HECTOR_OK) << message();
  ASSERT_EQ(backward(), HECTOR_OK) << message();
  expectResults();
  ASSERT_EQ(forward(), HECTOR_OK) << message();
  ASSERT_EQ(backward(false), HECTOR_OK) << message();
  EXPECT_EQ(gx.numbers, std::vector<float>(6));
}

TEST_F(HectorDeviceTest, PassesWorkInMemoryThatIsLent) {
  make();
  const auto described = nlohmann::json::parse(hector_layer_describe(layer));
  const int64_t bytes = described["work_bytes"];
  ASSERT_GT(bytes, 0);
  hector_placement placement = {};
  placement.struct_size = sizeof(placement);
  placement.stream = &placement;
  for (int step = 0; step < 3; ++step) {
    // Other memory each time, which holds what others have left there.
    std::vector<unsigned char> memory(static_cast<size_t>(bytes) + 256, 0xff);
    const auto start = reinterpret_cast<uintptr_t>(memory.data());
    placement.memory = reinterpret_cast<void *>((start + 255) / 256 * 256);
    ASSERT_EQ(hector_run_place(run, &placement), HECTOR_OK) << message();
    ASSERT_EQ(forward(), HECTOR_OK) << message();
    ASSERT_EQ(backward(), HECTOR_OK) << message();
    expectResults();
    gx.numbers.assign(6, 0);
  }
}

TEST_F(HectorDeviceTest, SeveralRunsWaitForTheirBackwardPass) {
  make();
  ASSERT_EQ(forward(), HECTOR_OK) << message();
  hector_run *other = nullptr;
  ASSERT_EQ(hector_run_create(layer, &other), HECTOR_OK) << message();
  std::swap(run, other);
  Array<float> before = x;
  x.numbers.assign(6, 1);
  ASSERT_EQ(forward(), HECTOR_OK) << message();
  x = before;
  std::swap(run, other);
  EXPECT_EQ(backward(), HECTOR_OK) << message();
  EXPECT_EQ(backward(), HECTOR_INVALID);
  hector_run_free(other);
}

TEST_F(HectorDeviceTest, TensorsOfOtherDevicesAreRefused) {
  make();
  const hector_tensor output = onDevice(out);
  hector_tensor inputs[] = {onDevice(x), weights.tensor()};
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  EXPECT_EQ(message(), "`W` is on the CPU, but this layer runs on GPU 0; copy it there");
  inputs[1] = onDevice(weights, 1);
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  EXPECT_EQ(message(), "`W` is on GPU 1, but this layer runs on GPU 0; copy it there");
  hector_tensor src = onDevice(sources), dst = onDevice(destinations);
  hector_graph *other = nullptr;
  EXPECT_EQ(hector_graph_create(&src, &dst, nullptr, nullptr, -1, -1, &other), HECTOR_INVALID);
  EXPECT_EQ(message(), "`graph.src` is on GPU 0, but graphs are made on the CPU; copy it there");
}

TEST_F(HectorDeviceTest, TensorsOfOtherTypesAndAddressesAreRefused) {
  make();
  Array<double> wide = {{1, 2, 3, 4, 5, 6}, {3, 2}};
  const hector_tensor output = onDevice(out);
  hector_tensor inputs[] = {onDevice(wide), onDevice(weights)};
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  EXPECT_EQ(message(), "input `x` is F64, but is read as F32 where it is on the device; convert it");
  inputs[0] = onDevice(x);
  inputs[0].byte_offset = 4;
  EXPECT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_INVALID);
  EXPECT_EQ(message(), "input `x` does not start at a multiple of 16 bytes; copy it");
}

TEST_F(HectorDeviceTest, OptionsAndPlacementsAreChecked) {
  hector_options options = {};
  options.struct_size = sizeof(options);
  options.device_type = 7;
  EXPECT_EQ(hector_layer_compile(model, graph, &options, nullptr, 0, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`device_type` is 7; expected 1 for the CPU or 2 for a GPU");
  options.device_type = 2;
  options.precision = "fast";
  EXPECT_EQ(hector_layer_compile(model, graph, &options, nullptr, 0, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`precision` is `fast`; expected highest, high or medium");
  make(false, "high");
  hector_placement placement = {};
  EXPECT_EQ(hector_run_place(run, &placement), HECTOR_INVALID);
  placement.struct_size = sizeof(placement);
  placement.memory = reinterpret_cast<void *>(0x1001);
  EXPECT_EQ(hector_run_place(run, &placement), HECTOR_INVALID);
  EXPECT_EQ(message(), "`memory` does not start at a multiple of 256 bytes");
}

TEST_F(HectorTest, GpusThatAreNotThereAreRefused) {
  const hector::Setting notEmulated("HECTOR_EMULATE_CUDA", "0");
  const char *sizes[] = {"d_in=2", "d_out=1"};
  hector_options options = {};
  options.struct_size = sizeof(options);
  options.sizes = sizes;
  options.num_sizes = 2;
  options.device_type = 2;
  options.device_id = 99;
  EXPECT_NE(hector_layer_compile(model, graph, &options, nullptr, 0, &layer), HECTOR_OK);
  const std::string said = message();
  EXPECT_TRUE(said.starts_with("there is no CUDA driver") || said.starts_with("there is no GPU 99") ||
              said.starts_with("the CUDA driver"))
      << said;
}

TEST_F(HectorDeviceTest, OptionsOfOlderProgramsMeanTheCpu) {
  hector_options options = {};
  options.struct_size = offsetof(hector_options, device_type);
  options.device_type = 2;  // beyond what the program knew
  const hector_tensor inputs[] = {x.tensor(), weights.tensor()};
  ASSERT_EQ(hector_layer_compile(model, graph, &options, inputs, 2, &layer), HECTOR_OK) << message();
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  ASSERT_EQ(HectorTest::forward(run, out), HECTOR_OK) << message();
  hector_placement placement = {};
  placement.struct_size = sizeof(placement);
  EXPECT_EQ(hector_run_place(run, &placement), HECTOR_INVALID);
  EXPECT_EQ(message(), "`rgcn` runs on the CPU, where passes have memory of their own; compile it with `device_type` 2 "
                       "for a GPU");
}

TEST_F(HectorTest, ResultsNeedATensorOfTheirShape) {
  ASSERT_EQ(compile(false), HECTOR_OK) << message();
  hector_run *run = nullptr;
  ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
  Array<float> small = {{0, 0}, {2, 1}};
  EXPECT_EQ(forward(run, small), HECTOR_INVALID);
  EXPECT_EQ(message(), "result `out` has shape [3, 1] and type f32, but is to go to a tensor of shape [2, 1] and type "
                       "f32");
  hector_run_free(run);
}

TEST_F(HectorTest, ShapesThatDoNotFitEachOtherAreRefused) {
  Array<float> wide = {std::vector<float>(12), {2, 6, 1}};
  const hector_tensor inputs[] = {x.tensor(), wide.tensor()};
  EXPECT_EQ(hector_layer_compile(model, graph, nullptr, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_NE(message().find("asks for 2 at axis 0"), std::string::npos) << message();
}

TEST_F(HectorTest, ArgumentsThatAreMissingAreNamed) {
  EXPECT_EQ(hector_layer_compile(nullptr, graph, nullptr, nullptr, 0, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "argument `model` is NULL");
  EXPECT_EQ(hector_run_create(nullptr, nullptr), HECTOR_INVALID);
  EXPECT_EQ(message(), "argument `layer` is NULL");
}

TEST_F(HectorTest, OptionsThatContradictThemselvesAreRefused) {
  const hector_tensor inputs[] = {x.tensor(), weights.tensor()};
  const char *const names[] = {"x"};
  hector_options options = {};
  options.struct_size = sizeof(options);
  options.threads = -3;
  EXPECT_EQ(hector_layer_compile(model, graph, &options, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`threads` is -3; expected a number above 0, or 0 for as many as there are processors");
  options.threads = 0;
  options.memory_limit = -1;
  EXPECT_EQ(hector_layer_compile(model, graph, &options, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`memory_limit` is -1; expected bytes, or 0 for what the machine has");
  options.memory_limit = 0;
  options.gradients = names;
  options.num_gradients = 1;
  EXPECT_EQ(hector_layer_compile(model, graph, &options, inputs, 2, &layer), HECTOR_INVALID);
  EXPECT_EQ(message(), "`gradients` names inputs, but `with_gradients` is 0; set it to 1");
}

TEST_F(HectorTest, MessagesBelongToThreads) {
  EXPECT_EQ(hector_run_create(nullptr, nullptr), HECTOR_INVALID);
  std::thread([] { EXPECT_EQ(message(), ""); }).join();
  EXPECT_EQ(message(), "argument `layer` is NULL");
}

TEST_F(HectorTest, LayersAreShownAsText) {
  const char *sizes[] = {"d_in=2", "d_out=1"};
  hector_options options = {};
  options.struct_size = sizeof(options);
  options.sizes = sizes;
  options.num_sizes = 2;
  for (const char *form : {"flow", "flow-opt", "groups", "summary", "kern", "cpp", "cuda"}) {
    char *text = nullptr;
    ASSERT_EQ(hector_layer_text(model, graph, &options, nullptr, 0, form, &text), HECTOR_OK) << message();
    EXPECT_NE(std::string(text).find("rgcn"), std::string::npos) << form;
    hector_text_free(text);
  }
  char *text = nullptr;
  EXPECT_EQ(hector_layer_text(model, graph, &options, nullptr, 0, "ptx", &text), HECTOR_INVALID);
  EXPECT_EQ(message(), "there is no form `ptx`; expected flow, flow-opt, groups, summary, kern, cpp or cuda");
}

TEST(HectorDocsTest, TheExampleOfTheDocumentationIsTheOneThatIsCompiled) {
  auto read = [](const char *path) {
    std::ifstream file(std::string(HECTOR_SOURCE_DIR "/") + path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string example = read("capi/example.c");
  ASSERT_FALSE(example.empty());
  EXPECT_NE(read("docs/c-api.md").find("```c\n" + example + "```"), std::string::npos);
}

TEST_F(HectorTest, LayersAreSharedByThreads) {
  ASSERT_EQ(compile(true), HECTOR_OK) << message();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      hector_run *run = nullptr;
      ASSERT_EQ(hector_run_create(layer, &run), HECTOR_OK) << message();
      Array<float> mine = {std::vector<float>(6, static_cast<float>(i)), {3, 2}}, result = {{0, 0, 0}, {3, 1}};
      const hector_tensor inputs[] = {mine.tensor(), weights.tensor()}, output = result.tensor();
      for (int step = 0; step < 100; ++step) {
        ASSERT_EQ(hector_run_forward(run, inputs, 2, &output, 1, nullptr), HECTOR_OK) << message();
        ASSERT_EQ(result.numbers[2], static_cast<float>(i * 1111));
      }
      hector_run_free(run);
    });
  for (std::thread &thread : threads)
    thread.join();
}

}  // namespace
