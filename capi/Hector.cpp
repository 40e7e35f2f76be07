/// The functions of include/hector.h.
#include "include/hector.h"

#include "capi/Compile.h"
#include "capi/Describe.h"
#include "capi/Errors.h"
#include "capi/Handles.h"
#include "capi/Runner.h"
#include "capi/Tensors.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/storage/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

using namespace hector;
using namespace hector::capi;

hector_run::~hector_run() = default;

namespace hector::capi {

Layer::~Layer() {
  if (!onDevice)
    return;
  Turn turn(*compiled->open);
  onDevice.reset();
}

}  // namespace hector::capi

static_assert(sizeof(hector_tensor) == 48, "the layout of DLTensor");

extern "C" {

int hector_abi_version(void) {
  return HECTOR_ABI_VERSION;
}

void hector_use_threads(void (*parallel)(void (*body)(void *), void *data, unsigned count, unsigned flags),
                        int threads) {
  hector::useTeam(parallel, threads);
}

const char *hector_version(void) {
  return HECTOR_VERSION;
}

// --- models ---------------------------------------------------------------------------------------------------------

hector_status hector_model_parse(const char *text, const char *name, const char *entry, hector_model **model) {
  return guarded([&]() -> Status {
    if (Status status = require(text, "text"); !status.isOk())
      return status;
    if (Status status = require(model, "model"); !status.isOk())
      return status;
    auto parsed = parseModel(text, name ? name : "model", entry ? entry : "");
    if (!parsed)
      return std::move(parsed).status();
    std::string description = describe(*parsed);
    *model = new hector_model{std::move(*parsed), std::move(description)};
    return Status::ok();
  });
}

const char *hector_model_describe(const hector_model *model) {
  return model ? model->description.c_str() : "";
}

void hector_model_free(hector_model *model) {
  delete model;
}

void hector_model_forget(const hector_model *model) {
  if (model)
    model->compiled.clear();
}

// --- graphs ---------------------------------------------------------------------------------------------------------

static hector_graph *newGraph(Graph graph) {
  std::string description = describe(graph);
  return new hector_graph{std::move(graph), std::move(description)};
}

/// The smallest number above all ids, none of which may be negative: that is the graph's to say.
static int64_t above(std::span<const int64_t> ids) {
  constexpr int64_t kMost = Graph::kMaxNodes;  // so that there is always a number above
  return ids.empty() ? 0 : std::clamp<int64_t>(*std::max_element(ids.begin(), ids.end()), -1, kMost) + 1;
}

hector_status hector_graph_create(const hector_tensor *src, const hector_tensor *dst, const hector_tensor *etype,
                                  const hector_tensor *ntype_ptr, int64_t num_edge_types, int64_t num_nodes,
                                  hector_graph **graph) {
  return guarded([&]() -> Status {
    const std::pair<const void *, const char *> needed[] = {{src, "src"}, {dst, "dst"}, {graph, "graph"}};
    for (const auto &[argument, name] : needed)
      if (Status status = require(argument, name); !status.isOk())
        return status;
    if (ntype_ptr && num_nodes >= 0)
      return Status::invalid("`ntype_ptr` says how many nodes there are; leave out `num_nodes`");
    auto sources = idsOf(*src, "graph.src");
    if (!sources)
      return std::move(sources).status();
    auto destinations = idsOf(*dst, "graph.dst");
    if (!destinations)
      return std::move(destinations).status();
    std::vector<int64_t> types(sources->size()), starts = {0};
    if (etype) {
      auto given = idsOf(*etype, "graph.etype");
      if (!given)
        return std::move(given).status();
      types = std::move(*given);
    }
    if (ntype_ptr) {
      auto given = idsOf(*ntype_ptr, "graph.ntype_ptr");
      if (!given)
        return std::move(given).status();
      starts = std::move(*given);
    } else {
      starts.push_back(num_nodes >= 0 ? num_nodes : std::max(above(*sources), above(*destinations)));
    }
    const int64_t relations = num_edge_types >= 0 ? num_edge_types : etype ? above(types) : 1;
    auto made = Graph::create(*sources, *destinations, types, starts, relations);
    if (!made)
      return std::move(made).status();
    *graph = newGraph(std::move(*made));
    return Status::ok();
  });
}

hector_status hector_graph_load(const char *path, hector_graph **graph) {
  return guarded([&]() -> Status {
    if (Status status = require(path, "path"); !status.isOk())
      return status;
    if (Status status = require(graph, "graph"); !status.isOk())
      return status;
    auto contents = readSafetensors(path);
    if (!contents)
      return std::move(contents).status();
    auto read = readGraph(*contents);
    if (!read)
      return std::move(read).status().during(path);
    if (Status status = nameEnds(*contents, *read); !status.isOk())
      return std::move(status).during(path);
    *graph = newGraph(std::move(*read));
    return Status::ok();
  });
}

const char *hector_graph_describe(const hector_graph *graph) {
  return graph ? graph->description.c_str() : "";
}

void hector_graph_free(hector_graph *graph) {
  delete graph;
}

// --- layers ---------------------------------------------------------------------------------------------------------

static Status requireForLayer(const hector_model *model, const hector_graph *graph, const hector_tensor *inputs,
                              size_t num_inputs, const void *result, const char *resultName) {
  const std::pair<const void *, const char *> needed[] = {{model, "model"}, {graph, "graph"}, {result, resultName}};
  for (const auto &[argument, name] : needed)
    if (Status status = require(argument, name); !status.isOk())
      return status;
  return num_inputs > 0 ? require(inputs, "inputs") : Status::ok();
}

hector_status hector_layer_compile(const hector_model *model, const hector_graph *graph, const hector_options *options,
                                   const hector_tensor *inputs, size_t num_inputs, hector_layer **layer) {
  return guarded([&]() -> Status {
    if (Status status = requireForLayer(model, graph, inputs, num_inputs, layer, "layer"); !status.isOk())
      return status;
    auto made = compileLayer(*model, *graph, options, {inputs, num_inputs});
    if (!made)
      return std::move(made).status();
    *layer = new hector_layer{std::move(*made)};
    return Status::ok();
  });
}

const char *hector_layer_describe(const hector_layer *layer) {
  return layer ? layer->shared->description.c_str() : "";
}

void hector_layer_free(hector_layer *layer) {
  delete layer;
}

hector_status hector_layer_text(const hector_model *model, const hector_graph *graph, const hector_options *options,
                                const hector_tensor *inputs, size_t num_inputs, const char *form, char **text) {
  return guarded([&]() -> Status {
    if (Status status = requireForLayer(model, graph, inputs, num_inputs, text, "text"); !status.isOk())
      return status;
    if (Status status = require(form, "form"); !status.isOk())
      return status;
    auto made = layerText(*model, *graph, options, {inputs, num_inputs}, form);
    if (!made)
      return std::move(made).status();
    *text = new char[made->size() + 1];
    std::memcpy(*text, made->c_str(), made->size() + 1);
    return Status::ok();
  });
}

void hector_text_free(char *text) {
  delete[] text;
}

// --- runs -----------------------------------------------------------------------------------------------------------

hector_status hector_run_create(const hector_layer *layer, hector_run **run) {
  return guarded([&]() -> Status {
    if (Status status = require(layer, "layer"); !status.isOk())
      return status;
    if (Status status = require(run, "run"); !status.isOk())
      return status;
    auto runner = makeRunner(*layer->shared);
    if (!runner)
      return std::move(runner).status();
    *run = new hector_run{layer->shared,
                          std::move(*runner),
                          /*isBackwardDue=*/false,
                          std::vector<Tensor>(layer->shared->inputs.size()),
                          {}};
    return Status::ok();
  });
}

void hector_run_free(hector_run *run) {
  delete run;
}

hector_status hector_run_place(hector_run *run, const hector_placement *placement) {
  return guarded([&]() -> Status {
    if (Status status = require(run, "run"); !status.isOk())
      return status;
    if (Status status = require(placement, "placement"); !status.isOk())
      return status;
    if (placement->struct_size != sizeof(hector_placement))
      return Status::invalid("the placement has a `struct_size` of " + std::to_string(placement->struct_size) +
                             "; expected sizeof(hector_placement), which is " +
                             std::to_string(sizeof(hector_placement)));
    return run->runner->place(*placement);
  });
}

/// Fails if the caller's tensors are not one for each port.
static Status checkCount(std::span<const hector_tensor> tensors, const std::vector<PortInfo> &ports, const char *noun) {
  if (tensors.size() == ports.size() && (ports.empty() || tensors.data()))
    return Status::ok();
  return Status::invalid("the layer has " + counted(static_cast<int64_t>(ports.size()), noun) + ", but is given " +
                         counted(static_cast<int64_t>(tensors.data() ? tensors.size() : 0), "tensor"));
}

/// Whether a tensor has bytes in common with one of others.
static bool overlapsOne(const Tensor &tensor, const std::vector<Tensor> &others) {
  return std::any_of(others.begin(), others.end(), [&](const Tensor &other) {
    return tensor.numBytes() > 0 && other.numBytes() > 0 && tensor.bytes < other.bytes + other.numBytes() &&
           other.bytes < tensor.bytes + tensor.numBytes();
  });
}

/// Where results are to go. Fails if a tensor cannot take one; `taken` are those that the pass reads.
static Result<std::vector<Tensor>> findPlaces(std::span<const hector_tensor> tensors,
                                              const std::vector<PortInfo> &ports, std::vector<Tensor> taken,
                                              const Place &place) {
  std::vector<Tensor> places;
  places.reserve(ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    auto view = viewOf(tensors[i], ports[i].name, place);
    if (!view)
      return std::move(view).status();
    if (view->shape != ports[i].shape || view->dtype != ports[i].dtype)
      return Status::invalid("result " + inTicks(ports[i].name) + " has shape " + formatShape(ports[i].shape) +
                             " and type " + spelling(ports[i].dtype) + ", but is to go to a tensor of shape " +
                             formatShape(view->shape) + " and type " + spelling(view->dtype));
    const bool isOnCpu = place == Place();
    if (reinterpret_cast<uintptr_t>(view->bytes) % (isOnCpu ? byteSize(view->dtype) : 16) != 0)
      return Status::invalid(
          "the tensor for result " + inTicks(ports[i].name) +
          (isOnCpu ? " is not aligned to its numbers" : " does not start at a multiple of 16 bytes"));
    if (overlapsOne(*view, taken))
      return Status::invalid(
          "the tensor for result " + inTicks(ports[i].name) +
          " shares memory with a tensor that the same pass reads or writes; give it memory of its own");
    taken.push_back(*view);
    places.push_back(std::move(*view));
  }
  return places;
}

hector_status hector_run_forward(hector_run *run, const hector_tensor *inputs, size_t num_inputs,
                                 const hector_tensor *outputs, size_t num_outputs,
                                 const hector_randomness *randomness) {
  return guarded([&]() -> Status {
    if (Status status = require(run, "run"); !status.isOk())
      return status;
    const Layer &layer = *run->layer;
    if (Status status = checkCount({inputs, num_inputs}, layer.inputs, "input"); !status.isOk())
      return status;
    if (Status status = checkCount({outputs, num_outputs}, layer.outputs, "output"); !status.isOk())
      return status;
    // Nothing is set before all has been checked: a call that is refused leaves the run as it was.
    std::vector<Tensor> views = run->inputs;
    std::vector<size_t> given;
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      if (!inputs[i].shape && inputs[i].ndim > 0)
        continue;  // as it was
      auto view = viewOf(inputs[i], layer.inputs[i].name, layer.place);
      if (!view)
        return std::move(view).status();
      if (Status status = run->runner->checkInput(layer.inputs[i].port, *view); !status.isOk())
        return status;
      views[i] = std::move(*view);
      given.push_back(i);
    }
    auto places = findPlaces({outputs, num_outputs}, layer.outputs, views, layer.place);
    if (!places)
      return std::move(places).status();
    run->isBackwardDue = false;
    std::vector<Runner::Input> set;
    for (size_t i : given)
      set.push_back({layer.inputs[i].port, &views[i]});
    if (Status status = run->runner->forward(set, randomness, layer.outputs, *places); !status.isOk())
      return status;
    run->inputs = std::move(views);
    run->kept.clear();
    for (size_t i = 0; i < layer.outputs.size(); ++i)
      if (layer.outputs[i].isKept)
        run->kept.push_back((*places)[i]);
    run->isBackwardDue = true;
    return Status::ok();
  });
}

hector_status hector_run_backward(hector_run *run, const hector_tensor *output_gradients, size_t num_outputs,
                                  const hector_tensor *gradients, size_t num_gradients) {
  return guarded([&]() -> Status {
    if (Status status = require(run, "run"); !status.isOk())
      return status;
    const Layer &layer = *run->layer;
    if (layer.gradients.empty())
      return Status::invalid(inTicks(layer.plan().name) + " was compiled without gradients; set `with_gradients`");
    if (!run->isBackwardDue)
      return Status::invalid("a backward pass needs a forward pass of its own; run one first");
    if (Status status = checkCount({output_gradients, num_outputs}, layer.outputGradients, "output"); !status.isOk())
      return status;
    if (Status status = checkCount({gradients, num_gradients}, layer.gradients, "gradient"); !status.isOk())
      return status;
    std::vector<Tensor> views;
    for (size_t i = 0; i < layer.outputGradients.size(); ++i) {
      const PortInfo &port = layer.outputGradients[i];
      if (!output_gradients[i].data) {
        Tensor zeros;
        zeros.dtype = port.dtype;
        zeros.shape = port.shape;
        views.push_back(std::move(zeros));
        continue;
      }
      auto view = viewOf(output_gradients[i], port.port, layer.place);
      if (!view)
        return std::move(view).status();
      if (Status status = run->runner->checkInput(port.port, *view); !status.isOk())
        return status;
      views.push_back(std::move(*view));
    }
    // The pass reads the inputs and kept outputs of its forward pass as well.
    std::vector<Tensor> taken = views;
    taken.insert(taken.end(), run->inputs.begin(), run->inputs.end());
    taken.insert(taken.end(), run->kept.begin(), run->kept.end());
    auto places = findPlaces({gradients, num_gradients}, layer.gradients, std::move(taken), layer.place);
    if (!places)
      return std::move(places).status();
    std::vector<Runner::Input> set;
    for (size_t i = 0; i < views.size(); ++i)
      set.push_back({layer.outputGradients[i].port, &views[i]});
    run->isBackwardDue = false;
    return run->runner->backward(set, layer.gradients, *places);
  });
}

}  // extern "C"
