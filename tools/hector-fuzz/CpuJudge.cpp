#include "CpuJudge.h"

#include "Rounding.h"
#include "Ways.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"
#include "driver/Cpu.h"

#include <cstring>

namespace hector::fuzz {

struct CpuJudge::Waiting {
  TestProgram test;
  uint64_t number = 0, seed = 0;
  std::string way;
  Graph graph;
  Program program;  // without groups
  std::vector<Table> arguments;
  std::vector<Table> exact, rounded;  // in f64; and, for a program in f32, in f32
  bool isNarrow = false;
  std::shared_ptr<const exec::Plan> plan;
};

CpuJudge::CpuJudge() : context(makeContext()) {}
CpuJudge::~CpuJudge() = default;

size_t CpuJudge::numWaiting() const {
  return waiting.size();
}

/// One way of all: the default most often.
static std::string chooseWay(uint64_t seed) {
  std::vector<std::string> ways = {"default", "default", "default", "none", "default,-fuse", "default,-recompute"};
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  return ways[seed % ways.size()];
}

std::optional<Failure> CpuJudge::add(const TestProgram &test, uint64_t number, uint64_t seed) {
  ++counts.programs;
  auto loaded = load(test);
  if (!loaded)
    return Failure{"refused", loaded.status().message()};
  auto &[model, binding, bound] = *loaded;
  if (mix(seed ^ 9) % 4 == 0) {
    auto wide = Graph::fromTensors(test.file, bound.graph.numRelations(), bound.graph.numNodes(), IdWidth::Wide);
    if (!wide)
      return Failure{"failed", wide.status().message()};
    bound.graph = std::move(*wide);
    ++counts.wideIds;
  }
  const Graph &graph = bound.graph;
  const bool isNarrow = mix(seed ^ 5) % 3 == 0;
  auto import = [&](NumberType type) {
    return Program::import(model, binding, {.numbers = type, .gradients = std::vector<std::string>()}, context);
  };
  auto wide = import(NumberType::F64);
  auto program = import(isNarrow ? NumberType::F32 : NumberType::F64);
  if (!wide || !program)
    return Failure{"refused", wide.status().message()};
  // Gradients to start from; the functions have no arguments for them before they are derived.
  std::vector<Table> arguments;
  Tensors tensors = bound.tensors;
  mlir::func::FuncOp forward = wide->function();
  for (size_t i = 0; i < forward.getNumResults(); ++i) {
    auto type = mlir::cast<flow::RowsType>(forward.getResultTypes()[i]);
    int64_t rows = numRows(graph, type.getDomain());
    std::string name = "grad." + resultName(forward, i).str();
    std::vector<int64_t> shape(type.getShape());
    if (type.getDomain() != flow::Domain::One)
      shape.insert(shape.begin(), rows);
    tensors[name] =
        Tensor::fromDoubles(shape, numbersFor(name, static_cast<size_t>(rows * type.getRowSize())), DType::F64);
  }
  const std::string way = chooseWay(mix(seed ^ 6));
  if (mix(seed) & 2)
    if (Status status = program->attachGraph(graph); !status.isOk())
      return Failure{"failed", status.message()};
  if (mix(seed ^ 7) & 1)
    program->function()->setAttr("flow.graph", randomNumbers(*context, graph, seed));
  if (mix(seed ^ 8) & 1)
    program->function()->setAttr("flow.machine", randomMachine(*context, mix(seed)));
  for (auto [form, passes] : {std::pair(&*wide, std::string("none")), std::pair(&*program, way)})
    if (Status status = form->runPasses(passes); !status.isOk())
      return Failure{"failed", std::move(status).during("--passes " + passes).message()};
  auto made = makeArguments(*program, graph, tensors);
  if (!made)
    return Failure{"failed", made.status().message()};
  arguments = std::move(*made);
  auto exact = interpret(isNarrow ? wide->function() : program->function(), graph, arguments, kMode);
  auto rounded = isNarrow ? interpret(program->function(), graph, arguments, kMode) : exact;
  if (!exact || !rounded)
    return Failure{"failed", (exact ? rounded : exact).status().message()};
  counts.runs += 1 + isNarrow;
  if (isNarrow && hasParted(*exact, *rounded)) {
    ++counts.narrowKinks;
    return std::nullopt;
  }
  Program loops = program->clone();
  if (Status status = loops.formGroups(); !status.isOk())
    return Failure{"failed", status.message()};
  auto plan = makePlan(loops, {.wideIds = exec::needsWideIds(graph), .prefix = "p" + std::to_string(number) + "_"});
  if (!plan)
    return Failure{"failed", plan.status().message()};
  Waiting item = {test,
                  number,
                  seed,
                  way,
                  bound.graph,
                  std::move(*program),
                  arguments,
                  std::move(*exact),
                  std::move(*rounded),
                  isNarrow,
                  std::make_shared<const exec::Plan>(std::move(*plan))};
  waiting.push_back(std::move(item));
  return std::nullopt;
}

std::optional<Failure> CpuJudge::judge(Waiting &program, const exec::KernelLookup &lookup) {
  std::vector<Table> first;
  const int threads[] = {1, 2 + static_cast<int>(program.seed % 4)};
  for (int count : threads) {
    auto executor = exec::Executor::create(program.plan, lookup, program.graph, {.threads = count, .poison = true});
    if (!executor)
      return Failure{"failed", executor.status().message()};
    for (auto [port, table] : llvm::zip_equal(program.plan->inputs, program.arguments)) {
      std::vector<int64_t> shape = table.shape;
      if (program.plan->tables[static_cast<size_t>(port.table)].domain != cpu::One)
        shape.insert(shape.begin(), table.rows);
      if (Status status = executor->setInput(port.name, Tensor::fromDoubles(shape, table.values, DType::F64));
          !status.isOk())
        return Failure{"failed", status.message()};
    }
    executor->setTraining(kMode.seed, kMode.step);
    if (Status status = executor->runAll(); !status.isOk())
      return Failure{"failed", status.message()};
    ++counts.runs;
    std::vector<Table> results;
    for (size_t i = 0; i < program.plan->outputs.size(); ++i) {
      auto tensor = executor->output(program.plan->outputs[i].name);
      if (!tensor)
        return Failure{"failed", tensor.status().message()};
      results.push_back({program.exact[i].rows, program.exact[i].shape, tensor->toDoubles()});
    }
    auto nameOf = [&](size_t i) { return "`" + program.plan->outputs[i].name + "`"; };
    if (!first.empty()) {
      for (size_t i = 0; i < results.size(); ++i)
        if (std::memcmp(results[i].values.data(), first[i].values.data(), results[i].values.size() * sizeof(double)) !=
            0)
          return Failure{"threads", nameOf(i) + " has other bits with " + std::to_string(count) + " threads"};
      continue;
    }
    first = results;
    if (program.isNarrow) {
      auto found = findUnexplained(program.exact, program.rounded, results);
      if (!found)
        continue;
      auto isFar = [&](const std::vector<Table> &others) { return !findUnexplained(program.exact, others, results); };
      if (isAtKink(program.program, program.graph, program.arguments, program.seed, isFar)) {
        ++counts.narrowKinks;
        return std::nullopt;
      }
      return Failure{"rounding",
                     nameOf(found->table) + " in f32 is " + found->text + ", after --passes " + program.way};
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (auto where = difference(program.exact[i], results[i])) {
        auto isFar = [&](const std::vector<Table> &others) {
          for (size_t k = 0; k < others.size(); ++k)
            if (difference(program.exact[k], others[k]))
              return true;
          return false;
        };
        if (isAtKink(program.program, program.graph, program.arguments, program.seed, isFar)) {
          ++counts.kinks;
          return std::nullopt;
        }
        return Failure{"differs", nameOf(i) + " differs on cpu after --passes " + program.way + ": " + *where};
      }
  }
  return std::nullopt;
}

std::vector<CpuFailure> CpuJudge::run() {
  std::vector<CpuFailure> failures;
  exec::Plan all;
  all.name = "fuzz";
  for (const Waiting &program : waiting)
    all.source += program.plan->source;
  // Most of the time goes into compiling.
  auto lookup = loadKernels(all, {}, {"-O1"});
  if (!lookup) {
    failures.push_back(
        {waiting.front().test, waiting.front().number, waiting.front().seed, {"failed", lookup.status().message()}});
  } else {
    for (Waiting &program : waiting)
      if (auto failure = judge(program, *lookup))
        failures.push_back({program.test, program.number, program.seed, *failure});
  }
  waiting.clear();
  return failures;
}

}  // namespace hector::fuzz
