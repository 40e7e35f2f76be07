#include "RunPlan.h"

#include "RunReport.h"
#include "driver/Arguments.h"
#include "driver/Kernels.h"
#include "runtime/base/Interrupt.h"
#include "runtime/exec/PlanFile.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

namespace hector {

bool namesPlan(const std::string &path) {
  return path.ends_with(".plan") || exec::isPlanFile(path);
}

/// "--dtype bf16 contradicts the plan, which computes with f32; …".
static Status contradiction(const std::string &option, const std::string &has,
                            const std::string &otherwise = "compile the model again with it") {
  return Status::invalid(option + " contradicts the plan, which " + has + "; leave it out, or " + otherwise);
}

/// "W,q"; all inputs if there are none.
static std::string listOf(const std::vector<std::string> &gradients) {
  std::string list;
  for (const std::string &name : gradients)
    list += (list.empty() ? "" : ",") + name;
  return list.empty() ? "all inputs" : list;
}

/// Refuses settings that are not those of the plan; `format` gives a value as messages show it.
template <class Values, class Format>
static Status checkSettings(const std::string &option, const std::vector<std::string> &settings, const Values &given,
                            const Values &planned, Format &&format) {
  for (const std::string &setting : settings) {
    const std::string name = setting.substr(0, setting.find('='));
    auto mine = given.find(name), its = planned.find(name);
    if (mine != given.end() && its != planned.end() && mine->second != its->second)
      return contradiction(option + " " + setting, "has " + name + "=" + format(its->second));
  }
  return Status::ok();
}

/// Refuses options that ask for something else than what the plan computes.
static Status checkOptions(const RunOptions &options, const exec::PlanOrigin &origin, const Model &model,
                           const language::Binding &binding) {
  if (!options.backend.empty() && options.backend != origin.backend)
    return contradiction("--backend " + options.backend, "was made for " + origin.backend, "run the model itself");
  if (!options.model.dtype.empty() && options.model.dtype != origin.numbers)
    return contradiction("--dtype " + options.model.dtype, "computes with " + origin.numbers);
  if (!options.passes.empty() && options.passes != origin.passes)
    return contradiction("--passes " + options.passes, "was made with --passes " + origin.passes);
  const std::string precision = options.precision == "medium" ? "high" : options.precision;  // they are the same
  if (!precision.empty() && precision != origin.precision && origin.backend == exec::kCuda)
    return contradiction("--precision " + options.precision, "was made with --precision " + origin.precision);
  if (!options.machine.empty())
    return contradiction("--machine " + options.machine, "was chosen when it was made");
  if (!options.model.entry.empty() && options.model.entry != model.signature.name)
    return contradiction("--entry " + options.model.entry, "computes " + model.signature.name);
  if (options.grad && !origin.gradients)
    return contradiction("--grad", "computes no gradients");
  if (options.grad && *options.grad != *origin.gradients)
    return contradiction("--grad" + (options.grad->empty() ? "" : " " + listOf(*options.grad)),
                         "computes the gradients of " + listOf(*origin.gradients));
  // Attributes without a default need a value before the others can be bound.
  Settings settings = {origin.attributes, options.model.sizes};
  std::erase_if(settings.attributes, [&](const std::string &attribute) {
    const std::string start = attribute.substr(0, attribute.find('=') + 1);
    return std::any_of(options.model.settings.begin(), options.model.settings.end(),
                       [&](const std::string &setting) { return setting.starts_with(start); });
  });
  settings.attributes.insert(settings.attributes.end(), options.model.settings.begin(), options.model.settings.end());
  auto given = bind(model, settings);
  if (!given)
    return given.status();
  if (Status status = checkSettings("--set", options.model.settings, given->attributes, binding.attributes,
                                    language::formatConstant);
      !status.isOk())
    return status;
  return checkSettings("--size", options.model.sizes, given->sizes, binding.sizes,
                       [](int64_t size) { return std::to_string(size); });
}

/// Loads a plan's code and runs it on the tensors of its inputs: on the CPU, or on a device if there is one.
static Result<std::vector<NamedTensor>> compute(const RunOptions &options, int64_t memoryLimit,
                                                const exec::SavedPlan &saved, Device *device, const Graph &graph,
                                                const std::vector<NamedTensor> &arguments) {
  const std::string &path = options.model.path;
  const bool wideIds = exec::needsWideIds(graph);
  const std::string place = path + " on " + options.inputs.files();
  auto onRebuild = [&](const std::string &why) {
    std::fprintf(stderr, "note: %s: its code is made again from its source: %s\n", path.c_str(), why.c_str());
  };
  auto run = [&](auto &&loaded, auto &&start) -> Result<std::vector<NamedTensor>> {
    if (!loaded)
      return Status(loaded.status()).during(path);
    Result<std::vector<NamedTensor>> results = start(*loaded);
    if (!results)
      return std::move(results).status().during(place);
    return results;
  };
  if (device) {
    const DeviceOptions how = deviceOptions(options, memoryLimit);
    return run(loadSavedPlan(saved, wideIds, *device, how.events, onRebuild), [&](LoadedDevicePlan &ready) {
      return runPlan(ready.plan, std::move(ready.program), *device, graph, arguments, how);
    });
  }
  const CpuOptions how = cpuOptions(options, memoryLimit);
  return run(loadSavedPlan(saved, wideIds, how.events, onRebuild),
             [&](LoadedPlan &ready) { return runPlan(ready.plan, std::move(ready.kernels), graph, arguments, how); });
}

Status runSavedPlan(const RunOptions &options) {
  if (Status status = refuseOverwriting(options); !status.isOk())
    return status;
  const std::string &path = options.model.path;
  auto saved = exec::readPlanFile(path);
  if (!saved)
    return std::move(saved).status();
  const exec::PlanOrigin &origin = saved->origin;
  auto model = parseModel(origin.modelText, origin.modelPath, origin.entry);
  if (!model)
    return model.status();
  auto binding = bind(*model, {origin.attributes, origin.sizes});
  if (!binding)
    return Status(binding.status()).during(path);
  for (auto &[name, sizeOrigin] : binding->sizeOrigin)
    sizeOrigin = "the plan";
  if (Status status = checkOptions(options, origin, *model, *binding); !status.isOk())
    return std::move(status).during(path);
  auto memoryLimit = readMemoryLimit(options);
  if (!memoryLimit)
    return memoryLimit.status();
  std::unique_ptr<Device> device;
  if (origin.backend == exec::kCuda) {
    auto found = findGpu();
    if (!found)
      return Status::invalid(path + ": the plan is for a GPU: " + found.status().message() +
                             "; compile the model again with --backend cpu");
    device = std::move(*found);
  }
  auto loaded = loadCase(options.inputs, model->signature, *binding);
  if (!loaded)
    return loaded.status();

  const std::vector<Argument> inputs = argumentsOf(*saved->plan, loaded->graph);
  std::vector<std::string> ones;
  if (origin.gradients && options.inputs.initialSeed) {
    auto added = addUnitGradients(inputs, loaded->tensors);
    if (!added)
      return added.status();
    ones = std::move(*added);
  }
  auto arguments = bindTensors(inputs, loaded->tensors);
  if (!arguments)
    return std::move(arguments).status().during(options.inputs.files());
  noteInterrupts();  // a compiler is stopped, and steps stop between launches
  auto results = compute(options, *memoryLimit, *saved, device.get(), loaded->graph, *arguments);
  if (!results)
    return std::move(results).status();
  return writeResults(options, {model->signature.name, origin.backend, origin.numbers}, *loaded, ones, *results);
}

}  // namespace hector
