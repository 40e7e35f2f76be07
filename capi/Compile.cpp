#include "capi/Compile.h"

#include "capi/Describe.h"
#include "capi/Tensors.h"
#include "driver/Arguments.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "driver/Forms.h"
#include "driver/Kernels.h"
#include "driver/Program.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/exec/Transfer.h"
#include "runtime/graph/GraphSummary.h"
#include "runtime/machine/Machine.h"

#include <algorithm>
#include <cstring>
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

/// A model that is bound to a graph, before any pass.
struct Imported {
  Program program;
  language::Binding binding;
  hector_options options;
  Tensors tensors;    // of inputs, without numbers
  std::string dtype;  // as options name it
  std::string passes;
};

}  // namespace

static Result<Imported> importModel(const hector_model &model, const hector_graph &graph, const hector_options *given,
                                    std::span<const hector_tensor> inputs) {
  auto options = readOptions(given);
  if (!options)
    return std::move(options).status();
  const language::Signature &signature = model.model.signature;
  if (inputs.size() != signature.inputs.size() && !inputs.empty())
    return Status::invalid(inTicks(signature.name) + " has " +
                           counted(static_cast<int64_t>(signature.inputs.size()), "input") + ", but is given " +
                           counted(static_cast<int64_t>(inputs.size()), "tensor"));
  Tensors tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto view = viewOf(inputs[i], signature.inputs[i].name, placeOf(*options), Numbers::NotNeeded);
    if (!view)
      return std::move(view).status();
    tensors[signature.inputs[i].name] = std::move(*view);
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
  if (!inputs.empty())
    if (Status status = bindShapes(tensors, signature, *binding); !status.isOk())
      return status;
  const std::string dtype = options->dtype ? options->dtype : "f32";
  auto numbers = numberTypeFromName(dtype);
  if (!numbers)
    return Status::invalid("there is no type of number " + inTicks(dtype) + "; expected f64, f32, bf16 or f16");
  ProgramOptions compile;
  compile.numbers = *numbers;
  if (options->with_gradients)
    compile.gradients = std::move(*gradients);
  if (Status status = requireMemory("the graph", formBytes(graph.graph)); !status.isOk())
    return status;
  auto program = Program::import(model.model, *binding, compile);
  if (!program)
    return std::move(program).status();
  if (Status status = program->attachGraph(graph.graph); !status.isOk())
    return status;
  const std::string passes = options->passes ? options->passes : "default";
  return Imported{std::move(*program), std::move(*binding), *options, std::move(tensors), dtype, passes};
}

/// Sorts the ports of a plan by what they are to the caller.
static void fillPorts(const language::Signature &signature, Layer &layer) {
  const exec::Plan &plan = *layer.plan;
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

/// The same on a GPU.
static Result<std::shared_ptr<const Layer>> compileForDevice(const hector_model &model, const hector_graph &graph,
                                                             const Imported &imported) {
  const hector_options &options = imported.options;
  auto open = openDevice(options.device_id);
  if (!open)
    return std::move(open).status();
  auto planned = planForDevice(imported.program, graph.graph, imported.passes,
                               precisionFromName(options.precision ? options.precision : "highest"));
  if (!planned)
    return std::move(planned).status();
  exec::DeviceExecOptions exec = {.memoryLimit = options.memory_limit, .isInPlace = true};
  for (const exec::Port &port : planned->plan->inputs) {
    Tensor &tensor = exec.inputs[port.name];
    const exec::Storage storage = planned->plan->tables[port.table].storage;
    // Gradients have the types of results.
    tensor.dtype = storage == exec::Storage::F64 ? DType::F64 : DType::F32;
    if (auto given = imported.tensors.find(port.name); given != imported.tensors.end())
      tensor.dtype = given->second.dtype;
    else if (!port.name.starts_with(kGradient))
      tensor.dtype = exec::dtypeOf(storage);
  }
  auto layer = std::make_shared<Layer>(planned->plan, exec::KernelLookup(), graph.graph);
  layer->place = placeOf(options);
  layer->open = *open;
  {
    // It ends before the layer may: that takes a turn of its own.
    Turn turn(**open);
    Device &device = *(*open)->device;
    auto program = loadKernels(*planned->plan, device);
    if (!program)
      return std::move(program).status();
    auto onDevice = exec::DevicePlan::create(planned->plan, std::move(*program), device, graph.graph, exec);
    if (!onDevice)
      return std::move(onDevice).status();
    layer->onDevice = std::move(*onDevice);
  }
  fillPorts(model.model.signature, *layer);
  layer->description = describe(*layer, planned->passes, layer->onDevice->memory().peakBytes());
  return std::shared_ptr<const Layer>(std::move(layer));
}

Result<std::shared_ptr<const Layer>> compileLayer(const hector_model &model, const hector_graph &graph,
                                                  const hector_options *options,
                                                  std::span<const hector_tensor> inputs) {
  auto imported = importModel(model, graph, options, inputs);
  if (!imported)
    return std::move(imported).status();
  if (imported->options.device_type == Place::kCuda)
    return compileForDevice(model, graph, *imported);
  PlanOptions plan;
  plan.passes = imported->passes;
  plan.threads = imported->options.threads;
  plan.memoryLimit = imported->options.memory_limit;
  auto planned = planFor(imported->program, graph.graph, imported->tensors, plan);
  if (!planned)
    return std::move(planned).status();
  auto kernels = loadKernels(*planned->plan);
  if (!kernels)
    return std::move(kernels).status();
  auto layer = std::make_shared<Layer>(planned->plan, std::move(*kernels), graph.graph);
  layer->options.threads = plan.threads;
  layer->options.memoryLimit = plan.memoryLimit;
  layer->options.outputs = exec::Outputs::Outside;
  fillPorts(model.model.signature, *layer);
  auto memory = exec::memoryFor(*layer->plan, graph.graph, plan.threads, imported->tensors, exec::Outputs::Outside);
  if (!memory)
    return std::move(memory).status();
  layer->description = describe(*layer, planned->passes, memory->peakBytes());
  return std::shared_ptr<const Layer>(std::move(layer));
}

Result<std::string> layerText(const hector_model &model, const hector_graph &graph, const hector_options *options,
                              std::span<const hector_tensor> inputs, const std::string &form) {
  if (Status status = checkForm(form); !status.isOk())
    return status;
  auto imported = importModel(model, graph, options, inputs);
  if (!imported)
    return std::move(imported).status();
  if (form == "cuda") {
    auto machine = findMachine("h200");
    if (!machine)
      return std::move(machine).status();
    imported->program.attachMachine(*machine);
  } else if (imported->options.device_type == Place::kCuda) {
    imported->program.attachMachine(defaultGpu());
  }
  FormOptions text;
  text.form = form;
  text.wideIds = exec::needsWideIds(graph.graph);
  text.output.onPlans = [&](const std::vector<PlanCost> &plans) { text.summary.plans = plans; };
  const std::string passes = form == "flow" ? "none" : imported->passes;
  if (Status status = imported->program.runPasses(passes, text.output); !status.isOk())
    return status;
  text.summary.model = model.model.source->name();
  text.summary.passes = passes;
  text.summary.dtype = imported->dtype;
  return formText(imported->program, imported->binding, text);
}

}  // namespace hector::capi
