/// `hector run`: one model on one graph.

#include "Commands.h"
#include "driver/Cpu.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Text.h"
#include "runtime/jit/Compiler.h"
#include "runtime/machine/Machine.h"
#include "runtime/storage/File.h"

#include <cstdio>

namespace hector {

/// The backend and number type that the options ask for, or what is wrong with them.
static Status chooseBackend(RunOptions &options) {
  std::string &backend = options.backend, &dtype = options.model.dtype;
  if (backend == "cuda")
    return Status::invalid("this build has no `cuda` backend; run with --backend cpu or interp");
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
  if (dtype == "tf32")
    return Status::invalid("tf32 is a mode of GPU matrix units; the " +
                           std::string(backend == "interp" ? "interpreter" : "CPU") + " has f64, f32, f16 and bf16");
  return Status::ok();
}

/// How the options have a plan made.
static Result<PlanOptions> planOptions(const RunOptions &options) {
  PlanOptions plan;
  plan.passes = options.passes;
  plan.threads = options.threads;
  if (options.memoryLimit.empty())
    return plan;
  auto bytes = parseBytes(options.memoryLimit);
  if (!bytes || *bytes == 0)
    return Status::invalid("--memory-limit is " + inTicks(options.memoryLimit) + "; expected " + kByteForms +
                           ", from 1 to 1024G, such as 512M or 8G");
  plan.memoryLimit = *bytes;
  return plan;
}

/// How the options have it run.
static CpuOptions cpuOptions(const RunOptions &options, int64_t memoryLimit) {
  CpuOptions cpu;
  cpu.exec = {.threads = options.threads, .memoryLimit = memoryLimit, .poison = options.poison};
  if (options.train)
    cpu.seed = options.seed;
  cpu.step = options.step;
  auto print = [](const std::string &line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  cpu.events = {print, print};
  return cpu;
}

/// "  out [77, 8] F64".
static std::string line(const std::string &name, const Tensor &tensor) {
  return "  " + name + " " + formatShape(tensor.shape) + " " + std::string(hector::name(tensor.dtype)) + "\n";
}

/// What `--init` made: inputs from the seed, and gradients of ones.
static std::string describeInitial(const RunOptions &options, const Case &loaded,
                                   const std::vector<std::string> &ones) {
  std::string text;
  if (!loaded.initialised.empty())
    text += "initialised from seed " + std::to_string(*options.inputs.initialSeed) + "\n";
  for (const std::string &name : loaded.initialised)
    text += line(name, loaded.tensors.at(name));
  if (!ones.empty())
    text += "filled with ones\n";
  for (const std::string &name : ones)
    text += line(name, loaded.tensors.at(name));
  return text;
}

static Status runModel(RunOptions options) {
  if (Status status = chooseBackend(options); !status.isOk())
    return status;
  auto plan = planOptions(options);
  if (!plan)
    return plan.status();
  std::vector<std::string> inputs = {options.model.path, options.inputs.graph};
  inputs.insert(inputs.end(), options.inputs.tensors.begin(), options.inputs.tensors.end());
  if (Status status = refuseOverwriting(options.outPath, inputs); !status.isOk())
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
  std::optional<Planned> planned;
  if (isCompiled) {
    noteInterrupts();  // the compiler is stopped, and steps stop between launches
    auto made = planFor(*program, loaded->graph, loaded->tensors, *plan);
    if (!made)
      return std::move(made).status();
    planned.emplace(std::move(*made));
  } else if (Status status = program->runPasses(options.passes); !status.isOk()) {
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
  auto results = isCompiled ? runOnCpu(*planned, loaded->graph, loaded->tensors, cpuOptions(options, plan->memoryLimit))
                            : run(*program, loaded->graph, loaded->tensors,
                                  {.isTraining = options.train, .seed = options.seed, .step = options.step});
  if (!results)
    return std::move(results).status().during(options.inputs.files());

  TensorFile out;
  out.metadata["model"] = model->signature.name;
  std::string written;
  for (const auto &[name, tensor] : *results) {
    written += line(name, tensor);
    out.tensors[name] = tensor;
  }
  if (Status status = writeSafetensors(options.outPath, out); !status.isOk())
    return status;
  std::printf("%s: %s, %s, %s; %s, %s\n%swrote %s\n%s", model->signature.name.c_str(),
              counted(loaded->graph.numNodes(), "node").c_str(), counted(loaded->graph.numEdges(), "edge").c_str(),
              counted(loaded->graph.numRelations(), "edge type").c_str(), options.backend.c_str(),
              options.model.dtype.c_str(), describeInitial(options, *loaded, ones).c_str(), options.outPath.c_str(),
              written.c_str());
  return Status::ok();
}

int runCommand(const RunOptions &options) {
  Status status = runModel(options);
  if (status.isOk())
    return kExitFine;
  const int code = report(status);
  return interruptSignal() != 0 ? interruptExitCode() : code;
}

}  // namespace hector
