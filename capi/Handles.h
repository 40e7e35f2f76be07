/// What the handles of the C interface stand for.
#pragma once

#include "capi/Compiled.h"
#include "capi/Tensors.h"
#include "driver/Model.h"
#include "include/hector.h"
#include "runtime/device/DeviceExecutor.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Plan.h"
#include "runtime/graph/Graph.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hector::capi {

/// An input, output or gradient of a layer.
struct PortInfo {
  std::string name;  // as the caller knows it: "x", "out"; of gradients the input's
  std::string port;  // of the plan: "grad.x"
  std::vector<int64_t> shape;
  DType dtype = DType::F32;
  bool isKept = false;  // of an output: a backward pass reads it
};

class Runner;

/// A model compiled for a graph. Not changed once made, so that threads share it.
struct Layer {
  Layer(std::shared_ptr<const Compiled> compiled, Graph graph)
      : compiled(std::move(compiled)), graph(std::move(graph)) {}
  Layer(const Layer &) = delete;
  Layer &operator=(const Layer &) = delete;
  ~Layer();

  const exec::Plan &plan() const { return *compiled->plan; }

  std::shared_ptr<const Compiled> compiled;
  Graph graph;
  exec::ExecOptions options;
  Place place;
  std::shared_ptr<const exec::DevicePlan> onDevice;  // on a GPU
  std::vector<PortInfo> inputs, outputs, outputGradients, gradients;
  std::string description;
};

}  // namespace hector::capi

struct hector_model {
  hector::Model model;
  std::string description;
  mutable hector::capi::CompiledCache compiled = {};
};

struct hector_graph {
  hector::Graph graph;
  std::string description;
};

struct hector_layer {
  std::shared_ptr<const hector::capi::Layer> shared;
};

struct hector_run {
  std::shared_ptr<const hector::capi::Layer> layer;
  std::unique_ptr<hector::capi::Runner> runner;
  bool isBackwardDue = false;          // a forward pass waits for its backward pass
  std::vector<hector::Tensor> inputs;  // as they were set last, one for each of the layer
  std::vector<hector::Tensor> kept;    // the last outputs that a backward pass reads
  ~hector_run();
};
