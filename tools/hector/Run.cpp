/// `hector run`: one model on one graph.

#include "Commands.h"
#include "RunPlan.h"
#include "RunReport.h"
#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "runtime/base/Interrupt.h"
#include "runtime/jit/Compiler.h"

#include <cstdio>
#include <memory>
#include <optional>

namespace hector {

/// The backend and number type that the options ask for, or what is wrong with them.
static Status chooseBackend(RunOptions &options) {
  std::string &backend = options.backend, &dtype = options.model.dtype;
  if (backend.empty()) {
    backend = "cpu";
    NotedInterrupts noted;  // the compiler is tried in a folder that is to be removed
    auto compiler = findCompiler();
    if (interruptSignal())
      return Status::failed("interrupted");
    if (!compiler) {
      std::fprintf(stderr, "note: the interpreter runs, which is slow: %s\n", compiler.status().message().c_str());
      backend = "interp";
      if (dtype.empty())
        dtype = "f32";
    }
  }
  if (dtype.empty())
    dtype = backend == "interp" ? "f64" : "f32";
  return settleTf32(dtype, options.precision, backend);
}

static Status runModel(RunOptions options) {
  if (Status status = chooseBackend(options); !status.isOk())
    return status;
  auto machine = chooseGpu(options.machine, options.backend);
  if (!machine)
    return machine.status();
  auto memoryLimit = readMemoryLimit(options);
  if (!memoryLimit)
    return memoryLimit.status();
  if (Status status = refuseOverwriting(options); !status.isOk())
    return status;
  auto model = loadModel(options.model.path, options.model.entry);
  if (!model)
    return model.status();
  auto binding = bind(*model, {options.model.settings, options.model.sizes});
  if (!binding)
    return binding.status();
  auto loaded = loadCase(options.inputs, model->signature, *binding);
  if (!loaded)
    return loaded.status();

  auto program = Program::import(*model, *binding,
                                 {.numbers = *numberTypeFromName(options.model.dtype), .gradients = options.grad});
  if (!program)
    return program.status();
  if (Status status = program->attachGraph(loaded->graph); !status.isOk())
    return std::move(status).during(options.inputs.graph);
  const bool isCompiled = options.backend == "cpu";
  std::unique_ptr<Device> device;
  if (options.backend == "cuda") {
    auto found = findGpu();
    if (!found)
      return Status::invalid("--backend cuda: " + found.status().message() + "; run with --backend cpu");
    device = std::move(*found);
  }
  const std::string passes = options.passes.empty() ? "default" : options.passes;
  std::optional<Planned> planned;
  if (isCompiled) {
    PlanOptions plan;
    plan.passes = passes;
    plan.threads = options.threads;
    plan.memoryLimit = *memoryLimit;
    noteInterrupts();  // the compiler is stopped, and steps stop between launches
    auto made = planFor(*program, loaded->graph, loaded->tensors, plan);
    if (!made)
      return std::move(made).status();
    planned.emplace(std::move(*made));
  } else if (device) {
    noteInterrupts();
    auto made = planForDevice(*program, loaded->graph,
                              {.passes = passes,
                               .precision = precisionFromName(options.precision),
                               .machine = *machine,
                               .device = device.get(),
                               .exec = deviceOptions(options, *memoryLimit).exec});
    if (!made)
      return std::move(made).status();
    planned.emplace(std::move(*made));
  } else if (Status status = program->runPasses(passes); !status.isOk()) {
    return status;
  }
  const Program &compiled = planned ? planned->program : *program;
  std::vector<std::string> ones;
  if (options.grad && options.inputs.initialSeed) {
    auto added = addUnitGradients(compiled, loaded->graph, loaded->tensors);
    if (!added)
      return added.status();
    ones = std::move(*added);
  }
  auto compute = [&]() -> Result<std::vector<NamedTensor>> {
    if (isCompiled)
      return runOnCpu(*planned, loaded->graph, loaded->tensors, cpuOptions(options, *memoryLimit));
    if (device)
      return runOnDevice(*planned, loaded->graph, loaded->tensors, *device, deviceOptions(options, *memoryLimit));
    return run(*program, loaded->graph, loaded->tensors,
               {.isTraining = options.train, .seed = options.seed, .step = options.step});
  };
  auto results = compute();
  if (!results)
    return std::move(results).status().during(options.inputs.files());

  return writeResults(options, {model->signature.name, options.backend, options.model.dtype}, *loaded, ones, *results);
}

int runCommand(const RunOptions &options) {
  Status status = namesPlan(options.model.path) ? runSavedPlan(options) : runModel(options);
  if (status.isOk())
    return kExitFine;
  const int code = report(status);
  return interruptSignal() != 0 ? interruptExitCode() : code;
}

}  // namespace hector
