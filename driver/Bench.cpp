#include "driver/Bench.h"

#include "compiler/Analysis/Cost.h"
#include "driver/Arguments.h"
#include "driver/Case.h"
#include "driver/Cpu.h"
#include "driver/Initial.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
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

/// What is predicted for each step of a plan. Groups become launches in their order; only constants have launches
/// besides. Nothing is predicted if that does not work out.
std::vector<std::optional<PredictedCost>> predictSteps(const exec::Plan &plan, const flow::Cost &cost) {
  std::vector<std::optional<PredictedCost>> steps(plan.steps.size());
  size_t next = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool isConstant = plan.steps[i].launch.inputs.empty() && plan.steps[i].launch.forms.empty();
    if (next == cost.groups.size() ||
        static_cast<uint8_t>(cost.groups[next].phase) != static_cast<uint8_t>(plan.steps[i].phase)) {
      if (isConstant)
        continue;
      return std::vector<std::optional<PredictedCost>>(plan.steps.size());
    }
    const flow::GroupCost &group = cost.groups[next++];
    steps[i] = {group.operations, group.bytes, group.seconds, group.arithmeticSeconds};
  }
  if (next != cost.groups.size())
    return std::vector<std::optional<PredictedCost>>(plan.steps.size());
  return steps;
}

/// A plan, and what its steps should cost.
struct PricedPlan {
  exec::Plan plan;
  std::vector<std::optional<PredictedCost>> steps;  // of each step of the plan
};

Result<PricedPlan> makePricedPlan(const Subject &subject, const BenchWay &way) {
  auto program = import(subject, *numberTypeFromName(way.dtype));
  if (!program)
    return std::move(program).status();
  program->attachMachine(subject.file.machine);
  if (Status status = program->runPasses(way.passes); !status.isOk())
    return status;
  const flow::Cost cost = flow::estimate(program->function(), program->groupOptions());
  if (Status status = program->formGroups(); !status.isOk())
    return status;
  auto plan = makePlan(*program, {.wideIds = exec::needsWideIds(subject.graph)});
  if (!plan)
    return std::move(plan).status();
  std::vector<std::optional<PredictedCost>> steps = predictSteps(*plan, cost);
  return PricedPlan{std::move(*plan), std::move(steps)};
}

struct CompiledCell {
  std::shared_ptr<const exec::Plan> plan;
  exec::KernelLookup kernels;
  std::vector<std::optional<PredictedCost>> steps;  // of each step of the plan
};

Result<CompiledCell> compile(PricedPlan priced) {
  auto kernels = loadKernels(priced.plan);
  if (!kernels)
    return std::move(kernels).status();
  return CompiledCell{std::make_shared<const exec::Plan>(std::move(priced.plan)), std::move(*kernels),
                      std::move(priced.steps)};
}

Result<CompiledCell> compile(const Subject &subject, const BenchWay &way) {
  auto priced = makePricedPlan(subject, way);
  if (!priced)
    return std::move(priced).status();
  return compile(std::move(*priced));
}

/// Results by name, as the judge has them.
using Answer = std::vector<NamedTensor>;

/// What is right. Adds to the subject the gradients that training starts from.
Result<Answer> judge(Subject &subject) {
  auto priced = makePricedPlan(subject, {.passes = "none", .dtype = "f64"});
  if (!priced)
    return std::move(priced).status();
  subject.addGradients(priced->plan);
  if (subject.file.judge == BenchJudge::Interpreter) {
    auto program = import(subject, NumberType::F64);
    if (!program)
      return std::move(program).status();
    if (Status status = program->runPasses("none"); !status.isOk())
      return status;
    return run(*program, subject.graph, subject.tensors);
  }
  auto compiled = compile(std::move(*priced));
  if (!compiled)
    return std::move(compiled).status();
  auto arguments = bindTensors(argumentsOf(*compiled->plan, subject.graph), subject.tensors);
  if (!arguments)
    return std::move(arguments).status();
  return runPlan(compiled->plan, compiled->kernels, subject.graph, *arguments);
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
    const std::vector<double> values = given->tensor.toDoubles(), right = wanted.tensor.toDoubles();
    double largest = 0, off = 0;
    for (size_t i = 0; i < right.size(); ++i) {
      largest = std::max(largest, std::abs(right[i]));
      const double difference = std::abs(values[i] - right[i]);
      off = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(off, difference);
    }
    const double error = largest > 0 ? off / largest : off;
    if (distance.worst.empty() || error > distance.error)
      distance = {error, wanted.name};
  }
  return distance;
}

/// A cell that is ready to run.
struct Contender {
  CompiledCell compiled;
  std::shared_ptr<std::vector<std::vector<double>>> stepTimes;  // of each step of the plan, while a profile is made
  std::shared_ptr<bool> isProfiling;
  std::optional<exec::Executor> executor;
  std::vector<NamedTensor> parameters;  // those that training would change

  static Result<Contender> make(const Subject &subject, const BenchWay &way);
  Status step(bool isTraining);
};

Result<Contender> Contender::make(const Subject &subject, const BenchWay &way) {
  auto compiled = compile(subject, way);
  if (!compiled)
    return std::move(compiled).status();
  Contender contender;
  contender.compiled = std::move(*compiled);
  const exec::Plan &plan = *contender.compiled.plan;
  contender.stepTimes = std::make_shared<std::vector<std::vector<double>>>(plan.steps.size());
  contender.isProfiling = std::make_shared<bool>(false);
  auto arguments = bindTensors(argumentsOf(plan, subject.graph), subject.tensors);
  if (!arguments)
    return std::move(arguments).status();
  exec::ExecOptions options;
  options.threads = way.threads;
  options.onStep = [times = contender.stepTimes, isOn = contender.isProfiling](size_t step, double seconds) {
    if (*isOn)
      (*times)[step].push_back(seconds);
  };
  auto executor =
      prepareExecutor(contender.compiled.plan, contender.compiled.kernels, subject.graph, *arguments, options);
  if (!executor)
    return std::move(executor).status();
  contender.executor.emplace(std::move(*executor));
  for (NamedTensor &argument : *arguments) {
    const language::InputDecl *input = subject.model.signature.findInput(argument.name);
    if (input && input->home != Home::Node && input->home != Home::Edge)
      contender.parameters.push_back(std::move(argument));
  }
  return contender;
}

Status Contender::step(bool isTraining) {
  if (!isTraining)
    return executor->run(exec::Phase::Forward, exec::Phase::Forward);
  for (const NamedTensor &parameter : parameters)
    if (Status status = executor->setInput(parameter.name, parameter.tensor); !status.isOk())
      return status;
  return executor->run(exec::Phase::Forward, exec::Phase::Backward);
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
    Status status = Status::ok();
    try {
      status = run();
    } catch (const std::bad_alloc &) {
      status = Status::failed("out of memory");
    }
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
  auto answer = resultsOf(*contenders[i]->executor, *contenders[i]->compiled.plan);
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
  auto made = Contender::make(subject, result.cell.way);
  if (!made)
    return std::move(made).status();
  contenders[i].emplace(std::move(*made));
  result.peakBytes = contenders[i]->executor->peakBytes();
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
  if (Status status = contenders[i]->step(subject.isTraining()); !status.isOk())
    return status;
  return check(i, subject, false);
}

void Round::takeTurns(int times, bool isTraining, bool isTimed) {
  for (int run = 0; run < times; ++run)
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (!contenders[i])
        continue;
      const auto start = std::chrono::steady_clock::now();
      Status status = contenders[i]->step(isTraining);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (status.isOk()) {
        if (isTimed)
          results[i].seconds.push_back(seconds);
        continue;
      }
      fail(results[i], status);
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
    if (Status status = prepare(i, *subject); !status.isOk())
      fail(results[i], status);
    if (!results[i].failure.empty() || !results[i].isRight)
      contenders[i].reset();
  }
  say("measuring", first);
  takeTurns(file.warmup, isTraining, false);
  takeTurns(file.runs, isTraining, true);
  if (options.profile) {
    for (auto &contender : contenders)
      if (contender)
        *contender->isProfiling = true;
    takeTurns(file.runs, isTraining, false);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!contenders[i])
      continue;
    if (options.profile)
      addProfile(results[i], *contenders[i], isTraining);
    // What is left from one run must not change the next.
    if (Status status = check(i, *subject, true); !status.isOk())
      fail(results[i], status);
    if (!results[i].isRight)
      results[i].seconds.clear();
  }
  return Status::ok();
}

}  // namespace

std::vector<BenchResult> measureRound(const BenchFile &file, std::span<const BenchCell> round,
                                      const std::string &graphPath, const BenchOptions &options) {
  return Round(file, round, graphPath, options).measure();
}

Result<int64_t> measureMemory(const BenchFile &file, const BenchCell &cell, const std::string &graphPath) {
  // Forms that planning derives from the graph would be there already, so that the graph is loaded again.
  CompiledCell compiled;
  {
    auto subject = Subject::load(file, cell, graphPath);
    if (!subject)
      return std::move(subject).status();
    auto made = compile(*subject, cell.way);
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
  malloc_trim(0);  // what compiling left behind
  if (Status status = resetPeakResident(); !status.isOk())
    return status;
  const int64_t before = residentBytes();
  exec::ExecOptions options;
  options.threads = cell.way.threads;
  auto executor = prepareExecutor(compiled.plan, compiled.kernels, subject->graph, *arguments, options);
  if (!executor)
    return std::move(executor).status();
  for (int run = 0; run < 2; ++run)
    if (Status status = executor->runAll(); !status.isOk())
      return status;
  return std::max<int64_t>(0, peakResidentBytes() - before);
}

}  // namespace hector
