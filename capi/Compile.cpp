#include "capi/Compile.h"

#include "capi/Describe.h"
#include "capi/Tensors.h"
#include "driver/Arguments.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "driver/Forms.h"
#include "driver/GraphFigures.h"
#include "driver/Kernels.h"
#include "driver/Program.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/exec/Transfer.h"
#include "runtime/graph/GraphSummary.h"
#include "runtime/machine/Machine.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace hector::capi {

static constexpr std::string_view kGradient = "grad.";

/// The options that a caller of any version has set.
static Result<hector_options> readOptions(const hector_options *given) {
  hector_options options = {};
  if (!given)
    return options;
  if (given->struct_size < sizeof(size_t) || given->struct_size > sizeof(hector_options) ||
      given->struct_size % alignof(hector_options) != 0)
    return Status::invalid("options have a `struct_size` of " + std::to_string(given->struct_size) +
                           "; expected sizeof(hector_options), which is at most " +
                           std::to_string(sizeof(hector_options)));
  std::memcpy(&options, given, given->struct_size);
  if (options.threads < 0)
    return Status::invalid("`threads` is " + std::to_string(options.threads) +
                           "; expected a number above 0, or 0 for as many as there are processors");
  if (options.memory_limit < 0)
    return Status::invalid("`memory_limit` is " + std::to_string(options.memory_limit) +
                           "; expected bytes, or 0 for what the machine has");
  if (options.num_gradients > 0 && !options.with_gradients)
    return Status::invalid("`gradients` names inputs, but `with_gradients` is 0; set it to 1");
  if (options.device_type == 0)
    options.device_type = Place::kCpu;
  if (options.device_type != Place::kCpu && options.device_type != Place::kCuda)
    return Status::invalid("`device_type` is " + std::to_string(options.device_type) +
                           "; expected 1 for the CPU or 2 for a GPU");
  if (options.device_id < 0)
    return Status::invalid("`device_id` is " + std::to_string(options.device_id) + "; expected the number of a GPU");
  if (const std::string_view precision = options.precision ? options.precision : "highest";
      precision != "highest" && precision != "high" && precision != "medium")
    return Status::invalid("`precision` is " + inTicks(std::string(precision)) + "; expected highest, high or medium");
  return options;
}

/// Where a layer is to run.
static Place placeOf(const hector_options &options) {
  return options.device_type == Place::kCuda ? Place{Place::kCuda, options.device_id} : Place();
}

static Result<std::vector<std::string>> textsOf(const char *const *texts, size_t count, const char *name) {
  std::vector<std::string> list;
  for (size_t i = 0; i < count; ++i) {
    if (!texts || !texts[i])
      return Status::invalid("`" + std::string(name) + "` has " + counted(static_cast<int64_t>(count), "text") +
                             ", but " + (texts ? "one of them" : "the list") + " is NULL");
    list.emplace_back(texts[i]);
  }
  return list;
}

namespace {

/// What is asked of a layer, checked.
struct Request {
  language::Binding binding;
  hector_options options;
  ProgramOptions program;
  Tensors tensors;    // of inputs, without numbers
  std::string dtype;  // as options name it
  std::string passes;
  std::string precision;
};

}  // namespace

static Result<Request> readRequest(const hector_model &model, const hector_graph &graph, const hector_options *given,
                                   std::span<const hector_tensor> inputs) {
  auto options = readOptions(given);
  if (!options)
    return std::move(options).status();
  const language::Signature &signature = model.model.signature;
  if (inputs.size() != signature.inputs.size() && !inputs.empty())
    return Status::invalid(inTicks(signature.name) + " has " +
                           counted(static_cast<int64_t>(signature.inputs.size()), "input") + ", but is given " +
                           counted(static_cast<int64_t>(inputs.size()), "tensor"));
  Request request;
  request.options = *options;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto view = viewOf(inputs[i], signature.inputs[i].name, placeOf(*options), Numbers::NotNeeded);
    if (!view)
      return std::move(view).status();
    request.tensors[signature.inputs[i].name] = std::move(*view);
  }
  auto attributes = textsOf(options->attributes, options->num_attributes, "attributes");
  auto sizes = textsOf(options->sizes, options->num_sizes, "sizes");
  auto gradients = textsOf(options->gradients, options->num_gradients, "gradients");
  for (auto *texts : {&attributes, &sizes, &gradients})
    if (!*texts)
      return std::move(*texts).status();
  auto binding = bind(model.model, {std::move(*attributes), std::move(*sizes)});
  if (!binding)
    return std::move(binding).status();
  request.binding = std::move(*binding);
  if (!inputs.empty())
    if (Status status = bindShapes(request.tensors, signature, request.binding); !status.isOk())
      return status;
  request.dtype = options->dtype ? options->dtype : "f32";
  auto numbers = numberTypeFromName(request.dtype);
  if (!numbers)
    return Status::invalid("there is no type of number " + inTicks(request.dtype) + "; expected f64, f32, bf16 or f16");
  request.program.numbers = *numbers;
  if (options->with_gradients)
    request.program.gradients = std::move(*gradients);
  request.passes = options->passes ? options->passes : "default";
  request.precision = options->precision ? options->precision : "highest";
  if (Status status = requireMemory("the graph", formBytes(graph.graph)); !status.isOk())
    return status;
  return request;
}

/// The program before any pass, with figures by which they choose.
static Result<Program> importProgram(const hector_model &model, const hector_graph &graph, const Request &request,
                                     const GraphFigures &figures) {
  auto program = Program::import(model.model, request.binding, request.program);
  if (!program)
    return std::move(program).status();
  if (Status status = program->attachGraph(graph.graph, figures); !status.isOk())
    return status;
  return program;
}

/// Says what a plan depends on, and nothing else.
static std::string keyOf(const Request &request, const hector_graph &graph, const GraphFigures &figures) {
  std::string key;
  auto add = [&](const std::string &text) { key += std::to_string(text.size()) + ":" + text + " "; };
  for (const auto &[name, value] : request.binding.attributes) {
    add(name);
    const auto *text = std::get_if<std::string>(&value);
    add(text ? inTicks(*text) : language::formatConstant(value));
  }
  for (const auto &[name, size] : request.binding.sizes) {
    add(name);
    add(std::to_string(size));
  }
  if (request.program.gradients) {
    add("gradients");
    for (const std::string &name : *request.program.gradients)
      add(name);
  }
  for (const std::string *text : {&request.dtype, &request.passes})
    add(*text);
  if (request.options.device_type == Place::kCuda)
    add(request.precision + std::to_string(request.options.device_id));
  add(exec::needsWideIds(graph.graph) ? "wide" : "narrow");
  return key + hector::keyOf(figures);
}

/// Sorts the ports of a plan by what they are to the caller.
static void fillPorts(const language::Signature &signature, Layer &layer) {
  const exec::Plan &plan = layer.plan();
  const exec::GraphNumbers numbers = exec::graphNumbers(plan, layer.graph);
  const std::vector<bool> isOutside = exec::findOutside(plan, numbers);
  auto describePort = [&](const exec::Port &port, bool isResult) {
    const exec::TableSpec &table = plan.tables[port.table];
    PortInfo info = {port.name, port.name, table.shape, exec::dtypeOf(table.storage)};
    if (table.domain != exec::Domain::One)
      info.shape.insert(info.shape.begin(), numbers.rows[table.domain]);
    if (isResult)
      info.dtype = table.storage == exec::Storage::F64 ? DType::F64 : DType::F32;
    if (port.name.starts_with(kGradient))
      info.name = port.name.substr(kGradient.size());
    for (const exec::Step &step : plan.steps)
      info.isKept |= isResult && isOutside[port.table] && step.phase == exec::Phase::Backward &&
                     !port.name.starts_with(kGradient) &&
                     std::count(step.launch.inputs.begin(), step.launch.inputs.end(), port.table) > 0;
    return info;
  };
  for (const exec::Port &port : plan.inputs)
    (port.name.starts_with(kGradient) ? layer.outputGradients : layer.inputs).push_back(describePort(port, false));
  for (const exec::Port &port : plan.outputs)
    (port.name.starts_with(kGradient) ? layer.gradients : layer.outputs).push_back(describePort(port, true));
  // The order in which the model declares them.
  auto place = [&](const PortInfo &port) {
    return std::find_if(signature.inputs.begin(), signature.inputs.end(),
                        [&](const language::InputDecl &input) { return input.name == port.name; }) -
           signature.inputs.begin();
  };
  for (std::vector<PortInfo> *ports : {&layer.inputs, &layer.gradients})
    std::stable_sort(ports->begin(), ports->end(),
                     [&](const PortInfo &a, const PortInfo &b) { return place(a) < place(b); });
}

/// Has kernels ready for a plan on a GPU.
static Result<std::shared_ptr<const Compiled>> compiledFrom(const Planned &planned, OpenDevice &open) {
  auto compiled = std::make_shared<Compiled>();
  compiled->plan = planned.plan;
  compiled->passes = planned.passes;
  compiled->open = &open;
  Turn turn(open);
  auto loaded = loadKernels(*planned.plan, *open.device);
  if (!loaded)
    return std::move(loaded).status();
  compiled->program = std::move(*loaded);
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

/// Compiles for a GPU, or finds what was compiled for graphs like this one, without regard to memory.
static Result<std::shared_ptr<const Compiled>> compileForDevice(const hector_model &model, const hector_graph &graph,
                                                                const Request &request, OpenDevice &open) {
  const GraphFigures figures = sharedFigures(graph.graph);
  const std::string key = keyOf(request, graph, figures);
  if (auto known = model.compiled.find(key))
    return known;
  auto program = importProgram(model, graph, request, figures);
  if (!program)
    return std::move(program).status();
  auto planned = planForDevice(*program, graph.graph,
                               {.passes = request.passes, .precision = precisionFromName(request.precision)});
  if (!planned)
    return std::move(planned).status();
  auto compiled = compiledFrom(*planned, open);
  if (compiled)
    model.compiled.keep(key, *compiled);
  return compiled;
}

/// The same for one graph, where a plan for the like takes too much memory.
static Result<std::shared_ptr<const Compiled>> compileToFit(const hector_model &model, const hector_graph &graph,
                                                            const Request &request, OpenDevice &open,
                                                            const exec::DeviceExecOptions &exec) {
  auto program = importProgram(model, graph, request, figuresOf(graph.graph));
  if (!program)
    return std::move(program).status();
  auto planned = planForDevice(*program, graph.graph,
                               {.passes = request.passes,
                                .precision = precisionFromName(request.precision),
                                .device = open.device.get(),
                                .exec = exec});
  if (!planned)
    return std::move(planned).status();
  return compiledFrom(*planned, open);
}

static Result<std::shared_ptr<const Layer>> makeDeviceLayer(const hector_model &model, const hector_graph &graph,
                                                            const Request &request) {
  auto open = openDevice(request.options.device_id);
  if (!open)
    return std::move(open).status();
  auto compiled = compileForDevice(model, graph, request, **open);
  if (!compiled)
    return std::move(compiled).status();
  exec::DeviceExecOptions exec = {.memoryLimit = request.options.memory_limit, .isInPlace = true};
  const exec::Plan &shared = *(*compiled)->plan;
  for (const exec::Port &port : shared.inputs) {
    Tensor &tensor = exec.inputs[port.name];
    const exec::Storage storage = shared.tables[port.table].storage;
    // Gradients have the types of results.
    tensor.dtype = storage == exec::Storage::F64 ? DType::F64 : DType::F32;
    if (auto given = request.tensors.find(port.name); given != request.tensors.end())
      tensor.dtype = given->second.dtype;
    else if (!port.name.starts_with(kGradient))
      tensor.dtype = exec::dtypeOf(storage);
  }
  const DeviceInfo &info = (*open)->device->info();
  auto memory = exec::memoryFor(shared, graph.graph, info, exec);
  if (!memory)
    return std::move(memory).status();
  const int64_t limit = exec.memoryLimit > 0 ? std::min(exec.memoryLimit, info.memoryBytes) : info.memoryBytes;
  if (memory->peakBytes() > limit) {
    compiled = compileToFit(model, graph, request, **open, exec);
    if (!compiled)
      return std::move(compiled).status();
  }
  auto layer = std::make_shared<Layer>(*compiled, graph.graph);
  layer->place = placeOf(request.options);
  {
    // It ends before the layer may: that takes a turn of its own.
    Turn turn(**open);
    auto onDevice =
        exec::DevicePlan::create((*compiled)->plan, (*compiled)->program, *(*open)->device, graph.graph, exec);
    if (!onDevice)
      return std::move(onDevice).status();
    layer->onDevice = std::move(*onDevice);
  }
  fillPorts(model.model.signature, *layer);
  layer->description = describe(*layer, layer->onDevice->memory().peakBytes());
  return std::shared_ptr<const Layer>(std::move(layer));
}

/// Has kernels ready for a plan on the CPU.
static Result<std::shared_ptr<const Compiled>> compiledFrom(const Planned &planned) {
  auto kernels = loadKernels(*planned.plan);
  if (!kernels)
    return std::move(kernels).status();
  auto compiled = std::make_shared<Compiled>();
  compiled->plan = planned.plan;
  compiled->passes = planned.passes;
  compiled->kernels = std::move(*kernels);
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

/// What a layer takes on a graph, beside inputs and outputs, with as many threads as fit.
static Result<int64_t> peakBytesOf(const exec::Plan &plan, const hector_graph &graph, const Request &request,
                                   int64_t limit) {
  for (int threads = numThreads();; threads /= 2) {
    auto memory = exec::memoryFor(plan, graph.graph, threads, request.tensors, exec::Outputs::Outside);
    if (!memory)
      return std::move(memory).status();
    if (threads == 1 || memory->peakBytes() <= limit)
      return memory->peakBytes();
  }
}

/// Compiles for the CPU, or finds what was compiled for graphs like this one, without regard to memory.
static Result<std::shared_ptr<const Compiled>> compileForCpu(const hector_model &model, const hector_graph &graph,
                                                             const Request &request) {
  const GraphFigures figures = sharedFigures(graph.graph);
  const std::string key = keyOf(request, graph, figures);
  if (auto known = model.compiled.find(key))
    return known;
  auto program = importProgram(model, graph, request, figures);
  if (!program)
    return std::move(program).status();
  PlanOptions options;
  options.passes = request.passes;
  options.threads = request.options.threads;
  options.availableMemory = std::numeric_limits<int64_t>::max();
  auto planned = planFor(*program, graph.graph, request.tensors, options);
  if (!planned)
    return std::move(planned).status();
  auto compiled = compiledFrom(*planned);
  if (compiled)
    model.compiled.keep(key, *compiled);
  return compiled;
}

/// The same for one graph, where a plan for the like takes too much memory.
static Result<std::shared_ptr<const Compiled>> compileToFit(const hector_model &model, const hector_graph &graph,
                                                            const Request &request) {
  auto program = importProgram(model, graph, request, figuresOf(graph.graph));
  if (!program)
    return std::move(program).status();
  PlanOptions options;
  options.passes = request.passes;
  options.threads = request.options.threads;
  options.memoryLimit = request.options.memory_limit;
  options.outputs = exec::Outputs::Outside;
  auto planned = planFor(*program, graph.graph, request.tensors, options);
  if (!planned)
    return std::move(planned).status();
  return compiledFrom(*planned);
}

Result<std::shared_ptr<const Layer>> compileLayer(const hector_model &model, const hector_graph &graph,
                                                  const hector_options *options,
                                                  std::span<const hector_tensor> inputs) {
  auto request = readRequest(model, graph, options, inputs);
  if (!request)
    return std::move(request).status();
  if (request->options.device_type == Place::kCuda)
    return makeDeviceLayer(model, graph, *request);
  ThreadLimit threads(request->options.threads > 0 ? request->options.threads : numThreads());
  auto compiled = compileForCpu(model, graph, *request);
  if (!compiled)
    return std::move(compiled).status();
  auto bytes = planBytes(*(*compiled)->plan, graph.graph, request->tensors, exec::Outputs::Outside);
  if (!bytes)
    return std::move(bytes).status();
  const int64_t most = request->options.memory_limit, available = availableMemory();
  const int64_t limit = most > 0 ? std::min(most, available) : available;
  if (bytes->usual > limit) {
    compiled = compileToFit(model, graph, *request);
    if (!compiled)
      return std::move(compiled).status();
  }
  auto peakBytes = peakBytesOf(*(*compiled)->plan, graph, *request, limit);
  if (!peakBytes)
    return std::move(peakBytes).status();
  auto layer = std::make_shared<Layer>(std::move(*compiled), graph.graph);
  layer->options.threads = request->options.threads;
  layer->options.memoryLimit = most;
  layer->options.outputs = exec::Outputs::Outside;
  fillPorts(model.model.signature, *layer);
  layer->description = describe(*layer, *peakBytes);
  return std::shared_ptr<const Layer>(std::move(layer));
}

Result<std::string> layerText(const hector_model &model, const hector_graph &graph, const hector_options *options,
                              std::span<const hector_tensor> inputs, const std::string &form) {
  if (Status status = checkForm(form); !status.isOk())
    return status;
  auto request = readRequest(model, graph, options, inputs);
  if (!request)
    return std::move(request).status();
  const GraphFigures figures = sharedFigures(graph.graph);
  auto program = importProgram(model, graph, *request, figures);
  if (!program)
    return std::move(program).status();
  if (form == "cuda") {
    auto machine = findMachine("h200");
    if (!machine)
      return std::move(machine).status();
    program->attachMachine(*machine);
  } else if (request->options.device_type == Place::kCuda) {
    program->attachMachine(defaultGpu());
  }
  FormOptions text;
  text.form = form;
  text.wideIds = exec::needsWideIds(graph.graph);
  text.output.onPlans = [&](const std::vector<PlanCost> &plans) { text.summary.plans = plans; };
  const std::string passes = form == "flow" ? "none" : request->passes;
  if (Status status = program->runPasses(passes, text.output); !status.isOk())
    return status;
  text.summary.model = model.model.source->name();
  text.summary.passes = passes;
  text.summary.dtype = request->dtype;
  text.summary.standsForOthers = figures != figuresOf(graph.graph);
  return formText(*program, request->binding, text);
}

}  // namespace hector::capi
