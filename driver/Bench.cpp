#include "driver/Bench.h"

#include "compiler/Analysis/Cost.h"
#include "driver/Arguments.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "driver/Cuda.h"
#include "driver/Initial.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Parallel.h"
#include "runtime/base/Text.h"
#include "runtime/exec/PlanText.h"
#include "runtime/graph/GraphFile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <malloc.h>
#include <memory>
#include <new>
#include <utility>
#include <variant>

namespace hector {

using language::Home;

double BenchResult::quantile(double share) const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted.empty() ? 0 : sorted[std::max<size_t>(rank, 1) - 1];
}

std::string cellName(const BenchFile &file, const BenchCell &cell) {
  std::string name =
      file.models[cell.model].name + "-" + file.graphs[cell.graph].name + "-" + std::string(phaseName(cell.phase));
  for (const auto &[key, value] : cell.swept)
    name += "-" + key + "=" + value;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Result<std::string> prepareGraph(const BenchGraph &graph, const std::string &folder) {
  if (const auto *path = std::get_if<std::string>(&graph.source))
    return *path;
  const std::string path = folder + "/" + graph.name + ".safetensors";
  if (const auto *import = std::get_if<ImportOptions>(&graph.source)) {
    Watch watch;
    watch.stop = [] { return interruptSignal() != 0; };
    ImportReport report;
    auto contents = importGraph(*import, watch, report);
    if (!contents)
      return std::move(contents).status();
    if (Status status = saveGraphFile(path, std::move(*contents)); !status.isOk())
      return status;
    return path;
  }
  const auto &synthetic = std::get<SyntheticOptions>(graph.source);
  if (Status status = requireMemory("graph " + inTicks(graph.name), syntheticBytes(synthetic)); !status.isOk())
    return status;
  auto made = makeSynthetic(synthetic, [](int64_t, int64_t) { return interruptSignal() == 0; });
  if (!made)
    return std::move(made).status();
  if (Status status = writeSafetensors(path, *made); !status.isOk())
    return status;
  return path;
}

namespace {

/// What the cells of a round have in common: the model bound, on a graph, with inputs.
struct Subject {
  const BenchFile &file;
  const Model &model;
  BenchPhase phase;
  language::Binding binding;
  Graph graph;
  Tensors tensors;  // inputs, and for training the gradients of results

  bool isTraining() const { return phase == BenchPhase::Training; }
  static Result<Subject> load(const BenchFile &file, const BenchCell &cell, const std::string &graphPath);
  /// Adds the gradients of results, whose shapes a plan tells.
  void addGradients(const exec::Plan &plan);
};

Result<Subject> Subject::load(const BenchFile &file, const BenchCell &cell, const std::string &graphPath) {
  const Model &model = file.models[cell.model].model;
  auto binding = bind(model, cell.settings);
  if (!binding)
    return std::move(binding).status();
  auto graph = loadGraph(graphPath, model.signature);
  if (!graph)
    return std::move(graph).status();
  Subject subject = {file, model, cell.phase, std::move(*binding), std::move(*graph), {}};
  std::vector<const language::InputDecl *> inputs;
  for (const language::InputDecl &input : model.signature.inputs)
    inputs.push_back(&input);
  auto tensors = initialTensors(inputs, subject.binding, subject.graph, file.seed);
  if (!tensors)
    return std::move(tensors).status();
  subject.tensors = std::move(*tensors);
  return subject;
}

void Subject::addGradients(const exec::Plan &plan) {
  for (const Argument &argument : argumentsOf(plan, graph))
    if (argument.name.starts_with("grad.")) {
      const language::InputDecl features = {argument.name, {}, Home::Node, {}};
      tensors[argument.name] = initialTensor(features, argument.shape, file.seed);
    }
}

/// A program before any pass, for the subject's graph.
Result<Program> import(const Subject &subject, NumberType numbers) {
  ProgramOptions options;
  options.numbers = numbers;
  if (subject.isTraining())
    options.gradients.emplace();
  auto program = Program::import(subject.model, subject.binding, options);
  if (!program)
    return program;
  if (Status status = program->attachGraph(subject.graph); !status.isOk())
    return status;
  return program;
}

/// What is predicted for each step of a plan. Groups become launches in their order, or bands of one; only constants
/// have launches besides, which come first. Nothing is predicted if that does not work out.
std::vector<std::optional<PredictedCost>> predictSteps(const exec::Plan &plan, const flow::Cost &cost) {
  const std::vector<std::optional<PredictedCost>> none(plan.steps.size());
  auto loopsOf = [](const exec::Step &step) { return step.launch.device ? step.launch.device->bands : 1; };
  size_t loops = 0;
  for (const exec::Step &step : plan.steps)
    loops += loopsOf(step);
  size_t constants = loops - std::min(loops, cost.groups.size());
  std::vector<std::optional<PredictedCost>> steps = none;
  size_t next = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const exec::Step &step = plan.steps[i];
    if (constants > 0 && step.launch.inputs.empty() && step.launch.forms.empty()) {
      --constants;
      continue;
    }
    PredictedCost &predicted = steps[i].emplace();
    for (int loop = 0; loop < loopsOf(step); ++loop) {
      if (next == cost.groups.size() ||
          static_cast<uint8_t>(cost.groups[next].phase) != static_cast<uint8_t>(step.phase))
        return none;
      const flow::GroupCost &group = cost.groups[next++];
      predicted.operations += group.operations;
      predicted.bytes += group.bytes;
      predicted.seconds += group.seconds;
      predicted.arithmeticSeconds += group.arithmeticSeconds;
    }
  }
  return next == cost.groups.size() ? steps : none;
}

/// A plan, and what its steps should cost.
struct PricedPlan {
  exec::Plan plan;
  std::vector<std::optional<PredictedCost>> steps;  // of each step of the plan
};

/// A plan for the CPU, or for a GPU if the machine is one.
Result<PricedPlan> makePricedPlan(const Subject &subject, const BenchWay &way, const MachineDescription &machine) {
  auto program = import(subject, *numberTypeFromName(way.dtype));
  if (!program)
    return std::move(program).status();
  program->attachMachine(machine);
  if (Status status = program->runPasses(way.passes); !status.isOk())
    return status;
  const flow::Cost cost = flow::estimate(program->function(), program->groupOptions());
  if (Status status = program->formGroups(); !status.isOk())
    return status;
  const bool wideIds = exec::needsWideIds(subject.graph);
  auto plan = machine.target == MachineTarget::Gpu
                  ? makeCudaPlan(*program, {.precision = precisionFromName(way.precision), .wideIds = wideIds})
                  : makePlan(*program, {.wideIds = wideIds});
  if (!plan)
    return std::move(plan).status();
  std::vector<std::optional<PredictedCost>> steps = predictSteps(*plan, cost);
  return PricedPlan{std::move(*plan), std::move(steps)};
}

struct CompiledCell {
  std::shared_ptr<const exec::Plan> plan;
  exec::KernelLookup kernels;                       // on the CPU
  std::shared_ptr<DeviceProgram> program;           // on a device
  std::vector<std::optional<PredictedCost>> steps;  // of each step of the plan
};

Result<CompiledCell> compile(const Subject &subject, const BenchWay &way, Device *device) {
  auto priced = makePricedPlan(subject, way, subject.file.machine);
  if (!priced)
    return std::move(priced).status();
  CompiledCell compiled;
  compiled.steps = std::move(priced->steps);
  compiled.plan = std::make_shared<const exec::Plan>(std::move(priced->plan));
  if (device) {
    auto program = loadKernels(*compiled.plan, *device);
    if (!program)
      return std::move(program).status();
    compiled.program = std::move(*program);
  } else {
    auto kernels = loadKernels(*compiled.plan);
    if (!kernels)
      return std::move(kernels).status();
    compiled.kernels = std::move(*kernels);
  }
  return compiled;
}

/// Results by name, as the judge has them.
using Answer = std::vector<NamedTensor>;

/// A plan in f64 for the CPU: without passes, or with the default ones where that does not fit into memory.
Result<std::shared_ptr<const exec::Plan>> referencePlan(const Subject &subject) {
  auto priced = makePricedPlan(subject, {.passes = "none", .dtype = "f64"}, defaultMachine());
  if (!priced)
    return std::move(priced).status();
  auto memory = exec::memoryFor(priced->plan, subject.graph, numThreads(), subject.tensors);
  if (!memory)
    return std::move(memory).status();
  if (memory->peakBytes() <= availableMemory())
    return std::make_shared<const exec::Plan>(std::move(priced->plan));
  auto program = import(subject, NumberType::F64);
  if (!program)
    return std::move(program).status();
  auto planned = planFor(*program, subject.graph, subject.tensors);
  if (!planned)
    return std::move(planned).status();
  return planned->plan;
}

/// What is right. Adds to the subject the gradients that training starts from.
Result<Answer> judge(Subject &subject) {
  auto plan = referencePlan(subject);
  if (!plan)
    return std::move(plan).status();
  subject.addGradients(**plan);
  if (subject.file.judge == BenchJudge::Interpreter) {
    auto program = import(subject, NumberType::F64);
    if (!program)
      return std::move(program).status();
    if (Status status = program->runPasses("none"); !status.isOk())
      return status;
    return run(*program, subject.graph, subject.tensors);
  }
  auto kernels = loadKernels(**plan);
  if (!kernels)
    return std::move(kernels).status();
  auto arguments = bindTensors(argumentsOf(**plan, subject.graph), subject.tensors);
  if (!arguments)
    return std::move(arguments).status();
  return runPlan(*plan, std::move(*kernels), subject.graph, *arguments);
}

/// The largest finite number of `right`, and the largest distance to it.
std::pair<double, double> largestOf(const Tensor &given, const Tensor &right) {
  constexpr int64_t kGrain = 1 << 16;
  auto part = [](const Tensor &tensor, int64_t begin, int64_t end) {
    const std::byte *bytes = tensor.bytes + static_cast<size_t>(begin) * byteSize(tensor.dtype);
    return Tensor{.dtype = tensor.dtype, .shape = {end - begin}, .bytes = bytes, .owner = tensor.owner}.toDoubles();
  };
  std::vector<std::pair<double, double>> parts(static_cast<size_t>(numChunks(right.numElements(), kGrain)));
  parallelFor(right.numElements(), kGrain, [&](int64_t begin, int64_t end) {
    const std::vector<double> values = part(given, begin, end), wanted = part(right, begin, end);
    auto &[largest, off] = parts[static_cast<size_t>(begin / kGrain)];
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::isfinite(wanted[i]))
        largest = std::max(largest, std::abs(wanted[i]));
      off = std::max(off, distanceBetween(values[i], wanted[i]));
    }
  });
  std::pair<double, double> all = {0, 0};
  for (const auto &[largest, off] : parts)
    all = {std::max(all.first, largest), std::max(all.second, off)};
  return all;
}

/// The largest difference of any result, relative to its largest number.
struct Distance {
  double error = 0;
  std::string worst;
};

Distance distance(const Answer &actual, const Answer &expected) {
  Distance distance;
  for (const NamedTensor &wanted : expected) {
    auto given =
        std::find_if(actual.begin(), actual.end(), [&](const NamedTensor &t) { return t.name == wanted.name; });
    if (given == actual.end() || given->tensor.shape != wanted.tensor.shape)
      return {std::numeric_limits<double>::infinity(), wanted.name};
    const auto [largest, off] = largestOf(given->tensor, wanted.tensor);
    const double error = largest > 0 ? off / largest : off;
    if (distance.worst.empty() || error > distance.error)
      distance = {error, wanted.name};
  }
  return distance;
}

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A cell that is ready to run, on the CPU or on a device.
struct Contender {
  CompiledCell compiled;
  std::shared_ptr<std::vector<std::vector<double>>> stepTimes;  // of each step of the plan, while a profile is made
  std::shared_ptr<bool> isProfiling;
  std::variant<std::monostate, exec::Executor, exec::DeviceExecutor> executor;
  std::vector<NamedTensor> parameters;  // those that training would change
  double prepareSeconds = 0;
  double wallSeconds = 0;  // of the last step on a device, by the clock of the host

  /// `graph` is the subject's, or a copy that nothing has been derived from yet.
  static Result<Contender> make(const Subject &subject, const BenchWay &way, const Graph &graph, Device *device,
                                const exec::TuningNote &onTuned);
  /// Runs a step and gives the seconds that it took.
  Result<double> step(bool isTraining);
  void startProfile();

  Result<Answer> results() const;
  int64_t peakBytes() const;

private:
  Status prepare(const Graph &graph, const std::vector<NamedTensor> &arguments, const BenchWay &way, Device *device,
                 const exec::TuningNote &onTuned);
};

Status Contender::prepare(const Graph &graph, const std::vector<NamedTensor> &arguments, const BenchWay &way,
                          Device *device, const exec::TuningNote &onTuned) {
  // Inputs are set apart, so that the time is that of what belongs to the graph.
  auto keep = [&](auto made, Clock::time_point start) -> Status {
    if (!made)
      return std::move(made).status();
    prepareSeconds = secondsSince(start);
    for (const NamedTensor &argument : arguments)
      if (Status status = made->setInput(argument.name, argument.tensor); !status.isOk())
        return status;
    executor = std::move(*made);
    return Status::ok();
  };
  const auto start = Clock::now();
  if (device)
    return keep(exec::DeviceExecutor::create(compiled.plan, compiled.program, *device, graph,
                                             {.isRecorded = true, .onTuned = onTuned, .isTimed = true}),
                start);
  exec::ExecOptions options;
  options.threads = way.threads;
  options.onStep = [times = stepTimes, isOn = isProfiling](size_t step, double seconds) {
    if (*isOn)
      (*times)[step].push_back(seconds);
  };
  return keep(exec::Executor::create(compiled.plan, compiled.kernels, graph, options), start);
}

Result<Contender> Contender::make(const Subject &subject, const BenchWay &way, const Graph &graph, Device *device,
                                  const exec::TuningNote &onTuned) {
  auto compiled = compile(subject, way, device);
  if (!compiled)
    return std::move(compiled).status();
  Contender contender;
  contender.compiled = std::move(*compiled);
  const exec::Plan &plan = *contender.compiled.plan;
  contender.stepTimes = std::make_shared<std::vector<std::vector<double>>>(plan.steps.size());
  contender.isProfiling = std::make_shared<bool>(false);
  auto arguments = bindTensors(argumentsOf(plan, graph), subject.tensors);
  if (!arguments)
    return std::move(arguments).status();
  if (Status status = contender.prepare(graph, *arguments, way, device, onTuned); !status.isOk())
    return status;
  for (NamedTensor &argument : *arguments) {
    const language::InputDecl *input = subject.model.signature.findInput(argument.name);
    if (input && input->home != Home::Node && input->home != Home::Edge)
      contender.parameters.push_back(std::move(argument));
  }
  return contender;
}

Result<double> Contender::step(bool isTraining) {
  const exec::Phase last = isTraining ? exec::Phase::Backward : exec::Phase::Forward;
  auto run = [&](auto &executor) -> Status {
    if (isTraining)
      for (const NamedTensor &parameter : parameters)
        if (Status status = executor.setInput(parameter.name, parameter.tensor); !status.isOk())
          return status;
    const auto start = Clock::now();
    Status status = executor.run(exec::Phase::Forward, last);
    wallSeconds = secondsSince(start);
    return status;
  };
  if (auto *onDevice = std::get_if<exec::DeviceExecutor>(&executor)) {
    if (Status status = run(*onDevice); !status.isOk())
      return status;
    for (const exec::DeviceExecutor::LaunchTime &launch : onDevice->profile())
      (*stepTimes)[launch.step].push_back(launch.ms / 1e3);
    return onDevice->runMs() / 1e3;
  }
  const auto start = Clock::now();
  if (Status status = run(std::get<exec::Executor>(executor)); !status.isOk())
    return status;
  return secondsSince(start);
}

void Contender::startProfile() {
  *isProfiling = true;
  if (auto *onDevice = std::get_if<exec::DeviceExecutor>(&executor))
    onDevice->setProfiled(true);
}

Result<Answer> Contender::results() const {
  if (const auto *onDevice = std::get_if<exec::DeviceExecutor>(&executor))
    return resultsOf(*onDevice, *compiled.plan);
  return resultsOf(std::get<exec::Executor>(executor), *compiled.plan);
}

int64_t Contender::peakBytes() const {
  const auto *onDevice = std::get_if<exec::DeviceExecutor>(&executor);
  return onDevice ? onDevice->peakBytes() : std::get<exec::Executor>(executor).peakBytes();
}

double medianOf(std::vector<double> values) {
  BenchResult result;
  result.seconds = std::move(values);
  return result.quantile(0.5);
}

/// Whether a phase of the plan takes part in a step.
bool isMeasured(exec::Phase phase, bool isTraining) {
  return phase == exec::Phase::Forward || (isTraining && phase != exec::Phase::Graph);
}

void addProfile(BenchResult &result, const Contender &contender, bool isTraining) {
  const exec::Plan &plan = *contender.compiled.plan;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (isMeasured(plan.steps[i].phase, isTraining))
      result.kernels.push_back({plan.steps[i].launch.label, plan.steps[i].phase, medianOf((*contender.stepTimes)[i]),
                                contender.compiled.steps[i]});
}

Status keep(const BenchFile &file, const BenchCell &cell, const Subject &subject, const std::string &graphPath,
            const Answer &answer, const std::string &folder) {
  auto contents = readSafetensors(graphPath);
  if (!contents)
    return std::move(contents).status();
  for (const auto &[name, tensor] : subject.tensors)
    contents->tensors[name] = tensor;
  const std::string stem = folder + "/" + cellName(file, cell);
  if (Status status = writeSafetensors(stem + ".case.safetensors", *contents); !status.isOk())
    return status;
  TensorFile out;
  for (const NamedTensor &result : answer)
    out.tensors[result.name] = result.tensor;
  return writeSafetensors(stem + ".out.safetensors", out);
}

/// What `body` gives, or that memory does not suffice for it.
template <class F> auto withinMemory(F &&body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status::failed("out of memory");
  }
}

/// A round that is being measured.
class Round {
public:
  Round(const BenchFile &file, std::span<const BenchCell> cells, std::string graphPath, const BenchOptions &options)
      : file(file), graphPath(std::move(graphPath)), options(options), contenders(cells.size()) {
    results.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i)
      results[i].cell = cells[i];
  }

  std::vector<BenchResult> measure() {
    Status status = withinMemory([&] { return run(); });
    if (!status.isOk())
      for (BenchResult &result : results)
        if (result.failure.empty())
          fail(result, status);
    return std::move(results);
  }

private:
  static void fail(BenchResult &result, const Status &status) {
    result.failure = status.message();
    result.isRight = false;
    result.seconds.clear();
    result.wallSeconds.clear();
  }
  void say(const std::string &what, const BenchCell &cell) const {
    if (options.onTask)
      options.onTask(cellName(file, cell) + ": " + what);
  }

  /// Fails if nothing can be measured. A failure of one cell is in its result.
  Status run();
  Status prepare(size_t i, const Subject &subject);
  /// Compares a contender's results with the judge's.
  Status check(size_t i, const Subject &subject, bool isLast);
  /// Runs each contender `times` times, in turns. `isTimed` keeps how long it took.
  void takeTurns(int times, bool isTraining, bool isTimed);

  const BenchFile &file;
  std::string graphPath;
  const BenchOptions &options;
  Answer expected;
  std::vector<std::optional<Contender>> contenders;  // none where a cell failed or is wrong
  std::vector<BenchResult> results;
};

Status Round::check(size_t i, const Subject &subject, bool isLast) {
  BenchResult &result = results[i];
  auto answer = contenders[i]->results();
  if (!answer)
    return std::move(answer).status();
  const Distance found = distance(*answer, expected);
  if (!isLast || found.error > result.error) {
    result.error = found.error;
    result.worst = found.worst;
  }
  result.isRight = result.error <= file.rtol;
  if (!isLast && !options.keepFolder.empty())
    return keep(file, result.cell, subject, graphPath, *answer, options.keepFolder);
  return Status::ok();
}

Status Round::prepare(size_t i, const Subject &subject) {
  BenchResult &result = results[i];
  say("compiling", result.cell);
  // Planning derives some of what a plan reads of the graph. Where that is measured, it starts from the file again.
  std::optional<Graph> fresh;
  if (file.reports(BenchColumn::Prepare)) {
    auto graph = loadGraph(graphPath, subject.model.signature);
    if (!graph)
      return std::move(graph).status();
    fresh.emplace(std::move(*graph));
  }
  auto made =
      Contender::make(subject, result.cell.way, fresh ? *fresh : subject.graph, options.device, options.onTuned);
  if (!made)
    return std::move(made).status();
  contenders[i].emplace(std::move(*made));
  result.prepareSeconds = contenders[i]->prepareSeconds;
  result.peakBytes = contenders[i]->peakBytes();
  const exec::Plan &plan = *contenders[i]->compiled.plan;
  TextHash hash;
  hash.add(exec::planText(plan, {}));
  hash.add(plan.source);
  result.plan = hash.digest();
  for (size_t step = 0; step < plan.steps.size(); ++step)
    if (const auto &cost = contenders[i]->compiled.steps[step];
        cost && isMeasured(plan.steps[step].phase, subject.isTraining())) {
      result.predicted.operations += cost->operations;
      result.predicted.bytes += cost->bytes;
      result.predicted.seconds += cost->seconds;
      result.predicted.arithmeticSeconds += cost->arithmeticSeconds;
    }
  const auto start = Clock::now();
  if (auto step = contenders[i]->step(subject.isTraining()); !step)
    return std::move(step).status();
  result.firstSeconds = secondsSince(start);
  // A device records its launches in the second step, which is no part of any time. What is replayed is what is
  // checked.
  // Where that is tuned, all ways take their turns before; the first step may have had phases of the graph as well.
  for (int extra = options.device ? 1 + (options.onTuned ? 1 + exec::kTuningRuns : 0) : 0; extra > 0; --extra)
    if (auto step = contenders[i]->step(subject.isTraining()); !step)
      return std::move(step).status();
  return check(i, subject, false);
}

void Round::takeTurns(int times, bool isTraining, bool isTimed) {
  for (int run = 0; run < times; ++run)
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (!contenders[i])
        continue;
      auto seconds = withinMemory([&] { return contenders[i]->step(isTraining); });
      if (seconds) {
        if (isTimed) {
          results[i].seconds.push_back(*seconds);
          if (options.device)
            results[i].wallSeconds.push_back(contenders[i]->wallSeconds);
        }
        continue;
      }
      fail(results[i], seconds.status());
      contenders[i].reset();
    }
}

Status Round::run() {
  const BenchCell &first = results.front().cell;
  say("loading the graph", first);
  auto subject = Subject::load(file, first, graphPath);
  if (!subject)
    return std::move(subject).status();
  const bool isTraining = subject->isTraining();
  say("computing what is right", first);
  auto answer = judge(*subject);
  if (!answer)
    return std::move(answer).status();
  expected = std::move(*answer);
  for (size_t i = 0; i < results.size(); ++i) {
    if (Status status = withinMemory([&] { return prepare(i, *subject); }); !status.isOk())
      fail(results[i], status);
    if (!results[i].failure.empty() || !results[i].isRight)
      contenders[i].reset();
  }
  say("measuring", first);
  takeTurns(file.warmup, isTraining, false);
  takeTurns(file.runs, isTraining, true);
  // What is left from one run must not change the next.
  for (size_t i = 0; i < results.size(); ++i) {
    if (!contenders[i])
      continue;
    if (Status status = withinMemory([&] { return check(i, *subject, true); }); !status.isOk())
      fail(results[i], status);
    if (!results[i].isRight) {
      results[i].seconds.clear();
      results[i].wallSeconds.clear();
      contenders[i].reset();
    }
  }
  if (!options.profile)
    return Status::ok();
  for (auto &contender : contenders)
    if (contender)
      contender->startProfile();
  takeTurns(file.runs, isTraining, false);
  for (size_t i = 0; i < results.size(); ++i)
    if (contenders[i])
      addProfile(results[i], *contenders[i], isTraining);
  return Status::ok();
}

}  // namespace

std::vector<BenchResult> measureRound(const BenchFile &file, std::span<const BenchCell> round,
                                      const std::string &graphPath, const BenchOptions &options) {
  return Round(file, round, graphPath, options).measure();
}

Result<int64_t> measureMemory(const BenchFile &file, const BenchCell &cell, const std::string &graphPath,
                              Device *device, const exec::TuningNote &onTuned) {
  // Forms that planning derives from the graph would be there already, so that the graph is loaded again.
  CompiledCell compiled;
  {
    auto subject = Subject::load(file, cell, graphPath);
    if (!subject)
      return std::move(subject).status();
    auto made = compile(*subject, cell.way, device);
    if (!made)
      return std::move(made).status();
    compiled = std::move(*made);
  }
  auto subject = Subject::load(file, cell, graphPath);
  if (!subject)
    return std::move(subject).status();
  subject->addGradients(*compiled.plan);
  auto arguments = bindTensors(argumentsOf(*compiled.plan, subject->graph), subject->tensors);
  if (!arguments)
    return std::move(arguments).status();
  auto runTwice = [](auto &executor) -> Status {
    if (!executor)
      return std::move(executor).status();
    for (int run = 0; run < 2; ++run)
      if (Status status = executor->runAll(); !status.isOk())
        return status;
    return Status::ok();
  };
  if (device) {
    auto before = device->freeBytes();
    if (!before)
      return before;
    auto executor = prepareExecutor(compiled.plan, compiled.program, *device, subject->graph, *arguments,
                                    {.isRecorded = true, .onTuned = onTuned});
    if (Status status = runTwice(executor); !status.isOk())
      return status;
    auto after = device->freeBytes();
    if (!after)
      return after;
    return std::max<int64_t>(0, *before - *after);
  }
  malloc_trim(0);  // what compiling left behind
  if (Status status = resetPeakResident(); !status.isOk())
    return status;
  const int64_t before = residentBytes();
  exec::ExecOptions options;
  options.threads = cell.way.threads;
  auto executor = prepareExecutor(compiled.plan, compiled.kernels, subject->graph, *arguments, options);
  if (Status status = runTwice(executor); !status.isOk())
    return status;
  return std::max<int64_t>(0, peakResidentBytes() - before);
}

}  // namespace hector
