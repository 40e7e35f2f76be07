#include "test/numerics/CpuBatch.h"

namespace hector::numerics {

Result<size_t> CpuBatch::add(Program program, const Graph &graph) {
  if (Status status = program.formGroups(); !status.isOk())
    return status;
  auto plan =
      makePlan(program, {.wideIds = exec::needsWideIds(graph), .prefix = "p" + std::to_string(items.size()) + "_"});
  if (!plan)
    return std::move(plan).status();
  items.push_back({std::move(program), std::make_shared<const exec::Plan>(std::move(*plan))});
  return items.size() - 1;
}

Status CpuBatch::compile(const std::vector<std::string> &flags) {
  exec::Plan all;
  all.name = "batch";
  for (const Item &item : items)
    all.source += item.plan->source;
  auto loaded = loadKernels(all, {}, flags);
  if (!loaded)
    return std::move(loaded).status();
  lookup = std::move(*loaded);
  return Status::ok();
}

Result<exec::Executor> CpuBatch::prepare(size_t number, const Graph &graph, const Tensors &tensors,
                                         const exec::ExecOptions &options) const {
  const Item &item = items[number];
  auto executor = exec::Executor::create(item.plan, lookup, graph, options);
  if (!executor)
    return executor;
  auto arguments = bindArguments(item.program, graph, tensors);
  if (!arguments)
    return std::move(arguments).status();
  for (const NamedTensor &argument : *arguments)
    if (Status status = executor->setInput(argument.name, argument.tensor); !status.isOk())
      return status;
  return executor;
}

Tensors CpuBatch::toTensors(size_t number, const Tables &arguments) const {
  Tensors tensors;
  for (const exec::Port &input : plan(number).inputs)
    if (auto found = arguments.find(input.name); found != arguments.end()) {
      const Table &table = found->second;
      std::vector<int64_t> shape = table.shape;
      if (plan(number).tables[input.table].domain != cpu::One)
        shape.insert(shape.begin(), table.rows);
      tensors[input.name] = Tensor::fromDoubles(shape, table.values, DType::F64);
    }
  return tensors;
}

Tables CpuBatch::toTables(size_t number, const std::vector<NamedTensor> &results) const {
  Tables tables;
  for (const exec::Port &output : plan(number).outputs)
    for (const NamedTensor &result : results)
      if (result.name == output.name)
        tables[result.name] = toTable(result.tensor, plan(number).tables[output.table].domain == cpu::One);
  return tables;
}

Result<std::vector<NamedTensor>> CpuBatch::run(size_t number, const Graph &graph, const Tensors &tensors) const {
  auto executor = prepare(number, graph, tensors, {.poison = true});
  if (!executor)
    return std::move(executor).status();
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return outputs(*executor, plan(number));
}

Result<std::vector<NamedTensor>> outputs(const exec::Executor &executor, const exec::Plan &plan) {
  std::vector<NamedTensor> results;
  for (const exec::Port &output : plan.outputs) {
    auto tensor = executor.output(output.name);
    if (!tensor)
      return std::move(tensor).status();
    results.push_back({output.name, std::move(*tensor)});
  }
  return results;
}

}  // namespace hector::numerics
