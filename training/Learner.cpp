#include "training/Learner.h"

#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "driver/Kernels.h"
#include "runtime/base/Memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hector::training {

// --- compiling
// --------------------------------------------------------------------------------------------------------

/// Training computes with gradients in f32. Where a plan does not fit and the advice is to change that, there is other
/// advice.
static Status withOwnAdvice(Status status) {
  const std::string &message = status.message();
  const size_t advice = message.rfind("; ");
  if (advice == std::string::npos ||
      (message.find("--dtype", advice) == std::string::npos && message.find("--grad", advice) == std::string::npos))
    return status;
  const bool isLimited = message.find("allow more", advice) != std::string::npos;
  const std::string text = message.substr(0, advice) + "; " + (isLimited ? "allow more with --memory-limit, or " : "") +
                           "use smaller layers";
  return isLimited ? Status::invalid(text) : Status::failed(text);
}

/// Without a runner yet, and so is the next.
static Result<Compiled> compileForCpu(const Program &program, const Graph &graph, const Tensors &tensors,
                                      const CompileSettings &settings, int64_t memoryLimit) {
  PlanOptions options;
  options.passes = settings.passes;
  options.threads = settings.threads;
  options.memoryLimit = memoryLimit;
  auto planned = planFor(program, graph, tensors, options);
  if (!planned)
    return std::move(planned).status();
  auto kernels = loadKernels(*planned->plan);
  if (!kernels)
    return std::move(kernels).status();
  exec::ExecOptions exec;
  exec.threads = settings.threads;
  exec.memoryLimit = memoryLimit;
  return Compiled{planned->plan, planned->passes, runnersOnCpu(planned->plan, std::move(*kernels), exec), nullptr};
}

static Result<Compiled> compileForDevice(const Program &program, const Graph &graph, const CompileSettings &settings,
                                         int64_t memoryLimit) {
  exec::DeviceExecOptions exec;
  exec.memoryLimit = memoryLimit;
  exec.isRecorded = !settings.isBoundAnew;
  exec.onTuned = settings.onTuned;
  auto planned =
      planForDevice(program, graph,
                    {.passes = settings.passes, .machine = settings.machine, .device = settings.device, .exec = exec});
  if (!planned)
    return std::move(planned).status();
  auto kernels = loadKernels(*planned->plan, *settings.device);
  if (!kernels)
    return std::move(kernels).status();
  return Compiled{planned->plan, planned->passes,
                  runnersOnDevice(planned->plan, std::move(*kernels), *settings.device, exec), nullptr};
}

Result<Compiled> compileProgram(Program program, const Graph &graph, const Tensors &tensors,
                                const CompileSettings &settings) {
  if (Status status = program.attachGraph(graph); !status.isOk())
    return status;
  // What is left of the limit; 0 would be no limit.
  const int64_t left = settings.memoryLimit > 0 ? std::max<int64_t>(1, settings.memoryLimit - settings.takenBytes) : 0;
  auto explained = [&](Status status) {
    status = withOwnAdvice(std::move(status));
    if (left == 0 || settings.takenBytes == 0)
      return status;
    return std::move(status).during("other plans take " + formatBytes(settings.takenBytes) + " of the limit of " +
                                    formatBytes(settings.memoryLimit));
  };
  auto made = settings.device ? compileForDevice(program, graph, settings, left)
                              : compileForCpu(program, graph, tensors, settings, left);
  if (!made)
    return explained(std::move(made).status());
  auto runner = made->make(graph);
  if (!runner)
    return explained(std::move(runner).status());
  made->runner = std::move(*runner);
  return made;
}

// --- learning
// ---------------------------------------------------------------------------------------------------------

Result<Learner> Learner::make(Program program, const Graph &graph, Tables parameters, const Tensors &state,
                              const Tensors &inputs, const OptimiserConfig &optimiser,
                              const CompileSettings &settings) {
  Tensors tensors = inputs;
  for (const auto &[name, table] : parameters)
    tensors[name] = table.tensor();
  auto compiled = compileProgram(std::move(program), graph, tensors, settings);
  if (!compiled)
    return std::move(compiled).status();
  Learner learner(std::move(*compiled), optimiser);
  learner.tables = std::move(parameters);
  for (const exec::Port &input : learner.compiled.plan->inputs) {
    if (input.name.starts_with("state.")) {
      // The state of `layer1.W` has its shape.
      const std::string name = input.name.substr(std::strlen("state."));
      const std::string parameter = name.substr(name.find('.') + 1);
      auto saved = state.find(name);
      learner.kept.emplace(input.name, saved != state.end() ? Table(saved->second)
                                                            : Table(learner.tables.at(parameter).tensor().shape));
    } else if (input.name.starts_with("step.")) {
      learner.numbers.emplace(input.name, Table(std::vector<int64_t>()));
    } else if (auto given = inputs.find(input.name); given != inputs.end()) {
      if (Status status = learner.setInput(input.name, given->second); !status.isOk())
        return status;
    }
  }
  if (Status status = learner.setTables(); !status.isOk())
    return status;
  return learner;
}

/// Hands the plan all that belongs to the learner. Numbers too: the phases before the first step want them.
Status Learner::setTables() {
  for (const Tables *all : {&tables, &kept})
    for (const auto &[name, table] : *all)
      if (Status status = setInput(name, table.tensor()); !status.isOk())
        return status;
  return setNumbers(0, 1, true);
}

Status Learner::bind(const Graph &graph) {
  if (Status status = fetch(); !status.isOk())
    return status;
  // The memory of the old runner is free before the new one takes its own.
  compiled.runner.reset();
  auto runner = compiled.make(graph);
  if (!runner)
    return std::move(runner).status();
  compiled.runner = std::move(*runner);
  return setTables();
}

Status Learner::setNumbers(int64_t step, double rateFactor, bool isFirst) {
  const double t = static_cast<double>(step) + 1, rate = optimiser.rate * rateFactor;
  const bool isAdam = optimiser.kind != OptimiserKind::Sgd;
  const std::map<std::string, double> values = {
      {"step.rate", isAdam ? rate / (1 - std::pow(optimiser.beta1, t)) : rate},
      {"step.scale", 1 / std::sqrt(1 - std::pow(optimiser.beta2, t))},
      {"step.decay", optimiser.decay},
      {"step.keep", 1 - rate * optimiser.decay},
      {"step.momentum", optimiser.momentum},
      {"step.beta1", optimiser.beta1},
      {"step.gain1", 1 - optimiser.beta1},
      {"step.beta2", optimiser.beta2},
      {"step.gain2", 1 - optimiser.beta2},
      {"step.epsilon", optimiser.epsilon},
  };
  for (auto &[name, table] : numbers) {
    const auto value = static_cast<float>(values.at(name));
    if (!isFirst && *table.data() == value)
      continue;
    *table.data() = value;
    if (Status status = setInput(name, table.tensor()); !status.isOk())
      return status;
  }
  return Status::ok();
}

Status Learner::forward(uint64_t seed, int64_t step) {
  compiled.runner->setTraining(seed, static_cast<uint64_t>(step));
  return compiled.runner->run(exec::Phase::Graph, exec::Phase::Forward);
}

Status Learner::backward(int64_t step, double rateFactor) {
  if (Status status = setNumbers(step, rateFactor); !status.isOk())
    return status;
  return compiled.runner->run(exec::Phase::Backward, exec::Phase::Backward);
}

Status Learner::accept() {
  isFetched = false;
  for (const Tables *all : {&tables, &kept})
    for (const auto &[name, table] : *all)
      if (Status status = compiled.runner->take(name, "next." + name, table); !status.isOk())
        return status;
  return Status::ok();
}

Status Learner::fetch() {
  if (isFetched)
    return Status::ok();
  for (const Tables *all : {&tables, &kept})
    for (const auto &[name, table] : *all)
      if (Status status = compiled.runner->fetch(name, table); !status.isOk())
        return status;
  isFetched = true;
  return Status::ok();
}

Result<double> Learner::number(std::string_view result) {
  auto table = view(result);
  if (!table)
    return std::move(table).status();
  return static_cast<double>(*static_cast<const float *>(table->data));
}

Tensors Learner::state() const {
  Tensors all;
  for (const auto &[name, table] : kept)
    all[name.substr(std::strlen("state."))] = table.tensor();
  return all;
}

}  // namespace hector::training
