#include "CompiledJudge.h"

#include "Rounding.h"
#include "Ways.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipelines.h"

#include <algorithm>

namespace hector::fuzz {

struct CompiledJudge::Waiting {
  TestProgram test;
  uint64_t number = 0, seed = 0;
  std::string way;
  Graph graph;
  Program program;  // without groups
  std::vector<Table> arguments;
  std::vector<Table> exact, rounded;  // in f64; and, for a program in f32, in f32
  bool isNarrow = false;
  size_t inBatch = 0;
};

struct CompiledJudge::Batch {
  std::unique_ptr<CompiledBatch> kernels;
  std::vector<Waiting> programs;  // as `kernels` numbers them
};

CompiledJudge::CompiledJudge(const CompiledTarget &target, std::function<void(uint64_t)> onProgram)
    : target(target), onProgram(std::move(onProgram)), context(makeContext()) {
  for (bool hasUsualFlags : {false, true})
    batches.push_back({target.makeBatch(hasUsualFlags), {}});
}
CompiledJudge::~CompiledJudge() = default;

/// One way of all: the default most often.
static std::string chooseWay(uint64_t seed) {
  std::vector<std::string> ways = {"default", "default", "default", "none", "default,-fuse", "default,-recompute"};
  for (std::string_view name : planNames())
    ways.emplace_back(name);
  return ways[seed % ways.size()];
}

std::optional<Failure> CompiledJudge::add(const TestProgram &test, uint64_t number, uint64_t seed) {
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
  target.attachMachine(*program, seed);
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
  const bool isUsual = target.hasQuickFlags() && mix(seed ^ 10) % 10 == 0;
  counts.usualFlags += isUsual;
  Batch &batch = batches[isUsual];
  auto added = batch.kernels->add(loops, graph);
  if (!added)
    return Failure{"failed", added.status().message()};
  batch.programs.push_back({test, number, seed, way, bound.graph, std::move(*program), arguments, std::move(*exact),
                            std::move(*rounded), isNarrow, *added});
  return std::nullopt;
}

std::optional<Failure> CompiledJudge::judge(const Waiting &program, const CompiledBatch &kernels) {
  const exec::Plan &plan = kernels.plan(program.inBatch);
  std::vector<NamedTensor> arguments;
  for (auto [port, table] : llvm::zip_equal(plan.inputs, program.arguments)) {
    std::vector<int64_t> shape = table.shape;
    if (plan.tables[static_cast<size_t>(port.table)].domain != cpu::One)
      shape.insert(shape.begin(), table.rows);
    arguments.push_back({port.name, Tensor::fromDoubles(shape, table.values, DType::F64)});
  }
  auto runs = kernels.run(program.inBatch, program.graph, arguments, program.seed);
  if (!runs)
    return Failure{"failed", runs.status().message()};
  counts.runs += static_cast<int64_t>(runs->size());
  const std::vector<NamedTensor> &first = runs->front().results;
  auto nameOf = [&](size_t i) { return "`" + plan.outputs[i].name + "`"; };
  for (const CompiledRun &other : *runs)
    for (size_t i = 0; i < first.size(); ++i)
      if (const Tensor &tensor = first[i].tensor;
          !std::equal(tensor.bytes, tensor.bytes + tensor.numBytes(), other.results[i].tensor.bytes))
        return Failure{"bits", nameOf(i) + " has other bits " + other.how + ", on " + target.name() +
                                   " after --passes " + program.way};
  std::vector<Table> results;
  for (size_t i = 0; i < first.size(); ++i)
    results.push_back({program.exact[i].rows, program.exact[i].shape, first[i].tensor.toDoubles()});
  if (program.isNarrow) {
    auto found = findUnexplained(program.exact, program.rounded, results);
    if (!found)
      return std::nullopt;
    auto isFar = [&](const std::vector<Table> &others) { return !findUnexplained(program.exact, others, results); };
    if (isAtKink(program.program, program.graph, program.arguments, program.seed, isFar)) {
      ++counts.narrowKinks;
      return std::nullopt;
    }
    return Failure{"rounding", nameOf(found->table) + " in f32 is " + found->text + ", on " + target.name() +
                                   " after --passes " + program.way};
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
      return Failure{"differs",
                     nameOf(i) + " differs on " + target.name() + " after --passes " + program.way + ": " + *where};
    }
  return std::nullopt;
}

std::vector<CompiledFailure> CompiledJudge::run(Batch &batch) {
  std::vector<CompiledFailure> failures;
  std::vector<bool> isCompiled(batch.programs.size(), true);
  for (const PlanBatch::Failure &failure : batch.kernels->compile()) {
    std::string others;
    for (size_t i : failure.numbers) {
      isCompiled[i] = false;
      if (i != failure.numbers.front())
        others += " " + std::to_string(batch.programs[i].number);
    }
    const Waiting &program = batch.programs[failure.numbers.front()];
    failures.push_back(
        {program.test,
         program.number,
         program.seed,
         {"failed", (others.empty() ? "" : "together with programs" + others + ": ") + failure.status.message()}});
  }
  for (size_t i = 0; i < batch.programs.size(); ++i) {
    const Waiting &program = batch.programs[i];
    if (!isCompiled[i] || last)
      continue;
    onProgram(program.number);
    auto failure = judge(program, *batch.kernels);
    if (!failure)
      continue;
    failures.push_back({program.test, program.number, program.seed, *failure});
    if (!target.isUsable())
      last = program.number;
  }
  batch.kernels = target.makeBatch(&batch != &batches.front());
  batch.programs.clear();
  return failures;
}

std::vector<CompiledFailure> CompiledJudge::run(size_t size) {
  std::vector<CompiledFailure> failures;
  for (Batch &batch : batches)
    if (batch.programs.size() >= size)
      for (CompiledFailure &failure : run(batch))
        failures.push_back(std::move(failure));
  return failures;
}

}  // namespace hector::fuzz
